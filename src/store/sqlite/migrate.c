/* store/sqlite: migrations, and what an open compares with them. */
#include <stdio.h>

#include "base/error.h"
#include "sqlite_migrations.h"
#include "sqlite_queries.h"
#include "store/sqlite/sqlite_internal.h"

enum { SPECIFIED = 2 /* the first migrations, which another tool may have made (ruling R13) */ };

static const char bookkeeping[] = "core_trilha_migration";
static const char log_table[] = "core_event_log";

/* Which migrations the file has. */
typedef struct schema_state {
  bool bookkept; /* the bookkeeping table is there */
  bool applied[TRILHA_SQL_SQLITE_MIGRATION_COUNT];
  int count;
} schema_state;

static int known_index(const char *name) {
  for (int i = 0; i < TRILHA_SQL_SQLITE_MIGRATION_COUNT; i++)
    if (strcmp(trilha_sql_sqlite_migrations[i].name, name) == 0) return i;
  return -1;
}

static trilha_status has_table(trilha_sqlite_connection *c, const char *name, bool *ret_has, trilha_error *err) {
  sqlite3_stmt *statement = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_SCHEMA_HAS_TABLE, &statement, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(statement, 1, trilha_text_of(name));
  int64_t one = 0;
  return trilha_sqlite_value(c, statement, &one, ret_has, err);
}

static trilha_status note_applied(schema_state *state, const char *name, const char *checksum, trilha_error *err) {
  int i = known_index(name);
  if (i < 0)
    return trilha_error_set(
        err, TRILHA_UNSUPPORTED, "STORE_NEWER",
        "the database was migrated by a newer Trilha (it has '%s', which this one does not know); use "
        "that version or a later one",
        name);
  if (strcmp(trilha_sql_sqlite_migrations[i].sha256, checksum) != 0)
    return trilha_error_set(err, TRILHA_CORRUPT, "MIGRATION_CHANGED",
                            "migration '%s' was applied with other content than this program carries (checksum %.12s, "
                            "expected %.12s); a released migration never changes",
                            name, checksum, trilha_sql_sqlite_migrations[i].sha256);
  state->applied[i] = true;
  state->count++;
  return TRILHA_OK;
}

static trilha_status read_state(trilha_sqlite_connection *c, schema_state *ret_state, trilha_error *err) {
  *ret_state = (schema_state){0};
  trilha_status status = has_table(c, bookkeeping, &ret_state->bookkept, err);
  if (status != TRILHA_OK || !ret_state->bookkept) return status;
  sqlite3_stmt *list = NULL;
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_MIGRATION_LIST, &list, err);
  while (status == TRILHA_OK) {
    bool row = false;
    status = trilha_sqlite_step(c, list, &row, err);
    if (status != TRILHA_OK || !row) return status;
    const char *name = (const char *)sqlite3_column_text(list, 0);
    const char *checksum = (const char *)sqlite3_column_text(list, 1);
    status =
        name == NULL || checksum == NULL ? trilha_error_no_memory(err) : note_applied(ret_state, name, checksum, err);
  }
  sqlite3_reset(list);
  return status;
}

trilha_status trilha_sqlite_schema_check(trilha_sqlite_store *s, trilha_sqlite_connection *c, trilha_error *err) {
  schema_state state;
  trilha_status status = read_state(c, &state, err);
  if (status != TRILHA_OK) return status;
  if (state.count == 0) return trilha_sqlite_not_initialized(s, err);
  for (int i = 0; i < TRILHA_SQL_SQLITE_MIGRATION_COUNT; i++)
    if (!state.applied[i])
      return trilha_error_set(err, TRILHA_UNSUPPORTED, "STORE_OUTDATED",
                              "%s lacks migration '%s': make a backup, then run `trilha init` with this version",
                              s->display_url, trilha_sql_sqlite_migrations[i].name);
  return TRILHA_OK;
}

/* --- adopting what is already there ------------------------------------------------------------------------- */

typedef struct comparison {
  trilha_sqlite_connection *there; /* the file */
  sqlite3 *expected;               /* a new database in memory with the specified migrations */
} comparison;

static trilha_status run_script(sqlite3 *db, const char *sql, const char *name, trilha_error *err) {
  int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  if (rc == SQLITE_OK) return TRILHA_OK;
  trilha_sqlite_connection borrowed = {.db = db};
  trilha_status status = trilha_sqlite_fail(&borrowed, rc, err, "migrating");
  trilha_error_while(err, "applying '%s'", name);
  return status;
}

static const char *text_at(sqlite3_stmt *statement, int column) {
  const char *text = (const char *)sqlite3_column_text(statement, column);
  return text == NULL ? "" : text;
}

enum { OBJECT_TYPE, OBJECT_NAME, OBJECT_SQL }; /* columns of schema_objects, which is in the order of the first two */

