/* store/sqlite: what a caller is told when disk, file or memory fail, and that the handle goes on afterwards. */
#include "sqlite_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faulty_vfs.h"

static int faulty_migrated(void **state) {
  faulty_register();
  faulty_arm(FAULTY_DATABASE, FAULTY_READ, 0, 0);
  return fixture_migrated(state);
}

static int64_t rows(const fixture *f) {
  return fixture_number(f->path, "SELECT count(*) FROM core_event_log");
}

static trilha_status append(fixture *f, uint64_t number, trilha_error *err) {
  *err = (trilha_error){0};
  return fixture_try_append(f->store, number, 3, "a", TRILHA_NO_DEADLINE, err);
}

static void a_full_disk_at_commit_stores_nothing_and_the_next_append_works(void **state) {
  fixture *f = *state;
  trilha_error err;
  fixture_append(f->store, 1, 1, "a");
  faulty_arm(FAULTY_WAL, FAULTY_WRITE, SQLITE_FULL, 1);
  assert_int_equal(append(f, 10, &err), TRILHA_UNAVAILABLE);
  assert_string_equal(err.code, "STORE_FULL");
  assert_true(err.retriable);
  assert_int_equal(faulty_given(), 1);
  assert_int_equal(rows(f), 1);
  assert_int_equal(append(f, 10, &err), TRILHA_OK);
  assert_int_equal(rows(f), 4);
  assert_int_equal(fixture_number(f->path, "SELECT max(sequence_number) FROM core_event_log"), 4);
}

static void a_failed_sync_or_write_at_commit_is_an_unknown_outcome_and_a_repeat_settles_it(void **state) {
  fixture *f = *state;
  trilha_error err;
  const struct {
    faulty_call call;
    int code;
  } faults[] = {{FAULTY_SYNC, SQLITE_IOERR_FSYNC}, {FAULTY_WRITE, SQLITE_IOERR_WRITE}};
  for (int i = 0; i < 2; i++) {
    uint64_t first = 10 * (uint64_t)(i + 1);
    faulty_arm(FAULTY_WAL, faults[i].call, faults[i].code, 1);
    assert_int_equal(append(f, first, &err), TRILHA_OUTCOME_UNKNOWN);
    assert_string_equal(err.code, "STORE_COMMIT_UNKNOWN");
    assert_int_equal(faulty_given(), 1);
    assert_int_equal(append(f, first, &err), TRILHA_OK);
    assert_int_equal(rows(f), 3 * (i + 1));
  }
  assert_int_equal(fixture_number(f->path, "SELECT count(DISTINCT event_id) FROM core_event_log"), 6);
}

static trilha_status ignore(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)user;
  (void)row;
  (void)err;
  return TRILHA_OK;
}

static void a_page_that_cannot_be_read_is_told_and_the_reader_is_replaced(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 1, 100, "a");
  fixture_number(f->path, "PRAGMA wal_checkpoint(TRUNCATE)");
  trilha_store *other = fixture_open(f);
  unsigned char id[16];
  fixture_id(50, id);
  trilha_error err = {0};
  faulty_arm(FAULTY_DATABASE, FAULTY_READ, SQLITE_IOERR_READ, 1);
  assert_int_equal(other->op->event_by_id(other, id, TRILHA_NO_DEADLINE, ignore, NULL, &err), TRILHA_UNAVAILABLE);
  assert_string_equal(err.code, "STORE_IO");
  assert_int_equal(faulty_given(), 1);
  assert_int_equal(other->op->event_by_id(other, id, TRILHA_NO_DEADLINE, ignore, NULL, NULL), TRILHA_OK);
  other->op->close(other);
}

static void a_checkpoint_that_fails_is_a_diagnostic_and_what_was_acknowledged_stays(void **state) {
  fixture *f = *state;
  faulty_arm(FAULTY_DATABASE, FAULTY_WRITE, SQLITE_IOERR_WRITE, 1);
  for (uint64_t i = 0; i < 40 && faulty_given() == 0; i++) fixture_append(f->store, i * 1000, 1000, "a");
  assert_int_equal(faulty_given(), 1);
  assert_int_equal(fixture_count_diagnostics(f, "sqlite.checkpoint_failed"), 1);
  int64_t before = rows(f);
  fixture_append(f->store, 1000000, 1000, "a");
  assert_int_equal(rows(f), before + 1000);
}

