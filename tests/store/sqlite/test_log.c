/* store/sqlite: appending and reading through the port. What both stores must answer alike is in tests/conformance. */
#include "sqlite_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

typedef struct seen {
  int64_t sequences[4096];
  size_t count;
  trilha_arena arena;
  trilha_event_row last;
} seen;

static trilha_status see(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)err;
  seen *s = user;
  if (s->count < 4096) s->sequences[s->count++] = row->sequence_number;
  s->last = *row;
  s->last.tipo = trilha_text_of(trilha_arena_copy(&s->arena, row->tipo));
  s->last.payload = trilha_text_of(trilha_arena_copy(&s->arena, row->payload));
  return TRILHA_OK;
}

static void a_row_is_stored_and_read_back_whole(void **state) {
  fixture *f = *state;
  trilha_event_row row = fixture_row(7, "demanda.recebida");
  row.has_correlacao_id = row.has_causation_id = row.has_aggregate_sequence = true;
  fixture_id(8, row.correlacao_id);
  fixture_id(9, row.causation_id);
  row.aggregate_sequence = INT64_C(9007199254740993);
  row.payload = TRILHA_TEXT("{\"t\":\"água 🌊\",\"n\":1.50}");
  row.tenant_id = TRILHA_TEXT("default");
  row.tracestate = TRILHA_TEXT("");
  row.digest = TRILHA_TEXT("k1:abc");
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_append_result result;
  int64_t revision = -1;
  assert_int_equal(f->store->op->append(f->store, &row, 1, TRILHA_NO_DEADLINE, &arena, &result, &revision, NULL),
                   TRILHA_OK);
  assert_true(result.stored);
  assert_int_equal(revision, 0);
  assert_int_equal(result.row.sequence_number, 1);
  seen s = {0};
  assert_int_equal(f->store->op->event_by_id(f->store, row.event_id, TRILHA_NO_DEADLINE, see, &s, NULL), TRILHA_OK);
  assert_int_equal(s.last.sequence_number, 1);
  assert_int_equal(s.last.timestamp_us, row.timestamp_us);
  assert_int_equal(s.last.criado_em_us, result.row.criado_em_us);
  assert_memory_equal(s.last.causation_id, row.causation_id, 16);
  assert_memory_equal(s.last.correlacao_id, row.correlacao_id, 16);
  assert_int_equal(s.last.aggregate_sequence, row.aggregate_sequence);
  assert_string_equal(s.last.payload.data, row.payload.data);
  assert_int_equal(s.last.tracestate.size, 0);
  assert_int_equal(s.last.company_id.size, 0);
  trilha_arena_done(&s.arena);
}

