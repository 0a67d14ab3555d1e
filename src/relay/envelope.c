/* relay/envelope: a message as one JSON object. */
#include "json/json.h"
#include "relay/relay.h"

static void member(trilha_buffer *out, const char *name, trilha_text value) {
  if (value.data == NULL) return;
  trilha_buffer_add_string(out, name);
  trilha_json_write_string(out, value);
}

static void number(trilha_buffer *out, const char *name, int64_t value) {
  trilha_buffer_add_string(out, name);
  trilha_buffer_add_char(out, '"'); /* sequence numbers are strings, as everywhere */
  trilha_buffer_add_i64(out, value);
  trilha_buffer_add_char(out, '"');
}

/* The payload is valid JSON, and a line feed in it is white space between values: a blank is the same value on one
 * line. */
static void add_payload(trilha_buffer *out, trilha_text payload) {
  trilha_buffer_add_string(out, ",\"payload\":");
  for (size_t at = 0; at < payload.size;) {
    size_t size = strcspn(payload.data + at, "\r\n");
    if (size > payload.size - at) size = payload.size - at;
    trilha_buffer_append(out, payload.data + at, size);
    at += size;
    if (at < payload.size) trilha_buffer_add_char(out, ' ');
    at++;
  }
}

void trilha_envelope_write_json(trilha_buffer *out, const trilha_envelope *e) {
  member(out, "{\"message_id\":", e->message_id);
  member(out, ",\"destination\":", e->destination);
  member(out, ",\"tenant_id\":", e->tenant_id);
  member(out, ",\"company_id\":", e->company_id);
  member(out, ",\"aggregate_type\":", e->aggregate_type);
  member(out, ",\"aggregate_key\":", e->aggregate_key);
  number(out, ",\"aggregate_sequence\":", e->aggregate_sequence);
  number(out, ",\"previous_sequence\":", e->previous_sequence);
  member(out, ",\"message_type\":", e->message_type);
  member(out, ",\"version\":", e->version);
  member(out, ",\"origin\":", e->origin);
  member(out, ",\"correlation_id\":", e->correlation_id);
  member(out, ",\"causation_id\":", e->causation_id);
  member(out, ",\"traceparent\":", e->traceparent);
  member(out, ",\"occurred_at\":", e->occurred_at);
  trilha_buffer_add_string(out, ",\"revision\":");
  trilha_buffer_add_i64(out, e->revision);
  trilha_buffer_add_string(out, ",\"attempt\":");
  trilha_buffer_add_i64(out, e->attempt);
  member(out, ",\"payload_sha256\":", e->payload_sha256);
  add_payload(out, e->payload);
  trilha_buffer_add_char(out, '}');
}
