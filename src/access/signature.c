/* access/signature: what is signed, and whether it was. */
#include "access/signature.h"

#include <string.h>

#include "base/error.h"

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

trilha_status trilha_signer_init(trilha_signer *signer, const char *const *secrets, size_t count, trilha_error *err) {
  *signer = (trilha_signer){.count = 0};
  if (count > TRILHA_WEBHOOK_SECRETS_MAX)
    return trilha_error_set(err, TRILHA_USAGE, "WEBHOOK_SECRET", "a webhook has at most %d secrets",
                            TRILHA_WEBHOOK_SECRETS_MAX);
  for (; signer->count < count; signer->count++) {
    trilha_status status = read_secret(secrets[signer->count], &signer->keys[signer->count], err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

void trilha_signer_done(trilha_signer *signer) {
  for (size_t i = 0; i < signer->count; i++) trilha_hmac_key_free(signer->keys[i]);
}

/* The standard alphabet, padded: 32 bytes are 43 characters and one pad. */
static void add_base64(trilha_buffer *out, const unsigned char digest[TRILHA_SHA256_SIZE]) {
  char text[TRILHA_SHA256_SIZE * 4 / 3 + 3];
  size_t size = trilha_base64url(digest, TRILHA_SHA256_SIZE, text);
  for (size_t i = 0; i < size; i++) trilha_buffer_add_char(out, text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
  trilha_buffer_add_char(out, '=');
}

static void add_signed_text(trilha_buffer *out, trilha_text id, int64_t at_s, trilha_text body) {
  trilha_buffer_add_text(out, id);
  trilha_buffer_add_char(out, '.');
  trilha_buffer_add_i64(out, at_s);
  trilha_buffer_add_char(out, '.');
  trilha_buffer_add_text(out, body);
}

static void add_signature(trilha_buffer *out, const trilha_hmac_key *key, const trilha_buffer *signed_text) {
  unsigned char digest[TRILHA_SHA256_SIZE];
  if (signed_text->failed != TRILHA_OK || !trilha_hmac_key_sign(key, trilha_buffer_text(signed_text), digest)) {
    out->failed = TRILHA_NO_MEMORY;
    return;
  }
  trilha_buffer_add_string(out, "v1,");
  add_base64(out, digest);
}

void trilha_signer_sign(const trilha_signer *signer, trilha_text id, int64_t at_s, trilha_text body,
                        trilha_buffer *out) {
  TRILHA_BUFFER_SCOPED signed_text;
  trilha_buffer_init(&signed_text, 0);
  add_signed_text(&signed_text, id, at_s, body);
  for (size_t i = 0; i < signer->count && out->failed == TRILHA_OK; i++) {
    if (i > 0) trilha_buffer_add_char(out, ' ');
    add_signature(out, signer->keys[i], &signed_text);
  }
}

/* Every one is compared, whichever fits. */
static bool holds(trilha_text signatures, trilha_text wanted) {
  bool found = false;
  size_t at = 0;
  for (size_t n = 0; n < TRILHA_SIGNATURES_MAX && at < signatures.size; n++) {
    const char *from = signatures.data + at, *end = memchr(from, ' ', signatures.size - at);
    size_t size = end == NULL ? signatures.size - at : (size_t)(end - from);
    if (trilha_secret_equal((trilha_text){from, size}, wanted)) found = true;
    at += size + 1;
  }
  return found;
}

bool trilha_signer_verify(const trilha_signer *signer, trilha_text id, int64_t at_s, trilha_text body,
                          trilha_text signatures) {
  bool found = false;
  TRILHA_BUFFER_SCOPED signed_text, wanted;
  trilha_buffer_init(&signed_text, 0);
  trilha_buffer_init(&wanted, 0);
  add_signed_text(&signed_text, id, at_s, body);
  for (size_t i = 0; i < signer->count; i++) {
    trilha_buffer_clear(&wanted);
    add_signature(&wanted, signer->keys[i], &signed_text);
    if (wanted.failed == TRILHA_OK && holds(signatures, trilha_buffer_text(&wanted))) found = true;
  }
  return found;
}

static bool time_of(trilha_text text, int64_t *ret_s) {
  enum { DIGITS_MAX = 12 };
  *ret_s = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9' || i == DIGITS_MAX) return false;
    *ret_s = *ret_s * 10 + (text.data[i] - '0');
  }
  return text.size > 0 && text.data[0] != '0';
}

bool trilha_signer_accepts(const trilha_signer *signer, trilha_text id, trilha_text timestamp, trilha_text signatures,
                           trilha_text body, int64_t now_s) {
  int64_t at_s;
  if (id.size == 0 || id.size > TRILHA_SIGNATURE_ID_BYTES_MAX || !time_of(timestamp, &at_s)) return false;
  if (at_s < now_s - TRILHA_SIGNATURE_TOLERANCE_S || at_s > now_s + TRILHA_SIGNATURE_TOLERANCE_S) return false;
  return trilha_signer_verify(signer, id, at_s, body, signatures);
}

size_t trilha_signer_words(char *text, const char *words[TRILHA_WEBHOOK_SECRETS_MAX + 1]) {
  static const char blanks[] = " \t\r\n";
  char *rest = NULL;
  size_t count = 0;
  for (char *word = strtok_r(text, blanks, &rest); word != NULL && count <= TRILHA_WEBHOOK_SECRETS_MAX;
       word = strtok_r(NULL, blanks, &rest))
    words[count++] = word;
  return count;
}
