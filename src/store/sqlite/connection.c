/* store/sqlite: opening a connection and telling it the settings of its use. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "sqlite_queries.h"
#include "store/sqlite/sqlite_internal.h"

enum { PROGRESS_STEPS = 5000 /* of SQLite's machine between two looks at the deadline: well under a millisecond */ };

static int interrupt_when_passed(void *user) {
  const trilha_sqlite_connection *c = user;
  return c->deadline.monotonic_ns != INT64_MAX && trilha_deadline_passed(c->deadline);
}

static int note_wal_pages(void *user, sqlite3 *db, const char *name, int pages) {
  trilha_sqlite_connection *c = user;
  (void)db;
  (void)name;
  c->wal_pages = pages;
  return SQLITE_OK;
}

void trilha_sqlite_set_deadline(trilha_sqlite_connection *c, trilha_deadline deadline) {
  c->deadline = deadline;
  sqlite3_busy_timeout(c->db, (int)trilha_deadline_left_ms(deadline, 3600000));
}

/* The file's schema is not trusted: a view or trigger planted in it may not call functions with side effects, and
 * nobody can write the schema table or a shadow table through this connection. */
static trilha_status harden(trilha_sqlite_connection *c, trilha_error *err) {
  static const struct {
    int option, value;
  } options[] = {
      {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
      {SQLITE_DBCONFIG_ENABLE_FKEY, 1}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
      {SQLITE_DBCONFIG_DQS_DML, 0},     {SQLITE_DBCONFIG_DQS_DDL, 0},
  };
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    int now = -1;
    int rc = sqlite3_db_config(c->db, options[i].option, options[i].value, &now);
    if (rc != SQLITE_OK || now != options[i].value)
      return trilha_error_set(err, TRILHA_UNSUPPORTED, "STORE_SQLITE_BUILD",
                              "this SQLite (%s) lacks connection option %d", sqlite3_libversion(), options[i].option);
  }
  return TRILHA_OK;
}

static trilha_status tell(trilha_sqlite_connection *c, const char *const *settings, size_t count, trilha_error *err) {
  for (size_t i = 0; i < count; i++) {
    int rc = sqlite3_exec(c->db, settings[i], NULL, NULL, NULL);
    if (rc != SQLITE_OK) return trilha_sqlite_fail(c, rc, err, "setting up the connection");
  }
  return TRILHA_OK;
}

/* WAL is what makes readers and the writer independent; without it every promise about waiting is void. */
static trilha_status require_wal(trilha_sqlite_connection *c, const char *query, trilha_error *err) {
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2(c->db, query, -1, &statement, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(statement);
  const char *mode = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
  trilha_status status = TRILHA_OK;
  if (rc != SQLITE_ROW)
    status = trilha_sqlite_fail(c, rc, err, "turning the write-ahead log on");
  else if (mode == NULL || strcmp(mode, "wal") != 0)
    status =
        trilha_error_set(err, TRILHA_UNSUPPORTED, "STORE_WAL_UNSUPPORTED",
                         "the database cannot use a write-ahead log here (mode '%s'); put it on a local file system",
                         mode == NULL ? "?" : mode);
  sqlite3_finalize(statement);
  return status;
}

static trilha_status set_up_writer(trilha_sqlite_connection *c, bool unsafe, trilha_error *err) {
  const char *const settings[] = {
      unsafe ? trilha_sql_sqlite_synchronous_off : trilha_sql_sqlite_synchronous_full,
      trilha_sql_sqlite_foreign_keys_on,
      trilha_sql_sqlite_autocheckpoint_off,
      trilha_sql_sqlite_journal_size_limit,
      trilha_sql_sqlite_writer_cache,
      trilha_sql_sqlite_no_temporary_files,
  };
  trilha_status status = require_wal(c, trilha_sql_sqlite_journal_mode_wal, err);
  if (status == TRILHA_OK) status = tell(c, settings, sizeof settings / sizeof settings[0], err);
  /* After wal_autocheckpoint, which uses the same hook. */
  sqlite3_wal_hook(c->db, note_wal_pages, c);
  return status;
}

static trilha_status set_up_reader(trilha_sqlite_connection *c, trilha_error *err) {
  const char *const settings[] = {
      trilha_sql_sqlite_query_only,
      trilha_sql_sqlite_autocheckpoint_off,
      trilha_sql_sqlite_reader_cache,
      trilha_sql_sqlite_no_temporary_files,
  };
  return tell(c, settings, sizeof settings / sizeof settings[0], err);
}

trilha_status trilha_sqlite_connect(const char *path, trilha_sqlite_use use, trilha_deadline deadline,
                                    trilha_sqlite_connection **ret_connection, trilha_error *err) {
  trilha_sqlite_connection *c = calloc(1, sizeof *c);
  if (c == NULL) return trilha_error_no_memory(err);
  trilha_status status = TRILHA_OK;
  int rc = sqlite3_open_v2(path, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
  if (rc != SQLITE_OK) {
    status = trilha_sqlite_fail(c, rc, err, "opening the database");
  } else {
    trilha_sqlite_set_deadline(c, deadline);
    sqlite3_progress_handler(c->db, PROGRESS_STEPS, interrupt_when_passed, c);
    status = harden(c, err);
    if (status == TRILHA_OK)
      status =
          use == TRILHA_SQLITE_READ ? set_up_reader(c, err) : set_up_writer(c, use == TRILHA_SQLITE_WRITE_UNSAFE, err);
  }
  if (status != TRILHA_OK) {
    trilha_sqlite_disconnect(c);
    return status;
  }
  *ret_connection = c;
  return TRILHA_OK;
}

void trilha_sqlite_disconnect(trilha_sqlite_connection *take_connection) {
  trilha_sqlite_connection *c = take_connection;
  if (c == NULL) return;
  for (size_t i = 0; i < TRILHA_SQLITE_QUERIES; i++) sqlite3_finalize(c->statements[i]);
  /* Busy only with an unfinished statement, and all of them are in the table. */
  int rc = sqlite3_close(c->db);
  TRILHA_ASSERT(rc == SQLITE_OK);
  free(c);
}
