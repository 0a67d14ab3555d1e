/* Which subschemas there are and what they are called: documents, $id, $anchor, $dynamicAnchor, dialects. */
#include "schema/compile.h"
#include "schema/uri.h"

typedef struct schema_visit {
  const trilha_json_value *value;
  uint32_t resource, depth;
} schema_visit;
typedef struct schema_visits {
  schema_visit *items;
  size_t count, capacity;
} schema_visits;

schema_source *trilha_schema_source_of(schema_compiler *c, const trilha_json_value *value) {
  for (size_t i = 0; i < c->source_count; i++) {
    schema_source *source = &c->sources[i];
    if (value >= source->values && value < source->values + source->count) return source;
  }
  return NULL;
}

uint32_t trilha_schema_resource_of(schema_compiler *c, const trilha_json_value *value) {
  const schema_source *source = trilha_schema_source_of(c, value);
  return source == NULL ? UINT32_MAX : source->resource_of[value - source->values] - 1;
}

/* "<resource>#<name>" */
static trilha_text anchor_key(const schema_compiler *c, trilha_arena *arena, uint32_t resource, trilha_text name) {
  char *key = trilha_arena_alloc(arena, sizeof(resource) + name.size);
  if (key == NULL) return (trilha_text){0};
  memcpy(key, &resource, sizeof(resource));
  if (name.size > 0) memcpy(key + sizeof(resource), name.data, name.size);
  (void)c;
  return (trilha_text){key, sizeof(resource) + name.size};
}

uint32_t trilha_schema_anchor_find(const schema_compiler *c, uint32_t resource, trilha_text name) {
  trilha_text key = anchor_key(c, c->anchor_map.arena, resource, name);
  return key.data == NULL ? UINT32_MAX : trilha_schema_map_get(&c->anchor_map, key);
}

static void add_anchor(schema_compiler *c, const trilha_json_value *schema, uint32_t resource,
                       const trilha_json_value *name, bool dynamic) {
  if (!trilha_schema_is_type(c, name, TRILHA_JSON_STRING)) return;
  uint32_t known = trilha_schema_anchor_find(c, resource, trilha_json_text(name));
  if (known != UINT32_MAX && c->anchors[known].value != schema) {
    trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_INVALID", name, "the anchor is declared twice");
    return;
  }
  if (!SCHEMA_GROW(c, c->anchors, c->anchor_count, c->anchor_capacity)) return;
  trilha_text key = anchor_key(c, &c->passing, resource, trilha_json_text(name));
  c->anchors[c->anchor_count] = (schema_anchor){resource, trilha_json_text(name), schema, dynamic};
  if (key.data == NULL || !trilha_schema_map_put(&c->anchor_map, key, (uint32_t)c->anchor_count)) {
    trilha_schema_no_memory(c);
    return;
  }
  c->anchor_count++;
}

static unsigned vocabularies_of(schema_compiler *c, const trilha_json_value *metaschema, const trilha_json_value *at) {
  const trilha_json_value *vocabulary = trilha_json_member(metaschema, "$vocabulary");
  if (vocabulary == NULL || vocabulary->type != TRILHA_JSON_OBJECT) return VOCABULARY_ALL;
  unsigned bits = VOCABULARY_CORE;
  const trilha_json_value *key = vocabulary + 1;
  for (uint32_t i = 0; i < vocabulary->size; i++, key = trilha_json_next(key + 1)) {
    unsigned bit = trilha_schema_vocabulary_find(trilha_json_text(key));
    if (bit == 0 && key[1].type == TRILHA_JSON_TRUE) {
      trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_VOCABULARY", at,
                           "its metaschema requires a vocabulary that is unknown here");
    }
    bits |= bit;
  }
  return bits;
}

