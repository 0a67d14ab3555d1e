/* transport: the suite on webhooks, with a receiver in this process on loopback. Hostile receivers, signatures and
 * certificates are in tests/cli/test_webhook.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "conformance.h"
#include "trilha/webhook.h"

enum { REQUEST_BYTES_MAX = 1200000, PEERS_MAX = 64 };

typedef struct receiver {
  trilha_webhook *webhook;
  int listening;
  pthread_t thread;
  char url[64];
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t changed;
  transport_mood mood;
  int times;
  transport_arrival arrivals[TRANSPORT_ARRIVALS_MAX];
  size_t arrived, holding, peers;
  bool closing;
} receiver;

typedef struct peer {
  receiver *receiver;
  int fd;
} peer;

/* --- HTTP, as much of it as is needed -------------------------------------------------------------------------------
 */

static size_t header(const char *head, const char *name, char *out, size_t size) {
  char line[64];
  snprintf(line, sizeof line, "\r\n%s: ", name);
  const char *at = strcasestr(head, line);
  if (at == NULL) return *out = '\0', 0;
  at += strlen(line);
  size_t length = strcspn(at, "\r");
  snprintf(out, size, "%.*s", (int)length, at);
  return length;
}

/* The whole request; *ret_body: where its body begins. NULL: the other side went away. */
static char *read_request(int fd, size_t *ret_body, size_t *ret_size) {
  char *all = calloc(1, REQUEST_BYTES_MAX + 1), length[24];
  size_t size = 0, wanted = SIZE_MAX, body = 0;
  while (all != NULL && size < wanted && size < REQUEST_BYTES_MAX) {
    ssize_t got = read(fd, all + size, REQUEST_BYTES_MAX - size);
    if (got <= 0) break;
    size += (size_t)got;
    const char *end = wanted == SIZE_MAX ? strstr(all, "\r\n\r\n") : NULL;
    if (end == NULL) continue;
    body = (size_t)(end - all) + 4;
    header(all, "content-length", length, sizeof length);
    wanted = body + strtoull(length, NULL, 10);
  }
  if (size >= wanted) {
    *ret_body = body;
    *ret_size = wanted - body;
    return all;
  }
  free(all);
  return NULL;
}

static void note(receiver *r, const char *head, trilha_text body) {
  unsigned char digest[TRILHA_SHA256_SIZE];
  char number[24];
  if (r->arrived == TRANSPORT_ARRIVALS_MAX) return;
  transport_arrival *a = &r->arrivals[r->arrived++];
  *a = (transport_arrival){.sequence = 0};
  header(head, "webhook-id", a->message_id, sizeof a->message_id);
  header(head, "ce-subject", a->aggregate_key, sizeof a->aggregate_key);
  header(head, "ce-sequence", number, sizeof number);
  a->sequence = strtoll(number, NULL, 10);
  header(head, "ce-revision", number, sizeof number);
  a->revision = strtoll(number, NULL, 10);
  trilha_sha256(body, digest);
  trilha_hex(digest, sizeof digest, a->payload_sha256);
}

/* Under the lock. NULL: no answer. */
static const char *decide(receiver *r) {
  if (r->mood == TRANSPORT_HOLDS) {
    r->holding++;
    while (r->mood == TRANSPORT_HOLDS && !r->closing) pthread_cond_wait(&r->changed, &r->lock);
    r->holding--;
    return "204 No Content";
  }
  if (r->mood == TRANSPORT_ACCEPTS || r->times == 0) return "204 No Content";
  r->times--;
  if (r->mood == TRANSPORT_FAILS) return "500 Internal Server Error";
  if (r->mood == TRANSPORT_REFUSES) return "422 Unprocessable Content";
  if (r->mood == TRANSPORT_NAMES_A_TIME) return "503 Service Unavailable\r\nRetry-After: 3600";
  while (r->mood == TRANSPORT_IS_SILENT && !r->closing) pthread_cond_wait(&r->changed, &r->lock);
  return NULL;
}

static void serve_one(receiver *r, int fd) {
  size_t body = 0, size = 0;
  char answer[200];
  char *request = read_request(fd, &body, &size);
  if (request == NULL) return;
  pthread_mutex_lock(&r->lock);
  note(r, request, (trilha_text){request + body, size});
  const char *status = decide(r);
  pthread_mutex_unlock(&r->lock);
  free(request);
  if (status == NULL) return;
  int length = snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
  if (write(fd, answer, (size_t)length) < 0) perror("# receiver");
}

