/* schema tests: JSON Schema 2020-12 as its text reads, slow and plain, to hold the engine against.
 *
 * Nothing is compiled, nothing is ordered by cost, no branch is left early and every annotation is kept: each subschema
 * is looked at keyword by keyword, each time it applies. It shares with the engine only what has tests of its own: the
 * JSON reader, exact numbers, patterns, formats and the joining of URIs.
 *
 * test_reference.c holds it against the official suite first. Not for production: it recurses, within
 * REFERENCE_DEPTH_MAX. */
#ifndef TRILHA_TESTS_SCHEMA_REFERENCE_H
#define TRILHA_TESTS_SCHEMA_REFERENCE_H

#include "schema/schema.h"

/* Beyond either the verdict is UNDECIDED. */
enum { REFERENCE_DEPTH_MAX = 256, REFERENCE_STEPS_MAX = 200000 };

typedef struct reference_options {
  bool assert_format;
  trilha_schema_resolve resolve; /* may be NULL */
  void *resolve_user;
} reference_options;

/* The verdict on a schema that the engine compiles. UNDECIDED also where the schema is malformed at a place that
 * applies. */
trilha_verdict reference_verdict(const trilha_json_document *schema, const trilha_json_document *instance,
                                 const reference_options *options);

#endif
