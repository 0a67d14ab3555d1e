/* store/postgres/outbox_upkeep: who delivers, what the inbox holds, and purging. The rules are in sql/postgres/outbox.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/uuid.h"
#include "outbox.h"

static trilha_status call(trilha_outbox_store *store, const char *query, const trilha_pg_parameters *p,
                          PGresult **ret_result, trilha_error *err) {
  return trilha_pg_outbox_call(trilha_pg_outbox_of(store), query, p, ret_result, err);
}

static trilha_text time_text(const PGresult *r, int row, int column, char out[TRILHA_TIMESTAMP_SIZE]) {
  if (PQgetisnull(r, row, column)) return (trilha_text){0};
  trilha_timestamp_format(trilha_pg_get_time(r, row, column), out);
  return trilha_text_of(out);
}

/* --- the inbox --------------------------------------------------------------------------------------------------- */

static void add_filter(trilha_pg_parameters *p, const trilha_inbox_filter *filter, const unsigned char *message_id) {
  trilha_pg_add_text(p, filter->tenant_id);
  trilha_pg_add_text(p, filter->consumer);
  if (message_id == NULL)
    trilha_pg_add_null(p, TRILHA_PG_UUID);
  else
    trilha_pg_add_uuid(p, message_id);
  trilha_pg_add_i64(p, filter->limit);
}

static trilha_text id_of(const PGresult *r, int row, char out[TRILHA_UUID_TEXT_SIZE]) {
  unsigned char id[16];
  if (!trilha_pg_get_uuid(r, row, 2, id)) return (trilha_text){0};
  trilha_uuid_format(id, out);
  return trilha_text_of(out);
}

static void add_place(trilha_pg_parameters *p, const trilha_inbox_place *after) {
  if (after == NULL) {
    trilha_pg_add_null(p, TRILHA_PG_TIMESTAMPTZ);
    trilha_pg_add_text(p, (trilha_text){0});
    trilha_pg_add_text(p, (trilha_text){0});
    trilha_pg_add_null(p, TRILHA_PG_UUID);
    return;
  }
  trilha_pg_add_time(p, after->accepted_us);
  trilha_pg_add_text(p, after->tenant_id);
  trilha_pg_add_text(p, after->consumer);
  trilha_pg_add_uuid(p, after->message_id);
}

trilha_status trilha_pg_outbox_inbox_list(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                          const unsigned char *message_id, const trilha_inbox_place *after,
                                          trilha_inbox_entry_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  add_filter(&p, filter, message_id);
  add_place(&p, after);
  trilha_status status = call(store, trilha_sql_postgres_outbox_inbox_list, &p, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char id[TRILHA_UUID_TEXT_SIZE], at[TRILHA_TIMESTAMP_SIZE], place[TRILHA_INBOX_PLACE_SIZE];
    trilha_inbox_entry entry = {.tenant_id = trilha_pg_get_text(r, i, 0),
                                .consumer = trilha_pg_get_text(r, i, 1),
                                .message_id = id_of(r, i, id),
                                .payload_sha256 = trilha_pg_get_text(r, i, 3),
                                .accepted_at = time_text(r, i, 4, at),
                                .result_bytes = PQgetisnull(r, i, 5) ? -1 : trilha_pg_get_i64(r, i, 5),
                                .duplicates = trilha_pg_get_i64(r, i, 6),
                                .conflicts = trilha_pg_get_i64(r, i, 7)};
    entry.place =
        trilha_inbox_place_write(trilha_pg_get_time(r, i, 4), entry.message_id, entry.tenant_id, entry.consumer, place);
    status = visit(user, &entry);
  }
  return status;
}

trilha_status trilha_pg_outbox_inbox_conflicts(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                               const unsigned char *message_id, int64_t below,
                                               trilha_inbox_conflict_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  add_filter(&p, filter, message_id);
  trilha_pg_add_i64(&p, below);
  trilha_status status = call(store, trilha_sql_postgres_outbox_inbox_conflicts, &p, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char id[TRILHA_UUID_TEXT_SIZE], times[2][TRILHA_TIMESTAMP_SIZE], place[32];
    snprintf(place, sizeof place, "%lld", (long long)trilha_pg_get_i64(r, i, 7));
    const trilha_inbox_conflict conflict = {.tenant_id = trilha_pg_get_text(r, i, 0),
                                            .consumer = trilha_pg_get_text(r, i, 1),
                                            .message_id = id_of(r, i, id),
                                            .accepted_sha256 = trilha_pg_get_text(r, i, 3),
                                            .accepted_at = time_text(r, i, 4, times[0]),
                                            .received_sha256 = trilha_pg_get_text(r, i, 5),
                                            .received_at = time_text(r, i, 6, times[1]),
                                            .place = trilha_text_of(place)};
    status = visit(user, &conflict);
  }
  return status;
}

