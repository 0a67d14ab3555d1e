/* config: plain scalars of the core schema, spelled as JSON. Digits are copied, never converted. */
#include "config/yaml_internal.h"

static bool is_one_of(trilha_text text, const char *a, const char *b, const char *c) {
  return trilha_text_is(text, a) || trilha_text_is(text, b) || trilha_text_is(text, c);
}

static bool digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t skip_digits(trilha_text text, size_t at) {
  while (at < text.size && digit(text.data[at])) at++;
  return at;
}

static size_t skip_sign(trilha_text text, size_t at) {
  return at < text.size && (text.data[at] == '-' || text.data[at] == '+') ? at + 1 : at;
}

/* The value of a hexadecimal or octal digit, or 99. */
static unsigned digit_value(char c) {
  if (digit(c)) return (unsigned)(c - '0');
  if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
  return 99;
}

/* 16 for 0x…, 8 for 0o…, else 0. */
static unsigned based(trilha_text text) {
  if (text.size < 3 || text.data[0] != '0' || (text.data[1] != 'x' && text.data[1] != 'o')) return 0;
  unsigned base = text.data[1] == 'x' ? 16 : 8;
  for (size_t i = 2; i < text.size; i++)
    if (digit_value(text.data[i]) >= base) return 0;
  return base;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static trilha_yaml_kind decimal_kind(trilha_text text) {
  size_t from = skip_sign(text, 0), at = skip_digits(text, from);
  bool whole = at > from, fraction = false;
  if (at == text.size) return whole ? TRILHA_YAML_INTEGER : TRILHA_YAML_STRING;
  if (text.data[at] == '.') {
    size_t end = skip_digits(text, at + 1);
    fraction = end > at + 1;
    at = end;
  }
  if (!whole && !fraction) return TRILHA_YAML_STRING;
  if (at < text.size && (text.data[at] == 'e' || text.data[at] == 'E')) {
    size_t digits = skip_sign(text, at + 1);
    at = skip_digits(text, digits);
    if (at == digits) return TRILHA_YAML_STRING;
  }
  return at == text.size ? TRILHA_YAML_FLOAT : TRILHA_YAML_STRING;
}

trilha_yaml_kind trilha_yaml_kind_of(trilha_text text) {
  if (text.size == 0 || trilha_text_is(text, "~") || is_one_of(text, "null", "Null", "NULL")) return TRILHA_YAML_NULL;
  if (is_one_of(text, "true", "True", "TRUE") || is_one_of(text, "false", "False", "FALSE")) return TRILHA_YAML_BOOLEAN;
  size_t sign = skip_sign(text, 0);
  trilha_text unsigned_part = {text.data + sign, text.size - sign};
  if (is_one_of(unsigned_part, ".inf", ".Inf", ".INF") || is_one_of(text, ".nan", ".NaN", ".NAN"))
    return TRILHA_YAML_NO_JSON;
  if (based(text) != 0) return TRILHA_YAML_INTEGER;
  return decimal_kind(text);
}

static bool write_based(trilha_buffer *out, trilha_text text, unsigned base) {
  uint64_t value = 0;
  for (size_t i = 2; i < text.size; i++) {
    if (value > (UINT64_MAX >> (base == 16 ? 4 : 3))) return false;
    value = value * base + digit_value(text.data[i]);
  }
  trilha_buffer_add_u64(out, value);
  return true;
}

/* JSON has no '+', no leading zeros, and digits on both sides of the point. */
static void write_decimal(trilha_buffer *out, trilha_text text) {
  size_t at = skip_sign(text, 0);
  if (text.data[0] == '-') trilha_buffer_add_char(out, '-');
  size_t end = skip_digits(text, at);
  while (at + 1 < end && text.data[at] == '0') at++;
  if (at == end) trilha_buffer_add_char(out, '0');
  trilha_buffer_append(out, text.data + at, end - at);
  if (end < text.size && text.data[end] == '.') {
    size_t after = skip_digits(text, end + 1);
    if (after > end + 1) trilha_buffer_append(out, text.data + end, after - end);
    end = after;
  }
  trilha_buffer_append(out, text.data + end, text.size - end);
}

bool trilha_yaml_write_plain(trilha_buffer *out, trilha_text text, trilha_yaml_kind kind) {
  if (kind == TRILHA_YAML_NULL) {
    trilha_buffer_add_string(out, "null");
  } else if (kind == TRILHA_YAML_BOOLEAN) {
    trilha_buffer_add_string(out, text.data[0] == 't' || text.data[0] == 'T' ? "true" : "false");
  } else if (based(text) != 0) {
    return write_based(out, text, based(text));
  } else {
    write_decimal(out, text);
  }
  return true;
}
