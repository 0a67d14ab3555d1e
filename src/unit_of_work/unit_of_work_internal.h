/* unit_of_work: the inside. Room: unit_of_work.
 *
 * Raised events form a chain: each has a number that grows and the mark that the transaction carried before it. The
 * mark that the database gives back before the commit is the last event that was not undone, and following the chain
 * from it finds all of them. So the database alone decides what a rollback to a savepoint undid, at the cost of one
 * number for each transaction.
 */
#ifndef TRILHA_UNIT_OF_WORK_UNIT_OF_WORK_INTERNAL_H
#define TRILHA_UNIT_OF_WORK_UNIT_OF_WORK_INTERNAL_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/diagnostics.h"
#include "base/error.h"
#include "base/uuid.h"
#include "unit_of_work/unit_of_work.h"

typedef struct trilha_raised {
  struct trilha_raised *next; /* in the queue of those that leave */
  int64_t number, before;     /* of the chain; 0: the first */
  bool kept;                  /* while the chain is followed */
  unsigned cascade;           /* handlers that this event comes out of */
  int64_t transaction, savepoint;
  char event_id[TRILHA_UUID_TEXT_SIZE];
  size_t type_size, payload_size;
  char bytes[]; /* type, payload */
} trilha_raised;

/* --- collector.c: the events of one transaction, by number --------------------------------------------------- */

typedef struct trilha_collector {
  trilha_raised **items;
  size_t count, capacity, bytes;
} trilha_collector;

/* Copies the event; the caller's until it is added or freed. INVALID, LIMIT, NO_MEMORY: nothing has changed. After it
 * one addition cannot fail. */
trilha_status trilha_collector_make(trilha_collector *c, const trilha_post_commit_event *event,
                                    trilha_raised **ret_raised, trilha_error *err) TRILHA_MUST_USE;
void trilha_collector_add(trilha_collector *c, trilha_raised *take_raised);
/* Frees the events with a larger number; returns how many. */
size_t trilha_collector_drop_after(trilha_collector *c, int64_t number);
/* Keeps the chain that ends with `mark`, each id once; returns how many were undone. Allocates nothing. */
size_t trilha_collector_keep(trilha_collector *c, int64_t mark);
/* All events in their order, as a list; the collector is empty afterwards. */
trilha_raised *trilha_collector_take(trilha_collector *c);
void trilha_collector_done(trilha_collector *c);
trilha_post_commit_event trilha_raised_event(const trilha_raised *raised);

/* --- the unit -------------------------------------------------------------------------------------------------- */

typedef struct trilha_unit_savepoint {
  int64_t number;      /* its generation */
  int64_t last_raised; /* the largest number of an event before it */
  unsigned depth;      /* of the call that made it */
} trilha_unit_savepoint;

struct trilha_unit_of_work {
  trilha_unit_store *store;
  trilha_unit_of_work_options options;

  unsigned depth;                   /* calls inside the transaction; 0: there is none */
  bool adopted;                     /* the outermost call is of somebody who began with SQL of his own */
  bool doomed;                      /* it can only be rolled back: a call that joined was, or its mark is not known */
  trilha_error over;                /* set: it has ended already, for this reason, and its calls have still to return */
  trilha_unit_of_work_result ended; /* with it: what the next call that returns is told */
  atomic_bool open, cancelled;      /* cancelled is set by any thread while `open` */
  trilha_deadline deadline;
  size_t undone;                                    /* events of the transaction that a savepoint took with it */
  int64_t transaction, last_savepoint, last_raised; /* numbers given so far */
  trilha_unit_savepoint *savepoints;
  size_t savepoint_count, savepoint_capacity;
  trilha_collector raised;

  trilha_raised *leaving, **leaving_tail; /* committed, not yet handled */
  bool handling;
  unsigned cascade; /* of the event that is being handled */
};

/* leave.c */
/* Lets everything that was collected leave; from inside a handler: behind what waits, after the handler's end. */
void trilha_unit_of_work_leave(trilha_unit_of_work *u, trilha_unit_of_work_result *result);
/* Reports everything that was collected, and forgets it; returns how many there were. */
size_t trilha_unit_of_work_report(trilha_unit_of_work *u, const char *reason);

#endif
