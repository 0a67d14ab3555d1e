/* store/sqlite: migrations, their books, and what the database itself refuses. */
#include "sqlite_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite_migrations.h"

enum { COUNT = TRILHA_SQL_SQLITE_MIGRATION_COUNT };

typedef struct reported {
  size_t count;
  char what[32][12];
} reported;

static void report(void *user, const char *name, const char *what) {
  reported *r = user;
  assert_true(r->count < 32);
  assert_string_equal(name, trilha_sql_sqlite_migrations[r->count].name);
  snprintf(r->what[r->count++], sizeof r->what[0], "%s", what);
}

static trilha_status migrate(const fixture *f, bool dry_run, reported *r, trilha_error *err) {
  trilha_store *store = NULL;
  trilha_status status = fixture_try_open(f->url, true, &store, err);
  if (status != TRILHA_OK) return status;
  *r = (reported){0};
  status = store->op->migrate(store, dry_run, report, r, err);
  store->op->close(store);
  return status;
}

static void expect_all(const reported *r, const char *what) {
  assert_int_equal(r->count, COUNT);
  for (size_t i = 0; i < r->count; i++) assert_string_equal(r->what[i], what);
}

static void a_fresh_database_gets_every_migration_once(void **state) {
  fixture *f = *state;
  reported r;
  assert_int_equal(migrate(f, true, &r, NULL), TRILHA_OK);
  expect_all(&r, "pending");
  assert_int_equal(migrate(f, false, &r, NULL), TRILHA_OK);
  expect_all(&r, "applied");
  assert_int_equal(migrate(f, false, &r, NULL), TRILHA_OK);
  expect_all(&r, "present");
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_trilha_migration"), COUNT);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_trilha_migration WHERE length(checksum) = 64"),
                   COUNT);
  assert_string_equal(trilha_sql_sqlite_migrations[0].name, "20260808112047_init_core");
  assert_string_equal(trilha_sql_sqlite_migrations[1].name, "20260814154200_add_dlq_unique_event_colonia");
}

static void processes_that_migrate_at_once_apply_everything_once(void **state) {
  fixture *f = *state;
  enum { PROCESSES = 8 };
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      reported r;
      trilha_error err = {0};
      _exit(migrate(f, false, &r, &err) == TRILHA_OK && r.count == COUNT ? 0 : 1);
    }
  }
  for (int i = 0; i < PROCESSES; i++) fixture_join(children[i]);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_trilha_migration"), COUNT);
  trilha_store *store = fixture_open(f);
  fixture_append(store, 1, 1, "a");
  store->op->close(store);
}

static void expect_open_refused(const fixture *f, trilha_status status, const char *code) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  assert_int_equal(fixture_try_open(f->url, false, &store, &err), status);
  assert_string_equal(err.code, code);
}

static void a_database_of_a_newer_program_is_refused_to_open_and_to_migrate(void **state) {
  fixture *f = *state;
  char said[256];
  fixture_migrate(f);
  fixture_run(f->path, "INSERT INTO core_trilha_migration VALUES ('29990101000000_later', 'x', 'y')", said);
  expect_open_refused(f, TRILHA_UNSUPPORTED, "STORE_NEWER");
  reported r;
  trilha_error err = {0};
  assert_int_equal(migrate(f, false, &r, &err), TRILHA_UNSUPPORTED);
  assert_string_equal(err.code, "STORE_NEWER");
  assert_non_null(strstr(err.text, "29990101000000_later"));
}

static void a_migration_applied_with_other_content_is_refused(void **state) {
  fixture *f = *state;
  char said[256];
  fixture_migrate(f);
  fixture_run(f->path, "UPDATE core_trilha_migration SET checksum = 'edited' WHERE name LIKE '%audit_log'", said);
  expect_open_refused(f, TRILHA_CORRUPT, "MIGRATION_CHANGED");
  reported r;
  assert_int_equal(migrate(f, false, &r, NULL), TRILHA_CORRUPT);
}

