/* tests/support/failing_heap: allocations that fail at the Nth. */
#include "support/failing_heap.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The linker sends the program's allocations here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
char *__wrap_strndup(const char *text, size_t most);
char *__wrap_strdup(const char *text);
char **__wrap_backtrace_symbols(void *const *frames, int count);
__attribute__((weak)) char **__real_backtrace_symbols(void *const *frames, int count);
char *__wrap_realpath(const char *path, char *resolved);

/* Of the thread that armed it. */
static _Thread_local struct {
  long left;         /* allocations that still succeed; -1: all */
  bool failed, once; /* once: later ones succeed again */
} heap = {.left = -1};

static _Atomic long blocks; /* now, of all threads */

bool failing_heap_fails(void) {
  if (heap.left < 0) return false;
  if (heap.left > 0) {
    heap.left--;
    return false;
  }
  heap.failed = true;
  if (heap.once) heap.left = -1;
  return true;
}

static void *counted(void *p) {
  blocks += p != NULL;
  return p;
}

void *__wrap_malloc(size_t size) {
  return failing_heap_fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
  return failing_heap_fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *p, size_t size) {
  if (failing_heap_fails()) return NULL;
  void *moved = __real_realloc(p, size);
  blocks += p == NULL && moved != NULL;
  return moved;
}

void __wrap_free(void *p) {
  blocks -= p != NULL;
  __real_free(p);
}

/* Functions of the C library whose answer is the caller's to free: wrapped where a program uses them. */

char *__wrap_strndup(const char *text, size_t most) {
  size_t size = strnlen(text, most);
  char *copy = __wrap_malloc(size + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, size);
  copy[size] = '\0';
  return copy;
}

char *__wrap_strdup(const char *text) {
  return __wrap_strndup(text, SIZE_MAX);
}

char **__wrap_backtrace_symbols(void *const *frames, int count) {
  return failing_heap_fails() ? NULL : counted(__real_backtrace_symbols(frames, count));
}

/* Trilha asks for no place of its own. */
char *__wrap_realpath(const char *path, char *resolved) {
  if (failing_heap_fails()) {
    errno = ENOMEM;
    return NULL;
  }
  return counted(canonicalize_file_name(path));
}

void failing_heap_arm(long n, bool once) {
  heap.failed = false;
  heap.once = once;
  heap.left = n;
}

bool failing_heap_disarm(void) {
  heap.left = -1;
  return heap.failed;
}

long failing_heap_held(void) {
  return blocks;
}

/* One run; false when no failure was met. */
static bool run(trilha_status (*scenario)(void *user, trilha_error *err), void *user, long n, bool once,
                unsigned *failures) {
  long held = blocks;
  trilha_error err = {0};
  failing_heap_arm(n, once);
  trilha_status status = scenario(user, &err);
  bool failed = failing_heap_disarm();
  if (blocks != held) fail_msg("%ld blocks are left after allocation %ld failed", blocks - held, n);
  if (status != TRILHA_OK && (!failed || status != TRILHA_NO_MEMORY || err.status != TRILHA_NO_MEMORY))
    fail_msg("allocation %ld failed and the answer was %d: %s", n, (int)status, err.text);
  *failures += status == TRILHA_NO_MEMORY;
  return failed;
}

unsigned failing_heap_exhaust(trilha_status (*scenario)(void *user, trilha_error *err), void *user) {
  unsigned failures = 0;
  for (int once = 0; once < 2; once++)
    for (long n = 0; run(scenario, user, n, once == 1, &failures); n++) continue;
  return failures;
}
