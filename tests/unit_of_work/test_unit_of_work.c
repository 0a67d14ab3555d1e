/* unit_of_work: transactions, savepoints, cancellation, limits, and what leaves after the commit. On both stores. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/text.h"
#include "unit_of_work/session.h"

#define INSERT "INSERT INTO effect VALUES ('done')"

static const char id_one[] = "01a22b42-62b6-70d6-925b-e4ab243a1dc6";

/* --- commit and rollback ---------------------------------------------------------------------------------------------
 */

static trilha_status look_from_outside(session *s, const trilha_post_commit_event *event) {
  (void)event;
  trilha_producer *other = s->user;
  return trilha_producer_count(other, "SELECT count(*) FROM effect") == 2 ? TRILHA_OK : TRILHA_INTERNAL;
}

static void events_leave_after_the_commit_in_the_order_they_were_raised(void **state) {
  session s;
  session_open(&s, *state, true);
  trilha_producer other = trilha_producer_open(*state, false);
  s.inside = look_from_outside;
  s.user = &other;
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  session_say(&s, "E2");
  session_run(&s, INSERT);
  session_say(&s, "E3");
  assert_string_equal(s.left, "");
  const trilha_unit_of_work_result result = session_commit(&s);
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_COMMITTED);
  assert_true(result.left == 3 && result.failed == 0 && result.undone == 0 && !result.resolved);
  assert_string_equal(s.left, "E1 E2 E3");
  trilha_producer_close(&other);
  session_close(&s);
}

static trilha_status check_fields(session *s, const trilha_post_commit_event *event) {
  const int64_t *savepoint = s->user;
  assert_int_equal(event->transaction, 2);
  assert_int_equal(event->savepoint, trilha_text_is(event->type, "outer") ? 0 : *savepoint);
  assert_true(trilha_text_is(event->payload, "a\0b") || event->payload.size == 3);
  return TRILHA_OK;
}

static void an_event_carries_its_id_transaction_savepoint_and_any_bytes(void **state) {
  session s;
  char id[37] = "";
  session_open(&s, *state, true);
  session_begin(&s);
  session_rollback(&s);
  session_begin(&s);
  trilha_post_commit_event event = {.type = TRILHA_TEXT("outer"), .payload = {"a\0b", 3}};
  CHECKED(trilha_unit_of_work_raise(s.unit, &event, id, error));
  assert_int_equal(strlen(id), 36);
  int64_t savepoint = session_savepoint(&s);
  event.type = TRILHA_TEXT("inner");
  CHECKED(trilha_unit_of_work_raise(s.unit, &event, NULL, error));
  s.inside = check_fields;
  s.user = &savepoint;
  assert_int_equal(session_commit(&s).left, 2);
  session_close(&s);
}

static void B05_nothing_leaves_after_a_rollback_nor_with_the_next_commit(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  session_rollback(&s);
  session_begin(&s);
  session_say(&s, "E2");
  assert_int_equal(session_commit(&s).left, 1);
  assert_string_equal(s.left, "E2");
  assert_int_equal(session_effects(&s), 0);
  assert_string_equal(s.undelivered, "");
  session_close(&s);
}

static void several_saves_of_one_transaction_accumulate(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  for (int i = 0; i < 3; i++) {
    char type[8];
    snprintf(type, sizeof type, "E%d", i);
    session_run(&s, INSERT);
    session_say(&s, type);
  }
  session_commit(&s);
  assert_string_equal(s.left, "E0 E1 E2");
  assert_int_equal(session_effects(&s), 3);
  session_close(&s);
}

