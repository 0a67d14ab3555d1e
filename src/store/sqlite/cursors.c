/* store/sqlite/cursors: <colony>_consumer_offset (specification 000, section 5.3; rulings R9, R12, R14). */
#include <stdio.h>
#include <stdlib.h>

#include "base/uuid.h"
#include "sqlite_colony.h"
#include "store/colony.h"
#include "store/sqlite/delivery.h"

enum { LAG_COUNT_MAX = 10000 };

/* --- statements on a colony's own table ------------------------------------------------------------------------- */

/* `text` with {colony} replaced, prepared on `db`; the caller finalizes. The name holds [a-z0-9_] only. */
static trilha_status prepare_on(sqlite3 *db, const char *text, const char *schema, sqlite3_stmt **ret, int *ret_rc,
                                trilha_error *err) {
  static const char mark[] = "{colony}";
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  for (const char *at = text;;) {
    const char *next = strstr(at, mark);
    trilha_buffer_append(&sql, at, next == NULL ? strlen(at) : (size_t)(next - at));
    if (next == NULL) break;
    trilha_buffer_add_string(&sql, schema);
    at = next + sizeof mark - 1;
  }
  trilha_status status = trilha_buffer_check(&sql, err);
  if (status == TRILHA_OK) *ret_rc = sqlite3_prepare_v2(db, sql.data, (int)sql.size, ret, NULL);
  return status;
}

static trilha_status prepare(trilha_sqlite_connection *c, const char *text, const char *schema, sqlite3_stmt **ret,
                             trilha_error *err) {
  int rc = SQLITE_OK;
  trilha_status status = prepare_on(c->db, text, schema, ret, &rc, err);
  if (status == TRILHA_OK && rc != SQLITE_OK)
    status = trilha_sqlite_fail(c, rc, err, "preparing a statement on a colony's table");
  return status;
}

/* The name recorded for the colony, or the one it would get (*ret_recorded false). CONFLICT: another colony has that
 * name. */
static trilha_status schema_of(trilha_sqlite_connection *c, trilha_text colonia, char out[TRILHA_COLONY_SCHEMA_SIZE],
                               bool *ret_recorded, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_colony_schema_name(colonia, out, err);
  if (status == TRILHA_OK) status = trilha_sqlite_prepare(c, TRILHA_SQLITE_COLONY_SCHEMA_FIND, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, colonia);
  status = trilha_sqlite_step(c, s, ret_recorded, err);
  if (status == TRILHA_OK && *ret_recorded) sqlite3_reset(s);
  return status;
}

static trilha_status record_schema(trilha_sqlite_connection *c, trilha_text colonia, const char *schema,
                                   trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_error own = {0};
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_COLONY_SCHEMA_INSERT, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, colonia);
  trilha_sqlite_bind(s, 2, trilha_text_of(schema));
  status = trilha_sqlite_execute(c, s, &own);
  if (status == TRILHA_INVALID) /* the unique name */
    return trilha_error_set(
        err, TRILHA_CONFLICT, "COLONY_NAME_COLLISION",
        "another colony already has the schema %s: two colonies may not differ only in case and hyphens", schema);
  return trilha_error_copy(err, &own);
}

trilha_status trilha_sqlite_cursors_prepare(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                            trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  char schema[TRILHA_COLONY_SCHEMA_SIZE];
  bool recorded = false;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = schema_of(c, colonia, schema, &recorded, err);
  trilha_sqlite_read_end(s, c);
  if (status != TRILHA_OK || recorded) return status;
  status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  sqlite3_stmt *table = NULL;
  status = schema_of(c, colonia, schema, &recorded, err);
  if (status == TRILHA_OK && !recorded) status = record_schema(c, colonia, schema, err);
  if (status == TRILHA_OK) status = prepare(c, trilha_sql_sqlite_colony_offset_table, schema, &table, err);
  if (status == TRILHA_OK) status = trilha_sqlite_execute(c, table, err);
  sqlite3_finalize(table);
  return trilha_sqlite_write_end(s, status, err);
}

