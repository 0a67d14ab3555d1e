/* store/postgres/outbox_install: a producer's outbox and inbox, migrated in one transaction in the producer's schema.
 */
#include <string.h>

#include "base/error.h"
#include "outbox.h"
#include "postgres_outbox_migrations.h"

enum { MIGRATIONS = TRILHA_SQL_POSTGRES_OUTBOX_MIGRATION_COUNT };

typedef struct outbox_installation {
  trilha_pg_outbox *o;
  trilha_pg_connection *c;
  bool dry_run, present[MIGRATIONS];
} outbox_installation;

/* {{s}} first: the quoted schema without its dot. */
static void add_sql(trilha_buffer *out, const char *sql, const char *prefix) {
  const char *mark = strstr(sql, "{{s}}");
  if (mark == NULL) {
    trilha_outbox_sql(out, sql, prefix);
    return;
  }
  trilha_buffer_append(out, sql, (size_t)(mark - sql));
  trilha_buffer_append(out, prefix, strlen(prefix) - 1);
  trilha_buffer_add_string(out, mark + strlen("{{s}}"));
}

static trilha_status ask(outbox_installation *m, const char *query, const trilha_pg_parameters *p,
                         PGresult **ret_result, trilha_error *err) {
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  add_sql(&sql, query, m->o->prefix);
  trilha_status status = trilha_buffer_check(&sql, err);
  if (status != TRILHA_OK) return status;
  const trilha_pg_step step = {.sql = sql.data, .parameters = p, .made_here = true};
  trilha_pg_reach reach;
  return trilha_pg_run(m->c, &step, 1, TRILHA_NO_DEADLINE, ret_result, &reach, err);
}

static trilha_status tell(outbox_installation *m, const char *query, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  return ask(m, query, NULL, &result, err);
}

static trilha_status is_there(outbox_installation *m, const char *query, bool *ret_there, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, trilha_text_of(m->o->schema));
  trilha_status status = ask(m, query, &p, &result, err);
  if (status == TRILHA_OK) *ret_there = trilha_pg_get_bool(result, 0, 0);
  return status;
}

static int index_of(trilha_text name) {
  for (int i = 0; i < MIGRATIONS; i++)
    if (trilha_text_is(name, trilha_sql_postgres_outbox_migrations[i].name)) return i;
  return -1;
}

static trilha_status read_book(outbox_installation *m, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *book = NULL;
  trilha_status status = ask(m, trilha_sql_postgres_outbox_migrations_list, NULL, &book, err);
  for (int row = 0; status == TRILHA_OK && row < PQntuples(book); row++) {
    trilha_text name = trilha_pg_get_text(book, row, 0);
    int i = index_of(name);
    if (i < 0)
      return trilha_error_set(
          err, TRILHA_UNSUPPORTED, "OUTBOX_NEWER",
          "the schema %s holds outbox migration %.*s, which this version of Trilha does not know: use a newer one",
          m->o->schema, (int)name.size, name.data);
    if (!trilha_text_is(trilha_pg_get_text(book, row, 1), trilha_sql_postgres_outbox_migrations[i].sha256))
      return trilha_error_set(err, TRILHA_CORRUPT, "MIGRATION_CHANGED",
                              "outbox migration %s was applied with another text than this version of Trilha holds",
                              trilha_sql_postgres_outbox_migrations[i].name);
    m->present[i] = true;
  }
  return status;
}

static trilha_status apply(outbox_installation *m, int i, trilha_error *err) {
  const trilha_sql_migration *migration = &trilha_sql_postgres_outbox_migrations[i];
  TRILHA_BUFFER_SCOPED sql;
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_buffer_init(&sql, 0);
  trilha_pg_parameters_init(&p);
  trilha_outbox_sql(&sql, migration->sql, m->o->prefix);
  trilha_pg_add_text(&p, trilha_text_of(migration->name));
  trilha_pg_add_text(&p, trilha_text_of(migration->sha256));
  trilha_status status = trilha_buffer_check(&sql, err);
  if (status == TRILHA_OK) status = trilha_pg_script(m->c, sql.data, err);
  if (status == TRILHA_OK) status = ask(m, trilha_sql_postgres_outbox_record, &p, &result, err);
  if (status != TRILHA_OK) trilha_error_while(err, "applying outbox migration %s", migration->name);
  return status;
}

