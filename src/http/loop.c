/* http: the thread of an engine, on which the library runs and all its callbacks are called.
 *
 * A loop of ours, not the library's own: that one takes 128 events of epoll at a time and, when it got exactly as many,
 * waits for more before it looks at those (0.9.75); asked by MHD_run() it never waits. Its loop over poll() would look
 * at every open connection for each request. Connections are added on this thread alone, as the library wants it where
 * the loop is not its own. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "http/http_internal.h"

enum { PAUSE_MS = 10, TIMEOUT_MOST_MS = 60000 };

/* A connection on its way from the accepting thread. */
struct trilha_http_arrival {
  int fd;
  struct sockaddr_storage address;
  socklen_t size;
  trilha_http_arrival *next;
};

static void uncount(trilha_http_engine *engine) {
  atomic_fetch_sub(&engine->server->open, 1);
  atomic_fetch_sub(&engine->open, 1); /* the last: the engine may end by it */
}

static void wake(const trilha_http_engine *engine) {
  uint64_t one = 1;
  (void)!write(engine->wake, &one, sizeof one);
}

void trilha_http_hand_over(trilha_http_engine *engine, int fd, const struct sockaddr *address, socklen_t size) {
  trilha_http_arrival *arrival = calloc(1, sizeof *arrival);
  if (arrival == NULL) {
    close(fd);
    uncount(engine);
    return;
  }
  arrival->fd = fd;
  arrival->size = size;
  memcpy(&arrival->address, address, size);
  pthread_mutex_lock(&engine->mutex);
  bool first = engine->arrivals == NULL;
  arrival->next = engine->arrivals;
  engine->arrivals = arrival;
  pthread_mutex_unlock(&engine->mutex);
  if (first) wake(engine);
}

/* The library's own way to tell its loop is for loops of its own. */
void trilha_http_resume(trilha_http_exchange *exchange) {
  trilha_http_engine *engine = exchange->engine;
  atomic_fetch_add(&engine->open, 1); /* so that it outlives the connection */
  MHD_resume_connection(exchange->connection);
  wake(engine);
  atomic_fetch_sub(&engine->open, 1);
}

static trilha_http_arrival *take_arrivals(trilha_http_engine *engine) {
  pthread_mutex_lock(&engine->mutex);
  trilha_http_arrival *all = engine->arrivals;
  engine->arrivals = NULL;
  pthread_mutex_unlock(&engine->mutex);
  return all;
}

static void add_arrivals(trilha_http_engine *engine) {
  trilha_http_arrival *arrival = take_arrivals(engine);
  while (arrival != NULL) {
    trilha_http_arrival *next = arrival->next;
    /* It closes the socket when it fails. */
    if (MHD_add_connection(engine->daemon, arrival->fd, (struct sockaddr *)&arrival->address, arrival->size) != MHD_YES)
      uncount(engine);
    free(arrival);
    arrival = next;
  }
}

static int timeout_of(struct MHD_Daemon *daemon) {
  MHD_UNSIGNED_LONG_LONG ms = 0;
  if (MHD_get_timeout(daemon, &ms) != MHD_YES) return -1;
  return ms > TIMEOUT_MOST_MS ? TIMEOUT_MOST_MS : (int)ms;
}

static void *run(void *user) {
  trilha_http_engine *engine = user;
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(engine->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  while (!atomic_load(&engine->loop_ends)) {
    MHD_run(engine->daemon);
    struct pollfd fds[] = {{.fd = info->epoll_fd, .events = POLLIN}, {.fd = engine->wake, .events = POLLIN}};
    if (poll(fds, 2, timeout_of(engine->daemon)) < 0 && errno != EINTR) trilha_clock_sleep_ms(PAUSE_MS);
    uint64_t woken;
    if (fds[1].revents == 0) continue;
    (void)!read(engine->wake, &woken, sizeof woken);
    add_arrivals(engine);
  }
  return NULL;
}

trilha_status trilha_http_loop_start(trilha_http_engine *engine, trilha_error *err) {
  const char *name = engine->server->options.name;
  engine->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (engine->wake < 0)
    return trilha_error_set_errno(err, TRILHA_IO, "LISTEN_FAILED", errno, "the %s listener does not start", name);
  int failed = pthread_create(&engine->thread, NULL, run, engine);
  engine->loop_runs = failed == 0;
  return failed == 0
             ? TRILHA_OK
             : trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "the %s listener does not start", name);
}

void trilha_http_loop_stop(trilha_http_engine *engine) {
  if (engine->loop_runs) {
    atomic_store(&engine->loop_ends, true);
    wake(engine);
    pthread_join(engine->thread, NULL);
  }
  for (trilha_http_arrival *arrival = take_arrivals(engine), *next; arrival != NULL; arrival = next) {
    next = arrival->next;
    close(arrival->fd);
    free(arrival);
    uncount(engine);
  }
  if (engine->wake >= 0) close(engine->wake);
  engine->wake = -1;
}
