/* conformance: subscriptions and dead letters (specification 000, section 7.2: T2, T10, T11, T17, T18; rulings R11, R15
 * to R17; field reports B15, B17, B29, G5). */
#include <limits.h>
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
#include "trilha/delivery.h"

static trilha *begin(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_fixture_register(f->handle, "teste.b", "1.0.0", trilha_test_schema);
  return f->handle;
}

/* A handler that counts, keeps what it saw last and fails as told. */
typedef struct witness {
  int calls;
  int fail_first; /* so many calls fail */
  const char *fail_text;
  int64_t last, attempt;
  bool ordered, complete;
  char payload[256];
  char correlation[40];
  pthread_mutex_t mutex;
  int inside, most_inside;
} witness;

static void witness_init(witness *w) {
  *w = (witness){.ordered = true};
  pthread_mutex_init(&w->mutex, NULL);
}

static trilha_status see(void *user, const trilha_event *event, trilha_delivery *delivery) {
  witness *w = user;
  pthread_mutex_lock(&w->mutex);
  w->inside++;
  if (w->inside > w->most_inside) w->most_inside = w->inside;
  w->calls++;
  w->ordered &= event->sequence_number > w->last;
  w->last = event->sequence_number;
  w->attempt = trilha_delivery_attempt(delivery);
  w->complete = event->payload_estado == TRILHA_PAYLOAD_COMPLETO;
  snprintf(w->payload, sizeof w->payload, "%s", event->payload);
  const char *correlation = trilha_delivery_correlacao_id(delivery);
  snprintf(w->correlation, sizeof w->correlation, "%s", correlation == NULL ? "" : correlation);
  bool fails = w->calls <= w->fail_first;
  pthread_mutex_unlock(&w->mutex);
  trilha_status status = TRILHA_OK;
  if (fails) status = trilha_delivery_fail(delivery, "%s", w->fail_text == NULL ? "não deu" : w->fail_text);
  pthread_mutex_lock(&w->mutex);
  w->inside--;
  pthread_mutex_unlock(&w->mutex);
  return status;
}

