/* outbox: what callers that mean no good, or whose session is not as ours, get from the SQL that producers and
 * consumers call in any language. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <sqlite3.h>

#include "base/text.h"
#include "outbox/producer.h"
#include "support/expect.h"
#include "trilha/relay.h"

#define SHA "'4444444444444444444444444444444444444444444444444444444444444444'"

static void begin(const trilha_producer *p) {
  trilha_producer_run(p, p->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
}

static const char *const defaults[][2] = {
    {"tenant_id", "'acme'"},     {"aggregate_type", "'nota'"},
    {"aggregate_key", "'1'"},    {"message_type", "'nota.emitida'"},
    {"version", "'1.0.0'"},      {"payload", "'{}'"},
    {"origin", "'faturamento'"}, {"correlation_id", "'a8767a61-82e6-4978-b826-563ee88b6727'"}};
enum { TIME_SIZE = 64, DEFAULTS = sizeof defaults / sizeof defaults[0] };

static void add(char *out, size_t size, const char *format, const char *first, const char *second) {
  size_t at = strlen(out);
  snprintf(out + at, size - at, format, first, second);
}

/* The SQL door with one column said as `value`, an expression; its transaction is its own. */
static bool say(const trilha_producer *p, const char *column, const char *value, char *why, size_t size) {
  char names[1024] = "", values[1024] = "", call[2048] = "", sql[4096];
  bool there = false;
  for (size_t i = 0; i <= DEFAULTS; i++) {
    if (i == DEFAULTS && there) break;
    const char *name = i < DEFAULTS ? defaults[i][0] : column;
    bool changed = strcmp(name, column) == 0;
    const char *with = changed ? value : defaults[i][1];
    there = there || changed;
    add(names, sizeof names, "%s%s", i == 0 ? "" : ", ", name);
    add(values, sizeof values, "%s%s", i == 0 ? "" : ", ", with);
    add(call, sizeof call, i == 0 ? "%s => %s" : ", %s => %s", name, with);
  }
  if (p->pg != NULL)
    snprintf(sql, sizeof sql, "SELECT message_id FROM {p}outbox_enqueue(%s)", call);
  else
    snprintf(sql, sizeof sql, "INSERT INTO {p}outbox_enqueue (%s) VALUES (%s)", names, values);
  return trilha_producer_try(p, sql, why, size);
}

static void assert_said(const trilha_producer *p, const char *column, const char *value) {
  char why[512] = "";
  if (!say(p, column, value, why, sizeof why)) fail_msg("%s %s: %s", column, value, why);
}

static void assert_unsaid(const trilha_producer *p, const char *column, const char *value, const char *because) {
  char why[512] = "";
  if (say(p, column, value, why, sizeof why)) fail_msg("%s %s was accepted", column, value);
  if (strstr(why, because) == NULL) fail_msg("%s %s: %s", column, value, why);
}

static int64_t messages(const trilha_producer *p) {
  return trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_message");
}

/* --- what is said --------------------------------------------------------------------------------------------------
 */

static trilha_status keep_time(void *user, const trilha_outbox_entry *entry) {
  snprintf(user, TIME_SIZE, "%.*s", (int)entry->occurred_at.size, entry->occurred_at.data);
  return TRILHA_OK;
}

static void assert_told(const trilha_fixture *f, const trilha_producer *p, int sequence, const char *time) {
  char sql[256], id[64], told[TIME_SIZE] = "";
  snprintf(sql, sizeof sql, "SELECT message_id FROM {p}outbox_message WHERE aggregate_sequence = %d", sequence);
  trilha_producer_text(p, sql, id, sizeof id);
  trilha_outbox *outbox = trilha_producer_outbox(f);
  CHECKED(trilha_outbox_message(outbox, trilha_text_of(id), keep_time, told, error));
  trilha_outbox_close(outbox);
  assert_string_equal(told, time);
}

