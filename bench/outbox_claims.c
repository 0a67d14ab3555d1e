/* bench/outbox: what a batch touches, against how much is in the outbox, how much of it is blocked, and how many
 * tenants there are. */
#include <libpq-fe.h>
#include <stdio.h>

#include "costs/backlog.h"
#include "outbox.h"

enum { SMALLEST = 1000, FOLLOWERS = 300000, RUN = 10, SINGLES = 100, SPARE = 200 };

static const int64_t blocked[] = {0, 50, 99};

static void fill(trilha_bench *b, trilha_backlog backlog) {
  if (!trilha_backlog_make(b->sql, "billing", &backlog)) trilha_bench_die("backlog", PQerrorMessage(b->sql));
  trilha_bench_run(b->sql, "VACUUM ANALYZE");
}

static trilha_batch_cost batch(trilha_bench *b, int64_t tenants, int64_t lanes, int64_t run) {
  trilha_batch_cost cost;
  int64_t quota = tenants == 1 ? lanes : RUN;
  if (!trilha_backlog_warm(b->sql, "billing", run) ||
      !trilha_backlog_batch(b->sql, "billing", lanes, quota, run, &cost))
    trilha_bench_die("batch", PQerrorMessage(b->sql));
  return cost;
}

typedef struct cell {
  double runs, singles; /* buffers of claim, fetch and settle */
} cell;

/* One kind of batch; 0 when there are not as many lanes. */
static double cost_of(trilha_bench *b, int64_t tenants, int64_t lanes, int64_t run) {
  trilha_batch_cost cost = batch(b, tenants, lanes, run);
  return cost.lanes == lanes && cost.messages == lanes * run ? (double)(cost.claim + cost.fetch + cost.settle) : 0;
}

static cell cell_of(trilha_bench *b, int64_t messages, int64_t share, int64_t tenants) {
  fill(b, (trilha_backlog){.messages = messages, .blocked = share, .spare = SPARE, .tenants = tenants});
  cell c = {.runs = cost_of(b, tenants, SINGLES / RUN, RUN)};
  c.singles = cost_of(b, tenants, SINGLES, 1);
  return c;
}

static void tell(const char *kind, int64_t messages, int64_t share, int64_t tenants, double buffers, double ratio) {
  char name[80];
  if (buffers == 0) return;
  snprintf(name, sizeof name, "claim %s, %lld messages, %lld %% blocked, %lld tenants", kind, (long long)messages,
           (long long)share, (long long)tenants);
  trilha_judge_told(name, ratio, "%.0f buffers to claim, read and settle", buffers);
}

static void judge_tenants(trilha_bench *b, int64_t tenants) {
  cell base = cell_of(b, SMALLEST, 0, tenants);
  cell worst = {0};
  tell("runs of 10", SMALLEST, 0, tenants, base.runs, 1);
  tell("singles", SMALLEST, 0, tenants, base.singles, 1);
  for (int64_t messages = SMALLEST * 10; messages <= b->largest; messages *= 10)
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++) {
      cell c = cell_of(b, messages, blocked[i], tenants);
      double runs = c.runs / base.runs, singles = c.singles / base.singles;
      tell("runs of 10", messages, blocked[i], tenants, c.runs, runs);
      tell("singles", messages, blocked[i], tenants, c.singles, singles);
      if (runs > worst.runs) worst.runs = runs;
      if (singles > worst.singles) worst.singles = singles;
    }
  char name[64];
  snprintf(name, sizeof name, "claim runs of 10, worst, %lld tenants", (long long)tenants);
  trilha_judge_figure(&b->missed, name, worst.runs, 1.2, true,
                      "buffers against 1,000 messages; up to %lld, 0 to 99 %% blocked", (long long)b->largest);
  snprintf(name, sizeof name, "claim singles, worst, %lld tenants", (long long)tenants);
  trilha_judge_figure(&b->missed, name, worst.singles, 1.5, true,
                      "buffers against 1,000 messages; up to %lld, 0 to 99 %% blocked", (long long)b->largest);
}

void trilha_bench_claims(trilha_bench *b) {
  static const int64_t tenants[] = {1, 100, 10000};
  if (!trilha_backlog_keep_still(b->sql, "billing")) trilha_bench_die("tables", PQerrorMessage(b->sql));
  for (size_t i = 0; i < sizeof tenants / sizeof tenants[0]; i++) judge_tenants(b, tenants[i]);
}

/* The same lanes beside one dead head, with a few messages behind it and with many. */
void trilha_bench_dead_head(trilha_bench *b) {
  fill(b, (trilha_backlog){.messages = 4 * SMALLEST, .blocked = 1, .behind = 4 * SMALLEST / 100, .tenants = 1});
  double few = cost_of(b, 1, SINGLES, 1);
  fill(b, (trilha_backlog){.messages = FOLLOWERS + FOLLOWERS / 99, .blocked = 99, .behind = FOLLOWERS, .tenants = 1});
  double many = cost_of(b, 1, SINGLES, 1);
  trilha_judge_figure(&b->missed, "claim beside a dead head, 300,000 behind it", many / few, 1.1, true,
                      "%.0f against %.0f buffers, with 40 behind it", many, few);
}
