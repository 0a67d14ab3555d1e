/* store/postgres: migrations. All of them run in one transaction under one lock: a store is migrated or as it was. */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "postgres_internal.h"
#include "postgres_migrations.h"

enum { MIGRATIONS = TRILHA_SQL_POSTGRES_MIGRATION_COUNT };

typedef enum migration_fate { PENDING, PRESENT, ADOPTED, APPLIED } migration_fate;

typedef struct schema_state {
  bool has_schema, has_book, has_log, may_use;
} schema_state;

static void fill_state(const PGresult *result, schema_state *out) {
  out->has_schema = trilha_pg_get_bool(result, 0, 0);
  out->has_book = trilha_pg_get_bool(result, 0, 1);
  out->has_log = trilha_pg_get_bool(result, 0, 2);
  out->may_use = trilha_pg_get_bool(result, 0, 3);
}

static int index_of_migration(trilha_text name) {
  for (int i = 0; i < MIGRATIONS; i++)
    if (trilha_text_is(name, trilha_sql_postgres_migrations[i].name)) return i;
  return -1;
}

/* Marks what the book holds. Refuses what this program does not know or what was edited after it was applied. */
static trilha_status read_book(const PGresult *book, migration_fate fates[MIGRATIONS], trilha_error *err) {
  for (int row = 0; row < PQntuples(book); row++) {
    trilha_text name = trilha_pg_get_text(book, row, 0);
    int i = index_of_migration(name);
    if (i < 0)
      return trilha_error_set(
          err, TRILHA_UNSUPPORTED, "STORE_NEWER",
          "the store holds migration %.*s, which this version of Trilha does not know: use a newer one", (int)name.size,
          name.data);
    if (!trilha_text_is(trilha_pg_get_text(book, row, 1), trilha_sql_postgres_migrations[i].sha256))
      return trilha_error_set(err, TRILHA_CORRUPT, "MIGRATION_CHANGED",
                              "migration %s was applied with another text than this version of Trilha holds",
                              trilha_sql_postgres_migrations[i].name);
    fates[i] = PRESENT;
  }
  return TRILHA_OK;
}

static trilha_status refuse_alterations(const PGresult *alterations, trilha_error *err) {
  if (PQntuples(alterations) == 0) return TRILHA_OK;
  trilha_text first = trilha_pg_get_text(alterations, 0, 0);
  return trilha_error_set(err, TRILHA_CORRUPT, "STORE_ALTERED", "the store's schema was altered: %.*s", (int)first.size,
                          first.data);
}

/* --- start-up ---------------------------------------------------------------------------------------------------- */

static trilha_status look_at_state(trilha_pg_store *s, trilha_deadline deadline, schema_state *state,
                                   trilha_error *err) {
  const trilha_pg_step query = {.sql = trilha_sql_postgres_migration_state, .once = true};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = trilha_pg_read(s, &query, 1, deadline, &result, err);
  if (status == TRILHA_OK) fill_state(result, state);
  return status;
}

static trilha_status refuse_uninitialized(const schema_state *state, trilha_error *err) {
  if (state->has_log)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED",
                            "core.event_log was made by another tool: run `trilha init` to compare and adopt it");
  return trilha_error_set(err, TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED",
                          "there is no Trilha schema in this database: run `trilha init`");
}

static trilha_status refuse_outdated(const migration_fate fates[MIGRATIONS], trilha_error *err) {
  for (int i = 0; i < MIGRATIONS; i++)
    if (fates[i] == PENDING)
      return trilha_error_set(err, TRILHA_UNSUPPORTED, "STORE_OUTDATED",
                              "the store lacks migration %s: run `trilha init` to upgrade it",
                              trilha_sql_postgres_migrations[i].name);
  return TRILHA_OK;
}

