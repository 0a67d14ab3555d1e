/* access/token: bearer tokens: JSON Web Tokens in compact form (RFC 7519, RFC 8725) and the keys that verify them.
 * Room: access. Corridor.
 *
 * What a token says of itself never chooses how it is verified: the configuration lists the algorithms, the type of
 * each key fixes the one it serves, and only then the signature is looked at. Keys named inside a token (jwk, jku, x5u,
 * x5c) are never used. A set of keys is immutable once loaded and may be shared by threads.
 */
#ifndef TRILHA_ACCESS_TOKEN_H
#define TRILHA_ACCESS_TOKEN_H

#include "base/text.h"

typedef enum trilha_algorithm {
  TRILHA_ALGORITHM_HS256 = 1,
  TRILHA_ALGORITHM_RS256 = 2,
  TRILHA_ALGORITHM_PS256 = 4,
  TRILHA_ALGORITHM_ES256 = 8
} trilha_algorithm;
/* 0 for a name that is none of them. */
unsigned trilha_algorithm_of(trilha_text name);

enum {
  TRILHA_TOKEN_BYTES_MAX = 8192,  /* of a token */
  TRILHA_KEYS_MAX = 64,           /* keys of all files */
  TRILHA_KEY_FILE_MAX = 256 << 10 /* bytes of one file */
};

typedef struct trilha_keys trilha_keys;
trilha_status trilha_keys_new(trilha_keys **ret_keys, trilha_error *err) TRILHA_MUST_USE;
void trilha_keys_free(trilha_keys *keys);
size_t trilha_keys_count(const trilha_keys *keys);
/* Adds the keys of a text: PEM public keys (one or more), a JWK, or a JWKS. `name` is for messages. INVALID
 * (KEY_INVALID, KEY_WEAK, KEY_PRIVATE): RSA has at least 2048 bits, EC is P-256, a shared secret has at least 32 bytes
 * and comes alone, never in a set. In a set, keys of other kinds or other use are passed over. LIMIT (KEYS_TOO_MANY).
 */
trilha_status trilha_keys_add(trilha_keys *keys, trilha_text text, const char *name, trilha_error *err) TRILHA_MUST_USE;
/* From somebody else: a JWKS and nothing else, without private keys or shared secrets. INVALID (KEY_INVALID…). */
trilha_status trilha_keys_add_set(trilha_keys *keys, trilha_text text, const char *name,
                                  trilha_error *err) TRILHA_MUST_USE;
/* The same from a file; one with a shared secret must be its owner's alone (mode 0600). IO (KEY_FILE). */
trilha_status trilha_keys_add_file(trilha_keys *keys, const char *path, trilha_error *err) TRILHA_MUST_USE;

/* The whole of a file with a key or certificate, at most TRILHA_KEY_FILE_MAX bytes; *ret_private: only its owner may
 * read it. The caller wipes what is secret. IO (KEY_FILE). */
trilha_status trilha_key_file_read(const char *path, trilha_buffer *ret_text, bool *ret_private,
                                   trilha_error *err) TRILHA_MUST_USE;

/* What a token must say. Texts are borrowed for the call; absent issuer: not looked at. */
typedef struct trilha_token_rules {
  unsigned algorithms; /* of trilha_algorithm */
  trilha_text issuer, audience;
  trilha_text role_claim; /* a member's name, or a JSON Pointer when it begins with '/' */
  trilha_text role;
  trilha_text tenant_claim; /* as role_claim; absent: every token is for all tenants */
  int64_t skew_s;
} trilha_token_rules;

typedef enum trilha_token_verdict {
  TRILHA_TOKEN_VALID = 0,
  TRILHA_TOKEN_MALFORMED = 1,
  TRILHA_TOKEN_ALGORITHM = 2, /* not one that the configuration allows */
  TRILHA_TOKEN_KEY = 3,       /* no key for it */
  TRILHA_TOKEN_SIGNATURE = 4,
  TRILHA_TOKEN_EXPIRED = 5,
  TRILHA_TOKEN_EARLY = 6, /* nbf lies ahead */
  TRILHA_TOKEN_ISSUER = 7,
  TRILHA_TOKEN_AUDIENCE = 8,
  TRILHA_TOKEN_ROLE = 9 /* who it is is known; they may not */
} trilha_token_verdict;
/* For the log, never for the client: "expired", … */
const char *trilha_token_verdict_name(trilha_token_verdict verdict);

enum {
  TRILHA_SUBJECT_MAX = 255,         /* bytes of the claim sub that the audit trail keeps */
  TRILHA_TOKEN_TENANTS_BYTES = 4096 /* of the tenants of one token, a terminator each; a token with more is refused */
};
typedef struct trilha_token_identity {
  char subject[TRILHA_SUBJECT_MAX + 1]; /* claim sub; "unknown" when absent; cut at a character */
  bool all_tenants;                     /* no claim is configured, or it is or holds "*" */
  size_t tenant_count;
  char tenants[TRILHA_TOKEN_TENANTS_BYTES]; /* terminated, one behind the other */
} trilha_token_identity;
bool trilha_identity_sees(const trilha_token_identity *identity, trilha_text tenant);

/* ret_identity is written when the verdict is VALID. now_us: wall clock. */
trilha_token_verdict trilha_token_verify(const trilha_keys *keys, const trilha_token_rules *rules, trilha_text token,
                                         int64_t now_us, trilha_token_identity *ret_identity);

/* --- for local development -------------------------------------------------------------------------------------- */

/* Makes an ES256 key: the private one as PEM in `path` (mode 0600, must not exist), the public one beside it in
 * `path`.pub. IO. */
trilha_status trilha_token_key_make(const char *path, trilha_error *err) TRILHA_MUST_USE;
typedef struct trilha_token_claims {
  trilha_text subject, issuer, audience, role_claim, role; /* issuer absent: none */
  int64_t issued_s, expires_s;                             /* seconds since 1970 */
  const trilha_text *tenants;                              /* of the claim `tenant`; none: no such claim */
  size_t tenant_count;
} trilha_token_claims;
/* Signs with the private key of a PEM file made as above. role_claim is a member's name. INVALID (KEY_INVALID), IO. */
trilha_status trilha_token_issue(const char *path, const trilha_token_claims *claims, trilha_buffer *out,
                                 trilha_error *err) TRILHA_MUST_USE;

#endif
