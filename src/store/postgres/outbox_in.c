/* store/postgres/outbox_in: enqueue and inbox on the caller's own connection, inside its own transaction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "outbox.h"

static trilha_status check_caller(const PGconn *pg, trilha_error *err) {
  trilha_status status = trilha_libpq_load(err);
  if (status != TRILHA_OK) return status;
  if (PQstatus(pg) != CONNECTION_OK)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", "the caller's connection is not connected");
  if (PQtransactionStatus(pg) == PQTRANS_INTRANS) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_USAGE, "NO_TRANSACTION",
                          "the connection has no open transaction that works: BEGIN before the fact this belongs to");
}

/* A message id that is taken violates the one unique constraint that a caller can. */
static trilha_status explain(const PGresult *result, const char *schema, trilha_error *err) {
  trilha_error own = {0};
  const char *constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
  if (constraint != NULL && strcmp(constraint, "outbox_message_message_id_key") == 0)
    return trilha_error_set(err, TRILHA_CONFLICT, "MESSAGE_ID_TAKEN",
                            "a message with this message_id is in the outbox already");
  trilha_pg_failure(result, &own);
  trilha_pg_outbox_explain(own.status, schema, &own);
  return trilha_error_copy(err, &own);
}

static trilha_status call(PGconn *pg, const char *schema, const char *query, const trilha_pg_parameters *p,
                          PGresult **ret_result, trilha_error *err) {
  char prefix[TRILHA_OUTBOX_PREFIX_SIZE];
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  trilha_pg_outbox_prefix(schema, prefix);
  trilha_outbox_sql(&sql, query, prefix);
  trilha_status status = trilha_buffer_check(&sql, err);
  if (status == TRILHA_OK) status = trilha_buffer_check(&p->bytes, err);
  if (status != TRILHA_OK) return status;
  const char *values[TRILHA_PG_PARAMETERS_MAX];
  int formats[TRILHA_PG_PARAMETERS_MAX];
  for (int i = 0; i < p->count; i++) {
    values[i] = p->sizes[i] < 0 ? NULL : p->bytes.data + p->starts[i];
    formats[i] = 1;
  }
  PGresult *result = PQexecParams(pg, sql.data, p->count, p->types, values, p->sizes, formats, 1);
  if (PQresultStatus(result) == PGRES_TUPLES_OK) {
    *ret_result = result;
    return TRILHA_OK;
  }
  status = result == NULL || PQstatus(pg) != CONNECTION_OK
               ? trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", "the caller's connection was lost")
               : explain(result, schema, err);
  PQclear(result);
  return status;
}

static trilha_status add_id(trilha_pg_parameters *p, trilha_text id, const char *name, trilha_error *err) {
  unsigned char bytes[16];
  if (id.data == NULL) {
    trilha_pg_add_null(p, TRILHA_PG_UUID);
    return TRILHA_OK;
  }
  if (!trilha_uuid_parse(id, bytes))
    return trilha_error_set(err, TRILHA_INVALID, "MESSAGE_REFUSED", "%s must be a UUID", name);
  trilha_pg_add_uuid(p, bytes);
  return TRILHA_OK;
}

static trilha_status add_time(trilha_pg_parameters *p, trilha_text text, trilha_error *err) {
  int64_t us;
  if (text.data == NULL) {
    trilha_pg_add_null(p, TRILHA_PG_TIMESTAMPTZ);
    return TRILHA_OK;
  }
  if (!trilha_timestamp_parse(text, &us))
    return trilha_error_set(err, TRILHA_INVALID, "MESSAGE_REFUSED",
                            "occurred_at must be an ISO-8601 date and time with Z or an offset");
  trilha_pg_add_time(p, us);
  return TRILHA_OK;
}

