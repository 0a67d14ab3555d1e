/* store/delivery: what delivery needs of a database: dead letters, leases, cursors, requests. Room: store (ports).
 * Corridor header.
 *
 * Every change of a cursor or of a row that is being retried carries a fencing token, and is refused (TRILHA_CONFLICT,
 * code LEASE_LOST) when a newer token exists or the lease was taken over: a holder that was stopped past its lease
 * changes nothing. All times are the database's clock. All functions may be called from any thread. Texts given to
 * visitors live for the call only.
 */
#ifndef TRILHA_STORE_DELIVERY_H
#define TRILHA_STORE_DELIVERY_H

#include "store/store.h"

/* One row of core.dead_letter_queue (specification 000, section 2), with the type of its event. */
typedef struct trilha_dead_letter_row {
  int64_t id, sequence_number;
  unsigned char event_id[16];
  trilha_text tipo, colonia, handler_nome, mensagem_erro, pilha_erro; /* pilha_erro may be absent */
  int64_t tentativas;
  trilha_text status;                                         /* pendente, retrying, resolved, failed_permanent */
  int64_t ultima_tentativa_us, criado_em_us, resolvido_em_us; /* resolvido_em_us: INT64_MIN when NULL */
} trilha_dead_letter_row;
typedef trilha_status (*trilha_dead_letter_visit)(void *user, const trilha_dead_letter_row *row, trilha_error *err);

typedef struct trilha_dead_letter_filter { /* combined with AND; absent: any */
  trilha_text colonia, tipo, status;
  bool has_event_id;
  unsigned char event_id[16];
  int64_t id; /* 0: any */
} trilha_dead_letter_filter;

typedef struct trilha_lease {
  trilha_text colonia, grupo; /* the resource; borrowed */
  trilha_text holder;         /* who: host:pid:random; borrowed */
  int64_t token;              /* fencing token, strictly rising over the whole store; 0: none */
} trilha_lease;

/* What failed: scrubbed and cut by the deadletter room before it comes here. */
typedef struct trilha_failure {
  unsigned char event_id[16];
  int64_t sequence_number;
  trilha_text colonia, handler_nome, mensagem_erro, pilha_erro;
  const trilha_lease *lease; /* under which it was delivered; NULL: under none */
} trilha_failure;

typedef struct trilha_cursor { /* <colony>.consumer_offset */
  trilha_text tipo;
  int64_t last_sequence;
  bool present; /* out of cursors_read: the row exists */
} trilha_cursor;

typedef struct trilha_due_row { /* an event that a consumer has still to see, and what its colony's dead letter says */
  const trilha_event_row *event;
  bool closed;      /* the letter is `resolved` or `failed_permanent` */
  int64_t attempts; /* its tentativas; 0: there is none */
} trilha_due_row;
typedef trilha_status (*trilha_due_visit)(void *user, const trilha_due_row *row, trilha_error *err);

typedef struct trilha_handler_row {         /* for `trilha guarantees`; one a type */
  trilha_text colonia, grupo, tipo, holder; /* grupo of a process's plain subscriptions: "live HOLDER" */
  bool live;
  trilha_text guarantee, because; /* guarantee absent: it said none */
  int64_t declared_at_us;         /* INT64_MIN: never */
} trilha_handler_row;
typedef trilha_status (*trilha_handler_visit)(void *user, const trilha_handler_row *row, trilha_error *err);

typedef struct trilha_consumer_row {  /* for `trilha consumers list` */
  trilha_text colonia, grupo, holder; /* holder absent: nobody */
  bool live;                          /* its lease has not expired */
  int64_t token, lease_until_us;
  trilha_text tipo;
  int64_t last_sequence, updated_at_us;
  int64_t lag_events;    /* events of this type beyond the cursor, counted up to 10,000 */
  int64_t oldest_lag_us; /* criado_em of the first of them; INT64_MIN when none */
} trilha_consumer_row;
typedef trilha_status (*trilha_consumer_visit)(void *user, const trilha_consumer_row *row, trilha_error *err);

