/* access: keys from PEM, JWK and JWKS. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/token_internal.h"
#include "base/error.h"
#include "base/hash.h"
#include "json/json.h"

enum { RSA_BITS_LEAST = 2048, RSA_BITS_MOST = 8192, EC_BYTES = 32, SECRET_LEAST = 32, NUMBER_MOST = 1024 + 8 };

trilha_status trilha_keys_new(trilha_keys **ret_keys, trilha_error *err) {
  trilha_keys *keys = calloc(1, sizeof *keys);
  if (keys != NULL) keys->verified = calloc(1, sizeof *keys->verified);
  if (keys == NULL || keys->verified == NULL) {
    free(keys);
    return trilha_error_no_memory(err);
  }
  pthread_mutex_init(&keys->verified->mutex, NULL);
  *ret_keys = keys;
  return TRILHA_OK;
}

static void key_done(trilha_key *key) {
  EVP_PKEY_free(key->public_key);
  if (key->secret != NULL) OPENSSL_cleanse(key->secret, key->secret_size);
  free(key->secret);
  free(key->kid);
}

void trilha_keys_free(trilha_keys *keys) {
  if (keys == NULL) return;
  for (size_t i = 0; i < keys->count; i++) key_done(&keys->items[i]);
  pthread_mutex_destroy(&keys->verified->mutex);
  free(keys->verified);
  free(keys);
}

size_t trilha_keys_count(const trilha_keys *keys) {
  return keys->count;
}

static trilha_status invalid(trilha_error *err, const char *name, const char *why) {
  return trilha_error_set(err, TRILHA_INVALID, "KEY_INVALID", "%s: %s", name, why);
}

/* Takes what the key holds, also on failure. */
static trilha_status add(trilha_keys *keys, trilha_key *take_key, const char *name, trilha_error *err) {
  if (keys->count == TRILHA_KEYS_MAX) {
    key_done(take_key);
    return trilha_error_set(err, TRILHA_LIMIT, "KEYS_TOO_MANY", "%s: more than %d keys", name, TRILHA_KEYS_MAX);
  }
  keys->items[keys->count++] = *take_key;
  return TRILHA_OK;
}

/* What the key's own type may verify; 0 with an error for a type or size that serves nothing here. */
static trilha_status judge(trilha_key *key, const char *name, trilha_error *err) {
  if (EVP_PKEY_is_a(key->public_key, "RSA")) {
    int bits = EVP_PKEY_get_bits(key->public_key);
    if (bits < RSA_BITS_LEAST || bits > RSA_BITS_MOST)
      return trilha_error_set(err, TRILHA_INVALID, "KEY_WEAK", "%s: an RSA key has %d to %d bits, not %d", name,
                              RSA_BITS_LEAST, RSA_BITS_MOST, bits);
    key->algorithms &= TRILHA_ALGORITHM_RS256 | TRILHA_ALGORITHM_PS256;
    return TRILHA_OK;
  }
  char group[64] = "";
  size_t size = 0;
  if (EVP_PKEY_is_a(key->public_key, "EC") &&
      EVP_PKEY_get_group_name(key->public_key, group, sizeof group, &size) == 1 && strcmp(group, "prime256v1") == 0) {
    key->algorithms &= TRILHA_ALGORITHM_ES256;
    return TRILHA_OK;
  }
  return invalid(err, name, "a key is RSA or on the curve P-256");
}

/* --- PEM ------------------------------------------------------------------------------------------------------- */

static trilha_status add_pem(trilha_keys *keys, trilha_text text, const char *name, trilha_error *err) {
  if (memmem(text.data, text.size, "PRIVATE KEY-----", 16) != NULL)
    return trilha_error_set(err, TRILHA_INVALID, "KEY_PRIVATE",
                            "%s holds a private key; verifying needs the public one: openssl pkey -pubout", name);
  BIO *bio = BIO_new_mem_buf(text.data, (int)text.size);
  if (bio == NULL) return trilha_error_no_memory(err);
  trilha_status status = TRILHA_OK;
  size_t found = 0;
  while (status == TRILHA_OK) {
    trilha_key key = {.algorithms = ~0u, .public_key = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL)};
    if (key.public_key == NULL) break;
    found++;
    status = judge(&key, name, err);
    if (status == TRILHA_OK)
      status = add(keys, &key, name, err);
    else
      key_done(&key);
  }
  BIO_free(bio);
  if (status == TRILHA_OK && found == 0) status = invalid(err, name, "no PEM public key, JWK or JWKS is in it");
  return status;
}

