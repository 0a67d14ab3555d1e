/* schema/format_idna: labels under IDNA 2008 (RFC 5890 to 5893), on the tables of libidn2 and libutf8proc. */
#include <stdlib.h>

#include "idn2.h"
#include "schema/format_internal.h"
#include "utf8proc.h"

#define A_LABEL_MAX 63
#define U_LABEL_MAX ((size_t)TRILHA_LABEL_POINTS_MAX * 4) /* bytes */

/* --- Punycode, RFC 3492 ----------------------------------------------------------------------------- */

enum { BASE = 36, LOW = 1, HIGH = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 0x80 };

static uint32_t adapt(uint32_t delta, uint32_t count, bool first) {
  uint32_t k = 0;
  delta = first ? delta / DAMP : delta / 2;
  delta += delta / count;
  for (; delta > (BASE - LOW) * HIGH / 2; k += BASE) delta /= BASE - LOW;
  return k + (BASE - LOW + 1) * delta / (delta + SKEW);
}

static uint32_t digit_value(char c) {
  if (trilha_is_digit(c)) return (uint32_t)(c - '0') + 26;
  return trilha_is_letter(c) ? (uint32_t)(c | 0x20) - 'a' : BASE;
}

/* One delta, a number of variable length; false when it is malformed or too large. */
static bool take_delta(trilha_text *text, uint32_t bias, uint32_t *ret_delta) {
  uint64_t delta = 0, weight = 1;
  for (uint32_t k = BASE;; k += BASE) {
    if (text->size == 0) return false;
    uint32_t digit = digit_value(*text->data);
    uint32_t threshold = k <= bias ? LOW : k >= bias + HIGH ? HIGH : k - bias;
    if (digit >= BASE) return false;
    text->data++;
    text->size--;
    delta += digit * weight;
    if (delta > UINT32_MAX) return false;
    if (digit < threshold) break;
    weight *= BASE - threshold;
    if (weight > UINT32_MAX) return false;
  }
  *ret_delta = (uint32_t)delta;
  return true;
}

static bool decode_punycode(trilha_text text, uint32_t *points, size_t *ret_count) {
  size_t count = 0, basic = text.size;
  uint32_t n = FIRST, bias = BIAS;
  uint64_t i = 0;
  while (basic > 0 && text.data[basic - 1] != '-') basic--;
  for (size_t b = 0; basic > 0 && b < basic - 1; b++) points[count++] = (unsigned char)text.data[b];
  text.data += basic;
  text.size -= basic;
  if (text.size == 0) return false; /* only ASCII: then it need not be encoded */
  while (text.size > 0) {
    uint32_t delta = 0;
    if (count == TRILHA_LABEL_POINTS_MAX || !take_delta(&text, bias, &delta)) return false;
    bias = adapt(delta, (uint32_t)count + 1, i == 0);
    i += delta;
    uint64_t point = n + i / (count + 1);
    if (point > 0x10FFFF) return false;
    n = (uint32_t)point;
    i %= count + 1;
    memmove(points + i + 1, points + i, (count - i) * sizeof *points);
    points[i++] = n;
    count++;
  }
  *ret_count = count;
  return true;
}

/* --- labels ----------------------------------------------------------------------------------------- */

/* libidn2's registration rules are the whole of RFC 5891, section 4 (look-up, section 5, would leave contextual rules
 * out). `u_label` is terminated; the A-label goes to out. */
static bool register_label(const char *u_label, bool normalise, char out[static A_LABEL_MAX + 1]) {
  uint8_t *a_label = NULL;
  int result = idn2_register_u8((const uint8_t *)u_label, NULL, &a_label, normalise ? IDN2_NFC_INPUT : 0);
  size_t size = result == IDN2_OK && a_label != NULL ? strlen((const char *)a_label) : 0;
  bool fits = size > 0 && size <= A_LABEL_MAX;
  if (fits) memcpy(out, a_label, size + 1);
  idn2_free(a_label);
  return fits;
}

