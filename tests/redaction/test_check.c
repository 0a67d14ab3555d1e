/* redaction: what registration says about the rules of a schema. */
#include "redaction_test.h"

static trilha_status check(const char *schema, bool *ret_needs_key, trilha_error *err) {
  *err = (trilha_error){0};
  *ret_needs_key = false;
  trilha_json_document *document = document_of(schema);
  trilha_status status = trilha_redaction_check(document, ret_needs_key, err);
  trilha_json_document_free(document);
  return status;
}

static void accept_all(const char *const *schemas, size_t count) {
  for (size_t i = 0; i < count; i++) {
    trilha_error err;
    bool needs_key;
    if (check(schemas[i], &needs_key, &err) != TRILHA_OK) fail_msg("%s: %s", schemas[i], err.text);
  }
}

static void refuse_all(const char *const *schemas, size_t count, const char *code) {
  for (size_t i = 0; i < count; i++) {
    trilha_error err;
    bool needs_key;
    if (check(schemas[i], &needs_key, &err) != TRILHA_INVALID || strcmp(err.code, code) != 0)
      fail_msg("%s: %s %s", schemas[i], err.code, err.text);
  }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void schema_without_any_rule_is_refused_unless_its_root_says_manter(void **state) {
  (void)state;
  static const char *const bad[] = {
      "{}",
      "true",
      "{\"properties\":{\"a\":{\"type\":\"string\"}}}",
      /* data is no schema: rules inside it do not count */
      "{\"const\":{\"x-redacao\":\"manter\"},\"enum\":[{\"x-redacao\":\"hash\"}],\"default\":{\"x-redacao\":\"hash\"},"
      "\"examples\":[{\"x-redacao\":\"hash\"}]}",
      /* a property named so is a field */
      "{\"properties\":{\"x-redacao\":{\"type\":\"string\"}}}",
  };
  refuse_all(bad, COUNT(bad), "REDACTION_NO_RULES");
  static const char *const good[] = {
      "{\"x-redacao\":\"manter\"}",
      "{\"x-redacao\":\"manter\",\"type\":\"object\",\"properties\":{\"a\":{}}}",
      "{\"x-redacao\":\"remover\"}",
      "{\"properties\":{\"a\":{\"x-redacao\":\"manter\"}}}",
      "{\"$defs\":{\"a\":{\"x-redacao\":\"manter\"}}}",
  };
  accept_all(good, COUNT(good));
}

static void unknown_rules_are_refused_with_their_place(void **state) {
  (void)state;
  static const char *const bad[] = {
      "{\"x-redacao\":\"keep\"}",
      "{\"x-redacao\":\"Manter\"}",
      "{\"x-redacao\":null}",
      "{\"x-redacao\":{}}",
      "{\"x-redacao\":[\"hash\"]}",
      "{\"properties\":{\"a\":{\"x-redacao\":{\"arredondar\":16}}}}",
      "{\"properties\":{\"a\":{\"x-redacao\":{\"arredondar\":-1}}}}",
      "{\"properties\":{\"a\":{\"x-redacao\":{\"arredondar\":1.5}}}}",
      "{\"properties\":{\"a\":{\"x-redacao\":{\"arredondar\":\"2\"}}}}",
      "{\"properties\":{\"a\":{\"x-redacao\":{\"arredondar\":2,\"b\":1}}}}",
      "{\"properties\":{\"a\":{\"x-redacao\":\"arredondar\"}}}",
  };
  refuse_all(bad, COUNT(bad), "REDACTION_RULE_UNKNOWN");
  trilha_error err;
  bool needs_key;
  assert_int_equal(check("{\"properties\":{\"a/b\":{\"items\":{\"x-redacao\":1}}}}", &needs_key, &err), TRILHA_INVALID);
  assert_non_null(strstr(err.text, "\"/properties/a~1b/items/x-redacao\""));
  static const char *const good[] = {
      "{\"properties\":{\"a\":{\"x-redacao\":{\"arredondar\":0}},\"b\":{\"x-redacao\":{\"arredondar\":15}}}}",
      "{\"properties\":{\"a\":{\"x-redacao\":{\"arredondar\":2.0}}}}",
  };
  accept_all(good, COUNT(good));
}

static void rules_are_found_in_every_place_that_holds_subschemas(void **state) {
  (void)state;
  static const char *const places[] = {
      "{\"properties\":{\"a\":%s}}",
      "{\"patternProperties\":{\"a\":%s}}",
      "{\"additionalProperties\":%s}",
      "{\"unevaluatedProperties\":%s}",
      "{\"items\":%s}",
      "{\"prefixItems\":[true,%s]}",
      "{\"unevaluatedItems\":%s}",
      "{\"contains\":%s}",
      "{\"allOf\":[{},%s]}",
      "{\"anyOf\":[%s]}",
      "{\"oneOf\":[%s]}",
      "{\"then\":%s}",
      "{\"else\":%s}",
      "{\"dependentSchemas\":{\"a\":%s}}",
      "{\"$defs\":{\"a\":%s}}",
      "{\"definitions\":{\"a\":%s}}",
      "{\"not\":{\"$defs\":{\"a\":%s}}}",
  };
  for (size_t i = 0; i < COUNT(places); i++) {
    char schema[256];
    trilha_error err;
    bool needs_key;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(schema, sizeof schema, places[i], "{\"x-redacao\":\"hash\"}");
    if (check(schema, &needs_key, &err) != TRILHA_OK || !needs_key) fail_msg("%s: %s", schema, err.text);
    snprintf(schema, sizeof schema, places[i], "{\"x-redacao\":\"no\"}");
#pragma GCC diagnostic pop
    if (check(schema, &needs_key, &err) != TRILHA_INVALID) fail_msg("%s was accepted", schema);
  }
}

static void rules_that_could_never_apply_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {
      "{\"not\":{\"x-redacao\":\"manter\"}}",
      "{\"if\":{\"properties\":{\"a\":{\"x-redacao\":\"manter\"}}}}",
      "{\"propertyNames\":{\"x-redacao\":\"hash\"}}",
      "{\"contentSchema\":{\"x-redacao\":\"hash\"}}",
  };
  refuse_all(bad, COUNT(bad), "REDACTION_RULE_PLACE");
}

