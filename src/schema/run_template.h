/* schema/run_template: the evaluator. Room: schema, inside. Included once by each pass with RUN_MODE set, so that no
 * pass pays for what another one needs.
 *
 * Each instruction that has children is a coroutine: its state is a frame, `resumed` tells that a child has ended with
 * run->result. A child that is flat (link.c) runs at once by native recursion of bounded height; any other child goes
 * through run_blocks(), which keeps the frames of the waiting instructions in the scratch, so that the depth of schema
 * and document never reaches the thread's stack.
 */
#include "schema/decimal.h"
#include "schema/run.h"

#define MODE_FAST     1 /* stops at the first failure */
#define MODE_REPORT   2 /* notes every failure */
#define MODE_ANNOTATE 3 /* notes annotations */
#define IS_FAST       (RUN_MODE == MODE_FAST)
#define IS_REPORT     (RUN_MODE == MODE_REPORT)
#define IS_ANNOTATE   (RUN_MODE == MODE_ANNOTATE)

/* Kept out of its callers, whose common path is then short. */
#define SCHEMA_APART __attribute__((noinline))

static schema_result run_flat(schema_run *run, const schema_block *block, const trilha_json_value *v);

#include "schema/run_leaves.h"

/* --- children --------------------------------------------------------------------------------------------------- */

static inline schema_result enter(schema_run *run, const schema_block *block, const trilha_json_value *v) {
  if (block == NULL) return RESULT_PASS;
  if (!IS_REPORT && block->flat != 0) return run_flat(run, block, v);
  run->child = block;
  run->child_value = v;
  return RESULT_DESCEND;
}

/* Whether a loop goes on after a child: a failure ends it, unless everything is to be reported. */
static inline bool goes_on(schema_frame *f, schema_result result) {
  if (result == RESULT_PASS) return true;
  if (!IS_REPORT || result != RESULT_FAIL) return false;
  f->failed = true;
  return true;
}

static inline schema_result loop_result(const schema_frame *f) {
  return IS_REPORT && f->failed ? RESULT_FAIL : RESULT_PASS;
}

static inline const schema_entry *find_entry(const schema_object *o, uint16_t key) {
  if (o->dense) {
    uint32_t at = (uint32_t)key - o->first;
    return at < o->entry_count && o->entries[at].key != 0 ? &o->entries[at] : NULL;
  }
  if (key == 0 || o->entry_count == 0) return NULL;
  if (o->few) {
    for (uint32_t i = 0; i < o->entry_count; i++) {
      if (o->entries[i].key == key) return &o->entries[i];
    }
    return NULL;
  }
  uint32_t mask = o->entry_count - 1;
  for (uint32_t at = key & mask; o->entries[at].key != 0; at = (at + 1) & mask) {
    if (o->entries[at].key == key) return &o->entries[at];
  }
  return NULL;
}

static inline bool has_watched(const schema_object *o, uint64_t seen) {
  if ((seen & o->required) != o->required) return false;
  for (uint32_t i = 0; i < o->watch_count; i++) {
    if ((seen & o->watches[i].trigger) != 0 && (seen & o->watches[i].need) != o->watches[i].need) return false;
  }
  return true;
}

static inline void object_start(schema_run *run, const trilha_json_value *v, schema_frame *f) {
  f->cursor = v + 1;
  f->left = v->size;
  f->seen = 0;
  f->index = 0;
  f->count = 0;
  f->failed = false;
  run->steps -= v->size;
}

/* --- objects ---------------------------------------------------------------------------------------------------- */

/* The cursor's member has been chosen a block: notes what the passes need. False when out of memory. */
static inline bool member_is_evaluated(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                       const schema_frame *f, bool listed) {
  if ((instr->flags & INSTR_TRACKED) != 0 && (listed || instr->u.object->has_additional)) {
    trilha_schema_track_mark(run, v->size - f->left);
  }
  return !IS_ANNOTATE || !listed || trilha_schema_note_listed(run, f->cursor);
}

