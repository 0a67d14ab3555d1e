/* cli/outbox_operate: retry, discard and correct, and what destinations say. */
#include <stdio.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"

enum { PAYLOAD_BYTES_MAX = 1048576, ASK_SECONDS_MAX = 3600 };

static int check_needed(trilha_cli *cli, const trilha_cli_args *args, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (trilha_cli_text(args, names[i]).size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, names[i]);
  return TRILHA_EXIT_OK;
}

/* --- retry and discard ------------------------------------------------------------------------------------------- */

typedef struct sought {
  trilha_text destination;
  char status[24];
} sought;

static trilha_status find_status(void *user, const trilha_outbox_entry *e) {
  sought *s = user;
  if (trilha_text_equal(e->destination, s->destination))
    snprintf(s->status, sizeof s->status, "%.*s", (int)e->status.size, e->status.data);
  return TRILHA_OK;
}

static void put_one_json(trilha_cli *cli, const trilha_outbox_operation *o, const char *member, trilha_text said,
                         bool would) {
  trilha_cli_puts(&cli->out, "{");
  trilha_cli_put_json_member(&cli->out, true, "message_id", o->message_id);
  trilha_cli_put_json_member(&cli->out, false, "destination", o->destination);
  trilha_cli_put_json_member(&cli->out, false, member, said);
  trilha_cli_putf(&cli->out, ",\"dry_run\":%s", cli->dry_run ? "true" : "false");
  if (cli->dry_run) trilha_cli_putf(&cli->out, ",\"would\":%s", would ? "true" : "false");
  trilha_cli_puts(&cli->out, "}\n");
}

