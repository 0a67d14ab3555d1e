/* Members that decide between branches: {"tipo": {"const": …}} in the branches of a oneOf. Looking at that one member
 * first refuses most branches before they run. */
#include "schema/compile.h"

enum { TAG_VALUES_MAX = 32, TAG_ROUNDS = 6 };

static const schema_tag *new_tag(schema_compiler *c, uint16_t key, bool required, uint32_t count) {
  schema_tag *tag = trilha_schema_alloc(c, 1, sizeof(*tag));
  const schema_enum **values = trilha_schema_alloc(c, count, sizeof(*values));
  if (tag == NULL || values == NULL) return NULL;
  *tag = (schema_tag){.key = key, .required = required, .values = values};
  return tag;
}

static void add_values(const schema_tag *tag, const schema_enum *const *values, uint32_t count) {
  schema_tag *open = (schema_tag *)(uintptr_t)tag;
  for (uint32_t i = 0; i < count; i++) open->values[open->count++] = values[i];
}

/* A member that must be one of listed values; rather a required one. */
static const schema_tag *tag_of_object(schema_compiler *c, const schema_object *object) {
  const schema_entry *best = NULL;
  for (uint32_t i = 0; i < object->entry_count; i++) {
    const schema_entry *entry = &object->entries[i];
    if (entry->block == NULL || entry->block->count != 1 || entry->block->code[0].op != OP_ENUM) continue;
    bool required = (object->required & entry->watch) != 0;
    if (best == NULL || (required && (object->required & best->watch) == 0)) best = entry;
  }
  if (best == NULL) return NULL;
  const schema_tag *tag = new_tag(c, best->key, (object->required & best->watch) != 0, 1);
  if (tag != NULL) add_values(tag, &best->block->code[0].u.values, 1);
  return tag;
}

/* Where every branch that takes objects has the same required tag, the whole has it, with the values of all. */
static const schema_tag *tag_of_branches(schema_compiler *c, const schema_branches *branches) {
  uint32_t count = 0;
  uint16_t key = 0;
  for (uint32_t i = 0; i < branches->count; i++) {
    const schema_block *branch = branches->blocks[i];
    if (branch == NULL) return NULL;
    if ((branch->types & TYPE_OBJECT) == 0) continue;
    if (branch->tag == NULL || !branch->tag->required || (key != 0 && branch->tag->key != key)) return NULL;
    key = branch->tag->key;
    count += branch->tag->count;
  }
  if (count == 0 || count > TAG_VALUES_MAX) return NULL;
  const schema_tag *tag = new_tag(c, key, true, count);
  for (uint32_t i = 0; tag != NULL && i < branches->count; i++) {
    const schema_block *branch = branches->blocks[i];
    if ((branch->types & TYPE_OBJECT) != 0) add_values(tag, branch->tag->values, branch->tag->count);
  }
  return tag;
}

static const schema_tag *tag_of_instr(schema_compiler *c, const schema_instr *instr) {
  switch ((int)instr->op) {
    case OP_CALL:
      return instr->u.block->tag;
    case OP_OBJECT:
    case OP_OBJECT_PATTERNS:
      return tag_of_object(c, instr->u.object);
    case OP_ANY_OF:
    case OP_ONE_OF:
      return tag_of_branches(c, instr->u.branches);
    default:
      return NULL;
  }
}

/* True when the block has got a tag. */
static bool find_tag(schema_compiler *c, schema_block *block) {
  for (uint32_t k = 0; k < block->count && c->status == TRILHA_OK; k++) {
    const schema_tag *tag = tag_of_instr(c, &block->code[k]);
    if (tag != NULL && (block->tag == NULL || tag->required)) block->tag = tag;
    if (block->tag != NULL && block->tag->required) return true;
  }
  return block->tag != NULL;
}

void trilha_schema_find_tags(schema_compiler *c) {
  bool any = true;
  for (int round = 0; round < TAG_ROUNDS && any; round++) {
    any = false;
    for (size_t i = c->block_count; i-- > 0 && c->status == TRILHA_OK;) {
      if (c->blocks[i]->tag == NULL) any = find_tag(c, c->blocks[i]) || any;
    }
  }
}
