/* consumer: what each handler of this store's events promises, and that the list says no more than is so (ruling R37).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/text.h"
#include "conformance/publishing.h"
#include "support/expect.h"
#include "trilha/delivery.h"

enum { PATIENCE_MS = 60000, ROWS_MAX = 16 };

/* --- the list -------------------------------------------------------------------------------------------------- */

typedef struct listed {
  size_t count;
  struct {
    char handler[16], colonia[16], grupo[16], tipo[16], guarantee[16], because[80], holder[100];
    bool running, dated, grouped;
  } rows[ROWS_MAX];
} listed;

static void keep(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

static trilha_status keep_row(void *user, const trilha_handler_guarantee *h) {
  listed *l = user;
  assert_true(l->count < ROWS_MAX);
  keep(l->rows[l->count].handler, sizeof l->rows[0].handler, h->handler);
  keep(l->rows[l->count].colonia, sizeof l->rows[0].colonia, h->colonia);
  keep(l->rows[l->count].grupo, sizeof l->rows[0].grupo, h->grupo);
  keep(l->rows[l->count].tipo, sizeof l->rows[0].tipo, h->tipo);
  keep(l->rows[l->count].guarantee, sizeof l->rows[0].guarantee, h->guarantee);
  keep(l->rows[l->count].because, sizeof l->rows[0].because, h->because);
  keep(l->rows[l->count].holder, sizeof l->rows[0].holder, h->holder);
  l->rows[l->count].grouped = h->grupo.data != NULL;
  l->rows[l->count].dated = h->declared_at.data != NULL;
  l->rows[l->count++].running = h->running;
  return TRILHA_OK;
}

static listed list(trilha *handle) {
  listed l = {0};
  CHECKED(trilha_handlers_list(handle, keep_row, &l, error));
  return l;
}

/* --- consumers ------------------------------------------------------------------------------------------------- */

static const trilha_text both[] = {{"teste.a", 7}, {"teste.b", 7}};

static trilha *begin(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_fixture_register(f->handle, "teste.b", "1.0.0", trilha_test_schema);
  return f->handle;
}

typedef struct effect {
  PGconn *pg;
  sqlite3 *db;
  int calls;
  bool listed_running; /* seen by the handler, while its consumer has the lease */
  trilha *handle;
} effect;

static void open_effect(effect *e, const trilha_fixture *f) {
  *e = (effect){.handle = f->handle};
  if (f->is_postgres)
    e->pg = PQconnectdb(f->url);
  else
    assert_int_equal(sqlite3_open_v2(f->url + strlen("sqlite:"), &e->db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
}

static void close_effect(effect *e) {
  PQfinish(e->pg);
  sqlite3_close(e->db);
}

static void run_sql(effect *e, const char *sql) {
  if (e->pg == NULL) {
    assert_int_equal(sqlite3_exec(e->db, sql, NULL, NULL, NULL), SQLITE_OK);
    return;
  }
  PGresult *result = PQexec(e->pg, sql);
  assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
  PQclear(result);
}

static trilha_status count_it(void *user, const trilha_event *event, trilha_delivery *delivery) {
  effect *e = user;
  (void)event;
  (void)delivery;
  e->calls++;
  e->listed_running = list(e->handle).rows[0].running;
  return TRILHA_OK;
}

static trilha_status with_the_cursor(void *user, const trilha_event *event, trilha_delivery *delivery) {
  effect *e = user;
  (void)event;
  e->calls++;
  run_sql(e, e->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  CHECKED(trilha_delivery_advance_in(delivery, e->pg != NULL ? (void *)e->pg : (void *)e->db, error));
  run_sql(e, "COMMIT");
  return TRILHA_OK;
}

static void drain(trilha *handle, trilha_consumer_options options) {
  trilha_consumer *consumer = NULL;
  if (options.colonia.data == NULL) options.colonia = TRILHA_TEXT("D-4");
  if (options.type_count == 0) options.type_count = 1;
  options.types = both;
  options.from = TRILHA_FROM_START;
  options.once = true;
  CHECKED(trilha_consumer_new(handle, &options, &consumer, error));
  CHECKED(trilha_consumer_run(consumer, error));
  trilha_consumer_free(consumer);
}

static void R37_every_type_of_a_consumer_is_listed_and_one_that_says_nothing_is_durable(void **state) {
  trilha *handle = begin(state);
  effect e;
  open_effect(&e, *state);
  assert_int_equal(list(handle).count, 0);
  publish_number(handle, "teste.a", 1);
  drain(handle, (trilha_consumer_options){.handler = count_it, .user = &e, .type_count = 2});
  assert_int_equal(e.calls, 1);
  assert_true(e.listed_running);
  listed l = list(handle);
  assert_int_equal(l.count, 2);
  for (size_t i = 0; i < 2; i++) {
    assert_string_equal(l.rows[i].handler, "consumer");
    assert_string_equal(l.rows[i].colonia, "D-4");
    assert_true(l.rows[i].grouped && l.rows[i].grupo[0] == '\0');
    assert_string_equal(l.rows[i].tipo, both[i].data);
    assert_string_equal(l.rows[i].guarantee, "durable");
    assert_string_equal(l.rows[i].because, "");
    assert_true(l.rows[i].dated && strchr(l.rows[i].holder, ':') != NULL);
    assert_false(l.rows[i].running); /* it ended, and what it promised of its cursor stands */
  }
  close_effect(&e);
}

static void R37_what_a_consumer_declares_is_listed_until_its_next_holder_declares_something_else(void **state) {
  trilha *handle = begin(state);
  effect e;
  open_effect(&e, *state);
  publish_number(handle, "teste.a", 1);
  drain(handle,
        (trilha_consumer_options){.handler = with_the_cursor, .user = &e, .guarantee = TRILHA_GUARANTEE_ATOMIC});
  assert_int_equal(e.calls, 1);
  assert_int_equal(cursor_of(*state, "teste.a"), 1);
  assert_string_equal(list(handle).rows[0].guarantee, "atomic");
  drain(handle, (trilha_consumer_options){.handler = count_it,
                                          .user = &e,
                                          .grupo = TRILHA_TEXT("mail"),
                                          .colonia = TRILHA_TEXT("D-5"),
                                          .guarantee = TRILHA_GUARANTEE_BEST_EFFORT,
                                          .because = TRILHA_TEXT("a mail goes out twice")});
  listed l = list(handle);
  assert_int_equal(l.count, 2);
  assert_string_equal(l.rows[1].grupo, "mail");
  assert_string_equal(l.rows[1].guarantee, "best effort");
  assert_string_equal(l.rows[1].because, "a mail goes out twice");
  drain(handle, (trilha_consumer_options){.handler = count_it, .user = &e});
  l = list(handle);
  assert_string_equal(l.rows[0].guarantee, "durable");
  assert_string_equal(l.rows[1].guarantee, "best effort");
  close_effect(&e);
}

static void a_consumer_whose_effects_are_not_with_its_cursor_fails_when_it_declares_atomic(void **state) {
  trilha *handle = begin(state);
  effect e;
  open_effect(&e, *state);
  publish_number(handle, "teste.a", 1);
  drain(handle, (trilha_consumer_options){.handler = count_it, .user = &e, .guarantee = TRILHA_GUARANTEE_ATOMIC});
  assert_int_equal(e.calls, 1);
  assert_int_equal(cursor_of(*state, "teste.a"), 0);
  trilha_dead_letters *letters = NULL;
  CHECKED(trilha_dead_letters_pending(handle, TRILHA_TEXT("D-4"), &letters, error));
  assert_int_equal(letters->count, 1);
  assert_non_null(strstr(letters->items[0].mensagem_erro, "trilha_delivery_advance_in"));
  trilha_dead_letters_free(letters);
  drain(handle,
        (trilha_consumer_options){.handler = with_the_cursor, .user = &e, .guarantee = TRILHA_GUARANTEE_ATOMIC});
  assert_int_equal(cursor_of(*state, "teste.a"), 1);
  assert_int_equal(count_letters_with(handle, "resolved"), 1);
  close_effect(&e);
}

/* --- dead letters run again ------------------------------------------------------------------------------------ */

/* Its effect can happen once only: a column, made in the transaction that settles the dead letter. */
typedef enum mishap { NOTHING, ROLLED_BACK, FAILS_AFTER_COMMIT, NO_TRANSACTION } mishap;

typedef struct settler {
  effect e;
  mishap mishap;
} settler;

static void *connection_of(const effect *e) {
  return e->pg != NULL ? (void *)e->pg : (void *)e->db;
}

static trilha_status effect_with_the_letter(void *user, const trilha_event *event, trilha_delivery *delivery) {
  settler *s = user;
  trilha_error refused = {0};
  (void)event;
  s->e.calls++;
  if (s->mishap == NO_TRANSACTION) {
    assert_int_equal(trilha_delivery_advance_in(delivery, connection_of(&s->e), &refused), TRILHA_USAGE);
    return trilha_delivery_fail(delivery, "%s", refused.code);
  }
  run_sql(&s->e, s->e.pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  run_sql(&s->e,
          s->e.pg != NULL ? "CREATE TABLE IF NOT EXISTS effect (n int)" : "CREATE TABLE IF NOT EXISTS effect (n)");
  run_sql(&s->e, s->e.pg != NULL ? "ALTER TABLE effect ADD COLUMN once int" : "ALTER TABLE effect ADD COLUMN once");
  CHECKED(trilha_delivery_advance_in(delivery, connection_of(&s->e), error));
  run_sql(&s->e, s->mishap == ROLLED_BACK ? "ROLLBACK" : "COMMIT");
  return s->mishap == FAILS_AFTER_COMMIT ? trilha_delivery_fail(delivery, "after all") : TRILHA_OK;
}

static void leave_a_letter(void **state, trilha *handle, effect *e) {
  open_effect(e, *state);
  publish_number(handle, "teste.a", 1);
  drain(handle, (trilha_consumer_options){.handler = count_it, .user = e, .guarantee = TRILHA_GUARANTEE_ATOMIC});
  assert_int_equal(count_letters_with(handle, "pendente"), 1);
}

static trilha_reprocessed again(trilha *handle, settler *s, mishap how) {
  trilha_reprocessed done = {0};
  s->mishap = how;
  CHECKED(trilha_reprocess_with(handle, TRILHA_TEXT("D-4"), NULL, 0, TRILHA_TEXT("effect"), effect_with_the_letter, s,
                                &done, error));
  return done;
}

static void a_dead_letter_is_resolved_in_the_transaction_of_the_effect(void **state) {
  trilha *handle = begin(state);
  settler s = {0};
  leave_a_letter(state, handle, &s.e);
  trilha_reprocessed done = again(handle, &s, NO_TRANSACTION);
  assert_int_equal(done.failed, 1);
  done = again(handle, &s, ROLLED_BACK); /* and said OK all the same */
  assert_int_equal(done.failed, 1);
  assert_int_equal(done.reprocessados, 0);
  trilha_dead_letters *letters = NULL;
  CHECKED(trilha_dead_letters_pending(handle, TRILHA_TEXT("D-4"), &letters, error));
  assert_int_equal(letters->count, 1);
  assert_non_null(strstr(letters->items[0].mensagem_erro, "not committed"));
  trilha_dead_letters_free(letters);
  const int64_t cursor = cursor_of(*state, "teste.a");
  done = again(handle, &s, NOTHING);
  assert_int_equal(done.reprocessados, 1);
  assert_int_equal(count_letters_with(handle, "resolved"), 1);
  assert_int_equal(cursor_of(*state, "teste.a"), cursor);
  done = again(handle, &s, NOTHING);
  assert_int_equal(done.reprocessados + done.failed, 0);
  close_effect(&s.e);
}

static void what_a_handler_committed_stays_although_it_then_says_that_it_failed(void **state) {
  trilha *handle = begin(state);
  settler s = {0};
  leave_a_letter(state, handle, &s.e);
  trilha_reprocessed done = again(handle, &s, FAILS_AFTER_COMMIT);
  assert_int_equal(done.reprocessados + done.failed, 0); /* told as overtaken: it changed nothing any more */
  assert_int_equal(count_letters_with(handle, "resolved"), 1);
  assert_int_equal(count_letters_with(handle, "pendente"), 0);
  close_effect(&s.e);
}

static void a_guarantee_that_is_none_or_lacks_its_reason_is_refused(void **state) {
  trilha *handle = begin(state);
  trilha_consumer *consumer = NULL;
  trilha_consumer_options options = {
      .colonia = TRILHA_TEXT("D-4"), .types = both, .type_count = 1, .handler = count_it};
  options.guarantee = TRILHA_GUARANTEE_BEST_EFFORT;
  REFUSED(trilha_consumer_new(handle, &options, &consumer, error), "CONSUMER_OPTION_INVALID");
  options.guarantee = (trilha_guarantee)4;
  options.because = TRILHA_TEXT("why");
  REFUSED(trilha_consumer_new(handle, &options, &consumer, error), "CONSUMER_OPTION_INVALID");
  assert_null(consumer);
}

/* --- subscriptions ----------------------------------------------------------------------------------------------- */

static trilha_status hear(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  (void)event;
  (void)delivery;
  return TRILHA_OK;
}

static listed wait_for(trilha *handle, size_t count) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  listed l = list(handle);
  for (; l.count != count && !trilha_deadline_passed(patience); l = list(handle)) trilha_clock_sleep_ms(20);
  assert_int_equal(l.count, count);
  return l;
}

static void R37_a_subscription_is_listed_as_best_effort_while_its_process_has_it(void **state) {
  trilha *handle = begin(state), *other = trilha_fixture_open(*state, NULL);
  const trilha_subscription subscription = {both[0], TRILHA_TEXT("D-9"), TRILHA_TEXT("ouvir"), hear, NULL};
  int64_t id = 0;
  CHECKED(trilha_subscribe(other, &subscription, &id, error));
  listed l = wait_for(handle, 1); /* seen from another handle, as by another process */
  assert_string_equal(l.rows[0].handler, "subscription");
  assert_string_equal(l.rows[0].colonia, "D-9");
  assert_string_equal(l.rows[0].tipo, "teste.a");
  assert_string_equal(l.rows[0].guarantee, "best effort");
  assert_non_null(strstr(l.rows[0].because, "is lost"));
  assert_true(l.rows[0].running && !l.rows[0].grouped && strncmp(l.rows[0].holder, "live", 4) != 0);
  CHECKED(trilha_unsubscribe(other, id, error));
  (void)wait_for(handle, 0);
  CHECKED(trilha_subscribe(other, &subscription, &id, error));
  (void)wait_for(handle, 1);
  trilha_close(other);
  assert_int_equal(list(handle).count, 0);
}

static void a_subscription_of_a_process_that_died_is_listed_until_its_lease_ends(void **state) {
  trilha *handle = begin(state);
  const trilha_fixture *f = *state;
  effect e;
  open_effect(&e, f);
  run_sql(
      &e,
      f->is_postgres
          ? "INSERT INTO core.consumer_lease (colonia, grupo, holder, token, expires_at, types) VALUES ('D-9', "
            "'live host:1:ab', 'live host:1:ab', 1, now() + interval '1 hour', ARRAY['teste.a', 'teste.b'])"
          : "INSERT INTO core_consumer_lease (colonia, grupo, holder, token, boot_id, boot_us, types) SELECT 'D-9', "
            "'live host:1:ab', 'live host:1:ab', 1, 'another start of the machine', 9000000000000000, "
            "'[\"teste.a\",\"teste.b\"]'");
  if (!f->is_postgres) { /* of this start of the machine, which a consumer's lease names */
    assert_int_equal(list(handle).count, 0);
    drain(handle, (trilha_consumer_options){.handler = count_it, .user = &e});
    run_sql(&e,
            "UPDATE core_consumer_lease SET boot_id = (SELECT boot_id FROM core_consumer_lease WHERE grupo = '') WHERE "
            "grupo <> ''");
    run_sql(&e, "DELETE FROM core_consumer_lease WHERE grupo = ''");
  }
  listed l = list(handle);
  assert_int_equal(l.count, 2);
  assert_string_equal(l.rows[0].holder, "host:1:ab");
  assert_string_equal(l.rows[1].tipo, "teste.b");
  run_sql(&e, f->is_postgres ? "UPDATE core.consumer_lease SET expires_at = now() - interval '1 second'"
                             : "UPDATE core_consumer_lease SET boot_us = 1");
  assert_int_equal(list(handle).count, 0);
  close_effect(&e);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(R37_every_type_of_a_consumer_is_listed_and_one_that_says_nothing_is_durable),
      TEST(R37_what_a_consumer_declares_is_listed_until_its_next_holder_declares_something_else),
      TEST(a_consumer_whose_effects_are_not_with_its_cursor_fails_when_it_declares_atomic),
      TEST(a_dead_letter_is_resolved_in_the_transaction_of_the_effect),
      TEST(what_a_handler_committed_stays_although_it_then_says_that_it_failed),
      TEST(a_guarantee_that_is_none_or_lacks_its_reason_is_refused),
      TEST(R37_a_subscription_is_listed_as_best_effort_while_its_process_has_it),
      TEST(a_subscription_of_a_process_that_died_is_listed_until_its_lease_ends),
  };
  return cmocka_run_group_tests_name("guarantees of handlers", tests, NULL, NULL);
}
