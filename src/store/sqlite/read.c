/* store/sqlite: reading the log. Rows are copied out of a snapshot, the snapshot is given up, then they are handed out:
 * a slow reader of rows never holds the write-ahead log (field report B21). */
#include <stdlib.h>

#include "base/uuid.h"
#include "store/sqlite/sqlite_internal.h"

/* What one snapshot gave. */
typedef struct slice {
  trilha_arena arena;
  trilha_event_row *rows;
  size_t count, bytes;
} slice;

static trilha_status slice_init(slice *l, size_t rows_max, trilha_error *err) {
  trilha_arena_reset(&l->arena);
  l->count = 0;
  l->bytes = 0;
  l->rows = trilha_arena_array(&l->arena, rows_max, sizeof *l->rows);
  return l->rows == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

static trilha_status slice_add(slice *l, sqlite3_stmt *statement, trilha_error *err) {
  trilha_event_row *row = &l->rows[l->count];
  trilha_status status = trilha_sqlite_row_read(statement, &l->arena, row, err);
  if (status != TRILHA_OK) return status;
  l->count++;
  l->bytes += row->payload.size + sizeof *row;
  return TRILHA_OK;
}

static trilha_status slice_visit(const slice *l, trilha_event_visit visit, void *user, trilha_error *err) {
  for (size_t i = 0; i < l->count; i++) {
    trilha_status status = visit(user, &l->rows[i], err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

/* --- by number ------------------------------------------------------------------------------------------ */

static trilha_status read_numbered(trilha_sqlite_store *s, const int64_t *sequences, size_t count,
                                   trilha_deadline deadline, slice *l, trilha_error *err) {
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  for (size_t i = 0; i < count && status == TRILHA_OK && l->bytes < TRILHA_SQLITE_SLICE_BYTES; i++) {
    sqlite3_stmt *statement = NULL;
    bool found = false;
    status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENT_BY_SEQUENCE, &statement, err);
    if (status != TRILHA_OK) break;
    sqlite3_bind_int64(statement, 1, sequences[i]);
    status = trilha_sqlite_step(c, statement, &found, err);
    if (status != TRILHA_OK) break;
    status = found ? slice_add(l, statement, err)
                   : trilha_error_set(err, TRILHA_CORRUPT, "STORE_ROW_GONE",
                                      "the event with sequence_number %lld was removed from the append-only log",
                                      (long long)sequences[i]);
  }
  trilha_sqlite_read_end(s, c);
  return status;
}

trilha_status trilha_sqlite_deliver(trilha_sqlite_store *s, const int64_t *sequences, size_t count,
                                    trilha_deadline deadline, trilha_event_visit visit, void *user, trilha_error *err) {
  slice l = {0};
  trilha_status status = TRILHA_OK;
  while (count > 0 && status == TRILHA_OK) {
    size_t rows = count < TRILHA_SQLITE_SLICE_ROWS ? count : TRILHA_SQLITE_SLICE_ROWS;
    status = slice_init(&l, rows, err);
    if (status == TRILHA_OK) status = read_numbered(s, sequences, rows, deadline, &l, err);
    if (status == TRILHA_OK) status = slice_visit(&l, visit, user, err);
    sequences += l.count;
    count -= l.count;
  }
  trilha_arena_done(&l.arena);
  return status;
}

/* --- everything after a cursor --------------------------------------------------------------------------- */

static trilha_status last_sequence(trilha_sqlite_connection *c, int64_t *ret_sequence, trilha_error *err) {
  sqlite3_stmt *statement = NULL;
  bool any = false;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENT_LAST_SEQUENCE, &statement, err);
  return status == TRILHA_OK ? trilha_sqlite_value(c, statement, ret_sequence, &any, err) : status;
}

static trilha_status read_after(trilha_sqlite_store *s, int64_t after, int64_t limit, trilha_deadline deadline,
                                slice *l, trilha_error *err) {
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  sqlite3_stmt *statement = NULL;
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENTS_AFTER_ALL, &statement, err);
  if (status == TRILHA_OK) {
    sqlite3_bind_int64(statement, 1, after);
    sqlite3_bind_int64(statement, 2, limit);
  }
  bool row = true;
  while (status == TRILHA_OK && l->bytes < TRILHA_SQLITE_SLICE_BYTES) {
    status = trilha_sqlite_step(c, statement, &row, err);
    if (status != TRILHA_OK || !row) break;
    status = slice_add(l, statement, err);
  }
  trilha_sqlite_read_end(s, c);
  return status;
}

static trilha_status all_after(trilha_sqlite_store *s, int64_t after, int64_t limit, trilha_deadline deadline,
                               trilha_event_visit visit, void *user, int64_t *ret_scanned_to, trilha_error *err) {
  slice l = {0};
  trilha_status status = TRILHA_OK;
  while (limit > 0 && status == TRILHA_OK) {
    int64_t rows = limit < TRILHA_SQLITE_SLICE_ROWS ? limit : TRILHA_SQLITE_SLICE_ROWS;
    status = slice_init(&l, (size_t)rows, err);
    if (status == TRILHA_OK) status = read_after(s, after, rows, deadline, &l, err);
    if (status == TRILHA_OK) status = slice_visit(&l, visit, user, err);
    if (status != TRILHA_OK || l.count == 0) break;
    after = l.rows[l.count - 1].sequence_number;
    limit -= (int64_t)l.count;
    /* Fewer rows than asked for, and not because of their size: the end of the log. */
    if ((int64_t)l.count < rows && l.bytes < TRILHA_SQLITE_SLICE_BYTES) break;
  }
  trilha_arena_done(&l.arena);
  if (status == TRILHA_OK) *ret_scanned_to = after;
  return status;
}

/* --- some types after a cursor ---------------------------------------------------------------------------- */

/* The smallest numbers found, as a heap whose root is the largest of them. */
typedef struct smallest {
  int64_t *numbers;
  size_t count, max;
} smallest;

static void sift_up(smallest *h, size_t at) {
  while (at > 0 && h->numbers[(at - 1) / 2] < h->numbers[at]) {
    int64_t parent = h->numbers[(at - 1) / 2];
    h->numbers[(at - 1) / 2] = h->numbers[at];
    h->numbers[at] = parent;
    at = (at - 1) / 2;
  }
}

static void sift_down(smallest *h) {
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= h->count) return;
    if (child + 1 < h->count && h->numbers[child + 1] > h->numbers[child]) child++;
    if (h->numbers[at] >= h->numbers[child]) return;
    int64_t lower = h->numbers[child];
    h->numbers[child] = h->numbers[at];
    h->numbers[at] = lower;
    at = child;
  }
}

