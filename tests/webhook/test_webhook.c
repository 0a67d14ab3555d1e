/* webhook: which addresses are refused, when the breaker lets through (field report B22). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "relay/relay.h"
#include "webhook/webhook_internal.h"

/* --- the guard ------------------------------------------------------------------------------------------------ */

static bool passes(const trilha_webhook_guard *guard, const char *address) {
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  struct sockaddr_in four = {.sin_family = AF_INET};
  if (inet_pton(AF_INET, address, &four.sin_addr) == 1)
    return trilha_webhook_guard_passes(guard, (const struct sockaddr *)(const void *)&four);
  assert_int_equal(inet_pton(AF_INET6, address, &six.sin6_addr), 1);
  return trilha_webhook_guard_passes(guard, (const struct sockaddr *)(const void *)&six);
}

static void special_addresses_are_refused_in_every_form_they_can_be_written_in(void **state) {
  static const char *const refused[] = {"0.0.0.0",
                                        "10.1.2.3",
                                        "100.64.0.1",
                                        "127.0.0.1",
                                        "127.255.255.255",
                                        "169.254.169.254",
                                        "172.16.0.1",
                                        "172.31.255.255",
                                        "192.0.0.8",
                                        "192.168.1.1",
                                        "198.18.0.1",
                                        "198.19.255.255",
                                        "224.0.0.1",
                                        "240.0.0.1",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "::127.0.0.1",
                                        "::ffff:127.0.0.1",
                                        "::ffff:10.0.0.1",
                                        "64:ff9b::7f00:1",
                                        "2002:7f00:1::",
                                        "fc00::1",
                                        "fdff::1",
                                        "fe80::1",
                                        "febf::1",
                                        "fec0::1",
                                        "ff02::1",
                                        "2001::1",
                                        "2001:db8::1"};
  static const char *const passed[] = {"1.1.1.1",      "9.255.255.255",   "11.0.0.0",      "100.63.255.255",
                                       "100.128.0.0",  "126.255.255.255", "128.0.0.0",     "169.253.255.255",
                                       "172.15.0.1",   "172.32.0.0",      "192.0.1.0",     "223.255.255.255",
                                       "2606:4700::1", "2a00:1450::1",    "::ffff:1.1.1.1"};
  trilha_webhook_guard guard;
  (void)state;
  assert_int_equal(trilha_webhook_guard_init(&guard, NULL, 0, NULL), TRILHA_OK);
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    if (passes(&guard, refused[i])) fail_msg("%s passed", refused[i]);
  for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
    if (!passes(&guard, passed[i])) fail_msg("%s was refused", passed[i]);
  struct sockaddr odd = {.sa_family = AF_UNIX};
  assert_false(trilha_webhook_guard_passes(&guard, &odd));
  trilha_webhook_guard_done(&guard);
}

static void an_allowed_network_opens_itself_and_nothing_else(void **state) {
  static const char *const allowed[] = {"10.1.0.0/16", "::1"}, *const wrong[] = {"10.0.0.1/8"};
  trilha_webhook_guard guard;
  trilha_error err = {0};
  (void)state;
  assert_int_equal(trilha_webhook_guard_init(&guard, allowed, 2, NULL), TRILHA_OK);
  assert_true(passes(&guard, "10.1.255.1") && passes(&guard, "::ffff:10.1.0.1") && passes(&guard, "::1"));
  assert_false(passes(&guard, "10.2.0.1") || passes(&guard, "127.0.0.1") || passes(&guard, "64:ff9b::a01:1"));
  trilha_webhook_guard_done(&guard);
  assert_int_equal(trilha_webhook_guard_init(&guard, wrong, 1, &err), TRILHA_USAGE);
  assert_string_equal(err.code, "WEBHOOK_NETWORK");
  trilha_webhook_guard_done(&guard);
}

/* --- the breaker ----------------------------------------------------------------------------------------------------
 */

