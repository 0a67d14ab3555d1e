/* fault: load and a nemesis that draws what goes wrong next, together for a while (reliability 14; specification 001,
 * rules 5 to 7; field report B35).
 *
 * A producer and three workers go on while workers are killed, stopped past their leases and resumed, every connection
 * is cut, nobody is let in, the server is killed and started again, and purges run. In the end each message that
 * was committed had its effect once and in its order, the queue is empty, and a worker that lived through all of it
 * holds as much memory and as many descriptors as at its beginning. `make fault` draws twenty times as often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/effects.h"
#include "fault/history.h"
#include "fault/server.h"

enum {
  ROUNDS = 7,
  MORTALS = 2, /* workers that are killed and stopped; one more lives through everything */
  PATH = 200,
  LINES = 10,
  SECONDS = 60,
  MEMORY_GROWTH_KIB = 16384,
  DESCRIPTORS_GROWTH = 8,
  QUEUE_BYTES_MAX = 8388608
};

typedef struct soak {
  const trilha_fixture *f;
  char produced[PATH], sent[PATH], database[64];
  pid_t producer, witness, mortals[MORTALS];
  unsigned seed;
} soak;

/* --- what goes wrong -------------------------------------------------------------------------------------------------
 */

static pid_t start_worker(const soak *s) {
  return effects_start_worker(s->f->url, s->sent, "follow", NULL);
}

static pid_t *draw_mortal(soak *s) {
  return &s->mortals[fault_draw(&s->seed, MORTALS)];
}

static void kill_a_worker(soak *s) {
  pid_t *victim = draw_mortal(s);
  fault_kill(*victim);
  *victim = start_worker(s);
}

static void stop_a_worker_past_its_lease(soak *s) {
  pid_t *victim = draw_mortal(s);
  kill(*victim, SIGSTOP);
  trilha_clock_sleep_ms(EFFECTS_LEASE_MS + fault_draw(&s->seed, 300));
  kill(*victim, SIGCONT);
}

static PGconn *connect_somehow(const char *url) {
  trilha_deadline patience = trilha_deadline_in_ms(EFFECTS_PATIENCE_MS);
  PGconn *pg = PQconnectdb(url);
  while (PQstatus(pg) != CONNECTION_OK && !trilha_deadline_passed(patience)) {
    trilha_clock_sleep_ms(20);
    PQreset(pg);
  }
  assert_int_equal(PQstatus(pg), CONNECTION_OK);
  return pg;
}

static void run(PGconn *pg, const char *sql) {
  PGresult *result = PQexec(pg, sql);
  if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
    fail_msg("%s: %s", sql, PQerrorMessage(pg));
  PQclear(result);
}

/* From another database of the server: nobody is left in this one. */
static void cut_all(PGconn *beside, const char *database) {
  char sql[200];
  snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", database);
  run(beside, sql);
}

static void admit(PGconn *beside, const char *database, bool all) {
  char sql[200];
  snprintf(sql, sizeof sql, "ALTER DATABASE %s ALLOW_CONNECTIONS %s", database, all ? "true" : "false");
  run(beside, sql);
}

static void cut_every_connection(soak *s) {
  PGconn *beside = connect_somehow(getenv("TRILHA_TEST_POSTGRES_URL"));
  cut_all(beside, s->database);
  PQfinish(beside);
}

/* Who is cut off finds no connection when he comes back, for a moment. */
static void let_nobody_in(soak *s) {
  PGconn *beside = connect_somehow(getenv("TRILHA_TEST_POSTGRES_URL"));
  admit(beside, s->database, false);
  cut_all(beside, s->database);
  trilha_clock_sleep_ms(100 + fault_draw(&s->seed, 300));
  admit(beside, s->database, true);
  PQfinish(beside);
}

static void kill_the_server(soak *s) {
  fault_server_expect("crash");
  trilha_clock_sleep_ms(fault_draw(&s->seed, 200));
  fault_server_expect("resume");
}

static trilha_status purge(const soak *s, trilha_error *err) {
  const trilha_purge_options options = {
      .messages_ms = 0, .inbox_ms = -1, .batch = 50, .user = TRILHA_TEXT("ana"), .reason = TRILHA_TEXT("limpeza")};
  trilha_purged purged = {0};
  trilha_outbox *outbox = trilha_producer_outbox(s->f);
  trilha_status status = trilha_outbox_purge(outbox, &options, NULL, NULL, &purged, err);
  trilha_outbox_close(outbox);
  return status;
}

static void purge_what_was_delivered(soak *s) {
  trilha_error err = {0};
  if (purge(s, &err) != TRILHA_OK) fail_msg("the purge failed: %s: %s", err.code, err.text);
}

static const struct {
  const char *name;
  void (*strike)(soak *s);
} nemesis[ROUNDS] = {
    {"a worker is killed", kill_a_worker},
    {"a worker is stopped past its lease", stop_a_worker_past_its_lease},
    {"every connection is cut", cut_every_connection},
    {"no connection is to be had", let_nobody_in},
    {"the server is killed", kill_the_server},
    {"a purge runs", purge_what_was_delivered},
    {"a worker is killed", kill_a_worker},
};

