/* relay: the inside. Room: relay. */
#ifndef TRILHA_RELAY_RELAY_INTERNAL_H
#define TRILHA_RELAY_RELAY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/diagnostics.h"
#include "relay/relay.h"

enum {
  TRILHA_RELAY_SETTLE_AFTER_MS = 10,  /* a lane that is done waits at most this long for others to be settled with it */
  TRILHA_RELAY_SETTLE_TRIES_MAX = 5,  /* then its lease runs out, and its messages are sent again */
  TRILHA_RELAY_STORE_PAUSE_MS = 1000, /* after an error of the database that may pass */
  TRILHA_RELAY_AT_ONCE = 8,           /* sends of a transport that does not say how many it bears */
  TRILHA_RELAY_FLOOR_LOOKS_MAX = 16,  /* every so many looks at a tenant that gives its share begin at its first lane */
  TRILHA_RELAY_IDLE_SHARE = 8,        /* an idle relay sleeps this part of the time it was idle */
  TRILHA_RELAY_ERROR_TEXT_BYTES_MAX = 1000
};

typedef struct trilha_relay_worker trilha_relay_worker;
typedef struct trilha_relay_round trilha_relay_round;
typedef struct trilha_relay_group trilha_relay_group;

/* A lane under our lease. It is in one place at a time: waiting for its turn, being sent (then the transport's, until
 * trilha_sending_done), arrived, finished. */
struct trilha_sending {
  trilha_sending *next; /* in the queue it is in */
  trilha_relay_round *round;
  trilha_relay_group *group;
  trilha_lane_lease *lease;
  trilha_deadline lease_end;   /* on our own clock, from before it was asked for: never later than the database's */
  trilha_outbox_row *messages; /* the run */
  size_t count, at;            /* of messages; the one that is next or under way */
  trilha_envelope envelope;
  char occurred_at[TRILHA_TIMESTAMP_SIZE], payload_sha256[65];
  char credential[TRILHA_OUTBOX_CREDENTIAL_SIZE]; /* that was checked for the next message; "": none was asked for */
  trilha_status granted; /* what the outbox says of the next message, where it asks for a grant */
  trilha_send_result result;
  trilha_lane_outcome outcome; /* what is to be settled; its texts are the result's */
};

typedef struct trilha_relay_queue { /* first in, first out; lanes are borrowed */
  trilha_sending *head, *tail;
  size_t count;
} trilha_relay_queue;
void trilha_relay_put(trilha_relay_queue *queue, trilha_sending *lane);
trilha_sending *trilha_relay_take(trilha_relay_queue *queue); /* NULL: empty */

/* What one claim gave, freed when the last of its lanes is closed. */
struct trilha_relay_group {
  trilha_arena arena;
  trilha_lane_lease *leases;
  trilha_sending *lanes;
  size_t count, open;
};

/* Threads for a transport that sends one at a call. */
typedef struct trilha_relay_senders {
  pthread_mutex_t lock; /* guards what follows; never held across a send */
  pthread_cond_t some;
  trilha_relay_queue jobs;
  pthread_t threads[TRILHA_TRANSPORT_AT_ONCE_MAX];
  unsigned started, idle;
  bool ending;
} trilha_relay_senders;
void trilha_relay_senders_init(trilha_relay_senders *senders);
/* Waits for the sends under way. */
void trilha_relay_senders_done(trilha_relay_senders *senders);
/* False: no thread could be had, and none is there. */
bool trilha_relay_senders_give(trilha_relay_senders *senders, trilha_sending *lane, unsigned threads_max);

/* From where on a tenant is looked at. */
typedef struct trilha_relay_floor {
  trilha_tenant_floor at; /* the name is this object's own */
  bool from_first;        /* in the claim under way */
  bool quiet;             /* the last look took whatever it could see */
  unsigned looks;         /* behind the floor, since the last one from the first lane */
  trilha_deadline full_by;
} trilha_relay_floor;

/* Of the tenants that gave lanes lately; of one round, and so of one thread. See floors.c. */
typedef struct trilha_relay_floors {
  trilha_relay_floor *all; /* sorted by name */
  size_t count, room;
  trilha_tenant_floor *given; /* of the claim under way; names are borrowed from `all` */
  size_t given_max;
  bool floored;    /* of those, one at least is not looked at from its first lane */
  bool all_first;  /* the next claim looks at each from its first lane */
  int64_t scan_ms; /* the longest between two looks from the first lane, while nothing more is due */
  int64_t begun_ns;
} trilha_relay_floors;
/* False: no memory. `lanes`: most of one claim. */
bool trilha_relay_floors_init(trilha_relay_floors *floors, size_t lanes, int64_t scan_ms) TRILHA_MUST_USE;
void trilha_relay_floors_done(trilha_relay_floors *floors);
/* Fills in what the claim is to be given, and hears what it finds. Borrowed until the claim is over. */
void trilha_relay_floors_give(trilha_relay_floors *floors, trilha_claim *claim);
/* When the next look from a first lane is due of a tenant in which nothing was. */
trilha_deadline trilha_relay_floors_next(const trilha_relay_floors *floors);

