/* lib/delivery: the street door of subscriptions, dead letters and durable consumers. */
#include "trilha/delivery.h"

#include <stdio.h>

#include "audit/audit.h"
#include "base/error.h"
#include "lib/handle.h"

static trilha_status missing(trilha_error *error, const char *what) {
  return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "%s must not be NULL", what);
}

static trilha_status check(const trilha *handle, bool arguments, const char *what, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK || arguments) return status;
  return missing(error, what);
}

static trilha_reprocessor reprocessor(const trilha *handle) {
  return (trilha_reprocessor){handle->bus, handle->store, handle->deadletter, &handle->diagnostics};
}

/* --- subscriptions ------------------------------------------------------------------------------------ */

trilha_status trilha_subscribe(trilha *handle, const trilha_subscription *subscription, int64_t *ret_id,
                               trilha_error *error) {
  trilha_status status = check(handle, subscription != NULL, "the subscription", error);
  int64_t id = 0;
  if (status == TRILHA_OK) status = trilha_bus_subscribe(handle->bus, subscription, &id, error);
  if (status != TRILHA_OK) return status;
  status = trilha_service_watch(handle->service, subscription->colonia, error);
  if (status != TRILHA_OK) {
    (void)!trilha_bus_unsubscribe(handle->bus, id, NULL);
    return status;
  }
  if (ret_id != NULL) *ret_id = id;
  return TRILHA_OK;
}

trilha_status trilha_unsubscribe(trilha *handle, int64_t id, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  return status == TRILHA_OK ? trilha_bus_unsubscribe(handle->bus, id, error) : status;
}

/* Before a handler runs: what cannot be written down is not done, and where nobody listens nothing is. */
static trilha_status redeliver_audit(trilha *handle, trilha_text colonia, const trilha_event *event,
                                     trilha_error *error) {
  if (!trilha_bus_listens(handle->bus, trilha_text_of(event->tipo), colonia)) return TRILHA_OK;
  const trilha_audit_pair pairs[] = {{"colonia", colonia}, {"tipo", trilha_text_of(event->tipo)}};
  const trilha_audit_entry entry = {.entity = TRILHA_TEXT("event"),
                                    .entity_id = trilha_text_of(event->event_id),
                                    .change_type = TRILHA_TEXT("Accessed"),
                                    .action = TRILHA_TEXT("trilha.event.redelivered"),
                                    .user = trilha_text_of(handle->user),
                                    .pairs = pairs,
                                    .pair_count = 2};
  return trilha_audit_write(handle, &entry, error);
}

/* The same protection as live: a failure is recorded, a success closes the dead letter (ruling R15). */
trilha_status trilha_redeliver(trilha *handle, trilha_text tipo, trilha_text colonia, const trilha_event *event,
                               trilha_error *error) {
  trilha_status status = check(handle, event != NULL && tipo.data != NULL && colonia.data != NULL, "the event", error);
  if (status != TRILHA_OK) return status;
  if (!trilha_text_is(tipo, event->tipo))
    return trilha_error_set(error, TRILHA_USAGE, "TYPE_MISMATCH", "the event is of another type");
  status = redeliver_audit(handle, colonia, event, error);
  if (status != TRILHA_OK) return status;
  trilha_reprocessor r = reprocessor(handle);
  return trilha_redeliver_event(&r, colonia, event, error);
}

/* --- dead letters ------------------------------------------------------------------------------------- */

trilha_status trilha_dead_letters_query(trilha *handle, const trilha_dead_letters_filter *filter,
                                        trilha_dead_letters **ret_letters, trilha_error *error) {
  static const trilha_dead_letters_filter everything = {0};
  trilha_status status = check(handle, ret_letters != NULL, "the place for dead letters", error);
  if (status != TRILHA_OK) return status;
  return trilha_deadletter_query(handle->deadletter, filter == NULL ? &everything : filter, ret_letters, error);
}

trilha_status trilha_dead_letters_pending(trilha *handle, trilha_text colonia, trilha_dead_letters **ret_letters,
                                          trilha_error *error) {
  if (colonia.data == NULL) return missing(error, "the colony");
  trilha_dead_letters_filter filter = {.colonia = colonia, .status = TRILHA_TEXT("pendente"), .limite = INT64_MAX};
  return trilha_dead_letters_query(handle, &filter, ret_letters, error);
}

void trilha_dead_letters_free(trilha_dead_letters *letters) {
  trilha_deadletter_letters_free(letters);
}

trilha_status trilha_dead_letter_stats(trilha *handle, trilha_dead_letter_statistics **ret_statistics,
                                       trilha_error *error) {
  trilha_status status = check(handle, ret_statistics != NULL, "the place for statistics", error);
  return status == TRILHA_OK ? trilha_deadletter_stats(handle->deadletter, ret_statistics, error) : status;
}

void trilha_dead_letter_statistics_free(trilha_dead_letter_statistics *statistics) {
  trilha_deadletter_statistics_free(statistics);
}

static trilha_text user_or(const trilha *handle, trilha_text user) {
  return user.data == NULL ? trilha_text_of(handle->user) : user;
}

