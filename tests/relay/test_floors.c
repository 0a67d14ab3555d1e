/* relay: looking at tenants behind floors (docs/adr/0023-floors.md). For any schedule of enqueue, late commit, claim by
 * two workers, settle and lost lease, a brute-force look at the lanes says what was ready before each claim: looks from
 * the first lane must take the oldest of it, looks behind a floor may pass a lane by only so often, and no tenant is
 * left out of its turn. The seed is printed; TRILHA_TEST_SEED repeats a run. On PostgreSQL: other stores tell no
 * floors. */
#include "base/arena.h"
#include "relay/destination.h"
#include "relay/relay_internal.h"
#include "store/outbox.h"
#include "store/postgres/postgres.h"

enum {
  TENANTS = 4,
  KEYS = 6,
  WORKERS = 2,
  LANES_MAX = 5,
  QUOTA_MAX = 4,
  HELD_MAX = TENANTS * KEYS * 4,
  STEPS = 400,
  SCAN_MS = 20,
  READY_SIZE = 512
};

typedef struct lane_name {
  int tenant, key;
} lane_name;

typedef struct worker {
  trilha_relay_floors floors;
  char after[16];
  int passed[TENANTS][KEYS]; /* looks in a row that passed the lane by while it was ready */
  int64_t full_ns[TENANTS];  /* when the last look from the first lane was over */
} worker;

typedef struct model {
  trilha_producer p;
  trilha_outbox_store *store;
  trilha_arena arena;
  unsigned seed;
  int64_t said[TENANTS][KEYS];
  worker workers[WORKERS];
  trilha_lane_lease held[HELD_MAX];
  size_t held_count;
  bool blind; /* the control: never a look from the first lane again */
  const char *violated;
  int claimed, floored, passed_by; /* how much of everything a run held: printed */
} model;

static int roll(model *m, int sides) {
  return rand_r(&m->seed) % sides;
}

static void expect(model *m, bool holds, const char *what) {
  if (!holds && m->violated == NULL) m->violated = what;
}

/* --- one claim against the oracle ------------------------------------------------------------------------------- */

typedef struct look {
  int tenant;
  int64_t taken;
  bool more, from_first;
} look;

typedef struct claiming {
  worker *w;
  const trilha_claim *claim;
  trilha_tenant_looked forward;
  look looks[4 * TENANTS];
  int count;
  lane_name ready[TENANTS * KEYS]; /* before the claim, by tenant and due time */
  int ready_count;
  bool taken[TENANTS][KEYS];
} claiming;

static void note_look(void *user, const trilha_tenant_look *told) {
  claiming *c = user;
  look *l = &c->looks[c->count++];
  *l = (look){
      .tenant = told->floor.tenant_id.data[1] - '0', .taken = told->taken, .more = told->more, .from_first = true};
  for (size_t i = 0; i < c->claim->known_count; i++)
    if (trilha_text_compare(c->claim->known[i].tenant_id, told->floor.tenant_id) == 0)
      l->from_first = c->claim->known[i].since_us == INT64_MIN;
  c->forward(&c->w->floors, told);
}

/* "t0:3,t0:1,…" */
static void read_ready(model *m, claiming *c) {
  char text[READY_SIZE];
  trilha_producer_text(&m->p,
                       "SELECT string_agg(tenant_id || ':' || aggregate_key, ',' ORDER BY tenant_id, due_at, "
                       "aggregate_id) FROM {p}outbox_lane WHERE state <> 'X' AND due_at <= clock_timestamp()",
                       text, sizeof text);
  for (const char *at = text; *at != '\0'; at += at[4] == ',' ? 5 : 4)
    c->ready[c->ready_count++] = (lane_name){at[1] - '0', at[3] - '0'};
}

static bool was_looked_at(const claiming *c, int tenant) {
  for (int i = 0; i < c->count; i++)
    if (c->looks[i].tenant == tenant) return true;
  return false;
}

/* Places in this round: behind `after`, in a circle. */
static int place_in_round(const claiming *c, const char *after, int tenant) {
  (void)c;
  int first = after[0] == '\0' ? 0 : after[1] - '0' + 1;
  return (tenant - first + TENANTS) % TENANTS;
}

static void check_turns(model *m, const claiming *c, const char *after, const char *next) {
  int reached = -1;
  for (int i = 0; i < c->count; i++) {
    int place = place_in_round(c, after, c->looks[i].tenant);
    expect(m, place > reached, "tenants are looked at out of their turn, or twice");
    reached = place;
  }
  for (int i = 0; i < c->ready_count; i++) {
    int tenant = c->ready[i].tenant;
    bool before = place_in_round(c, after, tenant) < reached;
    bool to_the_end = next[0] == '\0' && (after[0] == '\0' || tenant > after[1] - '0');
    expect(m, !(before || to_the_end) || was_looked_at(c, tenant), "a tenant with a ready lane is left out");
  }
}

