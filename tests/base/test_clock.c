/* base: clocks, deadlines, timestamps (ruling R3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"

static int64_t parsed(const char *text) {
  int64_t us = INT64_MIN;
  if (!trilha_timestamp_parse(trilha_text_of(text), &us)) fail_msg("refused: %s", text);
  return us;
}

static void assert_timestamp(const char *text, const char *expected) {
  char out[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(parsed(text), out);
  assert_string_equal(out, expected);
}

static void timestamp_is_read_with_every_form_of_offset(void **state) {
  (void)state;
  assert_timestamp("2026-06-15T10:30:00Z", "2026-06-15T10:30:00Z");
  assert_timestamp("2026-06-15t10:30:00z", "2026-06-15T10:30:00Z");
  assert_timestamp("2026-06-15T10:30Z", "2026-06-15T10:30:00Z");
  assert_timestamp("2026-06-15T10:30-03:00", "2026-06-15T13:30:00Z");
  assert_timestamp("2026-06-15T10:30:00.25+0530", "2026-06-15T05:00:00.25Z");
  assert_timestamp("2026-01-01T00:30:00+01", "2025-12-31T23:30:00Z");
  assert_timestamp("2026-06-15T10:30:00,5-00:00", "2026-06-15T10:30:00.5Z");
  assert_timestamp("1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.000001Z");
  assert_timestamp("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z");
  assert_timestamp("2026-06-15T10:30:00.120000000000000000Z", "2026-06-15T10:30:00.12Z");
}

static void timestamp_refuses_what_is_not_an_iso_date_time_with_offset(void **state) {
  (void)state;
  static const char *const bad[] = {"",
                                    "2026",
                                    "2026-06-15",
                                    "2026-06-15T10:30:00",
                                    "2026-06-15 10:30:00Z",
                                    "2026-06-15T10Z",
                                    "2026-6-15T10:30:00Z",
                                    "2026-06-15T10:30:00.Z",
                                    "2026-06-15T10:30.5Z",
                                    "2026-06-15T24:00:00Z",
                                    "2026-06-15T23:60:00Z",
                                    "2026-06-15T10:30:61Z",
                                    "2026-02-29T00:00:00Z",
                                    "2100-02-29T00:00:00Z",
                                    "2026-13-01T00:00:00Z",
                                    "2026-00-01T00:00:00Z",
                                    "2026-04-31T00:00:00Z",
                                    "2026-01-00T00:00:00Z",
                                    "2026-06-15T10:30:00+24:00",
                                    "2026-06-15T10:30:00+10:60",
                                    "2026-06-15T10:30:00+1",
                                    "2026-06-15T10:30:00+10:",
                                    "2026-06-15T10:30:00ZZ",
                                    "2026-06-15T10:30:00Z ",
                                    " 2026-06-15T10:30:00Z",
                                    "+2026-06-15T10:30:00Z",
                                    "12026-06-15T10:30:00Z",
                                    "2026-06-15T10:30:00 Z",
                                    "0000-06-15T10:30:00Z",
                                    "2026-W24-1T10:30:00Z",
                                    "2026-06-15T1\xD9\xA0:30:00Z"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    int64_t us;
    if (trilha_timestamp_parse(trilha_text_of(bad[i]), &us)) fail_msg("accepted: %s", bad[i]);
  }
  int64_t us;
  assert_false(trilha_timestamp_parse((trilha_text){0}, &us));
  assert_false(trilha_timestamp_parse((trilha_text){"2026-06-15T10:30:00Z\0", 21}, &us));
}

static void leap_second_is_accepted_only_at_the_end_of_a_utc_day(void **state) {
  (void)state;
  assert_timestamp("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z");
  assert_timestamp("1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00Z");
  assert_timestamp("1960-01-01T05:29:60+05:30", "1960-01-01T00:00:00Z");
  int64_t us;
  assert_false(trilha_timestamp_parse(TRILHA_TEXT("2016-12-31T23:58:60Z"), &us));
  assert_false(trilha_timestamp_parse(TRILHA_TEXT("2016-12-31T23:59:60+01:00"), &us));
}

static void years_outside_1_to_9999_are_refused_after_offset_and_rounding(void **state) {
  (void)state;
  int64_t us, rounded;
  assert_timestamp("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z");
  assert_timestamp("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z");
  assert_false(trilha_timestamp_parse(TRILHA_TEXT("0001-01-01T00:00:00+00:01"), &us));
  assert_false(trilha_timestamp_parse(TRILHA_TEXT("9999-12-31T23:59:00-00:01"), &us));
  assert_false(trilha_timestamp_parse(TRILHA_TEXT("9999-12-31T23:59:59.9999999Z"), &us));
  assert_false(trilha_timestamp_round_centis(parsed("9999-12-31T23:59:59.995Z"), &rounded));
  assert_true(trilha_timestamp_round_centis(parsed("9999-12-31T23:59:59.994999Z"), &rounded));
  /* Before the epoch half goes down: the very first instant has nowhere to go but stays. */
  assert_true(trilha_timestamp_round_centis(parsed("0001-01-01T00:00:00Z"), &rounded));
  assert_false(trilha_timestamp_round_centis(parsed("0001-01-01T00:00:00Z") - 1, &rounded));
}