/* The first `count` migrations as another tool would run them: no books are kept. */
static void run_migrations(const fixture *f, int count) {
  char said[256];
  fclose(fopen(f->path, "w"));
  for (int i = 0; i < count; i++)
    assert_string_equal(fixture_run(f->path, trilha_sql_sqlite_migrations[i].sql, said), "");
}

static void an_older_database_is_refused_until_it_is_migrated(void **state) {
  fixture *f = *state;
  char said[256];
  fixture_migrate(f);
  fixture_run(f->path,
              "DROP TABLE core_audit_log; DROP TABLE core_fencing; DROP TABLE core_colony_schema; DROP TABLE "
              "core_consumer_lease;"
              "DROP TABLE core_dead_letter_lease; DROP TABLE core_reprocess_request; DROP TABLE core_handler_guarantee;"
              "DROP INDEX core_dead_letter_queue_colonia_sequence_idx;"
              "DELETE FROM core_trilha_migration WHERE name > '20261130010200'",
              said);
  fixture_run(f->path,
              "DROP TABLE core_event_type_version; DROP TABLE core_registry_revision;"
              "DELETE FROM core_trilha_migration WHERE name = '20261130010200_registry'",
              said);
  expect_open_refused(f, TRILHA_UNSUPPORTED, "STORE_OUTDATED");
  reported r;
  assert_int_equal(migrate(f, false, &r, NULL), TRILHA_OK);
  assert_string_equal(r.what[0], "present");
  assert_string_equal(r.what[COUNT - 1], "applied");
  trilha_store *store = fixture_open(f);
  store->op->close(store);
}

static void a_database_that_has_the_specified_tables_is_compared_and_adopted(void **state) {
  fixture *f = *state;
  char said[256];
  run_migrations(f, 2);
  assert_string_equal(fixture_run(f->path,
                                  "INSERT INTO core_event_log (event_id, tipo, origem, payload) VALUES "
                                  "('00000000-0000-0000-0000-000000000001', 'a', 'D-1', '{}')",
                                  said),
                      "");
  reported r;
  assert_int_equal(migrate(f, true, &r, NULL), TRILHA_OK);
  assert_string_equal(r.what[1], "adopted");
  assert_string_equal(r.what[2], "pending");
  assert_int_equal(migrate(f, false, &r, NULL), TRILHA_OK);
  assert_string_equal(r.what[0], "adopted");
  assert_string_equal(r.what[1], "adopted");
  assert_string_equal(r.what[2], "applied");
  trilha_store *store = fixture_open(f);
  fixture_append(store, 2, 1, "a");
  store->op->close(store);
  assert_int_equal(fixture_number(f->path, "SELECT max(sequence_number) FROM core_event_log"), 2);
}

static void a_database_with_only_the_first_of_them_gets_the_second(void **state) {
  fixture *f = *state;
  run_migrations(f, 1);
  reported r;
  assert_int_equal(migrate(f, false, &r, NULL), TRILHA_OK);
  assert_string_equal(r.what[0], "adopted");
  assert_string_equal(r.what[1], "applied");
  assert_int_equal(fixture_number(f->path,
                                  "SELECT count(*) FROM sqlite_master WHERE name = "
                                  "'core_dead_letter_queue_event_id_colonia_key'"),
                   1);
}

static void a_table_of_another_shape_is_refused_and_left_alone(void **state) {
  fixture *f = *state;
  char said[256];
  run_migrations(f, 2);
  fixture_run(f->path, "DROP INDEX core_event_log_origem_idx", said);
  reported r;
  trilha_error err = {0};
  assert_int_equal(migrate(f, false, &r, &err), TRILHA_CONFLICT);
  assert_string_equal(err.code, "STORE_SCHEMA_DIFFERS");
  assert_non_null(strstr(err.text, "core_event_log_origem_idx"));
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM sqlite_master WHERE name = 'core_trilha_migration'"),
                   0);
  fixture_run(f->path, "DROP TABLE core_dead_letter_queue; DROP TABLE core_event_log; CREATE TABLE core_event_log (x)",
              said);
  err = (trilha_error){0};
  assert_int_equal(migrate(f, false, &r, &err), TRILHA_CONFLICT);
}

