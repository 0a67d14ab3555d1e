/* serve: what operators do to messages of registered outboxes. Nothing here makes a message: a retry keeps it, a
 * correction keeps its identity and its place, a discard gives it up, a receipt tells of it. The library writes who and
 * why in the transaction of the effect. */
#include <stdlib.h>

#include "base/error.h"
#include "serve/serve_internal.h"

enum { PAYLOAD_CHARS_MOST = 1048576, NAME_CHARS_MOST = 255, TIME_CHARS_MOST = 64 };

static trilha_text subject_of(const trilha_call *call) {
  return trilha_text_of(call->caller.identity.subject);
}

/* Reads the body and does it with the outbox of the path. */
static void act(trilha_call *call, trilha_member *members, size_t count, trilha_outbox_work work) {
  trilha_json_document *document = NULL;
  if (!trilha_api_no_parameters(call)) return;
  if (trilha_api_body(call, members, count, &document)) trilha_api_with_outbox(call, work, members);
  trilha_json_document_free(document);
}

/* --- retry and discard of one ------------------------------------------------------------------------------------ */

enum { ONE_DESTINATION, ONE_REASON, ONE_RECONCILIATION, ONE_OVERRIDE, ONE_COUNT };
enum { RETRY_COUNT = ONE_REASON + 1 };

#define ONE_MEMBERS                                                                                       \
  {                                                                                                       \
    [ONE_DESTINATION] = {.name = "destination", .needed = true, .chars_max = NAME_CHARS_MOST},            \
    [ONE_REASON] = {.name = "reason", .needed = true}, [ONE_RECONCILIATION] = {.name = "reconciliation"}, \
    [ONE_OVERRIDE] = {                                                                                    \
      .name = "override",                                                                                 \
      .kind = TRILHA_MEMBER_BOOLEAN                                                                       \
    }                                                                                                     \
  }

static trilha_outbox_operation operation_of(const trilha_call *call, const trilha_member *m) {
  return (trilha_outbox_operation){.destination = m[ONE_DESTINATION].text,
                                   .user = subject_of(call),
                                   .reason = m[ONE_REASON].text,
                                   .reconciliation = m[ONE_RECONCILIATION].text,
                                   .override_reconciliation = m[ONE_OVERRIDE].truth};
}

static trilha_status operate_one(trilha_call *call, trilha_outbox *outbox, const trilha_member *m, bool discard,
                                 trilha_error *error) {
  trilha_outbox_operation operation = operation_of(call, m);
  operation.message_id = call->operands[1];
  trilha_status status = trilha_api_check_message(call, outbox, error);
  if (status == TRILHA_OK)
    status =
        discard ? trilha_outbox_discard(outbox, &operation, error) : trilha_outbox_retry(outbox, &operation, error);
  if (status != TRILHA_OK) return status;
  trilha_buffer *out = &call->answer->body;
  trilha_buffer_add_char(out, '{');
  trilha_add_member_text(out, true, "message_id", operation.message_id);
  trilha_add_member_text(out, false, "destination", operation.destination);
  trilha_add_member(out, false, "done", discard ? "discarded" : "retried");
  trilha_buffer_add_char(out, '}');
  return TRILHA_OK;
}

static trilha_status retry(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  return operate_one(call, outbox, user, false, error);
}

static trilha_status discard(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  return operate_one(call, outbox, user, true, error);
}

void trilha_api_outbox_retry(trilha_call *call) {
  trilha_member m[ONE_COUNT] = ONE_MEMBERS;
  act(call, m, RETRY_COUNT, retry);
}

void trilha_api_outbox_discard(trilha_call *call) {
  trilha_member m[ONE_COUNT] = ONE_MEMBERS;
  act(call, m, ONE_COUNT, discard);
}

/* --- of many: told first, done when dry_run is false ------------------------------------------------------------- */

enum { MANY_TENANT, MANY_CODE, MANY_BEFORE, MANY_LIMIT, MANY_DRY_RUN, MANY_ONE };
enum { MANY_COUNT = MANY_ONE + ONE_COUNT, MANY_RETRY_COUNT = MANY_ONE + RETRY_COUNT };

typedef struct selected {
  trilha_buffer *out;
  bool any;
} selected;

typedef struct many {
  trilha_member m[MANY_COUNT];
  trilha_outbox_tally tally;
} many;

static trilha_status add_selected(void *user, const trilha_outbox_lane *lane) {
  selected *s = user;
  if (s->any) trilha_buffer_add_char(s->out, ',');
  s->any = true;
  trilha_api_add_lane(s->out, lane);
  return TRILHA_OK;
}

