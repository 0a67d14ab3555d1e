/* store/postgres: whose turn it is on which connection. One writer (the domain commits in groups), a few readers. */
#include <time.h>

#include "base/error.h"
#include "postgres_internal.h"

static trilha_pg_connection *first_free(trilha_pg_connection *connections, unsigned count) {
  trilha_pg_connection *found = NULL;
  for (unsigned i = 0; i < count; i++) {
    if (connections[i].busy) continue;
    if (connections[i].pg != NULL) return &connections[i]; /* a warm one first */
    if (found == NULL) found = &connections[i];
  }
  return found;
}

static bool wait_for_one(trilha_pg_store *s, trilha_deadline deadline) {
  if (deadline.monotonic_ns == TRILHA_NO_DEADLINE.monotonic_ns) {
    pthread_cond_wait(&s->freed, &s->lock);
    return true;
  }
  struct timespec until = {.tv_sec = deadline.monotonic_ns / 1000000000, .tv_nsec = deadline.monotonic_ns % 1000000000};
  return pthread_cond_timedwait(&s->freed, &s->lock, &until) == 0;
}

static trilha_status take(trilha_pg_store *s, trilha_pg_connection *connections, unsigned count,
                          trilha_deadline deadline, trilha_pg_connection **ret_connection, trilha_error *err) {
  pthread_mutex_lock(&s->lock);
  trilha_pg_connection *c = first_free(connections, count);
  while (c == NULL && wait_for_one(s, deadline)) c = first_free(connections, count);
  if (c != NULL) c->busy = true;
  pthread_mutex_unlock(&s->lock);
  if (c == NULL)
    return trilha_error_set(err, TRILHA_TIMEOUT, "STORE_BUSY", "every connection to the store was in use for too long");
  uint64_t before = c->generation;
  trilha_status status = trilha_pg_connect(&s->target, c, deadline, err);
  if (c->generation != before) trilha_pg_forget_durable(s);
  if (status != TRILHA_OK) {
    trilha_pg_give_back(s, c);
    return status;
  }
  *ret_connection = c;
  return TRILHA_OK;
}

trilha_status trilha_pg_take_writer(trilha_pg_store *s, trilha_deadline deadline, trilha_pg_connection **ret_connection,
                                    trilha_error *err) {
  return take(s, &s->writer, 1, deadline, ret_connection, err);
}

trilha_status trilha_pg_take_reader(trilha_pg_store *s, trilha_deadline deadline, trilha_pg_connection **ret_connection,
                                    trilha_error *err) {
  return take(s, s->readers, s->reader_count, deadline, ret_connection, err);
}

void trilha_pg_give_back(trilha_pg_store *s, trilha_pg_connection *c) {
  pthread_mutex_lock(&s->lock);
  c->busy = false;
  pthread_cond_broadcast(&s->freed); /* a waiter for the other kind would swallow a signal */
  pthread_mutex_unlock(&s->lock);
}
