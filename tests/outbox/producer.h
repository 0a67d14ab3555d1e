/* tests/outbox/producer: a business program with a connection of its own to the fixture's database, and its outbox
 * `billing` there. */
#ifndef TRILHA_TESTS_OUTBOX_PRODUCER_H
#define TRILHA_TESTS_OUTBOX_PRODUCER_H

#include "support/store_fixture.h"
#include "trilha/postgres.h"
#include "trilha/relay.h"
#include "trilha/sqlite.h"

typedef struct trilha_producer {
  const trilha_fixture *f;
  struct pg_conn *pg; /* one of the two */
  struct sqlite3 *db;
} trilha_producer;

/* Opens the fixture's database; with `install` makes the outbox, the table `effect (name text)` and the route * →
 * `everything`. */
trilha_producer trilha_producer_open(const trilha_fixture *f, bool install);
void trilha_producer_close(trilha_producer *p);
/* {p} becomes "billing." or "billing_". Fails the test when the statement fails. */
void trilha_producer_run(const trilha_producer *p, const char *sql);
/* The same; false, and the message of the database, when it fails. */
bool trilha_producer_try(const trilha_producer *p, const char *sql, char *ret_message, size_t size);
/* The number, or the text ("" for NULL or no row), that a query answers. */
int64_t trilha_producer_count(const trilha_producer *p, const char *sql);
void trilha_producer_text(const trilha_producer *p, const char *sql, char *out, size_t size);

/* Within the open transaction; the type is "nota.emitida" unless `message` says otherwise. */
trilha_message trilha_producer_message(const char *tenant, const char *key);
trilha_status trilha_producer_enqueue(const trilha_producer *p, const trilha_message *message, trilha_enqueued *ret,
                                      trilha_error *err);
/* BEGIN, one message, COMMIT. Fails the test when that fails. */
trilha_enqueued trilha_producer_say(const trilha_producer *p, const char *tenant, const char *key);

trilha_status trilha_producer_accept(const trilha_producer *p, const trilha_inbox_message *message,
                                     trilha_inbox_answer *ret, trilha_error *err);
trilha_status trilha_producer_finish(const trilha_producer *p, const trilha_inbox_message *message, const char *result,
                                     trilha_error *err);

trilha_outbox_options trilha_producer_options(const trilha_fixture *f);
/* A relay that sends whatever is due to `destination`, one message after the other, and ends. Fails the test when that
 * fails. */
void trilha_producer_deliver(const trilha_fixture *f, const char *destination, trilha_send send, void *user);
/* The outbox's operators' side; fails the test when it cannot be opened. */
trilha_outbox *trilha_producer_outbox(const trilha_fixture *f);

#endif
