/* lib/outbox: the street door of outbox, inbox and relay. Arguments are checked here; the rooms behind it trust them.
 */
#include <stdlib.h>

#include "base/error.h"
#include "lib/handle.h"
#include "lib/outbox.h"
#include "reaction/reaction.h"
#include "relay/relay.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"
#include "trilha/postgres.h"
#include "trilha/relay.h"
#include "trilha/sqlite.h"

enum { REACTIONS_POSTGRES = 4, REACTIONS_SQLITE = 1 };
enum { SCAN_MS_POSTGRES = 1000, SCAN_MS_SQLITE = 100, PATTERN_BYTES_MAX = 1024, DESTINATION_BYTES_MAX = 63 };

static const struct {
  const char *scheme;
  trilha_status (*open)(const trilha_store_options *options, const char *schema, trilha_outbox_store **ret_store,
                        trilha_error *err);
  trilha_status (*sql)(const char *schema, trilha_buffer *out, trilha_error *err);
  trilha_status (*react)(const trilha_store_options *options, const char *schema, trilha_reaction_store **ret_store,
                         trilha_error *err);
  unsigned scan_ms, reactions;
} adapters[] = {
    {"sqlite", trilha_sqlite_outbox_open, trilha_sqlite_outbox_sql, trilha_sqlite_reaction_open, SCAN_MS_SQLITE,
     REACTIONS_SQLITE},
    {"postgresql", trilha_postgres_outbox_open, trilha_postgres_outbox_sql, trilha_postgres_reaction_open,
     SCAN_MS_POSTGRES, REACTIONS_POSTGRES},
    {"postgres", trilha_postgres_outbox_open, trilha_postgres_outbox_sql, trilha_postgres_reaction_open,
     SCAN_MS_POSTGRES, REACTIONS_POSTGRES},
};

trilha_status trilha_outbox_missing(trilha_error *error, const char *what) {
  return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "%s must not be NULL", what);
}

/* By the part before a colon, or the whole; -1: none. */
static int find_adapter(const char *url_or_kind, bool needs_colon) {
  const char *colon = url_or_kind == NULL ? NULL : strchr(url_or_kind, ':');
  if (url_or_kind == NULL || (needs_colon && colon == NULL)) return -1;
  trilha_text scheme = {url_or_kind, colon == NULL ? strlen(url_or_kind) : (size_t)(colon - url_or_kind)};
  for (size_t i = 0; i < sizeof adapters / sizeof adapters[0]; i++)
    if (trilha_text_is(scheme, adapters[i].scheme)) return (int)i;
  return -1;
}

/* --- opening -------------------------------------------------------------------------------------------------- */

static trilha_status check_place(const trilha_outbox_options *options, int *ret_adapter, trilha_error *err) {
  *ret_adapter = find_adapter(options->url, true);
  if (*ret_adapter < 0) /* the text is not repeated: it may hold a password */
    return trilha_error_set(
        err, TRILHA_USAGE, "STORE_URL_INVALID",
        "the producer's database must be given as sqlite:PATH or postgresql://USER@HOST:PORT/DATABASE");
  return options->schema == NULL ? TRILHA_OK : trilha_outbox_schema_check(options->schema, err);
}

static trilha_store_options store_options(const trilha_outbox_options *options) {
  return (trilha_store_options){.url = trilha_text_of(options->url),
                                .lock_timeout_ms = options->lock_timeout_ms,
                                .diagnostics = options->diagnostics};
}

static trilha_status open_store(const trilha_outbox_options *options, trilha_outbox_store **ret_store,
                                trilha_error *err) {
  int adapter;
  trilha_status status = check_place(options, &adapter, err);
  if (status != TRILHA_OK) return status;
  const trilha_store_options how = store_options(options);
  return adapters[adapter].open(&how, options->schema, ret_store, err);
}

trilha_status trilha_outbox_open(const trilha_outbox_options *options, trilha_outbox **ret_outbox,
                                 trilha_error *error) {
  if (options == NULL || ret_outbox == NULL)
    return trilha_outbox_missing(error, "options and the place for the outbox");
  trilha_outbox *outbox = calloc(1, sizeof *outbox);
  if (outbox == NULL) return trilha_error_no_memory(error);
  trilha_status status = open_store(options, &outbox->store, error);
  if (status == TRILHA_OK)
    *ret_outbox = outbox;
  else
    free(outbox);
  return status;
}

void trilha_outbox_close(trilha_outbox *outbox) {
  if (outbox == NULL) return;
  outbox->store->op->close(outbox->store);
  free(outbox);
}