static void timestamps_from_the_first_to_the_last_year_come_back_as_they_went(void **state) {
  fixture *f = *state;
  const int64_t times[] = {INT64_C(-62135596800000000),
                           INT64_C(-10000),
                           0,
                           INT64_C(10000),
                           INT64_C(946684800000000),
                           INT64_C(1781519400250000),
                           INT64_C(253402300799990000)};
  for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
    trilha_event_row row = fixture_row(i, "t");
    row.timestamp_us = times[i];
    TRILHA_ARENA_SCOPED arena = {0};
    trilha_append_result result;
    int64_t revision, total = 0;
    trilha_error err = {0};
    if (f->store->op->append(f->store, &row, 1, TRILHA_NO_DEADLINE, &arena, &result, &revision, &err) != TRILHA_OK)
      fail_msg("%lld: %s", (long long)times[i], err.text);
    trilha_event_filter at = {.has_timestamp_inicio = true,
                              .timestamp_inicio_us = times[i],
                              .has_timestamp_fim = true,
                              .timestamp_fim_us = times[i]};
    seen s = {0};
    assert_int_equal(f->store->op->events_query(f->store, &at, 10, 0, TRILHA_NO_DEADLINE, see, &s, &total, NULL),
                     TRILHA_OK);
    assert_int_equal(total, 1);
    assert_int_equal(s.last.timestamp_us, times[i]);
    trilha_arena_done(&s.arena);
  }
  /* Bounds finer than what is kept move inwards; bounds beyond what can be kept select nothing or everything. */
  trilha_event_filter between = {
      .has_timestamp_inicio = true, .timestamp_inicio_us = -9999, .has_timestamp_fim = true, .timestamp_fim_us = 19999};
  int64_t total = 0;
  seen s = {0};
  f->store->op->events_query(f->store, &between, 10, 0, TRILHA_NO_DEADLINE, see, &s, &total, NULL);
  assert_int_equal(total, 2);
  between = (trilha_event_filter){.has_timestamp_inicio = true, .timestamp_inicio_us = INT64_C(253402300799990001)};
  f->store->op->events_query(f->store, &between, 10, 0, TRILHA_NO_DEADLINE, see, &s, &total, NULL);
  assert_int_equal(total, 0);
  between = (trilha_event_filter){.has_timestamp_fim = true, .timestamp_fim_us = INT64_C(253402300799999999)};
  f->store->op->events_query(f->store, &between, 10, 0, TRILHA_NO_DEADLINE, see, &s, &total, NULL);
  assert_int_equal(total, 7);
  trilha_arena_done(&s.arena);
}

static void of_an_id_twice_in_a_batch_the_first_is_stored_and_the_later_is_its_duplicate(void **state) {
  fixture *f = *state;
  trilha_event_row rows[] = {fixture_row(1, "a"), fixture_row(2, "a"), fixture_row(1, "b")};
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_append_result results[3];
  int64_t revision;
  assert_int_equal(f->store->op->append(f->store, rows, 3, TRILHA_NO_DEADLINE, &arena, results, &revision, NULL),
                   TRILHA_OK);
  assert_true(results[0].stored && results[1].stored && !results[2].stored);
  assert_int_equal(results[2].row.sequence_number, 1);
  assert_int_equal(results[2].row.tipo.data[0], 'a');
  assert_int_equal(f->store->op->append(f->store, rows, 2, TRILHA_NO_DEADLINE, &arena, results, &revision, NULL),
                   TRILHA_OK);
  assert_true(!results[0].stored && !results[1].stored);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 2);
  fixture_append(f->store, 3, 1, "a");
  assert_int_equal(fixture_number(f->path, "SELECT max(sequence_number) FROM core_event_log"), 3);
}

static void a_refused_row_leaves_nothing_of_its_batch_and_the_handle_usable(void **state) {
  fixture *f = *state;
  static char long_name[300];
  memset(long_name, 'x', sizeof long_name - 1);
  trilha_event_row bad[6];
  for (int i = 0; i < 6; i++) bad[i] = fixture_row(100, "a");
  bad[0].payload = TRILHA_TEXT("{\"a\":");
  bad[1].tipo = trilha_text_of(long_name);
  bad[2].payload = (trilha_text){"{\"a\":\"\0\"}", 9};
  bad[3].origem = TRILHA_TEXT("\xff");
  bad[4].tipo = (trilha_text){0};
  bad[5].versao_schema = TRILHA_TEXT("1.0.0-a-version-longer-than-twenty");
  for (int i = 0; i < 6; i++) {
    trilha_event_row rows[] = {fixture_row(50, "a"), bad[i], fixture_row(51, "a")};
    TRILHA_ARENA_SCOPED arena = {0};
    trilha_append_result results[3];
    int64_t revision;
    trilha_error err = {0};
    assert_int_equal(f->store->op->append(f->store, rows, 3, TRILHA_NO_DEADLINE, &arena, results, &revision, &err),
                     TRILHA_INVALID);
    assert_string_equal(err.code, "STORE_REFUSED");
    assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 0);
  }
  fixture_append(f->store, 50, 3, "a");
  assert_int_equal(fixture_number(f->path, "SELECT max(sequence_number) FROM core_event_log"), 3);
}

