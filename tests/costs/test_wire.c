/* costs: what crosses the wire for a publish, an enqueue and a batch of the relay, counted where libpq is called, and
 * what an enqueue locks and logs, told by its own session. Nothing is timed, and no neighbour moves a count. */
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
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/text.h"
#include "outbox/producer.h"
#include "support/expect.h"
#include "trilha/relay.h"

enum { LANES = 16, MESSAGES = 15, BATCH = 1000, TIMES = 8, PATIENCE_MS = 300000 };

/* --- counting ------------------------------------------------------------------------------------------------------
 */

/* The library, which loads libpq late, takes the functions that the program has: these. A pipeline is one round trip:
 * its Sync. What libpq calls of its own in turn is counted once, where it was called. */
#define COUNTED __attribute__((visibility("default")))

typedef enum kind { OTHER, CLAIM, FETCH, SETTLE, RENEW, GRANT, KINDS } kind;

static _Atomic int of_kind[KINDS];     /* round trips of all threads */
static _Thread_local int trips;        /* of this one */
static _Thread_local kind in_pipeline; /* what it is about to send */

static void note(const char *command) {
  static const char *const names[KINDS] = {[CLAIM] = "outbox_claim(",
                                           [FETCH] = "outbox_fetch(",
                                           [SETTLE] = "outbox_settle(",
                                           [RENEW] = "outbox_renew(",
                                           [GRANT] = "outbox_service_may("};
  for (int k = CLAIM; k < KINDS; k++)
    if (strstr(command, names[k]) != NULL) in_pipeline = (kind)k;
}

static _Thread_local int depth; /* of these functions, in one another */

static void trip(void) {
  if (depth == 0) trips++;
}

