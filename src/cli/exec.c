/* cli/exec: one event to another program, and what its answer means. */
#include "cli/exec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/delivery_messages.h"
#include "cli/messages.h"

enum {
  TIMEOUT_S = 30,
  TIMEOUT_S_MAX = 86400,
  LAST_WORDS_MS = 200, /* for a child that closed its output to end by itself, so that we see how */
  LEAVE_MS = 5000,     /* for a child whose input was closed to finish */
  MESSAGE_MAX = 4000,  /* bytes of standard error in the message: the queue keeps 4096 of it */
  QUOTED_MAX = 200     /* bytes of a wrong answer that are shown */
};

/* --- the options ------------------------------------------------------------------------------------------ */

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

static int take_command(trilha_cli_exec *exec, const trilha_cli_args *args) {
  static const char shell[] = "/bin/sh", option[] = "-c";
  const char *line = trilha_cli_value(args, "shell");
  size_t count = line != NULL ? 3 : args->command_count;
  if (line != NULL && trilha_cli_has(args, "exec"))
    return trilha_cli_usage(exec->cli, SAY_NOT_TOGETHER, "exec", "shell");
  if (count == 0) return TRILHA_EXIT_OK;
  exec->argv = calloc(count + 1, sizeof *exec->argv);
  if (exec->argv == NULL) {
    trilha_cli_say(exec->cli, SAY_NO_MEMORY);
    return TRILHA_EXIT_FAILED;
  }
  /* The words are not changed by exec; its argument type has no const for reasons of the language's age. */
  const char *words[] = {shell, option, line};
  for (size_t i = 0; i < count; i++) exec->argv[i] = (char *)(uintptr_t)(line != NULL ? words[i] : args->command[i]);
  const char *name = trilha_cli_value(args, "name");
  exec->name = name != NULL ? name : line != NULL ? "sh" : last_part(exec->argv[0]);
  return TRILHA_EXIT_OK;
}

int trilha_cli_exec_init(trilha_cli_exec *exec, trilha_cli *cli, const trilha_cli_args *args) {
  int64_t timeout_s = trilha_cli_number(args, "timeout", TIMEOUT_S);
  *exec = (trilha_cli_exec){.cli = cli, .each = trilha_cli_has(args, "each"), .timeout_ms = timeout_s * 1000};
  trilha_cli_child_init(&exec->child, cli->err.fd);
  if (timeout_s > TIMEOUT_S_MAX) return trilha_cli_usage(cli, SAY_NUMBER_TOO_LARGE, "timeout", TIMEOUT_S_MAX);
  return take_command(exec, args);
}

/* --- whether it can be run ---------------------------------------------------------------------------------- */

static bool is_program(const char *path) {
  struct stat what;
  return stat(path, &what) == 0 && S_ISREG(what.st_mode) && access(path, X_OK) == 0;
}

static bool is_found(const char *program) {
  if (strchr(program, '/') != NULL) return is_program(program);
  const char *path = getenv("PATH");
  if (path == NULL) path = "/usr/bin:/bin"; /* the C library then looks somewhere like this */
  for (size_t size; *path != '\0'; path += size + (path[size] == ':' ? 1 : 0)) {
    char name[PATH_MAX];
    size = strcspn(path, ":");
    int n = snprintf(name, sizeof name, "%.*s%s%s", (int)size, path, size == 0 ? "" : "/", program);
    if (n > 0 && (size_t)n < sizeof name && is_program(name)) return true;
  }
  return false;
}

int trilha_cli_exec_begin(trilha_cli_exec *exec) {
  trilha_error error = {0};
  trilha_status status = TRILHA_OK;
  if (!is_found(exec->argv[0]))
    status =
        trilha_error_set(&error, TRILHA_IO, "COMMAND_FAILED", "cannot run %s: there is no such program", exec->argv[0]);
  else if (!exec->each)
    status = trilha_cli_child_start(&exec->child, exec->argv, true, &error);
  return status == TRILHA_OK ? TRILHA_EXIT_OK : trilha_cli_fail(exec->cli, &error);
}

void trilha_cli_exec_done(trilha_cli_exec *exec) {
  (void)trilha_cli_child_end(&exec->child, LEAVE_MS);
  trilha_cli_child_done(&exec->child);
  free(exec->argv);
}

/* --- failing -------------------------------------------------------------------------------------------------- */

static trilha_text trimmed(trilha_text text) {
  while (text.size > 0 && strchr(" \t\r\n", text.data[text.size - 1]) != NULL) text.size--;
  return text;
}

