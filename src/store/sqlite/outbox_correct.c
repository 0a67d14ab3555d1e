/* store/sqlite/outbox_correct: the revisions of a message, and what its destinations say. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/uuid.h"
#include "store/sqlite/outbox.h"

static void digest_of(trilha_text payload, char hex[2 * TRILHA_SHA256_SIZE + 1]) {
  unsigned char digest[TRILHA_SHA256_SIZE];
  trilha_sha256(payload, digest);
  trilha_hex(digest, sizeof digest, hex);
}

static trilha_status copy_column(sqlite3_stmt *row, int column, char **ret, trilha_error *err) {
  const char *text = (const char *)sqlite3_column_text(row, column);
  *ret = text == NULL ? NULL : strdup(text);
  return text == NULL || *ret != NULL ? TRILHA_OK : trilha_error_no_memory(err);
}

/* --- looking ----------------------------------------------------------------------------------------------------- */

typedef struct revision_listener {
  trilha_outbox_revision_visit visit;
  void *user;
} revision_listener;

static trilha_status tell_revision(sqlite3_stmt *row, void *user) {
  const revision_listener *l = user;
  char at[TRILHA_TIMESTAMP_SIZE], hex[2 * TRILHA_SHA256_SIZE + 1];
  trilha_text payload = trilha_sqlite_borrow(row, 4);
  if (payload.data != NULL) digest_of(payload, hex);
  const trilha_outbox_revision revision = {
      .revision = sqlite3_column_int64(row, 0),
      .at = trilha_sqlite_time_text(row, 1, at),
      .user = trilha_sqlite_borrow(row, 2),
      .reason = trilha_sqlite_borrow(row, 3),
      .payload_bytes = (int64_t)payload.size,
      .payload_sha256 = payload.data == NULL ? (trilha_text){0} : trilha_text_of(hex),
      .diff = trilha_sqlite_borrow(row, 5),
      .accepted = trilha_sqlite_borrow(row, 6)};
  return l->visit(l->user, &revision);
}

trilha_status trilha_sqlite_outbox_revisions(trilha_outbox_store *store, const unsigned char message_id[16],
                                             trilha_outbox_revision_visit visit, void *user, trilha_error *err) {
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(message_id, id);
  revision_listener listener = {visit, user};
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_revisions,
                             .bind = trilha_sqlite_outbox_bind_id,
                             .values = id,
                             .tell = tell_revision,
                             .user = &listener};
  trilha_status status = trilha_sqlite_outbox_read(store, &r, err);
  return status == TRILHA_OK && r.rows == 0 ? trilha_sqlite_outbox_no_message(err) : status;
}

typedef struct receipt_listener {
  trilha_outbox_receipt_visit visit;
  void *user;
  trilha_text message_id;
} receipt_listener;

static trilha_status tell_receipt(sqlite3_stmt *row, void *user) {
  const receipt_listener *l = user;
  char times[2][TRILHA_TIMESTAMP_SIZE];
  const trilha_outbox_receipt receipt = {.message_id = l->message_id,
                                         .destination = trilha_sqlite_borrow(row, 0),
                                         .fact = trilha_sqlite_borrow(row, 1),
                                         .revision = sqlite3_column_int64(row, 2),
                                         .operation_id = trilha_sqlite_borrow(row, 3),
                                         .stated_at = trilha_sqlite_time_text(row, 4, times[0]),
                                         .recorded_at = trilha_sqlite_time_text(row, 5, times[1]),
                                         .source = trilha_sqlite_borrow(row, 6),
                                         .user = trilha_sqlite_borrow(row, 7),
                                         .note = trilha_sqlite_borrow(row, 8)};
  return l->visit(l->user, &receipt);
}

trilha_status trilha_sqlite_outbox_receipts(trilha_outbox_store *store, const unsigned char message_id[16],
                                            trilha_outbox_receipt_visit visit, void *user, trilha_error *err) {
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(message_id, id);
  receipt_listener listener = {visit, user, trilha_text_of(id)};
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_receipts,
                             .bind = trilha_sqlite_outbox_bind_id,
                             .values = id,
                             .tell = tell_receipt,
                             .user = &listener};
  return trilha_sqlite_outbox_read(store, &r, err);
}

/* Where a message stands, inside a write transaction. */
typedef struct place {
  int64_t aggregate_id, sequence, revision, in_flight, waiting, now_us;
  char *accepted; /* malloc, or NULL */
} place;

