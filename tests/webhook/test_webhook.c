/* webhook: which addresses are refused, what is signed, when the breaker lets through (field report B22). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "base/error.h"
#include "base/text.h"
#include "relay/relay.h"
#include "webhook/webhook_internal.h"

/* --- the guard ------------------------------------------------------------------------------------------------ */

static bool passes(const trilha_webhook_guard *guard, const char *address) {
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  struct sockaddr_in four = {.sin_family = AF_INET};
  if (inet_pton(AF_INET, address, &four.sin_addr) == 1)
    return trilha_webhook_guard_passes(guard, (const struct sockaddr *)(const void *)&four);
  assert_int_equal(inet_pton(AF_INET6, address, &six.sin6_addr), 1);
  return trilha_webhook_guard_passes(guard, (const struct sockaddr *)(const void *)&six);
}

static void special_addresses_are_refused_in_every_form_they_can_be_written_in(void **state) {
  static const char *const refused[] = {"0.0.0.0",
                                        "10.1.2.3",
                                        "100.64.0.1",
                                        "127.0.0.1",
                                        "127.255.255.255",
                                        "169.254.169.254",
                                        "172.16.0.1",
                                        "172.31.255.255",
                                        "192.0.0.8",
                                        "192.168.1.1",
                                        "198.18.0.1",
                                        "198.19.255.255",
                                        "224.0.0.1",
                                        "240.0.0.1",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "::127.0.0.1",
                                        "::ffff:127.0.0.1",
                                        "::ffff:10.0.0.1",
                                        "64:ff9b::7f00:1",
                                        "2002:7f00:1::",
                                        "fc00::1",
                                        "fdff::1",
                                        "fe80::1",
                                        "febf::1",
                                        "fec0::1",
                                        "ff02::1",
                                        "2001::1",
                                        "2001:db8::1"};
  static const char *const passed[] = {"1.1.1.1",      "9.255.255.255",   "11.0.0.0",      "100.63.255.255",
                                       "100.128.0.0",  "126.255.255.255", "128.0.0.0",     "169.253.255.255",
                                       "172.15.0.1",   "172.32.0.0",      "192.0.1.0",     "223.255.255.255",
                                       "2606:4700::1", "2a00:1450::1",    "::ffff:1.1.1.1"};
  trilha_webhook_guard guard;
  (void)state;
  assert_int_equal(trilha_webhook_guard_init(&guard, NULL, 0, NULL), TRILHA_OK);
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    if (passes(&guard, refused[i])) fail_msg("%s passed", refused[i]);
  for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
    if (!passes(&guard, passed[i])) fail_msg("%s was refused", passed[i]);
  struct sockaddr odd = {.sa_family = AF_UNIX};
  assert_false(trilha_webhook_guard_passes(&guard, &odd));
  trilha_webhook_guard_done(&guard);
}

static void an_allowed_network_opens_itself_and_nothing_else(void **state) {
  static const char *const allowed[] = {"10.1.0.0/16", "::1"}, *const wrong[] = {"10.0.0.1/8"};
  trilha_webhook_guard guard;
  trilha_error err = {0};
  (void)state;
  assert_int_equal(trilha_webhook_guard_init(&guard, allowed, 2, NULL), TRILHA_OK);
  assert_true(passes(&guard, "10.1.255.1") && passes(&guard, "::ffff:10.1.0.1") && passes(&guard, "::1"));
  assert_false(passes(&guard, "10.2.0.1") || passes(&guard, "127.0.0.1") || passes(&guard, "64:ff9b::a01:1"));
  trilha_webhook_guard_done(&guard);
  assert_int_equal(trilha_webhook_guard_init(&guard, wrong, 1, &err), TRILHA_USAGE);
  assert_string_equal(err.code, "WEBHOOK_NETWORK");
  trilha_webhook_guard_done(&guard);
}

/* --- signatures --------------------------------------------------------------------------------------------------- */

