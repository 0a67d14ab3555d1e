/* cli/worker: `trilha worker run`: a relay whose transport is the event log, standard output, a webhook or a program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/error.h"
#include "cli/child.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "cli/stop.h"
#include "trilha/relay.h"

enum { SECONDS_MAX = 86400, COUNT_MAX = 1000000, REFUSED_STATUS = 65 /* EX_DATAERR */, REASON_BYTES_MAX = 500 };

typedef struct worker {
  trilha_cli *cli;
  char **argv; /* of --exec, ended by NULL */
  trilha_relay *relay;
} worker;

/* --- transports: each returns as trilha_send says
 * ------------------------------------------------------------------------ */

static trilha_status send_to_stdout(void *user, const trilha_envelope *envelope, trilha_error *error) {
  worker *w = user;
  char *json = NULL;
  size_t size = 0;
  trilha_status status = trilha_envelope_to_json(envelope, &json, &size, error);
  if (status != TRILHA_OK) return status;
  trilha_cli_put(&w->cli->out, (trilha_text){json, size});
  trilha_cli_puts(&w->cli->out, "\n");
  trilha_free(json);
  if (trilha_cli_flush(&w->cli->out)) return TRILHA_OK;
  trilha_relay_stop(w->relay); /* nobody reads any more: the message stays for the next worker */
  return trilha_error_set_errno(error, TRILHA_UNAVAILABLE, "OUTPUT_FAILED", w->cli->out.os_errno,
                                "standard output cannot be written");
}

/* The last line that holds anything. */
static trilha_text last_line(trilha_text said) {
  while (said.size > 0 && (said.data[said.size - 1] == '\n' || said.data[said.size - 1] == ' ')) said.size--;
  const char *start = said.size == 0 ? NULL : memrchr(said.data, '\n', said.size);
  trilha_text line = start == NULL ? said : (trilha_text){start + 1, said.size - (size_t)(start + 1 - said.data)};
  if (line.size > REASON_BYTES_MAX) line.size = REASON_BYTES_MAX;
  return line;
}

static trilha_status judge(worker *w, trilha_cli_child *child, trilha_cli_news news, int ended, trilha_error *error) {
  if (news == TRILHA_CHILD_ENDED && ended != -1 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return TRILHA_OK;
  if (news == TRILHA_CHILD_LATE)
    return trilha_error_set(error, TRILHA_TIMEOUT, "COMMAND_LATE", "the command did not end in time");
  TRILHA_BUFFER_SCOPED reason;
  trilha_buffer_init(&reason, 0);
  trilha_cli_escape(&reason, last_line(trilha_buffer_text(&child->tail)));
  bool refused = ended != -1 && WIFEXITED(ended) && WEXITSTATUS(ended) == REFUSED_STATUS;
  if (reason.size == 0 && ended != -1 && WIFSIGNALED(ended))
    trilha_buffer_add_format(&reason, "ended by signal %d", WTERMSIG(ended));
  else if (reason.size == 0 && ended != -1)
    trilha_buffer_add_format(&reason, "exit status %d", WEXITSTATUS(ended));
  return trilha_error_set(error, refused ? TRILHA_INVALID : TRILHA_UNAVAILABLE,
                          refused ? "COMMAND_REFUSED" : "COMMAND_FAILED", "%s", trilha_buffer_text(&reason).data);
}

static trilha_status send_to_command(void *user, const trilha_envelope *envelope, trilha_error *error) {
  worker *w = user;
  char *json = NULL;
  size_t size = 0;
  trilha_cli_child child;
  trilha_status status = trilha_envelope_to_json(envelope, &json, &size, error);
  if (status != TRILHA_OK) return status;
  json[size] = '\n'; /* in the place of its end */
  trilha_cli_child_init(&child, w->cli->err.fd);
  status = trilha_cli_child_start(&child, w->argv, false, error);
  if (status == TRILHA_OK) {
    trilha_deadline deadline = trilha_deadline_in_ms(envelope->timeout_ms);
    trilha_cli_news news = trilha_cli_child_feed(&child, (trilha_text){json, size + 1}, deadline);
    status = judge(w, &child, news, trilha_cli_child_end(&child, 0), error);
  }
  trilha_cli_child_done(&child);
  trilha_free(json);
  return status;
}

/* --- options
 * ---------------------------------------------------------------------------------------------------------------- */

static int take_number(trilha_cli *cli, const trilha_cli_args *args, const char *name, int max, unsigned scale,
                       unsigned *ret_value) {
  int64_t value = trilha_cli_number(args, name, 0);
  if (value > max) return trilha_cli_usage(cli, SAY_NUMBER_TOO_LARGE, name, max);
  *ret_value = (unsigned)value * scale;
  return TRILHA_EXIT_OK;
}

static int take_options(trilha_cli *cli, const trilha_cli_args *args, trilha_relay_options *o) {
  *o = (trilha_relay_options){.outbox = trilha_cli_outbox_options(cli, args), .once = trilha_cli_has(args, "once")};
  const struct {
    const char *name;
    int max;
    unsigned scale;
    unsigned *value;
  } numbers[] = {{"timeout", SECONDS_MAX, 1000, &o->timeout_ms},
                 {"lease", SECONDS_MAX, 1000, &o->lease_ms},
                 {"backoff", SECONDS_MAX, 1000, &o->backoff_max_ms},
                 {"attempts", COUNT_MAX, 1, &o->attempts_max},
                 {"quota", COUNT_MAX, 1, &o->tenant_quota}};
  if (trilha_cli_text(args, "destination").size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "destination");
  int ways = trilha_cli_has(args, "bus") + trilha_cli_has(args, "stdout") + trilha_cli_has(args, "exec") +
             trilha_cli_has(args, "webhook");
  if (ways != 1) return trilha_cli_usage(cli, SAY_WORKER_TRANSPORT);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    int status = take_number(cli, args, numbers[i].name, numbers[i].max, numbers[i].scale, numbers[i].value);
    if (status != TRILHA_EXIT_OK) return status;
  }
  return TRILHA_EXIT_OK;
}

