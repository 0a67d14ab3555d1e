/* access: verifying a token, from the outside in: form, algorithm, key, signature, then claims. */
#include "access/token.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "access/token_internal.h"
#include "base/hash.h"
#include "json/json.h"

enum { SIGNATURE_MOST = 1024 + 8, ES256_SIZE = 64, HEADER_MOST = 2048 };

unsigned trilha_algorithm_of(trilha_text name) {
  if (trilha_text_is(name, "HS256")) return TRILHA_ALGORITHM_HS256;
  if (trilha_text_is(name, "RS256")) return TRILHA_ALGORITHM_RS256;
  if (trilha_text_is(name, "PS256")) return TRILHA_ALGORITHM_PS256;
  if (trilha_text_is(name, "ES256")) return TRILHA_ALGORITHM_ES256;
  return 0;
}

const char *trilha_token_verdict_name(trilha_token_verdict verdict) {
  static const char *const names[] = {"valid",   "malformed", "algorithm", "key",      "signature",
                                      "expired", "early",     "issuer",    "audience", "role"};
  return (size_t)verdict < sizeof names / sizeof names[0] ? names[verdict] : "?";
}

/* --- signatures --------------------------------------------------------------------------------------------------- */

/* JWS has r and s side by side, OpenSSL wants them in DER. */
static bool es256_to_der(const unsigned char *signature, unsigned char *out, size_t room, size_t *ret_size) {
  ECDSA_SIG *pair = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(signature, ES256_SIZE / 2, NULL),
         *s = BN_bin2bn(signature + ES256_SIZE / 2, ES256_SIZE / 2, NULL);
  if (pair == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(pair, r, s) != 1) {
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    return false;
  }
  int size = i2d_ECDSA_SIG(pair, NULL);
  bool fits = size > 0 && (size_t)size <= room;
  if (fits) size = i2d_ECDSA_SIG(pair, &out);
  ECDSA_SIG_free(pair);
  *ret_size = (size_t)size;
  return fits;
}

static bool public_verifies(const trilha_key *key, unsigned algorithm, trilha_text signed_part,
                            const unsigned char *signature, size_t size) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  EVP_PKEY_CTX *inner = NULL;
  bool ok = context != NULL && EVP_DigestVerifyInit(context, &inner, EVP_sha256(), NULL, key->public_key) == 1;
  if (ok && algorithm == TRILHA_ALGORITHM_RS256) ok = EVP_PKEY_CTX_set_rsa_padding(inner, RSA_PKCS1_PADDING) == 1;
  if (ok && algorithm == TRILHA_ALGORITHM_PS256)
    ok = EVP_PKEY_CTX_set_rsa_padding(inner, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(inner, RSA_PSS_SALTLEN_DIGEST) == 1 &&
         EVP_PKEY_CTX_set_rsa_mgf1_md(inner, EVP_sha256()) == 1;
  ok = ok && EVP_DigestVerify(context, signature, size, (const unsigned char *)signed_part.data, signed_part.size) == 1;
  EVP_MD_CTX_free(context);
  ERR_clear_error(); /* a wrong signature leaves its reasons in this thread's queue */
  return ok;
}

bool trilha_key_verifies(const trilha_key *key, unsigned algorithm, trilha_text signed_part,
                         const unsigned char *signature, size_t size) {
  if ((key->algorithms & algorithm) == 0) return false;
  if (algorithm == TRILHA_ALGORITHM_HS256) {
    unsigned char mac[TRILHA_SHA256_SIZE];
    trilha_text secret = {(const char *)key->secret, key->secret_size};
    return key->secret != NULL && trilha_hmac_sha256(secret, signed_part, mac) &&
           trilha_secret_equal((trilha_text){(const char *)mac, sizeof mac},
                               (trilha_text){(const char *)signature, size});
  }
  if (key->public_key == NULL) return false;
  if (algorithm != TRILHA_ALGORITHM_ES256) return public_verifies(key, algorithm, signed_part, signature, size);
  unsigned char der[ES256_SIZE + 16];
  size_t der_size;
  return size == ES256_SIZE && es256_to_der(signature, der, sizeof der, &der_size) &&
         public_verifies(key, algorithm, signed_part, der, der_size);
}

/* --- the three parts ------------------------------------------------------------------------------------------------
 */

typedef struct parts {
  trilha_text header, claims, signature, signed_part;
} parts;

static bool split(trilha_text token, parts *p) {
  const char *first = token.size == 0 ? NULL : memchr(token.data, '.', token.size);
  if (first == NULL) return false;
  size_t header = (size_t)(first - token.data), left = token.size - header - 1;
  const char *second = memchr(first + 1, '.', left);
  if (second == NULL) return false;
  size_t claims = (size_t)(second - first) - 1;
  *p = (parts){.header = {token.data, header},
               .claims = {first + 1, claims},
               .signature = {second + 1, left - claims - 1},
               .signed_part = {token.data, header + 1 + claims}};
  return memchr(second + 1, '.', p->signature.size) == NULL;
}

