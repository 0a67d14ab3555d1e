/* unit_of_work: transactions, the calls inside them, savepoints, and how they end. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/fault.h"
#include "store/outbox.h"
#include "unit_of_work/unit_of_work_internal.h"

/* --- what state the transaction is in ----------------------------------------------------------------------------- */

static void forget(trilha_unit_of_work *u) {
  atomic_store(&u->open, false);
  u->depth = 0;
  u->savepoint_count = 0;
  u->undone = 0;
  u->adopted = u->doomed = false;
  u->over = (trilha_error){0};
}

static size_t drop_all(trilha_unit_of_work *u) {
  return trilha_collector_drop_after(&u->raised, 0) + u->undone;
}

/* The transaction has ended without this call's doing. The calls inside it have still to return, and are told why. */
static void end_early(trilha_unit_of_work *u, trilha_unit_of_work_outcome outcome) {
  TRILHA_ASSERT(u->over.status != TRILHA_OK);
  u->ended = (trilha_unit_of_work_result){.outcome = outcome};
  atomic_store(&u->open, false);
  if (outcome == TRILHA_UNIT_OF_WORK_ROLLED_BACK)
    u->ended.undone = drop_all(u);
  else
    u->ended.undelivered = trilha_unit_of_work_report(u, "its transaction was not ended by the unit");
}

static void ended_elsewhere(trilha_unit_of_work *u) {
  trilha_error_set(&u->over, TRILHA_USAGE, "TRANSACTION_ENDED",
                   "the transaction was ended with SQL of the caller's own: commit and roll back through the unit, "
                   "which cannot know what became of it otherwise");
  end_early(u, TRILHA_UNIT_OF_WORK_UNKNOWN);
}