static void a_time_that_is_none_of_the_years_1_to_9999_is_refused(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static const char *const everywhere[] = {"'infinity'", "'10000-01-01T00:00:00Z'", "'0044-03-15 00:00:00 BC'",
                                           "'0001-01-01T00:00:00+01:00'"};
  static const char *const postgres[] = {"'-infinity'", "'294276-01-01T00:00:00Z'", "'9999-12-31T23:59:59.9999999Z'"};
  static const char *const sqlite[] = {"'0'",
                                       "'2460000.5'",
                                       "'now'",
                                       "'12:00'",
                                       "''",
                                       "'2026-01-01'",
                                       "'0000-01-01T00:00:00Z'",
                                       "'-4713-11-24T12:00:00Z'",
                                       "'2026-02-30T00:00:00Z'",
                                       "'2026-01-01T24:00:00Z'",
                                       "'9999-12-31T23:59:59-01:00'",
                                       "1796102629"};
  for (size_t i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++)
    assert_unsaid(&p, "occurred_at", everywhere[i], "occurred_at must be");
  for (size_t i = 0; p.pg != NULL && i < sizeof postgres / sizeof postgres[0]; i++)
    assert_unsaid(&p, "occurred_at", postgres[i], "occurred_at must be");
  for (size_t i = 0; p.pg == NULL && i < sizeof sqlite / sizeof sqlite[0]; i++)
    assert_unsaid(&p, "occurred_at", sqlite[i], "occurred_at must be");
  assert_int_equal(messages(&p), 0);
  assert_said(&p, "occurred_at", "'0001-01-01T00:00:00Z'");
  assert_said(&p, "occurred_at", "'9999-12-31T23:59:59.99Z'");
  assert_said(&p, "occurred_at", "'2026-06-15T10:30:00.25+02:00'");
  assert_said(&p, "occurred_at", "NULL");
  assert_told(*state, &p, 1, "0001-01-01T00:00:00Z");
  assert_told(*state, &p, 2, "9999-12-31T23:59:59.99Z");
  assert_told(*state, &p, 3, "2026-06-15T08:30:00.25Z");
  trilha_producer_close(&p);
}

/* Another program wrote the row. PostgreSQL's times have bounds of their own, which are read as the nearest. */
static void a_stored_time_that_is_out_of_bounds_is_told_as_the_nearest(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  assert_said(&p, "occurred_at", "NULL");
  const char *columns =
      "created_%s, tenant_id, company_id, aggregate_type, aggregate_key, message_type, version, "
      "origin, correlation_id, causation_id, traceparent, payload";
  char list[512], sql[2048];
  snprintf(list, sizeof list, columns, p.pg != NULL ? "at" : "us");
  snprintf(
      sql, sizeof sql,
      "INSERT INTO {p}outbox_message (aggregate_id, aggregate_sequence, destinations, message_id, occurred_%s, %s) "
      "SELECT aggregate_id, 2, destinations, 'a8767a61-82e6-4978-b826-563ee88b6701', %s, %s FROM {p}outbox_message",
      p.pg != NULL ? "at" : "us", list, p.pg != NULL ? "'-infinity'" : "-9223372036854775807", list);
  trilha_producer_run(&p, sql);
  assert_told(*state, &p, 2, "0001-01-01T00:00:00Z");
  trilha_producer_close(&p);
}

static void a_version_is_judged_alike_on_both_stores(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static const char *const good[] = {"1.0.0", "0.0.0", "10.20.30", "1.0.0-a", "1.0.0-a.1-b", "1.0.0+b.1", "1.0.0-a+b"};
  static const char *const bad[] = {
      "1x.0.0",     "1..0.0",    "1.0",      "1.0.0.0", "01.0.0", "1.00.0",
      "1.0.0 x",    "1.0.0;--",  "1.0.0x",   "-1.0.0",  "1.0.0-", "1.0.0+",
      "1.0.0-a..b", "1.0.0+a+b", "1.0.0-.a", "1.0.0\n", ".1.0.0", "1.0.0-aaaaaaaaaaaaaaaa"};
  char value[64];
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    snprintf(value, sizeof value, "'%s'", good[i]);
    assert_said(&p, "version", value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    snprintf(value, sizeof value, "'%s'", bad[i]);
    assert_unsaid(&p, "version", value, "semantic version");
  }
  trilha_producer_close(&p);
}

