/* properties, patternProperties, additionalProperties; in the fast program also required and dependentRequired. */
#include <stdlib.h>

#include "schema/compile.h"

enum { NAMES_TOTAL = 65536, DENSE_FACTOR = 4, DENSE_SLACK = 32, FEW_MAX = 2 };

typedef struct object_builder {
  schema_object *object;
  schema_entry *entries; /* in c->passing */
  size_t count, capacity;
  schema_watch *watches;
  size_t watch_count, watch_capacity;
  unsigned watched;
} object_builder;

/* The entry of a name, made when it is new. */
static schema_entry *entry_of(schema_compiler *c, object_builder *o, trilha_text name) {
  uint16_t key = trilha_schema_name(c, name);
  if (c->status != TRILHA_OK) return NULL;
  if (c->entry_of[key] != 0) return &o->entries[c->entry_of[key] - 1];
  if (!SCHEMA_GROW(c, o->entries, o->count, o->capacity)) return NULL;
  o->entries[o->count] = (schema_entry){.key = key};
  c->entry_of[key] = (uint16_t)(o->count + 1);
  return &o->entries[o->count++];
}

static void add_properties(schema_compiler *c, schema_builder *b, object_builder *o) {
  const trilha_json_value *map = b->kw[KW_PROPERTIES];
  if (map == NULL || !trilha_schema_is_type(c, map, TRILHA_JSON_OBJECT)) return;
  const trilha_json_value *key = map + 1;
  for (uint32_t i = 0; i < map->size; i++, key = trilha_json_next(key + 1)) {
    schema_entry *entry = entry_of(c, o, trilha_json_text(key));
    if (entry == NULL) return;
    entry->flags |= ENTRY_LISTED;
    const schema_block *block = trilha_schema_block(c, key + 1, 0);
    entry->block = block;
  }
}

static void add_pattern(schema_compiler *c, object_builder *o, const trilha_json_value *key,
                        const schema_block *block) {
  o->object->patterns[o->object->pattern_count++] =
      (schema_pattern_entry){trilha_schema_pattern(c, key), block, trilha_json_text(key)};
}

static void add_patterns(schema_compiler *c, schema_builder *b, object_builder *o) {
  const trilha_json_value *map = b->kw[KW_PATTERN_PROPERTIES];
  if (map != NULL && !trilha_schema_is_type(c, map, TRILHA_JSON_OBJECT)) return;
  size_t most = (map == NULL ? 0 : map->size) + b->evaluated.pattern_count;
  if (most == 0) return;
  o->object->patterns = trilha_schema_alloc(c, most, sizeof(*o->object->patterns));
  if (o->object->patterns == NULL) return;
  const trilha_json_value *key = map == NULL ? NULL : map + 1;
  for (uint32_t i = 0; map != NULL && i < map->size; i++, key = trilha_json_next(key + 1)) {
    add_pattern(c, o, key, trilha_schema_block(c, key + 1, 0));
  }
  for (size_t i = 0; b->closed && i < b->evaluated.pattern_count; i++)
    add_pattern(c, o, b->evaluated.patterns[i], NULL);
}

/* additionalProperties, or unevaluatedProperties where every evaluated name is known. */
static void add_additional(schema_compiler *c, schema_builder *b, object_builder *o) {
  const trilha_json_value *additional = b->kw[KW_ADDITIONAL_PROPERTIES];
  if (additional == NULL && b->closed && !b->evaluated.all) {
    additional = b->kw[KW_UNEVALUATED_PROPERTIES];
    for (size_t i = 0; i < b->evaluated.name_count; i++) {
      schema_entry *entry = entry_of(c, o, b->evaluated.names[i]);
      if (entry == NULL) return;
      entry->flags |= ENTRY_LISTED;
    }
  }
  o->object->has_additional = additional != NULL || b->closed;
  if (additional != NULL) o->object->additional = trilha_schema_block(c, additional, 0);
}

/* --- the fast program: required names are seen in the same loop ----------------------------------------------------
 */

static uint64_t watch(schema_compiler *c, object_builder *o, trilha_text name) {
  schema_entry *entry = entry_of(c, o, name);
  if (entry == NULL) return 0;
  if (entry->watch == 0) entry->watch = UINT64_C(1) << o->watched++;
  return entry->watch;
}

static uint64_t watch_list(schema_compiler *c, object_builder *o, const trilha_json_value *list) {
  uint64_t bits = 0;
  const trilha_json_value *item = list + 1;
  for (uint32_t i = 0; i < list->size && c->status == TRILHA_OK; i++, item = trilha_json_next(item)) {
    if (trilha_schema_is_type(c, item, TRILHA_JSON_STRING)) bits |= watch(c, o, trilha_json_text(item));
  }
  return bits;
}

/* Names that a dependentRequired speaks of, at most; more than there is room for when it is malformed. */
static size_t dependent_names(const trilha_json_value *map) {
  if (map == NULL) return 0;
  if (map->type != TRILHA_JSON_OBJECT) return WATCHED_MAX + 1;
  size_t names = map->size;
  const trilha_json_value *key = map + 1;
  for (uint32_t i = 0; i < map->size; i++, key = trilha_json_next(key + 1)) {
    names += key[1].type == TRILHA_JSON_ARRAY ? key[1].size : WATCHED_MAX + 1;
  }
  return names;
}

