/* base/embedded: what tools/embed-file makes of files at build time. Room: base. Constant data. */
#ifndef TRILHA_BASE_EMBEDDED_H
#define TRILHA_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct trilha_embedded_file {
  const char *name; /* relative path with forward slashes */
  const char *data; /* as in the file, then a NUL that size does not count */
  size_t size;
} trilha_embedded_file;

#endif
