/* fuzz: libFuzzer's entry. */
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* A copy of exactly that size, never NULL: the sanitizer sees a read past its end. */
  char *copy = malloc(size == 0 ? 1 : size);
  if (copy == NULL) return 0;
  for (size_t i = 0; i < size; i++) copy[i] = (char)data[i];
  trilha_fuzz(copy, size);
  free(copy);
  return 0;
}
