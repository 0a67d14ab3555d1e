/* schema/keywords: the words of JSON Schema 2020-12 and how subschemas hang below them. Room: schema, inside. */
#ifndef TRILHA_SCHEMA_KEYWORDS_H
#define TRILHA_SCHEMA_KEYWORDS_H

#include "base/text.h"

typedef enum schema_keyword {
  KW_NONE, /* not a keyword: data */
  KW_ADDITIONAL_PROPERTIES,
  KW_ALL_OF,
  KW_ANCHOR,
  KW_ANY_OF,
  KW_CONST,
  KW_CONTAINS,
  KW_DEFINITIONS,
  KW_DEFS,
  KW_DEPENDENCIES,
  KW_DEPENDENT_REQUIRED,
  KW_DEPENDENT_SCHEMAS,
  KW_DYNAMIC_ANCHOR,
  KW_DYNAMIC_REF,
  KW_ELSE,
  KW_ENUM,
  KW_EXCLUSIVE_MAXIMUM,
  KW_EXCLUSIVE_MINIMUM,
  KW_FORMAT,
  KW_ID,
  KW_IF,
  KW_ITEMS,
  KW_MAX_CONTAINS,
  KW_MAX_ITEMS,
  KW_MAX_LENGTH,
  KW_MAX_PROPERTIES,
  KW_MAXIMUM,
  KW_MIN_CONTAINS,
  KW_MIN_ITEMS,
  KW_MIN_LENGTH,
  KW_MIN_PROPERTIES,
  KW_MINIMUM,
  KW_MULTIPLE_OF,
  KW_NOT,
  KW_ONE_OF,
  KW_PATTERN,
  KW_PATTERN_PROPERTIES,
  KW_PREFIX_ITEMS,
  KW_PROPERTIES,
  KW_PROPERTY_NAMES,
  KW_REF,
  KW_REQUIRED,
  KW_SCHEMA,
  KW_THEN,
  KW_TYPE,
  KW_UNEVALUATED_ITEMS,
  KW_UNEVALUATED_PROPERTIES,
  KW_UNIQUE_ITEMS,
  KW_ANNOTATION, /* the caller's extension keyword */
  KW_FALSE_SCHEMA,
  KW_COUNT
} schema_keyword;

typedef enum schema_shape { /* what subschemas a keyword holds */
                            SHAPE_NONE,
                            SHAPE_SCHEMA,
                            SHAPE_LIST,
                            SHAPE_MAP,
                            SHAPE_MAP_OR_NAMES /* `dependencies`: schemas or lists of names */
} schema_shape;

enum { /* vocabularies, bits */
       VOCABULARY_CORE = 1,
       VOCABULARY_APPLICATOR = 2,
       VOCABULARY_UNEVALUATED = 4,
       VOCABULARY_VALIDATION = 8,
       VOCABULARY_FORMAT = 16, /* annotation or assertion */
       VOCABULARY_FORMAT_ASSERTION = 32,
       VOCABULARY_OTHER = 64, /* meta-data, content: nothing to run */
       VOCABULARY_ALL = 0x5f
};

schema_keyword trilha_schema_keyword_find(trilha_text name);
const char *trilha_schema_keyword_name(schema_keyword keyword);
schema_shape trilha_schema_keyword_shape(schema_keyword keyword);
unsigned trilha_schema_keyword_vocabulary(schema_keyword keyword);
/* The vocabulary bit of a vocabulary URI, or 0. */
unsigned trilha_schema_vocabulary_find(trilha_text uri);

#endif
