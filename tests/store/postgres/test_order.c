/* store/postgres: the order of the log and who may touch it, with raw SQL sessions interleaved. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "postgres_fixture.h"
#include "relay.h"

static const char raw_insert[] =
    "INSERT INTO core.event_log (event_id, tipo, origem, payload) VALUES (gen_random_uuid(), 'raw', 'psql', '{}')";

typedef struct publisher {
  trilha_store *store;
  unsigned n;
  int64_t sequence;
} publisher;

static void *publish(void *user) {
  publisher *p = user;
  p->sequence = fixture_append_one(p->store, p->n);
  return NULL;
}

static void wait_for_a_waiter(const fixture *f) {
  PGconn *watch = fixture_session(f->url);
  while (fixture_number(watch,
                        "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
                        "WHERE c.relname = 'event_log_turn' AND NOT l.granted "
                        "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())") == 0)
    trilha_clock_sleep_ms(5);
  PQfinish(watch);
}

static void B03_a_late_commit_never_falls_below_a_cursor(void **state) {
  fixture *f = *state;
  fixture_append_one(f->store, 1);
  fixture_run(f->sql, "BEGIN");
  fixture_run(f->sql, "%s", raw_insert); /* takes 2 and waits */
  publisher p = {.store = f->store, .n = 2};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, publish, &p), 0);
  wait_for_a_waiter(f);
  fixture_seen seen;
  fixture_read(f->store, 0, NULL, 100, &seen);
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.scanned_to, 1); /* the cursor stays below what is in flight */
  fixture_read(f->store, 0, "demanda.recebida", 100, &seen);
  assert_int_equal(seen.scanned_to, 1);
  fixture_run(f->sql, "COMMIT");
  pthread_join(thread, NULL);
  assert_int_equal(p.sequence, 3);
  fixture_read(f->store, 1, NULL, 100, &seen);
  assert_int_equal(seen.count, 2);
  assert_int_equal(seen.sequences[0], 2);
  assert_int_equal(seen.sequences[1], 3);
}

static void B04_abandoned_numbers_hold_nobody_up(void **state) {
  fixture *f = *state;
  for (unsigned i = 1; i <= 5; i++) fixture_append_one(f->store, i);
  for (int i = 0; i < 100; i++) {
    fixture_run(f->sql, "BEGIN");
    fixture_run(f->sql, "%s", raw_insert);
    fixture_run(f->sql, "ROLLBACK");
  }
  fixture_seen seen;
  fixture_read(f->store, 5, NULL, 100, &seen);
  assert_int_equal(seen.count, 0);
  assert_int_equal(seen.scanned_to, 5);
  assert_int_equal(fixture_append_one(f->store, 6), 106);
  fixture_read(f->store, 5, "demanda.recebida", 100, &seen);
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.sequences[0], 106);
  int64_t last = 0;
  unsigned char id[16];
  bool any = false;
  assert_int_equal(
      f->store->op->last_event(f->store, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), &last, id, &any, NULL), TRILHA_OK);
  assert_int_equal(last, 106); /* ruling R9: of committed rows, not the generator's */
}

static void raw_sql_takes_its_turn_before_it_takes_a_number(void **state) {
  fixture *f = *state;
  PGconn *other = fixture_session(f->url);
  fixture_run(f->sql, "BEGIN");
  fixture_run(f->sql, "%s", raw_insert);
  fixture_run(other, "SET lock_timeout = '100ms'");
  fixture_expect(other, raw_insert, "55P03");
  fixture_expect(other,
                 "COPY core.event_log (event_id, tipo, origem, payload) FROM PROGRAM "
                 "'echo 00000000-0000-0000-0000-00000000000a,copied,psql,{}' WITH (FORMAT csv, QUOTE '^')",
                 "55P03");
  fixture_run(other, "SET session_replication_role = replica"); /* ENABLE ALWAYS */
  fixture_expect(other, raw_insert, "55P03");
  fixture_expect(other,
                 "WITH x AS (SELECT 1), i AS (INSERT INTO core.event_log (event_id, tipo, origem, payload) "
                 "SELECT gen_random_uuid(), 'cte', 'psql', '{}' FROM x RETURNING 1) SELECT * FROM i",
                 "55P03");
  assert_int_equal(fixture_number(f->sql, "SELECT last_value FROM core.event_log_sequence_number_seq"), 1);
  fixture_run(f->sql, "COMMIT");
  fixture_run(other, "%s", raw_insert);
  assert_int_equal(fixture_number(other, "SELECT max(sequence_number) FROM core.event_log"), 2);
  PQfinish(other);
}

