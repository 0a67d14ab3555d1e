/* fetch: what is asked, what is taken for an answer, and that nothing makes it wait or grow without end. Variables that
 * name a proxy where nothing listens are set for the whole program (meson.build). */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fetch/fetch.h"

enum { ROOM = 8192, WAIT_MS = 60000 };

/* Takes one connection, reads the request's head and body, and answers the given bytes; NULL: says nothing. */
typedef struct peer {
  int listener;
  unsigned port;
  const char *answer;
  pthread_t thread;
  char seen[ROOM];
  char url[64];
  atomic_bool asked, release;
} peer;

static bool is_whole(const char *seen) {
  const char *end = strstr(seen, "\r\n\r\n"), *length = strstr(seen, "Content-Length: ");
  return end != NULL && (length == NULL || strlen(end + 4) >= strtoul(length + 16, NULL, 10));
}

static void *serve(void *user) {
  peer *p = user;
  int fd = accept(p->listener, NULL, NULL);
  size_t size = 0;
  for (ssize_t n = 1; n > 0 && size < ROOM - 1 && !is_whole(p->seen); size += n > 0 ? (size_t)n : 0)
    n = read(fd, p->seen + size, ROOM - 1 - size);
  atomic_store(&p->asked, true);
  if (p->answer != NULL) {
    (void)!write(fd, p->answer, strlen(p->answer));
  } else {
    while (!atomic_load(&p->release)) usleep(1000);
  }
  close(fd);
  return NULL;
}

static void start(peer *p, const char *answer) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  memset(p, 0, sizeof *p);
  p->answer = answer;
  p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(p->listener, (struct sockaddr *)&at, size), 0);
  assert_int_equal(listen(p->listener, 1), 0);
  assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &size), 0);
  snprintf(p->url, sizeof p->url, "http://127.0.0.1:%u/v1/traces?a=b", ntohs(at.sin_port));
  assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
}

static void end(peer *p) {
  atomic_store(&p->release, true);
  pthread_join(p->thread, NULL);
  close(p->listener);
}

static trilha_status ask(peer *p, trilha_fetch_request more, trilha_buffer *out, trilha_error *err) {
  trilha_fetch_request request = more;
  request.url = p->url;
  request.timeout_ms = WAIT_MS;
  if (request.answer_bytes_max == 0) request.answer_bytes_max = 100;
  trilha_buffer_init(out, 0);
  return trilha_fetch(&request, out, err);
}

static void expect_refused(const char *answer, const char *code) {
  peer p;
  trilha_buffer out;
  trilha_error err = {0};
  start(&p, answer);
  assert_int_not_equal(ask(&p, (trilha_fetch_request){0}, &out, &err), TRILHA_OK);
  assert_string_equal(err.code, code);
  assert_null(strstr(err.text, "a=b"));
  trilha_buffer_done(&out);
  end(&p);
}

