/* Leaf checks that are rare or large. */
#include <stdlib.h>

#include "json/number.h"
#include "schema/decimal.h"
#include "schema/run.h"

enum { TRILHA_SCHEMA_MULTIPLE_STEPS_MAX = 1000000, UNIQUE_PAIRS_MAX = 8 };

bool trilha_schema_is_integer(const trilha_json_value *value) {
  return value->type == TRILHA_JSON_NUMBER &&
         ((value->flags & TRILHA_JSON_INTEGER) != 0 || trilha_number_is_integer(trilha_json_text(value)));
}

schema_result trilha_schema_check_number_exactly(const schema_number *number, const trilha_json_value *value) {
  trilha_text text = trilha_json_text(value);
  for (uint32_t i = 0; i < number->count; i++) {
    const schema_bound *bound = &number->bounds[i];
    if (bound->kind == BOUND_MULTIPLE) {
      int multiple = trilha_number_is_multiple(text, bound->at.text, TRILHA_SCHEMA_MULTIPLE_STEPS_MAX);
      if (multiple < 0) return RESULT_UNDECIDED;
      if (multiple == 0) return RESULT_FAIL;
      continue;
    }
    int order = trilha_number_compare(text, bound->at.text);
    bool fails = (bound->kind == BOUND_MIN && order < 0) || (bound->kind == BOUND_ABOVE && order <= 0) ||
                 (bound->kind == BOUND_MAX && order > 0) || (bound->kind == BOUND_BELOW && order >= 0);
    if (fails) return RESULT_FAIL;
  }
  return RESULT_PASS;
}

static int64_t weight_of(const trilha_json_value *value) {
  return value->type >= TRILHA_JSON_ARRAY ? (int64_t)value->u.extent : 1 + (int64_t)(value->size / 16);
}

schema_result trilha_schema_check_enum_others(schema_run *run, const schema_enum *values,
                                              const trilha_json_value *value) {
  if (values->slots == NULL) {
    for (uint32_t i = 0; i < values->other_count; i++) {
      if (values->others[i]->type != value->type) continue;
      run->steps -= weight_of(values->others[i]);
      if (run->steps < 0) return RESULT_UNDECIDED;
      if (trilha_json_equal(values->others[i], value)) return RESULT_PASS;
    }
    return RESULT_FAIL;
  }
  run->steps -= weight_of(value);
  uint32_t mask = values->slot_count - 1;
  for (uint32_t slot = (uint32_t)trilha_json_hash(value) & mask; values->slots[slot] != 0; slot = (slot + 1) & mask) {
    const trilha_json_value *other = values->others[values->slots[slot] - 1];
    run->steps -= weight_of(other);
    if (run->steps < 0) return RESULT_UNDECIDED;
    if (trilha_json_equal(other, value)) return RESULT_PASS;
  }
  return RESULT_FAIL;
}

/* --- uniqueItems ---------------------------------------------------------------------------------------------- */

static schema_result unique_by_pairs(schema_run *run, const trilha_json_value *array) {
  const trilha_json_value *left = array + 1;
  for (uint32_t i = 0; i + 1 < array->size; i++, left = trilha_json_next(left)) {
    const trilha_json_value *right = trilha_json_next(left);
    for (uint32_t k = i + 1; k < array->size; k++, right = trilha_json_next(right)) {
      if (left->type != right->type || (left->type == TRILHA_JSON_STRING && left->size != right->size)) continue;
      run->steps -= weight_of(left);
      if (run->steps < 0) return RESULT_UNDECIDED;
      if (trilha_json_equal(left, right)) return RESULT_FAIL;
    }
  }
  return RESULT_PASS;
}

static bool reserve_slots(trilha_schema_scratch *scratch, size_t count) {
  if (count <= scratch->slot_capacity) return true;
  uint32_t *slots = realloc(scratch->slots, count * sizeof(*slots));
  if (slots != NULL) scratch->slots = slots;
  const trilha_json_value **values = realloc(scratch->slot_values, count * sizeof(*values));
  if (values != NULL) scratch->slot_values = values;
  if (slots == NULL || values == NULL) return false;
  scratch->slot_capacity = count;
  return true;
}

