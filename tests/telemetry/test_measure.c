/* telemetry: counters and histograms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "telemetry/telemetry.h"

static int begin(void **state) {
  trilha_telemetry *t = NULL;
  assert_int_equal(trilha_telemetry_new(1, &t, NULL), TRILHA_OK);
  *state = t;
  return 0;
}

static int end(void **state) {
  trilha_telemetry_free(*state);
  return 0;
}

static trilha_measurements *measured(void **state) {
  trilha_measurements *m = calloc(1, sizeof *m);
  assert_non_null(m);
  trilha_telemetry_measurements(*state, m);
  return m;
}

static void a_duration_falls_into_the_bucket_whose_bound_it_does_not_pass(void **state) {
  static const struct {
    int64_t ns;
    size_t bucket;
  } cases[] = {{-1, 0},
               {0, 0},
               {500000, 0},
               {500001, 1},
               {1000000, 1},
               {24999999, 5},
               {2500000000, 8},
               {INT64_C(30000000000), 9},
               {INT64_C(30000000001), 10}};
  uint64_t expected[TRILHA_DURATION_BUCKETS + 1] = {0}, sum = 0;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    trilha_measure_publish(*state, TRILHA_PUBLISH_STORED, cases[i].ns);
    expected[cases[i].bucket]++;
    sum += cases[i].ns > 0 ? (uint64_t)cases[i].ns : 0;
  }
  trilha_measurements *m = measured(state);
  assert_memory_equal(m->publish[TRILHA_PUBLISH_STORED].buckets, expected, sizeof expected);
  assert_int_equal(m->publish[TRILHA_PUBLISH_STORED].sum_ns, sum);
  assert_int_equal(m->publish[TRILHA_PUBLISH_STORED].count, sizeof cases / sizeof cases[0]);
  assert_int_equal(m->publish[TRILHA_PUBLISH_FAILED].count, 0);
  free(m);
}

static void the_bounds_as_text_are_the_bounds_in_use(void **state) {
  for (size_t i = 0; i < TRILHA_DURATION_BUCKETS; i++) {
    double seconds = strtod(trilha_duration_bound(i), NULL);
    int64_t ns = (int64_t)(seconds * 1e9 + 0.5);
    trilha_measure_publish(*state, TRILHA_PUBLISH_REFUSED, ns);
    trilha_measure_publish(*state, TRILHA_PUBLISH_REFUSED, ns + 1);
  }
  trilha_measurements *m = measured(state);
  const uint64_t *buckets = m->publish[TRILHA_PUBLISH_REFUSED].buckets;
  assert_int_equal(buckets[0], 1);
  for (size_t i = 1; i < TRILHA_DURATION_BUCKETS; i++) assert_int_equal(buckets[i], 2);
  assert_int_equal(buckets[TRILHA_DURATION_BUCKETS], 1);
  free(m);
}

static void each_colony_has_numbers_of_its_own_up_to_a_limit(void **state) {
  char name[300];
  for (int i = 0; i < TRILHA_MEASURED_COLONIES_MAX + 10; i++) {
    snprintf(name, sizeof name, "D-%d", i);
    trilha_measure_process(*state, trilha_text_of(name), i % 2 == 0, 1000);
  }
  trilha_measure_process(*state, TRILHA_TEXT("D-1"), true, 1000);
  memset(name, 'x', sizeof name);
  trilha_measure_process(*state, (trilha_text){name, sizeof name}, true, 1000);
  trilha_measurements *m = measured(state);
  assert_int_equal(m->colony_count, TRILHA_MEASURED_COLONIES_MAX);
  assert_string_equal(m->colonies[1].name, "D-1");
  assert_int_equal(m->colonies[1].failed.count, 1);
  assert_int_equal(m->colonies[1].succeeded.count, 1);
  const trilha_measured_colony *rest = &m->colonies[TRILHA_MEASURED_COLONIES_MAX];
  assert_string_equal(rest->name, "");
  assert_int_equal(rest->failed.count + rest->succeeded.count, 11);
  free(m);
}

static void only_what_happened_counts_as_something(void **state) {
  trilha_measurements *m = measured(state);
  assert_false(trilha_measurements_any(m));
  free(m);
  trilha_measure_redaction_drop(*state);
  trilha_measure_divergence(*state);
  trilha_measure_process(*state, TRILHA_TEXT("D-1"), false, 1);
  m = measured(state);
  assert_true(trilha_measurements_any(m));
  assert_int_equal(m->redaction_drops, 1);
  assert_int_equal(m->divergences, 1);
  free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_duration_falls_into_the_bucket_whose_bound_it_does_not_pass, begin, end),
      cmocka_unit_test_setup_teardown(the_bounds_as_text_are_the_bounds_in_use, begin, end),
      cmocka_unit_test_setup_teardown(each_colony_has_numbers_of_its_own_up_to_a_limit, begin, end),
      cmocka_unit_test_setup_teardown(only_what_happened_counts_as_something, begin, end),
  };
  return cmocka_run_group_tests_name("telemetry measure", tests, NULL, NULL);
}
