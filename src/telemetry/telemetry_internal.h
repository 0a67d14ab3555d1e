/* telemetry: the inside of the room. Room: telemetry. */
#ifndef TRILHA_TELEMETRY_TELEMETRY_INTERNAL_H
#define TRILHA_TELEMETRY_TELEMETRY_INTERNAL_H

#include <pthread.h>

#include "telemetry/telemetry.h"

struct trilha_telemetry {
  pthread_mutex_t mutex;  /* guards everything below; held for a few instructions at a time */
  pthread_cond_t changed; /* the exporter has something to look at */
  bool ending;
  size_t wanted; /* spans that the exporter waits for; 0: it does not wait */
  trilha_ended_span **ring;
  size_t capacity, first, count;
  trilha_measurements measured;
};

/* At most `max` bytes, not inside a character. */
trilha_text trilha_cut(trilha_text text, size_t max);

#endif
