/* tests/support/loud: a failed assertion is said at once, and counted.
 *
 * Where it prints the Test Anything Protocol, cmocka keeps the words of a failure until the test's teardown is over. A
 * thread of the test that still runs may crash the program first, and the words are lost. The library says and counts
 * through functions that a program may define itself: these write to standard error, then hand on. */
#include "support/loud.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 4096 };

static atomic_uint failures;

static void *next_of(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

__attribute__((visibility("default"), format(printf, 1, 2))) void cm_print_error(const char *format, ...);
void cm_print_error(const char *format, ...) {
  char words[WORDS_MAX];
  void (*next)(const char *, ...);
  void *found = next_of("cm_print_error");
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(words, sizeof words, format, arguments);
  va_end(arguments);
  fputs(words, stderr);
  memcpy(&next, &found, sizeof next);
  next("%s", words);
}

__attribute__((visibility("default"))) void _fail(const char *file, int line);
void _fail(const char *file, int line) {
  void (*next)(const char *, int);
  void *found = next_of("_fail");
  atomic_fetch_add(&failures, 1);
  memcpy(&next, &found, sizeof next);
  next(file, line);
}

unsigned test_failures(void) {
  return atomic_load(&failures);
}
