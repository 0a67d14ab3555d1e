/* json/diff: what differs between two documents, by pointer and without a value. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "json/json.h"

typedef struct pair {
  const trilha_json_value *a, *b;
} pair;

typedef struct differing {
  const trilha_json_document *a, *b;
  trilha_buffer *out;
  pair *pairs; /* containers of one type that are still to be compared */
  size_t count, capacity;
  size_t told; /* differences, written or only counted */
} differing;

static void tell(differing *d, const char *op, const trilha_json_document *document, const trilha_json_value *at) {
  if (d->told++ >= TRILHA_JSON_DIFF_MAX) return;
  TRILHA_BUFFER_SCOPED path;
  trilha_buffer_init(&path, 0);
  trilha_json_pointer_to(document->values, at, &path);
  trilha_buffer_add_format(d->out, "%s{\"op\":\"%s\",\"path\":", d->told > 1 ? "," : "", op);
  trilha_json_write_string(d->out, trilha_buffer_text(&path));
  trilha_buffer_add_char(d->out, '}');
  if (path.failed != TRILHA_OK) d->out->failed = path.failed;
}

static bool push(differing *d, const trilha_json_value *a, const trilha_json_value *b) {
  if (d->count == d->capacity) {
    size_t capacity = d->capacity == 0 ? 64 : 2 * d->capacity;
    pair *grown = realloc(d->pairs, capacity * sizeof *grown);
    if (grown == NULL) return false;
    d->pairs = grown;
    d->capacity = capacity;
  }
  d->pairs[d->count++] = (pair){a, b};
  return true;
}

/* Numbers by their spelling: what is told is what a reader of the bytes sees. */
static bool is_same_scalar(const trilha_json_value *a, const trilha_json_value *b) {
  return a->type == b->type &&
         (a->type < TRILHA_JSON_NUMBER || (a->size == b->size && memcmp(a->u.text, b->u.text, a->size) == 0));
}

static bool compare(differing *d, const trilha_json_value *a, const trilha_json_value *b) {
  if (a->type == b->type && a->type >= TRILHA_JSON_ARRAY) return push(d, a, b);
  if (a->type >= TRILHA_JSON_ARRAY || !is_same_scalar(a, b)) tell(d, "replace", d->b, b);
  return true;
}

static bool compare_arrays(differing *d, const pair *p) {
  const trilha_json_value *a = p->a + 1, *b = p->b + 1;
  size_t common = p->a->size < p->b->size ? p->a->size : p->b->size;
  for (size_t i = 0; i < common; i++, a = trilha_json_next(a), b = trilha_json_next(b))
    if (!compare(d, a, b)) return false;
  for (size_t i = common; i < p->a->size; i++, a = trilha_json_next(a)) tell(d, "remove", d->a, a);
  for (size_t i = common; i < p->b->size; i++, b = trilha_json_next(b)) tell(d, "add", d->b, b);
  return true;
}

static int by_name(const void *left, const void *right) {
  const trilha_json_value *a = *(const trilha_json_value *const *)left, *b = *(const trilha_json_value *const *)right;
  size_t size = a->size < b->size ? a->size : b->size;
  int order = size == 0 ? 0 : memcmp(a->u.text, b->u.text, size);
  if (order != 0) return order;
  if (a->size != b->size) return a->size < b->size ? -1 : 1;
  return a < b ? 1 : a > b ? -1 : 0; /* of one name's members the last counts, so it comes first */
}

static bool has_same_name(const trilha_json_value *a, const trilha_json_value *b) {
  return a->size == b->size && (a->size == 0 || memcmp(a->u.text, b->u.text, a->size) == 0);
}

/* Keys by name, each name once; malloc. *ret_count 0 and NULL for an empty object. */
static const trilha_json_value **sorted_keys(const trilha_json_value *object, size_t *ret_count) {
  const trilha_json_value **keys = malloc((object->size + (size_t)1) * sizeof *keys);
  const trilha_json_value *key = object + 1;
  size_t kept = 0;
  if (keys == NULL) return NULL;
  for (size_t i = 0; i < object->size; i++, key = trilha_json_next(key + 1)) keys[i] = key;
  qsort(keys, object->size, sizeof *keys, by_name);
  for (size_t i = 0; i < object->size; i++)
    if (kept == 0 || !has_same_name(keys[i], keys[kept - 1])) keys[kept++] = keys[i];
  *ret_count = kept;
  return keys;
}

static bool compare_objects(differing *d, const pair *p) {
  size_t a_count = 0, b_count = 0, i = 0, j = 0;
  const trilha_json_value **a = sorted_keys(p->a, &a_count), **b = sorted_keys(p->b, &b_count);
  bool ok = a != NULL && b != NULL;
  while (ok && (i < a_count || j < b_count)) {
    bool both = i < a_count && j < b_count && has_same_name(a[i], b[j]);
    if (both)
      ok = compare(d, a[i++] + 1, b[j++] + 1);
    else if (j == b_count || (i < a_count && by_name(&a[i], &b[j]) < 0))
      tell(d, "remove", d->a, a[i++] + 1);
    else
      tell(d, "add", d->b, b[j++] + 1);
  }
  free(a);
  free(b);
  return ok;
}

trilha_status trilha_json_diff(const trilha_json_document *a, const trilha_json_document *b, trilha_buffer *out,
                               size_t *ret_count, trilha_error *err) {
  differing d = {.a = a, .b = b, .out = out};
  trilha_buffer_add_char(out, '[');
  bool ok = compare(&d, a->values, b->values);
  while (ok && d.count > 0) {
    pair next = d.pairs[--d.count];
    ok = next.a->type == TRILHA_JSON_ARRAY ? compare_arrays(&d, &next) : compare_objects(&d, &next);
  }
  free(d.pairs);
  if (d.told > TRILHA_JSON_DIFF_MAX) trilha_buffer_add_format(out, ",{\"more\":%zu}", d.told - TRILHA_JSON_DIFF_MAX);
  trilha_buffer_add_char(out, ']');
  *ret_count = d.told;
  return ok ? trilha_buffer_check(out, err) : trilha_error_no_memory(err);
}
