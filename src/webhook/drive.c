/* webhook/drive: the thread that drives libcurl.
 *
 * libcurl says which sockets it waits for and until when, epoll says which of them are ready, and libcurl then looks at
 * those alone: hundreds of requests that wait for their answers cost nothing. If you change this: a timer is told once,
 * and is gone when it was due; a socket that libcurl closes was taken away from epoll before. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "webhook/webhook_internal.h"

enum { LOOK_MS = 1000, READY_MAX = 64 };

/* --- what the breaker hears ------------------------------------------------------------------------------ */

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

/* The request's handle is given back before the envelope may go away. */
static void end_request(trilha_webhook_request *r, bool asked) {
  /* Who finds out that a receiver is still away pays nothing for it: else a lane that is alone would be dead soon. */
  if (r->unsent && trilha_breaker_state(&r->webhook->breaker) == TRILHA_WEBHOOK_HELD) r->result.held = true;
  if (asked)
    inform_breaker(r->webhook, r->answer, &r->result);
  else
    trilha_breaker_unasked(&r->webhook->breaker);
  trilha_webhook_request_release(r);
  trilha_sending_done(r->sending, &r->result);
  free(r);
}

/* --- requests -------------------------------------------------------------------------------------------- */

static void add_request(trilha_webhook *w, trilha_webhook_request *r) {
  trilha_send_result *result = &r->result;
  result->status = trilha_webhook_request_prepare(r, &result->error);
  if (result->status == TRILHA_OK && curl_multi_add_handle(w->multi, r->handle->easy) != CURLM_OK)
    result->status = trilha_error_no_memory(&result->error);
  if (result->status != TRILHA_OK) {
    end_request(r, false);
    return;
  }
  r->next = w->under_way;
  r->link = &w->under_way;
  if (r->next != NULL) r->next->link = &r->next;
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

static void forget(const trilha_webhook_request *r) {
  *r->link = r->next;
  if (r->next != NULL) r->next->link = r->link;
}

/* What ended together is told together: the relay's threads wake for all of it. */
static void finish_some(trilha_webhook *w) {
  int left = 0;
  trilha_webhook_request *ended = NULL, **last = &ended;
  for (CURLMsg *news = curl_multi_info_read(w->multi, &left); news != NULL;
       news = curl_multi_info_read(w->multi, &left)) {
    trilha_webhook_request *r = NULL;
    if (news->msg != CURLMSG_DONE) continue;
    curl_easy_getinfo(news->easy_handle, CURLINFO_PRIVATE, (char **)&r);
    trilha_webhook_request_judge(r, news->data.result);
    curl_multi_remove_handle(w->multi, r->handle->easy);
    forget(r);
    r->next = NULL;
    *last = r;
    last = &r->next;
  }
  for (trilha_webhook_request *r = ended, *next; r != NULL; r = next) {
    next = r->next;
    end_request(r, true);
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
    r->result.status =
        trilha_error_set(&r->result.error, TRILHA_CANCELLED, "WEBHOOK_CLOSED", "the webhook was closed meanwhile");
    forget(r);
    curl_multi_remove_handle(w->multi, r->handle->easy);
    end_request(r, false);
  }
}

/* --- what libcurl waits for ------------------------------------------------------------------------------ */

/* `known` is set for a socket that epoll has already. */
static int watch(CURL *easy, curl_socket_t s, int what, void *user, void *known) {
  trilha_webhook *w = user;
  struct epoll_event wanted = {.data.fd = s};
  (void)easy;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, s, NULL);
    return 0;
  }
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) wanted.events |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) wanted.events |= EPOLLOUT;
  if (epoll_ctl(w->epoll_fd, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, s, &wanted) != 0) return -1;
  if (known == NULL) curl_multi_assign(w->multi, s, w);
  return 0;
}

static int set_timer(CURLM *multi, long in_ms, void *user) {
  trilha_webhook *w = user;
  (void)multi;
  w->timed = in_ms >= 0;
  if (w->timed) w->timer = trilha_deadline_in_ms(in_ms);
  return 0;
}

static int wait_ms(const trilha_webhook *w) {
  return w->timed ? (int)trilha_deadline_left_ms(w->timer, LOOK_MS) : LOOK_MS;
}

static void hear_wake(const trilha_webhook *w) {
  uint64_t count;
  ssize_t got = read(w->wake_fd, &count, sizeof count);
  (void)got; /* whoever woke us has said so before: what is there is taken up next */
}

static int readiness(uint32_t events) {
  return ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) | ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
         ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
}

static void turn(trilha_webhook *w) {
  struct epoll_event ready[READY_MAX];
  int running = 0, count = epoll_wait(w->epoll_fd, ready, READY_MAX, wait_ms(w));
  for (int i = 0; i < count; i++)
    if (ready[i].data.fd == w->wake_fd)
      hear_wake(w);
    else
      curl_multi_socket_action(w->multi, ready[i].data.fd, readiness(ready[i].events), &running);
  if (w->timed && trilha_deadline_passed(w->timer)) {
    w->timed = false;
    curl_multi_socket_action(w->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

/* --- the thread ------------------------------------------------------------------------------------------ */

static void *drive(void *user) {
  trilha_webhook *w = user;
  while (!is_ending(w)) {
    take_up(w);
    turn(w);
    finish_some(w);
  }
  take_up(w);
  end_all(w);
  return NULL;
}

void trilha_webhook_wake(const trilha_webhook *w) {
  uint64_t one = 1;
  ssize_t written = write(w->wake_fd, &one, sizeof one);
  (void)written; /* only fails when the counter is full: then it is awake anyway */
}

trilha_status trilha_webhook_drive_begin(trilha_webhook *w, trilha_error *err) {
  struct epoll_event wanted = {.events = EPOLLIN};
  w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  w->wake_fd = wanted.data.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (w->epoll_fd < 0 || w->wake_fd < 0 || epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &wanted) != 0)
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_DESCRIPTORS",
                            "the process may open no more files: raise its limit");
  curl_multi_setopt(w->multi, CURLMOPT_SOCKETFUNCTION, watch);
  curl_multi_setopt(w->multi, CURLMOPT_SOCKETDATA, w);
  curl_multi_setopt(w->multi, CURLMOPT_TIMERFUNCTION, set_timer);
  curl_multi_setopt(w->multi, CURLMOPT_TIMERDATA, w);
  w->runs = pthread_create(&w->thread, NULL, drive, w) == 0;
  if (w->runs) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_UNAVAILABLE, "WEBHOOK_THREAD", "the system gives no thread");
}

void trilha_webhook_drive_end(trilha_webhook *w) {
  if (w->runs) {
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_mutex_unlock(&w->lock);
    trilha_webhook_wake(w);
    pthread_join(w->thread, NULL);
  }
  trilha_webhook_handles_free(w);
  if (w->multi != NULL) curl_multi_cleanup(w->multi); /* it takes its sockets away from epoll */
  if (w->epoll_fd >= 0) close(w->epoll_fd);
  if (w->wake_fd >= 0) close(w->wake_fd);
}
