/* store/sqlite: writers of many processes: fairness, waiting instead of errors (field report B20), death at any moment.
 */
#include "sqlite_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "store/sqlite/writers_lock.h"

/* Shared between the test and its children. */
typedef struct shared {
  int64_t commits[32];
  int64_t longest_ms[32];
  int started, go, stop, failed;
} shared;

static shared *share(void) {
  shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(s != MAP_FAILED);
  return s;
}

static int get(int *word) {
  return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
static void raise_by_one(int *word) {
  __atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
}

/* All begin at once: who is made first would else write alone for a while. */
static void begin_together(shared *s) {
  raise_by_one(&s->started);
  while (!get(&s->go)) trilha_clock_sleep_ms(1);
}

static void note_commit(shared *s, int me) {
  __atomic_add_fetch(&s->commits[me], 1, __ATOMIC_SEQ_CST);
}

/* Appends one event after another until told to stop. */
static void write_until_stopped(const fixture *f, shared *s, int me) {
  trilha_store *store = fixture_open(f);
  begin_together(s);
  uint64_t number = (uint64_t)(me + 1) << 40 | (uint64_t)(getpid() & 0xffff) << 24; /* of this run alone */
  while (!get(&s->stop)) {
    trilha_error err = {0};
    int64_t before = trilha_clock_monotonic_ns();
    if (fixture_try_append(store, number++, 1, "a", TRILHA_NO_DEADLINE, &err) != TRILHA_OK) {
      fprintf(stderr, "# writer %d: %s: %s\n", me, err.code, err.text);
      raise_by_one(&s->failed);
      break;
    }
    int64_t ms = (trilha_clock_monotonic_ns() - before) / 1000000;
    if (ms > s->longest_ms[me]) s->longest_ms[me] = ms;
    note_commit(s, me);
  }
  store->op->close(store);
  _exit(0);
}

enum { WRITERS = 16, SECONDS = 3, TRIES = 3, CONTROLS = 10, PATIENCE_MS = 60000 };

typedef struct spread {
  int64_t least, most, total, longest_ms;
} spread;

/* Sixteen processes write for some seconds, each as `body` does. */
static spread measure(const fixture *f, void (*body)(const fixture *f, shared *s, int me)) {
  shared *s = share();
  pid_t children[WRITERS];
  const int64_t before = fixture_number(f->path, "SELECT count(*) FROM core_event_log");
  for (int i = 0; i < WRITERS; i++) {
    children[i] = fork();
    if (children[i] == 0) body(f, s, i);
  }
  while (get(&s->started) < WRITERS) trilha_clock_sleep_ms(5);
  raise_by_one(&s->go);
  trilha_clock_sleep_ms(SECONDS * 1000);
  raise_by_one(&s->stop);
  for (int i = 0; i < WRITERS; i++) fixture_join(children[i]);
  spread r = {.least = INT64_MAX};
  for (int i = 0; i < WRITERS; i++) {
    if (s->commits[i] < r.least) r.least = s->commits[i];
    if (s->commits[i] > r.most) r.most = s->commits[i];
    if (s->longest_ms[i] > r.longest_ms) r.longest_ms = s->longest_ms[i];
    r.total += s->commits[i];
  }
  printf("# 16 processes, %d s: %lld commits, least %lld, most %lld, longest wait %lld ms\n", SECONDS,
         (long long)r.total, (long long)r.least, (long long)r.most, (long long)r.longest_ms);
  assert_int_equal(s->failed, 0);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), before + r.total);
  munmap(s, sizeof *s);
  return r;
}

static bool is_fair(spread r) {
  return r.least >= 1 && r.most <= 2 * r.least + 10;
}

static void sixteen_processes_commit_about_equally_often(void **state) {
  bool fair = false; /* one that was not let run while it had no place in the queue has fewer: again */
  for (int i = 0; i < TRIES && !fair; i++) fair = is_fair(measure(*state, write_until_stopped));
  assert_true(fair);
}

