/* base: errors, buffers, arenas, UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

static void error_keeps_the_first_cause(void **state) {
  (void)state;
  trilha_error err = {0};
  assert_int_equal(trilha_error_set(&err, TRILHA_INVALID, "FIRST", "first %d", 1), TRILHA_INVALID);
  assert_int_equal(trilha_error_set(&err, TRILHA_IO, "SECOND", "second"), TRILHA_IO);
  trilha_error_while(&err, "reading %s", "x");
  assert_string_equal(err.code, "FIRST");
  assert_string_equal(err.text, "first 1; while reading x");
}

static void error_text_is_cut_at_a_character_boundary(void **state) {
  (void)state;
  char ones[2 * TRILHA_ERROR_TEXT_MAX];
  memset(ones, 'a', sizeof ones);
  memcpy(ones + TRILHA_ERROR_TEXT_MAX - 2, "\xC3\xA9", 3);
  trilha_error err = {0};
  trilha_error_set(&err, TRILHA_INVALID, "X", "%s", ones);
  assert_int_equal(strlen(err.text), TRILHA_ERROR_TEXT_MAX - 2);
  assert_true(trilha_utf8_valid(err.text, strlen(err.text)));
}

static void buffer_stops_at_its_limit_and_says_so(void **state) {
  (void)state;
  trilha_buffer b;
  trilha_buffer_init(&b, 5);
  trilha_buffer_add_string(&b, "12345");
  assert_int_equal(b.failed, TRILHA_OK);
  trilha_buffer_add_char(&b, '6');
  trilha_error err = {0};
  assert_int_equal(trilha_buffer_check(&b, &err), TRILHA_LIMIT);
  assert_string_equal(err.code, "TEXT_TOO_LARGE");
  assert_string_equal(b.data, "12345");
  trilha_buffer_done(&b);
}

static void buffer_writes_the_extreme_integers(void **state) {
  (void)state;
  trilha_buffer b;
  trilha_buffer_init(&b, 0);
  trilha_buffer_add_i64(&b, INT64_MIN);
  trilha_buffer_add_char(&b, ' ');
  trilha_buffer_add_u64(&b, UINT64_MAX);
  assert_string_equal(b.data, "-9223372036854775808 18446744073709551615");
  trilha_buffer_done(&b);
}

static void utf8_refuses_overlong_surrogates_and_beyond_unicode(void **state) {
  (void)state;
  static const char *const bad[] = {"\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                    "\x80",     "\xC3",         "\xF0\x9F\x98"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(trilha_utf8_valid(bad[i], strlen(bad[i])));
  static const char good[] = "aé€😀";
  assert_true(trilha_utf8_valid(good, sizeof good - 1));
  assert_int_equal(trilha_utf8_length(good, sizeof good - 1), 4);
}

static void arena_gives_aligned_memory_up_to_its_bound(void **state) {
  (void)state;
  trilha_arena a;
  trilha_arena_init(&a, 10000);
  void *p = trilha_arena_alloc(&a, 3), *q = trilha_arena_alloc(&a, 3);
  assert_non_null(p);
  assert_int_equal((uintptr_t)q % 16, 0);
  assert_null(trilha_arena_alloc(&a, 20000));
  assert_null(trilha_arena_array(&a, SIZE_MAX / 2, 16));
  trilha_arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(error_keeps_the_first_cause),
      cmocka_unit_test(error_text_is_cut_at_a_character_boundary),
      cmocka_unit_test(buffer_stops_at_its_limit_and_says_so),
      cmocka_unit_test(buffer_writes_the_extreme_integers),
      cmocka_unit_test(utf8_refuses_overlong_surrogates_and_beyond_unicode),
      cmocka_unit_test(arena_gives_aligned_memory_up_to_its_bound),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
