/* redaction: what is taken for its own NFC without a look is compared with utf8proc. Composition looks at two code
 * points at a time, so pairs are enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <utf8proc.h>

#include "redaction/redaction_internal.h"

enum { MARKS = 0x300, LAST = 0x10FFFF, POINTS_MAX = 32 };

static trilha_text encode(utf8proc_int32_t first, utf8proc_int32_t second, char text[16]) {
  utf8proc_ssize_t size = 0;
  if (first != 0) size = utf8proc_encode_char(first, (utf8proc_uint8_t *)text);
  if (second != 0) size += utf8proc_encode_char(second, (utf8proc_uint8_t *)text + size);
  return (trilha_text){text, (size_t)size};
}

static bool is_surrogate(utf8proc_int32_t c) {
  return c >= 0xD800 && c <= 0xDFFF;
}

static bool certain(utf8proc_int32_t c) {
  char text[16];
  return trilha_nfc_is_certain(encode(0, c, text));
}

static void assert_unchanged(trilha_text text, unsigned first, unsigned second) {
  TRILHA_BUFFER_SCOPED points = {0}, out = {0};
  assert_int_equal(trilha_nfc_append(text, &points, &out, NULL), TRILHA_OK);
  if (!trilha_text_equal(text, trilha_buffer_text(&out))) fail_msg("U+%04X U+%04X change", first, second);
}

static void pairs_below_the_combining_marks_are_their_own_nfc(void **state) {
  (void)state;
  for (utf8proc_int32_t first = 1; first < MARKS; first++)
    for (utf8proc_int32_t second = 0x80; second < MARKS; second++) {
      char room[16];
      trilha_text text = encode(first, second, room);
      assert_true(trilha_nfc_is_certain(text));
      assert_unchanged(text, (unsigned)first, (unsigned)second);
    }
}

/* Nothing that is certain is the second half of any character's decomposition. */
static void nothing_certain_is_composed_with_what_stands_before_it(void **state) {
  (void)state;
  unsigned decomposed = 0;
  for (utf8proc_int32_t c = 1; c <= LAST; c++) {
    utf8proc_int32_t parts[POINTS_MAX];
    if (is_surrogate(c)) continue;
    utf8proc_ssize_t count = utf8proc_decompose_char(c, parts, POINTS_MAX, UTF8PROC_DECOMPOSE, NULL);
    assert_in_range(count, 1, POINTS_MAX);
    if (count == 1) continue;
    decomposed++;
    for (utf8proc_ssize_t i = 1; i < count; i++)
      if (certain(parts[i])) fail_msg("U+%04X is part of U+%04X", (unsigned)parts[i], (unsigned)c);
  }
  assert_in_range(decomposed, 12000, 20000); /* Hangul alone has 11,172 */
}

static void what_is_certain_is_assigned_and_stands_for_itself_in_any_order(void **state) {
  (void)state;
  static const utf8proc_int32_t before[] = {0, 'a', 0xE3, 0x1100, 0xAC00, 0x2190};
  unsigned found = 0;
  for (utf8proc_int32_t c = MARKS; c <= LAST; c++) {
    if (is_surrogate(c) || !certain(c)) continue;
    found++;
    const utf8proc_property_t *property = utf8proc_get_property(c);
    if (property->combining_class != 0 || property->category == UTF8PROC_CATEGORY_CN) fail_msg("U+%04X", (unsigned)c);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
      char room[16];
      assert_unchanged(encode(before[i], c, room), (unsigned)before[i], (unsigned)c);
    }
  }
  assert_in_range(found, 1000, 3000);
}

static void one_mark_among_many_is_enough_for_doubt(void **state) {
  (void)state;
  static const char *const sure[] = {"", "a", "água — “não” 👎🏽🙏…", "R$ 1,00 ou € 2,00 ✔️"};
  static const char *const unsure[] = {"a\u0301", "— e\u0301", "👎🏽\u0327", "\u1112\u1161\u11AB",
                                       "\u2126",  "\u2001x",   "\u09C7\u09BE"};
  for (size_t i = 0; i < sizeof sure / sizeof *sure; i++) assert_true(trilha_nfc_is_certain(trilha_text_of(sure[i])));
  for (size_t i = 0; i < sizeof unsure / sizeof *unsure; i++)
    assert_false(trilha_nfc_is_certain(trilha_text_of(unsure[i])));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pairs_below_the_combining_marks_are_their_own_nfc),
      cmocka_unit_test(nothing_certain_is_composed_with_what_stands_before_it),
      cmocka_unit_test(what_is_certain_is_assigned_and_stands_for_itself_in_any_order),
      cmocka_unit_test(one_mark_among_many_is_enough_for_doubt),
  };
  return cmocka_run_group_tests_name("nfc", tests, NULL, NULL);
}
