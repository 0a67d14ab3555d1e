/* bench/outbox: what a producer pays, beside a bare INSERT of the same row, and the log that a message writes from
 * its enqueue until it is settled. */
#include <libpq-fe.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "outbox.h"
#include "trilha/postgres.h"

enum { ROUNDS = 5, PAYLOAD = 200, SCRIPT_SIZE = 2048, WAL_MESSAGES = 8000, WAL_RUN = 8, WAL_TENANTS = 100 };

static void make_payload(char out[PAYLOAD + 1]) {
  int head = snprintf(out, PAYLOAD + 1, "{\"text\": \"");
  memset(out + head, 'x', (size_t)(PAYLOAD - head - 2));
  memcpy(out + PAYLOAD - 2, "\"}", 3);
}

/* The same columns and indexes as outbox_message; nothing else. */
static void make_plain(trilha_bench *b) {
  trilha_bench_run(
      b->sql,
      "SET client_min_messages = warning; DROP SCHEMA IF EXISTS bench CASCADE; CREATE SCHEMA bench; CREATE TABLE "
      "bench.plain (LIKE "
      "billing.outbox_message INCLUDING ALL); CREATE SEQUENCE bench.plain_sequence; CREATE TABLE bench.fact "
      "(n bigint NOT NULL)");
}

/* --- beside an INSERT, many producers ---------------------------------------------------------------------------- */

static const char enqueue_script[] =
    "SELECT * FROM billing.outbox_enqueue('tenant-' || :a %% 100, 'order', 'order-' || :a, 'order.created', '1.0.0', "
    "'%s', 'bench', 'a8767a61-82e6-4978-b826-563ee88b6727');\n";
static const char plain_script[] =
    "INSERT INTO bench.plain (aggregate_id, aggregate_sequence, destinations, created_at, message_id, tenant_id, "
    "aggregate_type, aggregate_key, message_type, version, origin, correlation_id, occurred_at, payload) VALUES (:a, "
    "nextval('bench.plain_sequence'), 1, clock_timestamp(), gen_random_uuid(), 'tenant-' || :a %% 100, 'order', "
    "'order-' || :a, 'order.created', '1.0.0', 'bench', 'a8767a61-82e6-4978-b826-563ee88b6727', clock_timestamp(), "
    "'%s');\n";

typedef struct load {
  int aggregates, producers;
  bool alone; /* nothing else is in the transaction */
} load;

static double rate_of(trilha_bench *b, const load *l, const char *statement) {
  char path[] = "/tmp/trilha-bench-XXXXXX", command[TRILHA_BENCH_URL_SIZE + 400], line[256], payload[PAYLOAD + 1];
  int fd = mkstemp(path);
  FILE *script = fd < 0 ? NULL : fdopen(fd, "w");
  if (script == NULL) trilha_bench_die("script", "cannot be written");
  make_payload(payload);
  fprintf(script, "\\set a random(0, %d)\n", l->aggregates - 1);
  if (!l->alone) fprintf(script, "BEGIN;\nINSERT INTO bench.fact VALUES (:a);\n");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  fprintf(script, statement, payload);
#pragma GCC diagnostic pop
  if (!l->alone) fprintf(script, "COMMIT;\n");
  fclose(script);
  snprintf(command, sizeof command,
           "PATH=$PATH:/usr/lib/postgresql/15/bin pgbench -n -M prepared -c %d -j 2 -T %.0f -f %s '%s' 2>&1",
           l->producers, ceil(b->seconds), path, b->url);
  FILE *out = popen(command, "r");
  double rate = 0;
  while (out != NULL && fgets(line, sizeof line, out) != NULL) sscanf(line, "tps = %lf", &rate);
  if (out == NULL || pclose(out) != 0 || rate <= 0)
    trilha_bench_die("pgbench", "did not run: is it installed (postgresql-15)?");
  unlink(path);
  return rate;
}

static void judge_load(trilha_bench *b, const load *l, double bar) {
  double ratios[ROUNDS], ours[ROUNDS], plain[ROUNDS];
  char name[80];
  trilha_bench_empty(b);
  make_plain(b);
  for (int i = 0; i < ROUNDS; i++) {
    ours[i] = rate_of(b, l, enqueue_script);
    plain[i] = rate_of(b, l, plain_script);
    ratios[i] = ours[i] / plain[i];
  }
  double ratio = trilha_judge_at_part(ratios, ROUNDS, 0.5);
  snprintf(name, sizeof name, "enqueue%s, %d aggregates, %d producers", l->alone ? " alone" : "", l->aggregates,
           l->producers);
  const double mine = trilha_judge_at_part(ours, ROUNDS, 0.5), theirs = trilha_judge_at_part(plain, ROUNDS, 0.5);
#define DETAIL \
  "%.0f against %.0f a second; %.2f to %.2f in %d rounds", mine, theirs, ratios[0], ratios[ROUNDS - 1], ROUNDS
  if (bar > 0)
    trilha_judge_figure(&b->missed, name, ratio, bar, false, DETAIL);
  else
    trilha_judge_told(name, ratio, DETAIL);
}

