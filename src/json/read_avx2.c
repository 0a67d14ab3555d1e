/* json: the reader's core for x86-64 with AVX2 (and BMI), thirty-two bytes at a time; compiled with those instructions,
 * and called only where the processor has them. */
#include "json/json_internal.h"

#if defined(__AVX2__)
#include <immintrin.h>

static inline __m256i load(const char *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline char *scan_stop(char *p, unsigned *high) {
  const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\'), control = _mm256_set1_epi8(0x1F);
  for (;; p += 32) {
    __m256i bytes = load(p);
    __m256i stops =
        _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(bytes, quote), _mm256_cmpeq_epi8(bytes, backslash)),
                        _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, control), bytes));
    unsigned at = (unsigned)_mm256_movemask_epi8(stops), above = (unsigned)_mm256_movemask_epi8(bytes);
    if (TRILHA_JSON_LIKELY(at != 0)) {
      *high |= above & (at - 1) & ~at;
      return p + __builtin_ctz(at);
    }
    *high |= above;
  }
}

static inline char *scan_spaces(char *p) {
  if ((unsigned char)p[1] > ' ' && (*p == ' ' || *p == '\n')) return p + 1;
  for (;; p += 32) {
    __m256i bytes = load(p);
    __m256i space = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' ')),
                                    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n')));
    __m256i other = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\t')),
                                    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\r')));
    unsigned rest = ~(unsigned)_mm256_movemask_epi8(_mm256_or_si256(space, other));
    if (rest != 0) return p + __builtin_ctz(rest);
  }
}

/* --- UTF-8, thirty-two bytes at a time (Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte")
 * ---
 *
 * Each pair of neighbouring bytes is looked up in three tables of sixteen by their half-bytes; each table answers with
 * the set of errors that this half-byte allows, and an error is real when all three allow it. PAIR (two continuation
 * bytes) is no error where a sequence of three or four wants it. */
enum {
  SHORT = 1,     /* a lead byte not followed by a continuation */
  LONG = 2,      /* a continuation after ASCII */
  OVERLONG3 = 4, /* E0 80…9F */
  LARGE = 8,     /* above U+10FFFF: F4 90… */
  SURROGATE = 16,
  OVERLONG2 = 32,     /* C0, C1 */
  LARGE_OR_OVER = 64, /* F5… 80…8F, and the overlong F0 80…8F */
  PAIR = 128,
  ANY_LOW = SHORT | LONG | PAIR
};

static inline __m256i table(const uint8_t entries[16]) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)entries));
}

static inline __m256i high_half(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
}

static inline __m256i pair_errors(__m256i bytes, __m256i before) {
  static const uint8_t first_high[16] = {LONG,
                                         LONG,
                                         LONG,
                                         LONG,
                                         LONG,
                                         LONG,
                                         LONG,
                                         LONG,
                                         PAIR,
                                         PAIR,
                                         PAIR,
                                         PAIR,
                                         SHORT | OVERLONG2,
                                         SHORT,
                                         SHORT | OVERLONG3 | SURROGATE,
                                         SHORT | LARGE | LARGE_OR_OVER};
  enum { BIG = ANY_LOW | LARGE | LARGE_OR_OVER };
  static const uint8_t first_low[16] = {ANY_LOW | OVERLONG3 | OVERLONG2 | LARGE_OR_OVER,
                                        ANY_LOW | OVERLONG2,
                                        ANY_LOW,
                                        ANY_LOW,
                                        ANY_LOW | LARGE,
                                        BIG,
                                        BIG,
                                        BIG,
                                        BIG,
                                        BIG,
                                        BIG,
                                        BIG,
                                        BIG,
                                        BIG | SURROGATE,
                                        BIG,
                                        BIG};
  enum { CONTINUED = LONG | OVERLONG2 | PAIR };
  static const uint8_t second_high[16] = {SHORT,
                                          SHORT,
                                          SHORT,
                                          SHORT,
                                          SHORT,
                                          SHORT,
                                          SHORT,
                                          SHORT,
                                          CONTINUED | OVERLONG3 | LARGE_OR_OVER,
                                          CONTINUED | OVERLONG3 | LARGE,
                                          CONTINUED | SURROGATE | LARGE,
                                          CONTINUED | SURROGATE | LARGE,
                                          SHORT,
                                          SHORT,
                                          SHORT,
                                          SHORT};
  __m256i a = _mm256_shuffle_epi8(table(first_high), high_half(before));
  __m256i b = _mm256_shuffle_epi8(table(first_low), _mm256_and_si256(before, _mm256_set1_epi8(0x0F)));
  __m256i c = _mm256_shuffle_epi8(table(second_high), high_half(bytes));
  return _mm256_and_si256(_mm256_and_si256(a, b), c);
}

/* The errors of one block; `last` is the block before it. */
static inline __m256i block_errors(__m256i bytes, __m256i last) {
  __m256i across = _mm256_permute2x128_si256(last, bytes, 0x21);
  __m256i before1 = _mm256_alignr_epi8(bytes, across, 15);
  __m256i before2 = _mm256_alignr_epi8(bytes, across, 14);
  __m256i before3 = _mm256_alignr_epi8(bytes, across, 13);
  __m256i third = _mm256_subs_epu8(before2, _mm256_set1_epi8((char)(0xE0 - 0x80)));
  __m256i fourth = _mm256_subs_epu8(before3, _mm256_set1_epi8((char)(0xF0 - 0x80)));
  __m256i wanted = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
  return _mm256_xor_si256(wanted, pair_errors(bytes, before1));
}

/* Not zero when the block ends inside a sequence. */
static inline __m256i block_unfinished(__m256i bytes) {
  const __m256i most = _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                        -1, -1, -1, -1, -1, -1, -1, -1, -1, (char)0xEF, (char)0xDF, (char)0xBF);
  return _mm256_subs_epu8(bytes, most);
}

static bool scan_copy(char *to, const char *from, size_t size) {
  __m256i errors = _mm256_setzero_si256(), last = errors, unfinished = errors;
  size_t i = 0;
  for (; i + 32 <= size; i += 32) {
    __m256i bytes = load(from + i);
    _mm256_storeu_si256((__m256i *)(void *)(to + i), bytes);
    if (_mm256_movemask_epi8(bytes) == 0) {
      errors = _mm256_or_si256(errors, unfinished);
      unfinished = _mm256_setzero_si256();
    } else {
      errors = _mm256_or_si256(errors, block_errors(bytes, last));
      unfinished = block_unfinished(bytes);
    }
    last = bytes;
  }
  /* The rest, padded with zeros: a sequence that the end of the text cuts is then followed by ASCII. */
  if (i < size) memcpy(to + i, from + i, size - i);
  memset(to + size, 0, 32);
  errors = _mm256_or_si256(errors, block_errors(load(to + i), last));
  return _mm256_testz_si256(errors, errors) != 0;
}

#define TRILHA_JSON_CORE trilha_json_core_avx2
#include "json/read_core.h"
#else
typedef int trilha_json_no_avx2;
#endif
