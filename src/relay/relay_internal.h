/* relay: the inside. Room: relay. */
#ifndef TRILHA_RELAY_RELAY_INTERNAL_H
#define TRILHA_RELAY_RELAY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/diagnostics.h"
#include "relay/relay.h"

enum {
  TRILHA_RELAY_SETTLE_AFTER_MS = 50,  /* a lane that is done waits at most this long for others to be settled with it */
  TRILHA_RELAY_SETTLE_TRIES_MAX = 5,  /* then its lease runs out, and its messages are sent again */
  TRILHA_RELAY_STORE_PAUSE_MS = 1000, /* after an error of the database that may pass */
  TRILHA_RELAY_ERROR_TEXT_BYTES_MAX = 1000
};

struct trilha_relay {
  trilha_relay_options options; /* with defaults filled in; url and schema are this object's own */
  trilha_relay_opener open;
  trilha_transport *transports;
  char *url, *schema;
  char owner[64]; /* host:pid:random, for operators */

  pthread_mutex_t lock; /* guards bell and first_error; never held across I/O */
  pthread_cond_t rung;
  uint64_t bell; /* raised by each wake and by stop */
  trilha_error first_error;

  atomic_bool stopping;
  _Atomic int64_t sent, failed, dead, leases_lost;
};

/* One thread's part. */
typedef struct trilha_relay_worker {
  trilha_relay *relay;
  trilha_outbox_store *store;
} trilha_relay_worker;

static inline bool trilha_relay_stops(const trilha_relay *relay) {
  return atomic_load(&relay->stopping);
}

/* deliver.c. One claim for one destination and all that follows from it. *ret_lanes: how many there were; *ret_after in
 * and out: where the round of tenants stands. OK also when lanes failed: that is theirs. */
typedef struct trilha_relay_round {
  const trilha_transport *transport;
  char after[1024]; /* a tenant has at most 255 characters; "": the beginning */
} trilha_relay_round;
trilha_status trilha_relay_deliver(trilha_relay_worker *worker, trilha_relay_round *round, size_t *ret_lanes,
                                   trilha_error *err) TRILHA_MUST_USE;

/* The pause before attempt `failures` + 1: uniform from 0 to the smaller of backoff_max and backoff doubled for each
 * failure but the first. */
int64_t trilha_relay_backoff_ms(const trilha_relay_options *options, int64_t failures);

#endif
