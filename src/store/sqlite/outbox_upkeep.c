/* store/sqlite/outbox_upkeep: who delivers, what the inbox holds, and purging: each a short transaction of the file's
 * only writer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "store/sqlite/outbox.h"

static const int64_t WORKER_FORGOTTEN_US = INT64_C(86400000000); /* after a day of silence */
enum { TELL_WAIT_MS = 1000 };

/* --- the inbox --------------------------------------------------------------------------------------------------- */

typedef struct inbox_asked {
  const trilha_inbox_filter *filter;
  char id[TRILHA_UUID_TEXT_SIZE]; /* "": any */
  int64_t before;                 /* the time of the row behind which the list begins, or the number below which */
  const trilha_inbox_place *after;
  char after_id[TRILHA_UUID_TEXT_SIZE];
} inbox_asked;

static void bind_inbox(sqlite3_stmt *statement, const void *values) {
  const inbox_asked *asked = values;
  trilha_sqlite_bind(statement, 1, asked->filter->tenant_id);
  trilha_sqlite_bind(statement, 2, asked->filter->consumer);
  if (asked->id[0] != '\0') trilha_sqlite_bind(statement, 3, trilha_text_of(asked->id));
  sqlite3_bind_int64(statement, 4, asked->filter->limit);
  sqlite3_bind_int64(statement, 5, asked->before);
  if (asked->after == NULL) return;
  trilha_sqlite_bind(statement, 6, asked->after->tenant_id);
  trilha_sqlite_bind(statement, 7, asked->after->consumer);
  trilha_sqlite_bind(statement, 8, trilha_text_of(asked->after_id));
}

static trilha_status read_inbox(trilha_outbox_store *store, const char *query, inbox_asked *asked,
                                const unsigned char *message_id, trilha_sqlite_row_teller tell, void *user,
                                trilha_error *err) {
  if (message_id != NULL) trilha_uuid_format(message_id, asked->id);
  if (asked->after != NULL) trilha_uuid_format(asked->after->message_id, asked->after_id);
  trilha_sqlite_reading r = {.query = query, .bind = bind_inbox, .values = asked, .tell = tell, .user = user};
  return trilha_sqlite_outbox_read(store, &r, err);
}

typedef struct entry_listener {
  trilha_inbox_entry_visit visit;
  void *user;
} entry_listener;

static trilha_status tell_entry(sqlite3_stmt *row, void *user) {
  const entry_listener *l = user;
  char at[TRILHA_TIMESTAMP_SIZE], place[TRILHA_INBOX_PLACE_SIZE];
  bool none = sqlite3_column_type(row, 5) == SQLITE_NULL;
  trilha_inbox_entry entry = {.tenant_id = trilha_sqlite_borrow(row, 0),
                              .consumer = trilha_sqlite_borrow(row, 1),
                              .message_id = trilha_sqlite_borrow(row, 2),
                              .payload_sha256 = trilha_sqlite_borrow(row, 3),
                              .accepted_at = trilha_sqlite_time_text(row, 4, at),
                              .result_bytes = none ? -1 : sqlite3_column_int64(row, 5),
                              .duplicates = sqlite3_column_int64(row, 6),
                              .conflicts = sqlite3_column_int64(row, 7)};
  entry.place =
      trilha_inbox_place_write(sqlite3_column_int64(row, 4), entry.message_id, entry.tenant_id, entry.consumer, place);
  return l->visit(l->user, &entry);
}

trilha_status trilha_sqlite_outbox_inbox_list(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                              const unsigned char *message_id, const trilha_inbox_place *after,
                                              trilha_inbox_entry_visit visit, void *user, trilha_error *err) {
  entry_listener listener = {visit, user};
  inbox_asked asked = {.filter = filter, .after = after, .before = after == NULL ? INT64_MAX : after->accepted_us};
  return read_inbox(store, trilha_sql_sqlite_outbox_inbox_list, &asked, message_id, tell_entry, &listener, err);
}

