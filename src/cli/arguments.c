/* cli/arguments: the words that the program was started with, which the process list shows to everybody. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli_internal.h"

static void blank(char *from, const char *to) {
  while (from < to) *from++ = '*';
}

/* From the first colon of the user's part up to the last '@', so that an unescaped one in the password hides too much
 * rather than too little; and all parameters, of which `password` may be one. */
static void blank_secrets(char *url) {
  char *at = strrchr(url, '@'), *colon = strchr(url, ':'), *parameters = strchr(url, '?');
  if (at != NULL && colon != NULL && colon < at) blank(colon + 1, at);
  if (parameters != NULL) blank(parameters + 1, parameters + strlen(parameters));
}

void trilha_cli_hide_secrets(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    char *scheme = strstr(argv[i], "postgres");
    char *url = scheme == NULL ? NULL : strstr(scheme, "://");
    if (url == NULL) continue;
    char *copy = strdup(argv[i]);
    if (copy == NULL) continue; /* nothing works any more without memory; the run ends with that error */
    blank_secrets(url + 3);
    argv[i] = copy;
  }
}
