/* lib/outbox_operator: the street door of what operators see and do. Arguments are checked here. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/uuid.h"
#include "json/json.h"
#include "lib/outbox.h"

enum { LANES_DEFAULT = 100 };

trilha_status trilha_outbox_read_id(trilha_text text, unsigned char id[16], trilha_error *error) {
  if (trilha_uuid_parse(text, id)) return TRILHA_OK;
  return trilha_error_set(error, TRILHA_INVALID, "MESSAGE_ID_INVALID", "a message id is a UUID");
}

/* `absent` stands for no time. */
static trilha_status read_time(trilha_text text, int64_t absent, int64_t *ret_us, trilha_error *error) {
  *ret_us = absent;
  if (text.data == NULL || trilha_timestamp_parse(text, ret_us)) return TRILHA_OK;
  return trilha_error_set(error, TRILHA_INVALID, "TIMESTAMP_INVALID",
                          "a time is written as ISO-8601 with Z or an offset");
}

trilha_status trilha_outbox_check_who(trilha_text user, trilha_text reason, trilha_error *error) {
  if (user.size > 0 && reason.size > 0) return TRILHA_OK;
  return trilha_error_set(error, TRILHA_USAGE, "REASON_MISSING",
                          "who does it and why are needed: the trail keeps them");
}

/* --- looking ----------------------------------------------------------------------------------------------------- */

trilha_status trilha_outbox_status(trilha_outbox *outbox, trilha_outbox_standing_visit visit, void *user,
                                   trilha_error *error) {
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  return outbox->store->op->status(outbox->store, visit, user, error);
}

static trilha_status check_state(trilha_text status, trilha_error *error) {
  static const char *const states[] = {"Pending", "Dispatching", "Failed", "DeadLettered"};
  if (status.data == NULL) return TRILHA_OK;
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
    if (trilha_text_is(status, states[i])) return TRILHA_OK;
  return trilha_error_set(error, TRILHA_USAGE, "STATUS_UNKNOWN",
                          "the head of a lane is Pending, Dispatching, Failed or DeadLettered");
}

trilha_status trilha_outbox_lanes(trilha_outbox *outbox, const trilha_outbox_lanes_filter *filter,
                                  trilha_outbox_lane_visit visit, void *user, trilha_error *error) {
  trilha_outbox_lanes_filter asked = {0};
  int64_t before_us;
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  if (filter != NULL) asked = *filter;
  if (asked.limit <= 0) asked.limit = LANES_DEFAULT;
  if (asked.limit > TRILHA_OUTBOX_LANES_MAX) asked.limit = TRILHA_OUTBOX_LANES_MAX;
  trilha_status status = check_state(asked.status, error);
  if (status == TRILHA_OK) status = read_time(asked.failed_before, INT64_MAX, &before_us, error);
  return status == TRILHA_OK ? outbox->store->op->lanes(outbox->store, &asked, before_us, visit, user, error) : status;
}

trilha_status trilha_outbox_message(trilha_outbox *outbox, trilha_text message_id, trilha_outbox_entry_visit visit,
                                    void *user, trilha_error *error) {
  unsigned char id[16];
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  trilha_status status = trilha_outbox_read_id(message_id, id, error);
  return status == TRILHA_OK ? outbox->store->op->message(outbox->store, id, visit, user, error) : status;
}

trilha_status trilha_outbox_revisions(trilha_outbox *outbox, trilha_text message_id, trilha_outbox_revision_visit visit,
                                      void *user, trilha_error *error) {
  unsigned char id[16];
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  trilha_status status = trilha_outbox_read_id(message_id, id, error);
  return status == TRILHA_OK ? outbox->store->op->revisions(outbox->store, id, visit, user, error) : status;
}

trilha_status trilha_outbox_receipts(trilha_outbox *outbox, trilha_text message_id, trilha_outbox_receipt_visit visit,
                                     void *user, trilha_error *error) {
  unsigned char id[16];
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  trilha_status status = trilha_outbox_read_id(message_id, id, error);
  return status == TRILHA_OK ? outbox->store->op->receipts(outbox->store, id, visit, user, error) : status;
}

