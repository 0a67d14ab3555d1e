/* costs/backlog: see backlog.h. */
#include "costs/backlog.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { SQL_SIZE = 2048, READY_RUN = 10, BEHIND = 100 };

/* --- statements -------------------------------------------------------------------------------------------- */

/* {p} becomes the quoted schema and a dot. */
static void in_schema(const char *schema, const char *sql, char out[SQL_SIZE]) {
  size_t at = 0;
  for (const char *mark; (mark = strstr(sql, "{p}")) != NULL; sql = mark + 3)
    at += (size_t)snprintf(out + at, SQL_SIZE - at, "%.*s\"%s\".", (int)(mark - sql), sql, schema);
  snprintf(out + at, SQL_SIZE - at, "%s", sql);
}

static PGresult *ask(PGconn *sql, const char *schema, const char *text, int count, const char *const *values) {
  char named[SQL_SIZE];
  in_schema(schema, text, named);
  PGresult *r = PQexecParams(sql, named, count, NULL, values, NULL, NULL, 0);
  if (PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK) return r;
  PQclear(r);
  return NULL;
}

static bool run(PGconn *sql, const char *schema, const char *text, int count, const char *const *values) {
  PGresult *r = ask(sql, schema, text, count, values);
  PQclear(r);
  return r != NULL;
}

/* --- making one -------------------------------------------------------------------------------------------- */

/* $1 lanes that are dead, $2 messages of each, $3 lanes that are ready, $4 messages of each, $5 tenants. Messages lie
 * in the order of their sequence, lane by lane, as many producers write them: those of one lane are far apart. */
static const char *const steps[] = {
    "TRUNCATE {p}outbox_message, {p}outbox_aggregate, {p}outbox_lane, {p}outbox_delivery",
    "INSERT INTO {p}outbox_aggregate (aggregate_id, tenant_id, aggregate_type, aggregate_key, last_sequence, "
    "last_created_at, awake, woken) OVERRIDING SYSTEM VALUE SELECT n, 'tenant-' || lpad((n % $5::int8)::text, 6, '0'), "
    "'order', 'order-' || lpad(n::text, 12, '0'), CASE WHEN n <= $1::int8 THEN $2::int8 ELSE $4::int8 END, now() - "
    "interval '1 hour', 1, 0 FROM generate_series(1, $1::int8 + $3::int8) n",
    "INSERT INTO {p}outbox_lane (destination, tenant_id, due_at, aggregate_id, aggregate_type, aggregate_key, "
    "head_sequence, attempts, state, error_code, error_text, failed_at) SELECT 0, a.tenant_id, CASE WHEN "
    "a.aggregate_id <= $1::int8 THEN 'infinity' ELSE now() - interval '1 hour' + a.aggregate_id * interval '10 us' "
    "END, a.aggregate_id, a.aggregate_type, a.aggregate_key, 1, CASE WHEN a.aggregate_id <= $1::int8 THEN 10 ELSE 0 "
    "END, CASE WHEN a.aggregate_id <= $1::int8 THEN 'X' ELSE 'R' END::\"char\", CASE WHEN a.aggregate_id <= $1::int8 "
    "THEN 'REFUSED' END, NULL, CASE WHEN a.aggregate_id <= $1::int8 THEN now() END FROM {p}outbox_aggregate a WHERE "
    "$2::int8 + $3::int8 + $4::int8 + $5::int8 IS NOT NULL ORDER BY a.aggregate_id",
    "INSERT INTO {p}outbox_message (aggregate_id, aggregate_sequence, destinations, created_at, message_id, tenant_id, "
    "aggregate_type, aggregate_key, message_type, version, origin, correlation_id, occurred_at, payload) SELECT "
    "a.aggregate_id, s, 1, a.last_created_at, lpad(to_hex(s * 10000000 + a.aggregate_id), 32, '0')::uuid, a.tenant_id, "
    "a.aggregate_type, a.aggregate_key, "
    "'order.created', '1.0.0', 'bench', 'a8767a61-82e6-4978-b826-563ee88b6727', a.last_created_at, '{\"text\": \"' || "
    "repeat('x', 275) || "
    "'\"}' FROM generate_series(1, greatest($2::int8, $4::int8)) s JOIN {p}outbox_aggregate a ON s <= a.last_sequence "
    "WHERE $1::int8 + $3::int8 + $5::int8 IS NOT NULL ORDER BY s, a.aggregate_id",
    "SELECT setval(pg_get_serial_sequence('{p}outbox_aggregate', 'aggregate_id'), greatest($1::int8 + $3::int8, 1)), "
    "$2::int8 + $4::int8 + $5::int8"};

