/* schema/pattern_shape: patterns so simple that a scan of the subject answers them. */
#include <stdlib.h>

#include "schema/pattern_internal.h"

/* What the first byte of a character tells about its membership. */
enum { LEAD_OUTSIDE = 0, LEAD_MEMBER = 1, LEAD_ASK = 2 };
#define SEQUENCE_CLASSES_MAX 8 /* bits of a table's byte */

typedef struct body {
  trilha_item *list; /* SET items only */
  size_t count;
  bool at_start, at_end;
} body;

/* Only sets, with ^ before and $ behind at most. */
static bool flat_body(const trilha_items *items, trilha_arena *arena, body *ret_body) {
  size_t from = 1, to = items->count - 1;
  *ret_body = (body){0};
  while (from < to && items->list[from].kind == TRILHA_ITEM_START) {
    ret_body->at_start = true;
    from++;
  }
  while (to > from && items->list[to - 1].kind == TRILHA_ITEM_END) {
    ret_body->at_end = true;
    to--;
  }
  for (size_t i = from; i < to; i++)
    if (items->list[i].kind != TRILHA_ITEM_SET || !items->list[i].members->known) return false;
  ret_body->count = to - from;
  ret_body->list = trilha_arena_array(arena, ret_body->count, sizeof *ret_body->list);
  if (ret_body->list == NULL) return false; /* without memory the next step says so */
  if (ret_body->count > 0) memcpy(ret_body->list, items->list + from, ret_body->count * sizeof *ret_body->list);
  return true;
}

/* Where the pattern is open at an end, what may be absent there is, and what must be there is there just often enough.
 */
static void trim(body *b) {
  while (!b->at_end && b->count > 0) {
    trilha_item *last = &b->list[b->count - 1];
    last->max = last->min;
    if (last->min > 0) break;
    b->count--;
  }
  while (!b->at_start && b->count > 0) {
    b->list[0].max = b->list[0].min;
    if (b->list[0].min > 0) break;
    b->list++;
    b->count--;
  }
  size_t kept = 0;
  for (size_t i = 0; i < b->count; i++)
    if (b->list[i].max > 0) b->list[kept++] = b->list[i];
  b->count = kept;
}

static bool matches_nothing(const body *b) {
  for (size_t i = 0; i < b->count; i++)
    if (b->list[i].min > 0 && b->list[i].members->all.count == 0) return true;
  return false;
}

static const trilha_set *set_of(const trilha_item *item) {
  return &item->members->all;
}

/* --- literals ------------------------------------------------------------------------------------- */

static bool is_literal(const body *b) {
  size_t size = 0;
  for (size_t i = 0; i < b->count; i++) {
    const trilha_set *set = set_of(&b->list[i]);
    if (b->list[i].min != b->list[i].max || set->count != 1 || set->ranges[0].low != set->ranges[0].high) return false;
    if (b->list[i].min > 1024) return false;
    size += b->list[i].min;
  }
  return size <= 4096;
}

static trilha_status compile_literal(const body *b, trilha_shape *shape, trilha_error *err) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  trilha_buffer_append(&text, "", 0);
  for (size_t i = 0; i < b->count; i++) {
    char bytes[4];
    size_t size = trilha_utf8_put(bytes, set_of(&b->list[i])->ranges[0].low);
    for (uint32_t n = 0; n < b->list[i].min; n++) trilha_buffer_append(&text, bytes, size);
  }
  trilha_status status = trilha_buffer_check(&text, err);
  if (status != TRILHA_OK) return status;
  shape->literal = malloc(text.size + 1);
  if (shape->literal == NULL) return trilha_error_no_memory(err);
  if (text.size > 0) memcpy(shape->literal, text.data, text.size);
  shape->literal_size = text.size;
  shape->kind = TRILHA_SHAPE_LITERAL;
  return TRILHA_OK;
}

static bool match_literal(const trilha_shape *shape, trilha_text subject) {
  size_t size = shape->literal_size;
  if (size == 0) return !shape->at_start || !shape->at_end || subject.size == 0;
  if (subject.size < size) return false;
  if (shape->at_start && shape->at_end && subject.size != size) return false;
  if (shape->at_start) return memcmp(subject.data, shape->literal, size) == 0;
  if (shape->at_end) return memcmp(subject.data + subject.size - size, shape->literal, size) == 0;
  return memmem(subject.data, subject.size, shape->literal, size) != NULL;
}

/* --- one set ------------------------------------------------------------------------------------------ */