trilha_status trilha_outbox_reveal(trilha_outbox *outbox, trilha_text message_id, int64_t revision, trilha_text user,
                                   trilha_text reason, char **ret_payload, int64_t *ret_revision, trilha_error *error) {
  unsigned char id[16];
  int64_t shown = 0;
  if (outbox == NULL || ret_payload == NULL)
    return trilha_outbox_missing(error, "the outbox and the place for the content");
  trilha_status status = trilha_outbox_check_who(user, reason, error);
  if (status == TRILHA_OK) status = trilha_outbox_read_id(message_id, id, error);
  if (status == TRILHA_OK)
    status = outbox->store->op->reveal(outbox->store, id, revision, user, reason, ret_payload, &shown, error);
  if (status == TRILHA_OK && ret_revision != NULL) *ret_revision = shown;
  return status;
}

/* --- retry and discard ------------------------------------------------------------------------------------------- */

static trilha_status operate(trilha_outbox *outbox, const trilha_outbox_operation *operation, bool discard,
                             trilha_error *error) {
  unsigned char id[16];
  if (outbox == NULL || operation == NULL) return trilha_outbox_missing(error, "the outbox and the operation");
  trilha_status status = trilha_outbox_check_who(operation->user, operation->reason, error);
  if (status == TRILHA_OK) status = trilha_outbox_check_destination(operation->destination, error);
  if (status == TRILHA_OK) status = trilha_outbox_read_id(operation->message_id, id, error);
  return status == TRILHA_OK ? outbox->store->op->operate(outbox->store, id, operation, discard, error) : status;
}

trilha_status trilha_outbox_retry(trilha_outbox *outbox, const trilha_outbox_operation *operation,
                                  trilha_error *error) {
  return operate(outbox, operation, false, error);
}

trilha_status trilha_outbox_discard(trilha_outbox *outbox, const trilha_outbox_operation *operation,
                                    trilha_error *error) {
  return operate(outbox, operation, true, error);
}

/* Dead heads, kept until the reading that found them is over. */
typedef struct selected {
  char (*ids)[TRILHA_UUID_TEXT_SIZE];
  size_t count;
  trilha_outbox_lane_visit visit;
  void *user;
} selected;

static trilha_status select_lane(void *user, const trilha_outbox_lane *lane) {
  selected *s = user;
  if (lane->message_id.size != TRILHA_UUID_TEXT_SIZE - 1) return TRILHA_OK;
  memcpy(s->ids[s->count], lane->message_id.data, lane->message_id.size);
  s->ids[s->count++][lane->message_id.size] = '\0';
  return s->visit == NULL ? TRILHA_OK : s->visit(s->user, lane);
}

/* A refusal of one message is its own; everything else would meet the next one too. */
static bool is_of_one_message(const trilha_error *why) {
  return why->status == TRILHA_CONFLICT;
}

static void keep_first_failure(trilha_outbox_tally *tally, const char *id, const trilha_error *why,
                               trilha_error *first) {
  if (tally->failed++ > 0) return;
  memcpy(tally->first_failed, id, TRILHA_UUID_TEXT_SIZE);
  (void)trilha_error_copy(first, why);
}

static trilha_status operate_each(trilha_outbox *outbox, const selected *s, trilha_outbox_operation operation,
                                  bool discard, trilha_outbox_tally *tally, trilha_error *error) {
  trilha_error first = {0};
  for (bool goes_on = true; goes_on && tally->untried > 0;) {
    trilha_error own = {0};
    const char *id = s->ids[tally->selected - tally->untried--];
    operation.message_id = trilha_text_of(id);
    if (operate(outbox, &operation, discard, &own) == TRILHA_OK) {
      tally->done++;
    } else if (strcmp(own.code, "LANE_NOT_DEAD") == 0) {
      tally->passed++; /* that one somebody else has changed meanwhile */
    } else {
      keep_first_failure(tally, id, &own, &first);
      goes_on = is_of_one_message(&own);
    }
  }
  if (tally->failed == 0) return TRILHA_OK;
  trilha_error_while(&first, "changing message %s: of %lld selected %lld are done, %lld failed, %lld were not tried",
                     tally->first_failed, (long long)tally->selected, (long long)tally->done, (long long)tally->failed,
                     (long long)tally->untried);
  return trilha_error_copy(error, &first);
}

