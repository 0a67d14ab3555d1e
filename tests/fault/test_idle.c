/* fault: a transaction that somebody left open (reliability 2; field reports B04, B20).
 *
 * One in this database that has a snapshot and a number, one in another database of the cluster, one that holds the log
 * itself; a reader or a writer that another program left open on the SQLite file. Publishing and following go on within
 * the bounds that are stated, or are refused at the deadline with nothing stored. The control follows the log as far as
 * the oldest open transaction, as outboxes often do, and must be caught standing still.
 */
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
#include <stdatomic.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/history.h"
#include "trilha/delivery.h"

enum { EVENTS = 20, PAUSE_MS = 50, BOUND_MS = 60000, LOCK_MS = 1500, LIVENESS_MS = 60000, QUIET_MS = 1000 };

/* --- somebody else's session
 * ------------------------------------------------------------------------------------------- */

typedef struct other {
  PGconn *pg;
  sqlite3 *db;
} other;

static void tell(const other *o, const char *sql) {
  if (o->db != NULL) {
    if (sqlite3_exec(o->db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(o->db));
    return;
  }
  PGresult *result = PQexec(o->pg, sql);
  ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail_msg("%s: %s", sql, PQerrorMessage(o->pg));
}

static other connect_to(const char *url) {
  other o = {0};
  if (strncmp(url, "sqlite:", 7) == 0) {
    assert_int_equal(sqlite3_open_v2(url + 7, &o.db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(o.db, 20000); /* a follower's write may be under way */
    return o;
  }
  o.pg = PQconnectdb(url);
  assert_int_equal(PQstatus(o.pg), CONNECTION_OK);
  return o;
}

static void leave(other *o) {
  if (o->pg != NULL) PQfinish(o->pg);
  sqlite3_close(o->db);
  *o = (other){0};
}

/* --- publishing and following
 * -------------------------------------------------------------------------------------------- */

typedef struct follower {
  trilha_consumer *consumer;
  pthread_t thread;
  _Atomic int64_t last;
} follower;

static trilha_status note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)delivery;
  atomic_store(&((follower *)user)->last, event->sequence_number);
  return TRILHA_OK;
}

static void *follow(void *user) {
  trilha_error err = {0};
  if (trilha_consumer_run(((follower *)user)->consumer, &err) != TRILHA_OK) return user;
  return NULL;
}

static void start_following(trilha *handle, follower *w) {
  static const trilha_text type[] = {{"teste.a", 7}};
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = type,
                                     .type_count = 1,
                                     .handler = note,
                                     .user = w,
                                     .from = TRILHA_FROM_START};
  assert_int_equal(trilha_consumer_new(handle, &options, &w->consumer, NULL), TRILHA_OK);
  assert_int_equal(pthread_create(&w->thread, NULL, follow, w), 0);
}

static void stop_following(follower *w) {
  void *failed = NULL;
  trilha_consumer_stop(w->consumer);
  pthread_join(w->thread, &failed);
  trilha_consumer_free(w->consumer);
  assert_null(failed);
}

