/* store/sqlite: the write-ahead log stays small (field report B21), and threads share a handle. */
#include "sqlite_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/sqlite/sqlite_internal.h"

enum { PAYLOAD = 20000, WAL_SHRUNK = 16777216 };

static trilha_text payload(void) {
  static char text[PAYLOAD];
  memset(text, 'x', sizeof text);
  memcpy(text, "{\"a\":\"", 6);
  memcpy(text + sizeof text - 2, "\"}", 2);
  return (trilha_text){text, sizeof text};
}

static void append_bytes(trilha_store *store, uint64_t first, size_t count) {
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_event_row *rows = trilha_arena_array(&arena, count, sizeof *rows);
  trilha_append_result *results = trilha_arena_array(&arena, count, sizeof *results);
  int64_t revision;
  trilha_error err = {0};
  for (size_t i = 0; i < count; i++) {
    rows[i] = fixture_row(first + i, "a");
    rows[i].payload = payload();
  }
  if (store->op->append(store, rows, count, TRILHA_NO_DEADLINE, &arena, results, &revision, &err) != TRILHA_OK)
    fail_msg("%s: %s", err.code, err.text);
}

/* --- B21 ------------------------------------------------------------------------------------------------------- */

typedef struct slow_reader {
  trilha_store *store;
  int stop;
  int64_t count, last;
  bool ordered;
} slow_reader;

static trilha_status take_time(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)err;
  slow_reader *r = user;
  r->ordered = r->ordered && row->sequence_number == r->last + 1;
  r->last = row->sequence_number;
  r->count++;
  trilha_clock_sleep_ms(5);
  return __atomic_load_n(&r->stop, __ATOMIC_SEQ_CST) ? TRILHA_CANCELLED : TRILHA_OK;
}

static void *replay_slowly(void *user) {
  slow_reader *r = user;
  int64_t cursor = 0;
  while (!__atomic_load_n(&r->stop, __ATOMIC_SEQ_CST))
    (void)r->store->op->events_after(r->store, cursor, NULL, 0, 1000000, TRILHA_NO_DEADLINE, take_time, r, &cursor,
                                     NULL);
  return NULL;
}

static void B21_a_slow_replay_does_not_make_the_write_ahead_log_grow(void **state) {
  fixture *f = *state;
  append_bytes(f->store, 0, 100);
  slow_reader reader = {.store = f->store, .ordered = true};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, replay_slowly, &reader), 0);
  long long largest = 0;
  for (uint64_t i = 1; i < 40; i++) { /* 80 MB */
    append_bytes(f->store, i * 100, 100);
    long long size = fixture_size(f->path, "-wal");
    if (size > largest) largest = size;
  }
  __atomic_store_n(&reader.stop, 1, __ATOMIC_SEQ_CST);
  pthread_join(thread, NULL);
  printf("# largest -wal %lld bytes, %lld events replayed meanwhile\n", largest, (long long)reader.count);
  assert_true(reader.ordered && reader.count > 0);
  assert_true(largest <
              (TRILHA_SQLITE_RESTART_PAGES + 6000LL) * 4120); /* of 80 MB; a reader may be held up on a page */
  assert_int_equal(fixture_count_diagnostics(f, "sqlite.wal_large"), 0);
  assert_true(fixture_count_diagnostics(f, "sqlite.checkpoint") > 0);
}

