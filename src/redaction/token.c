/* redaction: the token that stands for a hashed leaf, "h1:<kid>:<22 base64url>". What goes into the MAC is fixed by
 * docs/adr on the hash pointer and docs/redaction.md: changing it breaks the equality of old and new tokens, so it
 * takes a new prefix (h2). */
#include "base/assert.h"
#include "base/error.h"
#include "json/number.h"
#include "redaction/redaction_internal.h"

static bool base64url_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool trilha_token_is(trilha_text text) {
  if (text.size < 3 + 1 + 1 + TRILHA_TOKEN_DIGITS || memcmp(text.data, "h1:", 3) != 0) return false;
  size_t kid_size = text.size - 3 - 1 - TRILHA_TOKEN_DIGITS;
  if (!trilha_kid_valid((trilha_text){text.data + 3, kid_size}) || text.data[3 + kid_size] != ':') return false;
  for (size_t i = text.size - TRILHA_TOKEN_DIGITS; i < text.size; i++)
    if (!base64url_character(text.data[i])) return false;
  return true;
}

void trilha_token_work_init(trilha_token_work *work, trilha_text tipo) {
  *work = (trilha_token_work){0};
  trilha_buffer_add_string(&work->message, "trilha");
  trilha_buffer_add_char(&work->message, '\0');
  trilha_buffer_add_text(&work->message, tipo);
  trilha_buffer_add_char(&work->message, '\0');
  work->prefix_size = work->message.size;
}

void trilha_token_work_done(trilha_token_work *work) {
  trilha_keyring_wipe(&work->message); /* it held clear text */
  trilha_keyring_wipe(&work->points);
}

/* Unicode property White_Space. */
static bool white_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static trilha_text trim(trilha_text text) {
  for (size_t at = 0; at < text.size;) {
    if (!white_space(trilha_utf8_next(text.data, text.size, &at))) break;
    text.data += at;
    text.size -= at;
    at = 0;
  }
  while (text.size != 0) {
    size_t last = text.size - 1;
    while (last != 0 && ((unsigned char)text.data[last] & 0xC0) == 0x80) last--;
    size_t at = last;
    if (!white_space(trilha_utf8_next(text.data, text.size, &at))) break;
    text.size = last;
  }
  return text;
}

static trilha_status add_string(trilha_token_work *work, const trilha_json_value *leaf, trilha_error *err) {
  trilha_text text = trim(trilha_json_text(leaf));
  /* White space is never made or unmade inside a text by NFC, only U+2000 and U+2001 become other white space, so that
   * trimming before is trimming after. */
  if ((leaf->flags & TRILHA_JSON_ASCII) == 0 && !trilha_nfc_is_certain(text))
    return trilha_nfc_append(text, &work->points, &work->message, err);
  trilha_buffer_add_text(&work->message, text);
  return TRILHA_OK;
}

static trilha_status add_leaf(trilha_token_work *work, const trilha_json_value *leaf, trilha_error *err) {
  switch ((trilha_json_type)leaf->type) {
    case TRILHA_JSON_NULL:
      trilha_buffer_add_string(&work->message, "null");
      return TRILHA_OK;
    case TRILHA_JSON_FALSE:
      trilha_buffer_add_string(&work->message, "false");
      return TRILHA_OK;
    case TRILHA_JSON_TRUE:
      trilha_buffer_add_string(&work->message, "true");
      return TRILHA_OK;
    case TRILHA_JSON_NUMBER:
      return trilha_number_write_canonical(&work->message, trilha_json_text(leaf), err);
    case TRILHA_JSON_STRING:
      return add_string(work, leaf, err);
    case TRILHA_JSON_ARRAY:
    case TRILHA_JSON_OBJECT:
      break;
  }
  TRILHA_ASSERT(!"a container is no leaf");
  return TRILHA_INTERNAL;
}

trilha_status trilha_token_write(trilha_token_work *work, const trilha_key *key, trilha_text pointer,
                                 const trilha_json_value *leaf, trilha_buffer *out, trilha_error *err) {
  trilha_buffer *message = &work->message;
  if (message->failed != TRILHA_OK) return trilha_buffer_check(message, err);
  message->size = work->prefix_size;
  trilha_buffer_add_text(message, pointer);
  trilha_buffer_add_char(message, '\0');
  trilha_status status = add_leaf(work, leaf, err);
  if (status == TRILHA_OK) status = trilha_buffer_check(message, err);
  if (status != TRILHA_OK) return status;
  unsigned char mac[TRILHA_SHA256_SIZE];
  if (!trilha_hmac_key_sign(key->redaction, trilha_buffer_text(message), mac)) return trilha_error_no_memory(err);
  char encoded[TRILHA_SHA256_SIZE * 4 / 3 + 3];
  trilha_base64url(mac, sizeof mac, encoded);
  trilha_buffer_add_string(out, "h1:");
  trilha_buffer_add_text(out, trilha_key_kid(key));
  trilha_buffer_add_char(out, ':');
  trilha_buffer_append(out, encoded, TRILHA_TOKEN_DIGITS);
  return TRILHA_OK;
}
