/* store/postgres/outbox_operator: what operators see and do. */
#include <string.h>

#include "base/error.h"
#include "base/uuid.h"
#include "outbox.h"

/* --- what operators see
 * ------------------------------------------------------------------------------------------------- */

enum { TEXTS_MAX = 8 };

/* Times and ids of one row as text. */
typedef struct row_texts {
  char times[TEXTS_MAX][TRILHA_TIMESTAMP_SIZE];
  char ids[TEXTS_MAX][TRILHA_UUID_TEXT_SIZE];
} row_texts;

static trilha_status not_found(trilha_error *err) {
  return trilha_error_set(err, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", "this outbox has no message with this id");
}

/* `none` stands for NULL. */
static void add_time(trilha_pg_parameters *p, int64_t us, int64_t none) {
  if (us == none)
    trilha_pg_add_null(p, TRILHA_PG_TIMESTAMPTZ);
  else
    trilha_pg_add_time(p, us);
}

/* 0: NULL. */
static void add_revision(trilha_pg_parameters *p, int64_t revision) {
  if (revision == 0)
    trilha_pg_add_null(p, TRILHA_PG_INT8);
  else
    trilha_pg_add_i64(p, revision);
}

static trilha_status call_for(trilha_outbox_store *store, const char *query, const unsigned char message_id[16],
                              PGresult **ret_result, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, message_id);
  return trilha_pg_outbox_call(trilha_pg_outbox_of(store), query, &p, ret_result, err);
}

static trilha_text time_text(const PGresult *r, int row, int column, char out[TRILHA_TIMESTAMP_SIZE]) {
  if (PQgetisnull(r, row, column)) return (trilha_text){0};
  trilha_timestamp_format(trilha_pg_get_time(r, row, column), out);
  return trilha_text_of(out);
}

static trilha_text id_text(const PGresult *r, int row, int column, char out[TRILHA_UUID_TEXT_SIZE]) {
  unsigned char id[16];
  if (!trilha_pg_get_uuid(r, row, column, id)) return (trilha_text){0};
  trilha_uuid_format(id, out);
  return trilha_text_of(out);
}

trilha_status trilha_pg_outbox_status(trilha_outbox_store *store, trilha_outbox_standing_visit visit, void *user,
                                      trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_status, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char head_at[TRILHA_TIMESTAMP_SIZE];
    const trilha_outbox_standing standing = {.destination = trilha_pg_get_text(r, i, 0),
                                             .ready = trilha_pg_get_i64(r, i, 1),
                                             .waiting = trilha_pg_get_i64(r, i, 2),
                                             .leased = trilha_pg_get_i64(r, i, 3),
                                             .dead = trilha_pg_get_i64(r, i, 4),
                                             .head_at = time_text(r, i, 5, head_at),
                                             .held = trilha_pg_get_i64(r, i, 6),
                                             .held_because = trilha_pg_get_text(r, i, 7)};
    status = visit(user, &standing);
  }
  return status;
}

static void read_lane(const PGresult *r, int i, row_texts *texts, trilha_outbox_lane *out) {
  *out = (trilha_outbox_lane){.destination = trilha_pg_get_text(r, i, 0),
                              .tenant_id = trilha_pg_get_text(r, i, 1),
                              .aggregate_type = trilha_pg_get_text(r, i, 2),
                              .aggregate_key = trilha_pg_get_text(r, i, 3),
                              .status = trilha_pg_get_text(r, i, 4),
                              .head_sequence = trilha_pg_get_i64(r, i, 5),
                              .message_id = id_text(r, i, 6, texts->ids[0]),
                              .message_type = trilha_pg_get_text(r, i, 7),
                              .attempts = trilha_pg_get_i64(r, i, 8),
                              .due_at = time_text(r, i, 9, texts->times[0]),
                              .owner = trilha_pg_get_text(r, i, 10),
                              .error_code = trilha_pg_get_text(r, i, 11),
                              .error_text = trilha_pg_get_text(r, i, 12),
                              .behind = trilha_pg_get_i64(r, i, 13),
                              .head_at = time_text(r, i, 14, texts->times[1]),
                              .failed_at = time_text(r, i, 15, texts->times[2]),
                              .place = trilha_pg_get_i64(r, i, 16),
                              .held = trilha_pg_get_text(r, i, 17)};
}

