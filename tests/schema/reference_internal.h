/* The inside of the reference: where subschemas are and what they evaluated. */
#ifndef TRILHA_TESTS_SCHEMA_REFERENCE_INTERNAL_H
#define TRILHA_TESTS_SCHEMA_REFERENCE_INTERNAL_H

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "json/number.h"
#include "reference.h"

enum { REFERENCE_DOCUMENTS_MAX = 80, REFERENCE_PLACES_MAX = 20000 };

/* JSON types that a keyword may have; a schema is an object or a boolean. */
enum {
  NUMBER = 1 << TRILHA_JSON_NUMBER,
  STRING = 1 << TRILHA_JSON_STRING,
  ARRAY = 1 << TRILHA_JSON_ARRAY,
  OBJECT = 1 << TRILHA_JSON_OBJECT,
  SCHEMA = OBJECT | 1 << TRILHA_JSON_TRUE | 1 << TRILHA_JSON_FALSE
};

/* Vocabularies that a resource's metaschema names. */
enum { APPLICATOR = 1, UNEVALUATED = 2, VALIDATION = 4, FORMAT = 8, ASSERTED_FORMAT = 16, STANDARD = 15 };

/* A subschema, the root of the resource it lies in, and that resource's URI. */
typedef struct place {
  const trilha_json_value *schema, *resource;
  trilha_text uri;
  unsigned vocabularies;
} place;

/* What one subschema says of one value: `seen` marks the items or members that were evaluated. */
typedef struct outcome {
  bool valid;
  bool *seen;
  uint32_t count;
} outcome;

typedef struct reference {
  const reference_options *options;
  trilha_arena memory;
  place places[REFERENCE_PLACES_MAX];
  size_t place_count;
  trilha_json_document *owned[REFERENCE_DOCUMENTS_MAX];
  size_t owned_count;
  const trilha_json_value *scope[REFERENCE_DEPTH_MAX]; /* resources entered, outermost first */
  int depth;
  size_t steps;
  bool undecided;
} reference;

void reference_give_up(reference *r);
place reference_open(reference *r, const trilha_json_document *schema);
/* Frees it too. */
void reference_close(reference *r);
/* The place of a subschema that stands in a keyword of `parent`. */
place reference_place_of(reference *r, place parent, const trilha_json_value *schema);
/* Where $ref or $dynamicRef leads; its schema is NULL, and the verdict undecided, when nowhere. */
place reference_follow(reference *r, place from, trilha_text text, bool dynamic);

#endif
