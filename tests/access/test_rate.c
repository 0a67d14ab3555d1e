/* access: request rates under a clock of the test's own, and under a flood of addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "access/access.h"

#define SECOND INT64_C(1000000000)

static trilha_address number(uint32_t n) {
  trilha_address a = {{0x20, 1, 0xD, 0xB8}};
  memcpy(a.bytes + 4, &n, sizeof n);
  return a;
}

static trilha_rate *made(int64_t per_minute, int64_t burst) {
  trilha_rate *rate = NULL;
  assert_int_equal(trilha_rate_new(per_minute, burst, &rate, NULL), TRILHA_OK);
  return rate;
}

static void one_a_minute_is_one_a_minute(void **state) {
  (void)state;
  trilha_rate *rate = made(1, 1);
  trilha_address a = number(1), b = number(2);
  int64_t retry = 0, now = 5 * SECOND;
  assert_true(trilha_rate_take(rate, &a, now, &retry));
  assert_false(trilha_rate_take(rate, &a, now + SECOND, &retry));
  assert_int_equal(retry, 59);
  assert_true(trilha_rate_take(rate, &b, now + SECOND, &retry));
  assert_false(trilha_rate_take(rate, &a, now + 60 * SECOND - 1, &retry));
  assert_int_equal(retry, 1);
  assert_true(trilha_rate_take(rate, &a, now + 60 * SECOND, &retry));
  trilha_rate_free(rate);
}

static void a_burst_is_allowed_once_and_refills_evenly(void **state) {
  (void)state;
  trilha_rate *rate = made(60, 5);
  trilha_address a = number(1);
  int64_t retry = 0, now = SECOND;
  for (int i = 0; i < 5; i++) assert_true(trilha_rate_take(rate, &a, now, &retry));
  assert_false(trilha_rate_take(rate, &a, now, &retry));
  assert_int_equal(retry, 1);
  assert_true(trilha_rate_take(rate, &a, now + SECOND, &retry));
  assert_false(trilha_rate_take(rate, &a, now + SECOND, &retry));
  for (int i = 0; i < 5; i++) assert_true(trilha_rate_take(rate, &a, now + 60 * SECOND, &retry));
  assert_false(trilha_rate_take(rate, &a, now + 60 * SECOND, &retry));
  trilha_rate_free(rate);
}

static void a_refused_request_costs_nothing(void **state) {
  (void)state;
  trilha_rate *rate = made(1, 1);
  trilha_address a = number(1);
  int64_t retry = 0;
  assert_true(trilha_rate_take(rate, &a, SECOND, &retry));
  for (int i = 0; i < 1000; i++) assert_false(trilha_rate_take(rate, &a, 2 * SECOND, &retry));
  assert_true(trilha_rate_take(rate, &a, 61 * SECOND, &retry));
  trilha_rate_free(rate);
}

static void a_flood_of_addresses_never_frees_one_that_is_held_back(void **state) {
  (void)state;
  trilha_rate *rate = made(1, 1);
  trilha_address held = number(0);
  int64_t retry = 0, now = SECOND;
  assert_true(trilha_rate_take(rate, &held, now, &retry));
  size_t taken = 1;
  for (uint32_t i = 1; i < 200000; i++) {
    trilha_address a = number(i);
    taken += trilha_rate_take(rate, &a, now, &retry) ? 1 : 0;
  }
  assert_true(taken > TRILHA_RATE_CLIENTS_MAX / 2 && taken <= TRILHA_RATE_CLIENTS_MAX);
  assert_false(trilha_rate_take(rate, &held, now, &retry));
  /* And a minute later everybody is let in again. */
  assert_true(trilha_rate_take(rate, &held, now + 60 * SECOND, &retry));
  trilha_rate_free(rate);
}

static void a_host_is_counted_by_its_ipv6_network_and_by_its_ipv4_address(void **state) {
  (void)state;
  trilha_address a, b, c, d;
  assert_true(trilha_address_parse(TRILHA_TEXT("2001:db8:1:2:3:4:5:6"), &a));
  assert_true(trilha_address_parse(TRILHA_TEXT("2001:db8:1:2:ffff::1"), &b));
  assert_true(trilha_address_parse(TRILHA_TEXT("10.0.0.1"), &c));
  assert_true(trilha_address_parse(TRILHA_TEXT("10.0.0.2"), &d));
  a = trilha_address_client(&a);
  b = trilha_address_client(&b);
  assert_memory_equal(&a, &b, sizeof a);
  c = trilha_address_client(&c);
  d = trilha_address_client(&d);
  assert_memory_not_equal(&c, &d, sizeof c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_a_minute_is_one_a_minute),
      cmocka_unit_test(a_burst_is_allowed_once_and_refills_evenly),
      cmocka_unit_test(a_refused_request_costs_nothing),
      cmocka_unit_test(a_flood_of_addresses_never_frees_one_that_is_held_back),
      cmocka_unit_test(a_host_is_counted_by_its_ipv6_network_and_by_its_ipv4_address),
  };
  return cmocka_run_group_tests_name("access rate", tests, NULL, NULL);
}