static int64_t after(trilha_store *store, int64_t cursor, const trilha_text *types, size_t count, int64_t limit,
                     seen *s) {
  int64_t scanned = -1;
  trilha_error err = {0};
  *s = (seen){0};
  if (store->op->events_after(store, cursor, types, count, limit, TRILHA_NO_DEADLINE, see, s, &scanned, &err) !=
      TRILHA_OK)
    fail_msg("%s: %s", err.code, err.text);
  trilha_arena_done(&s->arena);
  return scanned;
}

static void events_after_a_cursor_come_in_order_and_say_how_far_the_log_was_seen(void **state) {
  fixture *f = *state;
  static seen s;
  assert_int_equal(after(f->store, 0, NULL, 0, 10, &s), 0);
  assert_int_equal(after(f->store, 5, NULL, 0, 10, &s), 5);
  for (uint64_t i = 0; i < 30; i++) fixture_append(f->store, 10 * i, 10, i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c");
  assert_int_equal(after(f->store, 295, NULL, 0, 10, &s), 300);
  assert_int_equal(s.count, 5);
  assert_int_equal(after(f->store, 0, NULL, 0, 7, &s), 7);
  const trilha_text a = TRILHA_TEXT("a"), rare = TRILHA_TEXT("rare");
  assert_int_equal(after(f->store, 0, &a, 1, 15, &s), 35); /* 1..10, then 31..35 */
  assert_int_equal(s.count, 15);
  assert_int_equal(s.sequences[10], 31);
  assert_int_equal(after(f->store, 275, &a, 1, 15, &s), 300); /* the last of type a is 280 */
  assert_int_equal(s.count, 5);
  assert_int_equal(after(f->store, 17, &rare, 1, 15, &s), 300);
  assert_int_equal(s.count, 0);
  assert_int_equal(after(f->store, 400, &rare, 1, 15, &s), 400);
}

static void several_types_are_merged_by_sequence_without_repeats(void **state) {
  fixture *f = *state;
  static seen s;
  trilha_store *writer = fixture_open_unsynced(f);
  for (uint64_t i = 0; i < 3000; i += 3) {
    fixture_append(writer, i, 1, "a");
    fixture_append(writer, i + 1, 1, "b");
    fixture_append(writer, i + 2, 1, "c");
  }
  writer->op->close(writer);
  const trilha_text types[] = {TRILHA_TEXT("c"), TRILHA_TEXT("nenhum"), TRILHA_TEXT("a"), TRILHA_TEXT("c")};
  assert_int_equal(after(f->store, 0, types, 4, 4000, &s), 3000); /* more than one slice */
  assert_int_equal(s.count, 2000);
  for (size_t i = 1; i < s.count; i++) {
    assert_true(s.sequences[i] > s.sequences[i - 1]);
    assert_int_not_equal(s.sequences[i] % 3, 2);
  }
  assert_int_equal(after(f->store, 3, types, 4, 3, &s), 7);
  assert_int_equal(s.count, 3);
  assert_int_equal(s.sequences[0], 4);
  assert_int_equal(s.sequences[1], 6);
}

static void every_filter_gives_what_a_look_at_every_row_gives(void **state) {
  fixture *f = *state;
  for (uint64_t i = 0; i < 60; i++) {
    trilha_event_row row = fixture_row(i, i % 2 == 0 ? "a" : "b");
    row.origem = i % 3 == 0 ? TRILHA_TEXT("D-1") : TRILHA_TEXT("D-2");
    row.has_correlacao_id = i % 5 != 0;
    fixture_id(i % 4, row.correlacao_id);
    TRILHA_ARENA_SCOPED arena = {0};
    trilha_append_result result;
    int64_t revision;
    assert_int_equal(f->store->op->append(f->store, &row, 1, TRILHA_NO_DEADLINE, &arena, &result, &revision, NULL),
                     TRILHA_OK);
  }
  int64_t base = fixture_row(0, "a").timestamp_us;
  for (unsigned mask = 0; mask < 128; mask++) {
    trilha_event_filter filter = {0};
    if (mask & 1) filter.tipo = TRILHA_TEXT("a");
    if (mask & 2) filter.origem = TRILHA_TEXT("D-1");
    if (mask & 4) filter.has_correlacao_id = true, fixture_id(2, filter.correlacao_id);
    if (mask & 8) filter.has_timestamp_inicio = true, filter.timestamp_inicio_us = base + 99999; /* from 10 on */
    if (mask & 16) filter.has_timestamp_fim = true, filter.timestamp_fim_us = base + 400001;     /* to 40 */
    if (mask & 32) filter.has_sequence_inicio = true, filter.sequence_inicio = 13;
    if (mask & 64) filter.has_sequence_fim = true, filter.sequence_fim = 51;
    int64_t expected[60], total = -1;
    size_t count = 0;
    for (int64_t i = 0; i < 60; i++) {
      bool in = (!(mask & 1) || i % 2 == 0) && (!(mask & 2) || i % 3 == 0) &&
                (!(mask & 4) || (i % 5 != 0 && i % 4 == 2)) && (!(mask & 8) || i >= 10) && (!(mask & 16) || i <= 40) &&
                (!(mask & 32) || i + 1 >= 13) && (!(mask & 64) || i + 1 <= 51);
      if (in) expected[count++] = i + 1;
    }
    static seen s;
    s = (seen){0};
    assert_int_equal(f->store->op->events_query(f->store, &filter, 5, 2, TRILHA_NO_DEADLINE, see, &s, &total, NULL),
                     TRILHA_OK);
    trilha_arena_done(&s.arena);
    if (total != (int64_t)count) fail_msg("filters %u: %lld rows instead of %zu", mask, (long long)total, count);
    size_t page = count <= 2 ? 0 : count - 2 < 5 ? count - 2 : 5;
    assert_int_equal(s.count, page);
    for (size_t i = 0; i < page; i++) assert_int_equal(s.sequences[i], expected[2 + i]);
  }
}

static trilha_status stop_at_once(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)row;
  ++*(int *)user;
  return TRILHA_CANCELLED;
}

