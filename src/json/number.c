/* json/number: decimals as they are spelled: reading, comparing, writing. */
#include "json/number.h"

#include "base/error.h"
#include "json/json_internal.h"

#define EXPONENT_MAX TRILHA_DECIMAL_EXPONENT_MAX

/* Digits of a canonical or rounded spelling (ruling R8). */
enum { WRITTEN_DIGITS_MAX = 400 };

static int64_t clamp(int64_t value, int64_t most) {
  return value > most ? most : value < -most ? -most : value;
}

/* The parts of a spelling, sign taken off. */
typedef struct spelling {
  const char *mantissa, *exponent; /* exponent: after 'e', sign included; NULL without one */
  uint32_t whole, fraction;        /* digits before and after the point */
  uint32_t mantissa_size, exponent_size;
  bool negative;
} spelling;

static spelling spelling_of(trilha_text text) {
  const char *p = text.data, *end = text.data + text.size;
  spelling s = {.negative = p < end && *p == '-'};
  p += s.negative;
  s.mantissa = p;
  while (p < end && (unsigned)(*p - '0') <= 9) p++;
  s.whole = (uint32_t)(p - s.mantissa);
  if (p < end && *p == '.') {
    const char *point = p++;
    while (p < end && (unsigned)(*p - '0') <= 9) p++;
    s.fraction = (uint32_t)(p - point - 1);
  }
  s.mantissa_size = (uint32_t)(p - s.mantissa);
  if (p < end && (*p | 0x20) == 'e') {
    s.exponent = p + 1;
    s.exponent_size = (uint32_t)(end - p - 1);
  }
  return s;
}

/* Held so far out that the place of the first digit, at most 2^32, cannot bring it back below EXPONENT_MAX. */
static int64_t exponent_value(const char *p, uint32_t size) {
  if (p == NULL) return 0;
  const char *end = p + size;
  bool negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  int64_t value = 0;
  for (; p < end; p++) value = clamp(value * 10 + (*p - '0'), 4 * EXPONENT_MAX);
  return negative ? -value : value;
}

trilha_decimal trilha_decimal_of(trilha_text text) {
  spelling s = spelling_of(text);
  trilha_decimal d = {.point_at = -1, .negative = s.negative, .digits = s.mantissa};
  uint32_t first = 0, last = s.mantissa_size;
  while (first < last && (s.mantissa[first] == '0' || s.mantissa[first] == '.')) first++;
  while (last > first && (s.mantissa[last - 1] == '0' || s.mantissa[last - 1] == '.')) last--;
  if (first == last) return d;
  d.digits = s.mantissa + first;
  d.digit_count = last - first;
  if (first < s.whole && last > s.whole) {
    d.point_at = (int32_t)(s.whole - first);
    d.digit_count--;
  }
  /* Place of the first digit relative to the point: digits before it, or minus the zeros after it. */
  int64_t place = first < s.whole ? (int64_t)s.whole - first : (int64_t)s.whole + 1 - (int64_t)first;
  d.exponent = clamp(exponent_value(s.exponent, s.exponent_size) + place, EXPONENT_MAX);
  return d;
}

/* --- comparing ------------------------------------------------------------------------------------------ */

/* a - b of two exponents as they are spelled, of any length, held at ±2^60: once the difference of the leading digits
 * is that large, the digits that follow cannot change its sign. */
static int64_t exponent_difference(const spelling *a, const spelling *b) {
  const int64_t most = (int64_t)1 << 55;
  const spelling *sides[2] = {a, b};
  const char *digits[2];
  uint32_t sizes[2];
  int64_t sign[2] = {1, -1}, difference = 0;
  for (int i = 0; i < 2; i++) {
    digits[i] = sides[i]->exponent == NULL ? "" : sides[i]->exponent;
    sizes[i] = sides[i]->exponent_size;
    if (sizes[i] == 0 || (digits[i][0] != '-' && digits[i][0] != '+')) continue;
    if (digits[i][0] == '-') sign[i] = -sign[i];
    digits[i]++;
    sizes[i]--;
  }
  uint32_t longest = sizes[0] > sizes[1] ? sizes[0] : sizes[1];
  for (uint32_t left = longest; left > 0; left--) {
    difference *= 10;
    for (int i = 0; i < 2; i++)
      if (left <= sizes[i]) difference += sign[i] * (digits[i][sizes[i] - left] - '0');
    difference = clamp(difference, most);
  }
  return difference;
}

