/* tests/relay/destination: a destination in this process, and what a relay needs to deliver to it. */
#ifndef TRILHA_TESTS_RELAY_DESTINATION_H
#define TRILHA_TESTS_RELAY_DESTINATION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/clock.h"
#include "base/text.h"
#include "outbox/producer.h"
#include "support/expect.h"
#include "trilha/relay.h"

enum { SEEN_MAX = 4096, PATIENCE_MS = 60000 };

typedef struct seen {
  char tenant[32], key[32], id[40];
  int64_t sequence, previous, attempt;
} seen;

/* A destination in this process. */
typedef struct destination {
  pthread_mutex_t lock;
  seen items[SEEN_MAX];
  size_t count;
  const char *fail_key;  /* messages of this aggregate … */
  int64_t fail_sequence; /* … with this sequence (0: all) … */
  int fail_times;        /* … fail so often … */
  trilha_status fail_with;
  bool holds; /* the first message is not answered while this is set */
} destination;

#define DESTINATION \
  { .lock = PTHREAD_MUTEX_INITIALIZER }

/* A trilha_send; user is a destination. */
trilha_status receive(void *user, const trilha_envelope *e, trilha_error *error);
/* Messages of that aggregate with that sequence (0: any) that came. */
size_t times_seen(destination *d, const char *key, int64_t sequence);
trilha_relay_options fast(const trilha_fixture *f, const trilha_transport *transports, size_t count);
/* Until nothing is due now, as often as `rounds`; pauses of at most a millisecond are over by the next. */
trilha_relay_counts drain_with(trilha_relay_options options, int rounds);
trilha_relay_counts drain(const trilha_fixture *f, destination *d, int rounds);
void status_of(const trilha_producer *p, const char *key, int64_t sequence, char out[32]);
void assert_status(const trilha_producer *p, const char *key, int64_t sequence, const char *wanted);
/* For a thread: runs the relay; anything but OK fails the test. */
void *run_relay(void *user);

#endif