typedef struct conflict_listener {
  trilha_inbox_conflict_visit visit;
  void *user;
} conflict_listener;

static trilha_status tell_conflict(sqlite3_stmt *row, void *user) {
  const conflict_listener *l = user;
  char times[2][TRILHA_TIMESTAMP_SIZE], place[32];
  snprintf(place, sizeof place, "%lld", (long long)sqlite3_column_int64(row, 7));
  const trilha_inbox_conflict conflict = {.tenant_id = trilha_sqlite_borrow(row, 0),
                                          .consumer = trilha_sqlite_borrow(row, 1),
                                          .message_id = trilha_sqlite_borrow(row, 2),
                                          .accepted_sha256 = trilha_sqlite_borrow(row, 3),
                                          .accepted_at = trilha_sqlite_time_text(row, 4, times[0]),
                                          .received_sha256 = trilha_sqlite_borrow(row, 5),
                                          .received_at = trilha_sqlite_time_text(row, 6, times[1]),
                                          .place = trilha_text_of(place)};
  return l->visit(l->user, &conflict);
}

trilha_status trilha_sqlite_outbox_inbox_conflicts(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                                   const unsigned char *message_id, int64_t below,
                                                   trilha_inbox_conflict_visit visit, void *user, trilha_error *err) {
  conflict_listener listener = {visit, user};
  inbox_asked asked = {.filter = filter, .before = below};
  return read_inbox(store, trilha_sql_sqlite_outbox_inbox_conflicts, &asked, message_id, tell_conflict, &listener, err);
}

/* --- what the caller may ----------------------------------------------------------------------------------------- */

static trilha_status tell_nothing(sqlite3_stmt *row, void *user) {
  return TRILHA_OK;
}

trilha_status trilha_sqlite_outbox_duties(trilha_outbox_store *store, trilha_outbox_duties *ret_duties,
                                          trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_routes, .tell = tell_nothing};
  trilha_sqlite_connection *c = NULL;
  trilha_error own = {0};
  trilha_status status = trilha_sqlite_outbox_read(store, &r, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_outbox_begin(o, &c, &own); /* whether the file can be written */
  if (status == TRILHA_OK) trilha_sqlite_write_abort(o->s);
  bool may = status == TRILHA_OK || own.status == TRILHA_TIMEOUT;
  *ret_duties = (trilha_outbox_duties){.enqueues = may, .relays = may, .consumes = may, .operates = may};
  return TRILHA_OK;
}

/* --- what was done to the outbox as a whole ---------------------------------------------------------------------- */

trilha_status trilha_sqlite_outbox_note_upkeep(trilha_sqlite_connection *c, const char *prefix,
                                               const trilha_sqlite_upkeep *u, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *insert = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_upkeep, &insert, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(insert, 1, u->now_us);
  trilha_sqlite_bind(insert, 2, trilha_text_of(u->action));
  trilha_sqlite_bind(insert, 3, trilha_text_of(u->subject));
  if (u->aged) sqlite3_bind_int64(insert, 4, u->older_us);
  if (u->rows >= 0) sqlite3_bind_int64(insert, 5, u->rows);
  trilha_sqlite_bind(insert, 6, u->user);
  trilha_sqlite_bind(insert, 7, u->reason);
  return trilha_sqlite_outbox_run(c, insert, NULL, err);
}

/* --- workers ----------------------------------------------------------------------------------------------------- */

static trilha_status forget_silent(trilha_sqlite_connection *c, const char *prefix, int64_t now_us, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *gone = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_worker_forget, &gone, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(gone, 1, now_us - WORKER_FORGOTTEN_US);
  return trilha_sqlite_outbox_run(c, gone, NULL, err);
}

