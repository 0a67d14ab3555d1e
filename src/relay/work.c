/* relay/work: a worker's loop: what arrived, what may be begun, what is to be settled, what is due, and sleep. One
 * thread owns it all; transports and senders only hand lanes back. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "relay/relay_internal.h"

void trilha_relay_wake_worker(trilha_relay_worker *worker) {
  uint64_t one = 1;
  ssize_t written = write(worker->wake_fd, &one, sizeof one);
  (void)written; /* only fails when the counter is full: then it is awake anyway */
}

static size_t rounds_of(const trilha_relay_worker *w) {
  return w->relay->options.transport_count;
}

/* --- one turn ------------------------------------------------------------------------------------------------- */

static void collect(trilha_relay_worker *w) {
  pthread_mutex_lock(&w->lock);
  trilha_relay_queue arrived = w->arrived;
  w->arrived = (trilha_relay_queue){0};
  pthread_mutex_unlock(&w->lock);
  for (trilha_sending *lane = trilha_relay_take(&arrived); lane != NULL; lane = trilha_relay_take(&arrived))
    trilha_relay_arrived(lane);
}

/* Together with others that end soon: one transaction for many. */
static bool is_time_to_settle(const trilha_relay_round *round) {
  size_t lanes = round->worker->relay->options.lanes;
  return round->finished.count > 0 && (round->finished.count == round->open || 2 * round->finished.count >= lanes ||
                                       trilha_deadline_passed(round->settle_by));
}

static trilha_status turn(trilha_relay_round *round, trilha_error *err) {
  const trilha_relay *relay = round->worker->relay;
  trilha_status status = TRILHA_OK;
  if (trilha_relay_stops(relay)) trilha_relay_give_back(round);
  trilha_relay_renew_waiting(round);
  trilha_relay_dispatch(round);
  if (is_time_to_settle(round)) status = trilha_relay_settle(round, err);
  if (status == TRILHA_OK && trilha_relay_takes_more(relay)) status = trilha_relay_claim(round, err);
  return status;
}

static trilha_status go_round(trilha_relay_worker *w, trilha_error *err) {
  trilha_status status = TRILHA_OK;
  collect(w);
  for (size_t i = 0; status == TRILHA_OK && i < rounds_of(w); i++) status = turn(&w->rounds[i], err);
  return status;
}

/* --- sleeping ---------------------------------------------------------------------------------------------------- */

static bool has_arrived(trilha_relay_worker *w) {
  pthread_mutex_lock(&w->lock);
  bool some = w->arrived.count > 0;
  pthread_mutex_unlock(&w->lock);
  return some;
}

static bool may_begin(const trilha_relay_round *round) {
  return round->waiting.count > 0 && (round->transport->begin != NULL || round->sending < round->transport->at_once);
}

/* When there is something to do without anything arriving. */
static trilha_deadline next_turn(const trilha_relay_worker *w) {
  trilha_deadline next = trilha_relay_next_beat(w->relay);
  for (size_t i = 0; i < rounds_of(w); i++) {
    const trilha_relay_round *round = &w->rounds[i];
    bool full = round->open == w->relay->options.lanes;
    if (may_begin(round) || is_time_to_settle(round)) return trilha_deadline_in_ms(0);
    if (round->finished.count > 0) next = trilha_deadline_earlier(next, round->settle_by);
    if (round->waiting.count > 0) next = trilha_deadline_earlier(next, round->renew_by);
    if (!full && trilha_relay_takes_more(w->relay)) next = trilha_deadline_earlier(next, round->claim_by);
  }
  return next;
}

/* Somebody says that there is something: as after a claim that found some. */
static void look_now(trilha_relay_worker *w) {
  int64_t now = trilha_clock_monotonic_ns();
  for (size_t i = 0; i < rounds_of(w); i++) {
    w->rounds[i].claim_by = trilha_deadline_in_ms(0);
    w->rounds[i].busy_ns = now;
  }
}

static void sleep_until(trilha_relay_worker *w, trilha_deadline until) {
  int64_t ms = trilha_deadline_left_ms(until, 3600000);
  if (ms > 0 && !has_arrived(w)) {
    struct pollfd fds[] = {{.fd = w->wake_fd, .events = POLLIN}};
    if (poll(fds, 1, (int)ms) > 0) {
      uint64_t times;
      ssize_t got = read(w->wake_fd, &times, sizeof times);
      (void)got; /* not there after all: the loop looks anyway */
    }
  }
  if (atomic_exchange(&w->rung, false)) look_now(w);
}

/* --- the loop ------------------------------------------------------------------------------------------------------
 */

static size_t sum_of(const trilha_relay_worker *w, bool sending_only) {
  size_t lanes = 0;
  for (size_t i = 0; i < rounds_of(w); i++) lanes += sending_only ? w->rounds[i].sending : w->rounds[i].open;
  return lanes;
}

