/* schema: what is refused at compile time and where the error says it is; resolving, dialects, failing memory. */
#include "schema_test.h"

static void expect_refusal(const char *schema_text, bool check_metaschema, trilha_status status, const char *code,
                           const char *text) {
  trilha_error error = {0};
  trilha_schema_options options = {.check_metaschema = check_metaschema, .assert_format = true};
  trilha_schema *schema = test_compile(schema_text, &options, &error);
  if (schema != NULL) fail_msg("%s is accepted", schema_text);
  assert_int_equal(error.status, status);
  assert_string_equal(error.code, code);
  if (strstr(error.text, text) == NULL) fail_msg("%s gives \"%s\", without \"%s\"", schema_text, error.text, text);
}

static void wrong_keywords_are_refused_with_their_place(void **state) {
  (void)state;
  static const struct {
    const char *schema, *text;
  } wrong[] = {
      {"{\"properties\":{\"a\":{\"type\":\"strin\"}}}", "#/properties/a/type"},
      {"{\"items\":{\"minLength\":-1}}", "#/items/minLength"},
      {"{\"items\":{\"minLength\":\"1\"}}", "#/items/minLength"},
      {"{\"items\":{\"maxItems\":1.5}}", "#/items/maxItems"},
      {"{\"allOf\":[true,{\"multipleOf\":0}]}", "#/allOf/1/multipleOf"},
      {"{\"anyOf\":[]}", "#/anyOf"},
      {"{\"not\":5}", "#/not"},
      {"{\"required\":\"a\"}", "#/required"},
      {"{\"required\":[1]}", "#/required"},
      {"{\"properties\":{\"a~/b\":{\"uniqueItems\":1}}}", "#/properties/a~0~1b/uniqueItems"},
      {"{\"maximum\":\"5\"}", "#/maximum"},
      {"{\"enum\":5}", "#/enum"},
      {"[]", "must be of type object"},
  };
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    expect_refusal(wrong[i].schema, false, TRILHA_INVALID, "SCHEMA_INVALID", wrong[i].text);
  }
}

static void the_metaschema_refuses_what_the_compiler_would_overlook(void **state) {
  (void)state;
  expect_refusal("{\"properties\":{\"a\":{\"title\":5}}}", true, TRILHA_INVALID, "SCHEMA_INVALID",
                 "#/properties/a/title");
  expect_refusal("{\"$defs\":{\"unused\":{\"minItems\":-1}}}", true, TRILHA_INVALID, "SCHEMA_INVALID",
                 "#/$defs/unused/minItems");
  expect_refusal("{\"required\":[\"a\",\"a\"]}", true, TRILHA_INVALID, "SCHEMA_INVALID",
                 "#/required: must not have equal items");
}

static void references_that_lead_nowhere_are_refused(void **state) {
  (void)state;
  static const char *const references[] = {"#/$defs/b",   "#nowhere", "other.json",         "https://example.org/x",
                                           "#/$defs/a/0", "#/title",  "file:///etc/passwd", "urn:x:y"};
  for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
    char schema[256];
    snprintf(schema, sizeof(schema), "{\"title\":\"t\",\"items\":{\"$ref\":\"%s\"},\"$defs\":{\"a\":{}}}",
             references[i]);
    const char *code = strcmp(references[i], "#/title") == 0 ? "SCHEMA_INVALID" : "SCHEMA_REF_UNRESOLVED";
    expect_refusal(schema, true, TRILHA_INVALID, code, "#/items/$ref");
  }
}

static void patterns_that_are_not_ecma_262_are_refused(void **state) {
  (void)state;
  expect_refusal("{\"properties\":{\"a\":{\"pattern\":\"(\"}}}", false, TRILHA_INVALID, "SCHEMA_PATTERN",
                 "#/properties/a/pattern");
  expect_refusal("{\"patternProperties\":{\"[a\":true}}", false, TRILHA_INVALID, "SCHEMA_PATTERN",
                 "#/patternProperties");
}

static void other_dialects_and_required_vocabularies_are_refused(void **state) {
  (void)state;
  expect_refusal("{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", false, TRILHA_INVALID, "SCHEMA_DIALECT",
                 "#/$schema");
  expect_refusal("{\"$schema\":\"https://example.org/own\"}", true, TRILHA_INVALID, "SCHEMA_DIALECT", "#/$schema");
  trilha_error error = {0};
  trilha_schema *schema = test_compile("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema#\"}", NULL, &error);
  assert_non_null(schema);
  trilha_schema_free(schema);
}

