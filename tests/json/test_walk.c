/* json: members, pointers, key tables, writing, equality of large values, other locales. */
#include <locale.h>

#include "base/error.h"
#include "json/number.h"
#include "json_test.h"

/* --- members and pointers ----------------------------------------------------------------------------------- */

static void members_are_found_and_the_last_of_equal_names_wins(void **state) {
  (void)state;
  trilha_json_document *d =
      must_parse(TRILHA_TEXT("{\"a\":1,\"b\":[{\"a\":9}],\"a\":2,\"\":3,\"s\":\"x\",\"n\\u0000\":4}"));
  const trilha_json_value *v = d->values;
  assert_int_equal(trilha_json_small(trilha_json_member(v, "a")), 2);
  assert_int_equal(trilha_json_small(trilha_json_member(v, "")), 3);
  assert_null(trilha_json_member(v, "n"));
  assert_int_equal(trilha_json_small(trilha_json_member_text(v, (trilha_text){"n\0", 2})), 4);
  assert_true(trilha_text_is(trilha_json_member_string(v, "s"), "x"));
  assert_null(trilha_json_member_string(v, "a").data);
  assert_null(trilha_json_member(NULL, "a"));
  assert_null(trilha_json_member(trilha_json_member(v, "b"), "a"));
  trilha_json_document_free(d);
}

/* The examples of RFC 6901, section 5. */
static void pointers_resolve_as_rfc_6901_says(void **state) {
  (void)state;
  static const char text[] =
      "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" "
      "\":7,\"m~n\":8,\"~1\":9}";
  static const struct {
    const char *pointer;
    int number;
  } cases[] = {{"/", 0},     {"/a~1b", 1}, {"/c%d", 2}, {"/e^f", 3},  {"/g|h", 4},
               {"/i\\j", 5}, {"/k\"l", 6}, {"/ ", 7},   {"/m~0n", 8}, {"/~01", 9}};
  trilha_json_document *d = must_parse(TRILHA_TEXT(text));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const trilha_json_value *found = trilha_json_pointer_find(d->values, trilha_text_of(cases[i].pointer));
    if (found == NULL) fail_msg("%s finds nothing", cases[i].pointer);
    assert_int_equal(trilha_json_small(found), cases[i].number);
    TRILHA_BUFFER_SCOPED back;
    trilha_buffer_init(&back, 0);
    trilha_json_pointer_to(d->values, found, &back);
    assert_string_equal(back.data, cases[i].pointer);
  }
  assert_ptr_equal(trilha_json_pointer_find(d->values, TRILHA_TEXT("")), d->values);
  assert_true(trilha_json_is(trilha_json_pointer_find(d->values, TRILHA_TEXT("/foo/1")), "baz"));
  static const char *const nowhere[] = {"foo",      "/foo/2", "/foo/-",           "/foo/01",        "/foo/",
                                        "/foo/1/x", "/fo",    "/foo/+1",          "/m~n",           "/m~",
                                        "/m~2n",    "//",     "/foo/99999999999", "/foo/4294967296"};
  for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++)
    if (trilha_json_pointer_find(d->values, trilha_text_of(nowhere[i])) != NULL)
      fail_msg("%s finds a value", nowhere[i]);
  trilha_json_document_free(d);
}

static void every_value_has_a_pointer_that_finds_it(void **state) {
  (void)state;
  trilha_json_document *d = must_parse(TRILHA_TEXT(
      "{\"a\":[1,[],{},[[2,{\"~\":{\"/\":[3,4]}}]],5],\"b\":{\"c\":{\"d\":null},\"e\":[6]},\"\":{\"\":7}}"));
  for (const trilha_json_value *v = d->values; v < d->values + d->count; v++) {
    TRILHA_BUFFER_SCOPED pointer;
    trilha_buffer_init(&pointer, 0);
    trilha_json_pointer_to(d->values, v, &pointer);
    const trilha_json_value *found = trilha_json_pointer_find(d->values, trilha_buffer_text(&pointer));
    assert_non_null(found);
    /* A name has its value's pointer. */
    assert_true(found == v || (found == v + 1 && v->type == TRILHA_JSON_STRING));
  }
  trilha_json_document_free(d);
}

