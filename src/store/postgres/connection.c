/* store/postgres: making, greeting and dropping one connection. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "postgres_internal.h"

static const int64_t poll_ms_max = 3600000; /* without a deadline: looks at the clock once an hour */

bool trilha_pg_wait_socket(const PGconn *pg, bool or_writable, trilha_deadline deadline) {
  struct pollfd fd = {.fd = PQsocket(pg), .events = or_writable ? POLLIN | POLLOUT : POLLIN};
  for (;;) {
    int ready = poll(&fd, 1, (int)trilha_deadline_left_ms(deadline, poll_ms_max));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true; /* libpq tells what is wrong with the socket */
    if (ready == 0 && trilha_deadline_passed(deadline)) return false;
  }
}

void trilha_pg_disconnect(trilha_pg_connection *c) {
  if (c->pg != NULL) PQfinish(c->pg);
  c->pg = NULL;
  c->pooled = c->hung_up = c->settled = false;
  memset(c->prepared, 0, sizeof c->prepared);
}

/* A library does not print. What an idle connection is told last, before the server hangs up, comes as a notice too. */
static void hear_notice(void *user, const PGresult *result) {
  trilha_pg_connection *c = user;
  const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0)) c->hung_up = true;
}

static PGconn *start(const char *url, trilha_pg_connection *c) {
  /* What stands before dbname the URL may override, what stands after it not. The keepalives find a dead server. */
  const char *const names[] = {
      "fallback_application_name", "keepalives_idle", "keepalives_interval", "keepalives_count",
      "tcp_user_timeout",          "dbname",          "client_encoding",     NULL};
  const char *const values[] = {"trilha", "10", "5", "3", "25000", url, "UTF8", NULL};
  PGconn *pg = PQconnectStartParams(names, values, 1);
  if (pg != NULL) PQsetNoticeReceiver(pg, hear_notice, c);
  return pg;
}

static trilha_status shake_hands(const trilha_pg_target *target, PGconn *pg, trilha_deadline deadline,
                                 trilha_error *err) {
  if (pg == NULL) return trilha_error_no_memory(err);
  PostgresPollingStatusType want = PQstatus(pg) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (want != PGRES_POLLING_OK) {
    if (want == PGRES_POLLING_FAILED)
      return trilha_pg_lost(pg, target->password, TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", err);
    struct pollfd fd = {.fd = PQsocket(pg), .events = want == PGRES_POLLING_READING ? POLLIN : POLLOUT};
    int ready = poll(&fd, 1, (int)trilha_deadline_left_ms(deadline, poll_ms_max));
    if (ready == 0 && trilha_deadline_passed(deadline))
      return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE",
                              "PostgreSQL at %s did not answer a connection in time",
                              PQhost(pg) == NULL ? "?" : PQhost(pg));
    if (ready > 0) want = PQconnectPoll(pg);
  }
  return PQsetnonblocking(pg, 1) == 0 ? TRILHA_OK : trilha_error_no_memory(err);
}

static trilha_status judge_greeting(trilha_pg_connection *c, const PGresult *greeting, trilha_error *err) {
  c->pooled = trilha_pg_get_i64(greeting, 0, 0) != PQbackendPID(c->pg);
  if (!trilha_text_is(trilha_pg_get_text(greeting, 0, 1), "UTF8"))
    return trilha_error_set(err, TRILHA_UNSUPPORTED, "STORE_ENCODING", "the database's encoding must be UTF8");
  if (trilha_pg_get_i64(greeting, 0, 2) < TRILHA_PG_VERSION_MIN)
    return trilha_error_set(err, TRILHA_UNSUPPORTED, "STORE_VERSION", "PostgreSQL 15 or later is needed");
  return TRILHA_OK;
}

static trilha_status greet(trilha_pg_connection *c, trilha_deadline deadline, trilha_error *err) {
  trilha_pg_reach reach;
  TRILHA_PG_RESULT_SCOPED *greeting = NULL;
  const trilha_pg_step ask = {.sql = trilha_sql_postgres_session_greeting, .once = true};
  trilha_status status = trilha_pg_run(c, &ask, 1, deadline, &greeting, &reach, err);
  if (status == TRILHA_OK) status = judge_greeting(c, greeting, err);
  if (status != TRILHA_OK || c->pooled) return status;
  TRILHA_PG_RESULT_SCOPED *settings = NULL;
  const trilha_pg_step set = {.sql = trilha_sql_postgres_session_settings, .once = true};
  return trilha_pg_run(c, &set, 1, deadline, &settings, &reach, err);
}

/* False: the server hung up while the connection lay idle. An answer nobody asked for (a notice, a changed setting) is
 * fine. */
static bool still_there(const trilha_pg_connection *c) {
  struct pollfd fd = {.fd = PQsocket(c->pg), .events = POLLIN};
  if (PQstatus(c->pg) != CONNECTION_OK || PQtransactionStatus(c->pg) != PQTRANS_IDLE) return false;
  while (poll(&fd, 1, 0) > 0) {
    if (PQconsumeInput(c->pg) != 1 || PQisBusy(c->pg))
      return false; /* PQisBusy reads what came, and calls hear_notice */
    if (c->hung_up || PQstatus(c->pg) != CONNECTION_OK) return false;
  }
  return true;
}

trilha_status trilha_pg_connect(const trilha_pg_target *target, trilha_pg_connection *c, trilha_deadline deadline,
                                trilha_error *err) {
  if (c->pg != NULL && still_there(c)) return TRILHA_OK;
  trilha_pg_disconnect(c);
  deadline = trilha_deadline_earlier(deadline, trilha_deadline_in_ms(target->connect_timeout_ms));
  c->generation++;
  c->pg = start(target->url, c);
  trilha_status status = shake_hands(target, c->pg, deadline, err);
  if (status == TRILHA_OK) status = greet(c, deadline, err);
  if (status == TRILHA_OK) return TRILHA_OK;
  trilha_error_while(err, "connecting to the store");
  trilha_pg_disconnect(c);
  return status;
}
