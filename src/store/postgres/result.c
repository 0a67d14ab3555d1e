/* store/postgres: results in PostgreSQL's binary format. */
#include <string.h>

#include "postgres_internal.h"

static const int64_t epoch_2000_us = INT64_C(946684800) * 1000000;
/* What raw SQL may have stored before the range check came; told as the nearest time that can be written down. */
static const int64_t year_0001_us = INT64_C(-62135596800) * 1000000;
static const int64_t year_9999_end_us = INT64_C(253402300799) * 1000000 + 990000;

static const unsigned char *bytes_of(const PGresult *result, int row, int column, size_t *ret_size) {
  if (PQgetisnull(result, row, column)) return NULL;
  *ret_size = (size_t)PQgetlength(result, row, column);
  return (const unsigned char *)PQgetvalue(result, row, column);
}

static int64_t read_i32(const unsigned char *at) {
  return (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

int64_t trilha_pg_read_i64(const unsigned char *at) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value = value << 8 | at[i];
  return (int64_t)value;
}

int64_t trilha_pg_get_i64(const PGresult *result, int row, int column) {
  size_t size = 0;
  const unsigned char *at = bytes_of(result, row, column, &size);
  if (at == NULL) return 0;
  return size == 8 ? trilha_pg_read_i64(at) : size == 4 ? read_i32(at) : 0;
}

bool trilha_pg_get_bool(const PGresult *result, int row, int column) {
  size_t size = 0;
  const unsigned char *at = bytes_of(result, row, column, &size);
  return at != NULL && size == 1 && *at != 0;
}

trilha_text trilha_pg_get_text(const PGresult *result, int row, int column) {
  size_t size = 0;
  const unsigned char *at = bytes_of(result, row, column, &size);
  return (trilha_text){(const char *)at, size};
}

trilha_text trilha_pg_get_jsonb(const PGresult *result, int row, int column) {
  trilha_text text = trilha_pg_get_text(result, row, column);
  return text.size > 0 ? (trilha_text){text.data + 1, text.size - 1} : text; /* behind the format's version */
}

int64_t trilha_pg_get_time(const PGresult *result, int row, int column) {
  int64_t since_2000 = trilha_pg_get_i64(result, row, column);
  if (since_2000 <= year_0001_us - epoch_2000_us) return year_0001_us;
  if (since_2000 >= year_9999_end_us - epoch_2000_us) return year_9999_end_us;
  return since_2000 + epoch_2000_us;
}

bool trilha_pg_get_uuid(const PGresult *result, int row, int column, unsigned char id[16]) {
  size_t size = 0;
  const unsigned char *at = bytes_of(result, row, column, &size);
  if (at == NULL || size != 16) return false;
  memcpy(id, at, 16);
  return true;
}

const unsigned char *trilha_pg_get_array(const PGresult *result, int row, int column, size_t *ret_count) {
  enum { HEADER_SIZE = 20 };
  size_t size = 0;
  const unsigned char *at = bytes_of(result, row, column, &size);
  *ret_count = 0;
  if (at == NULL || size < HEADER_SIZE || read_i32(at) != 1) return NULL;
  *ret_count = (size_t)read_i32(at + 12);
  return at + HEADER_SIZE;
}

void trilha_pg_get_event(const PGresult *result, int row, trilha_event_row *out) {
  *out = (trilha_event_row){0};
  out->sequence_number = trilha_pg_get_i64(result, row, 0);
  trilha_pg_get_uuid(result, row, 1, out->event_id);
  out->tipo = trilha_pg_get_text(result, row, 2);
  out->versao_schema = trilha_pg_get_text(result, row, 3);
  out->timestamp_us = trilha_pg_get_time(result, row, 4);
  out->origem = trilha_pg_get_text(result, row, 5);
  out->has_correlacao_id = trilha_pg_get_uuid(result, row, 6, out->correlacao_id);
  out->payload = trilha_pg_get_jsonb(result, row, 7);
  out->criado_em_us = trilha_pg_get_time(result, row, 8);
  out->tenant_id = trilha_pg_get_text(result, row, 9);
  out->company_id = trilha_pg_get_text(result, row, 10);
  out->aggregate_type = trilha_pg_get_text(result, row, 11);
  out->aggregate_key = trilha_pg_get_text(result, row, 12);
  out->has_aggregate_sequence = !PQgetisnull(result, row, 13);
  out->aggregate_sequence = trilha_pg_get_i64(result, row, 13);
  out->has_causation_id = trilha_pg_get_uuid(result, row, 14, out->causation_id);
  out->traceparent = trilha_pg_get_text(result, row, 15);
  out->tracestate = trilha_pg_get_text(result, row, 16);
  out->digest = trilha_pg_get_text(result, row, 17);
}