static void the_breaker_opens_after_failures_in_a_row_and_lets_one_message_find_out(void **state) {
  enum { LONG_MS = 3600000 };
  trilha_breaker b;
  int64_t again_ms = 0;
  (void)state;
  trilha_breaker_init(&b, 3, LONG_MS);
  assert_false(trilha_breaker_failed(&b, 0));
  assert_false(trilha_breaker_failed(&b, 0));
  assert_false(trilha_breaker_succeeded(&b)); /* no longer in a row */
  assert_false(trilha_breaker_failed(&b, 0));
  assert_false(trilha_breaker_failed(&b, 0));
  assert_true(trilha_breaker_enter(&b));
  assert_true(trilha_breaker_failed(&b, 0));
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_HELD);
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  assert_true(again_ms > LONG_MS / 2 && again_ms <= LONG_MS);
  assert_false(trilha_breaker_enter(&b));
  assert_false(trilha_breaker_failed(&b, 0)); /* it was under way meanwhile */
  b.until = trilha_deadline_in_ms(0);         /* the time is over */
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 1);
  assert_true(trilha_breaker_enter(&b));
  assert_false(trilha_breaker_enter(&b)); /* one */
  assert_true(trilha_breaker_failed(&b, 0));
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  assert_true(again_ms > LONG_MS); /* for twice as long */
  b.until = trilha_deadline_in_ms(0);
  assert_true(trilha_breaker_enter(&b));
  assert_true(trilha_breaker_succeeded(&b));
  assert_true(trilha_breaker_room(&b, &again_ms) > 1);
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_OPEN_TO_ALL);
  trilha_breaker_done(&b);
}

static void a_message_that_never_reached_the_endpoint_says_nothing_about_it(void **state) {
  trilha_breaker b;
  (void)state;
  trilha_breaker_init(&b, 1, 3600000);
  assert_true(trilha_breaker_failed(&b, 0));
  b.until = trilha_deadline_in_ms(0);
  assert_true(trilha_breaker_enter(&b));
  trilha_breaker_unasked(&b);
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_HELD); /* neither closed by it */
  assert_true(trilha_breaker_enter(&b));                           /* nor kept from asking */
  assert_false(trilha_breaker_enter(&b));
  trilha_breaker_done(&b);
}

static void an_endpoint_that_does_not_know_us_is_left_alone_at_once_and_asked_by_one_message(void **state) {
  trilha_breaker b;
  int64_t again_ms = 0;
  (void)state;
  trilha_breaker_init(&b, 1000, 3600000);
  assert_true(trilha_breaker_refused(&b));
  assert_false(trilha_breaker_refused(&b)); /* it was under way meanwhile */
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_HELD);
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  b.until = trilha_deadline_in_ms(0);
  assert_true(trilha_breaker_enter(&b));
  assert_false(trilha_breaker_enter(&b));
  assert_true(trilha_breaker_refused(&b));
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  assert_true(again_ms > 3600000); /* for twice as long */
  trilha_breaker_done(&b);
}

static void an_endpoint_that_names_a_time_is_left_alone_until_then_and_one_that_went_for_good(void **state) {
  trilha_breaker b;
  int64_t again_ms = 0;
  (void)state;
  trilha_breaker_init(&b, 1000, 1);
  assert_true(trilha_breaker_failed(&b, 3600000));
  assert_int_equal(trilha_breaker_room(&b, &again_ms), 0);
  assert_true(again_ms > 1800000);
  assert_true(trilha_breaker_succeeded(&b));
  assert_true(trilha_breaker_went(&b));
  assert_false(trilha_breaker_went(&b));
  assert_false(trilha_breaker_enter(&b));
  assert_int_equal(trilha_breaker_state(&b), TRILHA_WEBHOOK_GONE);
  trilha_breaker_done(&b);
}

/* --- options ---------------------------------------------------------------------------------------------------------
 */

