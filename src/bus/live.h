/* bus/live: mailboxes, tickets and running deliveries. Room: bus, inside. */
#ifndef TRILHA_BUS_LIVE_H
#define TRILHA_BUS_LIVE_H

#include "bus/bus_internal.h"
#include "bus/deliver.h"

/* One publish under way on one thread: how many of its deliveries are still open. On that thread's stack; guarded by
 * the live mutex. */
typedef struct trilha_ticket {
  size_t open;
} trilha_ticket;

/* A delivery under way, known by its thread, so that a publish made inside a handler is seen to be nested. */
struct trilha_delivery {
  struct trilha_delivery *next; /* in live->running */
  trilha_bus *bus;
  pthread_t thread;
  const trilha_attempt *attempt;
  trilha_outcome *outcome;
  char *colonia;         /* terminated copy */
  trilha_ticket *ticket; /* of the publish whose thread this is; NULL outside live delivery */
  unsigned depth;        /* 0 for an event that no handler caused */
  trilha_span span;      /* event.process */
  bool traced;           /* `trace` is set: of the span, or of an event that is not sampled */
  trilha_trace trace;
  char traceparent[TRILHA_TRACEPARENT_SIZE]; /* of the span; "" when it is not recorded */
};

/* What a publish on this thread belongs to. */
typedef struct trilha_nesting {
  bool nested;
  trilha_ticket *ticket; /* NULL: nested outside live delivery (a durable consumer's handler): it drains for itself */
  unsigned depth;
  bool traced; /* what is published here belongs to `trace` */
  trilha_trace trace;
} trilha_nesting;

trilha_status trilha_live_new(trilha_bus *bus, trilha_live **ret_live, trilha_error *err);
void trilha_live_free(trilha_live *live);

/* Whether the calling thread runs a handler of this bus. */
trilha_nesting trilha_live_nesting(trilha_live *live);
/* The commit hook: puts an entry for each stored item and each colony that listens. item->owner is the
 * trilha_live_owner. */
typedef struct trilha_live_owner {
  trilha_ticket *ticket;
  unsigned depth;
  const trilha_publication *publication; /* the full payload */
} trilha_live_owner;
void trilha_live_committed(void *user, trilha_append_item *const *items, size_t count);
/* Delivers until everything of this ticket is delivered. */
void trilha_live_drain(trilha_live *live, trilha_ticket *ticket);

/* trilha_protected_call() in a colony's turn of this thread, which is in the list of what runs; NULL: outside one. */
void trilha_protected_call_in_turn(trilha_bus *bus, const trilha_attempt *attempt, struct trilha_delivery *turn,
                                   trilha_outcome *ret_outcome);
void trilha_delivery_enter(trilha_live *live, struct trilha_delivery *delivery);
void trilha_delivery_leave(trilha_live *live, struct trilha_delivery *delivery);

#endif
