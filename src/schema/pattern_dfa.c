/* schema/pattern_dfa: the deterministic automaton, built whole at compile time and then only read. */
#include <stdlib.h>

#include "schema/pattern_internal.h"

/* What stands before a position; it matters only while an assertion waits. */
typedef enum before { BEFORE_START, BEFORE_OTHER, BEFORE_WORD } before;
typedef enum behind { BEHIND_OTHER, BEHIND_WORD, BEHIND_END } behind;

enum { DEAD = 0, MATCHED = 1, FIRST_STATE = 2 };

/* A set of places in the code, sorted: where a state stands before (`seed`) or after (leaves) following the empty
 * moves. */
typedef struct place_set {
  const uint16_t *places;
  uint32_t count;
  before prior;
  uint16_t state;
} place_set;

typedef struct set_table {
  place_set *slots;       /* free where `places` is NULL */
  size_t capacity, count; /* capacity is a power of two, at most half filled */
} set_table;

typedef struct dfa_builder {
  const trilha_nfa *nfa;
  trilha_arena *arena;
  trilha_error *err;
  uint8_t class_of[256];
  uint8_t sample[256]; /* a byte of each class */
  size_t class_count;
  set_table seeds, leaves;
  place_set *states; /* leaves of each state */
  uint16_t *table;   /* states × classes */
  bool *is_final;    /* the subject may end here */
  size_t state_count, state_capacity;
  uint32_t *mark; /* round in which a place was last seen */
  uint32_t round;
  uint64_t *bits; /* one a place, all clear between calls: sorts places by putting them in and taking them out */
  uint16_t *stack, *found; /* nfa->count each */
  size_t found_count;
  uint16_t *targets; /* of one state's moves, class by class */
  size_t target_capacity;
  bool found_match, found_assertion;
  size_t work, work_max;
  bool gave_up, no_memory;
} dfa_builder;

static bool is_word(unsigned byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || byte == '_' || (byte >= 'a' && byte <= 'z');
}

static bool stopped(const dfa_builder *b) {
  return b->gave_up || b->no_memory;
}

static void spend(dfa_builder *b, size_t steps) {
  b->work += steps;
  if (b->work > b->work_max) b->gave_up = true;
}

static void *take_array(dfa_builder *b, size_t count, size_t size) {
  void *array = trilha_arena_array(b->arena, count, size);
  if (array == NULL) b->no_memory = true;
  return array;
}

/* --- byte classes --------------------------------------------------------------------------------- */

static void find_classes(dfa_builder *b) {
  bool begins[257] = {true};
  for (size_t i = 0; i < b->nfa->count; i++) {
    const trilha_nfa_code *code = &b->nfa->code[i];
    if (code->op != TRILHA_NFA_BYTES || code->low > code->high) continue;
    begins[code->low] = begins[code->high + 1U] = true;
  }
  for (unsigned byte = 1; b->nfa->has_assertion && byte < 256; byte++)
    if (is_word(byte) != is_word(byte - 1)) begins[byte] = true;
  for (unsigned byte = 0; byte < 256; byte++) {
    if (begins[byte]) b->sample[b->class_count++] = (uint8_t)byte;
    b->class_of[byte] = (uint8_t)(b->class_count - 1);
  }
}

/* --- sets of places ------------------------------------------------------------------------------- */

static size_t hash_places(const uint16_t *places, size_t count, before prior) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325) ^ (uint64_t)prior;
  for (size_t i = 0; i < count; i++) hash = (hash ^ places[i]) * UINT64_C(0x100000001B3);
  return (size_t)(hash ^ hash >> 29);
}

/* The slot of the set, or the free one where it belongs. */
static place_set *find_slot(const set_table *t, const uint16_t *places, size_t count, before prior) {
  size_t i = hash_places(places, count, prior) & (t->capacity - 1);
  while (t->slots[i].places != NULL) {
    const place_set *s = &t->slots[i];
    if (s->count == count && s->prior == prior && memcmp(s->places, places, count * sizeof *places) == 0) break;
    i = (i + 1) & (t->capacity - 1);
  }
  return &t->slots[i];
}

