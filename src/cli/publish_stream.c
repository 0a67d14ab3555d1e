/* cli/publish_stream: `trilha publish --ndjson`: requests line by line, published in batches, in bounded memory. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/messages.h"
#include "cli/publish_internal.h"

enum { READ_SIZE = 64 << 10, LOOK_AT_STOP_MS = 500 };

typedef struct stream {
  trilha_cli *cli;
  trilha *handle;
  int fd;
  trilha_buffer input; /* bytes read, of lines not yet complete */
  bool skipping;       /* inside a line that is too long */
  int64_t line;        /* of the line being gathered, from 1 */
  trilha_cli_request *requests;
  size_t count, bytes;
  int64_t published, repeated, failed;
  trilha_error advised; /* the first failure that a remedy is known for */
  int stop_status;      /* not 0: no further line is published */
} stream;

static bool is_hopeless(const trilha_error *error) {
  return error->retriable || error->status == TRILHA_DENIED;
}

static void count_failure(stream *s, const trilha_error *error) {
  s->failed++;
  if (s->advised.status == TRILHA_OK && trilha_cli_has_remedy(error)) s->advised = *error;
}

static void tell_result(stream *s, const trilha_cli_request *request, const trilha_publish_result *result) {
  if (result->status == TRILHA_OK) {
    trilha_cli_outcome_ok(s->cli, request->line, result);
    s->published += result->duplicate ? 0 : 1;
    s->repeated += result->duplicate ? 1 : 0;
    return;
  }
  trilha_cli_outcome_failed(s->cli, request->line, &result->error, result);
  count_failure(s, &result->error);
  /* A store that cannot be written refuses every further line just the same. */
  if (is_hopeless(&result->error)) s->stop_status = trilha_cli_exit_of(&result->error);
}

/* Every result carries its own status, so that what the call as a whole returns says nothing more. */
static void publish_good(stream *s, const trilha_publication *publications, size_t count,
                         trilha_publish_result *results) {
  if (!s->cli->dry_run) {
    trilha_status first = trilha_publish_many(s->handle, publications, count, results, NULL);
    (void)first;
  }
  for (size_t i = 0; s->cli->dry_run && i < count; i++) {
    trilha_status status = trilha_publish_check(s->handle, &publications[i], &results[i], NULL);
    (void)status;
  }
}

/* Publishes what can be published, then tells all in the order of the lines. */
static void publish_batch(stream *s) {
  trilha_publication *publications = calloc(s->count, sizeof *publications);
  trilha_publish_result *results = calloc(s->count, sizeof *results);
  trilha_error error = {0};
  size_t good = 0, at = 0;
  if (publications == NULL || results == NULL) {
    trilha_error_no_memory(&error);
    s->stop_status = trilha_cli_fail(s->cli, &error);
  } else {
    for (size_t i = 0; i < s->count; i++) {
      if (s->requests[i].error.status == TRILHA_OK) publications[good++] = s->requests[i].publication;
    }
    publish_good(s, publications, good, results);
    for (size_t i = 0; i < s->count; i++) {
      const trilha_cli_request *request = &s->requests[i];
      if (request->error.status == TRILHA_OK) {
        tell_result(s, request, &results[at]);
        trilha_publish_result_done(&results[at++]);
      } else {
        trilha_cli_outcome_failed(s->cli, request->line, &request->error, NULL);
        count_failure(s, &request->error);
      }
    }
  }
  free(publications);
  free(results);
}

static void finish_batch(stream *s) {
  if (s->count == 0) return;
  publish_batch(s);
  for (size_t i = 0; i < s->count; i++) trilha_cli_request_done(&s->requests[i]);
  s->count = s->bytes = 0;
  trilha_cli_flush(&s->cli->out);
  trilha_cli_progress_show(s->cli, s->published + s->repeated + s->failed, (trilha_cli_words){SAY_LINES});
  if (s->cli->out.os_errno != 0 && s->stop_status == 0)
    s->stop_status = TRILHA_EXIT_FAILED; /* nobody sees the results */
}

static bool is_empty(trilha_text line) {
  for (size_t i = 0; i < line.size; i++) {
    if (memchr(" \t\r", line.data[i], 3) == NULL) return false;
  }
  return true;
}

static void add_request(stream *s, trilha_text line) {
  trilha_cli_request_read(s->line, line, &s->requests[s->count++]);
  s->bytes += line.size;
  if (s->count == TRILHA_CLI_BATCH_LINES_MAX || s->bytes >= TRILHA_CLI_BATCH_BYTES_MAX) finish_batch(s);
}