typedef struct trilha_delivery_operations {
  /* --- dead letters (rulings R11, R15, R16) --- */

  /* Records a failed delivery. No row: inserts `pendente`, tentativas 1. A row that is there: tentativas + 1, message,
   * stack, handler and ultima_tentativa renewed, and `pendente` (or retrying with an expired lease) stays or becomes
   * `pendente`, `failed_permanent` with resolvido_em once tentativas has reached max_attempts; `resolved` and
   * `failed_permanent` reopen to `pendente` with resolvido_em cleared, whatever their count. A row that somebody is
   * retrying under a live lease keeps its status and count. *ret_attempts: tentativas afterwards. CONFLICT LEASE_LOST,
   * and nothing changed, when the failure's lease is somebody else's by now. */
  trilha_status (*dead_letter_fail)(trilha_store *store, const trilha_failure *failure, int64_t max_attempts,
                                    trilha_deadline deadline, int64_t *ret_attempts, trilha_error *err);
  /* Success by any way: sets an open row of (event, colony) to `resolved` with resolvido_em = now; no row or a closed
   * one: nothing. *ret_resolved tells. */
  trilha_status (*dead_letter_resolve)(trilha_store *store, const unsigned char event_id[16], trilha_text colonia,
                                       trilha_deadline deadline, bool *ret_resolved, trilha_error *err);
  /* Takes up to `limit` `pendente` rows of a colony (of the given ids when id_count > 0; of the given types when
   * type_count > 0), oldest sequence first (given ids: any order), and turns them to `retrying` under a lease of
   * lease_ms: a conditional update, so that nobody else takes them too; tentativas rises by one. *ret_token covers them
   * all. The audit row (may be NULL) is written in the same transaction when any was taken. */
  trilha_status (*dead_letters_take)(trilha_store *store, trilha_text colonia, const trilha_text *types,
                                     size_t type_count, const int64_t *ids, size_t id_count, int64_t limit,
                                     trilha_text holder, int64_t lease_ms, const trilha_audit_row *audit,
                                     trilha_deadline deadline, trilha_dead_letter_visit visit, void *user,
                                     int64_t *ret_token, trilha_error *err);
  /* Ends one retry under its token: success → `resolved`; failure (not NULL) → `pendente`, or `failed_permanent` with
   * resolvido_em when tentativas has reached max_attempts. CONFLICT LEASE_LOST when the row is not retrying under this
   * token. */
  trilha_status (*dead_letter_settle)(trilha_store *store, int64_t id, int64_t token, const trilha_failure *failure,
                                      int64_t max_attempts, trilha_deadline deadline, trilha_error *err);
  /* A retry goes on: its lease ends lease_ms from now. CONFLICT LEASE_LOST when the row is not retrying under this
   * token; an expired lease that nobody recovered is renewed. */
  trilha_status (*dead_letter_extend)(trilha_store *store, int64_t id, int64_t token, int64_t lease_ms,
                                      trilha_deadline deadline, trilha_error *err);
  /* `retrying` rows whose lease has expired return to `pendente` (ruling R16). *ret_count of them. */
  trilha_status (*dead_letters_recover)(trilha_store *store, trilha_deadline deadline, int64_t *ret_count,
                                        trilha_error *err);
  /* Operator: `failed_permanent` → `pendente`, resolvido_em cleared, tentativas kept; writes the audit row in the same
   * transaction. NOT_FOUND, or CONFLICT when in another state. */
  trilha_status (*dead_letter_reopen)(trilha_store *store, int64_t id, const trilha_audit_row *audit,
                                      trilha_deadline deadline, trilha_error *err);
  /* Ascending by id, after `after_id`. */
  trilha_status (*dead_letters_list)(trilha_store *store, const trilha_dead_letter_filter *filter, int64_t after_id,
                                     int64_t limit, trilha_deadline deadline, trilha_dead_letter_visit visit,
                                     void *user, trilha_error *err);
  /* Per colony the rows that are `pendente` or `retrying` (specification 000, section 4.5), ordered by colony. */
  trilha_status (*dead_letter_stats)(trilha_store *store, trilha_deadline deadline,
                                     trilha_status (*visit)(void *user, trilha_text colonia, int64_t open,
                                                            trilha_error *err),
                                     void *user, trilha_error *err);

  /* --- leases (ruling R18) --- */

  /* OK with a new token when nobody holds (colonia, grupo) or the lease has expired; CONFLICT code LEASE_HELD when
   * another holder's is live (ret_holder, 128 bytes, names it). The same holder asking again gets a new token. `types`
   * are recorded: they tell who would execute a reprocess request. */
  trilha_status (*lease_acquire)(trilha_store *store, trilha_lease *lease, const trilha_text *types, size_t type_count,
                                 int64_t lease_ms, char *ret_holder, trilha_deadline deadline, trilha_error *err);
  /* CONFLICT LEASE_LOST when the token is not the current one. An expired but not taken-over lease is renewed. */
  trilha_status (*lease_renew)(trilha_store *store, const trilha_lease *lease, int64_t lease_ms,
                               trilha_deadline deadline, trilha_error *err);
  trilha_status (*lease_release)(trilha_store *store, const trilha_lease *lease, trilha_deadline deadline,
                                 trilha_error *err);

  /* What the holder's handler promises; writes nothing where it was said before. CONFLICT LEASE_LOST. */
  trilha_status (*lease_declare)(trilha_store *store, const trilha_lease *lease, trilha_text guarantee,
                                 trilha_text because, trilha_deadline deadline, trilha_error *err);
  /* By colony, group and type: every consumer that ever held its lease, and processes that hold that of their
   * subscriptions now. */
  trilha_status (*handlers_list)(trilha_store *store, trilha_deadline deadline, trilha_handler_visit visit, void *user,
                                 trilha_error *err);

  /* --- cursors (rulings R9, R12, R14, R15, R19) --- */

  /* Creates the colony's schema and consumer_offset table when absent (exactly the specified DDL, section 5.3). */
  trilha_status (*cursors_prepare)(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                   trilha_error *err);
  /* Fills last_sequence and present. */
  trilha_status (*cursors_read)(trilha_store *store, trilha_text colonia, trilha_cursor *cursors, size_t count,
                                trilha_deadline deadline, trilha_error *err);
  /* Inserts the absent ones with last_sequence as given, never overwrites; under the lease's token; the audit row (may
   * be NULL) is written when any was inserted. */
  trilha_status (*cursors_seed)(trilha_store *store, const trilha_lease *lease, const trilha_cursor *cursors,
                                size_t count, const trilha_audit_row *audit, trilha_deadline deadline,
                                trilha_error *err);
  /* In one transaction: the cursors move forward (never back) and the dead letters of these events (count may be 0) of
   * the lease's colony become `resolved`. */
  trilha_status (*cursors_advance)(trilha_store *store, const trilha_lease *lease, const trilha_cursor *cursors,
                                   size_t count, const unsigned char (*resolved_event_ids)[16], size_t resolved_count,
                                   trilha_deadline deadline, trilha_error *err);
  /* Up to `limit` rows, merged by sequence, of each cursor's type beyond its own last_sequence. ret_scanned_to: one per
   * cursor: no further row of that type up to there. */
  trilha_status (*events_due)(trilha_store *store, trilha_text colonia, const trilha_cursor *cursors, size_t count,
                              int64_t limit, trilha_deadline deadline, trilha_due_visit visit, void *user,
                              int64_t *ret_scanned_to, trilha_error *err);
  trilha_status (*consumers_list)(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                  trilha_consumer_visit visit, void *user, trilha_error *err);

  /* --- reprocess requests (ruling R17) --- */

  /* Stores a request: one part for each live lease of that colony, whatever its group. *ret_listening: whether there is
   * any. *ret_request names them all (a fencing token). The audit row (may be NULL) is written in the same transaction.
   */
  trilha_status (*request_create)(trilha_store *store, trilha_text colonia, trilha_text user_name,
                                  const trilha_audit_row *audit, trilha_deadline deadline, int64_t *ret_request,
                                  bool *ret_listening, trilha_error *err);
  /* A holder takes its group's parts, also what an earlier holder of the group did not finish: NOT_FOUND (err
   * untouched) when there is none. *ret_request is the newest; settling it settles all taken. */
  trilha_status (*request_take)(trilha_store *store, const trilha_lease *lease, trilha_deadline deadline,
                                int64_t *ret_request, trilha_error *err);
  trilha_status (*request_settle)(trilha_store *store, const trilha_lease *lease, int64_t request,
                                  int64_t reprocessados, int64_t failed, trilha_deadline deadline, trilha_error *err);
  /* *ret_done: every part is; the counts are the sum of those that are done so far. NOT_FOUND: no part. */
  trilha_status (*request_read)(trilha_store *store, int64_t request, trilha_deadline deadline, bool *ret_done,
                                int64_t *ret_reprocessados, int64_t *ret_failed, trilha_error *err);
  /* Withdraws the parts that are open; false in *ret_withdrawn when every one has been taken. */
  trilha_status (*request_withdraw)(trilha_store *store, int64_t request, trilha_deadline deadline, bool *ret_withdrawn,
                                    trilha_error *err);

  /* --- the effect's own transaction --- */

  /* cursors_advance inside a transaction that the caller has open on its own connection (PGconn * or sqlite3 *) to the
   * same database: takes part, never begins, commits or rolls back. */
  trilha_status (*cursors_advance_in)(trilha_store *store, void *connection, const trilha_lease *lease,
                                      const trilha_cursor *cursors, size_t count,
                                      const unsigned char (*resolved_event_ids)[16], size_t resolved_count,
                                      trilha_error *err);
  /* The same of dead_letter_settle, after a success. */
  trilha_status (*dead_letter_resolve_in)(trilha_store *store, void *connection, int64_t id, int64_t token,
                                          trilha_error *err);
} trilha_delivery_operations;

#endif
