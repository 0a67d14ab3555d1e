/* lib/open: the only place that picks adapters and puts the rooms together. */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/handle.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"

enum { LOCK_TIMEOUT_MS = 30000, REGISTRY_REFRESH_MS = 1000 };

static const struct {
  const char *scheme;
  trilha_adapter adapter;
} adapters[] = {
    {"sqlite", {trilha_sqlite_open, trilha_sqlite_migrations_sql}},
    {"postgresql", {trilha_postgres_open, trilha_postgres_migrations_sql}},
    {"postgres", {trilha_postgres_open, trilha_postgres_migrations_sql}},
};

const trilha_adapter *trilha_adapter_find(trilha_text url_or_kind) {
  const char *colon = trilha_text_find(url_or_kind, ':');
  trilha_text scheme = {url_or_kind.data, colon == NULL ? url_or_kind.size : (size_t)(colon - url_or_kind.data)};
  for (size_t i = 0; i < sizeof adapters / sizeof adapters[0]; i++)
    if (trilha_text_is(scheme, adapters[i].scheme)) return &adapters[i].adapter;
  return NULL;
}

static trilha_status open_store(const trilha_options *options, bool unmigrated, trilha_store **ret_store,
                                trilha_error *err) {
  trilha_text url = trilha_text_of(options->store_url == NULL ? "sqlite:trilha.db" : options->store_url);
  const trilha_adapter *adapter = trilha_text_find(url, ':') == NULL ? NULL : trilha_adapter_find(url);
  if (adapter == NULL) /* the text is not repeated: it may hold a password */
    return trilha_error_set(err, TRILHA_USAGE, "STORE_URL_INVALID",
                            "the store must be given as sqlite:PATH or postgresql://USER@HOST:PORT/DATABASE");
  trilha_store_options store_options = {.url = url,
                                        .lock_timeout_ms = options->lock_timeout_ms,
                                        .allow_unmigrated = unmigrated,
                                        .unsafe_no_fsync = options->unsafe_no_fsync,
                                        .diagnostics = options->diagnostics};
  return adapter->open(&store_options, ret_store, err);
}

/* Migrates an empty store; one that already has a schema, of whatever age, is left to the ordinary open. */
static trilha_status create_if_empty(const trilha_options *options, trilha_error *err) {
  trilha_store *store = NULL;
  trilha_error first = {0};
  trilha_status status = open_store(options, false, &store, &first);
  if (status == TRILHA_OK) {
    store->op->close(store);
    return TRILHA_OK;
  }
  if (status != TRILHA_NOT_FOUND) return trilha_error_copy(err, &first);
  return trilha_migrate(options, false, NULL, NULL, err);
}

static trilha_status assemble(const trilha_options *options, trilha *handle, trilha_error *err) {
  unsigned refresh_ms = options->registry_refresh_ms == 0 ? REGISTRY_REFRESH_MS : options->registry_refresh_ms;
  int64_t lock_timeout_ms = options->lock_timeout_ms == 0 ? LOCK_TIMEOUT_MS : options->lock_timeout_ms;
  const trilha_diagnostics *sink = &options->diagnostics;
  if (options->user != NULL && (handle->user = strdup(options->user)) == NULL) return trilha_error_no_memory(err);
  trilha_status status = open_store(options, false, &handle->store, err);
  if (status == TRILHA_OK && options->keyring != NULL)
    status = trilha_keyring_load(trilha_text_of(options->keyring), &handle->keyring, err);
  if (status == TRILHA_OK) status = trilha_registry_new(handle->store, refresh_ms, sink, &handle->registry, err);
  if (status == TRILHA_OK)
    status = trilha_eventlog_new(handle->store, options->batch_max, lock_timeout_ms, sink, &handle->log, err);
  handle->diagnostics = *sink;
  if (status == TRILHA_OK) status = trilha_handle_measure(handle, &options->otlp, err);
  if (status == TRILHA_OK)
    status = trilha_deadletter_new(handle->store, sink, options->dead_letter_attempts_max,
                                   options->dead_letter_alert_at, &handle->deadletter, err);
  if (status == TRILHA_OK)
    status = trilha_bus_new(handle->log, handle->registry, handle->keyring, handle->deadletter, handle->telemetry, sink,
                            &handle->bus, err);
  if (status == TRILHA_OK) {
    const trilha_reprocessor r = {handle->bus, handle->store, handle->deadletter, &handle->diagnostics};
    status = trilha_service_new(&r, &handle->service, err);
  }
  return status;
}

trilha_status trilha_open(const trilha_options *options, trilha **ret_handle, trilha_error *error) {
  static const trilha_options defaults = {0};
  if (options == NULL) options = &defaults;
  if (ret_handle == NULL)
    return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "trilha_open needs a place for the handle");
  if (options->create) {
    trilha_status status = create_if_empty(options, error);
    if (status != TRILHA_OK) return status;
  }
  trilha *handle = calloc(1, sizeof *handle);
  if (handle == NULL) return trilha_error_no_memory(error);
  handle->opened_by = getpid();
  trilha_status status = assemble(options, handle, error);
  if (status == TRILHA_OK)
    *ret_handle = handle;
  else
    trilha_close(handle);
  return status;
}

void trilha_close(trilha *handle) {
  if (handle == NULL) return;
  trilha_service_free(handle->service);
  trilha_bus_free(handle->bus);
  trilha_deadletter_free(handle->deadletter);
  trilha_eventlog_free(handle->log);
  trilha_otlp_stop(handle->otlp);
  trilha_telemetry_free(handle->telemetry);
  trilha_registry_free(handle->registry);
  trilha_keyring_free(handle->keyring);
  if (handle->store != NULL) handle->store->op->close(handle->store);
  free(handle->user);
  free(handle);
}

trilha_status trilha_handle_check(const trilha *handle, trilha_error *err) {
  if (handle == NULL) return trilha_error_set(err, TRILHA_USAGE, "HANDLE_MISSING", "the Trilha handle is NULL");
  if (handle->opened_by != getpid())
    return trilha_error_set(err, TRILHA_USAGE, "HANDLE_FORKED",
                            "this handle was opened before fork(); open a new one in the child process");
  return TRILHA_OK;
}

trilha_status trilha_migrate(const trilha_options *options, bool dry_run, trilha_migration_report report, void *user,
                             trilha_error *error) {
  static const trilha_options defaults = {0};
  if (options == NULL) options = &defaults;
  trilha_store *store = NULL;
  trilha_status status = open_store(options, true, &store, error);
  if (status != TRILHA_OK) return status;
  status = store->op->migrate(store, dry_run, report, user, error);
  store->op->close(store);
  return status;
}

trilha_status trilha_migrations_sql(const char *kind, char **ret_sql, trilha_error *error) {
  const trilha_adapter *adapter = trilha_adapter_find(trilha_text_of(kind));
  if (adapter == NULL || ret_sql == NULL)
    return trilha_error_set(error, TRILHA_USAGE, "STORE_KIND_INVALID", "the kind of store is sqlite or postgresql");
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  trilha_status status = adapter->migrations_sql(&sql, error);
  if (status == TRILHA_OK) status = trilha_buffer_check(&sql, error);
  if (status != TRILHA_OK) return status;
  *ret_sql = trilha_buffer_take(&sql, NULL);
  return *ret_sql == NULL ? trilha_error_no_memory(error) : TRILHA_OK;
}
