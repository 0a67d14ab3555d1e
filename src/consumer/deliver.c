/* consumer/deliver: one page of due events, to the handler and into the cursors (specification 000, section 3.6).
 *
 * A success moves its type's cursor under the lease's token. A failure becomes a dead letter and the cursor stays; the
 * position goes on only when that dead letter is stored (ruling R14), else the same event comes again. A batch that
 * fails is taken apart: each event again, alone. If you change this: the position of a type may never pass an event
 * that neither succeeded, nor has a stored dead letter, nor was closed before.
 */
#include "base/error.h"
#include "base/fault.h"
#include "base/uuid.h"
#include "consumer/consumer_internal.h"

static trilha_deadline soon(void) {
  return trilha_deadline_in_ms(TRILHA_CONSUMER_STORE_MS);
}

bool trilha_consumer_must_end(const trilha_consumer *c) {
  return atomic_load(&c->stopping) || atomic_load(&c->lost);
}

/* --- cursor moves --------------------------------------------------------------------------------------------- */

/* The noted moves, without gaps. */
static size_t gather_moves(const trilha_consumer *c, trilha_cursor moves[TRILHA_CONSUMER_TYPES_MAX]) {
  size_t n = 0;
  for (size_t i = 0; i < c->options.type_count; i++)
    if (c->moves[i].tipo.data != NULL) moves[n++] = c->moves[i];
  return n;
}

static void forget_moves(trilha_consumer *c) {
  for (size_t i = 0; i < c->options.type_count; i++) c->moves[i] = (trilha_cursor){0};
  c->move_count = 0;
}

static void say_closed_letters(trilha_consumer *c) {
  if (c->closes_letters) trilha_deadletter_say_gauge(c->deadletter);
  c->closes_letters = false;
}