static trilha_status foretell(trilha_cli *cli, trilha_outbox *outbox, const trilha_outbox_operation *o,
                              trilha_error *error) {
  sought s = {.destination = o->destination};
  trilha_status status = trilha_outbox_message(outbox, o->message_id, find_status, &s, error);
  if (status != TRILHA_OK) return status;
  const char *id = o->message_id.data, *destination = o->destination.data;
  if (cli->json) {
    trilha_text now = s.status[0] == '\0' ? (trilha_text){0} : trilha_text_of(s.status);
    put_one_json(cli, o, "status", now, strcmp(s.status, "DeadLettered") == 0);
    return TRILHA_OK;
  }
  if (s.status[0] == '\0')
    trilha_cli_tell(cli, SAY_NOT_FOR_DESTINATION, id, destination);
  else if (strcmp(s.status, "DeadLettered") == 0)
    trilha_cli_tell(cli, SAY_LANE_WOULD, id, destination, s.status);
  else
    trilha_cli_tell(cli, SAY_LANE_WOULD_NOT, id, destination, s.status);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

static trilha_status operate_one(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox,
                                 const trilha_outbox_operation *operation, bool discard, trilha_error *error) {
  if (cli->dry_run) return foretell(cli, outbox, operation, error);
  trilha_status status =
      discard ? trilha_outbox_discard(outbox, operation, error) : trilha_outbox_retry(outbox, operation, error);
  if (status != TRILHA_OK) return status;
  if (cli->json) {
    put_one_json(cli, operation, "done", discard ? TRILHA_TEXT("discarded") : TRILHA_TEXT("retried"), true);
    return TRILHA_OK;
  }
  if (discard)
    trilha_cli_tell(cli, SAY_LANE_DISCARDED, args->operands[0], operation->destination.data);
  else
    trilha_cli_tell(cli, SAY_LANE_RETRIED, args->operands[0], operation->destination.data);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

static trilha_status put_selected(void *user, const trilha_outbox_lane *lane) {
  trilha_cli *cli = user;
  if (cli->json) {
    trilha_cli_puts(&cli->out, "{");
    trilha_cli_put_json_member(&cli->out, true, "message_id", lane->message_id);
    trilha_cli_put_json_member(&cli->out, false, "error_code", lane->error_code);
    trilha_cli_puts(&cli->out, "}\n");
    return TRILHA_OK;
  }
  trilha_cli_put_safe(&cli->out, lane->message_id);
  trilha_cli_puts(&cli->out, " ");
  trilha_cli_put_safe(&cli->out, lane->error_code);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

static void put_tally_json(trilha_cli *cli, const trilha_outbox_tally *t, bool dry_run) {
  trilha_text first = t->first_failed[0] == '\0' ? (trilha_text){0} : trilha_text_of(t->first_failed);
  trilha_cli_putf(&cli->out,
                  "{\"selected\":%lld,\"done\":%lld,\"passed\":%lld,\"failed\":%lld,\"untried\":%lld,\"dry_run\":%s",
                  (long long)t->selected, (long long)t->done, (long long)t->passed, (long long)t->failed,
                  (long long)t->untried, dry_run ? "true" : "false");
  trilha_cli_put_json_member(&cli->out, false, "first_failed", first);
  trilha_cli_puts(&cli->out, "}\n");
}

/* What was done and what not, also when it ends with an error, which follows. */
static void tell_tally(trilha_cli *cli, const trilha_outbox_tally *t, bool dry_run) {
  if (cli->json) {
    put_tally_json(cli, t, dry_run);
    return;
  }
  if (dry_run)
    trilha_cli_tell(cli, SAY_LANES_WOULD, (long long)t->done);
  else
    trilha_cli_tell(cli, SAY_LANES_CHANGED, (long long)t->done);
  if (t->passed > 0) trilha_cli_tell(cli, SAY_LANES_PASSED, (long long)t->passed);
  if (t->failed > 0)
    trilha_cli_tell(cli, SAY_LANES_FAILED, (long long)t->failed, t->first_failed, (long long)t->untried);
  trilha_cli_puts(&cli->out, "\n");
}

/* Without --yes only what would be done. */
static trilha_status operate_many(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox,
                                  const trilha_outbox_operation *operation, bool discard, trilha_error *error) {
  const trilha_outbox_lanes_filter selection = {.destination = operation->destination,
                                                .error_code = trilha_cli_text(args, "code"),
                                                .failed_before = trilha_cli_text(args, "before")};
  bool dry_run = cli->dry_run || !trilha_cli_has(args, "yes");
  trilha_outbox_tally tally = {0};
  trilha_status status =
      discard ? trilha_outbox_discard_all(outbox, &selection, operation, dry_run, put_selected, cli, &tally, error)
              : trilha_outbox_retry_all(outbox, &selection, operation, dry_run, put_selected, cli, &tally, error);
  if (status == TRILHA_OK || tally.selected > 0) tell_tally(cli, &tally, dry_run);
  return status;
}

static trilha_status operate(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, bool discard,
                             trilha_error *error) {
  char user[256];
  const trilha_outbox_operation operation = {
      .message_id = args->operand_count > 0 ? trilha_text_of(args->operands[0]) : (trilha_text){0},
      .destination = trilha_cli_text(args, "destination"),
      .user = trilha_cli_user(user, sizeof user),
      .reason = trilha_cli_text(args, "reason"),
      .reconciliation = discard ? trilha_cli_text(args, "reconciliation") : (trilha_text){0},
      .override_reconciliation = discard && trilha_cli_has(args, "override")};
  return args->operand_count > 0 ? operate_one(cli, args, outbox, &operation, discard, error)
                                 : operate_many(cli, args, outbox, &operation, discard, error);
}

static trilha_status retry(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  return operate(cli, args, outbox, false, error);
}

static trilha_status discard(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  return operate(cli, args, outbox, true, error);
}

static int run_operation(trilha_cli *cli, const trilha_cli_args *args, trilha_cli_outbox_work work) {
  static const char *const needed[] = {"destination", "reason"};
  bool selects = trilha_cli_has(args, "code") || trilha_cli_has(args, "before");
  int status = check_needed(cli, args, needed, 2);
  if (status != TRILHA_EXIT_OK) return status;
  if ((args->operand_count > 0) == selects) return trilha_cli_usage(cli, SAY_ONE_OR_MANY);
  return trilha_cli_with_outbox(cli, args, work);
}

int trilha_cli_run_outbox_retry(trilha_cli *cli, const trilha_cli_args *args) {
  return run_operation(cli, args, retry);
}

int trilha_cli_run_outbox_discard(trilha_cli *cli, const trilha_cli_args *args) {
  return run_operation(cli, args, discard);
}

/* --- correct ----------------------------------------------------------------------------------------------------- */

static trilha_text without_last_line_feed(trilha_text text) {
  if (text.size > 0 && text.data[text.size - 1] == '\n') text.size--;
  return text;
}

static void tell_corrected(trilha_cli *cli, const char *id, const trilha_outbox_corrected *corrected) {
  if (cli->json) {
    trilha_cli_putf(&cli->out, "{\"revision\":%lld,\"revived\":%lld", (long long)corrected->revision,
                    (long long)corrected->revived);
    if (corrected->accepted != NULL)
      trilha_cli_put_json_member(&cli->out, false, "accepted", trilha_text_of(corrected->accepted));
    trilha_cli_puts(&cli->out, ",\"diff\":");
    trilha_cli_puts(&cli->out, corrected->diff);
    trilha_cli_puts(&cli->out, "}\n");
    return;
  }
  trilha_cli_put_safe(&cli->out, trilha_text_of(corrected->diff));
  trilha_cli_puts(&cli->out, "\n");
  if (cli->dry_run)
    trilha_cli_tell(cli, SAY_CORRECTED_WOULD, id, (long long)corrected->revision);
  else
    trilha_cli_tell(cli, SAY_CORRECTED, id, (long long)corrected->revision);
  trilha_cli_puts(&cli->out, "\n");
  if (corrected->accepted == NULL) return;
  trilha_cli_tell(cli, SAY_CORRECTED_LATE, corrected->accepted);
  trilha_cli_puts(&cli->out, "\n");
}

static trilha_status correct(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  char user[256];
  TRILHA_BUFFER_SCOPED file;
  trilha_status status = trilha_cli_read_file(args->operands[1], PAYLOAD_BYTES_MAX + 1, &file, error);
  if (status != TRILHA_OK) return status;
  trilha_outbox_corrected corrected = {0};
  const trilha_outbox_correction correction = {.message_id = trilha_text_of(args->operands[0]),
                                               .payload = without_last_line_feed(trilha_buffer_text(&file)),
                                               .revision = trilha_cli_number(args, "revision", 0),
                                               .user = trilha_cli_user(user, sizeof user),
                                               .reason = trilha_cli_text(args, "reason"),
                                               .dry_run = cli->dry_run};
  status = trilha_outbox_correct(outbox, &correction, &corrected, error);
  if (status == TRILHA_OK) tell_corrected(cli, args->operands[0], &corrected);
  trilha_outbox_corrected_done(&corrected);
  return status;
}

int trilha_cli_run_outbox_correct(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const needed[] = {"reason"};
  int status = check_needed(cli, args, needed, 1);
  return status == TRILHA_EXIT_OK ? trilha_cli_with_outbox(cli, args, correct) : status;
}

/* --- what destinations say --------------------------------------------------------------------------------------- */

static trilha_status record(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_text fact,
                            trilha_error *error) {
  char user[256];
  bool is_new = false;
  const trilha_outbox_receipt receipt = {.message_id = trilha_text_of(args->operands[0]),
                                         .destination = trilha_cli_text(args, "destination"),
                                         .fact = fact,
                                         .revision = trilha_cli_number(args, "revision", 0),
                                         .operation_id = trilha_cli_text(args, "operation"),
                                         .stated_at = trilha_cli_text(args, "at"),
                                         .source = TRILHA_TEXT("operator"),
                                         .user = trilha_cli_user(user, sizeof user),
                                         .note = trilha_cli_text(args, "note")};
  trilha_status status = trilha_outbox_record(outbox, &receipt, &is_new, error);
  if (status != TRILHA_OK) return status;
  if (is_new)
    trilha_cli_tell(cli, SAY_RECORDED, args->operands[0], fact.data, receipt.destination.data);
  else
    trilha_cli_tell(cli, SAY_RECORDED_BEFORE, args->operands[0], fact.data, receipt.destination.data);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

static trilha_status reconcile(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox,
                               trilha_error *error) {
  return record(cli, args, outbox, trilha_cli_text(args, "says"), error);
}

static trilha_status applied(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  return record(cli, args, outbox, trilha_cli_has(args, "received") ? TRILHA_TEXT("Received") : TRILHA_TEXT("Applied"),
                error);
}

static int check_asking(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const stated[] = {"at", "operation", "revision", "note"};
  bool selects = trilha_cli_has(args, "code") || trilha_cli_has(args, "before");
  for (size_t i = 0; i < sizeof stated / sizeof stated[0]; i++)
    if (trilha_cli_has(args, stated[i])) return trilha_cli_usage(cli, SAY_EXEC_STATES, stated[i]);
  if (trilha_cli_number(args, "timeout", 1) > ASK_SECONDS_MAX)
    return trilha_cli_usage(cli, SAY_NUMBER_TOO_LARGE, "timeout", ASK_SECONDS_MAX);
  return (args->operand_count > 0) == selects ? trilha_cli_usage(cli, SAY_ONE_OR_MANY) : TRILHA_EXIT_OK;
}

int trilha_cli_run_outbox_reconcile(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const needed[] = {"destination", "says"};
  bool asks = trilha_cli_has(args, "exec");
  if (asks == trilha_cli_has(args, "says")) return trilha_cli_usage(cli, SAY_SAYS_OR_EXEC);
  int status = check_needed(cli, args, needed, asks ? 1 : 2);
  if (status == TRILHA_EXIT_OK && asks) status = check_asking(cli, args);
  if (status == TRILHA_EXIT_OK && !asks && args->operand_count == 0) status = trilha_cli_usage(cli, SAY_ONE_OR_MANY);
  return status == TRILHA_EXIT_OK ? trilha_cli_with_outbox(cli, args, asks ? trilha_cli_outbox_ask : reconcile)
                                  : status;
}

int trilha_cli_run_outbox_applied(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const needed[] = {"destination"};
  int status = check_needed(cli, args, needed, 1);
  return status == TRILHA_EXIT_OK ? trilha_cli_with_outbox(cli, args, applied) : status;
}
