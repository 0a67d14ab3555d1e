/* access: tokens that are right, and every way we know in which they are forged (field report B27). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "access/token.h"
#include "base/hash.h"

#define NOW_S  INT64_C(1790000000)
#define SECRET "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0h" /* 36 bytes */
#define CLAIMS "{\"sub\":\"ana\",\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1790000060}"

typedef struct scene {
  EVP_PKEY *rsa, *ec;
  char rsa_pem[4096], ec_pem[1024];
  char folder[64], ec_file[128];
} scene;

static void public_pem(EVP_PKEY *key, char *out, size_t room) {
  BIO *bio = BIO_new(BIO_s_mem());
  assert_int_equal(PEM_write_bio_PUBKEY(bio, key), 1);
  int size = BIO_read(bio, out, (int)room - 1);
  out[size] = '\0';
  BIO_free(bio);
}

static int setup(void **state) {
  scene *s = calloc(1, sizeof *s);
  s->rsa = EVP_RSA_gen(2048);
  snprintf(s->folder, sizeof s->folder, "/tmp/trilha-token-XXXXXX");
  assert_non_null(mkdtemp(s->folder));
  snprintf(s->ec_file, sizeof s->ec_file, "%s/dev.pem", s->folder);
  assert_int_equal(trilha_token_key_make(s->ec_file, NULL), TRILHA_OK);
  FILE *file = fopen(s->ec_file, "r");
  s->ec = PEM_read_PrivateKey(file, NULL, NULL, NULL);
  fclose(file);
  public_pem(s->rsa, s->rsa_pem, sizeof s->rsa_pem);
  public_pem(s->ec, s->ec_pem, sizeof s->ec_pem);
  *state = s;
  return 0;
}

static int teardown(void **state) {
  scene *s = *state;
  char beside[160];
  snprintf(beside, sizeof beside, "%s.pub", s->ec_file);
  unlink(beside);
  unlink(s->ec_file);
  rmdir(s->folder);
  EVP_PKEY_free(s->rsa);
  EVP_PKEY_free(s->ec);
  free(s);
  return 0;
}

static void part(trilha_buffer *out, const void *data, size_t size) {
  char *text = malloc(size * 4 / 3 + 8);
  trilha_base64url(data, size, text);
  trilha_buffer_add_string(out, text);
  free(text);
}

/* header.claims, to be signed. */
static trilha_buffer unsigned_token(const char *header, const char *claims) {
  trilha_buffer out = {0};
  part(&out, header, strlen(header));
  trilha_buffer_add_char(&out, '.');
  part(&out, claims, strlen(claims));
  return out;
}

static void finish(trilha_buffer *out, const void *signature, size_t size) {
  trilha_buffer_add_char(out, '.');
  part(out, signature, size);
}

static trilha_buffer hs256(const char *header, const char *claims, trilha_text secret) {
  trilha_buffer out = unsigned_token(header, claims);
  unsigned char mac[32];
  assert_true(trilha_hmac_sha256(secret, trilha_buffer_text(&out), mac));
  finish(&out, mac, sizeof mac);
  return out;
}

static trilha_buffer rsa_signed(const scene *s, const char *header, const char *claims, bool pss) {
  trilha_buffer out = unsigned_token(header, claims);
  unsigned char signature[1024];
  size_t size = sizeof signature;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  EVP_PKEY_CTX *inner = NULL;
  assert_int_equal(EVP_DigestSignInit(context, &inner, EVP_sha256(), NULL, s->rsa), 1);
  if (pss) {
    EVP_PKEY_CTX_set_rsa_padding(inner, RSA_PKCS1_PSS_PADDING);
    EVP_PKEY_CTX_set_rsa_pss_saltlen(inner, RSA_PSS_SALTLEN_DIGEST);
  }
  assert_int_equal(EVP_DigestSign(context, signature, &size, (unsigned char *)out.data, out.size), 1);
  EVP_MD_CTX_free(context);
  finish(&out, signature, size);
  return out;
}

