/* cli/interrupt: SIGINT and SIGTERM as a wish to stop. */
#include <signal.h>

#include "cli/cli_internal.h"

/* The one variable of the room that is not a constant: a signal handler can reach nothing else. */
static volatile bool stop_wanted;

static void on_signal(int number) {
  (void)number;
  stop_wanted = true;
}

void trilha_cli_interrupt_install(void) {
  /* RESETHAND: a second signal ends the process at once. No RESTART: a read that waits must come back and look. */
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

const volatile bool *trilha_cli_interrupted(void) {
  return &stop_wanted;
}