/* SQLite's length(), GLOB and json_valid() end at a NUL: "ID NUL x" would be a second message with that id. */
static void a_text_with_a_nul_is_refused(void **state) {
  static const char *const columns[] = {
      "tenant_id",      "aggregate_type", "aggregate_key", "message_type", "version",     "payload",    "origin",
      "correlation_id", "message_id",     "company_id",    "causation_id", "traceparent", "occurred_at"};
  const trilha_fixture *f = *state;
  if (f->is_postgres) skip(); /* its texts cannot hold one */
  trilha_producer p = trilha_producer_open(f, true);
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
    const char *right = i < DEFAULTS ? defaults[i][1]
                        : strcmp(columns[i], "traceparent") == 0
                            ? "'00-11111111111111111111111111111111-2222222222222222-01'"
                        : strcmp(columns[i], "occurred_at") == 0 ? "'2026-06-15T10:30:00Z'"
                                                                 : "'a8767a61-82e6-4978-b826-563ee88b6701'";
    char value[128];
    snprintf(value, sizeof value, "%s || char(0) || 'x'", right);
    assert_unsaid(&p, columns[i], value, "NUL");
  }
  assert_int_equal(messages(&p), 0);
  trilha_producer_close(&p);
}

/* Characters of `width` bytes that no compression makes shorter. */
static trilha_text letters(char out[1024], int count, int width, unsigned seed) {
  size_t at = 0;
  for (int i = 0; i < count; i++) {
    seed = seed * 1103515245U + 12345U;
    at += trilha_utf8_put(out + at, width == 3 ? 0x4e00 + seed / 65536 % 0x5000 : 0x20000 + seed / 65536 % 0xa000);
  }
  return (trilha_text){out, at};
}

