/* tests/support/failing_heap: allocations that fail at the Nth. */
#include "support/failing_heap.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

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

static struct {
  long left;         /* allocations that still succeed; -1: all */
  long held;         /* blocks now */
  bool failed, once; /* once: later ones succeed again */
} heap = {.left = -1};

static bool fails(void) {
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
  heap.held += p != NULL;
  return p;
}

void *__wrap_malloc(size_t size) {
  return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *p, size_t size) {
  if (fails()) return NULL;
  void *moved = __real_realloc(p, size);
  heap.held += p == NULL && moved != NULL;
  return moved;
}

void __wrap_free(void *p) {
  heap.held -= p != NULL;
  __real_free(p);
}

/* One run; false when no failure was met. */
static bool run(trilha_status (*scenario)(void *user, trilha_error *err), void *user, long n, bool once,
                unsigned *failures) {
  long held = heap.held;
  trilha_error err = {0};
  heap.left = n;
  heap.once = once;
  heap.failed = false;
  trilha_status status = scenario(user, &err);
  heap.left = -1;
  bool failed = heap.failed;
  if (heap.held != held) fail_msg("%ld blocks are left after allocation %ld failed", heap.held - held, n);
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
