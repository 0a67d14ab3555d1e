/* base/hash: SHA-256, HMAC and HKDF (OpenSSL), base64url, and a fast keyed hash for tables. */
#include "base/hash.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "base/assert.h"

void trilha_sha256(trilha_text data, unsigned char out[TRILHA_SHA256_SIZE]) {
  unsigned size = 0;
  /* The one-shot digest fails only without memory or without a default provider; an empty answer must never pass for a
   * digest. */
  int ok = EVP_Digest(data.size == 0 ? "" : data.data, data.size, out, &size, EVP_sha256(), NULL);
  TRILHA_ASSERT(ok == 1 && size == TRILHA_SHA256_SIZE);
}

bool trilha_hmac_sha256(trilha_text key, trilha_text data, unsigned char out[TRILHA_SHA256_SIZE]) {
  if (key.size > INT_MAX) return false;
  unsigned size = 0;
  const void *content = data.size == 0 ? "" : data.data;
  const void *secret = key.size == 0 ? "" : key.data;
  return HMAC(EVP_sha256(), secret, (int)key.size, content, data.size, out, &size) != NULL &&
         size == TRILHA_SHA256_SIZE;
}

/* --- HMAC with a key used often (RFC 2104): both pads are absorbed once and their states copied for each text ------
 */

enum { SHA256_BLOCK_SIZE = 64 };

struct trilha_hmac_key {
  EVP_MD_CTX *inner, *outer; /* never changed after they are made: only copied from */
};

static bool absorb_pad(EVP_MD_CTX *state, const unsigned char block[SHA256_BLOCK_SIZE], unsigned char pad) {
  unsigned char padded[SHA256_BLOCK_SIZE];
  for (size_t i = 0; i < sizeof padded; i++) padded[i] = block[i] ^ pad;
  bool ok = EVP_DigestInit_ex(state, EVP_sha256(), NULL) == 1 && EVP_DigestUpdate(state, padded, sizeof padded) == 1;
  OPENSSL_cleanse(padded, sizeof padded);
  return ok;
}

trilha_hmac_key *trilha_hmac_key_new(trilha_text key) {
  unsigned char block[SHA256_BLOCK_SIZE] = {0};
  if (key.size > sizeof block)
    trilha_sha256(key, block);
  else if (key.size != 0)
    memcpy(block, key.data, key.size);
  trilha_hmac_key *ready = calloc(1, sizeof *ready);
  if (ready != NULL) {
    ready->inner = EVP_MD_CTX_new();
    ready->outer = EVP_MD_CTX_new();
  }
  if (ready != NULL && (ready->inner == NULL || ready->outer == NULL || !absorb_pad(ready->inner, block, 0x36) ||
                        !absorb_pad(ready->outer, block, 0x5C))) {
    trilha_hmac_key_free(ready);
    ready = NULL;
  }
  OPENSSL_cleanse(block, sizeof block);
  return ready;
}

void trilha_hmac_key_free(trilha_hmac_key *key) {
  if (key == NULL) return;
  EVP_MD_CTX_free(key->inner); /* wipes its state */
  EVP_MD_CTX_free(key->outer);
  free(key);
}

bool trilha_hmac_key_sign(const trilha_hmac_key *key, trilha_text data, unsigned char out[TRILHA_SHA256_SIZE]) {
  EVP_MD_CTX *state = EVP_MD_CTX_new();
  if (state == NULL) return false;
  bool ok = EVP_MD_CTX_copy_ex(state, key->inner) == 1 && EVP_DigestUpdate(state, data.data, data.size) == 1 &&
            EVP_DigestFinal_ex(state, out, NULL) == 1 && EVP_MD_CTX_copy_ex(state, key->outer) == 1 &&
            EVP_DigestUpdate(state, out, TRILHA_SHA256_SIZE) == 1 && EVP_DigestFinal_ex(state, out, NULL) == 1;
  EVP_MD_CTX_free(state);
  return ok;
}

