/* bench/outbox: the relay with a transport that is a function of this program: how fast it drains, what a snapshot
 * held open does to it, how soon a message is there, and what it costs while nothing is. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "costs/backlog.h"
#include "outbox.h"
#include "trilha/postgres.h"
#include "trilha/webhook.h"

enum {
  QUARTERS = 4,
  LANES = 100,
  HELD_MESSAGES = 200000,
  HELD_JUDGED = 160000, /* before the last messages of lanes, with which these go away: work that the others have not */
  HZ = 800,
  PRODUCERS = 4,
  AGGREGATES = 1000,
  IDLE_TIMES = 8,
  BIG_TENANT = 100000,
  SMALL_HZ = 50
};

/* --- a relay in this program ----------------------------------------------------------------------------------------
 */

/* Taken at once, on the worker's own thread. */
typedef struct taker {
  _Atomic int64_t count;
  int64_t of_quarter;         /* 0: quarters are not noted */
  int64_t ended_ns[QUARTERS]; /* when a quarter of the messages had come */
} taker;

static void take(void *user, const trilha_envelope *envelope, trilha_sending *sending) {
  (void)envelope;
  taker *t = user;
  int64_t count = atomic_fetch_add(&t->count, 1) + 1;
  if (t->of_quarter > 0 && count % t->of_quarter == 0 && count / t->of_quarter <= QUARTERS)
    t->ended_ns[count / t->of_quarter - 1] = trilha_clock_monotonic_ns();
  trilha_sending_done(sending, &(trilha_send_result){0});
}

/* `lanes` at once, of one tenant too; 0: as many as a relay takes that is told nothing, of which one tenant has half.
 */
static trilha_relay *make_relay(trilha_bench *b, const trilha_transport *transport, unsigned workers, unsigned lanes,
                                unsigned run, bool once) {
  const trilha_relay_options options = {.outbox = trilha_bench_outbox(b),
                                        .transports = transport,
                                        .transport_count = 1,
                                        .workers = workers,
                                        .lanes = lanes,
                                        .tenant_quota = lanes,
                                        .run = run,
                                        .once = once};
  trilha_relay *relay = NULL;
  trilha_error err = {0};
  if (trilha_relay_new(&options, &relay, &err) != TRILHA_OK) trilha_bench_die(err.code, err.text);
  return relay;
}

static void *run_relay(void *relay) {
  trilha_error err = {0};
  if (trilha_relay_run(relay, &err) != TRILHA_OK) trilha_bench_die(err.code, err.text);
  return NULL;
}

/* Until nothing is due. */
static void drain_to(trilha_bench *b, const trilha_transport *transport, unsigned workers, unsigned run) {
  trilha_relay *relay = make_relay(b, transport, workers, LANES, run, true);
  run_relay(relay);
  trilha_relay_free(relay);
}

static void drain(trilha_bench *b, taker *t, unsigned workers, unsigned run) {
  const trilha_transport transport = {
      .destination = TRILHA_TEXT("everything"), .begin = take, .user = t, .guarantee = TRILHA_GUARANTEE_DURABLE};
  drain_to(b, &transport, workers, run);
}

void trilha_bench_deliver_all(trilha_bench *b) {
  taker t = {0};
  drain(b, &t, 1, 0);
}

static void fill(trilha_bench *b, int64_t messages, int64_t tenants) {
  const trilha_backlog backlog = {.messages = messages, .tenants = tenants};
  if (!trilha_backlog_make(b->sql, "billing", &backlog)) trilha_bench_die("backlog", PQerrorMessage(b->sql));
  trilha_bench_run(b->sql, "VACUUM ANALYZE");
}

/* --- draining -------------------------------------------------------------------------------------------------------
 */

static double rate_of_drain(trilha_bench *b, unsigned workers, unsigned run) {
  taker t = {0};
  fill(b, b->drained, LANES);
  int64_t begin = trilha_clock_monotonic_ns();
  drain(b, &t, workers, run);
  if (t.count != b->drained) trilha_bench_die("drain", "not every message came once");
  return (double)t.count / trilha_judge_seconds_since(begin);
}

