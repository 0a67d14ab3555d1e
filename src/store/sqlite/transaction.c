/* store/sqlite: the write transaction, and the read transaction beside it. */
#include "base/assert.h"
#include "base/fault.h"
#include "store/sqlite/sqlite_internal.h"

/* --- writing -------------------------------------------------------------------------------------------- */

static void drop_writer(trilha_sqlite_store *s) {
  trilha_sqlite_disconnect(s->writer);
  s->writer = NULL;
}

static trilha_status open_writer(trilha_sqlite_store *s, trilha_deadline deadline, trilha_error *err) {
  trilha_status status = trilha_sqlite_check_file(s, err);
  if (status != TRILHA_OK) return status;
  if (s->writer != NULL) {
    trilha_sqlite_set_deadline(s->writer, deadline);
    return TRILHA_OK;
  }
  trilha_sqlite_use use = s->unsafe_no_fsync ? TRILHA_SQLITE_WRITE_UNSAFE : TRILHA_SQLITE_WRITE;
  return trilha_sqlite_connect(s->path, use, deadline, &s->writer, err);
}

/* Holding the turn and the lock file. */
static trilha_status begin(trilha_sqlite_store *s, trilha_deadline deadline, trilha_error *err) {
  trilha_status status = open_writer(s, deadline, err);
  if (status != TRILHA_OK) return status;
  sqlite3_stmt *statement = NULL;
  status = trilha_sqlite_prepare(s->writer, TRILHA_SQLITE_BEGIN_WRITE, &statement, err);
  if (status != TRILHA_OK) return status;
  int rc = sqlite3_step(statement);
  if (rc == SQLITE_DONE) {
    sqlite3_reset(statement);
    return TRILHA_OK;
  }
  status = trilha_sqlite_fail(s->writer, rc, err, "beginning a write transaction");
  sqlite3_reset(statement);
  if (trilha_sqlite_is_sick(rc)) drop_writer(s);
  return status;
}

trilha_status trilha_sqlite_write_begin(trilha_sqlite_store *s, trilha_deadline deadline,
                                        trilha_sqlite_connection **ret, trilha_error *err) {
  trilha_status status = trilha_sqlite_check_process(s, err);
  if (status != TRILHA_OK) return status;
  trilha_deadline until = trilha_deadline_earlier(deadline, trilha_deadline_in_ms(s->lock_timeout_ms));
  status = trilha_sqlite_turn_take(s, until, err);
  if (status != TRILHA_OK) return status;
  trilha_writers_lock *lock = NULL;
  status = trilha_sqlite_lock_file(s, &lock, err);
  if (status == TRILHA_OK) status = trilha_writers_lock_acquire(lock, until, err);
  if (status == TRILHA_OK) {
    status = begin(s, until, err);
    if (status != TRILHA_OK) trilha_writers_lock_release(lock);
  }
  if (status != TRILHA_OK) {
    trilha_sqlite_turn_give(s);
    return status;
  }
  /* Waiting is over; from here on the caller's own deadline counts. */
  trilha_sqlite_set_deadline(s->writer, deadline);
  *ret = s->writer;
  return TRILHA_OK;
}

static void roll_back(trilha_sqlite_store *s) {
  trilha_sqlite_connection *c = s->writer;
  if (c == NULL) return;
  trilha_sqlite_set_deadline(c, TRILHA_NO_DEADLINE);
  bool sick = trilha_sqlite_is_sick(sqlite3_extended_errcode(c->db));
  /* Several errors have rolled back already. A rollback that fails leaves a connection that nobody should use. */
  if (!sqlite3_get_autocommit(c->db) && trilha_sqlite_run(c, TRILHA_SQLITE_ROLLBACK, NULL) != TRILHA_OK) sick = true;
  if (sick) drop_writer(s);
}

void trilha_sqlite_write_abort(trilha_sqlite_store *s) {
  roll_back(s);
  trilha_writers_lock_release(s->lock);
  trilha_sqlite_turn_give(s);
}

bool trilha_sqlite_commit_certainly_absent(int rc) {
  int primary = rc & 0xff;
  return primary == SQLITE_BUSY || primary == SQLITE_FULL || primary == SQLITE_CONSTRAINT;
}

