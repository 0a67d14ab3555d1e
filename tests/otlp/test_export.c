/* otlp: what a handle sends to a collector, and that no collector, however it behaves, holds up who publishes
 * (requirement E18). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "conformance/publishing.h"
#include "json/json.h"
#include "otlp/collector.h"
#include "trilha/delivery.h"

enum { FAR_MS = 600000, PATIENCE_MS = 60000 };

#define TRACE_ID "0af7651916cd43dd8448eb211c80319c"
#define SPAN_ID  "b7ad6b7169203331"

static trilha *open_with(void **state, trilha_otlp_options otlp) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_fixture_register(f->handle, "teste.b", "1.0.0", trilha_test_schema);
  trilha_options options = {.store_url = f->url, .keyring = f->keyring, .unsafe_no_fsync = true, .otlp = otlp};
  trilha *handle = NULL;
  trilha_error err = {0};
  if (trilha_open(&options, &handle, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return handle;
}

/* Sends at its end, or when told by half a queue. */
static trilha *open_for(void **state, const collector *c) {
  return open_with(state, (trilha_otlp_options){.endpoint = c->endpoint,
                                                .service_name = "loja",
                                                .interval_ms = FAR_MS,
                                                .timeout_ms = FAR_MS,
                                                .flush_ms = FAR_MS});
}

/* What the collector was sent is then there to be read. */
static void end(trilha *handle, collector *c) {
  trilha_close(handle);
  collector_settle(c);
}

static trilha_publication publication(const char *tipo, const char *payload) {
  return (trilha_publication){
      .tipo = trilha_text_of(tipo), .origem = TRILHA_TEXT("D-1a"), .payload = trilha_text_of(payload)};
}

