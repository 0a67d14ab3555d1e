/* store/postgres: what became of a transaction whose answer to COMMIT was lost, asked on a new connection. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "unit_of_work.h"

enum { AGAIN_MS = 20 }; /* the server may not have noticed yet that the client is gone, or may be starting */

/* As libpq reads it: name='value', with quotes and backslashes escaped. */
static void add_setting(trilha_buffer *out, const char *name, const char *value) {
  trilha_buffer_add_string(out, name);
  trilha_buffer_add_string(out, "='");
  for (const char *at = value; *at != '\0'; at++) {
    if (*at == '\'' || *at == '\\') trilha_buffer_add_char(out, '\\');
    trilha_buffer_add_char(out, *at);
  }
  trilha_buffer_add_string(out, "' ");
}

/* What the lost connection was made with, its password too: it lives in `out` and in libpq only. */
static trilha_status parameters_of(PGconn *pg, trilha_buffer *out, char **ret_password, trilha_error *err) {
  PQconninfoOption *options = PQconninfo(pg);
  if (options == NULL) return trilha_error_no_memory(err);
  *ret_password = NULL;
  for (const PQconninfoOption *o = options; o->keyword != NULL; o++)
    if (o->val != NULL && *o->val != '\0') {
      add_setting(out, o->keyword, o->val);
      if (strcmp(o->keyword, "password") == 0) *ret_password = strdup(o->val);
    }
  PQconninfoFree(options);
  return trilha_buffer_check(out, err);
}

/* OK and UNKNOWN: ask again later. */
static trilha_status look(const trilha_pg_unit *u, trilha_pg_connection *c, trilha_deadline deadline,
                          trilha_unit_of_work_outcome *ret_outcome, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_reach reach;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, trilha_text_of(u->xid));
  const trilha_pg_step step = {.sql = trilha_sql_postgres_unit_unit_verdict, .parameters = &p, .made_here = true};
  trilha_status status = trilha_pg_run(c, &step, 1, deadline, &r, &reach, err);
  if (status != TRILHA_OK) return status;
  if (trilha_pg_get_i64(r, 0, 0) != u->system_id || !trilha_text_is(trilha_pg_get_text(r, 0, 1), u->timeline))
    return trilha_error_set(err, TRILHA_CONFLICT, "STORE_REPLACED",
                            "another server, or the same after a failover, answers there now");
  trilha_text said = trilha_pg_get_text(r, 0, 2);
  if (trilha_text_is(said, "committed")) *ret_outcome = TRILHA_UNIT_OF_WORK_COMMITTED;
  if (trilha_text_is(said, "aborted")) *ret_outcome = TRILHA_UNIT_OF_WORK_ROLLED_BACK;
  if (said.data != NULL) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_NOT_FOUND, "TRANSACTION_FORGOTTEN",
                          "the server does not know its number any more");
}

/* Until somebody knows: the server ends what a lost client left as soon as it notices. */
static trilha_unit_of_work_outcome ask_until(const trilha_pg_unit *u, const trilha_pg_target *target,
                                             trilha_error *err) {
  trilha_unit_of_work_outcome outcome = TRILHA_UNIT_OF_WORK_UNKNOWN;
  trilha_deadline deadline = trilha_deadline_in_ms(u->resolve_timeout_ms);
  trilha_pg_connection c = {0};
  for (;;) {
    trilha_error now = {0};
    trilha_status status = trilha_pg_connect(target, &c, deadline, &now);
    if (status == TRILHA_OK) status = look(u, &c, deadline, &outcome, &now);
    if (outcome != TRILHA_UNIT_OF_WORK_UNKNOWN) break;
    bool may_change = status == TRILHA_OK || status == TRILHA_UNAVAILABLE || status == TRILHA_TIMEOUT;
    if (!may_change || trilha_deadline_passed(deadline)) {
      if (status == TRILHA_OK)
        trilha_error_set(&now, TRILHA_TIMEOUT, "STILL_IN_PROGRESS", "the server still has it in progress");
      trilha_error_copy(err, &now);
      break;
    }
    trilha_clock_sleep_ms(AGAIN_MS);
  }
  trilha_pg_disconnect(&c);
  return outcome;
}

static void wipe(char *secret, size_t size) {
  if (secret != NULL) explicit_bzero(secret, size);
}

trilha_unit_of_work_outcome trilha_pg_unit_verdict(const trilha_pg_unit *u, trilha_error *err) {
  trilha_unit_of_work_outcome outcome = TRILHA_UNIT_OF_WORK_UNKNOWN;
  char *password = NULL;
  if (*u->xid == '\0' || u->system_id == 0) {
    trilha_error_set(err, TRILHA_UNSUPPORTED, "TRANSACTION_UNNAMED", "%s",
                     *u->xid == '\0' ? "it had written nothing, so it has no number"
                                     : "the session may not ask which server it is on");
    return outcome;
  }
  TRILHA_BUFFER_SCOPED parameters;
  trilha_buffer_init(&parameters, 0);
  if (parameters_of(u->pg, &parameters, &password, err) == TRILHA_OK) {
    const trilha_pg_target target = {parameters.data, password, u->resolve_timeout_ms};
    outcome = ask_until(u, &target, err);
  }
  wipe(parameters.data, parameters.size);
  wipe(password, password == NULL ? 0 : strlen(password));
  free(password);
  return outcome;
}
