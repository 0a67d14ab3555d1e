/* consumer: durable consumers (specification 000, sections 3.6 and 5.3; T18, T20; rulings R9, R14, R15, R18, R19; field
 * reports B13, G2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "conformance/publishing.h"
#include "support/own_program.h"
#include "trilha/delivery.h"

extern char **environ;

/* A holder's lease outlasts whatever stalls the machine; who stands by with the short one looks often. */
enum { SEEN_MAX = 4096, LEASE_MS = 60000, STANDBY_LEASE_MS = 2000, PATIENCE_MS = 60000 };

typedef struct witness {
  int64_t seen[SEEN_MAX];
  char types[SEEN_MAX];
  int64_t attempts[SEEN_MAX];
  _Atomic size_t count; /* read by tests while a consumer's thread counts */
  int64_t fail_at;      /* the event with this sequence fails while fail_left > 0 */
  int fail_left;
} witness;

static trilha_status see(void *user, const trilha_event *event, trilha_delivery *delivery) {
  witness *w = user;
  if (w->count < SEEN_MAX) {
    w->attempts[w->count] = trilha_delivery_attempt(delivery);
    w->types[w->count] = event->tipo[strlen(event->tipo) - 1];
    w->seen[w->count++] = event->sequence_number;
  }
  if (event->payload_estado != TRILHA_PAYLOAD_REDIGIDO) return trilha_delivery_fail(delivery, "not redacted");
  if (event->sequence_number != w->fail_at || w->fail_left <= 0) return TRILHA_OK;
  w->fail_left--;
  return trilha_delivery_fail(delivery, "falhou");
}

static const trilha_text both[] = {{"teste.a", 7}, {"teste.b", 7}};

static trilha *begin(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_fixture_register(f->handle, "teste.b", "1.0.0", trilha_test_schema);
  return f->handle;
}

