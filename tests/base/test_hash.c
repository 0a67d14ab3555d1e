/* base: SHA-256, HMAC, HKDF, encodings, the hash of tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"

static void assert_hex(const unsigned char *data, size_t size, const char *expected) {
  char out[2 * 64 + 1];
  assert_true(size <= 64);
  trilha_hex(data, size, out);
  assert_string_equal(out, expected);
}

static void sha256_gives_the_standard_answers(void **state) {
  (void)state;
  unsigned char out[TRILHA_SHA256_SIZE];
  trilha_sha256(TRILHA_TEXT("abc"), out);
  assert_hex(out, sizeof out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  trilha_sha256((trilha_text){0}, out);
  assert_hex(out, sizeof out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void hmac_gives_the_answers_of_rfc_4231(void **state) {
  (void)state;
  unsigned char out[TRILHA_SHA256_SIZE];
  assert_true(trilha_hmac_sha256(TRILHA_TEXT("Jefe"), TRILHA_TEXT("what do ya want for nothing?"), out));
  assert_hex(out, sizeof out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  char key[131];
  memset(key, 0xAA, sizeof key);
  assert_true(trilha_hmac_sha256((trilha_text){key, sizeof key},
                                 TRILHA_TEXT("Test Using Larger Than Block-Size Key - Hash Key First"), out));
  assert_hex(out, sizeof out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  assert_true(trilha_hmac_sha256((trilha_text){0}, (trilha_text){0}, out));
  assert_hex(out, sizeof out, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void key_made_ready_signs_as_the_one_shot_function(void **state) {
  (void)state;
  char key[200], data[300];
  for (size_t i = 0; i < sizeof key; i++) key[i] = (char)(i * 7);
  for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 13);
  for (size_t size = 0; size <= sizeof key; size++) {
    trilha_text secret = {key, size}, text = {data, size * sizeof data / sizeof key};
    unsigned char once[TRILHA_SHA256_SIZE], ready[TRILHA_SHA256_SIZE];
    trilha_hmac_key *k = trilha_hmac_key_new(secret);
    assert_non_null(k);
    for (int again = 0; again < 2; again++) {
      assert_true(trilha_hmac_sha256(secret, text, once) && trilha_hmac_key_sign(k, text, ready));
      assert_memory_equal(once, ready, sizeof once);
    }
    trilha_hmac_key_free(k);
  }
  trilha_hmac_key *none = trilha_hmac_key_new((trilha_text){0});
  unsigned char out[TRILHA_SHA256_SIZE];
  assert_true(none != NULL && trilha_hmac_key_sign(none, (trilha_text){0}, out));
  assert_hex(out, sizeof out, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  trilha_hmac_key_free(none);
  trilha_hmac_key_free(NULL);
}

static void hkdf_gives_the_answers_of_rfc_5869(void **state) {
  (void)state;
  unsigned char out[82];
  char key[22];
  memset(key, 0x0B, sizeof key);
  static const char salt[] = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C";
  static const char info[] = "\xF0\xF1\xF2\xF3\xF4\xF5\xF6\xF7\xF8\xF9";
  assert_true(trilha_hkdf_sha256((trilha_text){key, sizeof key}, TRILHA_TEXT(salt), TRILHA_TEXT(info), out, 42));
  assert_hex(out, 42, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  /* No salt, no information; three blocks are asked of the second. */
  assert_true(trilha_hkdf_sha256((trilha_text){key, sizeof key}, (trilha_text){0}, (trilha_text){0}, out, 42));
  assert_hex(out, 42, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
  unsigned char *most = malloc(255 * 32 + 1);
  assert_non_null(most);
  assert_true(trilha_hkdf_sha256(TRILHA_TEXT("k"), (trilha_text){0}, TRILHA_TEXT("i"), most, 255 * 32));
  assert_false(trilha_hkdf_sha256(TRILHA_TEXT("k"), (trilha_text){0}, TRILHA_TEXT("i"), most, 255 * 32 + 1));
  free(most);
}