static void urls_that_are_no_plain_http_are_refused(void **state) {
  static const char *const wrong[] = {"",
                                      "shop.example",
                                      "ftp://shop.example/",
                                      "file:///etc/passwd",
                                      "gopher://shop.example",
                                      "https://user:pass@shop.example/",
                                      "https://shop.example/#part",
                                      "http://",
                                      "https://shop .example/"};
  const trilha_webhook_options injected = {.url = "https://shop.example/", .authorization = "a\r\nx: y"},
                               right = {.url = "https://shop.example:8443/hook?a=b"};
  trilha_webhook *webhook = NULL;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const trilha_webhook_options options = {.url = wrong[i]};
    trilha_error err = {0};
    if (trilha_webhook_new(&options, &webhook, &err) != TRILHA_USAGE) fail_msg("%s was taken", wrong[i]);
    assert_string_equal(err.code, "WEBHOOK_URL");
    assert_null(webhook);
  }
  assert_int_equal(trilha_webhook_new(&injected, &webhook, NULL), TRILHA_USAGE);
  assert_int_equal(trilha_webhook_new(&right, &webhook, NULL), TRILHA_OK);
  assert_int_equal(trilha_webhook_state_now(webhook), TRILHA_WEBHOOK_OPEN_TO_ALL);
  trilha_webhook_free(webhook);
}

/* --- mapping --------------------------------------------------------------------------------------------------------
 */

static void an_envelope_is_mapped_to_the_json_that_programs_are_given(void **state) {
  const trilha_envelope envelope = {.destination = TRILHA_TEXT("shop"),
                                    .message_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6727"),
                                    .tenant_id = TRILHA_TEXT("São Paulo"),
                                    .aggregate_type = TRILHA_TEXT("invoice"),
                                    .aggregate_key = TRILHA_TEXT("42"),
                                    .aggregate_sequence = 7,
                                    .message_type = TRILHA_TEXT("invoice.issued"),
                                    .version = TRILHA_TEXT("1.0.0"),
                                    .origin = TRILHA_TEXT("billing"),
                                    .correlation_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6727"),
                                    .occurred_at = TRILHA_TEXT("2026-06-15T10:30:00Z"),
                                    .payload = TRILHA_TEXT("{\"total\": 1}"),
                                    .attempt = 1};
  const trilha_event_mapper mapper = {.map = trilha_map_envelope};
  trilha_wire *wire = trilha_wire_new();
  trilha_text type = {0}, value = {0};
  TRILHA_BUFFER_SCOPED json;
  (void)state;
  trilha_buffer_init(&json, 0);
  assert_non_null(wire);
  assert_int_equal(trilha_event_mapper_apply(&mapper, &envelope, wire, NULL), TRILHA_OK);
  trilha_envelope_write_json(&json, &envelope);
  assert_int_equal(json.failed, TRILHA_OK);
  trilha_text body = trilha_wire_content(wire, &type);
  assert_true(trilha_text_is(type, "application/json"));
  assert_int_equal(body.size, json.size);
  assert_memory_equal(body.data, json.data, json.size);
  assert_null(trilha_wire_header_at(wire, 0, &value).data);
  trilha_wire_free(wire);
}

/* A mapper that gives its own status, with or without words. */
typedef struct refusal {
  trilha_status status;
  const char *code;
} refusal;

static trilha_status refuse_to_map(void *user, const trilha_envelope *envelope, trilha_wire *wire,
                                   trilha_error *error) {
  const refusal *r = user;
  (void)envelope;
  (void)wire;
  return r->code == NULL ? r->status : trilha_error_set(error, r->status, r->code, "no form for it");
}

static void a_mapper_that_refuses_refuses_for_good_unless_memory_is_out(void **state) {
  static const struct {
    refusal said;
    trilha_status status;
    const char *code;
  } cases[] = {{{TRILHA_INVALID, "MINE"}, TRILHA_INVALID, "MINE"},
               {{TRILHA_UNSUPPORTED, "MINE"}, TRILHA_INVALID, "MINE"},
               {{TRILHA_INTERNAL, NULL}, TRILHA_INVALID, "MAPPING_REFUSED"},
               {{TRILHA_NO_MEMORY, NULL}, TRILHA_NO_MEMORY, "MAPPING_REFUSED"},
               {{TRILHA_UNAVAILABLE, "MINE"}, TRILHA_UNAVAILABLE, "MINE"}};
  const trilha_envelope envelope = {.payload = TRILHA_TEXT("{}")};
  trilha_wire *wire = trilha_wire_new();
  (void)state;
  assert_non_null(wire);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    refusal said = cases[i].said;
    const trilha_event_mapper mapper = {.map = refuse_to_map, .user = &said};
    trilha_error err = {0};
    assert_int_equal(trilha_event_mapper_apply(&mapper, &envelope, wire, &err), cases[i].status);
    assert_string_equal(err.code, cases[i].code);
    assert_int_equal(err.status, cases[i].status);
  }
  trilha_wire_free(wire);
}

