/* store/sqlite: what an sqlite: URL may name, and what each mistake is told. */
#include "sqlite_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_refused(const char *url, bool unmigrated, trilha_status status, const char *code, const char *part) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  assert_int_equal(fixture_try_open(url, unmigrated, &store, &err), status);
  assert_null(store);
  assert_string_equal(err.code, code);
  if (strstr(err.text, part) == NULL) fail_msg("'%s' does not say '%s'", err.text, part);
}

static void expect_refused_in(const fixture *f, const char *name, bool unmigrated, trilha_status status,
                              const char *code, const char *part) {
  char url[192];
  snprintf(url, sizeof url, "sqlite:%s/%s", f->folder, name);
  expect_refused(url, unmigrated, status, code, part);
}

static void write_file(const fixture *f, const char *name, const char *content, size_t size) {
  char path[192];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(content, 1, size, file), size);
  fclose(file);
}

static void a_url_that_names_no_file_is_refused_with_the_reason(void **state) {
  (void)state;
  expect_refused("sqlite:", true, TRILHA_USAGE, "STORE_URL_INVALID", "names no file");
  expect_refused("sqlite::memory:", true, TRILHA_USAGE, "STORE_URL_INVALID", "must be on disk");
  expect_refused("sqlite://host/log.db", true, TRILHA_USAGE, "STORE_URL_INVALID", "no host");
  expect_refused("log.db", true, TRILHA_USAGE, "STORE_URL_INVALID", "sqlite:PATH");
  trilha_store_options options = {.url = {"sqlite:a\0b", 10}, .allow_unmigrated = true};
  trilha_store *store = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_sqlite_open(&options, &store, &err), TRILHA_USAGE);
}

