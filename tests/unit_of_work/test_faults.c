/* unit_of_work: connections that break at the commit, file systems that fail, processes that are killed (field report
 * B07; ruling R41: uncertain commit). The fault points need -Dfault_points=true. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <libpq-fe.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/text.h"
#include "store/postgres/relay.h"
#include "store/sqlite/faulty_vfs.h"
#include "support/own_program.h"
#include "support/sanitized.h"
#include "unit_of_work/session.h"

extern char **environ;

enum {
  SILENCE_MS = 4000, /* long enough for every answer that does come */
  LEFT_STATUS = 8,   /* of the worker: its event left, although it was to be killed before */
  BROKEN_STATUS = 9
};

#define INSERT "INSERT INTO effect VALUES ('done')"

/* --- PostgreSQL, behind a relay
 * ---------------------------------------------------------------------------------------- */

typedef struct wire {
  trilha_fixture near; /* the same database, through the relay */
  relay *relay;
  session s;
  trilha_producer direct;
} wire;

static void wire_open(wire *w, const trilha_fixture *f) {
  int port = 0;
  const char *colon = strrchr(f->url, ':'), *slash = strrchr(f->url, '/');
  *w = (wire){.near = *f};
  w->relay = relay_start(atoi(colon + 1), &port);
  snprintf(w->near.url, sizeof w->near.url, "%.*s:%d%s", (int)(colon - f->url), f->url, port, slash);
  w->direct = trilha_producer_open(f, true);
  session_open(&w->s, &w->near, false);
  session_begin(&w->s);
  session_run(&w->s, INSERT);
  session_say(&w->s, "E1");
}

static void wire_close(wire *w) {
  session_close(&w->s);
  trilha_producer_close(&w->direct);
  if (w->relay != NULL) relay_stop(w->relay);
}

static int64_t stored(const wire *w) {
  return trilha_producer_count(&w->direct, "SELECT count(*) FROM effect");
}

static bool skips(const trilha_fixture *f, bool wants_postgres) {
  if (f->is_postgres == wants_postgres) return false;
  skip();
  return true;
}

/* A commit is two requests: the last question, then COMMIT. */
static void B07_a_connection_lost_before_commit_arrives_rolls_back_and_says_so(void **state) {
  wire w;
  trilha_unit_of_work_result result;
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  relay_set_later(w.relay, RELAY_CUT_REQUEST, 1);
  REFUSED(trilha_unit_of_work_commit(w.s.unit, &result, error), TRILHA_UNAVAILABLE, "STORE_UNREACHABLE");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_true(result.resolved && result.undone == 1);
  assert_string_equal(w.s.left, "");
  assert_string_equal(w.s.undelivered, "");
  assert_int_equal(stored(&w), 0);
  REFUSED(trilha_unit_of_work_begin(w.s.unit, 0, error), TRILHA_UNAVAILABLE, "STORE_UNREACHABLE");
  wire_close(&w);
}

static void B07_a_lost_answer_to_a_commit_is_resolved_and_its_events_leave(void **state) {
  wire w;
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  relay_set_later(w.relay, RELAY_CUT_ANSWER, 1);
  const trilha_unit_of_work_result result = session_commit(&w.s);
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_COMMITTED);
  assert_true(result.resolved && result.left == 1);
  assert_string_equal(w.s.left, "E1");
  assert_int_equal(stored(&w), 1);
  wire_close(&w);
}

static void an_answer_that_does_not_come_in_time_is_resolved_too(void **state) {
  wire w;
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  trilha_unit_of_work_close(w.s.unit); /* which rolls back */
  CHECKED(session_open_unit_with(&w.s, SILENCE_MS, 0, error));
  session_begin(&w.s);
  session_run(&w.s, INSERT);
  session_say(&w.s, "E2");
  relay_set_later(w.relay, RELAY_HOLD_ANSWER, 1);
  const trilha_unit_of_work_result result = session_commit(&w.s);
  assert_true(result.resolved && result.left == 1);
  assert_string_equal(w.s.left, "E2");
  assert_int_equal(stored(&w), 1);
  wire_close(&w);
}

static void a_connection_lost_before_the_last_question_rolls_back(void **state) {
  wire w;
  trilha_unit_of_work_result result;
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  relay_set(w.relay, RELAY_CUT_REQUEST);
  REFUSED(trilha_unit_of_work_commit(w.s.unit, &result, error), TRILHA_UNAVAILABLE, "STORE_UNREACHABLE");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_true(!result.resolved && result.undone == 1);
  assert_string_equal(w.s.left, "");
  assert_int_equal(stored(&w), 0);
  wire_close(&w);
}