static void a_visitor_that_stops_ends_the_scan_and_its_status_comes_back(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 1, 10, "a");
  int calls = 0;
  int64_t scanned = -7, total = -7;
  const trilha_text a = TRILHA_TEXT("a");
  const trilha_event_filter all = {0};
  assert_int_equal(
      f->store->op->events_after(f->store, 0, NULL, 0, 10, TRILHA_NO_DEADLINE, stop_at_once, &calls, &scanned, NULL),
      TRILHA_CANCELLED);
  assert_int_equal(
      f->store->op->events_after(f->store, 0, &a, 1, 10, TRILHA_NO_DEADLINE, stop_at_once, &calls, &scanned, NULL),
      TRILHA_CANCELLED);
  assert_int_equal(
      f->store->op->events_query(f->store, &all, 10, 0, TRILHA_NO_DEADLINE, stop_at_once, &calls, &total, NULL),
      TRILHA_CANCELLED);
  assert_int_equal(calls, 3);
  assert_true(scanned == -7 && total == -7);
}

static void the_last_event_is_the_largest_committed_one(void **state) {
  fixture *f = *state;
  int64_t sequence = -1;
  unsigned char id[16], expected[16];
  bool any = true;
  assert_int_equal(f->store->op->last_event(f->store, TRILHA_NO_DEADLINE, &sequence, id, &any, NULL), TRILHA_OK);
  assert_false(any);
  assert_int_equal(sequence, 0);
  fixture_append(f->store, 1, 3, "a");
  assert_int_equal(f->store->op->last_event(f->store, TRILHA_NO_DEADLINE, &sequence, id, &any, NULL), TRILHA_OK);
  assert_true(any);
  assert_int_equal(sequence, 3);
  fixture_id(3, expected);
  assert_memory_equal(id, expected, 16);
}

