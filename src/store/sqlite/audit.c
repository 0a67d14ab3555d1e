/* store/sqlite: reading the audit trail. */
#include "base/error.h"
#include "store/sqlite/sqlite_internal.h"

enum { CENTI_US = 10000 };

/* Stored times have 1/100 s: a bound between two of them is moved to the nearer one inside, so that comparing texts
 * says what comparing moments would. */
static int64_t inward(int64_t us, bool up) {
  int64_t rest = us % CENTI_US;
  if (rest < 0) rest += CENTI_US;
  return us - rest + (up && rest != 0 ? CENTI_US : 0);
}

static void bind_bound(sqlite3_stmt *s, int place, int64_t us, int64_t open, char room[TRILHA_SQLITE_TIMESTAMP_SIZE]) {
  if (us == open) {
    trilha_sqlite_bind(s, place, (trilha_text){NULL, 0});
    return;
  }
  trilha_sqlite_timestamp(inward(us, open == INT64_MIN), room);
  trilha_sqlite_bind(s, place, trilha_text_of(room));
}

static trilha_status read_row(sqlite3_stmt *s, trilha_arena *arena, trilha_audit_stored *stored, trilha_error *err) {
  trilha_text created_at = {0};
  trilha_text *const texts[] = {&stored->row.entity, &stored->row.entity_id, &stored->row.change_type,
                                &stored->row.action, &stored->row.user,      &stored->row.metadata,
                                &created_at};
  stored->id = sqlite3_column_int64(s, 0);
  for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++) {
    trilha_status status = trilha_sqlite_column(s, i + 1, arena, texts[i], err);
    if (status != TRILHA_OK) return status;
  }
  return trilha_sqlite_timestamp_read(created_at, &stored->created_at_us, err);
}

static trilha_status read_page(trilha_sqlite_connection *c, const trilha_audit_query *query, int64_t limit,
                               trilha_arena *arena, trilha_audit_stored *rows, size_t *ret_count, trilha_error *err) {
  char from[TRILHA_SQLITE_TIMESTAMP_SIZE], to[TRILHA_SQLITE_TIMESTAMP_SIZE];
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_AUDIT_LIST, &s, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(s, 1, query->after_id);
  sqlite3_bind_int64(s, 2, limit);
  trilha_sqlite_bind(s, 3, query->action);
  trilha_sqlite_bind(s, 4, query->entity);
  trilha_sqlite_bind(s, 5, query->entity_id);
  bind_bound(s, 6, query->from_us, INT64_MIN, from);
  bind_bound(s, 7, query->to_us, INT64_MAX, to);
  for (*ret_count = 0; *ret_count < (size_t)limit; ++*ret_count) {
    bool row = false;
    status = trilha_sqlite_step(c, s, &row, err);
    if (status != TRILHA_OK || !row) return status;
    status = read_row(s, arena, &rows[*ret_count], err);
    if (status != TRILHA_OK) return status;
  }
  sqlite3_reset(s);
  return TRILHA_OK;
}

trilha_status trilha_sqlite_audit_list(trilha_store *store, const trilha_audit_query *query, int64_t limit,
                                       trilha_deadline deadline, trilha_audit_visit visit, void *user,
                                       trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_audit_stored *rows = trilha_arena_array(&arena, (size_t)limit, sizeof *rows);
  if (rows == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  size_t count = 0;
  status = read_page(c, query, limit, &arena, rows, &count, err);
  trilha_sqlite_read_end(s, c);
  for (size_t i = 0; i < count && status == TRILHA_OK; i++) status = visit(user, &rows[i], err);
  return status;
}
