/* store/postgres: hints that the log grew, between threads, stores and processes; field report B19. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "postgres_fixture.h"

enum { SCAN_MS = 600000, SOON_MS = 60000 }; /* a wake-up must come long before the scan would */

typedef struct heard {
  pthread_mutex_t lock;
  int lost, restored;
} heard;

static void hear(void *user, const trilha_diagnostic *d) {
  heard *h = user;
  pthread_mutex_lock(&h->lock);
  h->lost += strcmp(d->name, "postgres.listener_lost") == 0;
  h->restored += strcmp(d->name, "postgres.listener_restored") == 0;
  pthread_mutex_unlock(&h->lock);
}

static int told(heard *h, const int *counter) {
  pthread_mutex_lock(&h->lock);
  int times = *counter;
  pthread_mutex_unlock(&h->lock);
  return times;
}

static void await_told(heard *h, const int *counter, int times) {
  trilha_deadline end = trilha_deadline_in_ms(SOON_MS);
  while (told(h, counter) < times && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(5);
  assert_true(told(h, counter) >= times);
}

static trilha_store *open_follower(const char *url, heard *h) {
  const trilha_store_options options = {
      .url = trilha_text_of(url), .scan_interval_ms = SCAN_MS, .diagnostics = {hear, h}};
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (trilha_postgres_open(&options, &store, &err) != TRILHA_OK) fail_msg("%s", err.text);
  return store;
}

/* Makes it connect and listen. Ends with the time, or at once when listening began before: look again. */
static void begin_to_follow(trilha_store *follower) {
  trilha_error err = {0};
  trilha_status status = follower->op->wait(follower, 0, trilha_deadline_in_ms(10), &err);
  assert_true(status == TRILHA_TIMEOUT || status == TRILHA_OK);
  assert_int_equal(err.status, TRILHA_OK); /* untouched */
}

static int64_t last_sequence(trilha_store *store) {
  int64_t last = 0;
  unsigned char id[16];
  bool any = false;
  assert_int_equal(store->op->last_event(store, trilha_deadline_in_ms(SOON_MS), &last, id, &any, NULL), TRILHA_OK);
  return any ? last : 0;
}

/* Until the follower's own session listens. */
static void await_listener(const fixture *f) {
  while (fixture_number(f->sql,
                        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                        "AND query LIKE 'LISTEN%' AND state = 'idle'") == 0)
    trilha_clock_sleep_ms(5);
}

typedef struct late_publisher {
  const char *url;
  unsigned n;
} late_publisher;

/* As a short-lived process would: opens, appends one, closes. */
static void *publish_later(void *user) {
  const late_publisher *p = user;
  trilha_clock_sleep_ms(100);
  trilha_store *store = fixture_open(p->url);
  fixture_append_one(store, p->n);
  store->op->close(store);
  return NULL;
}

static int64_t woken_after_ms(const fixture *f, trilha_store *follower, int64_t after, unsigned n) {
  late_publisher p = {f->url, n};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, publish_later, &p), 0);
  int64_t start = trilha_clock_monotonic_ns();
  trilha_error err = {0};
  do { /* as every follower does: a wake-up only says that it is worth while to look */
    assert_int_equal(follower->op->wait(follower, after, trilha_deadline_in_ms(SCAN_MS / 2), &err), TRILHA_OK);
  } while (last_sequence(follower) <= after);
  int64_t ms = (trilha_clock_monotonic_ns() - start) / 1000000;
  pthread_join(thread, NULL);
  return ms;
}

static void another_process_wakes_a_follower_long_before_the_scan(void **state) {
  fixture *f = *state;
  heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
  trilha_store *follower = open_follower(f->url, &h);
  trilha_error err = {0};
  begin_to_follow(follower);
  await_listener(f);
  assert_true(woken_after_ms(f, follower, 0, 1) < SOON_MS);
  int64_t start = trilha_clock_monotonic_ns();
  assert_int_equal(follower->op->wait(follower, 0, TRILHA_NO_DEADLINE, &err), TRILHA_OK); /* already beyond: at once */
  assert_true(trilha_clock_monotonic_ns() - start < SOON_MS * INT64_C(1000000));
  follower->op->close(follower);
}

static void B19_the_wake_up_comes_back_after_the_listener_was_ended(void **state) {
  fixture *f = *state;
  heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
  trilha_store *follower = open_follower(f->url, &h);
  begin_to_follow(follower);
  for (unsigned round = 0; round < 3; round++) {
    await_listener(f);
    assert_true(woken_after_ms(f, follower, (int64_t)round, round + 1) < SOON_MS);
    fixture_terminate_others(f);
  }
  await_listener(f);
  await_told(&h, &h.restored, 2);
  follower->op->close(follower);
}

