/* cli/sources: registered outboxes as --source and --all-sources choose them, and their windows. Room: cli. */
#ifndef TRILHA_CLI_SOURCES_H
#define TRILHA_CLI_SOURCES_H

#include "cli/cli_internal.h"
#include "config/config.h"
#include "trilha/relay.h"

typedef struct trilha_cli_sources {
  trilha_config *config; /* whose the sources are; NULL: none was asked for */
  const trilha_config_source *list[TRILHA_CONFIG_SOURCES_MAX];
  size_t count;
} trilha_cli_sources;

/* The sources that --source names or --all-sources means, in the order of the configuration; count 0: neither was
 * given. --store and --schema beside them are a usage error. The exit status. */
int trilha_cli_sources_take(trilha_cli *cli, const trilha_cli_args *args, trilha_cli_sources *sources);
void trilha_cli_sources_done(trilha_cli_sources *sources);
/* SOURCE_NOT_FOUND, said; the exit status. */
int trilha_cli_source_unknown(trilha_cli *cli, const char *name);
bool trilha_cli_source_serves(const trilha_config_source *source, trilha_text destination);

/* The source's windows as the relay and the purge take them; where it is stays untouched. */
void trilha_cli_source_relay(const trilha_config_source *source, trilha_relay_options *options);
void trilha_cli_source_purge(const trilha_config_source *source, trilha_purge_options *options);
/* USAGE (WINDOW_INVALID) with the numbers, unless all of them fit together. */
trilha_status trilha_cli_source_check_delivery(const trilha_config_source *source, trilha_error *error) TRILHA_MUST_USE;
trilha_status trilha_cli_source_check_retention(const trilha_config_source *source,
                                                trilha_error *error) TRILHA_MUST_USE;

#endif
