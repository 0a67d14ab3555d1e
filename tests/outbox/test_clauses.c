/* outbox: clauses of ruling R41 that no other test has; tests/outbox/README.md says where each one is proven. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <sqlite3.h>

#include "base/text.h"
#include "outbox/producer.h"
#include "support/expect.h"

static void begin(const trilha_producer *p) {
  trilha_producer_run(p, p->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
}

static void enqueue(const trilha_producer *p, const char *key) {
  const trilha_message message = trilha_producer_message("acme", key);
  trilha_enqueued said;
  CHECKED(trilha_producer_enqueue(p, &message, &said, error));
}

static int64_t messages(const trilha_producer *p) {
  return trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_message");
}

/* --- commit ------------------------------------------------------------------------------------------------------ */

static void an_enqueue_without_an_open_transaction_is_a_transaction_of_its_own(void **state) {
  trilha_producer p = trilha_producer_open(*state, true), other = trilha_producer_open(*state, false);
  trilha_producer_run(
      &p,
      p.pg != NULL
          ? "SELECT message_id FROM {p}outbox_enqueue('acme', 'nota', '1', 'nota.emitida', '1.0.0', '{}', "
            "'faturamento', "
            "'a8767a61-82e6-4978-b826-563ee88b6727')"
          : "INSERT INTO {p}outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, "
            "origin, correlation_id) VALUES ('acme', 'nota', '1', 'nota.emitida', '1.0.0', '{}', 'faturamento', "
            "'a8767a61-82e6-4978-b826-563ee88b6727')");
  assert_int_equal(messages(&other), 1);
  trilha_producer_close(&other);
  trilha_producer_close(&p);
}

static void several_saves_of_one_transaction_commit_together_in_their_order(void **state) {
  trilha_producer p = trilha_producer_open(*state, true), other = trilha_producer_open(*state, false);
  begin(&p);
  for (int i = 0; i < 3; i++) {
    trilha_producer_run(&p, "INSERT INTO effect VALUES ('saved')");
    enqueue(&p, "1");
    assert_int_equal(messages(&other), 0);
  }
  trilha_producer_run(&p, "COMMIT");
  assert_int_equal(trilha_producer_count(&other, "SELECT count(*) FROM effect"), 3);
  assert_int_equal(trilha_producer_count(&other,
                                         "SELECT count(DISTINCT aggregate_sequence) FROM {p}outbox_message WHERE "
                                         "aggregate_sequence BETWEEN 1 AND 3"),
                   3);
  trilha_producer_close(&other);
  trilha_producer_close(&p);
}

static int stop_at_once(void *user) {
  ++*(int *)user;
  return 1;
}

/* PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK; SQLite has rolled back already. */
static void a_cancelled_statement_takes_the_messages_of_its_transaction_with_it(void **state) {
  trilha_producer p = trilha_producer_open(*state, true), other = trilha_producer_open(*state, false);
  char message[512];
  int stopped = 0;
  begin(&p);
  enqueue(&p, "1");
  if (p.pg != NULL) {
    trilha_producer_run(&p, "SET LOCAL statement_timeout = '1ms'");
    assert_false(trilha_producer_try(&p, "SELECT pg_sleep(600)", message, sizeof message));
    PGresult *r = PQexec(p.pg, "COMMIT");
    assert_string_equal(PQcmdStatus(r), "ROLLBACK");
    PQclear(r);
  } else {
    sqlite3_progress_handler(p.db, 1000, stop_at_once, &stopped);
    assert_false(
        trilha_producer_try(&p,
                            "INSERT INTO effect WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                            "LIMIT 1000000000) SELECT i FROM n",
                            message, sizeof message));
    sqlite3_progress_handler(p.db, 0, NULL, NULL);
    assert_true(stopped > 0 && sqlite3_get_autocommit(p.db));
  }
  assert_int_equal(messages(&other), 0);
  trilha_producer_close(&other);
  trilha_producer_close(&p);
}

static void a_connection_that_ends_before_its_commit_leaves_nothing(void **state) {
  trilha_producer p = trilha_producer_open(*state, true), other = trilha_producer_open(*state, false);
  begin(&p);
  trilha_producer_run(&p, "INSERT INTO effect VALUES ('lost')");
  enqueue(&p, "1");
  trilha_producer_close(&p);
  begin(&other);
  enqueue(&other, "1"); /* waits until the lost one's locks are gone */
  trilha_producer_run(&other, "COMMIT");
  assert_int_equal(trilha_producer_count(&other, "SELECT count(*) FROM effect"), 0);
  assert_int_equal(trilha_producer_count(&other, "SELECT max(aggregate_sequence) FROM {p}outbox_message"), 1);
  trilha_producer_close(&other);
}

/* --- delivery ---------------------------------------------------------------------------------------------------- */

/* A destination whose inbox shares a transaction with its effect. */
typedef struct consumer {
  trilha_producer db;
  int fresh, repeated;
} consumer;

