/* store/sqlite/due: what a consumer has still to see, merged over its types by sequence, each from its own cursor
 * (ruling R19). */
#include <stdlib.h>

#include "store/sqlite/delivery.h"

typedef struct letter {
  int64_t sequence, attempts;
  bool closed;
} letter;

typedef struct due {
  int64_t *sequences; /* of all types, then the smallest */
  size_t count;
  letter *letters; /* of those that have one, by sequence */
  size_t letter_count, letter_at;
  trilha_due_visit visit;
  void *user;
} due;

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static trilha_status collect_type(trilha_sqlite_connection *c, const trilha_cursor *cursor, int64_t limit, due *d,
                                  trilha_error *err) {
  sqlite3_stmt *s = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENTS_AFTER_TYPE, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, cursor->tipo);
  sqlite3_bind_int64(s, 2, cursor->last_sequence);
  sqlite3_bind_int64(s, 3, INT64_MAX);
  sqlite3_bind_int64(s, 4, limit);
  for (;;) {
    bool row = false;
    status = trilha_sqlite_step(c, s, &row, err);
    if (status != TRILHA_OK || !row) return status;
    d->sequences[d->count++] = sqlite3_column_int64(s, 0);
  }
}

static trilha_status collect_letters(trilha_sqlite_connection *c, trilha_text colonia, due *d, trilha_arena *arena,
                                     trilha_error *err) {
  sqlite3_stmt *s = NULL;
  if (d->count == 0) return TRILHA_OK;
  d->letters = trilha_arena_array(arena, d->count, sizeof *d->letters);
  if (d->letters == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_DEAD_LETTERS_BETWEEN, &s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(s, 1, colonia);
  sqlite3_bind_int64(s, 2, d->sequences[0]);
  sqlite3_bind_int64(s, 3, d->sequences[d->count - 1]);
  for (size_t at = 0;;) {
    bool row = false;
    status = trilha_sqlite_step(c, s, &row, err);
    if (status != TRILHA_OK || !row) return status;
    int64_t sequence = sqlite3_column_int64(s, 0);
    while (at < d->count && d->sequences[at] < sequence) at++;
    if (at < d->count && d->sequences[at] == sequence)
      d->letters[d->letter_count++] = (letter){sequence, sqlite3_column_int64(s, 2), sqlite3_column_int(s, 1) != 0};
  }
}

/* One snapshot: the numbers, the dead letters among them, and how far the log went. */
static trilha_status collect(trilha_sqlite_connection *c, trilha_text colonia, const trilha_cursor *cursors,
                             size_t count, int64_t limit, due *d, trilha_arena *arena, int64_t *ret_last,
                             trilha_error *err) {
  sqlite3_stmt *s = NULL;
  bool any = false;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENT_LAST_SEQUENCE, &s, err);
  if (status == TRILHA_OK) status = trilha_sqlite_value(c, s, ret_last, &any, err);
  for (size_t i = 0; i < count && status == TRILHA_OK; i++) status = collect_type(c, &cursors[i], limit, d, err);
  if (status != TRILHA_OK) return status;
  qsort(d->sequences, d->count, sizeof *d->sequences, ascending);
  if (d->count > (size_t)limit) d->count = (size_t)limit;
  return collect_letters(c, colonia, d, arena, err);
}

static trilha_status hand_out(void *user, const trilha_event_row *row, trilha_error *err) {
  due *d = user;
  while (d->letter_at < d->letter_count && d->letters[d->letter_at].sequence < row->sequence_number) d->letter_at++;
  trilha_due_row due_row = {.event = row};
  if (d->letter_at < d->letter_count && d->letters[d->letter_at].sequence == row->sequence_number) {
    due_row.closed = d->letters[d->letter_at].closed;
    due_row.attempts = d->letters[d->letter_at].attempts;
  }
  return d->visit(d->user, &due_row, err);
}

trilha_status trilha_sqlite_events_due(trilha_store *store, trilha_text colonia, const trilha_cursor *cursors,
                                       size_t count, int64_t limit, trilha_deadline deadline, trilha_due_visit visit,
                                       void *user, int64_t *ret_scanned_to, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  TRILHA_ARENA_SCOPED arena = {0};
  int64_t last = 0;
  due d = {.visit = visit, .user = user};
  d.sequences = trilha_arena_array(&arena, count * (size_t)limit, sizeof *d.sequences);
  if (d.sequences == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = collect(c, colonia, cursors, count, limit, &d, &arena, &last, err);
  trilha_sqlite_read_end(s, c);
  if (status != TRILHA_OK) return status;
  for (size_t i = 0; i < count; i++) /* only an empty answer says more than the cursor */
    ret_scanned_to[i] = d.count == 0 && last > cursors[i].last_sequence ? last : cursors[i].last_sequence;
  return trilha_sqlite_deliver(s, d.sequences, d.count, deadline, hand_out, &d, err);
}

/* --- the port -------------------------------------------------------------------------------------------------- */

const trilha_delivery_operations trilha_sqlite_delivery = {
    .dead_letter_fail = trilha_sqlite_dead_letter_fail,
    .dead_letter_resolve = trilha_sqlite_dead_letter_resolve,
    .dead_letters_take = trilha_sqlite_dead_letters_take,
    .dead_letter_settle = trilha_sqlite_dead_letter_settle,
    .dead_letter_extend = trilha_sqlite_dead_letter_extend,
    .dead_letters_recover = trilha_sqlite_dead_letters_recover,
    .dead_letter_reopen = trilha_sqlite_dead_letter_reopen,
    .dead_letters_list = trilha_sqlite_dead_letters_list,
    .dead_letter_stats = trilha_sqlite_dead_letter_stats,
    .lease_acquire = trilha_sqlite_lease_acquire,
    .lease_renew = trilha_sqlite_lease_renew,
    .lease_release = trilha_sqlite_lease_release,
    .lease_declare = trilha_sqlite_lease_declare,
    .handlers_list = trilha_sqlite_handlers_list,
    .cursors_prepare = trilha_sqlite_cursors_prepare,
    .cursors_read = trilha_sqlite_cursors_read,
    .cursors_seed = trilha_sqlite_cursors_seed,
    .cursors_advance = trilha_sqlite_cursors_advance,
    .events_due = trilha_sqlite_events_due,
    .consumers_list = trilha_sqlite_consumers_list,
    .request_create = trilha_sqlite_request_create,
    .request_take = trilha_sqlite_request_take,
    .request_settle = trilha_sqlite_request_settle,
    .request_read = trilha_sqlite_request_read,
    .request_withdraw = trilha_sqlite_request_withdraw,
    .cursors_advance_in = trilha_sqlite_cursors_advance_in,
    .dead_letter_resolve_in = trilha_sqlite_dead_letter_resolve_in,
};