static void two_connections_commit_and_roll_back_on_their_own(void **state) {
  const trilha_fixture *f = *state;
  session a, b;
  session_open(&a, f, true);
  session_open(&b, f, false);
  session_begin(&a);
  session_say(&a, "A1");
  if (f->is_postgres) { /* SQLite has one writer: there the second is a reader with events */
    session_begin(&b);
  } else {
    session_run(&b, "BEGIN");
    CHECKED(trilha_unit_of_work_adopt(b.unit, 0, error));
  }
  session_say(&b, "B1");
  session_commit(&a);
  assert_string_equal(a.left, "A1");
  assert_string_equal(b.left, "");
  session_rollback(&b);
  assert_string_equal(b.left, "");
  session_close(&b);
  session_close(&a);
}

static void a_deferred_constraint_that_refuses_the_commit_undoes_everything(void **state) {
  session s;
  session_open(&s, *state, true);
  if (s.p.db != NULL) session_run(&s, "PRAGMA foreign_keys = ON");
  session_run(&s, "CREATE TABLE parent (id integer PRIMARY KEY)");
  session_run(&s, "CREATE TABLE child (id integer REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)");
  session_begin(&s);
  session_run(&s, "INSERT INTO child VALUES (1)");
  session_say(&s, "E1");
  trilha_unit_of_work_result result;
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_INVALID, "STORE_REFUSED");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_int_equal(result.undone, 1);
  assert_string_equal(s.left, "");
  session_begin(&s);
  session_commit(&s);
  assert_int_equal(trilha_producer_count(&s.p, "SELECT count(*) FROM child"), 0);
  session_close(&s);
}

/* PostgreSQL answers COMMIT with ROLLBACK; SQLite has rolled back already. */
static void a_commit_that_the_server_turned_into_a_rollback_counts_as_failed(void **state) {
  session s;
  char message[512];
  session_open(&s, *state, true);
  session_run(&s, "CREATE TABLE single (id integer PRIMARY KEY)");
  session_begin(&s);
  session_run(&s, "INSERT INTO single VALUES (1)");
  session_say(&s, "E1");
  assert_false(trilha_producer_try(
      &s.p, s.p.pg != NULL ? "INSERT INTO single VALUES (1)" : "INSERT OR ROLLBACK INTO single VALUES (1)", message,
      sizeof message));
  REFUSED(trilha_unit_of_work_raise(s.unit, &(trilha_post_commit_event){.type = TRILHA_TEXT("E2")}, NULL, error),
          TRILHA_INVALID, "TRANSACTION_FAILED");
  trilha_unit_of_work_result result;
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_INVALID, "TRANSACTION_FAILED");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_int_equal(result.undone, 1);
  assert_string_equal(s.left, "");
  assert_string_equal(s.undelivered, "");
  assert_int_equal(trilha_producer_count(&s.p, "SELECT count(*) FROM single"), 0);
  session_close(&s);
}

/* --- savepoints
 * -------------------------------------------------------------------------------------------------------- */

static void enqueue(session *s, const char *key) {
  const trilha_message message = trilha_producer_message("acme", key);
  trilha_enqueued said;
  CHECKED(trilha_unit_of_work_enqueue(s->unit, "billing", &message, &said, error));
}

static void B06_what_a_savepoint_undid_leaves_nowhere(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_say(&s, "E1");
  enqueue(&s, "1");
  int64_t savepoint = session_savepoint(&s);
  session_say(&s, "E2");
  enqueue(&s, "2");
  CHECKED(trilha_unit_of_work_rollback_to(s.unit, savepoint, error));
  session_say(&s, "E3");
  enqueue(&s, "3");
  const trilha_unit_of_work_result result = session_commit(&s);
  assert_string_equal(s.left, "E1 E3");
  assert_int_equal(result.undone, 1);
  assert_int_equal(trilha_producer_count(&s.p, "SELECT count(*) FROM {p}outbox_message"), 2);
  assert_int_equal(trilha_producer_count(&s.p, "SELECT count(*) FROM {p}producer_outbox WHERE aggregate_key = '2'"), 0);
  session_close(&s);
}

