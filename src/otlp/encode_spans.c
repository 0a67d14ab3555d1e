/* otlp/encode_spans: ended spans as an ExportTraceServiceRequest. Names of attributes follow OpenTelemetry's messaging
 * conventions; what those do not know begins with "trilha.". */
#include "json/json.h"
#include "otlp/otlp_internal.h"

enum { KIND_PRODUCER = 4, KIND_CONSUMER = 5, STATUS_ERROR = 2, FLAG_SAMPLED = 1 };

static void write_id(trilha_buffer *out, const char *name, const unsigned char *id, size_t size) {
  static const char digits[] = "0123456789abcdef";
  trilha_buffer_add_format(out, "\"%s\":\"", name);
  for (size_t i = 0; i < size; i++) {
    trilha_buffer_add_char(out, digits[id[i] >> 4]);
    trilha_buffer_add_char(out, digits[id[i] & 15]);
  }
  trilha_buffer_add_char(out, '"');
}

static void write_context(trilha_buffer *out, const trilha_trace *trace) {
  write_id(out, "traceId", trace->trace_id, sizeof trace->trace_id);
  trilha_buffer_add_char(out, ',');
  write_id(out, "spanId", trace->span_id, sizeof trace->span_id);
  trilha_buffer_add_format(out, ",\"flags\":%d", trace->sampled ? FLAG_SAMPLED : 0);
}

static void write_attributes(trilha_buffer *out, const trilha_span_facts *f) {
  bool first = true, publish = f->kind == TRILHA_SPAN_PUBLISH;
  trilha_buffer_add_string(out, ",\"attributes\":[");
  trilha_otlp_write_text(out, &first, "messaging.system", TRILHA_TEXT("trilha"));
  trilha_otlp_write_text(out, &first, "messaging.operation.name",
                         publish ? TRILHA_TEXT("publish") : TRILHA_TEXT("process"));
  trilha_otlp_write_text(out, &first, "messaging.operation.type",
                         publish ? TRILHA_TEXT("send") : TRILHA_TEXT("process"));
  trilha_otlp_write_text(out, &first, "messaging.destination.name", f->tipo);
  trilha_otlp_write_text(out, &first, "messaging.message.id", f->event_id);
  trilha_otlp_write_text(out, &first, "messaging.message.conversation_id", f->correlacao_id);
  trilha_otlp_write_text(out, &first, "messaging.consumer.group.name", f->colonia);
  if (f->events > 1) trilha_otlp_write_number(out, &first, "messaging.batch.message_count", (int64_t)f->events);
  trilha_otlp_write_text(out, &first, "trilha.origem", f->origem);
  if (f->sequence_number > 0) trilha_otlp_write_number(out, &first, "trilha.sequence_number", f->sequence_number);
  if (f->attempt > 0) trilha_otlp_write_number(out, &first, "trilha.attempt", f->attempt);
  if (f->duplicate) trilha_buffer_add_string(out, ",{\"key\":\"trilha.duplicate\",\"value\":{\"boolValue\":true}}");
  trilha_otlp_write_text(out, &first, "error.type", f->error_code);
  trilha_buffer_add_char(out, ']');
}

static void write_links(trilha_buffer *out, const trilha_span_facts *f) {
  trilha_buffer_add_string(out, ",\"links\":[");
  for (size_t i = 0; i < f->link_count; i++) {
    trilha_buffer_add_string(out, i == 0 ? "{" : ",{");
    write_context(out, &f->links[i]);
    trilha_buffer_add_char(out, '}');
  }
  trilha_buffer_add_char(out, ']');
}

static void write_span(trilha_buffer *out, const trilha_ended_span *ended) {
  const trilha_span *span = &ended->span;
  const trilha_span_facts *f = &ended->facts;
  bool publish = f->kind == TRILHA_SPAN_PUBLISH;
  trilha_buffer_add_char(out, '{');
  write_context(out, &span->own);
  if (span->has_parent) trilha_buffer_add_char(out, ',');
  if (span->has_parent) write_id(out, "parentSpanId", span->parent_id, sizeof span->parent_id);
  if (f->tracestate.data != NULL) trilha_buffer_add_string(out, ",\"traceState\":");
  if (f->tracestate.data != NULL) trilha_json_write_string(out, f->tracestate);
  trilha_buffer_add_format(out, ",\"name\":\"%s\",\"kind\":%d", publish ? "event.publish" : "event.process",
                           publish ? KIND_PRODUCER : KIND_CONSUMER);
  trilha_otlp_write_time(out, "startTimeUnixNano", span->began_us, 0);
  trilha_otlp_write_time(out, "endTimeUnixNano", span->began_us, f->took_ns);
  write_attributes(out, f);
  if (f->link_count > 0) write_links(out, f);
  if (f->error_code.data != NULL) {
    trilha_buffer_add_format(out, ",\"status\":{\"code\":%d,\"message\":", STATUS_ERROR);
    trilha_json_write_string(out, f->error_code);
    trilha_buffer_add_char(out, '}');
  }
  trilha_buffer_add_char(out, '}');
}

void trilha_otlp_write_spans(const trilha_otlp_resource *resource, trilha_ended_span *const *spans, size_t count,
                             trilha_buffer *out) {
  trilha_buffer_add_string(out, "{\"resourceSpans\":[{");
  trilha_otlp_write_resource(resource, out);
  trilha_buffer_add_string(out, ",\"scopeSpans\":[{");
  trilha_otlp_write_scope(out);
  trilha_buffer_add_string(out, ",\"spans\":[");
  for (size_t i = 0; i < count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    write_span(out, spans[i]);
  }
  trilha_buffer_add_string(out, "]}]}]}");
}
