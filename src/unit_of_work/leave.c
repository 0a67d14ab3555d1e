/* unit_of_work: what happens to the events of a transaction that has ended. */
#include <stdlib.h>

#include "unit_of_work/unit_of_work_internal.h"

static void queue(trilha_unit_of_work *u, trilha_raised *list) {
  *u->leaving_tail = list;
  while (*u->leaving_tail != NULL) u->leaving_tail = &(*u->leaving_tail)->next;
}

static trilha_raised *next(trilha_unit_of_work *u) {
  trilha_raised *raised = u->leaving;
  if (raised == NULL) return NULL;
  u->leaving = raised->next;
  if (u->leaving == NULL) u->leaving_tail = &u->leaving;
  return raised;
}

static void tell(const trilha_unit_of_work *u, const trilha_post_commit_event *event, const char *name,
                 const char *message, const char *word, const char *value) {
  trilha_fields fields = {0};
  trilha_fields_text(&fields, "event_id", event->event_id);
  trilha_fields_string(&fields, word, value);
  trilha_emit(&u->options.diagnostics, TRILHA_WARNING, name, message, &fields);
}

/* What a handler left open would take part in whatever the connection is used for next. */
static void end_left_open(trilha_unit_of_work *u, const trilha_post_commit_event *event) {
  if (u->depth == 0) return;
  tell(u, event, "unit_of_work.left_open", "a handler left its transaction open: it is rolled back", "reason",
       "left open by a handler");
  while (u->depth > 0 && trilha_unit_of_work_rollback(u, NULL) == TRILHA_OK) continue;
}

static void handle(trilha_unit_of_work *u, const trilha_raised *raised, trilha_unit_of_work_result *result) {
  trilha_post_commit_event event = trilha_raised_event(raised);
  u->cascade = raised->cascade;
  trilha_status status = u->options.handler(u->options.user, &event);
  if (status == TRILHA_OK) {
    result->left++;
  } else {
    result->failed++;
    tell(u, &event, "unit_of_work.event_failed", "a handler of an event failed after the commit", "status",
         trilha_status_name(status));
  }
  end_left_open(u, &event);
}

void trilha_unit_of_work_leave(trilha_unit_of_work *u, trilha_unit_of_work_result *result) {
  queue(u, trilha_collector_take(&u->raised));
  if (u->handling) return; /* the loop further up goes on with them: no recursion, and their order is that of commits */
  u->handling = true;
  for (trilha_raised *raised = next(u); raised != NULL; raised = next(u)) {
    handle(u, raised, result);
    free(raised);
  }
  u->handling = false;
  u->cascade = 0;
}

size_t trilha_unit_of_work_report(trilha_unit_of_work *u, const char *reason) {
  size_t count = 0;
  for (trilha_raised *raised = trilha_collector_take(&u->raised), *after; raised != NULL; raised = after) {
    trilha_post_commit_event event = trilha_raised_event(raised);
    after = raised->next;
    tell(u, &event, "unit_of_work.undelivered", "an event was not delivered: its transaction's end is not known",
         "reason", reason);
    if (u->options.undelivered != NULL) u->options.undelivered(u->options.user, &event, reason);
    free(raised);
    count++;
  }
  return count;
}
