/* webhook: the inside. Room: webhook. */
#ifndef TRILHA_WEBHOOK_WEBHOOK_INTERNAL_H
#define TRILHA_WEBHOOK_WEBHOOK_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "access/access.h"
#include "base/clock.h"
#include "base/diagnostics.h"
#include "base/hash.h"
#include "trilha/webhook.h"

/* --- guard.c: where a message may go ------------------------------------------------------------------------ */

typedef struct trilha_webhook_guard {
  trilha_networks *special, *allowed;
} trilha_webhook_guard;
trilha_status trilha_webhook_guard_init(trilha_webhook_guard *guard, const char *const *allowed, size_t count,
                                        trilha_error *err) TRILHA_MUST_USE;
void trilha_webhook_guard_done(trilha_webhook_guard *guard);
bool trilha_webhook_guard_passes(const trilha_webhook_guard *guard, const struct sockaddr *address);

/* --- breaker.c: whether an endpoint is asked at all --------------------------------------------------------------- */

typedef struct trilha_breaker {
  pthread_mutex_t lock; /* guards what follows */
  unsigned failures_max;
  int64_t hold_ms;
  unsigned failures, opened; /* in a row */
  trilha_deadline until;     /* closed to everything before */
  bool probing, gone;
} trilha_breaker;
void trilha_breaker_init(trilha_breaker *b, unsigned failures_max, unsigned hold_ms);
void trilha_breaker_done(trilha_breaker *b);
/* Messages that may be begun now; 0: *ret_again_ms says when to ask again. */
size_t trilha_breaker_room(trilha_breaker *b, int64_t *ret_again_ms);
/* Takes one place; false: there is none. */
bool trilha_breaker_enter(trilha_breaker *b);
/* Each returns whether it changed the state. */
bool trilha_breaker_succeeded(trilha_breaker *b);
bool trilha_breaker_failed(trilha_breaker *b, int64_t hold_ms); /* hold_ms > 0: the endpoint named a time */
bool trilha_breaker_refused(trilha_breaker *b);                 /* opens at the first: it does not know us */
bool trilha_breaker_went(trilha_breaker *b);
/* The message whose place it was did not get as far as the endpoint: another one may find out. */
void trilha_breaker_unasked(trilha_breaker *b);
trilha_webhook_state trilha_breaker_state(trilha_breaker *b);

/* --- sign.c: Standard Webhooks -------------------------------------------------------------------------------------
 */

typedef struct trilha_webhook_signer {
  trilha_hmac_key *keys[TRILHA_WEBHOOK_SECRETS_MAX];
  size_t count;
} trilha_webhook_signer;
trilha_status trilha_webhook_signer_init(trilha_webhook_signer *signer, const char *const *secrets, size_t count,
                                         trilha_error *err) TRILHA_MUST_USE;
void trilha_webhook_signer_done(trilha_webhook_signer *signer);
/* "v1,…", one for each key, blanks between; "" without keys. */
void trilha_webhook_sign(const trilha_webhook_signer *signer, trilha_text id, int64_t at_s, trilha_text body,
                         trilha_buffer *out);

enum { TRILHA_WEBHOOK_STATUS_UNAUTHORIZED = 401, TRILHA_WEBHOOK_STATUS_GONE = 410 };

/* --- request.c ------------------------------------------------------------------------------------------------------
 */

typedef struct trilha_webhook_request {
  struct trilha_webhook_request *next;
  trilha_webhook *webhook;
  trilha_sending *sending;
  const trilha_envelope *envelope;
  trilha_wire *wire;
  struct curl_slist *headers;
  CURL *easy;
  size_t answer_bytes, header_bytes;
  bool address_refused, header_too_long;
  long answer; /* status of HTTP; 0: none came */
  char reason[CURL_ERROR_SIZE];
} trilha_webhook_request;

struct trilha_webhook {
  char *url, *authorization, *ca_file;
  trilha_event_mapper mapper;
  unsigned connect_timeout_ms, retry_after_max_s;
  trilha_diagnostics diagnostics;
  trilha_webhook_guard guard;
  trilha_webhook_signer signer;
  trilha_breaker breaker;

  CURLM *multi;
  pthread_t thread;
  pthread_mutex_t lock; /* guards first, last and ending */
  trilha_webhook_request *first, *last;
  bool ending, runs;

  trilha_webhook_request *under_way; /* the thread's own */
};

/* Ready to be added to the webhook's multi handle. On failure nothing is to be freed but the request. */
trilha_status trilha_webhook_request_prepare(trilha_webhook_request *r, trilha_error *err) TRILHA_MUST_USE;
/* What the transfer's end means. */
void trilha_webhook_request_judge(trilha_webhook_request *r, CURLcode ended, trilha_send_result *ret_result);
void trilha_webhook_request_free(trilha_webhook_request *r);

#endif
