/* late/late: shared libraries of others that are loaded when they are first needed. Room: late. Corridor.
 *
 * Most processes publish, read or deliver on SQLite. What only a server, a webhook, an identity provider or PostgreSQL
 * needs is therefore no dependency of the program: bound before main(), those libraries and what they need in turn are
 * most of its start and of its memory (ADR 0024).
 *
 * The room that owns such a library lists the functions it calls, once:
 *
 *     #define TRILHA_LIBX(F) F(x_open) F(x_close)
 *     typedef struct trilha_libx { TRILHA_LIBX(TRILHA_LATE_MEMBER) } trilha_libx;
 *
 * The members have the types of the library's own header, so calls are checked as ever. Behind the struct each name
 * becomes a macro, `#define x_open (trilha_libx_functions()->x_open)`: code reads as if it were linked, and a function
 * that is missing in the list does not link. */
#ifndef TRILHA_LATE_LATE_H
#define TRILHA_LATE_LATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "trilha/error.h"

#define TRILHA_LATE_MEMBER(name) __typeof__(name) *name;
#define TRILHA_LATE_NAME(name)   #name,

typedef struct trilha_late_library {
  const char *file;       /* the name the dynamic linker knows it by: "libx.so.4" */
  const char *package;    /* Debian's, which holds it */
  const char *needed_for; /* "PostgreSQL stores": the end of "... is needed for" */
  const char *const *names;
  size_t count;
  bool passing; /* needed for moments, and nothing of it stays: may be unloaded */
} trilha_late_library;

/* What became of it in this process. Of most it changes once, from absent to loaded, and never back: others may have
 * registered themselves in such a library, and threads may run in it. Only a passing one can be absent again. */
typedef struct trilha_late_state {
  pthread_mutex_t lock;
  atomic_bool loaded; /* set behind the last function's address */
  void *handle;       /* of a passing library */
  size_t users;       /* of a passing library: between their begin and their end */
} trilha_late_state;
#define TRILHA_LATE_STATE_INIT \
  { .lock = PTHREAD_MUTEX_INITIALIZER }

/* Fills the members of the struct at `functions`, which are library->count pointers in the order of library->names,
 * unless that has been done. Thread-safe; the caller may use them as soon as it returned OK to it. UNSUPPORTED
 * (LIBRARY_MISSING): the text names file and package; nothing is filled, and a later call tries again. */
trilha_status trilha_late_load(const trilha_late_library *library, trilha_late_state *state, void *functions,
                               trilha_error *err) TRILHA_MUST_USE;

/* A passing library is there from its begin to its end, and until somebody unloads it; it is loaded by the first begin,
 * as by trilha_late_load(). Unloading does nothing while anybody is between the two. Thread-safe. */
trilha_status trilha_late_begin(const trilha_late_library *library, trilha_late_state *state, void *functions,
                                trilha_error *err) TRILHA_MUST_USE;
void trilha_late_end(trilha_late_state *state);
void trilha_late_unload(trilha_late_state *state);

static inline bool trilha_late_is_loaded(const trilha_late_state *state) {
  return atomic_load_explicit(&state->loaded, memory_order_acquire);
}

#endif