static schema_result step_object(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                 schema_frame *f, bool resumed) {
  const schema_object *o = instr->u.object;
  if (v->type != TRILHA_JSON_OBJECT) return RESULT_PASS;
  if (!resumed) object_start(run, v, f);
  for (; f->left > 0; f->left--) {
    if (!resumed) {
      const schema_entry *entry = find_entry(o, f->cursor->key);
      bool listed = entry != NULL && (entry->flags & ENTRY_LISTED) != 0;
      if (entry != NULL) f->seen |= entry->watch;
      if (!member_is_evaluated(run, instr, v, f, listed)) return RESULT_UNDECIDED;
      f->index = listed ? 1 : 2;
      run->result = enter(run, listed ? entry->block : o->additional, f->cursor + 1);
      if (run->result == RESULT_DESCEND) return RESULT_DESCEND;
    }
    resumed = false;
    if (!goes_on(f, run->result)) return run->result;
    f->cursor = trilha_json_next(f->cursor + 1);
  }
  return has_watched(o, f->seen) ? loop_result(f) : RESULT_FAIL;
}

/* The next block for the cursor's member: its own, then the patterns', then additionalProperties'. NULL at the end.
 * f->index is one past the place of the block returned, f->count counts what matched. */
static schema_result next_member_block(schema_run *run, const schema_instr *instr, schema_frame *f,
                                       const schema_block **ret_block) {
  const schema_object *o = instr->u.object;
  while (f->index <= o->pattern_count + 1) {
    uint32_t place = f->index++;
    *ret_block = NULL;
    if (place == 0) {
      const schema_entry *entry = find_entry(o, f->cursor->key);
      if (entry != NULL) f->seen |= entry->watch;
      if (entry == NULL || (entry->flags & ENTRY_LISTED) == 0) continue;
      if (IS_ANNOTATE && !trilha_schema_note_listed(run, f->cursor)) return RESULT_UNDECIDED;
      f->count++;
      *ret_block = entry->block;
    } else if (place <= o->pattern_count) {
      run->steps -= 1 + f->cursor->size / 8;
      trilha_match match =
          trilha_pattern_match(o->patterns[place - 1].pattern, trilha_json_text(f->cursor), run->scratch->patterns);
      if (match == TRILHA_MATCH_UNDECIDED || run->steps < 0) return RESULT_UNDECIDED;
      if (match == TRILHA_MATCH_NO) continue;
      f->count++;
      *ret_block = o->patterns[place - 1].block;
    } else if (f->count == 0 && o->has_additional) {
      f->count++;
      *ret_block = o->additional;
    }
    if (*ret_block != NULL) return RESULT_PASS;
  }
  *ret_block = NULL;
  return RESULT_PASS;
}

static schema_result step_object_patterns(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                          schema_frame *f, bool resumed) {
  if (v->type != TRILHA_JSON_OBJECT) return RESULT_PASS;
  if (!resumed) object_start(run, v, f);
  schema_result result = resumed ? run->result : RESULT_PASS;
  for (;;) {
    if (!goes_on(f, result)) return result;
    if (f->left == 0) break;
    const schema_block *block = NULL;
    if (next_member_block(run, instr, f, &block) != RESULT_PASS) return RESULT_UNDECIDED;
    if (block != NULL) {
      result = enter(run, block, f->cursor + 1);
      if (result == RESULT_DESCEND) return result;
      continue;
    }
    if ((instr->flags & INSTR_TRACKED) != 0 && f->count > 0) trilha_schema_track_mark(run, v->size - f->left);
    f->cursor = trilha_json_next(f->cursor + 1);
    f->left--;
    f->index = 0;
    f->count = 0;
    result = RESULT_PASS;
  }
  return has_watched(instr->u.object, f->seen) ? loop_result(f) : RESULT_FAIL;
}

static schema_result step_names(schema_run *run, const schema_instr *instr, const trilha_json_value *v, schema_frame *f,
                                bool resumed) {
  if (v->type != TRILHA_JSON_OBJECT) return RESULT_PASS;
  if (!resumed) object_start(run, v, f);
  for (; f->left > 0; f->left--) {
    if (!resumed) {
      run->result = enter(run, instr->u.block, f->cursor);
      if (run->result == RESULT_DESCEND) return RESULT_DESCEND;
    }
    resumed = false;
    if (!goes_on(f, run->result)) return run->result;
    f->cursor = trilha_json_next(f->cursor + 1);
  }
  return loop_result(f);
}

