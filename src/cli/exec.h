/* cli/exec: a handler that is another program. Room: cli. One thread. docs/delivery.md has the protocol. */
#ifndef TRILHA_CLI_EXEC_H
#define TRILHA_CLI_EXEC_H

#include "cli/child.h"
#include "cli/cli_internal.h"
#include "trilha/delivery.h"

typedef struct trilha_cli_exec {
  trilha_cli *cli;
  char **argv; /* ended by NULL; the words are the command line's */
  const char *name;
  bool each;
  int64_t timeout_ms;
  trilha_cli_child child;
  bool broken;                 /* the command cannot be run at all: what comes next would fail in the same way */
  trilha_error error;          /* why */
  void (*give_up)(void *user); /* called when broken */
  void *give_up_user;
} trilha_cli_exec;

/* From --exec, --shell, --each, --timeout, --name; a usage error is said and its exit status returned. Without --exec
 * and --shell argv stays NULL. */
int trilha_cli_exec_init(trilha_cli_exec *exec, trilha_cli *cli, const trilha_cli_args *args);
/* Starts the long-lived child, or looks whether the command can be found, before any event depends on it. */
int trilha_cli_exec_begin(trilha_cli_exec *exec);
/* Lets the child end. */
void trilha_cli_exec_done(trilha_cli_exec *exec);

/* A trilha_handler; user is a trilha_cli_exec. */
trilha_status trilha_cli_exec_handle(void *user, const trilha_event *event, trilha_delivery *delivery);

#endif
