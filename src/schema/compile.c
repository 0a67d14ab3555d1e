/* The compiler's frame: a list of work, blocks, names, and the order of keywords. */
#include "schema/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/error.h"

/* Memory of one compiled schema, everything included. */
#define TRILHA_SCHEMA_MEMORY_MAX ((size_t)256 << 20)
enum { TRILHA_SCHEMA_NAMES_MAX = 65535 };

bool trilha_schema_grow(schema_compiler *c, void *items, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return true;
  size_t larger = *capacity == 0 ? 16 : *capacity * 2;
  void *old = NULL, *room = trilha_arena_array(&c->passing, larger, size);
  if (room == NULL) {
    trilha_schema_no_memory(c);
    return false;
  }
  memcpy(&old, items, sizeof(old));
  if (count > 0) memcpy(room, old, count * size);
  memcpy(items, &room, sizeof(room));
  *capacity = larger;
  return true;
}

void *trilha_schema_alloc(schema_compiler *c, size_t count, size_t size) {
  void *memory = trilha_arena_array(c->arena, count, size);
  if (memory == NULL) trilha_schema_no_memory(c);
  return memory;
}

void trilha_schema_no_memory(schema_compiler *c) {
  if (c->status != TRILHA_OK) return;
  if (c->arena->held + c->passing.held > TRILHA_SCHEMA_MEMORY_MAX / 2) {
    c->status = trilha_error_set(c->err, TRILHA_LIMIT, "SCHEMA_TOO_LARGE", "the schema needs too much memory");
  } else {
    c->status = trilha_error_no_memory(c->err);
  }
}

void trilha_schema_refuse(schema_compiler *c, trilha_status status, const char *code, const trilha_json_value *at,
                          const char *format, ...) {
  if (c->status != TRILHA_OK) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  c->status = status;
  const schema_source *source = at == NULL ? NULL : trilha_schema_source_of(c, at);
  if (source == NULL) {
    trilha_error_set(c->err, status, code, "%s", text);
    return;
  }
  TRILHA_BUFFER_SCOPED pointer = {0};
  trilha_buffer_init(&pointer, TRILHA_ERROR_TEXT_MAX);
  trilha_json_pointer_to(source->values, at, &pointer);
  bool is_foreign = source != c->sources && source->resource_of[0] != 0;
  const char *uri = is_foreign ? c->resources[source->resource_of[0] - 1].uri.data : "";
  trilha_error_set(c->err, status, code, "at %s#%s: %s", uri, pointer.data == NULL ? "" : pointer.data, text);
}

bool trilha_schema_is_type(schema_compiler *c, const trilha_json_value *value, trilha_json_type type) {
  if (value->type == type) return true;
  trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_INVALID", value, "must be of type %s", trilha_json_type_name(type));
  return false;
}

uint32_t trilha_schema_count(schema_compiler *c, const trilha_json_value *value) {
  int64_t number = 0;
  if (value->type != TRILHA_JSON_NUMBER || !trilha_number_is_integer(trilha_json_text(value)) ||
      trilha_number_compare(trilha_json_text(value), TRILHA_TEXT("0")) < 0) {
    trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_INVALID", value, "must be a non-negative integer");
    return 0;
  }
  if (!trilha_number_to_i64(trilha_json_text(value), &number) || number > UINT32_MAX) return UINT32_MAX;
  return (uint32_t)number;
}

uint16_t trilha_schema_name(schema_compiler *c, trilha_text name) {
  uint32_t known = trilha_schema_map_get(&c->name_map, name);
  if (known != UINT32_MAX) return (uint16_t)known;
  if (c->name_count == TRILHA_SCHEMA_NAMES_MAX) {
    trilha_schema_refuse(c, TRILHA_LIMIT, "SCHEMA_TOO_LARGE", NULL, "more than %d names", TRILHA_SCHEMA_NAMES_MAX);
    return 0;
  }
  if (!SCHEMA_GROW(c, c->names, c->name_count, c->name_capacity)) return 0;
  c->names[c->name_count++] = name;
  if (!trilha_schema_map_put(&c->name_map, name, (uint32_t)c->name_count)) trilha_schema_no_memory(c);
  return (uint16_t)c->name_count;
}

