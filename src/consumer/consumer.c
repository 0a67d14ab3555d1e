/* consumer: options, life, and what operators see. */
#include "consumer/consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "consumer/consumer_internal.h"
#include "store/guarantee.h"

static trilha_status bad_option(trilha_error *err, const char *what) {
  return trilha_error_set(err, TRILHA_USAGE, "CONSUMER_OPTION_INVALID", "%s", what);
}

static bool is_name(trilha_text text, size_t max) {
  return text.data != NULL && text.size != 0 && trilha_utf8_valid(text.data, text.size) &&
         trilha_text_find(text, '\0') == NULL && trilha_utf8_length(text.data, text.size) <= max;
}

static trilha_status check(const trilha_consumer_options *o, trilha_error *err) {
  if (!is_name(o->colonia, TRILHA_COLONIA_CHARS_MAX)) return bad_option(err, "colonia must have 1 to 100 characters");
  if (o->grupo.size != 0 && !is_name(o->grupo, TRILHA_COLONIA_CHARS_MAX))
    return bad_option(err, "grupo must have at most 100 characters");
  if ((o->handler == NULL) == (o->batch_handler == NULL))
    return bad_option(err, "a consumer has a handler or a batch_handler, one of them");
  if (o->type_count == 0 || o->type_count > TRILHA_CONSUMER_TYPES_MAX || o->types == NULL)
    return bad_option(err, "a consumer has 1 to 64 types");
  for (size_t i = 0; i < o->type_count; i++) {
    if (!is_name(o->types[i], TRILHA_TIPO_CHARS_MAX)) return bad_option(err, "a type must have 1 to 255 characters");
    for (size_t k = 0; k < i; k++)
      if (trilha_text_equal(o->types[i], o->types[k])) return bad_option(err, "a type is named twice");
  }
  if (o->from == TRILHA_FROM_SEQUENCE && o->from_sequence < 1)
    return bad_option(err, "the sequence to start from must be 1 or more");
  if (o->lease_ms != 0 && o->lease_ms < TRILHA_CONSUMER_LEASE_LEAST_MS)
    return bad_option(err, "the lease must be 1000 ms or more");
  if (o->guarantee != TRILHA_GUARANTEE_UNDECLARED && !trilha_guarantee_is_declared(o->guarantee, o->because))
    return bad_option(err, "the guarantee is atomic, durable, or best effort with the reason in because");
  if (o->batch_max > TRILHA_CONSUMER_BATCH_MAX) return bad_option(err, "a batch has at most 1000 events");
  return TRILHA_OK;
}

static trilha_text keep(trilha_consumer *c, trilha_text text, bool *ok) {
  if (text.data == NULL) text = TRILHA_TEXT("");
  char *copy = trilha_arena_copy(&c->arena, text);
  *ok &= copy != NULL;
  return (trilha_text){copy, text.size};
}

/* host:pid:random, so that two consumers of one process are two holders. */
void trilha_consumer_name_holder(char *out, size_t size) {
  char host[48] = "?", hex[9];
  unsigned char random[4] = {0};
  gethostname(host, sizeof host - 1);
  (void)!trilha_random_bytes(random, sizeof random);
  trilha_hex(random, sizeof random, hex);
  snprintf(out, size, "%s:%ld:%s", host, (long)getpid(), hex);
}