/* The same through SQLite's own waiting; without a sync, so that a slow disk leaves enough commits to judge by. */
static void insert_at_once_until_stopped(const fixture *f, shared *s, int me) {
  sqlite3 *db = NULL;
  if (sqlite3_open(f->path, &db) != SQLITE_OK) _exit(1);
  sqlite3_busy_timeout(db, PATIENCE_MS);
  if (sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL) != SQLITE_OK) _exit(2);
  begin_together(s);
  while (!get(&s->stop)) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE; INSERT INTO core_event_log (event_id, tipo, origem, payload) VALUES "
             "('ffffffff-%04x-%04x-%04x-%012llx', 'raw', 'D-9', '{}'); COMMIT",
             ((unsigned)getpid() >> 16) & 0xffff, (unsigned)getpid() & 0xffff, (unsigned)me, (long long)s->commits[me]);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
      raise_by_one(&s->failed);
      break;
    }
    note_commit(s, me);
  }
  sqlite3_close(db);
  _exit(0);
}

static void control_without_the_lock_file_some_processes_starve(void **state) {
  bool fair = true;
  for (int i = 0; i < CONTROLS && fair; i++) fair = is_fair(measure(*state, insert_at_once_until_stopped));
  assert_false(fair);
}

/* B20: one that reads and then writes in one transaction, as a worker that claims, beside publishers. */
static void apply_types_until_stopped(const fixture *f, shared *s, int me) {
  trilha_store *store = fixture_open(f);
  begin_together(s);
  for (int n = 0; !get(&s->stop); n++) {
    char version[24];
    snprintf(version, sizeof version, "1.%d.%d", me, n % 50);
    const trilha_type_row row = {.tipo = TRILHA_TEXT("a"),
                                 .versao = trilha_text_of(version),
                                 .status = TRILHA_TEXT("ativo"),
                                 .schema = TRILHA_TEXT("{}")};
    trilha_error err = {0};
    if (store->op->types_apply(store, &row, 1, NULL, 0, TRILHA_NO_DEADLINE, &err) != TRILHA_OK) {
      fprintf(stderr, "# applier %d: %s: %s\n", me, err.code, err.text);
      raise_by_one(&s->failed);
      break;
    }
    note_commit(s, me);
  }
  store->op->close(store);
  _exit(0);
}

/* A program that knows nothing of the lock file: it relies on SQLite's busy timeout. */
static void insert_raw_until_stopped(const fixture *f, shared *s, int me) {
  sqlite3 *db = NULL;
  if (sqlite3_open(f->path, &db) != SQLITE_OK) _exit(1);
  sqlite3_busy_timeout(db, PATIENCE_MS);
  begin_together(s);
  while (!get(&s->stop)) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE; INSERT INTO core_event_log (event_id, tipo, origem, payload) VALUES "
             "('ffffffff-0000-0000-0000-%012llx', 'raw', 'D-9', '{}'); COMMIT",
             (long long)s->commits[me]);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
      fprintf(stderr, "# raw writer: %s\n", sqlite3_errmsg(db));
      raise_by_one(&s->failed);
      break;
    }
    note_commit(s, me);
    trilha_clock_sleep_ms(2);
  }
  sqlite3_close(db);
  _exit(0);
}

/* However slow the machine is. */
static void wait_until_each_committed(shared *s, int writers) {
  trilha_deadline end = trilha_deadline_in_ms(PATIENCE_MS);
  for (int i = 0; i < writers; i++)
    while (__atomic_load_n(&s->commits[i], __ATOMIC_SEQ_CST) == 0 && get(&s->failed) == 0 &&
           !trilha_deadline_passed(end))
      trilha_clock_sleep_ms(5);
}

