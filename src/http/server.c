/* http: the server's life and the library's callbacks, all of which run on its one thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "http/http_internal.h"

enum { TOO_LARGE = 413, UNAVAILABLE = 503, POOL_EXTRA = 8192, SPARE_CONNECTIONS = 64, POLL_MS = 10 };

void trilha_http_answer_header_add(trilha_http_answer *answer, const char *name, const char *format, ...) {
  if (answer->header_count == TRILHA_HTTP_ANSWER_HEADERS_MAX) return;
  trilha_http_answer_header *header = &answer->headers[answer->header_count++];
  header->name = name;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(header->value, sizeof header->value, format, arguments);
  va_end(arguments);
}

/* --- connections ---------------------------------------------------------------------------------------------------
 */

static void connection_begins(trilha_http_server *server, struct MHD_Connection *connection, void **socket_context) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  trilha_http_connection *c = calloc(1, sizeof *c);
  if (c == NULL || info == NULL) {
    free(c);
    return; /* it lives without a deadline of ours; the library's own for silence still holds */
  }
  c->fd = info->connect_fd;
  c->deadline_ns = trilha_clock_monotonic_ns() + server->options.request_ms * 1000000;
  pthread_mutex_lock(&server->mutex);
  c->next = server->connections;
  if (c->next != NULL) c->next->previous = c;
  server->connections = c;
  pthread_mutex_unlock(&server->mutex);
  *socket_context = c;
}

/* Before the library closes the socket, so that its number is never another's when a deadline passes. */
static void connection_ends(trilha_http_engine *engine, void **socket_context) {
  trilha_http_server *server = engine->server;
  trilha_http_connection *c = *socket_context;
  atomic_fetch_sub(&server->open, 1);
  if (c == NULL) {
    atomic_fetch_sub(&engine->open, 1);
    return;
  }
  pthread_mutex_lock(&server->mutex);
  if (c->previous != NULL)
    c->previous->next = c->next;
  else
    server->connections = c->next;
  if (c->next != NULL) c->next->previous = c->previous;
  pthread_mutex_unlock(&server->mutex);
  free(c);
  *socket_context = NULL;
  atomic_fetch_sub(&engine->open, 1);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what) {
  trilha_http_engine *engine = user;
  if (what == MHD_CONNECTION_NOTIFY_STARTED)
    connection_begins(engine->server, connection, socket_context);
  else
    connection_ends(engine, socket_context);
}

void trilha_http_set_deadline(trilha_http_exchange *exchange, int64_t ms) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  trilha_http_connection *c = info == NULL ? NULL : info->socket_context;
  if (c == NULL) return;
  pthread_mutex_lock(&exchange->server->mutex);
  c->deadline_ns = ms == INT64_MAX ? INT64_MAX : trilha_clock_monotonic_ns() + ms * 1000000;
  pthread_mutex_unlock(&exchange->server->mutex);
}

/* --- exchanges -------------------------------------------------------------------------------------------------------
 */

static void write_peer(struct MHD_Connection *connection, char *out, size_t room) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  const struct sockaddr *address = info == NULL ? NULL : info->client_addr;
  if (address != NULL && address->sa_family == AF_INET)
    inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, out, (socklen_t)room);
  else if (address != NULL && address->sa_family == AF_INET6)
    inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, out, (socklen_t)room);
}

/* The first the library tells of a request: its target as received, before anything is decoded. */
static void *on_target(void *user, const char *target, struct MHD_Connection *connection) {
  trilha_http_engine *engine = user;
  trilha_http_server *server = engine->server;
  trilha_http_exchange *exchange = calloc(1, sizeof *exchange);
  if (exchange == NULL) return NULL;
  exchange->engine = engine;
  exchange->server = server;
  exchange->connection = connection;
  exchange->target = strdup(target);
  trilha_buffer_init(&exchange->body, server->options.body_bytes_max);
  write_peer(connection, exchange->peer, sizeof exchange->peer);
  atomic_fetch_add(&server->under_way, 1);
  return exchange;
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode why) {
  (void)user;
  (void)connection;
  (void)why;
  trilha_http_exchange *exchange = *context;
  if (exchange == NULL) return;
  trilha_http_set_deadline(exchange, exchange->server->options.request_ms);
  atomic_fetch_sub(&exchange->server->under_way, 1);
  trilha_buffer_done(&exchange->body);
  trilha_buffer_done(&exchange->answer.body);
  free(exchange->target);
  free(exchange);
  *context = NULL;
}

