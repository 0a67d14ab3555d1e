/* store/sqlite/outbox: the port of a producer's outbox (store/outbox.h). Room: store/sqlite, inside. */
#ifndef TRILHA_STORE_SQLITE_OUTBOX_H
#define TRILHA_STORE_SQLITE_OUTBOX_H

#include "sqlite_outbox_queries.h"
#include "store/outbox.h"
#include "store/sqlite/sqlite_internal.h"

typedef struct trilha_sqlite_outbox {
  trilha_outbox_store port; /* first */
  trilha_sqlite_store *s;
  char prefix[TRILHA_OUTBOX_PREFIX_SIZE]; /* "" or "schema_" */
} trilha_sqlite_outbox;

static inline trilha_sqlite_outbox *trilha_sqlite_outbox_of(trilha_outbox_store *store) {
  return (trilha_sqlite_outbox *)(void *)store;
}

/* `schema` NULL: no prefix. */
void trilha_sqlite_outbox_prefix(const char *schema, char out[TRILHA_OUTBOX_PREFIX_SIZE]);
/* A statement of sqlite_outbox_queries for one prefix; the caller finalizes it. */
trilha_status trilha_sqlite_outbox_prepare(trilha_sqlite_connection *c, const char *prefix, const char *query,
                                           sqlite3_stmt **ret_statement, trilha_error *err);
static inline void trilha_sqlite_finalize(sqlite3_stmt **statement) {
  sqlite3_finalize(*statement);
}
/* A column, borrowed until the next step; absent when NULL. */
static inline trilha_text trilha_sqlite_borrow(sqlite3_stmt *row, int column) {
  const char *text = (const char *)sqlite3_column_text(row, column);
  return text == NULL ? (trilha_text){0} : (trilha_text){text, (size_t)sqlite3_column_bytes(row, column)};
}
#define TRILHA_SQLITE_SCOPED __attribute__((cleanup(trilha_sqlite_finalize))) sqlite3_stmt

/* Runs to the end; *ret_changes (may be NULL): rows changed. */
trilha_status trilha_sqlite_outbox_run(trilha_sqlite_connection *c, sqlite3_stmt *statement, int *ret_changes,
                                       trilha_error *err);
/* The number of a destination. NOT_FOUND (DESTINATION_UNKNOWN). */
trilha_status trilha_sqlite_outbox_destination(trilha_sqlite_connection *c, const char *prefix, trilha_text name,
                                               int64_t *ret_destination, trilha_error *err);
/* A write transaction, ended by trilha_sqlite_outbox_end with the status so far. */
trilha_status trilha_sqlite_outbox_begin(trilha_sqlite_outbox *o, trilha_sqlite_connection **ret, trilha_error *err);
trilha_status trilha_sqlite_outbox_end(trilha_sqlite_outbox *o, trilha_status status, trilha_error *err);

static inline trilha_text trilha_sqlite_time_text(sqlite3_stmt *row, int column, char out[TRILHA_TIMESTAMP_SIZE]) {
  if (sqlite3_column_type(row, column) == SQLITE_NULL) return (trilha_text){0};
  trilha_timestamp_format(trilha_timestamp_clamp(sqlite3_column_int64(row, column)), out);
  return trilha_text_of(out);
}

/* A read transaction around one statement, whose rows go to `tell`. */
typedef trilha_status (*trilha_sqlite_row_teller)(sqlite3_stmt *row, void *user);
typedef struct trilha_sqlite_reading {
  const char *query;
  void (*bind)(sqlite3_stmt *statement, const void *values);
  const void *values;
  trilha_sqlite_row_teller tell;
  void *user;
  size_t rows; /* out */
} trilha_sqlite_reading;
trilha_status trilha_sqlite_outbox_read(trilha_outbox_store *store, trilha_sqlite_reading *r, trilha_error *err);
/* Binds a message's id, a string, as ?1. */
void trilha_sqlite_outbox_bind_id(sqlite3_stmt *statement, const void *values);
trilha_status trilha_sqlite_outbox_no_message(trilha_error *err);

