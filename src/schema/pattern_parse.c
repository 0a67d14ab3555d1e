/* schema/pattern_parse: the grammar of ECMA-262 patterns under the flag "u" (22.2.1), text to items. */
#include <stdio.h>
#include <stdlib.h>

#include "schema/pattern_internal.h"

typedef struct group_name {
  trilha_text name;
  uint32_t number; /* a group's number, or the item that refers to it */
} group_name;

typedef struct names {
  group_name *list;
  size_t count, capacity;
} names;

typedef struct parser {
  const char *text;
  size_t size, at;
  trilha_arena *arena;
  trilha_error *err;
  trilha_items items;
  size_t capacity;
  uint32_t open[TRILHA_PATTERN_DEPTH_MAX + 1]; /* items of the groups around `at` */
  size_t depth;
  bool quantifiable; /* the last item may take a quantifier */
  uint32_t reference_max;
  size_t *properties; /* that may still come */
  names groups, references;
} parser;

static trilha_status refuse(parser *p, const char *why) {
  return trilha_error_set(p->err, TRILHA_INVALID, "SCHEMA_PATTERN",
                          "the pattern is not a regular expression of ECMA-262 with the flag \"u\": %s, at byte %zu",
                          why, p->at);
}

static bool at_end(const parser *p) {
  return p->at >= p->size;
}
static char look(const parser *p, size_t ahead) {
  return p->size - p->at > ahead ? p->text[p->at + ahead] : '\0';
}
static bool looks_at(const parser *p, const char *what) {
  size_t size = strlen(what);
  return p->size - p->at >= size && memcmp(p->text + p->at, what, size) == 0;
}
static bool take(parser *p, const char *what) {
  if (!looks_at(p, what)) return false;
  p->at += strlen(what);
  return true;
}
static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Doubles the array when it is full. */
static void *grown(trilha_arena *arena, void *list, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return list;
  size_t more = *capacity == 0 ? 16 : *capacity * 2;
  void *moved = trilha_arena_array(arena, more, size);
  if (moved == NULL) return NULL;
  if (count > 0) memcpy(moved, list, count * size);
  *capacity = more;
  return moved;
}

static trilha_status add_item(parser *p, trilha_item item, uint32_t *ret_index) {
  trilha_item *list = grown(p->arena, p->items.list, p->items.count, &p->capacity, sizeof item);
  if (list == NULL) return trilha_error_no_memory(p->err);
  item.min = item.max = 1;
  p->items.list = list;
  list[p->items.count] = item;
  if (ret_index != NULL) *ret_index = (uint32_t)p->items.count;
  p->items.count++;
  return TRILHA_OK;
}

static trilha_status add_name(parser *p, names *to, trilha_text name, uint32_t number) {
  group_name *list = grown(p->arena, to->list, to->count, &to->capacity, sizeof *list);
  if (list == NULL) return trilha_error_no_memory(p->err);
  to->list = list;
  list[to->count++] = (group_name){name, number};
  return TRILHA_OK;
}

/* --- characters ----------------------------------------------------------------------------------- */

static bool read_hex(parser *p, size_t digits, uint32_t *ret_value) {
  uint32_t value = 0;
  for (size_t i = 0; i < digits; i++) {
    int digit = hex_value(look(p, i));
    if (digit < 0) return false;
    value = value * 16 + (uint32_t)digit;
  }
  p->at += digits;
  *ret_value = value;
  return true;
}