/* Room for one more; slots found before move. */
static bool grow_table(dfa_builder *b, set_table *t) {
  if ((t->count + 1) * 2 <= t->capacity) return true;
  set_table larger = {.capacity = t->capacity == 0 ? 32 : t->capacity * 2, .count = t->count};
  larger.slots = take_array(b, larger.capacity, sizeof *larger.slots);
  if (larger.slots == NULL) return false;
  for (size_t i = 0; i < t->capacity; i++) {
    const place_set *s = &t->slots[i];
    if (s->places != NULL) *find_slot(&larger, s->places, s->count, s->prior) = *s;
  }
  *t = larger;
  return true;
}

static bool fill_slot(dfa_builder *b, set_table *t, place_set *slot, const uint16_t *places, size_t count,
                      before prior) {
  uint16_t *copy = take_array(b, count + 1, sizeof *copy);
  if (copy == NULL) return false;
  memcpy(copy, places, count * sizeof *copy);
  *slot = (place_set){.places = copy, .count = (uint32_t)count, .prior = prior};
  t->count++;
  return true;
}

static void put_bit(dfa_builder *b, size_t place) {
  b->bits[place / 64] |= UINT64_C(1) << place % 64;
}

/* The places put in, in order; they are out again then. */
static size_t take_bits(dfa_builder *b, uint16_t *places) {
  size_t count = 0;
  for (size_t word = 0; word <= b->nfa->count / 64; word++) {
    for (uint64_t left = b->bits[word]; left != 0; left &= left - 1)
      places[count++] = (uint16_t)(word * 64 + (size_t)__builtin_ctzll(left));
    b->bits[word] = 0;
  }
  spend(b, b->nfa->count / 64);
  return count;
}

/* --- following empty moves -------------------------------------------------------------------------- */

static bool holds(trilha_item_kind assertion, before prior, behind next) {
  bool edge = (prior == BEFORE_WORD) != (next == BEHIND_WORD);
  switch (assertion) {
    case TRILHA_ITEM_START:
      return prior == BEFORE_START;
    case TRILHA_ITEM_END:
      return next == BEHIND_END;
    case TRILHA_ITEM_WORD:
      return edge;
    case TRILHA_ITEM_NOT_WORD:
    default:
      return !edge;
  }
}

static void push(dfa_builder *b, size_t *depth, size_t place) {
  if (b->mark[place] == b->round) return;
  b->mark[place] = b->round;
  b->stack[(*depth)++] = (uint16_t)place;
}

/* Leaves of `places` into b->found, sorted. With `next` NULL assertions stay as leaves, else they are decided. */
static void follow(dfa_builder *b, const uint16_t *places, size_t count, before prior, const behind *next) {
  size_t depth = 0;
  b->round++;
  b->found_count = 0;
  b->found_match = b->found_assertion = false;
  for (size_t i = 0; i < count; i++) push(b, &depth, places[i]);
  size_t steps = count;
  for (; depth > 0; steps++) {
    size_t place = b->stack[--depth];
    const trilha_nfa_code *code = &b->nfa->code[place];
    size_t out = (size_t)((int64_t)place + code->out);
    if (code->op == TRILHA_NFA_JUMP || code->op == TRILHA_NFA_SPLIT) push(b, &depth, out);
    if (code->op == TRILHA_NFA_SPLIT) push(b, &depth, (size_t)((int64_t)place + code->other));
    if (code->op == TRILHA_NFA_MATCH) b->found_match = true;
    bool waits = code->op == TRILHA_NFA_ASSERT && next == NULL;
    if (code->op == TRILHA_NFA_ASSERT && !waits && holds((trilha_item_kind)code->assertion, prior, *next))
      push(b, &depth, out);
    if (code->op == TRILHA_NFA_BYTES || waits) put_bit(b, place);
    b->found_assertion |= waits;
  }
  b->found_count = take_bits(b, b->found);
  spend(b, steps + b->found_count);
}

/* --- states ----------------------------------------------------------------------------------------- */

static void *moved(dfa_builder *b, const void *from, size_t count, size_t capacity, size_t size) {
  void *to = take_array(b, capacity, size);
  if (to != NULL && count > 0) memcpy(to, from, count * size);
  return to;
}