/* A row of outbox_operation, in the transaction of what it tells of. */
typedef struct trilha_sqlite_trail {
  const char *action, *id;
  int64_t destination; /* -1: the message itself */
  int64_t aggregate_id, sequence, now_us;
  trilha_text user, reason, reconciliation;
} trilha_sqlite_trail;
trilha_status trilha_sqlite_outbox_note(trilha_sqlite_connection *c, const char *prefix,
                                        const trilha_sqlite_trail *trail, trilha_error *err);

/* outbox_relay.c */
trilha_status trilha_sqlite_outbox_claim(trilha_outbox_store *store, const trilha_claim *claim, trilha_arena *arena,
                                         trilha_lane_lease *leases, size_t *ret_count, trilha_text *ret_after,
                                         trilha_error *err);
trilha_status trilha_sqlite_outbox_fetch(trilha_outbox_store *store, trilha_text destination,
                                         const trilha_lane_lease *leases, size_t count, int64_t run, int64_t run_bytes,
                                         trilha_outbox_row_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_outbox_renew(trilha_outbox_store *store, trilha_text destination, trilha_lane_lease *lease,
                                         int64_t lease_ms, trilha_error *err);
trilha_status trilha_sqlite_outbox_settle(trilha_outbox_store *store, trilha_text destination,
                                          trilha_lane_outcome *outcomes, size_t count, trilha_error *err);
/* outbox_install.c */
trilha_status trilha_sqlite_outbox_install(trilha_outbox_store *store, bool dry_run, trilha_migration_report report,
                                           void *user, trilha_error *err);
/* outbox_operator.c */
trilha_status trilha_sqlite_outbox_routes(trilha_outbox_store *store, trilha_outbox_route_visit visit, void *user,
                                          trilha_error *err);
trilha_status trilha_sqlite_outbox_status(trilha_outbox_store *store, trilha_outbox_standing_visit visit, void *user,
                                          trilha_error *err);
trilha_status trilha_sqlite_outbox_lanes(trilha_outbox_store *store, const trilha_outbox_lanes_filter *filter,
                                         int64_t before_us, trilha_outbox_lane_visit visit, void *user,
                                         trilha_error *err);
trilha_status trilha_sqlite_outbox_message(trilha_outbox_store *store, const unsigned char message_id[16],
                                           trilha_outbox_entry_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_outbox_operate(trilha_outbox_store *store, const unsigned char message_id[16],
                                           const trilha_outbox_operation *operation, bool discard, trilha_error *err);

/* outbox_correct.c */
trilha_status trilha_sqlite_outbox_revisions(trilha_outbox_store *store, const unsigned char message_id[16],
                                             trilha_outbox_revision_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_outbox_receipts(trilha_outbox_store *store, const unsigned char message_id[16],
                                            trilha_outbox_receipt_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_outbox_reveal(trilha_outbox_store *store, const unsigned char message_id[16],
                                          int64_t revision, trilha_text user, trilha_text reason, char **ret_payload,
                                          int64_t *ret_revision, trilha_error *err);
trilha_status trilha_sqlite_outbox_correct(trilha_outbox_store *store, const unsigned char message_id[16],
                                           const trilha_outbox_correction *correction, trilha_text diff,
                                           trilha_outbox_corrected *ret, trilha_error *err);
trilha_status trilha_sqlite_outbox_record(trilha_outbox_store *store, const unsigned char message_id[16],
                                          const trilha_outbox_receipt *receipt, int64_t stated_us, bool *ret_new,
                                          trilha_error *err);

/* outbox_service.c */
trilha_status trilha_sqlite_outbox_service_may(trilha_outbox_store *store, const trilha_service_grant *asked,
                                               size_t count, trilha_service_answer *ret_answers, trilha_error *err);
trilha_status trilha_sqlite_outbox_service_set(trilha_outbox_store *store, bool grant, const trilha_service_grant *key,
                                               trilha_text user, trilha_text reason, bool *ret_changed,
                                               trilha_error *err);
trilha_status trilha_sqlite_outbox_service_grants(trilha_outbox_store *store, trilha_service_visit visit, void *user,
                                                  trilha_error *err);

/* A row of outbox_upkeep, in the transaction of what it tells of. */
typedef struct trilha_sqlite_upkeep {
  const char *action, *subject;
  int64_t now_us, rows; /* rows -1: none are counted */
  bool aged;            /* of a purge: what was older than older_us */
  int64_t older_us;
  trilha_text user, reason;
} trilha_sqlite_upkeep;
trilha_status trilha_sqlite_outbox_note_upkeep(trilha_sqlite_connection *c, const char *prefix,
                                               const trilha_sqlite_upkeep *u, trilha_error *err);

/* outbox_in.c. As trilha_sqlite_outbox_run(), in the words of the schema where it refuses. */
trilha_status trilha_sqlite_outbox_run_enqueue(trilha_sqlite_connection *c, sqlite3_stmt *statement, int *ret_changes,
                                               trilha_error *err);

/* outbox_path.c */
trilha_status trilha_sqlite_outbox_path_hold(trilha_outbox_store *store, const trilha_outbox_path *path, bool *ret_new,
                                             trilha_error *err);
trilha_status trilha_sqlite_outbox_path_take(trilha_outbox_store *store, trilha_text pattern, bool override,
                                             trilha_text user, trilha_text reason, int64_t *ret_woken,
                                             trilha_error *err);
trilha_status trilha_sqlite_outbox_paths(trilha_outbox_store *store, trilha_outbox_path_visit visit, void *user,
                                         trilha_error *err);
/* Refuses (IMPORT_CHANGED) when the counts are not what was copied. */
trilha_status trilha_sqlite_outbox_judge_counts(int64_t upto, int64_t behind, bool empty_cut, int64_t imported,
                                                trilha_text holder, trilha_error *err);

/* outbox_import.c */
trilha_status trilha_sqlite_outbox_import_begin(trilha_outbox_store *store, trilha_outbox_import_step *step,
                                                trilha_error *err);
trilha_status trilha_sqlite_outbox_import_batch(trilha_outbox_store *store, trilha_outbox_import_step *step,
                                                trilha_error *err);

/* outbox_handlers.c */
trilha_status trilha_sqlite_outbox_handler_declare(trilha_outbox_store *store,
                                                   const trilha_handler_declaration *declaration, trilha_error *err);
trilha_status trilha_sqlite_outbox_handlers(trilha_outbox_store *store, trilha_outbox_handler_visit visit, void *user,
                                            trilha_error *err);

/* outbox_upkeep.c */
trilha_status trilha_sqlite_outbox_quotas(trilha_outbox_store *store, trilha_outbox_quota_visit visit, void *user,
                                          trilha_error *err);
trilha_status trilha_sqlite_outbox_gauges(trilha_outbox_store *store, trilha_outbox_gauge_visit visit, void *user,
                                          trilha_error *err);
trilha_status trilha_sqlite_outbox_duties(trilha_outbox_store *store, trilha_outbox_duties *ret_duties,
                                          trilha_error *err);
trilha_status trilha_sqlite_outbox_inbox_list(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                              const unsigned char *message_id, const trilha_inbox_place *after,
                                              trilha_inbox_entry_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_outbox_inbox_conflicts(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                                   const unsigned char *message_id, int64_t below,
                                                   trilha_inbox_conflict_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_outbox_worker_beat(trilha_outbox_store *store, const trilha_worker_beat *beat,
                                               bool *ret_drain, trilha_error *err);
trilha_status trilha_sqlite_outbox_worker_end(trilha_outbox_store *store, const trilha_worker_beat *beat,
                                              trilha_error *err);
trilha_status trilha_sqlite_outbox_workers(trilha_outbox_store *store, trilha_outbox_worker_visit visit, void *user,
                                           trilha_error *err);
trilha_status trilha_sqlite_outbox_worker_drain(trilha_outbox_store *store, trilha_text worker, trilha_text user,
                                                trilha_text reason, trilha_error *err);
trilha_status trilha_sqlite_outbox_purge_messages(trilha_outbox_store *store, trilha_purge_batch *batch,
                                                  trilha_error *err);
trilha_status trilha_sqlite_outbox_purge_inbox(trilha_outbox_store *store, trilha_purge_batch *batch,
                                               trilha_error *err);

#endif
