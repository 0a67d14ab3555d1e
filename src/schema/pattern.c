/* schema/pattern: a pattern compiled to the cheapest thing that can answer it. */
#include <stdlib.h>

#include "base/assert.h"
#include "schema/pattern_internal.h"
#include "schema/schema.h"

/* A pattern is the conjunction of its parts: "^(?=A)(?!B)C" is three automata, none of them behind the other. */
typedef struct pattern_part {
  bool negated;
  trilha_shape shape; /* or, when its kind is NONE, … */
  trilha_dfa dfa;
} pattern_part;

struct trilha_pattern {
  trilha_engine *engine; /* NULL when the parts do */
  size_t part_count;
  pattern_part parts[];
};

static void part_done(pattern_part *part) {
  trilha_shape_done(&part->shape);
  trilha_dfa_done(&part->dfa);
}

void trilha_pattern_free(trilha_pattern *pattern) {
  if (pattern == NULL) return;
  trilha_engine_free(pattern->engine);
  for (size_t i = 0; i < pattern->part_count; i++) part_done(&pattern->parts[i]);
  free(pattern);
}

typedef struct slice {
  trilha_items items;
  bool negated;
} slice;

static bool has_top_alternative(const trilha_items *items, size_t from, size_t to) {
  for (size_t i = from; i < to; i++)
    if (items->list[i].kind == TRILHA_ITEM_OR && items->list[i].link < from) return true;
  return false;
}

static trilha_item group_edge(trilha_item_kind kind, size_t link) {
  return (trilha_item){.kind = kind, .min = 1, .max = 1, .link = (uint32_t)link};
}

/* A copy of from..to-1 behind `^`, as a pattern of its own; in a group where there are alternatives. */
static trilha_status cut_slice(const trilha_items *items, size_t from, size_t to, trilha_arena *arena, slice *ret_slice,
                               trilha_error *err) {
  size_t grouped = has_top_alternative(items, from, to), count = to - from + 3 + 2 * grouped, first = 2 + grouped;
  trilha_item *list = trilha_arena_array(arena, count, sizeof *list);
  if (list == NULL) return trilha_error_no_memory(err);
  ret_slice->items = *items;
  ret_slice->items.list = list;
  ret_slice->items.count = count;
  list[0] = group_edge(TRILHA_ITEM_OPEN, count - 1);
  list[1] = group_edge(TRILHA_ITEM_START, 0);
  if (grouped) list[2] = group_edge(TRILHA_ITEM_OPEN, count - 2);
  if (grouped) list[count - 2] = group_edge(TRILHA_ITEM_CLOSE, 2);
  list[count - 1] = group_edge(TRILHA_ITEM_CLOSE, 0);
  for (size_t i = from; i < to; i++) {
    trilha_item *item = &list[i - from + first];
    *item = items->list[i];
    bool linked = item->kind == TRILHA_ITEM_OPEN || item->kind == TRILHA_ITEM_CLOSE || item->kind == TRILHA_ITEM_OR;
    if (linked) item->link = (uint32_t)(item->link < from ? 2 : item->link - from + first);
  }
  return TRILHA_OK;
}

/* Takes "^(?=A)(?!B)C" apart; anything else is one slice. */
static trilha_status cut(const trilha_items *items, trilha_arena *arena, slice *slices, size_t *ret_count,
                         trilha_error *err) {
  size_t at = 2, count = 0;
  bool apart =
      items->has_look && items->list[1].kind == TRILHA_ITEM_START && !has_top_alternative(items, 1, items->count - 1);
  while (apart && count + 1 < TRILHA_PATTERN_PARTS_MAX && items->list[at].kind == TRILHA_ITEM_OPEN &&
         (items->list[at].group == TRILHA_GROUP_AHEAD || items->list[at].group == TRILHA_GROUP_NOT_AHEAD)) {
    trilha_status status = cut_slice(items, at + 1, items->list[at].link, arena, &slices[count], err);
    if (status != TRILHA_OK) return status;
    slices[count++].negated = items->list[at].group == TRILHA_GROUP_NOT_AHEAD;
    at = items->list[at].link + 1;
  }
  if (count == 0) {
    slices[0] = (slice){.items = *items};
    *ret_count = 1;
    return TRILHA_OK;
  }
  *ret_count = count + 1;
  return cut_slice(items, at, items->count - 1, arena, &slices[count], err);
}

