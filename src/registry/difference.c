/* registry: where two versions of a schema first differ, for the error that refuses to change a published one. */
#include "registry/registry_internal.h"

typedef struct found {
  const trilha_json_value *root, *at;
  const char *what;
} found;

/* The member of that name; most often it stands at the same place. */
static const trilha_json_value *member_like(const trilha_json_value *object, const trilha_json_value *key,
                                            const trilha_json_value **hint, const trilha_json_value *end) {
  const trilha_json_value *guess = *hint;
  if (guess < end && trilha_text_equal(trilha_json_text(guess), trilha_json_text(key))) {
    *hint = trilha_json_next(guess + 1);
    return guess + 1;
  }
  return trilha_json_member_text(object, trilha_json_text(key));
}

/* The first member of `a` that `b` lacks (*ret_other NULL) or has with another value; NULL when there is none. */
static const trilha_json_value *differing_member(const trilha_json_value *a, const trilha_json_value *b,
                                                 bool only_missing, const trilha_json_value **ret_other) {
  const trilha_json_value *key = a + 1, *hint = b + 1, *end = trilha_json_next(b);
  for (uint32_t i = 0; i < a->size; i++, key = trilha_json_next(key + 1)) {
    const trilha_json_value *other = member_like(b, key, &hint, end);
    *ret_other = other;
    if (other == NULL || (!only_missing && !trilha_json_equal(key + 1, other))) return key + 1;
  }
  return NULL;
}

static const trilha_json_value *differing_item(const trilha_json_value *a, const trilha_json_value *b,
                                               const trilha_json_value **ret_other) {
  const trilha_json_value *x = a + 1, *y = b + 1;
  for (uint32_t i = 0; i < a->size; i++, x = trilha_json_next(x), y = trilha_json_next(y)) {
    *ret_other = i < b->size ? y : NULL;
    if (i >= b->size || !trilha_json_equal(x, y)) return x;
  }
  return NULL;
}

/* Descends while both sides are containers of one kind; each step compares what is below once more, which only a
 * refusal pays. */
static found first_difference(const trilha_json_value *a_root, const trilha_json_value *b_root) {
  const trilha_json_value *a = a_root, *b = b_root;
  while (a->type == b->type && a->type >= TRILHA_JSON_ARRAY) {
    bool object = a->type == TRILHA_JSON_OBJECT;
    const trilha_json_value *other = NULL;
    const trilha_json_value *in_a = object ? differing_member(a, b, false, &other) : differing_item(a, b, &other);
    if (in_a != NULL && other == NULL) return (found){a_root, in_a, "removed"};
    if (in_a == NULL) {
      const trilha_json_value *in_b = object ? differing_member(b, a, true, &other) : differing_item(b, a, &other);
      return (found){b_root, in_b == NULL ? b : in_b, "added"};
    }
    a = in_a;
    b = other;
  }
  return (found){a_root, a, "changed"};
}

void trilha_registry_difference(const trilha_json_document *published, const trilha_json_document *given,
                                trilha_buffer *out) {
  found f = first_difference(published->values, given->values);
  trilha_buffer_add_string(out, "at \"");
  trilha_json_pointer_to(f.root, f.at, out);
  trilha_buffer_add_string(out, "\": ");
  trilha_buffer_add_string(out, f.what);
}
