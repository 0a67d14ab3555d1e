/* cli/relays: the relays of one `trilha worker run`, one for each outbox, run side by side. Room: cli. One owner. */
#ifndef TRILHA_CLI_RELAYS_H
#define TRILHA_CLI_RELAYS_H

#include "cli/sources.h"

typedef struct trilha_cli_relays trilha_cli_relays;

typedef struct trilha_cli_one_relay {
  trilha_cli_relays *all;
  trilha_relay *relay;
  const char *source; /* NULL: the command line's own outbox */
  trilha_error error;
} trilha_cli_one_relay;

struct trilha_cli_relays {
  trilha_cli_one_relay each[TRILHA_CONFIG_SOURCES_MAX];
  size_t count;
};

/* Makes one more, which checks its windows. `source` is borrowed, for messages. */
trilha_status trilha_cli_relays_add(trilha_cli_relays *relays, const trilha_relay_options *options, const char *source,
                                    trilha_error *error) TRILHA_MUST_USE;
/* Until all of them have ended; one that fails ends the others. Of several failures the first source's is told. */
trilha_status trilha_cli_relays_run(trilha_cli_relays *relays, trilha_error *error) TRILHA_MUST_USE;
/* As trilha_relay_stop() for each; user is the relays. From any thread. */
void trilha_cli_relays_stop(void *user);
void trilha_cli_relays_count(const trilha_cli_relays *relays, trilha_relay_counts *ret_counts);
void trilha_cli_relays_done(trilha_cli_relays *relays);

#endif
