/* webhook/request: one message as one POST, and what its end means. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "trilha/version.h"
#include "webhook/webhook_internal.h"

/* An answer is a status and little more: a handle that is kept need not hold 16 KiB for it. */
enum { HANDLE_BUFFER_BYTES = 4096 };

/* --- while it is under way: called by libcurl on the webhook's thread -------------------------------------------- */

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
  trilha_webhook_request *r = user;
  if (purpose != CURLSOCKTYPE_IPCXN || !trilha_webhook_guard_passes(&r->webhook->guard, &address->addr)) {
    r->address_refused = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* The body is not looked at; an endless one is not read to its end. */
static size_t hear_body(char *data, size_t one, size_t size, void *user) {
  trilha_webhook_request *r = user;
  (void)data;
  (void)one;
  r->answer_bytes += size;
  return r->answer_bytes > TRILHA_WEBHOOK_ANSWER_BYTES_MAX ? 0 : size;
}

static size_t hear_header(char *data, size_t one, size_t size, void *user) {
  trilha_webhook_request *r = user;
  (void)data;
  (void)one;
  r->header_bytes += size;
  r->header_too_long = r->header_bytes > TRILHA_WEBHOOK_HEADER_BYTES_MAX;
  return r->header_too_long ? 0 : size;
}

/* --- before ------------------------------------------------------------------------------------------------------- */

static void begin_line(trilha_webhook_handle *h) {
  TRILHA_ASSERT(h->line_count < TRILHA_WEBHOOK_LINES_MAX);
  h->starts[h->line_count++] = h->lines.size;
}

static void add_line(trilha_webhook_handle *h, trilha_text name, trilha_text value) {
  begin_line(h);
  trilha_buffer_add_text(&h->lines, name);
  trilha_buffer_add_string(&h->lines, value.size > 0 ? ": " : ";"); /* how libcurl writes an empty value */
  trilha_buffer_add_text(&h->lines, value);
  trilha_buffer_add_char(&h->lines, '\0');
}

static void add_signature(trilha_webhook_request *r, trilha_text body) {
  trilha_webhook_handle *h = r->handle;
  trilha_text id = r->envelope->message_id;
  int64_t at_s = trilha_clock_wall_us() / 1000000;
  add_line(h, TRILHA_TEXT("webhook-id"), id);
  begin_line(h);
  trilha_buffer_add_string(&h->lines, "webhook-timestamp: ");
  trilha_buffer_add_i64(&h->lines, at_s);
  trilha_buffer_add_char(&h->lines, '\0');
  if (r->webhook->signer.count == 0) return;
  begin_line(h);
  trilha_buffer_add_string(&h->lines, "webhook-signature: ");
  trilha_signer_sign(&r->webhook->signer, id, at_s, body, &h->lines);
  trilha_buffer_add_char(&h->lines, '\0');
}

/* The lines lie where they stay: now each can be pointed at. */
static void link_lines(trilha_webhook_handle *h) {
  for (size_t i = 0; i < h->line_count; i++)
    h->list[i] = (struct curl_slist){.data = h->lines.data + h->starts[i],
                                     .next = i + 1 < h->line_count ? &h->list[i + 1] : NULL};
}

static trilha_status add_headers(trilha_webhook_request *r, trilha_text *ret_body, trilha_error *err) {
  trilha_webhook_handle *h = r->handle;
  trilha_text type = {0}, value = {0};
  *ret_body = trilha_wire_content(h->wire, &type);
  trilha_buffer_clear(&h->lines);
  h->line_count = 0;
  add_line(h, TRILHA_TEXT("content-type"), type);
  add_signature(r, *ret_body);
  for (size_t i = 0;; i++) {
    trilha_text name = trilha_wire_header_at(h->wire, i, &value);
    if (name.data == NULL) break;
    add_line(h, name, value);
  }
  if (r->webhook->authorization != NULL)
    add_line(h, TRILHA_TEXT("authorization"), trilha_text_of(r->webhook->authorization));
  begin_line(h);
  trilha_buffer_append(&h->lines, "Expect:", sizeof "Expect:"); /* no pause for a 100 */
  trilha_status status = trilha_buffer_check(&h->lines, err);
  if (status == TRILHA_OK) link_lines(h);
  return status;
}

/* What holds for every request of the webhook. */
static void set_safety(CURL *easy, const trilha_webhook *w) {
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* also says that the environment is not asked */
  curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (w->ca_file != NULL) curl_easy_setopt(easy, CURLOPT_CAINFO, w->ca_file);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
}

static void set_up(CURL *easy, const trilha_webhook *w) {
  curl_easy_setopt(easy, CURLOPT_URL, w->url);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "trilha/" TRILHA_VERSION);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)HANDLE_BUFFER_BYTES);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, hear_body);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, hear_header);
  set_safety(easy, w);
}