trilha_status trilha_consumer_store_moves(trilha_consumer *c, trilha_error *err) {
  if (c->move_count == 0) return TRILHA_OK;
  trilha_cursor moves[TRILHA_CONSUMER_TYPES_MAX];
  size_t n = gather_moves(c, moves);
  if (TRILHA_FAULT("consumer.cursor.before_store"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point");
  trilha_status status = c->store->delivery->cursors_advance(
      c->store, &c->lease, moves, n, (const unsigned char(*)[16])c->resolved, c->move_count, soon(), err);
  if (status == TRILHA_OK && TRILHA_FAULT("consumer.cursor.after_store"))
    status = trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point");
  if (status == TRILHA_OK) forget_moves(c);
  if (status == TRILHA_OK) say_closed_letters(c);
  return status;
}

static trilha_status note_move(trilha_consumer *c, const trilha_event *event, trilha_error *err) {
  size_t type = trilha_consumer_type(c, event->tipo);
  if (!trilha_uuid_parse(trilha_text_of(event->event_id), c->resolved[c->move_count]))
    return trilha_error_set(err, TRILHA_CORRUPT, "UUID_INVALID", "a stored event id is no UUID");
  c->moves[type] = (trilha_cursor){.tipo = c->types[type], .last_sequence = event->sequence_number};
  c->move_count++;
  return TRILHA_OK;
}

/* --- one call of the handler ---------------------------------------------------------------------------------- */

typedef struct call {
  trilha_consumer *c;
  const trilha_event *events;
  const trilha_due_event *due;
  size_t count;
} call;

/* Inside the handler's own transaction, on its connection: the moves noted before, which wait for their batch, and
 * those of this call. What was noted stays noted: should the handler roll back, it is stored later, and storing it
 * twice does nothing. */
static trilha_status advance(void *user, void *connection, trilha_error *err) {
  const call *now = user;
  trilha_consumer *c = now->c;
  trilha_cursor moves[TRILHA_CONSUMER_TYPES_MAX], before[TRILHA_CONSUMER_TYPES_MAX];
  size_t noted = c->move_count;
  trilha_status status = TRILHA_OK;
  memcpy(before, c->moves, c->options.type_count * sizeof *before);
  for (size_t i = 0; i < now->count && status == TRILHA_OK; i++) status = note_move(c, &now->events[i], err);
  if (status == TRILHA_OK)
    status = c->store->delivery->cursors_advance_in(c->store, connection, &c->lease, moves, gather_moves(c, moves),
                                                    (const unsigned char(*)[16])c->resolved, c->move_count, err);
  memcpy(c->moves, before, c->options.type_count * sizeof *before);
  c->move_count = noted;
  c->advanced |= status == TRILHA_OK;
  return status;
}

/* It declared atomic, and its effect is somewhere without the cursor: what operators were told is not so. */
static void refuse_promise(trilha_outcome *outcome) {
  outcome->success = false;
  trilha_buffer_clear(&outcome->message);
  trilha_buffer_add_string(
      &outcome->message,
      "the consumer declares atomic, and the handler succeeded without trilha_delivery_advance_in()");
}

static void run_handler(call *now, trilha_outcome *outcome) {
  trilha_consumer *c = now->c;
  int64_t attempts = 0;
  for (size_t i = 0; i < now->count; i++)
    if (now->due[i].attempts > attempts) attempts = now->due[i].attempts;
  trilha_attempt attempt = {.event = now->events,
                            .count = now->count,
                            .colonia = c->options.colonia,
                            .handler_nome = c->options.handler_nome,
                            .handler = c->options.handler,
                            .batch_handler = c->options.batch_handler,
                            .user = c->options.user,
                            .attempt = attempts + 1,
                            .advance = advance,
                            .advance_user = now};
  c->advanced = false;
  trilha_protected_call(c->bus, &attempt, outcome);
  if (outcome->success && c->options.guarantee == TRILHA_GUARANTEE_ATOMIC && !c->advanced) refuse_promise(outcome);
}

/* The cursors moved with the effect, or move now, or with their batch. */
static trilha_status succeed(const call *now, trilha_error *err) {
  trilha_consumer *c = now->c;
  for (size_t i = 0; i < now->count; i++) c->closes_letters |= now->due[i].attempts > 0;
  if (c->advanced) {
    forget_moves(c);
    say_closed_letters(c);
    return TRILHA_OK;
  }
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; i < now->count && status == TRILHA_OK; i++) status = note_move(c, &now->events[i], err);
  bool store = c->options.batch_handler != NULL || c->move_count >= c->options.batch_max;
  return status == TRILHA_OK && store ? trilha_consumer_store_moves(c, err) : status;
}

static trilha_status record_failure(const call *now, const trilha_outcome *outcome, trilha_error *err) {
  trilha_consumer *c = now->c;
  trilha_failed_delivery failed = {.event = now->events,
                                   .lease = &c->lease,
                                   .max_attempts = c->options.max_attempts,
                                   .colonia = c->options.colonia,
                                   .handler_nome = c->options.handler_nome,
                                   .message = trilha_buffer_text(&outcome->message),
                                   .stack = trilha_buffer_text(&outcome->stack)};
  return trilha_deadletter_record(c->deadletter, &failed, err);
}

/* *ret_apart: nothing happened yet, and each event is to be tried alone. */
static trilha_status hand_over(call *now, bool *ret_apart, trilha_error *err) {
  trilha_outcome outcome;
  trilha_status status = TRILHA_OK;
  run_handler(now, &outcome);
  *ret_apart = !outcome.success && now->count > 1;
  if (outcome.success)
    status = succeed(now, err);
  else if (!*ret_apart)
    status = record_failure(now, &outcome, err);
  trilha_outcome_done(&outcome);
  if (status != TRILHA_OK || *ret_apart) return status;
  for (size_t i = 0; i < now->count; i++)
    now->c->positions[trilha_consumer_type(now->c, now->events[i].tipo)].last_sequence = now->events[i].sequence_number;
  return TRILHA_OK;
}

/* --- a page ----------------------------------------------------------------------------------------------------- */

/* Ruling R15: succeeded or given up elsewhere. */
static bool is_closed(const trilha_consumer *c, const trilha_event *event, const trilha_due_event *due) {
  return due->closed && !c->everything[trilha_consumer_type(c, event->tipo)];
}

/* How many of the events, from the first, make one call. */
static size_t call_size(const trilha_consumer *c, const trilha_event *events, const trilha_due_event *due,
                        size_t count) {
  size_t most = c->options.batch_handler == NULL ? 1 : c->options.batch_max, n = 1;
  while (n < count && n < most && !is_closed(c, &events[n], &due[n])) n++;
  return n;
}

static trilha_status hand_over_all(call *whole, trilha_error *err) {
  bool apart;
  trilha_status status = hand_over(whole, &apart, err);
  for (size_t i = 0; status == TRILHA_OK && apart && i < whole->count; i++) {
    call alone = {whole->c, &whole->events[i], &whole->due[i], 1};
    bool never;
    if (trilha_consumer_must_end(whole->c)) return TRILHA_OK;
    status = hand_over(&alone, &never, err);
  }
  return status;
}

trilha_status trilha_consumer_deliver(trilha_consumer *c, const trilha_event *events, const trilha_due_event *due,
                                      size_t count, trilha_error *err) {
  size_t n;
  for (size_t i = 0; i < count && !trilha_consumer_must_end(c); i += n) {
    n = 1;
    if (is_closed(c, &events[i], &due[i])) {
      c->positions[trilha_consumer_type(c, events[i].tipo)].last_sequence = events[i].sequence_number;
      continue;
    }
    call now = {c, &events[i], &due[i], call_size(c, &events[i], &due[i], count - i)};
    n = now.count;
    trilha_status status = hand_over_all(&now, err);
    if (status != TRILHA_OK) return status;
  }
  return trilha_consumer_store_moves(c, err);
}
