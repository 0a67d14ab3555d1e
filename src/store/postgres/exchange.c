/* store/postgres: statements and their answers. All steps of a pipeline are put into libpq's buffer, then leave
 * together; the server runs them in order and stops at the first that fails. */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/fault.h"
#include "postgres_internal.h"

static int index_of_query(const char *sql) {
  int i = 0;
  while (i < TRILHA_SQL_POSTGRES_QUERY_COUNT && trilha_sql_postgres_queries[i].sql != sql) i++;
  TRILHA_ASSERT(i < TRILHA_SQL_POSTGRES_QUERY_COUNT); /* a step runs a query of sql/postgres/queries */
  return i;
}

typedef struct sent_parameters {
  const char *values[TRILHA_PG_PARAMETERS_MAX];
  int formats[TRILHA_PG_PARAMETERS_MAX];
} sent_parameters;

static void point_at(const trilha_pg_parameters *p, sent_parameters *out) {
  for (int i = 0; i < p->count; i++) {
    out->values[i] = p->sizes[i] < 0 ? NULL : (p->bytes.data == NULL ? "" : p->bytes.data) + p->starts[i];
    out->formats[i] = 1;
  }
}

/* Prepared by name on a connection of our own; behind a pooler the next transaction meets another session. */
static bool prepares(const trilha_pg_connection *c, const trilha_pg_step *step) {
  return !c->pooled && !step->once && !step->made_here;
}

static bool send_step(trilha_pg_connection *c, const trilha_pg_step *step, int query, bool prepare_first) {
  static const trilha_pg_parameters none;
  const trilha_pg_parameters *p = step->parameters == NULL ? &none : step->parameters;
  sent_parameters sent;
  point_at(p, &sent);
  if (!prepares(c, step))
    return PQsendQueryParams(c->pg, step->sql, p->count, p->types, sent.values, p->sizes, sent.formats, 1) == 1;
  const char *name = trilha_sql_postgres_queries[query].name;
  if (prepare_first && PQsendPrepare(c->pg, name, step->sql, p->count, p->types) != 1) return false;
  return PQsendQueryPrepared(c->pg, name, p->count, sent.values, p->sizes, sent.formats, 1) == 1;
}

/* OK, TIMEOUT, or UNAVAILABLE when the connection broke. Reads while it writes: the server may be answering already,
 * and two full buffers that wait for each other would wait for ever. */
static trilha_status flush(PGconn *pg, trilha_deadline deadline) {
  for (;;) {
    int left = PQflush(pg);
    if (left == 0) return TRILHA_OK;
    if (left < 0) return TRILHA_UNAVAILABLE;
    if (!trilha_pg_wait_socket(pg, true, deadline)) return TRILHA_TIMEOUT;
    if (PQconsumeInput(pg) != 1) return TRILHA_UNAVAILABLE;
  }
}

static trilha_status next_result(PGconn *pg, trilha_deadline deadline, PGresult **ret_result) {
  while (PQisBusy(pg)) {
    if (!trilha_pg_wait_socket(pg, false, deadline)) return TRILHA_TIMEOUT;
    if (PQconsumeInput(pg) != 1) return TRILHA_UNAVAILABLE;
  }
  *ret_result = PQgetResult(pg);
  return TRILHA_OK;
}

trilha_status trilha_pg_read_statement(PGconn *pg, trilha_deadline deadline, PGresult **ret_result) {
  PGresult *result = NULL;
  for (;;) {
    PGresult *next = NULL;
    trilha_status status = next_result(pg, deadline, &next);
    if (status != TRILHA_OK || next == NULL) {
      if (status == TRILHA_OK && result == NULL) status = TRILHA_UNAVAILABLE; /* libpq has nothing to give */
      if (status != TRILHA_OK) trilha_pg_clear(&result);
      *ret_result = result;
      return status;
    }
    trilha_pg_clear(&result);
    result = next;
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) { /* no NULL follows it */
      *ret_result = result;
      return TRILHA_OK;
    }
    if (PQstatus(pg) == CONNECTION_BAD) {
      *ret_result = result;
      return PQresultErrorField(result, PG_DIAG_SQLSTATE) != NULL ? TRILHA_OK : TRILHA_UNAVAILABLE;
    }
  }
}

