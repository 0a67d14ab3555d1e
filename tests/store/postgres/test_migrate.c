/* store/postgres: migrations, adoption, and what start-up refuses. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres_fixture.h"

typedef struct reported {
  char words[32][16];
  char names[32][64];
  int count;
} reported;

static void note(void *user, const char *name, const char *what) {
  reported *r = user;
  assert_true(r->count < 32);
  snprintf(r->names[r->count], sizeof r->names[0], "%s", name);
  snprintf(r->words[r->count++], sizeof r->words[0], "%s", what);
}

static trilha_status migrate(const fixture *f, bool dry_run, reported *r, trilha_error *err) {
  *r = (reported){.count = 0};
  trilha_store *store = NULL;
  trilha_status status = fixture_try_open(f->url, true, &store, err);
  if (status != TRILHA_OK) return status;
  status = store->op->migrate(store, dry_run, note, r, err);
  store->op->close(store);
  return status;
}

static void expect_words(const reported *r, int first, int end, const char *word) {
  for (int i = first; i < end; i++)
    if (strcmp(r->words[i], word) != 0) fail_msg("%s is %s, not %s", r->names[i], r->words[i], word);
}

static void expect_refused(const char *url, bool allow_unmigrated, trilha_status status, const char *code,
                           const char *text) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  trilha_status got = fixture_try_open(url, allow_unmigrated, &store, &err);
  if (got == TRILHA_OK) store->op->close(store);
  if (got != status || strcmp(err.code, code) != 0 || strstr(err.text, text) == NULL)
    fail_msg("%d %s: %s", (int)got, err.code, err.text);
}

static void a_fresh_database_is_migrated_once(void **state) {
  fixture *f = *state;
  reported r;
  trilha_error err = {0};
  expect_refused(f->url, false, TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED", "trilha init");
  assert_int_equal(migrate(f, true, &r, &err), TRILHA_OK);
  expect_words(&r, 0, r.count, "pending");
  assert_int_equal(fixture_number(f->sql, "SELECT count(*) FROM pg_namespace WHERE nspname = 'core'"), 0);
  assert_int_equal(migrate(f, false, &r, &err), TRILHA_OK);
  assert_string_equal(r.names[0], "20260808112047_init_core");
  assert_string_equal(r.names[1], "20260814154200_add_dlq_unique_event_colonia");
  expect_words(&r, 0, r.count, "applied");
  assert_int_equal(migrate(f, false, &r, &err), TRILHA_OK);
  expect_words(&r, 0, r.count, "present");
  assert_int_equal(fixture_number(f->sql, "SELECT count(*) FROM core.trilha_migration"), r.count);
}

static void *migrate_in_thread(void *user) {
  fixture *f = user;
  trilha_error err = {0};
  return fixture_migrate(f->url, &err) == TRILHA_OK ? NULL : f;
}

static void four_that_migrate_at_once_all_succeed(void **state) {
  fixture *f = *state;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, migrate_in_thread, f), 0);
  for (int i = 0; i < 4; i++) {
    void *failed = NULL;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(fixture_number(f->sql, "SELECT count(*) - count(DISTINCT name) FROM core.trilha_migration"), 0);
}

static void run_migration_file(PGconn *sql, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "sql/postgres/migrations/%s.sql", name);
  char *text = fixture_source(path);
  fixture_expect(sql, text, "");
  free(text);
}

static void tables_made_by_another_tool_are_compared_and_adopted(void **state) {
  fixture *f = *state;
  run_migration_file(f->sql, "20260808112047_init_core");
  run_migration_file(f->sql, "20260814154200_add_dlq_unique_event_colonia");
  fixture_run(f->sql,
              "INSERT INTO core.event_log (event_id, tipo, origem, payload) "
              "VALUES ('00000000-0000-0000-0000-000000000001', 'a', 'b', '{}')");
  /* what an object mapper adds to the foreign key, and an index of the operator's own: neither changes an answer */
  fixture_run(f->sql,
              "ALTER TABLE core.dead_letter_queue DROP CONSTRAINT dead_letter_queue_event_id_fkey, "
              "ADD CONSTRAINT dead_letter_queue_event_id_fkey FOREIGN KEY (event_id) "
              "REFERENCES core.event_log(event_id) ON DELETE RESTRICT ON UPDATE CASCADE");
  fixture_run(f->sql, "CREATE INDEX my_own ON core.event_log USING gin (payload)");
  expect_refused(f->url, false, TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED", "adopt");
  reported r;
  trilha_error err = {0};
  if (migrate(f, false, &r, &err) != TRILHA_OK) fail_msg("%s", err.text);
  expect_words(&r, 0, 2, "adopted");
  expect_words(&r, 2, r.count, "applied");
  trilha_store *store = fixture_open(f->url);
  assert_int_equal(fixture_append_one(store, 2), 2);
  store->op->close(store);
}

