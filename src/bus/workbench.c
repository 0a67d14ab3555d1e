/* bus/workbench: readers, scratches and buffers that publishing threads borrow. */
#include <stdlib.h>

#include "base/error.h"
#include "bus/bus_internal.h"

static void workbench_free(trilha_workbench *bench) {
  trilha_json_reader_free(bench->reader);
  trilha_schema_scratch_free(bench->scratch);
  trilha_buffer_done(&bench->text);
  free(bench);
}

static trilha_workbench *workbench_new(trilha_error *err) {
  trilha_workbench *bench = calloc(1, sizeof *bench);
  if (bench == NULL) {
    trilha_error_no_memory(err);
    return NULL;
  }
  trilha_buffer_init(&bench->text, TRILHA_REDACTED_BYTES_MAX);
  if (trilha_json_reader_new(&bench->reader, err) != TRILHA_OK ||
      trilha_schema_scratch_new(&bench->scratch, err) != TRILHA_OK) {
    workbench_free(bench);
    return NULL;
  }
  return bench;
}

trilha_workbench *trilha_workbench_take(trilha_bus *bus, trilha_error *err) {
  pthread_mutex_lock(&bus->mutex);
  trilha_workbench *bench = bus->idle;
  if (bench != NULL) {
    bus->idle = bench->next;
    bus->idle_count--;
  }
  pthread_mutex_unlock(&bus->mutex);
  return bench != NULL ? bench : workbench_new(err);
}

void trilha_workbench_give(trilha_bus *bus, trilha_workbench *bench) {
  pthread_mutex_lock(&bus->mutex);
  bool keep = bus->idle_count < TRILHA_WORKBENCHES_KEPT;
  if (keep) {
    bench->next = bus->idle;
    bus->idle = bench;
    bus->idle_count++;
  }
  pthread_mutex_unlock(&bus->mutex);
  if (!keep) workbench_free(bench);
}

void trilha_workbenches_free(trilha_bus *bus) {
  while (bus->idle != NULL) {
    trilha_workbench *bench = bus->idle;
    bus->idle = bench->next;
    workbench_free(bench);
  }
}