trilha_status trilha_pg_check_schema(trilha_pg_store *s, bool allow_unmigrated, trilha_deadline deadline,
                                     trilha_error *err) {
  schema_state state = {0};
  trilha_status status = look_at_state(s, deadline, &state, err);
  if (status != TRILHA_OK) return status;
  if (!state.may_use)
    return trilha_error_set(err, TRILHA_DENIED, "STORE_DENIED",
                            "this role may not use the schema core: GRANT trilha_writer (or trilha_reader) TO it");
  if (!state.has_book) return allow_unmigrated ? TRILHA_OK : refuse_uninitialized(&state, err);
  const trilha_pg_step queries[] = {{.sql = trilha_sql_postgres_migration_list, .once = true},
                                    {.sql = trilha_sql_postgres_store_alterations, .once = true}};
  PGresult *results[2];
  status = trilha_pg_read(s, queries, 2, deadline, results, err);
  if (status != TRILHA_OK) return status;
  migration_fate fates[MIGRATIONS] = {PENDING};
  status = read_book(results[0], fates, err);
  bool outdated = status == TRILHA_OK && refuse_outdated(fates, NULL) != TRILHA_OK;
  if (outdated && !allow_unmigrated) status = refuse_outdated(fates, err);
  if (status == TRILHA_OK && !outdated) status = refuse_alterations(results[1], err);
  trilha_pg_clear(&results[0]);
  trilha_pg_clear(&results[1]);
  return status;
}

/* --- migrating -----------------------------------------------------------------------------------------------------
 */

typedef struct migration_run {
  trilha_pg_store *s;
  trilha_pg_connection *c;
  bool dry_run;
  migration_fate fates[MIGRATIONS];
} migration_run;

static trilha_status ask(migration_run *m, const char *sql, const trilha_pg_parameters *p, PGresult **ret_result,
                         trilha_error *err) {
  const trilha_pg_step step = {.sql = sql, .parameters = p, .once = true};
  trilha_pg_reach reach;
  return trilha_pg_run(m->c, &step, 1, TRILHA_NO_DEADLINE, ret_result, &reach, err);
}

static trilha_status tell(migration_run *m, const char *sql, const trilha_pg_parameters *p, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  return ask(m, sql, p, &result, err);
}

static trilha_status begin(migration_run *m, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED settings;
  trilha_pg_parameters_init(&settings);
  trilha_pg_add_i64(&settings, 0);
  trilha_pg_add_i64(&settings, m->s->lock_timeout_ms); /* ALTER TABLE behind a long reader would hold up everybody */
  trilha_pg_add_text(&settings, trilha_text_of(trilha_pg_plan_mode(true)));
  trilha_status status = tell(m, trilha_sql_postgres_transaction_begin_write, NULL, err);
  if (status == TRILHA_OK) status = tell(m, trilha_sql_postgres_transaction_settings, &settings, err);
  if (status == TRILHA_OK) status = tell(m, trilha_sql_postgres_transaction_free_plans, NULL, err);
  if (status == TRILHA_OK) status = tell(m, trilha_sql_postgres_migration_search_path, NULL, err);
  if (status == TRILHA_OK) status = tell(m, trilha_sql_postgres_migration_turn, NULL, err);
  return status;
}

static void add_difference(trilha_buffer *b, const PGresult *differences, int row) {
  trilha_text object = trilha_pg_get_text(differences, row, 0);
  trilha_text wanted = trilha_pg_get_text(differences, row, 1), actual = trilha_pg_get_text(differences, row, 2);
  trilha_buffer_add_string(b, row == 0 ? "" : "; ");
  trilha_buffer_add_text(b, object);
  if (actual.data == NULL) {
    trilha_buffer_add_string(b, " is missing");
  } else if (wanted.data == NULL) {
    trilha_buffer_add_string(b, " should not be there");
  } else {
    trilha_buffer_add_string(b, " must be \"");
    trilha_buffer_add_text(b, wanted);
    trilha_buffer_add_string(b, "\", is \"");
    trilha_buffer_add_text(b, actual);
    trilha_buffer_add_string(b, "\"");
  }
}