/* The last part of a long text, from a line's beginning where there is one. */
static trilha_text last_lines(trilha_text text, size_t most) {
  if (text.size <= most) return text;
  trilha_text last = {text.data + (text.size - most), most};
  const char *end = trilha_text_find(last, '\n');
  size_t gone = end == NULL ? 0 : (size_t)(end - last.data) + 1;
  if (gone >= last.size) gone = 0;
  return (trilha_text){last.data + gone, last.size - gone};
}

static void put_end(trilha_buffer *out, int status) {
  if (status != -1 && WIFEXITED(status))
    trilha_buffer_add_format(out, "the command ended with status %d", WEXITSTATUS(status));
  else if (status != -1 && WIFSIGNALED(status))
    trilha_buffer_add_format(out, "the command was ended by signal %d", WTERMSIG(status));
  else
    trilha_buffer_add_string(out, "the command ended");
}

/* The message is the reason, or what the command itself said; the end of its standard error is kept as the stack. */
static trilha_status fail(trilha_cli_exec *exec, trilha_delivery *delivery, trilha_text message) {
  trilha_text said = trimmed(trilha_buffer_text(&exec->child.tail));
  return trilha_delivery_fail_with_stack(delivery, message, said.size == 0 ? (trilha_text){0} : said);
}

/* The child broke the protocol, ended or was late: it is ended and the event fails. */
static trilha_status fail_and_end(trilha_cli_exec *exec, trilha_delivery *delivery, trilha_buffer *reason,
                                  bool tell_end) {
  int status = trilha_cli_child_end(&exec->child, tell_end ? LAST_WORDS_MS : 0);
  if (tell_end) put_end(reason, status);
  return fail(exec, delivery, trilha_buffer_text(reason));
}

static void put_late(const trilha_cli_exec *exec, trilha_buffer *reason) {
  trilha_buffer_add_format(reason, "the command did not answer within %lld seconds",
                           (long long)(exec->timeout_ms / 1000));
}

/* Nothing that comes next could be run either: the run ends instead of failing every event. */
static trilha_status start(trilha_cli_exec *exec, bool answers, trilha_delivery *delivery) {
  trilha_error error = {0};
  if (trilha_cli_child_start(&exec->child, exec->argv, answers, &error) == TRILHA_OK) return TRILHA_OK;
  exec->broken = true;
  exec->error = error;
  if (exec->give_up != NULL) exec->give_up(exec->give_up_user);
  return trilha_delivery_fail_with_stack(delivery, trilha_text_of(error.text), (trilha_text){0});
}

/* --- a process for each event ----------------------------------------------------------------------------------- */

