/* schema: schemas and documents that want the process to hang, to run out of stack or memory, or to be believed when
 * nothing was decided. Every case ends by a named limit. */
#include <pthread.h>
#include <time.h>

#include "schema_test.h"

enum { SECONDS_MAX = 60 }; /* of processor time; generous, for sanitizers: quadratic work would take many minutes */

static int64_t seconds_used(void) {
  struct timespec at;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return (int64_t)at.tv_sec;
}

static trilha_schema *compile_or_fail(const char *text) {
  trilha_error error = {0};
  trilha_schema *schema = test_compile(text, NULL, &error);
  if (schema == NULL) fail_msg("%s %s", error.code, error.text);
  return schema;
}

static trilha_verdict judge_once(const char *schema_text, const char *instance) {
  trilha_schema *schema = compile_or_fail(schema_text);
  judge j;
  judge_init(&j);
  trilha_verdict verdict = judge_text(&j, schema, trilha_text_of(instance));
  judge_done(&j);
  trilha_schema_free(schema);
  return verdict;
}

static void expect_refusal(const char *schema_text, trilha_status status, const char *code) {
  trilha_error error = {0};
  trilha_schema *schema = test_compile(schema_text, NULL, &error);
  assert_null(schema);
  assert_int_equal(error.status, status);
  assert_string_equal(error.code, code);
}

static void repeat(trilha_buffer *out, const char *text, int times) {
  for (int i = 0; i < times; i++) trilha_buffer_add_string(out, text);
}

static void references_that_go_round_without_consuming_are_undecided(void **state) {
  (void)state;
  assert_int_equal(judge_once("{\"$ref\":\"#\"}", "1"), TRILHA_VERDICT_UNDECIDED);
  assert_int_equal(judge_once("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/b\"}]},"
                              "\"b\":{\"anyOf\":[{\"$ref\":\"#/$defs/a\"}]}}}",
                              "{\"x\":[]}"),
                   TRILHA_VERDICT_UNDECIDED);
  assert_int_equal(judge_once("{\"$dynamicAnchor\":\"m\",\"allOf\":[{\"$dynamicRef\":\"#m\"}]}", "1"),
                   TRILHA_VERDICT_UNDECIDED);
}

static void undecided_is_never_a_match_nor_a_mismatch(void **state) {
  (void)state;
  static const char *const around[] = {
      "{\"not\":%s,%s}",
      "{\"oneOf\":[%s,true],%s}",
      "{\"anyOf\":[%s,{\"type\":\"string\"}],%s}",
      "{\"if\":%s,\"then\":true,\"else\":false,%s}",
      "{\"contains\":%s,\"minContains\":0,\"maxContains\":0,%s}",
      "{\"properties\":{\"a\":%s},\"unevaluatedProperties\":false,%s}",
      "{\"not\":{\"not\":%s},%s}",
  };
  for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
    char schema[512];
    snprintf(schema, sizeof(schema), around[i], "{\"$ref\":\"#/$defs/l\"}",
             "\"$defs\":{\"l\":{\"$ref\":\"#/$defs/l\"}}");
    const char *instance = strstr(around[i], "contains") != NULL ? "[1]" : "{\"a\":1}";
    trilha_verdict verdict = judge_once(schema, instance);
    if (verdict != TRILHA_VERDICT_UNDECIDED) fail_msg("%s gives %d", schema, verdict);
  }
}

static void patterns_that_run_out_of_their_limits_are_undecided_inside_not(void **state) {
  (void)state;
  /* a back reference keeps the pattern away from linear matching */
  const char *schema = "{\"not\":{\"pattern\":\"^((a+)+)\\\\1+b$\"}}";
  TRILHA_BUFFER_SCOPED instance = {0};
  trilha_buffer_add_char(&instance, '"');
  repeat(&instance, "a", 3000);
  trilha_buffer_add_string(&instance, "b!\"");
  assert_int_equal(judge_once(schema, instance.data), TRILHA_VERDICT_UNDECIDED);
}

