/* serve: the registered outboxes as the routes use them. An outbox is used by one thread at a time, so a request takes
 * an open one, or opens one, and leaves it for the next. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "serve/serve_internal.h"

enum { WAIT_MS = 10000 }; /* of a write for its turn */

typedef struct served {
  trilha_config_source source; /* its texts in the arena */
  trilha_outbox *idle[TRILHA_SERVE_OUTBOXES_IDLE_MAX];
  size_t idle_count;
} served;

struct trilha_sources {
  trilha_arena arena;
  served *items;
  size_t count;
  unsigned most;         /* taken at once, of all sources */
  pthread_mutex_t mutex; /* taken, and what is idle */
  unsigned taken;
};

static bool copy(trilha_arena *arena, trilha_text *text) {
  if (text->data == NULL) return true;
  text->data = trilha_arena_copy(arena, *text);
  return text->data != NULL;
}

static bool copy_source(trilha_sources *all, const trilha_config_source *from) {
  trilha_config_source *to = &all->items[all->count++].source;
  *to = *from;
  trilha_text *names = trilha_arena_array(&all->arena, from->destination_count + 1, sizeof *names);
  if (names == NULL || !copy(&all->arena, &to->name) || !copy(&all->arena, &to->store) ||
      !copy(&all->arena, &to->schema))
    return false;
  for (size_t i = 0; i < from->destination_count; i++) {
    names[i] = from->destinations[i];
    if (!copy(&all->arena, &names[i])) return false;
  }
  to->destinations = names;
  return true;
}

trilha_status trilha_sources_new(const trilha_config *config, unsigned workers, trilha_sources **ret_sources,
                                 trilha_error *err) {
  size_t count = 0;
  const trilha_config_source *sources = trilha_config_outboxes(config, &count);
  trilha_sources *all = calloc(1, sizeof *all);
  if (all == NULL) return trilha_error_no_memory(err);
  trilha_arena_init(&all->arena, 0);
  pthread_mutex_init(&all->mutex, NULL);
  all->most = workers < 2 ? 1 : workers - 1;
  all->items = calloc(count + 1, sizeof *all->items);
  bool ok = all->items != NULL;
  for (size_t i = 0; ok && i < count; i++) ok = copy_source(all, &sources[i]);
  if (!ok) {
    trilha_sources_free(all);
    return trilha_error_no_memory(err);
  }
  *ret_sources = all;
  return TRILHA_OK;
}

void trilha_sources_free(trilha_sources *all) {
  if (all == NULL) return;
  for (size_t i = 0; i < all->count; i++)
    for (size_t k = 0; k < all->items[i].idle_count; k++) trilha_outbox_close(all->items[i].idle[k]);
  free(all->items);
  trilha_arena_done(&all->arena);
  pthread_mutex_destroy(&all->mutex);
  free(all);
}

const trilha_config_source *trilha_sources_at(const trilha_sources *all, size_t i) {
  return i < all->count ? &all->items[i].source : NULL;
}

static served *find(trilha_sources *all, trilha_text name) {
  for (size_t i = 0; i < all->count; i++)
    if (trilha_text_equal(all->items[i].source.name, name)) return &all->items[i];
  return NULL;
}

bool trilha_sources_know(trilha_sources *all, trilha_text name) {
  return find(all, name) != NULL;
}

/* False: too many are taken. *ret_outbox stays NULL when none is idle. */
static bool reserve(trilha_sources *all, served *s, trilha_outbox **ret_outbox) {
  pthread_mutex_lock(&all->mutex);
  bool room = all->taken < all->most;
  if (room) all->taken++;
  if (room && s->idle_count > 0) *ret_outbox = s->idle[--s->idle_count];
  pthread_mutex_unlock(&all->mutex);
  return room;
}

/* Why it cannot be opened is for /statusz to tell: it may name a place, and is nothing that the caller can mend. */
static trilha_status open_one(const served *s, trilha_outbox **ret_outbox, trilha_error *err) {
  const trilha_outbox_options where = {
      .url = s->source.store.data, .schema = s->source.schema.data, .lock_timeout_ms = WAIT_MS};
  trilha_error own = {0};
  if (trilha_outbox_open(&where, ret_outbox, &own) == TRILHA_OK) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_UNAVAILABLE, "SOURCE_UNAVAILABLE", "the source cannot be reached: %s", own.code);
}

trilha_status trilha_sources_take(trilha_sources *all, trilha_text name, trilha_outbox **ret_outbox,
                                  trilha_error *err) {
  served *s = find(all, name);
  if (s == NULL)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "SOURCE_NOT_FOUND", "no outbox is registered by this name");
  *ret_outbox = NULL;
  if (!reserve(all, s, ret_outbox))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "OUTBOX_BUSY", "other requests wait for outboxes already");
  trilha_status status = *ret_outbox == NULL ? open_one(s, ret_outbox, err) : TRILHA_OK;
  if (status != TRILHA_OK) trilha_sources_give(all, name, NULL);
  return status;
}

void trilha_sources_give(trilha_sources *all, trilha_text name, trilha_outbox *outbox) {
  served *s = find(all, name);
  pthread_mutex_lock(&all->mutex);
  all->taken--;
  if (outbox != NULL && s->idle_count < TRILHA_SERVE_OUTBOXES_IDLE_MAX) {
    s->idle[s->idle_count++] = outbox;
    outbox = NULL;
  }
  pthread_mutex_unlock(&all->mutex);
  trilha_outbox_close(outbox);
}

void trilha_api_with_outbox(trilha_call *call, trilha_outbox_work work, void *user) {
  trilha_sources *sources = call->serve->sources;
  trilha_outbox *outbox = NULL;
  trilha_error error = {0};
  trilha_status status = trilha_sources_take(sources, call->operands[0], &outbox, &error);
  if (status == TRILHA_OK) {
    status = work(call, outbox, user, &error);
    trilha_sources_give(sources, call->operands[0], outbox);
  }
  if (status == TRILHA_OK)
    trilha_answer_json(call);
  else
    trilha_answer_error(call, &error);
}
