/* outbox: installing, the enqueue in the business transaction, the inbox (specification 001, rules 3 to 6; rulings R21,
 * R31, R33, R34, R41). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>

#include "base/text.h"
#include "outbox/producer.h"
#include "support/expect.h"

static void assert_refused(const trilha_producer *p, const trilha_message *m, trilha_status status, const char *code) {
  trilha_enqueued said = {0};
  trilha_error err = {0};
  trilha_producer_run(p, "SAVEPOINT attempt");
  assert_int_equal(trilha_producer_enqueue(p, m, &said, &err), status);
  assert_string_equal(err.code, code);
  trilha_producer_run(p, "ROLLBACK TO attempt");
}

static void begin(const trilha_producer *p) {
  trilha_producer_run(p, p->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
}

/* --- installing ------------------------------------------------------------------------------------------------------
 */

static void count_migration(void *user, const char *name, const char *what) {
  int *counts = user; /* applied, present, pending */
  assert_non_null(name);
  counts[strcmp(what, "applied") == 0 ? 0 : strcmp(what, "present") == 0 ? 1 : 2]++;
}

static void install_is_repeatable_and_a_dry_run_changes_nothing(void **state) {
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  int counts[3] = {0};
  trilha_error err = {0};
  CHECKED(trilha_outbox_install(outbox, true, count_migration, counts, error));
  assert_true(counts[0] == 0 && counts[1] == 0 && counts[2] > 0);
  int all = counts[2];
  assert_int_equal(trilha_outbox_route_add(outbox, TRILHA_TEXT("*"), TRILHA_TEXT("x"), &err), TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "OUTBOX_NOT_INSTALLED");
  CHECKED(trilha_outbox_install(outbox, false, count_migration, counts, error));
  CHECKED(trilha_outbox_install(outbox, false, count_migration, counts, error));
  assert_true(counts[0] == all && counts[1] == all && counts[2] == all);
  trilha_outbox_close(outbox);
}