/* --- JWK ------------------------------------------------------------------------------------------------------- */

bool trilha_base64url_strict(trilha_text text, unsigned char *out, size_t room, size_t *ret_size) {
  if (text.size % 4 == 1 || text.size / 4 * 3 + 3 > room) return false;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
      return false;
  }
  if (!trilha_base64_decode(text, out, ret_size)) return false;
  /* Bits of the last character that belong to no byte must be zero, or one signature would have several spellings. */
  char again[8];
  size_t tail = *ret_size % 3;
  if (tail == 0) return true;
  size_t size = trilha_base64url(out + *ret_size - tail, tail, again);
  return memcmp(again, text.data + text.size - size, size) == 0;
}

static bool number_of(const trilha_json_value *jwk, const char *member, unsigned char *out, size_t *ret_size) {
  trilha_text text = trilha_json_member_string(jwk, member);
  return text.size > 0 && trilha_base64url_strict(text, out, NUMBER_MOST, ret_size) && *ret_size > 0;
}

static EVP_PKEY *from_parameters(const char *type, OSSL_PARAM_BLD *build) {
  EVP_PKEY *made = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(build);
  if (context == NULL || parameters == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
      EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, parameters) != 1) {
    EVP_PKEY_free(made);
    made = NULL;
  }
  OSSL_PARAM_free(parameters);
  EVP_PKEY_CTX_free(context);
  /* A point that is not on its curve would be an oracle. */
  EVP_PKEY_CTX *check = made == NULL ? NULL : EVP_PKEY_CTX_new_from_pkey(NULL, made, NULL);
  if (made != NULL && (check == NULL || EVP_PKEY_public_check(check) != 1)) {
    EVP_PKEY_free(made);
    made = NULL;
  }
  EVP_PKEY_CTX_free(check);
  return made;
}

static EVP_PKEY *rsa_of(const trilha_json_value *jwk) {
  unsigned char n[NUMBER_MOST], e[NUMBER_MOST];
  size_t n_size, e_size;
  if (!number_of(jwk, "n", n, &n_size) || !number_of(jwk, "e", e, &e_size)) return NULL;
  BIGNUM *modulus = BN_bin2bn(n, (int)n_size, NULL), *exponent = BN_bin2bn(e, (int)e_size, NULL);
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  EVP_PKEY *made = NULL;
  if (modulus != NULL && exponent != NULL && build != NULL && BN_num_bits(exponent) <= 64 &&
      BN_num_bits(modulus) <= RSA_BITS_MOST && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
      OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
    made = from_parameters("RSA", build);
  OSSL_PARAM_BLD_free(build);
  BN_free(modulus);
  BN_free(exponent);
  return made;
}

static EVP_PKEY *ec_of(const trilha_json_value *jwk) {
  unsigned char point[1 + 2 * NUMBER_MOST], y[NUMBER_MOST];
  size_t x_size, y_size;
  if (!trilha_json_is(trilha_json_member(jwk, "crv"), "P-256") || !number_of(jwk, "x", point + 1, &x_size) ||
      !number_of(jwk, "y", y, &y_size) || x_size != EC_BYTES || y_size != EC_BYTES)
    return NULL;
  point[0] = 4; /* uncompressed */
  memcpy(point + 1 + EC_BYTES, y, EC_BYTES);
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  EVP_PKEY *made = NULL;
  if (build != NULL && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1 &&
      OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * EC_BYTES) == 1)
    made = from_parameters("EC", build);
  OSSL_PARAM_BLD_free(build);
  return made;
}