const trilha_pattern *trilha_schema_pattern(schema_compiler *c, const trilha_json_value *pattern) {
  trilha_text text = trilha_json_text(pattern);
  uint32_t known = trilha_schema_map_get(&c->pattern_map, text);
  if (known != UINT32_MAX) return c->patterns[known];
  if (c->status != TRILHA_OK || !SCHEMA_GROW(c, c->patterns, c->pattern_count, c->pattern_capacity)) return NULL;
  trilha_pattern *compiled = NULL;
  trilha_error error = {0};
  if (trilha_pattern_compile(text, &c->pattern_budget, &compiled, &error) != TRILHA_OK) {
    trilha_schema_refuse(c, error.status, error.code, pattern, "%s", error.text);
    return NULL;
  }
  c->patterns[c->pattern_count] = compiled;
  if (!trilha_schema_map_put(&c->pattern_map, text, (uint32_t)c->pattern_count)) trilha_schema_no_memory(c);
  c->pattern_count++;
  return compiled;
}

schema_instr *trilha_schema_emit(schema_compiler *c, schema_builder *b, schema_op op, schema_keyword keyword) {
  if (b->types != TYPE_ANY && (op < OP_TYPE || op > OP_CONTAINS) && !c->plain) {
    (void)trilha_schema_emit(c, b, OP_TYPE, KW_TYPE);
  }
  if (!SCHEMA_GROW(c, b->code, b->count, b->capacity)) return &b->lost;
  if (++c->instr_count > TRILHA_SCHEMA_PROGRAM_MAX) {
    trilha_schema_refuse(c, TRILHA_LIMIT, "SCHEMA_TOO_LARGE", NULL, "the compiled schema is too large");
  }
  schema_instr *instr = &b->code[b->count++];
  *instr = (schema_instr){.op = (uint8_t)op, .keyword = (uint8_t)keyword, .types = TYPE_ANY};
  if (op >= OP_TYPE && op <= OP_CONTAINS) {
    instr->types = b->types;
    b->types = TYPE_ANY;
  }
  if ((b->variant & VARIANT_TRACKED) != 0) instr->flags |= INSTR_TRACKED;
  return instr;
}

/* Blocks are remembered by (value, variant). */
static trilha_text block_key(schema_compiler *c, const trilha_json_value *value, unsigned variant) {
  char *key = trilha_arena_alloc(&c->passing, sizeof(value) + sizeof(variant));
  if (key == NULL) {
    trilha_schema_no_memory(c);
    return TRILHA_TEXT("");
  }
  memcpy(key, &value, sizeof(value));
  memcpy(key + sizeof(value), &variant, sizeof(variant));
  return (trilha_text){key, sizeof(value) + sizeof(variant)};
}

const schema_block *trilha_schema_block(schema_compiler *c, const trilha_json_value *value, unsigned variant) {
  if (value->type == TRILHA_JSON_TRUE || (value->type == TRILHA_JSON_OBJECT && value->size == 0)) return NULL;
  if (value->type != TRILHA_JSON_FALSE && !trilha_schema_is_type(c, value, TRILHA_JSON_OBJECT)) return NULL;
  trilha_text key = block_key(c, value, variant);
  uint32_t known = trilha_schema_map_get(&c->block_map, key);
  if (known != UINT32_MAX) return c->blocks[known];
  schema_block *block = trilha_schema_alloc(c, 1, sizeof(*block));
  if (block == NULL || !SCHEMA_GROW(c, c->blocks, c->block_count, c->block_capacity) ||
      !SCHEMA_GROW(c, c->work, c->work_count, c->work_capacity)) {
    return NULL;
  }
  if (!trilha_schema_map_put(&c->block_map, key, (uint32_t)c->block_count)) trilha_schema_no_memory(c);
  block->value = value;
  block->resource = trilha_schema_resource_of(c, value);
  c->blocks[c->block_count++] = block;
  c->work[c->work_count++] = (schema_work){block, variant};
  return block;
}

