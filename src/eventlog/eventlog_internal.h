/* eventlog: the inside of the room. Room: eventlog. */
#ifndef TRILHA_EVENTLOG_INTERNAL_H
#define TRILHA_EVENTLOG_INTERNAL_H

#include <pthread.h>

#include "eventlog/eventlog.h"

enum { TRILHA_READ_TIMEOUT_MS = 60000 }; /* longest one read of the store may take */

/* One caller waiting in trilha_eventlog_append. Lives on that caller's stack. */
typedef struct trilha_append_request {
  struct trilha_append_request *next;
  trilha_append_item *items;
  size_t count, bytes;
  pthread_cond_t wake;
  bool lead; /* leadership was handed to this caller */
  bool done;
} trilha_append_request;

struct trilha_eventlog {
  trilha_store *store;
  size_t batch_max;
  int64_t lock_timeout_ms;
  trilha_diagnostics diagnostics;
  trilha_eventlog_committed committed; /* may be NULL */
  void *committed_user;

  pthread_condattr_t monotonic; /* of the requests' conditions */
  pthread_mutex_t mutex;        /* guards what follows; never held across the store */
  trilha_append_request *first, *last;
  size_t queued;                    /* requests between them */
  bool led;                         /* somebody leads */
  trilha_append_request *gathering; /* the leader, while it waits for others; else NULL */
  size_t last_callers;              /* requests of the last batch */
  int64_t last_commit_ns;           /* what it took */
  int64_t registry_revision;        /* seen last */
};

/* The arguments of a replay: USAGE when one is wrong. */
trilha_status trilha_replay_check(int64_t after, const trilha_text *types, size_t type_count,
                                  trilha_error *err) TRILHA_MUST_USE;

#endif