static void names_are_as_long_as_an_index_of_either_store_takes(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  char tenant[1024], type[1024], key[1024], consumer[1024];
  const struct {
    int width, last; /* bytes of a character; characters of the key */
    bool taken;
  } cases[] = {{3, 255, true}, {4, 90, true}, {4, 91, false}, {4, 255, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int width = cases[i].width;
    trilha_message m = trilha_producer_message("acme", "1");
    m.tenant_id = letters(tenant, 255, width, 1);
    m.aggregate_type = letters(type, 255, width, 2);
    m.aggregate_key = letters(key, cases[i].last, width, 3);
    trilha_inbox_message in = {.tenant_id = m.tenant_id,
                               .consumer = letters(consumer, 240 / width, width, 4),
                               .message_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6701"),
                               .payload = TRILHA_TEXT("{}"),
                               .aggregate_type = m.aggregate_type,
                               .aggregate_key = m.aggregate_key,
                               .aggregate_sequence = 1};
    trilha_enqueued said;
    trilha_inbox_answer answer;
    trilha_error err = {0}, inbox_err = {0};
    begin(&p);
    assert_int_equal(trilha_producer_enqueue(&p, &m, &said, &err), cases[i].taken ? TRILHA_OK : TRILHA_INVALID);
    assert_int_equal(strstr(err.text, "2400 bytes together") != NULL, !cases[i].taken);
    trilha_producer_run(&p, "ROLLBACK");
    begin(&p);
    assert_int_equal(trilha_producer_accept(&p, &in, &answer, &inbox_err), cases[i].taken ? TRILHA_OK : TRILHA_INVALID);
    assert_int_equal(strstr(inbox_err.text, "2640 bytes together") != NULL, !cases[i].taken);
    trilha_producer_run(&p, "ROLLBACK");
  }
  trilha_producer_close(&p);
}

static trilha_status count_call(void *user, const trilha_envelope *message, trilha_error *err) {
  (void)message;
  (void)err;
  ++*(int *)user;
  return TRILHA_OK;
}

static int sent_by_a_relay(const trilha_fixture *f) {
  int calls = 0;
  const trilha_transport transport = {TRILHA_TEXT("everything"), count_call, &calls, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  const trilha_relay_options options = {
      .outbox = trilha_producer_options(f), .transports = &transport, .transport_count = 1, .once = true};
  trilha_relay *relay = NULL;
  CHECKED(trilha_relay_new(&options, &relay, error));
  CHECKED(trilha_relay_run(relay, error));
  trilha_relay_free(relay);
  return calls;
}

/* To say that bytes are no text costs SQLite's SQL more than a message is worth, so the relay looks. */
static void bytes_that_are_no_text_reach_no_destination_and_hold_up_no_other_lane(void **state) {
  static const char *const columns[] = {"payload",      "tenant_id", "aggregate_key",
                                        "message_type", "origin",    "company_id"};
  enum { COLUMNS = sizeof columns / sizeof columns[0] };
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  for (size_t i = 0; i < COLUMNS; i++) {
    bool payload = strcmp(columns[i], "payload") == 0;
    const char *value =
        p.pg != NULL
            ? (payload ? "convert_from('\\x7b2261223a22ff227d', 'UTF8')" : "convert_from('\\x6e6f7461eda080', 'UTF8')")
            : (payload ? "CAST(x'7b2261223a22ff227d' AS TEXT)" : "CAST(x'6e6f7461eda080' AS TEXT)");
    char why[512] = "";
    bool said = say(&p, columns[i], value, why, sizeof why);
    assert_int_equal(said, p.pg == NULL); /* PostgreSQL's texts are texts */
    if (!said) continue;
    assert_said(&p, "aggregate_key", "'good'");
    assert_int_equal(sent_by_a_relay(f), 1);
    assert_int_equal(trilha_producer_count(&p,
                                           "SELECT count(*) FROM {p}outbox_lane WHERE state = 'X' AND error_code = "
                                           "'MESSAGE_MALFORMED'"),
                     1);
    trilha_producer_run(&p, "DELETE FROM {p}outbox_lane"); /* the next one is a head again */
  }
  trilha_producer_close(&p);
}

static void a_payload_that_nests_without_end_is_refused_and_not_a_fault(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_message m = trilha_producer_message("acme", "1");
  enum { DEPTH = 100000 };
  char *payload = malloc(6 * DEPTH + 1);
  assert_non_null(payload);
  for (int i = 0; i < DEPTH; i++) memcpy(payload + 5 * i, "{\"a\":", 5);
  payload[5 * DEPTH] = '1';
  memset(payload + 5 * DEPTH + 1, '}', DEPTH);
  m.payload = (trilha_text){payload, 6 * DEPTH + 1};
  trilha_enqueued said;
  trilha_error err = {0};
  begin(&p);
  assert_int_equal(trilha_producer_enqueue(&p, &m, &said, &err), TRILHA_INVALID);
  assert_string_equal(err.code, "MESSAGE_REFUSED");
  trilha_producer_run(&p, "ROLLBACK");
  free(payload);
  trilha_producer_close(&p);
}

/* --- the inbox -------------------------------------------------------------------------------------------------------
 */

static void an_ordered_inbox_refuses_what_would_lose_an_effect_without_a_word(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  const trilha_inbox_message right = {.tenant_id = TRILHA_TEXT("acme"),
                                      .consumer = TRILHA_TEXT("stock"),
                                      .message_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6701"),
                                      .payload = TRILHA_TEXT("{}"),
                                      .aggregate_type = TRILHA_TEXT("nota"),
                                      .aggregate_key = TRILHA_TEXT("1"),
                                      .aggregate_sequence = 1};
  trilha_inbox_message wrong[8];
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) wrong[i] = right;
  wrong[0].aggregate_sequence = 0; /* as it is in a struct that nobody filled */
  wrong[1].aggregate_sequence = -1, wrong[1].previous_sequence = -2;
  wrong[2].previous_sequence = 1;
  wrong[3].previous_sequence = -1;
  wrong[4].aggregate_key = (trilha_text){0};
  wrong[5].tenant_id = TRILHA_TEXT("");
  wrong[6].consumer = (trilha_text){0};
  wrong[7].aggregate_sequence = INT64_MIN, wrong[7].previous_sequence = INT64_MAX;
  trilha_inbox_answer answer;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    trilha_error err = {0};
    begin(&p);
    assert_int_equal(trilha_producer_accept(&p, &wrong[i], &answer, &err), TRILHA_INVALID);
    assert_string_equal(err.code, "MESSAGE_REFUSED");
    trilha_producer_run(&p, "ROLLBACK");
  }
  begin(&p);
  CHECKED(trilha_producer_accept(&p, &right, &answer, error));
  assert_int_equal(answer.outcome, TRILHA_INBOX_NEW);
  trilha_producer_run(&p, "COMMIT");
  trilha_producer_close(&p);
}

