/* lib/outbox_upkeep: the street door of what concerns an outbox as a whole: its workers, its inbox, purging. Arguments
 * are checked here. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "lib/outbox.h"

enum { INBOX_ROWS_DEFAULT = 100, PURGE_BATCH_DEFAULT = 1000 };
static const int64_t PURGE_MS_MAX = INT64_C(36500) * 86400000; /* a century */

/* --- the inbox --------------------------------------------------------------------------------------------------- */

typedef struct inbox_asked {
  trilha_inbox_filter filter;
  unsigned char bytes[16];
  const unsigned char *message_id; /* NULL: any */
} inbox_asked;

static trilha_status read_filter(const trilha_inbox_filter *filter, inbox_asked *asked, trilha_error *error) {
  *asked = (inbox_asked){0};
  if (filter != NULL) asked->filter = *filter;
  if (asked->filter.limit <= 0) asked->filter.limit = INBOX_ROWS_DEFAULT;
  if (asked->filter.limit > TRILHA_INBOX_ROWS_MAX) asked->filter.limit = TRILHA_INBOX_ROWS_MAX;
  if (asked->filter.message_id.data == NULL) return TRILHA_OK;
  asked->message_id = asked->bytes;
  return trilha_outbox_read_id(asked->filter.message_id, asked->bytes, error);
}

trilha_status trilha_inbox_list(trilha_outbox *outbox, const trilha_inbox_filter *filter,
                                trilha_inbox_entry_visit visit, void *user, trilha_error *error) {
  inbox_asked asked;
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  trilha_inbox_place after;
  trilha_status status = read_filter(filter, &asked, error);
  bool goes_on = asked.filter.after.data != NULL;
  if (status == TRILHA_OK && goes_on) status = trilha_inbox_place_read(asked.filter.after, &after, error);
  if (status != TRILHA_OK) return status;
  return outbox->store->op->inbox_list(outbox->store, &asked.filter, asked.message_id, goes_on ? &after : NULL, visit,
                                       user, error);
}

trilha_status trilha_inbox_conflicts(trilha_outbox *outbox, const trilha_inbox_filter *filter,
                                     trilha_inbox_conflict_visit visit, void *user, trilha_error *error) {
  inbox_asked asked;
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  int64_t below = INT64_MAX;
  trilha_status status = read_filter(filter, &asked, error);
  if (status == TRILHA_OK && asked.filter.after.data != NULL && !trilha_inbox_place_number(asked.filter.after, &below))
    status = trilha_inbox_place_refuse(error);
  if (status != TRILHA_OK) return status;
  return outbox->store->op->inbox_conflicts(outbox->store, &asked.filter, asked.message_id, below, visit, user, error);
}

/* --- what the caller may ----------------------------------------------------------------------------------------- */

trilha_status trilha_outbox_duties_of_caller(trilha_outbox *outbox, trilha_outbox_duties *ret_duties,
                                             trilha_error *error) {
  if (outbox == NULL || ret_duties == NULL)
    return trilha_outbox_missing(error, "the outbox and the place for the duties");
  return outbox->store->op->duties(outbox->store, ret_duties, error);
}

/* --- workers ----------------------------------------------------------------------------------------------------- */

trilha_status trilha_outbox_workers(trilha_outbox *outbox, trilha_outbox_worker_visit visit, void *user,
                                    trilha_error *error) {
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  return outbox->store->op->workers(outbox->store, visit, user, error);
}

trilha_status trilha_outbox_worker_drain(trilha_outbox *outbox, trilha_text worker, trilha_text user,
                                         trilha_text reason, trilha_error *error) {
  if (outbox == NULL || worker.size == 0) return trilha_outbox_missing(error, "the outbox and the worker's name");
  trilha_status status = trilha_outbox_check_who(user, reason, error);
  return status == TRILHA_OK ? outbox->store->op->worker_drain(outbox->store, worker, user, reason, error) : status;
}

/* --- guarantees -------------------------------------------------------------------------------------------------- */

