/* Where subschemas are: $id, $anchor, $dynamicAnchor, $vocabulary, and where references lead. Everything is found by
 * looking at all places in turn. */
#include "reference_internal.h"
#include "schema/compile.h"
#include "schema/uri.h"

static void walk(reference *r, place at, int depth);

/* --- all subschemas of a document ----------------------------------------------------------------------------------
 */

static bool one_of(trilha_text name, const char *const *names) {
  for (; *names != NULL; names++) {
    if (trilha_text_is(name, *names)) return true;
  }
  return false;
}

static place known(const reference *r, const trilha_json_value *schema) {
  for (size_t i = 0; i < r->place_count; i++) {
    if (r->places[i].schema == schema) return r->places[i];
  }
  return (place){0};
}

static void walk_child(reference *r, place parent, const trilha_json_value *schema, int depth) {
  if (schema->type != TRILHA_JSON_OBJECT && schema->type != TRILHA_JSON_TRUE && schema->type != TRILHA_JSON_FALSE)
    return;
  place at = parent;
  at.schema = schema;
  walk(r, at, depth + 1);
}

static void walk_children(reference *r, place at, const trilha_json_value *key, int depth) {
  static const char *const schemas[] = {
      "additionalProperties",  "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems",
      "unevaluatedProperties", NULL};
  static const char *const lists[] = {"allOf", "anyOf", "oneOf", "prefixItems", NULL};
  static const char *const maps[] = {
      "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties", NULL};
  const trilha_json_value *value = key + 1, *part = value + 1;
  if (one_of(trilha_json_text(key), schemas)) {
    walk_child(r, at, value, depth);
  } else if (one_of(trilha_json_text(key), lists) && value->type == TRILHA_JSON_ARRAY) {
    for (uint32_t i = 0; i < value->size; i++, part = trilha_json_next(part)) walk_child(r, at, part, depth);
  } else if (one_of(trilha_json_text(key), maps) && value->type == TRILHA_JSON_OBJECT) {
    for (uint32_t i = 0; i < value->size; i++, part = trilha_json_next(part + 1)) walk_child(r, at, part + 1, depth);
  }
}

static trilha_text joined(reference *r, trilha_text base, trilha_text text) {
  TRILHA_BUFFER_SCOPED out = {0};
  trilha_schema_uri_resolve(&out, base, text);
  char *copy = trilha_arena_copy(&r->memory, trilha_buffer_text(&out));
  if (copy == NULL) reference_give_up(r);
  return copy == NULL ? TRILHA_TEXT("") : (trilha_text){copy, out.size};
}

static const trilha_json_value *document_of(reference *r, trilha_text uri);

/* What $schema at the root of a resource says. */
static unsigned vocabularies(reference *r, const trilha_json_value *schema, unsigned inherited) {
  static const struct {
    const char *uri;
    unsigned bit;
  } names[] = {{"https://json-schema.org/draft/2020-12/vocab/applicator", APPLICATOR},
               {"https://json-schema.org/draft/2020-12/vocab/unevaluated", UNEVALUATED},
               {"https://json-schema.org/draft/2020-12/vocab/validation", VALIDATION},
               {"https://json-schema.org/draft/2020-12/vocab/format-annotation", FORMAT},
               {"https://json-schema.org/draft/2020-12/vocab/format-assertion", ASSERTED_FORMAT}};
  trilha_text dialect = trilha_json_member_string(schema, "$schema");
  if (dialect.data == NULL) return inherited;
  if (dialect.size > 0 && dialect.data[dialect.size - 1] == '#') dialect.size--;
  if (trilha_text_is(dialect, "https://json-schema.org/draft/2020-12/schema")) return STANDARD;
  const trilha_json_value *named = trilha_json_member(document_of(r, dialect), "$vocabulary");
  if (named == NULL) return STANDARD;
  unsigned bits = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (trilha_json_member(named, names[i].uri) != NULL) bits |= names[i].bit;
  }
  return bits;
}

static void walk(reference *r, place at, int depth) {
  if (known(r, at.schema).schema != NULL) return;
  if (r->place_count == REFERENCE_PLACES_MAX || depth > REFERENCE_DEPTH_MAX) {
    reference_give_up(r);
    return;
  }
  trilha_text id = trilha_json_member_string(at.schema, "$id");
  if (id.data != NULL) {
    at.resource = at.schema;
    at.uri = joined(r, at.uri, id);
    at.vocabularies = vocabularies(r, at.schema, at.vocabularies);
  }
  r->places[r->place_count++] = at;
  if (at.schema->type != TRILHA_JSON_OBJECT) return;
  const trilha_json_value *key = at.schema + 1;
  for (uint32_t i = 0; i < at.schema->size; i++, key = trilha_json_next(key + 1)) walk_children(r, at, key, depth);
}

static place add_document(reference *r, const trilha_json_document *document, trilha_text uri) {
  place root = {document->values, document->values, joined(r, uri, TRILHA_TEXT("")), STANDARD};
  if (trilha_json_member(root.schema, "$id") == NULL) root.vocabularies = vocabularies(r, root.schema, STANDARD);
  walk(r, root, 0);
  return known(r, document->values);
}

place reference_open(reference *r, const trilha_json_document *schema) {
  return add_document(r, schema, TRILHA_TEXT(""));
}

