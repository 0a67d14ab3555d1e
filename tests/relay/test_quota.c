/* relay: tenants that hold the whole of what one tenant may have in flight, and what workers tell of themselves (ruling
 * R35). */
#include <stdatomic.h>

#include "relay/destination.h"

/* --- how the quotas stand ---------------------------------------------------------------------------------------- */

typedef struct told {
  int destinations, rows; /* rows: tenants */
  int64_t quota, tenants, leases, leases_of_tenant;
  char tenant[64];
} told;

static void keep(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

static trilha_status keep_quota(void *user, const trilha_outbox_quota *q) {
  told *t = user;
  assert_true(trilha_text_is(q->destination, "everything"));
  if (q->tenant_id.data == NULL) {
    t->destinations++;
    t->quota = q->quota;
    t->tenants = q->tenants;
    t->leases = q->leases;
    return TRILHA_OK;
  }
  t->rows++;
  assert_int_equal(q->tenants, 1);
  assert_int_equal(q->quota, t->quota);
  t->leases_of_tenant = q->leases;
  keep(t->tenant, sizeof t->tenant, q->tenant_id);
  return TRILHA_OK;
}

typedef struct gauges {
  int64_t quota, tenants, of_tenant, rest; /* -1: not told */
  char tenant[64];
} gauges;

static trilha_status keep_gauge(void *user, const trilha_outbox_gauge *g) {
  gauges *all = user;
  if (trilha_text_is(g->name, "tenant_quota")) all->quota = g->value;
  if (trilha_text_is(g->name, "tenants_at_quota")) all->tenants = g->value;
  if (trilha_text_is(g->name, "tenants_rest")) all->rest = g->value;
  if (!trilha_text_is(g->name, "tenant_at_quota")) {
    assert_null(g->tenant.data);
    return TRILHA_OK;
  }
  assert_true(trilha_text_is(g->label, "everything"));
  all->of_tenant = g->value;
  keep(all->tenant, sizeof all->tenant, g->tenant);
  return TRILHA_OK;
}

static told look(trilha_outbox *outbox) {
  told t = {0};
  CHECKED(trilha_outbox_quotas(outbox, keep_quota, &t, error));
  return t;
}

static gauges look_at_gauges(trilha_outbox *outbox) {
  gauges all = {-1, -1, -1, -1, ""};
  CHECKED(trilha_outbox_gauges(outbox, keep_gauge, &all, error));
  return all;
}

static told wait_for_leases(const trilha_producer *p, trilha_outbox *outbox, int64_t leases) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while ((trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_lane WHERE state = 'L'") != leases ||
          look(outbox).destinations == 0) &&
         !trilha_deadline_passed(patience))
    trilha_clock_sleep_ms(10);
  return look(outbox);
}

/* --- a worker whose destination answers when it is let -------------------------------------------------------------
 */

typedef struct running {
  trilha_relay *relay;
  pthread_t thread;
  atomic_bool open;
  atomic_int unheard;
} running;

static trilha_status answer_when_let(void *user, const trilha_envelope *e, trilha_error *error) {
  running *r = user;
  (void)e;
  (void)error;
  while (!atomic_load(&r->open)) trilha_clock_sleep_ms(2);
  return TRILHA_OK;
}

static void hear(void *user, const trilha_diagnostic *d) {
  running *r = user;
  if (strcmp(d->name, "relay.unregistered") == 0) atomic_fetch_add(&r->unheard, 1);
}

