/* cli/dlq_internal: shared by dlq.c and dlq_reprocess.c. Room: cli. */
#ifndef TRILHA_CLI_DLQ_INTERNAL_H
#define TRILHA_CLI_DLQ_INTERNAL_H

#include "cli/cli_internal.h"
#include "trilha/delivery.h"

/* A table, or one JSON object a line. */
void trilha_cli_show_letters(trilha_cli *cli, const trilha_dead_letters *letters);

#endif
