/* store/sqlite/delivery: the port of delivery (store/delivery.h). Room: store/sqlite, inside. */
#ifndef TRILHA_STORE_SQLITE_DELIVERY_H
#define TRILHA_STORE_SQLITE_DELIVERY_H

#include "store/delivery.h"
#include "store/sqlite/sqlite_internal.h"

extern const trilha_delivery_operations trilha_sqlite_delivery;

/* This start of the machine and the time since it: what leases are measured by. */
typedef struct trilha_sqlite_moment {
  char boot_id[37];
  int64_t boot_us;
  char now[TRILHA_SQLITE_TIMESTAMP_SIZE]; /* wall clock, for people */
} trilha_sqlite_moment;
void trilha_sqlite_moment_now(trilha_sqlite_moment *m);

/* Executes with the write transaction; *ret_changes (may be NULL): rows changed. */
trilha_status trilha_sqlite_change(trilha_sqlite_connection *c, sqlite3_stmt *statement, int *ret_changes,
                                   trilha_error *err);
/* A larger fencing token. */
trilha_status trilha_sqlite_fence(trilha_sqlite_connection *c, int64_t *ret_token, trilha_error *err);
/* CONFLICT LEASE_LOST when the token is not the current one. */
trilha_status trilha_sqlite_lease_check(trilha_sqlite_connection *c, const trilha_lease *lease, trilha_error *err);
/* Ends what write_begin began by the status so far. */
trilha_status trilha_sqlite_write_end(trilha_sqlite_store *s, trilha_status status, trilha_error *err);

/* Dead letters of these events become `resolved`. */
trilha_status trilha_sqlite_letter_resolve(trilha_sqlite_connection *c, const unsigned char event_id[16],
                                           trilha_text colonia, const char *now, bool *ret_resolved, trilha_error *err);

/* letters.c */
trilha_status trilha_sqlite_dead_letter_fail(trilha_store *store, const trilha_failure *failure, int64_t max_attempts,
                                             trilha_deadline deadline, int64_t *ret_attempts, trilha_error *err);
trilha_status trilha_sqlite_dead_letter_resolve(trilha_store *store, const unsigned char event_id[16],
                                                trilha_text colonia, trilha_deadline deadline, bool *ret_resolved,
                                                trilha_error *err);
trilha_status trilha_sqlite_dead_letters_take(trilha_store *store, trilha_text colonia, const trilha_text *types,
                                              size_t type_count, const int64_t *ids, size_t id_count, int64_t limit,
                                              trilha_text holder, int64_t lease_ms, const trilha_audit_row *audit,
                                              trilha_deadline deadline, trilha_dead_letter_visit visit, void *user,
                                              int64_t *ret_token, trilha_error *err);
trilha_status trilha_sqlite_dead_letter_settle(trilha_store *store, int64_t id, int64_t token,
                                               const trilha_failure *failure, int64_t max_attempts,
                                               trilha_deadline deadline, trilha_error *err);
trilha_status trilha_sqlite_dead_letter_extend(trilha_store *store, int64_t id, int64_t token, int64_t lease_ms,
                                               trilha_deadline deadline, trilha_error *err);
trilha_status trilha_sqlite_dead_letters_recover(trilha_store *store, trilha_deadline deadline, int64_t *ret_count,
                                                 trilha_error *err);
trilha_status trilha_sqlite_dead_letter_reopen(trilha_store *store, int64_t id, const trilha_audit_row *audit,
                                               trilha_deadline deadline, trilha_error *err);
/* letters_read.c */
trilha_status trilha_sqlite_letter_read(sqlite3_stmt *statement, trilha_arena *arena, trilha_dead_letter_row *row,
                                        trilha_error *err);
