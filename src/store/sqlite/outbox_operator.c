/* store/sqlite/outbox_operator: what operators see and do. */
#include <stdio.h>

#include "base/hash.h"
#include "base/uuid.h"
#include "store/sqlite/outbox.h"

enum { TIMES_MAX = 4 };

static trilha_text time_of(sqlite3_stmt *row, int column, char out[TRILHA_TIMESTAMP_SIZE]) {
  if (sqlite3_column_type(row, column) == SQLITE_NULL) return (trilha_text){0};
  trilha_timestamp_format(sqlite3_column_int64(row, column), out);
  return trilha_text_of(out);
}

/* A read transaction around one statement, whose rows go to `tell`. */
typedef trilha_status (*row_teller)(sqlite3_stmt *row, void *user);
typedef struct reading {
  const char *query;
  void (*bind)(sqlite3_stmt *statement, const void *values);
  const void *values;
  row_teller tell;
  void *user;
  size_t rows; /* out */
} reading;

static trilha_status read_in(trilha_sqlite_connection *c, const char *prefix, reading *r, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *statement = NULL;
  bool row = false;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, r->query, &statement, err);
  if (status != TRILHA_OK) return status;
  if (r->bind != NULL) r->bind(statement, r->values);
  status = trilha_sqlite_step(c, statement, &row, err);
  while (status == TRILHA_OK && row) {
    r->rows++;
    status = r->tell(statement, r->user);
    if (status == TRILHA_OK) status = trilha_sqlite_step(c, statement, &row, err);
  }
  return status;
}

static trilha_status read_rows(trilha_outbox_store *store, reading *r, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(o->s, trilha_deadline_in_ms(o->s->lock_timeout_ms), &c, err);
  if (status != TRILHA_OK) return status;
  status = read_in(c, o->prefix, r, err);
  trilha_sqlite_read_end(o->s, c);
  return status;
}

/* --- routes and standing -------------------------------------------------------------------------------------------
 */

typedef struct route_listener {
  trilha_outbox_route_visit visit;
  void *user;
} route_listener;

static trilha_status tell_route(sqlite3_stmt *row, void *user) {
  const route_listener *l = user;
  return l->visit(l->user, trilha_sqlite_borrow(row, 0), trilha_sqlite_borrow(row, 1));
}

trilha_status trilha_sqlite_outbox_routes(trilha_outbox_store *store, trilha_outbox_route_visit visit, void *user,
                                          trilha_error *err) {
  route_listener listener = {visit, user};
  reading r = {.query = trilha_sql_sqlite_outbox_routes, .tell = tell_route, .user = &listener};
  return read_rows(store, &r, err);
}

typedef struct standing_listener {
  trilha_outbox_standing_visit visit;
  void *user;
} standing_listener;

static trilha_status tell_standing(sqlite3_stmt *row, void *user) {
  const standing_listener *l = user;
  char head_at[TRILHA_TIMESTAMP_SIZE];
  const trilha_outbox_standing standing = {.destination = trilha_sqlite_borrow(row, 0),
                                           .ready = sqlite3_column_int64(row, 1),
                                           .waiting = sqlite3_column_int64(row, 2),
                                           .leased = sqlite3_column_int64(row, 3),
                                           .dead = sqlite3_column_int64(row, 4),
                                           .head_at = time_of(row, 5, head_at)};
  return l->visit(l->user, &standing);
}

trilha_status trilha_sqlite_outbox_status(trilha_outbox_store *store, trilha_outbox_standing_visit visit, void *user,
                                          trilha_error *err) {
  standing_listener listener = {visit, user};
  reading r = {.query = trilha_sql_sqlite_outbox_status, .tell = tell_standing, .user = &listener};
  return read_rows(store, &r, err);
}

/* --- lanes ---------------------------------------------------------------------------------------------------------
 */

typedef struct lane_listener {
  trilha_outbox_lane_visit visit;
  void *user;
} lane_listener;

