/* http: accepting connections, refusing the ones above the limit with a word, and ending those past their deadline.
 *
 * The library's own accept stops at its limit, so that clients hang; ours goes on and says 503. A client that has not
 * sent its request yet would lose that answer to a reset if the socket were closed at once: it lingers for a moment.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "http/http_internal.h"

enum { TICK_MS = 100, LINGER_MS = 1000, BACKLOG = 512, PAUSE_MS = 50, ACCEPTS_A_ROUND = 64 };

#define REFUSAL_BODY "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503}\n"
#define REFUSAL                                                                                      \
  "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\n" \
  "Content-Length: 66\r\nConnection: close\r\n\r\n" REFUSAL_BODY
_Static_assert(sizeof REFUSAL_BODY - 1 == 66, "the length that REFUSAL states");

typedef struct farewell {
  int fd; /* -1: free */
  int64_t until_ns;
} farewell;

typedef struct farewells {
  farewell items[TRILHA_HTTP_FAREWELLS_MAX];
  size_t next;
} farewells;

trilha_status trilha_http_listen(trilha_http_server *server, trilha_error *err) {
  struct sockaddr_storage address = {0};
  struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
  char text[INET6_ADDRSTRLEN] = "";
  socklen_t size = sizeof *v6;
  trilha_text given = server->options.address;
  if (given.size < sizeof text) memcpy(text, given.data, given.size);
  if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons((uint16_t)server->options.port);
    size = sizeof *v4;
  } else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)server->options.port);
  } else {
    return trilha_error_set(err, TRILHA_INVALID, "ADDRESS_INVALID",
                            "the %s listener's address is no IPv4 or IPv6 address", server->options.name);
  }
  int one = 1;
  server->listener = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool ok = server->listener >= 0 && setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
            bind(server->listener, (struct sockaddr *)&address, size) == 0 && listen(server->listener, BACKLOG) == 0 &&
            getsockname(server->listener, (struct sockaddr *)&address, &size) == 0;
  if (!ok)
    return trilha_error_set_errno(err, TRILHA_IO, "LISTEN_FAILED", errno, "cannot listen on %s port %u", text,
                                  server->options.port);
  server->port = ntohs(address.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
  return TRILHA_OK;
}

/* --- refusing ---------------------------------------------------------------------------------------------------- */

/* A TLS client would not understand words before the handshake: a fatal alert (internal_error) tells it at least that
 * the server, not the line, said no. */
static const char ALERT[] = {21, 3, 3, 0, 2, 2, 80};

static void refuse(trilha_http_server *server, farewells *f, int fd) {
  static const char plain[] = REFUSAL;
  const char *text = server->tls ? ALERT : plain;
  size_t size = server->tls ? sizeof ALERT : sizeof plain - 1;
  atomic_fetch_add(&server->refused, 1);
  farewell *place = &f->items[f->next++ % TRILHA_HTTP_FAREWELLS_MAX];
  if (place->fd >= 0) close(place->fd); /* the oldest has had its time */
  /* One packet into an empty buffer: it is taken whole or the client is gone. */
  (void)!send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(fd, SHUT_WR);
  *place = (farewell){.fd = fd, .until_ns = trilha_clock_monotonic_ns() + LINGER_MS * INT64_C(1000000)};
}

/* Reads away what refused clients still send; ends those that are done or out of time. */
static void see_off(farewells *f, int64_t now_ns) {
  char drain[4096];
  for (size_t i = 0; i < TRILHA_HTTP_FAREWELLS_MAX; i++) {
    farewell *place = &f->items[i];
    if (place->fd < 0) continue;
    ssize_t n = recv(place->fd, drain, sizeof drain, MSG_DONTWAIT);
    bool waits = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
    if (waits && now_ns < place->until_ns) continue;
    close(place->fd);
    place->fd = -1;
  }
}

/* --- accepting -----------------------------------------------------------------------------------------------------
 */

static void take(trilha_http_server *server, farewells *f, int fd, const struct sockaddr *address, socklen_t size) {
  int one = 1;
  if (atomic_fetch_add(&server->open, 1) >= server->options.connections_max) {
    atomic_fetch_sub(&server->open, 1);
    refuse(server, f, fd);
    return;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  pthread_mutex_lock(&server->mutex);
  trilha_http_engine *engine = server->engine; /* only this thread ends one, so it stays */
  pthread_mutex_unlock(&server->mutex);
  atomic_fetch_add(&engine->open, 1);
  trilha_http_hand_over(engine, fd, address, size);
}

/* False when descriptors ran out: the caller waits a moment instead of spinning. */
static bool accept_some(trilha_http_server *server, farewells *f) {
  for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int fd = accept4(server->listener, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    take(server, f, fd, (struct sockaddr *)&address, size);
  }
  return true;
}

/* The library sees the end of the stream and ends the connection by itself. */
static void end_overdue(trilha_http_server *server, int64_t now_ns) {
  pthread_mutex_lock(&server->mutex);
  for (trilha_http_connection *c = server->connections; c != NULL; c = c->next)
    if (c->deadline_ns <= now_ns) shutdown(c->fd, SHUT_RDWR);
  pthread_mutex_unlock(&server->mutex);
}

void *trilha_http_accept_loop(void *user) {
  trilha_http_server *server = user;
  farewells f;
  memset(&f, 0, sizeof f);
  for (size_t i = 0; i < TRILHA_HTTP_FAREWELLS_MAX; i++) f.items[i].fd = -1;
  int64_t ticked_ns = 0;
  /* Also after accepting has ended: connections that are left keep their deadlines until the stop is complete. */
  for (bool accepting = true;;) {
    struct pollfd fds[] = {{.fd = server->wake, .events = POLLIN},
                           {.fd = accepting ? server->listener : -1, .events = POLLIN}};
    if (poll(fds, 2, TICK_MS) < 0 && errno != EINTR) break;
    uint64_t woken;
    if (fds[0].revents != 0) (void)!read(server->wake, &woken, sizeof woken);
    if (atomic_load(&server->accepting_ended)) break;
    if (atomic_load(&server->stopping)) accepting = false;
    if (accepting && fds[1].revents != 0 && !accept_some(server, &f)) trilha_clock_sleep_ms(PAUSE_MS);
    int64_t now_ns = trilha_clock_monotonic_ns();
    if (now_ns - ticked_ns < TICK_MS * INT64_C(1000000)) continue;
    ticked_ns = now_ns;
    end_overdue(server, now_ns);
    see_off(&f, now_ns);
    trilha_http_reap(server);
  }
  for (size_t i = 0; i < TRILHA_HTTP_FAREWELLS_MAX; i++)
    if (f.items[i].fd >= 0) close(f.items[i].fd);
  return NULL;
}