static trilha_status refuse_differences(const PGresult *differences, trilha_error *err) {
  enum { SHOWN_MAX = 8 };
  int count = PQntuples(differences);
  if (count == 0) return TRILHA_OK;
  TRILHA_BUFFER_SCOPED b;
  trilha_buffer_init(&b, 0);
  for (int row = 0; row < count && row < SHOWN_MAX; row++) add_difference(&b, differences, row);
  if (count > SHOWN_MAX) trilha_buffer_add_format(&b, "; and %d more", count - SHOWN_MAX);
  return trilha_error_set(err, TRILHA_CONFLICT, "STORE_SCHEMA_DIFFERS",
                          "core was made by another tool and is not what the specification says: %s",
                          trilha_buffer_text(&b).data);
}

/* Tables that another tool made from the same specification are taken over, once they prove equal (ruling R13). */
static trilha_status adopt(migration_run *m, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *second = NULL;
  trilha_status status = ask(m, trilha_sql_postgres_adoption_has_second, NULL, &second, err);
  if (status != TRILHA_OK) return status;
  bool has_second = trilha_pg_get_bool(second, 0, 0);
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_bool(&p, has_second);
  TRILHA_PG_RESULT_SCOPED *differences = NULL;
  status = ask(m, trilha_sql_postgres_adoption_differences, &p, &differences, err);
  if (status == TRILHA_OK) status = refuse_differences(differences, err);
  if (status != TRILHA_OK) return status;
  m->fates[0] = ADOPTED;
  if (has_second) m->fates[1] = ADOPTED;
  return TRILHA_OK;
}

static trilha_status open_book(migration_run *m, const schema_state *state, trilha_error *err) {
  if (m->dry_run) return TRILHA_OK;
  trilha_status status = TRILHA_OK;
  /* IF NOT EXISTS alone would ask for the right to create schemas even when there is nothing to create. */
  if (!state->has_schema) status = tell(m, trilha_sql_postgres_migration_schema, NULL, err);
  if (status == TRILHA_OK && !state->has_book) status = tell(m, trilha_sql_postgres_migration_book, NULL, err);
  return status;
}

static trilha_status find_fates(migration_run *m, const schema_state *state, trilha_error *err) {
  if (!state->has_book) return state->has_log ? adopt(m, err) : TRILHA_OK;
  TRILHA_PG_RESULT_SCOPED *book = NULL;
  trilha_status status = ask(m, trilha_sql_postgres_migration_list, NULL, &book, err);
  if (status != TRILHA_OK) return status;
  if (PQntuples(book) == 0 && state->has_log) return adopt(m, err);
  return read_book(book, m->fates, err);
}

static trilha_status record(migration_run *m, const trilha_sql_migration *migration, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, trilha_text_of(migration->name));
  trilha_pg_add_text(&p, trilha_text_of(migration->sha256));
  return tell(m, trilha_sql_postgres_migration_record, &p, err);
}

static trilha_status apply_one(migration_run *m, int i, trilha_error *err) {
  const trilha_sql_migration *migration = &trilha_sql_postgres_migrations[i];
  trilha_status status = TRILHA_OK;
  if (m->fates[i] == PRESENT) return TRILHA_OK;
  if (m->fates[i] == PENDING) {
    status = trilha_pg_script(m->c, migration->sql, err);
    if (status == TRILHA_OK) m->fates[i] = APPLIED;
  }
  if (status == TRILHA_OK) status = record(m, migration, err);
  if (status != TRILHA_OK) trilha_error_while(err, "applying migration %s", migration->name);
  return status;
}

static trilha_status apply_all(migration_run *m, trilha_error *err) {
  trilha_status status = TRILHA_OK;
  for (int i = 0; i < MIGRATIONS && status == TRILHA_OK; i++) status = apply_one(m, i, err);
  if (status != TRILHA_OK) return status;
  TRILHA_PG_RESULT_SCOPED *alterations = NULL;
  status = ask(m, trilha_sql_postgres_store_alterations, NULL, &alterations, err);
  return status == TRILHA_OK ? refuse_alterations(alterations, err) : status;
}

