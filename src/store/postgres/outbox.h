/* store/postgres/outbox: the port of a producer's outbox (store/outbox.h). Room: store/postgres, inside. */
#ifndef TRILHA_STORE_POSTGRES_OUTBOX_H
#define TRILHA_STORE_POSTGRES_OUTBOX_H

#include "delivery.h"
#include "postgres_outbox_queries.h"
#include "store/outbox.h"

typedef struct trilha_pg_outbox {
  trilha_outbox_store port; /* first */
  trilha_pg_store *s;       /* connections */
  int64_t timeout_ms;       /* of one call */
  bool before_quotas;       /* installed by a version whose workers told no quota: those of this one do not either */
  pid_t pid;                /* a child after fork() is refused: the connections are its parent's */
  char schema[TRILHA_OUTBOX_SCHEMA_BYTES_MAX + 1];
  char prefix[TRILHA_OUTBOX_PREFIX_SIZE]; /* "schema". */
} trilha_pg_outbox;

static inline trilha_pg_outbox *trilha_pg_outbox_of(trilha_outbox_store *store) {
  return (trilha_pg_outbox *)(void *)store;
}

/* `"schema".`, for {{p}}. */
void trilha_pg_outbox_prefix(const char *schema, char out[TRILHA_OUTBOX_PREFIX_SIZE]);
/* One statement of postgres_outbox_queries in a write transaction of its own; ret_result is the caller's. */
trilha_status trilha_pg_outbox_call(trilha_pg_outbox *o, const char *query, const trilha_pg_parameters *p,
                                    PGresult **ret_result, trilha_error *err) TRILHA_MUST_USE;
/* Where the schema has no outbox, that instead of PostgreSQL's words. Returns the status that is then right. */
trilha_status trilha_pg_outbox_explain(trilha_status status, const char *schema, trilha_error *err);

/* USAGE (HANDLE_FORKED): opened by another process. */
trilha_status trilha_pg_outbox_check_process(pid_t opened_by, trilha_error *err);

/* outbox_relay.c */
trilha_status trilha_pg_outbox_claim(trilha_outbox_store *store, const trilha_claim *claim, trilha_arena *arena,
                                     trilha_lane_lease *leases, size_t *ret_count, trilha_text *ret_after,
                                     trilha_error *err);
