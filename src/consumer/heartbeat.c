/* consumer/heartbeat: renews a lease on a thread of its own, so that a long handler does not lose it. */
#include <errno.h>
#include <time.h>

#include "base/error.h"
#include "consumer/consumer_internal.h"

static void *beat(void *user) {
  trilha_heartbeat *h = user;
  bool goes_on = true;
  pthread_mutex_lock(&h->mutex);
  while (!h->end && goes_on) {
    trilha_deadline next = trilha_deadline_in_ms(h->every_ms);
    struct timespec at = {.tv_sec = (time_t)(next.monotonic_ns / 1000000000),
                          .tv_nsec = (long)(next.monotonic_ns % 1000000000)};
    int waited = 0;
    while (!h->end && waited != ETIMEDOUT) waited = pthread_cond_timedwait(&h->wake, &h->mutex, &at);
    if (h->end) break;
    pthread_mutex_unlock(&h->mutex);
    goes_on = h->renew(h->user);
    pthread_mutex_lock(&h->mutex);
  }
  pthread_mutex_unlock(&h->mutex);
  return NULL;
}

trilha_status trilha_heartbeat_start(trilha_heartbeat *h, int64_t every_ms, bool (*renew)(void *user), void *user,
                                     trilha_error *err) {
  pthread_condattr_t monotonic;
  *h = (trilha_heartbeat){.every_ms = every_ms, .renew = renew, .user = user};
  pthread_mutex_init(&h->mutex, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&h->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  int failed = pthread_create(&h->thread, NULL, beat, h);
  h->running = failed == 0;
  if (failed == 0) return TRILHA_OK;
  pthread_cond_destroy(&h->wake);
  pthread_mutex_destroy(&h->mutex);
  return trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "the lease's thread could not be started");
}

void trilha_heartbeat_stop(trilha_heartbeat *h) {
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