/* --- reading and moving ------------------------------------------------------------------------------------------ */

static trilha_status read_cursors(trilha_sqlite_connection *c, const char *schema, trilha_cursor *cursors, size_t count,
                                  trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = prepare(c, trilha_sql_sqlite_colony_offset_read, schema, &s, err);
  for (size_t i = 0; i < count && status == TRILHA_OK; i++) {
    sqlite3_reset(s);
    trilha_sqlite_bind(s, 1, cursors[i].tipo);
    status = trilha_sqlite_value(c, s, &cursors[i].last_sequence, &cursors[i].present, err);
  }
  sqlite3_finalize(s);
  return status;
}

trilha_status trilha_sqlite_cursors_read(trilha_store *store, trilha_text colonia, trilha_cursor *cursors, size_t count,
                                         trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  char schema[TRILHA_COLONY_SCHEMA_SIZE];
  trilha_status status = trilha_colony_schema_name(colonia, schema, err);
  if (status == TRILHA_OK) status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = read_cursors(c, schema, cursors, count, err);
  trilha_sqlite_read_end(s, c);
  return status;
}

/* Seeds or advances each cursor; *ret_changed of them. */
static trilha_status write_cursors(trilha_sqlite_connection *c, const char *text, const char *schema,
                                   const trilha_cursor *cursors, size_t count, const char *now, int *ret_changed,
                                   trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = prepare(c, text, schema, &s, err);
  for (size_t i = 0; i < count && status == TRILHA_OK; i++) {
    int changes = 0;
    sqlite3_reset(s);
    trilha_sqlite_bind(s, 1, cursors[i].tipo);
    sqlite3_bind_int64(s, 2, cursors[i].last_sequence);
    trilha_sqlite_bind(s, 3, trilha_text_of(now));
    status = trilha_sqlite_change(c, s, &changes, err);
    *ret_changed += changes;
  }
  sqlite3_finalize(s);
  return status;
}

trilha_status trilha_sqlite_cursors_seed(trilha_store *store, const trilha_lease *lease, const trilha_cursor *cursors,
                                         size_t count, const trilha_audit_row *audit, trilha_deadline deadline,
                                         trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  char schema[TRILHA_COLONY_SCHEMA_SIZE];
  trilha_sqlite_moment m;
  int changed = 0;
  trilha_status status = trilha_colony_schema_name(lease->colonia, schema, err);
  if (status == TRILHA_OK) status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_moment_now(&m);
  status = trilha_sqlite_lease_check(c, lease, err);
  if (status == TRILHA_OK)
    status = write_cursors(c, trilha_sql_sqlite_colony_offset_seed, schema, cursors, count, m.now, &changed, err);
  if (status == TRILHA_OK && audit != NULL && changed > 0) status = trilha_sqlite_audit_write(c, audit, m.now, err);
  return trilha_sqlite_write_end(s, status, err);
}

static trilha_status advance(trilha_sqlite_connection *c, const trilha_lease *lease, const char *schema,
                             const trilha_cursor *cursors, size_t count, const unsigned char (*ids)[16],
                             size_t id_count, trilha_error *err) {
  trilha_sqlite_moment m;
  int changed = 0;
  bool resolved = false;
  trilha_sqlite_moment_now(&m);
  trilha_status status = trilha_sqlite_lease_check(c, lease, err);
  if (status == TRILHA_OK)
    status = write_cursors(c, trilha_sql_sqlite_colony_offset_advance, schema, cursors, count, m.now, &changed, err);
  for (size_t i = 0; i < id_count && status == TRILHA_OK; i++)
    status = trilha_sqlite_letter_resolve(c, ids[i], lease->colonia, m.now, &resolved, err);
  return status;
}

