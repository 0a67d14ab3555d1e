/* fault: handlers that fail, dawdle, publish and crash, all at once (reliability 8; requirements E18, E19).
 *
 * Four threads publish to colonies whose handlers draw what they do; each notes what it did, and the dead letters must
 * be exactly those notes: one for each event and colony that ever failed, its attempts the number of its deliveries,
 * its status that of the last. A durable consumer whose handler takes its whole process down in turn leaves another
 * colony alone and loses nothing. The controls change one dead letter past Trilha and must be caught.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/history.h"
#include "trilha/delivery.h"

enum {
  THREADS = 4,
  EACH = 60,
  ROUNDS = 3,
  EVENTS_MAX = 20000,
  ATTEMPTS_MAX = 5,
  PATH = 200,
  CRASHING = 24,
  LEASE_MS = 60000, /* a dead one's is ended by the test */
  COLONIES = 4
};

/* --- what handlers did ----------------------------------------------------------------------------------------------
 */

typedef struct colony {
  const char *name, *type;
  unsigned fail_one_in, sleep_ms, publish_one_in; /* 0: never */
  struct run *run;
  int deliveries[EVENTS_MAX];
  bool failed_ever[EVENTS_MAX], failed_last[EVENTS_MAX];
  int64_t last; /* live deliveries come in order */
  size_t backwards;
} colony;

typedef struct run {
  trilha_fixture *f;
  pthread_mutex_t lock; /* guards everything below and the colonies */
  unsigned seed;
  bool live;
  colony colonies[COLONIES];
} run;

static const colony moods[COLONIES] = {{.name = "D-4", .type = "teste.a", .fail_one_in = 5},
                                       {.name = "D-5", .type = "teste.a", .fail_one_in = 7, .sleep_ms = 4},
                                       {.name = "D-6", .type = "teste.a", .publish_one_in = 4},
                                       {.name = "D-7", .type = "teste.b", .fail_one_in = 3, .sleep_ms = 2}};

/* What this delivery shall be. */
static void draw_mood(colony *c, int64_t sequence, bool *fails, bool *publishes, unsigned *sleep_ms) {
  run *r = c->run;
  pthread_mutex_lock(&r->lock);
  *fails = c->fail_one_in != 0 && fault_draw(&r->seed, r->live ? c->fail_one_in : 2) == 0;
  *publishes = r->live && c->publish_one_in != 0 && fault_draw(&r->seed, c->publish_one_in) == 0;
  *sleep_ms = c->sleep_ms == 0 ? 0 : fault_draw(&r->seed, c->sleep_ms);
  c->deliveries[sequence]++;
  c->failed_ever[sequence] |= *fails;
  c->failed_last[sequence] = *fails;
  c->backwards += r->live && sequence <= c->last;
  c->last = sequence;
  pthread_mutex_unlock(&r->lock);
}

static trilha_status handle(void *user, const trilha_event *event, trilha_delivery *delivery) {
  colony *c = user;
  bool fails, publishes;
  unsigned sleep_ms;
  if (event->sequence_number >= EVENTS_MAX) return trilha_delivery_fail(delivery, "too many events for the test");
  draw_mood(c, event->sequence_number, &fails, &publishes, &sleep_ms);
  if (sleep_ms != 0) trilha_clock_sleep_ms(sleep_ms);
  if (publishes) {
    trilha_publication p = {
        .tipo = TRILHA_TEXT("teste.b"), .origem = TRILHA_TEXT("D-6"), .payload = TRILHA_TEXT("{\"n\":2}")};
    trilha_publish_result result;
    trilha_status status = trilha_delivery_publish(delivery, &p, &result, NULL);
    trilha_publish_result_done(&result);
    if (status != TRILHA_OK) return status;
  }
  return fails ? trilha_delivery_fail(delivery, "hoje não") : TRILHA_OK;
}

static void *publish_each(void *user) {
  run *r = user;
  for (int i = 0; i < fault_times(EACH); i++) publish_number(r->f->handle, "teste.a", i);
  return NULL;
}

static run *begin(void **state) {
  run *r = calloc(1, sizeof *r);
  assert_non_null(r);
  r->f = *state;
  r->seed = fault_seed();
  r->live = true;
  pthread_mutex_init(&r->lock, NULL);
  trilha_fixture_register(r->f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_fixture_register(r->f->handle, "teste.b", "1.0.0", trilha_test_schema);
  for (int i = 0; i < COLONIES; i++) {
    colony *c = &r->colonies[i];
    *c = moods[i];
    c->run = r;
    trilha_subscription s = {
        .tipo = trilha_text_of(c->type), .colonia = trilha_text_of(c->name), .handler = handle, .user = c};
    int64_t id;
    assert_int_equal(trilha_subscribe(r->f->handle, &s, &id, NULL), TRILHA_OK);
  }
  return r;
}

static void publish_all(run *r) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, publish_each, r), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  r->live = false;
}