static void tables_of_the_embedder_may_share_the_file(void **state) {
  fixture *f = *state;
  char said[256];
  run_migrations(f, 0);
  fixture_run(f->path, "CREATE TABLE pedidos (id INTEGER PRIMARY KEY, valor TEXT); INSERT INTO pedidos VALUES (1, 'x')",
              said);
  reported r;
  assert_int_equal(migrate(f, false, &r, NULL), TRILHA_OK);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM pedidos"), 1);
}

static void the_printed_sql_makes_the_same_database(void **state) {
  fixture *f = *state;
  TRILHA_BUFFER_SCOPED sql = {0};
  assert_int_equal(trilha_sqlite_migrations_sql(&sql, NULL), TRILHA_OK);
  char script[128], command[400];
  snprintf(script, sizeof script, "%s/script.sql", f->folder);
  FILE *file = fopen(script, "w");
  assert_int_equal(fwrite(sql.data, 1, sql.size, file), sql.size);
  fclose(file);
  if (system("command -v sqlite3 >/dev/null") == 0) {
    snprintf(command, sizeof command, "sqlite3 -bail '%s' < '%s' >/dev/null", f->path, script);
    assert_int_equal(system(command), 0);
  } else {
    char said[256];
    fclose(fopen(f->path, "w"));
    assert_string_equal(fixture_run(f->path, sql.data, said), "");
  }
  trilha_store *store = fixture_open(f);
  fixture_append(store, 1, 1, "a");
  store->op->close(store);
  reported r;
  assert_int_equal(migrate(f, false, &r, NULL), TRILHA_OK);
  expect_all(&r, "present");
}

static trilha_status see_schema(sqlite3 *db, trilha_buffer *out) {
  sqlite3_stmt *statement = NULL;
  assert_int_equal(
      sqlite3_prepare_v2(db,
                         "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
                         "ORDER BY tbl_name, type = 'trigger', type = 'index', name",
                         -1, &statement, NULL),
      SQLITE_OK);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    trilha_buffer_add_string(out, (const char *)sqlite3_column_text(statement, 0));
    trilha_buffer_add_string(out, ";\n\n");
  }
  sqlite3_finalize(statement);
  return trilha_buffer_check(out, NULL);
}

/* TRILHA_UPDATE_SCHEMA=1 writes the file anew, to be looked at in the diff. */
static void the_reviewed_schema_file_is_what_the_migrations_make(void **state) {
  fixture *f = *state;
  const char *root = getenv("TRILHA_SOURCE_ROOT");
  if (root == NULL) skip();
  fixture_migrate(f);
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
  TRILHA_BUFFER_SCOPED made = {0};
  trilha_buffer_add_string(
      &made, "-- What the migrations make, for review; a test compares it with a freshly migrated database.\n\n");
  assert_int_equal(see_schema(db, &made), TRILHA_OK);
  sqlite3_close(db);
  char path[512];
  snprintf(path, sizeof path, "%s/sql/sqlite/schema.sql", root);
  if (getenv("TRILHA_UPDATE_SCHEMA") != NULL) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite(made.data, 1, made.size, file);
    fclose(file);
  }
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char *kept = calloc(1, made.size + 2);
  size_t size = fread(kept, 1, made.size + 1, file);
  fclose(file);
  if (size != made.size || memcmp(kept, made.data, size) != 0)
    fail_msg("sql/sqlite/schema.sql differs: run this test with TRILHA_UPDATE_SCHEMA=1 and review");
  free(kept);
}

/* --- append-only ------------------------------------------------------------------------------------------------ */