static void a_savepoint_rolled_back_gives_number_and_turn_back_together(void **state) {
  fixture *f = *state;
  fixture_run(f->sql, "BEGIN; SAVEPOINT s");
  fixture_run(f->sql, "%s", raw_insert);
  fixture_run(f->sql, "ROLLBACK TO s");
  assert_int_equal(fixture_append_one(f->store, 1),
                   2); /* the turn is free: the rolled-back row cannot appear any more */
  fixture_run(f->sql, "%s", raw_insert);
  fixture_run(f->sql, "COMMIT");
  assert_int_equal(fixture_number(f->sql, "SELECT max(sequence_number) FROM core.event_log"), 3);
}

static void a_raw_session_gone_quiet_loses_the_turn(void **state) {
  fixture *f = *state;
  fixture_run(f->sql, "BEGIN");
  fixture_run(f->sql, "%s", raw_insert);
  assert_int_equal(fixture_number(f->sql,
                                  "SELECT extract(epoch FROM "
                                  "current_setting('idle_in_transaction_session_timeout')::interval)"),
                   30);
  fixture_run(f->sql, "ROLLBACK");
  assert_int_equal(fixture_number(f->sql,
                                  "SELECT extract(epoch FROM "
                                  "current_setting('idle_in_transaction_session_timeout')::interval)"),
                   0);
  PGconn *quiet = fixture_session(f->url);
  fixture_run(quiet, "SET idle_in_transaction_session_timeout = '300ms'"); /* a shorter one is kept */
  fixture_run(quiet, "BEGIN; %s", raw_insert);                             /* in one: it is quiet only after it */
  assert_int_equal(fixture_append_one(f->store, 1), 3); /* waits for the server to end that session */
  assert_int_equal(fixture_number(f->sql, "SELECT count(*) FROM core.event_log"), 1);
  PQfinish(quiet);
}

/* The trigger runs with its owner's rights and without a search path of its own. */
static void a_session_cannot_slip_its_own_operators_under_the_trigger(void **state) {
  fixture *f = *state;
  fixture_run(
      f->sql,
      "CREATE SCHEMA trap; "
      "CREATE FUNCTION trap.sprung(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung'; END $$; "
      "CREATE OPERATOR trap.= (FUNCTION = trap.sprung, LEFTARG = text, RIGHTARG = text); "
      "CREATE OPERATOR trap.<> (FUNCTION = trap.sprung, LEFTARG = text, RIGHTARG = text); "
      "CREATE FUNCTION trap.over(interval, interval) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung'; "
      "END $$; "
      "CREATE OPERATOR trap.> (FUNCTION = trap.over, LEFTARG = interval, RIGHTARG = interval); "
      "CREATE FUNCTION trap.current_setting(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung'; END $$; "
      "CREATE FUNCTION trap.set_config(text, text, boolean) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE "
      "'sprung'; END $$; "
      "CREATE DOMAIN trap.interval AS pg_catalog.interval CHECK (false); "
      "CREATE DOMAIN trap.text AS pg_catalog.text CHECK (false)");
  PGconn *other = fixture_session(f->url);
  fixture_run(other, "SET search_path = trap, pg_catalog");
  static const char *const limits[] = {"0", "30s", "1h", "250ms"};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    fixture_run(other, "SET idle_in_transaction_session_timeout = '%s'", limits[i]);
    fixture_expect(other, raw_insert, "");
  }
  PQfinish(other);
}