/* --- a process without descriptors ------------------------------------------------------------------------------- */

static int next_descriptor(void) {
  int next = dup(STDERR_FILENO);
  assert_true(next >= 0);
  close(next);
  return next;
}

/* Opens a webhook while only `left` more files may be opened. */
static trilha_status open_with(rlim_t left, trilha_error *err) {
  static const char *const secrets[] = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
  const trilha_webhook_options options = {.url = "https://example.com/", .secrets = secrets, .secret_count = 1};
  trilha_webhook *w = NULL;
  struct rlimit before, low;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  low = (struct rlimit){(rlim_t)next_descriptor() + left, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
  trilha_status status = trilha_webhook_new(&options, &w, err);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_true(w == NULL || status == TRILHA_OK);
  trilha_webhook_free(w);
  return status;
}

static void without_descriptors_a_webhook_is_refused_and_keeps_none(void **state) {
  (void)state;
  enum { PLENTY = 64 };
  trilha_error err = {0};
  assert_int_equal(open_with(PLENTY, &err), TRILHA_OK); /* the library is loaded now, which takes some, too */
  int first = next_descriptor();
  for (rlim_t left = 0; left < 2; left++) { /* one for epoll, one to be woken by */
    assert_int_equal(open_with(left, &err), TRILHA_UNAVAILABLE);
    assert_string_equal(err.code, "WEBHOOK_DESCRIPTORS");
    assert_int_equal(next_descriptor(), first);
    err = (trilha_error){0};
  }
}

/* --- handles and connections that are kept --------------------------------------------------------------------------
 */

/* Stands for the relay: a sending is this. What the webhook gives back ends up here. */
struct trilha_sending {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool done;
  trilha_send_result result;
};

void trilha_sending_done(trilha_sending *take_sending, const trilha_send_result *result) {
  pthread_mutex_lock(&take_sending->lock);
  take_sending->result = *result;
  take_sending->done = true;
  pthread_cond_signal(&take_sending->changed);
  pthread_mutex_unlock(&take_sending->lock);
}

/* Answers 204 to whatever comes, one connection after the other; 410 and 401 to a body that says "gone" or "stranger";
 * one that says "slam" gets no answer. */
typedef struct receiver {
  int listening;
  pthread_t thread;
  unsigned connections, requests; /* the thread's until it was joined */
} receiver;

/* What is left of one connection's bytes in `all`: one request is there when it is not 0. */
static size_t whole_request(const char *all) {
  const char *head = strstr(all, "\r\n\r\n"), *length = strcasestr(all, "content-length: ");
  if (head == NULL || length == NULL) return 0;
  size_t size = (size_t)(head - all) + 4 + strtoull(length + strlen("content-length: "), NULL, 10);
  return strlen(all) >= size ? size : 0;
}

static const char *answer_to(const char *request) {
  if (strstr(request, "\"gone\"") != NULL) return "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n";
  if (strstr(request, "\"stranger\"") != NULL) return "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
  return "HTTP/1.1 204 No Content\r\n\r\n";
}

static void answer_all(receiver *r, int fd) {
  char all[65536] = "";
  size_t size = 0;
  for (ssize_t got = 0; size < sizeof all - 1 && (got = read(fd, all + size, sizeof all - 1 - size)) > 0;) {
    all[size += (size_t)got] = '\0';
    if (whole_request(all) == 0) continue;
    r->requests++;
    const char *answer = answer_to(all);
    if (strstr(all, "slam") != NULL || write(fd, answer, strlen(answer)) < 0) break;
    size = 0;
    all[0] = '\0';
  }
}

static void *receive(void *user) {
  receiver *r = user;
  for (int fd = accept(r->listening, NULL, NULL); fd >= 0; fd = accept(r->listening, NULL, NULL)) {
    r->connections++;
    answer_all(r, fd);
    close(fd);
  }
  return NULL;
}

static void receiver_begin(receiver *r, char *ret_url, size_t size) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof here;
  *r = (receiver){.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  assert_int_equal(bind(r->listening, (const struct sockaddr *)(const void *)&here, sizeof here), 0);
  assert_int_equal(listen(r->listening, 8), 0);
  assert_int_equal(getsockname(r->listening, (struct sockaddr *)(void *)&here, &length), 0);
  snprintf(ret_url, size, "http://127.0.0.1:%u/", (unsigned)ntohs(here.sin_port));
  assert_int_equal(pthread_create(&r->thread, NULL, receive, r), 0);
}

/* Once the webhook is gone, whose connections the thread reads until then. */
static void receiver_end(receiver *r) {
  shutdown(r->listening, SHUT_RDWR);
  assert_int_equal(pthread_join(r->thread, NULL), 0);
  close(r->listening);
}

static trilha_send_result send_and_tell(const trilha_transport *transport, trilha_text payload) {
  const trilha_envelope envelope = {.message_id = TRILHA_TEXT("m"), .payload = payload, .timeout_ms = 60000};
  trilha_sending sending = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  transport->begin(transport->user, &envelope, &sending);
  pthread_mutex_lock(&sending.lock);
  while (!sending.done) pthread_cond_wait(&sending.changed, &sending.lock);
  pthread_mutex_unlock(&sending.lock);
  return sending.result;
}

static trilha_status send_one(const trilha_transport *transport, trilha_text payload) {
  return send_and_tell(transport, payload).status;
}

static trilha_webhook *open_to(const char *url) {
  static const char *const secrets[] = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, *const loopback[] = {"127.0.0.0/8"};
  const trilha_webhook_options options = {
      .url = url, .secrets = secrets, .secret_count = 1, .allow_networks = loopback, .allow_network_count = 1};
  trilha_webhook *w = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_webhook_new(&options, &w, &err), TRILHA_OK);
  return w;
}

