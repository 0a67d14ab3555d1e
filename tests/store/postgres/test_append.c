/* store/postgres: appending: duplicates, refusals, time-outs, lost answers, round trips. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "postgres_fixture.h"
#include "relay.h"
#include "store/postgres/postgres_internal.h"

static int64_t rows_in_log(const fixture *f) {
  return fixture_number(f->sql, "SELECT count(*) FROM core.event_log");
}

/* --- rows ---------------------------------------------------------------------------------------------------- */

typedef struct kept {
  trilha_arena arena;
  trilha_event_row row;
} kept;

static trilha_status keep(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)err;
  kept *k = user;
  k->row = *row;
  k->row.tipo.data = trilha_arena_copy(&k->arena, row->tipo);
  k->row.payload.data = trilha_arena_copy(&k->arena, row->payload);
  k->row.digest.data = trilha_arena_copy(&k->arena, row->digest);
  k->row.tenant_id.data = row->tenant_id.data == NULL ? NULL : trilha_arena_copy(&k->arena, row->tenant_id);
  k->row.tracestate.data = row->tracestate.data == NULL ? NULL : trilha_arena_copy(&k->arena, row->tracestate);
  return TRILHA_OK;
}

static void every_column_comes_back_as_it_was_given(void **state) {
  fixture *f = *state;
  trilha_event_row rows[2] = {fixture_row(1, "demanda.recebida"), fixture_row(2,
                                                                              "d\xC3\xA9"
                                                                              "j\xC3\xA0 'vu\" \\ {x}")};
  trilha_event_row *row = &rows[1];
  row->has_correlacao_id = row->has_causation_id = row->has_aggregate_sequence = true;
  memset(row->correlacao_id, 0xAB, 16);
  memset(row->causation_id, 0xFF, 16);
  row->aggregate_sequence = INT64_MIN;
  row->timestamp_us = INT64_C(-62135596800) * 1000000; /* 0001-01-01 */
  row->payload = TRILHA_TEXT("{\"t\": \"\xC3\xA1gua \xF0\x9F\x8C\x8A \\\\ \\\" {},\"}");
  row->tenant_id = TRILHA_TEXT("");
  row->digest = TRILHA_TEXT("k1:abc");
  trilha_append_result results[2];
  trilha_error err = {0};
  assert_int_equal(fixture_append(f->store, rows, 2, FIXTURE_PATIENCE_MS, results, &err), TRILHA_OK);
  kept k = {.arena = {0}};
  assert_int_equal(
      f->store->op->event_by_id(f->store, row->event_id, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), keep, &k, &err),
      TRILHA_OK);
  assert_int_equal(k.row.sequence_number, 2);
  assert_memory_equal(k.row.event_id, row->event_id, 16);
  assert_true(trilha_text_equal(k.row.tipo, row->tipo));
  assert_true(trilha_text_equal(k.row.payload, row->payload));
  assert_int_equal(k.row.timestamp_us, row->timestamp_us);
  assert_int_equal(k.row.criado_em_us, results[1].row.criado_em_us);
  assert_true(k.row.has_correlacao_id && k.row.has_causation_id && k.row.has_aggregate_sequence);
  assert_memory_equal(k.row.causation_id, row->causation_id, 16);
  assert_int_equal(k.row.aggregate_sequence, INT64_MIN);
  assert_non_null(k.row.tenant_id.data); /* empty is not absent */
  assert_int_equal(k.row.tenant_id.size, 0);
  assert_null(k.row.tracestate.data);
  assert_true(trilha_text_equal(k.row.digest, row->digest));
  trilha_arena_done(&k.arena);
}

