/* relay: lanes under way at once, destinations that hold their lanes or name a time (specification 001, rules 6 and 7;
 * field reports B01, B02, B10). */
#include <stdatomic.h>

#include "relay/destination.h"

/* Both of its lanes have to be under way at once, or neither is answered. */
typedef struct meeting {
  pthread_mutex_t lock;
  int64_t inside, together;
  char last[8][8]; /* key and sequence, in the order of answers */
  size_t answered;
} meeting;

static trilha_status meet(void *user, const trilha_envelope *e, trilha_error *error) {
  meeting *m = user;
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  pthread_mutex_lock(&m->lock);
  m->inside++;
  while (m->together < 2 && m->inside < 2 && !trilha_deadline_passed(patience)) {
    pthread_mutex_unlock(&m->lock);
    trilha_clock_sleep_ms(1);
    pthread_mutex_lock(&m->lock);
  }
  if (m->inside > m->together) m->together = m->inside;
  m->inside--;
  snprintf(m->last[m->answered++ % 8], sizeof m->last[0], "%.1s%lld", e->aggregate_key.data,
           (long long)e->aggregate_sequence);
  pthread_mutex_unlock(&m->lock);
  return TRILHA_OK;
}

static void lanes_of_one_worker_are_sent_at_once_and_each_in_its_order(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static meeting m = {.lock = PTHREAD_MUTEX_INITIALIZER};
  m.answered = 0;
  m.together = 0;
  for (int i = 0; i < 6; i++) trilha_producer_say(&p, "acme", i % 2 == 0 ? "a" : "b");
  const trilha_transport transport = {TRILHA_TEXT("everything"), meet, &m};
  assert_int_equal(drain_with(fast(*state, &transport, 1), 1).sent, 6);
  assert_int_equal(m.together, 2); /* two lanes, one message of each at a time */
  char last[2] = {'0', '0'};
  for (size_t i = 0; i < m.answered; i++) {
    char *of_lane = &last[m.last[i][0] == 'a' ? 0 : 1];
    assert_int_equal(m.last[i][1], ++*of_lane);
  }
  trilha_producer_close(&p);
}

static void a_slow_lane_holds_up_no_other_lane_not_even_of_a_later_claim(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  char key[8];
  d = (destination){.lock = PTHREAD_MUTEX_INITIALIZER, .holds = true};
  trilha_producer_say(&p, "acme", "slow");
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d};
  trilha_relay_options options = fast(*state, &transport, 1);
  options.once = false;
  options.lanes = 4;
  options.timeout_ms = 60000;
  options.lease_ms = 120000;
  trilha_relay *relay = NULL;
  pthread_t thread;
  CHECKED(trilha_relay_new(&options, &relay, error));
  assert_int_equal(pthread_create(&thread, NULL, run_relay, relay), 0);
  while (times_seen(&d, "slow", 0) == 0) trilha_clock_sleep_ms(1); /* it is inside, and stays there */
  for (int i = 0; i < 20; i++) {
    snprintf(key, sizeof key, "%d", i);
    trilha_producer_say(&p, "acme", key);
  }
  trilha_producer_say(&p, "acme", "slow");
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane") > 1 && !trilha_deadline_passed(patience))
    trilha_clock_sleep_ms(5);
  assert_int_equal(times_seen(&d, "19", 1), 1); /* five claims of four went by */
  assert_int_equal(times_seen(&d, "slow", 2), 0);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane"), 1);
  pthread_mutex_lock(&d.lock);
  d.holds = false;
  pthread_mutex_unlock(&d.lock);
  while (times_seen(&d, "slow", 2) == 0 && !trilha_deadline_passed(patience)) trilha_clock_sleep_ms(5);
  assert_int_equal(times_seen(&d, "slow", 2), 1);
  trilha_relay_stop(relay);
  pthread_join(thread, NULL);
  trilha_relay_free(relay);
  trilha_producer_close(&p);
}

/* A destination that takes nothing for a while: says so for the message under way, or is asked before. */
typedef struct gate {
  atomic_int closed_for; /* so many more questions */
  atomic_int begun, held;
} gate;

static size_t room_behind(void *user, int64_t *ret_again_ms) {
  gate *g = user;
  *ret_again_ms = 1;
  return atomic_load(&g->closed_for) > 0 && atomic_fetch_sub(&g->closed_for, 1) > 0 ? 0 : 1;
}

static void knock(void *user, const trilha_envelope *e, trilha_sending *sending) {
  gate *g = user;
  trilha_send_result result = {.status = TRILHA_OK};
  assert_int_equal(e->attempt, 1); /* what is held costs no attempt */
  if (atomic_fetch_add(&g->begun, 1) < 3) {
    result.status = TRILHA_UNAVAILABLE;
    result.held = true;
    atomic_fetch_add(&g->held, 1);
    atomic_store(&g->closed_for, 4);
  }
  trilha_sending_done(sending, &result);
}

static void a_destination_that_holds_its_lanes_uses_no_attempt_and_goes_on_in_order(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  gate g = {0};
  for (int i = 0; i < 5; i++) trilha_producer_say(&p, "acme", "1");
  const trilha_transport transport = {
      .destination = TRILHA_TEXT("everything"), .user = &g, .begin = knock, .capacity = room_behind};
  trilha_relay_options options = fast(*state, &transport, 1);
  options.attempts_max = 1; /* a failure would be the end */
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  int64_t sent = 0;
  while (sent < 5 && !trilha_deadline_passed(patience)) {
    trilha_relay_counts counts = drain_with(options, 1);
    assert_int_equal(counts.failed, 0);
    sent += counts.sent;
  }
  assert_int_equal(sent, 5);
  assert_int_equal(atomic_load(&g.held), 3);
  trilha_producer_close(&p);
}

static void later(void *user, const trilha_envelope *e, trilha_sending *sending) {
  trilha_send_result result = {.status = TRILHA_UNAVAILABLE, .retry_after_ms = 3600000};
  ++*(int *)user;
  (void)e;
  trilha_sending_done(sending, &result);
}

static void a_destination_that_names_a_time_is_not_tried_before(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  int times = 0;
  trilha_producer_say(&p, "acme", "1");
  const trilha_transport transport = {.destination = TRILHA_TEXT("everything"), .user = &times, .begin = later};
  drain_with(fast(*state, &transport, 1), 3); /* its own backoff would be a millisecond */
  assert_int_equal(times, 1);
  assert_status(&p, "1", 1, "Failed");
  assert_int_equal(
      trilha_producer_count(&p, p.pg != NULL
                                    ? "SELECT count(*) FROM {p}outbox_lane WHERE due_at > now() + interval '30 minutes'"
                                    : "SELECT count(*) FROM {p}outbox_lane WHERE due_us > 1000000 * "
                                      "(CAST(strftime('%s', 'now') AS INTEGER) + 1800)"),
      1);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(lanes_of_one_worker_are_sent_at_once_and_each_in_its_order),
      TEST(a_slow_lane_holds_up_no_other_lane_not_even_of_a_later_claim),
      TEST(a_destination_that_holds_its_lanes_uses_no_attempt_and_goes_on_in_order),
      TEST(a_destination_that_names_a_time_is_not_tried_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