static void a_database_with_only_the_first_migration_gets_the_second(void **state) {
  fixture *f = *state;
  run_migration_file(f->sql, "20260808112047_init_core");
  reported r;
  trilha_error err = {0};
  assert_int_equal(migrate(f, false, &r, &err), TRILHA_OK);
  expect_words(&r, 0, 1, "adopted");
  expect_words(&r, 1, r.count, "applied");
}

static void a_difference_is_refused_by_name_and_nothing_is_changed(void **state) {
  static const struct {
    const char *change, *named;
  } cases[] = {
      {"ALTER TABLE core.event_log ALTER tipo TYPE VARCHAR(100)", "column event_log.tipo"},
      {"ALTER TABLE core.event_log ALTER origem DROP NOT NULL", "column event_log.origem"},
      {"ALTER TABLE core.event_log ADD extra TEXT", "column event_log.extra should not be there"},
      {"DROP INDEX core.event_log_event_id_key CASCADE", "index event_log_event_id_key is missing"},
      {"CREATE UNIQUE INDEX one_a_day ON core.event_log (tipo, timestamp)", "index one_a_day should not be there"},
      {"ALTER TABLE core.dead_letter_queue DROP CONSTRAINT dead_letter_queue_event_id_fkey",
       "dead_letter_queue_event_id_fkey"},
      {"ALTER TABLE core.dead_letter_queue ALTER status SET DEFAULT 'x'", "column dead_letter_queue.status"},
      {"CREATE UNIQUE INDEX dead_letter_queue_event_id_colonia_key ON core.dead_letter_queue (event_id)",
       "dead_letter_queue_event_id_colonia_key"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture_run(f->sql, "DROP SCHEMA IF EXISTS core CASCADE");
    run_migration_file(f->sql, "20260808112047_init_core");
    fixture_run(f->sql, "%s", cases[i].change);
    trilha_error err = {0};
    assert_int_equal(fixture_migrate(f->url, &err), TRILHA_CONFLICT);
    assert_string_equal(err.code, "STORE_SCHEMA_DIFFERS");
    if (strstr(err.text, cases[i].named) == NULL) fail_msg("%s: %s", cases[i].named, err.text);
    assert_int_equal(fixture_number(f->sql, "SELECT count(*) FROM pg_class WHERE relname = 'trilha_migration'"), 0);
  }
}

static void a_newer_or_edited_or_older_store_is_refused(void **state) {
  fixture *f = *state;
  trilha_error err = {0};
  fixture_run(f->sql, "INSERT INTO core.trilha_migration VALUES ('29990101000000_from_the_future', 'x')");
  expect_refused(f->url, false, TRILHA_UNSUPPORTED, "STORE_NEWER", "29990101000000_from_the_future");
  expect_refused(f->url, true, TRILHA_UNSUPPORTED, "STORE_NEWER", "29990101000000_from_the_future");
  fixture_run(f->sql, "DELETE FROM core.trilha_migration WHERE name LIKE '2999%%'");
  fixture_run(f->sql, "UPDATE core.trilha_migration SET checksum = 'edited' WHERE name LIKE '%%registry'");
  expect_refused(f->url, false, TRILHA_CORRUPT, "MIGRATION_CHANGED", "registry");
  assert_int_equal(fixture_migrate(f->url, &err), TRILHA_CORRUPT);
  fixture_run(f->sql, "DELETE FROM core.trilha_migration WHERE name LIKE '%%roles'");
  fixture_run(
      f->sql,
      "UPDATE core.trilha_migration SET checksum = (SELECT 'x')"); /* not reached before the edited one is named */
  expect_refused(f->url, false, TRILHA_CORRUPT, "MIGRATION_CHANGED", "init_core");
}

static void an_older_store_opens_only_to_be_migrated(void **state) {
  fixture *f = *state;
  fixture_run(f->sql, "DELETE FROM core.trilha_migration WHERE name LIKE '%%roles'");
  expect_refused(f->url, false, TRILHA_UNSUPPORTED, "STORE_OUTDATED", "20261130010400_roles");
  reported r;
  trilha_error err = {0};
  assert_int_equal(migrate(f, false, &r, &err), TRILHA_OK);
  int applied = 0;
  for (int i = 0; i < r.count; i++) applied += strcmp(r.words[i], "applied") == 0;
  assert_int_equal(applied, 1);
}

static void a_sequence_that_caches_and_a_disabled_trigger_are_refused(void **state) {
  fixture *f = *state;
  fixture_run(f->sql, "ALTER SEQUENCE core.event_log_sequence_number_seq CACHE 20");
  expect_refused(f->url, false, TRILHA_CORRUPT, "STORE_ALTERED", "CACHE 20");
  fixture_run(f->sql, "ALTER SEQUENCE core.event_log_sequence_number_seq CACHE 1");
  fixture_run(f->sql, "ALTER TABLE core.event_log DISABLE TRIGGER event_log_turn");
  expect_refused(f->url, false, TRILHA_CORRUPT, "STORE_ALTERED", "event_log_turn");
  fixture_run(f->sql,
              "ALTER TABLE core.event_log ENABLE TRIGGER event_log_turn"); /* not ALWAYS: a replica role would pass */
  expect_refused(f->url, false, TRILHA_CORRUPT, "STORE_ALTERED", "event_log_turn");
  fixture_run(f->sql, "ALTER TABLE core.event_log ENABLE ALWAYS TRIGGER event_log_turn");
  trilha_store *store = fixture_open(f->url);
  store->op->close(store);
}

static void url_of_role(const fixture *f, const char *role, char out[FIXTURE_URL_SIZE]) {
  snprintf(out, FIXTURE_URL_SIZE, "postgresql://%s:pw@127.0.0.1:%d/%s", role, fixture_port(f->url), f->database);
}

static void a_role_that_may_not_create_roles_or_schemas_is_told_what_to_do(void **state) {
  fixture *f = *state;
  char role[96], url[FIXTURE_URL_SIZE];
  snprintf(role, sizeof role, "plain_%s", f->database);
  url_of_role(f, role, url);
  fixture_run(f->sql, "CREATE ROLE %s LOGIN PASSWORD 'pw'", role);
  trilha_error err = {0};
  assert_int_equal(fixture_migrate(url, &err), TRILHA_DENIED);
  assert_string_equal(err.sqlstate, "42501");
  fixture_run(f->sql, "GRANT CREATE ON DATABASE %s TO %s", f->database, role);
  err = (trilha_error){0};
  trilha_status status = fixture_migrate(url, &err); /* the two roles exist when another test made them: then it may */
  if (status != TRILHA_OK) {
    assert_int_equal(status, TRILHA_DENIED);
    assert_non_null(strstr(err.text, "CREATE ROLE trilha_reader NOLOGIN"));
  }
  fixture_run(f->sql, "DROP OWNED BY %s CASCADE", role);
  fixture_run(f->sql, "DROP ROLE %s", role);
}

static void the_printed_sql_run_by_hand_makes_the_same_store(void **state) {
  fixture *f = *state;
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  trilha_error err = {0};
  assert_int_equal(trilha_postgres_migrations_sql(&sql, &err), TRILHA_OK);
  fixture_expect(f->sql, sql.data, "");
  reported r;
  assert_int_equal(migrate(f, false, &r, &err), TRILHA_OK);
  expect_words(&r, 0, r.count, "present");
  trilha_store *store = fixture_open(f->url);
  assert_int_equal(fixture_append_one(store, 1), 1);
  store->op->close(store);
}

static void the_specified_seed_runs_unmodified(void **state) {
  fixture *f = *state;
  char *seed = fixture_source("sql/dev/seed.sql");
  fixture_expect(f->sql, seed, "");
  free(seed);
  fixture_seen seen;
  fixture_read(f->store, 0, "demanda.categorizada", 10, &seen);
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.sequences[0], 3);
  assert_int_equal(seen.scanned_to, 3);
}

