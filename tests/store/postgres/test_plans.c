/* store/postgres: what the hot queries touch, counted by the server itself, on a log that was never analysed and with
 * plans made while it was empty. Counts of buffers are exact and do not depend on the machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres_fixture.h"
#include "store/postgres/postgres_internal.h"

enum { LOG_ROWS = 60000, POLLS = 40 };

static void every_query_prepares_on_a_fresh_store(void **state) {
  fixture *f = *state;
  for (int i = 0; i < TRILHA_SQL_POSTGRES_QUERY_COUNT; i++) {
    const trilha_sql_query *query = &trilha_sql_postgres_queries[i];
    PGresult *result = PQprepare(f->sql, query->name, query->sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail_msg("%s: %s", query->name, PQresultErrorMessage(result));
    PQclear(result);
  }
}

static int64_t touched(const fixture *f) {
  fixture_run(f->sql, "SELECT pg_stat_clear_snapshot()");
  return fixture_number(f->sql,
                        "SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit "
                        "FROM pg_statio_user_tables WHERE relid = 'core.event_log'::regclass");
}

/* Counts reach the server's statistics when a session ends, so every measured stretch ends with its store closed. */
static int64_t settle(fixture *f) {
  f->store->op->close(f->store);
  f->store = NULL;
  fixture_terminate_others(f);
  return touched(f);
}

static void fill(const fixture *f) {
  fixture_run(f->sql, "ALTER TABLE core.event_log SET (autovacuum_enabled = off)"); /* never analysed */
  fixture_run(f->sql,
              "INSERT INTO core.event_log (event_id, tipo, timestamp, origem, correlacao_id, payload) "
              "SELECT ('00000000-0000-0000-0001-' || lpad(to_hex(n), 12, '0'))::uuid, 'common.' || n %% 3, "
              "'2026-01-01T00:00:00Z'::timestamptz + n * interval '1 s', 'D-' || n %% 5, "
              "('00000000-0000-0000-0002-' || lpad(to_hex(n / 3), 12, '0'))::uuid, '{\"n\": 1}' "
              "FROM generate_series(1, %d) n",
              LOG_ROWS);
}

/* Ten times, so that the server settles on a generic plan while the log is empty. */
static void make_plans_while_empty(fixture *f) {
  fixture_seen *seen = malloc(sizeof *seen);
  int64_t last;
  unsigned char id[16] = {0};
  bool any;
  for (int i = 0; i < 10; i++) {
    fixture_read(f->store, 0, "rare", 1000, seen);
    fixture_read(f->store, 0, NULL, 1000, seen);
    assert_int_equal(
        f->store->op->event_by_id(f->store, id, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), NULL, NULL, NULL),
        TRILHA_NOT_FOUND);
    assert_int_equal(
        f->store->op->last_event(f->store, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), &last, id, &any, NULL),
        TRILHA_OK);
  }
  free(seen);
}

typedef void (*measured)(fixture *f, int round);

static int64_t buffers_each(fixture *f, int64_t before, measured work, int rounds) {
  for (int i = 0; i < rounds; i++) work(f, i);
  int64_t buffers = (settle(f) - before) / rounds;
  print_message("# %lld buffers each\n", (long long)buffers);
  return buffers;
}

static void poll_rare(fixture *f, int round) {
  (void)round;
  static fixture_seen seen;
  fixture_read(f->store, 10, "rare", 1000, &seen);
  assert_int_equal(seen.count, 0);
  assert_int_equal(seen.scanned_to, LOG_ROWS);
}

static void poll_nothing_new(fixture *f, int round) {
  (void)round;
  static fixture_seen seen;
  fixture_read(f->store, LOG_ROWS, NULL, 1000, &seen);
  assert_int_equal(seen.count, 0);
}

static trilha_status count_row(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)row, (void)err;
  ++*(int *)user;
  return TRILHA_OK;
}

