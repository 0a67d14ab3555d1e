/* tests/fault/server: see server.h. */
#include "fault/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

static char server_folder[FAULT_SERVER_PATH];

const char *fault_server_folder(void) {
  return server_folder;
}

int fault_server(const char *verb, const char *more) {
  char command[1400];
  const char *root = getenv("TRILHA_SOURCE_ROOT");
  snprintf(command, sizeof command, "%.900s/tools/private-postgres %s %s %s >/dev/null 2>%s.said",
           root == NULL ? "." : root, verb, server_folder, more, server_folder);
  return system(command);
}

void fault_server_expect(const char *verb) {
  if (fault_server(verb, "") != 0) fail_msg("the server cannot %s: see %s.said", verb, server_folder);
}

bool fault_server_starts(const char *parent) {
  char owner[40], path[FAULT_SERVER_PATH + 8], url[512] = "";
  snprintf(server_folder, sizeof server_folder, "%s/server", parent);
  snprintf(owner, sizeof owner, "--owner %ld", (long)getpid());
  if (fault_server("start", owner) != 0) return false;
  snprintf(path, sizeof path, "%s/url", server_folder);
  FILE *file = fopen(path, "r");
  if (file == NULL || fscanf(file, "%511s", url) != 1) return false;
  fclose(file);
  setenv("TRILHA_TEST_POSTGRES_URL", url, 1);
  setenv("TRILHA_TEST_STORE", "postgresql", 1);
  return true;
}

int fault_server_run(int (*run_all)(void)) {
  char parent[] = "/tmp/trilha-server-XXXXXX", command[80];
  if (mkdtemp(parent) == NULL || chmod(parent, 0755) != 0) return 1;
  int status = 0;
  if (fault_server_starts(parent)) {
    status = run_all();
    fault_server("stop", "");
  } else {
    puts("1..0 # SKIP no PostgreSQL server can be started here");
  }
  snprintf(command, sizeof command, "rm -rf %s", parent);
  return system(command) == 0 ? status : 1;
}

relay *fault_server_wire(const char *url, char *out, size_t size) {
  char path[FAULT_SERVER_PATH + 8];
  int server_port = 0, port = 0;
  snprintf(path, sizeof path, "%s/port", server_folder);
  FILE *file = fopen(path, "r");
  assert_true(file != NULL && fscanf(file, "%d", &server_port) == 1);
  fclose(file);
  relay *wire = relay_start(server_port, &port);
  const char *host = strstr(url, "@127.0.0.1:");
  assert_non_null(host);
  snprintf(out, size, "%.*s@127.0.0.1:%d%s", (int)(host - url), url, port, strchr(host + 1, '/'));
  return wire;
}
