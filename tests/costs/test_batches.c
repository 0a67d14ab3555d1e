/* costs: what a batch of the relay touches, counted by the server for this session alone, and what crosses the wire
 * for it. Nothing is timed. docs/benchmarks.md says what follows from the counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>

#include "costs/backlog.h"
#include "outbox/producer.h"

enum {
  SMALL = 1000,
  LARGE = 100000,    /* make bench goes to 1,000,000 */
  SPARE = 200,       /* so that there are lanes for both kinds of batch */
  FEW = 10,          /* messages behind a dead head */
  MANY = 20000,      /* and many; make bench takes 300,000 */
  ALL_LANES = 1000,  /* a quota that cuts nothing */
  SINGLE_LANES = 100 /* of one message each; runs: a tenth of the lanes, ten messages each */
};

static trilha_producer open_outbox(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  if (!trilha_backlog_keep_still(p.pg, "billing")) fail_msg("%s", PQerrorMessage(p.pg));
  return p;
}

static void fill(const trilha_producer *p, trilha_backlog backlog) {
  if (!trilha_backlog_make(p->pg, "billing", &backlog)) fail_msg("%s", PQerrorMessage(p->pg));
}

static trilha_batch_cost batch(const trilha_producer *p, int64_t lanes, int64_t quota, int64_t run) {
  trilha_batch_cost cost;
  if (!trilha_backlog_warm(p->pg, "billing", run) || !trilha_backlog_batch(p->pg, "billing", lanes, quota, run, &cost))
    fail_msg("%s", PQerrorMessage(p->pg));
  print_message("# %lld lanes, %lld messages: claim %lld, fetch %lld, settle %lld buffers\n", (long long)cost.lanes,
                (long long)cost.messages, (long long)cost.claim, (long long)cost.fetch, (long long)cost.settle);
  return cost;
}

/* Both kinds of batch: single messages of many lanes, and runs of a tenth of the lanes. The bars are those of the whole
 * batch; of a part of it, the costs of a few index pages more may show. */
enum { SINGLES_MOST = 150, RUNS_MOST = 120, PART_MOST = 150, RUN = 10 };

static void expect_like(const trilha_batch_cost *large, const trilha_batch_cost *small, int64_t most) {
  assert_int_equal(large->lanes, small->lanes);
  assert_int_equal(large->messages, small->messages);
  assert_in_range(100 * (large->claim + large->fetch + large->settle), 1,
                  most * (small->claim + small->fetch + small->settle));
  assert_in_range(100 * (large->claim + large->fetch), 1, PART_MOST * (small->claim + small->fetch));
  assert_in_range(100 * large->settle, 1, PART_MOST * small->settle);
}

/* Whatever is in the outbox, whatever of it is blocked, on tables that were never analysed. */
static void expect_flat(void **state, int64_t tenants, const int64_t *blocked, size_t count) {
  trilha_producer p = open_outbox(state);
  fill(&p, (trilha_backlog){.messages = SMALL, .spare = SPARE, .tenants = tenants});
  trilha_batch_cost runs = batch(&p, SINGLE_LANES / RUN, ALL_LANES, RUN);
  trilha_batch_cost singles = batch(&p, SINGLE_LANES, ALL_LANES, 1);
  assert_int_equal(runs.messages, SINGLE_LANES);
  assert_int_equal(singles.messages, SINGLE_LANES);
  for (size_t i = 0; i < count; i++) {
    fill(&p, (trilha_backlog){.messages = LARGE, .blocked = blocked[i], .spare = SPARE, .tenants = tenants});
    trilha_batch_cost large = batch(&p, SINGLE_LANES / RUN, ALL_LANES, RUN);
    expect_like(&large, &runs, RUNS_MOST);
    large = batch(&p, SINGLE_LANES, ALL_LANES, 1);
    expect_like(&large, &singles, SINGLES_MOST);
  }
  trilha_producer_close(&p);
}

static void a_batch_costs_the_same_whatever_is_in_the_outbox(void **state) {
  static const int64_t blocked[] = {0, 50, 99};
  expect_flat(state, 1, blocked, 3);
}

static void a_batch_costs_the_same_whatever_a_hundred_tenants_have_in_the_outbox(void **state) {
  static const int64_t blocked[] = {99};
  expect_flat(state, 100, blocked, 1);
}

static void what_is_behind_a_dead_head_costs_nothing(void **state) {
  trilha_producer p = open_outbox(state);
  fill(&p, (trilha_backlog){.messages = 2 * SMALL, .blocked = 1, .behind = FEW, .tenants = 1});
  trilha_batch_cost few = batch(&p, SINGLE_LANES, ALL_LANES, 1);
  fill(&p, (trilha_backlog){.messages = 2 * SMALL + MANY, .blocked = 91, .behind = MANY, .tenants = 1});
  trilha_batch_cost many = batch(&p, SINGLE_LANES, ALL_LANES, 1);
  assert_int_equal(many.messages, few.messages);
  assert_in_range(10 * (many.claim + many.fetch + many.settle), 1, 11 * (few.claim + few.fetch + few.settle));
  trilha_producer_close(&p);
}

