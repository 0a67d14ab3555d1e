/* otlp/export: the thread that sends.
 *
 * It wakes for a whole batch, for the end of an interval and for the end of the handle. One request is under way at a
 * time. If you change this: nothing that publishes may ever wait for this thread, and trilha_otlp_stop() for no longer
 * than flush_ms and the moment that libcurl needs to notice.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/diagnostics.h"
#include "base/error.h"
#include "base/uuid.h"
#include "fetch/fetch.h"
#include "otlp/otlp_internal.h"

enum {
  INTERVAL_MS = 5000,
  TIMEOUT_MS = 10000,
  QUEUE = 2048,
  FLUSH_MS = 2000,
  FIRST_PAUSE_MS = 1000,
  URL_BYTES_MAX = 2048,
  DROPS_TOLD_EVERY_MS = 60000
};

struct trilha_otlp {
  trilha_telemetry *telemetry;
  const trilha_diagnostics *diagnostics;
  trilha_otlp_resource resource;
  char *traces_url, *metrics_url, *ca_file;
  char *headers[TRILHA_OTLP_HEADERS_MAX];
  size_t header_count;
  int64_t interval_ms, timeout_ms, flush_ms;
  size_t enough; /* spans that are worth a request before the interval ends */

  pthread_t thread;
  bool runs;
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t ended_changed;
  bool ended;
  trilha_deadline until; /* the flush's; none before the end is asked for */
  atomic_bool cut;       /* ends the request under way */
  atomic_int_fast64_t sent, failed;

  /* the thread's own */
  bool away;
  uint64_t drops_told;
  trilha_deadline tell_drops_at;
  trilha_measurements *measured;
  trilha_buffer body, answer;
};

/* --- one request ----------------------------------------------------------------------------------------------- */

static int64_t time_left_ms(trilha_otlp *o) {
  pthread_mutex_lock(&o->mutex);
  int64_t left = trilha_deadline_left_ms(o->until, o->timeout_ms);
  pthread_mutex_unlock(&o->mutex);
  return left;
}

static void say_failed(trilha_otlp *o, const trilha_error *error) {
  atomic_fetch_add(&o->failed, 1);
  if (o->away) return;
  o->away = true;
  trilha_fields fields = {0};
  trilha_fields_error(&fields, error);
  trilha_emit(o->diagnostics, TRILHA_WARNING, "otlp.export_failed",
              "the collector of spans and metrics did not take them", &fields);
}

static void say_back(trilha_otlp *o) {
  if (!o->away) return;
  o->away = false;
  trilha_emit(o->diagnostics, TRILHA_INFO, "otlp.export_restored", "the collector takes spans and metrics again", NULL);
}

