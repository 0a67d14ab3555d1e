/* relay: the outbox's database exchanged under a running worker: nothing is sent or settled that is not of the outbox
 * it serves, and it says so. */
#include <stdatomic.h>
#include <unistd.h>

#include "relay/destination.h"

typedef struct heard { /* of relay.store_away with the code STORE_REPLACED; written by the relay's thread */
  atomic_int replaced;
} heard;

static void hear(void *user, const trilha_diagnostic *diagnostic) {
  heard *h = user;
  if (strcmp(diagnostic->name, "relay.store_away") != 0) return;
  for (size_t i = 0; i < diagnostic->field_count; i++)
    if (trilha_text_is(diagnostic->fields[i].text, "STORE_REPLACED")) atomic_fetch_add(&h->replaced, 1);
}

static void wait_for_one_more(heard *h) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  int before = atomic_load(&h->replaced);
  while (atomic_load(&h->replaced) == before && !trilha_deadline_passed(patience)) trilha_clock_sleep_ms(5);
  assert_true(atomic_load(&h->replaced) > before);
}

static void wait_for_message(destination *d, int64_t sequence) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (times_seen(d, "1", sequence) == 0 && !trilha_deadline_passed(patience)) trilha_clock_sleep_ms(5);
  assert_true(times_seen(d, "1", sequence) > 0);
}

/* Settled too: a lease that is open while the file is away has to run out first. */
static void wait_until_dispatched(const trilha_producer *p) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  char status[32] = "";
  while (strcmp(status, "Dispatched") != 0 && !trilha_deadline_passed(patience)) {
    status_of(p, "1", 1, status);
    trilha_clock_sleep_ms(5);
  }
  assert_string_equal(status, "Dispatched");
}

static void a_worker_whose_file_is_exchanged_waits_for_it_and_touches_no_other(void **state) {
  const trilha_fixture *f = *state;
  if (f->is_postgres) skip(); /* a file is SQLite's: the other test is PostgreSQL's */
  trilha_producer p = trilha_producer_open(f, true);
  static destination d = DESTINATION;
  static heard h;
  const char *path = f->url + strlen("sqlite:");
  char aside[600];
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(f, &transport, 1);
  trilha_relay *relay = NULL;
  pthread_t thread;
  snprintf(aside, sizeof aside, "%s.aside", path);
  options.once = false;
  options.outbox.diagnostics = (trilha_diagnostics){.emit = hear, .user = &h};
  CHECKED(trilha_relay_new(&options, &relay, error));
  assert_int_equal(pthread_create(&thread, NULL, run_relay, relay), 0);
  trilha_producer_say(&p, "acme", "1");
  wait_until_dispatched(&p);
  assert_int_equal(rename(path, aside), 0);
  wait_for_one_more(&h);
  fclose(fopen(path, "w")); /* another file under its name */
  wait_for_one_more(&h);
  wait_for_one_more(&h);
  FILE *other = fopen(path, "r");
  assert_non_null(other);
  assert_int_equal(fgetc(other), EOF); /* nothing was written there */
  fclose(other);
  assert_int_equal(rename(aside, path), 0);
  trilha_producer_say(&p, "acme", "1");
  wait_for_message(&d, 2);
  trilha_relay_stop(relay);
  pthread_join(thread, NULL);
  trilha_relay_free(relay);
  trilha_producer_close(&p);
}

static void let_go(destination *d) {
  pthread_mutex_lock(&d->lock);
  d->holds = false;
  pthread_mutex_unlock(&d->lock);
}

static void wait_until_sent_again(destination *d, int64_t sequence, size_t before) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (times_seen(d, "1", sequence) <= before && !trilha_deadline_passed(patience)) trilha_clock_sleep_ms(5);
  assert_true(times_seen(d, "1", sequence) > before);
}

/* What was sent and cannot be settled comes again when the lease has run out, and the lane goes on: a crash, a lost
 * database and a lost file are the same to it. */
static void a_lane_whose_file_went_away_before_its_settle_goes_on_after_its_lease(void **state) {
  const trilha_fixture *f = *state;
  if (f->is_postgres) skip();
  trilha_producer p = trilha_producer_open(f, true);
  static destination d = DESTINATION;
  static heard h;
  d.holds = true;
  const char *path = f->url + strlen("sqlite:");
  char aside[600];
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(f, &transport, 1);
  trilha_relay *relay = NULL;
  pthread_t thread;
  snprintf(aside, sizeof aside, "%s.aside", path);
  options.once = false;
  options.timeout_ms = options.margin_ms = 500;
  options.lease_ms = 2000;
  options.outbox.diagnostics = (trilha_diagnostics){.emit = hear, .user = &h};
  CHECKED(trilha_relay_new(&options, &relay, error));
  assert_int_equal(pthread_create(&thread, NULL, run_relay, relay), 0);
  trilha_producer_say(&p, "acme", "1");
  wait_for_message(&d, 1);
  assert_int_equal(rename(path, aside), 0); /* it is with the destination, under a lease */
  let_go(&d);
  wait_for_one_more(&h);
  fclose(fopen(path, "w")); /* another file under its name */
  wait_for_one_more(&h);
  wait_for_one_more(&h);
  assert_int_equal(rename(aside, path), 0);
  trilha_producer_say(&p, "acme", "1");
  wait_until_sent_again(&d, 1, 1);
  wait_for_message(&d, 2);
  trilha_relay_stop(relay);
  pthread_join(thread, NULL);
  trilha_relay_free(relay);
  trilha_producer_close(&p);
}

static void a_worker_whose_schema_is_taken_away_ends_and_says_what_is_missing(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip();
  trilha_producer p = trilha_producer_open(f, true);
  static destination d = DESTINATION;
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(f, &transport, 1);
  trilha_relay *relay = NULL;
  trilha_error why = {0};
  options.once = false;
  trilha_producer_say(&p, "acme", "1");
  trilha_producer_run(&p, "ALTER SCHEMA billing RENAME TO aside");
  CHECKED(trilha_relay_new(&options, &relay, error));
  assert_int_equal(trilha_relay_run(relay, &why), TRILHA_NOT_FOUND); /* it waits for nobody who may never come */
  assert_string_equal(why.code, "OUTBOX_NOT_INSTALLED");
  trilha_relay_free(relay);
  trilha_producer_run(&p, "ALTER SCHEMA aside RENAME TO billing");
  assert_int_equal(drain(f, &d, 1).sent, 1);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_worker_whose_file_is_exchanged_waits_for_it_and_touches_no_other),
      TEST(a_lane_whose_file_went_away_before_its_settle_goes_on_after_its_lease),
      TEST(a_worker_whose_schema_is_taken_away_ends_and_says_what_is_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