static void run_with(trilha *handle, trilha_consumer_options options) {
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  if (trilha_consumer_new(handle, &options, &consumer, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  if (trilha_consumer_run(consumer, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  trilha_consumer_free(consumer);
}

/* Drains what is due for both types. */
static void drain(trilha *handle, witness *w, trilha_consumer_from from) {
  run_with(handle, (trilha_consumer_options){.colonia = TRILHA_TEXT("D-4"),
                                             .types = both,
                                             .type_count = 2,
                                             .handler = see,
                                             .handler_nome = TRILHA_TEXT("ver"),
                                             .user = w,
                                             .from = from,
                                             .once = true});
}

static void R9_a_missing_cursor_is_seeded_with_the_largest_sequence_and_never_overwritten(void **state) {
  trilha *handle = begin(state);
  witness w = {0};
  for (int i = 0; i < 5; i++) publish_number(handle, "teste.a", i);
  drain(handle, &w, TRILHA_FROM_NOW);
  assert_int_equal(w.count, 0);
  assert_int_equal(cursor_of(*state, "teste.a"), 5);
  assert_int_equal(cursor_of(*state, "teste.b"), 5);
  publish_number(handle, "teste.b", 6);
  drain(handle, &w, TRILHA_FROM_START); /* the cursors exist: they are not moved back */
  assert_int_equal(w.count, 1);
  assert_int_equal(w.seen[0], 6);
  assert_int_equal(cursor_of(*state, "teste.b"), 6);
  assert_int_equal(cursor_of(*state, "teste.a"), 5);
}

static void R9_from_start_delivers_everything_and_is_audited(void **state) {
  trilha *handle = begin(state);
  trilha_fixture *f = *state;
  witness w = {0};
  for (int i = 0; i < 7; i++) publish_number(handle, i % 2 == 0 ? "teste.a" : "teste.b", i);
  drain(handle, &w, TRILHA_FROM_START);
  assert_int_equal(w.count, 7);
  for (size_t i = 0; i < w.count; i++) assert_int_equal(w.seen[i], (int64_t)i + 1);
  assert_int_equal(
      trilha_fixture_count(f, f->is_postgres
                                  ? "SELECT count(*) FROM core.audit_log WHERE action = 'trilha.consumer.positioned'"
                                  : "SELECT count(*) FROM core_audit_log WHERE action = 'trilha.consumer.positioned'"),
      1);
}

static void T18_R15_boot_replay_after_repair_resolves_and_moves_the_cursor(void **state) {
  trilha *handle = begin(state);
  witness w = {.fail_at = 3, .fail_left = 1};
  for (int i = 0; i < 3; i++) publish_number(handle, "teste.a", i);
  drain(handle, &w, TRILHA_FROM_START);
  assert_int_equal(w.count, 3);
  assert_int_equal(cursor_of(*state, "teste.a"), 2); /* ruling R14: a failure never moves the cursor */
  assert_int_equal(count_letters_with(handle, "pendente"), 1);
  drain(handle, &w, TRILHA_FROM_NOW);
  assert_int_equal(w.count, 4);
  assert_int_equal(w.seen[3], 3);
  assert_int_equal(w.attempts[2], 1);
  assert_int_equal(w.attempts[3], 2); /* from the log again, and counted */
  assert_int_equal(cursor_of(*state, "teste.a"), 3);
  assert_int_equal(count_letters_with(handle, "resolved"), 1);
}

static void R14_a_later_success_passes_a_dead_lettered_event_which_is_not_sent_again(void **state) {
  trilha *handle = begin(state);
  witness w = {.fail_at = 2, .fail_left = 100};
  for (int i = 0; i < 4; i++) publish_number(handle, "teste.a", i);
  drain(handle, &w, TRILHA_FROM_START);
  assert_int_equal(w.count, 4);
  assert_int_equal(cursor_of(*state, "teste.a"), 4);
  assert_int_equal(count_letters_with(handle, "pendente"), 1);
  drain(handle, &w, TRILHA_FROM_NOW);
  assert_int_equal(w.count, 4);
}

static void T20_R19_a_failing_type_leaves_the_other_s_cursor_alone(void **state) {
  trilha *handle = begin(state);
  witness w = {.fail_at = 5, .fail_left = 1};
  for (int i = 1; i <= 6; i++) publish_number(handle, i % 2 == 1 ? "teste.a" : "teste.b", i);
  drain(handle, &w, TRILHA_FROM_START);
  for (size_t i = 0; i < 6; i++) assert_int_equal(w.seen[i], (int64_t)i + 1); /* merged by sequence */
  assert_int_equal(cursor_of(*state, "teste.a"), 3);
  assert_int_equal(cursor_of(*state, "teste.b"), 6);
  drain(handle, &w, TRILHA_FROM_NOW);
  assert_int_equal(w.count, 7);
  assert_int_equal(w.seen[6], 5);
  assert_int_equal(cursor_of(*state, "teste.a"), 5);
  assert_int_equal(cursor_of(*state, "teste.b"), 6);
}

static void R16_boot_replay_gives_a_poisonous_event_up_after_its_attempts(void **state) {
  trilha *handle = begin(state);
  witness w = {.fail_at = 1, .fail_left = 100};
  publish_number(handle, "teste.a", 1);
  for (int i = 0; i < 8; i++) drain(handle, &w, TRILHA_FROM_START);
  assert_int_equal(w.count, 5);
  assert_int_equal(count_letters_with(handle, "failed_permanent"), 1);
}

/* --- a consumer on a thread of its own ------------------------------------------------------------------------ */

typedef struct running {
  trilha_consumer *consumer;
  pthread_t thread;
  trilha_status status;
} running;

static void *run_consumer(void *user) {
  running *r = user;
  r->status = trilha_consumer_run(r->consumer, NULL);
  return NULL;
}

static running start(trilha *handle, trilha_handler handler, void *user, unsigned lease_ms) {
  running r = {0};
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = both,
                                     .type_count = 2,
                                     .handler = handler,
                                     .user = user,
                                     .from = TRILHA_FROM_START,
                                     .lease_ms = lease_ms};
  assert_int_equal(trilha_consumer_new(handle, &options, &r.consumer, NULL), TRILHA_OK);
  return r;
}

static void stop(running *r) {
  trilha_consumer_stop(r->consumer);
  pthread_join(r->thread, NULL);
  trilha_consumer_free(r->consumer);
  assert_int_equal(r->status, TRILHA_OK);
}

static void wait_until_seen(const _Atomic size_t *count, size_t wanted) {
  trilha_deadline end = trilha_deadline_in_ms(PATIENCE_MS);
  while (*count < wanted && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(10);
  assert_true(*count >= wanted);
}

static void a_running_consumer_follows_the_log_and_stops_cleanly(void **state) {
  trilha *handle = begin(state);
  trilha *publisher = trilha_fixture_open(*state, ((trilha_fixture *)*state)->keyring);
  witness w = {0};
  running r = start(handle, see, &w, LEASE_MS);
  assert_int_equal(pthread_create(&r.thread, NULL, run_consumer, &r), 0);
  for (int i = 0; i < 20; i++) publish_number(publisher, "teste.a", i);
  wait_until_seen(&w.count, 20);
  stop(&r);
  assert_int_equal(cursor_of(*state, "teste.a"), 20);
  trilha_close(publisher);
}

static void B13_R17_a_reprocess_asked_elsewhere_runs_here_and_never_moves_the_cursor(void **state) {
  trilha *handle = begin(state);
  trilha *other = trilha_fixture_open(*state, ((trilha_fixture *)*state)->keyring);
  witness w = {.fail_at = 3, .fail_left = 1};
  for (int i = 0; i < 10; i++) publish_number(handle, "teste.a", i);
  running r = start(handle, see, &w, LEASE_MS);
  assert_int_equal(pthread_create(&r.thread, NULL, run_consumer, &r), 0);
  wait_until_seen(&w.count, 10);
  trilha_reprocessed done = {0};
  trilha_error err = {0};
  if (trilha_reprocess(other, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), PATIENCE_MS, &done, &err) != TRILHA_OK)
    fail_msg("%s %s", err.code, err.text);
  assert_int_equal(done.reprocessados, 1);
  assert_int_equal(w.count, 11);
  assert_int_equal(w.seen[10], 3);
  stop(&r);
  assert_int_equal(cursor_of(*state, "teste.a"), 10);
  assert_int_equal(count_letters_with(handle, "resolved"), 1);
  trilha_close(other);
}

static void R17_a_reprocess_asked_elsewhere_is_answered_by_every_group_of_the_colony(void **state) {
  trilha *handle = begin(state);
  trilha *other = trilha_fixture_open(*state, ((trilha_fixture *)*state)->keyring);
  witness seen[2] = {{.fail_at = 1, .fail_left = 1}, {.fail_at = 2, .fail_left = 2}};
  running r[2] = {{0}};
  for (size_t i = 0; i < 2; i++) publish_number(handle, i == 0 ? "teste.a" : "teste.b", (int)i);
  for (size_t i = 0; i < 2; i++) {
    trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                       .grupo = i == 0 ? TRILHA_TEXT("um") : TRILHA_TEXT("dois"),
                                       .types = &both[i],
                                       .type_count = 1,
                                       .handler = see,
                                       .user = &seen[i],
                                       .from = TRILHA_FROM_START,
                                       .lease_ms = LEASE_MS};
    assert_int_equal(trilha_consumer_new(handle, &options, &r[i].consumer, NULL), TRILHA_OK);
    assert_int_equal(pthread_create(&r[i].thread, NULL, run_consumer, &r[i]), 0);
    wait_until_seen(&seen[i].count, 1);
  }
  trilha_reprocessed done = {0};
  for (trilha_deadline end = trilha_deadline_in_ms(PATIENCE_MS); count_letters_with(handle, "pendente") < 2;) {
    assert_false(trilha_deadline_passed(end));
    trilha_clock_sleep_ms(10);
  }
  assert_int_equal(trilha_reprocess(other, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), PATIENCE_MS, &done, NULL),
                   TRILHA_OK);
  assert_int_equal(done.reprocessados, 1);
  assert_int_equal(done.failed, 1);
  assert_null(done.reason);
  for (size_t i = 0; i < 2; i++) stop(&r[i]);
  assert_int_equal(seen[0].count, 2);
  assert_int_equal(seen[1].count, 2);
  assert_int_equal(count_letters_with(handle, "resolved"), 1);
  assert_int_equal(count_letters_with(handle, "pendente"), 1);
  trilha_close(other);
}

static void R18_a_second_consumer_stands_by_and_takes_over(void **state) {
  trilha *handle = begin(state);
  trilha *other = trilha_fixture_open(*state, ((trilha_fixture *)*state)->keyring);
  witness one = {0}, two = {0};
  running first = start(handle, see, &one, LEASE_MS), second = start(other, see, &two, STANDBY_LEASE_MS);
  assert_int_equal(pthread_create(&first.thread, NULL, run_consumer, &first), 0);
  publish_number(handle, "teste.a", 1);
  wait_until_seen(&one.count, 1);
  assert_int_equal(pthread_create(&second.thread, NULL, run_consumer, &second), 0);
  publish_number(handle, "teste.a", 2);
  wait_until_seen(&one.count, 2);
  assert_int_equal(two.count, 0);
  trilha_consumer_states *states = NULL;
  assert_int_equal(trilha_consumers_list(handle, TRILHA_TEXT("D-4"), &states, NULL), TRILHA_OK);
  assert_int_equal(states->count, 2);
  assert_non_null(states->items[0].holder);
  trilha_consumer_states_free(states);
  stop(&first);
  publish_number(handle, "teste.a", 3);
  wait_until_seen(&two.count, 1);
  assert_int_equal(two.seen[0], 3);
  stop(&second);
  assert_int_equal(trilha_consumers_list(handle, TRILHA_TEXT("D-4"), &states, NULL), TRILHA_OK);
  assert_string_equal(states->items[0].state, "stopped");
  assert_null(states->items[0].holder);
  assert_int_equal(states->items[0].last_sequence, 3);
  trilha_consumer_states_free(states);
  trilha_close(other);
}

static void bad_options_are_refused_with_what_is_wrong(void **state) {
  trilha *handle = begin(state);
  witness w = {0};
  const trilha_consumer_options good = {
      .colonia = TRILHA_TEXT("D-4"), .types = both, .type_count = 2, .handler = see, .user = &w};
  trilha_consumer_options bad[5] = {good, good, good, good, good};
  const trilha_text twice[] = {TRILHA_TEXT("teste.a"), TRILHA_TEXT("teste.a")};
  bad[0].colonia = (trilha_text){0};
  bad[1].type_count = 0;
  bad[2].types = twice;
  bad[3].handler = NULL;
  bad[4].lease_ms = 10;
  for (size_t i = 0; i < 5; i++) {
    trilha_consumer *consumer = NULL;
    trilha_error err = {0};
    assert_int_equal(trilha_consumer_new(handle, &bad[i], &consumer, &err), TRILHA_USAGE);
    assert_string_equal(err.code, "CONSUMER_OPTION_INVALID");
  }
  trilha_consumer_options other = good;
  other.colonia = TRILHA_TEXT("d4"); /* the schema of D-4 */
  other.once = true;
  drain(handle, &w, TRILHA_FROM_NOW);
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_consumer_new(handle, &other, &consumer, NULL), TRILHA_OK);
  assert_int_equal(trilha_consumer_run(consumer, &err), TRILHA_CONFLICT);
  assert_string_equal(err.code, "COLONY_NAME_COLLISION");
  trilha_consumer_free(consumer);
}

