/* lib/api: the street door. Arguments are checked here; the rooms behind it trust them. */
#include <stdlib.h>

#include "base/error.h"
#include "lib/handle.h"

static trilha_status missing(trilha_error *error, const char *what) {
  return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "%s must not be NULL", what);
}

const char *trilha_version(void) {
  return TRILHA_VERSION;
}

void trilha_free(void *memory) {
  free(memory);
}

/* --- publishing ------------------------------------------------------------------------------------- */

trilha_status trilha_publish_many(trilha *handle, const trilha_publication *publications, size_t count,
                                  trilha_publish_result *ret_results, trilha_error *error) {
  trilha_error own = {0};
  trilha_status status = trilha_handle_check(handle, &own);
  if (status == TRILHA_OK && count != 0 && (publications == NULL || ret_results == NULL))
    status = missing(&own, "publications and results");
  if (status == TRILHA_OK) return trilha_bus_publish(handle->bus, publications, count, ret_results, error);
  for (size_t i = 0; ret_results != NULL && i < count; i++)
    ret_results[i] = (trilha_publish_result){.status = status, .error = own};
  return trilha_error_copy(error, &own);
}

trilha_status trilha_publish(trilha *handle, const trilha_publication *publication, trilha_publish_result *ret_result,
                             trilha_error *error) {
  return trilha_publish_many(handle, publication, 1, ret_result, error);
}

trilha_status trilha_publish_check(trilha *handle, const trilha_publication *publication,
                                   trilha_publish_result *ret_result, trilha_error *error) {
  trilha_error own = {0};
  trilha_status status = trilha_handle_check(handle, &own);
  if (status == TRILHA_OK && (publication == NULL || ret_result == NULL))
    status = missing(&own, "the publication and its result");
  if (status == TRILHA_OK) return trilha_bus_check(handle->bus, publication, ret_result, error);
  if (ret_result != NULL) *ret_result = (trilha_publish_result){.status = status, .error = own};
  return trilha_error_copy(error, &own);
}

void trilha_publish_result_done(trilha_publish_result *result) {
  if (result != NULL) trilha_bus_result_done(result);
}

/* --- reading ---------------------------------------------------------------------------------------- */

trilha_status trilha_events_query(trilha *handle, const trilha_events_filter *filter, trilha_events_page **ret_page,
                                  trilha_error *error) {
  static const trilha_events_filter everything = {0};
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (ret_page == NULL) return missing(error, "the place for the page");
  return trilha_eventlog_query(handle->log, filter == NULL ? &everything : filter, ret_page, error);
}

trilha_status trilha_events_trace(trilha *handle, trilha_text correlacao_id, trilha_events_page **ret_page,
                                  trilha_error *error) {
  if (correlacao_id.data == NULL) return missing(error, "the correlation id");
  trilha_events_filter filter = {.correlacao_id = correlacao_id, .limite = TRILHA_QUERY_LIMIT_MAX};
  return trilha_events_query(handle, &filter, ret_page, error);
}

void trilha_events_page_free(trilha_events_page *page) {
  trilha_eventlog_page_free(page);
}

trilha_status trilha_event_get(trilha *handle, trilha_text event_id, trilha_event **ret_event, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (ret_event == NULL) return missing(error, "the place for the event");
  return trilha_eventlog_get(handle->log, event_id, ret_event, error);
}

void trilha_event_free(trilha_event *event) {
  trilha_eventlog_event_free(event);
}

trilha_status trilha_event_to_json(const trilha_event *event, char **ret_json, size_t *ret_size, trilha_error *error) {
  if (event == NULL || ret_json == NULL) return missing(error, "the event and the place for its JSON");
  TRILHA_BUFFER_SCOPED json;
  trilha_buffer_init(&json, 0);
  trilha_event_write_json(&json, event);
  trilha_status status = trilha_buffer_check(&json, error);
  if (status != TRILHA_OK) return status;
  size_t size;
  char *text = trilha_buffer_take(&json, &size);
  if (text == NULL) return trilha_error_no_memory(error);
  *ret_json = text;
  if (ret_size != NULL) *ret_size = size;
  return TRILHA_OK;
}

trilha_status trilha_replay(trilha *handle, int64_t after, const trilha_text *types, size_t type_count,
                            trilha_replayed **ret_replayed, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (ret_replayed == NULL || (types == NULL && type_count != 0))
    return missing(error, "types and the place for events");
  return trilha_eventlog_replay(handle->log, after, types, type_count, ret_replayed, error);
}

void trilha_replayed_free(trilha_replayed *replayed) {
  trilha_eventlog_replayed_free(replayed);
}

trilha_status trilha_replay_stream(trilha *handle, const trilha_stream_options *options, trilha_event_handler handler,
                                   void *user, int64_t *ret_cursor, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (options == NULL || handler == NULL || (options->types == NULL && options->type_count != 0))
    return missing(error, "options, their types and the handler");
  return trilha_eventlog_stream(handle->log, options, handler, user, ret_cursor, error);
}

trilha_status trilha_last_sequence(trilha *handle, int64_t *ret_sequence, trilha_error *error) {
  char id[37];
  bool any;
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (ret_sequence == NULL) return missing(error, "the place for the sequence");
  return trilha_eventlog_last(handle->log, ret_sequence, id, &any, error);
}

trilha_status trilha_last_event_id(trilha *handle, char *out, trilha_error *error) {
  int64_t sequence;
  bool any = false;
  char id[37];
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (out == NULL) return missing(error, "the place for the id");
  status = trilha_eventlog_last(handle->log, &sequence, id, &any, error);
  if (status != TRILHA_OK) return status;
  if (!any) return trilha_error_set(error, TRILHA_NOT_FOUND, "LOG_EMPTY", "the event log is empty");
  memcpy(out, id, sizeof id);
  return TRILHA_OK;
}

/* --- registry --------------------------------------------------------------------------------------- */

trilha_status trilha_registry_apply(trilha *handle, const trilha_type_version *versions, size_t count, bool dry_run,
                                    trilha_text user, trilha_registry_result *ret_results, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (versions == NULL && count != 0) return missing(error, "versions");
  return trilha_registry_apply_versions(handle->registry, versions, count, dry_run, user, ret_results, error);
}

trilha_status trilha_registry_deprecate(trilha *handle, trilha_text tipo, trilha_text versao, bool dry_run,
                                        trilha_text user, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (tipo.data == NULL) return missing(error, "the type");
  return trilha_registry_deprecate_versions(handle->registry, tipo, versao, dry_run, user, error);
}

trilha_status trilha_registry_list(trilha *handle, trilha_text tipo, trilha_registered_types **ret_types,
                                   trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (ret_types == NULL) return missing(error, "the place for the types");
  return trilha_registry_list_types(handle->registry, tipo, ret_types, error);
}
