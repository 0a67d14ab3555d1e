/* store/postgres: through pgbouncer in transaction mode, on a server of its own; field report B18. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "postgres_fixture.h"
#include "store/postgres/postgres_internal.h"

typedef struct pooled {
  char folder[64];
  char direct[FIXTURE_URL_SIZE], through[FIXTURE_URL_SIZE];
} pooled;

static bool read_line(FILE *tool, char *out) {
  if (fgets(out, FIXTURE_URL_SIZE, tool) == NULL) return false;
  out[strcspn(out, "\n")] = '\0';
  return out[0] != '\0';
}

static bool start(pooled *p) {
  char command[4096];
  const char *root = getenv("TRILHA_SOURCE_ROOT");
  snprintf(p->folder, sizeof p->folder, "/tmp/trilha-pooler-%ld", (long)getpid());
  snprintf(command, sizeof command,
           "%.1000s/tools/private-postgres start %s --no-fsync --pgbouncer --pool-size 2 --owner %ld 2>/dev/null",
           root == NULL ? "." : root, p->folder, (long)getpid());
  FILE *tool = popen(command, "r");
  bool ok = tool != NULL && read_line(tool, p->direct) && read_line(tool, p->through);
  return tool != NULL && pclose(tool) == 0 && ok;
}

static int stop(void **state) {
  pooled *p = *state;
  char command[4096];
  const char *root = getenv("TRILHA_SOURCE_ROOT");
  snprintf(command, sizeof command, "%.1000s/tools/private-postgres stop %s", root == NULL ? "." : root, p->folder);
  return system(command);
}

enum { PUBLISHERS = 8, EACH = 80 };

typedef struct publisher {
  trilha_store *store;
  unsigned first;
  char failed[256]; /* the first failure in words */
} publisher;

static trilha_status ignore(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)user, (void)row, (void)err;
  return TRILHA_OK;
}

/* Publishes, and reads every kind of page in between, so that each hot query meets many sessions. */
static void *publish(void *user) {
  publisher *p = user;
  for (unsigned i = 0; i < EACH && p->failed[0] == '\0'; i++) {
    trilha_event_row row = fixture_row(p->first + i, i % 2 == 0 ? "a" : "b");
    trilha_append_result result;
    trilha_error err = {0};
    int64_t total = 0, scanned = 0;
    const trilha_text types[] = {TRILHA_TEXT("a"), TRILHA_TEXT("c")};
    trilha_event_filter filter = {.origem = TRILHA_TEXT("D-1a")};
    trilha_deadline soon = trilha_deadline_in_ms(FIXTURE_PATIENCE_MS);
    trilha_status status = fixture_append(p->store, &row, 1, FIXTURE_PATIENCE_MS, &result, &err);
    if (status == TRILHA_OK) status = p->store->op->event_by_id(p->store, row.event_id, soon, ignore, NULL, &err);
    if (status == TRILHA_OK)
      status = p->store->op->events_after(p->store, 0, types, 2, 10, soon, ignore, NULL, &scanned, &err);
    if (status == TRILHA_OK)
      status = p->store->op->events_query(p->store, &filter, 10, 0, soon, ignore, NULL, &total, &err);
    if (status != TRILHA_OK) snprintf(p->failed, sizeof p->failed, "%s: %.200s", err.code, err.text);
  }
  return NULL;
}

static void reconnect(const pooled *p) {
  char url[FIXTURE_URL_SIZE];
  fixture_url_with(p->through, 0, "pgbouncer", url);
  PGconn *console = fixture_session(url);
  fixture_run(console, "RECONNECT");
  PQfinish(console);
}

