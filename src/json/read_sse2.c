/* json: the reader's core for x86-64 without AVX2, sixteen bytes at a time. */
#include "json/json_internal.h"

#if defined(__x86_64__)
#include <emmintrin.h>

static inline char *scan_stop(char *p, unsigned *high) {
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1F);
  for (;; p += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i stops = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                                 _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    unsigned at = (unsigned)_mm_movemask_epi8(stops), above = (unsigned)_mm_movemask_epi8(bytes);
    if (at != 0) {
      *high |= above & (at - 1) & ~at;
      return p + __builtin_ctz(at);
    }
    *high |= above;
  }
}

static inline char *scan_spaces(char *p) {
  if ((unsigned char)p[1] > ' ' && (*p == ' ' || *p == '\n')) return p + 1;
  for (;; p += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i space = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
    __m128i other =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
    unsigned rest = ~(unsigned)_mm_movemask_epi8(_mm_or_si128(space, other)) & 0xFFFFu;
    if (rest != 0) return p + __builtin_ctz(rest);
  }
}

static bool scan_copy(char *to, const char *from, size_t size) {
  if (size == 0) return true;
  memcpy(to, from, size);
  size_t i = 0;
  while (i + 16 <= size && _mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)(to + i))) == 0) i += 16;
  return trilha_utf8_valid(to + i, size - i);
}

#define TRILHA_JSON_CORE trilha_json_core_sse2
#include "json/read_core.h"
#else
typedef int trilha_json_no_sse2;
#endif
