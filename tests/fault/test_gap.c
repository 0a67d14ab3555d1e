/* fault: a reader that follows a cursor never skips an event (invariant 2; reliability test 1; field reports B03, B04).
 *
 * Writers in several processes, through Trilha and with raw SQL that pauses before COMMIT or rolls back, three
 * consumers that follow the log, then a history checker over what was acknowledged and what was delivered. The control
 * runs the same raw writers on a bare BIGSERIAL table with the same kind of cursor and must be caught skipping; on
 * SQLite, which has one writer, the control is a history with one event taken out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"
#include "conformance/publishing.h"
#include "support/own_program.h"

extern char **environ;

enum {
  RUN_MS = 3000,
  PUBLISHERS = 4,
  PUBLISHER_THREADS = 2,
  RAW_WRITERS = 8,
  CONSUMERS = 3,
  WRITING_MS_MAX = 60000,    /* for a machine on which RUN_MS is nothing */
  FOLLOWING_MS_MAX = 240000, /* outlasts every writer, so that only a consumer that stands still ends by it */
  LEAST_EACH = 10
};
#define RAW_ORIGIN "raw"

/* --- roles: each a process of its own, printing what it was acknowledged or delivered ------------------- */

static void print_line(const char *id, int64_t sequence) {
  char line[80];
  int n = snprintf(line, sizeof line, "%s %lld\n", id, (long long)sequence);
  if (write(STDOUT_FILENO, line, (size_t)n) != n) _exit(9);
}

static trilha *open_url(const char *url, const char *keyring) {
  trilha_options options = {.store_url = url, .keyring = keyring};
  trilha *handle = NULL;
  trilha_error err = {0};
  if (trilha_open(&options, &handle, &err) != TRILHA_OK) {
    fprintf(stderr, "open: %s %s\n", err.code, err.text);
    _exit(3);
  }
  return handle;
}

/* For a time, and until a few were stored, however slow the machine; bounded all the same. */
typedef struct effort {
  trilha_deadline end, bound;
  int stored;
} effort;

static effort begin_effort(void) {
  return (effort){trilha_deadline_in_ms(RUN_MS), trilha_deadline_in_ms(WRITING_MS_MAX), 0};
}

static bool goes_on(const effort *e) {
  if (trilha_deadline_passed(e->bound)) return false;
  return !trilha_deadline_passed(e->end) || e->stored < LEAST_EACH;
}

static void *publish_until(void *user) {
  trilha *handle = user;
  effort e = begin_effort();
  while (goes_on(&e)) {
    trilha_publication p = {
        .tipo = TRILHA_TEXT("teste.a"), .origem = TRILHA_TEXT("D-1a"), .payload = TRILHA_TEXT("{\"n\":1}")};
    trilha_publish_result r;
    trilha_error err = {0};
    if (trilha_publish(handle, &p, &r, &err) == TRILHA_OK) {
      print_line(r.event->event_id, r.event->sequence_number);
      e.stored++;
    } else
      fprintf(stderr, "publish: %s %s\n", err.code, err.text);
    trilha_publish_result_done(&r);
  }
  return NULL;
}

static int role_publisher(const char *url, const char *keyring) {
  trilha *handle = open_url(url, keyring);
  pthread_t threads[PUBLISHER_THREADS];
  for (int i = 0; i < PUBLISHER_THREADS; i++) pthread_create(&threads[i], NULL, publish_until, handle);
  for (int i = 0; i < PUBLISHER_THREADS; i++) pthread_join(threads[i], NULL);
  trilha_close(handle);
  return 0;
}

static void pause_at_random(unsigned *seed) {
  struct timespec ts = {0, (rand_r(seed) % 8) * 1000000L};
  nanosleep(&ts, NULL);
}

/* One transaction of raw SQL with a pause before its end; one in five rolls back. */
static void raw_postgres(const char *url, const char *table, unsigned seed) {
  PGconn *c = PQconnectdb(url);
  effort e = begin_effort();
  while (PQstatus(c) == CONNECTION_OK && goes_on(&e)) {
    unsigned char id[16];
    char text[TRILHA_UUID_TEXT_SIZE], sql[512];
    trilha_uuid_v4(id);
    trilha_uuid_format(id, text);
    snprintf(sql, sizeof sql,
             "INSERT INTO %s (event_id, tipo, origem, payload) VALUES ('%s', 'teste.a', '" RAW_ORIGIN
             "', '{}') RETURNING sequence_number",
             table, text);
    PQclear(PQexec(c, "BEGIN"));
    PGresult *inserted = PQexec(c, sql);
    bool ok = PQresultStatus(inserted) == PGRES_TUPLES_OK;
    int64_t sequence = ok ? strtoll(PQgetvalue(inserted, 0, 0), NULL, 10) : 0;
    if (!ok) fprintf(stderr, "raw: %s", PQerrorMessage(c));
    PQclear(inserted);
    pause_at_random(&seed);
    bool keep = rand_r(&seed) % 5 != 0;
    PGresult *ended = PQexec(c, keep ? "COMMIT" : "ROLLBACK");
    if (ok && keep && strcmp(PQcmdStatus(ended), "COMMIT") == 0) {
      print_line(text, sequence);
      e.stored++;
    }
    PQclear(ended);
  }
  PQfinish(c);
}

