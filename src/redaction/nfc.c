/* redaction: texts in Unicode's Normalization Form C, which the token's MAC covers. utf8proc does the work; what people
 * mostly write is recognised as being in that form already, since normalising costs more than hashing. */
#include <utf8proc.h>

#include "base/error.h"
#include "redaction/redaction_internal.h"

typedef struct range {
  uint32_t first, last;
} range;

/* From U+0300 on: what is certain to stand for itself. None of these decomposes, is reordered (combining class not 0)
 * or takes part in a composition as its second half; all are assigned, so that no later version of Unicode changes that
 * (its stability policy). A test compares each with utf8proc. */
static const range inert[] = {
    {0x200B, 0x2027},   /* zero-width characters, dashes, quotation marks, bullet, ellipsis */
    {0x2030, 0x205E},   /* per mille, primes, guillemets, fractions' slash */
    {0x20A0, 0x20BF},   /* currencies */
    {0x2600, 0x27BF},   /* symbols and dingbats */
    {0xFE0E, 0xFE0F},   /* text or picture */
    {0x1F300, 0x1F64F}, /* pictures, skin tones, faces, gestures */
    {0x1F680, 0x1F6C5}, /* transport */
    {0x1F910, 0x1F971}, /* more faces and gestures */
};

static bool is_inert(uint32_t c) {
  for (size_t i = 0; i < sizeof inert / sizeof *inert; i++)
    if (c <= inert[i].last) return c >= inert[i].first;
  return false;
}

/* No code point below U+0300, the first combining mark, decomposes in NFC, is the second half of a composition or is
 * reordered. The first byte of every larger one is at least 0xCC, and no other byte is. */
enum { LARGE_LEAD = 0xCC };

bool trilha_nfc_is_certain(trilha_text text) {
  bool large = false;
  for (size_t i = 0; i < text.size; i++) large |= (unsigned char)text.data[i] >= LARGE_LEAD; /* whole: is vectorised */
  if (!large) return true;
  for (size_t at = 0; at < text.size;) {
    if ((unsigned char)text.data[at] < LARGE_LEAD)
      at++;
    else if (!is_inert(trilha_utf8_next(text.data, text.size, &at)))
      return false;
  }
  return true;
}

trilha_status trilha_nfc_append(trilha_text text, trilha_buffer *points, trilha_buffer *out, trilha_error *err) {
  const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
  trilha_buffer_clear(points);
  /* The first call may be short of room: it then says how many code points there are. */
  size_t room = text.size + 16;
  utf8proc_ssize_t count = 0;
  for (int attempt = 0; attempt < 2; attempt++) {
    /* reencode writes UTF-8 over the code points and a terminator behind it */
    if (!trilha_buffer_reserve(points, room * sizeof(utf8proc_int32_t) + sizeof(utf8proc_int32_t)))
      return trilha_buffer_check(points, err);
    count = utf8proc_decompose((const utf8proc_uint8_t *)text.data, (utf8proc_ssize_t)text.size,
                               (utf8proc_int32_t *)(void *)points->data, (utf8proc_ssize_t)room, options);
    if (count < 0 || (size_t)count <= room) break;
    room = (size_t)count;
  }
  if (count >= 0) count = utf8proc_reencode((utf8proc_int32_t *)(void *)points->data, count, options);
  if (count < 0) return trilha_error_set(err, TRILHA_INTERNAL, "NFC_FAILED", "a text could not be brought to NFC");
  trilha_buffer_append(out, points->data, (size_t)count);
  return TRILHA_OK;
}
