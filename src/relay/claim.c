/* relay/claim: lanes that are due come under lease, and their messages are read. Nothing is sent before both
 * transactions are over (specification 001, rule 7). */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/fault.h"
#include "relay/relay_internal.h"

void trilha_relay_put(trilha_relay_queue *queue, trilha_sending *lane) {
  lane->next = NULL;
  if (queue->tail == NULL)
    queue->head = lane;
  else
    queue->tail->next = lane;
  queue->tail = lane;
  queue->count++;
}

trilha_sending *trilha_relay_take(trilha_relay_queue *queue) {
  trilha_sending *lane = queue->head;
  if (lane == NULL) return NULL;
  queue->head = lane->next;
  if (queue->head == NULL) queue->tail = NULL;
  queue->count--;
  return lane;
}

/* --- a group ----------------------------------------------------------------------------------------------- */

static void free_group(trilha_relay_group *group) {
  trilha_arena_done(&group->arena);
  free(group->leases);
  free(group->lanes);
  free(group);
}

void trilha_relay_close_lane(trilha_sending *lane) {
  trilha_relay_group *group = lane->group;
  lane->round->open--;
  if (--group->open == 0) free_group(group);
}

static trilha_relay_group *make_group(size_t lanes) {
  trilha_relay_group *group = calloc(1, sizeof *group);
  if (group == NULL) return NULL;
  group->leases = calloc(lanes, sizeof *group->leases);
  group->lanes = calloc(lanes, sizeof *group->lanes);
  if (group->leases != NULL && group->lanes != NULL) return group;
  free_group(group);
  return NULL;
}

/* --- reading what is to be sent ------------------------------------------------------------------------------ */

typedef struct reading {
  trilha_relay_group *group;
  size_t run;
} reading;

static trilha_status keep_text(trilha_arena *arena, trilha_text *text, trilha_error *err) {
  if (text->data == NULL) return TRILHA_OK;
  const char *copy = trilha_arena_copy(arena, *text);
  if (copy == NULL) return trilha_error_no_memory(err);
  text->data = copy;
  return TRILHA_OK;
}

static trilha_status keep_message(void *user, const trilha_outbox_row *row, trilha_error *err) {
  const reading *r = user;
  trilha_arena *arena = &r->group->arena;
  trilha_sending *lane = &r->group->lanes[row->lane];
  if (lane->count == r->run) return TRILHA_OK;
  if (lane->messages == NULL) lane->messages = trilha_arena_array(arena, r->run, sizeof *lane->messages);
  if (lane->messages == NULL) return trilha_error_no_memory(err);
  trilha_outbox_row *kept = &lane->messages[lane->count];
  *kept = *row;
  trilha_text *const texts[] = {&kept->company_id,  &kept->message_type, &kept->version, &kept->origin,
                                &kept->traceparent, &kept->payload,      &kept->held_by};
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; status == TRILHA_OK && i < sizeof texts / sizeof texts[0]; i++)
    status = keep_text(arena, texts[i], err);
  if (status == TRILHA_OK) lane->count++;
  return status;
}

/* --- claiming ------------------------------------------------------------------------------------------------ */

/* Where the next claim begins, and whether the last ones came round without a lane: a claim looks at only so many
 * tenants. */
static void follow(trilha_relay_round *round, size_t lanes, trilha_text after) {
  if (!round->barren) {
    round->floored = round->wrapped = false;
    memcpy(round->barren_from, round->after, sizeof round->barren_from);
  }
  round->barren = lanes == 0;
  round->floored = round->floored || round->floors.floored;
  round->wrapped = round->wrapped || trilha_text_compare(after, trilha_text_of(round->after)) <= 0;
  snprintf(round->after, sizeof round->after, "%.*s", (int)after.size, after.data);
}

static bool came_round(const trilha_relay_round *round) {
  bool all = round->after[0] == '\0' || (round->wrapped && strcmp(round->after, round->barren_from) >= 0);
  return round->barren && all;
}

static trilha_status lease(trilha_relay_round *round, trilha_relay_group *group, size_t lanes, trilha_error *err) {
  const trilha_relay_options *o = &round->worker->relay->options;
  trilha_outbox_store *store = round->worker->store;
  trilha_deadline end = trilha_deadline_in_ms(o->lease_ms);
  trilha_text after = {0};
  trilha_claim asked = {.destination = round->transport->destination,
                        .owner = trilha_text_of(round->worker->relay->owner),
                        .after = trilha_text_of(round->after),
                        .lanes = (int64_t)lanes,
                        .quota = o->tenant_quota,
                        .lease_ms = o->lease_ms};
  trilha_relay_floors_give(&round->floors, &asked);
  trilha_status status = store->op->claim(store, &asked, &group->arena, group->leases, &group->count, &after, err);
  if (status != TRILHA_OK) return status;
  follow(round, group->count, after);
  for (size_t i = 0; i < group->count; i++)
    group->lanes[i] =
        (trilha_sending){.round = round, .group = group, .lease = &group->leases[i], .lease_end = end, .next = NULL};
  return TRILHA_OK;
}

