/* cli/version: which Trilha this is. */
#include "cli/cli_internal.h"

int trilha_cli_run_version(trilha_cli *cli, const trilha_cli_args *args) {
  (void)args;
  trilha_cli_putf(&cli->out, cli->json ? "{\"version\":\"%s\"}\n" : "trilha %s\n", TRILHA_VERSION);
  return TRILHA_EXIT_OK;
}