static void a_repeat_in_the_batch_or_of_the_log_is_told_and_burns_no_number(void **state) {
  fixture *f = *state;
  assert_int_equal(fixture_append_one(f->store, 3), 1);
  trilha_event_row rows[] = {fixture_row(9, "a"), fixture_row(3, "other"), fixture_row(9, "b"),
                             fixture_row(4, "a"), fixture_row(3, "again"), fixture_row(4, "b")};
  trilha_append_result results[6];
  trilha_arena arena = {0};
  trilha_error err = {0};
  int64_t revision = -1;
  assert_int_equal(f->store->op->append(f->store, rows, 6, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), &arena, results,
                                        &revision, &err),
                   TRILHA_OK);
  static const bool stored[] = {true, false, false, true, false, false};
  static const int64_t sequences[] = {2, 1, 2, 3, 1, 3};
  for (int i = 0; i < 6; i++) {
    assert_int_equal(results[i].stored, stored[i]);
    assert_int_equal(results[i].row.sequence_number, sequences[i]);
  }
  assert_true(trilha_text_is(results[1].row.tipo, "demanda.recebida")); /* the stored record, not what was sent */
  assert_true(trilha_text_is(results[2].row.tipo, "a"));
  assert_int_equal(revision, 0);
  trilha_arena_done(&arena);
  assert_int_equal(fixture_append_one(f->store, 5), 4);
}

static void a_batch_keeps_its_order_and_its_numbers_are_dense(void **state) {
  enum { COUNT = 3000 };
  fixture *f = *state;
  trilha_event_row *rows = calloc(COUNT, sizeof *rows);
  trilha_append_result *results = calloc(COUNT, sizeof *results);
  for (unsigned i = 0; i < COUNT; i++) rows[i] = fixture_row(i * 2654435761u, "demanda.recebida"); /* ids in no order */
  trilha_error err = {0};
  assert_int_equal(fixture_append(f->store, rows, COUNT, FIXTURE_PATIENCE_MS, results, &err), TRILHA_OK);
  for (unsigned i = 0; i < COUNT; i++) {
    assert_true(results[i].stored);
    assert_int_equal(results[i].row.sequence_number, i + 1);
  }
  fixture_seen seen;
  fixture_read(f->store, 0, NULL, COUNT + 10, &seen);
  assert_int_equal(seen.count, COUNT);
  for (unsigned i = 0; i < COUNT; i++) assert_int_equal(seen.sequences[i], i + 1);
  assert_int_equal(seen.scanned_to, COUNT);
  free(rows);
  free(results);
}

/* --- refusals ------------------------------------------------------------------------------------------------- */

static void a_refused_row_stores_nothing_and_its_value_is_not_told(void **state) {
  static const char secret[] = "111.444.777-35";
  fixture *f = *state;
  char long_origin[200];
  memset(long_origin, 'x', sizeof long_origin - 1);
  long_origin[sizeof long_origin - 1] = '\0';
  for (int kind = 0; kind < 5; kind++) {
    trilha_event_row rows[3] = {fixture_row(1, "a"), fixture_row(2, "a"), fixture_row(3, "a")};
    if (kind == 0) rows[1].payload = TRILHA_TEXT("{\"cpf\": 111.444.777-35}");
    if (kind == 1) rows[1].payload = TRILHA_TEXT("{\"cpf\": \"111.444.777-35\\u0000\"}");
    if (kind == 2) rows[1].tipo = (trilha_text){"111.444.777-35\0", 15};
    if (kind == 3) rows[1].origem = trilha_text_of(long_origin);
    if (kind == 4) rows[1].tipo = TRILHA_TEXT("111.444.777-35\xFF");
    trilha_append_result results[3];
    trilha_error err = {0};
    assert_int_equal(fixture_append(f->store, rows, 3, FIXTURE_PATIENCE_MS, results, &err), TRILHA_INVALID);
    assert_string_equal(err.code, "STORE_REFUSED");
    if (strstr(err.text, secret) != NULL || strstr(err.text, "xxx") != NULL) fail_msg("told: %s", err.text);
  }
  assert_int_equal(rows_in_log(f), 0);
  fixture_append_one(f->store, 1); /* the connection is usable */
}

