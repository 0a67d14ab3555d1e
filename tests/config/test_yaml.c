/* config: YAML becomes JSON text, exactly or not at all. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/yaml.h"
#include "json/json.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void expect(const char *yaml, const char *json) {
  trilha_buffer out = {0};
  trilha_error err = {0};
  trilha_status status = trilha_yaml_to_json(trilha_text_of(yaml), &out, NULL, &err);
  if (status != TRILHA_OK || strcmp(out.data, json) != 0)
    fail_msg("%s gave %s (%s), not %s", yaml, out.data == NULL ? "" : out.data, err.text, json);
  trilha_buffer_done(&out);
}

static void refuse(trilha_text yaml, trilha_status status, const char *code, const char *where) {
  trilha_buffer out = {0};
  trilha_error err = {0};
  trilha_status got = trilha_yaml_to_json(yaml, &out, NULL, &err);
  if (got != status || strcmp(err.code, code) != 0 || strstr(err.text, where) == NULL)
    fail_msg("%.*s gave %d %s %s, not %s at %s", (int)(yaml.size < 200 ? yaml.size : 200), yaml.data, (int)got,
             err.code, err.text, code, where);
  trilha_buffer_done(&out);
}

static void plain_scalars_follow_the_core_schema_and_keep_their_digits(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"~", "null"},
      {"null", "null"},
      {"Null", "null"},
      {"NULL", "null"},
      {"nULL", "\"nULL\""},
      {"true", "true"},
      {"True", "true"},
      {"FALSE", "false"},
      {"yes", "\"yes\""},
      {"on", "\"on\""},
      {"No", "\"No\""},
      {"0", "0"},
      {"-0", "-0"},
      {"+12", "12"},
      {"007", "7"},
      {"-000", "-0"},
      {"1_000", "\"1_000\""},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"017", "17"},
      {"-0x1", "\"-0x1\""},
      {"0xffffffffffffffff", "18446744073709551615"},
      {"0x", "\"0x\""},
      {"0o8", "\"0o8\""},
      {"1.10", "1.10"},
      {".5", "0.5"},
      {"-.5", "-0.5"},
      {"5.", "5"},
      {"+5.e3", "5e3"},
      {"1e3", "1e3"},
      {"1E+03", "1E+03"},
      {"1e", "\"1e\""},
      {".", "\".\""},
      {"-", "[null]"},
      {"1.2.3", "\"1.2.3\""},
      {"1.0.0", "\"1.0.0\""},
      {"2026-06-15", "\"2026-06-15\""},
      {"12:30", "\"12:30\""},
      {"9007199254740993", "9007199254740993"},
      {"0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"},
      {"1e999", "1e999"},
      {"'1'", "\"1\""},
      {"\"true\"", "\"true\""},
      {"'it''s'", "\"it's\""},
      {"\"a\\n\\u00e9\\x41\"",
       "\"a\\né"
       "A\""},
      {"|\n  a\n  b\n", "\"a\\nb\\n\""},
      {">-\n  a\n  b\n", "\"a b\""},
      {"!!str 5", "\"5\""},
      {"! 5", "\"5\""},
      {"!!int 5", "5"},
      {"!!float 5", "5"},
      {"!!int '5'", "5"},
      {"!!null ''", "null"},
      {"!!bool 'True'", "true"},
      {"\xEF\xBB\xBF"
       "a",
       "\"a\""},
      {"--- a", "\"a\""},
      {"---\n", "null"},
      {"água", "\"água\""},
  };
  for (size_t i = 0; i < COUNT(cases); i++) expect(cases[i][0], cases[i][1]);
}

static void collections_become_objects_and_arrays(void **state) {
  (void)state;
  expect("a: 1\nb:\n  - x\n  - y: {z: [1, 2], w: {}}\n  - []\nc: |\n  t\n# end\n",
         "{\"a\":1,\"b\":[\"x\",{\"y\":{\"z\":[1,2],\"w\":{}}},[]],\"c\":\"t\\n\"}");
  expect("{a: , b}", "{\"a\":null,\"b\":null}");
  expect("? a\n: b\n'1': c\n2: d\ntrue: e\n", "{\"a\":\"b\",\"1\":\"c\",\"2\":\"d\",\"true\":\"e\"}");
  expect("- {a: 1}\n- {a: 1}\n- a: {a: 1}\n", "[{\"a\":1},{\"a\":1},{\"a\":{\"a\":1}}]");
  expect("!!map {a: !!seq [1]}", "{\"a\":[1]}");
  expect("'': 1\n'<<': 2\n", "{\"\":1,\"<<\":2}");
  expect("[\n1,\n{\"a\":\"b\"}]\n", "[1,{\"a\":\"b\"}]"); /* JSON is YAML */
}