/* --- arrays ----------------------------------------------------------------------------------------------------- */

static void track_items(schema_run *run, const schema_items *items, const trilha_json_value *v) {
  if (items->has_rest || items->prefix_count >= v->size) {
    trilha_schema_track_all(run);
    return;
  }
  for (uint32_t i = 0; i < items->prefix_count; i++) trilha_schema_track_mark(run, i);
}

static schema_result step_items(schema_run *run, const schema_instr *instr, const trilha_json_value *v, schema_frame *f,
                                bool resumed) {
  const schema_items *items = instr->u.items;
  if (v->type != TRILHA_JSON_ARRAY) return RESULT_PASS;
  if (!resumed) {
    object_start(run, v, f);
    if ((instr->flags & INSTR_TRACKED) != 0) track_items(run, items, v);
  }
  for (; f->index < v->size; f->index++) {
    if (!resumed) {
      if (f->index >= items->prefix_count && items->rest == NULL) break;
      run->result = enter(run, f->index < items->prefix_count ? items->prefix[f->index] : items->rest, f->cursor);
      if (run->result == RESULT_DESCEND) return RESULT_DESCEND;
    }
    resumed = false;
    if (!goes_on(f, run->result)) return run->result;
    f->cursor = trilha_json_next(f->cursor);
  }
  return loop_result(f);
}

/* Of violations at most TRILHA_SCHEMA_VIOLATIONS_MAX are kept, but all are counted: the count is the position. */
static inline uint32_t log_position(const schema_run *run) {
  return (uint32_t)(IS_REPORT ? run->total : run->scratch->log_count);
}

static inline void log_truncate(schema_run *run, uint32_t position) {
  if (IS_REPORT) {
    run->total = position;
    if (run->scratch->draft_count > position) run->scratch->draft_count = position;
  } else if (IS_ANNOTATE) {
    run->scratch->log_count = position;
  }
}

static schema_result end_contains(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                  const schema_frame *f) {
  const schema_contains *contains = instr->u.contains;
  if (f->count >= contains->min && f->count <= contains->max) {
    if (IS_REPORT) log_truncate(run, f->log);
    return RESULT_PASS;
  }
  if (IS_REPORT && f->count > contains->max) log_truncate(run, f->log);
  if (IS_REPORT) trilha_schema_note_violation(run, instr, v);
  return RESULT_FAIL;
}

/* An item has been looked at; true when the answer is known. */
static bool settle_contains(schema_run *run, const schema_instr *instr, schema_frame *f, schema_result result) {
  const schema_contains *contains = instr->u.contains;
  if (result != RESULT_PASS) {
    if (IS_ANNOTATE) log_truncate(run, f->log);
    return false;
  }
  f->count++;
  if ((instr->flags & INSTR_TRACKED) != 0)
    trilha_schema_track_mark(run, f->index);
  else if (IS_FAST && f->count >= contains->min && contains->max == UINT32_MAX)
    return true;
  return IS_FAST && f->count > contains->max;
}

static schema_result step_contains(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                   schema_frame *f, bool resumed) {
  if (v->type != TRILHA_JSON_ARRAY) return RESULT_PASS;
  if (!resumed) {
    object_start(run, v, f);
    f->log = log_position(run);
  }
  while (f->index < v->size) {
    if (!resumed) {
      if (IS_ANNOTATE) f->log = log_position(run);
      run->result = enter(run, instr->u.contains->block, f->cursor);
      if (run->result == RESULT_DESCEND || run->result == RESULT_UNDECIDED) return run->result;
    }
    resumed = false;
    if (settle_contains(run, instr, f, run->result)) break;
    f->cursor = trilha_json_next(f->cursor);
    f->index++;
  }
  return end_contains(run, instr, v, f);
}

