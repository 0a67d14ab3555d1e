/* schema/pattern_nfa: items to a nondeterministic automaton over the bytes of UTF-8. */
#include "schema/pattern_internal.h"

typedef struct nfa_frame {
  size_t start, alternative; /* where the group's and its current alternative's code begins */
  size_t pending;            /* last JUMP that waits for the group's end, or NO_JUMP; its `out` is the one before */
} nfa_frame;

#define NO_JUMP SIZE_MAX

typedef struct nfa_builder {
  trilha_nfa_code *code;
  size_t count, capacity;
  trilha_arena *arena;
  bool too_large, no_memory;
  nfa_frame frames[TRILHA_PATTERN_DEPTH_MAX + 3];
  size_t depth;
} nfa_builder;

static int32_t distance(size_t from, size_t to) {
  return (int32_t)((int64_t)to - (int64_t)from);
}

static bool reserve(nfa_builder *b, uint64_t more) {
  if (b->too_large || b->no_memory) return false;
  if (b->count + more > TRILHA_PATTERN_NFA_MAX) {
    b->too_large = true;
    return false;
  }
  if (b->count + more <= b->capacity) return true;
  size_t capacity = b->capacity == 0 ? 128 : b->capacity;
  while (capacity < b->count + more) capacity *= 2;
  trilha_nfa_code *code = trilha_arena_array(b->arena, capacity, sizeof *code);
  if (code == NULL) {
    b->no_memory = true;
    return false;
  }
  if (b->count > 0) memcpy(code, b->code, b->count * sizeof *code);
  b->code = code;
  b->capacity = capacity;
  return true;
}

static void emit(nfa_builder *b, trilha_nfa_code code) {
  if (reserve(b, 1)) b->code[b->count++] = code;
}

static void emit_split(nfa_builder *b, int32_t out, int32_t other) {
  emit(b, (trilha_nfa_code){.op = TRILHA_NFA_SPLIT, .out = out, .other = other});
}

static void emit_jump(nfa_builder *b, int32_t out) {
  emit(b, (trilha_nfa_code){.op = TRILHA_NFA_JUMP, .out = out});
}

static void emit_bytes(nfa_builder *b, unsigned low, unsigned high, int32_t out) {
  emit(b, (trilha_nfa_code){.op = TRILHA_NFA_BYTES, .low = (uint8_t)low, .high = (uint8_t)high, .out = out});
}

/* Puts a SPLIT before the code from `at` on, into it or over `over` instructions. */
static void insert_split(nfa_builder *b, size_t at, int32_t over) {
  if (!reserve(b, 1)) return;
  memmove(b->code + at + 1, b->code + at, (b->count - at) * sizeof *b->code);
  b->code[at] = (trilha_nfa_code){.op = TRILHA_NFA_SPLIT, .out = 1, .other = over};
  b->count++;
}

static void emit_copy(nfa_builder *b, size_t from, size_t size) {
  if (!reserve(b, size)) return;
  memcpy(b->code + b->count, b->code + from, size * sizeof *b->code);
  b->count += size;
}

/* --- characters ----------------------------------------------------------------------------------- */

/* One step of the way through a character's bytes; `next` is another one, or LAST_BYTE. */
typedef struct byte_node {
  uint8_t low, high;
  uint32_t next;
} byte_node;

#define LAST_BYTE UINT32_MAX

typedef struct byte_graph {
  byte_node *nodes;
  uint32_t *entries;
  uint32_t *slots; /* hash table of nodes, index + 1; 0 is free */
  size_t node_count, entry_count, slot_mask;
} byte_graph;

/* Equal ends are shared: that keeps the automaton small. */
static uint32_t graph_node(byte_graph *g, uint8_t low, uint8_t high, uint32_t next) {
  size_t i = (low * 31U + high * 1031U + next * 2654435761U) & g->slot_mask;
  for (; g->slots[i] != 0; i = (i + 1) & g->slot_mask) {
    const byte_node *n = &g->nodes[g->slots[i] - 1];
    if (n->low == low && n->high == high && n->next == next) return g->slots[i] - 1;
  }
  g->nodes[g->node_count] = (byte_node){low, high, next};
  g->slots[i] = (uint32_t)++g->node_count;
  return g->slots[i] - 1;
}

