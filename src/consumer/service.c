/* consumer/service: how a process with plain subscriptions answers requests made elsewhere. */
#include "consumer/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "consumer/consumer_internal.h"

enum { LOOK_MS = 1000, LEASE_MS = 30000, RENEW_MS = 10000, STORE_MS = 10000 };

typedef struct watched {
  struct watched *next;
  char *colonia;
  trilha_lease lease; /* token 0: none */
  trilha_deadline renew_at;
} watched;

struct trilha_service {
  trilha_reprocessor r;
  char grupo[128]; /* "live HOLDER": of this handle alone */
  pthread_t thread;
  pthread_mutex_t mutex; /* guards what follows; never held across the store or a handler */
  pthread_cond_t wake;
  watched *first; /* only grows: a colony is watched as long as the handle lives */
  bool running, news;
  _Atomic bool end;
};

static trilha_deadline soon(void) {
  return trilha_deadline_in_ms(STORE_MS);
}

static void say(const trilha_service *s, const watched *w, const trilha_error *error) {
  trilha_fields fields = {0};
  trilha_fields_string(&fields, "colonia", w->colonia);
  trilha_fields_error(&fields, error);
  trilha_emit(s->r.diagnostics, TRILHA_WARNING, "subscription.service_failed",
              "requests to run dead letters again cannot be answered here for the moment", &fields);
}

/* --- one colony -------------------------------------------------------------------------------------------- */

static trilha_status keep_lease(trilha_service *s, watched *w, const trilha_text *types, size_t type_count,
                                trilha_error *err) {
  if (w->lease.token != 0 && !trilha_deadline_passed(w->renew_at)) return TRILHA_OK;
  char holder[128] = "";
  w->lease = (trilha_lease){
      .colonia = trilha_text_of(w->colonia), .grupo = trilha_text_of(s->grupo), .holder = trilha_text_of(s->grupo)};
  trilha_status status =
      s->r.store->delivery->lease_acquire(s->r.store, &w->lease, types, type_count, LEASE_MS, holder, soon(), err);
  w->renew_at = trilha_deadline_in_ms(RENEW_MS);
  return status;
}

static void give_lease_back(trilha_service *s, watched *w) {
  trilha_error ignored = {0}; /* it ends by itself */
  if (w->lease.token != 0) (void)!s->r.store->delivery->lease_release(s->r.store, &w->lease, soon(), &ignored);
  w->lease.token = 0;
}

static trilha_status serve(trilha_service *s, watched *w, const trilha_text *types, size_t type_count,
                           trilha_error *err) {
  const trilha_delivery_operations *op = s->r.store->delivery;
  int64_t request;
  trilha_status status = keep_lease(s, w, types, type_count, err);
  if (status == TRILHA_OK) status = op->request_take(s->r.store, &w->lease, soon(), &request, err);
  if (status != TRILHA_OK) return status == TRILHA_NOT_FOUND ? TRILHA_OK : status;
  trilha_reprocess_how how = {
      .colonia = trilha_text_of(w->colonia), .types = types, .type_count = type_count, .stop = &s->end};
  trilha_reprocessed done = {0};
  status = trilha_reprocess_rows(&s->r, &how, &done, err);
  if (status != TRILHA_OK) return status;
  return op->request_settle(s->r.store, &w->lease, request, done.reprocessados, done.failed, soon(), err);
}

static void look_after(trilha_service *s, watched *w) {
  trilha_error error = {0};
  trilha_arena arena = {0};
  trilha_text *types = NULL;
  size_t type_count = 0;
  trilha_status status =
      trilha_bus_listened_types(s->r.bus, trilha_text_of(w->colonia), &arena, &types, &type_count, &error);
  if (status == TRILHA_OK && type_count == 0)
    give_lease_back(s, w);
  else if (status == TRILHA_OK)
    status = serve(s, w, types, type_count, &error);
  trilha_arena_done(&arena);
  if (status == TRILHA_OK) return;
  w->lease.token = 0; /* a lost lease is taken anew */
  say(s, w, &error);
}

/* --- the thread ------------------------------------------------------------------------------------------------ */

static void sleep_until_news(trilha_service *s) {
  trilha_deadline next = trilha_deadline_in_ms(LOOK_MS);
  struct timespec at = {.tv_sec = (time_t)(next.monotonic_ns / 1000000000),
                        .tv_nsec = (long)(next.monotonic_ns % 1000000000)};
  pthread_mutex_lock(&s->mutex);
  int waited = 0;
  while (!atomic_load(&s->end) && !s->news && waited == 0) waited = pthread_cond_timedwait(&s->wake, &s->mutex, &at);
  s->news = false;
  pthread_mutex_unlock(&s->mutex);
}

static void *work(void *user) {
  trilha_service *s = user;
  while (!atomic_load(&s->end)) {
    pthread_mutex_lock(&s->mutex);
    watched *w = s->first; /* new ones come in front; none ever goes */
    pthread_mutex_unlock(&s->mutex);
    for (; w != NULL && !atomic_load(&s->end); w = w->next) look_after(s, w);
    sleep_until_news(s);
  }
  for (watched *w = s->first; w != NULL; w = w->next) give_lease_back(s, w);
  return NULL;
}

trilha_status trilha_service_watch(trilha_service *s, trilha_text colonia, trilha_error *err) {
  int failed = 0;
  watched *fresh = calloc(1, sizeof *fresh);
  char *name = calloc(colonia.size + 1, 1);
  if (fresh == NULL || name == NULL) {
    free(fresh);
    free(name);
    return trilha_error_no_memory(err);
  }
  memcpy(name, colonia.data, colonia.size);
  fresh->colonia = name;
  pthread_mutex_lock(&s->mutex);
  watched *w = s->first;
  while (w != NULL && strcmp(w->colonia, name) != 0) w = w->next;
  if (w == NULL) {
    fresh->next = s->first;
    s->first = fresh;
    s->news = true;
    if (!s->running) failed = pthread_create(&s->thread, NULL, work, s);
    s->running = s->running || failed == 0;
    pthread_cond_signal(&s->wake);
  }
  pthread_mutex_unlock(&s->mutex);
  if (w != NULL) {
    free(name);
    free(fresh);
  }
  if (failed == 0) return TRILHA_OK;
  return trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "a thread could not be started");
}

/* --- life ------------------------------------------------------------------------------------------------------ */

trilha_status trilha_service_new(const trilha_reprocessor *r, trilha_service **ret_service, trilha_error *err) {
  trilha_service *s = calloc(1, sizeof *s);
  if (s == NULL) return trilha_error_no_memory(err);
  char holder[96];
  s->r = *r;
  trilha_consumer_name_holder(holder, sizeof holder);
  snprintf(s->grupo, sizeof s->grupo, "live %s", holder);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&s->mutex, NULL);
  *ret_service = s;
  return TRILHA_OK;
}

void trilha_service_free(trilha_service *s) {
  if (s == NULL) return;
  pthread_mutex_lock(&s->mutex);
  atomic_store(&s->end, true);
  pthread_cond_signal(&s->wake);
  pthread_mutex_unlock(&s->mutex);
  if (s->running) pthread_join(s->thread, NULL);
  for (watched *w = s->first, *next; w != NULL; w = next) {
    next = w->next;
    free(w->colonia);
    free(w);
  }
  pthread_cond_destroy(&s->wake);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}
