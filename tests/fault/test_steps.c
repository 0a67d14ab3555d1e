/* fault: one whole life of events, killed at every durable step there is (reliability 3 and 9).
 *
 * A process registers a type, publishes, consumes with a handler that fails once, and reprocesses. It is killed at the
 * first write, at the second, and so on until a run reaches its end unharmed; each time the same program runs again,
 * and what it leaves must be as if nothing had happened. The control forgets the ids of its events between the two runs
 * and must be caught storing them twice. Installing is killed step by step in the same way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/history.h"
#include "trilha/delivery.h"

enum { EVENTS = 3, FAILING = 2, STEPS_MAX = 400, STRIDE = 6, LEAST_KILLS = 4, PATH = 200, NAME = 24 };

#ifdef TRILHA_FAULT_POINTS

/* Where each store is hit: just before and just after it has written. */
static const char *const sqlite_points[] = {"sqlite.write.before_commit", "sqlite.write.after_commit"};
static const char *const postgres_points[] = {"postgres.exchange.before_send", "postgres.exchange.after_answer"};

/* --- the life ----------------------------------------------------------------------------------------------------- */

typedef struct life {
  trilha *handle;
  const char *round; /* its number: ids, types and colony of one round are its own */
  char colony[NAME], type[NAME];
  int64_t sequences[EVENTS];
  int seen;
  bool careless; /* new ids each time */
} life;

static bool register_types(const life *l) {
  trilha_type_version version = {
      .tipo = trilha_text_of(l->type), .versao = TRILHA_TEXT("1.0.0"), .schema = trilha_text_of(trilha_test_schema)};
  return trilha_registry_apply(l->handle, &version, 1, false, TRILHA_TEXT("tests"), NULL, NULL) == TRILHA_OK;
}

static bool publish(life *l) {
  for (int i = 0; i < EVENTS; i++) {
    char id[40];
    snprintf(id, sizeof id, "%08d-0000-4000-8000-00000000000%d", atoi(l->round), i + 1);
    trilha_publication p = {.tipo = trilha_text_of(l->type),
                            .origem = TRILHA_TEXT("D-1a"),
                            .payload = TRILHA_TEXT("{\"n\":1}"),
                            .event_id = l->careless ? (trilha_text){0} : trilha_text_of(id)};
    trilha_publish_result r;
    bool published = trilha_publish(l->handle, &p, &r, NULL) == TRILHA_OK;
    if (published) l->sequences[i] = r.event->sequence_number;
    trilha_publish_result_done(&r);
    if (!published) return false;
  }
  return true;
}

static trilha_status note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  life *l = user;
  fault_write(l->seen, "%lld\n", (long long)event->sequence_number);
  if (event->sequence_number == l->sequences[FAILING - 1]) return trilha_delivery_fail(delivery, "ainda não dá");
  return TRILHA_OK;
}

