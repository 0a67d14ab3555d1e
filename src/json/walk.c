/* json: finding one's way in a document: members, pointers, lengths. */
#include "base/assert.h"
#include "json/json_internal.h"

const char *trilha_json_type_name(trilha_json_type type) {
  static const char *const names[] = {"null", "boolean", "boolean", "number", "string", "array", "object"};
  return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "?";
}

int64_t trilha_json_small(const trilha_json_value *v) {
  const char *p = v->u.text, *end = p + v->size;
  bool negative = *p == '-';
  int64_t value = 0;
  for (p += negative; p < end; p++) value = value * 10 + (*p - '0');
  return negative ? -value : value;
}

/* --- members -------------------------------------------------------------------------------------------- */

const trilha_json_value *trilha_json_member_text(const trilha_json_value *v, trilha_text name) {
  if (v == NULL || v->type != TRILHA_JSON_OBJECT) return NULL;
  const trilha_json_value *found = NULL, *key = v + 1;
  for (uint32_t i = 0; i < v->size; i++) {
    if (key->size == name.size && (name.size == 0 || memcmp(key->u.text, name.data, name.size) == 0)) found = key + 1;
    key = trilha_json_next(key + 1);
  }
  return found;
}

const trilha_json_value *trilha_json_member(const trilha_json_value *v, const char *name) {
  return trilha_json_member_text(v, trilha_text_of(name));
}

trilha_text trilha_json_member_string(const trilha_json_value *v, const char *name) {
  const trilha_json_value *member = trilha_json_member(v, name);
  if (member == NULL || member->type != TRILHA_JSON_STRING) return (trilha_text){NULL, 0};
  return trilha_json_text(member);
}

/* --- lengths -------------------------------------------------------------------------------------------- */

/* Counts bytes that do not continue a character, eight at a time. */
size_t trilha_json_string_length(const trilha_json_value *v) {
  if ((v->flags & TRILHA_JSON_ASCII) != 0) return v->size;
  const char *p = v->u.text;
  size_t continued = 0, i = 0;
  for (; i + 8 <= v->size; i += 8) {
    uint64_t word = trilha_json_load8(p + i);
    uint64_t mark = (word >> 7) & ~(word >> 6) & UINT64_C(0x0101010101010101); /* 10xxxxxx */
    continued += mark * UINT64_C(0x0101010101010101) >> 56;
  }
  for (; i < v->size; i++) continued += ((unsigned char)p[i] & 0xC0) == 0x80;
  return v->size - continued;
}

/* --- pointers ------------------------------------------------------------------------------------------- */

void trilha_json_pointer_add(trilha_buffer *out, trilha_text token) {
  if (token.size == 0) return; /* an absent text has no address to count from */
  size_t start = 0;
  for (size_t i = 0; i < token.size; i++) {
    char c = token.data[i];
    if (c != '~' && c != '/') continue;
    trilha_buffer_append(out, token.data + start, i - start);
    trilha_buffer_append(out, c == '~' ? "~0" : "~1", 2);
    start = i + 1;
  }
  trilha_buffer_append(out, token.data + start, token.size - start);
}

/* Goes down from the root: the child whose subtree holds the target is known by its extent. */
void trilha_json_pointer_to(const trilha_json_value *root, const trilha_json_value *target, trilha_buffer *out) {
  TRILHA_ASSERT(target >= root && target < trilha_json_next(root));
  const trilha_json_value *at = root;
  while (at != target && at->type >= TRILHA_JSON_ARRAY) {
    bool object = at->type == TRILHA_JSON_OBJECT;
    const trilha_json_value *child = at + 1;
    size_t index = 0;
    for (;; index++) {
      const trilha_json_value *next = trilha_json_next(object ? child + 1 : child);
      if (target < next) break;
      child = next;
    }
    trilha_buffer_add_char(out, '/');
    if (object) {
      trilha_json_pointer_add(out, trilha_json_text(child));
      at = target == child ? child : child + 1;
    } else {
      trilha_buffer_add_u64(out, index);
      at = child;
    }
  }
}

/* Takes one reference token as it is written off the front. */
static trilha_text take_token(trilha_text *pointer) {
  trilha_text token = {pointer->data + 1, 0};
  while (token.size + 1 < pointer->size && token.data[token.size] != '/') token.size++;
  pointer->data += token.size + 1;
  pointer->size -= token.size + 1;
  return token;
}

/* Whether the token, '~0' and '~1' decoded, is the name. A '~' followed by anything else matches nothing. */
static bool token_is(trilha_text token, trilha_text name) {
  size_t at = 0;
  for (size_t i = 0; i < token.size; i++, at++) {
    char c = token.data[i];
    if (c == '~') {
      if (++i == token.size || (token.data[i] != '0' && token.data[i] != '1')) return false;
      c = token.data[i] == '0' ? '~' : '/';
    }
    if (at == name.size || name.data[at] != c) return false;
  }
  return at == name.size;
}

static const trilha_json_value *find_member(const trilha_json_value *object, trilha_text token) {
  const trilha_json_value *found = NULL, *key = object + 1;
  for (uint32_t i = 0; i < object->size; i++) {
    if (token_is(token, trilha_json_text(key))) found = key + 1;
    key = trilha_json_next(key + 1);
  }
  return found;
}

static const trilha_json_value *find_item(const trilha_json_value *array, trilha_text token) {
  if (token.size == 0 || token.size > 10 || (token.size > 1 && token.data[0] == '0')) return NULL;
  uint64_t index = 0;
  for (size_t i = 0; i < token.size; i++) {
    unsigned digit = (unsigned char)token.data[i] - (unsigned)'0';
    if (digit > 9) return NULL;
    index = index * 10 + digit;
  }
  if (index >= array->size) return NULL;
  const trilha_json_value *item = array + 1;
  for (; index > 0; index--) item = trilha_json_next(item);
  return item;
}

const trilha_json_value *trilha_json_pointer_find(const trilha_json_value *root, trilha_text pointer) {
  const trilha_json_value *at = root;
  while (at != NULL && pointer.size != 0) {
    if (pointer.data[0] != '/') return NULL;
    trilha_text token = take_token(&pointer);
    if (at->type == TRILHA_JSON_OBJECT)
      at = find_member(at, token);
    else if (at->type == TRILHA_JSON_ARRAY)
      at = find_item(at, token);
    else
      at = NULL;
  }
  return at;
}
