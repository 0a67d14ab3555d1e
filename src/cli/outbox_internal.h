/* cli/outbox_internal: the verbs of outbox and worker. Room: cli. */
#ifndef TRILHA_CLI_OUTBOX_INTERNAL_H
#define TRILHA_CLI_OUTBOX_INTERNAL_H

#include "cli/cli_internal.h"
#include "trilha/outbox.h"
#include "trilha/webhook.h"

/* What --store and --schema name; the default store is not a producer's, so a missing --store is its default all the
 * same. */
trilha_outbox_options trilha_cli_outbox_options(trilha_cli *cli, const trilha_cli_args *args);

/* Each verb's own work, on the open outbox. */
typedef trilha_status (*trilha_cli_outbox_work)(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox,
                                                trilha_error *error);
/* Opens the outbox, does the work, and gives the exit status. */
int trilha_cli_with_outbox(trilha_cli *cli, const trilha_cli_args *args, trilha_cli_outbox_work work);

extern const trilha_cli_option trilha_cli_outbox_show_options[];
extern const trilha_cli_option trilha_cli_outbox_correct_options[];
extern const trilha_cli_option trilha_cli_outbox_reconcile_options[];
extern const trilha_cli_option trilha_cli_outbox_applied_options[];
extern const trilha_cli_option trilha_cli_outbox_install_options[];
extern const trilha_cli_option trilha_cli_outbox_grant_options[];
extern const trilha_cli_option trilha_cli_outbox_route_options[];
extern const trilha_cli_option trilha_cli_outbox_schema_options[];
extern const trilha_cli_option trilha_cli_guarantees_options[];
extern const trilha_cli_option trilha_cli_outbox_lanes_options[];
extern const trilha_cli_option trilha_cli_outbox_status_options[];
extern const trilha_cli_option trilha_cli_outbox_retry_options[];
extern const trilha_cli_option trilha_cli_outbox_discard_options[];
extern const trilha_cli_option trilha_cli_outbox_hold_options[];
extern const trilha_cli_option trilha_cli_outbox_take_options[];
extern const trilha_cli_option trilha_cli_outbox_import_options[];
extern const trilha_cli_option trilha_cli_worker_options[];
extern const trilha_cli_option trilha_cli_worker_drain_options[];
extern const trilha_cli_option trilha_cli_service_options[];
extern const trilha_cli_option trilha_cli_inbox_options[];
extern const trilha_cli_option trilha_cli_purge_plan_options[];
extern const trilha_cli_option trilha_cli_purge_run_options[];
int trilha_cli_run_outbox_install(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_grant(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_route(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_routes(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_status(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_guarantees(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_guarantees(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_lanes(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_show(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_retry(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_discard(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_correct(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_reconcile(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_applied(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_hold(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_take(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_paths(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_outbox_import(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_worker(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_worker_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_worker_drain(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_service_grant(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_service_revoke(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_service_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_inbox_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_inbox_conflicts(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_source_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_source_check(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_purge_plan(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_purge_run(trilha_cli *cli, const trilha_cli_args *args);

/* outbox_ask.c: the command of --exec says what the destination knows of the messages. */
trilha_status trilha_cli_outbox_ask(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox,
                                    trilha_error *error);

/* worker_webhook.c: what --webhook and its options say; an exit status. */
int trilha_cli_webhook_open(trilha_cli *cli, const trilha_cli_args *args, trilha_webhook **ret_webhook);

#endif
