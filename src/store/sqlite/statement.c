/* store/sqlite: prepared statements of a connection, and what SQLite's answers mean. */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "sqlite_queries.h"
#include "store/sqlite/sqlite_internal.h"

static const char *const query_texts[TRILHA_SQLITE_QUERIES] = {
    [TRILHA_SQLITE_EVENT_INSERT] = trilha_sql_sqlite_event_insert,
    [TRILHA_SQLITE_EVENT_BY_ID] = trilha_sql_sqlite_event_by_id,
    [TRILHA_SQLITE_EVENT_BY_SEQUENCE] = trilha_sql_sqlite_event_by_sequence,
    [TRILHA_SQLITE_EVENTS_AFTER_ALL] = trilha_sql_sqlite_events_after_all,
    [TRILHA_SQLITE_EVENTS_AFTER_TYPE] = trilha_sql_sqlite_events_after_type,
    [TRILHA_SQLITE_EVENT_LAST_SEQUENCE] = trilha_sql_sqlite_event_last_sequence,
    [TRILHA_SQLITE_EVENT_LAST] = trilha_sql_sqlite_event_last,
    [TRILHA_SQLITE_EVENTS_COUNT_ALL] = trilha_sql_sqlite_events_count_all,
    [TRILHA_SQLITE_EVENTS_COUNT_BY_SEQUENCE] = trilha_sql_sqlite_events_count_by_sequence,
    [TRILHA_SQLITE_EVENTS_LIST_BY_SEQUENCE] = trilha_sql_sqlite_events_list_by_sequence,
    [TRILHA_SQLITE_EVENTS_COUNT_BY_CORRELACAO] = trilha_sql_sqlite_events_count_by_correlacao,
    [TRILHA_SQLITE_EVENTS_LIST_BY_CORRELACAO] = trilha_sql_sqlite_events_list_by_correlacao,
    [TRILHA_SQLITE_EVENTS_COUNT_BY_TIPO] = trilha_sql_sqlite_events_count_by_tipo,
    [TRILHA_SQLITE_EVENTS_LIST_BY_TIPO] = trilha_sql_sqlite_events_list_by_tipo,
    [TRILHA_SQLITE_EVENTS_COUNT_BY_TIPO_TIMESTAMP] = trilha_sql_sqlite_events_count_by_tipo_timestamp,
    [TRILHA_SQLITE_EVENTS_LIST_BY_TIPO_TIMESTAMP] = trilha_sql_sqlite_events_list_by_tipo_timestamp,
    [TRILHA_SQLITE_EVENTS_COUNT_BY_TIMESTAMP] = trilha_sql_sqlite_events_count_by_timestamp,
    [TRILHA_SQLITE_EVENTS_LIST_BY_TIMESTAMP] = trilha_sql_sqlite_events_list_by_timestamp,
    [TRILHA_SQLITE_EVENTS_COUNT_BY_ORIGEM] = trilha_sql_sqlite_events_count_by_origem,
    [TRILHA_SQLITE_EVENTS_LIST_BY_ORIGEM] = trilha_sql_sqlite_events_list_by_origem,
    [TRILHA_SQLITE_REGISTRY_REVISION] = trilha_sql_sqlite_registry_revision,
    [TRILHA_SQLITE_REGISTRY_REVISION_RAISE] = trilha_sql_sqlite_registry_revision_raise,
    [TRILHA_SQLITE_TYPE_FIND] = trilha_sql_sqlite_type_find,
    [TRILHA_SQLITE_TYPE_INSERT] = trilha_sql_sqlite_type_insert,
    [TRILHA_SQLITE_TYPE_UPDATE] = trilha_sql_sqlite_type_update,
    [TRILHA_SQLITE_TYPES_ALL] = trilha_sql_sqlite_types_all,
    [TRILHA_SQLITE_TYPES_OF] = trilha_sql_sqlite_types_of,
    [TRILHA_SQLITE_AUDIT_INSERT] = trilha_sql_sqlite_audit_insert,
    [TRILHA_SQLITE_AUDIT_LIST] = trilha_sql_sqlite_audit_list,
    [TRILHA_SQLITE_FENCING_RAISE] = trilha_sql_sqlite_fencing_raise,
    [TRILHA_SQLITE_DEAD_LETTER_FIND] = trilha_sql_sqlite_dead_letter_find,
    [TRILHA_SQLITE_DEAD_LETTER_INSERT] = trilha_sql_sqlite_dead_letter_insert,
    [TRILHA_SQLITE_DEAD_LETTER_RENEW] = trilha_sql_sqlite_dead_letter_renew,
    [TRILHA_SQLITE_DEAD_LETTER_RESOLVE] = trilha_sql_sqlite_dead_letter_resolve,
    [TRILHA_SQLITE_DEAD_LETTER_CLOSE] = trilha_sql_sqlite_dead_letter_close,
    [TRILHA_SQLITE_DEAD_LETTER_RETRYING] = trilha_sql_sqlite_dead_letter_retrying,
    [TRILHA_SQLITE_DEAD_LETTER_UNDER_TOKEN] = trilha_sql_sqlite_dead_letter_under_token,
    [TRILHA_SQLITE_DEAD_LETTER_LEASE_PUT] = trilha_sql_sqlite_dead_letter_lease_put,
    [TRILHA_SQLITE_DEAD_LETTER_LEASE_EXTEND] = trilha_sql_sqlite_dead_letter_lease_extend,
    [TRILHA_SQLITE_DEAD_LETTER_LEASE_DROP] = trilha_sql_sqlite_dead_letter_lease_drop,
    [TRILHA_SQLITE_DEAD_LETTER_LEASE_DROP_OF_EVENT] = trilha_sql_sqlite_dead_letter_lease_drop_of_event,
    [TRILHA_SQLITE_DEAD_LETTERS_ABANDONED] = trilha_sql_sqlite_dead_letters_abandoned,
    [TRILHA_SQLITE_DEAD_LETTER_PENDING_AGAIN] = trilha_sql_sqlite_dead_letter_pending_again,
    [TRILHA_SQLITE_DEAD_LETTER_REOPEN] = trilha_sql_sqlite_dead_letter_reopen,
    [TRILHA_SQLITE_DEAD_LETTER_EXISTS] = trilha_sql_sqlite_dead_letter_exists,
    [TRILHA_SQLITE_DEAD_LETTER_BY_ID] = trilha_sql_sqlite_dead_letter_by_id,
    [TRILHA_SQLITE_DEAD_LETTERS_PENDING] = trilha_sql_sqlite_dead_letters_pending,
    [TRILHA_SQLITE_DEAD_LETTER_PENDING] = trilha_sql_sqlite_dead_letter_pending,
    [TRILHA_SQLITE_DEAD_LETTERS_LIST] = trilha_sql_sqlite_dead_letters_list,
    [TRILHA_SQLITE_DEAD_LETTER_STATS] = trilha_sql_sqlite_dead_letter_stats,
    [TRILHA_SQLITE_DEAD_LETTERS_BETWEEN] = trilha_sql_sqlite_dead_letters_between,
    [TRILHA_SQLITE_LEASE_FIND] = trilha_sql_sqlite_lease_find,
    [TRILHA_SQLITE_LEASE_PUT] = trilha_sql_sqlite_lease_put,
    [TRILHA_SQLITE_LEASE_EXTEND] = trilha_sql_sqlite_lease_extend,
    [TRILHA_SQLITE_LEASE_DECLARE] = trilha_sql_sqlite_lease_declare,
    [TRILHA_SQLITE_HANDLERS_LIST] = trilha_sql_sqlite_handlers_list,
    [TRILHA_SQLITE_LEASE_FORGET] = trilha_sql_sqlite_lease_forget,
    [TRILHA_SQLITE_LEASE_RIVAL] = trilha_sql_sqlite_lease_rival,
    [TRILHA_SQLITE_LEASE_OF_TYPE] = trilha_sql_sqlite_lease_of_type,
    [TRILHA_SQLITE_COLONY_SCHEMA_FIND] = trilha_sql_sqlite_colony_schema_find,
    [TRILHA_SQLITE_COLONY_SCHEMA_INSERT] = trilha_sql_sqlite_colony_schema_insert,
    [TRILHA_SQLITE_COLONIES_ALL] = trilha_sql_sqlite_colonies_all,
    [TRILHA_SQLITE_LAG_COUNT] = trilha_sql_sqlite_lag_count,
    [TRILHA_SQLITE_LAG_OLDEST] = trilha_sql_sqlite_lag_oldest,
    [TRILHA_SQLITE_REQUEST_INSERT] = trilha_sql_sqlite_request_insert,
    [TRILHA_SQLITE_REQUEST_WAITING] = trilha_sql_sqlite_request_waiting,
    [TRILHA_SQLITE_REQUEST_TAKE] = trilha_sql_sqlite_request_take,
    [TRILHA_SQLITE_REQUEST_SETTLE] = trilha_sql_sqlite_request_settle,
    [TRILHA_SQLITE_REQUEST_READ] = trilha_sql_sqlite_request_read,
    [TRILHA_SQLITE_REQUEST_WITHDRAW] = trilha_sql_sqlite_request_withdraw,
    [TRILHA_SQLITE_MIGRATION_LIST] = trilha_sql_sqlite_migration_list,
    [TRILHA_SQLITE_MIGRATION_RECORD] = trilha_sql_sqlite_migration_record,
    [TRILHA_SQLITE_SCHEMA_HAS_TABLE] = trilha_sql_sqlite_schema_has_table,
    [TRILHA_SQLITE_SCHEMA_OBJECTS] = trilha_sql_sqlite_schema_objects,
    [TRILHA_SQLITE_BEGIN_WRITE] = trilha_sql_sqlite_begin_write,
    [TRILHA_SQLITE_BEGIN_READ] = trilha_sql_sqlite_begin_read,
    [TRILHA_SQLITE_COMMIT] = trilha_sql_sqlite_commit,
    [TRILHA_SQLITE_ROLLBACK] = trilha_sql_sqlite_rollback,
};