trilha_status trilha_postgres_enqueue(PGconn *pg, const char *schema, const trilha_message *m, trilha_enqueued *ret,
                                      trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_status status = check_caller(pg, err);
  if (status != TRILHA_OK) return status;
  const trilha_text texts[] = {m->tenant_id, m->aggregate_type, m->aggregate_key, m->message_type,
                               m->version,   m->payload,        m->origin};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) trilha_pg_add_text(&p, texts[i]);
  status = add_id(&p, m->correlation_id, "correlation_id", err);
  if (status == TRILHA_OK) status = add_id(&p, m->message_id, "message_id", err);
  if (status != TRILHA_OK) return status;
  trilha_pg_add_text(&p, m->company_id);
  status = add_id(&p, m->causation_id, "causation_id", err);
  if (status != TRILHA_OK) return status;
  trilha_pg_add_text(&p, m->traceparent);
  status = add_time(&p, m->occurred_at, err);
  if (status == TRILHA_OK) status = call(pg, schema, trilha_sql_postgres_outbox_enqueue, &p, &r, err);
  if (status != TRILHA_OK) return status;
  unsigned char id[16];
  trilha_pg_get_uuid(r, 0, 0, id);
  trilha_uuid_format(id, ret->message_id);
  ret->aggregate_sequence = trilha_pg_get_i64(r, 0, 1);
  return TRILHA_OK;
}

/* --- the inbox
 * ----------------------------------------------------------------------------------------------------------- */

static trilha_status add_key(trilha_pg_parameters *p, const trilha_inbox_message *m, trilha_error *err) {
  trilha_pg_add_text(p, m->tenant_id);
  trilha_pg_add_text(p, m->consumer);
  return add_id(p, m->message_id, "message_id", err);
}

static trilha_status read_answer(const PGresult *r, trilha_inbox_answer *ret, trilha_error *err) {
  static const char *const words[] = {"", "new", "duplicate", "conflict", "held"};
  trilha_text outcome = trilha_pg_get_text(r, 0, 0), result = trilha_pg_get_text(r, 0, 1);
  trilha_inbox_answer answer = {0};
  for (unsigned i = TRILHA_INBOX_NEW; i <= TRILHA_INBOX_HELD; i++)
    if (trilha_text_is(outcome, words[i])) answer.outcome = (trilha_inbox_outcome)i;
  if (answer.outcome == 0)
    return trilha_error_set(err, TRILHA_CORRUPT, "STORE_ALTERED", "inbox_accept gave an unknown outcome");
  if (result.data != NULL && (answer.result = strndup(result.data, result.size)) == NULL)
    return trilha_error_no_memory(err);
  *ret = answer;
  return TRILHA_OK;
}

trilha_status trilha_postgres_inbox_accept(PGconn *pg, const char *schema, const trilha_inbox_message *m,
                                           trilha_inbox_answer *ret, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  unsigned char digest[TRILHA_SHA256_SIZE];
  char hex[2 * TRILHA_SHA256_SIZE + 1];
  trilha_pg_parameters_init(&p);
  trilha_status status = check_caller(pg, err);
  if (status == TRILHA_OK) status = add_key(&p, m, err);
  if (status != TRILHA_OK) return status;
  trilha_sha256(m->payload, digest);
  trilha_hex(digest, sizeof digest, hex);
  trilha_pg_add_text(&p, trilha_text_of(hex));
  bool ordered = m->aggregate_type.data != NULL;
  if (ordered) {
    trilha_pg_add_text(&p, m->aggregate_type);
    trilha_pg_add_text(&p, m->aggregate_key);
    trilha_pg_add_i64(&p, m->aggregate_sequence);
    trilha_pg_add_i64(&p, m->previous_sequence);
  }
  const char *query =
      ordered ? trilha_sql_postgres_outbox_inbox_accept_ordered : trilha_sql_postgres_outbox_inbox_accept;
  status = call(pg, schema, query, &p, &r, err);
  return status == TRILHA_OK ? read_answer(r, ret, err) : status;
}

trilha_status trilha_postgres_inbox_finish(PGconn *pg, const char *schema, const trilha_inbox_message *m,
                                           trilha_text result, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_status status = check_caller(pg, err);
  if (status == TRILHA_OK) status = add_key(&p, m, err);
  if (status != TRILHA_OK) return status;
  trilha_pg_add_text(&p, result);
  return call(pg, schema, trilha_sql_postgres_outbox_inbox_finish, &p, &r, err);
}
