/* json: what a store could not keep faithfully (ruling R8). */
#include <stdlib.h>

#include "base/error.h"
#include "base/uuid.h"
#include "json/json_internal.h"
#include "json/number.h"

enum {
  STORED_DEPTH_MAX = 255,
  STORED_DIGITS_MAX = 400,
  STORED_BYTES_MAX = 2 << 20,
  SMALL_OBJECT_MAX = 64, /* members that are marked in a few bits; more are put in a table */
  MARKS_BITS = 9         /* 512 marks: fewer than four false alarms in a full small object */
};

/* --- repeated names ------------------------------------------------------------------------------------- */

/* Memory and seed for the names of one object after the other. */
typedef struct names {
  uint32_t *slots; /* offset of a name within its object's subtree, 0 for none */
  size_t capacity; /* a power of two */
  uint64_t seed;
} names;

static bool same_name(const trilha_json_value *a, const trilha_json_value *b) {
  return a->size == b->size && (a->size == 0 || memcmp(a->u.text, b->u.text, a->size) == 0);
}

/* The mark of a name, from its head, tail and size: names that are equal have the same one. The padding around a
 * document's text makes the two loads safe. */
static uint32_t mark_of(const trilha_json_value *name) {
  size_t size = name->size, shift = size < 8 ? 64 - 8 * size : 0;
  uint64_t head = trilha_json_load8(name->u.text), tail = trilha_json_load8(name->u.text + size - 8);
  /* Shorter names: only their own bytes, at the high end of both words. */
  if (size == 0) return 0;
  uint64_t mixed =
      (head << shift) * UINT64_C(0x9E3779B97F4A7C15) ^ (tail >> shift << shift) * UINT64_C(0xD6E8FEB86659FD93);
  return (uint32_t)((mixed + size) * UINT64_C(0xC2B2AE3D27D4EB4F) >> (64 - MARKS_BITS));
}

/* The first name of a small object that was there before, or NULL. Only names of the same mark are compared. */
static const trilha_json_value *repeated_in_small(const trilha_json_value *object) {
  const trilha_json_value *seen[SMALL_OBJECT_MAX], *name = object + 1;
  uint64_t marks[(1 << MARKS_BITS) / 64] = {0};
  for (uint32_t i = 0; i < object->size; i++) {
    uint32_t mark = mark_of(name);
    uint64_t bit = UINT64_C(1) << mark % 64;
    if ((marks[mark / 64] & bit) != 0)
      for (uint32_t j = 0; j < i; j++)
        if (same_name(seen[j], name)) return name;
    marks[mark / 64] |= bit;
    seen[i] = name;
    name = trilha_json_next(name + 1);
  }
  return NULL;
}

static bool names_reserve(names *n, size_t count) {
  size_t capacity = 64;
  while (capacity < count * 2) capacity *= 2;
  if (capacity > n->capacity) {
    free(n->slots);
    n->capacity = 0;
    n->slots = malloc(capacity * sizeof *n->slots);
    if (n->slots == NULL) return false;
    n->capacity = capacity;
    /* Names come from outside: without a secret seed their author could put them all in one place. */
    if (n->seed == 0 && !trilha_random_bytes(&n->seed, sizeof n->seed)) return false;
  }
  memset(n->slots, 0, capacity * sizeof *n->slots);
  return true;
}

static const trilha_json_value *repeated_in_large(names *n, const trilha_json_value *object) {
  size_t mask = 63;
  while (mask + 1 < (size_t)object->size * 2) mask = mask * 2 + 1;
  const trilha_json_value *name = object + 1;
  for (uint32_t i = 0; i < object->size; i++) {
    size_t at = (size_t)trilha_hash_bytes(name->u.text, name->size, n->seed) & mask;
    for (; n->slots[at] != 0; at = (at + 1) & mask)
      if (same_name(object + n->slots[at], name)) return name;
    n->slots[at] = (uint32_t)(name - object);
    name = trilha_json_next(name + 1);
  }
  return NULL;
}