/* Of two objects at one place that are not the same: the one that the other side lacks, or either when only their texts
 * differ. */
static const char *odd_one(sqlite3_stmt *there, sqlite3_stmt *expected) {
  int order = strcmp(text_at(there, OBJECT_TYPE), text_at(expected, OBJECT_TYPE));
  if (order == 0) order = strcmp(text_at(there, OBJECT_NAME), text_at(expected, OBJECT_NAME));
  return text_at(order <= 0 ? there : expected, OBJECT_NAME);
}

static bool same_object(sqlite3_stmt *there, sqlite3_stmt *expected) {
  for (int column = OBJECT_TYPE; column <= OBJECT_SQL; column++)
    if (strcmp(text_at(there, column), text_at(expected, column)) != 0) return false;
  return true;
}

/* Object by object. *ret_difference names the first that differs, or stays empty. */
static trilha_status compare_objects(const comparison *k, sqlite3_stmt *expected, char *ret_difference, size_t size,
                                     trilha_error *err) {
  sqlite3_stmt *there = NULL;
  trilha_status status = trilha_sqlite_prepare(k->there, TRILHA_SQLITE_SCHEMA_OBJECTS, &there, err);
  while (status == TRILHA_OK && ret_difference[0] == '\0') {
    bool row = false;
    status = trilha_sqlite_step(k->there, there, &row, err);
    if (status != TRILHA_OK) break;
    bool want = sqlite3_step(expected) == SQLITE_ROW;
    if (!row && !want) break;
    if (row != want)
      snprintf(ret_difference, size, "%s", text_at(row ? there : expected, OBJECT_NAME));
    else if (!same_object(there, expected))
      snprintf(ret_difference, size, "%s", odd_one(there, expected));
  }
  if (there != NULL) sqlite3_reset(there);
  return status;
}

static trilha_status compare_with(trilha_sqlite_connection *c, int migrations, char *ret_difference, size_t size,
                                  trilha_error *err) {
  comparison k = {.there = c};
  sqlite3_stmt *expected = NULL;
  ret_difference[0] = '\0';
  if (sqlite3_open(":memory:", &k.expected) != SQLITE_OK) {
    sqlite3_close(k.expected);
    return trilha_error_no_memory(err);
  }
  trilha_status status = TRILHA_OK;
  for (int i = 0; i < migrations && status == TRILHA_OK; i++)
    status = run_script(k.expected, trilha_sql_sqlite_migrations[i].sql, trilha_sql_sqlite_migrations[i].name, err);
  if (status == TRILHA_OK &&
      sqlite3_prepare_v2(k.expected, trilha_sql_sqlite_schema_objects, -1, &expected, NULL) != SQLITE_OK)
    status = trilha_error_no_memory(err);
  if (status == TRILHA_OK) status = compare_objects(&k, expected, ret_difference, size, err);
  sqlite3_finalize(expected);
  sqlite3_close(k.expected);
  return status;
}

/* How many of the specified migrations stand in a file that nobody kept books of: none, the first, or both. */
static trilha_status count_adoptable(trilha_sqlite_connection *c, int *ret_count, trilha_error *err) {
  bool has = false;
  char difference[128];
  *ret_count = 0;
  trilha_status status = has_table(c, log_table, &has, err);
  if (status != TRILHA_OK || !has) return status;
  for (int n = 1; n <= SPECIFIED; n++) {
    status = compare_with(c, n, difference, sizeof difference, err);
    if (status != TRILHA_OK) return status;
    if (difference[0] == '\0') {
      *ret_count = n;
      return TRILHA_OK;
    }
  }
  return trilha_error_set(
      err, TRILHA_CONFLICT, "STORE_SCHEMA_DIFFERS",
      "the database already has %s, and '%s' is not as the specified migrations make it (compare with "
      "`trilha init --print-sql`); it was left as it is",
      log_table, difference);
}

/* --- migrating ------------------------------------------------------------------------------------------------ */

typedef struct migration_run {
  bool dry_run;
  void (*report)(void *user, const char *name, const char *what);
  void *user;
} migration_run;

static void say(const migration_run *run, int i, const char *what) {
  if (run->report != NULL) run->report(run->user, trilha_sql_sqlite_migrations[i].name, what);
}

static trilha_status record(trilha_sqlite_connection *c, int i, trilha_error *err) {
  sqlite3_stmt *insert = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_MIGRATION_RECORD, &insert, err);
  if (status != TRILHA_OK) return status;
  char now[TRILHA_SQLITE_TIMESTAMP_SIZE];
  trilha_sqlite_timestamp(trilha_sqlite_now_us(), now);
  trilha_sqlite_bind(insert, 1, trilha_text_of(trilha_sql_sqlite_migrations[i].name));
  trilha_sqlite_bind(insert, 2, trilha_text_of(trilha_sql_sqlite_migrations[i].sha256));
  trilha_sqlite_bind(insert, 3, trilha_text_of(now));
  return trilha_sqlite_execute(c, insert, err);
}

