/* json: equality and hashes of values, as JSON Schema understands them. */
#include <stdlib.h>

#include "base/assert.h"
#include "json/json_internal.h"
#include "json/number.h"

/* Objects of at most this many members are matched by looking; larger ones are sorted by name first. */
enum { LOOKED_THROUGH_MAX = 16 };

/* --- scalars -------------------------------------------------------------------------------------------- */

static bool same_bytes(const trilha_json_value *a, const trilha_json_value *b) {
  return a->size == b->size && (a->size == 0 || memcmp(a->u.text, b->u.text, a->size) == 0);
}

static bool numbers_equal(const trilha_json_value *a, const trilha_json_value *b) {
  if (same_bytes(a, b)) return true;
  return trilha_number_compare(trilha_json_text(a), trilha_json_text(b)) == 0;
}

/* Whether two values can be equal as far as they themselves show: all of a scalar, kind and size of a container. */
static bool outsides_equal(const trilha_json_value *a, const trilha_json_value *b) {
  if (a->type != b->type) return false;
  if (a->type == TRILHA_JSON_NUMBER) return numbers_equal(a, b);
  if (a->type == TRILHA_JSON_STRING) return same_bytes(a, b);
  return a->size == b->size;
}

/* --- matching members ----------------------------------------------------------------------------------- */

/* A pair of open containers. Members are matched by name and, where a name is repeated, by the order of its
 * occurrences. */
typedef struct pair {
  const trilha_json_value *a, *b;                 /* the containers */
  const trilha_json_value *next_a, *next_b;       /* item or name to compare next; next_b only while `aligned` */
  const trilha_json_value **sorted_a, **sorted_b; /* names, or NULL */
  uint32_t at;
  bool aligned; /* so far the names came in the same order */
} pair;

static int by_name(const void *a, const void *b) {
  const trilha_json_value *const *x = a, *const *y = b;
  int order = trilha_text_compare(trilha_json_text(*x), trilha_json_text(*y));
  return order != 0 ? order : *x < *y ? -1 : *x > *y;
}

static const trilha_json_value **sorted_names(const trilha_json_value *object) {
  const trilha_json_value **names = malloc(object->size * sizeof *names);
  if (names == NULL) return NULL;
  const trilha_json_value *name = object + 1;
  for (uint32_t i = 0; i < object->size; i++) {
    names[i] = name;
    name = trilha_json_next(name + 1);
  }
  qsort(names, object->size, sizeof *names, by_name);
  return names;
}

/* The first time the order differs in a large object. Without memory both stay NULL and members are looked for one by
 * one: slower, never wrong. */
static void sort_both(pair *p) {
  p->sorted_a = sorted_names(p->a);
  p->sorted_b = p->sorted_a == NULL ? NULL : sorted_names(p->b);
  if (p->sorted_b == NULL) {
    free(p->sorted_a);
    p->sorted_a = NULL;
  }
  p->at = 0;
}

/* The partner of the name `wanted` of a: in b, the same occurrence of the same name. */
static const trilha_json_value *look_for(const pair *p, const trilha_json_value *wanted) {
  uint32_t occurrence = 0;
  for (const trilha_json_value *n = p->a + 1; n < wanted; n = trilha_json_next(n + 1))
    occurrence += same_bytes(n, wanted);
  const trilha_json_value *n = p->b + 1;
  for (uint32_t i = 0; i < p->b->size; i++) {
    if (same_bytes(n, wanted) && occurrence-- == 0) return n;
    n = trilha_json_next(n + 1);
  }
  return NULL;
}

/* Takes the next pair of members; false when one has no partner. */
static bool next_members(pair *p, const trilha_json_value **a, const trilha_json_value **b) {
  if (p->aligned && !same_bytes(p->next_a, p->next_b)) {
    p->aligned = false;
    if (p->a->size > LOOKED_THROUGH_MAX) sort_both(p);
  }
  const trilha_json_value *name_a = p->next_a, *name_b;
  if (p->sorted_a != NULL) {
    name_a = p->sorted_a[p->at];
    name_b = p->sorted_b[p->at];
    if (!same_bytes(name_a, name_b)) return false;
  } else if (p->aligned) {
    name_b = p->next_b;
    p->next_b = trilha_json_next(name_b + 1);
  } else {
    name_b = look_for(p, name_a);
    if (name_b == NULL) return false;
  }
  if (p->sorted_a == NULL) p->next_a = trilha_json_next(name_a + 1);
  p->at++;
  *a = name_a + 1;
  *b = name_b + 1;
  return true;
}

static void next_items(pair *p, const trilha_json_value **a, const trilha_json_value **b) {
  *a = p->next_a;
  *b = p->next_b;
  p->next_a = trilha_json_next(*a);
  p->next_b = trilha_json_next(*b);
  p->at++;
}