static void the_sql_inbox_says_what_is_wrong_with_a_call(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip(); /* SQLite has no such function */
  trilha_producer p = trilha_producer_open(f, true);
  static const char *const wrong[][2] = {
      {"NULL, 'stock', gen_random_uuid(), " SHA, "tenant_id"},
      {"'acme', repeat('x', 256), gen_random_uuid(), " SHA, "consumer"},
      {"'acme', 'stock', NULL, " SHA, "message_id"},
      {"'acme', 'stock', gen_random_uuid(), NULL", "payload_sha256"},
      {"'acme', 'stock', gen_random_uuid(), upper(repeat('a', 64))", "payload_sha256"},
  };
  static const char *const order[][2] = {
      {", 'nota', '1', 5, NULL", "previous_sequence"}, /* the header was not there: any gap would pass */
      {", 'nota', '1', NULL, 0", "aggregate_sequence"},
      {", NULL, '1', 1, 0", "aggregate_type"},
      {", 'nota', repeat('x', 256), 1, 0", "aggregate_key"},
  };
  char sql[512], why[512];
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    for (int kind = 0; kind < 3; kind++) { /* plain; ordered: to be held; ordered: to be a duplicate */
      static const char *const tails[] = {"(%s)", "_ordered(%s, 'nota', '1', 9, 8)",
                                          "_ordered(%s, 'nota', 'old', 1, 0)"};
      trilha_producer_run(&p, "DELETE FROM {p}inbox_order");
      trilha_producer_run(&p, "INSERT INTO {p}inbox_order VALUES ('acme', 'stock', 'nota', 'old', 5)");
      char call[256];
      snprintf(call, sizeof call, tails[kind], wrong[i][0]);
      snprintf(sql, sizeof sql, "SELECT * FROM {p}inbox_accept%s", call);
      assert_false(trilha_producer_try(&p, sql, why, sizeof why));
      assert_non_null(strstr(why, wrong[i][1]));
    }
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    snprintf(sql, sizeof sql, "SELECT * FROM {p}inbox_accept_ordered('acme', 'stock', gen_random_uuid(), " SHA "%s)",
             order[i][0]);
    assert_false(trilha_producer_try(&p, sql, why, sizeof why));
    assert_non_null(strstr(why, order[i][1]));
  }
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}inbox_message"), 0);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}inbox_repeat"), 0);
  trilha_producer_close(&p);
}

/* --- the caller's session --------------------------------------------------------------------------------------------
 */

