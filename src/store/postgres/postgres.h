/* store/postgres: the PostgreSQL 15+ adapter. Room: store/postgres. Corridor (for src/lib only). */
#ifndef TRILHA_STORE_POSTGRES_POSTGRES_H
#define TRILHA_STORE_POSTGRES_POSTGRES_H

#include "store/store.h"

/* Opens "postgresql://…" or "postgres://…" (libpq URIs; passwords by PGPASSFILE, PGPASSWORD, or passfile= as usual).
 * Errors never show secrets. */
trilha_status trilha_postgres_open(const trilha_store_options *options, trilha_store **ret_store,
                                   trilha_error *err) TRILHA_MUST_USE;
/* The SQL of all migrations, roles and grants, in order; appended to out. */
trilha_status trilha_postgres_migrations_sql(trilha_buffer *out, trilha_error *err) TRILHA_MUST_USE;

#endif
