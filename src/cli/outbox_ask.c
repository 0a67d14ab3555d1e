/* cli/outbox_ask: `trilha outbox reconcile --exec`: a command is asked what the destination knows of a message, and its
 * answer is recorded. The command is run directly, never by a shell; what is asked goes to its standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/error.h"
#include "cli/child.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "json/json.h"

enum { ASK_SECONDS = 10, IDS_MAX = TRILHA_OUTBOX_LANES_MAX };

typedef struct asking {
  trilha_cli *cli;
  trilha_outbox *outbox;
  trilha_text destination, user;
  char **argv; /* ended by NULL */
  int64_t timeout_ms;
  trilha_buffer question, answer;
  size_t operations; /* in the question */
  bool goes_there;   /* the message has the destination */
  int64_t recorded, known, failed;
} asking;

/* --- the question: one line of JSON, nothing of the payload but its digest ------------------------------------------
 */

static void add_member(trilha_buffer *out, const char *name, trilha_text text) {
  if (text.data == NULL) return;
  if (out->size > 1) trilha_buffer_add_char(out, ',');
  trilha_json_write_string(out, trilha_text_of(name));
  trilha_buffer_add_char(out, ':');
  trilha_json_write_string(out, text);
}

static trilha_status add_message(void *user, const trilha_outbox_entry *e) {
  asking *a = user;
  if (!trilha_text_equal(e->destination, a->destination)) return TRILHA_OK;
  const struct {
    const char *name;
    trilha_text text;
  } texts[] = {{"destination", e->destination},
               {"tenant_id", e->tenant_id},
               {"company_id", e->company_id},
               {"aggregate_type", e->aggregate_type},
               {"aggregate_key", e->aggregate_key},
               {"message_type", e->message_type},
               {"version", e->version},
               {"correlation_id", e->correlation_id},
               {"payload_sha256", e->payload_sha256},
               {"status", e->status}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) add_member(&a->question, texts[i].name, texts[i].text);
  trilha_buffer_add_format(&a->question, ",\"aggregate_sequence\":\"%lld\",\"revision\":%lld",
                           (long long)e->aggregate_sequence, (long long)e->revision);
  a->goes_there = true;
  return TRILHA_OK;
}

/* What the destination called its own work on the message before: what it is asked about by name. */
static trilha_status add_operation(void *user, const trilha_outbox_receipt *receipt) {
  asking *a = user;
  if (!trilha_text_equal(receipt->destination, a->destination) || receipt->operation_id.data == NULL) return TRILHA_OK;
  if (a->operations++ > 0) trilha_buffer_add_char(&a->question, ',');
  trilha_json_write_string(&a->question, receipt->operation_id);
  return TRILHA_OK;
}

static trilha_status write_question(asking *a, trilha_text id, trilha_error *error) {
  trilha_buffer_clear(&a->question);
  a->goes_there = false;
  a->operations = 0;
  trilha_buffer_add_char(&a->question, '{');
  add_member(&a->question, "message_id", id);
  trilha_status status = trilha_outbox_message(a->outbox, id, add_message, a, error);
  if (status == TRILHA_OK && !a->goes_there)
    status = trilha_error_set(error, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", "%s does not go to %s", id.data,
                              a->destination.data);
  trilha_buffer_add_string(&a->question, ",\"operation_ids\":[");
  if (status == TRILHA_OK) status = trilha_outbox_receipts(a->outbox, id, add_operation, a, error);
  trilha_buffer_add_string(&a->question, "]}\n");
  return status == TRILHA_OK ? trilha_buffer_check(&a->question, error) : status;
}

/* --- the answer ----------------------------------------------------------------------------------------------------
 */

static trilha_status refuse(trilha_error *error, const char *what) {
  return trilha_error_set(
      error, TRILHA_INVALID, "ANSWER_INVALID",
      "%s: the command answers one JSON object with \"says\": Received, Applied, Refused, Unknown or "
      "Conflict, and perhaps \"at\", \"operation\" and \"note\"",
      what);
}

static trilha_status judge(const asking *a, trilha_cli_news news, int ended, trilha_error *error) {
  if (news == TRILHA_CHILD_NO_MEMORY) return trilha_error_no_memory(error);
  if (news == TRILHA_CHILD_LATE)
    return trilha_error_set(error, TRILHA_TIMEOUT, "COMMAND_LATE", "the command did not answer in %lld s",
                            (long long)a->timeout_ms / 1000);
  if (news == TRILHA_CHILD_LONG_LINE) return refuse(error, "the answer is too long");
  if (ended != -1 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return TRILHA_OK;
  if (ended != -1 && WIFSIGNALED(ended))
    return trilha_error_set(error, TRILHA_UNAVAILABLE, "COMMAND_FAILED", "the command was ended by signal %d",
                            WTERMSIG(ended));
  return trilha_error_set(error, TRILHA_UNAVAILABLE, "COMMAND_FAILED", "the command ended with exit status %d",
                          ended != -1 && WIFEXITED(ended) ? WEXITSTATUS(ended) : -1);
}

static trilha_status run_command(asking *a, trilha_cli_child *child, trilha_error *error) {
  trilha_status status = trilha_cli_child_start(child, a->argv, true, error);
  if (status != TRILHA_OK) return status;
  trilha_deadline deadline = trilha_deadline_in_ms(a->timeout_ms);
  trilha_cli_news news = trilha_cli_child_feed(child, trilha_buffer_text(&a->question), deadline);
  trilha_buffer_clear(&a->answer);
  trilha_buffer_add_text(&a->answer, trilha_buffer_text(&child->said)); /* its end takes what it said */
  return judge(a, news, trilha_cli_child_end(child, 0), error);
}

static trilha_status record(asking *a, trilha_text id, const trilha_json_document *answer, trilha_error *error) {
  const trilha_json_value *root = answer->values;
  bool is_new = false;
  const trilha_outbox_receipt receipt = {.message_id = id,
                                         .destination = a->destination,
                                         .fact = trilha_json_member_string(root, "says"),
                                         .operation_id = trilha_json_member_string(root, "operation"),
                                         .stated_at = trilha_json_member_string(root, "at"),
                                         .source = TRILHA_TEXT("query"),
                                         .user = a->user,
                                         .note = trilha_json_member_string(root, "note")};
  if (root->type != TRILHA_JSON_OBJECT || receipt.fact.data == NULL) return refuse(error, "it is not understood");
  trilha_status status = trilha_outbox_record(a->outbox, &receipt, &is_new, error);
  if (status != TRILHA_OK) return status;
  a->recorded += is_new ? 1 : 0;
  a->known += is_new ? 0 : 1;
  trilha_cli_put_safe(&a->cli->out, id);
  trilha_cli_puts(&a->cli->out, " ");
  trilha_cli_put_safe(&a->cli->out, receipt.fact);
  trilha_cli_puts(&a->cli->out, "\n");
  return TRILHA_OK;
}

static trilha_status take_answer(asking *a, trilha_text id, trilha_text said, trilha_error *error) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *answer = NULL;
  trilha_error own = {0};
  if (trilha_json_parse(said, &limits, &answer, NULL, &own) != TRILHA_OK) return refuse(error, "it is no JSON");
  trilha_status status = record(a, id, answer, error);
  trilha_json_document_free(answer);
  return status;
}