/* --- the order of keywords ------------------------------------------------------------------------------------ */

static bool is_annotation(const schema_compiler *c, trilha_text name) {
  return c->options->annotation.size > 0 && trilha_text_equal(name, c->options->annotation);
}

static void gather(schema_compiler *c, schema_builder *b) {
  unsigned vocabularies = c->resources[b->resource].vocabularies;
  const trilha_json_value *key = b->value + 1;
  for (uint32_t i = 0; i < b->value->size; i++, key = trilha_json_next(key + 1)) {
    schema_keyword keyword = trilha_schema_keyword_find(trilha_json_text(key));
    if (keyword == KW_NONE && is_annotation(c, trilha_json_text(key))) keyword = KW_ANNOTATION;
    if ((trilha_schema_keyword_vocabulary(keyword) & vocabularies) != 0) b->kw[keyword] = key + 1;
  }
  bool assert_format = c->options->assert_format || (vocabularies & VOCABULARY_FORMAT_ASSERTION) != 0;
  if (!assert_format) b->kw[KW_FORMAT] = NULL;
  b->kw[KW_NONE] = NULL;
}

static void emit_annotation(schema_compiler *c, schema_builder *b) {
  trilha_schema_emit(c, b, OP_ANNOTATION, KW_ANNOTATION)->u.rule = b->kw[KW_ANNOTATION];
}

/* Keywords that are compiled with another one: the one that stands for the group. */
static schema_keyword group_of(schema_keyword keyword) {
  switch ((int)keyword) {
    case KW_PATTERN_PROPERTIES:
    case KW_ADDITIONAL_PROPERTIES:
      return KW_PROPERTIES;
    case KW_PREFIX_ITEMS:
      return KW_ITEMS;
    case KW_MIN_CONTAINS:
    case KW_MAX_CONTAINS:
      return KW_CONTAINS;
    case KW_THEN:
    case KW_ELSE:
      return KW_IF;
    default:
      return keyword;
  }
}

static void emit_one_assertion(schema_compiler *c, schema_builder *b, schema_keyword keyword) {
  switch ((int)keyword) {
    case KW_TYPE:
      trilha_schema_emit_types(c, b);
      break;
    case KW_CONST:
    case KW_ENUM:
      trilha_schema_emit_enum(c, b, keyword);
      break;
    case KW_MIN_LENGTH:
    case KW_MAX_LENGTH:
    case KW_PATTERN:
    case KW_FORMAT:
      trilha_schema_emit_string(c, b, &keyword, 1);
      break;
    case KW_MINIMUM:
    case KW_EXCLUSIVE_MINIMUM:
    case KW_MAXIMUM:
    case KW_EXCLUSIVE_MAXIMUM:
    case KW_MULTIPLE_OF:
      trilha_schema_emit_number(c, b, &keyword, 1);
      break;
    case KW_MIN_ITEMS:
    case KW_MAX_ITEMS:
      trilha_schema_emit_size(c, b, OP_ARRAY_SIZE, &keyword, 1);
      break;
    case KW_MIN_PROPERTIES:
    case KW_MAX_PROPERTIES:
      trilha_schema_emit_size(c, b, OP_OBJECT_SIZE, &keyword, 1);
      break;
    case KW_UNIQUE_ITEMS:
      trilha_schema_emit_unique(c, b);
      break;
    case KW_REQUIRED:
      trilha_schema_emit_required(c, b);
      break;
    case KW_DEPENDENT_REQUIRED:
      trilha_schema_emit_dependent_required(c, b, keyword);
      break;
    case KW_ANNOTATION:
      emit_annotation(c, b);
      break;
    default:
      break;
  }
}

