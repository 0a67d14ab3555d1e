/* cli/run: from argv to an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cli_internal.h"
#include "cli/messages.h"

enum { WIDTH_DEFAULT = 80, WIDTH_LEAST = 40, WIDTH_MOST = 1000 };

/* The locale's name alone decides the language; setlocale() is never called, so that no number changes its spelling. */
static bool locale_is_portuguese(void) {
  static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *value = getenv(names[i]);
    if (value != NULL && value[0] != '\0') return strncmp(value, "pt", 2) == 0 && strchr("_.@", value[2]) != NULL;
  }
  return false;
}

static unsigned terminal_width(void) {
  int64_t columns = 0;
  struct winsize size = {0};
  if (!trilha_cli_whole_number(getenv("COLUMNS"), &columns) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    columns = size.ws_col;
  }
  if (columns <= 0) return WIDTH_DEFAULT;
  return columns < WIDTH_LEAST ? WIDTH_LEAST : columns > WIDTH_MOST ? WIDTH_MOST : (unsigned)columns;
}

void trilha_cli_init(trilha_cli *cli) {
  *cli = (trilha_cli){.portuguese = locale_is_portuguese(), .width = terminal_width()};
  trilha_cli_output_init(&cli->out, STDOUT_FILENO);
  trilha_cli_output_init(&cli->err, STDERR_FILENO);
}

int trilha_cli_done(trilha_cli *cli, int status) {
  trilha_cli_progress_hide(cli);
  if (!trilha_cli_flush(&cli->out) && cli->out.os_errno != EPIPE) {
    trilha_cli_say(cli, SAY_OUTPUT_FAILED, strerror(cli->out.os_errno));
    if (status == TRILHA_EXIT_OK) status = TRILHA_EXIT_FAILED;
  }
  trilha_cli_flush(&cli->err);
  trilha_cli_output_done(&cli->out);
  trilha_cli_output_done(&cli->err);
  return status;
}

/* A stream that the caller closed must not become a file of the store. What takes its place refuses what the stream is
 * for, so that lost output is still an error. */
static void fill_standard_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    int placeholder =
        open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest free number: fd itself */
    if (placeholder != fd) _exit(TRILHA_EXIT_FAILED);
  }
}

int trilha_cli_main(int argc, char **argv) {
  trilha_cli cli;
  trilha_cli_args args;
  int status;
  fill_standard_streams();
  signal(SIGPIPE, SIG_IGN); /* a reader that went away is seen by write() */
  trilha_cli_hide_secrets(argc, argv);
  signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write(), not a silent end */
  trilha_cli_init(&cli);
  if (trilha_cli_parse(&cli, argc, argv, &args, &status)) status = cli.verb->run(&cli, &args);
  trilha_cli_args_done(&args);
  return trilha_cli_done(&cli, status);
}
