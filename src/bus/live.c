/* bus/live: delivery to the subscriptions of this process (specification 000, section 3.3, step 8).
 *
 * The leader of a commit puts entries into the colonies' mailboxes, in the order of the sequence; leadership goes on
 * before any handler runs. A publishing thread then takes entries of the colonies that its own events wait in, oldest
 * first, one at a time per colony, until its own are done: so it may run another thread's delivery, and another its. A
 * publish made inside a handler only puts: its entries belong to the outer publish, whose thread takes them after the
 * handler has returned. If you change this: no mutex while a handler runs, and a thread that waits must hold no
 * mailbox.
 */
#include <stdlib.h>

#include "base/error.h"
#include "bus/live_internal.h"

/* --- mailboxes ------------------------------------------------------------------------------------------ */

trilha_mailbox *trilha_mailbox_find(trilha_live *live, trilha_text colonia) {
  for (trilha_mailbox *m = live->mailboxes; m != NULL; m = m->next)
    if (trilha_text_is(colonia, m->colonia)) return m;
  return NULL;
}

trilha_mailbox *trilha_mailbox_make(trilha_live *live, trilha_text colonia) {
  trilha_mailbox *m = trilha_mailbox_find(live, colonia);
  if (m != NULL) return m;
  m = calloc(1, sizeof *m);
  char *name = malloc(colonia.size + 1);
  if (m == NULL || name == NULL) {
    free(m);
    free(name);
    return NULL;
  }
  memcpy(name, colonia.data, colonia.size);
  name[colonia.size] = '\0';
  m->colonia = name;
  m->next = live->mailboxes;
  live->mailboxes = m;
  return m;
}

static void event_release(trilha_live_event *e) {
  if (--e->references != 0) return;
  trilha_arena_done(&e->arena);
  free(e);
}

/* --- putting: on the leader's thread --------------------------------------------------------------------- */

static trilha_live_event *event_new(const trilha_append_item *item, const trilha_live_owner *owner) {
  trilha_live_event *e = calloc(1, sizeof *e);
  if (e == NULL) return NULL;
  trilha_event_row row = item->got;
  row.payload = owner->publication->payload;
  char *stored = trilha_arena_copy(&e->arena, item->row.payload);
  if (stored == NULL || trilha_event_from_row(&e->arena, &row, TRILHA_PAYLOAD_COMPLETO, &e->event, NULL) != TRILHA_OK) {
    trilha_arena_done(&e->arena);
    free(e);
    return NULL;
  }
  e->stored_payload = (trilha_text){stored, item->row.payload.size};
  e->references = 1;
  return e;
}

static bool put(trilha_mailbox *m, trilha_live_event *event, const trilha_live_owner *owner) {
  trilha_live_entry *entry = calloc(1, sizeof *entry);
  if (entry == NULL) return false;
  *entry = (trilha_live_entry){.event = event, .ticket = owner->ticket, .depth = owner->depth};
  if (m->last != NULL)
    m->last->next = entry;
  else
    m->first = entry;
  m->last = entry;
  event->references++;
  owner->ticket->open++;
  return true;
}

static void say_lost(const trilha_live *live, const trilha_append_item *item) {
  trilha_fields fields = {0};
  trilha_fields_i64(&fields, "sequence_number", item->got.sequence_number);
  trilha_emit(&live->bus->diagnostics, TRILHA_ERROR, "event.not_delivered",
              "out of memory: a stored event was not delivered to the subscriptions of this process", &fields);
}

/* One entry for each colony with a listener of the type, in the order of subscription. */
static void put_for_listeners(trilha_live *live, const trilha_append_item *item) {
  const trilha_live_owner *owner = item->owner;
  trilha_live_event *event = NULL;
  bool ok = true;
  for (size_t i = 0; i < live->listener_count && ok; i++) {
    const trilha_listener *l = live->listeners[i];
    if (l->gone || !trilha_text_is(item->row.tipo, l->tipo)) continue;
    bool seen = false;
    for (size_t k = 0; k < i && !seen; k++)
      seen = !live->listeners[k]->gone && strcmp(live->listeners[k]->colonia, l->colonia) == 0 &&
             trilha_text_is(item->row.tipo, live->listeners[k]->tipo);
    if (seen) continue;
    if (event == NULL) event = event_new(item, owner);
    ok = event != NULL && put(trilha_mailbox_find(live, trilha_text_of(l->colonia)), event, owner);
  }
  if (event != NULL) event_release(event);
  if (!ok) say_lost(live, item);
}