/* --- waiting ------------------------------------------------------------------------------------------------ */

static void *append_soon(void *user) {
  trilha_clock_sleep_ms(100);
  fixture_append(user, 1, 1, "a");
  return NULL;
}

static void a_waiting_reader_wakes_for_an_append_of_its_own_process_or_another(void **state) {
  fixture *f = *state;
  assert_int_equal(f->store->op->wait(f->store, 0, trilha_deadline_in_ms(30), NULL), TRILHA_TIMEOUT);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, append_soon, f->store), 0);
  assert_int_equal(f->store->op->wait(f->store, 0, trilha_deadline_in_ms(60000), NULL), TRILHA_OK);
  pthread_join(thread, NULL);
  assert_int_equal(f->store->op->wait(f->store, 0, trilha_deadline_in_ms(0), NULL), TRILHA_OK);
  pid_t child = fork();
  if (child == 0) {
    trilha_store *store = fixture_open(f);
    trilha_clock_sleep_ms(100);
    fixture_append(store, 2, 1, "a");
    store->op->close(store);
    _exit(0);
  }
  assert_int_equal(f->store->op->wait(f->store, 1, trilha_deadline_in_ms(60000), NULL), TRILHA_OK);
  fixture_join(child);
}

static void the_hint_of_another_process_wakes_long_before_the_scan(void **state) {
  fixture *f = *state;
  trilha_store_options options = {.url = trilha_text_of(f->url), .scan_interval_ms = 600000};
  trilha_store *reader = NULL;
  assert_int_equal(trilha_sqlite_open(&options, &reader, NULL), TRILHA_OK);
  pid_t child = fork();
  if (child == 0) {
    trilha_store *store = fixture_open(f);
    trilha_clock_sleep_ms(200);
    fixture_append(store, 1, 1, "a");
    store->op->close(store);
    _exit(0);
  }
  int64_t before = trilha_clock_monotonic_ns();
  assert_int_equal(reader->op->wait(reader, 0, trilha_deadline_in_ms(60000), NULL), TRILHA_OK);
  printf("# woken after %lld ms, 200 of them the writer slept\n",
         (long long)(trilha_clock_monotonic_ns() - before) / 1000000);
  assert_true(trilha_clock_monotonic_ns() - before < INT64_C(50000000000));
  fixture_join(child);
  reader->op->close(reader);
}

static void a_waiting_reader_sees_what_a_foreign_program_wrote_at_its_next_look(void **state) {
  fixture *f = *state;
  char said[256];
  assert_string_equal(fixture_run(f->path,
                                  "INSERT INTO core_event_log (event_id, tipo, origem, payload) VALUES "
                                  "('00000000-0000-0000-0000-000000000001', 'a', 'D-1', '{}')",
                                  said),
                      "");
  assert_int_equal(f->store->op->wait(f->store, 0, trilha_deadline_in_ms(60000), NULL), TRILHA_OK);
}

static void a_query_past_its_deadline_is_stopped_and_the_reader_goes_on(void **state) {
  fixture *f = *state;
  trilha_store *writer = fixture_open_unsynced(f);
  for (uint64_t i = 0; i < 30; i++) fixture_append(writer, i * 1000, 1000, "a");
  writer->op->close(writer);
  const trilha_event_filter filter = {.origem = TRILHA_TEXT("D-9"), .has_timestamp_inicio = true};
  int64_t total = -1;
  seen s = {0};
  trilha_error err = {0};
  assert_int_equal(
      f->store->op->events_query(f->store, &filter, 10, 0, trilha_deadline_in_ms(1), see, &s, &total, &err),
      TRILHA_TIMEOUT);
  assert_string_equal(err.code, "DEADLINE_PASSED");
  err = (trilha_error){0};
  assert_int_equal(
      f->store->op->events_query(f->store, &filter, 10, 0, trilha_deadline_in_ms(0), see, &s, &total, &err),
      TRILHA_TIMEOUT);
  assert_int_equal(total, -1);
  assert_int_equal(f->store->op->events_query(f->store, &filter, 10, 0, TRILHA_NO_DEADLINE, see, &s, &total, NULL),
                   TRILHA_OK);
  assert_int_equal(total, 0);
}