static void bind_filter(sqlite3_stmt *statement, const void *values) {
  const trilha_outbox_lanes_filter *filter = values;
  trilha_sqlite_bind(statement, 1, filter->tenant_id);
  trilha_sqlite_bind(statement, 2, filter->destination);
  trilha_sqlite_bind(statement, 3, filter->status);
  sqlite3_bind_int64(statement, 4, filter->limit);
  sqlite3_bind_int64(statement, 5, trilha_clock_wall_us());
}

static trilha_status tell_lane(sqlite3_stmt *row, void *user) {
  const lane_listener *l = user;
  char times[2][TRILHA_TIMESTAMP_SIZE];
  const trilha_outbox_lane lane = {.destination = trilha_sqlite_borrow(row, 0),
                                   .tenant_id = trilha_sqlite_borrow(row, 1),
                                   .aggregate_type = trilha_sqlite_borrow(row, 2),
                                   .aggregate_key = trilha_sqlite_borrow(row, 3),
                                   .status = trilha_sqlite_borrow(row, 4),
                                   .head_sequence = sqlite3_column_int64(row, 5),
                                   .message_id = trilha_sqlite_borrow(row, 6),
                                   .message_type = trilha_sqlite_borrow(row, 7),
                                   .attempts = sqlite3_column_int64(row, 8),
                                   .due_at = time_of(row, 9, times[0]),
                                   .owner = trilha_sqlite_borrow(row, 10),
                                   .error_code = trilha_sqlite_borrow(row, 11),
                                   .error_text = trilha_sqlite_borrow(row, 12),
                                   .behind = sqlite3_column_int64(row, 13),
                                   .head_at = time_of(row, 14, times[1])};
  return l->visit(l->user, &lane);
}

trilha_status trilha_sqlite_outbox_lanes(trilha_outbox_store *store, const trilha_outbox_lanes_filter *filter,
                                         trilha_outbox_lane_visit visit, void *user, trilha_error *err) {
  lane_listener listener = {visit, user};
  reading r = {.query = trilha_sql_sqlite_outbox_lanes,
               .bind = bind_filter,
               .values = filter,
               .tell = tell_lane,
               .user = &listener};
  return read_rows(store, &r, err);
}

/* --- one message ---------------------------------------------------------------------------------------------------
 */

typedef struct entry_listener {
  trilha_outbox_entry_visit visit;
  void *user;
} entry_listener;

static void bind_id(sqlite3_stmt *statement, const void *values) {
  trilha_sqlite_bind(statement, 1, trilha_text_of(values));
}

static trilha_status tell_entry(sqlite3_stmt *row, void *user) {
  const entry_listener *l = user;
  char times[TIMES_MAX][TRILHA_TIMESTAMP_SIZE], hex[2 * TRILHA_SHA256_SIZE + 1];
  unsigned char digest[TRILHA_SHA256_SIZE];
  trilha_text payload = trilha_sqlite_borrow(row, 13);
  trilha_sha256(payload, digest);
  trilha_hex(digest, sizeof digest, hex);
  const trilha_outbox_entry entry = {.tenant_id = trilha_sqlite_borrow(row, 0),
                                     .company_id = trilha_sqlite_borrow(row, 1),
                                     .aggregate_type = trilha_sqlite_borrow(row, 2),
                                     .aggregate_key = trilha_sqlite_borrow(row, 3),
                                     .aggregate_sequence = sqlite3_column_int64(row, 4),
                                     .message_type = trilha_sqlite_borrow(row, 5),
                                     .version = trilha_sqlite_borrow(row, 6),
                                     .origin = trilha_sqlite_borrow(row, 7),
                                     .correlation_id = trilha_sqlite_borrow(row, 8),
                                     .causation_id = trilha_sqlite_borrow(row, 9),
                                     .traceparent = trilha_sqlite_borrow(row, 10),
                                     .occurred_at = time_of(row, 11, times[0]),
                                     .created_at = time_of(row, 12, times[1]),
                                     .payload_bytes = (int64_t)payload.size,
                                     .payload_sha256 = trilha_text_of(hex),
                                     .destination = trilha_sqlite_borrow(row, 14),
                                     .status = trilha_sqlite_borrow(row, 15),
                                     .attempts = sqlite3_column_int64(row, 16),
                                     .next_attempt_at = time_of(row, 17, times[2]),
                                     .lease_until = time_of(row, 18, times[3])};
  return l->visit(l->user, &entry);
}

