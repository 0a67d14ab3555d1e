/* conformance: subscriptions under races: handlers that unsubscribe each other, a listener that goes while its turn is
 * waited for, hanging handlers, and everything at once from many threads (requirement E19; field reports B15, G5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

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

static int64_t subscribe(trilha *handle, const char *tipo, const char *colonia, trilha_handler handler, void *user) {
  trilha_subscription s = {
      .tipo = trilha_text_of(tipo), .colonia = trilha_text_of(colonia), .handler = handler, .user = user};
  int64_t id = 0;
  assert_int_equal(trilha_subscribe(handle, &s, &id, NULL), TRILHA_OK);
  return id;
}

static size_t letters(trilha *handle, const char *status) {
  trilha_dead_letters *found = NULL;
  trilha_dead_letters_filter filter = {.status = trilha_text_of(status)};
  assert_int_equal(trilha_dead_letters_query(handle, &filter, &found, NULL), TRILHA_OK);
  size_t count = found->count;
  trilha_dead_letters_free(found);
  return count;
}

static void wait_for(_Atomic int *flag) {
  trilha_deadline end = trilha_deadline_in_ms(60000);
  while (atomic_load(flag) == 0 && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(2);
  assert_int_not_equal(atomic_load(flag), 0);
}

static void *publish_a(void *handle) {
  publish_number(handle, "teste.a", 1);
  return NULL;
}
static void *publish_b(void *handle) {
  publish_number(handle, "teste.b", 1);
  return NULL;
}

/* --- two handlers that unsubscribe each other -------------------------------------------------------------------- */

typedef struct rival {
  trilha *handle;
  pthread_barrier_t *both_inside;
  int64_t other;
  trilha_status status;
} rival;

static trilha_status unsubscribe_the_other(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  (void)delivery;
  rival *r = user;
  pthread_barrier_wait(r->both_inside);
  r->status = trilha_unsubscribe(r->handle, r->other, NULL);
  return TRILHA_OK;
}

static void G5_two_handlers_that_unsubscribe_each_other_do_not_wait_for_ever(void **state) {
  trilha *handle = begin(state);
  pthread_barrier_t both_inside;
  pthread_barrier_init(&both_inside, NULL, 2);
  rival a = {.handle = handle, .both_inside = &both_inside}, b = a;
  b.other = subscribe(handle, "teste.a", "D-4", unsubscribe_the_other, &a);
  a.other = subscribe(handle, "teste.b", "D-5", unsubscribe_the_other, &b);
  pthread_t threads[2];
  assert_int_equal(pthread_create(&threads[0], NULL, publish_a, handle), 0);
  assert_int_equal(pthread_create(&threads[1], NULL, publish_b, handle), 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert_int_equal(a.status, TRILHA_OK);
  assert_int_equal(b.status, TRILHA_OK);
  publish_number(handle, "teste.a", 2); /* nobody is left: the barrier would hang */
  publish_number(handle, "teste.b", 2);
  pthread_barrier_destroy(&both_inside);
}

/* --- hanging ------------------------------------------------------------------------------------------------------ */

typedef struct hanging {
  _Atomic int inside, release, calls;
} hanging;

static trilha_status hang(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  (void)delivery;
  hanging *h = user;
  atomic_fetch_add(&h->calls, 1);
  atomic_store(&h->inside, 1);
  wait_for(&h->release);
  return TRILHA_OK;
}

static trilha_status count(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  (void)delivery;
  atomic_fetch_add((_Atomic int *)user, 1);
  return TRILHA_OK;
}

static trilha_status refuse(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  (void)event;
  return trilha_delivery_fail(delivery, "não");
}

static void a_hanging_handler_holds_its_colony_and_nobody_else_s(void **state) {
  trilha *handle = begin(state);
  hanging h = {0};
  _Atomic int others = 0;
  subscribe(handle, "teste.a", "D-4", hang, &h);
  subscribe(handle, "teste.b", "D-5", count, &others);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, publish_a, handle), 0);
  wait_for(&h.inside);
  for (int i = 0; i < 50; i++) publish_number(handle, "teste.b", i);
  assert_int_equal(others, 50);
  atomic_store(&h.release, 1);
  pthread_join(thread, NULL);
}

