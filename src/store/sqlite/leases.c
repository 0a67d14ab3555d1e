/* store/sqlite/leases: who consumes for a colony, and what it was asked to run again (rulings R17, R18). */
#include <stddef.h>
#include <stdio.h>
#include "base/uuid.h"

#include "store/sqlite/delivery.h"

static trilha_status lease_lost(trilha_error *err) {
  return trilha_error_set(err, TRILHA_CONFLICT, "LEASE_LOST", "the colony's lease was taken over; nothing was changed");
}

/* --- finding --------------------------------------------------------------------------------------------------- */

typedef struct holder {
  bool found, live;
  int64_t token;
  char name[128];
} holder;

static trilha_status find(trilha_sqlite_connection *c, const trilha_lease *lease, const trilha_sqlite_moment *m,
                          holder *ret, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  *ret = (holder){0};
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_LEASE_FIND, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, lease->colonia);
  trilha_sqlite_bind(s, 2, lease->grupo);
  trilha_sqlite_bind(s, 3, trilha_text_of(m->boot_id));
  sqlite3_bind_int64(s, 4, m->boot_us);
  status = trilha_sqlite_step(c, s, &ret->found, err);
  if (status != TRILHA_OK || !ret->found) return status;
  const char *name = (const char *)sqlite3_column_text(s, 0);
  snprintf(ret->name, sizeof ret->name, "%s", name == NULL ? "" : name);
  ret->token = sqlite3_column_int64(s, 1);
  ret->live = sqlite3_column_int(s, 2) == 1;
  sqlite3_reset(s);
  return TRILHA_OK;
}

trilha_status trilha_sqlite_lease_check(trilha_sqlite_connection *c, const trilha_lease *lease, trilha_error *err) {
  trilha_sqlite_moment m;
  holder h;
  trilha_sqlite_moment_now(&m);
  trilha_status status = find(c, lease, &m, &h, err);
  if (status != TRILHA_OK) return status;
  return h.found && h.token == lease->token ? TRILHA_OK : lease_lost(err);
}

/* --- acquiring --------------------------------------------------------------------------------------------------- */

static void types_as_json(const trilha_text *types, size_t count, trilha_buffer *out) {
  trilha_buffer_add_char(out, '[');
  for (size_t i = 0; i < count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    trilha_buffer_add_char(out, '"');
    for (size_t k = 0; k < types[i].size; k++) {
      char ch = types[i].data[k];
      if ((unsigned char)ch < 0x20) {
        trilha_buffer_add_format(out, "\\u%04x", (unsigned)ch);
        continue;
      }
      if (ch == '"' || ch == '\\') trilha_buffer_add_char(out, '\\');
      trilha_buffer_add_char(out, ch);
    }
    trilha_buffer_add_char(out, '"');
  }
  trilha_buffer_add_char(out, ']');
}

static trilha_status put(trilha_sqlite_connection *c, const trilha_lease *lease, trilha_text types,
                         const trilha_sqlite_moment *m, int64_t lease_ms, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_LEASE_PUT, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, lease->colonia);
  trilha_sqlite_bind(s, 2, lease->grupo);
  trilha_sqlite_bind(s, 3, lease->holder);
  sqlite3_bind_int64(s, 4, lease->token);
  trilha_sqlite_bind(s, 5, trilha_text_of(m->boot_id));
  sqlite3_bind_int64(s, 6, m->boot_us + lease_ms * 1000);
  trilha_sqlite_bind(s, 7, types);
  return trilha_sqlite_execute(c, s, err);
}

static trilha_status forget(trilha_sqlite_connection *c, trilha_text colonia, const trilha_sqlite_moment *m,
                            trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_LEASE_FORGET, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, colonia);
  trilha_sqlite_bind(s, 2, trilha_text_of(m->boot_id));
  sqlite3_bind_int64(s, 3, m->boot_us);
  return trilha_sqlite_execute(c, s, err);
}

/* Two groups of one colony that share a type would share its cursor and lose events. *ret_holder "" when there is none.
 */
static trilha_status find_rival(trilha_sqlite_connection *c, const trilha_lease *lease, trilha_text types,
                                const trilha_sqlite_moment *m, char *ret_holder, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  bool row = false;
  ret_holder[0] = '\0';
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_LEASE_RIVAL, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, lease->colonia);
  trilha_sqlite_bind(s, 2, lease->grupo);
  trilha_sqlite_bind(s, 3, trilha_text_of(m->boot_id));
  sqlite3_bind_int64(s, 4, m->boot_us);
  trilha_sqlite_bind(s, 5, types);
  status = trilha_sqlite_step(c, s, &row, err);
  const char *whose = status == TRILHA_OK && row ? (const char *)sqlite3_column_text(s, 0) : NULL;
  if (whose != NULL) snprintf(ret_holder, 128, "%s", whose);
  sqlite3_reset(s);
  return status;
}

