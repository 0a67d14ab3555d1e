/* deadletter: what may be kept of an error text (field report B29). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "deadletter/deadletter.h"

static char *scrubbed(const char *delivered, const char *stored, trilha_text text, size_t max) {
  trilha_masked_words *words = NULL;
  trilha_buffer out;
  trilha_buffer_init(&out, 0);
  trilha_error err = {0};
  if (trilha_masked_words_new(trilha_text_of(delivered), trilha_text_of(stored), &words, &err) != TRILHA_OK)
    fail_msg("%s", err.text);
  trilha_scrub(&out, text, words, max);
  trilha_masked_words_free(words);
  return trilha_buffer_take(&out, NULL);
}

static void expect(const char *delivered, const char *stored, const char *text, const char *expected) {
  char *got = scrubbed(delivered, stored, trilha_text_of(text), 4096);
  assert_string_equal(got, expected);
  free(got);
}

static void words_of_the_payload_are_masked_at_any_depth_and_in_any_case(void **state) {
  (void)state;
  expect("{\"a\":[{\"b\":\"Rua das Flores\"}]}", NULL, "no FLORES today; flores.", "no […] today; […].");
  expect("{\"nome\":\"João Ávila\"}", NULL, "JOÃO ávila: joão", "[…] […]: […]");
  expect("{\"n\":52998224725}", NULL, "cpf 52998224725 bad", "cpf […] bad");
  expect("{\"52998224725\":true}", NULL, "key 52998224725", "key […]");
  expect("{\"e\":\"ana@exemplo.com.br\"}", NULL, "to <ana@exemplo.com.br>", "to <ana@[…].com.br>");
}

static void what_the_log_keeps_and_short_words_stay(void **state) {
  (void)state;
  expect("{\"id\":\"a1b2c3d4\",\"nome\":\"Maria\"}", "{\"id\":\"a1b2c3d4\"}", "Maria of a1b2c3d4 na rua",
         "[…] of a1b2c3d4 na rua");
  expect("{\"t\":\"na rua do sol\"}", NULL, "na rua do sol", "na rua do sol");
  expect("{\"t\":\"ab 123\"}", NULL, "ab 123 12", "ab […] 12");
}

static void a_payload_that_cannot_be_read_masks_every_telling_word(void **state) {
  (void)state;
  expect("{broken", NULL, "some words here", "[…] […] […]");
}

static void control_bytes_and_bad_utf8_become_the_replacement_character(void **state) {
  (void)state;
  char *got = scrubbed("{}", NULL, (trilha_text){"a\0b\x1b[31m\xff\xc3 c\n\td\xc2\x85", 17}, 4096);
  assert_string_equal(got,
                      "a\xEF\xBF\xBD"
                      "b\xEF\xBF\xBD[31m\xEF\xBF\xBD\xEF\xBF\xBD c\n\td\xEF\xBF\xBD");
  free(got);
}

static void a_long_text_is_cut_at_a_character_and_its_last_word_is_still_masked(void **state) {
  (void)state;
  char text[64];
  memset(text, ' ', sizeof text);
  memcpy(text + 6, "Zuleica", 7);
  char *got = scrubbed("{\"n\":\"Zuleica\"}", NULL, (trilha_text){text, sizeof text}, 10);
  assert_null(strstr(got, "Zul"));
  assert_true(strlen(got) <= 10);
  assert_true(trilha_utf8_valid(got, strlen(got)));
  free(got);
  size_t size = 5000000;
  char *megabytes = malloc(size);
  assert_non_null(megabytes);
  memset(megabytes, 'x', size);
  got = scrubbed("{}", NULL, (trilha_text){megabytes, size}, 4096);
  assert_int_equal(strlen(got), 4096);
  free(got);
  free(megabytes);
}

static void hostile_words_do_not_grow_the_work(void **state) {
  (void)state;
  trilha_buffer json;
  trilha_buffer_init(&json, 0);
  trilha_buffer_add_string(&json, "{\"l\":[");
  for (int i = 0; i < 50000; i++) trilha_buffer_add_format(&json, "%s\"palavra%d\"", i == 0 ? "" : ",", i);
  trilha_buffer_add_string(&json, "]}");
  char *got = scrubbed(json.data, NULL, TRILHA_TEXT("palavra49999 palavra50000"), 4096);
  assert_string_equal(got, "[…] palavra50000");
  free(got);
  trilha_buffer_done(&json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_of_the_payload_are_masked_at_any_depth_and_in_any_case),
      cmocka_unit_test(what_the_log_keeps_and_short_words_stay),
      cmocka_unit_test(a_payload_that_cannot_be_read_masks_every_telling_word),
      cmocka_unit_test(control_bytes_and_bad_utf8_become_the_replacement_character),
      cmocka_unit_test(a_long_text_is_cut_at_a_character_and_its_last_word_is_still_masked),
      cmocka_unit_test(hostile_words_do_not_grow_the_work),
  };
  return cmocka_run_group_tests_name("deadletter", tests, NULL, NULL);
}