static void billion_laughs_compile_small_and_run_bounded(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED schema = {0};
  trilha_buffer_add_string(&schema, "{\"$ref\":\"#/$defs/l0\",\"$defs\":{\"l40\":{\"type\":\"string\"}");
  for (int i = 0; i < 40; i++) {
    trilha_buffer_add_format(&schema, ",\"l%d\":{\"allOf\":[", i);
    for (int k = 0; k < 10; k++)
      trilha_buffer_add_format(&schema, "%s{\"$ref\":\"#/$defs/l%d\"}", k == 0 ? "" : ",", i + 1);
    trilha_buffer_add_string(&schema, "]}");
  }
  trilha_buffer_add_string(&schema, "}}");
  trilha_error error = {0};
  trilha_schema_options options = {.run_steps_max = 2000000};
  trilha_schema *compiled = test_compile(schema.data, &options, &error);
  assert_non_null(compiled);
  judge j;
  judge_init(&j);
  int64_t start = seconds_used();
  assert_int_equal(judge_text(&j, compiled, TRILHA_TEXT("\"x\"")), TRILHA_VERDICT_UNDECIDED);
  assert_int_equal(judge_text(&j, compiled, TRILHA_TEXT("1")), TRILHA_VERDICT_INVALID);
  assert_in_range(seconds_used() - start, 0, SECONDS_MAX);
  judge_done(&j);
  trilha_schema_free(compiled);
}

static void combinators_that_multiply_run_out_of_steps(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED schema = {0};
  trilha_buffer_add_string(&schema, "{\"$ref\":\"#/$defs/l0\",\"$defs\":{\"l40\":{\"minimum\":5}");
  for (int i = 0; i < 40; i++) {
    trilha_buffer_add_format(
        &schema,
        ",\"l%d\":{\"oneOf\":[{\"items\":{\"$ref\":\"#/$defs/l%d\"}},{\"not\":{\"$ref\":\"#/$defs/l%d\"}},"
        "{\"$ref\":\"#/$defs/l%d\"}]}",
        i, i + 1, i + 1, i + 1);
  }
  trilha_buffer_add_string(&schema, "}}");
  trilha_error error = {0};
  trilha_schema_options options = {.run_steps_max = 200000};
  trilha_schema *compiled = test_compile(schema.data, &options, &error);
  assert_non_null(compiled);
  judge j;
  judge_init(&j);
  assert_int_equal(judge_text(&j, compiled, TRILHA_TEXT("[[[[[[1,2,3]]]]]]")), TRILHA_VERDICT_UNDECIDED);
  judge_done(&j);
  trilha_schema_free(compiled);
}

static void steps_are_counted_alike_with_and_without_keys(void **state) {
  (void)state;
  const char *text = "{\"properties\":{\"a\":{\"items\":{\"minimum\":1}}},\"required\":[\"a\"]}";
  const trilha_text instance = TRILHA_TEXT("{\"b\":[1,2,3],\"a\":[1,2,3,4,5,6,7,8,9]}");
  judge j;
  judge_init(&j);
  bool undecided = false, valid = false;
  for (uint64_t steps = 1; steps < 200; steps++) {
    trilha_schema_options options = {.run_steps_max = steps};
    trilha_error error = {0};
    trilha_schema *schema = test_compile(text, &options, &error);
    trilha_json_reader *reader = j.reader;
    const trilha_json_document *document = NULL;
    trilha_json_limits limits = TRILHA_JSON_LIMITS;
    const trilha_json_keys *keys = trilha_schema_keys(schema);
    assert_int_equal(trilha_json_read(reader, instance, &limits, keys, &document, NULL, &error), TRILHA_OK);
    trilha_verdict with = trilha_schema_validate(schema, document, keys, j.scratch);
    assert_int_equal(trilha_json_read(reader, instance, &limits, NULL, &document, NULL, &error), TRILHA_OK);
    assert_int_equal(trilha_schema_validate(schema, document, NULL, j.scratch), with);
    assert_int_not_equal(with, TRILHA_VERDICT_INVALID);
    assert_false(valid && with != TRILHA_VERDICT_VALID);
    undecided = undecided || with == TRILHA_VERDICT_UNDECIDED;
    valid = valid || with == TRILHA_VERDICT_VALID;
    trilha_schema_free(schema);
  }
  assert_true(undecided && valid);
  judge_done(&j);
}

