/* fault: publishers and a consumer killed at random moments under load (reliability 3 and 7; field report B07).
 *
 * Three publishing processes and one durable consumer; one of them at a time gets SIGKILL and is started again. Every
 * attempt and every answer stands in a file, so the checker knows what was acknowledged. The control acknowledges from
 * a buffer in memory, before the commit, and must be caught losing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fault/history.h"
#include "trilha/delivery.h"

enum { PUBLISHERS = 3, KILLS = 40, PAUSE_MS = 90, LEASE_MS = 3000, BUFFER = 20, PATH = 200 };

/* --- roles ----------------------------------------------------------------------------------------------------------
 */

static int role_publisher(const char *url, const char *keyring, const char *path, const char *seed_text) {
  unsigned seed = (unsigned)strtoul(seed_text, NULL, 10);
  int history = fault_open_history(path);
  trilha *handle = fault_open(url, keyring);
  for (;;) {
    trilha_error err = {0};
    if (fault_publish(handle, history, 1 + fault_draw(&seed, FAULT_BATCH_MAX), &err) != TRILHA_OK) {
      fprintf(stderr, "# publish: %s %s\n", err.code, err.text);
      return 4;
    }
  }
}

/* The control: says yes at once, keeps the events in memory and publishes them a score at a time. */
static int role_hasty(const char *url, const char *keyring, const char *path) {
  int history = fault_open_history(path);
  trilha *handle = fault_open(url, keyring);
  for (;;) {
    char ids[BUFFER][TRILHA_UUID_TEXT_SIZE];
    for (int i = 0; i < BUFFER; i++) {
      unsigned char id[16];
      if (!trilha_uuid_v4(id)) return 8;
      trilha_uuid_format(id, ids[i]);
      fault_write(history, "try %s 0\nack %s 1\n", ids[i], ids[i]);
    }
    for (int i = 0; i < BUFFER; i++) {
      trilha_publication p = {.tipo = TRILHA_TEXT("teste.a"),
                              .origem = TRILHA_TEXT("D-1a"),
                              .payload = TRILHA_TEXT("{\"n\":1}"),
                              .event_id = trilha_text_of(ids[i])};
      trilha_publish_result r;
      if (trilha_publish(handle, &p, &r, NULL) != TRILHA_OK) return 4;
      trilha_publish_result_done(&r);
    }
  }
}

static trilha_status note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)delivery;
  fault_write(*(const int *)user, "%lld\n", (long long)event->sequence_number);
  return TRILHA_OK;
}

static int role_consumer(const char *url, const char *path, const char *once) {
  int fd = fault_open_history(path);
  return fault_consume(fault_open(url, NULL), note, &fd, LEASE_MS, strcmp(once, "once") == 0);
}

/* --- the run
 * ---------------------------------------------------------------------------------------------------------- */

typedef struct run {
  trilha_fixture *f;
  char publisher_paths[PUBLISHERS][PATH], seen_path[PATH];
  pid_t publishers[PUBLISHERS], consumer;
  unsigned seed;
  int publisher_kills, consumer_kills;
} run;

static void start_publisher(run *r, int i) {
  char seed[16];
  snprintf(seed, sizeof seed, "%u", fault_draw(&r->seed, 1u << 30));
  const char *words[] = {"publisher", r->f->url, r->f->keyring, r->publisher_paths[i], seed, NULL};
  r->publishers[i] = fault_start(words, NULL);
}

static void start_consumer(run *r, const char *how) {
  const char *words[] = {"consumer", r->f->url, r->seen_path, how, NULL};
  r->consumer = fault_start(words, NULL);
}

static void start_all(run *r) {
  trilha_fixture_register(r->f->handle, "teste.a", "1.0.0", trilha_test_schema);
  snprintf(r->seen_path, PATH, "%s/seen", r->f->folder);
  for (int i = 0; i < PUBLISHERS; i++) {
    snprintf(r->publisher_paths[i], PATH, "%s/publisher-%d", r->f->folder, i);
    start_publisher(r, i);
  }
  start_consumer(r, "follow");
  for (int i = 0; i < PUBLISHERS; i++) fault_wait_for_lines(r->publisher_paths[i], 2, 60);
  fault_wait_for_lines(r->seen_path, 1, 60);
}

/* One in eight kills is the consumer's: each makes the next one wait for the lease. */
static void kill_one(run *r) {
  trilha_clock_sleep_ms(1 + fault_draw(&r->seed, PAUSE_MS));
  if (fault_draw(&r->seed, 8) == 0) {
    fault_kill(r->consumer);
    r->consumer_kills++;
    start_consumer(r, "follow");
    return;
  }
  int i = (int)fault_draw(&r->seed, PUBLISHERS);
  fault_kill(r->publishers[i]);
  r->publisher_kills++;
  start_publisher(r, i);
}

static fault_history read_all(const run *r) {
  fault_history h = {0};
  for (int i = 0; i < PUBLISHERS; i++) fault_history_read(&h, r->publisher_paths[i]);
  return h;
}

static size_t unanswered(const fault_history *h) {
  size_t count = 0;
  for (size_t i = 0; i < h->count; i++) count += h->attempts[i].sequence == 0;
  return count;
}