trilha_status trilha_pg_outbox_fetch(trilha_outbox_store *store, trilha_text destination,
                                     const trilha_lane_lease *leases, size_t count, int64_t run, int64_t run_bytes,
                                     trilha_outbox_row_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_outbox_renew(trilha_outbox_store *store, trilha_text destination, trilha_lane_lease *lease,
                                     int64_t lease_ms, trilha_error *err);
trilha_status trilha_pg_outbox_settle(trilha_outbox_store *store, trilha_text destination,
                                      trilha_lane_outcome *outcomes, size_t count, trilha_error *err);
/* outbox_install.c */
trilha_status trilha_pg_outbox_install(trilha_outbox_store *store, bool dry_run, trilha_migration_report report,
                                       void *user, trilha_error *err);

/* outbox_operator.c */
trilha_status trilha_pg_outbox_status(trilha_outbox_store *store, trilha_outbox_standing_visit visit, void *user,
                                      trilha_error *err);
trilha_status trilha_pg_outbox_lanes(trilha_outbox_store *store, const trilha_outbox_lanes_filter *filter,
                                     int64_t before_us, trilha_outbox_lane_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_outbox_message(trilha_outbox_store *store, const unsigned char message_id[16],
                                       trilha_outbox_entry_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_outbox_operate(trilha_outbox_store *store, const unsigned char message_id[16],
                                       const trilha_outbox_operation *operation, bool discard, trilha_error *err);
trilha_status trilha_pg_outbox_revisions(trilha_outbox_store *store, const unsigned char message_id[16],
                                         trilha_outbox_revision_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_outbox_receipts(trilha_outbox_store *store, const unsigned char message_id[16],
                                        trilha_outbox_receipt_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_outbox_reveal(trilha_outbox_store *store, const unsigned char message_id[16], int64_t revision,
                                      trilha_text user, trilha_text reason, char **ret_payload, int64_t *ret_revision,
                                      trilha_error *err);
trilha_status trilha_pg_outbox_correct(trilha_outbox_store *store, const unsigned char message_id[16],
                                       const trilha_outbox_correction *correction, trilha_text diff,
                                       trilha_outbox_corrected *ret, trilha_error *err);
trilha_status trilha_pg_outbox_record(trilha_outbox_store *store, const unsigned char message_id[16],
                                      const trilha_outbox_receipt *receipt, int64_t stated_us, bool *ret_new,
                                      trilha_error *err);

/* outbox_service.c */
trilha_status trilha_pg_outbox_service_may(trilha_outbox_store *store, const trilha_service_grant *asked, size_t count,
                                           trilha_service_answer *ret_answers, trilha_error *err);
trilha_status trilha_pg_outbox_service_set(trilha_outbox_store *store, bool grant, const trilha_service_grant *key,
                                           trilha_text user, trilha_text reason, bool *ret_changed, trilha_error *err);
trilha_status trilha_pg_outbox_service_grants(trilha_outbox_store *store, trilha_service_visit visit, void *user,
                                              trilha_error *err);

/* outbox_moving.c */
trilha_status trilha_pg_outbox_path_hold(trilha_outbox_store *store, const trilha_outbox_path *path, bool *ret_new,
                                         trilha_error *err);
trilha_status trilha_pg_outbox_path_take(trilha_outbox_store *store, trilha_text pattern, bool override,
                                         trilha_text user, trilha_text reason, int64_t *ret_woken, trilha_error *err);
trilha_status trilha_pg_outbox_paths(trilha_outbox_store *store, trilha_outbox_path_visit visit, void *user,
                                     trilha_error *err);
trilha_status trilha_pg_outbox_import_begin(trilha_outbox_store *store, trilha_outbox_import_step *step,
                                            trilha_error *err);
trilha_status trilha_pg_outbox_import_batch(trilha_outbox_store *store, trilha_outbox_import_step *step,
                                            trilha_error *err);

/* outbox_handlers.c */
trilha_status trilha_pg_outbox_handler_declare(trilha_outbox_store *store,
                                               const trilha_handler_declaration *declaration, trilha_error *err);
trilha_status trilha_pg_outbox_handlers(trilha_outbox_store *store, trilha_outbox_handler_visit visit, void *user,
                                        trilha_error *err);

/* outbox_upkeep.c */
trilha_status trilha_pg_outbox_quotas(trilha_outbox_store *store, trilha_outbox_quota_visit visit, void *user,
                                      trilha_error *err);
trilha_status trilha_pg_outbox_gauges(trilha_outbox_store *store, trilha_outbox_gauge_visit visit, void *user,
                                      trilha_error *err);
trilha_status trilha_pg_outbox_duties(trilha_outbox_store *store, trilha_outbox_duties *ret_duties, trilha_error *err);
trilha_status trilha_pg_outbox_inbox_list(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                          const unsigned char *message_id, const trilha_inbox_place *after,
                                          trilha_inbox_entry_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_outbox_inbox_conflicts(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                               const unsigned char *message_id, int64_t below,
                                               trilha_inbox_conflict_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_outbox_worker_beat(trilha_outbox_store *store, const trilha_worker_beat *beat, bool *ret_drain,
                                           trilha_error *err);
trilha_status trilha_pg_outbox_worker_end(trilha_outbox_store *store, const trilha_worker_beat *beat,
                                          trilha_error *err);
trilha_status trilha_pg_outbox_workers(trilha_outbox_store *store, trilha_outbox_worker_visit visit, void *user,
                                       trilha_error *err);
trilha_status trilha_pg_outbox_worker_drain(trilha_outbox_store *store, trilha_text worker, trilha_text user,
                                            trilha_text reason, trilha_error *err);
trilha_status trilha_pg_outbox_purge_messages(trilha_outbox_store *store, trilha_purge_batch *batch, trilha_error *err);
trilha_status trilha_pg_outbox_purge_inbox(trilha_outbox_store *store, trilha_purge_batch *batch, trilha_error *err);

#endif