trilha_status trilha_pg_outbox_lanes(trilha_outbox_store *store, const trilha_outbox_lanes_filter *filter,
                                     int64_t before_us, trilha_outbox_lane_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, filter->tenant_id);
  trilha_pg_add_text(&p, filter->destination);
  trilha_pg_add_text(&p, filter->status);
  trilha_pg_add_text(&p, filter->error_code);
  add_time(&p, before_us, INT64_MAX);
  trilha_pg_add_i64(&p, filter->limit);
  if (filter->by_place)
    trilha_pg_add_i64(&p, filter->after_place);
  else
    trilha_pg_add_null(&p, TRILHA_PG_INT8);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_lanes, &p, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    row_texts texts;
    trilha_outbox_lane lane;
    read_lane(r, i, &texts, &lane);
    status = visit(user, &lane);
  }
  return status;
}

static void read_entry(const PGresult *r, int i, row_texts *texts, trilha_outbox_entry *out) {
  *out = (trilha_outbox_entry){.tenant_id = trilha_pg_get_text(r, i, 0),
                               .company_id = trilha_pg_get_text(r, i, 1),
                               .aggregate_type = trilha_pg_get_text(r, i, 2),
                               .aggregate_key = trilha_pg_get_text(r, i, 3),
                               .aggregate_sequence = trilha_pg_get_i64(r, i, 4),
                               .message_type = trilha_pg_get_text(r, i, 5),
                               .version = trilha_pg_get_text(r, i, 6),
                               .origin = trilha_pg_get_text(r, i, 7),
                               .correlation_id = id_text(r, i, 8, texts->ids[0]),
                               .causation_id = id_text(r, i, 9, texts->ids[1]),
                               .traceparent = trilha_pg_get_text(r, i, 10),
                               .occurred_at = time_text(r, i, 11, texts->times[0]),
                               .created_at = time_text(r, i, 12, texts->times[1]),
                               .payload_bytes = trilha_pg_get_i64(r, i, 13),
                               .payload_sha256 = trilha_pg_get_text(r, i, 14),
                               .revision = trilha_pg_get_i64(r, i, 15),
                               .destination = trilha_pg_get_text(r, i, 16),
                               .status = trilha_pg_get_text(r, i, 17),
                               .attempts = trilha_pg_get_i64(r, i, 18),
                               .next_attempt_at = time_text(r, i, 19, texts->times[2]),
                               .lease_until = time_text(r, i, 20, texts->times[3]),
                               .dispatched_at = time_text(r, i, 21, texts->times[4]),
                               .dispatched_revision = trilha_pg_get_i64(r, i, 22),
                               .received_at = time_text(r, i, 23, texts->times[5]),
                               .applied_at = time_text(r, i, 24, texts->times[6]),
                               .said = trilha_pg_get_text(r, i, 25),
                               .said_at = time_text(r, i, 26, texts->times[7]),
                               .held = trilha_pg_get_text(r, i, 27)};
}

trilha_status trilha_pg_outbox_message(trilha_outbox_store *store, const unsigned char message_id[16],
                                       trilha_outbox_entry_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status = call_for(store, trilha_sql_postgres_outbox_message, message_id, &r, err);
  if (status == TRILHA_OK && PQntuples(r) == 0) return not_found(err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    row_texts texts;
    trilha_outbox_entry entry;
    read_entry(r, i, &texts, &entry);
    status = visit(user, &entry);
  }
  return status;
}

trilha_status trilha_pg_outbox_operate(trilha_outbox_store *store, const unsigned char message_id[16],
                                       const trilha_outbox_operation *operation, bool discard, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, message_id);
  trilha_pg_add_text(&p, operation->destination);
  trilha_pg_add_bool(&p, discard);
  trilha_pg_add_text(&p, operation->user);
  trilha_pg_add_text(&p, operation->reason);
  trilha_pg_add_text(&p, operation->reconciliation);
  trilha_pg_add_bool(&p, operation->override_reconciliation);
  return trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_operate, &p, &r, err);
}

/* --- corrections and what destinations say ----------------------------------------------------------------------- */