/* Finds out what happened to the connection since the last call. */
static void look(trilha_unit_of_work *u) {
  switch (u->store->op->state(u->store)) {
    case TRILHA_UNIT_OPEN:
    case TRILHA_UNIT_FAILED:
    case TRILHA_UNIT_BUSY:
      return;
    case TRILHA_UNIT_IDLE:
      if (!u->store->op->was_rolled_back(u->store)) {
        ended_elsewhere(u);
        return;
      }
      trilha_error_set(&u->over, TRILHA_INVALID, "TRANSACTION_FAILED",
                       "the transaction was rolled back, by the database after an error or with SQL of the caller's "
                       "own: repeat the whole");
      end_early(u, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
      return;
    case TRILHA_UNIT_LOST:
      trilha_error_set(&u->over, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE",
                       "the connection was lost before the commit, which rolls the transaction back: repeat the whole "
                       "on a new connection, with a new unit");
      end_early(u, TRILHA_UNIT_OF_WORK_ROLLED_BACK);
      return;
    case TRILHA_UNIT_CLOSED:
      trilha_error_set(&u->over, TRILHA_USAGE, "CONNECTION_CLOSED",
                       "the connection was closed while its unit of work had a transaction: end it first");
      end_early(u, TRILHA_UNIT_OF_WORK_UNKNOWN);
      return;
  }
}

/* OK: there is a transaction, which may have ended already (u->over). */
static trilha_status check_inside(trilha_unit_of_work *u, trilha_error *err) {
  if (u == NULL) return trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING", "the unit of work must not be NULL");
  if (u->depth == 0)
    return trilha_error_set(err, TRILHA_USAGE, "NO_TRANSACTION",
                            "the unit of work has no transaction: begin one, or adopt the connection's");
  if (u->over.status == TRILHA_OK) look(u);
  if (u->over.status == TRILHA_OK && u->store->op->state(u->store) == TRILHA_UNIT_BUSY)
    return trilha_error_set(err, TRILHA_USAGE, "CONNECTION_BUSY",
                            "the connection has a command under way: read its results to the end first");
  return TRILHA_OK;
}

/* Whether a commit may still be hoped for. */
static trilha_status check_hope(const trilha_unit_of_work *u, trilha_error *err) {
  if (atomic_load(&u->cancelled))
    return trilha_error_set(err, TRILHA_CANCELLED, "CANCELLED", "the transaction was cancelled: roll it back");
  if (trilha_deadline_passed(u->deadline))
    return trilha_error_set(err, TRILHA_TIMEOUT, "DEADLINE_PASSED",
                            "the transaction's time has passed: roll it back, or repeat it with a longer one");
  if (u->doomed)
    return trilha_error_set(err, TRILHA_INVALID, "TRANSACTION_DOOMED",
                            "a call inside the transaction was rolled back or failed: the whole can only be rolled "
                            "back; a part that may fail belongs behind a savepoint");
  return TRILHA_OK;
}

static trilha_status failed_before(trilha_error *err) {
  return trilha_error_set(
      err, TRILHA_INVALID, "TRANSACTION_FAILED",
      "an earlier statement of the transaction has failed: roll back, to a savepoint or altogether");
}

/* Whether something may be done in the transaction. */
static trilha_status check_work(trilha_unit_of_work *u, trilha_error *err) {
  trilha_status status = check_inside(u, err);
  if (status != TRILHA_OK) return status;
  if (u->over.status != TRILHA_OK) return trilha_error_copy(err, &u->over);
  status = check_hope(u, err);
  if (status != TRILHA_OK) return status;
  return u->store->op->state(u->store) == TRILHA_UNIT_FAILED ? failed_before(err) : TRILHA_OK;
}

/* --- beginning -------------------------------------------------------------------------------------------------------
 */

static trilha_status check_idle(const trilha_unit_of_work *u, trilha_unit_state state, trilha_error *err) {
  switch (state) {
    case TRILHA_UNIT_FAILED:
      return failed_before(err);
    case TRILHA_UNIT_BUSY:
      return trilha_error_set(err, TRILHA_USAGE, "CONNECTION_BUSY",
                              "the connection has a command under way: read its results to the end first");
    case TRILHA_UNIT_LOST:
      return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE",
                              "the connection is lost or was reset: close the unit and open one on a new connection");
    case TRILHA_UNIT_CLOSED:
      return trilha_error_set(err, TRILHA_USAGE, "CONNECTION_CLOSED", "the connection was closed: close the unit too");
    case TRILHA_UNIT_IDLE:
    case TRILHA_UNIT_OPEN:
      break;
  }
  return TRILHA_OK;
}

static void start(trilha_unit_of_work *u, bool adopted, unsigned depth, unsigned timeout_ms) {
  forget(u);
  u->adopted = adopted;
  u->depth = depth;
  u->transaction++;
  u->deadline = timeout_ms == 0 ? TRILHA_NO_DEADLINE : trilha_deadline_in_ms(timeout_ms);
  atomic_store(&u->cancelled, false);
  atomic_store(&u->open, true);
}

static trilha_status join(trilha_unit_of_work *u, unsigned timeout_ms, trilha_error *err) {
  trilha_status status = check_work(u, err);
  if (status != TRILHA_OK) return status;
  if (u->depth > TRILHA_UNIT_OF_WORK_NESTED_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "UNIT_OF_WORK_NESTED",
                            "%d calls have joined one transaction: one of them joins again and again",
                            TRILHA_UNIT_OF_WORK_NESTED_MAX);
  if (timeout_ms > 0) u->deadline = trilha_deadline_earlier(u->deadline, trilha_deadline_in_ms(timeout_ms));
  u->depth++;
  return TRILHA_OK;
}

trilha_status trilha_unit_of_work_begin(trilha_unit_of_work *u, unsigned timeout_ms, trilha_error *err) {
  if (u == NULL) return trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING", "the unit of work must not be NULL");
  if (u->depth > 0) return join(u, timeout_ms, err);
  trilha_unit_state state = u->store->op->state(u->store);
  trilha_status status = check_idle(u, state, err);
  if (status != TRILHA_OK) return status;
  bool open = state == TRILHA_UNIT_OPEN;
  status = open ? u->store->op->adopt(u->store, err) : u->store->op->begin(u->store, err);
  if (status == TRILHA_OK) start(u, open, open ? 2 : 1, timeout_ms);
  return status;
}