/* Behind "\u". A pair of surrogate escapes is one character. */
static trilha_status read_unicode_escape(parser *p, uint32_t *ret_code_point) {
  uint32_t value = 0;
  if (take(p, "{")) {
    size_t digits = 0;
    for (; hex_value(look(p, 0)) >= 0; p->at++, digits++) {
      value = value * 16 + (uint32_t)hex_value(look(p, 0));
      if (value > TRILHA_CODE_POINT_MAX) return refuse(p, "\\u{…} is above U+10FFFF");
    }
    if (digits == 0 || !take(p, "}")) return refuse(p, "\\u{…} is not hexadecimal");
    *ret_code_point = value;
    return TRILHA_OK;
  }
  if (!read_hex(p, 4, &value)) return refuse(p, "\\u needs four hexadecimal digits or {…}");
  if (value >= 0xD800 && value <= 0xDBFF && looks_at(p, "\\u")) {
    size_t back = p->at;
    uint32_t low = 0;
    p->at += 2;
    if (read_hex(p, 4, &low) && low >= 0xDC00 && low <= 0xDFFF)
      value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    else
      p->at = back;
  }
  *ret_code_point = value;
  return TRILHA_OK;
}

/* CharacterEscape, behind the backslash. Needless escapes of what is no letter or digit, which "u" forbids, are taken:
 * schemas written for validators without "u" are full of \- and \@. */
static trilha_status read_character_escape(parser *p, uint32_t *ret_code_point) {
  static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
  char c = look(p, 0);
  if (at_end(p)) return refuse(p, "a backslash stands at the end");
  const char *control = c == '\0' ? NULL : strchr(from, c);
  if (control != NULL) {
    p->at++;
    *ret_code_point = (uint32_t)to[control - from];
  } else if (c == 'c') {
    if (!is_letter(look(p, 1))) return refuse(p, "\\c needs a letter");
    *ret_code_point = (uint32_t)look(p, 1) % 32;
    p->at += 2;
  } else if (c == 'x') {
    p->at++;
    if (!read_hex(p, 2, ret_code_point)) return refuse(p, "\\x needs two hexadecimal digits");
  } else if (c == 'u') {
    p->at++;
    return read_unicode_escape(p, ret_code_point);
  } else if (c == '0') {
    if (is_digit(look(p, 1))) return refuse(p, "octal escapes are not allowed");
    p->at++;
    *ret_code_point = 0;
  } else if (is_letter(c) || is_digit(c)) {
    return refuse(p, "there is no such escape");
  } else {
    *ret_code_point = trilha_utf8_next(p->text, p->size, &p->at);
  }
  return TRILHA_OK;
}

/* --- classes -------------------------------------------------------------------------------------- */

static trilha_status add_property(parser *p, trilha_class *class, bool negated) {
  const char *from = p->text + p->at;
  const char *brace = look(p, 0) == '{' ? memchr(from, '}', p->size - p->at) : NULL;
  trilha_property property;
  if (brace == NULL) return refuse(p, "\\p needs a property in braces");
  if (!trilha_property_find((trilha_text){from + 1, (size_t)(brace - from - 1)}, &property))
    return refuse(p, "there is no such Unicode property");
  if (*p->properties == 0)
    return trilha_error_set(p->err, TRILHA_LIMIT, "SCHEMA_PATTERN_LIMIT",
                            "the schema's patterns name too many Unicode properties");
  --*p->properties;
  p->at += (size_t)(brace - from) + 1;
  if (!trilha_property_add(&property, negated, &class->all, p->arena)) {
    class->known = false;
    p->items.has_unknown = true;
  }
  if (property.everything || property.ascii) {
    (void)trilha_property_add(&property, negated, &class->base, p->arena);
    return TRILHA_OK;
  }
  trilha_class_property *listed = trilha_arena_zalloc(p->arena, sizeof *listed);
  char *engine = trilha_arena_copy(p->arena, trilha_text_of(property.assigned ? "Cn" : property.engine));
  if (listed == NULL || engine == NULL) return trilha_error_no_memory(p->err);
  *listed = (trilha_class_property){engine, negated != property.assigned, class->properties};
  class->properties = listed;
  return TRILHA_OK;
}