static trilha_status operate_many(trilha_call *call, trilha_outbox *outbox, many *all, bool discard,
                                  trilha_error *error) {
  const trilha_member *m = all->m;
  const trilha_outbox_operation operation = operation_of(call, m + MANY_ONE);
  const trilha_outbox_lanes_filter selection = {.tenant_id = m[MANY_TENANT].text,
                                                .destination = operation.destination,
                                                .error_code = m[MANY_CODE].text,
                                                .failed_before = m[MANY_BEFORE].text,
                                                .limit = m[MANY_LIMIT].number};
  bool dry_run = !m[MANY_DRY_RUN].given || m[MANY_DRY_RUN].truth;
  selected s = {.out = &call->answer->body};
  trilha_outbox_tally *t = &all->tally;
  trilha_buffer_add_string(s.out, "{\"linhas\":[");
  trilha_status status =
      discard ? trilha_outbox_discard_all(outbox, &selection, &operation, dry_run, add_selected, &s, t, error)
              : trilha_outbox_retry_all(outbox, &selection, &operation, dry_run, add_selected, &s, t, error);
  trilha_buffer_add_format(s.out, "],\"count\":%lld,\"passed\":%lld,\"dry_run\":%s}", (long long)t->done,
                           (long long)t->passed, dry_run ? "true" : "false");
  return status;
}

/* Whoever hears of a failure in the middle hears what was done before it. */
static void add_tally(trilha_http_answer *answer, const trilha_outbox_tally *t) {
  TRILHA_BUFFER_SCOPED told;
  trilha_buffer_init(&told, 0);
  trilha_buffer_add_format(&told,
                           "\"tally\":{\"selected\":%lld,\"done\":%lld,\"passed\":%lld,\"failed\":%lld,"
                           "\"untried\":%lld",
                           (long long)t->selected, (long long)t->done, (long long)t->passed, (long long)t->failed,
                           (long long)t->untried);
  trilha_add_member(&told, false, "first_failed", t->first_failed[0] == '\0' ? NULL : t->first_failed);
  trilha_buffer_add_char(&told, '}');
  trilha_answer_problem_extend(answer, trilha_buffer_text(&told));
}

static trilha_status retry_many(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  return operate_many(call, outbox, user, false, error);
}

static trilha_status discard_many(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  return operate_many(call, outbox, user, true, error);
}

static void act_on_many(trilha_call *call, size_t count, trilha_outbox_work work) {
  const trilha_member one[ONE_COUNT] = ONE_MEMBERS;
  many all = {.m = {
                  [MANY_TENANT] = {.name = "tenant", .chars_max = NAME_CHARS_MOST},
                  [MANY_CODE] = {.name = "code", .chars_max = NAME_CHARS_MOST},
                  [MANY_BEFORE] = {.name = "before", .chars_max = TIME_CHARS_MOST},
                  [MANY_LIMIT] = {.name = "limit", .kind = TRILHA_MEMBER_NUMBER},
                  [MANY_DRY_RUN] = {.name = "dry_run", .kind = TRILHA_MEMBER_BOOLEAN},
              }};
  trilha_json_document *document = NULL;
  memcpy(all.m + MANY_ONE, one, sizeof one);
  if (!trilha_api_no_parameters(call)) return;
  bool read = trilha_api_body(call, all.m, count, &document);
  if (read && !all.m[MANY_CODE].given && !all.m[MANY_BEFORE].given) {
    trilha_answer_problem(call->answer, 400, "REQUEST_INVALID",
                          "which of the dead heads is said with code, before or both");
    read = false;
  }
  if (read && trilha_api_tenant(call, &all.m[MANY_TENANT].text, NULL)) {
    trilha_api_with_outbox(call, work, &all);
    if (all.tally.failed > 0) add_tally(call->answer, &all.tally);
  }
  trilha_json_document_free(document);
}

void trilha_api_outbox_retry_many(trilha_call *call) {
  act_on_many(call, MANY_RETRY_COUNT, retry_many);
}

void trilha_api_outbox_discard_many(trilha_call *call) {
  act_on_many(call, MANY_COUNT, discard_many);
}

/* --- content ----------------------------------------------------------------------------------------------------- */

enum { REVEAL_REASON, REVEAL_REVISION, REVEAL_COUNT };

static trilha_status reveal(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  const trilha_member *m = user;
  char *payload = NULL;
  int64_t revision = 0;
  trilha_status status = trilha_api_check_message(call, outbox, error);
  if (status == TRILHA_OK)
    status = trilha_outbox_reveal(outbox, call->operands[1], m[REVEAL_REVISION].number, subject_of(call),
                                  m[REVEAL_REASON].text, &payload, &revision, error);
  if (status != TRILHA_OK) return status;
  trilha_buffer_add_format(&call->answer->body, "{\"revision\":%lld", (long long)revision);
  trilha_add_member(&call->answer->body, false, "payload", payload);
  trilha_buffer_add_char(&call->answer->body, '}');
  trilha_free(payload);
  return TRILHA_OK;
}

void trilha_api_outbox_reveal(trilha_call *call) {
  trilha_member m[REVEAL_COUNT] = {
      [REVEAL_REASON] = {.name = "reason", .needed = true},
      [REVEAL_REVISION] = {.name = "revision", .kind = TRILHA_MEMBER_NUMBER},
  };
  act(call, m, REVEAL_COUNT, reveal);
}

