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

static int64_t attempt_of(const trilha_sending *lane) {
  return (lane->at == 0 ? lane->lease->attempts : 0) + 1;
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
                                     .attempt = attempt_of(lane),
                                     .timeout_ms = lane->round->worker->relay->options.timeout_ms,
                                     .credential = absent_when_empty(lane->credential)};
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

/* --- ending ----------------------------------------------------------------------------------------------------- */

/* The lane's message at hand failed: the lane is settled with it as its head. */
static void end_with_failure(trilha_sending *lane, trilha_status status, int64_t attempt) {
  lane->outcome.next_sequence = lane->messages[lane->at].aggregate_sequence;
  trilha_relay_fail(lane, status, attempt);
  trilha_relay_finish(lane);
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

/* How many of those that wait may be begun now. */
static size_t room_in(const trilha_relay_round *round) {
  const trilha_transport *transport = round->transport;
  size_t room = transport->begin != NULL              ? round->waiting.count
                : round->sending < transport->at_once ? transport->at_once - round->sending
                                                      : 0;
  return room < round->waiting.count ? room : round->waiting.count;
}

static bool is_held(const trilha_relay_round *round) {
  int64_t again_ms = 0;
  return round->transport->capacity != NULL && round->transport->capacity(round->transport->user, &again_ms) == 0;
}

/* Another dispatcher has the message's type: two live paths would repeat its effect. The lane is put aside until the
 * path is taken over (requirement O25). */
static void put_aside(trilha_sending *lane) {
  const trilha_outbox_row *row = &lane->messages[lane->at];
  trilha_relay *relay = lane->round->worker->relay;
  trilha_error *why = &lane->result.error;
  trilha_error_clear(why);
  trilha_error_set(why, TRILHA_CONFLICT, "PATH_HELD",
                   "%.*s still delivers %.*s: stop it, then `trilha outbox take` (`trilha outbox paths` lists what is "
                   "held)",
                   (int)row->held_by.size, row->held_by.data, (int)row->message_type.size, row->message_type.data);
  lane->outcome.held = true;
  lane->outcome.next_sequence = row->aggregate_sequence;
  lane->outcome.code = trilha_text_of(why->code);
  lane->outcome.text = trilha_text_of(why->text);
  if (!atomic_exchange(&relay->path_told, true)) {
    trilha_fields fields = {0};
    trilha_fields_text(&fields, "holder", row->held_by);
    trilha_fields_text(&fields, "type", row->message_type);
    trilha_emit(
        &relay->options.outbox.diagnostics, TRILHA_WARNING, "relay.path_held",
        "another dispatcher still delivers a type of this outbox: lanes that begin with one are put aside until "
        "it is taken over",
        &fields);
  }
  trilha_relay_finish(lane);
}

/* SQLite keeps bytes that are no text as a text, and an id of any length: no destination gets what only looks like a
 * message. */
static bool is_malformed(const trilha_sending *lane) {
  const trilha_outbox_row *row = &lane->messages[lane->at];
  const trilha_lane_lease *lease = lane->lease;
  const trilha_text texts[] = {row->payload,         lease->tenant_id,  lease->aggregate_type,
                               lease->aggregate_key, row->message_type, row->origin,
                               row->version,         row->company_id,   row->traceparent};
  bool whole = row->message_id[0] != '\0' && row->correlation_id[0] != '\0';
  for (size_t i = 0; whole && i < sizeof texts / sizeof texts[0]; i++)
    whole = texts[i].size == 0 || trilha_utf8_valid(texts[i].data, texts[i].size);
  return !whole;
}

static void refuse_malformed(trilha_sending *lane) {
  trilha_error *why = &lane->result.error;
  trilha_error_clear(why);
  trilha_error_set(why, TRILHA_INVALID, "MESSAGE_MALFORMED",
                   "an id of this message is none, or a text is no UTF-8: it can only be discarded");
  end_with_failure(lane, TRILHA_INVALID, attempt_of(lane));
}

/* A send may begin only when it ends, with the margin, under the lease. False: no other can be begun now. */
static bool dispatch_next(trilha_relay_round *round) {
  const trilha_relay_options *o = &round->worker->relay->options;
  int64_t needed_ms = (int64_t)o->timeout_ms + o->margin_ms;
  trilha_sending *lane = trilha_relay_take(&round->waiting);
  if (trilha_relay_stops(round->worker->relay) || is_held(round))
    give_back(lane);
  else if (lane->messages[lane->at].held_by.data != NULL)
    put_aside(lane);
  else if (is_malformed(lane))
    refuse_malformed(lane);
  else if (lane->granted != TRILHA_OK)
    end_with_failure(lane, lane->granted, attempt_of(lane));
  else if (renew_below(lane, needed_ms) != TRILHA_OK)
    let_go(lane);
  else
    return begin(lane);
  return true;
}

/* As many as there is room for are asked for together, then begun; whatever stays is asked for again in its turn. */
void trilha_relay_dispatch(trilha_relay_round *round) {
  bool more = true;
  for (size_t wave = room_in(round); more && wave > 0; wave = room_in(round)) {
    trilha_relay_ask_for_grants(round, wave);
    for (size_t i = 0; more && i < wave; i++) more = dispatch_next(round);
  }
}

/* --- arriving ----------------------------------------------------------------------------------------------------- */

void trilha_sending_done(trilha_sending *take_sending, const trilha_send_result *result) {
  trilha_relay_worker *worker = take_sending->round->worker;
  take_sending->result = *result;
  pthread_mutex_lock(&worker->lock);
  bool first = worker->arrived.count == 0; /* the worker takes all that is there: only the first has to wake it */
  trilha_relay_put(&worker->arrived, take_sending);
  /* Under the lock: once it is free, the worker may see the lane, come to its end and be gone. */
  if (first && !pthread_equal(worker->thread, pthread_self())) trilha_relay_wake_worker(worker);
  pthread_mutex_unlock(&worker->lock);
}

/* Nothing of a message is there when the lane's next one begins, or another lane's. */
static int64_t end_scope(trilha_sending *lane) {
  int64_t attempt = lane->envelope.attempt;
  lane->envelope = (trilha_envelope){0};
  return attempt;
}

void trilha_relay_arrived(trilha_sending *lane) {
  trilha_relay_round *round = lane->round;
  const trilha_outbox_row *row = &lane->messages[lane->at];
  trilha_status status = lane->result.status;
  int64_t attempt = end_scope(lane);
  round->sending--;
  if (TRILHA_FAULT("relay.send.after")) {
    status = TRILHA_UNAVAILABLE;
    trilha_error_clear(&lane->result.error);
    trilha_error_set(&lane->result.error, status, "FAULT", "fault point relay.send.after");
  }
  if (status != TRILHA_OK && lane->result.held) {
    give_back(lane);
  } else if (status != TRILHA_OK) {
    end_with_failure(lane, status, attempt);
  } else {
    atomic_fetch_add(&round->worker->relay->sent, 1);
    lane->outcome.next_sequence = row->aggregate_sequence + 1;
    if (++lane->at < lane->count)
      trilha_relay_put(&round->waiting, lane);
    else
      trilha_relay_finish(lane);
  }
}
