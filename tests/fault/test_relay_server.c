/* fault: the database under the relay: its server killed and started again, the relay's connection cut between a send
 * and its settlement (specification 001, rules 5 and 7; reliability 4 and 5; field report B07).
 *
 * A producer goes on through it and notes what was committed; effects go through the inbox. The control is a producer
 * that takes a failed commit for a success: the checker must miss its messages. */
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
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/effects.h"
#include "fault/history.h"
#include "fault/server.h"
#include "trilha/reaction.h"
#include "trilha/relay.h"

enum { CRASHES = 2, WORKERS = 2, PATH = 200, CUTS = 8, PATIENCE_MS = 120000, LINES = 20, SECONDS = 60 };

static bool run(PGconn *pg, const char *sql) {
  PGresult *result = PQexec(pg, sql);
  ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  return status == PGRES_COMMAND_OK;
}

/* --- the server killed
 * ------------------------------------------------------------------------------------------------ */

typedef struct stage {
  char produced[PATH], sent[PATH];
  pid_t producer, workers[WORKERS];
  unsigned seed;
} stage;

static trilha_producer reconnected(trilha_producer *p) {
  const trilha_fixture *f = p->f;
  trilha_producer_close(p);
  return trilha_producer_open(f, false);
}

static stage start(const trilha_producer *p, const char *how) {
  stage s = {.seed = fault_seed()};
  snprintf(s.produced, PATH, "%s/produced", p->f->folder);
  snprintf(s.sent, PATH, "%s/sent", p->f->folder);
  const char *words[] = {"producer", p->f->url, s.produced, how, NULL};
  s.producer = fault_start(words, NULL);
  for (int i = 0; i < WORKERS; i++) s.workers[i] = effects_start_worker(p->f->url, s.sent, "follow", NULL);
  fault_wait_for_lines(s.produced, LINES, SECONDS);
  fault_wait_for_lines(s.sent, LINES, SECONDS);
  return s;
}