static trilha_status take(void *user, const trilha_envelope *e, trilha_error *error) {
  consumer *c = user;
  const trilha_inbox_message message = {.tenant_id = e->tenant_id,
                                        .consumer = TRILHA_TEXT("estoque"),
                                        .message_id = e->message_id,
                                        .payload = e->payload,
                                        .aggregate_type = e->aggregate_type,
                                        .aggregate_key = e->aggregate_key,
                                        .aggregate_sequence = e->aggregate_sequence,
                                        .previous_sequence = e->previous_sequence};
  trilha_inbox_answer answer = {0};
  begin(&c->db);
  trilha_status status = trilha_producer_accept(&c->db, &message, &answer, error);
  if (status == TRILHA_OK && answer.outcome == TRILHA_INBOX_NEW) {
    trilha_producer_run(&c->db, "INSERT INTO effect VALUES ('reserved')");
    c->fresh++;
  } else if (status == TRILHA_OK && answer.outcome == TRILHA_INBOX_DUPLICATE) {
    c->repeated++;
  } else if (status == TRILHA_OK) {
    status = TRILHA_UNAVAILABLE;
  }
  trilha_producer_run(&c->db, status == TRILHA_OK ? "COMMIT" : "ROLLBACK");
  trilha_free(answer.result);
  return status;
}

static void drain(const trilha_fixture *f, consumer *c) {
  trilha_producer_deliver(f, "everything", take, c);
}

static void a_head_that_is_under_lease_in_backoff_or_dead_blocks_what_is_behind_it(void **state) {
  static const char *const states[] = {"state = 'L'", "state = 'R', attempts = 1", "state = 'X', attempts = 10"};
  trilha_producer p = trilha_producer_open(*state, true);
  consumer c = {.db = trilha_producer_open(*state, false)};
  trilha_producer_say(&p, "acme", "1");
  trilha_producer_say(&p, "acme", "1");
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
    char sql[256];
    snprintf(sql, sizeof sql, "UPDATE {p}outbox_lane SET %s, %s", states[i],
             p.pg != NULL ? "due_at = now() + interval '1 day'" : "due_us = 9000000000000000");
    trilha_producer_run(&p, sql);
    drain(*state, &c);
    assert_int_equal(c.fresh, 0);
  }
  trilha_producer_run(&p, p.pg != NULL ? "UPDATE {p}outbox_lane SET state = 'R', attempts = 0, due_at = now()"
                                       : "UPDATE {p}outbox_lane SET state = 'R', attempts = 0, due_us = 0");
  drain(*state, &c);
  assert_int_equal(c.fresh, 2);
  trilha_producer_close(&c.db);
  trilha_producer_close(&p);
}

/* The producer's tables as a backup from before the delivery has them: every lane at its first message. */
static void restore(const trilha_producer *p) {
  trilha_producer_run(p, "DELETE FROM {p}outbox_delivery");
  trilha_producer_run(p, p->pg != NULL
                             ? "INSERT INTO {p}outbox_lane (destination, tenant_id, due_at, aggregate_id, "
                               "aggregate_type, aggregate_key, head_sequence) SELECT 0, tenant_id, now(), "
                               "aggregate_id, aggregate_type, aggregate_key, 1 FROM {p}outbox_aggregate"
                             : "INSERT INTO {p}outbox_lane (destination, aggregate_id, tenant_id, due_us, "
                               "head_sequence) SELECT 0, aggregate_id, tenant_id, 0, 1 FROM {p}outbox_aggregate");
  if (p->pg != NULL) trilha_producer_run(p, "UPDATE {p}outbox_aggregate SET awake = 1");
}

static void what_comes_again_after_a_restore_of_the_producer_is_a_duplicate(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  consumer c = {.db = trilha_producer_open(*state, false)};
  for (int i = 0; i < 2; i++) trilha_producer_say(&p, "acme", "1");
  drain(*state, &c);
  assert_true(c.fresh == 2 && c.repeated == 0);
  restore(&p);
  trilha_producer_say(&p, "acme", "1");
  drain(*state, &c);
  assert_true(c.fresh == 3 && c.repeated == 2);
  trilha_producer_run(&p, "DELETE FROM {p}inbox_message"); /* purged too early: the last sequence still knows them */
  restore(&p);
  drain(*state, &c);
  assert_true(c.fresh == 3 && c.repeated == 5);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM effect"), 3);
  trilha_producer_close(&c.db);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(an_enqueue_without_an_open_transaction_is_a_transaction_of_its_own),
      TEST(several_saves_of_one_transaction_commit_together_in_their_order),
      TEST(a_cancelled_statement_takes_the_messages_of_its_transaction_with_it),
      TEST(a_connection_that_ends_before_its_commit_leaves_nothing),
      TEST(a_head_that_is_under_lease_in_backoff_or_dead_blocks_what_is_behind_it),
      TEST(what_comes_again_after_a_restore_of_the_producer_is_a_duplicate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