static bool consume(life *l) {
  trilha_text type = trilha_text_of(l->type);
  trilha_consumer_options options = {.colonia = trilha_text_of(l->colony),
                                     .types = &type,
                                     .type_count = 1,
                                     .handler = note,
                                     .user = l,
                                     .from = TRILHA_FROM_START,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  if (trilha_consumer_new(l->handle, &options, &consumer, NULL) != TRILHA_OK) return false;
  bool ended = trilha_consumer_run(consumer, NULL) == TRILHA_OK;
  trilha_consumer_free(consumer);
  return ended;
}

static trilha_status succeed(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  (void)event;
  (void)delivery;
  return TRILHA_OK;
}

static bool reprocess(life *l) {
  trilha_reprocessed done;
  return trilha_reprocess_with(l->handle, trilha_text_of(l->colony), NULL, 0, (trilha_text){0}, succeed, NULL, &done,
                               NULL) == TRILHA_OK;
}

static int role_life(const char *url, const char *keyring, const char *seen_path, const char *round, bool careless) {
  life l = {.round = round, .seen = fault_open_history(seen_path), .careless = careless};
  snprintf(l.colony, sizeof l.colony, "D-%s", round);
  snprintf(l.type, sizeof l.type, "teste.t%s", round);
  l.handle = fault_open(url, keyring);
  bool lived = register_types(&l) && publish(&l) && consume(&l) && reprocess(&l);
  trilha_close(l.handle);
  return lived ? 0 : 4;
}

static int role_migrate(const char *url) {
  trilha_options options = {.store_url = url};
  trilha_error err = {0};
  if (trilha_migrate(&options, false, NULL, NULL, &err) == TRILHA_OK) return 0;
  fprintf(stderr, "# migrate: %s %s\n", err.code, err.text);
  return 4;
}

/* --- the raw store
 * ---------------------------------------------------------------------------------------------------- */

/* What the dead hold ends now: waiting for it would be the test's time. */
static void end_leases(const trilha_fixture *f) {
  trilha_fixture_change(f, "UPDATE core.consumer_lease SET expires_at = clock_timestamp()",
                        "UPDATE core_consumer_lease SET boot_us = 0");
  trilha_fixture_change(f, "UPDATE core.dead_letter_lease SET expires_at = clock_timestamp()",
                        "UPDATE core_dead_letter_lease SET boot_us = 0");
}

static int64_t ask(const trilha_fixture *f, const char *postgres, const char *sqlite, int round) {
  char sql[300];
  const char *format = f->is_postgres ? postgres : sqlite;
  const char *mark = strstr(format, "{round}");
  assert_non_null(mark);
  snprintf(sql, sizeof sql, "%.*s%d%s", (int)(mark - format), format, round, mark + strlen("{round}"));
  return trilha_fixture_count(f, sql);
}

/* --- one round
 * ---------------------------------------------------------------------------------------------------------- */

static bool run_life(const trilha_fixture *f, const char *role, int round, const char *fault) {
  char number[12], seen[PATH], setting[100];
  snprintf(number, sizeof number, "%d", round);
  snprintf(seen, sizeof seen, "%s/seen-%d", f->folder, round);
  snprintf(setting, sizeof setting, "TRILHA_FAULT=%s", fault == NULL ? "" : fault);
  const char *words[] = {role, f->url, f->keyring, seen, number, NULL};
  int status = fault_wait(fault_start(words, setting));
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail_msg("round %d, %s: wait status %x", round, fault == NULL ? "no fault" : fault, (unsigned)status);
  return false;
}

static int64_t events_of(const trilha_fixture *f, int round) {
  return ask(f, "SELECT count(*) FROM core.event_log WHERE tipo = 'teste.t{round}'",
             "SELECT count(*) FROM core_event_log WHERE tipo = 'teste.t{round}'", round);
}

static void expect_whole_life(const trilha_fixture *f, int round, const char *fault) {
  char seen[PATH];
  snprintf(seen, sizeof seen, "%s/seen-%d", f->folder, round);
  int64_t first = ask(f, "SELECT min(sequence_number) FROM core.event_log WHERE tipo = 'teste.t{round}'",
                      "SELECT min(sequence_number) FROM core_event_log WHERE tipo = 'teste.t{round}'", round);
  int64_t resolved =
      ask(f, "SELECT count(*) FROM core.dead_letter_queue WHERE colonia = 'D-{round}' AND status = 'resolved'",
          "SELECT count(*) FROM core_dead_letter_queue WHERE colonia = 'D-{round}' AND status = 'resolved'", round);
  int64_t letters = ask(f, "SELECT count(*) FROM core.dead_letter_queue WHERE colonia = 'D-{round}'",
                        "SELECT count(*) FROM core_dead_letter_queue WHERE colonia = 'D-{round}'", round);
  int64_t cursor = ask(f, "SELECT last_sequence FROM d{round}.consumer_offset",
                       "SELECT last_sequence FROM d{round}_consumer_offset", round);
  int times[EVENTS] = {0}, total = 0;
  FILE *file = fopen(seen, "r");
  assert_non_null(file);
  for (long long s; fscanf(file, "%lld\n", &s) == 1; total++) {
    assert_in_range(s - first, 0, EVENTS - 1);
    times[s - first]++;
  }
  fclose(file);
  bool all = times[0] > 0 && times[1] > 0 && times[2] > 0;
  /* The one in flight comes again, and so does a failed one whose cursor had not been passed yet. */
  if (events_of(f, round) == EVENTS && letters == 1 && resolved == 1 && cursor == first + EVENTS - 1 && all &&
      total <= EVENTS + 2)
    return;
  fail_msg("%s: %lld events, %lld dead letters, %lld resolved, cursor %lld of %lld; deliveries %d %d %d", fault,
           (long long)events_of(f, round), (long long)letters, (long long)resolved, (long long)(cursor - first + 1),
           (long long)EVENTS, times[0], times[1], times[2]);
}

static const char *point_of(const trilha_fixture *f, int which) {
  return f->is_postgres ? postgres_points[which] : sqlite_points[which];
}

/* Each round trip to PostgreSQL is a step: the short form takes every so many of them, beginning anywhere. */
static int stride_of(const trilha_fixture *f) {
  return f->is_postgres && fault_times(1) == 1 ? STRIDE : 1;
}

static int first_step(int stride, unsigned *seed) {
  return 1 + (int)fault_draw(seed, (unsigned)stride);
}

static void killed_at_each(void **state, int which) {
  trilha_fixture *f = *state;
  unsigned seed = fault_seed();
  int kills = 0, stride = stride_of(f);
  for (int step = first_step(stride, &seed); step < STEPS_MAX; step += stride) {
    char fault[80];
    int round = 1000 + step;
    snprintf(fault, sizeof fault, "%s=kill:%d", point_of(f, which), step);
    bool killed = run_life(f, "life", round, fault);
    if (killed) {
      end_leases(f);
      assert_false(run_life(f, "life", round, NULL));
    }
    expect_whole_life(f, round, fault);
    if (!killed) break;
    kills++;
  }
  printf("# killed at %d steps\n", kills);
  assert_in_range(kills, LEAST_KILLS, STEPS_MAX - 2);
}

static void a_life_killed_before_any_of_its_steps_ends_as_if_it_had_not_been(void **state) {
  killed_at_each(state, 0);
}

static void a_life_killed_after_any_of_its_steps_ends_as_if_it_had_not_been(void **state) {
  killed_at_each(state, 1);
}

static void control_a_publisher_that_forgets_its_ids_is_caught_storing_twice(void **state) {
  trilha_fixture *f = *state;
  int64_t events = 0;
  for (int step = 1; step < STEPS_MAX && events <= EVENTS; step++) {
    char fault[80];
    snprintf(fault, sizeof fault, "%s=kill:%d", point_of(f, 1), step);
    if (!run_life(f, "careless", 2000 + step, fault)) break;
    end_leases(f);
    run_life(f, "careless", 2000 + step, NULL);
    events = events_of(f, 2000 + step);
  }
  assert_true(events > EVENTS);
}

/* --- installing
 * ----------------------------------------------------------------------------------------------------------- */

static void expect_usable(const trilha_fixture *f, const char *url, const char *fault) {
  trilha_options options = {.store_url = url, .keyring = f->keyring};
  trilha *handle = NULL;
  trilha_error err = {0};
  if (trilha_open(&options, &handle, &err) != TRILHA_OK) fail_msg("%s: open: %s %s", fault, err.code, err.text);
  trilha_fixture_register(handle, "teste.a", "1.0.0", trilha_test_schema);
  assert_int_equal(publish_number(handle, "teste.a", 1), 1);
  trilha_close(handle);
}

static bool install(const char *url, const char *fault) {
  char setting[100];
  snprintf(setting, sizeof setting, "TRILHA_FAULT=%s", fault);
  const char *words[] = {"migrate", url, "", "", "", NULL};
  int status = fault_wait(fault_start(words, setting));
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
  if (status != 0) fail_msg("%s: wait status %x", fault, (unsigned)status);
  return false;
}

static void an_installation_killed_at_any_step_is_finished_by_the_next_one(void **state) {
  trilha_fixture *f = *state;
  unsigned seed = fault_seed();
  int kills = 0, stride = stride_of(f);
  trilha_close(f->handle);
  f->handle = NULL;
  for (int which = 0; which < 2; which++)
    for (int step = first_step(stride, &seed); step < STEPS_MAX; step += stride) {
      char url[sizeof f->url], fault[80];
      snprintf(fault, sizeof fault, "%s=kill:%d", point_of(f, which), step);
      snprintf(url, sizeof url, "%s", f->url);
      if (f->is_postgres)
        trilha_fixture_change(f, "SET client_min_messages = warning; DROP SCHEMA core CASCADE", "");
      else
        snprintf(url, sizeof url, "sqlite:%s/new-%d-%d.db", f->folder, which, step);
      bool killed = install(url, fault);
      if (killed) assert_false(install(url, ""));
      expect_usable(f, url, fault);
      if (!killed) break;
      kills++;
    }
  printf("# killed at %d steps\n", kills);
  assert_true(kills >= 2); /* on SQLite all of it is one transaction */
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 6 && strcmp(argv[1], "--role") == 0) {
    if (strcmp(argv[2], "migrate") == 0) return role_migrate(argv[3]);
    return role_life(argv[3], argv[4], argv[5], argv[6], strcmp(argv[2], "careless") == 0);
  }
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(a_life_killed_before_any_of_its_steps_ends_as_if_it_had_not_been),
      ON_A_FRESH_STORE(a_life_killed_after_any_of_its_steps_ends_as_if_it_had_not_been),
      ON_A_FRESH_STORE(control_a_publisher_that_forgets_its_ids_is_caught_storing_twice),
      ON_A_FRESH_STORE(an_installation_killed_at_any_step_is_finished_by_the_next_one),
  };
  return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}

#else

int main(void) {
  puts("1..0 # SKIP needs a build with -Dfault_points=true");
  return 0;
}

#endif