static void a_hundred_messages_take_one_handle_and_one_connection(void **state) {
  (void)state;
  receiver r;
  char url[64];
  receiver_begin(&r, url, sizeof url);
  trilha_webhook *w = open_to(url);
  const trilha_transport transport = trilha_webhook_transport(w, TRILHA_TEXT("d"));
  for (int i = 0; i < 100; i++)
    assert_int_equal(send_one(&transport, i % 2 == 0 ? TRILHA_TEXT("{}") : TRILHA_TEXT("{\"longer\":true}")),
                     TRILHA_OK);
  assert_int_equal(w->handles_made, 1);
  assert_int_equal(w->handles_kept, 1);
  trilha_webhook_free(w);
  receiver_end(&r);
  assert_int_equal(r.requests, 100);
  assert_int_equal(r.connections, 1);
}

/* What a webhook says of itself, for operators, once its receiver has answered so. */
static void expect_hold(trilha_text payload, const char *hold) {
  receiver r;
  char url[64];
  receiver_begin(&r, url, sizeof url);
  trilha_webhook *w = open_to(url);
  const trilha_transport transport = trilha_webhook_transport(w, TRILHA_TEXT("d"));
  assert_null(transport.holding(transport.user));
  assert_int_equal(send_one(&transport, TRILHA_TEXT("{}")), TRILHA_OK);
  assert_null(transport.holding(transport.user));
  assert_int_not_equal(send_one(&transport, payload), TRILHA_OK);
  const char *found = transport.holding(transport.user);
  assert_non_null(found);
  assert_string_equal(found, hold);
  trilha_webhook_free(w);
  receiver_end(&r);
}

static void what_holds_a_webhooks_lanes_is_told(void **state) {
  (void)state;
  expect_hold(TRILHA_TEXT("{\"gone\":1}"), "ENDPOINT_GONE");
  expect_hold(TRILHA_TEXT("{\"stranger\":1}"), "BREAKER_OPEN");
}

/* An address of loopback where nobody listens: bound, so that nobody else gets it. */
static int nobody_at(char *ret_url, size_t size) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof here;
  int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(bound, (const struct sockaddr *)(const void *)&here, sizeof here), 0);
  assert_int_equal(getsockname(bound, (struct sockaddr *)(void *)&here, &length), 0);
  snprintf(ret_url, size, "http://127.0.0.1:%u/", (unsigned)ntohs(here.sin_port));
  return bound;
}