/* T(n) = HMAC(PRK, T(n-1) | info | n), one after the other (RFC 5869, section 2.3). */
static bool expand(trilha_text prk, trilha_text info, unsigned char *out, size_t out_size) {
  TRILHA_BUFFER_SCOPED input = {0};
  unsigned char block[TRILHA_SHA256_SIZE];
  size_t done = 0;
  bool ok = true;
  for (unsigned char n = 1; ok && done < out_size; n++) {
    trilha_buffer_clear(&input);
    if (n > 1) trilha_buffer_append(&input, block, sizeof block);
    trilha_buffer_add_text(&input, info);
    trilha_buffer_append(&input, &n, 1);
    ok = input.failed == TRILHA_OK && trilha_hmac_sha256(prk, trilha_buffer_text(&input), block);
    size_t take = out_size - done < sizeof block ? out_size - done : sizeof block;
    if (ok) memcpy(out + done, block, take);
    done += take;
  }
  OPENSSL_cleanse(block, sizeof block);
  if (input.data != NULL) OPENSSL_cleanse(input.data, input.capacity);
  return ok;
}

bool trilha_hkdf_sha256(trilha_text key, trilha_text salt, trilha_text info, unsigned char *out, size_t out_size) {
  if (out_size > 255 * TRILHA_SHA256_SIZE) return false;
  unsigned char prk[TRILHA_SHA256_SIZE];
  /* An absent salt is 32 zero bytes, which HMAC cannot tell from an empty key. */
  if (!trilha_hmac_sha256(salt, key, prk)) return false;
  bool ok = expand((trilha_text){(const char *)prk, sizeof prk}, info, out, out_size);
  OPENSSL_cleanse(prk, sizeof prk);
  return ok;
}

void trilha_hex(const unsigned char *data, size_t size, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    out[2 * i] = digits[data[i] >> 4];
    out[2 * i + 1] = digits[data[i] & 15];
  }
  out[2 * size] = '\0';
}

size_t trilha_base64url(const unsigned char *data, size_t size, char *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  size_t at = 0;
  uint32_t bits = 0;
  int held = 0;
  for (size_t i = 0; i < size; i++) {
    bits = (bits << 8) | data[i];
    for (held += 8; held >= 6; held -= 6) out[at++] = digits[(bits >> (held - 6)) & 63];
  }
  if (held > 0) out[at++] = digits[(bits << (6 - held)) & 63];
  out[at] = '\0';
  return at;
}

static int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

bool trilha_base64_decode(trilha_text text, unsigned char *out, size_t *ret_size) {
  size_t size = text.size;
  while (size > 0 && text.size - size < 2 && text.data[size - 1] == '=') size--;
  if ((size != text.size && text.size % 4 != 0) || size % 4 == 1) return false;
  uint32_t bits = 0;
  int held = 0;
  size_t at = 0;
  for (size_t i = 0; i < size; i++) {
    int value = base64_value(text.data[i]);
    if (value < 0) return false;
    bits = (bits << 6) | (uint32_t)value;
    held += 6;
    if (held >= 8) {
      held -= 8;
      out[at++] = (unsigned char)(bits >> held);
    }
  }
  /* Bits left over must be zero: one value has one spelling. */
  if ((bits & ((1u << held) - 1)) != 0) return false;
  *ret_size = at;
  return true;
}

bool trilha_secret_equal(trilha_text a, trilha_text b) {
  return a.size == b.size && (a.size == 0 || CRYPTO_memcmp(a.data, b.data, a.size) == 0);
}

/* --- for hash tables: 128-bit multiplications folded, two words a step ------------------------------------ */

__extension__ typedef unsigned __int128 wide;

static const uint64_t odd_a = UINT64_C(0x9E3779B97F4A7C15), odd_b = UINT64_C(0xD1B54A32D192ED03),
                      odd_c = UINT64_C(0x8CB92BA72F3D8DD7);

static inline uint64_t fold(uint64_t x, uint64_t y) {
  wide product = (wide)x * y;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word_at(const unsigned char *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static inline uint64_t half_at(const unsigned char *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

uint64_t trilha_hash_bytes(const void *data, size_t size, uint64_t seed) {
  const unsigned char *p = data;
  uint64_t state = seed ^ fold(seed ^ odd_a, (uint64_t)size ^ odd_b), low = 0, high = 0;
  size_t left = size;
  for (; left > 16; left -= 16, p += 16) state = fold(word_at(p) ^ odd_b, word_at(p + 8) ^ state);
  /* The tail of at most 16 bytes as two words, which may overlap. */
  if (left >= 8) {
    low = word_at(p);
    high = word_at(p + left - 8);
  } else if (left >= 4) {
    low = half_at(p);
    high = half_at(p + left - 4);
  } else if (left > 0) {
    low = ((uint64_t)p[0] << 16) | ((uint64_t)p[left / 2] << 8) | p[left - 1];
  }
  return fold(fold(low ^ odd_b, high ^ state) ^ odd_c, (uint64_t)size ^ odd_a);
}
