/* http: percent-encoding and query strings. */
#include "http/http.h"

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool trilha_http_decode(trilha_text text, bool is_query, trilha_buffer *out) {
  size_t before = out->size;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    if (c == '%') {
      bool whole = text.size - i > 2;
      int high = whole ? digit_of(text.data[i + 1]) : -1, low = whole ? digit_of(text.data[i + 2]) : -1;
      if (high < 0 || low < 0) return false;
      c = (char)(high * 16 + low);
      i += 2;
    } else if (c == '+' && is_query) {
      c = ' ';
    }
    if (c == '\0') return false;
    trilha_buffer_add_char(out, c);
  }
  return out->failed == TRILHA_OK && (out->size == before || trilha_utf8_valid(out->data + before, out->size - before));
}

bool trilha_http_query_next(trilha_text query, size_t *at, trilha_text *ret_name, trilha_text *ret_value) {
  while (*at < query.size) {
    const char *from = query.data + *at;
    const char *end = memchr(from, '&', query.size - *at);
    size_t size = end == NULL ? query.size - *at : (size_t)(end - from);
    *at += size + 1;
    if (size == 0) continue;
    const char *equals = memchr(from, '=', size);
    size_t name = equals == NULL ? size : (size_t)(equals - from);
    *ret_name = (trilha_text){from, name};
    *ret_value = equals == NULL ? (trilha_text){from + size, 0} : (trilha_text){equals + 1, size - name - 1};
    return true;
  }
  return false;
}
