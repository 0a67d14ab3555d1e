/* schema: the reporting pass: what it lists, in which order, how places are written, and what it never shows. */
#include "schema_test.h"

/* "instance|schema pointer|keyword|text[|branch]", one a line. */
static char *report_of(const char *schema_text, const char *instance, bool mask) {
  trilha_error error = {0};
  trilha_schema_options options = {.assert_format = true, .base_uri = TRILHA_TEXT("https://example.org/s")};
  trilha_schema *schema = test_compile(schema_text, &options, &error);
  if (schema == NULL) fail_msg("%s %s", error.code, error.text);
  judge j;
  judge_init(&j);
  trilha_json_document *document = test_parse(trilha_text_of(instance));
  trilha_violations violations = {0};
  assert_int_equal(trilha_schema_report(schema, document, NULL, mask, j.scratch, &violations, &error), TRILHA_OK);
  assert_int_equal(violations.count, violations.total);
  TRILHA_BUFFER_SCOPED out = {0};
  for (size_t i = 0; i < violations.count; i++) {
    const trilha_violation *v = &violations.items[i];
    trilha_buffer_add_text(&out, v->instance_pointer);
    trilha_buffer_add_char(&out, '|');
    trilha_buffer_add_text(&out, v->schema_pointer);
    trilha_buffer_add_char(&out, '|');
    trilha_buffer_add_text(&out, v->keyword);
    trilha_buffer_add_char(&out, '|');
    trilha_buffer_add_text(&out, v->text);
    trilha_buffer_add_string(&out, v->in_branch ? "|branch\n" : "\n");
  }
  trilha_json_document_free(document);
  trilha_schema_free(schema);
  judge_done(&j);
  trilha_buffer_add_string(&out, "");
  return trilha_buffer_take(&out, NULL);
}

static void expect_report(const char *schema, const char *instance, const char *expected) {
  char *report = report_of(schema, instance, true);
  assert_string_equal(report == NULL ? "" : report, expected);
  free(report);
}

static void violations_come_in_the_order_of_the_schema(void **state) {
  (void)state;
  expect_report("{\"minLength\":3,\"type\":\"integer\",\"pattern\":\"^a\",\"maxLength\":1}", "\"bb\"",
                "|/minLength|minLength|must be at least 3 characters\n"
                "|/type|type|must be of type integer\n"
                "|/pattern|pattern|must match the schema's pattern\n"
                "|/maxLength|maxLength|must be at most 1 character\n");
  expect_report(
      "{\"required\":[\"a\",\"b\"],\"properties\":{\"x\":{\"minimum\":5},\"y\":{\"type\":\"null\"}},"
      "\"maxProperties\":1}",
      "{\"y\":1,\"x\":2}",
      "|/required|required|must have the member \"a\"\n"
      "|/required|required|must have the member \"b\"\n"
      "/y|/properties/y/type|type|must be of type null\n"
      "/x|/properties/x/minimum|minimum|must be at least 5\n"
      "|/maxProperties|maxProperties|must have at most 1 member\n");
}

static void places_go_through_references_items_and_escapes(void **state) {
  (void)state;
  expect_report(
      "{\"properties\":{\"a/b\":{\"items\":{\"$ref\":\"#/$defs/n\"}}},\"$defs\":{\"n\":{\"allOf\":[true,"
      "{\"multipleOf\":0.5}]}}}",
      "{\"a/b\":[1,1.3,2]}",
      "/a~1b/1|/properties/a~1b/items/$ref/allOf/1/multipleOf|multipleOf|must be a multiple of 0.5\n");
  expect_report("{\"prefixItems\":[{\"const\":\"x\"}],\"items\":false}", "[\"y\",2]",
                "/0|/prefixItems/0/const|const|must be \"x\"\n"
                "/1|/items|false schema|must not be there\n");
  expect_report("{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":[\"c\"]}}", "{}",
                "|/else/required|required|must have the member \"c\"\n");
  expect_report("{\"dependentSchemas\":{\"a\":{\"minProperties\":2}},\"dependentRequired\":{\"a\":[\"b\",\"a\"]}}",
                "{\"a\":1}",
                "|/dependentSchemas/a/minProperties|minProperties|must have at least 2 members\n"
                "|/dependentRequired|dependentRequired|must have the member \"b\"\n");
}

static void names_the_schema_does_not_list_are_masked(void **state) {
  (void)state;
  const char *schema =
      "{\"properties\":{\"known\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"null\"}}},"
      "\"patternProperties\":{\"^p\":{\"type\":\"null\"}},\"unevaluatedProperties\":false}";
  const char *instance = "{\"known\":{\"Maria da Silva\":1},\"p cpf\":2,\"surprise\":3}";
  expect_report(schema, instance,
                "/known/*|/properties/known/additionalProperties/type|type|must be of type null\n"
                "/*|/patternProperties/^p/type|type|must be of type null\n"
                "/*|/unevaluatedProperties|false schema|must not be there\n");
  char *plain = report_of(schema, instance, false);
  assert_non_null(strstr(plain, "/known/Maria da Silva|"));
  free(plain);
}

static void values_of_the_instance_are_never_shown(void **state) {
  (void)state;
  const char *secrets[] = {"\"12345678909\"", "12345678909", "[\"12345678909\",\"12345678909\"]",
                           "{\"k\":\"12345678909\"}"};
  const char *schema =
      "{\"anyOf\":[{\"const\":1},{\"enum\":[\"a\",2]},{\"type\":\"null\"}],\"minLength\":50,\"maxLength\":1,"
      "\"pattern\":\"x\",\"format\":\"ipv4\",\"minimum\":1e30,\"multipleOf\":7,\"uniqueItems\":true,\"items\":"
      "{\"maxLength\":1},\"contains\":{\"const\":0},\"not\":true,\"propertyNames\":false,"
      "\"additionalProperties\":false,\"minItems\":9,\"minProperties\":9}";
  for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
    char *report = report_of(schema, secrets[i], true);
    assert_non_null(strstr(report, "must"));
    assert_null(strstr(report, "123456"));
    assert_null(strstr(report, "/k"));
    free(report);
  }
}