static void signatures_are_those_of_the_standard_and_there_is_one_for_each_secret(void **state) {
  static const char *const secrets[] = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                        "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
  static const char first[] = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,"; /* the standard's own example */
  trilha_webhook_signer signer;
  TRILHA_BUFFER_SCOPED out;
  (void)state;
  trilha_buffer_init(&out, 0);
  assert_int_equal(trilha_webhook_signer_init(&signer, secrets, 2, NULL), TRILHA_OK);
  trilha_webhook_sign(&signer, TRILHA_TEXT("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                      TRILHA_TEXT("{\"test\": 2432232314}"), &out);
  assert_int_equal(out.failed, TRILHA_OK);
  assert_int_equal(out.size, 2 * 47 + 1);
  assert_memory_equal(out.data, first, sizeof first - 1);
  trilha_webhook_signer_done(&signer);
}

static void secrets_of_another_form_are_refused_and_never_repeated_in_the_message(void **state) {
  static const char *const wrong[] = {"", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                      "whsec_c2hvcnQ=", "whsec_********************************"};
  char too_long[6 + 200 + 1] = "whsec_";
  (void)state;
  memset(too_long + 6, 'A', 200);
  for (size_t i = 0; i <= sizeof wrong / sizeof wrong[0]; i++) {
    const char *const secret = i < sizeof wrong / sizeof wrong[0] ? wrong[i] : too_long;
    trilha_webhook_signer signer;
    trilha_error err = {0};
    assert_int_equal(trilha_webhook_signer_init(&signer, &secret, 1, &err), TRILHA_USAGE);
    assert_string_equal(err.code, "WEBHOOK_SECRET");
    assert_true(strlen(secret) < 10 || strstr(err.text, secret + 6) == NULL);
    trilha_webhook_signer_done(&signer);
  }
}

/* --- the breaker ----------------------------------------------------------------------------------------------------
 */

static void the_breaker_opens_after_failures_in_a_row_and_lets_one_message_find_out(void **state) {
  enum { LONG_MS = 3600000 };
  trilha_breaker b;
  int64_t again_ms = 0;
  (void)state;
  trilha_breaker_init(&b, 3, LONG_MS);
  assert_false(trilha_breaker_failed(&b, 0));
  assert_false(trilha_breaker_failed(&b, 0));
  assert_false(trilha_breaker_succeeded(&b)); /* no longer in a row */
  assert_false(trilha_breaker_failed(&b, 0));
  assert_false(trilha_breaker_failed(&b, 0));
  assert_true(trilha_breaker_enter(&b));
  assert_true(trilha_breaker_failed(&b, 0));
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_HELD);
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  assert_true(again_ms > LONG_MS / 2 && again_ms <= LONG_MS);
  assert_false(trilha_breaker_enter(&b));
  assert_false(trilha_breaker_failed(&b, 0)); /* it was under way meanwhile */
  b.until = trilha_deadline_in_ms(0);         /* the time is over */
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 1);
  assert_true(trilha_breaker_enter(&b));
  assert_false(trilha_breaker_enter(&b)); /* one */
  assert_true(trilha_breaker_failed(&b, 0));
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  assert_true(again_ms > LONG_MS); /* for twice as long */
  b.until = trilha_deadline_in_ms(0);
  assert_true(trilha_breaker_enter(&b));
  assert_true(trilha_breaker_succeeded(&b));
  assert_true(trilha_breaker_room(&b, &again_ms) > 1);
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_OPEN_TO_ALL);
  trilha_breaker_done(&b);
}

static void a_message_that_never_reached_the_endpoint_says_nothing_about_it(void **state) {
  trilha_breaker b;
  (void)state;
  trilha_breaker_init(&b, 1, 3600000);
  assert_true(trilha_breaker_failed(&b, 0));
  b.until = trilha_deadline_in_ms(0);
  assert_true(trilha_breaker_enter(&b));
  trilha_breaker_unasked(&b);
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_HELD); /* neither closed by it */
  assert_true(trilha_breaker_enter(&b));                           /* nor kept from asking */
  assert_false(trilha_breaker_enter(&b));
  trilha_breaker_done(&b);
}