static trilha_status fill(trilha_relay_round *round, trilha_relay_group *group, trilha_error *err) {
  const trilha_relay_options *o = &round->worker->relay->options;
  trilha_outbox_store *store = round->worker->store;
  reading r = {.group = group, .run = o->run};
  if (group->count == 0) return TRILHA_OK;
  if (TRILHA_FAULT("relay.claim.after"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point relay.claim.after");
  return store->op->fetch(store, round->transport->destination, group->leases, group->count, o->run,
                          TRILHA_RELAY_RUN_BYTES_MAX, keep_message, &r, err);
}

/* A lane is begun with its first message, or ended: what kills its workers is not tried for ever, and where there is
 * nothing (its producer has not committed) there is nothing to send. */
static void enter(trilha_sending *lane) {
  const trilha_relay_options *o = &lane->round->worker->relay->options;
  lane->outcome = (trilha_lane_outcome){
      .lease = lane->lease, .next_sequence = lane->lease->head_sequence, .drained = lane->count < o->run};
  lane->round->open++;
  if (lane->lease->attempts >= o->attempts_max) {
    trilha_error_set(&lane->result.error, TRILHA_TIMEOUT, "LEASES_RAN_OUT",
                     "the message was tried %lld times and no worker came to an end with it",
                     (long long)lane->lease->attempts);
    trilha_relay_fail(lane, TRILHA_TIMEOUT, lane->lease->attempts);
    trilha_relay_finish(lane);
  } else if (lane->count == 0) {
    trilha_relay_finish(lane);
  } else {
    trilha_relay_put(&lane->round->waiting, lane);
  }
}

/* Sleeping grows with the idleness, so that a busy relay answers in milliseconds and an idle one costs little. */
int64_t trilha_relay_idle_pause_ms(int64_t idle_ms, int64_t scan_ms) {
  int64_t pause = idle_ms / TRILHA_RELAY_IDLE_SHARE;
  if (pause < 1) pause = 1;
  return pause < scan_ms ? pause : scan_ms;
}

/* After a whole round without a lane: a relay that ends when nothing is due looks from the first lanes at once, others
 * when it is time. */
static void plan_after_nothing(trilha_relay_round *round, int64_t now) {
  const trilha_relay_options *o = &round->worker->relay->options;
  round->dry = !round->floored;
  round->floors.all_first = o->once && round->floored;
  round->claim_by = trilha_deadline_in_ms(
      round->floors.all_first ? 0 : trilha_relay_idle_pause_ms((now - round->busy_ns) / 1000000, o->scan_ms));
  if (round->floored)
    round->claim_by = trilha_deadline_earlier(round->claim_by, trilha_relay_floors_next(&round->floors));
}

static void plan_next(trilha_relay_round *round, size_t lanes) {
  int64_t now = trilha_clock_monotonic_ns();
  if (lanes > 0) round->busy_ns = now;
  round->dry = false;
  round->claim_by = trilha_deadline_in_ms(0);
  if (!came_round(round)) return;
  plan_after_nothing(round, now);
  round->barren = false;
}

static size_t room_in(trilha_relay_round *round) {
  const trilha_transport *transport = round->transport;
  size_t room = round->worker->relay->options.lanes - round->open;
  if (room == 0 || transport->capacity == NULL) return room;
  int64_t again_ms = 0;
  size_t most = transport->capacity(transport->user, &again_ms);
  most = most > round->waiting.count ? most - round->waiting.count : 0;
  if (most == 0) { /* lanes stay where they are: nothing is attempted */
    int64_t scan = round->worker->relay->options.scan_ms;
    round->dry = true;
    round->claim_by = trilha_deadline_in_ms(again_ms < 1 ? 1 : again_ms < scan ? again_ms : scan);
  }
  return room < most ? room : most;
}

trilha_status trilha_relay_claim(trilha_relay_round *round, trilha_error *err) {
  if (!trilha_deadline_passed(round->claim_by)) return TRILHA_OK;
  size_t lanes = room_in(round);
  if (lanes == 0) return TRILHA_OK;
  trilha_relay_group *group = make_group(lanes);
  if (group == NULL) return trilha_error_no_memory(err);
  trilha_status status = lease(round, group, lanes, err);
  if (status == TRILHA_OK) status = fill(round, group, err);
  if (status != TRILHA_OK || group->count == 0) {
    free_group(group); /* the leases of what could not be read run out */
    if (status == TRILHA_OK) plan_next(round, 0);
    return status;
  }
  size_t count = group->count;
  group->open = count;
  for (size_t i = 0; i < count; i++) enter(&group->lanes[i]);
  plan_next(round, count);
  return TRILHA_OK;
}