/* The stored traceparent, into out. */
static void publish(trilha *handle, const trilha_publication *p, char out[64]) {
  trilha_publish_result result;
  trilha_error err = {0};
  if (trilha_publish(handle, p, &result, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  if (out != NULL) snprintf(out, 64, "%s", result.event->traceparent == NULL ? "" : result.event->traceparent);
  trilha_publish_result_done(&result);
}

static trilha_otlp_counts counts(trilha *handle) {
  trilha_otlp_counts now;
  assert_int_equal(trilha_otlp_count(handle, &now, NULL), TRILHA_OK);
  return now;
}

/* Returns when so many spans were sent or dropped. */
static trilha_otlp_counts wait_for(trilha *handle, int64_t spans) {
  trilha_deadline end = trilha_deadline_in_ms(PATIENCE_MS);
  for (;;) {
    trilha_otlp_counts now = counts(handle);
    if (now.spans_sent + now.spans_dropped >= spans) return now;
    if (trilha_deadline_passed(end))
      fail_msg("sent %lld, dropped %lld", (long long)now.spans_sent, (long long)now.spans_dropped);
    trilha_clock_sleep_ms(5);
  }
}

/* --- reading what came ---------------------------------------------------------------------------------------- */

static trilha_json_document *parsed(const char *text) {
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  if (trilha_json_parse(trilha_text_of(text), &limits, &document, NULL, NULL) != TRILHA_OK) fail_msg("%s", text);
  return document;
}

/* The nth span of the only request. */
static const trilha_json_value *span_at(const trilha_json_document *document, size_t n) {
  char pointer[64];
  snprintf(pointer, sizeof pointer, "/resourceSpans/0/scopeSpans/0/spans/%zu", n);
  return trilha_json_pointer_find(document->values, trilha_text_of(pointer));
}

static const trilha_json_value *attribute(const trilha_json_value *attributes, const char *key) {
  assert_non_null(attributes);
  const trilha_json_value *at = attributes + 1;
  for (uint32_t i = 0; i < attributes->size; i++, at = trilha_json_next(at))
    if (trilha_json_is(trilha_json_member(at, "key"), key)) return trilha_json_member(at, "value");
  return NULL;
}

static void expect_attribute(const trilha_json_value *span, const char *key, const char *value) {
  const trilha_json_value *found = attribute(trilha_json_member(span, "attributes"), key);
  if (found == NULL) fail_msg("no attribute %s", key);
  const trilha_json_value *text = trilha_json_member(found, "stringValue");
  if (text == NULL) text = trilha_json_member(found, "intValue");
  if (!trilha_json_is(text, value)) fail_msg("%s is %.*s", key, (int)text->size, text->u.text);
}

static void expect_name(const trilha_json_value *span, const char *name) {
  assert_non_null(span);
  assert_true(trilha_json_is(trilha_json_member(span, "name"), name));
}

/* Whether a member holds the trace id or the span id of a traceparent. */
static bool names_trace(const trilha_json_value *span, const char *member, const char *traceparent) {
  return trilha_text_equal(trilha_json_member_string(span, member), (trilha_text){traceparent + 3, 32});
}
static bool names_span(const trilha_json_value *span, const char *member, const char *traceparent) {
  return trilha_text_equal(trilha_json_member_string(span, member), (trilha_text){traceparent + 36, 16});
}

/* --- publishing ------------------------------------------------------------------------------------------------ */

static void a_publish_is_a_child_of_the_context_given_and_its_row_carries_the_span(void **state) {
  collector c;
  char stored[64];
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  trilha_publication p = publication("teste.a", "{\"n\":1,\"texto\":\"Rua das Flores\"}");
  p.event_id = TRILHA_TEXT("0a000000-0000-0000-0000-00000000000f");
  p.traceparent = TRILHA_TEXT("00-" TRACE_ID "-" SPAN_ID "-01");
  p.tracestate = TRILHA_TEXT("vendor=1");
  publish(handle, &p, stored);
  end(handle, &c);
  assert_int_equal(c.trace_count, 1);
  trilha_json_document *d = parsed(c.traces[0]);
  const trilha_json_value *span = span_at(d, 0);
  expect_name(span, "event.publish");
  assert_true(names_trace(span, "traceId", stored) && names_span(span, "spanId", stored));
  assert_true(trilha_json_is(trilha_json_member(span, "traceId"), TRACE_ID));
  assert_true(trilha_json_is(trilha_json_member(span, "parentSpanId"), SPAN_ID));
  assert_true(trilha_json_is(trilha_json_member(span, "traceState"), "vendor=1"));
  expect_attribute(span, "messaging.destination.name", "teste.a");
  expect_attribute(span, "messaging.message.id", "0a000000-0000-0000-0000-00000000000f");
  expect_attribute(span, "messaging.message.conversation_id", "0a000000-0000-0000-0000-00000000000f");
  expect_attribute(span, "trilha.sequence_number", "1");
  assert_null(trilha_json_member(span, "status"));
  assert_null(span_at(d, 1));
  assert_null(strstr(c.traces[0], "Flores"));
  assert_non_null(strstr(c.traces[0], "\"stringValue\":\"loja\""));
  trilha_json_document_free(d);
  collector_stop(&c);
}

static void a_context_that_is_not_sampled_is_stored_as_given_and_not_exported(void **state) {
  collector c;
  char stored[64];
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  p.traceparent = TRILHA_TEXT("00-" TRACE_ID "-" SPAN_ID "-00");
  publish(handle, &p, stored);
  assert_string_equal(stored, "00-" TRACE_ID "-" SPAN_ID "-00");
  end(handle, &c);
  assert_int_equal(c.trace_count, 0);
  assert_int_equal(c.metric_count, 1);
  collector_stop(&c);
}

static void without_an_exporter_the_context_is_stored_as_given(void **state) {
  trilha *handle = open_with(state, (trilha_otlp_options){0});
  char stored[64];
  trilha_otlp_counts none;
  trilha_error err = {0};
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  publish(handle, &p, stored);
  assert_string_equal(stored, "");
  p.traceparent = TRILHA_TEXT("00-" TRACE_ID "-" SPAN_ID "-01");
  publish(handle, &p, stored);
  assert_string_equal(stored, "00-" TRACE_ID "-" SPAN_ID "-01");
  assert_int_equal(trilha_otlp_count(handle, &none, &err), TRILHA_UNSUPPORTED);
  assert_string_equal(err.code, "OTLP_OFF");
  trilha_close(handle);
}

static void a_span_of_our_own_is_not_content_of_the_event(void **state) {
  collector c;
  trilha_publish_result result;
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  p.event_id = TRILHA_TEXT("0a000000-0000-0000-0000-00000000000f");
  publish(handle, &p, NULL);
  assert_int_equal(trilha_publish(handle, &p, &result, NULL), TRILHA_OK);
  assert_true(result.duplicate);
  assert_int_equal(result.content, TRILHA_CONTENT_SAME);
  trilha_publish_result_done(&result);
  end(handle, &c);
  trilha_json_document *d = parsed(c.traces[0]);
  assert_null(attribute(trilha_json_member(span_at(d, 0), "attributes"), "trilha.duplicate"));
  assert_non_null(attribute(trilha_json_member(span_at(d, 1), "attributes"), "trilha.duplicate"));
  trilha_json_document_free(d);
  collector_stop(&c);
}

static void a_refusal_tells_its_code_and_nothing_of_what_was_sent(void **state) {
  collector c;
  trilha_publish_result result;
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  trilha_publication p = publication("teste.a", "{\"n\":\"Rua-das-Flores\"}");
  assert_int_equal(trilha_publish(handle, &p, &result, NULL), TRILHA_INVALID);
  trilha_publish_result_done(&result);
  p = publication("tipo.desconhecido", "{}");
  assert_int_not_equal(trilha_publish(handle, &p, &result, NULL), TRILHA_OK);
  trilha_publish_result_done(&result);
  end(handle, &c);
  trilha_json_document *d = parsed(c.traces[0]);
  expect_attribute(span_at(d, 0), "error.type", "PAYLOAD_INVALID");
  expect_attribute(span_at(d, 0), "messaging.destination.name", "teste.a");
  expect_attribute(span_at(d, 1), "error.type", "EVENT_TYPE_NOT_FOUND");
  assert_int_equal(trilha_json_small(trilha_json_member(trilha_json_member(span_at(d, 1), "status"), "code")), 2);
  assert_null(strstr(c.traces[0], "Flores"));
  assert_null(strstr(c.traces[0], "tipo.desconhecido"));
  trilha_json_document_free(d);
  collector_stop(&c);
}

/* --- handlers ---------------------------------------------------------------------------------------------------- */

typedef struct relay {
  trilha *handle;
  bool fails;
  char own[64], nested[64], plain[64];
} relay;

/* Publishes twice: with the delivery's context, and as anybody would on this thread. */
static trilha_status pass_on(void *user, const trilha_event *event, trilha_delivery *delivery) {
  relay *r = user;
  (void)event;
  const char *own = trilha_delivery_traceparent(delivery);
  snprintf(r->own, sizeof r->own, "%s", own == NULL ? "" : own);
  if (r->fails) return trilha_delivery_fail(delivery, "a Rua das Flores caiu");
  trilha_publication p = publication("teste.b", "{\"n\":2}");
  trilha_publish_result result;
  trilha_status status = trilha_delivery_publish(delivery, &p, &result, NULL);
  if (status == TRILHA_OK && result.event->traceparent != NULL)
    snprintf(r->nested, sizeof r->nested, "%s", result.event->traceparent);
  trilha_publish_result_done(&result);
  publish(r->handle, &p, r->plain);
  return status;
}

static void subscribe(trilha *handle, relay *r) {
  trilha_subscription s = {
      .tipo = TRILHA_TEXT("teste.a"), .colonia = TRILHA_TEXT("D-4"), .handler = pass_on, .user = r};
  int64_t id;
  r->handle = handle;
  assert_int_equal(trilha_subscribe(handle, &s, &id, NULL), TRILHA_OK);
}

static const trilha_json_value *span_of(const trilha_json_document *d, const char *traceparent) {
  for (size_t i = 0; span_at(d, i) != NULL; i++)
    if (names_span(span_at(d, i), "spanId", traceparent)) return span_at(d, i);
  fail_msg("no span of %s", traceparent);
  return NULL;
}

static void a_handlers_span_links_to_the_publish_and_is_the_parent_of_what_it_publishes(void **state) {
  collector c;
  relay r = {0};
  char stored[64];
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  subscribe(handle, &r);
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  publish(handle, &p, stored);
  end(handle, &c);
  trilha_json_document *d = parsed(c.traces[0]);
  const trilha_json_value *process = span_of(d, r.own);
  expect_name(process, "event.process");
  expect_attribute(process, "messaging.consumer.group.name", "D-4");
  expect_attribute(process, "trilha.attempt", "1");
  const trilha_json_value *links = trilha_json_member(process, "links");
  assert_true(links != NULL && links->size == 1);
  assert_true(names_trace(links + 1, "traceId", stored) && names_span(links + 1, "spanId", stored));
  assert_null(trilha_json_member(process, "parentSpanId"));
  assert_false(names_trace(process, "traceId", stored));
  assert_true(names_span(span_of(d, r.nested), "parentSpanId", r.own));
  assert_true(names_trace(span_of(d, r.nested), "traceId", r.own));
  assert_true(names_span(span_of(d, r.plain), "parentSpanId", r.own));
  trilha_json_document_free(d);
  collector_stop(&c);
}

static void a_handler_that_fails_fails_its_span_without_its_words(void **state) {
  collector c;
  relay r = {.fails = true};
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  subscribe(handle, &r);
  trilha_publication p = publication("teste.a", "{\"n\":1,\"texto\":\"Rua das Flores\"}");
  publish(handle, &p, NULL);
  end(handle, &c);
  trilha_json_document *d = parsed(c.traces[0]);
  expect_attribute(span_of(d, r.own), "error.type", "HANDLER_FAILED");
  assert_null(strstr(c.traces[0], "Flores"));
  trilha_json_document_free(d);
  assert_non_null(strstr(c.metrics[0], "\"stringValue\":\"failure\""));
  collector_stop(&c);
}

static void what_was_not_sampled_stays_so_through_a_handler(void **state) {
  collector c;
  relay r = {0};
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  subscribe(handle, &r);
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  p.traceparent = TRILHA_TEXT("00-" TRACE_ID "-" SPAN_ID "-00");
  /* What the handler publishes has no context of its own to be stored then. */
  trilha_publish_result result;
  assert_int_equal(trilha_publish(handle, &p, &result, NULL), TRILHA_OK);
  trilha_publish_result_done(&result);
  assert_string_equal(r.own, "00-" TRACE_ID "-" SPAN_ID "-00");
  assert_string_equal(r.plain, "");
  end(handle, &c);
  assert_int_equal(c.trace_count, 0);
  collector_stop(&c);
}

static trilha_status take_all(void *user, const trilha_event *events, size_t count, trilha_delivery *delivery) {
  (void)events;
  (void)delivery;
  *(size_t *)user += count;
  return TRILHA_OK;
}

static void a_batch_of_a_durable_consumer_links_to_each_of_its_events(void **state) {
  collector c;
  char stored[3][64];
  size_t seen = 0;
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  for (size_t i = 0; i < 3; i++) publish(handle, &p, stored[i]);
  trilha_text types[] = {TRILHA_TEXT("teste.a")};
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = types,
                                     .type_count = 1,
                                     .batch_handler = take_all,
                                     .user = &seen,
                                     .from = TRILHA_FROM_START,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_consumer_new(handle, &options, &consumer, &err), TRILHA_OK);
  if (trilha_consumer_run(consumer, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  trilha_consumer_free(consumer);
  assert_int_equal(seen, 3);
  end(handle, &c);
  trilha_json_document *d = parsed(c.traces[0]);
  const trilha_json_value *process = span_at(d, 3), *links = trilha_json_member(process, "links"), *at = links + 1;
  expect_name(process, "event.process");
  expect_attribute(process, "messaging.batch.message_count", "3");
  assert_int_equal(links->size, 3);
  for (size_t i = 0; i < 3; i++, at = trilha_json_next(at)) assert_true(names_span(at, "spanId", stored[i]));
  trilha_json_document_free(d);
  collector_stop(&c);
}

/* --- numbers --------------------------------------------------------------------------------------------------------
 */

/* The data point of a metric whose outcome is this one (NULL: the first). */
static const trilha_json_value *point(const trilha_json_document *d, const char *name, const char *outcome) {
  const trilha_json_value *metrics =
      trilha_json_pointer_find(d->values, TRILHA_TEXT("/resourceMetrics/0/scopeMetrics/0/metrics"));
  const trilha_json_value *at = metrics + 1;
  for (uint32_t i = 0; i < metrics->size; i++, at = trilha_json_next(at)) {
    if (!trilha_json_is(trilha_json_member(at, "name"), name)) continue;
    const trilha_json_value *data = trilha_json_member(at, "histogram");
    if (data == NULL) data = trilha_json_member(at, "sum");
    const trilha_json_value *points = trilha_json_member(data, "dataPoints"), *one = points + 1;
    for (uint32_t k = 0; k < points->size; k++, one = trilha_json_next(one)) {
      const trilha_json_value *found = attribute(trilha_json_member(one, "attributes"), "outcome");
      if (outcome == NULL || trilha_json_is(trilha_json_member(found, "stringValue"), outcome)) return one;
    }
  }
  return NULL;
}

static void expect_number(const trilha_json_document *d, const char *name, const char *outcome, const char *member,
                          const char *value) {
  const trilha_json_value *found = trilha_json_member(point(d, name, outcome), member);
  if (!trilha_json_is(found, value)) fail_msg("%s %s is not %s", name, outcome == NULL ? "" : outcome, value);
}

static void publishes_are_counted_by_what_became_of_them(void **state) {
  collector c;
  trilha_publish_result result;
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_for(state, &c);
  trilha_fixture_register(handle, "teste.solto", "1.0.0",
                          "{\"type\":\"object\",\"properties\":{\"n\":{\"x-redacao\":\"manter\"}}}");
  trilha_publication p = publication("teste.a", "{\"n\":1}"), other = publication("teste.a", "{\"n\":2}");
  p.event_id = other.event_id = TRILHA_TEXT("0a000000-0000-0000-0000-00000000000f");
  publish(handle, &p, NULL);
  publish(handle, &p, NULL);
  publish(handle, &other, NULL);
  trilha_publication wrong = publication("teste.a", "{}"),
                     loose = publication("teste.solto", "{\"n\":1,\"x\":1,\"y\":2}");
  assert_int_equal(trilha_publish(handle, &wrong, &result, NULL), TRILHA_INVALID);
  trilha_publish_result_done(&result);
  assert_int_equal(trilha_publish_check(handle, &wrong, &result, NULL), TRILHA_INVALID); /* not a publish */
  trilha_publish_result_done(&result);
  publish(handle, &loose, NULL);
  end(handle, &c);
  assert_int_equal(c.metric_count, 1);
  trilha_json_document *d = parsed(c.metrics[0]);
  expect_number(d, "trilha.publish.duration", "stored", "count", "2");
  expect_number(d, "trilha.publish.duration", "duplicate", "count", "2");
  expect_number(d, "trilha.publish.duration", "refused", "count", "1");
  assert_null(point(d, "trilha.publish.duration", "failed"));
  expect_number(d, "trilha.publish.duplicates", NULL, "asInt", "2");
  expect_number(d, "trilha.publish.divergences", NULL, "asInt", "1");
  expect_number(d, "trilha.redaction.drops", NULL, "asInt", "2");
  expect_number(d, "trilha.telemetry.spans", "sent", "asInt", "5");
  expect_number(d, "trilha.telemetry.spans", "dropped", "asInt", "0");
  trilha_json_document_free(d);
  collector_stop(&c);
}

static void who_only_reads_sends_nothing_and_ends_at_once(void **state) {
  collector c;
  collector_start(&c, NULL); /* an answer would never come */
  trilha *handle = open_for(state, &c);
  trilha_events_page *page;
  assert_int_equal(trilha_events_query(handle, NULL, &page, NULL), TRILHA_OK);
  trilha_events_page_free(page);
  end(handle, &c);
  assert_int_equal(c.heard, 0);
  collector_stop(&c);
}

/* --- collectors that do not do what is asked of them -----------------------------------------------------------------
 */

static void a_collector_that_hangs_holds_no_publish_up_and_costs_spans_not_memory(void **state) {
  enum { QUEUE = 8, EVENTS = 60 };
  collector c;
  collector_start(&c, NULL);
  trilha *handle = open_with(
      state,
      (trilha_otlp_options){
          .endpoint = c.endpoint, .interval_ms = FAR_MS, .timeout_ms = FAR_MS, .flush_ms = FAR_MS, .queue_max = QUEUE});
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  for (int i = 0; i < EVENTS; i++) publish(handle, &p, NULL);
  /* All of them have returned, and the collector, which got one request, has not answered yet. */
  collector_wait(&c, 1);
  trilha_otlp_counts now = counts(handle);
  assert_int_equal(now.spans_sent, 0);
  assert_true(now.spans_waiting <= QUEUE);
  assert_true(now.spans_dropped >= EVENTS - 2 * QUEUE);
  collector_answer(&c, COLLECTOR_TAKES);
  for (int i = 0; i < QUEUE; i++) publish(handle, &p, NULL); /* what waits is enough to be sent again */
  now = wait_for(handle, EVENTS);
  assert_true(now.spans_sent > 0);
  end(handle, &c);
  size_t told = 0;
  for (size_t i = 0; i < c.trace_count; i++)
    for (const char *at = c.traces[i]; (at = strstr(at, "\"event.publish\"")) != NULL; at++) told++;
  /* Each span was sent or counted as dropped: what the collector holds is what the last metrics say. */
  trilha_json_document *d = parsed(c.metrics[c.metric_count - 1]);
  char sent[24], dropped[24];
  snprintf(sent, sizeof sent, "%zu", told);
  snprintf(dropped, sizeof dropped, "%zu", EVENTS + QUEUE - told);
  expect_number(d, "trilha.telemetry.spans", "sent", "asInt", sent);
  expect_number(d, "trilha.telemetry.spans", "dropped", "asInt", dropped);
  trilha_json_document_free(d);
  collector_stop(&c);
}

static void a_close_does_not_wait_for_a_collector_that_hangs(void **state) {
  collector c;
  collector_start(&c, NULL);
  trilha *handle = open_with(
      state, (trilha_otlp_options){
                 .endpoint = c.endpoint, .interval_ms = FAR_MS, .timeout_ms = FAR_MS, .flush_ms = 100, .queue_max = 2});
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  publish(handle, &p, NULL);
  collector_wait(&c, 1); /* a request of ten minutes is under way */
  publish(handle, &p, NULL);
  end(handle, &c);
  collector_stop(&c);
}

typedef struct ear {
  atomic_int failed, restored, dropped;
} ear;

static void hear(void *user, const trilha_diagnostic *d) {
  ear *e = user;
  if (strcmp(d->name, "otlp.export_failed") == 0) atomic_fetch_add(&e->failed, 1);
  if (strcmp(d->name, "otlp.export_restored") == 0) atomic_fetch_add(&e->restored, 1);
  if (strcmp(d->name, "otlp.spans_dropped") == 0) atomic_fetch_add(&e->dropped, 1);
}

/* Bound and not listening: nobody else gets the port meanwhile. */
static int a_port_where_nobody_listens(char endpoint[64]) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
  snprintf(endpoint, 64, "http://127.0.0.1:%u", ntohs(at.sin_port));
  return fd;
}

static void a_collector_that_refuses_connections_is_told_once_and_its_spans_are_counted(void **state) {
  ear e = {0};
  char nobody[64];
  int taken = a_port_where_nobody_listens(nobody);
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_options options = {.store_url = f->url,
                            .keyring = f->keyring,
                            .diagnostics = {hear, &e},
                            .otlp = {.endpoint = nobody, .interval_ms = FAR_MS, .flush_ms = FAR_MS, .queue_max = 4}};
  trilha *handle = NULL;
  assert_int_equal(trilha_open(&options, &handle, NULL), TRILHA_OK);
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  for (int i = 0; i < 12; i++) publish(handle, &p, NULL);
  trilha_deadline end = trilha_deadline_in_ms(PATIENCE_MS);
  while (counts(handle).requests_failed == 0 && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(5);
  assert_true(counts(handle).requests_failed > 0);
  assert_int_equal(counts(handle).spans_sent, 0);
  trilha_close(handle);
  assert_int_equal(e.failed, 1);
  assert_int_equal(e.restored, 0);
  assert_int_equal(e.dropped, 1);
  close(taken);
}

static void what_a_collector_cannot_take_now_is_sent_again_as_it_was(void **state) {
  collector c;
  ear e = {0};
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  collector_start(&c, COLLECTOR_TAKES);
  collector_once(&c, "HTTP/1.1 503 Later\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
  trilha_options options = {
      .store_url = f->url,
      .keyring = f->keyring,
      .diagnostics = {hear, &e},
      .otlp = {
          .endpoint = c.endpoint, .interval_ms = FAR_MS, .timeout_ms = FAR_MS, .flush_ms = FAR_MS, .queue_max = 2}};
  trilha *handle = NULL;
  assert_int_equal(trilha_open(&options, &handle, NULL), TRILHA_OK);
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  publish(handle, &p, NULL);
  trilha_otlp_counts now = wait_for(handle, 1);
  assert_int_equal(now.spans_sent, 1);
  assert_int_equal(now.spans_dropped, 0);
  assert_int_equal(now.requests_failed, 1);
  end(handle, &c);
  assert_int_equal(c.trace_count, 2);
  assert_string_equal(c.traces[0], c.traces[1]);
  assert_int_equal(e.failed, 1);
  assert_int_equal(e.restored, 1);
  collector_stop(&c);
}

static void what_a_collector_refuses_is_not_sent_again(void **state) {
  collector c;
  collector_start(&c, COLLECTOR_TAKES);
  collector_once(&c, "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n");
  trilha *handle = open_with(
      state,
      (trilha_otlp_options){
          .endpoint = c.endpoint, .interval_ms = FAR_MS, .timeout_ms = FAR_MS, .flush_ms = FAR_MS, .queue_max = 2});
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  publish(handle, &p, NULL);
  trilha_otlp_counts now = wait_for(handle, 1);
  assert_int_equal(now.spans_dropped, 1);
  assert_int_equal(now.requests_failed, 1);
  end(handle, &c);
  assert_int_equal(c.trace_count, 1);
  collector_stop(&c);
}

static void spans_that_a_collector_refuses_among_others_are_counted(void **state) {
  collector c;
  collector_start(&c, "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{\"partialSuccess\":{\"rejectedSpans\":\"2\"}}");
  trilha *handle = open_with(
      state,
      (trilha_otlp_options){
          .endpoint = c.endpoint, .interval_ms = FAR_MS, .timeout_ms = FAR_MS, .flush_ms = FAR_MS, .queue_max = 6});
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  trilha_publication three[] = {p, p, p};
  trilha_publish_result results[3];
  assert_int_equal(trilha_publish_many(handle, three, 3, results, NULL), TRILHA_OK);
  for (size_t i = 0; i < 3; i++) trilha_publish_result_done(&results[i]);
  trilha_otlp_counts now = wait_for(handle, 3);
  assert_int_equal(now.spans_sent, 1);
  assert_int_equal(now.spans_dropped, 2);
  end(handle, &c);
  collector_stop(&c);
}

/* --- options
 * ----------------------------------------------------------------------------------------------------------- */

static void headers_go_along_and_the_endpoint_may_have_a_path(void **state) {
  collector c;
  char endpoint[96];
  collector_start(&c, COLLECTOR_TAKES);
  snprintf(endpoint, sizeof endpoint, "%s/tenant/7/", c.endpoint);
  trilha *handle = open_with(
      state,
      (trilha_otlp_options){
          .endpoint = endpoint, .headers = "api-key=s3cret,x-two=a%20b", .interval_ms = FAR_MS, .flush_ms = FAR_MS});
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  publish(handle, &p, NULL);
  end(handle, &c);
  assert_int_equal(strncmp(c.head, "POST /tenant/7/v1/metrics HTTP/1.1\r\n", 36), 0);
  assert_non_null(strstr(c.head, "\r\napi-key: s3cret\r\n"));
  assert_non_null(strstr(c.head, "\r\nx-two: a b\r\n"));
  assert_non_null(strstr(c.head, "\r\nContent-Type: application/json\r\n"));
  collector_stop(&c);
}

static void an_option_that_is_not_of_its_form_is_refused_and_not_repeated(void **state) {
  trilha_fixture *f = *state;
  static const struct {
    trilha_otlp_options otlp;
    const char *code;
  } wrong[] = {{{.endpoint = ""}, "OTLP_ENDPOINT"},
               {{.endpoint = "127.0.0.1:4318"}, "OTLP_ENDPOINT"},
               {{.endpoint = "ftp://s3cret@h"}, "OTLP_ENDPOINT"},
               {{.endpoint = "http://"}, "OTLP_ENDPOINT"},
               {{.endpoint = "http://h/?key=s3cret"}, "OTLP_ENDPOINT"},
               {{.endpoint = "http://h/\r\nX: s3cret"}, "OTLP_ENDPOINT"},
               {{.endpoint = "http://h", .headers = "s3cret"}, "OTLP_HEADERS"},
               {{.endpoint = "http://h", .headers = "a=b,c=s3cret%"}, "OTLP_HEADERS"},
               {{.endpoint = "http://h", .service_name = "\xFF"}, "OTLP_SERVICE_NAME"},
               {{.endpoint = "http://h", .queue_max = 65537}, "OTLP_QUEUE"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    trilha_options options = {.store_url = f->url, .keyring = f->keyring, .otlp = wrong[i].otlp};
    trilha *handle = NULL;
    trilha_error err = {0};
    assert_int_equal(trilha_open(&options, &handle, &err), TRILHA_USAGE);
    assert_string_equal(err.code, wrong[i].code);
    assert_null(strstr(err.text, "s3cret"));
    assert_null(handle);
  }
}

/* --- threads
 * ------------------------------------------------------------------------------------------------------------- */

static void *publish_some(void *user) {
  trilha_publication p = publication("teste.a", "{\"n\":1}");
  for (int i = 0; i < 25; i++) publish(user, &p, NULL);
  return NULL;
}

static void many_threads_share_one_exporter(void **state) {
  enum { THREADS = 4 };
  collector c;
  pthread_t threads[THREADS];
  collector_start(&c, COLLECTOR_TAKES);
  trilha *handle = open_with(
      state,
      (trilha_otlp_options){
          .endpoint = c.endpoint, .interval_ms = 20, .timeout_ms = FAR_MS, .flush_ms = FAR_MS, .queue_max = 200});
  for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, publish_some, handle), 0);
  for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  trilha_otlp_counts now = wait_for(handle, THREADS * 25);
  assert_int_equal(now.spans_sent, THREADS * 25);
  end(handle, &c);
  collector_stop(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_publish_is_a_child_of_the_context_given_and_its_row_carries_the_span),
      TEST(a_context_that_is_not_sampled_is_stored_as_given_and_not_exported),
      TEST(without_an_exporter_the_context_is_stored_as_given),
      TEST(a_span_of_our_own_is_not_content_of_the_event),
      TEST(a_refusal_tells_its_code_and_nothing_of_what_was_sent),
      TEST(a_handlers_span_links_to_the_publish_and_is_the_parent_of_what_it_publishes),
      TEST(a_handler_that_fails_fails_its_span_without_its_words),
      TEST(what_was_not_sampled_stays_so_through_a_handler),
      TEST(a_batch_of_a_durable_consumer_links_to_each_of_its_events),
      TEST(publishes_are_counted_by_what_became_of_them),
      TEST(who_only_reads_sends_nothing_and_ends_at_once),
      TEST(a_collector_that_hangs_holds_no_publish_up_and_costs_spans_not_memory),
      TEST(a_close_does_not_wait_for_a_collector_that_hangs),
      TEST(a_collector_that_refuses_connections_is_told_once_and_its_spans_are_counted),
      TEST(what_a_collector_cannot_take_now_is_sent_again_as_it_was),
      TEST(what_a_collector_refuses_is_not_sent_again),
      TEST(spans_that_a_collector_refuses_among_others_are_counted),
      TEST(headers_go_along_and_the_endpoint_may_have_a_path),
      TEST(an_option_that_is_not_of_its_form_is_refused_and_not_repeated),
      TEST(many_threads_share_one_exporter),
  };
  return cmocka_run_group_tests_name("otlp export", tests, NULL, NULL);
}
