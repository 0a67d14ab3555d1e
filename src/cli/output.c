/* cli/output: streams that remember a failed write, and text made safe for a terminal. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utf8proc.h>

#include "cli/cli_internal.h"

static bool environment_has(const char *name) {
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0';
}

void trilha_cli_output_init(trilha_cli_output *o, int fd) {
  *o = (trilha_cli_output){.fd = fd, .terminal = isatty(fd) == 1};
  const char *kind = getenv("TERM");
  o->colour = o->terminal && !environment_has("NO_COLOR") && (kind == NULL || strcmp(kind, "dumb") != 0);
  trilha_buffer_init(&o->buffer, 0);
}

void trilha_cli_output_done(trilha_cli_output *o) {
  trilha_buffer_done(&o->buffer);
}

bool trilha_cli_flush(trilha_cli_output *o) {
  size_t at = 0;
  if (o->buffer.failed != TRILHA_OK && o->os_errno == 0) o->os_errno = ENOMEM;
  while (o->os_errno == 0 && at < o->buffer.size) {
    ssize_t n = write(o->fd, o->buffer.data + at, o->buffer.size - at);
    if (n >= 0) {
      at += (size_t)n;
    } else if (errno != EINTR) {
      o->os_errno = errno;
    }
  }
  trilha_buffer_clear(&o->buffer);
  return o->os_errno == 0;
}

void trilha_cli_put(trilha_cli_output *o, trilha_text text) {
  if (o->os_errno != 0) return;
  trilha_buffer_add_text(&o->buffer, text);
  if (o->buffer.size >= TRILHA_CLI_OUTPUT_CHUNK || o->buffer.failed != TRILHA_OK) trilha_cli_flush(o);
}

void trilha_cli_puts(trilha_cli_output *o, const char *terminated) {
  trilha_cli_put(o, trilha_text_of(terminated));
}

void trilha_cli_putf(trilha_cli_output *o, const char *format, ...) {
  char *text = NULL;
  va_list args;
  va_start(args, format);
  int n = vasprintf(&text, format, args);
  va_end(args);
  if (n < 0) {
    if (o->os_errno == 0) o->os_errno = ENOMEM;
    return;
  }
  trilha_cli_put(o, (trilha_text){text, (size_t)n});
  free(text);
}

/* Characters that move the cursor, end a line or turn the reading direction: a terminal must never obey data. */
static bool is_unsafe(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF || (c >= 0xE0000 && c <= 0xE007F);
}

/* Bytes of the valid character at data[at], 0 when the bytes there are not UTF-8. */
static size_t character_size(trilha_text text, size_t at) {
  unsigned char lead = (unsigned char)text.data[at];
  size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (at + size > text.size || !trilha_utf8_valid(text.data + at, size)) return 0;
  return size;
}

static void escape_code_point(trilha_buffer *out, uint32_t c) {
  if (c > 0xFFFF) { /* as JSON spells it */
    trilha_buffer_add_format(out, "\\u%04X\\u%04X", 0xD800U + ((c - 0x10000U) >> 10),
                             0xDC00U + ((c - 0x10000U) & 0x3FFU));
  } else {
    trilha_buffer_add_format(out, "\\u%04X", (unsigned)c);
  }
}

void trilha_cli_escape(trilha_buffer *out, trilha_text text) {
  size_t at = 0, plain = 0; /* plain: start of the run not yet appended */
  while (at < text.size) {
    size_t size = character_size(text, at), next = at;
    uint32_t c = size == 0 ? 0 : trilha_utf8_next(text.data, text.size, &next);
    if (size != 0 && !is_unsafe(c)) {
      at += size;
      continue;
    }
    trilha_buffer_append(out, text.data + plain, at - plain);
    if (size == 0) {
      trilha_buffer_add_format(out, "\\x%02X", (unsigned)(unsigned char)text.data[at]);
    } else {
      escape_code_point(out, c);
    }
    at += size == 0 ? 1 : size;
    plain = at;
  }
  if (at > plain) trilha_buffer_append(out, text.data + plain, at - plain);
}

void trilha_cli_put_safe(trilha_cli_output *o, trilha_text text) {
  TRILHA_BUFFER_SCOPED escaped;
  trilha_buffer_init(&escaped, 0);
  trilha_cli_escape(&escaped, text);
  trilha_cli_put(o, trilha_buffer_text(&escaped));
}

void trilha_cli_put_json(trilha_cli_output *o, trilha_text json) {
  if (o->terminal) {
    trilha_cli_put_safe(o, json);
  } else {
    trilha_cli_put(o, json);
  }
}

size_t trilha_cli_columns(trilha_text text) {
  size_t at = 0, columns = 0;
  while (at < text.size) {
    int width = utf8proc_charwidth((utf8proc_int32_t)trilha_utf8_next(text.data, text.size, &at));
    columns += width > 0 ? (size_t)width : 0;
  }
  return columns;
}

void trilha_cli_style_set(trilha_cli_output *o, trilha_cli_style style) {
  static const char *const codes[] = {
      [TRILHA_STYLE_PLAIN] = "\033[0m", [TRILHA_STYLE_BOLD] = "\033[1m", [TRILHA_STYLE_DIM] = "\033[2m",
      [TRILHA_STYLE_GOOD] = "\033[32m", [TRILHA_STYLE_BAD] = "\033[31m", [TRILHA_STYLE_WARN] = "\033[33m"};
  if (o->colour) trilha_cli_puts(o, codes[style]);
}