static void check_first_look(model *m, const claiming *c, const look *l) {
  int64_t left = l->taken;
  for (int i = 0; i < c->ready_count; i++) {
    if (c->ready[i].tenant != l->tenant) continue;
    if (left-- > 0)
      expect(m, c->taken[l->tenant][c->ready[i].key], "a look from the first lane passes an older one by");
    else
      expect(m, l->more, "a look from the first lane leaves a ready lane and says that nothing is left");
  }
}

static void check_floored_look(model *m, const claiming *c, const look *l) {
  m->floored++;
  bool later_taken = !l->more;
  for (int i = c->ready_count - 1; i >= 0; i--) {
    if (c->ready[i].tenant != l->tenant) continue;
    int key = c->ready[i].key, *passed = &c->w->passed[l->tenant][key];
    if (c->taken[l->tenant][key]) {
      later_taken = true;
    } else if (later_taken) {
      m->passed_by++;
      const bool soon = c->w->floors.begun_ns <= c->w->full_ns[l->tenant] + SCAN_MS * INT64_C(1000000);
      expect(m, ++*passed < TRILHA_RELAY_FLOOR_LOOKS_MAX || soon, "a ready lane is passed by for too long");
    }
  }
}

static void judge(model *m, const claiming *c, const char *after, const char *next) {
  check_turns(m, c, after, next);
  for (int i = 0; i < c->count; i++) {
    const look *l = &c->looks[i];
    expect(m, l->taken <= c->claim->quota, "a tenant is given more than its quota");
    if (l->from_first) c->w->full_ns[l->tenant] = trilha_clock_monotonic_ns();
    if (l->taken == 0 && l->more) continue; /* its quota was in flight: it was not looked at */
    if (l->from_first)
      check_first_look(m, c, l);
    else
      check_floored_look(m, c, l);
  }
  for (int t = 0; t < TENANTS; t++)
    for (int k = 0; k < KEYS; k++)
      for (int w = 0; c->taken[t][k] && w < WORKERS; w++) m->workers[w].passed[t][k] = 0;
}

static void blind(trilha_relay_floors *floors) {
  for (size_t i = 0; i < floors->count; i++) {
    floors->all[i].looks = 0;
    floors->all[i].full_by = TRILHA_NO_DEADLINE;
  }
}

static size_t claim(model *m, int number) {
  worker *w = &m->workers[number];
  trilha_lane_lease leases[LANES_MAX];
  size_t count = 0;
  trilha_text after = {0};
  trilha_error err = {0};
  claiming c = {.w = w};
  char before[sizeof w->after];
  memcpy(before, w->after, sizeof before);
  trilha_claim asked = {.destination = TRILHA_TEXT("everything"),
                        .owner = TRILHA_TEXT("model"),
                        .after = trilha_text_of(before),
                        .lanes = 1 + roll(m, LANES_MAX),
                        .quota = 1 + roll(m, QUOTA_MAX),
                        .lease_ms = 3600000};
  if (m->blind) blind(&w->floors);
  trilha_relay_floors_give(&w->floors, &asked);
  c.claim = &asked;
  c.forward = asked.looked;
  asked.looked = note_look;
  asked.user = &c;
  read_ready(m, &c);
  if (m->held_count + LANES_MAX > HELD_MAX) return 0;
  if (m->store->op->claim(m->store, &asked, &m->arena, leases, &count, &after, &err) != TRILHA_OK)
    fail_msg("%s: %s", err.code, err.text);
  for (size_t i = 0; i < count; i++) {
    c.taken[leases[i].tenant_id.data[1] - '0'][leases[i].aggregate_key.data[0] - '0'] = true;
    m->held[m->held_count++] = leases[i];
  }
  snprintf(w->after, sizeof w->after, "%.*s", (int)after.size, after.data);
  m->claimed += (int)count;
  judge(m, &c, before, w->after);
  return count;
}

/* --- the other steps ------------------------------------------------------------------------------------------- */

