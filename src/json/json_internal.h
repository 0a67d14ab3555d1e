/* json inside: what the reader, its scanning cores and the checks share. Room: json. */
#ifndef TRILHA_JSON_INTERNAL_H
#define TRILHA_JSON_INTERNAL_H

#include <endian.h>

#include "base/hash.h"
#include "json/json.h"

#define TRILHA_JSON_LIKELY(x)   __builtin_expect(!!(x), 1)
#define TRILHA_JSON_UNLIKELY(x) __builtin_expect(!!(x), 0)

__extension__ typedef unsigned __int128 trilha_json_wide;

/* --- memory around the private copy --------------------------------------------------------------------- */

/* Readable bytes before and zero bytes after the private copy, so that vectors and 8-byte loads need no bounds check:
 * 64 is the widest stride of a core, plus one vector that starts at the last byte. */
enum { TRILHA_JSON_PAD_FRONT = 16, TRILHA_JSON_PAD_BACK = 96 };

/* A text's size must fit a value's 32 bits with room for the padding. */
#define TRILHA_JSON_BYTES_CEILING ((size_t)UINT32_MAX - 4096)

/* No walk, writer or comparison in this room keeps more than this many open containers; the reader lowers its depth
 * limit to it, so that their stacks can be plain arrays. */
enum { TRILHA_JSON_STACK_MAX = TRILHA_JSON_DEPTH_MAX };

/* --- one run of a core ---------------------------------------------------------------------------------- */

/* What a core is given, what it found, and the first fault. `values` moves when it grows. */
typedef struct trilha_json_run {
  const char *input;
  size_t size;
  const trilha_json_keys *keys;
  uint32_t depth_max, number_size_max;
  char *text; /* the private copy, padded as above */
  trilha_json_value *values;
  size_t capacity, capacity_bound; /* values allocated; values that this text can need at most */
  size_t count;
  uint32_t depth;
  trilha_status status; /* OK while there is no fault */
  const char *code, *message;
  size_t offset; /* of the fault */
} trilha_json_run;

/* Copies, checks UTF-8 and reads; the fault, if any, is in the run. The cores differ only in how they scan. */
void trilha_json_core_portable(trilha_json_run *run);
#if defined(__x86_64__)
void trilha_json_core_sse2(trilha_json_run *run);
void trilha_json_core_avx2(trilha_json_run *run);
#endif

typedef enum trilha_json_isa { TRILHA_JSON_PORTABLE, TRILHA_JSON_SSE2, TRILHA_JSON_AVX2 } trilha_json_isa;
/* The best this processor can do. */
trilha_json_isa trilha_json_isa_best(void);
/* For tests: makes this reader use another core. False when the processor or build has none such. */
bool trilha_json_reader_use(trilha_json_reader *reader, trilha_json_isa isa);

/* More room in run->values; false (with the fault set) when there is no memory. Values move. */
bool trilha_json_run_grow(trilha_json_run *run);
/* The fault of this run, unless there is one already. Always NULL, for `return`. */
char *trilha_json_run_fault(trilha_json_run *run, const char *at, trilha_status status, const char *code,
                            const char *message);
/* The fault for a character that does not fit, or for the end of the text. */
char *trilha_json_run_unexpected(trilha_json_run *run, const char *at, const char *message);
/* Decodes the escape at p ('\\'), writes it to *to, and returns the place after it; NULL with the fault set. Adds value
 * flags, and sets *high when what it wrote is not ASCII. */
char *trilha_json_unescape(trilha_json_run *run, char *p, char **to, unsigned *flags, unsigned *high);
/* Offset of the first byte that is not UTF-8, or `size`. */
size_t trilha_json_utf8_fault(const char *data, size_t size);

/* --- faults --------------------------------------------------------------------------------------------- */

/* Fills ret_fault (may be NULL) and err from an offset in the source. Returns status. */
trilha_status trilha_json_fault_set(trilha_json_fault *ret_fault, trilha_error *err, trilha_status status,
                                    const char *code, const char *message, trilha_text source, size_t offset,
                                    trilha_text pointer);

/* --- key tables ----------------------------------------------------------------------------------------- */

typedef struct trilha_json_key {
  uint64_t head, tail; /* the first and the last 8 bytes, zero-filled at the far side when shorter */
  uint32_t size;
  uint16_t number, next; /* next entry of the same bucket, 0 for none */
  const char *name;
} trilha_json_key;

struct trilha_json_keys {
  uint64_t factor; /* odd; chosen so that few buckets are shared */
  uint32_t shift;
  uint32_t count;
  uint32_t whole;           /* 1: names longer than 16 bytes are hashed whole, as heads and tails were not enough */
  trilha_json_key *entries; /* [1…count]; entry 0 matches nothing */
  char *names;
  uint16_t buckets[]; /* first entry of each bucket, 0 for none */
};

static inline uint64_t trilha_json_load8(const char *p) {
  uint64_t word;
  memcpy(&word, p, 8);
  return le64toh(word);
}

/* Names longer than this are compared beyond head and tail. */
enum { TRILHA_JSON_KEY_WORDS = 16 };

static inline uint32_t trilha_json_key_bucket(const trilha_json_keys *keys, uint64_t head, uint64_t tail,
                                              const char *name, size_t size) {
  if (TRILHA_JSON_UNLIKELY(keys->whole) && size > TRILHA_JSON_KEY_WORDS)
    head ^= trilha_hash_bytes(name, size, keys->factor);
  uint64_t mixed = (head ^ (uint64_t)size << 32) * keys->factor;
  mixed ^= (tail + keys->factor) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(mixed * keys->factor >> keys->shift);
}

static inline uint16_t trilha_json_key_lookup(const trilha_json_keys *keys, uint64_t head, uint64_t tail,
                                              const char *name, size_t size) {
  uint16_t i = keys->buckets[trilha_json_key_bucket(keys, head, tail, name, size)];
  while (i != 0) {
    const trilha_json_key *e = &keys->entries[i];
    if (e->head == head && e->tail == tail && e->size == size &&
        (size <= TRILHA_JSON_KEY_WORDS || memcmp(e->name, name, size) == 0))
      return e->number;
    i = e->next;
  }
  return 0;
}

/* --- numbers -------------------------------------------------------------------------------------------- */

/* Digits after the point when the number is written without an exponent; those that its spelling shows are kept, zeros
 * or not. */
uint64_t trilha_number_fraction_size(trilha_text a);

#endif