static void the_database_itself_refuses_every_way_of_changing_the_log(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 1, 3, "a");
  static const char *const ways[] = {
      "UPDATE core_event_log SET payload = '{\"x\":1}' WHERE sequence_number = 1",
      "UPDATE OR REPLACE core_event_log SET sequence_number = 9 WHERE sequence_number = 1",
      "DELETE FROM core_event_log WHERE sequence_number = 3",
      "DELETE FROM core_event_log",
      "REPLACE INTO core_event_log (event_id, tipo, origem, payload) VALUES "
      "('00000000-0000-0000-0000-000000000001', 'x', 'D-1', '{}')",
      "INSERT OR REPLACE INTO core_event_log (sequence_number, event_id, tipo, origem, payload) VALUES "
      "(3, '00000000-0000-0000-0000-00000000000f', 'x', 'D-1', '{}')",
      "INSERT INTO core_event_log (event_id, tipo, origem, payload) VALUES "
      "('00000000-0000-0000-0000-000000000001', 'x', 'D-1', '{}') "
      "ON CONFLICT (event_id) DO UPDATE SET payload = '{}'",
  };
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    char said[256];
    fixture_run(f->path, ways[i], said);
    if (strstr(said, "append-only") == NULL) fail_msg("%s: '%s'", ways[i], said);
  }
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log WHERE payload = '{\"n\": 1}'"), 3);
}

static void a_number_below_one_that_readers_passed_is_refused(void **state) {
  fixture *f = *state;
  char said[256];
  fixture_append(f->store, 1, 3, "a");
  fixture_run(f->path,
              "INSERT INTO core_event_log (sequence_number, event_id, tipo, origem, payload) VALUES "
              "(10, '00000000-0000-0000-0000-00000000000a', 'x', 'D-1', '{}')",
              said);
  assert_string_equal(said, "");
  fixture_run(f->path,
              "INSERT INTO core_event_log (sequence_number, event_id, tipo, origem, payload) VALUES "
              "(7, '00000000-0000-0000-0000-00000000000b', 'x', 'D-1', '{}')",
              said);
  assert_non_null(strstr(said, "only rise"));
  fixture_append(f->store, 20, 1, "a");
  assert_int_equal(fixture_number(f->path, "SELECT max(sequence_number) FROM core_event_log"), 11);
}

static void what_the_columns_cannot_be_is_refused_to_raw_sql_too(void **state) {
  fixture *f = *state;
  static const char *const bad[] = {
      "('A0000000-0000-0000-0000-000000000001', 'a', '2026-06-15T10:30:00.00Z', '{}')", /* upper case */
      "('0000000000000000000000000000000000a1', 'a', '2026-06-15T10:30:00.00Z', '{}')",
      "('00000000-0000-0000-0000-000000000001', 'a', '2026-06-15T10:30:00Z', '{}')",    /* another width */
      "('00000000-0000-0000-0000-000000000001', 'a', '2026-02-30T10:30:00.00Z', '{}')", /* no such day */
      "('00000000-0000-0000-0000-000000000001', 'a', '2026-06-15T24:00:00.00Z', '{}')",
      "('00000000-0000-0000-0000-000000000001', 'a', '0000-06-15T10:30:00.00Z', '{}')",
      "('00000000-0000-0000-0000-000000000001', 'a', '2026-06-15T10:30:00.00Z', 'x')",
      "('00000000-0000-0000-0000-000000000001', x'00', '2026-06-15T10:30:00.00Z', '{}')", /* a blob */
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char sql[300], said[256];
    snprintf(sql, sizeof sql,
             "INSERT INTO core_event_log (event_id, tipo, timestamp, payload, origem) SELECT *, 'D-1' FROM "
             "(VALUES %s)",
             bad[i]);
    if (fixture_run(f->path, sql, said)[0] == '\0') fail_msg("accepted: %s", bad[i]);
  }
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 0);
}

static void numbers_are_never_given_twice_even_after_rows_were_removed_by_force(void **state) {
  fixture *f = *state;
  char said[256];
  fixture_append(f->store, 1, 5, "a");
  assert_string_equal(
      fixture_run(f->path, "DROP TRIGGER core_event_log_refuse_delete; DELETE FROM core_event_log", said), "");
  fixture_append(f->store, 11, 1, "a");
  assert_int_equal(fixture_number(f->path, "SELECT min(sequence_number) FROM core_event_log"), 6);
}

static void an_aborted_insert_leaves_no_gap_and_no_trace(void **state) {
  fixture *f = *state;
  char said[256];
  fixture_append(f->store, 1, 2, "a");
  fixture_run(f->path,
              "BEGIN IMMEDIATE; INSERT INTO core_event_log (event_id, tipo, origem, payload) VALUES "
              "('00000000-0000-0000-0000-0000000000aa', 'x', 'D-1', '{}'); ROLLBACK",
              said);
  fixture_append(f->store, 3, 1, "a");
  assert_int_equal(fixture_number(f->path, "SELECT max(sequence_number) FROM core_event_log"), 3);
}