static void a_connection_lost_in_the_middle_rolls_back_and_every_call_is_told(void **state) {
  wire w;
  trilha_unit_of_work_result result;
  const trilha_post_commit_event event = {.type = TRILHA_TEXT("E2")};
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  session_begin(&w.s);
  relay_set(w.relay, RELAY_CUT_REQUEST);
  REFUSED(trilha_unit_of_work_raise(w.s.unit, &event, NULL, error), TRILHA_UNAVAILABLE, "STORE_UNREACHABLE");
  REFUSED(trilha_unit_of_work_commit(w.s.unit, &result, error), TRILHA_UNAVAILABLE, "STORE_UNREACHABLE");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  session_rollback(&w.s);
  REFUSED(trilha_unit_of_work_rollback(w.s.unit, error), TRILHA_USAGE, "NO_TRANSACTION");
  assert_string_equal(w.s.left, "");
  assert_int_equal(stored(&w), 0);
  wire_close(&w);
}

static void a_connection_that_was_reset_is_another_one(void **state) {
  wire w;
  trilha_unit_of_work_result result;
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  PQreset(w.s.p.pg);
  REFUSED(trilha_unit_of_work_commit(w.s.unit, &result, error), TRILHA_UNAVAILABLE, "STORE_UNREACHABLE");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_int_equal(stored(&w), 0);
  trilha_unit_of_work_close(w.s.unit);
  w.s.unit = NULL;
  CHECKED(session_open_unit(&w.s, error));
  session_begin(&w.s);
  session_say(&w.s, "E2");
  session_commit(&w.s);
  assert_string_equal(w.s.left, "E2");
  wire_close(&w);
}

static void a_transaction_that_wrote_nothing_stays_unknown_and_its_events_are_reported(void **state) {
  wire w;
  trilha_unit_of_work_result result;
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  session_rollback(&w.s);
  session_begin(&w.s);
  session_say(&w.s, "E2");
  relay_set_later(w.relay, RELAY_CUT_ANSWER, 1);
  REFUSED(trilha_unit_of_work_commit(w.s.unit, &result, error), TRILHA_OUTCOME_UNKNOWN, "COMMIT_UNKNOWN");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_UNKNOWN);
  assert_true(!result.resolved && result.undelivered == 1);
  assert_string_equal(w.s.left, "");
  assert_string_equal(w.s.undelivered, "E2");
  wire_close(&w);
}

static void where_nobody_can_be_asked_the_outcome_is_unknown(void **state) {
  wire w;
  trilha_unit_of_work_result result;
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  session_rollback(&w.s);
  trilha_unit_of_work_close(w.s.unit);
  CHECKED(session_open_unit_with(&w.s, 0, 200, error));
  session_begin(&w.s);
  session_run(&w.s, INSERT);
  session_say(&w.s, "E2");
  relay_refuse(w.relay);
  relay_set_later(w.relay, RELAY_CUT_ANSWER, 1);
  REFUSED(trilha_unit_of_work_commit(w.s.unit, &result, error), TRILHA_OUTCOME_UNKNOWN, "COMMIT_UNKNOWN");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_UNKNOWN);
  assert_string_equal(w.s.left, "");
  assert_string_equal(w.s.undelivered, "E2");
  assert_int_equal(stored(&w), 1); /* which nobody could know */
  wire_close(&w);
}

static void a_command_under_way_is_told(void **state) {
  wire w;
  if (skips(*state, true)) return;
  wire_open(&w, *state);
  assert_int_equal(PQsendQuery(w.s.p.pg, "SELECT 1"), 1);
  REFUSED(trilha_unit_of_work_commit(w.s.unit, NULL, error), TRILHA_USAGE, "CONNECTION_BUSY");
  for (PGresult *r = PQgetResult(w.s.p.pg); r != NULL; r = PQgetResult(w.s.p.pg)) PQclear(r);
  session_commit(&w.s);
  assert_string_equal(w.s.left, "E1");
  wire_close(&w);
}

/* --- SQLite
 * ------------------------------------------------------------------------------------------------------------ */

static void a_commit_that_a_full_disk_refuses_is_rolled_back(void **state) {
  session s;
  trilha_unit_of_work_result result;
  if (skips(*state, false)) return;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  faulty_arm(FAULTY_WAL, FAULTY_WRITE, SQLITE_FULL, 1);
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_UNAVAILABLE, "STORE_FULL");
  assert_int_equal(faulty_given(), 1);
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  assert_string_equal(s.left, "");
  assert_int_equal(session_effects(&s), 0);
  session_close(&s);
}