static int64_t subscribe(trilha *handle, const char *tipo, const char *colonia, const char *nome,
                         trilha_handler handler, void *user) {
  trilha_subscription s = {.tipo = trilha_text_of(tipo),
                           .colonia = trilha_text_of(colonia),
                           .handler_nome = trilha_text_of(nome),
                           .handler = handler,
                           .user = user};
  int64_t id = 0;
  trilha_error err = {0};
  if (trilha_subscribe(handle, &s, &id, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  return id;
}

static trilha_dead_letters *letters(trilha *handle, const char *status) {
  trilha_dead_letters *found = NULL;
  trilha_dead_letters_filter filter = {.status = trilha_text_of(status)};
  trilha_error err = {0};
  if (trilha_dead_letters_query(handle, &filter, &found, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  return found;
}

static size_t count_letters(trilha *handle, const char *status) {
  trilha_dead_letters *found = letters(handle, status);
  size_t count = found->count;
  trilha_dead_letters_free(found);
  return count;
}

static void T2_T17_a_subscribed_handler_gets_the_full_payload_and_the_dlq_stays_empty(void **state) {
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  int64_t id = subscribe(handle, "teste.a", "D-4", "ver", see, &w);
  publish_number(handle, "teste.a", 7);
  publish_number(handle, "teste.b", 8);
  assert_int_equal(w.calls, 1);
  assert_true(w.complete);
  assert_non_null(strstr(w.payload, "Rua das Flores"));
  assert_int_equal(count_letters(handle, NULL), 0);
  trilha_events_page *page;
  assert_int_equal(trilha_events_query(handle, NULL, &page, NULL), TRILHA_OK);
  assert_int_equal(page->total, 2);
  trilha_events_page_free(page);
  assert_int_equal(trilha_unsubscribe(handle, id, NULL), TRILHA_OK);
  assert_int_equal(trilha_unsubscribe(handle, id, NULL), TRILHA_NOT_FOUND);
  publish_number(handle, "teste.a", 9);
  assert_int_equal(w.calls, 1);
}

static void T9_a_repeated_id_is_not_delivered_again(void **state) {
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  subscribe(handle, "teste.a", "D-4", "ver", see, &w);
  trilha_publication p = {.tipo = TRILHA_TEXT("teste.a"),
                          .origem = TRILHA_TEXT("D-1a"),
                          .payload = TRILHA_TEXT("{\"n\":1}"),
                          .event_id = TRILHA_TEXT("0a000000-0000-0000-0000-00000000000f")};
  for (int i = 0; i < 2; i++) {
    trilha_publish_result r;
    assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
    trilha_publish_result_done(&r);
  }
  assert_int_equal(w.calls, 1);
}

static void T10_T11_B17_a_failing_handler_leaves_a_dead_letter_and_stops_nobody(void **state) {
  trilha *handle = begin(state);
  witness good, bad, other;
  witness_init(&good);
  witness_init(&bad);
  witness_init(&other);
  bad.fail_first = 100;
  subscribe(handle, "teste.a", "D-3", "bom", see, &good);
  subscribe(handle, "teste.a", "D-4", "mau", see, &bad);
  subscribe(handle, "teste.a", "D-5", NULL, see, &other);
  int64_t first = publish_number(handle, "teste.a", 1);
  publish_number(handle, "teste.a", 2);
  publish_number(handle, "teste.a", 3);
  assert_int_equal(good.calls, 3);
  assert_int_equal(other.calls, 3);
  assert_int_equal(bad.calls, 3);
  trilha_dead_letters *found = letters(handle, "pendente");
  assert_int_equal(found->count, 3);
  const trilha_dead_letter *d = &found->items[0];
  assert_int_equal(d->sequence_number, first);
  assert_string_equal(d->colonia, "D-4");
  assert_string_equal(d->handler_nome, "mau");
  assert_string_equal(d->mensagem_erro, "não deu");
  assert_non_null(d->pilha_erro);
  assert_true(strlen(d->pilha_erro) > 20);
  assert_int_equal(d->tentativas, 1);
  assert_null(d->resolvido_em);
  trilha_dead_letters_free(found);
  const char *message;
  assert_int_equal(trilha_fixture_diagnostics(*state, "event.handler_failed", &message), 3);
  assert_string_equal(message, "Falha em manipulador de evento");
  trilha_dead_letter_statistics *s;
  assert_int_equal(trilha_dead_letter_stats(handle, &s, NULL), TRILHA_OK);
  assert_int_equal(s->count, 1);
  assert_string_equal(s->pendentes_por_colonia[0].colonia, "D-4");
  assert_int_equal(s->total_pendentes, 3);
  trilha_dead_letter_statistics_free(s);
}

static void E18_spans_and_the_alert_above_a_threshold_are_said(void **state) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  w.fail_first = INT_MAX;
  subscribe(handle, "teste.a", "D-4", "mau", see, &w);
  for (int i = 0; i < 99; i++) publish_number(handle, "teste.a", i);
  assert_int_equal(trilha_fixture_diagnostics(f, "dlq.above_threshold", NULL), 0);
  publish_number(handle, "teste.a", 99);
  size_t published = 100; /* on a slow machine the count of this one is owed, and another change says it */
  const trilha_deadline patience = trilha_deadline_in_ms(100000);
  while (trilha_fixture_diagnostics(f, "dlq.above_threshold", NULL) == 0 && !trilha_deadline_passed(patience))
    publish_number(handle, "teste.a", (int)published++);
  assert_in_range(trilha_fixture_diagnostics(f, "dlq.above_threshold", NULL), 1, published - 99);
  assert_int_equal(trilha_fixture_diagnostics(f, "event.publish", NULL), published);
  assert_int_equal(trilha_fixture_diagnostics(f, "event.process", NULL), published);
}

static void T18_a_reprocess_after_repair_resolves_the_dead_letter(void **state) {
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  w.fail_first = 2;
  subscribe(handle, "teste.a", "D-4", "frágil", see, &w);
  publish_number(handle, "teste.a", 1);
  trilha_reprocessed r;
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(r.reprocessados, 0);
  assert_int_equal(r.failed, 1);
  assert_int_equal(count_letters(handle, "pendente"), 1);
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(r.reprocessados, 1);
  assert_null(r.reason);
  assert_int_equal(w.attempt, 3); /* what the row counts, on both stores */
  assert_false(w.complete);       /* redelivery carries the redacted payload */
  assert_null(strstr(w.payload, "Flores"));
  trilha_dead_letters *found = letters(handle, "resolved");
  assert_int_equal(found->count, 1);
  assert_non_null(found->items[0].resolvido_em);
  assert_int_equal(found->items[0].tentativas, 3);
  trilha_dead_letters_free(found);
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(r.reprocessados, 0);
  assert_string_equal(r.reason, "nothing pending");
}

static void R16_retries_end_in_failed_permanent_until_an_operator_reopens(void **state) {
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  w.fail_first = 5;
  subscribe(handle, "teste.a", "D-4", "frágil", see, &w);
  publish_number(handle, "teste.a", 1);
  trilha_reprocessed r;
  for (int i = 0; i < 4; i++)
    assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  trilha_dead_letters *found = letters(handle, "failed_permanent");
  assert_int_equal(found->count, 1);
  assert_int_equal(found->items[0].tentativas, 5);
  assert_non_null(found->items[0].resolvido_em);
  int64_t id = found->items[0].id;
  trilha_dead_letters_free(found);
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(w.calls, 5);
  trilha_error err = {0};
  assert_int_equal(trilha_dead_letter_retry(handle, id, TRILHA_TEXT("tests"), (trilha_text){0}, &err), TRILHA_USAGE);
  assert_int_equal(trilha_dead_letter_retry(handle, id, TRILHA_TEXT("tests"), TRILHA_TEXT("corrigido"), NULL),
                   TRILHA_OK);
  assert_int_equal(trilha_dead_letter_retry(handle, id, TRILHA_TEXT("tests"), TRILHA_TEXT("de novo"), NULL),
                   TRILHA_CONFLICT);
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(r.reprocessados, 1);
  assert_int_equal(count_letters(handle, "resolved"), 1);
}

static void R11_two_handlers_of_one_colony_share_a_dead_letter_until_both_succeed(void **state) {
  trilha *handle = begin(state);
  witness one, two;
  witness_init(&one);
  witness_init(&two);
  one.fail_first = 1;
  two.fail_first = 2;
  subscribe(handle, "teste.a", "D-4", "um", see, &one);
  subscribe(handle, "teste.a", "D-4", "dois", see, &two);
  publish_number(handle, "teste.a", 1);
  trilha_dead_letters *found = letters(handle, NULL);
  assert_int_equal(found->count, 1);
  assert_string_equal(found->items[0].handler_nome, "dois");
  trilha_dead_letters_free(found);
  trilha_reprocessed r;
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(r.failed, 1);
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(r.reprocessados, 1);
}

static void R17_a_process_without_a_listener_changes_no_row_and_says_why(void **state) {
  trilha *handle = begin(state);
  trilha_fixture *f = *state;
  witness w;
  witness_init(&w);
  w.fail_first = 1;
  subscribe(handle, "teste.a", "D-4", "frágil", see, &w);
  publish_number(handle, "teste.a", 1);
  trilha *other = trilha_fixture_open(f, f->keyring);
  trilha_reprocessed r;
  assert_int_equal(trilha_reprocess(other, TRILHA_TEXT("D-9"), TRILHA_TEXT("tests"), 200, &r, NULL), TRILHA_OK);
  assert_int_equal(r.reprocessados, 0);
  assert_string_equal(r.reason, "no live listener");
  assert_int_equal(count_letters(handle, "pendente"), 1);
  trilha_close(other);
}

static void R17_a_request_from_another_process_runs_where_the_colony_subscribes(void **state) {
  trilha *handle = begin(state);
  trilha_fixture *f = *state;
  witness w;
  witness_init(&w);
  w.fail_first = 1;
  subscribe(handle, "teste.a", "D-4", "frágil", see, &w);
  publish_number(handle, "teste.a", 1);
  trilha *other = trilha_fixture_open(f, f->keyring);
  trilha_reprocessed r = {0};
  trilha_deadline end = trilha_deadline_in_ms(60000); /* the subscription's lease is made on its own thread */
  do {
    assert_int_equal(trilha_reprocess(other, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 60000, &r, NULL), TRILHA_OK);
  } while (r.reason != NULL && strcmp(r.reason, "no live listener") == 0 && !trilha_deadline_passed(end));
  assert_int_equal(r.reprocessados, 1);
  assert_int_equal(w.calls, 2);
  assert_int_equal(count_letters(handle, "resolved"), 1);
  trilha_close(other);
}

static trilha_status answer_with_another(void *user, const trilha_event *event, trilha_delivery *delivery) {
  witness *w = user;
  w->calls++;
  if (strcmp(event->tipo, "teste.b") == 0) return TRILHA_OK;
  trilha_publication p = {
      .tipo = TRILHA_TEXT("teste.b"), .origem = TRILHA_TEXT("D-4"), .payload = TRILHA_TEXT("{\"n\":2}")};
  trilha_publish_result r;
  int before = w->calls;
  trilha_status status = trilha_delivery_publish(delivery, &p, &r, NULL);
  if (w->calls != before) status = TRILHA_INTERNAL; /* delivered before this handler returned */
  trilha_publish_result_done(&r);
  return status;
}

static void E19_G5_a_publish_inside_a_handler_is_stored_at_once_and_delivered_after_it(void **state) {
  trilha *handle = begin(state);
  witness w, seen;
  witness_init(&w);
  witness_init(&seen);
  subscribe(handle, "teste.a", "D-4", "responde", answer_with_another, &w);
  subscribe(handle, "teste.b", "D-4", "recebe", answer_with_another, &w);
  subscribe(handle, "teste.b", "D-5", "vê", see, &seen);
  trilha_publication p = {.tipo = TRILHA_TEXT("teste.a"),
                          .origem = TRILHA_TEXT("D-1a"),
                          .payload = TRILHA_TEXT("{\"n\":1}"),
                          .correlacao_id = TRILHA_TEXT("00000000-0000-0000-0000-0000000000aa")};
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  trilha_publish_result_done(&r);
  assert_int_equal(w.calls, 2);
  assert_int_equal(seen.calls, 1);
  assert_string_equal(seen.correlation, "00000000-0000-0000-0000-0000000000aa");
  assert_int_equal(count_letters(handle, NULL), 0);
}

typedef struct selfish {
  trilha *handle;
  int64_t id;
  int calls;
  witness *late;
} selfish;

static trilha_status unsubscribe_itself(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  (void)delivery;
  selfish *s = user;
  s->calls++;
  if (trilha_unsubscribe(s->handle, s->id, NULL) != TRILHA_OK) return TRILHA_INTERNAL;
  subscribe(s->handle, "teste.a", "D-6", "tarde", see, s->late);
  return TRILHA_OK;
}

static void G5_a_handler_may_unsubscribe_itself_and_subscribe_others(void **state) {
  trilha *handle = begin(state);
  witness late;
  witness_init(&late);
  selfish s = {.handle = handle, .late = &late};
  s.id = subscribe(handle, "teste.a", "D-4", "uma vez", unsubscribe_itself, &s);
  publish_number(handle, "teste.a", 1);
  publish_number(handle, "teste.a", 2);
  assert_int_equal(s.calls, 1);
  assert_int_equal(late.calls, 1);
  assert_int_equal(count_letters(handle, NULL), 0);
}

static trilha_status always_answer(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  int *calls = user;
  ++*calls;
  trilha_publication p = {
      .tipo = TRILHA_TEXT("teste.a"), .origem = TRILHA_TEXT("D-4"), .payload = TRILHA_TEXT("{\"n\":2}")};
  trilha_publish_result r;
  trilha_error err = {0};
  trilha_status status = trilha_delivery_publish(delivery, &p, &r, &err);
  trilha_publish_result_done(&r);
  return status == TRILHA_OK ? TRILHA_OK : trilha_delivery_fail(delivery, "%s", err.code);
}

static void G5_a_handler_that_answers_itself_is_stopped_by_a_limit(void **state) {
  trilha *handle = begin(state);
  int calls = 0;
  subscribe(handle, "teste.a", "D-4", "eco", always_answer, &calls);
  publish_number(handle, "teste.a", 1);
  assert_int_equal(calls, 101);
  trilha_dead_letters *found = letters(handle, "pendente");
  assert_int_equal(found->count, 1);
  assert_string_equal(found->items[0].mensagem_erro, "NESTED_TOO_DEEP");
  trilha_dead_letters_free(found);
}

static void *publish_some(void *user) {
  for (int i = 0; i < 30; i++) publish_number(user, "teste.a", i);
  return NULL;
}

static void one_event_at_a_time_reaches_a_colony_in_sequence_order(void **state) {
  trilha *handle = begin(state);
  witness w, v;
  witness_init(&w);
  witness_init(&v);
  subscribe(handle, "teste.a", "D-4", "ordem", see, &w);
  subscribe(handle, "teste.a", "D-5", "ordem", see, &v);
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, publish_some, handle), 0);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  assert_int_equal(w.calls, 240);
  assert_int_equal(v.calls, 240);
  assert_true(w.ordered && v.ordered);
  assert_int_equal(w.most_inside, 1);
}

static void R11_the_31st_listener_is_accepted_with_a_warning(void **state) {
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  for (int i = 0; i < 30; i++) subscribe(handle, "teste.a", "D-4", "muitos", see, &w);
  assert_int_equal(trilha_fixture_diagnostics(*state, "subscription.many_listeners", NULL), 0);
  subscribe(handle, "teste.a", "D-4", "muitos", see, &w);
  assert_int_equal(trilha_fixture_diagnostics(*state, "subscription.many_listeners", NULL), 1);
  publish_number(handle, "teste.a", 1);
  assert_int_equal(w.calls, 31);
}

static void B29_an_error_text_never_carries_what_redaction_removed(void **state) {
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  w.fail_first = 100;
  char text[2000];
  snprintf(text, sizeof text,
           "falhou para Zuleica Quirinópolis (529.982.247-25, 52998224725) em ZULEICA\x01 \xff fim n=42");
  w.fail_text = text;
  subscribe(handle, "teste.a", "D-4", "vaza", see, &w);
  trilha_publication p = {
      .tipo = TRILHA_TEXT("teste.a"),
      .origem = TRILHA_TEXT("D-1a"),
      .payload =
          TRILHA_TEXT("{\"n\":42,\"nome\":\"Zuleica Quirinópolis, CPF 529.982.247-25\",\"texto\":\"52998224725\"}")};
  trilha_publish_result r;
  assert_int_equal(trilha_publish(handle, &p, &r, NULL), TRILHA_OK);
  trilha_publish_result_done(&r);
  trilha_dead_letters *found = letters(handle, "pendente");
  assert_int_equal(found->count, 1);
  /* No shorter than this: the stack has addresses, where three digits in a row come by chance. */
  static const char *const markers[] = {"Zuleica", "ZULEICA", "Quirin",   "529.",
                                        "982.",    "224-25",  "52998224", "98224725"};
  for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++) {
    assert_null(strstr(found->items[0].mensagem_erro, markers[i]));
    assert_null(strstr(found->items[0].pilha_erro, markers[i]));
  }
  assert_non_null(strstr(found->items[0].mensagem_erro, "falhou para"));
  assert_non_null(strstr(found->items[0].mensagem_erro, "fim n=42"));
  assert_true(trilha_utf8_valid(found->items[0].mensagem_erro, strlen(found->items[0].mensagem_erro)));
  trilha_dead_letters_free(found);
}