static bool is_live_group(const trilha_lease *lease) {
  return lease->grupo.size >= 5 && memcmp(lease->grupo.data, "live ", 5) == 0;
}

static trilha_status acquire(trilha_sqlite_connection *c, trilha_lease *lease, trilha_text types, int64_t lease_ms,
                             char *ret_holder, trilha_error *err) {
  trilha_sqlite_moment m;
  holder h;
  trilha_sqlite_moment_now(&m);
  trilha_status status = find(c, lease, &m, &h, err);
  if (status != TRILHA_OK) return status;
  if (h.found && h.live && !trilha_text_is(lease->holder, h.name)) {
    snprintf(ret_holder, sizeof h.name, "%s", h.name);
    return trilha_error_set(err, TRILHA_CONFLICT, "LEASE_HELD", "%s consumes for this colony now", h.name);
  }
  if (!is_live_group(lease)) {
    status = find_rival(c, lease, types, &m, ret_holder, err);
    if (status != TRILHA_OK) return status;
    if (ret_holder[0] != '\0')
      return trilha_error_set(err, TRILHA_CONFLICT, "LEASE_HELD", "%s consumes one of these types in another group",
                              ret_holder);
  }
  status = forget(c, lease->colonia, &m, err);
  if (status == TRILHA_OK) status = trilha_sqlite_fence(c, &lease->token, err);
  return status == TRILHA_OK ? put(c, lease, types, &m, lease_ms, err) : status;
}

trilha_status trilha_sqlite_lease_acquire(trilha_store *store, trilha_lease *lease, const trilha_text *types,
                                          size_t type_count, int64_t lease_ms, char *ret_holder,
                                          trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  TRILHA_BUFFER_SCOPED json;
  trilha_buffer_init(&json, 0);
  types_as_json(types, type_count, &json);
  trilha_status status = trilha_buffer_check(&json, err);
  if (status == TRILHA_OK) status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  trilha_lease taken = *lease;
  status = acquire(c, &taken, trilha_buffer_text(&json), lease_ms, ret_holder, err);
  status = trilha_sqlite_write_end(s, status, err);
  if (status == TRILHA_OK) lease->token = taken.token;
  return status;
}

/* boot_us 0 gives it back. */
static trilha_status extend(trilha_sqlite_store *store, const trilha_lease *lease, int64_t lease_ms,
                            trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_connection *c = NULL;
  sqlite3_stmt *s = NULL;
  trilha_sqlite_moment m;
  int changes = 0;
  trilha_status status = trilha_sqlite_write_begin(store, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_moment_now(&m);
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_LEASE_EXTEND, &s, err);
  if (status == TRILHA_OK) {
    trilha_sqlite_bind(s, 1, lease->colonia);
    trilha_sqlite_bind(s, 2, lease->grupo);
    sqlite3_bind_int64(s, 3, lease->token);
    trilha_sqlite_bind(s, 4, trilha_text_of(m.boot_id));
    sqlite3_bind_int64(s, 5, lease_ms == 0 ? 0 : m.boot_us + lease_ms * 1000);
    status = trilha_sqlite_change(c, s, &changes, err);
  }
  if (status == TRILHA_OK && changes == 0) status = lease_lost(err);
  return trilha_sqlite_write_end(store, status, err);
}

trilha_status trilha_sqlite_lease_renew(trilha_store *store, const trilha_lease *lease, int64_t lease_ms,
                                        trilha_deadline deadline, trilha_error *err) {
  return extend(trilha_sqlite_of(store), lease, lease_ms, deadline, err);
}

trilha_status trilha_sqlite_lease_release(trilha_store *store, const trilha_lease *lease, trilha_deadline deadline,
                                          trilha_error *err) {
  return extend(trilha_sqlite_of(store), lease, 0, deadline, err);
}

/* --- what handlers promise -------------------------------------------------------------------------------------- */