static trilha_status secret_of(const trilha_json_value *jwk, trilha_key *key, const char *name, trilha_error *err) {
  trilha_text text = trilha_json_member_string(jwk, "k");
  size_t room = text.size / 4 * 3 + 3;
  key->secret = malloc(room);
  if (key->secret == NULL) return trilha_error_no_memory(err);
  if (!trilha_base64url_strict(text, key->secret, room, &key->secret_size)) {
    key->secret_size = 0;
    return invalid(err, name, "k is not base64url");
  }
  key->algorithms &= TRILHA_ALGORITHM_HS256;
  if (key->secret_size < SECRET_LEAST)
    return trilha_error_set(err, TRILHA_INVALID, "KEY_WEAK", "%s: a shared secret has at least %d bytes", name,
                            SECRET_LEAST);
  return TRILHA_OK;
}

/* Whether the key says of itself that it verifies signatures, or says nothing. */
static bool is_for_signatures(const trilha_json_value *jwk) {
  const trilha_json_value *use = trilha_json_member(jwk, "use"), *operations = trilha_json_member(jwk, "key_ops");
  if (use != NULL && !trilha_json_is(use, "sig")) return false;
  if (operations == NULL) return true;
  if (operations->type != TRILHA_JSON_ARRAY) return false;
  const trilha_json_value *item = operations + 1;
  for (size_t i = 0; i < operations->size; i++, item = trilha_json_next(item))
    if (trilha_json_is(item, "verify")) return true;
  return false;
}

static trilha_status fill(const trilha_json_value *jwk, bool in_set, trilha_key *key, const char *name,
                          trilha_error *err) {
  trilha_text type = trilha_json_member_string(jwk, "kty"), kid = trilha_json_member_string(jwk, "kid");
  const trilha_json_value *algorithm = trilha_json_member(jwk, "alg");
  if (algorithm != NULL)
    key->algorithms = algorithm->type == TRILHA_JSON_STRING ? trilha_algorithm_of(trilha_json_text(algorithm)) : 0;
  if (kid.data != NULL && (key->kid = strndup(kid.data, kid.size)) == NULL) return trilha_error_no_memory(err);
  if (kid.data != NULL && strlen(key->kid) != kid.size) return invalid(err, name, "kid holds U+0000");
  if (trilha_text_is(type, "oct")) {
    if (in_set) return invalid(err, name, "a set of keys never holds a shared secret (kty oct)");
    return secret_of(jwk, key, name, err);
  }
  if (trilha_json_member(jwk, "d") != NULL)
    return trilha_error_set(err, TRILHA_INVALID, "KEY_PRIVATE", "%s holds a private key (d); take it out", name);
  key->public_key = trilha_text_is(type, "RSA") ? rsa_of(jwk) : ec_of(jwk);
  return key->public_key == NULL ? invalid(err, name, "not a sound RSA or P-256 key") : judge(key, name, err);
}

static trilha_status add_jwk(trilha_keys *keys, const trilha_json_value *jwk, bool in_set, const char *name,
                             trilha_error *err) {
  trilha_text type = trilha_json_member_string(jwk, "kty");
  bool known = trilha_text_is(type, "RSA") || trilha_text_is(type, "EC") || trilha_text_is(type, "oct");
  bool other_curve = trilha_text_is(type, "EC") && !trilha_json_is(trilha_json_member(jwk, "crv"), "P-256");
  if (in_set && jwk->type == TRILHA_JSON_OBJECT && (!known || other_curve || !is_for_signatures(jwk))) return TRILHA_OK;
  if (!known || !is_for_signatures(jwk)) return invalid(err, name, "not a key that verifies signatures");
  trilha_key key = {.algorithms = ~0u};
  trilha_status status = fill(jwk, in_set, &key, name, err);
  if (status == TRILHA_OK && key.algorithms == 0) {
    key_done(&key);
    return in_set ? TRILHA_OK : invalid(err, name, "its alg is none of HS256, RS256, PS256 and ES256");
  }
  if (status == TRILHA_OK) return add(keys, &key, name, err);
  key_done(&key);
  return status;
}

