/* conformance: reading (specification 000, section 7.2: T3 to T5, T14 to T16; rulings R3, R7, R9; field report B33). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/clock.h"
#include "base/text.h"
#include "conformance/publishing.h"

static trilha *begin(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_fixture_register(f->handle, "teste.b", "1.0.0", trilha_test_schema);
  return f->handle;
}

/* `count` events of alternating types a, b, a, b…, all with this timestamp and correlation (NULL: defaults). */
static void publish_alternating(trilha *handle, int count, const char *timestamp, const char *correlation) {
  trilha_publication *p = calloc((size_t)count, sizeof *p);
  trilha_publish_result *r = calloc((size_t)count, sizeof *r);
  assert_true(p != NULL && r != NULL);
  for (int i = 0; i < count; i++)
    p[i] = (trilha_publication){.tipo = i % 2 == 0 ? TRILHA_TEXT("teste.a") : TRILHA_TEXT("teste.b"),
                                .origem = i % 3 == 0 ? TRILHA_TEXT("D-1a") : TRILHA_TEXT("D-3"),
                                .payload = TRILHA_TEXT("{\"n\":1}"),
                                .timestamp = trilha_text_of(timestamp),
                                .correlacao_id = trilha_text_of(correlation)};
  trilha_error err = {0};
  if (trilha_publish_many(handle, p, (size_t)count, r, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  for (int i = 0; i < count; i++) trilha_publish_result_done(&r[i]);
  free(p);
  free(r);
}

static trilha_events_page *query(trilha *handle, trilha_events_filter filter) {
  trilha_events_page *page = NULL;
  trilha_error err = {0};
  if (trilha_events_query(handle, &filter, &page, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  return page;
}

static void T3_a_query_by_type_gives_only_that_type_and_pages(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 25, NULL, NULL);
  trilha_events_page *page = query(handle, (trilha_events_filter){.tipo = TRILHA_TEXT("teste.a"), .limite = 10});
  assert_int_equal(page->total, 13);
  assert_int_equal(page->count, 10);
  for (size_t i = 0; i < page->count; i++) assert_string_equal(page->linhas[i].tipo, "teste.a");
  int64_t tenth = page->linhas[9].sequence_number;
  trilha_events_page_free(page);
  page = query(handle, (trilha_events_filter){.tipo = TRILHA_TEXT("teste.a"), .limite = 10, .deslocamento = 10});
  assert_int_equal(page->count, 3);
  assert_int_equal(page->deslocamento, 10);
  assert_true(page->linhas[0].sequence_number > tenth);
  trilha_events_page_free(page);
}

static void R7_filters_combine_and_ranges_are_inclusive(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 12, "2026-06-15T10:30:00Z", "00000000-0000-0000-0000-000000000001");
  publish_alternating(handle, 12, "2026-06-15T10:30:01.5Z", "00000000-0000-0000-0000-000000000002");
  trilha_events_page *page =
      query(handle, (trilha_events_filter){.tipo = TRILHA_TEXT("teste.a"), .origem = TRILHA_TEXT("D-1a")});
  assert_int_equal(page->total, 4);
  trilha_events_page_free(page);
  page = query(handle, (trilha_events_filter){.correlacao_id = TRILHA_TEXT("00000000-0000-0000-0000-000000000002")});
  assert_int_equal(page->total, 12);
  trilha_events_page_free(page);
  page = query(handle, (trilha_events_filter){.timestamp_inicio = TRILHA_TEXT("2026-06-15T10:30:00Z"),
                                              .timestamp_fim = TRILHA_TEXT("2026-06-15T07:30:00-03:00")});
  assert_int_equal(page->total, 12);
  trilha_events_page_free(page);
  page = query(handle, (trilha_events_filter){.timestamp_inicio = TRILHA_TEXT("2026-06-15T10:30:01.500001Z")});
  assert_int_equal(page->total, 0);
  trilha_events_page_free(page);
  page = query(handle, (trilha_events_filter){.sequence_inicio = 3, .sequence_fim = 5});
  assert_int_equal(page->count, 3);
  assert_int_equal(page->linhas[0].sequence_number, 3);
  assert_int_equal(page->linhas[2].sequence_number, 5);
  trilha_events_page_free(page);
}

static void T14_R7_a_limit_above_500_is_lowered_and_reported(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 600, NULL, NULL);
  trilha_events_page *page = query(handle, (trilha_events_filter){.limite = 10000});
  assert_int_equal(page->count, 500);
  assert_int_equal(page->limite, 500);
  assert_int_equal(page->total, 600);
  trilha_events_page_free(page);
  page = query(handle, (trilha_events_filter){0});
  assert_int_equal(page->count, 100);
  assert_int_equal(page->limite, 100);
  trilha_events_page_free(page);
}

static void a_page_without_a_total_says_whether_more_follow(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 501, NULL, NULL);
  static const struct {
    trilha_events_filter filter;
    size_t count;
    bool more;
  } pages[] = {
      {{.sequence_inicio = 1, .limite = 10}, 10, true},
      {{.sequence_inicio = 492, .limite = 10}, 10, false},
      {{.sequence_inicio = 493, .limite = 10}, 9, false},
      {{.sequence_inicio = 502, .limite = 10}, 0, false},
      {{.limite = 600}, 500, true},
      {{.limite = 10, .deslocamento = 490}, 10, true},
      {{.limite = 10, .deslocamento = 491}, 10, false},
      {{.tipo = {"teste.b", 7}, .sequence_inicio = 481, .limite = 10}, 10, false},
      {{.tipo = {"teste.b", 7}, .sequence_inicio = 480, .limite = 10}, 10, true},
      {{.origem = {"D-1a", 4}, .sequence_inicio = 400, .sequence_fim = 406, .limite = 2}, 2, true},
      {{.timestamp_inicio = {"2020-01-01T00:00:00Z", 20}, .sequence_inicio = 500, .limite = 2}, 2, false},
  };
  for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
    trilha_events_filter filter = pages[i].filter;
    trilha_events_page *counted = query(handle, filter);
    filter.without_total = true;
    trilha_events_page *page = query(handle, filter);
    if (page->count != pages[i].count || page->more != pages[i].more) fail_msg("page %zu: %zu rows", i, page->count);
    assert_int_equal(page->total, -1);
    assert_true(counted->count == page->count && counted->more == page->more && counted->limite == page->limite);
    for (size_t row = 0; row < page->count; row++)
      assert_int_equal(page->linhas[row].sequence_number, counted->linhas[row].sequence_number);
    trilha_events_page_free(page);
    trilha_events_page_free(counted);
  }
}

