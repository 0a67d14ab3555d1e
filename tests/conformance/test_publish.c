/* conformance: publishing (specification 000, section 7.2: T1, T6 to T9, T12, T13, T19; rulings R1 to R5, R8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>
#include <pthread.h>

#include "base/text.h"
#include "conformance/publishing.h"

#define ID "a1b2c3d4-e5f6-7890-abcd-ef1234567890"

static trilha_publication publication_of(const char *payload) {
  return (trilha_publication){
      .tipo = TRILHA_TEXT("teste.feito"), .origem = TRILHA_TEXT("D-1a"), .payload = trilha_text_of(payload)};
}

static trilha *begin(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.feito", "1.0.0", trilha_test_schema);
  return f->handle;
}

static int64_t rows(void **state) {
  return trilha_fixture_count(*state, "SELECT count(*) FROM {log}");
}

static void T1_a_valid_event_is_stored_and_answered_with_its_sequence(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("{\"n\": 1,\n \"texto\":\"água\", \"nome\":\"Maria\", \"peso\": 2.25}");
  p.event_id = TRILHA_TEXT("A1B2C3D4-E5F6-7890-ABCD-EF1234567890");
  p.timestamp = TRILHA_TEXT("2026-06-15T07:30:00.005-03:00");
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  assert_true(r.event->sequence_number > 0);
  assert_string_equal(r.event->event_id, ID);
  assert_string_equal(r.event->timestamp, "2026-06-15T10:30:00.01Z");
  assert_string_equal(r.event->payload, p.payload.data);
  assert_int_equal(r.event->payload_estado, TRILHA_PAYLOAD_COMPLETO);
  assert_int_equal(r.content, TRILHA_CONTENT_NEW);
  assert_false(r.duplicate);
  assert_int_equal(rows(state), 1);
  trilha_event *stored;
  assert_int_equal(trilha_event_get(handle, TRILHA_TEXT(ID), &stored, NULL), TRILHA_OK);
  assert_int_equal(stored->payload_estado, TRILHA_PAYLOAD_REDIGIDO);
  assert_string_equal(stored->timestamp, r.event->timestamp);
  assert_string_equal(stored->criado_em, r.event->criado_em);
  assert_null(strstr(stored->payload, "água"));
  assert_null(strstr(stored->payload, "Maria"));
  assert_non_null(strstr(stored->payload, "h1:k1:"));
  assert_non_null(strstr(stored->payload, "2.3"));
  trilha_event_free(stored);
  trilha_publish_result_done(&r);
}

static void T6_an_unregistered_type_is_refused_and_nothing_is_stored(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("{\"n\":1}");
  p.tipo = TRILHA_TEXT("teste.desconhecido");
  expect_refused(handle, &p, "EVENT_TYPE_NOT_FOUND");
  p = publication_of("{\"n\":1}");
  p.versao_schema = TRILHA_TEXT("9.9.9");
  trilha_publish_result r;
  trilha_error err = {0};
  assert_int_equal(trilha_publish(handle, &p, &r, &err), TRILHA_INVALID);
  assert_string_equal(err.text, "Tipo de evento não registrado no Registry");
  trilha_publish_result_done(&r);
  assert_int_equal(rows(state), 0);
}

static void T6_a_deprecated_type_is_refused_but_its_events_are_still_read(void **state) {
  trilha *handle = begin(state);
  publish_number(handle, "teste.feito", 1);
  assert_int_equal(trilha_registry_deprecate(handle, TRILHA_TEXT("teste.feito"), TRILHA_TEXT("1.0.0"), false,
                                             TRILHA_TEXT("tests"), NULL),
                   TRILHA_OK);
  trilha_publication p = publication_of("{\"n\":1}");
  expect_refused(handle, &p, "EVENT_TYPE_DEPRECATED");
  trilha_replayed *replayed;
  assert_int_equal(trilha_replay(handle, 0, NULL, 0, &replayed, NULL), TRILHA_OK);
  assert_int_equal(replayed->count, 1);
  trilha_replayed_free(replayed);
}

static void T7_T8_a_payload_that_is_no_object_is_refused_with_the_contract_text(void **state) {
  trilha *handle = begin(state);
  static const char *const payloads[] = {"null", "\"texto\"", "[1,2]", "12", "true"};
  for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
    trilha_publication p = publication_of(payloads[i]);
    trilha_publish_result r;
    trilha_error err = {0};
    assert_int_equal(trilha_publish(handle, &p, &r, &err), TRILHA_INVALID);
    assert_string_equal(err.text, "Payload deve ser um objeto não nulo");
    trilha_publish_result_done(&r);
  }
  trilha_publication absent = publication_of(NULL);
  expect_refused(handle, &absent, "PAYLOAD_NOT_OBJECT");
  assert_int_equal(rows(state), 0);
}

static void T9_T19_a_repeated_id_gives_the_stored_record_once(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("{\"n\":1,\"texto\":\"segredo\"}");
  p.event_id = TRILHA_TEXT(ID);
  trilha_publish_result first, second;
  assert_int_equal(trilha_publish(handle, &p, &first, NULL), TRILHA_OK);
  assert_int_equal(trilha_publish(handle, &p, &second, NULL), TRILHA_OK);
  assert_true(second.duplicate);
  assert_int_equal(second.content, TRILHA_CONTENT_SAME);
  assert_int_equal(second.event->sequence_number, first.event->sequence_number);
  assert_string_equal(second.event->criado_em, first.event->criado_em);
  assert_int_equal(second.event->payload_estado, TRILHA_PAYLOAD_REDIGIDO);
  assert_null(strstr(second.event->payload, "segredo"));
  trilha_publish_result_done(&first);
  trilha_publish_result_done(&second);
  assert_int_equal(rows(state), 1);
  const char *message;
  assert_int_equal(trilha_fixture_diagnostics(*state, "event.duplicate", &message), 1);
  assert_string_equal(message, "Evento duplicado detectado, idempotência aplicada");
}

static void B12_a_repeated_id_with_other_content_is_told_and_never_overwrites(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("{\"n\":1,\"texto\":\"a\"}");
  p.event_id = TRILHA_TEXT(ID);
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  trilha_publish_result_done(&r);
  p.payload = TRILHA_TEXT("{\"texto\":\"a\", \"n\":1.0}"); /* the same JSON value, spelled otherwise */
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  assert_int_equal(r.content, TRILHA_CONTENT_SAME);
  trilha_publish_result_done(&r);
  p.payload = TRILHA_TEXT("{\"n\":1,\"texto\":\"b\"}");
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  assert_true(r.duplicate);
  assert_int_equal(r.content, TRILHA_CONTENT_DIFFERENT);
  trilha_publish_result_done(&r);
  p.payload = TRILHA_TEXT("{\"n\":1,\"texto\":\"a\"}");
  p.origem = TRILHA_TEXT("D-9");
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  assert_int_equal(r.content, TRILHA_CONTENT_DIFFERENT);
  assert_string_equal(r.event->origem, "D-1a");
  trilha_publish_result_done(&r);
  assert_int_equal(rows(state), 1);
}