/* --- combinators ------------------------------------------------------------------------------------------------ */

static inline const trilha_json_value *find_member(const trilha_json_value *v, uint16_t key) {
  const trilha_json_value *at = v + 1;
  for (uint32_t i = 0; i < v->size; i++, at = trilha_json_next(at + 1)) {
    if (at->key == key) return at + 1;
  }
  return NULL;
}

/* The member that was last looked for: branches tend to share their tag. */
typedef struct seen_tag {
  uint16_t key;
  const trilha_json_value *member;
} seen_tag;

/* Whether the block certainly fails, seen at a glance. */
static inline bool refuses(schema_run *run, const schema_block *block, const trilha_json_value *v, seen_tag *seen) {
  if ((block->types >> v->type & 1) == 0) return true;
  const schema_tag *tag = block->tag;
  if (tag == NULL || v->type != TRILHA_JSON_OBJECT) return false;
  if (seen->key != tag->key) {
    run->steps -= v->size;
    *seen = (seen_tag){tag->key, find_member(v, tag->key)};
  }
  if (seen->member == NULL) return tag->required;
  for (uint32_t i = 0; i < tag->count; i++) {
    if (check_enum(run, tag->values[i], seen->member) != RESULT_FAIL) return false;
  }
  return true;
}

/* A branch has ended; true when the answer is known. */
static bool settle_branch(schema_run *run, const schema_instr *instr, schema_frame *f, schema_result result) {
  bool tracked = (instr->flags & INSTR_TRACKED) != 0;
  if (tracked) trilha_schema_track_restore(run, f, result == RESULT_PASS);
  if (IS_ANNOTATE && result != RESULT_PASS) log_truncate(run, f->log);
  if (result != RESULT_PASS) return false;
  f->count++;
  if (instr->op == OP_ONE_OF) return !IS_REPORT && f->count > 1;
  return IS_FAST && !tracked;
}

static schema_result end_branches(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                  const schema_frame *f) {
  bool passes = instr->op == OP_ONE_OF ? f->count == 1 : f->count > 0;
  if (IS_REPORT && f->count > 0) log_truncate(run, f->log);
  if (IS_REPORT && !passes) trilha_schema_note_violation(run, instr, v);
  return passes ? RESULT_PASS : RESULT_FAIL;
}

static schema_result step_branches(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                   schema_frame *f, bool resumed) {
  const schema_branches *branches = instr->u.branches;
  seen_tag seen = {0, NULL};
  if (!resumed) {
    f->index = 0;
    f->count = 0;
    f->log = log_position(run);
  }
  for (; f->index < branches->count; f->index++) {
    const schema_block *block = branches->blocks[f->index];
    if (!resumed) {
      if (IS_FAST && block != NULL && refuses(run, block, v, &seen)) continue;
      if ((instr->flags & INSTR_TRACKED) != 0 && !trilha_schema_track_save(run, f)) return RESULT_UNDECIDED;
      if (IS_ANNOTATE) f->log = log_position(run);
      run->result = enter(run, block, v);
      if (run->result == RESULT_DESCEND || run->result == RESULT_UNDECIDED) return run->result;
    }
    resumed = false;
    if (settle_branch(run, instr, f, run->result)) break;
  }
  return end_branches(run, instr, v, f);
}

static schema_result step_not(schema_run *run, const schema_instr *instr, const trilha_json_value *v, schema_frame *f,
                              bool resumed) {
  if (!resumed) {
    f->log = log_position(run);
    run->quiet++;
    run->result = enter(run, instr->u.block, v);
    if (run->result == RESULT_DESCEND || run->result == RESULT_UNDECIDED) return run->result;
  }
  run->quiet--;
  if (IS_ANNOTATE) log_truncate(run, f->log);
  if (run->result == RESULT_FAIL) return RESULT_PASS;
  if (IS_REPORT) trilha_schema_note_violation(run, instr, v);
  return RESULT_FAIL;
}