void trilha_live_committed(void *user, trilha_append_item *const *items, size_t count) {
  trilha_live *live = user;
  pthread_mutex_lock(&live->mutex);
  if (live->listener_count != 0) {
    for (size_t i = 0; i < count; i++)
      if (items[i]->owner != NULL) put_for_listeners(live, items[i]);
    pthread_cond_broadcast(&live->changed);
  }
  pthread_mutex_unlock(&live->mutex);
}

/* --- running: on publishing threads ----------------------------------------------------------------------- */

/* Mutex held. */
static void enter(trilha_live *live, struct trilha_delivery *delivery) {
  delivery->thread = pthread_self();
  for (const struct trilha_delivery *d = live->running; d != NULL && delivery->ticket == NULL; d = d->next)
    if (pthread_equal(d->thread, delivery->thread)) {
      delivery->ticket = d->ticket; /* the turn this call is made in: see run_next() */
      delivery->depth = d->depth;
    }
  delivery->next = live->running;
  live->running = delivery;
}

/* Mutex held. */
static void leave(trilha_live *live, const struct trilha_delivery *delivery) {
  struct trilha_delivery **at = &live->running;
  while (*at != delivery) at = &(*at)->next;
  *at = delivery->next;
}

void trilha_delivery_enter(trilha_live *live, struct trilha_delivery *delivery) {
  pthread_mutex_lock(&live->mutex);
  enter(live, delivery);
  pthread_mutex_unlock(&live->mutex);
}

void trilha_delivery_leave(trilha_live *live, struct trilha_delivery *delivery) {
  pthread_mutex_lock(&live->mutex);
  leave(live, delivery);
  pthread_mutex_unlock(&live->mutex);
}

/* Mutex held. */
static trilha_nesting nesting_of(const trilha_live *live) {
  pthread_t self = pthread_self();
  for (const struct trilha_delivery *d = live->running; d != NULL; d = d->next) /* the innermost comes first */
    if (pthread_equal(d->thread, self)) return (trilha_nesting){true, d->ticket, d->depth + 1, d->traced, d->trace};
  return (trilha_nesting){0};
}

trilha_nesting trilha_live_nesting(trilha_live *live) {
  pthread_mutex_lock(&live->mutex);
  trilha_nesting nesting = nesting_of(live);
  pthread_mutex_unlock(&live->mutex);
  return nesting;
}

/* Gives back the listener that ran and holds the next one. */
static trilha_listener *hold_next(trilha_live *live, trilha_listener *ran, const trilha_event *event,
                                  trilha_text colonia) {
  pthread_mutex_lock(&live->mutex);
  trilha_listener *next = trilha_listener_hold(live, trilha_text_of(event->tipo), colonia, ran->id);
  trilha_listener_release(live, ran);
  pthread_mutex_unlock(&live->mutex);
  return next;
}

/* All handlers of (the event's type, colony) from `first`, which is held, on, each protected; the last that failed is
 * the outcome and names the dead letter (ruling R11). */
static void run_handlers(trilha_live *live, struct trilha_delivery *turn, trilha_listener *first, trilha_text colonia,
                         const trilha_event *event, int64_t attempt_number, trilha_outcome *outcome,
                         trilha_buffer *handler_nome) {
  *outcome = (trilha_outcome){.success = true};
  for (trilha_listener *l = first; l != NULL; l = hold_next(live, l, event, colonia)) {
    trilha_attempt attempt = {.event = event,
                              .colonia = colonia,
                              .handler_nome = trilha_text_of(l->nome),
                              .handler = l->handler,
                              .user = l->user,
                              .attempt = attempt_number};
    trilha_outcome one;
    trilha_protected_call_in_turn(live->bus, &attempt, turn, &one);
    if (one.success) {
      trilha_outcome_done(&one);
      continue;
    }
    trilha_outcome_done(outcome);
    *outcome = one;
    trilha_buffer_clear(handler_nome);
    trilha_buffer_add_string(handler_nome, l->nome);
  }
}