static void a_commit_whose_file_system_fails_is_unknown_and_its_events_are_reported(void **state) {
  session s;
  trilha_unit_of_work_result result;
  if (skips(*state, false)) return;
  session_open(&s, *state, true);
  session_run(&s, "PRAGMA synchronous = FULL");
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  faulty_arm(FAULTY_WAL, FAULTY_SYNC, SQLITE_IOERR_FSYNC, 1);
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_OUTCOME_UNKNOWN, "COMMIT_UNKNOWN");
  assert_int_equal(faulty_given(), 1);
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_UNKNOWN);
  assert_string_equal(s.left, "");
  assert_string_equal(s.undelivered, "E1");
  session_close(&s);
}

/* In a database with a rollback journal a reader holds the commit up. */
static void a_commit_that_a_reader_holds_up_may_be_tried_again(void **state) {
  const trilha_fixture *f = *state;
  session s = {.p = {.f = f}};
  sqlite3 *reader = NULL;
  char path[256];
  trilha_unit_of_work_result result;
  if (skips(f, false)) return;
  snprintf(path, sizeof path, "%s/plain.db", f->folder);
  assert_int_equal(sqlite3_open(path, &s.p.db), SQLITE_OK);
  assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
  CHECKED(session_open_unit(&s, error));
  session_run(&s, "CREATE TABLE effect (name text NOT NULL)");
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM effect", NULL, NULL, NULL), SQLITE_OK);
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_TIMEOUT, "STORE_BUSY");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_OPEN);
  assert_string_equal(s.left, "");
  session_say(&s, "E2");
  assert_int_equal(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
  session_commit(&s);
  assert_string_equal(s.left, "E1 E2");
  assert_int_equal(session_effects(&s), 1);
  sqlite3_close(reader);
  session_close(&s);
}

static void raising_an_event_is_not_seen_in_what_the_caller_asks_of_his_handle(void **state) {
  session s;
  if (skips(*state, false)) return;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, INSERT);
  session_run(&s, INSERT);
  sqlite3_int64 row = sqlite3_last_insert_rowid(s.p.db);
  assert_int_equal(row, 2);
  session_say(&s, "E1");
  session_say(&s, "E2");
  assert_int_equal(sqlite3_last_insert_rowid(s.p.db), row);
  session_commit(&s);
  session_close(&s);
}