static void a_held_turn_ends_in_a_timeout_with_nothing_stored(void **state) {
  fixture *f = *state;
  assert_int_equal(fixture_append_one(f->store, 9), 1); /* connects: the time below is for the turn alone */
  fixture_run(f->sql, "BEGIN");
  fixture_run(f->sql, "LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE");
  trilha_event_row row = fixture_row(1, "a");
  trilha_append_result result;
  trilha_error err = {0};
  trilha_status status = TRILHA_TIMEOUT;
  for (int i = 0; i < 20 && strcmp(err.code, "STORE_BUSY") != 0; i++) { /* who is late by more is told otherwise */
    err = (trilha_error){0};
    status = fixture_append(f->store, &row, 1, 2000, &result, &err);
    assert_true(status == TRILHA_TIMEOUT || status == TRILHA_OUTCOME_UNKNOWN);
  }
  assert_int_equal(status, TRILHA_TIMEOUT);
  assert_string_equal(err.code, "STORE_BUSY");
  assert_true(err.retriable);
  fixture_run(f->sql, "COMMIT");
  assert_int_equal(rows_in_log(f), 1);
  assert_int_equal(fixture_append_one(f->store, 1), 2);
}

static void the_databases_own_settings_weaken_nothing(void **state) {
  fixture *f = *state;
  f->store->op->close(f->store);
  fixture_run(f->sql, "ALTER DATABASE %s SET default_transaction_isolation = 'serializable'", f->database);
  fixture_run(f->sql, "ALTER DATABASE %s SET synchronous_commit = off", f->database);
  fixture_run(f->sql, "ALTER DATABASE %s SET search_path = ''", f->database);
  fixture_run(f->sql, "ALTER DATABASE %s SET DateStyle = 'SQL, DMY'", f->database);
  fixture_run(f->sql, "ALTER DATABASE %s SET bytea_output = 'escape'", f->database);
  fixture_run(f->sql, "CREATE EXTENSION pg_walinspect");
  f->store = fixture_open(f->url);
  assert_int_equal(fixture_append_one(f->store, 1), 1);
  /* The log is kept from now on, however much others write; the slot goes with this session. */
  fixture_run(f->sql, "SELECT pg_create_physical_replication_slot('%s', true, true)", f->database);
  fixture_run(f->sql, "CREATE TEMP TABLE before AS SELECT pg_current_wal_insert_lsn() AS lsn");
  assert_int_equal(fixture_append_one(f->store, 2), 2);
  /* The inspected log ends where the flushed one does: the commit itself must be in it, whatever others flush. */
  assert_int_equal(fixture_number(f->sql,
                                  "SELECT count(*) FROM before, core.event_log e, LATERAL "
                                  "pg_get_wal_records_info_till_end_of_wal(lsn) w WHERE e.sequence_number = 2 AND "
                                  "w.resource_manager = 'Transaction' AND w.record_type LIKE 'COMMIT%' AND "
                                  "w.xid = e.xmin"),
                   1);
  fixture_seen seen;
  fixture_read(f->store, 0, "demanda.recebida", 10, &seen);
  assert_int_equal(seen.count, 2);
}

/* --- alone and in company ------------------------------------------------------------------------------------ */

/* Notes how each single event is asked to be appended, then appends it. */
static void watch_manners(const fixture *f) {
  fixture_run(f->sql,
              "CREATE TABLE public.manner (n serial, settled boolean, late boolean); "
              "ALTER PROCEDURE core.event_append_one RENAME TO event_append_real; "
              "CREATE PROCEDURE core.event_append_one(a uuid, b text, c text, d timestamptz, e text, f uuid, g jsonb, "
              "h text, i text, j text, k text, l bigint, m uuid, n text, o text, p text, lock_timeout_ms bigint, "
              "durable boolean, stay boolean, flush_late boolean, OUT x bigint, OUT y timestamptz, OUT z bigint) "
              "LANGUAGE plpgsql AS $$ BEGIN "
              "INSERT INTO public.manner (settled, late) VALUES (lock_timeout_ms IS NULL, flush_late); "
              "CALL core.event_append_real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, lock_timeout_ms, durable, "
              "stay, flush_late, x, y, z); END $$");
}

