/* consumer/reprocess: running dead letters again (specification 000, section 3.6; rulings R16, R17).
 *
 * Rows are taken by a conditional update under a lease, so two runs never share one; each is settled under that lease's
 * token, so a run that was stopped past it changes nothing. The cursor is never touched (field report B13): a handler
 * whose effect shares a transaction with its cursor settles the row there instead.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/uuid.h"
#include "consumer/consumer_internal.h"

enum { TAKE_ROWS = 1, TAKE_LEASE_MS = 30000, POLL_MS = 50, WAIT_DEFAULT_MS = 30000 };

static trilha_deadline soon(void) {
  return trilha_deadline_in_ms(TRILHA_CONSUMER_STORE_MS);
}

/* --- the lease of the row that is being run ------------------------------------------------------------------------
 */

/* A handler may take longer than a lease: meanwhile it is renewed, so that only a run that is gone loses its row. */
typedef struct holding {
  const trilha_reprocessor *r;
  int64_t lease_ms;
  trilha_heartbeat heartbeat;
  pthread_mutex_t mutex; /* guards id and token */
  int64_t id, token;     /* id 0: none now */
} holding;

static bool renew(void *user) {
  holding *h = user;
  trilha_error ignored = {
      0}; /* a store that does not answer; or it was settled meanwhile, or is lost: settling tells */
  pthread_mutex_lock(&h->mutex);
  int64_t id = h->id, token = h->token;
  pthread_mutex_unlock(&h->mutex);
  if (id != 0)
    (void)!h->r->store->delivery->dead_letter_extend(h->r->store, id, token, h->lease_ms,
                                                     trilha_deadline_in_ms(h->lease_ms / 3), &ignored);
  return true;
}

static void hold(holding *h, int64_t id, int64_t token) {
  pthread_mutex_lock(&h->mutex);
  h->id = id;
  h->token = token;
  pthread_mutex_unlock(&h->mutex);
}

static trilha_status holding_begin(holding *h, const trilha_reprocessor *r, int64_t lease_ms, trilha_error *err) {
  *h = (holding){.r = r, .lease_ms = lease_ms == 0 ? TAKE_LEASE_MS : lease_ms};
  pthread_mutex_init(&h->mutex, NULL);
  trilha_status status = trilha_heartbeat_start(&h->heartbeat, h->lease_ms / 3, renew, h, err);
  if (status != TRILHA_OK) pthread_mutex_destroy(&h->mutex);
  return status;
}

static void holding_end(holding *h) {
  trilha_heartbeat_stop(&h->heartbeat);
  pthread_mutex_destroy(&h->mutex);
}

/* --- one batch of rows ---------------------------------------------------------------------------------------- */

typedef struct taken {
  int64_t id, attempts;
  unsigned char event_id[16];
} taken;

typedef struct batch {
  taken rows[TAKE_ROWS];
  size_t count;
  int64_t token;
} batch;

static trilha_status take_row(void *user, const trilha_dead_letter_row *row, trilha_error *err) {
  (void)err;
  batch *b = user;
  if (b->count == TAKE_ROWS) return TRILHA_OK;
  taken *t = &b->rows[b->count++];
  *t = (taken){.id = row->id, .attempts = row->tentativas};
  memcpy(t->event_id, row->event_id, sizeof t->event_id);
  return TRILHA_OK;
}

typedef struct loaded {
  trilha_arena arena;
  trilha_event event;
} loaded;

static trilha_status load(void *user, const trilha_event_row *row, trilha_error *err) {
  loaded *l = user;
  return trilha_event_from_row(&l->arena, row, TRILHA_PAYLOAD_REDIGIDO, &l->event, err);
}

/* What a handler may settle in the transaction of its own effect. */
typedef struct settlement {
  const trilha_reprocessor *r;
  int64_t id, token;
  bool made; /* which the handler then committed, if it succeeds */
} settlement;

static trilha_status settle_in(void *user, void *connection, trilha_error *err) {
  settlement *s = user;
  trilha_status status = s->r->store->delivery->dead_letter_resolve_in(s->r->store, connection, s->id, s->token, err);
  s->made |= status == TRILHA_OK;
  return status;
}

static void fail_outcome(trilha_outcome *outcome, const char *why) {
  trilha_outcome_done(outcome);
  *outcome = (trilha_outcome){0};
  trilha_buffer_add_string(&outcome->message, why);
}

