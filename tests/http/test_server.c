/* http: the server over real sockets: framing that two readers could read differently, slow clients, too many of them,
 * and an orderly end. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "http/http.h"

enum { WAIT_MS = 60000, CONNECTIONS = 8, SHORT_MS = 400 };

typedef struct scene {
  trilha_http_server *server;
  atomic_int calls;
  atomic_int held; /* handlers that wait in /hold */
  atomic_bool release;
} scene;

static void handle(void *user, const trilha_http_request *request, trilha_http_answer *answer) {
  scene *s = user;
  atomic_fetch_add(&s->calls, 1);
  if (trilha_text_is(request->path, "/hold")) {
    atomic_fetch_add(&s->held, 1);
    while (!atomic_load(&s->release)) trilha_clock_sleep_ms(5);
    atomic_fetch_sub(&s->held, 1);
  }
  answer->status = 200;
  answer->content_type = "text/plain";
  trilha_http_answer_header_add(answer, "X-Length", "%zu", request->body.size);
  trilha_buffer_add_format(&answer->body, "%.*s %.*s [%.*s] %zu", (int)request->method.size, request->method.data,
                           (int)request->path.size, request->path.data, (int)request->query.size,
                           request->query.data == NULL ? "" : request->query.data, request->body.size);
}

static int start_with(void **state, unsigned request_ms) {
  scene *s = calloc(1, sizeof *s);
  trilha_error error = {0};
  trilha_http_options options = {.name = "test",
                                 .address = TRILHA_TEXT("127.0.0.1"),
                                 .workers = 3,
                                 .connections_max = CONNECTIONS,
                                 .header_bytes_max = 4096,
                                 .body_bytes_max = 1000,
                                 .request_ms = request_ms,
                                 .response_ms = WAIT_MS,
                                 .handler = handle,
                                 .user = s};
  if (trilha_http_start(&options, &s->server, &error) != TRILHA_OK) fail_msg("%s", error.text);
  *state = s;
  return 0;
}

/* A stalled machine must not lose a client its request: only tests of that deadline have a short one. */
static int setup(void **state) {
  return start_with(state, WAIT_MS);
}

static int setup_impatient(void **state) {
  return start_with(state, SHORT_MS);
}

static int teardown(void **state) {
  scene *s = *state;
  atomic_store(&s->release, true);
  trilha_http_stop(s->server, WAIT_MS);
  free(s);
  return 0;
}

static int dial(const scene *s) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)trilha_http_port(s->server))};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_true(fd >= 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
  return fd;
}

static void say(int fd, const char *text, size_t size) {
  while (size > 0) {
    ssize_t n = send(fd, text, size, MSG_NOSIGNAL);
    if (n <= 0) return;
    text += n;
    size -= (size_t)n;
  }
}

/* Everything up to the end of the stream; false when it does not end in time. */
static bool read_all(int fd, char *out, size_t room) {
  size_t size = 0;
  for (;;) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, WAIT_MS) <= 0) return false;
    ssize_t n = recv(fd, out + size, room - 1 - size, 0);
    if (n <= 0) break;
    size += (size_t)n;
  }
  out[size] = '\0';
  return true;
}

/* Sends the text and gives the whole answer; the server must close. */
static const char *exchange(const scene *s, const char *text, char *out, size_t room) {
  int fd = dial(s);
  say(fd, text, strlen(text));
  if (!read_all(fd, out, room)) fail_msg("never closed: %s", text);
  close(fd);
  return out;
}

static int status_of(const char *answer) {
  return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;
}

static int status_for(const scene *s, const char *text) {
  char out[8192];
  return status_of(exchange(s, text, out, sizeof out));
}

#define END "Host: t\r\nConnection: close\r\n\r\n"

static void a_request_comes_whole_and_undecoded(void **state) {
  char out[4096];
  exchange(*state, "GET /a%2Fb/c?x=%20&y=1 HTTP/1.1\r\n" END, out, sizeof out);
  assert_int_equal(status_of(out), 200);
  assert_non_null(strstr(out, "GET /a%2Fb/c [x=%20&y=1] 0"));
  exchange(*state, "POST /p HTTP/1.1\r\nContent-Length: 5\r\n" END "hello", out, sizeof out);
  assert_non_null(strstr(out, "POST /p [] 5"));
  exchange(*state, "POST /p HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n" END "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n", out,
           sizeof out);
  assert_non_null(strstr(out, "POST /p [] 7"));
}

static void a_connection_serves_one_request_after_another(void **state) {
  char out[4096];
  exchange(*state, "GET /1 HTTP/1.1\r\nHost: t\r\n\r\nGET /2 HTTP/1.1\r\n" END, out, sizeof out);
  const char *first = strstr(out, "GET /1");
  assert_non_null(first);
  assert_non_null(strstr(first, "GET /2"));
}

