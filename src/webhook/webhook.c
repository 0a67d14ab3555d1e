/* webhook: options, and the door for the relay. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "webhook/webhook_internal.h"

/* --- the relay's door
 * ---------------------------------------------------------------------------------------------------- */

static void refuse(trilha_sending *sending, trilha_status status, bool held, const char *code, const char *text) {
  trilha_send_result result = {.status = status, .held = held};
  trilha_error_set(&result.error, status, code, "%s", text);
  trilha_sending_done(sending, &result);
}

static void begin(void *user, const trilha_envelope *envelope, trilha_sending *sending) {
  trilha_webhook *w = user;
  if (!trilha_breaker_enter(&w->breaker)) {
    refuse(sending, TRILHA_UNAVAILABLE, true, "WEBHOOK_HELD", "the receiver is left alone for a while");
    return;
  }
  trilha_webhook_request *r = calloc(1, sizeof *r);
  if (r == NULL) {
    trilha_breaker_unasked(&w->breaker);
    refuse(sending, TRILHA_NO_MEMORY, false, "NO_MEMORY", "out of memory");
    return;
  }
  r->webhook = w;
  r->sending = sending;
  r->envelope = envelope;
  pthread_mutex_lock(&w->lock);
  bool alone = w->last == NULL; /* the thread takes all that is there: only the first has to wake it */
  if (alone)
    w->first = r;
  else
    w->last->next = r;
  w->last = r;
  pthread_mutex_unlock(&w->lock);
  if (alone) trilha_webhook_wake(w);
}

static size_t capacity(void *user, int64_t *ret_again_ms) {
  trilha_webhook *w = user;
  return trilha_breaker_room(&w->breaker, ret_again_ms);
}

static const char *holding(void *user) {
  trilha_webhook *w = user;
  switch (trilha_breaker_state(&w->breaker)) {
    case TRILHA_WEBHOOK_HELD:
      return "BREAKER_OPEN";
    case TRILHA_WEBHOOK_GONE:
      return "ENDPOINT_GONE";
    case TRILHA_WEBHOOK_OPEN_TO_ALL:
      break;
  }
  return NULL;
}

trilha_transport trilha_webhook_transport(trilha_webhook *webhook, trilha_text destination) {
  return (trilha_transport){.destination = destination,
                            .user = webhook,
                            .begin = begin,
                            .capacity = capacity,
                            .holding = holding,
                            .guarantee = TRILHA_GUARANTEE_DURABLE}; /* webhook-id is the key */
}

trilha_webhook_state trilha_webhook_state_now(const trilha_webhook *webhook) {
  trilha_webhook *w = (trilha_webhook *)(uintptr_t)webhook; /* its lock changes */
  return trilha_breaker_state(&w->breaker);
}

/* --- making and ending
 * ------------------------------------------------------------------------------------------------------ */

static bool has_part(CURLU *url, CURLUPart part) {
  char *text = NULL;
  bool there = curl_url_get(url, part, &text, 0) == CURLUE_OK;
  curl_free(text);
  return there;
}

static bool is_plain_http(const char *text) {
  CURLU *url = curl_url();
  char *scheme = NULL;
  bool ok = url != NULL && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
            curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
            (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) && has_part(url, CURLUPART_HOST) &&
            !has_part(url, CURLUPART_USER) && !has_part(url, CURLUPART_PASSWORD) && !has_part(url, CURLUPART_FRAGMENT);
  curl_free(scheme);
  curl_url_cleanup(url);
  return ok;
}

static bool is_one_line(const char *text) {
  for (; *text != '\0'; text++)
    if (*text < ' ' || *text > '~') return false;
  return true;
}

static trilha_status check(const trilha_webhook_options *o, trilha_error *err) {
  if (o->url == NULL || !is_plain_http(o->url))
    return trilha_error_set(err, TRILHA_USAGE, "WEBHOOK_URL",
                            "a webhook's URL is http:// or https:// with a host, without user name and fragment");
  if (o->authorization != NULL && !is_one_line(o->authorization))
    return trilha_error_set(err, TRILHA_USAGE, "WEBHOOK_SECRET", "the authorization must be one line of ASCII");
  return TRILHA_OK;
}

static char *copy(const char *text) {
  return text == NULL ? NULL : strdup(text);
}

static unsigned or_default(unsigned value, unsigned otherwise) {
  return value > 0 ? value : otherwise;
}

static trilha_status fill(trilha_webhook *w, const trilha_webhook_options *o, trilha_error *err) {
  w->url = copy(o->url);
  w->authorization = copy(o->authorization);
  w->ca_file = copy(o->ca_file);
  w->mapper = o->mapper;
  w->diagnostics = o->diagnostics;
  w->connect_timeout_ms = or_default(o->connect_timeout_ms, 5000);
  w->retry_after_max_s = or_default(o->retry_after_max_s, 3600);
  trilha_status status = trilha_webhook_guard_init(&w->guard, o->allow_networks, o->allow_network_count, err);
  if (status == TRILHA_OK) status = trilha_signer_init(&w->signer, o->secrets, o->secret_count, err);
  if (status != TRILHA_OK) return status;
  w->multi = curl_multi_init();
  if (w->url == NULL || w->multi == NULL || (o->authorization != NULL && w->authorization == NULL) ||
      (o->ca_file != NULL && w->ca_file == NULL))
    return trilha_error_no_memory(err);
  curl_multi_setopt(w->multi, CURLMOPT_MAXCONNECTS, (long)TRILHA_WEBHOOK_CONNECTIONS_MAX);
  return trilha_webhook_drive_begin(w, err);
}

trilha_status trilha_webhook_new(const trilha_webhook_options *options, trilha_webhook **ret_webhook,
                                 trilha_error *error) {
  if (options == NULL || ret_webhook == NULL)
    return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING",
                            "the options and the place for the webhook are needed");
  trilha_status status = trilha_curl_load(error);
  if (status == TRILHA_OK) status = check(options, error);
  if (status != TRILHA_OK) return status;
  trilha_webhook *w = calloc(1, sizeof *w);
  if (w == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    free(w);
    return trilha_error_no_memory(error);
  }
  w->wake_fd = w->epoll_fd = -1;
  pthread_mutex_init(&w->lock, NULL);
  trilha_breaker_init(&w->breaker, or_default(options->breaker_failures, 5), or_default(options->breaker_ms, 5000));
  status = fill(w, options, error);
  if (status != TRILHA_OK) {
    trilha_webhook_free(w);
    return status;
  }
  *ret_webhook = w;
  return TRILHA_OK;
}

void trilha_webhook_free(trilha_webhook *webhook) {
  trilha_webhook *w = webhook;
  if (w == NULL) return;
  trilha_webhook_drive_end(w);
  trilha_breaker_done(&w->breaker);
  trilha_signer_done(&w->signer);
  trilha_webhook_guard_done(&w->guard);
  pthread_mutex_destroy(&w->lock);
  if (w->authorization != NULL) explicit_bzero(w->authorization, strlen(w->authorization));
  free(w->authorization);
  free(w->ca_file);
  free(w->url);
  free(w);
  curl_global_cleanup();
}