trilha_status trilha_sqlite_cursors_advance(trilha_store *store, const trilha_lease *lease,
                                            const trilha_cursor *cursors, size_t count,
                                            const unsigned char (*resolved_event_ids)[16], size_t resolved_count,
                                            trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  char schema[TRILHA_COLONY_SCHEMA_SIZE];
  trilha_status status = trilha_colony_schema_name(lease->colonia, schema, err);
  if (status == TRILHA_OK) status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = advance(c, lease, schema, cursors, count, resolved_event_ids, resolved_count, err);
  return trilha_sqlite_write_end(s, status, err);
}

/* --- inside the caller's transaction ------------------------------------------------------------------------------ */

/* The caller's connection dressed as one of ours for the length of a call: statements are prepared on it and finalized.
 */
trilha_status trilha_sqlite_part_begin(trilha_store *store, void *connection, trilha_sqlite_connection **ret_part,
                                       trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  sqlite3 *db = connection;
  const char *file = sqlite3_db_filename(db, "main");
  if (sqlite3_get_autocommit(db) != 0)
    return trilha_error_set(err, TRILHA_USAGE, "NO_TRANSACTION",
                            "the connection has no open transaction: open one (an immediate one, so that it cannot "
                            "fail later) before the effect");
  if (file == NULL || strcmp(file, s->path) != 0)
    return trilha_error_set(err, TRILHA_USAGE, "OTHER_DATABASE",
                            "the connection's main database is not the one that Trilha has open");
  trilha_sqlite_connection *part = calloc(1, sizeof *part);
  if (part == NULL) return trilha_error_no_memory(err);
  part->db = db;
  part->deadline = TRILHA_NO_DEADLINE;
  *ret_part = part;
  return TRILHA_OK;
}

void trilha_sqlite_part_end(trilha_sqlite_connection *take_part) {
  if (take_part == NULL) return;
  for (int i = 0; i < TRILHA_SQLITE_QUERIES; i++) sqlite3_finalize(take_part->statements[i]);
  free(take_part);
}

trilha_status trilha_sqlite_cursors_advance_in(trilha_store *store, void *connection, const trilha_lease *lease,
                                               const trilha_cursor *cursors, size_t count,
                                               const unsigned char (*resolved_event_ids)[16], size_t resolved_count,
                                               trilha_error *err) {
  trilha_sqlite_connection *part = NULL;
  char schema[TRILHA_COLONY_SCHEMA_SIZE];
  trilha_status status = trilha_sqlite_part_begin(store, connection, &part, err);
  if (status == TRILHA_OK) status = trilha_colony_schema_name(lease->colonia, schema, err);
  if (status == TRILHA_OK)
    status = advance(part, lease, schema, cursors, count, resolved_event_ids, resolved_count, err);
  trilha_sqlite_part_end(part);
  return status;
}

/* --- for operators
 * ---------------------------------------------------------------------------------------------------- */

typedef struct listing {
  trilha_sqlite_connection *c;
  trilha_arena arena;
  trilha_sqlite_moment m;
  trilha_consumer_row *rows;
  size_t count, capacity;
} listing;

static trilha_status add_row(listing *l, const trilha_consumer_row *row, trilha_error *err) {
  if (l->count == l->capacity) {
    size_t capacity = l->capacity == 0 ? 32 : l->capacity * 2;
    trilha_consumer_row *rows = realloc(l->rows, capacity * sizeof *rows);
    if (rows == NULL) return trilha_error_no_memory(err);
    l->rows = rows;
    l->capacity = capacity;
  }
  l->rows[l->count++] = *row;
  return TRILHA_OK;
}

static trilha_status lag_of(listing *l, trilha_consumer_row *row, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  bool any = false;
  trilha_text oldest = {0};
  row->oldest_lag_us = INT64_MIN;
  trilha_status status = trilha_sqlite_prepare(l->c, TRILHA_SQLITE_LAG_COUNT, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, row->tipo);
  sqlite3_bind_int64(s, 2, row->last_sequence);
  sqlite3_bind_int64(s, 3, LAG_COUNT_MAX);
  status = trilha_sqlite_value(l->c, s, &row->lag_events, &any, err);
  if (status != TRILHA_OK || row->lag_events == 0) return status;
  status = trilha_sqlite_prepare(l->c, TRILHA_SQLITE_LAG_OLDEST, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, row->tipo);
  sqlite3_bind_int64(s, 2, row->last_sequence);
  status = trilha_sqlite_step(l->c, s, &any, err);
  if (status != TRILHA_OK || !any) return status;
  status = trilha_sqlite_column(s, 0, &l->arena, &oldest, err);
  sqlite3_reset(s);
  return status == TRILHA_OK ? trilha_sqlite_timestamp_read(oldest, &row->oldest_lag_us, err) : status;
}

