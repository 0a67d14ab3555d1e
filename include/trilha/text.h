/* trilha/text.h: a borrowed run of bytes, as Trilha takes and gives text. */
#ifndef TRILHA_TEXT_H
#define TRILHA_TEXT_H

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A borrowed run of bytes, UTF-8 unless said otherwise; it may hold U+0000 and is not terminated unless said
 *  otherwise. Absent: data is NULL and size 0. Empty: data is not NULL and size 0. */
typedef struct trilha_text {
  const char *data;
  size_t size; /**< bytes */
} trilha_text;

/** A view of a terminated C string (NULL gives an absent text). Nothing is copied. */
static inline trilha_text trilha_text_of(const char *terminated) {
  trilha_text text;
  text.data = terminated;
  text.size = terminated == NULL ? 0 : strlen(terminated);
  return text;
}

#ifdef __cplusplus
}
#endif
#endif