/* \d \D \w \W \s \S \p{…} \P{…}, behind the backslash. */
static trilha_status read_class_escape(parser *p, trilha_class *class, bool *ret_is_class) {
  char c = look(p, 0);
  *ret_is_class = c != '\0' && strchr("dDwWsSpP", c) != NULL;
  if (!*ret_is_class) return TRILHA_OK;
  p->at++;
  if (c == 'p' || c == 'P') return add_property(p, class, c == 'P');
  trilha_set_add_escape(&class->base, c, p->arena);
  trilha_set_add_escape(&class->all, c, p->arena);
  return TRILHA_OK;
}

static trilha_class *new_class(parser *p) {
  trilha_class *class = trilha_arena_zalloc(p->arena, sizeof *class);
  if (class != NULL) class->known = true;
  return class;
}

static trilha_status finish_class(parser *p, trilha_class *class) {
  trilha_set_finish(&class->base);
  trilha_set_finish(&class->all);
  if (class->inverted) trilha_set_invert(&class->all, p->arena);
  if (class->base.failed || class->all.failed) return trilha_error_no_memory(p->err);
  return TRILHA_OK;
}

static void add_to_class(parser *p, trilha_class *class, uint32_t low, uint32_t high) {
  trilha_set_add(&class->base, low, high, p->arena);
  trilha_set_add(&class->all, low, high, p->arena);
}

/* ClassAtom; what is a class by itself has been added. */
static trilha_status read_class_atom(parser *p, trilha_class *class, uint32_t *ret_code_point, bool *ret_is_class) {
  *ret_is_class = false;
  if (at_end(p)) return refuse(p, "a class is not closed");
  if (!take(p, "\\")) {
    *ret_code_point = trilha_utf8_next(p->text, p->size, &p->at);
    return TRILHA_OK;
  }
  if (take(p, "b")) {
    *ret_code_point = '\b';
    return TRILHA_OK;
  }
  trilha_status status = read_class_escape(p, class, ret_is_class);
  if (status != TRILHA_OK || *ret_is_class) return status;
  return read_character_escape(p, ret_code_point);
}

static trilha_status read_class_range(parser *p, trilha_class *class) {
  uint32_t low = 0, high = 0;
  bool low_is_class = false, high_is_class = false;
  trilha_status status = read_class_atom(p, class, &low, &low_is_class);
  if (status != TRILHA_OK) return status;
  if (look(p, 0) != '-' || look(p, 1) == ']' || p->size - p->at < 2) {
    if (!low_is_class) add_to_class(p, class, low, low);
    return TRILHA_OK;
  }
  p->at++;
  status = read_class_atom(p, class, &high, &high_is_class);
  if (status != TRILHA_OK) return status;
  if (low_is_class || high_is_class) return refuse(p, "a class escape cannot be the end of a range");
  if (low > high) return refuse(p, "a range runs backwards");
  add_to_class(p, class, low, high);
  return TRILHA_OK;
}

/* Behind "[". */
static trilha_status read_class(parser *p, trilha_class *class) {
  class->inverted = take(p, "^");
  while (!take(p, "]")) {
    trilha_status status = read_class_range(p, class);
    if (status != TRILHA_OK) return status;
  }
  return finish_class(p, class);
}

static trilha_status add_class_item(parser *p, trilha_class *class) {
  p->quantifiable = true;
  return add_item(p, (trilha_item){.kind = TRILHA_ITEM_SET, .members = class}, NULL);
}

/* --- groups --------------------------------------------------------------------------------------- */

/* Behind "<"; takes the ">" too. */
static trilha_status read_group_name(parser *p, trilha_text *ret_name) {
  char *name = trilha_arena_alloc(p->arena, (p->size - p->at) * 2 + 8);
  size_t size = 0;
  if (name == NULL) return trilha_error_no_memory(p->err);
  while (!take(p, ">")) {
    uint32_t code_point = 0;
    if (at_end(p)) return refuse(p, "a group name is not closed");
    if (take(p, "\\")) {
      trilha_status status =
          take(p, "u") ? read_unicode_escape(p, &code_point) : refuse(p, "a group name is no identifier");
      if (status != TRILHA_OK) return status;
    } else {
      code_point = trilha_utf8_next(p->text, p->size, &p->at);
    }
    if (!trilha_property_is_identifier(code_point, size == 0)) return refuse(p, "a group name is no identifier");
    size += trilha_utf8_put(name + size, code_point);
  }
  if (size == 0) return refuse(p, "a group name is empty");
  *ret_name = (trilha_text){name, size};
  return TRILHA_OK;
}