trilha_status trilha_unit_of_work_adopt(trilha_unit_of_work *u, unsigned timeout_ms, trilha_error *err) {
  if (u == NULL) return trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING", "the unit of work must not be NULL");
  if (u->depth > 0)
    return trilha_error_set(err, TRILHA_USAGE, "TRANSACTION_KNOWN",
                            "the unit has a transaction already: trilha_unit_of_work_begin() joins it");
  trilha_unit_state state = u->store->op->state(u->store);
  trilha_status status = check_idle(u, state, err);
  if (status != TRILHA_OK) return status;
  if (state == TRILHA_UNIT_IDLE)
    return trilha_error_set(err, TRILHA_USAGE, "NO_TRANSACTION",
                            "the connection has no open transaction to adopt: BEGIN first, or begin one here");
  status = u->store->op->adopt(u->store, err);
  if (status == TRILHA_OK) start(u, true, 1, timeout_ms);
  return status;
}

/* --- inside ----------------------------------------------------------------------------------------------------------
 */

static trilha_status make_room(trilha_unit_of_work *u, trilha_error *err) {
  enum { FIRST = 4 };
  if (u->savepoint_count == TRILHA_UNIT_OF_WORK_SAVEPOINTS_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "UNIT_OF_WORK_SAVEPOINTS",
                            "%d savepoints are open: release those that are not needed any more",
                            TRILHA_UNIT_OF_WORK_SAVEPOINTS_MAX);
  if (u->savepoint_count < u->savepoint_capacity) return TRILHA_OK;
  size_t capacity = u->savepoint_capacity == 0 ? FIRST : 2 * u->savepoint_capacity;
  trilha_unit_savepoint *grown = realloc(u->savepoints, capacity * sizeof *grown);
  if (grown == NULL) return trilha_error_no_memory(err);
  u->savepoints = grown;
  u->savepoint_capacity = capacity;
  return TRILHA_OK;
}

trilha_status trilha_unit_of_work_savepoint(trilha_unit_of_work *u, int64_t *ret_savepoint, trilha_error *err) {
  trilha_status status = check_work(u, err);
  if (status == TRILHA_OK && ret_savepoint == NULL)
    status =
        trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING", "there must be a place for the savepoint's number");
  if (status == TRILHA_OK) status = make_room(u, err);
  if (status != TRILHA_OK) return status;
  int64_t number = ++u->last_savepoint;
  status = u->store->op->savepoint(u->store, TRILHA_UNIT_SAVEPOINT, number, err);
  if (status != TRILHA_OK) return status;
  u->savepoints[u->savepoint_count++] = (trilha_unit_savepoint){number, u->last_raised, u->depth};
  *ret_savepoint = number;
  return TRILHA_OK;
}

/* Of the call's own: a call that joined must not undo what came before it. */
static trilha_status find_savepoint(const trilha_unit_of_work *u, int64_t number, size_t *ret_at, trilha_error *err) {
  for (size_t i = u->savepoint_count; i > 0 && u->savepoints[i - 1].depth == u->depth; i--)
    if (u->savepoints[i - 1].number == number) {
      *ret_at = i - 1;
      return TRILHA_OK;
    }
  return trilha_error_set(err, TRILHA_USAGE, "SAVEPOINT_UNKNOWN",
                          "this call has no open savepoint %lld: it was released, undone, or made by a call outside",
                          (long long)number);
}

trilha_status trilha_unit_of_work_rollback_to(trilha_unit_of_work *u, int64_t savepoint, trilha_error *err) {
  size_t at = 0;
  trilha_status status = check_inside(u, err);
  if (status == TRILHA_OK && u->over.status != TRILHA_OK) status = trilha_error_copy(err, &u->over);
  if (status == TRILHA_OK) status = find_savepoint(u, savepoint, &at, err);
  if (status == TRILHA_OK) status = u->store->op->savepoint(u->store, TRILHA_UNIT_ROLLBACK_TO, savepoint, err);
  if (status != TRILHA_OK) return status;
  u->savepoint_count = at + 1;
  u->undone += trilha_collector_drop_after(&u->raised, u->savepoints[at].last_raised);
  return TRILHA_OK;
}

