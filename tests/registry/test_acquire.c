/* registry: what a publisher sees, and how soon. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "registry_test.h"

static void known_version_comes_compiled_with_its_need_of_a_key(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  memory_registry_put(&b->memory, "t", "1.1.0", "ativo", HASHED);
  trilha_error err;
  const trilha_registry_type *one = NULL, *two = NULL, *again = NULL;
  assert_int_equal(acquire(b, "t", "1.0.0", &one, &err), TRILHA_OK);
  assert_int_equal(acquire(b, "t", "1.1.0", &two, &err), TRILHA_OK);
  assert_int_equal(acquire(b, "t", "1.0.0", &again, &err), TRILHA_OK);
  assert_non_null(one->schema);
  assert_ptr_equal(one->schema, again->schema); /* compiled once */
  assert_false(one->needs_key);
  assert_true(two->needs_key);
  assert_true(trilha_text_is(two->tipo, "t") && trilha_text_is(two->versao, "1.1.0") && !two->deprecated);
  trilha_registry_release(b->registry, one);
  trilha_registry_release(b->registry, two);
  trilha_registry_release(b->registry, again);
  assert_int_equal(b->memory.list_calls, 1);
  bench_free(b);
}

static void unknown_deprecated_and_schemaless_versions_are_refused_with_the_contracts_text(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  memory_registry_put(&b->memory, "t", "1.0.0", "deprecated", KEPT);
  memory_registry_put(&b->memory, "t", "2.0.0", "ativo", NULL);
  static const struct {
    const char *tipo, *versao, *code;
  } cases[] = {{"x", "1.0.0", "EVENT_TYPE_NOT_FOUND"},
               {"t", "1.0.1", "EVENT_TYPE_NOT_FOUND"},
               {"T", "1.0.0", "EVENT_TYPE_NOT_FOUND"},
               {"t", "1.0.0", "EVENT_TYPE_DEPRECATED"},
               {"t", "2.0.0", "EVENT_TYPE_WITHOUT_SCHEMA"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    trilha_error err;
    assert_int_equal(look_for(b, cases[i].tipo, cases[i].versao, &err), TRILHA_INVALID);
    assert_string_equal(err.code, cases[i].code);
    assert_string_equal(err.text, NOT_THERE);
  }
  bench_free(b);
}

static void version_registered_elsewhere_is_found_at_once(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_error err;
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_INVALID);
  memory_registry_put(&b->memory, "t", "1.0.0", "deprecated", KEPT);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_INVALID);
  assert_string_equal(err.code, "EVENT_TYPE_DEPRECATED");
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  bench_free(b);
}

static void deprecation_elsewhere_is_seen_within_the_bound(void **state) {
  (void)state;
  bench *b = bench_new(40);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  trilha_error err;
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  memory_registry_put(&b->memory, "t", "1.0.0", "deprecated", KEPT);
  trilha_clock_sleep_ms(41);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_INVALID);
  bench_free(b);
}

static void revision_seen_in_an_append_makes_the_next_look_fresh(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  trilha_error err;
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  memory_registry_put(&b->memory, "t", "1.0.0", "deprecated", KEPT);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK); /* still within the bound */
  trilha_registry_note_revision(b->registry, b->memory.revision);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_INVALID);
  /* An old one, or one that the store no longer knows (restored from a backup), costs at most one look. */
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  trilha_registry_note_revision(b->registry, 1);
  trilha_registry_note_revision(b->registry, 1000);
  unsigned before = b->memory.revision_calls;
  for (int i = 0; i < 5; i++) assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  assert_int_equal(b->memory.revision_calls, before + 1);
  bench_free(b);
}

static void unchanged_registry_costs_one_small_look_and_compiles_nothing_again(void **state) {
  (void)state;
  bench *b = bench_new(1);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  trilha_error err;
  const trilha_registry_type *type = NULL;
  assert_int_equal(acquire(b, "t", "1.0.0", &type, &err), TRILHA_OK);
  const trilha_schema *schema = type->schema;
  trilha_registry_release(b->registry, type);
  for (int i = 0; i < 3; i++) {
    trilha_clock_sleep_ms(2);
    assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  }
  assert_int_equal(b->memory.list_calls, 1);
  memory_registry_put(&b->memory, "u", "1.0.0", "ativo", KEPT); /* another type: all is read, the old program stays */
  trilha_clock_sleep_ms(2);
  assert_int_equal(acquire(b, "t", "1.0.0", &type, &err), TRILHA_OK);
  assert_int_equal(b->memory.list_calls, 2);
  assert_ptr_equal(type->schema, schema);
  trilha_registry_release(b->registry, type);
  bench_free(b);
}

static void acquired_version_outlives_the_snapshot_it_came_from(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  trilha_error err;
  const trilha_registry_type *type = NULL;
  assert_int_equal(acquire(b, "t", "1.0.0", &type, &err), TRILHA_OK);
  b->memory.row_count = 0; /* all gone */
  b->memory.revision++;
  assert_int_equal(look_for(b, "x", "1.0.0", &err), TRILHA_INVALID);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_INVALID);
  assert_true(trilha_text_is(type->tipo, "t"));
  assert_non_null(trilha_schema_keys(type->schema));
  trilha_registry_release(b->registry, type);
  bench_free(b);
}

static void store_that_fails_is_an_error_only_once_the_view_is_too_old(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_error err;
  b->memory.fail_next = TRILHA_UNAVAILABLE;
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_UNAVAILABLE);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  b->memory.fail_next = TRILHA_UNAVAILABLE;
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);          /* young: nobody asks */
  assert_int_equal(look_for(b, "x", "1.0.0", &err), TRILHA_UNAVAILABLE); /* never "not registered" on a guess */
  assert_int_equal(look_for(b, "x", "1.0.0", &err), TRILHA_INVALID);
  bench_free(b);
}