static void aliases_copy_what_they_name(void **state) {
  (void)state;
  expect("a: &x {b: [1, two]}\nc: *x\nd: [*x, *x]\n",
         "{\"a\":{\"b\":[1,\"two\"]},\"c\":{\"b\":[1,\"two\"]},\"d\":[{\"b\":[1,\"two\"]},{\"b\":[1,\"two\"]}]}");
  expect("- &a 1\n- *a\n- &a 2\n- *a\n", "[1,1,2,2]"); /* the nearest before it */
  expect("- &a\n- *a\n", "[null,null]");
}

static void what_json_cannot_say_or_readers_read_differently_is_refused_by_place(void **state) {
  (void)state;
  static const struct {
    const char *yaml, *code, *where;
  } cases[] = {
      {"a: 1\nb: 2\na: 3\n", "YAML_DUPLICATE_KEY", "line 3, column 1, at \"/a\""},
      {"x:\n  - {k: 1, \"k\": 2}\n", "YAML_DUPLICATE_KEY", "line 2, column 12, at \"/x/0/k\""},
      {"a/b:\n  ~t: [1, .inf]\n", "YAML_NUMBER", "line 2, column 11, at \"/a~1b/~0t/1\""},
      {"a: -.INF", "YAML_NUMBER", "/a"},
      {"a: .NaN", "YAML_NUMBER", "/a"},
      {"a: 0x10000000000000000", "YAML_NUMBER", "/a"},
      {"a: !thing 1", "YAML_TAG", "/a"},
      {"a: !!int x", "YAML_TAG", "/a"},
      {"a: !!binary aGk=", "YAML_TAG", "/a"},
      {"a: !!set {x}", "YAML_TAG", "/a"},
      {"!!int 1: a", "YAML_TAG", ""},
      {"? [1]\n: a\n", "YAML_KEY", "line 1"},
      {"? {a: 1}\n: a\n", "YAML_KEY", "line 1"},
      {": a", "YAML_KEY", "line 1"},
      {"b: &x {a: 1}\nc:\n  <<: *x\n", "YAML_KEY", "line 3, column 3"},
      {"a: &x k\n*x : 1\n", "YAML_KEY", "line 2"},
      {"a: *nowhere", "YAML_ALIAS", "/a"},
      {"a: &x [1, *x]", "YAML_ALIAS", "/a/1"},
      {"a: 1\n---\nb: 2\n", "YAML_DOCUMENTS", "line 2"},
      {"", "YAML_EMPTY", ""},
      {"# nothing\n", "YAML_EMPTY", ""},
      {"a: [1\nb: }", "YAML_SYNTAX", "line 2"},
      {"a:\n\t- b\n", "YAML_SYNTAX", "line 2"},
      {"a: b: c", "YAML_SYNTAX", "line 1"},
      {"a: 'open", "YAML_SYNTAX", "line"},
      {"a: \x01", "YAML_SYNTAX", "line 1, column 4"},
      {"é: \x7f", "YAML_SYNTAX", "line 1, column 4"},
      {"a: \xff", "YAML_UTF8", ""},
  };
  for (size_t i = 0; i < COUNT(cases); i++)
    refuse(trilha_text_of(cases[i].yaml), TRILHA_INVALID, cases[i].code, cases[i].where);
  refuse((trilha_text){"a: \0b", 5}, TRILHA_INVALID, "YAML_SYNTAX", "line 1, column 4");
}

static void error_never_quotes_a_value(void **state) {
  (void)state;
  static const char *const bad[] = {"a: !x secretmarker", "a: 'secretmarker", "a: \"\\qsecretmarker\"",
                                    "a: *secretmarker", "- secretmarker: b: secretmarker"};
  for (size_t i = 0; i < COUNT(bad); i++) {
    trilha_buffer out = {0};
    trilha_error err = {0};
    assert_int_equal(trilha_yaml_to_json(trilha_text_of(bad[i]), &out, NULL, &err), TRILHA_INVALID);
    if (strstr(err.text, "secretmarker") != NULL && i != 4) fail_msg("%s", err.text);
    trilha_buffer_done(&out);
  }
}

