/* cli/serve: `trilha serve`: the operators' side as a service. */
#include "serve/serve.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/notify.h"
#include "cli/serve_internal.h"
#include "cli/serve_messages.h"
#include "json/json.h"

#define CONFIG_OPTION                                                                                                 \
  {                                                                                                                   \
    "config", 'c', TRILHA_CLI_FILE, false, 0, "FILE", {                                                               \
      "the configuration; default: trilha.yaml, if it is there", "a configuração; padrão: trilha.yaml, se existir" \
    }                                                                                                                 \
  }

const trilha_cli_option trilha_cli_serve_options[] = {
    CONFIG_OPTION,
    {"dev",
     0,
     TRILHA_CLI_FLAG,
     false,
     0,
     NULL,
     {"for development: lists the error codes and their HTTP statuses at the start",
      "para desenvolver: lista no início os códigos de erro e seus status HTTP"}},
    {NULL, 0, TRILHA_CLI_FLAG, false, 0, NULL, {NULL, NULL}},
};
const trilha_cli_option trilha_cli_config_options[] = {
    CONFIG_OPTION,
    {NULL, 0, TRILHA_CLI_FLAG, false, 0, NULL, {NULL, NULL}},
};

/* --- diagnostics: one JSON object a line ------------------------------------------------------------------------ */

static void add_field(trilha_buffer *line, const trilha_field *field) {
  trilha_buffer_add_char(line, ',');
  trilha_json_write_string(line, trilha_text_of(field->name));
  trilha_buffer_add_char(line, ':');
  if (field->is_number)
    trilha_buffer_add_text(line, field->text);
  else
    trilha_json_write_string(line, field->text);
}

typedef struct json_log {
  int fd;
  bool verbose;
  pthread_mutex_t mutex; /* what follows, and one writer at a time */
  int64_t lost;          /* lines since the last one that was written */
} json_log;

/* A reader that has stopped reading must not stop the service: what does not fit into its pipe is dropped and counted.
 */
static void write_line(json_log *log, const trilha_buffer *line) {
  struct pollfd p = {.fd = log->fd, .events = POLLOUT};
  bool fits = line->size <= PIPE_BUF && poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0;
  if (!fits || write(log->fd, line->data, line->size) != (ssize_t)line->size) log->lost++;
}

