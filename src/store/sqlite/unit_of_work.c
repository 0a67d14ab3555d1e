/* store/sqlite: the port of a unit of work on a caller's own handle.
 *
 * Nothing of the caller's is taken away: SQLite has one commit hook for each handle, and it is his. The mark is a row
 * of a temporary table, and which transaction is open is told by the version of the temporary database, which every
 * commit that wrote to it raises. A function of ours, registered on the handle, finds the unit again and hears of its
 * end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/uuid.h"
#include "sqlite_queries.h"
#include "sqlite_unit_queries.h"
#include "store/sqlite/outbox.h"

typedef struct unit unit;

/* Owned by the handle, which frees it when it is closed; outlives the unit. */
typedef struct anchor {
  unit *unit; /* NULL: closed */
} anchor;

struct unit {
  trilha_unit_store port; /* first */
  sqlite3 *db;            /* NULL: its owner has closed it */
  anchor *anchor;
  char token[33];   /* of the transaction */
  unsigned version; /* of the temporary database while it is open */
  bool begun;       /* by us, so the token was written outside every savepoint */
};

static unit *unit_of(trilha_unit_store *store) {
  return (unit *)(void *)store;
}

static const char pointer_kind[] = "trilha_unit_of_work";

/* --- the handle
 * -------------------------------------------------------------------------------------------------------- */

static void find_anchor(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  anchor **place = sqlite3_value_pointer(values[0], pointer_kind);
  if (place != NULL) *place = sqlite3_user_data(context);
}

static void free_anchor(void *user) {
  anchor *a = user;
  if (a->unit != NULL) a->unit->db = NULL;
  free(a);
}

/* NULL: the handle never had a unit. */
static anchor *anchor_of(sqlite3 *db) {
  anchor *found = NULL;
  TRILHA_SQLITE_SCOPED *look = NULL;
  if (sqlite3_prepare_v2(db, trilha_sql_sqlite_unit_unit_of_handle, -1, &look, NULL) != SQLITE_OK) return NULL;
  sqlite3_bind_pointer(look, 1, &found, pointer_kind, NULL);
  return sqlite3_step(look) == SQLITE_ROW ? found : NULL;
}

static bool begins_with_vfs_of_ours(sqlite3 *db) {
  const sqlite3_vfs *first;
  memcpy(&first, db, sizeof first); /* the copy keeps the compiler from asking what a sqlite3 is */
  for (const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL); vfs != NULL; vfs = vfs->pNext)
    if (vfs == first) return true;
  return false;
}

/* A handle of another copy of SQLite must not be given to a single function of this one: it has other locks and maybe
 * another shape. Every SQLite 3 keeps the file layer that a handle uses in its first word, and each copy has a list of
 * its own. Whether that still holds is found out with a handle that is ours for sure; where it does not, nothing is
 * refused. */
