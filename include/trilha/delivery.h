/* trilha/delivery.h: receiving events: subscriptions in the publishing process, durable consumers, dead letters.
 *
 * Sources: specification 000, sections 3.4 to 3.6, 4.2, 4.5, 5.2, 5.3. Thread safety as in trilha/trilha.h; a handler
 * runs on the thread said below and may call everything here.
 *
 * A plain subscription receives what its own process publishes, with the full payload, and a crash loses what was not
 * delivered. A durable consumer follows the log from a cursor of its own, gets the redacted payload, and loses nothing.
 */
#ifndef TRILHA_DELIVERY_H
#define TRILHA_DELIVERY_H

#include "trilha/audit.h"
#include "trilha/trilha.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One delivery under way: the ambient context of a running handler (specification 000, section 4.2). Borrowed for the
 * handler's call, on its thread. */
typedef struct trilha_delivery trilha_delivery;

TRILHA_API const char *trilha_delivery_colonia(const trilha_delivery *delivery);
TRILHA_API const char *trilha_delivery_event_id(const trilha_delivery *delivery); /**< NULL in a batch of several */
TRILHA_API const char *trilha_delivery_correlacao_id(const trilha_delivery *delivery); /**< may be NULL */
/** The W3C traceparent of this call: of its span `event.process` where the handle exports spans, else the running
 * event's own; NULL where there is none. What the handler calls may carry it on. */
TRILHA_API const char *trilha_delivery_traceparent(const trilha_delivery *delivery);
/** 1 for the first; one more than the failures that are recorded. In a batch: the largest of its events'. */
TRILHA_API int64_t trilha_delivery_attempt(const trilha_delivery *delivery);
/** Publishes as trilha_publish() with the context: correlacao_id and causation_id that are absent are taken from the
 * running event (in a batch of several there is none), and its span is a child of the handler's. Its own subscribers
 * run after the outer handler has returned: a handler that starts a thread which publishes to the same colony, and
 * waits for that thread, waits for itself. */
TRILHA_API trilha_status trilha_delivery_publish(trilha_delivery *delivery, const trilha_publication *publication,
                                                 trilha_publish_result *ret_result,
                                                 trilha_error *error) TRILHA_MUST_USE;
/** Says why the handler fails, with the stack of the place where it is called. Returns TRILHA_INVALID, so that a
 * handler may `return trilha_delivery_fail(delivery, "…");`. The text is scrubbed and cut before it is stored. */
TRILHA_API trilha_status trilha_delivery_fail(trilha_delivery *delivery, const char *format, ...) TRILHA_PRINTF(2, 3);
/** The same with a stack of the caller's own (another language's, another process's); absent: none is stored. */
TRILHA_API trilha_status trilha_delivery_fail_with_stack(trilha_delivery *delivery, trilha_text message,
                                                         trilha_text stack);

/** Success: TRILHA_OK. Anything else is a failure: it becomes a dead letter and never stops other handlers. */
typedef trilha_status (*trilha_handler)(void *user, const trilha_event *event, trilha_delivery *delivery);
/** Several events in one call, by sequence: all succeed or none. The array is borrowed for the call. */
typedef trilha_status (*trilha_batch_handler)(void *user, const trilha_event *events, size_t count,
                                              trilha_delivery *delivery);

/* --- plain subscriptions --------------------------------------------------------------------------------- */

typedef struct trilha_subscription {
  trilha_text tipo;         /**< exact; no wildcards */
  trilha_text colonia;      /**< 1–100 characters */
  trilha_text handler_nome; /**< at most 255 characters; absent: "anônimo" */
  trilha_handler handler;
  void *user;
} trilha_subscription;

/** From the next publish on, the handler is called for each event of the type that this handle publishes: per colony
 * one event at a time, in sequence order, on a publishing thread, before its publish returns. The 31st listener of a
 * type is accepted with a warning. */
TRILHA_API trilha_status trilha_subscribe(trilha *handle, const trilha_subscription *subscription, int64_t *ret_id,
                                          trilha_error *error) TRILHA_MUST_USE;
/** After it returns the handler is not called any more, and calls under way have ended. Called from inside a handler it
 * does not wait for calls that are under way, its own or on other threads: two handlers that unsubscribe each other
 * would wait for ever. NOT_FOUND for an unknown id. */
TRILHA_API trilha_status trilha_unsubscribe(trilha *handle, int64_t id, trilha_error *error) TRILHA_MUST_USE;
/** Delivers one stored event again to this process's listeners of (tipo, colonia), under the same protection as live;
 * payload as given. Written to the audit trail before (trilha.event.redelivered, by trilha_options.user); when that
 * fails no handler runs. NOT_FOUND: nobody listens here. */
TRILHA_API trilha_status trilha_redeliver(trilha *handle, trilha_text tipo, trilha_text colonia,
                                          const trilha_event *event, trilha_error *error) TRILHA_MUST_USE;

/* --- dead letters ---------------------------------------------------------------------------------------- */