trilha_status trilha_outbox_handlers(trilha_outbox *outbox, trilha_outbox_handler_visit visit, void *user,
                                     trilha_error *error) {
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  return outbox->store->op->handlers(outbox->store, visit, user, error);
}

/* --- numbers to watch -------------------------------------------------------------------------------------------- */

trilha_status trilha_outbox_quotas(trilha_outbox *outbox, trilha_outbox_quota_visit visit, void *user,
                                   trilha_error *error) {
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  return outbox->store->op->quotas(outbox->store, visit, user, error);
}

typedef struct gauge_listener {
  trilha_outbox_gauge_visit visit;
  void *user;
} gauge_listener;

static trilha_status tell_quota(void *user, const trilha_outbox_quota *q) {
  const gauge_listener *l = user;
  const bool one = q->tenant_id.data != NULL;
  const trilha_outbox_gauge gauge = {.name = trilha_text_of(one ? "tenant_at_quota" : "tenants_at_quota"),
                                     .label = q->destination,
                                     .tenant = q->tenant_id,
                                     .value = one ? q->leases : q->tenants};
  const trilha_outbox_gauge allowed = {.name = TRILHA_TEXT("tenant_quota"), .label = q->destination, .value = q->quota};
  trilha_status status = one ? TRILHA_OK : l->visit(l->user, &allowed);
  return status == TRILHA_OK ? l->visit(l->user, &gauge) : status;
}

trilha_status trilha_outbox_gauges(trilha_outbox *outbox, trilha_outbox_gauge_visit visit, void *user,
                                   trilha_error *error) {
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  gauge_listener listener = {visit, user};
  trilha_error none = {0};
  trilha_status status = outbox->store->op->gauges(outbox->store, visit, user, error);
  if (status != TRILHA_OK) return status;
  status = outbox->store->op->quotas(outbox->store, tell_quota, &listener, &none);
  if (status == TRILHA_OK || strcmp(none.code, "OUTBOX_NOT_INSTALLED") == 0) return TRILHA_OK; /* installed before */
  return none.status == TRILHA_OK ? status : trilha_error_copy(error, &none);
}

/* --- purging ----------------------------------------------------------------------------------------------------- */

static trilha_status refuse_range(trilha_error *error, const char *what, int64_t value, int64_t least, int64_t most) {
  return trilha_error_set(error, TRILHA_USAGE, "PURGE_OPTIONS", "%s must be from %lld to %lld, not %lld", what,
                          (long long)least, (long long)most, (long long)value);
}

static trilha_status check_ranges(const trilha_purge_options *o, trilha_error *error) {
  const struct {
    const char *name;
    int64_t value, least;
  } times[] = {{"messages_ms", o->messages_ms, -1},
               {"inbox_ms", o->inbox_ms, -1},
               {"retry_ms", o->retry_ms, 0},
               {"restore_ms", o->restore_ms, 0}};
  for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
    if (times[i].value < times[i].least || times[i].value > PURGE_MS_MAX)
      return refuse_range(error, times[i].name, times[i].value, times[i].least, PURGE_MS_MAX);
  if (o->batch < 0 || o->batch > TRILHA_PURGE_BATCH_MAX)
    return refuse_range(error, "batch", o->batch, 0, TRILHA_PURGE_BATCH_MAX);
  if (o->messages_ms < 0 && o->inbox_ms < 0)
    return trilha_error_set(error, TRILHA_USAGE, "PURGE_OPTIONS",
                            "say what goes: messages, rows of the inbox, or both, each by its age");
  return TRILHA_OK;
}

/* The algebra of the windows (requirements O17, O20): whatever may still come again, by a repeat, by an operator or out
 * of a backup, must still be known; and what a restored consumer lost must still be there to be sent. */