static schema_result step_if(schema_run *run, const schema_instr *instr, const trilha_json_value *v, schema_frame *f,
                             bool resumed) {
  const schema_condition *condition = instr->u.condition;
  bool tracked = (instr->flags & INSTR_TRACKED) != 0;
  if (resumed && f->index != 0) return run->result; /* then or else */
  if (!resumed) {
    f->index = 0;
    f->log = log_position(run);
    if (tracked && !trilha_schema_track_save(run, f)) return RESULT_UNDECIDED;
    run->quiet++;
    run->result = enter(run, condition->test, v);
    if (run->result == RESULT_DESCEND || run->result == RESULT_UNDECIDED) return run->result;
  }
  run->quiet--;
  bool holds = run->result == RESULT_PASS;
  if (tracked) trilha_schema_track_restore(run, f, holds);
  if (IS_ANNOTATE) log_truncate(run, f->log);
  f->index = holds ? 1 : 2;
  return enter(run, holds ? condition->then : condition->otherwise, v);
}

static schema_result step_dependent_schemas(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                            schema_frame *f, bool resumed) {
  const schema_dependent *dependent = instr->u.dependent;
  if (v->type != TRILHA_JSON_OBJECT) return RESULT_PASS;
  if (!resumed) {
    f->index = 0;
    f->failed = false;
  }
  for (; f->index < dependent->count; f->index++) {
    if (!resumed) {
      run->steps -= v->size;
      if (run->steps < 0) return RESULT_UNDECIDED;
      if (find_member(v, dependent->keys[f->index]) == NULL) continue;
      run->result = enter(run, dependent->blocks[f->index], v);
      if (run->result == RESULT_DESCEND) return run->result;
    }
    resumed = false;
    if (!goes_on(f, run->result)) return run->result;
  }
  return loop_result(f);
}

/* --- references and unevaluated* ------------------------------------------------------------------------------------
 */

/* The outermost resource of the dynamic scope that declares the anchor: waiting frames from the first, then the block
 * that runs. */
static const schema_block *dynamic_target(schema_run *run, const schema_dynamic *dynamic) {
  run->steps -= run->depth;
  for (uint32_t i = 0; i <= run->depth; i++) {
    uint32_t resource = i < run->depth ? run->scratch->frames[i].block->resource : run->block->resource;
    for (uint32_t k = 0; k < dynamic->target_count; k++) {
      if (dynamic->targets[k].resource == resource) return dynamic->targets[k].block;
    }
  }
  return dynamic->fallback;
}

static schema_result step_track(schema_run *run, const schema_instr *instr, const trilha_json_value *v, schema_frame *f,
                                bool resumed) {
  if (!resumed) {
    if (!trilha_schema_track_open(run, f, v)) return RESULT_UNDECIDED;
    run->result = enter(run, instr->u.block, v);
    if (run->result == RESULT_DESCEND || run->result == RESULT_UNDECIDED) return run->result;
  }
  trilha_schema_track_close(run, f, (instr->flags & INSTR_TRACKED) != 0 && run->result == RESULT_PASS);
  return run->result;
}

/* unevaluatedProperties (`stride` 1: a key stands before each member) and unevaluatedItems (0). */
static inline schema_result step_unevaluated(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                             schema_frame *f, bool resumed, unsigned stride) {
  if (v->type != (stride == 1 ? TRILHA_JSON_OBJECT : TRILHA_JSON_ARRAY)) return RESULT_PASS;
  if (!resumed) object_start(run, v, f);
  for (; f->index < v->size; f->index++) {
    if (!resumed) {
      run->result = RESULT_PASS;
      if (!trilha_schema_track_has(run, f->index)) run->result = enter(run, instr->u.block, f->cursor + stride);
      if (run->result == RESULT_DESCEND) return run->result;
    }
    resumed = false;
    if (!goes_on(f, run->result)) return run->result;
    f->cursor = trilha_json_next(f->cursor + stride);
  }
  trilha_schema_track_all(run);
  return loop_result(f);
}

/* --- the driver --------------------------------------------------------------------------------------------------- */