static trilha_status check_all(const trilha_outbox *outbox, const trilha_outbox_lanes_filter *selection,
                               const trilha_outbox_operation *operation, trilha_error *error) {
  if (outbox == NULL || selection == NULL || operation == NULL)
    return trilha_outbox_missing(error, "the outbox, the selection, the operation and the place for the tally");
  trilha_status status = trilha_outbox_check_who(operation->user, operation->reason, error);
  return status == TRILHA_OK ? trilha_outbox_check_destination(selection->destination, error) : status;
}

static trilha_status operate_all(trilha_outbox *outbox, const trilha_outbox_lanes_filter *selection,
                                 const trilha_outbox_operation *operation, bool discard, bool dry_run, selected *s,
                                 trilha_outbox_tally *ret_tally, trilha_error *error) {
  if (ret_tally == NULL) return check_all(NULL, NULL, NULL, error);
  *ret_tally = (trilha_outbox_tally){0};
  trilha_status status = check_all(outbox, selection, operation, error);
  if (status != TRILHA_OK) return status;
  trilha_outbox_lanes_filter asked = *selection;
  trilha_outbox_operation each = *operation;
  asked.status = TRILHA_TEXT("DeadLettered");
  if (asked.limit <= 0 || asked.limit > TRILHA_OUTBOX_LANES_MAX) asked.limit = TRILHA_OUTBOX_LANES_MAX;
  each.destination = asked.destination;
  s->ids = calloc((size_t)asked.limit, sizeof *s->ids);
  if (s->ids == NULL) return trilha_error_no_memory(error);
  status = trilha_outbox_lanes(outbox, &asked, select_lane, s, error);
  if (status == TRILHA_OK) {
    ret_tally->selected = (int64_t)s->count;
    *(dry_run ? &ret_tally->done : &ret_tally->untried) = (int64_t)s->count;
  }
  if (status == TRILHA_OK && !dry_run) status = operate_each(outbox, s, each, discard, ret_tally, error);
  free(s->ids);
  return status;
}

trilha_status trilha_outbox_retry_all(trilha_outbox *outbox, const trilha_outbox_lanes_filter *selection,
                                      const trilha_outbox_operation *operation, bool dry_run,
                                      trilha_outbox_lane_visit visit, void *user, trilha_outbox_tally *ret_tally,
                                      trilha_error *error) {
  selected s = {.visit = visit, .user = user};
  return operate_all(outbox, selection, operation, false, dry_run, &s, ret_tally, error);
}

trilha_status trilha_outbox_discard_all(trilha_outbox *outbox, const trilha_outbox_lanes_filter *selection,
                                        const trilha_outbox_operation *operation, bool dry_run,
                                        trilha_outbox_lane_visit visit, void *user, trilha_outbox_tally *ret_tally,
                                        trilha_error *error) {
  selected s = {.visit = visit, .user = user};
  return operate_all(outbox, selection, operation, true, dry_run, &s, ret_tally, error);
}

/* --- correcting -------------------------------------------------------------------------------------------------- */

static trilha_status parse(trilha_text text, const char *whose, trilha_json_document **ret, trilha_error *error) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_error own = {0};
  trilha_status status = trilha_json_parse(text, &limits, ret, NULL, &own);
  if (status == TRILHA_OK || status == TRILHA_NO_MEMORY)
    return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(error, &own);
  return trilha_error_set(error, TRILHA_INVALID, "MESSAGE_REFUSED", "%s is no JSON that can be compared: %s", whose,
                          own.text);
}

/* malloc; CONTENT_SAME when nothing differs. */
static trilha_status differ(const char *before, trilha_text after, char **ret_diff, trilha_error *error) {
  TRILHA_BUFFER_SCOPED diff;
  trilha_json_document *a = NULL, *b = NULL;
  size_t count = 0;
  trilha_buffer_init(&diff, 0);
  trilha_status status = parse(after, "the payload", &b, error);
  if (status == TRILHA_OK) status = parse(trilha_text_of(before), "the content that is there", &a, error);
  if (status == TRILHA_OK) status = trilha_json_diff(a, b, &diff, &count, error);
  trilha_json_document_free(a);
  trilha_json_document_free(b);
  if (status == TRILHA_OK && count == 0 && trilha_text_is(after, before))
    return trilha_error_set(error, TRILHA_CONFLICT, "CONTENT_SAME", "the message has this content already");
  if (status != TRILHA_OK) return status;
  *ret_diff = trilha_buffer_take(&diff, NULL);
  return *ret_diff == NULL ? trilha_error_no_memory(error) : TRILHA_OK;
}

