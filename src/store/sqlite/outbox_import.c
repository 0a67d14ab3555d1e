/* store/sqlite/outbox_import: the backlog of another dispatcher's table in the same file becomes messages, a batch a
 * transaction, each through the same door as every other message. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/uuid.h"
#include "sqlite_import_queries.h"
#include "store/sqlite/outbox.h"

enum { FIRST_OWN_PARAMETER = 4 }; /* those before it are the queries'; then fields, then conditions */

/* --- statements over the foreign table ---------------------------------------------------------------------------- */

typedef struct marks { /* what stands for {{…}}; absent: nothing */
  trilha_text prefix, table, position, column, number, rows, fields, behind, conditions;
} marks;

static void add_name(trilha_buffer *out, trilha_text name) {
  trilha_buffer_add_char(out, '"');
  for (size_t i = 0; i < name.size; i++) {
    if (name.data[i] == '"') trilha_buffer_add_char(out, '"');
    trilha_buffer_add_char(out, name.data[i]);
  }
  trilha_buffer_add_char(out, '"');
}

static trilha_text mark_of(const marks *m, trilha_text name) {
  const struct {
    const char *name;
    trilha_text text;
  } all[] = {{"p", m->prefix},      {"table", m->table},   {"position", m->position},
             {"column", m->column}, {"number", m->number}, {"rows", m->rows},
             {"fields", m->fields}, {"behind", m->behind}, {"conditions", m->conditions}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (trilha_text_is(name, all[i].name)) return all[i].text;
  return (trilha_text){0};
}

static void fill_in(trilha_buffer *out, const char *piece, const marks *m) {
  for (const char *open = strstr(piece, "{{"); open != NULL; open = strstr(piece, "{{")) {
    const char *close = strstr(open, "}}");
    trilha_buffer_append(out, piece, (size_t)(open - piece));
    trilha_buffer_add_text(out, mark_of(m, (trilha_text){open + 2, (size_t)(close - open - 2)}));
    piece = close + 2;
  }
  trilha_buffer_add_string(out, piece);
}

/* A piece with a column and a parameter of its own. */
static void add_piece(trilha_buffer *out, const char *piece, trilha_text column, size_t number) {
  char digits[24];
  TRILHA_BUFFER_SCOPED name;
  trilha_buffer_init(&name, 0);
  if (column.data != NULL) add_name(&name, column);
  snprintf(digits, sizeof digits, "%zu", number);
  const marks m = {.column = trilha_buffer_text(&name), .number = trilha_text_of(digits)};
  fill_in(out, piece, &m);
}

static void add_field(trilha_buffer *out, const trilha_outbox_mapping *mapping, size_t i) {
  const trilha_mapped_field *field = &mapping->fields[i];
  add_piece(out,
            field->column.data == NULL ? trilha_sql_sqlite_import_field_value : trilha_sql_sqlite_import_field_column,
            field->column, FIRST_OWN_PARAMETER + i);
}

static void add_conditions(trilha_buffer *out, const trilha_outbox_mapping *mapping) {
  for (size_t i = 0; i < mapping->condition_count; i++) {
    trilha_buffer_add_char(out, ' ');
    add_piece(out, trilha_sql_sqlite_import_condition, mapping->conditions[i].column,
              FIRST_OWN_PARAMETER + TRILHA_MAPPED_FIELDS + i);
  }
}

static void bind_own(sqlite3_stmt *statement, const trilha_outbox_mapping *mapping) {
  for (int i = 0; i < TRILHA_MAPPED_FIELDS; i++)
    if (mapping->fields[i].column.data == NULL)
      trilha_sqlite_bind(statement, FIRST_OWN_PARAMETER + i, mapping->fields[i].value);
  for (size_t i = 0; i < mapping->condition_count; i++)
    trilha_sqlite_bind(statement, FIRST_OWN_PARAMETER + TRILHA_MAPPED_FIELDS + (int)i, mapping->conditions[i].value);
}

typedef struct importing {
  trilha_sqlite_connection *c;
  const char *prefix;
  trilha_outbox_import_step *step;
  const trilha_outbox_mapping *mapping;
} importing;

/* `piece` over the backlog, its constants bound. fields: for {{fields}}; behind: with that condition. */
static trilha_status prepare(const importing *im, const char *piece, trilha_text fields, bool behind,
                             sqlite3_stmt **ret_statement, trilha_error *err) {
  TRILHA_BUFFER_SCOPED table, position, conditions, rows, after, sql;
  trilha_buffer *const all[] = {&table, &position, &conditions, &rows, &after, &sql};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) trilha_buffer_init(all[i], 0);
  add_name(&table, im->mapping->table);
  add_name(&position, im->mapping->position);
  add_conditions(&conditions, im->mapping);
  marks m = {.prefix = trilha_text_of(im->prefix),
             .table = trilha_buffer_text(&table),
             .position = trilha_buffer_text(&position),
             .conditions = trilha_buffer_text(&conditions),
             .fields = fields};
  fill_in(&rows, trilha_sql_sqlite_import_rows, &m);
  trilha_buffer_add_char(&after, ' ');
  fill_in(&after, trilha_sql_sqlite_import_behind, &m);
  m.rows = trilha_buffer_text(&rows);
  if (behind) m.behind = trilha_buffer_text(&after);
  fill_in(&sql, piece, &m);
  trilha_status status = trilha_buffer_check(&sql, err);
  if (status != TRILHA_OK) return status;
  int rc = sqlite3_prepare_v2(im->c->db, sql.data, -1, ret_statement, NULL);
  if (rc == SQLITE_OK) {
    bind_own(*ret_statement, im->mapping);
    return TRILHA_OK;
  }
  if (rc == SQLITE_ERROR && strstr(sqlite3_errmsg(im->c->db), "no such") != NULL)
    return trilha_error_set(err, TRILHA_INVALID, "IMPORT_TABLE", "the mapping does not fit the database: %s",
                            sqlite3_errmsg(im->c->db));
  return trilha_sqlite_fail(im->c, rc, err, "reading the foreign table");
}

