/* Keywords that run other subschemas: references, combinators, items, unevaluated*. */
#include "schema/compile.h"

static unsigned in_place(const schema_builder *b) {
  return b->variant & VARIANT_TRACKED;
}
static bool is_tracked(const schema_builder *b) {
  return in_place(b) != 0;
}

static const schema_block **block_list(schema_compiler *c, const trilha_json_value *list, unsigned variant) {
  const schema_block **blocks = trilha_schema_alloc(c, list->size, sizeof(*blocks));
  if (blocks == NULL) return NULL;
  const trilha_json_value *item = list + 1;
  for (uint32_t i = 0; i < list->size; i++, item = trilha_json_next(item)) {
    blocks[i] = trilha_schema_block(c, item, variant);
  }
  return blocks;
}

void trilha_schema_emit_items(schema_compiler *c, schema_builder *b) {
  const trilha_json_value *prefix = b->kw[KW_PREFIX_ITEMS], *rest = b->kw[KW_ITEMS];
  if (prefix == NULL && rest == NULL) return;
  if (prefix != NULL && !trilha_schema_is_type(c, prefix, TRILHA_JSON_ARRAY)) return;
  schema_items *items = trilha_schema_alloc(c, 1, sizeof(*items));
  if (items == NULL) return;
  if (prefix != NULL) {
    items->prefix = block_list(c, prefix, 0);
    items->prefix_count = prefix->size;
  }
  if (rest != NULL) items->rest = trilha_schema_block(c, rest, 0);
  items->has_rest = rest != NULL;
  if (items->rest == NULL && items->prefix_count == 0 && !is_tracked(b)) return;
  trilha_schema_emit(c, b, OP_ITEMS, KW_ITEMS)->u.items = items;
}

void trilha_schema_emit_contains(schema_compiler *c, schema_builder *b) {
  if (b->kw[KW_CONTAINS] == NULL) return;
  schema_contains *contains = trilha_schema_alloc(c, 1, sizeof(*contains));
  if (contains == NULL) return;
  *contains = (schema_contains){.min = 1, .max = UINT32_MAX};
  if (b->kw[KW_MIN_CONTAINS] != NULL) contains->min = trilha_schema_count(c, b->kw[KW_MIN_CONTAINS]);
  if (b->kw[KW_MAX_CONTAINS] != NULL) contains->max = trilha_schema_count(c, b->kw[KW_MAX_CONTAINS]);
  if (!c->plain && !is_tracked(b) && contains->min == 0 && contains->max == UINT32_MAX) return;
  contains->block = trilha_schema_block(c, b->kw[KW_CONTAINS], 0);
  trilha_schema_emit(c, b, OP_CONTAINS, KW_CONTAINS)->u.contains = contains;
}

static void emit_call(schema_compiler *c, schema_builder *b, const trilha_json_value *target, schema_keyword keyword) {
  const schema_block *block = trilha_schema_block(c, target, in_place(b));
  if (block != NULL) trilha_schema_emit(c, b, OP_CALL, keyword)->u.block = block;
}

void trilha_schema_emit_ref(schema_compiler *c, schema_builder *b) {
  schema_target target = trilha_schema_resolve_reference(c, b->kw[KW_REF], b->resource);
  if (target.value != NULL) emit_call(c, b, target.value, KW_REF);
}

void trilha_schema_emit_dynamic_ref(schema_compiler *c, schema_builder *b) {
  schema_target target = trilha_schema_resolve_reference(c, b->kw[KW_DYNAMIC_REF], b->resource);
  if (target.value == NULL) return;
  if (target.anchor == NULL || !target.anchor->dynamic) { /* as $ref */
    emit_call(c, b, target.value, KW_DYNAMIC_REF);
    return;
  }
  schema_dynamic *dynamic = trilha_schema_alloc(c, 1, sizeof(*dynamic));
  if (dynamic == NULL || !SCHEMA_GROW(c, c->dynamics, c->dynamic_count, c->dynamic_capacity)) return;
  dynamic->anchor = target.anchor->name;
  dynamic->fallback = trilha_schema_block(c, target.value, in_place(b));
  c->dynamics[c->dynamic_count++] = (schema_pending_dynamic){dynamic, in_place(b), 0};
  trilha_schema_emit(c, b, OP_DYNAMIC, KW_DYNAMIC_REF)->u.dynamic = dynamic;
}

static bool is_list(schema_compiler *c, const trilha_json_value *list) {
  if (!trilha_schema_is_type(c, list, TRILHA_JSON_ARRAY)) return false;
  if (list->size == 0) trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_INVALID", list, "must not be empty");
  return list->size > 0;
}

