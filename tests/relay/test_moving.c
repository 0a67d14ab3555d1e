/* relay: moving over from another dispatcher: one live path for a type, and its backlog copied once (requirement O25;
 * ruling R39). */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "relay/destination.h"

enum { ROWS = 60, KEYS = 5 };

#define USER   TRILHA_TEXT("ana")
#define REASON TRILHA_TEXT("moving over")
#define NOTES  TRILHA_TEXT("nota.*")

typedef struct scene {
  const trilha_fixture *f;
  trilha_producer p;
  trilha_outbox *outbox;
} scene;

/* The foreign table holds ROWS that wait, of KEYS aggregates, between rows that were delivered. */
static scene open_scene(void **state, int rows) {
  scene s = {.f = *state, .p = trilha_producer_open(*state, true), .outbox = trilha_producer_outbox(*state)};
  char sql[400];
  trilha_producer_run(
      &s.p, "CREATE TABLE old_outbox (id bigint PRIMARY KEY, entity text, kind text, body text, sent integer)");
  for (int i = 1; i <= rows; i++) {
    snprintf(sql, sizeof sql,
             "INSERT INTO old_outbox VALUES (%d, 'k%d', 'nota.emitida', '{\"n\": %d}', 0), (%d, 'k%d', 'nota.emitida', "
             "'{}', 1)",
             2 * i, i % KEYS, i, 2 * i + 1, i % KEYS);
    trilha_producer_run(&s.p, sql);
  }
  return s;
}

static void close_scene(scene *s) {
  trilha_outbox_close(s->outbox);
  trilha_producer_close(&s->p);
}

static void write_mapping(const scene *s, char out[1024]) {
  snprintf(out, 1024,
           "{\"name\": \"old\", \"holder\": \"old-relay\", %s\"table\": \"old_outbox\", \"position\": \"id\", "
           "\"where\": {\"sent\": 0}, \"fields\": {\"tenant_id\": {\"value\": \"acme\"}, "
           "\"aggregate_type\": {\"value\": \"nota\"}, \"aggregate_key\": \"entity\", \"message_type\": \"kind\", "
           "\"version\": {\"value\": \"1.0.0\"}, \"payload\": \"body\", \"origin\": {\"value\": \"faturas\"}, "
           "\"message_id\": {\"derive\": \"id\"}}}",
           s->p.pg != NULL ? "\"schema\": \"public\", " : "");
}

static bool go_on(void *user, const trilha_imported *so_far) {
  (void)so_far;
  int *left = user;
  return --*left > 0;
}

/* batches 0: to its end. */
static trilha_status import(const scene *s, int batches, bool dry_run, trilha_imported *ret, trilha_error *error) {
  char mapping[1024];
  write_mapping(s, mapping);
  const trilha_import_options options = {
      .mapping = trilha_text_of(mapping), .batch = 7, .dry_run = dry_run, .user = USER, .reason = REASON};
  return trilha_outbox_import(s->outbox, &options, batches > 0 ? go_on : NULL, &batches, ret, error);
}

static void hold(const scene *s, trilha_text pattern, const char *holder) {
  const trilha_outbox_path path = {
      .type_pattern = pattern, .holder = trilha_text_of(holder), .user = USER, .reason = REASON};
  CHECKED(trilha_outbox_path_hold(s->outbox, &path, NULL, error));
}

static int64_t take(const scene *s, trilha_text pattern) {
  int64_t woken = -1;
  CHECKED(trilha_outbox_path_take(s->outbox, pattern, false, USER, REASON, &woken, error));
  return woken;
}

static int64_t count(const scene *s, const char *sql) {
  return trilha_producer_count(&s->p, sql);
}