static void an_answer_comes_whole(void **state) {
  (void)state;
  peer p;
  trilha_buffer out;
  start(&p, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  assert_int_equal(ask(&p, (trilha_fetch_request){.answer_bytes_max = 5}, &out, NULL), TRILHA_OK);
  assert_true(trilha_text_is(trilha_buffer_text(&out), "hello"));
  trilha_buffer_done(&out);
  end(&p);
  assert_int_equal(strncmp(p.seen, "GET /v1/traces?a=b HTTP/1.1\r\n", 29), 0);
}

static void a_body_is_posted_with_its_type(void **state) {
  (void)state;
  peer p;
  trilha_buffer out;
  start(&p, "HTTP/1.1 204 No Content\r\n\r\n");
  trilha_fetch_request request = {.body_type = "application/json", .body = TRILHA_TEXT("{\"a\":1}")};
  assert_int_equal(ask(&p, request, &out, NULL), TRILHA_OK);
  trilha_buffer_done(&out);
  end(&p);
  assert_int_equal(strncmp(p.seen, "POST ", 5), 0);
  assert_non_null(strstr(p.seen, "Content-Type: application/json\r\n"));
  assert_non_null(strstr(p.seen, "\r\n\r\n{\"a\":1}"));
}

static void headers_go_along_with_and_without_a_body(void **state) {
  (void)state;
  static const char *const lines[] = {"api-key: s3cret", "X-Two: a b"};
  for (int i = 0; i < 2; i++) {
    peer p;
    trilha_buffer out;
    start(&p, "HTTP/1.1 204 No Content\r\n\r\n");
    trilha_fetch_request request = {.headers = lines, .header_count = 2};
    if (i == 1) request.body_type = "text/plain";
    if (i == 1) request.body = TRILHA_TEXT("x");
    assert_int_equal(ask(&p, request, &out, NULL), TRILHA_OK);
    trilha_buffer_done(&out);
    end(&p);
    assert_non_null(strstr(p.seen, "\r\napi-key: s3cret\r\n"));
    assert_non_null(strstr(p.seen, "\r\nX-Two: a b\r\n"));
    assert_int_equal(strstr(p.seen, "\r\nContent-Type: text/plain\r\n") != NULL, i == 1);
  }
}

static void status_and_retry_after_are_told_whatever_they_are(void **state) {
  (void)state;
  static const struct {
    const char *answer;
    unsigned status;
    int64_t retry_s;
  } cases[] = {{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, 0},
               {"HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 503, 7},
               {"HTTP/1.1 429 Slower\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 429, 0},
               {"nonsense", 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    peer p;
    trilha_buffer out;
    unsigned status = 1;
    int64_t retry_s = -1;
    start(&p, cases[i].answer);
    trilha_status got = ask(&p, (trilha_fetch_request){.ret_status = &status, .ret_retry_s = &retry_s}, &out, NULL);
    trilha_buffer_done(&out);
    end(&p);
    assert_int_equal(got == TRILHA_OK, cases[i].status == 200);
    assert_int_equal(status, cases[i].status);
    assert_int_equal(retry_s, cases[i].retry_s);
  }
}

static void what_is_no_answer_is_refused_with_its_reason(void **state) {
  (void)state;
  expect_refused("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "FETCH_STATUS");
  expect_refused("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "FETCH_STATUS");
  expect_refused("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", "FETCH_FAILED");
  expect_refused("nonsense", "FETCH_FAILED");
  expect_refused(
      "HTTP/1.1 200 OK\r\n\r\n"
      "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789!",
      "FETCH_TOO_LARGE");
}

static void only_what_is_allowed_is_spoken(void **state) {
  (void)state;
  static const char *const urls[] = {"http://127.0.0.1:1/", "file:///etc/hostname", "gopher://127.0.0.1:1/", "",
                                     "https://"};
  for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
    trilha_buffer out;
    trilha_error err = {0};
    trilha_fetch_request request = {.url = urls[i], .https_only = true, .answer_bytes_max = 100, .timeout_ms = WAIT_MS};
    trilha_buffer_init(&out, 0);
    assert_int_not_equal(trilha_fetch(&request, &out, &err), TRILHA_OK);
    if (strcmp(err.code, "FETCH_URL") != 0) fail_msg("%s: %s %s", urls[i], err.code, err.text);
    assert_int_equal(out.size, 0);
    trilha_buffer_done(&out);
  }
}

static void *stop_when_asked(void *user) {
  void **both = user;
  peer *p = both[0];
  while (!atomic_load(&p->asked)) usleep(1000);
  atomic_store((atomic_bool *)both[1], true);
  return NULL;
}

static void a_peer_that_says_nothing_is_left_when_it_is_time_to_stop(void **state) {
  (void)state;
  peer p;
  trilha_buffer out;
  trilha_error err = {0};
  atomic_bool stop = false;
  pthread_t thread;
  void *both[] = {&p, &stop};
  start(&p, NULL);
  assert_int_equal(pthread_create(&thread, NULL, stop_when_asked, both), 0);
  assert_int_equal(ask(&p, (trilha_fetch_request){.stop = &stop}, &out, &err), TRILHA_UNAVAILABLE);
  pthread_join(thread, NULL);
  trilha_buffer_done(&out);
  end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_answer_comes_whole),
      cmocka_unit_test(a_body_is_posted_with_its_type),
      cmocka_unit_test(headers_go_along_with_and_without_a_body),
      cmocka_unit_test(status_and_retry_after_are_told_whatever_they_are),
      cmocka_unit_test(what_is_no_answer_is_refused_with_its_reason),
      cmocka_unit_test(only_what_is_allowed_is_spoken),
      cmocka_unit_test(a_peer_that_says_nothing_is_left_when_it_is_time_to_stop),
  };
  return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
