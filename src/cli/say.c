/* cli/say: sentences for people, and what an error means. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_internal.h"
#include "cli/messages.h"

/* Formats in the chosen language, escaped: an argument may be data from outside. */
static void put_sentence(trilha_cli *cli, trilha_cli_output *to, const char *format, va_list args) {
  char *text = NULL;
  int n = vasprintf(&text, format, args);
  if (n < 0) {
    if (cli->out.os_errno == 0) cli->out.os_errno = ENOMEM;
    return;
  }
  const char *line = text;
  for (;;) { /* line by line: our own line ends are not data */
    const char *end = strchrnul(line, '\n');
    trilha_cli_put_safe(to, (trilha_text){line, (size_t)(end - line)});
    if (*end == '\0') break;
    trilha_cli_puts(to, "\n");
    line = end + 1;
  }
  free(text);
}

#define SENTENCE(to)                                          \
  do {                                                        \
    va_list args;                                             \
    va_start(args, pt);                                       \
    put_sentence(cli, (to), cli->portuguese ? pt : en, args); \
    va_end(args);                                             \
  } while (0)

void trilha_cli_say(trilha_cli *cli, const char *en, const char *pt, ...) {
  trilha_cli_progress_hide(cli);
  trilha_cli_flush(&cli->out); /* in the order in which it happened */
  trilha_cli_style_set(&cli->err, TRILHA_STYLE_BAD);
  trilha_cli_puts(&cli->err, "trilha: ");
  trilha_cli_style_set(&cli->err, TRILHA_STYLE_PLAIN);
  SENTENCE(&cli->err);
  trilha_cli_puts(&cli->err, "\n");
  trilha_cli_flush(&cli->err);
}

void trilha_cli_hint(trilha_cli *cli, const char *en, const char *pt, ...) {
  trilha_cli_progress_hide(cli);
  trilha_cli_puts(&cli->err, "  ");
  SENTENCE(&cli->err);
  trilha_cli_puts(&cli->err, "\n");
  trilha_cli_flush(&cli->err);
}

void trilha_cli_tell(trilha_cli *cli, const char *en, const char *pt, ...) {
  SENTENCE(&cli->out);
}

static void name_command(const trilha_cli *cli, char *room, size_t size) {
  const trilha_cli_verb *verb = cli->verb;
  if (verb == NULL) {
    snprintf(room, size, "trilha");
  } else if (verb->noun == NULL) {
    snprintf(room, size, "trilha %s", verb->name);
  } else {
    snprintf(room, size, "trilha %s %s", verb->noun, verb->name);
  }
}

int trilha_cli_usage(trilha_cli *cli, const char *en, const char *pt, ...) {
  char command[80];
  trilha_cli_puts(&cli->err, "trilha: ");
  SENTENCE(&cli->err);
  trilha_cli_puts(&cli->err, "\n");
  name_command(cli, command, sizeof command);
  trilha_cli_hint(cli, SAY_TRY_HELP, command);
  return TRILHA_EXIT_USAGE;
}
