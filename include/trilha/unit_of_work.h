/* trilha/unit_of_work.h: events in the process that leave after the commit of the transaction that raised them, and
 * never otherwise.
 *
 * A unit of work belongs to one connection of the caller's own (PGconn or sqlite3) and serves its transactions one
 * after another. An event that is raised in one is kept until the commit has been answered; then it goes to the
 * handler, in the order in which the events were raised. What a rollback undoes, to a savepoint or altogether, never
 * leaves: which events are undone is read from the database itself before the commit, so that savepoints which the
 * caller or a library of his makes with SQL of their own count too.
 *
 * Best effort: an event lives in memory. A process that dies between the commit and the handler's call loses it, and a
 * handler that fails is reported and not called again; neither changes what was committed. A reaction that must not be
 * lost is a message of the outbox (trilha_unit_of_work_enqueue()), which is a row of the same transaction. Two
 * connections commit on their own: there is no atomicity across them.
 *
 * Sources: specification 001, collection by transaction; requirements O1 to O3; rulings R37, R41. One thread at a time
 * uses a unit and its connection, but for trilha_unit_of_work_cancel(). A connection that is closed under its unit is
 * noticed. PostgreSQL: the connection is in blocking mode, without a command under way.
 */
#ifndef TRILHA_UNIT_OF_WORK_H
#define TRILHA_UNIT_OF_WORK_H

#include "trilha/outbox.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pg_conn; /* PGconn of libpq */
struct sqlite3; /* of the SQLite library this program is linked to */

/** Limits (docs/limits.md). */
enum {
  TRILHA_UNIT_OF_WORK_EVENTS_MAX = 10000,           /**< waiting in one transaction */
  TRILHA_UNIT_OF_WORK_BYTES_MAX = 16 * 1024 * 1024, /**< of their types and payloads */
  TRILHA_UNIT_OF_WORK_TYPE_BYTES_MAX = 1020,        /**< of one type */
  TRILHA_UNIT_OF_WORK_SAVEPOINTS_MAX = 1000,        /**< of one transaction, open at once */
  TRILHA_UNIT_OF_WORK_NESTED_MAX = 100,             /**< calls that join one transaction */
  TRILHA_UNIT_OF_WORK_CASCADE_MAX = 100             /**< handlers whose transactions raise events whose handlers … */
};

/** One event, as it is raised and as the handler gets it (borrowed for the call). */
typedef struct trilha_post_commit_event {
  trilha_text event_id; /**< UUID; absent when raised: a new UUIDv7. An id that is raised again in a transaction leaves
                           once, in its first place; one whose first raise was undone leaves all the same */
  trilha_text type;     /**< 1 to 1,020 bytes */
  trilha_text payload;  /**< any bytes; copied */
  int64_t
      transaction;   /**< to the handler: which transaction of its unit raised it, from 1; not looked at when raised */
  int64_t savepoint; /**< to the handler: the savepoint of the unit that was open then; 0: none */
} trilha_post_commit_event;

/** Anything but TRILHA_OK is a failure: counted, emitted as a diagnostic, and the next event goes on. It runs after the
 * commit on the thread that committed, may use the unit and the connection, and what it raises in a transaction of its
 * own leaves after that one's commit, behind the events that already wait. A transaction that it leaves open is rolled
 * back. It must not close the unit. */
typedef trilha_status (*trilha_post_commit_handler)(void *user, const trilha_post_commit_event *event);
/** Told of each event of which nobody knows, or can find out, whether its transaction committed. It must call nothing
 * of the unit. reason is constant text. */
typedef void (*trilha_undelivered_visit)(void *user, const trilha_post_commit_event *event, const char *reason);

typedef struct trilha_unit_of_work_options {
  trilha_post_commit_handler handler;   /**< obligatory */
  trilha_undelivered_visit undelivered; /**< may be NULL: a diagnostic counts them in any case */
  void *user;                           /**< for both */
  unsigned answer_timeout_ms;  /**< PostgreSQL: how long an answer to one of the unit's own statements, COMMIT among
                                  them, is waited for; default 30000. Then the connection is cut */
  unsigned resolve_timeout_ms; /**< PostgreSQL: how long a lost answer to COMMIT is looked for on a new connection, made
                                  with the parameters of the lost one; default 10000 */
  trilha_diagnostics diagnostics;
} trilha_unit_of_work_options;

typedef struct trilha_unit_of_work trilha_unit_of_work;

