/* cli/store: opening the store that the command line names, and reading files. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/messages.h"
#include "cli/serve_internal.h"

static void add_styled(trilha_buffer *line, const trilha_cli *cli, const char *code) {
  if (cli->err.colour) trilha_buffer_add_string(line, code);
}

/* What a verb tells by itself, as the result of what it was asked to do. */
static bool is_told_by_verb(const trilha_cli *cli, const char *name) {
  return strcmp(name, "event.refused") == 0 ||
         (cli->results_told && (strcmp(name, "event.duplicate") == 0 || strcmp(name, "event.handler_failed") == 0));
}

/* Warnings and errors always, the rest with --verbose. The error that a verb returns is said by the verb. May be called
 * from any thread of the library: it only reads what does not change and writes one whole line. */
static void on_diagnostic(void *user, const trilha_diagnostic *diagnostic) {
  const trilha_cli *cli = user;
  if (!cli->verbose && (diagnostic->level < TRILHA_WARNING || is_told_by_verb(cli, diagnostic->name))) return;
  TRILHA_BUFFER_SCOPED line;
  trilha_buffer_init(&line, 0);
  if (cli->err.terminal) trilha_buffer_add_string(&line, "\r\033[K"); /* over a line of progress */
  add_styled(&line, cli, diagnostic->level < TRILHA_WARNING ? "\033[2m" : "\033[33m");
  trilha_cli_escape(&line, trilha_text_of(diagnostic->message));
  add_styled(&line, cli, "\033[0m");
  trilha_buffer_add_format(&line, " (%s", diagnostic->name);
  bool fields = cli->verbose || !cli->err.terminal; /* a person sees what it is, a log file with what */
  for (size_t i = 0; fields && i < diagnostic->field_count; i++) {
    trilha_buffer_add_format(&line, " %s=", diagnostic->fields[i].name);
    trilha_cli_escape(&line, diagnostic->fields[i].text);
  }
  trilha_buffer_add_string(&line, ")\n");
  ssize_t written = write(cli->err.fd, line.data, line.size);
  (void)written; /* nowhere left to say it */
}

/* Texts live as long as the configuration. OpenTelemetry's own switch works here as in other instrumented programs. */
static trilha_otlp_options otlp_options(const trilha_config *config) {
  const char *disabled = getenv("OTEL_SDK_DISABLED");
  if (disabled != NULL && strcasecmp(disabled, "true") == 0) return (trilha_otlp_options){0};
  return (trilha_otlp_options){.endpoint = trilha_config_text(config, TRILHA_SETTING_OTLP_ENDPOINT).data,
                               .headers = trilha_config_text(config, TRILHA_SETTING_OTLP_HEADERS).data,
                               .ca_file = trilha_config_text(config, TRILHA_SETTING_OTLP_CERTIFICATE).data,
                               .service_name = trilha_config_text(config, TRILHA_SETTING_TELEMETRY_SERVICE_NAME).data,
                               .interval_ms = (unsigned)trilha_config_number(config, TRILHA_SETTING_OTLP_INTERVAL_MS),
                               .timeout_ms = (unsigned)trilha_config_number(config, TRILHA_SETTING_OTLP_TIMEOUT_MS),
                               .queue_max = (unsigned)trilha_config_number(config, TRILHA_SETTING_OTLP_QUEUE_MAX),
                               .flush_ms = (unsigned)trilha_config_number(config, TRILHA_SETTING_OTLP_FLUSH_MS)};
}

trilha_options trilha_cli_options(trilha_cli *cli) {
  return (trilha_options){.store_url = cli->store_url,
                          .keyring = cli->keyring,
                          .user = trilha_cli_user(cli->user, sizeof cli->user).data,
                          .diagnostics = {.emit = on_diagnostic, .user = cli}};
}

int trilha_cli_open(trilha_cli *cli, trilha **ret_handle) {
  trilha_options options = trilha_cli_options(cli);
  trilha_config *config = NULL;
  trilha_error error = {0};
  int code = trilha_cli_load_telemetry(cli, &config);
  if (code != TRILHA_EXIT_OK) return code;
  options.otlp = otlp_options(config);
  trilha_status status = trilha_open(&options, ret_handle, &error);
  trilha_config_free(config); /* opening copied what it keeps */
  if (status == TRILHA_OK) return TRILHA_EXIT_OK;
  code = trilha_cli_fail(cli, &error);
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
