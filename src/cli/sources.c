/* cli/sources: which registered outboxes a verb works on, and what their windows mean to the library. */
#include "cli/sources.h"

#include <stdlib.h>

#include "base/error.h"
#include "cli/messages.h"
#include "cli/outbox_messages.h"
#include "cli/serve_internal.h"

enum { DAY_MS = 86400000 };

/* --- choosing ---------------------------------------------------------------------------------------------------- */

int trilha_cli_source_unknown(trilha_cli *cli, const char *name) {
  trilha_error error = {0};
  trilha_error_set(&error, TRILHA_NOT_FOUND, "SOURCE_NOT_FOUND",
                   "the configuration registers no source %s; `trilha source list` names them", name);
  return trilha_cli_fail(cli, &error);
}

static bool is_named(const trilha_config_source *source, const trilha_text *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (trilha_text_equal(source->name, names[i])) return true;
  return count == 0;
}

/* The exit status; no name at all means every source. */
static int choose(trilha_cli *cli, trilha_cli_sources *sources, const trilha_text *names, size_t name_count) {
  size_t count = 0;
  const trilha_config_source *all = trilha_config_outboxes(sources->config, &count);
  for (size_t i = 0; i < name_count; i++)
    if (trilha_config_outbox(sources->config, names[i]) == NULL) return trilha_cli_source_unknown(cli, names[i].data);
  for (size_t i = 0; i < count; i++)
    if (is_named(&all[i], names, name_count)) sources->list[sources->count++] = &all[i];
  return sources->count > 0 ? TRILHA_EXIT_OK : trilha_cli_usage(cli, SAY_NO_SOURCES);
}

int trilha_cli_sources_take(trilha_cli *cli, const trilha_cli_args *args, trilha_cli_sources *sources) {
  bool some = trilha_cli_has(args, "source"), all = trilha_cli_has(args, "all-sources");
  *sources = (trilha_cli_sources){.count = 0};
  if (!some && !all)
    return trilha_cli_has(args, "config") ? trilha_cli_usage(cli, SAY_CONFIG_WITHOUT_SOURCE) : TRILHA_EXIT_OK;
  if (some && all) return trilha_cli_usage(cli, SAY_SOURCE_NOT_WITH, "all-sources");
  static const char *const where[] = {"store", "schema"};
  for (size_t i = 0; i < sizeof where / sizeof where[0]; i++)
    if (trilha_cli_has(args, where[i])) return trilha_cli_usage(cli, SAY_SOURCE_NOT_WITH, where[i]);
  size_t count = 0;
  trilha_text *names = trilha_cli_values(args, "source", &count);
  int status = trilha_cli_load_config(cli, args, &sources->config);
  if (status == TRILHA_EXIT_OK) status = choose(cli, sources, names, count);
  free(names);
  return status;
}

void trilha_cli_sources_done(trilha_cli_sources *sources) {
  trilha_config_free(sources->config);
  *sources = (trilha_cli_sources){.count = 0};
}

bool trilha_cli_source_serves(const trilha_config_source *source, trilha_text destination) {
  for (size_t i = 0; i < source->destination_count; i++)
    if (trilha_text_equal(source->destinations[i], destination)) return true;
  return source->destination_count == 0;
}

/* --- windows ----------------------------------------------------------------------------------------------------- */

void trilha_cli_source_relay(const trilha_config_source *source, trilha_relay_options *options) {
  options->timeout_ms = (unsigned)source->timeout_ms;
  options->margin_ms = (unsigned)source->margin_ms;
  options->lease_ms = (unsigned)source->lease_ms;
  options->attempts_max = (unsigned)source->attempts;
  options->backoff_max_ms = (unsigned)source->backoff_ms;
  options->tenant_quota = (unsigned)source->quota;
  options->workers = (unsigned)source->weight;
  options->lanes = (unsigned)source->batch;
  options->run = (unsigned)source->run;
  options->scan_ms = (unsigned)source->scan_ms;
  options->inbox_retention_ms = source->inbox_days * DAY_MS;
  options->restore_window_ms = source->restore_days * DAY_MS;
}

void trilha_cli_source_purge(const trilha_config_source *source, trilha_purge_options *options) {
  options->messages_ms = source->messages_days * DAY_MS;
  options->inbox_ms = source->inbox_days * DAY_MS;
  options->retry_ms = source->retry_days * DAY_MS;
  options->restore_ms = source->restore_days * DAY_MS;
}

static trilha_status never_sent(void *user, const trilha_envelope *envelope, trilha_error *error) {
  return trilha_error_set(error, TRILHA_INTERNAL, "NEVER_SENT", "a relay that is only checked sends nothing");
}

trilha_status trilha_cli_source_check_delivery(const trilha_config_source *source, trilha_error *error) {
  const trilha_transport transport = {TRILHA_TEXT("none"), never_sent, NULL, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = {.transports = &transport, .transport_count = 1};
  trilha_relay *relay = NULL;
  trilha_cli_source_relay(source, &options);
  trilha_status status = trilha_relay_new(&options, &relay, error);
  trilha_relay_free(relay);
  return status;
}

trilha_status trilha_cli_source_check_retention(const trilha_config_source *source, trilha_error *error) {
  trilha_purge_options options = {0};
  trilha_cli_source_purge(source, &options);
  return trilha_purge_check(&options, error);
}
