/* json: writing values, compactly as they were or in the one canonical form. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "json/json_internal.h"
#include "json/number.h"

/* --- strings -------------------------------------------------------------------------------------------- */

static void write_escape(trilha_buffer *out, unsigned char c) {
  static const char digits[] = "0123456789abcdef";
  static const char letters[32] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
  char bytes[6] = {'\\', (char)c};
  size_t size = 2;
  if (c < 0x20) {
    bytes[1] = letters[c];
    if (bytes[1] == '\0') {
      memcpy(bytes + 1, "u00", 3);
      bytes[4] = digits[c >> 4];
      bytes[5] = digits[c & 15];
      size = 6;
    }
  }
  trilha_buffer_append(out, bytes, size);
}

static bool needs_escape(char c) {
  return (unsigned char)c < 0x20 || c == '"' || c == '\\';
}

/* No byte of the word needs an escape, or: one may. A byte below 0x20, or one that is zero once the quote or the
 * backslash is taken out of it, borrows into its own high bit. */
static bool is_plain_word(uint64_t word) {
  const uint64_t ones = UINT64_MAX / 255, highs = ones * 0x80;
  uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
  return ((((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & highs) == 0;
}

static uint64_t eight_at(const char *data) {
  uint64_t word;
  memcpy(&word, data, sizeof word);
  return word;
}

/* The last bytes, fewer than eight, from `at` on, as one word: with bytes before them that are known to be plain, or
 * some of them twice, or blanks, which are plain. */
static uint64_t last_of(const char *data, size_t at, size_t size) {
  if (size >= 8) return eight_at(data + size - 8);
  size_t left = size - at;
  if (left >= 4) {
    uint32_t first, last;
    memcpy(&first, data + at, sizeof first);
    memcpy(&last, data + size - sizeof last, sizeof last);
    return first | (uint64_t)last << 32;
  }
  uint64_t word = UINT64_C(0x2020202020000000);
  return word | (unsigned char)data[at] | (uint64_t)(unsigned char)data[at + left / 2] << 8 |
         (uint64_t)(unsigned char)data[size - 1] << 16;
}

/* How many bytes from the start need no escape. */
static size_t plain_prefix(const char *data, size_t size) {
  size_t i = 0;
  while (i + 8 <= size && is_plain_word(eight_at(data + i))) i += 8;
  if (i == size || (size - i < 8 && is_plain_word(last_of(data, i, size)))) return size;
  while (i < size && !needs_escape(data[i])) i++;
  return i;
}

void trilha_json_write_string(trilha_buffer *out, trilha_text text) {
  if (!trilha_buffer_reserve(out, text.size + 2)) return;
  size_t at = text.size == 0 ? 0 : plain_prefix(text.data, text.size); /* empty: data may be NULL */
  char *to = out->data + out->size;
  *to++ = '"';
  if (at > 0) memcpy(to, text.data, at);
  to += at;
  if (at == text.size) *to++ = '"';
  *to = '\0';
  out->size = (size_t)(to - out->data);
  if (at == text.size) return;
  while (at < text.size) {
    write_escape(out, (unsigned char)text.data[at++]);
    size_t plain = at == text.size ? 0 : plain_prefix(text.data + at, text.size - at);
    trilha_buffer_append(out, text.data + at, plain);
    at += plain;
  }
  trilha_buffer_add_char(out, '"');
}

/* --- as they were --------------------------------------------------------------------------------------- */

static void write_scalar(trilha_buffer *out, const trilha_json_value *v) {
  switch (v->type) {
    case TRILHA_JSON_NULL:
      trilha_buffer_append(out, "null", 4);
      break;
    case TRILHA_JSON_FALSE:
      trilha_buffer_append(out, "false", 5);
      break;
    case TRILHA_JSON_TRUE:
      trilha_buffer_append(out, "true", 4);
      break;
    case TRILHA_JSON_NUMBER:
      trilha_buffer_append(out, v->u.text, v->size);
      break;
    default:
      trilha_json_write_string(out, trilha_json_text(v));
  }
}

/* An open container while writing. */
typedef struct open_value {
  const trilha_json_value *end; /* the place after its last value */
  bool object;
} open_value;

void trilha_json_write(trilha_buffer *out, const trilha_json_value *value) {
  open_value levels[TRILHA_JSON_STACK_MAX];
  size_t depth = 0;
  const trilha_json_value *v = value, *end = trilha_json_next(value);
  bool first = true; /* of its container */
  for (;;) {
    while (depth > 0 && v == levels[depth - 1].end) {
      trilha_buffer_add_char(out, levels[--depth].object ? '}' : ']');
      first = false;
    }
    if (v == end) break;
    if (!first) trilha_buffer_add_char(out, ',');
    if (depth > 0 && levels[depth - 1].object) {
      trilha_json_write_string(out, trilha_json_text(v++));
      trilha_buffer_add_char(out, ':');
    }
    first = v->type >= TRILHA_JSON_ARRAY;
    if (first) {
      TRILHA_ASSERT(depth < TRILHA_JSON_STACK_MAX);
      levels[depth++] = (open_value){trilha_json_next(v), v->type == TRILHA_JSON_OBJECT};
      trilha_buffer_add_char(out, v->type == TRILHA_JSON_OBJECT ? '{' : '[');
    } else {
      write_scalar(out, v);
    }
    v++;
  }
}

/* --- canonical ------------------------------------------------------------------------------------------ */

/* An open container: the values that are still to be written. Members are taken from a sorted list of their names. */
typedef struct canonical_level {
  const trilha_json_value *next; /* array: the next item */
  const trilha_json_value **names;
  uint32_t size, at; /* items or members in all, and how many of them are written */
  bool object;
} canonical_level;

static int by_name(const void *a, const void *b) {
  const trilha_json_value *const *x = a, *const *y = b;
  int order = trilha_text_compare(trilha_json_text(*x), trilha_json_text(*y));
  /* Equal names are not storable; keep their order all the same, so that the answer does not depend on the sort. */
  return order != 0 ? order : *x < *y ? -1 : *x > *y;
}

static trilha_status open_level(canonical_level *level, const trilha_json_value *v, trilha_error *err) {
  *level = (canonical_level){.next = v + 1, .size = v->size, .object = v->type == TRILHA_JSON_OBJECT};
  if (!level->object || v->size == 0) return TRILHA_OK;
  level->names = malloc(v->size * sizeof *level->names);
  if (level->names == NULL) return trilha_error_no_memory(err);
  const trilha_json_value *key = v + 1;
  for (uint32_t i = 0; i < v->size; i++) {
    level->names[i] = key;
    key = trilha_json_next(key + 1);
  }
  qsort(level->names, v->size, sizeof *level->names, by_name);
  return TRILHA_OK;
}

/* The next value of an open container, its comma and name written. */
static const trilha_json_value *take_next(trilha_buffer *out, canonical_level *level) {
  if (level->at > 0) trilha_buffer_add_char(out, ',');
  const trilha_json_value *v = level->next;
  if (level->object) {
    const trilha_json_value *name = level->names[level->at];
    trilha_json_write_string(out, trilha_json_text(name));
    trilha_buffer_add_char(out, ':');
    v = name + 1;
  } else {
    level->next = trilha_json_next(v);
  }
  level->at++;
  return v;
}

typedef struct canonical_stack {
  canonical_level levels[TRILHA_JSON_STACK_MAX];
  size_t depth;
} canonical_stack;

static trilha_status canonical_value(trilha_buffer *out, canonical_stack *s, const trilha_json_value *v,
                                     trilha_error *err) {
  if (v->type == TRILHA_JSON_NUMBER) return trilha_number_write_canonical(out, trilha_json_text(v), err);
  if (v->type < TRILHA_JSON_ARRAY) {
    write_scalar(out, v);
    return TRILHA_OK;
  }
  TRILHA_ASSERT(s->depth < TRILHA_JSON_STACK_MAX);
  trilha_status status = open_level(&s->levels[s->depth], v, err);
  if (status != TRILHA_OK) return status;
  s->depth++;
  trilha_buffer_add_char(out, v->type == TRILHA_JSON_OBJECT ? '{' : '[');
  return TRILHA_OK;
}

static void close_level(trilha_buffer *out, canonical_stack *s) {
  canonical_level *level = &s->levels[--s->depth];
  free(level->names);
  trilha_buffer_add_char(out, level->object ? '}' : ']');
}

trilha_status trilha_json_write_canonical(trilha_buffer *out, const trilha_json_value *value, trilha_error *err) {
  canonical_stack *s = malloc(sizeof *s);
  if (s == NULL) return trilha_error_no_memory(err);
  s->depth = 0;
  trilha_status status = canonical_value(out, s, value, err);
  while (status == TRILHA_OK && s->depth > 0) {
    canonical_level *level = &s->levels[s->depth - 1];
    if (level->at == level->size)
      close_level(out, s);
    else
      status = canonical_value(out, s, take_next(out, level), err);
  }
  while (s->depth > 0) free(s->levels[--s->depth].names);
  free(s);
  return status == TRILHA_OK ? trilha_buffer_check(out, err) : status;
}