/* --- what the caller may ----------------------------------------------------------------------------------------- */

trilha_status trilha_pg_outbox_duties(trilha_outbox_store *store, trilha_outbox_duties *ret_duties, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, trilha_text_of(trilha_pg_outbox_of(store)->schema));
  trilha_status status = call(store, trilha_sql_postgres_outbox_duties, &p, &r, err);
  if (status != TRILHA_OK) return status;
  trilha_text writers = trilha_pg_get_text(r, 0, 5);
  *ret_duties = (trilha_outbox_duties){.enqueues = trilha_pg_get_bool(r, 0, 0),
                                       .relays = trilha_pg_get_bool(r, 0, 1),
                                       .consumes = trilha_pg_get_bool(r, 0, 2),
                                       .operates = trilha_pg_get_bool(r, 0, 3),
                                       .superuser = trilha_pg_get_bool(r, 0, 4)};
  snprintf(ret_duties->writers, sizeof ret_duties->writers, "%.*s", (int)writers.size,
           writers.size == 0 ? "" : writers.data);
  return TRILHA_OK;
}

/* --- workers ----------------------------------------------------------------------------------------------------- */

static void add_counts(trilha_pg_parameters *p, const trilha_relay_counts *counts) {
  trilha_pg_add_i64(p, counts->sent);
  trilha_pg_add_i64(p, counts->failed);
  trilha_pg_add_i64(p, counts->dead);
  trilha_pg_add_i64(p, counts->leases_lost);
}

static trilha_status say_beat(trilha_outbox_store *store, const trilha_worker_beat *beat, bool *ret_drain,
                              trilha_error *err) {
  bool before = trilha_pg_outbox_of(store)->before_quotas;
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, beat->worker);
  trilha_pg_add_text(&p, beat->destinations);
  trilha_pg_add_i64(&p, beat->threads);
  trilha_pg_add_i64(&p, beat->expected_ms);
  add_counts(&p, &beat->since);
  trilha_pg_add_text(&p, beat->holds);
  if (!before) trilha_pg_add_i64(&p, beat->tenant_quota);
  trilha_status status =
      call(store, before ? trilha_sql_postgres_outbox_worker_beat_before : trilha_sql_postgres_outbox_worker_beat, &p,
           &r, err);
  if (status == TRILHA_OK) *ret_drain = trilha_pg_get_bool(r, 0, 0);
  return status;
}

trilha_status trilha_pg_outbox_worker_beat(trilha_outbox_store *store, const trilha_worker_beat *beat, bool *ret_drain,
                                           trilha_error *err) {
  trilha_pg_outbox *o = trilha_pg_outbox_of(store);
  trilha_error first = {0};
  trilha_status status = say_beat(store, beat, ret_drain, &first);
  if (status == TRILHA_OK || o->before_quotas || strcmp(first.code, "OUTBOX_NOT_INSTALLED") != 0)
    return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(err, &first);
  o->before_quotas = true;
  status = say_beat(store, beat, ret_drain, err);
  o->before_quotas = status == TRILHA_OK;
  return status;
}

trilha_status trilha_pg_outbox_worker_end(trilha_outbox_store *store, const trilha_worker_beat *beat,
                                          trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, beat->worker);
  add_counts(&p, &beat->since);
  return call(store, trilha_sql_postgres_outbox_worker_end, &p, &r, err);
}