static void settings_of_the_caller_change_nothing_of_what_is_accepted(void **state) {
  static const char *const settings[] = {
      "SET standard_conforming_strings = off",
      "SET plpgsql.extra_errors = 'all'",
      "SET client_encoding = 'LATIN1'",
      "SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard'; SET TimeZone = 'Asia/Kathmandu'",
      "SET transform_null_equals = on; SET row_security = off; SET quote_all_identifiers = on",
      "SET session_replication_role = replica",
      "SET default_transaction_isolation = 'serializable'",
      "SET plan_cache_mode = force_custom_plan; SET default_transaction_deferrable = on",
      "CREATE SCHEMA evil; CREATE FUNCTION evil.char_length(text) RETURNS integer LANGUAGE sql AS 'SELECT 0'; "
      "CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT timestamptz 'infinity'$$; "
      "CREATE FUNCTION evil.differs(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'; "
      "CREATE OPERATOR evil.!~ (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.differs); "
      "CREATE DOMAIN evil.json AS text; CREATE TABLE evil.outbox_message (); SET search_path = evil, pg_catalog",
      "CREATE TEMP TABLE outbox_message (); CREATE TEMP TABLE inbox_message (); CREATE TEMP TABLE pg_class (); "
      "CREATE DOMAIN pg_temp.json AS text CHECK (false); SET search_path = pg_temp, pg_catalog",
  };
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip(); /* SQLite has none of these */
  trilha_producer first = trilha_producer_open(f, true);
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    trilha_producer p = trilha_producer_open(f, false); /* whose functions nobody has read yet */
    trilha_producer_run(&p, settings[i]);
    assert_said(&p, "occurred_at", "'2026-06-15T10:30:00Z'");
    assert_unsaid(&p, "payload", "'[1]'", "payload must be a JSON object");
    assert_unsaid(&p, "version", "'1.0'", "semantic version");
    char sql[256], outcome[32];
    for (int again = 0; again < 2; again++) {
      snprintf(sql, sizeof sql,
               "SELECT outcome FROM {p}inbox_accept('acme', 'stock%zu', 'a8767a61-82e6-4978-b826-563ee88b6701', " SHA
               ")",
               i);
      trilha_producer_text(&p, sql, outcome, sizeof outcome);
      assert_string_equal(outcome, again == 0 ? "new" : "duplicate");
    }
    assert_said(&p, "occurred_at", "NULL");
    trilha_producer_run(&p, "DISCARD ALL");
    assert_said(&p, "occurred_at", "NULL");
    trilha_producer_close(&p);
  }
  assert_int_equal(messages(&first), 3 * (int64_t)(sizeof settings / sizeof settings[0]));
  assert_int_equal(trilha_producer_count(&first, "SELECT max(aggregate_sequence) FROM {p}outbox_message"),
                   messages(&first));
  trilha_producer_close(&first);
}

static void a_database_that_reads_backslashes_in_texts_gets_the_same_outbox(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip(); /* SQLite has none of these */
  trilha_fixture_change(f,
                        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', "
                        "current_database()); END $$",
                        "");
  trilha_producer p = trilha_producer_open(f, true); /* installed, and with a route, by sessions of that kind */
  assert_said(&p, "occurred_at", "NULL");
  assert_false(trilha_producer_try(&p, "SELECT {p}outbox_route_add('a*b', 'everything')", (char[512]){0}, 512));
  trilha_producer_run(&p, "SELECT {p}outbox_route_add('a.*', 'everything')");
  trilha_producer_close(&p);
}

