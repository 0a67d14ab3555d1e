/* fuzz: the key set of an identity provider (trilha_keys_add_set). Whoever answers at its URL chooses every byte: no
 * set makes a shared secret of what it publishes, none holds more keys than there is room for, the same set is judged
 * the same again, and what is refused says why. */
#include "access/token.h"
#include "fuzz/fuzz.h"

#define SECRET "{\"kty\":\"oct\",\"k\":\"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0h\"}"
/* HS256 over that secret, with every claim that is asked for: what a shared secret in a set would let in. */
#define FORGED                                                                        \
  "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."                                             \
  "eyJzdWIiOiJhbmEiLCJhdWQiOiJ0cmlsaGEiLCJyb2xlIjoiYWRtaW4iLCJleHAiOjE5MDAwMDAwMDB9." \
  "9DWIh3a-XUSGgo_kMjaMNI5kUB4K78vxbnFpN9KoITc"

static const trilha_token_rules RULES = {
    .algorithms = TRILHA_ALGORITHM_HS256 | TRILHA_ALGORITHM_ES256 | TRILHA_ALGORITHM_PS256 | TRILHA_ALGORITHM_RS256,
    .audience = {"trilha", 6},
    .role_claim = {"role", 4},
    .role = {"admin", 5}};
static const int64_t NOW_US = INT64_C(1790000000000000);

static bool lets_in(const trilha_keys *keys) {
  trilha_token_identity who = {""};
  return trilha_token_verify(keys, &RULES, TRILHA_TEXT(FORGED), NOW_US, &who) == TRILHA_TOKEN_VALID;
}

/* The forgery is a good one: with the secret it would get in. */
static void check_forgery(void) {
  trilha_keys *keys = NULL;
  CHECK(trilha_keys_new(&keys, NULL) == TRILHA_OK);
  CHECK(trilha_keys_add(keys, TRILHA_TEXT(SECRET), "own", NULL) == TRILHA_OK);
  CHECK(lets_in(keys));
  trilha_keys_free(keys);
}

void trilha_fuzz(const char *data, size_t size) {
  trilha_keys *keys = NULL;
  trilha_error err = {0};
  trilha_text input = {data, size};
  check_forgery();
  CHECK(trilha_keys_new(&keys, NULL) == TRILHA_OK);
  trilha_status status = trilha_keys_add_set(keys, input, "https://idp.example/jwks", &err);
  size_t count = trilha_keys_count(keys);
  CHECK(status == TRILHA_OK || (err.code[0] != '\0' && err.text[0] != '\0'));
  CHECK(count <= TRILHA_KEYS_MAX);
  CHECK(!lets_in(keys));
  trilha_keys *again = NULL;
  CHECK(trilha_keys_new(&again, NULL) == TRILHA_OK);
  CHECK(trilha_keys_add_set(again, input, "https://idp.example/jwks", NULL) == status);
  CHECK(trilha_keys_count(again) == count);
  trilha_keys_free(again);
  trilha_keys_free(keys);
}
