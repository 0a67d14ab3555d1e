/* relay: any schedule of enqueue, claim, result, lost lease, renewal, retry, correction and discard, against a model
 * that knows every message (specification 001, rule 6; rulings R30, R31, R41). After each claim the model's brute force
 * and the specification's own predicate, asked of the database, must agree with what the relay was given. The seed is
 * printed; TRILHA_TEST_SEED repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"
#include "outbox/producer.h"
#include "store/outbox.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"

enum {
  KEYS = 4,
  DESTINATIONS = 2,
  MESSAGES_MAX = 600,
  LEASES_MAX = 400,
  LANES = KEYS * DESTINATIONS,
  RUN = 3,
  STEPS = 350,
  FAR_MS = 3600000
};

typedef enum fate { WAITING, DONE, GIVEN_UP } fate;

typedef struct known_message {
  char id[37];
  bool goes_to[DESTINATIONS];
  fate fate[DESTINATIONS];
  int64_t revision;
} known_message;

typedef struct known_lane {
  int64_t token; /* of the newest lease; 0: not leased */
  bool expired, dead, in_backoff;
} known_lane;

typedef struct held {
  trilha_lane_lease lease;
  int key, destination;
} held;

typedef struct model {
  trilha_producer producer;
  trilha_outbox_store *store;
  unsigned seed;
  known_message messages[KEYS][MESSAGES_MAX]; /* by sequence - 1 */
  int64_t count[KEYS];
  known_lane lanes[KEYS][DESTINATIONS];
  held leases[LEASES_MAX];
  size_t held;
  trilha_arena arena;
  const char *violated;                                     /* NULL while everything agrees */
  int claimed, refused, settled, died, operated, corrected; /* how much of everything a run held: printed */
} model;

static const char *const names[DESTINATIONS] = {"some", "everything"};

static int roll(model *m, int sides) {
  return rand_r(&m->seed) % sides;
}

static void expect(model *m, bool holds, const char *what) {
  if (!holds && m->violated == NULL) m->violated = what;
}

/* --- what the model knows
 * ---------------------------------------------------------------------------------------------------- */

/* The first message that is not finished; 0: none. */
static int64_t head_of(const model *m, int key, int destination) {
  for (int64_t i = 0; i < m->count[key]; i++)
    if (m->messages[key][i].goes_to[destination] && m->messages[key][i].fate[destination] == WAITING) return i + 1;
  return 0;
}

/* The last one before `sequence` that the destination was given; 0: none. */
static int64_t previous_of(const model *m, int key, int destination, int64_t sequence) {
  for (int64_t i = sequence - 1; i > 0; i--)
    if (m->messages[key][i - 1].goes_to[destination] && m->messages[key][i - 1].fate[destination] != GIVEN_UP) return i;
  return 0;
}

static bool may_be_claimed(const model *m, int key, int destination) {
  const known_lane *lane = &m->lanes[key][destination];
  return !lane->dead && !lane->in_backoff && (lane->token == 0 || lane->expired);
}

/* The specification's predicate: nothing is on its way that has an unfinished message before it. */
static void ask_the_predicate(model *m) {
  int64_t wrong = trilha_producer_count(
      &m->producer,
      "SELECT count(*) FROM {p}producer_outbox c WHERE c.status = 'Dispatching' AND EXISTS (SELECT 1 FROM "
      "{p}producer_outbox e "
      "WHERE e.tenant_id = c.tenant_id AND e.aggregate_key = c.aggregate_key AND e.destination = c.destination "
      "AND e.aggregate_sequence < c.aggregate_sequence AND e.status NOT IN ('Dispatched', 'Discarded'))");
  expect(m, wrong == 0, "the specification's predicate");
}

/* --- steps
 * ------------------------------------------------------------------------------------------------------------------------
 */

