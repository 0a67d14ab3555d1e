/* outbox: purging beside live traffic (requirement O17; field report B35). */
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
#include "outbox/producer.h"
#include "support/expect.h"

enum { PURGERS = 3, SETTLED = 240, AGGREGATES = 24, BATCH = 20, SAID_MEANWHILE = 60 };

static trilha_status take(void *user, const trilha_envelope *envelope, trilha_error *error) {
  (void)envelope;
  (void)error;
  atomic_fetch_add((atomic_int *)user, 1);
  return TRILHA_OK;
}

static int deliver_all(const trilha_fixture *f) {
  atomic_int taken = 0;
  trilha_producer_deliver(f, "everything", take, &taken);
  return atomic_load(&taken);
}

static void say(const trilha_producer *p, const char *kind, int messages) {
  char tenant[16], key[32];
  for (int i = 0; i < messages; i++) {
    snprintf(tenant, sizeof tenant, "t%d", i % 3);
    snprintf(key, sizeof key, "%s-%d", kind, i % AGGREGATES);
    trilha_producer_say(p, tenant, key);
  }
}

/* A daemon that purges: with an outbox of its own, as another process has. */
typedef struct purger {
  trilha_outbox *outbox;
  pthread_t thread;
  atomic_int *ready;
  trilha_status status;
  trilha_error error;
  trilha_purged purged;
  int64_t before, largest; /* rows; of one batch */
} purger;

static bool note_batch(void *user, const trilha_purged *so_far) {
  purger *p = user;
  int64_t rows = so_far->messages.rows - p->before;
  if (rows > p->largest) p->largest = rows;
  p->before = so_far->messages.rows;
  return true;
}

static void *purge(void *user) {
  purger *p = user;
  const trilha_purge_options options = {
      .messages_ms = 0, .inbox_ms = -1, .batch = BATCH, .user = TRILHA_TEXT("ana"), .reason = TRILHA_TEXT("limpeza")};
  atomic_fetch_add(p->ready, 1);
  while (atomic_load(p->ready) < PURGERS) trilha_clock_sleep_ms(1);
  p->status = trilha_outbox_purge(p->outbox, &options, note_batch, p, &p->purged, &p->error);
  return NULL;
}

static void B35_three_purges_at_once_and_a_producer_hold_each_other_up_in_no_way(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  purger all[PURGERS] = {0};
  atomic_int ready = 0;
  int64_t gone = 0;
  say(&p, "old", SETTLED);
  assert_int_equal(deliver_all(f), SETTLED);
  say(&p, "old", AGGREGATES); /* behind what is settled, and not settled */
  for (int i = 0; i < PURGERS; i++) {
    all[i].outbox = trilha_producer_outbox(f);
    all[i].ready = &ready;
    assert_int_equal(pthread_create(&all[i].thread, NULL, purge, &all[i]), 0);
  }
  say(&p, "new", SAID_MEANWHILE); /* fails the test when one is refused, or waits for longer than its patience */
  for (int i = 0; i < PURGERS; i++) pthread_join(all[i].thread, NULL);
  for (int i = 0; i < PURGERS; i++) {
    trilha_outbox_close(all[i].outbox);
    if (all[i].status != TRILHA_OK) fail_msg("a purge failed: %s: %s", all[i].error.code, all[i].error.text);
    assert_in_range(all[i].largest, 0, BATCH);
    gone += all[i].purged.messages.rows;
  }
  assert_int_equal(gone, SETTLED);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_message"), AGGREGATES + SAID_MEANWHILE);
  assert_int_equal(trilha_producer_count(&p, "SELECT sum(row_count) FROM {p}outbox_upkeep"), SETTLED);
  assert_in_range(trilha_producer_count(&p, "SELECT max(row_count) FROM {p}outbox_upkeep"), 1, BATCH);
  assert_int_equal(deliver_all(f), AGGREGATES + SAID_MEANWHILE);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(B35_three_purges_at_once_and_a_producer_hold_each_other_up_in_no_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