static trilha_status correct(trilha_outbox *outbox, const unsigned char id[16], trilha_outbox_correction correction,
                             trilha_outbox_corrected *ret, trilha_error *error) {
  char *before = NULL;
  int64_t last = 0;
  trilha_status status =
      outbox->store->op->reveal(outbox->store, id, 0, correction.user, correction.reason, &before, &last, error);
  if (status != TRILHA_OK) return status;
  if (correction.revision == 0) correction.revision = last;
  if (correction.revision != last)
    status = trilha_error_set(error, TRILHA_CONFLICT, "REVISION_CHANGED",
                              "the message has another revision by now: look at it again");
  if (status == TRILHA_OK) status = differ(before, correction.payload, &ret->diff, error);
  free(before);
  ret->revision = last + 1;
  if (status != TRILHA_OK || correction.dry_run) return status;
  return outbox->store->op->correct(outbox->store, id, &correction, trilha_text_of(ret->diff), ret, error);
}

trilha_status trilha_outbox_correct(trilha_outbox *outbox, const trilha_outbox_correction *correction,
                                    trilha_outbox_corrected *ret_corrected, trilha_error *error) {
  unsigned char id[16];
  trilha_outbox_corrected corrected = {0};
  if (outbox == NULL || correction == NULL || ret_corrected == NULL)
    return trilha_outbox_missing(error, "the outbox, the correction and the place for the answer");
  trilha_status status = trilha_outbox_check_who(correction->user, correction->reason, error);
  if (status == TRILHA_OK) status = trilha_outbox_read_id(correction->message_id, id, error);
  if (status == TRILHA_OK) status = correct(outbox, id, *correction, &corrected, error);
  if (status == TRILHA_OK)
    *ret_corrected = corrected;
  else
    trilha_outbox_corrected_done(&corrected);
  return status;
}

void trilha_outbox_corrected_done(trilha_outbox_corrected *corrected) {
  if (corrected == NULL) return;
  free(corrected->diff);
  free(corrected->accepted);
  *corrected = (trilha_outbox_corrected){0};
}

/* --- what destinations say --------------------------------------------------------------------------------------- */

static bool is_one_of(trilha_text text, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (trilha_text_is(text, words[i])) return true;
  return false;
}

static trilha_status check_receipt(const trilha_outbox_receipt *receipt, trilha_error *error) {
  static const char *const facts[] = {"Received", "Applied", "Refused", "Unknown", "Conflict"};
  static const char *const sources[] = {"operator", "query", "callback"};
  if (!is_one_of(receipt->fact, facts, sizeof facts / sizeof facts[0]))
    return trilha_error_set(error, TRILHA_USAGE, "FACT_UNKNOWN",
                            "a destination states Received, Applied, Refused, Unknown or Conflict");
  if (!is_one_of(receipt->source, sources, sizeof sources / sizeof sources[0]))
    return trilha_error_set(error, TRILHA_USAGE, "SOURCE_UNKNOWN", "a fact comes by operator, query or callback");
  if (receipt->user.size == 0) return trilha_error_set(error, TRILHA_USAGE, "USER_MISSING", "who records it is needed");
  return trilha_outbox_check_destination(receipt->destination, error);
}

trilha_status trilha_outbox_record(trilha_outbox *outbox, const trilha_outbox_receipt *receipt, bool *ret_new,
                                   trilha_error *error) {
  unsigned char id[16];
  int64_t stated_us = 0;
  bool is_new = false;
  if (outbox == NULL || receipt == NULL) return trilha_outbox_missing(error, "the outbox and the receipt");
  trilha_status status = check_receipt(receipt, error);
  if (status == TRILHA_OK) status = trilha_outbox_read_id(receipt->message_id, id, error);
  if (status == TRILHA_OK) status = read_time(receipt->stated_at, 0, &stated_us, error);
  if (status == TRILHA_OK) status = outbox->store->op->record(outbox->store, id, receipt, stated_us, &is_new, error);
  if (status == TRILHA_OK && ret_new != NULL) *ret_new = is_new;
  return status;
}
