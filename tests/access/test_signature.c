/* access: the signatures of Standard Webhooks: what is signed, and whose signature is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "access/signature.h"

#define FIRST  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define SECOND "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define ID     TRILHA_TEXT("msg_p5jXN8AQM9LWM0D4loKWxJek")
#define BODY   TRILHA_TEXT("{\"test\": 2432232314}")
enum { AT_S = 1614265330 };

static void signatures_are_those_of_the_standard_and_there_is_one_for_each_secret(void **state) {
  static const char *const secrets[] = {FIRST, SECOND};
  static const char first[] = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,"; /* the standard's own example */
  trilha_signer signer;
  TRILHA_BUFFER_SCOPED out;
  (void)state;
  trilha_buffer_init(&out, 0);
  assert_int_equal(trilha_signer_init(&signer, secrets, 2, NULL), TRILHA_OK);
  trilha_signer_sign(&signer, ID, AT_S, BODY, &out);
  assert_int_equal(out.failed, TRILHA_OK);
  assert_int_equal(out.size, 2 * 47 + 1);
  assert_memory_equal(out.data, first, sizeof first - 1);
  trilha_signer_done(&signer);
}

static void secrets_of_another_form_are_refused_and_never_repeated_in_the_message(void **state) {
  static const char *const wrong[] = {"", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                      "whsec_c2hvcnQ=", "whsec_********************************"};
  char too_long[6 + 200 + 1] = "whsec_";
  (void)state;
  memset(too_long + 6, 'A', 200);
  for (size_t i = 0; i <= sizeof wrong / sizeof wrong[0]; i++) {
    const char *const secret = i < sizeof wrong / sizeof wrong[0] ? wrong[i] : too_long;
    trilha_signer signer;
    trilha_error err = {0};
    assert_int_equal(trilha_signer_init(&signer, &secret, 1, &err), TRILHA_USAGE);
    assert_string_equal(err.code, "WEBHOOK_SECRET");
    assert_true(strlen(secret) < 10 || strstr(err.text, secret + 6) == NULL);
    trilha_signer_done(&signer);
  }
}

static bool believed(const char *const *secrets, size_t count, trilha_text id, int64_t at_s, trilha_text body,
                     const char *signatures) {
  trilha_signer signer;
  assert_int_equal(trilha_signer_init(&signer, secrets, count, NULL), TRILHA_OK);
  bool is = trilha_signer_verify(&signer, id, at_s, body, trilha_text_of(signatures));
  trilha_signer_done(&signer);
  return is;
}

static void a_signature_by_any_of_the_keys_is_believed_for_exactly_what_was_signed(void **state) {
  static const char *const both[] = {SECOND, FIRST}, *const other[] = {SECOND};
  static const char good[] = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  (void)state;
  assert_true(believed(both, 2, ID, AT_S, BODY, good));
  assert_true(believed(both, 2, ID, AT_S, BODY, "v2,x v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,x"));
  assert_false(believed(other, 1, ID, AT_S, BODY, good));
  assert_false(believed(both, 0, ID, AT_S, BODY, good));
  assert_false(believed(both, 2, TRILHA_TEXT("msg_q5jXN8AQM9LWM0D4loKWxJek"), AT_S, BODY, good));
  assert_false(believed(both, 2, ID, AT_S + 1, BODY, good));
  assert_false(believed(both, 2, ID, AT_S, TRILHA_TEXT("{\"test\": 2432232315}"), good));
}

static void a_signature_of_another_form_is_not_believed(void **state) {
  static const char *const secrets[] = {FIRST};
  static const char *const wrong[] = {"",
                                      " ",
                                      "v1,",
                                      "v1",
                                      ",",
                                      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE",
                                      "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
                                      "V1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
                                      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\tv1,x",
                                      "v1,g0hM9SsE-OTPJTGt_tmIKtSyZlE3uFJELVlNIOLJ1OE="};
  TRILHA_BUFFER_SCOPED many;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_false(believed(secrets, 1, ID, AT_S, BODY, wrong[i]));
  trilha_buffer_init(&many, 0);
  for (size_t i = 0; i < TRILHA_SIGNATURES_MAX; i++) trilha_buffer_add_string(&many, "v1,x ");
  trilha_buffer_add_string(&many, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  trilha_buffer_add_char(&many, '\0');
  assert_false(believed(secrets, 1, ID, AT_S, BODY, many.data));
}

static void words_beyond_what_a_signer_takes_are_seen(void **state) {
  const char *words[TRILHA_WEBHOOK_SECRETS_MAX + 1];
  char none[] = " \n\t ", two[] = "\n a\tb\r\n", many[] = "1 2 3 4 5 6 7 8 9 10 11";
  (void)state;
  assert_int_equal(trilha_signer_words(none, words), 0);
  assert_int_equal(trilha_signer_words(two, words), 2);
  assert_string_equal(words[1], "b");
  assert_int_equal(trilha_signer_words(many, words), TRILHA_WEBHOOK_SECRETS_MAX + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(signatures_are_those_of_the_standard_and_there_is_one_for_each_secret),
      cmocka_unit_test(secrets_of_another_form_are_refused_and_never_repeated_in_the_message),
      cmocka_unit_test(a_signature_by_any_of_the_keys_is_believed_for_exactly_what_was_signed),
      cmocka_unit_test(a_signature_of_another_form_is_not_believed),
      cmocka_unit_test(words_beyond_what_a_signer_takes_are_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
