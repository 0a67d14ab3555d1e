/* store/sqlite: threads of one handle that wait for the write turn or for a read connection, first come first served.
 */
#include <errno.h>
#include <time.h>

#include "base/assert.h"
#include "store/sqlite/sqlite_internal.h"

/* One waiting thread, on its stack, guarded by the store's mutex. */
struct trilha_sqlite_waiter {
  trilha_sqlite_waiter *next;
  pthread_cond_t wake;
  bool served;
  trilha_sqlite_connection *connection; /* handed over with a read place; NULL: the place is to be opened */
};

static trilha_status waiter_init(trilha_sqlite_waiter *w, trilha_error *err) {
  *w = (trilha_sqlite_waiter){0};
  pthread_condattr_t attributes;
  int rc = pthread_condattr_init(&attributes);
  if (rc == 0) rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  if (rc == 0) rc = pthread_cond_init(&w->wake, &attributes);
  if (rc != 0) return trilha_error_set_errno(err, TRILHA_INTERNAL, "THREADS", rc, "cannot prepare to wait");
  pthread_condattr_destroy(&attributes);
  return TRILHA_OK;
}

static void enqueue(trilha_sqlite_waiter ***tail, trilha_sqlite_waiter *w) {
  **tail = w;
  *tail = &w->next;
}

static void leave(trilha_sqlite_waiter **head, trilha_sqlite_waiter ***tail, trilha_sqlite_waiter *w) {
  trilha_sqlite_waiter **at = head;
  while (*at != w) at = &(*at)->next;
  *at = w->next;
  if (w->next == NULL) *tail = at;
}

/* Serves the head: what it waits for is its own from here on. */
static void serve(trilha_sqlite_waiter **head, trilha_sqlite_waiter ***tail) {
  trilha_sqlite_waiter *w = *head;
  leave(head, tail, w);
  w->served = true;
  pthread_cond_signal(&w->wake);
}

/* Holding the mutex. False when the deadline passed first; then the waiter is out of the queue. */
static bool wait_served(trilha_sqlite_store *s, trilha_sqlite_waiter **head, trilha_sqlite_waiter ***tail,
                        trilha_sqlite_waiter *w, trilha_deadline deadline) {
  enqueue(tail, w);
  while (!w->served) {
    if (deadline.monotonic_ns == INT64_MAX) {
      pthread_cond_wait(&w->wake, &s->mutex);
      continue;
    }
    struct timespec until = {.tv_sec = (time_t)(deadline.monotonic_ns / 1000000000),
                             .tv_nsec = (long)(deadline.monotonic_ns % 1000000000)};
    if (pthread_cond_timedwait(&w->wake, &s->mutex, &until) != ETIMEDOUT || w->served) continue;
    leave(head, tail, w);
    return false;
  }
  return true;
}

/* --- the write turn --------------------------------------------------------------------------------------- */

trilha_status trilha_sqlite_turn_take(trilha_sqlite_store *s, trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_waiter w;
  trilha_status status = waiter_init(&w, err);
  if (status != TRILHA_OK) return status;
  pthread_mutex_lock(&s->mutex);
  bool served = true;
  if (s->writing)
    served = wait_served(s, &s->writers, &s->writers_tail, &w, deadline);
  else
    s->writing = true;
  pthread_mutex_unlock(&s->mutex);
  pthread_cond_destroy(&w.wake);
  if (served) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_TIMEOUT, "STORE_BUSY",
                          "other threads of this process were writing until the deadline; nothing was stored");
}

void trilha_sqlite_turn_give(trilha_sqlite_store *s) {
  pthread_mutex_lock(&s->mutex);
  TRILHA_ASSERT(s->writing);
  if (s->writers != NULL)
    serve(&s->writers, &s->writers_tail);
  else
    s->writing = false;
  pthread_mutex_unlock(&s->mutex);
}

/* --- read connections --------------------------------------------------------------------------------------- */

/* Holding the mutex: a connection is idle, or one more may be opened (then *ret stays NULL). */
static bool reader_at_hand(trilha_sqlite_store *s, trilha_sqlite_connection **ret) {
  *ret = NULL;
  if (s->idle_count > 0) {
    *ret = s->idle[--s->idle_count];
    return true;
  }
  if (s->readers_open >= s->readers_max) return false;
  s->readers_open++;
  return true;
}

trilha_status trilha_sqlite_reader_take(trilha_sqlite_store *s, trilha_deadline deadline,
                                        trilha_sqlite_connection **ret, trilha_error *err) {
  trilha_sqlite_waiter w;
  trilha_status status = waiter_init(&w, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_connection *c = NULL;
  pthread_mutex_lock(&s->mutex);
  bool served = s->readers_waiting == NULL && reader_at_hand(s, &c);
  if (!served) {
    served = wait_served(s, &s->readers_waiting, &s->readers_tail, &w, deadline);
    c = w.connection;
  }
  pthread_mutex_unlock(&s->mutex);
  pthread_cond_destroy(&w.wake);
  if (!served)
    return trilha_error_set(err, TRILHA_TIMEOUT, "STORE_BUSY", "all %u read connections were in use until the deadline",
                            s->readers_max);
  if (c == NULL) status = trilha_sqlite_connect(s->path, TRILHA_SQLITE_READ, deadline, &c, err);
  if (status != TRILHA_OK) {
    trilha_sqlite_reader_give(s, NULL);
    return status;
  }
  trilha_sqlite_set_deadline(c, deadline);
  *ret = c;
  return TRILHA_OK;
}

void trilha_sqlite_reader_give(trilha_sqlite_store *s, trilha_sqlite_connection *take_connection) {
  pthread_mutex_lock(&s->mutex);
  if (s->readers_waiting != NULL) {
    s->readers_waiting->connection = take_connection;
    serve(&s->readers_waiting, &s->readers_tail);
  } else if (take_connection != NULL) {
    s->idle[s->idle_count++] = take_connection;
  } else {
    s->readers_open--;
  }
  pthread_mutex_unlock(&s->mutex);
}
