/* trilha/postgres.h: outbox and inbox inside the caller's own transaction on a PGconn.
 *
 * The connection is the caller's, in blocking mode, with an open transaction (USAGE, NO_TRANSACTION otherwise: an
 * enqueue without the fact it belongs to is a mistake). Nothing here begins, commits or rolls back. An error leaves the
 * transaction failed, as any error of PostgreSQL does: roll back, or to a savepoint. Thread safety is the connection's:
 * one thread at a time.
 *
 * The same from any language: SELECT * FROM billing.outbox_enqueue(…), billing.inbox_accept(…),
 * billing.inbox_finish(…).
 */
#ifndef TRILHA_POSTGRES_H
#define TRILHA_POSTGRES_H

#include "trilha/outbox.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pg_conn; /* PGconn of libpq */

/** Enqueues into schema's outbox. INVALID (MESSAGE_REFUSED), NOT_FOUND (NO_ROUTE, OUTBOX_NOT_INSTALLED), CONFLICT
 * (MESSAGE_ID_TAKEN), UNAVAILABLE (STORE_CONTENTION: repeat the transaction). */
TRILHA_API trilha_status trilha_outbox_enqueue_postgres(struct pg_conn *connection, const char *schema,
                                                        const trilha_message *message, trilha_enqueued *ret_enqueued,
                                                        trilha_error *error) TRILHA_MUST_USE;
/** Asks schema's inbox, in the transaction of the effect. Two at once with one key: the second waits for the end of the
 * first. */
TRILHA_API trilha_status trilha_inbox_accept_postgres(struct pg_conn *connection, const char *schema,
                                                      const trilha_inbox_message *message,
                                                      trilha_inbox_answer *ret_answer,
                                                      trilha_error *error) TRILHA_MUST_USE;
/** Keeps what the effect gave. NOT_FOUND (NOT_ACCEPTED): the message was not accepted, or keeps a result already, which
 * repeats were told. */
TRILHA_API trilha_status trilha_inbox_finish_postgres(struct pg_conn *connection, const char *schema,
                                                      const trilha_inbox_message *message, trilha_text result,
                                                      trilha_error *error) TRILHA_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