/* Each once in an order that is drawn, then again. */
static void strike_all(soak *s) {
  int order[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    int at = (int)fault_draw(&s->seed, (unsigned)i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  for (int i = 0; i < ROUNDS; i++) {
    printf("# %s\n", nemesis[order[i]].name);
    nemesis[order[i]].strike(s);
    fault_wait_for_lines(s->produced, fault_lines(s->produced) + LINES, SECONDS); /* life goes on */
    fault_wait_for_lines(s->sent, fault_lines(s->sent) + LINES, SECONDS);
  }
}

/* --- what must hold --------------------------------------------------------------------------------------------------
 */

typedef struct size_of_process {
  long memory_kib;
  int descriptors;
} size_of_process;

static size_of_process measure(pid_t pid) {
  size_of_process size = {0};
  char path[64];
  long pages = 0;
  snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
  FILE *file = fopen(path, "r");
  assert_true(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
  fclose(file);
  size.memory_kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
  snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
  DIR *folder = opendir(path);
  assert_non_null(folder);
  while (readdir(folder) != NULL) size.descriptors++;
  closedir(folder);
  return size;
}

/* Noted as committed, and without exactly one effect. */
static size_t without_effect(const trilha_producer *p, const char *path) {
  char id[40], key[16], sql[160];
  long long sequence;
  size_t count = 0;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fscanf(file, "%39s %15s %lld", id, key, &sequence) == 3) {
    snprintf(sql, sizeof sql, "SELECT count(*) FROM applied WHERE key = '%s' AND sequence = %lld", key, sequence);
    count += trilha_producer_count(p, sql) != 1;
  }
  fclose(file);
  return count;
}

static void expect_everything_once_and_in_order(const soak *s, const trilha_producer *p) {
  effects_verdict v = effects_check(p, s->sent);
  printf("# %zu messages noted as committed, %zu sends\n", fault_lines(s->produced), v.sent);
  assert_int_equal(without_effect(p, s->produced), 0);
  assert_int_equal(v.repeated, 0);
  assert_int_equal(v.reordered, 0);
  /* What was purged is no message any more: numbers without a gap say that no effect is foreign or missing. */
  assert_int_equal(trilha_producer_count(p,
                                         "SELECT count(*) FROM (SELECT max(sequence) - count(*) AS gaps FROM applied "
                                         "GROUP BY key) a WHERE gaps <> 0"),
                   0);
}

static void expect_an_empty_queue(const soak *s, const trilha_producer *p) {
  trilha_error err = {0};
  if (purge(s, &err) != TRILHA_OK) fail_msg("the last purge failed: %s: %s", err.code, err.text);
  assert_int_equal(trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_message"), 0);
  assert_int_equal(trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_lane"), 0);
  assert_in_range(trilha_producer_count(p, "SELECT pg_total_relation_size('billing.outbox_lane')"), 0, QUEUE_BYTES_MAX);
}

/* --- the soak ----------------------------------------------------------------------------------------------------- */

static soak start(const trilha_fixture *f) {
  soak s = {.f = f, .seed = fault_seed()};
  snprintf(s.produced, PATH, "%s/produced", f->folder);
  snprintf(s.sent, PATH, "%s/sent", f->folder);
  PGconn *pg = connect_somehow(f->url);
  snprintf(s.database, sizeof s.database, "%s", PQdb(pg));
  PQfinish(pg);
  const char *words[] = {"producer", f->url, s.produced, "careful", NULL};
  s.producer = fault_start(words, NULL);
  s.witness = start_worker(&s);
  for (int i = 0; i < MORTALS; i++) s.mortals[i] = start_worker(&s);
  fault_wait_for_lines(s.produced, LINES, SECONDS);
  fault_wait_for_lines(s.sent, LINES, SECONDS);
  return s;
}

static void whatever_goes_wrong_together_no_effect_is_lost_repeated_or_reordered_and_nothing_grows(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = effects_open(f);
  trilha_producer_close(&p);
  soak s = start(f);
  strike_all(&s);
  size_of_process before = measure(s.witness);
  for (int i = 1; i < fault_times(2); i++) strike_all(&s);
  size_of_process after = measure(s.witness);
  fault_kill(s.producer);
  p = trilha_producer_open(f, false);
  bool drained = effects_wait(&p);
  fault_kill(s.witness);
  for (int i = 0; i < MORTALS; i++) fault_kill(s.mortals[i]);
  assert_true(drained);
  expect_everything_once_and_in_order(&s, &p);
  expect_an_empty_queue(&s, &p);
  printf("# a worker: %ld then %ld KiB, %d then %d descriptors\n", before.memory_kib, after.memory_kib,
         before.descriptors, after.descriptors);
  assert_in_range(after.memory_kib, 0, before.memory_kib + MEMORY_GROWTH_KIB);
  assert_in_range(after.descriptors, 0, before.descriptors + DESCRIPTORS_GROWTH);
  trilha_producer_close(&p);
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(
          whatever_goes_wrong_together_no_effect_is_lost_repeated_or_reordered_and_nothing_grows, trilha_fixture_setup,
          trilha_fixture_teardown),
  };
  return cmocka_run_group_tests_name("soak", tests, NULL, NULL);
}

int main(int argc, char **argv) {
  if (argc > 5 && strcmp(argv[1], "--role") == 0) {
    if (strcmp(argv[2], "producer") == 0) return effects_role_producer(argv[3], argv[4], argv[5]);
    return argc > 6 ? effects_role_worker(argv[3], argv[4], argv[5], argv[6]) : 2;
  }
  return fault_server_run(run_all);
}