static void ten_thousand_properties_are_judged_in_one_pass(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED schema = {0}, required = {0}, instance = {0};
  trilha_buffer_add_string(&schema, "{\"additionalProperties\":false,\"properties\":{");
  trilha_buffer_add_char(&instance, '{');
  for (int i = 0; i < 10000; i++) {
    trilha_buffer_add_format(&schema, "%s\"name_%d\":{\"minimum\":%d}", i == 0 ? "" : ",", i, i);
    trilha_buffer_add_format(&required, "%s\"name_%d\"", i == 0 ? "" : ",", i);
    trilha_buffer_add_format(&instance, "%s\"name_%d\":%d", i == 0 ? "" : ",", 9999 - i, 9999 - i);
  }
  trilha_buffer_add_string(&schema, "},\"required\":[");
  trilha_buffer_add_text(&schema, trilha_buffer_text(&required));
  trilha_buffer_add_string(&schema, "]}");
  trilha_buffer_add_char(&instance, '}');
  assert_int_equal(judge_once(schema.data, instance.data), TRILHA_VERDICT_VALID);
  instance.data[instance.size - 1] = ',';
  trilha_buffer_add_string(&instance, "\"another\":1}");
  assert_int_equal(judge_once(schema.data, instance.data), TRILHA_VERDICT_INVALID);
}

static void deep_schemas_are_taken_up_to_the_limit(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED schema = {0}, instance = {0};
  for (int i = 0; i < TRILHA_SCHEMA_DEPTH_MAX; i++)
    trilha_buffer_add_string(&schema, i % 2 == 0 ? "{\"items\":" : "{\"not\":");
  trilha_buffer_add_string(&schema, "{\"type\":\"null\"}");
  repeat(&schema, "}", TRILHA_SCHEMA_DEPTH_MAX);
  repeat(&instance, "[", 250);
  trilha_buffer_add_string(&instance, "1");
  repeat(&instance, "]", 250);
  assert_in_range(judge_once(schema.data, instance.data), TRILHA_VERDICT_VALID, TRILHA_VERDICT_INVALID);
  TRILHA_BUFFER_SCOPED deeper = {0};
  trilha_buffer_add_string(&deeper, "{\"not\":");
  trilha_buffer_add_text(&deeper, trilha_buffer_text(&schema));
  trilha_buffer_add_char(&deeper, '}');
  /* the innermost item of `deeper` is one past the limit */
  TRILHA_BUFFER_SCOPED deepest = {0};
  trilha_buffer_add_string(&deepest, "{\"items\":");
  trilha_buffer_add_text(&deepest, trilha_buffer_text(&deeper));
  trilha_buffer_add_char(&deepest, '}');
  expect_refusal(deepest.data, TRILHA_LIMIT, "SCHEMA_TOO_DEEP");
}

static void schemas_past_their_size_are_refused(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED schema = {0};
  trilha_buffer_add_string(&schema, "{\"description\":\"");
  repeat(&schema, "xxxxxxxxxxxxxxxx", (int)(TRILHA_SCHEMA_BYTES_MAX / 16) + 1);
  trilha_buffer_add_string(&schema, "\"}");
  expect_refusal(schema.data, TRILHA_LIMIT, "SCHEMA_TOO_LARGE");
}