/* pg_dump's text without what differs from run to run: comments, settings, empty lines. */
static void dump_schema(const fixture *f, trilha_buffer *out) {
  char command[1024], line[4096];
  snprintf(command, sizeof command,
           "PATH=$PATH:/usr/lib/postgresql/15/bin pg_dump --schema-only --no-owner --schema=core '%s' 2>/dev/null | "
           "grep -vE '^(--.*|SET .*|SELECT pg_catalog.set_config.*|.(un)?restrict .*|)$'",
           f->url);
  FILE *dump = popen(command, "r");
  assert_non_null(dump);
  while (fgets(line, sizeof line, dump) != NULL) trilha_buffer_add_string(out, line);
  pclose(dump);
}

static void the_reviewed_schema_is_what_the_migrations_make(void **state) {
  fixture *f = *state;
  if (fixture_number(f->sql, "SELECT current_setting('server_version_num')::int / 10000") != 15)
    skip(); /* others dump otherwise */
  TRILHA_BUFFER_SCOPED made;
  trilha_buffer_init(&made, 0);
  trilha_buffer_add_string(
      &made,
      "-- What the migrations make, as pg_dump 15 tells it, for review; a test compares it with a fresh store.\n");
  dump_schema(f, &made);
  if (made.size < 1000) skip(); /* no pg_dump here */
  const char *root = getenv("TRILHA_SOURCE_ROOT");
  if (getenv("TRILHA_UPDATE_SCHEMA") != NULL) {
    char path[1024];
    snprintf(path, sizeof path, "%s/sql/postgres/schema.sql", root == NULL ? "." : root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(made.data, 1, made.size, file), made.size);
    fclose(file);
  }
  char *reviewed = fixture_source("sql/postgres/schema.sql");
  if (strcmp(reviewed, made.data) != 0)
    fail_msg("sql/postgres/schema.sql differs: run this test with TRILHA_UPDATE_SCHEMA=1 and review");
  free(reviewed);
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
  fixture_run(f->sql, "DELETE FROM core.trilha_migration WHERE name = '20261130025000_audit_events_promoted'");
  for (size_t i = 0; i < EVENTS_COUNT; i++) {
    const char *values[] = {EVENTS[i].event};
    PGresult *result =
        PQexecParams(f->sql,
                     "INSERT INTO core.audit_log (entity, entity_id, change_type, user_name, metadata) VALUES "
                     "('File', '1', 'Accessed', 'ana', jsonb_build_object('Event', $1::text::jsonb))",
                     1, NULL, values, NULL, NULL, 0);
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
  }
  fixture_run(f->sql,
              "INSERT INTO core.audit_log (entity, entity_id, change_type, action, user_name, metadata) VALUES "
              "('File', '1', 'Accessed', 'x.y.read', 'ana', '{\"Event\": \"file.issued\"}'), "
              "('File', '1', 'Accessed', NULL, 'ana', '{\"Other\": \"file.issued\"}')");
  reported r;
  trilha_error err = {0};
  if (migrate(f, false, &r, &err) != TRILHA_OK) fail_msg("%s", err.text);
  for (size_t i = 0; i < EVENTS_COUNT; i++) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM (SELECT action FROM core.audit_log ORDER BY id OFFSET %zu LIMIT 1) a "
             "WHERE coalesce(action, '') = '%s'",
             i, EVENTS[i].action == NULL ? "" : EVENTS[i].action);
    if (fixture_number(f->sql, sql) != 1) fail_msg("%s", EVENTS[i].event);
  }
  assert_int_equal(fixture_number(f->sql, "SELECT count(*) FROM core.audit_log WHERE action = 'x.y.read'"), 1);
  char report[512];
  snprintf(
      report, sizeof report,
      "SELECT count(*) FROM core.audit_log WHERE action = 'trilha.audit-log.promoted' AND metadata->>'promoted' = '%d' "
      "AND metadata->>'left' = '%d' AND length(regexp_replace(metadata->>'left_ids', '[0-9]', '', 'g')) = %d",
      EVENTS_FITTING, EVENTS_COUNT - EVENTS_FITTING, EVENTS_COUNT - EVENTS_FITTING - 1);
  assert_int_equal(fixture_number(f->sql, report), 1);
  fixture_expect(f->sql, "UPDATE core.audit_log SET user_name = 'x'", "42501");
}