void reference_close(reference *r) {
  for (size_t i = 0; i < r->owned_count; i++) trilha_json_document_free(r->owned[i]);
  trilha_arena_done(&r->memory);
  free(r);
}

place reference_place_of(reference *r, place parent, const trilha_json_value *schema) {
  place at = known(r, schema);
  if (at.schema != NULL) return at;
  reference_give_up(r); /* a keyword's value that is no schema */
  return (place){NULL, parent.resource, parent.uri, parent.vocabularies};
}

/* --- references ------------------------------------------------------------------------------------------------------
 */

/* The root of the resource with this URI, or of the document found under it. */
static const trilha_json_value *document_of(reference *r, trilha_text uri) {
  for (size_t i = 0; i < r->place_count; i++) {
    if (r->places[i].schema == r->places[i].resource && trilha_text_equal(r->places[i].uri, uri))
      return r->places[i].schema;
  }
  const trilha_json_document *document =
      r->options->resolve == NULL ? NULL : r->options->resolve(r->options->resolve_user, uri);
  trilha_text text = trilha_schema_metaschema(uri);
  if (text.data != NULL && r->owned_count < REFERENCE_DOCUMENTS_MAX) {
    trilha_json_limits limits = TRILHA_JSON_LIMITS;
    trilha_json_document *parsed = NULL;
    if (trilha_json_parse(text, &limits, &parsed, NULL, NULL) == TRILHA_OK)
      document = r->owned[r->owned_count++] = parsed;
  }
  if (document == NULL) return NULL;
  (void)add_document(r, document, uri);
  return document->values;
}

static const trilha_json_value *anchored(const reference *r, const trilha_json_value *resource, trilha_text name,
                                         const char *kind) {
  for (size_t i = 0; i < r->place_count; i++) {
    const place *at = &r->places[i];
    if (at->resource != resource) continue;
    trilha_text anchor = trilha_json_member_string(at->schema, kind);
    if (anchor.data != NULL && trilha_text_equal(anchor, name)) return at->schema;
  }
  return NULL;
}

static const trilha_json_value *step(const trilha_json_value *at, trilha_text token) {
  if (at->type == TRILHA_JSON_OBJECT) return trilha_json_member_text(at, token);
  if (at->type != TRILHA_JSON_ARRAY) return NULL;
  const trilha_json_value *item = at + 1;
  for (uint32_t i = 0; i < at->size; i++, item = trilha_json_next(item)) {
    char index[16];
    int size = snprintf(index, sizeof index, "%u", i);
    if (trilha_text_equal(token, (trilha_text){index, (size_t)size})) return item;
  }
  return NULL;
}

static void unescape(trilha_buffer *out, trilha_text token) {
  trilha_buffer_clear(out);
  trilha_buffer_add_string(out, "");
  for (size_t i = 0; i < token.size; i++) {
    char c = token.data[i], next = i + 1 < token.size ? token.data[i + 1] : 0;
    bool escape = c == '~' && (next == '0' || next == '1');
    trilha_buffer_add_char(out, !escape ? c : next == '0' ? '~' : '/');
    i += escape;
  }
}

/* A JSON Pointer; what no keyword made a schema becomes one, in the resource that the way there last passed. */
static place pointed(reference *r, place from, trilha_text pointer) {
  TRILHA_BUFFER_SCOPED token = {0};
  const trilha_json_value *at = from.schema;
  for (size_t start = 1; at != NULL && start <= pointer.size;) {
    size_t end = start;
    while (end < pointer.size && pointer.data[end] != '/') end++;
    unescape(&token, (trilha_text){pointer.data + start, end - start});
    at = step(at, trilha_buffer_text(&token));
    if (at != NULL && known(r, at).schema != NULL) from = known(r, at);
    start = end + 1;
  }
  if (at != NULL && known(r, at).schema == NULL) walk_child(r, from, at, 0);
  return at == NULL ? (place){0} : known(r, at);
}

/* The outermost resource that was entered and has this $dynamicAnchor. */
static place rebound(const reference *r, trilha_text name, place target) {
  for (int i = 0; i < r->depth; i++) {
    const trilha_json_value *found = anchored(r, r->scope[i], name, "$dynamicAnchor");
    if (found != NULL) return known(r, found);
  }
  return target;
}

place reference_follow(reference *r, place from, trilha_text text, bool dynamic) {
  TRILHA_BUFFER_SCOPED fragment = {0};
  trilha_buffer_add_string(&fragment, "");
  trilha_schema_uri_decode(&fragment, trilha_schema_uri_split(text).fragment);
  trilha_text name = trilha_buffer_text(&fragment);
  bool own = text.size == 0 ? false : text.data[0] == '#';
  const trilha_json_value *resource = own ? from.resource : document_of(r, joined(r, from.uri, text));
  place target = resource == NULL ? (place){0} : known(r, resource);
  if (target.schema != NULL && name.size > 0 && name.data[0] == '/') {
    target = pointed(r, target, name);
  } else if (target.schema != NULL && name.size > 0) {
    const trilha_json_value *plain = anchored(r, target.schema, name, "$anchor");
    const trilha_json_value *found = anchored(r, target.schema, name, "$dynamicAnchor");
    target = plain == NULL && found == NULL ? (place){0} : known(r, found == NULL ? plain : found);
    if (dynamic && found != NULL) target = rebound(r, name, target);
  }
  if (target.schema == NULL) reference_give_up(r);
  return target;
}
