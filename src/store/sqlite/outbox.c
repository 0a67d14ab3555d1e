/* store/sqlite/outbox: opening a producer's outbox, and its routes. */
#include "store/sqlite/outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void trilha_sqlite_outbox_prefix(const char *schema, char out[TRILHA_OUTBOX_PREFIX_SIZE]) {
  if (schema == NULL)
    out[0] = '\0';
  else
    snprintf(out, TRILHA_OUTBOX_PREFIX_SIZE, "%s_", schema);
}

static trilha_status refuse_absent(trilha_error *err) {
  return trilha_error_set(err, TRILHA_NOT_FOUND, "OUTBOX_NOT_INSTALLED",
                          "the database has no outbox of that name and version: run `trilha outbox install`");
}

trilha_status trilha_sqlite_outbox_prepare(trilha_sqlite_connection *c, const char *prefix, const char *query,
                                           sqlite3_stmt **ret_statement, trilha_error *err) {
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  trilha_outbox_sql(&sql, query, prefix);
  trilha_status status = trilha_buffer_check(&sql, err);
  if (status != TRILHA_OK) return status;
  int rc = sqlite3_prepare_v2(c->db, sql.data, -1, ret_statement, NULL);
  if (rc == SQLITE_OK) return TRILHA_OK;
  if (rc == SQLITE_ERROR && strstr(sqlite3_errmsg(c->db), "no such") != NULL) return refuse_absent(err);
  return trilha_sqlite_fail(c, rc, err, "preparing a statement of the outbox");
}

trilha_status trilha_sqlite_outbox_run(trilha_sqlite_connection *c, sqlite3_stmt *statement, int *ret_changes,
                                       trilha_error *err) {
  trilha_status status = trilha_sqlite_execute(c, statement, err);
  if (status == TRILHA_OK && ret_changes != NULL) *ret_changes = sqlite3_changes(c->db);
  return status;
}

trilha_status trilha_sqlite_outbox_destination(trilha_sqlite_connection *c, const char *prefix, trilha_text name,
                                               int64_t *ret_destination, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  bool any = false;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_destination, &find, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(find, 1, name);
  status = trilha_sqlite_value(c, find, ret_destination, &any, err);
  if (status != TRILHA_OK || any) return status;
  return trilha_error_set(err, TRILHA_NOT_FOUND, "DESTINATION_UNKNOWN",
                          "this outbox has no such destination: a route makes it known");
}

trilha_status trilha_sqlite_outbox_begin(trilha_sqlite_outbox *o, trilha_sqlite_connection **ret, trilha_error *err) {
  return trilha_sqlite_write_begin(o->s, trilha_deadline_in_ms(o->s->lock_timeout_ms), ret, err);
}

trilha_status trilha_sqlite_outbox_end(trilha_sqlite_outbox *o, trilha_status status, trilha_error *err) {
  if (status == TRILHA_OK) return trilha_sqlite_write_commit(o->s, err);
  trilha_sqlite_write_abort(o->s);
  return status;
}

/* --- settings ---------------------------------------------------------------------------------------------------- */

static void close_outbox(trilha_outbox_store *store) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  o->s->base.op->close(&o->s->base);
  free(o);
}

static trilha_status grant(trilha_outbox_store *store, trilha_text role, trilha_text duty, trilha_error *err) {
  return trilha_error_set(err, TRILHA_UNSUPPORTED, "GRANT_UNSUPPORTED",
                          "SQLite has no roles: who may write the database file may do everything in it");
}

static trilha_status add_destination(trilha_sqlite_connection *c, const char *prefix, trilha_text name,
                                     int64_t *ret_destination, trilha_error *err) {
  trilha_error unknown = {0};
  trilha_status status = trilha_sqlite_outbox_destination(c, prefix, name, ret_destination, &unknown);
  if (strcmp(unknown.code, "DESTINATION_UNKNOWN") != 0)
    return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(err, &unknown);
  TRILHA_SQLITE_SCOPED *add = NULL;
  int changes = 0;
  status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_destination_add, &add, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(add, 1, name);
  status = trilha_sqlite_outbox_run(c, add, &changes, err);
  if (status == TRILHA_OK && changes == 0)
    return trilha_error_set(err, TRILHA_LIMIT, "DESTINATIONS_MAX", "an outbox has at most %d destinations",
                            TRILHA_OUTBOX_DESTINATIONS_MAX);
  return status == TRILHA_OK ? trilha_sqlite_outbox_destination(c, prefix, name, ret_destination, err) : status;
}

