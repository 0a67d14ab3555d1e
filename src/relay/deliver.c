/* relay/deliver: claim, commit, send, settle (specification 001, rule 7). No transaction is open while anything is
 * sent. What was sent and could not be settled is sent again by whoever gets the lane: at least once. A lane is never
 * sent on under a lease that may have run out. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "relay/relay_internal.h"

typedef struct lane_run {
  trilha_outbox_row *messages; /* texts in the batch's arena */
  size_t count;
} lane_run;

typedef struct batch {
  trilha_relay_worker *worker;
  const trilha_relay_options *options;
  const trilha_transport *transport;
  trilha_arena arena;
  trilha_lane_lease *leases;
  trilha_deadline
      *ends; /* of the leases, on our own clock, from before they were asked for: never later than the database's */
  lane_run *runs;
  size_t count;
  trilha_lane_outcome *outcomes; /* done, not settled yet: the first `pending` */
  trilha_error *errors;          /* what the failed ones' code and text point at */
  size_t pending;
  trilha_deadline settle_by;
} batch;

int64_t trilha_relay_backoff_ms(const trilha_relay_options *options, int64_t failures) {
  uint64_t ceiling = options->backoff_ms, random = 0;
  for (int64_t i = 1; i < failures && ceiling < options->backoff_max_ms; i++) ceiling *= 2;
  if (ceiling > options->backoff_max_ms) ceiling = options->backoff_max_ms;
  if (!trilha_random_bytes(&random, sizeof random)) return (int64_t)ceiling;
  return (int64_t)(random % (ceiling + 1));
}

/* --- what is to be sent ---------------------------------------------------------------------------------------------
 */

static trilha_status keep_text(trilha_arena *arena, trilha_text *text, trilha_error *err) {
  if (text->data == NULL) return TRILHA_OK;
  const char *copy = trilha_arena_copy(arena, *text);
  if (copy == NULL) return trilha_error_no_memory(err);
  text->data = copy;
  return TRILHA_OK;
}

static trilha_status keep_message(void *user, const trilha_outbox_row *row, trilha_error *err) {
  batch *b = user;
  lane_run *run = &b->runs[row->lane];
  if (run->count == b->options->run) return TRILHA_OK;
  if (run->messages == NULL) run->messages = trilha_arena_array(&b->arena, b->options->run, sizeof *run->messages);
  if (run->messages == NULL) return trilha_error_no_memory(err);
  trilha_outbox_row *kept = &run->messages[run->count];
  *kept = *row;
  trilha_text *const texts[] = {&kept->company_id, &kept->message_type, &kept->version,
                                &kept->origin,     &kept->traceparent,  &kept->payload};
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; status == TRILHA_OK && i < sizeof texts / sizeof texts[0]; i++)
    status = keep_text(&b->arena, texts[i], err);
  if (status == TRILHA_OK) run->count++;
  return status;
}

/* --- settling
 * ---------------------------------------------------------------------------------------------------------- */

static void fields_of(const batch *b, const trilha_lane_outcome *o, trilha_fields *fields) {
  *fields = (trilha_fields){0};
  trilha_fields_text(fields, "destination", b->transport->destination);
  trilha_fields_i64(fields, "sequence", o->next_sequence);
  trilha_fields_i64(fields, "attempts", o->lease->attempts + 1);
  if (o->failed) trilha_fields_text(fields, "code", o->code);
}

static void count_lost(const batch *b, const trilha_lane_outcome *o) {
  trilha_fields fields;
  fields_of(b, o, &fields);
  atomic_fetch_add(&b->worker->relay->leases_lost, 1);
  trilha_emit(
      &b->options->outbox.diagnostics, TRILHA_WARNING, "relay.lease_lost",
      "a lane's lease was somebody else's by the time it was to be renewed or confirmed: its messages are sent again",
      &fields);
}

static void count_outcome(const batch *b, const trilha_lane_outcome *o) {
  if (!o->settled) {
    count_lost(b, o);
    return;
  }
  if (!o->failed) return;
  atomic_fetch_add(&b->worker->relay->failed, 1);
  if (!o->dead) return;
  trilha_fields fields;
  fields_of(b, o, &fields);
  atomic_fetch_add(&b->worker->relay->dead, 1);
  trilha_emit(&b->options->outbox.diagnostics, TRILHA_ERROR, "relay.dead_letter",
              "a message was dead-lettered; its lane waits for an operator", &fields);
}

static bool may_pass(trilha_status status) {
  return status == TRILHA_UNAVAILABLE || status == TRILHA_TIMEOUT || status == TRILHA_OUTCOME_UNKNOWN;
}