/* *ret_done is false when only the engine can do it. */
static trilha_status compile_part(const slice *from, size_t *work, trilha_arena *arena, pattern_part *part,
                                  bool *ret_done, trilha_error *err) {
  trilha_nfa nfa = {0};
  part->negated = from->negated;
  trilha_status status = trilha_shape_compile(&from->items, arena, &part->shape, err);
  *ret_done = status == TRILHA_OK && part->shape.kind != TRILHA_SHAPE_NONE;
  if (status != TRILHA_OK || *ret_done) return status;
  if (*work == 0) return TRILHA_OK;
  status = trilha_nfa_build(&from->items, arena, &nfa, err);
  if (status != TRILHA_OK || nfa.code == NULL) return status;
  status = trilha_dfa_build(&nfa, work, arena, &part->dfa, err);
  *ret_done = status == TRILHA_OK && part->dfa.table != NULL;
  return status;
}

static trilha_status compile_parts(const trilha_items *items, size_t *work, trilha_arena *arena,
                                   trilha_pattern **ret_pattern, trilha_error *err) {
  slice slices[TRILHA_PATTERN_PARTS_MAX] = {0};
  size_t count = 0;
  trilha_status status =
      items->has_reference || items->has_unknown ? TRILHA_OK : cut(items, arena, slices, &count, err);
  if (status != TRILHA_OK) return status;
  trilha_pattern *pattern = calloc(1, sizeof *pattern + count * sizeof pattern->parts[0]);
  if (pattern == NULL) return trilha_error_no_memory(err);
  bool done = count > 0;
  for (size_t i = 0; status == TRILHA_OK && done && i < count; i++)
    status = compile_part(&slices[i], work, arena, &pattern->parts[pattern->part_count++], &done, err);
  if (status != TRILHA_OK || !done) {
    for (size_t i = 0; i < pattern->part_count; i++) part_done(&pattern->parts[i]);
    pattern->part_count = 0;
  }
  if (status == TRILHA_OK && !done) status = trilha_engine_compile(items, work, &pattern->engine, err);
  if (status == TRILHA_OK)
    *ret_pattern = pattern;
  else
    trilha_pattern_free(pattern);
  return status;
}

static trilha_status parse(trilha_text pattern, size_t *properties, trilha_arena *arena, trilha_items *ret_items,
                           trilha_error *err) {
  if (pattern.size > TRILHA_SCHEMA_PATTERN_SIZE_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "SCHEMA_PATTERN_LIMIT", "the pattern is longer than %d bytes",
                            TRILHA_SCHEMA_PATTERN_SIZE_MAX);
  return trilha_pattern_parse(pattern, properties, arena, ret_items, err);
}

/* Takes what the pattern holds out of the budget, or frees it. */
static trilha_status charge(trilha_pattern *take_pattern, trilha_pattern_budget *budget, trilha_pattern **ret_pattern,
                            trilha_error *err) {
  size_t size = trilha_pattern_size(take_pattern);
  if (size > budget->bytes) {
    trilha_pattern_free(take_pattern);
    return trilha_error_set(err, TRILHA_LIMIT, "SCHEMA_PATTERN_LIMIT", "the schema's patterns are too large together");
  }
  budget->bytes -= size;
  *ret_pattern = take_pattern;
  return TRILHA_OK;
}