static trilha_buffer es256(const scene *s, trilha_token_claims claims) {
  trilha_buffer out = {0};
  if (claims.issued_s == 0) claims.issued_s = NOW_S;
  assert_int_equal(trilha_token_issue(s->ec_file, &claims, &out, NULL), TRILHA_OK);
  return out;
}

static trilha_keys *keys_of(const char *one, const char *two) {
  trilha_keys *keys = NULL;
  trilha_error error = {0};
  assert_int_equal(trilha_keys_new(&keys, NULL), TRILHA_OK);
  if (trilha_keys_add(keys, trilha_text_of(one), "one", &error) != TRILHA_OK) fail_msg("%s", error.text);
  if (two != NULL && trilha_keys_add(keys, trilha_text_of(two), "two", &error) != TRILHA_OK) fail_msg("%s", error.text);
  return keys;
}

static const trilha_token_rules RULES = {
    .algorithms = TRILHA_ALGORITHM_ES256 | TRILHA_ALGORITHM_HS256 | TRILHA_ALGORITHM_RS256 | TRILHA_ALGORITHM_PS256,
    .audience = {"trilha", 6},
    .role_claim = {"role", 4},
    .role = {"admin", 5},
    .skew_s = 30};

static trilha_token_verdict verdict_by(const trilha_token_rules *rules, const trilha_keys *keys, trilha_buffer *take) {
  trilha_token_identity who;
  trilha_token_verdict verdict = trilha_token_verify(keys, rules, trilha_buffer_text(take), NOW_S * 1000000, &who);
  trilha_buffer_done(take);
  return verdict;
}

#define OCT_JWK "{\"kty\":\"oct\",\"k\":\"" SECRET "\"}"

/* The verdict over an HS256 token with these texts. */
static trilha_token_verdict hs_verdict(const char *header, const char *claims) {
  trilha_keys *keys = keys_of(OCT_JWK, NULL);
  trilha_buffer token = hs256(header, claims, TRILHA_TEXT("secret-secret-secret-secret-secret-!"));
  trilha_token_verdict verdict = verdict_by(&RULES, keys, &token);
  trilha_keys_free(keys);
  return verdict;
}

static void each_algorithm_verifies_with_its_own_key(void **state) {
  const scene *s = *state;
  trilha_keys *keys = keys_of(s->rsa_pem, s->ec_pem);
  trilha_buffer rs = rsa_signed(s, "{\"alg\":\"RS256\"}", CLAIMS, false),
                ps = rsa_signed(s, "{\"alg\":\"PS256\"}", CLAIMS, true);
  trilha_token_claims claims = {
      TRILHA_TEXT("ana"), {NULL, 0}, TRILHA_TEXT("trilha"), TRILHA_TEXT("role"), TRILHA_TEXT("admin"), 0, NOW_S + 60};
  trilha_buffer es = es256(s, claims);
  trilha_token_identity who = {""};
  assert_int_equal(trilha_token_verify(keys, &RULES, trilha_buffer_text(&es), NOW_S * 1000000, &who),
                   TRILHA_TOKEN_VALID);
  assert_string_equal(who.subject, "ana");
  assert_int_equal(verdict_by(&RULES, keys, &rs), TRILHA_TOKEN_VALID);
  assert_int_equal(verdict_by(&RULES, keys, &ps), TRILHA_TOKEN_VALID);
  assert_int_equal(hs_verdict("{\"alg\":\"HS256\",\"typ\":\"JWT\"}", CLAIMS), TRILHA_TOKEN_VALID);
  trilha_buffer_done(&es);
  trilha_keys_free(keys);
}