static void enqueue(model *m) {
  bool commits = roll(m, 5) > 0;
  trilha_producer_run(&m->producer, m->producer.pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  int64_t before[KEYS];
  memcpy(before, m->count, sizeof before);
  for (int key = 0; key < KEYS; key++) {
    if (roll(m, 2) == 0 || m->count[key] == MESSAGES_MAX) continue;
    char name[8];
    trilha_enqueued said = {0};
    trilha_error err = {0};
    snprintf(name, sizeof name, "%d", key);
    trilha_message message = trilha_producer_message("acme", name);
    bool both = roll(m, 2) == 0;
    message.message_type = both ? TRILHA_TEXT("a.x") : TRILHA_TEXT("b.x");
    if (trilha_producer_enqueue(&m->producer, &message, &said, &err) != TRILHA_OK)
      fail_msg("%s: %s", err.code, err.text);
    known_message *known = &m->messages[key][m->count[key]++];
    *known = (known_message){.goes_to = {both, true}, .revision = 1};
    memcpy(known->id, said.message_id, sizeof known->id);
    expect(m, said.aggregate_sequence == m->count[key], "sequences have no gaps");
  }
  trilha_producer_run(&m->producer, commits ? "COMMIT" : "ROLLBACK");
  if (!commits) memcpy(m->count, before, sizeof before);
}

static void note_claimed(model *m, const trilha_lane_lease *lease, int destination, bool lasts) {
  int key = lease->aggregate_key.data[0] - '0';
  known_lane *lane = &m->lanes[key][destination];
  expect(m, may_be_claimed(m, key, destination), "a lane is claimed that is leased, dead or in backoff");
  int64_t head = head_of(m, key, destination);
  /* A head that points before the first waiting message is right too: what is between went elsewhere or was given up.
   */
  expect(m, head == 0 || lease->head_sequence <= head, "a claim skips an unfinished message");
  lane->token = lease->token;
  lane->expired = !lasts;
  m->claimed++;
  if (m->held < LEASES_MAX) m->leases[m->held++] = (held){*lease, key, destination};
}

static void claim(model *m, bool all) {
  int destination = roll(m, DESTINATIONS);
  bool lasts = roll(m, 3) > 0;
  trilha_lane_lease leases[LANES];
  size_t count = 0, wanted = 0;
  trilha_text after = {0};
  trilha_error err = {0};
  const trilha_claim asked = {.destination = trilha_text_of(names[destination]),
                              .owner = TRILHA_TEXT("model"),
                              .after = TRILHA_TEXT(""),
                              .lanes = all ? LANES : 1 + roll(m, 2),
                              .quota = LANES,
                              .lease_ms = lasts ? FAR_MS : 1};
  trilha_clock_sleep_ms(8); /* short leases are over, and lanes that were released with messages left are due */
  for (int key = 0; all && key < KEYS; key++)
    wanted += head_of(m, key, destination) != 0 && may_be_claimed(m, key, destination);
  if (m->store->op->claim(m->store, &asked, &m->arena, leases, &count, &after, &err) != TRILHA_OK)
    fail_msg("%s: %s", err.code, err.text);
  size_t with_messages = 0;
  for (size_t i = 0; i < count; i++) {
    with_messages += head_of(m, leases[i].aggregate_key.data[0] - '0', destination) != 0;
    note_claimed(m, &leases[i], destination, lasts);
  }
  expect(m, !all || with_messages == wanted, "a lane with work is not found");
  ask_the_predicate(m);
}

typedef struct fetched {
  model *m;
  const held *h;
  int64_t sequences[RUN];
  int count;
} fetched;

static trilha_status check_row(void *user, const trilha_outbox_row *row, trilha_error *err) {
  fetched *f = user;
  model *m = f->m;
  int key = f->h->key, destination = f->h->destination;
  if (f->count < RUN) f->sequences[f->count++] = row->aggregate_sequence;
  bool known = row->aggregate_sequence >= 1 && row->aggregate_sequence <= m->count[key];
  expect(m, known && strcmp(m->messages[key][row->aggregate_sequence - 1].id, row->message_id) == 0,
         "a message is another one");
  expect(m, !known || row->revision == m->messages[key][row->aggregate_sequence - 1].revision,
         "an earlier content is sent after a correction");
  expect(m, row->previous_sequence == previous_of(m, key, destination, row->aggregate_sequence), "previous_sequence");
  return m->violated == NULL ? TRILHA_OK : TRILHA_CANCELLED;
}

/* In order, from the head on, none left out. */
static void check_run(model *m, const fetched *f) {
  int64_t expected = head_of(m, f->h->key, f->h->destination);
  for (int i = 0; i < f->count; i++) {
    expect(m, f->sequences[i] == expected, "a run is not in order from the head on");
    do expected++;
    while (expected <= m->count[f->h->key] && !m->messages[f->h->key][expected - 1].goes_to[f->h->destination]);
  }
  expect(m, f->count > 0 || expected == 0, "a run leaves messages out");
}

static void note_settled(model *m, const fetched *f, int delivered, const trilha_lane_outcome *o) {
  known_lane *lane = &m->lanes[f->h->key][f->h->destination];
  for (int i = 0; i < delivered; i++) m->messages[f->h->key][f->sequences[i] - 1].fate[f->h->destination] = DONE;
  *lane = (known_lane){.dead = o->failed && o->dead, .in_backoff = o->failed && !o->dead && o->delay_ms > 0};
}

static void settle(model *m) {
  if (m->held == 0) return;
  size_t place = (size_t)roll(m, (int)m->held);
  held h = m->leases[place];
  m->leases[place] = m->leases[--m->held];
  bool current = m->lanes[h.key][h.destination].token == h.lease.token;
  trilha_text destination = trilha_text_of(names[h.destination]);
  trilha_error err = {0};
  fetched f = {.m = m, .h = &h};
  if (current) {
    trilha_status status = m->store->op->fetch(m->store, destination, &h.lease, 1, RUN, 1 << 20, check_row, &f, &err);
    if (m->violated != NULL) return;
    if (status != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
    check_run(m, &f);
  }
  int delivered = roll(m, f.count + 1);
  bool fails = delivered < f.count && roll(m, 2) == 0;
  trilha_lane_outcome o = {.lease = &h.lease,
                           .next_sequence = delivered > 0 ? f.sequences[delivered - 1] + 1 : h.lease.head_sequence,
                           .drained = delivered == f.count && f.count < RUN,
                           .failed = fails,
                           .dead = fails && roll(m, 2) == 0,
                           .code = TRILHA_TEXT("MODEL"),
                           .text = TRILHA_TEXT("as the dice fell")};
  if (fails) o.next_sequence = f.sequences[delivered];
  if (fails && !o.dead) o.delay_ms = roll(m, 2) * FAR_MS;
  if (m->store->op->settle(m->store, destination, &o, 1, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  expect(m, o.settled == current,
         "a settlement under a lease that is not the current one, or none under the one that is");
  m->refused += !o.settled;
  m->settled += o.settled;
  m->died += o.settled && o.failed && o.dead;
  if (o.settled) note_settled(m, &f, delivered, &o);
}

static void renew(model *m) {
  if (m->held == 0) return;
  held *h = &m->leases[roll(m, (int)m->held)];
  known_lane *lane = &m->lanes[h->key][h->destination];
  trilha_status status = m->store->op->renew(m->store, trilha_text_of(names[h->destination]), &h->lease, FAR_MS, NULL);
  expect(m, (status == TRILHA_OK) == (lane->token == h->lease.token),
         "a renewal of a lease that is not the current one");
  if (status == TRILHA_OK) lane->expired = false;
}

static void operate(model *m) {
  int key = roll(m, KEYS), destination = roll(m, DESTINATIONS);
  if (m->count[key] == 0) return;
  int64_t sequence = head_of(m, key, destination);
  if (sequence == 0 || roll(m, 4) == 0) sequence = 1 + roll(m, (int)m->count[key]); /* often one that must be refused */
  bool discard = roll(m, 3) == 0;
  known_lane *lane = &m->lanes[key][destination];
  bool allowed = lane->dead && sequence == head_of(m, key, destination);
  unsigned char id[16];
  assert_true(trilha_uuid_parse(trilha_text_of(m->messages[key][sequence - 1].id), id));
  const trilha_outbox_operation operation = {
      .destination = trilha_text_of(names[destination]),
      .user = TRILHA_TEXT("model"),
      .reason = TRILHA_TEXT("dice"),
      .reconciliation = discard ? TRILHA_TEXT("unknown there") : (trilha_text){0}};
  trilha_status status = m->store->op->operate(m->store, id, &operation, discard, NULL);
  expect(m, (status == TRILHA_OK) == allowed, "an operator passes what is not a dead head, or cannot pass one");
  if (status != TRILHA_OK) return;
  *lane = (known_lane){0};
  m->operated++;
  if (discard) m->messages[key][sequence - 1].fate[destination] = GIVEN_UP;
}

/* Whether a live lease covers a message, and whether any destination waits for it. */
static bool may_be_corrected(const model *m, int key, int64_t sequence, bool *ret_waits) {
  const known_message *message = &m->messages[key][sequence - 1];
  bool in_flight = false;
  *ret_waits = false;
  for (int d = 0; d < DESTINATIONS; d++) {
    const known_lane *lane = &m->lanes[key][d];
    bool waits = message->goes_to[d] && message->fate[d] == WAITING;
    *ret_waits = *ret_waits || waits;
    in_flight = in_flight || (waits && lane->token != 0 && !lane->expired);
  }
  return *ret_waits && !in_flight;
}

/* Whoever held a lease that ran out may still come back, having sent the content before: it settles nothing any more.
 */
static void note_corrected(model *m, int key, int64_t sequence) {
  known_message *message = &m->messages[key][sequence - 1];
  message->revision++;
  for (int d = 0; d < DESTINATIONS; d++) {
    known_lane *lane = &m->lanes[key][d];
    if (!message->goes_to[d] || message->fate[d] != WAITING) continue;
    if (lane->token != 0 || sequence == head_of(m, key, d)) *lane = (known_lane){0};
  }
}

static void correct(model *m) {
  int key = roll(m, KEYS);
  if (m->count[key] == 0) return;
  int64_t sequence = head_of(m, key, roll(m, DESTINATIONS));
  if (sequence == 0 || roll(m, 3) == 0) sequence = 1 + roll(m, (int)m->count[key]);
  known_message *message = &m->messages[key][sequence - 1];
  /* The model does not know how far a lane's row has moved past a message that was given up. */
  for (int d = 0; d < DESTINATIONS; d++)
    if (message->fate[d] == GIVEN_UP) return;
  bool waits = false, allowed = may_be_corrected(m, key, sequence, &waits);
  unsigned char id[16];
  assert_true(trilha_uuid_parse(trilha_text_of(message->id), id));
  const trilha_outbox_correction correction = {.message_id = trilha_text_of(message->id),
                                               .payload = TRILHA_TEXT("{\"valor\": 12}"),
                                               .user = TRILHA_TEXT("model"),
                                               .reason = TRILHA_TEXT("dice"),
                                               .revision = message->revision};
  trilha_outbox_corrected done = {0};
  trilha_clock_sleep_ms(8); /* short leases are over */
  trilha_status status = m->store->op->correct(m->store, id, &correction, TRILHA_TEXT("[]"), &done, NULL);
  trilha_outbox_corrected_done(&done);
  expect(m, (status == TRILHA_OK) == allowed,
         "a correction under a live lease or of a finished message, or none where it may be");
  if (status != TRILHA_OK) return;
  m->corrected++;
  note_corrected(m, key, sequence);
}

static void end_pauses(model *m) {
  bool pg = m->producer.pg != NULL;
  trilha_producer_run(&m->producer, pg ? "UPDATE {p}outbox_lane SET due_at = clock_timestamp() WHERE state = 'R'"
                                       : "UPDATE {p}outbox_lane SET due_us = 1 WHERE state = 'R'");
  for (int key = 0; key < KEYS; key++)
    for (int d = 0; d < DESTINATIONS; d++) m->lanes[key][d].in_backoff = false;
}

static void step(model *m) {
  int chosen = roll(m, 22);
  if (chosen < 5)
    enqueue(m);
  else if (chosen < 9)
    claim(m, roll(m, 3) == 0);
  else if (chosen < 15)
    settle(m);
  else if (chosen < 16)
    renew(m);
  else if (chosen < 18)
    operate(m);
  else if (chosen < 20)
    correct(m);
  else
    end_pauses(m);
}

/* --- the whole
 * ------------------------------------------------------------------------------------------------------------------------
 */

static model *begin(const trilha_fixture *f) {
  model *m = calloc(1, sizeof *m);
  assert_non_null(m);
  m->producer = trilha_producer_open(f, true);
  trilha_outbox *outbox = trilha_producer_outbox(f);
  trilha_error err = {0};
  if (trilha_outbox_route_add(outbox, TRILHA_TEXT("a.*"), TRILHA_TEXT("some"), &err) != TRILHA_OK)
    fail_msg("%s", err.text);
  trilha_outbox_close(outbox);
  const trilha_store_options options = {.url = trilha_text_of(f->url)};
  trilha_status status = f->is_postgres ? trilha_postgres_outbox_open(&options, "billing", &m->store, &err)
                                        : trilha_sqlite_outbox_open(&options, "billing", &m->store, &err);
  if (status != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return m;
}

static void end(model *m) {
  m->store->op->close(m->store);
  trilha_producer_close(&m->producer);
  trilha_arena_done(&m->arena);
  free(m);
}

/* Everything that waits is delivered in the end, whatever happened to it before. */
static void drain(model *m) {
  for (int round = 0; round < 4 * MESSAGES_MAX && m->violated == NULL; round++) {
    int64_t left = 0;
    for (int key = 0; key < KEYS; key++)
      for (int d = 0; d < DESTINATIONS; d++) left += head_of(m, key, d) != 0;
    if (left == 0 && trilha_producer_count(&m->producer, "SELECT count(*) FROM {p}outbox_lane") == 0) return;
    for (int i = 0; i < 6; i++) operate(m);
    end_pauses(m);
    claim(m, true);
    while (m->held > 0 && m->violated == NULL) settle(m);
    bool pg = m->producer.pg != NULL; /* leases that nobody holds any more run out */
    trilha_producer_run(&m->producer, pg ? "UPDATE {p}outbox_lane SET due_at = clock_timestamp() WHERE state = 'L'"
                                         : "UPDATE {p}outbox_lane SET due_us = 1 WHERE state = 'L'");
    for (int key = 0; key < KEYS; key++)
      for (int d = 0; d < DESTINATIONS; d++) m->lanes[key][d].expired = true;
  }
  expect(m, m->violated != NULL, "something is never delivered");
}

static void the_relay_agrees_with_the_model_for_any_schedule(void **state) {
  const char *given = getenv("TRILHA_TEST_SEED");
  unsigned seed = given == NULL ? (unsigned)trilha_clock_wall_us() : (unsigned)strtoul(given, NULL, 10);
  model *m = begin(*state);
  printf("# TRILHA_TEST_SEED=%u\n", seed);
  m->seed = seed;
  int steps = 0;
  for (; steps < STEPS && m->violated == NULL; steps++) step(m);
  drain(m);
  printf("# claimed %d, settled %d, refused %d, dead %d, retried or discarded %d, corrected %d\n", m->claimed,
         m->settled, m->refused, m->died, m->operated, m->corrected);
  if (m->violated != NULL) fail_msg("seed %u, step %d: %s", seed, steps, m->violated);
  int64_t given_up = 0;
  for (int key = 0; key < KEYS; key++)
    for (int64_t i = 0; i < m->count[key]; i++)
      for (int d = 0; d < DESTINATIONS; d++) given_up += m->messages[key][i].fate[d] == GIVEN_UP;
  assert_int_equal(
      trilha_producer_count(&m->producer, "SELECT count(*) FROM {p}producer_outbox WHERE status = 'Discarded'"),
      given_up);
  assert_int_equal(
      trilha_producer_count(&m->producer,
                            "SELECT count(*) FROM {p}producer_outbox WHERE status NOT IN ('Discarded', 'Dispatched')"),
      0);
  end(m);
}

/* The control: a relay that skips a head, and one that gives a live lease away, must be caught. */
static void the_model_catches_a_relay_that_breaks_the_rules(void **state) {
  model *m = begin(*state);
  bool pg = m->producer.pg != NULL;
  for (int i = 0; i < 40; i++) enqueue(m);
  trilha_producer_run(&m->producer, "UPDATE {p}outbox_lane SET head_sequence = head_sequence + 2");
  for (int i = 0; i < 20 && m->violated == NULL; i++) claim(m, true);
  assert_non_null(m->violated);
  m->violated = NULL;
  trilha_producer_run(&m->producer, "UPDATE {p}outbox_lane SET head_sequence = head_sequence - 2");
  for (int i = 0; i < 20; i++) claim(m, true);
  m->violated = NULL;
  for (int key = 0; key < KEYS; key++)
    for (int d = 0; d < DESTINATIONS; d++) m->lanes[key][d].expired = false;
  trilha_producer_run(&m->producer,
                      pg ? "UPDATE {p}outbox_lane SET due_at = '-infinity'" : "UPDATE {p}outbox_lane SET due_us = 0");
  for (int i = 0; i < 20 && m->violated == NULL; i++) claim(m, true);
  assert_non_null(m->violated);
  end(m);
}

static bool hears_of_a_drain(model *m) {
  const trilha_worker_beat beat = {.worker = TRILHA_TEXT("host:1:a"),
                                   .destinations = TRILHA_TEXT("everything"),
                                   .threads = 1,
                                   .expected_ms = 60000,
                                   .holds = TRILHA_TEXT("{\"everything\":\"\"}")};
  trilha_error err = {0};
  bool drain = true;
  if (m->store->op->worker_beat(m->store, &beat, &drain, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return drain;
}

static void a_worker_hears_of_a_drain_only_when_somebody_asked_for_it(void **state) {
  model *m = begin(*state);
  trilha_error err = {0};
  for (int i = 0; i < 3; i++) assert_false(hears_of_a_drain(m)); /* the first registers it, the others find it */
  if (m->store->op->worker_drain(m->store, TRILHA_TEXT("host:1:a"), TRILHA_TEXT("ana"), TRILHA_TEXT("why"), &err) !=
      TRILHA_OK)
    fail_msg("%s: %s", err.code, err.text);
  for (int i = 0; i < 2; i++) assert_true(hears_of_a_drain(m));
  end(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(the_relay_agrees_with_the_model_for_any_schedule),
      TEST(the_model_catches_a_relay_that_breaks_the_rules),
      TEST(a_worker_hears_of_a_drain_only_when_somebody_asked_for_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