static void R7_bad_filters_are_refused_with_their_name(void **state) {
  trilha *handle = begin(state);
  trilha_events_filter bad[] = {{.limite = -1},
                                {.deslocamento = -1},
                                {.sequence_inicio = -5},
                                {.correlacao_id = TRILHA_TEXT("x")},
                                {.timestamp_fim = TRILHA_TEXT("ontem")},
                                {.tipo = {"\xff", 1}},
                                {.origem = {"a\0b", 3}}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    trilha_events_page *page = NULL;
    trilha_error err = {0};
    assert_int_equal(trilha_events_query(handle, &bad[i], &page, &err), TRILHA_USAGE);
    assert_string_equal(err.code, "FILTER_INVALID");
    assert_null(page);
  }
}

static void T5_an_event_is_found_by_its_id_in_any_case_or_told_missing(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = {.tipo = TRILHA_TEXT("teste.a"),
                          .origem = TRILHA_TEXT("D-1a"),
                          .payload = TRILHA_TEXT("{\"n\":1}"),
                          .event_id = TRILHA_TEXT("0a000000-0000-0000-0000-00000000000f")};
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  trilha_publish_result_done(&r);
  trilha_event *event = NULL;
  assert_int_equal(trilha_event_get(handle, TRILHA_TEXT("0A000000-0000-0000-0000-00000000000F"), &event, NULL),
                   TRILHA_OK);
  assert_string_equal(event->event_id, p.event_id.data);
  trilha_event_free(event);
  trilha_error err = {0};
  assert_int_equal(trilha_event_get(handle, TRILHA_TEXT("00000000-0000-0000-0000-000000000000"), &event, &err),
                   TRILHA_NOT_FOUND);
  assert_string_equal(err.text, "Evento não encontrado");
  assert_int_equal(trilha_event_get(handle, TRILHA_TEXT("7"), &event, NULL), TRILHA_USAGE);
}

static void E9_a_trace_gives_one_flow_by_sequence_up_to_500(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 510, NULL, "00000000-0000-0000-0000-000000000001");
  publish_alternating(handle, 10, NULL, NULL);
  trilha_events_page *page;
  assert_int_equal(trilha_events_trace(handle, TRILHA_TEXT("00000000-0000-0000-0000-000000000001"), &page, NULL),
                   TRILHA_OK);
  assert_int_equal(page->total, 510);
  assert_int_equal(page->count, 500);
  for (size_t i = 1; i < page->count; i++)
    assert_true(page->linhas[i].sequence_number > page->linhas[i - 1].sequence_number);
  trilha_events_page_free(page);
}

