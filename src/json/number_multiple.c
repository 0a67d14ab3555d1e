/* json/number: whether one decimal is a multiple of another, decided in whole numbers. */
#include "json/number.h"

#include "json/json_internal.h"

/* Divisors of more digits than this are not decided here; a reader's own limit on a number's length is lower. */
enum { LIMB_DIGITS = 9, LIMBS_MAX = 512, LIMB_BASE = 1000000000 };

/* The digits of a decimal followed by zeros, taken in groups of nine from the front, the first group being the short
 * one. */
typedef struct digit_run {
  const trilha_decimal *d;
  uint64_t at, count; /* digits, the zeros included */
} digit_run;

static uint32_t next_limb(digit_run *run) {
  uint64_t left = run->count - run->at;
  uint64_t take = left % LIMB_DIGITS == 0 ? LIMB_DIGITS : left % LIMB_DIGITS;
  uint32_t value = 0;
  for (; take > 0; take--, run->at++) {
    uint32_t digit =
        run->at < run->d->digit_count ? (uint32_t)(trilha_decimal_digit(run->d, (uint32_t)run->at) - '0') : 0;
    value = value * 10 + digit;
  }
  return value;
}

static uint64_t limbs_of(uint64_t digits) {
  return (digits + LIMB_DIGITS - 1) / LIMB_DIGITS;
}

/* Divisor of one or two limbs: plain arithmetic. */
static bool divides_small(digit_run *a, uint64_t divisor) {
  uint64_t rest = 0;
  if (divisor < LIMB_BASE) {
    while (a->at < a->count) rest = (rest * LIMB_BASE + next_limb(a)) % divisor;
    return rest == 0;
  }
  while (a->at < a->count) rest = (uint64_t)(((trilha_json_wide)rest * LIMB_BASE + next_limb(a)) % divisor);
  return rest == 0;
}

/* rest -= quotient * divisor over n + 1 limbs, least significant first. Returns the borrow out of the top. */
static int64_t subtract_product(uint32_t *rest, const uint32_t *divisor, size_t n, uint64_t quotient) {
  uint64_t carry = 0;
  int64_t borrow = 0;
  for (size_t i = 0; i <= n; i++) {
    uint64_t product = (i < n ? divisor[i] * quotient : 0) + carry;
    carry = product / LIMB_BASE;
    int64_t limb = (int64_t)rest[i] - (int64_t)(product % LIMB_BASE) - borrow;
    borrow = limb < 0;
    rest[i] = (uint32_t)(limb + (borrow ? LIMB_BASE : 0));
  }
  return borrow;
}

static void add_back(uint32_t *rest, const uint32_t *divisor, size_t n) {
  uint32_t carry = 0;
  for (size_t i = 0; i <= n; i++) {
    uint32_t limb = rest[i] + (i < n ? divisor[i] : 0) + carry;
    carry = limb >= LIMB_BASE;
    rest[i] = carry ? limb - LIMB_BASE : limb;
  }
}

/* Long division that keeps only the rest: shift in a limb, take off as many divisors as fit (the quotient's limb is
 * guessed from the top limbs, never too small; a guess that is too large is added back). */
static bool divides_long(digit_run *a, const uint32_t *divisor, size_t n) {
  uint32_t rest[LIMBS_MAX + 1] = {0};
  trilha_json_wide top = (trilha_json_wide)divisor[n - 1] * LIMB_BASE + divisor[n - 2];
  while (a->at < a->count) {
    memmove(rest + 1, rest, n * sizeof rest[0]);
    rest[0] = next_limb(a);
    trilha_json_wide head = ((trilha_json_wide)rest[n] * LIMB_BASE + rest[n - 1]) * LIMB_BASE + rest[n - 2];
    uint64_t quotient = (uint64_t)(head / top);
    if (quotient == 0) continue;
    if (quotient >= LIMB_BASE) quotient = LIMB_BASE - 1;
    if (subtract_product(rest, divisor, n, quotient) != 0) add_back(rest, divisor, n);
  }
  for (size_t i = 0; i <= n; i++)
    if (rest[i] != 0) return false;
  return true;
}

int trilha_number_is_multiple(trilha_text a, trilha_text b, uint64_t steps_max) {
  trilha_decimal x = trilha_decimal_of(a), y = trilha_decimal_of(b);
  if (x.digit_count == 0) return 1;
  if (y.digit_count == 0) return 0;
  if (x.exponent == y.exponent && trilha_decimal_is_held(&x)) return -1; /* their true difference is not known here */
  /* As whole numbers X * 10^shift and Y without trailing zeros. */
  int64_t shift = (x.exponent - (int64_t)x.digit_count) - (y.exponent - (int64_t)y.digit_count);
  if (shift < 0) return 0; /* X would have to be a multiple of ten */
  /* Zeros beyond what Y's factors of two can use (fewer than log2(Y) of them) decide nothing. */
  uint64_t zeros = (uint64_t)shift, useful = (uint64_t)y.digit_count * 10 / 3 + 1;
  if (zeros > useful) zeros = useful;
  digit_run dividend = {&x, 0, x.digit_count + zeros};
  uint64_t n = limbs_of(y.digit_count);
  if (n > LIMBS_MAX || limbs_of(dividend.count) * n > steps_max) return -1;
  digit_run divisor = {&y, 0, y.digit_count};
  if (n <= 2) {
    uint64_t value = 0;
    while (divisor.at < divisor.count) value = value * LIMB_BASE + next_limb(&divisor);
    return divides_small(&dividend, value);
  }
  uint32_t limbs[LIMBS_MAX];
  for (uint64_t i = n; i > 0; i--) limbs[i - 1] = next_limb(&divisor);
  return divides_long(&dividend, limbs, (size_t)n);
}
