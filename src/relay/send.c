/* relay/send: one message of each lane under way, many lanes at once. A lane's next message is begun only when the one
 * before it was accepted, and only under a lease that outlives it: order within the lane is strict, whatever the
 * transport does. */
#include <stdio.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/hash.h"
#include "relay/relay_internal.h"

static trilha_text absent_when_empty(const char *text) {
  return *text == '\0' ? (trilha_text){0} : trilha_text_of(text);
}

static void write_envelope(trilha_sending *lane) {
  const trilha_outbox_row *row = &lane->messages[lane->at];
  const trilha_lane_lease *lease = lane->lease;
  unsigned char digest[TRILHA_SHA256_SIZE];
  trilha_timestamp_format(row->occurred_at_us, lane->occurred_at);
  trilha_sha256(row->payload, digest);
  trilha_hex(digest, sizeof digest, lane->payload_sha256);
  lane->envelope = (trilha_envelope){.destination = lane->round->transport->destination,
                                     .message_id = trilha_text_of(row->message_id),
                                     .tenant_id = lease->tenant_id,
                                     .company_id = row->company_id,
                                     .aggregate_type = lease->aggregate_type,
                                     .aggregate_key = lease->aggregate_key,
                                     .aggregate_sequence = row->aggregate_sequence,
                                     .previous_sequence = row->previous_sequence,
                                     .message_type = row->message_type,
                                     .version = row->version,
                                     .origin = row->origin,
                                     .correlation_id = trilha_text_of(row->correlation_id),
                                     .causation_id = absent_when_empty(row->causation_id),
                                     .traceparent = row->traceparent,
                                     .occurred_at = trilha_text_of(lane->occurred_at),
                                     .payload = row->payload,
                                     .revision = row->revision,
                                     .payload_sha256 = trilha_text_of(lane->payload_sha256),
                                     .attempt = (lane->at == 0 ? lease->attempts : 0) + 1,
                                     .timeout_ms = lane->round->worker->relay->options.timeout_ms};
}

/* --- leases ---------------------------------------------------------------------------------------------------- */

static trilha_status renew_below(trilha_sending *lane, int64_t needed_ms) {
  const trilha_relay_options *o = &lane->round->worker->relay->options;
  trilha_outbox_store *store = lane->round->worker->store;
  if (trilha_deadline_left_ms(lane->lease_end, INT64_MAX) > needed_ms) return TRILHA_OK;
  trilha_deadline fresh = trilha_deadline_in_ms(o->lease_ms);
  trilha_error why = {0};
  trilha_status status = store->op->renew(store, lane->round->transport->destination, lane->lease, o->lease_ms, &why);
  if (status == TRILHA_OK) lane->lease_end = fresh;
  return status;
}

/* Somebody else has it, or the database is away and the lease runs out: nothing more may be done with it. */
static void let_go(trilha_sending *lane) {
  trilha_relay_count_lost(lane->round, lane);
  trilha_relay_close_lane(lane);
}

void trilha_relay_renew_waiting(trilha_relay_round *round) {
  const trilha_relay_options *o = &round->worker->relay->options;
  if (round->waiting.count == 0 || !trilha_deadline_passed(round->renew_by)) return;
  round->renew_by = trilha_deadline_in_ms(o->margin_ms / 4);
  for (size_t left = round->waiting.count; left > 0; left--) {
    trilha_sending *lane = trilha_relay_take(&round->waiting);
    if (renew_below(lane, o->margin_ms) == TRILHA_OK)
      trilha_relay_put(&round->waiting, lane);
    else
      let_go(lane);
  }
}

/* --- beginning -------------------------------------------------------------------------------------------------- */

static void give_back(trilha_sending *lane) {
  lane->outcome.drained = false; /* something is left in it */
  trilha_relay_finish(lane);
}

void trilha_relay_give_back(trilha_relay_round *round) {
  for (trilha_sending *lane = trilha_relay_take(&round->waiting); lane != NULL;
       lane = trilha_relay_take(&round->waiting))
    give_back(lane);
}