/* --- answers -------------------------------------------------------------------------------------------- */

typedef struct meaning {
  int primary; /* SQLite's primary result code */
  trilha_status status;
  const char *code;
  const char *advice;
} meaning;

/* SQLITE_ERROR is told apart by its text in fail_of_statement(). */
static const meaning meanings[] = {
    {SQLITE_BUSY, TRILHA_TIMEOUT, "STORE_BUSY", "another program held the database until the deadline"},
    {SQLITE_LOCKED, TRILHA_TIMEOUT, "STORE_BUSY", "another connection held the table"},
    {SQLITE_PROTOCOL, TRILHA_TIMEOUT, "STORE_BUSY", "the database's lock could not be had until the deadline"},
    {SQLITE_INTERRUPT, TRILHA_TIMEOUT, "DEADLINE_PASSED", "the deadline passed while the database worked"},
    {SQLITE_FULL, TRILHA_UNAVAILABLE, "STORE_FULL", "the disk or the quota is full; free some space and try again"},
    {SQLITE_IOERR, TRILHA_UNAVAILABLE, "STORE_IO", "the file system failed; see the system's log"},
    {SQLITE_READONLY, TRILHA_DENIED, "STORE_READ_ONLY",
     "the database cannot be written; check the permissions of the file, of its -wal and -shm files and of the folder"},
    {SQLITE_PERM, TRILHA_DENIED, "STORE_DENIED", "the system refuses access to the database"},
    {SQLITE_AUTH, TRILHA_DENIED, "STORE_DENIED", "the database refuses the operation"},
    {SQLITE_CANTOPEN, TRILHA_UNAVAILABLE, "STORE_CANNOT_OPEN",
     "the database or its -wal or -shm file cannot be opened; check the permissions of file and folder"},
    {SQLITE_CORRUPT, TRILHA_CORRUPT, "STORE_CORRUPT",
     "the database file is damaged; copy it away and look with PRAGMA integrity_check"},
    {SQLITE_NOTADB, TRILHA_CORRUPT, "STORE_NOT_A_DATABASE", "the file is not an SQLite database"},
    {SQLITE_CONSTRAINT, TRILHA_INVALID, "STORE_REFUSED", "the database refused a row"},
    {SQLITE_MISMATCH, TRILHA_INVALID, "STORE_REFUSED", "the database refused a value"},
    {SQLITE_TOOBIG, TRILHA_LIMIT, "STORE_TOO_BIG", "a value is larger than SQLite keeps"},
    {SQLITE_NOMEM, TRILHA_NO_MEMORY, "NO_MEMORY", "out of memory"},
    {SQLITE_SCHEMA, TRILHA_UNAVAILABLE, "STORE_SCHEMA_CHANGED", "the schema was being changed"},
    {SQLITE_NOLFS, TRILHA_UNSUPPORTED, "STORE_LIMIT", "the file system cannot hold so large a file"},
};