/* What the protocol says may be repeated; no answer at all is one of them. */
static bool may_be_repeated(unsigned status) {
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

static bool post(trilha_otlp *o, const char *url, bool *ret_again, int64_t *ret_retry_s) {
  unsigned answered = 0;
  trilha_error error = {0};
  trilha_fetch_request request = {.url = url,
                                  .ca_file = o->ca_file,
                                  .body_type = "application/json",
                                  .body = trilha_buffer_text(&o->body),
                                  .headers = (const char *const *)o->headers,
                                  .header_count = o->header_count,
                                  .answer_bytes_max = TRILHA_OTLP_ANSWER_BYTES_MAX,
                                  .timeout_ms = time_left_ms(o),
                                  .stop = &o->cut,
                                  .ret_status = &answered,
                                  .ret_retry_s = ret_retry_s};
  *ret_again = false;
  if (request.timeout_ms <= 0) return false; /* 0 would be no limit */
  trilha_buffer_clear(&o->answer);
  if (trilha_fetch(&request, &o->answer, &error) == TRILHA_OK) {
    say_back(o);
    return true;
  }
  *ret_again = may_be_repeated(answered);
  say_failed(o, &error);
  return false;
}

/* False: the end was asked for, and nothing is repeated then. */
static bool pause_before(trilha_otlp *o, unsigned tries, int64_t retry_s) {
  uint32_t random = 0;
  int64_t ms = (int64_t)FIRST_PAUSE_MS << (tries - 1);
  if (trilha_random_bytes(&random, sizeof random)) ms = ms / 2 + (int64_t)(random % (uint32_t)(ms / 2 + 1));
  if (retry_s > TRILHA_OTLP_RETRY_AFTER_S_MAX) retry_s = TRILHA_OTLP_RETRY_AFTER_S_MAX;
  if (retry_s > 0) ms = retry_s * 1000;
  return !trilha_telemetry_wait(o->telemetry, SIZE_MAX, trilha_deadline_in_ms(ms));
}

/* The body, again and again where that may help. */
static bool send_body(trilha_otlp *o, const char *url) {
  bool again = true;
  int64_t retry_s = 0;
  if (o->body.failed != TRILHA_OK) return false;
  for (unsigned tries = 1; again; tries++) {
    if (post(o, url, &again, &retry_s)) return true;
    if (tries == TRILHA_OTLP_TRIES_MAX || (again && !pause_before(o, tries, retry_s))) return false;
  }
  return false;
}

/* --- spans and numbers -------------------------------------------------------------------------------------------- */

static void send_batch(trilha_otlp *o, trilha_ended_span **spans, size_t count) {
  trilha_buffer_clear(&o->body);
  trilha_otlp_write_spans(&o->resource, spans, count, &o->body);
  size_t lost = count;
  if (send_body(o, o->traces_url)) {
    int64_t rejected = trilha_otlp_rejected(trilha_buffer_text(&o->answer));
    lost = (size_t)rejected < count ? (size_t)rejected : count;
  }
  atomic_fetch_add(&o->sent, (int_fast64_t)(count - lost));
  if (lost > 0) trilha_telemetry_count_dropped(o->telemetry, lost);
  for (size_t i = 0; i < count; i++) trilha_ended_span_free(spans[i]);
}

static void send_spans(trilha_otlp *o) {
  trilha_ended_span *spans[TRILHA_OTLP_BATCH_MAX];
  size_t count;
  do {
    count = trilha_telemetry_take(o->telemetry, spans, TRILHA_OTLP_BATCH_MAX);
    if (count > 0) send_batch(o, spans, count);
  } while (count == TRILHA_OTLP_BATCH_MAX);
}

/* A process that neither published nor processed has nothing to say, and need not wait at its end to say it. */
static void send_metrics(trilha_otlp *o) {
  trilha_telemetry_measurements(o->telemetry, o->measured);
  if (!trilha_measurements_any(o->measured)) return;
  trilha_buffer_clear(&o->body);
  trilha_otlp_write_metrics(&o->resource, o->measured, atomic_load(&o->sent), trilha_clock_wall_us(), &o->body);
  (void)send_body(o, o->metrics_url);
}

static void tell_drops(trilha_otlp *o) {
  size_t waiting;
  uint64_t dropped;
  trilha_telemetry_spans(o->telemetry, &waiting, &dropped);
  if (dropped == o->drops_told || !trilha_deadline_passed(o->tell_drops_at)) return;
  trilha_fields fields = {0};
  trilha_fields_i64(&fields, "spans", (int64_t)(dropped - o->drops_told));
  trilha_emit(o->diagnostics, TRILHA_WARNING, "otlp.spans_dropped", "spans were dropped", &fields);
  o->drops_told = dropped;
  o->tell_drops_at = trilha_deadline_in_ms(DROPS_TOLD_EVERY_MS);
}

static void *export_loop(void *user) {
  trilha_otlp *o = user;
  trilha_deadline next = trilha_deadline_in_ms(o->interval_ms);
  for (bool ending = false; !ending;) {
    ending = trilha_telemetry_wait(o->telemetry, o->enough, next);
    bool due = ending || trilha_deadline_passed(next);
    send_spans(o);
    if (!due) continue;
    send_metrics(o);
    tell_drops(o);
    next = trilha_deadline_in_ms(o->interval_ms);
  }
  pthread_mutex_lock(&o->mutex);
  o->ended = true;
  pthread_cond_broadcast(&o->ended_changed);
  pthread_mutex_unlock(&o->mutex);
  return NULL;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static bool is_base_url(trilha_text url) {
  bool web =
      (url.size > 7 && memcmp(url.data, "http://", 7) == 0) || (url.size > 8 && memcmp(url.data, "https://", 8) == 0);
  for (size_t i = 0; web && i < url.size; i++)
    web = url.data[i] > ' ' && url.data[i] <= '~' && url.data[i] != '?' && url.data[i] != '#';
  return web && url.size <= URL_BYTES_MAX;
}

static char *url_of(trilha_text base, const char *path) {
  while (base.size > 0 && base.data[base.size - 1] == '/') base.size--;
  TRILHA_BUFFER_SCOPED url;
  trilha_buffer_init(&url, 0);
  trilha_buffer_add_text(&url, base);
  trilha_buffer_add_string(&url, path);
  return trilha_buffer_take(&url, NULL);
}

trilha_status trilha_otlp_queue_size(const trilha_otlp_options *options, size_t *ret_spans, trilha_error *err) {
  *ret_spans = options->queue_max == 0 ? QUEUE : options->queue_max;
  if (*ret_spans <= TRILHA_SPAN_QUEUE_MAX) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_USAGE, "OTLP_QUEUE", "at most %d spans may wait", TRILHA_SPAN_QUEUE_MAX);
}

static trilha_status take_texts(trilha_otlp *o, const trilha_otlp_options *options, trilha_error *err) {
  unsigned char id[16];
  trilha_text base = trilha_text_of(options->endpoint);
  if (!is_base_url(base)) /* not repeated: it may hold a password */
    return trilha_error_set(err, TRILHA_USAGE, "OTLP_ENDPOINT",
                            "the OTLP endpoint is an http:// or https:// URL without query, such as "
                            "http://127.0.0.1:4318");
  o->traces_url = url_of(base, "/v1/traces");
  o->metrics_url = url_of(base, "/v1/metrics");
  o->resource.service_name = strdup(options->service_name == NULL ? "trilha" : options->service_name);
  if (options->ca_file != NULL) o->ca_file = strdup(options->ca_file);
  if (o->traces_url == NULL || o->metrics_url == NULL || o->resource.service_name == NULL ||
      (o->ca_file == NULL && options->ca_file != NULL))
    return trilha_error_no_memory(err);
  if (!trilha_utf8_valid(o->resource.service_name, strlen(o->resource.service_name)))
    return trilha_error_set(err, TRILHA_USAGE, "OTLP_SERVICE_NAME", "the service name must be UTF-8 text");
  if (!trilha_uuid_v4(id))
    return trilha_error_set(err, TRILHA_IO, "RANDOM_UNAVAILABLE", "the system's random source failed");
  trilha_uuid_format(id, o->resource.instance_id);
  o->resource.started_us = trilha_clock_wall_us();
  return options->headers == NULL ? TRILHA_OK
                                  : trilha_otlp_read_headers(options->headers, o->headers, &o->header_count, err);
}

static int64_t or_default(unsigned value, int64_t otherwise) {
  return value > 0 ? value : otherwise;
}

static trilha_status begin_thread(trilha_otlp *o, trilha_error *err) {
  int failed = pthread_create(&o->thread, NULL, export_loop, o);
  o->runs = failed == 0;
  return failed == 0 ? TRILHA_OK
                     : trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "spans cannot be exported");
}