static void add_too_long(stream *s) {
  trilha_cli_request *request = &s->requests[s->count++];
  *request = (trilha_cli_request){.line = s->line};
  trilha_error_set(&request->error, TRILHA_LIMIT, "LINE_TOO_LONG", "the line is longer than %zu bytes and was skipped",
                   TRILHA_CLI_LINE_MAX);
  if (s->count == TRILHA_CLI_BATCH_LINES_MAX) finish_batch(s);
}

static void end_line(stream *s, trilha_text line) {
  if (s->skipping || line.size > TRILHA_CLI_LINE_MAX) {
    if (!s->skipping) add_too_long(s);
    s->skipping = false;
  } else if (!is_empty(line)) {
    add_request(s, line);
  }
  s->line++;
}

/* Takes the complete lines out of the input; what is left is the start of the next one. */
static void take_lines(stream *s) {
  size_t at = 0;
  while (s->stop_status == 0) {
    const char *start = s->input.data + at;
    const char *end = at < s->input.size ? memchr(start, '\n', s->input.size - at) : NULL;
    if (end == NULL) break;
    end_line(s, (trilha_text){start, (size_t)(end - start)});
    at = (size_t)(end - s->input.data) + 1;
  }
  size_t left = s->input.size - at;
  if (at > 0 && left > 0) memmove(s->input.data, s->input.data + at, left);
  s->input.size = left;
  if (left <= TRILHA_CLI_LINE_MAX && !s->skipping) return;
  if (!s->skipping) add_too_long(s);
  s->skipping = true;
  s->input.size = 0;
}

/* Waits for input; publishes what is gathered rather than let it wait. False: asked to stop. */
static bool wait_for_input(stream *s) {
  struct pollfd waiting = {.fd = s->fd, .events = POLLIN};
  while (!*trilha_cli_interrupted()) {
    int ready = poll(&waiting, 1, s->count > 0 ? 0 : LOOK_AT_STOP_MS);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true; /* read() tells what is wrong */
    if (ready == 0) finish_batch(s);
    if (s->stop_status != 0) return false;
  }
  return false;
}

static void read_lines(stream *s) {
  while (s->stop_status == 0 && wait_for_input(s)) {
    if (!trilha_buffer_reserve(&s->input, READ_SIZE)) {
      trilha_cli_say(s->cli, SAY_NO_MEMORY);
      s->stop_status = TRILHA_EXIT_FAILED;
      return;
    }
    ssize_t n = read(s->fd, s->input.data + s->input.size, READ_SIZE);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      trilha_cli_say(s->cli, SAY_READ_FAILED, strerror(errno));
      s->stop_status = TRILHA_EXIT_FAILED;
    }
    if (n <= 0) break;
    s->input.size += (size_t)n;
    take_lines(s);
  }
  bool ended = s->stop_status == 0 && !*trilha_cli_interrupted();
  if (ended && (s->input.size > 0 || s->skipping))
    end_line(s, trilha_buffer_text(&s->input)); /* no line end at the end */
}

static int summary(stream *s) {
  trilha_cli *cli = s->cli;
  trilha_cli_progress_hide(cli);
  bool stopped = *trilha_cli_interrupted() || s->stop_status != 0;
  if (stopped) trilha_cli_say(cli, SAY_STOPPED_AT_LINE, (long long)s->line);
  if (stopped || !cli->json) {
    trilha_cli_flush(&cli->out);
    if (cli->dry_run) {
      trilha_cli_hint(cli, SAY_CHECK_SUMMARY, (long long)s->published, (long long)s->failed);
    } else {
      trilha_cli_hint(cli, SAY_PUBLISH_SUMMARY, (long long)s->published, (long long)s->repeated, (long long)s->failed);
    }
  }
  /* Once, not under each of perhaps a million lines. */
  if (!cli->json) trilha_cli_hint_remedy(cli, &s->advised);
  if (s->stop_status != 0) return s->stop_status;
  return s->failed > 0 || stopped ? TRILHA_EXIT_FAILED : TRILHA_EXIT_OK;
}

int trilha_cli_publish_stream(trilha_cli *cli, trilha *handle, int fd) {
  stream s = {.cli = cli, .handle = handle, .fd = fd, .line = 1};
  s.requests = calloc(TRILHA_CLI_BATCH_LINES_MAX, sizeof *s.requests);
  if (s.requests == NULL) {
    trilha_cli_say(cli, SAY_NO_MEMORY);
    return TRILHA_EXIT_FAILED;
  }
  trilha_buffer_init(&s.input, 0);
  trilha_cli_interrupt_install();
  trilha_cli_progress_begin(cli);
  read_lines(&s);
  if (s.stop_status == 0) finish_batch(&s);
  for (size_t i = 0; i < s.count; i++) trilha_cli_request_done(&s.requests[i]);
  trilha_buffer_done(&s.input);
  free(s.requests);
  return summary(&s);
}