void trilha_bench_enqueue(trilha_bench *b) {
  static const int aggregates[] = {10, 1000, 100000}, producers[] = {1, 4, 16};
  for (size_t a = 0; a < sizeof aggregates / sizeof aggregates[0]; a++)
    for (size_t p = 0; p < sizeof producers / sizeof producers[0]; p++)
      judge_load(b, &(load){aggregates[a], producers[p], false}, aggregates[a] == 1000 && producers[p] == 4 ? 0.7 : 0);
  judge_load(b, &(load){1000, 4, true}, 0);
}

/* --- the log ----------------------------------------------------------------------------------------------------- */

static double wal_now(trilha_bench *b) {
  return trilha_bench_number(b->sql, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn");
}

static double wal_of_inserts(trilha_bench *b) {
  char payload[PAYLOAD + 1], text[SCRIPT_SIZE];
  make_payload(payload);
  double before = wal_now(b);
  for (int i = 0; i < WAL_MESSAGES; i++) {
    snprintf(text, sizeof text,
             "INSERT INTO bench.plain (aggregate_id, aggregate_sequence, destinations, created_at, message_id, "
             "tenant_id, aggregate_type, aggregate_key, message_type, version, origin, correlation_id, occurred_at, "
             "payload) VALUES (%d, 1, 1, clock_timestamp(), gen_random_uuid(), 'tenant-%d', 'order', 'order-%d', "
             "'order.created', '1.0.0', 'bench', 'a8767a61-82e6-4978-b826-563ee88b6727', clock_timestamp(), '%s')",
             i, i % WAL_TENANTS, i, payload);
    trilha_bench_run(b->sql, text);
  }
  return (wal_now(b) - before) / WAL_MESSAGES;
}

static void enqueue(trilha_bench *b, int aggregate, const char *payload) {
  char key[32], tenant[32];
  trilha_enqueued said;
  trilha_error err = {0};
  snprintf(key, sizeof key, "order-%d", aggregate);
  snprintf(tenant, sizeof tenant, "tenant-%d", aggregate % WAL_TENANTS);
  const trilha_message message = {.tenant_id = trilha_text_of(tenant),
                                  .aggregate_type = TRILHA_TEXT("order"),
                                  .aggregate_key = trilha_text_of(key),
                                  .message_type = TRILHA_TEXT("order.created"),
                                  .version = TRILHA_TEXT("1.0.0"),
                                  .payload = trilha_text_of(payload),
                                  .origin = TRILHA_TEXT("bench"),
                                  .correlation_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6727")};
  trilha_bench_run(b->sql, "BEGIN");
  if (trilha_outbox_enqueue_postgres(b->sql, "billing", &message, &said, &err) != TRILHA_OK)
    trilha_bench_die(err.code, err.text);
  trilha_bench_run(b->sql, "COMMIT");
}

/* Each message in a transaction of its own, `run` of each aggregate one after the other; then all of it is delivered.
 */
static double wal_of_messages(trilha_bench *b, int run) {
  char payload[PAYLOAD + 1];
  make_payload(payload);
  trilha_bench_empty(b);
  trilha_bench_run(b->sql, "CHECKPOINT");
  double before = wal_now(b);
  for (int i = 0; i < WAL_MESSAGES; i++) enqueue(b, i / run, payload);
  trilha_bench_deliver_all(b);
  return (wal_now(b) - before) / WAL_MESSAGES;
}

void trilha_bench_wal(trilha_bench *b) {
  trilha_bench_empty(b);
  make_plain(b);
  trilha_bench_run(b->sql, "CHECKPOINT");
  double plain = wal_of_inserts(b), single = wal_of_messages(b, 1), runs = wal_of_messages(b, WAL_RUN);
  trilha_judge_figure(&b->missed, "WAL, single messages", single / plain, 3.5, true,
                      "%.0f against %.0f bytes of the bare INSERT, from enqueue to settled, 200 bytes of payload",
                      single, plain);
  trilha_judge_figure(&b->missed, "WAL, runs of 8", runs / plain, 1.7, true, "%.0f against %.0f bytes", runs, plain);
}
