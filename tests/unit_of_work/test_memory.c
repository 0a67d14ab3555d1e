/* unit_of_work: every allocation of its own fails in turn: nothing is lost, nothing leaks, and between the commit and
 * the last event nothing is allocated at all. */
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
#include "support/failing_heap.h"
#include "unit_of_work/session.h"

enum { EVENTS = 20, SAVEPOINTS = 6 };

static trilha_status step(session *s, trilha_error *err) {
  int64_t savepoint = 0;
  const trilha_post_commit_event event = {.type = TRILHA_TEXT("E"), .payload = TRILHA_TEXT("{}")};
  const trilha_message message = trilha_producer_message("acme", "1");
  trilha_enqueued said;
  trilha_status status = session_open_unit(s, err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_begin(s->unit, 0, err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_enqueue(s->unit, "billing", &message, &said, err);
  for (int i = 0; i < SAVEPOINTS && status == TRILHA_OK; i++)
    status = trilha_unit_of_work_savepoint(s->unit, &savepoint, err);
  for (int i = 0; i < EVENTS && status == TRILHA_OK; i++)
    status = trilha_unit_of_work_raise(s->unit, &event, NULL, err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_rollback_to(s->unit, savepoint, err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_raise(s->unit, &event, NULL, err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_commit(s->unit, NULL, err);
  return status;
}

static trilha_status everything(void *user, trilha_error *err) {
  session *s = user;
  s->left_count = 0;
  trilha_status status = step(s, err);
  trilha_unit_of_work_close(s->unit);
  s->unit = NULL;
  if (s->left_count != (status == TRILHA_OK ? 1 : 0)) return TRILHA_INTERNAL;
  return status;
}

/* What the handle keeps of its first unit is the handle's: it is not given back before its end. */
static void want_of_memory_loses_nothing_and_leaks_nothing(void **state) {
  session s;
  session_open(&s, *state, true);
  trilha_unit_of_work_close(s.unit);
  s.unit = NULL;
  assert_true(failing_heap_exhaust(everything, &s) > EVENTS);
  assert_int_equal(trilha_producer_count(&s.p, "SELECT count(*) FROM {p}outbox_message"),
                   trilha_producer_count(&s.p, "SELECT max(aggregate_sequence) FROM {p}outbox_message"));
  session_close(&s);
}

static trilha_status open_and_close(void *user, trilha_error *err) {
  const trilha_fixture *f = user;
  session s = {.p = trilha_producer_open(f, false)};
  trilha_status status = session_open_unit(&s, err);
  session_close(&s);
  return status;
}

static void want_of_memory_while_a_unit_is_opened_leaks_nothing(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  assert_true(failing_heap_exhaust(open_and_close, *state) > 0);
  trilha_producer_close(&p);
}

static void between_the_commit_and_the_last_event_nothing_is_allocated(void **state) {
  session s;
  session_open(&s, *state, true);
  session_begin(&s);
  for (int i = 0; i < EVENTS; i++) session_say(&s, "E");
  trilha_unit_of_work_result result;
  trilha_error err = {0};
  failing_heap_arm(0, false);
  trilha_status status = trilha_unit_of_work_commit(s.unit, &result, &err);
  bool met = failing_heap_disarm();
  assert_false(met);
  assert_int_equal(status, TRILHA_OK);
  assert_int_equal(result.left, EVENTS);
  session_close(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(want_of_memory_loses_nothing_and_leaks_nothing),
      TEST(want_of_memory_while_a_unit_is_opened_leaks_nothing),
      TEST(between_the_commit_and_the_last_event_nothing_is_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
