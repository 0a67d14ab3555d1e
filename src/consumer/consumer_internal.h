/* consumer: the inside of the room. Room: consumer, inside. */
#ifndef TRILHA_CONSUMER_INTERNAL_H
#define TRILHA_CONSUMER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "consumer/consumer.h"

enum { TRILHA_CONSUMER_STORE_MS = 30000, TRILHA_CONSUMER_PAGE_ROWS = 500, TRILHA_CONSUMER_WAIT_MS = 250 };

/* heartbeat.c: calls renew every so often on a thread of its own, until it says false or the heartbeat is stopped,
 * which waits for a call that is under way. */
typedef struct trilha_heartbeat {
  int64_t every_ms;
  bool (*renew)(void *user);
  void *user;
  pthread_t thread;
  bool running;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  bool end;
} trilha_heartbeat;
trilha_status trilha_heartbeat_start(trilha_heartbeat *h, int64_t every_ms, bool (*renew)(void *user), void *user,
                                     trilha_error *err);
/* Nothing when it is not running. */
void trilha_heartbeat_stop(trilha_heartbeat *h);

/* One owner: the thread in trilha_consumer_run(). `stopping` and `lost` are set by others. */
struct trilha_consumer {
  trilha_bus *bus;
  trilha_store *store;
  trilha_deadletter *deadletter;
  trilha_diagnostics diagnostics;
  trilha_arena arena; /* texts of the options */
  trilha_consumer_options options;
  trilha_text *types;
  char holder[96];
  pid_t created_by;

  _Atomic bool stopping;
  _Atomic bool lost; /* the lease is somebody else's */
  trilha_lease lease;
  trilha_heartbeat heartbeat;

  trilha_cursor *positions; /* per type: up to where the log has been looked at in this run */
  bool *everything;     /* per type: seeded by --from in this run, so closed dead letters do not count (ruling R15) */
  trilha_cursor *moves; /* successes whose cursor move is not stored yet; tipo absent: none */
  size_t move_count;    /* events in them */
  unsigned char (*resolved)[16]; /* their ids: dead letters to resolve */
  bool closes_letters;           /* among the successes is one that had failed before: the gauge changes */
  bool advanced;                 /* the running handler moved the cursor in its own transaction */
};

/* host:pid:random: one a consumer, so that two of one process are two holders. */
void trilha_consumer_name_holder(char *out, size_t size);

/* The index of a type among the consumer's. */
size_t trilha_consumer_type(const trilha_consumer *c, const char *tipo);

/* deliver.c: the events first to first + count are handed to the handler in their order, dead letters stored, cursors
 * moved (or noted for a later move) and positions after them. Another status than OK: the turn as holder is over. */
typedef struct trilha_due_event {
  bool closed;      /* its dead letter: resolved or given up */
  int64_t attempts; /* failures recorded before */
} trilha_due_event;
trilha_status trilha_consumer_deliver(trilha_consumer *c, const trilha_event *events, const trilha_due_event *due,
                                      size_t count, trilha_error *err);
/* Stores the cursor moves that are noted. */
trilha_status trilha_consumer_store_moves(trilha_consumer *c, trilha_error *err);
bool trilha_consumer_must_end(const trilha_consumer *c);

/* Waits up to ms for `stopping`; true when it is set. */
bool trilha_consumer_pause(trilha_consumer *c, int64_t ms);

#endif
