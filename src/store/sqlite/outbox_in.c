/* store/sqlite/outbox_in: enqueue and inbox on the caller's own handle, inside its own transaction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/uuid.h"
#include "store/sqlite/outbox.h"

static trilha_status check_caller(sqlite3 *db, trilha_error *err) {
  if (!sqlite3_get_autocommit(db)) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_USAGE, "NO_TRANSACTION",
                          "the database handle has no open transaction: BEGIN before the fact this belongs to");
}

static trilha_status refuse(trilha_error *err, const char *why) {
  return trilha_error_set(err, TRILHA_INVALID, "MESSAGE_REFUSED", "%s", why);
}

/* What the triggers raise is "CODE: text". */
static trilha_status explain(trilha_sqlite_connection *c, trilha_error *own, trilha_error *err) {
  static const struct {
    const char *code;
    trilha_status status;
  } raised[] = {{"MESSAGE_REFUSED", TRILHA_INVALID},
                {"NO_ROUTE", TRILHA_NOT_FOUND},
                {"MESSAGE_ID_TAKEN", TRILHA_CONFLICT},
                {"PATH_HELD", TRILHA_CONFLICT}};
  const char *said = sqlite3_errmsg(c->db);
  for (size_t i = 0; (sqlite3_errcode(c->db) & 0xff) == SQLITE_CONSTRAINT && i < sizeof raised / sizeof raised[0];
       i++) {
    size_t size = strlen(raised[i].code);
    if (strncmp(said, raised[i].code, size) == 0 && said[size] == ':')
      return trilha_error_set(err, raised[i].status, raised[i].code, "%s", said + size + 2);
  }
  return trilha_error_copy(err, own);
}

trilha_status trilha_sqlite_outbox_run_enqueue(trilha_sqlite_connection *c, sqlite3_stmt *statement, int *ret_changes,
                                               trilha_error *err) {
  trilha_error own = {0};
  int rc = SQLITE_ROW;
  while (rc == SQLITE_ROW) rc = sqlite3_step(statement);
  if (rc == SQLITE_DONE) {
    if (ret_changes != NULL) *ret_changes = sqlite3_changes(c->db);
    return TRILHA_OK;
  }
  trilha_sqlite_fail(c, rc, &own, "using the outbox");
  return explain(c, &own, err);
}

/* Lower case; absent: the given id stays. */
static trilha_status read_id(trilha_text id, const char *name, char out[TRILHA_UUID_TEXT_SIZE], trilha_error *err) {
  unsigned char bytes[16];
  if (!trilha_uuid_parse(id, bytes))
    return trilha_error_set(err, TRILHA_INVALID, "MESSAGE_REFUSED", "%s must be a UUID", name);
  trilha_uuid_format(bytes, out);
  return TRILHA_OK;
}

static trilha_status message_id(const trilha_message *m, char out[TRILHA_UUID_TEXT_SIZE], trilha_error *err) {
  unsigned char bytes[16];
  if (m->message_id.data != NULL) return read_id(m->message_id, "message_id", out, err);
  if (!trilha_uuid_v7(bytes, trilha_clock_wall_us()))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "RANDOM_UNAVAILABLE", "the system gives no random bytes");
  trilha_uuid_format(bytes, out);
  return TRILHA_OK;
}

/* In UTC: SQLite's own reading of offsets is more lenient than ours. */
static trilha_status occurred_at(const trilha_message *m, char out[TRILHA_TIMESTAMP_SIZE], trilha_error *err) {
  int64_t us;
  out[0] = '\0';
  if (m->occurred_at.data == NULL) return TRILHA_OK;
  if (!trilha_timestamp_parse(m->occurred_at, &us))
    return refuse(err, "occurred_at must be an ISO-8601 date and time with Z or an offset");
  trilha_timestamp_format(us, out);
  return TRILHA_OK;
}

static trilha_status enqueue_in(trilha_sqlite_connection *c, const char *prefix, const trilha_message *m,
                                const char *id, const char *when, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *insert = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_enqueue, &insert, err);
  if (status != TRILHA_OK) return status;
  const trilha_text values[] = {m->tenant_id,        m->aggregate_type, m->aggregate_key, m->message_type,
                                m->version,          m->payload,        m->origin,        m->correlation_id,
                                trilha_text_of(id),  m->company_id,     m->causation_id,  m->traceparent,
                                {when, strlen(when)}};
  enum { COUNT = sizeof values / sizeof values[0] };
  for (int i = 0; i < COUNT; i++)
    if (i < COUNT - 1 || *when != '\0') trilha_sqlite_bind(insert, i + 1, values[i]);
  return trilha_sqlite_outbox_run_enqueue(c, insert, NULL, err);
}