static void B20_no_lock_error_reaches_a_caller_and_every_success_is_a_row(void **state) {
  fixture *f = *state;
  enum { PUBLISHERS = 2, APPLIERS = 1, RAW = 1, ALL = PUBLISHERS + APPLIERS + RAW };
  shared *s = share();
  pid_t children[ALL];
  for (int i = 0; i < ALL; i++) {
    children[i] = fork();
    if (children[i] != 0) continue;
    if (i < PUBLISHERS) write_until_stopped(f, s, i);
    if (i < PUBLISHERS + APPLIERS) apply_types_until_stopped(f, s, i);
    insert_raw_until_stopped(f, s, i);
  }
  while (get(&s->started) < ALL) trilha_clock_sleep_ms(5);
  raise_by_one(&s->go);
  trilha_clock_sleep_ms(3000);
  wait_until_each_committed(s, ALL);
  raise_by_one(&s->stop);
  for (int i = 0; i < ALL; i++) fixture_join(children[i]);
  assert_int_equal(s->failed, 0);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"),
                   s->commits[0] + s->commits[1] + s->commits[3]);
  assert_int_equal(fixture_number(f->path, "SELECT revision FROM core_registry_revision"), s->commits[2]);
  for (int i = 0; i < ALL; i++) assert_true(s->commits[i] > 0);
  munmap(s, sizeof *s);
}

/* --- deadlines --------------------------------------------------------------------------------------------------- */

static pid_t hold_raw(const fixture *f, shared *s) {
  pid_t child = fork();
  if (child != 0) {
    while (get(&s->started) == 0) trilha_clock_sleep_ms(2);
    return child;
  }
  sqlite3 *db = NULL;
  if (sqlite3_open(f->path, &db) != SQLITE_OK || sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
    _exit(1);
  raise_by_one(&s->started);
  while (!get(&s->stop)) trilha_clock_sleep_ms(2);
  sqlite3_close(db);
  _exit(0);
}

static void a_foreign_writer_is_waited_for_until_the_deadline_and_nothing_is_stored(void **state) {
  fixture *f = *state;
  shared *s = share();
  pid_t holder = hold_raw(f, s);
  trilha_error err = {0};
  int64_t before = trilha_clock_monotonic_ns();
  assert_int_equal(fixture_try_append(f->store, 1, 1, "a", trilha_deadline_in_ms(200), &err), TRILHA_TIMEOUT);
  int64_t ms = (trilha_clock_monotonic_ns() - before) / 1000000;
  assert_in_range(ms, 150, PATIENCE_MS);
  assert_string_equal(err.code, "STORE_BUSY");
  assert_true(err.retriable);
  raise_by_one(&s->stop);
  fixture_join(holder);
  fixture_append(f->store, 1, 1, "a");
  munmap(s, sizeof *s);
}

static pid_t hold_lock_file(const fixture *f, shared *s) {
  pid_t child = fork();
  if (child != 0) {
    while (get(&s->started) == 0) trilha_clock_sleep_ms(2);
    return child;
  }
  trilha_writers_lock *lock = NULL;
  if (trilha_writers_lock_open(f->path, 0600, &lock, NULL) != TRILHA_OK) _exit(1);
  if (trilha_writers_lock_acquire(lock, TRILHA_NO_DEADLINE, NULL) != TRILHA_OK) _exit(2);
  raise_by_one(&s->started);
  while (!get(&s->stop)) trilha_clock_sleep_ms(2);
  trilha_writers_lock_release(lock);
  trilha_writers_lock_close(lock);
  _exit(0);
}

static void a_writer_that_holds_the_turn_is_waited_for_until_the_deadline(void **state) {
  fixture *f = *state;
  shared *s = share();
  pid_t holder = hold_lock_file(f, s);
  trilha_error err = {0};
  assert_int_equal(fixture_try_append(f->store, 1, 1, "a", trilha_deadline_in_ms(100), &err), TRILHA_TIMEOUT);
  assert_string_equal(err.code, "STORE_BUSY");
  /* The place in the queue was given up: the next one does not wait behind it. */
  raise_by_one(&s->stop);
  fixture_join(holder);
  assert_int_equal(fixture_try_append(f->store, 1, 1, "a", trilha_deadline_in_ms(PATIENCE_MS), NULL), TRILHA_OK);
  munmap(s, sizeof *s);
}

static void a_writer_killed_while_it_holds_the_turn_delays_the_next_by_a_moment(void **state) {
  fixture *f = *state;
  shared *s = share();
  pid_t holder = hold_lock_file(f, s);
  assert_int_equal(kill(holder, SIGKILL), 0);
  int64_t before = trilha_clock_monotonic_ns();
  fixture_append(f->store, 1, 1, "a");
  int64_t ms = (trilha_clock_monotonic_ns() - before) / 1000000;
  assert_in_range(ms, 0, PATIENCE_MS);
  assert_int_equal(waitpid(holder, NULL, 0), holder);
  munmap(s, sizeof *s);
}

static void *append_one(void *user) {
  fixture_append(user, 100, 1, "a");
  return NULL;
}

static void threads_of_one_handle_wait_for_each_other_with_their_own_deadlines(void **state) {
  fixture *f = *state;
  shared *s = share();
  pid_t holder = hold_lock_file(f, s);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, append_one, f->store), 0);
  trilha_clock_sleep_ms(100); /* the thread has the turn of this handle, or will get it after the refusal below */
  trilha_error err = {0};
  assert_int_equal(fixture_try_append(f->store, 1, 1, "a", trilha_deadline_in_ms(100), &err), TRILHA_TIMEOUT);
  raise_by_one(&s->stop);
  pthread_join(thread, NULL);
  fixture_join(holder);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 1);
  munmap(s, sizeof *s);
}

