/* bench/outbox: what the parts of the benchmark share. */
#ifndef TRILHA_BENCH_OUTBOX_H
#define TRILHA_BENCH_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "judge.h"
#include "trilha/relay.h"

struct pg_conn;

enum { TRILHA_BENCH_URL_SIZE = 512 };
/* Known to bench/against-receiver. */
#define TRILHA_BENCH_SECRET "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

typedef struct trilha_bench {
  char url[TRILHA_BENCH_URL_SIZE], database[64]; /* made for this run */
  struct pg_conn *sql;                           /* a session there */
  int64_t largest;                               /* messages of the largest backlog */
  int64_t drained;                               /* messages of a drain, ten a lane */
  double seconds;                                /* of one side of one round */
  const char *webhook;                           /* URL of a receiver, or NULL */
  bool missed;
} trilha_bench;

void trilha_bench_die(const char *what, const char *why) __attribute__((noreturn));
struct pg_conn *trilha_bench_connect(const trilha_bench *b);
/* Statements; whatever fails ends the benchmark. */
void trilha_bench_run(struct pg_conn *sql, const char *text);
double trilha_bench_number(struct pg_conn *sql, const char *query);
/* The outbox is emptied. */
void trilha_bench_empty(trilha_bench *b);
trilha_outbox_options trilha_bench_outbox(const trilha_bench *b);

/* outbox_claims.c: counts, which no other work on the machine moves */
void trilha_bench_claims(trilha_bench *b);
void trilha_bench_dead_head(trilha_bench *b);
/* outbox_enqueue.c */
void trilha_bench_enqueue(trilha_bench *b);
void trilha_bench_wal(trilha_bench *b);
/* outbox_relay.c */
void trilha_bench_snapshot(trilha_bench *b);
void trilha_bench_latency(trilha_bench *b);
void trilha_bench_tenants(trilha_bench *b);
void trilha_bench_idle(trilha_bench *b);
void trilha_bench_drain(trilha_bench *b);
void trilha_bench_drain_singles(trilha_bench *b);
void trilha_bench_bare_writes(trilha_bench *b);
void trilha_bench_webhook(trilha_bench *b);
/* Whatever is in the outbox goes to a destination that takes everything. */
void trilha_bench_deliver_all(trilha_bench *b);

#endif
