/* conformance: the same random requests, many of them hostile, go to both stores, which must answer alike and hold the
 * same rows (rulings R1 to R4, R8). TRILHA_TEST_SEED repeats a run that failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "conformance/publishing.h"

enum { REQUESTS = 1500, FIELDS = 9, FIELD_MAX = 600, PAYLOAD_MAX = 4096, IDS = 40 };

typedef struct request {
  char fields[FIELDS][FIELD_MAX];
  size_t sizes[FIELDS];
  bool given[FIELDS];
  char payload[PAYLOAD_MAX];
  size_t payload_size;
} request;

static const char *const valid[FIELDS][4] = {
    {"teste.a", "teste.b", "teste.a", "teste.desconhecido"},
    {"D-1a", "D-4", "painel", "á"},
    {"1.0.0", "2.0.0", "1.0.0", "9.9.9"},
    {"2026-08-08T11:20:47Z", "2026-08-08T11:20:47.995-03:00", "0001-01-01T00:00Z", "9999-12-31T23:59:59.999Z"},
    {"00000000-0000-0000-0000-0000000000AA", "ffffffff-ffff-ffff-ffff-ffffffffffff",
     "0a000000-0000-4000-8000-000000000001", "{0a000000-0000-4000-8000-000000000001}"},
    {"inquilino", "t2", "", "ç"},
    {"chave", "k", "", "x y"},
    {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-0-0-00",
     "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
    {"vendor=1", "a=b,c=d", "", "=="},
};
static const char *const payloads[] = {
    "{\"n\":1}",
    "{\"n\":1.5e3,\"texto\":\"Rua das Flores\",\"nome\":\"Zuleica\"}",
    "{\"n\":-0.0,\"peso\":12.349999,\"canal\":\"app\"}",
    "{\"n\":1e400,\"livre\":[1,2,{\"a\":null}]}",
    "{\"n\":0.1,\"texto\":\"\\u00e1\\ud83d\\ude00\"}",
    "{\"n\":1,\"n\":2}",
    "{\"n\":1,\"texto\":\"\\u0000\"}",
    "{\"n\":1,\"outro\":true}",
    "[1]",
    "null",
    "{\"n\":123456789012345678901234567890.000000000000000000001}",
    "{\"n\":1,\"texto\":\"\\ud800\"}",
    "{\"n\":1E-400,\"peso\":-0.05}",
};
static const char *const tokens[] = {"\\u0000",
                                     "\xff",
                                     "\xc3\x28",
                                     "\xed\xa0\x80",
                                     "\"",
                                     "}",
                                     "'",
                                     ";--",
                                     "\x7f",
                                     "\n",
                                     "9999999999999999999",
                                     "\xf4\x90\x80\x80",
                                     "e",
                                     "-",
                                     "\xc2\x85",
                                     "\xef\xbf\xbf"};

static size_t pick(unsigned *seed, size_t below) {
  return (size_t)rand_r(seed) % below;
}

/* One in four texts is changed: a byte, a token in the middle, or its length at and around every limit. */
static void mutate(unsigned *seed, char *text, size_t *size, size_t room) {
  static const size_t lengths[] = {0, 1, 20, 21, 100, 101, 255, 256, 512, 513};
  size_t n;
  switch (pick(seed, 12)) {
    case 0:
      if (*size != 0) text[pick(seed, *size)] = (char)pick(seed, 256);
      return;
    case 1: {
      const char *token = tokens[pick(seed, sizeof tokens / sizeof tokens[0])];
      size_t at = pick(seed, *size + 1), more = strlen(token);
      if (*size + more > room) return;
      memmove(text + at + more, text + at, *size - at);
      memcpy(text + at, token, more);
      *size += more;
      return;
    }
    case 2:
      n = lengths[pick(seed, sizeof lengths / sizeof lengths[0])];
      if (n > room) return;
      memset(text, 'a', n);
      *size = n;
      return;
    default:
      return;
  }
}

static void make(unsigned *seed, request *r) {
  *r = (request){0};
  for (size_t i = 0; i < FIELDS; i++) {
    const char *text = valid[i][pick(seed, 10) < 8 ? pick(seed, 2) : pick(seed, 4)];
    r->given[i] = i < 2 || pick(seed, 3) == 0;
    r->sizes[i] = strlen(text);
    memcpy(r->fields[i], text, r->sizes[i]);
    if (pick(seed, 3) == 0) mutate(seed, r->fields[i], &r->sizes[i], FIELD_MAX);
  }
  const char *payload = payloads[pick(seed, 2) == 0 ? pick(seed, 3) : pick(seed, sizeof payloads / sizeof payloads[0])];
  r->payload_size = strlen(payload);
  memcpy(r->payload, payload, r->payload_size);
  if (pick(seed, 2) == 0) mutate(seed, r->payload, &r->payload_size, PAYLOAD_MAX);
}

static trilha_text field(const request *r, size_t i) {
  return r->given[i] ? (trilha_text){r->fields[i], r->sizes[i]} : (trilha_text){0};
}

static void same_text(const char *what, const char *a, const char *b) {
  if ((a == NULL) != (b == NULL) || (a != NULL && strcmp(a, b) != 0))
    fail_msg("%s differs: SQLite %s, PostgreSQL %s", what, a == NULL ? "NULL" : a, b == NULL ? "NULL" : b);
}

