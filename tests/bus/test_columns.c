/* bus: step 3 of a publish, formats and lengths (rulings R2 to R4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "bus/bus_internal.h"

static trilha_publication good(void) {
  return (trilha_publication){.tipo = TRILHA_TEXT("teste.feito"), .origem = TRILHA_TEXT("D-1a")};
}

static void refuse(const trilha_publication *p, trilha_text versao, const char *code) {
  trilha_event_row row = {0};
  trilha_error err = {0};
  assert_int_equal(trilha_prepare_columns(p, versao, &row, &err), TRILHA_INVALID);
  assert_string_equal(err.code, code);
}

static void accept(const trilha_publication *p, trilha_event_row *row) {
  trilha_error err = {0};
  *row = (trilha_event_row){0};
  if (trilha_prepare_columns(p, TRILHA_TEXT("1.0.0"), row, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
}

static void versions_are_semantic_and_at_most_twenty_characters(void **state) {
  (void)state;
  trilha_publication p = good();
  static const char *const right[] = {"0.0.0",      "1.10.0",        "1.0.0-rc.1",
                                      "1.0.0+b.01", "1.0.0-a-b.2+c", "10.20.30-alpha.12"};
  static const char *const wrong[] = {"1",          "1.0",    "1.0.0.0", "01.0.0", "1.0.0-",         "1.0.0-01",
                                      "1.0.0-a..b", "1.0.0+", "v1.0.0",  "1.0.0 ", "1.0.0-\xC3\xA9", "1.0.0+a+b"};
  trilha_event_row row = {0};
  for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
    assert_int_equal(trilha_prepare_columns(&p, trilha_text_of(right[i]), &row, NULL), TRILHA_OK);
    assert_true(trilha_text_is(row.versao_schema, right[i]));
  }
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) refuse(&p, trilha_text_of(wrong[i]), "VERSION_INVALID");
  refuse(&p, TRILHA_TEXT("1.0.0-aaaaaaaaaaaaaaa"), "FIELD_LENGTH");
  refuse(&p, TRILHA_TEXT(""), "FIELD_LENGTH");
}

static void defaults_are_a_new_uuid_now_and_the_id_as_correlation(void **state) {
  (void)state;
  trilha_publication p = good();
  trilha_event_row one, two;
  accept(&p, &one);
  accept(&p, &two);
  assert_memory_not_equal(one.event_id, two.event_id, 16);
  assert_int_equal(one.event_id[6] >> 4, 4);
  assert_int_equal(one.event_id[8] >> 6, 2);
  assert_true(one.has_correlacao_id);
  assert_memory_equal(one.correlacao_id, one.event_id, 16);
  assert_true(one.timestamp_us > INT64_C(1700000000000000));
  assert_int_equal(one.timestamp_us % 10000, 0);
  assert_false(one.has_causation_id || one.has_aggregate_sequence);
}

static void ids_are_8_4_4_4_12_whatever_their_version(void **state) {
  (void)state;
  trilha_publication p = good();
  trilha_event_row row;
  p.event_id = TRILHA_TEXT("C3D4e5f6-a7b8-9012-cdef-123456789012");
  p.correlacao_id = TRILHA_TEXT("00000000-0000-0000-0000-000000000000");
  accept(&p, &row);
  assert_int_equal(row.event_id[0], 0xC3);
  static const char *const wrong[] = {"",
                                      "c3d4e5f6a7b89012cdef123456789012",
                                      "{c3d4e5f6-a7b8-9012-cdef-123456789012}",
                                      "c3d4e5f6-a7b8-9012-cdef-12345678901",
                                      "c3d4e5f6-a7b8-9012-cdef-12345678901g",
                                      "urn:uuid:c3d4e5f6-a7b8-9012-cdef-123456789012"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    p = good();
    p.event_id = trilha_text_of(wrong[i]);
    refuse(&p, TRILHA_TEXT("1.0.0"), "UUID_INVALID");
    p = good();
    p.causation_id = trilha_text_of(wrong[i]);
    refuse(&p, TRILHA_TEXT("1.0.0"), "UUID_INVALID");
  }
}

static void trace_context_is_checked_as_w3c_has_it(void **state) {
  (void)state;
  trilha_publication p = good();
  trilha_event_row row;
  p.traceparent = TRILHA_TEXT("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  p.tracestate = TRILHA_TEXT("vendor=value");
  accept(&p, &row);
  p.traceparent = TRILHA_TEXT("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-holds");
  accept(&p, &row);
  static const char *const wrong[] = {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                                      "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                                      ""};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    p.traceparent = trilha_text_of(wrong[i]);
    refuse(&p, TRILHA_TEXT("1.0.0"), "TRACEPARENT_INVALID");
  }
}

static void texts_have_their_lengths_in_characters_and_no_nul(void **state) {
  (void)state;
  trilha_publication p = good();
  char tipo[512];
  for (size_t i = 0; i < 256; i++) memcpy(tipo + 2 * i, "\xC3\xA7", 2);
  trilha_event_row row;
  p.tipo = (trilha_text){tipo, 510};
  accept(&p, &row);
  p.tipo.size = 512;
  refuse(&p, TRILHA_TEXT("1.0.0"), "FIELD_LENGTH");
  p = good();
  p.aggregate_key = (trilha_text){"a\0b", 3};
  refuse(&p, TRILHA_TEXT("1.0.0"), "FIELD_INVALID");
  p = good();
  p.tenant_id = TRILHA_TEXT("");
  refuse(&p, TRILHA_TEXT("1.0.0"), "FIELD_LENGTH");
  p = good();
  p.aggregate_sequence = -1;
  refuse(&p, TRILHA_TEXT("1.0.0"), "FIELD_INVALID");
  p = good();
  p.tipo = (trilha_text){0};
  refuse(&p, TRILHA_TEXT("1.0.0"), "FIELD_MISSING");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_are_semantic_and_at_most_twenty_characters),
      cmocka_unit_test(defaults_are_a_new_uuid_now_and_the_id_as_correlation),
      cmocka_unit_test(ids_are_8_4_4_4_12_whatever_their_version),
      cmocka_unit_test(trace_context_is_checked_as_w3c_has_it),
      cmocka_unit_test(texts_have_their_lengths_in_characters_and_no_nul),
  };
  return cmocka_run_group_tests_name("bus", tests, NULL, NULL);
}
