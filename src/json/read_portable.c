/* json: the reader's core for any processor, eight bytes at a time in a plain word. */
#include "json/json_internal.h"

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of each zero byte; exact for the lowest one, which is the only one used. */
static inline uint64_t zero_bytes(uint64_t word) {
  return (word - EACH(1)) & ~word & EACH(0x80);
}

static inline char *scan_stop(char *p, unsigned *high) {
  uint64_t seen = 0;
  for (;; p += 8) {
    uint64_t word = trilha_json_load8(p);
    uint64_t stops =
        zero_bytes(word ^ EACH('"')) | zero_bytes(word ^ EACH('\\')) | ((word - EACH(0x20)) & ~word & EACH(0x80));
    uint64_t bytes = word & EACH(0x80);
    if (stops != 0) {
      unsigned at = (unsigned)__builtin_ctzll(stops); /* 8 * index + 7 */
      seen |= bytes & ((UINT64_C(1) << at) - 1);
      *high |= seen != 0;
      return p + at / 8;
    }
    seen |= bytes;
  }
}

static inline char *scan_spaces(char *p) {
  while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r') p++;
  return p;
}

static bool scan_copy(char *to, const char *from, size_t size) {
  if (size != 0) memcpy(to, from, size);
  return size == 0 || trilha_utf8_valid(to, size);
}

#define TRILHA_JSON_CORE trilha_json_core_portable
#include "json/read_core.h"
