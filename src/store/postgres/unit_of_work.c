/* store/postgres: the port of a unit of work on a caller's own connection, in blocking mode. Answers are waited for
 * with a limit all the same: what does not come in time is cut, so that it cannot be taken for the answer to a later
 * statement. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "outbox.h"
#include "unit_of_work.h"

/* --- the connection --------------------------------------------------------------------------------------------------
 */

/* libpq tells whoever is registered at a connection of its end. */
static int hear(PGEventId id, void *info, void *through) {
  (void)through;
  if (id == PGEVT_CONNDESTROY) {
    trilha_pg_unit *u = PQinstanceData(((PGEventConnDestroy *)info)->conn, hear);
    if (u != NULL) u->pg = NULL;
  } else if (id == PGEVT_CONNRESET) {
    trilha_pg_unit *u = PQinstanceData(((PGEventConnReset *)info)->conn, hear);
    if (u != NULL) u->reset = true;
  }
  return 1;
}

trilha_unit_store *trilha_postgres_unit_of(PGconn *pg) {
  trilha_error unimportant = {0};
  if (trilha_libpq_load(&unimportant) != TRILHA_OK) return NULL; /* then no unit was ever opened */
  trilha_pg_unit *u = PQinstanceData(pg, hear);
  return u == NULL ? NULL : &u->port;
}

static trilha_unit_state state(const trilha_unit_store *store) {
  const trilha_pg_unit *u = (const trilha_pg_unit *)(const void *)store;
  if (u->pg == NULL) return TRILHA_UNIT_CLOSED;
  if (u->reset || PQstatus(u->pg) != CONNECTION_OK) return TRILHA_UNIT_LOST;
  switch (PQtransactionStatus(u->pg)) {
    case PQTRANS_IDLE:
      return TRILHA_UNIT_IDLE;
    case PQTRANS_INTRANS:
      return TRILHA_UNIT_OPEN;
    case PQTRANS_INERROR:
      return TRILHA_UNIT_FAILED;
    case PQTRANS_ACTIVE:
      return TRILHA_UNIT_BUSY;
    case PQTRANS_UNKNOWN:
      break;
  }
  return TRILHA_UNIT_LOST;
}

/* An answer that comes too late must reach nobody. The PGconn stays its owner's, broken. */
static void cut(PGconn *pg) {
  shutdown(PQsocket(pg), SHUT_RDWR);
  while (PQstatus(pg) == CONNECTION_OK && PQconsumeInput(pg) == 1) continue;
}

/* A statement with at most one parameter, as text; NULL: none, and then it may be a script. OK: it succeeded.
 * *ret_answered false: no answer came, and nobody knows whether the server has run it. */