void trilha_schema_emit_all_of(schema_compiler *c, schema_builder *b) {
  const trilha_json_value *list = b->kw[KW_ALL_OF];
  if (!is_list(c, list)) return;
  const trilha_json_value *item = list + 1;
  for (uint32_t i = 0; i < list->size && c->status == TRILHA_OK; i++, item = trilha_json_next(item)) {
    const schema_block *block = trilha_schema_block(c, item, in_place(b));
    if (block == NULL) continue;
    schema_instr *instr = trilha_schema_emit(c, b, OP_CALL, KW_ALL_OF);
    instr->u.block = block;
    instr->index = i;
    instr->flags |= INSTR_IN_ALL_OF;
  }
}

void trilha_schema_emit_branches(schema_compiler *c, schema_builder *b, schema_keyword keyword) {
  const trilha_json_value *list = b->kw[keyword];
  if (!is_list(c, list)) return;
  schema_branches *branches = trilha_schema_alloc(c, 1, sizeof(*branches));
  if (branches == NULL) return;
  branches->blocks = block_list(c, list, in_place(b));
  branches->count = list->size;
  trilha_schema_emit(c, b, keyword == KW_ANY_OF ? OP_ANY_OF : OP_ONE_OF, keyword)->u.branches = branches;
}

void trilha_schema_emit_not(schema_compiler *c, schema_builder *b) {
  const schema_block *block = trilha_schema_block(c, b->kw[KW_NOT], 0);
  trilha_schema_emit(c, b, OP_NOT, KW_NOT)->u.block = block;
}

void trilha_schema_emit_if(schema_compiler *c, schema_builder *b) {
  const trilha_json_value *test = b->kw[KW_IF], *then = b->kw[KW_THEN], *otherwise = b->kw[KW_ELSE];
  if (test == NULL) return;
  schema_condition *condition = trilha_schema_alloc(c, 1, sizeof(*condition));
  if (condition == NULL) return;
  condition->test = trilha_schema_block(c, test, in_place(b));
  if (then != NULL) condition->then = trilha_schema_block(c, then, in_place(b));
  if (otherwise != NULL) condition->otherwise = trilha_schema_block(c, otherwise, in_place(b));
  if (condition->then == NULL && condition->otherwise == NULL && !is_tracked(b)) return;
  trilha_schema_emit(c, b, OP_IF, KW_IF)->u.condition = condition;
}

/* Of `dependencies` only the members that are schemas. */
void trilha_schema_emit_dependent_schemas(schema_compiler *c, schema_builder *b, schema_keyword keyword) {
  const trilha_json_value *map = b->kw[keyword];
  if (!trilha_schema_is_type(c, map, TRILHA_JSON_OBJECT)) return;
  schema_dependent *dependent = trilha_schema_alloc(c, 1, sizeof(*dependent));
  uint16_t *keys = trilha_schema_alloc(c, map->size, sizeof(*keys));
  trilha_text *names = trilha_schema_alloc(c, map->size, sizeof(*names));
  const schema_block **blocks = trilha_schema_alloc(c, map->size, sizeof(*blocks));
  if (dependent == NULL || keys == NULL || names == NULL || blocks == NULL) return;
  *dependent = (schema_dependent){.keys = keys, .names = names, .blocks = blocks};
  const trilha_json_value *key = map + 1;
  for (uint32_t i = 0; i < map->size; i++, key = trilha_json_next(key + 1)) {
    if (keyword == KW_DEPENDENCIES && key[1].type == TRILHA_JSON_ARRAY) continue;
    const schema_block *block = trilha_schema_block(c, key + 1, in_place(b));
    if (block == NULL) continue;
    keys[dependent->count] = trilha_schema_name(c, trilha_json_text(key));
    names[dependent->count] = trilha_json_text(key);
    blocks[dependent->count++] = block;
  }
  if (dependent->count > 0) trilha_schema_emit(c, b, OP_DEPENDENT_SCHEMAS, keyword)->u.dependent = dependent;
}

/* Last of all, whatever the order of the text: they need to know what the rest evaluated. */
void trilha_schema_emit_unevaluated(schema_compiler *c, schema_builder *b) {
  const trilha_json_value *items = b->kw[KW_UNEVALUATED_ITEMS], *properties = b->kw[KW_UNEVALUATED_PROPERTIES];
  if (items != NULL) {
    const schema_block *block = trilha_schema_block(c, items, 0);
    trilha_schema_emit(c, b, OP_UNEVALUATED_ITEMS, KW_UNEVALUATED_ITEMS)->u.block = block;
  }
  if (properties != NULL && !b->closed) {
    const schema_block *block = trilha_schema_block(c, properties, 0);
    trilha_schema_emit(c, b, OP_UNEVALUATED_PROPERTIES, KW_UNEVALUATED_PROPERTIES)->u.block = block;
  }
}