static void base64url_is_written_without_padding_and_both_alphabets_are_read(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},         {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    char text[16];
    unsigned char data[16];
    size_t size = strlen(pairs[i][0]), back;
    assert_int_equal(trilha_base64url((const unsigned char *)pairs[i][0], size, text), strlen(pairs[i][1]));
    assert_string_equal(text, pairs[i][1]);
    assert_true(trilha_base64_decode(trilha_text_of(text), data, &back));
    assert_int_equal(back, size);
    assert_memory_equal(data, pairs[i][0], size);
  }
  unsigned char data[16];
  size_t size;
  assert_true(trilha_base64_decode(TRILHA_TEXT("-_8="), data, &size));
  assert_hex(data, size, "fbff");
  assert_true(trilha_base64_decode(TRILHA_TEXT("+/8"), data, &size));
  assert_hex(data, size, "fbff");
}

static void base64_refuses_what_has_another_spelling(void **state) {
  (void)state;
  static const char *const bad[] = {"Z",     "Zg=",  "Zg===",  "Zh",   "Zm9=", "Zm 9",
                                    "Zm9v=", "====", "Zm9v\n", "=Zg=", "Z=g="};
  unsigned char data[16];
  size_t size;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    if (trilha_base64_decode(trilha_text_of(bad[i]), data, &size)) fail_msg("accepted: %s", bad[i]);
}

static void secrets_are_equal_only_with_equal_size_and_content(void **state) {
  (void)state;
  assert_true(trilha_secret_equal(TRILHA_TEXT("abc"), TRILHA_TEXT("abc")));
  assert_false(trilha_secret_equal(TRILHA_TEXT("abc"), TRILHA_TEXT("abd")));
  assert_false(trilha_secret_equal(TRILHA_TEXT("abc"), TRILHA_TEXT("ab")));
  assert_true(trilha_secret_equal((trilha_text){0}, TRILHA_TEXT("")));
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void hash_of_tables_reads_every_byte_and_the_seed(void **state) {
  (void)state;
  unsigned char key[80] = {0};
  for (size_t size = 1; size <= sizeof key; size++) {
    uint64_t plain = trilha_hash_bytes(key, size, 7);
    assert_true(plain != trilha_hash_bytes(key, size - 1, 7));
    assert_true(plain != trilha_hash_bytes(key, size, 8));
    for (size_t i = 0; i < size; i++) {
      key[i] = 1;
      assert_true(plain != trilha_hash_bytes(key, size, 7));
      key[i] = 0;
    }
  }
}

static void hash_of_tables_spreads_similar_keys_over_all_bits(void **state) {
  (void)state;
  enum { COUNT = 1 << 16 };
  uint64_t *seen = malloc(COUNT * sizeof *seen);
  assert_non_null(seen);
  static uint32_t low[256], high[256];
  for (uint32_t i = 0; i < COUNT; i++) {
    char key[24];
    int n = snprintf(key, sizeof key, "campo_%u", i);
    seen[i] = trilha_hash_bytes(key, (size_t)n, 42);
    low[seen[i] & 255]++;
    high[seen[i] >> 56]++;
  }
  /* 256 expected in each of 256 buckets, standard deviation 16: seven of them either way. */
  for (int b = 0; b < 256; b++) {
    assert_in_range(low[b], 256 - 112, 256 + 112);
    assert_in_range(high[b], 256 - 112, 256 + 112);
  }
  qsort(seen, COUNT, sizeof *seen, by_value);
  for (int i = 1; i < COUNT; i++) assert_true(seen[i] != seen[i - 1]);
  free(seen);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sha256_gives_the_standard_answers),
      cmocka_unit_test(hmac_gives_the_answers_of_rfc_4231),
      cmocka_unit_test(key_made_ready_signs_as_the_one_shot_function),
      cmocka_unit_test(hkdf_gives_the_answers_of_rfc_5869),
      cmocka_unit_test(base64url_is_written_without_padding_and_both_alphabets_are_read),
      cmocka_unit_test(base64_refuses_what_has_another_spelling),
      cmocka_unit_test(secrets_are_equal_only_with_equal_size_and_content),
      cmocka_unit_test(hash_of_tables_reads_every_byte_and_the_seed),
      cmocka_unit_test(hash_of_tables_spreads_similar_keys_over_all_bits),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
