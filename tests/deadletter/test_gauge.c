/* deadletter: the gauge dead_letter_queue_pending{colonia} (requirement E18) against a store that only counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "deadletter/gauge.h"

enum { SLOW_MS = 40 };

/* What the store answers, and what was said of it. */
typedef struct scene {
  struct trilha_store store; /* first: the port's functions get it */
  int64_t open[2];           /* of D-4 and D-9 */
  bool unreachable;
  int64_t takes_ms;
  size_t counts;
  int64_t said[2]; /* the last value; -1: nothing yet */
  size_t alerts, failures;
  trilha_gauge gauge;
} scene;

static trilha_status stats(trilha_store *store, trilha_deadline deadline,
                           trilha_status (*visit)(void *user, trilha_text colonia, int64_t open, trilha_error *err),
                           void *user, trilha_error *err) {
  (void)deadline;
  scene *s = (scene *)store;
  s->counts++;
  if (s->takes_ms != 0) trilha_clock_sleep_ms(s->takes_ms);
  if (s->unreachable) return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", "gone");
  if (s->open[0] != 0) assert_int_equal(visit(user, TRILHA_TEXT("D-4"), s->open[0], err), TRILHA_OK);
  if (s->open[1] != 0) assert_int_equal(visit(user, TRILHA_TEXT("D-9"), s->open[1], err), TRILHA_OK);
  return TRILHA_OK;
}

static const trilha_field *field(const trilha_diagnostic *d, const char *name) {
  for (size_t i = 0; i < d->field_count; i++)
    if (strcmp(d->fields[i].name, name) == 0) return &d->fields[i];
  fail_msg("%s has no %s", d->name, name);
  return NULL;
}

static void hear(void *user, const trilha_diagnostic *d) {
  scene *s = user;
  if (strcmp(d->name, "dlq.above_threshold") == 0) s->alerts++;
  if (strcmp(d->name, "dlq.gauge_failed") == 0) s->failures++;
  if (strcmp(d->name, "dlq.pending") != 0) return;
  bool first = strncmp(field(d, "colonia")->text.data, "D-4", 3) == 0;
  s->said[first ? 0 : 1] = strtoll(field(d, "dead_letter_queue_pending")->text.data, NULL, 10);
}

static int setup(void **state) {
  static const trilha_delivery_operations operations = {.dead_letter_stats = stats};
  scene *s = calloc(1, sizeof *s);
  if (s == NULL) return -1;
  s->store.delivery = &operations;
  s->said[0] = s->said[1] = -1;
  trilha_gauge_init(&s->gauge, &s->store, &(trilha_diagnostics){hear, s}, 10);
  *state = s;
  return 0;
}

static int teardown(void **state) {
  scene *s = *state;
  trilha_gauge_done(&s->gauge);
  free(s);
  return 0;
}

/* Says and counts. A stalled count makes a pause, after which what is owed is said. */
static void say_now(scene *s) {
  size_t before = s->counts;
  trilha_gauge_say(&s->gauge);
  for (trilha_deadline end = trilha_deadline_in_ms(300000); s->counts == before;) {
    assert_false(trilha_deadline_passed(end));
    trilha_clock_sleep_ms(1);
    trilha_gauge_say_owed(&s->gauge);
  }
}

static void a_drained_colony_goes_to_zero_once(void **state) {
  scene *s = *state;
  s->open[0] = 3;
  s->open[1] = 1;
  say_now(s);
  assert_true(s->said[0] == 3 && s->said[1] == 1);
  s->open[1] = 0;
  say_now(s);
  assert_true(s->said[0] == 3 && s->said[1] == 0);
  s->said[1] = -1;
  say_now(s);
  assert_int_equal(s->said[1], -1);
}

static void a_store_out_of_reach_is_not_zero(void **state) {
  scene *s = *state;
  s->open[0] = 3;
  say_now(s);
  s->unreachable = true;
  s->open[0] = 0;
  say_now(s);
  assert_int_equal(s->said[0], 3);
  assert_int_equal(s->failures, 1);
  s->unreachable = false;
  say_now(s);
  assert_int_equal(s->said[0], 0); /* still known to have been open */
}

static void the_alert_comes_at_its_threshold(void **state) {
  scene *s = *state;
  s->open[0] = 9;
  say_now(s);
  assert_int_equal(s->alerts, 0);
  s->open[1] = 1;
  say_now(s);
  assert_int_equal(s->alerts, 1);
}

static void a_slow_count_is_not_made_for_every_change_but_the_last_change_is_said(void **state) {
  scene *s = *state;
  s->open[0] = 1;
  s->takes_ms = SLOW_MS;
  trilha_gauge_say(&s->gauge);
  for (s->open[0] = 2; s->open[0] < 500; s->open[0]++) trilha_gauge_say(&s->gauge);
  assert_true(s->counts < 20);
  for (trilha_deadline end = trilha_deadline_in_ms(300000);
       s->said[0] != 500;) { /* a stalled count makes a long pause */
    assert_false(trilha_deadline_passed(end));
    trilha_clock_sleep_ms(10);
    trilha_gauge_say_owed(&s->gauge);
  }
  size_t counts = s->counts;
  trilha_clock_sleep_ms(50 * SLOW_MS);
  trilha_gauge_say_owed(&s->gauge); /* nothing is owed any more */
  assert_int_equal(s->counts, counts);
}

static void nobody_to_tell_costs_nothing(void **state) {
  scene *s = *state;
  s->gauge.diagnostics = (trilha_diagnostics){0};
  trilha_gauge_say(&s->gauge);
  trilha_gauge_say_owed(&s->gauge);
  assert_int_equal(s->counts, 0);
}

int main(void) {
#define ON_A_SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
  const struct CMUnitTest tests[] = {
      ON_A_SCENE(a_drained_colony_goes_to_zero_once),
      ON_A_SCENE(a_store_out_of_reach_is_not_zero),
      ON_A_SCENE(the_alert_comes_at_its_threshold),
      ON_A_SCENE(a_slow_count_is_not_made_for_every_change_but_the_last_change_is_said),
      ON_A_SCENE(nobody_to_tell_costs_nothing),
  };
  return cmocka_run_group_tests_name("gauge", tests, NULL, NULL);
}
