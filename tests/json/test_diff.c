/* json: what differs between two documents. */
#include <stdlib.h>

#include "json_test.h"

static void assert_diff(const char *a, const char *b, const char *expected) {
  trilha_json_document *first = must_parse(trilha_text_of(a)), *second = must_parse(trilha_text_of(b));
  TRILHA_BUFFER_SCOPED out;
  size_t count = 99;
  trilha_buffer_init(&out, 0);
  assert_int_equal(trilha_json_diff(first, second, &out, &count, NULL), TRILHA_OK);
  assert_string_equal(trilha_buffer_text(&out).data, expected);
  assert_int_equal(count == 0, strcmp(expected, "[]") == 0);
  trilha_json_document_free(first);
  trilha_json_document_free(second);
}

static void equal_documents_differ_in_nothing_whatever_the_order_of_their_members(void **state) {
  (void)state;
  assert_diff("{}", "{ }", "[]");
  assert_diff("{\"a\":[1,{\"b\":null}],\"c\":\"x\"}", "{\"c\":\"x\",\"a\":[1,{\"b\":null}]}", "[]");
  assert_diff("{\"a\":1,\"a\":2}", "{\"a\":2}", "[]"); /* of equal names the last counts */
}

static void members_and_items_are_added_removed_and_replaced_by_pointer(void **state) {
  (void)state;
  assert_diff(
      "{\"a\":1,\"b\":2}", "{\"b\":3,\"c\":4}",
      "[{\"op\":\"remove\",\"path\":\"/a\"},{\"op\":\"replace\",\"path\":\"/b\"},{\"op\":\"add\",\"path\":\"/c\"}]");
  assert_diff("[1,2,3]", "[1,9]", "[{\"op\":\"replace\",\"path\":\"/1\"},{\"op\":\"remove\",\"path\":\"/2\"}]");
  assert_diff("[]", "[[],{}]", "[{\"op\":\"add\",\"path\":\"/0\"},{\"op\":\"add\",\"path\":\"/1\"}]");
  assert_diff("{\"a/b\":{\"~\":\"x\"}}", "{\"a/b\":{\"~\":\"y\"}}", "[{\"op\":\"replace\",\"path\":\"/a~1b/~0\"}]");
  assert_diff("{\"\":1}", "{\"\":2}", "[{\"op\":\"replace\",\"path\":\"/\"}]");
}

static void a_change_of_type_replaces_the_whole_value(void **state) {
  (void)state;
  assert_diff("{\"a\":{\"b\":1}}", "{\"a\":[1]}", "[{\"op\":\"replace\",\"path\":\"/a\"}]");
  assert_diff("{\"a\":1}", "{\"a\":\"1\"}", "[{\"op\":\"replace\",\"path\":\"/a\"}]");
  assert_diff("{\"a\":true}", "{\"a\":false}", "[{\"op\":\"replace\",\"path\":\"/a\"}]");
  assert_diff("1", "{}", "[{\"op\":\"replace\",\"path\":\"\"}]");
}

static void numbers_differ_by_their_spelling(void **state) {
  (void)state;
  assert_diff("[10.50]", "[10.5]", "[{\"op\":\"replace\",\"path\":\"/0\"}]");
  assert_diff("[12345678901234567890123]", "[12345678901234567890124]", "[{\"op\":\"replace\",\"path\":\"/0\"}]");
}

/* Items 0 … count - 1 of an array. */
static char *array_of(const char *item, int count) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  for (int i = 0; i < count; i++) trilha_buffer_add_format(&text, "%c%s", i == 0 ? '[' : ',', item);
  trilha_buffer_add_char(&text, ']');
  return trilha_buffer_take(&text, NULL);
}

static void beyond_the_limit_differences_are_counted_only(void **state) {
  (void)state;
  char *ones = array_of("1", TRILHA_JSON_DIFF_MAX + 3), *twos = array_of("2", TRILHA_JSON_DIFF_MAX + 3);
  trilha_json_document *a = must_parse(trilha_text_of(ones)), *b = must_parse(trilha_text_of(twos));
  TRILHA_BUFFER_SCOPED out;
  size_t count = 0;
  trilha_buffer_init(&out, 0);
  assert_int_equal(trilha_json_diff(a, b, &out, &count, NULL), TRILHA_OK);
  assert_int_equal(count, TRILHA_JSON_DIFF_MAX + 3);
  assert_non_null(strstr(trilha_buffer_text(&out).data, "{\"op\":\"replace\",\"path\":\"/999\"},{\"more\":3}]"));
  trilha_json_document *told = must_parse(trilha_buffer_text(&out));
  assert_int_equal(told->values->size, TRILHA_JSON_DIFF_MAX + 1);
  trilha_json_document_free(told);
  trilha_json_document_free(a);
  trilha_json_document_free(b);
  free(ones);
  free(twos);
}

static void the_deepest_documents_are_compared_without_recursion(void **state) {
  (void)state;
  char deep[2 * TRILHA_JSON_DEPTH_MAX + 2];
  memset(deep, '[', TRILHA_JSON_DEPTH_MAX);
  deep[TRILHA_JSON_DEPTH_MAX] = '1';
  memset(deep + TRILHA_JSON_DEPTH_MAX + 1, ']', TRILHA_JSON_DEPTH_MAX);
  trilha_json_document *a = must_parse((trilha_text){deep, sizeof deep - 1});
  deep[TRILHA_JSON_DEPTH_MAX] = '2';
  trilha_json_document *b = must_parse((trilha_text){deep, sizeof deep - 1});
  TRILHA_BUFFER_SCOPED out;
  size_t count = 0;
  trilha_buffer_init(&out, 0);
  assert_int_equal(trilha_json_diff(a, b, &out, &count, NULL), TRILHA_OK);
  assert_int_equal(count, 1);
  trilha_json_document_free(a);
  trilha_json_document_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_documents_differ_in_nothing_whatever_the_order_of_their_members),
      cmocka_unit_test(members_and_items_are_added_removed_and_replaced_by_pointer),
      cmocka_unit_test(a_change_of_type_replaces_the_whole_value),
      cmocka_unit_test(numbers_differ_by_their_spelling),
      cmocka_unit_test(beyond_the_limit_differences_are_counted_only),
      cmocka_unit_test(the_deepest_documents_are_compared_without_recursion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