static void free_handle(trilha_webhook_handle *h) {
  if (h->easy != NULL) curl_easy_cleanup(h->easy);
  trilha_wire_free(h->wire);
  if (h->lines.data != NULL) explicit_bzero(h->lines.data, h->lines.capacity); /* the authorization */
  trilha_buffer_done(&h->lines);
  free(h);
}

static trilha_webhook_handle *make_handle(trilha_webhook *w) {
  trilha_webhook_handle *h = calloc(1, sizeof *h);
  if (h == NULL) return NULL;
  trilha_buffer_init(&h->lines, 0);
  h->easy = curl_easy_init();
  if (h->easy == NULL) {
    free_handle(h);
    return NULL;
  }
  set_up(h->easy, w);
  w->handles_made++;
  return h;
}

static trilha_webhook_handle *take_handle(trilha_webhook *w) {
  trilha_webhook_handle *h = w->handles_kept > 0 ? w->handles[--w->handles_kept] : make_handle(w);
  if (h != NULL && h->wire == NULL) h->wire = trilha_wire_new();
  return h;
}

/* libcurl forgets what it was pointed to before that changes. */
static void give_handle(trilha_webhook *w, trilha_webhook_handle *take_handle, bool reusable) {
  trilha_webhook_handle *h = take_handle;
  if (!reusable || w->handles_kept == TRILHA_WEBHOOK_CONNECTIONS_MAX) {
    free_handle(h);
    return;
  }
  curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, NULL);
  curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, NULL);
  curl_easy_setopt(h->easy, CURLOPT_ERRORBUFFER, NULL);
  if (trilha_wire_content(h->wire, NULL).size > TRILHA_WEBHOOK_KEPT_BYTES_MAX) {
    trilha_wire_free(h->wire);
    h->wire = NULL;
  }
  w->handles[w->handles_kept++] = h;
}

void trilha_webhook_handles_free(trilha_webhook *w) {
  while (w->handles_kept > 0) free_handle(w->handles[--w->handles_kept]);
}

/* What differs from one request to the next; a kept handle has the previous one's until here. */
static void set_request(trilha_webhook_request *r, trilha_text body) {
  CURL *easy = r->handle->easy;
  unsigned timeout_ms = r->envelope->timeout_ms, connect_ms = r->webhook->connect_timeout_ms;
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data); /* the wire's, which lives as long */
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, r->handle->list);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, r);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, r);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, r);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, r->reason);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, r);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_ms < timeout_ms ? connect_ms : timeout_ms));
}

