/* store/sqlite/letters: every transition of a dead letter (rulings R15, R16). */
#include "base/uuid.h"
#include "store/sqlite/delivery.h"

static trilha_status lease_lost(trilha_error *err) {
  return trilha_error_set(err, TRILHA_CONFLICT, "LEASE_LOST",
                          "the lease was taken over or ended; nothing was changed under its token");
}

/* --- recording a failure ------------------------------------------------------------------------------------ */

typedef struct letter {
  bool found, retried_now; /* retrying under a live lease */
  int64_t id, attempts;
  char status[24];
} letter;

static trilha_status find(trilha_sqlite_connection *c, const char *event_id, trilha_text colonia,
                          const trilha_sqlite_moment *m, letter *ret, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  *ret = (letter){0};
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_FIND, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, trilha_text_of(event_id));
  trilha_sqlite_bind(s, 2, colonia);
  trilha_sqlite_bind(s, 3, trilha_text_of(m->boot_id));
  sqlite3_bind_int64(s, 4, m->boot_us);
  status = trilha_sqlite_step(c, s, &ret->found, err);
  if (status != TRILHA_OK || !ret->found) return status;
  ret->id = sqlite3_column_int64(s, 0);
  const char *state = (const char *)sqlite3_column_text(s, 1);
  size_t n = state == NULL ? 0 : strlen(state);
  if (n >= sizeof ret->status) n = sizeof ret->status - 1;
  if (n != 0) memcpy(ret->status, state, n);
  ret->attempts = sqlite3_column_int64(s, 2);
  ret->retried_now = strcmp(ret->status, "retrying") == 0 && sqlite3_column_int(s, 3) == 1;
  sqlite3_reset(s);
  return TRILHA_OK;
}

static trilha_status insert(trilha_sqlite_connection *c, const trilha_failure *f, const char *event_id, const char *now,
                            trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_INSERT, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, trilha_text_of(event_id));
  sqlite3_bind_int64(s, 2, f->sequence_number);
  trilha_sqlite_bind(s, 3, f->colonia);
  trilha_sqlite_bind(s, 4, f->handler_nome);
  trilha_sqlite_bind(s, 5, f->mensagem_erro);
  trilha_sqlite_bind(s, 6, f->pilha_erro);
  trilha_sqlite_bind(s, 7, trilha_text_of(now));
  return trilha_sqlite_execute(c, s, err);
}

static trilha_status renew(trilha_sqlite_connection *c, const trilha_failure *f, const letter *l, const char *state,
                           const char *now, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_RENEW, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, l->id);
  trilha_sqlite_bind(s, 2, f->handler_nome);
  trilha_sqlite_bind(s, 3, f->mensagem_erro);
  trilha_sqlite_bind(s, 4, f->pilha_erro);
  trilha_sqlite_bind(s, 5, trilha_text_of(now));
  trilha_sqlite_bind(s, 6, trilha_text_of(state));
  sqlite3_bind_int64(s, 7, l->attempts);
  if (strcmp(state, "failed_permanent") == 0) trilha_sqlite_bind(s, 8, trilha_text_of(now));
  return trilha_sqlite_execute(c, s, err);
}

static trilha_status drop_lease(trilha_sqlite_connection *c, int64_t id, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_LEASE_DROP, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  return trilha_sqlite_execute(c, s, err);
}

static trilha_status fail(trilha_sqlite_connection *c, const trilha_failure *f, int64_t max_attempts,
                          int64_t *ret_attempts, trilha_error *err) {
  char event_id[TRILHA_UUID_TEXT_SIZE];
  trilha_sqlite_moment m;
  letter l;
  trilha_uuid_format(f->event_id, event_id);
  trilha_sqlite_moment_now(&m);
  trilha_status status = f->lease == NULL ? TRILHA_OK : trilha_sqlite_lease_check(c, f->lease, err);
  if (status == TRILHA_OK) status = find(c, event_id, f->colonia, &m, &l, err);
  if (status != TRILHA_OK) return status;
  *ret_attempts = 1;
  if (!l.found) return insert(c, f, event_id, m.now, err);
  const char *state = "pendente";
  bool was_open = strcmp(l.status, "pendente") == 0 || strcmp(l.status, "retrying") == 0;
  if (l.retried_now) {
    state = "retrying"; /* whoever retries decides; only the words are newer */
  } else {
    l.attempts++;
    if (was_open && l.attempts >= max_attempts) state = "failed_permanent";
    status = drop_lease(c, l.id, err);
  }
  *ret_attempts = l.attempts;
  return status == TRILHA_OK ? renew(c, f, &l, state, m.now, err) : status;
}