static trilha_status not_found(trilha_error *err) {
  return trilha_error_set(err, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", "this outbox has no message with this id");
}

trilha_status trilha_sqlite_outbox_message(trilha_outbox_store *store, const unsigned char message_id[16],
                                           trilha_outbox_entry_visit visit, void *user, trilha_error *err) {
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(message_id, id);
  entry_listener listener = {visit, user};
  reading r = {
      .query = trilha_sql_sqlite_outbox_message, .bind = bind_id, .values = id, .tell = tell_entry, .user = &listener};
  trilha_status status = read_rows(store, &r, err);
  return status == TRILHA_OK && r.rows == 0 ? not_found(err) : status;
}

/* --- retry and discard ---------------------------------------------------------------------------------------------
 */

typedef struct dead_head {
  int64_t destination, aggregate_id, sequence;
} dead_head;

static trilha_status find_dead(trilha_sqlite_connection *c, const char *prefix, const char *id, dead_head *ret,
                               trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  bool row = false;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_find, &find, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(find, 1, trilha_text_of(id));
  sqlite3_bind_int64(find, 2, ret->destination);
  status = trilha_sqlite_step(c, find, &row, err);
  if (status != TRILHA_OK) return status;
  if (!row) return not_found(err);
  ret->aggregate_id = sqlite3_column_int64(find, 0);
  ret->sequence = sqlite3_column_int64(find, 1);
  if (trilha_text_is(trilha_sqlite_borrow(find, 2), "X")) return TRILHA_OK;
  return trilha_error_set(
      err, TRILHA_CONFLICT, "LANE_NOT_DEAD",
      "the message is not a dead letter at the head of its lane: only such a one can be retried or discarded");
}

static trilha_status revive(trilha_sqlite_connection *c, const char *prefix, const dead_head *head, bool discard,
                            int64_t now_us, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *revived = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_revive, &revived, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(revived, 1, head->destination);
  sqlite3_bind_int64(revived, 2, head->aggregate_id);
  sqlite3_bind_int64(revived, 3, head->sequence + (discard ? 1 : 0));
  sqlite3_bind_int64(revived, 4, now_us);
  return trilha_sqlite_outbox_run(c, revived, NULL, err);
}

static trilha_status note(trilha_sqlite_connection *c, const char *prefix, const dead_head *head, const char *id,
                          const trilha_outbox_operation *operation, bool discard, int64_t now_us, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *insert = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_operation, &insert, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(insert, 1, now_us);
  trilha_sqlite_bind(
      insert, 2,
      discard ? TRILHA_TEXT("trilha.outbox-message.discarded") : TRILHA_TEXT("trilha.outbox-message.retried"));
  sqlite3_bind_int64(insert, 3, head->destination);
  sqlite3_bind_int64(insert, 4, head->aggregate_id);
  sqlite3_bind_int64(insert, 5, head->sequence);
  trilha_sqlite_bind(insert, 6, trilha_text_of(id));
  trilha_sqlite_bind(insert, 7, operation->user);
  trilha_sqlite_bind(insert, 8, operation->reason);
  trilha_sqlite_bind(insert, 9, operation->reconciliation);
  return trilha_sqlite_outbox_run(c, insert, NULL, err);
}

trilha_status trilha_sqlite_outbox_operate(trilha_outbox_store *store, const unsigned char message_id[16],
                                           const trilha_outbox_operation *operation, bool discard, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  char id[TRILHA_UUID_TEXT_SIZE];
  dead_head head = {0};
  trilha_uuid_format(message_id, id);
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  int64_t now_us = trilha_clock_wall_us();
  status = trilha_sqlite_outbox_destination(c, o->prefix, operation->destination, &head.destination, err);
  if (status == TRILHA_OK) status = find_dead(c, o->prefix, id, &head, err);
  if (status == TRILHA_OK) status = revive(c, o->prefix, &head, discard, now_us, err);
  if (status == TRILHA_OK) status = note(c, o->prefix, &head, id, operation, discard, now_us, err);
  return trilha_sqlite_outbox_end(o, status, err);
}
