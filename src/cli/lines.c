/* cli/lines: a file line by line, in bounded memory. */
#include "cli/lines.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"

enum { READ_SIZE = 64 << 10 };

void trilha_cli_lines_init(trilha_cli_lines *lines, int fd, size_t line_max) {
  *lines = (trilha_cli_lines){.fd = fd, .line_max = line_max};
  trilha_buffer_init(&lines->input, 0);
}

void trilha_cli_lines_done(trilha_cli_lines *lines) {
  trilha_buffer_done(&lines->input);
}

/* Reads on behind what is there; what was given is dropped first. */
static trilha_status read_more(trilha_cli_lines *lines, trilha_error *error) {
  trilha_buffer *input = &lines->input;
  if (lines->at > 0) {
    input->size -= lines->at;
    memmove(input->data, input->data + lines->at, input->size);
    lines->at = 0;
  }
  if (!trilha_buffer_reserve(input, READ_SIZE)) return trilha_error_no_memory(error);
  ssize_t n = read(lines->fd, input->data + input->size, READ_SIZE);
  if (n < 0 && errno == EINTR) {
    return *trilha_cli_interrupted() ? trilha_error_set(error, TRILHA_CANCELLED, "CANCELLED", "interrupted")
                                     : TRILHA_OK;
  }
  if (n < 0) return trilha_error_set_errno(error, TRILHA_IO, "FILE_READ", errno, "cannot read");
  input->size += (size_t)n;
  lines->ended = n == 0;
  return TRILHA_OK;
}

trilha_status trilha_cli_lines_next(trilha_cli_lines *lines, trilha_text *ret_line, trilha_error *error) {
  bool skipping = false;
  *ret_line = (trilha_text){NULL, 0};
  for (;;) {
    size_t left = lines->input.size - lines->at;
    const char *start = left == 0 ? "" : lines->input.data + lines->at;
    const char *end = left == 0 ? NULL : memchr(start, '\n', left);
    if (end != NULL || (lines->ended && (left > 0 || skipping))) {
      size_t size = end != NULL ? (size_t)(end - start) : left;
      lines->at += size + (end != NULL);
      lines->line++;
      if (!skipping && size <= lines->line_max) {
        *ret_line = (trilha_text){start, size};
        return TRILHA_OK;
      }
      return trilha_error_set(error, TRILHA_LIMIT, "LINE_TOO_LONG", "the line is longer than %zu bytes",
                              lines->line_max);
    }
    if (lines->ended) return TRILHA_OK;
    if (left > lines->line_max) {
      skipping = true;
      lines->at = lines->input.size;
    }
    trilha_status status = read_more(lines, error);
    if (status != TRILHA_OK) return status;
  }
}