static bool succeeded(const PGresult *result) {
  ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

typedef struct exchange {
  trilha_pg_connection *c;
  const trilha_pg_step *steps;
  size_t count;
  trilha_deadline deadline;
  int query[TRILHA_PG_STEPS_MAX];
  bool prepare[TRILHA_PG_STEPS_MAX];
  PGresult **results; /* one per step */
  PGresult *failed;   /* the first that failed */
} exchange;

static void note_prepared(exchange *x) {
  bool prepared[TRILHA_SQL_POSTGRES_QUERY_COUNT];
  memcpy(prepared, x->c->prepared, sizeof prepared);
  for (size_t i = 0; i < x->count; i++) {
    x->query[i] = 0;
    if (x->steps[i].made_here) continue;
    x->query[i] = index_of_query(x->steps[i].sql);
    x->prepare[i] = prepares(x->c, &x->steps[i]) && !prepared[x->query[i]];
    if (x->prepare[i]) prepared[x->query[i]] = true;
  }
}

static trilha_status send_all(exchange *x) {
  if (PQenterPipelineMode(x->c->pg) != 1) return TRILHA_UNAVAILABLE;
  for (size_t i = 0; i < x->count; i++) {
    if (i > 0 && i + 1 == x->count && TRILHA_FAULT("postgres.exchange.before_last_step")) return TRILHA_UNAVAILABLE;
    if (!send_step(x->c, &x->steps[i], x->query[i], x->prepare[i])) return TRILHA_UNAVAILABLE;
  }
  if (PQpipelineSync(x->c->pg) != 1) return TRILHA_UNAVAILABLE;
  return flush(x->c->pg, x->deadline);
}

/* Keeps the first failure; a result that is not kept is freed. */
static void judge(exchange *x, PGresult *result, PGresult **keep) {
  if (!succeeded(result) && x->failed == NULL && PQresultStatus(result) != PGRES_PIPELINE_ABORTED)
    x->failed = result;
  else if (keep != NULL && succeeded(result))
    *keep = result;
  else
    PQclear(result);
}

static trilha_status receive_all(exchange *x) {
  PGresult *result = NULL;
  for (size_t i = 0; i < x->count; i++) {
    if (x->prepare[i]) {
      trilha_status status = trilha_pg_read_statement(x->c->pg, x->deadline, &result);
      if (status != TRILHA_OK) return trilha_pg_clear(&result), status;
      if (succeeded(result)) x->c->prepared[x->query[i]] = true;
      judge(x, result, NULL);
      result = NULL;
    }
    trilha_status status = trilha_pg_read_statement(x->c->pg, x->deadline, &result);
    if (status != TRILHA_OK) return trilha_pg_clear(&result), status;
    judge(x, result, &x->results[i]);
    result = NULL;
  }
  trilha_status status = trilha_pg_read_statement(x->c->pg, x->deadline, &result); /* the Sync */
  if (status == TRILHA_OK && PQresultStatus(result) != PGRES_PIPELINE_SYNC) status = TRILHA_UNAVAILABLE;
  trilha_pg_clear(&result);
  if (status == TRILHA_OK && PQexitPipelineMode(x->c->pg) != 1) status = TRILHA_UNAVAILABLE;
  return status;
}

/* A failed statement leaves its transaction open and useless. */
static void leave_transaction(trilha_pg_connection *c) {
  PGTransactionStatusType state = PQtransactionStatus(c->pg);
  if (state == PQTRANS_IDLE) return;
  if (state == PQTRANS_INERROR || state == PQTRANS_INTRANS) {
    trilha_deadline deadline = trilha_deadline_in_ms(TRILHA_PG_ROLLBACK_MS);
    TRILHA_PG_RESULT_SCOPED *result = NULL;
    if (PQsendQuery(c->pg, trilha_sql_postgres_transaction_rollback) == 1 && flush(c->pg, deadline) == TRILHA_OK &&
        trilha_pg_read_statement(c->pg, deadline, &result) == TRILHA_OK && succeeded(result))
      return;
  }
  trilha_pg_disconnect(c);
}

/* The session is not the one we prepared on: start afresh, and believe in a pooler from now on. */
static bool lost_its_statements(const PGresult *failed) {
  const char *sqlstate = PQresultErrorField(failed, PG_DIAG_SQLSTATE);
  return sqlstate != NULL &&
         (strcmp(sqlstate, "26000") == 0 || strcmp(sqlstate, "42P05") == 0 || strcmp(sqlstate, "0A000") == 0);
}

static trilha_status broken(exchange *x, trilha_status how, trilha_error *err) {
  trilha_status status = how;
  if (x->failed != NULL) /* the server said why before it hung up */
    status = trilha_pg_failure(x->failed, err);
  else if (how == TRILHA_TIMEOUT)
    trilha_error_set(err, TRILHA_TIMEOUT, "STORE_TIMEOUT", "PostgreSQL did not answer in time");
  else
    status = trilha_pg_lost(x->c->pg, NULL, TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", err);
  trilha_pg_disconnect(x->c);
  return status;
}

/* Whether every parameter could be written. */
static trilha_status check_parameters(const exchange *x, trilha_error *err) {
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; status == TRILHA_OK && i < x->count; i++)
    if (x->steps[i].parameters != NULL) status = trilha_buffer_check(&x->steps[i].parameters->bytes, err);
  return status;
}

trilha_status trilha_pg_run(trilha_pg_connection *c, const trilha_pg_step *steps, size_t count,
                            trilha_deadline deadline, PGresult **ret_results, trilha_pg_reach *ret_reach,
                            trilha_error *err) {
  TRILHA_ASSERT(c->pg != NULL && count > 0 && count <= TRILHA_PG_STEPS_MAX);
  exchange x = {.c = c, .steps = steps, .count = count, .deadline = deadline, .results = ret_results};
  if (deadline.monotonic_ns != TRILHA_NO_DEADLINE.monotonic_ns)
    x.deadline.monotonic_ns += (int64_t)TRILHA_PG_GRACE_MS * 1000000;
  *ret_reach = TRILHA_PG_NOT_SENT;
  for (size_t i = 0; i < count; i++) ret_results[i] = NULL; /* all, before the first way out: callers clear them */
  trilha_status status = check_parameters(&x, err);
  if (status != TRILHA_OK) return status;
  note_prepared(&x);
  if (TRILHA_FAULT("postgres.exchange.before_send"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", "fault point");
  *ret_reach = TRILHA_PG_LOST;
  status = send_all(&x);
  if (status == TRILHA_OK) status = receive_all(&x);
  if (TRILHA_FAULT("postgres.exchange.after_answer")) status = TRILHA_UNAVAILABLE;
  if (status != TRILHA_OK) {
    status = broken(&x, status, err);
  } else if (x.failed != NULL) {
    *ret_reach = TRILHA_PG_ANSWERED;
    status = trilha_pg_failure(x.failed, err);
    if (lost_its_statements(x.failed))
      trilha_pg_disconnect(c);
    else
      leave_transaction(c);
  } else {
    *ret_reach = TRILHA_PG_ANSWERED;
  }
  trilha_pg_clear(&x.failed);
  for (size_t i = 0; status != TRILHA_OK && i < count; i++) trilha_pg_clear(&ret_results[i]);
  return status;
}

trilha_status trilha_pg_script(trilha_pg_connection *c, const char *sql, trilha_error *err) {
  if (PQsetnonblocking(c->pg, 0) != 0) return trilha_error_no_memory(err);
  TRILHA_PG_RESULT_SCOPED *result = PQexec(c->pg, sql);
  if (result == NULL || PQstatus(c->pg) == CONNECTION_BAD)
    return trilha_pg_lost(c->pg, NULL, TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", err);
  if (!succeeded(result)) return trilha_pg_failure(result, err);
  return PQsetnonblocking(c->pg, 1) == 0 ? TRILHA_OK : trilha_error_no_memory(err);
}