void trilha_relay_send_now(trilha_sending *lane) {
  const trilha_transport *transport = lane->round->transport;
  trilha_send_result result = {0};
  result.status = transport->send(transport->user, &lane->envelope, &result.error);
  trilha_sending_done(lane, &result);
}

/* False: it was not begun, and no other can be now. */
static bool begin(trilha_sending *lane) {
  trilha_relay_round *round = lane->round;
  const trilha_transport *transport = round->transport;
  write_envelope(lane);
  round->sending++;
  if (TRILHA_FAULT("relay.send.before")) {
    trilha_send_result result = {.status = TRILHA_UNAVAILABLE};
    trilha_error_set(&result.error, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.send.before");
    trilha_sending_done(lane, &result);
  } else if (transport->begin != NULL) {
    transport->begin(transport->user, &lane->envelope, lane);
  } else if (transport->at_once == 1 || !trilha_relay_senders_give(&round->senders, lane, transport->at_once)) {
    trilha_relay_send_now(lane);
    return false; /* the loop looks at the time between two that were sent here */
  }
  return true;
}

static bool has_room(const trilha_relay_round *round) {
  const trilha_transport *transport = round->transport;
  return transport->begin != NULL || round->sending < transport->at_once;
}

static bool is_held(const trilha_relay_round *round) {
  int64_t again_ms = 0;
  return round->transport->capacity != NULL && round->transport->capacity(round->transport->user, &again_ms) == 0;
}

/* A send may begin only when it ends, with the margin, under the lease. */
void trilha_relay_dispatch(trilha_relay_round *round) {
  const trilha_relay_options *o = &round->worker->relay->options;
  int64_t needed_ms = (int64_t)o->timeout_ms + o->margin_ms;
  for (bool more = true; more && round->waiting.count > 0 && has_room(round);) {
    trilha_sending *lane = trilha_relay_take(&round->waiting);
    if (trilha_relay_stops(round->worker->relay) || is_held(round))
      give_back(lane);
    else if (renew_below(lane, needed_ms) != TRILHA_OK)
      let_go(lane);
    else
      more = begin(lane);
  }
}

/* --- arriving ----------------------------------------------------------------------------------------------------- */

void trilha_sending_done(trilha_sending *take_sending, const trilha_send_result *result) {
  trilha_relay_worker *worker = take_sending->round->worker;
  take_sending->result = *result;
  pthread_mutex_lock(&worker->lock);
  trilha_relay_put(&worker->arrived, take_sending);
  /* Under the lock: once it is free, the worker may see the lane, come to its end and be gone. */
  if (!pthread_equal(worker->thread, pthread_self())) trilha_relay_wake_worker(worker);
  pthread_mutex_unlock(&worker->lock);
}

void trilha_relay_arrived(trilha_sending *lane) {
  trilha_relay_round *round = lane->round;
  const trilha_outbox_row *row = &lane->messages[lane->at];
  trilha_status status = lane->result.status;
  round->sending--;
  if (TRILHA_FAULT("relay.send.after")) {
    status = TRILHA_UNAVAILABLE;
    trilha_error_clear(&lane->result.error);
    trilha_error_set(&lane->result.error, status, "FAULT", "fault point relay.send.after");
  }
  if (status != TRILHA_OK && lane->result.held) {
    give_back(lane);
  } else if (status != TRILHA_OK) {
    lane->outcome.next_sequence = row->aggregate_sequence;
    trilha_relay_fail(lane, status, lane->envelope.attempt);
    trilha_relay_finish(lane);
  } else {
    atomic_fetch_add(&round->worker->relay->sent, 1);
    lane->outcome.next_sequence = row->aggregate_sequence + 1;
    if (++lane->at < lane->count)
      trilha_relay_put(&round->waiting, lane);
    else
      trilha_relay_finish(lane);
  }
}