/* --- equality ------------------------------------------------------------------------------------------- */

static void close_pair(pair *p) {
  free(p->sorted_a);
  free(p->sorted_b);
}

static bool containers_equal(const trilha_json_value *a, const trilha_json_value *b) {
  pair pairs[TRILHA_JSON_STACK_MAX];
  size_t depth = 0;
  bool equal = true;
  pairs[depth++] = (pair){.a = a, .b = b, .next_a = a + 1, .next_b = b + 1, .aligned = true};
  while (equal && depth > 0) {
    pair *p = &pairs[depth - 1];
    if (p->at == p->a->size) {
      close_pair(p);
      depth--;
      continue;
    }
    if (p->a->type == TRILHA_JSON_OBJECT)
      equal = next_members(p, &a, &b);
    else
      next_items(p, &a, &b);
    if (!equal || !(equal = outsides_equal(a, b)) || a->type < TRILHA_JSON_ARRAY || a->size == 0) continue;
    TRILHA_ASSERT(depth < TRILHA_JSON_STACK_MAX);
    pairs[depth++] = (pair){.a = a, .b = b, .next_a = a + 1, .next_b = b + 1, .aligned = true};
  }
  while (depth > 0) close_pair(&pairs[--depth]);
  return equal;
}

bool trilha_json_equal(const trilha_json_value *a, const trilha_json_value *b) {
  if (a == b) return true;
  if (!outsides_equal(a, b)) return false;
  return a->type < TRILHA_JSON_ARRAY || a->size == 0 || containers_equal(a, b);
}

/* --- hashes --------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b) {
  trilha_json_wide product = (trilha_json_wide)(a ^ UINT64_C(0x9E3779B97F4A7C15)) * (b ^ UINT64_C(0xD6E8FEB86659FD93));
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Digits and exponent; spellings of one value have the same ones. A held exponent is left at its bound: such numbers
 * may share a hash without being equal. */
static uint64_t hash_number(const trilha_json_value *v, uint64_t seed) {
  trilha_decimal d = trilha_decimal_of(trilha_json_text(v));
  if (d.digit_count == 0) return mix(seed, TRILHA_JSON_NUMBER);
  uint64_t hash = mix(seed + TRILHA_JSON_NUMBER, (uint64_t)d.exponent * 2 + d.negative), word = 0;
  for (uint32_t i = 0; i < d.digit_count; i++) {
    word = word * 10 + (uint64_t)(trilha_decimal_digit(&d, i) - '0');
    if (i % 16 != 15) continue;
    hash = mix(hash, word);
    word = 0;
  }
  return mix(hash, word);
}

static uint64_t hash_outside(const trilha_json_value *v, uint64_t seed) {
  if (v->type == TRILHA_JSON_STRING) return trilha_hash_bytes(v->u.text, v->size, seed + TRILHA_JSON_STRING);
  if (v->type == TRILHA_JSON_NUMBER) return hash_number(v, seed);
  return mix(seed + v->type, v->size);
}

/* An open container. Items are mixed in order; members are added up, so that their order does not matter. */
typedef struct hashed {
  uint64_t hash, name; /* name: the hash of the name of the member that is open */
  const trilha_json_value *end;
  bool object;
} hashed;

static void add_hash(hashed *h, uint64_t hash) {
  if (h->object)
    h->hash += mix(h->name, hash);
  else
    h->hash = mix(h->hash, hash);
}

uint64_t trilha_json_hash_seeded(const trilha_json_value *v, uint64_t seed) {
  if (v->type < TRILHA_JSON_ARRAY) return hash_outside(v, seed);
  hashed stack[TRILHA_JSON_STACK_MAX];
  size_t depth = 0;
  for (;;) {
    if (v->type >= TRILHA_JSON_ARRAY) {
      TRILHA_ASSERT(depth < TRILHA_JSON_STACK_MAX);
      stack[depth++] =
          (hashed){.hash = hash_outside(v, seed), .end = trilha_json_next(v), .object = v->type == TRILHA_JSON_OBJECT};
    } else {
      add_hash(&stack[depth - 1], hash_outside(v, seed));
    }
    v++;
    while (v == stack[depth - 1].end) {
      uint64_t hash = mix(stack[depth - 1].hash, seed);
      if (--depth == 0) return hash;
      add_hash(&stack[depth - 1], hash);
    }
    if (stack[depth - 1].object) stack[depth - 1].name = hash_outside(v++, seed ^ UINT64_C(0xA5A5A5A5));
  }
}

uint64_t trilha_json_hash(const trilha_json_value *v) {
  return trilha_json_hash_seeded(v, 0);
}