int main(void) {
#define ON_EMPTY(test)    cmocka_unit_test_setup_teardown(test, fixture_empty, fixture_teardown)
#define ON_MIGRATED(test) cmocka_unit_test_setup_teardown(test, fixture_migrated, fixture_teardown)
  const struct CMUnitTest tests[] = {
      ON_EMPTY(a_fresh_database_is_migrated_once),
      ON_EMPTY(four_that_migrate_at_once_all_succeed),
      ON_EMPTY(tables_made_by_another_tool_are_compared_and_adopted),
      ON_EMPTY(a_database_with_only_the_first_migration_gets_the_second),
      ON_EMPTY(a_difference_is_refused_by_name_and_nothing_is_changed),
      ON_MIGRATED(a_newer_or_edited_or_older_store_is_refused),
      ON_MIGRATED(an_older_store_opens_only_to_be_migrated),
      ON_MIGRATED(a_sequence_that_caches_and_a_disabled_trigger_are_refused),
      ON_EMPTY(a_role_that_may_not_create_roles_or_schemas_is_told_what_to_do),
      ON_EMPTY(the_printed_sql_run_by_hand_makes_the_same_store),
      ON_MIGRATED(events_of_before_there_were_actions_become_actions_where_they_fit),
      ON_MIGRATED(the_specified_seed_runs_unmodified),
      ON_MIGRATED(the_reviewed_schema_is_what_the_migrations_make),
  };
  if (fixture_skips()) return 0;
  return fixture_end(cmocka_run_group_tests_name("store/postgres migrate", tests, NULL, NULL));
}