static void begin_line(trilha_buffer *line, const char *level, const char *name, const char *message) {
  char now[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(trilha_clock_wall_us(), now);
  trilha_buffer_add_format(line, "{\"time\":\"%s\",\"level\":\"%s\",\"name\":\"%s\",\"message\":", now, level, name);
  trilha_json_write_string(line, trilha_text_of(message));
}

static void tell_lost(json_log *log) {
  TRILHA_BUFFER_SCOPED line;
  trilha_buffer_init(&line, 0);
  begin_line(&line, "warning", "serve.log_lost", "lines before this one did not fit into the log");
  trilha_buffer_add_format(&line, ",\"lines\":%lld}\n", (long long)log->lost);
  int64_t lost = log->lost;
  log->lost = 0;
  write_line(log, &line);
  if (log->lost != 0) log->lost = lost;
}

/* From any thread; each line is one write. */
static void emit_json(void *user, const trilha_diagnostic *d) {
  static const char *const levels[] = {"debug", "info", "warning", "error"};
  json_log *log = user;
  if (!log->verbose && d->level < TRILHA_INFO) return;
  TRILHA_BUFFER_SCOPED line;
  trilha_buffer_init(&line, 0);
  begin_line(&line, levels[d->level], d->name, d->message);
  for (size_t i = 0; i < d->field_count; i++) add_field(&line, &d->fields[i]);
  trilha_buffer_add_string(&line, "}\n");
  pthread_mutex_lock(&log->mutex);
  if (log->lost != 0) tell_lost(log);
  write_line(log, &line);
  pthread_mutex_unlock(&log->mutex);
}

/* --- signals -------------------------------------------------------------------------------------------------------
 */

/* Before any thread is made, so that all of them leave the signals to the one loop below. */
static int signals_open(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  return signalfd(-1, &set, SFD_CLOEXEC);
}

static void reload(trilha_cli *cli, const trilha_cli_args *args, trilha_serve *serve) {
  trilha_config *config = NULL;
  char login[64];
  trilha_error error = {0};
  trilha_cli_notify("RELOADING=1");
  if (trilha_cli_load_config(cli, args, &config) == TRILHA_EXIT_OK)
    (void)!trilha_serve_reload(serve, config, trilha_cli_user(login, sizeof login), &error); /* it says what is wrong */
  trilha_config_free(config);
  trilha_cli_come_to_rest();
  trilha_cli_flush(&cli->err);
  trilha_cli_notify("READY=1");
}

static void run_until_stopped(trilha_cli *cli, const trilha_cli_args *args, trilha_serve *serve, int signals) {
  int watchdog_ms = trilha_cli_watchdog_ms();
  for (;;) {
    struct pollfd p = {.fd = signals, .events = POLLIN};
    struct signalfd_siginfo info;
    int ready = poll(&p, 1, watchdog_ms);
    if (ready < 0 && errno != EINTR) return;
    if (watchdog_ms > 0) trilha_cli_notify("WATCHDOG=1");
    if (ready <= 0 || read(signals, &info, sizeof info) != sizeof info) continue;
    if (info.ssi_signo != SIGHUP) return;
    reload(cli, args, serve);
  }
}

/* --- the verb
 * --------------------------------------------------------------------------------------------------------- */

static int serve_store(trilha_cli *cli, const trilha_cli_args *args, const trilha_config *config, trilha *handle,
                       json_log *log, int signals) {
  trilha_serve *serve = NULL;
  trilha_error error = {0};
  trilha_serve_options options = {.handle = handle, .config = config, .diagnostics = {.emit = emit_json, .user = log}};
  if (trilha_serve_start(&options, &serve, &error) != TRILHA_OK) return trilha_cli_fail(cli, &error);
  trilha_cli_tell(cli, SAY_SERVING, trilha_config_text(config, TRILHA_SETTING_API_ADDRESS).data,
                  trilha_serve_api_port(serve), trilha_config_text(config, TRILHA_SETTING_STATUS_ADDRESS).data,
                  trilha_serve_status_port(serve));
  trilha_cli_puts(&cli->out, "\n");
  if (trilha_cli_has(args, "dev")) (void)trilha_cli_show_error_codes(cli); /* it told what stopped it */
  trilha_cli_come_to_rest();
  trilha_cli_flush(&cli->out);
  trilha_cli_notify("READY=1");
  run_until_stopped(cli, args, serve, signals);
  trilha_cli_notify("STOPPING=1");
  trilha_cli_say(cli, SAY_SERVE_STOPPING);
  trilha_cli_flush(&cli->err);
  trilha_serve_stop(serve);
  return TRILHA_EXIT_OK;
}

int trilha_cli_run_serve(trilha_cli *cli, const trilha_cli_args *args) {
  trilha_config *config = NULL;
  trilha *handle = NULL;
  trilha_error error = {0};
  int signals = signals_open();
  json_log log = {.fd = cli->err.fd, .verbose = cli->verbose};
  pthread_mutex_init(&log.mutex, NULL);
  int status = trilha_cli_load_config(cli, args, &config);
  if (status != TRILHA_EXIT_OK) {
    close(signals);
    return status;
  }
  trilha_options options = {.store_url = trilha_config_text(config, TRILHA_SETTING_STORE).data,
                            .diagnostics = {.emit = emit_json, .user = &log}};
  trilha_status opened = trilha_open(&options, &handle, &error);
  if (opened == TRILHA_OK) {
    status = serve_store(cli, args, config, handle, &log, signals);
    trilha_close(handle);
  } else {
    status = trilha_cli_fail(cli, &error);
    if (opened != TRILHA_USAGE) status = TRILHA_EXIT_UNAVAILABLE;
  }
  trilha_config_free(config);
  close(signals);
  return status;
}
