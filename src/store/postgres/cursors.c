/* store/postgres/cursors: <colony>.consumer_offset and what a consumer has still to see (specification 000,
 * section 5.3; rulings R9, R12, R14, R19). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/uuid.h"
#include "delivery.h"
#include "store/colony.h"

static void add_types(trilha_pg_parameters *p, const trilha_cursor *cursors, size_t count) {
  trilha_pg_array_begin(p, TRILHA_PG_TEXT, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_text(p, cursors[i].tipo);
  trilha_pg_array_end(p);
}

static void add_sequences(trilha_pg_parameters *p, const trilha_cursor *cursors, size_t count) {
  trilha_pg_array_begin(p, TRILHA_PG_INT8, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_i64(p, cursors[i].last_sequence);
  trilha_pg_array_end(p);
}

static void add_lease(trilha_pg_parameters *p, const trilha_lease *lease) {
  trilha_pg_add_text(p, lease->colonia);
  trilha_pg_add_text(p, lease->grupo);
  trilha_pg_add_i64(p, lease->token);
}

trilha_status trilha_pg_cursors_prepare(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                        trilha_error *err) {
  char schema[TRILHA_COLONY_SCHEMA_SIZE];
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_status status = trilha_colony_schema_name(colonia, schema, err);
  if (status != TRILHA_OK) return status;
  trilha_pg_add_text(&p, colonia);
  trilha_pg_add_text(&p, trilha_text_of(schema));
  status = trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_cursors_prepare, &p, deadline, &result, err);
  if (status != TRILHA_OK || trilha_pg_get_bool(result, 0, 0)) return status;
  return trilha_error_set(
      err, TRILHA_CONFLICT, "COLONY_NAME_COLLISION",
      "another colony already has the schema %s: two colonies may not differ only in case and hyphens", schema);
}

trilha_status trilha_pg_cursors_read(trilha_store *store, trilha_text colonia, trilha_cursor *cursors, size_t count,
                                     trilha_deadline deadline, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, colonia);
  add_types(&p, cursors, count);
  const trilha_pg_step query = {.sql = trilha_sql_postgres_cursors_read, .parameters = &p};
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  for (int i = 0; i < (int)count && i < PQntuples(result); i++) {
    cursors[i].present = !PQgetisnull(result, i, 0);
    cursors[i].last_sequence = trilha_pg_get_i64(result, i, 0);
  }
  return TRILHA_OK;
}

trilha_status trilha_pg_cursors_seed(trilha_store *store, const trilha_lease *lease, const trilha_cursor *cursors,
                                     size_t count, const trilha_audit_row *audit, trilha_deadline deadline,
                                     trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  add_lease(&p, lease);
  add_types(&p, cursors, count);
  add_sequences(&p, cursors, count);
  trilha_pg_add_audit_row(&p, audit);
  trilha_status status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_cursors_seed, &p, deadline, &result, err);
  if (status == TRILHA_OK && PQgetisnull(result, 0, 0)) status = trilha_pg_lease_lost(err);
  return status;
}

static void add_advance(trilha_pg_parameters *p, const trilha_lease *lease, const trilha_cursor *cursors, size_t count,
                        const unsigned char (*resolved_event_ids)[16], size_t resolved_count) {
  add_lease(p, lease);
  add_types(p, cursors, count);
  add_sequences(p, cursors, count);
  trilha_pg_array_begin(p, TRILHA_PG_UUID, resolved_count);
  for (size_t i = 0; i < resolved_count; i++) trilha_pg_element_uuid(p, resolved_event_ids[i]);
  trilha_pg_array_end(p);
}

trilha_status trilha_pg_cursors_advance(trilha_store *store, const trilha_lease *lease, const trilha_cursor *cursors,
                                        size_t count, const unsigned char (*resolved_event_ids)[16],
                                        size_t resolved_count, trilha_deadline deadline, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  add_advance(&p, lease, cursors, count, resolved_event_ids, resolved_count);
  return trilha_pg_write_under_token(store, trilha_sql_postgres_cursors_advance, &p, deadline, err);
}

trilha_status trilha_pg_take_part(void *connection, const char *sql, trilha_pg_parameters *p, trilha_error *err) {
  PGconn *pg = connection;
  if (PQtransactionStatus(pg) != PQTRANS_INTRANS)
    return trilha_error_set(err, TRILHA_USAGE, "NO_TRANSACTION",
                            "the connection has no open transaction: BEGIN before the effect");
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = trilha_buffer_check(&p->bytes, err);
  if (status != TRILHA_OK) return status;
  const char *values[TRILHA_PG_PARAMETERS_MAX];
  int formats[TRILHA_PG_PARAMETERS_MAX];
  for (int i = 0; i < p->count; i++) {
    values[i] = p->sizes[i] < 0 ? NULL : p->bytes.data + p->starts[i];
    formats[i] = 1;
  }
  result = PQexecParams(pg, sql, p->count, p->types, values, p->sizes, formats, 1);
  if (PQresultStatus(result) != PGRES_TUPLES_OK) {
    if (result == NULL || PQstatus(pg) != CONNECTION_OK)
      return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", "the caller's connection was lost");
    return trilha_pg_failure(result, err);
  }
  return trilha_pg_get_bool(result, 0, 0) ? TRILHA_OK : trilha_pg_lease_lost(err);
}

trilha_status trilha_pg_cursors_advance_in(trilha_store *store, void *connection, const trilha_lease *lease,
                                           const trilha_cursor *cursors, size_t count,
                                           const unsigned char (*resolved_event_ids)[16], size_t resolved_count,
                                           trilha_error *err) {
  (void)store;
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  add_advance(&p, lease, cursors, count, resolved_event_ids, resolved_count);
  return trilha_pg_take_part(connection, trilha_sql_postgres_cursors_advance, &p, err);
}

/* --- what is due ------------------------------------------------------------------------------------------------- */