static trilha_status route_add(trilha_outbox_store *store, trilha_text pattern, trilha_text destination,
                               trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  int64_t number = 0;
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  status = add_destination(c, o->prefix, destination, &number, err);
  if (status == TRILHA_OK) {
    TRILHA_SQLITE_SCOPED *add = NULL;
    status = trilha_sqlite_outbox_prepare(c, o->prefix, trilha_sql_sqlite_outbox_route_add, &add, err);
    if (status == TRILHA_OK) {
      trilha_sqlite_bind(add, 1, pattern);
      sqlite3_bind_int64(add, 2, number);
      status = trilha_sqlite_outbox_run(c, add, NULL, err);
    }
  }
  return trilha_sqlite_outbox_end(o, status, err);
}

static trilha_status remove_in(trilha_sqlite_connection *c, const char *prefix, trilha_text pattern,
                               trilha_text destination, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *gone = NULL;
  int changes = 0;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_route_remove, &gone, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(gone, 1, pattern);
  trilha_sqlite_bind(gone, 2, destination);
  status = trilha_sqlite_outbox_run(c, gone, &changes, err);
  if (status != TRILHA_OK || changes > 0) return status;
  return trilha_error_set(err, TRILHA_NOT_FOUND, "ROUTE_NOT_FOUND",
                          "there is no such route; `trilha outbox routes` lists them");
}

static trilha_status route_remove(trilha_outbox_store *store, trilha_text pattern, trilha_text destination,
                                  trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, remove_in(c, o->prefix, pattern, destination, err), err);
}

static const trilha_outbox_operations operations = {.close = close_outbox,
                                                    .install = trilha_sqlite_outbox_install,
                                                    .grant = grant,
                                                    .route_add = route_add,
                                                    .route_remove = route_remove,
                                                    .routes = trilha_sqlite_outbox_routes,
                                                    .claim = trilha_sqlite_outbox_claim,
                                                    .fetch = trilha_sqlite_outbox_fetch,
                                                    .renew = trilha_sqlite_outbox_renew,
                                                    .settle = trilha_sqlite_outbox_settle,
                                                    .service_may = trilha_sqlite_outbox_service_may,
                                                    .service_set = trilha_sqlite_outbox_service_set,
                                                    .service_grants = trilha_sqlite_outbox_service_grants,
                                                    .handler_declare = trilha_sqlite_outbox_handler_declare,
                                                    .handlers = trilha_sqlite_outbox_handlers,
                                                    .status = trilha_sqlite_outbox_status,
                                                    .lanes = trilha_sqlite_outbox_lanes,
                                                    .message = trilha_sqlite_outbox_message,
                                                    .operate = trilha_sqlite_outbox_operate,
                                                    .revisions = trilha_sqlite_outbox_revisions,
                                                    .receipts = trilha_sqlite_outbox_receipts,
                                                    .reveal = trilha_sqlite_outbox_reveal,
                                                    .correct = trilha_sqlite_outbox_correct,
                                                    .record = trilha_sqlite_outbox_record,
                                                    .inbox_list = trilha_sqlite_outbox_inbox_list,
                                                    .inbox_conflicts = trilha_sqlite_outbox_inbox_conflicts,
                                                    .duties = trilha_sqlite_outbox_duties,
                                                    .gauges = trilha_sqlite_outbox_gauges,
                                                    .quotas = trilha_sqlite_outbox_quotas,
                                                    .worker_beat = trilha_sqlite_outbox_worker_beat,
                                                    .worker_end = trilha_sqlite_outbox_worker_end,
                                                    .workers = trilha_sqlite_outbox_workers,
                                                    .worker_drain = trilha_sqlite_outbox_worker_drain,
                                                    .path_hold = trilha_sqlite_outbox_path_hold,
                                                    .path_take = trilha_sqlite_outbox_path_take,
                                                    .paths = trilha_sqlite_outbox_paths,
                                                    .import_begin = trilha_sqlite_outbox_import_begin,
                                                    .import_batch = trilha_sqlite_outbox_import_batch,
                                                    .purge_messages = trilha_sqlite_outbox_purge_messages,
                                                    .purge_inbox = trilha_sqlite_outbox_purge_inbox};

trilha_status trilha_sqlite_outbox_open(const trilha_store_options *options, const char *schema,
                                        trilha_outbox_store **ret_store, trilha_error *err) {
  trilha_store_options unmigrated = *options;
  unmigrated.allow_unmigrated = true; /* the producer's file need hold no Trilha store */
  trilha_store *store = NULL;
  trilha_sqlite_outbox *o = calloc(1, sizeof *o);
  if (o == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_sqlite_open(&unmigrated, &store, err);
  if (status != TRILHA_OK) {
    free(o);
    return status;
  }
  o->port.op = &operations;
  o->s = trilha_sqlite_of(store);
  trilha_sqlite_outbox_prefix(schema, o->prefix);
  *ret_store = &o->port;
  return TRILHA_OK;
}