static void what_was_raised_in_a_released_savepoint_stays(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  int64_t outer = session_savepoint(&s);
  session_say(&s, "E1");
  int64_t inner = session_savepoint(&s);
  session_say(&s, "E2");
  CHECKED(trilha_unit_of_work_release(s.unit, inner, error));
  session_say(&s, "E3");
  CHECKED(trilha_unit_of_work_release(s.unit, outer, error));
  inner = session_savepoint(&s);
  session_say(&s, "E4");
  outer = session_savepoint(&s);
  session_say(&s, "E5");
  CHECKED(trilha_unit_of_work_release(s.unit, outer, error));
  CHECKED(trilha_unit_of_work_rollback_to(s.unit, inner, error)); /* takes what was released into it, too */
  session_commit(&s);
  assert_string_equal(s.left, "E1 E2 E3");
  session_close(&s);
}

static void savepoints_that_others_make_with_sql_of_their_own_count_too(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_say(&s, "E1");
  session_run(&s, "SAVEPOINT theirs");
  session_say(&s, "E2");
  session_savepoint(&s);
  session_say(&s, "E3");
  session_run(&s, "ROLLBACK TO SAVEPOINT theirs");
  session_say(&s, "E4");
  session_run(&s, "RELEASE SAVEPOINT theirs");
  session_say(&s, "E5");
  const trilha_unit_of_work_result result = session_commit(&s);
  assert_string_equal(s.left, "E1 E4 E5");
  assert_int_equal(result.undone, 2);
  session_close(&s);
}

static void a_failed_statement_behind_a_savepoint_costs_only_what_is_behind_it(void **state) {
  session s;
  char message[512];
  session_open(&s, *state, true);
  session_begin(&s);
  session_say(&s, "E1");
  int64_t savepoint = session_savepoint(&s);
  session_say(&s, "E2");
  assert_false(trilha_producer_try(&s.p, "SELECT nothing FROM nowhere", message, sizeof message));
  CHECKED(trilha_unit_of_work_rollback_to(s.unit, savepoint, error));
  session_say(&s, "E3");
  session_commit(&s);
  assert_string_equal(s.left, "E1 E3");
  session_close(&s);
}

static void G04_an_id_raised_again_after_its_savepoint_was_undone_leaves_once(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  int64_t savepoint = session_savepoint(&s);
  session_say_as(&s, "undone", id_one);
  CHECKED(trilha_unit_of_work_rollback_to(s.unit, savepoint, error));
  session_say_as(&s, "again", id_one);
  session_commit(&s);
  assert_string_equal(s.left, "again");
  session_close(&s);
}

static void an_id_raised_by_several_saves_leaves_once_in_its_first_place(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_say_as(&s, "first", id_one);
  session_say(&s, "second");
  session_say_as(&s, "repeat", "01A22B42-62B6-70D6-925B-E4AB243A1DC6"); /* the same in another case */
  session_savepoint(&s);
  session_say_as(&s, "repeat", id_one);
  const trilha_unit_of_work_result result = session_commit(&s);
  assert_string_equal(s.left, "first second");
  assert_int_equal(result.undone, 0);
  session_begin(&s); /* an id is known for one transaction */
  session_say_as(&s, "later", id_one);
  session_commit(&s);
  assert_string_equal(s.left, "first second later");
  session_close(&s);
}

/* --- cancellation
 * ------------------------------------------------------------------------------------------------------ */

static void a_transaction_whose_time_has_passed_is_rolled_back(void **state) {
  session s;
  session_open(&s, *state, true);
  CHECKED(trilha_unit_of_work_begin(s.unit, 1, error));
  session_run(&s, INSERT);
  trilha_clock_sleep_ms(2);
  REFUSED(trilha_unit_of_work_raise(s.unit, &(trilha_post_commit_event){.type = TRILHA_TEXT("E1")}, NULL, error),
          TRILHA_TIMEOUT, "DEADLINE_PASSED");
  trilha_unit_of_work_result result;
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_TIMEOUT, "DEADLINE_PASSED");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_int_equal(session_effects(&s), 0);
  session_begin(&s);
  session_say(&s, "E2");
  session_commit(&s);
  assert_string_equal(s.left, "E2");
  session_close(&s);
}

