/* trilha/sqlite.h: outbox and inbox inside the caller's own transaction on an sqlite3 handle.
 *
 * The handle is the caller's, of the SQLite library this program is linked to (a handle of another copy, as a
 * language's own build brings one, must use the SQL form), with an open transaction (USAGE, NO_TRANSACTION otherwise:
 * an enqueue without the fact it belongs to is a mistake). Nothing here begins, commits or rolls back; an error undoes
 * its own statement only. schema is the prefix given at install, or NULL. Thread safety is the handle's: one thread at
 * a time.
 *
 * The enqueue from any language: INSERT INTO outbox_enqueue (…) VALUES (…).
 */
#ifndef TRILHA_SQLITE_H
#define TRILHA_SQLITE_H

#include "trilha/outbox.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3; /* of the same SQLite library */

/** Enqueues into the outbox. INVALID (MESSAGE_REFUSED), NOT_FOUND (NO_ROUTE, OUTBOX_NOT_INSTALLED), CONFLICT
 * (MESSAGE_ID_TAKEN), TIMEOUT (STORE_BUSY: another writer). */
TRILHA_API trilha_status trilha_outbox_enqueue_sqlite(struct sqlite3 *connection, const char *schema,
                                                      const trilha_message *message, trilha_enqueued *ret_enqueued,
                                                      trilha_error *error) TRILHA_MUST_USE;
/** Asks the inbox, in the transaction of the effect. */
TRILHA_API trilha_status trilha_inbox_accept_sqlite(struct sqlite3 *connection, const char *schema,
                                                    const trilha_inbox_message *message,
                                                    trilha_inbox_answer *ret_answer,
                                                    trilha_error *error) TRILHA_MUST_USE;
/** Keeps what the effect gave. NOT_FOUND (NOT_ACCEPTED): the message was not accepted, or keeps a result already, which
 * repeats were told. */
TRILHA_API trilha_status trilha_inbox_finish_sqlite(struct sqlite3 *connection, const char *schema,
                                                    const trilha_inbox_message *message, trilha_text result,
                                                    trilha_error *error) TRILHA_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
