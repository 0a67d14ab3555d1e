/* json/number: exact decimals. differential.py compares the same functions with Python's fractions on random numbers.
 */
#include "json/number.h"
#include "json_test.h"

static int compare(const char *a, const char *b) {
  int order = trilha_number_compare(trilha_text_of(a), trilha_text_of(b));
  return order < 0 ? -1 : order > 0;
}

static int multiple(const char *a, const char *b) {
  return trilha_number_is_multiple(trilha_text_of(a), trilha_text_of(b), 1000000);
}

static void spellings_of_one_number_are_equal(void **state) {
  (void)state;
  static const char *const same[][5] = {{"0", "-0", "0.000", "0e9", "-0.0E-7"},
                                        {"1", "1.0", "1e0", "10e-1", "0.001e+3"},
                                        {"-12.5", "-125e-1", "-1.25e1", "-12.500", "-0.125E2"},
                                        {"1e400", "10e399", "0.1e401", "1.000e400", "1E+400"}};
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
    for (size_t j = 0; j < 5; j++)
      for (size_t k = 0; k < 5; k++) assert_int_equal(compare(same[i][j], same[i][k]), 0);
}

static void numbers_are_ordered_beyond_every_double(void **state) {
  (void)state;
  static const char *const ascending[] = {"-1e99999999999999999999",
                                          "-1e400",
                                          "-9007199254740993",
                                          "-9007199254740992",
                                          "-1",
                                          "-1e-400",
                                          "0",
                                          "1e-99999999999999999999",
                                          "1e-400",
                                          "0.1",
                                          "0.10000000000000000001",
                                          "1",
                                          "9007199254740992",
                                          "9007199254740993",
                                          "1e400",
                                          "1.0000001e400",
                                          "1e99999999999999999999",
                                          "1e100000000000000000000"};
  for (size_t i = 0; i < sizeof ascending / sizeof ascending[0]; i++)
    for (size_t k = 0; k < sizeof ascending / sizeof ascending[0]; k++)
      assert_int_equal(compare(ascending[i], ascending[k]), i < k ? -1 : i > k);
}

static void multiples_are_decided_in_decimal(void **state) {
  (void)state;
  static const char *const yes[][2] = {
      {"8.69", "0.01"},  {"19.99", "0.01"},        {"-4.02", "0.01"}, {"1e308", "0.5"}, {"0", "7"},
      {"7e100000", "7"}, {"1e1000000000", "1024"}, {"35", "7.0"},     {"0.3", "0.1"},   {"4.5e-1", "1.5e-1"}};
  static const char *const no[][2] = {{"8.695", "0.01"}, {"1e100000", "7"}, {"1e-1000000000", "1"},
                                      {"0.35", "0.1"},   {"1", "3"},        {"9007199254740993", "2"}};
  for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) assert_int_equal(multiple(yes[i][0], yes[i][1]), 1);
  for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) assert_int_equal(multiple(no[i][0], no[i][1]), 0);
}

static void multiples_that_cost_too_much_are_undecided(void **state) {
  (void)state;
  char a[4001], b[2001];
  memset(a, '1', 4000);
  memset(b, '7', 2000);
  a[4000] = b[2000] = '\0';
  assert_int_equal(trilha_number_is_multiple(trilha_text_of(a), trilha_text_of(b), 100), -1);
  assert_true(trilha_number_is_multiple(trilha_text_of(a), trilha_text_of(b), 1000000) >= 0);
  assert_int_equal(multiple("1e99999999999999", "1e88888888888888"), -1);
}

static void integers_are_recognised_however_they_are_spelled(void **state) {
  (void)state;
  static const char *const yes[] = {"0", "-0.0", "1.0", "10e-1", "1e400", "1.5e1", "0e-99999999999"};
  static const char *const no[] = {"0.5", "1e-1", "15e-1", "1.0000001", "1e-99999999999"};
  for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) assert_true(trilha_number_is_integer(trilha_text_of(yes[i])));
  for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) assert_false(trilha_number_is_integer(trilha_text_of(no[i])));
}

static void sixty_four_bits_are_filled_to_the_last(void **state) {
  (void)state;
  int64_t value = 0;
  assert_true(trilha_number_to_i64(TRILHA_TEXT("9223372036854775807"), &value));
  assert_true(value == INT64_MAX);
  assert_true(trilha_number_to_i64(TRILHA_TEXT("-9223372036854775808.0"), &value));
  assert_true(value == INT64_MIN);
  assert_true(trilha_number_to_i64(TRILHA_TEXT("1.5e3"), &value));
  assert_true(value == 1500);
  assert_false(trilha_number_to_i64(TRILHA_TEXT("9223372036854775808"), &value));
  assert_false(trilha_number_to_i64(TRILHA_TEXT("-9223372036854775809"), &value));
  assert_false(trilha_number_to_i64(TRILHA_TEXT("1e19"), &value));
  assert_false(trilha_number_to_i64(TRILHA_TEXT("0.5"), &value));
  assert_true(value == 1500);
}