typedef struct canceller {
  session *s;
  atomic_bool done;
} canceller;

/* Again and again: nobody can say when the statement has begun. */
static void *cancel_until_done(void *user) {
  canceller *c = user;
  while (!atomic_load(&c->done)) {
    trilha_unit_of_work_cancel(c->s->unit);
    trilha_clock_sleep_ms(5);
  }
  return NULL;
}

static void cancelling_ends_the_statement_under_way_and_dooms_the_transaction(void **state) {
  session s;
  char message[512];
  pthread_t thread;
  session_open(&s, *state, true);
  trilha_unit_of_work_cancel(s.unit); /* between transactions: nothing */
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  canceller c = {.s = &s};
  assert_int_equal(pthread_create(&thread, NULL, cancel_until_done, &c), 0);
  assert_false(trilha_producer_try(&s.p,
                                   s.p.pg != NULL ? "SELECT pg_sleep(600)"
                                                  : "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                                                    "SELECT sum(i) FROM n",
                                   message, sizeof message));
  atomic_store(&c.done, true);
  pthread_join(thread, NULL);
  REFUSED(trilha_unit_of_work_raise(s.unit, &(trilha_post_commit_event){.type = TRILHA_TEXT("E2")}, NULL, error),
          TRILHA_CANCELLED, "CANCELLED");
  trilha_unit_of_work_result result;
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_CANCELLED, "CANCELLED");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_string_equal(s.left, "");
  assert_int_equal(session_effects(&s), 0);
  session_begin(&s);
  session_say(&s, "E3");
  session_commit(&s);
  assert_string_equal(s.left, "E3");
  session_close(&s);
}

/* --- the outbox
 * -------------------------------------------------------------------------------------------------------- */

static void a_message_is_enqueued_by_the_contract_of_the_other_doors(void **state) {
  session s;
  session_open(&s, *state, true);
  trilha_message message = trilha_producer_message("acme", "1");
  trilha_enqueued said = {0};
  REFUSED(trilha_unit_of_work_enqueue(s.unit, "billing", &message, &said, error), TRILHA_USAGE, "NO_TRANSACTION");
  session_begin(&s);
  REFUSED(trilha_unit_of_work_enqueue(s.unit, "Not A Schema", &message, &said, error), TRILHA_USAGE,
          "SCHEMA_INVALID_NAME");
  REFUSED(trilha_unit_of_work_enqueue(s.unit, "billing", NULL, &said, error), TRILHA_USAGE, "ARGUMENT_MISSING");
  CHECKED(trilha_unit_of_work_enqueue(s.unit, "billing", &message, &said, error));
  assert_int_equal(said.aggregate_sequence, 1);
  CHECKED(trilha_unit_of_work_enqueue(s.unit, "billing", &message, &said, error));
  assert_int_equal(said.aggregate_sequence, 2);
  int64_t savepoint = session_savepoint(&s);
  message.message_id = trilha_text_of(said.message_id);
  trilha_enqueued again;
  REFUSED(trilha_unit_of_work_enqueue(s.unit, "billing", &message, &again, error), TRILHA_CONFLICT, "MESSAGE_ID_TAKEN");
  CHECKED(trilha_unit_of_work_rollback_to(s.unit, savepoint, error));
  message = trilha_producer_message("", "1");
  REFUSED(trilha_unit_of_work_enqueue(s.unit, "billing", &message, &again, error), TRILHA_INVALID, "MESSAGE_REFUSED");
  CHECKED(trilha_unit_of_work_rollback_to(s.unit, savepoint, error));
  session_commit(&s);
  assert_int_equal(trilha_producer_count(&s.p, "SELECT count(*) FROM {p}outbox_message"), 2);
  session_close(&s);
}

/* --- misuse and limits
 * ------------------------------------------------------------------------------------------------- */