static void what_was_acknowledged_is_there_once_and_in_order_whoever_is_killed(void **state) {
  run r = {.f = *state, .seed = fault_seed()};
  start_all(&r);
  for (int i = 0; i < fault_times(KILLS); i++) kill_one(&r);
  for (int i = 0; i < PUBLISHERS; i++) fault_kill(r.publishers[i]);
  fault_kill(r.consumer);
  fault_history h = read_all(&r);
  fault_verdict before = fault_check(&h, r.f->handle);
  fault_expect_clean(&before);
  size_t open = unanswered(&h);
  fault_resolve(r.f->handle, &h);
  fault_verdict after = fault_check(&h, r.f->handle);
  fault_expect_clean(&after);
  assert_int_equal(after.stored, h.count); /* what was repeated is there too, and once */
  start_consumer(&r, "once");
  fault_expect_end(r.consumer);
  fault_deliveries d = fault_check_deliveries(r.seen_path, r.f->handle);
  printf(
      "# %d publishers and %d consumers killed; %zu events, %zu attempts without an answer; %zu of %zu deliveries "
      "repeated\n",
      r.publisher_kills + PUBLISHERS, r.consumer_kills + 1, after.stored, open, d.repeats, d.count);
  assert_int_equal(d.missing, 0);
  assert_int_equal(d.foreign, 0);
  assert_int_equal(d.backwards, 0);
  assert_in_range(d.repeats, 0, r.consumer_kills + 1);
  fault_history_done(&h);
}

/* --- controls
 * --------------------------------------------------------------------------------------------------------- */

static void control_an_acknowledgement_before_the_commit_is_caught_losing(void **state) {
  trilha_fixture *f = *state;
  unsigned seed = fault_seed();
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  char path[PATH];
  snprintf(path, sizeof path, "%s/hasty", f->folder);
  const char *words[] = {"hasty", f->url, f->keyring, path, NULL};
  size_t lost = 0;
  for (int i = 0; i < 10 && lost == 0; i++) {
    pid_t pid = fault_start(words, NULL);
    fault_wait_for_lines(path, (size_t)(i + 1) * 2 * BUFFER, 60);
    trilha_clock_sleep_ms(fault_draw(&seed, 20));
    fault_kill(pid);
    fault_history h = {0};
    fault_history_read(&h, path);
    lost = fault_check(&h, f->handle).lost;
    fault_history_done(&h);
  }
  assert_true(lost > 0);
}

/* Three published events, in the order of the log. */
static fault_history three_events(trilha_fixture *f, const char *path) {
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_error err = {0};
  assert_int_equal(fault_publish(f->handle, fault_open_history(path), 3, &err), TRILHA_OK);
  fault_history h = {0};
  fault_history_read(&h, path);
  fault_verdict v = fault_check(&h, f->handle);
  fault_expect_clean(&v);
  return h;
}

static void control_the_checker_sees_each_way_a_history_can_be_wrong(void **state) {
  trilha_fixture *f = *state;
  char path[PATH];
  snprintf(path, sizeof path, "%s/three", f->folder);
  fault_history h = three_events(f, path);
  int64_t first = h.attempts[0].sequence;
  h.attempts[0].sequence = h.attempts[2].sequence + 1;
  fault_verdict v = fault_check(&h, f->handle);
  assert_int_equal(v.moved, 1);
  assert_int_equal(v.disordered, 1);
  h.attempts[0].sequence = 0;
  h.attempts[0].refused = true;
  assert_int_equal(fault_check(&h, f->handle).betrayed, 1);
  h.attempts[0] = (fault_attempt){.id = "00000000-0000-4000-8000-000000000000", .sequence = first};
  v = fault_check(&h, f->handle);
  assert_int_equal(v.lost, 1);
  assert_int_equal(v.foreign, 1);
  fault_history_done(&h);
}

static void control_the_checker_sees_a_gap_a_repeat_and_a_step_back_in_deliveries(void **state) {
  trilha_fixture *f = *state;
  char path[PATH];
  snprintf(path, sizeof path, "%s/three", f->folder);
  fault_history h = three_events(f, path);
  snprintf(path, sizeof path, "%s/delivered", f->folder);
  int fd = fault_open_history(path);
  fault_write(fd, "%lld\n%lld\n%lld\n%lld\n", (long long)h.attempts[2].sequence, (long long)h.attempts[0].sequence,
              (long long)h.attempts[0].sequence, (long long)h.attempts[2].sequence + 1);
  fault_deliveries d = fault_check_deliveries(path, f->handle);
  assert_int_equal(d.missing, 1);
  assert_int_equal(d.repeats, 1);
  assert_int_equal(d.backwards, 1);
  assert_int_equal(d.foreign, 1);
  close(fd);
  fault_history_done(&h);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 5 && strcmp(argv[1], "--role") == 0) {
    if (strcmp(argv[2], "consumer") == 0) return role_consumer(argv[3], argv[4], argv[5]);
    if (strcmp(argv[2], "hasty") == 0) return role_hasty(argv[3], argv[4], argv[5]);
    return argc > 6 ? role_publisher(argv[3], argv[4], argv[5], argv[6]) : 2;
  }
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(what_was_acknowledged_is_there_once_and_in_order_whoever_is_killed),
      ON_A_FRESH_STORE(control_an_acknowledgement_before_the_commit_is_caught_losing),
      ON_A_FRESH_STORE(control_the_checker_sees_each_way_a_history_can_be_wrong),
      ON_A_FRESH_STORE(control_the_checker_sees_a_gap_a_repeat_and_a_step_back_in_deliveries),
  };
  return cmocka_run_group_tests_name("kill", tests, NULL, NULL);
}
