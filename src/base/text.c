/* base/text: borrowed byte strings, growable buffers, UTF-8. */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

int trilha_text_compare(trilha_text a, trilha_text b) {
  size_t shorter = a.size < b.size ? a.size : b.size;
  int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
  if (order != 0) return order;
  return a.size < b.size ? -1 : a.size > b.size ? 1 : 0;
}

/* --- UTF-8 --------------------------------------------------------------------------------------- */

/* Length of the well-formed sequence at data, or 0. Ranges of the Unicode standard, table 3-7. */
static size_t utf8_sequence(const unsigned char *p, size_t size) {
  unsigned char c = p[0];
  if (c < 0x80) return 1;
  if (c < 0xC2 || c > 0xF4) return 0;
  size_t need = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
  if (size < need) return 0;
  unsigned char low = 0x80, high = 0xBF;
  if (c == 0xE0) low = 0xA0;
  if (c == 0xED) high = 0x9F;
  if (c == 0xF0) low = 0x90;
  if (c == 0xF4) high = 0x8F;
  if (p[1] < low || p[1] > high) return 0;
  for (size_t i = 2; i < need; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  return need;
}

bool trilha_utf8_valid(const char *data, size_t size) {
  const unsigned char *p = (const unsigned char *)data;
  size_t i = 0;
  while (i < size) {
    while (i + 8 <= size) {
      uint64_t word;
      memcpy(&word, p + i, 8);
      if ((word & UINT64_C(0x8080808080808080)) != 0) break;
      i += 8;
    }
    if (i >= size) break;
    size_t n = utf8_sequence(p + i, size - i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

size_t trilha_utf8_length(const char *data, size_t size) {
  size_t count = 0;
  for (size_t i = 0; i < size; i++) count += ((unsigned char)data[i] & 0xC0) != 0x80;
  return count;
}

size_t trilha_utf8_boundary(const char *data, size_t size) {
  size_t back = 0;
  while (back < 4 && back < size) {
    unsigned char c = (unsigned char)data[size - 1 - back];
    back++;
    if ((c & 0xC0) == 0x80) continue;
    size_t need = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    return need <= back ? size : size - back;
  }
  return size;
}

uint32_t trilha_utf8_next(const char *data, size_t size, size_t *at) {
  const unsigned char *p = (const unsigned char *)data + *at;
  size_t left = size - *at;
  uint32_t c = p[0];
  if (c < 0x80 || left < 2) {
    *at += 1;
    return c;
  }
  if (c < 0xE0 || left < 3) {
    *at += 2;
    return ((c & 0x1F) << 6) | (p[1] & 0x3Fu);
  }
  if (c < 0xF0 || left < 4) {
    *at += 3;
    return ((c & 0x0F) << 12) | ((p[1] & 0x3Fu) << 6) | (p[2] & 0x3Fu);
  }
  *at += 4;
  return ((c & 0x07) << 18) | ((p[1] & 0x3Fu) << 12) | ((p[2] & 0x3Fu) << 6) | (p[3] & 0x3Fu);
}

size_t trilha_utf8_put(char out[4], uint32_t c) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xC0 | (c >> 6));
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xE0 | (c >> 12));
    out[1] = (char)(0x80 | ((c >> 6) & 0x3F));
    out[2] = (char)(0x80 | (c & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | (c >> 18));
  out[1] = (char)(0x80 | ((c >> 12) & 0x3F));
  out[2] = (char)(0x80 | ((c >> 6) & 0x3F));
  out[3] = (char)(0x80 | (c & 0x3F));
  return 4;
}

/* --- buffers ------------------------------------------------------------------------------------- */

void trilha_buffer_init(trilha_buffer *b, size_t max) {
  *b = (trilha_buffer){.max = max};
}

void trilha_buffer_done(trilha_buffer *b) {
  free(b->data);
  *b = (trilha_buffer){0};
}

void trilha_buffer_clear(trilha_buffer *b) {
  b->size = 0;
  b->failed = TRILHA_OK;
  if (b->data != NULL) b->data[0] = '\0';
}

bool trilha_buffer_reserve(trilha_buffer *b, size_t more) {
  if (b->failed != TRILHA_OK) return false;
  if (more > SIZE_MAX / 4 - b->size || (b->max != 0 && b->size + more > b->max)) {
    b->failed = TRILHA_LIMIT;
    return false;
  }
  size_t need = b->size + more + 1;
  if (need <= b->capacity) return true;
  size_t capacity = b->capacity < 64 ? 64 : b->capacity;
  while (capacity < need) capacity *= 2;
  char *data = realloc(b->data, capacity);
  if (data == NULL) {
    b->failed = TRILHA_NO_MEMORY;
    return false;
  }
  b->data = data;
  b->capacity = capacity;
  return true;
}

void trilha_buffer_append(trilha_buffer *b, const void *data, size_t size) {
  if (!trilha_buffer_reserve(b, size)) return;
  if (size != 0) memcpy(b->data + b->size, data, size);
  b->size += size;
  b->data[b->size] = '\0';
}

void trilha_buffer_add_text(trilha_buffer *b, trilha_text text) {
  trilha_buffer_append(b, text.data, text.size);
}

void trilha_buffer_add_string(trilha_buffer *b, const char *terminated) {
  trilha_buffer_append(b, terminated, strlen(terminated));
}

void trilha_buffer_add_u64(trilha_buffer *b, uint64_t value) {
  char digits[20];
  size_t n = 0;
  do {
    digits[sizeof digits - 1 - n++] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  trilha_buffer_append(b, digits + sizeof digits - n, n);
}

void trilha_buffer_add_i64(trilha_buffer *b, int64_t value) {
  if (value < 0) trilha_buffer_add_char(b, '-');
  trilha_buffer_add_u64(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void trilha_buffer_add_arguments(trilha_buffer *b, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  if (n > 0 && trilha_buffer_reserve(b, (size_t)n)) {
    vsnprintf(b->data + b->size, (size_t)n + 1, format, again);
    b->size += (size_t)n;
  }
  va_end(again);
}

void trilha_buffer_add_format(trilha_buffer *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  trilha_buffer_add_arguments(b, format, args);
  va_end(args);
}

trilha_status trilha_buffer_check(const trilha_buffer *b, trilha_error *err) {
  if (b->failed == TRILHA_NO_MEMORY) return trilha_error_no_memory(err);
  if (b->failed != TRILHA_OK)
    return trilha_error_set(err, TRILHA_LIMIT, "TEXT_TOO_LARGE", "the text would be larger than its limit of %zu bytes",
                            b->max);
  return TRILHA_OK;
}

char *trilha_buffer_take(trilha_buffer *b, size_t *ret_size) {
  if (b->failed != TRILHA_OK || !trilha_buffer_reserve(b, 0)) return NULL;
  b->data[b->size] = '\0';
  char *data = b->data;
  if (ret_size != NULL) *ret_size = b->size;
  *b = (trilha_buffer){.max = b->max};
  return data;
}