static enum MHD_Result send_answer(trilha_http_exchange *e) {
  size_t size = 0;
  char *body = e->answer.body.size == 0 ? NULL : trilha_buffer_take(&e->answer.body, &size);
  struct MHD_Response *response =
      MHD_create_response_from_buffer(size, body, body == NULL ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);
  if (response == NULL) {
    free(body);
    return MHD_NO;
  }
  bool ok = true;
  if (e->answer.content_type != NULL)
    ok = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, e->answer.content_type) == MHD_YES;
  for (size_t i = 0; ok && i < e->answer.header_count; i++)
    ok = MHD_add_response_header(response, e->answer.headers[i].name, e->answer.headers[i].value) == MHD_YES;
  if (ok && (e->closes || atomic_load(&e->server->stopping) || atomic_load(&e->engine->retired)))
    ok = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
  trilha_http_set_deadline(e, e->server->options.response_ms);
  enum MHD_Result result = ok ? MHD_queue_response(e->connection, e->answer.status, response) : MHD_NO;
  MHD_destroy_response(response);
  return result;
}

/* What the handler never sees: the client is told the status and nothing else. */
static enum MHD_Result refuse(trilha_http_exchange *e, unsigned status) {
  e->answer.status = status;
  e->closes = true;
  return send_answer(e);
}

static enum MHD_Result take_body(trilha_http_exchange *e, const char *data, size_t *size) {
  if (!e->too_large) trilha_buffer_append(&e->body, data, *size);
  /* A length that was not said beforehand: the rest is read and forgotten, because the library answers only behind it.
   */
  e->too_large = e->too_large || e->body.failed != TRILHA_OK;
  *size = 0;
  return MHD_YES;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **context) {
  (void)user;
  (void)url;
  trilha_http_exchange *e = *context;
  if (e == NULL || e->target == NULL) return MHD_NO;
  if (!e->begun) {
    e->begun = true;
    unsigned refusal = trilha_http_read_headers(e, method, version);
    return refusal == 0 ? MHD_YES : refuse(e, refusal);
  }
  if (*size != 0) return take_body(e, data, size);
  if (e->too_large) return refuse(e, TOO_LARGE);
  if (e->answered) return send_answer(e);
  if (!trilha_http_announce(e->server)) return refuse(e, UNAVAILABLE);
  trilha_http_set_deadline(e, INT64_MAX);
  MHD_suspend_connection(connection);
  trilha_http_enqueue(e->server, e);
  return MHD_YES;
}

/* --- engines -------------------------------------------------------------------------------------------------------
 */

static struct MHD_Daemon *start_daemon(trilha_http_engine *e, const trilha_http_certificate *pair) {
  const trilha_http_options *o = &e->server->options;
  unsigned idle_s = (unsigned)((o->request_ms + o->response_ms) / 1000 + 1);
  unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;
  struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)pair->chain},
                                 {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)pair->key},
                                 {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TRILHA_HTTP_TLS_PRIORITIES},
                                 {MHD_OPTION_END, 0, NULL}};
  const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
  return MHD_start_daemon(
      flags | (e->server->tls ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, e, MHD_OPTION_NOTIFY_COMPLETED,
      on_completed, e, MHD_OPTION_NOTIFY_CONNECTION, on_connection, e, MHD_OPTION_URI_LOG_CALLBACK, on_target, e,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_CONNECTION_LIMIT, o->connections_max + SPARE_CONNECTIONS,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->header_bytes_max + POOL_EXTRA, MHD_OPTION_CONNECTION_TIMEOUT, idle_s,
      MHD_OPTION_ARRAY, e->server->tls ? tls : none, MHD_OPTION_END);
}

