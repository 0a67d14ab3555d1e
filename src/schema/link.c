/* Finishing a program: dynamic references with one target become calls, blocks that only call another one are skipped,
 * short ones are copied into their callers, and every block learns what it refuses at a glance. */
#include "schema/compile.h"

enum {
  ALIAS_CHAIN_MAX = 64,  /* blocks that only call; a cycle of them ends here */
  INLINE_MAX = 8,        /* instructions of a block that is copied into its caller */
  INLINE_TOTAL_MAX = 64, /* instructions of a caller that grows */
  INLINE_ROUNDS = 4,
  FLAT_HEIGHT_MAX = 32, /* native recursion of blocks in one another; about 200 bytes of stack each */
  NARROW_ROUNDS = 8
};

static bool plain_call(const schema_block *block) {
  return block != NULL && block->count == 1 && block->code[0].op == OP_CALL && block->code[0].types == TYPE_ANY;
}

static void settle_dynamic(schema_compiler *c, schema_program *program) {
  for (size_t i = 0; i < c->block_count; i++) {
    schema_block *block = c->blocks[i];
    for (uint32_t k = 0; k < block->count; k++) {
      schema_instr *instr = (schema_instr *)(uintptr_t)&block->code[k];
      if (instr->op != OP_DYNAMIC) continue;
      const schema_dynamic *dynamic = instr->u.dynamic;
      if (dynamic->target_count > 1) {
        program->dynamic = true;
      } else if (dynamic->fallback != NULL) {
        instr->op = OP_CALL;
        instr->u.block = dynamic->fallback;
      }
    }
  }
}

/* The n-th slot of an instruction that names a block, or NULL past the last. */
static const schema_block **child_slot(const schema_instr *instr, uint32_t n) {
  switch ((int)instr->op) {
    case OP_NAMES:
    case OP_CALL:
    case OP_NOT:
    case OP_TRACK:
    case OP_UNEVALUATED_ITEMS:
    case OP_UNEVALUATED_PROPERTIES:
      return n == 0 ? (const schema_block **)(uintptr_t)&instr->u.block : NULL;
    case OP_CONTAINS:
      return n == 0 ? &instr->u.contains->block : NULL;
    case OP_ANY_OF:
    case OP_ONE_OF:
      return n < instr->u.branches->count ? &instr->u.branches->blocks[n] : NULL;
    case OP_IF:
      return n == 0   ? &instr->u.condition->test
             : n == 1 ? &instr->u.condition->then
             : n == 2 ? &instr->u.condition->otherwise
                      : NULL;
    case OP_DEPENDENT_SCHEMAS:
      return n < instr->u.dependent->count ? &instr->u.dependent->blocks[n] : NULL;
    case OP_ITEMS:
      if (n < instr->u.items->prefix_count) return &instr->u.items->prefix[n];
      return n == instr->u.items->prefix_count ? &instr->u.items->rest : NULL;
    case OP_OBJECT:
    case OP_OBJECT_PATTERNS: {
      schema_object *object = instr->u.object;
      if (n < object->entry_count) return &object->entries[n].block;
      n -= object->entry_count;
      if (n < object->pattern_count) return &object->patterns[n].block;
      return n == object->pattern_count ? &object->additional : NULL;
    }
    case OP_DYNAMIC:
      if (n < instr->u.dynamic->target_count) return &instr->u.dynamic->targets[n].block;
      return n == instr->u.dynamic->target_count ? &instr->u.dynamic->fallback : NULL;
    default:
      return NULL;
  }
}

/* A block that only calls another one is that one, where dynamic scopes do not matter. */
static const schema_block *alias_of(const schema_block *block) {
  for (int i = 0; i < ALIAS_CHAIN_MAX && plain_call(block); i++) block = block->code[0].u.block;
  return block;
}

/* Instructions that read an absent block as one that anything passes. */
static bool may_be_absent(const schema_instr *instr) {
  return instr->op != OP_CALL && instr->op != OP_TRACK && instr->op != OP_NAMES;
}

static void resolve_aliases(schema_compiler *c, schema_program *program) {
  program->root = alias_of(program->root);
  for (size_t i = 0; i < c->block_count; i++) {
    for (uint32_t k = 0; k < c->blocks[i]->count; k++) {
      const schema_block **slot;
      for (uint32_t n = 0; (slot = child_slot(&c->blocks[i]->code[k], n)) != NULL; n++) {
        if (*slot == NULL) continue;
        *slot = alias_of(*slot);
        if ((*slot)->count == 0 && may_be_absent(&c->blocks[i]->code[k])) *slot = NULL;
      }
    }
  }
}