static trilha_status handle_each(trilha_cli_exec *exec, trilha_text line, trilha_delivery *delivery) {
  TRILHA_BUFFER_SCOPED reason;
  trilha_buffer_init(&reason, 0);
  trilha_status status = start(exec, false, delivery);
  if (status != TRILHA_OK) return status;
  trilha_cli_news news = trilha_cli_child_feed(&exec->child, line, trilha_deadline_in_ms(exec->timeout_ms));
  int ended = trilha_cli_child_end(&exec->child, 0);
  if (news == TRILHA_CHILD_ENDED && ended != -1 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return TRILHA_OK;
  trilha_text said = last_lines(trimmed(trilha_buffer_text(&exec->child.tail)), MESSAGE_MAX);
  if (news == TRILHA_CHILD_LATE)
    put_late(exec, &reason);
  else if (said.size != 0)
    trilha_buffer_add_text(&reason, said);
  else
    put_end(&reason, ended);
  return fail(exec, delivery, trilha_buffer_text(&reason));
}

/* --- one child for all events ---------------------------------------------------------------------------------------
 */

typedef enum verdict { SAID_OK, SAID_ERROR, SAID_OTHER, SAID_WRONG } verdict;

/* Takes "WORD NUMBER" off the line; the rest, after one blank, is what follows. */
static bool take_word_and_number(trilha_text line, const char *word, int64_t *ret_number, trilha_text *ret_rest) {
  size_t size = strlen(word), at = size + 1;
  if (line.size < at + 1 || memcmp(line.data, word, size) != 0 || line.data[size] != ' ') return false;
  int64_t number = 0;
  for (; at < line.size && line.data[at] >= '0' && line.data[at] <= '9'; at++) {
    if (number > (INT64_MAX - 9) / 10) return false;
    number = number * 10 + (line.data[at] - '0');
  }
  if (at == size + 1 || (at < line.size && line.data[at] != ' ')) return false;
  if (at < line.size) at++;
  *ret_number = number;
  *ret_rest = (trilha_text){line.data + at, line.size - at};
  return true;
}

static verdict read_answer(trilha_text line, int64_t sequence, trilha_text *ret_text) {
  int64_t number = 0;
  if (line.size > 0 && line.data[line.size - 1] == '\r') line.size--;
  if (take_word_and_number(line, "ok", &number, ret_text) && ret_text->size == 0)
    return number == sequence ? SAID_OK : SAID_OTHER;
  if (take_word_and_number(line, "error", &number, ret_text)) return number == sequence ? SAID_ERROR : SAID_OTHER;
  return SAID_WRONG;
}

static trilha_status judge(trilha_cli_exec *exec, int64_t sequence, trilha_delivery *delivery) {
  TRILHA_BUFFER_SCOPED reason;
  trilha_buffer_init(&reason, 0);
  trilha_text text = {0}, line = trilha_cli_child_line(&exec->child);
  verdict said = read_answer(line, sequence, &text);
  if (said == SAID_OK || said == SAID_ERROR) {
    trilha_text empty = TRILHA_TEXT("the command answered error without saying why");
    trilha_status status = said == SAID_OK ? TRILHA_OK : fail(exec, delivery, text.size == 0 ? empty : text);
    trilha_cli_child_line_done(&exec->child);
    return status;
  }
  trilha_buffer_add_format(&reason, "the command answered for another event than %lld: \"", (long long)sequence);
  if (said == SAID_WRONG) {
    trilha_buffer_clear(&reason);
    trilha_buffer_add_format(&reason, "the command answered neither \"ok %lld\" nor \"error %lld TEXT\" but \"",
                             (long long)sequence, (long long)sequence);
  }
  if (line.size > QUOTED_MAX) line.size = QUOTED_MAX;
  trilha_buffer_add_text(&reason, line);
  trilha_buffer_add_string(&reason, "\"");
  return fail_and_end(exec, delivery, &reason, false);
}

/* A child that ended or spoke between two events did not do so because of the next one, which gets a new child. */
static trilha_status ready(trilha_cli_exec *exec, trilha_delivery *delivery) {
  if (exec->child.pid != 0 && !trilha_cli_child_is_quiet(&exec->child)) {
    if (exec->child.said.size != 0) trilha_cli_say(exec->cli, SAY_COMMAND_UNASKED);
    (void)trilha_cli_child_end(&exec->child, 0);
  }
  return exec->child.pid != 0 ? TRILHA_OK : start(exec, true, delivery);
}

static trilha_status handle_line(trilha_cli_exec *exec, trilha_text line, int64_t sequence, trilha_delivery *delivery) {
  TRILHA_BUFFER_SCOPED reason;
  trilha_buffer_init(&reason, 0);
  trilha_cli_news news = TRILHA_CHILD_CLOSED;
  bool unread =
      true; /* a child that ended before it took a byte may have been on its way out: the event gets another */
  for (int i = 0; i < 2 && unread; i++) {
    size_t written = 0;
    if (i > 0) (void)trilha_cli_child_end(&exec->child, 0);
    trilha_status status = ready(exec, delivery);
    if (status != TRILHA_OK) return status;
    trilha_buffer_clear(&exec->child.tail);
    news = trilha_cli_child_ask(&exec->child, line, trilha_deadline_in_ms(exec->timeout_ms), &written);
    unread = written == 0 && (news == TRILHA_CHILD_CLOSED || news == TRILHA_CHILD_ENDED);
  }
  switch (news) {
    case TRILHA_CHILD_LINE:
      return judge(exec, sequence, delivery);
    case TRILHA_CHILD_CLOSED:
    case TRILHA_CHILD_ENDED:
      trilha_buffer_add_string(&reason, "no answer: ");
      return fail_and_end(exec, delivery, &reason, true);
    case TRILHA_CHILD_LONG_LINE:
      trilha_buffer_add_format(&reason, "the command answered with more than %d bytes", TRILHA_CHILD_LINE_MAX);
      return fail_and_end(exec, delivery, &reason, false);
    case TRILHA_CHILD_LATE:
      put_late(exec, &reason);
      return fail_and_end(exec, delivery, &reason, false);
    case TRILHA_CHILD_NO_MEMORY:
    default:
      trilha_buffer_add_string(&reason, "out of memory while waiting for the command's answer");
      return fail_and_end(exec, delivery, &reason, false);
  }
}

trilha_status trilha_cli_exec_handle(void *user, const trilha_event *event, trilha_delivery *delivery) {
  trilha_cli_exec *exec = user;
  char *json = NULL;
  size_t size = 0;
  trilha_error error = {0};
  if (trilha_event_to_json(event, &json, &size, &error) != TRILHA_OK)
    return trilha_delivery_fail_with_stack(delivery, trilha_text_of(error.text), (trilha_text){0});
  json[size] = '\n'; /* in the place of its end: the line is not used as a terminated string any more */
  trilha_text line = {json, size + 1};
  trilha_status status =
      exec->each ? handle_each(exec, line, delivery) : handle_line(exec, line, event->sequence_number, delivery);
  trilha_free(json);
  return status;
}