static void types_have_the_names_of_json_schema(void **state) {
  (void)state;
  assert_string_equal(trilha_json_type_name(TRILHA_JSON_NULL), "null");
  assert_string_equal(trilha_json_type_name(TRILHA_JSON_FALSE), "boolean");
  assert_string_equal(trilha_json_type_name(TRILHA_JSON_TRUE), "boolean");
  assert_string_equal(trilha_json_type_name(TRILHA_JSON_OBJECT), "object");
  assert_string_equal(trilha_json_type_name((trilha_json_type)99), "?");
}

/* --- key tables --------------------------------------------------------------------------------------------- */

typedef struct name_list {
  char *bytes;
  trilha_text *names;
  size_t count;
} name_list;

/* Names that differ in one place only: `before` and `after` copies of 'x' around a number. */
static name_list names_around(size_t count, size_t before, size_t after) {
  size_t size = before + 6 + after;
  name_list list = {malloc(count * size + 1), malloc(count * sizeof(trilha_text)), count};
  assert_non_null(list.bytes);
  assert_non_null(list.names);
  for (size_t i = 0; i < count; i++) {
    char *at = list.bytes + i * size;
    memset(at, 'x', size);
    char digits[24];
    snprintf(digits, sizeof digits, "%06zu", i);
    memcpy(at + before, digits, 6);
    list.names[i] = (trilha_text){at, size};
  }
  return list;
}

static void key_tables_find_their_names_and_nothing_else(void **state) {
  (void)state;
  static const size_t shapes[][3] = {{1, 0, 0},     {40, 0, 0},      {40, 3, 0},   {300, 8, 8},
                                     {300, 20, 20}, {65535, 12, 12}, {65535, 0, 0}};
  for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
    name_list list = names_around(shapes[k][0], shapes[k][1], shapes[k][2]);
    trilha_json_keys *keys = NULL;
    assert_int_equal(trilha_json_keys_new(list.names, list.count, &keys, NULL), TRILHA_OK);
    for (size_t i = 0; i < list.count; i++) {
      assert_int_equal(trilha_json_keys_find(keys, list.names[i].data, list.names[i].size), i + 1);
      assert_int_equal(trilha_json_keys_find(keys, list.names[i].data, list.names[i].size - 1), 0);
    }
    assert_int_equal(trilha_json_keys_find(keys, "", 0), 0);
    trilha_json_keys_free(keys);
    free(list.bytes);
    free(list.names);
  }
}

static void key_tables_refuse_repeated_names_and_too_many(void **state) {
  (void)state;
  const trilha_text names[] = {TRILHA_TEXT("a"), TRILHA_TEXT("b"), TRILHA_TEXT("a")};
  trilha_json_keys *keys = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_json_keys_new(names, 3, &keys, &err), TRILHA_CONFLICT);
  assert_int_equal(trilha_json_keys_new(names, 2, &keys, NULL), TRILHA_OK);
  trilha_json_keys_free(keys);
  assert_int_equal(trilha_json_keys_new(NULL, 0, &keys, NULL), TRILHA_OK);
  assert_int_equal(trilha_json_keys_find(keys, "a", 1), 0);
  trilha_json_keys_free(keys);
  name_list list = names_around(65536, 0, 0);
  trilha_error_clear(&err);
  assert_int_equal(trilha_json_keys_new(list.names, list.count, &keys, &err), TRILHA_LIMIT);
  free(list.bytes);
  free(list.names);
}

/* --- writing ------------------------------------------------------------------------------------------------ */

static void assert_writes(const char *text, const char *wanted) {
  trilha_json_document *d = must_parse(trilha_text_of(text));
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  trilha_json_write(&out, d->values);
  assert_string_equal(out.data, wanted);
  trilha_json_document_free(d);
}

static void writing_gives_back_what_was_read(void **state) {
  (void)state;
  static const char *const texts[] = {
      "{\"a\":[1,-2.50e+7,\"x\\\"\\\\\\n\\u0001\\u001f\x7F\",[],[[{}]]],\"b\":{\"\":null,\"c\":[true,false]},\"d\":0}",
      "\"\"",
      "[]",
      "{}",
      "-0.0",
      "[[[[[[1]]]],{\"a\":{}}]]"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) assert_writes(texts[i], texts[i]);
  assert_writes(" [ \"\\u0041\\/\\u00e7\\b\\f\\r\\t\" , { } ] ", "[\"A/\xC3\xA7\\b\\f\\r\\t\",{}]");
}

