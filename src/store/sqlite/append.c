/* store/sqlite: appending to the log. */
#include "base/assert.h"
#include "base/uuid.h"
#include "store/sqlite/sqlite_internal.h"

static trilha_status find_row(trilha_sqlite_connection *c, const unsigned char event_id[16], trilha_arena *arena,
                              trilha_append_result *result, bool *ret_found, trilha_error *err) {
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(event_id, id);
  sqlite3_stmt *find = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENT_BY_ID, &find, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(find, 1, trilha_text_of(id));
  status = trilha_sqlite_step(c, find, ret_found, err);
  if (status != TRILHA_OK || !*ret_found) return status;
  status = trilha_sqlite_row_read(find, arena, &result->row, err);
  sqlite3_reset(find);
  return status;
}

static trilha_status insert_row(trilha_sqlite_connection *c, const trilha_event_row *row, int64_t now_us,
                                trilha_arena *arena, trilha_append_result *result, trilha_error *err) {
  sqlite3_stmt *insert = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENT_INSERT, &insert, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_row_texts texts;
  trilha_sqlite_row_bind(insert, row, now_us, &texts);
  status = trilha_sqlite_execute(c, insert, err);
  if (status == TRILHA_OK) status = trilha_sqlite_row_copy(row, arena, &result->row, err);
  if (status != TRILHA_OK) return status;
  result->stored = true;
  result->row.sequence_number = sqlite3_last_insert_rowid(c->db);
  result->row.criado_em_us = now_us;
  return TRILHA_OK;
}

static trilha_status append_rows(trilha_sqlite_connection *c, const trilha_event_row *rows, size_t count,
                                 trilha_arena *arena, trilha_append_result *results, trilha_error *err) {
  int64_t now_us = trilha_sqlite_now_us();
  for (size_t i = 0; i < count; i++) {
    results[i] = (trilha_append_result){0};
    bool found = false;
    /* The look-up sees the rows of this batch too, so the later one of a repeated id is a duplicate of the first. */
    trilha_status status = find_row(c, rows[i].event_id, arena, &results[i], &found, err);
    if (status == TRILHA_OK && !found) status = insert_row(c, &rows[i], now_us, arena, &results[i], err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

static trilha_status read_revision(trilha_sqlite_connection *c, int64_t *ret_revision, trilha_error *err) {
  sqlite3_stmt *statement = NULL;
  bool any = false;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_REGISTRY_REVISION, &statement, err);
  return status == TRILHA_OK ? trilha_sqlite_value(c, statement, ret_revision, &any, err) : status;
}

trilha_status trilha_sqlite_append(trilha_store *store, const trilha_event_row *rows, size_t count,
                                   trilha_deadline deadline, trilha_arena *arena, trilha_append_result *results,
                                   int64_t *ret_registry_revision, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; i < count && status == TRILHA_OK; i++) status = trilha_sqlite_row_check(&rows[i], err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_connection *c = NULL;
  status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  int64_t revision = 0;
  status = append_rows(c, rows, count, arena, results, err);
  if (status == TRILHA_OK) status = read_revision(c, &revision, err);
  if (status != TRILHA_OK) {
    trilha_sqlite_write_abort(s);
    return status;
  }
  status = trilha_sqlite_write_commit(s, err);
  if (status == TRILHA_OK) *ret_registry_revision = revision;
  return status;
}

trilha_status trilha_sqlite_registry_revision(trilha_store *store, trilha_deadline deadline, int64_t *ret_revision,
                                              trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  int64_t revision = 0;
  status = read_revision(c, &revision, err);
  trilha_sqlite_read_end(s, c);
  if (status == TRILHA_OK) *ret_revision = revision;
  return status;
}