static trilha_status begin_worker(trilha_sqlite_connection *c, const char *prefix, const trilha_worker_beat *beat,
                                  int64_t now_us, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *insert = NULL;
  trilha_status status = forget_silent(c, prefix, now_us, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_worker_begin, &insert, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(insert, 1, beat->worker);
  trilha_sqlite_bind(insert, 2, beat->destinations);
  sqlite3_bind_int64(insert, 3, beat->threads);
  sqlite3_bind_int64(insert, 4, now_us);
  sqlite3_bind_int64(insert, 5, now_us + beat->expected_ms * 1000);
  trilha_sqlite_bind(insert, 6, beat->holds);
  return trilha_sqlite_outbox_run(c, insert, NULL, err);
}

static trilha_status add_counts(trilha_sqlite_connection *c, const char *prefix, const trilha_relay_counts *counts,
                                trilha_error *err) {
  TRILHA_SQLITE_SCOPED *add = NULL;
  if (counts->sent + counts->failed + counts->dead + counts->leases_lost == 0) return TRILHA_OK;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_total, &add, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(add, 1, counts->sent);
  sqlite3_bind_int64(add, 2, counts->failed);
  sqlite3_bind_int64(add, 3, counts->dead);
  sqlite3_bind_int64(add, 4, counts->leases_lost);
  return trilha_sqlite_outbox_run(c, add, NULL, err);
}

/* A file whose outbox a version before installed has no place for it, which is no failure. */
static trilha_status say_quota(trilha_sqlite_connection *c, const char *prefix, const trilha_worker_beat *beat,
                               trilha_error *err) {
  TRILHA_SQLITE_SCOPED *quota = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_worker_quota, &quota, err);
  if (status == TRILHA_NOT_FOUND) {
    trilha_error_clear(err);
    return TRILHA_OK;
  }
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(quota, 1, beat->worker);
  sqlite3_bind_int64(quota, 2, beat->tenant_quota);
  return trilha_sqlite_outbox_run(c, quota, NULL, err);
}

static trilha_status beat_in(trilha_sqlite_connection *c, const char *prefix, const trilha_worker_beat *beat,
                             bool *ret_drain, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *seen = NULL;
  bool known = false;
  int64_t now_us = trilha_clock_wall_us();
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_worker_seen, &seen, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(seen, 1, beat->worker);
  sqlite3_bind_int64(seen, 2, now_us);
  sqlite3_bind_int64(seen, 3, now_us + beat->expected_ms * 1000);
  trilha_sqlite_bind(seen, 4, beat->holds);
  status = trilha_sqlite_step(c, seen, &known, err);
  if (status != TRILHA_OK) return status;
  *ret_drain = known && sqlite3_column_type(seen, 0) != SQLITE_NULL;
  status = known ? trilha_sqlite_execute(c, seen, err) /* to its end: an UPDATE with RETURNING is done then */
                 : begin_worker(c, prefix, beat, now_us, err);
  if (status == TRILHA_OK) status = say_quota(c, prefix, beat, err);
  return status == TRILHA_OK ? add_counts(c, prefix, &beat->since, err) : status;
}

/* What a worker tells of itself must not hold up what it delivers: it does not wait long for a long transaction of the
 * producer, and tells it with the next beat. */
static trilha_status begin_telling(trilha_sqlite_outbox *o, trilha_sqlite_connection **ret, trilha_error *err) {
  return trilha_sqlite_write_begin(o->s, trilha_deadline_in_ms(TELL_WAIT_MS), ret, err);
}

trilha_status trilha_sqlite_outbox_worker_beat(trilha_outbox_store *store, const trilha_worker_beat *beat,
                                               bool *ret_drain, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = begin_telling(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, beat_in(c, o->prefix, beat, ret_drain, err), err);
}

static trilha_status end_in(trilha_sqlite_connection *c, const char *prefix, const trilha_worker_beat *beat,
                            trilha_error *err) {
  TRILHA_SQLITE_SCOPED *gone = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_worker_end, &gone, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(gone, 1, beat->worker);
  status = trilha_sqlite_outbox_run(c, gone, NULL, err);
  return status == TRILHA_OK ? add_counts(c, prefix, &beat->since, err) : status;
}

