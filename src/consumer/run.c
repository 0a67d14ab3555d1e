/* consumer/run: the loop of a durable consumer (specification 000, section 3.6).
 *
 * Stand by for the lease; seed missing cursors; then read pages of what is due, merged by sequence over the types, each
 * from its own position. A success moves its type's cursor under the lease's token. A failure becomes a dead letter and
 * the cursor stays; the position goes on only when that dead letter is stored (ruling R14), else the same event comes
 * again. If you change this: the position of a type may never pass an event that neither succeeded, nor has a stored
 * dead letter, nor was closed before.
 */
#include "base/error.h"
#include "base/fault.h"
#include "base/uuid.h"
#include "consumer/consumer_internal.h"

enum { RETRY_MS = 1000, RECOVER_EVERY_MS = 5000 };

static trilha_deadline soon(void) {
  return trilha_deadline_in_ms(TRILHA_CONSUMER_STORE_MS);
}

/* --- one page of due events --------------------------------------------------------------------------------- */

typedef struct due {
  trilha_event event;
  bool closed;
  int64_t attempts; /* before this one */
} due;

typedef struct page {
  trilha_arena arena;
  due *items;
  size_t count, bytes;
  bool full;
  int64_t scanned_to[TRILHA_CONSUMER_TYPES_MAX];
} page;

static trilha_status take(void *user, const trilha_due_row *row, trilha_error *err) {
  page *p = user;
  const trilha_event_row *event = row->event;
  p->full = p->count > 0 && p->bytes + event->payload.size > TRILHA_CONSUMER_PAGE_BYTES_MAX;
  if (p->full) return TRILHA_CANCELLED;
  p->bytes += event->payload.size;
  due *d = &p->items[p->count];
  d->closed = row->closed;
  d->attempts = row->attempts;
  trilha_status status = trilha_event_from_row(&p->arena, event, TRILHA_PAYLOAD_REDIGIDO, &d->event, err);
  if (status == TRILHA_OK) p->count++;
  return status;
}

static trilha_status read_page(trilha_consumer *c, page *p, trilha_error *err) {
  trilha_error own = {0};
  trilha_arena_reset(&p->arena);
  p->count = p->bytes = 0;
  p->full = false;
  p->items = trilha_arena_array(&p->arena, TRILHA_CONSUMER_PAGE_ROWS, sizeof *p->items);
  if (p->items == NULL) return trilha_error_no_memory(err);
  trilha_status status =
      c->store->delivery->events_due(c->store, c->options.colonia, c->positions, c->options.type_count,
                                     TRILHA_CONSUMER_PAGE_ROWS, soon(), take, p, p->scanned_to, &own);
  if (p->full) return TRILHA_OK;
  return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(err, &own);
}

/* --- cursor moves --------------------------------------------------------------------------------------------- */

static trilha_status store_moves(trilha_consumer *c, trilha_error *err) {
  if (c->move_count == 0) return TRILHA_OK;
  trilha_cursor moves[TRILHA_CONSUMER_TYPES_MAX];
  size_t n = 0;
  for (size_t i = 0; i < c->options.type_count; i++)
    if (c->moves[i].tipo.data != NULL) moves[n++] = c->moves[i];
  if (TRILHA_FAULT("consumer.cursor.before_store"))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point");
  trilha_status status = c->store->delivery->cursors_advance(
      c->store, &c->lease, moves, n, (const unsigned char(*)[16])c->resolved, c->move_count, soon(), err);
  if (status == TRILHA_OK && TRILHA_FAULT("consumer.cursor.after_store"))
    status = trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point");
  if (status != TRILHA_OK) return status;
  for (size_t i = 0; i < c->options.type_count; i++) c->moves[i] = (trilha_cursor){0};
  c->move_count = 0;
  return TRILHA_OK;
}

/* A success: its move is stored now, or with its batch. */
static trilha_status note_success(trilha_consumer *c, size_t type, const trilha_event *event, trilha_error *err) {
  c->moves[type] = (trilha_cursor){.tipo = c->types[type], .last_sequence = event->sequence_number};
  if (!trilha_uuid_parse(trilha_text_of(event->event_id), c->resolved[c->move_count]))
    return trilha_error_set(err, TRILHA_CORRUPT, "UUID_INVALID", "a stored event id is no UUID");
  c->move_count++;
  return c->move_count >= c->options.batch_max ? store_moves(c, err) : TRILHA_OK;
}