/* --- processes ------------------------------------------------------------------------------------------------- */

typedef struct effect {
  const trilha_fixture *f;
  PGconn *pg;
  sqlite3 *db;
} effect;

static bool run_sql(effect *e, const char *sql) {
  if (e->pg == NULL) return sqlite3_exec(e->db, sql, NULL, NULL, NULL) == SQLITE_OK;
  PGresult *result = PQexec(e->pg, sql);
  bool ok = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
  PQclear(result);
  return ok;
}

static void open_effect(effect *e, const char *url) {
  if (strncmp(url, "sqlite:", 7) != 0) {
    e->pg = PQconnectdb(url);
    return;
  }
  if (sqlite3_open_v2(url + 7, &e->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) _exit(3);
  sqlite3_busy_timeout(e->db, 20000);
}

/* The effect is a row; it and the cursor share a transaction. */
static trilha_status count_effect(void *user, const trilha_event *event, trilha_delivery *delivery) {
  effect *e = user;
  char sql[128];
  trilha_error err = {0};
  snprintf(sql, sizeof sql, "INSERT INTO effect (sequence_number) VALUES (%lld)", (long long)event->sequence_number);
  if (!run_sql(e, e->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE")) return trilha_delivery_fail(delivery, "begin");
  bool ok = run_sql(e, sql);
  if (ok) ok = trilha_delivery_advance_in(delivery, e->pg != NULL ? (void *)e->pg : (void *)e->db, &err) == TRILHA_OK;
  if (ok) ok = run_sql(e, "COMMIT");
  if (ok) return TRILHA_OK;
  run_sql(e, "ROLLBACK");
  return trilha_delivery_fail(delivery, "effect refused: %s", err.code);
}

static int role_consumer(const char *url, const char *lease_ms) {
  effect e = {0};
  trilha *handle = NULL;
  trilha_options options = {.store_url = url};
  trilha_error err = {0};
  open_effect(&e, url);
  if (trilha_open(&options, &handle, &err) != TRILHA_OK) return 3;
  trilha_consumer_options consumer_options = {.colonia = TRILHA_TEXT("D-4"),
                                              .types = both,
                                              .type_count = 2,
                                              .handler = count_effect,
                                              .user = &e,
                                              .from = TRILHA_FROM_START,
                                              .lease_ms = (unsigned)atoi(lease_ms)};
  trilha_consumer *consumer = NULL;
  if (trilha_consumer_new(handle, &consumer_options, &consumer, &err) != TRILHA_OK) return 4;
  if (trilha_consumer_run(consumer, &err) != TRILHA_OK) fprintf(stderr, "consumer: %s %s\n", err.code, err.text);
  return 0;
}

static int role_publisher(const char *url, const char *keyring) {
  trilha *handle = NULL;
  trilha_options options = {.store_url = url, .keyring = keyring};
  if (trilha_open(&options, &handle, NULL) != TRILHA_OK) return 3;
  for (int i = 0; i < 150; i++) {
    trilha_publication p = {
        .tipo = i % 3 == 0 ? both[0] : both[1], .origem = TRILHA_TEXT("D-1a"), .payload = TRILHA_TEXT("{\"n\":1}")};
    trilha_publish_result r;
    if (trilha_publish(handle, &p, &r, NULL) != TRILHA_OK) return 4;
    trilha_publish_result_done(&r);
  }
  trilha_close(handle);
  return 0;
}

static trilha_status die(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  (void)event;
  (void)delivery;
  _exit(7);
}

/* Dies after the event is stored and before anybody else was told. */
static int role_dying(const char *url, const char *keyring) {
  trilha *handle = NULL;
  trilha_options options = {.store_url = url, .keyring = keyring};
  if (trilha_open(&options, &handle, NULL) != TRILHA_OK) return 3;
  trilha_subscription s = {.tipo = both[0], .colonia = TRILHA_TEXT("D-9"), .handler = die};
  trilha_publication p = {.tipo = both[0],
                          .origem = TRILHA_TEXT("D-1a"),
                          .payload = TRILHA_TEXT("{\"n\":1}"),
                          .event_id = TRILHA_TEXT("0a000000-0000-0000-0000-00000000000f")};
  trilha_publish_result r;
  if (trilha_subscribe(handle, &s, NULL, NULL) != TRILHA_OK) return 4;
  (void)!trilha_publish(handle, &p, &r, NULL);
  return 5; /* not reached */
}

static pid_t spawn_role(const char *role, const char *a, const char *b) {
  pid_t pid = 0;
  char *argv[] = {trilha_own_program(), (char *)(uintptr_t) "--role", (char *)(uintptr_t)role,
                  (char *)(uintptr_t)a, (char *)(uintptr_t)b,         NULL};
  assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
  return pid;
}

static void two_groups_of_a_colony_never_share_a_type_at_once(void **state) {
  trilha *handle = begin(state);
  witness one = {0}, two = {0};
  running first = start(handle, see, &one, LEASE_MS), second = {0};
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .grupo = TRILHA_TEXT("outro"),
                                     .types = both,
                                     .type_count = 1,
                                     .handler = see,
                                     .user = &two,
                                     .lease_ms = STANDBY_LEASE_MS};
  assert_int_equal(trilha_consumer_new(handle, &options, &second.consumer, NULL), TRILHA_OK);
  assert_int_equal(pthread_create(&first.thread, NULL, run_consumer, &first), 0);
  publish_number(handle, "teste.a", 1);
  wait_until_seen(&one.count, 1);
  assert_int_equal(pthread_create(&second.thread, NULL, run_consumer, &second), 0);
  publish_number(handle, "teste.a", 2);
  wait_until_seen(&one.count, 2);
  trilha_clock_sleep_ms(300);
  assert_int_equal(two.count, 0);
  stop(&first);
  publish_number(handle, "teste.a", 3);
  wait_until_seen(&two.count, 1);
  stop(&second);
  assert_int_equal(two.seen[0], 3);
}

/* Names that quote each other share nothing, and are shown with the group that has them. */
static void groups_are_told_apart_whatever_their_types_are_called(void **state) {
  trilha *handle = begin(state);
  const trilha_text names[] = {TRILHA_TEXT("b"), TRILHA_TEXT("x\"b"), TRILHA_TEXT("x\\"), TRILHA_TEXT("a\"b\\c{}é")};
  const trilha_text groups[] = {TRILHA_TEXT("um"), TRILHA_TEXT("dois"), TRILHA_TEXT("tr\"ês"), TRILHA_TEXT("quatro")};
  witness w = {0};
  running r[4] = {{0}};
  for (size_t i = 0; i < 4; i++) {
    trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                       .grupo = groups[i],
                                       .types = &names[i],
                                       .type_count = 1,
                                       .handler = see,
                                       .user = &w,
                                       .lease_ms = LEASE_MS};
    assert_int_equal(trilha_consumer_new(handle, &options, &r[i].consumer, NULL), TRILHA_OK);
    assert_int_equal(pthread_create(&r[i].thread, NULL, run_consumer, &r[i]), 0);
  }
  size_t live = 0;
  for (trilha_deadline end = trilha_deadline_in_ms(PATIENCE_MS); live < 4;) {
    trilha_consumer_states *states = NULL;
    assert_false(trilha_deadline_passed(end));
    assert_int_equal(trilha_consumers_list(handle, TRILHA_TEXT("D-4"), &states, NULL), TRILHA_OK);
    live = 0;
    for (size_t i = 0; i < states->count; i++)
      for (size_t k = 0; k < 4; k++)
        live += trilha_text_is(names[k], states->items[i].tipo) && trilha_text_is(groups[k], states->items[i].grupo) &&
                states->items[i].holder != NULL;
    trilha_consumer_states_free(states);
    trilha_clock_sleep_ms(10);
  }
  for (size_t i = 0; i < 4; i++) stop(&r[i]);
}

static void G2_an_event_whose_publisher_died_before_delivering_reaches_the_consumer(void **state) {
  trilha *handle = begin(state);
  trilha_fixture *f = *state;
  witness w = {0};
  running r = start(handle, see, &w, LEASE_MS);
  assert_int_equal(pthread_create(&r.thread, NULL, run_consumer, &r), 0);
  int status = 0;
  waitpid(spawn_role("dying", f->url, f->keyring), &status, 0);
  assert_int_equal(WEXITSTATUS(status), 7);
  trilha_publication again = {.tipo = both[0],
                              .origem = TRILHA_TEXT("D-1a"),
                              .payload = TRILHA_TEXT("{\"n\":1}"),
                              .event_id = TRILHA_TEXT("0a000000-0000-0000-0000-00000000000f")};
  trilha_publish_result result;
  assert_int_equal(trilha_publish(handle, &again, &result, NULL), TRILHA_OK);
  assert_true(result.duplicate);
  trilha_publish_result_done(&result);
  wait_until_seen(&w.count, 1);
  stop(&r);
  assert_int_equal(w.count, 1);
}

static void make_effect_table(trilha_fixture *f) {
  effect e = {0};
  open_effect(&e, f->url);
  assert_true(run_sql(&e, "CREATE TABLE effect (sequence_number BIGINT NOT NULL)"));
  if (e.pg != NULL) PQfinish(e.pg);
  sqlite3_close(e.db);
}

static int64_t effects(trilha_fixture *f) {
  return trilha_fixture_count(f, "SELECT count(*) FROM effect");
}

static void kill_and_reap(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

static void wait_for_effects(trilha_fixture *f, int64_t wanted) {
  trilha_deadline end = trilha_deadline_in_ms(90000);
  while (effects(f) < wanted && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(50);
  assert_int_equal(effects(f), wanted);
}

static void an_effect_in_the_cursor_s_transaction_happens_once_however_often_the_consumer_is_killed(void **state) {
  trilha_fixture *f = *state;
  begin(state);
  make_effect_table(f);
  pid_t publishers[4];
  for (int i = 0; i < 4; i++) publishers[i] = spawn_role("publisher", f->url, f->keyring);
  for (unsigned i = 0, seed = 7; i < 6; i++) {
    pid_t consumer = spawn_role("consumer", f->url, "1000");
    trilha_clock_sleep_ms(300 + rand_r(&seed) % 900);
    kill_and_reap(consumer);
  }
  for (int i = 0; i < 4; i++) {
    int status = 0;
    waitpid(publishers[i], &status, 0);
    assert_int_equal(status, 0);
  }
  pid_t last = spawn_role("consumer", f->url, "1000");
  wait_for_effects(f, 600);
  kill_and_reap(last);
  assert_int_equal(trilha_fixture_count(f, "SELECT count(DISTINCT sequence_number) FROM effect"), 600);
  assert_int_equal(count_letters_with(f->handle, NULL), 0);
}

/* A file: nobody is in the writers' queue, and nobody writes. */
static bool is_free(const trilha_fixture *f) {
  char path[160];
  sqlite3 *db = NULL;
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (f->is_postgres) return true;
  snprintf(path, sizeof path, "%s.lock", f->url + strlen("sqlite:"));
  int fd = open(path, O_RDWR);
  assert_true(fd >= 0);
  assert_int_equal(fcntl(fd, F_OFD_GETLK, &all), 0);
  close(fd);
  assert_int_equal(sqlite3_open_v2(f->url + strlen("sqlite:"), &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  bool idle = sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL) == SQLITE_OK;
  sqlite3_close(db);
  return idle && all.l_type == F_UNLCK;
}

/* A process that is stopped inside a transaction keeps the file of SQLite from everybody: not what is tested here. */
static void stop_outside_a_transaction(const trilha_fixture *f, pid_t pid) {
  trilha_deadline end = trilha_deadline_in_ms(PATIENCE_MS);
  for (;;) {
    int status = 0;
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    if (is_free(f)) return;
    kill(pid, SIGCONT);
    assert_false(trilha_deadline_passed(end));
    trilha_clock_sleep_ms(5);
  }
}

static void R18_a_holder_stopped_past_its_lease_changes_nothing_when_it_goes_on(void **state) {
  trilha_fixture *f = *state;
  begin(state);
  make_effect_table(f);
  pid_t first = spawn_role("consumer", f->url, "1000");
  publish_number(f->handle, "teste.a", 1);
  wait_for_effects(f, 1);
  stop_outside_a_transaction(f, first);
  pid_t second = spawn_role("consumer", f->url, "1000");
  publish_number(f->handle, "teste.a", 2);
  wait_for_effects(f, 2);
  kill(first, SIGCONT);
  for (int i = 3; i <= 30; i++) publish_number(f->handle, "teste.a", i);
  wait_for_effects(f, 30);
  trilha_clock_sleep_ms(300);
  assert_int_equal(effects(f), 30);
  assert_int_equal(trilha_fixture_count(f, "SELECT count(DISTINCT sequence_number) FROM effect"), 30);
  assert_int_equal(cursor_of(*state, "teste.a"), 30);
  kill_and_reap(first);
  kill_and_reap(second);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 4 && strcmp(argv[1], "--role") == 0)
    return strcmp(argv[2], "consumer") == 0 ? role_consumer(argv[3], argv[4])
           : strcmp(argv[2], "dying") == 0  ? role_dying(argv[3], argv[4])
                                            : role_publisher(argv[3], argv[4]);
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(R9_a_missing_cursor_is_seeded_with_the_largest_sequence_and_never_overwritten),
      ON_A_FRESH_STORE(R9_from_start_delivers_everything_and_is_audited),
      ON_A_FRESH_STORE(T18_R15_boot_replay_after_repair_resolves_and_moves_the_cursor),
      ON_A_FRESH_STORE(R14_a_later_success_passes_a_dead_lettered_event_which_is_not_sent_again),
      ON_A_FRESH_STORE(T20_R19_a_failing_type_leaves_the_other_s_cursor_alone),
      ON_A_FRESH_STORE(R16_boot_replay_gives_a_poisonous_event_up_after_its_attempts),
      ON_A_FRESH_STORE(a_running_consumer_follows_the_log_and_stops_cleanly),
      ON_A_FRESH_STORE(B13_R17_a_reprocess_asked_elsewhere_runs_here_and_never_moves_the_cursor),
      ON_A_FRESH_STORE(R17_a_reprocess_asked_elsewhere_is_answered_by_every_group_of_the_colony),
      ON_A_FRESH_STORE(R18_a_second_consumer_stands_by_and_takes_over),
      ON_A_FRESH_STORE(two_groups_of_a_colony_never_share_a_type_at_once),
      ON_A_FRESH_STORE(groups_are_told_apart_whatever_their_types_are_called),
      ON_A_FRESH_STORE(G2_an_event_whose_publisher_died_before_delivering_reaches_the_consumer),
      ON_A_FRESH_STORE(bad_options_are_refused_with_what_is_wrong),
      ON_A_FRESH_STORE(an_effect_in_the_cursor_s_transaction_happens_once_however_often_the_consumer_is_killed),
      ON_A_FRESH_STORE(R18_a_holder_stopped_past_its_lease_changes_nothing_when_it_goes_on),
  };
  return cmocka_run_group_tests_name("consumer", tests, NULL, NULL);
}
