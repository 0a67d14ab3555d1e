/* eventlog: group commit on a store that the test controls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "eventlog/eventlog.h"

enum { THREADS = 12, PATIENCE_MS = 60000 };

/* A store that refuses rows of type "mau", fails wholly when told to, and can be held in the middle of an append. */
typedef struct fake_store {
  trilha_store store;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool hold, unreachable;
  int inside; /* appends under way: never more than one */
  int calls, largest;
  int64_t next;
} fake_store;

static trilha_status fake_append(trilha_store *store, const trilha_event_row *rows, size_t count,
                                 trilha_deadline deadline, trilha_arena *arena, trilha_append_result *results,
                                 int64_t *ret_revision, trilha_error *err) {
  (void)deadline;
  (void)arena;
  fake_store *f = (fake_store *)store;
  pthread_mutex_lock(&f->mutex);
  assert_int_equal(f->inside++, 0);
  f->calls++;
  if ((int)count > f->largest) f->largest = (int)count;
  pthread_cond_broadcast(&f->changed);
  while (f->hold) pthread_cond_wait(&f->changed, &f->mutex);
  trilha_status status = TRILHA_OK;
  if (f->unreachable) status = trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNREACHABLE", "no answer");
  for (size_t i = 0; status == TRILHA_OK && i < count; i++)
    if (trilha_text_is(rows[i].tipo, "mau")) status = trilha_error_set(err, TRILHA_INVALID, "ROW_REFUSED", "refused");
  for (size_t i = 0; status == TRILHA_OK && i < count; i++) {
    results[i] = (trilha_append_result){.stored = true, .row = rows[i]};
    results[i].row.sequence_number = ++f->next;
  }
  *ret_revision = 7;
  f->inside--;
  pthread_mutex_unlock(&f->mutex);
  return status;
}

static const trilha_store_operations fake_operations = {.append = fake_append};

static trilha_eventlog *begin(fake_store *f, unsigned batch_max) {
  *f = (fake_store){.store = {&fake_operations}};
  pthread_mutex_init(&f->mutex, NULL);
  pthread_cond_init(&f->changed, NULL);
  trilha_eventlog *log = NULL;
  trilha_diagnostics none = {0};
  assert_int_equal(trilha_eventlog_new(&f->store, batch_max, PATIENCE_MS, &none, &log, NULL), TRILHA_OK);
  return log;
}

static void fill(trilha_append_item *items, size_t count, trilha_arena *arena) {
  for (size_t i = 0; i < count; i++)
    items[i] = (trilha_append_item){.row = {.tipo = TRILHA_TEXT("bom"), .payload = TRILHA_TEXT("{}")}, .arena = arena};
}

static void a_refused_row_fails_alone_and_the_others_keep_their_order(void **state) {
  (void)state;
  fake_store f;
  trilha_eventlog *log = begin(&f, 0);
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_append_item items[100];
  fill(items, 100, &arena);
  items[37].row.tipo = items[99].row.tipo = TRILHA_TEXT("mau");
  assert_int_equal(trilha_eventlog_append(log, items, 100), 7);
  int64_t last = 0;
  for (int i = 0; i < 100; i++) {
    if (i == 37 || i == 99) {
      assert_int_equal(items[i].status, TRILHA_INVALID);
      assert_string_equal(items[i].error.code, "ROW_REFUSED");
      continue;
    }
    assert_int_equal(items[i].status, TRILHA_OK);
    assert_true(items[i].stored);
    assert_int_equal(items[i].got.sequence_number, last + 1);
    last++;
  }
  assert_true(f.calls < 40); /* halves, not one by one */
  trilha_eventlog_free(log);
}

static void an_unreachable_store_fails_every_row_once(void **state) {
  (void)state;
  fake_store f;
  trilha_eventlog *log = begin(&f, 0);
  f.unreachable = true;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_append_item items[10];
  fill(items, 10, &arena);
  trilha_eventlog_append(log, items, 10);
  assert_int_equal(f.calls, 1);
  for (int i = 0; i < 10; i++) assert_int_equal(items[i].status, TRILHA_UNAVAILABLE);
  f.unreachable = false; /* and the next caller finds a leader's place free */
  fill(items, 1, &arena);
  trilha_eventlog_append(log, items, 1);
  assert_int_equal(items[0].status, TRILHA_OK);
  trilha_eventlog_free(log);
}

static void a_large_call_is_cut_into_batches_of_the_limit(void **state) {
  (void)state;
  fake_store f;
  trilha_eventlog *log = begin(&f, 8);
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_append_item items[50];
  fill(items, 50, &arena);
  trilha_eventlog_append(log, items, 50);
  assert_int_equal(f.calls, 7);
  assert_int_equal(f.largest, 8);
  for (int i = 0; i < 50; i++) assert_int_equal(items[i].got.sequence_number, i + 1);
  trilha_eventlog_free(log);
}

typedef struct caller {
  trilha_eventlog *log;
  atomic_int *here; /* callers that are about to ask */
  trilha_append_item item;
  trilha_arena arena;
} caller;

static void *call(void *user) {
  caller *c = user;
  fill(&c->item, 1, &c->arena);
  atomic_fetch_add(c->here, 1);
  trilha_eventlog_append(c->log, &c->item, 1);
  return NULL;
}

/* How many callers wait can only be seen by the store when the first batch is let go: so each is given a moment. */
static void callers_that_come_during_a_commit_share_the_next_one(void **state) {
  (void)state;
  fake_store f;
  trilha_eventlog *log = begin(&f, 0);
  f.hold = true;
  pthread_t threads[THREADS];
  static caller callers[THREADS];
  atomic_int here = 0;
  for (int i = 0; i < THREADS; i++) {
    callers[i] = (caller){.log = log, .here = &here};
    assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
  }
  pthread_mutex_lock(&f.mutex);
  while (f.calls == 0) pthread_cond_wait(&f.changed, &f.mutex);
  pthread_mutex_unlock(&f.mutex);
  while (atomic_load(&here) < THREADS) trilha_clock_sleep_ms(1);
  trilha_clock_sleep_ms(300);
  pthread_mutex_lock(&f.mutex);
  f.hold = false;
  pthread_cond_broadcast(&f.changed);
  pthread_mutex_unlock(&f.mutex);
  bool seen[THREADS + 1] = {false};
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(callers[i].item.status, TRILHA_OK);
    int64_t sequence = callers[i].item.got.sequence_number;
    assert_in_range(sequence, 1, THREADS);
    assert_false(seen[sequence]);
    seen[sequence] = true;
    trilha_arena_done(&callers[i].arena);
  }
  assert_true(f.calls < THREADS);
  trilha_eventlog_free(log);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_refused_row_fails_alone_and_the_others_keep_their_order),
      cmocka_unit_test(an_unreachable_store_fails_every_row_once),
      cmocka_unit_test(a_large_call_is_cut_into_batches_of_the_limit),
      cmocka_unit_test(callers_that_come_during_a_commit_share_the_next_one),
  };
  return cmocka_run_group_tests_name("eventlog", tests, NULL, NULL);
}
