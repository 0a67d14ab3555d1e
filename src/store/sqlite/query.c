/* store/sqlite: the query with filters. Which index drives it is decided here, by the filters given, not by statistics.
 */
#include "base/uuid.h"
#include "store/sqlite/sqlite_internal.h"

/* Texts of a filter while it is bound. */
typedef struct filter_texts {
  char correlacao_id[37];
  char from[TRILHA_SQLITE_TIMESTAMP_SIZE], to[TRILHA_SQLITE_TIMESTAMP_SIZE];
} filter_texts;

typedef struct plan {
  trilha_sqlite_query count, list;
} plan;

static plan plan_of(const trilha_event_filter *f) {
  bool timed = f->has_timestamp_inicio || f->has_timestamp_fim;
  if (f->has_correlacao_id)
    return (plan){TRILHA_SQLITE_EVENTS_COUNT_BY_CORRELACAO, TRILHA_SQLITE_EVENTS_LIST_BY_CORRELACAO};
  if (f->tipo.data != NULL && timed)
    return (plan){TRILHA_SQLITE_EVENTS_COUNT_BY_TIPO_TIMESTAMP, TRILHA_SQLITE_EVENTS_LIST_BY_TIPO_TIMESTAMP};
  if (f->tipo.data != NULL) return (plan){TRILHA_SQLITE_EVENTS_COUNT_BY_TIPO, TRILHA_SQLITE_EVENTS_LIST_BY_TIPO};
  if (timed) return (plan){TRILHA_SQLITE_EVENTS_COUNT_BY_TIMESTAMP, TRILHA_SQLITE_EVENTS_LIST_BY_TIMESTAMP};
  if (f->origem.data != NULL) return (plan){TRILHA_SQLITE_EVENTS_COUNT_BY_ORIGEM, TRILHA_SQLITE_EVENTS_LIST_BY_ORIGEM};
  if (f->has_sequence_inicio || f->has_sequence_fim)
    return (plan){TRILHA_SQLITE_EVENTS_COUNT_BY_SEQUENCE, TRILHA_SQLITE_EVENTS_LIST_BY_SEQUENCE};
  return (plan){TRILHA_SQLITE_EVENTS_COUNT_ALL, TRILHA_SQLITE_EVENTS_LIST_BY_SEQUENCE};
}

/* Stored timestamps are multiples of 1/100 s: a finer bound selects the same rows once moved inwards to the next
 * multiple. Beyond the years that can be stored a bound is before ("") or after (":", which follows the digits)
 * everything. */
static void bound_text(int64_t us, bool upwards, char out[TRILHA_SQLITE_TIMESTAMP_SIZE]) {
  enum { CENTIS_US = 10000 };
  static const int64_t first_us = INT64_C(-62135596800000000), last_us = INT64_C(253402300799990000);
  if (us > last_us) {
    memcpy(out, ":", 2);
    return;
  }
  if (us < first_us) {
    memcpy(out, "", 1);
    return;
  }
  int64_t over = us % CENTIS_US;
  if (over < 0) over += CENTIS_US;
  us -= over;
  if (over != 0 && upwards) us += CENTIS_US;
  trilha_sqlite_timestamp(us, out);
}

static void bind_filter(sqlite3_stmt *s, const trilha_event_filter *f, filter_texts *texts) {
  enum { TIPO = 1, ORIGEM, CORRELACAO_ID, TIMESTAMP_FROM, TIMESTAMP_TO, SEQUENCE_FROM, SEQUENCE_TO };
  int last = sqlite3_bind_parameter_count(s);
  if (last == 0) return;
  trilha_sqlite_bind(s, TIPO, f->tipo);
  trilha_sqlite_bind(s, ORIGEM, f->origem);
  if (f->has_correlacao_id) {
    trilha_uuid_format(f->correlacao_id, texts->correlacao_id);
    trilha_sqlite_bind(s, CORRELACAO_ID, trilha_text_of(texts->correlacao_id));
  }
  if (f->has_timestamp_inicio) {
    bound_text(f->timestamp_inicio_us, true, texts->from);
    trilha_sqlite_bind(s, TIMESTAMP_FROM, trilha_text_of(texts->from));
  }
  if (f->has_timestamp_fim) {
    bound_text(f->timestamp_fim_us, false, texts->to);
    trilha_sqlite_bind(s, TIMESTAMP_TO, trilha_text_of(texts->to));
  }
  sqlite3_bind_int64(s, SEQUENCE_FROM, f->has_sequence_inicio ? f->sequence_inicio : INT64_MIN);
  sqlite3_bind_int64(s, SEQUENCE_TO, f->has_sequence_fim ? f->sequence_fim : INT64_MAX);
}

static trilha_status count_rows(trilha_sqlite_connection *c, trilha_sqlite_query query, const trilha_event_filter *f,
                                int64_t *ret_total, trilha_error *err) {
  sqlite3_stmt *statement = NULL;
  filter_texts texts;
  bool any = false;
  trilha_status status = trilha_sqlite_prepare(c, query, &statement, err);
  if (status != TRILHA_OK) return status;
  bind_filter(statement, f, &texts);
  return trilha_sqlite_value(c, statement, ret_total, &any, err);
}

static trilha_status list_rows(trilha_sqlite_connection *c, trilha_sqlite_query query, const trilha_event_filter *f,
                               int64_t limit, int64_t offset, trilha_buffer *numbers, trilha_error *err) {
  enum { LIMIT = 8, OFFSET = 9 };
  sqlite3_stmt *statement = NULL;
  filter_texts texts;
  trilha_status status = trilha_sqlite_prepare(c, query, &statement, err);
  if (status != TRILHA_OK) return status;
  bind_filter(statement, f, &texts);
  sqlite3_bind_int64(statement, LIMIT, limit);
  sqlite3_bind_int64(statement, OFFSET, offset);
  for (;;) {
    bool row = false;
    status = trilha_sqlite_step(c, statement, &row, err);
    if (status != TRILHA_OK || !row) break;
    int64_t number = sqlite3_column_int64(statement, 0);
    trilha_buffer_append(numbers, &number, sizeof number);
  }
  return status == TRILHA_OK ? trilha_buffer_check(numbers, err) : status;
}

trilha_status trilha_sqlite_events_query(trilha_store *store, const trilha_event_filter *filter, int64_t limit,
                                         int64_t offset, trilha_deadline deadline, trilha_event_visit visit, void *user,
                                         int64_t *ret_total, trilha_error *err) {
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  plan p = plan_of(filter);
  TRILHA_BUFFER_SCOPED numbers = {0};
  int64_t total = INT64_MAX; /* not counted: as if there were rows enough */
  if (ret_total != NULL) status = count_rows(c, p.count, filter, &total, err);
  if (status == TRILHA_OK && limit > 0 && offset < total)
    status = list_rows(c, p.list, filter, limit, offset < 0 ? 0 : offset, &numbers, err);
  trilha_sqlite_read_end(s, c);
  /* The rows themselves never change, so they are read after this snapshot. */
  size_t found = numbers.size / sizeof(int64_t);
  if (status == TRILHA_OK && found > 0)
    status = trilha_sqlite_deliver(s, (const int64_t *)(const void *)numbers.data, found, deadline, visit, user, err);
  if (status == TRILHA_OK && ret_total != NULL) *ret_total = total;
  return status;
}
