/* store/sqlite: rows of the log as the file keeps them. */
#include <stdio.h>

#include "base/assert.h"
#include "base/uuid.h"
#include "store/sqlite/sqlite_internal.h"

/* The columns that every query of whole rows selects, in this order (sql/sqlite/queries/events.sql). */
enum column {
  SEQUENCE_NUMBER,
  EVENT_ID,
  TIPO,
  VERSAO_SCHEMA,
  TIMESTAMP,
  ORIGEM,
  CORRELACAO_ID,
  PAYLOAD,
  CRIADO_EM,
  TENANT_ID,
  COMPANY_ID,
  AGGREGATE_TYPE,
  AGGREGATE_KEY,
  AGGREGATE_SEQUENCE,
  CAUSATION_ID,
  TRACEPARENT,
  TRACESTATE,
  DIGEST,
};

/* --- timestamps ----------------------------------------------------------------------------------------- */

void trilha_sqlite_timestamp(int64_t us, char out[TRILHA_SQLITE_TIMESTAMP_SIZE]) {
  enum { SECONDS = 19 /* bytes of "2026-06-15T10:30:00" */ };
  TRILHA_ASSERT(us % 10000 == 0);
  char text[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(us, text);
  int64_t centis = us / 10000 % 100;
  if (centis < 0) centis += 100;
  memcpy(out, text, SECONDS);
  out[SECONDS] = '.';
  out[SECONDS + 1] = (char)('0' + centis / 10);
  out[SECONDS + 2] = (char)('0' + centis % 10);
  out[SECONDS + 3] = 'Z';
  out[SECONDS + 4] = '\0';
}

int64_t trilha_sqlite_now_us(void) {
  int64_t now = 0;
  return trilha_timestamp_round_centis(trilha_clock_wall_us(), &now) ? now : 0;
}

trilha_status trilha_sqlite_timestamp_read(trilha_text text, int64_t *ret_us, trilha_error *err) {
  if (text.data != NULL && trilha_timestamp_parse(text, ret_us)) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_CORRUPT, "STORE_ROW_MALFORMED", "a stored timestamp cannot be read");
}

/* --- checking ------------------------------------------------------------------------------------------- */

trilha_status trilha_sqlite_text_check(trilha_text text, const char *column, trilha_error *err) {
  if (text.size == 0) return TRILHA_OK;
  if (trilha_text_find(text, '\0') != NULL)
    return trilha_error_set(err, TRILHA_INVALID, "STORE_REFUSED", "column %s: no store keeps U+0000 in a text", column);
  if (!trilha_utf8_valid(text.data, text.size))
    return trilha_error_set(err, TRILHA_INVALID, "STORE_REFUSED", "column %s: the text is not UTF-8", column);
  return TRILHA_OK;
}