/** A connection has at most one unit: CONFLICT (UNIT_OF_WORK_EXISTS). USAGE (HANDLE_FOREIGN): the handle is another
 * SQLite library's, whose transactions cannot be seen from here. Options are copied. */
TRILHA_API trilha_status trilha_unit_of_work_open_postgres(struct pg_conn *connection,
                                                           const trilha_unit_of_work_options *options,
                                                           trilha_unit_of_work **ret_unit,
                                                           trilha_error *error) TRILHA_MUST_USE;
TRILHA_API trilha_status trilha_unit_of_work_open_sqlite(struct sqlite3 *connection,
                                                         const trilha_unit_of_work_options *options,
                                                         trilha_unit_of_work **ret_unit,
                                                         trilha_error *error) TRILHA_MUST_USE;
/** The unit of a connection, for code that was given the connection only; NULL: it has none. */
TRILHA_API trilha_unit_of_work *trilha_unit_of_work_of_postgres(struct pg_conn *connection);
TRILHA_API trilha_unit_of_work *trilha_unit_of_work_of_sqlite(struct sqlite3 *connection);
/** A transaction that the unit began is rolled back. An adopted one is left as it is, and its events are reported
 * undelivered. The connection stays open, and may be closed before or after. NULL is allowed. */
TRILHA_API void trilha_unit_of_work_close(trilha_unit_of_work *unit);

/* --- a transaction ---------------------------------------------------------------------------------------- */

/** Begins a transaction (SQLite: IMMEDIATE). Where the unit has one, the call joins it: its commit or rollback ends the
 * call and not the transaction, and after the rollback of a call that joined, the whole can only be rolled back. Where
 * the connection has a transaction that the unit does not know, it is adopted and joined: whoever began it ends it with
 * a commit or rollback of the unit.
 *
 * timeout_ms 0: none. After it the unit refuses to go on (TIMEOUT, DEADLINE_PASSED) and a commit rolls back; it ends no
 * statement under way, which trilha_unit_of_work_cancel() does. A call that joins may shorten it. LIMIT
 * (UNIT_OF_WORK_NESTED). PostgreSQL: for another isolation level than the session's, BEGIN by yourself and adopt. */
TRILHA_API trilha_status trilha_unit_of_work_begin(trilha_unit_of_work *unit, unsigned timeout_ms,
                                                   trilha_error *error) TRILHA_MUST_USE;
/** Takes over the open transaction that the caller began with SQL of his own. From here on it must end through the
 * unit: after a COMMIT of the caller's own nobody tells the unit, and the events are reported undelivered. USAGE
 * (NO_TRANSACTION, TRANSACTION_KNOWN). */
TRILHA_API trilha_status trilha_unit_of_work_adopt(trilha_unit_of_work *unit, unsigned timeout_ms,
                                                   trilha_error *error) TRILHA_MUST_USE;

/** Savepoints have numbers, from 1, that no later one of the unit gets. Rolling back to one undoes what was written and
 * raised since, and keeps it; releasing it keeps what was raised. Both end the ones inside it. USAGE
 * (SAVEPOINT_UNKNOWN): not open, or made by a call outside this one. LIMIT (UNIT_OF_WORK_SAVEPOINTS). */
TRILHA_API trilha_status trilha_unit_of_work_savepoint(trilha_unit_of_work *unit, int64_t *ret_savepoint,
                                                       trilha_error *error) TRILHA_MUST_USE;
TRILHA_API trilha_status trilha_unit_of_work_rollback_to(trilha_unit_of_work *unit, int64_t savepoint,
                                                         trilha_error *error) TRILHA_MUST_USE;
TRILHA_API trilha_status trilha_unit_of_work_release(trilha_unit_of_work *unit, int64_t savepoint,
                                                     trilha_error *error) TRILHA_MUST_USE;

/** Raises an event in the transaction. One statement (PostgreSQL: one round trip), which writes no row of a table of
 * the caller's; on SQLite sqlite3_changes() is about it afterwards, sqlite3_last_insert_rowid() is not. ret_event_id
 * may be NULL. INVALID (EVENT_REFUSED), LIMIT (UNIT_OF_WORK_FULL, UNIT_OF_WORK_CASCADE). */
TRILHA_API trilha_status trilha_unit_of_work_raise(trilha_unit_of_work *unit, const trilha_post_commit_event *event,
                                                   char ret_event_id[37], trilha_error *error) TRILHA_MUST_USE;