static trilha_replayed *replay(trilha *handle, int64_t after, const trilha_text *types, size_t count) {
  trilha_replayed *replayed = NULL;
  trilha_error err = {0};
  if (trilha_replay(handle, after, types, count, &replayed, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  return replayed;
}

static void T4_T15_T16_a_replay_gives_what_follows_of_the_types_asked_in_order(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 2600, NULL, NULL);
  trilha_replayed *all = replay(handle, 100, NULL, 0);
  assert_int_equal(all->count, 2500);
  for (size_t i = 0; i < all->count; i++) assert_int_equal(all->events[i].sequence_number, 101 + (int64_t)i);
  assert_int_equal(all->cursor, 2600);
  assert_false(all->ceiling_reached);
  trilha_replayed_free(all);
  trilha_text types[] = {TRILHA_TEXT("teste.b"), TRILHA_TEXT("teste.nenhum")};
  trilha_replayed *some = replay(handle, 0, types, 2);
  assert_int_equal(some->count, 1300);
  for (size_t i = 0; i < some->count; i++) assert_int_equal(some->events[i].sequence_number, 2 + 2 * (int64_t)i);
  trilha_replayed_free(some);
  trilha_replayed *none = replay(handle, 2600, NULL, 0);
  assert_int_equal(none->count, 0);
  assert_int_equal(none->cursor, 2600);
  trilha_replayed_free(none);
}

static void E10_R9_the_specified_replay_stops_at_its_ceiling_and_says_where_to_go_on(void **state) {
  trilha *handle = begin(state);
  for (int i = 0; i < 21; i++) publish_alternating(handle, 5000, NULL, NULL);
  trilha_replayed *replayed = replay(handle, 0, NULL, 0);
  assert_int_equal(replayed->count, 100000);
  assert_true(replayed->ceiling_reached);
  assert_int_equal(replayed->cursor, 100000);
  trilha_replayed_free(replayed);
  const char *message;
  assert_int_equal(trilha_fixture_diagnostics(*state, "replay.ceiling", &message), 1);
  assert_string_equal(message, "Teto de iterações do replay atingido");
  replayed = replay(handle, 100000, NULL, 0);
  assert_int_equal(replayed->count, 5000);
  assert_false(replayed->ceiling_reached);
  trilha_replayed_free(replayed);
}

typedef struct counted {
  int64_t count, last;
  bool ordered;
  volatile bool *stop;
  int64_t stop_at;
} counted;

static trilha_status count_event(void *user, const trilha_event *event, trilha_error *err) {
  (void)err;
  counted *c = user;
  c->count++;
  c->ordered &= event->sequence_number > c->last;
  c->last = event->sequence_number;
  if (c->stop != NULL && c->count == c->stop_at) *c->stop = true;
  return TRILHA_OK;
}

static void E10_a_streaming_replay_has_no_ceiling_and_keeps_its_cursor(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 3000, NULL, NULL);
  counted c = {.ordered = true};
  int64_t cursor;
  trilha_text type = TRILHA_TEXT("teste.a");
  trilha_stream_options options = {.types = &type, .type_count = 1};
  assert_int_equal(trilha_replay_stream(handle, &options, count_event, &c, &cursor, NULL), TRILHA_OK);
  assert_int_equal(c.count, 1500);
  assert_true(c.ordered);
  assert_true(cursor >= 2999); /* event 3000 is of the other type: the cursor may have passed it */
  volatile bool stop = false;
  c = (counted){.ordered = true, .stop = &stop, .stop_at = 700};
  options = (trilha_stream_options){.stop = &stop};
  assert_int_equal(trilha_replay_stream(handle, &options, count_event, &c, &cursor, NULL), TRILHA_OK);
  assert_int_equal(cursor, 700);
  options = (trilha_stream_options){.after = cursor, .until = 900};
  c = (counted){.ordered = true};
  assert_int_equal(trilha_replay_stream(handle, &options, count_event, &c, &cursor, NULL), TRILHA_OK);
  assert_int_equal(c.count, 200);
  assert_int_equal(c.last, 900);
}