static void R21_content_is_compared_under_the_key_of_the_stored_row(void **state) {
  trilha *handle = begin(state);
  trilha_fixture *f = *state;
  trilha_publication p = publication_of("{\"n\":1,\"texto\":\"a\"}");
  p.event_id = TRILHA_TEXT(ID);
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  trilha_publish_result_done(&r);
  setenv("TRILHA_TEST_KEYS",
         "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\nk2:ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=\n", 1);
  trilha *rotated = trilha_fixture_open(f, "env:TRILHA_TEST_KEYS");
  assert_int_equal(trilha_publish(rotated, &p, &r, NULL), TRILHA_OK);
  assert_int_equal(r.content, TRILHA_CONTENT_SAME);
  trilha_publish_result_done(&r);
  p.payload = TRILHA_TEXT("{\"n\":2,\"texto\":\"a\"}");
  assert_int_equal(trilha_publish(rotated, &p, &r, NULL), TRILHA_OK);
  assert_int_equal(r.content, TRILHA_CONTENT_DIFFERENT);
  trilha_publish_result_done(&r);
  trilha_close(rotated);
  setenv("TRILHA_TEST_KEYS", "k2:ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=\n", 1);
  trilha *destroyed = trilha_fixture_open(f, "env:TRILHA_TEST_KEYS");
  assert_int_equal(trilha_publish(destroyed, &p, &r, NULL), TRILHA_OK);
  assert_int_equal(r.content, TRILHA_CONTENT_UNKNOWN);
  trilha_publish_result_done(&r);
  trilha_close(destroyed);
}

