/* webhook/request: one message as one POST, and what its end means. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

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

static bool add_line(trilha_webhook_request *r, trilha_text name, trilha_text value) {
  TRILHA_BUFFER_SCOPED line;
  trilha_buffer_init(&line, 0);
  trilha_buffer_add_text(&line, name);
  trilha_buffer_add_string(&line, value.size > 0 ? ": " : ";"); /* how libcurl writes an empty value */
  trilha_buffer_add_text(&line, value);
  if (line.failed != TRILHA_OK) return false;
  struct curl_slist *longer = curl_slist_append(r->headers, trilha_buffer_text(&line).data);
  if (longer == NULL) return false;
  r->headers = longer;
  return true;
}

static bool add_signature(trilha_webhook_request *r, trilha_text body) {
  int64_t at_s = trilha_clock_wall_us() / 1000000;
  TRILHA_BUFFER_SCOPED at, signatures;
  trilha_buffer_init(&at, 0);
  trilha_buffer_init(&signatures, 0);
  trilha_buffer_add_i64(&at, at_s);
  trilha_signer_sign(&r->webhook->signer, r->envelope->message_id, at_s, body, &signatures);
  if (at.failed != TRILHA_OK || signatures.failed != TRILHA_OK) return false;
  return add_line(r, TRILHA_TEXT("webhook-id"), r->envelope->message_id) &&
         add_line(r, TRILHA_TEXT("webhook-timestamp"), trilha_buffer_text(&at)) &&
         (signatures.size == 0 || add_line(r, TRILHA_TEXT("webhook-signature"), trilha_buffer_text(&signatures)));
}

static trilha_status add_headers(trilha_webhook_request *r, trilha_text *ret_body, trilha_error *err) {
  trilha_text type = {0}, value = {0};
  *ret_body = trilha_wire_content(r->wire, &type);
  bool ok = add_line(r, TRILHA_TEXT("content-type"), type) && add_signature(r, *ret_body);
  for (size_t i = 0; ok; i++) {
    trilha_text name = trilha_wire_header_at(r->wire, i, &value);
    if (name.data == NULL) break;
    ok = add_line(r, name, value);
  }
  if (ok && r->webhook->authorization != NULL)
    ok = add_line(r, TRILHA_TEXT("authorization"), trilha_text_of(r->webhook->authorization));
  struct curl_slist *longer = ok ? curl_slist_append(r->headers, "Expect:") : NULL; /* no pause for a 100 */
  if (longer == NULL) return trilha_error_no_memory(err);
  r->headers = longer;
  return TRILHA_OK;
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

static CURL *make_handle(trilha_webhook *w) {
  CURL *easy = curl_easy_init();
  if (easy == NULL) return NULL;
  w->handles_made++;
  curl_easy_setopt(easy, CURLOPT_URL, w->url);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "trilha/" TRILHA_VERSION);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)HANDLE_BUFFER_BYTES);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, hear_body);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, hear_header);
  set_safety(easy, w);
  return easy;
}

static CURL *take_handle(trilha_webhook *w) {
  return w->handles_kept > 0 ? w->handles[--w->handles_kept] : make_handle(w);
}

/* Nothing of the request stays with a handle that is kept: what it pointed to is freed next. */
static void give_handle(trilha_webhook *w, CURL *take_easy, bool reusable) {
  if (!reusable || w->handles_kept == TRILHA_WEBHOOK_CONNECTIONS_MAX) {
    curl_easy_cleanup(take_easy);
    return;
  }
  curl_easy_setopt(take_easy, CURLOPT_POSTFIELDS, NULL);
  curl_easy_setopt(take_easy, CURLOPT_HTTPHEADER, NULL);
  curl_easy_setopt(take_easy, CURLOPT_ERRORBUFFER, NULL);
  w->handles[w->handles_kept++] = take_easy;
}

void trilha_webhook_handles_free(trilha_webhook *w) {
  while (w->handles_kept > 0) curl_easy_cleanup(w->handles[--w->handles_kept]);
}

/* What differs from one request to the next; a kept handle has the previous one's until here. */
static void set_request(trilha_webhook_request *r, trilha_text body) {
  unsigned timeout_ms = r->envelope->timeout_ms, connect_ms = r->webhook->connect_timeout_ms;
  curl_easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
  curl_easy_setopt(r->easy, CURLOPT_POSTFIELDS, body.data); /* the wire's, which lives as long */
  curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
  curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
  curl_easy_setopt(r->easy, CURLOPT_HEADERDATA, r);
  curl_easy_setopt(r->easy, CURLOPT_OPENSOCKETDATA, r);
  curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, r->reason);
  curl_easy_setopt(r->easy, CURLOPT_PRIVATE, r);
  curl_easy_setopt(r->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
  curl_easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_ms < timeout_ms ? connect_ms : timeout_ms));
}

trilha_status trilha_webhook_request_prepare(trilha_webhook_request *r, trilha_error *err) {
  trilha_text body = {0};
  r->wire = trilha_wire_new();
  r->easy = take_handle(r->webhook);
  if (r->wire == NULL || r->easy == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_event_mapper_apply(&r->webhook->mapper, r->envelope, r->wire, err);
  if (status == TRILHA_OK) status = add_headers(r, &body, err);
  if (status != TRILHA_OK) return status;
  set_request(r, body);
  return TRILHA_OK;
}

void trilha_webhook_request_free(trilha_webhook_request *r) {
  if (r->easy != NULL) give_handle(r->webhook, r->easy, r->whole);
  curl_slist_free_all(r->headers);
  trilha_wire_free(r->wire);
  free(r);
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
  if (curl_easy_getinfo(r->easy, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK || seconds <= 0) return 0;
  if (seconds > (curl_off_t)r->webhook->retry_after_max_s) seconds = (curl_off_t)r->webhook->retry_after_max_s;
  return (int64_t)seconds * 1000;
}

void trilha_webhook_request_judge(trilha_webhook_request *r, CURLcode ended, trilha_send_result *ret_result) {
  long code = 0;
  curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &code);
  /* A body that is too long does not change what the status said. */
  bool answered = ended == CURLE_OK || (ended == CURLE_WRITE_ERROR && !r->header_too_long);
  r->whole = ended == CURLE_OK;
  *ret_result = (trilha_send_result){0};
  if (answered && code > 0) {
    ret_result->status = judge_answer(code, &ret_result->error);
    ret_result->retry_after_ms = asked_to_wait_ms(r, code);
    ret_result->held = code == TRILHA_WEBHOOK_STATUS_GONE || code == TRILHA_WEBHOOK_STATUS_UNAUTHORIZED;
    r->answer = code;
  } else {
    ret_result->status = judge_failure(r, ended, &ret_result->error);
  }
}