static bool is_dry(const trilha_relay_worker *w) {
  for (size_t i = 0; i < rounds_of(w); i++)
    if (!w->rounds[i].dry) return false;
  return sum_of(w, false) == 0;
}

static bool is_done(const trilha_relay_worker *w) {
  bool drained = atomic_load(&w->relay->draining) && sum_of(w, false) == 0;
  return drained || (w->relay->options.once && is_dry(w));
}

static void close_all(trilha_relay_queue *queue) {
  for (trilha_sending *lane = trilha_relay_take(queue); lane != NULL; lane = trilha_relay_take(queue))
    trilha_relay_close_lane(lane);
}

/* After an error of the store: what is under way is waited for, and every lease runs out by itself. */
static void abandon(trilha_relay_worker *w) {
  for (;;) {
    collect(w);
    for (size_t i = 0; i < rounds_of(w); i++) {
      close_all(&w->rounds[i].waiting);
      close_all(&w->rounds[i].finished);
    }
    if (sum_of(w, true) == 0) return;
    sleep_until(w, TRILHA_NO_DEADLINE);
  }
}

static bool passes_by_itself(trilha_status status) {
  return status == TRILHA_UNAVAILABLE || status == TRILHA_TIMEOUT || status == TRILHA_OUTCOME_UNKNOWN;
}

static void wait_for_store(trilha_relay_worker *w, const trilha_error *why) {
  trilha_fields fields = {0};
  trilha_fields_error(&fields, why);
  trilha_emit(&w->relay->options.outbox.diagnostics, TRILHA_WARNING, "relay.store_away",
              "the outbox's database cannot be used now; the relay waits for it", &fields);
  if (!trilha_relay_stops(w->relay)) sleep_until(w, trilha_deadline_in_ms(TRILHA_RELAY_STORE_PAUSE_MS));
  look_now(w);
}

static trilha_status work(trilha_relay_worker *w, trilha_error *err) {
  trilha_relay *relay = w->relay;
  while (!trilha_relay_stops(relay) || sum_of(w, false) > 0) {
    trilha_error own = {0};
    trilha_status status = w->store == NULL ? relay->open(&relay->options.outbox, &w->store, &own) : TRILHA_OK;
    if (status == TRILHA_OK) trilha_relay_beat(w);
    if (status == TRILHA_OK) status = go_round(w, &own);
    if (status != TRILHA_OK) {
      abandon(w);
      if (!passes_by_itself(status) || relay->options.once) return trilha_error_copy(err, &own);
      wait_for_store(w, &own);
    } else if (is_done(w)) {
      return TRILHA_OK;
    } else if (!trilha_relay_stops(relay) || sum_of(w, false) > 0) { /* else the last lane was settled just now */
      sleep_until(w, next_turn(w));
    }
  }
  return TRILHA_OK;
}

static bool make_room(trilha_relay_round *round) {
  const trilha_relay_options *o = &round->worker->relay->options;
  round->outcomes = calloc(o->lanes, sizeof *round->outcomes);
  round->asked = calloc(o->lanes, sizeof *round->asked);
  round->answers = calloc(o->lanes, sizeof *round->answers);
  bool floors = trilha_relay_floors_init(&round->floors, o->lanes, o->scan_ms);
  return floors && round->outcomes != NULL && round->asked != NULL && round->answers != NULL;
}

static void free_room(trilha_relay_round *round) {
  trilha_relay_floors_done(&round->floors);
  free(round->outcomes);
  free(round->asked);
  free(round->answers);
}

static trilha_status make_rounds(trilha_relay_worker *w, trilha_error *err) {
  trilha_status status = TRILHA_OK;
  w->rounds = calloc(rounds_of(w), sizeof *w->rounds);
  if (w->rounds == NULL) return trilha_error_no_memory(err);
  for (size_t i = 0; i < rounds_of(w); i++) {
    trilha_relay_round *round = &w->rounds[i];
    *round = (trilha_relay_round){
        .worker = w, .transport = &w->relay->transports[i], .busy_ns = trilha_clock_monotonic_ns()};
    trilha_relay_senders_init(&round->senders);
    if (!make_room(round)) status = trilha_error_no_memory(err);
  }
  return status;
}

trilha_status trilha_relay_worker_work(trilha_relay_worker *worker, trilha_error *err) {
  worker->thread = pthread_self();
  trilha_status status = make_rounds(worker, err);
  if (status == TRILHA_OK) status = work(worker, err);
  for (size_t i = 0; worker->rounds != NULL && i < rounds_of(worker); i++) {
    trilha_relay_senders_done(&worker->rounds[i].senders);
    free_room(&worker->rounds[i]);
  }
  free(worker->rounds);
  return status; /* the store is closed after all threads: the relay still takes its leave */
}