/* What $schema at a resource's root means: 2020-12, or a metaschema of one's own that the resolver knows. */
static unsigned dialect_of(schema_compiler *c, const trilha_json_value *schema, unsigned inherited) {
  const trilha_json_value *dialect = trilha_json_member(schema, "$schema");
  if (dialect == NULL || !trilha_schema_is_type(c, dialect, TRILHA_JSON_STRING)) return inherited;
  trilha_text uri = trilha_json_text(dialect);
  if (uri.size > 0 && uri.data[uri.size - 1] == '#') uri.size--;
  if (trilha_text_is(uri, "https://json-schema.org/draft/2020-12/schema")) return VOCABULARY_ALL;
  uint32_t known = trilha_schema_map_get(&c->uri_map, uri);
  if (known != UINT32_MAX) return vocabularies_of(c, c->resources[known].root, dialect);
  const trilha_json_document *document =
      c->options->resolve == NULL ? NULL : c->options->resolve(c->options->resolve_user, uri);
  if (document == NULL) {
    trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_DIALECT", dialect,
                         "only draft 2020-12 and metaschemas the registry knows are supported");
    return inherited;
  }
  return vocabularies_of(c, document->values, dialect);
}

static uint32_t add_resource(schema_compiler *c, const trilha_json_value *root, trilha_text uri, unsigned inherited) {
  if (!SCHEMA_GROW(c, c->resources, c->resource_count, c->resource_capacity)) return 0;
  uint32_t index = (uint32_t)c->resource_count, known = trilha_schema_map_get(&c->uri_map, uri);
  c->resources[c->resource_count++] = (schema_resource){uri, root, dialect_of(c, root, inherited)};
  if (known != UINT32_MAX && trilha_schema_source_of(c, c->resources[known].root) == trilha_schema_source_of(c, root)) {
    trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_INVALID", root, "another subschema has the same $id");
  }
  if (known == UINT32_MAX && !trilha_schema_map_put(&c->uri_map, uri, index)) trilha_schema_no_memory(c);
  return index;
}

/* `reference` against the base, copied into the result; without fragment. */
static trilha_text resolved(schema_compiler *c, trilha_text base, trilha_text reference) {
  trilha_buffer_clear(&c->uri);
  trilha_schema_uri_resolve(&c->uri, base, reference);
  char *copy = c->uri.failed != TRILHA_OK ? NULL : trilha_arena_copy(c->arena, trilha_buffer_text(&c->uri));
  if (copy == NULL) {
    trilha_schema_no_memory(c);
    return TRILHA_TEXT("");
  }
  return (trilha_text){copy, c->uri.size};
}

static void visit_later(schema_compiler *c, schema_visits *visits, const trilha_json_value *value, uint32_t resource,
                        uint32_t depth) {
  if (value->type != TRILHA_JSON_OBJECT && value->type != TRILHA_JSON_TRUE && value->type != TRILHA_JSON_FALSE) return;
  if (depth > TRILHA_SCHEMA_DEPTH_MAX) {
    trilha_schema_refuse(c, TRILHA_LIMIT, "SCHEMA_TOO_DEEP", NULL, "more than %d nested subschemas",
                         TRILHA_SCHEMA_DEPTH_MAX);
    return;
  }
  if (!SCHEMA_GROW(c, visits->items, visits->count, visits->capacity)) return;
  visits->items[visits->count++] = (schema_visit){value, resource, depth};
}

static void visit_children(schema_compiler *c, schema_visits *visits, const schema_visit *at,
                           const trilha_json_value *key) {
  const trilha_json_value *value = key + 1, *child = value + 1;
  schema_shape shape = trilha_schema_keyword_shape(trilha_schema_keyword_find(trilha_json_text(key)));
  if (shape == SHAPE_SCHEMA) {
    visit_later(c, visits, value, at->resource, at->depth + 1);
  } else if (shape == SHAPE_LIST && value->type == TRILHA_JSON_ARRAY) {
    for (uint32_t i = 0; i < value->size; i++, child = trilha_json_next(child)) {
      visit_later(c, visits, child, at->resource, at->depth + 1);
    }
  } else if ((shape == SHAPE_MAP || shape == SHAPE_MAP_OR_NAMES) && value->type == TRILHA_JSON_OBJECT) {
    for (uint32_t i = 0; i < value->size; i++, child = trilha_json_next(child + 1)) {
      visit_later(c, visits, child + 1, at->resource, at->depth + 1);
    }
  }
}

