/* cli/replay: `trilha events replay|tail`: events in their order, streamed. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/cli_internal.h"
#include "cli/messages.h"

typedef struct flow {
  trilha_cli *cli;
  bool live; /* every line is written at once */
  int64_t count;
  int status;
} flow;

static trilha_status on_event(void *user, const trilha_event *event, trilha_error *error) {
  flow *f = user;
  f->status = trilha_cli_put_event_line(f->cli, event);
  f->count++;
  if (f->live) trilha_cli_flush(&f->cli->out);
  if (!f->cli->out.terminal) trilha_cli_progress_show(f->cli, f->count, (trilha_cli_words){SAY_EVENTS});
  if (f->status == TRILHA_EXIT_OK && f->cli->out.os_errno == 0) return TRILHA_OK;
  return trilha_error_set(error, TRILHA_CANCELLED, "CANCELLED", "the output ended");
}

/* How a stream that ended says so. The reader's going away and a wish to stop are no failures of the store. */
static int settle(trilha_cli *cli, const flow *f, trilha_status status, int64_t cursor, const trilha_error *error) {
  trilha_cli_progress_hide(cli);
  if (f->status != TRILHA_EXIT_OK) return f->status;
  if (cli->out.os_errno != 0) return TRILHA_EXIT_OK; /* told when the program ends */
  if (status != TRILHA_OK && status != TRILHA_CANCELLED) {
    int code = trilha_cli_fail(cli, error);
    trilha_cli_hint(cli, SAY_CONTINUE_AFTER, (long long)cursor);
    return code;
  }
  if (!*trilha_cli_interrupted() || f->live) return TRILHA_EXIT_OK;
  trilha_cli_say(cli, SAY_STOPPED);
  trilha_cli_hint(cli, SAY_CONTINUE_AFTER, (long long)cursor);
  return TRILHA_EXIT_FAILED;
}

static int stream(trilha_cli *cli, trilha *handle, const trilha_stream_options *options) {
  flow f = {.cli = cli, .live = options->follow};
  trilha_error error = {0};
  int64_t cursor = options->after;
  trilha_cli_interrupt_install();
  trilha_cli_progress_begin(cli);
  if (options->follow) cli->progress.wanted = false;
  trilha_status status = trilha_replay_stream(handle, options, on_event, &f, &cursor, &error);
  return settle(cli, &f, status, cursor, &error);
}

/* The replay of section 4.4: gathered as a whole, at most 100 pages of 1,000. */
static int gathered(trilha_cli *cli, trilha *handle, const trilha_stream_options *options) {
  trilha_replayed *replayed = NULL;
  trilha_error error = {0};
  int status = TRILHA_EXIT_OK;
  if (trilha_replay(handle, options->after, options->types, options->type_count, &replayed, &error) != TRILHA_OK) {
    return trilha_cli_fail(cli, &error);
  }
  for (size_t i = 0; i < replayed->count && status == TRILHA_EXIT_OK; i++) {
    status = trilha_cli_put_event_line(cli, &replayed->events[i]);
  }
  if (replayed->ceiling_reached) {
    trilha_cli_flush(&cli->out);
    trilha_cli_hint(cli, SAY_CONTINUE_AFTER, (long long)replayed->cursor);
  }
  trilha_replayed_free(replayed);
  return status;
}

int trilha_cli_run_events_replay(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  size_t count = 0;
  if (trilha_cli_has(args, "specified") && trilha_cli_has(args, "until")) {
    return trilha_cli_usage(cli, SAY_NOT_TOGETHER, "specified", "until");
  }
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  trilha_text *types = trilha_cli_values(args, "type", &count);
  trilha_stream_options options = {.after = trilha_cli_number(args, "after", 0),
                                   .until = trilha_cli_number(args, "until", 0),
                                   .types = types,
                                   .type_count = count,
                                   .stop = trilha_cli_interrupted()};
  status = trilha_cli_has(args, "specified") ? gathered(cli, handle, &options) : stream(cli, handle, &options);
  free(types);
  trilha_close(handle);
  return status;
}

int trilha_cli_run_events_tail(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  size_t count = 0;
  trilha_error error = {0};
  bool from_start = trilha_cli_has(args, "from-start");
  if (from_start && trilha_cli_has(args, "after"))
    return trilha_cli_usage(cli, SAY_NOT_TOGETHER, "from-start", "after");
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  int64_t after = trilha_cli_number(args, "after", 0);
  if (!from_start && !trilha_cli_has(args, "after") && trilha_last_sequence(handle, &after, &error) != TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
    trilha_close(handle);
    return status;
  }
  trilha_text *types = trilha_cli_values(args, "type", &count);
  trilha_stream_options options = {
      .after = after, .types = types, .type_count = count, .follow = true, .stop = trilha_cli_interrupted()};
  if (cli->err.terminal) trilha_cli_hint(cli, SAY_TAILING, (long long)after);
  status = stream(cli, handle, &options);
  free(types);
  trilha_close(handle);
  return status;
}