static bool grow_states(dfa_builder *b) {
  if (b->state_count < b->state_capacity) return true;
  size_t capacity = b->state_capacity == 0 ? 16 : b->state_capacity * 2;
  place_set *states = moved(b, b->states, b->state_count, capacity, sizeof *states);
  uint16_t *table = moved(b, b->table, b->state_count * b->class_count, capacity * b->class_count, sizeof *table);
  bool *is_final = moved(b, b->is_final, b->state_count, capacity, sizeof *is_final);
  if (b->no_memory) return false;
  b->states = states;
  b->table = table;
  b->is_final = is_final;
  b->state_capacity = capacity;
  return true;
}

static uint16_t new_state(dfa_builder *b, const place_set *leaves) {
  if (b->state_count == TRILHA_PATTERN_DFA_STATES_MAX) b->gave_up = true;
  if (stopped(b) || !grow_states(b)) return DEAD;
  b->states[b->state_count] = *leaves;
  return (uint16_t)b->state_count++;
}

/* The state of the leaves in b->found. */
static uint16_t state_of_found(dfa_builder *b, before prior) {
  if (b->found_match) return MATCHED;
  if (b->found_count == 0) return DEAD;
  if (!b->found_assertion) prior = BEFORE_OTHER;
  if (!grow_table(b, &b->leaves)) return DEAD;
  place_set *slot = find_slot(&b->leaves, b->found, b->found_count, prior);
  if (slot->places != NULL) return slot->state;
  if (!fill_slot(b, &b->leaves, slot, b->found, b->found_count, prior)) return DEAD;
  return slot->state = new_state(b, slot);
}

/* The state of a sorted set of seeds. Following the empty moves is the dear part and is done once for each set. */
static uint16_t state_of_seeds(dfa_builder *b, const uint16_t *seeds, size_t count, before prior) {
  if (!grow_table(b, &b->seeds)) return DEAD;
  place_set *slot = find_slot(&b->seeds, seeds, count, prior);
  if (slot->places != NULL) return slot->state;
  if (!fill_slot(b, &b->seeds, slot, seeds, count, prior)) return DEAD;
  follow(b, slot->places, count, prior, NULL);
  return slot->state = state_of_found(b, prior);
}

/* --- moves ------------------------------------------------------------------------------------------ */

static uint16_t landing(const dfa_builder *b, size_t place) {
  size_t target = (size_t)((int64_t)place + b->nfa->code[place].out);
  for (size_t hops = 0; b->nfa->code[target].op == TRILHA_NFA_JUMP && hops < b->nfa->count; hops++)
    target = (size_t)((int64_t)target + b->nfa->code[target].out);
  return (uint16_t)target;
}

/* Sorts the leaves' targets by byte class: those of class c are b->targets[starts[c]] up to starts[c + 1]. */
static bool collect_targets(dfa_builder *b, const uint16_t *leaves, size_t count, size_t starts[static 257]) {
  size_t next[256], total = 0;
  memset(starts, 0, 257 * sizeof starts[0]);
  for (size_t i = 0; i < count; i++) {
    const trilha_nfa_code *code = &b->nfa->code[leaves[i]];
    if (code->op != TRILHA_NFA_BYTES || code->low > code->high) continue;
    for (size_t c = b->class_of[code->low]; c <= b->class_of[code->high]; c++) starts[c + 1]++;
  }
  for (size_t c = 0; c < b->class_count; c++) {
    next[c] = starts[c];
    total = starts[c + 1] += starts[c];
  }
  spend(b, count + total);
  if (stopped(b)) return false;
  if (total > b->target_capacity) {
    b->target_capacity = total * 2;
    b->targets = take_array(b, b->target_capacity, sizeof *b->targets);
    if (b->targets == NULL) return false;
  }
  for (size_t i = 0; i < count; i++) {
    const trilha_nfa_code *code = &b->nfa->code[leaves[i]];
    if (code->op != TRILHA_NFA_BYTES || code->low > code->high) continue;
    uint16_t target = landing(b, leaves[i]);
    for (size_t c = b->class_of[code->low]; c <= b->class_of[code->high]; c++) b->targets[next[c]++] = target;
  }
  return true;
}

#define FEW_PLACES 16 /* up to here inserting is quicker than the bits */