static void watch_required(schema_compiler *c, schema_builder *b, object_builder *o) {
  const trilha_json_value *required = b->kw[KW_REQUIRED];
  if (required == NULL || !trilha_schema_is_type(c, required, TRILHA_JSON_ARRAY)) return;
  if (required->size <= WATCHED_MAX)
    o->object->required = watch_list(c, o, required);
  else
    trilha_schema_emit_required(c, b);
}

static void watch_dependent(schema_compiler *c, schema_builder *b, object_builder *o) {
  const trilha_json_value *map = b->kw[KW_DEPENDENT_REQUIRED];
  if (map == NULL) return;
  if (dependent_names(map) + o->watched > WATCHED_MAX) {
    trilha_schema_emit_dependent_required(c, b, KW_DEPENDENT_REQUIRED);
    return;
  }
  const trilha_json_value *key = map + 1;
  for (uint32_t i = 0; i < map->size && c->status == TRILHA_OK; i++, key = trilha_json_next(key + 1)) {
    if (!SCHEMA_GROW(c, o->watches, o->watch_count, o->watch_capacity)) return;
    uint64_t trigger = watch(c, o, trilha_json_text(key));
    o->watches[o->watch_count++] = (schema_watch){trigger, watch_list(c, o, key + 1)};
  }
}

/* --- where a key number finds its entry ------------------------------------------------------------------------------
 */

/* Dense where the numbers lie close together, else open addressing. */
static void place_entries(schema_compiler *c, object_builder *o) {
  schema_object *object = o->object;
  uint32_t first = UINT32_MAX, last = 0;
  for (size_t i = 0; i < o->count; i++) {
    if (o->entries[i].key < first) first = o->entries[i].key;
    if (o->entries[i].key > last) last = o->entries[i].key;
    c->entry_of[o->entries[i].key] = 0;
  }
  if (o->count == 0) return;
  object->dense = last - first + 1 <= o->count * DENSE_FACTOR + DENSE_SLACK;
  object->first = (uint16_t)first;
  object->entry_count = last - first + 1;
  if (!object->dense) {
    object->entry_count = 16;
    while (object->entry_count < o->count * 2) object->entry_count *= 2;
  }
  schema_entry *places = trilha_schema_alloc(c, object->entry_count, sizeof(*places));
  if (places == NULL) return;
  for (size_t i = 0; i < o->count; i++) {
    uint32_t at = o->entries[i].key - first;
    if (!object->dense) {
      at = o->entries[i].key & (object->entry_count - 1);
      while (places[at].key != 0) at = (at + 1) & (object->entry_count - 1);
    }
    places[at] = o->entries[i];
  }
  object->entries = places;
}

static void keep_watches(schema_compiler *c, object_builder *o) {
  schema_watch *watches = trilha_schema_alloc(c, o->watch_count, sizeof(*watches));
  if (watches == NULL) return;
  if (o->watch_count > 0) memcpy(watches, o->watches, o->watch_count * sizeof(*watches));
  o->object->watches = watches;
  o->object->watch_count = (uint32_t)o->watch_count;
}

/* One or two names of an open object: two entries side by side. */
static void keep_few(schema_compiler *c, const schema_builder *b, object_builder *o) {
  schema_object *object = o->object;
  bool tracked = (b->variant & VARIANT_TRACKED) != 0;
  object->few = !c->plain && !tracked && o->count > 0 && o->count <= FEW_MAX && object->pattern_count == 0 &&
                object->additional == NULL && o->watch_count == 0;
  if (!object->few) return;
  object->entries = trilha_schema_alloc(c, o->count, sizeof(*object->entries));
  if (object->entries == NULL) return;
  for (size_t i = 0; i < o->count; i++) {
    object->entries[i] = o->entries[i];
    c->entry_of[o->entries[i].key] = 0;
  }
  object->entry_count = (uint32_t)o->count;
}

static bool is_idle(const schema_builder *b, const schema_object *o) {
  bool tracked = (b->variant & VARIANT_TRACKED) != 0;
  return o->entry_count == 0 && o->pattern_count == 0 && o->additional == NULL && !(tracked && o->has_additional);
}

void trilha_schema_emit_object(schema_compiler *c, schema_builder *b) {
  if (c->entry_of == NULL) c->entry_of = trilha_arena_array(&c->passing, NAMES_TOTAL, sizeof(*c->entry_of));
  object_builder o = {.object = trilha_schema_alloc(c, 1, sizeof(schema_object))};
  if (o.object == NULL || c->entry_of == NULL) {
    trilha_schema_no_memory(c);
    return;
  }
  if (!c->plain) watch_required(c, b, &o);
  if (!c->plain) watch_dependent(c, b, &o);
  add_properties(c, b, &o);
  add_patterns(c, b, &o);
  add_additional(c, b, &o);
  if (c->status != TRILHA_OK) return;
  keep_watches(c, &o);
  keep_few(c, b, &o);
  if (!o.object->few) place_entries(c, &o);
  if (c->status != TRILHA_OK || is_idle(b, o.object)) return;
  schema_op op = o.object->pattern_count > 0 ? OP_OBJECT_PATTERNS : OP_OBJECT;
  trilha_schema_emit(c, b, op, KW_PROPERTIES)->u.object = o.object;
}

void trilha_schema_emit_names(schema_compiler *c, schema_builder *b) {
  const schema_block *block = trilha_schema_block(c, b->kw[KW_PROPERTY_NAMES], 0);
  if (block != NULL) trilha_schema_emit(c, b, OP_NAMES, KW_PROPERTY_NAMES)->u.block = block;
}
