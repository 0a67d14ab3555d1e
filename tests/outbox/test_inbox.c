/* outbox: looking into a large inbox (requirement O5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "outbox/producer.h"
#include "support/expect.h"

static trilha_status count_entry(void *user, const trilha_inbox_entry *entry) {
  (void)entry;
  ++*(int *)user;
  return TRILHA_OK;
}

static trilha_status count_conflict(void *user, const trilha_inbox_conflict *conflict) {
  (void)conflict;
  ++*(int *)user;
  return TRILHA_OK;
}

/* Twenty thousand accepted messages of a dozen (tenant, consumer); the last of them twice with other content. */
static void fill_inbox(const trilha_producer *p) {
  const char *fill =
      p->pg != NULL
          ? "INSERT INTO {p}inbox_message (tenant_id, consumer, message_id, payload_sha256) SELECT 't' || i % 4, 'c' "
            "|| i % 3, "
            "md5('m' || i)::uuid, repeat('0', 64) FROM generate_series(1, 20000) i"
          : "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO "
            "{p}inbox_message "
            "(tenant_id, consumer, message_id, payload_sha256, accepted_us) SELECT 't' || (i % 4), 'c' || (i % 3), "
            "printf('%08x-0000-4000-8000-000000000000', i), printf('%064d', 0), i FROM n";
  trilha_producer_run(p, fill);
  trilha_producer_run(
      p, p->pg != NULL
             ? "INSERT INTO {p}inbox_repeat (tenant_id, consumer, message_id, outcome, payload_sha256) "
               "SELECT tenant_id, consumer, message_id, 'conflict', repeat('1', 64) FROM {p}inbox_message"
             : "INSERT INTO {p}inbox_repeat (tenant_id, consumer, message_id, outcome, payload_sha256, at_us) "
               "SELECT tenant_id, consumer, message_id, 'conflict', printf('%064d', 1), 1 FROM "
               "{p}inbox_message");
}

/* Pages that a call looked at. */
static int64_t pages_of(const trilha_producer *p, const char *call, const char *id) {
  char sql[400];
  snprintf(sql, sizeof sql, "SELECT pages_of('SELECT * FROM {p}%s(NULL, NULL, ''%s'', 10)')", call, id);
  return trilha_producer_count(p, sql);
}