static trilha_status run_in_transaction(migration_run *m, trilha_error *err) {
  schema_state state = {0};
  TRILHA_PG_RESULT_SCOPED *found = NULL;
  trilha_status status = begin(m, err);
  if (status == TRILHA_OK) status = ask(m, trilha_sql_postgres_migration_state, NULL, &found, err);
  if (status != TRILHA_OK) return status;
  fill_state(found, &state);
  status = open_book(m, &state, err);
  if (status == TRILHA_OK) status = find_fates(m, &state, err);
  if (status != TRILHA_OK || m->dry_run) return status;
  status = apply_all(m, err);
  return status == TRILHA_OK ? tell(m, trilha_sql_postgres_transaction_commit, NULL, err) : status;
}

static const char *word_of(migration_fate fate) {
  switch (fate) {
    case PENDING:
      return "pending";
    case PRESENT:
      return "present";
    case ADOPTED:
      return "adopted";
    case APPLIED:
      return "applied";
  }
  return "?";
}

trilha_status trilha_pg_migrate(trilha_store *store, bool dry_run,
                                void (*report)(void *user, const char *name, const char *what), void *user,
                                trilha_error *err) {
  migration_run m = {.s = trilha_pg_of(store), .dry_run = dry_run};
  trilha_status status = trilha_pg_take_writer(m.s, TRILHA_NO_DEADLINE, &m.c, err);
  if (status != TRILHA_OK) return status;
  status = run_in_transaction(&m, err);
  /* The connection goes: it rolls back what is open, and its prepared statements may not fit what was altered. */
  trilha_pg_disconnect(m.c);
  trilha_pg_give_back(m.s, m.c);
  for (int i = 0; status == TRILHA_OK && report != NULL && i < MIGRATIONS; i++)
    report(user, trilha_sql_postgres_migrations[i].name, word_of(m.fates[i]));
  return status;
}

/* --- printing --------------------------------------------------------------------------------------------------------
 */

static void print_statement(trilha_buffer *out, const char *sql) {
  trilha_buffer_add_string(out, sql);
  trilha_buffer_add_string(out, ";\n\n");
}

static void print_record(trilha_buffer *out, const trilha_sql_migration *migration) {
  const char *sql = trilha_sql_postgres_migration_record_printed;
  const char *name = strstr(sql, "@NAME@"), *sum = strstr(sql, "@CHECKSUM@");
  TRILHA_ASSERT(name != NULL && sum != NULL && name < sum);
  trilha_buffer_append(out, sql, (size_t)(name - sql));
  trilha_buffer_add_string(out, migration->name);
  name += strlen("@NAME@");
  trilha_buffer_append(out, name, (size_t)(sum - name));
  trilha_buffer_add_string(out, migration->sha256);
  print_statement(out, sum + strlen("@CHECKSUM@"));
}

trilha_status trilha_postgres_migrations_sql(trilha_buffer *out, trilha_error *err) {
  print_statement(out, trilha_sql_postgres_transaction_begin_write);
  print_statement(out, trilha_sql_postgres_migration_search_path);
  print_statement(out, trilha_sql_postgres_migration_turn);
  print_statement(out, trilha_sql_postgres_migration_schema);
  print_statement(out, trilha_sql_postgres_migration_book);
  for (int i = 0; i < MIGRATIONS; i++) {
    const trilha_sql_migration *migration = &trilha_sql_postgres_migrations[i];
    trilha_buffer_add_format(out, "-- migration %s\n\n", migration->name);
    trilha_buffer_add_string(out, migration->sql);
    trilha_buffer_add_char(out, '\n');
    print_record(out, migration);
  }
  print_statement(out, trilha_sql_postgres_transaction_commit);
  return trilha_buffer_check(out, err);
}