/* None of them has ended by itself. */
static void end_workers(stage *s) {
  for (int i = 0; i < WORKERS; i++) {
    kill(s->workers[i], SIGKILL);
    int status = fault_wait(s->workers[i]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
}

static void crash(stage *s) {
  trilha_clock_sleep_ms(50 + fault_draw(&s->seed, 300));
  fault_server_expect("crash");
  trilha_clock_sleep_ms(fault_draw(&s->seed, 200));
  fault_server_expect("resume");
}

static void B07_a_server_killed_under_relay_and_producer_loses_repeats_and_reorders_no_effect(void **state) {
  trilha_producer p = effects_open(*state);
  stage s = start(&p, "careful");
  for (int i = 0; i < fault_times(CRASHES); i++) {
    crash(&s);
    fault_wait_for_lines(s.produced, fault_lines(s.produced) + LINES, SECONDS); /* all of them live on */
    fault_wait_for_lines(s.sent, fault_lines(s.sent) + LINES, SECONDS);
  }
  fault_kill(s.producer);
  p = reconnected(&p);
  bool drained = effects_wait(&p);
  end_workers(&s);
  assert_true(drained);
  printf("# %zu messages noted as committed\n", fault_lines(s.produced));
  assert_int_equal(effects_missing(&p, s.produced), 0);
  effects_expect_clean(&p, s.sent);
  trilha_producer_close(&p);
}

static void control_a_producer_that_takes_a_failed_commit_for_a_success_is_caught(void **state) {
  trilha_producer p = effects_open(*state);
  stage s = start(&p, "trusting");
  crash(&s);
  fault_wait_for_lines(s.produced, fault_lines(s.produced) + LINES, SECONDS);
  fault_kill(s.producer);
  end_workers(&s);
  p = reconnected(&p);
  assert_true(effects_missing(&p, s.produced) > 0);
  trilha_producer_close(&p);
}

/* --- the wire cut between a send and its settlement
 * ------------------------------------------------------------------- */

typedef struct cutter {
  trilha_transport inner;
  relay *wire;
  atomic_int sends, cuts;
} cutter;

/* What the relay says to its database next, the settlement or the renewal before the next send, is cut off: before the
 * server has it, or its answer. */
static trilha_status send_and_cut(void *user, const trilha_envelope *e, trilha_error *error) {
  cutter *c = user;
  trilha_status status = c->inner.send(c->inner.user, e, error);
  if (atomic_fetch_add(&c->sends, 1) % 3 == 0 && atomic_load(&c->cuts) < CUTS)
    relay_set(c->wire, atomic_fetch_add(&c->cuts, 1) % 2 == 0 ? RELAY_CUT_REQUEST : RELAY_CUT_ANSWER);
  return status;
}

static trilha_status write_effect(void *user, const trilha_envelope *e, trilha_reaction_call *call,
                                  trilha_error *error) {
  char sql[200];
  (void)user;
  snprintf(sql, sizeof sql, "INSERT INTO applied (key, sequence) VALUES ('%.*s', %lld)", (int)e->aggregate_key.size,
           e->aggregate_key.data, (long long)e->aggregate_sequence);
  return run(trilha_reaction_postgres(call), sql) ? TRILHA_OK : (error->status = TRILHA_UNAVAILABLE);
}

static void *run_relay(void *user) {
  trilha_error err = {0};
  if (trilha_relay_run(user, &err) != TRILHA_OK) fprintf(stderr, "# %s: %s\n", err.code, err.text);
  return NULL;
}

static void a_connection_cut_between_send_and_settlement_loses_repeats_and_reorders_no_effect(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = effects_open(f);
  trilha_fixture behind = *f;
  cutter c = {.wire = fault_server_wire(f->url, behind.url, sizeof behind.url)};
  const trilha_reaction_options reacting = {
      .inbox = trilha_producer_options(f), .react = write_effect, .ordered = true};
  trilha_reaction *reaction = NULL;
  trilha_relay *deliverer = NULL;
  pthread_t thread;
  assert_int_equal(trilha_reaction_new(&reacting, &reaction, NULL), TRILHA_OK);
  c.inner = trilha_reaction_transport(reaction, TRILHA_TEXT("everything"));
  const trilha_transport transport = {TRILHA_TEXT("everything"), send_and_cut, &c, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  const trilha_relay_options options = effects_relay_options(&behind, &transport);
  effects_say(&p, 3 * CUTS);
  assert_int_equal(trilha_relay_new(&options, &deliverer, NULL), TRILHA_OK);
  assert_int_equal(pthread_create(&thread, NULL, run_relay, deliverer), 0);
  bool drained = effects_wait(&p);
  trilha_relay_stop(deliverer);
  pthread_join(thread, NULL);
  trilha_reaction_counts counts;
  trilha_reaction_counted(reaction, &counts);
  printf("# %d sends, %d cuts, %lld effects, %lld repeats that the inbox knew\n", atomic_load(&c.sends),
         atomic_load(&c.cuts), (long long)counts.effects, (long long)counts.duplicates);
  trilha_relay_free(deliverer);
  trilha_reaction_free(reaction);
  relay_stop(c.wire);
  assert_true(drained);
  assert_int_equal(atomic_load(&c.cuts), CUTS);
  assert_int_equal(counts.effects, 3 * CUTS);
  effects_expect_clean(&p, NULL);
  trilha_producer_close(&p);
}

#define ON_A_FRESH_DATABASE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

static int run_all(void) {
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_DATABASE(B07_a_server_killed_under_relay_and_producer_loses_repeats_and_reorders_no_effect),
      ON_A_FRESH_DATABASE(control_a_producer_that_takes_a_failed_commit_for_a_success_is_caught),
      ON_A_FRESH_DATABASE(a_connection_cut_between_send_and_settlement_loses_repeats_and_reorders_no_effect),
  };
  return cmocka_run_group_tests_name("relay-server", tests, NULL, NULL);
}

int main(int argc, char **argv) {
  if (argc > 5 && strcmp(argv[1], "--role") == 0) {
    if (strcmp(argv[2], "producer") == 0) return effects_role_producer(argv[3], argv[4], argv[5]);
    return argc > 6 ? effects_role_worker(argv[3], argv[4], argv[5], argv[6]) : 2;
  }
  return fault_server_run(run_all);
}
