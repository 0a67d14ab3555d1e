/* tests/store/sqlite: a fresh database in a scratch folder. */
#include "sqlite_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void record(void *user, const trilha_diagnostic *d) {
  fixture *f = user;
  if (f->diagnostic_count == FIXTURE_RECORDED) return;
  size_t at = f->diagnostic_count++;
  snprintf(f->diagnostics[at].name, sizeof f->diagnostics[at].name, "%s", d->name);
  for (size_t i = 0; i < d->field_count; i++)
    if (strcmp(d->fields[i].name, "wal_bytes") == 0)
      f->diagnostics[at].wal_bytes = strtoll(d->fields[i].text.data, NULL, 10);
}

size_t fixture_count_diagnostics(const fixture *f, const char *name) {
  size_t count = 0;
  for (size_t i = 0; i < f->diagnostic_count; i++) count += strcmp(f->diagnostics[i].name, name) == 0;
  return count;
}

static trilha_status try_open(const char *url, bool allow_unmigrated, fixture *sink, trilha_store **ret_store,
                              trilha_error *err) {
  trilha_store_options options = {.url = trilha_text_of(url), .allow_unmigrated = allow_unmigrated};
  if (sink != NULL) options.diagnostics = (trilha_diagnostics){record, sink};
  return trilha_sqlite_open(&options, ret_store, err);
}

trilha_status fixture_try_open(const char *url, bool allow_unmigrated, trilha_store **ret_store, trilha_error *err) {
  return try_open(url, allow_unmigrated, NULL, ret_store, err);
}

trilha_store *fixture_open(const fixture *f) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (try_open(f->url, false, NULL, &store, &err) != TRILHA_OK) fail_msg("open: %s: %s", err.code, err.text);
  return store;
}

trilha_store *fixture_open_unsynced(const fixture *f) {
  trilha_store_options options = {.url = trilha_text_of(f->url), .unsafe_no_fsync = true};
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (trilha_sqlite_open(&options, &store, &err) != TRILHA_OK) fail_msg("open: %s: %s", err.code, err.text);
  return store;
}

void fixture_migrate(const fixture *f) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (try_open(f->url, true, NULL, &store, &err) != TRILHA_OK) fail_msg("open: %s: %s", err.code, err.text);
  if (store->op->migrate(store, false, NULL, NULL, &err) != TRILHA_OK) fail_msg("migrate: %s: %s", err.code, err.text);
  store->op->close(store);
}

int fixture_empty(void **state) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  snprintf(f->folder, sizeof f->folder, "/tmp/trilha-sqlite-XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->path, sizeof f->path, "%s/log.db", f->folder);
  snprintf(f->url, sizeof f->url, "sqlite:%s", f->path);
  *state = f;
  return 0;
}

int fixture_migrated(void **state) {
  fixture_empty(state);
  fixture *f = *state;
  fixture_migrate(f);
  trilha_error err = {0};
  if (try_open(f->url, false, f, &f->store, &err) != TRILHA_OK) fail_msg("open: %s: %s", err.code, err.text);
  return 0;
}

int fixture_remove(void **state) {
  fixture *f = *state;
  if (f->store != NULL) f->store->op->close(f->store);
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
  int failed = system(command);
  free(f);
  return failed;
}

/* --- rows --------------------------------------------------------------------------------------------------- */

void fixture_id(uint64_t number, unsigned char out[16]) {
  memset(out, 0, 16);
  for (int i = 0; i < 8; i++) out[8 + i] = (unsigned char)(number >> (56 - 8 * i));
}

trilha_event_row fixture_row(uint64_t number, const char *tipo) {
  trilha_event_row row = {.tipo = trilha_text_of(tipo),
                          .versao_schema = TRILHA_TEXT("1.0.0"),
                          .origem = TRILHA_TEXT("D-1a"),
                          .payload = TRILHA_TEXT("{\"n\": 1}"),
                          .timestamp_us = INT64_C(1781519400000000) + (int64_t)number * 10000};
  fixture_id(number, row.event_id);
  return row;
}

trilha_status fixture_try_append(trilha_store *store, uint64_t first, size_t count, const char *tipo,
                                 trilha_deadline deadline, trilha_error *err) {
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_event_row *rows = trilha_arena_array(&arena, count, sizeof *rows);
  trilha_append_result *results = trilha_arena_array(&arena, count, sizeof *results);
  assert_true(rows != NULL && results != NULL);
  for (size_t i = 0; i < count; i++) rows[i] = fixture_row(first + i, tipo);
  int64_t revision = 0;
  return store->op->append(store, rows, count, deadline, &arena, results, &revision, err);
}

void fixture_append(trilha_store *store, uint64_t first, size_t count, const char *tipo) {
  trilha_error err = {0};
  if (fixture_try_append(store, first, count, tipo, TRILHA_NO_DEADLINE, &err) != TRILHA_OK)
    fail_msg("append: %s: %s", err.code, err.text);
}

/* --- behind the adapter's back -------------------------------------------------------------------------------- */

static sqlite3 *raw(const char *path) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  sqlite3_busy_timeout(db, 60000);
  return db;
}

int64_t fixture_number(const char *path, const char *sql) {
  sqlite3 *db = raw(path);
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  if (sqlite3_step(statement) != SQLITE_ROW) fail_msg("%s: no row: %s", sql, sqlite3_errmsg(db));
  int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return value;
}

const char *fixture_run(const char *path, const char *sql, char out[256]) {
  sqlite3 *db = raw(path);
  char *message = NULL;
  sqlite3_exec(db, sql, NULL, NULL, &message);
  snprintf(out, 256, "%s", message == NULL ? "" : message);
  sqlite3_free(message);
  sqlite3_close(db);
  return out;
}

long long fixture_size(const char *path, const char *suffix) {
  char name[160];
  struct stat st;
  snprintf(name, sizeof name, "%s%s", path, suffix);
  return stat(name, &st) == 0 ? (long long)st.st_size : -1;
}

void fixture_join(pid_t child) {
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}
