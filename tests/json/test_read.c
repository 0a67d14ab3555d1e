/* json: reading, walking, pointers and writing. */
#include "json_test.h"

static void document_is_a_flat_array_in_document_order(void **state) {
  (void)state;
  trilha_json_document *d = must_parse(TRILHA_TEXT(" {\"a\": [1, \"x\\u00e9\", null], \"b\": {}, \"c\": true} "));
  assert_int_equal(d->count, 10);
  assert_int_equal(d->depth, 2);
  const trilha_json_value *v = d->values;
  assert_int_equal(v->type, TRILHA_JSON_OBJECT);
  assert_int_equal(v->size, 3);
  assert_int_equal(v->u.extent, 10);
  const trilha_json_value *a = trilha_json_member(v, "a");
  assert_int_equal(a->type, TRILHA_JSON_ARRAY);
  assert_int_equal(a->size, 3);
  assert_int_equal(a->u.extent, 4);
  assert_int_equal(trilha_json_small(a + 1), 1);
  assert_true(trilha_json_is(a + 2, "x\xC3\xA9"));
  assert_int_equal(a[2].flags, TRILHA_JSON_ESCAPED);
  assert_int_equal(trilha_json_string_length(a + 2), 2);
  assert_int_equal(trilha_json_member(v, "c")->type, TRILHA_JSON_TRUE);
  assert_null(trilha_json_member(v, "d"));
  trilha_json_document_free(d);
}

static void writing_gives_back_what_was_read(void **state) {
  (void)state;
  static const char text[] =
      "{\"a\":[1,-2.50e+7,\"x\\\"\\\\\\n\\u0001\",[],[[{}]]],\"b\":{\"\":null,\"c\":[true,false]},\"d\":0}";
  trilha_json_document *d = must_parse(TRILHA_TEXT(text));
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  trilha_json_write(&out, d->values);
  assert_string_equal(out.data, text);
  trilha_json_document_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(document_is_a_flat_array_in_document_order),
      cmocka_unit_test(writing_gives_back_what_was_read),
  };
  return cmocka_run_group_tests_name("json read", tests, NULL, NULL);
}