static void B27_a_token_never_chooses_how_it_is_verified(void **state) {
  const scene *s = *state;
  trilha_keys *keys = keys_of(s->rsa_pem, s->ec_pem);
  static const char *const headers[] = {
      "{\"alg\":\"none\"}", "{\"alg\":\"None\"}",  "{\"alg\":\"NONE\"}",  "{\"alg\":\"\"}",       "{}",
      "{\"alg\":null}",     "{\"alg\":\"hs256\"}", "{\"alg\":\"HS512\"}", "{\"alg\":[\"HS256\"]}"};
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    trilha_buffer token = unsigned_token(headers[i], CLAIMS);
    trilha_buffer_add_char(&token, '.');
    assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_ALGORITHM);
    token = hs256(headers[i], CLAIMS, TRILHA_TEXT(""));
    assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_ALGORITHM);
  }
  /* The public key, which everybody has, as the secret of an HMAC. */
  trilha_buffer forged = hs256("{\"alg\":\"HS256\"}", CLAIMS, trilha_text_of(s->rsa_pem));
  assert_int_equal(verdict_by(&RULES, keys, &forged), TRILHA_TOKEN_KEY);
  /* An algorithm that there is a key for but that the configuration does not name. */
  trilha_token_rules only_es = RULES;
  only_es.algorithms = TRILHA_ALGORITHM_ES256;
  trilha_buffer rs = rsa_signed(s, "{\"alg\":\"RS256\"}", CLAIMS, false);
  assert_int_equal(verdict_by(&only_es, keys, &rs), TRILHA_TOKEN_ALGORITHM);
  /* A signature of one kind under the name of another. */
  rs = rsa_signed(s, "{\"alg\":\"PS256\"}", CLAIMS, false);
  assert_int_equal(verdict_by(&RULES, keys, &rs), TRILHA_TOKEN_SIGNATURE);
  rs = rsa_signed(s, "{\"alg\":\"ES256\"}", CLAIMS, false);
  assert_int_equal(verdict_by(&RULES, keys, &rs), TRILHA_TOKEN_SIGNATURE);
  trilha_keys_free(keys);
}

static void B27_keys_that_a_token_brings_along_are_never_used(void **state) {
  const scene *s = *state;
  trilha_keys *keys = keys_of(s->ec_pem, NULL);
  trilha_buffer token =
      hs256("{\"alg\":\"HS256\",\"jwk\":" OCT_JWK ",\"jku\":\"https://evil.example/\",\"x5u\":\"file:///dev/null\"}",
            CLAIMS, TRILHA_TEXT("secret-secret-secret-secret-secret-!"));
  assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_KEY);
  trilha_keys_free(keys);
}

static void a_kid_chooses_among_named_keys_and_is_only_compared(void **state) {
  (void)state;
  trilha_keys *keys = keys_of("{\"kty\":\"oct\",\"kid\":\"a\",\"k\":\"" SECRET "\"}", NULL);
  trilha_text secret = TRILHA_TEXT("secret-secret-secret-secret-secret-!");
  trilha_buffer token = hs256("{\"alg\":\"HS256\",\"kid\":\"a\"}", CLAIMS, secret);
  assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_VALID);
  token = hs256("{\"alg\":\"HS256\"}", CLAIMS, secret);
  assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_VALID);
  static const char *const other[] = {
      "{\"alg\":\"HS256\",\"kid\":\"b\"}", "{\"alg\":\"HS256\",\"kid\":\"../../dev/null\"}",
      "{\"alg\":\"HS256\",\"kid\":\"a' OR '1'='1\"}", "{\"alg\":\"HS256\",\"kid\":\"\"}"};
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
    token = hs256(other[i], CLAIMS, secret);
    assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_KEY);
  }
  token = hs256("{\"alg\":\"HS256\",\"kid\":7}", CLAIMS, secret);
  assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_MALFORMED);
  trilha_keys_free(keys);
}

static void what_is_critical_or_of_another_type_is_refused(void **state) {
  (void)state;
  assert_int_equal(hs_verdict("{\"alg\":\"HS256\",\"crit\":[\"b64\"],\"b64\":false}", CLAIMS), TRILHA_TOKEN_MALFORMED);
  assert_int_equal(hs_verdict("{\"alg\":\"HS256\",\"crit\":[]}", CLAIMS), TRILHA_TOKEN_MALFORMED);
  assert_int_equal(hs_verdict("{\"alg\":\"HS256\",\"typ\":\"dpop+jwt\"}", CLAIMS), TRILHA_TOKEN_MALFORMED);
  assert_int_equal(hs_verdict("{\"alg\":\"HS256\",\"typ\":\"at+jwt\"}", CLAIMS), TRILHA_TOKEN_VALID);
  assert_int_equal(hs_verdict("{\"alg\":\"HS256\",\"alg\":\"none\"}", CLAIMS), TRILHA_TOKEN_MALFORMED);
}