static void run_entry(trilha_live *live, struct trilha_delivery *turn, const trilha_mailbox *m,
                      const trilha_live_entry *entry, trilha_listener *first) {
  TRILHA_BUFFER_SCOPED handler_nome;
  trilha_buffer_init(&handler_nome, 0);
  trilha_outcome outcome;
  run_handlers(live, turn, first, trilha_text_of(m->colonia), &entry->event->event, 1, &outcome, &handler_nome);
  if (!outcome.success) {
    trilha_failed_delivery failed = {.event = &entry->event->event,
                                     .stored_payload = entry->event->stored_payload,
                                     .colonia = trilha_text_of(m->colonia),
                                     .handler_nome = trilha_buffer_text(&handler_nome),
                                     .message = trilha_buffer_text(&outcome.message),
                                     .stack = trilha_buffer_text(&outcome.stack)};
    (void)!trilha_deadletter_record(live->bus->deadletter, &failed,
                                    NULL); /* said there; the flow goes on (section 4.2) */
  }
  trilha_outcome_done(&outcome);
}

/* A mailbox that holds an entry of this ticket and is free; *ret_waits when one is there but busy. Mutex held. */
static trilha_mailbox *next_for(trilha_live *live, const trilha_ticket *ticket) {
  for (trilha_mailbox *m = live->mailboxes; m != NULL; m = m->next) {
    if (m->busy) continue;
    for (const trilha_live_entry *e = m->first; e != NULL; e = e->next)
      if (e->ticket == ticket) return m;
  }
  return NULL;
}

/* The turn is a pseudo-delivery that marks this thread, so that publishes inside find their ticket. Mutex held. */
static void run_next(trilha_live *live, trilha_mailbox *m) {
  static const trilha_attempt nobody = {0};
  trilha_live_entry *entry = m->first;
  struct trilha_delivery turn = {.bus = live->bus, .attempt = &nobody, .ticket = entry->ticket, .depth = entry->depth};
  m->first = entry->next;
  if (m->first == NULL) m->last = NULL;
  m->busy = true;
  m->runner = pthread_self();
  enter(live, &turn);
  trilha_listener *first =
      trilha_listener_hold(live, trilha_text_of(entry->event->event.tipo), trilha_text_of(m->colonia), 0);
  pthread_mutex_unlock(&live->mutex);
  run_entry(live, &turn, m, entry, first);
  pthread_mutex_lock(&live->mutex);
  leave(live, &turn);
  m->busy = false;
  entry->ticket->open--;
  event_release(entry->event);
  free(entry);
  pthread_cond_broadcast(&live->changed);
}

void trilha_live_drain(trilha_live *live, trilha_ticket *ticket) {
  pthread_mutex_lock(&live->mutex);
  while (ticket->open != 0) {
    trilha_mailbox *m = next_for(live, ticket);
    if (m != NULL)
      run_next(live, m);
    else
      pthread_cond_wait(&live->changed, &live->mutex);
  }
  pthread_mutex_unlock(&live->mutex);
}

/* --- redelivery ------------------------------------------------------------------------------------------- */

/* Takes the colony's turn; false when this thread has it already (a redelivery inside that colony's own handler runs at
 * once). Mutex held. */
static bool take_turn(trilha_live *live, trilha_mailbox *m) {
  if (m->busy && pthread_equal(m->runner, pthread_self())) return false;
  while (m->busy) pthread_cond_wait(&live->changed, &live->mutex);
  m->busy = true;
  m->runner = pthread_self();
  return true;
}

static trilha_status nobody_listens(trilha_error *err) {
  return trilha_error_set(err, TRILHA_NOT_FOUND, "LISTENER_NOT_FOUND",
                          "no subscription of this colony to this type exists in this process");
}

