/* bus/subscribe: who listens. Specification 000, section 4.2; ruling R11. */
#include <stdlib.h>

#include "base/error.h"
#include "bus/live_internal.h"

static trilha_status check_name(trilha_text text, const char *name, size_t max, trilha_error *err) {
  if (text.data == NULL || text.size == 0 || !trilha_utf8_valid(text.data, text.size) ||
      trilha_text_find(text, '\0') != NULL || trilha_utf8_length(text.data, text.size) > max)
    return trilha_error_set(err, TRILHA_INVALID, "FIELD_LENGTH", "%s must have 1 to %zu characters of UTF-8", name,
                            max);
  return TRILHA_OK;
}

static char *copy(trilha_text text) {
  char *p = malloc(text.size + 1);
  if (p == NULL) return NULL;
  memcpy(p, text.data, text.size);
  p[text.size] = '\0';
  return p;
}

static void listener_free(trilha_listener *l) {
  free(l->tipo);
  free(l->colonia);
  free(l->nome);
  free(l);
}

static trilha_listener *listener_new(const trilha_subscription *s, trilha_error *err) {
  trilha_listener *l = calloc(1, sizeof *l);
  if (l == NULL) {
    trilha_error_no_memory(err);
    return NULL;
  }
  *l = (trilha_listener){.tipo = copy(s->tipo),
                         .colonia = copy(s->colonia),
                         .nome = copy(s->handler_nome.data == NULL ? TRILHA_TEXT("anônimo") : s->handler_nome),
                         .handler = s->handler,
                         .user = s->user};
  if (l->tipo != NULL && l->colonia != NULL && l->nome != NULL) return l;
  listener_free(l);
  trilha_error_no_memory(err);
  return NULL;
}

static bool add(trilha_live *live, trilha_listener *l) {
  if (live->listener_count == live->listener_capacity) {
    size_t capacity = live->listener_capacity == 0 ? 16 : live->listener_capacity * 2;
    trilha_listener **listeners = realloc(live->listeners, capacity * sizeof(trilha_listener *));
    if (listeners == NULL) return false;
    live->listeners = listeners;
    live->listener_capacity = capacity;
  }
  l->id = ++live->last_id;
  live->listeners[live->listener_count++] = l;
  return true;
}

static size_t count_of_type(const trilha_live *live, const char *tipo) {
  size_t count = 0;
  for (size_t i = 0; i < live->listener_count; i++)
    count += !live->listeners[i]->gone && strcmp(live->listeners[i]->tipo, tipo) == 0;
  return count;
}

static void warn_of_many(const trilha_bus *bus, trilha_text tipo, size_t count) {
  trilha_fields fields = {0};
  trilha_fields_text(&fields, "tipo", tipo);
  trilha_fields_i64(&fields, "listeners", (int64_t)count);
  trilha_emit(&bus->diagnostics, TRILHA_WARNING, "subscription.many_listeners",
              "a type has more than 30 listeners: is something subscribing again and again?", &fields);
}

trilha_status trilha_bus_subscribe(trilha_bus *bus, const trilha_subscription *s, int64_t *ret_id, trilha_error *err) {
  trilha_status status = check_name(s->tipo, "tipo", TRILHA_TIPO_CHARS_MAX, err);
  if (status == TRILHA_OK) status = check_name(s->colonia, "colonia", TRILHA_COLONIA_CHARS_MAX, err);
  if (status == TRILHA_OK && s->handler_nome.data != NULL)
    status = check_name(s->handler_nome, "handler_nome", TRILHA_HANDLER_NOME_CHARS_MAX, err);
  if (status == TRILHA_OK && s->handler == NULL)
    status = trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING", "the handler must not be NULL");
  if (status != TRILHA_OK) return status;
  trilha_listener *l = listener_new(s, err);
  if (l == NULL) return TRILHA_NO_MEMORY;
  pthread_mutex_lock(&bus->live->mutex);
  bool ok = trilha_mailbox_make(bus->live, s->colonia) != NULL && add(bus->live, l);
  int64_t id = l->id;
  size_t count = ok ? count_of_type(bus->live, l->tipo) : 0;
  pthread_mutex_unlock(&bus->live->mutex);
  if (!ok) {
    listener_free(l);
    return trilha_error_no_memory(err);
  }
  if (count > TRILHA_LISTENERS_WARN) warn_of_many(bus, s->tipo, count);
  if (ret_id != NULL) *ret_id = id;
  return TRILHA_OK;
}