static void install_refuses_an_outbox_of_a_newer_version(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  trilha_error err = {0};
  trilha_producer_run(&p, p.pg != NULL
                              ? "INSERT INTO {p}outbox_migration (name, checksum) VALUES ('29990101000000_later', 'x')"
                              : "INSERT INTO {p}outbox_migration VALUES ('29990101000000_later', 'x', 0)");
  assert_int_equal(trilha_outbox_install(outbox, false, NULL, NULL, &err), TRILHA_UNSUPPORTED);
  assert_string_equal(err.code, "OUTBOX_NEWER");
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void printed_sql_makes_the_outbox_that_install_finds_present(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, false);
  char *sql = NULL;
  int counts[3] = {0};
  CHECKED(trilha_outbox_install_sql(f->is_postgres ? "postgresql" : "sqlite", "billing", &sql, error));
  if (p.pg != NULL) {
    PGresult *r = PQexec(p.pg, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK) fail_msg("%s", PQresultErrorMessage(r));
    PQclear(r);
  } else if (sqlite3_exec(p.db, sql, NULL, NULL, NULL) != SQLITE_OK) {
    fail_msg("%s", sqlite3_errmsg(p.db));
  }
  trilha_free(sql);
  trilha_outbox *outbox = trilha_producer_outbox(f);
  CHECKED(trilha_outbox_install(outbox, false, count_migration, counts, error));
  assert_true(counts[0] == 0 && counts[1] > 0);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void a_schema_that_is_no_plain_name_is_refused(void **state) {
  const trilha_fixture *f = *state;
  const char *const bad[] = {"",          "core", "Billing", "bill ing",
                             "bill\"ing", "pg_x", "1a",      "a23456789012345678901234567890123456789012"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    trilha_outbox_options options = {.url = f->url, .schema = bad[i]};
    trilha_outbox *outbox = NULL;
    trilha_error err = {0};
    assert_int_equal(trilha_outbox_open(&options, &outbox, &err), TRILHA_USAGE);
    assert_string_equal(err.code, "SCHEMA_INVALID_NAME");
  }
}

static trilha_status note_route(void *user, trilha_text pattern, trilha_text destination) {
  trilha_buffer *seen = user;
  trilha_buffer_add_format(seen, "%.*s>%.*s ", (int)pattern.size, pattern.data, (int)destination.size,
                           destination.data);
  return TRILHA_OK;
}

static void routes_are_added_once_listed_and_removed(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  trilha_error err = {0};
  TRILHA_BUFFER_SCOPED seen;
  trilha_buffer_init(&seen, 0);
  for (int twice = 0; twice < 2; twice++)
    CHECKED(trilha_outbox_route_add(outbox, TRILHA_TEXT("nota.*"), TRILHA_TEXT("erp"), error));
  CHECKED(trilha_outbox_routes(outbox, note_route, &seen, error));
  assert_string_equal(seen.data, "*>everything nota.*>erp ");
  CHECKED(trilha_outbox_route_remove(outbox, TRILHA_TEXT("*"), TRILHA_TEXT("everything"), error));
  assert_int_equal(trilha_outbox_route_remove(outbox, TRILHA_TEXT("*"), TRILHA_TEXT("everything"), &err),
                   TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "ROUTE_NOT_FOUND");
  const trilha_text bad_patterns[] = {TRILHA_TEXT("*x"), TRILHA_TEXT("a*b"), TRILHA_TEXT("")};
  for (size_t i = 0; i < 3; i++)
    assert_int_equal(trilha_outbox_route_add(outbox, bad_patterns[i], TRILHA_TEXT("erp"), NULL), TRILHA_INVALID);
  assert_int_equal(trilha_outbox_route_add(outbox, TRILHA_TEXT("x"), TRILHA_TEXT("No"), NULL), TRILHA_INVALID);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

/* --- enqueue
 * ----------------------------------------------------------------------------------------------------------- */

static void a_message_exists_exactly_when_its_transaction_commits(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_message m = trilha_producer_message("acme", "1");
  trilha_enqueued said;
  begin(&p);
  trilha_producer_run(&p, "INSERT INTO effect VALUES ('a')");
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  trilha_producer_run(&p, "ROLLBACK");
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_message"), 0);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane"), 0);
  begin(&p);
  trilha_producer_run(&p, "INSERT INTO effect VALUES ('a')");
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  trilha_producer_run(&p, "COMMIT");
  assert_int_equal(said.aggregate_sequence, 1); /* the one that was rolled back left no gap */
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_message, effect"), 1);
  trilha_producer_close(&p);
}

static void rolling_back_to_a_savepoint_takes_only_its_messages_and_leaves_no_gap(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_message m = trilha_producer_message("acme", "1");
  trilha_enqueued said;
  begin(&p);
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  trilha_producer_run(&p, "SAVEPOINT s");
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  assert_int_equal(said.aggregate_sequence, 2);
  trilha_producer_run(&p, "ROLLBACK TO s");
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  assert_int_equal(said.aggregate_sequence, 2);
  trilha_producer_run(&p, "RELEASE s");
  trilha_producer_run(&p, "COMMIT");
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_message"), 2);
  trilha_producer_close(&p);
}

static void two_transactions_on_two_connections_commit_and_roll_back_on_their_own(void **state) {
  trilha_producer a = trilha_producer_open(*state, true), b = trilha_producer_open(*state, false);
  trilha_message m = trilha_producer_message("acme", "1"), other = trilha_producer_message("acme", "2");
  trilha_enqueued said;
  begin(&a);
  CHECKED(trilha_producer_enqueue(&a, &m, &said, error));
  if (a.pg != NULL) { /* SQLite has one writer at a time */
    begin(&b);
    CHECKED(trilha_producer_enqueue(&b, &other, &said, error));
  }
  trilha_producer_run(&a, "ROLLBACK");
  if (a.pg == NULL) {
    begin(&b);
    CHECKED(trilha_producer_enqueue(&b, &other, &said, error));
  }
  trilha_producer_run(&b, "COMMIT");
  assert_int_equal(trilha_producer_count(&a, "SELECT count(*) FROM {p}outbox_message WHERE aggregate_key = '2'"), 1);
  assert_int_equal(trilha_producer_count(&a, "SELECT count(*) FROM {p}outbox_message"), 1);
  trilha_producer_close(&a);
  trilha_producer_close(&b);
}