/* --- the checker -----------------------------------------------------------------------------------------------------
 */

static const char *expected_status(const colony *c, int64_t sequence) {
  if (!c->failed_last[sequence]) return "resolved";
  return c->deliveries[sequence] >= ATTEMPTS_MAX ? "failed_permanent" : "pendente";
}

/* How many dead letters of the colony are missing, too many, or not what its handler saw. */
static size_t wrong_letters(trilha *handle, const colony *c) {
  size_t wrong = 0, expected = 0, found = 0;
  trilha_dead_letters_filter filter = {.colonia = trilha_text_of(c->name), .limite = 500};
  do {
    trilha_dead_letters *page = NULL;
    assert_int_equal(trilha_dead_letters_query(handle, &filter, &page, NULL), TRILHA_OK);
    for (size_t i = 0; i < page->count; i++, found++) {
      const trilha_dead_letter *l = &page->items[i];
      bool right = c->failed_ever[l->sequence_number] && l->tentativas == c->deliveries[l->sequence_number] &&
                   strcmp(l->status, expected_status(c, l->sequence_number)) == 0;
      wrong += !right;
    }
    filter.after_id = page->next_after;
    trilha_dead_letters_free(page);
  } while (filter.after_id != 0);
  for (int i = 0; i < EVENTS_MAX; i++) expected += c->failed_ever[i];
  return wrong + (expected > found ? expected - found : found - expected);
}

static int64_t events_of(const run *r, const char *type) {
  char sql[120];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM {log} WHERE tipo = '%s'", type);
  return trilha_fixture_count(r->f, sql);
}

static void expect_exact(const run *r) {
  for (int i = 0; i < COLONIES; i++) {
    const colony *c = &r->colonies[i];
    int64_t reached = 0;
    for (int s = 0; s < EVENTS_MAX; s++) reached += c->deliveries[s] > 0;
    assert_int_equal(reached, events_of(r, c->type));
    assert_int_equal(c->backwards, 0);
    size_t wrong = wrong_letters(r->f->handle, c);
    if (wrong != 0) fail_msg("%s: %zu dead letters are not what its handler saw", c->name, wrong);
  }
}

static void end(run *r) {
  trilha_close(r->f->handle);
  r->f->handle = NULL;
  pthread_mutex_destroy(&r->lock);
  free(r);
}

static void dead_letters_are_exactly_the_failures_whatever_handlers_do(void **state) {
  run *r = begin(state);
  publish_all(r);
  assert_int_equal(events_of(r, "teste.a"), THREADS * fault_times(EACH));
  assert_true(events_of(r, "teste.b") > 0);
  expect_exact(r);
  for (int round = 0; round < ROUNDS * 2; round++)
    for (int i = 0; i < COLONIES; i++) {
      trilha_reprocessed done;
      assert_int_equal(
          trilha_reprocess(r->f->handle, trilha_text_of(r->colonies[i].name), TRILHA_TEXT("tests"), 0, &done, NULL),
          TRILHA_OK);
    }
  expect_exact(r);
  printf("# %lld events to %d colonies, %lld dead letters\n",
         (long long)trilha_fixture_count(r->f, "SELECT count(*) FROM {log}"), COLONIES,
         (long long)trilha_fixture_count(r->f, r->f->is_postgres ? "SELECT count(*) FROM core.dead_letter_queue"
                                                                 : "SELECT count(*) FROM core_dead_letter_queue"));
  end(r);
}

static void control_a_dead_letter_changed_or_removed_past_trilha_is_caught(void **state) {
  run *r = begin(state);
  for (int i = 0; i < 40; i++) publish_number(r->f->handle, "teste.a", i);
  r->live = false;
  expect_exact(r);
  trilha_fixture_change(
      r->f, "UPDATE core.dead_letter_queue SET tentativas = 2 WHERE id = (SELECT min(id) FROM core.dead_letter_queue)",
      "UPDATE core_dead_letter_queue SET tentativas = 2 WHERE id = (SELECT min(id) FROM core_dead_letter_queue)");
  size_t wrong = 0;
  for (int i = 0; i < COLONIES; i++) wrong += wrong_letters(r->f->handle, &r->colonies[i]);
  assert_int_equal(wrong, 1);
  trilha_fixture_change(r->f,
                        "DELETE FROM core.dead_letter_queue WHERE id = (SELECT max(id) FROM core.dead_letter_queue)",
                        "DELETE FROM core_dead_letter_queue WHERE id = (SELECT max(id) FROM core_dead_letter_queue)");
  wrong = 0;
  for (int i = 0; i < COLONIES; i++) wrong += wrong_letters(r->f->handle, &r->colonies[i]);
  assert_int_equal(wrong, 2);
  end(r);
}