bool trilha_backlog_make(PGconn *sql, const char *schema, const trilha_backlog *backlog) {
  enum { COUNT = 5 };
  int64_t behind = backlog->behind == 0 ? BEHIND : backlog->behind;
  int64_t blocked = backlog->messages * backlog->blocked / 100;
  int64_t dead = blocked == 0 ? 0 : blocked < behind ? 1 : blocked / behind;
  int64_t ready = (backlog->messages - blocked + backlog->spare) / READY_RUN;
  const int64_t numbers[COUNT] = {dead, behind, ready < 1 ? 1 : ready, READY_RUN, backlog->tenants};
  char texts[COUNT][24];
  const char *values[COUNT];
  for (int i = 0; i < COUNT; i++) {
    snprintf(texts[i], sizeof texts[i], "%lld", (long long)numbers[i]);
    values[i] = texts[i];
  }
  bool ok = run(sql, schema, steps[0], 0, NULL);
  for (size_t i = 1; ok && i < sizeof steps / sizeof steps[0]; i++) ok = run(sql, schema, steps[i], COUNT, values);
  return ok;
}

bool trilha_backlog_keep_still(PGconn *sql, const char *schema) {
  PGresult *list =
      ask(sql, schema,
          "SELECT string_agg(format('ALTER TABLE %s SET (autovacuum_enabled = off)', c.oid::regclass), ';') "
          "FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = (SELECT l.relnamespace FROM pg_class "
          "l WHERE l.oid = '{p}outbox_lane'::regclass)",
          0, NULL);
  if (list == NULL) return false;
  PGresult *done = PQexec(sql, PQgetvalue(list, 0, 0));
  bool ok = PQresultStatus(done) == PGRES_COMMAND_OK;
  PQclear(done);
  PQclear(list);
  return ok;
}

/* --- one batch --------------------------------------------------------------------------------------------- */

/* What this session has counted is given to the server's statistics at once, and read back. -1: it failed. */
static int64_t touched(PGconn *sql, const char *schema) {
  PGresult *flushed = ask(sql, schema, "SELECT pg_stat_force_next_flush()", 0, NULL);
  if (flushed == NULL) return -1;
  PQclear(flushed);
  PGresult *r = ask(sql, schema,
                    "SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0) + "
                    "coalesce(toast_blks_read + toast_blks_hit + tidx_blks_read + tidx_blks_hit, 0))::int8 FROM "
                    "pg_statio_all_tables WHERE relid IN (SELECT c.oid FROM pg_class c WHERE c.relnamespace = (SELECT "
                    "l.relnamespace FROM pg_class l WHERE l.oid = '{p}outbox_lane'::regclass))",
                    0, NULL);
  if (r == NULL) return -1;
  int64_t sum = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
  PQclear(r);
  return sum;
}

/* A step's answer, its buffers and its time; NULL: it failed. */
static PGresult *counted(PGconn *sql, const char *schema, const char *text, int count, const char *const *values,
                         int64_t *ret_buffers, int64_t *ret_us) {
  int64_t before = touched(sql, schema), begin = trilha_clock_monotonic_ns();
  PGresult *r = before < 0 ? NULL : ask(sql, schema, text, count, values);
  *ret_us = (trilha_clock_monotonic_ns() - begin) / 1000;
  int64_t after = r == NULL ? -1 : touched(sql, schema);
  if (after >= 0) {
    *ret_buffers = after - before;
    return r;
  }
  PQclear(r);
  return NULL;
}

static const char claim_sql[] =
    "SELECT count(*), array_agg(c.tenant_id), array_agg(c.due_at), array_agg(c.aggregate_id), "
    "array_agg(c.lease_token), array_agg(c.head_sequence) FROM {p}outbox_claim(0::smallint, 'bench', '', $1::int8, "
    "$2::int8, 600000) c WHERE c.aggregate_id IS NOT NULL";
static const char fetch_sql[] =
    "SELECT count(*), max(f.aggregate_sequence) FROM {p}outbox_fetch(0::smallint, $1::int8[], $2::int8[], $3::int8, "
    "1048576) f";
/* $1 tenants, $2 dues, $3 aggregates, $4 tokens, $5 heads, $6 run. The run was full: nothing says that more is not
 * there. */
static const char settle_sql[] =
    "SELECT count(*) FILTER (WHERE s.settled) FROM {p}outbox_settle(0::smallint, $1::text[], $2::timestamptz[], "
    "$3::int8[], $4::int8[], (SELECT array_agg(h + $6::int8 ORDER BY place) FROM unnest($5::int8[]) WITH ORDINALITY x "
    "(h, place)), array_fill(0::int8, ARRAY[cardinality($3::int8[])]), array_fill(NULL::int8, "
    "ARRAY[cardinality($3::int8[])]), array_fill(NULL::text, ARRAY[cardinality($3::int8[])]), array_fill(NULL::text, "
    "ARRAY[cardinality($3::int8[])])) s";

enum { CLAIMED, TENANTS, DUES, AGGREGATES, TOKENS, HEADS }; /* columns of claim_sql */

static int64_t number_at(const PGresult *r, int column) {
  return strtoll(PQgetvalue(r, 0, column), NULL, 10);
}

