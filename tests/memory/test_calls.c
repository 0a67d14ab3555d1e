/* memory: the Nth allocation fails, for every public call on both stores. Each call answers an error or does without,
 * gives everything back, leaves the store whole, and succeeds when it is made again on the same handle. On SQLite the
 * allocations of the database library fail as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "base/text.h"
#include "conformance/publishing.h"
#include "support/failing_heap.h"
#include "trilha/delivery.h"

/* No call needs more; a loop that never ends is a fault of its own. */
enum { ALLOCATIONS_MAX = 20000, ATTEMPTS_MAX = 1000000000 };
/* Ours alone, and SQLite's too; from the Nth on, and the Nth alone. SQLite makes thousands of allocations, and a
 * turn on PostgreSQL takes long: the short form takes some of them. */
enum { WAYS = 4, SQLITE_STEP = 89, POSTGRES_STEP = 13 };
/* A consumer that had no memory for the answer to its lease waits for its end. */
enum { LEASE_MS = 1000 };

typedef struct bench {
  trilha_fixture *fixture;
  trilha *handle;
  unsigned number;           /* of the call, and */
  int64_t turn;              /* of its runs: they make ids of its own */
  char event_id[37];         /* of this turn */
  int64_t letter;            /* an open dead letter, where the call needs one */
  int64_t sequence;          /* of the event of this turn */
  bool handler_fails, again; /* again: made once more, after it failed */
  size_t handled;
} bench;

typedef struct call {
  const char *name;
  void (*before)(bench *b); /* with memory; may be NULL */
  trilha_status (*make)(bench *b, trilha_error *err);
  void (*after)(const bench *b, trilha_status status); /* what the answer says of the store is so; may be NULL */
  bool once_only; /* without any memory from some moment on it waits for better times */
  long step;      /* 0: every allocation of ours; else the short form takes every step-th of a slow call */
} call;

#define TIPO "memoria.ensaiada"

/* --- SQLite's own allocations ------------------------------------------------------------------------------ */

static sqlite3_mem_methods sqlite_heap;
static bool sqlite_may_fail;

static void *sqlite_malloc(int size) {
  return sqlite_may_fail && failing_heap_fails() ? NULL : sqlite_heap.xMalloc(size);
}

static void *sqlite_realloc(void *p, int size) {
  return sqlite_may_fail && failing_heap_fails() ? NULL : sqlite_heap.xRealloc(p, size);
}

static void let_sqlite_fail(void) {
  sqlite3_mem_methods methods;
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_heap) != SQLITE_OK) abort();
  methods = sqlite_heap;
  methods.xMalloc = sqlite_malloc;
  methods.xRealloc = sqlite_realloc;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK) abort();
}

/* --- the loop ---------------------------------------------------------------------------------------------- */

static trilha_options options_of(const bench *b) {
  return (trilha_options){.store_url = b->fixture->url,
                          .keyring = b->fixture->keyring,
                          .dead_letter_attempts_max = ATTEMPTS_MAX,
                          .unsafe_no_fsync = true};
}

static void open_bench(bench *b) {
  trilha_options options = options_of(b);
  trilha_error err = {0};
  if (trilha_open(&options, &b->handle, &err) != TRILHA_OK) fail_msg("open: %s: %s", err.code, err.text);
}

static void new_turn(bench *b) {
  b->turn++;
  snprintf(b->event_id, sizeof b->event_id, "%08x-0000-4000-8000-%012llx", b->number, (unsigned long long)b->turn);
  b->handler_fails = b->again = false;
}

/* An error that says what it is; a publish may also not know. */
static void expect_an_error(const call *c, long n, trilha_status status, const trilha_error *err) {
  bool known = status == TRILHA_NO_MEMORY || status == TRILHA_OUTCOME_UNKNOWN || status == TRILHA_UNAVAILABLE;
  bool undecided = status == TRILHA_LIMIT && strcmp(err->code, "SCHEMA_UNDECIDED") == 0;
  if (!(known || undecided) || err->status != status || err->code[0] == '\0' || err->text[0] == '\0')
    fail_msg("%s: allocation %ld failed and the answer was %d %s: %s", c->name, n, (int)status, err->code, err->text);
}