trilha_status trilha_sqlite_outbox_worker_end(trilha_outbox_store *store, const trilha_worker_beat *beat,
                                              trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = begin_telling(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, end_in(c, o->prefix, beat, err), err);
}

typedef struct worker_listener {
  trilha_outbox_worker_visit visit;
  void *user;
} worker_listener;

static void bind_now(sqlite3_stmt *statement, const void *values) {
  const int64_t *now_us = values;
  sqlite3_bind_int64(statement, 1, *now_us);
}

static trilha_status tell_worker(sqlite3_stmt *row, void *user) {
  const worker_listener *l = user;
  char times[4][TRILHA_TIMESTAMP_SIZE];
  const trilha_outbox_worker worker = {.worker = trilha_sqlite_borrow(row, 0),
                                       .status = trilha_sqlite_borrow(row, 1),
                                       .destinations = trilha_sqlite_borrow(row, 2),
                                       .threads = sqlite3_column_int64(row, 3),
                                       .leases = sqlite3_column_int64(row, 4),
                                       .started_at = trilha_sqlite_time_text(row, 5, times[0]),
                                       .seen_at = trilha_sqlite_time_text(row, 6, times[1]),
                                       .expected_by = trilha_sqlite_time_text(row, 7, times[2]),
                                       .drain_at = trilha_sqlite_time_text(row, 8, times[3]),
                                       .drain_user = trilha_sqlite_borrow(row, 9),
                                       .drain_reason = trilha_sqlite_borrow(row, 10)};
  return l->visit(l->user, &worker);
}

trilha_status trilha_sqlite_outbox_workers(trilha_outbox_store *store, trilha_outbox_worker_visit visit, void *user,
                                           trilha_error *err) {
  worker_listener listener = {visit, user};
  int64_t now_us = trilha_clock_wall_us();
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_workers,
                             .bind = bind_now,
                             .values = &now_us,
                             .tell = tell_worker,
                             .user = &listener};
  return trilha_sqlite_outbox_read(store, &r, err);
}

static trilha_status drain_in(trilha_sqlite_connection *c, const char *prefix, const trilha_sqlite_upkeep *u,
                              trilha_error *err) {
  TRILHA_SQLITE_SCOPED *drain = NULL;
  int changes = 0;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_worker_drain, &drain, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(drain, 1, trilha_text_of(u->subject));
  sqlite3_bind_int64(drain, 2, u->now_us);
  trilha_sqlite_bind(drain, 3, u->user);
  trilha_sqlite_bind(drain, 4, u->reason);
  status = trilha_sqlite_outbox_run(c, drain, &changes, err);
  if (status != TRILHA_OK) return status;
  if (changes == 0)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "WORKER_NOT_FOUND",
                            "no worker of this name is registered; `trilha worker list` names them");
  return trilha_sqlite_outbox_note_upkeep(c, prefix, u, err);
}

trilha_status trilha_sqlite_outbox_worker_drain(trilha_outbox_store *store, trilha_text worker, trilha_text user,
                                                trilha_text reason, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  TRILHA_ARENA_SCOPED arena = {0};
  const char *name = trilha_arena_copy(&arena, worker);
  if (name == NULL) return trilha_error_no_memory(err);
  const trilha_sqlite_upkeep u = {.action = "trilha.outbox-worker.drained",
                                  .subject = name,
                                  .now_us = trilha_clock_wall_us(),
                                  .rows = -1,
                                  .user = user,
                                  .reason = reason};
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, drain_in(c, o->prefix, &u, err), err);
}

/* --- numbers to watch -------------------------------------------------------------------------------------------- */

typedef struct gauge_listener {
  trilha_outbox_gauge_visit visit;
  void *user;
} gauge_listener;

static trilha_status tell_gauge(sqlite3_stmt *row, void *user) {
  const gauge_listener *l = user;
  const trilha_outbox_gauge gauge = {.name = trilha_sqlite_borrow(row, 0),
                                     .label = trilha_sqlite_borrow(row, 1),
                                     .value = sqlite3_column_int64(row, 2)};
  return l->visit(l->user, &gauge);
}

