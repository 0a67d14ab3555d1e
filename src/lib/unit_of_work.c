/* lib/unit_of_work: the two doors of a unit of work: which adapter a connection needs. */
#include "unit_of_work/unit_of_work.h"
#include "base/error.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"

enum { ANSWER_TIMEOUT_MS = 30000, RESOLVE_TIMEOUT_MS = 10000 };

static trilha_status check(const void *connection, const trilha_unit_of_work_options *options,
                           trilha_unit_of_work *const *ret_unit, trilha_error *error) {
  if (connection != NULL && options != NULL && options->handler != NULL && ret_unit != NULL) return TRILHA_OK;
  return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING",
                          "the connection, a handler of events and the place for the unit must not be NULL");
}

trilha_status trilha_unit_of_work_open_postgres(struct pg_conn *connection, const trilha_unit_of_work_options *options,
                                                trilha_unit_of_work **ret_unit, trilha_error *error) {
  trilha_unit_store *store = NULL;
  trilha_status status = check(connection, options, ret_unit, error);
  if (status != TRILHA_OK) return status;
  unsigned answer_ms = options->answer_timeout_ms > 0 ? options->answer_timeout_ms : ANSWER_TIMEOUT_MS;
  unsigned resolve_ms = options->resolve_timeout_ms > 0 ? options->resolve_timeout_ms : RESOLVE_TIMEOUT_MS;
  status = trilha_postgres_unit_open(connection, answer_ms, resolve_ms, &store, error);
  return status == TRILHA_OK ? trilha_unit_of_work_new(store, options, ret_unit, error) : status;
}

trilha_status trilha_unit_of_work_open_sqlite(struct sqlite3 *connection, const trilha_unit_of_work_options *options,
                                              trilha_unit_of_work **ret_unit, trilha_error *error) {
  trilha_unit_store *store = NULL;
  trilha_status status = check(connection, options, ret_unit, error);
  if (status == TRILHA_OK) status = trilha_sqlite_unit_open(connection, &store, error);
  return status == TRILHA_OK ? trilha_unit_of_work_new(store, options, ret_unit, error) : status;
}

trilha_unit_of_work *trilha_unit_of_work_of_postgres(struct pg_conn *connection) {
  trilha_unit_store *store = connection == NULL ? NULL : trilha_postgres_unit_of(connection);
  return store == NULL ? NULL : store->unit;
}

trilha_unit_of_work *trilha_unit_of_work_of_sqlite(struct sqlite3 *connection) {
  trilha_unit_store *store = connection == NULL ? NULL : trilha_sqlite_unit_of(connection);
  return store == NULL ? NULL : store->unit;
}