static void one_changed_byte_breaks_the_signature(void **state) {
  (void)state;
  trilha_keys *keys = keys_of(OCT_JWK, NULL);
  trilha_buffer token = hs256("{\"alg\":\"HS256\"}", CLAIMS, TRILHA_TEXT("secret-secret-secret-secret-secret-!"));
  trilha_token_identity who;
  assert_int_equal(trilha_token_verify(keys, &RULES, trilha_buffer_text(&token), NOW_S * 1000000, &who),
                   TRILHA_TOKEN_VALID); /* what is remembered of it helps no other */
  for (size_t i = 0; i < token.size; i++) {
    char kept = token.data[i];
    token.data[i] = kept == 'A' ? 'B' : 'A';
    trilha_token_verdict verdict = trilha_token_verify(keys, &RULES, trilha_buffer_text(&token), NOW_S * 1000000, &who);
    if (verdict == TRILHA_TOKEN_VALID) fail_msg("byte %zu changed and nobody saw it", i);
    token.data[i] = kept;
  }
  for (size_t size = 0; size < token.size; size++)
    assert_int_not_equal(trilha_token_verify(keys, &RULES, (trilha_text){token.data, size}, NOW_S * 1000000, &who),
                         TRILHA_TOKEN_VALID);
  trilha_buffer_add_string(&token, ".x");
  assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_MALFORMED);
  trilha_keys_free(keys);
}

/* What is remembered is that a signature was right, and nothing else. */
static void a_token_seen_before_is_judged_anew(void **state) {
  trilha_keys *keys = keys_of(OCT_JWK, NULL), *others = keys_of(((scene *)*state)->ec_pem, NULL);
  trilha_buffer token = hs256("{\"alg\":\"HS256\"}", CLAIMS, TRILHA_TEXT("secret-secret-secret-secret-secret-!"));
  trilha_token_identity who = {""};
  trilha_token_rules narrower = RULES, elsewhere = RULES, auditors = RULES;
  narrower.algorithms = TRILHA_ALGORITHM_ES256;
  elsewhere.audience = TRILHA_TEXT("other");
  auditors.role = TRILHA_TEXT("auditor");
  const struct {
    const trilha_keys *keys;
    const trilha_token_rules *rules;
    int64_t at_s;
    trilha_token_verdict verdict;
  } cases[] = {{keys, &RULES, NOW_S, TRILHA_TOKEN_VALID},        {keys, &RULES, NOW_S, TRILHA_TOKEN_VALID},
               {keys, &RULES, NOW_S + 90, TRILHA_TOKEN_EXPIRED}, {keys, &narrower, NOW_S, TRILHA_TOKEN_ALGORITHM},
               {keys, &elsewhere, NOW_S, TRILHA_TOKEN_AUDIENCE}, {keys, &auditors, NOW_S, TRILHA_TOKEN_ROLE},
               {others, &RULES, NOW_S, TRILHA_TOKEN_KEY},        {keys, &RULES, NOW_S, TRILHA_TOKEN_VALID}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    trilha_text text = trilha_buffer_text(&token);
    assert_int_equal(trilha_token_verify(cases[i].keys, cases[i].rules, text, cases[i].at_s * 1000000, &who),
                     cases[i].verdict);
  }
  trilha_buffer_done(&token);
  trilha_keys_free(keys);
  trilha_keys_free(others);
}

