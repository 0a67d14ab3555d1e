/* store/postgres: appending to the log. The batch travels in one message and its whole transaction runs on the server's
 * side (core.event_append, for one row core.event_append_one), so the log's turn never waits for a client. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/fault.h"
#include "postgres_internal.h"

/* --- an id twice in one batch ----------------------------------------------------------------------------- */

typedef struct batch {
  const trilha_event_row *rows;
  size_t count;
  size_t *order; /* positions sorted by id, then position */
  size_t *first; /* of each row: the position of the first row with its id */
  size_t *sent;  /* positions of the rows sent, in order */
  size_t sent_count;
  trilha_append_result *results;
  trilha_arena *arena;
} batch;

static int by_id_then_position(const void *a, const void *b, void *rows) {
  const trilha_event_row *all = rows;
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  int order = memcmp(all[x].event_id, all[y].event_id, 16);
  return order != 0 ? order : (x > y) - (x < y);
}

/* The first of each id is sent; the later ones will be duplicates of it. */
static bool find_firsts(batch *b) {
  b->order = trilha_arena_array(b->arena, b->count, sizeof *b->order);
  b->first = trilha_arena_array(b->arena, b->count, sizeof *b->first);
  b->sent = trilha_arena_array(b->arena, b->count, sizeof *b->sent);
  if (b->order == NULL || b->first == NULL || b->sent == NULL) return false;
  for (size_t i = 0; i < b->count; i++) b->order[i] = i;
  union {
    const trilha_event_row *in;
    void *out;
  } rows = {b->rows};
  qsort_r(b->order, b->count, sizeof *b->order, by_id_then_position, rows.out);
  for (size_t i = 0; i < b->count; i++) {
    size_t at = b->order[i], before = i == 0 ? at : b->order[i - 1];
    bool again = i > 0 && memcmp(b->rows[at].event_id, b->rows[before].event_id, 16) == 0;
    b->first[at] = again ? b->first[before] : at;
  }
  for (size_t i = 0; i < b->count; i++)
    if (b->first[i] == i) b->sent[b->sent_count++] = i;
  return true;
}

/* --- parameters ---------------------------------------------------------------------------------------------- */

static void add_ids(const batch *b, trilha_pg_parameters *p) {
  trilha_pg_array_begin(p, TRILHA_PG_UUID, b->sent_count);
  for (size_t i = 0; i < b->sent_count; i++) trilha_pg_element_uuid(p, b->rows[b->sent[i]].event_id);
  trilha_pg_array_end(p);
}

static trilha_text text_at(const trilha_event_row *row, size_t offset) {
  trilha_text text;
  memcpy(&text, (const char *)row + offset, sizeof text);
  return text;
}

static void add_texts(const batch *b, trilha_pg_parameters *p, trilha_pg_type type, size_t offset) {
  bool any = false;
  for (size_t i = 0; i < b->sent_count && !any; i++) any = text_at(&b->rows[b->sent[i]], offset).data != NULL;
  trilha_pg_array_begin(p, type, any ? b->sent_count : 0); /* an empty array reads as all NULL */
  for (size_t i = 0; any && i < b->sent_count; i++) {
    trilha_text text = text_at(&b->rows[b->sent[i]], offset);
    if (type == TRILHA_PG_JSONB)
      trilha_pg_element_jsonb(p, text);
    else
      trilha_pg_element_text(p, text);
  }
  trilha_pg_array_end(p);
}
#define TEXT_OF(field) offsetof(trilha_event_row, field)

static void add_times(const batch *b, trilha_pg_parameters *p) {
  trilha_pg_array_begin(p, TRILHA_PG_TIMESTAMPTZ, b->sent_count);
  for (size_t i = 0; i < b->sent_count; i++) trilha_pg_element_time(p, b->rows[b->sent[i]].timestamp_us);
  trilha_pg_array_end(p);
}

