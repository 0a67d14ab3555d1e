/* bus/columns: steps 2 and 3, defaults and formats (rulings R2, R3, R4). */
#include "base/error.h"
#include "base/semver.h"
#include "base/uuid.h"
#include "bus/bus_internal.h"

static trilha_status bad(trilha_error *err, const char *code, const char *name, const char *must) {
  return trilha_error_set(err, TRILHA_INVALID, code, "%s must be %s", name, must);
}

/* UTF-8 without U+0000, 1 to `max` characters. */
static trilha_status check_text(trilha_text text, const char *name, size_t max, trilha_error *err) {
  if (!trilha_utf8_valid(text.data, text.size) || trilha_text_find(text, '\0') != NULL)
    return bad(err, "FIELD_INVALID", name, "UTF-8 text without U+0000");
  size_t characters = trilha_utf8_length(text.data, text.size);
  if (characters == 0 || characters > max)
    return trilha_error_set(err, TRILHA_INVALID, "FIELD_LENGTH", "%s must have 1 to %zu characters; it has %zu", name,
                            max, characters);
  return TRILHA_OK;
}

static trilha_status obligatory(trilha_text text, const char *name, size_t max, trilha_text *ret, trilha_error *err) {
  if (text.data == NULL) return trilha_error_set(err, TRILHA_INVALID, "FIELD_MISSING", "%s is obligatory", name);
  *ret = text;
  return check_text(text, name, max, err);
}

static trilha_status optional(trilha_text text, const char *name, size_t max, trilha_text *ret, trilha_error *err) {
  if (text.data == NULL) return TRILHA_OK;
  *ret = text;
  return check_text(text, name, max, err);
}

static trilha_status uuid(trilha_text text, const char *name, bool *ret_has, unsigned char out[16], trilha_error *err) {
  if (text.data == NULL) return TRILHA_OK;
  if (!trilha_uuid_parse(text, out))
    return bad(err, "UUID_INVALID", name, "a UUID such as a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  *ret_has = true;
  return TRILHA_OK;
}

static trilha_status trace_context(const trilha_publication *p, trilha_event_row *row, trilha_error *err) {
  if (p->traceparent.data != NULL && !trilha_trace_parse(p->traceparent, NULL))
    return bad(err, "TRACEPARENT_INVALID", "traceparent", "a W3C Trace Context value: 00-<32 hex>-<16 hex>-<2 hex>");
  if (p->traceparent.size > TRILHA_SIDE_CHARS_MAX)
    return bad(err, "TRACEPARENT_INVALID", "traceparent", "at most 255 characters");
  row->traceparent = p->traceparent;
  return optional(p->tracestate, "tracestate", TRILHA_TRACESTATE_CHARS_MAX, &row->tracestate, err);
}

static trilha_status timestamp(trilha_text text, trilha_event_row *row, trilha_error *err) {
  int64_t us = trilha_clock_wall_us();
  if (text.data != NULL && !trilha_timestamp_parse(text, &us))
    return bad(err, "TIMESTAMP_INVALID", "timestamp",
               "an ISO-8601 date and time with Z or an offset, such as 2026-06-15T10:30:00Z");
  if (!trilha_timestamp_round_centis(us, &row->timestamp_us))
    return bad(err, "TIMESTAMP_INVALID", "timestamp", "in the years 0001 to 9999");
  return TRILHA_OK;
}

static trilha_status identity(const trilha_publication *p, trilha_event_row *row, trilha_error *err) {
  bool has_event_id = false;
  trilha_status s = uuid(p->event_id, "event_id", &has_event_id, row->event_id, err);
  if (s != TRILHA_OK) return s;
  if (!has_event_id && !trilha_uuid_v4(row->event_id))
    return trilha_error_set(err, TRILHA_IO, "RANDOM_UNAVAILABLE", "the system's random source failed");
  s = uuid(p->correlacao_id, "correlacao_id", &row->has_correlacao_id, row->correlacao_id, err);
  if (s != TRILHA_OK) return s;
  if (!row->has_correlacao_id) memcpy(row->correlacao_id, row->event_id, sizeof row->event_id);
  row->has_correlacao_id = true;
  return uuid(p->causation_id, "causation_id", &row->has_causation_id, row->causation_id, err);
}

static trilha_status aggregate(const trilha_publication *p, trilha_event_row *row, trilha_error *err) {
  trilha_status s = optional(p->tenant_id, "tenant_id", TRILHA_SIDE_CHARS_MAX, &row->tenant_id, err);
  if (s == TRILHA_OK) s = optional(p->company_id, "company_id", TRILHA_SIDE_CHARS_MAX, &row->company_id, err);
  if (s == TRILHA_OK)
    s = optional(p->aggregate_type, "aggregate_type", TRILHA_SIDE_CHARS_MAX, &row->aggregate_type, err);
  if (s == TRILHA_OK) s = optional(p->aggregate_key, "aggregate_key", TRILHA_SIDE_CHARS_MAX, &row->aggregate_key, err);
  if (s == TRILHA_OK && p->aggregate_sequence < 0) s = bad(err, "FIELD_INVALID", "aggregate_sequence", "1 or more");
  row->has_aggregate_sequence = p->aggregate_sequence > 0;
  row->aggregate_sequence = p->aggregate_sequence;
  return s;
}

trilha_status trilha_prepare_columns(const trilha_publication *p, trilha_text versao, trilha_event_row *row,
                                     trilha_error *err) {
  trilha_status s = identity(p, row, err);
  if (s == TRILHA_OK) s = timestamp(p->timestamp, row, err);
  if (s == TRILHA_OK) s = obligatory(p->tipo, "tipo", TRILHA_TIPO_CHARS_MAX, &row->tipo, err);
  if (s == TRILHA_OK) s = obligatory(p->origem, "origem", TRILHA_ORIGEM_CHARS_MAX, &row->origem, err);
  if (s == TRILHA_OK) s = obligatory(versao, "versao_schema", TRILHA_VERSAO_CHARS_MAX, &row->versao_schema, err);
  if (s == TRILHA_OK && !trilha_semver_is_valid(versao))
    s = bad(err, "VERSION_INVALID", "versao_schema", "a semantic version such as 1.0.0");
  if (s == TRILHA_OK) s = aggregate(p, row, err);
  if (s == TRILHA_OK) s = trace_context(p, row, err);
  return s;
}