/* More clients than are remembered: each is served, in any order. */
static void tokens_beyond_what_is_remembered_are_verified_anew(void **state) {
  (void)state;
  enum { CLIENTS = 150, ROUNDS = 3 };
  trilha_keys *keys = keys_of(OCT_JWK, NULL);
  for (int i = 0; i < CLIENTS * ROUNDS; i++) {
    char claims[160];
    snprintf(claims, sizeof claims, "{\"sub\":\"client-%d\",\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1790000060}",
             i * 7 % CLIENTS);
    trilha_buffer token = hs256("{\"alg\":\"HS256\"}", claims, TRILHA_TEXT("secret-secret-secret-secret-secret-!"));
    trilha_buffer forged = hs256("{\"alg\":\"HS256\"}", claims, TRILHA_TEXT("another-secret-another-secret-another"));
    assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_VALID);
    assert_int_equal(verdict_by(&RULES, keys, &forged), TRILHA_TOKEN_SIGNATURE);
  }
  trilha_keys_free(keys);
}

static void a_signature_has_one_spelling(void **state) {
  (void)state;
  trilha_keys *keys = keys_of(OCT_JWK, NULL);
  static const char *const tails[] = {"=", "==", "\n", " ", "+", "/"};
  for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
    trilha_buffer token = hs256("{\"alg\":\"HS256\"}", CLAIMS, TRILHA_TEXT("secret-secret-secret-secret-secret-!"));
    trilha_buffer_add_string(&token, tails[i]);
    assert_int_not_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_VALID);
  }
  trilha_keys_free(keys);
}

static void claims_are_strict(void **state) {
  (void)state;
  static const struct {
    const char *claims;
    trilha_token_verdict verdict;
  } cases[] = {
      {"{\"aud\":\"trilha\",\"role\":\"admin\"}", TRILHA_TOKEN_MALFORMED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":\"1790000060\"}", TRILHA_TOKEN_MALFORMED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1.79e9}", TRILHA_TOKEN_MALFORMED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":-1}", TRILHA_TOKEN_MALFORMED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":true}", TRILHA_TOKEN_MALFORMED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":null}", TRILHA_TOKEN_MALFORMED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":99999999999999999999}", TRILHA_TOKEN_MALFORMED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1,\"exp\":1790000060}", TRILHA_TOKEN_MALFORMED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1790000060.75}", TRILHA_TOKEN_VALID},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1789999971}", TRILHA_TOKEN_VALID},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1789999970}", TRILHA_TOKEN_EXPIRED},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1790000060,\"nbf\":1790000030}", TRILHA_TOKEN_VALID},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1790000060,\"nbf\":1790000031}", TRILHA_TOKEN_EARLY},
      {"{\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1790000060,\"nbf\":\"0\"}", TRILHA_TOKEN_MALFORMED},
      {"{\"role\":\"admin\",\"exp\":1790000060}", TRILHA_TOKEN_AUDIENCE},
      {"{\"aud\":\"trilha2\",\"role\":\"admin\",\"exp\":1790000060}", TRILHA_TOKEN_AUDIENCE},
      {"{\"aud\":[\"a\",\"trilha\"],\"role\":\"admin\",\"exp\":1790000060}", TRILHA_TOKEN_VALID},
      {"{\"aud\":[],\"role\":\"admin\",\"exp\":1790000060}", TRILHA_TOKEN_AUDIENCE},
      {"{\"aud\":\"trilha\",\"exp\":1790000060}", TRILHA_TOKEN_ROLE},
      {"{\"aud\":\"trilha\",\"role\":\"administrator\",\"exp\":1790000060}", TRILHA_TOKEN_ROLE},
      {"{\"aud\":\"trilha\",\"role\":\"user admin\",\"exp\":1790000060}", TRILHA_TOKEN_ROLE},
      {"{\"aud\":\"trilha\",\"role\":[\"user\",\"admin\"],\"exp\":1790000060}", TRILHA_TOKEN_VALID},
      {"{\"aud\":\"trilha\",\"role\":{\"admin\":true},\"exp\":1790000060}", TRILHA_TOKEN_ROLE},
      {"[\"admin\"]", TRILHA_TOKEN_MALFORMED},
      {"not json", TRILHA_TOKEN_MALFORMED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    trilha_token_verdict verdict = hs_verdict("{\"alg\":\"HS256\"}", cases[i].claims);
    if (verdict != cases[i].verdict) fail_msg("%s: %s", cases[i].claims, trilha_token_verdict_name(verdict));
  }
}

