/* fault: the relay and the memory transport: killed at every fault point, and stopped past its lease and resumed
 * (specification 001, rules 5 to 7; requirement O7; reliability 3 and 6; field reports B08, B09).
 *
 * Whatever happens, each committed message has its effect exactly once and in the order of its aggregate, and who lost
 * a lease confirms nothing. The controls: effects without the inbox are repeated, a confirmation without the lease
 * loses a message; the checker must see both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fault/effects.h"
#include "fault/history.h"

#ifdef TRILHA_FAULT_POINTS

enum { PATH = 200, MESSAGES = 9 };

static const char *const points[] = {"relay.claim.after",    "relay.send.before",  "relay.send.after",
                                     "relay.settle.before",  "relay.settle.after", "reaction.commit.before",
                                     "reaction.commit.after"};
enum { POINTS = sizeof points / sizeof points[0] };

static trilha_producer begin(void **state, char path[PATH]) {
  const trilha_fixture *f = *state;
  snprintf(path, PATH, "%s/sent", f->folder);
  return effects_open(f);
}

/* --- killed ----------------------------------------------------------------------------------------------------------
 */

static void expect_killed(pid_t pid, const char *fault) {
  int status = fault_wait(pid);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
    fail_msg("%s: the worker did not come there: wait status %x", fault, (unsigned)status);
}

/* Without somebody else's lease in the way, so that a worker has something to do at once. */
static void end_leases(const trilha_producer *p) {
  trilha_producer_run(p, p->pg != NULL ? "UPDATE {p}outbox_lane SET due_at = clock_timestamp() WHERE state = 'L'"
                                       : "UPDATE {p}outbox_lane SET due_us = 1 WHERE state = 'L'");
}

static void drain(const trilha_producer *p, const char *path) {
  pid_t pid = effects_start_worker(p->f->url, path, "follow", NULL);
  bool drained = effects_wait(p);
  fault_kill(pid);
  assert_true(drained);
}

static void killed_at_every_fault_point_a_relay_loses_repeats_and_reorders_no_effect(void **state) {
  char path[PATH], fault[80];
  trilha_producer p = begin(state, path);
  int times = fault_times(1) > 1 ? 4 : 2;
  for (int i = 0; i < POINTS; i++)
    for (int time = 1; time <= times; time++) {
      effects_say(&p, MESSAGES);
      end_leases(&p);
      snprintf(fault, sizeof fault, "%s=kill:%d", points[i], 2 * time - 1);
      bool often = strstr(points[i], "claim") == NULL && strstr(points[i], "settle") == NULL;
      if (!often) snprintf(fault, sizeof fault, "%s=kill:1", points[i]);
      expect_killed(effects_start_worker(p.f->url, path, "once", fault), fault);
    }
  end_leases(&p);
  drain(&p, path);
  effects_expect_clean(&p, path);
  trilha_producer_close(&p);
}

/* A fault point that is added and not killed at would be forgotten. */
static void no_fault_point_of_the_relay_is_left_out(void **state) {
  const char *root = getenv("TRILHA_SOURCE_ROOT");
  char path[PATH + 100], line[400], name[80];
  (void)state;
  snprintf(path, sizeof path, "%s/docs/fault-points.md", root == NULL ? "." : root);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  size_t found = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "| `%79[a-z_.]`", name) != 1) continue;
    if (strncmp(name, "relay.", 6) != 0 && strncmp(name, "reaction.", 9) != 0) continue;
    bool known = false;
    for (int i = 0; i < POINTS; i++) known = known || strcmp(points[i], name) == 0;
    if (!known) fail_msg("no worker is killed at %s", name);
    found++;
  }
  fclose(file);
  assert_int_equal(found, POINTS);
}

