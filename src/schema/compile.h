/* schema/compile: what the parts of the compiler share. Room: schema, inside. One owner, lives for one compile call.
 *
 * The first failure is kept in `status` and `err`; every function may then return anything, callers look at `status`
 * before they use it. Nothing here recurses on the schema: blocks are compiled from a list of work.
 */
#ifndef TRILHA_SCHEMA_COMPILE_H
#define TRILHA_SCHEMA_COMPILE_H

#include "json/number.h"
#include "schema/program.h"

/* Texts to numbers. Memory comes from the arena it is given. */
typedef struct schema_map {
  trilha_arena *arena;
  uint64_t seed;
  struct schema_map_slot *slots;
  uint32_t count, capacity;
} schema_map;
/* False when out of memory. */
bool trilha_schema_map_put(schema_map *map, trilha_text key, uint32_t value);
/* UINT32_MAX when absent. */
uint32_t trilha_schema_map_get(const schema_map *map, trilha_text key);

/* One document in use: the schema, a metaschema, what the resolver gave. */
typedef struct schema_source {
  const trilha_json_value *values;
  size_t count;
  uint32_t *resource_of; /* by value: index + 1 of the resource when a subschema begins there */
} schema_source;

typedef struct schema_resource {
  trilha_text uri; /* absolute, without fragment; "" when nothing names it */
  const trilha_json_value *root;
  unsigned vocabularies;
} schema_resource;

typedef struct schema_anchor {
  uint32_t resource;
  trilha_text name;
  const trilha_json_value *value;
  bool dynamic;
} schema_anchor;

enum { VARIANT_TRACKED = 1, VARIANT_BODY = 2 };

/* A block that is asked for and not compiled yet. */
typedef struct schema_work {
  schema_block *block;
  unsigned variant;
} schema_work;

typedef struct schema_pending_dynamic {
  schema_dynamic *dynamic;
  unsigned variant;
  uint32_t checked; /* anchors looked at so far */
} schema_pending_dynamic;

typedef struct schema_compiler {
  const trilha_schema_options *options;
  trilha_schema *schema;
  trilha_arena *arena;  /* of the result */
  trilha_arena passing; /* dies with the compiler */
  schema_source *sources;
  size_t source_count, source_capacity;
  schema_resource *resources;
  size_t resource_count, resource_capacity;
  schema_anchor *anchors;
  size_t anchor_count, anchor_capacity;
  trilha_text *names;
  size_t name_count, name_capacity;
  trilha_pattern **patterns;
  size_t pattern_count, pattern_capacity;
  trilha_pattern_budget pattern_budget;
  schema_map uri_map, anchor_map, name_map, pattern_map, block_map, member_map;
  bool plain; /* which program is being compiled */
  schema_block **blocks;
  size_t block_count, block_capacity;
  schema_work *work;
  size_t work_count, work_capacity;
  schema_pending_dynamic *dynamics;
  size_t dynamic_count, dynamic_capacity;
  size_t instr_count;
  uint16_t *entry_of; /* by name, while one object is compiled */
  trilha_buffer uri;  /* for short use */
  trilha_status status;
  trilha_error *err;
} schema_compiler;

/* Room for one more item of `size` bytes; false when out of memory. */
bool trilha_schema_grow(schema_compiler *c, void *items, size_t count, size_t *capacity, size_t size);
#define SCHEMA_GROW(c, list, count, capacity) trilha_schema_grow(c, &(list), count, &(capacity), sizeof(*(list)))
void *trilha_schema_alloc(schema_compiler *c, size_t count, size_t size); /* of the result, cleared */
void trilha_schema_no_memory(schema_compiler *c);
/* `at` is the place in the schema, or NULL. */
void trilha_schema_refuse(schema_compiler *c, trilha_status status, const char *code, const trilha_json_value *at,
                          const char *format, ...) TRILHA_PRINTF(5, 6);

/* --- resources.c, resolve.c ----------------------------------------------------------------------------------- */

/* Copies the document, finds its resources and anchors; the index of its root resource. `uri` may be empty. */
uint32_t trilha_schema_source_add(schema_compiler *c, const trilha_json_document *document, trilha_text uri);
/* Makes the value a subschema of the resource, with everything below it. */
void trilha_schema_source_index(schema_compiler *c, schema_source *source, const trilha_json_value *value,
                                uint32_t resource);
schema_source *trilha_schema_source_of(schema_compiler *c, const trilha_json_value *value);
/* The resource a known subschema belongs to. */
uint32_t trilha_schema_resource_of(schema_compiler *c, const trilha_json_value *value);
uint32_t trilha_schema_anchor_find(const schema_compiler *c, uint32_t resource, trilha_text name);

