/* base/arena: memory that is freed all at once. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct trilha_arena_chunk {
  trilha_arena_chunk *next;
  size_t size; /* usable bytes behind this header */
};

enum { ALIGN = 16, FIRST_CHUNK = 4096, LARGEST_STEP = 1 << 20 };
#define HEADER ((sizeof(trilha_arena_chunk) + ALIGN - 1) / ALIGN * ALIGN)

void trilha_arena_init(trilha_arena *a, size_t bytes_max) {
  *a = (trilha_arena){.max = bytes_max};
}

void trilha_arena_done(trilha_arena *a) {
  trilha_arena_chunk *c = a->chunk;
  while (c != NULL) {
    trilha_arena_chunk *next = c->next;
    free(c);
    c = next;
  }
  *a = (trilha_arena){.max = a->max};
}

void trilha_arena_reset(trilha_arena *a) {
  trilha_arena_chunk *keep = NULL;
  trilha_arena_chunk *c = a->chunk;
  while (c != NULL) {
    trilha_arena_chunk *next = c->next;
    if (keep == NULL || c->size > keep->size) {
      free(keep);
      keep = c;
    } else {
      free(c);
    }
    c = next;
  }
  *a = (trilha_arena){.max = a->max};
  if (keep == NULL) return;
  keep->next = NULL;
  a->chunk = keep;
  a->at = (char *)keep + HEADER;
  a->end = a->at + keep->size;
  a->held = HEADER + keep->size;
}

static bool grow(trilha_arena *a, size_t size) {
  size_t want = a->chunk == NULL ? FIRST_CHUNK : a->chunk->size * 2;
  if (want > LARGEST_STEP) want = LARGEST_STEP;
  if (want < size) want = size;
  if (a->max != 0 && a->held + HEADER + want > a->max) {
    if (a->held + HEADER + size > a->max) return false;
    want = size;
  }
  trilha_arena_chunk *c = malloc(HEADER + want);
  if (c == NULL) return false;
  c->next = a->chunk;
  c->size = want;
  a->chunk = c;
  a->at = (char *)c + HEADER;
  a->end = a->at + want;
  a->held += HEADER + want;
  return true;
}

void *trilha_arena_alloc(trilha_arena *a, size_t size) {
  if (size > SIZE_MAX / 4) return NULL;
  size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
  if (rounded == 0) rounded = ALIGN;
  if ((a->at == NULL || rounded > (size_t)(a->end - a->at)) && !grow(a, rounded)) return NULL;
  void *p = a->at;
  a->at += rounded;
  return p;
}

void *trilha_arena_zalloc(trilha_arena *a, size_t size) {
  void *p = trilha_arena_alloc(a, size);
  if (p != NULL) memset(p, 0, size);
  return p;
}

void *trilha_arena_array(trilha_arena *a, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / 4 / size) return NULL;
  return trilha_arena_zalloc(a, count * size);
}

char *trilha_arena_copy(trilha_arena *a, trilha_text text) {
  char *p = trilha_arena_alloc(a, text.size + 1);
  if (p == NULL) return NULL;
  if (text.size != 0) memcpy(p, text.data, text.size);
  p[text.size] = '\0';
  return p;
}