static bool read_and_settle(PGconn *sql, const char *schema, const PGresult *claimed, const char *run_text,
                            trilha_batch_cost *cost) {
  const char *const wanted[] = {PQgetvalue(claimed, 0, AGGREGATES), PQgetvalue(claimed, 0, HEADS), run_text};
  PGresult *fetched = counted(sql, schema, fetch_sql, 3, wanted, &cost->fetch, &cost->fetch_us);
  if (fetched == NULL) return false;
  cost->messages = number_at(fetched, 0);
  PQclear(fetched);
  const char *const ended[] = {PQgetvalue(claimed, 0, TENANTS),    PQgetvalue(claimed, 0, DUES),
                               PQgetvalue(claimed, 0, AGGREGATES), PQgetvalue(claimed, 0, TOKENS),
                               PQgetvalue(claimed, 0, HEADS),      run_text};
  PGresult *settled = counted(sql, schema, settle_sql, 6, ended, &cost->settle, &cost->settle_us);
  bool all = settled != NULL && number_at(settled, 0) == cost->lanes;
  PQclear(settled);
  return all;
}

bool trilha_backlog_batch(PGconn *sql, const char *schema, int64_t lanes, int64_t quota, int64_t run_length,
                          trilha_batch_cost *ret_cost) {
  char lanes_text[24], quota_text[24], run_text[24];
  snprintf(lanes_text, sizeof lanes_text, "%lld", (long long)lanes);
  snprintf(quota_text, sizeof quota_text, "%lld", (long long)quota);
  snprintf(run_text, sizeof run_text, "%lld", (long long)run_length);
  const char *const limits[] = {lanes_text, quota_text};
  *ret_cost = (trilha_batch_cost){0};
  PGresult *claimed = counted(sql, schema, claim_sql, 2, limits, &ret_cost->claim, &ret_cost->claim_us);
  if (claimed == NULL) return false;
  ret_cost->lanes = number_at(claimed, CLAIMED);
  bool ok = ret_cost->lanes == 0 || read_and_settle(sql, schema, claimed, run_text, ret_cost);
  PQclear(claimed);
  return ok;
}

/* $1 lanes, $2 and $3 the floors, each NULL at first. */
static const char claim_behind_sql[] =
    "SELECT count(c.aggregate_id), max(c.since) FILTER (WHERE c.aggregate_id IS NULL), max(c.leased_since) FROM "
    "{p}outbox_claim(0::smallint, 'bench', '', $1::int8, 1000000, 600000, ARRAY['tenant-000000'], "
    "ARRAY[$2::timestamptz], ARRAY[$3::timestamptz]) c";

static const char *null_when_empty(const char *text) {
  return *text == '\0' ? NULL : text;
}

bool trilha_backlog_claim(PGconn *sql, const char *schema, int64_t lanes, trilha_backlog_floor *floor,
                          int64_t *ret_lanes, int64_t *ret_buffers) {
  char lanes_text[24];
  int64_t took_us = 0;
  snprintf(lanes_text, sizeof lanes_text, "%lld", (long long)lanes);
  const char *const values[] = {lanes_text, null_when_empty(floor->since), null_when_empty(floor->leased_since)};
  PGresult *r = counted(sql, schema, claim_behind_sql, 3, values, ret_buffers, &took_us);
  if (r == NULL) return false;
  *ret_lanes = number_at(r, 0);
  snprintf(floor->since, sizeof floor->since, "%s", PQgetvalue(r, 0, 1));
  snprintf(floor->leased_since, sizeof floor->leased_since, "%s", PQgetvalue(r, 0, 2));
  PQclear(r);
  return true;
}

bool trilha_backlog_quotas(PGconn *sql, const char *schema, int64_t lanes, int64_t *ret_tenants, int64_t *ret_buffers) {
  char text[24];
  int64_t took_us = 0;
  snprintf(text, sizeof text, "%lld", (long long)lanes);
  const char *const values[] = {text};
  static const char worker[] =
      "INSERT INTO {p}outbox_worker (worker, destinations, threads, started_at, seen_at, expected_by, holds, "
      "tenant_quota) SELECT 'bench', d.name, 1, now(), now(), now() + interval '1 hour', jsonb_build_object(d.name, "
      "''), "
      "$1::int8 FROM {p}outbox_destination d WHERE d.destination = 0 ON CONFLICT (worker) DO UPDATE SET tenant_quota = "
      "excluded.tenant_quota";
  if (!run(sql, schema, worker, 1, values) ||
      !run(sql, schema, "SELECT count(*) FROM {p}outbox_claim(0::smallint, 'bench', '', $1::int8, $1::int8, 600000)", 1,
           values))
    return false;
  PGresult *r = NULL;
  for (int i = 0; i < 2; i++) { /* the first reads what the session keeps of each index */
    PQclear(r);
    r = counted(sql, schema, "SELECT sum(q.tenants) FROM {p}outbox_quotas() q WHERE q.tenant_id IS NULL", 0, NULL,
                ret_buffers, &took_us);
    if (r == NULL) return false;
  }
  *ret_tenants = number_at(r, 0);
  PQclear(r);
  return true;
}

bool trilha_backlog_warm(PGconn *sql, const char *schema, int64_t run_length) {
  trilha_batch_cost cost;
  return trilha_backlog_batch(sql, schema, 1, 1, run_length, &cost) &&
         run(sql, schema, "DELETE FROM {p}outbox_lane WHERE state <> 'X' AND head_sequence > 1", 0, NULL);
}
