/* http: the threads that run the handler. At most one exchange of each connection waits, so the queue is bounded by
 * them. */
#include <stdlib.h>

#include "base/error.h"
#include "http/http_internal.h"

enum { INTERNAL_ERROR = 500, UNAVAILABLE = 503 };

bool trilha_http_announce(trilha_http_server *server) {
  pthread_mutex_lock(&server->mutex);
  bool goes_on = !server->workers_end;
  if (goes_on) server->announced++;
  pthread_mutex_unlock(&server->mutex);
  return goes_on;
}

void trilha_http_enqueue(trilha_http_server *server, trilha_http_exchange *exchange) {
  exchange->next = NULL;
  pthread_mutex_lock(&server->mutex);
  server->announced--;
  if (server->last == NULL)
    server->first = exchange;
  else
    server->last->next = exchange;
  server->last = exchange;
  if (server->workers_end)
    pthread_cond_broadcast(&server->work);
  else
    pthread_cond_signal(&server->work);
  pthread_mutex_unlock(&server->mutex);
}

/* NULL: the server ends and nothing waits any more. */
static trilha_http_exchange *next_exchange(trilha_http_server *server) {
  pthread_mutex_lock(&server->mutex);
  while (server->first == NULL && !(server->workers_end && server->announced == 0))
    pthread_cond_wait(&server->work, &server->mutex);
  trilha_http_exchange *exchange = server->first;
  if (exchange != NULL) server->first = exchange->next;
  if (server->first == NULL) server->last = NULL;
  pthread_mutex_unlock(&server->mutex);
  return exchange;
}

static void *work(void *user) {
  trilha_http_server *server = user;
  for (trilha_http_exchange *e = next_exchange(server); e != NULL; e = next_exchange(server)) {
    e->request.body = trilha_buffer_text(&e->body);
    server->options.handler(server->options.user, &e->request, &e->answer);
    if (e->answer.status == 0 || e->answer.body.failed != TRILHA_OK) {
      trilha_buffer_clear(&e->answer.body);
      e->answer.status = e->answer.status == 0 ? INTERNAL_ERROR : UNAVAILABLE;
      e->answer.content_type = NULL;
    }
    e->answered = true;
    trilha_http_resume(e);
  }
  return NULL;
}

trilha_status trilha_http_workers_start(trilha_http_server *server, trilha_error *err) {
  server->workers = calloc(server->options.workers, sizeof *server->workers);
  if (server->workers == NULL) return trilha_error_no_memory(err);
  for (; server->worker_count < server->options.workers; server->worker_count++) {
    int failed = pthread_create(&server->workers[server->worker_count], NULL, work, server);
    if (failed != 0)
      return trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "cannot start a worker of the %s listener",
                                    server->options.name);
  }
  return TRILHA_OK;
}

void trilha_http_workers_stop(trilha_http_server *server) {
  pthread_mutex_lock(&server->mutex);
  server->workers_end = true;
  pthread_cond_broadcast(&server->work);
  pthread_mutex_unlock(&server->mutex);
  for (unsigned i = 0; i < server->worker_count; i++) pthread_join(server->workers[i], NULL);
  free(server->workers);
  server->workers = NULL;
  server->worker_count = 0;
}
