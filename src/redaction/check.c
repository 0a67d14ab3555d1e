/* redaction: judging the rules of a schema when it is registered, so that a mistake is told to the author and not paid
 * by the citizen. Only positions that 2020-12 calls subschemas are looked at: inside const, enum, default and examples
 * an x-redacao is data. */
#include <stdlib.h>

#include "base/error.h"
#include "redaction/redaction_internal.h"

enum { REF_HOPS_MAX = 16 }; /* local references followed to find the rule of a coordinate */

typedef enum holds { ONE, LIST, MAP } holds;

/* Keywords that hold subschemas. `dead`: an annotation below it never reaches an instance value (2020-12 core 7.7.1;
 * names are no values), so a rule there would be a promise that nobody keeps. */
static const struct keyword {
  const char *name;
  holds holds;
  bool dead;
} KEYWORDS[] = {
    {"properties", MAP, false},
    {"items", ONE, false},
    {"allOf", LIST, false},
    {"anyOf", LIST, false},
    {"oneOf", LIST, false},
    {"then", ONE, false},
    {"else", ONE, false},
    {"prefixItems", LIST, false},
    {"contains", ONE, false},
    {"additionalProperties", ONE, false},
    {"patternProperties", MAP, false},
    {"dependentSchemas", MAP, false},
    {"unevaluatedProperties", ONE, false},
    {"unevaluatedItems", ONE, false},
    {"$defs", MAP, false},
    {"definitions", MAP, false},
    {"dependencies", MAP, false},
    {"if", ONE, true},
    {"not", ONE, true},
    {"propertyNames", ONE, true},
    {"contentSchema", ONE, true},
};

typedef struct pending {
  const trilha_json_value *schema;
  const char *dead; /* the keyword that makes rules below pointless, or NULL */
} pending;

typedef struct walk {
  const trilha_json_document *document;
  pending *stack; /* subschemas still to be looked at */
  size_t size, capacity;
  bool any_rule, needs_key;
} walk;

static trilha_status refuse(const walk *w, const trilha_json_value *at, const char *code, const char *why,
                            trilha_error *err) {
  TRILHA_BUFFER_SCOPED pointer = {0};
  trilha_json_pointer_to(w->document->values, at, &pointer);
  return trilha_error_set(err, TRILHA_INVALID, code, "schema at \"%s\": %s", pointer.data == NULL ? "" : pointer.data,
                          why);
}

static trilha_status push(walk *w, const trilha_json_value *schema, const char *dead, trilha_error *err) {
  if (schema->type != TRILHA_JSON_OBJECT) return TRILHA_OK; /* true and false carry no rules */
  if (w->size == w->capacity) {
    size_t capacity = w->capacity == 0 ? 64 : 2 * w->capacity;
    pending *stack = realloc(w->stack, capacity * sizeof *stack);
    if (stack == NULL) return trilha_error_no_memory(err);
    w->stack = stack;
    w->capacity = capacity;
  }
  w->stack[w->size++] = (pending){schema, dead};
  return TRILHA_OK;
}

static const struct keyword *keyword_of(trilha_text name) {
  for (size_t i = 0; i < sizeof KEYWORDS / sizeof KEYWORDS[0]; i++)
    if (trilha_text_is(name, KEYWORDS[i].name)) return &KEYWORDS[i];
  return NULL;
}

