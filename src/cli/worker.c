/* cli/worker: `trilha worker run`: a relay whose transport is the event log, standard output, a webhook or a program.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/error.h"
#include "cli/child.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "cli/relays.h"
#include "cli/serve_internal.h"
#include "cli/stop.h"

enum { SECONDS_MAX = 86400, COUNT_MAX = 1000000, REFUSED_STATUS = 65 /* EX_DATAERR */, REASON_BYTES_MAX = 500 };

typedef struct worker {
  trilha_cli *cli;
  char **argv;           /* of --exec, ended by NULL */
  pthread_mutex_t lines; /* standard output: one message at a time, whichever source it is of */
  trilha_cli_relays relays;
} worker;

/* --- transports: each returns as trilha_send says
 * ------------------------------------------------------------------------ */

static bool put_line(worker *w, trilha_text json) {
  pthread_mutex_lock(&w->lines);
  trilha_cli_put(&w->cli->out, json);
  trilha_cli_puts(&w->cli->out, "\n");
  bool written = trilha_cli_flush(&w->cli->out);
  pthread_mutex_unlock(&w->lines);
  return written;
}

static trilha_status send_to_stdout(void *user, const trilha_envelope *envelope, trilha_error *error) {
  worker *w = user;
  char *json = NULL;
  size_t size = 0;
  trilha_status status = trilha_envelope_to_json(envelope, &json, &size, error);
  if (status != TRILHA_OK) return status;
  bool written = put_line(w, (trilha_text){json, size});
  trilha_free(json);
  if (written) return TRILHA_OK;
  trilha_cli_relays_stop(&w->relays); /* nobody reads any more: the message stays for the next worker */
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
                       unsigned *value) {
  if (!trilha_cli_has(args, name)) return TRILHA_EXIT_OK;
  int64_t given = trilha_cli_number(args, name, 0);
  if (given > max) return trilha_cli_usage(cli, SAY_NUMBER_TOO_LARGE, name, max);
  *value = (unsigned)given * scale;
  return TRILHA_EXIT_OK;
}

static int check_options(trilha_cli *cli, const trilha_cli_args *args) {
  int ways = trilha_cli_has(args, "bus") + trilha_cli_has(args, "stdout") + trilha_cli_has(args, "exec") +
             trilha_cli_has(args, "webhook");
  if (trilha_cli_text(args, "destination").size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "destination");
  return ways == 1 ? TRILHA_EXIT_OK : trilha_cli_usage(cli, SAY_WORKER_TRANSPORT);
}

/* What the command line says goes before what the source says. */
static int take_windows(trilha_cli *cli, const trilha_cli_args *args, trilha_relay_options *o) {
  const struct {
    const char *name;
    int max;
    unsigned scale;
    unsigned *value;
  } numbers[] = {
      {"timeout", SECONDS_MAX, 1000, &o->timeout_ms},     {"lease", SECONDS_MAX, 1000, &o->lease_ms},
      {"backoff", SECONDS_MAX, 1000, &o->backoff_max_ms}, {"attempts", COUNT_MAX, 1, &o->attempts_max},
      {"quota", COUNT_MAX, 1, &o->tenant_quota},          {"weight", TRILHA_RELAY_WORKERS_MAX, 1, &o->workers}};
  int status = TRILHA_EXIT_OK;
  for (size_t i = 0; status == TRILHA_EXIT_OK && i < sizeof numbers / sizeof numbers[0]; i++)
    status = take_number(cli, args, numbers[i].name, numbers[i].max, numbers[i].scale, numbers[i].value);
  return status;
}

/* --- running
 * ------------------------------------------------------------------------------------------------------------------ */

static int add_relay(worker *w, const trilha_cli_args *args, const trilha_transport *transport,
                     const trilha_config_source *source) {
  trilha_relay_options o = {.outbox = trilha_cli_outbox_options(w->cli, args),
                            .transports = transport,
                            .transport_count = 1,
                            .once = trilha_cli_has(args, "once"),
                            .credential = trilha_cli_value(args, "service")};
  trilha_error error = {0};
  trilha_status status = TRILHA_OK;
  if (source != NULL) {
    o.outbox.url = source->store.data;
    o.outbox.schema = source->schema.data;
    trilha_cli_source_relay(source, &o);
    status = trilha_cli_source_check_retention(source, &error);
    if (status != TRILHA_OK) trilha_error_while(&error, "reading the source %s", source->name.data);
  }
  if (status != TRILHA_OK) return trilha_cli_fail(w->cli, &error);
  int taken = take_windows(w->cli, args, &o);
  if (taken != TRILHA_EXIT_OK) return taken;
  status = trilha_cli_relays_add(&w->relays, &o, source == NULL ? NULL : source->name.data, &error);
  return status == TRILHA_OK ? TRILHA_EXIT_OK : trilha_cli_fail(w->cli, &error);
}