static void add_correlations(const batch *b, trilha_pg_parameters *p) {
  trilha_pg_array_begin(p, TRILHA_PG_UUID, b->sent_count);
  for (size_t i = 0; i < b->sent_count; i++) {
    const trilha_event_row *row = &b->rows[b->sent[i]];
    if (row->has_correlacao_id)
      trilha_pg_element_uuid(p, row->correlacao_id);
    else
      trilha_pg_element_null(p);
  }
  trilha_pg_array_end(p);
}

static void add_causations(const batch *b, trilha_pg_parameters *p) {
  trilha_pg_array_begin(p, TRILHA_PG_UUID, b->sent_count);
  for (size_t i = 0; i < b->sent_count; i++) {
    const trilha_event_row *row = &b->rows[b->sent[i]];
    if (row->has_causation_id)
      trilha_pg_element_uuid(p, row->causation_id);
    else
      trilha_pg_element_null(p);
  }
  trilha_pg_array_end(p);
}

static void add_aggregate_sequences(const batch *b, trilha_pg_parameters *p) {
  trilha_pg_array_begin(p, TRILHA_PG_INT8, b->sent_count);
  for (size_t i = 0; i < b->sent_count; i++) {
    const trilha_event_row *row = &b->rows[b->sent[i]];
    if (row->has_aggregate_sequence)
      trilha_pg_element_i64(p, row->aggregate_sequence);
    else
      trilha_pg_element_null(p);
  }
  trilha_pg_array_end(p);
}

/* How the transaction is to run; the last parameters of both queries. */
typedef struct manner {
  int64_t lock_timeout_ms; /* 0: the session has settled for what appends need */
  bool durable;
  bool stay;       /* settle for the session, not only for the transaction */
  bool flush_late; /* give the turn back before the disk is waited for */
} manner;

static void add_manner(const manner *m, trilha_pg_parameters *p) {
  if (m->lock_timeout_ms > 0)
    trilha_pg_add_i64(p, m->lock_timeout_ms);
  else
    trilha_pg_add_null(p, TRILHA_PG_INT8);
  trilha_pg_add_bool(p, m->durable);
  trilha_pg_add_bool(p, m->stay);
  trilha_pg_add_bool(p, m->flush_late);
}

/* In the order of the query event_append. */
static void add_batch(const batch *b, const manner *m, trilha_pg_parameters *p) {
  add_ids(b, p);
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(tipo));
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(versao_schema));
  add_times(b, p);
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(origem));
  add_correlations(b, p);
  add_texts(b, p, TRILHA_PG_JSONB, TEXT_OF(payload));
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(tenant_id));
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(company_id));
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(aggregate_type));
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(aggregate_key));
  add_aggregate_sequences(b, p);
  add_causations(b, p);
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(traceparent));
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(tracestate));
  add_texts(b, p, TRILHA_PG_TEXT, TEXT_OF(digest));
  add_manner(m, p);
}

static void add_optional_uuid(trilha_pg_parameters *p, bool has, const unsigned char id[16]) {
  if (has)
    trilha_pg_add_uuid(p, id);
  else
    trilha_pg_add_null(p, TRILHA_PG_UUID);
}

/* In the order of the query event_append_one. */
static void add_one(const trilha_event_row *row, const manner *m, trilha_pg_parameters *p) {
  trilha_pg_add_uuid(p, row->event_id);
  trilha_pg_add_text(p, row->tipo);
  trilha_pg_add_text(p, row->versao_schema);
  trilha_pg_add_time(p, row->timestamp_us);
  trilha_pg_add_text(p, row->origem);
  add_optional_uuid(p, row->has_correlacao_id, row->correlacao_id);
  trilha_pg_add_jsonb(p, row->payload);
  trilha_pg_add_text(p, row->tenant_id);
  trilha_pg_add_text(p, row->company_id);
  trilha_pg_add_text(p, row->aggregate_type);
  trilha_pg_add_text(p, row->aggregate_key);
  if (row->has_aggregate_sequence)
    trilha_pg_add_i64(p, row->aggregate_sequence);
  else
    trilha_pg_add_null(p, TRILHA_PG_INT8);
  add_optional_uuid(p, row->has_causation_id, row->causation_id);
  trilha_pg_add_text(p, row->traceparent);
  trilha_pg_add_text(p, row->tracestate);
  trilha_pg_add_text(p, row->digest);
  add_manner(m, p);
}

