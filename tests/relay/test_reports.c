/* relay: what users of other systems met, as tests of its kind; tests/outbox/README.md names those that stand
 * elsewhere. */
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "relay/destination.h"

static void begin(const trilha_producer *p) {
  trilha_producer_run(p, p->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
}

static void B05_what_was_rolled_back_does_not_leave_with_the_next_commit_of_its_connection(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  trilha_message undone = trilha_producer_message("acme", "undone"), kept = trilha_producer_message("acme", "kept");
  trilha_enqueued said;
  d.count = 0;
  begin(&p);
  CHECKED(trilha_producer_enqueue(&p, &undone, &said, error));
  trilha_producer_run(&p, "ROLLBACK");
  assert_int_equal(drain(*state, &d, 1).sent, 0);
  begin(&p);
  CHECKED(trilha_producer_enqueue(&p, &kept, &said, error));
  trilha_producer_run(&p, "COMMIT");
  assert_int_equal(drain(*state, &d, 1).sent, 1);
  assert_true(times_seen(&d, "kept", 1) == 1 && times_seen(&d, "undone", 0) == 0);
  trilha_producer_close(&p);
}

static void G4_the_same_id_enqueued_again_after_a_savepoint_rollback_leaves_exactly_once(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  trilha_message m = trilha_producer_message("acme", "1");
  trilha_enqueued said;
  m.message_id = TRILHA_TEXT("01a22b42-62b6-70d6-925b-e4ab243a1dc6");
  d.count = 0;
  begin(&p);
  trilha_producer_run(&p, "SAVEPOINT s");
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  trilha_producer_run(&p, "ROLLBACK TO s");
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error)); /* not taken for a duplicate of what is undone */
  assert_int_equal(said.aggregate_sequence, 1);
  trilha_producer_run(&p, "COMMIT");
  assert_int_equal(drain(*state, &d, 2).sent, 1);
  assert_string_equal(d.items[0].id, "01a22b42-62b6-70d6-925b-e4ab243a1dc6");
  trilha_producer_close(&p);
}

static trilha_status count_standing(void *user, const trilha_outbox_standing *standing) {
  (void)standing;
  ++*(int *)user;
  return TRILHA_OK;
}

/* In the child: refused, and closing it does not end the parent's session. */
static int use_in_child(trilha_outbox *outbox) {
  trilha_error err = {0};
  int counted = 0;
  trilha_status status = trilha_outbox_status(outbox, count_standing, &counted, &err);
  bool refused = status == TRILHA_USAGE && strcmp(err.code, "HANDLE_FORKED") == 0;
  trilha_outbox_close(outbox);
  return refused ? 0 : 1;
}

static void G6_an_outbox_opened_before_a_fork_is_refused_in_the_child_and_unharmed_in_the_parent(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  int counted = 0, status = 0;
  trilha_producer_say(&p, "acme", "1");
  CHECKED(trilha_outbox_status(outbox, count_standing, &counted, error)); /* connected */
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(use_in_child(outbox));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  counted = 0;
  CHECKED(trilha_outbox_status(outbox, count_standing, &counted, error));
  assert_int_equal(counted, 1);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

/* On PostgreSQL, whose sessions an incident ends: the relay goes on without a restart and as quickly as before. */
static void B19_after_its_sessions_were_ended_a_relay_delivers_again_by_itself(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip();
  trilha_producer p = trilha_producer_open(f, true);
  static destination d = DESTINATION;
  d.count = 0;
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(f, &transport, 1);
  options.once = false;
  trilha_relay *relay = NULL;
  pthread_t thread;
  CHECKED(trilha_relay_new(&options, &relay, error));
  assert_int_equal(pthread_create(&thread, NULL, run_relay, relay), 0);
  trilha_deadline patience = trilha_deadline_in_ms(3 * PATIENCE_MS);
  for (int64_t sequence = 1; sequence <= 3; sequence++) {
    trilha_producer_say(&p, "acme", "1");
    while (times_seen(&d, "1", sequence) == 0 && !trilha_deadline_passed(patience)) trilha_clock_sleep_ms(5);
    assert_true(times_seen(&d, "1", sequence) > 0);
    trilha_producer_run(&p,
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'");
  }
  trilha_relay_stop(relay);
  pthread_join(thread, NULL);
  trilha_relay_free(relay);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(B05_what_was_rolled_back_does_not_leave_with_the_next_commit_of_its_connection),
      TEST(G4_the_same_id_enqueued_again_after_a_savepoint_rollback_leaves_exactly_once),
      TEST(G6_an_outbox_opened_before_a_fork_is_refused_in_the_child_and_unharmed_in_the_parent),
      TEST(B19_after_its_sessions_were_ended_a_relay_delivers_again_by_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