static void emit_one_applicator(schema_compiler *c, schema_builder *b, schema_keyword keyword) {
  switch ((int)keyword) {
    case KW_PROPERTIES:
      trilha_schema_emit_object(c, b);
      break;
    case KW_PROPERTY_NAMES:
      trilha_schema_emit_names(c, b);
      break;
    case KW_ITEMS:
      trilha_schema_emit_items(c, b);
      break;
    case KW_CONTAINS:
      trilha_schema_emit_contains(c, b);
      break;
    case KW_REF:
      trilha_schema_emit_ref(c, b);
      break;
    case KW_DYNAMIC_REF:
      trilha_schema_emit_dynamic_ref(c, b);
      break;
    case KW_ALL_OF:
      trilha_schema_emit_all_of(c, b);
      break;
    case KW_ANY_OF:
    case KW_ONE_OF:
      trilha_schema_emit_branches(c, b, keyword);
      break;
    case KW_NOT:
      trilha_schema_emit_not(c, b);
      break;
    case KW_IF:
      trilha_schema_emit_if(c, b);
      break;
    case KW_DEPENDENT_SCHEMAS:
      trilha_schema_emit_dependent_schemas(c, b, keyword);
      break;
    case KW_DEPENDENCIES:
      trilha_schema_emit_dependent_required(c, b, keyword);
      trilha_schema_emit_dependent_schemas(c, b, keyword);
      break;
    default:
      break;
  }
}

/* One instruction a keyword, in the order of the text. */
static void emit_plain(schema_compiler *c, schema_builder *b) {
  bool done[KW_COUNT] = {false};
  const trilha_json_value *key = b->value + 1;
  for (uint32_t i = 0; i < b->value->size && c->status == TRILHA_OK; i++, key = trilha_json_next(key + 1)) {
    schema_keyword keyword = trilha_schema_keyword_find(trilha_json_text(key));
    if (keyword == KW_NONE && is_annotation(c, trilha_json_text(key))) keyword = KW_ANNOTATION;
    if (b->kw[keyword] == NULL) continue;
    keyword = group_of(keyword);
    if (done[keyword]) continue;
    done[keyword] = true;
    emit_one_assertion(c, b, keyword);
    emit_one_applicator(c, b, keyword);
  }
}

/* Cheap and likely to fail first; one instruction for what looks at the same value. */
static void emit_fast(schema_compiler *c, schema_builder *b) {
  static const schema_keyword strings[] = {KW_MIN_LENGTH, KW_MAX_LENGTH, KW_PATTERN, KW_FORMAT};
  static const schema_keyword numbers[] = {KW_MINIMUM, KW_EXCLUSIVE_MINIMUM, KW_MAXIMUM, KW_EXCLUSIVE_MAXIMUM,
                                           KW_MULTIPLE_OF};
  static const schema_keyword items[] = {KW_MIN_ITEMS, KW_MAX_ITEMS};
  static const schema_keyword members[] = {KW_MIN_PROPERTIES, KW_MAX_PROPERTIES};
  static const schema_keyword rest[] = {
      KW_UNIQUE_ITEMS, KW_CONTAINS, KW_PROPERTY_NAMES, KW_REF, KW_DYNAMIC_REF,       KW_ALL_OF,
      KW_IF,           KW_ANY_OF,   KW_ONE_OF,         KW_NOT, KW_DEPENDENT_SCHEMAS, KW_DEPENDENCIES};
  trilha_schema_emit_types(c, b);
  trilha_schema_emit_enum(c, b, KW_CONST);
  trilha_schema_emit_enum(c, b, KW_ENUM);
  if ((b->domain & TYPE_NUMBER) != 0) trilha_schema_emit_number(c, b, numbers, 5);
  if ((b->domain & TYPE_STRING) != 0) trilha_schema_emit_string(c, b, strings, 4);
  if ((b->domain & TYPE_OBJECT) != 0) trilha_schema_emit_size(c, b, OP_OBJECT_SIZE, members, 2);
  if ((b->domain & TYPE_OBJECT) != 0) trilha_schema_emit_object(c, b);
  if ((b->domain & TYPE_ARRAY) != 0) trilha_schema_emit_size(c, b, OP_ARRAY_SIZE, items, 2);
  if ((b->domain & TYPE_ARRAY) != 0) trilha_schema_emit_items(c, b);
  if (b->types != TYPE_ANY) (void)trilha_schema_emit(c, b, OP_TYPE, KW_TYPE);
  for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
    if (b->kw[rest[i]] == NULL) continue;
    emit_one_assertion(c, b, rest[i]);
    emit_one_applicator(c, b, rest[i]);
  }
}

