/* serve: counters, and the text exposition of Prometheus (field report B31: one odd label must not spoil the scrape).
 */
#include "base/clock.h"
#include "serve/serve_internal.h"

static const unsigned STATUSES[TRILHA_SERVE_STATUSES] = {200, 400, 401, 403, 404, 405, 409, 415, 422, 429, 500, 503};
static const int64_t BOUNDS_US[TRILHA_SERVE_BUCKETS] = {500,   1000,   2500,   5000,    10000,
                                                        25000, 100000, 500000, 2500000, 30000000};
static const char *const BOUNDS[TRILHA_SERVE_BUCKETS] = {"0.0005", "0.001", "0.0025", "0.005", "0.01",
                                                         "0.025",  "0.1",   "0.5",    "2.5",   "30"};

const char *trilha_route_name(trilha_route route) {
  static const char *const names[TRILHA_ROUTE_COUNT] = {"none",
                                                        "events",
                                                        "event",
                                                        "trace",
                                                        "reprocess",
                                                        "event-types",
                                                        "dead-letters",
                                                        "dead-letter",
                                                        "dead-letter-stats",
                                                        "consumers",
                                                        "audit-logs",
                                                        "error-codes",
                                                        "outbox-sources",
                                                        "outbox-status",
                                                        "outbox-lanes",
                                                        "outbox-retry-many",
                                                        "outbox-discard-many",
                                                        "outbox-inbox",
                                                        "outbox-inbox-conflicts",
                                                        "outbox-workers",
                                                        "outbox-drain",
                                                        "outbox-message",
                                                        "outbox-revisions",
                                                        "outbox-receipts",
                                                        "outbox-record",
                                                        "outbox-reveal",
                                                        "outbox-retry",
                                                        "outbox-discard",
                                                        "outbox-correct",
                                                        "outbox-callback"};
  return names[route];
}

void trilha_count_answer(trilha_counters *counters, trilha_route route, unsigned status, int64_t took_us) {
  size_t at = 0, bucket = 0;
  while (at < TRILHA_SERVE_STATUSES - 1 && STATUSES[at] != status) at++; /* the last place: any other */
  while (bucket < TRILHA_SERVE_BUCKETS && took_us > BOUNDS_US[bucket]) bucket++;
  atomic_fetch_add(&counters->answers[route][at], 1);
  atomic_fetch_add(&counters->buckets[route][bucket], 1);
  atomic_fetch_add(&counters->sum_us[route], (uint64_t)took_us);
}