/* --- installing, routes ----------------------------------------------------------------------------------------- */

trilha_status trilha_outbox_install(trilha_outbox *outbox, bool dry_run, trilha_migration_report report, void *user,
                                    trilha_error *error) {
  if (outbox == NULL) return trilha_outbox_missing(error, "the outbox");
  return outbox->store->op->install(outbox->store, dry_run, report, user, error);
}

trilha_status trilha_outbox_install_sql(const char *kind, const char *schema, char **ret_sql, trilha_error *error) {
  int adapter = find_adapter(kind, false);
  if (adapter < 0 || ret_sql == NULL)
    return trilha_error_set(error, TRILHA_USAGE, "STORE_KIND_INVALID", "the kind of store is sqlite or postgresql");
  trilha_status status = schema == NULL ? TRILHA_OK : trilha_outbox_schema_check(schema, error);
  if (status != TRILHA_OK) return status;
  if (schema == NULL && adapters[adapter].open == trilha_postgres_outbox_open)
    return trilha_error_set(error, TRILHA_USAGE, "SCHEMA_MISSING",
                            "on PostgreSQL an outbox is in a schema: name the producer's");
  TRILHA_BUFFER_SCOPED sql;
  trilha_buffer_init(&sql, 0);
  status = adapters[adapter].sql(schema, &sql, error);
  if (status != TRILHA_OK) return status;
  *ret_sql = trilha_buffer_take(&sql, NULL);
  return *ret_sql == NULL ? trilha_error_no_memory(error) : TRILHA_OK;
}

trilha_status trilha_outbox_grant(trilha_outbox *outbox, trilha_text role, trilha_text duty, trilha_error *error) {
  static const char *const duties[] = {"producer", "relay", "consumer", "operator"};
  if (outbox == NULL || role.size == 0) return trilha_outbox_missing(error, "the outbox and the role");
  for (size_t i = 0; i < sizeof duties / sizeof duties[0]; i++)
    if (trilha_text_is(duty, duties[i])) return outbox->store->op->grant(outbox->store, role, duty, error);
  return trilha_error_set(error, TRILHA_USAGE, "DUTY_UNKNOWN", "a duty is producer, relay, consumer or operator");
}

trilha_status trilha_outbox_check_pattern(trilha_text pattern, trilha_error *error) {
  const char *star = pattern.size == 0 ? NULL : memchr(pattern.data, '*', pattern.size);
  if (pattern.size > 0 && pattern.size <= PATTERN_BYTES_MAX &&
      (star == NULL || star == pattern.data + pattern.size - 1))
    return TRILHA_OK;
  return trilha_error_set(error, TRILHA_INVALID, "PATTERN_INVALID",
                          "a type pattern is a type, the beginning of one followed by *, or *");
}

trilha_status trilha_outbox_check_destination(trilha_text name, trilha_error *error) {
  bool ok = name.size > 0 && name.size <= DESTINATION_BYTES_MAX && name.data[0] >= 'a' && name.data[0] <= 'z';
  for (size_t i = 0; ok && i < name.size; i++) {
    char c = name.data[i];
    ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  }
  if (ok) return TRILHA_OK;
  return trilha_error_set(
      error, TRILHA_INVALID, "DESTINATION_INVALID",
      "a destination is named by lower-case letters, digits and hyphens, at most %d, and begins with a letter",
      DESTINATION_BYTES_MAX);
}

trilha_status trilha_outbox_route_add(trilha_outbox *outbox, trilha_text type_pattern, trilha_text destination,
                                      trilha_error *error) {
  if (outbox == NULL) return trilha_outbox_missing(error, "the outbox");
  trilha_status status = trilha_outbox_check_pattern(type_pattern, error);
  if (status == TRILHA_OK) status = trilha_outbox_check_destination(destination, error);
  return status == TRILHA_OK ? outbox->store->op->route_add(outbox->store, type_pattern, destination, error) : status;
}

trilha_status trilha_outbox_route_remove(trilha_outbox *outbox, trilha_text type_pattern, trilha_text destination,
                                         trilha_error *error) {
  if (outbox == NULL) return trilha_outbox_missing(error, "the outbox");
  trilha_status status = trilha_outbox_check_pattern(type_pattern, error);
  if (status == TRILHA_OK) status = trilha_outbox_check_destination(destination, error);
  return status == TRILHA_OK ? outbox->store->op->route_remove(outbox->store, type_pattern, destination, error)
                             : status;
}

trilha_status trilha_outbox_routes(trilha_outbox *outbox, trilha_outbox_route_visit visit, void *user,
                                   trilha_error *error) {
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  return outbox->store->op->routes(outbox->store, visit, user, error);
}

