/* Keywords that look at one value: types, enums, strings, numbers, sizes, required names. */
#include <stdlib.h>

#include "schema/compile.h"
#include "schema/decimal.h"

enum { ENUM_SLOTS_FROM = 9 }; /* numbers, arrays and objects are hashed from this many on */

static uint8_t type_bit(trilha_text name) {
  static const struct {
    const char *name;
    uint8_t bit;
  } types[] = {{"null", TYPE_NULL},       {"boolean", TYPE_BOOLEAN}, {"number", TYPE_NUMBER}, {"string", TYPE_STRING},
               {"integer", TYPE_INTEGER}, {"array", TYPE_ARRAY},     {"object", TYPE_OBJECT}};
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
    if (trilha_text_is(name, types[i].name)) return types[i].bit;
  }
  return 0;
}

static uint8_t one_type(schema_compiler *c, const trilha_json_value *name) {
  if (!trilha_schema_is_type(c, name, TRILHA_JSON_STRING)) return 0;
  uint8_t bit = type_bit(trilha_json_text(name));
  if (bit == 0) trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_INVALID", name, "no such type");
  return bit;
}

void trilha_schema_emit_types(schema_compiler *c, schema_builder *b) {
  const trilha_json_value *type = b->kw[KW_TYPE];
  if (type == NULL) return;
  uint8_t types = 0;
  if (type->type == TRILHA_JSON_ARRAY) {
    const trilha_json_value *item = type + 1;
    for (uint32_t i = 0; i < type->size; i++, item = trilha_json_next(item)) types |= one_type(c, item);
  } else {
    types = one_type(c, type);
  }
  if ((types & TYPE_NUMBER) != 0) types &= (uint8_t)~TYPE_INTEGER;
  if (c->plain) {
    trilha_schema_emit(c, b, OP_TYPE, KW_TYPE)->types = types;
    return;
  }
  b->types = types;
  b->domain = (types & TYPE_INTEGER) != 0 ? (uint8_t)(types | TYPE_NUMBER) : types;
}

/* --- const, enum ---------------------------------------------------------------------------------------------- */

static int compare_strings(const void *left, const void *right) {
  const schema_enum_string *a = left, *b = right;
  if (a->size != b->size) return a->size < b->size ? -1 : 1;
  if (a->head != b->head) return a->head < b->head ? -1 : 1;
  return memcmp(a->text, b->text, a->size);
}

static void add_enum_value(schema_enum *values, schema_enum_string *strings, const trilha_json_value **others,
                           const trilha_json_value *value) {
  values->types |= (uint8_t)(1U << value->type);
  if (value->type == TRILHA_JSON_STRING) {
    strings[values->string_count++] =
        (schema_enum_string){trilha_schema_head(value->u.text, value->size), value->u.text, value->size};
    values->size_mask |= UINT32_C(1) << (value->size < 31 ? value->size : 31);
  } else if (value->type >= TRILHA_JSON_NUMBER) {
    others[values->other_count++] = value;
  }
}

/* Numbers of few digits are also kept ready to compare. */
static void read_numbers(schema_compiler *c, schema_enum *values) {
  schema_decimal *numbers = trilha_schema_alloc(c, values->other_count, sizeof(*numbers));
  if (numbers == NULL) return;
  values->decimals = true;
  for (uint32_t i = 0; i < values->other_count; i++) {
    if (values->others[i]->type != TRILHA_JSON_NUMBER) continue;
    numbers[values->number_count++] = trilha_schema_decimal(trilha_json_text(values->others[i]));
    values->decimals = values->decimals && numbers[values->number_count - 1].small;
  }
  values->decimals = values->decimals && values->number_count < ENUM_SLOTS_FROM;
  values->numbers = numbers;
}