static void a_damaged_page_is_told_as_corrupt_and_never_answered_from(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 1, 2000, "a");
  f->store->op->close(f->store);
  f->store = NULL;
  int64_t root = fixture_number(f->path, "SELECT rootpage FROM sqlite_master WHERE name = 'core_event_log'");
  int fd = open(f->path, O_RDWR);
  char garbage[4096];
  memset(garbage, 0x5a, sizeof garbage);
  assert_int_equal(pwrite(fd, garbage, sizeof garbage, (root - 1) * 4096), sizeof garbage);
  close(fd);
  trilha_store *store = fixture_open(f);
  unsigned char id[16];
  fixture_id(50, id);
  trilha_error err = {0};
  assert_int_equal(store->op->event_by_id(store, id, TRILHA_NO_DEADLINE, ignore, NULL, &err), TRILHA_CORRUPT);
  assert_string_equal(err.code, "STORE_CORRUPT");
  assert_int_equal(fixture_try_append(store, 9000, 1, "a", TRILHA_NO_DEADLINE, NULL), TRILHA_CORRUPT);
  store->op->close(store);
}

/* --- memory: the Nth allocation of SQLite fails ------------------------------------------------------------------- */

static sqlite3_mem_methods system_memory;
static long allocations_left = -1;

static bool refused(void) {
  if (allocations_left < 0) return false;
  return allocations_left-- == 0;
}

static void *malloc_or_fail(int size) {
  return refused() ? NULL : system_memory.xMalloc(size);
}
static void *realloc_or_fail(void *old, int size) {
  return refused() ? NULL : system_memory.xRealloc(old, size);
}

static void any_allocation_of_the_database_may_fail_and_nothing_is_half_stored(void **state) {
  fixture *f = *state;
  /* Every one of the first, then one in seven, until appends succeed: all allocations were reached. */
  enum { MOST = 5000, EVERY = 200, STRIDE = 7, QUIET = 5 };
  int failures = 0, quiet = 0;
  uint64_t next = 1;
  for (long n = 0; n < MOST && quiet < QUIET; n += n < EVERY ? 1 : STRIDE, next += 3) {
    f->store->op->close(f->store); /* a new handle, so that opening and preparing fail too */
    f->store = fixture_open_unsynced(f);
    trilha_error err = {0};
    allocations_left = n;
    trilha_status status = fixture_try_append(f->store, next, 3, "a", TRILHA_NO_DEADLINE, &err);
    quiet = allocations_left > 0 ? quiet + 1 : 0;
    allocations_left = -1;
    if (status == TRILHA_OK) continue;
    failures++;
    if (status != TRILHA_NO_MEMORY && status != TRILHA_OUTCOME_UNKNOWN)
      fail_msg("allocation %ld: %s: %s", n, err.code, err.text);
    assert_int_equal(rows(f), (int64_t)next - 1);
    assert_int_equal(fixture_try_append(f->store, next, 3, "a", TRILHA_NO_DEADLINE, &err), TRILHA_OK);
  }
  printf("# %d allocations failed an append\n", failures);
  assert_int_equal(quiet, QUIET);
  assert_true(failures > 100);
  assert_int_equal(rows(f), (int64_t)next - 1);
}

/* --- a disk that is really full ---------------------------------------------------------------------------------- */

enum { CANNOT_MOUNT = 77 };

static char large_payload[8192];

static trilha_status append_large(trilha_store *store, uint64_t number, trilha_error *err) {
  trilha_event_row row = fixture_row(number, "a");
  row.payload = (trilha_text){large_payload, sizeof large_payload};
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_append_result result;
  int64_t revision;
  return store->op->append(store, &row, 1, TRILHA_NO_DEADLINE, &arena, &result, &revision, err);
}

static void fill_payload(void) {
  memset(large_payload, 'x', sizeof large_payload);
  memcpy(large_payload, "{\"a\":\"", 6);
  memcpy(large_payload + sizeof large_payload - 2, "\"}", 2);
}

