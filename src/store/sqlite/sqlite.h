/* store/sqlite: the embedded adapter. Room: store/sqlite. Corridor (for src/lib only). */
#ifndef TRILHA_STORE_SQLITE_SQLITE_H
#define TRILHA_STORE_SQLITE_SQLITE_H

#include "store/store.h"

/* Opens "sqlite:PATH". ":memory:" is refused (an acknowledged write must be on disk). */
trilha_status trilha_sqlite_open(const trilha_store_options *options, trilha_store **ret_store,
                                 trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_sqlite_migrations_sql(trilha_buffer *out, trilha_error *err) TRILHA_MUST_USE;

#endif