static void misuse_is_told_and_loses_nothing(void **state) {
  session s;
  session_open(&s, *state, true);
  REFUSED(trilha_unit_of_work_begin(NULL, 0, error), TRILHA_USAGE, "ARGUMENT_MISSING");
  REFUSED(trilha_unit_of_work_commit(NULL, NULL, error), TRILHA_USAGE, "ARGUMENT_MISSING");
  REFUSED(trilha_unit_of_work_commit(s.unit, NULL, error), TRILHA_USAGE, "NO_TRANSACTION");
  REFUSED(trilha_unit_of_work_rollback(s.unit, error), TRILHA_USAGE, "NO_TRANSACTION");
  REFUSED(trilha_unit_of_work_adopt(s.unit, 0, error), TRILHA_USAGE, "NO_TRANSACTION");
  session_begin(&s);
  REFUSED(trilha_unit_of_work_adopt(s.unit, 0, error), TRILHA_USAGE, "TRANSACTION_KNOWN");
  session_say(&s, "E1");
  REFUSED(trilha_unit_of_work_raise(s.unit, &(trilha_post_commit_event){0}, NULL, error), TRILHA_INVALID,
          "EVENT_REFUSED");
  REFUSED(
      trilha_unit_of_work_raise(
          s.unit, &(trilha_post_commit_event){.type = TRILHA_TEXT("E2"), .event_id = TRILHA_TEXT("7")}, NULL, error),
      TRILHA_INVALID, "EVENT_REFUSED");
  int64_t outer = session_savepoint(&s), inner = session_savepoint(&s);
  CHECKED(trilha_unit_of_work_release(s.unit, outer, error));
  REFUSED(trilha_unit_of_work_rollback_to(s.unit, inner, error), TRILHA_USAGE, "SAVEPOINT_UNKNOWN");
  outer = session_savepoint(&s);
  session_begin(&s);
  REFUSED(trilha_unit_of_work_rollback_to(s.unit, outer, error), TRILHA_USAGE, "SAVEPOINT_UNKNOWN");
  session_savepoint(&s);
  session_commit(&s);
  CHECKED(trilha_unit_of_work_rollback_to(s.unit, outer, error));
  session_commit(&s);
  assert_string_equal(s.left, "E1");
  session_close(&s);
}

static void a_savepoint_that_was_ended_with_sql_is_told(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, "SAVEPOINT theirs");
  int64_t savepoint = session_savepoint(&s);
  session_run(&s, "RELEASE SAVEPOINT theirs");
  REFUSED(trilha_unit_of_work_rollback_to(s.unit, savepoint, error), TRILHA_USAGE, "SAVEPOINT_UNKNOWN");
  session_rollback(&s);
  session_close(&s);
}

static void a_connection_closed_under_its_unit_is_noticed(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  trilha_producer_close(&s.p);
  REFUSED(trilha_unit_of_work_raise(s.unit, &(trilha_post_commit_event){.type = TRILHA_TEXT("E2")}, NULL, error),
          TRILHA_USAGE, "CONNECTION_CLOSED");
  trilha_unit_of_work_result result;
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_USAGE, "CONNECTION_CLOSED");
  assert_true(result.outcome == TRILHA_UNIT_OF_WORK_UNKNOWN && result.undelivered == 1);
  assert_string_equal(s.undelivered, "E1");
  REFUSED(trilha_unit_of_work_begin(s.unit, 0, error), TRILHA_USAGE, "CONNECTION_CLOSED");
  session_close(&s);
  session_open(&s, *state, false);
  assert_int_equal(session_effects(&s), 0);
  session_close(&s);
}

