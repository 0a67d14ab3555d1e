/* consumer: several events in one call of the handler (specification 000, section 3.6; rulings R14, R15). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "conformance/publishing.h"
#include "trilha/delivery.h"

enum { CALLS_MAX = 256 };

typedef struct witness {
  int64_t first[CALLS_MAX], last[CALLS_MAX], attempts[CALLS_MAX];
  size_t sizes[CALLS_MAX], calls, events;
  bool in_order;
  int64_t fails_with; /* a call that holds this sequence fails; 0: none */
  int passes_after;   /* such failures; 0: never */
  bool names_an_event;
  trilha_consumer *stop; /* by the first call */
  trilha *publish_with;  /* once, from the first call */
} witness;

static void publish_within(witness *w, trilha_delivery *delivery) {
  trilha_publication p = {
      .tipo = TRILHA_TEXT("teste.c"), .origem = TRILHA_TEXT("D-4"), .payload = TRILHA_TEXT("{\"n\":1}")};
  trilha_publish_result result = {0};
  assert_int_equal(trilha_delivery_publish(delivery, &p, &result, NULL), TRILHA_OK);
  trilha_publish_result_done(&result);
  w->publish_with = NULL;
}

static trilha_status see(void *user, const trilha_event *events, size_t count, trilha_delivery *delivery) {
  witness *w = user;
  bool fails = false;
  assert_true(w->calls < CALLS_MAX && count > 0);
  for (size_t i = 0; i < count; i++) {
    fails |= events[i].sequence_number == w->fails_with;
    w->in_order &= i == 0 || events[i].sequence_number > events[i - 1].sequence_number;
  }
  w->first[w->calls] = events[0].sequence_number;
  w->last[w->calls] = events[count - 1].sequence_number;
  w->attempts[w->calls] = trilha_delivery_attempt(delivery);
  w->sizes[w->calls++] = count;
  w->names_an_event = trilha_delivery_event_id(delivery) != NULL;
  if (w->publish_with != NULL) publish_within(w, delivery);
  if (w->stop != NULL) trilha_consumer_stop(w->stop);
  if (fails && w->passes_after != 0 && --w->passes_after == 0) w->fails_with = 0;
  if (fails) return trilha_delivery_fail(delivery, "um deles falhou");
  w->events += count;
  return TRILHA_OK;
}

static const trilha_text both[] = {{"teste.a", 7}, {"teste.b", 7}};

static trilha *begin(void **state, int events) {
  trilha_fixture *f = *state;
  for (size_t i = 0; i < 2; i++) trilha_fixture_register(f->handle, both[i].data, "1.0.0", trilha_test_schema);
  for (int i = 0; i < events; i++) publish_number(f->handle, both[i % 2].data, i);
  return f->handle;
}

static trilha_consumer_options options_of(trilha_batch_handler handler, void *user, unsigned batch_max) {
  return (trilha_consumer_options){.colonia = TRILHA_TEXT("D-4"),
                                   .types = both,
                                   .type_count = 2,
                                   .batch_handler = handler,
                                   .user = user,
                                   .from = TRILHA_FROM_START,
                                   .batch_max = batch_max,
                                   .once = true};
}