trilha_status trilha_sqlite_dead_letter_fail(trilha_store *store, const trilha_failure *failure, int64_t max_attempts,
                                             trilha_deadline deadline, int64_t *ret_attempts, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_write_end(s, fail(c, failure, max_attempts, ret_attempts, err), err);
}

/* --- success by any way --------------------------------------------------------------------------------------- */

trilha_status trilha_sqlite_letter_resolve(trilha_sqlite_connection *c, const unsigned char event_id[16],
                                           trilha_text colonia, const char *now, bool *ret_resolved,
                                           trilha_error *err) {
  char id[TRILHA_UUID_TEXT_SIZE];
  sqlite3_stmt *s = NULL;
  int changes = 0;
  trilha_uuid_format(event_id, id);
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_RESOLVE, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, trilha_text_of(id));
  trilha_sqlite_bind(s, 2, colonia);
  trilha_sqlite_bind(s, 3, trilha_text_of(now));
  status = trilha_sqlite_change(c, s, &changes, err);
  *ret_resolved = changes > 0;
  if (status != TRILHA_OK || changes == 0) return status;
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_LEASE_DROP_OF_EVENT, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, trilha_text_of(id));
  trilha_sqlite_bind(s, 2, colonia);
  return trilha_sqlite_execute(c, s, err);
}

trilha_status trilha_sqlite_dead_letter_resolve(trilha_store *store, const unsigned char event_id[16],
                                                trilha_text colonia, trilha_deadline deadline, bool *ret_resolved,
                                                trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_sqlite_moment m;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_moment_now(&m);
  return trilha_sqlite_write_end(s, trilha_sqlite_letter_resolve(c, event_id, colonia, m.now, ret_resolved, err), err);
}

/* --- taking -------------------------------------------------------------------------------------------------- */

typedef struct taking {
  trilha_sqlite_connection *c;
  trilha_arena *arena;
  trilha_dead_letter_row *rows;
  size_t count, max;
  trilha_text holder;
  trilha_sqlite_moment m;
  int64_t until_us, token;
} taking;