/* --- running
 * ------------------------------------------------------------------------------------------------------------------ */

static void stop_relay(void *user) {
  trilha_relay_stop(user);
}

static int run_relay(worker *w, const trilha_relay_options *options) {
  trilha_cli_stop stop = {.signals = -1, .wake = -1};
  trilha_relay_counts counts = {0};
  trilha_error error = {0};
  trilha_status status = trilha_relay_new(options, &w->relay, &error);
  if (status == TRILHA_OK) status = trilha_cli_stop_watch(&stop, stop_relay, w->relay, &error);
  if (status == TRILHA_OK) status = trilha_relay_run(w->relay, &error);
  trilha_cli_stop_done(&stop);
  trilha_relay_counted(w->relay, &counts);
  trilha_relay_free(w->relay);
  if (status != TRILHA_OK) return trilha_cli_fail(w->cli, &error);
  trilha_cli_say(w->cli, SAY_WORKER_DONE, (long long)counts.sent, (long long)counts.failed, (long long)counts.dead);
  return TRILHA_EXIT_OK;
}

/* The program's words with the NULL that ends them; the caller frees the array. */
static char **words_of(const trilha_cli_args *args) {
  char **argv = calloc(args->command_count + 1, sizeof *argv);
  for (size_t i = 0; argv != NULL && i < args->command_count; i++) argv[i] = args->command[i];
  return argv;
}

static int open_log(trilha_cli *cli, const trilha_cli_args *args, trilha **ret_handle) {
  const char *producer = cli->store_url, *log = trilha_cli_value(args, "log");
  if (log != NULL) cli->store_url = log;
  int status = trilha_cli_open(cli, ret_handle);
  cli->store_url = producer;
  return status;
}

int trilha_cli_run_worker(trilha_cli *cli, const trilha_cli_args *args) {
  worker w = {.cli = cli};
  trilha *handle = NULL;
  trilha_webhook *webhook = NULL;
  trilha_relay_options options;
  int status = take_options(cli, args, &options);
  if (status != TRILHA_EXIT_OK) return status;
  trilha_cli_stop_hold();
  trilha_transport transport = {
      .destination = trilha_cli_text(args, "destination"), .send = send_to_stdout, .user = &w, .at_once = 1};
  if (trilha_cli_has(args, "exec")) {
    transport.send = send_to_command;
    transport.at_once = 0; /* a process for each message under way */
    w.argv = words_of(args);
    if (w.argv == NULL) return trilha_cli_usage(cli, SAY_NO_MEMORY);
  } else if (trilha_cli_has(args, "bus")) {
    status = open_log(cli, args, &handle);
    transport.send = trilha_send_to_bus;
    transport.at_once = 0;
    transport.user = handle;
  }
  if (trilha_cli_has(args, "webhook")) {
    status = trilha_cli_webhook_open(cli, args, &webhook);
    if (status == TRILHA_EXIT_OK) transport = trilha_webhook_transport(webhook, transport.destination);
  }
  options.transports = &transport;
  options.transport_count = 1;
  if (status == TRILHA_EXIT_OK) status = run_relay(&w, &options);
  trilha_webhook_free(webhook);
  trilha_close(handle);
  free(w.argv);
  return status;
}