trilha_status trilha_sqlite_enqueue(sqlite3 *db, const char *schema, const trilha_message *m, trilha_enqueued *ret,
                                    trilha_error *err) {
  trilha_sqlite_connection c = {.db = db};
  char prefix[TRILHA_OUTBOX_PREFIX_SIZE], id[TRILHA_UUID_TEXT_SIZE], when[TRILHA_TIMESTAMP_SIZE];
  TRILHA_SQLITE_SCOPED *find = NULL;
  bool any = false;
  int64_t sequence = 0;
  trilha_sqlite_outbox_prefix(schema, prefix);
  trilha_status status = check_caller(db, err);
  if (status == TRILHA_OK) status = message_id(m, id, err);
  if (status == TRILHA_OK) status = occurred_at(m, when, err);
  if (status == TRILHA_OK) status = enqueue_in(&c, prefix, m, id, when, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(&c, prefix, trilha_sql_sqlite_outbox_enqueued, &find, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(find, 1, trilha_text_of(id));
  status = trilha_sqlite_value(&c, find, &sequence, &any, err);
  if (status != TRILHA_OK) return status;
  memcpy(ret->message_id, id, sizeof ret->message_id);
  ret->aggregate_sequence = sequence;
  return TRILHA_OK;
}

/* --- the inbox ---------------------------------------------------------------------------------------------------- */

typedef struct inbox {
  trilha_sqlite_connection c;
  char prefix[TRILHA_OUTBOX_PREFIX_SIZE];
  const trilha_inbox_message *m;
  char id[TRILHA_UUID_TEXT_SIZE], digest[2 * TRILHA_SHA256_SIZE + 1];
} inbox;

/* As the functions of the PostgreSQL inbox judge it. A zeroed sequence would else be a duplicate without a word. */
static trilha_status check_key(const trilha_inbox_message *m, trilha_error *err) {
  const struct {
    const char *name;
    trilha_text value;
    bool needed;
  } texts[] = {{"tenant_id", m->tenant_id, true},
               {"consumer", m->consumer, true},
               {"aggregate_type", m->aggregate_type, m->aggregate_type.data != NULL},
               {"aggregate_key", m->aggregate_key, m->aggregate_type.data != NULL}};
  size_t bytes = 0;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    bytes += texts[i].needed ? texts[i].value.size : 0;
    size_t length = trilha_utf8_length(texts[i].value.data, texts[i].value.size);
    if (texts[i].needed &&
        (length < 1 || length > (size_t)TRILHA_INBOX_NAME_MAX || trilha_text_find(texts[i].value, '\0')))
      return trilha_error_set(err, TRILHA_INVALID, "MESSAGE_REFUSED", "%s must have 1 to %d characters", texts[i].name,
                              TRILHA_INBOX_NAME_MAX);
  }
  if (m->aggregate_type.data != NULL && bytes > TRILHA_INBOX_KEY_BYTES_MAX)
    return trilha_error_set(err, TRILHA_INVALID, "MESSAGE_REFUSED",
                            "tenant_id, consumer, aggregate_type and aggregate_key must have at most %d bytes together",
                            TRILHA_INBOX_KEY_BYTES_MAX);
  if (m->aggregate_type.data == NULL || (m->previous_sequence >= 0 && m->previous_sequence < m->aggregate_sequence))
    return TRILHA_OK;
  return refuse(err, "aggregate_sequence must be at least 1, and previous_sequence from 0 to the number before it");
}

static trilha_status begin(inbox *i, sqlite3 *db, const char *schema, const trilha_inbox_message *m,
                           trilha_error *err) {
  unsigned char digest[TRILHA_SHA256_SIZE];
  i->c = (trilha_sqlite_connection){.db = db};
  i->m = m;
  trilha_sqlite_outbox_prefix(schema, i->prefix);
  trilha_sha256(m->payload, digest);
  trilha_hex(digest, sizeof digest, i->digest);
  trilha_status status = check_caller(db, err);
  if (status == TRILHA_OK) status = check_key(m, err);
  return status == TRILHA_OK ? read_id(m->message_id, "message_id", i->id, err) : status;
}

static trilha_status prepare(inbox *i, const char *query, sqlite3_stmt **ret, trilha_error *err) {
  trilha_status status = trilha_sqlite_outbox_prepare(&i->c, i->prefix, query, ret, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(*ret, 1, i->m->tenant_id);
  trilha_sqlite_bind(*ret, 2, i->m->consumer);
  return TRILHA_OK;
}

static trilha_status keep_result(sqlite3_stmt *row, trilha_inbox_answer *answer, trilha_error *err) {
  const char *result = (const char *)sqlite3_column_text(row, 1);
  if (result == NULL) return TRILHA_OK;
  answer->result = strdup(result);
  return answer->result == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

/* The outcome stays 0 when the message was never accepted. */
static trilha_status look_up(inbox *i, trilha_inbox_answer *answer, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  bool row = false;
  trilha_status status = prepare(i, trilha_sql_sqlite_outbox_inbox_find, &find, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(find, 3, trilha_text_of(i->id));
  status = trilha_sqlite_step(&i->c, find, &row, err);
  if (status != TRILHA_OK || !row) return status;
  const char *there = (const char *)sqlite3_column_text(find, 0);
  bool same = there != NULL && strcmp(there, i->digest) == 0;
  answer->outcome = same ? TRILHA_INBOX_DUPLICATE : TRILHA_INBOX_CONFLICT;
  return same ? keep_result(find, answer, err) : TRILHA_OK;
}

static trilha_status last_of(inbox *i, int64_t *ret_last, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  bool any = false;
  trilha_status status = prepare(i, trilha_sql_sqlite_outbox_inbox_last, &find, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(find, 3, i->m->aggregate_type);
  trilha_sqlite_bind(find, 4, i->m->aggregate_key);
  return trilha_sqlite_value(&i->c, find, ret_last, &any, err);
}

static trilha_status put(inbox *i, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *insert = NULL;
  trilha_status status = prepare(i, trilha_sql_sqlite_outbox_inbox_put, &insert, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(insert, 3, trilha_text_of(i->id));
  trilha_sqlite_bind(insert, 4, trilha_text_of(i->digest));
  sqlite3_bind_int64(insert, 5, trilha_clock_wall_us());
  return trilha_sqlite_outbox_run_enqueue(&i->c, insert, NULL, err);
}

/* It came again: operators see it when the caller commits. */
static trilha_status note_repeat(inbox *i, trilha_inbox_outcome outcome, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *insert = NULL;
  trilha_status status = prepare(i, trilha_sql_sqlite_outbox_inbox_repeat, &insert, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(insert, 3, trilha_text_of(i->id));
  trilha_sqlite_bind(insert, 4, outcome == TRILHA_INBOX_CONFLICT ? TRILHA_TEXT("conflict") : TRILHA_TEXT("duplicate"));
  trilha_sqlite_bind(insert, 5, trilha_text_of(i->digest));
  sqlite3_bind_int64(insert, 6, trilha_clock_wall_us());
  return trilha_sqlite_outbox_run_enqueue(&i->c, insert, NULL, err);
}

static trilha_status advance(inbox *i, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *move = NULL;
  trilha_status status = prepare(i, trilha_sql_sqlite_outbox_inbox_advance, &move, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(move, 3, i->m->aggregate_type);
  trilha_sqlite_bind(move, 4, i->m->aggregate_key);
  sqlite3_bind_int64(move, 5, i->m->aggregate_sequence);
  return trilha_sqlite_outbox_run_enqueue(&i->c, move, NULL, err);
}

trilha_status trilha_sqlite_inbox_accept(sqlite3 *db, const char *schema, const trilha_inbox_message *m,
                                         trilha_inbox_answer *ret, trilha_error *err) {
  inbox i;
  trilha_inbox_answer answer = {0};
  bool ordered = m->aggregate_type.data != NULL;
  int64_t last = 0;
  trilha_status status = begin(&i, db, schema, m, err);
  if (status == TRILHA_OK) status = look_up(&i, &answer, err);
  if (status == TRILHA_OK && answer.outcome == 0 && ordered) {
    status = last_of(&i, &last, err);
    if (m->aggregate_sequence <= last)
      answer.outcome = TRILHA_INBOX_DUPLICATE; /* its row was purged; the last sequence never goes back */
    else if (m->previous_sequence > last)
      answer.outcome = TRILHA_INBOX_HELD;
  }
  if (status == TRILHA_OK && answer.outcome == 0) {
    answer.outcome = TRILHA_INBOX_NEW;
    status = put(&i, err);
    if (status == TRILHA_OK && ordered) status = advance(&i, err);
  } else if (status == TRILHA_OK && answer.outcome != TRILHA_INBOX_HELD) {
    status = note_repeat(&i, answer.outcome, err);
  }
  if (status == TRILHA_OK)
    *ret = answer;
  else
    free(answer.result);
  return status;
}

trilha_status trilha_sqlite_inbox_finish(sqlite3 *db, const char *schema, const trilha_inbox_message *m,
                                         trilha_text result, trilha_error *err) {
  inbox i;
  TRILHA_SQLITE_SCOPED *update = NULL;
  int changes = 0;
  trilha_status status = begin(&i, db, schema, m, err);
  if (status == TRILHA_OK) status = prepare(&i, trilha_sql_sqlite_outbox_inbox_result, &update, err);
  if (status != TRILHA_OK) return status;
  trilha_sqlite_bind(update, 3, trilha_text_of(i.id));
  trilha_sqlite_bind(update, 4, result);
  status = trilha_sqlite_outbox_run_enqueue(&i.c, update, &changes, err);
  if (status != TRILHA_OK || changes == 1) return status;
  return trilha_error_set(err, TRILHA_NOT_FOUND, "NOT_ACCEPTED",
                          "the inbox has not accepted this message, or keeps its result already: accept it first, and "
                          "finish it once");
}
