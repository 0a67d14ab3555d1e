/* relay: in whose name a message is dispatched: explicit grants, asked for each message; a revocation binds the next
 * one (requirements O10, O11; rulings R34, R41). */
#include <libpq-fe.h>

#include "relay/destination.h"

typedef struct scene {
  const trilha_fixture *f;
  trilha_producer p;
  trilha_outbox *outbox;
  char credential[64]; /* one that this test's relay can prove */
  destination d;
  char seen[64];     /* the credential of the last message that was sent; "-": none */
  int64_t revoke_at; /* with the message of this sequence the grant is taken back; 0: never */
} scene;

static void open_scene(scene *s, void **state) {
  *s = (scene){.f = *state, .p = trilha_producer_open(*state, true), .d = DESTINATION};
  s->outbox = trilha_producer_outbox(*state);
  if (s->f->is_postgres)
    trilha_producer_text(&s->p, "SELECT session_user", s->credential, sizeof s->credential);
  else
    snprintf(s->credential, sizeof s->credential, "faturamento-relay");
}

static void close_scene(scene *s) {
  trilha_outbox_close(s->outbox);
  trilha_producer_close(&s->p);
}

static trilha_service_grant key(const scene *s) {
  return (trilha_service_grant){.credential = trilha_text_of(s->credential),
                                .destination = TRILHA_TEXT("everything"),
                                .tenant_id = TRILHA_TEXT("acme"),
                                .operation = TRILHA_TEXT("nota.emitida")};
}

static bool grant(const scene *s, trilha_service_grant k) {
  bool changed = false;
  CHECKED(trilha_outbox_service_grant(s->outbox, &k, TRILHA_TEXT("ana"), TRILHA_TEXT("contrato 7"), &changed, error));
  return changed;
}

static bool revoke(const scene *s, trilha_service_grant k) {
  bool changed = false;
  CHECKED(trilha_outbox_service_revoke(s->outbox, &k, TRILHA_TEXT("rui"), TRILHA_TEXT("fim"), &changed, error));
  return changed;
}

static trilha_status take(void *user, const trilha_envelope *e, trilha_error *error) {
  scene *s = user;
  trilha_scope scope = trilha_envelope_scope(e);
  snprintf(s->seen, sizeof s->seen, "%.*s", scope.credential.data == NULL ? 1 : (int)scope.credential.size,
           scope.credential.data == NULL ? "-" : scope.credential.data);
  if (e->aggregate_sequence == s->revoke_at) assert_true(revoke(s, key(s)));
  return receive(&s->d, e, error);
}