static size_t sort_unique(dfa_builder *b, uint16_t *places, size_t count) {
  if (count > FEW_PLACES) {
    for (size_t i = 0; i < count; i++) put_bit(b, places[i]);
    return take_bits(b, places);
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    uint16_t place = places[i];
    size_t at = kept;
    while (at > 0 && places[at - 1] > place) at--;
    if (at > 0 && places[at - 1] == place) continue;
    memmove(places + at + 1, places + at, (kept - at) * sizeof *places);
    places[at] = place;
    kept++;
  }
  return kept;
}

typedef enum which { ALL_BYTES, WORD_BYTES, OTHER_BYTES } which;

/* Fills the row of `state` for the bytes that `bytes` says, from its leaves with every assertion decided. */
static void fill_row(dfa_builder *b, size_t state, const uint16_t *leaves, size_t count, bool matched, which bytes) {
  size_t starts[257];
  if (!matched && !collect_targets(b, leaves, count, starts)) return;
  for (size_t c = 0; c < b->class_count && !stopped(b); c++) {
    bool word = is_word(b->sample[c]);
    if ((bytes == WORD_BYTES && !word) || (bytes == OTHER_BYTES && word)) continue;
    uint16_t target = matched ? MATCHED : DEAD;
    if (!matched && starts[c + 1] > starts[c]) {
      uint16_t *seeds = b->targets + starts[c];
      size_t seed_count = sort_unique(b, seeds, starts[c + 1] - starts[c]);
      target = state_of_seeds(b, seeds, seed_count, b->nfa->has_assertion && word ? BEFORE_WORD : BEFORE_OTHER);
    }
    b->table[state * b->class_count + c] = target;
  }
}

static bool waits_for_next(const dfa_builder *b, const place_set *leaves) {
  for (size_t i = 0; i < leaves->count; i++)
    if (b->nfa->code[leaves->places[i]].op == TRILHA_NFA_ASSERT) return true;
  return false;
}

static void process_state(dfa_builder *b, size_t state) {
  const place_set leaves = b->states[state];
  if (!waits_for_next(b, &leaves)) {
    fill_row(b, state, leaves.places, leaves.count, false, ALL_BYTES);
    return;
  }
  static const behind nexts[] = {BEHIND_WORD, BEHIND_OTHER};
  for (size_t i = 0; i < 2 && !stopped(b); i++) {
    follow(b, leaves.places, leaves.count, leaves.prior, &nexts[i]);
    uint16_t *decided = take_array(b, b->found_count + 1, sizeof *decided);
    if (decided == NULL) return;
    size_t count = b->found_count;
    memcpy(decided, b->found, count * sizeof *decided);
    fill_row(b, state, decided, count, b->found_match, nexts[i] == BEHIND_WORD ? WORD_BYTES : OTHER_BYTES);
  }
  const behind end = BEHIND_END;
  follow(b, leaves.places, leaves.count, leaves.prior, &end);
  b->is_final[state] = b->found_match;
}

/* --- the finished table ------------------------------------------------------------------------------ */

#define DEAD_PASSES                                                                                 \
  4 /* states are numbered outwards from the start, so that one pass from the last finds nearly all \
     */

/* A state from which no match can be reached is as good as dead, and ends the scan early. */
static void bury_dead(dfa_builder *b) {
  bool *alive = take_array(b, b->state_count, sizeof *alive);
  if (alive == NULL) return;
  alive[MATCHED] = true;
  bool changed = true;
  for (size_t pass = 0; changed && pass < DEAD_PASSES; pass++) {
    changed = false;
    for (size_t s = b->state_count; s > FIRST_STATE; s--) {
      if (alive[s - 1]) continue;
      bool lives = b->is_final[s - 1];
      for (size_t c = 0; !lives && c < b->class_count; c++) lives = alive[b->table[(s - 1) * b->class_count + c]];
      alive[s - 1] = lives;
      changed |= lives;
    }
  }
  if (changed) return; /* not sure yet: then none is buried */
  for (size_t i = 0; i < b->state_count * b->class_count; i++)
    if (!alive[b->table[i]]) b->table[i] = DEAD;
}