trilha_status trilha_webhook_request_prepare(trilha_webhook_request *r, trilha_error *err) {
  trilha_text body = {0};
  r->handle = take_handle(r->webhook);
  if (r->handle == NULL || r->handle->wire == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_event_mapper_apply(&r->webhook->mapper, r->envelope, r->handle->wire, err);
  if (status == TRILHA_OK) status = add_headers(r, &body, err);
  if (status != TRILHA_OK) return status;
  set_request(r, body);
  return TRILHA_OK;
}

void trilha_webhook_request_release(trilha_webhook_request *r) {
  if (r->handle != NULL) give_handle(r->webhook, r->handle, r->whole);
  r->handle = NULL;
}

/* --- after ----------------------------------------------------------------------------------------------------------
 */

static trilha_status judge_failure(const trilha_webhook_request *r, CURLcode ended, trilha_error *err) {
  if (r->address_refused)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_ADDRESS",
                            "the address that the URL's host has is special (loopback, private or the like) and is not "
                            "among the allowed networks");
  if (r->header_too_long)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_ANSWER", "the answer's headers exceed %d bytes",
                            TRILHA_WEBHOOK_HEADER_BYTES_MAX);
  if (ended == CURLE_OPERATION_TIMEDOUT)
    return trilha_error_set(err, TRILHA_TIMEOUT, "WEBHOOK_LATE", "no whole answer came in time");
  if (ended == CURLE_PEER_FAILED_VERIFICATION || ended == CURLE_SSL_CONNECT_ERROR || ended == CURLE_SSL_CACERT_BADFILE)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_TLS", "TLS: %s",
                            r->reason[0] != '\0' ? r->reason : curl_easy_strerror(ended));
  return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_FAILED", "%s", curl_easy_strerror(ended));
}

static bool refuses_for_good(long code) {
  return code == 400 || code == 413 || code == 415 || code == 422;
}

static trilha_status judge_answer(long code, trilha_error *err) {
  if (code >= 200 && code < 300) return TRILHA_OK;
  if (refuses_for_good(code))
    return trilha_error_set(err, TRILHA_INVALID, "WEBHOOK_REFUSED", "the receiver answered %ld: it refuses the message",
                            code);
  if (code >= 300 && code < 400)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_REDIRECT",
                            "the receiver answered %ld: a redirect is never followed", code);
  if (code == TRILHA_WEBHOOK_STATUS_GONE)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_GONE",
                            "the receiver answered 410: it wants no more; its lanes are held");
  if (code == TRILHA_WEBHOOK_STATUS_UNAUTHORIZED)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_CREDENTIALS",
                            "the receiver answered 401: it does not accept the authorization or signature it was "
                            "given; its lanes are held until it does");
  if (code == 403)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_FORBIDDEN",
                            "the receiver answered 403: it forbids this message to whom the credentials name");
  if (code == 404)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_NOT_FOUND",
                            "the receiver answered 404: nothing is at the path of the webhook's URL");
  return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_STATUS", "the receiver answered %ld", code);
}

/* Capped: whoever names the next century does not get it. */
static int64_t asked_to_wait_ms(const trilha_webhook_request *r, long code) {
  curl_off_t seconds = 0;
  if (code != 429 && code != 503) return 0;
  if (curl_easy_getinfo(r->handle->easy, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK || seconds <= 0) return 0;
  if (seconds > (curl_off_t)r->webhook->retry_after_max_s) seconds = (curl_off_t)r->webhook->retry_after_max_s;
  return (int64_t)seconds * 1000;
}

void trilha_webhook_request_judge(trilha_webhook_request *r, CURLcode ended) {
  trilha_send_result *result = &r->result;
  long code = 0, sent = 0;
  curl_easy_getinfo(r->handle->easy, CURLINFO_RESPONSE_CODE, &code);
  /* A body that is too long does not change what the status said. */
  bool answered = ended == CURLE_OK || (ended == CURLE_WRITE_ERROR && !r->header_too_long);
  r->whole = ended == CURLE_OK;
  curl_easy_getinfo(r->handle->easy, CURLINFO_REQUEST_SIZE, &sent);
  r->unsent = !r->whole && sent == 0 && !r->address_refused; /* that one is for whoever set it up */
  if (answered && code > 0) {
    result->status = judge_answer(code, &result->error);
    result->retry_after_ms = asked_to_wait_ms(r, code);
    result->held = code == TRILHA_WEBHOOK_STATUS_GONE || code == TRILHA_WEBHOOK_STATUS_UNAUTHORIZED;
    r->answer = code;
  } else {
    result->status = judge_failure(r, ended, &result->error);
  }
}