/* One destination's part of one worker: everything here is the worker thread's, but the senders' own. */
struct trilha_relay_round {
  trilha_relay_worker *worker;
  const trilha_transport *transport;
  char after[1024]; /* where the round of tenants stands; a tenant has at most 255 characters; "": the beginning */
  trilha_relay_queue waiting, finished;
  size_t open, sending;          /* lanes under lease; of those, with the transport */
  trilha_lane_outcome *outcomes; /* room for as many as may be open, as the next two */
  trilha_service_grant *asked;
  trilha_service_answer *answers;
  trilha_relay_floors floors;
  trilha_deadline settle_by, claim_by, renew_by;
  int64_t busy_ns;        /* when something was last due */
  bool barren;            /* the last claims gave nothing … */
  bool floored;           /* … and looked at one tenant at least from behind its floor */
  bool wrapped;           /* … and came by the end of the list */
  char barren_from[1024]; /* … beginning behind this tenant */
  bool dry;               /* a whole round of tenants gave nothing, each looked at from its first lane */
  trilha_relay_senders senders;
};

struct trilha_relay_worker {
  trilha_relay *relay;
  trilha_outbox_store *store;
  trilha_relay_round *rounds;
  pthread_t thread;
  int wake_fd; /* an eventfd: something arrived, or somebody rang */
  atomic_bool rung;
  pthread_mutex_t lock; /* guards arrived */
  trilha_relay_queue arrived;
};

struct trilha_relay {
  trilha_relay_options options; /* with defaults filled in; url and schema are this object's own */
  trilha_relay_opener open;
  trilha_transport *transports;
  char *url, *schema, *credential;
  char owner[64];     /* host:pid:random, for operators */
  char *destinations; /* their names, for operators */

  pthread_mutex_t lock; /* guards workers, worker_count and first_error; never held across I/O */
  trilha_relay_worker *workers;
  unsigned worker_count;
  trilha_error first_error;

  atomic_bool stopping;
  atomic_bool draining;    /* takes no more, finishes what it holds, and ends */
  atomic_bool path_told;   /* that another path has a type, once */
  atomic_bool unheard;     /* it could not say that it is there, which was told */
  _Atomic int64_t beat_ns; /* when it is to be said again, by the monotonic clock */
  _Atomic int64_t sent, failed, dead, leases_lost;
  trilha_relay_counts
      told; /* of those, what the outbox knows; of the thread that tells, and `telling` says that one does */
  atomic_bool telling;
  bool declared; /* what its transports guarantee is said; of the thread that tells */
};

static inline bool trilha_relay_stops(const trilha_relay *relay) {
  return atomic_load(&relay->stopping);
}

/* Whether lanes may still be claimed. */
static inline bool trilha_relay_takes_more(const trilha_relay *relay) {
  return !trilha_relay_stops(relay) && !atomic_load(&relay->draining);
}

/* What it says of itself, for operators: constant text. */

/* presence.c */
/* Says in the outbox that the relay is there, when it is time; by then the worker's store is open. */
void trilha_relay_beat(trilha_relay_worker *worker);
trilha_deadline trilha_relay_next_beat(const trilha_relay *relay);
/* It has come to its end. After its threads. */
void trilha_relay_leave(trilha_relay *relay);

/* claim.c. Leases what is due, as far as there is room, and puts it into `waiting`. */
trilha_status trilha_relay_claim(trilha_relay_round *round, trilha_error *err) TRILHA_MUST_USE;
void trilha_relay_close_lane(trilha_sending *lane);
/* Milliseconds of sleep after `idle_ms` without anything due. */
int64_t trilha_relay_idle_pause_ms(int64_t idle_ms, int64_t scan_ms);

/* grant.c. Whether the next messages of the first `lanes` that wait may be sent now, as far as the outbox asks for
 * grants: into lane->granted. Anything else than OK is that message's failure, and stands in the lane's result. */
void trilha_relay_ask_for_grants(trilha_relay_round *round, size_t lanes);

/* send.c */
/* Begins as many sends as may be begun. */
void trilha_relay_dispatch(trilha_relay_round *round);
/* What came of one send: on to the lane's next message, or to be settled. */
void trilha_relay_arrived(trilha_sending *lane);
/* Leases of lanes that wait for their turn. */
void trilha_relay_renew_waiting(trilha_relay_round *round);
/* Every waiting lane back, untouched. */
void trilha_relay_give_back(trilha_relay_round *round);
/* The transport's send, on this thread, and what it gave into the lane's result. */
void trilha_relay_send_now(trilha_sending *lane);

/* settle.c */
/* A lane whose outcome is known waits to be settled with others that end soon. */
void trilha_relay_finish(trilha_sending *lane);
void trilha_relay_fail(trilha_sending *lane, trilha_status status, int64_t failures);
void trilha_relay_count_lost(trilha_relay_round *round, const trilha_sending *lane);
trilha_status trilha_relay_settle(trilha_relay_round *round, trilha_error *err) TRILHA_MUST_USE;

/* work.c. A worker's loop, until it is stopped, `once`, or an error that does not pass by itself. */
trilha_status trilha_relay_worker_work(trilha_relay_worker *worker, trilha_error *err) TRILHA_MUST_USE;
void trilha_relay_wake_worker(trilha_relay_worker *worker);

/* The pause before attempt `failures` + 1: uniform from 0 to the smaller of backoff_max and backoff doubled for each
 * failure but the first. */
int64_t trilha_relay_backoff_ms(const trilha_relay_options *options, int64_t failures);

#endif
