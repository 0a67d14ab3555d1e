/* eventlog/append: group commit.
 *
 * Callers queue their rows. One of them leads: it takes what waits, commits it as one transaction, tells each waiting
 * caller its rows' fate and hands leadership to the first caller still waiting. So under load a commit carries
 * everybody who came during the previous one, and a lone caller pays for nobody. If you change this: the leader must
 * never hold the mutex across the store, and leadership must always be handed on or given up, whatever the store
 * answered.
 */
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "eventlog/eventlog_internal.h"

enum {
  GATHER_PART = 4,        /* of the last commit's time */
  GATHER_NS_MAX = 1000000 /* 1 ms */
};

static size_t request_bytes(const trilha_append_item *items, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += items[i].row.payload.size + 256;
  return bytes;
}

/* --- one batch ------------------------------------------------------------------------------------- */

typedef struct batch {
  trilha_append_item **items;
  size_t count;
  trilha_event_row *rows;
  trilha_append_result *results;
  trilha_arena arena;
  int64_t registry_revision;
} batch;

static trilha_status copy_text(trilha_arena *arena, trilha_text *text) {
  if (text->data == NULL) return TRILHA_OK;
  char *copy = trilha_arena_copy(arena, *text);
  if (copy == NULL) return TRILHA_NO_MEMORY;
  text->data = copy;
  return TRILHA_OK;
}

/* A duplicate's stored row, its texts moved from the batch's arena to the waiting caller's. */
static trilha_status copy_row(trilha_arena *arena, trilha_event_row *row) {
  trilha_text *texts[] = {&row->tipo,        &row->versao_schema, &row->origem,         &row->payload,
                          &row->tenant_id,   &row->company_id,    &row->aggregate_type, &row->aggregate_key,
                          &row->traceparent, &row->tracestate,    &row->digest};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (copy_text(arena, texts[i]) != TRILHA_OK) return TRILHA_NO_MEMORY;
  return TRILHA_OK;
}

static void settle(trilha_append_item *item, const trilha_append_result *result) {
  item->status = TRILHA_OK;
  item->stored = result->stored;
  if (result->stored) {
    item->got = item->row;
    item->got.sequence_number = result->row.sequence_number;
    item->got.timestamp_us = result->row.timestamp_us;
    item->got.criado_em_us = result->row.criado_em_us;
    return;
  }
  item->got = result->row;
  if (copy_row(item->arena, &item->got) != TRILHA_OK) item->status = trilha_error_no_memory(&item->error);
}

static void fail(batch *b, size_t from, size_t count, trilha_status status, const trilha_error *error) {
  for (size_t i = from; i < from + count; i++) {
    b->items[i]->status = status;
    trilha_error_copy(&b->items[i]->error, error);
  }
}

/* Whether a refusal may be one row's own fault, so that the others deserve another try without it. */
static bool is_of_one_row(trilha_status status) {
  return status == TRILHA_INVALID || status == TRILHA_LIMIT;
}

/* Commits items [from, from + count); a refusal is narrowed down by halves until the culprit stands alone. The
 * recursion is as deep as log2(TRILHA_EVENTLOG_BATCH_MAX). */
static void commit(trilha_eventlog *log, batch *b, size_t from, size_t count) {
  trilha_error error = {0};
  trilha_deadline deadline = trilha_deadline_in_ms(log->lock_timeout_ms);
  trilha_status status = log->store->op->append(log->store, b->rows + from, count, deadline, &b->arena,
                                                b->results + from, &b->registry_revision, &error);
  if (status == TRILHA_OK) {
    for (size_t i = from; i < from + count; i++) settle(b->items[i], &b->results[i]);
    return;
  }
  if (count > 1 && is_of_one_row(status)) {
    commit(log, b, from, count / 2);
    commit(log, b, from + count / 2, count - count / 2);
    return;
  }
  fail(b, from, count, status, &error);
}

/* `items` is reused: what was not stored is squeezed out. */
static void say_committed(trilha_eventlog *log, batch *b, size_t count) {
  size_t stored = 0;
  for (size_t i = 0; i < count; i++)
    if (b->items[i]->status == TRILHA_OK && b->items[i]->stored) b->items[stored++] = b->items[i];
  if (stored != 0) log->committed(log->committed_user, b->items, stored);
}

static void run_batch(trilha_eventlog *log, trilha_append_request *requests, size_t count) {
  batch b = {.count = count, .registry_revision = -1};
  trilha_arena_init(&b.arena, 0);
  b.items = trilha_arena_array(&b.arena, count, sizeof(trilha_append_item *));
  b.rows = trilha_arena_array(&b.arena, count, sizeof *b.rows);
  b.results = trilha_arena_array(&b.arena, count, sizeof *b.results);
  bool memory = b.items != NULL && b.rows != NULL && b.results != NULL;
  size_t n = 0;
  for (trilha_append_request *r = requests; r != NULL; r = r->next)
    for (size_t i = 0; i < r->count; i++) {
      if (!memory) {
        r->items[i].status = trilha_error_no_memory(&r->items[i].error);
        continue;
      }
      b.items[n] = &r->items[i];
      b.rows[n++] = r->items[i].row;
    }
  if (memory) commit(log, &b, 0, n);
  if (memory && log->committed != NULL) say_committed(log, &b, n);
  trilha_arena_done(&b.arena);
  pthread_mutex_lock(&log->mutex);
  if (b.registry_revision > log->registry_revision) log->registry_revision = b.registry_revision;
  pthread_mutex_unlock(&log->mutex);
}

/* --- the queue ------------------------------------------------------------------------------------- */