static void schema_that_raw_sql_broke_refuses_its_own_events_only(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  static const char *const broken[] = {"{", "{\"type\":7,\"x-redacao\":\"manter\"}", "{\"type\":\"object\"}",
                                       "{\"a\":1,\"a\":2,\"x-redacao\":\"manter\"}",
                                       "{\"$ref\":\"https://elsewhere.example/x\",\"x-redacao\":\"manter\"}"};
  char versao[16];
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  for (size_t i = 0; i < COUNT(broken); i++) {
    snprintf(versao, sizeof versao, "2.0.%zu", i);
    memory_registry_put(&b->memory, "t", versao, "ativo", broken[i]);
  }
  trilha_error err;
  for (size_t i = 0; i < 2 * COUNT(broken); i++) { /* twice: the failure is kept */
    snprintf(versao, sizeof versao, "2.0.%zu", i % COUNT(broken));
    assert_int_equal(look_for(b, "t", versao, &err), TRILHA_CORRUPT);
    assert_non_null(strstr(err.text, versao));
  }
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  bench_free(b);
}

/* --- threads ------------------------------------------------------------------------------------------------- */

typedef struct crowd {
  bench *b;
  atomic_bool stop;
  atomic_int failed;
} crowd;

static void *publish_often(void *argument) {
  crowd *c = argument;
  while (!atomic_load(&c->stop)) {
    trilha_error err;
    const trilha_registry_type *one = NULL, *two = NULL;
    if (acquire(c->b, "t", "1.0.0", &one, &err) != TRILHA_OK || acquire(c->b, "u", "1.0.0", &two, &err) != TRILHA_OK ||
        one->schema == NULL || two->schema == NULL)
      atomic_fetch_add(&c->failed, 1);
    trilha_registry_release(c->b->registry, one);
    trilha_registry_release(c->b->registry, two);
    if (look_for(c->b, "unknown", "1.0.0", &err) != TRILHA_INVALID) atomic_fetch_add(&c->failed, 1);
  }
  return NULL;
}

static void publishers_go_on_while_others_register(void **state) {
  (void)state;
  enum { THREADS = 4, CHANGES = 40 };
  crowd c = {.b = bench_new(1)};
  atomic_init(&c.stop, false);
  atomic_init(&c.failed, 0);
  memory_registry_put(&c.b->memory, "t", "1.0.0", "ativo", KEPT);
  memory_registry_put(&c.b->memory, "u", "1.0.0", "ativo", HASHED);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, publish_often, &c), 0);
  for (int i = 0; i < CHANGES; i++) {
    char versao[16];
    snprintf(versao, sizeof versao, "1.%d.0", i);
    trilha_type_version version = version_of("v", versao, HASHED);
    trilha_error err = {0};
    assert_int_equal(trilha_registry_apply_versions(c.b->registry, &version, 1, false, T("test"), NULL, &err),
                     TRILHA_OK);
    assert_int_equal(look_for(c.b, "v", versao, &err), TRILHA_OK);
    trilha_registry_note_revision(c.b->registry, i);
  }
  atomic_store(&c.stop, true);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&c.failed), 0);
  bench_free(c.b);
}

typedef struct runner {
  bench *b;
  pthread_barrier_t *start;
  const trilha_schema *schema;
} runner;

static void *acquire_at_once(void *argument) {
  runner *r = argument;
  trilha_error err;
  const trilha_registry_type *type = NULL;
  pthread_barrier_wait(r->start);
  if (acquire(r->b, "t", "1.0.0", &type, &err) == TRILHA_OK) {
    r->schema = type->schema;
    trilha_registry_release(r->b->registry, type);
  }
  return NULL;
}

static void version_that_many_need_at_once_is_compiled_once(void **state) {
  (void)state;
  enum { THREADS = 8, ROUNDS = 20 };
  for (int round = 0; round < ROUNDS; round++) {
    bench *b = bench_new(SLOW_MS);
    memory_registry_put(&b->memory, "t", "1.0.0", "ativo", HASHED);
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    pthread_t threads[THREADS];
    runner runners[THREADS];
    for (int i = 0; i < THREADS; i++) {
      runners[i] = (runner){b, &start, NULL};
      assert_int_equal(pthread_create(&threads[i], NULL, acquire_at_once, &runners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_true(runners[i].schema != NULL && runners[i].schema == runners[0].schema);
    assert_int_equal(b->memory.list_calls, 1); /* and the registry read once */
    pthread_barrier_destroy(&start);
    bench_free(b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_version_comes_compiled_with_its_need_of_a_key),
      cmocka_unit_test(unknown_deprecated_and_schemaless_versions_are_refused_with_the_contracts_text),
      cmocka_unit_test(version_registered_elsewhere_is_found_at_once),
      cmocka_unit_test(deprecation_elsewhere_is_seen_within_the_bound),
      cmocka_unit_test(revision_seen_in_an_append_makes_the_next_look_fresh),
      cmocka_unit_test(unchanged_registry_costs_one_small_look_and_compiles_nothing_again),
      cmocka_unit_test(acquired_version_outlives_the_snapshot_it_came_from),
      cmocka_unit_test(store_that_fails_is_an_error_only_once_the_view_is_too_old),
      cmocka_unit_test(schema_that_raw_sql_broke_refuses_its_own_events_only),
      cmocka_unit_test(version_that_many_need_at_once_is_compiled_once),
      cmocka_unit_test(publishers_go_on_while_others_register),
  };
  return cmocka_run_group_tests_name("registry acquire", tests, NULL, NULL);
}