static void failures_inside_branches_are_marked_and_followed_by_their_cause(void **state) {
  (void)state;
  expect_report("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "3",
                "|/anyOf/0/type|type|must be of type string|branch\n"
                "|/anyOf/1/minimum|minimum|must be at least 5|branch\n"
                "|/anyOf|anyOf|must match at least one of the alternatives\n");
  expect_report("{\"oneOf\":[{\"minimum\":1},{\"minimum\":2},{\"type\":\"string\"}]}", "3",
                "|/oneOf|oneOf|must match exactly one of the alternatives\n");
  expect_report("{\"contains\":{\"type\":\"string\"},\"minContains\":2}", "[\"a\",1]",
                "/1|/contains/type|type|must be of type string|branch\n"
                "|/contains|contains|must contain at least 2 items that the contains schema accepts\n");
  expect_report("{\"not\":{\"anyOf\":[{\"type\":\"string\"},true]}}", "3",
                "|/not|not|must not match the schema below not\n");
}

static void what_a_passing_branch_saw_is_forgotten(void **state) {
  (void)state;
  expect_report(
      "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\"}],\"oneOf\":[{\"minimum\":9},{\"maximum\":9}],"
      "\"if\":{\"type\":\"string\"},\"contains\":{\"type\":\"null\"},\"maximum\":1}",
      "3", "|/maximum|maximum|must be at most 1\n");
}

static void locations_name_the_resource_of_the_keyword(void **state) {
  (void)state;
  trilha_error error = {0};
  trilha_schema *schema = test_compile(
      "{\"$id\":\"https://example.org/root\",\"properties\":{\"a\":{\"$ref\":\"other#/$defs/x\"}},"
      "\"$defs\":{\"o\":{\"$id\":\"other\",\"$defs\":{\"x\":{\"type\":\"null\"}}}}}",
      NULL, &error);
  assert_non_null(schema);
  judge j;
  judge_init(&j);
  trilha_json_document *document = test_parse(TRILHA_TEXT("{\"a\":1}"));
  trilha_violations found = {0};
  assert_int_equal(trilha_schema_report(schema, document, NULL, true, j.scratch, &found, &error), TRILHA_OK);
  assert_int_equal(found.count, 1);
  assert_true(trilha_text_is(found.items[0].schema_pointer, "/properties/a/$ref/type"));
  assert_true(trilha_text_is(found.items[0].schema_location, "https://example.org/other#/$defs/x/type"));
  trilha_json_document_free(document);
  trilha_schema_free(schema);
  judge_done(&j);
}

static void more_than_the_limit_is_counted_but_not_listed(void **state) {
  (void)state;
  trilha_error error = {0};
  trilha_schema *schema = test_compile("{\"items\":{\"type\":\"null\"}}", NULL, &error);
  TRILHA_BUFFER_SCOPED text = {0};
  trilha_buffer_add_char(&text, '[');
  for (int i = 0; i < TRILHA_SCHEMA_VIOLATIONS_MAX + 500; i++) trilha_buffer_add_string(&text, i == 0 ? "1" : ",1");
  trilha_buffer_add_char(&text, ']');
  judge j;
  judge_init(&j);
  trilha_json_document *document = test_parse(trilha_buffer_text(&text));
  trilha_violations found = {0};
  assert_int_equal(trilha_schema_report(schema, document, NULL, true, j.scratch, &found, &error), TRILHA_OK);
  assert_int_equal(found.count, TRILHA_SCHEMA_VIOLATIONS_MAX);
  assert_int_equal(found.total, TRILHA_SCHEMA_VIOLATIONS_MAX + 500);
  trilha_json_document_free(document);
  trilha_schema_free(schema);
  judge_done(&j);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(violations_come_in_the_order_of_the_schema),
      cmocka_unit_test(places_go_through_references_items_and_escapes),
      cmocka_unit_test(names_the_schema_does_not_list_are_masked),
      cmocka_unit_test(values_of_the_instance_are_never_shown),
      cmocka_unit_test(failures_inside_branches_are_marked_and_followed_by_their_cause),
      cmocka_unit_test(what_a_passing_branch_saw_is_forgotten),
      cmocka_unit_test(locations_name_the_resource_of_the_keyword),
      cmocka_unit_test(more_than_the_limit_is_counted_but_not_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