static trilha_status read_group_kind(parser *p, trilha_item *item) {
  static const struct {
    const char *text;
    trilha_group group;
  } kinds[] = {{"?:", TRILHA_GROUP_PLAIN},
               {"?=", TRILHA_GROUP_AHEAD},
               {"?!", TRILHA_GROUP_NOT_AHEAD},
               {"?<=", TRILHA_GROUP_BEHIND},
               {"?<!", TRILHA_GROUP_NOT_BEHIND}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (!take(p, kinds[i].text)) continue;
    item->group = kinds[i].group;
    if (item->group != TRILHA_GROUP_PLAIN) p->items.has_look = true;
    return TRILHA_OK;
  }
  item->group = TRILHA_GROUP_CAPTURE;
  item->capture = ++p->items.captures;
  if (!take(p, "?<")) return look(p, 0) == '?' ? refuse(p, "there is no such group") : TRILHA_OK;
  trilha_text name;
  trilha_status status = read_group_name(p, &name);
  return status != TRILHA_OK ? status : add_name(p, &p->groups, name, item->capture);
}

static trilha_status open_group(parser *p) {
  trilha_item item = {.kind = TRILHA_ITEM_OPEN};
  trilha_status status = read_group_kind(p, &item);
  if (status != TRILHA_OK) return status;
  if (p->depth > TRILHA_PATTERN_DEPTH_MAX)
    return trilha_error_set(p->err, TRILHA_LIMIT, "SCHEMA_PATTERN_LIMIT", "the pattern nests more than %d groups",
                            TRILHA_PATTERN_DEPTH_MAX);
  p->quantifiable = false;
  return add_item(p, item, &p->open[p->depth++]);
}

static trilha_status close_group(parser *p) {
  uint32_t open = p->open[--p->depth], close = 0;
  trilha_group group = p->items.list[open].group;
  trilha_status status = add_item(p, (trilha_item){.kind = TRILHA_ITEM_CLOSE, .group = group, .link = open}, &close);
  if (status != TRILHA_OK) return status;
  p->items.list[open].link = close;
  p->quantifiable = group == TRILHA_GROUP_PLAIN || group == TRILHA_GROUP_CAPTURE;
  return TRILHA_OK;
}

/* --- quantifiers ---------------------------------------------------------------------------------- */

/* A number too large for any subject is as good as the largest. */
static bool read_bound(parser *p, uint32_t *ret_value) {
  uint64_t value = 0;
  if (!is_digit(look(p, 0))) return false;
  for (; is_digit(look(p, 0)); p->at++) {
    value = value * 10 + (uint64_t)(look(p, 0) - '0');
    if (value >= TRILHA_PATTERN_UNBOUNDED) value = TRILHA_PATTERN_UNBOUNDED - 1;
  }
  *ret_value = (uint32_t)value;
  return true;
}

static bool read_braces(parser *p, uint32_t *ret_min, uint32_t *ret_max) {
  if (!read_bound(p, ret_min)) return false;
  *ret_max = *ret_min;
  if (take(p, ",") && !read_bound(p, ret_max)) *ret_max = TRILHA_PATTERN_UNBOUNDED;
  return take(p, "}");
}