/* libfyaml would say "[ERR]: indentation indicator 0". */
static void the_parser_prints_nothing(void **state) {
  (void)state;
  FILE *file = tmpfile();
  int kept = dup(STDERR_FILENO);
  assert_true(file != NULL && kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  trilha_buffer out = {0};
  trilha_error err = {0};
  trilha_status status = trilha_yaml_to_json(TRILHA_TEXT("a: |0\n x\n"), &out, NULL, &err);
  dup2(kept, STDERR_FILENO);
  close(kept);
  assert_int_equal(lseek(fileno(file), 0, SEEK_END), 0);
  fclose(file);
  trilha_buffer_done(&out);
  assert_int_equal(status, TRILHA_INVALID);
  assert_string_equal(err.code, "YAML_SYNTAX");
}

static void billion_laughs_are_refused(void **state) {
  (void)state;
  trilha_buffer yaml = {0};
  trilha_buffer_add_string(&yaml, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
  for (int i = 1; i < 30; i++) {
    trilha_buffer_add_format(&yaml, "a%d: &a%d [", i, i);
    for (int k = 0; k < 9; k++) trilha_buffer_add_format(&yaml, "%s*a%d", k == 0 ? "" : ", ", i - 1);
    trilha_buffer_add_string(&yaml, "]\n");
  }
  refuse(trilha_buffer_text(&yaml), TRILHA_LIMIT, "YAML_SIZE", "line");
  trilha_buffer_done(&yaml);
}

static void depth_anchors_and_size_are_bounded(void **state) {
  (void)state;
  trilha_buffer yaml = {0};
  for (int i = 0; i < 255; i++) trilha_buffer_add_char(&yaml, '[');
  for (int i = 0; i < 255; i++) trilha_buffer_add_char(&yaml, ']');
  expect(yaml.data, yaml.data);
  trilha_buffer_clear(&yaml);
  for (int i = 0; i < 100000; i++) trilha_buffer_add_char(&yaml, '[');
  refuse(trilha_buffer_text(&yaml), TRILHA_LIMIT, "YAML_DEPTH", "column 256");
  trilha_buffer_clear(&yaml);
  for (int i = 0; i < 1001; i++) trilha_buffer_add_format(&yaml, "- &a%d 1\n", i);
  refuse(trilha_buffer_text(&yaml), TRILHA_LIMIT, "YAML_ANCHORS", "line 1001");
  trilha_buffer_clear(&yaml);
  assert_true(trilha_buffer_reserve(&yaml, TRILHA_YAML_BYTES_MAX + 1));
  memset(yaml.data, 'a', TRILHA_YAML_BYTES_MAX + 1);
  refuse((trilha_text){yaml.data, TRILHA_YAML_BYTES_MAX + 1}, TRILHA_LIMIT, "YAML_SIZE", "4 MiB");
  trilha_buffer_done(&yaml);
}

static void many_keys_are_told_apart_quickly(void **state) {
  (void)state;
  trilha_buffer yaml = {0};
  for (int i = 0; i < 50000; i++) trilha_buffer_add_format(&yaml, "k%d: %d\n", i, i);
  trilha_buffer out = {0};
  assert_int_equal(trilha_yaml_to_json(trilha_buffer_text(&yaml), &out, NULL, NULL), TRILHA_OK);
  trilha_buffer_clear(&out);
  trilha_buffer_add_string(&yaml, "k25000: 1\n");
  refuse(trilha_buffer_text(&yaml), TRILHA_INVALID, "YAML_DUPLICATE_KEY", "line 50001, column 1, at \"/k25000\"");
  trilha_buffer_done(&yaml);
  trilha_buffer_done(&out);
}

static void places_lead_from_a_json_value_back_to_its_line(void **state) {
  (void)state;
  trilha_buffer out = {0};
  trilha_yaml_map map = {0};
  trilha_error err = {0};
  trilha_buffer_add_string(&out, "[0]");
  static const char yaml[] = "a: 1\nb:\n  - two\n  -   c: \"d\"\n";
  assert_int_equal(trilha_yaml_to_json(trilha_text_of(yaml), &out, &map, &err), TRILHA_OK);
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  assert_int_equal(trilha_json_parse((trilha_text){out.data + 3, out.size - 3}, &limits, &document, NULL, &err),
                   TRILHA_OK);
  static const struct {
    const char *pointer;
    uint32_t line, column;
  } cases[] = {{"/a", 1, 4}, {"/b/0", 3, 5}, {"/b/1/c", 4, 10}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    const trilha_json_value *v = trilha_json_pointer_find(document->values, trilha_text_of(cases[i].pointer));
    assert_non_null(v);
    trilha_yaml_place place = trilha_yaml_map_find(&map, (size_t)(v->u.text - document->text));
    assert_int_equal(place.line, cases[i].line);
    assert_int_equal(place.column, cases[i].column);
  }
  assert_int_equal(trilha_yaml_map_find(&(trilha_yaml_map){0}, 5).line, 0);
  trilha_json_document_free(document);
  trilha_yaml_map_done(&map);
  trilha_buffer_done(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_scalars_follow_the_core_schema_and_keep_their_digits),
      cmocka_unit_test(collections_become_objects_and_arrays),
      cmocka_unit_test(aliases_copy_what_they_name),
      cmocka_unit_test(what_json_cannot_say_or_readers_read_differently_is_refused_by_place),
      cmocka_unit_test(error_never_quotes_a_value),
      cmocka_unit_test(the_parser_prints_nothing),
      cmocka_unit_test(billion_laughs_are_refused),
      cmocka_unit_test(depth_anchors_and_size_are_bounded),
      cmocka_unit_test(many_keys_are_told_apart_quickly),
      cmocka_unit_test(places_lead_from_a_json_value_back_to_its_line),
  };
  return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
