/* store/postgres: the PostgreSQL 15+ adapter. Room: store/postgres. Corridor (for src/lib only). */
#ifndef TRILHA_STORE_POSTGRES_POSTGRES_H
#define TRILHA_STORE_POSTGRES_POSTGRES_H

#include "store/outbox.h"
#include "store/reaction.h"
#include "store/store.h"
#include "store/unit_of_work.h"

struct pg_conn; /* PGconn */

/* Opens "postgresql://…" or "postgres://…" (libpq URIs; passwords by PGPASSFILE, PGPASSWORD, or passfile= as usual).
 * Errors never show secrets. */
trilha_status trilha_postgres_open(const trilha_store_options *options, trilha_store **ret_store,
                                   trilha_error *err) TRILHA_MUST_USE;
/* The SQL of all migrations, roles and grants, in order; appended to out. */
trilha_status trilha_postgres_migrations_sql(trilha_buffer *out, trilha_error *err) TRILHA_MUST_USE;

/* A producer's outbox in `schema` (checked) of that database. */
trilha_status trilha_postgres_outbox_open(const trilha_store_options *options, const char *schema,
                                          trilha_outbox_store **ret_store, trilha_error *err) TRILHA_MUST_USE;
/* What install would do, as SQL; appended to out. */
trilha_status trilha_postgres_outbox_sql(const char *schema, trilha_buffer *out, trilha_error *err) TRILHA_MUST_USE;
/* For the memory transport: the database where inbox and effects are. Connects at the first transaction. */
trilha_status trilha_postgres_reaction_open(const trilha_store_options *options, const char *schema,
                                            trilha_reaction_store **ret_store, trilha_error *err) TRILHA_MUST_USE;
/* Inside the caller's transaction: trilha/postgres.h. */
trilha_status trilha_postgres_enqueue(struct pg_conn *pg, const char *schema, const trilha_message *message,
                                      trilha_enqueued *ret_enqueued, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_postgres_inbox_accept(struct pg_conn *pg, const char *schema, const trilha_inbox_message *message,
                                           trilha_inbox_answer *ret_answer, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_postgres_inbox_finish(struct pg_conn *pg, const char *schema, const trilha_inbox_message *message,
                                           trilha_text result, trilha_error *err) TRILHA_MUST_USE;
/* The port of a unit of work on the caller's connection: CONFLICT (UNIT_OF_WORK_EXISTS), UNAVAILABLE, USAGE. */
trilha_status trilha_postgres_unit_open(struct pg_conn *pg, unsigned answer_timeout_ms, unsigned resolve_timeout_ms,
                                        trilha_unit_store **ret_store, trilha_error *err) TRILHA_MUST_USE;
trilha_unit_store *trilha_postgres_unit_of(struct pg_conn *pg); /* NULL: it has none */

#endif