typedef struct advancing {
  trilha_consumer *c;
  size_t type;
  const trilha_event *event;
} advancing;

/* Inside the handler's own transaction, on its connection. */
static trilha_status advance(void *user, void *connection, trilha_error *err) {
  advancing *a = user;
  unsigned char id[16];
  trilha_cursor move = {.tipo = a->c->types[a->type], .last_sequence = a->event->sequence_number};
  if (!trilha_uuid_parse(trilha_text_of(a->event->event_id), id))
    return trilha_error_set(err, TRILHA_CORRUPT, "UUID_INVALID", "a stored event id is no UUID");
  trilha_status status =
      a->c->store->delivery->cursors_advance_in(a->c->store, connection, &a->c->lease, &move, id, err);
  if (status == TRILHA_OK) a->c->advanced = true;
  return status;
}

/* --- one event -------------------------------------------------------------------------------------------------- */

static trilha_status record_failure(trilha_consumer *c, const trilha_event *event, const trilha_outcome *outcome,
                                    trilha_error *err) {
  trilha_failed_delivery failed = {.event = event,
                                   .lease = &c->lease,
                                   .colonia = c->options.colonia,
                                   .handler_nome = c->options.handler_nome,
                                   .message = trilha_buffer_text(&outcome->message),
                                   .stack = trilha_buffer_text(&outcome->stack)};
  return trilha_deadletter_record(c->deadletter, &failed, err);
}

static trilha_status handle(trilha_consumer *c, const due *d, trilha_error *err) {
  size_t type = trilha_consumer_type(c, d->event.tipo);
  advancing user = {c, type, &d->event};
  trilha_attempt attempt = {.event = &d->event,
                            .colonia = c->options.colonia,
                            .handler_nome = c->options.handler_nome,
                            .handler = c->options.handler,
                            .user = c->options.user,
                            .attempt = d->attempts + 1,
                            .advance = advance,
                            .advance_user = &user};
  trilha_outcome outcome;
  c->advanced = false;
  trilha_protected_call(c->bus, &attempt, &outcome);
  trilha_status status;
  if (!outcome.success)
    status = record_failure(c, &d->event, &outcome, err);
  else if (c->advanced) /* the cursor moved with the effect; earlier successes of the batch are below or of other types
                         */
    status = store_moves(c, err);
  else
    status = note_success(c, type, &d->event, err);
  trilha_outcome_done(&outcome);
  if (status == TRILHA_OK) c->positions[type].last_sequence = d->event.sequence_number;
  return status;
}

static bool must_end(trilha_consumer *c) {
  return atomic_load(&c->stopping) || atomic_load(&c->lost);
}

static trilha_status handle_page(trilha_consumer *c, const page *p, trilha_error *err) {
  for (size_t i = 0; i < p->count && !must_end(c); i++) {
    const due *d = &p->items[i];
    size_t type = trilha_consumer_type(c, d->event.tipo);
    if (d->closed && !c->everything[type]) { /* ruling R15: succeeded or given up elsewhere */
      c->positions[type].last_sequence = d->event.sequence_number;
      continue;
    }
    trilha_status status = handle(c, d, err);
    if (status != TRILHA_OK) return status;
  }
  return store_moves(c, err);
}

/* --- the cursors' beginning -------------------------------------------------------------------------------------- */

static trilha_status seed_value(trilha_consumer *c, int64_t *ret_sequence, trilha_error *err) {
  unsigned char id[16];
  bool any;
  *ret_sequence = c->options.from == TRILHA_FROM_SEQUENCE ? c->options.from_sequence - 1 : 0;
  if (c->options.from != TRILHA_FROM_NOW) return TRILHA_OK;
  return c->store->op->last_event(c->store, soon(), ret_sequence, id, &any, err);
}