static void T12_T13_version_and_correlation_have_their_defaults(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("{\"n\":1}");
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  assert_string_equal(r.event->versao_schema, "1.0.0");
  assert_string_equal(r.event->correlacao_id, r.event->event_id);
  assert_int_equal(r.event->event_id[14], '4');
  trilha_publish_result_done(&r);
}

static void E1_the_steps_fail_in_their_order(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("[]");
  p.event_id = TRILHA_TEXT("no uuid");
  p.tipo = TRILHA_TEXT("teste.desconhecido");
  expect_refused(handle, &p, "PAYLOAD_NOT_OBJECT");
  p.payload = TRILHA_TEXT("{}");
  expect_refused(handle, &p, "UUID_INVALID");
  p.event_id = TRILHA_TEXT(ID);
  p.timestamp = TRILHA_TEXT("2026-06-15 10:30");
  expect_refused(handle, &p, "TIMESTAMP_INVALID");
  p.timestamp = (trilha_text){0};
  expect_refused(handle, &p, "EVENT_TYPE_NOT_FOUND");
  p.tipo = TRILHA_TEXT("teste.feito");
  expect_refused(handle, &p, "PAYLOAD_INVALID");
  assert_int_equal(rows(state), 0);
  p.payload = TRILHA_TEXT("{\"n\":1}");
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  trilha_publish_result_done(&r);
}

static void E1_all_errors_of_a_payload_are_listed_without_its_values(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("{\"texto\":7,\"canal\":\"MARCADOR\",\"52998224725\":true}");
  trilha_publish_result r;
  trilha_error err = {0};
  assert_int_equal(trilha_publish(handle, &p, &r, &err), TRILHA_INVALID);
  assert_string_equal(err.text, "Payload inválido para teste.feito@1.0.0");
  assert_int_equal(r.payload_error_count, 4);
  bool required = false, type = false, choice = false, closed = false;
  for (size_t i = 0; i < r.payload_error_count; i++) {
    const trilha_payload_error *e = &r.payload_errors[i];
    required |= strcmp(e->keyword, "required") == 0 && strcmp(e->instance_pointer, "") == 0;
    type |= strcmp(e->keyword, "type") == 0 && strcmp(e->instance_pointer, "/texto") == 0;
    choice |= strcmp(e->keyword, "enum") == 0 && strcmp(e->schema_pointer, "/properties/canal/enum") == 0;
    closed |= strstr(e->schema_pointer, "additionalProperties") != NULL;
    assert_null(strstr(e->instance_pointer, "52998224725"));
    assert_null(strstr(e->text, "52998224725"));
    assert_null(strstr(e->text, "MARCADOR"));
  }
  assert_true(required && type && choice && closed);
  trilha_publish_result_done(&r);
}