static trilha_status read_quantifier(parser *p) {
  uint32_t min = 0, max = TRILHA_PATTERN_UNBOUNDED;
  char c = look(p, 0);
  p->at++;
  if (c == '+') min = 1;
  if (c == '?') max = 1;
  if (c == '{' && !read_braces(p, &min, &max)) return refuse(p, "'{' begins no quantifier; as a character it is \\{");
  if (!p->quantifiable) return refuse(p, "there is nothing that a quantifier could repeat");
  if (min > max) return refuse(p, "the bounds of a quantifier run backwards");
  trilha_item *item = &p->items.list[p->items.count - 1];
  item->min = min;
  item->max = max;
  item->lazy = take(p, "?");
  if (item->kind == TRILHA_ITEM_CLOSE) {
    trilha_item *open = &p->items.list[item->link];
    open->min = min;
    open->max = max;
    open->lazy = item->lazy;
  }
  p->quantifiable = false;
  return TRILHA_OK;
}

/* --- terms ---------------------------------------------------------------------------------------- */

static trilha_status add_reference(parser *p, uint32_t number, trilha_text name) {
  uint32_t index = 0;
  trilha_status status = add_item(p, (trilha_item){.kind = TRILHA_ITEM_REFERENCE, .link = number}, &index);
  if (status != TRILHA_OK) return status;
  p->quantifiable = p->items.has_reference = true;
  if (number > p->reference_max) p->reference_max = number;
  return name.data == NULL ? TRILHA_OK : add_name(p, &p->references, name, index);
}

static trilha_status add_assertion(parser *p, trilha_item_kind kind) {
  p->quantifiable = false;
  if (kind == TRILHA_ITEM_WORD || kind == TRILHA_ITEM_NOT_WORD) p->items.has_word = true;
  return add_item(p, (trilha_item){.kind = kind}, NULL);
}

static trilha_status read_escape(parser *p) {
  uint32_t value = 0;
  trilha_text name = {0};
  if (take(p, "b")) return add_assertion(p, TRILHA_ITEM_WORD);
  if (take(p, "B")) return add_assertion(p, TRILHA_ITEM_NOT_WORD);
  if (is_digit(look(p, 0)) && look(p, 0) != '0') {
    (void)read_bound(p, &value);
    return add_reference(p, value, name);
  }
  if (look(p, 0) == 'k') {
    p->at++;
    trilha_status status = take(p, "<") ? read_group_name(p, &name) : refuse(p, "\\k needs a group name");
    return status != TRILHA_OK ? status : add_reference(p, 0, name);
  }
  trilha_class *class = new_class(p);
  if (class == NULL) return trilha_error_no_memory(p->err);
  bool is_class = false;
  trilha_status status = read_class_escape(p, class, &is_class);
  if (status == TRILHA_OK && !is_class) {
    status = read_character_escape(p, &value);
    add_to_class(p, class, value, value);
  }
  if (status == TRILHA_OK) status = finish_class(p, class);
  return status != TRILHA_OK ? status : add_class_item(p, class);
}

static trilha_status read_plain_character(parser *p, char c) {
  trilha_class *class = new_class(p);
  if (class == NULL) return trilha_error_no_memory(p->err);
  trilha_status status = TRILHA_OK;
  if (c == '[') {
    p->at++;
    status = read_class(p, class);
  } else if (c == '.') {
    p->at++;
    trilha_set_add_escape(&class->base, '.', p->arena);
    trilha_set_add_escape(&class->all, '.', p->arena);
    status = finish_class(p, class);
  } else {
    uint32_t code_point = trilha_utf8_next(p->text, p->size, &p->at);
    add_to_class(p, class, code_point, code_point);
    status = finish_class(p, class);
  }
  return status != TRILHA_OK ? status : add_class_item(p, class);
}

