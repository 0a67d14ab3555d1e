/* fault: a consumer stopped in the middle of a pipeline, past its lease, and resumed (reliability 6; ruling R18).
 *
 * SIGSTOP between two transactions of a delivery: another consumer takes over when the lease has run out; resumed, the
 * first finds its lease gone and changes nothing. SIGSTOP between two statements of one pipeline to PostgreSQL: the
 * statement that takes locks and the COMMIT leave the process together, so the server holds nothing for it. (A process
 * stopped inside a transaction on SQLite holds the file: test_idle.) The control holds the lease's row as a client
 * would that had sent one half, and must be caught keeping the other consumer out.
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
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/history.h"
#include "trilha/delivery.h"

#ifdef TRILHA_FAULT_POINTS

enum {
  EVENTS = 4,
  FAILING = 2,
  LEASE_MS = 1000,
  STEPS_MAX = 200,
  STRIDE = 6,
  STACK_SIZE = 60000,
  PATH = 200,
  OVER_MS = 120000,
  OUT_MS = 4000
};

/* Each delivery is a line: what a consumer's effect would be. */
static trilha_status note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  static char stack[STACK_SIZE];
  fault_write(*(const int *)user, "%lld\n", (long long)event->sequence_number);
  if (event->sequence_number % EVENTS != FAILING) return TRILHA_OK;
  memset(stack, 'x', sizeof stack); /* more than libpq keeps before it begins to send */
  return trilha_delivery_fail_with_stack(delivery, TRILHA_TEXT("não"), (trilha_text){stack, sizeof stack});
}

static int role_consumer(const char *url, const char *path) {
  int fd = fault_open_history(path);
  return fault_consume(fault_open(url, NULL), note, &fd, LEASE_MS, true);
}

static pid_t start_consumer(const trilha_fixture *f, const char *path, const char *fault) {
  char setting[100];
  snprintf(setting, sizeof setting, "TRILHA_FAULT=%s", fault);
  const char *words[] = {"consumer", f->url, path, NULL};
  return fault_start(words, setting);
}

/* True when it ended within the time. */
static bool ends_within(pid_t pid, int ms, int *ret_status) {
  trilha_deadline end = trilha_deadline_in_ms(ms);
  while (waitpid(pid, ret_status, WNOHANG) == 0) {
    if (trilha_deadline_passed(end)) return false;
    trilha_clock_sleep_ms(10);
  }
  return true;
}

static int64_t cursor(const trilha_fixture *f) {
  return trilha_fixture_count(f, f->is_postgres ? "SELECT last_sequence FROM d4.consumer_offset"
                                                : "SELECT last_sequence FROM d4_consumer_offset");
}

static size_t letters(trilha *handle) {
  trilha_dead_letters *found = NULL;
  assert_int_equal(trilha_dead_letters_pending(handle, TRILHA_TEXT("D-4"), &found, NULL), TRILHA_OK);
  size_t count = found->count;
  for (size_t i = 0; i < count; i++) assert_in_range(found->items[i].tentativas, 1, 2);
  trilha_dead_letters_free(found);
  return count;
}

/* One round with a stop there; false when the consumer was through before it. */
static bool stopped_at(trilha_fixture *f, const char *path, const char *fault) {
  int status = 0;
  for (int i = 0; i < EVENTS; i++) publish_number(f->handle, "teste.a", i);
  int64_t last = 0;
  assert_int_equal(trilha_last_sequence(f->handle, &last, NULL), TRILHA_OK);
  pid_t first = start_consumer(f, path, fault);
  assert_int_equal(waitpid(first, &status, WUNTRACED), first);
  if (!WIFSTOPPED(status)) {
    assert_int_equal(status, 0);
    return false;
  }
  pid_t second = start_consumer(f, path, "");
  bool over = ends_within(second, OVER_MS, &status);
  if (!over) kill(second, SIGKILL);
  kill(first, SIGCONT);
  int resumed = fault_wait(first);
  if (!over) fail_msg("%s: nobody could take over", fault);
  assert_int_equal(status, 0);
  if (resumed != 0) fail_msg("%s: resumed, it ended with wait status %x", fault, (unsigned)resumed);
  assert_int_equal(cursor(f), last);
  assert_int_equal(letters(f->handle), last / EVENTS);
  return true;
}