/* Texts of the row live in the arena. */
static trilha_status reprocess_audit(trilha_text colonia, trilha_text user, const trilha_audit_pair *pairs,
                                     size_t pair_count, trilha_arena *arena, trilha_audit_row *ret_row,
                                     trilha_error *err) {
  const trilha_audit_entry entry = {.entity = TRILHA_TEXT("dead-letter-queue"),
                                    .entity_id = colonia,
                                    .change_type = TRILHA_TEXT("Updated"),
                                    .action = TRILHA_TEXT("trilha.dead-letter-queue.reprocessed"),
                                    .user = user,
                                    .pairs = pairs,
                                    .pair_count = pair_count};
  return trilha_audit_row_build(&entry, arena, ret_row, err);
}

trilha_status trilha_reprocess(trilha *handle, trilha_text colonia, trilha_text user, unsigned wait_ms,
                               trilha_reprocessed *ret_reprocessed, trilha_error *error) {
  return trilha_reprocess_for(handle, colonia, user, NULL, 0, wait_ms, ret_reprocessed, error);
}

trilha_status trilha_reprocess_for(trilha *handle, trilha_text colonia, trilha_text user,
                                   const trilha_audit_pair *pairs, size_t pair_count, unsigned wait_ms,
                                   trilha_reprocessed *ret_reprocessed, trilha_error *error) {
  trilha_status status =
      check(handle, colonia.data != NULL && ret_reprocessed != NULL, "the colony and the place for the answer", error);
  if (status != TRILHA_OK) return status;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_audit_row audit;
  user = user_or(handle, user);
  status = reprocess_audit(colonia, user, pairs, pair_count, &arena, &audit, error);
  if (status != TRILHA_OK) return status;
  trilha_reprocessor r = reprocessor(handle);
  return trilha_reprocess_colony(&r, colonia, user, &audit, wait_ms, ret_reprocessed, error);
}

trilha_status trilha_reprocess_with(trilha *handle, trilha_text colonia, const int64_t *ids, size_t id_count,
                                    trilha_text handler_nome, trilha_handler handler, void *user,
                                    trilha_reprocessed *ret_reprocessed, trilha_error *error) {
  bool arguments = colonia.data != NULL && handler != NULL && ret_reprocessed != NULL && (ids != NULL || id_count == 0);
  trilha_status status = check(handle, arguments, "the colony, the handler and the place for the answer", error);
  if (status != TRILHA_OK) return status;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_audit_row audit;
  char id[24] = "";
  if (id_count == 1) snprintf(id, sizeof id, "%lld", (long long)ids[0]);
  const trilha_audit_pair pairs[] = {{"handler_nome", handler_nome}, {"dead_letter", trilha_text_of(id)}};
  status = reprocess_audit(colonia, trilha_text_of(handle->user), pairs, id_count == 1 ? 2 : 1, &arena, &audit, error);
  if (status != TRILHA_OK) return status;
  trilha_reprocessor r = reprocessor(handle);
  trilha_reprocess_how how = {.colonia = colonia,
                              .audit = &audit,
                              .ids = ids,
                              .id_count = id_count,
                              .handler = handler,
                              .handler_nome = handler_nome,
                              .user = user};
  return trilha_reprocess_rows(&r, &how, ret_reprocessed, error);
}

trilha_status trilha_dead_letter_retry(trilha *handle, int64_t id, trilha_text user, trilha_text reason,
                                       trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  return status == TRILHA_OK ? trilha_deadletter_reopen(handle->deadletter, id, user, reason, error) : status;
}

/* --- durable consumers -------------------------------------------------------------------------------- */

trilha_status trilha_consumer_new(trilha *handle, const trilha_consumer_options *options,
                                  trilha_consumer **ret_consumer, trilha_error *error) {
  trilha_status status =
      check(handle, options != NULL && ret_consumer != NULL, "options and the place for the consumer", error);
  if (status != TRILHA_OK) return status;
  return trilha_consumer_create(handle->bus, handle->store, handle->deadletter, &handle->diagnostics, options,
                                ret_consumer, error);
}

trilha_status trilha_consumer_run(trilha_consumer *consumer, trilha_error *error) {
  return consumer == NULL ? missing(error, "the consumer") : trilha_consumer_run_until_stopped(consumer, error);
}

void trilha_consumer_stop(trilha_consumer *consumer) {
  if (consumer != NULL) trilha_consumer_ask_stop(consumer);
}

void trilha_consumer_free(trilha_consumer *consumer) {
  trilha_consumer_destroy(consumer);
}

trilha_status trilha_consumers_list(trilha *handle, trilha_text colonia, trilha_consumer_states **ret_states,
                                    trilha_error *error) {
  trilha_status status = check(handle, ret_states != NULL, "the place for the consumers", error);
  return status == TRILHA_OK ? trilha_consumer_states_list(handle->store, colonia, ret_states, error) : status;
}

trilha_status trilha_handlers_list(trilha *handle, trilha_handler_guarantee_visit visit, void *user,
                                   trilha_error *error) {
  trilha_status status = check(handle, visit != NULL, "the visitor", error);
  return status == TRILHA_OK ? trilha_consumer_handlers_list(handle->store, visit, user, error) : status;
}

void trilha_consumer_states_free(trilha_consumer_states *states) {
  trilha_consumer_states_release(states);
}