static trilha_status find_place(trilha_sqlite_connection *c, const char *prefix, const char *id, place *ret,
                                trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  bool row = false;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_place, &find, err);
  if (status != TRILHA_OK) return status;
  ret->now_us = trilha_clock_wall_us();
  trilha_sqlite_bind(find, 1, trilha_text_of(id));
  sqlite3_bind_int64(find, 2, ret->now_us);
  status = trilha_sqlite_step(c, find, &row, err);
  if (status != TRILHA_OK) return status;
  if (!row) return trilha_sqlite_outbox_no_message(err);
  ret->aggregate_id = sqlite3_column_int64(find, 0);
  ret->sequence = sqlite3_column_int64(find, 1);
  ret->revision = sqlite3_column_int64(find, 2);
  ret->in_flight = sqlite3_column_int64(find, 3);
  ret->waiting = sqlite3_column_int64(find, 4);
  return copy_column(find, 5, &ret->accepted, err);
}

static trilha_status note_for(trilha_sqlite_connection *c, const char *prefix, const place *at, const char *action,
                              const char *id, trilha_text user, trilha_text reason, trilha_error *err) {
  const trilha_sqlite_trail trail = {.action = action,
                                     .id = id,
                                     .destination = -1,
                                     .aggregate_id = at->aggregate_id,
                                     .sequence = at->sequence,
                                     .now_us = at->now_us,
                                     .user = user,
                                     .reason = reason};
  return trilha_sqlite_outbox_note(c, prefix, &trail, err);
}

static trilha_status read_content(trilha_sqlite_connection *c, const char *prefix, const char *id, int64_t revision,
                                  char **ret_payload, int64_t *ret_revision, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *content = NULL;
  bool row = false;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_content, &content, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(content, 1, trilha_text_of(id));
  if (revision != 0) sqlite3_bind_int64(content, 2, revision);
  status = trilha_sqlite_step(c, content, &row, err);
  if (status != TRILHA_OK) return status;
  if (!row) return trilha_error_set(err, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", "the message has no such revision");
  *ret_revision = sqlite3_column_int64(content, 0);
  return copy_column(content, 1, ret_payload, err);
}

trilha_status trilha_sqlite_outbox_reveal(trilha_outbox_store *store, const unsigned char message_id[16],
                                          int64_t revision, trilha_text user, trilha_text reason, char **ret_payload,
                                          int64_t *ret_revision, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  char id[TRILHA_UUID_TEXT_SIZE], *payload = NULL;
  place at = {0};
  trilha_uuid_format(message_id, id);
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  status = find_place(c, o->prefix, id, &at, err);
  if (status == TRILHA_OK) status = read_content(c, o->prefix, id, revision, &payload, ret_revision, err);
  if (status == TRILHA_OK)
    status = note_for(c, o->prefix, &at, "trilha.outbox-message.revealed", id, user, reason, err);
  status = trilha_sqlite_outbox_end(o, status, err);
  free(at.accepted);
  if (status == TRILHA_OK)
    *ret_payload = payload;
  else
    free(payload);
  return status;
}

/* --- correcting -------------------------------------------------------------------------------------------------- */

static trilha_status judge_place(const place *at, int64_t revision, trilha_error *err) {
  if (at->in_flight)
    return trilha_error_set(err, TRILHA_CONFLICT, "MESSAGE_IN_FLIGHT",
                            "a worker has the message under its lease: correct it when the attempt is over");
  if (at->revision != revision)
    return trilha_error_set(err, TRILHA_CONFLICT, "REVISION_CHANGED",
                            "the message has another revision by now: look at it again");
  if (at->waiting == 0)
    return trilha_error_set(err, TRILHA_CONFLICT, "MESSAGE_FINISHED", "no destination waits for this message any more");
  return TRILHA_OK;
}

static trilha_status tell_conflicts(trilha_sqlite_connection *c, const char *prefix, const place *at, const char *id,
                                    trilha_text user, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *conflicts = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_conflicts, &conflicts, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(conflicts, 1, trilha_text_of(id));
  sqlite3_bind_int64(conflicts, 2, at->revision);
  sqlite3_bind_int64(conflicts, 3, at->now_us);
  trilha_sqlite_bind(conflicts, 4, user);
  return trilha_sqlite_outbox_run(c, conflicts, NULL, err);
}

static trilha_status revise(trilha_sqlite_connection *c, const char *prefix, const place *at, const char *id,
                            const trilha_outbox_correction *correction, trilha_text diff, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *revise = NULL;
  int changes = 0;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_revise, &revise, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(revise, 1, trilha_text_of(id));
  sqlite3_bind_int64(revise, 2, at->revision + 1);
  sqlite3_bind_int64(revise, 3, at->now_us);
  trilha_sqlite_bind(revise, 4, correction->user);
  trilha_sqlite_bind(revise, 5, correction->reason);
  trilha_sqlite_bind(revise, 6, diff);
  if (at->accepted != NULL) trilha_sqlite_bind(revise, 7, trilha_text_of(at->accepted));
  trilha_sqlite_bind(revise, 8, correction->payload);
  status = trilha_sqlite_outbox_run(c, revise, &changes, err);
  if (status != TRILHA_OK || changes == 1) return status;
  return trilha_error_set(err, TRILHA_INVALID, "MESSAGE_REFUSED",
                          "payload must be a JSON object of at most 1048576 bytes");
}

/* One of the two updates of lanes at this place. */
static trilha_status update_lanes(trilha_sqlite_connection *c, const char *prefix, const char *query, const place *at,
                                  int *ret_changes, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *update = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, query, &update, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(update, 1, at->aggregate_id);
  sqlite3_bind_int64(update, 2, at->sequence);
  sqlite3_bind_int64(update, 3, at->now_us);
  return trilha_sqlite_outbox_run(c, update, ret_changes, err);
}

static trilha_status make_due(trilha_sqlite_connection *c, const char *prefix, const place *at, int64_t *ret_revived,
                              trilha_error *err) {
  int changes = 0;
  trilha_status status = update_lanes(c, prefix, trilha_sql_sqlite_outbox_fence_off, at, NULL, err);
  if (status == TRILHA_OK) status = update_lanes(c, prefix, trilha_sql_sqlite_outbox_corrected, at, &changes, err);
  *ret_revived = changes;
  return status;
}

trilha_status trilha_sqlite_outbox_correct(trilha_outbox_store *store, const unsigned char message_id[16],
                                           const trilha_outbox_correction *correction, trilha_text diff,
                                           trilha_outbox_corrected *ret, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  char id[TRILHA_UUID_TEXT_SIZE];
  place at = {0};
  trilha_uuid_format(message_id, id);
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  status = find_place(c, o->prefix, id, &at, err);
  if (status == TRILHA_OK) status = judge_place(&at, correction->revision, err);
  if (status == TRILHA_OK) status = tell_conflicts(c, o->prefix, &at, id, correction->user, err);
  if (status == TRILHA_OK) status = revise(c, o->prefix, &at, id, correction, diff, err);
  if (status == TRILHA_OK) status = make_due(c, o->prefix, &at, &ret->revived, err);
  if (status == TRILHA_OK)
    status =
        note_for(c, o->prefix, &at, "trilha.outbox-message.corrected", id, correction->user, correction->reason, err);
  status = trilha_sqlite_outbox_end(o, status, err);
  if (status != TRILHA_OK) {
    free(at.accepted);
    return status;
  }
  ret->revision = at.revision + 1;
  ret->accepted = at.accepted;
  return TRILHA_OK;
}

/* --- what destinations say --------------------------------------------------------------------------------------- */

static trilha_status check_revision(trilha_sqlite_connection *c, const char *prefix, const char *id,
                                    int64_t destination, int64_t revision, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  bool any = false;
  int64_t last = 0;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_goes_to, &find, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(find, 1, trilha_text_of(id));
  sqlite3_bind_int64(find, 2, destination);
  status = trilha_sqlite_value(c, find, &last, &any, err);
  if (status != TRILHA_OK) return status;
  if (!any)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND",
                            "this outbox has no message with this id for this destination");
  if (revision < 0 || revision > last)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", "the message has no such revision");
  return TRILHA_OK;
}