/* The command line's outbox, or each of the sources that has the destination. */
static int add_relays(worker *w, const trilha_cli_args *args, const trilha_transport *transport,
                      const trilha_cli_sources *sources) {
  int status = sources->count == 0 ? add_relay(w, args, transport, NULL) : TRILHA_EXIT_OK;
  for (size_t i = 0; status == TRILHA_EXIT_OK && i < sources->count; i++)
    if (trilha_cli_source_serves(sources->list[i], transport->destination))
      status = add_relay(w, args, transport, sources->list[i]);
  if (status == TRILHA_EXIT_OK && w->relays.count == 0)
    return trilha_cli_usage(w->cli, SAY_NO_SOURCE_SERVES, transport->destination.data);
  return status;
}

static int run_relays(worker *w) {
  trilha_cli_stop stop = {.signals = -1, .wake = -1};
  trilha_relay_counts counts = {0};
  trilha_error error = {0};
  trilha_status status = trilha_cli_stop_watch(&stop, trilha_cli_relays_stop, &w->relays, &error);
  if (status == TRILHA_OK) status = trilha_cli_relays_run(&w->relays, &error);
  trilha_cli_stop_done(&stop);
  trilha_cli_relays_count(&w->relays, &counts);
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

/* Of registered sources the log is the configuration's own store. */
static int open_log(trilha_cli *cli, const trilha_cli_args *args, const trilha_cli_sources *sources,
                    trilha **ret_handle) {
  const char *producer = cli->store_url, *log = trilha_cli_value(args, "log");
  if (log == NULL && sources->config != NULL) log = trilha_config_text(sources->config, TRILHA_SETTING_STORE).data;
  if (log != NULL) cli->store_url = log;
  int status = trilha_cli_open(cli, ret_handle);
  cli->store_url = producer;
  return status;
}

/* What the transport needs: each may be there or not. */
typedef struct way {
  trilha *handle;
  trilha_webhook *webhook;
  trilha_transport transport;
} way;

static int open_way(worker *w, const trilha_cli_args *args, const trilha_cli_sources *sources, way *out) {
  int status = TRILHA_EXIT_OK;
  out->transport = (trilha_transport){.destination = trilha_cli_text(args, "destination"),
                                      .send = send_to_stdout,
                                      .user = w,
                                      .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_BEST_EFFORT,
                                      .because = "who reads the lines is not asked whether it kept them"};
  if (trilha_cli_has(args, "exec")) {
    out->transport.send = send_to_command;
    out->transport.at_once = 0; /* a process for each message under way */
    out->transport.guarantee = TRILHA_GUARANTEE_DURABLE;
    out->transport.because = NULL;
    w->argv = words_of(args);
    if (w->argv == NULL) return trilha_cli_usage(w->cli, SAY_NO_MEMORY);
  } else if (trilha_cli_has(args, "bus")) {
    status = open_log(w->cli, args, sources, &out->handle);
    out->transport.send = trilha_send_to_bus;
    out->transport.at_once = 0;
    out->transport.user = out->handle;
    out->transport.guarantee = TRILHA_GUARANTEE_DURABLE;
    out->transport.because = NULL;
  } else if (trilha_cli_has(args, "webhook")) {
    status = trilha_cli_webhook_open(w->cli, args, &out->webhook);
    if (status == TRILHA_EXIT_OK) out->transport = trilha_webhook_transport(out->webhook, out->transport.destination);
  }
  return status;
}

int trilha_cli_run_worker(trilha_cli *cli, const trilha_cli_args *args) {
  worker w = {.cli = cli, .lines = PTHREAD_MUTEX_INITIALIZER};
  trilha_cli_sources sources = {.count = 0};
  way out = {.handle = NULL};
  int status = check_options(cli, args);
  if (status == TRILHA_EXIT_OK) status = trilha_cli_sources_take(cli, args, &sources);
  trilha_cli_stop_hold();
  if (status == TRILHA_EXIT_OK) status = open_way(&w, args, &sources, &out);
  if (status == TRILHA_EXIT_OK) status = add_relays(&w, args, &out.transport, &sources);
  trilha_cli_come_to_rest();
  if (status == TRILHA_EXIT_OK) status = run_relays(&w);
  trilha_cli_relays_done(&w.relays);
  trilha_webhook_free(out.webhook);
  trilha_close(out.handle);
  trilha_cli_sources_done(&sources);
  free(w.argv);
  return status;
}
