/* cli/stop: SIGINT and SIGTERM as the end of a durable consumer or a worker. Room: cli. */
#ifndef TRILHA_CLI_STOP_H
#define TRILHA_CLI_STOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "trilha/error.h"

typedef void (*trilha_cli_stop_end)(void *user);

/* The signals are blocked in every thread made after `hold` and read by one thread of their own, which may take locks
 * and needs no global variable. */
typedef struct trilha_cli_stop {
  pthread_t thread;
  bool running;
  int signals, wake; /* descriptors */
  trilha_cli_stop_end end;
  void *user;
} trilha_cli_stop;

/* Before the store is opened: from here on the signals wait. */
void trilha_cli_stop_hold(void);
/* The first signal calls `end` on a thread of its own, a second one ends the process as usual. */
trilha_status trilha_cli_stop_watch(trilha_cli_stop *stop, trilha_cli_stop_end end, void *user,
                                    trilha_error *error) TRILHA_MUST_USE;
void trilha_cli_stop_done(trilha_cli_stop *stop);

#endif