static const meaning *meaning_of(int rc) {
  for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
    if (meanings[i].primary == (rc & 0xff)) return &meanings[i];
  return NULL;
}

/* SQLITE_ERROR: a statement of ours does not fit the file. */
static trilha_status fail_of_statement(const char *said, trilha_error *err) {
  if (strstr(said, "no such table") != NULL)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED",
                            "the database has no Trilha tables (%s): run `trilha init`", said);
  if (strstr(said, "no such") != NULL)
    return trilha_error_set(err, TRILHA_CORRUPT, "STORE_SCHEMA_DIFFERS",
                            "the tables are not as the migrations made them: %s", said);
  return trilha_error_set(err, TRILHA_INTERNAL, "STORE_STATEMENT_FAILED", "SQLite says: %s", said);
}

trilha_status trilha_sqlite_fail(trilha_sqlite_connection *c, int rc, trilha_error *err, const char *doing) {
  const char *said = c != NULL && c->db != NULL ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc);
  int os_errno = c != NULL && c->db != NULL ? sqlite3_system_errno(c->db) : 0;
  const meaning *m = meaning_of(rc);
  if (rc == SQLITE_IOERR_NOMEM) m = meaning_of(SQLITE_NOMEM);
  trilha_status status;
  if (m == NULL)
    status = fail_of_statement(said, err);
  else if ((m->primary == SQLITE_IOERR || m->primary == SQLITE_CANTOPEN) && os_errno != 0)
    status = trilha_error_set_errno(err, m->status, m->code, os_errno, "%s (SQLite %d: %s)", m->advice, rc, said);
  else
    status = trilha_error_set(err, m->status, m->code, "%s (SQLite %d: %s)", m->advice, rc, said);
  trilha_error_while(err, "%s", doing);
  return status;
}

