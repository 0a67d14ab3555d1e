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
  LOOKED_THROUGH_MAX = 12 /* members compared one with another; more are put in a table */
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

/* The first name of a small object that was there before, or NULL. */
static const trilha_json_value *repeated_in_small(const trilha_json_value *object) {
  const trilha_json_value *seen[LOOKED_THROUGH_MAX], *name = object + 1;
  for (uint32_t i = 0; i < object->size; i++) {
    for (uint32_t j = 0; j < i; j++)
      if (same_name(seen[j], name)) return name;
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
  if (object->size <= LOOKED_THROUGH_MAX) {
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
  const trilha_json_value *repeated;               /* the earliest repeated name known so far; it lies ahead */
  uint64_t size;                                   /* bytes written so far, numbers expanded */
  const trilha_json_value *ends[STORED_DEPTH_MAX]; /* of the open containers */
  size_t depth;
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

static bool check_number(check *c, const trilha_json_value *v) {
  if ((v->flags & TRILHA_JSON_SMALL) != 0) {
    c->size += v->size;
    return true;
  }
  trilha_text text = trilha_json_text(v);
  uint64_t size = trilha_number_expanded_size(text);
  if (size > STORED_DIGITS_MAX + 1 || (size > STORED_DIGITS_MAX && (v->flags & TRILHA_JSON_NEGATIVE) == 0))
    return refuse(c, "JSON_NUMBER_RANGE", "a number needs more than 400 digits when written without an exponent");
  c->size += size + (trilha_number_fraction_size(text) > 0 ? 1 : 0); /* the decimal point */
  return true;
}

static bool check_scalar(check *c, const trilha_json_value *v) {
  if (v == c->repeated) return refuse(c, "JSON_DUPLICATE_KEY", "an object has two members of the same name");
  if (v->type == TRILHA_JSON_NUMBER) return check_number(c, v);
  if (v->type != TRILHA_JSON_STRING) {
    c->size += v->type == TRILHA_JSON_FALSE ? 5 : 4;
    return true;
  }
  if ((v->flags & TRILHA_JSON_NUL) != 0) return refuse(c, "JSON_NUL", "a string holds the character U+0000");
  c->size += written_size(v);
  return true;
}

/* Sets *ret_memory to false when there is none. */
static bool open_container(check *c, const trilha_json_value *v, bool *ret_memory) {
  if (c->depth == STORED_DEPTH_MAX)
    return refuse(c, "JSON_DEPTH", "arrays and objects are nested more than 255 levels deep");
  c->ends[c->depth++] = trilha_json_next(v);
  c->size += 2; /* brackets */
  if (v->type == TRILHA_JSON_ARRAY) return true;
  const trilha_json_value *repeated = NULL;
  *ret_memory = find_repeated(&c->names, v, &repeated);
  if (repeated != NULL && (c->repeated == NULL || repeated < c->repeated)) c->repeated = repeated;
  return *ret_memory;
}

/* The first value that cannot be stored, with the reason in the check; NULL when there is none. */
static const trilha_json_value *first_fault(check *c, bool *ret_memory) {
  const trilha_json_value *v = c->document->values, *end = v + c->document->count;
  for (; v < end; v++) {
    while (c->depth > 0 && v >= c->ends[c->depth - 1]) c->depth--;
    /* A comma or a colon before every value but the first of a container. */
    if (v != c->document->values && (v[-1].type < TRILHA_JSON_ARRAY || v[-1].size == 0)) c->size++;
    bool fine = v->type >= TRILHA_JSON_ARRAY ? open_container(c, v, ret_memory) : check_scalar(c, v);
    if (fine && c->size > STORED_BYTES_MAX)
      fine = refuse(c, "JSON_EXPANDED_SIZE",
                    "the text needs more than 2 MiB once its numbers are written without exponents");
    if (!fine) return v;
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
  check c = {.document = document};
  bool memory = true;
  const trilha_json_value *fault = first_fault(&c, &memory);
  free(c.names.slots);
  if (!memory) return trilha_error_no_memory(err);
  return fault == NULL ? TRILHA_OK : report(&c, fault, source, ret_fault, err);
}
