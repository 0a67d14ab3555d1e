/* fuzz: tokens, and files of keys. No input without the key is ever a valid token; what is not taken says why. */
#include "access/token.h"
#include "fuzz/fuzz.h"

#define KEY "{\"kty\":\"oct\",\"k\":\"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0h\"}"

static const trilha_token_rules RULES = {
    .algorithms = TRILHA_ALGORITHM_HS256 | TRILHA_ALGORITHM_ES256 | TRILHA_ALGORITHM_PS256 | TRILHA_ALGORITHM_RS256,
    .audience = {"trilha", 6},
    .role_claim = {"/a/b", 4},
    .role = {"admin", 5}};

void trilha_fuzz(const char *data, size_t size) {
  trilha_keys *keys = NULL;
  trilha_error err = {0};
  trilha_token_identity who = {""};
  CHECK(trilha_keys_new(&keys, NULL) == TRILHA_OK);
  CHECK(trilha_keys_add(keys, TRILHA_TEXT(KEY), "own", NULL) == TRILHA_OK);
  CHECK(trilha_token_verify(keys, &RULES, (trilha_text){data, size}, INT64_C(1790000000000000), &who) !=
        TRILHA_TOKEN_VALID);
  trilha_status status = trilha_keys_add(keys, (trilha_text){data, size}, "input", &err);
  CHECK(status == TRILHA_OK || (err.code[0] != '\0' && err.text[0] != '\0'));
  CHECK(trilha_keys_count(keys) <= TRILHA_KEYS_MAX);
  CHECK(trilha_token_verify(keys, &RULES, (trilha_text){data, size}, INT64_C(1790000000000000), &who) !=
        TRILHA_TOKEN_VALID);
  trilha_keys_free(keys);
}