/* A range whose characters have one length and whose bytes vary independently of each other. */
static void graph_add(byte_graph *g, uint32_t low, uint32_t high) {
  char first[4], last[4];
  size_t size = trilha_utf8_put(first, low);
  (void)trilha_utf8_put(last, high);
  uint32_t next = LAST_BYTE;
  for (size_t i = size; i > 0; i--) next = graph_node(g, (uint8_t)first[i - 1], (uint8_t)last[i - 1], next);
  g->entries[g->entry_count++] = next;
}

/* The last code point up to which [low, high] can be written as one row of byte ranges. */
static uint32_t row_end(uint32_t low, uint32_t high) {
  static const uint32_t ends[] = {0x7F, 0x7FF, 0xD7FF, 0xFFFF};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    if (low <= ends[i] && high > ends[i]) high = ends[i];
  if (high < 0x80) return high;
  for (unsigned bits = 6; bits <= 18; bits += 6) {
    uint32_t mask = (UINT32_C(1) << bits) - 1;
    if ((low & ~mask) == (high & ~mask)) break;
    if ((low & mask) != 0) return low | mask;
    if ((high & mask) != mask) high = (high & ~mask) - 1;
  }
  return high;
}

/* The row that begins at *low, which moves to the next one; false after the last. */
static bool next_row(uint32_t *low, uint32_t high, uint32_t *ret_from, uint32_t *ret_to) {
  if (*low > high) return false;
  *ret_from = *low;
  *ret_to = row_end(*low, high);
  *low = *ret_to == 0xD7FF ? 0xE000 : *ret_to + 1;
  return true;
}

static size_t count_rows(const trilha_set *set) {
  size_t rows = 0;
  uint32_t from, to;
  for (size_t i = 0; i < set->count; i++)
    for (uint32_t low = set->ranges[i].low; next_row(&low, set->ranges[i].high, &from, &to);) rows++;
  return rows;
}

static bool graph_build(byte_graph *g, const trilha_set *set, trilha_arena *arena) {
  size_t rows = count_rows(set), slots = 16;
  uint32_t from, to;
  while (slots < rows * 8) slots *= 2; /* at most four nodes a row */
  g->slot_mask = slots - 1;
  g->slots = trilha_arena_array(arena, slots, sizeof *g->slots);
  g->nodes = trilha_arena_array(arena, rows * 4, sizeof *g->nodes);
  g->entries = trilha_arena_array(arena, rows, sizeof *g->entries);
  if (g->slots == NULL || g->nodes == NULL || g->entries == NULL) return false;
  for (size_t i = 0; i < set->count; i++)
    for (uint32_t low = set->ranges[i].low; next_row(&low, set->ranges[i].high, &from, &to);) graph_add(g, from, to);
  return true;
}

static void emit_set(nfa_builder *b, const trilha_set *set) {
  byte_graph g = {0};
  if (!graph_build(&g, set, b->arena)) {
    b->no_memory = true;
    return;
  }
  if (g.entry_count == 0) {
    emit_bytes(b, 1, 0, 1); /* no byte is in it */
    return;
  }
  size_t nodes = b->count + (g.node_count == 1 ? 0 : g.entry_count), end = nodes + g.node_count;
  if (!reserve(b, end - b->count)) return;
  for (size_t i = 0; i + 1 < g.entry_count; i++) emit_split(b, distance(b->count, nodes + g.entries[i]), 1);
  if (g.node_count > 1) emit_jump(b, distance(b->count, nodes + g.entries[g.entry_count - 1]));
  for (size_t i = 0; i < g.node_count; i++) {
    size_t target = g.nodes[i].next == LAST_BYTE ? end : nodes + g.nodes[i].next;
    emit_bytes(b, g.nodes[i].low, g.nodes[i].high, distance(b->count, target));
  }
}

/* --- repetition and groups ------------------------------------------------------------------------- */

/* Repeats the code from `start` to the end as the quantifier says. */
static void repeat(nfa_builder *b, size_t start, const trilha_item *item) {
  size_t size = b->count - start;
  bool endless = item->max == TRILHA_PATTERN_UNBOUNDED;
  if (item->min == 1 && item->max == 1) return;
  if (item->max == 0) b->count = start;
  if (item->max == 0 || size == 0) return;
  uint64_t copies = endless ? (uint64_t)item->min + 1 : item->max;
  if (copies * (size + 1) > TRILHA_PATTERN_NFA_MAX) {
    b->too_large = true;
    return;
  }
  size_t body = start;
  if (item->min == 0) {
    size_t over = endless ? size + 2 : item->max * (size + 1);
    insert_split(b, start, (int32_t)over);
    if (endless) emit_jump(b, distance(b->count, start));
    body = start + 1;
  }
  for (uint32_t i = 1; i < item->min; i++) emit_copy(b, body, size);
  if (endless && item->min > 0) emit_split(b, -(int32_t)size, 1);
  for (uint32_t i = item->min == 0 ? 1 : item->min; !endless && i < item->max; i++) {
    emit_split(b, 1, (int32_t)((item->max - i) * (size + 1)));
    emit_copy(b, body, size);
  }
}