bool trilha_sqlite_is_sick(int rc) {
  int primary = rc & 0xff;
  return primary == SQLITE_IOERR || primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB ||
         primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY || primary == SQLITE_NOMEM ||
         primary == SQLITE_MISUSE;
}

/* --- statements ----------------------------------------------------------------------------------------- */

trilha_status trilha_sqlite_prepare(trilha_sqlite_connection *c, trilha_sqlite_query query,
                                    sqlite3_stmt **ret_statement, trilha_error *err) {
  sqlite3_stmt **kept = &c->statements[query];
  if (*kept != NULL) {
    sqlite3_reset(*kept);
    sqlite3_clear_bindings(*kept);
  } else {
    int rc = sqlite3_prepare_v3(c->db, query_texts[query], -1, SQLITE_PREPARE_PERSISTENT, kept, NULL);
    if (rc != SQLITE_OK) return trilha_sqlite_fail(c, rc, err, "preparing a statement");
  }
  *ret_statement = *kept;
  return TRILHA_OK;
}

trilha_status trilha_sqlite_step(trilha_sqlite_connection *c, sqlite3_stmt *statement, bool *ret_row,
                                 trilha_error *err) {
  int rc = sqlite3_step(statement);
  *ret_row = rc == SQLITE_ROW;
  if (rc == SQLITE_ROW) return TRILHA_OK;
  trilha_status status = rc == SQLITE_DONE ? TRILHA_OK : trilha_sqlite_fail(c, rc, err, "using the database");
  sqlite3_reset(statement);
  return status;
}