static void control_effects_without_the_inbox_are_caught_repeating(void **state) {
  char path[PATH];
  trilha_producer p = begin(state, path);
  effects_say(&p, MESSAGES);
  expect_killed(effects_start_worker(p.f->url, path, "careless", "relay.settle.before=kill:1"), "careless");
  end_leases(&p);
  fault_expect_end(effects_start_worker(p.f->url, path, "careless", NULL));
  assert_true(effects_check(&p, path).repeated > 0);
  trilha_producer_close(&p);
}

/* --- stopped ---------------------------------------------------------------------------------------------------------
 */

static long long leases_lost(const char *path) {
  char line[120];
  long long lost = 0, last;
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "lost %lld", &last) == 1) lost += last;
  if (file != NULL) fclose(file);
  return lost;
}

static pid_t start_and_stop(const trilha_producer *p, const char *path, const char *fault) {
  int status = 0;
  pid_t pid = effects_start_worker(p->f->url, path, "once", fault);
  assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
  if (!WIFSTOPPED(status)) fail_msg("%s: the worker did not come there: wait status %x", fault, (unsigned)status);
  return pid;
}

/* While the holder stands still its lease runs out, somebody else delivers everything, and more is enqueued and
 * delivered; then the holder goes on. */
static void B09_a_holder_stopped_past_its_lease_confirms_and_sends_nothing_when_resumed(void **state) {
  static const char *const faults[] = {"relay.claim.after=pause:1", "relay.send.before=pause:2",
                                       "relay.send.after=pause:1", "relay.settle.before=pause:1"};
  enum { FAULTS = sizeof faults / sizeof faults[0] };
  char path[PATH];
  trilha_producer p = begin(state, path);
  for (int i = 0; i < FAULTS; i++) {
    effects_say(&p, MESSAGES);
    pid_t stopped = start_and_stop(&p, path, faults[i]);
    pid_t second = effects_start_worker(p.f->url, path, "follow", NULL);
    bool drained = effects_wait(&p);
    effects_say(&p, EFFECTS_KEYS);
    drained = drained && effects_wait(&p);
    effects_verdict before = effects_check(&p, path);
    long long lost = leases_lost(path);
    fault_kill(second);
    kill(stopped, SIGCONT);
    fault_expect_end(stopped);
    if (!drained) fail_msg("%s: nobody could take over", faults[i]);
    if (leases_lost(path) <= lost) fail_msg("%s: resumed, the holder did not learn that its lease was lost", faults[i]);
    /* What it had under way when it was stopped is handed over, and finds itself in the inbox; nothing after it. */
    effects_verdict after = effects_check(&p, path);
    assert_in_range(after.sent - before.sent, 0, 1);
  }
  effects_expect_clean(&p, path);
  trilha_producer_close(&p);
}

static void control_a_confirmation_without_the_lease_is_caught_losing(void **state) {
  char path[PATH];
  trilha_producer p = begin(state, path);
  effects_say(&p, MESSAGES);
  /* As one who was stopped and settles by the aggregate alone. */
  trilha_producer_run(
      &p,
      "UPDATE {p}outbox_lane SET head_sequence = head_sequence + 1 WHERE aggregate_id = (SELECT aggregate_id FROM "
      "{p}outbox_message WHERE aggregate_key = '0' AND aggregate_sequence = 1)");
  fault_expect_end(effects_start_worker(p.f->url, path, "careless", NULL));
  assert_true(effects_check(&p, path).lost > 0);
  assert_true(effects_check(&p, path).reordered > 0);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 6 && strcmp(argv[1], "--role") == 0) return effects_role_worker(argv[3], argv[4], argv[5], argv[6]);
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(killed_at_every_fault_point_a_relay_loses_repeats_and_reorders_no_effect),
      cmocka_unit_test(no_fault_point_of_the_relay_is_left_out),
      TEST(control_effects_without_the_inbox_are_caught_repeating),
      TEST(B09_a_holder_stopped_past_its_lease_confirms_and_sends_nothing_when_resumed),
      TEST(control_a_confirmation_without_the_lease_is_caught_losing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  puts("1..0 # SKIP needs a build with -Dfault_points=true");
  return 0;
}

#endif