static trilha_status ask(asking *a, trilha_text id, trilha_error *error) {
  trilha_cli_child child;
  trilha_status status = write_question(a, id, error);
  if (status != TRILHA_OK) return status;
  trilha_cli_child_init(&child, a->cli->err.fd);
  status = run_command(a, &child, error);
  if (status == TRILHA_OK) status = trilha_buffer_check(&a->answer, error);
  if (status == TRILHA_OK) status = take_answer(a, id, trilha_buffer_text(&a->answer), error);
  trilha_cli_child_done(&child);
  return status;
}

/* --- one message, or the dead ones of a selection --------------------------------------------------------------------
 */

typedef struct ids {
  char (*list)[40];
  size_t count;
} ids;

static trilha_status keep_id(void *user, const trilha_outbox_lane *lane) {
  ids *all = user;
  if (all->count < IDS_MAX)
    snprintf(all->list[all->count++], sizeof all->list[0], "%.*s", (int)lane->message_id.size, lane->message_id.data);
  return TRILHA_OK;
}

static trilha_status select_dead(asking *a, const trilha_cli_args *args, ids *all, trilha_error *error) {
  const trilha_outbox_lanes_filter selection = {.destination = a->destination,
                                                .status = TRILHA_TEXT("DeadLettered"),
                                                .error_code = trilha_cli_text(args, "code"),
                                                .failed_before = trilha_cli_text(args, "before"),
                                                .limit = IDS_MAX};
  all->list = calloc(IDS_MAX, sizeof *all->list);
  if (all->list == NULL) return trilha_error_no_memory(error);
  return trilha_outbox_lanes(a->outbox, &selection, keep_id, all, error);
}

/* What one question came to does not keep the next from being asked. */
static void ask_each(asking *a, const ids *all) {
  for (size_t i = 0; i < all->count && !*trilha_cli_interrupted(); i++) {
    trilha_error error = {0};
    if (ask(a, trilha_text_of(all->list[i]), &error) == TRILHA_OK) continue;
    a->failed++;
    trilha_cli_say(a->cli, SAY_ASKED_FAILED, all->list[i], error.text);
  }
}

static trilha_status ask_many(asking *a, const trilha_cli_args *args, trilha_error *error) {
  ids all = {.count = 0};
  trilha_status status = select_dead(a, args, &all, error);
  if (status == TRILHA_OK) ask_each(a, &all);
  bool stopped = status == TRILHA_OK && *trilha_cli_interrupted();
  free(all.list);
  if (status != TRILHA_OK) return status;
  trilha_cli_tell(a->cli, SAY_ASKED, (long long)a->recorded, (long long)a->known, (long long)a->failed);
  trilha_cli_puts(&a->cli->out, "\n");
  if (stopped) return trilha_error_set(error, TRILHA_CANCELLED, "CANCELLED", "interrupted");
  return a->failed == 0 ? TRILHA_OK
                        : trilha_error_set(error, TRILHA_UNAVAILABLE, "RECONCILE_FAILED",
                                           "%lld questions were not answered", (long long)a->failed);
}

trilha_status trilha_cli_outbox_ask(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox,
                                    trilha_error *error) {
  char user[256];
  asking a = {.cli = cli,
              .outbox = outbox,
              .destination = trilha_cli_text(args, "destination"),
              .user = trilha_cli_user(user, sizeof user),
              .argv = calloc(args->command_count + 1, sizeof *a.argv),
              .timeout_ms = trilha_cli_number(args, "timeout", ASK_SECONDS) * 1000};
  if (a.argv == NULL) return trilha_error_no_memory(error);
  for (size_t i = 0; i < args->command_count; i++) a.argv[i] = args->command[i];
  trilha_buffer_init(&a.question, 0);
  trilha_buffer_init(&a.answer, 0);
  trilha_cli_interrupt_install();
  trilha_status status =
      args->operand_count > 0 ? ask(&a, trilha_text_of(args->operands[0]), error) : ask_many(&a, args, error);
  trilha_buffer_done(&a.question);
  trilha_buffer_done(&a.answer);
  free(a.argv);
  return status;
}
