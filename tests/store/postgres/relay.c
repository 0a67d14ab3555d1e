/* tests/store/postgres: a TCP relay in a thread of its own; up to 32 connections at a time. */
#include "relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS_MAX = 32, CHUNK = 65536 };

typedef struct pair {
  int client, server; /* -1: closed */
  bool client_spoke_last, swallow, stalled, passes;
} pair;

struct relay {
  int listener, server_port, stop_pipe[2];
  pthread_t thread;
  pthread_mutex_t lock; /* guards cut, passing, refusing and round_trips */
  bool refusing;
  relay_cut cut;
  int passing; /* requests that pass before the cut */
  int round_trips;
  pair pairs[PAIRS_MAX];
  int pair_count;
};

static struct sockaddr_in loopback(int port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static void accept_one(relay *r) {
  struct sockaddr_in server = loopback(r->server_port);
  pair p = {.client = accept(r->listener, NULL, NULL), .server = socket(AF_INET, SOCK_STREAM, 0)};
  pthread_mutex_lock(&r->lock);
  bool refusing = r->refusing;
  pthread_mutex_unlock(&r->lock);
  int at = 0; /* the place of a pair that has ended, or a new one */
  while (at < r->pair_count && (r->pairs[at].client >= 0 || r->pairs[at].server >= 0)) at++;
  if (refusing || at == PAIRS_MAX || connect(p.server, (struct sockaddr *)&server, sizeof server) != 0) {
    close_fd(&p.client);
    close_fd(&p.server);
    return;
  }
  r->pairs[at] = p;
  if (at == r->pair_count) r->pair_count++;
}

static bool hand_on(int to, const char *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = send(to, data + done, size - done, MSG_NOSIGNAL);
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static void from_client(relay *r, pair *p) {
  char data[CHUNK];
  ssize_t n = recv(p->client, data, sizeof data, 0);
  pthread_mutex_lock(&r->lock);
  bool begins = n > 0 && !p->client_spoke_last;
  if (begins) p->passes = r->passing > 0; /* with all of its request */
  if (begins && p->passes) r->passing--;
  relay_cut cut = p->passes ? RELAY_PASS : r->cut;
  if (n > 0 && cut != RELAY_PASS) r->cut = RELAY_PASS;
  if (begins) r->round_trips++;
  pthread_mutex_unlock(&r->lock);
  p->client_spoke_last = true;
  if (n > 0 && p->stalled) return;
  if (cut == RELAY_HALF_REQUEST) {
    p->stalled = true;
    n = n > 1 ? n / 2 : n;
  }
  bool gone = n <= 0 || cut == RELAY_CUT_REQUEST;
  if (cut == RELAY_CUT_ANSWER || cut == RELAY_HOLD_ANSWER) p->swallow = true;
  if (gone || !hand_on(p->server, data, (size_t)n)) {
    close_fd(&p->client);
    close_fd(&p->server);
  }
  if (cut == RELAY_HOLD_ANSWER) return;
  if (cut == RELAY_CUT_ANSWER &&
      p->server >= 0) { /* the answer means that the server has finished: then nobody hears it */
    if (recv(p->server, data, sizeof data, 0) < 0) close_fd(&p->server);
    close_fd(&p->client);
    close_fd(&p->server);
  }
}

static void from_server(pair *p) {
  char data[CHUNK];
  ssize_t n = recv(p->server, data, sizeof data, 0);
  p->client_spoke_last = false;
  if (n > 0 && p->swallow) return;
  if (n <= 0 || !hand_on(p->client, data, (size_t)n)) {
    close_fd(&p->client);
    close_fd(&p->server);
  }
}

static int watch(relay *r, struct pollfd *fds) {
  int count = 2;
  fds[0] = (struct pollfd){.fd = r->stop_pipe[0], .events = POLLIN};
  fds[1] = (struct pollfd){.fd = r->listener, .events = POLLIN};
  for (int i = 0; i < r->pair_count; i++) {
    fds[count++] = (struct pollfd){.fd = r->pairs[i].client, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = r->pairs[i].server, .events = POLLIN};
  }
  return count;
}

static void *relay_thread(void *user) {
  relay *r = user;
  struct pollfd fds[2 + 2 * PAIRS_MAX];
  for (;;) {
    int pairs = r->pair_count;
    if (poll(fds, (nfds_t)watch(r, fds), -1) < 0) continue;
    if (fds[0].revents != 0) return NULL;
    for (int i = 0; i < pairs; i++) {
      if (fds[2 + 2 * i].revents != 0 && r->pairs[i].client >= 0) from_client(r, &r->pairs[i]);
      if (fds[3 + 2 * i].revents != 0 && r->pairs[i].server >= 0) from_server(&r->pairs[i]);
    }
    if (fds[1].revents != 0) accept_one(r);
  }
}

relay *relay_start(int server_port, int *ret_port) {
  relay *r = calloc(1, sizeof *r);
  struct sockaddr_in any = loopback(0);
  socklen_t size = sizeof any;
  r->server_port = server_port;
  r->listener = socket(AF_INET, SOCK_STREAM, 0);
  pthread_mutex_init(&r->lock, NULL);
  if (pipe(r->stop_pipe) != 0 || bind(r->listener, (struct sockaddr *)&any, sizeof any) != 0 ||
      listen(r->listener, 16) != 0 || getsockname(r->listener, (struct sockaddr *)&any, &size) != 0 ||
      pthread_create(&r->thread, NULL, relay_thread, r) != 0)
    abort();
  *ret_port = ntohs(any.sin_port);
  return r;
}

void relay_set(relay *r, relay_cut cut) {
  relay_set_later(r, cut, 0);
}

void relay_set_later(relay *r, relay_cut cut, int passing) {
  pthread_mutex_lock(&r->lock);
  r->cut = cut;
  r->passing = passing;
  pthread_mutex_unlock(&r->lock);
}

void relay_refuse(relay *r) {
  pthread_mutex_lock(&r->lock);
  r->refusing = true;
  pthread_mutex_unlock(&r->lock);
}

bool relay_is_set(relay *r) {
  pthread_mutex_lock(&r->lock);
  bool waits = r->cut != RELAY_PASS;
  pthread_mutex_unlock(&r->lock);
  return waits;
}

int relay_round_trips(relay *r) {
  pthread_mutex_lock(&r->lock);
  int count = r->round_trips;
  pthread_mutex_unlock(&r->lock);
  return count;
}

void relay_stop(relay *r) {
  if (write(r->stop_pipe[1], "x", 1) != 1) abort();
  pthread_join(r->thread, NULL);
  for (int i = 0; i < r->pair_count; i++) {
    close_fd(&r->pairs[i].client);
    close_fd(&r->pairs[i].server);
  }
  close_fd(&r->listener);
  close_fd(&r->stop_pipe[0]);
  close_fd(&r->stop_pipe[1]);
  pthread_mutex_destroy(&r->lock);
  free(r);
}
