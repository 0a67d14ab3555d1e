/* relay/map: a message as a CloudEvent 1.0.2, binary or structured, and as our own JSON. */
#include "base/error.h"
#include "json/json.h"
#include "relay/relay.h"

typedef struct attribute {
  const char *name;
  trilha_text value; /* absent: the message has none */
} attribute;

enum { ATTRIBUTES = 16, NUMBER_SIZE = 24 };

typedef struct attributes {
  attribute list[ATTRIBUTES];
  size_t count;
  trilha_buffer source, schema;
  char sequence[NUMBER_SIZE], previous[NUMBER_SIZE], revision[NUMBER_SIZE];
} attributes;

static void add(attributes *a, const char *name, trilha_text value) {
  if (value.data != NULL) a->list[a->count++] = (attribute){name, value};
}

static bool is_unreserved(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

/* `source` and `dataschema` are URIs: what cannot stand in one is percent-encoded. */
static void add_uri_part(trilha_buffer *out, trilha_text text) {
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (is_unreserved(c))
      trilha_buffer_add_char(out, text.data[i]);
    else
      trilha_buffer_add_format(out, "%%%02X", c);
  }
}

static trilha_text number(char out[NUMBER_SIZE], int64_t value) {
  char *end = out + NUMBER_SIZE, *at = end;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    *--at = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) *--at = '-';
  return (trilha_text){at, (size_t)(end - at)};
}

/* docs/outbox.md lists them. */
static trilha_status collect(attributes *a, const trilha_envelope *e, trilha_error *err) {
  *a = (attributes){.count = 0};
  trilha_buffer_init(&a->source, 0);
  trilha_buffer_init(&a->schema, 0);
  add_uri_part(&a->source, e->origin);
  trilha_buffer_add_string(&a->schema, "urn:trilha:");
  add_uri_part(&a->schema, e->message_type);
  trilha_buffer_add_char(&a->schema, ':');
  add_uri_part(&a->schema, e->version);
  trilha_status status = trilha_buffer_check(&a->source, err);
  if (status == TRILHA_OK) status = trilha_buffer_check(&a->schema, err);
  if (status != TRILHA_OK) return status;
  add(a, "specversion", trilha_text_of("1.0"));
  add(a, "id", e->message_id);
  add(a, "source", trilha_buffer_text(&a->source));
  add(a, "type", e->message_type);
  add(a, "time", e->occurred_at);
  add(a, "dataschema", trilha_buffer_text(&a->schema));
  add(a, "subject", e->aggregate_key);
  add(a, "partitionkey", e->aggregate_key);
  add(a, "sequence", number(a->sequence, e->aggregate_sequence));
  add(a, "previoussequence", number(a->previous, e->previous_sequence));
  add(a, "revision", number(a->revision, e->revision));
  add(a, "correlationid", e->correlation_id);
  add(a, "causationid", e->causation_id);
  add(a, "tenantid", e->tenant_id);
  add(a, "companyid", e->company_id);
  add(a, "traceparent", e->traceparent);
  return TRILHA_OK;
}

static void attributes_done(attributes *a) {
  trilha_buffer_done(&a->source);
  trilha_buffer_done(&a->schema);
}

/* --- binary --------------------------------------------------------------------------------------------------- */

/* As section 3.1.3.2 of the HTTP binding says: exactly once, and only what it names. */
static void add_encoded(trilha_buffer *out, trilha_text value) {
  for (size_t i = 0; i < value.size; i++) {
    unsigned char c = (unsigned char)value.data[i];
    if (c <= ' ' || c > '~' || c == '"' || c == '%')
      trilha_buffer_add_format(out, "%%%02X", c);
    else
      trilha_buffer_add_char(out, value.data[i]);
  }
}

static trilha_status put_headers(const attributes *a, trilha_wire *wire, trilha_error *err) {
  TRILHA_BUFFER_SCOPED name, value;
  trilha_buffer_init(&name, 0);
  trilha_buffer_init(&value, 0);
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; status == TRILHA_OK && i < a->count; i++) {
    trilha_buffer_clear(&name);
    trilha_buffer_clear(&value);
    trilha_buffer_add_string(&name, "ce-");
    trilha_buffer_add_string(&name, a->list[i].name);
    add_encoded(&value, a->list[i].value);
    status = trilha_buffer_check(&name, err);
    if (status == TRILHA_OK) status = trilha_buffer_check(&value, err);
    if (status == TRILHA_OK) trilha_wire_header(wire, trilha_buffer_text(&name), trilha_buffer_text(&value));
  }
  return status;
}

trilha_status trilha_map_cloudevents_binary(void *user, const trilha_envelope *envelope, trilha_wire *wire,
                                            trilha_error *err) {
  (void)user;
  attributes a;
  trilha_status status = collect(&a, envelope, err);
  if (status == TRILHA_OK) status = put_headers(&a, wire, err);
  if (status == TRILHA_OK && envelope->traceparent.data != NULL)
    trilha_wire_header(wire, TRILHA_TEXT("traceparent"), envelope->traceparent);
  if (status == TRILHA_OK) trilha_wire_body(wire, TRILHA_TEXT("application/json"), envelope->payload);
  attributes_done(&a);
  return status;
}

/* --- structured ------------------------------------------------------------------------------------------------- */

trilha_status trilha_map_cloudevents_structured(void *user, const trilha_envelope *envelope, trilha_wire *wire,
                                                trilha_error *err) {
  (void)user;
  attributes a;
  TRILHA_BUFFER_SCOPED json;
  trilha_buffer_init(&json, 0);
  trilha_status status = collect(&a, envelope, err);
  for (size_t i = 0; status == TRILHA_OK && i < a.count; i++) {
    trilha_buffer_add_format(&json, "%c\"%s\":", i == 0 ? '{' : ',', a.list[i].name);
    trilha_json_write_string(&json, a.list[i].value);
  }
  trilha_buffer_add_string(&json, ",\"datacontenttype\":\"application/json\",\"data\":");
  trilha_buffer_add_text(&json, envelope->payload);
  trilha_buffer_add_char(&json, '}');
  if (status == TRILHA_OK) status = trilha_buffer_check(&json, err);
  if (status == TRILHA_OK && envelope->traceparent.data != NULL)
    trilha_wire_header(wire, TRILHA_TEXT("traceparent"), envelope->traceparent);
  if (status == TRILHA_OK)
    trilha_wire_body(wire, TRILHA_TEXT("application/cloudevents+json; charset=utf-8"), trilha_buffer_text(&json));
  attributes_done(&a);
  return status;
}

/* --- our own ----------------------------------------------------------------------------------------------------- */

trilha_status trilha_map_envelope(void *user, const trilha_envelope *envelope, trilha_wire *wire, trilha_error *err) {
  (void)user;
  TRILHA_BUFFER_SCOPED json;
  trilha_buffer_init(&json, 0);
  trilha_envelope_write_json(&json, envelope);
  trilha_status status = trilha_buffer_check(&json, err);
  if (status == TRILHA_OK) trilha_wire_body(wire, TRILHA_TEXT("application/json"), trilha_buffer_text(&json));
  return status;
}