enum { CORRECT_PAYLOAD, CORRECT_REASON, CORRECT_REVISION, CORRECT_DRY_RUN, CORRECT_COUNT };

static trilha_status correct(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  const trilha_member *m = user;
  const trilha_outbox_correction correction = {.message_id = call->operands[1],
                                               .payload = m[CORRECT_PAYLOAD].text,
                                               .revision = m[CORRECT_REVISION].number,
                                               .user = subject_of(call),
                                               .reason = m[CORRECT_REASON].text,
                                               .dry_run = m[CORRECT_DRY_RUN].truth};
  trilha_outbox_corrected corrected = {0};
  trilha_status status = trilha_api_check_message(call, outbox, error);
  if (status == TRILHA_OK) status = trilha_outbox_correct(outbox, &correction, &corrected, error);
  if (status != TRILHA_OK) return status;
  trilha_buffer *out = &call->answer->body;
  trilha_buffer_add_format(out, "{\"revision\":%lld,\"revived\":%lld,\"dry_run\":%s", (long long)corrected.revision,
                           (long long)corrected.revived, correction.dry_run ? "true" : "false");
  trilha_add_member(out, false, "accepted", corrected.accepted);
  trilha_buffer_add_format(out, ",\"diff\":");
  trilha_buffer_add_string(out, corrected.diff); /* JSON that the library wrote */
  trilha_buffer_add_char(out, '}');
  trilha_outbox_corrected_done(&corrected);
  return TRILHA_OK;
}

void trilha_api_outbox_correct(trilha_call *call) {
  trilha_member m[CORRECT_COUNT] = {
      [CORRECT_PAYLOAD] = {.name = "payload", .needed = true, .chars_max = PAYLOAD_CHARS_MOST},
      [CORRECT_REASON] = {.name = "reason", .needed = true},
      [CORRECT_REVISION] = {.name = "revision", .kind = TRILHA_MEMBER_NUMBER},
      [CORRECT_DRY_RUN] = {.name = "dry_run", .kind = TRILHA_MEMBER_BOOLEAN},
  };
  act(call, m, CORRECT_COUNT, correct);
}

/* --- what a destination says ------------------------------------------------------------------------------------- */

enum { SAY_DESTINATION, SAY_FACT, SAY_REVISION, SAY_OPERATION, SAY_AT, SAY_NOTE, SAY_COUNT };

static trilha_status record(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  const trilha_member *m = user;
  bool is_new = false;
  const trilha_outbox_receipt receipt = {.message_id = call->operands[1],
                                         .destination = m[SAY_DESTINATION].text,
                                         .fact = m[SAY_FACT].text,
                                         .revision = m[SAY_REVISION].number,
                                         .operation_id = m[SAY_OPERATION].text,
                                         .stated_at = m[SAY_AT].text,
                                         .source = TRILHA_TEXT("operator"),
                                         .user = subject_of(call),
                                         .note = m[SAY_NOTE].text};
  trilha_status status = trilha_api_check_message(call, outbox, error);
  if (status == TRILHA_OK) status = trilha_outbox_record(outbox, &receipt, &is_new, error);
  if (status == TRILHA_OK)
    trilha_buffer_add_format(&call->answer->body, "{\"recorded\":%s}", is_new ? "true" : "false");
  return status;
}

void trilha_api_outbox_record(trilha_call *call) {
  trilha_member m[SAY_COUNT] = {
      [SAY_DESTINATION] = {.name = "destination", .needed = true, .chars_max = NAME_CHARS_MOST},
      [SAY_FACT] = {.name = "fact", .needed = true, .chars_max = NAME_CHARS_MOST},
      [SAY_REVISION] = {.name = "revision", .kind = TRILHA_MEMBER_NUMBER},
      [SAY_OPERATION] = {.name = "operation_id", .chars_max = NAME_CHARS_MOST},
      [SAY_AT] = {.name = "stated_at", .chars_max = TIME_CHARS_MOST},
      [SAY_NOTE] = {.name = "note"},
  };
  act(call, m, SAY_COUNT, record);
}

/* --- workers ----------------------------------------------------------------------------------------------------- */

static trilha_status drain(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  const trilha_member *reason = user;
  trilha_status status = trilha_outbox_worker_drain(outbox, call->operands[1], subject_of(call), reason->text, error);
  if (status != TRILHA_OK) return status;
  trilha_buffer_add_char(&call->answer->body, '{');
  trilha_add_member_text(&call->answer->body, true, "worker", call->operands[1]);
  trilha_add_member(&call->answer->body, false, "done", "asked to drain");
  trilha_buffer_add_char(&call->answer->body, '}');
  return TRILHA_OK;
}

void trilha_api_outbox_drain(trilha_call *call) {
  trilha_member reason = {.name = "reason", .needed = true};
  if (trilha_api_all_tenants(call)) act(call, &reason, 1, drain);
}