static void a_client_that_stops_in_the_middle_of_a_batch_holds_nothing(void **state) {
  fixture *f = *state;
  int port = 0;
  char url[FIXTURE_URL_SIZE];
  relay *r = relay_start(fixture_port(f->url), &port);
  fixture_url_with(f->url, port, NULL, url);
  trilha_store *stopped = fixture_open(url);
  char *big = malloc(400000);
  memset(big, 'a', 400000);
  memcpy(big, "{\"t\": \"", 7);
  memcpy(big + 399998, "\"}", 2);
  trilha_event_row rows[4];
  for (unsigned i = 0; i < 4; i++) {
    rows[i] = fixture_row(10 + i, "demanda.recebida");
    rows[i].payload = (trilha_text){big, 400000};
  }
  static const relay_cut cuts[] = {RELAY_HALF_REQUEST, RELAY_HOLD_ANSWER};
  for (int i = 0; i < 2; i++) { /* cut within the rows; cut after the last byte */
    trilha_append_result results[4];
    trilha_error err = {0};
    int64_t told = fixture_hint(f);
    fixture_append_one(stopped, 1 + (unsigned)i);
    fixture_await_hint(f, told); /* the hint of that event has left: what comes next is the batch */
    relay_set(r, cuts[i]);
    trilha_status status = TRILHA_TIMEOUT; /* no time was left to send anything: again */
    for (int tries = 0; tries < 20 && status == TRILHA_TIMEOUT; tries++)
      status = fixture_append(stopped, rows, i == 0 ? 4 : 1, 1000, results, &err);
    assert_int_equal(status, TRILHA_OUTCOME_UNKNOWN);
    told = fixture_hint(f);
    fixture_append_one(f->store, 20 + (unsigned)i);
    fixture_await_hint(f, told);
    fixture_await(f->sql, "SELECT count(*) FROM core.event_log", i == 0 ? 2 : 5);
    fixture_expect(f->sql, "BEGIN; LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE NOWAIT; COMMIT", "");
  }
  stopped->op->close(stopped);
  relay_stop(r);
  free(big);
}

static void nothing_stored_can_be_changed_by_anybody(void **state) {
  static const char *const changes[] = {
      "UPDATE core.event_log SET tipo = 'x'",
      "UPDATE core.event_log SET tipo = 'x' WHERE false",
      "DELETE FROM core.event_log",
      "TRUNCATE core.event_log CASCADE",
      "INSERT INTO core.event_log (event_id, tipo, origem, payload) SELECT event_id, 'x', 'x', '{}' FROM "
      "core.event_log "
      "ON CONFLICT (event_id) DO UPDATE SET tipo = 'x'",
      "MERGE INTO core.event_log e USING (SELECT 1) x ON true WHEN MATCHED THEN UPDATE SET tipo = 'x'",
      "UPDATE core.audit_log SET user_name = 'x'",
      "DELETE FROM core.audit_log",
      "TRUNCATE core.audit_log",
  };
  fixture *f = *state;
  fixture_append_one(f->store, 1);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    fixture_expect(f->sql, changes[i], "42501"); /* a superuser and the owner */
    fixture_run(f->sql, "SET session_replication_role = replica");
    fixture_expect(f->sql, changes[i], "42501");
    fixture_run(f->sql, "RESET session_replication_role");
  }
  assert_int_equal(fixture_number(f->sql, "SELECT count(*) FROM core.event_log WHERE tipo = 'demanda.recebida'"), 1);
}

/* --- roles -------------------------------------------------------------------------------------------------------- */

static void make_role(const fixture *f, const char *kind, char role[96], char url[FIXTURE_URL_SIZE]) {
  snprintf(role, 96, "%s_%s", kind[0] == '\0' ? "colony" : kind, f->database);
  fixture_run(f->sql, "CREATE ROLE %s LOGIN PASSWORD 'pw' %s%s", role, kind[0] == '\0' ? "" : "IN ROLE ", kind);
  snprintf(url, FIXTURE_URL_SIZE, "postgresql://%s:pw@127.0.0.1:%d/%s", role, fixture_port(f->url), f->database);
}

