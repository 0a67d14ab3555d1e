/* relay: workers killed between every two durable steps and at random moments; what was committed is applied exactly
 * once and in order (specification 001, rules 5 to 7; reliability 3; field reports B05, B08). The fault points need
 * -Dfault_points=true. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "outbox/producer.h"
#include "support/own_program.h"
#include "trilha/relay.h"

extern char **environ;

enum { KEYS = 3, MESSAGES = 24, ROUNDS = 10, PATIENCE_MS = 120000, HELD_STATUS = 8, BROKEN_STATUS = 9 };

/* --- the worker, a process of its own
 * ------------------------------------------------------------------------------------- */

/* A consumer: inbox and effect in one transaction. A message that comes before its time would be held: the relay has
 * broken the order. */
static trilha_status apply(void *user, const trilha_envelope *e, trilha_error *error) {
  trilha_producer *p = user;
  char sql[256];
  trilha_inbox_answer answer = {0};
  const trilha_inbox_message message = {.tenant_id = e->tenant_id,
                                        .consumer = TRILHA_TEXT("estoque"),
                                        .message_id = e->message_id,
                                        .payload = e->payload,
                                        .aggregate_type = e->aggregate_type,
                                        .aggregate_key = e->aggregate_key,
                                        .aggregate_sequence = e->aggregate_sequence,
                                        .previous_sequence = e->previous_sequence};
  trilha_producer_run(p, p->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  trilha_status status = trilha_producer_accept(p, &message, &answer, error);
  if (status == TRILHA_OK && answer.outcome == TRILHA_INBOX_HELD) _exit(HELD_STATUS);
  if (status == TRILHA_OK && answer.outcome == TRILHA_INBOX_CONFLICT) _exit(BROKEN_STATUS);
  if (status == TRILHA_OK && answer.outcome == TRILHA_INBOX_NEW) {
    snprintf(sql, sizeof sql, "INSERT INTO applied (key, sequence) VALUES ('%.*s', %lld)", (int)e->aggregate_key.size,
             e->aggregate_key.data, (long long)e->aggregate_sequence);
    trilha_producer_run(p, sql);
  }
  trilha_free(answer.result);
  trilha_producer_run(p, status == TRILHA_OK ? "COMMIT" : "ROLLBACK");
  return status;
}

static int role_worker(const char *url) {
  trilha_fixture f = {.is_postgres = strncmp(url, "postgres", 8) == 0};
  snprintf(f.url, sizeof f.url, "%s", url);
  trilha_producer p = trilha_producer_open(&f, false);
  const trilha_transport transport = {TRILHA_TEXT("everything"), apply, &p, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE}; /* one connection */
  const trilha_relay_options options = {.outbox = trilha_producer_options(&f),
                                        .transports = &transport,
                                        .transport_count = 1,
                                        .run = 4,
                                        .lease_ms = 20000, /* a dead worker's is ended by the test */
                                        .timeout_ms = 200,
                                        .margin_ms = 100,
                                        .backoff_ms = 1,
                                        .backoff_max_ms = 1,
                                        .attempts_max = 1000, /* a kill is no fault of the message */
                                        .scan_ms = 20};
  trilha_relay *relay = NULL;
  trilha_error err = {0};
  if (trilha_relay_new(&options, &relay, &err) != TRILHA_OK || trilha_relay_run(relay, &err) != TRILHA_OK) {
    fprintf(stderr, "# worker: %s: %s\n", err.code, err.text);
    return BROKEN_STATUS;
  }
  return 0;
}

static pid_t start_worker(const trilha_fixture *f, const char *fault) {
  char *argv[] = {trilha_own_program(), (char *)(uintptr_t) "--role", (char *)(uintptr_t) "worker",
                  (char *)(uintptr_t)f->url, NULL};
  pid_t pid = 0;
  if (fault != NULL) setenv("TRILHA_FAULT", fault, 1);
  assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
  unsetenv("TRILHA_FAULT");
  return pid;
}

/* Dead by SIGKILL, its own or ours: never because it saw the order broken. */
static void bury(pid_t pid) {
  int ended = 0;
  assert_int_equal(waitpid(pid, &ended, 0), pid);
  if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGKILL)
    fail_msg("a worker ended with %s",
             WIFEXITED(ended) && WEXITSTATUS(ended) == HELD_STATUS ? "a message before its time" : "an error");
}

/* What the dead held ends now: waiting for it would be the test's time. */
static void end_leases(const trilha_producer *p, pid_t pid) {
  char sql[200];
  snprintf(
      sql, sizeof sql,
      p->pg != NULL
          ? "UPDATE {p}outbox_lane SET due_at = clock_timestamp() WHERE state = 'L' AND lease_owner LIKE '%%:%ld:%%'"
          : "UPDATE {p}outbox_lane SET due_us = 1 WHERE state = 'L' AND lease_owner LIKE '%%:%ld:%%'",
      (long)pid);
  trilha_producer_run(p, sql);
}

static void kill_worker(const trilha_producer *p, pid_t pid) {
  kill(pid, SIGKILL);
  bury(pid);
  end_leases(p, pid);
}

#ifdef TRILHA_FAULT_POINTS
/* It dies by itself, or the test hangs and fails by its time-out. */
static void let_die(const trilha_producer *p, const char *fault) {
  pid_t pid = start_worker(p->f, fault);
  bury(pid);
  end_leases(p, pid);
}
#endif