static trilha_webhook *open_impatient(const char *url) {
  static const char *const loopback[] = {"127.0.0.0/8"};
  const trilha_webhook_options options = {
      .url = url, .allow_networks = loopback, .allow_network_count = 1, .breaker_failures = 2, .breaker_ms = 1};
  trilha_webhook *w = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_webhook_new(&options, &w, &err), TRILHA_OK);
  return w;
}

/* Once the breaker lets one message find out. */
static trilha_send_result find_out(const trilha_transport *transport, trilha_text payload) {
  int64_t again_ms = 0;
  while (transport->capacity(transport->user, &again_ms) == 0) usleep(1000);
  return send_and_tell(transport, payload);
}

static void a_message_that_finds_the_receiver_still_away_uses_no_attempt(void **state) {
  (void)state;
  char url[64];
  int bound = nobody_at(url, sizeof url);
  trilha_webhook *w = open_impatient(url);
  const trilha_transport transport = trilha_webhook_transport(w, TRILHA_TEXT("d"));
  for (int i = 0; i < 2; i++) { /* the breaker does not know yet */
    trilha_send_result result = send_and_tell(&transport, TRILHA_TEXT("{}"));
    assert_int_equal(result.status, TRILHA_UNAVAILABLE);
    assert_false(result.held);
  }
  for (int i = 0; i < 12; i++) {
    trilha_send_result result = find_out(&transport, TRILHA_TEXT("{}"));
    assert_int_equal(result.status, TRILHA_UNAVAILABLE);
    assert_true(result.held);
    assert_string_equal(result.error.code, "WEBHOOK_FAILED");
  }
  trilha_webhook_free(w);
  close(bound);
}

/* It may be the message that brings the receiver down: each time counts, and ends. */
static void a_message_that_was_sent_and_got_no_answer_uses_an_attempt_also_while_the_breaker_is_open(void **state) {
  (void)state;
  receiver r;
  char url[64];
  receiver_begin(&r, url, sizeof url);
  trilha_webhook *w = open_impatient(url);
  const trilha_transport transport = trilha_webhook_transport(w, TRILHA_TEXT("d"));
  for (int i = 0; i < 5; i++) {
    trilha_send_result result = find_out(&transport, TRILHA_TEXT("{\"slam\":1}"));
    assert_int_equal(result.status, TRILHA_UNAVAILABLE);
    assert_false(result.held);
  }
  assert_int_equal(find_out(&transport, TRILHA_TEXT("{}")).status, TRILHA_OK);
  trilha_webhook_free(w);
  receiver_end(&r);
}

static void the_handle_of_a_request_that_failed_is_not_kept(void **state) {
  (void)state;
  receiver r;
  char url[64];
  receiver_begin(&r, url, sizeof url);
  trilha_webhook *w = open_to(url);
  const trilha_transport transport = trilha_webhook_transport(w, TRILHA_TEXT("d"));
  assert_int_equal(send_one(&transport, TRILHA_TEXT("{}")), TRILHA_OK);
  assert_int_equal(w->handles_kept, 1);
  assert_int_equal(send_one(&transport, TRILHA_TEXT("{\"slam\":1}")), TRILHA_UNAVAILABLE);
  assert_int_equal(w->handles_kept, 0);
  assert_int_equal(send_one(&transport, TRILHA_TEXT("{}")), TRILHA_OK);
  assert_int_equal(w->handles_made, 2);
  trilha_webhook_free(w);
  receiver_end(&r);
}

static void the_memory_of_a_large_body_is_not_kept_with_its_handle(void **state) {
  (void)state;
  static char large[2 * TRILHA_WEBHOOK_KEPT_BYTES_MAX];
  receiver r;
  char url[64];
  receiver_begin(&r, url, sizeof url);
  trilha_webhook *w = open_to(url);
  const trilha_transport transport = trilha_webhook_transport(w, TRILHA_TEXT("d"));
  snprintf(large, sizeof large, "{\"text\":\"%0*d\"}", (int)sizeof large - 16, 0);
  assert_int_equal(send_one(&transport, TRILHA_TEXT("{}")), TRILHA_OK);
  assert_non_null(w->handles[0]->wire);
  assert_int_equal(send_one(&transport, trilha_text_of(large)), TRILHA_OK);
  assert_int_equal(w->handles_kept, 1);
  assert_null(w->handles[0]->wire);
  assert_int_equal(send_one(&transport, TRILHA_TEXT("{}")), TRILHA_OK);
  assert_int_equal(w->handles_made, 1);
  trilha_webhook_free(w);
  receiver_end(&r);
  assert_int_equal(r.requests, 3);
}