static void framing_with_two_readings_is_refused_and_nothing_smuggled_runs(void **state) {
  scene *s = *state;
  static const char *const requests[] = {
      "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x "
      "HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /x "
      "HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\nContent-Length: 30\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabcGET /x HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nGET /x "
      "HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: xchunked\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nContent-Length : 4\r\n\r\nabcdGET /x HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: +4\r\n\r\nabcdGET /x HTTP/1.1\r\n" END,
      "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4,4\r\n\r\nabcdGET /x HTTP/1.1\r\n" END,
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "GET / HTTP/1.1\r\nHost: t\r\nHost: u\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "GET / HTTP/1.1\r\nHost: t\r\nAuthorization: a\r\nAuthorization: b\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "GET / HTTP/1.1\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "GET http://t/ HTTP/1.1\r\nHost: t\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "GET / HTTP/1.1\r\nHost: t\r\nX\x01Y: 1\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "GET / HTTP/1.1\r\nHost: t\r\nX: a\x01"
      "b\r\n\r\nGET /x HTTP/1.1\r\n" END,
      "GET /\xC3\xA7 HTTP/1.1\r\nHost: t\r\n\r\nGET /x HTTP/1.1\r\n" END,
  };
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
    int status = status_for(s, requests[i]);
    if (status != 400) fail_msg("%d for case %zu: %s", status, i, requests[i]);
  }
  assert_int_equal(atomic_load(&s->calls), 0);
}

static void what_is_too_large_is_refused(void **state) {
  scene *s = *state;
  char text[9000], body[1200];
  assert_int_equal(status_for(s, "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1001\r\n\r\n"), 413);
  assert_int_equal(status_for(s, "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999\r\n\r\n"), 413);
  memset(body, 'b', sizeof body);
  snprintf(text, sizeof text, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "4b0\r\n%.1200s\r\n0\r\n\r\n",
           body);
  assert_int_equal(status_for(s, text), 413);
  snprintf(text, sizeof text, "GET / HTTP/1.1\r\nX: %.1200s\r\nX: %.1200s\r\nX: %.1200s\r\nX: %.1200s\r\n" END, body,
           body, body, body);
  assert_int_equal(status_for(s, text), 431);
  size_t size = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\n");
  for (int i = 0; i < TRILHA_HTTP_HEADERS_MAX; i++)
    size += (size_t)snprintf(text + size, sizeof text - size, "A%d: 1\r\n", i);
  snprintf(text + size, sizeof text - size, END);
  assert_int_equal(status_for(s, text), 431);
  assert_int_equal(atomic_load(&s->calls), 0);
}

static void a_body_at_the_limit_is_taken(void **state) {
  char text[2000], body[1001], out[4096];
  memset(body, 'b', sizeof body);
  snprintf(text, sizeof text, "POST / HTTP/1.1\r\nContent-Length: 1000\r\n" END "%.1000s", body);
  exchange(*state, text, out, sizeof out);
  assert_int_equal(status_of(out), 200);
  assert_non_null(strstr(out, "X-Length: 1000"));
}

/* Sends one byte at a time until the server has had enough; false when it never has. */
static bool is_ended_while_dripping(int fd, const char *text) {
  for (trilha_deadline end = trilha_deadline_in_ms(WAIT_MS); !trilha_deadline_passed(end);) {
    if (send(fd, text[0] == '\0' ? "x" : text, 1, MSG_NOSIGNAL) < 0) return true;
    if (text[0] != '\0') text++;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, 50) > 0) return true;
  }
  return false;
}

static void a_request_of_a_byte_at_a_time_is_ended_at_its_deadline(void **state) {
  scene *s = *state;
  int fd = dial(s);
  assert_true(is_ended_while_dripping(fd, "GET / HTTP/1.1\r\nHost: t\r\nX: "));
  static const char head[] = "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 900\r\n\r\n";
  int body = dial(s);
  say(body, head, sizeof head - 1);
  assert_true(is_ended_while_dripping(body, ""));
  close(fd);
  close(body);
  assert_int_equal(atomic_load(&s->calls), 0);
}

static void an_idle_connection_is_ended_too(void **state) {
  char out[64];
  int silent = dial(*state), status = 0;
  assert_true(read_all(silent, out, sizeof out));
  close(silent);
  static const char request[] = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";
  for (int i = 0; i < 20 && status == 0; i++) { /* a request that was late itself has no answer */
    char answer[4096];
    int served = dial(*state);
    say(served, request, sizeof request - 1);
    assert_true(read_all(served, answer, sizeof answer));
    status = status_of(answer);
    close(served);
  }
  assert_int_equal(status, 200);
}

static void wait_for_connections(const scene *s, size_t count) {
  for (int i = 0; i < WAIT_MS / 5 && trilha_http_connections(s->server) != count; i++) trilha_clock_sleep_ms(5);
  assert_int_equal(trilha_http_connections(s->server), count);
}