static void objects_and_arrays_are_never_kept_whole_below_the_root(void **state) {
  (void)state;
  static const char *const bad[] = {
      "{\"properties\":{\"a\":{\"type\":\"object\",\"x-redacao\":\"manter\"}}}",
      "{\"properties\":{\"a\":{\"type\":\"array\",\"x-redacao\":\"manter\"}}}",
      "{\"properties\":{\"a\":{\"type\":[\"string\",\"object\"],\"x-redacao\":\"manter\"}}}",
      "{\"properties\":{\"a\":{\"properties\":{},\"x-redacao\":\"manter\"}}}",
      "{\"properties\":{\"a\":{\"items\":{\"x-redacao\":\"manter\"},\"x-redacao\":\"manter\"}}}",
      "{\"properties\":{\"a\":{\"type\":\"array\",\"x-redacao\":\"hash\"}}}",
      "{\"properties\":{\"a\":{\"type\":\"array\",\"x-redacao\":{\"arredondar\":2}}}}",
      "{\"x-redacao\":\"hash\"}",
      "{\"x-redacao\":{\"arredondar\":2}}",
      "{\"oneOf\":[{\"type\":\"object\",\"x-redacao\":\"manter\"}]}",
  };
  refuse_all(bad, COUNT(bad), "REDACTION_RULE_PLACE");
  static const char *const good[] = {
      "{\"properties\":{\"a\":{\"type\":\"object\",\"x-redacao\":\"remover\"}}}",
      "{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"],\"x-redacao\":\"manter\"}}}",
  };
  accept_all(good, COUNT(good));
}

