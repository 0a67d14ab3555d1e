/* store/sqlite/outbox_operator: what operators see and do. */
#include <stdio.h>

#include "base/hash.h"
#include "base/uuid.h"
#include "store/sqlite/outbox.h"

enum { TIMES_MAX = 8 };

static trilha_status read_in(trilha_sqlite_connection *c, const char *prefix, trilha_sqlite_reading *r,
                             trilha_error *err) {
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

trilha_status trilha_sqlite_outbox_read(trilha_outbox_store *store, trilha_sqlite_reading *r, trilha_error *err) {
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
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_routes, .tell = tell_route, .user = &listener};
  return trilha_sqlite_outbox_read(store, &r, err);
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
                                           .head_at = trilha_sqlite_time_text(row, 5, head_at),
                                           .held = sqlite3_column_int64(row, 6),
                                           .held_because = trilha_sqlite_borrow(row, 7)};
  return l->visit(l->user, &standing);
}

static void bind_now(sqlite3_stmt *statement, const void *values) {
  sqlite3_bind_int64(statement, 1, *(const int64_t *)values);
}

trilha_status trilha_sqlite_outbox_status(trilha_outbox_store *store, trilha_outbox_standing_visit visit, void *user,
                                          trilha_error *err) {
  standing_listener listener = {visit, user};
  int64_t now_us = trilha_clock_wall_us();
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_status,
                             .bind = bind_now,
                             .values = &now_us,
                             .tell = tell_standing,
                             .user = &listener};
  return trilha_sqlite_outbox_read(store, &r, err);
}

/* --- lanes ---------------------------------------------------------------------------------------------------------
 */

typedef struct lane_listener {
  trilha_outbox_lane_visit visit;
  void *user;
} lane_listener;

typedef struct lanes_asked {
  const trilha_outbox_lanes_filter *filter;
  int64_t before_us; /* INT64_MAX: whenever */
} lanes_asked;

static void bind_filter(sqlite3_stmt *statement, const void *values) {
  const lanes_asked *asked = values;
  const trilha_outbox_lanes_filter *filter = asked->filter;
  trilha_sqlite_bind(statement, 1, filter->tenant_id);
  trilha_sqlite_bind(statement, 2, filter->destination);
  trilha_sqlite_bind(statement, 3, filter->status);
  sqlite3_bind_int64(statement, 4, filter->limit);
  sqlite3_bind_int64(statement, 5, trilha_clock_wall_us());
  trilha_sqlite_bind(statement, 6, filter->error_code);
  if (asked->before_us != INT64_MAX) sqlite3_bind_int64(statement, 7, asked->before_us);
  if (filter->by_place) sqlite3_bind_int64(statement, 8, filter->after_place);
}

static trilha_status tell_lane(sqlite3_stmt *row, void *user) {
  const lane_listener *l = user;
  char times[3][TRILHA_TIMESTAMP_SIZE];
  const trilha_outbox_lane lane = {.destination = trilha_sqlite_borrow(row, 0),
                                   .tenant_id = trilha_sqlite_borrow(row, 1),
                                   .aggregate_type = trilha_sqlite_borrow(row, 2),
                                   .aggregate_key = trilha_sqlite_borrow(row, 3),
                                   .status = trilha_sqlite_borrow(row, 4),
                                   .head_sequence = sqlite3_column_int64(row, 5),
                                   .message_id = trilha_sqlite_borrow(row, 6),
                                   .message_type = trilha_sqlite_borrow(row, 7),
                                   .attempts = sqlite3_column_int64(row, 8),
                                   .due_at = trilha_sqlite_time_text(row, 9, times[0]),
                                   .owner = trilha_sqlite_borrow(row, 10),
                                   .error_code = trilha_sqlite_borrow(row, 11),
                                   .error_text = trilha_sqlite_borrow(row, 12),
                                   .behind = sqlite3_column_int64(row, 13),
                                   .head_at = trilha_sqlite_time_text(row, 14, times[1]),
                                   .failed_at = trilha_sqlite_time_text(row, 15, times[2]),
                                   .place = sqlite3_column_int64(row, 16),
                                   .held = trilha_sqlite_borrow(row, 17)};
  return l->visit(l->user, &lane);
}

trilha_status trilha_sqlite_outbox_lanes(trilha_outbox_store *store, const trilha_outbox_lanes_filter *filter,
                                         int64_t before_us, trilha_outbox_lane_visit visit, void *user,
                                         trilha_error *err) {
  lane_listener listener = {visit, user};
  const lanes_asked asked = {filter, before_us};
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_lanes,
                             .bind = bind_filter,
                             .values = &asked,
                             .tell = tell_lane,
                             .user = &listener};
  return trilha_sqlite_outbox_read(store, &r, err);
}

/* --- one message ---------------------------------------------------------------------------------------------------
 */

typedef struct entry_listener {
  trilha_outbox_entry_visit visit;
  void *user;
} entry_listener;

void trilha_sqlite_outbox_bind_id(sqlite3_stmt *statement, const void *values) {
  trilha_sqlite_bind(statement, 1, trilha_text_of(values));
}