static inline schema_result step(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                 schema_frame *f, bool resumed) {
  switch (instr->op) {
    case OP_OBJECT:
      return step_object(run, instr, v, f, resumed);
    case OP_OBJECT_PATTERNS:
      return step_object_patterns(run, instr, v, f, resumed);
    case OP_NAMES:
      return step_names(run, instr, v, f, resumed);
    case OP_ITEMS:
      return step_items(run, instr, v, f, resumed);
    case OP_CONTAINS:
      return step_contains(run, instr, v, f, resumed);
    case OP_CALL:
      return resumed ? run->result : enter(run, instr->u.block, v);
    case OP_ANY_OF:
    case OP_ONE_OF:
      return step_branches(run, instr, v, f, resumed);
    case OP_NOT:
      return step_not(run, instr, v, f, resumed);
    case OP_IF:
      return step_if(run, instr, v, f, resumed);
    case OP_DEPENDENT_SCHEMAS:
      return step_dependent_schemas(run, instr, v, f, resumed);
    case OP_DYNAMIC:
      return resumed ? run->result : enter(run, dynamic_target(run, instr->u.dynamic), v);
    case OP_TRACK:
      return step_track(run, instr, v, f, resumed);
    case OP_UNEVALUATED_PROPERTIES:
      return step_unevaluated(run, instr, v, f, resumed, 1);
    case OP_UNEVALUATED_ITEMS:
      return step_unevaluated(run, instr, v, f, resumed, 0);
    default: /* OP_ANNOTATION */
      return IS_ANNOTATE && !trilha_schema_note_annotation(run, instr, v) ? RESULT_UNDECIDED : RESULT_PASS;
  }
}

static inline schema_result execute(schema_run *run, const schema_instr *instr, const trilha_json_value *v,
                                    schema_frame *f) {
  if (instr->op <= OP_LAST_LEAF) {
    schema_result result = run_leaf(run, instr, v);
    bool names_itself = instr->op == OP_REQUIRED || instr->op == OP_DEPENDENT_REQUIRED;
    if (IS_REPORT && result == RESULT_FAIL && !names_itself) trilha_schema_note_violation(run, instr, v);
    return result;
  }
  if (--run->steps < 0) return RESULT_UNDECIDED;
  return type_passes(instr->types, v) ? step(run, instr, v, f, false) : RESULT_FAIL;
}

/* --- native runs ----------------------------------------------------------------------------------------
 */

static inline schema_result run_native(schema_run *run, const schema_block *block, const trilha_json_value *v) {
  if (!block->leaf) return run_flat(run, block, v);
  for (const schema_instr *instr = block->code; instr->op != OP_END; instr++) {
    schema_result result = run_leaf(run, instr, v);
    if (result != RESULT_PASS) return result;
  }
  return RESULT_PASS;
}

/* An object whose members all run natively needs no frame. */
static schema_result flat_object(schema_run *run, const schema_object *o, const trilha_json_value *v) {
  uint64_t seen = 0;
  const trilha_json_value *key = v + 1;
  run->steps -= v->size;
  for (uint32_t left = v->size; left > 0; left--, key = trilha_json_next(key + 1)) {
    const schema_block *block = o->additional;
    const schema_entry *entry = find_entry(o, key->key);
    if (entry != NULL) {
      seen |= entry->watch;
      if ((entry->flags & ENTRY_LISTED) != 0) block = entry->block;
    }
    if (block == NULL) continue;
    schema_result result = run_native(run, block, key + 1);
    if (result != RESULT_PASS) return result;
  }
  return has_watched(o, seen) ? RESULT_PASS : RESULT_FAIL;
}

static schema_result flat_few(schema_run *run, const schema_object *o, const trilha_json_value *v) {
  run->steps -= v->size;
  for (uint32_t i = 0; i < o->entry_count; i++) {
    const schema_entry *entry = &o->entries[i];
    const trilha_json_value *key = v + 1;
    bool found = false;
    for (uint32_t left = v->size; left > 0; left--, key = trilha_json_next(key + 1)) {
      if (key->key != entry->key) continue;
      found = true; /* not the end: a name may come twice */
      schema_result result = entry->block == NULL ? RESULT_PASS : run_native(run, entry->block, key + 1);
      if (result != RESULT_PASS) return result;
    }
    if (!found && (o->required & entry->watch) != 0) return RESULT_FAIL;
  }
  return RESULT_PASS;
}

