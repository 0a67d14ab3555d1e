/* What the tests of this room share. */
#ifndef TRILHA_TESTS_JSON_TEST_H
#define TRILHA_TESTS_JSON_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json/json.h"
#include "json/json_internal.h"

/* Reads text that must be right. Free with trilha_json_document_free(). */
static inline trilha_json_document *must_parse(trilha_text text) {
  trilha_json_document *document = NULL;
  trilha_json_fault fault = {0};
  trilha_error err = {0};
  if (trilha_json_parse(text, &TRILHA_JSON_LIMITS, &document, &fault, &err) != TRILHA_OK)
    fail_msg("refused: %s %s", err.code, err.text);
  return document;
}

/* The file's bytes, terminated; NULL when it cannot be read. */
static inline char *read_file(const char *path, size_t *ret_size) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) return NULL;
  char *data = NULL;
  size_t size = 0, capacity = 0, n = 0;
  do {
    if (size + 4096 > capacity) {
      capacity = capacity * 2 + 8192;
      data = realloc(data, capacity);
      if (data == NULL) abort();
    }
    n = fread(data + size, 1, 4095, f);
    size += n;
  } while (n > 0);
  fclose(f);
  data[size] = '\0';
  *ret_size = size;
  return data;
}

#endif