static void reference_chains_and_cycles_of_many_definitions_compile(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED schema = {0};
  trilha_buffer_add_string(&schema, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{\"d20000\":{\"type\":\"string\"}");
  for (int i = 0; i < 20000; i++) trilha_buffer_add_format(&schema, ",\"d%d\":{\"$ref\":\"#/$defs/d%d\"}", i, i + 1);
  trilha_buffer_add_string(&schema, "}}");
  trilha_schema *compiled = compile_or_fail(schema.data);
  trilha_schema_free(compiled);
}

static void large_arrays_are_unique_in_linear_time(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED instance = {0};
  for (int i = 0; i < 200000; i++) trilha_buffer_add_format(&instance, "%s{\"a\":%d}", i == 0 ? "[" : ",", i);
  trilha_buffer_add_char(&instance, ']');
  int64_t start = seconds_used();
  assert_int_equal(judge_once("{\"uniqueItems\":true}", instance.data), TRILHA_VERDICT_VALID);
  instance.data[instance.size - 1] = ',';
  trilha_buffer_add_string(&instance, "{\"a\":7.0}]");
  assert_int_equal(judge_once("{\"uniqueItems\":true}", instance.data), TRILHA_VERDICT_INVALID);
  assert_in_range(seconds_used() - start, 0, SECONDS_MAX);
}

static void numbers_with_absurd_exponents_are_judged(void **state) {
  (void)state;
  assert_int_equal(judge_once("{\"maximum\":1e400}", "1e399"), TRILHA_VERDICT_VALID);
  assert_int_equal(judge_once("{\"maximum\":1e400}", "1e1000000000"), TRILHA_VERDICT_INVALID);
  assert_int_equal(judge_once("{\"type\":\"integer\"}", "1e1000000000"), TRILHA_VERDICT_VALID);
  assert_in_range(judge_once("{\"multipleOf\":7}", "1e1000000000"), TRILHA_VERDICT_INVALID, TRILHA_VERDICT_UNDECIDED);
  assert_int_equal(judge_once("{\"not\":{\"minLength\":99999999999999999999}}", "\"x\""), TRILHA_VERDICT_VALID);
}

static void names_that_come_twice_are_judged_at_both_places(void **state) {
  (void)state;
  const char *one = "{\"properties\":{\"a\":{\"type\":\"number\"}}}";
  assert_int_equal(judge_once(one, "{\"a\":1,\"a\":\"x\"}"), TRILHA_VERDICT_INVALID);
  assert_int_equal(judge_once(one, "{\"a\":\"x\",\"a\":1}"), TRILHA_VERDICT_INVALID);
  const char *tagged =
      "{\"oneOf\":[{\"anyOf\":[{\"properties\":{\"t\":{\"const\":\"a\"}},\"required\":[\"t\"]},{\"properties\":{"
      "\"t\":{\"const\":\"b\"}},\"required\":[\"t\"]}]},{\"properties\":{\"t\":{\"enum\":[\"c\",5]}},\"required\":"
      "[\"t\"]},{\"type\":\"array\"}]}";
  assert_int_equal(judge_once(tagged, "{\"t\":\"a\",\"t\":\"c\"}"), TRILHA_VERDICT_INVALID);
  assert_int_equal(judge_once(tagged, "{\"t\":\"c\",\"t\":\"a\"}"), TRILHA_VERDICT_INVALID);
  assert_int_equal(judge_once(tagged, "{\"t\":\"b\"}"), TRILHA_VERDICT_VALID);
  assert_int_equal(judge_once(tagged, "{\"x\":[],\"t\":5.0}"), TRILHA_VERDICT_VALID);
  assert_int_equal(judge_once(tagged, "{\"x\":1}"), TRILHA_VERDICT_INVALID);
  assert_int_equal(judge_once(tagged, "[]"), TRILHA_VERDICT_INVALID); /* every branch takes an array */
}

static void integer_bounds_hold_at_both_ends_for_fractions(void **state) {
  (void)state;
  const char *closed = "{\"minimum\":-1,\"maximum\":1}", *open = "{\"exclusiveMinimum\":-1,\"exclusiveMaximum\":1}";
  static const struct {
    const char *number;
    bool in_closed, in_open;
  } cases[] = {{"1", true, false},
               {"1.0", true, false},
               {"1.000000000000001", false, false},
               {"-1", true, false},
               {"-1.00", true, false},
               {"-1.0000000000000000000000001", false, false},
               {"0.999999999999", true, true},
               {"-0.9999999999999999", true, true},
               {"-0", true, true},
               {"1e0", true, false},
               {"0.1e1", true, false},
               {"1e-400", true, true},
               {"10", false, false},
               {"-12345678901234567890", false, false},
               {"0.00000000000000000", true, true}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    assert_int_equal(judge_once(closed, cases[i].number),
                     cases[i].in_closed ? TRILHA_VERDICT_VALID : TRILHA_VERDICT_INVALID);
    assert_int_equal(judge_once(open, cases[i].number),
                     cases[i].in_open ? TRILHA_VERDICT_VALID : TRILHA_VERDICT_INVALID);
  }
  assert_int_equal(judge_once("{\"maximum\":999999999999999999}", "999999999999999999.5"), TRILHA_VERDICT_INVALID);
  assert_int_equal(judge_once("{\"maximum\":999999999999999999}", "99999999999999999.5"), TRILHA_VERDICT_VALID);
  assert_int_equal(judge_once("{\"minimum\":3,\"exclusiveMinimum\":5}", "4.5"), TRILHA_VERDICT_INVALID);
}

/* --- small stacks ----------------------------------------------------------------------------------------------------
 */

typedef struct deep_run {
  const trilha_schema *schema;
  const trilha_json_document *document;
  trilha_schema_scratch *scratch;
  trilha_verdict verdict;
  trilha_status report, annotate;
} deep_run;

static trilha_status count_annotation(void *user, const trilha_annotation *annotation) {
  (void)user, (void)annotation;
  return TRILHA_OK;
}

static void *run_all_passes(void *user) {
  deep_run *run = user;
  trilha_violations violations = {0};
  trilha_error error = {0};
  run->verdict = trilha_schema_validate(run->schema, run->document, NULL, run->scratch);
  run->report = trilha_schema_report(run->schema, run->document, NULL, true, run->scratch, &violations, &error);
  run->annotate = trilha_schema_annotate(run->schema, run->document, NULL, run->scratch, count_annotation, NULL, NULL);
  return NULL;
}

static deep_run run_on_small_stack(const trilha_schema *schema, const char *instance) {
  judge j;
  judge_init(&j);
  trilha_json_document *document = test_parse(trilha_text_of(instance));
  deep_run run = {schema, document, j.scratch, TRILHA_VERDICT_UNDECIDED, TRILHA_INTERNAL, TRILHA_INTERNAL};
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)128 << 10), 0);
  assert_int_equal(pthread_create(&thread, &attributes, run_all_passes, &run), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  trilha_json_document_free(document);
  judge_done(&j);
  return run;
}