static bool was_late(const fixture *f) {
  return fixture_number(f->sql, "SELECT late::int FROM public.manner ORDER BY n DESC LIMIT 1") == 1;
}

static void who_is_alone_waits_for_the_disk_under_the_turn_and_in_company_after_it(void **state) {
  fixture *f = *state;
  watch_manners(f);
  fixture_append_one(f->store, 1);
  assert_true(was_late(f)); /* nobody knows yet */
  for (unsigned i = 2; i <= 20; i++) fixture_append_one(f->store, i);
  assert_false(was_late(f));
  trilha_store *other = fixture_open(f->url);
  fixture_append_one(other, 21);
  other->op->close(other);
  fixture_append_one(f->store, 22); /* sees a number that is not its own */
  fixture_append_one(f->store, 23);
  assert_true(was_late(f));
  for (unsigned i = 24; i <= 40; i++) fixture_append_one(f->store, i);
  assert_false(was_late(f));
}

static void a_session_is_settled_once_and_a_short_deadline_keeps_its_own_limit(void **state) {
  fixture *f = *state;
  watch_manners(f);
  for (unsigned i = 1; i <= 7; i++) {
    trilha_event_row row = fixture_row(i, "a");
    trilha_append_result result;
    trilha_error err = {0};
    if (i == 4) fixture_terminate_others(f); /* another session */
    int64_t ms = i == 6 ? 20000 : 60000;     /* the store's own lock time-out is 30 s */
    assert_int_equal(fixture_append(f->store, &row, 1, ms, &result, &err), TRILHA_OK);
  }
  static const bool settled[] = {false, true, true, false, true, false, true};
  for (int i = 0; i < 7; i++) {
    char query[96];
    snprintf(query, sizeof query, "SELECT settled::int FROM public.manner WHERE n = %d", i + 1);
    assert_int_equal(fixture_number(f->sql, query), settled[i]);
  }
}

/* --- races ------------------------------------------------------------------------------------------------------ */

enum { RACED = 300, RACERS = 3 };

/* Appends the same ids as the other processes, one by one; its exit status tells how it went, its pipe how many it
 * stored. */
static void race(const char *url, int out) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  const trilha_store_options options = {.url = trilha_text_of(url)};
  if (trilha_postgres_open(&options, &store, &err) != TRILHA_OK) _exit(2);
  int32_t stored = 0;
  for (unsigned i = 0; i < RACED; i++) {
    trilha_event_row row = fixture_row(i, "demanda.recebida");
    trilha_append_result result;
    if (fixture_append(store, &row, 1, FIXTURE_PATIENCE_MS, &result, &err) != TRILHA_OK) _exit(3);
    if (result.row.sequence_number < 1) _exit(4);
    stored += result.stored;
  }
  store->op->close(store);
  _exit(write(out, &stored, sizeof stored) == sizeof stored ? 0 : 5);
}

static void processes_that_race_with_one_id_store_it_once_without_burning_numbers(void **state) {
  fixture *f = *state;
  int pipes[2], total = 0;
  pid_t children[RACERS];
  assert_int_equal(pipe(pipes), 0);
  for (int i = 0; i < RACERS; i++) {
    children[i] = fork();
    if (children[i] == 0) race(f->url, pipes[1]);
  }
  for (int i = 0; i < RACERS; i++) {
    int status = 0;
    int32_t stored = 0;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipes[0], &stored, sizeof stored), sizeof stored);
    total += stored;
  }
  close(pipes[0]);
  close(pipes[1]);
  assert_int_equal(total, RACED);
  assert_int_equal(fixture_number(f->sql, "SELECT max(sequence_number) FROM core.event_log"), RACED);
  assert_int_equal(fixture_number(f->sql, "SELECT last_value FROM core.event_log_sequence_number_seq"), RACED);
}

