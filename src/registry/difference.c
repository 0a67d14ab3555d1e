/* registry: where two versions of a schema differ, for the error that refuses to change a published one. */
#include "registry/registry_internal.h"

enum {
  DIFFERENCES_SHOWN = 5, /* an error's text is short; "and more" says that there are others */
  PAIRS_WAITING = 64     /* containers still to be looked into; past them one is told as changed as a whole */
};

typedef struct pair {
  const trilha_json_value *published, *given; /* containers of one kind that differ */
} pair;

typedef struct comparison {
  const trilha_json_value *published_root, *given_root;
  pair waiting[PAIRS_WAITING];
  size_t waiting_count, found;
  trilha_buffer *out;
} comparison;

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

static void tell(comparison *c, const trilha_json_value *root, const trilha_json_value *at, const char *what) {
  if (++c->found > DIFFERENCES_SHOWN) return;
  trilha_buffer_add_string(c->out, c->found == 1 ? "at \"" : ", at \"");
  trilha_json_pointer_to(root, at, c->out);
  trilha_buffer_add_string(c->out, "\": ");
  trilha_buffer_add_string(c->out, what);
}

/* Two values at one place. Equality is decided here, so each step down compares what is below once more, which only a
 * refusal pays. */
static void compare_values(comparison *c, const trilha_json_value *published, const trilha_json_value *given) {
  if (trilha_json_equal(published, given)) return;
  bool can_descend = published->type == given->type && published->type >= TRILHA_JSON_ARRAY;
  if (can_descend && c->waiting_count < PAIRS_WAITING)
    c->waiting[c->waiting_count++] = (pair){published, given};
  else
    tell(c, c->published_root, published, "changed");
}

static void compare_objects(comparison *c, pair p) {
  const trilha_json_value *key = p.published + 1, *hint = p.given + 1, *end = trilha_json_next(p.given);
  for (uint32_t i = 0; i < p.published->size; i++, key = trilha_json_next(key + 1)) {
    const trilha_json_value *other = member_like(p.given, key, &hint, end);
    if (other == NULL)
      tell(c, c->published_root, key + 1, "removed");
    else
      compare_values(c, key + 1, other);
  }
  key = p.given + 1, hint = p.published + 1, end = trilha_json_next(p.published);
  for (uint32_t i = 0; i < p.given->size; i++, key = trilha_json_next(key + 1)) {
    if (member_like(p.published, key, &hint, end) == NULL) tell(c, c->given_root, key + 1, "added");
  }
}

static void compare_arrays(comparison *c, pair p) {
  const trilha_json_value *x = p.published + 1, *y = p.given + 1;
  uint32_t common = p.published->size < p.given->size ? p.published->size : p.given->size, i = 0;
  for (; i < common; i++, x = trilha_json_next(x), y = trilha_json_next(y)) compare_values(c, x, y);
  for (uint32_t j = i; j < p.published->size; j++, x = trilha_json_next(x)) tell(c, c->published_root, x, "removed");
  for (uint32_t j = i; j < p.given->size; j++, y = trilha_json_next(y)) tell(c, c->given_root, y, "added");
}

void trilha_registry_difference(const trilha_json_document *published, const trilha_json_document *given,
                                trilha_buffer *out) {
  comparison c = {.published_root = published->values, .given_root = given->values, .out = out};
  compare_values(&c, published->values, given->values);
  while (c.waiting_count > 0 && c.found <= DIFFERENCES_SHOWN) {
    pair p = c.waiting[--c.waiting_count];
    if (p.published->type == TRILHA_JSON_OBJECT)
      compare_objects(&c, p);
    else
      compare_arrays(&c, p);
  }
  if (c.found > DIFFERENCES_SHOWN) trilha_buffer_add_string(out, ", and more");
}