static void hash_others(schema_compiler *c, schema_enum *values) {
  if (values->other_count < ENUM_SLOTS_FROM) return;
  uint32_t count = 16;
  while (count < values->other_count * 2) count *= 2;
  uint32_t *slots = trilha_schema_alloc(c, count, sizeof(*slots));
  if (slots == NULL) return;
  for (uint32_t i = 0; i < values->other_count; i++) {
    uint32_t slot = (uint32_t)trilha_json_hash(values->others[i]) & (count - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (count - 1);
    slots[slot] = i + 1;
  }
  values->slots = slots;
  values->slot_count = count;
}

void trilha_schema_emit_enum(schema_compiler *c, schema_builder *b, schema_keyword keyword) {
  const trilha_json_value *value = b->kw[keyword];
  if (value == NULL) return;
  bool list = keyword == KW_ENUM;
  if (list && !trilha_schema_is_type(c, value, TRILHA_JSON_ARRAY)) return;
  size_t count = list ? value->size : 1;
  schema_enum *values = trilha_schema_alloc(c, 1, sizeof(*values));
  schema_enum_string *strings = trilha_schema_alloc(c, count, sizeof(*strings));
  const trilha_json_value **others = trilha_schema_alloc(c, count, sizeof(*others));
  if (values == NULL || strings == NULL || others == NULL) return;
  const trilha_json_value *item = list ? value + 1 : value;
  for (size_t i = 0; i < count; i++, item = trilha_json_next(item)) add_enum_value(values, strings, others, item);
  qsort(strings, values->string_count, sizeof(*strings), compare_strings);
  values->strings = strings;
  values->others = others;
  read_numbers(c, values);
  hash_others(c, values);
  trilha_schema_emit(c, b, OP_ENUM, keyword)->u.values = values;
}

/* --- strings -------------------------------------------------------------------------------------------------- */

static void add_format(schema_compiler *c, const trilha_json_value *value, schema_string *string) {
  if (!trilha_schema_is_type(c, value, TRILHA_JSON_STRING)) return;
  string->format = trilha_format_find(trilha_json_text(value));
  string->format_name = trilha_json_text(value);
  if (string->format != NULL) string->has |= STRING_HAS_FORMAT;
}

static void add_string_keyword(schema_compiler *c, const trilha_json_value *value, schema_keyword keyword,
                               schema_string *string) {
  if (keyword == KW_FORMAT) {
    add_format(c, value, string);
  } else if (keyword == KW_PATTERN) {
    if (!trilha_schema_is_type(c, value, TRILHA_JSON_STRING)) return;
    string->pattern = trilha_schema_pattern(c, value);
    string->has |= STRING_HAS_PATTERN;
  } else {
    *(keyword == KW_MIN_LENGTH ? &string->min : &string->max) = trilha_schema_count(c, value);
    string->has |= STRING_HAS_LENGTH;
  }
}

void trilha_schema_emit_string(schema_compiler *c, schema_builder *b, const schema_keyword *keywords, size_t count) {
  schema_string *string = NULL;
  schema_keyword first = KW_NONE;
  for (size_t i = 0; i < count; i++) {
    if (b->kw[keywords[i]] == NULL) continue;
    if (string == NULL) {
      string = trilha_schema_alloc(c, 1, sizeof(*string));
      if (string == NULL) return;
      string->max = UINT32_MAX;
      first = keywords[i];
    }
    add_string_keyword(c, b->kw[keywords[i]], keywords[i], string);
  }
  if (string != NULL && string->has != 0) trilha_schema_emit(c, b, OP_STRING, first)->u.string = string;
}

/* --- numbers -------------------------------------------------------------------------------------------------- */

schema_decimal trilha_schema_decimal(trilha_text text) {
  schema_decimal decimal = {.text = text};
  decimal.small = trilha_schema_decimal_read(text.data, text.size, &decimal.m, &decimal.scale);
  return decimal;
}

static schema_bound_kind bound_kind(schema_keyword keyword) {
  switch ((int)keyword) {
    case KW_MINIMUM:
      return BOUND_MIN;
    case KW_EXCLUSIVE_MINIMUM:
      return BOUND_ABOVE;
    case KW_MAXIMUM:
      return BOUND_MAX;
    case KW_EXCLUSIVE_MAXIMUM:
      return BOUND_BELOW;
    default:
      return BOUND_MULTIPLE;
  }
}

/* The form of integer bounds that takes two comparisons. */
static void find_range(schema_number *number) {
  number->ranged = true;
  number->scale_max = SCHEMA_DECIMAL_DIGITS_MAX;
  number->low_add = INT64_MIN;
  number->high_add = INT64_MAX;
  bool has_low = false, has_high = false;
  for (uint32_t i = 0; i < number->count; i++) {
    const schema_bound *bound = &number->bounds[i];
    bool lower = bound->kind == BOUND_MIN || bound->kind == BOUND_ABOVE;
    bool twice = lower ? has_low : has_high;
    if (!bound->at.small || bound->at.scale != 0 || bound->kind == BOUND_MULTIPLE || twice) number->ranged = false;
    if (!number->ranged) return;
    *(lower ? &has_low : &has_high) = true;
    *(lower ? &number->low : &number->high) = bound->at.m;
    *(lower ? &number->low_add : &number->high_add) = bound->kind == BOUND_ABOVE   ? 1
                                                      : bound->kind == BOUND_BELOW ? -1
                                                                                   : 0;
    int64_t size = bound->at.m < 0 ? -bound->at.m : bound->at.m;
    while (size > INT64_MAX / 2 / trilha_schema_power_of_ten(number->scale_max)) number->scale_max--;
  }
}

void trilha_schema_emit_number(schema_compiler *c, schema_builder *b, const schema_keyword *keywords, size_t count) {
  schema_number *number = NULL;
  schema_keyword first = KW_NONE;
  for (size_t i = 0; i < count; i++) {
    const trilha_json_value *value = b->kw[keywords[i]];
    if (value == NULL || !trilha_schema_is_type(c, value, TRILHA_JSON_NUMBER)) continue;
    if (keywords[i] == KW_MULTIPLE_OF && trilha_number_compare(trilha_json_text(value), TRILHA_TEXT("0")) <= 0) {
      trilha_schema_refuse(c, TRILHA_INVALID, "SCHEMA_INVALID", value, "must be above 0");
      return;
    }
    if (number == NULL) {
      number = trilha_schema_alloc(c, 1, sizeof(*number));
      if (number == NULL) return;
      first = keywords[i];
    }
    number->bounds[number->count++] =
        (schema_bound){trilha_schema_decimal(trilha_json_text(value)), bound_kind(keywords[i])};
  }
  if (number == NULL) return;
  find_range(number);
  trilha_schema_emit(c, b, OP_NUMBER, first)->u.number = number;
}

/* --- sizes, names --------------------------------------------------------------------------------------------- */

void trilha_schema_emit_size(schema_compiler *c, schema_builder *b, schema_op op, const schema_keyword *keywords,
                             size_t count) {
  schema_size *size = NULL;
  schema_keyword first = KW_NONE;
  for (size_t i = 0; i < count; i++) {
    if (b->kw[keywords[i]] == NULL) continue;
    if (size == NULL) {
      size = trilha_schema_alloc(c, 1, sizeof(*size));
      if (size == NULL) return;
      size->max = UINT32_MAX;
      first = keywords[i];
    }
    bool is_min = keywords[i] == KW_MIN_ITEMS || keywords[i] == KW_MIN_PROPERTIES;
    *(is_min ? &size->min : &size->max) = trilha_schema_count(c, b->kw[keywords[i]]);
  }
  if (size != NULL) trilha_schema_emit(c, b, op, first)->u.size = size;
}

void trilha_schema_emit_unique(schema_compiler *c, schema_builder *b) {
  const trilha_json_value *unique = b->kw[KW_UNIQUE_ITEMS];
  if (unique->type == TRILHA_JSON_TRUE)
    (void)trilha_schema_emit(c, b, OP_UNIQUE, KW_UNIQUE_ITEMS);
  else if (unique->type != TRILHA_JSON_FALSE)
    (void)trilha_schema_is_type(c, unique, TRILHA_JSON_TRUE);
}

static bool fill_names(schema_compiler *c, const trilha_json_value *list, schema_names *names) {
  if (!trilha_schema_is_type(c, list, TRILHA_JSON_ARRAY)) return false;
  uint16_t *keys = trilha_schema_alloc(c, list->size, sizeof(*keys));
  trilha_text *texts = trilha_schema_alloc(c, list->size, sizeof(*texts));
  if (keys == NULL || texts == NULL) return false;
  const trilha_json_value *item = list + 1;
  for (uint32_t i = 0; i < list->size; i++, item = trilha_json_next(item)) {
    if (!trilha_schema_is_type(c, item, TRILHA_JSON_STRING)) return false;
    texts[i] = trilha_json_text(item);
    keys[i] = trilha_schema_name(c, texts[i]);
  }
  *names = (schema_names){list->size, keys, texts};
  return true;
}

void trilha_schema_emit_required(schema_compiler *c, schema_builder *b) {
  schema_names *names = trilha_schema_alloc(c, 1, sizeof(*names));
  if (names == NULL || !fill_names(c, b->kw[KW_REQUIRED], names) || names->count == 0) return;
  trilha_schema_emit(c, b, OP_REQUIRED, KW_REQUIRED)->u.names = names;
}

/* Of `dependencies` only the members that are lists of names. */
void trilha_schema_emit_dependent_required(schema_compiler *c, schema_builder *b, schema_keyword keyword) {
  const trilha_json_value *map = b->kw[keyword];
  if (!trilha_schema_is_type(c, map, TRILHA_JSON_OBJECT)) return;
  schema_dependent *dependent = trilha_schema_alloc(c, 1, sizeof(*dependent));
  uint16_t *keys = trilha_schema_alloc(c, map->size, sizeof(*keys));
  trilha_text *names = trilha_schema_alloc(c, map->size, sizeof(*names));
  schema_names *needs = trilha_schema_alloc(c, map->size, sizeof(*needs));
  if (dependent == NULL || keys == NULL || names == NULL || needs == NULL) return;
  *dependent = (schema_dependent){.keys = keys, .names = names, .needs = needs};
  const trilha_json_value *key = map + 1;
  for (uint32_t i = 0; i < map->size; i++, key = trilha_json_next(key + 1)) {
    if (keyword == KW_DEPENDENCIES && key[1].type != TRILHA_JSON_ARRAY) continue;
    if (!fill_names(c, key + 1, &needs[dependent->count])) return;
    names[dependent->count] = trilha_json_text(key);
    keys[dependent->count++] = trilha_schema_name(c, trilha_json_text(key));
  }
  if (dependent->count > 0) trilha_schema_emit(c, b, OP_DEPENDENT_REQUIRED, keyword)->u.dependent = dependent;
}
