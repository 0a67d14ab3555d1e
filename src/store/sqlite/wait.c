/* store/sqlite: sleeping until there may be something new. Looking is the truth; the count of commits in the lock file
 * only wakes sooner. */
#include "store/sqlite/sqlite_internal.h"

/* Without the lock file (a reader that may not write) there is no hint: the interval alone decides. */
static trilha_writers_lock *hint_of(trilha_sqlite_store *s) {
  trilha_writers_lock *lock = NULL;
  return trilha_sqlite_lock_file(s, &lock, NULL) == TRILHA_OK ? lock : NULL;
}

trilha_status trilha_sqlite_wait(trilha_store *store, int64_t after, trilha_deadline deadline, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_status status = trilha_sqlite_check_process(s, err);
  if (status != TRILHA_OK) return status;
  trilha_writers_lock *hint = hint_of(s);
  for (;;) {
    /* The count is taken before the look, so a commit in between ends the sleep at once. */
    uint32_t seen = hint == NULL ? 0 : trilha_writers_lock_commits(hint);
    int64_t last = 0;
    unsigned char id[16];
    bool any = false;
    /* The look has its own, short time: a deadline that passes meanwhile is not its failure. */
    status = trilha_sqlite_last_event(store, trilha_deadline_in_ms(s->lock_timeout_ms), &last, id, &any, err);
    if (status != TRILHA_OK || last > after) return status;
    if (trilha_deadline_passed(deadline)) return TRILHA_TIMEOUT;
    int64_t ms = trilha_deadline_left_ms(deadline, s->scan_interval_ms);
    if (hint != NULL)
      trilha_writers_lock_wait_commit(hint, seen, ms);
    else
      trilha_clock_sleep_ms(ms);
  }
}
