/* redaction: what of a payload is left (design of privacy; field reports B30, G1, G3; rulings R24, R25). */
#include <locale.h>
#include "redact_test.h"

#define KEEP         "{\"x-redacao\":\"manter\"}"
#define HASH         "{\"x-redacao\":\"hash\"}"
#define GONE         "{\"x-redacao\":\"remover\"}"
#define ROUND        "{\"x-redacao\":{\"arredondar\":2}}"
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- field report B30: what is not allowed is gone at any depth ------------------------------------------------- */

static void markers_at_any_depth_are_gone_or_hashed(void **state) {
  (void)state;
  static const char schema[] =
      "{\"type\":\"object\",\"properties\":{"
      "\"id\":" KEEP ",\"hashed\":" HASH ",\"removed\":" GONE
      ",\"unruled\":{},"
      "\"one\":{\"properties\":{\"two\":{\"properties\":{\"id\":" KEEP ",\"hashed\":" HASH ",\"removed\":" GONE
      ",\"unruled\":{}}}}},"
      "\"list\":{\"items\":{\"properties\":{\"id\":" KEEP ",\"hashed\":" HASH ",\"removed\":" GONE
      ",\"deep\":{\"items\":{\"items\":" GONE
      "}}}}},"
      "\"numbers\":{\"items\":" HASH "},\"free\":{\"type\":\"object\"},\"rounded\":" ROUND "}}";
  static const char payload[] =
      "{\"id\":1,\"hashed\":\"M4RK1\",\"removed\":\"M4RK2\",\"unruled\":\"M4RK3\",\"notlisted\":\"M4RK4\",\"M4RK5\":{"
      "\"id\":1},"
      "\"one\":{\"M4RK6\":1,\"two\":{\"id\":2,\"hashed\":4444001,\"removed\":4444002,\"unruled\":4444003,\"other\":["
      "\"M4RK7\"]}},"
      "\"list\":[{\"id\":3,\"hashed\":\"M4RK8\",\"removed\":{\"x\":\"M4RK9\"},\"deep\":[[\"M4RKA\"],[4444004]]},{"
      "\"removed\":\"M4RKB\"},{\"id\":4}],"
      "\"numbers\":[4444005,-4444006,4444007.5],\"free\":{\"M4RKC\":{\"M4RKD\":\"M4RKE\"}},\"rounded\":\"M4RKF\"}";
  trilha_keyring *keyring = keyring_of("k1:" KEY_A);
  for (int with_keys = 0; with_keys < 2; with_keys++) {
    outcome o;
    redact_with(schema, trilha_text_of(payload), keyring, with_keys == 1, &o);
    assert_int_equal(o.status, TRILHA_OK);
    assert_null(strstr(o.text, "M4RK"));
    assert_null(strstr(o.text, "4444"));
    assert_null(strstr(o.unruled, "M4RK"));
    assert_null(strstr(o.text, "removed"));
    assert_non_null(strstr(o.text, "\"one\":{\"two\":{\"id\":2,\"hashed\":\"h1:k1:"));
    assert_non_null(strstr(o.text, "\"list\":[{\"id\":3,\"hashed\":\"h1:k1:"));
    assert_non_null(strstr(o.text, "},{\"id\":4}],\"numbers\":[\"h1:k1:")); /* what was all removed leaves no hole */
    assert_int_equal(o.counts.kept, 4);
    assert_int_equal(o.counts.hashed, 6);
    assert_int_equal(o.counts.rounded, 0);
    assert_int_equal(o.counts.removed, 14);
    assert_int_equal(o.counts.removed_without_rule, 7);
    assert_string_equal(o.unruled, "/unruled\n/*\n/*/id\n/one/*\n/one/two/unruled\n/one/two/*/*\n/free/*/*\n");
  }
  trilha_keyring_free(keyring);
}

