/* eventlog/stream: replay without a ceiling, in constant memory, optionally following the log.
 *
 * A page is read whole into an arena before its first event is handed out, so that no snapshot of the store is held
 * while the handler runs (field report B21) and the handler may use the store itself. The page shrinks when events are
 * large: memory is bounded by TRILHA_STREAM_PAGE_BYTES_MAX plus one event.
 */
#include <stdlib.h>

#include "base/error.h"
#include "eventlog/eventlog_internal.h"

enum { STREAM_PAGE_ROWS = 500, STREAM_WAIT_MS = 250 };

typedef struct page {
  trilha_arena arena;
  trilha_event *events;
  size_t count, bytes;
  bool full; /* stopped early because of its bytes */
} page;

/* Tells the store to stop: the page has enough. Never leaves this file. */
#define PAGE_FULL TRILHA_CANCELLED

static trilha_status take(void *user, const trilha_event_row *row, trilha_error *err) {
  page *p = user;
  if (p->count > 0 && p->bytes + row->payload.size > TRILHA_STREAM_PAGE_BYTES_MAX) {
    p->full = true;
    return PAGE_FULL;
  }
  trilha_status status = trilha_event_from_row(&p->arena, row, TRILHA_PAYLOAD_REDIGIDO, &p->events[p->count], err);
  p->bytes += row->payload.size;
  if (status == TRILHA_OK) p->count++;
  return status;
}

static trilha_status read_page(trilha_eventlog *log, const trilha_stream_options *options, int64_t cursor, page *p,
                               int64_t *ret_scanned_to, trilha_error *err) {
  trilha_arena_reset(&p->arena);
  p->count = 0;
  p->bytes = 0;
  p->full = false;
  trilha_status status =
      log->store->op->events_after(log->store, cursor, options->types, options->type_count, STREAM_PAGE_ROWS,
                                   trilha_deadline_in_ms(TRILHA_READ_TIMEOUT_MS), take, p, ret_scanned_to, err);
  if (p->full) {
    *ret_scanned_to = p->events[p->count - 1].sequence_number;
    trilha_error_clear(err);
    return TRILHA_OK;
  }
  if (status == TRILHA_OK && p->count == STREAM_PAGE_ROWS) *ret_scanned_to = p->events[p->count - 1].sequence_number;
  return status;
}

/* Another thread may set it at this very moment; an atomic type in the public header would not be C99. */
static bool asked_to_stop(const trilha_stream_options *options) {
  return options->stop != NULL && __atomic_load_n(options->stop, __ATOMIC_RELAXED);
}

/* Hands out a page; the cursor follows event by event. */
static trilha_status deliver(const page *p, const trilha_stream_options *options, trilha_event_handler handler,
                             void *user, int64_t *cursor, trilha_error *err) {
  for (size_t i = 0; i < p->count; i++) {
    if (asked_to_stop(options)) return TRILHA_OK;
    if (options->until != 0 && p->events[i].sequence_number > options->until) return TRILHA_OK;
    trilha_status status = handler(user, &p->events[i], err);
    if (status != TRILHA_OK) return status;
    *cursor = p->events[i].sequence_number;
  }
  return TRILHA_OK;
}

static trilha_status wait_for_more(trilha_eventlog *log, const trilha_stream_options *options, int64_t cursor,
                                   trilha_error *err) {
  int64_t wait_ms = options->wait_ms == 0 ? STREAM_WAIT_MS : options->wait_ms;
  trilha_status status = log->store->op->wait(log->store, cursor, trilha_deadline_in_ms(wait_ms), err);
  return status == TRILHA_TIMEOUT ? TRILHA_OK : status;
}

static trilha_status stream(trilha_eventlog *log, const trilha_stream_options *options, trilha_event_handler handler,
                            void *user, page *p, int64_t *cursor, trilha_error *err) {
  while (!asked_to_stop(options)) {
    if (options->until != 0 && *cursor >= options->until) return TRILHA_OK;
    int64_t scanned_to = *cursor;
    trilha_status status = read_page(log, options, *cursor, p, &scanned_to, err);
    if (status == TRILHA_OK) status = deliver(p, options, handler, user, cursor, err);
    if (status != TRILHA_OK) return status;
    bool whole = p->count == 0 || *cursor == p->events[p->count - 1].sequence_number;
    if (!whole) return TRILHA_OK; /* stopped, or past `until`, inside the page */
    if (scanned_to > *cursor) *cursor = scanned_to;
    if (p->full || p->count == STREAM_PAGE_ROWS) continue;
    if (!options->follow) return TRILHA_OK;
    status = wait_for_more(log, options, *cursor, err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

trilha_status trilha_eventlog_stream(trilha_eventlog *log, const trilha_stream_options *options,
                                     trilha_event_handler handler, void *user, int64_t *ret_cursor, trilha_error *err) {
  int64_t cursor = options->after;
  if (ret_cursor != NULL) *ret_cursor = cursor;
  trilha_status status = trilha_replay_check(cursor, options->types, options->type_count, err);
  if (status != TRILHA_OK) return status;
  page p = {0};
  p.events = calloc(STREAM_PAGE_ROWS, sizeof *p.events);
  if (p.events == NULL) return trilha_error_no_memory(err);
  trilha_error own = {0}; /* a page cut by its size clears the error: never the caller's earlier one */
  status = stream(log, options, handler, user, &p, &cursor, &own);
  if (status != TRILHA_OK) {
    trilha_error_while(&own, "streaming after sequence %lld", (long long)cursor);
    trilha_error_copy(err, &own);
  }
  trilha_arena_done(&p.arena);
  free(p.events);
  if (ret_cursor != NULL) *ret_cursor = cursor;
  return status;
}