/* The real one. ISO C knows no way from what dlsym() gives to a function but a copy. */
#define REAL(name, real)         \
  __typeof__(name) *real = NULL; \
  memcpy(&real, &(void *){dlsym(RTLD_NEXT, #name)}, sizeof real)

COUNTED PGresult *PQexec(PGconn *c, const char *query) {
  trip();
  REAL(PQexec, real);
  depth++;
  PGresult *gave = real(c, query);
  depth--;
  return gave;
}

COUNTED PGresult *PQexecParams(PGconn *c, const char *command, int count, const Oid *types, const char *const *values,
                               const int *lengths, const int *formats, int format) {
  trip();
  REAL(PQexecParams, real);
  depth++;
  PGresult *gave = real(c, command, count, types, values, lengths, formats, format);
  depth--;
  return gave;
}

COUNTED int PQsendQuery(PGconn *c, const char *query) {
  trip();
  REAL(PQsendQuery, real);
  depth++;
  int gave = real(c, query);
  depth--;
  return gave;
}

COUNTED int PQsendQueryParams(PGconn *c, const char *command, int count, const Oid *types, const char *const *values,
                              const int *lengths, const int *formats, int format) {
  if (depth == 0) note(command);
  REAL(PQsendQueryParams, real);
  depth++;
  int gave = real(c, command, count, types, values, lengths, formats, format);
  depth--;
  return gave;
}

COUNTED int PQpipelineSync(PGconn *c) {
  trip();
  atomic_fetch_add(&of_kind[in_pipeline], 1);
  in_pipeline = OTHER;
  REAL(PQpipelineSync, real);
  depth++;
  int gave = real(c);
  depth--;
  return gave;
}

/* --- publishing ----------------------------------------------------------------------------------------------------
 */

static const char schema[] = "{\"type\":\"object\",\"x-redacao\":\"manter\"}";

/* A handle that looks at the registry once. */
static trilha *open_handle(const trilha_fixture *f) {
  trilha_options options = {.store_url = f->url, .registry_refresh_ms = PATIENCE_MS};
  trilha *handle = NULL;
  trilha_fixture_register(f->handle, "custo.contado", "1.0.0", schema);
  CHECKED(trilha_open(&options, &handle, error));
  return handle;
}

static int trips_of_publish(trilha *handle, size_t count) {
  static trilha_publication publications[BATCH];
  static trilha_publish_result results[BATCH];
  for (size_t i = 0; i < count; i++)
    publications[i] = (trilha_publication){
        .tipo = TRILHA_TEXT("custo.contado"), .origem = TRILHA_TEXT("contador"), .payload = TRILHA_TEXT("{\"n\": 1}")};
  int before = trips;
  CHECKED(trilha_publish_many(handle, publications, count, results, error));
  int spent = trips - before;
  for (size_t i = 0; i < count; i++) trilha_publish_result_done(&results[i]);
  return spent;
}

static void a_publish_is_one_round_trip_and_so_are_a_thousand(void **state) {
  trilha *handle = open_handle(*state);
  trips_of_publish(handle, 1); /* connects, reads the registry, and prepares */
  assert_int_equal(trips_of_publish(handle, 1), 1);
  assert_int_equal(trips_of_publish(handle, BATCH), 1);
  trilha_close(handle);
}

/* --- enqueuing -----------------------------------------------------------------------------------------------------
 */

static void begin(const trilha_producer *p) {
  trilha_producer_run(p, "BEGIN");
}

static void an_enqueue_is_one_statement_in_the_producers_transaction(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  for (int i = 0; i < 3; i++) { /* the first wakes the lane, the others find it awake */
    const trilha_message message = trilha_producer_message("acme", "1");
    trilha_enqueued said;
    begin(&p);
    int before = trips;
    CHECKED(trilha_producer_enqueue(&p, &message, &said, error));
    assert_int_equal(trips - before, 1);
    trilha_producer_run(&p, "COMMIT");
  }
  trilha_producer_close(&p);
}

/* What a transaction with one enqueue holds at its end, and the fewest WAL records of several enqueues: now and then
 * one has a record more, of the sequence that gives ids or of a page that is full. */
typedef struct footprint {
  char locks[2048];
  int64_t records;
} footprint;

static const char locks_sql[] =
    "SELECT string_agg(held, ', ' ORDER BY held) FROM (SELECT DISTINCT concat_ws(' ', l.locktype, "
    "l.relation::regclass::text, l.mode) AS held FROM pg_locks l WHERE l.pid = pg_backend_pid()) x";

static int64_t records_of_enqueue(const trilha_producer *p) {
  char plan[8192];
  trilha_producer_text(p,
                       "EXPLAIN (ANALYZE, WAL, COSTS OFF, TIMING OFF, FORMAT JSON) SELECT * FROM "
                       "{p}outbox_enqueue('acme', 'nota', '1', 'nota.emitida', '1.0.0', '{}', 'faturamento', "
                       "'a8767a61-82e6-4978-b826-563ee88b6727')",
                       plan, sizeof plan);
  const char *found = strstr(plan, "\"WAL Records\": ");
  if (found == NULL) fail_msg("no WAL in %s", plan);
  return strtoll(found + strlen("\"WAL Records\": "), NULL, 10);
}

static footprint footprint_of(const trilha_producer *p) {
  footprint f = {.records = INT64_MAX};
  for (int i = 0; i < TIMES; i++) {
    begin(p);
    int64_t records = records_of_enqueue(p);
    if (records < f.records) f.records = records;
    trilha_producer_text(p, locks_sql, f.locks, sizeof f.locks);
    trilha_producer_run(p, "COMMIT");
  }
  print_message("# %lld records; %s\n", (long long)f.records, f.locks);
  return f;
}

static size_t takes_nothing(void *user, int64_t *ret_again_ms) {
  (void)user;
  *ret_again_ms = 1;
  return 0;
}

static trilha_status never_sends(void *user, const trilha_envelope *envelope, trilha_error *err) {
  (void)user, (void)envelope, (void)err;
  fail();
  return TRILHA_INVALID;
}

typedef struct running {
  trilha_relay *relay;
  pthread_t thread;
} running;

static void *run(void *relay) {
  trilha_error err = {0};
  if (trilha_relay_run(relay, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return NULL;
}

/* Is there, looks all the time, and takes nothing, so that the lane stays as it is. */
static running begin_relay(const trilha_producer *p) {
  static const trilha_transport transport = {.destination = {"everything", 10},
                                             .send = never_sends,
                                             .capacity = takes_nothing,
                                             .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = {
      .outbox = trilha_producer_options(p->f), .transports = &transport, .transport_count = 1};
  running r = {0};
  CHECKED(trilha_relay_new(&options, &r.relay, error));
  assert_int_equal(pthread_create(&r.thread, NULL, run, r.relay), 0);
  while (trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_worker") == 0) usleep(1000);
  return r;
}

static void end_relay(running *r) {
  trilha_relay_stop(r->relay);
  pthread_join(r->thread, NULL);
  trilha_relay_free(r->relay);
}

static void waiting_relays_add_no_lock_and_no_wal_to_a_producers_transaction(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_producer_say(&p, "acme", "1"); /* makes the lane */
  footprint alone = footprint_of(&p);
  running r[2] = {begin_relay(&p), begin_relay(&p)};
  footprint watched = footprint_of(&p);
  for (int i = 0; i < 2; i++) end_relay(&r[i]);
  assert_string_equal(watched.locks, alone.locks);
  assert_int_equal(watched.records, alone.records);
  assert_null(strstr(alone.locks, "advisory"));
  assert_in_range(alone.records, 3, 8); /* aggregate, message, and the message's two indexes; a commit is not in it */
  trilha_producer_close(&p);
}

/* --- a batch of the relay ------------------------------------------------------------------------------------------
 */

/* Gives an answer when all lanes of a batch are under way, so that they end together. */
typedef struct together {
  trilha_sending *under_way[LANES];
  int count;
} together;

static void send_together(void *user, const trilha_envelope *envelope, trilha_sending *sending) {
  (void)envelope;
  together *t = user;
  t->under_way[t->count++] = sending;
  if (t->count < LANES) return;
  t->count = 0;
  for (int i = 0; i < LANES; i++) trilha_sending_done(t->under_way[i], &(trilha_send_result){0});
}

static void enqueue_lanes(const trilha_producer *p, int lanes, int messages) {
  begin(p);
  for (int lane = 0; lane < lanes; lane++)
    for (int i = 0; i < messages; i++) {
      char key[16];
      trilha_enqueued said;
      snprintf(key, sizeof key, "%d", lane);
      const trilha_message message = trilha_producer_message("acme", key);
      CHECKED(trilha_producer_enqueue(p, &message, &said, error));
    }
  trilha_producer_run(p, "COMMIT");
}

static void drain(const trilha_producer *p) {
  together t = {0};
  const trilha_transport transport = {.destination = TRILHA_TEXT("everything"),
                                      .begin = send_together,
                                      .user = &t,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = {.outbox = trilha_producer_options(p->f),
                                  .transports = &transport,
                                  .transport_count = 1,
                                  .lanes = LANES,
                                  .run = LANES,
                                  .tenant_quota = LANES,
                                  .timeout_ms = PATIENCE_MS,
                                  .lease_ms = 2 * PATIENCE_MS,
                                  .once = true};
  trilha_relay *relay = NULL;
  CHECKED(trilha_relay_new(&options, &relay, error));
  for (int k = 0; k < KINDS; k++) atomic_store(&of_kind[k], 0);
  CHECKED(trilha_relay_run(relay, error));
  trilha_relay_free(relay);
  assert_int_equal(trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_lane"), 0);
}

static void expect_batches(const trilha_producer *p, int batches, int messages) {
  enqueue_lanes(p, batches * LANES, messages);
  drain(p);
  assert_int_equal(atomic_load(&of_kind[CLAIM]), batches + 2); /* the last two find nothing: see relay/floors.c */
  assert_int_equal(atomic_load(&of_kind[FETCH]), batches);
  assert_int_equal(atomic_load(&of_kind[SETTLE]), batches);
  assert_int_equal(atomic_load(&of_kind[RENEW]), 0);
}

static void a_batch_is_three_round_trips_however_many_messages_it_holds(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  expect_batches(&p, 1, 1);
  expect_batches(&p, 1, MESSAGES);
  expect_batches(&p, 3, MESSAGES);
  trilha_producer_close(&p);
}

/* A lane's messages have a turn each, and what begins in one turn is asked for together. */
static void grants_are_one_round_trip_for_all_messages_that_begin_together(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(p.f);
  char login[64];
  bool changed = false;
  trilha_producer_text(&p, "SELECT session_user", login, sizeof login);
  const trilha_service_grant grant = {.credential = trilha_text_of(login),
                                      .destination = TRILHA_TEXT("everything"),
                                      .tenant_id = TRILHA_TEXT("acme"),
                                      .operation = TRILHA_TEXT("nota.emitida")};
  CHECKED(trilha_outbox_service_grant(outbox, &grant, TRILHA_TEXT("ana"), TRILHA_TEXT("custo"), &changed, error));
  expect_batches(&p, 1, MESSAGES);
  assert_int_equal(atomic_load(&of_kind[GRANT]), MESSAGES); /* for LANES times as many messages */
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

int main(void) {
#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)
  const struct CMUnitTest tests[] = {
      ON_STORE(a_publish_is_one_round_trip_and_so_are_a_thousand),
      ON_STORE(an_enqueue_is_one_statement_in_the_producers_transaction),
      ON_STORE(waiting_relays_add_no_lock_and_no_wal_to_a_producers_transaction),
      ON_STORE(a_batch_is_three_round_trips_however_many_messages_it_holds),
      ON_STORE(grants_are_one_round_trip_for_all_messages_that_begin_together),
  };
  if (trilha_fixture_skips()) return 0;
  return cmocka_run_group_tests_name("costs on the wire", tests, NULL, NULL);
}
