/* fuzz: one entry for libFuzzer and for the replay of kept cases.
 *
 * A target is tests/fuzz/fuzz_NAME.c with trilha_fuzz(), listed in tests/fuzz/meson.build; what it must uphold it
 * checks with CHECK. Kept inputs, every former crash among them, lie in tests/fuzz/corpus/NAME/ and are replayed by
 * `make test`; `make fuzz T=NAME SECONDS=600` looks for new ones. */
#ifndef TRILHA_TESTS_FUZZ_FUZZ_H
#define TRILHA_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void trilha_fuzz(const char *data, size_t size);

#define CHECK(expression)                                                            \
  do {                                                                               \
    if (!(expression)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #expression); \
      abort();                                                                       \
    }                                                                                \
  } while (0)

#endif
