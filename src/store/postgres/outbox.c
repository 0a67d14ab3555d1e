/* store/postgres/outbox: opening a producer's outbox, and its routes. */
#include "outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

void trilha_pg_outbox_prefix(const char *schema, char out[TRILHA_OUTBOX_PREFIX_SIZE]) {
  snprintf(out, TRILHA_OUTBOX_PREFIX_SIZE, "\"%s\".", schema); /* checked: no quote is in it */
}

trilha_status trilha_pg_outbox_explain(trilha_status status, const char *schema, trilha_error *err) {
  static const char *const absent[] = {"3F000", "42883", "42P01"}; /* schema, function, table */
  if (status == TRILHA_OK || err == NULL) return status;
  for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
    if (strcmp(err->sqlstate, absent[i]) != 0) continue;
    trilha_error_clear(err);
    return trilha_error_set(err, TRILHA_NOT_FOUND, "OUTBOX_NOT_INSTALLED",
                            "the schema %s has no outbox of this version: run `trilha outbox install --schema %s`",
                            schema, schema);
  }
  return status;
}

trilha_status trilha_pg_outbox_check_process(pid_t opened_by, trilha_error *err) {
  if (opened_by == getpid()) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_USAGE, "HANDLE_FORKED",
                          "this outbox was opened before fork(); open a new one in the child process");
}

trilha_status trilha_pg_outbox_call(trilha_pg_outbox *o, const char *query, const trilha_pg_parameters *p,
                                    PGresult **ret_result, trilha_error *err) {
  trilha_error own = {0}; /* its SQLSTATE is looked at, so there has to be one */
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  trilha_outbox_sql(&sql, query, o->prefix);
  trilha_status status = trilha_pg_outbox_check_process(o->pid, &own);
  if (status == TRILHA_OK) status = trilha_buffer_check(&sql, &own);
  const trilha_pg_step step = {.sql = sql.data, .parameters = p, .made_here = true};
  if (status == TRILHA_OK)
    status = trilha_pg_write_step(o->s, &step, trilha_deadline_in_ms(o->timeout_ms), ret_result, &own);
  status = trilha_pg_outbox_explain(status, o->schema, &own);
  return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(err, &own);
}

static void close_outbox(trilha_outbox_store *store) {
  trilha_pg_outbox *o = trilha_pg_outbox_of(store);
  if (o->pid != getpid()) return; /* a child's farewell would end the parent's session */
  trilha_pg_close(o->s);
  free(o);
}

/* --- settings
 * ------------------------------------------------------------------------------------------------------------ */

static trilha_status call_with_two(trilha_outbox_store *store, const char *query, trilha_text first, trilha_text second,
                                   PGresult **ret_result, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, first);
  trilha_pg_add_text(&p, second);
  return trilha_pg_outbox_call(trilha_pg_outbox_of(store), query, &p, ret_result, err);
}

static trilha_status grant(trilha_outbox_store *store, trilha_text role, trilha_text duty, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  return call_with_two(store, trilha_sql_postgres_outbox_grant, role, duty, &result, err);
}

static trilha_status route_add(trilha_outbox_store *store, trilha_text pattern, trilha_text destination,
                               trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  return call_with_two(store, trilha_sql_postgres_outbox_route_add, pattern, destination, &result, err);
}

static trilha_status route_remove(trilha_outbox_store *store, trilha_text pattern, trilha_text destination,
                                  trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status =
      call_with_two(store, trilha_sql_postgres_outbox_route_remove, pattern, destination, &result, err);
  if (status != TRILHA_OK || trilha_pg_get_bool(result, 0, 0)) return status;
  return trilha_error_set(err, TRILHA_NOT_FOUND, "ROUTE_NOT_FOUND",
                          "there is no such route; `trilha outbox routes` lists them");
}

static trilha_status routes(trilha_outbox_store *store, trilha_outbox_route_visit visit, void *user,
                            trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_routes, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++)
    status = visit(user, trilha_pg_get_text(r, i, 0), trilha_pg_get_text(r, i, 1));
  return status;
}

/* --- opening
 * ----------------------------------------------------------------------------------------------------------- */

static const trilha_outbox_operations operations = {.close = close_outbox,
                                                    .install = trilha_pg_outbox_install,
                                                    .grant = grant,
                                                    .route_add = route_add,
                                                    .route_remove = route_remove,
                                                    .routes = routes,
                                                    .claim = trilha_pg_outbox_claim,
                                                    .fetch = trilha_pg_outbox_fetch,
                                                    .renew = trilha_pg_outbox_renew,
                                                    .settle = trilha_pg_outbox_settle,
                                                    .service_may = trilha_pg_outbox_service_may,
                                                    .service_set = trilha_pg_outbox_service_set,
                                                    .service_grants = trilha_pg_outbox_service_grants,
                                                    .handler_declare = trilha_pg_outbox_handler_declare,
                                                    .handlers = trilha_pg_outbox_handlers,
                                                    .status = trilha_pg_outbox_status,
                                                    .lanes = trilha_pg_outbox_lanes,
                                                    .message = trilha_pg_outbox_message,
                                                    .operate = trilha_pg_outbox_operate,
                                                    .revisions = trilha_pg_outbox_revisions,
                                                    .receipts = trilha_pg_outbox_receipts,
                                                    .reveal = trilha_pg_outbox_reveal,
                                                    .correct = trilha_pg_outbox_correct,
                                                    .record = trilha_pg_outbox_record,
                                                    .inbox_list = trilha_pg_outbox_inbox_list,
                                                    .inbox_conflicts = trilha_pg_outbox_inbox_conflicts,
                                                    .duties = trilha_pg_outbox_duties,
                                                    .gauges = trilha_pg_outbox_gauges,
                                                    .quotas = trilha_pg_outbox_quotas,
                                                    .worker_beat = trilha_pg_outbox_worker_beat,
                                                    .worker_end = trilha_pg_outbox_worker_end,
                                                    .workers = trilha_pg_outbox_workers,
                                                    .worker_drain = trilha_pg_outbox_worker_drain,
                                                    .path_hold = trilha_pg_outbox_path_hold,
                                                    .path_take = trilha_pg_outbox_path_take,
                                                    .paths = trilha_pg_outbox_paths,
                                                    .import_begin = trilha_pg_outbox_import_begin,
                                                    .import_batch = trilha_pg_outbox_import_batch,
                                                    .purge_messages = trilha_pg_outbox_purge_messages,
                                                    .purge_inbox = trilha_pg_outbox_purge_inbox};

trilha_status trilha_postgres_outbox_open(const trilha_store_options *options, const char *schema,
                                          trilha_outbox_store **ret_store, trilha_error *err) {
  if (schema == NULL)
    return trilha_error_set(err, TRILHA_USAGE, "SCHEMA_MISSING",
                            "on PostgreSQL an outbox is in a schema: name the producer's");
  trilha_pg_outbox *o = calloc(1, sizeof *o);
  if (o == NULL) return trilha_error_no_memory(err);
  o->port.op = &operations;
  o->pid = getpid();
  snprintf(o->schema, sizeof o->schema, "%s", schema);
  trilha_pg_outbox_prefix(schema, o->prefix);
  trilha_status status = trilha_pg_open_bare(options, &o->s, err);
  if (status != TRILHA_OK) {
    free(o);
    return status;
  }
  o->timeout_ms = o->s->lock_timeout_ms;
  *ret_store = &o->port;
  return TRILHA_OK;
}