static void R2_lengths_are_counted_in_characters(void **state) {
  trilha *handle = begin(state);
  char origem[201];
  for (size_t i = 0; i < 100; i++) memcpy(origem + 2 * i, "é", 2);
  trilha_publication p = publication_of("{\"n\":1}");
  p.origem = (trilha_text){origem, 200};
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  assert_int_equal(strlen(r.event->origem), 200);
  trilha_publish_result_done(&r);
  origem[200] = 'e';
  p.origem.size = 201;
  expect_refused(handle, &p, "FIELD_LENGTH");
  p.origem = (trilha_text){0};
  expect_refused(handle, &p, "FIELD_MISSING");
  p.origem = (trilha_text){"a\0b", 3};
  expect_refused(handle, &p, "FIELD_INVALID");
  p.origem = (trilha_text){"\xff", 1};
  expect_refused(handle, &p, "FIELD_INVALID");
}

static void R3_timestamps_round_half_away_from_2000_and_keep_their_years(void **state) {
  static const char *const pairs[][2] = {
      {"2026-06-15T10:30:00.005Z", "2026-06-15T10:30:00.01Z"}, {"2026-06-15T10:30:00.0049Z", "2026-06-15T10:30:00Z"},
      {"1999-12-31T23:59:59.995Z", "1999-12-31T23:59:59.99Z"}, {"1999-12-31T23:59:59.985Z", "1999-12-31T23:59:59.98Z"},
      {"2026-06-15T10:30+05:30", "2026-06-15T05:00:00Z"},      {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
      {"9999-12-31T23:59:59.99Z", "9999-12-31T23:59:59.99Z"},
  };
  trilha *handle = begin(state);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    trilha_publication p = publication_of("{\"n\":1}");
    p.timestamp = trilha_text_of(pairs[i][0]);
    trilha_publish_result r;
    assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
    assert_string_equal(r.event->timestamp, pairs[i][1]);
    trilha_event *stored;
    assert_int_equal(trilha_event_get(handle, trilha_text_of(r.event->event_id), &stored, NULL), TRILHA_OK);
    assert_string_equal(stored->timestamp, pairs[i][1]);
    trilha_event_free(stored);
    trilha_publish_result_done(&r);
  }
  trilha_publication late = publication_of("{\"n\":1}");
  late.timestamp = TRILHA_TEXT("9999-12-31T23:59:59.995Z");
  expect_refused(handle, &late, "TIMESTAMP_INVALID");
  late.timestamp = TRILHA_TEXT("2026-06-15T10:30:00");
  expect_refused(handle, &late, "TIMESTAMP_INVALID");
}

static void R8_a_payload_of_one_mebibyte_passes_and_one_byte_more_is_refused(void **state) {
  trilha *handle = begin(state);
  size_t size = 1048576;
  char *payload = malloc(size + 2);
  assert_non_null(payload);
  static const char head[] = "{\"n\":1,\"nome\":\"";
  memset(payload, 'a', size + 1);
  memcpy(payload, head, sizeof head - 1);
  memcpy(payload + size - 2, "\"}", 2);
  trilha_publication p = publication_of("");
  p.payload = (trilha_text){payload, size};
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  trilha_publish_result_done(&r);
  memcpy(payload + size - 2, "a\"}", 3);
  p.payload.size = size + 1;
  expect_refused(handle, &p, "PAYLOAD_TOO_LARGE");
  free(payload);
}

/* A contract's author may write a pattern that a careless engine tries in exponentially many ways, and a citizen may
 * write a text of any length: the publisher is answered all the same, and others are not held up. */
