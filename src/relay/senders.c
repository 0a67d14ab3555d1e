/* relay/senders: threads that call a transport's send, so that a slow destination's lanes do not wait for each other.
 * They are started when they are first needed and live as long as their worker. */
#include "relay/relay_internal.h"

void trilha_relay_senders_init(trilha_relay_senders *senders) {
  *senders = (trilha_relay_senders){0};
  pthread_mutex_init(&senders->lock, NULL);
  pthread_cond_init(&senders->some, NULL);
}

void trilha_relay_senders_done(trilha_relay_senders *senders) {
  pthread_mutex_lock(&senders->lock);
  senders->ending = true;
  pthread_cond_broadcast(&senders->some);
  pthread_mutex_unlock(&senders->lock);
  for (unsigned i = 0; i < senders->started; i++) pthread_join(senders->threads[i], NULL);
  pthread_cond_destroy(&senders->some);
  pthread_mutex_destroy(&senders->lock);
}

static void *send_jobs(void *user) {
  trilha_relay_senders *senders = user;
  pthread_mutex_lock(&senders->lock);
  for (;;) {
    trilha_sending *lane = trilha_relay_take(&senders->jobs);
    if (lane == NULL && senders->ending) break;
    if (lane == NULL) {
      senders->idle++;
      pthread_cond_wait(&senders->some, &senders->lock);
      senders->idle--;
      continue;
    }
    pthread_mutex_unlock(&senders->lock);
    trilha_relay_send_now(lane);
    pthread_mutex_lock(&senders->lock);
  }
  pthread_mutex_unlock(&senders->lock);
  return NULL;
}

bool trilha_relay_senders_give(trilha_relay_senders *senders, trilha_sending *lane, unsigned threads_max) {
  pthread_mutex_lock(&senders->lock);
  bool wanting = senders->jobs.count >= senders->idle && senders->started < threads_max;
  if (wanting && pthread_create(&senders->threads[senders->started], NULL, send_jobs, senders) == 0) senders->started++;
  bool taken = senders->started > 0;
  if (taken) trilha_relay_put(&senders->jobs, lane);
  pthread_cond_signal(&senders->some);
  pthread_mutex_unlock(&senders->lock);
  return taken;
}
