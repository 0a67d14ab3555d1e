/* relay/settle: what became of lanes is written down, many in one transaction, each under its fencing token. What was
 * sent and could not be settled is sent again by whoever gets the lane: at least once. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/uuid.h"
#include "relay/relay_internal.h"

int64_t trilha_relay_backoff_ms(const trilha_relay_options *options, int64_t failures) {
  uint64_t ceiling = options->backoff_ms, random = 0;
  for (int64_t i = 1; i < failures && ceiling < options->backoff_max_ms; i++) ceiling *= 2;
  if (ceiling > options->backoff_max_ms) ceiling = options->backoff_max_ms;
  if (!trilha_random_bytes(&random, sizeof random)) return (int64_t)ceiling;
  return (int64_t)(random % (ceiling + 1));
}

void trilha_relay_finish(trilha_sending *lane) {
  trilha_relay_round *round = lane->round;
  if (round->finished.count == 0) round->settle_by = trilha_deadline_in_ms(TRILHA_RELAY_SETTLE_AFTER_MS);
  trilha_relay_put(&round->finished, lane);
}

/* The later of the backoff and what the destination asked for. */
static int64_t pause_before(const trilha_sending *lane, int64_t failures) {
  int64_t backoff = trilha_relay_backoff_ms(&lane->round->worker->relay->options, failures);
  int64_t asked = lane->result.retry_after_ms, most = (int64_t)TRILHA_TRANSPORT_RETRY_AFTER_S_MAX * 1000;
  if (asked > most) asked = most;
  return asked > backoff ? asked : backoff;
}

void trilha_relay_fail(trilha_sending *lane, trilha_status status, int64_t failures) {
  trilha_lane_outcome *o = &lane->outcome;
  trilha_error *why = &lane->result.error;
  if (why->code[0] == '\0')
    trilha_error_set(why, status, "SEND_FAILED", "the transport gave no reason (%s)", trilha_status_name(status));
  o->failed = true;
  o->dead = status == TRILHA_INVALID || status == TRILHA_CONFLICT ||
            failures >= lane->round->worker->relay->options.attempts_max;
  o->delay_ms = o->dead ? 0 : pause_before(lane, failures);
  o->code = trilha_text_of(why->code);
  size_t size = strlen(why->text);
  if (size > TRILHA_RELAY_ERROR_TEXT_BYTES_MAX)
    size = trilha_utf8_boundary(why->text, TRILHA_RELAY_ERROR_TEXT_BYTES_MAX);
  o->text = (trilha_text){why->text, size};
}

/* --- counting ------------------------------------------------------------------------------------------------ */

static void fields_of(const trilha_relay_round *round, const trilha_lane_outcome *o, trilha_fields *fields) {
  *fields = (trilha_fields){0};
  trilha_fields_text(fields, "destination", round->transport->destination);
  trilha_fields_i64(fields, "sequence", o->next_sequence);
  trilha_fields_i64(fields, "attempts", o->lease->attempts + 1);
  if (o->failed) trilha_fields_text(fields, "code", o->code);
}

static void count_lost_outcome(trilha_relay_round *round, const trilha_lane_outcome *o) {
  trilha_relay *relay = round->worker->relay;
  trilha_fields fields;
  fields_of(round, o, &fields);
  atomic_fetch_add(&relay->leases_lost, 1);
  trilha_emit(
      &relay->options.outbox.diagnostics, TRILHA_WARNING, "relay.lease_lost",
      "a lane's lease was somebody else's by the time it was to be renewed or confirmed: its messages are sent again",
      &fields);
}

void trilha_relay_count_lost(trilha_relay_round *round, const trilha_sending *lane) {
  count_lost_outcome(round, &lane->outcome);
}

static void count_outcome(trilha_relay_round *round, const trilha_lane_outcome *o) {
  trilha_relay *relay = round->worker->relay;
  if (!o->settled) {
    count_lost_outcome(round, o);
    return;
  }
  if (!o->failed) return;
  atomic_fetch_add(&relay->failed, 1);
  if (!o->dead) return;
  trilha_fields fields;
  fields_of(round, o, &fields);
  atomic_fetch_add(&relay->dead, 1);
  trilha_emit(&relay->options.outbox.diagnostics, TRILHA_ERROR, "relay.dead_letter",
              "a message was dead-lettered; its lane waits for an operator", &fields);
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static bool may_pass(trilha_status status) {
  return status == TRILHA_UNAVAILABLE || status == TRILHA_TIMEOUT || status == TRILHA_OUTCOME_UNKNOWN;
}

/* Repeating is safe: what an unanswered commit did settle is told as lost the second time, and changes nothing. */
static trilha_status write_down(trilha_relay_round *round, size_t count, trilha_error *err) {
  trilha_outbox_store *store = round->worker->store;
  for (int tries = 1;; tries++) {
    trilha_error own = {0};
    trilha_status status = store->op->settle(store, round->transport->destination, round->outcomes, count, &own);
    if (status == TRILHA_OK) return TRILHA_OK;
    if (!may_pass(status) || tries == TRILHA_RELAY_SETTLE_TRIES_MAX) return trilha_error_copy(err, &own);
    trilha_clock_sleep_ms(trilha_relay_backoff_ms(&round->worker->relay->options, 1));
  }
}

trilha_status trilha_relay_settle(trilha_relay_round *round, trilha_error *err) {
  size_t count = 0;
  if (round->finished.count == 0) return TRILHA_OK;
  if (TRILHA_FAULT("relay.settle.before"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.settle.before");
  for (const trilha_sending *lane = round->finished.head; lane != NULL; lane = lane->next)
    round->outcomes[count++] = lane->outcome;
  trilha_status status = write_down(round, count, err);
  if (status != TRILHA_OK) return status;
  for (size_t i = 0; i < count; i++) count_outcome(round, &round->outcomes[i]);
  for (trilha_sending *lane = trilha_relay_take(&round->finished); lane != NULL;
       lane = trilha_relay_take(&round->finished))
    trilha_relay_close_lane(lane);
  round->claim_by = trilha_deadline_in_ms(0); /* there is room again, and a lane may have gone on */
  if (TRILHA_FAULT("relay.settle.after"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.settle.after");
  return TRILHA_OK;
}