/* --- beginning --------------------------------------------------------------------------------------------------- */

/* A double-quoted name that is no column would be taken for a text by SQLite: each is looked for. */
static trilha_status check_columns(const importing *im, trilha_error *err) {
  trilha_text names[1 + TRILHA_MAPPED_FIELDS];
  const trilha_outbox_mapping *m = im->mapping;
  names[0] = m->position;
  for (size_t i = 0; i < TRILHA_MAPPED_FIELDS; i++) names[1 + i] = m->fields[i].column;
  for (size_t i = 0; i < 1 + TRILHA_MAPPED_FIELDS + m->condition_count; i++) {
    trilha_text name = i <= TRILHA_MAPPED_FIELDS ? names[i] : m->conditions[i - 1 - TRILHA_MAPPED_FIELDS].column;
    TRILHA_SQLITE_SCOPED *look = NULL;
    int64_t count = 0;
    bool any = false;
    if (name.data == NULL) continue;
    trilha_status status =
        trilha_sqlite_outbox_prepare(im->c, im->prefix, trilha_sql_sqlite_import_has_column, &look, err);
    if (status != TRILHA_OK) return status;
    trilha_sqlite_bind(look, 1, m->table);
    trilha_sqlite_bind(look, 2, name);
    status = trilha_sqlite_value(im->c, look, &count, &any, err);
    if (status == TRILHA_OK && count == 0)
      return trilha_error_set(err, TRILHA_INVALID, "IMPORT_TABLE", "the table %.*s has no column %.*s, or is not there",
                              (int)m->table.size, m->table.data, (int)name.size, name.data);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

static trilha_status check_paths(const importing *im, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *unheld = NULL;
  TRILHA_BUFFER_SCOPED type;
  bool row = false;
  trilha_buffer_init(&type, 0);
  add_field(&type, im->mapping, TRILHA_MAPPED_MESSAGE_TYPE);
  trilha_status status = prepare(im, trilha_sql_sqlite_import_unheld, trilha_buffer_text(&type), false, &unheld, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(unheld, 1, im->mapping->holder);
  status = trilha_sqlite_step(im->c, unheld, &row, err);
  if (status != TRILHA_OK || !row) return status;
  trilha_text name = trilha_sqlite_borrow(unheld, 0);
  return trilha_error_set(err, TRILHA_CONFLICT, "IMPORT_PATH",
                          "%.*s does not hold the path of %.*s: `trilha outbox hold` first, or its cut is closed",
                          (int)im->mapping->holder.size, im->mapping->holder.data, (int)name.size, name.data);
}

typedef struct counts {
  int64_t upto, behind;
  bool ordered;
} counts;

/* cut: a row's column, or NULL for all. *ret_query (may be NULL): the query with its values, freed by sqlite3_free. */
static trilha_status count_rows(const importing *im, sqlite3_stmt *cut_row, int cut_column, counts *ret,
                                char **ret_query, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *count = NULL;
  bool row = false;
  trilha_status status = prepare(im, trilha_sql_sqlite_import_count, (trilha_text){0}, false, &count, err);
  if (status != TRILHA_OK) return status;
  if (cut_row != NULL) sqlite3_bind_value(count, 1, sqlite3_column_value(cut_row, cut_column));
  status = trilha_sqlite_step(im->c, count, &row, err);
  if (status != TRILHA_OK || !row) return status;
  *ret = (counts){sqlite3_column_int64(count, 0), sqlite3_column_int64(count, 1), sqlite3_column_int64(count, 2) != 0};
  if (ret_query == NULL) return TRILHA_OK;
  *ret_query = sqlite3_expanded_sql(count);
  return *ret_query == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

/* The import's row, if it was begun; the caller finalizes. */
static trilha_status find_import(const importing *im, sqlite3_stmt **ret_row, bool *ret_begun, trilha_error *err) {
  trilha_status status =
      trilha_sqlite_outbox_prepare(im->c, im->prefix, trilha_sql_sqlite_outbox_import_get, ret_row, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(*ret_row, 1, im->mapping->name);
  return trilha_sqlite_step(im->c, *ret_row, ret_begun, err);
}

static trilha_status check_begun(const importing *im, sqlite3_stmt *begun, trilha_error *err) {
  char finished[TRILHA_TIMESTAMP_SIZE];
  if (sqlite3_column_type(begun, 6) != SQLITE_NULL)
    return trilha_error_set(err, TRILHA_CONFLICT, "IMPORT_CLOSED",
                            "this import was finished at %s: a backlog comes over once",
                            trilha_sqlite_time_text(begun, 6, finished).data);
  if (!trilha_text_equal(trilha_sqlite_borrow(begun, 1), im->mapping->json))
    return trilha_error_set(err, TRILHA_CONFLICT, "IMPORT_CLOSED",
                            "this import was begun with another mapping: go on with that one");
  return TRILHA_OK;
}

/* Writes the cut down: in a new row, or in that of an import whose cut is copied. */
static trilha_status write_cut(const importing *im, bool begun, int64_t total, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *last = NULL, *put = NULL;
  bool any = false;
  trilha_status status = prepare(im, trilha_sql_sqlite_import_last, (trilha_text){0}, false, &last, err);
  if (status == TRILHA_OK) status = trilha_sqlite_step(im->c, last, &any, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(
        im->c, im->prefix, begun ? trilha_sql_sqlite_outbox_import_cut : trilha_sql_sqlite_outbox_import_put, &put,
        err);
  if (status != TRILHA_OK) return status;
  int cut = begun ? 2 : 4, count = begun ? 3 : 5;
  trilha_sqlite_bind(put, 1, im->mapping->name);
  if (any) sqlite3_bind_value(put, cut, sqlite3_column_value(last, 0));
  sqlite3_bind_int64(put, count, total);
  if (!begun) {
    trilha_sqlite_bind(put, 2, im->mapping->holder);
    trilha_sqlite_bind(put, 3, im->mapping->json);
    sqlite3_bind_int64(put, 6, trilha_clock_wall_us());
    trilha_sqlite_bind(put, 7, im->step->user);
    trilha_sqlite_bind(put, 8, im->step->reason);
  }
  return trilha_sqlite_outbox_run(im->c, put, NULL, err);
}

static bool cut_is_copied(sqlite3_stmt *begun) {
  bool none = sqlite3_column_type(begun, 2) == SQLITE_NULL;
  if (none || sqlite3_column_type(begun, 3) == SQLITE_NULL) return none;
  return trilha_text_equal(trilha_sqlite_borrow(begun, 2), trilha_sqlite_borrow(begun, 3));
}

static trilha_status begin_in(const importing *im, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *import = NULL;
  counts n = {0};
  bool begun = false;
  trilha_status status = find_import(im, &import, &begun, err);
  if (status == TRILHA_OK && begun) status = check_begun(im, import, err);
  if (status == TRILHA_OK) status = check_columns(im, err);
  if (status == TRILHA_OK) status = count_rows(im, NULL, 0, &n, NULL, err);
  if (status == TRILHA_OK && !n.ordered)
    status = trilha_error_set(err, TRILHA_INVALID, "IMPORT_TABLE",
                              "the column %.*s has NULLs or repeats: positions must be unique",
                              (int)im->mapping->position.size, im->mapping->position.data);
  if (status == TRILHA_OK) status = check_paths(im, err);
  if (status != TRILHA_OK) return status;
  bool moves = !begun || cut_is_copied(import);
  im->step->total = moves ? n.upto : sqlite3_column_int64(import, 4);
  im->step->imported = begun ? sqlite3_column_int64(import, 5) : 0;
  sqlite3_reset(import);
  return moves && !im->step->dry_run ? write_cut(im, begun, n.upto, err) : TRILHA_OK;
}

trilha_status trilha_sqlite_outbox_import_begin(trilha_outbox_store *store, trilha_outbox_import_step *step,
                                                trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  importing im = {.prefix = o->prefix, .step = step, .mapping = step->mapping};
  trilha_status status = trilha_sqlite_outbox_begin(o, &im.c, err);
  return status == TRILHA_OK ? trilha_sqlite_outbox_end(o, begin_in(&im, err), err) : status;
}

/* --- a batch ------------------------------------------------------------------------------------------------------ */

/* A UUIDv8 of an import's name and a row's own key, as outbox_import_id on PostgreSQL. */
static void derive_id(trilha_text name, trilha_text key, char out[TRILHA_UUID_TEXT_SIZE]) {
  unsigned char digest[TRILHA_SHA256_SIZE];
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  trilha_buffer_add_text(&text, name);
  trilha_buffer_add_char(&text, ':');
  trilha_buffer_add_text(&text, key);
  trilha_sha256(trilha_buffer_text(&text), digest);
  digest[6] = (unsigned char)((digest[6] & 15) | 128);
  digest[8] = (unsigned char)((digest[8] & 63) | 128);
  trilha_uuid_format(digest, out);
}

/* Borrowed from the row, the mapping, or `room`. */
static trilha_text field_of(const importing *im, sqlite3_stmt *row, int i, char room[TRILHA_UUID_TEXT_SIZE]) {
  trilha_text text = trilha_sqlite_borrow(row, 1 + i);
  if (!im->mapping->fields[i].derived || text.data == NULL) return text;
  derive_id(im->mapping->name, text, room);
  return trilha_text_of(room);
}

static trilha_status refuse_row(sqlite3_stmt *row, const trilha_error *why, trilha_error *err) {
  trilha_text position = trilha_sqlite_borrow(row, 0);
  return trilha_error_set(err, why->status, why->code, "the row at position %.*s: %s", (int)position.size,
                          position.data, why->text);
}

static trilha_status put_row(const importing *im, sqlite3_stmt *row, sqlite3_stmt *put, trilha_error *err) {
  char ids[TRILHA_MAPPED_FIELDS][TRILHA_UUID_TEXT_SIZE];
  trilha_text fields[TRILHA_MAPPED_FIELDS];
  trilha_error own = {0};
  for (int i = 0; i < TRILHA_MAPPED_FIELDS; i++) fields[i] = field_of(im, row, i, ids[i]);
  if (fields[TRILHA_MAPPED_CORRELATION_ID].data == NULL)
    fields[TRILHA_MAPPED_CORRELATION_ID] = fields[TRILHA_MAPPED_MESSAGE_ID];
  if (fields[TRILHA_MAPPED_MESSAGE_ID].data == NULL)
    trilha_error_set(&own, TRILHA_INVALID, "MESSAGE_REFUSED", "it has no message_id");
  for (int i = 0; i < TRILHA_MAPPED_FIELDS; i++) trilha_sqlite_bind(put, 1 + i, fields[i]);
  trilha_status status =
      own.status == TRILHA_OK ? trilha_sqlite_outbox_run_enqueue(im->c, put, NULL, &own) : own.status;
  sqlite3_reset(put);
  return status == TRILHA_OK ? TRILHA_OK : refuse_row(row, &own, err);
}

static trilha_status set_importing(const importing *im, bool importing_now, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *set = NULL;
  trilha_status status =
      trilha_sqlite_outbox_prepare(im->c, im->prefix, trilha_sql_sqlite_outbox_path_importing, &set, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(set, 1, im->mapping->holder);
  sqlite3_bind_int(set, 2, importing_now ? 1 : 0);
  return trilha_sqlite_outbox_run(im->c, set, NULL, err);
}

/* Each row through the view outbox_enqueue. *ret_last: the last row's position, freed by sqlite3_value_free. */
static trilha_status copy_rows(const importing *im, sqlite3_stmt *page, sqlite3_value **ret_last, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *put = NULL;
  bool row = false;
  trilha_status status = trilha_sqlite_outbox_prepare(im->c, im->prefix, trilha_sql_sqlite_outbox_enqueue, &put, err);
  if (status == TRILHA_OK) status = trilha_sqlite_step(im->c, page, &row, err);
  while (status == TRILHA_OK && row) {
    status = put_row(im, page, put, err);
    sqlite3_value_free(*ret_last);
    *ret_last = sqlite3_value_dup(sqlite3_column_value(page, 0));
    if (status == TRILHA_OK && *ret_last == NULL) status = trilha_error_no_memory(err);
    im->step->copied++;
    if (status == TRILHA_OK) status = trilha_sqlite_step(im->c, page, &row, err);
  }
  return status;
}

static trilha_status write_place(const importing *im, const sqlite3_value *last, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *at = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(im->c, im->prefix, trilha_sql_sqlite_outbox_import_at, &at, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(at, 1, im->mapping->name);
  sqlite3_bind_value(at, 2, last);
  sqlite3_bind_int64(at, 3, im->step->copied);
  return trilha_sqlite_outbox_run(im->c, at, NULL, err);
}

static trilha_status note_copied(const importing *im, trilha_error *err) {
  char name[256];
  snprintf(name, sizeof name, "%.*s", (int)im->mapping->name.size, im->mapping->name.data);
  const trilha_sqlite_upkeep u = {.action = "trilha.outbox-message.imported",
                                  .subject = name,
                                  .now_us = trilha_clock_wall_us(),
                                  .rows = im->step->copied,
                                  .user = im->step->user,
                                  .reason = im->step->reason};
  return trilha_sqlite_outbox_note_upkeep(im->c, im->prefix, &u, err);
}

static trilha_status finish(const importing *im, sqlite3_stmt *import, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *done = NULL;
  counts n = {0};
  char *query = NULL;
  bool empty = sqlite3_column_type(import, 2) == SQLITE_NULL;
  int64_t imported = sqlite3_column_int64(import, 5);
  trilha_status status = count_rows(im, import, 2, &n, &query, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_judge_counts(n.upto, n.behind, empty, imported, im->mapping->holder, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(im->c, im->prefix, trilha_sql_sqlite_outbox_import_done, &done, err);
  if (status == TRILHA_OK) {
    trilha_sqlite_bind(done, 1, im->mapping->name);
    sqlite3_bind_int64(done, 2, trilha_clock_wall_us());
    trilha_sqlite_bind(done, 3, trilha_text_of(query));
    sqlite3_reset(import);
    status = trilha_sqlite_outbox_run(im->c, done, NULL, err);
  }
  sqlite3_free(query);
  return status;
}

static trilha_status open_page(const importing *im, sqlite3_stmt *import, sqlite3_stmt **ret_page, trilha_error *err) {
  TRILHA_BUFFER_SCOPED fields;
  bool behind = sqlite3_column_type(import, 3) != SQLITE_NULL;
  trilha_buffer_init(&fields, 0);
  for (size_t i = 0; i < TRILHA_MAPPED_FIELDS; i++) {
    if (i > 0) trilha_buffer_add_string(&fields, ", ");
    add_field(&fields, im->mapping, i);
  }
  trilha_status status = prepare(im, trilha_sql_sqlite_import_page, trilha_buffer_text(&fields), behind, ret_page, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_value(*ret_page, 1, sqlite3_column_value(import, 2));
  if (behind) sqlite3_bind_value(*ret_page, 2, sqlite3_column_value(import, 3));
  sqlite3_bind_int64(*ret_page, 3, im->step->rows_max);
  return TRILHA_OK;
}

/* The view's trigger is the outbox's own and looks into JSON, which a schema that is not trusted may not. */
static void trust_schema(const importing *im, bool trusted) {
  sqlite3_db_config(im->c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, trusted ? 1 : 0, NULL);
}

static trilha_status copy_batch(const importing *im, sqlite3_stmt *import, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *page = NULL;
  sqlite3_value *last = NULL;
  trilha_status status = open_page(im, import, &page, err);
  if (status == TRILHA_OK) status = set_importing(im, true, err);
  trust_schema(im, true);
  if (status == TRILHA_OK) status = copy_rows(im, page, &last, err);
  trust_schema(im, false);
  if (status == TRILHA_OK) status = set_importing(im, false, err);
  sqlite3_reset(page);
  if (status == TRILHA_OK && im->step->copied > 0) {
    sqlite3_reset(import); /* its row changes */
    status = write_place(im, last, err);
    if (status == TRILHA_OK) status = note_copied(im, err);
  }
  sqlite3_value_free(last);
  return status;
}

static trilha_status batch_in(const importing *im, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *import = NULL;
  bool begun = false;
  trilha_status status = find_import(im, &import, &begun, err);
  if (status == TRILHA_OK && !begun)
    return trilha_error_set(err, TRILHA_CONFLICT, "IMPORT_CLOSED", "this import was taken away meanwhile");
  if (status == TRILHA_OK) status = check_begun(im, import, err);
  if (status == TRILHA_OK) status = copy_batch(im, import, err);
  if (status != TRILHA_OK || im->step->copied > 0) return status;
  im->step->ended = true;
  return finish(im, import, err);
}

trilha_status trilha_sqlite_outbox_import_batch(trilha_outbox_store *store, trilha_outbox_import_step *step,
                                                trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  importing im = {.prefix = o->prefix, .step = step, .mapping = step->mapping};
  step->copied = 0;
  step->ended = false;
  trilha_status status = trilha_sqlite_outbox_begin(o, &im.c, err);
  return status == TRILHA_OK ? trilha_sqlite_outbox_end(o, batch_in(&im, err), err) : status;
}