/** Enqueues into schema's outbox in the transaction: by the contract of trilha_outbox_enqueue_postgres() and
 * trilha_outbox_enqueue_sqlite(). */
TRILHA_API trilha_status trilha_unit_of_work_enqueue(trilha_unit_of_work *unit, const char *schema,
                                                     const trilha_message *message, trilha_enqueued *ret_enqueued,
                                                     trilha_error *error) TRILHA_MUST_USE;

/* --- its end ----------------------------------------------------------------------------------------------- */

/** What became of a transaction. */
typedef enum trilha_unit_of_work_outcome {
  TRILHA_UNIT_OF_WORK_COMMITTED = 1,   /**< and its events have left */
  TRILHA_UNIT_OF_WORK_ROLLED_BACK = 2, /**< nothing was stored and no event leaves */
  TRILHA_UNIT_OF_WORK_UNKNOWN = 3,     /**< the answer was lost: its events were reported undelivered */
  TRILHA_UNIT_OF_WORK_JOINED = 4,      /**< a call that had joined has ended; the transaction goes on */
  TRILHA_UNIT_OF_WORK_OPEN = 5         /**< SQLite: it could not be committed now; commit again, or roll back */
} trilha_unit_of_work_outcome;

typedef struct trilha_unit_of_work_result {
  trilha_unit_of_work_outcome outcome;
  bool resolved;      /**< the answer was lost, and the outcome was found out on a new connection */
  size_t left;        /**< events that their handler took, those of transactions of handlers included */
  size_t failed;      /**< events whose handler failed; they did leave */
  size_t undone;      /**< events that a rollback undid */
  size_t undelivered; /**< events that were reported undelivered */
} trilha_unit_of_work_result;

/** Commits and lets the events leave, before it returns. OK: COMMITTED or JOINED. Otherwise the outcome says what
 * holds, and the error why: ROLLED_BACK with INVALID (TRANSACTION_FAILED: an earlier statement had failed, and the
 * server answers COMMIT with ROLLBACK; TRANSACTION_DOOMED: a call that joined was rolled back; STORE_REFUSED: a
 * deferred constraint), UNAVAILABLE (STORE_CONTENTION: repeat the transaction), TIMEOUT (DEADLINE_PASSED) or CANCELLED;
 * UNKNOWN with OUTCOME_UNKNOWN (COMMIT_UNKNOWN); OPEN with TIMEOUT (STORE_BUSY).
 *
 * When the answer of PostgreSQL is lost, the transaction's number is looked up with pg_xact_status on a new connection,
 * on the same server and timeline only; the outcome and the events follow what it says. A transaction that wrote
 * nothing has no number and stays unknown.
 *
 * Misuse loses nothing and commits nothing of others: USAGE (NO_TRANSACTION; TRANSACTION_ENDED: it was ended, or
 * replaced by another, with SQL of the caller's own; CONNECTION_CLOSED; CONNECTION_BUSY). ret_result may be NULL. */
TRILHA_API trilha_status trilha_unit_of_work_commit(trilha_unit_of_work *unit, trilha_unit_of_work_result *ret_result,
                                                    trilha_error *error) TRILHA_MUST_USE;
/** Ends the innermost call; where that is the transaction's own, rolls back. OK also where the database had rolled it
 * back already or the connection is lost: nothing was stored. USAGE as for the commit. */
TRILHA_API trilha_status trilha_unit_of_work_rollback(trilha_unit_of_work *unit, trilha_error *error) TRILHA_MUST_USE;

/** Begins or joins, calls `work`, and commits when it returns OK; otherwise rolls back and returns what it returned.
 * `work` fills the error it is given. */
typedef trilha_status (*trilha_unit_of_work_body)(void *user, trilha_unit_of_work *unit, trilha_error *error);
TRILHA_API trilha_status trilha_unit_of_work_run(trilha_unit_of_work *unit, unsigned timeout_ms,
                                                 trilha_unit_of_work_body work, void *user,
                                                 trilha_unit_of_work_result *ret_result,
                                                 trilha_error *error) TRILHA_MUST_USE;

/** From another thread: ends the statement under way, of the caller's own too, and dooms the transaction: what follows
 * is refused (CANCELLED) and a commit rolls back. A commit that is under way may have been quicker: its outcome is what
 * the database says. Nothing happens between transactions. It must return before the unit or the connection is closed.
 */
TRILHA_API void trilha_unit_of_work_cancel(trilha_unit_of_work *unit);

#ifdef __cplusplus
}
#endif
#endif