static void B18_publishers_notice_nothing_when_the_poolers_sessions_change(void **state) {
  pooled *p = *state;
  trilha_error err = {0};
  if (fixture_migrate(p->through, &err) != TRILHA_OK)
    fail_msg("migrate: %s", err.text); /* migrations pass through it too */
  trilha_store *stores[2] = {fixture_open(p->through), fixture_open(p->through)};
  publisher publishers[PUBLISHERS];
  pthread_t threads[PUBLISHERS];
  for (unsigned i = 0; i < PUBLISHERS; i++) {
    publishers[i] = (publisher){.store = stores[i % 2], .first = i * 1000};
    assert_int_equal(pthread_create(&threads[i], NULL, publish, &publishers[i]), 0);
  }
  PGconn *sql = fixture_session(p->direct);
  for (int64_t after = 1; after <= 2; after++) { /* after a third and after two thirds */
    while (fixture_number(sql, "SELECT count(*) FROM core.event_log") < after * PUBLISHERS * EACH / 3)
      trilha_clock_sleep_ms(5);
    reconnect(p);
  }
  for (unsigned i = 0; i < PUBLISHERS; i++) {
    pthread_join(threads[i], NULL);
    if (publishers[i].failed[0] != '\0') fail_msg("%s", publishers[i].failed);
  }
  assert_int_equal(fixture_number(sql, "SELECT count(*) FROM core.event_log"), PUBLISHERS * EACH);
  assert_int_equal(fixture_number(sql, "SELECT max(sequence_number) FROM core.event_log"), PUBLISHERS * EACH);
  for (int i = 0; i < 2; i++) stores[i]->op->close(stores[i]);
  PQfinish(sql);
}

static void nothing_of_ours_outlives_a_transaction_in_a_pooled_session(void **state) {
  pooled *p = *state;
  trilha_store *store = fixture_open(p->through);
  assert_true(trilha_pg_of(store)->readers[0].pooled);
  const bool *prepared = trilha_pg_of(store)->readers[0].prepared;
  assert_null(memchr(prepared, true, sizeof trilha_pg_of(store)->readers[0].prepared));
  fixture_append_one(store, 500000);
  store->op->close(store);
  PGconn *used = fixture_session(p->through);
  for (int i = 0; i < 4; i++) { /* whichever of the pool's sessions answers */
    assert_int_equal(fixture_number(used, "SELECT count(*) FROM pg_prepared_statements"), 0);
    assert_int_equal(fixture_number(used,
                                    "SELECT count(*) FROM pg_settings WHERE source = 'session' AND name IN "
                                    "('enable_seqscan', 'lock_timeout', 'statement_timeout', 'plan_cache_mode', "
                                    "'tcp_keepalives_idle')"),
                     0);
    assert_int_equal(fixture_number(used, "SELECT count(*) FROM pg_listening_channels()"), 0);
  }
  PQfinish(used);
}

static void a_follower_through_the_pooler_lives_by_the_scan_interval(void **state) {
  pooled *p = *state;
  const trilha_store_options options = {.url = trilha_text_of(p->through), .scan_interval_ms = 100};
  trilha_store *store = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_postgres_open(&options, &store, &err), TRILHA_OK);
  int64_t start = trilha_clock_monotonic_ns();
  for (int i = 0; i < 5; i++) assert_int_equal(store->op->wait(store, INT64_MAX, TRILHA_NO_DEADLINE, &err), TRILHA_OK);
  int64_t ms = (trilha_clock_monotonic_ns() - start) / 1000000;
  assert_in_range(ms, 495, FIXTURE_PATIENCE_MS);
  store->op->close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(B18_publishers_notice_nothing_when_the_poolers_sessions_change),
      cmocka_unit_test(nothing_of_ours_outlives_a_transaction_in_a_pooled_session),
      cmocka_unit_test(a_follower_through_the_pooler_lives_by_the_scan_interval),
  };
  pooled p = {.folder = ""};
  if (!start(&p)) {
    puts(
        "1..0 # SKIP no PostgreSQL server with pgbouncer could be started (Debian: apt-get install postgresql-15 "
        "pgbouncer)");
    return 0;
  }
  void *state = &p;
  struct CMUnitTest all[sizeof tests / sizeof *tests];
  memcpy(all, tests, sizeof tests);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) all[i].initial_state = state;
  int failed = cmocka_run_group_tests_name("store/postgres pooler", all, NULL, NULL);
  return stop(&state) != 0 ? 1 : failed;
}
