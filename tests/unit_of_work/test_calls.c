/* unit_of_work: calls that join, transactions of others, handlers that begin their own. On both stores. */
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
#include "unit_of_work/session.h"

#define INSERT "INSERT INTO effect VALUES ('done')"

/* How somebody begins with SQL of his own. */
static void begin_raw(session *s) {
  session_run(s, s->p.pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
}

/* --- calls that join -------------------------------------------------------------------------------------------------
 */

static void a_call_that_joins_never_commits_early(void **state) {
  session s;
  session_open(&s, *state, true);
  trilha_producer other = trilha_producer_open(*state, false);
  session_begin(&s);
  session_run(&s, INSERT);
  session_begin(&s);
  session_say(&s, "E1");
  assert_int_equal(session_commit(&s).outcome, TRILHA_UNIT_OF_WORK_JOINED);
  assert_string_equal(s.left, "");
  assert_int_equal(trilha_producer_count(&other, "SELECT count(*) FROM effect"), 0);
  assert_int_equal(session_commit(&s).outcome, TRILHA_UNIT_OF_WORK_COMMITTED);
  assert_string_equal(s.left, "E1");
  assert_int_equal(trilha_producer_count(&other, "SELECT count(*) FROM effect"), 1);
  REFUSED(trilha_unit_of_work_commit(s.unit, NULL, error), TRILHA_USAGE, "NO_TRANSACTION");
  trilha_producer_close(&other);
  session_close(&s);
}

static void after_the_rollback_of_a_call_that_joined_the_whole_can_only_be_rolled_back(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  session_begin(&s);
  session_rollback(&s);
  REFUSED(trilha_unit_of_work_raise(s.unit, &(trilha_post_commit_event){.type = TRILHA_TEXT("E2")}, NULL, error),
          TRILHA_INVALID, "TRANSACTION_DOOMED");
  trilha_unit_of_work_result result;
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_INVALID, "TRANSACTION_DOOMED");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_int_equal(session_effects(&s), 0);
  assert_string_equal(s.left, "");
  session_close(&s);
}

static trilha_unit_of_work *unit_of_connection(const session *s) {
  return s->p.pg != NULL ? trilha_unit_of_work_of_postgres(s->p.pg) : trilha_unit_of_work_of_sqlite(s->p.db);
}

static void code_that_was_given_the_connection_only_finds_its_unit(void **state) {
  session s;
  session_open(&s, *state, true);
  trilha_producer other = trilha_producer_open(*state, false);
  assert_ptr_equal(unit_of_connection(&s), s.unit);
  assert_null(other.pg != NULL ? trilha_unit_of_work_of_postgres(other.pg) : trilha_unit_of_work_of_sqlite(other.db));
  trilha_unit_of_work *first = s.unit;
  REFUSED(session_open_unit(&s, error), TRILHA_CONFLICT, "UNIT_OF_WORK_EXISTS");
  trilha_unit_of_work_close(first);
  s.unit = NULL;
  assert_null(unit_of_connection(&s));
  CHECKED(session_open_unit(&s, error));
  assert_ptr_equal(unit_of_connection(&s), s.unit);
  session_begin(&s);
  session_say(&s, "E1");
  session_commit(&s);
  assert_string_equal(s.left, "E1");
  trilha_producer_close(&other);
  session_close(&s);
}

/* --- adopted transactions --------------------------------------------------------------------------------------------
 */

static void an_adopted_transaction_ends_through_the_unit(void **state) {
  session s;
  session_open(&s, *state, true);
  begin_raw(&s);
  session_run(&s, INSERT);
  session_run(&s, "SAVEPOINT before");
  CHECKED(trilha_unit_of_work_adopt(s.unit, 0, error));
  session_say(&s, "E1");
  session_run(&s, "ROLLBACK TO SAVEPOINT before"); /* the adoption too is behind it */
  session_say(&s, "E2");
  session_commit(&s);
  assert_string_equal(s.left, "E2");
  assert_int_equal(session_effects(&s), 1);
  begin_raw(&s);
  session_run(&s, INSERT);
  CHECKED(trilha_unit_of_work_adopt(s.unit, 0, error));
  session_say(&s, "E3");
  session_rollback(&s);
  assert_string_equal(s.left, "E2");
  assert_int_equal(session_effects(&s), 1);
  session_close(&s);
}

static void a_call_in_a_transaction_nobody_told_of_joins_and_leaves_the_end_to_its_owner(void **state) {
  session s;
  session_open(&s, *state, true);
  trilha_producer other = trilha_producer_open(*state, false);
  begin_raw(&s);
  session_run(&s, INSERT);
  session_begin(&s);
  session_say(&s, "E1");
  assert_int_equal(session_commit(&s).outcome, TRILHA_UNIT_OF_WORK_JOINED);
  assert_int_equal(trilha_producer_count(&other, "SELECT count(*) FROM effect"), 0);
  assert_string_equal(s.left, "");
  assert_int_equal(session_commit(&s).outcome, TRILHA_UNIT_OF_WORK_COMMITTED);
  assert_string_equal(s.left, "E1");
  trilha_producer_close(&other);
  session_close(&s);
}