/* False when out of memory. */
static bool find_repeated(names *n, const trilha_json_value *object, const trilha_json_value **ret_name) {
  *ret_name = NULL;
  if (object->size < 2) return true;
  if (object->size <= SMALL_OBJECT_MAX) {
    *ret_name = repeated_in_small(object);
    return true;
  }
  if (!names_reserve(n, object->size)) return false;
  *ret_name = repeated_in_large(n, object);
  return true;
}

/* --- one pass over the values ----------------------------------------------------------------------------- */

typedef struct check {
  const trilha_json_document *document;
  names names;
  const trilha_json_value *repeated; /* the earliest repeated name known so far; it lies ahead */
  bool exact;                        /* whether `size` counts every byte, or is a bound that only numbers add to */
  uint64_t size;                     /* bytes once written compactly with its numbers expanded */
  const char *code, *message;
} check;

static bool refuse(check *c, const char *code, const char *message) {
  c->code = code;
  c->message = message;
  return false;
}

/* Bytes of a string as it is written: without escapes in the source it needs none. */
static uint64_t written_size(const trilha_json_value *v) {
  uint64_t size = (uint64_t)v->size + 2;
  if ((v->flags & TRILHA_JSON_ESCAPED) == 0) return size;
  for (uint32_t i = 0; i < v->size; i++) {
    unsigned char c = (unsigned char)v->u.text[i];
    if (c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t')
      size += 1;
    else if (c < 0x20)
      size += 5;
  }
  return size;
}

static bool has_exponent(trilha_text number) {
  for (size_t i = 0; i < number.size; i++)
    if ((number.data[i] | 0x20) == 'e') return true;
  return false;
}

/* Without `exact` the size is the source's and what numbers grow by: written compactly, nothing else gets longer. */
static bool check_number(check *c, const trilha_json_value *v) {
  if ((v->flags & TRILHA_JSON_SMALL) != 0) {
    if (c->exact) c->size += v->size;
    return true;
  }
  trilha_text text = trilha_json_text(v);
  if (!c->exact && v->size <= STORED_DIGITS_MAX && !has_exponent(text)) return true;
  uint64_t size = trilha_number_expanded_size(text);
  if (size > STORED_DIGITS_MAX + 1 || (size > STORED_DIGITS_MAX && (v->flags & TRILHA_JSON_NEGATIVE) == 0))
    return refuse(c, "JSON_NUMBER_RANGE", "a number needs more than 400 digits when written without an exponent");
  size += trilha_number_fraction_size(text) > 0 ? 1 : 0; /* the decimal point */
  if (c->exact)
    c->size += size;
  else if (size > v->size)
    c->size += size - v->size;
  return true;
}

static bool check_scalar(check *c, const trilha_json_value *v) {
  if (v == c->repeated) return refuse(c, "JSON_DUPLICATE_KEY", "an object has two members of the same name");
  if (v->type == TRILHA_JSON_NUMBER) return check_number(c, v);
  if (v->type == TRILHA_JSON_STRING) {
    if ((v->flags & TRILHA_JSON_NUL) != 0) return refuse(c, "JSON_NUL", "a string holds the character U+0000");
    if (c->exact) c->size += written_size(v);
  } else if (c->exact) {
    c->size += v->type == TRILHA_JSON_FALSE ? 5 : 4;
  }
  return true;
}

/* Sets *ret_memory to false when there is none. */
static bool open_container(check *c, const trilha_json_value *v, bool *ret_memory) {
  if (c->exact) c->size += 2; /* brackets */
  if (v->type == TRILHA_JSON_ARRAY) return true;
  const trilha_json_value *repeated = NULL;
  *ret_memory = find_repeated(&c->names, v, &repeated);
  if (repeated != NULL && (c->repeated == NULL || repeated < c->repeated)) c->repeated = repeated;
  return *ret_memory;
}

/* A comma or a colon before every value but the first of a container. */
static bool follows_a_mark(const check *c, const trilha_json_value *v) {
  return v != c->document->values && (v[-1].type < TRILHA_JSON_ARRAY || v[-1].size == 0);
}

/* The first value before `end` that cannot be stored, with the reason in the check; NULL when there is none. */
static const trilha_json_value *first_fault(check *c, const trilha_json_value *end, bool *ret_memory) {
  for (const trilha_json_value *v = c->document->values; v < end; v++) {
    if (c->exact && follows_a_mark(c, v)) c->size++;
    bool fine = v->type >= TRILHA_JSON_ARRAY ? open_container(c, v, ret_memory) : check_scalar(c, v);
    if (fine && c->size > STORED_BYTES_MAX)
      fine = refuse(c, "JSON_EXPANDED_SIZE",
                    "the text needs more than 2 MiB once its numbers are written without exponents");
    if (!fine) return v;
  }
  return NULL;
}

/* The first container that is nested too deeply; NULL when there is none, which the reader's count tells without a
 * look. */
static const trilha_json_value *first_too_deep(const trilha_json_document *d) {
  if (d->depth <= STORED_DEPTH_MAX) return NULL;
  const trilha_json_value *ends[STORED_DEPTH_MAX];
  size_t depth = 0;
  for (const trilha_json_value *v = d->values; v < d->values + d->count; v++) {
    while (depth > 0 && v >= ends[depth - 1]) depth--;
    if (v->type < TRILHA_JSON_ARRAY) continue;
    if (depth == STORED_DEPTH_MAX) return v;
    ends[depth++] = trilha_json_next(v);
  }
  return NULL;
}

/* --- where it is ------------------------------------------------------------------------------------------ */

static size_t string_end(trilha_text source, size_t at) {
  for (at++; at < source.size && source.data[at] != '"'; at++)
    if (source.data[at] == '\\') at++;
  return at + 1;
}

/* Values do not say where they began, but every value is one token of the source, in the same order: count them. This
 * runs for a refused text only. */
static size_t token_offset(trilha_text source, size_t index) {
  size_t at = 0;
  while (at < source.size) {
    char c = source.data[at];
    if (c == '\0' || strchr(" \t\r\n,:]}", c) != NULL) {
      at++;
      continue;
    }
    if (index-- == 0) return at;
    if (c == '"') {
      at = string_end(source, at);
    } else if (c == '[' || c == '{') {
      at++;
    } else {
      while (at < source.size && source.data[at] != '\0' && strchr(" \t\r\n,]}", source.data[at]) == NULL) at++;
    }
  }
  return source.size;
}

static trilha_status report(const check *c, const trilha_json_value *v, trilha_text source,
                            trilha_json_fault *ret_fault, trilha_error *err) {
  TRILHA_BUFFER_SCOPED pointer;
  trilha_buffer_init(&pointer, 0);
  trilha_json_pointer_to(c->document->values, v, &pointer);
  size_t offset = token_offset(source, (size_t)(v - c->document->values));
  return trilha_json_fault_set(ret_fault, err, TRILHA_INVALID, c->code, c->message, source, offset,
                               trilha_buffer_text(&pointer));
}

trilha_status trilha_json_check_storable(const trilha_json_document *document, trilha_text source,
                                         trilha_json_fault *ret_fault, trilha_error *err) {
  const trilha_json_value *too_deep = first_too_deep(document), *end = document->values + document->count;
  if (too_deep != NULL) end = too_deep;
  check c = {.document = document, .size = document->text_size};
  bool memory = true;
  const trilha_json_value *fault = first_fault(&c, end, &memory);
  if (fault != NULL && memory && c.size > STORED_BYTES_MAX) {
    /* Only a bound has been passed: look again, counting. */
    c = (check){.document = document, .names = c.names, .exact = true};
    fault = first_fault(&c, end, &memory);
  }
  free(c.names.slots);
  if (!memory) return trilha_error_no_memory(err);
  if (fault == NULL && too_deep != NULL) {
    refuse(&c, "JSON_DEPTH", "arrays and objects are nested more than 255 levels deep");
    fault = too_deep;
  }
  return fault == NULL ? TRILHA_OK : report(&c, fault, source, ret_fault, err);
}
