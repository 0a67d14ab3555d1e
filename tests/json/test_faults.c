/* json: every fault, at its place. */
#include "json_test.h"

typedef struct fault_case {
  const char *text, *code;
  size_t offset;
  uint32_t line, column;
  const char *says;
} fault_case;

static void check_fault(const fault_case *c, trilha_text text, const trilha_json_limits *limits, trilha_status status) {
  trilha_json_document *d = NULL;
  trilha_json_fault fault = {0};
  trilha_error err = {0};
  trilha_status got = trilha_json_parse(text, limits, &d, &fault, &err);
  if (got == TRILHA_OK) fail_msg("accepted: %s", c->text);
  assert_int_equal(got, status);
  assert_int_equal(err.status, status);
  assert_string_equal(fault.code, c->code);
  assert_string_equal(err.code, c->code);
  if (fault.offset != c->offset || fault.line != c->line || fault.column != c->column)
    fail_msg("%s: offset %zu line %u column %u", c->text, fault.offset, fault.line, fault.column);
  assert_string_equal(fault.text, c->says);
  assert_string_equal(fault.pointer, "");
  char whole[256];
  snprintf(whole, sizeof whole, "line %u, column %u: %s", c->line, c->column, c->says);
  assert_string_equal(err.text, whole);
}

static void syntax_faults_say_what_was_expected_and_where(void **state) {
  (void)state;
  static const fault_case cases[] = {
      {"", "JSON_SYNTAX", 0, 1, 1, "the text is empty"},
      {"  \n ", "JSON_SYNTAX", 4, 2, 2, "the text ends too early"},
      {"\xEF\xBB\xBF{}", "JSON_SYNTAX", 0, 1, 1, "the text begins with a byte order mark"},
      {"[1,\n 2,\n x]", "JSON_SYNTAX", 9, 3, 2, "a value was expected"},
      {"[\"\xC3\xA7\xC3\xA3o\" 1]", "JSON_SYNTAX", 9, 1, 8, "',' or ']' was expected"},
      {"{\"a\":1 \"b\"", "JSON_SYNTAX", 7, 1, 8, "',' or '}' was expected"},
      {"{\"a\" 1}", "JSON_SYNTAX", 5, 1, 6, "':' was expected"},
      {"{a:1}", "JSON_SYNTAX", 1, 1, 2, "a name in quotes was expected"},
      {"{\"a\":1,}", "JSON_SYNTAX", 7, 1, 8, "a name in quotes was expected"},
      {"[1,]", "JSON_SYNTAX", 3, 1, 4, "a value was expected"},
      {"[,1]", "JSON_SYNTAX", 1, 1, 2, "a value was expected"},
      {"[1}", "JSON_SYNTAX", 2, 1, 3, "',' or ']' was expected"},
      {"[1", "JSON_SYNTAX", 2, 1, 3, "the text ends too early"},
      {"[1,", "JSON_SYNTAX", 3, 1, 4, "the text ends too early"},
      {"{\"a", "JSON_SYNTAX", 3, 1, 4, "the text ends too early"},
      {"{\"a\":", "JSON_SYNTAX", 5, 1, 6, "the text ends too early"},
      {"1 2", "JSON_SYNTAX", 2, 1, 3, "nothing may follow the value"},
      {"{}}", "JSON_SYNTAX", 2, 1, 3, "nothing may follow the value"},
      {"nul", "JSON_SYNTAX", 0, 1, 1, "a value was expected"},
      {"falsy", "JSON_SYNTAX", 0, 1, 1, "a value was expected"},
      {"truex", "JSON_SYNTAX", 4, 1, 5, "nothing may follow the value"},
      {"[\"a\tb\"]", "JSON_SYNTAX", 3, 1, 4, "a control character inside a string must be escaped"},
      {"[\"\n\"]", "JSON_SYNTAX", 2, 1, 3, "a control character inside a string must be escaped"},
      {"[\"a\\x\"]", "JSON_SYNTAX", 3, 1, 4, "this is not one of JSON's escapes"},
      {"[\"a\\u12g4\"]", "JSON_SYNTAX", 3, 1, 4, "this is not one of JSON's escapes"},
      {"-", "JSON_SYNTAX", 1, 1, 2, "the text ends too early"},
      {"[-x]", "JSON_SYNTAX", 2, 1, 3, "a digit was expected"},
      {"[01]", "JSON_SYNTAX", 2, 1, 3, "',' or ']' was expected"},
      {"[1.]", "JSON_SYNTAX", 3, 1, 4, "a digit was expected after the decimal point"},
      {"[1e+]", "JSON_SYNTAX", 4, 1, 5, "a digit was expected in the exponent"},
      {"[.5]", "JSON_SYNTAX", 1, 1, 2, "a value was expected"},
      {"[+1]", "JSON_SYNTAX", 1, 1, 2, "a value was expected"},
      {"[NaN]", "JSON_SYNTAX", 1, 1, 2, "a value was expected"},
      {"\xC3\xA7", "JSON_SYNTAX", 0, 1, 1, "a value was expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    check_fault(&cases[i], trilha_text_of(cases[i].text), NULL, TRILHA_INVALID);
}

static void nul_bytes_are_faults_and_do_not_end_the_text(void **state) {
  (void)state;
  static const fault_case inside = {"a NUL in an array", "JSON_SYNTAX", 2, 1, 3, "',' or ']' was expected"};
  check_fault(&inside, (trilha_text){"[1\0]", 4}, NULL, TRILHA_INVALID);
  static const fault_case string = {
      "a NUL in a string", "JSON_SYNTAX", 3, 1, 4, "a control character inside a string must be escaped"};
  check_fault(&string, (trilha_text){"[\"a\0b\"]", 7}, NULL, TRILHA_INVALID);
  static const fault_case after = {"a NUL after the value", "JSON_SYNTAX", 1, 1, 2, "nothing may follow the value"};
  check_fault(&after, (trilha_text){"1\0", 2}, NULL, TRILHA_INVALID);
}

static void utf8_faults_name_the_first_bad_byte(void **state) {
  (void)state;
  static const fault_case cases[] = {
      {"[\"\xC3\xA7\",\n \"a\xFF\"]", "JSON_UTF8", 10, 2, 4, "the text is not UTF-8"},
      {"\"\xED\xA0\x80\"", "JSON_UTF8", 1, 1, 2, "the text is not UTF-8"},
      {"\"\xC0\xAF\"", "JSON_UTF8", 1, 1, 2, "the text is not UTF-8"},
      {"\"\xF4\x90\x80\x80\"", "JSON_UTF8", 1, 1, 2, "the text is not UTF-8"},
      {"\"abc\xE2\x82", "JSON_UTF8", 4, 1, 5, "the text is not UTF-8"},
      {"\xFF\xFE", "JSON_UTF8", 0, 1, 1, "the text is not UTF-8"},
      {"[\"a\" \"\xFF\"]", "JSON_SYNTAX", 5, 1, 6,
       "',' or ']' was expected"}, /* the syntax broke before the bytes did */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    check_fault(&cases[i], trilha_text_of(cases[i].text), NULL, TRILHA_INVALID);
}

static void surrogates_without_a_partner_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"[\"\\ud83d\"]",    "[\"\\ude00\"]",        "[\"\\ud83d\\u0041\"]",
                                      "[\"\\ud83dx\"]",   "[\"\\ud83d\\ud83d\"]", "[\"\\uDFFF\"]",
                                      "[\"\\ud83d\\n\"]", "[\"\\ud83d\\u12\"]"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    fault_case c = {texts[i], "JSON_SURROGATE", 2, 1, 3, "an escaped surrogate has no partner"};
    check_fault(&c, trilha_text_of(texts[i]), NULL, TRILHA_INVALID);
  }
}

static void limits_are_faults_with_a_place(void **state) {
  (void)state;
  trilha_json_limits limits = {.bytes_max = 20, .depth_max = 2, .number_size_max = 5};
  static const fault_case depth = {"[1,\n[{", "JSON_DEPTH", 5, 2, 2, "arrays and objects are nested too deeply"};
  check_fault(&depth, trilha_text_of(depth.text), &limits, TRILHA_LIMIT);
  static const fault_case number = {"[1,-12345]", "JSON_NUMBER_SIZE", 3, 1, 4, "a number has too many characters"};
  check_fault(&number, trilha_text_of(number.text), &limits, TRILHA_LIMIT);
  static const fault_case size = {"[\n                   ]",          "JSON_SIZE", 20, 2, 19,
                                  "the text is larger than its limit"};
  check_fault(&size, trilha_text_of(size.text), &limits, TRILHA_LIMIT);
  trilha_json_document *d = NULL;
  assert_int_equal(trilha_json_parse(TRILHA_TEXT("[1,[-1234]]         "), &limits, &d, NULL, NULL), TRILHA_OK);
  trilha_json_document_free(d);
}

static void faults_never_quote_the_input(void **state) {
  (void)state;
  static const char *const texts[] = {"[segredo]",          "{\"segredo\" 1}",        "\"segredo",  "\"segredo\\x\"",
                                      "\"segredo\\ud83d\"", "{\"a\":1 segredo}",      "[1]segredo", "{segredo}",
                                      "\"segredo\xFF\"",    "[\"segredo\tsegredo\"]", "[-segredo]"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    trilha_json_document *d = NULL;
    trilha_json_fault fault = {0};
    trilha_error err = {0};
    assert_int_equal(trilha_json_parse(trilha_text_of(texts[i]), NULL, &d, &fault, &err), TRILHA_INVALID);
    assert_null(strstr(fault.text, "segredo"));
    assert_null(strstr(err.text, "segredo"));
  }
}

/* --- what cannot be stored ---------------------------------------------------------------------------------- */

typedef struct stored_case {
  const char *text, *code, *pointer;
  uint32_t line, column;
} stored_case;

static trilha_status check_stored(trilha_text text, trilha_json_fault *ret_fault, trilha_error *err) {
  trilha_json_document *d = must_parse(text);
  trilha_status status = trilha_json_check_storable(d, text, ret_fault, err);
  trilha_json_document_free(d);
  return status;
}

static void values_that_cannot_be_stored_are_found_in_document_order(void **state) {
  (void)state;
  static const stored_case cases[] = {
      {"{\"canal\":\"app\",\n\"canal\":\"x\"}", "JSON_DUPLICATE_KEY", "/canal", 2, 1},
      {"{\"a\":1,\"\\u0061\":2}", "JSON_DUPLICATE_KEY", "/a", 1, 8},
      {"{\"\":1,\"b\":2,\"\":3}", "JSON_DUPLICATE_KEY", "/", 1, 13},
      {"[0,{\"x\":{\"a/b\":1,\"a/b\":[]}}]", "JSON_DUPLICATE_KEY", "/1/x/a~1b", 1, 18},
      {"{\"a\":{\"b\":1,\"b\":2},\"a\":1}", "JSON_DUPLICATE_KEY", "/a/b", 1, 13},
      {"{\"a\":[\"\\u0000\"],\"a\":1}", "JSON_NUL", "/a/0", 1, 7},
      {"{\"a\":1,\"a\":\"\\u0000\"}", "JSON_DUPLICATE_KEY", "/a", 1, 8},
      {"[\"\xC3\xA7\",\n  \"x\\u0000y\"]", "JSON_NUL", "/1", 2, 3},
      {"{\"k\\u0000\":1}", "JSON_NUL", "/k\xEF\xBF\xBD", 1, 2},
      {"[true,{\"n\":1e400}]", "JSON_NUMBER_RANGE", "/1/n", 1, 12},
      {"-1e400", "JSON_NUMBER_RANGE", "", 1, 1},
      {"[1e-400]", "JSON_NUMBER_RANGE", "/0", 1, 2},
      {"[0e-400]", "JSON_NUMBER_RANGE", "/0", 1, 2},
      {"[1E131071]", "JSON_NUMBER_RANGE", "/0", 1, 2},
      {"[1e999999999999999999999]", "JSON_NUMBER_RANGE", "/0", 1, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    trilha_json_fault fault = {0};
    trilha_error err = {0};
    assert_int_equal(check_stored(trilha_text_of(cases[i].text), &fault, &err), TRILHA_INVALID);
    assert_string_equal(fault.code, cases[i].code);
    assert_string_equal(err.code, cases[i].code);
    assert_string_equal(fault.pointer, cases[i].pointer);
    if (fault.line != cases[i].line || fault.column != cases[i].column)
      fail_msg("%s: line %u column %u", cases[i].text, fault.line, fault.column);
  }
}

static void values_that_can_be_stored_pass(void **state) {
  (void)state;
  static const char *const texts[] = {"{\"a\":{\"a\":1},\"b\":{\"a\":2},\"A\":[{\"a\":1},{\"a\":1}]}",
                                      "[1e399,-1e399,1e-399,0.0,-0,0e300]", "\"\\u0001\\\\u0000\"",
                                      "{\"a\":\"a\",\"aa\":\"a\"}", "null"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    assert_int_equal(check_stored(trilha_text_of(texts[i]), NULL, NULL), TRILHA_OK);
}

static void payloads_may_nest_255_levels_and_no_more(void **state) {
  (void)state;
  char text[1024];
  for (int levels = 255; levels <= 256; levels++) {
    size_t n = 0;
    text[n++] = '\n';
    for (int i = 0; i < levels; i++) n += (size_t)snprintf(text + n, sizeof text - n, i % 2 == 1 ? "[" : "{\"\":");
    text[n++] = '1';
    for (int i = levels - 1; i >= 0; i--) text[n++] = i % 2 == 1 ? ']' : '}';
    trilha_json_fault fault = {0};
    trilha_status status = check_stored((trilha_text){text, n}, &fault, NULL);
    assert_int_equal(status, levels == 255 ? TRILHA_OK : TRILHA_INVALID);
    if (levels == 255) continue;
    assert_string_equal(fault.code, "JSON_DEPTH");
    assert_int_equal(fault.line, 2);
    assert_int_equal(fault.column, 128 * 4 + 127 + 1);
    assert_int_equal(strlen(fault.pointer), 128 + 127 * 2);
  }
}

static void payloads_over_two_mebibytes_once_expanded_are_refused(void **state) {
  (void)state;
  /* Numbers of 400 digits in six bytes: with commas and brackets 5,229 of them fit, 5,230 do not. */
  enum { MANY = 6000 };
  char *text = malloc(MANY * 6 + 2);
  assert_non_null(text);
  for (int fits = 0; fits < 2; fits++) {
    size_t n = 0, count = fits ? 5229 : MANY;
    text[n++] = '[';
    for (size_t i = 0; i < count; i++) {
      memcpy(text + n, "1e399,", 6);
      n += 6;
    }
    text[n - 1] = ']';
    trilha_json_fault fault = {0};
    trilha_status status = check_stored((trilha_text){text, n}, &fault, NULL);
    assert_int_equal(status, fits ? TRILHA_OK : TRILHA_INVALID);
    if (fits) continue;
    assert_string_equal(fault.code, "JSON_EXPANDED_SIZE");
    size_t index = (size_t)strtoul(fault.pointer + 1, NULL, 10);
    assert_int_equal(index, 5229);
    assert_int_equal(fault.column, 2 + index * 6);
  }
  free(text);
}

static void a_million_names_are_checked_in_linear_time(void **state) {
  (void)state;
  enum { MANY = 1000000 };
  char *text = malloc((size_t)MANY * 16 + 32);
  assert_non_null(text);
  size_t n = 0;
  text[n++] = '{';
  for (int i = 0; i < MANY; i++) n += (size_t)sprintf(text + n, "\"k%07d\":1,\n", i);
  size_t second = n;
  n += (size_t)sprintf(text + n, "\"k%07d\":1}", MANY - 2);
  trilha_json_document *d = NULL;
  assert_int_equal(trilha_json_parse((trilha_text){text, n}, NULL, &d, NULL, NULL), TRILHA_OK);
  trilha_json_fault fault = {0};
  assert_int_equal(trilha_json_check_storable(d, (trilha_text){text, n}, &fault, NULL), TRILHA_INVALID);
  /* It is past 2 MiB long before its last name. */
  assert_string_equal(fault.code, "JSON_EXPANDED_SIZE");
  assert_true(fault.offset < second);
  trilha_json_document_free(d);
  free(text);
}

static void a_hundred_thousand_names_show_their_one_duplicate(void **state) {
  (void)state;
  enum { MANY = 100000 };
  char *text = malloc((size_t)MANY * 16 + 32);
  assert_non_null(text);
  size_t n = 0;
  text[n++] = '{';
  for (int i = 0; i < MANY; i++) n += (size_t)sprintf(text + n, "\"k%07d\":1,\n", i);
  n += (size_t)sprintf(text + n, "\"k%07d\":1}", 12345);
  trilha_json_fault fault = {0};
  assert_int_equal(check_stored((trilha_text){text, n}, &fault, NULL), TRILHA_INVALID);
  assert_string_equal(fault.code, "JSON_DUPLICATE_KEY");
  assert_string_equal(fault.pointer, "/k0012345");
  assert_int_equal(fault.line, MANY + 1);
  assert_int_equal(fault.column, 1);
  free(text);
}

/* Objects around the size where the check changes its way, each name in turn repeated at the end. Names are short, of a
 * word and longer, and some differ in the middle only. */
static void every_repeated_name_is_found_in_objects_of_every_size(void **state) {
  (void)state;
  static const char *const shapes[] = {"%zu", "name%zu", "abcdefgh%03zuabcdefgh", "x\\u0041%zu"};
  static const size_t counts[] = {1, 2, 3, 16, 63, 64, 65, 130};
  char text[8192];
  for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
      for (size_t repeated = 0; repeated <= counts[c]; repeated++) {
        size_t n = 0, last = 0;
        for (size_t i = 0; i <= counts[c]; i++) {
          last = n;
          text[n++] = i == 0 ? '{' : ',';
          char name[64];
          snprintf(name, sizeof name, shapes[k], i < counts[c] ? i : repeated);
          n += (size_t)snprintf(text + n, sizeof text - n, "\"%s\":0", name);
        }
        text[n++] = '}';
        trilha_json_fault fault = {0};
        trilha_status status = check_stored((trilha_text){text, n}, &fault, NULL);
        /* The last round repeats nothing: its last name is new. */
        assert_int_equal(status, repeated < counts[c] ? TRILHA_INVALID : TRILHA_OK);
        if (status == TRILHA_OK) continue;
        assert_string_equal(fault.code, "JSON_DUPLICATE_KEY");
        assert_int_equal(fault.offset, last + 1);
      }
    }
  }
}

static void long_pointers_are_cut_with_an_ellipsis(void **state) {
  (void)state;
  char text[2048], name[401];
  for (size_t i = 0; i < 400; i += 2) memcpy(name + i, "\xC3\xA7", 2);
  name[400] = '\0';
  snprintf(text, sizeof text, "{\"%s\":{\"%s\":\"\\u0000\"}}", name, name);
  trilha_json_fault fault = {0};
  assert_int_equal(check_stored(trilha_text_of(text), &fault, NULL), TRILHA_INVALID);
  size_t size = strlen(fault.pointer);
  assert_true(size > 500 && size < sizeof fault.pointer);
  assert_true(trilha_utf8_valid(fault.pointer, size));
  assert_string_equal(fault.pointer + size - 3, "\xE2\x80\xA6");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(syntax_faults_say_what_was_expected_and_where),
      cmocka_unit_test(nul_bytes_are_faults_and_do_not_end_the_text),
      cmocka_unit_test(utf8_faults_name_the_first_bad_byte),
      cmocka_unit_test(surrogates_without_a_partner_are_refused),
      cmocka_unit_test(limits_are_faults_with_a_place),
      cmocka_unit_test(faults_never_quote_the_input),
      cmocka_unit_test(values_that_cannot_be_stored_are_found_in_document_order),
      cmocka_unit_test(values_that_can_be_stored_pass),
      cmocka_unit_test(payloads_may_nest_255_levels_and_no_more),
      cmocka_unit_test(payloads_over_two_mebibytes_once_expanded_are_refused),
      cmocka_unit_test(a_million_names_are_checked_in_linear_time),
      cmocka_unit_test(a_hundred_thousand_names_show_their_one_duplicate),
      cmocka_unit_test(every_repeated_name_is_found_in_objects_of_every_size),
      cmocka_unit_test(long_pointers_are_cut_with_an_ellipsis),
  };
  return cmocka_run_group_tests_name("json faults", tests, NULL, NULL);
}