/* Lanes of 10 messages each, in order. */
void trilha_bench_drain(trilha_bench *b) {
  for (unsigned workers = 1; workers <= 4; workers *= 2) {
    char name[64];
    snprintf(name, sizeof name, "drain, %lld lanes, %u worker%s", (long long)b->drained / 10, workers,
             workers == 1 ? "" : "s");
    trilha_judge_told(name, rate_of_drain(b, workers, 0), "messages/s, runs of up to 16");
  }
}

/* What no drain can do without, by the fewest statements there can be: each of all lanes at once, nobody asked for a
 * turn, nothing sent. A bound for one processor, to see a drain beside. */
void trilha_bench_bare_writes(trilha_bench *b) {
  static const char *const writes[] = {
      "UPDATE billing.outbox_lane SET state = 'L', due_at = clock_timestamp() + interval '30 s', lease_owner = 'bare', "
      "lease_token = nextval('billing.outbox_lease_token')",
      "INSERT INTO billing.outbox_delivery (aggregate_id, destination, sequence_from, sequence_to, delivered_at) "
      "SELECT "
      "aggregate_id, destination, head_sequence, head_sequence + 9, clock_timestamp() FROM billing.outbox_lane",
      "DELETE FROM billing.outbox_lane", "UPDATE billing.outbox_aggregate SET awake = 0"};
  fill(b, b->drained, LANES);
  int64_t begin = trilha_clock_monotonic_ns();
  trilha_bench_number(b->sql,
                      "SELECT sum(octet_length(o.payload)) FROM (SELECT m.payload FROM billing.outbox_lane l JOIN "
                      "billing.outbox_message m USING (aggregate_id) ORDER BY m.aggregate_id, m.aggregate_sequence) o");
  for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) trilha_bench_run(b->sql, writes[i]);
  trilha_judge_told("drain, its rows alone", (double)b->drained / trilha_judge_seconds_since(begin),
                    "messages/s, one session, one statement each for all lanes: read, lease, note, settle, sleep");
}

void trilha_bench_drain_singles(trilha_bench *b) {
  trilha_judge_told("drain, one by one", rate_of_drain(b, 2, 1), "messages/s, one a lease, 2 workers");
}

/* --- to a receiver of HTTP ------------------------------------------------------------------------------------------
 */

static trilha_webhook *make_webhook(const trilha_bench *b) {
  static const char *const secrets[] = {TRILHA_BENCH_SECRET};
  static const char *const loopback[] = {"127.0.0.0/8"};
  const trilha_webhook_options options = {
      .url = b->webhook, .secrets = secrets, .secret_count = 1, .allow_networks = loopback, .allow_network_count = 1};
  trilha_webhook *webhook = NULL;
  trilha_error err = {0};
  if (trilha_webhook_new(&options, &webhook, &err) != TRILHA_OK) trilha_bench_die(err.code, err.text);
  return webhook;
}

/* Lanes of 10 messages each, in order, signed; bench/against-receiver gives the address and knows its ceiling. */
void trilha_bench_webhook(trilha_bench *b) {
  if (b->webhook == NULL) return;
  trilha_webhook *webhook = make_webhook(b);
  const trilha_transport transport = trilha_webhook_transport(webhook, TRILHA_TEXT("everything"));
  fill(b, b->drained, LANES);
  int64_t begin = trilha_clock_monotonic_ns();
  drain_to(b, &transport, 2, 0);
  double rate = (double)b->drained / trilha_judge_seconds_since(begin);
  if (trilha_bench_number(b->sql, "SELECT count(*) FROM billing.outbox_lane") != 0)
    trilha_bench_die("webhook", "the receiver did not accept every message");
  trilha_webhook_free(webhook);
  trilha_judge_told("webhook", rate, "messages/s, signed, runs of up to 16, 2 workers");
}

/* --- a snapshot held open --------------------------------------------------------------------------------------------
 */

