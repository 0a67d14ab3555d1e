/* reaction: the memory transport: a handler's effect and its acceptance commit together, once (specification 001, rule
 * 5; rulings R21, R34; field report B11). Killed processes are in tests/fault/test_relay.c. */
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "relay/destination.h"
#include "trilha/reaction.h"

#define MESSAGE_ID "01a22b42-62b6-70d6-925b-e4ab243a1dc6"

/* What the handler of a test does after its effect is written. */
typedef enum trick { NOTHING, RESULT, END_TRANSACTION, BREAK_TRANSACTION, LEAVE_A_MESS, WAIT_FOR_ANOTHER } trick;

typedef struct hand {
  trick trick;
  trilha_status answer; /* for the first `times` calls */
  int times;
  atomic_int calls, inside;
  char tenant[64]; /* what the session said of the message */
} hand;

static bool execute(trilha_reaction_call *call, const char *sql) {
  sqlite3 *db = trilha_reaction_sqlite(call);
  if (db != NULL) return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
  PGresult *result = PQexec(trilha_reaction_postgres(call), sql);
  ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static void ask_tenant(hand *h, trilha_reaction_call *call) {
  if (trilha_reaction_postgres(call) == NULL) return;
  PGresult *r = PQexec(trilha_reaction_postgres(call),
                       "SELECT current_setting('trilha.tenant_id', true) || ' ' || "
                       "coalesce(current_setting('app.remains', true), '')");
  if (PQntuples(r) == 1) snprintf(h->tenant, sizeof h->tenant, "%s", PQgetvalue(r, 0, 0));
  PQclear(r);
}

static void leave_a_mess(trilha_reaction_call *call) {
  sqlite3_stmt *left = NULL;
  sqlite3 *db = trilha_reaction_sqlite(call);
  if (db != NULL) { /* a statement in the middle of its rows */
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 UNION ALL SELECT 2", -1, &left, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(left), SQLITE_ROW);
    return;
  }
  assert_true(execute(call, "SET app.remains = 'behind'"));
  assert_true(execute(call, "CREATE TEMPORARY TABLE left_behind (n int)"));
  assert_true(execute(call, "SELECT pg_advisory_lock(42)"));
}

static void meet_another(hand *h) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  atomic_fetch_add(&h->inside, 1);
  while (atomic_load(&h->inside) < 2 && !trilha_deadline_passed(patience)) trilha_clock_sleep_ms(1);
}

static trilha_status write_effect(void *user, const trilha_envelope *e, trilha_reaction_call *call,
                                  trilha_error *error) {
  hand *h = user;
  char sql[200];
  snprintf(sql, sizeof sql, "INSERT INTO effect (name) VALUES ('%.*s/%lld')", (int)e->aggregate_key.size,
           e->aggregate_key.data, (long long)e->aggregate_sequence);
  ask_tenant(h, call);
  int call_number = atomic_fetch_add(&h->calls, 1);
  assert_true(execute(call, sql));
  if (h->trick == RESULT) assert_int_equal(trilha_reaction_result(call, TRILHA_TEXT("reserva 7"), error), TRILHA_OK);
  if (h->trick == END_TRANSACTION) assert_true(execute(call, "ROLLBACK"));
  if (h->trick == BREAK_TRANSACTION) assert_false(execute(call, "SELECT * FROM there_is_no_such_table"));
  if (h->trick == LEAVE_A_MESS) leave_a_mess(call);
  if (h->trick == WAIT_FOR_ANOTHER) meet_another(h);
  if (call_number >= h->times) return TRILHA_OK;
  snprintf(error->code, sizeof error->code, "MINE");
  snprintf(error->text, sizeof error->text, "not now");
  return error->status = h->answer;
}

static trilha_reaction *begin_with(const trilha_fixture *f, hand *h, bool ordered) {
  const trilha_reaction_options options = {
      .inbox = trilha_producer_options(f), .consumer = "estoque", .react = write_effect, .user = h, .ordered = ordered};
  trilha_reaction *reaction = NULL;
  CHECKED(trilha_reaction_new(&options, &reaction, error));
  return reaction;
}

static trilha_relay_counts deliver(const trilha_fixture *f, trilha_reaction *reaction, int rounds) {
  const trilha_transport transport = trilha_reaction_transport(reaction, TRILHA_TEXT("everything"));
  return drain_with(fast(f, &transport, 1), rounds);
}

static int64_t effects(const trilha_producer *p) {
  return trilha_producer_count(p, "SELECT count(*) FROM effect");
}

static int64_t acceptances(const trilha_producer *p) {
  return trilha_producer_count(p, "SELECT count(*) FROM {p}inbox_message");
}