/* A common habit: whatever the owner makes in the schema, the application may use. Of an outbox it may not. */
static void default_privileges_of_the_owner_give_nobody_a_right_on_an_outbox(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip(); /* SQLite has no roles */
  trilha_producer p = trilha_producer_open(f, false);
  char role[64], sql[1024];
  snprintf(role, sizeof role, "t_habit_%d", PQbackendPID(p.pg));
  snprintf(
      sql, sizeof sql,
      "CREATE ROLE %s; CREATE SCHEMA billing; CREATE TABLE billing.outbox_legacy (id int); GRANT ALL ON "
      "billing.outbox_legacy TO %s; ALTER DEFAULT PRIVILEGES IN SCHEMA billing GRANT ALL ON TABLES TO %s, PUBLIC; "
      "ALTER DEFAULT PRIVILEGES IN SCHEMA billing GRANT ALL ON FUNCTIONS TO %s; ALTER DEFAULT PRIVILEGES IN SCHEMA "
      "billing GRANT ALL ON SEQUENCES TO %s",
      role, role, role, role, role);
  trilha_producer_run(&p, sql);
  trilha_producer owner = trilha_producer_open(f, true); /* which installs */
  snprintf(
      sql, sizeof sql,
      "SELECT string_agg(x.name, ' ') FROM (SELECT p.oid::regprocedure::text AS name FROM pg_proc p WHERE "
      "p.pronamespace = 'billing'::regnamespace AND has_function_privilege('%s', p.oid, 'EXECUTE') UNION ALL "
      "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = 'billing'::regnamespace AND c.relkind IN "
      "('r', 'v', 'S') AND c.relname <> 'outbox_legacy' AND CASE c.relkind WHEN 'S' THEN has_sequence_privilege("
      "'%s', c.oid, 'SELECT, USAGE, UPDATE') ELSE has_table_privilege('%s', c.oid, 'SELECT, INSERT, UPDATE, DELETE, "
      "TRUNCATE, TRIGGER') END) x",
      role, role, role);
  char rights[4096];
  trilha_producer_text(&p, sql, rights, sizeof rights);
  assert_string_equal(rights, "");
  snprintf(sql, sizeof sql, "SELECT has_table_privilege('%s', 'billing.outbox_legacy', 'INSERT')::int", role);
  assert_int_equal(trilha_producer_count(&p, sql), 1); /* which is somebody else's */
  snprintf(sql, sizeof sql, "SELECT {p}outbox_grant('%s', 'producer'); SET ROLE %s", role, role);
  trilha_producer_run(&owner, sql);
  assert_said(&owner, "occurred_at", "NULL");
  trilha_producer_run(&owner, "RESET ROLE");
  snprintf(sql, sizeof sql, "DROP OWNED BY %s; DROP ROLE %s", role, role);
  trilha_producer_run(&p, sql);
  trilha_producer_close(&owner);
  trilha_producer_close(&p);
}

/* --- transactions ----------------------------------------------------------------------------------------------------
 */

/* Whoever looked before another committed is refused, or waits, and a repeat takes the next number. */
static void a_transaction_with_an_older_snapshot_is_refused_and_its_repeat_leaves_no_gap(void **state) {
  trilha_producer p = trilha_producer_open(*state, true), other = trilha_producer_open(*state, false);
  static const char *const levels[] = {"BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN ISOLATION LEVEL SERIALIZABLE"};
  int64_t said = 0;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
    for (int old = 0; old < 2; old++) { /* an aggregate that there was, or one that the other made meanwhile */
      char why[512], key[16];
      snprintf(key, sizeof key, "%zu%d", i, old);
      if (old == 1) trilha_producer_say(&other, "acme", key), said++;
      trilha_producer_run(&p, p.pg != NULL ? levels[i] : "BEGIN");
      assert_int_equal(messages(&p), said);
      trilha_producer_say(&other, "acme", key), said++;
      char value[20];
      snprintf(value, sizeof value, "'%s'", key);
      assert_false(say(&p, "aggregate_key", value, why, sizeof why));
      assert_non_null(strstr(why, p.pg != NULL ? "could not serialize" : "locked"));
      trilha_producer_run(&p, "ROLLBACK");
      trilha_producer_run(&p, p.pg != NULL ? levels[i] : "BEGIN IMMEDIATE");
      assert_said(&p, "aggregate_key", value), said++;
      trilha_producer_run(&p, "COMMIT");
    }
  assert_int_equal(messages(&p), said);
  assert_int_equal(trilha_producer_count(&p,
                                         "SELECT count(*) FROM {p}outbox_aggregate a WHERE last_sequence <> "
                                         "(SELECT count(*) FROM {p}outbox_message m WHERE m.aggregate_id = "
                                         "a.aggregate_id) OR last_sequence <> (SELECT max(aggregate_sequence) FROM "
                                         "{p}outbox_message m WHERE m.aggregate_id = a.aggregate_id)"),
                   0);
  trilha_producer_close(&other);
  trilha_producer_close(&p);
}