trilha_status trilha_sqlite_outbox_gauges(trilha_outbox_store *store, trilha_outbox_gauge_visit visit, void *user,
                                          trilha_error *err) {
  gauge_listener listener = {visit, user};
  int64_t now_us = trilha_clock_wall_us();
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_gauges,
                             .bind = bind_now,
                             .values = &now_us,
                             .tell = tell_gauge,
                             .user = &listener};
  return trilha_sqlite_outbox_read(store, &r, err);
}

typedef struct quota_listener {
  trilha_outbox_quota_visit visit;
  void *user;
} quota_listener;

static trilha_status tell_quota(sqlite3_stmt *row, void *user) {
  const quota_listener *l = user;
  const trilha_outbox_quota quota = {.destination = trilha_sqlite_borrow(row, 0),
                                     .quota = sqlite3_column_int64(row, 1),
                                     .tenants = sqlite3_column_int64(row, 2),
                                     .tenant_id = trilha_sqlite_borrow(row, 3),
                                     .leases = sqlite3_column_int64(row, 4)};
  return l->visit(l->user, &quota);
}

trilha_status trilha_sqlite_outbox_quotas(trilha_outbox_store *store, trilha_outbox_quota_visit visit, void *user,
                                          trilha_error *err) {
  quota_listener listener = {visit, user};
  int64_t now_us = trilha_clock_wall_us();
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_quotas,
                             .bind = bind_now,
                             .values = &now_us,
                             .tell = tell_quota,
                             .user = &listener};
  return trilha_sqlite_outbox_read(store, &r, err);
}

/* --- purging messages -------------------------------------------------------------------------------------------- */

typedef struct purge_row {
  int64_t aggregate_id, sequence, created_us;
  char id[TRILHA_UUID_TEXT_SIZE];
  bool goes;
} purge_row;

typedef struct purge_page {
  purge_row *rows;
  int64_t count, room;
  const trilha_purge_batch *batch;
  int64_t older_us;
} purge_page;

static void bind_page(sqlite3_stmt *statement, const void *values) {
  const purge_page *page = values;
  sqlite3_bind_int64(statement, 1, page->batch->aggregate_id);
  sqlite3_bind_int64(statement, 2, page->batch->sequence);
  sqlite3_bind_int64(statement, 3, page->batch->rows_max);
  sqlite3_bind_int64(statement, 4, page->older_us);
}

static void keep_row(purge_page *page, sqlite3_stmt *row) {
  purge_row *kept = &page->rows[page->count++];
  trilha_text id = trilha_sqlite_borrow(row, 3);
  *kept = (purge_row){.aggregate_id = sqlite3_column_int64(row, 0),
                      .sequence = sqlite3_column_int64(row, 1),
                      .created_us = sqlite3_column_int64(row, 2),
                      .goes = sqlite3_column_int64(row, 4) != 0};
  size_t size = id.size < sizeof kept->id ? id.size : sizeof kept->id - 1;
  if (size > 0) memcpy(kept->id, id.data, size);
}

/* In a transaction of the caller's: what is read is what is purged. */
static trilha_status read_page(trilha_sqlite_connection *c, const char *prefix, purge_page *page, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *read = NULL;
  bool row = false;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_purge_page, &read, err);
  if (status != TRILHA_OK) return status;
  bind_page(read, page);
  status = trilha_sqlite_step(c, read, &row, err);
  while (status == TRILHA_OK && row && page->count < page->room) {
    keep_row(page, read);
    status = trilha_sqlite_step(c, read, &row, err);
  }
  return status;
}

typedef struct purge_statements {
  sqlite3_stmt *mark, *content, *message, *runs;
} purge_statements;

static trilha_status run_again(trilha_sqlite_connection *c, sqlite3_stmt *statement, trilha_error *err) {
  trilha_status status = trilha_sqlite_execute(c, statement, err);
  sqlite3_reset(statement);
  return status;
}