static trilha_status refuse_third(void *user, const trilha_event *event, trilha_error *err) {
  (void)event;
  (void)err;
  return ++*(int *)user == 3 ? TRILHA_CANCELLED : TRILHA_OK;
}

static void a_handler_that_stops_a_stream_leaves_the_cursor_before_its_event(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 10, NULL, NULL);
  int calls = 0;
  int64_t cursor = -1;
  trilha_stream_options options = {0};
  assert_int_equal(trilha_replay_stream(handle, &options, refuse_third, &calls, &cursor, NULL), TRILHA_CANCELLED);
  assert_int_equal(cursor, 2);
}

static void *publish_later(void *user) {
  for (int i = 0; i < 20; i++) {
    trilha_clock_sleep_ms(5);
    publish_number(user, "teste.a", i);
  }
  return NULL;
}

static void a_following_stream_sees_what_another_handle_publishes(void **state) {
  trilha *handle = begin(state);
  trilha *other = trilha_fixture_open(*state, ((trilha_fixture *)*state)->keyring);
  pthread_t publisher;
  assert_int_equal(pthread_create(&publisher, NULL, publish_later, other), 0);
  volatile bool stop = false;
  counted c = {.ordered = true, .stop = &stop, .stop_at = 20};
  trilha_stream_options options = {.follow = true, .stop = &stop};
  assert_int_equal(trilha_replay_stream(handle, &options, count_event, &c, NULL, NULL), TRILHA_OK);
  pthread_join(publisher, NULL);
  assert_int_equal(c.count, 20);
  assert_true(c.ordered);
  trilha_close(other);
}

static void E11_R9_the_largest_sequence_is_that_of_a_committed_event(void **state) {
  trilha *handle = begin(state);
  int64_t sequence = -1;
  char id[37];
  assert_int_equal(trilha_last_sequence(handle, &sequence, NULL), TRILHA_OK);
  assert_int_equal(sequence, 0);
  trilha_error err = {0};
  assert_int_equal(trilha_last_event_id(handle, id, &err), TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "LOG_EMPTY");
  publish_alternating(handle, 7, NULL, NULL);
  assert_int_equal(trilha_last_sequence(handle, &sequence, NULL), TRILHA_OK);
  assert_int_equal(sequence, 7);
  assert_int_equal(trilha_last_event_id(handle, id, NULL), TRILHA_OK);
  trilha_event *event;
  assert_int_equal(trilha_event_get(handle, trilha_text_of(id), &event, NULL), TRILHA_OK);
  assert_int_equal(event->sequence_number, 7);
  trilha_event_free(event);
}

static void B33_a_thousand_events_of_one_instant_are_paged_without_loss_or_repeat(void **state) {
  trilha *handle = begin(state);
  publish_alternating(handle, 1000, "2026-06-15T10:30:00.123Z", NULL);
  bool seen[1001] = {false};
  for (int64_t offset = 0; offset < 1000; offset += 100) {
    publish_alternating(handle, 10, NULL, NULL); /* new events arrive meanwhile */
    trilha_events_page *page =
        query(handle, (trilha_events_filter){.timestamp_inicio = TRILHA_TEXT("2026-06-15T10:30:00.12Z"),
                                             .timestamp_fim = TRILHA_TEXT("2026-06-15T10:30:00.12Z"),
                                             .limite = 100,
                                             .deslocamento = offset});
    assert_int_equal(page->count, 100);
    for (size_t i = 0; i < page->count; i++) {
      int64_t sequence = page->linhas[i].sequence_number;
      assert_in_range(sequence, 1, 1000);
      assert_false(seen[sequence]);
      seen[sequence] = true;
    }
    trilha_events_page_free(page);
  }
}

static void B33_every_event_is_found_by_the_timestamp_it_was_returned_with(void **state) {
  trilha *handle = begin(state);
  for (int i = 0; i < 30; i++) {
    trilha_publication p = {
        .tipo = TRILHA_TEXT("teste.a"), .origem = TRILHA_TEXT("D-1a"), .payload = TRILHA_TEXT("{\"n\":1}")};
    trilha_publish_result r;
    assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
    trilha_text at = trilha_text_of(r.event->timestamp);
    trilha_events_page *page = query(handle, (trilha_events_filter){.timestamp_inicio = at, .timestamp_fim = at});
    bool found = false;
    for (size_t k = 0; k < page->count; k++) found |= strcmp(page->linhas[k].event_id, r.event->event_id) == 0;
    assert_true(found);
    trilha_events_page_free(page);
    trilha_publish_result_done(&r);
  }
}

