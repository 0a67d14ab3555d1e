/* store/sqlite: event types and audit rows. */
#include "base/error.h"
#include "store/sqlite/sqlite_internal.h"

/* --- audit ------------------------------------------------------------------------------------------------ */

trilha_status trilha_sqlite_audit_write(trilha_sqlite_connection *c, const trilha_audit_row *row, const char *now,
                                        trilha_error *err) {
  sqlite3_stmt *insert = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_AUDIT_INSERT, &insert, err);
  if (status != TRILHA_OK) return status;
  const trilha_text columns[] = {row->entity, row->entity_id, row->change_type, row->action, row->user, row->metadata};
  for (int i = 0; i < (int)(sizeof columns / sizeof columns[0]); i++) {
    status = trilha_sqlite_text_check(columns[i], "of core_audit_log", err);
    if (status != TRILHA_OK) return status;
    trilha_sqlite_bind(insert, i + 1, columns[i]);
  }
  trilha_sqlite_bind(insert, 7, trilha_text_of(now));
  status = trilha_sqlite_execute(c, insert, err);
  if (status != TRILHA_OK) trilha_error_while(err, "writing the audit log");
  return status;
}

trilha_status trilha_sqlite_audit_insert(trilha_store *store, const trilha_audit_row *row, trilha_deadline deadline,
                                         trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  char now[TRILHA_SQLITE_TIMESTAMP_SIZE];
  trilha_sqlite_timestamp(trilha_sqlite_now_us(), now);
  status = trilha_sqlite_audit_write(c, row, now, err);
  if (status == TRILHA_OK) return trilha_sqlite_write_commit(s, err);
  trilha_sqlite_write_abort(s);
  return status;
}

/* --- applying versions -------------------------------------------------------------------------------------- */

static trilha_status insert_type(trilha_sqlite_connection *c, const trilha_type_row *row, const char *now,
                                 trilha_error *err) {
  sqlite3_stmt *insert = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_TYPE_INSERT, &insert, err);
  if (status != TRILHA_OK) return status;
  const trilha_text columns[] = {row->tipo, row->versao, row->descricao, row->status, row->schema, trilha_text_of(now)};
  for (int i = 0; i < (int)(sizeof columns / sizeof columns[0]); i++) trilha_sqlite_bind(insert, i + 1, columns[i]);
  return trilha_sqlite_execute(c, insert, err);
}

static trilha_status update_type(trilha_sqlite_connection *c, const trilha_type_row *row, trilha_error *err) {
  sqlite3_stmt *update = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_TYPE_UPDATE, &update, err);
  if (status != TRILHA_OK) return status;
  const trilha_text columns[] = {row->tipo, row->versao, row->descricao, row->status};
  for (int i = 0; i < (int)(sizeof columns / sizeof columns[0]); i++) trilha_sqlite_bind(update, i + 1, columns[i]);
  return trilha_sqlite_execute(c, update, err);
}

static trilha_status apply_type(trilha_sqlite_connection *c, const trilha_type_row *row, const char *now,
                                trilha_error *err) {
  sqlite3_stmt *find = NULL;
  bool found = false;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_TYPE_FIND, &find, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(find, 1, row->tipo);
  trilha_sqlite_bind(find, 2, row->versao);
  status = trilha_sqlite_step(c, find, &found, err);
  if (status != TRILHA_OK) return status;
  if (!found) return insert_type(c, row, now, err);
  trilha_text stored = {(const char *)sqlite3_column_text(find, 0), (size_t)sqlite3_column_bytes(find, 0)};
  bool same = (stored.data == NULL) == (row->schema.data == NULL) && trilha_text_equal(stored, row->schema);
  sqlite3_reset(find);
  if (same) return update_type(c, row, err);
  return trilha_error_set(
      err, TRILHA_CONFLICT, "EVENT_TYPE_VERSION_IMMUTABLE",
      "%.*s@%.*s is registered with another schema; a published version never changes: register a new one",
      (int)row->tipo.size, row->tipo.data, (int)row->versao.size, row->versao.data);
}