static trilha_status begin(outbox_installation *m, trilha_error *err) {
  const trilha_pg_step steps[] = {{.sql = trilha_sql_postgres_transaction_begin_write},
                                  {.sql = trilha_sql_postgres_migration_search_path},
                                  {.sql = trilha_sql_postgres_outbox_turn, .made_here = true}};
  PGresult *results[3] = {NULL};
  trilha_pg_reach reach;
  trilha_status status = trilha_pg_run(m->c, steps, 3, TRILHA_NO_DEADLINE, results, &reach, err);
  for (size_t i = 0; i < 3; i++) trilha_pg_clear(&results[i]);
  return status;
}

static trilha_status install_in(outbox_installation *m, trilha_error *err) {
  bool has_schema = false, has_book = false;
  trilha_status status = begin(m, err);
  if (status == TRILHA_OK) status = is_there(m, trilha_sql_postgres_outbox_schema, &has_schema, err);
  if (status == TRILHA_OK) status = is_there(m, trilha_sql_postgres_outbox_has_book, &has_book, err);
  if (status == TRILHA_OK && has_book) status = read_book(m, err);
  if (status != TRILHA_OK || m->dry_run) return status;
  if (!has_schema) status = tell(m, trilha_sql_postgres_outbox_create_schema, err);
  if (status == TRILHA_OK && !has_book) status = tell(m, trilha_sql_postgres_outbox_book, err);
  for (int i = 0; i < MIGRATIONS && status == TRILHA_OK; i++)
    if (!m->present[i]) status = apply(m, i, err);
  return status == TRILHA_OK ? tell(m, trilha_sql_postgres_transaction_commit, err) : status;
}

trilha_status trilha_pg_outbox_install(trilha_outbox_store *store, bool dry_run, trilha_migration_report report,
                                       void *user, trilha_error *err) {
  outbox_installation m = {.o = trilha_pg_outbox_of(store), .dry_run = dry_run};
  trilha_status status = trilha_pg_take_writer(m.o->s, TRILHA_NO_DEADLINE, &m.c, err);
  if (status != TRILHA_OK) return status;
  status = install_in(&m, err);
  trilha_pg_disconnect(m.c); /* rolls back what is open */
  trilha_pg_give_back(m.o->s, m.c);
  for (int i = 0; status == TRILHA_OK && report != NULL && i < MIGRATIONS; i++)
    report(user, trilha_sql_postgres_outbox_migrations[i].name,
           m.present[i] ? "present"
           : dry_run    ? "pending"
                        : "applied");
  return status;
}

/* --- printing -------------------------------------------------------------------------------------------------------
 */

static void print(trilha_buffer *out, const char *sql, const char *prefix) {
  add_sql(out, sql, prefix);
  trilha_buffer_add_string(out, ";\n\n");
}

trilha_status trilha_postgres_outbox_sql(const char *schema, trilha_buffer *out, trilha_error *err) {
  char prefix[TRILHA_OUTBOX_PREFIX_SIZE];
  trilha_pg_outbox_prefix(schema, prefix);
  print(out, trilha_sql_postgres_transaction_begin_write, prefix);
  print(out, trilha_sql_postgres_migration_search_path, prefix);
  print(out, trilha_sql_postgres_outbox_turn, prefix);
  print(out, trilha_sql_postgres_outbox_create_schema, prefix);
  print(out, trilha_sql_postgres_outbox_book, prefix);
  for (int i = 0; i < MIGRATIONS; i++) {
    const trilha_sql_migration *migration = &trilha_sql_postgres_outbox_migrations[i];
    trilha_buffer_add_format(out, "-- migration %s\n\n", migration->name);
    trilha_outbox_sql(out, migration->sql, prefix);
    trilha_buffer_add_char(out, '\n');
    trilha_outbox_sql_record(out, trilha_sql_postgres_outbox_record_printed, migration, prefix);
  }
  print(out, trilha_sql_postgres_transaction_commit, prefix);
  return trilha_buffer_check(out, err);
}