trilha_status trilha_pg_outbox_revisions(trilha_outbox_store *store, const unsigned char message_id[16],
                                         trilha_outbox_revision_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status = call_for(store, trilha_sql_postgres_outbox_revisions, message_id, &r, err);
  if (status == TRILHA_OK && PQntuples(r) == 0) return not_found(err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char at[TRILHA_TIMESTAMP_SIZE];
    const trilha_outbox_revision revision = {.revision = trilha_pg_get_i64(r, i, 0),
                                             .at = time_text(r, i, 1, at),
                                             .user = trilha_pg_get_text(r, i, 2),
                                             .reason = trilha_pg_get_text(r, i, 3),
                                             .payload_bytes = trilha_pg_get_i64(r, i, 4),
                                             .payload_sha256 = trilha_pg_get_text(r, i, 5),
                                             .diff = trilha_pg_get_text(r, i, 6),
                                             .accepted = trilha_pg_get_text(r, i, 7)};
    status = visit(user, &revision);
  }
  return status;
}

trilha_status trilha_pg_outbox_receipts(trilha_outbox_store *store, const unsigned char message_id[16],
                                        trilha_outbox_receipt_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_uuid_format(message_id, id);
  trilha_status status = call_for(store, trilha_sql_postgres_outbox_receipts, message_id, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    row_texts texts;
    const trilha_outbox_receipt receipt = {.message_id = trilha_text_of(id),
                                           .destination = trilha_pg_get_text(r, i, 0),
                                           .fact = trilha_pg_get_text(r, i, 1),
                                           .revision = trilha_pg_get_i64(r, i, 2),
                                           .operation_id = trilha_pg_get_text(r, i, 3),
                                           .stated_at = time_text(r, i, 4, texts.times[0]),
                                           .recorded_at = time_text(r, i, 5, texts.times[1]),
                                           .source = trilha_pg_get_text(r, i, 6),
                                           .user = trilha_pg_get_text(r, i, 7),
                                           .note = trilha_pg_get_text(r, i, 8)};
    status = visit(user, &receipt);
  }
  return status;
}

static trilha_status copy_text(trilha_text text, char **ret, trilha_error *err) {
  *ret = text.data == NULL ? NULL : strndup(text.data, text.size);
  return text.data == NULL || *ret != NULL ? TRILHA_OK : trilha_error_no_memory(err);
}

trilha_status trilha_pg_outbox_reveal(trilha_outbox_store *store, const unsigned char message_id[16], int64_t revision,
                                      trilha_text user, trilha_text reason, char **ret_payload, int64_t *ret_revision,
                                      trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, message_id);
  add_revision(&p, revision);
  trilha_pg_add_text(&p, user);
  trilha_pg_add_text(&p, reason);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_reveal, &p, &r, err);
  if (status != TRILHA_OK) return status;
  *ret_revision = trilha_pg_get_i64(r, 0, 0);
  return copy_text(trilha_pg_get_text(r, 0, 1), ret_payload, err);
}

trilha_status trilha_pg_outbox_correct(trilha_outbox_store *store, const unsigned char message_id[16],
                                       const trilha_outbox_correction *correction, trilha_text diff,
                                       trilha_outbox_corrected *ret, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, message_id);
  trilha_pg_add_i64(&p, correction->revision);
  trilha_pg_add_text(&p, correction->payload);
  trilha_pg_add_text(&p, diff);
  trilha_pg_add_text(&p, correction->user);
  trilha_pg_add_text(&p, correction->reason);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_correct, &p, &r, err);
  if (status != TRILHA_OK) return status;
  ret->revision = trilha_pg_get_i64(r, 0, 0);
  ret->revived = trilha_pg_get_i64(r, 0, 1);
  return copy_text(trilha_pg_get_text(r, 0, 2), &ret->accepted, err);
}

trilha_status trilha_pg_outbox_record(trilha_outbox_store *store, const unsigned char message_id[16],
                                      const trilha_outbox_receipt *receipt, int64_t stated_us, bool *ret_new,
                                      trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, message_id);
  trilha_pg_add_text(&p, receipt->destination);
  trilha_pg_add_text(&p, receipt->fact);
  add_revision(&p, receipt->revision);
  trilha_pg_add_text(&p, receipt->operation_id);
  add_time(&p, stated_us, 0);
  trilha_pg_add_text(&p, receipt->source);
  trilha_pg_add_text(&p, receipt->user);
  trilha_pg_add_text(&p, receipt->note);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_receipt_add, &p, &r, err);
  if (status == TRILHA_OK) *ret_new = trilha_pg_get_bool(r, 0, 0);
  return status;
}
