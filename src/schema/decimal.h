/* schema/decimal: decimals of at most 18 digits in two machine words, the common case of every bound. Room: schema,
 * inside. Thread-safe. */
#ifndef TRILHA_SCHEMA_DECIMAL_H
#define TRILHA_SCHEMA_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SCHEMA_DECIMAL_DIGITS_MAX = 18 };

/* Eight characters, the first in the lowest byte. */
static inline bool trilha_schema_are_digits(uint64_t eight) {
  uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0), zeros = UINT64_C(0x3030303030303030);
  return ((eight & high) | ((eight + UINT64_C(0x0606060606060606)) & high) >> 4) == (zeros | zeros >> 4);
}
static inline int64_t trilha_schema_eight_digits(uint64_t eight) {
  eight -= UINT64_C(0x3030303030303030);
  eight = eight * 10 + (eight >> 8); /* pairs, in every other byte */
  return (int64_t)(((eight & UINT64_C(0x000000ff000000ff)) * (100 + (UINT64_C(1000000) << 32)) +
                    (eight >> 16 & UINT64_C(0x000000ff000000ff)) * (1 + (UINT64_C(10000) << 32))) >>
                   32);
}

/* Digits into *m, eight at a time and then one; stops at the first character that is none. */
static inline const char *trilha_schema_read_digits(const char *text, const char *end, int64_t *m) {
  int64_t value = *m;
  while (end - text >= 8) {
    uint64_t eight;
    memcpy(&eight, text, 8);
    if (!trilha_schema_are_digits(eight)) break;
    value = value * 100000000 + trilha_schema_eight_digits(eight);
    text += 8;
  }
  while (text < end && (unsigned char)(*text - '0') <= 9) value = value * 10 + (*text++ - '0');
  *m = value;
  return text;
}

/* A number's value as m / 10^scale; false when it has an exponent or too many digits. */
static inline bool trilha_schema_decimal_read(const char *text, size_t size, int64_t *ret_m, uint32_t *ret_scale) {
  const char *end = text + size;
  bool negative = size > 0 && *text == '-';
  text += negative;
  if (end - text > SCHEMA_DECIMAL_DIGITS_MAX) return false; /* a point may be among them */
  int64_t m = 0;
  uint32_t scale = 0;
  while (text < end && (unsigned char)(*text - '0') <= 9) m = m * 10 + (*text++ - '0');
  if (text < end && *text == '.') {
    scale = (uint32_t)(end - text - 1);
    text = trilha_schema_read_digits(text + 1, end, &m);
  }
  *ret_m = negative ? -m : m;
  *ret_scale = scale;
  return text == end;
}

static inline int64_t trilha_schema_power_of_ten(uint32_t exponent) {
  static const int64_t powers[] = {1,
                                   10,
                                   100,
                                   1000,
                                   10000,
                                   100000,
                                   1000000,
                                   10000000,
                                   100000000,
                                   1000000000,
                                   10000000000,
                                   100000000000,
                                   1000000000000,
                                   10000000000000,
                                   100000000000000,
                                   1000000000000000,
                                   10000000000000000,
                                   100000000000000000,
                                   1000000000000000000};
  return powers[exponent];
}

__extension__ typedef __int128 schema_wide;

static inline int trilha_schema_decimal_compare(int64_t m1, uint32_t scale1, int64_t m2, uint32_t scale2) {
  if (scale1 == scale2) return (m1 > m2) - (m1 < m2);
  schema_wide a = (schema_wide)m1 * trilha_schema_power_of_ten(scale2);
  schema_wide b = (schema_wide)m2 * trilha_schema_power_of_ten(scale1);
  return (a > b) - (a < b);
}

/* m2 is not 0. */
static inline bool trilha_schema_decimal_multiple(int64_t m1, uint32_t scale1, int64_t m2, uint32_t scale2) {
  if (scale1 == scale2) return m1 % m2 == 0;
  schema_wide a = (schema_wide)m1 * trilha_schema_power_of_ten(scale2);
  schema_wide b = (schema_wide)m2 * trilha_schema_power_of_ten(scale1);
  return a % b == 0;
}

/* The first eight bytes as one number, zero-filled: unequal heads of equal sizes are unequal texts. */
static inline uint64_t trilha_schema_head(const char *text, uint32_t size) {
  uint64_t head = 0;
  if (size >= 8) {
    memcpy(&head, text, 8);
  } else if (size >= 4) {
    uint32_t low, high;
    memcpy(&low, text, 4);
    memcpy(&high, text + size - 4, 4);
    head = low | (uint64_t)high << (8 * (size - 4));
  } else if (size > 0) {
    head = (uint64_t)(unsigned char)text[0] | (uint64_t)(unsigned char)text[size / 2] << 8 |
           (uint64_t)(unsigned char)text[size - 1] << 16;
  }
  return head;
}

#endif
