/* tests/unit_of_work/session: a business program with a unit of work on its own connection, which notes what leaves. */
#ifndef TRILHA_TESTS_UNIT_OF_WORK_SESSION_H
#define TRILHA_TESTS_UNIT_OF_WORK_SESSION_H

#include "outbox/producer.h"
#include "trilha/unit_of_work.h"

enum { SESSION_TEXT_SIZE = 4096 };

typedef struct session {
  trilha_producer p;
  trilha_unit_of_work *unit;
  char left[SESSION_TEXT_SIZE];        /* types of the events that left, each behind a space */
  char undelivered[SESSION_TEXT_SIZE]; /* and of those that were reported undelivered */
  size_t left_count;
  /* What else the handler does (NULL: nothing); its status is the handler's. */
  trilha_status (*inside)(struct session *s, const trilha_post_commit_event *event);
  void *user;
} session;

/* `install` as trilha_producer_open. The place must stay where it is. */
void session_open(session *s, const trilha_fixture *f, bool install);
void session_close(session *s);
/* Another unit, where the first was closed; 0: the default of that time-out. */
trilha_status session_open_unit(session *s, trilha_error *err);
trilha_status session_open_unit_with(session *s, unsigned answer_timeout_ms, unsigned resolve_timeout_ms,
                                     trilha_error *err);

/* Each fails the test when it fails. */
void session_begin(session *s);
void session_say(session *s, const char *type);
void session_say_as(session *s, const char *type, const char *event_id);
void session_run(session *s, const char *sql); /* of the program's own, behind the unit's back */
int64_t session_savepoint(session *s);
trilha_unit_of_work_result session_commit(session *s);
void session_rollback(session *s);
int64_t session_effects(session *s); /* rows of the table `effect` */

/* The call failed so. */
#define REFUSED(expression, expected_status, expected_code)                              \
  do {                                                                                   \
    trilha_error refusal = {0};                                                          \
    trilha_error *error = &refusal;                                                      \
    trilha_status refused = (expression);                                                \
    if (refused != (expected_status) || strcmp(refusal.code, (expected_code)) != 0)      \
      fail_msg("%s: %d %s: %s", #expression, (int)refused, refusal.code, refusal.text);  \
    if (refusal.status != refused) fail_msg("%s: %d", #expression, (int)refusal.status); \
  } while (0)

#define CHECKED(expression)                                                                         \
  do {                                                                                              \
    trilha_error checked = {0};                                                                     \
    trilha_error *error = &checked;                                                                 \
    if ((expression) != TRILHA_OK) fail_msg("%s: %s: %s", #expression, checked.code, checked.text); \
  } while (0)

#endif