static bool same_column(const dfa_builder *b, size_t x, size_t y) {
  for (size_t s = FIRST_STATE; s < b->state_count; s++)
    if (b->table[s * b->class_count + x] != b->table[s * b->class_count + y]) return false;
  return true;
}

/* Classes of bytes that every state treats alike become one. Returns how many are left; columns[] are their first ones.
 */
static size_t merge_columns(dfa_builder *b, size_t columns[static 256]) {
  uint8_t merged[256];
  size_t count = 0;
  for (size_t c = 0; c < b->class_count; c++) {
    size_t i = 0;
    while (i < count && !same_column(b, columns[i], c)) i++;
    if (i == count) columns[count++] = c;
    merged[c] = (uint8_t)i;
  }
  for (size_t byte = 0; byte < 256; byte++) b->class_of[byte] = merged[b->class_of[byte]];
  return count;
}

static trilha_status finish(dfa_builder *b, uint16_t start, trilha_dfa *ret_dfa) {
  size_t columns[256];
  bury_dead(b);
  size_t count = merge_columns(b, columns), stride = count + 1, cells = b->state_count * stride;
  if (b->no_memory) return trilha_error_no_memory(b->err);
  if (cells > TRILHA_PATTERN_DFA_CELLS_MAX) return TRILHA_OK;
  uint16_t *table = calloc(cells, sizeof *table);
  if (table == NULL) return trilha_error_no_memory(b->err);
  for (size_t s = FIRST_STATE; s < b->state_count; s++) {
    for (size_t c = 0; c < count; c++)
      table[s * stride + c] = (uint16_t)(b->table[s * b->class_count + columns[c]] * stride);
    table[s * stride + count] = b->is_final[s];
  }
  table[MATCHED * stride + count] = 1;
  *ret_dfa =
      (trilha_dfa){.table = table, .cells = cells, .start = (uint16_t)(start * stride), .stride = (uint16_t)stride};
  memcpy(ret_dfa->classes, b->class_of, sizeof ret_dfa->classes);
  return TRILHA_OK;
}

static bool prepare(dfa_builder *b) {
  find_classes(b);
  b->mark = take_array(b, b->nfa->count, sizeof *b->mark);
  b->bits = take_array(b, b->nfa->count / 64 + 1, sizeof *b->bits);
  b->stack = take_array(b, b->nfa->count, sizeof *b->stack);
  b->found = take_array(b, b->nfa->count, sizeof *b->found);
  if (b->no_memory || !grow_states(b)) return false;
  b->state_count = FIRST_STATE;
  return true;
}

trilha_status trilha_dfa_build(const trilha_nfa *nfa, size_t *work, trilha_arena *arena, trilha_dfa *ret_dfa,
                               trilha_error *err) {
  *ret_dfa = (trilha_dfa){0};
  dfa_builder *b = trilha_arena_zalloc(arena, sizeof *b);
  if (b == NULL) return trilha_error_no_memory(err);
  b->nfa = nfa;
  b->arena = arena;
  b->err = err;
  b->work_max = *work < TRILHA_PATTERN_DFA_WORK_MAX ? *work : TRILHA_PATTERN_DFA_WORK_MAX;
  spend(b, nfa->count);
  if (!prepare(b)) return trilha_error_no_memory(err);
  const uint16_t first = 0;
  uint16_t start = state_of_seeds(b, &first, 1, BEFORE_START);
  for (size_t s = FIRST_STATE; s < b->state_count && !stopped(b); s++) process_state(b, s);
  *work -= b->work < *work ? b->work : *work;
  if (b->no_memory) return trilha_error_no_memory(err);
  return b->gave_up ? TRILHA_OK : finish(b, start, ret_dfa);
}

void trilha_dfa_done(trilha_dfa *dfa) {
  free(dfa->table);
  *dfa = (trilha_dfa){0};
}

bool trilha_dfa_match(const trilha_dfa *dfa, trilha_text subject) {
  const unsigned char *at = (const unsigned char *)subject.data, *end = at + subject.size;
  const uint16_t *table = dfa->table;
  size_t stride = dfa->stride, state = dfa->start;
  while (at < end && state > stride) state = table[state + dfa->classes[*at++]];
  return table[state + stride - 1] != 0;
}
