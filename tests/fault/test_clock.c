/* fault: the wall clock of this process is stepped by an hour, back and forth, while events are published, consumed and
 * relayed. Leases of consumers do not hang on it; lanes of an outbox on SQLite do, and what that costs is bounded by
 * the step. The clock is stepped by --wrap=clock_gettime, so that no other process sees it. */
#include <stdatomic.h>
#include <time.h>

#include "conformance/publishing.h"
#include "relay/destination.h"
#include "trilha/delivery.h"

enum { HOUR_S = 3600, EVENTS = 120, STEP_EVERY = 10, LEASE_MS = 60000, PATIENT_MS = 120000 };

static atomic_llong offset_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
  int failed = __real_clock_gettime(clock, ret);
  if (failed == 0 && clock == CLOCK_REALTIME) ret->tv_sec += (time_t)atomic_load(&offset_s);
  return failed;
}

static void step_to(long long seconds) {
  atomic_store(&offset_s, seconds);
}

/* The control: without it every test below would pass on a clock that stands. */
static void the_wall_clock_is_stepped_and_the_others_are_not(void **state) {
  (void)state;
  int64_t wall = trilha_clock_wall_us(), boot = trilha_clock_boot_us(), monotonic = trilha_clock_monotonic_ns();
  step_to(HOUR_S);
  assert_true(trilha_clock_wall_us() - wall >= INT64_C(3600) * 1000000);
  assert_true(trilha_clock_boot_us() - boot < INT64_C(3600) * 1000000);
  assert_true(trilha_clock_monotonic_ns() - monotonic < INT64_C(3600) * 1000000000);
  step_to(0);
}

/* --- consumers --------------------------------------------------------------------------------------------------- */

typedef struct follower {
  trilha_consumer *consumer;
  pthread_t thread;
  _Atomic int64_t count, last;
  _Atomic bool disordered;
} follower;

static trilha_status follow(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)delivery;
  follower *f = user;
  if (event->sequence_number <= f->last) f->disordered = true;
  f->last = event->sequence_number;
  f->count++;
  return TRILHA_OK;
}

static void *run_follower(void *user) {
  follower *f = user;
  CHECKED(trilha_consumer_run(f->consumer, error));
  return NULL;
}

static void start(trilha *handle, follower *f) {
  static const trilha_text types[] = {{"teste.a", 7}};
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = types,
                                     .type_count = 1,
                                     .handler = follow,
                                     .user = f,
                                     .from = TRILHA_FROM_START,
                                     .lease_ms = LEASE_MS};
  CHECKED(trilha_consumer_new(handle, &options, &f->consumer, error));
  assert_int_equal(pthread_create(&f->thread, NULL, run_follower, f), 0);
}

static void stop(follower *f) {
  trilha_consumer_stop(f->consumer);
  pthread_join(f->thread, NULL);
  trilha_consumer_free(f->consumer);
}

static void wait_for(const follower *f, int64_t count) {
  for (int waited = 0; f->count < count && waited < PATIENT_MS; waited++) trilha_clock_sleep_ms(1);
  assert_int_equal(f->count, count);
}

static void a_stepped_clock_loses_nothing_and_hands_no_consumer_s_lease_on(void **state) {
  static const long long steps[] = {0, HOUR_S, -HOUR_S, 0, -HOUR_S, HOUR_S};
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha *other = trilha_fixture_open(f, f->keyring);
  follower holder = {0}, standby = {0};
  assert_int_equal(publish_number(f->handle, "teste.a", 0), 1);
  start(f->handle, &holder);
  wait_for(&holder, 1);
  start(other, &standby);
  for (int i = 1; i < EVENTS; i++) {
    if (i % STEP_EVERY == 0) step_to(steps[i / STEP_EVERY % 6]);
    assert_int_equal(publish_number(f->handle, "teste.a", i), i + 1);
  }
  wait_for(&holder, EVENTS);
  assert_int_equal(standby.count, 0);
  /* A lease that is given back is taken at once, however far back the clock went since it was written. */
  step_to(-HOUR_S);
  stop(&holder);
  publish_number(f->handle, "teste.a", EVENTS);
  wait_for(&standby, 1);
  stop(&standby);
  assert_false(holder.disordered);
  assert_int_equal(standby.last, EVENTS + 1);
  assert_int_equal(cursor_of(f, "teste.a"), EVENTS + 1);
  assert_int_equal(count_letters_with(f->handle, NULL), 0);
  trilha_close(other);
  step_to(0);
}

/* --- a relay ------------------------------------------------------------------------------------------------------ */

static void say(const trilha_producer *p, int rounds) {
  for (int i = 0; i < rounds; i++) {
    trilha_producer_say(p, "t", "a");
    trilha_producer_say(p, "t", "b");
  }
}

static void assert_each_once_and_in_order(const destination *d, const char *key, int64_t count) {
  int64_t next = 1;
  for (size_t i = 0; i < d->count; i++) {
    if (strcmp(d->items[i].key, key) == 0) assert_int_equal(d->items[i].sequence, next++);
  }
  assert_int_equal(next, count + 1);
}

/* A lane is due by the wall clock: set back, it waits for as long as the step was; nothing is lost, repeated or passed.
 */
static void a_stepped_clock_delays_a_lane_by_no_more_than_the_step(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  destination d = DESTINATION;
  say(&p, 3);
  step_to(HOUR_S);
  drain(f, &d, 3);
  assert_int_equal(d.count, 6);
  say(&p, 3);
  step_to(0);
  say(&p, 2);
  drain(f, &d, 3);
  step_to(HOUR_S);
  drain(f, &d, 3);
  assert_int_equal(d.count, 16);
  assert_each_once_and_in_order(&d, "a", 8);
  assert_each_once_and_in_order(&d, "b", 8);
  trilha_producer_close(&p);
  step_to(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_wall_clock_is_stepped_and_the_others_are_not),
      TEST(a_stepped_clock_loses_nothing_and_hands_no_consumer_s_lease_on),
      TEST(a_stepped_clock_delays_a_lane_by_no_more_than_the_step),
  };
  return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