static void issuer_and_the_place_of_the_role_are_configured(void **state) {
  (void)state;
  trilha_keys *keys = keys_of(OCT_JWK, NULL);
  trilha_token_rules rules = RULES;
  rules.issuer = TRILHA_TEXT("https://id.example");
  rules.role_claim = TRILHA_TEXT("/realm_access/roles");
  trilha_text secret = TRILHA_TEXT("secret-secret-secret-secret-secret-!");
  trilha_buffer token =
      hs256("{\"alg\":\"HS256\"}",
            "{\"iss\":\"https://id.example\",\"aud\":\"trilha\",\"realm_access\":{\"roles\":[\"x\",\"admin\"]},"
            "\"exp\":1790000060}",
            secret);
  assert_int_equal(verdict_by(&rules, keys, &token), TRILHA_TOKEN_VALID);
  token =
      hs256("{\"alg\":\"HS256\"}", "{\"iss\":\"https://id.example/\",\"aud\":\"trilha\",\"exp\":1790000060}", secret);
  assert_int_equal(verdict_by(&rules, keys, &token), TRILHA_TOKEN_ISSUER);
  token = hs256("{\"alg\":\"HS256\"}", CLAIMS, secret);
  assert_int_equal(verdict_by(&rules, keys, &token), TRILHA_TOKEN_ISSUER);
  trilha_keys_free(keys);
}

static void weak_private_or_misplaced_keys_are_refused(void **state) {
  const scene *s = *state;
  EVP_PKEY *small = EVP_RSA_gen(1024);
  char small_pem[1024];
  public_pem(small, small_pem, sizeof small_pem);
  EVP_PKEY_free(small);
  const char *const texts[] = {
      small_pem,
      "",
      "rubbish",
      "{}",
      "{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}",
      "{\"keys\":[" OCT_JWK "]}",
      "{\"keys\":{}}",
      "{\"kty\":\"oct\",\"use\":\"enc\",\"k\":\"" SECRET "\"}",
      "{\"kty\":\"oct\",\"alg\":\"ES256\",\"k\":\"" SECRET "\"}",
      "{\"kty\":\"oct\",\"k\":\"" SECRET "\",\"k\":\"" SECRET "\"}",
      "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
      "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\",\"y\":"
      "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}",
      "{\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"AQ\",\"y\":\"AQ\"}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    trilha_keys *keys = NULL;
    trilha_error error = {0};
    assert_int_equal(trilha_keys_new(&keys, NULL), TRILHA_OK);
    if (trilha_keys_add(keys, trilha_text_of(texts[i]), "k", &error) == TRILHA_OK) fail_msg("taken: %s", texts[i]);
    assert_int_equal(trilha_keys_count(keys), 0);
    trilha_keys_free(keys);
  }
  trilha_keys *keys = NULL;
  trilha_error error = {0};
  assert_int_equal(trilha_keys_new(&keys, NULL), TRILHA_OK);
  assert_int_equal(trilha_keys_add_file(keys, s->ec_file, &error), TRILHA_INVALID);
  assert_string_equal(error.code, "KEY_PRIVATE");
  trilha_keys_free(keys);
}