static void visit(schema_compiler *c, schema_source *source, schema_visits *visits, schema_visit at) {
  uint32_t *known = &source->resource_of[at.value - source->values];
  const trilha_json_value *id = trilha_json_member(at.value, "$id");
  if (*known != 0) at.resource = *known - 1; /* the root of its resource, made by the caller */
  if (id != NULL && *known == 0 && trilha_schema_is_type(c, id, TRILHA_JSON_STRING)) {
    trilha_text uri = resolved(c, c->resources[at.resource].uri, trilha_json_text(id));
    at.resource = add_resource(c, at.value, uri, c->resources[at.resource].vocabularies);
  }
  *known = at.resource + 1;
  if (at.value->type != TRILHA_JSON_OBJECT) return;
  const trilha_json_value *anchor = trilha_json_member(at.value, "$anchor");
  const trilha_json_value *dynamic = trilha_json_member(at.value, "$dynamicAnchor");
  if (anchor != NULL) add_anchor(c, at.value, at.resource, anchor, false);
  if (dynamic != NULL) add_anchor(c, at.value, at.resource, dynamic, true);
  const trilha_json_value *key = at.value + 1;
  for (uint32_t i = 0; i < at.value->size && c->status == TRILHA_OK; i++, key = trilha_json_next(key + 1)) {
    visit_children(c, visits, &at, key);
  }
}

void trilha_schema_source_index(schema_compiler *c, schema_source *source, const trilha_json_value *value,
                                uint32_t resource) {
  schema_visits visits = {0};
  visit_later(c, &visits, value, resource, 0);
  while (visits.count > 0 && c->status == TRILHA_OK) visit(c, source, &visits, visits.items[--visits.count]);
}

/* The copy's texts point into the copy. */
static const trilha_json_value *copy_values(schema_compiler *c, const trilha_json_document *document) {
  trilha_json_value *values = trilha_arena_array(c->arena, document->count, sizeof(*values));
  size_t bytes = 0, at = 0;
  for (size_t i = 0; i < document->count; i++) {
    if (document->values[i].type == TRILHA_JSON_STRING || document->values[i].type == TRILHA_JSON_NUMBER) {
      bytes += document->values[i].size;
    }
  }
  char *text = trilha_arena_alloc(c->arena, bytes + 1);
  if (values == NULL || text == NULL) {
    trilha_schema_no_memory(c);
    return NULL;
  }
  for (size_t i = 0; i < document->count; i++) {
    values[i] = document->values[i];
    values[i].key = 0;
    if (values[i].type != TRILHA_JSON_STRING && values[i].type != TRILHA_JSON_NUMBER) continue;
    memcpy(text + at, values[i].u.text, values[i].size);
    values[i].u.text = text + at;
    at += values[i].size;
  }
  return values;
}

uint32_t trilha_schema_source_add(schema_compiler *c, const trilha_json_document *document, trilha_text uri) {
  if (document->text_size > TRILHA_SCHEMA_BYTES_MAX) {
    trilha_schema_refuse(c, TRILHA_LIMIT, "SCHEMA_TOO_LARGE", NULL, "a schema has at most %zu bytes",
                         TRILHA_SCHEMA_BYTES_MAX);
    return 0;
  }
  const trilha_json_value *values = copy_values(c, document);
  uint32_t *resource_of = trilha_arena_array(&c->passing, document->count, sizeof(*resource_of));
  if (values == NULL || resource_of == NULL || !SCHEMA_GROW(c, c->sources, c->source_count, c->source_capacity)) {
    trilha_schema_no_memory(c);
    return 0;
  }
  size_t at = c->source_count++;
  c->sources[at] = (schema_source){values, document->count, resource_of};
  trilha_text id = trilha_json_member_string(values, "$id"), name = resolved(c, uri, id);
  if (c->status != TRILHA_OK) return 0;
  uint32_t root = add_resource(c, values, name, VOCABULARY_ALL);
  if (c->status != TRILHA_OK) return 0;
  trilha_text found_under = resolved(c, uri, TRILHA_TEXT(""));
  if (trilha_schema_map_get(&c->uri_map, found_under) == UINT32_MAX &&
      !trilha_schema_map_put(&c->uri_map, found_under, root)) {
    trilha_schema_no_memory(c);
  }
  resource_of[0] = root + 1;
  trilha_schema_source_index(c, &c->sources[at], values, root);
  return root;
}