trilha_status trilha_pg_outbox_workers(trilha_outbox_store *store, trilha_outbox_worker_visit visit, void *user,
                                       trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status = call(store, trilha_sql_postgres_outbox_workers, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char times[4][TRILHA_TIMESTAMP_SIZE];
    const trilha_outbox_worker worker = {.worker = trilha_pg_get_text(r, i, 0),
                                         .status = trilha_pg_get_text(r, i, 1),
                                         .destinations = trilha_pg_get_text(r, i, 2),
                                         .threads = trilha_pg_get_i64(r, i, 3),
                                         .leases = trilha_pg_get_i64(r, i, 4),
                                         .started_at = time_text(r, i, 5, times[0]),
                                         .seen_at = time_text(r, i, 6, times[1]),
                                         .expected_by = time_text(r, i, 7, times[2]),
                                         .drain_at = time_text(r, i, 8, times[3]),
                                         .drain_user = trilha_pg_get_text(r, i, 9),
                                         .drain_reason = trilha_pg_get_text(r, i, 10)};
    status = visit(user, &worker);
  }
  return status;
}

trilha_status trilha_pg_outbox_worker_drain(trilha_outbox_store *store, trilha_text worker, trilha_text user,
                                            trilha_text reason, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, worker);
  trilha_pg_add_text(&p, user);
  trilha_pg_add_text(&p, reason);
  return call(store, trilha_sql_postgres_outbox_worker_drain, &p, &r, err);
}

/* --- numbers to watch -------------------------------------------------------------------------------------------- */

trilha_status trilha_pg_outbox_gauges(trilha_outbox_store *store, trilha_outbox_gauge_visit visit, void *user,
                                      trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status = call(store, trilha_sql_postgres_outbox_gauges, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    const trilha_outbox_gauge gauge = {
        .name = trilha_pg_get_text(r, i, 0), .label = trilha_pg_get_text(r, i, 1), .value = trilha_pg_get_i64(r, i, 2)};
    status = visit(user, &gauge);
  }
  return status;
}

trilha_status trilha_pg_outbox_quotas(trilha_outbox_store *store, trilha_outbox_quota_visit visit, void *user,
                                      trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status = call(store, trilha_sql_postgres_outbox_quotas, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    const trilha_outbox_quota quota = {.destination = trilha_pg_get_text(r, i, 0),
                                       .quota = trilha_pg_get_i64(r, i, 1),
                                       .tenants = trilha_pg_get_i64(r, i, 2),
                                       .tenant_id = trilha_pg_get_text(r, i, 3),
                                       .leases = trilha_pg_get_i64(r, i, 4)};
    status = visit(user, &quota);
  }
  return status;
}

/* --- purging ----------------------------------------------------------------------------------------------------- */

static void read_purged(const PGresult *r, trilha_purge_batch *batch) {
  batch->purged = trilha_pg_get_i64(r, 0, 0);
  if (batch->purged == 0) return;
  batch->oldest_us = trilha_pg_get_time(r, 0, 1);
  batch->newest_us = trilha_pg_get_time(r, 0, 2);
}

trilha_status trilha_pg_outbox_purge_messages(trilha_outbox_store *store, trilha_purge_batch *batch,
                                              trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, batch->older_ms);
  trilha_pg_add_i64(&p, batch->aggregate_id);
  trilha_pg_add_i64(&p, batch->sequence);
  trilha_pg_add_i64(&p, batch->rows_max);
  trilha_pg_add_bool(&p, batch->dry_run);
  trilha_pg_add_text(&p, batch->user);
  trilha_pg_add_text(&p, batch->reason);
  trilha_status status = call(store, trilha_sql_postgres_outbox_purge_messages, &p, &r, err);
  if (status != TRILHA_OK) return status;
  read_purged(r, batch);
  batch->ended = trilha_pg_get_bool(r, 0, 5);
  if (PQgetisnull(r, 0, 3)) return TRILHA_OK; /* nothing was behind */
  batch->aggregate_id = trilha_pg_get_i64(r, 0, 3);
  batch->sequence = trilha_pg_get_i64(r, 0, 4);
  return TRILHA_OK;
}

trilha_status trilha_pg_outbox_purge_inbox(trilha_outbox_store *store, trilha_purge_batch *batch, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, batch->older_ms);
  trilha_pg_add_i64(&p, batch->rows_max);
  trilha_pg_add_bool(&p, batch->dry_run);
  trilha_pg_add_text(&p, batch->user);
  trilha_pg_add_text(&p, batch->reason);
  trilha_status status = call(store, trilha_sql_postgres_outbox_purge_inbox, &p, &r, err);
  if (status != TRILHA_OK) return status;
  read_purged(r, batch);
  batch->ended = trilha_pg_get_bool(r, 0, 3);
  return TRILHA_OK;
}