/* The colony's turn for this thread, and its first listener held: see take_turn() for *ret_mine. Mutex held. */
static trilha_status begin_turn(trilha_live *live, trilha_text colonia, trilha_text tipo, const trilha_nesting *nesting,
                                struct trilha_delivery *turn, bool *ret_mine, trilha_listener **ret_first,
                                trilha_error *err) {
  trilha_mailbox *m = trilha_mailbox_find(live, colonia);
  trilha_listener *any = trilha_listener_hold(live, tipo, colonia, 0);
  if (m == NULL || any == NULL) return nobody_listens(err);
  trilha_listener_release(live, any);             /* the turn may have to be waited for */
  if (nesting->depth > TRILHA_NESTED_PUBLISH_MAX) /* a handler that redelivers to itself would end with the stack */
    return trilha_error_set(err, TRILHA_LIMIT, "NESTED_TOO_DEEP",
                            "handlers redelivered inside handlers %d times over: is a handler calling itself?",
                            TRILHA_NESTED_PUBLISH_MAX);
  if (m->busy && nesting->nested && !pthread_equal(m->runner, pthread_self())) /* two would wait for each other */
    return trilha_error_set(err, TRILHA_CONFLICT, "COLONY_BUSY",
                            "a handler cannot wait for another colony's turn; redeliver after it has returned");
  *ret_mine = take_turn(live, m);
  *ret_first = trilha_listener_hold(live, tipo, colonia, 0);
  enter(live, turn);
  return TRILHA_OK;
}

/* Whether what the handlers published still waits. */
static bool end_turn(trilha_live *live, trilha_text colonia, const struct trilha_delivery *turn, bool mine) {
  pthread_mutex_lock(&live->mutex);
  leave(live, turn);
  if (mine) trilha_mailbox_find(live, colonia)->busy = false;
  bool waits = turn->ticket != NULL && turn->ticket->open != 0;
  pthread_cond_broadcast(&live->changed);
  pthread_mutex_unlock(&live->mutex);
  return waits;
}

trilha_status trilha_bus_deliver_now(trilha_bus *bus, trilha_text colonia, const trilha_event *event, int64_t attempt,
                                     trilha_outcome *ret_outcome, trilha_buffer *handler_nome, trilha_error *err) {
  static const trilha_attempt nobody = {0};
  trilha_live *live = bus->live;
  trilha_ticket ticket = {0};
  trilha_listener *first = NULL;
  bool mine = false;
  pthread_mutex_lock(&live->mutex);
  trilha_nesting nesting = nesting_of(live);
  struct trilha_delivery turn = {.bus = bus, .attempt = &nobody, .ticket = &ticket, .depth = nesting.depth};
  if (nesting.nested) turn.ticket = nesting.ticket;
  trilha_status status = begin_turn(live, colonia, trilha_text_of(event->tipo), &nesting, &turn, &mine, &first, err);
  pthread_mutex_unlock(&live->mutex);
  if (status != TRILHA_OK) return status;
  run_handlers(live, &turn, first, colonia, event, attempt, ret_outcome, handler_nome);
  bool waits = end_turn(live, colonia, &turn, mine);
  if (!nesting.nested && waits) trilha_live_drain(live, &ticket);
  /* Unsubscribed while the turn was waited for: that nobody failed is no success. */
  return first != NULL ? TRILHA_OK : nobody_listens(err);
}

/* --- life -------------------------------------------------------------------------------------------------- */

trilha_status trilha_live_new(trilha_bus *bus, trilha_live **ret_live, trilha_error *err) {
  trilha_live *live = calloc(1, sizeof *live);
  if (live == NULL) return trilha_error_no_memory(err);
  live->bus = bus;
  pthread_mutex_init(&live->mutex, NULL);
  pthread_cond_init(&live->changed, NULL);
  *ret_live = live;
  return TRILHA_OK;
}

void trilha_live_free(trilha_live *live) {
  if (live == NULL) return;
  for (trilha_mailbox *m = live->mailboxes, *next; m != NULL; m = next) {
    next = m->next;
    free(m->colonia);
    free(m);
  }
  for (size_t i = 0; i < live->listener_count; i++) {
    free(live->listeners[i]->tipo);
    free(live->listeners[i]->colonia);
    free(live->listeners[i]->nome);
    free(live->listeners[i]);
  }
  free(live->listeners);
  pthread_mutex_destroy(&live->mutex);
  pthread_cond_destroy(&live->changed);
  free(live);
}