/* Only dead lanes are left once the one that is ready was taken. */
static void a_look_where_everything_is_blocked_touches_under_10_buffers(void **state) {
  trilha_producer p = open_outbox(state);
  fill(&p, (trilha_backlog){.messages = MANY, .blocked = 100, .tenants = 100});
  trilha_batch_cost cost = batch(&p, 1, ALL_LANES, 10);
  trilha_producer_run(&p, "DELETE FROM {p}outbox_lane WHERE state <> 'X'");
  cost = batch(&p, SINGLE_LANES, ALL_LANES, 10);
  assert_int_equal(cost.lanes, 0);
  assert_in_range(cost.claim, 1, 9);
  trilha_producer_close(&p);
}

/* One tenant holds its quota; what waits behind it is not looked at. */
static void who_holds_a_quota_is_found_at_the_same_cost_whatever_waits(void **state) {
  enum { LEASES = 8, MOST = 150 };
  trilha_producer p = open_outbox(state);
  int64_t small = 0, large = 0, tenants = 0;
  fill(&p, (trilha_backlog){.messages = SMALL, .tenants = 1});
  if (!trilha_backlog_quotas(p.pg, "billing", LEASES, &tenants, &small)) fail_msg("%s", PQerrorMessage(p.pg));
  assert_int_equal(tenants, 1);
  fill(&p, (trilha_backlog){.messages = LARGE, .tenants = 1});
  if (!trilha_backlog_quotas(p.pg, "billing", LEASES, &tenants, &large)) fail_msg("%s", PQerrorMessage(p.pg));
  assert_int_equal(tenants, 1);
  print_message("# who holds a quota: %lld buffers, %lld with a hundred times as much waiting\n", (long long)small,
                (long long)large);
  assert_in_range(100 * large, 1, MOST * small);
  trilha_producer_close(&p);
}

/* Claims, and gives back at once. */
static int64_t claim_behind(const trilha_producer *p, trilha_backlog_floor *floor) {
  int64_t lanes = 0, buffers = 0;
  if (!trilha_backlog_claim(p->pg, "billing", SINGLE_LANES, floor, &lanes, &buffers))
    fail_msg("%s", PQerrorMessage(p->pg));
  assert_int_equal(lanes, SINGLE_LANES);
  trilha_producer_run(p, "UPDATE {p}outbox_lane SET state = 'R', due_at = clock_timestamp() WHERE state = 'L'");
  return buffers;
}

/* What was settled while somebody holds a snapshot stays in the indexes; whoever knows how far it came passes it by. */
static void a_claim_costs_the_same_however_much_was_settled_under_a_held_snapshot(void **state) {
  enum { LEASES = 40 };
  trilha_producer p = open_outbox(state);
  fill(&p, (trilha_backlog){.messages = SMALL, .tenants = 1}); /* as many lanes as a claim takes */
  PGconn *holder = PQconnectdb(p.f->url);
  PQclear(PQexec(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ"));
  PQclear(PQexec(holder, "SELECT count(*) FROM pg_class"));
  trilha_backlog_floor floor = {0};
  claim_behind(&p, &floor); /* the session reads what it keeps of each index */
  floor = (trilha_backlog_floor){0};
  int64_t before = claim_behind(&p, &floor);
  for (int i = 0; i < LEASES; i++) claim_behind(&p, &floor);
  trilha_producer_run(&p, "SELECT pg_sleep(0.3)"); /* a floor stays a quarter of a second behind */
  claim_behind(&p, &floor);
  trilha_producer_run(&p, "SELECT pg_sleep(0.3)");
  int64_t behind = claim_behind(&p, &floor);
  floor = (trilha_backlog_floor){0};
  int64_t from_first = claim_behind(&p, &floor);
  print_message("# a claim touches %lld buffers, %lld behind its floor after %d batches, %lld from the first lane\n",
                (long long)before, (long long)behind, LEASES, (long long)from_first);
  assert_in_range(10 * behind, 1, 15 * before);
  assert_true(from_first - before > 3 * (behind - before)); /* else nothing was there to pass by */
  PQfinish(holder);
  trilha_producer_close(&p);
}

int main(void) {
#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)
  const struct CMUnitTest tests[] = {
      ON_STORE(a_batch_costs_the_same_whatever_is_in_the_outbox),
      ON_STORE(a_batch_costs_the_same_whatever_a_hundred_tenants_have_in_the_outbox),
      ON_STORE(what_is_behind_a_dead_head_costs_nothing),
      ON_STORE(a_look_where_everything_is_blocked_touches_under_10_buffers),
      ON_STORE(who_holds_a_quota_is_found_at_the_same_cost_whatever_waits),
      ON_STORE(a_claim_costs_the_same_however_much_was_settled_under_a_held_snapshot),
  };
  if (trilha_fixture_skips()) return 0;
  return cmocka_run_group_tests_name("costs of batches", tests, NULL, NULL);
}
