/* cli/notify: a datagram to the service manager. */
#include "cli/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli_internal.h"

void trilha_cli_notify(const char *state) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  size_t size = path == NULL ? 0 : strlen(path);
  if (size == 0 || size >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@')) return;
  memcpy(to.sun_path, path, size);
  if (path[0] == '@') to.sun_path[0] = '\0'; /* an abstract name */
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
  close(fd);
}

int trilha_cli_watchdog_ms(void) {
  int64_t us = 0, pid = 0;
  if (!trilha_cli_whole_number(getenv("WATCHDOG_USEC"), &us) || us < 2000 || us > 3600000000) return -1;
  if (trilha_cli_whole_number(getenv("WATCHDOG_PID"), &pid) && pid != getpid()) return -1;
  return (int)(us / 2000); /* twice as often as it must be */
}