static void B21_a_foreign_snapshot_is_warned_of_and_the_log_shrinks_when_it_ends(void **state) {
  fixture *f = *state;
  append_bytes(f->store, 0, 10);
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM core_event_log", NULL, NULL, NULL), SQLITE_OK);
  uint64_t batch = 1;
  for (; batch < 60 && fixture_count_diagnostics(f, "sqlite.wal_large") == 0; batch++)
    append_bytes(f->store, batch * 100, 100);
  assert_int_equal(fixture_count_diagnostics(f, "sqlite.wal_large"), 1);
  for (size_t i = 0; i < f->diagnostic_count; i++)
    if (strcmp(f->diagnostics[i].name, "sqlite.wal_large") == 0)
      assert_in_range(f->diagnostics[i].wal_bytes, TRILHA_SQLITE_WAL_WARN_BYTES,
                      TRILHA_SQLITE_WAL_WARN_BYTES + (8 << 20));
  assert_true(fixture_size(f->path, "-wal") >= TRILHA_SQLITE_WAL_WARN_BYTES);
  sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
  sqlite3_close(db);
  for (int i = 0; i < 20 && fixture_size(f->path, "-wal") > WAL_SHRUNK; i++) {
    trilha_clock_sleep_ms(TRILHA_SQLITE_RESTART_PAUSE_MS + 100);
    for (int k = 0; k < 3; k++) append_bytes(f->store, (batch++) * 100, 1);
  }
  printf("# -wal afterwards: %lld bytes\n", fixture_size(f->path, "-wal"));
  assert_true(fixture_size(f->path, "-wal") <= WAL_SHRUNK);
}

static void a_store_that_is_closed_leaves_one_whole_file_and_no_memory(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 1, 10, "a");
  assert_true(sqlite3_memory_used() > 0);
  f->store->op->close(f->store);
  f->store = NULL;
  assert_int_equal(sqlite3_memory_used(), 0);
  assert_int_equal(fixture_size(f->path, "-wal"), -1);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 10);
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 40 };

typedef struct worker {
  fixture *f;
  trilha_store *store;
  int number;
  int64_t seen;
} worker;

static trilha_status count_row(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)err;
  worker *w = user;
  w->seen += row->payload.size > 0;
  return TRILHA_OK;
}

static trilha_status ignore_type(void *user, const trilha_type_row *row, trilha_error *err) {
  (void)user;
  (void)row;
  (void)err;
  return TRILHA_OK;
}

static void *work(void *user) {
  worker *w = user;
  trilha_store *s = w->store;
  const trilha_text types[] = {TRILHA_TEXT("a"), TRILHA_TEXT("b")};
  const trilha_event_filter filter = {.tipo = types[0]};
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t number = (uint64_t)w->number * 1000 + (uint64_t)i;
    int64_t value = 0, cursor = 0;
    unsigned char id[16];
    bool any = false;
    fixture_append(s, number, 1, i % 2 == 0 ? "a" : "b");
    fixture_id(number, id);
    assert_int_equal(s->op->event_by_id(s, id, TRILHA_NO_DEADLINE, count_row, w, NULL), TRILHA_OK);
    assert_int_equal(s->op->events_query(s, &filter, 20, 0, TRILHA_NO_DEADLINE, count_row, w, &value, NULL), TRILHA_OK);
    assert_int_equal(s->op->events_after(s, 0, types, 2, 20, TRILHA_NO_DEADLINE, count_row, w, &cursor, NULL),
                     TRILHA_OK);
    assert_int_equal(s->op->last_event(s, TRILHA_NO_DEADLINE, &value, id, &any, NULL), TRILHA_OK);
    assert_int_equal(s->op->wait(s, 0, TRILHA_NO_DEADLINE, NULL), TRILHA_OK);
    assert_int_equal(s->op->types_list(s, (trilha_text){0}, TRILHA_NO_DEADLINE, ignore_type, NULL, NULL), TRILHA_OK);
  }
  return NULL;
}

static void eight_threads_share_two_handles(void **state) {
  fixture *f = *state;
  trilha_store *other = fixture_open(f);
  pthread_t threads[THREADS];
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.f = f, .store = i % 2 == 0 ? f->store : other, .number = i};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), THREADS * ROUNDS);
  other->op->close(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MIGRATED(B21_a_slow_replay_does_not_make_the_write_ahead_log_grow),
      MIGRATED(B21_a_foreign_snapshot_is_warned_of_and_the_log_shrinks_when_it_ends),
      MIGRATED(a_store_that_is_closed_leaves_one_whole_file_and_no_memory),
      MIGRATED(eight_threads_share_two_handles),
  };
  return cmocka_run_group_tests_name("sqlite write-ahead log", tests, NULL, NULL);
}
