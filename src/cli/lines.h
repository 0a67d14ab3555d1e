/* cli/lines: a file line by line, in bounded memory. Room: cli. */
#ifndef TRILHA_CLI_LINES_H
#define TRILHA_CLI_LINES_H

#include "cli/cli_internal.h"

typedef struct trilha_cli_lines {
  int fd;
  size_t line_max; /* bytes of one line */
  trilha_buffer input;
  size_t at;    /* start of what was not yet given */
  int64_t line; /* number of the line given last, from 1 */
  bool ended;   /* the file holds no more */
} trilha_cli_lines;

/* `fd` stays the caller's. */
void trilha_cli_lines_init(trilha_cli_lines *lines, int fd, size_t line_max);
void trilha_cli_lines_done(trilha_cli_lines *lines);
/* The next line without its line feed, valid until the next call; absent after the last one. LIMIT (LINE_TOO_LONG):
 * that line is skipped and the next call goes on behind it; IO; CANCELLED; NO_MEMORY. */
trilha_status trilha_cli_lines_next(trilha_cli_lines *lines, trilha_text *ret_line, trilha_error *error);

#endif
