/* fuzz: rows that stand in the store though Trilha would never have written them, read through every door. Each call
 * ends with OK and whole texts, or with an error that says what is wrong; nothing crashes and nothing loops.
 *
 * The input is rows separated by 0x1E, fields of a row by 0x1F. The first byte of a row says its table: e event, d dead
 * letter, t type version, c cursor of the colony. A field that is "\1" is NULL; one that is absent has a value that
 * Trilha would write. CHECK constraints are off; what SQLite holds anyway (types of STRICT tables, unique ids) stays.
 */
#include <string.h>

#include <sqlite3.h>

#include "fuzz/fuzz.h"
#include "fuzz/store.h"
#include "json/json.h"
#include "trilha/delivery.h"

enum { ROWS_MAX = 8, FIELDS_MAX = 20, CONSUMED_MAX = 64 };

#define ID      "00000000-0000-4000-8000-00000000000"
#define INSTANT "2026-06-15T10:30:00.25Z"
#define COLONY  "colonia"

typedef struct field {
  const char *column, *usual;
} field;

static const field EVENT[] = {{"event_id", ID "1"},
                              {"tipo", "free"},
                              {"versao_schema", "1.0.0"},
                              {"timestamp", INSTANT},
                              {"origem", "o"},
                              {"correlacao_id", ID "1"},
                              {"payload", "{}"},
                              {"criado_em", INSTANT},
                              {"tenant_id", NULL},
                              {"company_id", NULL},
                              {"aggregate_type", NULL},
                              {"aggregate_key", NULL},
                              {"aggregate_sequence", NULL},
                              {"causation_id", NULL},
                              {"traceparent", NULL},
                              {"tracestate", NULL},
                              {"digest", NULL},
                              {NULL, NULL}};
static const field LETTER[] = {{"event_id", ID "1"},   {"sequence_number", "1"},      {"colonia", COLONY},
                               {"handler_nome", "h"},  {"mensagem_erro", "m"},        {"pilha_erro", NULL},
                               {"tentativas", "1"},    {"ultima_tentativa", INSTANT}, {"status", "pendente"},
                               {"criado_em", INSTANT}, {"resolvido_em", NULL},        {NULL, NULL}};
static const field TYPE[] = {{"tipo", "stored"}, {"versao", "1.0.0"},    {"descricao", NULL}, {"status", "ativo"},
                             {"schema", "{}"},   {"criado_em", INSTANT}, {NULL, NULL}};

/* --- behind Trilha's back ------------------------------------------------------------------------------------------
 */

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  int rc = sqlite3_exec(db, sql, NULL, NULL, &message);
  if (rc != SQLITE_OK) fprintf(stderr, "%s: %s\n", sql, message);
  CHECK(rc == SQLITE_OK);
}