static void smallest_add(smallest *h, int64_t number) {
  if (h->count < h->max) {
    h->numbers[h->count] = number;
    sift_up(h, h->count++);
  } else if (number < h->numbers[0]) {
    h->numbers[0] = number;
    sift_down(h);
  }
}

static int compare_numbers(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int compare_texts(const void *a, const void *b) {
  return trilha_text_compare(*(const trilha_text *)a, *(const trilha_text *)b);
}

/* Index entries of one type above `after`; once the heap is full, only those below its largest, so later types cost
 * little. */
static trilha_status collect_type(trilha_sqlite_connection *c, trilha_text tipo, int64_t after, smallest *h,
                                  trilha_error *err) {
  sqlite3_stmt *statement = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENTS_AFTER_TYPE, &statement, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(statement, 1, tipo);
  sqlite3_bind_int64(statement, 2, after);
  sqlite3_bind_int64(statement, 3, h->count == h->max ? h->numbers[0] : INT64_MAX);
  sqlite3_bind_int64(statement, 4, (int64_t)h->max);
  for (;;) {
    bool row = false;
    status = trilha_sqlite_step(c, statement, &row, err);
    if (status != TRILHA_OK || !row) return status;
    smallest_add(h, sqlite3_column_int64(statement, 0));
  }
}

/* One snapshot: the next numbers of all types, ascending, and up to where the log was seen. */
static trilha_status collect(trilha_sqlite_store *s, int64_t after, const trilha_text *types, size_t type_count,
                             trilha_deadline deadline, smallest *h, int64_t *ret_seen_to, trilha_error *err) {
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  int64_t last = 0;
  status = last_sequence(c, &last, err);
  h->count = 0;
  for (size_t i = 0; i < type_count && status == TRILHA_OK; i++)
    if (i == 0 || !trilha_text_equal(types[i], types[i - 1])) status = collect_type(c, types[i], after, h, err);
  trilha_sqlite_read_end(s, c);
  if (status != TRILHA_OK) return status;
  qsort(h->numbers, h->count, sizeof *h->numbers, compare_numbers);
  *ret_seen_to = h->count == h->max ? h->numbers[h->count - 1] : last > after ? last : after;
  return TRILHA_OK;
}

static trilha_status types_after(trilha_sqlite_store *s, int64_t after, const trilha_text *types, size_t type_count,
                                 int64_t limit, trilha_deadline deadline, trilha_event_visit visit, void *user,
                                 int64_t *ret_scanned_to, trilha_error *err) {
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_text *sorted = trilha_arena_array(&arena, type_count, sizeof *sorted);
  size_t rows = limit < TRILHA_SQLITE_SLICE_ROWS ? (size_t)limit : TRILHA_SQLITE_SLICE_ROWS;
  smallest h = {.numbers = trilha_arena_array(&arena, rows, sizeof *h.numbers)};
  if (sorted == NULL || h.numbers == NULL) return trilha_error_no_memory(err);
  memcpy(sorted, types, type_count * sizeof *sorted);
  qsort(sorted, type_count, sizeof *sorted, compare_texts);
  trilha_status status = TRILHA_OK;
  bool more = true;
  while (limit > 0 && more && status == TRILHA_OK) {
    h.max = (int64_t)rows < limit ? rows : (size_t)limit;
    int64_t seen_to = after;
    status = collect(s, after, sorted, type_count, deadline, &h, &seen_to, err);
    if (status == TRILHA_OK) status = trilha_sqlite_deliver(s, h.numbers, h.count, deadline, visit, user, err);
    after = seen_to;
    limit -= (int64_t)h.count;
    more = h.count == h.max;
  }
  if (status == TRILHA_OK) *ret_scanned_to = after;
  return status;
}

trilha_status trilha_sqlite_events_after(trilha_store *store, int64_t after, const trilha_text *types,
                                         size_t type_count, int64_t limit, trilha_deadline deadline,
                                         trilha_event_visit visit, void *user, int64_t *ret_scanned_to,
                                         trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  if (limit <= 0) {
    *ret_scanned_to = after;
    return TRILHA_OK;
  }
  if (type_count == 0) return all_after(s, after, limit, deadline, visit, user, ret_scanned_to, err);
  return types_after(s, after, types, type_count, limit, deadline, visit, user, ret_scanned_to, err);
}

/* --- single rows ------------------------------------------------------------------------------------------ */

static trilha_status read_by_id(trilha_sqlite_connection *c, const unsigned char event_id[16], slice *l,
                                trilha_error *err) {
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(event_id, id);
  sqlite3_stmt *statement = NULL;
  bool found = false;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENT_BY_ID, &statement, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(statement, 1, trilha_text_of(id));
  status = trilha_sqlite_step(c, statement, &found, err);
  if (status != TRILHA_OK || !found) return status;
  status = slice_add(l, statement, err);
  sqlite3_reset(statement);
  return status;
}

trilha_status trilha_sqlite_event_by_id(trilha_store *store, const unsigned char event_id[16], trilha_deadline deadline,
                                        trilha_event_visit visit, void *user, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  slice l = {0};
  trilha_status status = slice_init(&l, 1, err);
  if (status == TRILHA_OK) status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status == TRILHA_OK) {
    status = read_by_id(c, event_id, &l, err);
    trilha_sqlite_read_end(s, c);
  }
  if (status == TRILHA_OK) status = l.count == 0 ? TRILHA_NOT_FOUND : slice_visit(&l, visit, user, err);
  trilha_arena_done(&l.arena);
  return status;
}

trilha_status trilha_sqlite_last_event(trilha_store *store, trilha_deadline deadline, int64_t *ret_sequence,
                                       unsigned char ret_event_id[16], bool *ret_any, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  sqlite3_stmt *statement = NULL;
  bool any = false;
  unsigned char id[16] = {0};
  int64_t sequence = 0;
  status = trilha_sqlite_prepare(c, TRILHA_SQLITE_EVENT_LAST, &statement, err);
  if (status == TRILHA_OK) status = trilha_sqlite_step(c, statement, &any, err);
  if (status == TRILHA_OK && any) {
    sequence = sqlite3_column_int64(statement, 0);
    const char *text = (const char *)sqlite3_column_text(statement, 1);
    if (text == NULL || !trilha_uuid_parse(trilha_text_of(text), id))
      status = trilha_error_set(err, TRILHA_CORRUPT, "STORE_ROW_MALFORMED", "the last event's id cannot be read");
  }
  trilha_sqlite_read_end(s, c);
  if (status != TRILHA_OK) return status;
  *ret_sequence = sequence;
  memcpy(ret_event_id, id, sizeof id);
  *ret_any = any;
  return TRILHA_OK;
}