typedef struct crowd {
  trilha_store *store;
  unsigned first, count;
} crowd;

static void *append_many(void *user) {
  crowd *c = user;
  for (unsigned i = 0; i < c->count; i++) fixture_append_one(c->store, c->first + i);
  return NULL;
}

static void *read_many(void *user) {
  crowd *c = user;
  int64_t after = 0;
  fixture_seen *seen = malloc(sizeof *seen);
  while (after < 4 * (int64_t)c->count) {
    trilha_error err = {0};
    if (c->store->op->wait(c->store, after, trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), &err) != TRILHA_OK) break;
    fixture_read(c->store, after, NULL, 1000, seen);
    for (size_t i = 0; i < seen->count; i++)
      if (seen->sequences[i] != after + 1 + (int64_t)i) abort(); /* skipped, or out of order */
    after = seen->scanned_to;
  }
  free(seen);
  return NULL;
}

static void threads_share_one_store(void **state) {
  enum { EACH = 60 };
  fixture *f = *state;
  pthread_t threads[6];
  crowd crowds[6];
  for (unsigned i = 0; i < 6; i++) {
    crowds[i] = (crowd){f->store, i * 1000, EACH};
    assert_int_equal(pthread_create(&threads[i], NULL, i < 4 ? append_many : read_many, &crowds[i]), 0);
  }
  for (unsigned i = 0; i < 6; i++) pthread_join(threads[i], NULL);
  assert_int_equal(rows_in_log(f), 4 * EACH);
}

/* --- the wire ------------------------------------------------------------------------------------------------------
 */

typedef struct wire {
  relay *relay;
  trilha_store *store;
} wire;

static wire through_relay(const fixture *f) {
  int port = 0;
  char url[FIXTURE_URL_SIZE];
  wire w = {.relay = relay_start(fixture_port(f->url), &port)};
  fixture_url_with(f->url, port, NULL, url);
  w.store = fixture_open(url);
  return w;
}

static void close_wire(wire *w) {
  w->store->op->close(w->store);
  relay_stop(w->relay);
}

static void a_batch_takes_one_round_trip_and_a_repeat_two(void **state) {
  fixture *f = *state;
  f->store->op->close(f->store);
  f->store = NULL;
  wire w = through_relay(f);
  fixture_append_one(w.store, 1); /* connects, prepares */
  fixture_await_hint(f, 0); /* the other connection, of the thread that tells other processes, is quiet from now on */
  trilha_event_row rows[500];
  trilha_append_result results[500];
  trilha_error err = {0};
  int before = 0, appended = 0, told = 0;
  for (unsigned turn = 0; turn < 10 && told != 2;
       turn++) { /* a hint whose connection was lost is sent on another one */
    for (unsigned i = 0; i < 500; i++) rows[i] = fixture_row(100 + 500 * turn + i, "demanda.recebida");
    int64_t told_before = fixture_hint(f);
    before = relay_round_trips(w.relay);
    assert_int_equal(fixture_append(w.store, rows, 500, FIXTURE_PATIENCE_MS, results, &err), TRILHA_OK);
    appended = relay_round_trips(w.relay) - before;
    fixture_await_hint(f, told_before);
    told = relay_round_trips(w.relay) - before;
  }
  assert_in_range(appended, 1, 2); /* the hint of the other connection may already be among them */
  assert_int_equal(told, 2);
  before = relay_round_trips(w.relay);
  assert_int_equal(fixture_append(w.store, rows, 500, FIXTURE_PATIENCE_MS, results, &err), TRILHA_OK);
  assert_false(results[499].stored);
  assert_int_equal(relay_round_trips(w.relay) - before, 2);
  close_wire(&w);
}

static void a_hint_that_met_a_broken_connection_is_sent_on_the_next(void **state) {
  fixture *f = *state;
  wire w = through_relay(f);
  fixture_append_one(w.store, 1);
  fixture_await_hint(f, 0);
  int64_t told = fixture_hint(f);
  relay_set(w.relay, RELAY_CUT_REQUEST);
  trilha_pg_signals_stored(trilha_pg_of(w.store)->signals, 2);
  fixture_await_hint(f, told);
  assert_false(relay_is_set(w.relay));
  close_wire(&w);
}