/* Whether what the handler settled is committed: then nothing is left to renew. */
static trilha_status check_settled(const settlement *s, int64_t lease_ms, trilha_outcome *outcome, trilha_error *err) {
  trilha_error own = {0};
  trilha_status status =
      s->r->store->delivery->dead_letter_extend(s->r->store, s->id, s->token, lease_ms, soon(), &own);
  if (status == TRILHA_CONFLICT) return TRILHA_OK;
  if (status != TRILHA_OK) return trilha_error_copy(err, &own);
  fail_outcome(outcome,
               "the handler succeeded, but the transaction that it passed to trilha_delivery_advance_in() "
               "was not committed");
  return TRILHA_OK;
}

static trilha_status call(const trilha_reprocessor *r, const trilha_reprocess_how *how, const taken *t,
                          const trilha_event *event, settlement *own, trilha_outcome *outcome,
                          trilha_buffer *handler_nome, trilha_error *err) {
  if (how->handler == NULL && how->batch_handler == NULL)
    return trilha_bus_deliver_now(r->bus, how->colonia, event, t->attempts, outcome, handler_nome, err);
  trilha_attempt attempt = {.event = event,
                            .colonia = how->colonia,
                            .handler_nome = how->handler_nome,
                            .handler = how->handler,
                            .batch_handler = how->batch_handler,
                            .user = how->user,
                            .attempt = t->attempts,
                            .advance = settle_in,
                            .advance_user = own};
  trilha_protected_call(r->bus, &attempt, outcome);
  trilha_buffer_add_text(handler_nome, how->handler_nome);
  return TRILHA_OK;
}

/* A handler that could not be called is a failed attempt like another: the row is given back, not left to its lease. */
static bool not_called(trilha_status status, const trilha_error *error, trilha_outcome *outcome) {
  if (status != TRILHA_NOT_FOUND && status != TRILHA_CONFLICT && status != TRILHA_LIMIT) return false;
  fail_outcome(outcome, error->text);
  return true;
}

/* The handler's own transaction has settled the row, or this does. */
static trilha_status settle_row(const trilha_reprocess_how *how, const settlement *own, const trilha_event *event,
                                trilha_text handler_nome, const trilha_outcome *outcome, trilha_error *err) {
  trilha_failed_delivery failed = {.event = event,
                                   .max_attempts = how->max_attempts,
                                   .colonia = how->colonia,
                                   .handler_nome = handler_nome,
                                   .message = trilha_buffer_text(&outcome->message),
                                   .stack = trilha_buffer_text(&outcome->stack)};
  if (outcome->success && own->made) {
    trilha_deadletter_say_gauge(own->r->deadletter);
    return TRILHA_OK;
  }
  return trilha_deadletter_settle(own->r->deadletter, own->id, own->token, outcome->success ? NULL : &failed, err);
}

static trilha_status run_row(const trilha_reprocessor *r, const trilha_reprocess_how *how, const holding *held,
                             const batch *b, const taken *t, trilha_reprocessed *done, trilha_error *err) {
  loaded l = {0};
  trilha_outcome outcome = {0};
  settlement own = {.r = r, .id = t->id, .token = b->token};
  TRILHA_BUFFER_SCOPED handler_nome;
  trilha_buffer_init(&handler_nome, 0);
  trilha_error why = {0};
  trilha_status status = r->store->op->event_by_id(r->store, t->event_id, soon(), load, &l, err);
  if (status == TRILHA_OK) {
    status = call(r, how, t, &l.event, &own, &outcome, &handler_nome, &why);
    if (not_called(status, &why, &outcome)) status = TRILHA_OK;
    if (status != TRILHA_OK) trilha_error_copy(err, &why);
  }
  if (status == TRILHA_OK && TRILHA_FAULT("consumer.reprocess.before_settle"))
    status = trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point");
  if (status == TRILHA_OK && outcome.success && own.made) status = check_settled(&own, held->lease_ms, &outcome, err);
  if (status == TRILHA_OK && outcome.success && how->atomic && !own.made)
    fail_outcome(&outcome,
                 "the consumer declares atomic, and the handler succeeded without "
                 "trilha_delivery_advance_in()");
  if (status == TRILHA_OK) {
    const bool success = outcome.success;
    status = settle_row(how, &own, &l.event, trilha_buffer_text(&handler_nome), &outcome, err);
    if (status == TRILHA_OK) *(success ? &done->reprocessados : &done->failed) += 1;
  }
  trilha_outcome_done(&outcome);
  trilha_arena_done(&l.arena);
  return status;
}