static trilha_status push_below(walk *w, const struct keyword *keyword, const trilha_json_value *value,
                                const char *dead, trilha_error *err) {
  if (keyword->dead) dead = keyword->name;
  if (strcmp(keyword->name, "$defs") == 0 || strcmp(keyword->name, "definitions") == 0) dead = NULL;
  if (keyword->holds == ONE) return push(w, value, dead, err);
  bool map = keyword->holds == MAP;
  if (value->type != (map ? TRILHA_JSON_OBJECT : TRILHA_JSON_ARRAY)) return TRILHA_OK; /* the metaschema's business */
  const trilha_json_value *at = value + 1;
  for (uint32_t i = 0; i < value->size; i++, at = trilha_json_next(at)) {
    if (map) at++; /* the name */
    trilha_status status = push(w, at, dead, err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

/* --- the place of a rule ---------------------------------------------------------------------------------- */

static bool names_container(const trilha_json_value *type) {
  return trilha_json_is(type, "object") || trilha_json_is(type, "array");
}

/* Whether the subschema says that it describes objects or arrays. One that says nothing is believed to describe leaves:
 * a container met there at run time is not kept either, its leaves have no rule. */
static bool describes_container(const trilha_json_value *schema) {
  static const char *const SIGNS[] = {"properties",    "items",        "prefixItems",       "additionalProperties",
                                      "required",      "contains",     "patternProperties", "unevaluatedProperties",
                                      "uniqueItems",   "maxItems",     "unevaluatedItems",  "minItems",
                                      "maxProperties", "minProperties"};
  const trilha_json_value *type = trilha_json_member(schema, "type");
  if (type != NULL && type->type == TRILHA_JSON_ARRAY) {
    const trilha_json_value *at = type + 1;
    for (uint32_t i = 0; i < type->size; i++, at = trilha_json_next(at))
      if (names_container(at)) return true;
    return false;
  }
  if (type != NULL) return names_container(type);
  for (size_t i = 0; i < sizeof SIGNS / sizeof SIGNS[0]; i++)
    if (trilha_json_member(schema, SIGNS[i]) != NULL) return true;
  return false;
}

static trilha_status check_rule(walk *w, const pending *at, const trilha_json_value *value, trilha_error *err) {
  uint8_t rule = trilha_rule_of(value);
  if (rule == TRILHA_RULE_NONE)
    return refuse(w, value, "REDACTION_RULE_UNKNOWN",
                  "x-redacao is \"manter\", \"hash\", \"remover\" or {\"arredondar\": 0 to 15}", err);
  if (at->dead != NULL)
    return refuse(w, value, "REDACTION_RULE_PLACE",
                  "a rule below not, if, propertyNames or contentSchema never applies", err);
  w->any_rule = true;
  if (rule == TRILHA_RULE_HASH) w->needs_key = true;
  bool root = at->schema == w->document->values;
  if (rule == TRILHA_RULE_REMOVE || (root && rule == TRILHA_RULE_KEEP)) return TRILHA_OK;
  if (root || describes_container(at->schema))
    return refuse(w, value, "REDACTION_RULE_PLACE",
                  "an object or array cannot be kept, hashed or rounded as a whole: give each leaf its rule", err);
  return TRILHA_OK;
}

/* --- coordinates ------------------------------------------------------------------------------------------- */

/* The rule a property's subschema states itself or through references inside this document. */
static uint8_t rule_through_references(const walk *w, const trilha_json_value *schema) {
  for (int hop = 0; hop < REF_HOPS_MAX && schema != NULL && schema->type == TRILHA_JSON_OBJECT; hop++) {
    const trilha_json_value *value = trilha_json_member(schema, TRILHA_REDACTION_KEYWORD);
    if (value != NULL) return trilha_rule_of(value);
    trilha_text ref = trilha_json_member_string(schema, "$ref");
    if (ref.size < 2 || ref.data[0] != '#' || ref.data[1] != '/') return TRILHA_RULE_NONE;
    schema = trilha_json_pointer_find(w->document->values, (trilha_text){ref.data + 1, ref.size - 1});
  }
  return TRILHA_RULE_NONE;
}

static const trilha_json_value *partner_in(const trilha_json_value *properties, trilha_text name) {
  for (size_t n = 0;; n++) {
    trilha_text partner = trilha_coordinate_partner(name, n);
    if (partner.data == NULL) return NULL;
    const trilha_json_value *at = properties + 1;
    for (uint32_t i = 0; i < properties->size; i++, at = trilha_json_next(at + 1))
      if (trilha_coordinate_names_equal(trilha_json_text(at), partner)) return at + 1;
  }
}

static bool pair_allowed(uint8_t a, uint8_t b) {
  if (trilha_rule_rounds(a)) return a == b;
  bool a_goes = a == TRILHA_RULE_NONE || a == TRILHA_RULE_REMOVE,
       b_goes = b == TRILHA_RULE_NONE || b == TRILHA_RULE_REMOVE;
  return a_goes && b_goes;
}

static trilha_status check_coordinates(const walk *w, const trilha_json_value *properties, trilha_error *err) {
  if (properties->type != TRILHA_JSON_OBJECT) return TRILHA_OK;
  const trilha_json_value *at = properties + 1;
  for (uint32_t i = 0; i < properties->size; i++, at = trilha_json_next(at + 1)) {
    const trilha_json_value *partner = partner_in(properties, trilha_json_text(at));
    if (partner == NULL) continue;
    if (!pair_allowed(rule_through_references(w, at + 1), rule_through_references(w, partner)))
      return refuse(w, at + 1, "REDACTION_COORDINATES",
                    "latitude and longitude are rounded to the same places, or both removed", err);
  }
  return TRILHA_OK;
}

/* --- the walk ----------------------------------------------------------------------------------------------- */

static trilha_status check_subschema(walk *w, pending at, trilha_error *err) {
  const trilha_json_value *name = at.schema + 1;
  trilha_status status = TRILHA_OK;
  for (uint32_t i = 0; i < at.schema->size && status == TRILHA_OK; i++, name = trilha_json_next(name + 1)) {
    const trilha_json_value *value = name + 1;
    if (trilha_json_is(name, TRILHA_REDACTION_KEYWORD)) {
      status = check_rule(w, &at, value, err);
      continue;
    }
    const struct keyword *keyword = keyword_of(trilha_json_text(name));
    if (keyword == NULL) continue;
    status = push_below(w, keyword, value, at.dead, err);
    if (status == TRILHA_OK && trilha_json_is(name, "properties")) status = check_coordinates(w, value, err);
  }
  return status;
}

trilha_status trilha_redaction_check(const trilha_json_document *schema, bool *ret_needs_key, trilha_error *err) {
  walk w = {.document = schema};
  trilha_status status = push(&w, schema->values, NULL, err);
  while (status == TRILHA_OK && w.size != 0) status = check_subschema(&w, w.stack[--w.size], err);
  free(w.stack);
  if (status != TRILHA_OK) return status;
  if (!w.any_rule)
    return trilha_error_set(err, TRILHA_INVALID, "REDACTION_NO_RULES",
                            "the schema has no x-redacao rule: nothing of a payload would be stored; give its fields "
                            "rules, or say \"x-redacao\": \"manter\" at its root on purpose");
  *ret_needs_key = w.needs_key;
  return TRILHA_OK;
}
