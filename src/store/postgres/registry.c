/* store/postgres: event types and the audit trail. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "postgres_internal.h"

trilha_status trilha_pg_registry_revision(trilha_store *store, trilha_deadline deadline, int64_t *ret_revision,
                                          trilha_error *err) {
  const trilha_pg_step query = {.sql = trilha_sql_postgres_registry_revision};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  if (PQntuples(result) != 1)
    return trilha_error_set(err, TRILHA_CORRUPT, "STORE_ALTERED", "core.registry_revision does not hold its one row");
  *ret_revision = trilha_pg_get_i64(result, 0, 0);
  return TRILHA_OK;
}

trilha_status trilha_pg_types_list(trilha_store *store, trilha_text tipo, trilha_deadline deadline,
                                   trilha_type_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, tipo);
  const trilha_pg_step query = {.sql = trilha_sql_postgres_types_list, .parameters = &p, .plan_anew = true};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &result, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(result); i++) {
    const trilha_type_row row = {.tipo = trilha_pg_get_text(result, i, 0),
                                 .versao = trilha_pg_get_text(result, i, 1),
                                 .descricao = trilha_pg_get_text(result, i, 2),
                                 .status = trilha_pg_get_text(result, i, 3),
                                 .schema = trilha_pg_get_text(result, i, 4),
                                 .criado_em_us = trilha_pg_get_time(result, i, 5)};
    status = visit(user, &row, err);
  }
  return status;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

/* One column of an array of structs as an array parameter. */
static void add_column(trilha_pg_parameters *p, trilha_pg_type type, const void *rows, size_t count, size_t row_size,
                       size_t offset, trilha_text when_absent) {
  trilha_pg_array_begin(p, type, count);
  for (size_t i = 0; i < count; i++) {
    trilha_text text;
    memcpy(&text, (const char *)rows + i * row_size + offset, sizeof text);
    if (text.data == NULL) text = when_absent;
    if (type == TRILHA_PG_JSONB)
      trilha_pg_element_jsonb(p, text);
    else
      trilha_pg_element_text(p, text);
  }
  trilha_pg_array_end(p);
}

static const trilha_text absent = {NULL, 0};
#define TYPE_COLUMN(p, rows, count, field, otherwise) \
  add_column(p, TRILHA_PG_TEXT, rows, count, sizeof *(rows), offsetof(trilha_type_row, field), otherwise)
#define AUDIT_COLUMN(p, type, rows, count, field, otherwise) \
  add_column(p, type, rows, count, sizeof *(rows), offsetof(trilha_audit_row, field), otherwise)

static void add_audit(trilha_pg_parameters *p, const trilha_audit_row *rows, size_t count) {
  AUDIT_COLUMN(p, TRILHA_PG_TEXT, rows, count, entity, absent);
  AUDIT_COLUMN(p, TRILHA_PG_TEXT, rows, count, entity_id, absent);
  AUDIT_COLUMN(p, TRILHA_PG_TEXT, rows, count, change_type, absent);
  AUDIT_COLUMN(p, TRILHA_PG_TEXT, rows, count, action, absent);
  AUDIT_COLUMN(p, TRILHA_PG_TEXT, rows, count, user, absent);
  AUDIT_COLUMN(p, TRILHA_PG_JSONB, rows, count, metadata, TRILHA_TEXT("{}"));
}

static void clear_all(PGresult **results, size_t count) {
  for (size_t i = 0; i < count; i++) trilha_pg_clear(&results[i]);
}

static trilha_status refuse_conflict(const PGresult *conflicts, trilha_error *err) {
  trilha_text tipo = trilha_pg_get_text(conflicts, 0, 0), versao = trilha_pg_get_text(conflicts, 0, 1);
  return trilha_error_set(err, TRILHA_CONFLICT, "EVENT_TYPE_VERSION_IMMUTABLE",
                          "%.*s@%.*s is registered with another schema: a published version never changes",
                          (int)tipo.size, tipo.data, (int)versao.size, versao.data);
}