trilha_status trilha_unit_of_work_release(trilha_unit_of_work *u, int64_t savepoint, trilha_error *err) {
  size_t at = 0;
  trilha_status status = check_work(u, err);
  if (status == TRILHA_OK) status = find_savepoint(u, savepoint, &at, err);
  if (status == TRILHA_OK) status = u->store->op->savepoint(u->store, TRILHA_UNIT_RELEASE, savepoint, err);
  if (status == TRILHA_OK) u->savepoint_count = at;
  return status;
}

static trilha_status put_mark(trilha_unit_of_work *u, trilha_raised *raised, trilha_error *err) {
  bool same = true;
  raised->number = ++u->last_raised;
  raised->transaction = u->transaction;
  raised->savepoint = u->savepoint_count == 0 ? 0 : u->savepoints[u->savepoint_count - 1].number;
  trilha_status status = u->store->op->mark(u->store, raised->number, &raised->before, &same, err);
  if (status != TRILHA_OK) {
    u->doomed = true; /* the mark may have been set, and then no chain leads from it to the events before */
    return status;
  }
  if (same) return TRILHA_OK;
  ended_elsewhere(u);
  return trilha_error_copy(err, &u->over);
}

trilha_status trilha_unit_of_work_raise(trilha_unit_of_work *u, const trilha_post_commit_event *event,
                                        char ret_event_id[37], trilha_error *err) {
  trilha_raised *raised = NULL;
  trilha_status status = check_work(u, err);
  if (status != TRILHA_OK) return status;
  if (event == NULL) return trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING", "the event must not be NULL");
  unsigned cascade = u->handling ? u->cascade + 1 : 0;
  if (cascade > TRILHA_UNIT_OF_WORK_CASCADE_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "UNIT_OF_WORK_CASCADE",
                            "handlers raised events %d times in a row: they feed each other",
                            TRILHA_UNIT_OF_WORK_CASCADE_MAX);
  status = trilha_collector_make(&u->raised, event, &raised, err);
  if (status != TRILHA_OK) return status;
  raised->cascade = cascade;
  status = put_mark(u, raised, err);
  if (status != TRILHA_OK) {
    free(raised);
    return status;
  }
  trilha_collector_add(&u->raised, raised);
  if (ret_event_id != NULL) memcpy(ret_event_id, raised->event_id, sizeof raised->event_id);
  return TRILHA_OK;
}

trilha_status trilha_unit_of_work_enqueue(trilha_unit_of_work *u, const char *schema, const trilha_message *message,
                                          trilha_enqueued *ret_enqueued, trilha_error *err) {
  trilha_status status = check_work(u, err);
  if (status != TRILHA_OK) return status;
  if (message == NULL || ret_enqueued == NULL || (schema == NULL && u->store->op->schema_needed))
    return trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING",
                            "message, the place for the answer and, on PostgreSQL, the schema must not be NULL");
  if (schema != NULL) status = trilha_outbox_schema_check(schema, err);
  return status == TRILHA_OK ? u->store->op->enqueue(u->store, schema, message, ret_enqueued, err) : status;
}

/* --- the end ---------------------------------------------------------------------------------------------------------
 */

/* A call that had joined: its savepoints are of no more use to anybody. */
static void return_from_call(trilha_unit_of_work *u) {
  while (u->savepoint_count > 0 && u->savepoints[u->savepoint_count - 1].depth == u->depth) u->savepoint_count--;
  if (--u->depth == 0) forget(u);
}

/* One more call returns from a transaction that had ended before. */
static trilha_status return_from_ended(trilha_unit_of_work *u, trilha_unit_of_work_result *result, trilha_error *err) {
  trilha_status status = trilha_error_copy(err, &u->over);
  *result = u->ended;
  u->ended = (trilha_unit_of_work_result){.outcome = result->outcome}; /* events are counted once */
  return_from_call(u);
  return status;
}