/* Magnitudes' orders of ten: <0, 0, >0. Exponents that were held at their bound are compared as they are spelled. */
static int compare_exponents(const trilha_decimal *x, const trilha_decimal *y, trilha_text a, trilha_text b) {
  if (x->exponent != y->exponent) return x->exponent < y->exponent ? -1 : 1;
  if (!trilha_decimal_is_held(x)) return 0;
  spelling s = spelling_of(a), t = spelling_of(b);
  int64_t places[2];
  const spelling *sides[2] = {&s, &t};
  const trilha_decimal *values[2] = {x, y};
  for (int i = 0; i < 2; i++) {
    int64_t first = values[i]->digits - sides[i]->mantissa, whole = sides[i]->whole;
    places[i] = first < whole ? whole - first : whole + 1 - first;
  }
  int64_t difference = exponent_difference(&s, &t) + places[0] - places[1];
  return difference < 0 ? -1 : difference > 0;
}

static int compare_magnitudes(const trilha_decimal *x, const trilha_decimal *y, trilha_text a, trilha_text b) {
  if (x->digit_count == 0 || y->digit_count == 0) return (x->digit_count != 0) - (y->digit_count != 0);
  int order = compare_exponents(x, y, a, b);
  if (order != 0) return order;
  uint32_t shared = x->digit_count < y->digit_count ? x->digit_count : y->digit_count;
  for (uint32_t i = 0; i < shared; i++) {
    int difference = trilha_decimal_digit(x, i) - trilha_decimal_digit(y, i);
    if (difference != 0) return difference;
  }
  return x->digit_count < y->digit_count ? -1 : x->digit_count > y->digit_count;
}

int trilha_number_compare(trilha_text a, trilha_text b) {
  trilha_decimal x = trilha_decimal_of(a), y = trilha_decimal_of(b);
  int sign_x = x.digit_count == 0 ? 0 : x.negative ? -1 : 1;
  int sign_y = y.digit_count == 0 ? 0 : y.negative ? -1 : 1;
  if (sign_x != sign_y) return sign_x < sign_y ? -1 : 1;
  int order = compare_magnitudes(&x, &y, a, b);
  return sign_x < 0 ? -order : order;
}

bool trilha_number_is_integer(trilha_text a) {
  trilha_decimal d = trilha_decimal_of(a);
  return d.digit_count == 0 || d.exponent >= (int64_t)d.digit_count;
}

bool trilha_number_to_i64(trilha_text a, int64_t *ret_value) {
  trilha_decimal d = trilha_decimal_of(a);
  if (d.digit_count == 0) {
    *ret_value = 0;
    return true;
  }
  if (d.exponent < (int64_t)d.digit_count || d.exponent > 19) return false;
  uint64_t value = 0;
  for (uint32_t i = 0; i < (uint32_t)d.exponent; i++) {
    uint64_t digit = i < d.digit_count ? (uint64_t)(trilha_decimal_digit(&d, i) - '0') : 0;
    if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, digit, &value)) return false;
  }
  uint64_t most = (uint64_t)INT64_MAX + (d.negative ? 1 : 0);
  if (value > most) return false;
  *ret_value = d.negative ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}

/* --- writing -------------------------------------------------------------------------------------------- */

uint64_t trilha_number_fraction_size(trilha_text a) {
  spelling s = spelling_of(a);
  int64_t fraction = (int64_t)s.fraction - exponent_value(s.exponent, s.exponent_size);
  return fraction < 0 ? 0 : (uint64_t)fraction;
}

uint64_t trilha_number_expanded_size(trilha_text a) {
  trilha_decimal d = trilha_decimal_of(a);
  int64_t whole = d.digit_count == 0 || d.exponent < 1 ? 1 : d.exponent;
  return (uint64_t)whole + trilha_number_fraction_size(a) + (d.negative && d.digit_count != 0 ? 1 : 0);
}