/* --from is an operator's choice and audited (ruling R9); the ordinary seed is not. */
static trilha_status seed(trilha_consumer *c, trilha_error *err) {
  int64_t sequence;
  size_t absent = 0;
  trilha_cursor cursors[TRILHA_CONSUMER_TYPES_MAX];
  for (size_t i = 0; i < c->options.type_count; i++)
    if (!c->positions[i].present) absent++;
  if (absent == 0) return TRILHA_OK;
  trilha_status status = seed_value(c, &sequence, err);
  if (status != TRILHA_OK) return status;
  absent = 0;
  for (size_t i = 0; i < c->options.type_count; i++) {
    c->everything[i] = !c->positions[i].present && c->options.from != TRILHA_FROM_NOW;
    if (!c->positions[i].present) cursors[absent++] = (trilha_cursor){.tipo = c->types[i], .last_sequence = sequence};
  }
  TRILHA_BUFFER_SCOPED metadata;
  trilha_buffer_init(&metadata, 0);
  trilha_buffer_add_format(&metadata, "{\"last_sequence\":\"%lld\",\"cursors\":%zu}", (long long)sequence, absent);
  trilha_audit_row audit = {.entity = TRILHA_TEXT("Consumer"),
                            .entity_id = c->options.colonia,
                            .change_type = TRILHA_TEXT("Created"),
                            .action = TRILHA_TEXT("trilha.consumer.positioned"),
                            .user = trilha_text_of(c->holder),
                            .metadata = trilha_buffer_text(&metadata)};
  status = trilha_buffer_check(&metadata, err);
  if (status == TRILHA_OK)
    status = c->store->delivery->cursors_seed(c->store, &c->lease, cursors, absent,
                                              c->options.from == TRILHA_FROM_NOW ? NULL : &audit, soon(), err);
  return status;
}

static trilha_status read_positions(trilha_consumer *c, trilha_error *err) {
  for (size_t i = 0; i < c->options.type_count; i++) {
    c->positions[i] = (trilha_cursor){.tipo = c->types[i]};
    c->moves[i] = (trilha_cursor){0};
    c->everything[i] = false;
  }
  c->move_count = 0;
  const trilha_delivery_operations *op = c->store->delivery;
  trilha_status status =
      op->cursors_read(c->store, c->options.colonia, c->positions, c->options.type_count, soon(), err);
  if (status == TRILHA_OK) status = seed(c, err);
  if (status == TRILHA_OK)
    status = op->cursors_read(c->store, c->options.colonia, c->positions, c->options.type_count, soon(), err);
  return status;
}

/* --- reprocess requests (ruling R17) ------------------------------------------------------------------------------ */

static trilha_status serve_requests(trilha_consumer *c, trilha_error *err) {
  int64_t request;
  const trilha_delivery_operations *op = c->store->delivery;
  trilha_status status = op->request_take(c->store, &c->lease, soon(), &request, err);
  if (status == TRILHA_NOT_FOUND) return TRILHA_OK;
  if (status != TRILHA_OK) return status;
  trilha_reprocessor r = {c->bus, c->store, c->deadletter, &c->diagnostics};
  trilha_reprocess_how how = {.colonia = c->options.colonia,
                              .types = c->types,
                              .type_count = c->options.type_count,
                              .handler = c->options.handler,
                              .handler_nome = c->options.handler_nome,
                              .user = c->options.user,
                              .stop = &c->stopping};
  trilha_reprocessed done = {0};
  status = trilha_reprocess_rows(&r, &how, &done, err);
  /* Stopped on the way: whoever holds the lease next does the rest and answers. */
  if (status != TRILHA_OK || must_end(c)) return status;
  return op->request_settle(c->store, &c->lease, request, done.reprocessados, done.failed, soon(), err);
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static trilha_status between_pages(trilha_consumer *c, trilha_deadline *recover_at, trilha_error *err) {
  trilha_status status = serve_requests(c, err);
  if (status != TRILHA_OK || !trilha_deadline_passed(*recover_at)) return status;
  int64_t recovered;
  *recover_at = trilha_deadline_in_ms(RECOVER_EVERY_MS);
  return c->store->delivery->dead_letters_recover(c->store, soon(), &recovered, err);
}

static int64_t lowest(const trilha_consumer *c) {
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < c->options.type_count; i++)
    if (c->positions[i].last_sequence < least) least = c->positions[i].last_sequence;
  return least;
}

static trilha_status wait_for_events(trilha_consumer *c, trilha_error *err) {
  trilha_status status = c->store->op->wait(c->store, lowest(c), trilha_deadline_in_ms(TRILHA_CONSUMER_WAIT_MS), err);
  return status == TRILHA_TIMEOUT ? TRILHA_OK : status;
}

/* An empty page: nothing of these types up to where the store looked. */
static void note_scanned(trilha_consumer *c, const page *p) {
  for (size_t i = 0; i < c->options.type_count; i++)
    if (p->scanned_to[i] > c->positions[i].last_sequence) c->positions[i].last_sequence = p->scanned_to[i];
}