static void deep_documents_fit_a_small_thread_stack(void **state) {
  (void)state;
  trilha_schema *schema = compile_or_fail(
      "{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"anyOf\":[{\"type\":\"null\"},{\"allOf\":[{\"items\":"
      "{\"$ref\":\"#/$defs/n\"},\"maxItems\":1}],\"type\":\"array\"}]}}}");
  TRILHA_BUFFER_SCOPED instance = {0}, deeper = {0};
  repeat(&instance, "[", 255);
  repeat(&instance, "]", 255);
  deep_run run = run_on_small_stack(schema, instance.data);
  assert_int_equal(run.verdict, TRILHA_VERDICT_VALID);
  assert_int_equal(run.report, TRILHA_OK);
  assert_int_equal(run.annotate, TRILHA_OK);
  repeat(&deeper, "[", 999); /* more nested calls than TRILHA_SCHEMA_RUN_DEPTH_MAX */
  repeat(&deeper, "]", 999);
  run = run_on_small_stack(schema, deeper.data);
  assert_int_equal(run.annotate, TRILHA_LIMIT);
  trilha_schema_free(schema);
}

static void deep_flat_schemas_fit_a_small_thread_stack(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED schema = {0}, instance = {0};
  for (int i = 0; i < 100; i++) trilha_buffer_add_string(&schema, "{\"oneOf\":[{\"items\":{\"if\":true,\"then\":");
  trilha_buffer_add_string(&schema, "{\"type\":\"null\"}");
  repeat(&schema, "}}]}", 100);
  repeat(&instance, "[", 100);
  trilha_buffer_add_string(&instance, "null");
  repeat(&instance, "]", 100);
  trilha_schema *compiled = compile_or_fail(schema.data);
  assert_int_equal(run_on_small_stack(compiled, instance.data).verdict, TRILHA_VERDICT_VALID);
  trilha_schema_free(compiled);
}

