/* base/arena: memory that is freed all at once. Room: base. One owner; not thread-safe. */
#ifndef TRILHA_BASE_ARENA_H
#define TRILHA_BASE_ARENA_H

#include <stddef.h>

#include "base/text.h"

typedef struct trilha_arena_chunk trilha_arena_chunk;

/* Zero-initialised it is a valid empty arena bounded by memory only. */
typedef struct trilha_arena {
  trilha_arena_chunk *chunk; /* newest first */
  char *at, *end;
  size_t held, max; /* bytes obtained from the system; bound on them, 0 for none */
} trilha_arena;

void trilha_arena_init(trilha_arena *a, size_t bytes_max);
/* Frees everything. */
void trilha_arena_done(trilha_arena *a);
/* Forgets everything but keeps the largest chunk, for the next event. */
void trilha_arena_reset(trilha_arena *a);
/* 16-byte aligned, not cleared; NULL when out of memory or past the bound. size 0 gives a valid pointer. */
void *trilha_arena_alloc(trilha_arena *a, size_t size);
void *trilha_arena_zalloc(trilha_arena *a, size_t size);
/* count * size with the overflow checked, cleared. */
void *trilha_arena_array(trilha_arena *a, size_t count, size_t size);
/* A terminated copy. */
char *trilha_arena_copy(trilha_arena *a, trilha_text text);

#define TRILHA_ARENA_SCOPED __attribute__((cleanup(trilha_arena_done))) trilha_arena

#endif