/* --- through the relay ------------------------------------------------------------------------------------------- */

static void an_effect_commits_with_its_acceptance_and_a_repeat_calls_no_handler(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.trick = NOTHING};
  trilha_reaction *reaction = begin_with(f, &h, false);
  trilha_reaction_counts counts;
  for (int i = 0; i < 3; i++) trilha_producer_say(&p, "acme", "1");
  assert_int_equal(deliver(f, reaction, 1).sent, 3);
  assert_true(effects(&p) == 3 && acceptances(&p) == 3);
  trilha_producer_say(&p, "acme", "1");
  trilha_producer_run(&p, "UPDATE {p}outbox_lane SET head_sequence = 1"); /* as if every confirmation had been lost */
  assert_int_equal(deliver(f, reaction, 1).sent, 4);
  assert_true(effects(&p) == 4 && acceptances(&p) == 4);
  assert_int_equal(
      trilha_producer_count(&p, "SELECT count(*) FROM (SELECT name FROM effect GROUP BY name HAVING count(*) > 1) x"),
      0);
  assert_int_equal(atomic_load(&h.calls), 4);
  trilha_reaction_counted(reaction, &counts);
  assert_true(counts.effects == 4 && counts.duplicates == 3 && counts.failed == 0);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

static void a_handler_that_fails_leaves_nothing_and_is_called_again(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.answer = TRILHA_UNAVAILABLE, .times = 2};
  trilha_reaction *reaction = begin_with(f, &h, true);
  trilha_reaction_counts counts;
  for (int i = 0; i < 2; i++) trilha_producer_say(&p, "acme", "1");
  trilha_relay_counts relayed = {0};
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (relayed.sent < 2 && !trilha_deadline_passed(patience)) {
    trilha_relay_counts now = deliver(f, reaction, 1);
    relayed.sent += now.sent;
    relayed.failed += now.failed;
  }
  assert_true(relayed.sent == 2 && relayed.failed == 2);
  assert_true(effects(&p) == 2 && acceptances(&p) == 2);
  trilha_reaction_counted(reaction, &counts);
  assert_true(counts.effects == 2 && counts.failed == 2 && counts.held == 0);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

static void a_handler_that_refuses_dead_letters_the_message_and_leaves_nothing(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.answer = TRILHA_INVALID, .times = 1};
  trilha_reaction *reaction = begin_with(f, &h, false);
  trilha_producer_say(&p, "acme", "1");
  assert_int_equal(deliver(f, reaction, 2).dead, 1);
  assert_true(effects(&p) == 0 && acceptances(&p) == 0);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane WHERE error_code = 'MINE'"), 1);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

/* --- one message at a time, as a relay would give it -------------------------------------------------------------- */

static trilha_envelope an_envelope(int64_t sequence, const char *id, const char *payload) {
  return (trilha_envelope){.destination = TRILHA_TEXT("everything"),
                           .message_id = trilha_text_of(id),
                           .tenant_id = TRILHA_TEXT("acme"),
                           .aggregate_type = TRILHA_TEXT("nota"),
                           .aggregate_key = TRILHA_TEXT("1"),
                           .aggregate_sequence = sequence,
                           .previous_sequence = sequence - 1,
                           .message_type = TRILHA_TEXT("nota.emitida"),
                           .version = TRILHA_TEXT("1.0.0"),
                           .origin = TRILHA_TEXT("faturamento"),
                           .correlation_id = TRILHA_TEXT(MESSAGE_ID),
                           .occurred_at = TRILHA_TEXT("2026-01-02T03:04:05Z"),
                           .payload = trilha_text_of(payload),
                           .revision = 1,
                           .attempt = 1,
                           .timeout_ms = 60000};
}

static trilha_status give(trilha_reaction *reaction, const trilha_envelope *e, trilha_error *err) {
  const trilha_transport transport = trilha_reaction_transport(reaction, TRILHA_TEXT("everything"));
  *err = (trilha_error){0};
  return transport.send(transport.user, e, err);
}

static void other_content_under_one_id_is_a_conflict_and_calls_no_handler(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.trick = NOTHING};
  trilha_error err = {0};
  trilha_reaction *reaction = begin_with(f, &h, false);
  trilha_envelope e = an_envelope(1, MESSAGE_ID, "{\"a\":1}"), other = an_envelope(1, MESSAGE_ID, "{\"a\":2}");
  assert_int_equal(give(reaction, &e, &err), TRILHA_OK);
  assert_int_equal(give(reaction, &other, &err), TRILHA_CONFLICT);
  assert_string_equal(err.code, "INBOX_CONFLICT");
  assert_true(atomic_load(&h.calls) == 1 && effects(&p) == 1);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

