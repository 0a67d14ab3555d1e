/* access: making a key and signing a token with it, for local development. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ecdsa.h>
#include <openssl/pem.h>
#include <unistd.h>

#include "access/token_internal.h"
#include "base/error.h"
#include "base/hash.h"
#include "json/json.h"

enum { HALF = 32, PATH_MOST = 4096 };

static trilha_status write_new(const char *path, mode_t mode, BIO *content, trilha_error *err) {
  char *data = NULL;
  long size = BIO_get_mem_data(content, &data);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return trilha_error_set_errno(err, TRILHA_IO, "KEY_FILE", errno, "cannot make %s", path);
  bool ok = size > 0 && write(fd, data, (size_t)size) == size && fsync(fd) == 0;
  int failed = errno;
  close(fd);
  if (ok) return TRILHA_OK;
  unlink(path);
  return trilha_error_set_errno(err, TRILHA_IO, "KEY_FILE", failed, "cannot write %s", path);
}

trilha_status trilha_token_key_make(const char *path, trilha_error *err) {
  char beside[PATH_MOST];
  if (strlen(path) + 5 > sizeof beside) return trilha_error_set(err, TRILHA_LIMIT, "KEY_FILE", "the path is too long");
  memcpy(beside, path, strlen(path));
  memcpy(beside + strlen(path), ".pub", 5);
  EVP_PKEY *key = EVP_EC_gen("P-256");
  BIO *secret = BIO_new(BIO_s_mem()), *open_part = BIO_new(BIO_s_mem());
  trilha_status status = TRILHA_OK;
  if (key == NULL || secret == NULL || open_part == NULL ||
      PEM_write_bio_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL) != 1 ||
      PEM_write_bio_PUBKEY(open_part, key) != 1)
    status = trilha_error_set(err, TRILHA_INTERNAL, "KEY_INVALID", "OpenSSL made no key");
  if (status == TRILHA_OK) status = write_new(path, 0600, secret, err);
  if (status == TRILHA_OK) status = write_new(beside, 0644, open_part, err);
  BIO_free(secret);
  BIO_free(open_part);
  EVP_PKEY_free(key);
  return status;
}

static void add_part(trilha_buffer *out, const void *data, size_t size) {
  if (!trilha_buffer_reserve(out, size * 4 / 3 + 8)) return;
  out->size += trilha_base64url(data, size, out->data + out->size);
}

static void add_claim(trilha_buffer *json, const char *name, trilha_text value) {
  if (value.data == NULL) return;
  if (json->size > 1) trilha_buffer_add_char(json, ',');
  trilha_json_write_string(json, trilha_text_of(name));
  trilha_buffer_add_char(json, ':');
  trilha_json_write_string(json, value);
}

static void add_tenants(trilha_buffer *json, const trilha_token_claims *c) {
  if (c->tenant_count == 0) return;
  trilha_buffer_add_string(json, ",\"tenant\":[");
  for (size_t i = 0; i < c->tenant_count; i++) {
    if (i > 0) trilha_buffer_add_char(json, ',');
    trilha_json_write_string(json, c->tenants[i]);
  }
  trilha_buffer_add_char(json, ']');
}

static void write_claims(const trilha_token_claims *c, trilha_buffer *json) {
  trilha_buffer_add_char(json, '{');
  add_claim(json, "sub", c->subject);
  add_claim(json, "iss", c->issuer);
  add_claim(json, "aud", c->audience);
  trilha_buffer_add_char(json, ',');
  trilha_json_write_string(json, c->role_claim);
  trilha_buffer_add_char(json, ':');
  trilha_json_write_string(json, c->role);
  add_tenants(json, c);
  trilha_buffer_add_format(json, ",\"iat\":%lld,\"exp\":%lld}", (long long)c->issued_s, (long long)c->expires_s);
}

/* r and s side by side, as JWS wants them. */
static bool sign(EVP_PKEY *key, trilha_text text, unsigned char out[2 * HALF]) {
  unsigned char der[128];
  size_t size = sizeof der;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool ok = context != NULL && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
            EVP_DigestSign(context, der, &size, (const unsigned char *)text.data, text.size) == 1;
  EVP_MD_CTX_free(context);
  const unsigned char *at = der;
  ECDSA_SIG *pair = ok ? d2i_ECDSA_SIG(NULL, &at, (long)size) : NULL;
  ok = pair != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, HALF) == HALF &&
       BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + HALF, HALF) == HALF;
  ECDSA_SIG_free(pair);
  return ok;
}

static EVP_PKEY *private_key(const char *path, trilha_error *err) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  bool is_private = false;
  if (trilha_key_file_read(path, &text, &is_private, err) != TRILHA_OK) return NULL;
  BIO *bio = BIO_new_mem_buf(text.data == NULL ? "" : text.data, (int)text.size);
  /* An empty password, so that OpenSSL never asks at the terminal for one. */
  char none[] = "";
  EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, NULL, none);
  BIO_free(bio);
  if (text.data != NULL) explicit_bzero(text.data, text.capacity);
  if (key != NULL && EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_bits(key) == 256) return key;
  EVP_PKEY_free(key);
  trilha_error_set(err, TRILHA_INVALID, "KEY_INVALID", "%s holds no private P-256 key in PEM without a password", path);
  return NULL;
}

trilha_status trilha_token_issue(const char *path, const trilha_token_claims *claims, trilha_buffer *out,
                                 trilha_error *err) {
  static const char header[] = "{\"alg\":\"ES256\",\"typ\":\"JWT\"}";
  EVP_PKEY *key = private_key(path, err);
  if (key == NULL) return err == NULL ? TRILHA_INVALID : err->status;
  TRILHA_BUFFER_SCOPED json;
  trilha_buffer_init(&json, 0);
  unsigned char signature[2 * HALF];
  size_t from = out->size;
  write_claims(claims, &json);
  add_part(out, header, sizeof header - 1);
  trilha_buffer_add_char(out, '.');
  trilha_text text = trilha_buffer_text(&json);
  add_part(out, text.data, text.size);
  trilha_status status = trilha_buffer_check(&json, err);
  if (status == TRILHA_OK) status = trilha_buffer_check(out, err);
  if (status == TRILHA_OK && !sign(key, (trilha_text){out->data + from, out->size - from}, signature))
    status = trilha_error_set(err, TRILHA_INTERNAL, "KEY_INVALID", "OpenSSL did not sign");
  if (status == TRILHA_OK) {
    trilha_buffer_add_char(out, '.');
    add_part(out, signature, sizeof signature);
    status = trilha_buffer_check(out, err);
  }
  EVP_PKEY_free(key);
  return status;
}