/* Open addressing over the items' hashes; every comparison is paid for, so colliding items end in UNDECIDED. */
static schema_result unique_by_hash(schema_run *run, const trilha_json_value *array, size_t slots) {
  trilha_schema_scratch *scratch = run->scratch;
  memset(scratch->slot_values, 0, slots * sizeof(*scratch->slot_values));
  const trilha_json_value *item = array + 1;
  for (uint32_t i = 0; i < array->size; i++, item = trilha_json_next(item)) {
    uint64_t hash = trilha_json_hash(item);
    size_t slot = (size_t)(hash ^ hash >> 32) & (slots - 1);
    run->steps -= weight_of(item);
    for (; scratch->slot_values[slot] != NULL; slot = (slot + 1) & (slots - 1)) {
      if (--run->steps < 0) return RESULT_UNDECIDED;
      if (scratch->slots[slot] != (uint32_t)(hash >> 32)) continue;
      run->steps -= weight_of(item);
      if (trilha_json_equal(scratch->slot_values[slot], item)) return RESULT_FAIL;
    }
    scratch->slots[slot] = (uint32_t)(hash >> 32);
    scratch->slot_values[slot] = item;
  }
  return run->steps < 0 ? RESULT_UNDECIDED : RESULT_PASS;
}

schema_result trilha_schema_check_unique(schema_run *run, const trilha_json_value *value) {
  if (value->size <= UNIQUE_PAIRS_MAX) return unique_by_pairs(run, value);
  size_t slots = 32;
  while (slots < (size_t)value->size * 2) slots *= 2;
  if (!reserve_slots(run->scratch, slots)) {
    run->no_memory = true;
    return RESULT_UNDECIDED;
  }
  return unique_by_hash(run, value, slots);
}

/* --- required names ------------------------------------------------------------------------------------------- */

bool trilha_schema_mark_present(schema_run *run, const trilha_json_value *object, bool set) {
  trilha_schema_scratch *scratch = run->scratch;
  size_t words = run->schema->key_count / 64 + 1;
  if (words > scratch->present_words) {
    uint64_t *present = realloc(scratch->present, words * sizeof(*present));
    if (present == NULL) {
      run->no_memory = true;
      return false;
    }
    memset(present + scratch->present_words, 0, (words - scratch->present_words) * sizeof(*present));
    scratch->present = present;
    scratch->present_words = words;
  }
  const trilha_json_value *key = object + 1;
  for (uint32_t i = 0; i < object->size; i++, key = trilha_json_next(key + 1)) {
    uint64_t bit = UINT64_C(1) << (key->key % 64);
    if (set)
      scratch->present[key->key / 64] |= bit;
    else
      scratch->present[key->key / 64] = 0;
  }
  run->steps -= object->size;
  return true;
}

static bool has_all(const schema_run *run, const schema_names *names) {
  for (uint32_t i = 0; i < names->count; i++) {
    if (!trilha_schema_is_present(run, names->keys[i])) return false;
  }
  return true;
}

schema_result trilha_schema_check_required(schema_run *run, const schema_names *names, const trilha_json_value *value) {
  if (!trilha_schema_mark_present(run, value, true)) return RESULT_UNDECIDED;
  bool all = has_all(run, names);
  run->steps -= names->count;
  (void)trilha_schema_mark_present(run, value, false);
  return all ? RESULT_PASS : RESULT_FAIL;
}

schema_result trilha_schema_check_dependent(schema_run *run, const schema_dependent *dependent,
                                            const trilha_json_value *value) {
  if (!trilha_schema_mark_present(run, value, true)) return RESULT_UNDECIDED;
  bool all = true;
  for (uint32_t i = 0; i < dependent->count && all; i++) {
    if (!trilha_schema_is_present(run, dependent->keys[i])) continue;
    run->steps -= dependent->needs[i].count;
    all = has_all(run, &dependent->needs[i]);
  }
  (void)trilha_schema_mark_present(run, value, false);
  return all ? RESULT_PASS : RESULT_FAIL;
}
