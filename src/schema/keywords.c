/* The table of keywords, sorted by name for a binary search. */
#include "schema/keywords.h"

typedef struct keyword_row {
  const char *name;
  uint8_t keyword, shape, vocabulary;
} keyword_row;

static const keyword_row rows[] = {
    {"$anchor", KW_ANCHOR, SHAPE_NONE, VOCABULARY_CORE},
    {"$defs", KW_DEFS, SHAPE_MAP, VOCABULARY_CORE},
    {"$dynamicAnchor", KW_DYNAMIC_ANCHOR, SHAPE_NONE, VOCABULARY_CORE},
    {"$dynamicRef", KW_DYNAMIC_REF, SHAPE_NONE, VOCABULARY_CORE},
    {"$id", KW_ID, SHAPE_NONE, VOCABULARY_CORE},
    {"$ref", KW_REF, SHAPE_NONE, VOCABULARY_CORE},
    {"$schema", KW_SCHEMA, SHAPE_NONE, VOCABULARY_CORE},
    {"additionalProperties", KW_ADDITIONAL_PROPERTIES, SHAPE_SCHEMA, VOCABULARY_APPLICATOR},
    {"allOf", KW_ALL_OF, SHAPE_LIST, VOCABULARY_APPLICATOR},
    {"anyOf", KW_ANY_OF, SHAPE_LIST, VOCABULARY_APPLICATOR},
    {"const", KW_CONST, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"contains", KW_CONTAINS, SHAPE_SCHEMA, VOCABULARY_APPLICATOR},
    {"definitions", KW_DEFINITIONS, SHAPE_MAP, VOCABULARY_CORE},
    {"dependencies", KW_DEPENDENCIES, SHAPE_MAP_OR_NAMES, VOCABULARY_APPLICATOR},
    {"dependentRequired", KW_DEPENDENT_REQUIRED, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"dependentSchemas", KW_DEPENDENT_SCHEMAS, SHAPE_MAP, VOCABULARY_APPLICATOR},
    {"else", KW_ELSE, SHAPE_SCHEMA, VOCABULARY_APPLICATOR},
    {"enum", KW_ENUM, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"exclusiveMaximum", KW_EXCLUSIVE_MAXIMUM, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"exclusiveMinimum", KW_EXCLUSIVE_MINIMUM, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"format", KW_FORMAT, SHAPE_NONE, VOCABULARY_FORMAT},
    {"if", KW_IF, SHAPE_SCHEMA, VOCABULARY_APPLICATOR},
    {"items", KW_ITEMS, SHAPE_SCHEMA, VOCABULARY_APPLICATOR},
    {"maxContains", KW_MAX_CONTAINS, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"maxItems", KW_MAX_ITEMS, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"maxLength", KW_MAX_LENGTH, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"maxProperties", KW_MAX_PROPERTIES, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"maximum", KW_MAXIMUM, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"minContains", KW_MIN_CONTAINS, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"minItems", KW_MIN_ITEMS, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"minLength", KW_MIN_LENGTH, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"minProperties", KW_MIN_PROPERTIES, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"minimum", KW_MINIMUM, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"multipleOf", KW_MULTIPLE_OF, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"not", KW_NOT, SHAPE_SCHEMA, VOCABULARY_APPLICATOR},
    {"oneOf", KW_ONE_OF, SHAPE_LIST, VOCABULARY_APPLICATOR},
    {"pattern", KW_PATTERN, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"patternProperties", KW_PATTERN_PROPERTIES, SHAPE_MAP, VOCABULARY_APPLICATOR},
    {"prefixItems", KW_PREFIX_ITEMS, SHAPE_LIST, VOCABULARY_APPLICATOR},
    {"properties", KW_PROPERTIES, SHAPE_MAP, VOCABULARY_APPLICATOR},
    {"propertyNames", KW_PROPERTY_NAMES, SHAPE_SCHEMA, VOCABULARY_APPLICATOR},
    {"required", KW_REQUIRED, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"then", KW_THEN, SHAPE_SCHEMA, VOCABULARY_APPLICATOR},
    {"type", KW_TYPE, SHAPE_NONE, VOCABULARY_VALIDATION},
    {"unevaluatedItems", KW_UNEVALUATED_ITEMS, SHAPE_SCHEMA, VOCABULARY_UNEVALUATED},
    {"unevaluatedProperties", KW_UNEVALUATED_PROPERTIES, SHAPE_SCHEMA, VOCABULARY_UNEVALUATED},
    {"uniqueItems", KW_UNIQUE_ITEMS, SHAPE_NONE, VOCABULARY_VALIDATION},
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static const keyword_row *row_of(schema_keyword keyword) {
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if (rows[i].keyword == keyword) return &rows[i];
  }
  return NULL;
}

schema_keyword trilha_schema_keyword_find(trilha_text name) {
  size_t low = 0, high = ROW_COUNT;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = trilha_text_compare(name, trilha_text_of(rows[middle].name));
    if (order == 0) return (schema_keyword)rows[middle].keyword;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return KW_NONE;
}

const char *trilha_schema_keyword_name(schema_keyword keyword) {
  if (keyword == KW_FALSE_SCHEMA) return "false schema";
  const keyword_row *row = row_of(keyword);
  return row == NULL ? "" : row->name;
}

schema_shape trilha_schema_keyword_shape(schema_keyword keyword) {
  const keyword_row *row = row_of(keyword);
  return row == NULL ? SHAPE_NONE : (schema_shape)row->shape;
}

unsigned trilha_schema_keyword_vocabulary(schema_keyword keyword) {
  const keyword_row *row = row_of(keyword);
  return row == NULL ? VOCABULARY_CORE : row->vocabulary;
}

unsigned trilha_schema_vocabulary_find(trilha_text uri) {
  static const struct {
    const char *uri;
    unsigned bit;
  } known[] = {
      {"https://json-schema.org/draft/2020-12/vocab/core", VOCABULARY_CORE},
      {"https://json-schema.org/draft/2020-12/vocab/applicator", VOCABULARY_APPLICATOR},
      {"https://json-schema.org/draft/2020-12/vocab/unevaluated", VOCABULARY_UNEVALUATED},
      {"https://json-schema.org/draft/2020-12/vocab/validation", VOCABULARY_VALIDATION},
      {"https://json-schema.org/draft/2020-12/vocab/format-annotation", VOCABULARY_FORMAT},
      {"https://json-schema.org/draft/2020-12/vocab/format-assertion", VOCABULARY_FORMAT | VOCABULARY_FORMAT_ASSERTION},
      {"https://json-schema.org/draft/2020-12/vocab/meta-data", VOCABULARY_OTHER},
      {"https://json-schema.org/draft/2020-12/vocab/content", VOCABULARY_OTHER},
  };
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    if (trilha_text_is(uri, known[i].uri)) return known[i].bit;
  }
  return 0;
}