static void a_subtree_is_written_alone(void **state) {
  (void)state;
  trilha_json_document *d = must_parse(TRILHA_TEXT("[0,{\"a\":[1,2]},3]"));
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  trilha_json_write(&out, trilha_json_pointer_find(d->values, TRILHA_TEXT("/1")));
  trilha_json_write(&out, trilha_json_pointer_find(d->values, TRILHA_TEXT("/1/a/1")));
  assert_string_equal(out.data, "{\"a\":[1,2]}2");
  trilha_json_document_free(d);
}

static void canonical_text(const char *text, trilha_buffer *out) {
  trilha_json_document *d = must_parse(trilha_text_of(text));
  assert_int_equal(trilha_json_write_canonical(out, d->values, NULL), TRILHA_OK);
  trilha_json_document_free(d);
}

static void canonical_form_is_one_for_each_value(void **state) {
  (void)state;
  static const char *const same[][3] = {
      {"{\"b\":1.0,\"a\":[1e0,-0,10e-1]}", "{ \"a\":[1,0,1],\"b\":1}", "{\"a\":[1,0,1],\"b\":1}"},
      {"[0.050,1e2,-12.50,1E-3]", "[5e-2,100.0,-1.25e1,0.001]", "[0.05,100,-12.5,0.001]"},
      {"{\"\\u00e9\":\"\\/\",\"z\":1,\"\":2,\"aa\":3,\"a\":4}", "{\"a\":4,\"aa\":3,\"z\":1,\"\xC3\xA9\":\"/\",\"\":2}",
       "{\"\":2,\"a\":4,\"aa\":3,\"z\":1,\"\xC3\xA9\":\"/\"}"},
      {"123456789012345678901234567890", "1.2345678901234567890123456789e29", "123456789012345678901234567890"},
  };
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    for (size_t k = 0; k < 3; k++) {
      TRILHA_BUFFER_SCOPED out;
      trilha_buffer_init(&out, 0);
      canonical_text(same[i][k], &out);
      assert_string_equal(out.data, same[i][2]);
    }
  }
}

/* Texts whose parts could be confused if the form were not unambiguous. */
static void canonical_forms_of_different_values_differ(void **state) {
  (void)state;
  static const char *const texts[] = {"{\"a\":\"b\",\"c\":\"d\"}",
                                      "{\"a\":\"b\\\",\\\"c\\\":\\\"d\"}",
                                      "{\"a\":{\"c\":\"d\"}}",
                                      "[\"a\",\"b\"]",
                                      "[\"a\\\",\\\"b\"]",
                                      "[[\"a\"],\"b\"]",
                                      "[[\"a\",\"b\"]]",
                                      "1",
                                      "\"1\"",
                                      "true",
                                      "\"true\"",
                                      "null",
                                      "[]",
                                      "{}",
                                      "[[]]",
                                      "[{}]",
                                      "\"\"",
                                      "\"\\u0000\"",
                                      "\"\\\\u0000\"",
                                      "[null]",
                                      "-1",
                                      "0.1",
                                      "10",
                                      "\"a\""};
  enum { COUNT = sizeof texts / sizeof texts[0] };
  trilha_buffer out[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    trilha_buffer_init(&out[i], 0);
    canonical_text(texts[i], &out[i]);
    for (size_t k = 0; k < i; k++) assert_string_not_equal(out[i].data, out[k].data);
  }
  for (size_t i = 0; i < COUNT; i++) trilha_buffer_done(&out[i]);
}

/* Callers write (trilha_text){0} for what they do not have; no address is counted from it. */
static void an_absent_text_reads_and_writes_as_an_empty_one(void **state) {
  (void)state;
  trilha_buffer out = {0};
  trilha_json_write_string(&out, (trilha_text){0});
  trilha_json_pointer_add(&out, (trilha_text){0});
  assert_string_equal(out.data, "\"\"");
  trilha_buffer_done(&out);
  trilha_json_document *d = NULL;
  trilha_json_fault fault = {0};
  assert_int_equal(trilha_json_parse((trilha_text){0}, &TRILHA_JSON_LIMITS, &d, &fault, NULL), TRILHA_INVALID);
  assert_int_equal(fault.line, 1);
  assert_int_equal(fault.column, 1);
}

/* One byte of each kind at every place of texts of every length around the stride of eight, beside a writer that looks
 * at one byte after the other. */