static schema_result flat_items(schema_run *run, const schema_items *items, const trilha_json_value *v) {
  const trilha_json_value *item = v + 1;
  run->steps -= v->size;
  for (uint32_t i = 0; i < v->size; i++, item = trilha_json_next(item)) {
    const schema_block *block = i < items->prefix_count ? items->prefix[i] : items->rest;
    schema_result result = block == NULL ? RESULT_PASS : run_native(run, block, item);
    if (result != RESULT_PASS) return result;
  }
  return RESULT_PASS;
}

static SCHEMA_APART schema_result flat_step(schema_run *run, const schema_instr *instr, const trilha_json_value *v) {
  schema_frame frame;
  return step(run, instr, v, &frame, false);
}

static schema_result run_flat_instr(schema_run *run, const schema_instr *instr, const trilha_json_value *v) {
  if (--run->steps < 0) return RESULT_UNDECIDED;
  if (!type_passes(instr->types, v)) return RESULT_FAIL;
  if (IS_FAST && (instr->flags & INSTR_TRACKED) == 0) {
    if (instr->op == OP_OBJECT) {
      if (v->type != TRILHA_JSON_OBJECT) return RESULT_PASS;
      return instr->u.object->few ? flat_few(run, instr->u.object, v) : flat_object(run, instr->u.object, v);
    }
    if (instr->op == OP_ITEMS) return v->type == TRILHA_JSON_ARRAY ? flat_items(run, instr->u.items, v) : RESULT_PASS;
  }
  return flat_step(run, instr, v);
}

static schema_result run_flat(schema_run *run, const schema_block *block, const trilha_json_value *v) {
  for (const schema_instr *instr = block->code; instr->op != OP_END; instr++) {
    schema_result result = instr->op <= OP_LAST_LEAF ? run_leaf(run, instr, v) : run_flat_instr(run, instr, v);
    if (result != RESULT_PASS) return result;
  }
  return RESULT_PASS;
}

/* Makes the instruction wait and begins with its child. False when too many wait. */
static inline bool push(schema_run *run, schema_frame *f, const schema_instr *instr, const trilha_json_value *v,
                        bool block_failed) {
  if (run->depth == TRILHA_SCHEMA_RUN_DEPTH_MAX) return false;
  f->at = instr;
  f->block = run->block;
  f->value = v;
  f->block_failed = block_failed;
  run->scratch->frames[run->depth++] = *f;
  run->block = run->child;
  return true;
}

static schema_result run_blocks(schema_run *run, const schema_block *root) {
  schema_frame f = {0};
  const trilha_json_value *v = run->root;
  if (root == NULL) return RESULT_PASS;
  if (!IS_REPORT && root->flat != 0) return run_flat(run, root, v);
  const schema_instr *instr = root->code;
  run->block = root;
  for (bool failed = false;;) {
    schema_result result = failed ? RESULT_FAIL : RESULT_PASS;
    bool ends = instr->op == OP_END;
    if (!ends) {
      result = execute(run, instr, v, &f);
      ends = result == RESULT_FAIL && !IS_REPORT;
    }
    while (ends) { /* the block has its result: its caller goes on */
      if (run->depth == 0) return result;
      f = run->scratch->frames[--run->depth];
      instr = f.at;
      v = f.value;
      run->block = f.block;
      failed = f.block_failed;
      run->result = result;
      result = step(run, instr, v, &f, true);
      ends = result == RESULT_FAIL && !IS_REPORT;
    }
    if (result == RESULT_UNDECIDED) return result;
    if (result == RESULT_DESCEND) {
      if (!push(run, &f, instr, v, failed)) return RESULT_UNDECIDED;
      v = run->child_value;
      instr = run->child->code;
      failed = false;
      continue;
    }
    failed = failed || result == RESULT_FAIL;
    instr++;
  }
}