/* Two-phase commit: the aggregate waits for the second phase, others do not, and nothing is seen before it. */
static void a_prepared_transaction_keeps_its_place_until_its_second_phase(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip(); /* SQLite has none of these */
  trilha_producer p = trilha_producer_open(f, true), other = trilha_producer_open(f, false);
  if (trilha_producer_count(&p, "SELECT setting FROM pg_settings WHERE name = 'max_prepared_transactions'") == 0) {
    trilha_producer_close(&other);
    trilha_producer_close(&p);
    skip();
  }
  char sql[256], name[128], why[512];
  trilha_producer_text(&p, "SELECT current_database()", name, sizeof name); /* names are the whole server's */
  for (int commits = 0; commits < 2; commits++) {
    int64_t before = messages(&p);
    trilha_producer_run(&p, "BEGIN");
    assert_said(&p, "aggregate_key", "'1'");
    trilha_producer_run(&p, "SELECT {p}inbox_accept('acme', 'stock', 'a8767a61-82e6-4978-b826-563ee88b6701', " SHA ")");
    snprintf(sql, sizeof sql, "PREPARE TRANSACTION '%s'", name);
    trilha_producer_run(&p, sql);
    trilha_producer_run(&p, "DISCARD ALL");
    assert_int_equal(messages(&p), before);
    assert_said(&other, "aggregate_key", "'2'");
    trilha_producer_run(&other, "SET lock_timeout = '100ms'");
    assert_false(say(&other, "aggregate_key", "'1'", why, sizeof why));
    assert_non_null(strstr(why, "lock timeout"));
    trilha_producer_run(&other, "RESET lock_timeout");
    snprintf(sql, sizeof sql, "%s PREPARED '%s'", commits ? "COMMIT" : "ROLLBACK", name);
    trilha_producer_run(&p, sql);
    assert_int_equal(messages(&p), before + 1 + commits);
  }
  assert_int_equal(
      trilha_producer_count(&p, "SELECT max(aggregate_sequence) FROM {p}outbox_message WHERE aggregate_key = '1'"), 1);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane"), 2);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}inbox_message"), 1);
  trilha_producer_close(&other);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_time_that_is_none_of_the_years_1_to_9999_is_refused),
      TEST(a_stored_time_that_is_out_of_bounds_is_told_as_the_nearest),
      TEST(a_version_is_judged_alike_on_both_stores),
      TEST(a_text_with_a_nul_is_refused),
      TEST(names_are_as_long_as_an_index_of_either_store_takes),
      TEST(bytes_that_are_no_text_reach_no_destination_and_hold_up_no_other_lane),
      TEST(a_payload_that_nests_without_end_is_refused_and_not_a_fault),
      TEST(an_ordered_inbox_refuses_what_would_lose_an_effect_without_a_word),
      TEST(the_sql_inbox_says_what_is_wrong_with_a_call),
      TEST(settings_of_the_caller_change_nothing_of_what_is_accepted),
      TEST(a_database_that_reads_backslashes_in_texts_gets_the_same_outbox),
      TEST(default_privileges_of_the_owner_give_nobody_a_right_on_an_outbox),
      TEST(a_transaction_with_an_older_snapshot_is_refused_and_its_repeat_leaves_no_gap),
      TEST(a_prepared_transaction_keeps_its_place_until_its_second_phase),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