static void a_transaction_that_the_caller_committed_himself_is_told_and_its_events_are_reported(void **state) {
  for (int adopted = 0; adopted < 2; adopted++) {
    session s;
    session_open(&s, *state, adopted == 0);
    if (adopted == 1) {
      begin_raw(&s);
      CHECKED(trilha_unit_of_work_adopt(s.unit, 0, error));
    } else {
      session_begin(&s);
    }
    session_run(&s, INSERT);
    session_say(&s, "E1");
    session_run(&s, "COMMIT");
    REFUSED(trilha_unit_of_work_raise(s.unit, &(trilha_post_commit_event){.type = TRILHA_TEXT("E2")}, NULL, error),
            TRILHA_USAGE, "TRANSACTION_ENDED");
    trilha_unit_of_work_result result;
    REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_USAGE, "TRANSACTION_ENDED");
    assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_UNKNOWN);
    assert_int_equal(result.undelivered, 1);
    assert_string_equal(s.left, "");
    assert_string_equal(s.undelivered, "E1");
    assert_int_equal(session_effects(&s), adopted + 1);
    session_begin(&s);
    session_say(&s, "E3");
    session_commit(&s);
    assert_string_equal(s.left, "E3");
    session_close(&s);
  }
}

static void a_transaction_that_the_caller_began_in_its_place_is_not_committed(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  session_run(&s, "COMMIT");
  begin_raw(&s);
  session_run(&s, INSERT);
  REFUSED(trilha_unit_of_work_commit(s.unit, NULL, error), TRILHA_USAGE, "TRANSACTION_ENDED");
  assert_string_equal(s.left, "");
  assert_string_equal(s.undelivered, "E1");
  session_run(&s, "ROLLBACK"); /* it is still open, and still his */
  assert_int_equal(session_effects(&s), 1);
  session_begin(&s);
  session_say(&s, "E2");
  session_run(&s, "ROLLBACK");
  begin_raw(&s);
  REFUSED(trilha_unit_of_work_raise(s.unit, &(trilha_post_commit_event){.type = TRILHA_TEXT("E3")}, NULL, error),
          TRILHA_USAGE, "TRANSACTION_ENDED");
  REFUSED(trilha_unit_of_work_rollback(s.unit, error), TRILHA_USAGE, "TRANSACTION_ENDED");
  session_run(&s, "ROLLBACK");
  assert_string_equal(s.left, "");
  session_close(&s);
}

static void a_unit_that_is_closed_early_rolls_back_its_own_and_leaves_an_adopted_one(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  trilha_unit_of_work_close(s.unit);
  s.unit = NULL;
  assert_int_equal(session_effects(&s), 0);
  assert_string_equal(s.undelivered, "");
  CHECKED(session_open_unit(&s, error));
  begin_raw(&s);
  session_run(&s, INSERT);
  CHECKED(trilha_unit_of_work_adopt(s.unit, 0, error));
  session_say(&s, "E2");
  trilha_unit_of_work_close(s.unit);
  s.unit = NULL;
  assert_string_equal(s.undelivered, "E2");
  CHECKED(session_open_unit(&s, error)); /* a new one does not take the marks of the old for its own */
  CHECKED(trilha_unit_of_work_adopt(s.unit, 0, error));
  session_say(&s, "E3");
  session_commit(&s);
  assert_string_equal(s.left, "E3");
  assert_int_equal(session_effects(&s), 1);
  session_close(&s);
}

/* --- handlers
 * ---------------------------------------------------------------------------------------------------------- */

static trilha_status fail_the_second(session *s, const trilha_post_commit_event *event) {
  (void)s;
  return trilha_text_is(event->type, "E2") ? TRILHA_INTERNAL : TRILHA_OK;
}

static void a_handler_that_fails_changes_neither_the_commit_nor_the_events_behind_it(void **state) {
  session s;
  session_open(&s, *state, true);
  s.inside = fail_the_second;
  session_begin(&s);
  session_run(&s, INSERT);
  for (const char *const *type = (const char *const[]){"E1", "E2", "E3", NULL}; *type != NULL; type++)
    session_say(&s, *type);
  const trilha_unit_of_work_result result = session_commit(&s);
  assert_true(result.outcome == TRILHA_UNIT_OF_WORK_COMMITTED && result.left == 2 && result.failed == 1);
  assert_string_equal(s.left, "E1 E2 E3");
  assert_int_equal(session_effects(&s), 1);
  session_close(&s);
}

static trilha_status react(session *s, const trilha_post_commit_event *event) {
  char type[16];
  if (event->type.data[0] != 'E') return TRILHA_OK;
  snprintf(type, sizeof type, "R%c", event->type.data[1]);
  session_begin(s);
  session_run(s, INSERT);
  session_say(s, type);
  assert_int_equal(session_commit(s).left, 0); /* it leaves when this handler has returned */
  return TRILHA_OK;
}