/* The first word of the lock file counts the tickets that were drawn. */
static uint64_t tickets_drawn(const fixture *f) {
  char path[160];
  uint64_t drawn = 0;
  snprintf(path, sizeof path, "%s.lock", f->path);
  int fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  assert_int_equal(pread(fd, &drawn, sizeof drawn, 0), sizeof drawn);
  close(fd);
  return drawn;
}

static void wait_for_ticket(const fixture *f, uint64_t before) {
  trilha_deadline end = trilha_deadline_in_ms(PATIENCE_MS);
  while (tickets_drawn(f) == before && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(1);
  assert_true(tickets_drawn(f) > before);
}

static void the_queue_is_first_come_first_served(void **state) {
  fixture *f = *state;
  enum { WAITERS = 6 };
  shared *s = share();
  pid_t holder = hold_lock_file(f, s), children[WAITERS];
  for (int i = 0; i < WAITERS; i++) {
    uint64_t before = tickets_drawn(f);
    children[i] = fork();
    if (children[i] == 0) {
      trilha_writers_lock *lock = NULL;
      if (trilha_writers_lock_open(f->path, 0600, &lock, NULL) != TRILHA_OK) _exit(1);
      if (trilha_writers_lock_acquire(lock, TRILHA_NO_DEADLINE, NULL) != TRILHA_OK) _exit(2);
      s->commits[i] = __atomic_add_fetch(&s->commits[31], 1, __ATOMIC_SEQ_CST);
      trilha_writers_lock_release(lock);
      trilha_writers_lock_close(lock);
      _exit(0);
    }
    wait_for_ticket(f, before); /* each has drawn its own before the next begins */
  }
  raise_by_one(&s->stop);
  fixture_join(holder);
  for (int i = 0; i < WAITERS; i++) fixture_join(children[i]);
  for (int i = 0; i < WAITERS; i++) assert_int_equal(s->commits[i], i + 1);
  munmap(s, sizeof *s);
}

/* --- death at any moment -------------------------------------------------------------------------------------------
 */

/* Appends batches and notes, in shared memory, the last number acknowledged. */
static void acknowledge_until_killed(const fixture *f, shared *s, uint64_t first) {
  trilha_store *store = fixture_open(f);
  raise_by_one(&s->started);
  for (uint64_t n = first;; n += 5) {
    fixture_append(store, n, 5, "a");
    __atomic_store_n(&s->commits[0], (int64_t)(n + 5), __ATOMIC_SEQ_CST);
  }
}

static void every_acknowledged_row_is_there_once_after_kills_at_random_moments(void **state) {
  fixture *f = *state;
  enum { KILLS = 40 };
  unsigned seed = (unsigned)trilha_clock_wall_us();
  printf("# seed %u\n", seed);
  shared *s = share();
  uint64_t next = 0;
  for (int i = 0; i < KILLS; i++) {
    s->commits[0] = (int64_t)next;
    s->started = 0;
    pid_t child = fork();
    if (child == 0) acknowledge_until_killed(f, s, next);
    while (get(&s->started) == 0) trilha_clock_sleep_ms(1);
    seed = seed * 1103515245u + 12345u;
    trilha_clock_sleep_ms((int64_t)(seed >> 16) % 25);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    uint64_t acknowledged = (uint64_t)__atomic_load_n(&s->commits[0], __ATOMIC_SEQ_CST);
    /* A batch is whole or absent; at most the one in flight is there beyond what was acknowledged. */
    int64_t rows = fixture_number(f->path, "SELECT count(*) FROM core_event_log");
    assert_int_equal(rows % 5, 0);
    assert_in_range(rows, acknowledged, acknowledged + 5);
    next = (uint64_t)rows;
  }
  assert_int_equal(fixture_number(f->path, "SELECT count(DISTINCT event_id) FROM core_event_log"), next);
  assert_int_equal(fixture_number(f->path, "SELECT max(sequence_number) FROM core_event_log"), next);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
                   0);
  printf("# %d kills, %llu rows\n", KILLS, (unsigned long long)next);
  munmap(s, sizeof *s);
}