/* False when no failure was met. */
static bool one_turn(bench *b, const call *c, long n, bool once) {
  long held = failing_heap_held();
  open_bench(b);
  new_turn(b);
  if (c->before != NULL) c->before(b);
  trilha_error err = {0}, again = {0};
  failing_heap_arm(n, once);
  trilha_status status = c->make(b, &err);
  bool met = failing_heap_disarm();
  if (status != TRILHA_OK && !met) fail_msg("%s: %s: %s", c->name, err.code, err.text);
  if (c->after != NULL) c->after(b, status);
  if (status != TRILHA_OK) {
    expect_an_error(c, n, status, &err);
    b->again = true;
    if (c->make(b, &again) != TRILHA_OK)
      fail_msg("%s: after allocation %ld (%s): %s: %s", c->name, n, err.code, again.code, again.text);
  }
  trilha_close(b->handle);
  if (failing_heap_held() != held)
    fail_msg("%s: %ld blocks are left after allocation %ld failed", c->name, failing_heap_held() - held, n);
  return met;
}

static void expect_a_whole_store(const bench *b) {
  const trilha_fixture *f = b->fixture;
  assert_int_equal(trilha_fixture_count(f, "SELECT count(*) - count(DISTINCT event_id) FROM {log}"), 0);
  if (!f->is_postgres)
    assert_int_equal(
        trilha_fixture_count(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
}

/* How many allocations the short form goes on by. */
static long step_of(const call *c, const trilha_fixture *f) {
  long step = c->step == 0 ? 1 : c->step;
  return step * (sqlite_may_fail ? SQLITE_STEP : f->is_postgres ? POSTGRES_STEP : 1);
}

static void exhaust(void **state, const call *c, unsigned number) {
  bench b = {.fixture = *state, .number = number};
  trilha_fixture_register(b.fixture->handle, TIPO, "1.0.0", trilha_test_schema);
  bool thorough = getenv("TRILHA_TEST_THOROUGH") != NULL;
  long failures = 0;
  for (int way = 0; way < WAYS; way++) {
    bool once = way % 2 == 1;
    sqlite_may_fail = way >= 2;
    if ((!once && c->once_only) || (sqlite_may_fail && b.fixture->is_postgres)) continue;
    long step = thorough ? 1 : step_of(c, b.fixture);
    for (long n = 0; one_turn(&b, c, n, once); n += step) {
      if (n > ALLOCATIONS_MAX) fail_msg("%s never succeeds", c->name);
      failures++;
    }
  }
  expect_a_whole_store(&b);
  print_message("# %s: %ld failing allocations\n", c->name, failures);
  assert_true(failures > 0);
}

/* --- publishing -------------------------------------------------------------------------------------------- */

static trilha_publication publication_of(const bench *b) {
  return (trilha_publication){
      .tipo = TRILHA_TEXT(TIPO),
      .origem = TRILHA_TEXT("D-1a"),
      .payload =
          TRILHA_TEXT("{\"n\":1,\"texto\":\"Rua das Flores\",\"nome\":\"Ana\",\"peso\":61.25,\"canal\":\"app\"}"),
      .event_id = trilha_text_of(b->event_id),
      .aggregate_type = TRILHA_TEXT("demanda"),
      .aggregate_key = TRILHA_TEXT("42")};
}

/* How often the event of this turn is in the log. */
static int64_t stored(const bench *b) {
  char sql[160];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM {log} WHERE event_id = '%s'", b->event_id);
  return trilha_fixture_count(b->fixture, sql);
}

static trilha_status publish(bench *b, trilha_error *err) {
  trilha_publication p = publication_of(b);
  trilha_publish_result result;
  trilha_status status = trilha_publish(b->handle, &p, &result, err);
  if (status == TRILHA_OK) assert_string_equal(result.event->event_id, b->event_id);
  if (status == TRILHA_OK) b->sequence = result.event->sequence_number;
  if (status == TRILHA_OK) assert_int_not_equal(result.content, TRILHA_CONTENT_DIFFERENT);
  assert_int_equal(result.status, status);
  trilha_publish_result_done(&result);
  return status;
}

/* On OK it is there, on a plain refusal it is not. */
static void log_agrees(const bench *b, trilha_status status) {
  if (status == TRILHA_OK) assert_int_equal(stored(b), 1);
  if (status != TRILHA_OK && status != TRILHA_OUTCOME_UNKNOWN) assert_int_equal(stored(b), 0);
}

static trilha_status check(bench *b, trilha_error *err) {
  trilha_publication p = publication_of(b);
  trilha_publish_result result;
  trilha_status status = trilha_publish_check(b->handle, &p, &result, err);
  trilha_publish_result_done(&result);
  return status;
}

static void log_is_untouched(const bench *b, trilha_status status) {
  assert_int_equal(stored(b), 0);
}

static trilha_status publish_many(bench *b, trilha_error *err) {
  enum { COUNT = 3 };
  trilha_publication publications[COUNT];
  trilha_publish_result results[COUNT];
  for (int i = 0; i < COUNT; i++) publications[i] = publication_of(b);
  publications[1].event_id = publications[2].event_id = (trilha_text){0};
  trilha_status status = trilha_publish_many(b->handle, publications, COUNT, results, err);
  trilha_status first = TRILHA_OK;
  for (int i = COUNT - 1; i >= 0; i--)
    if (results[i].status != TRILHA_OK) first = results[i].status;
  assert_int_equal(status, first);
  for (int i = 0; i < COUNT; i++) trilha_publish_result_done(&results[i]);
  return status;
}

static trilha_status refused(bench *b, trilha_error *err) {
  trilha_publication p = publication_of(b);
  p.payload = TRILHA_TEXT("{\"n\":\"um\",\"canal\":\"fax\",\"sobra\":1}");
  trilha_publish_result result;
  trilha_status status = trilha_publish(b->handle, &p, &result, err);
  trilha_publish_result_done(&result);
  return status == TRILHA_INVALID ? TRILHA_OK : status;
}

/* --- delivery ---------------------------------------------------------------------------------------------- */

static trilha_status handle(void *user, const trilha_event *event, trilha_delivery *delivery) {
  bench *b = user;
  b->handled++;
  if (b->handler_fails) return trilha_delivery_fail(delivery, "falhou com %d", 42);
  return TRILHA_OK;
}

static void subscribe_with_memory(bench *b) {
  trilha_subscription s = {.tipo = TRILHA_TEXT(TIPO), .colonia = TRILHA_TEXT("D-4"), .handler = handle, .user = b};
  int64_t id = 0;
  assert_int_equal(trilha_subscribe(b->handle, &s, &id, NULL), TRILHA_OK);
}

static trilha_status subscribe(bench *b, trilha_error *err) {
  trilha_subscription s = {.tipo = TRILHA_TEXT(TIPO), .colonia = TRILHA_TEXT("D-4"), .handler = handle, .user = b};
  int64_t id = 0;
  trilha_status status = trilha_subscribe(b->handle, &s, &id, err);
  return status == TRILHA_OK ? trilha_unsubscribe(b->handle, id, err) : status;
}

static void publish_then_subscribe(bench *b) {
  assert_int_equal(publish(b, NULL), TRILHA_OK);
  subscribe_with_memory(b);
}

static void subscribe_a_failing_handler(bench *b) {
  subscribe_with_memory(b);
  b->handler_fails = true;
}

static trilha_status handle_by_publishing(void *user, const trilha_event *event, trilha_delivery *delivery) {
  bench *b = user;
  if (b->handled++ > 0) return TRILHA_OK; /* its own event comes here too */
  trilha_publication p = publication_of(b);
  p.event_id = (trilha_text){0};
  trilha_publish_result result;
  trilha_status status = trilha_delivery_publish(delivery, &p, &result, NULL);
  trilha_publish_result_done(&result);
  return status;
}

static void subscribe_a_publishing_handler(bench *b) {
  trilha_subscription s = {
      .tipo = TRILHA_TEXT(TIPO), .colonia = TRILHA_TEXT("D-5"), .handler = handle_by_publishing, .user = b};
  int64_t id = 0;
  b->handled = 0;
  assert_int_equal(trilha_subscribe(b->handle, &s, &id, NULL), TRILHA_OK);
}

static void publish_then_subscribe_a_failing_handler(bench *b) {
  publish_then_subscribe(b);
  b->handler_fails = true;
}

static trilha_status redeliver(bench *b, trilha_error *err) {
  trilha_event event = {.sequence_number = b->sequence,
                        .event_id = b->event_id,
                        .tipo = TIPO,
                        .versao_schema = "1.0.0",
                        .timestamp = "2026-01-01T00:00:00Z",
                        .origem = "D-1a",
                        .payload = "{\"n\":1}",
                        .payload_size = 7,
                        .criado_em = "2026-01-01T00:00:00Z"};
  return trilha_redeliver(b->handle, TRILHA_TEXT(TIPO), TRILHA_TEXT("D-4"), &event, err);
}

static void one_dead_letter(bench *b) {
  subscribe_a_failing_handler(b);
  assert_int_equal(publish(b, NULL), TRILHA_OK);
  b->handler_fails = false;
  trilha_dead_letters *found = NULL;
  trilha_dead_letters_filter filter = {.event_id = trilha_text_of(b->event_id)};
  assert_int_equal(trilha_dead_letters_query(b->handle, &filter, &found, NULL), TRILHA_OK);
  assert_int_equal(found->count, 1);
  b->letter = found->items[0].id;
  trilha_dead_letters_free(found);
}

static trilha_status reprocess(bench *b, trilha_error *err) {
  trilha_reprocessed done = {0};
  return trilha_reprocess(b->handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("ana"), 1, &done, err);
}

static trilha_status reprocess_chosen(bench *b, trilha_error *err) {
  trilha_reprocessed done = {0};
  return trilha_reprocess_with(b->handle, TRILHA_TEXT("D-4"), &b->letter, 1, TRILHA_TEXT("ver"), handle, b, &done, err);
}

static trilha_status query_letters(bench *b, trilha_error *err) {
  trilha_dead_letters *found = NULL;
  trilha_dead_letters_filter filter = {.colonia = TRILHA_TEXT("D-4"), .event_id = trilha_text_of(b->event_id)};
  trilha_status status = trilha_dead_letters_query(b->handle, &filter, &found, err);
  if (status != TRILHA_OK) return status;
  assert_int_equal(found->count, 1);
  trilha_dead_letters_free(found);
  return TRILHA_OK;
}

static trilha_status pending_letters(bench *b, trilha_error *err) {
  trilha_dead_letters *found = NULL;
  trilha_status status = trilha_dead_letters_pending(b->handle, TRILHA_TEXT("D-4"), &found, err);
  if (status == TRILHA_OK) trilha_dead_letters_free(found);
  return status;
}

static trilha_status count_letters(bench *b, trilha_error *err) {
  trilha_dead_letter_statistics *found = NULL;
  trilha_status status = trilha_dead_letter_stats(b->handle, &found, err);
  if (status == TRILHA_OK) trilha_dead_letter_statistics_free(found);
  return status;
}

/* The row is waiting, not failed for good: what the operator is told. */
static trilha_status retry_letter(bench *b, trilha_error *err) {
  trilha_status status =
      trilha_dead_letter_retry(b->handle, b->letter, TRILHA_TEXT("ana"), TRILHA_TEXT("consertado"), err);
  return status == TRILHA_CONFLICT ? TRILHA_OK : status;
}

static const trilha_text consumed[] = {{TIPO, sizeof TIPO - 1}};

static trilha_status consume(bench *b, trilha_error *err) {
  char group[24]; /* of its own: a lease that was not given back is waited for */
  snprintf(group, sizeof group, "g%lld%s", (long long)b->turn, b->again ? "b" : "");
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-7"),
                                     .grupo = trilha_text_of(group),
                                     .types = consumed,
                                     .type_count = 1,
                                     .handler = handle,
                                     .user = b,
                                     .from = TRILHA_FROM_START,
                                     .lease_ms = LEASE_MS,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  trilha_status status = trilha_consumer_new(b->handle, &options, &consumer, err);
  if (status != TRILHA_OK) return status;
  status = trilha_consumer_run(consumer, err);
  trilha_consumer_free(consumer);
  return status;
}

static void publish_with_memory(bench *b) {
  assert_int_equal(publish(b, NULL), TRILHA_OK);
}

static trilha_status list_consumers(bench *b, trilha_error *err) {
  trilha_consumer_states *states = NULL;
  trilha_status status = trilha_consumers_list(b->handle, TRILHA_TEXT("D-7"), &states, err);
  if (status == TRILHA_OK) trilha_consumer_states_free(states);
  return status;
}

static void consume_with_memory(bench *b) {
  publish_with_memory(b);
  assert_int_equal(consume(b, NULL), TRILHA_OK);
}

/* --- reading ----------------------------------------------------------------------------------------------- */

static trilha_status query(bench *b, trilha_error *err) {
  trilha_events_filter filter = {.tipo = TRILHA_TEXT(TIPO), .limite = 2};
  trilha_events_page *page = NULL;
  trilha_status status = trilha_events_query(b->handle, &filter, &page, err);
  if (status == TRILHA_OK) trilha_events_page_free(page);
  return status;
}

static trilha_status trace(bench *b, trilha_error *err) {
  trilha_events_page *page = NULL;
  trilha_status status = trilha_events_trace(b->handle, trilha_text_of(b->event_id), &page, err);
  if (status != TRILHA_OK) return status;
  assert_int_equal(page->count, 1);
  trilha_events_page_free(page);
  return TRILHA_OK;
}

static trilha_status get(bench *b, trilha_error *err) {
  trilha_event *event = NULL;
  char *json = NULL;
  trilha_status status = trilha_event_get(b->handle, trilha_text_of(b->event_id), &event, err);
  if (status != TRILHA_OK) return status;
  status = trilha_event_to_json(event, &json, NULL, err);
  if (status == TRILHA_OK) trilha_free(json);
  trilha_event_free(event);
  return status;
}

static trilha_status last(bench *b, trilha_error *err) {
  int64_t sequence = 0;
  char id[37];
  trilha_status status = trilha_last_sequence(b->handle, &sequence, err);
  if (status == TRILHA_OK) status = trilha_last_event_id(b->handle, id, err);
  if (status == TRILHA_OK) assert_string_equal(id, b->event_id);
  return status;
}

static trilha_status replay(bench *b, trilha_error *err) {
  trilha_replayed *replayed = NULL;
  trilha_status status = trilha_replay(b->handle, b->sequence - 1, consumed, 1, &replayed, err);
  if (status == TRILHA_OK) trilha_replayed_free(replayed);
  return status;
}

static trilha_status take_event(void *user, const trilha_event *event, trilha_error *err) {
  int64_t *count = user;
  ++*count;
  return TRILHA_OK;
}

static trilha_status stream(bench *b, trilha_error *err) {
  int64_t count = 0;
  trilha_stream_options options = {.after = b->sequence - 1, .types = consumed, .type_count = 1};
  trilha_status status = trilha_replay_stream(b->handle, &options, take_event, &count, NULL, err);
  if (status == TRILHA_OK) assert_int_equal(count, 1);
  return status;
}

/* --- registry and installing ------------------------------------------------------------------------------- */

/* A type of its own each turn, so that it is new. */
static trilha_status register_type(bench *b, trilha_error *err) {
  char tipo[64];
  snprintf(tipo, sizeof tipo, "memoria.t%u-%lld", b->number, (long long)b->turn);
  trilha_type_version version = {
      .tipo = trilha_text_of(tipo), .versao = TRILHA_TEXT("1.0.0"), .schema = trilha_text_of(trilha_test_schema)};
  trilha_registry_result result;
  /* Once more only in words: a log with ever more types would need ever more allocations. */
  return trilha_registry_apply(b->handle, &version, 1, b->again, TRILHA_TEXT("ana"), &result, err);
}

static void register_with_memory(bench *b) {
  assert_int_equal(register_type(b, NULL), TRILHA_OK);
}

static trilha_status deprecate(bench *b, trilha_error *err) {
  char tipo[64];
  snprintf(tipo, sizeof tipo, "memoria.t%u-%lld", b->number, (long long)b->turn);
  return trilha_registry_deprecate(b->handle, trilha_text_of(tipo), TRILHA_TEXT("1.0.0"), false, TRILHA_TEXT("ana"),
                                   err);
}

static trilha_status list_types(bench *b, trilha_error *err) {
  trilha_registered_types *types = NULL;
  trilha_status status = trilha_registry_list(b->handle, TRILHA_TEXT(TIPO), &types, err);
  if (status == TRILHA_OK) trilha_registered_types_free(types);
  return status;
}

static trilha_status open_another(bench *b, trilha_error *err) {
  trilha_options options = options_of(b);
  trilha *handle_of_its_own = NULL;
  trilha_status status = trilha_open(&options, &handle_of_its_own, err);
  if (status == TRILHA_OK) trilha_close(handle_of_its_own);
  return status;
}

static trilha_status migrate(bench *b, trilha_error *err) {
  trilha_options options = options_of(b);
  return trilha_migrate(&options, false, NULL, NULL, err);
}

/* A store that is not there yet, each turn another. */
static trilha_status create(bench *b, trilha_error *err) {
  char url[200];
  snprintf(url, sizeof url, "sqlite:%s/novo-%lld.db", b->fixture->folder, (long long)b->turn);
  trilha_options options = {.store_url = url, .create = true, .unsafe_no_fsync = true};
  trilha *handle_of_its_own = NULL;
  trilha_status status = trilha_open(&options, &handle_of_its_own, err);
  if (status == TRILHA_OK) trilha_close(handle_of_its_own);
  return status;
}

static trilha_status print_migrations(bench *b, trilha_error *err) {
  char *sql = NULL;
  trilha_status status = trilha_migrations_sql(b->fixture->is_postgres ? "postgresql" : "sqlite", &sql, err);
  if (status == TRILHA_OK) trilha_free(sql);
  return status;
}

/* --- all of them ------------------------------------------------------------------------------------------- */

static const call calls[] = {
    {.name = "publish", .make = publish, .after = log_agrees},
    {.name = "publish to a listener", .before = subscribe_with_memory, .make = publish, .after = log_agrees},
    {.name = "publish to a failing listener",
     .before = subscribe_a_failing_handler,
     .make = publish,
     .after = log_agrees},
    {.name = "publish in a handler", .before = subscribe_a_publishing_handler, .make = publish, .after = log_agrees},
    {.name = "publish again", .before = publish_with_memory, .make = publish},
    {.name = "publish what is refused", .make = refused, .after = log_is_untouched},
    {.name = "publish many", .make = publish_many},
    {.name = "publish check", .make = check, .after = log_is_untouched},
    {.name = "subscribe", .make = subscribe},
    {.name = "redeliver", .before = publish_then_subscribe, .make = redeliver},
    {.name = "redeliver to a failing listener", .before = publish_then_subscribe_a_failing_handler, .make = redeliver},
    {.name = "reprocess", .before = one_dead_letter, .make = reprocess},
    {.name = "reprocess chosen", .before = one_dead_letter, .make = reprocess_chosen},
    {.name = "reprocess elsewhere", .make = reprocess},
    {.name = "dead letters", .before = one_dead_letter, .make = query_letters},
    {.name = "pending dead letters", .make = pending_letters},
    {.name = "dead letter statistics", .make = count_letters},
    {.name = "retry a dead letter", .before = one_dead_letter, .make = retry_letter},
    {.name = "consume", .before = publish_with_memory, .make = consume, .once_only = true},
    {.name = "list consumers", .before = consume_with_memory, .make = list_consumers},
    {.name = "query", .before = publish_with_memory, .make = query},
    {.name = "trace", .before = publish_with_memory, .make = trace},
    {.name = "get", .before = publish_with_memory, .make = get},
    {.name = "last", .before = publish_with_memory, .make = last},
    {.name = "replay", .before = publish_with_memory, .make = replay},
    {.name = "stream", .before = publish_with_memory, .make = stream},
    {.name = "register", .make = register_type},
    {.name = "deprecate", .before = register_with_memory, .make = deprecate},
    {.name = "list types", .make = list_types},
    {.name = "open", .make = open_another},
    {.name = "migrate", .make = migrate},
    {.name = "create", .make = create, .step = 17},
    {.name = "print migrations", .make = print_migrations},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static void every_failing_allocation_is_survived(void **state) {
  const char *only = getenv("TRILHA_TEST_CALL");
  for (unsigned i = 0; i < CALLS; i++)
    if (only == NULL || strcmp(only, calls[i].name) == 0) exhaust(state, &calls[i], i);
}

int main(void) {
  if (trilha_fixture_skips()) return 0;
  let_sqlite_fail();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_failing_allocation_is_survived, trilha_fixture_setup,
                                      trilha_fixture_teardown),
  };
  return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