static trilha_status purge_one(trilha_sqlite_connection *c, const purge_statements *s, const purge_row *row,
                               trilha_error *err) {
  sqlite3_stmt *const by_place[] = {s->mark, s->message, s->runs};
  for (size_t i = 0; i < sizeof by_place / sizeof by_place[0]; i++) {
    sqlite3_bind_int64(by_place[i], 1, row->aggregate_id);
    sqlite3_bind_int64(by_place[i], 2, row->sequence);
  }
  trilha_sqlite_bind(s->content, 1, trilha_text_of(row->id));
  trilha_status status = run_again(c, s->mark, err); /* it reads the message that goes */
  if (status == TRILHA_OK) status = run_again(c, s->content, err);
  if (status == TRILHA_OK) status = run_again(c, s->message, err);
  return status == TRILHA_OK ? run_again(c, s->runs, err) : status;
}

static trilha_status purge_rows(trilha_sqlite_connection *c, const char *prefix, const purge_page *page,
                                trilha_error *err) {
  TRILHA_SQLITE_SCOPED *mark = NULL, *content = NULL, *message = NULL, *runs = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_purge_mark, &mark, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_purge_content, &content, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_purge_message, &message, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_purge_runs, &runs, err);
  const purge_statements s = {mark, content, message, runs};
  for (int64_t i = 0; status == TRILHA_OK && i < page->count; i++)
    if (page->rows[i].goes) status = purge_one(c, &s, &page->rows[i], err);
  return status;
}

/* Of an aggregate that keeps a message the rest is passed over. */
static void tell_page(const purge_page *page, trilha_purge_batch *batch) {
  batch->ended = page->count < batch->rows_max;
  if (page->count == 0) return;
  const purge_row *last = &page->rows[page->count - 1];
  batch->aggregate_id = last->aggregate_id;
  batch->sequence = last->goes ? last->sequence : INT64_MAX;
  for (int64_t i = 0; i < page->count; i++) {
    const purge_row *row = &page->rows[i];
    if (!row->goes) continue;
    if (batch->purged == 0 || row->created_us < batch->oldest_us) batch->oldest_us = row->created_us;
    if (batch->purged == 0 || row->created_us > batch->newest_us) batch->newest_us = row->created_us;
    batch->purged++;
  }
}

static trilha_status purge_in(trilha_sqlite_connection *c, const char *prefix, purge_page *page,
                              trilha_purge_batch *batch, trilha_error *err) {
  trilha_status status = read_page(c, prefix, page, err);
  if (status != TRILHA_OK) return status;
  trilha_purge_batch told = *batch;
  tell_page(page, &told);
  if (!batch->dry_run && told.purged > 0) {
    const trilha_sqlite_upkeep u = {.action = "trilha.outbox-message.purged",
                                    .subject = "outbox_message",
                                    .now_us = trilha_clock_wall_us(),
                                    .aged = true,
                                    .older_us = page->older_us,
                                    .rows = told.purged,
                                    .user = batch->user,
                                    .reason = batch->reason};
    status = purge_rows(c, prefix, page, err);
    if (status == TRILHA_OK) status = trilha_sqlite_outbox_note_upkeep(c, prefix, &u, err);
  }
  if (status == TRILHA_OK) *batch = told;
  return status;
}

trilha_status trilha_sqlite_outbox_purge_messages(trilha_outbox_store *store, trilha_purge_batch *batch,
                                                  trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  batch->purged = 0;
  purge_page page = {.rows = calloc((size_t)batch->rows_max, sizeof *page.rows),
                     .room = batch->rows_max,
                     .batch = batch,
                     .older_us = trilha_clock_wall_us() - batch->older_ms * 1000};
  if (page.rows == NULL) return trilha_error_no_memory(err);
  trilha_status status = TRILHA_OK;
  if (batch->dry_run) {
    status = trilha_sqlite_read_begin(o->s, trilha_deadline_in_ms(o->s->lock_timeout_ms), &c, err);
    if (status == TRILHA_OK) status = purge_in(c, o->prefix, &page, batch, err);
    if (c != NULL) trilha_sqlite_read_end(o->s, c);
  } else {
    status = trilha_sqlite_outbox_begin(o, &c, err);
    if (status == TRILHA_OK) status = trilha_sqlite_outbox_end(o, purge_in(c, o->prefix, &page, batch, err), err);
  }
  free(page.rows);
  return status;
}