static void same_event(const trilha_event *a, const trilha_event *b, bool has_timestamp) {
  assert_int_equal(a->sequence_number, b->sequence_number);
  same_text("event_id", a->event_id, b->event_id);
  same_text("tipo", a->tipo, b->tipo);
  same_text("versao_schema", a->versao_schema, b->versao_schema);
  same_text("origem", a->origem, b->origem);
  same_text("correlacao_id", a->correlacao_id, b->correlacao_id);
  same_text("tenant_id", a->tenant_id, b->tenant_id);
  same_text("aggregate_key", a->aggregate_key, b->aggregate_key);
  same_text("traceparent", a->traceparent, b->traceparent);
  same_text("tracestate", a->tracestate, b->tracestate);
  if (has_timestamp) same_text("timestamp", a->timestamp, b->timestamp);
  assert_int_equal(a->payload_estado, b->payload_estado);
}

typedef struct pair {
  trilha *sqlite, *postgres;
  size_t stored, refused, repeated;
} pair;

static void compare(pair *both, const trilha_publication *p, bool has_timestamp) {
  trilha_publish_result a, b;
  trilha_status x = trilha_publish(both->sqlite, p, &a, NULL), y = trilha_publish(both->postgres, p, &b, NULL);
  if (x != y || a.duplicate != b.duplicate || a.content != b.content || strcmp(a.error.code, b.error.code) != 0 ||
      strcmp(a.error.text, b.error.text) != 0 || a.payload_error_count != b.payload_error_count)
    fail_msg("SQLite %d %d %d %s %s, PostgreSQL %d %d %d %s %s", (int)x, a.duplicate, (int)a.content, a.error.code,
             a.error.text, (int)y, b.duplicate, (int)b.content, b.error.code, b.error.text);
  if (x == TRILHA_OK) same_event(a.event, b.event, has_timestamp && !a.duplicate); /* else each made its own */
  if (x == TRILHA_OK && a.duplicate)
    both->repeated++;
  else if (x == TRILHA_OK)
    both->stored++;
  else
    both->refused++;
  trilha_publish_result_done(&a);
  trilha_publish_result_done(&b);
}

/* Ids come from a few, so that repeats with the same and with other content are common. */
static void send(pair *both, unsigned *seed, const request *r) {
  char id[40];
  snprintf(id, sizeof id, "0A000000-0000-0000-0000-%012zx", pick(seed, 5) == 0 ? pick(seed, IDS) : IDS + both->stored);
  trilha_publication p = {.tipo = field(r, 0),
                          .origem = field(r, 1),
                          .payload = {r->payload, r->payload_size},
                          .event_id = trilha_text_of(id),
                          .versao_schema = field(r, 2),
                          .timestamp = field(r, 3),
                          .correlacao_id = field(r, 4),
                          .tenant_id = field(r, 5),
                          .aggregate_key = field(r, 6),
                          .traceparent = field(r, 7),
                          .tracestate = field(r, 8),
                          .aggregate_sequence = (int64_t)pick(seed, 3) - 1};
  compare(both, &p, r->given[3] && r->sizes[3] != 0);
  if (pick(seed, 8) == 0) compare(both, &p, r->given[3] && r->sizes[3] != 0);
}

static void same_rows(const pair *both) {
  for (int64_t after = 0;;) {
    trilha_replayed *a = NULL, *b = NULL;
    assert_int_equal(trilha_replay(both->sqlite, after, NULL, 0, &a, NULL), TRILHA_OK);
    assert_int_equal(trilha_replay(both->postgres, after, NULL, 0, &b, NULL), TRILHA_OK);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) same_event(&a->events[i], &b->events[i], false);
    size_t count = a->count;
    if (count != 0) after = a->events[count - 1].sequence_number;
    trilha_replayed_free(a);
    trilha_replayed_free(b);
    if (count == 0) return;
  }
}

static void the_same_hostile_requests_get_the_same_answers_and_rows_from_both_stores(void **state) {
  (void)state;
  void *fixtures[2] = {NULL, NULL};
  setenv("TRILHA_TEST_STORE", "sqlite", 1);
  assert_int_equal(trilha_fixture_setup(&fixtures[0]), 0);
  setenv("TRILHA_TEST_STORE", "postgresql", 1);
  assert_int_equal(trilha_fixture_setup(&fixtures[1]), 0);
  pair both = {.sqlite = ((trilha_fixture *)fixtures[0])->handle, .postgres = ((trilha_fixture *)fixtures[1])->handle};
  trilha *handles[] = {both.sqlite, both.postgres};
  for (size_t i = 0; i < 2; i++) {
    trilha_fixture_register(handles[i], "teste.a", "1.0.0", trilha_test_schema);
    trilha_fixture_register(handles[i], "teste.b", "1.0.0", trilha_test_schema);
  }
  const char *given = getenv("TRILHA_TEST_SEED");
  unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)trilha_clock_wall_us();
  print_message("# seed %u\n", seed);
  for (int i = 0; i < REQUESTS; i++) {
    request r;
    make(&seed, &r);
    send(&both, &seed, &r);
  }
  print_message("# %zu stored, %zu repeated, %zu refused\n", both.stored, both.repeated, both.refused);
  assert_true(both.stored > REQUESTS / 20 && both.refused > REQUESTS / 20 && both.repeated > 0);
  same_rows(&both);
  for (size_t i = 0; i < 2; i++) trilha_fixture_teardown(&fixtures[i]);
}

int main(void) {
  setenv("TRILHA_TEST_STORE", "postgresql", 1); /* the one that may be missing */
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_hostile_requests_get_the_same_answers_and_rows_from_both_stores)};
  return cmocka_run_group_tests_name("differential", tests, NULL, NULL);
}