static trilha_relay_counts deliver_as(scene *s, const char *credential) {
  const trilha_transport transport = {.destination = TRILHA_TEXT("everything"),
                                      .send = take,
                                      .user = s,
                                      .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(s->f, &transport, 1);
  options.credential = credential;
  return drain_with(options, 1);
}

static trilha_relay_counts deliver(scene *s) {
  return deliver_as(s, s->credential);
}

static void say(scene *s, const char *tenant, const char *company, const char *type, const char *aggregate) {
  trilha_message m = trilha_producer_message(tenant, aggregate);
  trilha_enqueued enqueued;
  if (company != NULL) m.company_id = trilha_text_of(company);
  if (type != NULL) m.message_type = trilha_text_of(type);
  trilha_producer_run(&s->p, s->p.pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  CHECKED(trilha_producer_enqueue(&s->p, &m, &enqueued, error));
  trilha_producer_run(&s->p, "COMMIT");
}

static void retry_all(scene *s, const char *code) {
  const trilha_outbox_lanes_filter dead = {.destination = TRILHA_TEXT("everything"),
                                           .error_code = trilha_text_of(code)};
  const trilha_outbox_operation how = {
      .destination = TRILHA_TEXT("everything"), .user = TRILHA_TEXT("ana"), .reason = TRILHA_TEXT("concedido")};
  trilha_outbox_tally tally = {0};
  CHECKED(trilha_outbox_retry_all(s->outbox, &dead, &how, false, NULL, NULL, &tally, error));
}

static void assert_dead(scene *s, const char *aggregate, int64_t sequence, const char *code) {
  char told[512], sql[160];
  assert_status(&s->p, aggregate, sequence, "DeadLettered");
  snprintf(sql, sizeof sql,
           "SELECT error_code || ': ' || error_text FROM {p}outbox_lane WHERE head_sequence = %lld AND state = 'X'",
           (long long)sequence);
  trilha_producer_text(&s->p, sql, told, sizeof told);
  assert_int_equal(strncmp(told, code, strlen(code)), 0);
  assert_non_null(strstr(told, "trilha outbox retry --code ")); /* and what to do */
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void an_outbox_without_grants_asks_for_no_credential(void **state) {
  scene s;
  open_scene(&s, state);
  trilha_producer_say(&s.p, "acme", "1");
  assert_int_equal(deliver(&s).sent, 1);
  assert_string_equal(s.seen, "-");
  close_scene(&s);
}

static void a_message_goes_out_in_the_name_of_the_service_that_may_dispatch_it(void **state) {
  scene s;
  open_scene(&s, state);
  assert_true(grant(&s, key(&s)));
  for (int i = 0; i < 3; i++) trilha_producer_say(&s.p, "acme", "1");
  assert_int_equal(deliver(&s).sent, 3);
  assert_string_equal(s.seen, s.credential);
  close_scene(&s);
}

static void a_message_without_its_grant_is_dead_and_never_sent_until_it_is_granted_and_retried(void **state) {
  static const struct {
    const char *tenant, *company, *type;
  } others[] = {{"outra", NULL, NULL}, {"acme", "matriz", NULL}, {"acme", NULL, "nota.cancelada"}, {"acm", NULL, NULL}};
  enum { OTHERS = sizeof others / sizeof others[0] };
  scene s;
  open_scene(&s, state);
  assert_true(grant(&s, key(&s)));
  for (int i = 0; i < OTHERS; i++) {
    char aggregate[8];
    snprintf(aggregate, sizeof aggregate, "x%d", i);
    say(&s, others[i].tenant, others[i].company, others[i].type, aggregate);
    assert_int_equal(deliver(&s).dead, 1);
    assert_dead(&s, aggregate, 1, "SERVICE_FORBIDDEN");
    trilha_service_grant k = key(&s);
    k.tenant_id = trilha_text_of(others[i].tenant);
    if (others[i].company != NULL) k.company_id = trilha_text_of(others[i].company);
    if (others[i].type != NULL) k.operation = trilha_text_of(others[i].type);
    assert_true(grant(&s, k));
    assert_int_equal(s.d.count, i); /* until now nothing of it was sent */
    retry_all(&s, "SERVICE_FORBIDDEN");
    assert_int_equal(deliver(&s).sent, 1);
    assert_status(&s.p, aggregate, 1, "Dispatched");
  }
  say(&s, "acme", NULL, NULL, "mine"); /* and what was granted goes on beside it all */
  assert_int_equal(deliver(&s).sent, 1);
  close_scene(&s);
}

static void a_revocation_binds_the_next_message_of_a_run_that_is_under_way(void **state) {
  scene s;
  open_scene(&s, state);
  assert_true(grant(&s, key(&s)));
  for (int i = 0; i < 5; i++) trilha_producer_say(&s.p, "acme", "1"); /* one lane, one lease, read at once */
  s.revoke_at = 2;
  trilha_relay_counts counts = deliver(&s);
  assert_true(counts.sent == 2 && counts.dead == 1);
  assert_int_equal(s.d.count, 2);
  assert_status(&s.p, "1", 2, "Dispatched");
  assert_dead(&s, "1", 3, "SERVICE_FORBIDDEN");
  assert_status(&s.p, "1", 4, "Pending");
  trilha_producer_say(&s.p, "acme", "2"); /* closed for good: none is granted, and none goes out */
  assert_int_equal(deliver(&s).dead, 1);
  s.revoke_at = 0;
  assert_true(grant(&s, key(&s)));
  retry_all(&s, "SERVICE_FORBIDDEN");
  assert_int_equal(deliver(&s).sent, 4);
  assert_int_equal(s.d.count, 6);
  close_scene(&s);
}

static void a_worker_without_a_credential_sends_nothing_of_a_closed_outbox(void **state) {
  scene s;
  open_scene(&s, state);
  if (s.f->is_postgres) { /* where its login is its credential */
    assert_true(grant(&s, key(&s)));
    trilha_producer_say(&s.p, "acme", "1");
    assert_int_equal(deliver_as(&s, NULL).sent, 1);
    assert_string_equal(s.seen, s.credential);
  } else {
    assert_true(grant(&s, key(&s)));
    trilha_producer_say(&s.p, "acme", "1");
    assert_int_equal(deliver_as(&s, NULL).dead, 1);
    assert_dead(&s, "1", 1, "SERVICE_FORBIDDEN");
    retry_all(&s, "SERVICE_FORBIDDEN");
    assert_int_equal(deliver_as(&s, "outro-relay").dead, 1);
    assert_int_equal(s.d.count, 0);
  }
  close_scene(&s);
}

/* On PostgreSQL a name proves nothing: the login must be the credential, or a member of it. */
static void a_credential_that_the_login_may_not_use_is_not_believed(void **state) {
  scene s;
  char role[96], sql[256], url[512], database[64];
  open_scene(&s, state);
  if (!s.f->is_postgres) {
    close_scene(&s);
    return;
  }
  trilha_producer_text(&s.p, "SELECT current_database()", database, sizeof database);
  snprintf(role, sizeof role, "relay_%.50s", database);
  snprintf(sql, sizeof sql, "CREATE ROLE %s LOGIN PASSWORD 'pw'", role);
  trilha_producer_run(&s.p, sql);
  CHECKED(trilha_outbox_grant(s.outbox, trilha_text_of(role), TRILHA_TEXT("relay"), error));
  const char *rest = strstr(s.f->url, "://") + 3, *at = strchr(rest, '@');
  snprintf(url, sizeof url, "postgresql://%s:pw@%s", role, at == NULL ? rest : at + 1);
  const trilha_transport transport = {.destination = TRILHA_TEXT("everything"),
                                      .send = take,
                                      .user = &s,
                                      .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(s.f, &transport, 1);
  options.outbox.url = url;
  options.credential = s.credential;
  assert_true(grant(&s, key(&s)));
  trilha_producer_say(&s.p, "acme", "1");
  assert_int_equal(drain_with(options, 1).dead, 1);
  assert_dead(&s, "1", 1, "SERVICE_UNPROVEN");
  assert_int_equal(s.d.count, 0);
  options.credential = NULL; /* its own name: provable, and without a grant */
  retry_all(&s, "SERVICE_UNPROVEN");
  assert_int_equal(drain_with(options, 1).dead, 1);
  assert_dead(&s, "1", 1, "SERVICE_FORBIDDEN");
  trilha_service_grant k = key(&s);
  k.credential = trilha_text_of(role);
  assert_true(grant(&s, k));
  retry_all(&s, "SERVICE_FORBIDDEN");
  assert_int_equal(drain_with(options, 1).sent, 1);
  assert_string_equal(s.seen, role);
  trilha_outbox_options theirs = trilha_producer_options(s.f); /* and no worker helps itself to a grant */
  theirs.url = url;
  trilha_outbox *outbox = NULL;
  CHECKED(trilha_outbox_open(&theirs, &outbox, error));
  assert_int_equal(trilha_outbox_service_grant(outbox, &k, TRILHA_TEXT("x"), TRILHA_TEXT("x"), NULL, NULL),
                   TRILHA_DENIED);
  trilha_outbox_close(outbox);
  k.credential = TRILHA_TEXT("there_is_no_such_role");
  trilha_error err = {0};
  assert_int_equal(trilha_outbox_service_grant(s.outbox, &k, TRILHA_TEXT("x"), TRILHA_TEXT("x"), NULL, &err),
                   TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "CREDENTIAL_UNKNOWN");
  snprintf(sql, sizeof sql, "DROP OWNED BY %s", role);
  trilha_producer_run(&s.p, sql);
  snprintf(sql, sizeof sql, "DROP ROLE %s", role);
  trilha_producer_run(&s.p, sql);
  close_scene(&s);
}

typedef struct standing {
  int count, granted;
  char user[32], reason[32], company[32];
} standing;

static trilha_status note(void *user, const trilha_service_standing *s) {
  standing *n = user;
  n->count++;
  n->granted += s->granted;
  snprintf(n->user, sizeof n->user, "%.*s", (int)s->user.size, s->user.data);
  snprintf(n->reason, sizeof n->reason, "%.*s", (int)s->reason.size, s->reason.data);
  snprintf(n->company, sizeof n->company, "%.*s", s->grant.company_id.data == NULL ? 1 : (int)s->grant.company_id.size,
           s->grant.company_id.data == NULL ? "-" : s->grant.company_id.data);
  return s->at.size > 0 ? TRILHA_OK : TRILHA_INTERNAL;
}

static void every_grant_and_revocation_stays_with_who_and_why(void **state) {
  scene s;
  char message[256];
  trilha_error err = {0};
  open_scene(&s, state);
  trilha_service_grant k = key(&s);
  assert_int_equal(trilha_outbox_service_revoke(s.outbox, &k, TRILHA_TEXT("rui"), TRILHA_TEXT("fim"), NULL, &err),
                   TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "GRANT_NOT_FOUND");
  assert_true(grant(&s, k));
  assert_false(grant(&s, k)); /* it stood so already */
  assert_true(revoke(&s, k));
  assert_false(revoke(&s, k));
  standing n = {0};
  CHECKED(trilha_outbox_service_grants(s.outbox, note, &n, error));
  assert_true(n.count == 1 && n.granted == 0);
  assert_string_equal(n.user, "rui");
  assert_string_equal(n.reason, "fim");
  assert_string_equal(n.company, "-");
  assert_true(grant(&s, k));
  k.company_id = TRILHA_TEXT("matriz");
  assert_true(grant(&s, k));
  n = (standing){0};
  CHECKED(trilha_outbox_service_grants(s.outbox, note, &n, error));
  assert_true(n.count == 2 && n.granted == 2);
  assert_string_equal(n.company, "matriz");
  assert_int_equal(
      trilha_producer_count(
          &s.p, "SELECT count(*) FROM {p}outbox_service_change WHERE action = 'trilha.service-grant.granted'"),
      3);
  assert_int_equal(trilha_producer_count(
                       &s.p,
                       "SELECT count(*) FROM {p}outbox_service_change WHERE action = 'trilha.service-grant.revoked' "
                       "AND user_name = 'rui' AND reason = 'fim'"),
                   1);
  assert_false(trilha_producer_try(&s.p, "UPDATE {p}outbox_service_change SET reason = 'x'", message, sizeof message));
  assert_false(trilha_producer_try(&s.p, "DELETE FROM {p}outbox_service_change", message, sizeof message));
  close_scene(&s);
}

static void what_is_not_explicit_is_no_grant(void **state) {
  static const char longest[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"; /* 64 */
  scene s;
  open_scene(&s, state);
  trilha_service_grant wrong[8];
  for (size_t i = 0; i < 8; i++) wrong[i] = key(&s);
  wrong[0].operation = TRILHA_TEXT("*");
  wrong[1].operation = TRILHA_TEXT("nota.*");
  wrong[2].operation = (trilha_text){0};
  wrong[3].tenant_id = (trilha_text){0};
  wrong[4].tenant_id = TRILHA_TEXT("");
  wrong[5].company_id = TRILHA_TEXT("");
  wrong[6].credential = trilha_text_of(longest);
  wrong[7].credential = (trilha_text){0};
  for (size_t i = 0; i < 8; i++) {
    trilha_error err = {0};
    assert_int_equal(trilha_outbox_service_grant(s.outbox, &wrong[i], TRILHA_TEXT("ana"), TRILHA_TEXT("x"), NULL, &err),
                     TRILHA_INVALID);
    assert_string_equal(err.code, "GRANT_INVALID");
  }
  trilha_service_grant k = key(&s);
  trilha_error err = {0};
  assert_int_equal(trilha_outbox_service_grant(s.outbox, &k, TRILHA_TEXT("ana"), (trilha_text){0}, NULL, &err),
                   TRILHA_USAGE);
  assert_string_equal(err.code, "REASON_MISSING");
  k.destination = TRILHA_TEXT("nowhere");
  err = (trilha_error){0};
  assert_int_equal(trilha_outbox_service_grant(s.outbox, &k, TRILHA_TEXT("ana"), TRILHA_TEXT("x"), NULL, &err),
                   TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "DESTINATION_UNKNOWN");
  assert_int_equal(trilha_outbox_service_grant(NULL, &k, TRILHA_TEXT("ana"), TRILHA_TEXT("x"), NULL, NULL),
                   TRILHA_USAGE);
  assert_int_equal(trilha_outbox_service_grants(s.outbox, NULL, NULL, NULL), TRILHA_USAGE);
  const trilha_transport transport = {
      .destination = TRILHA_TEXT("everything"), .send = take, .user = &s, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(s.f, &transport, 1);
  trilha_relay *relay = NULL;
  options.credential = longest;
  assert_int_equal(trilha_relay_new(&options, &relay, NULL), TRILHA_USAGE);
  close_scene(&s);
}

/* --- guarantees (ruling R37) ---------------------------------------------------------------------------------------
 */

typedef struct listed {
  int count;
  char guarantee[32], because[32], worker[96];
} listed;

static void keep(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", text.data == NULL ? 1 : (int)text.size, text.data == NULL ? "-" : text.data);
}

static trilha_status list(void *user, const trilha_outbox_handler *h) {
  listed *l = user;
  l->count++;
  keep(l->guarantee, sizeof l->guarantee, h->guarantee);
  keep(l->because, sizeof l->because, h->because);
  keep(l->worker, sizeof l->worker, h->worker);
  return trilha_text_is(h->destination, "everything") && (h->guarantee.data == NULL) == (h->declared_at.data == NULL)
             ? TRILHA_OK
             : TRILHA_INTERNAL;
}

static listed look(const scene *s) {
  listed l = {0};
  CHECKED(trilha_outbox_handlers(s->outbox, list, &l, error));
  return l;
}

static void work_with(scene *s, trilha_guarantee guarantee, const char *because) {
  const trilha_transport transport = {.destination = TRILHA_TEXT("everything"),
                                      .send = take,
                                      .user = s,
                                      .at_once = 1,
                                      .guarantee = guarantee,
                                      .because = because};
  drain_with(fast(s->f, &transport, 1), 1);
}

static void what_a_transport_guarantees_is_listed_for_its_destination(void **state) {
  scene s;
  open_scene(&s, state);
  assert_string_equal(look(&s).guarantee, "-"); /* no relay has served it */
  work_with(&s, TRILHA_GUARANTEE_DURABLE, NULL);
  listed first = look(&s);
  assert_string_equal(first.guarantee, "durable");
  assert_string_equal(first.because, "-");
  work_with(&s, TRILHA_GUARANTEE_DURABLE, NULL); /* the same again: who said it first stays */
  assert_string_equal(look(&s).worker, first.worker);
  work_with(&s, TRILHA_GUARANTEE_BEST_EFFORT, "it is printed");
  listed last = look(&s);
  assert_string_equal(last.guarantee, "best effort");
  assert_string_equal(last.because, "it is printed");
  assert_int_equal(last.count, 1);
  work_with(&s, TRILHA_GUARANTEE_ATOMIC, NULL);
  assert_string_equal(look(&s).guarantee, "atomic");
  close_scene(&s);
}

static void a_guarantee_undeclared_or_without_its_reason_is_refused_before_anything_is_sent(void **state) {
  const trilha_transport wrong[] = {
      {TRILHA_TEXT("everything"), receive, NULL},
      {TRILHA_TEXT("everything"), receive, NULL, .guarantee = TRILHA_GUARANTEE_BEST_EFFORT},
      {TRILHA_TEXT("everything"), receive, NULL, .guarantee = TRILHA_GUARANTEE_BEST_EFFORT, .because = ""},
      {TRILHA_TEXT("everything"), receive, NULL, .guarantee = (trilha_guarantee)4}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const trilha_relay_options options = fast(*state, &wrong[i], 1);
    trilha_relay *relay = NULL;
    trilha_error err = {0};
    assert_int_equal(trilha_relay_new(&options, &relay, &err), TRILHA_USAGE);
    assert_string_equal(err.code, "GUARANTEE_INVALID");
    assert_non_null(strstr(err.text, "everything")); /* which of them */
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(an_outbox_without_grants_asks_for_no_credential),
      TEST(a_message_goes_out_in_the_name_of_the_service_that_may_dispatch_it),
      TEST(a_message_without_its_grant_is_dead_and_never_sent_until_it_is_granted_and_retried),
      TEST(a_revocation_binds_the_next_message_of_a_run_that_is_under_way),
      TEST(a_worker_without_a_credential_sends_nothing_of_a_closed_outbox),
      TEST(a_credential_that_the_login_may_not_use_is_not_believed),
      TEST(every_grant_and_revocation_stays_with_who_and_why),
      TEST(what_is_not_explicit_is_no_grant),
      TEST(what_a_transport_guarantees_is_listed_for_its_destination),
      TEST(a_guarantee_undeclared_or_without_its_reason_is_refused_before_anything_is_sent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