static void bind_id_and_now(sqlite3_stmt *statement, const void *values) {
  trilha_sqlite_outbox_bind_id(statement, values);
  sqlite3_bind_int64(statement, 2, trilha_clock_wall_us());
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
                                     .occurred_at = trilha_sqlite_time_text(row, 11, times[0]),
                                     .created_at = trilha_sqlite_time_text(row, 12, times[1]),
                                     .payload_bytes = (int64_t)payload.size,
                                     .payload_sha256 = trilha_text_of(hex),
                                     .revision = sqlite3_column_int64(row, 14),
                                     .destination = trilha_sqlite_borrow(row, 15),
                                     .status = trilha_sqlite_borrow(row, 16),
                                     .attempts = sqlite3_column_int64(row, 17),
                                     .next_attempt_at = trilha_sqlite_time_text(row, 18, times[2]),
                                     .lease_until = trilha_sqlite_time_text(row, 19, times[3]),
                                     .dispatched_at = trilha_sqlite_time_text(row, 20, times[4]),
                                     .dispatched_revision = sqlite3_column_int64(row, 21),
                                     .received_at = trilha_sqlite_time_text(row, 22, times[5]),
                                     .applied_at = trilha_sqlite_time_text(row, 23, times[6]),
                                     .said = trilha_sqlite_borrow(row, 24),
                                     .said_at = trilha_sqlite_time_text(row, 25, times[7]),
                                     .held = trilha_sqlite_borrow(row, 26)};
  return l->visit(l->user, &entry);
}

trilha_status trilha_sqlite_outbox_no_message(trilha_error *err) {
  return trilha_error_set(err, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", "this outbox has no message with this id");
}

trilha_status trilha_sqlite_outbox_message(trilha_outbox_store *store, const unsigned char message_id[16],
                                           trilha_outbox_entry_visit visit, void *user, trilha_error *err) {
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(message_id, id);
  entry_listener listener = {visit, user};
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_message,
                             .bind = bind_id_and_now,
                             .values = id,
                             .tell = tell_entry,
                             .user = &listener};
  trilha_status status = trilha_sqlite_outbox_read(store, &r, err);
  return status == TRILHA_OK && r.rows == 0 ? trilha_sqlite_outbox_no_message(err) : status;
}

/* --- retry and discard ---------------------------------------------------------------------------------------------
 */

typedef struct dead_head {
  int64_t destination, aggregate_id, sequence, failed_us;
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
  if (!row) return trilha_sqlite_outbox_no_message(err);
  ret->aggregate_id = sqlite3_column_int64(find, 0);
  ret->sequence = sqlite3_column_int64(find, 1);
  ret->failed_us = sqlite3_column_int64(find, 3);
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

trilha_status trilha_sqlite_outbox_note(trilha_sqlite_connection *c, const char *prefix,
                                        const trilha_sqlite_trail *trail, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *insert = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_operation, &insert, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(insert, 1, trail->now_us);
  trilha_sqlite_bind(insert, 2, trilha_text_of(trail->action));
  if (trail->destination >= 0) sqlite3_bind_int64(insert, 3, trail->destination);
  sqlite3_bind_int64(insert, 4, trail->aggregate_id);
  sqlite3_bind_int64(insert, 5, trail->sequence);
  trilha_sqlite_bind(insert, 6, trilha_text_of(trail->id));
  trilha_sqlite_bind(insert, 7, trail->user);
  trilha_sqlite_bind(insert, 8, trail->reason);
  trilha_sqlite_bind(insert, 9, trail->reconciliation);
  return trilha_sqlite_outbox_run(c, insert, NULL, err);
}

/* What the destination says of a message that is given up: in the operator's words, since it failed, or knowingly not
 * at all. The arena owns the text. */
static trilha_status reconciliation_of(trilha_sqlite_connection *c, const char *prefix, const dead_head *head,
                                       const char *id, const trilha_outbox_operation *operation, trilha_arena *arena,
                                       trilha_text *ret, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *said = NULL;
  bool row = false;
  *ret = operation->reconciliation;
  if (ret->size > 0) return TRILHA_OK;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_said, &said, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(said, 1, trilha_text_of(id));
  sqlite3_bind_int64(said, 2, head->destination);
  sqlite3_bind_int64(said, 3, head->failed_us);
  status = trilha_sqlite_step(c, said, &row, err);
  if (status == TRILHA_OK && row) {
    const char *text = trilha_arena_copy(arena, trilha_sqlite_borrow(said, 0));
    *ret = trilha_text_of(text);
    return text == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
  }
  *ret = TRILHA_TEXT("the destination was not asked (override)");
  if (status != TRILHA_OK || operation->override_reconciliation) return status;
  return trilha_error_set(
      err, TRILHA_CONFLICT, "RECONCILIATION_MISSING",
      "nothing says what the destination knows of this message since it failed: reconcile it, state it, or override");
}

static trilha_status operate_in(trilha_sqlite_connection *c, const char *prefix, const char *id,
                                const trilha_outbox_operation *operation, bool discard, trilha_arena *arena,
                                trilha_error *err) {
  dead_head head = {0};
  trilha_sqlite_trail trail = {.action = discard ? "trilha.outbox-message.discarded" : "trilha.outbox-message.retried",
                               .id = id,
                               .user = operation->user,
                               .reason = operation->reason,
                               .now_us = trilha_clock_wall_us()};
  trilha_status status = trilha_sqlite_outbox_destination(c, prefix, operation->destination, &head.destination, err);
  if (status == TRILHA_OK) status = find_dead(c, prefix, id, &head, err);
  if (status == TRILHA_OK && discard)
    status = reconciliation_of(c, prefix, &head, id, operation, arena, &trail.reconciliation, err);
  if (status == TRILHA_OK) status = revive(c, prefix, &head, discard, trail.now_us, err);
  trail.destination = head.destination;
  trail.aggregate_id = head.aggregate_id;
  trail.sequence = head.sequence;
  return status == TRILHA_OK ? trilha_sqlite_outbox_note(c, prefix, &trail, err) : status;
}

trilha_status trilha_sqlite_outbox_operate(trilha_outbox_store *store, const unsigned char message_id[16],
                                           const trilha_outbox_operation *operation, bool discard, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  char id[TRILHA_UUID_TEXT_SIZE];
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_uuid_format(message_id, id);
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, operate_in(c, o->prefix, id, operation, discard, &arena, err), err);
}