static trilha_status declare(trilha_sqlite_connection *c, const trilha_lease *lease, trilha_text guarantee,
                             trilha_text because, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_sqlite_moment m;
  trilha_sqlite_moment_now(&m);
  trilha_status status = trilha_sqlite_lease_check(c, lease, err);
  if (status == TRILHA_OK) status = trilha_sqlite_prepare(c, TRILHA_SQLITE_LEASE_DECLARE, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, lease->colonia);
  trilha_sqlite_bind(s, 2, lease->grupo);
  trilha_sqlite_bind(s, 3, guarantee);
  trilha_sqlite_bind(s, 4, because);
  trilha_sqlite_bind(s, 5, trilha_text_of(m.now));
  return trilha_sqlite_execute(c, s, err);
}

trilha_status trilha_sqlite_lease_declare(trilha_store *store, const trilha_lease *lease, trilha_text guarantee,
                                          trilha_text because, trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_write_end(s, declare(c, lease, guarantee, because, err), err);
}

static trilha_status read_handler(sqlite3_stmt *s, trilha_arena *arena, trilha_handler_row *row, trilha_error *err) {
  trilha_text declared = {0};
  *row = (trilha_handler_row){.live = sqlite3_column_int(s, 4) == 1, .declared_at_us = INT64_MIN};
  struct {
    int column;
    trilha_text *text;
  } const texts[] = {{0, &row->colonia},   {1, &row->grupo},   {2, &row->tipo}, {3, &row->holder},
                     {5, &row->guarantee}, {6, &row->because}, {7, &declared}};
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; status == TRILHA_OK && i < sizeof texts / sizeof texts[0]; i++)
    if (sqlite3_column_type(s, texts[i].column) != SQLITE_NULL)
      status = trilha_sqlite_column(s, texts[i].column, arena, texts[i].text, err);
  if (status != TRILHA_OK || declared.data == NULL) return status;
  return trilha_sqlite_timestamp_read(declared, &row->declared_at_us, err);
}

trilha_status trilha_sqlite_handlers_list(trilha_store *store, trilha_deadline deadline, trilha_handler_visit visit,
                                          void *user, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  sqlite3_stmt *list = NULL;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_sqlite_moment m;
  trilha_sqlite_moment_now(&m);
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_HANDLERS_LIST, &list, err);
  if (status == TRILHA_OK) {
    trilha_sqlite_bind(list, 1, trilha_text_of(m.boot_id));
    sqlite3_bind_int64(list, 2, m.boot_us);
  }
  bool any = true;
  while (status == TRILHA_OK && any) {
    trilha_handler_row row;
    status = trilha_sqlite_step(c, list, &any, err);
    if (status == TRILHA_OK && any) status = read_handler(list, &arena, &row, err);
    if (status == TRILHA_OK && any) status = visit(user, &row, err);
  }
  if (list != NULL) sqlite3_reset(list);
  trilha_sqlite_read_end(s, c);
  return status;
}

/* --- requests ------------------------------------------------------------------------------------------------------
 */

static trilha_status insert_request(trilha_sqlite_connection *c, int64_t request, trilha_text colonia,
                                    trilha_text user_name, int *ret_rows, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_sqlite_moment m;
  trilha_sqlite_moment_now(&m);
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_REQUEST_INSERT, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, request);
  trilha_sqlite_bind(s, 2, colonia);
  trilha_sqlite_bind(s, 3, user_name.data == NULL ? TRILHA_TEXT("?") : user_name);
  trilha_sqlite_bind(s, 4, trilha_text_of(m.now));
  trilha_sqlite_bind(s, 5, trilha_text_of(m.boot_id));
  sqlite3_bind_int64(s, 6, m.boot_us);
  return trilha_sqlite_change(c, s, ret_rows, err);
}

trilha_status trilha_sqlite_request_create(trilha_store *store, trilha_text colonia, trilha_text user_name,
                                           const trilha_audit_row *audit, trilha_deadline deadline,
                                           int64_t *ret_request, bool *ret_listening, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_text_check(colonia, "colonia", err);
  if (status == TRILHA_OK) status = trilha_sqlite_text_check(user_name, "user_name", err);
  if (status == TRILHA_OK) status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  int64_t request = 0;
  int rows = 0;
  trilha_sqlite_moment m;
  trilha_sqlite_moment_now(&m);
  status = trilha_sqlite_fence(c, &request, err);
  if (status == TRILHA_OK) status = insert_request(c, request, colonia, user_name, &rows, err);
  if (status == TRILHA_OK && audit != NULL) status = trilha_sqlite_audit_write(c, audit, m.now, err);
  status = trilha_sqlite_write_end(s, status, err);
  if (status != TRILHA_OK) return status;
  *ret_request = request;
  *ret_listening = rows > 0;
  return TRILHA_OK;
}

