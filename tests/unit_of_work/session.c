/* tests/unit_of_work/session: see session.h. */
#include "unit_of_work/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void note(char *list, trilha_text type) {
  size_t used = strlen(list);
  if (used + type.size + 2 < SESSION_TEXT_SIZE)
    snprintf(list + used, SESSION_TEXT_SIZE - used, "%s%.*s", used == 0 ? "" : " ", (int)type.size, type.data);
}

static trilha_status leave(void *user, const trilha_post_commit_event *event) {
  session *s = user;
  note(s->left, event->type);
  s->left_count++;
  return s->inside == NULL ? TRILHA_OK : s->inside(s, event);
}

static void report(void *user, const trilha_post_commit_event *event, const char *reason) {
  session *s = user;
  assert_non_null(reason);
  note(s->undelivered, event->type);
}

trilha_status session_open_unit(session *s, trilha_error *err) {
  enum { PATIENCE_MS = 60000 }; /* a machine may be slow; nothing here waits for it to pass */
  return session_open_unit_with(s, PATIENCE_MS, PATIENCE_MS, err);
}

trilha_status session_open_unit_with(session *s, unsigned answer_timeout_ms, unsigned resolve_timeout_ms,
                                     trilha_error *err) {
  const trilha_unit_of_work_options options = {.handler = leave,
                                               .undelivered = report,
                                               .user = s,
                                               .answer_timeout_ms = answer_timeout_ms,
                                               .resolve_timeout_ms = resolve_timeout_ms};
  return s->p.pg != NULL ? trilha_unit_of_work_open_postgres(s->p.pg, &options, &s->unit, err)
                         : trilha_unit_of_work_open_sqlite(s->p.db, &options, &s->unit, err);
}

void session_open(session *s, const trilha_fixture *f, bool install) {
  *s = (session){.p = trilha_producer_open(f, install)};
  CHECKED(session_open_unit(s, error));
}

void session_close(session *s) {
  trilha_unit_of_work_close(s->unit);
  s->unit = NULL;
  trilha_producer_close(&s->p);
}

void session_begin(session *s) {
  CHECKED(trilha_unit_of_work_begin(s->unit, 0, error));
}

void session_say_as(session *s, const char *type, const char *event_id) {
  const trilha_post_commit_event event = {.type = trilha_text_of(type),
                                          .payload = TRILHA_TEXT("{}"),
                                          .event_id = event_id == NULL ? (trilha_text){0} : trilha_text_of(event_id)};
  CHECKED(trilha_unit_of_work_raise(s->unit, &event, NULL, error));
}

void session_say(session *s, const char *type) {
  session_say_as(s, type, NULL);
}

void session_run(session *s, const char *sql) {
  trilha_producer_run(&s->p, sql);
}

int64_t session_savepoint(session *s) {
  int64_t savepoint = 0;
  CHECKED(trilha_unit_of_work_savepoint(s->unit, &savepoint, error));
  return savepoint;
}

trilha_unit_of_work_result session_commit(session *s) {
  trilha_unit_of_work_result result = {0};
  CHECKED(trilha_unit_of_work_commit(s->unit, &result, error));
  return result;
}

void session_rollback(session *s) {
  CHECKED(trilha_unit_of_work_rollback(s->unit, error));
}

int64_t session_effects(session *s) {
  return trilha_producer_count(&s->p, "SELECT count(*) FROM effect");
}
