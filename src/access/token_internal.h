/* access inside: keys as OpenSSL has them. Room: access. */
#ifndef TRILHA_ACCESS_TOKEN_INTERNAL_H
#define TRILHA_ACCESS_TOKEN_INTERNAL_H

#include <openssl/evp.h>

#include "access/token.h"

typedef struct trilha_key {
  unsigned algorithms; /* what its type can verify, narrowed by the JWK's own alg */
  char *kid;           /* NULL: none */
  EVP_PKEY *public_key;
  unsigned char *secret; /* of HS256 */
  size_t secret_size;
} trilha_key;

struct trilha_keys {
  trilha_key items[TRILHA_KEYS_MAX];
  size_t count;
};

/* Decodes base64url strictly: its alphabet, no padding, no loose bits. At most `room` bytes. */
bool trilha_base64url_strict(trilha_text text, unsigned char *out, size_t room, size_t *ret_size);
/* Whether the signature over `signed_part` is the key's under the algorithm. */
bool trilha_key_verifies(const trilha_key *key, unsigned algorithm, trilha_text signed_part,
                         const unsigned char *signature, size_t size);
#endif
