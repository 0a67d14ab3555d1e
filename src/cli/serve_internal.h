/* cli/serve_internal: what the verbs of the operators' side share. Room: cli. */
#ifndef TRILHA_CLI_SERVE_INTERNAL_H
#define TRILHA_CLI_SERVE_INTERNAL_H

#include "cli/cli_internal.h"
#include "config/config.h"

/* The file that --config names (default: what TRILHA_CONFIG names, else trilha.yaml, if it is there), the environment
 * and --store. On failure every problem was told; the exit status is then 3, or 1 for a file that cannot be read. */
int trilha_cli_load_config(trilha_cli *cli, const trilha_cli_args *args, trilha_config **ret_config);
/* For commands that are no part of the operators' side: the file that TRILHA_CONFIG names, and of the environment the
 * settings below `telemetry`. Fails likewise. */
int trilha_cli_load_telemetry(trilha_cli *cli, trilha_config **ret_config);

/* A service has read what it is told and waits: the reader of YAML, and what the start left free, go back to the
 * system.
 */
void trilha_cli_come_to_rest(void);

/* The table of `trilha errors list`; the exit status. */
int trilha_cli_show_error_codes(trilha_cli *cli);

extern const trilha_cli_option trilha_cli_serve_options[];
extern const trilha_cli_option trilha_cli_config_options[];
extern const trilha_cli_option trilha_cli_token_options[];
extern const trilha_cli_option trilha_cli_audit_options[];
int trilha_cli_run_errors_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_errors_explain(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_audit_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_audit_lint(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_serve(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_config_check(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_config_show(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_token_issue(trilha_cli *cli, const trilha_cli_args *args);

#endif