/* --- the history checker
 * ---------------------------------------------------------------------------------------------------- */

static trilha_producer begin(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_producer_run(
      &p, p.pg != NULL ? "CREATE TABLE applied (n bigserial PRIMARY KEY, key text NOT NULL, sequence bigint NOT NULL)"
                       : "CREATE TABLE applied (n INTEGER PRIMARY KEY, key TEXT NOT NULL, sequence INTEGER NOT NULL)");
  return p;
}

static void say_some(const trilha_producer *p, int count) {
  char key[8];
  for (int i = 0; i < count; i++) {
    snprintf(key, sizeof key, "%d", i % KEYS);
    trilha_producer_say(p, "acme", key);
  }
}

static bool all_applied(const trilha_producer *p) {
  return trilha_producer_count(p, "SELECT count(*) FROM applied") >=
         trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_message");
}

static bool history_is_right(const trilha_producer *p) {
  /* n is the order in which effects were written within an aggregate: each waits for the one before it. */
  return trilha_producer_count(p,
                               "SELECT count(*) FROM {p}outbox_message m WHERE (SELECT count(*) FROM applied a "
                               "WHERE a.key = m.aggregate_key AND a.sequence = m.aggregate_sequence) <> 1") == 0 &&
         trilha_producer_count(p,
                               "SELECT count(*) FROM applied a JOIN applied b ON a.key = b.key AND a.n < b.n AND "
                               "a.sequence >= b.sequence") == 0;
}

static void finish(trilha_producer *p) {
  pid_t pid = start_worker(p->f, NULL);
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (!all_applied(p) && !trilha_deadline_passed(patience)) trilha_clock_sleep_ms(20);
  while (trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_lane") > 0 && !trilha_deadline_passed(patience))
    trilha_clock_sleep_ms(20);
  kill_worker(p, pid);
  assert_true(history_is_right(p));
  assert_int_equal(trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_lane"), 0);
  assert_int_equal(trilha_producer_count(p, "SELECT count(*) FROM {p}producer_outbox WHERE status <> 'Dispatched'"), 0);
}

/* --- tests
 * ------------------------------------------------------------------------------------------------------------------------
 */

#ifdef TRILHA_FAULT_POINTS
static void a_worker_killed_between_any_two_steps_loses_repeats_and_reorders_no_effect(void **state) {
  static const char *const faults[] = {"relay.claim.after=kill:1",   "relay.claim.after=kill:2",
                                       "relay.send.before=kill:3",   "relay.send.after=kill:1",
                                       "relay.send.after=kill:5",    "relay.settle.before=kill:1",
                                       "relay.settle.before=kill:2", "relay.settle.after=kill:1"};
  const trilha_fixture *f = *state;
  trilha_producer p = begin(state);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    say_some(&p, MESSAGES);
    let_die(&p, faults[i]);
  }
  let_die(&p, f->is_postgres ? "postgres.exchange.after_answer=kill:9" : "sqlite.write.after_commit=kill:3");
  let_die(&p, f->is_postgres ? "postgres.exchange.before_send=kill:9" : "sqlite.write.before_commit=kill:3");
  finish(&p);
  trilha_producer_close(&p);
}
#endif

static void workers_killed_at_random_moments_lose_repeat_and_reorder_no_effect(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = begin(state);
  unsigned seed = (unsigned)trilha_clock_wall_us();
  printf("# seed %u\n", seed);
  pid_t workers[2] = {start_worker(f, NULL), start_worker(f, NULL)};
  for (int i = 0; i < ROUNDS; i++) {
    say_some(&p, MESSAGES / 2);
    trilha_clock_sleep_ms(rand_r(&seed) % 60);
    kill_worker(&p, workers[i % 2]);
    workers[i % 2] = start_worker(f, NULL);
  }
  finish(&p);
  kill_worker(&p, workers[0]);
  kill_worker(&p, workers[1]);
  trilha_producer_close(&p);
}

/* The control: effects that are lost, repeated or out of order must be seen. */
static void the_history_checker_catches_what_is_lost_repeated_or_reordered(void **state) {
  trilha_producer p = begin(state);
  say_some(&p, 2 * KEYS);
  assert_false(history_is_right(&p)); /* lost */
  trilha_producer_run(
      &p,
      "INSERT INTO applied (key, sequence) SELECT aggregate_key, aggregate_sequence FROM {p}outbox_message ORDER BY 2");
  assert_true(history_is_right(&p));
  trilha_producer_run(&p, "INSERT INTO applied (key, sequence) VALUES ('0', 2)");
  assert_false(history_is_right(&p)); /* repeated */
  trilha_producer_run(&p, "DELETE FROM applied");
  trilha_producer_run(&p,
                      "INSERT INTO applied (key, sequence) SELECT aggregate_key, aggregate_sequence FROM "
                      "{p}outbox_message ORDER BY 2 DESC");
  assert_false(history_is_right(&p)); /* reordered */
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 3 && strcmp(argv[1], "--role") == 0) return role_worker(argv[3]);
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
#ifdef TRILHA_FAULT_POINTS
      TEST(a_worker_killed_between_any_two_steps_loses_repeats_and_reorders_no_effect),
#endif
      TEST(workers_killed_at_random_moments_lose_repeat_and_reorder_no_effect),
      TEST(the_history_checker_catches_what_is_lost_repeated_or_reordered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