trilha_status trilha_otlp_start(const trilha_otlp_options *options, trilha_telemetry *telemetry,
                                const trilha_diagnostics *diagnostics, trilha_otlp **ret_otlp, trilha_error *err) {
  trilha_otlp *o = calloc(1, sizeof *o);
  if (o == NULL) return trilha_error_no_memory(err);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&o->ended_changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&o->mutex, NULL);
  o->telemetry = telemetry;
  o->diagnostics = diagnostics;
  o->until = TRILHA_NO_DEADLINE;
  o->tell_drops_at = trilha_deadline_in_ms(0);
  o->interval_ms = or_default(options->interval_ms, INTERVAL_MS);
  o->timeout_ms = or_default(options->timeout_ms, TIMEOUT_MS);
  o->flush_ms = or_default(options->flush_ms, FLUSH_MS);
  o->enough = (size_t)or_default(options->queue_max, QUEUE) / 2;
  if (o->enough > TRILHA_OTLP_BATCH_MAX) o->enough = TRILHA_OTLP_BATCH_MAX;
  if (o->enough == 0) o->enough = 1;
  trilha_buffer_init(&o->body, 0);
  trilha_buffer_init(&o->answer, 0);
  o->measured = calloc(1, sizeof *o->measured);
  trilha_status status = o->measured == NULL ? trilha_error_no_memory(err) : take_texts(o, options, err);
  if (status == TRILHA_OK) status = begin_thread(o, err);
  if (status == TRILHA_OK)
    *ret_otlp = o;
  else
    trilha_otlp_stop(o);
  return status;
}

void trilha_otlp_counted(trilha_otlp *o, trilha_otlp_counts *ret_counts) {
  size_t waiting;
  uint64_t dropped;
  trilha_telemetry_spans(o->telemetry, &waiting, &dropped);
  *ret_counts = (trilha_otlp_counts){.spans_waiting = (int64_t)waiting,
                                     .spans_sent = atomic_load(&o->sent),
                                     .spans_dropped = (int64_t)dropped,
                                     .requests_failed = atomic_load(&o->failed)};
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* Up to flush_ms for what waits; then the request under way is cut. */
static void end_thread(trilha_otlp *o) {
  int timed_out = 0;
  pthread_mutex_lock(&o->mutex);
  o->until = trilha_deadline_in_ms(o->flush_ms);
  struct timespec until = {.tv_sec = (time_t)(o->until.monotonic_ns / 1000000000),
                           .tv_nsec = (long)(o->until.monotonic_ns % 1000000000)};
  pthread_mutex_unlock(&o->mutex);
  trilha_telemetry_ask_end(o->telemetry);
  pthread_mutex_lock(&o->mutex);
  while (!o->ended && timed_out != ETIMEDOUT) timed_out = pthread_cond_timedwait(&o->ended_changed, &o->mutex, &until);
  pthread_mutex_unlock(&o->mutex);
  atomic_store(&o->cut, true);
  pthread_join(o->thread, NULL);
}

void trilha_otlp_stop(trilha_otlp *o) {
  if (o == NULL) return;
  if (o->runs) end_thread(o);
  for (size_t i = 0; i < o->header_count; i++) {
    explicit_bzero(o->headers[i], strlen(o->headers[i]));
    free(o->headers[i]);
  }
  free(o->traces_url);
  free(o->metrics_url);
  free(o->ca_file);
  free(o->resource.service_name);
  free(o->measured);
  trilha_buffer_done(&o->body);
  trilha_buffer_done(&o->answer);
  pthread_cond_destroy(&o->ended_changed);
  pthread_mutex_destroy(&o->mutex);
  free(o);
}
