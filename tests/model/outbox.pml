/* The protocol of one outbox lane: producers, relays, an operator, a consumer with an inbox. Every interleaving within the bounds
 * below is walked by spin; README.md says what is proved and what each mutant takes away.
 *
 * One statement of SQL is one atomic step, as row locks and READ COMMITTED make it; a transaction is several steps, and what it
 * wrote is visible at its commit. Sources: sql/postgres/outbox (outbox_enqueue, outbox_claim, outbox_fetch, outbox_settle,
 * outbox_operate), src/relay. Time appears as "the lease ran out", which may happen whenever it can matter. */

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef EACH
#define EACH 2            /* messages a producer commits */
#endif
#ifndef RELAYS
#define RELAYS 2
#endif
#ifndef RUN
#define RUN 2             /* messages under one lease */
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 1       /* business transactions that change their mind */
#endif
#ifndef CRASHES
#define CRASHES 1         /* relays that die at any step */
#endif
#ifndef LATE
#define LATE 1            /* leases that run out under a relay that lives */
#endif
#ifndef FAILURES
#define FAILURES 2        /* sends that fail */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2        /* failures of a head before its lane is dead */
#endif
#define MESSAGES (PRODUCERS * EACH)
#define NOBODY 255
#define PRODUCER_ID(me) (100 + (me))

/* --- what the database holds, committed ------------------------------------------------------------------------------ */
byte last;                /* outbox_aggregate.last_sequence */
bool awake;               /* its bit for the destination: a lane row exists */
byte aggregate_lock = NOBODY;
bool stored[MESSAGES + 2]; /* outbox_message, by sequence */
mtype = { none, ready, leased, dead };
mtype lane = none;
byte head;
byte attempts;
byte lane_lock = NOBODY;
byte taken;               /* numbers given without the lock: only a mutant uses it */

/* Whether the address and token a relay was given are still the lane's. One that holds them has the lease. */
bool current[2];
bool expired;             /* the lease of the lane has run out */
bool orphan;              /* its holder is gone */

/* --- what the world saw ---------------------------------------------------------------------------------------------- */
byte reached;             /* sequences up to here were delivered or discarded */
bool inbox[MESSAGES + 2];
byte effects[MESSAGES + 2];
bool discarded[MESSAGES + 2];

byte done;                /* producers that have ended */
byte rollbacks, crashes, late, failures;
#ifdef MUTANT_NO_SCAN
bool hint;                /* a wake-up in flight; it may be lost */
#endif

#define claimable (lane_lock == NOBODY && (lane == ready || (lane == leased && expired)))
#define all_delivered (done == PRODUCERS && reached == last && lane == none)

/* --- producers ------------------------------------------------------------------------------------------------------- */
proctype producer(byte me) {
  byte left = EACH, mine;
  bool wake;
  do
  :: left > 0 ->
#ifdef MUTANT_NUMBER_WITHOUT_LOCK
     d_step { taken++; mine = taken }     /* a sequence object: numbers in the order of asking, not of commits */
     atomic { aggregate_lock == NOBODY -> aggregate_lock = PRODUCER_ID(me) }
#else
#ifdef MUTANT_WAKE_BEFORE_LOCK
     wake = !awake;
#endif
     atomic { aggregate_lock == NOBODY -> aggregate_lock = PRODUCER_ID(me); mine = last + 1 }
#endif
#ifndef MUTANT_WAKE_BEFORE_LOCK
     wake = !awake;                        /* under the lock, on the newest row */
#endif
     if
     :: rollbacks < ROLLBACKS ->
        atomic { rollbacks++; aggregate_lock = NOBODY }
     :: true ->
        atomic {                           /* COMMIT */
          if :: mine > last -> last = mine :: else fi;
          stored[mine] = true;
          if
          :: wake -> awake = true; if :: lane == none -> lane = ready; head = mine; attempts = 0 :: else fi
          :: else
          fi;
#ifdef MUTANT_NO_SCAN
          hint = true;
#endif
          aggregate_lock = NOBODY;
          left--; mine = 0; wake = false
        }
     fi
  :: left == 0 -> break
  od;
  done++
}

/* --- relays ---------------------------------------------------------------------------------------------------------- */
inline forget() { next = 0; upto = 0; failed = false; drained = false; found = false }

inline may_crash() {                       /* its session ends: locks and an open transaction go, the lease stays */
  if
  :: crashes < CRASHES -> atomic {
       crashes++;
       if :: current[me] -> orphan = true; current[me] = false :: else fi;
       if :: lane_lock == me -> lane_lock = NOBODY :: else fi;
       if :: aggregate_lock == me -> aggregate_lock = NOBODY :: else fi;
       goto again
     }
  :: true
  fi
}

inline release() {
  if :: next != head -> attempts = 0 :: else fi;
  head = next;
  if :: failed -> attempts++ :: else fi;
  if
  :: failed && attempts >= ATTEMPTS -> lane = dead
  :: else -> lane = ready
  fi
}

