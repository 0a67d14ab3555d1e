/* schema: the annotation pass: which rules reach which values, and which names count as data. */
#include "schema_test.h"

typedef struct found {
  const trilha_json_document *document;
  trilha_buffer out;
  int stop_after;
} found;

/* "pointer=rule", "!" behind it when unlisted, a space. */
static trilha_status note(void *user, const trilha_annotation *annotation) {
  found *f = user;
  trilha_json_pointer_to(f->document->values, annotation->instance, &f->out);
  trilha_buffer_add_char(&f->out, '=');
  trilha_json_write(&f->out, annotation->rule);
  trilha_buffer_add_string(&f->out, annotation->unlisted ? "! " : " ");
  return --f->stop_after == 0 ? TRILHA_CANCELLED : TRILHA_OK;
}

static trilha_status annotate(const char *schema_text, const char *instance, bool with_keys, found *f,
                              trilha_error *err) {
  trilha_error error = {0};
  trilha_schema_options options = {.annotation = TRILHA_TEXT("x-rule")};
  trilha_schema *schema = test_compile(schema_text, &options, &error);
  if (schema == NULL) fail_msg("%s %s", error.code, error.text);
  judge j;
  judge_init(&j);
  const trilha_json_keys *keys = with_keys ? trilha_schema_keys(schema) : NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  assert_int_equal(trilha_json_read(j.reader, trilha_text_of(instance), &limits, keys, &f->document, NULL, &error),
                   TRILHA_OK);
  trilha_status status = trilha_schema_annotate(schema, f->document, keys, j.scratch, note, f, err);
  trilha_schema_free(schema);
  judge_done(&j);
  return status;
}

static void expect_rules(const char *schema, const char *instance, const char *expected) {
  for (int with_keys = 0; with_keys <= 1; with_keys++) {
    found f = {.stop_after = 0};
    trilha_error error = {0};
    assert_int_equal(annotate(schema, instance, with_keys, &f, &error), TRILHA_OK);
    assert_string_equal(f.out.data == NULL ? "" : f.out.data, expected);
    trilha_buffer_done(&f.out);
  }
}

static void rules_reach_values_in_the_order_of_evaluation(void **state) {
  (void)state;
  expect_rules(
      "{\"x-rule\":0,\"properties\":{\"a\":{\"x-rule\":1},\"b\":{\"items\":{\"x-rule\":2}}},\"$ref\":\"#/$defs/r\","
      "\"$defs\":{\"r\":{\"x-rule\":3,\"properties\":{\"a\":{\"x-rule\":4}}}}}",
      "{\"b\":[1,2],\"a\":1}", "=0 /b/0=2 /b/1=2 /a=1 =3 /a=4 ");
}

static void branches_that_fail_and_tests_say_nothing(void **state) {
  (void)state;
  expect_rules("{\"anyOf\":[{\"type\":\"string\",\"x-rule\":1},{\"x-rule\":2,\"type\":\"number\"},{\"x-rule\":3}]}",
               "5", "=2 =3 ");
  expect_rules("{\"oneOf\":[{\"x-rule\":1,\"minimum\":9},{\"x-rule\":2}]}", "5", "=2 ");
  expect_rules("{\"not\":{\"x-rule\":1,\"type\":\"string\"}}", "5", "");
  expect_rules("{\"if\":{\"x-rule\":1},\"then\":{\"x-rule\":2},\"else\":{\"x-rule\":3}}", "5", "=2 ");
  expect_rules("{\"contains\":{\"x-rule\":1,\"type\":\"string\"}}", "[1,\"a\",2,\"b\"]", "/1=1 /3=1 ");
}

static void names_are_data_where_no_properties_lists_them(void **state) {
  (void)state;
  expect_rules(
      "{\"properties\":{\"m\":{\"additionalProperties\":{\"properties\":{\"t\":{\"x-rule\":1}}}}},"
      "\"patternProperties\":{\"^p\":{\"x-rule\":2}},\"unevaluatedProperties\":{\"x-rule\":3}}",
      "{\"m\":{\"ana\":{\"t\":1}},\"p1\":1,\"z\":1}", "/m/ana/t=1! /p1=2! /z=3! ");
  /* listed by one subschema, matched as additional by another: listed */
  expect_rules("{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"number\"}}},{\"additionalProperties\":{\"x-rule\":1}}]}",
               "{\"a\":1,\"b\":2}", "/a=1 /b=1! ");
  /* listed only by a branch that failed: not listed */
  expect_rules(
      "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}}},true],\"additionalProperties\":{\"x-rule\":1}}",
      "{\"a\":1}", "/a=1! ");
}

static void invalid_documents_get_no_rules(void **state) {
  (void)state;
  found f = {.stop_after = 0};
  trilha_error error = {0};
  assert_int_equal(annotate("{\"x-rule\":1,\"type\":\"string\"}", "5", true, &f, &error), TRILHA_INVALID);
  assert_string_equal(error.code, "SCHEMA_MISMATCH");
  assert_int_equal(f.out.size, 0);
}

static void what_the_caller_answers_ends_the_pass(void **state) {
  (void)state;
  found f = {.stop_after = 1};
  trilha_error error = {0};
  assert_int_equal(annotate("{\"items\":{\"x-rule\":1}}", "[1,2,3]", true, &f, &error), TRILHA_CANCELLED);
  assert_string_equal(f.out.data, "/0=1 ");
  trilha_buffer_done(&f.out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_reach_values_in_the_order_of_evaluation),
      cmocka_unit_test(branches_that_fail_and_tests_say_nothing),
      cmocka_unit_test(names_are_data_where_no_properties_lists_them),
      cmocka_unit_test(invalid_documents_get_no_rules),
      cmocka_unit_test(what_the_caller_answers_ends_the_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