/* --- results -------------------------------------------------------------------------------------------------- */

static bool copy_text(trilha_arena *arena, trilha_text *text) {
  if (text->data == NULL) return true;
  const char *copy = trilha_arena_copy(arena, *text);
  if (copy == NULL) return false;
  text->data = copy;
  return true;
}

static bool copy_texts(trilha_arena *arena, trilha_event_row *row) {
  return copy_text(arena, &row->tipo) && copy_text(arena, &row->versao_schema) && copy_text(arena, &row->origem) &&
         copy_text(arena, &row->payload) && copy_text(arena, &row->tenant_id) && copy_text(arena, &row->company_id) &&
         copy_text(arena, &row->aggregate_type) && copy_text(arena, &row->aggregate_key) &&
         copy_text(arena, &row->traceparent) && copy_text(arena, &row->tracestate) && copy_text(arena, &row->digest);
}

/* A stored row is as it was given: the payload equals it as a JSON value, the timestamp was rounded before. */
static trilha_status keep_stored(const batch *b, size_t at, int64_t sequence, int64_t criado_em_us, trilha_error *err) {
  trilha_append_result *result = &b->results[at];
  result->stored = true;
  result->row = b->rows[at];
  result->row.sequence_number = sequence;
  result->row.criado_em_us = criado_em_us;
  return copy_texts(b->arena, &result->row) ? TRILHA_OK : trilha_error_no_memory(err);
}

/* The rows stored are a part of the rows sent, in their order. */
static trilha_status fill_stored(const batch *b, const PGresult *answer, size_t *ret_missing, trilha_error *err) {
  enum { ID_STEP = 20, SEQUENCE_STEP = 12, LENGTH_SIZE = 4 };
  size_t count = 0, sequences = 0, next = 0;
  const unsigned char *ids = trilha_pg_get_array(answer, 0, 0, &count);
  const unsigned char *numbers = trilha_pg_get_array(answer, 0, 1, &sequences);
  TRILHA_ASSERT(count == sequences && count <= b->sent_count);
  for (size_t i = 0; i < b->sent_count; i++) {
    size_t at = b->sent[i];
    b->results[at] = (trilha_append_result){0};
    if (next == count || memcmp(ids + next * ID_STEP + LENGTH_SIZE, b->rows[at].event_id, 16) != 0) continue;
    int64_t sequence = trilha_pg_read_i64(numbers + next * SEQUENCE_STEP + LENGTH_SIZE);
    trilha_status status = keep_stored(b, at, sequence, trilha_pg_get_time(answer, 0, 2), err);
    if (status != TRILHA_OK) return status;
    next++;
  }
  TRILHA_ASSERT(next == count);
  *ret_missing = b->sent_count - count;
  return TRILHA_OK;
}

static trilha_status fill_one(const batch *b, const PGresult *answer, size_t *ret_missing, trilha_error *err) {
  size_t at = b->sent[0];
  b->results[at] = (trilha_append_result){0};
  *ret_missing = PQgetisnull(answer, 0, 0) ? 1 : 0;
  if (*ret_missing != 0) return TRILHA_OK;
  return keep_stored(b, at, trilha_pg_get_i64(answer, 0, 0), trilha_pg_get_time(answer, 0, 1), err);
}

static void add_missing(const batch *b, size_t missing, trilha_pg_parameters *p) {
  trilha_pg_array_begin(p, TRILHA_PG_UUID, missing);
  for (size_t i = 0; i < b->sent_count; i++)
    if (!b->results[b->sent[i]].stored) trilha_pg_element_uuid(p, b->rows[b->sent[i]].event_id);
  trilha_pg_array_end(p);
}

static int id_against_position(const void *id, const void *position, void *rows) {
  const trilha_event_row *all = rows;
  return memcmp(id, all[*(const size_t *)position].event_id, 16);
}