/* The library once more, with data of its own, as a language's own build brings it along. */
static void a_handle_of_another_copy_of_sqlite_is_refused_untouched(void **state) {
  session s = {0};
  if (skips(*state, false)) return;
  if (SANITIZED) skip(); /* its run-time library cannot be loaded twice */
  void *copy = dlmopen(LM_ID_NEWLM, "libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  assert_non_null(copy);
  int (*open_there)(const char *, sqlite3 **) =
      (int (*)(const char *, sqlite3 **))(uintptr_t)dlsym(copy, "sqlite3_open");
  int (*close_there)(sqlite3 *) = (int (*)(sqlite3 *))(uintptr_t)dlsym(copy, "sqlite3_close");
  assert_true(open_there != NULL && close_there != NULL && open_there != sqlite3_open);
  assert_int_equal(open_there(":memory:", &s.p.db), SQLITE_OK);
  REFUSED(session_open_unit(&s, error), TRILHA_USAGE, "HANDLE_FOREIGN");
  assert_null(trilha_unit_of_work_of_sqlite(s.p.db));
  assert_int_equal(close_there(s.p.db), SQLITE_OK);
  dlclose(copy);
}

/* --- a process that is killed
 * ------------------------------------------------------------------------------------------ */

static trilha_status leave_at_all(void *user, const trilha_post_commit_event *event) {
  (void)event;
  *(bool *)user = true;
  return TRILHA_OK;
}

static int role_worker(const char *url) {
  trilha_fixture f = {.is_postgres = strncmp(url, "postgres", 8) == 0};
  snprintf(f.url, sizeof f.url, "%s", url);
  trilha_producer p = trilha_producer_open(&f, false);
  bool left = false;
  trilha_error err = {0};
  trilha_unit_of_work *unit = NULL;
  const trilha_unit_of_work_options options = {.handler = leave_at_all, .user = &left};
  const trilha_message message = trilha_producer_message("acme", "1");
  const trilha_post_commit_event event = {.type = TRILHA_TEXT("E1")};
  trilha_enqueued said;
  trilha_status status = p.pg != NULL ? trilha_unit_of_work_open_postgres(p.pg, &options, &unit, &err)
                                      : trilha_unit_of_work_open_sqlite(p.db, &options, &unit, &err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_begin(unit, 0, &err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_enqueue(unit, "billing", &message, &said, &err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_raise(unit, &event, NULL, &err);
  if (status == TRILHA_OK) status = trilha_unit_of_work_commit(unit, NULL, &err);
  if (status != TRILHA_OK) fprintf(stderr, "# worker: %s: %s\n", err.code, err.text);
  return left ? LEFT_STATUS : BROKEN_STATUS;
}

#ifdef TRILHA_FAULT_POINTS
static void run_worker_to_its_death(const trilha_fixture *f, const char *fault) {
  char *argv[] = {trilha_own_program(), (char *)(uintptr_t) "--role", (char *)(uintptr_t) "worker",
                  (char *)(uintptr_t)f->url, NULL};
  pid_t pid = 0;
  int ended = 0;
  setenv("TRILHA_FAULT", fault, 1);
  assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
  unsetenv("TRILHA_FAULT");
  assert_int_equal(waitpid(pid, &ended, 0), pid);
  if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGKILL)
    fail_msg("the worker ended with status %d: %s", WEXITSTATUS(ended),
             WEXITSTATUS(ended) == LEFT_STATUS ? "its event left" : "an error");
}

/* What the header promises, and what it does not: the message is there, the event is lost. */
static void a_process_killed_between_the_commit_and_its_events_loses_them_and_no_message(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  run_worker_to_its_death(*state, "unitofwork.commit.after_answer=kill");
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_message"), 1);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane"), 1);
  trilha_producer_close(&p);
}

static void a_process_killed_before_the_commit_leaves_nothing(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  run_worker_to_its_death(*state, "unitofwork.commit.before_send=kill");
  trilha_producer_run(&p, p.pg != NULL ? "SELECT 1" : "BEGIN IMMEDIATE");
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_message"), 0);
  trilha_producer_close(&p);
}

static void the_fault_points_fail_as_the_documents_say(void **state) {
  session s;
  trilha_unit_of_work_result result;
  session_open(&s, *state, true);
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E1");
  setenv("TRILHA_FAULT", "unitofwork.commit.before_send=fail", 1);
  trilha_fault_reset();
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_UNAVAILABLE, "FAULT");
  assert_int_equal(result.outcome, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
  setenv("TRILHA_FAULT", "unitofwork.commit.after_answer=fail", 1);
  trilha_fault_reset();
  session_begin(&s);
  session_run(&s, INSERT);
  session_say(&s, "E2");
  REFUSED(trilha_unit_of_work_commit(s.unit, &result, error), TRILHA_OUTCOME_UNKNOWN, "COMMIT_UNKNOWN");
  unsetenv("TRILHA_FAULT");
  trilha_fault_reset();
  assert_string_equal(s.left, "");
  assert_string_equal(s.undelivered, "E2");
  assert_int_equal(session_effects(&s), 1);
  session_close(&s);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 3 && strcmp(argv[1], "--role") == 0) return role_worker(argv[3]);
  if (trilha_fixture_skips()) return 0;
  faulty_register();
  const struct CMUnitTest tests[] = {
      TEST(B07_a_connection_lost_before_commit_arrives_rolls_back_and_says_so),
      TEST(B07_a_lost_answer_to_a_commit_is_resolved_and_its_events_leave),
      TEST(an_answer_that_does_not_come_in_time_is_resolved_too),
      TEST(a_connection_lost_before_the_last_question_rolls_back),
      TEST(a_connection_lost_in_the_middle_rolls_back_and_every_call_is_told),
      TEST(a_connection_that_was_reset_is_another_one),
      TEST(a_transaction_that_wrote_nothing_stays_unknown_and_its_events_are_reported),
      TEST(where_nobody_can_be_asked_the_outcome_is_unknown),
      TEST(a_command_under_way_is_told),
      TEST(a_commit_that_a_full_disk_refuses_is_rolled_back),
      TEST(a_commit_whose_file_system_fails_is_unknown_and_its_events_are_reported),
      TEST(a_commit_that_a_reader_holds_up_may_be_tried_again),
      TEST(raising_an_event_is_not_seen_in_what_the_caller_asks_of_his_handle),
      TEST(a_handle_of_another_copy_of_sqlite_is_refused_untouched),
#ifdef TRILHA_FAULT_POINTS
      TEST(a_process_killed_between_the_commit_and_its_events_loses_them_and_no_message),
      TEST(a_process_killed_before_the_commit_leaves_nothing),
      TEST(the_fault_points_fail_as_the_documents_say),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