static void the_audit_log_and_published_schemas_cannot_be_changed(void **state) {
  fixture *f = *state;
  const trilha_type_row type = {.tipo = TRILHA_TEXT("a"),
                                .versao = TRILHA_TEXT("1.0.0"),
                                .status = TRILHA_TEXT("ativo"),
                                .schema = TRILHA_TEXT("{\"type\":\"object\"}")};
  const trilha_audit_row audit = {.entity = TRILHA_TEXT("event_type"),
                                  .entity_id = TRILHA_TEXT("a@1.0.0"),
                                  .change_type = TRILHA_TEXT("Created"),
                                  .user = TRILHA_TEXT("ana"),
                                  .metadata = TRILHA_TEXT("{}")};
  assert_int_equal(f->store->op->types_apply(f->store, &type, 1, &audit, 1, TRILHA_NO_DEADLINE, NULL), TRILHA_OK);
  static const char *const ways[] = {
      "UPDATE core_audit_log SET user_name = 'x'",
      "DELETE FROM core_audit_log",
      "REPLACE INTO core_audit_log (id, entity, entity_id, change_type, user_name) VALUES (1,'x','x','Created','x')",
      "UPDATE core_event_type_version SET schema = 'true'",
      "UPDATE core_event_type_version SET versao = '9.9.9'",
  };
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    char said[256];
    if (fixture_run(f->path, ways[i], said)[0] == '\0') fail_msg("accepted: %s", ways[i]);
  }
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_audit_log WHERE user_name = 'ana'"), 1);
}

static void a_dead_letter_needs_its_event_and_is_one_per_colony(void **state) {
  fixture *f = *state;
  char said[256];
  fixture_append(f->store, 1, 1, "a");
  static const char insert[] =
      "PRAGMA foreign_keys = ON; INSERT INTO core_dead_letter_queue (event_id, sequence_number, colonia, "
      "mensagem_erro) "
      "VALUES ('00000000-0000-0000-0000-00000000000%d', 1, 'D-4', 'x')";
  char sql[300];
  snprintf(sql, sizeof sql, insert, 1);
  assert_string_equal(fixture_run(f->path, sql, said), "");
  assert_non_null(strstr(fixture_run(f->path, sql, said), "UNIQUE"));
  snprintf(sql, sizeof sql, insert, 2);
  assert_non_null(strstr(fixture_run(f->path, sql, said), "FOREIGN KEY"));
}

/* Specification 001: what GrydFiles wrote before there were actions. */
static const struct {
  const char *event, *action; /* NULL: stays without */
} EVENTS[] = {
    {"\"download-url.issued\"", "gryd-files.download-url.issued"},
    {"\"file.rolled-back\"", "gryd-files.file.rolled-back"},
    {"\"file.sent\"", "gryd-files.file.sent"},
    {"\"file.issue\"", NULL},         /* no past tense */
    {"\"file.need\"", NULL},          /* nor this */
    {"\"issued\"", NULL},             /* two segments */
    {"\"a.b.issued\"", NULL},         /* four */
    {"\"DownloadUrl.issued\"", NULL}, /* capital letters */
    {"\"9.issued\"", NULL},
    {"\".issued\"", NULL},
    {"\"file.\"", NULL},
    {"\"\"", NULL},
    {"7", NULL},
    {"null", NULL},
    {"\"' OR 1.issued\"", NULL},
};
enum { EVENTS_COUNT = sizeof EVENTS / sizeof EVENTS[0], EVENTS_FITTING = 3 };