static void drop_role(const fixture *f, const char *role) {
  fixture_run(f->sql, "DROP ROLE %s", role);
}

static void the_writer_role_appends_and_can_do_no_harm(void **state) {
  static const char *const refused[] = {
      "INSERT INTO core.event_log (sequence_number, event_id, tipo, origem, payload) "
      "VALUES (99, gen_random_uuid(), 'x', 'x', '{}')",
      "SELECT setval('core.event_log_sequence_number_seq', 99)",
      "UPDATE core.event_log SET tipo = 'x'",
      "DELETE FROM core.event_log",
      "TRUNCATE core.event_log",
      "ALTER TABLE core.event_log DISABLE TRIGGER ALL",
      "DELETE FROM core.audit_log",
      "UPDATE core.event_type_version SET schema = '{}'",
      "DELETE FROM core.event_type_version",
      "INSERT INTO core.trilha_migration VALUES ('x', 'x')",
      "CREATE TABLE core.mine ()",
      "SELECT * FROM core.audit_log",
      "INSERT INTO core.dead_letter_queue (event_id, sequence_number, colonia, mensagem_erro) "
      "VALUES (gen_random_uuid(), 1, 'x', 'x')",
  };
  fixture *f = *state;
  char role[96], url[FIXTURE_URL_SIZE];
  make_role(f, "trilha_writer", role, url);
  trilha_store *store = fixture_open(url);
  assert_int_equal(fixture_append_one(store, 1), 1);
  const trilha_type_row type = {.tipo = TRILHA_TEXT("a"), .versao = TRILHA_TEXT("1.0.0"), .schema = TRILHA_TEXT("{}")};
  const trilha_audit_row audit = {.entity = TRILHA_TEXT("type"),
                                  .entity_id = TRILHA_TEXT("a"),
                                  .change_type = TRILHA_TEXT("Created"),
                                  .user = TRILHA_TEXT("t")};
  trilha_error err = {0};
  if (store->op->types_apply(store, &type, 1, &audit, 1, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), &err) != TRILHA_OK)
    fail_msg("%s", err.text);
  store->op->close(store);
  PGconn *sql = fixture_session(url);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) fixture_expect(sql, refused[i], "42501");
  fixture_expect(sql, raw_insert, "");
  PQfinish(sql);
  drop_role(f, role);
}

static void the_reader_role_reads_and_no_more(void **state) {
  fixture *f = *state;
  char role[96], url[FIXTURE_URL_SIZE];
  fixture_append_one(f->store, 1);
  make_role(f, "trilha_reader", role, url);
  trilha_store *store = fixture_open(url);
  fixture_seen seen;
  fixture_read(store, 0, NULL, 10, &seen);
  assert_int_equal(seen.count, 1);
  trilha_event_row row = fixture_row(2, "a");
  trilha_append_result result;
  trilha_error err = {0};
  assert_int_equal(fixture_append(store, &row, 1, FIXTURE_PATIENCE_MS, &result, &err), TRILHA_DENIED);
  store->op->close(store);
  PGconn *sql = fixture_session(url);
  fixture_expect(sql, raw_insert, "42501");
  fixture_run(sql, "BEGIN"); /* whoever could lock this could stop all writers */
  fixture_expect(sql, "LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE", "42501");
  PQfinish(sql);
  drop_role(f, role);
}