/* First half: opens the transaction, takes the registry's row, looks for conflicts. On OK the transaction is open. */
static trilha_status hold_registry(trilha_pg_store *s, trilha_pg_connection *c, const trilha_type_row *rows,
                                   size_t count, trilha_deadline deadline, trilha_error *err) {
  __attribute__((cleanup(trilha_pg_write_transaction_done))) trilha_pg_write_transaction w;
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  TYPE_COLUMN(&p, rows, count, tipo, absent);
  TYPE_COLUMN(&p, rows, count, versao, absent);
  TYPE_COLUMN(&p, rows, count, schema, absent);
  trilha_pg_step steps[5];
  trilha_pg_begin_writing(s, deadline, &w, steps);
  steps[3] = (trilha_pg_step){.sql = trilha_sql_postgres_registry_revision_raise};
  steps[4] = (trilha_pg_step){.sql = trilha_sql_postgres_types_conflicting, .parameters = &p};
  PGresult *results[5];
  trilha_pg_reach reach;
  trilha_status status = trilha_pg_run(c, steps, 5, deadline, results, &reach, err);
  if (status == TRILHA_OK && PQntuples(results[4]) > 0) status = refuse_conflict(results[4], err);
  clear_all(results, 5);
  return status;
}

/* Second half: writes and commits. */
static trilha_status write_types(trilha_pg_connection *c, const trilha_type_row *rows, size_t count,
                                 const trilha_audit_row *audit, size_t audit_count, trilha_deadline deadline,
                                 trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED types;
  TRILHA_PG_PARAMETERS_SCOPED trail;
  trilha_pg_parameters_init(&types);
  trilha_pg_parameters_init(&trail);
  TYPE_COLUMN(&types, rows, count, tipo, absent);
  TYPE_COLUMN(&types, rows, count, versao, absent);
  TYPE_COLUMN(&types, rows, count, descricao, TRILHA_TEXT(""));
  TYPE_COLUMN(&types, rows, count, status, TRILHA_TEXT("ativo"));
  TYPE_COLUMN(&types, rows, count, schema, absent);
  add_audit(&trail, audit, audit_count);
  const trilha_pg_step steps[] = {{.sql = trilha_sql_postgres_types_apply, .parameters = &types},
                                  {.sql = trilha_sql_postgres_audit_insert, .parameters = &trail},
                                  {.sql = trilha_sql_postgres_transaction_commit}};
  PGresult *results[3];
  trilha_pg_reach reach;
  trilha_status status = trilha_pg_run(c, steps, 3, deadline, results, &reach, err);
  clear_all(results, 3);
  return trilha_pg_after_commit(status, reach, err);
}

static void roll_back(trilha_pg_connection *c) {
  if (c->pg == NULL || PQtransactionStatus(c->pg) == PQTRANS_IDLE) return;
  const trilha_pg_step step = {.sql = trilha_sql_postgres_transaction_rollback};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_reach reach;
  trilha_deadline deadline = trilha_deadline_in_ms(TRILHA_PG_ROLLBACK_MS);
  if (trilha_pg_run(c, &step, 1, deadline, &result, &reach, NULL) != TRILHA_OK) trilha_pg_disconnect(c);
}

trilha_status trilha_pg_types_apply(trilha_store *store, const trilha_type_row *rows, size_t count,
                                    const trilha_audit_row *audit, size_t audit_count, trilha_deadline deadline,
                                    trilha_error *err) {
  trilha_pg_store *s = trilha_pg_of(store);
  trilha_pg_connection *c = NULL;
  trilha_status status = trilha_pg_take_writer(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = hold_registry(s, c, rows, count, deadline, err);
  if (status == TRILHA_OK) status = write_types(c, rows, count, audit, audit_count, deadline, err);
  if (status != TRILHA_OK) roll_back(c);
  trilha_pg_give_back(s, c);
  return status;
}

trilha_status trilha_pg_audit_insert(trilha_store *store, const trilha_audit_row *row, trilha_deadline deadline,
                                     trilha_error *err) {
  trilha_pg_store *s = trilha_pg_of(store);
  __attribute__((cleanup(trilha_pg_write_transaction_done))) trilha_pg_write_transaction w;
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  add_audit(&p, row, 1);
  trilha_pg_step steps[5];
  trilha_pg_begin_writing(s, deadline, &w, steps);
  steps[3] = (trilha_pg_step){.sql = trilha_sql_postgres_audit_insert, .parameters = &p};
  steps[4] = (trilha_pg_step){.sql = trilha_sql_postgres_transaction_commit};
  trilha_pg_connection *c = NULL;
  trilha_status status = trilha_pg_take_writer(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  PGresult *results[5];
  trilha_pg_reach reach;
  status = trilha_pg_run(c, steps, 5, deadline, results, &reach, err);
  clear_all(results, 5);
  trilha_pg_give_back(s, c);
  return trilha_pg_after_commit(status, reach, err);
}