static uint8_t lead_of(const trilha_set *set, unsigned byte) {
  if (byte < 0x80) return trilha_set_has(set, byte) ? LEAD_MEMBER : LEAD_OUTSIDE;
  uint32_t low, high;
  if (byte >= 0xC2 && byte < 0xE0) {
    low = (byte & 0x1FU) << 6;
    high = low + 0x3F;
  } else if (byte >= 0xE0 && byte < 0xF0) {
    low = (byte & 0x0FU) << 12;
    high = low + 0xFFF;
    if (byte == 0xE0) low = 0x800;
    if (byte == 0xED) high = 0xD7FF; /* a valid subject has no surrogates */
  } else if (byte >= 0xF0 && byte < 0xF5) {
    low = (byte & 0x07U) << 18;
    high = low + 0x3FFFF;
    if (byte == 0xF0) low = 0x10000;
    if (byte == 0xF4) high = TRILHA_CODE_POINT_MAX;
  } else {
    return LEAD_OUTSIDE; /* no character begins with it */
  }
  if (trilha_set_has_all(set, low, high)) return LEAD_MEMBER;
  return trilha_set_has_any(set, low, high) ? LEAD_ASK : LEAD_OUTSIDE;
}

static trilha_status compile_one_set(const body *b, trilha_shape *shape, trilha_error *err) {
  const trilha_set *set = set_of(&b->list[0]);
  for (unsigned byte = 0; byte < 256; byte++) shape->table[byte] = lead_of(set, byte);
  shape->ranges = malloc((set->count + 1) * sizeof *shape->ranges);
  if (shape->ranges == NULL) return trilha_error_no_memory(err);
  if (set->count > 0) memcpy(shape->ranges, set->ranges, set->count * sizeof *set->ranges);
  shape->range_count = set->count;
  shape->min = b->list[0].min;
  shape->max = b->list[0].max;
  shape->kind = b->at_start && b->at_end ? TRILHA_SHAPE_RUN : TRILHA_SHAPE_ANY_OF;
  return TRILHA_OK;
}

/* A member at *at; moves past the character either way. */
static bool take_member(const trilha_shape *shape, trilha_text subject, size_t *at) {
  unsigned char byte = (unsigned char)subject.data[*at];
  uint8_t lead = shape->table[byte];
  if (lead != LEAD_ASK) {
    size_t size = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    size_t left = subject.size - *at;
    *at += size < left ? size : left;
    return lead == LEAD_MEMBER;
  }
  const trilha_set set = {.ranges = shape->ranges, .count = shape->range_count};
  return trilha_set_has(&set, trilha_utf8_next(subject.data, subject.size, at));
}

static bool match_run(const trilha_shape *shape, trilha_text subject) {
  const unsigned char *data = (const unsigned char *)subject.data;
  uint64_t count = 0;
  for (size_t at = 0; at < subject.size;) {
    size_t from = at;
    while (at < subject.size && data[at] < 0x80 && shape->table[data[at]] == LEAD_MEMBER) at++;
    count += at - from;
    if (at == subject.size) break;
    if (!take_member(shape, subject, &at)) return false;
    count++;
  }
  return count >= shape->min && (shape->max == TRILHA_PATTERN_UNBOUNDED || count <= shape->max);
}

static bool match_any_of(const trilha_shape *shape, trilha_text subject) {
  size_t at = 0;
  if (shape->at_start) return subject.size > 0 && take_member(shape, subject, &at);
  while (at < subject.size)
    if (take_member(shape, subject, &at)) return true;
  return false;
}

/* --- sequences ------------------------------------------------------------------------------------------ */

static bool same_ascii(const trilha_set *a, const trilha_set *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++)
    if (a->ranges[i].low != b->ranges[i].low || a->ranges[i].high != b->ranges[i].high) return false;
  return true;
}

static bool disjoint(const trilha_set *a, const trilha_set *b) {
  for (size_t i = 0; i < a->count; i++)
    if (trilha_set_has_any(b, a->ranges[i].low, a->ranges[i].high)) return false;
  return true;
}

/* Greedy without looking back is right when an element of varying length cannot take what one behind it needs: those up
 * to and with the next one that must take something. */
static bool is_greedy_safe(const body *b, size_t index) {
  const trilha_item *item = &b->list[index];
  if (item->min == item->max) return true;
  for (size_t i = index + 1; i < b->count; i++) {
    if (!disjoint(set_of(item), set_of(&b->list[i]))) return false;
    if (b->list[i].min > 0) break;
  }
  return true;
}