trilha_status trilha_sqlite_row_check(const trilha_event_row *row, trilha_error *err) {
  const struct {
    trilha_text text;
    const char *column;
  } texts[] = {
      {row->tipo, "tipo"},
      {row->versao_schema, "versao_schema"},
      {row->origem, "origem"},
      {row->payload, "payload"},
      {row->tenant_id, "tenant_id"},
      {row->company_id, "company_id"},
      {row->aggregate_type, "aggregate_type"},
      {row->aggregate_key, "aggregate_key"},
      {row->traceparent, "traceparent"},
      {row->tracestate, "tracestate"},
      {row->digest, "digest"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    trilha_status status = trilha_sqlite_text_check(texts[i].text, texts[i].column, err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

/* --- writing -------------------------------------------------------------------------------------------- */

static void bind_id(sqlite3_stmt *s, int parameter, bool has, const unsigned char id[16], char text[37]) {
  if (!has) return;
  trilha_uuid_format(id, text);
  trilha_sqlite_bind(s, parameter, (trilha_text){text, 36});
}

void trilha_sqlite_row_bind(sqlite3_stmt *s, const trilha_event_row *row, int64_t criado_em_us,
                            trilha_sqlite_row_texts *texts) {
  trilha_sqlite_timestamp(row->timestamp_us, texts->timestamp);
  trilha_sqlite_timestamp(criado_em_us, texts->criado_em);
  /* A parameter has its column's number: the INSERT gives every column but the first. */
  bind_id(s, EVENT_ID, true, row->event_id, texts->event_id);
  trilha_sqlite_bind(s, TIPO, row->tipo);
  trilha_sqlite_bind(s, VERSAO_SCHEMA, row->versao_schema);
  trilha_sqlite_bind(s, TIMESTAMP, trilha_text_of(texts->timestamp));
  trilha_sqlite_bind(s, ORIGEM, row->origem);
  bind_id(s, CORRELACAO_ID, row->has_correlacao_id, row->correlacao_id, texts->correlacao_id);
  trilha_sqlite_bind(s, PAYLOAD, row->payload);
  trilha_sqlite_bind(s, CRIADO_EM, trilha_text_of(texts->criado_em));
  trilha_sqlite_bind(s, TENANT_ID, row->tenant_id);
  trilha_sqlite_bind(s, COMPANY_ID, row->company_id);
  trilha_sqlite_bind(s, AGGREGATE_TYPE, row->aggregate_type);
  trilha_sqlite_bind(s, AGGREGATE_KEY, row->aggregate_key);
  if (row->has_aggregate_sequence) sqlite3_bind_int64(s, AGGREGATE_SEQUENCE, row->aggregate_sequence);
  bind_id(s, CAUSATION_ID, row->has_causation_id, row->causation_id, texts->causation_id);
  trilha_sqlite_bind(s, TRACEPARENT, row->traceparent);
  trilha_sqlite_bind(s, TRACESTATE, row->tracestate);
  trilha_sqlite_bind(s, DIGEST, row->digest);
}

static bool copy_text(trilha_text from, trilha_arena *arena, trilha_text *to) {
  *to = (trilha_text){0};
  if (from.data == NULL) return true;
  char *copy = trilha_arena_copy(arena, from);
  *to = (trilha_text){copy, copy == NULL ? 0 : from.size};
  return copy != NULL;
}

trilha_status trilha_sqlite_row_copy(const trilha_event_row *row, trilha_arena *arena, trilha_event_row *ret_row,
                                     trilha_error *err) {
  trilha_event_row out = *row;
  bool copied = copy_text(row->tipo, arena, &out.tipo) && copy_text(row->versao_schema, arena, &out.versao_schema) &&
                copy_text(row->origem, arena, &out.origem) && copy_text(row->payload, arena, &out.payload) &&
                copy_text(row->tenant_id, arena, &out.tenant_id) &&
                copy_text(row->company_id, arena, &out.company_id) &&
                copy_text(row->aggregate_type, arena, &out.aggregate_type) &&
                copy_text(row->aggregate_key, arena, &out.aggregate_key) &&
                copy_text(row->traceparent, arena, &out.traceparent) &&
                copy_text(row->tracestate, arena, &out.tracestate) && copy_text(row->digest, arena, &out.digest);
  if (!copied) return trilha_error_no_memory(err);
  *ret_row = out;
  return TRILHA_OK;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static bool read_id(sqlite3_stmt *s, int column, bool *ret_has, unsigned char out[16]) {
  *ret_has = sqlite3_column_type(s, column) != SQLITE_NULL;
  if (!*ret_has) return true;
  const char *text = (const char *)sqlite3_column_text(s, column);
  return text != NULL && trilha_uuid_parse((trilha_text){text, (size_t)sqlite3_column_bytes(s, column)}, out);
}

static bool read_timestamp(sqlite3_stmt *s, int column, int64_t *ret_us) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  return text != NULL && trilha_timestamp_parse((trilha_text){text, (size_t)sqlite3_column_bytes(s, column)}, ret_us);
}

static trilha_status read_texts(sqlite3_stmt *s, trilha_arena *arena, trilha_event_row *row, trilha_error *err) {
  const struct {
    int column;
    trilha_text *text;
  } texts[] = {
      {TIPO, &row->tipo},
      {VERSAO_SCHEMA, &row->versao_schema},
      {ORIGEM, &row->origem},
      {PAYLOAD, &row->payload},
      {TENANT_ID, &row->tenant_id},
      {COMPANY_ID, &row->company_id},
      {AGGREGATE_TYPE, &row->aggregate_type},
      {AGGREGATE_KEY, &row->aggregate_key},
      {TRACEPARENT, &row->traceparent},
      {TRACESTATE, &row->tracestate},
      {DIGEST, &row->digest},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    trilha_status status = trilha_sqlite_column_utf8(s, texts[i].column, arena, texts[i].text, err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

trilha_status trilha_sqlite_row_read(sqlite3_stmt *s, trilha_arena *arena, trilha_event_row *ret_row,
                                     trilha_error *err) {
  trilha_event_row row = {.sequence_number = sqlite3_column_int64(s, SEQUENCE_NUMBER)};
  bool has_event_id = false;
  bool read = read_id(s, EVENT_ID, &has_event_id, row.event_id) && has_event_id &&
              read_id(s, CORRELACAO_ID, &row.has_correlacao_id, row.correlacao_id) &&
              read_id(s, CAUSATION_ID, &row.has_causation_id, row.causation_id) &&
              read_timestamp(s, TIMESTAMP, &row.timestamp_us) && read_timestamp(s, CRIADO_EM, &row.criado_em_us);
  if (!read)
    return trilha_error_set(err, TRILHA_CORRUPT, "STORE_ROW_MALFORMED",
                            "the event with sequence_number %lld holds an id or a timestamp that cannot be read",
                            (long long)row.sequence_number);
  row.has_aggregate_sequence = sqlite3_column_type(s, AGGREGATE_SEQUENCE) != SQLITE_NULL;
  row.aggregate_sequence = sqlite3_column_int64(s, AGGREGATE_SEQUENCE);
  trilha_status status = read_texts(s, arena, &row, err);
  if (status == TRILHA_OK) *ret_row = row;
  if (status == TRILHA_CORRUPT)
    trilha_error_while(err, "reading the event with sequence_number %lld", (long long)row.sequence_number);
  return status;
}