typedef struct schema_target {
  const trilha_json_value *value;
  uint32_t resource;
  const schema_anchor *anchor; /* when the fragment was one */
} schema_target;
/* `reference` is the string of a $ref or $dynamicRef. */
schema_target trilha_schema_resolve_reference(schema_compiler *c, const trilha_json_value *reference,
                                              uint32_t resource);
/* A built-in metaschema's text by its URI, or absent. */
trilha_text trilha_schema_metaschema(trilha_text uri);
/* INVALID when the schema's metaschema refuses it. */
trilha_status trilha_schema_check_document(const trilha_json_document *document, const trilha_schema_options *options,
                                           trilha_error *err) TRILHA_MUST_USE;

/* --- compile.c ------------------------------------------------------------------------------------------------ */

/* The names a subschema evaluates by itself and through what it applies in place. */
typedef struct schema_evaluated {
  trilha_text *names;
  size_t name_count, name_capacity;
  const trilha_json_value **patterns; /* keys of patternProperties */
  size_t pattern_count, pattern_capacity;
  trilha_pattern_budget pattern_budget;
  bool all; /* additionalProperties or the like: every name */
} schema_evaluated;

typedef struct schema_builder {
  const trilha_json_value *value;
  uint32_t resource;
  unsigned variant;
  const trilha_json_value *kw[KW_COUNT]; /* the keywords' values */
  uint8_t types;                         /* asserted, not yet on an instruction; TYPE_ANY when nothing */
  uint8_t domain;                        /* types that can still be here */
  bool closed;                           /* `unevaluatedProperties` is compiled as a closed object */
  schema_evaluated evaluated;            /* when closed */
  schema_instr *code;                    /* in c->passing */
  size_t count, capacity;
  schema_instr lost; /* where an instruction goes that found no memory */
} schema_builder;

/* The block of a subschema, compiled now or later; NULL when anything passes. */
const schema_block *trilha_schema_block(schema_compiler *c, const trilha_json_value *value, unsigned variant);
uint16_t trilha_schema_name(schema_compiler *c, trilha_text name);
const trilha_pattern *trilha_schema_pattern(schema_compiler *c, const trilha_json_value *pattern);
/* Appends an instruction; takes b->types when it is one that looks at them. */
schema_instr *trilha_schema_emit(schema_compiler *c, schema_builder *b, schema_op op, schema_keyword keyword);
/* A keyword's non-negative integer, cut to 32 bits. */
uint32_t trilha_schema_count(schema_compiler *c, const trilha_json_value *value);
bool trilha_schema_is_type(schema_compiler *c, const trilha_json_value *value, trilha_json_type type);

/* --- compile_assert.c, compile_object.c, compile_apply.c -------------------------------------------------------- */

void trilha_schema_emit_types(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_enum(schema_compiler *c, schema_builder *b, schema_keyword keyword);
/* All of the keywords that are there, in one instruction. */
void trilha_schema_emit_string(schema_compiler *c, schema_builder *b, const schema_keyword *keywords, size_t count);
void trilha_schema_emit_number(schema_compiler *c, schema_builder *b, const schema_keyword *keywords, size_t count);
void trilha_schema_emit_size(schema_compiler *c, schema_builder *b, schema_op op, const schema_keyword *keywords,
                             size_t count);
void trilha_schema_emit_unique(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_required(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_dependent_required(schema_compiler *c, schema_builder *b, schema_keyword keyword);
void trilha_schema_emit_object(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_names(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_items(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_contains(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_ref(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_dynamic_ref(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_all_of(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_branches(schema_compiler *c, schema_builder *b, schema_keyword keyword);
void trilha_schema_emit_not(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_if(schema_compiler *c, schema_builder *b);
void trilha_schema_emit_dependent_schemas(schema_compiler *c, schema_builder *b, schema_keyword keyword);
void trilha_schema_emit_unevaluated(schema_compiler *c, schema_builder *b);
schema_decimal trilha_schema_decimal(trilha_text text);

/* --- unevaluated.c, link.c ------------------------------------------------------------------------------------ */

/* Whether the names that the subschema evaluates are the same for every valid instance; they are then in b->evaluated.
 */
bool trilha_schema_evaluated_statically(schema_compiler *c, schema_builder *b);

/* Gives blocks their tags; types must be known (tag.c). */
void trilha_schema_find_tags(schema_compiler *c);
/* Finishes a program: aliases, inlining, heights, quick refusals. */
void trilha_schema_link(schema_compiler *c, schema_program *program);

#endif
