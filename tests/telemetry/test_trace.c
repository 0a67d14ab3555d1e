/* telemetry: the traceparent header (W3C Trace Context, section 3.2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "telemetry/telemetry.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN  "b7ad6b7169203331"

static void a_context_is_read_and_written_back(void **state) {
  (void)state;
  trilha_trace trace;
  char text[TRILHA_TRACEPARENT_SIZE];
  assert_true(trilha_trace_parse(TRILHA_TEXT("00-" TRACE "-" SPAN "-01"), &trace));
  assert_int_equal(trace.trace_id[0], 0x0a);
  assert_int_equal(trace.trace_id[15], 0x9c);
  assert_int_equal(trace.span_id[7], 0x31);
  assert_true(trace.sampled);
  trilha_trace_format(&trace, text);
  assert_string_equal(text, "00-" TRACE "-" SPAN "-01");
  assert_true(trilha_trace_parse(TRILHA_TEXT("00-" TRACE "-" SPAN "-00"), &trace));
  assert_false(trace.sampled);
  trilha_trace_format(&trace, text);
  assert_string_equal(text, "00-" TRACE "-" SPAN "-00");
}

static void flags_that_are_not_known_yet_do_not_hide_the_one_that_is(void **state) {
  (void)state;
  trilha_trace trace;
  assert_true(trilha_trace_parse(TRILHA_TEXT("00-" TRACE "-" SPAN "-ff"), &trace));
  assert_true(trace.sampled);
  assert_true(trilha_trace_parse(TRILHA_TEXT("00-" TRACE "-" SPAN "-02"), &trace));
  assert_false(trace.sampled);
}

static void a_later_version_is_read_as_far_as_this_one_knows_it(void **state) {
  (void)state;
  assert_true(trilha_trace_parse(TRILHA_TEXT("cc-" TRACE "-" SPAN "-01"), NULL));
  assert_true(trilha_trace_parse(TRILHA_TEXT("cc-" TRACE "-" SPAN "-01-more"), NULL));
  assert_false(trilha_trace_parse(TRILHA_TEXT("cc-" TRACE "-" SPAN "-01.more"), NULL));
  assert_false(trilha_trace_parse(TRILHA_TEXT("00-" TRACE "-" SPAN "-01-more"), NULL));
  assert_false(trilha_trace_parse(TRILHA_TEXT("ff-" TRACE "-" SPAN "-01"), NULL));
}

static void what_is_no_context_is_none(void **state) {
  (void)state;
  static const char whole[] = "00-" TRACE "-" SPAN "-01";
  static const char *const wrong[] = {
      "",
      "00",
      "00-00000000000000000000000000000000-" SPAN "-01",
      "00-" TRACE "-0000000000000000-01",
      "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01",
      "00_" TRACE "-" SPAN "-01",
      "00-" TRACE "_" SPAN "-01",
      "00-" TRACE "-" SPAN "_01",
      "0g-" TRACE "-" SPAN "-01",
      "00-" TRACE "-" SPAN "-0g",
      "00-" TRACE "-" SPAN "-01 ",
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (trilha_trace_parse(trilha_text_of(wrong[i]), NULL)) fail_msg("taken: %s", wrong[i]);
  for (size_t size = 0; size < sizeof whole - 1; size++)
    assert_false(trilha_trace_parse((trilha_text){whole, size}, NULL));
  assert_false(trilha_trace_parse((trilha_text){NULL, 0}, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_context_is_read_and_written_back),
      cmocka_unit_test(flags_that_are_not_known_yet_do_not_hide_the_one_that_is),
      cmocka_unit_test(a_later_version_is_read_as_far_as_this_one_knows_it),
      cmocka_unit_test(what_is_no_context_is_none),
  };
  return cmocka_run_group_tests_name("telemetry trace", tests, NULL, NULL);
}