/* A part as a JSON object in which no name stands twice: two readers of it must not see two tokens. */
static trilha_json_document *object_of(trilha_text part) {
  unsigned char bytes[TRILHA_TOKEN_BYTES_MAX];
  size_t size;
  trilha_json_document *document = NULL;
  trilha_json_limits limits = {TRILHA_TOKEN_BYTES_MAX, 32, 32};
  if (!trilha_base64url_strict(part, bytes, sizeof bytes, &size)) return NULL;
  trilha_text json = {(const char *)bytes, size};
  if (trilha_json_parse(json, &limits, &document, NULL, NULL) != TRILHA_OK) return NULL;
  if (document->values->type == TRILHA_JSON_OBJECT &&
      trilha_json_check_storable(document, json, NULL, NULL) == TRILHA_OK)
    return document;
  trilha_json_document_free(document);
  return NULL;
}

static bool type_is_fine(const trilha_json_value *type) {
  static const char *const names[] = {"JWT", "jwt", "at+jwt", "application/at+jwt"};
  for (size_t i = 0; type != NULL && i < sizeof names / sizeof names[0]; i++)
    if (trilha_json_is(type, names[i])) return true;
  return type == NULL;
}

static trilha_token_verdict signature_verdict(const trilha_keys *keys, const trilha_json_value *header,
                                              unsigned allowed, const parts *p) {
  const trilha_json_value *kid = trilha_json_member(header, "kid");
  if (trilha_json_member(header, "crit") != NULL || !type_is_fine(trilha_json_member(header, "typ")) ||
      (kid != NULL && kid->type != TRILHA_JSON_STRING))
    return TRILHA_TOKEN_MALFORMED;
  unsigned algorithm = trilha_algorithm_of(trilha_json_member_string(header, "alg"));
  if ((algorithm & allowed) == 0) return TRILHA_TOKEN_ALGORITHM;
  unsigned char signature[SIGNATURE_MOST];
  size_t size;
  if (!trilha_base64url_strict(p->signature, signature, sizeof signature, &size) || size == 0)
    return TRILHA_TOKEN_MALFORMED;
  unsigned char whole[TRILHA_SHA256_SIZE];
  trilha_sha256((trilha_text){p->signed_part.data, p->signed_part.size + 1 + p->signature.size}, whole);
  if (trilha_verified_holds(keys->verified, whole)) return TRILHA_TOKEN_VALID;
  bool tried = false;
  for (size_t i = 0; i < keys->count; i++) {
    const trilha_key *key = &keys->items[i];
    bool named = kid == NULL || key->kid == NULL || trilha_json_is(kid, key->kid);
    if (!named || (key->algorithms & algorithm) == 0) continue;
    tried = true;
    if (!trilha_key_verifies(key, algorithm, p->signed_part, signature, size)) continue;
    trilha_verified_add(keys->verified, whole);
    return TRILHA_TOKEN_VALID;
  }
  return tried ? TRILHA_TOKEN_SIGNATURE : TRILHA_TOKEN_KEY;
}

/* --- claims ---------------------------------------------------------------------------------------------------------
 */

/* Seconds since 1970 as digits, a fraction allowed and dropped; nothing else is a time. */
static bool seconds_of(const trilha_json_value *value, int64_t *ret_s) {
  if (value == NULL || value->type != TRILHA_JSON_NUMBER || value->size > 32) return false;
  trilha_text text = trilha_json_text(value);
  int64_t s = 0;
  size_t i = 0;
  for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
    if (i >= 12) return false;
    s = s * 10 + (text.data[i] - '0');
  }
  if (i == 0 || (i < text.size && text.data[i] != '.')) return false;
  for (size_t j = i + 1; j < text.size; j++)
    if (text.data[j] < '0' || text.data[j] > '9') return false;
  *ret_s = s;
  return true;
}

static trilha_token_verdict time_verdict(const trilha_json_value *claims, int64_t now_s, int64_t skew_s) {
  int64_t expires, from, issued;
  const trilha_json_value *nbf = trilha_json_member(claims, "nbf"), *iat = trilha_json_member(claims, "iat");
  if (!seconds_of(trilha_json_member(claims, "exp"), &expires)) return TRILHA_TOKEN_MALFORMED;
  if ((nbf != NULL && !seconds_of(nbf, &from)) || (iat != NULL && !seconds_of(iat, &issued)))
    return TRILHA_TOKEN_MALFORMED;
  if (now_s >= expires + skew_s) return TRILHA_TOKEN_EXPIRED;
  return nbf != NULL && now_s + skew_s < from ? TRILHA_TOKEN_EARLY : TRILHA_TOKEN_VALID;
}