/* --- in the caller's transaction -----------------------------------------------------------------------------------
 */

static trilha_status check_call(const void *connection, const char *schema, bool schema_needed, bool arguments,
                                trilha_error *error) {
  if (connection == NULL || !arguments || (schema_needed && schema == NULL))
    return trilha_outbox_missing(error, schema_needed ? "connection, schema, message and the place for the answer"
                                                      : "handle, message and the place for the answer");
  return schema == NULL ? TRILHA_OK : trilha_outbox_schema_check(schema, error);
}

static trilha_status check_inbox(const trilha_inbox_message *m, trilha_error *error) {
  if (m->tenant_id.size == 0 || m->consumer.size == 0)
    return trilha_error_set(error, TRILHA_INVALID, "MESSAGE_REFUSED", "tenant_id and consumer are needed");
  bool ordered = m->aggregate_type.data != NULL;
  if (ordered && (m->aggregate_key.size == 0 || m->aggregate_sequence < 1 || m->previous_sequence < 0 ||
                  m->previous_sequence >= m->aggregate_sequence))
    return trilha_error_set(error, TRILHA_INVALID, "MESSAGE_REFUSED",
                            "in order, a message needs aggregate_key, its sequence from 1, and a smaller previous one");
  return TRILHA_OK;
}

trilha_status trilha_outbox_enqueue_postgres(struct pg_conn *connection, const char *schema,
                                             const trilha_message *message, trilha_enqueued *ret_enqueued,
                                             trilha_error *error) {
  trilha_status status = check_call(connection, schema, true, message != NULL && ret_enqueued != NULL, error);
  return status == TRILHA_OK ? trilha_postgres_enqueue(connection, schema, message, ret_enqueued, error) : status;
}

trilha_status trilha_inbox_accept_postgres(struct pg_conn *connection, const char *schema,
                                           const trilha_inbox_message *message, trilha_inbox_answer *ret_answer,
                                           trilha_error *error) {
  trilha_status status = check_call(connection, schema, true, message != NULL && ret_answer != NULL, error);
  if (status == TRILHA_OK) status = check_inbox(message, error);
  return status == TRILHA_OK ? trilha_postgres_inbox_accept(connection, schema, message, ret_answer, error) : status;
}

trilha_status trilha_inbox_finish_postgres(struct pg_conn *connection, const char *schema,
                                           const trilha_inbox_message *message, trilha_text result,
                                           trilha_error *error) {
  trilha_status status = check_call(connection, schema, true, message != NULL, error);
  if (status == TRILHA_OK) status = check_inbox(message, error);
  return status == TRILHA_OK ? trilha_postgres_inbox_finish(connection, schema, message, result, error) : status;
}

trilha_status trilha_outbox_enqueue_sqlite(struct sqlite3 *connection, const char *schema,
                                           const trilha_message *message, trilha_enqueued *ret_enqueued,
                                           trilha_error *error) {
  trilha_status status = check_call(connection, schema, false, message != NULL && ret_enqueued != NULL, error);
  return status == TRILHA_OK ? trilha_sqlite_enqueue(connection, schema, message, ret_enqueued, error) : status;
}

trilha_status trilha_inbox_accept_sqlite(struct sqlite3 *connection, const char *schema,
                                         const trilha_inbox_message *message, trilha_inbox_answer *ret_answer,
                                         trilha_error *error) {
  trilha_status status = check_call(connection, schema, false, message != NULL && ret_answer != NULL, error);
  if (status == TRILHA_OK) status = check_inbox(message, error);
  return status == TRILHA_OK ? trilha_sqlite_inbox_accept(connection, schema, message, ret_answer, error) : status;
}

trilha_status trilha_inbox_finish_sqlite(struct sqlite3 *connection, const char *schema,
                                         const trilha_inbox_message *message, trilha_text result, trilha_error *error) {
  trilha_status status = check_call(connection, schema, false, message != NULL, error);
  if (status == TRILHA_OK) status = check_inbox(message, error);
  return status == TRILHA_OK ? trilha_sqlite_inbox_finish(connection, schema, message, result, error) : status;
}

/* --- the relay ------------------------------------------------------------------------------------------------------
 */

trilha_status trilha_relay_new(const trilha_relay_options *options, trilha_relay **ret_relay, trilha_error *error) {
  if (options == NULL || ret_relay == NULL || (options->transports == NULL && options->transport_count != 0))
    return trilha_outbox_missing(error, "options, their transports and the place for the relay");
  int adapter = find_adapter(options->outbox.url, true);
  return trilha_relay_make(options, open_store, adapter < 0 ? SCAN_MS_POSTGRES : adapters[adapter].scan_ms, ret_relay,
                           error);
}