/* The position sent with this id; every id of `order` is that of a first row or of a repeat behind it. */
static size_t position_of(const batch *b, const unsigned char id[16]) {
  size_t low = 0, high = b->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    union {
      const trilha_event_row *in;
      void *out;
    } rows = {b->rows};
    int order = id_against_position(id, &b->order[middle], rows.out);
    if (order == 0) return b->first[b->order[middle]];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return SIZE_MAX;
}

/* What was in the log before: a second round trip, only when there is such a row. Committed rows never change, so any
 * later snapshot tells them. */
static trilha_status fill_present(trilha_pg_connection *c, const batch *b, size_t missing, trilha_deadline deadline,
                                  trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  add_missing(b, missing, &p);
  TRILHA_PG_RESULT_SCOPED *answer = NULL;
  trilha_pg_reach reach;
  const trilha_pg_step step = {.sql = trilha_sql_postgres_events_by_ids, .parameters = &p};
  trilha_status status = trilha_pg_run(c, &step, 1, deadline, &answer, &reach, err);
  if (status != TRILHA_OK) return status;
  for (int i = 0; i < PQntuples(answer); i++) {
    trilha_event_row row;
    trilha_pg_get_event(answer, i, &row);
    size_t at = position_of(b, row.event_id);
    TRILHA_ASSERT(at != SIZE_MAX);
    if (!copy_texts(b->arena, &row)) return trilha_error_no_memory(err);
    b->results[at].row = row;
  }
  if ((size_t)PQntuples(answer) == missing) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_CORRUPT, "STORE_CORRUPT",
                          "the log neither stored nor holds an event it was given");
}

static void fill_repeats(const batch *b) {
  for (size_t i = 0; i < b->count; i++)
    if (b->first[i] != i) b->results[i] = (trilha_append_result){.stored = false, .row = b->results[b->first[i]].row};
}

/* --- alone or not --------------------------------------------------------------------------------------------- */

/* One's own numbers follow on each other as long as nobody else publishes. Alone, the commit may wait for the disk
 * under the turn: one transaction instead of two. One number of somebody else's, and the turn is given back first
 * again. */
static bool is_alone(const trilha_pg_store *s) {
  return s->undisturbed >= TRILHA_PG_ALONE_AFTER;
}

static void learn_company(trilha_pg_store *s, const batch *b) {
  int64_t first = 0, last = 0;
  for (size_t i = 0; i < b->sent_count; i++) {
    const trilha_append_result *result = &b->results[b->sent[i]];
    if (!result->stored) continue;
    if (first == 0) first = result->row.sequence_number;
    last = result->row.sequence_number; /* numbers rise within a batch */
  }
  if (first == 0) return; /* nothing stored, nothing learned */
  s->undisturbed = first == s->last_appended + 1 ? s->undisturbed + 1 : 0;
  s->last_appended = last;
}

/* --- the exchange ---------------------------------------------------------------------------------------------- */

/* The commit lies inside the call. An error that says what is wrong with the batch came before it; a cancellation, a
 * shutdown or a lack of memory may have come after it. */
static trilha_status judge_outcome(trilha_status status, trilha_pg_reach reach, trilha_error *err) {
  if (reach == TRILHA_PG_NOT_SENT) return status;
  const char *sqlstate = err->sqlstate;
  bool ambiguous = reach == TRILHA_PG_LOST || strncmp(sqlstate, "57", 2) == 0 || strncmp(sqlstate, "08", 2) == 0 ||
                   strcmp(sqlstate, "53200") == 0;
  if (!ambiguous) return status;
  trilha_error cause = *err;
  trilha_error_clear(err);
  trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "STORE_COMMIT_UNKNOWN",
                   "the answer to a commit was lost (%s): repeat with the same event_id to find out", cause.text);
  memcpy(err->sqlstate, cause.sqlstate, sizeof err->sqlstate);
  return TRILHA_OUTCOME_UNKNOWN;
}