/* Repeating is safe: what an unanswered commit did settle is told as lost the second time, and changes nothing. */
static trilha_status settle(batch *b, trilha_error *err) {
  trilha_outbox_store *store = b->worker->store;
  trilha_status status = TRILHA_OK;
  if (b->pending == 0) return TRILHA_OK;
  if (TRILHA_FAULT("relay.settle.before"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.settle.before");
  for (int tries = 1;; tries++) {
    trilha_error own = {0};
    status = store->op->settle(store, b->transport->destination, b->outcomes, b->pending, &own);
    if (status == TRILHA_OK) break;
    if (!may_pass(status) || tries == TRILHA_RELAY_SETTLE_TRIES_MAX) return trilha_error_copy(err, &own);
    trilha_clock_sleep_ms(trilha_relay_backoff_ms(b->options, 1));
  }
  for (size_t i = 0; i < b->pending; i++) count_outcome(b, &b->outcomes[i]);
  b->pending = 0;
  if (TRILHA_FAULT("relay.settle.after"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.settle.after");
  return TRILHA_OK;
}

/* Together with others that end soon: one transaction for many. */
static trilha_status settle_when_due(batch *b, trilha_error *err) {
  if (b->pending == 1) b->settle_by = trilha_deadline_in_ms(TRILHA_RELAY_SETTLE_AFTER_MS);
  return trilha_deadline_passed(b->settle_by) ? settle(b, err) : TRILHA_OK;
}

/* --- sending
 * ----------------------------------------------------------------------------------------------------------- */

static trilha_text absent_when_empty(const char *text) {
  return *text == '\0' ? (trilha_text){0} : trilha_text_of(text);
}

static trilha_status send_one(const batch *b, const trilha_lane_lease *lease, const trilha_outbox_row *row,
                              int64_t attempt, trilha_error *err) {
  char occurred_at[TRILHA_TIMESTAMP_SIZE], hex[2 * TRILHA_SHA256_SIZE + 1];
  unsigned char digest[TRILHA_SHA256_SIZE];
  trilha_timestamp_format(row->occurred_at_us, occurred_at);
  trilha_sha256(row->payload, digest);
  trilha_hex(digest, sizeof digest, hex);
  const trilha_envelope envelope = {.destination = b->transport->destination,
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
                                    .occurred_at = trilha_text_of(occurred_at),
                                    .payload = row->payload,
                                    .payload_sha256 = trilha_text_of(hex),
                                    .attempt = attempt,
                                    .timeout_ms = b->options->timeout_ms};
  if (TRILHA_FAULT("relay.send.before"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.send.before");
  trilha_status status = b->transport->send(b->transport->user, &envelope, err);
  if (TRILHA_FAULT("relay.send.after"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.send.after");
  return status;
}

/* A send may begin only when it ends, with the margin, under the lease. */
static trilha_status hold_lease(batch *b, size_t lane, trilha_error *err) {
  int64_t needed = (int64_t)b->options->timeout_ms + b->options->margin_ms;
  if (trilha_deadline_left_ms(b->ends[lane], INT64_MAX) > needed) return TRILHA_OK;
  trilha_deadline fresh = trilha_deadline_in_ms(b->options->lease_ms);
  trilha_outbox_store *store = b->worker->store;
  trilha_status status =
      store->op->renew(store, b->transport->destination, &b->leases[lane], b->options->lease_ms, err);
  if (status == TRILHA_OK) b->ends[lane] = fresh;
  return status;
}

static void note_failure(batch *b, trilha_lane_outcome *o, trilha_status status, int64_t failures) {
  trilha_error *why = &b->errors[o - b->outcomes];
  if (why->code[0] == '\0')
    trilha_error_set(why, status, "SEND_FAILED", "the transport gave no reason (%s)", trilha_status_name(status));
  o->failed = true;
  o->dead = status == TRILHA_INVALID || status == TRILHA_CONFLICT || failures >= b->options->attempts_max;
  o->delay_ms = o->dead ? 0 : trilha_relay_backoff_ms(b->options, failures);
  o->code = trilha_text_of(why->code);
  size_t size = strlen(why->text);
  if (size > TRILHA_RELAY_ERROR_TEXT_BYTES_MAX)
    size = trilha_utf8_boundary(why->text, TRILHA_RELAY_ERROR_TEXT_BYTES_MAX);
  o->text = (trilha_text){why->text, size};
}

/* Sends the run of one lane, stopped at the first failure. *ret_lost: somebody else has the lane. */
static void run_lane(batch *b, size_t lane, trilha_lane_outcome *o, bool *ret_lost) {
  const trilha_lane_lease *lease = &b->leases[lane];
  const lane_run *run = &b->runs[lane];
  trilha_error *why = &b->errors[o - b->outcomes];
  for (size_t i = 0; i < run->count; i++) {
    const trilha_outbox_row *row = &run->messages[i];
    int64_t failures = i == 0 ? lease->attempts : 0;
    trilha_error lost = {0};
    if (trilha_relay_stops(b->worker->relay)) {
      o->drained = false;
      return;
    }
    if (hold_lease(b, lane, &lost) != TRILHA_OK) {
      *ret_lost = true; /* or the database is away: the lease runs out */
      return;
    }
    trilha_error_clear(why);
    trilha_status status = send_one(b, lease, row, failures + 1, why);
    if (status != TRILHA_OK) {
      o->next_sequence = row->aggregate_sequence;
      note_failure(b, o, status, failures + 1);
      return;
    }
    atomic_fetch_add(&b->worker->relay->sent, 1);
    o->next_sequence = row->aggregate_sequence + 1;
  }
}

static trilha_status deliver_lane(batch *b, size_t lane, trilha_error *err) {
  const trilha_lane_lease *lease = &b->leases[lane];
  trilha_lane_outcome *o = &b->outcomes[b->pending];
  bool lost = false;
  *o = (trilha_lane_outcome){
      .lease = lease, .next_sequence = lease->head_sequence, .drained = b->runs[lane].count < b->options->run};
  b->errors[b->pending] = (trilha_error){0};
  if (lease->attempts >=
      b->options->attempts_max) { /* leases that ran out: what kills its workers is not tried for ever */
    trilha_error_set(&b->errors[b->pending], TRILHA_TIMEOUT, "LEASES_RAN_OUT",
                     "the message was tried %lld times and no worker came to an end with it",
                     (long long)lease->attempts);
    note_failure(b, o, TRILHA_TIMEOUT, lease->attempts);
  } else {
    run_lane(b, lane, o, &lost);
  }
  if (lost) {
    count_lost(b, o);
    return TRILHA_OK;
  }
  b->pending++;
  return settle_when_due(b, err);
}

/* --- the whole
 * --------------------------------------------------------------------------------------------------------- */

static trilha_status make_room(batch *b, trilha_error *err) {
  size_t lanes = b->options->lanes;
  b->leases = trilha_arena_array(&b->arena, lanes, sizeof *b->leases);
  b->ends = trilha_arena_array(&b->arena, lanes, sizeof *b->ends);
  b->runs = trilha_arena_array(&b->arena, lanes, sizeof *b->runs);
  b->outcomes = trilha_arena_array(&b->arena, lanes, sizeof *b->outcomes);
  b->errors = trilha_arena_array(&b->arena, lanes, sizeof *b->errors);
  bool ok = b->leases != NULL && b->ends != NULL && b->runs != NULL && b->outcomes != NULL && b->errors != NULL;
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

static trilha_status claim(batch *b, trilha_relay_round *round, trilha_error *err) {
  trilha_outbox_store *store = b->worker->store;
  trilha_deadline end = trilha_deadline_in_ms(b->options->lease_ms);
  trilha_text after = {0};
  const trilha_claim asked = {.destination = b->transport->destination,
                              .owner = trilha_text_of(b->worker->relay->owner),
                              .after = trilha_text_of(round->after),
                              .lanes = b->options->lanes,
                              .quota = b->options->tenant_quota,
                              .lease_ms = b->options->lease_ms};
  trilha_status status = store->op->claim(store, &asked, &b->arena, b->leases, &b->count, &after, err);
  if (status != TRILHA_OK) return status;
  snprintf(round->after, sizeof round->after, "%.*s", (int)after.size, after.data);
  for (size_t i = 0; i < b->count; i++) b->ends[i] = end;
  return TRILHA_OK;
}

static trilha_status deliver(batch *b, trilha_relay_round *round, trilha_error *err) {
  trilha_outbox_store *store = b->worker->store;
  trilha_status status = make_room(b, err);
  if (status == TRILHA_OK) status = claim(b, round, err);
  if (status != TRILHA_OK || b->count == 0) return status;
  if (TRILHA_FAULT("relay.claim.after"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.claim.after");
  status = store->op->fetch(store, b->transport->destination, b->leases, b->count, b->options->run,
                            TRILHA_RELAY_RUN_BYTES_MAX, keep_message, b, err);
  for (size_t i = 0; status == TRILHA_OK && i < b->count; i++) status = deliver_lane(b, i, err);
  return status == TRILHA_OK ? settle(b, err) : status;
}

trilha_status trilha_relay_deliver(trilha_relay_worker *worker, trilha_relay_round *round, size_t *ret_lanes,
                                   trilha_error *err) {
  batch b = {.worker = worker, .options = &worker->relay->options, .transport = round->transport};
  trilha_status status = deliver(&b, round, err);
  *ret_lanes = b.count;
  trilha_arena_done(&b.arena);
  return status;
}