static void a_set_passes_over_what_it_does_not_know_and_keeps_the_rest(void **state) {
  const scene *s = *state;
  unsigned char point[65];
  size_t size = 0;
  assert_int_equal(EVP_PKEY_get_octet_string_param(s->ec, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point, &size), 1);
  char x[48], y[48], jwks[1024];
  trilha_base64url(point + 1, 32, x);
  trilha_base64url(point + 33, 32, y);
  snprintf(jwks, sizeof jwks,
           "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQ\"},{\"kty\":\"RSA\",\"use\":\"enc\"},"
           "{\"kty\":\"EC\",\"crv\":\"P-384\"},{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k1\",\"x\":\"%s\",\"y\":\"%"
           "s\"}]}",
           x, y);
  trilha_keys *keys = keys_of(jwks, NULL);
  assert_int_equal(trilha_keys_count(keys), 1);
  trilha_token_claims claims = {
      TRILHA_TEXT("ana"), {NULL, 0}, TRILHA_TEXT("trilha"), TRILHA_TEXT("role"), TRILHA_TEXT("admin"), 0, NOW_S + 60};
  trilha_buffer token = es256(s, claims);
  assert_int_equal(verdict_by(&RULES, keys, &token), TRILHA_TOKEN_VALID);
  trilha_keys_free(keys);
}

static void more_keys_than_the_limit_are_refused(void **state) {
  (void)state;
  trilha_keys *keys = NULL;
  trilha_error error = {0};
  assert_int_equal(trilha_keys_new(&keys, NULL), TRILHA_OK);
  for (int i = 0; i < TRILHA_KEYS_MAX; i++)
    assert_int_equal(trilha_keys_add(keys, TRILHA_TEXT(OCT_JWK), "k", NULL), TRILHA_OK);
  assert_int_equal(trilha_keys_add(keys, TRILHA_TEXT(OCT_JWK), "k", &error), TRILHA_LIMIT);
  trilha_keys_free(keys);
}

static void a_shared_secret_that_others_may_read_is_refused(void **state) {
  const scene *s = *state;
  char path[128];
  snprintf(path, sizeof path, "%s/oct.json", s->folder);
  FILE *file = fopen(path, "w");
  fputs(OCT_JWK, file);
  fclose(file);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(chmod(path, round == 0 ? 0644 : 0600), 0);
    trilha_keys *keys = NULL;
    assert_int_equal(trilha_keys_new(&keys, NULL), TRILHA_OK);
    assert_int_equal(trilha_keys_add_file(keys, path, NULL), round == 0 ? TRILHA_DENIED : TRILHA_OK);
    trilha_keys_free(keys);
  }
  unlink(path);
  trilha_keys *keys = NULL;
  assert_int_equal(trilha_keys_new(&keys, NULL), TRILHA_OK);
  assert_int_equal(trilha_keys_add_file(keys, path, NULL), TRILHA_IO);
  assert_int_equal(trilha_keys_add_file(keys, s->folder, NULL), TRILHA_IO);
  trilha_keys_free(keys);
}

static void a_made_key_is_private_and_never_overwritten(void **state) {
  const scene *s = *state;
  struct stat about;
  assert_int_equal(stat(s->ec_file, &about), 0);
  assert_int_equal(about.st_mode & 0777, 0600);
  assert_int_equal(trilha_token_key_make(s->ec_file, NULL), TRILHA_IO);
}

/* What a token with this claim `tenant` (NULL: none) sees. */
static trilha_token_verdict seen_by(const char *tenant, trilha_token_identity *who) {
  trilha_keys *keys = keys_of(OCT_JWK, NULL);
  trilha_token_rules rules = RULES;
  char claims[256];
  rules.tenant_claim = TRILHA_TEXT("tenant");
  snprintf(claims, sizeof claims, "{\"sub\":\"ana\",\"aud\":\"trilha\",\"role\":\"admin\",\"exp\":1790000060%s%s}",
           tenant == NULL ? "" : ",\"tenant\":", tenant == NULL ? "" : tenant);
  trilha_buffer token = hs256("{\"alg\":\"HS256\"}", claims, TRILHA_TEXT("secret-secret-secret-secret-secret-!"));
  memset(who, 'x', sizeof *who); /* what stood there before must not count */
  trilha_token_verdict verdict = trilha_token_verify(keys, &rules, trilha_buffer_text(&token), NOW_S * 1000000, who);
  trilha_buffer_done(&token);
  trilha_keys_free(keys);
  return verdict;
}

