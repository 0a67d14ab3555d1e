/* webhook/sign: the signatures of Standard Webhooks 1.0.0: HMAC-SHA-256 of "id.timestamp.body", one for each key, so
 * that a receiver which knows any of them is content. */
#include <stdlib.h>

#include "base/error.h"
#include "webhook/webhook_internal.h"

static const char prefix[] = "whsec_";

static trilha_status read_secret(const char *secret, trilha_hmac_key **ret_key, trilha_error *err) {
  unsigned char bytes[TRILHA_WEBHOOK_SECRET_BYTES_MAX + 4];
  size_t size = 0, skip = sizeof prefix - 1, length = strlen(secret);
  bool ok = strncmp(secret, prefix, skip) == 0 && (length - skip) * 3 / 4 + 1 <= sizeof bytes &&
            trilha_base64_decode((trilha_text){secret + skip, length - skip}, bytes, &size) &&
            size >= TRILHA_WEBHOOK_SECRET_BYTES_MIN && size <= TRILHA_WEBHOOK_SECRET_BYTES_MAX;
  if (ok) *ret_key = trilha_hmac_key_new((trilha_text){(const char *)bytes, size});
  explicit_bzero(bytes, sizeof bytes);
  if (!ok)
    return trilha_error_set(err, TRILHA_USAGE, "WEBHOOK_SECRET",
                            "a webhook's secret is whsec_ followed by %d to %d bytes in base64",
                            TRILHA_WEBHOOK_SECRET_BYTES_MIN, TRILHA_WEBHOOK_SECRET_BYTES_MAX);
  return *ret_key == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

trilha_status trilha_webhook_signer_init(trilha_webhook_signer *signer, const char *const *secrets, size_t count,
                                         trilha_error *err) {
  *signer = (trilha_webhook_signer){.count = 0};
  if (count > TRILHA_WEBHOOK_SECRETS_MAX)
    return trilha_error_set(err, TRILHA_USAGE, "WEBHOOK_SECRET", "a webhook has at most %d secrets",
                            TRILHA_WEBHOOK_SECRETS_MAX);
  for (; signer->count < count; signer->count++) {
    trilha_status status = read_secret(secrets[signer->count], &signer->keys[signer->count], err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

void trilha_webhook_signer_done(trilha_webhook_signer *signer) {
  for (size_t i = 0; i < signer->count; i++) trilha_hmac_key_free(signer->keys[i]);
}

/* The standard alphabet, padded: 32 bytes are 43 characters and one pad. */
static void add_base64(trilha_buffer *out, const unsigned char digest[TRILHA_SHA256_SIZE]) {
  char text[TRILHA_SHA256_SIZE * 4 / 3 + 3];
  size_t size = trilha_base64url(digest, TRILHA_SHA256_SIZE, text);
  for (size_t i = 0; i < size; i++) trilha_buffer_add_char(out, text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
  trilha_buffer_add_char(out, '=');
}

void trilha_webhook_sign(const trilha_webhook_signer *signer, trilha_text id, int64_t at_s, trilha_text body,
                         trilha_buffer *out) {
  TRILHA_BUFFER_SCOPED signed_text;
  trilha_buffer_init(&signed_text, 0);
  trilha_buffer_add_text(&signed_text, id);
  trilha_buffer_add_char(&signed_text, '.');
  trilha_buffer_add_i64(&signed_text, at_s);
  trilha_buffer_add_char(&signed_text, '.');
  trilha_buffer_add_text(&signed_text, body);
  if (signed_text.failed != TRILHA_OK) out->failed = signed_text.failed;
  for (size_t i = 0; i < signer->count && out->failed == TRILHA_OK; i++) {
    unsigned char digest[TRILHA_SHA256_SIZE];
    if (!trilha_hmac_key_sign(signer->keys[i], trilha_buffer_text(&signed_text), digest)) {
      out->failed = TRILHA_NO_MEMORY;
      return;
    }
    trilha_buffer_add_string(out, i == 0 ? "v1," : " v1,");
    add_base64(out, digest);
  }
}