typedef struct listed {
  int64_t *ids;
  size_t count, capacity;
} listed;

static trilha_status list_id(void *user, const trilha_dead_letter_row *row, trilha_error *err) {
  listed *l = user;
  if (l->count == l->capacity) {
    size_t capacity = l->capacity == 0 ? 64 : l->capacity * 2;
    int64_t *ids = realloc(l->ids, capacity * sizeof *ids);
    if (ids == NULL) return trilha_error_no_memory(err);
    l->ids = ids;
    l->capacity = capacity;
  }
  l->ids[l->count++] = row->id;
  return TRILHA_OK;
}

/* The rows pending now, oldest first: what this run will try, each once. */
static trilha_status list_pending(const trilha_reprocessor *r, const trilha_reprocess_how *how, listed *l,
                                  trilha_error *err) {
  trilha_dead_letter_filter filter = {.colonia = how->colonia, .status = TRILHA_TEXT("pendente")};
  for (;;) {
    size_t before = l->count;
    int64_t after = l->count == 0 ? 0 : l->ids[l->count - 1];
    trilha_status status =
        r->store->delivery->dead_letters_list(r->store, &filter, after, 500, soon(), list_id, l, err);
    if (status != TRILHA_OK || l->count - before < 500) return status;
  }
}

static void say_overtaken(const trilha_reprocessor *r, const taken *t, const trilha_error *error) {
  trilha_fields fields = {0};
  trilha_fields_i64(&fields, "dead_letter", t->id);
  trilha_fields_error(&fields, error);
  trilha_emit(r->diagnostics, TRILHA_WARNING, "dlq.retry_overtaken",
              "a retry took longer than its lease and changed nothing", &fields);
}

/* *audit: written with the first rows that are taken, NULL from there on. */
static trilha_status run_ids(const trilha_reprocessor *r, const trilha_reprocess_how *how, holding *held,
                             const int64_t *ids, size_t count, const trilha_audit_row **audit, trilha_reprocessed *done,
                             trilha_error *err) {
  static const char self[] = "reprocess";
  batch b = {0};
  trilha_status status = r->store->delivery->dead_letters_take(r->store, how->colonia, how->types, how->type_count, ids,
                                                               count, TAKE_ROWS, TRILHA_TEXT(self), held->lease_ms,
                                                               *audit, soon(), take_row, &b, &b.token, err);
  if (status == TRILHA_OK && b.count > 0) *audit = NULL;
  for (size_t i = 0; status == TRILHA_OK && i < b.count; i++) {
    if (how->stop != NULL && atomic_load(how->stop)) return TRILHA_OK; /* what is left returns after its lease */
    trilha_error own = {0};
    hold(held, b.rows[i].id, b.token);
    status = run_row(r, how, held, &b, &b.rows[i], done, &own);
    hold(held, 0, 0);
    if (status == TRILHA_CONFLICT) { /* stopped or cut off past the lease: somebody else has the row now */
      say_overtaken(r, &b.rows[i], &own);
      status = TRILHA_OK;
      continue;
    }
    trilha_error_copy(err, &own);
  }
  return status;
}

static trilha_status run_all(const trilha_reprocessor *r, const trilha_reprocess_how *how, const int64_t *ids,
                             size_t count, const trilha_audit_row **audit, trilha_reprocessed *done,
                             trilha_error *err) {
  holding held;
  trilha_status status = holding_begin(&held, r, how->lease_ms, err);
  if (status != TRILHA_OK) return status;
  for (size_t at = 0; status == TRILHA_OK && at < count; at += TAKE_ROWS) {
    if (how->stop != NULL && atomic_load(how->stop)) break;
    status = run_ids(r, how, &held, ids + at, count - at < TAKE_ROWS ? count - at : TAKE_ROWS, audit, done, err);
  }
  holding_end(&held);
  return status;
}

trilha_status trilha_reprocess_rows(const trilha_reprocessor *r, const trilha_reprocess_how *how,
                                    trilha_reprocessed *ret_reprocessed, trilha_error *err) {
  listed pending = {0};
  *ret_reprocessed = (trilha_reprocessed){0};
  trilha_error own = {0};
  trilha_status status = TRILHA_OK;
  const int64_t *ids = how->ids;
  size_t count = how->id_count;
  const trilha_audit_row *audit = how->audit;
  int64_t recovered; /* rows that a crash left `retrying`: there may be no durable consumer that looks after them */
  status = r->store->delivery->dead_letters_recover(r->store, soon(), &recovered, &own);
  if (count == 0 && status == TRILHA_OK) {
    status = list_pending(r, how, &pending, &own);
    ids = pending.ids;
    count = pending.count;
  }
  if (status == TRILHA_OK && count > 0) status = run_all(r, how, ids, count, &audit, ret_reprocessed, &own);
  free(pending.ids);
  if (status == TRILHA_OK && ret_reprocessed->reprocessados + ret_reprocessed->failed == 0)
    ret_reprocessed->reason = "nothing pending";
  return trilha_error_copy(err, &own);
}