static void get_by_id(fixture *f, int round) {
  unsigned char id[16] = {[9] = 1};
  int found = 0;
  id[15] = (unsigned char)(round + 1);
  assert_int_equal(
      f->store->op->event_by_id(f->store, id, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), count_row, &found, NULL),
      TRILHA_OK);
  assert_int_equal(found, 1);
}

static void append_one(fixture *f, int round) {
  fixture_append_one(f->store, 1000u + (unsigned)round);
}

static void append_present(fixture *f, int round) {
  (void)round;
  trilha_event_row row = fixture_row(1, "common.1");
  memset(row.event_id, 0, 16);
  row.event_id[9] = 1;
  row.event_id[15] = 9;
  trilha_append_result result;
  trilha_error err = {0};
  assert_int_equal(fixture_append(f->store, &row, 1, FIXTURE_PATIENCE_MS, &result, &err), TRILHA_OK);
  assert_false(result.stored);
}

static void query_correlation(fixture *f, int round) {
  trilha_event_filter filter = {.has_correlacao_id = true};
  filter.correlacao_id[9] = 2;
  filter.correlacao_id[15] = (unsigned char)(round + 1);
  int found = 0;
  int64_t total = 0;
  assert_int_equal(f->store->op->events_query(f->store, &filter, 100, 0, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS),
                                              count_row, &found, &total, NULL),
                   TRILHA_OK);
  assert_int_equal(found, 3);
  assert_int_equal(total, 3);
}

static void query_moment(fixture *f, int round) {
  const int64_t at = INT64_C(1767225600) * 1000000 + (1000 + round) * INT64_C(1000000);
  const trilha_event_filter filter = {
      .has_timestamp_inicio = true, .has_timestamp_fim = true, .timestamp_inicio_us = at, .timestamp_fim_us = at};
  int found = 0;
  int64_t total = 0;
  assert_int_equal(f->store->op->events_query(f->store, &filter, 100, 0, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS),
                                              count_row, &found, &total, NULL),
                   TRILHA_OK);
  assert_int_equal(total, 1);
}

/* Deep inside the log, without filters and by type in turns. */
static void page_without_total(fixture *f, int round) {
  trilha_event_filter filter = {.has_sequence_inicio = true, .sequence_inicio = 10000 + 1000 * (int64_t)round};
  if (round % 2 == 1) filter.tipo = TRILHA_TEXT("common.1");
  int found = 0;
  assert_int_equal(f->store->op->events_query(f->store, &filter, 101, 0, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS),
                                              count_row, &found, NULL, NULL),
                   TRILHA_OK);
  assert_int_equal(found, 101);
}

static void expect_below(void **state, bool plan_first, measured work, int64_t limit) {
  fixture *f = *state;
  if (plan_first) make_plans_while_empty(f);
  fill(f);
  PGconn *counting = f->sql;
  fixture_run(counting, "SELECT pg_stat_force_next_flush()"); /* the filling itself is not counted */
  int64_t before = touched(f);
  assert_in_range(buffers_each(f, before, work, POLLS), 1, limit);
}

/* The measured ones keep the plans that they made while the log was empty. */
static void an_empty_look_for_a_rare_type_touches_under_20_buffers(void **state) {
  expect_below(state, true, poll_rare, 19);
}
static void an_empty_look_at_the_end_touches_under_20_buffers(void **state) {
  expect_below(state, true, poll_nothing_new, 19);
}
static void a_get_by_id_touches_under_20_buffers(void **state) {
  expect_below(state, true, get_by_id, 19);
}
static void an_append_touches_a_bounded_number_of_buffers(void **state) {
  expect_below(state, true, append_one, 80);
}
static void a_repeat_touches_under_20_buffers(void **state) {
  expect_below(state, true, append_present, 19);
}
static void a_trace_touches_its_own_events_only(void **state) {
  expect_below(state, false, query_correlation, 40);
}
static void a_query_for_a_moment_touches_its_own_events_only(void **state) {
  expect_below(state, false, query_moment, 40);
}

