/* schema: JSON Schema 2020-12, compiled once and run many times. Room: schema. Corridor header.
 *
 * A compiled schema is immutable and may be shared by any number of threads; each thread brings its own scratch.
 * Nothing is ever fetched: a $ref resolves inside the schema, in the built-in metaschemas, or through the caller's
 * resolver.
 */
#ifndef TRILHA_SCHEMA_SCHEMA_H
#define TRILHA_SCHEMA_SCHEMA_H

#include "json/json.h"

typedef struct trilha_schema trilha_schema;
typedef struct trilha_schema_scratch trilha_schema_scratch;

/* Gives the document behind an absolute URI without fragment, borrowed until compile returns; NULL when unknown. */
typedef const trilha_json_document *(*trilha_schema_resolve)(void *user, trilha_text uri);

typedef struct trilha_schema_options {
  bool assert_format;    /* false: `format` is an annotation, the 2020-12 default */
  bool check_metaschema; /* refuse a schema that its metaschema refuses (always on at registration) */
  trilha_text base_uri;  /* absolute URI the schema was found under, or absent */
  trilha_schema_resolve resolve;
  void *resolve_user;
  uint64_t run_steps_max; /* per run; 0: TRILHA_SCHEMA_RUN_STEPS_MAX */
  trilha_text annotation; /* one extension keyword whose values are collected by trilha_schema_annotate(), e.g.
                             "x-redacao"; absent: none */
} trilha_schema_options;

/* Limits, with their reasons in docs/limits.md. */
#define TRILHA_SCHEMA_BYTES_MAX        ((size_t)1 << 20)  /* text of one schema */
#define TRILHA_SCHEMA_DEPTH_MAX        500                /* nested subschemas */
#define TRILHA_SCHEMA_PROGRAM_MAX      ((size_t)1 << 20)  /* compiled instructions */
#define TRILHA_SCHEMA_RUN_STEPS_MAX    UINT64_C(50000000) /* instructions and items looked at in one run */
#define TRILHA_SCHEMA_RUN_DEPTH_MAX    2000               /* nested calls: instance depth × reference chains */
#define TRILHA_SCHEMA_PATTERN_SIZE_MAX 4096               /* bytes of one pattern */
#define TRILHA_SCHEMA_VIOLATIONS_MAX   1000               /* listed; more are counted */

/* OK; INVALID: not a schema (code SCHEMA_INVALID, SCHEMA_REF_UNRESOLVED, SCHEMA_PATTERN, …; the text has the schema
 * pointer); LIMIT: a compile budget (code SCHEMA_TOO_LARGE, SCHEMA_TOO_DEEP); NO_MEMORY. The document is only borrowed
 * during the call. */
trilha_status trilha_schema_compile(const trilha_json_document *document, const trilha_schema_options *options,
                                    trilha_schema **ret_schema, trilha_error *err) TRILHA_MUST_USE;
void trilha_schema_free(trilha_schema *schema);

/* Every name that the schema mentions: give it to trilha_json_read() so that members carry their numbers. A document
 * read with other keys (or none) is still validated rightly, only slower: pass its table, or NULL, as `keys` below. */
const trilha_json_keys *trilha_schema_keys(const trilha_schema *schema);

trilha_status trilha_schema_scratch_new(trilha_schema_scratch **ret_scratch, trilha_error *err) TRILHA_MUST_USE;
void trilha_schema_scratch_free(trilha_schema_scratch *scratch);

typedef enum trilha_verdict {
  TRILHA_VERDICT_VALID = 0,
  TRILHA_VERDICT_INVALID = 1,
  TRILHA_VERDICT_UNDECIDED =
      2 /* a budget (steps, depth, regular-expression limits, memory) ran out: never a match or a non-match */
} trilha_verdict;

/* The fast pass: stops at the first failure. `keys` is what the document was read with. */
trilha_verdict trilha_schema_validate(const trilha_schema *schema, const trilha_json_document *document,
                                      const trilha_json_keys *keys, trilha_schema_scratch *scratch);

/* One failed assertion. Texts live in the scratch until its next use. Values of the instance are never quoted; a
 * property name that the schema does not list is shown as "*" in the pointer (ruling of privacy: it may be personal
 * data). */
typedef struct trilha_violation {
  trilha_text instance_pointer; /* masked as above */
  trilha_text schema_pointer;   /* evaluation path through $ref: "/properties/a/$ref/minLength" */
  trilha_text schema_location;  /* absolute keyword location: base URI + "#" + pointer */
  trilha_text keyword;          /* "minLength", "required", …; "false schema" for the schema false */
  trilha_text text;             /* for people, in English: "must be at least 5 characters" */
  bool in_branch; /* failed inside an anyOf/oneOf/contains/if branch: the cause is the combinator listed after it */
} trilha_violation;

typedef struct trilha_violations {
  trilha_violation *items; /* in document order of evaluation */
  size_t count;            /* listed, at most TRILHA_SCHEMA_VIOLATIONS_MAX */
  size_t total;            /* found */
  trilha_verdict verdict;
} trilha_violations;

/* The reporting pass: everything that fails, in the order in which the schema states it. */
trilha_status trilha_schema_report(const trilha_schema *schema, const trilha_json_document *document,
                                   const trilha_json_keys *keys, bool mask_names, trilha_schema_scratch *scratch,
                                   trilha_violations *ret_violations, trilha_error *err) TRILHA_MUST_USE;

/* The annotation pass on a document that is valid: calls `found` once for each (instance value, subschema that
 * applied to it and carries the annotation keyword), in evaluation order; what failed branches, `not` and `if` tests
 * saw is dropped (2020-12 core 7.7). `rule` is the annotation's value inside the schema (it lives as long as the
 * schema). */
typedef struct trilha_annotation {
  const trilha_json_value *instance; /* the value annotated */
  const trilha_json_value *rule;     /* value of the annotation keyword */
  bool unlisted; /* some name on the way to the value matched only additionalProperties, patternProperties,
                    unevaluatedProperties: names there are data */
} trilha_annotation;
typedef trilha_status (*trilha_annotation_found)(void *user, const trilha_annotation *annotation);

/* INVALID when the document is not valid; LIMIT when undecided; else what `found` returned, or OK. */
trilha_status trilha_schema_annotate(const trilha_schema *schema, const trilha_json_document *document,
                                     const trilha_json_keys *keys, trilha_schema_scratch *scratch,
                                     trilha_annotation_found found, void *user, trilha_error *err) TRILHA_MUST_USE;

#endif
