/* transport: the suite on the memory transport (trilha/reaction.h), on both stores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>

#include "base/hash.h"
#include "base/text.h"
#include "conformance.h"
#include "outbox/producer.h"
#include "trilha/reaction.h"

static void *fixture; /* the consumer's database: one for all cases, emptied by each */

typedef struct memory {
  trilha_producer consumer;
  trilha_reaction *reaction;
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t changed;
  transport_mood mood;
  int times;
  transport_arrival arrivals[TRANSPORT_ARRIVALS_MAX];
  size_t arrived, holding;
} memory;

static bool execute(trilha_reaction_call *call, const char *sql) {
  sqlite3 *db = trilha_reaction_sqlite(call);
  if (db != NULL) return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
  PGresult *result = PQexec(trilha_reaction_postgres(call), sql);
  ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static void note(memory *m, const trilha_envelope *e) {
  unsigned char digest[TRILHA_SHA256_SIZE];
  if (m->arrived == TRANSPORT_ARRIVALS_MAX) return;
  transport_arrival *a = &m->arrivals[m->arrived++];
  snprintf(a->message_id, sizeof a->message_id, "%.*s", (int)e->message_id.size, e->message_id.data);
  snprintf(a->aggregate_key, sizeof a->aggregate_key, "%.*s", (int)e->aggregate_key.size, e->aggregate_key.data);
  a->sequence = e->aggregate_sequence;
  a->revision = e->revision;
  trilha_sha256(e->payload, digest);
  trilha_hex(digest, sizeof digest, a->payload_sha256);
}

/* What the handler shall do with this message. */
static transport_mood hear(memory *m, const trilha_envelope *e) {
  pthread_mutex_lock(&m->lock);
  transport_mood mood = m->mood;
  note(m, e);
  m->holding++;
  while (m->mood == TRANSPORT_HOLDS) pthread_cond_wait(&m->changed, &m->lock);
  m->holding--;
  if (mood != TRANSPORT_HOLDS && m->times == 0) mood = TRANSPORT_ACCEPTS;
  if (mood != TRANSPORT_HOLDS && m->times > 0) m->times--;
  pthread_mutex_unlock(&m->lock);
  return mood;
}

static trilha_status fail_with(trilha_error *error, trilha_status status, const char *code) {
  snprintf(error->code, sizeof error->code, "%s", code);
  snprintf(error->text, sizeof error->text, "the handler says %s", code);
  return error->status = status;
}

static trilha_status react(void *user, const trilha_envelope *e, trilha_reaction_call *call, trilha_error *error) {
  memory *m = user;
  char sql[120];
  snprintf(sql, sizeof sql, "INSERT INTO effect (name) VALUES ('%.*s')", (int)e->message_id.size, e->message_id.data);
  transport_mood mood = hear(m, e);
  if (!execute(call, sql)) return fail_with(error, TRILHA_UNAVAILABLE, "INSERT_FAILED");
  if (mood == TRANSPORT_FAILS) return fail_with(error, TRILHA_UNAVAILABLE, "FAILED");
  if (mood == TRANSPORT_REFUSES) return fail_with(error, TRILHA_INVALID, "REFUSED");
  if (mood != TRANSPORT_IS_SILENT) return TRILHA_OK;
  /* A statement without end: the transport's own time-out has to end it. */
  execute(call, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n");
  return fail_with(error, TRILHA_TIMEOUT, "ENDED");
}

static void *open_memory(const char *folder) {
  memory *m = calloc(1, sizeof *m);
  trilha_error err = {0};
  (void)folder;
  if (m == NULL) return NULL;
  pthread_mutex_init(&m->lock, NULL);
  pthread_cond_init(&m->changed, NULL);
  m->consumer = trilha_producer_open(fixture, false);
  trilha_producer_run(&m->consumer, "DELETE FROM effect");
  trilha_producer_run(&m->consumer, "DELETE FROM {p}inbox_message");
  trilha_producer_run(&m->consumer, "DELETE FROM {p}inbox_order");
  const trilha_reaction_options options = {
      .inbox = trilha_producer_options(fixture), .react = react, .user = m, .ordered = true};
  if (trilha_reaction_new(&options, &m->reaction, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return m;
}

static void close_memory(void *self) {
  memory *m = self;
  trilha_reaction_free(m->reaction);
  trilha_producer_close(&m->consumer);
  pthread_cond_destroy(&m->changed);
  pthread_mutex_destroy(&m->lock);
  free(m);
}

static trilha_transport transport(void *self, trilha_text destination) {
  memory *m = self;
  return trilha_reaction_transport(m->reaction, destination);
}

static bool set(void *self, transport_mood mood, int times) {
  memory *m = self;
  if (mood == TRANSPORT_NAMES_A_TIME || mood == TRANSPORT_IS_AWAY) return false;
  pthread_mutex_lock(&m->lock);
  m->mood = mood;
  m->times = times;
  pthread_cond_broadcast(&m->changed);
  pthread_mutex_unlock(&m->lock);
  return true;
}

static size_t arrivals(void *self, transport_arrival *out, size_t max) {
  memory *m = self;
  pthread_mutex_lock(&m->lock);
  size_t count = m->arrived < max ? m->arrived : max;
  memcpy(out, m->arrivals, count * sizeof *out);
  pthread_mutex_unlock(&m->lock);
  return count;
}

static size_t holding(void *self) {
  memory *m = self;
  pthread_mutex_lock(&m->lock);
  size_t count = m->holding;
  pthread_mutex_unlock(&m->lock);
  return count;
}

/* More than there are messages when one had two. */
static size_t effects(void *self) {
  memory *m = self;
  return (size_t)trilha_producer_count(&m->consumer, "SELECT count(*) FROM effect");
}

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const transport_subject memory_transport = {.name = "memory",
                                              .open = open_memory,
                                              .close = close_memory,
                                              .transport = transport,
                                              .set = set,
                                              .arrivals = arrivals,
                                              .holding = holding,
                                              .effects = effects};
  if (trilha_fixture_setup(&fixture) != 0) return 1;
  trilha_producer maker = trilha_producer_open(fixture, true);
  trilha_producer_close(&maker);
  int status = transport_conformance(&memory_transport);
  trilha_fixture_teardown(&fixture);
  return status;
}