static void assert_rounded(const char *number, unsigned places, const char *wanted) {
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  assert_int_equal(trilha_number_write_rounded(&out, trilha_text_of(number), places, NULL), TRILHA_OK);
  assert_string_equal(out.data, wanted);
}

static void rounding_takes_ties_away_from_zero_and_knows_no_minus_zero(void **state) {
  (void)state;
  assert_rounded("-23.5505", 2, "-23.55");
  assert_rounded("-23.555", 2, "-23.56");
  assert_rounded("2.675", 2, "2.68"); /* the double nearest to it lies below the tie */
  assert_rounded("1.005", 2, "1.01");
  assert_rounded("-0.004", 2, "0");
  assert_rounded("0.005", 2, "0.01");
  assert_rounded("-0.005", 2, "-0.01");
  assert_rounded("0.0049999", 2, "0");
  assert_rounded("9.995", 2, "10");
  assert_rounded("99.5", 0, "100");
  assert_rounded("0.5", 0, "1");
  assert_rounded("0.05", 0, "0");
  assert_rounded("46.60", 2, "46.6");
  assert_rounded("46.999", 1, "47");
  assert_rounded("12345e-3", 2, "12.35");
  assert_rounded("1e-1000000000", 2, "0");
  assert_rounded("1e10", 2, "10000000000");
}

static void spellings_longer_than_400_digits_are_refused(void **state) {
  (void)state;
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  trilha_error err = {0};
  assert_int_equal(trilha_number_write_canonical(&out, TRILHA_TEXT("-1e399"), &err), TRILHA_OK);
  assert_int_equal(out.size, 401);
  trilha_buffer_clear(&out);
  assert_int_equal(trilha_number_write_canonical(&out, TRILHA_TEXT("1e-399"), &err), TRILHA_OK);
  assert_int_equal(out.size, 401);
  trilha_buffer_clear(&out);
  assert_int_equal(trilha_number_write_canonical(&out, TRILHA_TEXT("1e400"), &err), TRILHA_LIMIT);
  assert_string_equal(err.code, "JSON_NUMBER_RANGE");
  assert_int_equal(trilha_number_write_rounded(&out, TRILHA_TEXT("1.5e400"), 2, NULL), TRILHA_LIMIT);
  assert_int_equal(out.size, 0);
  assert_int_equal(trilha_number_expanded_size(TRILHA_TEXT("-1e400")), 402);
  assert_int_equal(trilha_number_expanded_size(TRILHA_TEXT("1.50e1")), 3);
  assert_int_equal(trilha_number_expanded_size(TRILHA_TEXT("0e-10")), 11);
}

static void a_decimal_borrows_its_digits_from_the_spelling(void **state) {
  (void)state;
  trilha_decimal d = trilha_decimal_of(TRILHA_TEXT("-0012.3400e5")); /* digits may be asked of any digit string */
  assert_true(d.negative);
  assert_int_equal(d.digit_count, 4);
  assert_true(d.exponent == 7);
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(trilha_decimal_digit(&d, i), '1' + (int)i);
  d = trilha_decimal_of(TRILHA_TEXT("0.000560"));
  assert_int_equal(d.digit_count, 2);
  assert_true(d.exponent == -3);
  assert_int_equal(trilha_decimal_digit(&d, 1), '6');
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spellings_of_one_number_are_equal),
      cmocka_unit_test(numbers_are_ordered_beyond_every_double),
      cmocka_unit_test(multiples_are_decided_in_decimal),
      cmocka_unit_test(multiples_that_cost_too_much_are_undecided),
      cmocka_unit_test(integers_are_recognised_however_they_are_spelled),
      cmocka_unit_test(sixty_four_bits_are_filled_to_the_last),
      cmocka_unit_test(rounding_takes_ties_away_from_zero_and_knows_no_minus_zero),
      cmocka_unit_test(spellings_longer_than_400_digits_are_refused),
      cmocka_unit_test(a_decimal_borrows_its_digits_from_the_spelling),
  };
  return cmocka_run_group_tests_name("json number", tests, NULL, NULL);
}