static bool is_sequence(const body *b) {
  if (!b->at_start || b->count > TRILHA_PATTERN_SEQUENCE_MAX) return false;
  for (size_t i = 0; i < b->count; i++) {
    const trilha_set *set = set_of(&b->list[i]);
    if (set->count == 0 || set->ranges[set->count - 1].high > 0x7F || !is_greedy_safe(b, i)) return false;
  }
  return true;
}

static trilha_status compile_sequence(const body *b, trilha_shape *shape, trilha_error *err) {
  const trilha_set *classes[SEQUENCE_CLASSES_MAX];
  size_t count = 0;
  trilha_shape_element *elements = calloc(b->count + 1, sizeof *elements);
  if (elements == NULL) return trilha_error_no_memory(err);
  for (size_t i = 0; i < b->count; i++) {
    size_t class = 0;
    while (class < count && !same_ascii(classes[class], set_of(&b->list[i]))) class ++;
    if (class == SEQUENCE_CLASSES_MAX) {
      free(elements);
      memset(shape->table, 0, sizeof shape->table);
      return TRILHA_OK; /* too many classes: an automaton does it */
    }
    if (class == count) {
      classes[count++] = set_of(&b->list[i]);
      for (unsigned byte = 0; byte < 0x80; byte++)
        if (trilha_set_has(classes[class], byte)) shape->table[byte] |= (uint8_t)(1U << class);
    }
    elements[i] = (trilha_shape_element){b->list[i].min, b->list[i].max, (uint8_t)(1U << class)};
  }
  shape->elements = elements;
  shape->element_count = b->count;
  shape->kind = TRILHA_SHAPE_SEQUENCE;
  return TRILHA_OK;
}

static bool match_sequence(const trilha_shape *shape, trilha_text subject) {
  const unsigned char *at = (const unsigned char *)subject.data, *end = at + subject.size;
  for (size_t i = 0; i < shape->element_count; i++) {
    const trilha_shape_element *element = &shape->elements[i];
    size_t left = (size_t)(end - at), most = element->max < left ? element->max : left, taken = 0;
    while (taken < most && (shape->table[at[taken]] & element->bit) != 0) taken++;
    if (taken < element->min) return false;
    at += taken;
  }
  return !shape->at_end || at == end;
}

/* --- the whole -------------------------------------------------------------------------------------------- */

trilha_status trilha_shape_compile(const trilha_items *items, trilha_arena *arena, trilha_shape *ret_shape,
                                   trilha_error *err) {
  body b;
  *ret_shape = (trilha_shape){.kind = TRILHA_SHAPE_NONE};
  if (!flat_body(items, arena, &b)) return TRILHA_OK;
  trim(&b);
  ret_shape->at_start = b.at_start;
  ret_shape->at_end = b.at_end;
  if (matches_nothing(&b)) {
    ret_shape->kind = TRILHA_SHAPE_NEVER;
    return TRILHA_OK;
  }
  if (b.count == 0 && !(b.at_start && b.at_end)) {
    ret_shape->kind = TRILHA_SHAPE_ALWAYS;
    return TRILHA_OK;
  }
  if (is_literal(&b)) return compile_literal(&b, ret_shape, err);
  if (is_sequence(&b)) {
    trilha_status status = compile_sequence(&b, ret_shape, err);
    if (status != TRILHA_OK || ret_shape->kind != TRILHA_SHAPE_NONE) return status;
  }
  bool one_anywhere = b.count == 1 && !b.at_end && b.list[0].min == 1;
  if (b.count == 1 && ((b.at_start && b.at_end) || one_anywhere)) return compile_one_set(&b, ret_shape, err);
  return TRILHA_OK;
}

void trilha_shape_done(trilha_shape *shape) {
  free(shape->literal);
  free(shape->ranges);
  free(shape->elements);
  *shape = (trilha_shape){.kind = TRILHA_SHAPE_NONE};
}

bool trilha_shape_match(const trilha_shape *shape, trilha_text subject) {
  switch (shape->kind) {
    case TRILHA_SHAPE_ALWAYS:
      return true;
    case TRILHA_SHAPE_LITERAL:
      return match_literal(shape, subject);
    case TRILHA_SHAPE_RUN:
      return match_run(shape, subject);
    case TRILHA_SHAPE_ANY_OF:
      return match_any_of(shape, subject);
    case TRILHA_SHAPE_SEQUENCE:
      return match_sequence(shape, subject);
    case TRILHA_SHAPE_NEVER:
    case TRILHA_SHAPE_NONE:
    default:
      return false;
  }
}
