/* store/sqlite/letters_read: dead letters as operators see them, and the common tools of delivery. */
#include <stddef.h>
#include <stdio.h>
#include "base/uuid.h"

#include "store/sqlite/delivery.h"

/* --- tools ------------------------------------------------------------------------------------------------- */

void trilha_sqlite_moment_now(trilha_sqlite_moment *m) {
  trilha_clock_boot_id(m->boot_id);
  m->boot_us = trilha_clock_boot_us();
  trilha_sqlite_timestamp(trilha_sqlite_now_us(), m->now);
}

trilha_status trilha_sqlite_change(trilha_sqlite_connection *c, sqlite3_stmt *statement, int *ret_changes,
                                   trilha_error *err) {
  trilha_status status = trilha_sqlite_execute(c, statement, err);
  if (status == TRILHA_OK && ret_changes != NULL) *ret_changes = sqlite3_changes(c->db);
  return status;
}

trilha_status trilha_sqlite_fence(trilha_sqlite_connection *c, int64_t *ret_token, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  bool any = false;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_FENCING_RAISE, &s, err);
  if (status == TRILHA_OK) status = trilha_sqlite_value(c, s, ret_token, &any, err);
  if (status == TRILHA_OK && !any)
    status = trilha_error_set(err, TRILHA_CORRUPT, "STORE_SCHEMA_DIFFERS", "core_fencing has lost its row");
  return status;
}

trilha_status trilha_sqlite_write_end(trilha_sqlite_store *s, trilha_status status, trilha_error *err) {
  if (status == TRILHA_OK) return trilha_sqlite_write_commit(s, err);
  trilha_sqlite_write_abort(s);
  return status;
}

/* --- rows --------------------------------------------------------------------------------------------------- */

static trilha_status read_time(sqlite3_stmt *s, int column, trilha_arena *arena, int64_t *ret_us, trilha_error *err) {
  trilha_text text;
  *ret_us = INT64_MIN;
  trilha_status status = trilha_sqlite_column_utf8(s, column, arena, &text, err);
  if (status != TRILHA_OK || text.data == NULL) return status;
  return trilha_sqlite_timestamp_read(text, ret_us, err);
}

trilha_status trilha_sqlite_letter_read(sqlite3_stmt *s, trilha_arena *arena, trilha_dead_letter_row *row,
                                        trilha_error *err) {
  static const struct {
    int column;
    size_t offset;
  } texts[] = {
      {3, offsetof(trilha_dead_letter_row, tipo)},         {4, offsetof(trilha_dead_letter_row, colonia)},
      {5, offsetof(trilha_dead_letter_row, handler_nome)}, {6, offsetof(trilha_dead_letter_row, mensagem_erro)},
      {7, offsetof(trilha_dead_letter_row, pilha_erro)},   {10, offsetof(trilha_dead_letter_row, status)}};
  trilha_text id;
  *row = (trilha_dead_letter_row){.id = sqlite3_column_int64(s, 0),
                                  .sequence_number = sqlite3_column_int64(s, 2),
                                  .tentativas = sqlite3_column_int64(s, 8)};
  trilha_status status = trilha_sqlite_column_utf8(s, 1, arena, &id, err);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == TRILHA_OK; i++)
    status = trilha_sqlite_column_utf8(s, texts[i].column, arena,
                                       (trilha_text *)(void *)((char *)row + texts[i].offset), err);
  if (status == TRILHA_OK && !trilha_uuid_parse(id, row->event_id))
    status = trilha_error_set(err, TRILHA_CORRUPT, "STORE_ROW_MALFORMED", "a dead letter's event id is no UUID");
  if (status == TRILHA_OK) status = read_time(s, 9, arena, &row->ultima_tentativa_us, err);
  if (status == TRILHA_OK) status = read_time(s, 11, arena, &row->criado_em_us, err);
  if (status == TRILHA_OK) status = read_time(s, 12, arena, &row->resolvido_em_us, err);
  return status;
}

static void bind_filter(sqlite3_stmt *s, const trilha_dead_letter_filter *f, const char *event_id, int64_t after_id,
                        int64_t limit) {
  sqlite3_bind_int64(s, 1, after_id);
  sqlite3_bind_int64(s, 2, f->id);
  trilha_sqlite_bind(s, 3, f->colonia);
  trilha_sqlite_bind(s, 4, f->tipo);
  trilha_sqlite_bind(s, 5, f->status);
  trilha_sqlite_bind(s, 6, f->has_event_id ? trilha_text_of(event_id) : (trilha_text){0});
  sqlite3_bind_int64(s, 7, limit);
}

static trilha_status read_page(trilha_sqlite_connection *c, const trilha_dead_letter_filter *filter, int64_t after_id,
                               int64_t limit, trilha_arena *arena, trilha_dead_letter_row *rows, size_t *ret_count,
                               trilha_error *err) {
  sqlite3_stmt *s = NULL;
  char event_id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(filter->event_id, event_id);
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTERS_LIST, &s, err);
  if (status != TRILHA_OK) return status;
  bind_filter(s, filter, event_id, after_id, limit);
  for (*ret_count = 0; *ret_count < (size_t)limit; ++*ret_count) {
    bool row = false;
    status = trilha_sqlite_step(c, s, &row, err);
    if (status != TRILHA_OK || !row) return status;
    status = trilha_sqlite_letter_read(s, arena, &rows[*ret_count], err);
    if (status != TRILHA_OK) return status;
  }
  sqlite3_reset(s);
  return TRILHA_OK;
}

trilha_status trilha_sqlite_dead_letters_list(trilha_store *store, const trilha_dead_letter_filter *filter,
                                              int64_t after_id, int64_t limit, trilha_deadline deadline,
                                              trilha_dead_letter_visit visit, void *user, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_dead_letter_row *rows = trilha_arena_array(&arena, (size_t)limit, sizeof *rows);
  if (rows == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  size_t count = 0;
  status = read_page(c, filter, after_id, limit, &arena, rows, &count, err);
  trilha_sqlite_read_end(s, c);
  for (size_t i = 0; i < count && status == TRILHA_OK; i++) status = visit(user, &rows[i], err);
  return status;
}

/* Few colonies, short names: the snapshot is held while they are handed out. */
trilha_status trilha_sqlite_dead_letter_stats(trilha_store *store, trilha_deadline deadline,
                                              trilha_status (*visit)(void *user, trilha_text colonia, int64_t open,
                                                                     trilha_error *err),
                                              void *user, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  sqlite3_stmt *stats = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_STATS, &stats, err);
  while (status == TRILHA_OK) {
    bool row = false;
    status = trilha_sqlite_step(c, stats, &row, err);
    if (status != TRILHA_OK || !row) break;
    trilha_text colonia = {(const char *)sqlite3_column_text(stats, 0), (size_t)sqlite3_column_bytes(stats, 0)};
    status = visit(user, colonia, sqlite3_column_int64(stats, 1), err);
  }
  if (stats != NULL) sqlite3_reset(stats);
  trilha_sqlite_read_end(s, c);
  return status;
}
