/* http inside: the server, its connections and exchanges. Room: http. */
#ifndef TRILHA_HTTP_HTTP_INTERNAL_H
#define TRILHA_HTTP_HTTP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/hash.h"
#include "http/http.h"
#include "http/late_microhttpd.h"

/* One of the library's servers, with the certificate it was started with. A renewed certificate is a new one, which
 * takes the connections to come; the old one ends when its last connection has. */
typedef struct trilha_http_arrival trilha_http_arrival;
struct trilha_http_engine {
  trilha_http_server *server;
  struct MHD_Daemon *daemon;
  atomic_size_t open; /* connections handed to it and not yet ended */
  atomic_bool retired;
  unsigned char fingerprint[TRILHA_SHA256_SIZE]; /* of certificate and key; zero without TLS */
  int64_t expires_s;
  struct trilha_http_engine *next; /* in server->retired */

  pthread_t thread; /* all of the library's work and callbacks */
  bool loop_runs;
  atomic_bool loop_ends;
  int wake;                      /* an eventfd; -1: none */
  pthread_mutex_t mutex;         /* what follows */
  trilha_http_arrival *arrivals; /* accepted, and not yet the library's */
};

/* An open connection: made and ended by the engine's thread, its deadline read by ours. In server->connections, under
 * the mutex. */
typedef struct trilha_http_connection {
  int fd;
  int64_t deadline_ns; /* INT64_MAX while a handler works for it */
  struct trilha_http_connection *next, *previous;
} trilha_http_connection;

/* A request and its answer. Owned by the engine's thread, except between suspend and resume, when a worker has it. */
typedef struct trilha_http_exchange {
  trilha_http_server *server;
  trilha_http_engine *engine;
  struct MHD_Connection *connection;
  char *target;
  bool begun, answered, too_large, closes;
  trilha_buffer body;
  char peer[48];
  trilha_http_request request;
  trilha_http_answer answer;
  struct trilha_http_exchange *next;
} trilha_http_exchange;

struct trilha_http_server {
  trilha_http_options options; /* without the certificate, which is the engine's */
  bool tls;
  int listener, wake;
  unsigned port;
  pthread_t acceptor;
  pthread_t *workers;
  unsigned worker_count;
  bool acceptor_runs;
  atomic_size_t open;      /* connections handed to the library and not yet ended */
  atomic_size_t under_way; /* exchanges between their first line and the end of their answer */
  atomic_uint_fast64_t refused;
  atomic_bool stopping, accepting_ended;
  pthread_mutex_t mutex; /* what follows */
  pthread_cond_t work;
  trilha_http_engine *engine;  /* takes new connections */
  trilha_http_engine *retired; /* have connections left; ended by the accepting thread */
  trilha_http_connection *connections;
  trilha_http_exchange *first, *last; /* waiting for a worker */
  size_t announced;                   /* exchanges that will be in the queue in a moment */
  bool workers_end;
};

/* headers.c: fills the exchange's request from the library's and judges it: 0, or the status to refuse it with. */
unsigned trilha_http_read_headers(trilha_http_exchange *exchange, const char *method, const char *version);

/* loop.c */
trilha_status trilha_http_loop_start(trilha_http_engine *engine, trilha_error *err) TRILHA_MUST_USE;
/* Waits for its thread; the daemon may be stopped after it. */
void trilha_http_loop_stop(trilha_http_engine *engine);
/* From a worker: the exchange, which is not to be touched any more, is the engine's again. */
void trilha_http_resume(trilha_http_exchange *exchange);
/* A connection that is counted already, in the engine and in the server. Takes the descriptor. */
void trilha_http_hand_over(trilha_http_engine *engine, int fd, const struct sockaddr *address, socklen_t size);

/* accept.c */
trilha_status trilha_http_listen(trilha_http_server *server, trilha_error *err) TRILHA_MUST_USE;
void *trilha_http_accept_loop(void *server);

/* work.c */
trilha_status trilha_http_workers_start(trilha_http_server *server, trilha_error *err) TRILHA_MUST_USE;
void trilha_http_workers_stop(trilha_http_server *server);
/* Announce, then suspend the connection, then enqueue: a worker may resume it at once. False: the workers end. */
bool trilha_http_announce(trilha_http_server *server);
void trilha_http_enqueue(trilha_http_server *server, trilha_http_exchange *exchange);

/* tls.c: whether certificate and key can be used together; and when the certificate ends, in seconds since 1970. */
trilha_status trilha_http_tls_check(const trilha_http_certificate *pair, const char *name, int64_t *ret_expires_s,
                                    trilha_error *err) TRILHA_MUST_USE;
/* TLS 1.2 and 1.3 only. */
#define TRILHA_HTTP_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

/* server.c: ends retired engines without connections. By the accepting thread. */
void trilha_http_reap(trilha_http_server *server);

/* server.c: the deadline of the exchange's connection, from now; INT64_MAX: none. */
void trilha_http_set_deadline(trilha_http_exchange *exchange, int64_t ms);

#endif