/* --- sharing
 * ---------------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300 };

static void *judge_many(void *user) {
  const trilha_schema *schema = user;
  trilha_json_reader *reader = NULL;
  trilha_schema_scratch *scratch = NULL;
  trilha_error error = {0};
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  uintptr_t wrong = 0;
  if (trilha_json_reader_new(&reader, &error) != TRILHA_OK || trilha_schema_scratch_new(&scratch, &error) != TRILHA_OK)
    return (void *)1;
  for (int i = 0; i < ROUNDS; i++) {
    const char *text = i % 2 == 0 ? "{\"a\":[\"x1\",\"x2\"],\"b\":1.5}" : "{\"a\":[\"x1\",\"x1\"],\"c\":1}";
    const trilha_json_document *document = NULL;
    const trilha_json_keys *keys = i % 3 == 0 ? NULL : trilha_schema_keys(schema);
    if (trilha_json_read(reader, trilha_text_of(text), &limits, keys, &document, NULL, &error) != TRILHA_OK)
      return (void *)1;
    trilha_verdict expected = i % 2 == 0 ? TRILHA_VERDICT_VALID : TRILHA_VERDICT_INVALID;
    wrong += trilha_schema_validate(schema, document, keys, scratch) != expected;
    trilha_violations violations = {0};
    wrong += trilha_schema_report(schema, document, keys, true, scratch, &violations, &error) != TRILHA_OK;
    wrong += violations.verdict != expected;
  }
  trilha_json_reader_free(reader);
  trilha_schema_scratch_free(scratch);
  return (void *)wrong;
}

static void threads_share_a_schema_and_bring_their_own_scratch(void **state) {
  (void)state;
  trilha_schema *schema = compile_or_fail(
      "{\"properties\":{\"a\":{\"items\":{\"pattern\":\"^x[0-9]+$\"},\"uniqueItems\":true},\"b\":"
      "{\"multipleOf\":0.5}},\"allOf\":[{\"properties\":{\"a\":true}}],"
      "\"anyOf\":[{\"required\":[\"b\"]}],\"unevaluatedProperties\":false}");
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, judge_many, schema), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  trilha_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(references_that_go_round_without_consuming_are_undecided),
      cmocka_unit_test(undecided_is_never_a_match_nor_a_mismatch),
      cmocka_unit_test(patterns_that_run_out_of_their_limits_are_undecided_inside_not),
      cmocka_unit_test(billion_laughs_compile_small_and_run_bounded),
      cmocka_unit_test(combinators_that_multiply_run_out_of_steps),
      cmocka_unit_test(steps_are_counted_alike_with_and_without_keys),
      cmocka_unit_test(ten_thousand_properties_are_judged_in_one_pass),
      cmocka_unit_test(deep_schemas_are_taken_up_to_the_limit),
      cmocka_unit_test(schemas_past_their_size_are_refused),
      cmocka_unit_test(reference_chains_and_cycles_of_many_definitions_compile),
      cmocka_unit_test(large_arrays_are_unique_in_linear_time),
      cmocka_unit_test(numbers_with_absurd_exponents_are_judged),
      cmocka_unit_test(names_that_come_twice_are_judged_at_both_places),
      cmocka_unit_test(integer_bounds_hold_at_both_ends_for_fractions),
      cmocka_unit_test(deep_documents_fit_a_small_thread_stack),
      cmocka_unit_test(deep_flat_schemas_fit_a_small_thread_stack),
      cmocka_unit_test(threads_share_a_schema_and_bring_their_own_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