/* --- holding -------------------------------------------------------------------------------------------- */

trilha_listener *trilha_listener_hold(trilha_live *live, trilha_text tipo, trilha_text colonia, int64_t after_id) {
  for (size_t i = 0; i < live->listener_count; i++) {
    trilha_listener *l = live->listeners[i];
    if (l->gone || l->id <= after_id || !trilha_text_is(tipo, l->tipo) || !trilha_text_is(colonia, l->colonia))
      continue;
    l->running++;
    return l;
  }
  return NULL;
}

static void remove_listener(trilha_live *live, trilha_listener *gone) {
  size_t to = 0;
  for (size_t i = 0; i < live->listener_count; i++)
    if (live->listeners[i] != gone) live->listeners[to++] = live->listeners[i];
  live->listener_count = to;
  listener_free(gone);
}

void trilha_listener_release(trilha_live *live, trilha_listener *l) {
  l->running--;
  if (l->gone && l->running == 0) {
    remove_listener(live, l);
    pthread_cond_broadcast(&live->changed);
  }
}

/* Whether this thread runs a handler: it waits for no other, which could be unsubscribing this one. */
static bool runs_a_handler(const trilha_live *live) {
  for (const struct trilha_delivery *d = live->running; d != NULL; d = d->next)
    if (pthread_equal(d->thread, pthread_self())) return true;
  return false;
}

static trilha_listener *find(trilha_live *live, int64_t id) {
  for (size_t i = 0; i < live->listener_count; i++)
    if (live->listeners[i]->id == id) return live->listeners[i];
  return NULL;
}

trilha_status trilha_bus_unsubscribe(trilha_bus *bus, int64_t id, trilha_error *err) {
  trilha_live *live = bus->live;
  pthread_mutex_lock(&live->mutex);
  trilha_listener *l = find(live, id);
  bool found = l != NULL && !l->gone;
  if (found) {
    l->gone = true;
    if (l->running == 0)
      remove_listener(live, l);
    else if (!runs_a_handler(live))
      while (find(live, id) != NULL) pthread_cond_wait(&live->changed, &live->mutex);
  }
  pthread_mutex_unlock(&live->mutex);
  if (found) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_NOT_FOUND, "SUBSCRIPTION_NOT_FOUND", "there is no subscription with this id");
}

bool trilha_bus_listens(trilha_bus *bus, trilha_text tipo, trilha_text colonia) {
  pthread_mutex_lock(&bus->live->mutex);
  trilha_listener *l = trilha_listener_hold(bus->live, tipo, colonia, 0);
  if (l != NULL) trilha_listener_release(bus->live, l);
  pthread_mutex_unlock(&bus->live->mutex);
  return l != NULL;
}

static bool listed(const trilha_text *types, size_t count, const char *tipo) {
  for (size_t i = 0; i < count; i++)
    if (trilha_text_is(types[i], tipo)) return true;
  return false;
}

trilha_status trilha_bus_listened_types(trilha_bus *bus, trilha_text colonia, trilha_arena *arena,
                                        trilha_text **ret_types, size_t *ret_count, trilha_error *err) {
  trilha_live *live = bus->live;
  pthread_mutex_lock(&live->mutex);
  size_t count = 0;
  trilha_text *types = trilha_arena_array(arena, live->listener_count, sizeof *types);
  bool ok = types != NULL;
  for (size_t i = 0; i < live->listener_count && ok; i++) {
    const trilha_listener *l = live->listeners[i];
    if (l->gone || !trilha_text_is(colonia, l->colonia) || listed(types, count, l->tipo)) continue;
    const char *tipo = trilha_arena_copy(arena, trilha_text_of(l->tipo));
    ok = tipo != NULL;
    if (ok) types[count++] = trilha_text_of(tipo);
  }
  pthread_mutex_unlock(&live->mutex);
  if (!ok) return trilha_error_no_memory(err);
  *ret_types = types;
  *ret_count = count;
  return TRILHA_OK;
}