static void say(model *m, bool late) {
  int t = roll(m, TENANTS), k = roll(m, KEYS);
  char tenant[8], key[8], sql[256];
  snprintf(tenant, sizeof tenant, "t%d", t);
  snprintf(key, sizeof key, "%d", k);
  trilha_producer_say(&m->p, tenant, key);
  m->said[t][k]++;
  if (!late) return;
  /* As if its transaction had been open so long. */
  snprintf(sql, sizeof sql,
           "UPDATE {p}outbox_lane SET due_at = clock_timestamp() - interval '1 ms' * %d WHERE tenant_id = '%s' AND "
           "aggregate_key = '%s' AND state = 'R'",
           300 + roll(m, 20000), tenant, key);
  trilha_producer_run(&m->p, sql);
}

static void settle(model *m) {
  if (m->held_count == 0) return;
  size_t place = (size_t)roll(m, (int)m->held_count);
  trilha_lane_lease lease = m->held[place];
  m->held[place] = m->held[--m->held_count];
  int64_t said = m->said[lease.tenant_id.data[1] - '0'][lease.aggregate_key.data[0] - '0'];
  int64_t next = lease.head_sequence <= said ? lease.head_sequence + 1 : lease.head_sequence;
  trilha_lane_outcome outcome = {.lease = &lease, .next_sequence = next, .drained = next > said};
  trilha_error err = {0};
  if (m->store->op->settle(m->store, TRILHA_TEXT("everything"), &outcome, 1, &err) != TRILHA_OK)
    fail_msg("%s: %s", err.code, err.text);
}

/* A worker is gone, and its leases run out: far before any floor. */
static void lose_leases(model *m) {
  trilha_producer_run(
      &m->p,
      "UPDATE {p}outbox_lane SET due_at = clock_timestamp() - interval '30 s' * random() WHERE state = 'L' "
      "AND random() < 0.5");
}

static void step(model *m) {
  int chosen = roll(m, 20);
  if (chosen < 4)
    say(m, chosen == 0);
  else if (chosen < 12)
    claim(m, roll(m, WORKERS));
  else if (chosen < 19)
    settle(m);
  else
    lose_leases(m);
}

static model *begin(const trilha_fixture *f) {
  const char *given = getenv("TRILHA_TEST_SEED");
  model *m = calloc(1, sizeof *m);
  assert_non_null(m);
  m->p = trilha_producer_open(f, true);
  m->seed = given == NULL ? (unsigned)trilha_clock_wall_us() : (unsigned)strtoul(given, NULL, 10);
  printf("# TRILHA_TEST_SEED=%u\n", m->seed);
  const trilha_store_options options = {.url = trilha_text_of(f->url)};
  CHECKED(trilha_postgres_outbox_open(&options, "billing", &m->store, error));
  for (int w = 0; w < WORKERS; w++) assert_true(trilha_relay_floors_init(&m->workers[w].floors, LANES_MAX, SCAN_MS));
  return m;
}

static void end(model *m) {
  for (int w = 0; w < WORKERS; w++) trilha_relay_floors_done(&m->workers[w].floors);
  m->store->op->close(m->store);
  trilha_producer_close(&m->p);
  trilha_arena_done(&m->arena);
  free(m);
}

/* Whatever is left comes in the end, below the floors or not. */
static void drain_all(model *m) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  lose_leases(m);
  while (m->violated == NULL && trilha_producer_count(&m->p, "SELECT count(*) FROM {p}outbox_lane") > 0) {
    if (trilha_deadline_passed(patience)) expect(m, false, "something is never claimed");
    for (int w = 0; w < WORKERS; w++) claim(m, w);
    if (m->held_count == 0) {
      trilha_clock_sleep_ms(2);
      trilha_producer_run(&m->p, "UPDATE {p}outbox_lane SET due_at = clock_timestamp() WHERE state = 'L'");
    }
    while (m->held_count > 0) settle(m);
  }
}

static void nothing_ready_is_passed_by_for_longer_than_the_bound_and_tenants_keep_their_turns(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip();
  model *m = begin(f);
  int steps = 0;
  unsigned seed = m->seed;
  for (; steps < STEPS && m->violated == NULL; steps++) step(m);
  drain_all(m);
  printf("# claimed %d, looks behind a floor %d, passed by %d\n", m->claimed, m->floored, m->passed_by);
  if (m->violated != NULL) fail_msg("seed %u, step %d: %s", seed, steps, m->violated);
  assert_true(m->floored > 0);
  end(m);
}

/* The control: floors that are never looked below. */
static void the_model_catches_floors_that_are_kept_for_ever(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip();
  model *m = begin(f);
  m->blind = true;
  for (int i = 0; i < 40 * STEPS && m->violated == NULL; i++) step(m);
  assert_non_null(m->violated);
  end(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(nothing_ready_is_passed_by_for_longer_than_the_bound_and_tenants_keep_their_turns),
      TEST(the_model_catches_floors_that_are_kept_for_ever),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