static void drain(trilha *handle, const trilha_consumer_options *options) {
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  if (trilha_consumer_new(handle, options, &consumer, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  if (trilha_consumer_run(consumer, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  trilha_consumer_free(consumer);
}

static void what_is_due_comes_in_full_batches_and_moves_the_cursors_of_all_types(void **state) {
  trilha *handle = begin(state, 25);
  witness w = {.in_order = true};
  trilha_consumer_options options = options_of(see, &w, 10);
  drain(handle, &options);
  assert_int_equal(w.calls, 3);
  assert_true(w.sizes[0] == 10 && w.sizes[1] == 10 && w.sizes[2] == 5);
  assert_true(w.in_order && w.first[0] == 1 && w.first[1] == 11 && w.first[2] == 21);
  assert_int_equal(cursor_of(*state, "teste.a"), 25);
  assert_int_equal(cursor_of(*state, "teste.b"), 24);
  drain(handle, &options);
  assert_int_equal(w.calls, 3);
}

static void one_event_alone_is_a_batch_of_one_and_is_not_kept_waiting(void **state) {
  trilha *handle = begin(state, 1);
  witness w = {.in_order = true};
  trilha_consumer_options options = options_of(see, &w, 0);
  drain(handle, &options);
  assert_int_equal(w.calls, 1);
  assert_int_equal(w.sizes[0], 1);
  assert_true(w.names_an_event);
}

static void R14_of_a_batch_that_fails_only_the_culprit_becomes_a_dead_letter(void **state) {
  trilha *handle = begin(state, 12);
  witness w = {.in_order = true, .fails_with = 5};
  trilha_consumer_options options = options_of(see, &w, 8);
  drain(handle, &options);
  /* 1 to 8 together, then each alone, then the rest together. */
  assert_int_equal(w.calls, 10);
  assert_int_equal(w.sizes[0], 8);
  for (size_t i = 1; i <= 8; i++) assert_true(w.sizes[i] == 1 && w.first[i] == (int64_t)i);
  assert_int_equal(w.sizes[9], 4);
  assert_int_equal(w.events, 11);
  assert_int_equal(count_letters_with(handle, "pendente"), 1);
  assert_int_equal(cursor_of(*state, "teste.a"), 11);
}

static void a_failure_that_is_last_comes_from_the_log_again_with_its_attempt(void **state) {
  trilha *handle = begin(state, 3);
  witness w = {.in_order = true, .fails_with = 3};
  trilha_consumer_options options = options_of(see, &w, 8);
  drain(handle, &options);
  assert_int_equal(cursor_of(*state, "teste.a"), 1);
  w = (witness){.in_order = true};
  drain(handle, &options);
  assert_int_equal(w.calls, 1);
  assert_true(w.first[0] == 3 && w.attempts[0] == 2);
  assert_int_equal(cursor_of(*state, "teste.a"), 3);
  assert_int_equal(count_letters_with(handle, "resolved"), 1);
}

static void *run_consumer(void *user) {
  return trilha_consumer_run(user, NULL) == TRILHA_OK ? NULL : user;
}

static void R17_a_dead_letter_is_reprocessed_as_a_batch_of_one(void **state) {
  trilha *handle = begin(state, 4);
  trilha *other = trilha_fixture_open(*state, ((trilha_fixture *)*state)->keyring);
  witness w = {.in_order = true, .fails_with = 2, .passes_after = 2};
  trilha_consumer_options options = options_of(see, &w, 8);
  options.once = false;
  trilha_consumer *consumer = NULL;
  pthread_t thread;
  assert_int_equal(trilha_consumer_new(handle, &options, &consumer, NULL), TRILHA_OK);
  assert_int_equal(pthread_create(&thread, NULL, run_consumer, consumer), 0);
  for (trilha_deadline end = trilha_deadline_in_ms(60000); count_letters_with(handle, "pendente") < 1;) {
    assert_false(trilha_deadline_passed(end));
    trilha_clock_sleep_ms(10);
  }
  trilha_reprocessed done = {0};
  assert_int_equal(trilha_reprocess(other, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 60000, &done, NULL), TRILHA_OK);
  assert_int_equal(done.reprocessados, 1);
  trilha_consumer_stop(consumer);
  void *failed = NULL;
  pthread_join(thread, &failed);
  assert_null(failed);
  trilha_consumer_free(consumer);
  trilha_close(other);
  assert_int_equal(w.calls, 6); /* together, each alone, and once more */
  assert_true(w.sizes[5] == 1 && w.first[5] == 2);
  assert_int_equal(count_letters_with(handle, "resolved"), 1);
}

static void R15_a_closed_dead_letter_parts_a_batch(void **state) {
  trilha *handle = begin(state, 6);
  trilha_fixture *f = *state;
  witness w = {.in_order = true, .fails_with = 6};
  trilha_consumer_options options = options_of(see, &w, 8);
  options.max_attempts = 2; /* fewer than the handle's */
  for (int i = 0; i < 2; i++) drain(handle, &options);
  assert_int_equal(count_letters_with(handle, "failed_permanent"), 1);
  for (int i = 0; i < 2; i++) publish_number(f->handle, "teste.b", i);
  w = (witness){.in_order = true, .fails_with = 6};
  drain(handle, &options);
  assert_int_equal(w.calls, 1);
  assert_true(w.first[0] == 7 && w.last[0] == 8);
}

static void a_stop_waits_for_the_batch_under_way_and_keeps_its_cursors(void **state) {
  trilha *handle = begin(state, 20);
  witness w = {.in_order = true};
  trilha_consumer_options options = options_of(see, &w, 6);
  options.once = false;
  trilha_consumer *consumer = NULL;
  assert_int_equal(trilha_consumer_new(handle, &options, &consumer, NULL), TRILHA_OK);
  w.stop = consumer;
  assert_int_equal(trilha_consumer_run(consumer, NULL), TRILHA_OK);
  trilha_consumer_free(consumer);
  assert_int_equal(w.calls, 1);
  assert_int_equal(cursor_of(*state, "teste.b"), 6);
  assert_int_equal(cursor_of(*state, "teste.a"), 5);
}

static void what_a_batch_publishes_has_no_cause_and_is_its_own_correlation(void **state) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state, 4);
  trilha_fixture_register(handle, "teste.c", "1.0.0", trilha_test_schema);
  witness w = {.in_order = true, .publish_with = handle};
  trilha_consumer_options options = options_of(see, &w, 8);
  drain(handle, &options);
  assert_false(w.names_an_event);
  assert_int_equal(
      trilha_fixture_count(f, f->is_postgres ? "SELECT count(*) FROM core.event_log WHERE tipo = 'teste.c' AND "
                                               "causation_id IS NULL AND correlacao_id = event_id"
                                             : "SELECT count(*) FROM core_event_log WHERE tipo = 'teste.c' AND "
                                               "causation_id IS NULL AND correlacao_id = event_id"),
      1);
}

/* --- the effect's own transaction --------------------------------------------------------------------------------- */

typedef struct effect {
  PGconn *pg;
  sqlite3 *db;
  int fail_after_advance; /* calls that roll back after the cursor moved with the effect */
  size_t calls;
} effect;

static bool run_sql(const effect *e, const char *sql) {
  if (e->pg == NULL) return sqlite3_exec(e->db, sql, NULL, NULL, NULL) == SQLITE_OK;
  PGresult *result = PQexec(e->pg, sql);
  bool ok = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
  PQclear(result);
  return ok;
}

static trilha_status count_effects(void *user, const trilha_event *events, size_t count, trilha_delivery *delivery) {
  effect *e = user;
  trilha_error err = {0};
  e->calls++;
  if (!run_sql(e, e->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE")) return trilha_delivery_fail(delivery, "begin");
  bool ok = true;
  for (size_t i = 0; i < count && ok; i++) {
    char sql[128];
    snprintf(sql, sizeof sql, "INSERT INTO effect (sequence_number) VALUES (%lld)",
             (long long)events[i].sequence_number);
    ok = run_sql(e, sql);
  }
  if (ok) ok = trilha_delivery_advance_in(delivery, e->pg != NULL ? (void *)e->pg : (void *)e->db, &err) == TRILHA_OK;
  if (ok && e->fail_after_advance-- <= 0 && run_sql(e, "COMMIT")) return TRILHA_OK;
  run_sql(e, "ROLLBACK");
  return trilha_delivery_fail(delivery, "effect refused: %s", err.code);
}

static void an_effect_of_many_events_and_their_cursors_are_one_transaction(void **state) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state, 30);
  effect e = {.fail_after_advance = 1};
  if (f->is_postgres)
    e.pg = PQconnectdb(f->url);
  else
    assert_int_equal(sqlite3_open_v2(f->url + 7, &e.db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  assert_true(run_sql(&e, "CREATE TABLE effect (sequence_number BIGINT NOT NULL)"));
  trilha_consumer_options options = options_of(count_effects, &e, 10);
  drain(handle, &options);
  /* The first call rolled back what it did, the cursors with it, and its ten came again alone. */
  assert_int_equal(e.calls, 1 + 10 + 2);
  assert_int_equal(trilha_fixture_count(f, "SELECT count(*) FROM effect"), 30);
  assert_int_equal(trilha_fixture_count(f, "SELECT count(DISTINCT sequence_number) FROM effect"), 30);
  assert_int_equal(cursor_of(*state, "teste.b"), 30);
  assert_int_equal(cursor_of(*state, "teste.a"), 29);
  assert_int_equal(count_letters_with(handle, NULL), 0);
  PQfinish(e.pg);
  sqlite3_close(e.db);
}

/* --- refusals ------------------------------------------------------------------------------------------------------
 */

static trilha_status never(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  (void)event;
  return trilha_delivery_fail(delivery, "never called");
}

static void a_consumer_has_one_handler_of_one_kind(void **state) {
  trilha *handle = begin(state, 0);
  trilha_consumer_options options = options_of(see, NULL, 0);
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  options.handler = never;
  assert_int_equal(trilha_consumer_new(handle, &options, &consumer, &err), TRILHA_USAGE);
  assert_string_equal(err.code, "CONSUMER_OPTION_INVALID");
  options.handler = NULL;
  options.batch_handler = NULL;
  assert_int_equal(trilha_consumer_new(handle, &options, &consumer, NULL), TRILHA_USAGE);
}

static void a_consumer_made_before_fork_is_refused_in_the_child(void **state) {
  trilha *handle = begin(state, 0);
  witness w = {.in_order = true};
  trilha_consumer_options options = options_of(see, &w, 0);
  trilha_consumer *consumer = NULL;
  assert_int_equal(trilha_consumer_new(handle, &options, &consumer, NULL), TRILHA_OK);
  pid_t child = fork();
  if (child == 0) {
    trilha_error err = {0};
    trilha_status status = trilha_consumer_run(consumer, &err);
    _exit(status == TRILHA_USAGE && strcmp(err.code, "HANDLE_FORKED") == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  trilha_consumer_free(consumer);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(what_is_due_comes_in_full_batches_and_moves_the_cursors_of_all_types),
      ON_A_FRESH_STORE(one_event_alone_is_a_batch_of_one_and_is_not_kept_waiting),
      ON_A_FRESH_STORE(R14_of_a_batch_that_fails_only_the_culprit_becomes_a_dead_letter),
      ON_A_FRESH_STORE(a_failure_that_is_last_comes_from_the_log_again_with_its_attempt),
      ON_A_FRESH_STORE(R17_a_dead_letter_is_reprocessed_as_a_batch_of_one),
      ON_A_FRESH_STORE(R15_a_closed_dead_letter_parts_a_batch),
      ON_A_FRESH_STORE(a_stop_waits_for_the_batch_under_way_and_keeps_its_cursors),
      ON_A_FRESH_STORE(what_a_batch_publishes_has_no_cause_and_is_its_own_correlation),
      ON_A_FRESH_STORE(an_effect_of_many_events_and_their_cursors_are_one_transaction),
      ON_A_FRESH_STORE(a_consumer_has_one_handler_of_one_kind),
      ON_A_FRESH_STORE(a_consumer_made_before_fork_is_refused_in_the_child),
  };
  return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