static trilha_status ask(trilha_pg_unit *u, const char *sql, const char *parameter, PGresult **ret_result,
                         bool *ret_answered, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  *ret_answered = false;
  int sent =
      parameter == NULL ? PQsendQuery(u->pg, sql) : PQsendQueryParams(u->pg, sql, 1, NULL, &parameter, NULL, NULL, 0);
  if (sent != 1) return trilha_pg_lost(u->pg, NULL, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", err);
  trilha_status status = trilha_pg_read_statement(u->pg, trilha_deadline_in_ms(u->answer_timeout_ms), &result);
  if (status == TRILHA_TIMEOUT) {
    cut(u->pg);
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE",
                            "PostgreSQL did not answer in time; the connection was cut");
  }
  ExecStatusType how = PQresultStatus(result);
  bool succeeded = how == PGRES_COMMAND_OK || how == PGRES_TUPLES_OK;
  if (status != TRILHA_OK || (!succeeded && PQstatus(u->pg) != CONNECTION_OK))
    return trilha_pg_lost(u->pg, NULL, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", err);
  *ret_answered = true;
  if (!succeeded) return trilha_pg_failure(result, err);
  if (ret_result != NULL) {
    *ret_result = result;
    result = NULL;
  }
  return TRILHA_OK;
}

static int64_t number(const PGresult *result, int column) {
  return PQntuples(result) == 1 ? strtoll(PQgetvalue(result, 0, column), NULL, 10) : 0;
}

/* --- beginning
 * --------------------------------------------------------------------------------------------------------- */

/* Once for each unit. Not being allowed to ask is no error: a lost answer then stays unknown. */
static trilha_status know_server(trilha_pg_unit *u, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *may = NULL, *server = NULL;
  bool answered = false;
  if (u->asked) return TRILHA_OK;
  trilha_status status = ask(u, trilha_sql_postgres_unit_unit_may_ask, NULL, &may, &answered, err);
  if (status != TRILHA_OK) return status;
  u->asked = true;
  if (strcmp(PQgetvalue(may, 0, 0), "t") != 0) return TRILHA_OK;
  status = ask(u, trilha_sql_postgres_unit_unit_server, NULL, &server, &answered, err);
  if (status != TRILHA_OK) return status;
  u->system_id = number(server, 0);
  snprintf(u->timeline, sizeof u->timeline, "%s", PQgetvalue(server, 0, 1));
  return TRILHA_OK;
}

static trilha_status rollback(trilha_unit_store *store, trilha_error *err) {
  trilha_pg_unit *u = trilha_pg_unit_of(store);
  enum { TRIES = 2 }; /* a cancel that came too late for its statement may meet the first */
  for (int tries = 1;; tries++) {
    trilha_error own = {0};
    bool answered = false;
    trilha_unit_state now = state(store);
    if (now != TRILHA_UNIT_OPEN && now != TRILHA_UNIT_FAILED) return TRILHA_OK;
    trilha_status status = ask(u, trilha_sql_postgres_transaction_rollback, NULL, NULL, &answered, &own);
    if (status == TRILHA_OK || !answered) return TRILHA_OK; /* a lost connection rolls back too */
    if (tries == TRIES) return trilha_error_copy(err, &own);
  }
}

static trilha_status begin_with(trilha_pg_unit *u, const char *sql, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  bool answered = false;
  trilha_status status = know_server(u, err);
  if (status == TRILHA_OK) status = ask(u, sql, NULL, &r, &answered, err);
  if (status == TRILHA_OK) u->began_us = number(r, 0);
  return status;
}

static trilha_status begin(trilha_unit_store *store, trilha_error *err) {
  trilha_status status = begin_with(trilha_pg_unit_of(store), trilha_sql_postgres_unit_unit_begin, err);
  if (status == TRILHA_OK) return status;
  trilha_error unimportant = {0};
  if (rollback(store, &unimportant) != TRILHA_OK) cut(trilha_pg_unit_of(store)->pg);
  return status;
}

static trilha_status adopt(trilha_unit_store *store, trilha_error *err) {
  return begin_with(trilha_pg_unit_of(store), trilha_sql_postgres_unit_unit_adopt, err);
}

/* --- inside
 * ------------------------------------------------------------------------------------------------------------ */

static trilha_status savepoint(trilha_unit_store *store, trilha_unit_savepoint_verb verb, int64_t generation,
                               trilha_error *err) {
  static const char *const queries[] = {[TRILHA_UNIT_SAVEPOINT] = trilha_sql_postgres_unit_unit_savepoint,
                                        [TRILHA_UNIT_ROLLBACK_TO] = trilha_sql_postgres_unit_unit_rollback_to,
                                        [TRILHA_UNIT_RELEASE] = trilha_sql_postgres_unit_unit_release};
  char name[TRILHA_OUTBOX_PREFIX_SIZE];
  TRILHA_BUFFER_SCOPED sql;
  bool answered = false;
  trilha_buffer_init(&sql, 0);
  snprintf(name, sizeof name, "trilha_savepoint_%lld", (long long)generation);
  trilha_outbox_sql(&sql, queries[verb], name);
  trilha_status status = trilha_buffer_check(&sql, err);
  return status == TRILHA_OK ? ask(trilha_pg_unit_of(store), sql.data, NULL, NULL, &answered, err) : status;
}

/* TOKEN.NUMBER; another unit's, or none: 0. */
static int64_t read_mark(const trilha_pg_unit *u, const PGresult *result) {
  const char *text = PQgetvalue(result, 0, 0);
  size_t size = strlen(u->token);
  return strncmp(text, u->token, size) == 0 && text[size] == '.' ? strtoll(text + size + 1, NULL, 10) : 0;
}

static trilha_status mark(trilha_unit_store *store, int64_t new_mark, int64_t *ret_before, bool *ret_same,
                          trilha_error *err) {
  trilha_pg_unit *u = trilha_pg_unit_of(store);
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  bool answered = false;
  char text[48];
  snprintf(text, sizeof text, "%s.%lld", u->token, (long long)new_mark);
  trilha_status status = ask(u, trilha_sql_postgres_unit_unit_mark, text, &r, &answered, err);
  if (status != TRILHA_OK) return status;
  *ret_before = read_mark(u, r);
  *ret_same = number(r, 1) == u->began_us;
  return TRILHA_OK;
}

static trilha_status last_mark(trilha_unit_store *store, int64_t *ret_number, bool *ret_same, trilha_error *err) {
  trilha_pg_unit *u = trilha_pg_unit_of(store);
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  bool answered = false;
  trilha_status status = ask(u, trilha_sql_postgres_unit_unit_last_mark, NULL, &r, &answered, err);
  if (status != TRILHA_OK) return status;
  *ret_number = read_mark(u, r);
  *ret_same = number(r, 1) == u->began_us;
  snprintf(u->xid, sizeof u->xid, "%s", PQgetvalue(r, 0, 2));
  return TRILHA_OK;
}

static trilha_status enqueue(trilha_unit_store *store, const char *schema, const trilha_message *message,
                             trilha_enqueued *ret, trilha_error *err) {
  return trilha_postgres_enqueue(trilha_pg_unit_of(store)->pg, schema, message, ret, err);
}

/* --- the end
 * ----------------------------------------------------------------------------------------------------------- */

static trilha_status resolve(trilha_pg_unit *u, trilha_unit_of_work_outcome *ret_outcome, bool *ret_resolved,
                             trilha_error *err) {
  trilha_error why = {0};
  *ret_outcome = trilha_pg_unit_verdict(u, &why);
  *ret_resolved = *ret_outcome != TRILHA_UNIT_OF_WORK_UNKNOWN;
  switch (*ret_outcome) {
    case TRILHA_UNIT_OF_WORK_COMMITTED:
      return TRILHA_OK;
    case TRILHA_UNIT_OF_WORK_ROLLED_BACK:
      return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE",
                              "the connection was lost at the commit, and the server says that nothing was stored: "
                              "repeat the transaction");
    default:
      return trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "COMMIT_UNKNOWN",
                              "the answer to the commit was lost, and it could not be found out whether the "
                              "transaction was stored (%s): look, or repeat it where it can be repeated",
                              why.text);
  }
}