static void begin_group(nfa_builder *b) {
  b->frames[b->depth++] = (nfa_frame){b->count, b->count, NO_JUMP};
}

static void next_alternative(nfa_builder *b) {
  nfa_frame *f = &b->frames[b->depth - 1];
  insert_split(b, f->alternative, distance(f->alternative, b->count + 2));
  size_t jump = b->count;
  emit_jump(b, f->pending == NO_JUMP ? -1 : (int32_t)f->pending);
  f->pending = jump;
  f->alternative = b->count;
}

static void end_group(nfa_builder *b, const trilha_item *item) {
  nfa_frame f = b->frames[--b->depth];
  while (!b->too_large && !b->no_memory && f.pending != NO_JUMP) {
    int32_t before = b->code[f.pending].out;
    b->code[f.pending].out = distance(f.pending, b->count);
    f.pending = before < 0 ? NO_JUMP : (size_t)before;
  }
  repeat(b, f.start, item);
}

static bool add_nfa_item(nfa_builder *b, const trilha_item *item, trilha_nfa *nfa) {
  size_t start = b->count;
  switch (item->kind) {
    case TRILHA_ITEM_SET:
      if (!item->members->known) return false;
      emit_set(b, &item->members->all);
      repeat(b, start, item);
      return true;
    case TRILHA_ITEM_OPEN:
      begin_group(b);
      return item->group < TRILHA_GROUP_AHEAD;
    case TRILHA_ITEM_CLOSE:
      end_group(b, item);
      return true;
    case TRILHA_ITEM_OR:
      next_alternative(b);
      return true;
    case TRILHA_ITEM_START:
    case TRILHA_ITEM_END:
    case TRILHA_ITEM_WORD:
    case TRILHA_ITEM_NOT_WORD:
      nfa->has_assertion = true;
      emit(b, (trilha_nfa_code){.op = TRILHA_NFA_ASSERT, .assertion = (uint8_t)item->kind, .out = 1});
      return true;
    case TRILHA_ITEM_REFERENCE:
    default:
      return false;
  }
}

/* A match may begin anywhere: skip whatever stands before. Byte by byte is enough unless \b or \B could then see the
 * inside of a character. */
static void emit_search(nfa_builder *b, bool by_character) {
  trilha_range all[] = {{0, TRILHA_CODE_POINT_MAX}};
  const trilha_set any = {.ranges = all, .count = 1, .capacity = 1};
  size_t split = b->count;
  emit_split(b, 0, 1);
  if (by_character)
    emit_set(b, &any);
  else
    emit_bytes(b, 0, 0xFF, 1);
  emit_jump(b, distance(b->count, split));
  if (!b->no_memory) b->code[split].out = distance(split, b->count);
}

static bool begins_at_start(const trilha_items *items) {
  if (items->list[1].kind != TRILHA_ITEM_START) return false;
  for (size_t i = 1; i + 1 < items->count; i++)
    if (items->list[i].kind == TRILHA_ITEM_OR && items->list[i].link == 0) return false;
  return true;
}

trilha_status trilha_nfa_build(const trilha_items *items, trilha_arena *arena, trilha_nfa *ret_nfa, trilha_error *err) {
  nfa_builder *b = trilha_arena_zalloc(arena, sizeof *b);
  if (b == NULL) return trilha_error_no_memory(err);
  b->arena = arena;
  *ret_nfa = (trilha_nfa){0};
  if (!begins_at_start(items)) emit_search(b, items->has_word);
  bool regular = true;
  for (size_t i = 0; regular && !b->too_large && !b->no_memory && i < items->count; i++)
    regular = add_nfa_item(b, &items->list[i], ret_nfa);
  emit(b, (trilha_nfa_code){.op = TRILHA_NFA_MATCH});
  if (b->no_memory) return trilha_error_no_memory(err);
  if (!regular || b->too_large) return TRILHA_OK;
  ret_nfa->code = b->code;
  ret_nfa->count = b->count;
  return TRILHA_OK;
}