static void outside_a_transaction_the_enqueue_is_refused(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_message m = trilha_producer_message("acme", "1");
  trilha_enqueued said;
  trilha_error err = {0};
  assert_int_equal(trilha_producer_enqueue(&p, &m, &said, &err), TRILHA_USAGE);
  assert_string_equal(err.code, "NO_TRANSACTION");
  trilha_producer_close(&p);
}

static void a_message_that_breaks_a_rule_is_refused_with_its_field_and_no_trace(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static char long_text[300], long_payload[1048700];
  memset(long_text, 'x', 256);
  memset(long_payload, ' ', sizeof long_payload);
  memcpy(long_payload, "{}", 2);
  begin(&p);
  const struct {
    size_t field; /* offset in trilha_message */
    trilha_text value;
  } bad[] = {
      {offsetof(trilha_message, tenant_id), {0}},
      {offsetof(trilha_message, tenant_id), {"", 0}},
      {offsetof(trilha_message, aggregate_key), {long_text, 256}},
      {offsetof(trilha_message, aggregate_type), {0}},
      {offsetof(trilha_message, message_type), {long_text, 256}},
      {offsetof(trilha_message, version), TRILHA_TEXT("one")},
      {offsetof(trilha_message, version), TRILHA_TEXT("1.0.0-aaaaaaaaaaaaaaaa")},
      {offsetof(trilha_message, origin), {long_text, 101}},
      {offsetof(trilha_message, correlation_id), {0}},
      {offsetof(trilha_message, correlation_id), TRILHA_TEXT("no uuid")},
      {offsetof(trilha_message, message_id), TRILHA_TEXT("A8767A6182E6-4978-B826-563EE88B6727-")},
      {offsetof(trilha_message, causation_id), TRILHA_TEXT("x")},
      {offsetof(trilha_message, traceparent), TRILHA_TEXT("00-xyz")},
      {offsetof(trilha_message, occurred_at), TRILHA_TEXT("2026-01-01T10:00:00")}, /* without an offset */
      {offsetof(trilha_message, payload), {0}},
      {offsetof(trilha_message, payload), TRILHA_TEXT("[]")},
      {offsetof(trilha_message, payload), TRILHA_TEXT("{")},
      {offsetof(trilha_message, payload), {long_payload, 1048577}},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    trilha_message m = trilha_producer_message("acme", "1");
    memcpy((char *)&m + bad[i].field, &bad[i].value, sizeof bad[i].value);
    assert_refused(&p, &m, TRILHA_INVALID, "MESSAGE_REFUSED");
  }
  trilha_message largest = trilha_producer_message("acme", "1");
  largest.payload = (trilha_text){long_payload, 1048576};
  trilha_enqueued said;
  CHECKED(trilha_producer_enqueue(&p, &largest, &said, error));
  assert_int_equal(said.aggregate_sequence, 1);
  trilha_producer_run(&p, "COMMIT");
  trilha_producer_close(&p);
}