static trilha_status say(const scene *s, const char *key, const char *type, trilha_error *error) {
  trilha_message message = trilha_producer_message("acme", key);
  trilha_enqueued enqueued;
  message.message_type = trilha_text_of(type);
  trilha_producer_run(&s->p, s->p.pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  trilha_status status = trilha_producer_enqueue(&s->p, &message, &enqueued, error);
  trilha_producer_run(&s->p, status == TRILHA_OK ? "COMMIT" : "ROLLBACK");
  return status;
}

static trilha_status keep_text(void *user, const trilha_outbox_lane *lane) {
  char *text = user; /* of 1000 bytes */
  snprintf(text, 1000, "%.*s", (int)lane->error_text.size, lane->error_text.data == NULL ? "" : lane->error_text.data);
  return TRILHA_OK;
}

/* --- the path ----------------------------------------------------------------------------------------------------- */

static void a_type_that_another_dispatcher_holds_is_neither_accepted_nor_sent(void **state) {
  scene s = open_scene(state, 0);
  destination d = DESTINATION;
  char text[1000] = "";
  trilha_producer_say(&s.p, "acme", "a"); /* before */
  hold(&s, NOTES, "old-relay");
  REFUSED(say(&s, "a", "nota.emitida", error), "PATH_HELD");
  CHECKED(say(&s, "b", "pedido.criado", error));
  assert_int_equal(drain(s.f, &d, 3).sent, 1); /* the other type's */
  assert_int_equal(times_seen(&d, "a", 0), 0);
  assert_status(&s.p, "a", 1, "Pending");
  const trilha_outbox_lanes_filter filter = {.error_code = TRILHA_TEXT("PATH_HELD")};
  CHECKED(trilha_outbox_lanes(s.outbox, &filter, keep_text, text, error));
  assert_non_null(strstr(text, "old-relay"));
  assert_non_null(strstr(text, "trilha outbox take"));
  assert_int_equal(count(&s, "SELECT sum(attempts) FROM {p}outbox_lane"), 0); /* no attempt was used */
  assert_int_equal(take(&s, NOTES), 1);
  CHECKED(say(&s, "a", "nota.emitida", error));
  assert_int_equal(drain(s.f, &d, 3).sent, 2);
  close_scene(&s);
}

static void a_run_stops_in_front_of_a_held_type_and_keeps_what_it_sent(void **state) {
  scene s = open_scene(state, 0);
  destination d = DESTINATION;
  CHECKED(say(&s, "a", "pedido.criado", error));
  CHECKED(say(&s, "a", "nota.emitida", error));
  CHECKED(say(&s, "a", "pedido.criado", error));
  hold(&s, TRILHA_TEXT("nota.emitida"), "old-relay");
  assert_int_equal(drain(s.f, &d, 2).sent, 1);
  assert_status(&s.p, "a", 1, "Dispatched");
  assert_status(&s.p, "a", 2, "Pending");
  assert_int_equal(take(&s, TRILHA_TEXT("nota.emitida")), 1);
  assert_int_equal(drain(s.f, &d, 2).sent, 2);
  for (int sequence = 1; sequence <= 3; sequence++) assert_int_equal(d.items[sequence - 1].sequence, sequence);
  close_scene(&s);
}

static void a_path_has_one_holder_and_each_change_is_in_the_trail(void **state) {
  scene s = open_scene(state, 0);
  bool is_new = true;
  const trilha_outbox_path mine = {NOTES, TRILHA_TEXT("old-relay"), {0}, USER, REASON};
  const trilha_outbox_path other = {NOTES, TRILHA_TEXT("another"), {0}, USER, REASON};
  const trilha_outbox_path nameless = {NOTES, {0}, {0}, USER, REASON};
  char long_name[2 * 101] = ""; /* in characters, of two bytes each */
  for (size_t i = 0; i < sizeof long_name; i += 2) memcpy(long_name + i, "\xC3\xA3", 2);
  const trilha_outbox_path too_long = {NOTES, {long_name, sizeof long_name}, {0}, USER, REASON};
  const trilha_outbox_path just_fits = {TRILHA_TEXT("pedido.*"), {long_name, sizeof long_name - 2}, {0}, USER, REASON};
  const trilha_outbox_path unexplained = {NOTES, TRILHA_TEXT("old-relay"), {0}, USER, {0}};
  hold(&s, NOTES, "old-relay");
  CHECKED(trilha_outbox_path_hold(s.outbox, &mine, &is_new, error));
  assert_false(is_new);
  REFUSED(trilha_outbox_path_hold(s.outbox, &other, NULL, error), "PATH_HELD_BY_OTHER");
  REFUSED(trilha_outbox_path_hold(s.outbox, &nameless, NULL, error), "HOLDER_INVALID");
  REFUSED(trilha_outbox_path_hold(s.outbox, &too_long, NULL, error), "HOLDER_INVALID");
  REFUSED(trilha_outbox_path_hold(s.outbox, &unexplained, NULL, error), "REASON_MISSING");
  REFUSED(trilha_outbox_path_take(s.outbox, TRILHA_TEXT("pedido.*"), false, USER, REASON, NULL, error),
          "PATH_NOT_HELD");
  assert_int_equal(take(&s, NOTES), 0);
  assert_int_equal(count(&s,
                         "SELECT count(*) FROM {p}outbox_upkeep WHERE user_name = 'ana' AND reason = 'moving over' "
                         "AND (action, subject) IN (('trilha.outbox-path.held', 'nota.* by old-relay'), "
                         "('trilha.outbox-path.taken', 'nota.* from old-relay'))"),
                   2);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_upkeep"), 2);
  CHECKED(trilha_outbox_path_hold(s.outbox, &just_fits, &is_new, error));
  assert_int_equal(take(&s, TRILHA_TEXT("pedido.*")), 0);
  close_scene(&s);
}

/* Sends the first message of a lane while its path is taken over: the worker still believes the second one held. */
typedef struct overtaking {
  scene *s;
  destination d;
} overtaking;

static trilha_status overtake(void *user, const trilha_envelope *e, trilha_error *error) {
  overtaking *o = user;
  if (e->aggregate_sequence == 1) take(o->s, NOTES);
  return receive(&o->d, e, error);
}

static void a_lane_that_is_put_aside_while_its_path_is_taken_goes_on(void **state) {
  scene s = open_scene(state, 0);
  static overtaking o;
  o = (overtaking){.s = &s, .d = DESTINATION};
  CHECKED(say(&s, "a", "pedido.criado", error));
  CHECKED(say(&s, "a", "nota.emitida", error));
  hold(&s, NOTES, "old-relay");
  trilha_transport transport = {TRILHA_TEXT("everything"), overtake, &o, .guarantee = TRILHA_GUARANTEE_DURABLE};
  transport.at_once = 1; /* on the worker's own thread: nothing else runs meanwhile */
  assert_int_equal(drain_with(fast(s.f, &transport, 1), 3).sent, 2);
  assert_status(&s.p, "a", 2, "Dispatched");
  close_scene(&s);
}

/* --- the import ----------------------------------------------------------------------------------------------------
 */

static void an_import_needs_the_holder_s_path_and_comes_over_once(void **state) {
  scene s = open_scene(state, ROWS);
  trilha_imported done;
  REFUSED(import(&s, 0, true, &done, error), "IMPORT_PATH");
  hold(&s, NOTES, "another");
  REFUSED(import(&s, 0, false, &done, error), "IMPORT_PATH");
  take(&s, NOTES);
  hold(&s, NOTES, "old-relay");
  CHECKED(import(&s, 0, true, &done, error));
  assert_int_equal(done.total, ROWS);
  assert_int_equal(
      count(&s, "SELECT count(*) FROM {p}outbox_message") + count(&s, "SELECT count(*) FROM {p}outbox_import"),
      0); /* a dry run */
  CHECKED(import(&s, 0, false, &done, error));
  assert_true(done.finished && done.rows == ROWS && done.total == ROWS);
  REFUSED(import(&s, 0, false, &done, error), "IMPORT_CLOSED");
  take(&s, NOTES);
  REFUSED(import(&s, 0, false, &done, error), "IMPORT_CLOSED");
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_message"), ROWS);
  assert_int_equal(count(&s,
                         "SELECT sum(row_count) FROM {p}outbox_upkeep WHERE action = "
                         "'trilha.outbox-message.imported' AND subject = 'old'"),
                   ROWS);
  close_scene(&s);
}

/* Each aggregate in the order of the foreign table, without a gap, each message once. */
static void expect_backlog(const scene *s, int rows) {
  assert_int_equal(count(s, "SELECT count(*) FROM {p}outbox_message"), rows);
  assert_int_equal(count(s, "SELECT count(DISTINCT payload) FROM {p}outbox_message"), rows);
  assert_int_equal(count(s,
                         "SELECT count(*) FROM {p}outbox_aggregate a WHERE a.last_sequence <> (SELECT count(*) FROM "
                         "{p}outbox_message m WHERE m.aggregate_id = a.aggregate_id)"),
                   0);
  assert_int_equal(
      count(s,
            "SELECT count(*) FROM {p}outbox_message m JOIN {p}outbox_message n ON n.aggregate_id = m.aggregate_id AND "
            "n.aggregate_sequence = m.aggregate_sequence + 1 JOIN old_outbox a ON a.body = m.payload JOIN old_outbox b "
            "ON b.body = n.payload WHERE a.id >= b.id OR a.entity <> m.aggregate_key OR a.sent <> 0"),
      0);
}

static void what_is_imported_keeps_order_ids_and_payloads_and_leaves_when_the_path_is_taken(void **state) {
  scene s = open_scene(state, ROWS);
  destination d = DESTINATION;
  trilha_imported done;
  char id[64];
  hold(&s, NOTES, "old-relay");
  CHECKED(import(&s, 0, false, &done, error));
  expect_backlog(&s, ROWS);
  trilha_producer_text(&s.p, "SELECT message_id FROM {p}outbox_message WHERE payload = '{\"n\": 1}'", id, sizeof id);
  assert_string_equal(id, "b55c063b-f88e-8324-b47f-821b155f583b"); /* the same on both stores, whenever it is made */
  assert_int_equal(drain(s.f, &d, 3).sent, 0);
  assert_int_equal(take(&s, NOTES), KEYS);
  trilha_producer_say(&s.p, "acme", "k1");
  assert_int_equal(drain(s.f, &d, 4).sent, ROWS + 1);
  for (int key = 0; key < KEYS; key++) {
    char name[8];
    int64_t last = 0;
    snprintf(name, sizeof name, "k%d", key);
    for (size_t i = 0; i < d.count; i++)
      if (strcmp(d.items[i].key, name) == 0) assert_int_equal(d.items[i].sequence, ++last);
  }
  close_scene(&s);
}

static void an_import_that_is_stopped_goes_on_behind_its_last_batch(void **state) {
  scene s = open_scene(state, ROWS);
  trilha_imported done;
  hold(&s, NOTES, "old-relay");
  CHECKED(import(&s, 2, false, &done, error));
  assert_true(!done.finished && done.rows == 14 && done.total == ROWS);
  REFUSED(trilha_outbox_path_take(s.outbox, NOTES, false, USER, REASON, NULL, error), "IMPORT_CHANGED");
  CHECKED(import(&s, 3, false, &done, error));
  assert_int_equal(done.rows, 35);
  CHECKED(import(&s, 0, false, &done, error));
  assert_true(done.finished && done.rows == ROWS);
  expect_backlog(&s, ROWS);
  close_scene(&s);
}

static void a_row_that_enqueue_refuses_is_named_and_stops_the_import_before_its_batch(void **state) {
  scene s = open_scene(state, ROWS);
  trilha_imported done;
  trilha_error why = {0};
  hold(&s, NOTES, "old-relay");
  trilha_producer_run(&s.p, "UPDATE old_outbox SET body = 'no JSON' WHERE id = 40");
  assert_int_equal(import(&s, 0, false, &done, &why), TRILHA_INVALID);
  assert_string_equal(why.code, "MESSAGE_REFUSED");
  assert_non_null(strstr(why.text, "position 40"));
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_message"), 14);
  assert_int_equal(done.rows, 14);
  REFUSED(say(&s, "a", "nota.emitida", error), "PATH_HELD"); /* still, after a batch that was undone */
  trilha_producer_run(&s.p, "UPDATE old_outbox SET body = '{\"n\": 20}' WHERE id = 40");
  CHECKED(import(&s, 0, false, &done, error));
  expect_backlog(&s, ROWS);
  close_scene(&s);
}

static void a_foreign_table_that_changes_after_the_cut_is_told_and_the_cut_moves(void **state) {
  scene s = open_scene(state, ROWS);
  trilha_imported done;
  trilha_error why = {0};
  hold(&s, NOTES, "old-relay");
  CHECKED(import(&s, 2, false, &done, error));
  trilha_producer_run(&s.p, "INSERT INTO old_outbox VALUES (1001, 'k1', 'nota.emitida', '{\"n\": 501}', 0)");
  assert_int_equal(import(&s, 0, false, &done, &why), TRILHA_CONFLICT);
  assert_string_equal(why.code, "IMPORT_CHANGED");
  assert_non_null(strstr(why.text, "1 rows came into the table of old-relay"));
  CHECKED(import(&s, 0, false, &done, error)); /* whoever runs it again has seen to it */
  assert_true(done.finished && done.rows == ROWS + 1);
  expect_backlog(&s, ROWS + 1);
  /* The old path is alive: it writes, or delivers what was copied. */
  trilha_producer_run(&s.p, "INSERT INTO old_outbox VALUES (1002, 'k1', 'nota.emitida', '{}', 0)");
  REFUSED(trilha_outbox_path_take(s.outbox, NOTES, false, USER, REASON, NULL, error), "IMPORT_CHANGED");
  trilha_producer_run(&s.p, "UPDATE old_outbox SET sent = 1 WHERE id IN (2, 1002)");
  REFUSED(trilha_outbox_path_take(s.outbox, NOTES, false, USER, REASON, NULL, error), "IMPORT_CHANGED");
  CHECKED(trilha_outbox_path_take(s.outbox, NOTES, true, USER, REASON, NULL, error));
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_upkeep WHERE subject LIKE '%(override)'"), 1);
  close_scene(&s);
}

static void an_empty_backlog_and_a_table_that_does_not_fit_are_told(void **state) {
  scene s = open_scene(state, 1);
  trilha_imported done;
  trilha_error why = {0};
  hold(&s, NOTES, "old-relay");
  trilha_producer_run(&s.p, "UPDATE old_outbox SET sent = 1");
  CHECKED(import(&s, 0, false, &done, error));
  assert_true(done.finished && done.total == 0 && done.rows == 0);
  trilha_producer_run(&s.p, "ALTER TABLE old_outbox RENAME COLUMN entity TO thing");
  trilha_producer_run(&s.p, "DELETE FROM {p}outbox_import");
  assert_int_equal(import(&s, 0, true, &done, &why), TRILHA_INVALID);
  assert_string_equal(why.code, "IMPORT_TABLE");
  assert_non_null(strstr(why.text, "entity"));
  trilha_producer_run(&s.p, "DROP TABLE old_outbox");
  REFUSED(import(&s, 0, true, &done, error), "IMPORT_TABLE");
  close_scene(&s);
}

static trilha_status import_mapping(const scene *s, const char *mapping, trilha_error *error) {
  trilha_imported done;
  const trilha_import_options options = {.mapping = trilha_text_of(mapping), .dry_run = true};
  return trilha_outbox_import(s->outbox, &options, NULL, NULL, &done, error);
}

/* Right but for these two. */
#define FIELDS(tenant, message_id)                                                                                     \
  "{\"name\": \"old\", \"holder\": \"h\", \"table\": \"t\", \"position\": \"id\", \"fields\": {\"tenant_id\": " tenant \
  ", \"aggregate_type\": \"a\", \"aggregate_key\": \"a\", \"message_type\": \"a\", \"version\": \"a\", \"payload\": "  \
  "\"a\", \"origin\": \"a\", \"message_id\": " message_id "}}"

static void a_mapping_that_is_wrong_is_refused_with_its_pointers(void **state) {
  static const struct {
    const char *mapping, *said;
  } wrong[] = {{"[]", "object"},
               {"{\"name\": \"Old\"}", "/name"},
               {"{\"name\": \"old\", \"holder\": \"h\", \"table\": \"t\", \"position\": \"id\", \"sql\": \"DROP\", "
                "\"fields\": {}}",
                "/sql is not known here"},
               {"{\"name\": \"old\", \"holder\": \"h\", \"table\": \"t\", \"position\": \"id\", \"fields\": "
                "{\"payload\": {\"value\": "
                "\"{}\"}}}",
                "/fields/payload"},
               {"{\"name\": \"old\", \"holder\": \"h\", \"table\": \"t\", \"position\": \"id\", \"where\": {\"a\": "
                "[1]}, \"fields\": {}}",
                "/where/a"},
               {FIELDS("5", "\"id\""), "/fields/tenant_id"},
               {FIELDS("{\"value\": \"t\", \"x\": 1}", "\"id\""), "/fields/tenant_id/x"},
               {FIELDS("\"t\"", "{\"from\": \"id\"}"), "/fields/message_id"},
               {FIELDS("\"t\"", "[]"), "/fields/message_id"}};
  scene s = open_scene(state, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    trilha_error why = {0};
    assert_int_equal(import_mapping(&s, wrong[i].mapping, &why), TRILHA_INVALID);
    assert_string_equal(why.code, "IMPORT_MAPPING");
    if (strstr(why.text, wrong[i].said) == NULL) fail_msg("%s: %s", wrong[i].mapping, why.text);
  }
  close_scene(&s);
}

/* Nobody but the schema's owner takes over or imports (ruling R39). */
static void no_duty_gives_the_right_to_move_over(void **state) {
  scene s = open_scene(state, 0);
  if (s.p.pg == NULL) {
    trilha_error why = {0};
    assert_int_equal(trilha_outbox_grant(s.outbox, TRILHA_TEXT("x"), TRILHA_TEXT("operator"), &why),
                     TRILHA_UNSUPPORTED); /* who may write the file may do everything */
  } else {
    const char *sql =
        "SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'billing'::regnamespace AND (p.proname LIKE "
        "'outbox\\_import%' OR p.proname IN ('outbox_path_hold', 'outbox_path_take'))";
    char granted[400];
    assert_true(count(&s, sql) >= 8);
    CHECKED(trilha_outbox_grant(s.outbox, TRILHA_TEXT("pg_monitor"), TRILHA_TEXT("operator"), error));
    CHECKED(trilha_outbox_grant(s.outbox, TRILHA_TEXT("pg_monitor"), TRILHA_TEXT("relay"), error));
    snprintf(granted, sizeof granted, "%s AND has_function_privilege('pg_monitor', p.oid, 'EXECUTE')", sql);
    assert_int_equal(count(&s, granted), 0);
  }
  close_scene(&s);
}

/* --- killed --------------------------------------------------------------------------------------------------------
 */

#ifdef TRILHA_FAULT_POINTS
/* An import in a process of its own, which must die of the fault. */
static void expect_killed(const scene *s, const char *fault) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    trilha_error why = {0};
    trilha_imported done;
    setenv("TRILHA_FAULT", fault, 1);
    trilha_fault_reset();
    scene mine = *s;
    mine.outbox = trilha_producer_outbox(s->f);
    (void)!import(&mine, 0, false, &done, &why);
    _exit(0);
  }
  int ended = 0;
  assert_int_equal(waitpid(pid, &ended, 0), pid);
  if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGKILL) fail_msg("%s: %x", fault, (unsigned)ended);
}