static void nothing_without_a_rule_is_kept(void **state) {
  (void)state;
  expect("{\"properties\":{\"a\":" KEEP "}}", "{\"b\":1}", "{}");
  expect("{\"properties\":{\"a\":" KEEP "}}", "{}", "{}");
  expect("{\"properties\":{\"a\":" KEEP "}}", "{\"a\":{\"b\":1}}", "{}"); /* never an object as a whole */
  expect("{\"properties\":{\"a\":" KEEP "}}", "{\"a\":[[1]]}", "{}");
  expect("{\"properties\":{\"a\":" KEEP ",\"b\":{}}}", "{\"a\":null,\"b\":true}", "{\"a\":null}");
  expect("{\"properties\":{\"a\":{\"items\":" KEEP "}}}", "{\"a\":[1,[2],\"x\",{},null,false]}",
         "{\"a\":[1,\"x\",null,false]}");
  expect("{\"properties\":{\"a\":{\"prefixItems\":[" KEEP ",true," KEEP "]}}}", "{\"a\":[1,2,3,4]}", "{\"a\":[1,3]}");
  expect("{\"properties\":{\"a\":{\"type\":\"object\",\"x-redacao\":\"remover\",\"properties\":{\"b\":" KEEP "}}}}",
         "{\"a\":{\"b\":1}}", "{}");
  expect("{\"x-redacao\":\"remover\",\"properties\":{\"b\":" KEEP "}}", "{\"b\":1}", "{}");
}

static void names_that_the_schema_does_not_list_are_data(void **state) {
  (void)state;
  static const char *const schemas[] = {
      "{\"properties\":{\"a\":" KEEP "},\"additionalProperties\":" KEEP "}",
      "{\"properties\":{\"a\":" KEEP "},\"patternProperties\":{\"^[0-9]\":" KEEP "}}",
      "{\"properties\":{\"a\":" KEEP "},\"unevaluatedProperties\":" KEEP "}",
      "{\"properties\":{\"a\":" KEEP "},\"additionalProperties\":" HASH "}",
      "{\"properties\":{\"a\":" KEEP "},\"patternProperties\":{\"^[0-9]\":{\"properties\":{\"a\":" KEEP "}}}}",
      "{\"properties\":{\"a\":" KEEP "},\"additionalProperties\":{\"properties\":{\"a\":" KEEP "}}}",
  };
  for (size_t i = 0; i < COUNT(schemas); i++) {
    expect(schemas[i], "{\"a\":1,\"12345678909\":2}", "{\"a\":1}");
    expect(schemas[i], "{\"12345678909\":{\"a\":1}}", "{}");
  }
}

static void branch_that_validated_decides(void **state) {
  (void)state;
  static const char schema[] =
      "{\"oneOf\":[{\"properties\":{\"kind\":{\"const\":1,\"x-redacao\":\"manter\"},\"v\":" KEEP
      "},\"required\":[\"kind\"]},"
      "{\"properties\":{\"kind\":{\"const\":2,\"x-redacao\":\"manter\"},\"v\":" GONE "},\"required\":[\"kind\"]}]}";
  expect(schema, "{\"kind\":1,\"v\":\"x\"}", "{\"kind\":1,\"v\":\"x\"}");
  expect(schema, "{\"kind\":2,\"v\":\"x\"}", "{\"kind\":2}");
  /* several that agree are one rule, several that disagree remove, none removes */
  expect("{\"anyOf\":[{\"properties\":{\"v\":" KEEP "}},{\"properties\":{\"v\":" KEEP "}}]}", "{\"v\":1}", "{\"v\":1}");
  expect("{\"anyOf\":[{\"properties\":{\"v\":" KEEP "}},{\"properties\":{\"v\":" ROUND "}}]}", "{\"v\":1}", "{}");
  expect("{\"anyOf\":[{\"properties\":{\"v\":" ROUND "}},{\"properties\":{\"v\":{\"x-redacao\":{\"arredondar\":1}}}}]}",
         "{\"v\":1.23}", "{}");
  expect(
      "{\"anyOf\":[{\"properties\":{\"v\":{\"type\":\"number\",\"x-redacao\":\"manter\"}}},{\"properties\":{\"v\":{"
      "\"type\":\"string\"}}}]}",
      "{\"v\":\"x\"}", "{}");
  expect("{\"allOf\":[{\"properties\":{\"v\":" KEEP "}},{\"properties\":{\"v\":" GONE "}},{\"properties\":{\"v\":" KEEP
         "}}]}",
         "{\"v\":1}", "{}");
  expect("{\"$defs\":{\"x\":" KEEP "},\"properties\":{\"v\":{\"$ref\":\"#/$defs/x\"}}}", "{\"v\":1}", "{\"v\":1}");
  /* a rule beside a reference and one behind it must agree too */
  expect("{\"$defs\":{\"x\":" KEEP "},\"properties\":{\"v\":{\"$ref\":\"#/$defs/x\",\"x-redacao\":\"remover\"}}}",
         "{\"v\":1}", "{}");
  expect("{\"properties\":{\"k\":" KEEP
         "},\"if\":{\"properties\":{\"k\":{\"const\":1}}},\"then\":{\"properties\":{\"v\":" KEEP
         "}},\"else\":{\"properties\":{\"v\":" GONE "}}}",
         "{\"k\":1,\"v\":2}", "{\"k\":1,\"v\":2}");
  expect("{\"properties\":{\"k\":" KEEP "},\"not\":{\"properties\":{\"v\":{\"type\":\"string\"}}}}",
         "{\"v\":2,\"k\":3}", "{\"k\":3}");
}

