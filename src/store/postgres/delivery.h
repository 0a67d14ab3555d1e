/* store/postgres/delivery: the port of delivery (store/delivery.h). Room: store/postgres, inside. */
#ifndef TRILHA_STORE_POSTGRES_DELIVERY_H
#define TRILHA_STORE_POSTGRES_DELIVERY_H

#include "postgres_internal.h"
#include "store/delivery.h"

extern const trilha_delivery_operations trilha_postgres_delivery;

/* One statement in a write transaction of its own: one round trip; ret_result is its answer, the caller's. */
trilha_status trilha_pg_write_one(trilha_pg_store *s, const char *sql, const trilha_pg_parameters *p,
                                  trilha_deadline deadline, PGresult **ret_result, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_pg_write_step(trilha_pg_store *s, const trilha_pg_step *step, trilha_deadline deadline,
                                   PGresult **ret_result, trilha_error *err) TRILHA_MUST_USE;
/* entity, entity_id, change type, action, user, metadata; all NULL when audit is. */
void trilha_pg_add_audit_row(trilha_pg_parameters *p, const trilha_audit_row *audit);
trilha_status trilha_pg_lease_lost(trilha_error *err);

/* cursors.c */
trilha_status trilha_pg_cursors_prepare(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                        trilha_error *err);
trilha_status trilha_pg_cursors_read(trilha_store *store, trilha_text colonia, trilha_cursor *cursors, size_t count,
                                     trilha_deadline deadline, trilha_error *err);
trilha_status trilha_pg_cursors_seed(trilha_store *store, const trilha_lease *lease, const trilha_cursor *cursors,
                                     size_t count, const trilha_audit_row *audit, trilha_deadline deadline,
                                     trilha_error *err);
trilha_status trilha_pg_cursors_advance(trilha_store *store, const trilha_lease *lease, const trilha_cursor *cursors,
                                        size_t count, const unsigned char (*resolved_event_ids)[16],
                                        size_t resolved_count, trilha_deadline deadline, trilha_error *err);
/* A statement under a token. It answers one boolean: false is CONFLICT LEASE_LOST. */
trilha_status trilha_pg_write_under_token(trilha_store *store, const char *sql, const trilha_pg_parameters *parameters,
                                          trilha_deadline deadline, trilha_error *err);
/* The same inside the transaction that is open on a connection of the caller's (PGconn *). */
trilha_status trilha_pg_take_part(void *connection, const char *sql, trilha_pg_parameters *parameters,
                                  trilha_error *err);
trilha_status trilha_pg_cursors_advance_in(trilha_store *store, void *connection, const trilha_lease *lease,
                                           const trilha_cursor *cursors, size_t count,
                                           const unsigned char (*resolved_event_ids)[16], size_t resolved_count,
                                           trilha_error *err);
trilha_status trilha_pg_events_due(trilha_store *store, trilha_text colonia, const trilha_cursor *cursors, size_t count,
                                   int64_t limit, trilha_deadline deadline, trilha_due_visit visit, void *user,
                                   int64_t *ret_scanned_to, trilha_error *err);
trilha_status trilha_pg_consumers_list(trilha_store *store, trilha_text colonia, trilha_deadline deadline,
                                       trilha_consumer_visit visit, void *user, trilha_error *err);

#endif