static void *serve(void *user) {
  peer p = *(peer *)user;
  free(user);
  serve_one(p.receiver, p.fd);
  close(p.fd);
  pthread_mutex_lock(&p.receiver->lock);
  p.receiver->peers--;
  pthread_cond_broadcast(&p.receiver->changed);
  pthread_mutex_unlock(&p.receiver->lock);
  return NULL;
}

static bool is_away(receiver *r) {
  pthread_mutex_lock(&r->lock);
  bool away = r->mood == TRANSPORT_IS_AWAY;
  if (!away) r->peers++;
  pthread_mutex_unlock(&r->lock);
  return away;
}

static void *accept_all(void *user) {
  receiver *r = user;
  for (;;) {
    int fd = accept(r->listening, NULL, NULL);
    if (fd < 0) return NULL; /* shut down */
    if (is_away(r)) {
      close(fd); /* with what was sent unread: a reset */
      continue;
    }
    pthread_t thread;
    peer *p = malloc(sizeof *p);
    if (p == NULL) abort();
    *p = (peer){r, fd};
    if (pthread_create(&thread, NULL, serve, p) != 0) abort();
    pthread_detach(thread);
  }
}

/* --- the subject
 * ------------------------------------------------------------------------------------------------------ */

static void *open_receiver(const char *folder) {
  static const char *const loopback[] = {"127.0.0.0/8"};
  receiver *r = calloc(1, sizeof *r);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  trilha_error err = {0};
  (void)folder;
  if (r == NULL) return NULL;
  pthread_mutex_init(&r->lock, NULL);
  pthread_cond_init(&r->changed, NULL);
  r->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(r->listening, (const struct sockaddr *)(const void *)&address, size), 0);
  assert_int_equal(listen(r->listening, PEERS_MAX), 0);
  assert_int_equal(getsockname(r->listening, (struct sockaddr *)(void *)&address, &size), 0);
  snprintf(r->url, sizeof r->url, "http://127.0.0.1:%d/hook", ntohs(address.sin_port));
  assert_int_equal(pthread_create(&r->thread, NULL, accept_all, r), 0);
  const trilha_webhook_options options = {
      .url = r->url, .allow_networks = loopback, .allow_network_count = 1, .breaker_failures = 1000, .breaker_ms = 10};
  if (trilha_webhook_new(&options, &r->webhook, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return r;
}

static void close_receiver(void *self) {
  receiver *r = self;
  trilha_webhook_free(r->webhook);
  shutdown(r->listening, SHUT_RDWR);
  pthread_join(r->thread, NULL);
  close(r->listening);
  pthread_mutex_lock(&r->lock);
  r->closing = true;
  pthread_cond_broadcast(&r->changed);
  while (r->peers > 0) pthread_cond_wait(&r->changed, &r->lock);
  pthread_mutex_unlock(&r->lock);
  pthread_cond_destroy(&r->changed);
  pthread_mutex_destroy(&r->lock);
  free(r);
}

static trilha_transport transport(void *self, trilha_text destination) {
  receiver *r = self;
  return trilha_webhook_transport(r->webhook, destination);
}

static bool set(void *self, transport_mood mood, int times) {
  receiver *r = self;
  pthread_mutex_lock(&r->lock);
  r->mood = mood;
  r->times = times;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->lock);
  return true;
}

static size_t arrivals(void *self, transport_arrival *out, size_t max) {
  receiver *r = self;
  pthread_mutex_lock(&r->lock);
  size_t count = r->arrived < max ? r->arrived : max;
  memcpy(out, r->arrivals, count * sizeof *out);
  pthread_mutex_unlock(&r->lock);
  return count;
}

static size_t holding(void *self) {
  receiver *r = self;
  pthread_mutex_lock(&r->lock);
  size_t count = r->holding;
  pthread_mutex_unlock(&r->lock);
  return count;
}

int main(void) {
  const transport_subject webhook = {.name = "webhook",
                                     .open = open_receiver,
                                     .close = close_receiver,
                                     .transport = transport,
                                     .set = set,
                                     .arrivals = arrivals,
                                     .holding = holding};
  return transport_conformance(&webhook);
}