static void the_operator_role_sees_all_asks_for_a_reprocess_and_appends_nothing(void **state) {
  static const char *const refused[] = {
      "CALL core.event_append(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
      "NULL, NULL, NULL, 1, true, false, true, NULL, NULL, NULL, NULL)",
      "INSERT INTO core.event_type_version (tipo, versao, status) VALUES ('x', '1.0.0', 'ativo')",
      "UPDATE core.event_type_version SET status = 'deprecated'",
      "UPDATE core.audit_log SET user_name = 'x'",
      "DELETE FROM core.audit_log",
      "INSERT INTO core.audit_log (created_at, entity, entity_id, change_type, user_name) VALUES (now(), 'a', 'b', "
      "'Created', 'x')",
      "UPDATE core.dead_letter_queue SET status = 'resolved'",
      "SELECT core.cursors_advance('D-4', '', 1, '{}', '{}', '{}')",
      "SELECT core.dead_letters_take('D-4', NULL, NULL, 1, 'x', 1000)",
      "SELECT core.lease_acquire('D-4', '', 'x', '{a}', 1000)",
      "CREATE TABLE core.mine ()",
  };
  fixture *f = *state;
  char role[96], url[FIXTURE_URL_SIZE];
  fixture_append_one(f->store, 1);
  make_role(f, "trilha_operator", role, url);
  trilha_store *store = fixture_open(url);
  fixture_seen seen;
  fixture_read(store, 0, NULL, 10, &seen);
  assert_int_equal(seen.count, 1);
  const trilha_audit_row audit = {.entity = TRILHA_TEXT("token"),
                                  .entity_id = TRILHA_TEXT("a"),
                                  .change_type = TRILHA_TEXT("Created"),
                                  .user = TRILHA_TEXT("t")};
  trilha_error err = {0};
  if (store->op->audit_insert(store, &audit, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), &err) != TRILHA_OK)
    fail_msg("%s", err.text);
  store->op->close(store);
  PGconn *sql = fixture_session(url);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) fixture_expect(sql, refused[i], "42501");
  fixture_expect(sql, raw_insert, "42501");
  assert_int_equal(fixture_number(sql, "SELECT count(*) FROM core.audit_log WHERE entity = 'token'"), 1);
  assert_int_equal(fixture_number(sql, "SELECT (r.listening)::int FROM core.request_create('D-4', 'ana') r"), 0);
  PQfinish(sql);
  drop_role(f, role);
}

static void core_is_closed_to_everybody_else(void **state) {
  fixture *f = *state;
  char role[96], url[FIXTURE_URL_SIZE];
  make_role(f, "", role, url);
  PGconn *sql = fixture_session(url);
  fixture_expect(sql, "SELECT * FROM core.event_log", "42501");
  fixture_expect(sql, raw_insert, "42501");
  fixture_expect(sql,
                 "CALL core.event_append(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
                 "NULL, NULL, NULL, 1, true, false, true, NULL, NULL, NULL, NULL)",
                 "42501");
  PQfinish(sql);
  trilha_store *store = NULL;
  trilha_error err = {0};
  assert_int_equal(fixture_try_open(url, false, &store, &err), TRILHA_DENIED);
  assert_non_null(strstr(err.text, "GRANT trilha_writer"));
  drop_role(f, role);
}

int main(void) {
#define ON_MIGRATED(test) cmocka_unit_test_setup_teardown(test, fixture_migrated, fixture_teardown)
  const struct CMUnitTest tests[] = {
      ON_MIGRATED(B03_a_late_commit_never_falls_below_a_cursor),
      ON_MIGRATED(B04_abandoned_numbers_hold_nobody_up),
      ON_MIGRATED(raw_sql_takes_its_turn_before_it_takes_a_number),
      ON_MIGRATED(a_savepoint_rolled_back_gives_number_and_turn_back_together),
      ON_MIGRATED(a_raw_session_gone_quiet_loses_the_turn),
      ON_MIGRATED(a_session_cannot_slip_its_own_operators_under_the_trigger),
      ON_MIGRATED(a_client_that_stops_in_the_middle_of_a_batch_holds_nothing),
      ON_MIGRATED(nothing_stored_can_be_changed_by_anybody),
      ON_MIGRATED(the_writer_role_appends_and_can_do_no_harm),
      ON_MIGRATED(the_reader_role_reads_and_no_more),
      ON_MIGRATED(the_operator_role_sees_all_asks_for_a_reprocess_and_appends_nothing),
      ON_MIGRATED(core_is_closed_to_everybody_else),
  };
  if (fixture_skips()) return 0;
  return fixture_end(cmocka_run_group_tests_name("store/postgres order", tests, NULL, NULL));
}