static trilha_status fail_with_megabytes(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  return trilha_delivery_fail(delivery, "%s", (const char *)user);
}

static void an_error_text_of_megabytes_is_cut_and_one_without_words_is_never_empty(void **state) {
  trilha *handle = begin(state);
  char *megabytes = malloc(5000001);
  assert_non_null(megabytes);
  memset(megabytes, 'x', 5000000);
  megabytes[5000000] = '\0';
  int64_t id = subscribe(handle, "teste.a", "D-4", "longo", fail_with_megabytes, megabytes);
  publish_number(handle, "teste.a", 1);
  trilha_unsubscribe(handle, id, NULL) == TRILHA_OK ? (void)0 : fail();
  subscribe(handle, "teste.a", "D-4", "vazio", fail_with_megabytes, (void *)(uintptr_t) "");
  publish_number(handle, "teste.a", 2);
  trilha_dead_letters *found = letters(handle, "pendente");
  assert_int_equal(found->count, 2);
  assert_in_range(strlen(found->items[0].mensagem_erro), 100, 4096);
  assert_true(strlen(found->items[1].mensagem_erro) > 0);
  trilha_dead_letters_free(found);
  free(megabytes);
}

static void *reprocess_now(void *user) {
  trilha_reprocessed *r = calloc(1, sizeof *r);
  if (r != NULL && trilha_reprocess(user, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, r, NULL) != TRILHA_OK)
    r->failed = -1;
  return r;
}