typedef struct trilha_dead_letter {
  int64_t id, sequence_number;
  const char *event_id, *tipo, *colonia, *handler_nome, *mensagem_erro, *pilha_erro;
  int64_t tentativas;
  const char *ultima_tentativa, *status, *criado_em, *resolvido_em; /**< resolvido_em, pilha_erro: NULL when absent */
} trilha_dead_letter;

typedef struct trilha_dead_letters {
  const trilha_dead_letter *items;
  size_t count;
  int64_t next_after; /**< give it as `after_id` for the next page; 0: that was all */
  void *memory;
} trilha_dead_letters;

typedef struct trilha_dead_letters_filter {
  trilha_text colonia, tipo, status, event_id; /**< absent: any */
  int64_t id;                                  /**< 0: any */
  int64_t after_id;                            /**< rows with a larger id only */
  int64_t limite;                              /**< 0: 100; at most 500 */
} trilha_dead_letters_filter;

TRILHA_API trilha_status trilha_dead_letters_query(trilha *handle, const trilha_dead_letters_filter *filter,
                                                   trilha_dead_letters **ret_letters,
                                                   trilha_error *error) TRILHA_MUST_USE;
/** A colony's rows with status pendente. */
TRILHA_API trilha_status trilha_dead_letters_pending(trilha *handle, trilha_text colonia,
                                                     trilha_dead_letters **ret_letters,
                                                     trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_dead_letters_free(trilha_dead_letters *letters);

typedef struct trilha_dead_letter_statistics { /* section 4.5 */
  const struct trilha_dead_letter_count {
    const char *colonia;
    int64_t pendentes; /**< pendente and retrying */
  } * pendentes_por_colonia;
  size_t count;
  int64_t total_pendentes;
  void *memory;
} trilha_dead_letter_statistics;
TRILHA_API trilha_status trilha_dead_letter_stats(trilha *handle, trilha_dead_letter_statistics **ret_statistics,
                                                  trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_dead_letter_statistics_free(trilha_dead_letter_statistics *statistics);

typedef struct trilha_reprocessed {
  int64_t reprocessados; /**< rows that succeeded */
  int64_t failed;        /**< rows that failed again */
  const char *reason;    /**< why 0: "no live listener", "nothing pending", "not finished in time"; NULL otherwise;
                            constant text */
} trilha_reprocessed;
/** Runs a colony's pending dead letters again (section 3.6). With a listener or consumer of the colony in this process:
 * here. Otherwise a durable request is stored, the colony's own process executes it, and this waits at most wait_ms (0:
 * 30,000). Audited; user absent: the handle's. Rows are taken by conditional update: two calls at once never run one
 * twice. */
TRILHA_API trilha_status trilha_reprocess(trilha *handle, trilha_text colonia, trilha_text user, unsigned wait_ms,
                                          trilha_reprocessed *ret_reprocessed, trilha_error *error) TRILHA_MUST_USE;
/** The same for somebody whom a service let in: `pairs` (where they called from, why) go into the audit row beside what
 * Trilha knows. The row is written in the transaction that takes the first dead letters or stores the request: what
 * cannot be audited is not done. INVALID (AUDIT_ENTRY_INVALID). */
TRILHA_API trilha_status trilha_reprocess_for(trilha *handle, trilha_text colonia, trilha_text user,
                                              const trilha_audit_pair *pairs, size_t pair_count, unsigned wait_ms,
                                              trilha_reprocessed *ret_reprocessed, trilha_error *error) TRILHA_MUST_USE;
/** The same for chosen rows, with a handler given here (the program's --exec). id_count 0: all pending rows of the
 * colony. handler_nome names it where it fails; absent: "anônimo".
 * Audited as the handle's user when any row is taken. */
TRILHA_API trilha_status trilha_reprocess_with(trilha *handle, trilha_text colonia, const int64_t *ids, size_t id_count,
                                               trilha_text handler_nome, trilha_handler handler, void *user,
                                               trilha_reprocessed *ret_reprocessed,
                                               trilha_error *error) TRILHA_MUST_USE;
/** Operator: makes a failed_permanent row pending again. Audited. */
TRILHA_API trilha_status trilha_dead_letter_retry(trilha *handle, int64_t id, trilha_text user, trilha_text reason,
                                                  trilha_error *error) TRILHA_MUST_USE;

/* --- durable consumers ----------------------------------------------------------------------------------- */

typedef struct trilha_consumer trilha_consumer;

typedef enum trilha_consumer_from {
  TRILHA_FROM_NOW = 0,     /**< a missing cursor is seeded with the largest sequence (section 3.6): the default */
  TRILHA_FROM_START = 1,   /**< with 0; audited */
  TRILHA_FROM_SEQUENCE = 2 /**< with from_sequence; audited */
} trilha_consumer_from;

typedef struct trilha_consumer_options {
  trilha_text colonia; /**< its cursors live in the colony's own schema (ruling R12) */
  trilha_text grupo;   /**< a named group of its types with a holder of its own; absent: "" */
  const trilha_text *types;
  size_t type_count; /**< 1 to 64 */
  trilha_handler
      handler; /**< called one event at a time, by sequence over all types, on the thread that runs the consumer */
  trilha_batch_handler batch_handler; /**< instead of handler: called with what is due, 1 to batch_max events (at most
                                         500), and never kept waiting for more. Success: all their cursors move
                                         together. Failure of several: each comes again at once, alone, so that only
                                         what fails by itself becomes a dead letter */
  trilha_text handler_nome;
  void *user;
  trilha_consumer_from from; /**< of cursors that do not exist yet; existing ones are never moved by this */
  int64_t from_sequence;
  unsigned lease_ms;  /**< default 15000; renewed by a thread of its own every third of it */
  unsigned batch_max; /**< events whose successes share one cursor move, at most 1000; default 1: every success moves it
                         before the next event starts. With batch_handler: events of one call, default 100 */
  unsigned max_attempts;      /**< attempts before this consumer's dead letter becomes failed_permanent (a first failure
                                 always waits); default: the handle's dead_letter_attempts_max */
  bool once;                  /**< end when caught up with the log as it stood at some moment */
  trilha_guarantee guarantee; /**< what the handler promises, told to operators while the consumer has its lease and
                                 after. Undeclared: durable. Atomic: every success has called
                                 trilha_delivery_advance_in(); one that has not is a failure, so that the list never
                                 says more than is so */
  trilha_text because;        /**< of best effort: why it is no more; obligatory there */
} trilha_consumer_options;

/** Registers nothing yet; checks options. */
TRILHA_API trilha_status trilha_consumer_new(trilha *handle, const trilha_consumer_options *options,
                                             trilha_consumer **ret_consumer, trilha_error *error) TRILHA_MUST_USE;
/** Runs until trilha_consumer_stop(), `once`, or an error that does not pass by itself. While another process holds the
 * colony's lease it stands by and takes over. Returns OK after a clean stop; what was delivered and succeeded is then
 * in the cursor. */
TRILHA_API trilha_status trilha_consumer_run(trilha_consumer *consumer, trilha_error *error) TRILHA_MUST_USE;
/** May be called from another thread or a signal handler; the running handler is waited for. */
TRILHA_API void trilha_consumer_stop(trilha_consumer *consumer);
TRILHA_API void trilha_consumer_free(trilha_consumer *consumer);

/** How a durable consumer's handler makes its effect and the cursor one transaction: call it inside your own open
 * transaction on a PGconn * (PostgreSQL store) or sqlite3 * (SQLite store; the same library) to the same database,
 * before your COMMIT. In a batch it moves the cursors past all of its events. When a dead letter is run again, it is
 * the letter that is resolved there, and the cursor stays. Refused (CONFLICT, LEASE_LOST) when the lease is gone: roll
 * back then. Return OK from the handler only after your COMMIT succeeded. */
TRILHA_API trilha_status trilha_delivery_advance_in(trilha_delivery *delivery, void *connection,
                                                    trilha_error *error) TRILHA_MUST_USE;

/** What one handler of this store's events promises (ruling R37), for one type. Texts live for the call. */
typedef struct trilha_handler_guarantee {
  trilha_text handler; /**< "consumer": durable; "subscription": plain, of a process that runs now */
  trilha_text colonia, tipo;
  trilha_text grupo;       /**< of a consumer, "" unless named; absent of a subscription */
  trilha_text guarantee;   /**< "atomic", "durable" or "best effort" */
  trilha_text because;     /**< why no more than best effort; else absent */
  trilha_text holder;      /**< "host:pid:random": who has it, or of a consumer had it last */
  bool running;            /**< holds it now */
  trilha_text declared_at; /**< since when a consumer says so; absent: it never said */
} trilha_handler_guarantee;
typedef trilha_status (*trilha_handler_guarantee_visit)(void *user, const trilha_handler_guarantee *handler);
/** Every durable consumer that ever had its lease, and the plain subscriptions of every process that runs: those are
 * known within some seconds of the first of a colony, and until 30 seconds after a process was killed. By colony, group
 * and type. What relays serve is told by trilha_outbox_handlers(). */
TRILHA_API trilha_status trilha_handlers_list(trilha *handle, trilha_handler_guarantee_visit visit, void *user,
                                              trilha_error *error) TRILHA_MUST_USE;

/** One cursor of one consumer, for operators. */
typedef struct trilha_consumer_state {
  const char *colonia, *grupo, *tipo, *holder;    /**< holder NULL: nobody */
  const char *state;                              /**< "catching-up", "live", "behind", "stopped" */
  int64_t last_sequence, lag_events, lag_seconds; /**< lag_events counted up to 10,000 */
  const char *updated_at;
} trilha_consumer_state;
typedef struct trilha_consumer_states {
  const trilha_consumer_state *items;
  size_t count;
  void *memory;
} trilha_consumer_states;
TRILHA_API trilha_status trilha_consumers_list(trilha *handle, trilha_text colonia, trilha_consumer_states **ret_states,
                                               trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_consumer_states_free(trilha_consumer_states *states);

#ifdef __cplusplus
}
#endif
#endif