/* One message to the destination, which answers or does not. */
inline send(s) {
  assert(stored[s]);                       /* never what no commit made */
  assert(s <= reached + 1);                /* never past one that is not yet through */
  if
  :: failures < FAILURES -> failures++; failed = true
  :: true ->                               /* the consumer: effect and inbox in one transaction */
#ifdef MUTANT_NO_INBOX
     effects[s]++;
#else
     if :: !inbox[s] -> inbox[s] = true; effects[s]++ :: else fi;
#endif
     assert(effects[s] == 1);
     if :: s > reached -> reached = s :: else fi;
     next++
  fi
}

proctype relay(byte me) {
  byte next, upto;
  bool failed, drained, found;
again:
  atomic {
    forget();
    if
    :: all_delivered -> goto ended
#ifdef MUTANT_NO_SCAN
    :: hint && claimable -> hint = false   /* asleep until a wake-up says so */
#else
    :: claimable                           /* the scan is the truth */
#endif
    fi;
    /* outbox_claim */
    if
    :: lane == leased -> attempts++
    :: else -> assert(!current[0] && !current[1]) /* never a second holder beside one whose lease has not run out */
    fi;
    lane = leased; expired = false; orphan = false;
    current[0] = false; current[1] = false; current[me] = true;
    next = head
  }
  may_crash();
  atomic {                                 /* outbox_fetch: what is committed from the head on, at most RUN of it */
    upto = next;
    do
    :: upto < next + RUN && upto <= MESSAGES && stored[upto] -> upto++
    :: else -> break
    od;
    drained = (upto < next + RUN)
  }
  do
  :: next < upto && !failed ->
     atomic {
       send(next);
#ifdef MUTANT_GO_ON_AFTER_FAILURE
       if :: failed && next + 1 < upto -> failed = false; next++ :: else fi
#endif
     }
     may_crash()
  :: else -> break
  od;
  atomic {                                 /* outbox_settle: the lane's row, if it is still ours */
    lane_lock == NOBODY;
    if
#ifdef MUTANT_NO_TOKEN
    :: lane == leased -> lane_lock = me
#else
    :: lane == leased && current[me] -> lane_lock = me
#endif
    :: else -> goto again
    fi
  }
  may_crash();
  if
  :: !failed && drained ->
#ifdef MUTANT_LOOK_BEFORE_LOCK
     found = stored[next];
#endif
     atomic {                              /* SKIP LOCKED */
#ifdef MUTANT_PARK_WITHOUT_LOCK
       skip
#else
       if :: aggregate_lock == NOBODY -> aggregate_lock = me :: else -> drained = false fi
#endif
     }
     if
     :: drained ->
#ifndef MUTANT_LOOK_BEFORE_LOCK
        found = stored[next];              /* a statement of its own, after the lock */
#endif
        may_crash();
        atomic {                           /* COMMIT: parked, or kept for what was found */
          assert(next <= reached + 1);
          if :: !found -> lane = none; awake = false; head = 0; attempts = 0
             :: else -> release()
          fi;
          if :: aggregate_lock == me -> aggregate_lock = NOBODY :: else fi;
          lane_lock = NOBODY; current[me] = false;
          goto again
        }
     :: else
     fi
  :: else
  fi;
  atomic {                                 /* COMMIT: ready, waiting for its next attempt, or dead */
    assert(next <= reached + 1);           /* a head never passes what was not delivered */
    release();
    lane_lock = NOBODY; current[me] = false;
    goto again
  }
ended:
  skip
}

/* --- time and people ------------------------------------------------------------------------------------------------- */
/* A lease may run out under a relay that lives, which then is late; it does run out when its relay is gone. The operator retries a
 * dead head as it is, or discards it with a reason. */
active proctype surroundings() {
  do
  :: all_delivered -> break
  :: atomic { lane == leased && !expired && lane_lock == NOBODY && orphan -> expired = true }
  :: atomic { lane == leased && !expired && lane_lock == NOBODY && late < LATE -> late++; expired = true }
  :: atomic { lane == dead && lane_lock == NOBODY -> lane = ready; attempts = 0 }
  :: atomic { lane == dead && lane_lock == NOBODY ->
       discarded[head] = true;
       if :: head > reached -> reached = head :: else fi;
       head++; lane = ready; attempts = 0 }
#ifdef MUTANT_NO_SCAN
  :: hint -> hint = false                  /* a wake-up may be lost on the way */
#endif
  od
}

/* When nobody can move, everything is through: a lost wake-up is a state where somebody still waits, which spin reports as an
 * invalid end state. */
init {
  atomic {
    run producer(0);
#if PRODUCERS > 1
    run producer(1);
#endif
    run relay(0);
#if RELAYS > 1
    run relay(1)
#endif
  }
  all_delivered;
  byte s = 1;
  do
  :: s <= last -> assert(stored[s]); assert(effects[s] == 1 || discarded[s]); s++
  :: else -> break
  od
}