/* A string that is the wanted one, or an array that holds it. */
static bool says(const trilha_json_value *value, trilha_text wanted) {
  if (value == NULL) return false;
  if (value->type == TRILHA_JSON_STRING) return trilha_text_equal(trilha_json_text(value), wanted);
  if (value->type != TRILHA_JSON_ARRAY) return false;
  const trilha_json_value *item = value + 1;
  for (size_t i = 0; i < value->size; i++, item = trilha_json_next(item))
    if (item->type == TRILHA_JSON_STRING && trilha_text_equal(trilha_json_text(item), wanted)) return true;
  return false;
}

/* By name, or by a JSON Pointer. */
static const trilha_json_value *claim_of(const trilha_json_value *claims, trilha_text name) {
  return name.size > 0 && name.data[0] == '/' ? trilha_json_pointer_find(claims, name)
                                              : trilha_json_member_text(claims, name);
}

static trilha_token_verdict claims_verdict(const trilha_json_value *claims, const trilha_token_rules *rules,
                                           int64_t now_us) {
  trilha_token_verdict verdict = time_verdict(claims, now_us / 1000000, rules->skew_s);
  if (verdict != TRILHA_TOKEN_VALID) return verdict;
  const trilha_json_value *issuer = trilha_json_member(claims, "iss");
  if (rules->issuer.data != NULL && (issuer == NULL || issuer->type != TRILHA_JSON_STRING ||
                                     !trilha_text_equal(trilha_json_text(issuer), rules->issuer)))
    return TRILHA_TOKEN_ISSUER;
  if (!says(trilha_json_member(claims, "aud"), rules->audience)) return TRILHA_TOKEN_AUDIENCE;
  return says(claim_of(claims, rules->role_claim), rules->role) ? TRILHA_TOKEN_VALID : TRILHA_TOKEN_ROLE;
}

static void identify(const trilha_json_value *claims, trilha_token_identity *identity) {
  trilha_text subject = trilha_json_member_string(claims, "sub");
  if (subject.size == 0) subject = TRILHA_TEXT("unknown");
  size_t size = subject.size > TRILHA_SUBJECT_MAX ? TRILHA_SUBJECT_MAX : subject.size;
  size = trilha_utf8_boundary(subject.data, size);
  memcpy(identity->subject, subject.data, size);
  identity->subject[size] = '\0';
}

/* False: no string, an empty one, or too many. */
static bool add_tenant(const trilha_json_value *value, trilha_token_identity *identity, size_t *used) {
  if (value->type != TRILHA_JSON_STRING || value->size == 0) return false;
  if (trilha_json_is(value, "*")) identity->all_tenants = true;
  if (value->size >= sizeof identity->tenants - *used) return false;
  memcpy(identity->tenants + *used, value->u.text, value->size);
  *used += value->size;
  identity->tenants[(*used)++] = '\0';
  identity->tenant_count++;
  return true;
}

/* A claim that is not there is for no tenant; one of another form is no token of ours. */
static bool take_tenants(const trilha_json_value *claims, const trilha_token_rules *rules,
                         trilha_token_identity *identity) {
  size_t used = 0;
  identity->all_tenants = rules->tenant_claim.data == NULL;
  identity->tenant_count = 0;
  const trilha_json_value *value = identity->all_tenants ? NULL : claim_of(claims, rules->tenant_claim);
  if (value == NULL) return true;
  if (value->type != TRILHA_JSON_ARRAY) return add_tenant(value, identity, &used);
  const trilha_json_value *item = value + 1;
  for (size_t i = 0; i < value->size; i++, item = trilha_json_next(item))
    if (!add_tenant(item, identity, &used)) return false;
  return true;
}

bool trilha_identity_sees(const trilha_token_identity *identity, trilha_text tenant) {
  const char *at = identity->tenants;
  if (identity->all_tenants) return true;
  for (size_t i = 0; i < identity->tenant_count; i++, at += strlen(at) + 1)
    if (trilha_text_is(tenant, at)) return true;
  return false;
}

trilha_token_verdict trilha_token_verify(const trilha_keys *keys, const trilha_token_rules *rules, trilha_text token,
                                         int64_t now_us, trilha_token_identity *ret_identity) {
  parts p;
  if (token.size > TRILHA_TOKEN_BYTES_MAX || !split(token, &p) || p.header.size > HEADER_MOST)
    return TRILHA_TOKEN_MALFORMED;
  trilha_json_document *header = object_of(p.header);
  if (header == NULL) return TRILHA_TOKEN_MALFORMED;
  trilha_token_verdict verdict = signature_verdict(keys, header->values, rules->algorithms, &p);
  trilha_json_document_free(header);
  if (verdict != TRILHA_TOKEN_VALID) return verdict;
  trilha_json_document *claims = object_of(p.claims);
  if (claims == NULL) return TRILHA_TOKEN_MALFORMED;
  verdict = claims_verdict(claims->values, rules, now_us);
  if (verdict == TRILHA_TOKEN_VALID && !take_tenants(claims->values, rules, ret_identity))
    verdict = TRILHA_TOKEN_MALFORMED;
  if (verdict == TRILHA_TOKEN_VALID) identify(claims->values, ret_identity);
  trilha_json_document_free(claims);
  return verdict;
}
