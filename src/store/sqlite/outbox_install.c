/* store/sqlite/outbox_install: a producer's outbox and inbox, migrated in one transaction. */
#include <string.h>

#include "sqlite_outbox_migrations.h"
#include "sqlite_queries.h"
#include "store/sqlite/outbox.h"

enum { MIGRATIONS = TRILHA_SQL_SQLITE_OUTBOX_MIGRATION_COUNT };

static int index_of(const char *name) {
  for (int i = 0; name != NULL && i < MIGRATIONS; i++)
    if (strcmp(name, trilha_sql_sqlite_outbox_migrations[i].name) == 0) return i;
  return -1;
}

static trilha_status judge(sqlite3_stmt *row, bool present[MIGRATIONS], trilha_error *err) {
  const char *name = (const char *)sqlite3_column_text(row, 0), *sum = (const char *)sqlite3_column_text(row, 1);
  int i = index_of(name);
  if (i < 0)
    return trilha_error_set(
        err, TRILHA_UNSUPPORTED, "OUTBOX_NEWER",
        "the database holds outbox migration %s, which this version of Trilha does not know: use a newer one",
        name == NULL ? "?" : name);
  if (sum == NULL || strcmp(sum, trilha_sql_sqlite_outbox_migrations[i].sha256) != 0)
    return trilha_error_set(err, TRILHA_CORRUPT, "MIGRATION_CHANGED",
                            "outbox migration %s was applied with another text than this version of Trilha holds",
                            name);
  present[i] = true;
  return TRILHA_OK;
}

/* *ret_any: there is a book. */
static trilha_status read_book(trilha_sqlite_connection *c, const char *prefix, bool present[MIGRATIONS], bool *ret_any,
                               trilha_error *err) {
  TRILHA_SQLITE_SCOPED *has = NULL, *list = NULL;
  int64_t count = 0;
  bool row = false;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_has_book, &has, err);
  if (status == TRILHA_OK) status = trilha_sqlite_value(c, has, &count, &row, err);
  *ret_any = count > 0;
  if (status != TRILHA_OK || count == 0) return status;
  status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_migrations_list, &list, err);
  if (status == TRILHA_OK) status = trilha_sqlite_step(c, list, &row, err);
  while (status == TRILHA_OK && row) {
    status = judge(list, present, err);
    if (status == TRILHA_OK) status = trilha_sqlite_step(c, list, &row, err);
  }
  return status;
}

static trilha_status run_script(trilha_sqlite_connection *c, const char *prefix, const char *sql, trilha_error *err) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  trilha_outbox_sql(&text, sql, prefix);
  trilha_status status = trilha_buffer_check(&text, err);
  if (status != TRILHA_OK) return status;
  int rc = sqlite3_exec(c->db, text.data, NULL, NULL, NULL);
  return rc == SQLITE_OK ? TRILHA_OK : trilha_sqlite_fail(c, rc, err, "migrating the outbox");
}

static trilha_status apply(trilha_sqlite_connection *c, const char *prefix, int i, trilha_error *err) {
  const trilha_sql_migration *migration = &trilha_sql_sqlite_outbox_migrations[i];
  TRILHA_SQLITE_SCOPED *record = NULL;
  trilha_status status = run_script(c, prefix, migration->sql, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_record, &record, err);
  if (status == TRILHA_OK) {
    trilha_sqlite_bind(record, 1, trilha_text_of(migration->name));
    trilha_sqlite_bind(record, 2, trilha_text_of(migration->sha256));
    sqlite3_bind_int64(record, 3, trilha_clock_wall_us());
    status = trilha_sqlite_outbox_run(c, record, NULL, err);
  }
  if (status != TRILHA_OK) trilha_error_while(err, "applying outbox migration %s", migration->name);
  return status;
}

static trilha_status install_in(trilha_sqlite_connection *c, const char *prefix, bool present[MIGRATIONS],
                                trilha_error *err) {
  bool any = false;
  trilha_status status = read_book(c, prefix, present, &any, err);
  if (status == TRILHA_OK && !any) status = run_script(c, prefix, trilha_sql_sqlite_outbox_book, err);
  for (int i = 0; i < MIGRATIONS && status == TRILHA_OK; i++)
    if (!present[i]) status = apply(c, prefix, i, err);
  return status;
}

static trilha_status look(trilha_sqlite_outbox *o, bool present[MIGRATIONS], trilha_error *err) {
  trilha_sqlite_connection *c = NULL;
  bool any = false;
  if (!trilha_sqlite_file_exists(o->s)) return TRILHA_OK;
  trilha_status status = trilha_sqlite_read_begin(o->s, trilha_deadline_in_ms(o->s->lock_timeout_ms), &c, err);
  if (status != TRILHA_OK) return status;
  status = read_book(c, o->prefix, present, &any, err);
  trilha_sqlite_read_end(o->s, c);
  return status;
}

trilha_status trilha_sqlite_outbox_install(trilha_outbox_store *store, bool dry_run, trilha_migration_report report,
                                           void *user, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  bool present[MIGRATIONS] = {false};
  trilha_status status = TRILHA_OK;
  if (dry_run) {
    status = look(o, present, err);
  } else {
    status = trilha_sqlite_create_file(o->s, err);
    if (status == TRILHA_OK) status = trilha_sqlite_outbox_begin(o, &c, err);
    if (status == TRILHA_OK) status = trilha_sqlite_outbox_end(o, install_in(c, o->prefix, present, err), err);
  }
  for (int i = 0; status == TRILHA_OK && report != NULL && i < MIGRATIONS; i++)
    report(user, trilha_sql_sqlite_outbox_migrations[i].name, present[i] ? "present" : dry_run ? "pending" : "applied");
  return status;
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

static void print(trilha_buffer *out, const char *sql, const char *prefix) {
  trilha_outbox_sql(out, sql, prefix);
  trilha_buffer_add_string(out, ";\n\n");
}

trilha_status trilha_sqlite_outbox_sql(const char *schema, trilha_buffer *out, trilha_error *err) {
  char prefix[TRILHA_OUTBOX_PREFIX_SIZE];
  trilha_sqlite_outbox_prefix(schema, prefix);
  print(out, trilha_sql_sqlite_begin_write, prefix);
  print(out, trilha_sql_sqlite_outbox_book, prefix);
  for (int i = 0; i < MIGRATIONS; i++) {
    const trilha_sql_migration *migration = &trilha_sql_sqlite_outbox_migrations[i];
    trilha_buffer_add_format(out, "-- migration %s\n\n", migration->name);
    trilha_outbox_sql(out, migration->sql, prefix);
    trilha_buffer_add_char(out, '\n');
    trilha_outbox_sql_record(out, trilha_sql_sqlite_outbox_record_printed, migration, prefix);
  }
  print(out, trilha_sql_sqlite_commit, prefix);
  return trilha_buffer_check(out, err);
}