typedef struct redelivery {
  trilha *handle;
  const trilha_event *event;
  _Atomic int begun;
  trilha_status status;
} redelivery;

static void *redeliver(void *user) {
  redelivery *r = user;
  atomic_store(&r->begun, 1);
  r->status = trilha_redeliver(r->handle, TRILHA_TEXT("teste.b"), TRILHA_TEXT("D-4"), r->event, NULL);
  return NULL;
}

static void R15_a_listener_that_goes_while_its_turn_is_waited_for_has_not_succeeded(void **state) {
  trilha *handle = begin(state);
  hanging h = {0};
  subscribe(handle, "teste.a", "D-4", hang, &h);
  int64_t id = subscribe(handle, "teste.b", "D-4", refuse, NULL);
  int64_t sequence = publish_number(handle, "teste.b", 1);
  assert_int_equal(letters(handle, "pendente"), 1);
  trilha_replayed *replayed;
  assert_int_equal(trilha_replay(handle, sequence - 1, NULL, 0, &replayed, NULL), TRILHA_OK);
  redelivery r = {.handle = handle, .event = &replayed->events[0]};
  pthread_t threads[2];
  assert_int_equal(pthread_create(&threads[0], NULL, publish_a, handle), 0);
  wait_for(&h.inside);
  assert_int_equal(pthread_create(&threads[1], NULL, redeliver, &r), 0);
  wait_for(&r.begun);
  trilha_clock_sleep_ms(200); /* it waits for D-4's turn by now */
  assert_int_equal(trilha_unsubscribe(handle, id, NULL), TRILHA_OK);
  atomic_store(&h.release, 1);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert_int_equal(r.status, TRILHA_NOT_FOUND);
  assert_int_equal(letters(handle, "pendente"), 1);
  trilha_replayed_free(replayed);
}

/* --- a handler that redelivers to itself ---------------------------------------------------------------------------
 */

typedef struct echo {
  trilha *handle;
  int calls;
  trilha_status innermost;
} echo;

static trilha_status redeliver_to_itself(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)delivery;
  echo *e = user;
  e->calls++;
  trilha_error err = {0};
  trilha_status status = trilha_redeliver(e->handle, trilha_text_of(event->tipo), TRILHA_TEXT("D-4"), event, &err);
  if (status != TRILHA_OK) e->innermost = status;
  return TRILHA_OK;
}

static void G5_a_handler_that_redelivers_to_itself_is_stopped_by_a_limit(void **state) {
  trilha *handle = begin(state);
  echo e = {.handle = handle};
  subscribe(handle, "teste.a", "D-4", redeliver_to_itself, &e);
  publish_number(handle, "teste.a", 1);
  assert_in_range(e.calls, 40, 110);
  assert_int_equal(e.innermost, TRILHA_LIMIT);
}

/* --- everything at once ---------------------------------------------------------------------------------------------
 */

enum { THREADS = 12, ROUNDS = 25 };

typedef struct storm {
  trilha *handle;
  _Atomic int a_seen, b_seen, short_lived, numbers;
} storm;

/* Answers each `a` with a `b`, and comes and goes itself beside it. */
static trilha_status answer(void *user, const trilha_event *event, trilha_delivery *delivery) {
  storm *s = user;
  atomic_fetch_add(&s->a_seen, 1);
  if (event->payload_estado != TRILHA_PAYLOAD_COMPLETO) return TRILHA_OK;
  int64_t id = subscribe(s->handle, "teste.b", "D-9", count, &s->short_lived);
  trilha_publication p = {
      .tipo = TRILHA_TEXT("teste.b"), .origem = TRILHA_TEXT("D-4"), .payload = TRILHA_TEXT("{\"n\":2}")};
  trilha_publish_result r;
  trilha_status status = trilha_delivery_publish(delivery, &p, &r, NULL);
  trilha_publish_result_done(&r);
  if (trilha_unsubscribe(s->handle, id, NULL) != TRILHA_OK) status = TRILHA_INTERNAL;
  return status;
}