void trilha_metrics_head(trilha_buffer *out, const char *name, const char *type, const char *help) {
  trilha_buffer_add_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Inside a label's value: backslash, quote and line feed are escaped, what is no UTF-8 or a control byte becomes '?'.
 */
void trilha_metrics_label(trilha_buffer *out, const char *name, const char *value) {
  if (value == NULL) value = "";
  bool valid = trilha_utf8_valid(value, strlen(value));
  trilha_buffer_add_format(out, "%s=\"", name);
  for (const char *at = value; *at != '\0'; at++) {
    unsigned char c = (unsigned char)*at;
    if (c == '\n')
      trilha_buffer_add_string(out, "\\n");
    else if (c == '"' || c == '\\')
      trilha_buffer_add_format(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7F || (c >= 0x80 && !valid))
      trilha_buffer_add_char(out, '?');
    else
      trilha_buffer_add_char(out, *at);
  }
  trilha_buffer_add_char(out, '"');
}

static void one(trilha_buffer *out, const char *name, const char *type, const char *help, int64_t value) {
  trilha_metrics_head(out, name, type, help);
  trilha_buffer_add_format(out, "%s %lld\n", name, (long long)value);
}

static void seconds(trilha_buffer *out, uint64_t us) {
  trilha_buffer_add_format(out, "%llu.%06llu", (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000));
}

/* --- requests -------------------------------------------------------------------------------------------------------
 */

static void write_answers(trilha_serve *serve, trilha_buffer *out) {
  trilha_metrics_head(out, "trilha_http_requests_total", "counter", "Requests of the API that were answered.");
  for (trilha_route r = 0; r < TRILHA_ROUTE_COUNT; r++)
    for (size_t s = 0; s < TRILHA_SERVE_STATUSES; s++) {
      uint64_t count = atomic_load(&serve->counters.answers[r][s]);
      if (count == 0) continue;
      trilha_buffer_add_format(out, "trilha_http_requests_total{route=\"%s\",code=\"", trilha_route_name(r));
      if (STATUSES[s] == 0)
        trilha_buffer_add_string(out, "other");
      else
        trilha_buffer_add_u64(out, STATUSES[s]);
      trilha_buffer_add_format(out, "\"} %llu\n", (unsigned long long)count);
    }
}

static void write_durations(trilha_serve *serve, trilha_buffer *out) {
  static const char name[] = "trilha_http_request_duration_seconds";
  trilha_metrics_head(out, name, "histogram", "Time from a whole request to its answer.");
  for (trilha_route r = 0; r < TRILHA_ROUTE_COUNT; r++) {
    uint64_t below = 0;
    for (size_t b = 0; b < TRILHA_SERVE_BUCKETS; b++) {
      below += atomic_load(&serve->counters.buckets[r][b]);
      trilha_buffer_add_format(out, "%s_bucket{route=\"%s\",le=\"%s\"} %llu\n", name, trilha_route_name(r), BOUNDS[b],
                               (unsigned long long)below);
    }
    below += atomic_load(&serve->counters.buckets[r][TRILHA_SERVE_BUCKETS]);
    trilha_buffer_add_format(out, "%s_bucket{route=\"%s\",le=\"+Inf\"} %llu\n%s_sum{route=\"%s\"} ", name,
                             trilha_route_name(r), (unsigned long long)below, name, trilha_route_name(r));
    seconds(out, atomic_load(&serve->counters.sum_us[r]));
    trilha_buffer_add_format(out, "\n%s_count{route=\"%s\"} %llu\n", name, trilha_route_name(r),
                             (unsigned long long)below);
  }
}

static void write_refusals(trilha_serve *serve, trilha_buffer *out) {
  static const char *const names[TRILHA_REFUSAL_COUNT] = {"", "address", "rate", "token", "role", "signature"};
  trilha_metrics_head(out, "trilha_access_refused_total", "counter", "Requests refused before any route, by reason.");
  for (size_t i = 1; i < TRILHA_REFUSAL_COUNT; i++)
    trilha_buffer_add_format(out, "trilha_access_refused_total{reason=\"%s\"} %llu\n", names[i],
                             (unsigned long long)atomic_load(&serve->counters.refusals[i]));
  trilha_metrics_head(out, "trilha_http_connections", "gauge", "Open connections.");
  trilha_buffer_add_format(out, "trilha_http_connections{listener=\"api\"} %zu\n", trilha_http_connections(serve->api));
  trilha_metrics_head(out, "trilha_http_connections_refused_total", "counter",
                      "Connections above the limit, answered 503.");
  trilha_buffer_add_format(out, "trilha_http_connections_refused_total{listener=\"api\"} %llu\n",
                           (unsigned long long)trilha_http_refused(serve->api));
  if (serve->gate.jwks != NULL) {
    trilha_metrics_head(out, "trilha_jwks_last_success_timestamp_seconds", "gauge",
                        "When the keys of jwks_url were last read, in Unix time.");
    trilha_buffer_add_format(out, "trilha_jwks_last_success_timestamp_seconds %lld\n",
                             (long long)trilha_jwks_fetched_s(serve->gate.jwks));
  }
  int64_t expires_s = trilha_http_certificate_expires_s(serve->api);
  if (expires_s == 0) return;
  trilha_metrics_head(out, "trilha_certificate_expiry_timestamp_seconds", "gauge",
                      "When the API's certificate ends, in Unix time.");
  trilha_buffer_add_format(out, "trilha_certificate_expiry_timestamp_seconds %lld\n", (long long)expires_s);
}

/* --- the store
 * --------------------------------------------------------------------------------------------------------- */

typedef int64_t (*of_consumer)(const trilha_consumer_state *state);
static int64_t lag_events(const trilha_consumer_state *state) {
  return state->lag_events;
}
static int64_t lag_seconds(const trilha_consumer_state *state) {
  return state->lag_seconds;
}
static int64_t cursor(const trilha_consumer_state *state) {
  return state->last_sequence;
}

static void write_consumers(const trilha_consumer_states *states, const char *name, const char *help, of_consumer value,
                            trilha_buffer *out) {
  trilha_metrics_head(out, name, "gauge", help);
  for (size_t i = 0; states != NULL && i < states->count; i++) {
    const trilha_consumer_state *state = &states->items[i];
    trilha_buffer_add_format(out, "%s{", name);
    trilha_metrics_label(out, "colonia", state->colonia);
    trilha_buffer_add_char(out, ',');
    trilha_metrics_label(out, "grupo", state->grupo);
    trilha_buffer_add_char(out, ',');
    trilha_metrics_label(out, "tipo", state->tipo);
    trilha_buffer_add_format(out, "} %lld\n", (long long)value(state));
  }
}

/* An unreachable store has no numbers: a gauge that says 0 then would hide what waits. */
static void write_store(trilha_serve *serve, trilha_buffer *out) {
  trilha_sample *sample = &serve->sample;
  pthread_mutex_lock(&sample->mutex);
  bool up = trilha_sample_is_up(sample);
  one(out, "trilha_store_up", "gauge", "Whether the store answered lately.", up ? 1 : 0);
  one(out, "trilha_audit_writable", "gauge", "Whether the audit trail took its last row.",
      sample->trail_code[0] == '\0' ? 1 : 0);
  if (up) {
    one(out, "trilha_event_log_last_sequence", "gauge", "Largest sequence number of the log.", sample->last_sequence);
    trilha_metrics_head(out, "dead_letter_queue_pending", "gauge", "Dead letters pendente or retrying, by colony.");
    for (size_t i = 0; i < sample->colony_count; i++) {
      trilha_buffer_add_string(out, "dead_letter_queue_pending{");
      trilha_metrics_label(out, "colonia", sample->colonies[i].name);
      trilha_buffer_add_format(out, "} %lld\n", (long long)sample->colonies[i].pending);
    }
    one(out, "trilha_dead_letters_alert", "gauge", "Whether open dead letters reached dead_letters.alert_at.",
        sample->pending_total >= serve->alert_at ? 1 : 0);
    write_consumers(sample->consumers, "trilha_consumer_cursor_sequence", "Sequence up to which a consumer is done.",
                    cursor, out);
    write_consumers(sample->consumers, "trilha_consumer_lag_events", "Events due to a consumer, counted up to 10000.",
                    lag_events, out);
    write_consumers(sample->consumers, "trilha_consumer_lag_seconds", "Age of the oldest event due to a consumer.",
                    lag_seconds, out);
  }
  pthread_mutex_unlock(&sample->mutex);
}

void trilha_metrics_write(trilha_serve *serve, trilha_buffer *out) {
  trilha_metrics_head(out, "trilha_build_info", "gauge", "The version that runs.");
  trilha_buffer_add_string(out, "trilha_build_info{");
  trilha_metrics_label(out, "version", trilha_version());
  trilha_buffer_add_string(out, "} 1\n");
  trilha_metrics_head(out, "trilha_start_time_seconds", "gauge", "When the server started, in seconds since 1970.");
  trilha_buffer_add_string(out, "trilha_start_time_seconds ");
  seconds(out, (uint64_t)serve->started_us);
  trilha_buffer_add_char(out, '\n');
  write_store(serve, out);
  trilha_outboxes_write_metrics(serve->outboxes, out);
  write_answers(serve, out);
  write_durations(serve, out);
  write_refusals(serve, out);
}