static void patterns_that_explode_on_a_long_text_are_answered_and_nothing_is_stored(void **state) {
  static const struct {
    const char *pattern, *code;
  } cases[] = {{"^(a+)+$", "PAYLOAD_INVALID"},
               {"^(a|a|aa)*$", "PAYLOAD_INVALID"},
               {"(x+x+)+y", "PAYLOAD_INVALID"},
               {"^(?:(a+)+\\\\1)+b", "PAYLOAD_UNDECIDED"}}; /* no automaton has a back-reference */
  enum { SIZE = 1000000 };
  trilha_fixture *f = *state;
  char *payload = malloc(SIZE + 32);
  assert_non_null(payload);
  const int head = sprintf(payload, "{\"texto\":\"");
  memset(payload + head, 'a', SIZE);
  memcpy(payload + head + SIZE, "!\"}", 4);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char tipo[32], schema[256];
    snprintf(tipo, sizeof tipo, "teste.padrao_%zu", i);
    snprintf(schema, sizeof schema,
             "{\"type\":\"object\",\"properties\":{\"texto\":{\"type\":\"string\",\"pattern\":\"%s\",\"x-redacao\":"
             "\"manter\"}}}",
             cases[i].pattern);
    trilha_fixture_register(f->handle, tipo, "1.0.0", schema);
    trilha_publication p = publication_of(payload);
    p.tipo = trilha_text_of(tipo);
    expect_refused(f->handle, &p, cases[i].code);
  }
  free(payload);
  assert_int_equal(rows(state), 0);
}

/* {"n":1,"livre":[[[…]]]} nested `depth` levels in all. */
static char *nested(size_t depth, size_t *ret_size) {
  trilha_buffer b;
  trilha_buffer_init(&b, 0);
  trilha_buffer_add_string(&b, "{\"n\":1,\"livre\":");
  for (size_t i = 1; i < depth; i++) trilha_buffer_add_char(&b, '[');
  for (size_t i = 1; i < depth; i++) trilha_buffer_add_char(&b, ']');
  trilha_buffer_add_char(&b, '}');
  return trilha_buffer_take(&b, ret_size);
}