trilha_status trilha_relay_run(trilha_relay *relay, trilha_error *error) {
  return relay == NULL ? trilha_outbox_missing(error, "the relay") : trilha_relay_work(relay, error);
}

void trilha_relay_stop(trilha_relay *relay) {
  if (relay != NULL) trilha_relay_ask_to_stop(relay);
}

void trilha_relay_wake(trilha_relay *relay) {
  if (relay != NULL) trilha_relay_ring(relay);
}

void trilha_relay_counted(const trilha_relay *relay, trilha_relay_counts *ret_counts) {
  if (relay != NULL && ret_counts != NULL) trilha_relay_count(relay, ret_counts);
}

void trilha_relay_free(trilha_relay *relay) {
  trilha_relay_release(relay);
}

/* --- the memory transport ------------------------------------------------------------------------------------------
 */

static trilha_status open_reaction(const trilha_outbox_options *options, trilha_reaction_store **ret_store,
                                   trilha_error *err) {
  int adapter;
  trilha_status status = check_place(options, &adapter, err);
  if (status != TRILHA_OK) return status;
  const trilha_store_options how = store_options(options);
  return adapters[adapter].react(&how, options->schema, ret_store, err);
}

trilha_status trilha_reaction_new(const trilha_reaction_options *options, trilha_reaction **ret_reaction,
                                  trilha_error *error) {
  int adapter;
  if (options == NULL || ret_reaction == NULL)
    return trilha_outbox_missing(error, "options and the place for the reaction");
  trilha_status status = check_place(&options->inbox, &adapter, error);
  if (status != TRILHA_OK) return status;
  if (options->inbox.schema == NULL && adapters[adapter].react == trilha_postgres_reaction_open)
    return trilha_error_set(error, TRILHA_USAGE, "SCHEMA_MISSING",
                            "on PostgreSQL an inbox is in a schema: name the consumer's");
  return trilha_reaction_make(options, open_reaction, adapters[adapter].reactions, ret_reaction, error);
}

/* --- the transport into the log ------------------------------------------------------------------------------------
 */

/* What repeating cannot change: the content or its type is refused. */
static bool is_refusal(trilha_status status) {
  return status == TRILHA_INVALID || status == TRILHA_LIMIT || status == TRILHA_NOT_FOUND;
}

trilha_status trilha_send_to_bus(void *user, const trilha_envelope *e, trilha_error *error) {
  const trilha_publication publication = {.tipo = e->message_type,
                                          .origem = e->origin,
                                          .payload = e->payload,
                                          .event_id = e->message_id,
                                          .versao_schema = e->version,
                                          .timestamp = e->occurred_at,
                                          .correlacao_id = e->correlation_id,
                                          .tenant_id = e->tenant_id,
                                          .company_id = e->company_id,
                                          .aggregate_type = e->aggregate_type,
                                          .aggregate_key = e->aggregate_key,
                                          .aggregate_sequence = e->aggregate_sequence,
                                          .causation_id = e->causation_id,
                                          .traceparent = e->traceparent};
  trilha_publish_result result = {0};
  trilha_error own = {0};
  trilha_status status = trilha_publish(user, &publication, &result, &own);
  if (status == TRILHA_OK && result.duplicate && result.content == TRILHA_CONTENT_DIFFERENT)
    status = trilha_error_set(&own, TRILHA_CONFLICT, "EVENT_CONTENT_DIFFERS",
                              "the log holds an event with this id and other content");
  trilha_publish_result_done(&result);
  trilha_error_copy(error, &own);
  return is_refusal(status) ? TRILHA_INVALID : status;
}

trilha_status trilha_envelope_to_json(const trilha_envelope *envelope, char **ret_json, size_t *ret_size,
                                      trilha_error *error) {
  if (envelope == NULL || ret_json == NULL)
    return trilha_outbox_missing(error, "the envelope and the place for its JSON");
  TRILHA_BUFFER_SCOPED json;
  trilha_buffer_init(&json, 0);
  trilha_envelope_write_json(&json, envelope);
  trilha_status status = trilha_buffer_check(&json, error);
  if (status != TRILHA_OK) return status;
  size_t size;
  char *text = trilha_buffer_take(&json, &size);
  if (text == NULL) return trilha_error_no_memory(error);
  *ret_json = text;
  if (ret_size != NULL) *ret_size = size;
  return TRILHA_OK;
}
