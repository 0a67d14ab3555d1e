/* otlp: requests as JSON, headers as they are given, and what a collector answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json/json.h"
#include "otlp/otlp_internal.h"

static char service[] = "serviço \"x\"";
static const trilha_otlp_resource RESOURCE = {
    .service_name = service, .instance_id = "0a000000-0000-4000-8000-00000000000f", .started_us = 1000000};

static trilha_json_document *parsed(const trilha_buffer *out) {
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_error err = {0};
  assert_int_equal(out->failed, TRILHA_OK);
  if (trilha_json_parse(trilha_buffer_text(out), &limits, &document, NULL, &err) != TRILHA_OK)
    fail_msg("%s: %s", err.text, out->data);
  assert_int_equal(trilha_json_check_storable(document, trilha_buffer_text(out), NULL, NULL), TRILHA_OK);
  return document;
}

static void expect(const trilha_json_document *document, const char *pointer, const char *json) {
  const trilha_json_value *value = trilha_json_pointer_find(document->values, trilha_text_of(pointer));
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  if (value == NULL) fail_msg("there is no %s", pointer);
  trilha_json_write(&text, value);
  if (!trilha_text_is(trilha_buffer_text(&text), json)) fail_msg("%s is %s, not %s", pointer, text.data, json);
}

static void absent(const trilha_json_document *document, const char *pointer) {
  assert_null(trilha_json_pointer_find(document->values, trilha_text_of(pointer)));
}

#define A_SPAN "/resourceSpans/0/scopeSpans/0/spans/0"

static void a_span_says_all_that_it_knows(void **state) {
  (void)state;
  trilha_trace link = {.trace_id = {0xAB}, .span_id = {0xCD}, .sampled = true};
  trilha_ended_span ended = {.span = {.own = {.trace_id = {1, 0xF0}, .span_id = {2}, .sampled = true},
                                      .parent_id = {3},
                                      .has_parent = true,
                                      .recorded = true,
                                      .began_us = 1790000000123456},
                             .facts = {.kind = TRILHA_SPAN_PROCESS,
                                       .took_ns = 1500,
                                       .tipo = TRILHA_TEXT("a\"b\\c\n"),
                                       .colonia = TRILHA_TEXT("D-4"),
                                       .tracestate = TRILHA_TEXT("v=1"),
                                       .error_code = TRILHA_TEXT("HANDLER_FAILED"),
                                       .sequence_number = 7,
                                       .attempt = 2,
                                       .events = 3,
                                       .duplicate = true,
                                       .links = &link,
                                       .link_count = 1}};
  trilha_ended_span *spans[] = {&ended, &ended};
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  trilha_otlp_write_spans(&RESOURCE, spans, 2, &out);
  trilha_json_document *d = parsed(&out);
  expect(d, "/resourceSpans/0/resource/attributes/0",
         "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"serviço \\\"x\\\"\"}}");
  expect(d, A_SPAN "/traceId", "\"01f00000000000000000000000000000\"");
  expect(d, A_SPAN "/spanId", "\"0200000000000000\"");
  expect(d, A_SPAN "/parentSpanId", "\"0300000000000000\"");
  expect(d, A_SPAN "/traceState", "\"v=1\"");
  expect(d, A_SPAN "/name", "\"event.process\"");
  expect(d, A_SPAN "/kind", "5");
  expect(d, A_SPAN "/startTimeUnixNano", "\"1790000000123456000\"");
  expect(d, A_SPAN "/endTimeUnixNano", "\"1790000000123457500\"");
  expect(d, A_SPAN "/attributes/3",
         "{\"key\":\"messaging.destination.name\",\"value\":{\"stringValue\":\"a\\\"b\\\\c\\n\"}}");
  expect(d, A_SPAN "/links",
         "[{\"traceId\":\"ab000000000000000000000000000000\",\"spanId\":\"cd00000000000000\",\"flags\":1}]");
  expect(d, A_SPAN "/status", "{\"code\":2,\"message\":\"HANDLER_FAILED\"}");
  expect(d, "/resourceSpans/0/scopeSpans/0/spans/1/name", "\"event.process\"");
  absent(d, "/resourceSpans/0/scopeSpans/0/spans/2");
  trilha_json_document_free(d);
}

static void what_a_span_does_not_know_is_not_there(void **state) {
  (void)state;
  trilha_ended_span ended = {.span = {.own = {.trace_id = {1}, .span_id = {2}, .sampled = true}, .recorded = true}};
  trilha_ended_span *spans[] = {&ended};
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  trilha_otlp_write_spans(&RESOURCE, spans, 1, &out);
  trilha_json_document *d = parsed(&out);
  static const char *const names[] = {A_SPAN "/parentSpanId", A_SPAN "/traceState", A_SPAN "/links", A_SPAN "/status",
                                      A_SPAN "/attributes/3"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) absent(d, names[i]);
  expect(d, A_SPAN "/name", "\"event.publish\"");
  expect(d, A_SPAN "/kind", "4");
  trilha_json_document_free(d);
}

#define METRICS "/resourceMetrics/0/scopeMetrics/0/metrics"

static void numbers_are_cumulative_histograms_and_sums(void **state) {
  (void)state;
  trilha_measurements *m = calloc(1, sizeof *m);
  assert_non_null(m);
  m->publish[TRILHA_PUBLISH_STORED] = (trilha_durations){.buckets = {[2] = 3}, .count = 3, .sum_ns = 6000000001};
  m->publish[TRILHA_PUBLISH_DUPLICATE] = (trilha_durations){.buckets = {1}, .count = 1, .sum_ns = 5};
  m->colony_count = 1;
  memcpy(m->colonies[0].name, "D-4", 4);
  m->colonies[0].failed = (trilha_durations){.buckets = {1}, .count = 1, .sum_ns = 5};
  m->colonies[TRILHA_MEASURED_COLONIES_MAX].succeeded = (trilha_durations){.buckets = {2}, .count = 2, .sum_ns = 5};
  m->redaction_drops = 9;
  m->spans_dropped = 4;
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  trilha_otlp_write_metrics(&RESOURCE, m, 11, 2000000, &out);
  trilha_json_document *d = parsed(&out);
  expect(d, METRICS "/0/name", "\"trilha.publish.duration\"");
  expect(d, METRICS "/0/unit", "\"s\"");
  expect(d, METRICS "/0/histogram/aggregationTemporality", "2");
  expect(d, METRICS "/0/histogram/dataPoints/0/attributes",
         "[{\"key\":\"outcome\",\"value\":{\"stringValue\":\"stored\"}}]");
  expect(d, METRICS "/0/histogram/dataPoints/0/startTimeUnixNano", "\"1000000000\"");
  expect(d, METRICS "/0/histogram/dataPoints/0/timeUnixNano", "\"2000000000\"");
  expect(d, METRICS "/0/histogram/dataPoints/0/count", "\"3\"");
  expect(d, METRICS "/0/histogram/dataPoints/0/sum", "6.000000001");
  expect(d, METRICS "/0/histogram/dataPoints/0/bucketCounts",
         "[\"0\",\"0\",\"3\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\"]");
  expect(d, METRICS "/0/histogram/dataPoints/0/explicitBounds",
         "[0.0005,0.001,0.0025,0.005,0.01,0.025,0.1,0.5,2.5,30]");
  absent(d, METRICS "/0/histogram/dataPoints/2");
  expect(d, METRICS "/1/name", "\"trilha.process.duration\"");
  expect(d, METRICS "/1/histogram/dataPoints/0/attributes",
         "[{\"key\":\"colonia\",\"value\":{\"stringValue\":\"D-4\"}},{\"key\":\"outcome\",\"value\":{\"stringValue\":"
         "\"failure\"}}]");
  expect(d, METRICS "/1/histogram/dataPoints/1/attributes/0/value/stringValue", "\"_other\"");
  expect(d, METRICS "/2/name", "\"trilha.publish.duplicates\"");
  expect(d, METRICS "/2/sum/isMonotonic", "true");
  expect(d, METRICS "/2/sum/dataPoints/0/asInt", "\"1\"");
  expect(d, METRICS "/4/sum/dataPoints/0/asInt", "\"9\"");
  expect(d, METRICS "/5/sum/dataPoints/0/asInt", "\"11\"");
  expect(d, METRICS "/5/sum/dataPoints/1/asInt", "\"4\"");
  trilha_json_document_free(d);
  free(m);
}

static void headers_are_read_as_opentelemetry_writes_them(void **state) {
  (void)state;
  char *lines[TRILHA_OTLP_HEADERS_MAX] = {0};
  size_t count = 0;
  assert_int_equal(
      trilha_otlp_read_headers(" api-key = s%2Cecret , X-Two=a b,,Authorization=Basic%20eA==", lines, &count, NULL),
      TRILHA_OK);
  assert_int_equal(count, 3);
  assert_string_equal(lines[0], "api-key: s,ecret");
  assert_string_equal(lines[1], "X-Two: a b");
  assert_string_equal(lines[2], "Authorization: Basic eA==");
  for (size_t i = 0; i < count; i++) free(lines[i]);
  assert_int_equal(trilha_otlp_read_headers("", lines, &count, NULL), TRILHA_OK);
  assert_int_equal(count, 0);
}

static void headers_that_are_none_are_refused_without_their_value(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "s3cret",      "=s3cret",          "a b=s3cret", "a=s3cret%0d%0aX: y", "a=s3cret%2",
      "a=s3cret%zz", "a=s3cret\r\nX: y", "a=",         "a:b=s3cret",         "a=s3cr\xC3\xA9t"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    char *lines[TRILHA_OTLP_HEADERS_MAX] = {0};
    size_t count = 0;
    trilha_error err = {0};
    if (trilha_otlp_read_headers(wrong[i], lines, &count, &err) != TRILHA_USAGE) fail_msg("taken: %s", wrong[i]);
    assert_string_equal(err.code, "OTLP_HEADERS");
    assert_null(strstr(err.text, "s3cr"));
    for (size_t k = 0; k < count; k++) free(lines[k]);
  }
  TRILHA_BUFFER_SCOPED many;
  trilha_buffer_init(&many, 0);
  for (int i = 0; i <= TRILHA_OTLP_HEADERS_MAX; i++) trilha_buffer_add_format(&many, "a%d=b,", i);
  char *lines[TRILHA_OTLP_HEADERS_MAX] = {0};
  size_t count = 0;
  assert_int_equal(trilha_otlp_read_headers(many.data, lines, &count, NULL), TRILHA_USAGE);
  assert_int_equal(count, TRILHA_OTLP_HEADERS_MAX);
  for (size_t k = 0; k < count; k++) free(lines[k]);
}

static void a_collector_says_how_many_spans_it_refused(void **state) {
  (void)state;
  static const struct {
    const char *answer;
    int64_t rejected;
  } cases[] = {{"", 0},
               {"{}", 0},
               {"nonsense", 0},
               {"[]", 0},
               {"{\"partialSuccess\":{}}", 0},
               {"{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":\"no\"}}", 3},
               {"{\"partialSuccess\":{\"rejectedSpans\":12}}", 12},
               {"{\"partialSuccess\":{\"rejectedSpans\":-1}}", 0},
               {"{\"partialSuccess\":{\"rejectedSpans\":\"x\"}}", 0},
               {"{\"partialSuccess\":{\"rejectedSpans\":null}}", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (trilha_otlp_rejected(trilha_text_of(cases[i].answer)) != cases[i].rejected) fail_msg("%s", cases[i].answer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_span_says_all_that_it_knows),
      cmocka_unit_test(what_a_span_does_not_know_is_not_there),
      cmocka_unit_test(numbers_are_cumulative_histograms_and_sums),
      cmocka_unit_test(headers_are_read_as_opentelemetry_writes_them),
      cmocka_unit_test(headers_that_are_none_are_refused_without_their_value),
      cmocka_unit_test(a_collector_says_how_many_spans_it_refused),
  };
  return cmocka_run_group_tests_name("otlp encode", tests, NULL, NULL);
}