static void events_of_before_there_were_actions_become_actions_where_they_fit(void **state) {
  fixture *f = *state;
  char said[256], sql[512];
  fixture_migrate(f);
  fixture_run(f->path, "DELETE FROM core_trilha_migration WHERE name = '20261130025000_audit_events_promoted'", said);
  for (size_t i = 0; i < EVENTS_COUNT; i++) {
    /* A quote within the value is doubled. */
    const char *quote = strchr(EVENTS[i].event, '\'');
    int head = quote == NULL ? (int)strlen(EVENTS[i].event) : (int)(quote - EVENTS[i].event);
    snprintf(sql, sizeof sql,
             "INSERT INTO core_audit_log (entity, entity_id, change_type, user_name, metadata) VALUES "
             "('File', '1', 'Accessed', 'ana', '{\"Event\": %.*s%s%s}')",
             head, EVENTS[i].event, quote == NULL ? "" : "'", quote == NULL ? "" : quote);
    assert_string_equal(fixture_run(f->path, sql, said), "");
  }
  assert_string_equal(
      fixture_run(f->path,
                  "INSERT INTO core_audit_log (entity, entity_id, change_type, action, user_name, metadata) VALUES "
                  "('File', '1', 'Accessed', 'x.y.read', 'ana', '{\"Event\": \"file.issued\"}'), "
                  "('File', '1', 'Accessed', NULL, 'ana', '{\"Other\": \"file.issued\"}')",
                  said),
      "");
  reported r;
  trilha_error err = {0};
  if (migrate(f, false, &r, &err) != TRILHA_OK) fail_msg("%s", err.text);
  for (size_t i = 0; i < EVENTS_COUNT; i++) {
    if (EVENTS[i].action == NULL)
      snprintf(sql, sizeof sql, "SELECT action IS NULL FROM core_audit_log WHERE id = %zu", i + 1);
    else
      snprintf(sql, sizeof sql, "SELECT action = '%s' FROM core_audit_log WHERE id = %zu", EVENTS[i].action, i + 1);
    if (fixture_number(f->path, sql) != 1) fail_msg("%s", EVENTS[i].event);
  }
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_audit_log WHERE action = 'x.y.read'"), 1);
  snprintf(sql, sizeof sql,
           "SELECT count(*) FROM core_audit_log WHERE action = 'trilha.audit-log.promoted' AND metadata ->> 'promoted' "
           "= '%d' "
           "AND metadata ->> 'left' = '%d' AND metadata ->> 'left_ids' = '4,5,6,7,8,9,10,11,12,13,14,15'",
           EVENTS_FITTING, EVENTS_COUNT - EVENTS_FITTING);
  assert_int_equal(fixture_number(f->path, sql), 1);
  assert_string_not_equal(fixture_run(f->path, "UPDATE core_audit_log SET user_name = 'x'", said), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      EMPTY(a_fresh_database_gets_every_migration_once),
      EMPTY(processes_that_migrate_at_once_apply_everything_once),
      EMPTY(a_database_of_a_newer_program_is_refused_to_open_and_to_migrate),
      EMPTY(a_migration_applied_with_other_content_is_refused),
      EMPTY(an_older_database_is_refused_until_it_is_migrated),
      EMPTY(a_database_that_has_the_specified_tables_is_compared_and_adopted),
      EMPTY(a_database_with_only_the_first_of_them_gets_the_second),
      EMPTY(a_table_of_another_shape_is_refused_and_left_alone),
      EMPTY(tables_of_the_embedder_may_share_the_file),
      EMPTY(events_of_before_there_were_actions_become_actions_where_they_fit),
      EMPTY(the_printed_sql_makes_the_same_database),
      EMPTY(the_reviewed_schema_file_is_what_the_migrations_make),
      MIGRATED(the_database_itself_refuses_every_way_of_changing_the_log),
      MIGRATED(a_number_below_one_that_readers_passed_is_refused),
      MIGRATED(what_the_columns_cannot_be_is_refused_to_raw_sql_too),
      MIGRATED(numbers_are_never_given_twice_even_after_rows_were_removed_by_force),
      MIGRATED(an_aborted_insert_leaves_no_gap_and_no_trace),
      MIGRATED(the_audit_log_and_published_schemas_cannot_be_changed),
      MIGRATED(a_dead_letter_needs_its_event_and_is_one_per_colony),
  };
  return cmocka_run_group_tests_name("sqlite migrations", tests, NULL, NULL);
}