trilha_status trilha_sqlite_execute(trilha_sqlite_connection *c, sqlite3_stmt *statement, trilha_error *err) {
  bool row = false;
  trilha_status status;
  do status = trilha_sqlite_step(c, statement, &row, err);
  while (status == TRILHA_OK && row);
  return status;
}

trilha_status trilha_sqlite_run(trilha_sqlite_connection *c, trilha_sqlite_query query, trilha_error *err) {
  sqlite3_stmt *statement = NULL;
  trilha_status status = trilha_sqlite_prepare(c, query, &statement, err);
  return status == TRILHA_OK ? trilha_sqlite_execute(c, statement, err) : status;
}

trilha_status trilha_sqlite_value(trilha_sqlite_connection *c, sqlite3_stmt *statement, int64_t *ret_value,
                                  bool *ret_any, trilha_error *err) {
  bool row = false;
  trilha_status status = trilha_sqlite_step(c, statement, &row, err);
  if (status != TRILHA_OK) return status;
  bool any = row && sqlite3_column_type(statement, 0) != SQLITE_NULL;
  *ret_value = any ? sqlite3_column_int64(statement, 0) : 0;
  *ret_any = any;
  sqlite3_reset(statement);
  return TRILHA_OK;
}

void trilha_sqlite_bind(sqlite3_stmt *statement, int parameter, trilha_text text) {
  int rc = text.data == NULL
               ? sqlite3_bind_null(statement, parameter)
               : sqlite3_bind_text64(statement, parameter, text.data, text.size, SQLITE_STATIC, SQLITE_UTF8);
  /* Too large a text is the only failure left (nothing is copied); it stays unbound and NOT NULL refuses it. */
  TRILHA_ASSERT(rc == SQLITE_OK || rc == SQLITE_TOOBIG || rc == SQLITE_NOMEM);
}

trilha_status trilha_sqlite_column(sqlite3_stmt *statement, int column, trilha_arena *arena, trilha_text *ret_text,
                                   trilha_error *err) {
  *ret_text = (trilha_text){0};
  if (sqlite3_column_type(statement, column) == SQLITE_NULL) return TRILHA_OK;
  const char *data = (const char *)sqlite3_column_text(statement, column);
  if (data == NULL) return trilha_error_no_memory(err);
  trilha_text borrowed = {data, (size_t)sqlite3_column_bytes(statement, column)};
  char *copy = trilha_arena_copy(arena, borrowed);
  if (copy == NULL) return trilha_error_no_memory(err);
  *ret_text = (trilha_text){copy, borrowed.size};
  return TRILHA_OK;
}

trilha_status trilha_sqlite_column_utf8(sqlite3_stmt *statement, int column, trilha_arena *arena, trilha_text *ret_text,
                                        trilha_error *err) {
  trilha_status status = trilha_sqlite_column(statement, column, arena, ret_text, err);
  if (status != TRILHA_OK || ret_text->size == 0) return status;
  if (trilha_utf8_valid(ret_text->data, ret_text->size) && trilha_text_find(*ret_text, '\0') == NULL) return TRILHA_OK;
  *ret_text = (trilha_text){0};
  return trilha_error_set(err, TRILHA_CORRUPT, "STORE_ROW_MALFORMED",
                          "column %s of a stored row is no UTF-8 text without U+0000; Trilha did not write it",
                          sqlite3_column_name(statement, column));
}