static trilha_status read_row(taking *t, int64_t id, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  bool found = false;
  trilha_status status = trilha_sqlite_prepare(t->c, TRILHA_SQLITE_DEAD_LETTER_BY_ID, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  status = trilha_sqlite_step(t->c, s, &found, err);
  if (status != TRILHA_OK || !found) return status;
  status = trilha_sqlite_letter_read(s, t->arena, &t->rows[t->count], err);
  sqlite3_reset(s);
  if (status == TRILHA_OK) t->count++;
  return status;
}

/* Conditional: nothing happens to a row that is not pending any more. */
static trilha_status take_one(taking *t, int64_t id, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  int changes = 0;
  trilha_status status = trilha_sqlite_prepare(t->c, TRILHA_SQLITE_DEAD_LETTER_RETRYING, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  trilha_sqlite_bind(s, 2, trilha_text_of(t->m.now));
  status = trilha_sqlite_change(t->c, s, &changes, err);
  if (status != TRILHA_OK || changes == 0) return status;
  if (t->token == 0) status = trilha_sqlite_fence(t->c, &t->token, err);
  if (status == TRILHA_OK) status = trilha_sqlite_prepare(t->c, TRILHA_SQLITE_DEAD_LETTER_LEASE_PUT, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  trilha_sqlite_bind(s, 2, t->holder);
  sqlite3_bind_int64(s, 3, t->token);
  trilha_sqlite_bind(s, 4, trilha_text_of(t->m.boot_id));
  sqlite3_bind_int64(s, 5, t->until_us);
  status = trilha_sqlite_execute(t->c, s, err);
  return status == TRILHA_OK ? read_row(t, id, err) : status;
}

static bool wanted_type(trilha_text tipo, const trilha_text *types, size_t type_count) {
  for (size_t i = 0; i < type_count; i++)
    if (trilha_text_equal(tipo, types[i])) return true;
  return type_count == 0;
}

static trilha_text type_in(sqlite3_stmt *s, int column) {
  return (trilha_text){(const char *)sqlite3_column_text(s, column), (size_t)sqlite3_column_bytes(s, column)};
}

/* Those of the given ids that are pending, as many as may be taken. */
static trilha_status choose_of(taking *t, trilha_text colonia, const trilha_text *types, size_t type_count,
                               const int64_t *ids, size_t id_count, int64_t *chosen, size_t *ret_count,
                               trilha_error *err) {
  sqlite3_stmt *s = NULL;
  size_t n = 0;
  trilha_status status = trilha_sqlite_prepare(t->c, TRILHA_SQLITE_DEAD_LETTER_PENDING, &s, err);
  for (size_t i = 0; i < id_count && n < t->max && status == TRILHA_OK; i++) {
    bool row = false;
    sqlite3_bind_int64(s, 1, ids[i]);
    trilha_sqlite_bind(s, 2, colonia);
    status = trilha_sqlite_step(t->c, s, &row, err);
    if (status == TRILHA_OK && row && wanted_type(type_in(s, 0), types, type_count)) chosen[n++] = ids[i];
    sqlite3_reset(s);
  }
  *ret_count = n;
  return status;
}

/* Ids of pending rows, oldest first, as many as may be taken. */
static trilha_status choose(taking *t, trilha_text colonia, const trilha_text *types, size_t type_count,
                            int64_t *chosen, size_t *ret_count, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  size_t n = 0;
  trilha_status status = trilha_sqlite_prepare(t->c, TRILHA_SQLITE_DEAD_LETTERS_PENDING, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, colonia);
  while (n < t->max) {
    bool row = false;
    status = trilha_sqlite_step(t->c, s, &row, err);
    if (status != TRILHA_OK || !row) break;
    if (wanted_type(type_in(s, 1), types, type_count)) chosen[n++] = sqlite3_column_int64(s, 0);
  }
  sqlite3_reset(s);
  *ret_count = n;
  return status;
}

trilha_status trilha_sqlite_dead_letters_take(trilha_store *store, trilha_text colonia, const trilha_text *types,
                                              size_t type_count, const int64_t *ids, size_t id_count, int64_t limit,
                                              trilha_text holder, int64_t lease_ms, const trilha_audit_row *audit,
                                              trilha_deadline deadline, trilha_dead_letter_visit visit, void *user,
                                              int64_t *ret_token, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  TRILHA_ARENA_SCOPED arena = {0};
  taking t = {.arena = &arena, .max = limit > 0 ? (size_t)limit : 0, .holder = holder};
  t.rows = trilha_arena_array(&arena, t.max, sizeof *t.rows);
  int64_t *chosen = trilha_arena_array(&arena, t.max, sizeof *chosen);
  if (t.rows == NULL || chosen == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &t.c, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_moment_now(&t.m);
  t.until_us = t.m.boot_us + lease_ms * 1000;
  size_t count = 0;
  status = id_count == 0 ? choose(&t, colonia, types, type_count, chosen, &count, err)
                         : choose_of(&t, colonia, types, type_count, ids, id_count, chosen, &count, err);
  for (size_t i = 0; i < count && status == TRILHA_OK; i++) status = take_one(&t, chosen[i], err);
  if (status == TRILHA_OK && audit != NULL && t.count > 0) status = trilha_sqlite_audit_write(t.c, audit, t.m.now, err);
  status = trilha_sqlite_write_end(s, status, err);
  if (status != TRILHA_OK) return status;
  *ret_token = t.token;
  for (size_t i = 0; i < t.count && status == TRILHA_OK; i++) status = visit(user, &t.rows[i], err);
  return status;
}

/* --- settling -------------------------------------------------------------------------------------------------- */

static trilha_status close_letter(trilha_sqlite_connection *c, int64_t id, const char *now, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_CLOSE, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  trilha_sqlite_bind(s, 2, trilha_text_of(now));
  return trilha_sqlite_execute(c, s, err);
}

static trilha_status settle(trilha_sqlite_connection *c, int64_t id, int64_t token, const trilha_failure *failure,
                            int64_t max_attempts, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  bool mine = false;
  letter l = {.id = id};
  trilha_sqlite_moment m;
  trilha_sqlite_moment_now(&m);
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_UNDER_TOKEN, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_int64(s, 2, token);
  status = trilha_sqlite_step(c, s, &mine, err);
  if (status != TRILHA_OK) return status;
  if (!mine) return lease_lost(err);
  l.attempts = sqlite3_column_int64(s, 0);
  sqlite3_reset(s);
  status = drop_lease(c, id, err);
  if (status != TRILHA_OK) return status;
  if (failure == NULL) return close_letter(c, id, m.now, err);
  return renew(c, failure, &l, l.attempts >= max_attempts ? "failed_permanent" : "pendente", m.now, err);
}

trilha_status trilha_sqlite_dead_letter_settle(trilha_store *store, int64_t id, int64_t token,
                                               const trilha_failure *failure, int64_t max_attempts,
                                               trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_write_end(s, settle(c, id, token, failure, max_attempts, err), err);
}

trilha_status trilha_sqlite_dead_letter_resolve_in(trilha_store *store, void *connection, int64_t id, int64_t token,
                                                   trilha_error *err) {
  trilha_sqlite_connection *part = NULL;
  trilha_status status = trilha_sqlite_part_begin(store, connection, &part, err);
  if (status == TRILHA_OK) status = settle(part, id, token, NULL, 0, err);
  trilha_sqlite_part_end(part);
  return status;
}

static trilha_status extend(trilha_sqlite_connection *c, int64_t id, int64_t token, int64_t lease_ms,
                            trilha_error *err) {
  sqlite3_stmt *s = NULL;
  int changes = 0;
  trilha_sqlite_moment m;
  trilha_sqlite_moment_now(&m);
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_LEASE_EXTEND, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_int64(s, 2, token);
  trilha_sqlite_bind(s, 3, trilha_text_of(m.boot_id));
  sqlite3_bind_int64(s, 4, m.boot_us + lease_ms * 1000);
  status = trilha_sqlite_change(c, s, &changes, err);
  return status == TRILHA_OK && changes == 0 ? lease_lost(err) : status;
}

trilha_status trilha_sqlite_dead_letter_extend(trilha_store *store, int64_t id, int64_t token, int64_t lease_ms,
                                               trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_write_end(s, extend(c, id, token, lease_ms, err), err);
}

/* --- what a crash left, and what an operator reopens -------------------------------------------------------------- */

static trilha_status next_abandoned(trilha_sqlite_connection *c, const trilha_sqlite_moment *m, int64_t *ret_id,
                                    bool *ret_any, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTERS_ABANDONED, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, trilha_text_of(m->boot_id));
  sqlite3_bind_int64(s, 2, m->boot_us);
  return trilha_sqlite_value(c, s, ret_id, ret_any, err);
}

static trilha_status recover(trilha_sqlite_connection *c, const trilha_sqlite_moment *m, int64_t *ret_count,
                             trilha_error *err) {
  for (;;) {
    int64_t id = 0;
    bool any = false;
    sqlite3_stmt *s = NULL;
    trilha_status status = next_abandoned(c, m, &id, &any, err);
    if (status != TRILHA_OK || !any) return status;
    status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_PENDING_AGAIN, &s, err);
    if (status != TRILHA_OK) return status;
    sqlite3_bind_int64(s, 1, id);
    status = trilha_sqlite_execute(c, s, err);
    if (status == TRILHA_OK) status = drop_lease(c, id, err);
    if (status != TRILHA_OK) return status;
    ++*ret_count;
  }
}

trilha_status trilha_sqlite_dead_letters_recover(trilha_store *store, trilha_deadline deadline, int64_t *ret_count,
                                                 trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_sqlite_moment m;
  int64_t id = 0;
  bool any = false;
  *ret_count = 0;
  trilha_sqlite_moment_now(&m);
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err); /* the common case writes nothing */
  if (status != TRILHA_OK) return status;
  status = next_abandoned(c, &m, &id, &any, err);
  trilha_sqlite_read_end(s, c);
  if (status != TRILHA_OK || !any) return status;
  status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_write_end(s, recover(c, &m, ret_count, err), err);
}

static trilha_status reopen(trilha_sqlite_connection *c, int64_t id, const trilha_audit_row *audit, trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_sqlite_moment m;
  int changes = 0;
  int64_t one = 0;
  bool exists = false;
  trilha_sqlite_moment_now(&m);
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_REOPEN, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  status = trilha_sqlite_change(c, s, &changes, err);
  if (status != TRILHA_OK) return status;
  if (changes == 1) return trilha_sqlite_audit_write(c, audit, m.now, err);
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTER_EXISTS, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, id);
  status = trilha_sqlite_value(c, s, &one, &exists, err);
  if (status != TRILHA_OK) return status;
  if (!exists)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "DEAD_LETTER_NOT_FOUND", "there is no dead letter %lld",
                            (long long)id);
  return trilha_error_set(err, TRILHA_CONFLICT, "DEAD_LETTER_STATE", "dead letter %lld is not failed_permanent",
                          (long long)id);
}

trilha_status trilha_sqlite_dead_letter_reopen(trilha_store *store, int64_t id, const trilha_audit_row *audit,
                                               trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_write_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_write_end(s, reopen(c, id, audit, err), err);
}