static void strings_are_escaped_wherever_the_byte_stands(void **state) {
  (void)state;
  enum { LONGEST = 27 };
  for (int c = 0; c < 256; c++)
    for (size_t size = 1; size <= LONGEST; size++)
      for (size_t place = 0; place < size; place++) {
        char text[LONGEST], wanted[LONGEST + 16];
        memset(text, place % 2 == 0 ? 'a' : 0xC3, size); /* low and high neighbours */
        text[place] = (char)c;
        if (place + 3 < size) text[place + 3] = '"';
        size_t n = 0;
        wanted[n++] = '"';
        for (size_t i = 0; i < size; i++) {
          unsigned char byte = (unsigned char)text[i];
          const char *letter = byte == 0 ? NULL : strchr("\bb\ff\nn\rr\tt", byte);
          if (byte >= 0x20 && byte != '"' && byte != '\\')
            wanted[n++] = text[i];
          else if (byte >= 0x20 || letter != NULL)
            n += (size_t)sprintf(wanted + n, "\\%c", byte >= 0x20 ? byte : letter[1]);
          else
            n += (size_t)sprintf(wanted + n, "\\u%04x", byte);
        }
        wanted[n++] = '"';
        TRILHA_BUFFER_SCOPED out;
        trilha_buffer_init(&out, 0);
        trilha_json_write_string(&out, (trilha_text){text, size});
        assert_int_equal(out.size, n);
        assert_memory_equal(out.data, wanted, n);
      }
}

static void writers_stop_at_the_limit_of_their_buffer(void **state) {
  (void)state;
  trilha_json_document *d = must_parse(TRILHA_TEXT("[\"abcdefghij\",{\"a\":1}]"));
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 8);
  trilha_json_write(&out, d->values);
  assert_int_equal(trilha_buffer_check(&out, NULL), TRILHA_LIMIT);
  trilha_buffer_clear(&out);
  assert_int_equal(trilha_json_write_canonical(&out, d->values, NULL), TRILHA_LIMIT);
  trilha_json_document_free(d);
}

/* --- equality ----------------------------------------------------------------------------------------------- */

static bool texts_equal(const char *a, const char *b) {
  trilha_json_document *x = must_parse(trilha_text_of(a)), *y = must_parse(trilha_text_of(b));
  bool equal = trilha_json_equal(x->values, y->values);
  assert_int_equal(trilha_json_equal(y->values, x->values), equal);
  if (equal) assert_true(trilha_json_hash(x->values) == trilha_json_hash(y->values));
  trilha_json_document_free(x);
  trilha_json_document_free(y);
  return equal;
}

static void equality_is_typed_and_mathematical_at_every_depth(void **state) {
  (void)state;
  static const char *const equal[][2] = {{"1", "1.0"},
                                         {"0", "-0.0"},
                                         {"[{\"a\":[1e2]}]", "[{\"a\":[100]}]"},
                                         {"{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}"},
                                         {"\"\\u0041\"", "\"A\""},
                                         {"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}"},
                                         {"9007199254740993", "9007199254740993.0"}};
  static const char *const different[][2] = {{"1", "true"},
                                             {"0", "false"},
                                             {"[1]", "[true]"},
                                             {"\"1\"", "1"},
                                             {"null", "false"},
                                             {"[]", "{}"},
                                             {"{\"a\":1}", "{\"b\":1}"},
                                             {"[1,2]", "[2,1]"},
                                             {"[[1],2]", "[1,[2]]"},
                                             {"{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}"},
                                             {"9007199254740993", "9007199254740992"},
                                             {"\"a\\u0000b\"", "\"a\\u0000c\""},
                                             {"1e400", "1e401"},
                                             {"{\"a\":{}}", "{\"a\":[]}"},
                                             {"{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}"}};
  for (size_t i = 0; i < sizeof equal / sizeof equal[0]; i++)
    if (!texts_equal(equal[i][0], equal[i][1])) fail_msg("%s and %s", equal[i][0], equal[i][1]);
  for (size_t i = 0; i < sizeof different / sizeof different[0]; i++)
    if (texts_equal(different[i][0], different[i][1])) fail_msg("%s and %s", different[i][0], different[i][1]);
}

/* An object of many members, in the given order of steps. */
static char *many_members(size_t count, size_t step, size_t changed) {
  char *text = malloc(count * 32 + 8);
  assert_non_null(text);
  size_t n = 0;
  text[n++] = '{';
  for (size_t i = 0; i < count; i++) {
    size_t k = i * step % count;
    n += (size_t)sprintf(text + n, "\"name%zu\":[%zu],", k, k == changed ? k + 1 : k);
  }
  text[n - 1] = '}';
  text[n] = '\0';
  return text;
}

