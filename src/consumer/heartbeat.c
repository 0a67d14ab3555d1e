/* consumer/heartbeat: renews the lease on a thread of its own, so that a long handler does not lose it. */
#include <errno.h>
#include <time.h>

#include "base/error.h"
#include "consumer/consumer_internal.h"

static void say_lost(const trilha_consumer *c, const trilha_error *error) {
  trilha_fields fields = {0};
  trilha_fields_text(&fields, "colonia", c->options.colonia);
  trilha_fields_i64(&fields, "token", c->lease.token);
  trilha_fields_error(&fields, error);
  trilha_emit(&c->diagnostics, TRILHA_WARNING, "consumer.lease_lost", "another process took this colony's lease over",
              &fields);
}

static void renew(trilha_consumer *c) {
  trilha_error error = {0};
  int64_t lease_ms = c->options.lease_ms;
  trilha_status status =
      c->store->delivery->lease_renew(c->store, &c->lease, lease_ms, trilha_deadline_in_ms(lease_ms / 3), &error);
  /* A store that does not answer is not a lost lease: the next cursor move tells. */
  if (status != TRILHA_CONFLICT) return;
  atomic_store(&c->lost, true);
  say_lost(c, &error);
}

static void *beat(void *user) {
  trilha_consumer *c = user;
  trilha_heartbeat *h = &c->heartbeat;
  pthread_mutex_lock(&h->mutex);
  while (!h->end && !atomic_load(&c->lost)) {
    trilha_deadline next = trilha_deadline_in_ms(c->options.lease_ms / 3);
    struct timespec at = {.tv_sec = (time_t)(next.monotonic_ns / 1000000000),
                          .tv_nsec = (long)(next.monotonic_ns % 1000000000)};
    int waited = 0;
    while (!h->end && waited != ETIMEDOUT) waited = pthread_cond_timedwait(&h->wake, &h->mutex, &at);
    if (h->end) break;
    pthread_mutex_unlock(&h->mutex);
    renew(c);
    pthread_mutex_lock(&h->mutex);
  }
  pthread_mutex_unlock(&h->mutex);
  return NULL;
}

trilha_status trilha_heartbeat_start(trilha_consumer *c, trilha_error *err) {
  trilha_heartbeat *h = &c->heartbeat;
  pthread_condattr_t monotonic;
  h->end = false;
  pthread_mutex_init(&h->mutex, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&h->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  int failed = pthread_create(&h->thread, NULL, beat, c);
  h->running = failed == 0;
  if (failed == 0) return TRILHA_OK;
  pthread_cond_destroy(&h->wake);
  pthread_mutex_destroy(&h->mutex);
  return trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "the lease's thread could not be started");
}

void trilha_heartbeat_stop(trilha_consumer *c) {
  trilha_heartbeat *h = &c->heartbeat;
  if (!h->running) return;
  pthread_mutex_lock(&h->mutex);
  h->end = true;
  pthread_cond_signal(&h->wake);
  pthread_mutex_unlock(&h->mutex);
  pthread_join(h->thread, NULL);
  pthread_cond_destroy(&h->wake);
  pthread_mutex_destroy(&h->mutex);
  h->running = false;
}