/* One in three fails live, and succeeds when it comes again. */
static trilha_status fail_some(void *user, const trilha_event *event, trilha_delivery *delivery) {
  storm *s = user;
  atomic_fetch_add(&s->b_seen, 1);
  if (event->payload_estado == TRILHA_PAYLOAD_COMPLETO && event->sequence_number % 3 == 0)
    return trilha_delivery_fail(delivery, "desta vez não");
  return TRILHA_OK;
}

static void *publish_round(void *user) {
  storm *s = user;
  for (int i = 0; i < ROUNDS; i++) publish_number(s->handle, "teste.a", atomic_fetch_add(&s->numbers, 1));
  return NULL;
}

static void *reprocess_round(void *user) {
  storm *s = user;
  for (int i = 0; i < ROUNDS; i++) {
    trilha_reprocessed r;
    if (trilha_reprocess(s->handle, TRILHA_TEXT("D-5"), TRILHA_TEXT("tests"), 0, &r, NULL) != TRILHA_OK) return s;
  }
  return NULL;
}

static void *subscribe_round(void *user) {
  storm *s = user;
  for (int i = 0; i < 10 * ROUNDS; i++) {
    int64_t id = subscribe(s->handle, i % 2 == 0 ? "teste.a" : "teste.b", "D-8", count, &s->short_lived);
    if (trilha_unsubscribe(s->handle, id, NULL) != TRILHA_OK) return s;
  }
  return NULL;
}

static void E19_publishing_subscribing_and_reprocessing_from_many_threads_lose_and_repeat_nothing(void **state) {
  trilha *handle = begin(state);
  storm s = {.handle = handle};
  subscribe(handle, "teste.a", "D-4", answer, &s);
  subscribe(handle, "teste.b", "D-5", fail_some, &s);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL,
                                    i < THREADS - 4   ? publish_round
                                    : i < THREADS - 2 ? reprocess_round
                                                      : subscribe_round,
                                    &s),
                     0);
  for (int i = 0; i < THREADS; i++) {
    void *failed = NULL;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  const int published = (THREADS - 4) * ROUNDS;
  assert_int_equal(s.a_seen, published);
  assert_int_equal(trilha_fixture_count(*state, "SELECT count(*) FROM {log}"), 2 * published);
  trilha_reprocessed r;
  assert_int_equal(trilha_reprocess(handle, TRILHA_TEXT("D-5"), TRILHA_TEXT("tests"), 0, &r, NULL), TRILHA_OK);
  assert_int_equal(letters(handle, "pendente"), 0);
  assert_int_equal(letters(handle, "retrying"), 0);
  assert_int_equal(r.failed, 0);
  assert_int_equal(s.b_seen,
                   published + trilha_fixture_count(*state, ((trilha_fixture *)*state)->is_postgres
                                                                ? "SELECT count(*) FROM core.dead_letter_queue"
                                                                : "SELECT count(*) FROM core_dead_letter_queue"));
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(G5_two_handlers_that_unsubscribe_each_other_do_not_wait_for_ever),
      ON_A_FRESH_STORE(a_hanging_handler_holds_its_colony_and_nobody_else_s),
      ON_A_FRESH_STORE(R15_a_listener_that_goes_while_its_turn_is_waited_for_has_not_succeeded),
      ON_A_FRESH_STORE(G5_a_handler_that_redelivers_to_itself_is_stopped_by_a_limit),
      ON_A_FRESH_STORE(E19_publishing_subscribing_and_reprocessing_from_many_threads_lose_and_repeat_nothing),
  };
  return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
