/* webhook: the inside. Room: webhook. */
#ifndef TRILHA_WEBHOOK_WEBHOOK_INTERNAL_H
#define TRILHA_WEBHOOK_WEBHOOK_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "access/access.h"
#include "access/signature.h"
#include "base/clock.h"
#include "base/diagnostics.h"
#include "fetch/late_curl.h"
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

enum { TRILHA_WEBHOOK_STATUS_UNAUTHORIZED = 401, TRILHA_WEBHOOK_STATUS_GONE = 410 };

/* --- request.c ------------------------------------------------------------------------------------------------------
 */

/* Lines of a header: the mapper's, content-type, three of the signature, authorization and Expect. */
enum { TRILHA_WEBHOOK_LINES_MAX = TRILHA_WIRE_HEADERS_MAX + 6 };

/* What a request is made with. One whose transfer ended well serves the next: nothing of it has to be allocated again.
 */
typedef struct trilha_webhook_handle {
  CURL *easy;
  trilha_wire *wire;   /* holds the body while libcurl sends it */
  trilha_buffer lines; /* of the header, each with its terminator */
  size_t starts[TRILHA_WEBHOOK_LINES_MAX], line_count;
  struct curl_slist list[TRILHA_WEBHOOK_LINES_MAX]; /* what libcurl reads, once all lines are there */
} trilha_webhook_handle;

typedef struct trilha_webhook_request {
  struct trilha_webhook_request *next, **link; /* link: what points to it, once it is under way */
  trilha_webhook *webhook;
  trilha_sending *sending;
  const trilha_envelope *envelope;
  trilha_webhook_handle *handle;
  size_t answer_bytes, header_bytes;
  bool address_refused, header_too_long;
  bool unsent; /* nothing of the request ever left: its failure says nothing of the message */
  bool whole;  /* the transfer ended as it should: its handle is as good as new */
  long answer; /* status of HTTP; 0: none came */
  char reason[CURL_ERROR_SIZE];
  trilha_send_result result; /* of a transfer that ended */
} trilha_webhook_request;

enum {
  TRILHA_WEBHOOK_CONNECTIONS_MAX = 256,   /* and handles, that are kept for the next messages: more than a worker has in
                                             flight */
  TRILHA_WEBHOOK_KEPT_BYTES_MAX = 1 << 14 /* of a body: the memory of a larger one is not kept with its handle */
};

struct trilha_webhook {
  char *url, *authorization, *ca_file;
  trilha_event_mapper mapper;
  unsigned connect_timeout_ms, retry_after_max_s;
  trilha_diagnostics diagnostics;
  trilha_webhook_guard guard;
  trilha_signer signer;
  trilha_breaker breaker;

  CURLM *multi;
  pthread_t thread;
  pthread_mutex_t lock; /* guards first, last and ending */
  trilha_webhook_request *first, *last;
  bool ending, runs;

  /* The thread's own. */
  trilha_webhook_request *under_way;
  trilha_webhook_handle *handles[TRILHA_WEBHOOK_CONNECTIONS_MAX]; /* kept, last in first out */
  size_t handles_kept, handles_made;
  int epoll_fd, wake_fd;
  trilha_deadline timer; /* of libcurl, where `timed` */
  bool timed;
};

/* A handle of libcurl costs more to make and set up than a request on it, so those whose transfer ended well are kept.
 * These are called by the webhook's thread alone, or once it has ended.
 *
 * Ready to be added to the webhook's multi handle. On failure nothing is to be freed but the request. */
trilha_status trilha_webhook_request_prepare(trilha_webhook_request *r, trilha_error *err) TRILHA_MUST_USE;
/* What the transfer's end means: fills the request's result. */
void trilha_webhook_request_judge(trilha_webhook_request *r, CURLcode ended);
/* Its handle is kept, or freed. */
void trilha_webhook_request_release(trilha_webhook_request *r);
void trilha_webhook_handles_free(trilha_webhook *w);

/* --- drive.c --------------------------------------------------------------------------------------------------------
 */

/* Starts the thread; whatever came of it, trilha_webhook_drive_end() ends it and the multi handle. */
trilha_status trilha_webhook_drive_begin(trilha_webhook *w, trilha_error *err) TRILHA_MUST_USE;
void trilha_webhook_drive_end(trilha_webhook *w);
/* Something was put for the thread, or it shall end. Any thread. */
void trilha_webhook_wake(const trilha_webhook *w);

#endif
