/* otlp/encode_metrics: the numbers of this process as an ExportMetricsServiceRequest. Everything is cumulative since
 * the handle was opened. A backend that follows OpenTelemetry's rules for Prometheus shows "trilha.publish.duration" in
 * "s" as trilha_publish_duration_seconds, and a monotonic sum with _total at its end. */
#include "json/json.h"
#include "otlp/otlp_internal.h"

enum { CUMULATIVE = 2 };

typedef struct writer {
  trilha_buffer *out;
  const trilha_otlp_resource *resource;
  int64_t now_us;
  bool first_metric, first_point;
} writer;

static void begin_metric(writer *w, const char *name, const char *unit, const char *description) {
  trilha_buffer_add_format(w->out, "%s{\"name\":\"%s\",\"unit\":\"%s\",\"description\":\"%s\",",
                           w->first_metric ? "" : ",", name, unit, description);
  w->first_metric = false;
  w->first_point = true;
}

/* Where a metric has attributes they are the outcome, and before it the colony. */
static void begin_point(writer *w, trilha_text colonia, const char *outcome) {
  bool first = true;
  trilha_buffer_add_format(w->out, "%s{\"attributes\":[", w->first_point ? "" : ",");
  w->first_point = false;
  trilha_otlp_write_text(w->out, &first, "colonia", colonia);
  if (outcome != NULL) trilha_otlp_write_text(w->out, &first, "outcome", trilha_text_of(outcome));
  trilha_buffer_add_char(w->out, ']');
  trilha_otlp_write_time(w->out, "startTimeUnixNano", w->resource->started_us, 0);
  trilha_otlp_write_time(w->out, "timeUnixNano", w->now_us, 0);
}

/* --- histograms ------------------------------------------------------------------------------------------------ */

static void begin_histogram(writer *w, const char *name, const char *description) {
  begin_metric(w, name, "s", description);
  trilha_buffer_add_format(w->out, "\"histogram\":{\"aggregationTemporality\":%d,\"dataPoints\":[", CUMULATIVE);
}

static void write_durations(writer *w, trilha_text colonia, const char *outcome, const trilha_durations *d) {
  if (d->count == 0) return;
  begin_point(w, colonia, outcome);
  trilha_buffer_add_format(w->out, ",\"count\":\"%llu\",\"sum\":%llu.%09llu,\"bucketCounts\":[",
                           (unsigned long long)d->count, (unsigned long long)(d->sum_ns / 1000000000),
                           (unsigned long long)(d->sum_ns % 1000000000));
  for (size_t i = 0; i <= TRILHA_DURATION_BUCKETS; i++)
    trilha_buffer_add_format(w->out, "%s\"%llu\"", i == 0 ? "" : ",", (unsigned long long)d->buckets[i]);
  trilha_buffer_add_string(w->out, "],\"explicitBounds\":[");
  for (size_t i = 0; i < TRILHA_DURATION_BUCKETS; i++)
    trilha_buffer_add_format(w->out, "%s%s", i == 0 ? "" : ",", trilha_duration_bound(i));
  trilha_buffer_add_string(w->out, "]}");
}

static void end_metric(writer *w) {
  trilha_buffer_add_string(w->out, "]}}");
}

static void write_publish(writer *w, const trilha_measurements *m) {
  static const char *const outcomes[TRILHA_PUBLISH_OUTCOMES] = {"stored", "duplicate", "refused", "failed"};
  begin_histogram(w, "trilha.publish.duration", "Publications by what became of them");
  for (size_t i = 0; i < TRILHA_PUBLISH_OUTCOMES; i++)
    write_durations(w, (trilha_text){0}, outcomes[i], &m->publish[i]);
  end_metric(w);
}

static void write_process(writer *w, const trilha_measurements *m) {
  begin_histogram(w, "trilha.process.duration", "Calls of handlers");
  for (size_t i = 0; i <= TRILHA_MEASURED_COLONIES_MAX; i++) {
    const trilha_measured_colony *colony = &m->colonies[i];
    trilha_text name = colony->name[0] == '\0' ? TRILHA_TEXT("_other") : trilha_text_of(colony->name);
    write_durations(w, name, "success", &colony->succeeded);
    write_durations(w, name, "failure", &colony->failed);
  }
  end_metric(w);
}

/* --- sums -------------------------------------------------------------------------------------------------------- */

static void begin_sum(writer *w, const char *name, const char *unit, const char *description) {
  begin_metric(w, name, unit, description);
  trilha_buffer_add_format(w->out, "\"sum\":{\"aggregationTemporality\":%d,\"isMonotonic\":true,\"dataPoints\":[",
                           CUMULATIVE);
}

static void write_count(writer *w, const char *outcome, uint64_t value) {
  begin_point(w, (trilha_text){0}, outcome);
  trilha_buffer_add_format(w->out, ",\"asInt\":\"%llu\"}", (unsigned long long)value);
}

static void write_sums(writer *w, const trilha_measurements *m, int64_t spans_sent) {
  begin_sum(w, "trilha.publish.duplicates", "{event}", "Publications whose id was there already");
  write_count(w, NULL, m->publish[TRILHA_PUBLISH_DUPLICATE].count);
  end_metric(w);
  begin_sum(w, "trilha.publish.divergences", "{event}", "Duplicates with other content than the stored event");
  write_count(w, NULL, m->divergences);
  end_metric(w);
  begin_sum(w, "trilha.redaction.drops", "{value}", "Values without a rule, which were not stored");
  write_count(w, NULL, m->redaction_drops);
  end_metric(w);
  begin_sum(w, "trilha.telemetry.spans", "{span}", "Spans that were sent to the collector or dropped");
  write_count(w, "sent", (uint64_t)spans_sent);
  write_count(w, "dropped", m->spans_dropped);
  end_metric(w);
}

void trilha_otlp_write_metrics(const trilha_otlp_resource *resource, const trilha_measurements *measured,
                               int64_t spans_sent, int64_t now_us, trilha_buffer *out) {
  writer w = {.out = out, .resource = resource, .now_us = now_us, .first_metric = true};
  trilha_buffer_add_string(out, "{\"resourceMetrics\":[{");
  trilha_otlp_write_resource(resource, out);
  trilha_buffer_add_string(out, ",\"scopeMetrics\":[{");
  trilha_otlp_write_scope(out);
  trilha_buffer_add_string(out, ",\"metrics\":[");
  write_publish(&w, measured);
  write_process(&w, measured);
  write_sums(&w, measured, spans_sent);
  trilha_buffer_add_string(out, "]}]}]}");
}
