/* webhook/breaker: after failures in a row an endpoint is left alone for a while; then one message finds out. */
#include "webhook/webhook_internal.h"

enum { DOUBLINGS_MAX = 4, PROBE_LOOK_MS = 20, GONE_LOOK_MS = 3600000 };

void trilha_breaker_init(trilha_breaker *b, unsigned failures_max, unsigned hold_ms) {
  *b = (trilha_breaker){.failures_max = failures_max, .hold_ms = hold_ms};
  pthread_mutex_init(&b->lock, NULL);
}

void trilha_breaker_done(trilha_breaker *b) {
  pthread_mutex_destroy(&b->lock);
}

static bool is_open(const trilha_breaker *b) {
  return b->opened > 0;
}

static size_t room(const trilha_breaker *b, int64_t *ret_again_ms) {
  *ret_again_ms = GONE_LOOK_MS;
  if (b->gone) return 0;
  if (!is_open(b)) return SIZE_MAX;
  *ret_again_ms = trilha_deadline_left_ms(b->until, INT64_MAX);
  if (*ret_again_ms > 0) return 0;
  *ret_again_ms = PROBE_LOOK_MS;
  return b->probing ? 0 : 1;
}

size_t trilha_breaker_room(trilha_breaker *b, int64_t *ret_again_ms) {
  pthread_mutex_lock(&b->lock);
  size_t places = room(b, ret_again_ms);
  pthread_mutex_unlock(&b->lock);
  return places;
}

bool trilha_breaker_enter(trilha_breaker *b) {
  int64_t again_ms;
  pthread_mutex_lock(&b->lock);
  bool enters = room(b, &again_ms) > 0;
  if (enters && is_open(b)) b->probing = true;
  pthread_mutex_unlock(&b->lock);
  return enters;
}

bool trilha_breaker_succeeded(trilha_breaker *b) {
  pthread_mutex_lock(&b->lock);
  bool was_open = is_open(b);
  b->failures = b->opened = 0;
  b->probing = false;
  pthread_mutex_unlock(&b->lock);
  return was_open;
}

/* What was under way when the breaker opened says nothing new. */
static bool fail(trilha_breaker *b, int64_t hold_ms, bool at_once) {
  pthread_mutex_lock(&b->lock);
  bool waits = is_open(b) && !trilha_deadline_passed(b->until);
  b->failures++;
  bool opens = !waits && (at_once || b->probing || hold_ms > 0 || b->failures >= b->failures_max);
  if (opens) {
    unsigned doublings = b->opened < DOUBLINGS_MAX ? b->opened : DOUBLINGS_MAX;
    int64_t own = b->hold_ms << doublings;
    b->until = trilha_deadline_in_ms(hold_ms > 0 ? hold_ms : own);
    b->opened++;
    b->probing = false;
  }
  pthread_mutex_unlock(&b->lock);
  return opens;
}

bool trilha_breaker_failed(trilha_breaker *b, int64_t hold_ms) {
  return fail(b, hold_ms, false);
}

bool trilha_breaker_refused(trilha_breaker *b) {
  return fail(b, 0, true);
}

void trilha_breaker_unasked(trilha_breaker *b) {
  pthread_mutex_lock(&b->lock);
  b->probing = false;
  pthread_mutex_unlock(&b->lock);
}

bool trilha_breaker_went(trilha_breaker *b) {
  pthread_mutex_lock(&b->lock);
  bool changed = !b->gone;
  b->gone = true;
  pthread_mutex_unlock(&b->lock);
  return changed;
}

trilha_webhook_state trilha_breaker_state(trilha_breaker *b) {
  pthread_mutex_lock(&b->lock);
  trilha_webhook_state state = b->gone      ? TRILHA_WEBHOOK_GONE
                               : is_open(b) ? TRILHA_WEBHOOK_HELD
                                            : TRILHA_WEBHOOK_OPEN_TO_ALL;
  pthread_mutex_unlock(&b->lock);
  return state;
}
