/* access inside: keys as OpenSSL has them. Room: access. */
#ifndef TRILHA_ACCESS_TOKEN_INTERNAL_H
#define TRILHA_ACCESS_TOKEN_INTERNAL_H

#include <openssl/evp.h>
#include <pthread.h>

#include "access/token.h"
#include "base/hash.h"

typedef struct trilha_key {
  unsigned algorithms; /* what its type can verify, narrowed by the JWK's own alg */
  char *kid;           /* NULL: none */
  EVP_PKEY *public_key;
  unsigned char *secret; /* of HS256 */
  size_t secret_size;
} trilha_key;

/* Tokens whose signatures a set has found right, as the SHA-256 of all their bytes: a client sends the same token with
 * every request until it expires, and verifying costs more than the rest of a look-up. A set never changes once loaded
 * and dies when keys are read anew, so what it found stays true; times, issuer, audience and role are looked at again
 * each time. Thread-safe. */
enum { TRILHA_VERIFIED_MAX = 64 };
typedef struct trilha_verified {
  pthread_mutex_t mutex;
  unsigned char tokens[TRILHA_VERIFIED_MAX][TRILHA_SHA256_SIZE]; /* the oldest makes room */
  size_t count, next;
} trilha_verified;
bool trilha_verified_holds(trilha_verified *verified, const unsigned char token[TRILHA_SHA256_SIZE]);
void trilha_verified_add(trilha_verified *verified, const unsigned char token[TRILHA_SHA256_SIZE]);

struct trilha_keys {
  trilha_key items[TRILHA_KEYS_MAX];
  size_t count;
  trilha_verified *verified; /* its own: what is remembered is no part of what the keys are */
};

/* Decodes base64url strictly: its alphabet, no padding, no loose bits. At most `room` bytes. */
bool trilha_base64url_strict(trilha_text text, unsigned char *out, size_t room, size_t *ret_size);
/* Whether the signature over `signed_part` is the key's under the algorithm. */
bool trilha_key_verifies(const trilha_key *key, unsigned algorithm, trilha_text signed_part,
                         const unsigned char *signature, size_t size);
#endif