static void a_database_replaced_while_open_is_refused_instead_of_written_into_the_void(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 1, 1, "a");
  char aside[128];
  snprintf(aside, sizeof aside, "%s.aside", f->path);
  assert_int_equal(rename(f->path, aside), 0);
  trilha_error err = {0};
  assert_int_equal(fixture_try_append(f->store, 2, 1, "a", TRILHA_NO_DEADLINE, &err), TRILHA_UNAVAILABLE);
  assert_string_equal(err.code, "STORE_REPLACED");
  fclose(fopen(f->path, "w"));
  err = (trilha_error){0};
  assert_int_equal(fixture_try_append(f->store, 2, 1, "a", TRILHA_NO_DEADLINE, &err), TRILHA_UNAVAILABLE);
  assert_int_equal(f->store->op->wait(f->store, 0, TRILHA_NO_DEADLINE, NULL), TRILHA_UNAVAILABLE);
  assert_int_equal(rename(aside, f->path), 0);
  fixture_append(f->store, 2, 1, "a");
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 2);
}

/* --- types and audit -------------------------------------------------------------------------------------------- */

static trilha_status see_type(void *user, const trilha_type_row *row, trilha_error *err) {
  (void)err;
  char *out = user;
  size_t used = strlen(out);
  snprintf(out + used, 256 - used, "%.*s@%.*s:%.*s:%s ", (int)row->tipo.size, row->tipo.data, (int)row->versao.size,
           row->versao.data, (int)row->status.size, row->status.data,
           row->schema.data == NULL ? "none" : row->schema.data);
  return TRILHA_OK;
}

static void versions_are_applied_together_with_their_audit_or_not_at_all(void **state) {
  fixture *f = *state;
  const trilha_type_row rows[] = {
      {.tipo = TRILHA_TEXT("b"),
       .versao = TRILHA_TEXT("1.0.0"),
       .status = TRILHA_TEXT("ativo"),
       .schema = TRILHA_TEXT("{}")},
      {.tipo = TRILHA_TEXT("a"),
       .versao = TRILHA_TEXT("2.0.0"),
       .status = TRILHA_TEXT("ativo"),
       .schema = TRILHA_TEXT("{ }")},
      {.tipo = TRILHA_TEXT("a"), .versao = TRILHA_TEXT("1.0.0"), .status = TRILHA_TEXT("deprecated")},
  };
  const trilha_audit_row audit = {.entity = TRILHA_TEXT("event_type"),
                                  .entity_id = TRILHA_TEXT("a"),
                                  .change_type = TRILHA_TEXT("Created"),
                                  .user = TRILHA_TEXT("ana")};
  char listed[256] = "";
  int64_t revision = -1;
  assert_int_equal(f->store->op->types_apply(f->store, rows, 3, &audit, 1, TRILHA_NO_DEADLINE, NULL), TRILHA_OK);
  assert_int_equal(f->store->op->registry_revision(f->store, TRILHA_NO_DEADLINE, &revision, NULL), TRILHA_OK);
  assert_int_equal(revision, 1);
  f->store->op->types_list(f->store, (trilha_text){0}, TRILHA_NO_DEADLINE, see_type, listed, NULL);
  assert_string_equal(listed, "a@2.0.0:ativo:{ } a@1.0.0:deprecated:none b@1.0.0:ativo:{} ");
  /* Another schema, and a schema where there was none, are refused with everything that came with them. */
  trilha_type_row changed[] = {rows[0], rows[2]};
  changed[0].status = TRILHA_TEXT("deprecated");
  changed[1].schema = TRILHA_TEXT("{}");
  trilha_error err = {0};
  assert_int_equal(f->store->op->types_apply(f->store, changed, 2, &audit, 1, TRILHA_NO_DEADLINE, &err),
                   TRILHA_CONFLICT);
  assert_non_null(strstr(err.text, "a@1.0.0"));
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_audit_log"), 1);
  assert_int_equal(f->store->op->types_apply(f->store, changed, 1, &audit, 1, TRILHA_NO_DEADLINE, NULL), TRILHA_OK);
  listed[0] = '\0';
  f->store->op->types_list(f->store, TRILHA_TEXT("b"), TRILHA_NO_DEADLINE, see_type, listed, NULL);
  assert_string_equal(listed, "b@1.0.0:deprecated:{} ");
  assert_int_equal(f->store->op->audit_insert(f->store, &audit, TRILHA_NO_DEADLINE, NULL), TRILHA_OK);
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_audit_log WHERE metadata = '{}'"), 3);
  trilha_audit_row bad = audit;
  bad.change_type = TRILHA_TEXT("Invented");
  assert_int_equal(f->store->op->audit_insert(f->store, &bad, TRILHA_NO_DEADLINE, NULL), TRILHA_INVALID);
}