static trilha_status apply_all(trilha_sqlite_connection *c, const trilha_type_row *rows, size_t count,
                               const trilha_audit_row *audit, size_t audit_count, trilha_error *err) {
  char now[TRILHA_SQLITE_TIMESTAMP_SIZE];
  trilha_sqlite_timestamp(trilha_sqlite_now_us(), now);
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; i < count && status == TRILHA_OK; i++) status = apply_type(c, &rows[i], now, err);
  if (status == TRILHA_OK) status = trilha_sqlite_run(c, TRILHA_SQLITE_REGISTRY_REVISION_RAISE, err);
  for (size_t i = 0; i < audit_count && status == TRILHA_OK; i++)
    status = trilha_sqlite_audit_write(c, &audit[i], now, err);
  return status;
}

static trilha_status check_types(const trilha_type_row *rows, size_t count, trilha_error *err) {
  for (size_t i = 0; i < count; i++) {
    trilha_status status = trilha_sqlite_text_check(rows[i].tipo, "tipo", err);
    if (status == TRILHA_OK) status = trilha_sqlite_text_check(rows[i].versao, "versao", err);
    if (status == TRILHA_OK) status = trilha_sqlite_text_check(rows[i].descricao, "descricao", err);
    if (status == TRILHA_OK) status = trilha_sqlite_text_check(rows[i].schema, "schema", err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

trilha_status trilha_sqlite_types_apply(trilha_store *store, const trilha_type_row *rows, size_t count,
                                        const trilha_audit_row *audit, size_t audit_count, trilha_deadline deadline,
                                        trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = check_types(rows, count, err);
  if (status == TRILHA_OK) status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = apply_all(c, rows, count, audit, audit_count, err);
  if (status == TRILHA_OK) return trilha_sqlite_write_commit(s, err);
  trilha_sqlite_write_abort(s);
  return status;
}

/* --- listing ------------------------------------------------------------------------------------------------ */

typedef struct type_node {
  struct type_node *next;
  trilha_type_row row;
} type_node;

static trilha_status read_type(sqlite3_stmt *s, trilha_arena *arena, trilha_type_row *row, trilha_error *err) {
  trilha_text criado_em = {0};
  trilha_text *const texts[] = {&row->tipo, &row->versao, &row->descricao, &row->status, &row->schema, &criado_em};
  for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++) {
    trilha_status status = trilha_sqlite_column_utf8(s, i, arena, texts[i], err);
    if (status != TRILHA_OK) return status;
  }
  return trilha_sqlite_timestamp_read(criado_em, &row->criado_em_us, err);
}

static trilha_status read_types(trilha_sqlite_connection *c, trilha_text tipo, trilha_arena *arena,
                                type_node **ret_first, trilha_error *err) {
  sqlite3_stmt *list = NULL;
  trilha_sqlite_query query = tipo.data == NULL ? TRILHA_SQLITE_TYPES_ALL : TRILHA_SQLITE_TYPES_OF;
  trilha_status status = trilha_sqlite_prepare(c, query, &list, err);
  if (status != TRILHA_OK) return status;
  if (tipo.data != NULL) trilha_sqlite_bind(list, 1, tipo);
  type_node **end = ret_first;
  for (;;) {
    bool row = false;
    status = trilha_sqlite_step(c, list, &row, err);
    if (status != TRILHA_OK || !row) return status;
    type_node *node = trilha_arena_zalloc(arena, sizeof *node);
    if (node == NULL) return trilha_error_no_memory(err);
    status = read_type(list, arena, &node->row, err);
    if (status != TRILHA_OK) return status;
    *end = node;
    end = &node->next;
  }
}

trilha_status trilha_sqlite_types_list(trilha_store *store, trilha_text tipo, trilha_deadline deadline,
                                       trilha_type_visit visit, void *user, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  TRILHA_ARENA_SCOPED arena = {0};
  type_node *first = NULL;
  status = read_types(c, tipo, &arena, &first, err);
  trilha_sqlite_read_end(s, c);
  for (const type_node *node = first; node != NULL && status == TRILHA_OK; node = node->next)
    status = visit(user, &node->row, err);
  return status;
}