static trilha_status commit(trilha_sqlite_store *s, trilha_error *err) {
  trilha_sqlite_connection *c = s->writer;
  sqlite3_stmt *statement = NULL;
  trilha_status status = trilha_sqlite_prepare(c, TRILHA_SQLITE_COMMIT, &statement, err);
  if (status != TRILHA_OK) return status;
  /* A commit is not interrupted half way. */
  c->deadline = TRILHA_NO_DEADLINE;
  int rc = sqlite3_step(statement);
  if (rc == SQLITE_DONE) {
    sqlite3_reset(statement);
    return TRILHA_OK;
  }
  if (trilha_sqlite_commit_certainly_absent(rc)) {
    status = trilha_sqlite_fail(c, rc, err, "committing");
  } else {
    trilha_error cause = {0};
    trilha_sqlite_fail(c, rc, &cause, "committing");
    status = trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "STORE_COMMIT_UNKNOWN",
                              "it is not known whether the transaction was stored; repeat it under the same ids: %s",
                              cause.text);
    if (err != NULL) err->os_errno = cause.os_errno;
  }
  sqlite3_reset(statement);
  return status;
}

trilha_status trilha_sqlite_write_commit(trilha_sqlite_store *s, trilha_error *err) {
  if (TRILHA_FAULT("sqlite.write.before_commit")) {
    trilha_sqlite_write_abort(s);
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point sqlite.write.before_commit");
  }
  trilha_status status = commit(s, err);
  if (status != TRILHA_OK) {
    roll_back(s);
    if (status == TRILHA_OUTCOME_UNKNOWN && s->writer != NULL) drop_writer(s);
    trilha_writers_lock_release(s->lock);
    trilha_sqlite_turn_give(s);
    return status;
  }
  if (TRILHA_FAULT("sqlite.write.after_commit"))
    status = trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "FAULT", "fault point sqlite.write.after_commit");
  bool restart = trilha_sqlite_wal_wants_restart(s);
  if (restart) trilha_sqlite_wal_keep_small(s, true);
  trilha_writers_lock_release(s->lock);
  trilha_writers_lock_note_commit(s->lock);
  if (!restart) trilha_sqlite_wal_keep_small(s, false);
  trilha_sqlite_turn_give(s);
  return status;
}

/* --- reading -------------------------------------------------------------------------------------------- */

trilha_status trilha_sqlite_read_begin(trilha_sqlite_store *s, trilha_deadline deadline, trilha_sqlite_connection **ret,
                                       trilha_error *err) {
  trilha_status status = trilha_sqlite_check_process(s, err);
  if (status != TRILHA_OK) return status;
  if (trilha_deadline_passed(deadline))
    return trilha_error_set(err, TRILHA_TIMEOUT, "DEADLINE_PASSED",
                            "the deadline passed before the database was asked");
  status = trilha_sqlite_check_file(s, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_connection *c = NULL;
  status = trilha_sqlite_reader_take(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_run(c, TRILHA_SQLITE_BEGIN_READ, err);
  if (status != TRILHA_OK) {
    trilha_sqlite_read_end(s, c);
    return status;
  }
  *ret = c;
  return TRILHA_OK;
}

void trilha_sqlite_read_end(trilha_sqlite_store *s, trilha_sqlite_connection *take_connection) {
  trilha_sqlite_connection *c = take_connection;
  bool sick = trilha_sqlite_is_sick(sqlite3_extended_errcode(c->db));
  trilha_sqlite_set_deadline(c, TRILHA_NO_DEADLINE);
  /* Statements left in the middle of their rows would keep the snapshot beyond the transaction. */
  for (size_t i = 0; i < TRILHA_SQLITE_QUERIES; i++)
    if (c->statements[i] != NULL && sqlite3_stmt_busy(c->statements[i])) sqlite3_reset(c->statements[i]);
  if (!sqlite3_get_autocommit(c->db) && trilha_sqlite_run(c, TRILHA_SQLITE_ROLLBACK, NULL) != TRILHA_OK) sick = true;
  if (sick) {
    trilha_sqlite_disconnect(c);
    c = NULL;
  }
  trilha_sqlite_reader_give(s, c);
}
