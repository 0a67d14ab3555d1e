/* tests/support/own_program: for tests whose roles are processes of their own. */
#ifndef TRILHA_TESTS_SUPPORT_OWN_PROGRAM_H
#define TRILHA_TESTS_SUPPORT_OWN_PROGRAM_H

#include <limits.h>
#include <unistd.h>

/* Where this program lies, to be started again; "" when nobody knows. Not /proc/self/exe itself: under valgrind that is
 * valgrind, who answers readlink() with the program. */
static inline char *trilha_own_program(void) {
  static char path[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  path[size > 0 ? size : 0] = '\0';
  return path;
}

#endif
