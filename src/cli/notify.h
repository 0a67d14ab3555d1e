/* cli/notify: telling systemd how the service is, when it asks (sd_notify's protocol). Room: cli. One thread. */
#ifndef TRILHA_CLI_NOTIFY_H
#define TRILHA_CLI_NOTIFY_H

#include <stdint.h>

/* One line such as "READY=1"; nothing without $NOTIFY_SOCKET. */
void trilha_cli_notify(const char *state);
/* How often the watchdog wants to hear of us, in milliseconds; -1: it does not. */
int trilha_cli_watchdog_ms(void);

#endif
