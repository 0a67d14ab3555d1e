/* bench: outbox and relay on PostgreSQL.
 *
 *   outbox [--largest MESSAGES] [--drained MESSAGES] [--seconds N] [--webhook URL] [MEASURE…]
 *
 * TRILHA_TEST_POSTGRES_URL names the server; fsync must be on. A database of its own is made and dropped. Counts are of
 * buffers of the outbox's own tables, or of the server's log, so nobody else may use the server meanwhile:
 * `tools/private-postgres run DIR -- …`. Whatever is timed is a ratio of sides that took turns, or a latency. --largest
 * (1,000,000) is the largest backlog whose claims are counted; --webhook is a receiver for the measure of that name.
 * Status 1: a bar was missed. */
#include "outbox.h"

#include <getopt.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

void trilha_bench_die(const char *what, const char *why) {
  fprintf(stderr, "outbox: %s: %s\n", what, why);
  exit(2);
}

static PGconn *connect_to(const char *url) {
  PGconn *sql = PQconnectdb(url);
  if (PQstatus(sql) != CONNECTION_OK) trilha_bench_die("connect", PQerrorMessage(sql));
  return sql;
}

PGconn *trilha_bench_connect(const trilha_bench *b) {
  return connect_to(b->url);
}

void trilha_bench_run(PGconn *sql, const char *text) {
  PGresult *r = PQexec(sql, text);
  if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
    trilha_bench_die(text, PQerrorMessage(sql));
  PQclear(r);
}

double trilha_bench_number(PGconn *sql, const char *query) {
  PGresult *r = PQexec(sql, query);
  if (PQresultStatus(r) != PGRES_TUPLES_OK || PQntuples(r) == 0) trilha_bench_die(query, PQerrorMessage(sql));
  double number = strtod(PQgetvalue(r, 0, 0), NULL);
  PQclear(r);
  return number;
}

trilha_outbox_options trilha_bench_outbox(const trilha_bench *b) {
  return (trilha_outbox_options){.url = b->url, .schema = "billing"};
}

void trilha_bench_empty(trilha_bench *b) {
  trilha_bench_run(b->sql,
                   "TRUNCATE billing.outbox_message, billing.outbox_aggregate, billing.outbox_lane, "
                   "billing.outbox_delivery");
}

/* --- the database ----------------------------------------------------------------------------------------------------
 */

static void install(trilha_bench *b) {
  trilha_outbox_options options = trilha_bench_outbox(b);
  trilha_outbox *outbox = NULL;
  trilha_error err = {0};
  if (trilha_outbox_open(&options, &outbox, &err) != TRILHA_OK ||
      trilha_outbox_install(outbox, false, NULL, NULL, &err) != TRILHA_OK ||
      trilha_outbox_route_add(outbox, TRILHA_TEXT("*"), TRILHA_TEXT("everything"), &err) != TRILHA_OK)
    trilha_bench_die(err.code, err.text);
  trilha_outbox_close(outbox);
}

static void make_database(trilha_bench *b, const char *server) {
  char text[160];
  const char *slash = strrchr(server, '/');
  if (slash == NULL) trilha_bench_die("URL", "has no database");
  snprintf(b->database, sizeof b->database, "trilha_bench_%ld", (long)getpid());
  snprintf(text, sizeof text, "CREATE DATABASE %s", b->database);
  PGconn *sql = connect_to(server);
  trilha_bench_run(sql, text);
  PQfinish(sql);
  snprintf(b->url, sizeof b->url, "%.*s/%s", (int)(slash - server), server, b->database);
  install(b);
  b->sql = connect_to(b->url);
}

static void drop_database(trilha_bench *b, const char *server) {
  char text[160];
  PQfinish(b->sql);
  PGconn *sql = connect_to(server);
  snprintf(text, sizeof text, "DROP DATABASE %s WITH (FORCE)", b->database);
  trilha_bench_run(sql, text);
  PQfinish(sql);
}

/* --- the measures
 * ------------------------------------------------------------------------------------------------------ */

static const struct {
  const char *name;
  void (*measure)(trilha_bench *b);
} measures[] = {{"enqueue", trilha_bench_enqueue},     {"wal", trilha_bench_wal},
                {"latency", trilha_bench_latency},     {"idle", trilha_bench_idle},
                {"tenants", trilha_bench_tenants},     {"drain", trilha_bench_drain},
                {"bare", trilha_bench_bare_writes},    {"singles", trilha_bench_drain_singles},
                {"snapshot", trilha_bench_snapshot},   {"claims", trilha_bench_claims}, /* it turns autovacuum off */
                {"dead-head", trilha_bench_dead_head}, {"webhook", trilha_bench_webhook}};

static bool wanted(const char *name, char **names, int count) {
  bool found = count == 0;
  for (int i = 0; i < count; i++) found = found || strcmp(names[i], name) == 0;
  return found;
}

int main(int argc, char **argv) {
  trilha_bench b = {.seconds = 2, .largest = 1000000, .drained = 100000};
  static const struct option long_options[] = {
      {"seconds", 1, NULL, 's'}, {"largest", 1, NULL, 'l'}, {"drained", 1, NULL, 'd'}, {"webhook", 1, NULL, 'w'}, {0}};
  for (int o; (o = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
    if (o == '?') return 2;
    if (o == 's') b.seconds = atof(optarg);
    if (o == 'l') b.largest = atoll(optarg);
    if (o == 'd') b.drained = atoll(optarg);
    if (o == 'w') b.webhook = optarg;
  }
  const char *server = getenv("TRILHA_TEST_POSTGRES_URL");
  if (server == NULL) trilha_bench_die("TRILHA_TEST_POSTGRES_URL", "is not set");
  make_database(&b, server);
  for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++)
    if (wanted(measures[i].name, argv + optind, argc - optind)) measures[i].measure(&b);
  drop_database(&b, server);
  return b.missed ? 1 : 0;
}