trilha_status trilha_pattern_compile(trilha_text pattern, trilha_pattern_budget *budget, trilha_pattern **ret_pattern,
                                     trilha_error *err) {
  TRILHA_ARENA_SCOPED arena;
  trilha_items items = {0};
  trilha_pattern_budget own = TRILHA_PATTERN_BUDGET;
  trilha_pattern *compiled = NULL;
  if (budget == NULL) budget = &own;
  trilha_arena_init(&arena, TRILHA_PATTERN_ARENA_MAX);
  trilha_status status = parse(pattern, &budget->properties, &arena, &items, err);
  if (status == TRILHA_OK) status = compile_parts(&items, &budget->work, &arena, &compiled, err);
  return status != TRILHA_OK ? status : charge(compiled, budget, ret_pattern, err);
}

trilha_status trilha_pattern_compile_engine(trilha_text pattern, trilha_pattern **ret_pattern, trilha_error *err) {
  TRILHA_ARENA_SCOPED arena;
  trilha_items items = {0};
  trilha_pattern_budget own = TRILHA_PATTERN_BUDGET;
  trilha_arena_init(&arena, TRILHA_PATTERN_ARENA_MAX);
  trilha_status status = parse(pattern, &own.properties, &arena, &items, err);
  if (status != TRILHA_OK) return status;
  trilha_pattern *compiled = calloc(1, sizeof *compiled);
  if (compiled == NULL) return trilha_error_no_memory(err);
  status = trilha_engine_compile(&items, &own.work, &compiled->engine, err);
  if (status == TRILHA_OK)
    *ret_pattern = compiled;
  else
    free(compiled);
  return status;
}

bool trilha_pattern_is_valid(trilha_text pattern) {
  TRILHA_ARENA_SCOPED arena;
  trilha_items items = {0};
  size_t properties = TRILHA_PATTERN_CHECK_PROPERTIES_MAX;
  trilha_arena_init(&arena, TRILHA_PATTERN_ARENA_MAX);
  return pattern.size <= TRILHA_PATTERN_CHECK_SIZE_MAX &&
         trilha_pattern_parse(pattern, &properties, &arena, &items, NULL) == TRILHA_OK;
}

trilha_match trilha_pattern_match(const trilha_pattern *pattern, trilha_text subject, trilha_pattern_scratch *scratch) {
  if (subject.data == NULL) subject = TRILHA_TEXT("");
  if (pattern->engine != NULL) {
    TRILHA_ASSERT(scratch != NULL);
    return trilha_engine_match(pattern->engine, subject, scratch);
  }
  for (size_t i = 0; i < pattern->part_count; i++) {
    const pattern_part *part = &pattern->parts[i];
    bool matches = part->shape.kind != TRILHA_SHAPE_NONE ? trilha_shape_match(&part->shape, subject)
                                                         : trilha_dfa_match(&part->dfa, subject);
    if (matches == part->negated) return TRILHA_MATCH_NO;
  }
  return TRILHA_MATCH_YES;
}

size_t trilha_pattern_size(const trilha_pattern *pattern) {
  size_t size = sizeof *pattern + pattern->part_count * sizeof pattern->parts[0];
  if (pattern->engine != NULL) size += trilha_engine_size(pattern->engine);
  for (size_t i = 0; i < pattern->part_count; i++) {
    const pattern_part *part = &pattern->parts[i];
    size += part->dfa.cells * sizeof part->dfa.table[0] + part->shape.literal_size;
    size += part->shape.range_count * sizeof part->shape.ranges[0] +
            part->shape.element_count * sizeof part->shape.elements[0];
  }
  return size;
}

trilha_pattern_way trilha_pattern_way_of(const trilha_pattern *pattern) {
  if (pattern->engine != NULL) return TRILHA_WAY_ENGINE;
  for (size_t i = 0; i < pattern->part_count; i++)
    if (pattern->parts[i].shape.kind == TRILHA_SHAPE_NONE) return TRILHA_WAY_DFA;
  return TRILHA_WAY_SHAPE;
}