static bool needs_tracking(const schema_builder *b) {
  return (b->kw[KW_UNEVALUATED_PROPERTIES] != NULL && !b->closed) || b->kw[KW_UNEVALUATED_ITEMS] != NULL;
}

static void compile_object(schema_compiler *c, schema_builder *b) {
  gather(c, b);
  b->closed = b->kw[KW_UNEVALUATED_PROPERTIES] != NULL && !c->plain && trilha_schema_evaluated_statically(c, b);
  if (needs_tracking(b) && (b->variant & VARIANT_BODY) == 0) {
    /* The body runs with a set of its own. */
    schema_instr *instr = trilha_schema_emit(c, b, OP_TRACK, KW_NONE);
    instr->u.block = trilha_schema_block(c, b->value, VARIANT_BODY | VARIANT_TRACKED);
    return;
  }
  if (c->plain)
    emit_plain(c, b);
  else
    emit_fast(c, b);
  trilha_schema_emit_unevaluated(c, b);
}

static void finish_block(schema_compiler *c, schema_block *block, const schema_builder *b) {
  schema_instr *code = trilha_schema_alloc(c, b->count + 1, sizeof(*code)); /* cleared: ends in OP_END */
  if (code == NULL) return;
  if (b->count > 0) memcpy(code, b->code, b->count * sizeof(*code));
  block->code = code;
  block->count = (uint32_t)b->count;
}

static void compile_block(schema_compiler *c, schema_work work) {
  schema_builder b = {.value = work.block->value, .resource = work.block->resource, .variant = work.variant};
  b.types = b.domain = TYPE_ANY;
  if (b.value->type == TRILHA_JSON_FALSE)
    (void)trilha_schema_emit(c, &b, OP_FALSE, KW_FALSE_SCHEMA);
  else
    compile_object(c, &b);
  if (c->status == TRILHA_OK) finish_block(c, work.block, &b);
}

/* --- $dynamicRef: every resource that declares the anchor is a possible target ------------------------------------ */

static void add_dynamic_target(schema_compiler *c, schema_dynamic *dynamic, uint32_t resource,
                               const schema_block *block) {
  schema_dynamic_target *targets = trilha_schema_alloc(c, dynamic->target_count + 1, sizeof(*targets));
  if (targets == NULL) return;
  if (dynamic->target_count > 0) memcpy(targets, dynamic->targets, dynamic->target_count * sizeof(*targets));
  targets[dynamic->target_count++] = (schema_dynamic_target){resource, block};
  dynamic->targets = targets;
}

static void find_dynamic_targets(schema_compiler *c) {
  for (size_t i = 0; i < c->dynamic_count && c->status == TRILHA_OK; i++) {
    schema_pending_dynamic *pending = &c->dynamics[i];
    for (; pending->checked < c->anchor_count && c->status == TRILHA_OK; pending->checked++) {
      schema_anchor anchor = c->anchors[pending->checked];
      if (!anchor.dynamic || !trilha_text_equal(anchor.name, pending->dynamic->anchor)) continue;
      const schema_block *block = trilha_schema_block(c, anchor.value, pending->variant);
      add_dynamic_target(c, c->dynamics[i].dynamic, anchor.resource, block);
      pending = &c->dynamics[i];
    }
  }
}

static void compile_program(schema_compiler *c, const trilha_json_value *root, bool plain, schema_program *program) {
  c->plain = plain;
  c->block_map = (schema_map){.arena = &c->passing, .seed = c->name_map.seed};
  c->block_count = c->dynamic_count = 0;
  program->root = trilha_schema_block(c, root, 0);
  while (c->work_count > 0 && c->status == TRILHA_OK) {
    compile_block(c, c->work[--c->work_count]);
    if (c->work_count == 0) find_dynamic_targets(c);
  }
  if (c->status == TRILHA_OK) trilha_schema_link(c, program);
}

/* --- the call ------------------------------------------------------------------------------------------------- */

