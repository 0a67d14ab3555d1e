/* When what a subschema evaluates does not depend on the instance, unevaluatedProperties is a closed object and
 * needs no bookkeeping at run time. */
#include "schema/compile.h"

/* Past these the question is left to the run: the analysis must not cost more than it saves. */
enum { VISITS_MAX = 500, NAMES_MAX = 4000, PATTERNS_MAX = 100 };

typedef struct reach {
  const trilha_json_value *value;
  bool always; /* applied to every instance that can be valid */
} reach;

typedef struct walk {
  schema_compiler *c;
  schema_evaluated always, sometimes;
  reach *items;
  size_t count, capacity;
  bool unknown;
} walk;

static void reach_later(walk *w, const trilha_json_value *value, bool always) {
  if (value == NULL || value->type != TRILHA_JSON_OBJECT || w->unknown) return;
  if (w->count >= VISITS_MAX || !SCHEMA_GROW(w->c, w->items, w->count, w->capacity)) {
    w->unknown = true;
    return;
  }
  w->items[w->count++] = (reach){value, always};
}

static void reach_list(walk *w, const trilha_json_value *list, bool always) {
  if (list == NULL || list->type != TRILHA_JSON_ARRAY) return;
  const trilha_json_value *item = list + 1;
  for (uint32_t i = 0; i < list->size; i++, item = trilha_json_next(item)) reach_later(w, item, always);
}

static void reach_map(walk *w, const trilha_json_value *map) {
  if (map == NULL || map->type != TRILHA_JSON_OBJECT) return;
  const trilha_json_value *key = map + 1;
  for (uint32_t i = 0; i < map->size; i++, key = trilha_json_next(key + 1)) reach_later(w, key + 1, false);
}

static void add_names(walk *w, const trilha_json_value *map, schema_evaluated *to) {
  if (map == NULL || map->type != TRILHA_JSON_OBJECT) return;
  const trilha_json_value *key = map + 1;
  for (uint32_t i = 0; i < map->size; i++, key = trilha_json_next(key + 1)) {
    if (to->name_count >= NAMES_MAX) w->unknown = true;
    if (w->unknown || !SCHEMA_GROW(w->c, to->names, to->name_count, to->name_capacity)) return;
    to->names[to->name_count++] = trilha_json_text(key);
  }
}

static void add_patterns(walk *w, const trilha_json_value *map, schema_evaluated *to) {
  if (map == NULL || map->type != TRILHA_JSON_OBJECT) return;
  const trilha_json_value *key = map + 1;
  for (uint32_t i = 0; i < map->size; i++, key = trilha_json_next(key + 1)) {
    if (to->pattern_count >= PATTERNS_MAX) w->unknown = true;
    if (w->unknown || !SCHEMA_GROW(w->c, to->patterns, to->pattern_count, to->pattern_capacity)) return;
    to->patterns[to->pattern_count++] = key;
  }
}

static void look(walk *w, reach at, bool is_start) {
  const trilha_json_value *v = at.value;
  schema_evaluated *to = at.always ? &w->always : &w->sometimes;
  uint32_t resource = trilha_schema_resource_of(w->c, v);
  if (resource == UINT32_MAX || (w->c->resources[resource].vocabularies & VOCABULARY_APPLICATOR) == 0 ||
      trilha_json_member(v, "$dynamicRef") != NULL) {
    w->unknown = true;
    return;
  }
  add_names(w, trilha_json_member(v, "properties"), to);
  add_patterns(w, trilha_json_member(v, "patternProperties"), to);
  if (trilha_json_member(v, "additionalProperties") != NULL) to->all = true;
  if (!is_start && trilha_json_member(v, "unevaluatedProperties") != NULL) to->all = true;
  const trilha_json_value *ref = trilha_json_member(v, "$ref");
  if (ref != NULL) reach_later(w, trilha_schema_resolve_reference(w->c, ref, resource).value, at.always);
  reach_list(w, trilha_json_member(v, "allOf"), at.always);
  reach_list(w, trilha_json_member(v, "anyOf"), false);
  reach_list(w, trilha_json_member(v, "oneOf"), false);
  reach_later(w, trilha_json_member(v, "if"), false);
  reach_later(w, trilha_json_member(v, "then"), false);
  reach_later(w, trilha_json_member(v, "else"), false);
  reach_map(w, trilha_json_member(v, "dependentSchemas"));
  reach_map(w, trilha_json_member(v, "dependencies"));
}

static bool names_are_among(walk *w, const schema_evaluated *some, const schema_evaluated *all) {
  schema_map known = {.arena = &w->c->passing, .seed = w->c->name_map.seed};
  for (size_t i = 0; i < all->name_count; i++) {
    if (!trilha_schema_map_put(&known, all->names[i], 1)) return false;
  }
  for (size_t i = 0; i < some->name_count; i++) {
    if (trilha_schema_map_get(&known, some->names[i]) == UINT32_MAX) return false;
  }
  return true;
}

static bool patterns_are_among(const schema_evaluated *some, const schema_evaluated *all) {
  for (size_t i = 0; i < some->pattern_count; i++) {
    bool found = false;
    for (size_t k = 0; k < all->pattern_count && !found; k++) {
      found = trilha_text_equal(trilha_json_text(some->patterns[i]), trilha_json_text(all->patterns[k]));
    }
    if (!found) return false;
  }
  return true;
}

/* Own patterns come first in always.patterns; the object compiles them itself. */
static void drop_own_patterns(const schema_builder *b, schema_evaluated *evaluated) {
  const trilha_json_value *own = b->kw[KW_PATTERN_PROPERTIES];
  size_t count = own == NULL || own->type != TRILHA_JSON_OBJECT ? 0 : own->size;
  if (count == 0) return;
  evaluated->patterns += count;
  evaluated->pattern_count -= count;
}

bool trilha_schema_evaluated_statically(schema_compiler *c, schema_builder *b) {
  walk w = {.c = c};
  reach_later(&w, b->value, true);
  for (size_t i = 0; i < w.count && !w.unknown && c->status == TRILHA_OK; i++) look(&w, w.items[i], i == 0);
  if (w.unknown || c->status != TRILHA_OK) return false;
  if (!w.always.all && (w.sometimes.all || !names_are_among(&w, &w.sometimes, &w.always) ||
                        !patterns_are_among(&w.sometimes, &w.always))) {
    return false;
  }
  drop_own_patterns(b, &w.always);
  b->evaluated = w.always;
  return true;
}