static void R8_B26_255_levels_pass_and_256_are_refused(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("");
  char *deep = nested(255, &p.payload.size);
  p.payload.data = deep;
  trilha_publish_result r;
  trilha_error err = {0};
  if (trilha_publish(handle, &p, &r, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  trilha_publish_result_done(&r);
  free(deep);
  deep = nested(256, &p.payload.size);
  p.payload.data = deep;
  expect_refused(handle, &p, "JSON_DEPTH");
  free(deep);
  p.payload.size = 900000;
  char *brackets = malloc(p.payload.size);
  assert_non_null(brackets);
  memset(brackets, '[', p.payload.size);
  p.payload.data = brackets;
  expect_refused(handle, &p, "JSON_DEPTH");
  free(brackets);
  assert_int_equal(rows(state), 1);
}

static void B25_what_a_store_cannot_keep_is_refused_before_any_write(void **state) {
  static const char *const pairs[][2] = {
      {"{\"n\":1,\"nome\":\"a\\u0000b\"}", "JSON_NUL"},
      {"{\"n\":1,\"nome\":\"\\ud800\"}", "JSON_SURROGATE"},
      {"{\"n\":1,\"nome\":\"x\",\"nome\":\"y\"}", "JSON_DUPLICATE_KEY"},
      {"{\"n\":1e400}", "JSON_NUMBER_RANGE"},
      {"{\"n\":1e131071}", "JSON_NUMBER_RANGE"},
      {"{\"n\":1", "JSON_SYNTAX"},
      {"{\"n\":1,\"nome\":\"\xff\"}", "JSON_UTF8"},
  };
  trilha *handle = begin(state);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    publish_number(handle, "teste.feito", (int64_t)i);
    trilha_publication p = publication_of(pairs[i][0]);
    expect_refused(handle, &p, pairs[i][1]);
  }
  assert_int_equal(rows(state), sizeof pairs / sizeof pairs[0]);
}

static void publish_many_stores_the_good_ones_in_order_and_names_the_bad(void **state) {
  trilha *handle = begin(state);
  enum { COUNT = 2500 };
  trilha_publication *p = calloc(COUNT, sizeof *p);
  trilha_publish_result *r = calloc(COUNT, sizeof *r);
  assert_true(p != NULL && r != NULL);
  for (int i = 0; i < COUNT; i++) p[i] = publication_of(i % 100 == 7 ? "{\"n\":\"x\"}" : "{\"n\":1}");
  trilha_error err = {0};
  assert_int_equal(trilha_publish_many(handle, p, COUNT, r, &err), TRILHA_INVALID);
  int64_t last = 0;
  for (int i = 0; i < COUNT; i++) {
    if (i % 100 == 7) {
      assert_int_equal(r[i].status, TRILHA_INVALID);
    } else {
      assert_int_equal(r[i].status, TRILHA_OK);
      assert_true(r[i].event->sequence_number > last);
      last = r[i].event->sequence_number;
    }
    trilha_publish_result_done(&r[i]);
  }
  assert_int_equal(rows(state), COUNT - COUNT / 100);
  free(p);
  free(r);
}

static void an_id_twice_in_one_call_is_stored_once(void **state) {
  trilha *handle = begin(state);
  trilha_publication p[2] = {publication_of("{\"n\":1}"), publication_of("{\"n\":2}")};
  p[0].event_id = p[1].event_id = TRILHA_TEXT(ID);
  trilha_publish_result r[2];
  assert_int_equal(trilha_publish_many(handle, p, 2, r, NULL), TRILHA_OK);
  assert_false(r[0].duplicate);
  assert_true(r[1].duplicate);
  assert_int_equal(r[1].content, TRILHA_CONTENT_DIFFERENT);
  assert_int_equal(r[0].event->sequence_number, r[1].event->sequence_number);
  trilha_publish_result_done(&r[0]);
  trilha_publish_result_done(&r[1]);
}

/* --- threads ----------------------------------------------------------------------------------------- */

enum { THREADS = 16, EACH = 25 };

typedef struct racer {
  trilha *handle;
  const char *event_id; /* NULL: new ids */
  int stored;
} racer;

static void *race(void *user) {
  racer *me = user;
  for (int i = 0; i < EACH; i++) {
    trilha_publication p = publication_of("{\"n\":1}");
    p.event_id = trilha_text_of(me->event_id);
    trilha_publish_result r;
    if (trilha_publish(me->handle, &p, &r, NULL) == TRILHA_OK && !r.duplicate) me->stored++;
    trilha_publish_result_done(&r);
  }
  return NULL;
}

static int run_racers(trilha *handle, const char *event_id) {
  pthread_t threads[THREADS];
  racer racers[THREADS];
  int stored = 0;
  for (int i = 0; i < THREADS; i++) {
    racers[i] = (racer){handle, event_id, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    stored += racers[i].stored;
  }
  return stored;
}

static void E2_many_threads_with_one_id_store_it_once(void **state) {
  trilha *handle = begin(state);
  assert_int_equal(run_racers(handle, ID), 1);
  assert_int_equal(rows(state), 1);
}

static void many_threads_publish_on_one_handle_and_lose_nothing(void **state) {
  trilha *handle = begin(state);
  assert_int_equal(run_racers(handle, NULL), THREADS * EACH);
  assert_int_equal(rows(state), THREADS * EACH);
  assert_int_equal(trilha_fixture_count(*state, "SELECT max(sequence_number) FROM {log}"), THREADS * EACH);
}

static void G3_bytes_are_the_same_under_a_locale_with_a_decimal_comma(void **state) {
  trilha *handle = begin(state);
  if (setlocale(LC_ALL, "comma") == NULL) setlocale(LC_ALL, "pt_BR.UTF-8"); /* "comma" is made by the build */
  trilha_publication p = publication_of("{\"n\":1.5,\"peso\":-0.04}");
  trilha_publish_result r;
  trilha_status status = trilha_publish(handle, &p, &r, NULL);
  setlocale(LC_ALL, "C");
  assert_int_equal(status, TRILHA_OK);
  trilha_event *stored;
  assert_int_equal(trilha_event_get(handle, trilha_text_of(r.event->event_id), &stored, NULL), TRILHA_OK);
  assert_non_null(strstr(stored->payload, "1.5"));
  assert_null(strstr(stored->payload, "-0"));
  trilha_event_free(stored);
  trilha_publish_result_done(&r);
}

static void a_check_answers_as_publish_would_and_writes_nothing(void **state) {
  trilha *handle = begin(state);
  trilha_publication p = publication_of("{\"n\":1.5}");
  trilha_publish_result r;
  assert_int_equal(trilha_publish_check(handle, &p, &r, NULL), TRILHA_OK);
  assert_int_equal(r.event->sequence_number, 0);
  assert_int_equal(r.event->payload_estado, TRILHA_PAYLOAD_REDIGIDO);
  assert_null(r.event->criado_em);
  assert_false(r.duplicate);
  char *json = NULL;
  size_t size = 0;
  assert_int_equal(trilha_event_to_json(r.event, &json, &size, NULL), TRILHA_OK);
  assert_null(strstr(json, "criado_em"));
  trilha_free(json);
  trilha_publish_result_done(&r);

  trilha_error error = {0};
  p.payload = trilha_text_of("{\"n\":\"text\"}");
  assert_int_equal(trilha_publish_check(handle, &p, &r, &error), TRILHA_INVALID);
  assert_string_equal(error.code, "PAYLOAD_INVALID");
  assert_true(r.payload_error_count > 0);
  trilha_publish_result_done(&r);
  assert_int_equal(rows(state), 0);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(T1_a_valid_event_is_stored_and_answered_with_its_sequence),
      ON_A_FRESH_STORE(T6_an_unregistered_type_is_refused_and_nothing_is_stored),
      ON_A_FRESH_STORE(T6_a_deprecated_type_is_refused_but_its_events_are_still_read),
      ON_A_FRESH_STORE(T7_T8_a_payload_that_is_no_object_is_refused_with_the_contract_text),
      ON_A_FRESH_STORE(T9_T19_a_repeated_id_gives_the_stored_record_once),
      ON_A_FRESH_STORE(B12_a_repeated_id_with_other_content_is_told_and_never_overwrites),
      ON_A_FRESH_STORE(R21_content_is_compared_under_the_key_of_the_stored_row),
      ON_A_FRESH_STORE(T12_T13_version_and_correlation_have_their_defaults),
      ON_A_FRESH_STORE(E1_the_steps_fail_in_their_order),
      ON_A_FRESH_STORE(E1_all_errors_of_a_payload_are_listed_without_its_values),
      ON_A_FRESH_STORE(R2_lengths_are_counted_in_characters),
      ON_A_FRESH_STORE(R3_timestamps_round_half_away_from_2000_and_keep_their_years),
      ON_A_FRESH_STORE(R8_a_payload_of_one_mebibyte_passes_and_one_byte_more_is_refused),
      ON_A_FRESH_STORE(patterns_that_explode_on_a_long_text_are_answered_and_nothing_is_stored),
      ON_A_FRESH_STORE(R8_B26_255_levels_pass_and_256_are_refused),
      ON_A_FRESH_STORE(B25_what_a_store_cannot_keep_is_refused_before_any_write),
      ON_A_FRESH_STORE(publish_many_stores_the_good_ones_in_order_and_names_the_bad),
      ON_A_FRESH_STORE(an_id_twice_in_one_call_is_stored_once),
      ON_A_FRESH_STORE(a_check_answers_as_publish_would_and_writes_nothing),
      ON_A_FRESH_STORE(E2_many_threads_with_one_id_store_it_once),
      ON_A_FRESH_STORE(many_threads_publish_on_one_handle_and_lose_nothing),
      ON_A_FRESH_STORE(G3_bytes_are_the_same_under_a_locale_with_a_decimal_comma),
  };
  return cmocka_run_group_tests_name("publish", tests, NULL, NULL);
}
