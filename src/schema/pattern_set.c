/* schema/pattern_set: sets of code points as sorted ranges. */
#include <stdlib.h>

#include "schema/pattern_internal.h"

void trilha_set_add(trilha_set *set, uint32_t low, uint32_t high, trilha_arena *arena) {
  if (set->count == set->capacity) {
    size_t capacity = set->capacity == 0 ? 2 : set->capacity * 2;
    trilha_range *ranges = trilha_arena_array(arena, capacity, sizeof *ranges);
    if (ranges == NULL) {
      set->failed = true;
      return;
    }
    if (set->count > 0) memcpy(ranges, set->ranges, set->count * sizeof *ranges);
    set->ranges = ranges;
    set->capacity = capacity;
  }
  set->ranges[set->count++] = (trilha_range){low, high};
}

void trilha_set_add_set(trilha_set *set, const trilha_set *other, trilha_arena *arena) {
  for (size_t i = 0; i < other->count; i++) trilha_set_add(set, other->ranges[i].low, other->ranges[i].high, arena);
}

static int compare_ranges(const void *a, const void *b) {
  const trilha_range *x = a, *y = b;
  return x->low < y->low ? -1 : x->low > y->low;
}

#define SURROGATE_FIRST 0xD800U
#define SURROGATE_LAST  0xDFFFU

/* The surrogates are first counted in, so that a range around them is one range, in whatever way it was written. */
void trilha_set_finish(trilha_set *set) {
  size_t kept = 0;
  for (size_t i = 0; i < set->count; i++) {
    trilha_range r = set->ranges[i];
    if (r.low >= SURROGATE_FIRST && r.low <= SURROGATE_LAST) r.low = SURROGATE_LAST + 1;
    if (r.high >= SURROGATE_FIRST && r.high <= SURROGATE_LAST) r.high = SURROGATE_FIRST - 1;
    if (r.low <= r.high) set->ranges[kept++] = r;
  }
  set->count = kept;
  if (kept < 2) return;
  qsort(set->ranges, kept, sizeof *set->ranges, compare_ranges);
  size_t last = 0;
  for (size_t i = 1; i < kept; i++) {
    trilha_range r = set->ranges[i];
    uint32_t end = set->ranges[last].high;
    bool joined = r.low <= end + 1 || (end == SURROGATE_FIRST - 1 && r.low == SURROGATE_LAST + 1);
    if (!joined)
      set->ranges[++last] = r;
    else if (r.high > end)
      set->ranges[last].high = r.high;
  }
  set->count = last + 1;
}

void trilha_set_invert(trilha_set *set, trilha_arena *arena) {
  trilha_set inverted = {.failed = set->failed};
  uint32_t from = 0;
  for (size_t i = 0; i < set->count; i++) {
    if (set->ranges[i].low > from) trilha_set_add(&inverted, from, set->ranges[i].low - 1, arena);
    from = set->ranges[i].high + 1;
  }
  if (from <= TRILHA_CODE_POINT_MAX) trilha_set_add(&inverted, from, TRILHA_CODE_POINT_MAX, arena);
  trilha_set_finish(&inverted);
  *set = inverted;
}

/* The range that holds code_point or is the first above it; set->count when there is none. */
static size_t set_position(const trilha_set *set, uint32_t code_point) {
  size_t low = 0, high = set->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (set->ranges[middle].high < code_point)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool trilha_set_has(const trilha_set *set, uint32_t code_point) {
  return trilha_set_has_any(set, code_point, code_point);
}

bool trilha_set_has_any(const trilha_set *set, uint32_t low, uint32_t high) {
  size_t i = set_position(set, low);
  return i < set->count && set->ranges[i].low <= high;
}

bool trilha_set_has_all(const trilha_set *set, uint32_t low, uint32_t high) {
  size_t i = set_position(set, low);
  return i < set->count && set->ranges[i].low <= low && set->ranges[i].high >= high;
}

/* --- class escapes -------------------------------------------------------------------------------- */

static const trilha_range digits[] = {{'0', '9'}};
static const trilha_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
/* WhiteSpace and LineTerminator of ECMA-262: every Space_Separator, and U+FEFF. */
static const trilha_range spaces[] = {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                                      {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                                      {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
static const trilha_range line_ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

static void add_ranges(trilha_set *set, const trilha_range *ranges, size_t count, bool outside, trilha_arena *arena) {
  uint32_t from = 0;
  for (size_t i = 0; i < count; i++) {
    if (!outside)
      trilha_set_add(set, ranges[i].low, ranges[i].high, arena);
    else if (ranges[i].low > from)
      trilha_set_add(set, from, ranges[i].low - 1, arena);
    from = ranges[i].high + 1;
  }
  if (outside) trilha_set_add(set, from, TRILHA_CODE_POINT_MAX, arena);
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void trilha_set_add_escape(trilha_set *set, char escape, trilha_arena *arena) {
  switch (escape) {
    case 'd':
    case 'D':
      add_ranges(set, digits, COUNT_OF(digits), escape == 'D', arena);
      break;
    case 'w':
    case 'W':
      add_ranges(set, words, COUNT_OF(words), escape == 'W', arena);
      break;
    case 's':
    case 'S':
      add_ranges(set, spaces, COUNT_OF(spaces), escape == 'S', arena);
      break;
    default: /* '.' */
      add_ranges(set, line_ends, COUNT_OF(line_ends), true, arena);
      break;
  }
}
