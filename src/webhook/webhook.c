/* webhook: options, the thread that drives libcurl, and the door for the relay. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "webhook/webhook_internal.h"

enum { LOOK_MS = 1000, CONNECTIONS_MAX = 256 };

/* --- what the breaker hears ------------------------------------------------------------------------------------------
 */

static void tell(const trilha_webhook *w, trilha_level level, const char *name, const char *text,
                 const trilha_error *why) {
  trilha_fields fields = {0};
  trilha_fields_string(&fields, "url", w->url);
  if (why != NULL) trilha_fields_error(&fields, why);
  trilha_emit(&w->diagnostics, level, name, text, &fields);
}

static void inform_breaker(trilha_webhook *w, long answer, const trilha_send_result *result) {
  if (answer == TRILHA_WEBHOOK_STATUS_GONE) {
    if (trilha_breaker_went(&w->breaker))
      tell(w, TRILHA_ERROR, "webhook.gone",
           "the receiver answered 410: its lanes are held until the worker starts anew", NULL);
  } else if (answer == TRILHA_WEBHOOK_STATUS_UNAUTHORIZED) {
    if (trilha_breaker_refused(&w->breaker))
      tell(w, TRILHA_ERROR, "webhook.credentials",
           "the receiver does not accept our credentials; its lanes are held, and one message at a time finds out "
           "whether it does by now",
           &result->error);
  } else if (result->status == TRILHA_OK || result->status == TRILHA_INVALID) {
    if (trilha_breaker_succeeded(&w->breaker))
      tell(w, TRILHA_INFO, "webhook.breaker_closed", "the receiver answers again; its lanes go on", NULL);
  } else if (trilha_breaker_failed(&w->breaker, result->retry_after_ms)) {
    tell(w, TRILHA_WARNING, "webhook.breaker_open", "the receiver fails; its lanes are held for a while",
         &result->error);
  }
}

static void end_request(trilha_webhook_request *r, bool asked, trilha_send_result *result) {
  trilha_sending *sending = r->sending;
  if (asked)
    inform_breaker(r->webhook, r->answer, result);
  else
    trilha_breaker_unasked(&r->webhook->breaker);
  trilha_webhook_request_free(r); /* before the envelope may go away */
  trilha_sending_done(sending, result);
}

/* --- the thread
 * -------------------------------------------------------------------------------------------------------- */

static void add_request(trilha_webhook *w, trilha_webhook_request *r) {
  trilha_send_result result = {0};
  result.status = trilha_webhook_request_prepare(r, &result.error);
  if (result.status == TRILHA_OK && curl_multi_add_handle(w->multi, r->easy) != CURLM_OK)
    result.status = trilha_error_no_memory(&result.error);
  if (result.status != TRILHA_OK) {
    end_request(r, false, &result);
    return;
  }
  r->next = w->under_way;
  w->under_way = r;
}

static void take_up(trilha_webhook *w) {
  pthread_mutex_lock(&w->lock);
  trilha_webhook_request *r = w->first;
  w->first = w->last = NULL;
  pthread_mutex_unlock(&w->lock);
  while (r != NULL) {
    trilha_webhook_request *next = r->next;
    add_request(w, r);
    r = next;
  }
}

static void forget(trilha_webhook *w, const trilha_webhook_request *r) {
  trilha_webhook_request **at = &w->under_way;
  while (*at != r) at = &(*at)->next;
  *at = r->next;
}

static void finish_some(trilha_webhook *w) {
  int left = 0;
  for (CURLMsg *news = curl_multi_info_read(w->multi, &left); news != NULL;
       news = curl_multi_info_read(w->multi, &left)) {
    trilha_webhook_request *r = NULL;
    trilha_send_result result;
    CURLcode ended = news->data.result;
    if (news->msg != CURLMSG_DONE) continue;
    curl_easy_getinfo(news->easy_handle, CURLINFO_PRIVATE, (char **)&r);
    trilha_webhook_request_judge(r, ended, &result);
    curl_multi_remove_handle(w->multi, r->easy);
    forget(w, r);
    end_request(r, true, &result);
  }
}

static bool is_ending(trilha_webhook *w) {
  pthread_mutex_lock(&w->lock);
  bool ending = w->ending;
  pthread_mutex_unlock(&w->lock);
  return ending;
}

static void end_all(trilha_webhook *w) {
  while (w->under_way != NULL) {
    trilha_webhook_request *r = w->under_way;
    trilha_send_result result = {.status = TRILHA_CANCELLED};
    trilha_error_set(&result.error, TRILHA_CANCELLED, "WEBHOOK_CLOSED", "the webhook was closed meanwhile");
    w->under_way = r->next;
    curl_multi_remove_handle(w->multi, r->easy);
    end_request(r, false, &result);
  }
}

static void *drive(void *user) {
  trilha_webhook *w = user;
  while (!is_ending(w)) {
    int running = 0;
    take_up(w);
    curl_multi_perform(w->multi, &running);
    finish_some(w);
    curl_multi_poll(w->multi, NULL, 0, LOOK_MS, NULL);
  }
  take_up(w);
  end_all(w);
  return NULL;
}

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
  *r = (trilha_webhook_request){.webhook = w, .sending = sending, .envelope = envelope};
  pthread_mutex_lock(&w->lock);
  if (w->last == NULL)
    w->first = r;
  else
    w->last->next = r;
  w->last = r;
  pthread_mutex_unlock(&w->lock);
  curl_multi_wakeup(w->multi);
}

static size_t capacity(void *user, int64_t *ret_again_ms) {
  trilha_webhook *w = user;
  return trilha_breaker_room(&w->breaker, ret_again_ms);
}

trilha_transport trilha_webhook_transport(trilha_webhook *webhook, trilha_text destination) {
  return (trilha_transport){.destination = destination, .user = webhook, .begin = begin, .capacity = capacity};
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
  if (status == TRILHA_OK) status = trilha_webhook_signer_init(&w->signer, o->secrets, o->secret_count, err);
  if (status != TRILHA_OK) return status;
  w->multi = curl_multi_init();
  if (w->url == NULL || w->multi == NULL || (o->authorization != NULL && w->authorization == NULL) ||
      (o->ca_file != NULL && w->ca_file == NULL))
    return trilha_error_no_memory(err);
  curl_multi_setopt(w->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_MAX);
  w->runs = pthread_create(&w->thread, NULL, drive, w) == 0;
  return w->runs ? TRILHA_OK
                 : trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_THREAD", "the system gives no thread");
}

trilha_status trilha_webhook_new(const trilha_webhook_options *options, trilha_webhook **ret_webhook,
                                 trilha_error *error) {
  if (options == NULL || ret_webhook == NULL)
    return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING",
                            "the options and the place for the webhook are needed");
  trilha_status status = check(options, error);
  if (status != TRILHA_OK) return status;
  trilha_webhook *w = calloc(1, sizeof *w);
  if (w == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    free(w);
    return trilha_error_no_memory(error);
  }
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
  if (w->runs) {
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_mutex_unlock(&w->lock);
    curl_multi_wakeup(w->multi);
    pthread_join(w->thread, NULL);
  }
  if (w->multi != NULL) curl_multi_cleanup(w->multi);
  trilha_breaker_done(&w->breaker);
  trilha_webhook_signer_done(&w->signer);
  trilha_webhook_guard_done(&w->guard);
  pthread_mutex_destroy(&w->lock);
  if (w->authorization != NULL) explicit_bzero(w->authorization, strlen(w->authorization));
  free(w->authorization);
  free(w->ca_file);
  free(w->url);
  free(w);
  curl_global_cleanup();
}