static bool is_foreign(sqlite3 *db) {
  sqlite3 *sure = NULL;
  if (begins_with_vfs_of_ours(db)) return false;
  bool can_tell = sqlite3_open_v2(":memory:", &sure, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK &&
                  begins_with_vfs_of_ours(sure);
  sqlite3_close(sure);
  return can_tell;
}

static trilha_unit_state state(const trilha_unit_store *store) {
  const unit *u = (const unit *)(const void *)store;
  if (u->db == NULL) return TRILHA_UNIT_CLOSED;
  return sqlite3_get_autocommit(u->db) ? TRILHA_UNIT_IDLE : TRILHA_UNIT_OPEN;
}

static trilha_status fail(unit *u, int rc, const char *doing, trilha_error *err) {
  trilha_sqlite_connection c = {.db = u->db};
  return trilha_sqlite_fail(&c, rc, err, doing);
}

/* A statement without rows. */
static trilha_status run(unit *u, const char *sql, const char *doing, trilha_error *err) {
  int rc = sqlite3_exec(u->db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? TRILHA_OK : fail(u, rc, doing, err);
}

/* --- the mark
 * ---------------------------------------------------------------------------------------------------------- */

static trilha_status set_mark(unit *u, int64_t number, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *put = NULL;
  trilha_sqlite_connection c = {.db = u->db};
  trilha_status status = run(u, trilha_sql_sqlite_unit_unit_table, "keeping what a transaction raised", err);
  if (status != TRILHA_OK) return status;
  int rc = sqlite3_prepare_v2(u->db, trilha_sql_sqlite_unit_unit_mark, -1, &put, NULL);
  if (rc != SQLITE_OK) return fail(u, rc, "keeping what a transaction raised", err);
  trilha_sqlite_bind(put, 1, trilha_text_of(u->token));
  sqlite3_bind_int64(put, 2, number);
  return trilha_sqlite_execute(&c, put, err);
}

/* *ret_any false: there is no mark, and maybe no table: what made them was undone. */
static trilha_status get_mark(unit *u, int64_t *ret_number, bool *ret_any, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *look = NULL;
  trilha_sqlite_connection c = {.db = u->db};
  *ret_number = 0;
  *ret_any = false;
  int rc = sqlite3_prepare_v2(u->db, trilha_sql_sqlite_unit_unit_last_mark, -1, &look, NULL);
  if (rc == SQLITE_ERROR) return TRILHA_OK;
  if (rc != SQLITE_OK) return fail(u, rc, "reading what a transaction raised", err);
  trilha_sqlite_bind(look, 1, trilha_text_of(u->token));
  return trilha_sqlite_value(&c, look, ret_number, ret_any, err);
}

static unsigned version_of(unit *u) {
  unsigned version = 0;
  sqlite3_file_control(u->db, "temp", SQLITE_FCNTL_DATA_VERSION, &version);
  return version;
}

/* A commit of the caller's own raised the version. After a rollback of his own the token is gone, and so is every
 * event: where he has begun again, that is noticed when the token was outside every savepoint. */
static bool is_same(unit *u, bool any) {
  return version_of(u) == u->version && (any || !u->begun);
}

static trilha_status take_note(unit *u, bool begun, trilha_error *err) {
  unsigned char random[16];
  if (!trilha_random_bytes(random, sizeof random))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "RANDOM_UNAVAILABLE", "the system gives no random bytes");
  trilha_hex(random, sizeof random, u->token);
  u->begun = begun;
  trilha_status status = run(u, trilha_sql_sqlite_unit_unit_table, "beginning a unit of work", err);
  if (status == TRILHA_OK) status = run(u, trilha_sql_sqlite_unit_unit_clear, "beginning a unit of work", err);
  if (status == TRILHA_OK) status = set_mark(u, 0, err);
  if (status == TRILHA_OK) u->version = version_of(u);
  return status;
}

static trilha_status mark(trilha_unit_store *store, int64_t new_mark, int64_t *ret_before, bool *ret_same,
                          trilha_error *err) {
  unit *u = unit_of(store);
  bool any = false;
  trilha_status status = get_mark(u, ret_before, &any, err);
  if (status != TRILHA_OK) return status;
  *ret_same = is_same(u, any);
  return *ret_same ? set_mark(u, new_mark, err) : TRILHA_OK;
}

static trilha_status last_mark(trilha_unit_store *store, int64_t *ret_number, bool *ret_same, trilha_error *err) {
  unit *u = unit_of(store);
  bool any = false;
  trilha_status status = get_mark(u, ret_number, &any, err);
  if (status == TRILHA_OK) *ret_same = is_same(u, any);
  return status;
}

/* --- transactions
 * ------------------------------------------------------------------------------------------------------ */

static trilha_status rollback(trilha_unit_store *store, trilha_error *err) {
  unit *u = unit_of(store);
  if (state(store) != TRILHA_UNIT_OPEN) return TRILHA_OK; /* several errors roll back by themselves */
  return run(u, trilha_sql_sqlite_rollback, "rolling back", err);
}

static trilha_status begin(trilha_unit_store *store, trilha_error *err) {
  unit *u = unit_of(store);
  trilha_status status = run(u, trilha_sql_sqlite_begin_write, "beginning a transaction", err);
  if (status != TRILHA_OK) return status;
  status = take_note(u, true, err);
  if (status == TRILHA_OK) return TRILHA_OK;
  trilha_error unimportant = {0};
  return rollback(store, &unimportant) == TRILHA_OK ? status : TRILHA_INTERNAL;
}

static trilha_status adopt(trilha_unit_store *store, trilha_error *err) {
  return take_note(unit_of(store), false, err);
}

static trilha_status savepoint(trilha_unit_store *store, trilha_unit_savepoint_verb verb, int64_t generation,
                               trilha_error *err) {
  static const char *const queries[] = {[TRILHA_UNIT_SAVEPOINT] = trilha_sql_sqlite_unit_unit_savepoint,
                                        [TRILHA_UNIT_ROLLBACK_TO] = trilha_sql_sqlite_unit_unit_rollback_to,
                                        [TRILHA_UNIT_RELEASE] = trilha_sql_sqlite_unit_unit_release};
  unit *u = unit_of(store);
  char name[TRILHA_OUTBOX_PREFIX_SIZE];
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  snprintf(name, sizeof name, "trilha_savepoint_%lld", (long long)generation);
  trilha_outbox_sql(&sql, queries[verb], name);
  trilha_status status = trilha_buffer_check(&sql, err);
  if (status != TRILHA_OK) return status;
  int rc = sqlite3_exec(u->db, sql.data, NULL, NULL, NULL);
  if (rc == SQLITE_ERROR && verb != TRILHA_UNIT_SAVEPOINT)
    return trilha_error_set(err, TRILHA_USAGE, "SAVEPOINT_UNKNOWN",
                            "the database has no such savepoint any more: it was ended with SQL of the caller's own");
  return rc == SQLITE_OK ? TRILHA_OK : fail(u, rc, "using a savepoint", err);
}

static trilha_status unknown(unit *u, int rc, trilha_error *err) {
  trilha_error cause = {0};
  fail(u, rc, "committing", &cause);
  trilha_error_set(
      err, TRILHA_OUTCOME_UNKNOWN, "COMMIT_UNKNOWN",
      "it is not known whether the transaction was stored; look, or repeat it where it can be repeated: %s",
      cause.text);
  if (err != NULL) err->os_errno = cause.os_errno;
  return TRILHA_OUTCOME_UNKNOWN;
}

static trilha_status commit(trilha_unit_store *store, trilha_unit_of_work_outcome *ret_outcome, bool *ret_resolved,
                            trilha_error *err) {
  unit *u = unit_of(store);
  *ret_resolved = false;
  *ret_outcome = TRILHA_UNIT_OF_WORK_COMMITTED;
  int rc = sqlite3_exec(u->db, trilha_sql_sqlite_commit, NULL, NULL, NULL);
  if (rc == SQLITE_OK) return TRILHA_OK;
  bool open = !sqlite3_get_autocommit(u->db), absent = trilha_sqlite_commit_certainly_absent(rc);
  trilha_status status = absent ? fail(u, rc, "committing", err) : unknown(u, rc, err);
  if (open && (rc & 0xff) == SQLITE_BUSY) {
    *ret_outcome = TRILHA_UNIT_OF_WORK_OPEN;
    return status;
  }
  trilha_error unimportant = {0};
  bool rolled_back = rollback(store, &unimportant) == TRILHA_OK;
  *ret_outcome = absent && rolled_back ? TRILHA_UNIT_OF_WORK_ROLLED_BACK : TRILHA_UNIT_OF_WORK_UNKNOWN;
  return status;
}

/* A commit keeps the token, a rollback takes it away. */
static bool was_rolled_back(trilha_unit_store *store) {
  unit *u = unit_of(store);
  int64_t number = 0;
  bool any = false;
  trilha_error unimportant = {0};
  return u->begun && get_mark(u, &number, &any, &unimportant) == TRILHA_OK && !any;
}

static trilha_status enqueue(trilha_unit_store *store, const char *schema, const trilha_message *message,
                             trilha_enqueued *ret, trilha_error *err) {
  return trilha_sqlite_enqueue(unit_of(store)->db, schema, message, ret, err);
}

static void cancel(trilha_unit_store *store) {
  sqlite3_interrupt(unit_of(store)->db);
}

static void close_unit(trilha_unit_store *store) {
  unit *u = unit_of(store);
  if (u->db != NULL) u->anchor->unit = NULL; /* otherwise the anchor went with the handle */
  free(u);
}

/* --- opening
 * ----------------------------------------------------------------------------------------------------------- */

static const trilha_unit_operations operations = {.state = state,
                                                  .begin = begin,
                                                  .adopt = adopt,
                                                  .savepoint = savepoint,
                                                  .mark = mark,
                                                  .last_mark = last_mark,
                                                  .commit = commit,
                                                  .rollback = rollback,
                                                  .was_rolled_back = was_rolled_back,
                                                  .enqueue = enqueue,
                                                  .cancel = cancel,
                                                  .close = close_unit};

trilha_unit_store *trilha_sqlite_unit_of(sqlite3 *db) {
  if (is_foreign(db)) return NULL;
  const anchor *a = anchor_of(db);
  return a == NULL || a->unit == NULL ? NULL : &a->unit->port;
}

/* SQLite calls free_anchor when it refuses the function, too. */
static trilha_status fasten(unit *u, trilha_error *err) {
  u->anchor = anchor_of(u->db);
  if (u->anchor != NULL) {
    u->anchor->unit = u;
    return TRILHA_OK;
  }
  anchor *a = calloc(1, sizeof *a);
  if (a == NULL) return trilha_error_no_memory(err);
  int rc = sqlite3_create_function_v2(u->db, pointer_kind, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, a, find_anchor, NULL,
                                      NULL, free_anchor);
  if (rc != SQLITE_OK) return fail(u, rc, "opening a unit of work", err);
  a->unit = u;
  u->anchor = a;
  return TRILHA_OK;
}

trilha_status trilha_sqlite_unit_open(sqlite3 *db, trilha_unit_store **ret_store, trilha_error *err) {
  if (is_foreign(db))
    return trilha_error_set(err, TRILHA_USAGE, "HANDLE_FOREIGN",
                            "the handle is of another copy of SQLite than the one this program is linked to, as a "
                            "language's own build brings one: use the SQL form there");
  if (trilha_sqlite_unit_of(db) != NULL)
    return trilha_error_set(err, TRILHA_CONFLICT, "UNIT_OF_WORK_EXISTS",
                            "the handle has a unit of work: trilha_unit_of_work_of_sqlite() gives it");
  unit *u = calloc(1, sizeof *u);
  if (u == NULL) return trilha_error_no_memory(err);
  u->port.op = &operations;
  u->db = db;
  trilha_status status = fasten(u, err);
  if (status != TRILHA_OK) {
    free(u);
    return status;
  }
  *ret_store = &u->port;
  return TRILHA_OK;
}