static void coordinates_are_rounded_alike_or_removed_together(void **state) {
  (void)state;
#define PAIR(x, a, y, b) \
  "{\"properties\":{\"z\":{\"x-redacao\":\"manter\"},\"p\":{\"properties\":{\"" x "\":" a ",\"" y "\":" b "}}}}"
#define RULE(r) "{\"x-redacao\":" r "}"
  static const char *const bad[] = {
      PAIR("lat", RULE("\"manter\""), "lng", RULE("\"manter\"")),
      PAIR("lat", RULE("{\"arredondar\":2}"), "lng", RULE("{\"arredondar\":3}")),
      PAIR("lat", RULE("{\"arredondar\":2}"), "lng", RULE("\"remover\"")),
      PAIR("lat", RULE("{\"arredondar\":2}"), "lng", "{}"),
      PAIR("lat", RULE("\"remover\""), "lng", RULE("\"hash\"")),
      PAIR("lat", RULE("\"hash\""), "lng", RULE("\"hash\"")),
      PAIR("Latitude", RULE("\"manter\""), "LONGITUDE", RULE("{\"arredondar\":2}")),
      PAIR("lat", RULE("{\"arredondar\":1}"), "lon", RULE("{\"arredondar\":2}")),
      PAIR("latitude", RULE("{\"arredondar\":1}"), "long", RULE("\"manter\"")),
      "{\"$defs\":{\"c\":{\"$ref\":\"#/$defs/"
      "d\"},\"d\":{\"x-redacao\":{\"arredondar\":2}}},\"properties\":{\"lat\":{\"$ref\":\"#/$defs/"
      "c\"},\"lng\":{\"x-redacao\":{\"arredondar\":4}}}}",
  };
  refuse_all(bad, COUNT(bad), "REDACTION_COORDINATES");
  static const char *const good[] = {
      PAIR("lat", RULE("{\"arredondar\":2}"), "lng", RULE("{\"arredondar\":2}")),
      PAIR("lat", RULE("\"remover\""), "lng", "{}"),
      PAIR("lat", "{}", "lng", "{}"),
      PAIR("lat", RULE("{\"arredondar\":2}"), "altitude", RULE("\"manter\"")),
      "{\"properties\":{\"long\":{\"x-redacao\":\"manter\"}}}",
      "{\"$defs\":{\"c\":{\"x-redacao\":{\"arredondar\":2}}},\"properties\":{\"lat\":{\"$ref\":\"#/$defs/"
      "c\"},\"lng\":{\"$ref\":\"#/$defs/"
      "c\"}}}",
      "{\"$defs\":{\"c\":{\"$ref\":\"#/$defs/"
      "c\"}},\"properties\":{\"a\":{\"x-redacao\":\"manter\"},\"lat\":{\"$ref\":\"#/$defs/"
      "c\"},\"lng\":{}}}",
      "{\"x-redacao\":\"manter\",\"properties\":{\"lat\":{},\"lng\":{}}}",
  };
  accept_all(good, COUNT(good));
}

static void deep_schemas_are_walked_without_recursion(void **state) {
  (void)state;
  enum { DEPTH = 480 };
  trilha_buffer schema = {0};
  for (int i = 0; i < DEPTH; i++) trilha_buffer_add_string(&schema, "{\"not\":");
  trilha_buffer_add_string(&schema, "{\"$defs\":{\"a\":{\"x-redacao\":\"hash\"}}}");
  for (int i = 0; i < DEPTH; i++) trilha_buffer_add_string(&schema, "}");
  trilha_error err;
  bool needs_key;
  assert_int_equal(check(schema.data, &needs_key, &err), TRILHA_OK);
  assert_true(needs_key);
  trilha_buffer_done(&schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schema_without_any_rule_is_refused_unless_its_root_says_manter),
      cmocka_unit_test(unknown_rules_are_refused_with_their_place),
      cmocka_unit_test(rules_are_found_in_every_place_that_holds_subschemas),
      cmocka_unit_test(rules_that_could_never_apply_are_refused),
      cmocka_unit_test(objects_and_arrays_are_never_kept_whole_below_the_root),
      cmocka_unit_test(coordinates_are_rounded_alike_or_removed_together),
      cmocka_unit_test(deep_schemas_are_walked_without_recursion),
  };
  return cmocka_run_group_tests_name("redaction check", tests, NULL, NULL);
}
