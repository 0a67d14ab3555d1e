/* bus: the inside of the room. Room: bus. */
#ifndef TRILHA_BUS_INTERNAL_H
#define TRILHA_BUS_INTERNAL_H

#include <pthread.h>

#include "bus/bus.h"
#include "deadletter/deadletter.h"

enum { TRILHA_WORKBENCHES_KEPT = 64 }; /* idle ones; more are freed when they come back */

/* What one publishing thread works with: reused between events, never shared at the same time. */
typedef struct trilha_workbench {
  struct trilha_workbench *next;
  trilha_json_reader *reader;
  trilha_schema_scratch *scratch;
  trilha_buffer text;
} trilha_workbench;

typedef struct trilha_live trilha_live; /* live.h */

struct trilha_bus {
  trilha_eventlog *log;
  trilha_deadletter *deadletter;
  trilha_live *live;
  trilha_registry *registry;
  const trilha_keyring *keyring;
  trilha_telemetry *telemetry; /* NULL: nothing is measured */
  trilha_diagnostics diagnostics;

  pthread_mutex_t mutex; /* guards the idle workbenches */
  trilha_workbench *idle;
  size_t idle_count;
};

/* What a result's `memory` points to: everything that the caller reads through the result. */
typedef struct trilha_result_memory {
  trilha_arena arena;
  trilha_event event;
} trilha_result_memory;

/* One publication on its way through the steps. */
typedef struct trilha_preparation {
  const trilha_publication *publication;
  int64_t began_ns;
  trilha_publish_result *result; /* its memory's arena holds what outlives the workbench */
  trilha_append_item *item;      /* the row to append */
  /* step 2 and 3 */
  trilha_text versao;
  const trilha_registry_type *type; /* acquired, or NULL */
  bool registered;                  /* the type was found: its name may be repeated */
  trilha_span span;                 /* event.publish */
} trilha_preparation;

trilha_workbench *trilha_workbench_take(trilha_bus *bus, trilha_error *err);
void trilha_workbench_give(trilha_bus *bus, trilha_workbench *bench);
void trilha_workbenches_free(trilha_bus *bus);

/* Steps 1 to 6 for one publication. On OK the item's row is ready. */
trilha_status trilha_prepare(trilha_bus *bus, trilha_workbench *bench, trilha_preparation *p, trilha_error *err);

/* Step 3: formats and lengths; fills the row's columns except payload and digest. */
trilha_status trilha_prepare_columns(const trilha_publication *publication, trilha_text versao, trilha_event_row *row,
                                     trilha_error *err);

/* The digest of ruling R21 under the newest key (kid absent) or a given one, in `arena`; an absent text when there is
 * no such key. */
trilha_status trilha_digest(const trilha_bus *bus, const trilha_publication *publication, const trilha_event_row *row,
                            const trilha_json_value *payload, trilha_text kid, trilha_arena *arena,
                            trilha_text *ret_digest, trilha_error *err);
/* Whether what was sent equals the stored row. */
trilha_content trilha_compare_content(trilha_bus *bus, const trilha_preparation *p);

#endif
