/* store/postgres/reaction: a consumer's connection, in blocking mode while a handler has it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "outbox.h"
#include "store/reaction.h"

typedef struct reaction {
  trilha_reaction_store port; /* first */
  trilha_pg_store *s;         /* of which the writer is used */
  pid_t pid;
  char schema[TRILHA_OUTBOX_SCHEMA_BYTES_MAX + 1];
} reaction;

static reaction *of(trilha_reaction_store *store) {
  return (reaction *)(void *)store;
}

static PGconn *connection(const reaction *r) {
  return r->s->writer.pg;
}

static void close_reaction(trilha_reaction_store *store) {
  reaction *r = of(store);
  if (r->pid != getpid()) return; /* a child's farewell would end the parent's session */
  trilha_pg_close(r->s);
  free(r);
}

static trilha_status answered(const reaction *r, const PGresult *result, trilha_pg_reach *ret_reach,
                              trilha_error *err) {
  ExecStatusType said = PQresultStatus(result);
  *ret_reach = TRILHA_PG_ANSWERED;
  if (said == PGRES_COMMAND_OK || said == PGRES_TUPLES_OK) return TRILHA_OK;
  if (result != NULL && PQstatus(connection(r)) == CONNECTION_OK) return trilha_pg_failure(result, err);
  *ret_reach = TRILHA_PG_LOST;
  return trilha_pg_lost(connection(r), r->s->target.password, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", err);
}

static trilha_status run(reaction *r, const char *sql, trilha_error *err) {
  trilha_pg_reach reach;
  TRILHA_PG_RESULT_SCOPED *result = PQexec(connection(r), sql);
  return answered(r, result, &reach, err);
}

/* --- beginning --------------------------------------------------------------------------------------------------- */

static trilha_status set_scope(reaction *r, const trilha_envelope *e, trilha_deadline deadline, trilha_error *err) {
  char left_ms[24];
  TRILHA_BUFFER_SCOPED texts; /* terminated, as libpq wants them */
  const trilha_text scope[] = {trilha_text_of(r->port.settings),
                               e->tenant_id,
                               e->company_id,
                               e->correlation_id,
                               e->causation_id,
                               e->traceparent,
                               e->credential};
  enum { COUNT = sizeof scope / sizeof scope[0] };
  size_t starts[COUNT];
  int64_t left = trilha_deadline_left_ms(deadline, INT32_MAX);
  snprintf(left_ms, sizeof left_ms, "%lld", (long long)(left > 0 ? left : 1)); /* 0 would be no time-out */
  trilha_buffer_init(&texts, 0);
  for (size_t i = 0; i < COUNT; i++) {
    starts[i] = texts.size;
    trilha_buffer_add_text(&texts, scope[i]);
    trilha_buffer_add_char(&texts, '\0');
  }
  trilha_status status = trilha_buffer_check(&texts, err);
  if (status != TRILHA_OK) return status;
  const char *values[1 + COUNT] = {left_ms};
  for (size_t i = 0; i < COUNT; i++) values[1 + i] = texts.data + starts[i];
  trilha_pg_reach reach;
  TRILHA_PG_RESULT_SCOPED *result =
      PQexecParams(connection(r), trilha_sql_postgres_outbox_reaction_scope, 1 + COUNT, NULL, values, NULL, NULL, 0);
  return answered(r, result, &reach, err);
}

static void leave(reaction *r);

static trilha_status begin(trilha_reaction_store *store, const trilha_inbox_message *message,
                           const trilha_envelope *envelope, trilha_deadline deadline, trilha_inbox_answer *ret_answer,
                           trilha_error *err) {
  reaction *r = of(store);
  trilha_status status = trilha_pg_outbox_check_process(r->pid, err);
  if (status == TRILHA_OK) status = trilha_pg_connect(&r->s->target, &r->s->writer, deadline, err);
  if (status != TRILHA_OK) return status;
  if (PQsetnonblocking(connection(r), 0) != 0) return trilha_error_no_memory(err);
  store->postgres = connection(r);
  status = run(r, trilha_sql_postgres_transaction_begin_write, err);
  if (status == TRILHA_OK) status = set_scope(r, envelope, deadline, err);
  if (status == TRILHA_OK) status = trilha_postgres_inbox_accept(connection(r), r->schema, message, ret_answer, err);
  if (status != TRILHA_OK) leave(r);
  return status;
}

static trilha_status finish(trilha_reaction_store *store, const trilha_inbox_message *message, trilha_text result,
                            trilha_error *err) {
  reaction *r = of(store);
  return trilha_postgres_inbox_finish(connection(r), r->schema, message, result, err);
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

/* Settings, a role, locks and temporary tables that a handler left are not the next message's. What cannot be cleared
 * is closed. Behind a pooler the session is not ours to clear. */
static void clear_session(reaction *r) {
  trilha_pg_connection *c = &r->s->writer;
  r->port.postgres = NULL;
  if (c->pg == NULL) return;
  bool clean = PQstatus(c->pg) == CONNECTION_OK && PQtransactionStatus(c->pg) == PQTRANS_IDLE &&
               PQpipelineStatus(c->pg) == PQ_PIPELINE_OFF;
  if (clean && !c->pooled) clean = run(r, trilha_sql_postgres_outbox_reaction_clear, NULL) == TRILHA_OK;
  if (clean) return;
  trilha_pg_disconnect(c);
  r->port.closed++;
}

static void leave(reaction *r) {
  PGTransactionStatusType stands = PQtransactionStatus(connection(r));
  if (stands == PQTRANS_INTRANS || stands == PQTRANS_INERROR) {
    trilha_error ignored = {0}; /* a rollback that fails leaves a connection that is closed */
    trilha_status status = run(r, trilha_sql_postgres_transaction_rollback, &ignored);
    (void)status;
  }
  clear_session(r);
}

static void abort_reaction(trilha_reaction_store *store) {
  leave(of(store));
}

/* PostgreSQL answers the COMMIT of a failed transaction with success and the word ROLLBACK. */
static trilha_status commit_now(reaction *r, trilha_error *err) {
  trilha_pg_reach reach;
  trilha_error own = {0};
  TRILHA_PG_RESULT_SCOPED *result = PQexec(connection(r), trilha_sql_postgres_transaction_commit);
  trilha_status status = answered(r, result, &reach, &own);
  if (status == TRILHA_OK && PQcmdStatus(result)[0] == 'R')
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "REACTION_ROLLED_BACK",
                            "a statement of the handler failed and undid its transaction, yet it reported success");
  status = trilha_pg_after_commit(status, reach, &own);
  return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(err, &own);
}

static trilha_status commit(trilha_reaction_store *store, trilha_error *err) {
  reaction *r = of(store);
  PGTransactionStatusType stands = PQtransactionStatus(connection(r));
  trilha_status status = TRILHA_OK;
  if (stands == PQTRANS_INTRANS || stands == PQTRANS_INERROR)
    status = commit_now(r, err);
  else
    status = trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "REACTION_TRANSACTION",
                              "the handler ended the transaction of its effect, or left a statement running");
  clear_session(r);
  return status;
}

/* --- opening -------------------------------------------------------------------------------------------------------
 */

static const trilha_reaction_operations operations = {
    .close = close_reaction, .begin = begin, .finish = finish, .commit = commit, .abort = abort_reaction};

trilha_status trilha_postgres_reaction_open(const trilha_store_options *options, const char *schema,
                                            trilha_reaction_store **ret_store, trilha_error *err) {
  if (schema == NULL)
    return trilha_error_set(err, TRILHA_USAGE, "SCHEMA_MISSING",
                            "on PostgreSQL an inbox is in a schema: name the consumer's");
  reaction *r = calloc(1, sizeof *r);
  if (r == NULL) return trilha_error_no_memory(err);
  r->port.op = &operations;
  r->pid = getpid();
  snprintf(r->schema, sizeof r->schema, "%s", schema);
  trilha_status status = trilha_pg_open_bare(options, &r->s, err);
  if (status != TRILHA_OK) {
    free(r);
    return status;
  }
  *ret_store = &r->port;
  return TRILHA_OK;
}
