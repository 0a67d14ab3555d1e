/* deadletter/gauge: dead_letter_queue_pending{colonia} as diagnostics (requirement E18). Room: deadletter, inside.
 *
 * Thread-safe. A colony that was said and has nothing open any more is said once more, with 0.
 */
#ifndef TRILHA_DEADLETTER_GAUGE_H
#define TRILHA_DEADLETTER_GAUGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "deadletter/deadletter.h"

typedef struct trilha_gauge {
  trilha_store *store;
  trilha_diagnostics diagnostics;
  int64_t alert_at;
  pthread_mutex_t counting;
  _Atomic int64_t not_before_ns; /* monotonic */
  _Atomic bool is_owed;          /* a change came while another counted, or in the pause */
  char **said;                   /* colonies said to have something open; guarded by counting */
  size_t said_count;
} trilha_gauge;

void trilha_gauge_init(trilha_gauge *gauge, trilha_store *store, const trilha_diagnostics *diagnostics,
                       int64_t alert_at);
void trilha_gauge_done(trilha_gauge *gauge);

/* As trilha_deadletter_say_gauge() and trilha_deadletter_say_owed_gauge(). */
void trilha_gauge_say(trilha_gauge *gauge);
void trilha_gauge_say_owed(trilha_gauge *gauge);

#endif
