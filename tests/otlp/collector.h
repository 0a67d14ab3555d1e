/* tests/otlp/collector: a server on loopback that takes OTLP/HTTP requests one at a time and keeps what they said. It
 * answers as it is told to, or not at all until it is told. */
#ifndef TRILHA_TESTS_OTLP_COLLECTOR_H
#define TRILHA_TESTS_OTLP_COLLECTOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { COLLECTOR_KEPT = 64, COLLECTOR_HEAD = 4096 };

#define COLLECTOR_TAKES "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

typedef struct collector {
  int listener;
  char endpoint[64];
  pthread_t thread;
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t changed;
  const char *answer; /* NULL: no answer for now */
  const char *once;   /* answers the next request instead */
  bool ending;
  size_t heard; /* whole requests */
  char *traces[COLLECTOR_KEPT], *metrics[COLLECTOR_KEPT];
  size_t trace_count, metric_count;
  char head[COLLECTOR_HEAD]; /* of the last request */
} collector;

void collector_start(collector *c, const char *answer);
void collector_stop(collector *c);
/* From now on; ends what waits for an answer. */
void collector_answer(collector *c, const char *answer);
/* The next request gets this one. */
void collector_once(collector *c, const char *answer);
/* What was heard so far may be read without the mutex afterwards, while nobody sends. */
void collector_settle(collector *c);
/* Returns when so many requests were heard; the test fails after a minute. */
void collector_wait(collector *c, size_t heard);

#endif
