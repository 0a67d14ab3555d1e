/* registry tests: what the files of this folder share. */
#ifndef TRILHA_TESTS_REGISTRY_TEST_H
#define TRILHA_TESTS_REGISTRY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "registry/registry.h"
#include "support/memory_registry.h"

#define KEPT        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"x-redacao\":\"manter\"}}}"
#define HASHED      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"x-redacao\":\"hash\"}}}"
#define NOT_THERE   "Tipo de evento não registrado no Registry"
#define T(literal)  TRILHA_TEXT(literal)
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef struct bench {
  memory_registry memory;
  trilha_registry *registry;
} bench;

/* A minute: a test that sees news within it did not wait for the bound. */
enum { SLOW_MS = 60000 };

static inline bench *bench_new(unsigned refresh_ms) {
  bench *b = calloc(1, sizeof *b);
  assert_non_null(b);
  memory_registry_init(&b->memory);
  assert_int_equal(trilha_registry_new(&b->memory.store, refresh_ms, NULL, &b->registry, NULL), TRILHA_OK);
  return b;
}

static inline void bench_free(bench *b) {
  trilha_registry_free(b->registry);
  memory_registry_done(&b->memory);
  free(b);
}

static inline trilha_status acquire(bench *b, const char *tipo, const char *versao, const trilha_registry_type **ret,
                                    trilha_error *err) {
  *err = (trilha_error){0};
  return trilha_registry_acquire(b->registry, trilha_text_of(tipo), trilha_text_of(versao), TRILHA_NO_DEADLINE, ret,
                                 err);
}

/* Acquires and gives back at once. */
static inline trilha_status look_for(bench *b, const char *tipo, const char *versao, trilha_error *err) {
  const trilha_registry_type *type = NULL;
  trilha_status status = acquire(b, tipo, versao, &type, err);
  if (status == TRILHA_OK) trilha_registry_release(b->registry, type);
  return status;
}

static inline trilha_type_version version_of(const char *tipo, const char *versao, const char *schema) {
  return (trilha_type_version){
      .tipo = trilha_text_of(tipo), .versao = trilha_text_of(versao), .schema = trilha_text_of(schema)};
}

#endif