static trilha_status map_to_every_header(void *user, const trilha_envelope *envelope, trilha_wire *wire,
                                         trilha_error *error) {
  (void)user, (void)error;
  for (int i = 0; i < TRILHA_WIRE_HEADERS_MAX; i++) {
    char name[16];
    snprintf(name, sizeof name, "x-%d", i);
    trilha_wire_header(wire, trilha_text_of(name), trilha_text_of(i % 2 == 0 ? "" : name));
  }
  trilha_wire_body(wire, TRILHA_TEXT("application/json"), envelope->payload);
  return TRILHA_OK;
}

static void a_header_has_room_for_all_lines_that_there_can_be(void **state) {
  (void)state;
  static const char *const secrets[] = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, *const loopback[] = {"127.0.0.0/8"};
  receiver r;
  char url[64];
  receiver_begin(&r, url, sizeof url);
  const trilha_webhook_options options = {.url = url,
                                          .secrets = secrets,
                                          .secret_count = 1,
                                          .authorization = "Bearer of-a-test",
                                          .allow_networks = loopback,
                                          .allow_network_count = 1,
                                          .mapper = {.map = map_to_every_header}};
  trilha_webhook *w = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_webhook_new(&options, &w, &err), TRILHA_OK);
  const trilha_transport transport = trilha_webhook_transport(w, TRILHA_TEXT("d"));
  assert_int_equal(send_one(&transport, TRILHA_TEXT("{}")), TRILHA_OK);
  const trilha_webhook_handle *h = w->handles[0];
  static const char *const some[] = {"content-type: application/json",  "webhook-id: m", "x-0;", "x-31: x-31",
                                     "authorization: Bearer of-a-test", "Expect:"};
  assert_int_equal(h->line_count, TRILHA_WEBHOOK_LINES_MAX);
  for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
    const char *lines = h->lines.data;
    size_t at = 0;
    while (at < h->line_count && strcmp(lines + h->starts[at], some[i]) != 0) at++;
    assert_true(at < h->line_count);
  }
  trilha_webhook_free(w);
  receiver_end(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(special_addresses_are_refused_in_every_form_they_can_be_written_in),
      cmocka_unit_test(an_allowed_network_opens_itself_and_nothing_else),
      cmocka_unit_test(the_breaker_opens_after_failures_in_a_row_and_lets_one_message_find_out),
      cmocka_unit_test(a_message_that_never_reached_the_endpoint_says_nothing_about_it),
      cmocka_unit_test(an_endpoint_that_does_not_know_us_is_left_alone_at_once_and_asked_by_one_message),
      cmocka_unit_test(an_endpoint_that_names_a_time_is_left_alone_until_then_and_one_that_went_for_good),
      cmocka_unit_test(urls_that_are_no_plain_http_are_refused),
      cmocka_unit_test(an_envelope_is_mapped_to_the_json_that_programs_are_given),
      cmocka_unit_test(a_mapper_that_refuses_refuses_for_good_unless_memory_is_out),
      cmocka_unit_test(without_descriptors_a_webhook_is_refused_and_keeps_none),
      cmocka_unit_test(a_hundred_messages_take_one_handle_and_one_connection),
      cmocka_unit_test(a_message_that_finds_the_receiver_still_away_uses_no_attempt),
      cmocka_unit_test(a_message_that_was_sent_and_got_no_answer_uses_an_attempt_also_while_the_breaker_is_open),
      cmocka_unit_test(the_handle_of_a_request_that_failed_is_not_kept),
      cmocka_unit_test(the_memory_of_a_large_body_is_not_kept_with_its_handle),
      cmocka_unit_test(a_header_has_room_for_all_lines_that_there_can_be),
      cmocka_unit_test(what_holds_a_webhooks_lanes_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
