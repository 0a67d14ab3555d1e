/* serve: events as CloudEvents 1.0.2, the JSON format. */
#include <strings.h>

#include "json/json.h"
#include "serve/serve_internal.h"

/* The media type alone decides; one with q=0 is not wanted. */
static bool names_cloudevents(trilha_text accept) {
  static const char wanted[] = "application/cloudevents+json";
  size_t size = sizeof wanted - 1;
  while (accept.size > 0) {
    const char *comma = memchr(accept.data, ',', accept.size);
    size_t part = comma == NULL ? accept.size : (size_t)(comma - accept.data);
    trilha_text range = {accept.data, part};
    while (range.size > 0 && (range.data[0] == ' ' || range.data[0] == '\t'))
      range = (trilha_text){range.data + 1, range.size - 1};
    bool is_it = range.size >= size && strncasecmp(range.data, wanted, size) == 0 &&
                 (range.size == size || strchr("; \t", range.data[size]) != NULL);
    if (is_it && memmem(range.data, range.size, "q=0", 3) == NULL) return true;
    if (is_it && memmem(range.data, range.size, "q=0.", 4) != NULL) return true;
    if (comma == NULL) break;
    accept = (trilha_text){comma + 1, accept.size - part - 1};
  }
  return false;
}

bool trilha_wants_cloudevents(const trilha_http_request *request) {
  trilha_text values[TRILHA_HTTP_HEADERS_MAX];
  size_t count = trilha_http_header_values(request, "Accept", values);
  for (size_t i = 0; i < count; i++)
    if (names_cloudevents(values[i])) return true;
  return false;
}

/* `source` is a URI reference: what cannot stand in one is percent-encoded. */
static void write_source(trilha_buffer *out, const char *origem) {
  trilha_buffer_add_string(out, ",\"source\":\"");
  for (const char *at = origem; *at != '\0'; at++) {
    unsigned char c = (unsigned char)*at;
    bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c) != NULL;
    if (plain)
      trilha_buffer_add_char(out, *at);
    else
      trilha_buffer_add_format(out, "%%%02X", c);
  }
  trilha_buffer_add_char(out, '"');
}

static void optional(trilha_buffer *out, const char *name, const char *text) {
  if (text != NULL) trilha_add_member(out, false, name, text);
}

void trilha_write_cloudevent(trilha_buffer *out, const trilha_event *event) {
  TRILHA_BUFFER_SCOPED schema;
  trilha_buffer_init(&schema, 0);
  trilha_buffer_add_format(&schema, "urn:trilha:%s:%s", event->tipo, event->versao_schema);
  trilha_buffer_add_string(out, "{\"specversion\":\"1.0\"");
  trilha_add_member(out, false, "id", event->event_id);
  write_source(out, event->origem);
  trilha_add_member(out, false, "type", event->tipo);
  trilha_add_member(out, false, "time", event->timestamp);
  trilha_add_member(out, false, "dataschema", trilha_buffer_text(&schema).data);
  trilha_add_member(out, false, "datacontenttype", "application/json");
  optional(out, "subject", event->aggregate_key);
  optional(out, "partitionkey", event->aggregate_key);
  optional(out, "correlationid", event->correlacao_id);
  optional(out, "causationid", event->causation_id);
  trilha_buffer_add_format(out, ",\"sequence\":\"%lld\"", (long long)event->sequence_number);
  trilha_add_member(out, false, "recordedtime", event->criado_em);
  optional(out, "traceparent", event->traceparent);
  optional(out, "tracestate", event->tracestate);
  optional(out, "tenantid", event->tenant_id);
  trilha_add_member(out, false, "payloadestado",
                    event->payload_estado == TRILHA_PAYLOAD_COMPLETO ? "completo" : "redigido");
  trilha_buffer_add_string(out, ",\"data\":");
  trilha_buffer_append(out, event->payload, event->payload_size);
  trilha_buffer_add_char(out, '}');
}