static sqlite3 *raw(void) {
  static sqlite3 *db;
  if (db != NULL) return db;
  CHECK(sqlite3_open_v2(fuzz_store_path(), &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
  sqlite3_busy_timeout(db, 10000);
  run(db, "PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF");
  run(db,
      "DROP TRIGGER core_event_log_refuse_delete; DROP TRIGGER core_event_log_refuse_disorder;"
      "DROP TRIGGER core_event_log_refuse_replace");
  return db;
}

static void empty(sqlite3 *db) {
  run(db,
      "BEGIN IMMEDIATE; DELETE FROM core_dead_letter_lease; DELETE FROM core_dead_letter_queue; DELETE FROM "
      "core_event_log;"
      "DELETE FROM core_event_type_version WHERE tipo NOT IN ('t', 'free'); DELETE FROM core_consumer_lease;"
      "DELETE FROM sqlite_sequence WHERE name = 'core_event_log'; UPDATE core_registry_revision SET revision = "
      "revision + 1;"
      "COMMIT");
}

static trilha_text cut(trilha_text *rest, char at) {
  const char *end = trilha_text_find(*rest, at);
  size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
  trilha_text part = {rest->data, size};
  size += end != NULL;
  *rest = (trilha_text){rest->data + size, rest->size - size};
  return part;
}

static void insert(sqlite3 *db, const char *table, const field *fields, trilha_text given) {
  TRILHA_BUFFER_SCOPED sql = {0};
  TRILHA_BUFFER_SCOPED marks = {0};
  for (const field *f = fields; f->column != NULL; f++) {
    trilha_buffer_add_format(&sql, f == fields ? "INSERT INTO %s (%s" : "%s, %s", f == fields ? table : "", f->column);
    trilha_buffer_add_string(&marks, f == fields ? "?" : ",?");
  }
  trilha_buffer_add_format(&sql, ") VALUES (%s)", marks.data);
  sqlite3_stmt *statement = NULL;
  CHECK(sqlite3_prepare_v2(db, sql.data, -1, &statement, NULL) == SQLITE_OK);
  bool some = given.size > 0;
  for (int i = 0; fields[i].column != NULL; i++) {
    trilha_text value = some ? cut(&given, '\x1F') : trilha_text_of(fields[i].usual);
    bool null = value.data == NULL || (value.size == 1 && value.data[0] == '\1');
    if (!null) sqlite3_bind_text(statement, i + 1, value.data, (int)value.size, SQLITE_TRANSIENT);
    some = some && given.size > 0;
  }
  (void)sqlite3_step(statement); /* what STRICT, NOT NULL or a unique index refuses is not there */
  sqlite3_finalize(statement);
}

static void put_rows(sqlite3 *db, trilha_text rows) {
  for (int i = 0; i < ROWS_MAX && rows.size > 0; i++) {
    trilha_text row = cut(&rows, '\x1E');
    trilha_text fields = row.size == 0 ? row : (trilha_text){row.data + 1, row.size - 1};
    if (row.size == 0) continue;
    if (row.data[0] == 'e') insert(db, "core_event_log", EVENT, fields);
    if (row.data[0] == 'd') insert(db, "core_dead_letter_queue", LETTER, fields);
    if (row.data[0] == 't') insert(db, "core_event_type_version", TYPE, fields);
  }
}

/* --- through every door --------------------------------------------------------------------------------------------
 */

/* An error keeps its first cause: it is emptied for the next call. */
static bool held(trilha_status status, trilha_error *err) {
  CHECK(status == TRILHA_OK || (err->status == status && err->code[0] != '\0' && err->text[0] != '\0'));
  CHECK(status != TRILHA_INTERNAL);
  *err = (trilha_error){0};
  return status == TRILHA_OK;
}

static void check_text(const char *text) {
  CHECK(text == NULL || trilha_utf8_valid(text, strlen(text)));
}

static void check_event(const trilha_event *e) {
  const char *const texts[] = {e->event_id,       e->tipo,          e->versao_schema, e->timestamp,   e->origem,
                               e->correlacao_id,  e->payload,       e->criado_em,     e->tenant_id,   e->company_id,
                               e->aggregate_type, e->aggregate_key, e->causation_id,  e->traceparent, e->tracestate};
  CHECK(e->event_id != NULL && e->tipo != NULL && e->timestamp != NULL && e->payload != NULL && e->criado_em != NULL);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_text(texts[i]);
  char *json = NULL;
  size_t size = 0;
  trilha_error err = {0};
  if (!held(trilha_event_to_json(e, &json, &size, &err), &err)) return;
  CHECK(trilha_utf8_valid(json, size));
  trilha_free(json);
}

static trilha_status on_event(void *user, const trilha_event *event, trilha_error *error) {
  (void)user, (void)error;
  check_event(event);
  return TRILHA_OK;
}

static void read_log(trilha *handle) {
  trilha_error err = {0};
  trilha_events_filter filter = {.limite = 500};
  trilha_events_page *page = NULL;
  if (held(trilha_events_query(handle, &filter, &page, &err), &err)) {
    for (size_t i = 0; i < page->count; i++) check_event(&page->linhas[i]);
    trilha_events_page_free(page);
  }
  if (held(trilha_events_trace(handle, trilha_text_of(ID "1"), &page, &err), &err)) trilha_events_page_free(page);
  trilha_event *event = NULL;
  if (held(trilha_event_get(handle, trilha_text_of(ID "1"), &event, &err), &err)) {
    check_event(event);
    trilha_event_free(event);
  }
  trilha_replayed *replayed = NULL;
  if (held(trilha_replay(handle, 0, NULL, 0, &replayed, &err), &err)) trilha_replayed_free(replayed);
  trilha_stream_options stream = {0};
  int64_t cursor = 0;
  (void)held(trilha_replay_stream(handle, &stream, on_event, NULL, &cursor, &err), &err);
  char id[37];
  (void)held(trilha_last_event_id(handle, id, &err), &err);
  (void)held(trilha_last_sequence(handle, &cursor, &err), &err);
}

static trilha_status on_delivery(void *user, const trilha_event *event, trilha_delivery *delivery) {
  int *count = user;
  check_event(event);
  CHECK(++*count <= CONSUMED_MAX);
  return *count % 2 == 0 ? TRILHA_OK : trilha_delivery_fail(delivery, "no: %s", event->payload);
}

static void read_letters(trilha *handle) {
  trilha_error err = {0};
  trilha_dead_letters_filter filter = {.limite = 500};
  trilha_dead_letters *letters = NULL;
  trilha_dead_letter_statistics *statistics = NULL;
  trilha_reprocessed reprocessed;
  int delivered = 0;
  if (held(trilha_dead_letters_query(handle, &filter, &letters, &err), &err)) {
    for (size_t i = 0; i < letters->count; i++) {
      check_text(letters->items[i].mensagem_erro);
      check_text(letters->items[i].pilha_erro);
      check_text(letters->items[i].colonia);
      (void)held(trilha_dead_letter_retry(handle, letters->items[i].id, trilha_text_of("u"), trilha_text_of("r"), &err),
                 &err);
    }
    trilha_dead_letters_free(letters);
  }
  if (held(trilha_dead_letter_stats(handle, &statistics, &err), &err)) trilha_dead_letter_statistics_free(statistics);
  (void)held(trilha_reprocess_with(handle, trilha_text_of(COLONY), NULL, 0, trilha_text_of("h"), on_delivery,
                                   &delivered, &reprocessed, &err),
             &err);
}

static void read_registry(trilha *handle) {
  trilha_error err = {0};
  trilha_registered_types *types = NULL;
  trilha_publish_result result;
  trilha_publication p = {
      .tipo = trilha_text_of("stored"), .origem = trilha_text_of("o"), .payload = trilha_text_of("{\"n\":1}")};
  if (held(trilha_registry_list(handle, (trilha_text){0}, &types, &err), &err)) trilha_registered_types_free(types);
  (void)held(trilha_publish(handle, &p, &result, &err), &err);
  trilha_publish_result_done(&result);
  p.tipo = trilha_text_of("free");
  p.event_id = trilha_text_of(ID "1"); /* the stored row is compared with it */
  (void)held(trilha_publish(handle, &p, &result, &err), &err);
  trilha_publish_result_done(&result);
}

static void consume(trilha *handle) {
  const trilha_text types[] = {trilha_text_of("free"), trilha_text_of("stored")};
  int delivered = 0;
  trilha_consumer_options options = {.colonia = trilha_text_of(COLONY),
                                     .types = types,
                                     .type_count = 2,
                                     .handler = on_delivery,
                                     .user = &delivered,
                                     .from = TRILHA_FROM_START,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  if (!held(trilha_consumer_new(handle, &options, &consumer, &err), &err)) return;
  (void)held(trilha_consumer_run(consumer, &err), &err);
  trilha_consumer_free(consumer);
}

void trilha_fuzz(const char *data, size_t size) {
  trilha *handle = fuzz_store_open();
  sqlite3 *db = raw();
  if (size == 0) return;
  empty(db);
  run(db, "BEGIN IMMEDIATE");
  put_rows(db, (trilha_text){data + 1, size - 1});
  run(db, "COMMIT");
  read_log(handle);
  read_letters(handle);
  read_registry(handle);
  if (data[0] == 'c') consume(handle);
}