static bool check_a_label(trilha_text label, uint32_t *points, size_t *ret_count) {
  char lower[A_LABEL_MAX + 1], again[A_LABEL_MAX + 1], u_label[U_LABEL_MAX + 1];
  size_t size = 0;
  if (label.size > A_LABEL_MAX) return false;
  for (size_t i = 0; i < label.size; i++) {
    char c = label.data[i];
    lower[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  }
  if (!decode_punycode((trilha_text){lower + 4, label.size - 4}, points, ret_count)) return false;
  for (size_t i = 0; i < *ret_count; i++) {
    if (points[i] == 0 || (points[i] >= 0xD800 && points[i] <= 0xDFFF)) return false;
    size += trilha_utf8_put(u_label + size, points[i]);
  }
  u_label[size] = '\0';
  if (!register_label(u_label, false, again)) return false;
  return strlen(again) == label.size && memcmp(again, lower, label.size) == 0;
}

static bool check_u_label(trilha_text label, bool normalise, uint32_t *points, size_t *ret_count,
                          size_t *ret_ascii_size) {
  char u_label[U_LABEL_MAX + 1], out[A_LABEL_MAX + 1];
  size_t count = 0;
  if (label.size > U_LABEL_MAX || trilha_text_find(label, '\0') != NULL) return false;
  for (size_t at = 0; at < label.size;) {
    if (count == TRILHA_LABEL_POINTS_MAX) return false;
    points[count++] = trilha_utf8_next(label.data, label.size, &at);
  }
  memcpy(u_label, label.data, label.size);
  u_label[label.size] = '\0';
  if (!register_label(u_label, normalise, out)) return false;
  *ret_count = count;
  *ret_ascii_size = strlen(out);
  return true;
}

bool trilha_idna_label(trilha_text label, bool normalise, uint32_t points[static TRILHA_LABEL_POINTS_MAX],
                       size_t *ret_count, size_t *ret_ascii_size) {
  for (size_t i = 0; i < label.size; i++)
    if ((unsigned char)label.data[i] >= 0x80) return check_u_label(label, normalise, points, ret_count, ret_ascii_size);
  *ret_ascii_size = label.size;
  return check_a_label(label, points, ret_count);
}

/* --- Bidi --------------------------------------------------------------------------------------------- */

#define BIDI(name) (UINT32_C(1) << UTF8PROC_BIDI_CLASS_##name)

static uint32_t bidi_class(uint32_t point) {
  return UINT32_C(1) << utf8proc_get_property((utf8proc_int32_t)point)->bidi_class;
}

bool trilha_bidi_has_right_to_left(const uint32_t *points, size_t count) {
  for (size_t i = 0; i < count; i++)
    if ((bidi_class(points[i]) & (BIDI(R) | BIDI(AL) | BIDI(AN))) != 0) return true;
  return false;
}

bool trilha_bidi_rule(const uint32_t *points, size_t count) {
  const uint32_t anywhere = BIDI(EN) | BIDI(ES) | BIDI(CS) | BIDI(ET) | BIDI(ON) | BIDI(BN) | BIDI(NSM);
  uint32_t first = count == 0 ? 0 : bidi_class(points[0]), seen = 0;
  bool right_to_left = (first & (BIDI(R) | BIDI(AL))) != 0;
  if (!right_to_left && (first & BIDI(L)) == 0) return false;
  for (size_t i = 0; i < count; i++) seen |= bidi_class(points[i]);
  if ((seen & ~(anywhere | (right_to_left ? BIDI(R) | BIDI(AL) | BIDI(AN) : BIDI(L)))) != 0) return false;
  if (right_to_left && (seen & BIDI(EN)) != 0 && (seen & BIDI(AN)) != 0) return false;
  while (count > 1 && bidi_class(points[count - 1]) == BIDI(NSM)) count--;
  uint32_t ends = BIDI(EN) | (right_to_left ? BIDI(R) | BIDI(AL) | BIDI(AN) : BIDI(L));
  return (bidi_class(points[count - 1]) & ends) != 0;
}