/* ?1 colony, ?2 group, ?3 token; borrowed until the statement is reset. */
static void bind_lease(sqlite3_stmt *s, const trilha_lease *lease) {
  trilha_sqlite_bind(s, 1, lease->colonia);
  trilha_sqlite_bind(s, 2, lease->grupo);
  sqlite3_bind_int64(s, 3, lease->token);
}

static trilha_status waiting(trilha_sqlite_connection *c, const trilha_lease *lease, int64_t *ret_request,
                             bool *ret_any, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_REQUEST_WAITING, &s, err);
  if (status != TRILHA_OK) return status;
  bind_lease(s, lease);
  return trilha_sqlite_value(c, s, ret_request, ret_any, err);
}

static trilha_status take(trilha_sqlite_connection *c, const trilha_lease *lease, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_lease_check(c, lease, err);
  if (status == TRILHA_OK) status = trilha_sqlite_prepare(c, TRILHA_SQLITE_REQUEST_TAKE, &s, err);
  if (status != TRILHA_OK) return status;
  bind_lease(s, lease);
  return trilha_sqlite_execute(c, s, err);
}

/* Asked at every turn of a consumer: a look first, a write only when something waits. */
trilha_status trilha_sqlite_request_take(trilha_store *store, const trilha_lease *lease, trilha_deadline deadline,
                                         int64_t *ret_request, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  bool any = false;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = waiting(c, lease, ret_request, &any, err);
  trilha_sqlite_read_end(s, c);
  if (status != TRILHA_OK) return status;
  if (!any) return TRILHA_NOT_FOUND;
  status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = waiting(c, lease, ret_request, &any, err);
  if (status == TRILHA_OK && any) status = take(c, lease, err);
  status = trilha_sqlite_write_end(s, status, err);
  return status == TRILHA_OK && !any ? TRILHA_NOT_FOUND : status;
}

trilha_status trilha_sqlite_request_settle(trilha_store *store, const trilha_lease *lease, int64_t request,
                                           int64_t reprocessados, int64_t failed, trilha_deadline deadline,
                                           trilha_error *err) {
  (void)request;
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  sqlite3_stmt *settle = NULL;
  trilha_sqlite_moment m;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_moment_now(&m);
  status = trilha_sqlite_lease_check(c, lease, err);
  if (status == TRILHA_OK) status = trilha_sqlite_prepare(c, TRILHA_SQLITE_REQUEST_SETTLE, &settle, err);
  if (status == TRILHA_OK) {
    bind_lease(settle, lease);
    sqlite3_bind_int64(settle, 4, reprocessados);
    sqlite3_bind_int64(settle, 5, failed);
    trilha_sqlite_bind(settle, 6, trilha_text_of(m.now));
    status = trilha_sqlite_execute(c, settle, err);
  }
  return trilha_sqlite_write_end(s, status, err);
}

trilha_status trilha_sqlite_request_read(trilha_store *store, int64_t request, trilha_deadline deadline, bool *ret_done,
                                         int64_t *ret_reprocessados, int64_t *ret_failed, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  sqlite3_stmt *read = NULL;
  bool row = false;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_REQUEST_READ, &read, err);
  if (status == TRILHA_OK) {
    sqlite3_bind_int64(read, 1, request);
    status = trilha_sqlite_step(c, read, &row, err);
  }
  int64_t rows = 0;
  if (status == TRILHA_OK && row) {
    rows = sqlite3_column_int64(read, 0);
    *ret_done = sqlite3_column_int64(read, 1) == rows;
    *ret_reprocessados = sqlite3_column_int64(read, 2);
    *ret_failed = sqlite3_column_int64(read, 3);
    sqlite3_reset(read);
  }
  trilha_sqlite_read_end(s, c);
  if (status == TRILHA_OK && rows == 0)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "REQUEST_NOT_FOUND", "there is no such reprocess request");
  return status;
}

trilha_status trilha_sqlite_request_withdraw(trilha_store *store, int64_t request, trilha_deadline deadline,
                                             bool *ret_withdrawn, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  sqlite3_stmt *withdraw = NULL;
  int changes = 0;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_REQUEST_WITHDRAW, &withdraw, err);
  if (status == TRILHA_OK) {
    sqlite3_bind_int64(withdraw, 1, request);
    status = trilha_sqlite_change(c, withdraw, &changes, err);
  }
  status = trilha_sqlite_write_end(s, status, err);
  if (status == TRILHA_OK) *ret_withdrawn = changes > 0;
  return status;
}
