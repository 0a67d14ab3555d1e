/* consumer/run: the loop of a durable consumer (specification 000, section 3.6).
 *
 * Stand by for the lease; seed missing cursors; then read pages of what is due, merged by sequence over the types, each
 * from its own position, and deliver them (deliver.c). Between pages: reprocess requests, and rows that a crash left.
 */
#include <unistd.h>

#include "base/error.h"
#include "base/uuid.h"
#include "consumer/consumer_internal.h"
#include "store/guarantee.h"

enum { RETRY_MS = 1000, RECOVER_EVERY_MS = 5000 };

static trilha_deadline soon(void) {
  return trilha_deadline_in_ms(TRILHA_CONSUMER_STORE_MS);
}

/* --- one page of due events --------------------------------------------------------------------------------- */

typedef struct page {
  trilha_arena arena;
  trilha_event *events;
  trilha_due_event *due;
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
  p->due[p->count] = (trilha_due_event){row->closed, row->attempts};
  trilha_status status = trilha_event_from_row(&p->arena, event, TRILHA_PAYLOAD_REDIGIDO, &p->events[p->count], err);
  if (status == TRILHA_OK) p->count++;
  return status;
}

static trilha_status read_page(trilha_consumer *c, page *p, trilha_error *err) {
  trilha_error own = {0};
  trilha_arena_reset(&p->arena);
  p->count = p->bytes = 0;
  p->full = false;
  p->events = trilha_arena_array(&p->arena, TRILHA_CONSUMER_PAGE_ROWS, sizeof *p->events);
  p->due = trilha_arena_array(&p->arena, TRILHA_CONSUMER_PAGE_ROWS, sizeof *p->due);
  if (p->events == NULL || p->due == NULL) return trilha_error_no_memory(err);
  trilha_status status =
      c->store->delivery->events_due(c->store, c->options.colonia, c->positions, c->options.type_count,
                                     TRILHA_CONSUMER_PAGE_ROWS, soon(), take, p, p->scanned_to, &own);
  if (p->full) return TRILHA_OK;
  return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(err, &own);
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
                              .batch_handler = c->options.batch_handler,
                              .handler_nome = c->options.handler_nome,
                              .user = c->options.user,
                              .max_attempts = c->options.max_attempts,
                              .atomic = c->options.guarantee == TRILHA_GUARANTEE_ATOMIC,
                              .stop = &c->stopping};
  trilha_reprocessed done = {0};
  status = trilha_reprocess_rows(&r, &how, &done, err);
  /* Stopped on the way: whoever holds the lease next does the rest and answers. */
  if (status != TRILHA_OK || trilha_consumer_must_end(c)) return status;
  return op->request_settle(c->store, &c->lease, request, done.reprocessados, done.failed, soon(), err);
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static trilha_status between_pages(trilha_consumer *c, trilha_deadline *recover_at, trilha_error *err) {
  trilha_status status = serve_requests(c, err);
  trilha_deadletter_say_owed_gauge(c->deadletter);
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
  while (status == TRILHA_OK && !trilha_consumer_must_end(c)) {
    status = between_pages(c, &recover_at, err);
    if (status == TRILHA_OK) status = read_page(c, p, err);
    if (status != TRILHA_OK) break;
    if (p->count != 0) {
      status = trilha_consumer_deliver(c, p->events, p->due, p->count, err);
      continue;
    }
    note_scanned(c, p);
    if (c->options.once) break;
    status = wait_for_events(c, err);
  }
  return status;
}

/* What the handler promises, before it is called. A lease that was lost meanwhile is taken anew. */
static trilha_status declare(trilha_consumer *c, trilha_error *err) {
  return c->store->delivery->lease_declare(c->store, &c->lease,
                                           trilha_text_of(trilha_guarantee_name(c->options.guarantee)),
                                           c->options.because, soon(), err);
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
    if (status == TRILHA_OK) return declare(c, err);
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

static void say_lost(const trilha_consumer *c, const trilha_error *error) {
  trilha_fields fields = {0};
  trilha_fields_text(&fields, "colonia", c->options.colonia);
  trilha_fields_i64(&fields, "token", c->lease.token);
  trilha_fields_error(&fields, error);
  trilha_emit(&c->diagnostics, TRILHA_WARNING, "consumer.lease_lost", "another process took this colony's lease over",
              &fields);
}

static bool renew(void *user) {
  trilha_consumer *c = user;
  trilha_error error = {0};
  int64_t lease_ms = c->options.lease_ms;
  trilha_status status =
      c->store->delivery->lease_renew(c->store, &c->lease, lease_ms, trilha_deadline_in_ms(lease_ms / 3), &error);
  /* A store that does not answer is not a lost lease: the next cursor move tells. */
  if (status == TRILHA_CONFLICT) {
    atomic_store(&c->lost, true);
    say_lost(c, &error);
  }
  return !atomic_load(&c->lost);
}

/* One turn as the holder. */
static trilha_status hold(trilha_consumer *c, page *p, trilha_error *err) {
  trilha_error own = {0};
  trilha_status status = trilha_heartbeat_start(&c->heartbeat, c->options.lease_ms / 3, renew, c, &own);
  if (status == TRILHA_OK) status = follow(c, p, &own);
  trilha_error ignored = {0};
  /* Successes before whatever ended the turn are kept: what is not stored is delivered again. */
  if (!atomic_load(&c->lost) && own.status != TRILHA_CONFLICT) (void)!trilha_consumer_store_moves(c, &ignored);
  trilha_heartbeat_stop(&c->heartbeat);
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
  if (c->created_by != getpid())
    return trilha_error_set(
        err, TRILHA_USAGE, "HANDLE_FORKED",
        "this consumer was made before fork(); open a new handle and consumer in the child process");
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
