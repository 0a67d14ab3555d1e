/* otlp: the inside of the room. Room: otlp. */
#ifndef TRILHA_OTLP_OTLP_INTERNAL_H
#define TRILHA_OTLP_OTLP_INTERNAL_H

#include "otlp/otlp.h"

/* Who tells it. */
typedef struct trilha_otlp_resource {
  char *service_name;
  char instance_id[37];
  int64_t started_us;
} trilha_otlp_resource;

/* One ExportTraceServiceRequest (encode_spans.c) and one ExportMetricsServiceRequest (encode_metrics.c), as JSON. */
void trilha_otlp_write_spans(const trilha_otlp_resource *resource, trilha_ended_span *const *spans, size_t count,
                             trilha_buffer *out);
void trilha_otlp_write_metrics(const trilha_otlp_resource *resource, const trilha_measurements *measured,
                               int64_t spans_sent, int64_t now_us, trilha_buffer *out);

/* --- what both are made of (encode.c) ---------------------------------------------------------------------------- */

void trilha_otlp_write_resource(const trilha_otlp_resource *resource, trilha_buffer *out);
void trilha_otlp_write_scope(trilha_buffer *out);
/* {"key":…,"value":{"stringValue":…}}; an absent text: nothing. *first is false afterwards. */
void trilha_otlp_write_text(trilha_buffer *out, bool *first, const char *key, trilha_text value);
void trilha_otlp_write_number(trilha_buffer *out, bool *first, const char *key, int64_t value);
/* ,"name":"…" with the time in nanoseconds. */
void trilha_otlp_write_time(trilha_buffer *out, const char *name, int64_t us, int64_t more_ns);

/* The first string of the headers' form as lines "name: value" in an array of at most TRILHA_OTLP_HEADERS_MAX
 * (headers.c); each the caller's, freed with free(). */
trilha_status trilha_otlp_read_headers(const char *text, char *lines[TRILHA_OTLP_HEADERS_MAX], size_t *ret_count,
                                       trilha_error *err) TRILHA_MUST_USE;
/* How many spans the collector's answer says it refused: 0 for an answer without partialSuccess. */
int64_t trilha_otlp_rejected(trilha_text answer);

#endif