static trilha_status follow(trilha_consumer *c, page *p, trilha_error *err) {
  trilha_deadline recover_at = trilha_deadline_in_ms(0);
  trilha_status status = read_positions(c, err);
  while (status == TRILHA_OK && !must_end(c)) {
    status = between_pages(c, &recover_at, err);
    if (status == TRILHA_OK) status = read_page(c, p, err);
    if (status != TRILHA_OK) break;
    if (p->count != 0) {
      status = handle_page(c, p, err);
      continue;
    }
    note_scanned(c, p);
    if (c->options.once) break;
    status = wait_for_events(c, err);
  }
  return status;
}

/* OK with a lease, or OK without one when asked to stop (lease.token 0). */
static trilha_status stand_by(trilha_consumer *c, trilha_error *err) {
  const trilha_delivery_operations *op = c->store->delivery;
  bool said = false;
  atomic_store(&c->lost, false);
  c->lease =
      (trilha_lease){.colonia = c->options.colonia, .grupo = c->options.grupo, .holder = trilha_text_of(c->holder)};
  while (!atomic_load(&c->stopping)) {
    char holder[128] = "";
    trilha_error own = {0};
    trilha_status status = op->lease_acquire(c->store, &c->lease, c->types, c->options.type_count, c->options.lease_ms,
                                             holder, soon(), &own);
    if (status != TRILHA_CONFLICT) return trilha_error_copy(err, &own) == TRILHA_OK ? status : own.status;
    if (!said) {
      trilha_fields fields = {0};
      trilha_fields_text(&fields, "colonia", c->options.colonia);
      trilha_fields_string(&fields, "holder", holder);
      trilha_emit(&c->diagnostics, TRILHA_INFO, "consumer.standing_by", "another process consumes for this colony",
                  &fields);
      said = true;
    }
    trilha_consumer_pause(c, c->options.lease_ms / 5);
  }
  return TRILHA_OK;
}

static void let_go(trilha_consumer *c) {
  trilha_error ignored = {0}; /* an unreleased lease only expires later */
  if (!atomic_load(&c->lost) && c->lease.token != 0)
    (void)!c->store->delivery->lease_release(c->store, &c->lease, soon(), &ignored);
  c->lease.token = 0;
}

/* One turn as the holder. */
static trilha_status hold(trilha_consumer *c, page *p, trilha_error *err) {
  trilha_error own = {0};
  trilha_status status = trilha_heartbeat_start(c, &own);
  if (status == TRILHA_OK) status = follow(c, p, &own);
  trilha_error ignored = {0};
  /* Successes before whatever ended the turn are kept: what is not stored is delivered again. */
  if (!atomic_load(&c->lost) && own.status != TRILHA_CONFLICT) (void)!store_moves(c, &ignored);
  trilha_heartbeat_stop(c);
  if (own.status == TRILHA_CONFLICT) atomic_store(&c->lost, true);
  let_go(c);
  return trilha_error_copy(err, &own);
}

static void say_retry(const trilha_consumer *c, const trilha_error *error) {
  trilha_fields fields = {0};
  trilha_fields_text(&fields, "colonia", c->options.colonia);
  trilha_fields_error(&fields, error);
  trilha_emit(&c->diagnostics, TRILHA_WARNING, "consumer.retrying", "the consumer lost its footing and begins again",
              &fields);
}

static bool passes_by_itself(const trilha_error *error) {
  return error->retriable || error->status == TRILHA_CONFLICT || error->status == TRILHA_UNAVAILABLE;
}

trilha_status trilha_consumer_run_until_stopped(trilha_consumer *c, trilha_error *err) {
  page p = {0};
  trilha_error own = {0};
  trilha_status status = c->store->delivery->cursors_prepare(c->store, c->options.colonia, soon(), &own);
  bool ended = status != TRILHA_OK;
  while (!ended && !atomic_load(&c->stopping)) {
    trilha_error_clear(&own);
    status = stand_by(c, &own);
    if (status == TRILHA_OK && c->lease.token != 0) status = hold(c, &p, &own);
    if (status == TRILHA_OK) {
      ended = c->options.once && !atomic_load(&c->lost);
      continue;
    }
    ended = !passes_by_itself(&own);
    if (ended) break;
    say_retry(c, &own);
    trilha_consumer_pause(c, RETRY_MS);
    status = TRILHA_OK;
  }
  trilha_arena_done(&p.arena);
  if (status == TRILHA_OK) return TRILHA_OK;
  trilha_error_while(&own, "consuming for %.*s", (int)c->options.colonia.size, c->options.colonia.data);
  return trilha_error_copy(err, &own);
}