static void drain_under_snapshot(trilha_bench *b, unsigned run, bool held, double ret_rates[QUARTERS]) {
  taker t = {.of_quarter = HELD_JUDGED / QUARTERS};
  fill(b, HELD_MESSAGES, LANES);
  PGconn *holder = trilha_bench_connect(b);
  if (held) {
    trilha_bench_run(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    trilha_bench_number(holder, "SELECT count(*) FROM pg_class");
  }
  int64_t begin = trilha_clock_monotonic_ns();
  drain(b, &t, 2, run);
  PQfinish(holder);
  if (t.count != HELD_MESSAGES) trilha_bench_die("snapshot", "not every message came once");
  for (int i = 0; i < QUARTERS; i++)
    ret_rates[i] = (double)t.of_quarter * 1e9 / (double)(t.ended_ns[i] - (i == 0 ? begin : t.ended_ns[i - 1]));
}

static void judge_snapshot(trilha_bench *b, const char *kind, unsigned run) {
  double free_rates[QUARTERS], held[QUARTERS];
  char name[64];
  drain_under_snapshot(b, run, false, free_rates);
  drain_under_snapshot(b, run, true, held);
  snprintf(name, sizeof name, "snapshot held, %s, last quarter", kind);
  trilha_judge_figure(&b->missed, name, held[3] / held[0], 0.9, false,
                      "of the first; %.0f, %.0f, %.0f, %.0f messages/s, and %.0f, %.0f, %.0f, %.0f without a snapshot",
                      held[0], held[1], held[2], held[3], free_rates[0], free_rates[1], free_rates[2], free_rates[3]);
}

void trilha_bench_snapshot(trilha_bench *b) {
  judge_snapshot(b, "runs", 0);
  judge_snapshot(b, "one by one", 1);
}

/* --- how soon
 * ---------------------------------------------------------------------------------------------------------- */

/* Message n of producer p is committed at committed_ns[p][n], which took commit_ns[p][n], and delivered at
 * delivered_ns[p][n]. */
typedef struct times {
  int64_t *committed_ns, *commit_ns, *delivered_ns;
  int64_t count; /* of each producer */
  _Atomic int64_t delivered;
} times;

static times make_times(int64_t producers, int64_t count) {
  times t = {.count = count};
  t.committed_ns = calloc((size_t)(producers * count), sizeof *t.committed_ns);
  t.commit_ns = calloc((size_t)(producers * count), sizeof *t.commit_ns);
  t.delivered_ns = calloc((size_t)(producers * count), sizeof *t.delivered_ns);
  if (t.committed_ns == NULL || t.commit_ns == NULL || t.delivered_ns == NULL) trilha_bench_die("times", "no memory");
  return t;
}

static void free_times(times *t) {
  free(t->committed_ns);
  free(t->commit_ns);
  free(t->delivered_ns);
}

static void note_delivery(void *user, const trilha_envelope *envelope, trilha_sending *sending) {
  times *t = user;
  long long place = 0;
  if (sscanf(envelope->payload.data, "{\"place\": %lld", &place) == 1) {
    t->delivered_ns[place] = trilha_clock_monotonic_ns();
    atomic_fetch_add(&t->delivered, 1);
  }
  trilha_sending_done(sending, &(trilha_send_result){0});
}

static void say(PGconn *sql, times *t, const char *tenant, int64_t aggregate, int64_t place) {
  char key[32], payload[256];
  trilha_enqueued said;
  trilha_error err = {0};
  snprintf(key, sizeof key, "said-%lld", (long long)aggregate);
  snprintf(payload, sizeof payload, "{\"place\": %lld, \"text\": \"%0150d\"}", (long long)place, 0);
  const trilha_message message = {.tenant_id = trilha_text_of(tenant),
                                  .aggregate_type = TRILHA_TEXT("order"),
                                  .aggregate_key = trilha_text_of(key),
                                  .message_type = TRILHA_TEXT("order.created"),
                                  .version = TRILHA_TEXT("1.0.0"),
                                  .payload = trilha_text_of(payload),
                                  .origin = TRILHA_TEXT("bench"),
                                  .correlation_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6727")};
  trilha_bench_run(sql, "BEGIN");
  if (trilha_outbox_enqueue_postgres(sql, "billing", &message, &said, &err) != TRILHA_OK)
    trilha_bench_die(err.code, err.text);
  int64_t begin = trilha_clock_monotonic_ns();
  trilha_bench_run(sql, "COMMIT");
  t->committed_ns[place] = trilha_clock_monotonic_ns();
  t->commit_ns[place] = t->committed_ns[place] - begin;
}

typedef struct producer {
  trilha_bench *b;
  times *t;
  const char *tenant;
  int64_t number, first_ns, gap_ns, aggregates;
} producer;

static void *produce(void *user) {
  const producer *p = user;
  PGconn *sql = trilha_bench_connect(p->b);
  for (int64_t i = 0; i < p->t->count; i++) {
    int64_t due = p->first_ns + i * p->gap_ns, now = trilha_clock_monotonic_ns();
    if (due > now) usleep((useconds_t)((due - now) / 1000));
    int64_t place = p->number * p->t->count + i;
    say(sql, p->t, p->tenant, place % p->aggregates, place);
  }
  PQfinish(sql);
  return NULL;
}

/* `producers` threads, all together `hz` messages a second, until every one was delivered. */
static void deliver_steadily(trilha_bench *b, times *t, int64_t producers, int64_t hz, const char *tenant) {
  pthread_t threads[PRODUCERS];
  producer all[PRODUCERS];
  int64_t begin = trilha_clock_monotonic_ns() + 100000000;
  for (int64_t i = 0; i < producers; i++) {
    all[i] = (producer){.b = b,
                        .t = t,
                        .tenant = tenant,
                        .number = i,
                        .first_ns = begin + i * INT64_C(1000000000) / hz,
                        .gap_ns = producers * INT64_C(1000000000) / hz,
                        .aggregates = AGGREGATES};
    if (pthread_create(&threads[i], NULL, produce, &all[i]) != 0) trilha_bench_die("thread", "none to be had");
  }
  for (int64_t i = 0; i < producers; i++) pthread_join(threads[i], NULL);
  while (atomic_load(&t->delivered) < producers * t->count) usleep(1000);
}

/* Milliseconds from the commit's answer; a message that was there before it counts as 0. The first second is left out.
 */
static double latency_at(const times *t, int64_t producers, int64_t skipped, double part) {
  size_t count = 0;
  double *ms = malloc((size_t)(producers * t->count) * sizeof *ms);
  if (ms == NULL) trilha_bench_die("latencies", "no memory");
  for (int64_t p = 0; p < producers; p++)
    for (int64_t i = skipped; i < t->count; i++) {
      int64_t took = t->delivered_ns[p * t->count + i] - t->committed_ns[p * t->count + i];
      ms[count++] = took > 0 ? (double)took / 1e6 : 0;
    }
  double found = trilha_judge_at_part(ms, count, part);
  free(ms);
  return found;
}

static double median_commit_ms(const times *t, int64_t producers) {
  size_t count = (size_t)(producers * t->count);
  double *ms = malloc(count * sizeof *ms);
  if (ms == NULL) trilha_bench_die("latencies", "no memory");
  for (size_t i = 0; i < count; i++) ms[i] = (double)t->commit_ns[i] / 1e6;
  double found = trilha_judge_at_part(ms, count, 0.5);
  free(ms);
  return found;
}

typedef struct running {
  trilha_relay *relay;
  trilha_transport transport;
  pthread_t thread;
} running;

static void begin_relay(trilha_bench *b, running *r, times *t, unsigned lanes) {
  r->transport = (trilha_transport){.destination = TRILHA_TEXT("everything"),
                                    .begin = note_delivery,
                                    .user = t,
                                    .guarantee = TRILHA_GUARANTEE_DURABLE};
  r->relay = make_relay(b, &r->transport, 1, lanes, 0, false);
  if (pthread_create(&r->thread, NULL, run_relay, r->relay) != 0) trilha_bench_die("thread", "none to be had");
}

static void end_relay(running *r) {
  trilha_relay_stop(r->relay);
  pthread_join(r->thread, NULL);
  trilha_relay_free(r->relay);
}

static void judge_first_after_idle(trilha_bench *b) {
  times t = make_times(1, IDLE_TIMES);
  double ms[IDLE_TIMES];
  running r;
  begin_relay(b, &r, &t, LANES);
  for (int64_t i = 0; i < IDLE_TIMES; i++) {
    usleep(9000000 + (useconds_t)i * 130000); /* its sleep is an eighth of that, at most a second */
    say(b->sql, &t, "tenant-1", i, i);
    while (atomic_load(&t.delivered) <= i) usleep(200);
    ms[i] = (double)(t.delivered_ns[i] - t.committed_ns[i]) / 1e6;
  }
  end_relay(&r);
  double median = trilha_judge_at_part(ms, IDLE_TIMES, 0.5);
  trilha_judge_figure(&b->missed, "latency of the first after idleness, ms", ms[IDLE_TIMES - 1], 1100, true,
                      "the longest of %d, median %.0f; the scan interval is 1,000 ms", IDLE_TIMES, median);
  free_times(&t);
}

void trilha_bench_latency(trilha_bench *b) {
  int64_t each = (int64_t)(b->seconds * 5 + 1) * HZ / PRODUCERS;
  times t = make_times(PRODUCERS, each);
  running r;
  trilha_bench_empty(b);
  begin_relay(b, &r, &t, LANES);
  deliver_steadily(b, &t, PRODUCERS, HZ, "tenant-1");
  end_relay(&r);
  trilha_judge_figure(
      &b->missed, "latency at 800/s, p50 ms", latency_at(&t, PRODUCERS, HZ / PRODUCERS, 0.5), 1.5, true,
      "commit answered to handler called, behind a commit of the claim; the producers' own took %.2f ms",
      median_commit_ms(&t, PRODUCERS));
  trilha_judge_figure(&b->missed, "latency at 800/s, p99 ms", latency_at(&t, PRODUCERS, HZ / PRODUCERS, 0.99), 8, true,
                      "the same messages");
  free_times(&t);
  judge_first_after_idle(b);
}

/* --- a small tenant beside a big one
 * ------------------------------------------------------------------------------------ */

static double small_tenant_p99(trilha_bench *b, bool beside) {
  times t = make_times(1, (int64_t)(b->seconds * 2 + 1) * SMALL_HZ);
  running r;
  if (beside)
    fill(b, BIG_TENANT * 10, 1);
  else
    trilha_bench_empty(b);
  begin_relay(b, &r, &t, 0);
  deliver_steadily(b, &t, 1, SMALL_HZ, "a-small-one");
  double left =
      trilha_bench_number(b->sql, "SELECT count(*) FROM billing.outbox_lane WHERE tenant_id <> 'a-small-one'");
  end_relay(&r);
  if (beside && left == 0) trilha_bench_die("tenants", "the big tenant was through before the small one");
  double p99 = latency_at(&t, 1, SMALL_HZ, 0.99);
  free_times(&t);
  return p99;
}

void trilha_bench_tenants(trilha_bench *b) {
  double alone = small_tenant_p99(b, false), beside = small_tenant_p99(b, true);
  trilha_judge_figure(&b->missed, "a small tenant beside 1,000,000 messages", beside / alone, 1.5, true,
                      "p99 %.2f against %.2f ms alone", beside, alone);
}

/* --- idle
 * ------------------------------------------------------------------------------------------------------------------ */

static double processor_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void trilha_bench_idle(trilha_bench *b) {
  enum { SETTLE_S = 10, IDLE_S = 20 };
  times t = make_times(1, 1);
  running r;
  trilha_bench_empty(b);
  begin_relay(b, &r, &t, LANES);
  sleep(SETTLE_S);
  double before = processor_seconds();
  int64_t begin = trilha_clock_monotonic_ns();
  sleep(IDLE_S);
  double share = 100 * (processor_seconds() - before) / trilha_judge_seconds_since(begin);
  end_relay(&r);
  free_times(&t);
  trilha_judge_told("idle relay, processor %", share, "of one processor, the relay's own, after %d s without a message",
                    SETTLE_S);
}