/* Appends until refused; every acknowledged row and no other must be there; then room is made and it goes on. */
static int fill_until_refused(const fixture *f, trilha_status first, trilha_status second,
                              void (*make_room)(const fixture *f)) {
  fixture_migrate(f);
  trilha_store *store = fixture_open(f);
  trilha_error err = {0};
  uint64_t number = 0;
  while (number < 100000 && append_large(store, number, &err) == TRILHA_OK) number++;
  if (err.status != first && err.status != second) {
    fprintf(stderr, "# %s: %s\n", err.code, err.text);
    return 1;
  }
  if (number < 10) return 2;
  trilha_store *reader = fixture_open(f);
  int64_t last = 0;
  unsigned char id[16];
  bool any = false;
  trilha_status status = reader->op->last_event(reader, TRILHA_NO_DEADLINE, &last, id, &any, NULL);
  if (status != TRILHA_OK || last != (int64_t)number) return 3;
  make_room(f);
  err = (trilha_error){0};
  for (int i = 0; i < 5; i++)
    if (append_large(store, number + (uint64_t)i, &err) != TRILHA_OK) {
      fprintf(stderr, "# after room was made: %s: %s\n", err.code, err.text);
      return 4;
    }
  if (reader->op->last_event(reader, TRILHA_NO_DEADLINE, &last, id, &any, NULL) != TRILHA_OK) return 5;
  if (last != (int64_t)number + 5) return 6;
  reader->op->close(reader);
  store->op->close(store);
  return 0;
}

static void remove_ballast(const fixture *f) {
  char path[128];
  snprintf(path, sizeof path, "%s/ballast", f->folder);
  unlink(path);
}

static int on_a_small_disk(const fixture *f) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return CANNOT_MOUNT;
  if (mount("none", "/", "none", MS_REC | MS_PRIVATE, "") != 0) return CANNOT_MOUNT;
  if (mount("tmpfs", f->folder, "tmpfs", 0, "size=4m") != 0) return CANNOT_MOUNT;
  char path[128];
  snprintf(path, sizeof path, "%s/ballast", f->folder);
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || posix_fallocate(fd, 0, 2 << 20) != 0) return CANNOT_MOUNT;
  close(fd);
  return fill_until_refused(f, TRILHA_UNAVAILABLE, TRILHA_UNAVAILABLE, remove_ballast);
}

static void in_a_child(const fixture *f, int (*body)(const fixture *f)) {
  pid_t child = fork();
  if (child == 0) _exit(body(f));
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == CANNOT_MOUNT) {
    printf("# no small file system can be mounted here\n");
    skip();
  }
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_disk_that_fills_up_refuses_appends_until_there_is_room(void **state) {
  fill_payload();
  in_a_child(*state, on_a_small_disk);
}

static void lift_limit(const fixture *f) {
  (void)f;
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
}

static int under_a_file_size_limit(const fixture *f) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 1 << 20;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  return fill_until_refused(f, TRILHA_UNAVAILABLE, TRILHA_OUTCOME_UNKNOWN, lift_limit);
}

static void a_file_that_may_not_grow_refuses_appends_until_it_may(void **state) {
  fill_payload();
  in_a_child(*state, under_a_file_size_limit);
}

#define FAULTY(test) cmocka_unit_test_setup_teardown(test, faulty_migrated, fixture_remove)

int main(void) {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_memory);
  sqlite3_mem_methods failing = system_memory;
  failing.xMalloc = malloc_or_fail;
  failing.xRealloc = realloc_or_fail;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
  const struct CMUnitTest tests[] = {
      EMPTY(a_disk_that_fills_up_refuses_appends_until_there_is_room),
      EMPTY(a_file_that_may_not_grow_refuses_appends_until_it_may),
      MIGRATED(any_allocation_of_the_database_may_fail_and_nothing_is_half_stored),
      FAULTY(a_full_disk_at_commit_stores_nothing_and_the_next_append_works),
      FAULTY(a_failed_sync_or_write_at_commit_is_an_unknown_outcome_and_a_repeat_settles_it),
      FAULTY(a_page_that_cannot_be_read_is_told_and_the_reader_is_replaced),
      FAULTY(a_checkpoint_that_fails_is_a_diagnostic_and_what_was_acknowledged_stays),
      FAULTY(a_damaged_page_is_told_as_corrupt_and_never_answered_from),
  };
  return cmocka_run_group_tests_name("sqlite faults", tests, NULL, NULL);
}