/* Digits of a spelling without exponent; its value is 0.d1d2… * 10^exponent with `count` digits, the last not zero. */
static bool too_long(int64_t exponent, uint32_t count) {
  int64_t whole = exponent < 1 ? 1 : exponent;
  int64_t fraction = (int64_t)count > exponent ? (int64_t)count - exponent : 0;
  return whole + fraction > WRITTEN_DIGITS_MAX;
}

static trilha_status number_too_long(trilha_error *err) {
  return trilha_error_set(err, TRILHA_LIMIT, "JSON_NUMBER_RANGE",
                          "a number needs more than %d digits when written without an exponent", WRITTEN_DIGITS_MAX);
}

/* 0.d1d2… * 10^exponent, digits in plain bytes, no longer than too_long() allows. */
static void write_plain(trilha_buffer *out, bool negative, const char *digits, uint32_t count, int64_t exponent) {
  char text[WRITTEN_DIGITS_MAX + 3];
  size_t used = 0;
  if (negative) text[used++] = '-';
  if (exponent < 1) {
    text[used++] = '0';
    text[used++] = '.';
    for (; exponent < 0; exponent++) text[used++] = '0';
    memcpy(text + used, digits, count);
    used += count;
  } else {
    for (uint32_t i = 0; i < count || i < (uint32_t)exponent; i++) {
      if (i == (uint32_t)exponent) text[used++] = '.';
      text[used++] = i < count ? digits[i] : '0';
    }
  }
  trilha_buffer_append(out, text, used);
}

static trilha_status write_digits(trilha_buffer *out, const trilha_decimal *d, trilha_error *err) {
  if (d->digit_count == 0) {
    trilha_buffer_add_char(out, '0');
    return TRILHA_OK;
  }
  if (too_long(d->exponent, d->digit_count)) return number_too_long(err);
  char digits[WRITTEN_DIGITS_MAX];
  for (uint32_t i = 0; i < d->digit_count; i++) digits[i] = trilha_decimal_digit(d, i);
  write_plain(out, d->negative, digits, d->digit_count, d->exponent);
  return TRILHA_OK;
}

trilha_status trilha_number_write_canonical(trilha_buffer *out, trilha_text a, trilha_error *err) {
  trilha_decimal d = trilha_decimal_of(a);
  return write_digits(out, &d, err);
}

/* Adds one in the last place; true when the carry ran out of the front, which leaves a single 1. */
static bool round_up(char *digits, uint32_t *count) {
  while (*count > 0 && digits[*count - 1] == '9') *count -= 1;
  if (*count > 0) {
    digits[*count - 1]++;
    return false;
  }
  digits[0] = '1';
  *count = 1;
  return true;
}

trilha_status trilha_number_write_rounded(trilha_buffer *out, trilha_text a, unsigned places, trilha_error *err) {
  trilha_decimal d = trilha_decimal_of(a);
  int64_t kept = d.exponent + (int64_t)places; /* digits that remain */
  if (d.digit_count == 0 || kept >= (int64_t)d.digit_count) return write_digits(out, &d, err);
  if (d.exponent > WRITTEN_DIGITS_MAX || kept > WRITTEN_DIGITS_MAX) return number_too_long(err);
  if (kept < 0) {
    trilha_buffer_add_char(out, '0');
    return TRILHA_OK;
  }
  char digits[WRITTEN_DIGITS_MAX + 1];
  uint32_t count = (uint32_t)kept;
  for (uint32_t i = 0; i < count; i++) digits[i] = trilha_decimal_digit(&d, i);
  int64_t exponent = d.exponent;
  if (trilha_decimal_digit(&d, count) >= '5' && round_up(digits, &count)) exponent++;
  while (count > 0 && digits[count - 1] == '0') count--;
  if (count == 0) {
    trilha_buffer_add_char(out, '0');
    return TRILHA_OK;
  }
  if (too_long(exponent, count)) return number_too_long(err);
  write_plain(out, d.negative, digits, count, exponent);
  return TRILHA_OK;
}