trilha_status trilha_pg_events_due(trilha_store *store, trilha_text colonia, const trilha_cursor *cursors, size_t count,
                                   int64_t limit, trilha_deadline deadline, trilha_due_visit visit, void *user,
                                   int64_t *ret_scanned_to, trilha_error *err) {
  enum { CLOSED_COLUMN = 18, ATTEMPTS_COLUMN };
  TRILHA_PG_PARAMETERS_SCOPED p;
  PGresult *results[2] = {NULL};
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, colonia);
  add_types(&p, cursors, count);
  add_sequences(&p, cursors, count);
  trilha_pg_add_i64(&p, trilha_pg_ask_rows(trilha_pg_of(store), limit));
  const trilha_pg_step queries[] = {{.sql = trilha_sql_postgres_events_last},
                                    {.sql = trilha_sql_postgres_events_due, .parameters = &p}};
  trilha_status status = trilha_pg_read(trilha_pg_of(store), queries, 2, deadline, results, err);
  if (status != TRILHA_OK) return status;
  int rows = PQntuples(results[1]);
  trilha_pg_learn_row_size(trilha_pg_of(store), results[1]);
  int64_t last = PQntuples(results[0]) > 0 ? trilha_pg_get_i64(results[0], 0, 0) : 0;
  for (size_t i = 0; i < count; i++) /* one snapshot: only an empty answer says more than the cursor */
    ret_scanned_to[i] = rows == 0 && last > cursors[i].last_sequence ? last : cursors[i].last_sequence;
  for (int i = 0; i < rows && status == TRILHA_OK; i++) {
    trilha_event_row row;
    trilha_pg_get_event(results[1], i, &row);
    const trilha_due_row due = {&row, trilha_pg_get_bool(results[1], i, CLOSED_COLUMN),
                                trilha_pg_get_i64(results[1], i, ATTEMPTS_COLUMN)};
    status = visit(user, &due, err);
  }
  trilha_pg_clear(&results[0]);
  trilha_pg_clear(&results[1]);
  return status;
}

/* --- for operators ------------------------------------------------------------------------------------------------ */

trilha_status trilha_pg_consumers_list(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                       trilha_consumer_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, colonia);
  const trilha_pg_step query = {.sql = trilha_sql_postgres_consumers_list, .parameters = &p};
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    const trilha_consumer_row row = {.colonia = trilha_pg_get_text(r, i, 0),
                                     .grupo = trilha_pg_get_text(r, i, 1),
                                     .holder = trilha_pg_get_text(r, i, 2),
                                     .live = trilha_pg_get_bool(r, i, 3),
                                     .token = trilha_pg_get_i64(r, i, 4),
                                     .tipo = trilha_pg_get_text(r, i, 5),
                                     .last_sequence = trilha_pg_get_i64(r, i, 6),
                                     .updated_at_us = trilha_pg_get_time(r, i, 7),
                                     .lag_events = trilha_pg_get_i64(r, i, 8),
                                     .oldest_lag_us = PQgetisnull(r, i, 9) ? INT64_MIN : trilha_pg_get_time(r, i, 9)};
    status = visit(user, &row, err);
  }
  return status;
}