static void root_that_says_manter_keeps_what_has_no_rule_of_its_own(void **state) {
  (void)state;
  static const char schema[] = "{\"x-redacao\":\"manter\",\"properties\":{\"cpf\":" GONE ",\"lat\":" ROUND
                               ",\"lng\":" ROUND "},\"patternProperties\":{\"^x\":" ROUND "}}";
  expect(schema, "{\"a\":{\"b\":[1,{},[],null]},\"c\":1e2}", "{\"a\":{\"b\":[1,{},[],null]},\"c\":1e2}");
  expect(schema, "{\"cpf\":\"1\",\"n\":{\"cpf\":\"2\"}}", "{\"n\":{\"cpf\":\"2\"}}");
  expect(schema, "{\"lat\":1.239,\"lng\":2.001}", "{\"lat\":1.24,\"lng\":2}");
  expect(schema, "{\"x\":1.239,\"y\":1}", "{\"y\":1}"); /* a rule under a name that is data: removed, as always */
  expect("{\"x-redacao\":\"manter\"}", "{\"lat\":1.23456,\"lng\":2}", "{\"lat\":1.23456,\"lng\":2}");
  /* below the root nobody keeps an object whole, not even by way of a reference */
  expect("{\"properties\":{\"a\":{\"$ref\":\"#/$defs/w\"},\"b\":" KEEP "},\"$defs\":{\"w\":" KEEP "}}",
         "{\"a\":{\"x\":1},\"b\":2}", "{\"b\":2}");
}

/* --- numbers (ruling R25, field report G3) ------------------------------------------------------------------------ */