static bool may_inline(const schema_block *caller, const schema_instr *instr) {
  if (instr->op != OP_CALL || instr->u.block == caller || instr->u.block->count > INLINE_MAX) return false;
  return true;
}

static bool inline_calls(schema_compiler *c, schema_block *block) {
  uint32_t count = 0;
  bool any = false;
  for (uint32_t i = 0; i < block->count; i++) {
    bool copied = may_inline(block, &block->code[i]);
    count += copied ? block->code[i].u.block->count : 1;
    any = any || copied;
  }
  if (!any || count > INLINE_TOTAL_MAX) return false;
  schema_instr *code = trilha_schema_alloc(c, count + 1, sizeof(*code));
  if (code == NULL) return false;
  uint32_t at = 0;
  for (uint32_t i = 0; i < block->count; i++) {
    const schema_instr *instr = &block->code[i];
    if (!may_inline(block, instr)) {
      code[at++] = *instr;
      continue;
    }
    memcpy(code + at, instr->u.block->code, instr->u.block->count * sizeof(*code));
    at += instr->u.block->count;
  }
  block->code = code;
  block->count = count;
  return true;
}

static void inline_all(schema_compiler *c) {
  bool any = true;
  for (int round = 0; round < INLINE_ROUNDS && any && c->status == TRILHA_OK; round++) {
    any = false;
    for (size_t i = c->block_count; i-- > 0;) any = inline_calls(c, c->blocks[i]) || any;
  }
}

/* --- which blocks may run natively ------------------------------------------------------------------------------- */

static void mark_leaves(schema_compiler *c) {
  for (size_t i = 0; i < c->block_count; i++) {
    schema_block *block = c->blocks[i];
    block->leaf = 1;
    for (uint32_t k = 0; k < block->count; k++) block->leaf &= block->code[k].op <= OP_LAST_LEAF;
  }
}

static unsigned flat_height(const schema_block *block) {
  unsigned height = 1;
  for (uint32_t k = 0; k < block->count; k++) {
    const schema_block **slot;
    if (block->code[k].op == OP_DYNAMIC) return 0;
    for (uint32_t n = 0; (slot = child_slot(&block->code[k], n)) != NULL; n++) {
      if (*slot == NULL) continue;
      if ((*slot)->flat == 0) return 0;
      if ((*slot)->flat + 1U > height) height = (*slot)->flat + 1U;
    }
  }
  return height > FLAT_HEIGHT_MAX ? 0 : height;
}

/* Blocks that reach themselves never get a height. */
static void measure_heights(schema_compiler *c) {
  bool any = true;
  for (int round = 0; round <= FLAT_HEIGHT_MAX && any; round++) {
    any = false;
    for (size_t i = c->block_count; i-- > 0;) {
      if (c->blocks[i]->flat != 0) continue;
      c->blocks[i]->flat = (uint8_t)flat_height(c->blocks[i]);
      any = any || c->blocks[i]->flat != 0;
    }
  }
}

/* --- what a block refuses by type --------------------------------------------------------------------------------- */

static uint8_t json_types(uint8_t types) {
  if ((types & TYPE_INTEGER) != 0) types |= TYPE_NUMBER;
  return types & TYPE_ANY;
}

static uint8_t passing_types(const schema_instr *instr) {
  uint8_t types = json_types(instr->types), any = 0;
  switch ((int)instr->op) {
    case OP_FALSE:
      return 0;
    case OP_ENUM:
      return types & instr->u.values->types;
    case OP_CALL:
      return types & instr->u.block->types;
    case OP_ANY_OF:
    case OP_ONE_OF:
      for (uint32_t i = 0; i < instr->u.branches->count; i++) {
        const schema_block *branch = instr->u.branches->blocks[i];
        any |= branch == NULL ? TYPE_ANY : branch->types;
      }
      return types & any;
    default:
      return types;
  }
}

static void narrow_types(schema_compiler *c) {
  for (size_t i = 0; i < c->block_count; i++) c->blocks[i]->types = TYPE_ANY;
  for (int round = 0; round < NARROW_ROUNDS; round++) {
    for (size_t i = c->block_count; i-- > 0;) {
      schema_block *block = c->blocks[i];
      for (uint32_t k = 0; k < block->count; k++) block->types &= passing_types(&block->code[k]);
    }
  }
}

void trilha_schema_link(schema_compiler *c, schema_program *program) {
  settle_dynamic(c, program);
  if (!c->plain && !program->dynamic) {
    resolve_aliases(c, program);
    inline_all(c);
  }
  mark_leaves(c);
  measure_heights(c);
  narrow_types(c);
  if (!c->plain) trilha_schema_find_tags(c);
}