static trilha_status add_json(trilha_keys *keys, trilha_text text, bool set_only, const char *name, trilha_error *err) {
  trilha_json_document *document = NULL;
  trilha_json_limits limits = {TRILHA_KEY_FILE_MAX, 16, 32};
  trilha_status status = trilha_json_parse(text, &limits, &document, NULL, err);
  if (status == TRILHA_OK) status = trilha_json_check_storable(document, text, NULL, err);
  if (status == TRILHA_OK) {
    const trilha_json_value *set = trilha_json_member(document->values, "keys");
    if (set == NULL && set_only) {
      status = invalid(err, name, "not a set of keys (JWKS)");
    } else if (set == NULL) {
      status = add_jwk(keys, document->values, false, name, err);
    } else if (set->type != TRILHA_JSON_ARRAY) {
      status = invalid(err, name, "keys is not an array");
    } else {
      const trilha_json_value *item = set + 1;
      for (size_t i = 0; status == TRILHA_OK && i < set->size; i++, item = trilha_json_next(item))
        status = add_jwk(keys, item, true, name, err);
    }
  }
  if (document != NULL) trilha_json_document_free(document);
  if (status != TRILHA_OK) trilha_error_while(err, "reading the keys of %s", name);
  return status;
}

trilha_status trilha_keys_add(trilha_keys *keys, trilha_text text, const char *name, trilha_error *err) {
  size_t at = 0;
  while (at < text.size && memchr(" \t\r\n", text.data[at], 4) != NULL) at++;
  if (text.size > TRILHA_KEY_FILE_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "KEY_FILE_TOO_LARGE", "%s has more than %d bytes", name,
                            TRILHA_KEY_FILE_MAX);
  if (at < text.size && text.data[at] == '{') return add_json(keys, text, false, name, err);
  return add_pem(keys, text.size == 0 ? TRILHA_TEXT("") : text, name, err);
}

trilha_status trilha_keys_add_set(trilha_keys *keys, trilha_text text, const char *name, trilha_error *err) {
  return add_json(keys, text, true, name, err);
}

trilha_status trilha_key_file_read(const char *path, trilha_buffer *ret_text, bool *ret_private, trilha_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  struct stat about;
  if (fd < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    trilha_status status = fd >= 0 && errno == 0
                               ? trilha_error_set(err, TRILHA_IO, "KEY_FILE", "%s is no regular file", path)
                               : trilha_error_set_errno(err, TRILHA_IO, "KEY_FILE", errno, "cannot open %s", path);
    if (fd >= 0) close(fd);
    return status;
  }
  *ret_private = (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  ssize_t n = 1;
  while (n > 0 && ret_text->size <= TRILHA_KEY_FILE_MAX && trilha_buffer_reserve(ret_text, 4096)) {
    n = read(fd, ret_text->data + ret_text->size, 4096);
    if (n > 0) ret_text->size += (size_t)n;
  }
  int failed = errno;
  close(fd);
  if (n < 0) return trilha_error_set_errno(err, TRILHA_IO, "KEY_FILE", failed, "cannot read %s", path);
  return trilha_buffer_check(ret_text, err);
}

trilha_status trilha_keys_add_file(trilha_keys *keys, const char *path, trilha_error *err) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  bool is_private = false;
  size_t before = keys->count;
  trilha_status status = trilha_key_file_read(path, &text, &is_private, err);
  if (status == TRILHA_OK) status = trilha_keys_add(keys, trilha_buffer_text(&text), path, err);
  if (text.data != NULL) OPENSSL_cleanse(text.data, text.capacity);
  for (size_t i = before; status == TRILHA_OK && i < keys->count; i++)
    if (keys->items[i].secret != NULL && !is_private)
      status = trilha_error_set(err, TRILHA_DENIED, "KEY_FILE_OPEN_TO_OTHERS",
                                "%s holds a shared secret and others may read it: chmod 600 %s", path, path);
  return status;
}