static void a_type_registered_by_another_process_is_seen_without_restart(void **state) {
  trilha *handle = begin(state);
  trilha *other = trilha_fixture_open(*state, ((trilha_fixture *)*state)->keyring);
  publish_number(other, "teste.a", 1);
  trilha_fixture_register(handle, "teste.novo", "1.0.0", trilha_test_schema);
  publish_number(other, "teste.novo", 1);
  assert_int_equal(
      trilha_registry_deprecate(handle, TRILHA_TEXT("teste.a"), (trilha_text){0}, false, TRILHA_TEXT("tests"), NULL),
      TRILHA_OK);
  trilha_clock_sleep_ms(1200); /* the documented bound is one second */
  trilha_publication p = {
      .tipo = TRILHA_TEXT("teste.a"), .origem = TRILHA_TEXT("D-1a"), .payload = TRILHA_TEXT("{\"n\":1}")};
  expect_refused(other, &p, "EVENT_TYPE_DEPRECATED");
  trilha_close(other);
}

static void an_event_as_json_has_the_specified_names_and_text_sequences(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = {.tipo = TRILHA_TEXT("teste.a"),
                          .origem = TRILHA_TEXT("D \"1\""),
                          .payload = TRILHA_TEXT("{\n\t\"n\":1}"),
                          .event_id = TRILHA_TEXT("0a000000-0000-0000-0000-00000000000f"),
                          .timestamp = TRILHA_TEXT("2026-06-15T10:30:00Z"),
                          .tenant_id = TRILHA_TEXT("default"),
                          .aggregate_sequence = 9007199254740993};
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  char *json, expected[1024];
  assert_int_equal(trilha_event_to_json(r.event, &json, NULL, NULL), TRILHA_OK);
  snprintf(expected, sizeof expected,
           "{\"sequence_number\":\"1\",\"event_id\":\"0a000000-0000-0000-0000-00000000000f\",\"tipo\":\"teste.a\","
           "\"versao_schema\":\"1.0.0\",\"timestamp\":\"2026-06-15T10:30:00Z\",\"origem\":\"D \\\"1\\\"\","
           "\"correlacao_id\":\"0a000000-0000-0000-0000-00000000000f\",\"payload\":{  \"n\":1},\"criado_em\":\"%s\","
           "\"payload_estado\":\"completo\",\"tenant_id\":\"default\",\"aggregate_sequence\":\"9007199254740993\"}",
           r.event->criado_em);
  assert_string_equal(json, expected);
  trilha_free(json);
  trilha_publish_result_done(&r);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(T3_a_query_by_type_gives_only_that_type_and_pages),
      ON_A_FRESH_STORE(R7_filters_combine_and_ranges_are_inclusive),
      ON_A_FRESH_STORE(T14_R7_a_limit_above_500_is_lowered_and_reported),
      ON_A_FRESH_STORE(a_page_without_a_total_says_whether_more_follow),
      ON_A_FRESH_STORE(R7_bad_filters_are_refused_with_their_name),
      ON_A_FRESH_STORE(T5_an_event_is_found_by_its_id_in_any_case_or_told_missing),
      ON_A_FRESH_STORE(E9_a_trace_gives_one_flow_by_sequence_up_to_500),
      ON_A_FRESH_STORE(T4_T15_T16_a_replay_gives_what_follows_of_the_types_asked_in_order),
      ON_A_FRESH_STORE(E10_R9_the_specified_replay_stops_at_its_ceiling_and_says_where_to_go_on),
      ON_A_FRESH_STORE(E10_a_streaming_replay_has_no_ceiling_and_keeps_its_cursor),
      ON_A_FRESH_STORE(a_handler_that_stops_a_stream_leaves_the_cursor_before_its_event),
      ON_A_FRESH_STORE(a_following_stream_sees_what_another_handle_publishes),
      ON_A_FRESH_STORE(E11_R9_the_largest_sequence_is_that_of_a_committed_event),
      ON_A_FRESH_STORE(B33_a_thousand_events_of_one_instant_are_paged_without_loss_or_repeat),
      ON_A_FRESH_STORE(B33_every_event_is_found_by_the_timestamp_it_was_returned_with),
      ON_A_FRESH_STORE(a_type_registered_by_another_process_is_seen_without_restart),
      ON_A_FRESH_STORE(an_event_as_json_has_the_specified_names_and_text_sequences),
  };
  return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}
