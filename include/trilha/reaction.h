/* trilha/reaction.h: the memory transport: messages to a function of this program.
 *
 * For a producer's own durable reactions (ruling R23). Each message is given to the handler inside an open transaction
 * of the consumer's database, in which its inbox has accepted the message as new: the effect that the handler writes
 * there and the acceptance commit together or not at all. A message that comes again finds itself in the inbox, and the
 * handler is not called: the effect happens exactly once, whatever is killed, cut off or repeated. An effect elsewhere
 * (a mail, another database) may happen again when the transaction does not commit.
 *
 * The inbox is that of `trilha outbox install`, in the consumer's database, which may be the producer's own. A message
 * whose key came before with other content is dead-lettered (INBOX_CONFLICT).
 *
 * Sources: specification 001, rule 5; requirement O5; rulings R23, R34; field report B11.
 */
#ifndef TRILHA_REACTION_H
#define TRILHA_REACTION_H

#include "trilha/outbox.h"
#include "trilha/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pg_conn;
struct sqlite3;

/** What a handler works in. Lives for the call only. */
typedef struct trilha_reaction_call trilha_reaction_call;
/** The connection with the open transaction; NULL where the consumer's database is of the other kind. On PostgreSQL it
 * is in blocking mode, statement_timeout and lock_timeout are what is left of the envelope's time, and the settings
 * trilha.tenant_id, trilha.company_id, trilha.correlation_id, trilha.causation_id, trilha.traceparent and
 * trilha.credential (the beginning is `settings` of the options) hold the message's scope for this transaction, for
 * row-level security: "" where the message has none. What the handler leaves in the session (settings, roles, locks,
 * temporary tables) is cleared before the next message, and a connection that cannot be cleared is closed. On SQLite,
 * which has neither settings nor policies, the scope is trilha_reaction_scope() alone; the handle has the writer's
 * turn, and a statement is interrupted when the envelope's time is over. */
TRILHA_API struct pg_conn *trilha_reaction_postgres(const trilha_reaction_call *call);
TRILHA_API struct sqlite3 *trilha_reaction_sqlite(const trilha_reaction_call *call);
/** In whose name the handler runs; borrowed for the call, after which it is empty. On both stores. */
TRILHA_API const trilha_scope *trilha_reaction_scope(const trilha_reaction_call *call);
/** Keeps what the effect gave with the acceptance, in the same transaction: what an inbox tells of a duplicate. */
TRILHA_API trilha_status trilha_reaction_result(trilha_reaction_call *call, trilha_text result,
                                                trilha_error *error) TRILHA_MUST_USE;

/** Writes the effect. TRILHA_OK: it is committed with the acceptance. Anything else undoes all of it, and counts as
 * trilha_send says: TRILHA_INVALID and TRILHA_CONFLICT dead-letter the message, the rest is tried again. The handler
 * neither ends the transaction nor keeps the connection, and finalizes its SQLite statements. Called from several
 * threads, never twice at once for one lane. */
typedef trilha_status (*trilha_react)(void *user, const trilha_envelope *envelope, trilha_reaction_call *call,
                                      trilha_error *error);

typedef struct trilha_reaction_options {
  trilha_outbox_options inbox; /**< the consumer's database and the schema (on SQLite: prefix) of its inbox */
  const char *consumer;        /**< its name there, 1–255 characters; NULL: the destination's */
  trilha_react react;          /**< obligatory */
  void *user;
  bool ordered; /**< the inbox also keeps the last sequence of each aggregate: a message that comes before its time is
                   not handled but tried again (INBOX_HELD), and one that comes after it, from a restored producer,
                   is a duplicate even when the inbox was purged */
  unsigned at_once; /**< messages handled at once for each worker of the relay, each on a connection of its own; default
                       4, on SQLite 1 (a second one would wait for the file) */
  const char *settings; /**< PostgreSQL: what stands before the dot in the names of the scope's settings, for policies
                           that exist; ^[a-z_][a-z0-9_]*$ of at most 40 bytes, no module of PostgreSQL's; default
                           "trilha" */
} trilha_reaction_options;

/** What came of messages since it was made. */
typedef struct trilha_reaction_counts {
  int64_t effects;    /**< committed */
  int64_t duplicates; /**< accepted before: the handler was not called */
  int64_t conflicts;  /**< accepted before with other content */
  int64_t held;       /**< before their time */
  int64_t failed;     /**< undone: by the handler's word or the database's */
  int64_t closed; /**< connections, not messages: closed because what a handler left could not be cleared, or lost */
} trilha_reaction_counts;

typedef struct trilha_reaction trilha_reaction;

/** USAGE: an option is missing or not of its form. Copies what it needs. Connects at the first message. */
TRILHA_API trilha_status trilha_reaction_new(const trilha_reaction_options *options, trilha_reaction **ret_reaction,
                                             trilha_error *error) TRILHA_MUST_USE;
/** Closes its connections; the relay that uses it must have ended. NULL is allowed. */
TRILHA_API void trilha_reaction_free(trilha_reaction *reaction);
/** For a relay; the reaction must outlive it. Any thread. */
TRILHA_API trilha_transport trilha_reaction_transport(trilha_reaction *reaction, trilha_text destination);
TRILHA_API void trilha_reaction_counted(const trilha_reaction *reaction,
                                        trilha_reaction_counts *ret_counts); /**< from any thread */

#ifdef __cplusplus
}
#endif
#endif