static trilha_status allocate(trilha_consumer *c, const trilha_consumer_options *o, trilha_error *err) {
  bool ok = true;
  size_t n = o->type_count;
  c->options = *o;
  if (c->options.lease_ms == 0) c->options.lease_ms = TRILHA_CONSUMER_LEASE_MS;
  if (c->options.batch_max == 0) c->options.batch_max = o->batch_handler == NULL ? 1 : TRILHA_CONSUMER_BATCH_DEFAULT;
  if (o->guarantee == TRILHA_GUARANTEE_UNDECLARED) c->options.guarantee = TRILHA_GUARANTEE_DURABLE;
  c->options.because = o->guarantee == TRILHA_GUARANTEE_BEST_EFFORT ? keep(c, o->because, &ok) : (trilha_text){0};
  c->options.colonia = keep(c, o->colonia, &ok);
  c->options.grupo = keep(c, o->grupo, &ok);
  c->options.handler_nome = keep(c, o->handler_nome, &ok);
  c->types = trilha_arena_array(&c->arena, n, sizeof *c->types);
  c->positions = trilha_arena_array(&c->arena, n, sizeof *c->positions);
  c->moves = trilha_arena_array(&c->arena, n, sizeof *c->moves);
  c->everything = trilha_arena_array(&c->arena, n, sizeof *c->everything);
  c->resolved = trilha_arena_array(&c->arena, c->options.batch_max, sizeof *c->resolved);
  if (c->types == NULL || c->positions == NULL || c->moves == NULL || c->everything == NULL || c->resolved == NULL)
    return trilha_error_no_memory(err);
  for (size_t i = 0; i < n; i++) c->types[i] = keep(c, o->types[i], &ok);
  c->options.types = c->types;
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

trilha_status trilha_consumer_create(trilha_bus *bus, trilha_store *store, trilha_deadletter *deadletter,
                                     const trilha_diagnostics *diagnostics, const trilha_consumer_options *options,
                                     trilha_consumer **ret_consumer, trilha_error *err) {
  trilha_status status = check(options, err);
  if (status != TRILHA_OK) return status;
  trilha_consumer *c = calloc(1, sizeof *c);
  if (c == NULL) return trilha_error_no_memory(err);
  c->created_by = getpid();
  c->bus = bus;
  c->store = store;
  c->deadletter = deadletter;
  c->diagnostics = *diagnostics;
  trilha_consumer_name_holder(c->holder, sizeof c->holder);
  status = allocate(c, options, err);
  if (status == TRILHA_OK)
    *ret_consumer = c;
  else
    trilha_consumer_destroy(c);
  return status;
}

void trilha_consumer_ask_stop(trilha_consumer *c) {
  atomic_store(&c->stopping, true);
}

void trilha_consumer_destroy(trilha_consumer *c) {
  if (c == NULL) return;
  trilha_arena_done(&c->arena);
  free(c);
}

size_t trilha_consumer_type(const trilha_consumer *c, const char *tipo) {
  for (size_t i = 0; i < c->options.type_count; i++)
    if (trilha_text_is(c->types[i], tipo)) return i;
  return 0;
}

bool trilha_consumer_pause(trilha_consumer *c, int64_t ms) {
  for (trilha_deadline end = trilha_deadline_in_ms(ms); !atomic_load(&c->stopping) && !trilha_deadline_passed(end);)
    trilha_clock_sleep_ms(trilha_deadline_left_ms(end, 50));
  return atomic_load(&c->stopping);
}

/* --- what operators see ------------------------------------------------------------------------------------ */

enum { BEHIND_EVENTS = 1000, BEHIND_SECONDS = 60 };

typedef struct gathered {
  trilha_arena arena;
  trilha_consumer_state *items;
  size_t count;
} gathered;

static const char *state_of(const trilha_consumer_row *row, int64_t lag_seconds) {
  if (!row->live) return "stopped";
  if (row->lag_events == 0) return "live";
  return row->lag_events >= BEHIND_EVENTS || lag_seconds >= BEHIND_SECONDS ? "behind" : "catching-up";
}

static const char *copy(gathered *g, trilha_text text, bool *ok) {
  if (text.data == NULL) return NULL;
  const char *p = trilha_arena_copy(&g->arena, text);
  *ok &= p != NULL;
  return p;
}

static trilha_status gather(void *user, const trilha_consumer_row *row, trilha_error *err) {
  gathered *g = user;
  trilha_consumer_state *items = realloc(g->items, (g->count + 1) * sizeof *items);
  if (items == NULL) return trilha_error_no_memory(err);
  g->items = items;
  int64_t lag = row->oldest_lag_us == INT64_MIN ? 0 : (trilha_clock_wall_us() - row->oldest_lag_us) / 1000000;
  char updated[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(row->updated_at_us, updated);
  bool ok = true;
  items[g->count++] = (trilha_consumer_state){.colonia = copy(g, row->colonia, &ok),
                                              .grupo = copy(g, row->grupo, &ok),
                                              .tipo = copy(g, row->tipo, &ok),
                                              .holder = row->live ? copy(g, row->holder, &ok) : NULL,
                                              .state = state_of(row, lag),
                                              .last_sequence = row->last_sequence,
                                              .lag_events = row->lag_events,
                                              .lag_seconds = lag < 0 ? 0 : lag,
                                              .updated_at = copy(g, trilha_text_of(updated), &ok)};
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

trilha_status trilha_consumer_states_list(trilha_store *store, trilha_text colonia, trilha_consumer_states **ret_states,
                                          trilha_error *err) {
  gathered *g = calloc(1, sizeof *g);
  trilha_consumer_states *states = calloc(1, sizeof *states);
  if (g == NULL || states == NULL) {
    free(g);
    free(states);
    return trilha_error_no_memory(err);
  }
  states->memory = g;
  trilha_status status =
      store->delivery->consumers_list(store, colonia, trilha_deadline_in_ms(TRILHA_CONSUMER_STORE_MS), gather, g, err);
  if (status != TRILHA_OK) {
    trilha_error_while(err, "listing consumers");
    trilha_consumer_states_release(states);
    return status;
  }
  states->items = g->items;
  states->count = g->count;
  *ret_states = states;
  return TRILHA_OK;
}

void trilha_consumer_states_release(trilha_consumer_states *states) {
  if (states == NULL) return;
  gathered *g = states->memory;
  trilha_arena_done(&g->arena);
  free(g->items);
  free(g);
  free(states);
}

/* --- what handlers promise ----------------------------------------------------------------------------------- */

static const char live_group[] = "live "; /* and the holder: consumer/service */

typedef struct guarantee_listener {
  trilha_handler_guarantee_visit visit;
  void *user;
} guarantee_listener;

static trilha_status tell_guarantee(void *user, const trilha_handler_row *row, trilha_error *err) {
  const guarantee_listener *l = user;
  const size_t mark = sizeof live_group - 1;
  bool plain = row->grupo.size >= mark && memcmp(row->grupo.data, live_group, mark) == 0;
  char declared[TRILHA_TIMESTAMP_SIZE];
  (void)err;
  trilha_handler_guarantee h = {.handler = TRILHA_TEXT("consumer"),
                                .colonia = row->colonia,
                                .tipo = row->tipo,
                                .grupo = row->grupo,
                                .guarantee = row->guarantee.data == NULL ? TRILHA_TEXT("durable") : row->guarantee,
                                .because = row->because,
                                .holder = row->holder,
                                .running = row->live};
  if (row->declared_at_us != INT64_MIN) {
    trilha_timestamp_format(row->declared_at_us, declared);
    h.declared_at = trilha_text_of(declared);
  }
  if (plain) {
    h.handler = TRILHA_TEXT("subscription");
    h.grupo = (trilha_text){0};
    h.guarantee = trilha_text_of(trilha_guarantee_name(TRILHA_GUARANTEE_BEST_EFFORT));
    h.because = TRILHA_TEXT("what its process had not delivered is lost when that ends");
    h.holder = (trilha_text){row->grupo.data + mark, row->grupo.size - mark};
  }
  return l->visit(l->user, &h);
}

trilha_status trilha_consumer_handlers_list(trilha_store *store, trilha_handler_guarantee_visit visit, void *user,
                                            trilha_error *err) {
  guarantee_listener listener = {visit, user};
  trilha_status status = store->delivery->handlers_list(store, trilha_deadline_in_ms(TRILHA_CONSUMER_STORE_MS),
                                                        tell_guarantee, &listener, err);
  if (status != TRILHA_OK) trilha_error_while(err, "listing handlers");
  return status;
}
