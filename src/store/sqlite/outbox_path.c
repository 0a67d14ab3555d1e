/* store/sqlite/outbox_path: which types another dispatcher still delivers, and taking them over. */
#include <stdio.h>

#include "store/sqlite/outbox.h"

static trilha_status put_path(trilha_sqlite_connection *c, const char *prefix, const trilha_outbox_path *path,
                              bool *ret_new, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *put = NULL;
  int changes = 0;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_path_put, &put, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(put, 1, path->type_pattern);
  trilha_sqlite_bind(put, 2, path->holder);
  sqlite3_bind_int64(put, 3, trilha_clock_wall_us());
  trilha_sqlite_bind(put, 4, path->user);
  trilha_sqlite_bind(put, 5, path->reason);
  status = trilha_sqlite_outbox_run(c, put, &changes, err);
  *ret_new = changes == 1;
  return status;
}

/* The holder's name, borrowed from *ret_statement; absent: nobody holds it. */
static trilha_status find_holder(trilha_sqlite_connection *c, const char *prefix, trilha_text pattern,
                                 sqlite3_stmt **ret_statement, trilha_text *ret_holder, trilha_error *err) {
  bool row = false;
  trilha_status status =
      trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_path_holder, ret_statement, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(*ret_statement, 1, pattern);
  status = trilha_sqlite_step(c, *ret_statement, &row, err);
  *ret_holder = status == TRILHA_OK && row ? trilha_sqlite_borrow(*ret_statement, 0) : (trilha_text){0};
  return status;
}

static trilha_status note_path(trilha_sqlite_connection *c, const char *prefix, const char *action, const char *subject,
                               int64_t rows, trilha_text user, trilha_text reason, trilha_error *err) {
  const trilha_sqlite_upkeep u = {.action = action,
                                  .subject = subject,
                                  .now_us = trilha_clock_wall_us(),
                                  .rows = rows,
                                  .user = user,
                                  .reason = reason};
  return trilha_sqlite_outbox_note_upkeep(c, prefix, &u, err);
}

static trilha_status hold_in(trilha_sqlite_connection *c, const char *prefix, const trilha_outbox_path *path,
                             bool *ret_new, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  TRILHA_BUFFER_SCOPED subject;
  trilha_text holder = {0};
  trilha_buffer_init(&subject, 0);
  trilha_status status = put_path(c, prefix, path, ret_new, err);
  if (status == TRILHA_OK) status = find_holder(c, prefix, path->type_pattern, &find, &holder, err);
  if (status != TRILHA_OK) return status;
  if (!trilha_text_equal(holder, path->holder))
    return trilha_error_set(err, TRILHA_CONFLICT, "PATH_HELD_BY_OTHER",
                            "%.*s holds these types: take them over from it first", (int)holder.size, holder.data);
  if (!*ret_new) return TRILHA_OK;
  trilha_buffer_add_text(&subject, path->type_pattern);
  trilha_buffer_add_string(&subject, " by ");
  trilha_buffer_add_text(&subject, path->holder);
  status = trilha_buffer_check(&subject, err);
  if (status != TRILHA_OK) return status;
  return note_path(c, prefix, "trilha.outbox-path.held", subject.data, -1, path->user, path->reason, err);
}

trilha_status trilha_sqlite_outbox_path_hold(trilha_outbox_store *store, const trilha_outbox_path *path, bool *ret_new,
                                             trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, hold_in(c, o->prefix, path, ret_new, err), err);
}

/* --- taking over ------------------------------------------------------------------------------------------------- */

trilha_status trilha_sqlite_outbox_judge_counts(int64_t upto, int64_t behind, bool empty_cut, int64_t imported,
                                                trilha_text holder, trilha_error *err) {
  int64_t came = empty_cut ? upto : behind, kept = empty_cut ? 0 : upto;
  if (came == 0 && kept == imported) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_CONFLICT, "IMPORT_CHANGED",
                          "since the cut %lld rows came into the table of %.*s, and %lld of those up to it are no "
                          "longer what was copied: stop its writers and its dispatcher, then import again",
                          (long long)came, (int)holder.size, holder.data,
                          (long long)(imported > kept ? imported - kept : kept - imported));
}

/* The query was written down by the import that was finished; it has no parameters left. */
static trilha_status count_again(trilha_sqlite_connection *c, const char *query, bool empty_cut, int64_t imported,
                                 trilha_text holder, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *count = NULL;
  bool row = false;
  int rc = sqlite3_prepare_v2(c->db, query, -1, &count, NULL);
  if (rc != SQLITE_OK)
    return trilha_error_set(err, TRILHA_CONFLICT, "IMPORT_CHANGED",
                            "the table of %.*s cannot be counted any more: override when it is gone on purpose",
                            (int)holder.size, holder.data);
  trilha_status status = trilha_sqlite_step(c, count, &row, err);
  if (status != TRILHA_OK || !row) return status;
  return trilha_sqlite_outbox_judge_counts(sqlite3_column_int64(count, 0), sqlite3_column_int64(count, 1), empty_cut,
                                           imported, holder, err);
}

