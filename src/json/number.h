/* json/number: exact arithmetic on the spelling of JSON numbers. Room: json. Corridor header. Thread-safe.
 *
 * A JSON number is an arbitrary-precision decimal. Nothing here goes through binary floating point, and the work is
 * bounded by the digits written, never by the exponent's value (1e1000000000 costs what "1e1" costs).
 */
#ifndef TRILHA_JSON_NUMBER_H
#define TRILHA_JSON_NUMBER_H

#include "json/json.h"

/* A borrowed decimal: sign * 0.d1d2d3… * 10^exponent, digits without leading or trailing zeros; zero has digits 0. */
typedef struct trilha_decimal {
  const char *digits;   /* into the spelling; may contain one '.', which is skipped: use trilha_decimal_digit */
  uint32_t digit_count; /* significant digits */
  int32_t point_at;     /* index in `digits` of a '.' to skip, or -1 */
  int64_t exponent;     /* held at ±TRILHA_DECIMAL_EXPONENT_MAX when it lies beyond */
  bool negative;
} trilha_decimal;

/* The digits of the longest text cannot move an exponent this large back into reach. */
#define TRILHA_DECIMAL_EXPONENT_MAX ((int64_t)1 << 40)
static inline bool trilha_decimal_is_held(const trilha_decimal *d) {
  return d->exponent == TRILHA_DECIMAL_EXPONENT_MAX || d->exponent == -TRILHA_DECIMAL_EXPONENT_MAX;
}

/* `text` must be a valid JSON number. */
trilha_decimal trilha_decimal_of(trilha_text text);
static inline char trilha_decimal_digit(const trilha_decimal *d, uint32_t i) {
  return d->digits[d->point_at >= 0 && i >= (uint32_t)d->point_at ? i + 1 : i];
}

/* <0, 0, >0. 0 = -0 = 0e9. */
int trilha_number_compare(trilha_text a, trilha_text b);
/* True for 1, 1.0, 10e-1, 1e400: mathematically an integer. */
bool trilha_number_is_integer(trilha_text a);
/* a is an integer multiple of b, decided exactly; b > 0. Returns -1 (undecided) when the work would pass
 * `steps_max` digit steps (hostile exponents such as 1e100000 of 7), else 0 or 1. */
int trilha_number_is_multiple(trilha_text a, trilha_text b, uint64_t steps_max);
/* The integer value when it is one and fits; false otherwise. Accepts 1.0 and 1e3. */
bool trilha_number_to_i64(trilha_text a, int64_t *ret_value);
/* Appends the one canonical spelling of the value: integers up to 400 digits in full ("100", "0"), other values as
 * plain decimals when short ("0.05", "-12.5"); no '+', no exponent, no trailing zeros, no "-0". LIMIT when more than
 * 400 characters would be needed. */
trilha_status trilha_number_write_canonical(trilha_buffer *out, trilha_text a, trilha_error *err) TRILHA_MUST_USE;
/* Appends the value rounded to `places` decimal places, to nearest, ties away from zero, fixed point, trailing zeros
 * and
 * "-0" dropped (ruling R25). */
trilha_status trilha_number_write_rounded(trilha_buffer *out, trilha_text a, unsigned places,
                                          trilha_error *err) TRILHA_MUST_USE;
/* Digits and sign needed to write the value without an exponent, as PostgreSQL's numeric output does. */
uint64_t trilha_number_expanded_size(trilha_text a);

#endif
