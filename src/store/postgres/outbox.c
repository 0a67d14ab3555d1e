/* store/postgres/outbox: opening a producer's outbox, its routes, and what operators see and do. */
#include "outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/uuid.h"

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

trilha_status trilha_pg_outbox_call(trilha_pg_outbox *o, const char *query, const trilha_pg_parameters *p,
                                    PGresult **ret_result, trilha_error *err) {
  trilha_error own = {0}; /* its SQLSTATE is looked at, so there has to be one */
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  trilha_outbox_sql(&sql, query, o->prefix);
  trilha_status status = trilha_buffer_check(&sql, &own);
  const trilha_pg_step step = {.sql = sql.data, .parameters = p, .made_here = true};
  if (status == TRILHA_OK)
    status = trilha_pg_write_step(o->s, &step, trilha_deadline_in_ms(o->timeout_ms), ret_result, &own);
  status = trilha_pg_outbox_explain(status, o->schema, &own);
  return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(err, &own);
}

static void close_outbox(trilha_outbox_store *store) {
  trilha_pg_outbox *o = trilha_pg_outbox_of(store);
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

/* --- what operators see
 * ------------------------------------------------------------------------------------------------- */

enum { TEXTS_MAX = 4 };

/* Times and ids of one row as text. */
typedef struct row_texts {
  char times[TEXTS_MAX][TRILHA_TIMESTAMP_SIZE];
  char ids[TEXTS_MAX][TRILHA_UUID_TEXT_SIZE];
} row_texts;

static trilha_text time_text(const PGresult *r, int row, int column, char out[TRILHA_TIMESTAMP_SIZE]) {
  if (PQgetisnull(r, row, column)) return (trilha_text){0};
  trilha_timestamp_format(trilha_pg_get_time(r, row, column), out);
  return trilha_text_of(out);
}

static trilha_text id_text(const PGresult *r, int row, int column, char out[TRILHA_UUID_TEXT_SIZE]) {
  unsigned char id[16];
  if (!trilha_pg_get_uuid(r, row, column, id)) return (trilha_text){0};
  trilha_uuid_format(id, out);
  return trilha_text_of(out);
}

static trilha_status status_of(trilha_outbox_store *store, trilha_outbox_standing_visit visit, void *user,
                               trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_status, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char head_at[TRILHA_TIMESTAMP_SIZE];
    const trilha_outbox_standing standing = {.destination = trilha_pg_get_text(r, i, 0),
                                             .ready = trilha_pg_get_i64(r, i, 1),
                                             .waiting = trilha_pg_get_i64(r, i, 2),
                                             .leased = trilha_pg_get_i64(r, i, 3),
                                             .dead = trilha_pg_get_i64(r, i, 4),
                                             .head_at = time_text(r, i, 5, head_at)};
    status = visit(user, &standing);
  }
  return status;
}

static void read_lane(const PGresult *r, int i, row_texts *texts, trilha_outbox_lane *out) {
  *out = (trilha_outbox_lane){.destination = trilha_pg_get_text(r, i, 0),
                              .tenant_id = trilha_pg_get_text(r, i, 1),
                              .aggregate_type = trilha_pg_get_text(r, i, 2),
                              .aggregate_key = trilha_pg_get_text(r, i, 3),
                              .status = trilha_pg_get_text(r, i, 4),
                              .head_sequence = trilha_pg_get_i64(r, i, 5),
                              .message_id = id_text(r, i, 6, texts->ids[0]),
                              .message_type = trilha_pg_get_text(r, i, 7),
                              .attempts = trilha_pg_get_i64(r, i, 8),
                              .due_at = time_text(r, i, 9, texts->times[0]),
                              .owner = trilha_pg_get_text(r, i, 10),
                              .error_code = trilha_pg_get_text(r, i, 11),
                              .error_text = trilha_pg_get_text(r, i, 12),
                              .behind = trilha_pg_get_i64(r, i, 13),
                              .head_at = time_text(r, i, 14, texts->times[1])};
}

static trilha_status lanes(trilha_outbox_store *store, const trilha_outbox_lanes_filter *filter,
                           trilha_outbox_lane_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, filter->tenant_id);
  trilha_pg_add_text(&p, filter->destination);
  trilha_pg_add_text(&p, filter->status);
  trilha_pg_add_i64(&p, filter->limit);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_lanes, &p, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    row_texts texts;
    trilha_outbox_lane lane;
    read_lane(r, i, &texts, &lane);
    status = visit(user, &lane);
  }
  return status;
}

static void read_entry(const PGresult *r, int i, row_texts *texts, trilha_outbox_entry *out) {
  *out = (trilha_outbox_entry){.tenant_id = trilha_pg_get_text(r, i, 0),
                               .company_id = trilha_pg_get_text(r, i, 1),
                               .aggregate_type = trilha_pg_get_text(r, i, 2),
                               .aggregate_key = trilha_pg_get_text(r, i, 3),
                               .aggregate_sequence = trilha_pg_get_i64(r, i, 4),
                               .message_type = trilha_pg_get_text(r, i, 5),
                               .version = trilha_pg_get_text(r, i, 6),
                               .origin = trilha_pg_get_text(r, i, 7),
                               .correlation_id = id_text(r, i, 8, texts->ids[0]),
                               .causation_id = id_text(r, i, 9, texts->ids[1]),
                               .traceparent = trilha_pg_get_text(r, i, 10),
                               .occurred_at = time_text(r, i, 11, texts->times[0]),
                               .created_at = time_text(r, i, 12, texts->times[1]),
                               .payload_bytes = trilha_pg_get_i64(r, i, 13),
                               .payload_sha256 = trilha_pg_get_text(r, i, 14),
                               .destination = trilha_pg_get_text(r, i, 15),
                               .status = trilha_pg_get_text(r, i, 16),
                               .attempts = trilha_pg_get_i64(r, i, 17),
                               .next_attempt_at = time_text(r, i, 18, texts->times[2]),
                               .lease_until = time_text(r, i, 19, texts->times[3])};
}

static trilha_status message(trilha_outbox_store *store, const unsigned char message_id[16],
                             trilha_outbox_entry_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, message_id);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_message, &p, &r, err);
  if (status == TRILHA_OK && PQntuples(r) == 0)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", "this outbox has no message with this id");
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    row_texts texts;
    trilha_outbox_entry entry;
    read_entry(r, i, &texts, &entry);
    status = visit(user, &entry);
  }
  return status;
}

static trilha_status operate(trilha_outbox_store *store, const unsigned char message_id[16],
                             const trilha_outbox_operation *operation, bool discard, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, message_id);
  trilha_pg_add_text(&p, operation->destination);
  trilha_pg_add_bool(&p, discard);
  trilha_pg_add_text(&p, operation->user);
  trilha_pg_add_text(&p, operation->reason);
  trilha_pg_add_text(&p, operation->reconciliation);
  return trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_operate, &p, &r, err);
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
                                                    .status = status_of,
                                                    .lanes = lanes,
                                                    .message = message,
                                                    .operate = operate};

trilha_status trilha_postgres_outbox_open(const trilha_store_options *options, const char *schema,
                                          trilha_outbox_store **ret_store, trilha_error *err) {
  if (schema == NULL)
    return trilha_error_set(err, TRILHA_USAGE, "SCHEMA_MISSING",
                            "on PostgreSQL an outbox is in a schema: name the producer's");
  trilha_pg_outbox *o = calloc(1, sizeof *o);
  if (o == NULL) return trilha_error_no_memory(err);
  o->port.op = &operations;
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