static void start(schema_compiler *c, trilha_schema *schema, const trilha_schema_options *options, trilha_error *err) {
  c->options = options;
  c->schema = schema;
  c->arena = &schema->arena;
  c->err = err;
  trilha_arena_init(&schema->arena, TRILHA_SCHEMA_MEMORY_MAX);
  trilha_arena_init(&c->passing, TRILHA_SCHEMA_MEMORY_MAX);
  trilha_buffer_init(&c->uri, TRILHA_SCHEMA_BYTES_MAX);
  uint64_t seed = (uint64_t)(uintptr_t)schema;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0) seed ^= (uint64_t)(uintptr_t)&seed;
  schema_map map = {.arena = &c->passing, .seed = seed};
  c->uri_map = c->anchor_map = c->name_map = c->pattern_map = c->member_map = map;
  c->pattern_budget = TRILHA_PATTERN_BUDGET;
}

static void finish(schema_compiler *c) {
  trilha_schema *schema = c->schema;
  schema->key_count = (uint32_t)c->name_count;
  schema_resource_name *resources = trilha_schema_alloc(c, c->resource_count, sizeof(*resources));
  if (resources == NULL) return;
  for (size_t i = 0; i < c->resource_count; i++) {
    resources[i] = (schema_resource_name){c->resources[i].uri, c->resources[i].root};
  }
  schema->resources = resources;
  schema->run_steps_max = c->options->run_steps_max != 0 ? c->options->run_steps_max : TRILHA_SCHEMA_RUN_STEPS_MAX;
  c->status = trilha_json_keys_new(c->names, c->name_count, &schema->keys, c->err);
}

/* Patterns are owned by the schema even when compiling failed. */
static void keep_patterns(schema_compiler *c) {
  c->schema->patterns = malloc((c->pattern_count + 1) * sizeof(trilha_pattern *));
  if (c->schema->patterns == NULL) {
    for (size_t i = 0; i < c->pattern_count; i++) trilha_pattern_free(c->patterns[i]);
    trilha_schema_no_memory(c);
    return;
  }
  if (c->pattern_count > 0) memcpy(c->schema->patterns, c->patterns, c->pattern_count * sizeof(trilha_pattern *));
  c->schema->pattern_count = (uint32_t)c->pattern_count;
}

trilha_status trilha_schema_compile(const trilha_json_document *document, const trilha_schema_options *options,
                                    trilha_schema **ret_schema, trilha_error *err) {
  static const trilha_schema_options defaults;
  if (options == NULL) options = &defaults;
  if (options->check_metaschema) {
    trilha_status checked = trilha_schema_check_document(document, options, err);
    if (checked != TRILHA_OK) return checked;
  }
  trilha_schema *schema = calloc(1, sizeof(*schema));
  if (schema == NULL) return trilha_error_no_memory(err);
  schema_compiler c = {0};
  start(&c, schema, options, err);
  trilha_text base = options->base_uri.data == NULL ? TRILHA_TEXT("") : options->base_uri;
  (void)trilha_schema_source_add(&c, document, base);
  if (c.status == TRILHA_OK) compile_program(&c, c.sources[0].values, false, &schema->fast);
  if (c.status == TRILHA_OK) compile_program(&c, c.sources[0].values, true, &schema->plain);
  keep_patterns(&c);
  if (c.status == TRILHA_OK) finish(&c);
  trilha_arena_done(&c.passing);
  trilha_buffer_done(&c.uri);
  if (c.status != TRILHA_OK) {
    trilha_schema_free(schema);
    return c.status;
  }
  *ret_schema = schema;
  return TRILHA_OK;
}

void trilha_schema_free(trilha_schema *schema) {
  if (schema == NULL) return;
  for (uint32_t i = 0; i < schema->pattern_count; i++) trilha_pattern_free(schema->patterns[i]);
  free(schema->patterns);
  trilha_json_keys_free(schema->keys);
  trilha_arena_done(&schema->arena);
  free(schema);
}

const trilha_json_keys *trilha_schema_keys(const trilha_schema *schema) {
  return schema->keys;
}