static trilha_status fail_when_live(void *user, const trilha_event *event, trilha_delivery *delivery) {
  witness *w = user;
  pthread_mutex_lock(&w->mutex);
  w->calls++;
  pthread_mutex_unlock(&w->mutex);
  if (event->payload_estado == TRILHA_PAYLOAD_COMPLETO) return trilha_delivery_fail(delivery, "ao vivo");
  trilha_clock_sleep_ms(20);
  return TRILHA_OK;
}

static void B15_two_reprocess_runs_at_once_run_every_row_once(void **state) {
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  subscribe(handle, "teste.a", "D-4", "corrida", fail_when_live, &w);
  for (int i = 0; i < 10; i++) publish_number(handle, "teste.a", i);
  w.calls = 0;
  pthread_t threads[3];
  int64_t done = 0;
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, reprocess_now, handle), 0);
  publish_number(handle, "teste.a", 99); /* and live work meanwhile */
  for (int i = 0; i < 3; i++) {
    void *r;
    pthread_join(threads[i], &r);
    assert_true(((trilha_reprocessed *)r)->failed == 0);
    done += ((trilha_reprocessed *)r)->reprocessados;
    free(r);
  }
  assert_in_range(done, 10, 11); /* the live event's letter may have been seen too */
  assert_int_equal(w.calls, done + 1);
  assert_int_equal(count_letters(handle, "resolved"), done);
}