static void events_savepoints_and_calls_have_limits(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  char *large = calloc(1, TRILHA_UNIT_OF_WORK_BYTES_MAX);
  trilha_post_commit_event event = {.type = TRILHA_TEXT("E"), .payload = {large, TRILHA_UNIT_OF_WORK_BYTES_MAX}};
  REFUSED(trilha_unit_of_work_raise(s.unit, &event, NULL, error), TRILHA_LIMIT, "UNIT_OF_WORK_FULL");
  event.payload.size = TRILHA_UNIT_OF_WORK_BYTES_MAX - 1;
  CHECKED(trilha_unit_of_work_raise(s.unit, &event, NULL, error));
  event.payload.size = 0;
  REFUSED(trilha_unit_of_work_raise(s.unit, &event, NULL, error), TRILHA_LIMIT, "UNIT_OF_WORK_FULL");
  free(large);
  for (int i = 0; i < TRILHA_UNIT_OF_WORK_SAVEPOINTS_MAX; i++) session_savepoint(&s);
  int64_t one_more;
  REFUSED(trilha_unit_of_work_savepoint(s.unit, &one_more, error), TRILHA_LIMIT, "UNIT_OF_WORK_SAVEPOINTS");
  for (int i = 0; i < TRILHA_UNIT_OF_WORK_NESTED_MAX; i++) session_begin(&s);
  REFUSED(trilha_unit_of_work_begin(s.unit, 0, error), TRILHA_LIMIT, "UNIT_OF_WORK_NESTED");
  for (int i = 0; i < TRILHA_UNIT_OF_WORK_NESTED_MAX; i++) session_commit(&s);
  assert_int_equal(session_commit(&s).left, 1);
  session_close(&s);
}

/* The same collector on both stores: where each raise is a round trip, it is not filled again. */
static void as_many_events_as_are_allowed_leave_in_their_order(void **state) {
  const trilha_fixture *f = *state;
  session s;
  if (f->is_postgres) skip();
  session_open(&s, *state, true);
  session_begin(&s);
  const trilha_post_commit_event event = {.type = TRILHA_TEXT("E")};
  for (int i = 0; i < TRILHA_UNIT_OF_WORK_EVENTS_MAX; i++)
    CHECKED(trilha_unit_of_work_raise(s.unit, &event, NULL, error));
  REFUSED(trilha_unit_of_work_raise(s.unit, &event, NULL, error), TRILHA_LIMIT, "UNIT_OF_WORK_FULL");
  assert_int_equal(session_commit(&s).left, TRILHA_UNIT_OF_WORK_EVENTS_MAX);
  session_close(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(events_leave_after_the_commit_in_the_order_they_were_raised),
      TEST(an_event_carries_its_id_transaction_savepoint_and_any_bytes),
      TEST(B05_nothing_leaves_after_a_rollback_nor_with_the_next_commit),
      TEST(several_saves_of_one_transaction_accumulate),
      TEST(two_connections_commit_and_roll_back_on_their_own),
      TEST(a_deferred_constraint_that_refuses_the_commit_undoes_everything),
      TEST(a_commit_that_the_server_turned_into_a_rollback_counts_as_failed),
      TEST(B06_what_a_savepoint_undid_leaves_nowhere),
      TEST(what_was_raised_in_a_released_savepoint_stays),
      TEST(savepoints_that_others_make_with_sql_of_their_own_count_too),
      TEST(a_failed_statement_behind_a_savepoint_costs_only_what_is_behind_it),
      TEST(G04_an_id_raised_again_after_its_savepoint_was_undone_leaves_once),
      TEST(an_id_raised_by_several_saves_leaves_once_in_its_first_place),
      TEST(a_transaction_whose_time_has_passed_is_rolled_back),
      TEST(cancelling_ends_the_statement_under_way_and_dooms_the_transaction),
      TEST(a_message_is_enqueued_by_the_contract_of_the_other_doors),
      TEST(misuse_is_told_and_loses_nothing),
      TEST(a_savepoint_that_was_ended_with_sql_is_told),
      TEST(a_connection_closed_under_its_unit_is_noticed),
      TEST(events_savepoints_and_calls_have_limits),
      TEST(as_many_events_as_are_allowed_leave_in_their_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