static void a_path_that_cannot_be_a_database_is_told_what_to_do(void **state) {
  fixture *f = *state;
  char path[192];
  expect_refused_in(f, "", true, TRILHA_USAGE, "STORE_URL_INVALID", "is a folder");
  expect_refused_in(f, "none/log.db", true, TRILHA_NOT_FOUND, "STORE_FOLDER_MISSING", "create it first");
  expect_refused_in(f, "none/", true, TRILHA_NOT_FOUND, "STORE_FOLDER_MISSING", "create it first");
  write_file(f, "text", "this is no database, though it is long enough to be looked at\n", 62);
  expect_refused_in(f, "text", true, TRILHA_CORRUPT, "STORE_NOT_A_DATABASE", "not an SQLite database");
  expect_refused_in(f, "text/log.db", true, TRILHA_NOT_FOUND, "STORE_FOLDER_MISSING", "");
  snprintf(path, sizeof path, "%s/pipe", f->folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_refused_in(f, "pipe", true, TRILHA_USAGE, "STORE_URL_INVALID", "not a regular file");
  char long_name[600];
  memset(long_name, 'x', sizeof long_name);
  memcpy(long_name, "sqlite:/tmp/", 12);
  for (size_t i = 12 + 200; i < sizeof long_name; i += 200) long_name[i] = '/';
  long_name[sizeof long_name - 1] = '\0';
  trilha_store *store = NULL;
  assert_int_not_equal(fixture_try_open(long_name, true, &store, NULL), TRILHA_OK);
}

static void a_store_that_nobody_made_is_told_to_be_initialised_and_no_file_appears(void **state) {
  fixture *f = *state;
  expect_refused(f->url, false, TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED", "trilha init");
  assert_int_equal(fixture_size(f->path, ""), -1);
  write_file(f, "empty", "", 0);
  expect_refused_in(f, "empty", false, TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED", "trilha init");
  trilha_store *store = NULL;
  assert_int_equal(fixture_try_open(f->url, true, &store, NULL), TRILHA_OK);
  trilha_error err = {0};
  assert_int_equal(fixture_try_append(store, 1, 1, "a", TRILHA_NO_DEADLINE, &err), TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "STORE_NOT_INITIALIZED");
  assert_int_equal(store->op->migrate(store, true, NULL, NULL, NULL), TRILHA_OK);
  assert_int_equal(fixture_size(f->path, ""), -1);
  assert_int_equal(fixture_size(f->path, ".lock"), -1);
  /* The same handle works once it has migrated. */
  assert_int_equal(store->op->migrate(store, false, NULL, NULL, NULL), TRILHA_OK);
  fixture_append(store, 1, 1, "a");
  store->op->close(store);
}

static void names_are_taken_byte_for_byte_and_links_lead_to_one_lock(void **state) {
  fixture *f = *state;
  char url[256], link_path[192], target[256];
  snprintf(url, sizeof url, "sqlite:%s/a%%20b?mode=ro#x é.db", f->folder);
  trilha_store *store = NULL;
  assert_int_equal(fixture_try_open(url, true, &store, NULL), TRILHA_OK);
  assert_int_equal(store->op->migrate(store, false, NULL, NULL, NULL), TRILHA_OK);
  assert_string_equal(store->op->display_url(store), url);
  assert_string_equal(store->op->kind(store), "sqlite");
  store->op->close(store);
  assert_int_equal(access(url + 7, F_OK), 0);
  snprintf(link_path, sizeof link_path, "%s/link.db", f->folder);
  snprintf(target, sizeof target, "%s", url + 7);
  assert_int_equal(symlink(target, link_path), 0);
  snprintf(url, sizeof url, "sqlite:%s", link_path);
  assert_int_equal(fixture_try_open(url, false, &store, NULL), TRILHA_OK);
  fixture_append(store, 1, 1, "a");
  store->op->close(store);
  assert_int_equal(fixture_size(link_path, ".lock"), -1);
  assert_true(fixture_size(target, ".lock") > 0);
}

static void a_relative_path_stays_the_same_file_when_the_process_moves(void **state) {
  fixture *f = *state;
  pid_t child = fork();
  if (child == 0) {
    if (chdir(f->folder) != 0) _exit(2);
    trilha_store *store = NULL;
    if (fixture_try_open("sqlite:log.db", true, &store, NULL) != TRILHA_OK) _exit(3);
    if (chdir("/") != 0) _exit(4);
    if (store->op->migrate(store, false, NULL, NULL, NULL) != TRILHA_OK) _exit(5);
    fixture_append(store, 1, 1, "a");
    store->op->close(store);
    _exit(0);
  }
  fixture_join(child);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 1);
}

static void a_new_database_is_closed_to_others_and_its_lock_is_as_open_as_it(void **state) {
  fixture *f = *state;
  mode_t before = umask(022);
  fixture_migrate(f);
  umask(before);
  struct stat st;
  assert_int_equal(stat(f->path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
  char lock[160];
  snprintf(lock, sizeof lock, "%s.lock", f->path);
  assert_int_equal(stat(lock, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
}

/* --- as a user without rights: root is refused nothing, so a child gives its rights up ------------------------- */

enum { NOBODY = 65534 };

static void as_nobody(const fixture *f, int (*body)(const fixture *f)) {
  if (geteuid() != 0) {
    assert_int_equal(body(f), 0);
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) _exit(99);
    _exit(body(f));
  }
  fixture_join(child);
}

static int read_but_not_write(const fixture *f) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (fixture_try_open(f->url, false, &store, &err) != TRILHA_OK) return 10;
  int64_t sequence = 0;
  unsigned char id[16];
  bool any = false;
  if (store->op->last_event(store, TRILHA_NO_DEADLINE, &sequence, id, &any, NULL) != TRILHA_OK || sequence != 3)
    return 11;
  if (store->op->wait(store, 3, trilha_deadline_in_ms(20), NULL) != TRILHA_TIMEOUT) return 12;
  if (fixture_try_append(store, 9, 1, "a", TRILHA_NO_DEADLINE, &err) != TRILHA_DENIED) return 13;
  if (strstr(err.text, "permission") == NULL) return 14;
  if (store->op->last_event(store, TRILHA_NO_DEADLINE, &sequence, id, &any, NULL) != TRILHA_OK) return 15;
  store->op->close(store);
  return 0;
}

static void a_reader_without_write_permission_reads_and_is_refused_to_write(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 1, 3, "a");
  /* The store is open, so its -wal and -shm exist and may be read. */
  char name[160];
  const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
  assert_int_equal(chmod(f->folder, 0755), 0);
  for (size_t i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "%s%s", f->path, suffixes[i]);
    assert_int_equal(chmod(name, 0444), 0);
  }
  as_nobody(f, read_but_not_write);
  fixture_append(f->store, 9, 1, "a");
}

static int refused_to_open(const fixture *f) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (fixture_try_open(f->url, false, &store, &err) != TRILHA_DENIED) return 20;
  return strcmp(err.code, "STORE_DENIED") == 0 ? 0 : 21;
}

static void a_database_that_may_not_be_read_is_denied_with_its_name(void **state) {
  fixture *f = *state;
  assert_int_equal(chmod(f->folder, 0755), 0);
  assert_int_equal(chmod(f->path, 0), 0);
  as_nobody(f, refused_to_open);
}

static int refused_to_create(const fixture *f) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (fixture_try_open(f->url, true, &store, &err) != TRILHA_OK) return 30;
  if (store->op->migrate(store, false, NULL, NULL, &err) != TRILHA_DENIED) return 31;
  if (strstr(err.text, "folder must be writable") == NULL) return 32;
  store->op->close(store);
  return 0;
}

static void a_folder_that_may_not_be_written_is_named_when_the_database_is_made(void **state) {
  fixture *f = *state;
  assert_int_equal(chmod(f->folder, 0555), 0);
  as_nobody(f, refused_to_create);
  assert_int_equal(chmod(f->folder, 0700), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      EMPTY(a_url_that_names_no_file_is_refused_with_the_reason),
      EMPTY(a_path_that_cannot_be_a_database_is_told_what_to_do),
      EMPTY(a_store_that_nobody_made_is_told_to_be_initialised_and_no_file_appears),
      EMPTY(names_are_taken_byte_for_byte_and_links_lead_to_one_lock),
      EMPTY(a_relative_path_stays_the_same_file_when_the_process_moves),
      EMPTY(a_new_database_is_closed_to_others_and_its_lock_is_as_open_as_it),
      MIGRATED(a_reader_without_write_permission_reads_and_is_refused_to_write),
      MIGRATED(a_database_that_may_not_be_read_is_denied_with_its_name),
      EMPTY(a_folder_that_may_not_be_written_is_named_when_the_database_is_made),
  };
  return cmocka_run_group_tests_name("sqlite open", tests, NULL, NULL);
}