/* A count of what is left would touch hundreds. */
static void a_page_without_a_total_touches_its_own_events_only(void **state) {
  expect_below(state, false, page_without_total, 120);
}

/* What the server would do for audit_list with these values, as every call is planned (plan_anew). */
static bool audit_plan_uses(const fixture *f, const char *values, const char *index) {
  char sql[4096];
  snprintf(sql, sizeof sql, "PREPARE trail (int8, int8, text, text, text, timestamptz, timestamptz) AS %s",
           trilha_sql_postgres_audit_list);
  fixture_run(f->sql, "SET plan_cache_mode = force_custom_plan");
  PGresult *result = PQexec(f->sql, sql);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fail_msg("%s", PQresultErrorMessage(result));
  PQclear(result);
  snprintf(sql, sizeof sql, "EXPLAIN (COSTS OFF) EXECUTE trail (%s)", values);
  result = PQexec(f->sql, sql);
  if (PQresultStatus(result) != PGRES_TUPLES_OK) fail_msg("%s", PQresultErrorMessage(result));
  bool found = false;
  for (int i = 0; i < PQntuples(result); i++) {
    print_message("# %s\n", PQgetvalue(result, i, 0));
    found = found || strstr(PQgetvalue(result, i, 0), index) != NULL;
  }
  PQclear(result);
  fixture_run(f->sql, "DEALLOCATE trail");
  return found;
}

static void the_audit_trail_is_read_by_the_index_of_what_is_asked(void **state) {
  fixture *f = *state;
  fixture_run(f->sql, "ALTER TABLE core.audit_log SET (autovacuum_enabled = off)"); /* never analysed */
  fixture_run(f->sql,
              "INSERT INTO core.audit_log (entity, entity_id, change_type, action, user_name) "
              "SELECT 'kind', 'thing-' || n, 'Updated', 'a.b' || n %% 50 || '.changed', 'ana' FROM "
              "generate_series(1, 20000) n");
  assert_true(audit_plan_uses(f, "0, 100, 'a.b7.changed', NULL, NULL, NULL, NULL", "audit_log_action_idx"));
  assert_true(audit_plan_uses(f, "0, 100, 'a.b7.changed', NULL, NULL, '2026-01-01', NULL", "audit_log_action_idx"));
  assert_true(audit_plan_uses(f, "0, 100, NULL, 'kind', 'thing-7', NULL, NULL", "audit_log_entity_idx"));
  assert_true(audit_plan_uses(f, "500, 100, NULL, NULL, NULL, NULL, NULL", "audit_log_pkey"));
}

int main(void) {
#define ON_MIGRATED(test) cmocka_unit_test_setup_teardown(test, fixture_migrated, fixture_teardown)
  const struct CMUnitTest tests[] = {
      ON_MIGRATED(the_audit_trail_is_read_by_the_index_of_what_is_asked),
      ON_MIGRATED(every_query_prepares_on_a_fresh_store),
      ON_MIGRATED(an_empty_look_for_a_rare_type_touches_under_20_buffers),
      ON_MIGRATED(an_empty_look_at_the_end_touches_under_20_buffers),
      ON_MIGRATED(a_get_by_id_touches_under_20_buffers),
      ON_MIGRATED(an_append_touches_a_bounded_number_of_buffers),
      ON_MIGRATED(a_repeat_touches_under_20_buffers),
      ON_MIGRATED(a_trace_touches_its_own_events_only),
      ON_MIGRATED(a_query_for_a_moment_touches_its_own_events_only),
      ON_MIGRATED(a_page_without_a_total_touches_its_own_events_only),
  };
  if (fixture_skips()) return 0;
  return fixture_end(cmocka_run_group_tests_name("store/postgres plans", tests, NULL, NULL));
}
