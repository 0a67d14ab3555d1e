/* eventlog/event: rows as public event objects and as JSON. */
#include <string.h>

#include "base/error.h"
#include "base/uuid.h"
#include "eventlog/eventlog.h"
#include "json/json.h"

static bool put_text(trilha_arena *arena, trilha_text text, const char **ret) {
  *ret = NULL;
  if (text.data == NULL) return true;
  *ret = trilha_arena_copy(arena, text);
  return *ret != NULL;
}

static bool put_uuid(trilha_arena *arena, bool has, const unsigned char id[16], const char **ret) {
  *ret = NULL;
  if (!has) return true;
  char text[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(id, text);
  *ret = trilha_arena_copy(arena, trilha_text_of(text));
  return *ret != NULL;
}

static bool put_timestamp(trilha_arena *arena, int64_t us, const char **ret) {
  char text[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(us, text);
  *ret = trilha_arena_copy(arena, trilha_text_of(text));
  return *ret != NULL;
}

trilha_status trilha_event_from_row(trilha_arena *arena, const trilha_event_row *row, trilha_payload_state state,
                                    trilha_event *event, trilha_error *err) {
  *event = (trilha_event){.sequence_number = row->sequence_number,
                          .payload_estado = state,
                          .payload_size = row->payload.size,
                          .aggregate_sequence = row->has_aggregate_sequence ? row->aggregate_sequence : 0};
  bool ok =
      put_uuid(arena, true, row->event_id, &event->event_id) && put_text(arena, row->tipo, &event->tipo) &&
      put_text(arena, row->versao_schema, &event->versao_schema) &&
      put_timestamp(arena, row->timestamp_us, &event->timestamp) && put_text(arena, row->origem, &event->origem) &&
      put_uuid(arena, row->has_correlacao_id, row->correlacao_id, &event->correlacao_id) &&
      put_text(arena, row->payload, &event->payload) && put_timestamp(arena, row->criado_em_us, &event->criado_em) &&
      put_text(arena, row->tenant_id, &event->tenant_id) && put_text(arena, row->company_id, &event->company_id) &&
      put_text(arena, row->aggregate_type, &event->aggregate_type) &&
      put_text(arena, row->aggregate_key, &event->aggregate_key) &&
      put_uuid(arena, row->has_causation_id, row->causation_id, &event->causation_id) &&
      put_text(arena, row->traceparent, &event->traceparent) && put_text(arena, row->tracestate, &event->tracestate);
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

/* --- JSON ------------------------------------------------------------------------------------------ */

/* Names of columns: none of them needs an escape. */
static void member_name(trilha_buffer *out, const char *name) {
  size_t size = strlen(name);
  if (!trilha_buffer_reserve(out, size + 4)) return;
  if (out->data[out->size - 1] != '{') out->data[out->size++] = ',';
  out->data[out->size++] = '"';
  memcpy(out->data + out->size, name, size);
  out->size += size;
  out->data[out->size++] = '"';
  out->data[out->size++] = ':';
  out->data[out->size] = '\0';
}

static void member(trilha_buffer *out, const char *name, const char *value) {
  if (value == NULL) return;
  member_name(out, name);
  trilha_json_write_string(out, trilha_text_of(value));
}

static void member_sequence(trilha_buffer *out, const char *name, int64_t value) {
  member_name(out, name);
  trilha_buffer_add_char(out, '"');
  trilha_buffer_add_i64(out, value);
  trilha_buffer_add_char(out, '"');
}

/* As published, but on one line: white space between tokens may be line breaks, and inside strings JSON allows none. */
static void payload(trilha_buffer *out, const trilha_event *event) {
  size_t from = out->size;
  trilha_buffer_append(out, event->payload, event->payload_size);
  for (size_t i = from; i < out->size; i++)
    if (out->data[i] == '\n' || out->data[i] == '\r' || out->data[i] == '\t') out->data[i] = ' ';
}

void trilha_event_write_json(trilha_buffer *out, const trilha_event *event) {
  trilha_buffer_add_char(out, '{');
  if (out->failed != TRILHA_OK) return;
  member_sequence(out, "sequence_number", event->sequence_number);
  member(out, "event_id", event->event_id);
  member(out, "tipo", event->tipo);
  member(out, "versao_schema", event->versao_schema);
  member(out, "timestamp", event->timestamp);
  member(out, "origem", event->origem);
  member_name(out, "correlacao_id");
  if (event->correlacao_id == NULL)
    trilha_buffer_add_string(out, "null");
  else
    trilha_json_write_string(out, trilha_text_of(event->correlacao_id));
  member_name(out, "payload");
  payload(out, event);
  member(out, "criado_em", event->criado_em);
  member(out, "payload_estado", event->payload_estado == TRILHA_PAYLOAD_COMPLETO ? "completo" : "redigido");
  member(out, "tenant_id", event->tenant_id);
  member(out, "company_id", event->company_id);
  member(out, "aggregate_type", event->aggregate_type);
  member(out, "aggregate_key", event->aggregate_key);
  if (event->aggregate_sequence != 0) member_sequence(out, "aggregate_sequence", event->aggregate_sequence);
  member(out, "causation_id", event->causation_id);
  member(out, "traceparent", event->traceparent);
  member(out, "tracestate", event->tracestate);
  trilha_buffer_add_char(out, '}');
}
