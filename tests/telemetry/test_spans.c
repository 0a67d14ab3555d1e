/* telemetry: spans begin, end in a bounded queue, and none is lost without being counted. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "telemetry/telemetry.h"

enum { FAR_MS = 600000 };

static trilha_telemetry *room_for(size_t spans) {
  trilha_telemetry *t = NULL;
  assert_int_equal(trilha_telemetry_new(spans, &t, NULL), TRILHA_OK);
  return t;
}

static void end_one(trilha_telemetry *t, int64_t sequence) {
  trilha_span span;
  trilha_span_facts facts = {.sequence_number = sequence, .tipo = TRILHA_TEXT("pedido.criado")};
  trilha_span_begin(t, NULL, &span);
  trilha_span_end(t, &span, &facts);
}

static trilha_ended_span *take_one(trilha_telemetry *t) {
  trilha_ended_span *ended = NULL;
  assert_int_equal(trilha_telemetry_take(t, &ended, 1), 1);
  return ended;
}

static uint64_t dropped(trilha_telemetry *t) {
  size_t waiting;
  uint64_t count;
  trilha_telemetry_spans(t, &waiting, &count);
  return count;
}

static void a_child_shares_its_parents_trace_and_a_root_has_its_own(void **state) {
  (void)state;
  trilha_telemetry *t = room_for(4);
  trilha_span root, other, child;
  trilha_span_begin(t, NULL, &root);
  trilha_span_begin(t, NULL, &other);
  trilha_span_begin(t, &root.own, &child);
  assert_true(root.recorded && child.recorded && child.own.sampled && root.began_us > 0);
  assert_memory_not_equal(root.own.trace_id, other.own.trace_id, 16);
  assert_memory_equal(root.own.trace_id, child.own.trace_id, 16);
  assert_memory_not_equal(root.own.span_id, child.own.span_id, 8);
  assert_false(root.has_parent);
  assert_true(child.has_parent);
  assert_memory_equal(child.parent_id, root.own.span_id, 8);
  trilha_telemetry_free(t);
}

static void what_is_not_sampled_and_what_nobody_exports_is_not_recorded(void **state) {
  (void)state;
  trilha_telemetry *t = room_for(4);
  trilha_trace unsampled = {.trace_id = {1}, .span_id = {1}};
  trilha_span span;
  trilha_span_facts facts = {0};
  trilha_span_begin(t, &unsampled, &span);
  assert_false(span.recorded);
  trilha_span_end(t, &span, &facts);
  trilha_ended_span *none[1];
  assert_int_equal(trilha_telemetry_take(t, none, 1), 0);
  trilha_telemetry_free(t);
  trilha_span_begin(NULL, NULL, &span);
  assert_false(span.recorded);
  trilha_span_end(NULL, &span, &facts);
  trilha_measure_publish(NULL, TRILHA_PUBLISH_STORED, 1);
  trilha_measure_process(NULL, TRILHA_TEXT("D-1"), true, 1);
  trilha_measure_divergence(NULL);
  trilha_measure_redaction_drop(NULL);
  trilha_telemetry_free(NULL);
}

static void an_ended_span_owns_what_it_tells(void **state) {
  (void)state;
  trilha_telemetry *t = room_for(1);
  char tipo[] = "pedido.criado", code[] = "PAYLOAD_INVALID";
  trilha_trace links[] = {{.trace_id = {7}, .span_id = {8}, .sampled = true}};
  trilha_span_facts facts = {
      .tipo = trilha_text_of(tipo), .error_code = trilha_text_of(code), .links = links, .link_count = 1};
  trilha_span span;
  trilha_span_begin(t, NULL, &span);
  trilha_span_end(t, &span, &facts);
  memset(tipo, 'x', sizeof tipo - 1);
  memset(code, 'x', sizeof code - 1);
  memset(links, 0, sizeof links);
  trilha_ended_span *ended = take_one(t);
  assert_true(trilha_text_is(ended->facts.tipo, "pedido.criado"));
  assert_true(trilha_text_is(ended->facts.error_code, "PAYLOAD_INVALID"));
  assert_null(ended->facts.colonia.data);
  assert_int_equal(ended->facts.links[0].span_id[0], 8);
  trilha_ended_span_free(ended);
  trilha_telemetry_free(t);
}

static void long_names_are_cut_at_a_character_and_links_at_their_limit(void **state) {
  (void)state;
  trilha_telemetry *t = room_for(1);
  char tipo[400];
  trilha_trace links[TRILHA_SPAN_LINKS_MAX + 5] = {{.sampled = true}};
  for (size_t i = 0; i < sizeof tipo; i += 2) memcpy(tipo + i, "\xC3\xA9", 2);
  trilha_span_facts facts = {.tipo = {tipo, sizeof tipo}, .links = links, .link_count = TRILHA_SPAN_LINKS_MAX + 5};
  trilha_span span;
  trilha_span_begin(t, NULL, &span);
  trilha_span_end(t, &span, &facts);
  trilha_ended_span *ended = take_one(t);
  assert_int_equal(ended->facts.tipo.size, TRILHA_SPAN_TEXT_BYTES_MAX - 1);
  assert_true(trilha_utf8_valid(ended->facts.tipo.data, ended->facts.tipo.size));
  assert_int_equal(ended->facts.link_count, TRILHA_SPAN_LINKS_MAX);
  trilha_ended_span_free(ended);
  trilha_telemetry_free(t);
}

static void a_full_queue_drops_the_newest_and_counts_it(void **state) {
  (void)state;
  trilha_telemetry *t = room_for(3);
  trilha_ended_span *taken[8];
  for (int64_t i = 1; i <= 5; i++) end_one(t, i);
  assert_int_equal(dropped(t), 2);
  assert_int_equal(trilha_telemetry_take(t, taken, 2), 2);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(taken[i]->facts.sequence_number, i + 1);
    trilha_ended_span_free(taken[i]);
  }
  end_one(t, 6);
  end_one(t, 7);
  end_one(t, 8);
  assert_int_equal(dropped(t), 3);
  assert_int_equal(trilha_telemetry_take(t, taken, 8), 3);
  static const int64_t left[] = {3, 6, 7};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(taken[i]->facts.sequence_number, left[i]);
    trilha_ended_span_free(taken[i]);
  }
  trilha_telemetry_count_dropped(t, 10);
  assert_int_equal(dropped(t), 13);
  end_one(t, 9); /* freed with the queue */
  trilha_telemetry_free(t);
}

