/* store/sqlite: the embedded adapter. Room: store/sqlite. Corridor (for src/lib only). */
#ifndef TRILHA_STORE_SQLITE_SQLITE_H
#define TRILHA_STORE_SQLITE_SQLITE_H

#include "store/outbox.h"
#include "store/reaction.h"
#include "store/store.h"
#include "store/unit_of_work.h"

struct sqlite3;

/* Opens "sqlite:PATH". ":memory:" is refused (an acknowledged write must be on disk). */
trilha_status trilha_sqlite_open(const trilha_store_options *options, trilha_store **ret_store,
                                 trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_sqlite_migrations_sql(trilha_buffer *out, trilha_error *err) TRILHA_MUST_USE;

/* A producer's outbox in that file, its tables' names beginning with "schema_" (checked); NULL: without a prefix. */
trilha_status trilha_sqlite_outbox_open(const trilha_store_options *options, const char *schema,
                                        trilha_outbox_store **ret_store, trilha_error *err) TRILHA_MUST_USE;
/* What install would do, as SQL; appended to out. */
trilha_status trilha_sqlite_outbox_sql(const char *schema, trilha_buffer *out, trilha_error *err) TRILHA_MUST_USE;
/* For the memory transport: the database where inbox and effects are. Connects at the first transaction. */
trilha_status trilha_sqlite_reaction_open(const trilha_store_options *options, const char *schema,
                                          trilha_reaction_store **ret_store, trilha_error *err) TRILHA_MUST_USE;
/* Inside the caller's transaction: trilha/sqlite.h. */
trilha_status trilha_sqlite_enqueue(struct sqlite3 *db, const char *schema, const trilha_message *message,
                                    trilha_enqueued *ret_enqueued, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_sqlite_inbox_accept(struct sqlite3 *db, const char *schema, const trilha_inbox_message *message,
                                         trilha_inbox_answer *ret_answer, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_sqlite_inbox_finish(struct sqlite3 *db, const char *schema, const trilha_inbox_message *message,
                                         trilha_text result, trilha_error *err) TRILHA_MUST_USE;
/* The port of a unit of work on the caller's handle: CONFLICT (UNIT_OF_WORK_EXISTS), USAGE (HANDLE_FOREIGN). */
trilha_status trilha_sqlite_unit_open(struct sqlite3 *db, trilha_unit_store **ret_store,
                                      trilha_error *err) TRILHA_MUST_USE;
trilha_unit_store *trilha_sqlite_unit_of(struct sqlite3 *db); /* NULL: it has none */

#endif