static void a_type_that_no_route_takes_is_refused(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  CHECKED(trilha_outbox_route_remove(outbox, TRILHA_TEXT("*"), TRILHA_TEXT("everything"), error));
  CHECKED(trilha_outbox_route_add(outbox, TRILHA_TEXT("nota.*"), TRILHA_TEXT("erp"), error));
  trilha_message m = trilha_producer_message("acme", "1");
  trilha_enqueued said;
  begin(&p);
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  m.message_type = TRILHA_TEXT("notaria"); /* begins with "nota", not with "nota." */
  assert_refused(&p, &m, TRILHA_NOT_FOUND, "NO_ROUTE");
  trilha_producer_run(&p, "COMMIT");
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void a_message_id_is_taken_once_and_a_made_one_is_a_uuid_of_version_7(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_message m = trilha_producer_message("acme", "1");
  trilha_enqueued first;
  begin(&p);
  CHECKED(trilha_producer_enqueue(&p, &m, &first, error));
  assert_int_equal(first.message_id[14], '7');
  assert_non_null(strchr("89ab", first.message_id[19]));
  m.message_id = trilha_text_of(first.message_id);
  m.aggregate_key = TRILHA_TEXT("2");
  assert_refused(&p, &m, TRILHA_CONFLICT, "MESSAGE_ID_TAKEN");
  trilha_producer_run(&p, "COMMIT");
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_message"), 1);
  trilha_producer_close(&p);
}

static void the_payload_is_stored_byte_for_byte(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  char stored[64];
  trilha_message m = trilha_producer_message("acme", "1");
  m.payload = TRILHA_TEXT(
      "{ \"b\":1.50,\n\"a\" : \"\xc3\xa9\", \"b\":2 }"); /* order, spelling, a repeated name: the producer's own */
  trilha_enqueued said;
  begin(&p);
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  trilha_producer_run(&p, "COMMIT");
  trilha_producer_text(&p, "SELECT payload FROM {p}outbox_message", stored, sizeof stored);
  assert_string_equal(stored, m.payload.data);
  trilha_producer_close(&p);
}

static void the_sql_door_enqueues_from_any_language_with_the_same_rules(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  char text[256];
  bool pg = p.pg != NULL;
  begin(&p);
  trilha_producer_run(
      &p,
      pg ? "SELECT * FROM {p}outbox_enqueue('acme', 'nota', '1', 'nota.emitida', '1.0.0', '{\"a\":1}', 'faturamento', "
           "'a8767a61-82e6-4978-b826-563ee88b6727', company_id => 'c')"
         : "INSERT INTO {p}outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, "
           "origin, "
           "correlation_id, company_id) VALUES ('acme', 'nota', '1', 'nota.emitida', '1.0.0', '{\"a\":1}', "
           "'faturamento', "
           "'A8767A61-82e6-4978-b826-563ee88b6727', 'c')");
  trilha_producer_run(&p, "COMMIT");
  trilha_producer_text(&p,
                       "SELECT correlation_id || ' ' || company_id || ' ' || aggregate_sequence || ' ' || "
                       "substr(CAST(message_id AS text), 15, 1) FROM {p}outbox_message",
                       text, sizeof text);
  assert_string_equal(text, "a8767a61-82e6-4978-b826-563ee88b6727 c 1 7");
  begin(&p);
  bool accepted = trilha_producer_try(
      &p,
      pg ? "SELECT * FROM {p}outbox_enqueue('acme', 'nota', '1', 'nota.emitida', '1.0.0', '[1]', 'faturamento', "
           "'a8767a61-82e6-4978-b826-563ee88b6727')"
         : "INSERT OR IGNORE INTO {p}outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, "
           "payload, "
           "origin, correlation_id) VALUES ('acme', 'nota', '1', 'nota.emitida', '1.0.0', '[1]', 'faturamento', "
           "'a8767a61-82e6-4978-b826-563ee88b6727')",
      text, sizeof text);
  assert_false(accepted);
  assert_non_null(strstr(text, "payload must be a JSON object"));
  trilha_producer_run(&p, "ROLLBACK");
  trilha_producer_close(&p);
}

static void messages_and_the_trail_cannot_be_changed(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  char message[256];
  trilha_producer_say(&p, "acme", "1");
  assert_false(trilha_producer_try(&p, "UPDATE {p}outbox_message SET payload = '{}'", message, sizeof message));
  assert_non_null(strstr(message, "insert-only"));
  trilha_producer_close(&p);
}

/* Producers of few aggregates at once: sequences without gaps, in the order of commits, whoever rolls back. */
enum { THREADS = 6, ROUNDS = 40, KEYS = 3 };

typedef struct racer {
  const trilha_fixture *f;
  unsigned seed;
} racer;

static void *race(void *user) {
  racer *r = user;
  trilha_producer p = trilha_producer_open(r->f, false);
  for (int i = 0; i < ROUNDS; i++) {
    char key[8];
    trilha_enqueued said;
    trilha_error err = {0};
    snprintf(key, sizeof key, "%d", rand_r(&r->seed) % KEYS);
    trilha_message m = trilha_producer_message("acme", key);
    begin(&p);
    if (trilha_producer_enqueue(&p, &m, &said, &err) != TRILHA_OK) {
      fprintf(stderr, "# %s: %s\n", err.code, err.text);
      abort(); /* cmocka cannot fail from another thread */
    }
    trilha_producer_run(&p, rand_r(&r->seed) % 5 == 0 ? "ROLLBACK" : "COMMIT");
  }
  trilha_producer_close(&p);
  return NULL;
}

static void sequences_of_an_aggregate_have_no_gaps_under_concurrent_producers_and_rollbacks(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  pthread_t threads[THREADS];
  racer racers[THREADS];
  for (unsigned i = 0; i < THREADS; i++) {
    racers[i] = (racer){*state, i + 1};
    assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
  }
  for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_true(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_message") > 0);
  assert_int_equal(
      trilha_producer_count(&p,
                            "SELECT count(*) FROM (SELECT aggregate_id FROM {p}outbox_message GROUP BY aggregate_id "
                            "HAVING count(*) <> max(aggregate_sequence) OR min(aggregate_sequence) <> 1) x"),
      0);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane"), KEYS);
  trilha_producer_close(&p);
}

/* --- who may do what (PostgreSQL; requirement O19)
 * ---------------------------------------------------------------------- */

static bool may(const trilha_producer *p, const char *role, const char *sql) {
  char message[512], set[64];
  snprintf(set, sizeof set, "SET LOCAL ROLE %s", role);
  trilha_producer_run(p, "BEGIN");
  trilha_producer_run(p, set);
  bool ok = trilha_producer_try(p, sql, message, sizeof message);
  if (!ok && strstr(message, "permission denied") == NULL) fail_msg("%s as %s: %s", sql, role, message);
  trilha_producer_run(p, "ROLLBACK");
  return ok;
}

static const char *const duty_sql[] = {
    "SELECT * FROM {p}outbox_enqueue('acme', 'nota', '1', 'nota.emitida', '1.0.0', '{}', 'o', "
    "'a8767a61-82e6-4978-b826-563ee88b6727')",
    "SELECT * FROM {p}outbox_claim({p}outbox_destination_number('everything'), 'o', '', 1, 1, 1000)",
    "SELECT * FROM {p}inbox_accept('acme', 'c', 'a8767a61-82e6-4978-b826-563ee88b6727', repeat('a', 64))",
    "SELECT * FROM {p}outbox_status()",
};
static const char *const never_sql[] = {
    "SELECT * FROM {p}outbox_message",
    "INSERT INTO {p}outbox_destination VALUES (9, 'x')",
    "DELETE FROM {p}outbox_lane",
    "UPDATE {p}outbox_lane SET head_sequence = 9",
    "SELECT {p}outbox_route_add('*', 'mine')",
    "SELECT {p}outbox_grant('public', 'producer')",
    "SELECT {p}outbox_service_set(true, 'postgres', 'everything', 'acme', NULL, 'nota.emitida', 'x', 'x')",
    "SELECT * FROM {p}outbox_service_change",
    "SELECT * FROM {p}inbox_message",
    "SELECT nextval('{p}outbox_lease_token')",
};

static void each_role_can_do_its_duty_and_nothing_else(void **state) {
  const trilha_fixture *f = *state;
  static const char *const duties[] = {"producer", "relay", "consumer", "operator"};
  if (!f->is_postgres) {
    trilha_outbox *outbox = trilha_producer_outbox(f);
    assert_int_equal(trilha_outbox_grant(outbox, TRILHA_TEXT("x"), TRILHA_TEXT("relay"), NULL), TRILHA_UNSUPPORTED);
    trilha_outbox_close(outbox);
    return;
  }
  trilha_producer p = trilha_producer_open(f, true);
  trilha_outbox *outbox = trilha_producer_outbox(f);
  char role[64], sql[128];
  for (size_t d = 0; d < 4; d++) {
    snprintf(role, sizeof role, "t_%s_%d", duties[d], PQbackendPID(p.pg));
    snprintf(sql, sizeof sql, "CREATE ROLE %s", role);
    trilha_producer_run(&p, sql);
    assert_false(may(&p, role, duty_sql[d]));
    CHECKED(trilha_outbox_grant(outbox, trilha_text_of(role), trilha_text_of(duties[d]), error));
    for (size_t i = 0; i < sizeof duty_sql / sizeof duty_sql[0]; i++)
      assert_int_equal(may(&p, role, duty_sql[i]), i == d);
    for (size_t i = 0; i < sizeof never_sql / sizeof never_sql[0]; i++) assert_false(may(&p, role, never_sql[i]));
    snprintf(sql, sizeof sql, "DROP OWNED BY %s", role);
    trilha_producer_run(&p, sql);
    snprintf(sql, sizeof sql, "DROP ROLE %s", role);
    trilha_producer_run(&p, sql);
  }
  trilha_error err = {0};
  assert_int_equal(trilha_outbox_grant(outbox, TRILHA_TEXT("x"), TRILHA_TEXT("everything"), &err), TRILHA_USAGE);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

/* --- the inbox
 * ------------------------------------------------------------------------------------------------------------ */

static trilha_inbox_message incoming(const char *id, const char *payload) {
  return (trilha_inbox_message){.tenant_id = TRILHA_TEXT("acme"),
                                .consumer = TRILHA_TEXT("estoque"),
                                .message_id = trilha_text_of(id),
                                .payload = trilha_text_of(payload)};
}

static const char *const ids[] = {"01a22b42-62b6-70d6-925b-e4ab243a1dc6", "01a22b42-62b6-70d6-925b-e4ab243a1dc7",
                                  "01a22b42-62b6-70d6-925b-e4ab243a1dc8"};

static trilha_inbox_answer accept(const trilha_producer *p, const trilha_inbox_message *m) {
  trilha_inbox_answer answer = {0};
  CHECKED(trilha_producer_accept(p, m, &answer, error));
  return answer;
}

static void an_effect_and_its_acceptance_commit_together_and_a_repeat_gets_the_stored_result(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_inbox_message m = incoming(ids[0], "{\"a\":1}");
  begin(&p);
  assert_int_equal(accept(&p, &m).outcome, TRILHA_INBOX_NEW);
  trilha_producer_run(&p, "INSERT INTO effect VALUES ('a')");
  trilha_producer_run(&p, "ROLLBACK"); /* the effect failed: nothing was accepted */
  begin(&p);
  assert_int_equal(accept(&p, &m).outcome, TRILHA_INBOX_NEW);
  trilha_producer_run(&p, "INSERT INTO effect VALUES ('a')");
  CHECKED(trilha_producer_finish(&p, &m, "reserva 7", error));
  trilha_producer_run(&p, "COMMIT");
  begin(&p);
  trilha_inbox_answer again = accept(&p, &m);
  trilha_producer_run(&p, "COMMIT");
  assert_int_equal(again.outcome, TRILHA_INBOX_DUPLICATE);
  assert_string_equal(again.result, "reserva 7");
  trilha_free(again.result);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM effect"), 1);
  trilha_producer_close(&p);
}

static void the_same_key_with_other_content_is_a_conflict_and_tells_no_result(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_inbox_message m = incoming(ids[0], "{\"a\":1}"), changed = incoming(ids[0], "{\"a\":2}");
  begin(&p);
  accept(&p, &m);
  CHECKED(trilha_producer_finish(&p, &m, "x", error));
  trilha_inbox_answer answer = accept(&p, &changed);
  assert_int_equal(answer.outcome, TRILHA_INBOX_CONFLICT);
  assert_null(answer.result);
  changed.consumer = TRILHA_TEXT("cobranca"); /* another consumer has a key of its own */
  assert_int_equal(accept(&p, &changed).outcome, TRILHA_INBOX_NEW);
  changed.tenant_id = TRILHA_TEXT("outra");
  assert_int_equal(accept(&p, &changed).outcome, TRILHA_INBOX_NEW);
  trilha_producer_run(&p, "COMMIT");
  trilha_producer_close(&p);
}

static void an_ordered_consumer_holds_later_messages_until_the_gap_is_filled(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_inbox_message m[3];
  for (int i = 0; i < 3; i++) {
    m[i] = incoming(ids[i], "{}");
    m[i].aggregate_type = TRILHA_TEXT("nota");
    m[i].aggregate_key = TRILHA_TEXT("1");
    m[i].aggregate_sequence = 2 * i + 1; /* 1, 3, 5: the numbers between went elsewhere */
    m[i].previous_sequence = i == 0 ? 0 : 2 * i - 1;
  }
  begin(&p);
  assert_int_equal(accept(&p, &m[1]).outcome, TRILHA_INBOX_HELD);
  assert_int_equal(accept(&p, &m[0]).outcome, TRILHA_INBOX_NEW);
  assert_int_equal(accept(&p, &m[2]).outcome, TRILHA_INBOX_HELD);
  assert_int_equal(accept(&p, &m[1]).outcome, TRILHA_INBOX_NEW);
  assert_int_equal(accept(&p, &m[2]).outcome, TRILHA_INBOX_NEW);
  assert_int_equal(accept(&p, &m[1]).outcome, TRILHA_INBOX_DUPLICATE);
  trilha_producer_run(&p, "COMMIT");
  trilha_producer_run(&p, "DELETE FROM {p}inbox_message"); /* purged */
  begin(&p);
  assert_int_equal(accept(&p, &m[0]).outcome,
                   TRILHA_INBOX_DUPLICATE); /* an old effect is never repeated (requirement O17) */
  trilha_producer_run(&p, "COMMIT");
  trilha_producer_close(&p);
}

static void a_result_without_an_acceptance_is_refused(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_inbox_message m = incoming(ids[0], "{}");
  trilha_error err = {0};
  begin(&p);
  assert_int_equal(trilha_producer_finish(&p, &m, "x", &err), TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "NOT_ACCEPTED");
  trilha_producer_run(&p, "ROLLBACK");
  trilha_producer_close(&p);
}

static void a_result_that_repeats_were_told_is_never_replaced(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_inbox_message m = incoming(ids[0], "{}");
  trilha_inbox_answer answer = {0};
  trilha_error err = {0};
  begin(&p);
  CHECKED(trilha_producer_accept(&p, &m, &answer, error));
  CHECKED(trilha_producer_finish(&p, &m, "first", error));
  trilha_producer_run(&p, "COMMIT");
  begin(&p);
  assert_int_equal(trilha_producer_finish(&p, &m, "second", &err), TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "NOT_ACCEPTED");
  trilha_producer_run(&p, "ROLLBACK");
  begin(&p);
  CHECKED(trilha_producer_accept(&p, &m, &answer, error));
  assert_int_equal(answer.outcome, TRILHA_INBOX_DUPLICATE);
  assert_string_equal(answer.result, "first");
  trilha_free(answer.result);
  trilha_producer_run(&p, "COMMIT");
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(install_is_repeatable_and_a_dry_run_changes_nothing),
      TEST(install_refuses_an_outbox_of_a_newer_version),
      TEST(printed_sql_makes_the_outbox_that_install_finds_present),
      TEST(a_schema_that_is_no_plain_name_is_refused),
      TEST(routes_are_added_once_listed_and_removed),
      TEST(a_message_exists_exactly_when_its_transaction_commits),
      TEST(rolling_back_to_a_savepoint_takes_only_its_messages_and_leaves_no_gap),
      TEST(two_transactions_on_two_connections_commit_and_roll_back_on_their_own),
      TEST(outside_a_transaction_the_enqueue_is_refused),
      TEST(a_message_that_breaks_a_rule_is_refused_with_its_field_and_no_trace),
      TEST(a_type_that_no_route_takes_is_refused),
      TEST(a_message_id_is_taken_once_and_a_made_one_is_a_uuid_of_version_7),
      TEST(the_payload_is_stored_byte_for_byte),
      TEST(the_sql_door_enqueues_from_any_language_with_the_same_rules),
      TEST(messages_and_the_trail_cannot_be_changed),
      TEST(sequences_of_an_aggregate_have_no_gaps_under_concurrent_producers_and_rollbacks),
      TEST(each_role_can_do_its_duty_and_nothing_else),
      TEST(an_effect_and_its_acceptance_commit_together_and_a_repeat_gets_the_stored_result),
      TEST(the_same_key_with_other_content_is_a_conflict_and_tells_no_result),
      TEST(an_ordered_consumer_holds_later_messages_until_the_gap_is_filled),
      TEST(a_result_without_an_acceptance_is_refused),
      TEST(a_result_that_repeats_were_told_is_never_replaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