static void names_declared_twice_are_refused(void **state) {
  (void)state;
  expect_refusal("{\"$defs\":{\"a\":{\"$anchor\":\"x\"},\"b\":{\"$anchor\":\"x\"}}}", true, TRILHA_INVALID,
                 "SCHEMA_INVALID", "/$anchor");
  expect_refusal("{\"$defs\":{\"a\":{\"$id\":\"http://x/y\"},\"b\":{\"$id\":\"http://x/y\"}}}", true, TRILHA_INVALID,
                 "SCHEMA_INVALID", "same $id");
}

/* --- the resolver
 * ------------------------------------------------------------------------------------------------------ */

typedef struct library {
  trilha_json_document *document;
  int asked;
  char uri[128];
} library;

static const trilha_json_document *from_library(void *user, trilha_text uri) {
  library *l = user;
  l->asked++;
  snprintf(l->uri, sizeof(l->uri), "%.*s", (int)uri.size, uri.data);
  return trilha_text_is(uri, "https://example.org/types/cpf") ? l->document : NULL;
}

static void the_resolver_is_asked_once_for_absolute_uris_only(void **state) {
  (void)state;
  library l = {.document = test_parse(
                   TRILHA_TEXT("{\"type\":\"string\",\"minLength\":3,\"$defs\":{\"n\":{\"type\":\"null\"}}}"))};
  trilha_schema_options options = {.base_uri = TRILHA_TEXT("https://example.org/events/a"), .resolve = from_library};
  options.resolve_user = &l;
  trilha_error error = {0};
  trilha_schema *schema = test_compile(
      "{\"properties\":{\"a\":{\"$ref\":\"../types/cpf\"},\"b\":{\"$ref\":\"../types/cpf#/$defs/n\"},"
      "\"c\":{\"$ref\":\"../types/./cpf#\"}}}",
      &options, &error);
  if (schema == NULL) fail_msg("%s", error.text);
  assert_int_equal(l.asked, 1);
  assert_string_equal(l.uri, "https://example.org/types/cpf");
  trilha_json_document_free(l.document); /* borrowed only until compile returned */
  judge j;
  judge_init(&j);
  assert_int_equal(judge_text(&j, schema, TRILHA_TEXT("{\"a\":\"abc\",\"b\":null,\"c\":\"xyz\"}")),
                   TRILHA_VERDICT_VALID);
  assert_int_equal(judge_text(&j, schema, TRILHA_TEXT("{\"a\":\"ab\"}")), TRILHA_VERDICT_INVALID);
  judge_done(&j);
  trilha_schema_free(schema);
}

static void relative_references_without_a_base_never_reach_the_resolver(void **state) {
  (void)state;
  library l = {.asked = 0};
  trilha_schema_options options = {.resolve = from_library, .resolve_user = &l};
  trilha_error error = {0};
  assert_null(test_compile("{\"$ref\":\"types/cpf\"}", &options, &error));
  assert_string_equal(error.code, "SCHEMA_REF_UNRESOLVED");
  assert_int_equal(l.asked, 0);
}

static void every_mentioned_name_has_a_key(void **state) {
  (void)state;
  trilha_error error = {0};
  trilha_schema *schema = test_compile(
      "{\"properties\":{\"a\":true,\"b\":{\"properties\":{\"c\":true}}},\"required\":[\"d\"],"
      "\"dependentRequired\":{\"e\":[\"f\"]},\"dependentSchemas\":{\"g\":{\"required\":[\"h\"]}}}",
      NULL, &error);
  assert_non_null(schema);
  for (const char *name = "abcdefgh"; *name != '\0'; name++) {
    if (trilha_json_keys_find(trilha_schema_keys(schema), name, 1) == 0) fail_msg("no key for %c", *name);
  }
  assert_int_equal(trilha_json_keys_find(trilha_schema_keys(schema), "z", 1), 0);
  trilha_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_keywords_are_refused_with_their_place),
      cmocka_unit_test(the_metaschema_refuses_what_the_compiler_would_overlook),
      cmocka_unit_test(references_that_lead_nowhere_are_refused),
      cmocka_unit_test(patterns_that_are_not_ecma_262_are_refused),
      cmocka_unit_test(other_dialects_and_required_vocabularies_are_refused),
      cmocka_unit_test(names_declared_twice_are_refused),
      cmocka_unit_test(the_resolver_is_asked_once_for_absolute_uris_only),
      cmocka_unit_test(relative_references_without_a_base_never_reach_the_resolver),
      cmocka_unit_test(every_mentioned_name_has_a_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