static void raw_sqlite(const char *url, unsigned seed) {
  sqlite3 *db = NULL;
  if (sqlite3_open_v2(url + strlen("sqlite:"), &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) _exit(3);
  sqlite3_busy_timeout(db, 10000);
  effort e = begin_effort();
  while (goes_on(&e)) {
    unsigned char id[16];
    char text[TRILHA_UUID_TEXT_SIZE];
    trilha_uuid_v4(id);
    trilha_uuid_format(id, text);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) continue;
    char *sql = sqlite3_mprintf(
        "INSERT INTO core_event_log (event_id, tipo, origem, payload) VALUES (%Q, 'teste.a', '" RAW_ORIGIN "', '{}')",
        text);
    bool ok = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (!ok) fprintf(stderr, "raw: %s\n", sqlite3_errmsg(db));
    sqlite3_free(sql);
    int64_t sequence = sqlite3_last_insert_rowid(db);
    pause_at_random(&seed);
    bool keep = ok && rand_r(&seed) % 5 != 0;
    ok = sqlite3_exec(db, keep ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK;
    if (keep && ok) {
      print_line(text, sequence);
      e.stored++;
    }
    pause_at_random(&seed);
  }
  sqlite3_close(db);
}

static int role_raw(const char *url, const char *table) {
  if (strncmp(url, "sqlite:", 7) == 0)
    raw_sqlite(url, (unsigned)getpid());
  else
    raw_postgres(url, table, (unsigned)getpid());
  return 0;
}

/* The file holds the last sequence once every writer has ended. */
static int64_t target_in(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return -1;
  long long target = -1;
  if (fscanf(file, "%lld\n", &target) != 1) target = -1;
  fclose(file);
  return target;
}

typedef struct follower {
  const char *target_path;
  _Atomic int64_t last;
  atomic_bool done;
  bool stop; /* the stream's: stored and loaded as a whole, from two threads */
} follower;

static trilha_status note(void *user, const trilha_event *event, trilha_error *err) {
  (void)err;
  follower *f = user;
  print_line(event->event_id, event->sequence_number);
  atomic_store(&f->last, event->sequence_number);
  return TRILHA_OK;
}

static void *watch(void *user) {
  follower *f = user;
  trilha_deadline end = trilha_deadline_in_ms(FOLLOWING_MS_MAX);
  while (!atomic_load(&f->done) && !trilha_deadline_passed(end)) {
    int64_t target = target_in(f->target_path);
    if (target >= 0 && atomic_load(&f->last) >= target) break;
    trilha_clock_sleep_ms(20);
  }
  __atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
  return NULL;
}

static int role_consumer(const char *url, const char *target_path) {
  trilha *handle = open_url(url, NULL);
  follower f = {.target_path = target_path};
  pthread_t watcher;
  pthread_create(&watcher, NULL, watch, &f);
  trilha_stream_options options = {.follow = true, .stop = &f.stop, .wait_ms = 50};
  trilha_error err = {0};
  trilha_status status = trilha_replay_stream(handle, &options, note, &f, NULL, &err);
  if (status != TRILHA_OK) fprintf(stderr, "consumer: %s %s\n", err.code, err.text);
  atomic_store(&f.done, true);
  pthread_join(watcher, NULL);
  trilha_close(handle);
  return status == TRILHA_OK ? 0 : 4;
}

/* The control's reader: a cursor on a bare BIGSERIAL, as most outbox tables are read. */
static int role_naive(const char *url, const char *target_path) {
  PGconn *c = PQconnectdb(url);
  int64_t cursor = 0, target = -1;
  trilha_deadline end = trilha_deadline_in_ms(FOLLOWING_MS_MAX);
  while (PQstatus(c) == CONNECTION_OK && !trilha_deadline_passed(end)) {
    char sql[160];
    target = target_in(target_path);
    snprintf(sql, sizeof sql,
             "SELECT event_id, sequence_number FROM bare_log WHERE sequence_number > %lld ORDER BY sequence_number",
             (long long)cursor);
    PGresult *rows = PQexec(c, sql);
    for (int i = 0; i < PQntuples(rows); i++) {
      cursor = strtoll(PQgetvalue(rows, i, 1), NULL, 10);
      print_line(PQgetvalue(rows, i, 0), cursor);
    }
    PQclear(rows);
    if (target >= 0 && cursor >= target) break;
  }
  PQfinish(c);
  return 0;
}

static int run_role(char **argv) {
  if (strcmp(argv[2], "publisher") == 0) return role_publisher(argv[3], argv[4]);
  if (strcmp(argv[2], "raw") == 0) return role_raw(argv[3], argv[4]);
  if (strcmp(argv[2], "consumer") == 0) return role_consumer(argv[3], argv[4]);
  return role_naive(argv[3], argv[4]);
}

/* --- the run -------------------------------------------------------------------------------------------- */

typedef struct child {
  pid_t pid;
  char path[200]; /* its standard output */
} child;

static child start(const trilha_fixture *f, const char *role, const char *a, const char *b) {
  static int number = 0;
  child c;
  snprintf(c.path, sizeof c.path, "%s/%s-%d", f->folder, role, number++);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, c.path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  char *argv[] = {trilha_own_program(), (char *)(uintptr_t) "--role", (char *)(uintptr_t)role,
                  (char *)(uintptr_t)a, (char *)(uintptr_t)b,         NULL};
  assert_int_equal(posix_spawn(&c.pid, argv[0], &actions, NULL, argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return c;
}

static void wait_for(const child *c) {
  int status = 0;
  assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- the history checker --------------------------------------------------------------------------------- */

typedef struct line {
  char id[37];
  int64_t sequence;
} line;

typedef struct history {
  line *lines;
  size_t count, capacity;
} history;

static void add_line(history *h, const char *id, int64_t sequence) {
  if (h->count == h->capacity) {
    h->capacity = h->capacity == 0 ? 1024 : h->capacity * 2;
    h->lines = realloc(h->lines, h->capacity * sizeof *h->lines);
    assert_non_null(h->lines);
  }
  line *l = &h->lines[h->count++];
  snprintf(l->id, sizeof l->id, "%s", id);
  l->sequence = sequence;
}

static void read_history(history *h, const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char id[37];
  long long sequence;
  while (fscanf(file, "%36s %lld\n", id, &sequence) == 2) add_line(h, id, sequence);
  fclose(file);
}

static int by_sequence(const void *a, const void *b) {
  int64_t x = ((const line *)a)->sequence, y = ((const line *)b)->sequence;
  return x < y ? -1 : x > y;
}

typedef struct verdict {
  size_t skipped, disordered, mismatched;
} verdict;

/* Acknowledged (sorted by sequence here) against delivered (in the order of delivery). */
static verdict check(history *acknowledged, const history *delivered) {
  verdict v = {0};
  qsort(acknowledged->lines, acknowledged->count, sizeof(line), by_sequence);
  for (size_t i = 1; i < delivered->count; i++)
    if (delivered->lines[i].sequence <= delivered->lines[i - 1].sequence) v.disordered++;
  size_t d = 0;
  for (size_t a = 0; a < acknowledged->count; a++) {
    while (d < delivered->count && delivered->lines[d].sequence < acknowledged->lines[a].sequence) d++;
    if (d == delivered->count || delivered->lines[d].sequence != acknowledged->lines[a].sequence)
      v.skipped++;
    else if (strcmp(delivered->lines[d].id, acknowledged->lines[a].id) != 0)
      v.mismatched++;
  }
  return v;
}

static void write_target(const char *path, int64_t target) {
  char temporary[220];
  snprintf(temporary, sizeof temporary, "%s.new", path);
  FILE *file = fopen(temporary, "w");
  assert_non_null(file);
  fprintf(file, "%lld\n", (long long)target);
  fclose(file);
  assert_int_equal(rename(temporary, path), 0);
}

static void no_consumer_skips_or_reorders_while_writers_pause_before_commit(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  char target_path[200];
  snprintf(target_path, sizeof target_path, "%s/target", f->folder);
  child consumers[CONSUMERS], publishers[PUBLISHERS], raws[RAW_WRITERS];
  for (int i = 0; i < CONSUMERS; i++) consumers[i] = start(f, "consumer", f->url, target_path);
  for (int i = 0; i < PUBLISHERS; i++) publishers[i] = start(f, "publisher", f->url, f->keyring);
  for (int i = 0; i < RAW_WRITERS; i++) raws[i] = start(f, "raw", f->url, "core.event_log");
  history acknowledged = {0};
  for (int i = 0; i < PUBLISHERS; i++) {
    wait_for(&publishers[i]);
    read_history(&acknowledged, publishers[i].path);
  }
  size_t published = acknowledged.count;
  for (int i = 0; i < RAW_WRITERS; i++) {
    wait_for(&raws[i]);
    read_history(&acknowledged, raws[i].path);
  }
  int64_t last = 0;
  assert_int_equal(trilha_last_sequence(f->handle, &last, NULL), TRILHA_OK);
  write_target(target_path, last);
  assert_true(published > 20);
  assert_true(acknowledged.count - published > 20);
  assert_int_equal(trilha_fixture_count(f, "SELECT count(*) FROM {log}"), acknowledged.count);
  for (int i = 0; i < CONSUMERS; i++) {
    wait_for(&consumers[i]);
    history delivered = {0};
    read_history(&delivered, consumers[i].path);
    verdict v = check(&acknowledged, &delivered);
    assert_int_equal(v.skipped, 0);
    assert_int_equal(v.disordered, 0);
    assert_int_equal(v.mismatched, 0);
    assert_int_equal(delivered.count, acknowledged.count);
    if (delivered.count > 2) { /* the checker is worth something: a history with one event less is caught */
      memmove(&delivered.lines[1], &delivered.lines[2], (delivered.count - 2) * sizeof(line));
      delivered.count--;
      assert_int_equal(check(&acknowledged, &delivered).skipped, 1);
    }
    free(delivered.lines);
  }
  free(acknowledged.lines);
}

static void wait_until_it_reads(const child *reader) {
  trilha_deadline end = trilha_deadline_in_ms(WRITING_MS_MAX);
  struct stat st = {0};
  while (st.st_size == 0 && !trilha_deadline_passed(end)) {
    trilha_clock_sleep_ms(5);
    if (stat(reader->path, &st) != 0) st.st_size = 0;
  }
  assert_true(st.st_size > 0);
}

static void control_a_cursor_on_a_bare_bigserial_is_caught_skipping(void **state) {
  trilha_fixture *f = *state;
  if (!f->is_postgres) skip(); /* SQLite has one writer: its control is the shortened history of the first test */
  PGconn *c = PQconnectdb(f->url);
  PQclear(PQexec(c,
                 "CREATE TABLE bare_log (sequence_number BIGSERIAL PRIMARY KEY, event_id uuid, tipo text, origem "
                 "text, payload jsonb)"));
  char target_path[200];
  snprintf(target_path, sizeof target_path, "%s/target", f->folder);
  child reader = start(f, "naive", f->url, target_path);
  child raws[RAW_WRITERS];
  history acknowledged = {0}, delivered = {0};
  /* One writer more, which dawdles until the reader has passed its number: however slow the machine. */
  PGresult *late = PQexec(c,
                          "BEGIN; INSERT INTO bare_log (event_id, tipo, origem, payload) VALUES "
                          "(gen_random_uuid(), 'teste.a', 'late', '{}') RETURNING sequence_number, event_id");
  assert_int_equal(PQresultStatus(late), PGRES_TUPLES_OK);
  for (int i = 0; i < RAW_WRITERS; i++) raws[i] = start(f, "raw", f->url, "bare_log");
  wait_until_it_reads(&reader);
  PQclear(PQexec(c, "COMMIT"));
  PQfinish(c);
  add_line(&acknowledged, PQgetvalue(late, 0, 1), strtoll(PQgetvalue(late, 0, 0), NULL, 10));
  PQclear(late);
  for (int i = 0; i < RAW_WRITERS; i++) {
    wait_for(&raws[i]);
    read_history(&acknowledged, raws[i].path);
  }
  write_target(target_path, trilha_fixture_count(f, "SELECT max(sequence_number) FROM bare_log"));
  wait_for(&reader);
  read_history(&delivered, reader.path);
  assert_true(check(&acknowledged, &delivered).skipped > 0);
  free(acknowledged.lines);
  free(delivered.lines);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 4 && strcmp(argv[1], "--role") == 0) return run_role(argv);
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(no_consumer_skips_or_reorders_while_writers_pause_before_commit),
      ON_A_FRESH_STORE(control_a_cursor_on_a_bare_bigserial_is_caught_skipping),
  };
  return cmocka_run_group_tests_name("gap", tests, NULL, NULL);
}
