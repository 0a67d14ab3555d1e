/* telemetry/spans: spans begin on their maker's stack, end in a bounded queue, and leave it with the exporter.
 *
 * A publishing thread never waits here for longer than another thread needs to put a pointer into the ring. If you
 * change this: no allocation, no copy and no system call with the mutex held.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/uuid.h"
#include "telemetry/telemetry_internal.h"

/* --- life ---------------------------------------------------------------------------------------------------- */

trilha_status trilha_telemetry_new(size_t spans_max, trilha_telemetry **ret_telemetry, trilha_error *err) {
  trilha_telemetry *t = calloc(1, sizeof *t);
  trilha_ended_span **ring = calloc(spans_max, sizeof(trilha_ended_span *));
  if (t == NULL || ring == NULL) {
    free(t);
    free(ring);
    return trilha_error_no_memory(err);
  }
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&t->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&t->mutex, NULL);
  t->ring = ring;
  t->capacity = spans_max;
  *ret_telemetry = t;
  return TRILHA_OK;
}

void trilha_telemetry_free(trilha_telemetry *t) {
  if (t == NULL) return;
  for (size_t i = 0; i < t->count; i++) trilha_ended_span_free(t->ring[(t->first + i) % t->capacity]);
  free(t->ring);
  pthread_mutex_destroy(&t->mutex);
  pthread_cond_destroy(&t->changed);
  free(t);
}

/* --- one span ------------------------------------------------------------------------------------------------ */

void trilha_span_begin(trilha_telemetry *t, const trilha_trace *parent, trilha_span *ret_span) {
  unsigned char random[24];
  *ret_span = (trilha_span){0};
  if (t == NULL || (parent != NULL && !parent->sampled) || !trilha_random_bytes(random, sizeof random)) return;
  random[0] |= 1; /* all zeros would be no id */
  random[16] |= 1;
  memcpy(ret_span->own.trace_id, parent == NULL ? random : parent->trace_id, 16);
  memcpy(ret_span->own.span_id, random + 16, 8);
  ret_span->own.sampled = ret_span->recorded = true;
  ret_span->has_parent = parent != NULL;
  if (parent != NULL) memcpy(ret_span->parent_id, parent->span_id, 8);
  ret_span->began_us = trilha_clock_wall_us();
}

trilha_text trilha_cut(trilha_text text, size_t max) {
  if (text.size > max) text.size = trilha_utf8_boundary(text.data, max);
  return text;
}

static void keep_text(trilha_text *text, char **at) {
  if (text->data == NULL) return;
  memcpy(*at, text->data, text->size);
  text->data = *at;
  *at += text->size;
}

/* One block: the span, its links, its texts. NULL when out of memory. */
static trilha_ended_span *copy_of(const trilha_span *span, trilha_span_facts facts) {
  trilha_text *const texts[] = {&facts.tipo,    &facts.event_id,   &facts.correlacao_id, &facts.origem,
                                &facts.colonia, &facts.tracestate, &facts.error_code};
  enum { TEXTS = sizeof texts / sizeof texts[0] };
  size_t size = 0;
  if (facts.link_count > TRILHA_SPAN_LINKS_MAX) facts.link_count = TRILHA_SPAN_LINKS_MAX;
  for (size_t i = 0; i < TEXTS; i++) {
    if (texts[i] != &facts.tracestate) *texts[i] = trilha_cut(*texts[i], TRILHA_SPAN_TEXT_BYTES_MAX);
    size += texts[i]->size;
  }
  trilha_ended_span *ended = malloc(sizeof *ended + facts.link_count * sizeof(trilha_trace) + size);
  if (ended == NULL) return NULL;
  trilha_trace *links = (trilha_trace *)(ended + 1);
  if (facts.link_count > 0) memcpy(links, facts.links, facts.link_count * sizeof *links);
  facts.links = links;
  char *at = (char *)(links + facts.link_count);
  for (size_t i = 0; i < TEXTS; i++) keep_text(texts[i], &at);
  *ended = (trilha_ended_span){*span, facts};
  return ended;
}

void trilha_ended_span_free(trilha_ended_span *ended) {
  free(ended);
}

void trilha_span_end(trilha_telemetry *t, const trilha_span *span, const trilha_span_facts *facts) {
  if (t == NULL || !span->recorded) return;
  trilha_ended_span *ended = copy_of(span, *facts);
  pthread_mutex_lock(&t->mutex);
  bool fits = ended != NULL && t->count < t->capacity;
  if (fits) {
    t->ring[(t->first + t->count) % t->capacity] = ended;
    t->count++;
    if (t->wanted != 0 && t->count >= t->wanted) pthread_cond_signal(&t->changed);
  } else {
    t->measured.spans_dropped++;
  }
  pthread_mutex_unlock(&t->mutex);
  if (!fits) trilha_ended_span_free(ended);
}

/* --- the exporter's side ------------------------------------------------------------------------------------- */

bool trilha_telemetry_wait(trilha_telemetry *t, size_t enough, trilha_deadline deadline) {
  struct timespec until = {.tv_sec = (time_t)(deadline.monotonic_ns / 1000000000),
                           .tv_nsec = (long)(deadline.monotonic_ns % 1000000000)};
  int timed_out = 0;
  pthread_mutex_lock(&t->mutex);
  t->wanted = enough;
  while (!t->ending && t->count < enough && timed_out != ETIMEDOUT)
    timed_out = pthread_cond_timedwait(&t->changed, &t->mutex, &until);
  t->wanted = 0;
  bool ending = t->ending;
  pthread_mutex_unlock(&t->mutex);
  return ending;
}

size_t trilha_telemetry_take(trilha_telemetry *t, trilha_ended_span **ret_spans, size_t most) {
  pthread_mutex_lock(&t->mutex);
  size_t count = t->count < most ? t->count : most;
  for (size_t i = 0; i < count; i++) ret_spans[i] = t->ring[(t->first + i) % t->capacity];
  t->first = (t->first + count) % t->capacity;
  t->count -= count;
  pthread_mutex_unlock(&t->mutex);
  return count;
}

void trilha_telemetry_spans(trilha_telemetry *t, size_t *ret_waiting, uint64_t *ret_dropped) {
  pthread_mutex_lock(&t->mutex);
  *ret_waiting = t->count;
  *ret_dropped = t->measured.spans_dropped;
  pthread_mutex_unlock(&t->mutex);
}

void trilha_telemetry_count_dropped(trilha_telemetry *t, size_t count) {
  pthread_mutex_lock(&t->mutex);
  t->measured.spans_dropped += count;
  pthread_mutex_unlock(&t->mutex);
}

void trilha_telemetry_ask_end(trilha_telemetry *t) {
  pthread_mutex_lock(&t->mutex);
  t->ending = true;
  pthread_cond_broadcast(&t->changed);
  pthread_mutex_unlock(&t->mutex);
}
