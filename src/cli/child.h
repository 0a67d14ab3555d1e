/* cli/child: one process beside this one, spoken to through pipes. Room: cli. One owner, one thread.
 *
 * Everything waits by poll with a deadline: a child that reads nothing, says nothing or keeps its pipes open in
 * grandchildren holds nobody up past it. The child leads a process group of its own, so that Ctrl-C in a terminal
 * reaches only the consumer and an end by force reaches its children too.
 */
#ifndef TRILHA_CLI_CHILD_H
#define TRILHA_CLI_CHILD_H

#include <sys/types.h>

#include "base/clock.h"
#include "base/text.h"
#include "trilha/error.h"

/* Limits (docs/limits.md), bytes. */
enum {
  TRILHA_CHILD_LINE_MAX = 65536, /* one line of a child's answer */
  TRILHA_CHILD_TAIL_MAX = 32768  /* what is kept of the end of its standard error, at least; twice that at most */
};

typedef struct trilha_cli_child {
  pid_t pid;          /* 0: no child */
  int pid_fd;         /* readable when it has ended; -1: asked for with waitid() */
  int in, out, err;   /* our ends; -1: closed */
  int err_to;         /* where its standard error is passed on */
  trilha_buffer said; /* standard output, not looked at yet */
  trilha_buffer tail; /* the end of its standard error */
} trilha_cli_child;

typedef enum trilha_cli_news {
  TRILHA_CHILD_LINE,      /* a whole line is in `said` (and everything was written) */
  TRILHA_CHILD_CLOSED,    /* its standard output ended */
  TRILHA_CHILD_ENDED,     /* the process ended */
  TRILHA_CHILD_LONG_LINE, /* more than TRILHA_CHILD_LINE_MAX without a line's end */
  TRILHA_CHILD_LATE,      /* the deadline passed */
  TRILHA_CHILD_NO_MEMORY
} trilha_cli_news;

void trilha_cli_child_init(trilha_cli_child *child, int err_to);
/* Starts argv (ended by NULL; found on PATH). answers: its standard output is ours to read, else it is shared. Errors:
 * IO code COMMAND_FAILED when it cannot be run. */
trilha_status trilha_cli_child_start(trilha_cli_child *child, char *const *argv, bool answers,
                                     trilha_error *error) TRILHA_MUST_USE;
/* Writes `text` while reading, until there is news that an answer waits for. *ret_written: bytes that it took. */
trilha_cli_news trilha_cli_child_ask(trilha_cli_child *child, trilha_text text, trilha_deadline deadline,
                                     size_t *ret_written);
/* Writes `text`, closes its standard input and reads its standard error, and its answer when it gives one, until it has
 * ended: ENDED, LATE, NO_MEMORY, or LONG_LINE when the answer is longer than TRILHA_CHILD_LINE_MAX. */
trilha_cli_news trilha_cli_child_feed(trilha_cli_child *child, trilha_text text, trilha_deadline deadline);
/* Passes on what it wrote to standard error; false when it has ended, closed its output or said something unasked. */
bool trilha_cli_child_is_quiet(trilha_cli_child *child);
/* Takes the first line out of `said`, without its end; absent when there is no whole one. Valid until the next call. */
trilha_text trilha_cli_child_line(trilha_cli_child *child);
void trilha_cli_child_line_done(trilha_cli_child *child);

/* Closes its standard input, lets it end by itself for patience_ms, then asks by SIGTERM, then SIGKILL. Returns what
 * waitpid() told, -1 when there was none. The tail stays. */
int trilha_cli_child_end(trilha_cli_child *child, int64_t patience_ms);
void trilha_cli_child_done(trilha_cli_child *child);

#endif