static void engine_free(trilha_http_engine *engine) {
  if (engine == NULL) return;
  trilha_http_loop_stop(engine);
  if (engine->daemon != NULL) MHD_stop_daemon(engine->daemon);
  pthread_mutex_destroy(&engine->mutex);
  free(engine);
}

static trilha_status fingerprint(const trilha_http_certificate *pair, unsigned char out[TRILHA_SHA256_SIZE],
                                 trilha_error *err) {
  TRILHA_BUFFER_SCOPED both;
  trilha_buffer_init(&both, 0);
  trilha_buffer_append(&both, pair->chain, strlen(pair->chain) + 1);
  trilha_buffer_add_string(&both, pair->key);
  trilha_status status = trilha_buffer_check(&both, err);
  if (status == TRILHA_OK) trilha_sha256(trilha_buffer_text(&both), out);
  if (both.data != NULL) explicit_bzero(both.data, both.capacity);
  return status;
}

static trilha_status engine_new(trilha_http_server *s, const trilha_http_certificate *pair,
                                trilha_http_engine **ret_engine, trilha_error *err) {
  trilha_http_engine *engine = calloc(1, sizeof *engine);
  if (engine == NULL) return trilha_error_no_memory(err);
  engine->server = s;
  engine->wake = -1;
  pthread_mutex_init(&engine->mutex, NULL);
  trilha_status status = TRILHA_OK;
  if (s->tls) {
    status = trilha_http_tls_check(pair, s->options.name, &engine->expires_s, err);
    if (status == TRILHA_OK) status = fingerprint(pair, engine->fingerprint, err);
  }
  if (status == TRILHA_OK && (engine->daemon = start_daemon(engine, pair)) == NULL)
    status = trilha_error_set_errno(err, TRILHA_IO, "LISTEN_FAILED", errno, "the %s listener does not start",
                                    s->options.name);
  if (status == TRILHA_OK) status = trilha_http_loop_start(engine, err);
  if (status == TRILHA_OK)
    *ret_engine = engine;
  else
    engine_free(engine);
  return status;
}

/* Takes engines without connections out under the mutex and ends them outside of it: ending waits for their thread. */
void trilha_http_reap(trilha_http_server *server) {
  trilha_http_engine *done = NULL;
  pthread_mutex_lock(&server->mutex);
  for (trilha_http_engine **at = &server->retired; *at != NULL;) {
    trilha_http_engine *engine = *at;
    if (atomic_load(&engine->open) > 0) {
      at = &engine->next;
      continue;
    }
    *at = engine->next;
    engine->next = done;
    done = engine;
  }
  pthread_mutex_unlock(&server->mutex);
  while (done != NULL) {
    trilha_http_engine *next = done->next;
    engine_free(done);
    done = next;
  }
}

trilha_status trilha_http_renewal_prepare(trilha_http_server *server, const trilha_http_certificate *certificate,
                                          trilha_http_engine **ret_engine, trilha_error *err) {
  trilha_http_engine *engine = NULL;
  size_t waiting = 0;
  trilha_status status = engine_new(server, certificate, &engine, err);
  if (status != TRILHA_OK) return status;
  pthread_mutex_lock(&server->mutex);
  bool same = memcmp(engine->fingerprint, server->engine->fingerprint, sizeof engine->fingerprint) == 0;
  for (const trilha_http_engine *at = server->retired; at != NULL; at = at->next) waiting++;
  pthread_mutex_unlock(&server->mutex);
  if (!same && waiting >= TRILHA_HTTP_RETIRED_MAX)
    status =
        trilha_error_set(err, TRILHA_LIMIT, "CERTIFICATE_RENEWALS",
                         "%zu earlier certificates still have connections: try again when they have ended", waiting);
  if (same || status != TRILHA_OK) {
    engine_free(engine);
    engine = NULL;
  }
  *ret_engine = engine;
  return status;
}