/* In a transaction; of a dry run nothing is written. */
static trilha_status migrate_in(trilha_sqlite_connection *c, const migration_run *run, trilha_error *err) {
  schema_state state;
  int adoptable = 0;
  trilha_status status = read_state(c, &state, err);
  if (status == TRILHA_OK && state.count == 0) status = count_adoptable(c, &adoptable, err);
  if (status == TRILHA_OK && !state.bookkept && !run->dry_run)
    status = run_script(c->db, trilha_sql_sqlite_migration_table, bookkeeping, err);
  for (int i = 0; i < TRILHA_SQL_SQLITE_MIGRATION_COUNT && status == TRILHA_OK; i++) {
    if (state.applied[i]) {
      say(run, i, "present");
      continue;
    }
    bool adopted = i < adoptable;
    if (!run->dry_run) {
      if (!adopted)
        status = run_script(c->db, trilha_sql_sqlite_migrations[i].sql, trilha_sql_sqlite_migrations[i].name, err);
      if (status == TRILHA_OK) status = record(c, i, err);
    }
    if (status == TRILHA_OK) say(run, i, adopted ? "adopted" : run->dry_run ? "pending" : "applied");
  }
  return status;
}

static trilha_status dry_run(trilha_sqlite_store *s, const migration_run *run, trilha_error *err) {
  if (!trilha_sqlite_file_exists(s)) {
    for (int i = 0; i < TRILHA_SQL_SQLITE_MIGRATION_COUNT; i++) say(run, i, "pending");
    return TRILHA_OK;
  }
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, TRILHA_NO_DEADLINE, &c, err);
  if (status != TRILHA_OK) return status;
  status = migrate_in(c, run, err);
  trilha_sqlite_read_end(s, c);
  return status;
}

trilha_status trilha_sqlite_migrate(trilha_store *store, bool is_dry_run,
                                    void (*report)(void *user, const char *name, const char *what), void *user,
                                    trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  const migration_run run = {.dry_run = is_dry_run, .report = report, .user = user};
  if (is_dry_run) return dry_run(s, &run, err);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_create_file(s, err);
  if (status == TRILHA_OK) status = trilha_sqlite_write_begin(s, TRILHA_NO_DEADLINE, &c, err);
  if (status != TRILHA_OK) return status;
  status = migrate_in(c, &run, err);
  if (status == TRILHA_OK) return trilha_sqlite_write_commit(s, err);
  trilha_sqlite_write_abort(s);
  return status;
}

/* --- as text -------------------------------------------------------------------------------------------------- */

/* `text` with ?name? and ?checksum? replaced: both are of letters, digits and underscores. */
static void add_record_text(trilha_buffer *out, const trilha_sql_migration *m) {
  const char *at = trilha_sql_sqlite_migration_record_text;
  for (const char *mark; (mark = strchr(at, '?')) != NULL;) {
    trilha_buffer_append(out, at, (size_t)(mark - at));
    bool is_name = strncmp(mark, "?name?", 6) == 0;
    trilha_buffer_add_string(out, is_name ? m->name : m->sha256);
    at = mark + (is_name ? sizeof "?name?" : sizeof "?checksum?") - 1;
  }
  trilha_buffer_add_string(out, at);
  trilha_buffer_add_string(out, ";\n");
}

trilha_status trilha_sqlite_migrations_sql(trilha_buffer *out, trilha_error *err) {
  trilha_buffer_add_string(out, trilha_sql_sqlite_journal_mode_wal);
  trilha_buffer_add_string(out, ";\n\n");
  trilha_buffer_add_string(out, trilha_sql_sqlite_begin_write);
  trilha_buffer_add_string(out, ";\n\n");
  trilha_buffer_add_string(out, trilha_sql_sqlite_migration_table);
  trilha_buffer_add_string(out, ";\n");
  for (int i = 0; i < TRILHA_SQL_SQLITE_MIGRATION_COUNT; i++) {
    const trilha_sql_migration *m = &trilha_sql_sqlite_migrations[i];
    trilha_buffer_add_format(out, "\n-- %s\n", m->name);
    trilha_buffer_add_string(out, m->sql);
    trilha_buffer_add_string(out, "\n");
    add_record_text(out, m);
  }
  trilha_buffer_add_string(out, "\n");
  trilha_buffer_add_string(out, trilha_sql_sqlite_commit);
  trilha_buffer_add_string(out, ";\n");
  return trilha_buffer_check(out, err);
}
