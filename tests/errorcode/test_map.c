/* errorcode: exact beats suffix beats 400, and no mapping without its reason (ruling R27). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text.h"
#include "errorcode/errorcode.h"

static int setup(void **state) {
  trilha_error_map *map = NULL;
  trilha_error error = {0};
  if (trilha_error_map_new(&map, &error) != TRILHA_OK) fail_msg("%s", error.text);
  *state = map;
  return 0;
}

static int teardown(void **state) {
  trilha_error_map_free(*state);
  return 0;
}

static unsigned status_of(const trilha_error_map *map, const char *code) {
  return trilha_error_map_status(map, trilha_text_of(code), NULL, NULL);
}

static void an_exact_mapping_beats_its_suffix_and_a_suffix_beats_400(void **state) {
  trilha_error_map *map = *state;
  trilha_error_mapping mail = {"USER_EMAIL_UNAVAILABLE", 409,
                               "saying that the address is taken would disclose who has an account"};
  trilha_error_mapping closed = {"BUDGET_PERIOD_CLOSED", 423, "the period opens again"};
  assert_int_equal(status_of(map, "USER_EMAIL_UNAVAILABLE"), 503);
  assert_int_equal(status_of(map, "BUDGET_PERIOD_CLOSED"), 400);
  assert_int_equal(trilha_error_map_add(map, &mail, NULL), TRILHA_OK);
  assert_int_equal(trilha_error_map_add(map, &closed, NULL), TRILHA_OK);
  assert_int_equal(status_of(map, "USER_EMAIL_UNAVAILABLE"), 409);
  assert_int_equal(status_of(map, "BUDGET_PERIOD_CLOSED"), 423);
  assert_int_equal(status_of(map, "OTHER_UNAVAILABLE"), 503);
}

static void the_ten_suffixes_are_those_of_the_ruling(void **state) {
  static const struct {
    const char *code;
    unsigned status;
  } cases[] = {{"A_NOT_FOUND", 404}, {"A_CONFLICT", 409},   {"A_ALREADY_EXISTS", 409}, {"A_UNAUTHORIZED", 401},
               {"A_FORBIDDEN", 403}, {"A_EXPIRED", 410},    {"A_LOCKED", 423},         {"A_RATE_LIMITED", 429},
               {"A_INVALID", 422},   {"A_UNAVAILABLE", 503}};
  size_t count = 0;
  unsigned status;
  while (trilha_error_suffix_at(count, &status) != NULL) count++;
  assert_int_equal(count, 10);
  for (size_t i = 0; i < 10; i++) assert_int_equal(status_of(*state, cases[i].code), cases[i].status);
}

static void anything_else_is_400(void **state) {
  static const char *const codes[] = {"",           "X",          "NOT_FOUND_X", "NOT_FOUND",
                                      "_NOT_FOUND", "ANOT_FOUND", "a_not_found", "A_NOT_FOUND "};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
    if (status_of(*state, codes[i]) != 400) fail_msg("'%s' is %u", codes[i], status_of(*state, codes[i]));
  assert_int_equal(trilha_error_map_status(*state, (trilha_text){NULL, 0}, NULL, NULL), 400);
}

static void a_mapping_needs_its_reason_a_code_and_a_status(void **state) {
  static const trilha_error_mapping wrong[] = {
      {"A_B", 409, NULL},  {"A_B", 409, ""},
      {"A_B", 409, " \n"}, {"A_B", 200, "x"},
      {"A_B", 600, "x"},   {"a_b", 409, "x"},
      {"", 409, "x"},      {NULL, 409, "x"},
      {"A-B", 409, "x"},   {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ", 409, "x"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal(trilha_error_map_add(*state, &wrong[i], NULL), TRILHA_INVALID);
  trilha_error_mapping right = {"A_B", 409, "x"};
  assert_int_equal(trilha_error_map_add(*state, &right, NULL), TRILHA_OK);
  assert_int_equal(trilha_error_map_add(*state, &right, NULL), TRILHA_CONFLICT);
}

static void mappings_stand_in_the_order_of_their_codes_up_to_the_limit(void **state) {
  trilha_error_map *map = *state;
  trilha_status status = TRILHA_OK;
  for (int i = 0; status == TRILHA_OK; i++) {
    char code[16];
    snprintf(code, sizeof code, "C%04d", (i * 7919) % 10000);
    trilha_error_mapping mapping = {code, 409, "x"};
    status = trilha_error_map_add(map, &mapping, NULL);
  }
  assert_int_equal(status, TRILHA_LIMIT);
  size_t count = 1;
  for (; trilha_error_map_at(map, count) != NULL; count++)
    assert_true(trilha_text_compare(trilha_text_of(trilha_error_map_at(map, count - 1)->code),
                                    trilha_text_of(trilha_error_map_at(map, count)->code)) < 0);
  assert_int_equal(count, TRILHA_ERROR_MAPPINGS_MAX);
}

#define ON_MAP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      ON_MAP(an_exact_mapping_beats_its_suffix_and_a_suffix_beats_400),
      ON_MAP(the_ten_suffixes_are_those_of_the_ruling),
      ON_MAP(anything_else_is_400),
      ON_MAP(a_mapping_needs_its_reason_a_code_and_a_status),
      ON_MAP(mappings_stand_in_the_order_of_their_codes_up_to_the_limit),
  };
  return cmocka_run_group_tests_name("errorcode map", tests, NULL, NULL);
}