static void a_token_is_for_the_tenants_that_its_claim_names_and_for_no_other(void **state) {
  trilha_token_identity who;
  (void)state;
  assert_int_equal(seen_by("\"acme\"", &who), TRILHA_TOKEN_VALID);
  assert_true(trilha_identity_sees(&who, TRILHA_TEXT("acme")) && who.tenant_count == 1 && !who.all_tenants);
  assert_false(trilha_identity_sees(&who, TRILHA_TEXT("acm")) || trilha_identity_sees(&who, TRILHA_TEXT("acme2")) ||
               trilha_identity_sees(&who, TRILHA_TEXT("")) || trilha_identity_sees(&who, (trilha_text){NULL, 0}));
  assert_int_equal(seen_by("[\"acme\", \"other\"]", &who), TRILHA_TOKEN_VALID);
  assert_true(trilha_identity_sees(&who, TRILHA_TEXT("other")) && trilha_identity_sees(&who, TRILHA_TEXT("acme")));
  assert_int_equal(seen_by("[\"acme\", \"*\"]", &who), TRILHA_TOKEN_VALID);
  assert_true(who.all_tenants && trilha_identity_sees(&who, TRILHA_TEXT("anybody")));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(seen_by(i == 0 ? NULL : "[]", &who), TRILHA_TOKEN_VALID);
    assert_true(who.tenant_count == 0 && !who.all_tenants && !trilha_identity_sees(&who, TRILHA_TEXT("acme")));
  }
}

static void a_claim_of_tenants_of_another_form_makes_no_token(void **state) {
  static const char *const wrong[] = {"\"\"",         "null",  "7", "true", "{}", "[7]", "[\"acme\", \"\"]",
                                      "[[\"acme\"]]", "[null]"};
  trilha_token_identity who;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal(seen_by(wrong[i], &who), TRILHA_TOKEN_MALFORMED);
}

static void without_a_configured_claim_a_token_is_for_all_tenants(void **state) {
  trilha_keys *keys = keys_of(OCT_JWK, NULL);
  trilha_token_identity who = {""};
  trilha_buffer token = hs256("{\"alg\":\"HS256\"}", CLAIMS, TRILHA_TEXT("secret-secret-secret-secret-secret-!"));
  (void)state;
  assert_int_equal(trilha_token_verify(keys, &RULES, trilha_buffer_text(&token), NOW_S * 1000000, &who),
                   TRILHA_TOKEN_VALID);
  assert_true(who.all_tenants);
  trilha_buffer_done(&token);
  trilha_keys_free(keys);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_algorithm_verifies_with_its_own_key),
      cmocka_unit_test(B27_a_token_never_chooses_how_it_is_verified),
      cmocka_unit_test(B27_keys_that_a_token_brings_along_are_never_used),
      cmocka_unit_test(a_kid_chooses_among_named_keys_and_is_only_compared),
      cmocka_unit_test(what_is_critical_or_of_another_type_is_refused),
      cmocka_unit_test(one_changed_byte_breaks_the_signature),
      cmocka_unit_test(a_token_seen_before_is_judged_anew),
      cmocka_unit_test(tokens_beyond_what_is_remembered_are_verified_anew),
      cmocka_unit_test(a_signature_has_one_spelling),
      cmocka_unit_test(claims_are_strict),
      cmocka_unit_test(issuer_and_the_place_of_the_role_are_configured),
      cmocka_unit_test(weak_private_or_misplaced_keys_are_refused),
      cmocka_unit_test(a_set_passes_over_what_it_does_not_know_and_keeps_the_rest),
      cmocka_unit_test(more_keys_than_the_limit_are_refused),
      cmocka_unit_test(a_shared_secret_that_others_may_read_is_refused),
      cmocka_unit_test(a_made_key_is_private_and_never_overwritten),
      cmocka_unit_test(a_token_is_for_the_tenants_that_its_claim_names_and_for_no_other),
      cmocka_unit_test(a_claim_of_tenants_of_another_form_makes_no_token),
      cmocka_unit_test(without_a_configured_claim_a_token_is_for_all_tenants),
  };
  return cmocka_run_group_tests_name("access token", tests, setup, teardown);
}