static void *end_a_hundred(void *user) {
  for (int64_t i = 1; i <= 100; i++) end_one(user, i);
  return NULL;
}

static void the_exporter_wakes_for_enough_spans_and_for_the_end(void **state) {
  (void)state;
  trilha_telemetry *t = room_for(1000);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, end_a_hundred, t), 0);
  assert_false(trilha_telemetry_wait(t, 100, trilha_deadline_in_ms(FAR_MS)));
  pthread_join(thread, NULL);
  trilha_ended_span *taken[100];
  assert_int_equal(trilha_telemetry_take(t, taken, 100), 100);
  for (size_t i = 0; i < 100; i++) trilha_ended_span_free(taken[i]);
  assert_false(trilha_telemetry_wait(t, 1, trilha_deadline_in_ms(1)));
  trilha_telemetry_ask_end(t);
  assert_true(trilha_telemetry_wait(t, 1000, trilha_deadline_in_ms(FAR_MS)));
  trilha_telemetry_free(t);
}

typedef struct crowd {
  trilha_telemetry *t;
  size_t taken;
} crowd;

static void *take_until_the_end(void *user) {
  crowd *c = user;
  trilha_ended_span *taken[7];
  for (bool ending = false;;) {
    size_t n = trilha_telemetry_take(c->t, taken, 7);
    for (size_t i = 0; i < n; i++) trilha_ended_span_free(taken[i]);
    c->taken += n;
    if (n == 0 && ending) return NULL;
    if (n == 0) ending = trilha_telemetry_wait(c->t, 5, trilha_deadline_in_ms(FAR_MS));
  }
}

static void many_threads_lose_no_span_uncounted(void **state) {
  (void)state;
  enum { THREADS = 4 };
  crowd c = {room_for(16), 0};
  pthread_t makers[THREADS], taker;
  assert_int_equal(pthread_create(&taker, NULL, take_until_the_end, &c), 0);
  for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&makers[i], NULL, end_a_hundred, c.t), 0);
  for (size_t i = 0; i < THREADS; i++) pthread_join(makers[i], NULL);
  trilha_telemetry_ask_end(c.t);
  pthread_join(taker, NULL);
  assert_int_equal(c.taken + dropped(c.t), THREADS * 100);
  trilha_telemetry_free(c.t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_child_shares_its_parents_trace_and_a_root_has_its_own),
      cmocka_unit_test(what_is_not_sampled_and_what_nobody_exports_is_not_recorded),
      cmocka_unit_test(an_ended_span_owns_what_it_tells),
      cmocka_unit_test(long_names_are_cut_at_a_character_and_links_at_their_limit),
      cmocka_unit_test(a_full_queue_drops_the_newest_and_counts_it),
      cmocka_unit_test(the_exporter_wakes_for_enough_spans_and_for_the_end),
      cmocka_unit_test(many_threads_lose_no_span_uncounted),
  };
  return cmocka_run_group_tests_name("telemetry spans", tests, NULL, NULL);
}