static void in_order_a_message_before_its_time_waits_and_one_behind_it_is_a_duplicate(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.trick = NOTHING};
  trilha_error err = {0};
  trilha_reaction *reaction = begin_with(f, &h, true);
  trilha_envelope first = an_envelope(1, MESSAGE_ID, "{}"),
                  second = an_envelope(2, "01a22b42-62b6-70d6-925b-e4ab243a1dc7", "{}");
  assert_int_equal(give(reaction, &second, &err), TRILHA_UNAVAILABLE);
  assert_string_equal(err.code, "INBOX_HELD");
  assert_true(effects(&p) == 0 && acceptances(&p) == 0);
  assert_int_equal(give(reaction, &first, &err), TRILHA_OK);
  assert_int_equal(give(reaction, &second, &err), TRILHA_OK);
  trilha_producer_run(&p, "DELETE FROM {p}inbox_message"); /* purged */
  assert_int_equal(give(reaction, &first, &err), TRILHA_OK);
  assert_true(effects(&p) == 2 && atomic_load(&h.calls) == 2);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

static void what_the_effect_gave_is_kept_for_who_asks_the_inbox_again(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.trick = RESULT};
  trilha_error err = {0};
  trilha_inbox_answer answer = {0};
  trilha_reaction *reaction = begin_with(f, &h, false);
  trilha_envelope e = an_envelope(1, MESSAGE_ID, "{}");
  const trilha_inbox_message again = {.tenant_id = TRILHA_TEXT("acme"),
                                      .consumer = TRILHA_TEXT("estoque"),
                                      .message_id = TRILHA_TEXT(MESSAGE_ID),
                                      .payload = TRILHA_TEXT("{}")};
  assert_int_equal(give(reaction, &e, &err), TRILHA_OK);
  trilha_producer_run(&p, "BEGIN");
  CHECKED(trilha_producer_accept(&p, &again, &answer, error));
  trilha_producer_run(&p, "ROLLBACK");
  assert_int_equal(answer.outcome, TRILHA_INBOX_DUPLICATE);
  assert_string_equal(answer.result, "reserva 7");
  trilha_free(answer.result);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

static void success_in_a_transaction_that_is_over_or_broken_is_not_believed(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.trick = END_TRANSACTION};
  trilha_error err = {0};
  trilha_reaction *reaction = begin_with(f, &h, false);
  trilha_envelope e = an_envelope(1, MESSAGE_ID, "{}");
  assert_int_equal(give(reaction, &e, &err), TRILHA_OUTCOME_UNKNOWN);
  assert_string_equal(err.code, "REACTION_TRANSACTION");
  if (f->is_postgres) { /* SQLite lets a transaction live after an error of one statement */
    h.trick = BREAK_TRANSACTION;
    assert_int_equal(give(reaction, &e, &err), TRILHA_UNAVAILABLE);
    assert_string_equal(err.code, "REACTION_ROLLED_BACK");
  }
  assert_true(effects(&p) == 0 && acceptances(&p) == 0);
  h.trick = NOTHING; /* and the connection is good for the next */
  assert_int_equal(give(reaction, &e, &err), TRILHA_OK);
  assert_true(effects(&p) == 1 && acceptances(&p) == 1);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

static void what_a_handler_leaves_in_the_session_is_not_the_next_message_s(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.trick = LEAVE_A_MESS};
  trilha_error err = {0};
  trilha_reaction *reaction = begin_with(f, &h, false);
  trilha_envelope first = an_envelope(1, MESSAGE_ID, "{}"),
                  second = an_envelope(2, "01a22b42-62b6-70d6-925b-e4ab243a1dc7", "{}");
  assert_int_equal(give(reaction, &first, &err), TRILHA_OK);
  if (f->is_postgres) assert_string_equal(h.tenant, "acme ");
  second.tenant_id = TRILHA_TEXT("outra");
  assert_int_equal(give(reaction, &second, &err), TRILHA_OK); /* the temporary table would be there already */
  if (f->is_postgres) {
    assert_string_equal(h.tenant, "outra ");
    assert_int_equal(trilha_producer_count(&p, "SELECT pg_try_advisory_lock(42)::int"), 1);
  }
  assert_int_equal(effects(&p), 2);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

/* --- two at once ----------------------------------------------------------------------------------------------------
 */

typedef struct giver {
  trilha_reaction *reaction;
  trilha_envelope envelope;
  trilha_status status;
} giver;

