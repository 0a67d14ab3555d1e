/* base/hash: SHA-256, HMAC and HKDF (OpenSSL), base64url, and a fast keyed hash for tables. Room: base. Thread-safe. */
#ifndef TRILHA_BASE_HASH_H
#define TRILHA_BASE_HASH_H

#include "base/text.h"

enum { TRILHA_SHA256_SIZE = 32 };
void trilha_sha256(trilha_text data, unsigned char out[TRILHA_SHA256_SIZE]);
bool trilha_hmac_sha256(trilha_text key, trilha_text data, unsigned char out[TRILHA_SHA256_SIZE]);
/* A key made ready for many HMACs: signing with it costs an eighth of the function above, which sets everything up
 * anew. Immutable, so that any number of threads may sign with one at once. The caller's; NULL when out of memory. */
typedef struct trilha_hmac_key trilha_hmac_key;
trilha_hmac_key *trilha_hmac_key_new(trilha_text key);
void trilha_hmac_key_free(trilha_hmac_key *key);
bool trilha_hmac_key_sign(const trilha_hmac_key *key, trilha_text data, unsigned char out[TRILHA_SHA256_SIZE]);
/* RFC 5869 with SHA-256; at most 255*32 bytes. */
bool trilha_hkdf_sha256(trilha_text key, trilha_text salt, trilha_text info, unsigned char *out, size_t out_size);
/* Lower-case hexadecimal, terminated: out has 2 * size + 1 bytes. */
void trilha_hex(const unsigned char *data, size_t size, char *out);
/* base64url without padding, terminated; out has at least (size * 4 + 2) / 3 + 1 bytes. Returns the length. */
size_t trilha_base64url(const unsigned char *data, size_t size, char *out);
/* Decodes base64url or base64, padding optional; false when malformed. *ret_size bytes written to out (size*3/4+1
 * bytes). */
bool trilha_base64_decode(trilha_text text, unsigned char *out, size_t *ret_size);
/* Constant-time in the content. */
bool trilha_secret_equal(trilha_text a, trilha_text b);
/* For hash tables; `seed` is random per table where keys come from outside. */
uint64_t trilha_hash_bytes(const void *data, size_t size, uint64_t seed);

#endif