static void large_objects_in_another_order_are_compared_quickly(void **state) {
  (void)state;
  enum { MANY = 100003 }; /* a prime, so that every step visits every member */
  char *a = many_members(MANY, 1, MANY), *b = many_members(MANY, 7919, MANY), *c = many_members(MANY, 7919, 5);
  assert_true(texts_equal(a, b));
  assert_false(texts_equal(a, c));
  free(a);
  free(b);
  free(c);
}

static void deepest_documents_are_walked_without_recursion(void **state) {
  (void)state;
  enum { DEEP = TRILHA_JSON_DEPTH_MAX };
  char text[DEEP * 6 + 2];
  size_t n = 0;
  for (size_t i = 0; i < DEEP; i++) {
    memcpy(text + n, i % 2 ? "[" : "{\"a\":", i % 2 ? 1 : 5);
    n += i % 2 ? 1 : 5;
  }
  text[n++] = '1';
  for (size_t i = DEEP; i-- > 0;) text[n++] = i % 2 ? ']' : '}';
  text[n] = '\0';
  assert_true(texts_equal(text, text));
  assert_writes(text, text);
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  canonical_text(text, &out);
  assert_string_equal(out.data, text);
}

/* --- locales ------------------------------------------------------------------------------------------------ */

static bool use_comma_locale(void) {
  static const char *const names[] = {"pt_BR.UTF-8", "pt_BR.utf8", "pt_BR", "de_DE.UTF-8", "fr_FR.UTF-8", "comma"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (setlocale(LC_ALL, names[i]) != NULL && strcmp(localeconv()->decimal_point, ",") == 0) return true;
  return false;
}

static void bytes_are_the_same_where_the_decimal_point_is_a_comma(void **state) {
  (void)state;
  if (!use_comma_locale()) {
    print_message("# skipped: no locale with a decimal comma; tests/json/comma-locale makes one\n");
    skip();
  }
  char shown[16];
  snprintf(shown, sizeof shown, "%.1f", 1.5);
  assert_string_equal(shown, "1,5");
  assert_writes("[1.5,-2.50e+7,0.001,1234567,\"1.5\\n\"]", "[1.5,-2.50e+7,0.001,1234567,\"1.5\\n\"]");
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  canonical_text("[1.50,1e6,-2.5e-1]", &out);
  assert_string_equal(out.data, "[1.5,1000000,-0.25]");
  trilha_buffer_clear(&out);
  assert_int_equal(trilha_number_write_rounded(&out, TRILHA_TEXT("-23.555"), 2, NULL), TRILHA_OK);
  assert_string_equal(out.data, "-23.56");
  trilha_json_document *d = NULL;
  assert_int_equal(trilha_json_parse(TRILHA_TEXT("1,5"), NULL, &d, NULL, NULL), TRILHA_INVALID);
  setlocale(LC_ALL, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_are_found_and_the_last_of_equal_names_wins),
      cmocka_unit_test(pointers_resolve_as_rfc_6901_says),
      cmocka_unit_test(every_value_has_a_pointer_that_finds_it),
      cmocka_unit_test(types_have_the_names_of_json_schema),
      cmocka_unit_test(key_tables_find_their_names_and_nothing_else),
      cmocka_unit_test(key_tables_refuse_repeated_names_and_too_many),
      cmocka_unit_test(writing_gives_back_what_was_read),
      cmocka_unit_test(a_subtree_is_written_alone),
      cmocka_unit_test(canonical_form_is_one_for_each_value),
      cmocka_unit_test(canonical_forms_of_different_values_differ),
      cmocka_unit_test(an_absent_text_reads_and_writes_as_an_empty_one),
      cmocka_unit_test(strings_are_escaped_wherever_the_byte_stands),
      cmocka_unit_test(writers_stop_at_the_limit_of_their_buffer),
      cmocka_unit_test(equality_is_typed_and_mathematical_at_every_depth),
      cmocka_unit_test(large_objects_in_another_order_are_compared_quickly),
      cmocka_unit_test(deepest_documents_are_walked_without_recursion),
      cmocka_unit_test(bytes_are_the_same_where_the_decimal_point_is_a_comma),
  };
  return cmocka_run_group_tests_name("json walk", tests, NULL, NULL);
}