/* The lease whose types name this one. */
static trilha_status holder_of(listing *l, trilha_consumer_row *row, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  bool any = false;
  row->grupo = TRILHA_TEXT("");
  trilha_status status = trilha_sqlite_prepare(l->c, TRILHA_SQLITE_LEASE_OF_TYPE, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, row->colonia);
  trilha_sqlite_bind(s, 2, trilha_text_of(l->m.boot_id));
  sqlite3_bind_int64(s, 3, l->m.boot_us);
  trilha_sqlite_bind(s, 4, row->tipo);
  status = trilha_sqlite_step(l->c, s, &any, err);
  if (status == TRILHA_OK && any) {
    status = trilha_sqlite_column(s, 0, &l->arena, &row->grupo, err);
    if (status == TRILHA_OK) status = trilha_sqlite_column(s, 1, &l->arena, &row->holder, err);
    row->token = sqlite3_column_int64(s, 2);
    row->live = sqlite3_column_int(s, 3) == 1;
  }
  sqlite3_reset(s);
  return status;
}

static trilha_status list_colony(listing *l, trilha_text colonia, const char *schema, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = prepare(l->c, trilha_sql_sqlite_colony_offsets_all, schema, &s, err);
  while (status == TRILHA_OK) {
    bool any = false;
    trilha_text updated = {0};
    trilha_consumer_row row = {.colonia = colonia};
    status = trilha_sqlite_step(l->c, s, &any, err);
    if (status != TRILHA_OK || !any) break;
    row.last_sequence = sqlite3_column_int64(s, 1);
    status = trilha_sqlite_column(s, 0, &l->arena, &row.tipo, err);
    if (status == TRILHA_OK) status = trilha_sqlite_column(s, 2, &l->arena, &updated, err);
    if (status == TRILHA_OK) status = trilha_sqlite_timestamp_read(updated, &row.updated_at_us, err);
    if (status == TRILHA_OK) status = holder_of(l, &row, err);
    if (status == TRILHA_OK) status = lag_of(l, &row, err);
    if (status == TRILHA_OK) status = add_row(l, &row, err);
  }
  sqlite3_finalize(s);
  return status;
}

static trilha_status list_all(listing *l, trilha_text wanted, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(l->c, TRILHA_SQLITE_COLONIES_ALL, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, wanted);
  while (status == TRILHA_OK) {
    bool any = false;
    trilha_text colonia = {0}, schema = {0};
    status = trilha_sqlite_step(l->c, s, &any, err);
    if (status != TRILHA_OK || !any) break;
    status = trilha_sqlite_column(s, 0, &l->arena, &colonia, err);
    if (status == TRILHA_OK) status = trilha_sqlite_column(s, 1, &l->arena, &schema, err);
    if (status == TRILHA_OK) status = list_colony(l, colonia, schema.data, err);
  }
  sqlite3_reset(s);
  return status;
}

trilha_status trilha_sqlite_consumers_list(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                           trilha_consumer_visit visit, void *user, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  listing l = {0};
  trilha_sqlite_moment_now(&l.m);
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &l.c, err);
  if (status != TRILHA_OK) return status;
  status = list_all(&l, colonia, err);
  trilha_sqlite_read_end(s, l.c);
  for (size_t i = 0; i < l.count && status == TRILHA_OK; i++) status = visit(user, &l.rows[i], err);
  trilha_arena_done(&l.arena);
  free(l.rows);
  return status;
}
