/* store/postgres: what is shown is on disk. An append gives the log's turn back before the disk is waited for (ADR
 * 0018), so a row can be visible that a crash would still lose. It must not reach a handler, a cursor or anybody else;
 * what was shown once is remembered, so that only the young end of the log is ever asked about. */
#include "base/clock.h"
#include "base/error.h"
#include "postgres_internal.h"

void trilha_pg_learn_durable(trilha_pg_store *s, int64_t sequence) {
  if (!s->durable) return;
  pthread_mutex_lock(&s->lock);
  if (sequence > s->durable_to) s->durable_to = sequence;
  pthread_mutex_unlock(&s->lock);
}

void trilha_pg_forget_durable(trilha_pg_store *s) {
  pthread_mutex_lock(&s->lock);
  s->durable_to = 0;
  pthread_mutex_unlock(&s->lock);
}

/* Numbers are given in the order of commits, and the WAL keeps that order: what is below a durable row is durable.
 * Behind a pooler nothing is remembered, since a change of servers would go unnoticed. */
static bool is_known_durable(trilha_pg_store *s, const trilha_pg_connection *c, int64_t sequence) {
  pthread_mutex_lock(&s->lock);
  bool known = sequence <= s->durable_to && !c->pooled;
  pthread_mutex_unlock(&s->lock);
  return known;
}

static trilha_status wait_for_the_disk(trilha_pg_store *s, trilha_pg_connection *c, trilha_deadline deadline,
                                       trilha_error *err) {
  enum { STEPS = 5 };
  trilha_pg_write_transaction w;
  trilha_pg_step steps[STEPS];
  PGresult *results[STEPS] = {NULL};
  trilha_pg_reach reach;
  trilha_pg_begin_writing(s, deadline, &w, steps);
  steps[3] = (trilha_pg_step){.sql = trilha_sql_postgres_log_make_durable};
  steps[4] = (trilha_pg_step){.sql = trilha_sql_postgres_transaction_commit};
  trilha_status status = trilha_pg_run(c, steps, STEPS, deadline, results, &reach, err);
  trilha_pg_write_transaction_done(&w);
  for (size_t i = 0; i < STEPS; i++) trilha_pg_clear(&results[i]);
  if (status != TRILHA_OK) trilha_error_while(err, "waiting until what was read is on disk");
  return status;
}

/* The publisher whose row was seen is itself waiting for the disk: mostly it is enough to look again in a moment, which
 * costs the server neither WAL nor a flush. */
static trilha_status others_wait_for_the_disk(trilha_pg_connection *c, int64_t position, trilha_deadline deadline,
                                              bool *ret_reached, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, position);
  const trilha_pg_step step = {.sql = trilha_sql_postgres_log_reached, .parameters = &p};
  for (int look = 0; look < TRILHA_PG_DURABLE_LOOKS && !*ret_reached; look++) {
    trilha_clock_sleep_us(TRILHA_PG_DURABLE_PAUSE_US);
    TRILHA_PG_RESULT_SCOPED *result = NULL;
    trilha_pg_reach reach;
    trilha_status status = trilha_pg_run(c, &step, 1, deadline, &result, &reach, err);
    if (status != TRILHA_OK) return status;
    *ret_reached = trilha_pg_get_bool(result, 0, 0);
  }
  return TRILHA_OK;
}

static int64_t largest_shown(PGresult *const *results, size_t count) {
  int64_t largest = 0;
  for (size_t i = 0; i < count; i++) {
    if (PQnfields(results[i]) == 0 || !trilha_text_is(trilha_text_of(PQfname(results[i], 0)), "sequence_number"))
      continue;
    for (int row = 0; row < PQntuples(results[i]); row++) {
      int64_t sequence = trilha_pg_get_i64(results[i], row, 0);
      if (sequence > largest) largest = sequence;
    }
  }
  return largest;
}

trilha_status trilha_pg_show_durable(trilha_pg_store *s, trilha_pg_connection *c, PGresult *const *results,
                                     size_t count, int64_t position, trilha_deadline deadline, trilha_error *err) {
  int64_t largest = largest_shown(results, count);
  if (!s->durable || is_known_durable(s, c, largest)) return TRILHA_OK;
  bool reached = position == 0;
  trilha_status status = TRILHA_OK;
  if (!reached) status = others_wait_for_the_disk(c, position, deadline, &reached, err);
  if (status == TRILHA_OK && !reached) status = wait_for_the_disk(s, c, deadline, err);
  if (status == TRILHA_OK) trilha_pg_learn_durable(s, largest);
  return status;
}