static trilha_status check_windows(const trilha_purge_options *o, trilha_error *error) {
  int64_t needed = o->retry_ms + o->restore_ms;
  if (o->inbox_ms >= 0 && o->inbox_ms < needed)
    return trilha_error_set(error, TRILHA_USAGE, "WINDOW_INVALID",
                            "the inbox must keep (%lld ms) at least the retry window (%lld ms) plus the restore window "
                            "(%lld ms): %lld ms; else a late repeat would be taken for new",
                            (long long)o->inbox_ms, (long long)o->retry_ms, (long long)o->restore_ms,
                            (long long)needed);
  if (o->messages_ms >= 0 && o->messages_ms < o->restore_ms)
    return trilha_error_set(error, TRILHA_USAGE, "WINDOW_INVALID",
                            "settled messages must be kept (%lld ms) at least for the restore window (%lld ms): a "
                            "restored consumer may need them again",
                            (long long)o->messages_ms, (long long)o->restore_ms);
  return TRILHA_OK;
}

trilha_status trilha_purge_check(const trilha_purge_options *options, trilha_error *error) {
  if (options == NULL) return trilha_outbox_missing(error, "the options");
  trilha_status status = check_ranges(options, error);
  return status == TRILHA_OK ? check_windows(options, error) : status;
}

/* The earlier and the later of what was told and what is new. */
static void widen(trilha_purge_part *part, int64_t *oldest_us, int64_t *newest_us, const trilha_purge_batch *batch) {
  if (batch->purged == 0) return;
  if (part->rows == 0 || batch->oldest_us < *oldest_us) *oldest_us = batch->oldest_us;
  if (part->rows == 0 || batch->newest_us > *newest_us) *newest_us = batch->newest_us;
  part->rows += batch->purged;
  trilha_timestamp_format(*oldest_us, part->oldest);
  trilha_timestamp_format(*newest_us, part->newest);
}

typedef trilha_status (*purge_step)(trilha_outbox_store *store, trilha_purge_batch *batch, trilha_error *error);

typedef struct purge {
  const trilha_purge_options *options;
  trilha_purge_progress progress;
  void *user;
  trilha_purged done;
  bool ended; /* by progress */
} purge;

static trilha_status purge_part(trilha_outbox *outbox, purge *p, purge_step step, int64_t older_ms,
                                trilha_purge_part *part, trilha_error *error) {
  const trilha_purge_options *o = p->options;
  trilha_purge_batch batch = {.older_ms = older_ms,
                              .rows_max = o->batch == 0 ? PURGE_BATCH_DEFAULT : o->batch,
                              .dry_run = o->dry_run,
                              .user = o->user,
                              .reason = o->reason};
  int64_t oldest_us = 0, newest_us = 0;
  trilha_status status = TRILHA_OK;
  while (status == TRILHA_OK && !batch.ended && !p->ended) {
    status = step(outbox->store, &batch, error);
    if (status != TRILHA_OK) break;
    widen(part, &oldest_us, &newest_us, &batch);
    p->ended = p->progress != NULL && !p->progress(p->user, &p->done);
  }
  return status;
}

trilha_status trilha_outbox_purge(trilha_outbox *outbox, const trilha_purge_options *options,
                                  trilha_purge_progress progress, void *user, trilha_purged *ret_purged,
                                  trilha_error *error) {
  if (outbox == NULL || options == NULL || ret_purged == NULL)
    return trilha_outbox_missing(error, "the outbox, the options and the place for the answer");
  purge p = {.options = options, .progress = progress, .user = user};
  *ret_purged = p.done;
  trilha_status status = trilha_purge_check(options, error);
  if (status == TRILHA_OK && !options->dry_run) status = trilha_outbox_check_who(options->user, options->reason, error);
  if (status == TRILHA_OK && options->messages_ms >= 0)
    status = purge_part(outbox, &p, outbox->store->op->purge_messages, options->messages_ms, &p.done.messages, error);
  if (status == TRILHA_OK && options->inbox_ms >= 0 && !p.ended)
    status = purge_part(outbox, &p, outbox->store->op->purge_inbox, options->inbox_ms, &p.done.inbox, error);
  *ret_purged = p.done;
  return status;
}