trilha_status trilha_sqlite_dead_letters_list(trilha_store *store, const trilha_dead_letter_filter *filter,
                                              int64_t after_id, int64_t limit, trilha_deadline deadline,
                                              trilha_dead_letter_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_dead_letter_stats(trilha_store *store, trilha_deadline deadline,
                                              trilha_status (*visit)(void *user, trilha_text colonia, int64_t open,
                                                                     trilha_error *err),
                                              void *user, trilha_error *err);
/* leases.c */
trilha_status trilha_sqlite_lease_acquire(trilha_store *store, trilha_lease *lease, const trilha_text *types,
                                          size_t type_count, int64_t lease_ms, char *ret_holder,
                                          trilha_deadline deadline, trilha_error *err);
trilha_status trilha_sqlite_lease_renew(trilha_store *store, const trilha_lease *lease, int64_t lease_ms,
                                        trilha_deadline deadline, trilha_error *err);
trilha_status trilha_sqlite_lease_declare(trilha_store *store, const trilha_lease *lease, trilha_text guarantee,
                                          trilha_text because, trilha_deadline deadline, trilha_error *err);
trilha_status trilha_sqlite_handlers_list(trilha_store *store, trilha_deadline deadline, trilha_handler_visit visit,
                                          void *user, trilha_error *err);
trilha_status trilha_sqlite_lease_release(trilha_store *store, const trilha_lease *lease, trilha_deadline deadline,
                                          trilha_error *err);
trilha_status trilha_sqlite_request_create(trilha_store *store, trilha_text colonia, trilha_text user_name,
                                           const trilha_audit_row *audit, trilha_deadline deadline,
                                           int64_t *ret_request, bool *ret_listening, trilha_error *err);
trilha_status trilha_sqlite_request_take(trilha_store *store, const trilha_lease *lease, trilha_deadline deadline,
                                         int64_t *ret_request, trilha_error *err);
trilha_status trilha_sqlite_request_settle(trilha_store *store, const trilha_lease *lease, int64_t request,
                                           int64_t reprocessados, int64_t failed, trilha_deadline deadline,
                                           trilha_error *err);
trilha_status trilha_sqlite_request_read(trilha_store *store, int64_t request, trilha_deadline deadline, bool *ret_done,
                                         int64_t *ret_reprocessados, int64_t *ret_failed, trilha_error *err);
trilha_status trilha_sqlite_request_withdraw(trilha_store *store, int64_t request, trilha_deadline deadline,
                                             bool *ret_withdrawn, trilha_error *err);
/* cursors.c */
trilha_status trilha_sqlite_cursors_prepare(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                            trilha_error *err);
trilha_status trilha_sqlite_cursors_read(trilha_store *store, trilha_text colonia, trilha_cursor *cursors, size_t count,
                                         trilha_deadline deadline, trilha_error *err);
trilha_status trilha_sqlite_cursors_seed(trilha_store *store, const trilha_lease *lease, const trilha_cursor *cursors,
                                         size_t count, const trilha_audit_row *audit, trilha_deadline deadline,
                                         trilha_error *err);
trilha_status trilha_sqlite_cursors_advance(trilha_store *store, const trilha_lease *lease,
                                            const trilha_cursor *cursors, size_t count,
                                            const unsigned char (*resolved_event_ids)[16], size_t resolved_count,
                                            trilha_deadline deadline, trilha_error *err);
/* Statements inside the transaction that is open on a connection of the caller's (sqlite3 *), which stays its own. */
trilha_status trilha_sqlite_part_begin(trilha_store *store, void *connection, trilha_sqlite_connection **ret_part,
                                       trilha_error *err);
void trilha_sqlite_part_end(trilha_sqlite_connection *take_part); /* may be NULL */
trilha_status trilha_sqlite_dead_letter_resolve_in(trilha_store *store, void *connection, int64_t id, int64_t token,
                                                   trilha_error *err);
trilha_status trilha_sqlite_cursors_advance_in(trilha_store *store, void *connection, const trilha_lease *lease,
                                               const trilha_cursor *cursors, size_t count,
                                               const unsigned char (*resolved_event_ids)[16], size_t resolved_count,
                                               trilha_error *err);
trilha_status trilha_sqlite_consumers_list(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                           trilha_consumer_visit visit, void *user, trilha_error *err);
/* due.c */
trilha_status trilha_sqlite_events_due(trilha_store *store, trilha_text colonia, const trilha_cursor *cursors,
                                       size_t count, int64_t limit, trilha_deadline deadline, trilha_due_visit visit,
                                       void *user, int64_t *ret_scanned_to, trilha_error *err);

#endif