static void B19_a_server_out_of_reach_is_told_once_and_tried_until_it_is_back(void **state) {
  fixture *f = *state;
  heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
  trilha_store *follower = open_follower(f->url, &h);
  begin_to_follow(follower);
  await_listener(f);
  int lost = told(&h, &h.lost); /* on a machine under great load it may have taken more than one attempt to get here */
  PGconn *outside = fixture_session(getenv("TRILHA_TEST_POSTGRES_URL"));
  fixture_run(outside, "ALTER DATABASE %s ALLOW_CONNECTIONS false", f->database);
  fixture_terminate_others(f);
  await_told(&h, &h.lost, lost + 1);
  trilha_clock_sleep_ms(400); /* several attempts */
  assert_int_equal(told(&h, &h.lost), lost + 1);
  fixture_run(outside, "ALTER DATABASE %s ALLOW_CONNECTIONS true", f->database);
  PQfinish(outside);
  await_listener(f);
  assert_true(woken_after_ms(f, follower, 0, 1) < SOON_MS);
  await_told(&h, &h.restored, lost + 1);
  assert_int_equal(told(&h, &h.restored), lost + 1);
  follower->op->close(follower);
}

static void without_a_hint_the_scan_interval_holds(void **state) {
  fixture *f = *state;
  const trilha_store_options options = {.url = trilha_text_of(f->url), .scan_interval_ms = 100};
  trilha_store *store = NULL;
  assert_int_equal(trilha_postgres_open(&options, &store, NULL), TRILHA_OK);
  int64_t start = trilha_clock_monotonic_ns();
  for (int i = 0; i < 3; i++) /* one of them may end early: when listening begins */
    assert_int_equal(store->op->wait(store, 1000, TRILHA_NO_DEADLINE, NULL), TRILHA_OK); /* look again */
  int64_t ms = (trilha_clock_monotonic_ns() - start) / 1000000;
  assert_in_range(ms, 198, SOON_MS);
  store->op->close(store);
}

/* Nothing announces an event that was stored while nobody listened. */
static void who_begins_to_listen_looks_once_more(void **state) {
  fixture *f = *state;
  fixture_append_one(f->store, 1);
  heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
  trilha_store *follower = open_follower(f->url, &h);
  trilha_error err = {0};
  assert_int_equal(follower->op->wait(follower, 0, trilha_deadline_in_ms(SOON_MS), &err), TRILHA_OK);
  assert_int_equal(last_sequence(follower), 1);
  follower->op->close(follower);
}

/* Payload of the first hint that `listening` gets, which one of our own follows at the latest: they keep their order.
 */
static int64_t first_hint(const fixture *f, PGconn *listening, int64_t own) {
  fixture_run(f->sql, "SELECT pg_notify('trilha_event_log', '%lld')", (long long)own);
  PGnotify *note = NULL;
  while (PQconsumeInput(listening) == 1 && (note = PQnotifies(listening)) == NULL) trilha_clock_sleep_ms(5);
  assert_non_null(note);
  int64_t told = strtoll(note->extra, NULL, 10);
  PQfreemem(note);
  while ((note = PQnotifies(listening)) != NULL) PQfreemem(note);
  return told;
}

static void hints_are_sent_to_those_who_bear_the_mark_alone(void **state) {
  fixture *f = *state;
  PGconn *raw = fixture_session(f->url);
  fixture_run(raw, "LISTEN trilha_event_log");
  trilha_store *store = fixture_open(f->url);
  assert_int_equal(fixture_append_one(store, 1), 1);
  store->op->close(store); /* would have sent what it owed */
  assert_int_equal(first_hint(f, raw, 1001), 1001);
  fixture_run(raw, "SELECT pg_advisory_lock_shared(1953655148, 1)"); /* as query listen_mark does */
  store = fixture_open(f->url);
  assert_int_equal(fixture_append_one(store, 2), 2);
  store->op->close(store);
  assert_int_equal(first_hint(f, raw, 1002), 2);
  assert_int_equal(fixture_number(f->sql,
                                  "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = "
                                  "(SELECT oid FROM pg_database WHERE datname = current_database())"),
                   1); /* looking left nothing behind */
  PQfinish(raw);
}

int main(void) {
#define ON_MIGRATED(test) cmocka_unit_test_setup_teardown(test, fixture_migrated, fixture_teardown)
  const struct CMUnitTest tests[] = {
      ON_MIGRATED(another_process_wakes_a_follower_long_before_the_scan),
      ON_MIGRATED(B19_the_wake_up_comes_back_after_the_listener_was_ended),
      ON_MIGRATED(B19_a_server_out_of_reach_is_told_once_and_tried_until_it_is_back),
      ON_MIGRATED(without_a_hint_the_scan_interval_holds),
      ON_MIGRATED(who_begins_to_listen_looks_once_more),
      ON_MIGRATED(hints_are_sent_to_those_who_bear_the_mark_alone),
  };
  if (fixture_skips()) return 0;
  return fixture_end(cmocka_run_group_tests_name("store/postgres wait", tests, NULL, NULL));
}