static void what_handlers_raise_in_transactions_of_their_own_leaves_behind_what_waits(void **state) {
  session s;
  session_open(&s, *state, true);
  s.inside = react;
  session_begin(&s);
  session_say(&s, "E1");
  session_say(&s, "E2");
  assert_int_equal(session_commit(&s).left, 4);
  assert_string_equal(s.left, "E1 E2 R1 R2");
  assert_int_equal(session_effects(&s), 2);
  session_close(&s);
}

static trilha_status raise_for_ever(session *s, const trilha_post_commit_event *event) {
  (void)event;
  trilha_error err = {0};
  session_begin(s);
  const trilha_post_commit_event again = {.type = TRILHA_TEXT("again")};
  if (trilha_unit_of_work_raise(s->unit, &again, NULL, &err) != TRILHA_OK) {
    assert_string_equal(err.code, "UNIT_OF_WORK_CASCADE");
    session_rollback(s);
    return err.status;
  }
  session_commit(s);
  return TRILHA_OK;
}

static void handlers_that_feed_each_other_are_stopped(void **state) {
  session s;
  session_open(&s, *state, true);
  s.inside = raise_for_ever;
  session_begin(&s);
  session_say(&s, "E1");
  const trilha_unit_of_work_result result = session_commit(&s);
  assert_int_equal(s.left_count, TRILHA_UNIT_OF_WORK_CASCADE_MAX + 1);
  assert_true(result.left == TRILHA_UNIT_OF_WORK_CASCADE_MAX && result.failed == 1);
  session_close(&s);
}

static trilha_status leave_open(session *s, const trilha_post_commit_event *event) {
  if (!trilha_text_is(event->type, "E1")) return TRILHA_OK;
  session_begin(s);
  session_begin(s);
  session_run(s, INSERT);
  session_say(s, "leaked");
  return TRILHA_OK;
}

static void a_transaction_that_a_handler_leaves_open_is_rolled_back(void **state) {
  session s;
  session_open(&s, *state, true);
  s.inside = leave_open;
  session_begin(&s);
  session_say(&s, "E1");
  session_say(&s, "E2");
  session_commit(&s);
  assert_string_equal(s.left, "E1 E2");
  assert_int_equal(session_effects(&s), 0);
  session_begin(&s);
  session_commit(&s);
  session_close(&s);
}

/* --- run
 * --------------------------------------------------------------------------------------------------------------- */

static trilha_status work(void *user, trilha_unit_of_work *unit, trilha_error *err) {
  session *s = user;
  trilha_unit_of_work_result result;
  session_run(s, INSERT);
  session_say(s, "E1");
  if (s->user == NULL) return TRILHA_OK;
  s->user = NULL; /* once more inside, then fail */
  trilha_status status = trilha_unit_of_work_run(unit, 0, work, s, &result, err);
  assert_int_equal(status, TRILHA_OK);
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_JOINED);
  return TRILHA_NOT_FOUND;
}

static void run_commits_what_succeeds_and_rolls_back_what_fails(void **state) {
  session s;
  trilha_unit_of_work_result result;
  session_open(&s, *state, true);
  CHECKED(trilha_unit_of_work_run(s.unit, 0, work, &s, &result, error));
  assert_true(result.outcome == TRILHA_UNIT_OF_WORK_COMMITTED && result.left == 1);
  s.user = &s;
  assert_int_equal(trilha_unit_of_work_run(s.unit, 0, work, &s, &result, NULL), TRILHA_NOT_FOUND);
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_string_equal(s.left, "E1");
  assert_int_equal(session_effects(&s), 1);
  session_close(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_call_that_joins_never_commits_early),
      TEST(after_the_rollback_of_a_call_that_joined_the_whole_can_only_be_rolled_back),
      TEST(code_that_was_given_the_connection_only_finds_its_unit),
      TEST(an_adopted_transaction_ends_through_the_unit),
      TEST(a_call_in_a_transaction_nobody_told_of_joins_and_leaves_the_end_to_its_owner),
      TEST(a_transaction_that_the_caller_committed_himself_is_told_and_its_events_are_reported),
      TEST(a_transaction_that_the_caller_began_in_its_place_is_not_committed),
      TEST(a_unit_that_is_closed_early_rolls_back_its_own_and_leaves_an_adopted_one),
      TEST(a_handler_that_fails_changes_neither_the_commit_nor_the_events_behind_it),
      TEST(what_handlers_raise_in_transactions_of_their_own_leaves_behind_what_waits),
      TEST(handlers_that_feed_each_other_are_stopped),
      TEST(a_transaction_that_a_handler_leaves_open_is_rolled_back),
      TEST(run_commits_what_succeeds_and_rolls_back_what_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
