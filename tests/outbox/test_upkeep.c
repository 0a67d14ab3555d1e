/* outbox: what concerns an outbox as a whole: its inbox as operators see it, its workers, purging (requirements O5,
 * O16, O17, O20; rulings R24, R28, R31). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/text.h"
#include "outbox/producer.h"
#include "support/expect.h"
#include "trilha/relay.h"

enum { WAIT_MS = 60000 }; /* liveness only */

typedef struct scene {
  const trilha_fixture *f;
  trilha_producer p;
  trilha_outbox *outbox;
} scene;

static scene open_scene(void **state) {
  return (scene){.f = *state, .p = trilha_producer_open(*state, true), .outbox = trilha_producer_outbox(*state)};
}

static void close_scene(scene *s) {
  trilha_outbox_close(s->outbox);
  trilha_producer_close(&s->p);
}

static int64_t count(const scene *s, const char *sql) {
  return trilha_producer_count(&s->p, sql);
}

/* --- the inbox --------------------------------------------------------------------------------------------------- */

#define FIRST_ID  "01a22b42-62b6-70d6-925b-e4ab243a1dc6"
#define SECOND_ID "01a22b42-62b6-70d6-925b-e4ab243a1dc7"

static trilha_inbox_outcome accept_and(scene *s, const char *consumer, const char *id, const char *payload,
                                       const char *end) {
  const trilha_inbox_message message = {.tenant_id = TRILHA_TEXT("acme"),
                                        .consumer = trilha_text_of(consumer),
                                        .message_id = trilha_text_of(id),
                                        .payload = trilha_text_of(payload)};
  trilha_inbox_answer answer = {0};
  trilha_producer_run(&s->p, s->p.pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  CHECKED(trilha_producer_accept(&s->p, &message, &answer, error));
  if (answer.outcome == TRILHA_INBOX_NEW) CHECKED(trilha_producer_finish(&s->p, &message, "reserva 7", error));
  trilha_producer_run(&s->p, end);
  trilha_free(answer.result);
  return answer.outcome;
}

static trilha_inbox_outcome accept_it(scene *s, const char *consumer, const char *id, const char *payload) {
  return accept_and(s, consumer, id, payload, "COMMIT");
}

typedef struct listed { /* the last row told, and how many */
  int rows;
  char consumer[64], message_id[40], accepted[72], received[72];
  int64_t result_bytes, duplicates, conflicts;
  bool dated;
} listed;

static void keep(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

static trilha_status keep_entry(void *user, const trilha_inbox_entry *e) {
  listed *l = user;
  l->rows++;
  keep(l->consumer, sizeof l->consumer, e->consumer);
  keep(l->message_id, sizeof l->message_id, e->message_id);
  keep(l->accepted, sizeof l->accepted, e->payload_sha256);
  l->result_bytes = e->result_bytes;
  l->duplicates = e->duplicates;
  l->conflicts = e->conflicts;
  l->dated = e->accepted_at.size > 0;
  return TRILHA_OK;
}

static trilha_status keep_conflict(void *user, const trilha_inbox_conflict *c) {
  listed *l = user;
  l->rows++;
  keep(l->consumer, sizeof l->consumer, c->consumer);
  keep(l->message_id, sizeof l->message_id, c->message_id);
  keep(l->accepted, sizeof l->accepted, c->accepted_sha256);
  keep(l->received, sizeof l->received, c->received_sha256);
  l->dated = c->received_at.size > 0;
  return TRILHA_OK;
}

static listed inbox_of(scene *s, trilha_inbox_filter filter) {
  listed l = {0};
  CHECKED(trilha_inbox_list(s->outbox, &filter, keep_entry, &l, error));
  return l;
}

static listed conflicts_of(scene *s, trilha_inbox_filter filter) {
  listed l = {0};
  CHECKED(trilha_inbox_conflicts(s->outbox, &filter, keep_conflict, &l, error));
  return l;
}

static void what_came_again_is_counted_and_a_conflict_shows_both_digests(void **state) {
  scene s = open_scene(state);
  assert_int_equal(accept_it(&s, "stock", FIRST_ID, "{}"), TRILHA_INBOX_NEW);
  assert_int_equal(accept_it(&s, "stock", FIRST_ID, "{}"), TRILHA_INBOX_DUPLICATE);
  assert_int_equal(accept_it(&s, "stock", FIRST_ID, "{}"), TRILHA_INBOX_DUPLICATE);
  assert_int_equal(accept_it(&s, "stock", FIRST_ID, "{\"a\": 1}"), TRILHA_INBOX_CONFLICT);
  listed l = inbox_of(&s, (trilha_inbox_filter){0});
  assert_int_equal(l.rows, 1);
  assert_int_equal(l.duplicates, 2);
  assert_int_equal(l.conflicts, 1);
  assert_int_equal(l.result_bytes, strlen("reserva 7"));
  assert_true(l.dated);
  listed c = conflicts_of(&s, (trilha_inbox_filter){0});
  assert_int_equal(c.rows, 1);
  assert_string_equal(c.accepted, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
  assert_string_not_equal(c.received, c.accepted);
  assert_int_equal(strlen(c.received), 64);
  assert_true(c.dated);
  close_scene(&s);
}

static void a_repeat_whose_transaction_rolls_back_leaves_no_trace(void **state) {
  scene s = open_scene(state);
  accept_it(&s, "stock", FIRST_ID, "{}");
  assert_int_equal(accept_and(&s, "stock", FIRST_ID, "{\"a\": 1}", "ROLLBACK"), TRILHA_INBOX_CONFLICT);
  assert_int_equal(accept_and(&s, "stock", SECOND_ID, "{}", "ROLLBACK"), TRILHA_INBOX_NEW);
  assert_int_equal(conflicts_of(&s, (trilha_inbox_filter){0}).rows, 0);
  listed l = inbox_of(&s, (trilha_inbox_filter){0});
  assert_int_equal(l.rows, 1);
  assert_int_equal(l.conflicts, 0);
  close_scene(&s);
}

static void inbox_lists_are_chosen_by_tenant_consumer_and_message(void **state) {
  scene s = open_scene(state);
  accept_it(&s, "stock", FIRST_ID, "{}");
  accept_it(&s, "stock", SECOND_ID, "{}");
  accept_it(&s, "freight", FIRST_ID, "{}");
  accept_it(&s, "freight", FIRST_ID, "{\"a\": 1}");
  assert_int_equal(inbox_of(&s, (trilha_inbox_filter){0}).rows, 3);
  assert_int_equal(inbox_of(&s, (trilha_inbox_filter){.limit = 2}).rows, 2);
  assert_int_equal(inbox_of(&s, (trilha_inbox_filter){.tenant_id = TRILHA_TEXT("other")}).rows, 0);
  listed l = inbox_of(&s, (trilha_inbox_filter){.consumer = TRILHA_TEXT("freight")});
  assert_int_equal(l.rows, 1);
  assert_string_equal(l.message_id, FIRST_ID);
  l = inbox_of(&s, (trilha_inbox_filter){.message_id = TRILHA_TEXT(SECOND_ID)});
  assert_int_equal(l.rows, 1);
  assert_string_equal(l.consumer, "stock");
  assert_int_equal(conflicts_of(&s, (trilha_inbox_filter){.consumer = TRILHA_TEXT("stock")}).rows, 0);
  assert_int_equal(conflicts_of(&s, (trilha_inbox_filter){.consumer = TRILHA_TEXT("freight")}).rows, 1);
  const trilha_inbox_filter no_id = {.message_id = TRILHA_TEXT("seven")};
  REFUSED(trilha_inbox_list(s.outbox, &no_id, keep_entry, &l, error), "MESSAGE_ID_INVALID");
  close_scene(&s);
}

/* --- workers ----------------------------------------------------------------------------------------------------- */

/* A relay on a thread of its own, whose destination takes a message when it is let. */
typedef struct running {
  trilha_relay *relay;
  pthread_t thread;
  trilha_status status;
  trilha_error error;
  atomic_int begun, accepted, drains, unheard;
  atomic_bool open;
  bool refuses;
} running;

static trilha_status take(void *user, const trilha_envelope *e, trilha_error *error) {
  running *r = user;
  atomic_fetch_add(&r->begun, 1);
  while (!atomic_load(&r->open)) trilha_clock_sleep_ms(2);
  if (r->refuses) return error->status = TRILHA_INVALID;
  atomic_fetch_add(&r->accepted, 1);
  return TRILHA_OK;
}

static void hear(void *user, const trilha_diagnostic *d) {
  running *r = user;
  if (strcmp(d->name, "relay.drain") == 0) atomic_fetch_add(&r->drains, 1);
  if (strcmp(d->name, "relay.unregistered") == 0) atomic_fetch_add(&r->unheard, 1);
}

static trilha_relay *make_relay(const scene *s, running *r, unsigned lanes, bool once) {
  const trilha_transport transport = {TRILHA_TEXT("everything"), take, r, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = {.outbox = trilha_producer_options(s->f),
                                  .transports = &transport,
                                  .transport_count = 1,
                                  .lanes = lanes,
                                  .workers = 2,
                                  .timeout_ms = 60000,
                                  .lease_ms = 120000,
                                  .scan_ms = 20,
                                  .once = once};
  options.outbox.diagnostics = (trilha_diagnostics){.emit = hear, .user = r};
  if (once) options.workers = 1;
  CHECKED(trilha_relay_new(&options, &r->relay, error));
  return r->relay;
}

static void *run(void *user) {
  running *r = user;
  r->status = trilha_relay_run(r->relay, &r->error);
  return NULL;
}

static void start(const scene *s, running *r, unsigned lanes) {
  make_relay(s, r, lanes, false);
  assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
}

static void join(running *r) {
  pthread_join(r->thread, NULL);
  if (r->status != TRILHA_OK) fail_msg("%s: %s", r->error.code, r->error.text);
  trilha_relay_free(r->relay);
}

static void drain_now(const scene *s, running *r) {
  atomic_store(&r->open, true);
  make_relay(s, r, 16, true);
  CHECKED(trilha_relay_run(r->relay, error));
  trilha_relay_free(r->relay);
}

typedef struct workers {
  int rows, silent;
  char name[80], status[16], destinations[64], drain_user[32];
  int64_t leases, threads;
} workers;

static trilha_status keep_worker(void *user, const trilha_outbox_worker *w) {
  workers *all = user;
  all->rows++;
  if (trilha_text_is(w->status, "silent")) all->silent++;
  keep(all->name, sizeof all->name, w->worker);
  keep(all->status, sizeof all->status, w->status);
  keep(all->destinations, sizeof all->destinations, w->destinations);
  keep(all->drain_user, sizeof all->drain_user, w->drain_user);
  all->leases = w->leases;
  all->threads = w->threads;
  assert_true(w->started_at.size > 0 && w->seen_at.size > 0 && w->expected_by.size > 0);
  return TRILHA_OK;
}

static workers workers_of(scene *s) {
  workers all = {0};
  CHECKED(trilha_outbox_workers(s->outbox, keep_worker, &all, error));
  return all;
}

#define WAIT_UNTIL(condition)                                                      \
  do {                                                                             \
    trilha_deadline end = trilha_deadline_in_ms(WAIT_MS);                          \
    while (!(condition) && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(5); \
    assert_true(condition);                                                        \
  } while (0)

static void a_worker_is_listed_with_its_leases_while_it_runs_and_gone_when_it_ended(void **state) {
  scene s = open_scene(state);
  running r = {0};
  assert_int_equal(workers_of(&s).rows, 0);
  trilha_producer_say(&s.p, "acme", "1");
  start(&s, &r, 16);
  WAIT_UNTIL(atomic_load(&r.begun) == 1);
  WAIT_UNTIL(workers_of(&s).rows == 1);
  workers w = workers_of(&s);
  assert_string_equal(w.status, "running");
  assert_string_equal(w.destinations, "everything");
  assert_int_equal(w.leases, 1);
  assert_int_equal(w.threads, 2);
  char owner[80];
  trilha_producer_text(&s.p, "SELECT lease_owner FROM {p}outbox_lane WHERE state = 'L'", owner, sizeof owner);
  assert_string_equal(owner, w.name);
  trilha_relay_stop(r.relay);
  atomic_store(&r.open, true);
  join(&r);
  assert_int_equal(workers_of(&s).rows, 0);
  close_scene(&s);
}

static void a_drained_worker_finishes_what_it_holds_takes_no_more_and_ends(void **state) {
  scene s = open_scene(state);
  running r = {0};
  trilha_producer_say(&s.p, "acme", "held");
  trilha_producer_say(&s.p, "acme", "held");
  start(&s, &r, 1);
  WAIT_UNTIL(atomic_load(&r.begun) == 1);
  WAIT_UNTIL(workers_of(&s).rows == 1);
  workers w = workers_of(&s);
  CHECKED(trilha_outbox_worker_drain(s.outbox, trilha_text_of(w.name), TRILHA_TEXT("ana"), TRILHA_TEXT("versão nova"),
                                     error));
  w = workers_of(&s);
  assert_string_equal(w.status, "draining");
  assert_string_equal(w.drain_user, "ana");
  WAIT_UNTIL(atomic_load(&r.drains) == 1);
  trilha_producer_say(&s.p, "acme", "later");
  atomic_store(&r.open, true);
  join(&r); /* by itself: nobody stops it */
  assert_int_equal(atomic_load(&r.accepted), 2);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_lane"), 1);
  assert_int_equal(
      count(&s, "SELECT count(*) FROM {p}producer_outbox WHERE aggregate_key = 'later' AND status = 'Pending'"), 1);
  assert_int_equal(workers_of(&s).rows, 0);
  assert_int_equal(
      count(&s,
            "SELECT count(*) FROM {p}outbox_upkeep WHERE action = 'trilha.outbox-worker.drained' AND user_name = 'ana' "
            "AND reason = 'versão nova' AND row_count IS NULL"),
      1);
  running next = {0};
  drain_now(&s, &next);
  assert_int_equal(atomic_load(&next.accepted), 1);
  close_scene(&s);
}

static void a_drain_needs_a_worker_and_a_reason(void **state) {
  scene s = open_scene(state);
  REFUSED(
      trilha_outbox_worker_drain(s.outbox, TRILHA_TEXT("nobody:1:2"), TRILHA_TEXT("ana"), TRILHA_TEXT("why"), error),
      "WORKER_NOT_FOUND");
  REFUSED(trilha_outbox_worker_drain(s.outbox, TRILHA_TEXT("nobody:1:2"), TRILHA_TEXT("ana"), TRILHA_TEXT(""), error),
          "REASON_MISSING");
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_upkeep"), 0);
  close_scene(&s);
}

static void the_caller_is_told_what_it_may_do_and_who_writes_past_the_functions(void **state) {
  scene s = open_scene(state);
  trilha_outbox_duties d = {0};
  CHECKED(trilha_outbox_duties_of_caller(s.outbox, &d, error));
  assert_true(d.enqueues && d.relays && d.consumes && d.operates);
  assert_string_equal(d.writers, "");
  if (s.p.pg != NULL) {
    trilha_producer_run(&s.p, "GRANT INSERT ON {p}outbox_message TO PUBLIC");
    CHECKED(trilha_outbox_duties_of_caller(s.outbox, &d, error));
    assert_string_equal(d.writers, "PUBLIC");
  }
  close_scene(&s);
}

static void a_worker_that_ended_without_a_word_is_silent_and_forgotten_after_a_day(void **state) {
  scene s = open_scene(state);
  const char *const ages[] = {"1 hour", "2 days"};
  for (size_t i = 0; i < 2; i++) {
    char sql[512];
    if (s.p.pg != NULL)
      snprintf(sql, sizeof sql,
               "INSERT INTO {p}outbox_worker (worker, destinations, threads, started_at, seen_at, expected_by) SELECT "
               "'gone%zu', 'erp', 1, t, t, t "
               "FROM (SELECT clock_timestamp() - interval '%s') x (t)",
               i, ages[i]);
    else
      snprintf(sql, sizeof sql,
               "INSERT INTO {p}outbox_worker (worker, destinations, threads, started_us, seen_us, expected_us) SELECT "
               "'gone%zu', 'erp', 1, t, t, t "
               "FROM (SELECT CAST(strftime('%%s', 'now', '-%s') AS INTEGER) * 1000000 AS t)",
               i, ages[i]);
    trilha_producer_run(&s.p, sql);
  }
  workers w = workers_of(&s);
  assert_int_equal(w.rows, 2);
  assert_int_equal(w.silent, 2);
  running r = {0};
  drain_now(&s, &r); /* a worker that begins tidies up */
  w = workers_of(&s);
  assert_int_equal(w.rows, 1);
  assert_string_equal(w.name, "gone0");
  close_scene(&s);
}

static void a_worker_that_cannot_register_delivers_all_the_same_and_says_so_once(void **state) {
  scene s = open_scene(state);
  running r = {0};
  trilha_producer_say(&s.p, "acme", "1");
  trilha_producer_run(&s.p, "ALTER TABLE {p}outbox_worker RENAME COLUMN destinations TO elsewhere");
  drain_now(&s, &r);
  assert_int_equal(atomic_load(&r.accepted), 1);
  assert_int_equal(atomic_load(&r.unheard), 1);
  close_scene(&s);
}

/* --- purging ----------------------------------------------------------------------------------------------------- */

#define ANA .user = TRILHA_TEXT("ana"), .reason = TRILHA_TEXT("limpeza")

/* What no purge may touch: a message that some destination waits for, and everything after it in its aggregate. */
static const char SETTLED[] =
    "SELECT count(*) FROM {p}outbox_message m WHERE NOT EXISTS (SELECT 1 FROM {p}producer_outbox v WHERE v.tenant_id = "
    "m.tenant_id "
    "AND v.aggregate_type = m.aggregate_type AND v.aggregate_key = m.aggregate_key AND v.aggregate_sequence <= "
    "m.aggregate_sequence "
    "AND v.status NOT IN ('Dispatched', 'Discarded'))";

static trilha_purged purge(scene *s, trilha_purge_options options) {
  trilha_purged purged = {0};
  CHECKED(trilha_outbox_purge(s->outbox, &options, NULL, NULL, &purged, error));
  return purged;
}

static void deliver(scene *s, const char *destination, bool refuses) {
  running r = {.refuses = refuses};
  const trilha_transport transport = {trilha_text_of(destination), take, &r, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  const trilha_relay_options options = {.outbox = trilha_producer_options(s->f),
                                        .transports = &transport,
                                        .transport_count = 1,
                                        .scan_ms = 20,
                                        .once = true};
  atomic_store(&r.open, true);
  CHECKED(trilha_relay_new(&options, &r.relay, error));
  CHECKED(trilha_relay_run(r.relay, error));
  trilha_relay_free(r.relay);
}

static void only_what_every_destination_is_done_with_and_is_old_enough_goes(void **state) {
  scene s = open_scene(state);
  trilha_producer_say(&s.p, "acme", "done");
  trilha_producer_say(&s.p, "acme", "done");
  CHECKED(trilha_outbox_route_add(s.outbox, TRILHA_TEXT("nota.*"), TRILHA_TEXT("other"), error));
  trilha_producer_say(&s.p, "acme", "half");
  deliver(&s, "everything", false);
  trilha_producer_say(&s.p, "acme", "waiting");
  trilha_purged young = purge(&s, (trilha_purge_options){.messages_ms = 3600000, .inbox_ms = -1, ANA});
  assert_int_equal(young.messages.rows, 0);
  assert_string_equal(young.messages.oldest, "");
  trilha_purged plan = purge(&s, (trilha_purge_options){.messages_ms = 0, .inbox_ms = -1, .dry_run = true});
  assert_int_equal(plan.messages.rows, 2);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_message"), 4);
  trilha_purged done = purge(&s, (trilha_purge_options){.messages_ms = 0, .inbox_ms = -1, ANA});
  assert_int_equal(done.messages.rows, 2);
  assert_string_equal(done.messages.oldest, plan.messages.oldest);
  assert_string_equal(done.messages.newest, plan.messages.newest);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_message WHERE aggregate_key IN ('half', 'waiting')"), 2);
  assert_int_equal(count(&s,
                         "SELECT count(*) FROM {p}outbox_upkeep WHERE action = 'trilha.outbox-message.purged' AND "
                         "user_name = 'ana' AND row_count = 2"),
                   1);
  deliver(&s, "other", false);
  deliver(&s, "everything", false);
  assert_int_equal(purge(&s, (trilha_purge_options){.messages_ms = 0, .inbox_ms = -1, ANA}).messages.rows, 2);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_delivery"), 0);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_aggregate"), 3);
  close_scene(&s);
}

/* The age counts from when the last destination was done, not from the enqueue. */
static void a_message_is_kept_for_the_time_since_it_was_settled(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = trilha_producer_say(&s.p, "acme", "1");
  deliver(&s, "everything", false);
  char sql[256];
  snprintf(
      sql, sizeof sql,
      s.p.pg != NULL
          ? "UPDATE {p}outbox_delivery SET delivered_at = delivered_at - interval '2 days' WHERE sequence_from = %lld"
          : "UPDATE {p}outbox_delivery SET delivered_us = delivered_us - 172800000000 WHERE sequence_from = %lld",
      (long long)said.aggregate_sequence);
  trilha_producer_run(&s.p, sql);
  assert_int_equal(
      purge(&s, (trilha_purge_options){.messages_ms = INT64_C(3) * 86400000, .inbox_ms = -1, ANA}).messages.rows, 0);
  assert_int_equal(
      purge(&s, (trilha_purge_options){.messages_ms = INT64_C(86400000), .inbox_ms = -1, ANA}).messages.rows, 1);
  close_scene(&s);
}

static void what_is_behind_a_kept_message_of_its_aggregate_stays(void **state) {
  scene s = open_scene(state);
  trilha_producer_say(&s.p, "acme", "1");
  deliver(&s, "everything", false);
  trilha_enqueued dead = trilha_producer_say(&s.p, "acme", "1");
  deliver(&s, "everything", true);
  for (int i = 0; i < 5; i++) trilha_producer_say(&s.p, "acme", "1");
  assert_int_equal(purge(&s, (trilha_purge_options){.messages_ms = 0, .inbox_ms = -1, .batch = 2, ANA}).messages.rows,
                   1);
  assert_int_equal(count(&s, "SELECT min(aggregate_sequence) FROM {p}outbox_message"), dead.aggregate_sequence);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_message"), 6);
  close_scene(&s);
}

typedef struct heard {
  int64_t sequence, previous;
} heard;

static trilha_status listen(void *user, const trilha_envelope *e, trilha_error *error) {
  heard *h = user;
  *h = (heard){e->aggregate_sequence, e->previous_sequence};
  return TRILHA_OK;
}

static heard deliver_one(scene *s) {
  heard h = {0};
  const trilha_transport transport = {TRILHA_TEXT("everything"), listen, &h, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  const trilha_relay_options options = {.outbox = trilha_producer_options(s->f),
                                        .transports = &transport,
                                        .transport_count = 1,
                                        .scan_ms = 20,
                                        .once = true};
  trilha_relay *relay = NULL;
  CHECKED(trilha_relay_new(&options, &relay, error));
  CHECKED(trilha_relay_run(relay, error));
  trilha_relay_free(relay);
  return h;
}

static void an_ordered_consumer_is_told_what_came_before_although_it_was_purged(void **state) {
  scene s = open_scene(state);
  trilha_producer_say(&s.p, "acme", "1");
  trilha_producer_say(&s.p, "acme", "1");
  deliver(&s, "everything", false);
  trilha_enqueued given_up = trilha_producer_say(&s.p, "acme", "1");
  deliver(&s, "everything", true);
  const trilha_outbox_operation discard = {.message_id = trilha_text_of(given_up.message_id),
                                           .destination = TRILHA_TEXT("everything"),
                                           .reconciliation = TRILHA_TEXT("unknown there"),
                                           ANA};
  CHECKED(trilha_outbox_discard(s.outbox, &discard, error));
  deliver(&s, "everything", false);
  assert_int_equal(purge(&s, (trilha_purge_options){.messages_ms = 0, .inbox_ms = -1, .batch = 2, ANA}).messages.rows,
                   3);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_message"), 0);
  trilha_producer_say(&s.p, "acme", "1");
  heard h = deliver_one(&s);
  assert_int_equal(h.sequence, 4);
  assert_int_equal(h.previous, 2); /* 3 was given up: no gap */
  assert_int_equal(
      count(&s, "SELECT count(*) FROM {p}outbox_operation WHERE action = 'trilha.outbox-message.discarded'"), 1);
  close_scene(&s);
}

static trilha_status keep_revision(void *user, const trilha_outbox_revision *r) {
  int64_t *seen = user;
  assert_true(r->revision == 2 && r->payload_bytes == 0 && r->payload_sha256.data == NULL);
  assert_true(trilha_text_is(r->user, "ana") && r->diff.size > 0);
  (*seen)++;
  return TRILHA_OK;
}

static void a_purged_message_keeps_who_corrected_it_and_why_and_loses_its_content(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = trilha_producer_say(&s.p, "acme", "1");
  const trilha_outbox_correction correction = {
      .message_id = trilha_text_of(said.message_id), .payload = TRILHA_TEXT("{\"valor\": 99}"), ANA};
  trilha_outbox_corrected corrected = {0};
  CHECKED(trilha_outbox_correct(s.outbox, &correction, &corrected, error));
  trilha_outbox_corrected_done(&corrected);
  deliver(&s, "everything", false);
  char message[256];
  assert_false(
      trilha_producer_try(&s.p, "UPDATE {p}outbox_revision SET reason = 'x', payload = NULL", message, sizeof message));
  assert_false(trilha_producer_try(&s.p, "UPDATE {p}outbox_revision SET payload = '{}'", message, sizeof message));
  assert_int_equal(purge(&s, (trilha_purge_options){.messages_ms = 0, .inbox_ms = -1, ANA}).messages.rows, 1);
  int64_t seen = 0;
  CHECKED(trilha_outbox_revisions(s.outbox, trilha_text_of(said.message_id), keep_revision, &seen, error));
  assert_int_equal(seen, 1);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_revision WHERE payload IS NOT NULL"), 0);
  assert_false(trilha_producer_try(&s.p, "DELETE FROM {p}outbox_revision", message, sizeof message));
  char *payload = NULL;
  REFUSED(trilha_outbox_reveal(s.outbox, trilha_text_of(said.message_id), 0, TRILHA_TEXT("ana"), TRILHA_TEXT("why"),
                               &payload, NULL, error),
          "MESSAGE_NOT_FOUND");
  close_scene(&s);
}

static void windows_that_would_let_an_old_effect_repeat_are_refused_with_their_numbers(void **state) {
  scene s = open_scene(state);
  const trilha_purge_options inbox = {.messages_ms = -1, .inbox_ms = 9999, .retry_ms = 6000, .restore_ms = 4000, ANA};
  const trilha_purge_options messages = {.messages_ms = 3999, .inbox_ms = -1, .restore_ms = 4000, ANA};
  trilha_purged purged;
  trilha_error told = {0};
  assert_int_equal(trilha_outbox_purge(s.outbox, &inbox, NULL, NULL, &purged, &told), TRILHA_USAGE);
  assert_string_equal(told.code, "WINDOW_INVALID");
  assert_true(strstr(told.text, "9999 ms") && strstr(told.text, "6000 ms") && strstr(told.text, "4000 ms") &&
              strstr(told.text, "10000 ms"));
  told = (trilha_error){0};
  assert_int_equal(trilha_outbox_purge(s.outbox, &messages, NULL, NULL, &purged, &told), TRILHA_USAGE);
  assert_true(strcmp(told.code, "WINDOW_INVALID") == 0 && strstr(told.text, "3999 ms") && strstr(told.text, "4000 ms"));
  const trilha_purge_options nothing = {.messages_ms = -1, .inbox_ms = -1, ANA};
  REFUSED(trilha_outbox_purge(s.outbox, &nothing, NULL, NULL, &purged, error), "PURGE_OPTIONS");
  const trilha_purge_options nobody = {.messages_ms = 0, .inbox_ms = -1};
  REFUSED(trilha_outbox_purge(s.outbox, &nobody, NULL, NULL, &purged, error), "REASON_MISSING");
  const trilha_purge_options huge = {.messages_ms = 0, .inbox_ms = -1, .batch = TRILHA_PURGE_BATCH_MAX + 1, ANA};
  REFUSED(trilha_outbox_purge(s.outbox, &huge, NULL, NULL, &purged, error), "PURGE_OPTIONS");
  const trilha_purge_options exact = {
      .messages_ms = 4000, .inbox_ms = 10000, .retry_ms = 6000, .restore_ms = 4000, ANA};
  CHECKED(trilha_outbox_purge(s.outbox, &exact, NULL, NULL, &purged, error));
  close_scene(&s);
}

typedef struct watched {
  int batches, end_after;
} watched;

static bool watch(void *user, const trilha_purged *so_far) {
  watched *w = user;
  return ++w->batches != w->end_after;
}

static void a_purge_that_was_ended_between_two_batches_goes_on_where_it_was(void **state) {
  scene s = open_scene(state);
  for (int i = 0; i < 7; i++) {
    char key[8];
    snprintf(key, sizeof key, "%d", i % 3);
    trilha_producer_say(&s.p, "acme", key);
  }
  deliver(&s, "everything", false);
  const trilha_purge_options options = {.messages_ms = 0, .inbox_ms = -1, .batch = 2, ANA};
  watched w = {.end_after = 2};
  trilha_purged first = {0}, rest = {0};
  CHECKED(trilha_outbox_purge(s.outbox, &options, watch, &w, &first, error));
  assert_int_equal(first.messages.rows, 4);
  w = (watched){0};
  CHECKED(trilha_outbox_purge(s.outbox, &options, watch, &w, &rest, error));
  assert_int_equal(rest.messages.rows, 3);
  assert_int_equal(w.batches, 2);
  assert_int_equal(count(&s, "SELECT sum(row_count) FROM {p}outbox_upkeep"), 7);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_message"), 0);
  close_scene(&s);
}

static trilha_inbox_outcome accept_ordered(scene *s, const char *id, int64_t sequence) {
  const trilha_inbox_message message = {.tenant_id = TRILHA_TEXT("acme"),
                                        .consumer = TRILHA_TEXT("stock"),
                                        .message_id = trilha_text_of(id),
                                        .payload = TRILHA_TEXT("{}"),
                                        .aggregate_type = TRILHA_TEXT("nota"),
                                        .aggregate_key = TRILHA_TEXT("1"),
                                        .aggregate_sequence = sequence,
                                        .previous_sequence = sequence - 1};
  trilha_inbox_answer answer = {0};
  trilha_producer_run(&s->p, s->p.pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  CHECKED(trilha_producer_accept(&s->p, &message, &answer, error));
  trilha_producer_run(&s->p, "COMMIT");
  trilha_free(answer.result);
  return answer.outcome;
}

static void the_inbox_forgets_by_age_and_never_the_last_sequence_of_an_ordered_consumer(void **state) {
  scene s = open_scene(state);
  assert_int_equal(accept_ordered(&s, FIRST_ID, 1), TRILHA_INBOX_NEW);
  assert_int_equal(accept_ordered(&s, SECOND_ID, 2), TRILHA_INBOX_NEW);
  assert_int_equal(accept_ordered(&s, SECOND_ID, 2), TRILHA_INBOX_DUPLICATE);
  assert_int_equal(purge(&s, (trilha_purge_options){.messages_ms = -1, .inbox_ms = 3600000, ANA}).inbox.rows, 0);
  assert_int_equal(purge(&s, (trilha_purge_options){.messages_ms = -1, .inbox_ms = 0, .dry_run = true}).inbox.rows, 2);
  trilha_purged done = purge(&s, (trilha_purge_options){.messages_ms = -1, .inbox_ms = 0, .batch = 1, ANA});
  assert_int_equal(done.inbox.rows, 2);
  assert_true(strcmp(done.inbox.oldest, done.inbox.newest) <= 0 && done.inbox.oldest[0] != '\0');
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}inbox_message"), 0);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}inbox_repeat"), 0);
  assert_int_equal(
      count(&s, "SELECT sum(row_count) FROM {p}outbox_upkeep WHERE action = 'trilha.inbox-message.purged'"), 2);
  assert_int_equal(accept_ordered(&s, FIRST_ID, 1), TRILHA_INBOX_DUPLICATE);
  assert_int_equal(accept_ordered(&s, SECOND_ID, 2), TRILHA_INBOX_DUPLICATE);
  close_scene(&s);
}

/* A random life of an outbox; whenever it is purged, exactly what the specification's words allow is gone. */
static void step(scene *s, unsigned what) {
  char key[8];
  snprintf(key, sizeof key, "%u", what / 8 % 4);
  const trilha_outbox_lanes_filter dead = {.destination =
                                               what % 2 == 0 ? TRILHA_TEXT("everything") : TRILHA_TEXT("other")};
  const trilha_outbox_operation give_up = {.override_reconciliation = true, ANA};
  trilha_outbox_tally changed;
  switch (what % 8) {
    case 0:
    case 1:
    case 2:
      trilha_producer_say(&s->p, "acme", key);
      break;
    case 3:
      deliver(s, "everything", false);
      break;
    case 4:
      deliver(s, "other", false);
      break;
    case 5:
      deliver(s, what % 16 < 8 ? "other" : "everything", true);
      break;
    case 6:
      CHECKED(trilha_outbox_discard_all(s->outbox, &dead, &give_up, false, NULL, NULL, &changed, error));
      break;
    default:
      CHECKED(trilha_outbox_retry_all(s->outbox, &dead, &give_up, false, NULL, NULL, &changed, error));
      break;
  }
}

static void whatever_happened_before_a_purge_takes_what_is_settled_and_nothing_else(void **state) {
  scene s = open_scene(state);
  unsigned seed = (unsigned)trilha_clock_wall_us(), at = seed;
  print_message("# seed %u\n", seed);
  CHECKED(trilha_outbox_route_add(s.outbox, TRILHA_TEXT("nota.*"), TRILHA_TEXT("other"), error));
  for (int i = 0; i < 60; i++) {
    at = at * 1103515245 + 12345;
    step(&s, at >> 16);
    if (i % 6 != 5) continue;
    int64_t settled = count(&s, SETTLED), all = count(&s, "SELECT count(*) FROM {p}outbox_message");
    const trilha_purge_options options = {.messages_ms = 0, .inbox_ms = -1, .batch = 1 + (at >> 16) % 5, ANA};
    trilha_purge_options dry = options;
    dry.dry_run = true;
    if (purge(&s, dry).messages.rows != settled) fail_msg("seed %u, step %d: the plan is not what is settled", seed, i);
    if (purge(&s, options).messages.rows != settled) fail_msg("seed %u, step %d: not what is settled", seed, i);
    if (count(&s, SETTLED) != 0 || count(&s, "SELECT count(*) FROM {p}outbox_message") != all - settled)
      fail_msg("seed %u, step %d: something else went", seed, i);
  }
  close_scene(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(what_came_again_is_counted_and_a_conflict_shows_both_digests),
      TEST(a_repeat_whose_transaction_rolls_back_leaves_no_trace),
      TEST(inbox_lists_are_chosen_by_tenant_consumer_and_message),
      TEST(a_worker_is_listed_with_its_leases_while_it_runs_and_gone_when_it_ended),
      TEST(a_drained_worker_finishes_what_it_holds_takes_no_more_and_ends),
      TEST(a_drain_needs_a_worker_and_a_reason),
      TEST(the_caller_is_told_what_it_may_do_and_who_writes_past_the_functions),
      TEST(a_worker_that_ended_without_a_word_is_silent_and_forgotten_after_a_day),
      TEST(a_worker_that_cannot_register_delivers_all_the_same_and_says_so_once),
      TEST(only_what_every_destination_is_done_with_and_is_old_enough_goes),
      TEST(a_message_is_kept_for_the_time_since_it_was_settled),
      TEST(what_is_behind_a_kept_message_of_its_aggregate_stays),
      TEST(an_ordered_consumer_is_told_what_came_before_although_it_was_purged),
      TEST(a_purged_message_keeps_who_corrected_it_and_why_and_loses_its_content),
      TEST(windows_that_would_let_an_old_effect_repeat_are_refused_with_their_numbers),
      TEST(a_purge_that_was_ended_between_two_batches_goes_on_where_it_was),
      TEST(the_inbox_forgets_by_age_and_never_the_last_sequence_of_an_ordered_consumer),
      TEST(whatever_happened_before_a_purge_takes_what_is_settled_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