static void a_child_after_fork_is_refused_and_harms_nothing(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 1, 1, "a");
  pid_t child = fork();
  if (child == 0) {
    trilha_error err = {0};
    int64_t sequence;
    unsigned char id[16];
    bool any;
    bool refused = fixture_try_append(f->store, 2, 1, "a", TRILHA_NO_DEADLINE, &err) == TRILHA_USAGE &&
                   strcmp(err.code, "HANDLE_FORKED") == 0 &&
                   f->store->op->last_event(f->store, TRILHA_NO_DEADLINE, &sequence, id, &any, NULL) == TRILHA_USAGE &&
                   f->store->op->wait(f->store, 0, TRILHA_NO_DEADLINE, NULL) == TRILHA_USAGE;
    f->store->op->close(f->store);
    _exit(refused ? 0 : 1);
  }
  fixture_join(child);
  fixture_append(f->store, 2, 1, "a");
  assert_int_equal(fixture_number(f->path, "SELECT count(*) FROM core_event_log"), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MIGRATED(a_row_is_stored_and_read_back_whole),
      MIGRATED(timestamps_from_the_first_to_the_last_year_come_back_as_they_went),
      MIGRATED(of_an_id_twice_in_a_batch_the_first_is_stored_and_the_later_is_its_duplicate),
      MIGRATED(a_refused_row_leaves_nothing_of_its_batch_and_the_handle_usable),
      MIGRATED(events_after_a_cursor_come_in_order_and_say_how_far_the_log_was_seen),
      MIGRATED(several_types_are_merged_by_sequence_without_repeats),
      MIGRATED(every_filter_gives_what_a_look_at_every_row_gives),
      MIGRATED(a_visitor_that_stops_ends_the_scan_and_its_status_comes_back),
      MIGRATED(the_last_event_is_the_largest_committed_one),
      MIGRATED(a_waiting_reader_wakes_for_an_append_of_its_own_process_or_another),
      MIGRATED(a_waiting_reader_sees_what_a_foreign_program_wrote_at_its_next_look),
      MIGRATED(the_hint_of_another_process_wakes_long_before_the_scan),
      MIGRATED(a_query_past_its_deadline_is_stopped_and_the_reader_goes_on),
      MIGRATED(a_database_replaced_while_open_is_refused_instead_of_written_into_the_void),
      MIGRATED(versions_are_applied_together_with_their_audit_or_not_at_all),
      MIGRATED(a_child_after_fork_is_refused_and_harms_nothing),
  };
  return cmocka_run_group_tests_name("sqlite log", tests, NULL, NULL);
}
