/* http: percent-encoding and query strings, the hostile ones too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/http.h"

static bool decodes(const char *text, bool is_query, const char *expected) {
  trilha_buffer out = {0};
  bool ok = trilha_http_decode(trilha_text_of(text), is_query, &out);
  if (ok && expected != NULL) assert_true(trilha_text_is(trilha_buffer_text(&out), expected));
  trilha_buffer_done(&out);
  return ok;
}

static void what_is_encoded_is_decoded_once(void **state) {
  (void)state;
  assert_true(decodes("a%20b", false, "a b"));
  assert_true(decodes("a+b", false, "a+b"));
  assert_true(decodes("a+b", true, "a b"));
  assert_true(decodes("%252e", true, "%2e"));
  assert_true(decodes("%C3%A7", true, "\xC3\xA7"));
  assert_true(decodes("", true, ""));
}

static void broken_escapes_nul_and_bad_utf8_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"%",   "%4",        "%G0", "%0G",    "a%",  "%00", "a%00b",
                                      "%C3", "%ED%A0%80", "%FF", "%c0%ae", "%+1", "% 1"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (decodes(wrong[i], true, NULL)) fail_msg("'%s' was taken", wrong[i]);
}

static void pairs_come_in_order_and_empty_ones_are_skipped(void **state) {
  (void)state;
  trilha_text query = TRILHA_TEXT("&&a=1&b&=x&c=2=3&a=4&"), name, value;
  static const char *const expected[][2] = {{"a", "1"}, {"b", ""}, {"", "x"}, {"c", "2=3"}, {"a", "4"}};
  size_t at = 0, count = 0;
  while (trilha_http_query_next(query, &at, &name, &value)) {
    assert_true(count < 5);
    assert_true(trilha_text_is(name, expected[count][0]));
    assert_true(trilha_text_is(value, expected[count++][1]));
  }
  assert_int_equal(count, 5);
  at = 0;
  assert_false(trilha_http_query_next((trilha_text){NULL, 0}, &at, &name, &value));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_encoded_is_decoded_once),
      cmocka_unit_test(broken_escapes_nul_and_bad_utf8_are_refused),
      cmocka_unit_test(pairs_come_in_order_and_empty_ones_are_skipped),
  };
  return cmocka_run_group_tests_name("http query", tests, NULL, NULL);
}