static void a_message_s_id_alone_is_found_without_reading_the_inbox(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  int rows = 0;
  char id[64];
  fill_inbox(&p);
  trilha_producer_text(&p, "SELECT message_id FROM {p}inbox_message WHERE tenant_id = 't3' AND consumer = 'c2' LIMIT 1",
                       id, sizeof id);
  const trilha_inbox_filter filter = {.message_id = trilha_text_of(id)};
  CHECKED(trilha_inbox_list(outbox, &filter, count_entry, &rows, error));
  assert_int_equal(rows, 1);
  rows = 0;
  CHECKED(trilha_inbox_conflicts(outbox, &filter, count_conflict, &rows, error));
  assert_int_equal(rows, 1);
  if (p.pg != NULL) {
    trilha_producer_run(
        &p,
        "CREATE FUNCTION pages_of(q text) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE j json; BEGIN EXECUTE "
        "'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || q INTO j; RETURN (j->0->'Plan'->>'Shared Hit Blocks')::bigint "
        "+ (j->0->'Plan'->>'Shared Read Blocks')::bigint; END $$");
    pages_of(&p, "inbox_list", id); /* catalogs are read the first time */
    pages_of(&p, "inbox_conflicts", id);
    assert_in_range(pages_of(&p, "inbox_list", id), 1, 200); /* twelve keys, a few pages each; the whole is 700 */
    assert_in_range(pages_of(&p, "inbox_conflicts", id), 1, 200);
  }
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

/* --- page by page ------------------------------------------------------------------------------------------------ */

#define FIRST_ID "01a22b42-62b6-70d6-925b-e4ab243a1dc6"

typedef struct scene {
  trilha_producer p;
  trilha_outbox *outbox;
} scene;

static scene open_scene(void **state) {
  scene s = {.p = trilha_producer_open(*state, true)};
  s.outbox = trilha_producer_outbox(*state);
  return s;
}

static void close_scene(scene *s) {
  trilha_outbox_close(s->outbox);
  trilha_producer_close(&s->p);
}

static void accept_it(scene *s, const char *consumer, const char *id, const char *payload) {
  const trilha_inbox_message message = {.tenant_id = TRILHA_TEXT("acme"),
                                        .consumer = trilha_text_of(consumer),
                                        .message_id = trilha_text_of(id),
                                        .payload = trilha_text_of(payload)};
  trilha_inbox_answer answer = {0};
  trilha_producer_run(&s->p, s->p.pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  CHECKED(trilha_producer_accept(&s->p, &message, &answer, error));
  trilha_producer_run(&s->p, "COMMIT");
  trilha_free(answer.result);
}

static void keep(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

typedef struct page {
  size_t rows;
  char keys[4][100], place[200];
} page;

static void add_to(page *p, trilha_text consumer, trilha_text message_id, trilha_text place) {
  assert_true(p->rows < 4);
  snprintf(p->keys[p->rows++], sizeof p->keys[0], "%.*s %.*s", (int)consumer.size, consumer.data, (int)message_id.size,
           message_id.data);
  keep(p->place, sizeof p->place, place);
}

static trilha_status add_entry_to(void *user, const trilha_inbox_entry *e) {
  add_to(user, e->consumer, e->message_id, e->place);
  return TRILHA_OK;
}

static trilha_status add_conflict_to(void *user, const trilha_inbox_conflict *c) {
  add_to(user, c->consumer, c->message_id, c->place);
  return TRILHA_OK;
}

static page page_of(scene *s, bool conflicts, const char *after) {
  page p = {.rows = 0};
  const trilha_inbox_filter filter = {.limit = 2, .after = after == NULL ? (trilha_text){0} : trilha_text_of(after)};
  if (conflicts)
    CHECKED(trilha_inbox_conflicts(s->outbox, &filter, add_conflict_to, &p, error));
  else
    CHECKED(trilha_inbox_list(s->outbox, &filter, add_entry_to, &p, error));
  return p;
}

/* Every row once, however many share their time, and none that came after the first page was read. */
static void assert_pages_meet(scene *s, bool conflicts) {
  char seen[8][100];
  size_t count = 0;
  page p = page_of(s, conflicts, NULL);
  accept_it(s, "late", FIRST_ID, "{}");
  accept_it(s, "late", FIRST_ID, "{\"a\": 9}");
  for (; p.rows > 0; p = page_of(s, conflicts, p.place))
    for (size_t i = 0; i < p.rows; i++) {
      for (size_t k = 0; k < count; k++) assert_string_not_equal(seen[k], p.keys[i]);
      assert_true(count < 8 && strncmp(p.keys[i], "late", 4) != 0);
      memcpy(seen[count++], p.keys[i], sizeof seen[0]);
    }
  assert_int_equal(count, 5);
}

static void fill_inbox_of(scene *s) {
  static const char *const consumers[] = {"stock", "freight:a", "f:1:\"b", "x", "y"};
  for (size_t i = 0; i < 5; i++) {
    accept_it(s, consumers[i], FIRST_ID, "{}");
    accept_it(s, consumers[i], FIRST_ID, "{\"a\": 1}");
  }
}

static void pages_of_the_inbox_meet_whatever_comes_meanwhile(void **state) {
  scene s = open_scene(state);
  fill_inbox_of(&s);
  trilha_producer_run(
      &s.p, s.p.pg != NULL ? "UPDATE {p}inbox_message SET accepted_at = '2026-01-01T00:00:00Z' WHERE consumer < 'x'"
                           : "UPDATE {p}inbox_message SET accepted_us = 1767225600000000 WHERE consumer < 'x'");
  assert_pages_meet(&s, false);
  close_scene(&s);
}

static void pages_of_conflicts_meet_whatever_comes_meanwhile(void **state) {
  scene s = open_scene(state);
  fill_inbox_of(&s);
  assert_pages_meet(&s, true);
  close_scene(&s);
}

static void a_place_of_no_row_is_refused(void **state) {
  static const char *const wrong[] = {"",
                                      "x",
                                      "1:x:1:ab",
                                      ("1:" FIRST_ID ":1:a"),
                                      ("1:" FIRST_ID ":0:ab"),
                                      ("1:" FIRST_ID ":9:ab"),
                                      ("-1:" FIRST_ID ":1:ab"),
                                      ("1234567890123456789:" FIRST_ID ":1:ab"),
                                      ("1:" FIRST_ID)};
  scene s = open_scene(state);
  int rows = 0;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const trilha_inbox_filter filter = {.after = trilha_text_of(wrong[i])};
    REFUSED(trilha_inbox_list(s.outbox, &filter, count_entry, &rows, error), "PLACE_INVALID");
    REFUSED(trilha_inbox_conflicts(s.outbox, &filter, count_conflict, &rows, error), "PLACE_INVALID");
  }
  close_scene(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_message_s_id_alone_is_found_without_reading_the_inbox),
      TEST(pages_of_the_inbox_meet_whatever_comes_meanwhile),
      TEST(pages_of_conflicts_meet_whatever_comes_meanwhile),
      TEST(a_place_of_no_row_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