static void an_endpoint_that_does_not_know_us_is_left_alone_at_once_and_asked_by_one_message(void **state) {
  trilha_breaker b;
  int64_t again_ms = 0;
  (void)state;
  trilha_breaker_init(&b, 1000, 3600000);
  assert_true(trilha_breaker_refused(&b));
  assert_false(trilha_breaker_refused(&b)); /* it was under way meanwhile */
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_HELD);
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  b.until = trilha_deadline_in_ms(0);
  assert_true(trilha_breaker_enter(&b));
  assert_false(trilha_breaker_enter(&b));
  assert_true(trilha_breaker_refused(&b));
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  assert_true(again_ms > 3600000); /* for twice as long */
  trilha_breaker_done(&b);
}

static void an_endpoint_that_names_a_time_is_left_alone_until_then_and_one_that_went_for_good(void **state) {
  trilha_breaker b;
  int64_t again_ms = 0;
  (void)state;
  trilha_breaker_init(&b, 1000, 1);
  assert_true(trilha_breaker_failed(&b, 3600000));
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  assert_true(again_ms > 1800000);
  assert_true(trilha_breaker_succeeded(&b));
  assert_true(trilha_breaker_went(&b));
  assert_false(trilha_breaker_went(&b));
  assert_false(trilha_breaker_enter(&b));
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_GONE);
  trilha_breaker_done(&b);
}

/* --- options ---------------------------------------------------------------------------------------------------------
 */

static void urls_that_are_no_plain_http_are_refused(void **state) {
  static const char *const wrong[] = {"",
                                      "shop.example",
                                      "ftp://shop.example/",
                                      "file:///etc/passwd",
                                      "gopher://shop.example",
                                      "https://user:pass@shop.example/",
                                      "https://shop.example/#part",
                                      "http://",
                                      "https://shop .example/"};
  const trilha_webhook_options injected = {.url = "https://shop.example/", .authorization = "a\r\nx: y"},
                               right = {.url = "https://shop.example:8443/hook?a=b"};
  trilha_webhook *webhook = NULL;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const trilha_webhook_options options = {.url = wrong[i]};
    trilha_error err = {0};
    if (trilha_webhook_new(&options, &webhook, &err) != TRILHA_USAGE) fail_msg("%s was taken", wrong[i]);
    assert_string_equal(err.code, "WEBHOOK_URL");
    assert_null(webhook);
  }
  assert_int_equal(trilha_webhook_new(&injected, &webhook, NULL), TRILHA_USAGE);
  assert_int_equal(trilha_webhook_new(&right, &webhook, NULL), TRILHA_OK);
  assert_int_equal(trilha_webhook_state_now(webhook), TRILHA_WEBHOOK_OPEN_TO_ALL);
  trilha_webhook_free(webhook);
}

/* --- mapping --------------------------------------------------------------------------------------------------------
 */