static void R16_a_later_failure_reopens_the_same_row(void **state) {
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  w.fail_first = 1;
  subscribe(handle, "teste.a", "D-4", "frágil", see, &w);
  int64_t sequence = publish_number(handle, "teste.a", 1);
  trilha_reprocessed r;
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-4"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(count_letters(handle, "resolved"), 1);
  w.fail_first = 100;
  w.fail_text = "outra vez";
  trilha_replayed *replayed;
  assert_int_equal(trilha_replay(handle, sequence - 1, NULL, 0, &replayed, NULL), TRILHA_OK);
  assert_int_equal(trilha_redeliver(handle, TRILHA_TEXT("teste.a"), TRILHA_TEXT("D-4"), &replayed->events[0], NULL),
                   TRILHA_OK);
  trilha_dead_letters *found = letters(handle, "pendente");
  assert_int_equal(found->count, 1);
  assert_null(found->items[0].resolvido_em);
  assert_string_equal(found->items[0].mensagem_erro, "outra vez");
  trilha_dead_letters_free(found);
  w.fail_first = 0;
  assert_int_equal(trilha_redeliver(handle, TRILHA_TEXT("teste.a"), TRILHA_TEXT("D-4"), &replayed->events[0], NULL),
                   TRILHA_OK);
  assert_int_equal(count_letters(handle, "resolved"), 1);
  assert_int_equal(trilha_redeliver(handle, TRILHA_TEXT("teste.a"), TRILHA_TEXT("D-9"), &replayed->events[0], NULL),
                   TRILHA_NOT_FOUND);
  trilha_replayed_free(replayed);
}

