/* base: UUIDs (ruling R4) and random bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/uuid.h"

static void uuid_of_any_version_and_case_is_read_and_written_lower_case(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"0A1B2C3D-4E5F-6789-ABCD-EF0123456789", "0a1b2c3d-4e5f-6789-abcd-ef0123456789"},
      {"ffffffff-ffff-ffff-ffff-ffffffffffff", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
      {"00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"},
      {"e1000000-0000-0000-0000-000000000001", "e1000000-0000-0000-0000-000000000001"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    unsigned char id[16];
    char out[TRILHA_UUID_TEXT_SIZE];
    assert_true(trilha_uuid_parse(trilha_text_of(pairs[i][0]), id));
    trilha_uuid_format(id, out);
    assert_string_equal(out, pairs[i][1]);
  }
}

static void uuid_refuses_braces_urns_compact_and_misplaced_dashes(void **state) {
  (void)state;
  static const char *const bad[] = {"",
                                    "0a1b2c3d4e5f6789abcdef0123456789",
                                    "{0a1b2c3d-4e5f-6789-abcd-ef0123456789}",
                                    "urn:uuid:0a1b2c3d-4e5f-6789-abcd-ef0123456789",
                                    "0a1b2c3d-4e5f-6789-abcd-ef012345678",
                                    "0a1b2c3d-4e5f-6789-abcd-ef01234567890",
                                    "0a1b2c3-d4e5f-6789-abcd-ef0123456789",
                                    "0a1b2c3d-4e5f-6789-abcd-ef012345678g",
                                    "0a1b2c3d-4e5f-6789-abcd ef0123456789",
                                    "0a1b2c3d-4e5f-6789-abcd-ef012345678 "};
  unsigned char id[16] = {0}, before[16] = {0};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    if (trilha_uuid_parse(trilha_text_of(bad[i]), id)) fail_msg("accepted: %s", bad[i]);
    assert_memory_equal(id, before, sizeof id);
  }
  assert_false(trilha_uuid_parse((trilha_text){0}, id));
}

static void uuid_v4_has_its_version_variant_and_differs_each_time(void **state) {
  (void)state;
  enum { COUNT = 64 };
  unsigned char ids[COUNT][16], any[16] = {0}, all[16];
  memset(all, 0xFF, sizeof all);
  for (int i = 0; i < COUNT; i++) {
    assert_true(trilha_uuid_v4(ids[i]));
    assert_int_equal(ids[i][6] >> 4, 4);
    assert_int_equal(ids[i][8] >> 6, 2);
    for (int j = 0; j < i; j++) assert_memory_not_equal(ids[i], ids[j], 16);
    for (int b = 0; b < 16; b++) {
      any[b] |= ids[i][b];
      all[b] &= ids[i][b];
    }
  }
  /* Every random bit was seen both ways (chance of a false alarm: 122 in 2^63). */
  for (int b = 0; b < 16; b++) {
    unsigned fixed = b == 6 ? 0xF0 : b == 8 ? 0xC0 : 0;
    assert_int_equal((any[b] & ~all[b]) | fixed, 0xFF);
  }
}

static void uuid_v7_carries_the_milliseconds_and_sorts_by_time(void **state) {
  (void)state;
  /* The example of RFC 9562, appendix A.6: 2022-02-22T14:22:22.000-05:00. */
  unsigned char id[16], later[16];
  assert_true(trilha_uuid_v7(id, INT64_C(0x017F22E279B0) * 1000));
  static const unsigned char head[] = {0x01, 0x7F, 0x22, 0xE2, 0x79, 0xB0, 0x70, 0x00};
  assert_memory_equal(id, head, sizeof head);
  assert_int_equal(id[8] >> 6, 2);
  for (int64_t us = 1; us < 3000; us++) {
    assert_true(trilha_uuid_v7(later, INT64_C(0x017F22E279B0) * 1000 + us));
    assert_true(memcmp(id, later, 8) < 0);
    memcpy(id, later, sizeof id);
  }
  assert_int_equal(later[6] >> 4, 7);
}

static void random_bytes_fill_more_than_one_system_call_gives(void **state) {
  (void)state;
  static unsigned char data[1 << 16];
  assert_true(trilha_random_bytes(data, sizeof data));
  size_t zeros = 0;
  for (size_t i = sizeof data - 1024; i < sizeof data; i++) zeros += data[i] == 0;
  assert_in_range(zeros, 0, 40);
  assert_true(trilha_random_bytes(data, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uuid_of_any_version_and_case_is_read_and_written_lower_case),
      cmocka_unit_test(uuid_refuses_braces_urns_compact_and_misplaced_dashes),
      cmocka_unit_test(uuid_v4_has_its_version_variant_and_differs_each_time),
      cmocka_unit_test(uuid_v7_carries_the_milliseconds_and_sorts_by_time),
      cmocka_unit_test(random_bytes_fill_more_than_one_system_call_gives),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