static void wait_until_seen(follower *w, int64_t sequence) {
  trilha_deadline end = trilha_deadline_in_ms(LIVENESS_MS);
  while (atomic_load(&w->last) < sequence && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(1);
  assert_true(atomic_load(&w->last) >= sequence);
}

/* The slowest of many, in milliseconds from the call to the delivery. */
static int64_t slowest(trilha *handle, follower *w, int events) {
  int64_t worst = 0;
  for (int i = 0; i < events; i++) {
    int64_t before = trilha_clock_monotonic_ns();
    wait_until_seen(w, publish_number(handle, "teste.a", i));
    int64_t took = (trilha_clock_monotonic_ns() - before) / 1000000;
    if (took > worst) worst = took;
    trilha_clock_sleep_ms(PAUSE_MS);
  }
  return worst;
}

static follower *begin(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  follower *w = calloc(1, sizeof *w);
  assert_non_null(w);
  start_following(f->handle, w);
  wait_until_seen(w, publish_number(f->handle, "teste.a", 0));
  return w;
}

static void transactions_left_open_elsewhere_delay_nobody(void **state) {
  trilha_fixture *f = *state;
  follower *w = begin(state);
  other here = connect_to(f->url), elsewhere = {0};
  if (f->is_postgres) {
    elsewhere = connect_to(getenv("TRILHA_TEST_POSTGRES_URL")); /* another database of the cluster */
    tell(&elsewhere, "BEGIN; SELECT pg_current_xact_id()");
    tell(&here, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(), count(*) FROM core.event_log");
  } else {
    tell(&here, "BEGIN; SELECT count(*) FROM core_event_log"); /* a snapshot that nobody closes */
  }
  int64_t worst = slowest(f->handle, w, fault_times(EVENTS));
  printf("# from the call to the delivery at most %lld ms\n", (long long)worst);
  assert_in_range(worst, 0, BOUND_MS);
  leave(&here);
  leave(&elsewhere);
  stop_following(w);
  free(w);
}

static void a_publisher_behind_one_that_holds_the_log_is_refused_at_its_deadline(void **state) {
  trilha_fixture *f = *state;
  follower *w = begin(state);
  trilha_options options = {.store_url = f->url, .keyring = f->keyring, .lock_timeout_ms = LOCK_MS};
  trilha *impatient = NULL;
  assert_int_equal(trilha_open(&options, &impatient, NULL), TRILHA_OK);
  int64_t last = 0;
  int64_t rows = trilha_fixture_count(f, "SELECT count(*) FROM {log}");
  other holder = connect_to(f->url);
  tell(&holder, f->is_postgres ? "BEGIN; INSERT INTO core.event_log (event_id, tipo, origem, payload) VALUES "
                                 "('00000000-0000-4000-8000-000000000001', 'a', 'b', '{}')"
                               : "BEGIN IMMEDIATE");
  trilha_publication p = {
      .tipo = TRILHA_TEXT("teste.a"), .origem = TRILHA_TEXT("D-1a"), .payload = TRILHA_TEXT("{\"n\":1}")};
  trilha_publish_result result;
  trilha_error err;
  trilha_deadline end = trilha_deadline_in_ms(LIVENESS_MS);
  int64_t took = 0;
  trilha_status status = TRILHA_OUTCOME_UNKNOWN;
  do { /* the first connects; and client or server may be late by more than the deadline: that is told otherwise */
    int64_t before = trilha_clock_monotonic_ns();
    err = (trilha_error){0};
    status = trilha_publish(impatient, &p, &result, &err);
    took = (trilha_clock_monotonic_ns() - before) / 1000000;
    trilha_publish_result_done(&result);
    assert_true(status == TRILHA_TIMEOUT || status == TRILHA_OUTCOME_UNKNOWN);
  } while (strcmp(err.code, "STORE_BUSY") != 0 && !trilha_deadline_passed(end));
  assert_int_equal(status, TRILHA_TIMEOUT);
  assert_string_equal(err.code, "STORE_BUSY");
  assert_true(err.retriable);
  assert_in_range(took, LOCK_MS / 2, LIVENESS_MS);
  assert_int_equal(trilha_last_sequence(impatient, &last, NULL), TRILHA_OK); /* readers wait for nobody */
  assert_int_equal(last, rows);
  tell(&holder, "ROLLBACK");
  wait_until_seen(w, publish_number(f->handle, "teste.a", 2));
  assert_int_equal(trilha_fixture_count(f, "SELECT count(*) FROM {log}"), rows + 1);
  leave(&holder);
  trilha_close(impatient);
  stop_following(w);
  free(w);
}

static void one_that_holds_the_log_and_says_nothing_more_is_ended_by_the_database(void **state) {
  trilha_fixture *f = *state;
  follower *w = begin(state);
  other holder = connect_to(f->url);
  tell(&holder,
       "SET idle_in_transaction_session_timeout = '1s'; BEGIN; INSERT INTO core.event_log (event_id, tipo, origem, "
       "payload) VALUES ('00000000-0000-4000-8000-000000000001', 'a', 'b', '{}')");
  int64_t before = trilha_clock_monotonic_ns();
  wait_until_seen(w, publish_number(f->handle, "teste.a", 1));
  assert_in_range((trilha_clock_monotonic_ns() - before) / 1000000, 0, LIVENESS_MS);
  assert_int_equal(trilha_fixture_count(f, "SELECT count(*) FROM {log} WHERE tipo = 'a'"), 0);
  leave(&holder);
  stop_following(w);
  free(w);
}

/* --- the control
 * --------------------------------------------------------------------------------------------------------- */

static void control_a_reader_that_waits_for_the_oldest_transaction_is_caught_standing_still(void **state) {
  trilha_fixture *f = *state;
  static const char visible[] =
      "SELECT count(*) FROM {log} WHERE xmin::text::bigint < "
      "(pg_snapshot_xmin(pg_current_snapshot())::text::bigint & 4294967295)";
  follower *w = begin(state);
  /* Neighbours on this server have transactions of their own, older than the first event: they end. */
  trilha_deadline end = trilha_deadline_in_ms(LIVENESS_MS);
  while (trilha_fixture_count(f, visible) < 1 && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(10);
  assert_int_equal(trilha_fixture_count(f, visible), 1);
  other elsewhere = connect_to(getenv("TRILHA_TEST_POSTGRES_URL"));
  tell(&elsewhere, "BEGIN; SELECT pg_current_xact_id()");
  for (int i = 0; i < 10; i++) wait_until_seen(w, publish_number(f->handle, "teste.a", i)); /* ours goes on */
  trilha_clock_sleep_ms(QUIET_MS);
  assert_int_equal(trilha_fixture_count(f, visible), 1);
  leave(&elsewhere);
  stop_following(w);
  free(w);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  /* A file has nobody to end a session, and one writer: there is no oldest open transaction to wait for. */
  const struct CMUnitTest on_sqlite[] = {
      ON_A_FRESH_STORE(transactions_left_open_elsewhere_delay_nobody),
      ON_A_FRESH_STORE(a_publisher_behind_one_that_holds_the_log_is_refused_at_its_deadline),
  };
  const struct CMUnitTest on_postgresql[] = {
      ON_A_FRESH_STORE(transactions_left_open_elsewhere_delay_nobody),
      ON_A_FRESH_STORE(a_publisher_behind_one_that_holds_the_log_is_refused_at_its_deadline),
      ON_A_FRESH_STORE(one_that_holds_the_log_and_says_nothing_more_is_ended_by_the_database),
      ON_A_FRESH_STORE(control_a_reader_that_waits_for_the_oldest_transaction_is_caught_standing_still),
  };
  const char *store = getenv("TRILHA_TEST_STORE");
  if (store != NULL && strcmp(store, "postgresql") == 0)
    return cmocka_run_group_tests_name("idle", on_postgresql, NULL, NULL);
  return cmocka_run_group_tests_name("idle", on_sqlite, NULL, NULL);
}