void trilha_http_renewal_use(trilha_http_server *server, trilha_http_engine *take_engine) {
  if (take_engine == NULL) return;
  pthread_mutex_lock(&server->mutex);
  trilha_http_engine *old = server->engine;
  server->engine = take_engine;
  old->next = server->retired;
  server->retired = old;
  atomic_store(&old->retired, true);
  pthread_mutex_unlock(&server->mutex);
}

void trilha_http_renewal_abandon(trilha_http_engine *take_engine) {
  engine_free(take_engine);
}

int64_t trilha_http_certificate_expires_s(trilha_http_server *server) {
  pthread_mutex_lock(&server->mutex);
  int64_t expires_s = server->engine->expires_s;
  pthread_mutex_unlock(&server->mutex);
  return expires_s;
}

/* --- the server ----------------------------------------------------------------------------------------------------
 */

static trilha_status start(trilha_http_server *s, const trilha_http_certificate *pair, trilha_error *err) {
  trilha_status status = trilha_microhttpd_load(err);
  if (status == TRILHA_OK) status = engine_new(s, pair, &s->engine, err);
  if (status == TRILHA_OK) status = trilha_http_listen(s, err);
  if (status != TRILHA_OK) return status;
  s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (s->wake < 0)
    return trilha_error_set_errno(err, TRILHA_IO, "LISTEN_FAILED", errno, "the %s listener does not start",
                                  s->options.name);
  status = trilha_http_workers_start(s, err);
  if (status != TRILHA_OK) return status;
  int failed = pthread_create(&s->acceptor, NULL, trilha_http_accept_loop, s);
  s->acceptor_runs = failed == 0;
  return failed == 0 ? TRILHA_OK
                     : trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "the %s listener does not start",
                                              s->options.name);
}

trilha_status trilha_http_start(const trilha_http_options *options, trilha_http_server **ret_server,
                                trilha_error *err) {
  trilha_http_server *s = calloc(1, sizeof *s);
  if (s == NULL) return trilha_error_no_memory(err);
  s->options = *options;
  s->options.certificate = (trilha_http_certificate){NULL, NULL};
  s->tls = options->certificate.chain != NULL;
  s->listener = s->wake = -1;
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->work, NULL);
  trilha_status status = start(s, &options->certificate, err);
  if (status == TRILHA_OK)
    *ret_server = s;
  else
    trilha_http_stop(s, 0);
  return status;
}

unsigned trilha_http_port(const trilha_http_server *server) {
  return server->port;
}

size_t trilha_http_connections(const trilha_http_server *server) {
  return atomic_load(&server->open);
}

uint64_t trilha_http_refused(const trilha_http_server *server) {
  return atomic_load(&server->refused);
}

static void wake(trilha_http_server *s) {
  uint64_t one = 1;
  (void)!write(s->wake, &one, sizeof one);
}

void trilha_http_stop(trilha_http_server *s, int64_t wait_ms) {
  if (s == NULL) return;
  trilha_deadline deadline = trilha_deadline_in_ms(wait_ms);
  atomic_store(&s->stopping, true);
  if (s->acceptor_runs) wake(s);
  while (atomic_load(&s->under_way) > 0 && !trilha_deadline_passed(deadline)) trilha_clock_sleep_ms(POLL_MS);
  trilha_http_workers_stop(s); /* nothing is suspended any more */
  if (s->acceptor_runs) {
    atomic_store(&s->accepting_ended, true);
    wake(s);
    pthread_join(s->acceptor, NULL);
  }
  engine_free(s->engine);
  while (s->retired != NULL) {
    trilha_http_engine *next = s->retired->next;
    engine_free(s->retired);
    s->retired = next;
  }
  if (s->listener >= 0) close(s->listener);
  if (s->wake >= 0) close(s->wake);
  pthread_cond_destroy(&s->work);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}