static void an_envelope_is_mapped_to_the_json_that_programs_are_given(void **state) {
  const trilha_envelope envelope = {.destination = TRILHA_TEXT("shop"),
                                    .message_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6727"),
                                    .tenant_id = TRILHA_TEXT("São Paulo"),
                                    .aggregate_type = TRILHA_TEXT("invoice"),
                                    .aggregate_key = TRILHA_TEXT("42"),
                                    .aggregate_sequence = 7,
                                    .message_type = TRILHA_TEXT("invoice.issued"),
                                    .version = TRILHA_TEXT("1.0.0"),
                                    .origin = TRILHA_TEXT("billing"),
                                    .correlation_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6727"),
                                    .occurred_at = TRILHA_TEXT("2026-06-15T10:30:00Z"),
                                    .payload = TRILHA_TEXT("{\"total\": 1}"),
                                    .attempt = 1};
  const trilha_event_mapper mapper = {.map = trilha_map_envelope};
  trilha_wire *wire = trilha_wire_new();
  trilha_text type = {0}, value = {0};
  TRILHA_BUFFER_SCOPED json;
  (void)state;
  trilha_buffer_init(&json, 0);
  assert_non_null(wire);
  assert_int_equal(trilha_event_mapper_apply(&mapper, &envelope, wire, NULL), TRILHA_OK);
  trilha_envelope_write_json(&json, &envelope);
  assert_int_equal(json.failed, TRILHA_OK);
  trilha_text body = trilha_wire_content(wire, &type);
  assert_true(trilha_text_is(type, "application/json"));
  assert_int_equal(body.size, json.size);
  assert_memory_equal(body.data, json.data, json.size);
  assert_null(trilha_wire_header_at(wire, 0, &value).data);
  trilha_wire_free(wire);
}

/* A mapper that gives its own status, with or without words. */
typedef struct refusal {
  trilha_status status;
  const char *code;
} refusal;

static trilha_status refuse_to_map(void *user, const trilha_envelope *envelope, trilha_wire *wire,
                                   trilha_error *error) {
  const refusal *r = user;
  (void)envelope;
  (void)wire;
  return r->code == NULL ? r->status : trilha_error_set(error, r->status, r->code, "no form for it");
}

static void a_mapper_that_refuses_refuses_for_good_unless_memory_is_out(void **state) {
  static const struct {
    refusal said;
    trilha_status status;
    const char *code;
  } cases[] = {{{TRILHA_INVALID, "MINE"}, TRILHA_INVALID, "MINE"},
               {{TRILHA_UNSUPPORTED, "MINE"}, TRILHA_INVALID, "MINE"},
               {{TRILHA_INTERNAL, NULL}, TRILHA_INVALID, "MAPPING_REFUSED"},
               {{TRILHA_NO_MEMORY, NULL}, TRILHA_NO_MEMORY, "MAPPING_REFUSED"},
               {{TRILHA_UNAVAILABLE, "MINE"}, TRILHA_UNAVAILABLE, "MINE"}};
  const trilha_envelope envelope = {.payload = TRILHA_TEXT("{}")};
  trilha_wire *wire = trilha_wire_new();
  (void)state;
  assert_non_null(wire);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    refusal said = cases[i].said;
    const trilha_event_mapper mapper = {.map = refuse_to_map, .user = &said};
    trilha_error err = {0};
    assert_int_equal(trilha_event_mapper_apply(&mapper, &envelope, wire, &err), cases[i].status);
    assert_string_equal(err.code, cases[i].code);
    assert_int_equal(err.status, cases[i].status);
  }
  trilha_wire_free(wire);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(special_addresses_are_refused_in_every_form_they_can_be_written_in),
      cmocka_unit_test(an_allowed_network_opens_itself_and_nothing_else),
      cmocka_unit_test(signatures_are_those_of_the_standard_and_there_is_one_for_each_secret),
      cmocka_unit_test(secrets_of_another_form_are_refused_and_never_repeated_in_the_message),
      cmocka_unit_test(the_breaker_opens_after_failures_in_a_row_and_lets_one_message_find_out),
      cmocka_unit_test(a_message_that_never_reached_the_endpoint_says_nothing_about_it),
      cmocka_unit_test(an_endpoint_that_does_not_know_us_is_left_alone_at_once_and_asked_by_one_message),
      cmocka_unit_test(an_endpoint_that_names_a_time_is_left_alone_until_then_and_one_that_went_for_good),
      cmocka_unit_test(urls_that_are_no_plain_http_are_refused),
      cmocka_unit_test(an_envelope_is_mapped_to_the_json_that_programs_are_given),
      cmocka_unit_test(a_mapper_that_refuses_refuses_for_good_unless_memory_is_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