/* --- a whole colony --------------------------------------------------------------------------------------------- */

static trilha_status wait_for(const trilha_reprocessor *r, int64_t request, unsigned wait_ms, trilha_reprocessed *done,
                              trilha_error *err) {
  const trilha_delivery_operations *op = r->store->delivery;
  trilha_deadline end = trilha_deadline_in_ms(wait_ms == 0 ? WAIT_DEFAULT_MS : wait_ms);
  for (;;) {
    bool finished;
    trilha_status status =
        op->request_read(r->store, request, soon(), &finished, &done->reprocessados, &done->failed, err);
    if (status != TRILHA_OK) return status;
    if (finished) {
      if (done->reprocessados + done->failed == 0) done->reason = "nothing pending";
      return TRILHA_OK;
    }
    if (trilha_deadline_passed(end)) break;
    trilha_clock_sleep_ms(POLL_MS);
  }
  bool withdrawn;
  done->reason = "not finished in time";
  return op->request_withdraw(r->store, request, soon(), &withdrawn, err);
}

trilha_status trilha_reprocess_colony(const trilha_reprocessor *r, trilha_text colonia, trilha_text user,
                                      const trilha_audit_row *audit, unsigned wait_ms,
                                      trilha_reprocessed *ret_reprocessed, trilha_error *err) {
  *ret_reprocessed = (trilha_reprocessed){0};
  trilha_arena arena = {0};
  trilha_text *types = NULL;
  size_t type_count = 0;
  trilha_status status = trilha_bus_listened_types(r->bus, colonia, &arena, &types, &type_count, err);
  if (status == TRILHA_OK && type_count != 0) { /* types that nobody listens to here are left alone (ruling R17) */
    trilha_reprocess_how how = {.colonia = colonia, .types = types, .type_count = type_count, .audit = audit};
    status = trilha_reprocess_rows(r, &how, ret_reprocessed, err);
  }
  trilha_arena_done(&arena);
  if (status != TRILHA_OK || type_count != 0) return status;
  int64_t request;
  bool listening, withdrawn;
  const trilha_delivery_operations *op = r->store->delivery;
  status = op->request_create(r->store, colonia, user, audit, soon(), &request, &listening, err);
  if (status != TRILHA_OK) return status;
  if (listening) return wait_for(r, request, wait_ms, ret_reprocessed, err);
  ret_reprocessed->reason = "no live listener";
  return op->request_withdraw(r->store, request, soon(), &withdrawn, err);
}

/* --- one event ---------------------------------------------------------------------------------------------------- */

trilha_status trilha_redeliver_event(const trilha_reprocessor *r, trilha_text colonia, const trilha_event *event,
                                     trilha_error *err) {
  unsigned char id[16];
  trilha_outcome outcome = {0};
  TRILHA_BUFFER_SCOPED handler_nome;
  trilha_buffer_init(&handler_nome, 0);
  if (!trilha_uuid_parse(trilha_text_of(event->event_id), id))
    return trilha_error_set(err, TRILHA_USAGE, "UUID_INVALID", "event_id must be a UUID");
  trilha_status status = trilha_bus_deliver_now(r->bus, colonia, event, 1, &outcome, &handler_nome, err);
  if (status != TRILHA_OK) return status;
  if (outcome.success) {
    bool resolved;
    status = r->store->delivery->dead_letter_resolve(r->store, id, colonia, soon(), &resolved, err);
    if (status == TRILHA_OK && resolved) trilha_deadletter_say_gauge(r->deadletter);
  } else {
    trilha_failed_delivery failed = {.event = event,
                                     .colonia = colonia,
                                     .handler_nome = trilha_buffer_text(&handler_nome),
                                     .message = trilha_buffer_text(&outcome.message),
                                     .stack = trilha_buffer_text(&outcome.stack)};
    status = trilha_deadletter_record(r->deadletter, &failed, err);
  }
  trilha_outcome_done(&outcome);
  return status;
}
