/* base/text: borrowed byte strings, growable buffers, UTF-8. Room: base. Not thread-safe; one owner each. */
#ifndef TRILHA_BASE_TEXT_H
#define TRILHA_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trilha/error.h"
#include "trilha/text.h"

#define TRILHA_TEXT(literal) ((trilha_text){(literal), sizeof(literal) - 1})

static inline bool trilha_text_equal(trilha_text a, trilha_text b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
static inline bool trilha_text_is(trilha_text a, const char *terminated) {
  return trilha_text_equal(a, trilha_text_of(terminated));
}
/* The first such byte, or NULL. An absent text (data NULL, size 0) holds none. */
static inline const char *trilha_text_find(trilha_text text, char c) {
  return text.size == 0 ? NULL : memchr(text.data, c, text.size);
}
/* Byte order, shorter first on a tie: <0, 0, >0. */
int trilha_text_compare(trilha_text a, trilha_text b);

/* --- UTF-8 --------------------------------------------------------------------------------------- */

/* Strict UTF-8 (no overlong forms, no surrogates, at most U+10FFFF). */
bool trilha_utf8_valid(const char *data, size_t size);
/* Code points in valid UTF-8. */
size_t trilha_utf8_length(const char *data, size_t size);
/* The largest n <= size such that data[0..n) does not end inside a character. */
size_t trilha_utf8_boundary(const char *data, size_t size);
/* Decodes one code point of valid UTF-8 and moves *at past it. */
uint32_t trilha_utf8_next(const char *data, size_t size, size_t *at);
/* Writes one code point (at most 4 bytes) and returns the bytes written. */
size_t trilha_utf8_put(char out[4], uint32_t code_point);

/* --- buffers ------------------------------------------------------------------------------------- */

/* A growable byte string. `max` bounds it (terminator not counted); an append past it or past memory sets
 * `failed` and is dropped whole, so that a writer checks once at the end. data is always terminated once
 * anything was appended. */
typedef struct trilha_buffer {
  char *data;
  size_t size, capacity, max;
  trilha_status failed; /* TRILHA_OK, TRILHA_LIMIT or TRILHA_NO_MEMORY */
} trilha_buffer;

void trilha_buffer_init(trilha_buffer *b, size_t max); /* max 0: bounded by memory only */
void trilha_buffer_done(trilha_buffer *b);
void trilha_buffer_clear(trilha_buffer *b); /* keeps the memory, forgets content and failure */
bool trilha_buffer_reserve(trilha_buffer *b, size_t more);
void trilha_buffer_append(trilha_buffer *b, const void *data, size_t size);
void trilha_buffer_add_text(trilha_buffer *b, trilha_text text);
void trilha_buffer_add_string(trilha_buffer *b, const char *terminated);
/* Where there is room it is one store: writers of JSON add single characters more often than anything else. */
static inline void trilha_buffer_add_char(trilha_buffer *b, char c) {
  if (b->failed == TRILHA_OK && b->size + 1 < b->capacity && (b->max == 0 || b->size < b->max)) {
    b->data[b->size++] = c;
    b->data[b->size] = '\0';
  } else {
    trilha_buffer_append(b, &c, 1);
  }
}
void trilha_buffer_add_i64(trilha_buffer *b, int64_t value);
void trilha_buffer_add_u64(trilha_buffer *b, uint64_t value);
/* printf of the C locale is not promised for %f and friends: never format floating point with it. */
void trilha_buffer_add_arguments(trilha_buffer *b, const char *format, va_list args) TRILHA_PRINTF(2, 0);
void trilha_buffer_add_format(trilha_buffer *b, const char *format, ...) TRILHA_PRINTF(2, 3);
static inline trilha_text trilha_buffer_text(const trilha_buffer *b) {
  return (trilha_text){b->data == NULL ? "" : b->data, b->size};
}
/* OK, or the failure as an error. */
trilha_status trilha_buffer_check(const trilha_buffer *b, trilha_error *err);
/* The caller's, terminated, freed with free(); NULL when out of memory. The buffer is empty afterwards. */
char *trilha_buffer_take(trilha_buffer *b, size_t *ret_size);

#define TRILHA_BUFFER_SCOPED __attribute__((cleanup(trilha_buffer_done))) trilha_buffer

#endif
