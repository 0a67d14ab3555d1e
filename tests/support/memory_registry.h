/* tests/support/memory_registry: a store that holds the registry's rows in memory and nothing else, so that the
 * registry's own behaviour (when it looks, what it writes, how it takes failures) is seen without a database. The
 * adapters are tested in tests/conformance. Thread-safe. */
#ifndef TRILHA_TESTS_MEMORY_REGISTRY_H
#define TRILHA_TESTS_MEMORY_REGISTRY_H

#include <pthread.h>

#include "store/store.h"

enum { MEMORY_ROWS_MAX = 64, MEMORY_AUDITS_MAX = 128 };

typedef struct memory_registry {
  trilha_store store; /* first */
  pthread_mutex_t lock;
  trilha_arena arena;
  int64_t revision;
  size_t row_count, audit_count;
  trilha_type_row rows[MEMORY_ROWS_MAX];
  trilha_audit_row audits[MEMORY_AUDITS_MAX];
  unsigned revision_calls, list_calls, apply_calls;
  trilha_status fail_next;                              /* the next look at the store fails so; OK: none */
  void (*before_apply)(struct memory_registry *memory); /* called once before the next application, without the lock */
} memory_registry;

void memory_registry_init(memory_registry *memory);
void memory_registry_done(memory_registry *memory);
/* As raw SQL would: no checks, no audit. schema NULL: a version without one. */
void memory_registry_put(memory_registry *memory, const char *tipo, const char *versao, const char *status,
                         const char *schema);

#endif
