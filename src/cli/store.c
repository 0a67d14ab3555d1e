/* cli/store: opening the store that the command line names, and reading files. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli_internal.h"
#include "cli/messages.h"

static void show_field(trilha_cli *cli, const trilha_field *field) {
  trilha_cli_putf(&cli->err, " %s=", field->name);
  trilha_cli_put_safe(&cli->err, field->text);
}

/* Warnings and errors always, the rest with --verbose. The error that a verb returns is said by the verb. */
static void on_diagnostic(void *user, const trilha_diagnostic *diagnostic) {
  trilha_cli *cli = user;
  if (diagnostic->level < TRILHA_WARNING && !cli->verbose) return;
  trilha_cli_progress_hide(cli);
  trilha_cli_style_set(&cli->err, diagnostic->level < TRILHA_WARNING ? TRILHA_STYLE_DIM : TRILHA_STYLE_WARN);
  trilha_cli_put_safe(&cli->err, trilha_text_of(diagnostic->message));
  trilha_cli_style_set(&cli->err, TRILHA_STYLE_PLAIN);
  trilha_cli_putf(&cli->err, " (%s", diagnostic->name);
  for (size_t i = 0; i < diagnostic->field_count; i++) show_field(cli, &diagnostic->fields[i]);
  trilha_cli_puts(&cli->err, ")\n");
  trilha_cli_flush(&cli->err);
}

trilha_options trilha_cli_options(trilha_cli *cli) {
  return (trilha_options){
      .store_url = cli->store_url, .keyring = cli->keyring, .diagnostics = {.emit = on_diagnostic, .user = cli}};
}

int trilha_cli_open(trilha_cli *cli, trilha **ret_handle) {
  trilha_options options = trilha_cli_options(cli);
  trilha_error error = {0};
  trilha_status status = trilha_open(&options, ret_handle, &error);
  if (status == TRILHA_OK) return TRILHA_EXIT_OK;
  int code = trilha_cli_fail(cli, &error);
  return status == TRILHA_USAGE ? code : TRILHA_EXIT_UNAVAILABLE;
}

trilha_text trilha_cli_user(char *room, size_t room_size) {
  const struct passwd *who = getpwuid(getuid());
  if (who != NULL) {
    snprintf(room, room_size, "%s", who->pw_name);
  } else {
    snprintf(room, room_size, "uid %lu", (unsigned long)getuid());
  }
  return trilha_text_of(room);
}

static trilha_status read_all(int fd, const char *path, size_t max, trilha_buffer *text, trilha_error *error) {
  for (;;) {
    if (!trilha_buffer_reserve(text, 1 << 14)) break;
    ssize_t n = read(fd, text->data + text->size, 1 << 14);
    if (n == 0) break;
    if (n < 0 && errno == EINTR) {
      if (*trilha_cli_interrupted()) return trilha_error_set(error, TRILHA_CANCELLED, "CANCELLED", "interrupted");
      continue;
    }
    if (n < 0) return trilha_error_set_errno(error, TRILHA_IO, "FILE_READ", errno, "cannot read %s", path);
    text->size += (size_t)n;
    text->data[text->size] = '\0';
    if (text->size > max) break;
  }
  if (text->failed == TRILHA_NO_MEMORY) return trilha_error_no_memory(error);
  if (text->size > max) {
    return trilha_error_set(error, TRILHA_LIMIT, "FILE_TOO_LARGE", "%s is larger than %zu bytes", path, max);
  }
  return TRILHA_OK;
}

trilha_status trilha_cli_read_file(const char *path, size_t max, trilha_buffer *ret_text, trilha_error *error) {
  trilha_buffer_init(ret_text, 0);
  bool standard = strcmp(path, "-") == 0;
  int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return trilha_error_set_errno(error, TRILHA_IO, "FILE_OPEN", errno, "cannot open %s", path);
  trilha_status status = read_all(fd, standard ? "standard input" : path, max, ret_text, error);
  if (!standard) close(fd);
  return status;
}