static size_t count_redeliveries(trilha *handle) {
  trilha_audit_filter filter = {.action = TRILHA_TEXT("trilha.event.redelivered")};
  trilha_audit_records *records = NULL;
  assert_int_equal(trilha_audit_list(handle, &filter, &records, NULL), TRILHA_OK);
  size_t count = records->count;
  trilha_audit_records_free(records);
  return count;
}

static void a_redelivery_is_audited_and_what_cannot_be_is_not_done(void **state) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state);
  witness w;
  witness_init(&w);
  subscribe(handle, "teste.a", "D-4", "livro", see, &w);
  int64_t sequence = publish_number(handle, "teste.a", 1);
  assert_int_equal(w.calls, 1);
  trilha_replayed *replayed;
  assert_int_equal(trilha_replay(handle, sequence - 1, NULL, 0, &replayed, NULL), TRILHA_OK);
  const trilha_event *event = &replayed->events[0];
  assert_int_equal(trilha_redeliver(handle, TRILHA_TEXT("teste.a"), TRILHA_TEXT("D-4"), event, NULL), TRILHA_OK);
  assert_int_equal(w.calls, 2);
  assert_int_equal(count_redeliveries(handle), 1);
  trilha_fixture_change(
      f,
      "CREATE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
      "'no room' USING ERRCODE = '53100'; END $$; CREATE TRIGGER no_room BEFORE INSERT ON "
      "core.audit_log FOR EACH ROW EXECUTE FUNCTION public.no_room()",
      "CREATE TRIGGER no_room BEFORE INSERT ON core_audit_log BEGIN SELECT RAISE(ABORT, 'no room'); END");
  trilha_error err = {0};
  assert_int_not_equal(trilha_redeliver(handle, TRILHA_TEXT("teste.a"), TRILHA_TEXT("D-4"), event, &err), TRILHA_OK);
  assert_int_equal(w.calls, 2);
  assert_int_equal(trilha_redeliver(handle, TRILHA_TEXT("teste.a"), TRILHA_TEXT("D-9"), event, NULL), TRILHA_NOT_FOUND);
  assert_int_equal(count_redeliveries(handle), 1);
  trilha_replayed_free(replayed);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(T2_T17_a_subscribed_handler_gets_the_full_payload_and_the_dlq_stays_empty),
      ON_A_FRESH_STORE(T9_a_repeated_id_is_not_delivered_again),
      ON_A_FRESH_STORE(T10_T11_B17_a_failing_handler_leaves_a_dead_letter_and_stops_nobody),
      ON_A_FRESH_STORE(E18_spans_and_the_alert_above_a_threshold_are_said),
      ON_A_FRESH_STORE(T18_a_reprocess_after_repair_resolves_the_dead_letter),
      ON_A_FRESH_STORE(R16_retries_end_in_failed_permanent_until_an_operator_reopens),
      ON_A_FRESH_STORE(a_redelivery_is_audited_and_what_cannot_be_is_not_done),
      ON_A_FRESH_STORE(R11_two_handlers_of_one_colony_share_a_dead_letter_until_both_succeed),
      ON_A_FRESH_STORE(R17_a_process_without_a_listener_changes_no_row_and_says_why),
      ON_A_FRESH_STORE(R17_a_request_from_another_process_runs_where_the_colony_subscribes),
      ON_A_FRESH_STORE(E19_G5_a_publish_inside_a_handler_is_stored_at_once_and_delivered_after_it),
      ON_A_FRESH_STORE(G5_a_handler_may_unsubscribe_itself_and_subscribe_others),
      ON_A_FRESH_STORE(G5_a_handler_that_answers_itself_is_stopped_by_a_limit),
      ON_A_FRESH_STORE(one_event_at_a_time_reaches_a_colony_in_sequence_order),
      ON_A_FRESH_STORE(R11_the_31st_listener_is_accepted_with_a_warning),
      ON_A_FRESH_STORE(B29_an_error_text_never_carries_what_redaction_removed),
      ON_A_FRESH_STORE(an_error_text_of_megabytes_is_cut_and_one_without_words_is_never_empty),
      ON_A_FRESH_STORE(B15_two_reprocess_runs_at_once_run_every_row_once),
      ON_A_FRESH_STORE(R16_a_later_failure_reopens_the_same_row),
  };
  return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