static void connections_above_the_limit_read_503_and_the_others_go_on(void **state) {
  scene *s = *state;
  int held[CONNECTIONS], more[20];
  static const char request[] = "GET /hold HTTP/1.1\r\n" END;
  for (int i = 0; i < CONNECTIONS; i++) {
    held[i] = dial(s);
    say(held[i], request, sizeof request - 1);
  }
  wait_for_connections(s, CONNECTIONS);
  for (int i = 0; i < 20; i++) more[i] = dial(s);
  for (int i = 0; i < 20; i++) {
    char out[4096];
    if (i % 2 == 0)
      say(more[i], request, sizeof request - 1); /* sent late or never: the answer is there all the same */
    assert_true(read_all(more[i], out, sizeof out));
    assert_int_equal(status_of(out), 503);
    assert_non_null(strstr(out, "Retry-After: 1\r\n"));
    close(more[i]);
  }
  assert_int_equal(trilha_http_refused(s->server), 20);
  atomic_store(&s->release, true);
  for (int i = 0; i < CONNECTIONS; i++) {
    char out[4096];
    assert_true(read_all(held[i], out, sizeof out));
    assert_int_equal(status_of(out), 200);
    close(held[i]);
  }
  wait_for_connections(s, 0);
}

static void slow_handlers_do_not_hold_the_others_up(void **state) {
  scene *s = *state;
  int held[2];
  static const char request[] = "GET /hold HTTP/1.1\r\n" END;
  for (int i = 0; i < 2; i++) {
    held[i] = dial(s);
    say(held[i], request, sizeof request - 1);
  }
  while (atomic_load(&s->held) < 2) trilha_clock_sleep_ms(1);
  assert_int_equal(status_for(s, "GET / HTTP/1.1\r\n" END), 200);
  atomic_store(&s->release, true);
  for (int i = 0; i < 2; i++) close(held[i]); /* clients that leave before their answer */
  wait_for_connections(s, 0);
}

static void *release_later(void *user) {
  scene *s = user;
  trilha_clock_sleep_ms(200);
  atomic_store(&s->release, true);
  return NULL;
}

static void a_stop_lets_requests_under_way_end_and_takes_no_new_ones(void **state) {
  scene *s = *state;
  static const char request[] = "GET /hold HTTP/1.1\r\nHost: t\r\n\r\n";
  int fd = dial(s), idle = dial(s);
  say(fd, request, sizeof request - 1);
  while (atomic_load(&s->held) < 1) trilha_clock_sleep_ms(1);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, release_later, s), 0);
  trilha_http_stop(s->server, WAIT_MS);
  pthread_join(thread, NULL);
  char out[4096];
  assert_true(read_all(fd, out, sizeof out));
  assert_int_equal(status_of(out), 200);
  assert_non_null(strstr(out, "Connection: close"));
  assert_true(read_all(idle, out, sizeof out));
  s->server = NULL; /* teardown stops nothing */
  close(fd);
  close(idle);
}

static void a_taken_port_is_told(void **state) {
  scene *s = *state;
  trilha_http_options options = {.name = "second",
                                 .address = TRILHA_TEXT("127.0.0.1"),
                                 .port = trilha_http_port(s->server),
                                 .workers = 1,
                                 .connections_max = 1,
                                 .header_bytes_max = 1024,
                                 .body_bytes_max = 64,
                                 .request_ms = 100,
                                 .response_ms = 100,
                                 .handler = handle,
                                 .user = s};
  trilha_http_server *second = NULL;
  trilha_error error = {0};
  assert_int_equal(trilha_http_start(&options, &second, &error), TRILHA_IO);
  assert_int_equal(error.os_errno, EADDRINUSE);
  options.address = TRILHA_TEXT("localhost");
  memset(&error, 0, sizeof error);
  assert_int_equal(trilha_http_start(&options, &second, &error), TRILHA_INVALID);
}

#define ON_SERVER(test)           cmocka_unit_test_setup_teardown(test, setup, teardown)
#define ON_IMPATIENT_SERVER(test) cmocka_unit_test_setup_teardown(test, setup_impatient, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      ON_SERVER(a_request_comes_whole_and_undecoded),
      ON_SERVER(a_connection_serves_one_request_after_another),
      ON_SERVER(framing_with_two_readings_is_refused_and_nothing_smuggled_runs),
      ON_SERVER(what_is_too_large_is_refused),
      ON_SERVER(a_body_at_the_limit_is_taken),
      ON_IMPATIENT_SERVER(a_request_of_a_byte_at_a_time_is_ended_at_its_deadline),
      ON_IMPATIENT_SERVER(an_idle_connection_is_ended_too),
      ON_SERVER(connections_above_the_limit_read_503_and_the_others_go_on),
      ON_SERVER(slow_handlers_do_not_hold_the_others_up),
      ON_SERVER(a_stop_lets_requests_under_way_end_and_takes_no_new_ones),
      ON_SERVER(a_taken_port_is_told),
  };
  return cmocka_run_group_tests_name("http server", tests, NULL, NULL);
}