static void *give_once(void *user) {
  giver *g = user;
  trilha_error err = {0};
  g->status = give(g->reaction, &g->envelope, &err);
  return NULL;
}

static void give_both(giver givers[2]) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, give_once, &givers[i]), 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void B11_two_copies_of_a_message_at_the_same_instant_have_one_effect(void **state) {
  enum { TIMES = 20 };
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.trick = NOTHING};
  trilha_reaction *reaction = begin_with(f, &h, false);
  for (int i = 1; i <= TIMES; i++) {
    char id[40];
    snprintf(id, sizeof id, "01a22b42-62b6-70d6-925b-%012d", i);
    giver givers[2] = {{.reaction = reaction, .envelope = an_envelope(i, id, "{}")},
                       {.reaction = reaction, .envelope = an_envelope(i, id, "{}")}};
    give_both(givers);
    assert_true(givers[0].status == TRILHA_OK && givers[1].status == TRILHA_OK);
  }
  assert_true(effects(&p) == TIMES && atomic_load(&h.calls) == TIMES);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

/* On PostgreSQL: SQLite has one writer. */
static void lanes_are_handled_at_once_each_on_a_connection_of_its_own(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip();
  trilha_producer p = trilha_producer_open(f, true);
  hand h = {.trick = WAIT_FOR_ANOTHER};
  trilha_reaction *reaction = begin_with(f, &h, true);
  trilha_producer_say(&p, "acme", "1");
  trilha_producer_say(&p, "acme", "2");
  trilha_relay_counts counts = deliver(f, reaction, 1);
  assert_true(counts.sent == 2 && counts.failed == 0);
  assert_int_equal(atomic_load(&h.inside), 2);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

/* --- options
 * ---------------------------------------------------------------------------------------------------------- */

static void options_that_cannot_work_are_refused_before_any_message(void **state) {
  const trilha_fixture *f = *state;
  trilha_reaction *reaction = NULL;
  const trilha_reaction_options right = {.inbox = trilha_producer_options(f), .react = write_effect};
  trilha_reaction_options wrong[] = {right, right, right, right, right};
  wrong[0].react = NULL;
  wrong[1].consumer = "";
  wrong[2].at_once = TRILHA_TRANSPORT_AT_ONCE_MAX + 1;
  wrong[3].inbox.url = "mysql://localhost/x";
  wrong[4].inbox.schema = "Not a name";
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal(trilha_reaction_new(&wrong[i], &reaction, NULL), TRILHA_USAGE);
  assert_int_equal(trilha_reaction_new(NULL, &reaction, NULL), TRILHA_USAGE);
  assert_null(reaction);
  trilha_reaction_free(NULL);
}

static void without_an_inbox_a_message_is_tried_again_and_the_text_says_what_to_run(void **state) {
  const trilha_fixture *f = *state;
  hand h = {.trick = NOTHING};
  trilha_error err = {0};
  trilha_reaction *reaction = begin_with(f, &h, false);
  trilha_envelope e = an_envelope(1, MESSAGE_ID, "{}");
  assert_int_equal(give(reaction, &e, &err), TRILHA_NOT_FOUND); /* no refusal of the message */
  assert_string_equal(err.code, "OUTBOX_NOT_INSTALLED");
  assert_non_null(strstr(err.text, "trilha outbox install"));
  assert_int_equal(atomic_load(&h.calls), 0);
  trilha_producer p = trilha_producer_open(f, true);
  assert_int_equal(give(reaction, &e, &err), TRILHA_OK);
  trilha_reaction_free(reaction);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(an_effect_commits_with_its_acceptance_and_a_repeat_calls_no_handler),
      TEST(a_handler_that_fails_leaves_nothing_and_is_called_again),
      TEST(a_handler_that_refuses_dead_letters_the_message_and_leaves_nothing),
      TEST(other_content_under_one_id_is_a_conflict_and_calls_no_handler),
      TEST(in_order_a_message_before_its_time_waits_and_one_behind_it_is_a_duplicate),
      TEST(what_the_effect_gave_is_kept_for_who_asks_the_inbox_again),
      TEST(success_in_a_transaction_that_is_over_or_broken_is_not_believed),
      TEST(what_a_handler_leaves_in_the_session_is_not_the_next_message_s),
      TEST(B11_two_copies_of_a_message_at_the_same_instant_have_one_effect),
      TEST(lanes_are_handled_at_once_each_on_a_connection_of_its_own),
      TEST(options_that_cannot_work_are_refused_before_any_message),
      TEST(without_an_inbox_a_message_is_tried_again_and_the_text_says_what_to_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