static void hundredths_round_half_away_from_the_year_2000_as_postgresql_does(void **state) {
  (void)state;
  /* Left: the input; right: what PostgreSQL 15 stores for ('…'::timestamptz(2)). */
  static const char *const pairs[][2] = {
      {"2000-01-01T00:00:00.005Z", "2000-01-01T00:00:00.01Z"},
      {"2000-01-01T00:00:00.004999Z", "2000-01-01T00:00:00Z"},
      {"1999-12-31T23:59:59.995Z", "1999-12-31T23:59:59.99Z"},
      {"1999-12-31T23:59:59.995001Z", "2000-01-01T00:00:00Z"},
      {"1999-12-31T23:59:59.985Z", "1999-12-31T23:59:59.98Z"},
      {"2026-06-15T10:30:00.125Z", "2026-06-15T10:30:00.13Z"},
      {"2026-06-15T10:30:00.115Z", "2026-06-15T10:30:00.12Z"},
      {"1985-06-15T10:30:00.125Z", "1985-06-15T10:30:00.12Z"},
      {"1985-06-15T10:30:00.124999Z", "1985-06-15T10:30:00.12Z"},
      {"1985-06-15T10:30:00.125001Z", "1985-06-15T10:30:00.13Z"},
      {"1969-07-20T20:17:40.005Z", "1969-07-20T20:17:40Z"},
      {"2026-12-31T23:59:59.995Z", "2027-01-01T00:00:00Z"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    int64_t us;
    char out[TRILHA_TIMESTAMP_SIZE];
    assert_true(trilha_timestamp_round_centis(parsed(pairs[i][0]), &us));
    trilha_timestamp_format(us, out);
    assert_string_equal(out, pairs[i][1]);
  }
}

static void digits_past_microseconds_round_half_away_from_the_year_2000(void **state) {
  (void)state;
  assert_timestamp("2026-06-15T10:30:00.0000005Z", "2026-06-15T10:30:00.000001Z");
  assert_timestamp("2026-06-15T10:30:00.0000004999Z", "2026-06-15T10:30:00Z");
  assert_timestamp("2026-06-15T10:30:00.00000050Z", "2026-06-15T10:30:00.000001Z");
  assert_timestamp("1985-06-15T10:30:00.0000005Z", "1985-06-15T10:30:00Z");
  assert_timestamp("1985-06-15T10:30:00.000000500Z", "1985-06-15T10:30:00Z");
  assert_timestamp("1985-06-15T10:30:00.00000050001Z", "1985-06-15T10:30:00.000001Z");
  assert_timestamp("1985-06-15T10:30:00.00000049Z", "1985-06-15T10:30:00Z");
  assert_timestamp("2026-12-31T23:59:59.9999999Z", "2027-01-01T00:00:00Z");
}

static void every_day_of_ten_thousand_years_is_written_as_it_is_read(void **state) {
  (void)state;
  static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int64_t expected = INT64_C(-62135596800) * 1000000;
  for (unsigned year = 1; year <= 9999; year++) {
    for (unsigned month = 1; month <= 12; month++) {
      bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
      unsigned days = lengths[month - 1] + (month == 2 && leap ? 1u : 0u);
      for (unsigned day = 1; day <= days; day++, expected += INT64_C(86400) * 1000000) {
        char text[TRILHA_TIMESTAMP_SIZE], out[TRILHA_TIMESTAMP_SIZE];
        snprintf(text, sizeof text, "%04u-%02u-%02uT00:00:00Z", year % 10000, month % 100, day % 100);
        if (parsed(text) != expected) fail_msg("%s is not %lld", text, (long long)expected);
        trilha_timestamp_format(expected, out);
        if (strcmp(text, out) != 0) fail_msg("%s is written %s", text, out);
      }
    }
  }
}

static void deadline_never_overflows_and_none_never_passes(void **state) {
  (void)state;
  assert_false(trilha_deadline_passed(TRILHA_NO_DEADLINE));
  assert_int_equal(trilha_deadline_left_ms(TRILHA_NO_DEADLINE, 250), 250);
  trilha_deadline far = trilha_deadline_in_ms(INT64_MAX);
  assert_true(far.monotonic_ns == INT64_MAX - 1);
  assert_false(trilha_deadline_passed(far));
  assert_int_equal(trilha_deadline_left_ms(far, 77), 77);
  assert_true(trilha_deadline_passed(trilha_deadline_in_ms(0)));
  assert_true(trilha_deadline_passed(trilha_deadline_in_ms(-5)));
  assert_int_equal(trilha_deadline_left_ms(trilha_deadline_in_ms(-5), 9), 0);
}

static void what_is_left_of_a_deadline_is_rounded_up(void **state) {
  (void)state;
  trilha_deadline soon = {trilha_clock_monotonic_ns() + INT64_C(3600000000000) + 1};
  int64_t left = trilha_deadline_left_ms(soon, INT64_MAX);
  assert_in_range(left, 3590000, 3600001);
  trilha_deadline near = {trilha_clock_monotonic_ns() + 200000};
  int64_t rounded = trilha_deadline_left_ms(near, 1000);
  assert_true(rounded == 1 || trilha_deadline_passed(near));
  assert_true(trilha_deadline_earlier(soon, near).monotonic_ns == near.monotonic_ns);
  assert_true(trilha_deadline_earlier(TRILHA_NO_DEADLINE, soon).monotonic_ns == soon.monotonic_ns);
}

static void sleeping_lasts_at_least_as_long_as_asked(void **state) {
  (void)state;
  int64_t before = trilha_clock_monotonic_ns();
  trilha_clock_sleep_ms(20);
  assert_true(trilha_clock_monotonic_ns() - before >= 20000000);
  trilha_clock_sleep_ms(-1);
  assert_true(trilha_clock_wall_us() > parsed("2024-01-01T00:00:00Z"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(timestamp_is_read_with_every_form_of_offset),
      cmocka_unit_test(timestamp_refuses_what_is_not_an_iso_date_time_with_offset),
      cmocka_unit_test(leap_second_is_accepted_only_at_the_end_of_a_utc_day),
      cmocka_unit_test(years_outside_1_to_9999_are_refused_after_offset_and_rounding),
      cmocka_unit_test(hundredths_round_half_away_from_the_year_2000_as_postgresql_does),
      cmocka_unit_test(digits_past_microseconds_round_half_away_from_the_year_2000),
      cmocka_unit_test(every_day_of_ten_thousand_years_is_written_as_it_is_read),
      cmocka_unit_test(deadline_never_overflows_and_none_never_passes),
      cmocka_unit_test(what_is_left_of_a_deadline_is_rounded_up),
      cmocka_unit_test(sleeping_lasts_at_least_as_long_as_asked),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