/* --- purging the inbox ------------------------------------------------------------------------------------------- */

/* How many are due, and between which times. limit 0: all. */
static trilha_status count_old(trilha_sqlite_connection *c, const char *prefix, int64_t older_us, int64_t limit,
                               trilha_purge_batch *batch, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *count = NULL;
  bool row = false;
  const char *query = limit == 0 ? trilha_sql_sqlite_outbox_inbox_old : trilha_sql_sqlite_outbox_inbox_old_batch;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, query, &count, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(count, 1, older_us);
  if (limit > 0) sqlite3_bind_int64(count, 2, limit);
  status = trilha_sqlite_step(c, count, &row, err);
  if (status != TRILHA_OK || !row) return status;
  batch->purged = sqlite3_column_int64(count, 0);
  batch->oldest_us = sqlite3_column_int64(count, 1);
  batch->newest_us = sqlite3_column_int64(count, 2);
  return TRILHA_OK;
}

static trilha_status delete_old(trilha_sqlite_connection *c, const char *prefix, const char *query, int64_t older_us,
                                int64_t limit, int *ret_changes, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *gone = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, query, &gone, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(gone, 1, older_us);
  sqlite3_bind_int64(gone, 2, limit);
  return trilha_sqlite_outbox_run(c, gone, ret_changes, err);
}

static trilha_status purge_inbox_in(trilha_sqlite_connection *c, const char *prefix, int64_t older_us,
                                    trilha_purge_batch *batch, trilha_error *err) {
  int rows = 0, repeats = 0;
  int64_t most = batch->rows_max;
  trilha_status status = count_old(c, prefix, older_us, most, batch, err);
  if (status == TRILHA_OK)
    status = delete_old(c, prefix, trilha_sql_sqlite_outbox_purge_inbox, older_us, most, &rows, err);
  if (status == TRILHA_OK)
    status = delete_old(c, prefix, trilha_sql_sqlite_outbox_purge_repeats, older_us, most, &repeats, err);
  batch->ended = rows < most && repeats < most;
  if (status != TRILHA_OK || rows == 0) return status;
  const trilha_sqlite_upkeep u = {.action = "trilha.inbox-message.purged",
                                  .subject = "inbox_message",
                                  .now_us = trilha_clock_wall_us(),
                                  .aged = true,
                                  .older_us = older_us,
                                  .rows = rows,
                                  .user = batch->user,
                                  .reason = batch->reason};
  return trilha_sqlite_outbox_note_upkeep(c, prefix, &u, err);
}

static trilha_status foretell_inbox(trilha_sqlite_outbox *o, int64_t older_us, trilha_purge_batch *batch,
                                    trilha_error *err) {
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(o->s, trilha_deadline_in_ms(o->s->lock_timeout_ms), &c, err);
  if (status != TRILHA_OK) return status;
  status = count_old(c, o->prefix, older_us, 0, batch, err);
  trilha_sqlite_read_end(o->s, c);
  batch->ended = true;
  return status;
}

trilha_status trilha_sqlite_outbox_purge_inbox(trilha_outbox_store *store, trilha_purge_batch *batch,
                                               trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  int64_t older_us = trilha_clock_wall_us() - batch->older_ms * 1000;
  batch->purged = 0;
  if (batch->dry_run) return foretell_inbox(o, older_us, batch, err);
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, purge_inbox_in(c, o->prefix, older_us, batch, err), err);
}