static void begin(const trilha_fixture *f, char path[PATH]) {
  snprintf(path, PATH, "%s/seen", f->folder);
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
}

/* The one in flight comes again to whoever takes over, and a failed one whose cursor nobody had passed. */
static void expect_all_seen(const trilha_fixture *f, const char *path, int stops) {
  fault_deliveries d = fault_check_deliveries(path, f->handle);
  printf("# stopped at %d places, %zu deliveries, %zu repeated\n", stops, d.count, d.repeats);
  assert_true(stops >= 1);
  assert_int_equal(d.missing, 0);
  assert_int_equal(d.foreign, 0);
  assert_in_range(d.repeats, 0, 2 * stops);
}

static void R18_a_consumer_stopped_between_two_transactions_changes_nothing_later(void **state) {
  static const char *const faults[] = {"consumer.cursor.before_store=pause", "consumer.cursor.after_store=pause",
                                       "deadletter.record.before_store=pause", "deadletter.record.after_store=pause"};
  enum { FAULTS = sizeof faults / sizeof faults[0] };
  trilha_fixture *f = *state;
  char path[PATH];
  begin(f, path);
  for (int i = 0; i < FAULTS; i++) assert_true(stopped_at(f, path, faults[i]));
  expect_all_seen(f, path, FAULTS);
}

static void a_consumer_stopped_between_two_statements_of_a_pipeline_holds_nobody_up(void **state) {
  trilha_fixture *f = *state;
  unsigned seed = fault_seed();
  char path[PATH];
  begin(f, path);
  int stops = 0, stride = fault_times(1) == 1 ? STRIDE : 1;
  for (int step = 1 + (int)fault_draw(&seed, (unsigned)stride); step < STEPS_MAX; step += stride, stops++) {
    char fault[80];
    snprintf(fault, sizeof fault, "postgres.exchange.before_last_step=pause:%d", step);
    if (!stopped_at(f, path, fault)) break;
  }
  expect_all_seen(f, path, stops);
}

static void control_a_client_that_had_sent_one_half_is_caught_keeping_others_out(void **state) {
  trilha_fixture *f = *state;
  char path[PATH];
  snprintf(path, sizeof path, "%s/seen", f->folder);
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  publish_number(f->handle, "teste.a", 1);
  fault_expect_end(start_consumer(f, path, "")); /* makes the lease's row */
  PGconn *half = PQconnectdb(f->url);
  PGresult *held = PQexec(half, "BEGIN; SELECT 1 FROM core.consumer_lease WHERE colonia = 'D-4' FOR SHARE");
  assert_int_equal(PQresultStatus(held), PGRES_TUPLES_OK);
  assert_int_equal(PQntuples(held), 1);
  PQclear(held);
  int status = 0;
  pid_t kept_out = start_consumer(f, path, "");
  assert_false(ends_within(kept_out, OUT_MS, &status));
  PQfinish(half);
  fault_expect_end(kept_out);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 4 && strcmp(argv[1], "--role") == 0) return role_consumer(argv[3], argv[4]);
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest on_sqlite[] = {
      ON_A_FRESH_STORE(R18_a_consumer_stopped_between_two_transactions_changes_nothing_later),
  };
  const struct CMUnitTest on_postgresql[] = {
      ON_A_FRESH_STORE(R18_a_consumer_stopped_between_two_transactions_changes_nothing_later),
      ON_A_FRESH_STORE(a_consumer_stopped_between_two_statements_of_a_pipeline_holds_nobody_up),
      ON_A_FRESH_STORE(control_a_client_that_had_sent_one_half_is_caught_keeping_others_out),
  };
  const char *store = getenv("TRILHA_TEST_STORE");
  if (store != NULL && strcmp(store, "postgresql") == 0)
    return cmocka_run_group_tests_name("stop", on_postgresql, NULL, NULL);
  return cmocka_run_group_tests_name("stop", on_sqlite, NULL, NULL);
}

#else

int main(void) {
  puts("1..0 # SKIP needs a build with -Dfault_points=true");
  return 0;
}

#endif