static trilha_status check_imports(trilha_sqlite_connection *c, const char *prefix, trilha_text holder,
                                   trilha_error *err) {
  TRILHA_SQLITE_SCOPED *imports = NULL;
  bool row = false;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_imports_of, &imports, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(imports, 1, holder);
  status = trilha_sqlite_step(c, imports, &row, err);
  while (status == TRILHA_OK && row) {
    if (sqlite3_column_type(imports, 1) == SQLITE_NULL)
      return trilha_error_set(err, TRILHA_CONFLICT, "IMPORT_CHANGED",
                              "the import %s is not finished: go on with it, or override",
                              (const char *)sqlite3_column_text(imports, 0));
    status = count_again(c, (const char *)sqlite3_column_text(imports, 4), sqlite3_column_int64(imports, 2) != 0,
                         sqlite3_column_int64(imports, 3), holder, err);
    if (status == TRILHA_OK) status = trilha_sqlite_step(c, imports, &row, err);
  }
  return status;
}

static trilha_status drop_path(trilha_sqlite_connection *c, const char *prefix, trilha_text pattern, int64_t *ret_woken,
                               trilha_error *err) {
  TRILHA_SQLITE_SCOPED *drop = NULL, *wake = NULL;
  int changes = 0;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_path_drop, &drop, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_path_wake, &wake, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(drop, 1, pattern);
  sqlite3_bind_int64(wake, 1, trilha_clock_wall_us());
  status = trilha_sqlite_outbox_run(c, drop, NULL, err);
  if (status == TRILHA_OK) status = trilha_sqlite_outbox_run(c, wake, &changes, err);
  *ret_woken = changes;
  return status;
}

typedef struct taking {
  trilha_text pattern, user, reason;
  bool override;
} taking;

static trilha_status take_in(trilha_sqlite_connection *c, const char *prefix, const taking *t, int64_t *ret_woken,
                             trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  TRILHA_BUFFER_SCOPED subject;
  trilha_text holder = {0};
  trilha_buffer_init(&subject, 0);
  trilha_status status = find_holder(c, prefix, t->pattern, &find, &holder, err);
  if (status != TRILHA_OK) return status;
  if (holder.data == NULL)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "PATH_NOT_HELD",
                            "nobody holds this path: `trilha outbox paths` lists those that are held");
  if (!t->override) status = check_imports(c, prefix, holder, err);
  trilha_buffer_add_text(&subject, t->pattern);
  trilha_buffer_add_string(&subject, " from ");
  trilha_buffer_add_text(&subject, holder);
  if (t->override) trilha_buffer_add_string(&subject, " (override)");
  if (status == TRILHA_OK) status = trilha_buffer_check(&subject, err);
  sqlite3_reset(find); /* its row goes */
  if (status == TRILHA_OK) status = drop_path(c, prefix, t->pattern, ret_woken, err);
  if (status != TRILHA_OK) return status;
  return note_path(c, prefix, "trilha.outbox-path.taken", subject.data, *ret_woken, t->user, t->reason, err);
}

trilha_status trilha_sqlite_outbox_path_take(trilha_outbox_store *store, trilha_text pattern, bool override,
                                             trilha_text user, trilha_text reason, int64_t *ret_woken,
                                             trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  const taking t = {pattern, user, reason, override};
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, take_in(c, o->prefix, &t, ret_woken, err), err);
}

/* --- looking ----------------------------------------------------------------------------------------------------- */

typedef struct visiting {
  trilha_outbox_path_visit visit;
  void *user;
} visiting;

static trilha_status tell_path(sqlite3_stmt *row, void *user) {
  const visiting *v = user;
  char held_at[TRILHA_TIMESTAMP_SIZE];
  const trilha_outbox_path path = {.type_pattern = trilha_sqlite_borrow(row, 0),
                                   .holder = trilha_sqlite_borrow(row, 1),
                                   .held_at = trilha_sqlite_time_text(row, 2, held_at),
                                   .user = trilha_sqlite_borrow(row, 3),
                                   .reason = trilha_sqlite_borrow(row, 4)};
  return v->visit(v->user, &path);
}

trilha_status trilha_sqlite_outbox_paths(trilha_outbox_store *store, trilha_outbox_path_visit visit, void *user,
                                         trilha_error *err) {
  visiting v = {visit, user};
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_paths, .tell = tell_path, .user = &v};
  return trilha_sqlite_outbox_read(store, &r, err);
}