/* --- a handler that takes its process down
 * ------------------------------------------------------------------------------- */

typedef struct fragile {
  int seen;
  const char *path;
  bool crashes;
} fragile;

/* The first time it sees an event, every third one ends the process, each in another way. */
static trilha_status crash_or_note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)delivery;
  fragile *x = user;
  char mark[PATH + 40];
  snprintf(mark, sizeof mark, "%s.crashed-%lld", x->path, (long long)event->sequence_number);
  if (x->crashes && event->sequence_number % 3 == 0 && access(mark, F_OK) != 0) {
    fault_write(fault_open_history(mark), "x\n");
    const struct rlimit none = {0, 0}; /* no core file */
    setrlimit(RLIMIT_CORE, &none);
    if (event->sequence_number % 4 == 0) _exit(0);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    raise(event->sequence_number % 4 == 1 ? SIGSEGV : event->sequence_number % 4 == 2 ? SIGABRT : SIGKILL);
  }
  fault_write(x->seen, "%lld\n", (long long)event->sequence_number);
  return TRILHA_OK;
}

static int role_consumer(const char *url, const char *path, const char *colony_name, const char *how) {
  static const trilha_text type[] = {{"teste.a", 7}};
  fragile x = {fault_open_history(path), path, strcmp(how, "crashes") == 0};
  trilha *handle = fault_open(url, NULL);
  trilha_consumer_options options = {.colonia = trilha_text_of(colony_name),
                                     .types = type,
                                     .type_count = 1,
                                     .handler = crash_or_note,
                                     .user = &x,
                                     .from = TRILHA_FROM_START,
                                     .lease_ms = LEASE_MS,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  if (trilha_consumer_new(handle, &options, &consumer, NULL) != TRILHA_OK) return 4;
  if (trilha_consumer_run(consumer, NULL) != TRILHA_OK) return 5;
  trilha_consumer_free(consumer);
  trilha_close(handle);
  return 0;
}

static pid_t start_consumer(const trilha_fixture *f, const char *path, const char *colony_name, const char *how) {
  const char *words[] = {f->url, path, colony_name, how, NULL};
  return fault_start(words, NULL);
}

static void a_handler_that_ends_its_process_loses_and_repeats_nothing_and_leaves_others_alone(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  for (int i = 1; i <= CRASHING; i++) publish_number(f->handle, "teste.a", i);
  char fragile_path[PATH], steady_path[PATH];
  snprintf(fragile_path, sizeof fragile_path, "%s/fragile", f->folder);
  snprintf(steady_path, sizeof steady_path, "%s/steady", f->folder);
  pid_t steady = start_consumer(f, steady_path, "D-5", "never");
  int deaths = 0;
  for (bool whole = false; !whole; deaths += !whole) {
    assert_in_range(deaths, 0, CRASHING);
    fault_wait(start_consumer(f, fragile_path, "D-4", "crashes"));
    trilha_fixture_change(f, "UPDATE core.consumer_lease SET expires_at = clock_timestamp() WHERE colonia = 'D-4'",
                          "UPDATE core_consumer_lease SET boot_us = 0 WHERE colonia = 'D-4'");
    whole = fault_lines(fragile_path) == CRASHING;
  }
  fault_expect_end(steady);
  assert_int_equal(deaths, CRASHING / 3);
  const char *const paths[] = {fragile_path, steady_path};
  for (int i = 0; i < 2; i++) {
    fault_deliveries d = fault_check_deliveries(paths[i], f->handle);
    assert_int_equal(d.missing + d.repeats + d.backwards + d.foreign, 0);
  }
  trilha_dead_letters *letters = NULL;
  assert_int_equal(trilha_dead_letters_pending(f->handle, TRILHA_TEXT("D-4"), &letters, NULL), TRILHA_OK);
  assert_int_equal(letters->count, 0); /* nobody was there to say that it failed */
  trilha_dead_letters_free(letters);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 5 && strcmp(argv[1], "--role") == 0) return role_consumer(argv[2], argv[3], argv[4], argv[5]);
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(dead_letters_are_exactly_the_failures_whatever_handlers_do),
      ON_A_FRESH_STORE(control_a_dead_letter_changed_or_removed_past_trilha_is_caught),
      ON_A_FRESH_STORE(a_handler_that_ends_its_process_loses_and_repeats_nothing_and_leaves_others_alone),
  };
  return cmocka_run_group_tests_name("handlers", tests, NULL, NULL);
}