static void a_read_takes_one_round_trip(void **state) {
  fixture *f = *state;
  fixture_append_one(f->store, 1);
  wire w = through_relay(f);
  fixture_seen seen;
  fixture_read(w.store, 0, "demanda.recebida", 100, &seen);
  int before = relay_round_trips(w.relay);
  fixture_read(w.store, 0, "demanda.recebida", 100, &seen);
  fixture_read(w.store, 1, NULL, 100, &seen);
  assert_int_equal(relay_round_trips(w.relay) - before, 2);
  close_wire(&w);
}

/* A client that had no time left to send anything has sent nothing: again. */
static trilha_status append_until_sent(trilha_store *store, const trilha_event_row *row, int64_t ms,
                                       trilha_error *err) {
  trilha_append_result result;
  trilha_status status = TRILHA_TIMEOUT;
  for (int i = 0; i < 20 && status == TRILHA_TIMEOUT; i++) {
    *err = (trilha_error){0};
    status = fixture_append(store, row, 1, ms, &result, err);
  }
  return status;
}

static void expect_unknown_then_once(fixture *f, relay_cut cut, int64_t rows_meanwhile) {
  wire w = through_relay(f);
  trilha_event_row row = fixture_row(77, "demanda.recebida");
  trilha_append_result result;
  fixture_append_one(w.store, 1);
  fixture_await_hint(f, 0); /* the hint of that event left first: the next request is the append's */
  relay_set(w.relay, cut);
  trilha_error err = {0};
  assert_int_equal(append_until_sent(w.store, &row, cut == RELAY_HOLD_ANSWER ? 1000 : FIXTURE_PATIENCE_MS, &err),
                   TRILHA_OUTCOME_UNKNOWN);
  assert_string_equal(err.code, "STORE_COMMIT_UNKNOWN");
  fixture_await(f->sql, "SELECT count(*) FROM core.event_log", rows_meanwhile);
  err = (trilha_error){0};
  assert_int_equal(fixture_append(w.store, &row, 1, FIXTURE_PATIENCE_MS, &result, &err),
                   TRILHA_OK); /* on a new connection */
  assert_int_equal(result.stored, rows_meanwhile == 1);
  assert_int_equal(rows_in_log(f), 2);
  close_wire(&w);
}

static void B07_cut_before_the_commit_reaches_the_server_is_unknown_then_stored_once(void **state) {
  expect_unknown_then_once(*state, RELAY_CUT_REQUEST, 1);
}

static void B07_cut_between_the_commit_and_its_answer_is_unknown_then_stored_once(void **state) {
  expect_unknown_then_once(*state, RELAY_CUT_ANSWER, 2);
}

static void B07_an_answer_that_never_comes_is_unknown_at_the_deadline(void **state) {
  expect_unknown_then_once(*state, RELAY_HOLD_ANSWER, 2);
}

static void a_connection_that_died_while_idle_costs_nothing(void **state) {
  fixture *f = *state;
  assert_int_equal(fixture_append_one(f->store, 1), 1);
  fixture_terminate_others(f);
  assert_int_equal(fixture_append_one(f->store, 2), 2);
  fixture_seen seen;
  fixture_read(f->store, 0, NULL, 10, &seen);
  assert_int_equal(seen.count, 2);
}