static trilha_status commit(trilha_unit_store *store, trilha_unit_of_work_outcome *ret_outcome, bool *ret_resolved,
                            trilha_error *err) {
  trilha_pg_unit *u = trilha_pg_unit_of(store);
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_error own = {0};
  bool answered = false;
  *ret_outcome = TRILHA_UNIT_OF_WORK_ROLLED_BACK;
  *ret_resolved = false;
  trilha_status status = ask(u, trilha_sql_postgres_transaction_commit, NULL, &r, &answered, &own);
  if (!answered) return resolve(u, ret_outcome, ret_resolved, err);
  if (status != TRILHA_OK) return trilha_error_copy(err, &own);
  if (strcmp(PQcmdStatus(r), trilha_sql_postgres_transaction_commit) == 0) { /* the tag is the command's own word */
    *ret_outcome = TRILHA_UNIT_OF_WORK_COMMITTED;
    return TRILHA_OK;
  }
  return trilha_error_set(err, TRILHA_INVALID, "TRANSACTION_FAILED",
                          "PostgreSQL answered COMMIT with ROLLBACK, since an earlier statement of the transaction had "
                          "failed: nothing was stored; mend that and repeat the whole");
}

/* PostgreSQL ends a transaction only when it is told to, or with its session. */
static bool was_rolled_back(trilha_unit_store *store) {
  (void)store;
  return false;
}