static trilha_status read_term(parser *p) {
  char c = look(p, 0);
  switch (c) {
    case '^':
    case '$':
      p->at++;
      return add_assertion(p, c == '^' ? TRILHA_ITEM_START : TRILHA_ITEM_END);
    case '(':
      p->at++;
      return open_group(p);
    case ')':
      if (p->depth == 1) return refuse(p, "a ')' closes nothing");
      p->at++;
      return close_group(p);
    case '|':
      p->at++;
      p->quantifiable = false;
      return add_item(p, (trilha_item){.kind = TRILHA_ITEM_OR, .link = p->open[p->depth - 1]}, NULL);
    case '*':
    case '+':
    case '?':
    case '{':
      return read_quantifier(p);
    case '}':
    case ']':
      return refuse(p, "'}' and ']' as characters are \\} and \\]");
    case '\\':
      p->at++;
      return read_escape(p);
    default:
      return read_plain_character(p, c);
  }
}

/* --- the whole ------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
  const group_name *x = a, *y = b;
  return trilha_text_compare(x->name, y->name);
}

static trilha_status resolve_names(parser *p) {
  if (p->groups.count > 1) qsort(p->groups.list, p->groups.count, sizeof *p->groups.list, compare_names);
  for (size_t i = 1; i < p->groups.count; i++)
    if (trilha_text_equal(p->groups.list[i - 1].name, p->groups.list[i].name))
      return refuse(p, "two groups have one name");
  for (size_t i = 0; i < p->references.count; i++) {
    const group_name *found = p->groups.count == 0 ? NULL
                                                   : bsearch(&p->references.list[i], p->groups.list, p->groups.count,
                                                             sizeof *p->groups.list, compare_names);
    if (found == NULL) return refuse(p, "\\k names no group");
    p->items.list[p->references.list[i].number].link = found->number;
  }
  return p->reference_max > p->items.captures ? refuse(p, "a back-reference has no group") : TRILHA_OK;
}

trilha_status trilha_pattern_parse(trilha_text pattern, size_t *properties, trilha_arena *arena,
                                   trilha_items *ret_items, trilha_error *err) {
  parser *p = trilha_arena_zalloc(arena, sizeof *p);
  if (p == NULL) return trilha_error_no_memory(err);
  *p = (parser){.text = pattern.data == NULL ? "" : pattern.data,
                .size = pattern.size,
                .arena = arena,
                .err = err,
                .properties = properties};
  if (!trilha_utf8_valid(p->text, p->size)) return refuse(p, "it is not UTF-8");
  trilha_status status =
      add_item(p, (trilha_item){.kind = TRILHA_ITEM_OPEN, .group = TRILHA_GROUP_PLAIN}, &p->open[p->depth++]);
  while (status == TRILHA_OK && !at_end(p)) status = read_term(p);
  if (status == TRILHA_OK && p->depth != 1) status = refuse(p, "a '(' is not closed");
  if (status == TRILHA_OK) status = resolve_names(p);
  if (status == TRILHA_OK) status = close_group(p);
  if (status == TRILHA_OK) *ret_items = p->items;
  return status;
}

/* One frame a group: whether the alternative read so far, and any before it, may be empty. */
bool trilha_items_nullable(const trilha_items *items, size_t from, size_t to) {
  struct {
    bool sequence, any;
  } frames[TRILHA_PATTERN_DEPTH_MAX + 3] = {{true, false}};
  size_t depth = 0;
  for (size_t i = from; i < to; i++) {
    const trilha_item *item = &items->list[i];
    bool nothing = true;
    if (item->kind == TRILHA_ITEM_OPEN) {
      frames[++depth].sequence = true;
      frames[depth].any = false;
      continue;
    }
    if (item->kind == TRILHA_ITEM_OR) {
      frames[depth].any |= frames[depth].sequence;
      frames[depth].sequence = true;
      continue;
    }
    if (item->kind == TRILHA_ITEM_SET) nothing = item->min == 0;
    if (item->kind == TRILHA_ITEM_CLOSE) {
      nothing = item->group >= TRILHA_GROUP_AHEAD || item->min == 0 || frames[depth].any || frames[depth].sequence;
      depth--;
    }
    frames[depth].sequence &= nothing;
  }
  return frames[depth].any || frames[depth].sequence;
}