static void numbers_round_in_decimal_to_nearest_and_ties_away_from_zero(void **state) {
  (void)state;
  static const struct {
    const char *given, *left;
  } cases[] = {{"-23.5505", "-23.55"}, {"-46.6333", "-46.63"}, {"0", "0"},         {"-0", "0"},       {"-0.001", "0"},
               {"0.005", "0.01"},      {"-0.005", "-0.01"},    {"0.0049999", "0"}, {"1.005", "1.01"}, {"2.675", "2.68"},
               {"-179.999", "-180"},   {"1e-7", "0"},          {"12e-1", "1.2"},   {"1.10", "1.1"},   {"89.995", "90"},
               {"-0.0", "0"},          {"5e-3", "0.01"},       {"100", "100"},     {"-90.0", "-90"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    char payload[64], left[64];
    snprintf(payload, sizeof payload, "{\"v\":%s}", cases[i].given);
    snprintf(left, sizeof left, "{\"v\":%s}", cases[i].left);
    expect("{\"properties\":{\"v\":" ROUND "}}", payload, left);
  }
  expect("{\"properties\":{\"v\":{\"x-redacao\":{\"arredondar\":0}}}}", "{\"v\":-0.5}", "{\"v\":-1}");
  expect("{\"properties\":{\"v\":{\"x-redacao\":{\"arredondar\":15}}}}", "{\"v\":0.1234567890123456}",
         "{\"v\":0.123456789012346}");
  /* only numbers can be rounded */
  expect("{\"properties\":{\"v\":" ROUND "}}", "{\"v\":\"-23.5505\"}", "{}");
  expect("{\"properties\":{\"v\":" ROUND "}}", "{\"v\":null}", "{}");
}

static void coordinates_stay_together_even_when_branches_disagree(void **state) {
  (void)state;
  static const char split[] = "{\"allOf\":[{\"properties\":{\"id\":" KEEP ",\"lat\":" ROUND
                              "}},{\"properties\":{\"lng\":{\"x-redacao\":{\"arredondar\":4}}}}]}";
  expect(split, "{\"id\":1,\"lat\":1.23456,\"lng\":2.34567}", "{\"id\":1}");
  expect(split, "{\"id\":1,\"lat\":1.23456}", "{\"id\":1,\"lat\":1.23}"); /* alone it is only rounded */
  expect("{\"allOf\":[{\"properties\":{\"Latitude\":" KEEP "}},{\"properties\":{\"LONGITUDE\":" ROUND "}}]}",
         "{\"Latitude\":1.23456,\"LONGITUDE\":2.34567}", "{}");
  expect("{\"allOf\":[{\"properties\":{\"lat\":" KEEP "}},{\"properties\":{\"lon\":" KEEP "}}]}",
         "{\"lat\":1.23456,\"lon\":2.34567}", "{}");
  expect("{\"properties\":{\"lat\":" ROUND "}}", "{\"lat\":1.23456,\"lng\":2.34567}", "{}"); /* the other has no rule */
  expect("{\"properties\":{\"lat\":" ROUND ",\"lng\":" ROUND ",\"label\":" KEEP "}}",
         "{\"label\":\"l\",\"lat\":1.23456,\"lng\":-0.001}", "{\"label\":\"l\",\"lat\":1.23,\"lng\":0}");
}

static void bytes_are_the_same_under_a_locale_with_a_decimal_comma(void **state) {
  (void)state;
  static const char schema[] = "{\"properties\":{\"lat\":" ROUND ",\"lng\":" ROUND ",\"n\":" KEEP ",\"h\":" HASH "}}";
  static const char payload[] = "{\"lat\":-23.5505,\"lng\":-0.005,\"n\":1234.5,\"h\":1234.50}";
  trilha_keyring *keyring = keyring_of("k1:" KEY_A);
  outcome plain, comma;
  redact(schema, payload, keyring, &plain);
  if (setlocale(LC_ALL, "comma") == NULL) {
    print_message("skipped: no locale with a decimal comma\n");
    trilha_keyring_free(keyring);
    skip();
  }
  assert_string_equal(localeconv()->decimal_point, ",");
  redact(schema, payload, keyring, &comma);
  setlocale(LC_ALL, "C");
  trilha_keyring_free(keyring);
  assert_string_equal(plain.text, comma.text);
  static const char begins[] = "{\"lat\":-23.55,\"lng\":-0.01,\"n\":1234.5,";
  assert_memory_equal(comma.text, begins, sizeof begins - 1);
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

#define ALL_HASHED \
  "{\"properties\":{\"a\":" HASH ",\"b\":" HASH ",\"list\":{\"items\":{\"properties\":{\"a\":" HASH "}}}}}"

static void token_of(const char *payload, const trilha_keyring *keyring, char ret[64]) {
  outcome o;
  redact(ALL_HASHED, payload, keyring, &o);
  const char *token = strstr(o.text, "\"h1:");
  assert_non_null(token);
  snprintf(ret, 64, "%.*s", (int)(strchr(token + 1, '"') - token - 1), token + 1);
}

static void token_is_the_documented_construction(void **state) {
  (void)state;
  trilha_keyring *keyring = keyring_of("k1:" KEY_A);
  char token[64];
  token_of("{\"a\":\"Falta d'\\u00e1gua\"}", keyring, token);
  /* Computed apart, with Python's hmac and hashlib, from docs/redaction.md. */
  assert_string_equal(token, "h1:k1:fRBAiPTzyuSv7r0UVJHJil");
  trilha_keyring_free(keyring);
}

static void equal_values_give_equal_tokens_and_only_those(void **state) {
  (void)state;
  trilha_keyring *keyring = keyring_of("k1:" KEY_A);
  static const char *const same[][2] = {
      {"{\"a\":\"\\u00e9\"}", "{\"a\":\"e\\u0301\"}"},                       /* NFC */
      {"{\"a\":\"x y\"}", "{\"a\":\" \\t\\u00a0x y\\u3000\\u2003\\r\\n\"}"}, /* Unicode white space at the ends */
      {"{\"a\":100}", "{\"a\":1e2}"},
      {"{\"a\":100}", "{\"a\":100.000}"},
      {"{\"a\":0}", "{\"a\":-0.0}"},
      {"{\"a\":0.5}", "{\"a\":5e-1}"},
      {"{\"a\":\"100\"}", "{\"a\":100}"}, /* a CPF sent as a number is the same CPF */
      {"{\"a\":\"\"}", "{\"a\":\"  \"}"},
      {"{\"a\":\"true\"}", "{\"a\":true}"},
      {"{\"list\":[{\"a\":\"x\"}]}", "{\"list\":[{},{\"b\":1},{\"a\":\"x\"}]}"}, /* position does not count */
  };
  static const char *const different[][2] = {
      {"{\"a\":\"x\"}", "{\"b\":\"x\"}"},
      {"{\"a\":\"x\"}", "{\"list\":[{\"a\":\"x\"}]}"},
      {"{\"a\":\"x\"}", "{\"a\":\"X\"}"},
      {"{\"a\":\"x y\"}", "{\"a\":\"x  y\"}"},
      {"{\"a\":true}", "{\"a\":false}"},
      {"{\"a\":null}", "{\"a\":\"\"}"},
      {"{\"a\":9007199254740993}", "{\"a\":9007199254740992}"},
      {"{\"a\":0.1}", "{\"a\":0.10000000000000001}"},
  };
  char a[64], b[64];
  for (size_t i = 0; i < COUNT(same); i++) {
    token_of(same[i][0], keyring, a);
    token_of(same[i][1], keyring, b);
    if (strcmp(a, b) != 0) fail_msg("%s and %s differ", same[i][0], same[i][1]);
  }
  for (size_t i = 0; i < COUNT(different); i++) {
    token_of(different[i][0], keyring, a);
    token_of(different[i][1], keyring, b);
    if (strcmp(a, b) == 0) fail_msg("%s and %s are the same", different[i][0], different[i][1]);
  }
  trilha_keyring_free(keyring);
}

static void token_depends_on_type_and_key(void **state) {
  (void)state;
  trilha_keyring *one = keyring_of("k1:" KEY_A), *other = keyring_of("k1:" KEY_B);
  char a[64], b[64];
  token_of("{\"a\":\"x\"}", one, a);
  token_of("{\"a\":\"x\"}", other, b);
  assert_string_not_equal(a, b);
  trilha_schema *schema = schema_of(ALL_HASHED);
  trilha_json_document *document = document_of("{\"a\":\"x\"}");
  trilha_schema_scratch *scratch = NULL;
  assert_int_equal(trilha_schema_scratch_new(&scratch, NULL), TRILHA_OK);
  trilha_buffer out = {0};
  assert_int_equal(trilha_redact(schema, document, NULL, scratch, TRILHA_TEXT("u"), one, &out, NULL, NULL, NULL, NULL),
                   TRILHA_OK);
  assert_null(strstr(out.data, a));
  trilha_buffer_done(&out);
  trilha_schema_scratch_free(scratch);
  trilha_json_document_free(document);
  trilha_schema_free(schema);
  trilha_keyring_free(one);
  trilha_keyring_free(other);
}

static void rotation_writes_with_the_newest_key_and_keeps_old_tokens(void **state) {
  (void)state;
  trilha_keyring *before = keyring_of("k1:" KEY_A), *both = keyring_of("k1:" KEY_A "\nk2:" KEY_B),
                 *destroyed = keyring_of("k2:" KEY_B);
  char old[64], new[64], again[64], payload[128];
  token_of("{\"a\":\"x\"}", before, old);
  token_of("{\"a\":\"x\"}", both, new);
  assert_memory_equal(old, "h1:k1:", 6);
  assert_memory_equal(new, "h1:k2:", 6);
  assert_true(trilha_keyring_has(both, TRILHA_TEXT("k1")) && trilha_keyring_has(both, TRILHA_TEXT("k2")));
  /* a stored token passes through whole, under every keyring, also when its key is gone */
  snprintf(payload, sizeof payload, "{\"a\":\"%s\"}", old);
  token_of(payload, both, again);
  assert_string_equal(again, old);
  token_of(payload, destroyed, again);
  assert_string_equal(again, old);
  /* with its key destroyed nobody can make it again */
  assert_false(trilha_keyring_has(destroyed, TRILHA_TEXT("k1")));
  token_of("{\"a\":\"x\"}", destroyed, again);
  assert_string_equal(again, new);
  trilha_keyring_free(before);
  trilha_keyring_free(both);
  trilha_keyring_free(destroyed);
}

static void what_only_resembles_a_token_is_hashed(void **state) {
  (void)state;
  trilha_keyring *keyring = keyring_of("k1:" KEY_A);
  static const char *const near[] = {"h1:k1:0123456789012345678901x",
                                     "h1:k1:012345678901234567890",
                                     "h2:k1:0123456789012345678901",
                                     "h1:K1:0123456789012345678901",
                                     "h1::0123456789012345678901",
                                     "h1:k1:012345678901234567890=",
                                     "h1:01234567890123456:0123456789012345678901",
                                     " h1:k1:0123456789012345678901",
                                     "h1:k1"};
  for (size_t i = 0; i < COUNT(near); i++) {
    char payload[128], token[64];
    snprintf(payload, sizeof payload, "{\"a\":\"%s\"}", near[i]);
    token_of(payload, keyring, token);
    if (strstr(near[i], token) != NULL) fail_msg("%s was kept", near[i]);
  }
  trilha_keyring_free(keyring);
}

static void hash_rule_without_a_key_is_refused(void **state) {
  (void)state;
  outcome o;
  redact_with(ALL_HASHED, TRILHA_TEXT("{\"a\":\"x\"}"), NULL, true, &o);
  assert_int_equal(o.status, TRILHA_INVALID);
  assert_string_equal(o.err.code, "REDACTION_KEY_MISSING");
  assert_null(strstr(o.text, "x"));
}

/* --- field report G1: a redacted payload may be redacted again ------------------------------------------------------
 */

static void redacting_twice_changes_nothing(void **state) {
  (void)state;
  static const char schema[] =
      "{\"properties\":{\"a\":" HASH ",\"k\":" KEEP ",\"g\":" GONE ",\"lat\":" ROUND ",\"lng\":" ROUND
      ",\"l\":{\"items\":{\"properties\":{\"a\":" HASH ",\"l\":{\"items\":{\"x-redacao\":{\"arredondar\":0}}}}}}}}";
  static const char *const payloads[] = {
      "{\"a\":\"x\",\"k\":[1],\"g\":1,\"lat\":-23.5505,\"lng\":-46.6333,\"l\":[{\"a\":1,\"l\":[0.5,1.5,\"x\"]},{},{"
      "\"z\":1}],\"u\":{\"v\":1}}",
      "{\"a\":null,\"k\":\"h1:k1:0123456789012345678901\",\"lat\":0.005,\"lng\":-0.004}", "{}", "{\"l\":[]}",
      "{\"l\":[{\"l\":[]}]}"};
  trilha_keyring *keyring = keyring_of("k1:" KEY_A), *later = keyring_of("k1:" KEY_A "\nk2:" KEY_B);
  for (size_t i = 0; i < COUNT(payloads); i++) {
    outcome once, twice;
    redact(schema, payloads[i], keyring, &once);
    redact(schema, once.text, later, &twice);
    assert_string_equal(once.text, twice.text);
    assert_int_equal(twice.counts.removed, 0);
  }
  trilha_keyring_free(keyring);
  trilha_keyring_free(later);
}

/* --- bounds ----------------------------------------------------------------------------------------------------------
 */

static void deep_payloads_are_walked_without_recursion(void **state) {
  (void)state;
  enum { DEPTH = 254 };
  trilha_buffer payload = {0}, left = {0};
  for (int i = 0; i < DEPTH; i++) trilha_buffer_add_string(&payload, "{\"n\":1,\"r\":");
  trilha_buffer_add_string(&payload, "{}");
  for (int i = 0; i < DEPTH; i++) trilha_buffer_add_string(&payload, "}");
  for (int i = 0; i < DEPTH; i++) trilha_buffer_add_string(&left, i == DEPTH - 1 ? "{\"n\":1" : "{\"n\":1,\"r\":");
  for (int i = 0; i < DEPTH; i++) trilha_buffer_add_string(&left, "}");
  expect("{\"properties\":{\"n\":" KEEP ",\"r\":{\"$ref\":\"#\"}}}", payload.data, left.data);
  trilha_buffer_done(&payload);
  trilha_buffer_done(&left);
}

static void result_larger_than_its_limit_is_refused(void **state) {
  (void)state;
  trilha_keyring *keyring = keyring_of("k1:" KEY_A);
  trilha_buffer payload = {0};
  trilha_buffer_add_string(&payload, "{\"l\":[0");
  for (int i = 0; i < 400000; i++) trilha_buffer_add_string(&payload, ",1");
  trilha_buffer_add_string(&payload, "]}");
  outcome o;
  redact_with("{\"properties\":{\"l\":{\"items\":" HASH "}}}", trilha_buffer_text(&payload), keyring, true, &o);
  assert_int_equal(o.status, TRILHA_LIMIT);
  trilha_buffer_done(&payload);
  trilha_keyring_free(keyring);
}

static void output_is_appended_and_a_payload_that_is_invalid_is_refused(void **state) {
  (void)state;
  trilha_schema *schema = schema_of("{\"properties\":{\"a\":{\"type\":\"string\",\"x-redacao\":\"manter\"}}}");
  trilha_schema_scratch *scratch = NULL;
  assert_int_equal(trilha_schema_scratch_new(&scratch, NULL), TRILHA_OK);
  trilha_json_document *good = document_of("{\"a\":\"\\u0001/\\\"\"}"), *bad = document_of("{\"a\":1}"),
                       *scalar = document_of("1");
  trilha_buffer out = {0};
  trilha_buffer_add_string(&out, "before ");
  trilha_error err = {0};
  assert_int_equal(trilha_redact(schema, good, NULL, scratch, TRILHA_TEXT("t"), NULL, &out, NULL, NULL, NULL, &err),
                   TRILHA_OK);
  assert_string_equal(out.data, "before {\"a\":\"\\u0001/\\\"\"}");
  assert_int_equal(trilha_redact(schema, bad, NULL, scratch, TRILHA_TEXT("t"), NULL, &out, NULL, NULL, NULL, &err),
                   TRILHA_INVALID);
  assert_int_equal(trilha_redact(schema, scalar, NULL, scratch, TRILHA_TEXT("t"), NULL, &out, NULL, NULL, NULL, NULL),
                   TRILHA_INVALID);
  trilha_buffer_done(&out);
  trilha_json_document_free(good);
  trilha_json_document_free(bad);
  trilha_json_document_free(scalar);
  trilha_schema_scratch_free(scratch);
  trilha_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(markers_at_any_depth_are_gone_or_hashed),
      cmocka_unit_test(nothing_without_a_rule_is_kept),
      cmocka_unit_test(names_that_the_schema_does_not_list_are_data),
      cmocka_unit_test(branch_that_validated_decides),
      cmocka_unit_test(root_that_says_manter_keeps_what_has_no_rule_of_its_own),
      cmocka_unit_test(numbers_round_in_decimal_to_nearest_and_ties_away_from_zero),
      cmocka_unit_test(bytes_are_the_same_under_a_locale_with_a_decimal_comma),
      cmocka_unit_test(coordinates_stay_together_even_when_branches_disagree),
      cmocka_unit_test(token_is_the_documented_construction),
      cmocka_unit_test(equal_values_give_equal_tokens_and_only_those),
      cmocka_unit_test(token_depends_on_type_and_key),
      cmocka_unit_test(rotation_writes_with_the_newest_key_and_keeps_old_tokens),
      cmocka_unit_test(what_only_resembles_a_token_is_hashed),
      cmocka_unit_test(hash_rule_without_a_key_is_refused),
      cmocka_unit_test(redacting_twice_changes_nothing),
      cmocka_unit_test(deep_payloads_are_walked_without_recursion),
      cmocka_unit_test(result_larger_than_its_limit_is_refused),
      cmocka_unit_test(output_is_appended_and_a_payload_that_is_invalid_is_refused),
  };
  return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
