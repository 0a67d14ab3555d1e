/* store/postgres/write: what every short writing transaction begins and ends with. */
#include <string.h>

#include "base/error.h"
#include "postgres_internal.h"

void trilha_pg_write_transaction_done(trilha_pg_write_transaction *w) {
  trilha_pg_parameters_done(&w->settings);
  trilha_pg_parameters_done(&w->durable);
}

void trilha_pg_begin_writing(trilha_pg_store *s, trilha_deadline deadline, trilha_pg_write_transaction *w,
                             trilha_pg_step steps[3]) {
  trilha_pg_parameters_init(&w->settings);
  trilha_pg_parameters_init(&w->durable);
  trilha_pg_add_i64(&w->settings, 0);
  trilha_pg_add_i64(&w->settings, trilha_deadline_left_ms(deadline, s->lock_timeout_ms));
  trilha_pg_add_text(&w->settings, trilha_text_of(trilha_pg_plan_mode(false)));
  trilha_pg_add_bool(&w->durable, s->durable);
  steps[0] = (trilha_pg_step){.sql = trilha_sql_postgres_transaction_begin_write};
  steps[1] = (trilha_pg_step){.sql = trilha_sql_postgres_transaction_settings, .parameters = &w->settings};
  steps[2] = (trilha_pg_step){.sql = trilha_sql_postgres_transaction_durable, .parameters = &w->durable};
}

/* COMMIT was among the steps: a lost answer, or a shutdown while it ran, leaves it open whether it happened. */
trilha_status trilha_pg_after_commit(trilha_status status, trilha_pg_reach reach, trilha_error *err) {
  if (status == TRILHA_OK || reach == TRILHA_PG_NOT_SENT) return status;
  if (reach == TRILHA_PG_ANSWERED && (err == NULL || strncmp(err->sqlstate, "57P", 3) != 0)) return status;
  trilha_error_clear(err);
  return trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "STORE_COMMIT_UNKNOWN",
                          "the answer to a commit was lost: it may or may not have happened");
}