static trilha_status record_in(trilha_sqlite_connection *c, const char *prefix, const char *id,
                               const trilha_outbox_receipt *receipt, int64_t stated_us, bool *ret_new,
                               trilha_error *err) {
  TRILHA_SQLITE_SCOPED *add = NULL;
  int64_t destination = 0, now_us = trilha_clock_wall_us();
  int changes = 0;
  trilha_status status = trilha_sqlite_outbox_destination(c, prefix, receipt->destination, &destination, err);
  if (status == TRILHA_OK) status = check_revision(c, prefix, id, destination, receipt->revision, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_receipt_add, &add, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(add, 1, trilha_text_of(id));
  sqlite3_bind_int64(add, 2, destination);
  trilha_sqlite_bind(add, 3, receipt->fact);
  if (receipt->revision != 0) sqlite3_bind_int64(add, 4, receipt->revision);
  trilha_sqlite_bind(add, 5, receipt->operation_id);
  sqlite3_bind_int64(add, 6, stated_us == 0 ? now_us : stated_us);
  sqlite3_bind_int64(add, 7, now_us);
  trilha_sqlite_bind(add, 8, receipt->source);
  trilha_sqlite_bind(add, 9, receipt->user);
  trilha_sqlite_bind(add, 10, receipt->note);
  status = trilha_sqlite_outbox_run(c, add, &changes, err);
  *ret_new = changes == 1;
  return status;
}

trilha_status trilha_sqlite_outbox_record(trilha_outbox_store *store, const unsigned char message_id[16],
                                          const trilha_outbox_receipt *receipt, int64_t stated_us, bool *ret_new,
                                          trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(message_id, id);
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, record_in(c, o->prefix, id, receipt, stated_us, ret_new, err), err);
}
