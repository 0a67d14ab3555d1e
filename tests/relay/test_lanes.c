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
  const trilha_transport transport = {TRILHA_TEXT("everything"), meet, &m, .guarantee = TRILHA_GUARANTEE_DURABLE};
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
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
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
  const trilha_transport transport = {.destination = TRILHA_TEXT("everything"),
                                      .user = &g,
                                      .begin = knock,
                                      .capacity = room_behind,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
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

/* How the outbox tells of one lane and its destination. */
typedef struct told {
  int64_t ready, waiting, held;
  char because[80], of_lane[40], of_message[40], due[40], id[40];
} told;

static void keep(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

static trilha_status keep_standing(void *user, const trilha_outbox_standing *s) {
  told *t = user;
  t->ready = s->ready;
  t->waiting = s->waiting;
  t->held = s->held;
  keep(t->because, sizeof t->because, s->held_because);
  return TRILHA_OK;
}

static trilha_status keep_lane(void *user, const trilha_outbox_lane *lane) {
  told *t = user;
  keep(t->of_lane, sizeof t->of_lane, lane->held);
  keep(t->due, sizeof t->due, lane->due_at);
  keep(t->id, sizeof t->id, lane->message_id);
  return TRILHA_OK;
}

static trilha_status keep_entry(void *user, const trilha_outbox_entry *e) {
  told *t = user;
  keep(t->of_message, sizeof t->of_message, e->held);
  return TRILHA_OK;
}

static trilha_status keep_gauge(void *user, const trilha_outbox_gauge *g) {
  if (trilha_text_is(g->name, "held")) *(int64_t *)user = g->value;
  return TRILHA_OK;
}

static told look(trilha_outbox *outbox) {
  told t = {0};
  int64_t held = -1;
  CHECKED(trilha_outbox_status(outbox, keep_standing, &t, error));
  CHECKED(trilha_outbox_lanes(outbox, NULL, keep_lane, &t, error));
  if (t.id[0] != '\0') CHECKED(trilha_outbox_message(outbox, trilha_text_of(t.id), keep_entry, &t, error));
  CHECKED(trilha_outbox_gauges(outbox, keep_gauge, &held, error));
  assert_true(held >= 0);
  return t;
}

static told wait_for_held(trilha_outbox *outbox, int64_t held) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  told t = look(outbox);
  while (t.held != held && !trilha_deadline_passed(patience)) {
    trilha_clock_sleep_ms(20);
    t = look(outbox);
  }
  assert_int_equal(t.held, held);
  return t;
}

static size_t take_none(void *user, int64_t *ret_again_ms) {
  (void)user;
  *ret_again_ms = 20;
  return 0;
}

static const char *say_why(void *user) {
  return user;
}

static const char *say_nothing(void *user) {
  (void)user;
  return NULL;
}

static void refuse_to_be_called(void *user, const trilha_envelope *e, trilha_sending *sending) {
  (void)user;
  (void)e;
  (void)sending;
  fail_msg("a message went to a destination that takes none");
}

typedef struct running {
  trilha_relay *relay;
  pthread_t thread;
} running;

static running run_with(const trilha_fixture *f, const trilha_transport *transport) {
  running r;
  trilha_relay_options options = fast(f, transport, 1);
  options.once = false;
  CHECKED(trilha_relay_new(&options, &r.relay, error));
  assert_int_equal(pthread_create(&r.thread, NULL, run_relay, r.relay), 0);
  return r;
}

static void stop(running *r) {
  trilha_relay_stop(r->relay);
  pthread_join(r->thread, NULL);
  trilha_relay_free(r->relay);
}

static void lanes_that_every_worker_leaves_alone_are_held_and_told_why(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  static char why[] = "BREAKER_OPEN";
  static destination d = DESTINATION;
  const trilha_transport holding = {.destination = TRILHA_TEXT("everything"),
                                    .user = why,
                                    .begin = refuse_to_be_called,
                                    .capacity = take_none,
                                    .holding = say_why,
                                    .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_producer_say(&p, "acme", "1");
  told t = look(outbox);
  assert_true(t.ready == 1 && t.held == 0);
  running first = run_with(*state, &holding);
  t = wait_for_held(outbox, 1);
  assert_true(t.ready == 0 && t.waiting == 0);
  assert_string_equal(t.because, "BREAKER_OPEN");
  assert_string_equal(t.of_lane, "BREAKER_OPEN");
  assert_string_equal(t.of_message, "BREAKER_OPEN");
  const trilha_transport unheld = {.destination = TRILHA_TEXT("everything"),
                                   .begin = refuse_to_be_called,
                                   .capacity = take_none,
                                   .holding = say_nothing,
                                   .guarantee = TRILHA_GUARANTEE_DURABLE};
  running second = run_with(*state, &unheld);
  t = wait_for_held(outbox, 0); /* one worker that does not hold it is enough */
  assert_true(t.ready == 1 && t.of_lane[0] == '\0');
  stop(&second);
  (void)wait_for_held(outbox, 1);
  stop(&first); /* who is not there holds nothing */
  t = look(outbox);
  assert_true(t.ready == 1 && t.held == 0);
  drain(*state, &d, 1);
  assert_int_equal(d.count, 1);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void a_lane_that_is_put_aside_for_a_path_is_held_and_due_at_no_time(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  static destination d = DESTINATION;
  const trilha_outbox_path path = {.type_pattern = TRILHA_TEXT("*"),
                                   .holder = TRILHA_TEXT("old-relay"),
                                   .user = TRILHA_TEXT("ana"),
                                   .reason = TRILHA_TEXT("moving over")};
  trilha_producer_say(&p, "acme", "1");
  CHECKED(trilha_outbox_path_hold(outbox, &path, NULL, error));
  drain(*state, &d, 1);
  told t = look(outbox);
  assert_true(t.held == 1 && t.ready == 0 && t.waiting == 0 && d.count == 0);
  assert_string_equal(t.because, "PATH_HELD");
  assert_string_equal(t.of_lane, "PATH_HELD");
  assert_string_equal(t.of_message, "PATH_HELD");
  assert_string_equal(t.due, "");
  CHECKED(trilha_outbox_path_take(outbox, TRILHA_TEXT("*"), false, TRILHA_TEXT("ana"), TRILHA_TEXT("it is off"), NULL,
                                  error));
  t = look(outbox);
  assert_true(t.held == 0 && t.ready == 1);
  assert_string_equal(t.of_lane, "");
  trilha_outbox_close(outbox);
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
  const trilha_transport transport = {
      .destination = TRILHA_TEXT("everything"), .user = &times, .begin = later, .guarantee = TRILHA_GUARANTEE_DURABLE};
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
      TEST(lanes_that_every_worker_leaves_alone_are_held_and_told_why),
      TEST(a_lane_that_is_put_aside_for_a_path_is_held_and_due_at_no_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
