/* fetch: on libcurl, one handle a request. */
#include "fetch/fetch.h"

#include <stdio.h>

#include "base/error.h"
#include "fetch/late_curl.h"

typedef struct exchange {
  const trilha_fetch_request *request;
  trilha_buffer *body;
  bool too_large;
} exchange;

static size_t on_data(char *data, size_t one, size_t size, void *user) {
  exchange *e = user;
  (void)one; /* always 1 */
  e->too_large = e->too_large || size > e->request->answer_bytes_max - e->body->size;
  if (e->too_large) return 0;
  trilha_buffer_append(e->body, data, size);
  return e->body->failed == TRILHA_OK ? size : 0;
}

static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  (void)a, (void)b, (void)c, (void)d;
  const exchange *e = user;
  return e->request->stop != NULL && atomic_load(e->request->stop);
}

/* The first option that is refused decides. */
static CURLcode set_up(CURL *curl, exchange *e, struct curl_slist *headers) {
  const trilha_fetch_request *r = e->request;
  CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, r->url);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, r->https_only ? "https" : "http,https");
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_PROXY, "");
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_WRITEDATA, e);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  if (code == CURLE_OK) code = curl_easy_setopt(curl, CURLOPT_XFERINFODATA, e);
  if (code == CURLE_OK && r->ca_file != NULL) code = curl_easy_setopt(curl, CURLOPT_CAINFO, r->ca_file);
  if (code == CURLE_OK && r->ca_file != NULL) code = curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
  if (code == CURLE_OK && r->body_type != NULL) code = curl_easy_setopt(curl, CURLOPT_POST, 1L);
  if (code == CURLE_OK && r->body_type != NULL) code = curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body.data);
  if (code == CURLE_OK && r->body_type != NULL)
    code = curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.size);
  if (code == CURLE_OK && headers != NULL) code = curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  return code;
}

static trilha_status judge(CURL *curl, const exchange *e, CURLcode code, trilha_error *err) {
  long status = 0;
  if (e->too_large)
    return trilha_error_set(err, TRILHA_INVALID, "FETCH_TOO_LARGE", "the answer has more than %zu bytes",
                            e->request->answer_bytes_max);
  /* It also says that the protocol is unknown when the answer is no HTTP. */
  long connected = 0;
  curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &connected);
  if ((code == CURLE_UNSUPPORTED_PROTOCOL && connected == 0) || code == CURLE_URL_MALFORMAT)
    return trilha_error_set(err, TRILHA_INVALID, "FETCH_URL", "the URL is not one that may be asked (%s)",
                            e->request->https_only ? "https only" : "http or https only");
  if (code != CURLE_OK)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FETCH_FAILED", "no answer: %s", curl_easy_strerror(code));
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status < 200 || status > 299)
    return trilha_error_set(err, TRILHA_INVALID, "FETCH_STATUS", "the answer's status is %ld, not 2xx%s", status,
                            status >= 300 && status < 400 ? ": redirects are not followed" : "");
  return trilha_buffer_check(e->body, err);
}

static bool add_header(struct curl_slist **headers, const char *line) {
  struct curl_slist *longer = curl_slist_append(*headers, line);
  if (longer == NULL) return false;
  *headers = longer;
  return true;
}

static bool add_headers(const trilha_fetch_request *request, struct curl_slist **headers) {
  char type[128];
  snprintf(type, sizeof type, "Content-Type: %s", request->body_type == NULL ? "" : request->body_type);
  bool ok = request->body_type == NULL || add_header(headers, type);
  for (size_t i = 0; ok && i < request->header_count; i++) ok = add_header(headers, request->headers[i]);
  return ok;
}

static void tell_answer(CURL *curl, const trilha_fetch_request *request) {
  long status = 0;
  curl_off_t retry_s = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_s) != CURLE_OK || retry_s < 0) retry_s = 0;
  if (request->ret_status != NULL) *request->ret_status = (unsigned)status;
  if (request->ret_retry_s != NULL) *request->ret_retry_s = (int64_t)retry_s;
}

trilha_status trilha_fetch(const trilha_fetch_request *request, trilha_buffer *ret_body, trilha_error *err) {
  exchange e = {.request = request, .body = ret_body};
  trilha_status status = trilha_curl_load(err);
  if (status != TRILHA_OK) return status;
  CURL *curl = curl_easy_init();
  struct curl_slist *headers = NULL;
  if (curl == NULL || !add_headers(request, &headers)) {
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return trilha_error_no_memory(err);
  }
  CURLcode code = set_up(curl, &e, headers);
  if (code == CURLE_OK) code = curl_easy_perform(curl);
  tell_answer(curl, request);
  status = judge(curl, &e, code, err);
  curl_easy_cleanup(curl);
  curl_slist_free_all(headers);
  return status;
}
