/* base/assert: our own mistakes stop the process, in release too. */
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* write() and not stdio: the state of the process is in doubt, and the library never uses its streams. */
static void say(const char *text) {
  size_t left = strlen(text);
  while (left > 0) {
    ssize_t n = write(STDERR_FILENO, text, left);
    if (n <= 0) return;
    text += n;
    left -= (size_t)n;
  }
}

void trilha_assert_failed(const char *expression, const char *file, int line) {
  char digits[12];
  size_t at = sizeof digits - 1;
  digits[at] = '\0';
  unsigned value = line > 0 ? (unsigned)line : 0;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0 && at > 0);
  say("trilha: a fault of Trilha itself, please report it: ");
  say(file);
  say(":");
  say(digits + at);
  say(": ");
  say(expression);
  say("\n");
  abort();
}