#ifdef TRILHA_FAULT_POINTS
static void at_fault_point(const fixture *f, const char *fault, uint64_t number, trilha_status expected) {
  pid_t child = fork();
  if (child == 0) {
    setenv("TRILHA_FAULT", fault, 1);
    trilha_store *store = fixture_open(f);
    trilha_fault_reset();
    trilha_status status = fixture_try_append(store, number, 1, "a", TRILHA_NO_DEADLINE, NULL);
    unsetenv("TRILHA_FAULT");
    /* The handle works on, and repeating the same id leaves one row whatever happened to the first try. */
    if (fixture_try_append(store, number, 1, "a", TRILHA_NO_DEADLINE, NULL) != TRILHA_OK) _exit(100);
    store->op->close(store);
    _exit((int)status);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (expected == TRILHA_OK)
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  else
    assert_int_equal(WEXITSTATUS(status), expected);
}

static void a_death_or_failure_around_the_commit_stores_all_or_nothing(void **state) {
  fixture *f = *state;
  at_fault_point(f, "sqlite.write.before_commit=kill", 1, TRILHA_OK);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 0);
  at_fault_point(f, "sqlite.write.after_commit=kill", 2, TRILHA_OK);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 1);
  at_fault_point(f, "sqlite.write.before_commit=fail", 3, TRILHA_UNAVAILABLE);
  at_fault_point(f, "sqlite.write.after_commit=fail", 4, TRILHA_OUTCOME_UNKNOWN);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 3);
}
#else
static void a_death_or_failure_around_the_commit_stores_all_or_nothing(void **state) {
  (void)state;
  printf("# needs a build with -Dfault_points=true\n");
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      MIGRATED(sixteen_processes_commit_about_equally_often),
      MIGRATED(control_without_the_lock_file_some_processes_starve),
      MIGRATED(B20_no_lock_error_reaches_a_caller_and_every_success_is_a_row),
      MIGRATED(a_foreign_writer_is_waited_for_until_the_deadline_and_nothing_is_stored),
      MIGRATED(a_writer_that_holds_the_turn_is_waited_for_until_the_deadline),
      MIGRATED(a_writer_killed_while_it_holds_the_turn_delays_the_next_by_a_moment),
      MIGRATED(threads_of_one_handle_wait_for_each_other_with_their_own_deadlines),
      MIGRATED(the_queue_is_first_come_first_served),
      MIGRATED(a_death_or_failure_around_the_commit_stores_all_or_nothing),
      MIGRATED(every_acknowledged_row_is_there_once_after_kills_at_random_moments),
  };
  return cmocka_run_group_tests_name("sqlite writers", tests, NULL, NULL);
}