/* From any thread: the PGcancel is a copy of what is needed, and lives as long as the unit. */
static void cancel(trilha_unit_store *store) {
  char text[256];
  PQcancel(trilha_pg_unit_of(store)->cancel, text, sizeof text);
}

static void close_unit(trilha_unit_store *store) {
  trilha_pg_unit *u = trilha_pg_unit_of(store);
  if (u->pg != NULL) PQsetInstanceData(u->pg, hear, NULL);
  PQfreeCancel(u->cancel);
  free(u);
}

/* --- opening
 * ----------------------------------------------------------------------------------------------------------- */

static trilha_status check_caller(const PGconn *pg, trilha_error *err) {
  if (PQinstanceData(pg, hear) != NULL)
    return trilha_error_set(err, TRILHA_CONFLICT, "UNIT_OF_WORK_EXISTS",
                            "the connection has a unit of work: trilha_unit_of_work_of_postgres() gives it");
  if (PQstatus(pg) != CONNECTION_OK)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", "the caller's connection is not connected");
  if (PQisnonblocking(pg) || PQpipelineStatus(pg) != PQ_PIPELINE_OFF)
    return trilha_error_set(err, TRILHA_USAGE, "CONNECTION_MODE",
                            "the connection must be in blocking mode and not in pipeline mode");
  return TRILHA_OK;
}

/* Where an earlier unit has registered the listener, it is there still: libpq never forgets one. */
static trilha_status attach(trilha_pg_unit *u, trilha_error *err) {
  unsigned char random[8];
  if (!trilha_random_bytes(random, sizeof random))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "RANDOM_UNAVAILABLE", "the system gives no random bytes");
  trilha_hex(random, sizeof random, u->token);
  u->cancel = PQgetCancel(u->pg);
  if (u->cancel == NULL) return trilha_error_no_memory(err);
  if (PQsetInstanceData(u->pg, hear, u) != 0) return TRILHA_OK;
  if (PQregisterEventProc(u->pg, hear, "trilha_unit_of_work", NULL) == 0) return trilha_error_no_memory(err);
  PQsetInstanceData(u->pg, hear, u);
  return TRILHA_OK;
}

static const trilha_unit_operations operations = {.schema_needed = true,
                                                  .state = state,
                                                  .begin = begin,
                                                  .adopt = adopt,
                                                  .savepoint = savepoint,
                                                  .mark = mark,
                                                  .last_mark = last_mark,
                                                  .commit = commit,
                                                  .rollback = rollback,
                                                  .was_rolled_back = was_rolled_back,
                                                  .enqueue = enqueue,
                                                  .cancel = cancel,
                                                  .close = close_unit};

trilha_status trilha_postgres_unit_open(PGconn *pg, unsigned answer_timeout_ms, unsigned resolve_timeout_ms,
                                        trilha_unit_store **ret_store, trilha_error *err) {
  trilha_status status = trilha_libpq_load(err);
  if (status == TRILHA_OK) status = check_caller(pg, err);
  if (status != TRILHA_OK) return status;
  trilha_pg_unit *u = calloc(1, sizeof *u);
  if (u == NULL) return trilha_error_no_memory(err);
  u->port.op = &operations;
  u->pg = pg;
  u->answer_timeout_ms = answer_timeout_ms;
  u->resolve_timeout_ms = resolve_timeout_ms;
  status = attach(u, err);
  if (status != TRILHA_OK) {
    PQfreeCancel(u->cancel);
    free(u);
    return status;
  }
  *ret_store = &u->port;
  return TRILHA_OK;
}