/* Whatever the connection says: what is not committed is rolled back when it ends. */
static trilha_status roll_back(trilha_unit_of_work *u, trilha_unit_of_work_result *result, trilha_error *err) {
  trilha_status status = u->store->op->rollback(u->store, err);
  result->outcome = TRILHA_UNIT_OF_WORK_ROLLED_BACK;
  result->undone += drop_all(u);
  forget(u);
  return status;
}

static trilha_status give_up(trilha_unit_of_work *u, trilha_status why, trilha_unit_of_work_result *result) {
  trilha_error unimportant = {0};
  if (roll_back(u, result, &unimportant) != TRILHA_OK)
    return why; /* then the connection is lost, and that rolls back */
  return why;
}

static trilha_status conclude(trilha_unit_of_work *u, trilha_status status, trilha_unit_of_work_result *result) {
  switch (result->outcome) {
    case TRILHA_UNIT_OF_WORK_COMMITTED:
      result->undone += u->undone;
      forget(u); /* first: a handler may begin */
      trilha_unit_of_work_leave(u, result);
      break;
    case TRILHA_UNIT_OF_WORK_ROLLED_BACK:
      result->undone += drop_all(u);
      forget(u);
      break;
    case TRILHA_UNIT_OF_WORK_UNKNOWN:
      result->undone += u->undone;
      result->undelivered += trilha_unit_of_work_report(u, "the answer to its commit was lost");
      forget(u);
      break;
    case TRILHA_UNIT_OF_WORK_JOINED:
    case TRILHA_UNIT_OF_WORK_OPEN:
      break;
  }
  return status;
}

/* Asks the database which events were not undone. Nothing is allocated from here to the last handler's call: there is
 * nothing left that could fail between commit and events. */
static trilha_status read_back(trilha_unit_of_work *u, trilha_unit_of_work_result *result, trilha_error *err) {
  int64_t mark = 0;
  bool same = true;
  trilha_status status = u->store->op->last_mark(u->store, &mark, &same, err);
  if (status != TRILHA_OK) return give_up(u, status, result);
  if (!same) {
    ended_elsewhere(u);
    return return_from_ended(u, result, err);
  }
  u->undone += trilha_collector_keep(&u->raised, mark);
  return TRILHA_OK;
}

static trilha_status commit(trilha_unit_of_work *u, trilha_unit_of_work_result *result, trilha_error *err) {
  trilha_status status = check_hope(u, err);
  if (status != TRILHA_OK) return give_up(u, status, result);
  /* Of a failed one the server is asked all the same: its answer is what counts. */
  if (u->store->op->state(u->store) != TRILHA_UNIT_FAILED) status = read_back(u, result, err);
  if (status != TRILHA_OK) return status;
  if (TRILHA_FAULT("unitofwork.commit.before_send"))
    return give_up(u, trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point"), result);
  status = u->store->op->commit(u->store, &result->outcome, &result->resolved, err);
  if (TRILHA_FAULT("unitofwork.commit.after_answer") && status == TRILHA_OK) {
    result->outcome = TRILHA_UNIT_OF_WORK_UNKNOWN;
    status = trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "COMMIT_UNKNOWN", "fault point");
  }
  return conclude(u, status, result);
}

/* A call that joined: the transaction goes on. */
static trilha_status leave_call(trilha_unit_of_work *u, trilha_unit_of_work_result *result, trilha_error *err) {
  trilha_status status = check_hope(u, err);
  if (status == TRILHA_OK && u->store->op->state(u->store) == TRILHA_UNIT_FAILED) status = failed_before(err);
  if (status != TRILHA_OK) u->doomed = true;
  result->outcome = TRILHA_UNIT_OF_WORK_JOINED;
  return_from_call(u);
  return status;
}