static void a_backend_terminated_while_it_waits_is_unknown_and_its_event_absent(void **state) {
  fixture *f = *state;
  fixture_run(f->sql, "BEGIN");
  fixture_run(f->sql, "LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE");
  crowd c = {f->store, 5, 1};
  PGconn *killer = fixture_session(f->url);
  pid_t child = fork();
  if (child == 0) {
    trilha_store *store = fixture_open(f->url);
    trilha_event_row row = fixture_row(c.first, "a");
    trilha_append_result result;
    trilha_error err = {0};
    _exit(fixture_append(store, &row, 1, FIXTURE_PATIENCE_MS, &result, &err) == TRILHA_OUTCOME_UNKNOWN ? 0 : 1);
  }
  while (fixture_number(killer,
                        "SELECT count(*) FROM pg_stat_activity WHERE CASE WHEN wait_event_type = 'Lock' AND "
                        "datname = current_database() AND backend_type = 'client backend' THEN "
                        "pg_terminate_backend(pid) ELSE false END") == 0)
    trilha_clock_sleep_ms(20);
  int status = -1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  fixture_run(f->sql, "COMMIT");
  assert_int_equal(rows_in_log(f), 0);
  PQfinish(killer);
}

#ifdef TRILHA_FAULT_POINTS
/* A child appends one event with a fault armed; the parent looks at what is left and repeats it. */
static void expect_after_kill(fixture *f, const char *fault, int64_t rows_left) {
  pid_t child = fork();
  if (child == 0) {
    setenv("TRILHA_FAULT", fault, 1);
    fixture_append_one(fixture_open(f->url), 42);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  assert_int_equal(rows_in_log(f), rows_left);
  assert_int_equal(fixture_append_one(f->store, 42), 1);
  assert_int_equal(rows_in_log(f), 1);
}

static void a_publisher_killed_before_it_sends_left_nothing(void **state) {
  expect_after_kill(*state, "postgres.append.before_send=kill", 0);
}

static void a_publisher_killed_after_the_answer_left_its_event_once(void **state) {
  expect_after_kill(*state, "postgres.append.after_answer=kill", 1);
}
#endif

int main(void) {
#define ON_MIGRATED(test) cmocka_unit_test_setup_teardown(test, fixture_migrated, fixture_teardown)
  const struct CMUnitTest tests[] = {
      ON_MIGRATED(every_column_comes_back_as_it_was_given),
      ON_MIGRATED(a_repeat_in_the_batch_or_of_the_log_is_told_and_burns_no_number),
      ON_MIGRATED(a_batch_keeps_its_order_and_its_numbers_are_dense),
      ON_MIGRATED(a_refused_row_stores_nothing_and_its_value_is_not_told),
      ON_MIGRATED(a_held_turn_ends_in_a_timeout_with_nothing_stored),
      ON_MIGRATED(the_databases_own_settings_weaken_nothing),
      ON_MIGRATED(who_is_alone_waits_for_the_disk_under_the_turn_and_in_company_after_it),
      ON_MIGRATED(a_session_is_settled_once_and_a_short_deadline_keeps_its_own_limit),
      ON_MIGRATED(processes_that_race_with_one_id_store_it_once_without_burning_numbers),
      ON_MIGRATED(threads_share_one_store),
      ON_MIGRATED(a_batch_takes_one_round_trip_and_a_repeat_two),
      ON_MIGRATED(a_hint_that_met_a_broken_connection_is_sent_on_the_next),
      ON_MIGRATED(a_read_takes_one_round_trip),
      ON_MIGRATED(B07_cut_before_the_commit_reaches_the_server_is_unknown_then_stored_once),
      ON_MIGRATED(B07_cut_between_the_commit_and_its_answer_is_unknown_then_stored_once),
      ON_MIGRATED(B07_an_answer_that_never_comes_is_unknown_at_the_deadline),
      ON_MIGRATED(a_connection_that_died_while_idle_costs_nothing),
      ON_MIGRATED(a_backend_terminated_while_it_waits_is_unknown_and_its_event_absent),
#ifdef TRILHA_FAULT_POINTS
      ON_MIGRATED(a_publisher_killed_before_it_sends_left_nothing),
      ON_MIGRATED(a_publisher_killed_after_the_answer_left_its_event_once),
#endif
  };
  if (fixture_skips()) return 0;
  return fixture_end(cmocka_run_group_tests_name("store/postgres append", tests, NULL, NULL));
}
