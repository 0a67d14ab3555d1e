/* tests/otlp/collector: see collector.h. */
#include "otlp/collector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_S = 60 };

/* The whole request, terminated; NULL when the client went away before its end. */
static char *hear(int fd, size_t *ret_body_at) {
  size_t size = 0, capacity = 1 << 16, whole = SIZE_MAX;
  char *text = malloc(capacity);
  while (text != NULL && size < whole) {
    if (capacity - size < 4096) text = realloc(text, capacity *= 2);
    ssize_t n = text == NULL ? 0 : read(fd, text + size, capacity - size - 1);
    if (n <= 0) break;
    size += (size_t)n;
    text[size] = '\0';
    const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
    if (end == NULL || length == NULL) continue;
    *ret_body_at = (size_t)(end - text) + 4;
    whole = *ret_body_at + strtoul(length + 16, NULL, 10);
  }
  if (text != NULL && size == whole) return text;
  free(text);
  return NULL;
}

static void keep(collector *c, const char *text, size_t body_at) {
  char *body = strdup(text + body_at);
  bool traces = strncmp(text, "POST /v1/traces ", 16) == 0;
  size_t *count = traces ? &c->trace_count : &c->metric_count;
  snprintf(c->head, sizeof c->head, "%.*s", (int)body_at, text);
  if (*count < COLLECTOR_KEPT)
    (traces ? c->traces : c->metrics)[(*count)++] = body;
  else
    free(body);
  c->heard++;
  pthread_cond_broadcast(&c->changed);
}

static const char *next_answer(collector *c) {
  while (c->answer == NULL && c->once == NULL && !c->ending) pthread_cond_wait(&c->changed, &c->mutex);
  const char *answer = c->once != NULL ? c->once : c->answer;
  c->once = NULL;
  return answer;
}

static void *collect(void *user) {
  collector *c = user;
  for (;;) {
    size_t body_at = 0;
    int fd = accept(c->listener, NULL, NULL);
    if (fd < 0) return NULL;
    char *text = hear(fd, &body_at);
    if (text != NULL) {
      pthread_mutex_lock(&c->mutex);
      keep(c, text, body_at);
      const char *answer = next_answer(c);
      pthread_mutex_unlock(&c->mutex);
      if (answer != NULL) (void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
    }
    free(text);
    close(fd);
  }
}

void collector_start(collector *c, const char *answer) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  *c = (collector){.answer = answer};
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->changed, NULL);
  c->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(c->listener, (struct sockaddr *)&at, size), 0);
  assert_int_equal(listen(c->listener, 8), 0);
  assert_int_equal(getsockname(c->listener, (struct sockaddr *)&at, &size), 0);
  snprintf(c->endpoint, sizeof c->endpoint, "http://127.0.0.1:%u", ntohs(at.sin_port));
  assert_int_equal(pthread_create(&c->thread, NULL, collect, c), 0);
}

void collector_answer(collector *c, const char *answer) {
  pthread_mutex_lock(&c->mutex);
  c->answer = answer;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->mutex);
}

void collector_once(collector *c, const char *answer) {
  pthread_mutex_lock(&c->mutex);
  c->once = answer;
  pthread_mutex_unlock(&c->mutex);
}

void collector_settle(collector *c) {
  pthread_mutex_lock(&c->mutex);
  pthread_mutex_unlock(&c->mutex);
}

void collector_wait(collector *c, size_t heard) {
  struct timespec until;
  int timed_out = 0;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_S;
  pthread_mutex_lock(&c->mutex);
  while (c->heard < heard && timed_out != ETIMEDOUT) timed_out = pthread_cond_timedwait(&c->changed, &c->mutex, &until);
  size_t now = c->heard;
  pthread_mutex_unlock(&c->mutex);
  if (now < heard) fail_msg("only %zu of %zu requests came", now, heard);
}

void collector_stop(collector *c) {
  pthread_mutex_lock(&c->mutex);
  c->ending = true;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->mutex);
  shutdown(c->listener, SHUT_RDWR);
  pthread_join(c->thread, NULL);
  close(c->listener);
  for (size_t i = 0; i < c->trace_count; i++) free(c->traces[i]);
  for (size_t i = 0; i < c->metric_count; i++) free(c->metrics[i]);
  pthread_mutex_destroy(&c->mutex);
  pthread_cond_destroy(&c->changed);
}
