/* transport: the controls of the suite: each mistake that a transport can make is named by some case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plain.h"

static void expect_caught(plain_flaw flaw, const char *case_name) {
  transport_subject flawed = plain_with(flaw);
  const char *complaint = transport_try(&flawed, case_name);
  if (complaint == NULL || complaint == transport_not_possible) fail_msg("%s did not notice", case_name);
  printf("# %s\n", complaint);
  transport_subject honest = plain_with(PLAIN_HONEST);
  complaint = transport_try(&honest, case_name);
  if (complaint != NULL) fail_msg("%s complains of an honest transport: %s", case_name, complaint);
}

#define EVERY   "every_committed_message_arrives_with_its_identity_order_and_content"
#define FAILURE "a_failure_that_passes_is_repeated_under_the_same_identity"
#define REFUSAL "a_refusal_is_dead_at_once_and_blocks_its_own_lane_alone"
#define CONTROL(name, flaw, case_name) \
  static void name(void **state) {     \
    (void)state;                       \
    expect_caught(flaw, case_name);    \
  }

CONTROL(a_failure_that_is_taken_for_a_success_is_caught, PLAIN_SWALLOWS_FAILURES, FAILURE)
CONTROL(a_delivery_to_nobody_is_caught, PLAIN_SENDS_TO_NOBODY,
        "a_destination_that_is_away_is_waited_for_and_loses_nothing")
CONTROL(a_lost_message_is_caught, PLAIN_LOSES_ONE, EVERY)
CONTROL(a_new_identity_is_caught, PLAIN_MAKES_NEW_IDS, EVERY)
CONTROL(a_later_message_before_an_earlier_one_is_caught, PLAIN_SWAPS_NEIGHBOURS, EVERY)
CONTROL(a_refusal_that_is_repeated_is_caught, PLAIN_REPEATS_REFUSALS, REFUSAL)
CONTROL(a_payload_in_an_error_is_caught, PLAIN_SHOWS_PAYLOADS, "an_error_says_a_code_and_nothing_of_the_payload")
CONTROL(a_time_that_is_forgotten_is_caught, PLAIN_FORGETS_THE_TIME,
        "a_destination_that_names_a_time_is_not_tried_before")
CONTROL(a_payload_that_is_cut_is_caught, PLAIN_CUTS_PAYLOADS, "payloads_up_to_the_limit_arrive_whole")
CONTROL(a_wrong_revision_is_caught, PLAIN_SAYS_REVISION_ONE,
        "a_correction_arrives_under_the_same_identity_with_its_revision")
CONTROL(an_answer_long_after_its_time_is_caught, PLAIN_HAS_NO_PATIENCE,
        "a_destination_that_never_answers_costs_the_time_of_a_send_and_one_attempt")
CONTROL(one_lane_after_another_is_caught, PLAIN_SENDS_ONE_AT_A_TIME,
        "many_lanes_are_under_way_at_once_one_message_of_each")
CONTROL(a_descriptor_that_stays_open_is_caught, PLAIN_LEAVES_A_DESCRIPTOR,
        "making_and_ending_it_leaves_no_descriptor_and_no_thread")

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failure_that_is_taken_for_a_success_is_caught),
      cmocka_unit_test(a_delivery_to_nobody_is_caught),
      cmocka_unit_test(a_lost_message_is_caught),
      cmocka_unit_test(a_new_identity_is_caught),
      cmocka_unit_test(a_later_message_before_an_earlier_one_is_caught),
      cmocka_unit_test(a_refusal_that_is_repeated_is_caught),
      cmocka_unit_test(a_payload_in_an_error_is_caught),
      cmocka_unit_test(a_time_that_is_forgotten_is_caught),
      cmocka_unit_test(a_payload_that_is_cut_is_caught),
      cmocka_unit_test(a_wrong_revision_is_caught),
      cmocka_unit_test(an_answer_long_after_its_time_is_caught),
      cmocka_unit_test(one_lane_after_another_is_caught),
      cmocka_unit_test(a_descriptor_that_stays_open_is_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
