/* store/postgres: reading the log. Each read is one snapshot and one round trip; results are fetched whole and the
 * connection is given back before anything is shown, so a slow visitor holds neither. */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "postgres_internal.h"

static bool any_planned_anew(const trilha_pg_step *queries, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (queries[i].plan_anew) return true;
  return false;
}

static void add_settings(trilha_pg_parameters *p, trilha_deadline deadline, int64_t lock_timeout_ms, bool anew) {
  bool bounded = deadline.monotonic_ns != TRILHA_NO_DEADLINE.monotonic_ns;
  int64_t left = bounded ? trilha_deadline_left_ms(deadline, INT32_MAX) : 0; /* 0: none */
  trilha_pg_add_i64(p, bounded && left == 0 ? 1 : left);
  trilha_pg_add_i64(p, lock_timeout_ms);
  trilha_pg_add_text(p, trilha_text_of(trilha_pg_plan_mode(anew)));
}

trilha_status trilha_pg_read(trilha_pg_store *s, const trilha_pg_step *queries, size_t count, trilha_deadline deadline,
                             PGresult **ret_results, trilha_error *err) {
  enum { BEFORE = 2, AFTER = 2 }; /* begin, settings; whether all of it is on disk, commit */
  const size_t all = BEFORE + count + AFTER;
  TRILHA_ASSERT(all <= TRILHA_PG_STEPS_MAX);
  TRILHA_PG_PARAMETERS_SCOPED settings;
  trilha_pg_parameters_init(&settings);
  trilha_pg_connection *c = NULL;
  trilha_status status = trilha_pg_take_reader(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  add_settings(&settings, deadline, s->lock_timeout_ms, any_planned_anew(queries, count));
  trilha_pg_step steps[TRILHA_PG_STEPS_MAX] = {
      {.sql = trilha_sql_postgres_transaction_begin_read},
      {.sql = trilha_sql_postgres_transaction_settings, .parameters = &settings}};
  memcpy(steps + BEFORE, queries, count * sizeof *queries);
  steps[BEFORE + count] = (trilha_pg_step){.sql = trilha_sql_postgres_log_position};
  steps[BEFORE + count + 1] = (trilha_pg_step){.sql = trilha_sql_postgres_transaction_commit};
  PGresult *results[TRILHA_PG_STEPS_MAX] = {NULL};
  trilha_pg_reach reach;
  status = trilha_pg_run(c, steps, all, deadline, results, &reach, err);
  if (status == TRILHA_OK)
    status = trilha_pg_show_durable(s, c, results + BEFORE, count, trilha_pg_get_i64(results[BEFORE + count], 0, 0),
                                    deadline, err);
  trilha_pg_give_back(s, c);
  for (size_t i = 0; i < all; i++) {
    if (status == TRILHA_OK && i >= BEFORE && i < BEFORE + count)
      ret_results[i - BEFORE] = results[i];
    else
      trilha_pg_clear(&results[i]);
  }
  return status;
}

static trilha_status visit_rows(const PGresult *result, trilha_event_visit visit, void *user, trilha_error *err) {
  for (int i = 0; i < PQntuples(result); i++) {
    trilha_event_row row;
    trilha_pg_get_event(result, i, &row);
    trilha_status status = visit(user, &row, err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

trilha_status trilha_pg_event_by_id(trilha_store *store, const unsigned char event_id[16], trilha_deadline deadline,
                                    trilha_event_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_array_begin(&p, TRILHA_PG_UUID, 1);
  trilha_pg_element_uuid(&p, event_id);
  trilha_pg_array_end(&p);
  const trilha_pg_step query = {.sql = trilha_sql_postgres_events_by_ids, .parameters = &p};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  return PQntuples(result) == 0 ? TRILHA_NOT_FOUND : visit_rows(result, visit, user, err);
}

/* --- queries ------------------------------------------------------------------------------------------------ */

static void add_optional_time(trilha_pg_parameters *p, bool has, int64_t us) {
  if (has)
    trilha_pg_add_time(p, us);
  else
    trilha_pg_add_null(p, TRILHA_PG_TIMESTAMPTZ);
}

static void add_optional_i64(trilha_pg_parameters *p, bool has, int64_t value) {
  if (has)
    trilha_pg_add_i64(p, value);
  else
    trilha_pg_add_null(p, TRILHA_PG_INT8);
}

static void add_filter(trilha_pg_parameters *p, const trilha_event_filter *f) {
  trilha_pg_add_text(p, f->tipo);
  trilha_pg_add_text(p, f->origem);
  if (f->has_correlacao_id)
    trilha_pg_add_uuid(p, f->correlacao_id);
  else
    trilha_pg_add_null(p, TRILHA_PG_UUID);
  add_optional_time(p, f->has_timestamp_inicio, f->timestamp_inicio_us);
  add_optional_time(p, f->has_timestamp_fim, f->timestamp_fim_us);
  add_optional_i64(p, f->has_sequence_inicio, f->sequence_inicio);
  add_optional_i64(p, f->has_sequence_fim, f->sequence_fim);
}

static bool index_gives_the_order(const trilha_event_filter *f) {
  return f->origem.data == NULL && !f->has_correlacao_id && !f->has_timestamp_inicio && !f->has_timestamp_fim;
}

/* A page from some place on in the order of the log, as replays read it: one plan for all values, kept. */
static bool is_stretch(const trilha_event_filter *f, int64_t offset) {
  return index_gives_the_order(f) && f->tipo.data == NULL && !f->has_sequence_fim && offset == 0;
}

static trilha_pg_step page_step(const trilha_event_filter *f, int64_t limit, int64_t offset, trilha_pg_parameters *p) {
  if (is_stretch(f, offset)) {
    trilha_pg_add_i64(p, f->has_sequence_inicio && f->sequence_inicio > 0 ? f->sequence_inicio - 1 : 0);
    trilha_pg_add_i64(p, limit);
    return (trilha_pg_step){.sql = trilha_sql_postgres_events_after, .parameters = p};
  }
  add_filter(p, f);
  trilha_pg_add_i64(p, limit);
  trilha_pg_add_i64(p, offset);
  return (trilha_pg_step){.sql = index_gives_the_order(f) ? trilha_sql_postgres_events_page_in_order
                                                          : trilha_sql_postgres_events_page_filtered,
                          .parameters = p,
                          .plan_anew = true};
}

static trilha_pg_step count_step(const trilha_event_filter *f, trilha_pg_parameters *p) {
  if (is_stretch(f, 0) && !f->has_sequence_inicio) return (trilha_pg_step){.sql = trilha_sql_postgres_events_count_all};
  add_filter(p, f);
  return (trilha_pg_step){.sql = trilha_sql_postgres_events_count, .parameters = p, .plan_anew = true};
}

trilha_status trilha_pg_events_query(trilha_store *store, const trilha_event_filter *filter, int64_t limit,
                                     int64_t offset, trilha_deadline deadline, trilha_event_visit visit, void *user,
                                     int64_t *ret_total, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED count;
  TRILHA_PG_PARAMETERS_SCOPED page;
  trilha_pg_parameters_init(&count);
  trilha_pg_parameters_init(&page);
  const trilha_pg_step queries[] = {page_step(filter, limit, offset, &page),
                                    {.sql = trilha_sql_postgres_transaction_free_plans},
                                    count_step(filter, &count)};
  PGresult *results[3];
  size_t asked = ret_total == NULL ? 1 : 3;
  trilha_status status = trilha_pg_read(trilha_pg_of(store), queries, asked, deadline, results, err);
  if (status != TRILHA_OK) return status;
  if (ret_total != NULL) *ret_total = trilha_pg_get_i64(results[2], 0, 0);
  status = visit_rows(results[0], visit, user, err);
  for (size_t i = 0; i < asked; i++) trilha_pg_clear(&results[i]);
  return status;
}

/* --- following ------------------------------------------------------------------------------------------------ */

int64_t trilha_pg_ask_rows(trilha_pg_store *s, int64_t limit) {
  pthread_mutex_lock(&s->lock);
  int64_t rows = s->page_rows;
  pthread_mutex_unlock(&s->lock);
  return limit < rows ? limit : rows;
}

/* Rows of a payload are bounded at about 2 MiB, a page at 1,000 rows: memory is bounded by asking for fewer of big
 * ones. */
void trilha_pg_learn_row_size(trilha_pg_store *s, const PGresult *result) {
  int rows = PQntuples(result);
  if (rows == 0) return;
  int64_t bytes = 0;
  for (int i = 0; i < rows; i++) bytes += PQgetlength(result, i, 7);
  int64_t fitting = (int64_t)TRILHA_PG_PAGE_BYTES_AIM * rows / (bytes + 1);
  fitting = fitting < 1 ? 1 : fitting;
  pthread_mutex_lock(&s->lock);
  int64_t most = 4 * s->page_rows; /* a run of small rows says little about the next */
  s->page_rows = fitting < most ? fitting : most;
  pthread_mutex_unlock(&s->lock);
}

static void add_types(trilha_pg_parameters *p, const trilha_text *types, size_t count) {
  trilha_pg_array_begin(p, TRILHA_PG_TEXT, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_text(p, types[i]);
  trilha_pg_array_end(p);
}

/* One page: rows, and (with types) the largest sequence of the same snapshot. */
static trilha_status read_page(trilha_pg_store *s, int64_t after, const trilha_text *types, size_t type_count,
                               int64_t rows, trilha_deadline deadline, PGresult **ret_rows, int64_t *ret_last,
                               trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, after);
  trilha_pg_add_i64(&p, rows);
  if (type_count > 0) add_types(&p, types, type_count);
  const char *sql = type_count > 0 ? trilha_sql_postgres_events_after_of_types : trilha_sql_postgres_events_after;
  const trilha_pg_step queries[] = {{.sql = sql, .parameters = &p}, {.sql = trilha_sql_postgres_events_last}};
  PGresult *results[2] = {NULL, NULL};
  trilha_status status = trilha_pg_read(s, queries, type_count > 0 ? 2 : 1, deadline, results, err);
  if (status != TRILHA_OK) return status;
  *ret_rows = results[0];
  *ret_last = 0;
  if (results[1] != NULL) {
    if (PQntuples(results[1]) > 0) *ret_last = trilha_pg_get_i64(results[1], 0, 0);
    trilha_pg_clear(&results[1]);
  }
  return TRILHA_OK;
}

trilha_status trilha_pg_events_after(trilha_store *store, int64_t after, const trilha_text *types, size_t type_count,
                                     int64_t limit, trilha_deadline deadline, trilha_event_visit visit, void *user,
                                     int64_t *ret_scanned_to, trilha_error *err) {
  trilha_pg_store *s = trilha_pg_of(store);
  *ret_scanned_to = after;
  for (int64_t left = limit; left > 0;) {
    TRILHA_PG_RESULT_SCOPED *rows = NULL;
    int64_t last = 0, asked = trilha_pg_ask_rows(s, left);
    trilha_status status = read_page(s, *ret_scanned_to, types, type_count, asked, deadline, &rows, &last, err);
    if (status != TRILHA_OK) return status;
    int got = PQntuples(rows);
    trilha_pg_learn_row_size(s, rows);
    status = visit_rows(rows, visit, user, err);
    if (status != TRILHA_OK) return status;
    if (got > 0) *ret_scanned_to = trilha_pg_get_i64(rows, got - 1, 0);
    if (got < asked) { /* nothing more of these types in that snapshot, and visible means complete */
      if (last > *ret_scanned_to) *ret_scanned_to = last;
      return TRILHA_OK;
    }
    left -= got;
  }
  return TRILHA_OK;
}

trilha_status trilha_pg_last_event(trilha_store *store, trilha_deadline deadline, int64_t *ret_sequence,
                                   unsigned char ret_event_id[16], bool *ret_any, trilha_error *err) {
  const trilha_pg_step query = {.sql = trilha_sql_postgres_events_last};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  *ret_any = PQntuples(result) > 0;
  *ret_sequence = *ret_any ? trilha_pg_get_i64(result, 0, 0) : 0;
  if (*ret_any) trilha_pg_get_uuid(result, 0, 1, ret_event_id);
  return TRILHA_OK;
}