/* Takes whole requests from the front while they fit one batch; always at least one. Mutex held. */
static trilha_append_request *take_batch(trilha_eventlog *log, size_t *ret_count) {
  trilha_append_request *taken = log->first, *last = NULL;
  size_t count = 0, bytes = 0;
  for (trilha_append_request *r = log->first; r != NULL; r = r->next) {
    if (last != NULL && (count + r->count > log->batch_max || bytes + r->bytes > TRILHA_EVENTLOG_BATCH_BYTES_MAX))
      break;
    count += r->count;
    bytes += r->bytes;
    last = r;
  }
  log->first = last->next;
  if (log->first == NULL) log->last = NULL;
  last->next = NULL;
  log->last_callers = 0;
  for (trilha_append_request *r = taken; r != NULL; r = r->next) log->last_callers++;
  log->queued -= log->last_callers;
  *ret_count = count;
  return taken;
}

/* Those who shared the last commit were answered a moment ago, and are likely to come back together. Who leads now
 * waits for as many of them as there were, for a small part of what that commit took: the first one back would
 * otherwise commit alone and the rest in the batch after it. A lone caller, or one that finds a queue, waits for
 * nobody. Mutex held. */
static void gather(trilha_eventlog *log, trilha_append_request *leader) {
  if (log->queued >= log->last_callers) return;
  int64_t patience_ns = log->last_commit_ns / GATHER_PART;
  if (patience_ns > GATHER_NS_MAX) patience_ns = GATHER_NS_MAX;
  int64_t until_ns = trilha_clock_monotonic_ns() + patience_ns;
  const struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
  log->gathering = leader;
  while (log->queued < log->last_callers && pthread_cond_timedwait(&leader->wake, &log->mutex, &until) == 0) continue;
  log->gathering = NULL;
}

/* Leads one batch. Mutex held on entry and exit. */
static void lead(trilha_eventlog *log, trilha_append_request *leader) {
  size_t count;
  gather(log, leader);
  trilha_append_request *taken = take_batch(log, &count);
  pthread_mutex_unlock(&log->mutex);
  int64_t begin_ns = trilha_clock_monotonic_ns();
  run_batch(log, taken, count);
  pthread_mutex_lock(&log->mutex);
  log->last_commit_ns = trilha_clock_monotonic_ns() - begin_ns;
  for (trilha_append_request *r = taken, *next; r != NULL; r = next) {
    next = r->next; /* r is its caller's stack: not ours any more once done is seen */
    r->done = true;
    pthread_cond_signal(&r->wake);
  }
  if (log->first != NULL) {
    log->first->lead = true;
    pthread_cond_signal(&log->first->wake);
  } else {
    log->led = false;
  }
}

static void append_request(trilha_eventlog *log, trilha_append_item *items, size_t count) {
  trilha_append_request request = {.items = items, .count = count, .bytes = request_bytes(items, count)};
  pthread_cond_init(&request.wake, &log->monotonic);
  pthread_mutex_lock(&log->mutex);
  if (log->last != NULL)
    log->last->next = &request;
  else
    log->first = &request;
  log->last = &request;
  log->queued++;
  if (log->gathering != NULL && log->queued >= log->last_callers) pthread_cond_signal(&log->gathering->wake);
  if (!log->led) {
    log->led = true;
    request.lead = true;
  }
  /* A leader is bounded by the store's deadline, so each waiter is too. */
  while (!request.done) {
    if (request.lead && log->first == &request) {
      request.lead = false;
      lead(log, &request);
    } else {
      pthread_cond_wait(&request.wake, &log->mutex);
    }
  }
  pthread_mutex_unlock(&log->mutex);
  pthread_cond_destroy(&request.wake);
}

int64_t trilha_eventlog_append(trilha_eventlog *log, trilha_append_item *items, size_t count) {
  for (size_t at = 0; at < count;) {
    size_t n = 0, bytes = 0;
    while (at + n < count && n < log->batch_max) {
      size_t more = request_bytes(items + at + n, 1);
      if (n != 0 && bytes + more > TRILHA_EVENTLOG_BATCH_BYTES_MAX) break;
      bytes += more;
      n++;
    }
    append_request(log, items + at, n);
    at += n;
  }
  pthread_mutex_lock(&log->mutex);
  int64_t revision = log->registry_revision;
  pthread_mutex_unlock(&log->mutex);
  return revision;
}

/* --- life ------------------------------------------------------------------------------------------ */

trilha_status trilha_eventlog_new(trilha_store *store, unsigned batch_max, int64_t lock_timeout_ms,
                                  const trilha_diagnostics *diagnostics, trilha_eventlog **ret_log, trilha_error *err) {
  trilha_eventlog *log = calloc(1, sizeof *log);
  if (log == NULL) return trilha_error_no_memory(err);
  log->store = store;
  log->batch_max = batch_max == 0 || batch_max > TRILHA_EVENTLOG_BATCH_MAX ? TRILHA_EVENTLOG_BATCH_MAX : batch_max;
  log->lock_timeout_ms = lock_timeout_ms;
  log->diagnostics = *diagnostics;
  log->registry_revision = -1;
  pthread_mutex_init(&log->mutex, NULL);
  pthread_condattr_init(&log->monotonic);
  pthread_condattr_setclock(&log->monotonic, CLOCK_MONOTONIC);
  *ret_log = log;
  return TRILHA_OK;
}

void trilha_eventlog_on_commit(trilha_eventlog *log, trilha_eventlog_committed committed, void *user) {
  log->committed = committed;
  log->committed_user = user;
}

void trilha_eventlog_free(trilha_eventlog *log) {
  if (log == NULL) return;
  pthread_condattr_destroy(&log->monotonic);
  pthread_mutex_destroy(&log->mutex);
  free(log);
}