trilha_status trilha_unit_of_work_commit(trilha_unit_of_work *u, trilha_unit_of_work_result *ret_result,
                                         trilha_error *err) {
  trilha_unit_of_work_result untold, *result = ret_result == NULL ? &untold : ret_result;
  *result = (trilha_unit_of_work_result){0};
  trilha_status status = check_inside(u, err);
  if (status != TRILHA_OK) return status;
  if (u->over.status != TRILHA_OK) return return_from_ended(u, result, err);
  return u->depth > 1 ? leave_call(u, result, err) : commit(u, result, err);
}

static trilha_status roll_back_call(trilha_unit_of_work *u, trilha_unit_of_work_result *result, trilha_error *err) {
  trilha_status status = check_inside(u, err);
  if (status != TRILHA_OK) return status;
  if (u->over.status != TRILHA_OK) {
    trilha_error why = {0};
    status = return_from_ended(u, result, &why);
    return result->outcome == TRILHA_UNIT_OF_WORK_ROLLED_BACK ? TRILHA_OK : trilha_error_copy(err, &why);
  }
  if (u->depth == 1) return roll_back(u, result, err);
  u->doomed = true;
  result->outcome = TRILHA_UNIT_OF_WORK_JOINED;
  return_from_call(u);
  return TRILHA_OK;
}

trilha_status trilha_unit_of_work_rollback(trilha_unit_of_work *u, trilha_error *err) {
  trilha_unit_of_work_result untold = {0};
  return roll_back_call(u, &untold, err);
}

trilha_status trilha_unit_of_work_run(trilha_unit_of_work *u, unsigned timeout_ms, trilha_unit_of_work_body work,
                                      void *user, trilha_unit_of_work_result *ret_result, trilha_error *err) {
  trilha_unit_of_work_result untold, *result = ret_result == NULL ? &untold : ret_result;
  *result = (trilha_unit_of_work_result){0};
  if (work == NULL) return trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING", "there must be something to run");
  trilha_status status = trilha_unit_of_work_begin(u, timeout_ms, err);
  if (status != TRILHA_OK) return status;
  status = work(user, u, err);
  if (status == TRILHA_OK) return trilha_unit_of_work_commit(u, result, err);
  trilha_error unimportant = {0}; /* what failed first is what the caller wants to know */
  if (roll_back_call(u, result, &unimportant) != TRILHA_OK) trilha_error_copy(err, &unimportant);
  return status;
}

void trilha_unit_of_work_cancel(trilha_unit_of_work *u) {
  if (u == NULL || !atomic_load(&u->open)) return;
  atomic_store(&u->cancelled, true);
  u->store->op->cancel(u->store);
}

/* --- the handle ------------------------------------------------------------------------------------------------------
 */

trilha_status trilha_unit_of_work_new(trilha_unit_store *take_store, const trilha_unit_of_work_options *options,
                                      trilha_unit_of_work **ret_unit, trilha_error *err) {
  trilha_unit_of_work *u = calloc(1, sizeof *u);
  if (u == NULL) {
    take_store->op->close(take_store);
    return trilha_error_no_memory(err);
  }
  u->store = take_store;
  u->store->unit = u;
  u->options = *options;
  u->leaving_tail = &u->leaving;
  *ret_unit = u;
  return TRILHA_OK;
}

void trilha_unit_of_work_close(trilha_unit_of_work *u) {
  if (u == NULL) return;
  TRILHA_ASSERT(!u->handling); /* a handler must not close its unit: it is in use below */
  if (u->depth > 0 && u->over.status == TRILHA_OK) look(u);
  if (u->depth > 0 && u->over.status == TRILHA_OK) {
    if (u->adopted)
      trilha_unit_of_work_report(u, "its unit of work was closed first");
    else if (u->store->op->rollback(u->store, NULL) != TRILHA_OK)
      trilha_collector_drop_after(&u->raised, 0); /* the connection's end rolls back */
  }
  u->store->op->close(u->store);
  trilha_collector_done(&u->raised);
  free(u->savepoints);
  free(u);
}