static void start(const trilha_fixture *f, running *r, unsigned quota) {
  const trilha_transport transport = {TRILHA_TEXT("everything"), answer_when_let, r,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(f, &transport, 1);
  options.once = false;
  options.workers = 1;
  options.tenant_quota = quota;
  options.timeout_ms = 60000;
  options.lease_ms = 120000;
  options.outbox.diagnostics = (trilha_diagnostics){.emit = hear, .user = r};
  CHECKED(trilha_relay_new(&options, &r->relay, error));
  assert_int_equal(pthread_create(&r->thread, NULL, run_relay, r->relay), 0);
}

static void stop(running *r) {
  atomic_store(&r->open, true);
  trilha_relay_stop(r->relay);
  pthread_join(r->thread, NULL);
  trilha_relay_free(r->relay);
}

static void wait_until_empty(const trilha_producer *p) {
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_lane") > 0 && !trilha_deadline_passed(patience))
    trilha_clock_sleep_ms(10);
  assert_int_equal(trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_lane"), 0);
}

/* --- the tests -----------------------------------------------------------------------------------------------------
 */

static void R35_a_tenant_that_holds_its_quota_while_more_of_it_waits_is_told_and_no_other(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  static running r;
  r = (running){.open = false};
  for (int i = 0; i < 5; i++) trilha_producer_say(&p, "acme", (const char[]){(char)('a' + i), '\0'});
  trilha_producer_say(&p, "beta", "a"); /* has all it may, and nothing waits for it */
  trilha_producer_say(&p, "beta", "b");
  trilha_producer_say(&p, "gama", "a");
  assert_int_equal(look(outbox).destinations, 0); /* nobody takes lanes: no quota keeps any back */
  start(*state, &r, 2);
  told t = wait_for_leases(&p, outbox, 5);
  assert_int_equal(t.destinations, 1);
  assert_int_equal(t.quota, 2);
  assert_int_equal(t.tenants, 1);
  assert_int_equal(t.leases, 2);
  assert_int_equal(t.rows, 1);
  assert_string_equal(t.tenant, "acme");
  assert_int_equal(t.leases_of_tenant, 2);
  gauges g = look_at_gauges(outbox);
  assert_true(g.quota == 2 && g.tenants == 1 && g.of_tenant == 2 && g.rest == 0);
  assert_string_equal(g.tenant, "acme");
  atomic_store(&r.open, true);
  wait_until_empty(&p);
  t = look(outbox);
  assert_true(t.destinations == 1 && t.tenants == 0 && t.leases == 0 && t.rows == 0);
  g = look_at_gauges(outbox);
  assert_true(g.quota == 2 && g.tenants == 0 && g.of_tenant == -1);
  stop(&r);
  assert_int_equal(look(outbox).destinations, 0);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

/* A row as a worker writes it. quota "NULL": of an earlier version. */
static void put_worker(const trilha_producer *p, const char *name, const char *hold, const char *quota) {
  char sql[512];
  snprintf(sql, sizeof sql,
           p->pg != NULL
               ? "INSERT INTO {p}outbox_worker (worker, destinations, threads, started_at, seen_at, expected_by, "
                 "holds, tenant_quota) VALUES ('%s', 'everything', 1, now(), now(), now() + interval '1 hour', "
                 "'{\"everything\": \"%s\"}', %s)"
               : "INSERT INTO {p}outbox_worker (worker, destinations, threads, started_us, seen_us, expected_us, "
                 "holds, tenant_quota) VALUES ('%s', 'everything', 1, 1, 1, 9000000000000000, "
                 "'{\"everything\": \"%s\"}', %s)",
           name, hold, quota);
  trilha_producer_run(p, sql);
}

static void silence(const trilha_producer *p, const char *name) {
  char sql[160];
  snprintf(sql, sizeof sql,
           p->pg != NULL ? "UPDATE {p}outbox_worker SET expected_by = now() - interval '1 second' WHERE worker = '%s'"
                         : "UPDATE {p}outbox_worker SET expected_us = 2 WHERE worker = '%s'",
           name);
  trilha_producer_run(p, sql);
}

/* So many lanes of acme under lease, as a claim leaves them. */
static void lease_some(const trilha_producer *p, int lanes) {
  char sql[256];
  snprintf(
      sql, sizeof sql,
      "UPDATE {p}outbox_lane SET state = 'L', lease_owner = 'w', lease_token = 1, %s WHERE aggregate_id IN (SELECT "
      "aggregate_id FROM {p}outbox_lane WHERE tenant_id = 'acme' AND state = 'R' ORDER BY aggregate_id LIMIT %d)",
      p->pg != NULL ? "due_at = now() + interval '1 hour'" : "due_us = 9000000000000000", lanes);
  trilha_producer_run(p, sql);
}

static void the_smallest_quota_of_those_that_take_lanes_counts(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  for (int i = 0; i < 5; i++) trilha_producer_say(&p, "acme", (const char[]){(char)('a' + i), '\0'});
  lease_some(&p, 3);
  put_worker(&p, "large", "", "4");
  put_worker(&p, "earlier version", "", "NULL");
  told t = look(outbox);
  assert_true(t.quota == 4 && t.tenants == 0);
  put_worker(&p, "small", "", "3");
  t = look(outbox);
  assert_true(t.quota == 3 && t.tenants == 1 && t.leases_of_tenant == 3);
  put_worker(&p, "smallest", "", "1");
  assert_int_equal(look(outbox).quota, 1);
  silence(&p, "smallest");
  assert_int_equal(look(outbox).quota, 3);
  put_worker(&p, "holding", "BREAKER_OPEN", "1"); /* takes none, whoever asks */
  assert_int_equal(look(outbox).quota, 3);
  CHECKED(
      trilha_outbox_worker_drain(outbox, TRILHA_TEXT("small"), TRILHA_TEXT("ana"), TRILHA_TEXT("new version"), error));
  t = look(outbox);
  assert_true(t.quota == 4 && t.tenants == 0);
  lease_some(&p, 1);
  assert_int_equal(look(outbox).tenants, 1);
  lease_some(&p, 1); /* the last one: nothing waits any more */
  assert_int_equal(look(outbox).tenants, 0);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void a_lease_that_ran_out_fills_no_quota(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  for (int i = 0; i < 3; i++) trilha_producer_say(&p, "acme", (const char[]){(char)('a' + i), '\0'});
  lease_some(&p, 2);
  put_worker(&p, "w", "", "2");
  assert_int_equal(look(outbox).tenants, 1);
  trilha_producer_run(&p, p.pg != NULL
                              ? "UPDATE {p}outbox_lane SET due_at = now() - interval '1 second' WHERE state = 'L'"
                              : "UPDATE {p}outbox_lane SET due_us = 2 WHERE state = 'L'");
  told t = look(outbox);
  assert_true(t.destinations == 1 && t.tenants == 0);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

/* --- holds of a worker that died ------------------------------------------------------------------------------------
 */

static trilha_status keep_held(void *user, const trilha_outbox_standing *s) {
  *(int64_t *)user = s->held;
  return TRILHA_OK;
}

static int64_t held(trilha_outbox *outbox) {
  int64_t lanes = -1;
  CHECKED(trilha_outbox_status(outbox, keep_held, &lanes, error));
  return lanes;
}

static void what_a_dead_worker_held_is_held_no_longer_than_its_next_word_was_expected(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  trilha_producer_say(&p, "acme", "a");
  put_worker(&p, "dying", "BREAKER_OPEN", "8");
  assert_int_equal(held(outbox), 1);
  silence(&p, "dying");
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_worker"), 1); /* its row is still there */
  assert_int_equal(held(outbox), 0);
  put_worker(&p, "living", "ENDPOINT_GONE", "8"); /* and no longer speaks for those that live */
  assert_int_equal(held(outbox), 1);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

/* --- beside an earlier version --------------------------------------------------------------------------------------
 */

/* The outbox as a version before quotas installed it. */
static void make_earlier(const trilha_producer *p) {
  static const char *const postgres[] = {
      "DROP FUNCTION {p}outbox_quotas()",
      "DROP FUNCTION {p}outbox_worker_beat(text, text, bigint, bigint, bigint, bigint, bigint, bigint, text, bigint)"};
  for (size_t i = 0; p->pg != NULL && i < sizeof postgres / sizeof postgres[0]; i++)
    trilha_producer_run(p, postgres[i]);
  trilha_producer_run(p, "ALTER TABLE {p}outbox_worker DROP COLUMN tenant_quota");
  trilha_producer_run(p, "DELETE FROM {p}outbox_migration WHERE name = '20261130030210_outbox_quotas'");
}

static int64_t workers(const trilha_producer *p) {
  return trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_worker");
}

static void a_worker_is_registered_in_an_outbox_that_an_earlier_version_installed(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  make_earlier(&p);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  static running r;
  r = (running){.open = false};
  trilha_producer_say(&p, "acme", "a");
  start(*state, &r, 1);
  while (workers(&p) == 0 && !trilha_deadline_passed(patience)) trilha_clock_sleep_ms(10);
  assert_int_equal(workers(&p), 1);
  assert_int_equal(atomic_load(&r.unheard), 0);
  told t = {0};
  REFUSED(trilha_outbox_quotas(outbox, keep_quota, &t, error), "OUTBOX_NOT_INSTALLED");
  assert_int_equal(look_at_gauges(outbox).quota, -1); /* and the other numbers came */
  atomic_store(&r.open, true);
  wait_until_empty(&p);
  stop(&r);
  assert_int_equal(workers(&p), 0);
  CHECKED(trilha_outbox_install(outbox, false, NULL, NULL, error));
  assert_int_equal(look(outbox).destinations, 0);
  r = (running){.open = false};
  trilha_producer_say(&p, "acme", "a");
  start(*state, &r, 7);
  t = wait_for_leases(&p, outbox, 1);
  assert_int_equal(t.quota, 7);
  stop(&r);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void a_worker_of_an_earlier_version_is_registered_without_a_quota(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  trilha_producer_run(&p, p.pg != NULL ? "SELECT {p}outbox_worker_beat('old', 'everything', 1, 60000, 0, 0, 0, 0, "
                                         "'{\"everything\": \"\"}')"
                                       : "INSERT INTO {p}outbox_worker (worker, destinations, threads, started_us, "
                                         "seen_us, expected_us, holds) VALUES ('old', 'everything', 1, 1, 1, "
                                         "9000000000000000, '{\"everything\": \"\"}')");
  assert_int_equal(workers(&p), 1);
  assert_int_equal(look(outbox).destinations, 0);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void who_had_a_duty_before_quotas_has_it_after(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  if (p.pg == NULL) { /* who may write the file may do all of it */
    REFUSED(trilha_outbox_grant(outbox, TRILHA_TEXT("x"), TRILHA_TEXT("operator"), error), "GRANT_UNSUPPORTED");
    trilha_outbox_close(outbox);
    trilha_producer_close(&p);
    return;
  }
  char role[64], sql[512];
  snprintf(role, sizeof role, "quota_%lld", (long long)trilha_clock_wall_us());
  snprintf(sql, sizeof sql, "CREATE ROLE %s_o; CREATE ROLE %s_r; CREATE ROLE %s_n", role, role, role);
  trilha_producer_run(&p, sql);
  make_earlier(&p);
  snprintf(sql, sizeof sql, "%s_o", role);
  CHECKED(trilha_outbox_grant(outbox, trilha_text_of(sql), TRILHA_TEXT("operator"), error));
  snprintf(sql, sizeof sql, "%s_r", role);
  CHECKED(trilha_outbox_grant(outbox, trilha_text_of(sql), TRILHA_TEXT("relay"), error));
  CHECKED(trilha_outbox_install(outbox, false, NULL, NULL, error));
  static const char may[] =
      "SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'billing'::regnamespace AND (p.proname = 'outbox_quotas' "
      "OR "
      "p.proname = 'outbox_worker_beat') AND has_function_privilege('%s_%c', p.oid, 'EXECUTE')";
  snprintf(sql, sizeof sql, may, role, 'o');
  assert_int_equal(trilha_producer_count(&p, sql), 1);
  snprintf(sql, sizeof sql, may, role, 'r');
  assert_int_equal(trilha_producer_count(&p, sql), 2);
  snprintf(sql, sizeof sql, may, role, 'n');
  assert_int_equal(trilha_producer_count(&p, sql), 0);
  for (const char *k = "orn"; *k != '\0'; k++) {
    snprintf(sql, sizeof sql, "DROP OWNED BY %s_%c; DROP ROLE %s_%c", role, *k, role, *k);
    trilha_producer_run(&p, sql);
  }
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(R35_a_tenant_that_holds_its_quota_while_more_of_it_waits_is_told_and_no_other),
      TEST(the_smallest_quota_of_those_that_take_lanes_counts),
      TEST(a_lease_that_ran_out_fills_no_quota),
      TEST(what_a_dead_worker_held_is_held_no_longer_than_its_next_word_was_expected),
      TEST(a_worker_is_registered_in_an_outbox_that_an_earlier_version_installed),
      TEST(a_worker_of_an_earlier_version_is_registered_without_a_quota),
      TEST(who_had_a_duty_before_quotas_has_it_after),
  };
  return cmocka_run_group_tests_name("quotas for tenants", tests, NULL, NULL);
}