static void killed_anywhere_an_import_goes_on_without_a_repeat_or_a_gap(void **state) {
  static const char *const faults[] = {"outbox.import.begun=kill", "outbox.import.after_batch=kill:1",
                                       "outbox.import.after_batch=kill:2", "outbox.import.after_batch=kill:3"};
  scene s = open_scene(state, ROWS);
  trilha_imported done;
  hold(&s, NOTES, "old-relay");
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) expect_killed(&s, faults[i]);
  if (s.p.pg == NULL) expect_killed(&s, "sqlite.write.before_commit=kill:2");
  if (s.p.pg != NULL) expect_killed(&s, "postgres.exchange.before_last_step=kill:2");
  CHECKED(import(&s, 0, false, &done, error));
  assert_true(done.finished && done.rows == ROWS);
  expect_backlog(&s, ROWS);
  close_scene(&s);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_type_that_another_dispatcher_holds_is_neither_accepted_nor_sent),
      TEST(a_run_stops_in_front_of_a_held_type_and_keeps_what_it_sent),
      TEST(a_path_has_one_holder_and_each_change_is_in_the_trail),
      TEST(a_lane_that_is_put_aside_while_its_path_is_taken_goes_on),
      TEST(an_import_needs_the_holder_s_path_and_comes_over_once),
      TEST(what_is_imported_keeps_order_ids_and_payloads_and_leaves_when_the_path_is_taken),
      TEST(an_import_that_is_stopped_goes_on_behind_its_last_batch),
      TEST(a_row_that_enqueue_refuses_is_named_and_stops_the_import_before_its_batch),
      TEST(a_foreign_table_that_changes_after_the_cut_is_told_and_the_cut_moves),
      TEST(an_empty_backlog_and_a_table_that_does_not_fit_are_told),
      TEST(a_mapping_that_is_wrong_is_refused_with_its_pointers),
      TEST(no_duty_gives_the_right_to_move_over),
#ifdef TRILHA_FAULT_POINTS
      TEST(killed_anywhere_an_import_goes_on_without_a_repeat_or_a_gap),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