/* A session of one's own is settled by its first append. Behind a pooler each transaction may meet another session. */
static trilha_status choose_manner(const trilha_pg_store *s, const trilha_pg_connection *c, trilha_deadline deadline,
                                   manner *m, trilha_error *err) {
  int64_t wait_ms = trilha_deadline_left_ms(deadline, s->lock_timeout_ms);
  if (wait_ms == 0) return trilha_error_set(err, TRILHA_TIMEOUT, "STORE_TIMEOUT", "no time was left to append");
  bool long_enough = wait_ms + TRILHA_PG_LOCK_SLACK_MS >= s->lock_timeout_ms;
  *m = (manner){.durable = s->durable, .flush_late = s->durable && !is_alone(s), .stay = !c->pooled && long_enough};
  if (!c->settled || !long_enough) m->lock_timeout_ms = m->stay ? s->lock_timeout_ms : wait_ms;
  return TRILHA_OK;
}

typedef struct appended {
  int64_t largest; /* of the numbers given; 0: nothing was stored */
  int64_t registry_revision;
} appended;

static trilha_status exchange_batch(trilha_pg_store *s, trilha_pg_connection *c, const batch *b,
                                    trilha_deadline deadline, appended *ret, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  manner m = {0};
  trilha_status status = choose_manner(s, c, deadline, &m, err);
  if (status != TRILHA_OK) return status;
  const bool one = b->sent_count == 1;
  if (one)
    add_one(&b->rows[b->sent[0]], &m, &p);
  else
    add_batch(b, &m, &p);
  TRILHA_PG_RESULT_SCOPED *answer = NULL;
  trilha_pg_reach reach;
  const trilha_pg_step step = {.sql = one ? trilha_sql_postgres_event_append_one : trilha_sql_postgres_event_append,
                               .parameters = &p};
  status = trilha_pg_run(c, &step, 1, deadline, &answer, &reach, err);
  if (status != TRILHA_OK) return judge_outcome(status, reach, err);
  if (m.stay) c->settled = true;
  size_t missing = 0;
  status = one ? fill_one(b, answer, &missing, err) : fill_stored(b, answer, &missing, err);
  if (TRILHA_FAULT("postgres.append.after_answer")) status = trilha_error_set(err, TRILHA_IO, "FAULT", "fault point");
  if (status == TRILHA_OK) learn_company(s, b);
  if (status == TRILHA_OK && missing > 0) status = fill_present(c, b, missing, deadline, err);
  if (status != TRILHA_OK) { /* stored, but we cannot tell what: the same for the caller as not knowing */
    trilha_error_while(err, "reading back what was appended");
    return status == TRILHA_CORRUPT ? status : judge_outcome(status, TRILHA_PG_LOST, err);
  }
  ret->largest = missing < b->sent_count ? s->last_appended : 0;
  ret->registry_revision = trilha_pg_get_i64(answer, 0, one ? 2 : 3);
  return TRILHA_OK;
}

trilha_status trilha_pg_append(trilha_store *store, const trilha_event_row *rows, size_t count,
                               trilha_deadline deadline, trilha_arena *arena, trilha_append_result *results,
                               int64_t *ret_registry_revision, trilha_error *err) {
  trilha_pg_store *s = trilha_pg_of(store);
  trilha_error unheard = {0}; /* judge_outcome reads it */
  if (err == NULL) err = &unheard;
  batch b = {.rows = rows, .count = count, .results = results, .arena = arena};
  TRILHA_ASSERT(count > 0);
  if (!find_firsts(&b)) return trilha_error_no_memory(err);
  trilha_pg_connection *c = NULL;
  trilha_status status = trilha_pg_take_writer(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  appended done = {0};
  if (TRILHA_FAULT("postgres.append.before_send"))
    status = trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", "fault point");
  else
    status = exchange_batch(s, c, &b, deadline, &done, err);
  trilha_pg_give_back(s, c);
  if (status != TRILHA_OK) return status;
  fill_repeats(&b);
  *ret_registry_revision = done.registry_revision;
  trilha_pg_learn_durable(s, done.largest);
  trilha_pg_signals_stored(s->signals, done.largest);
  return TRILHA_OK;
}
