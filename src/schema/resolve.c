/* From the text of a $ref to a subschema. Nothing is fetched: own resources, built-in metaschemas, the resolver. */
#include "schema/compile.h"
#include "schema/uri.h"

enum { INDEXED_FROM = 32 };

static uint32_t load_metaschema(schema_compiler *c, trilha_text uri, trilha_text text) {
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_status status = trilha_json_parse(text, &limits, &document, NULL, c->err);
  if (status != TRILHA_OK) {
    c->status = status;
    return UINT32_MAX;
  }
  uint32_t resource = trilha_schema_source_add(c, document, uri);
  trilha_json_document_free(document);
  return resource;
}

/* The resource of an absolute URI without fragment, or UINT32_MAX. `uri` may be in c->uri. */
static uint32_t find_resource(schema_compiler *c, trilha_text uri) {
  uint32_t known = trilha_schema_map_get(&c->uri_map, uri);
  if (known != UINT32_MAX) return known;
  char *copy = trilha_arena_copy(&c->passing, uri);
  if (copy == NULL) {
    trilha_schema_no_memory(c);
    return UINT32_MAX;
  }
  trilha_text kept = {copy, uri.size}, metaschema = trilha_schema_metaschema(kept);
  if (metaschema.data != NULL) return load_metaschema(c, kept, metaschema);
  if (c->options->resolve == NULL || trilha_schema_uri_split(kept).scheme.data == NULL) return UINT32_MAX;
  const trilha_json_document *document = c->options->resolve(c->options->resolve_user, kept);
  if (document == NULL) return UINT32_MAX;
  (void)trilha_schema_source_add(c, document, kept);
  return c->status != TRILHA_OK ? UINT32_MAX : trilha_schema_map_get(&c->uri_map, kept);
}

static const trilha_json_value *array_item(const trilha_json_value *array, trilha_text token) {
  uint32_t index = 0;
  if (token.size == 0 || token.size > 9 || (token.size > 1 && token.data[0] == '0')) return NULL;
  for (size_t i = 0; i < token.size; i++) {
    if (token.data[i] < '0' || token.data[i] > '9') return NULL;
    index = index * 10 + (uint32_t)(token.data[i] - '0');
  }
  if (index >= array->size) return NULL;
  const trilha_json_value *item = array + 1;
  while (index-- > 0) item = trilha_json_next(item);
  return item;
}

/* (object, name), in c->passing. */
static trilha_text member_key(schema_compiler *c, const trilha_json_value *object, trilha_text name) {
  char *key = trilha_arena_alloc(&c->passing, sizeof(object) + name.size);
  if (key == NULL) {
    trilha_schema_no_memory(c);
    return TRILHA_TEXT("");
  }
  memcpy(key, &object, sizeof(object));
  if (name.size > 0) memcpy(key + sizeof(object), name.data, name.size);
  return (trilha_text){key, sizeof(object) + name.size};
}

static void index_members(schema_compiler *c, const trilha_json_value *object) {
  const trilha_json_value *key = object + 1;
  for (uint32_t i = 0; i < object->size && c->status == TRILHA_OK; i++, key = trilha_json_next(key + 1)) {
    trilha_text name = member_key(c, object, trilha_json_text(key));
    if (!trilha_schema_map_put(&c->member_map, name, (uint32_t)(key + 1 - object))) trilha_schema_no_memory(c);
  }
}

/* Many references may lead into one large object, such as $defs: its members are then indexed once. */
static const trilha_json_value *member_of(schema_compiler *c, const trilha_json_value *object, trilha_text name) {
  if (object->size < INDEXED_FROM) return trilha_json_member_text(object, name);
  trilha_text first = member_key(c, object, trilha_json_text(object + 1));
  if (trilha_schema_map_get(&c->member_map, first) == UINT32_MAX) index_members(c, object);
  uint32_t at = trilha_schema_map_get(&c->member_map, member_key(c, object, name));
  return at == UINT32_MAX ? NULL : object + at;
}

/* Undoes ~0 and ~1 in place. */
static trilha_text unescaped(char *data, size_t size) {
  size_t write = 0;
  for (size_t read = 0; read < size; read++) {
    char ch = data[read];
    if (ch == '~' && read + 1 < size && (data[read + 1] == '0' || data[read + 1] == '1')) {
      ch = data[++read] == '0' ? '~' : '/';
    }
    data[write++] = ch;
  }
  return (trilha_text){data, write};
}

/* Walks a decoded JSON Pointer, noting which resource it passes into. */
static schema_target follow_pointer(schema_compiler *c, uint32_t resource, char *pointer, size_t size) {
  schema_target at = {c->resources[resource].root, resource, NULL};
  const schema_source *source = trilha_schema_source_of(c, at.value);
  for (size_t start = 1; at.value != NULL && start <= size;) {
    size_t end = start;
    while (end < size && pointer[end] != '/') end++;
    trilha_text token = unescaped(pointer + start, end - start);
    if (at.value->type == TRILHA_JSON_OBJECT)
      at.value = member_of(c, at.value, token);
    else if (at.value->type == TRILHA_JSON_ARRAY)
      at.value = array_item(at.value, token);
    else
      at.value = NULL;
    uint32_t known = at.value == NULL ? 0 : source->resource_of[at.value - source->values];
    if (known != 0) at.resource = known - 1;
    start = end + 1;
  }
  return at;
}

/* A place that no keyword made a schema (inside an unknown keyword) becomes one because it is referred to. */
static void adopt(schema_compiler *c, const schema_target *target) {
  schema_source *source = trilha_schema_source_of(c, target->value);
  if (source->resource_of[target->value - source->values] == 0) {
    trilha_schema_source_index(c, source, target->value, target->resource);
  }
}

static schema_target find_fragment(schema_compiler *c, uint32_t resource, trilha_text fragment) {
  trilha_buffer_clear(&c->uri);
  trilha_schema_uri_decode(&c->uri, fragment);
  trilha_text decoded = trilha_buffer_text(&c->uri);
  if (decoded.size == 0) return (schema_target){c->resources[resource].root, resource, NULL};
  if (decoded.data[0] == '/') return follow_pointer(c, resource, c->uri.data, c->uri.size);
  uint32_t anchor = trilha_schema_anchor_find(c, resource, decoded);
  if (anchor == UINT32_MAX) return (schema_target){NULL, resource, NULL};
  return (schema_target){c->anchors[anchor].value, resource, &c->anchors[anchor]};
}

schema_target trilha_schema_resolve_reference(schema_compiler *c, const trilha_json_value *reference,
                                              uint32_t resource) {
  schema_target none = {NULL, resource, NULL};
  if (!trilha_schema_is_type(c, reference, TRILHA_JSON_STRING)) return none;
  trilha_text text = trilha_json_text(reference), fragment = trilha_schema_uri_split(text).fragment;
  if (fragment.data == NULL || fragment.data != text.data + 1) { /* not only a fragment */
    trilha_buffer_clear(&c->uri);
    trilha_schema_uri_resolve(&c->uri, c->resources[resource].uri, text);
    resource = find_resource(c, trilha_buffer_text(&c->uri));
  }
  schema_target target = resource == UINT32_MAX || c->status != TRILHA_OK ? none : find_fragment(c, resource, fragment);
  if (target.value == NULL) {
    trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_REF_UNRESOLVED", reference, "the reference leads nowhere");
    return none;
  }
  adopt(c, &target);
  target.resource = trilha_schema_resource_of(c, target.value);
  if (target.resource == UINT32_MAX) {
    trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_INVALID", reference,
                         "the reference leads to something that is no schema");
    target.value = NULL;
  }
  return target;
}
