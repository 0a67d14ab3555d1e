/* reaction: in whose name a handler runs, and that nothing of it is left (requirements O10, O11; ruling R36). Policies
 * and session settings are PostgreSQL's; on SQLite the scope is data alone. */
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "relay/destination.h"
#include "trilha/reaction.h"

typedef struct hand {
  trilha_status answer;   /* what the handler says */
  const char *before;     /* SQL that it runs first, and which succeeds; NULL: none */
  const char *ask;        /* a query whose first value is kept in `told`; NULL: none */
  const char *refused_by; /* a statement that must fail with SQLSTATE 42501; NULL: none */
  const char *last;       /* SQL whatever comes of it; NULL: none */
  PGconn *session;        /* of the last call */
  int pid;                /* of its server process */
  char scope[256], told[256];
  atomic_int calls, wrong;
} hand;

static void note_scope(const trilha_scope *s, char *out, size_t size) {
  const trilha_text texts[] = {s->tenant_id,    s->company_id,  s->correlation_id,
                               s->causation_id, s->traceparent, s->credential};
  size_t at = 0;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    at += (size_t)snprintf(out + at, size - at, "%s%.*s", i == 0 ? "" : "|",
                           texts[i].data == NULL ? 1 : (int)texts[i].size, texts[i].data == NULL ? "-" : texts[i].data);
}

static void run(PGconn *session, const char *sql) {
  PGresult *r = PQexec(session, sql);
  ExecStatusType status = PQresultStatus(r);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail_msg("%s: %s", sql, PQresultErrorMessage(r));
  PQclear(r);
}

static void ask(PGconn *session, const char *sql, char *out, size_t size) {
  PGresult *r = PQexec(session, sql);
  if (PQresultStatus(r) != PGRES_TUPLES_OK) fail_msg("%s: %s", sql, PQresultErrorMessage(r));
  snprintf(out, size, "%s", PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
  PQclear(r);
}

static void must_be_refused(PGconn *session, const char *sql) {
  run(session, "SAVEPOINT s");
  PGresult *r = PQexec(session, sql);
  const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
  if (state == NULL || strcmp(state, "42501") != 0) fail_msg("%s was not refused", sql);
  PQclear(r);
  run(session, "ROLLBACK TO s");
}

static trilha_status act(void *user, const trilha_envelope *e, trilha_reaction_call *call, trilha_error *error) {
  hand *h = user;
  atomic_fetch_add(&h->calls, 1);
  note_scope(trilha_reaction_scope(call), h->scope, sizeof h->scope);
  h->session = trilha_reaction_postgres(call);
  if (h->session != NULL) {
    h->pid = PQbackendPID(h->session);
    if (h->before != NULL) run(h->session, h->before);
    if (h->ask != NULL) ask(h->session, h->ask, h->told, sizeof h->told);
    if (h->refused_by != NULL) must_be_refused(h->session, h->refused_by);
    if (h->last != NULL) PQclear(PQexec(h->session, h->last));
  }
  if (h->answer == TRILHA_OK) return TRILHA_OK;
  snprintf(error->code, sizeof error->code, "MINE");
  snprintf(error->text, sizeof error->text, "not now");
  return error->status = h->answer;
}

typedef struct scene {
  const trilha_fixture *f;
  trilha_producer p;
  trilha_reaction *reaction;
  hand hand;
  int messages;
} scene;

static void open_scene(scene *s, void **state, const char *settings) {
  *s = (scene){.f = *state, .p = trilha_producer_open(*state, true)};
  const trilha_reaction_options options = {.inbox = trilha_producer_options(s->f),
                                           .consumer = "estoque",
                                           .react = act,
                                           .user = &s->hand,
                                           .settings = settings};
  CHECKED(trilha_reaction_new(&options, &s->reaction, error));
}

static void close_scene(scene *s) {
  trilha_reaction_free(s->reaction);
  trilha_producer_close(&s->p);
}

/* A new message; company "-": none, and neither cause nor trace. */
static trilha_status give(scene *s, const char *tenant, const char *company) {
  char id[40];
  trilha_error err = {0};
  bool bare = strcmp(company, "-") == 0;
  snprintf(id, sizeof id, "01a22b42-62b6-70d6-925b-%012d", ++s->messages);
  trilha_envelope e = {.destination = TRILHA_TEXT("everything"),
                       .message_id = trilha_text_of(id),
                       .tenant_id = trilha_text_of(tenant),
                       .aggregate_type = TRILHA_TEXT("nota"),
                       .aggregate_key = TRILHA_TEXT("1"),
                       .aggregate_sequence = s->messages,
                       .previous_sequence = s->messages - 1,
                       .message_type = TRILHA_TEXT("nota.emitida"),
                       .version = TRILHA_TEXT("1.0.0"),
                       .origin = TRILHA_TEXT("faturamento"),
                       .correlation_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6727"),
                       .occurred_at = TRILHA_TEXT("2026-01-02T03:04:05Z"),
                       .payload = TRILHA_TEXT("{\"tenant_id\":\"outra\"}"), /* which grants nothing */
                       .revision = 1,
                       .attempt = 1,
                       .timeout_ms = 60000};
  if (!bare) {
    e.company_id = trilha_text_of(company);
    e.causation_id = TRILHA_TEXT("b8767a61-82e6-4978-b826-563ee88b6727");
    e.traceparent = TRILHA_TEXT("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    e.credential = TRILHA_TEXT("faturamento-relay");
  }
  const trilha_transport transport = trilha_reaction_transport(s->reaction, TRILHA_TEXT("everything"));
  return transport.send(transport.user, &e, &err);
}

#define FULL                              \
  "|a8767a61-82e6-4978-b826-563ee88b6727" \
  "|b8767a61-82e6-4978-b826-563ee88b6727" \
  "|00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01|faturamento-relay"
#define ALL_SETTINGS(prefix)                                                                          \
  "SELECT concat_ws('|', coalesce(current_setting('" prefix                                           \
  ".tenant_id', true), ''), coalesce(current_setting('" prefix                                        \
  ".company_id', true), ''), coalesce(current_setting('" prefix                                       \
  ".correlation_id', true), ''), "                                                                    \
  "coalesce(current_setting('" prefix ".causation_id', true), ''), coalesce(current_setting('" prefix \
  ".traceparent', true), ''), coalesce(current_setting('" prefix ".credential', true), ''))"

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void a_handler_has_the_scope_of_its_own_message_whatever_became_of_the_one_before(void **state) {
  scene s;
  open_scene(&s, state, NULL);
  s.hand.ask = ALL_SETTINGS("trilha");
  assert_int_equal(give(&s, "acme", "matriz"), TRILHA_OK);
  assert_string_equal(s.hand.scope, "acme|matriz" FULL);
  if (s.f->is_postgres) assert_string_equal(s.hand.told, "acme|matriz" FULL);
  assert_int_equal(give(&s, "outra", "-"), TRILHA_OK);
  assert_string_equal(s.hand.scope, "outra|-|a8767a61-82e6-4978-b826-563ee88b6727|-|-|-");
  if (s.f->is_postgres) assert_string_equal(s.hand.told, "outra||a8767a61-82e6-4978-b826-563ee88b6727|||");
  s.hand.answer = TRILHA_UNAVAILABLE;
  assert_int_equal(give(&s, "outra", "filial"), TRILHA_UNAVAILABLE);
  assert_string_equal(s.hand.scope, "outra|filial" FULL);
  s.hand.answer = TRILHA_OK;
  assert_int_equal(give(&s, "acme", "-"), TRILHA_OK);
  assert_string_equal(s.hand.scope, "acme|-|a8767a61-82e6-4978-b826-563ee88b6727|-|-|-");
  if (s.f->is_postgres) assert_string_equal(s.hand.told, "acme||a8767a61-82e6-4978-b826-563ee88b6727|||");
  close_scene(&s);
}

/* Between two messages the connection waits for the next: this test asks it there. */
static void assert_session_is_bare(scene *s) {
  char left[256];
  assert_int_equal(PQtransactionStatus(s->hand.session), PQTRANS_IDLE);
  ask(s->hand.session, ALL_SETTINGS("trilha"), left, sizeof left);
  assert_string_equal(left, "|||||");
}

static void after_a_commit_a_rollback_and_an_error_nothing_of_the_scope_is_left_in_the_session(void **state) {
  scene s;
  open_scene(&s, state, NULL);
  if (s.f->is_postgres) {
    assert_int_equal(give(&s, "acme", "matriz"), TRILHA_OK);
    assert_session_is_bare(&s);
    s.hand.answer = TRILHA_UNAVAILABLE;
    assert_int_equal(give(&s, "acme", "matriz"), TRILHA_UNAVAILABLE);
    assert_session_is_bare(&s);
    s.hand.last = "SELECT * FROM there_is_no_such_table";
    assert_int_equal(give(&s, "acme", "matriz"), TRILHA_UNAVAILABLE);
    assert_session_is_bare(&s);
    s.hand.answer = TRILHA_OK; /* which is not believed */
    assert_int_equal(give(&s, "acme", "matriz"), TRILHA_UNAVAILABLE);
    assert_session_is_bare(&s);
    s.hand.last = "SET trilha.tenant_id = 'acme'"; /* for the session, by a handler that means ill */
    assert_int_equal(give(&s, "acme", "matriz"), TRILHA_OK);
    assert_session_is_bare(&s);
  }
  close_scene(&s);
}

static void make_accounts(scene *s, const char *prefix, char role[64]) {
  char sql[600], database[64];
  trilha_producer_text(&s->p, "SELECT current_database()", database, sizeof database);
  snprintf(role, 64, "t_%.50s", database);
  trilha_producer_run(&s->p, "CREATE TABLE conta (tenant_id text NOT NULL, company_id text, valor int NOT NULL)");
  trilha_producer_run(&s->p,
                      "INSERT INTO conta VALUES ('acme', 'matriz', 1), ('acme', 'matriz', 2), ('acme', 'filial', 4), "
                      "('acme', NULL, 8), ('outra', 'matriz', 16), ('outra', NULL, 32)");
  trilha_producer_run(&s->p, "ALTER TABLE conta ENABLE ROW LEVEL SECURITY");
  trilha_producer_run(&s->p, "ALTER TABLE conta FORCE ROW LEVEL SECURITY");
  snprintf(sql, sizeof sql,
           "CREATE POLICY dono ON conta USING (tenant_id = nullif(current_setting('%s.tenant_id', true), '') AND "
           "company_id IS NOT DISTINCT FROM nullif(current_setting('%s.company_id', true), ''))",
           prefix, prefix);
  trilha_producer_run(&s->p, sql);
  snprintf(sql, sizeof sql, "CREATE ROLE %s NOSUPERUSER NOBYPASSRLS", role);
  trilha_producer_run(&s->p, sql);
  snprintf(sql, sizeof sql, "GRANT SELECT, INSERT, UPDATE ON conta TO %s", role);
  trilha_producer_run(&s->p, sql);
}

static void drop_role(scene *s, const char *role) {
  char sql[128];
  snprintf(sql, sizeof sql, "DROP OWNED BY %s", role);
  trilha_producer_run(&s->p, sql);
  snprintf(sql, sizeof sql, "DROP ROLE %s", role);
  trilha_producer_run(&s->p, sql);
}

static void a_policy_shows_a_handler_the_rows_of_its_own_tenant_and_company_only_under(void **state,
                                                                                       const char *settings,
                                                                                       const char *prefix) {
  scene s;
  char role[64], become[96];
  open_scene(&s, state, settings);
  if (!s.f->is_postgres) {
    close_scene(&s);
    return;
  }
  make_accounts(&s, prefix, role);
  snprintf(become, sizeof become, "SET LOCAL ROLE %s", role);
  s.hand.before = become;
  s.hand.ask = "SELECT coalesce(sum(valor), 0) FROM conta";
  s.hand.refused_by = "INSERT INTO conta VALUES ('outra', 'filial', 64)";
  assert_int_equal(give(&s, "acme", "matriz"), TRILHA_OK); /* on a virgin connection */
  assert_string_equal(s.hand.told, "3");
  s.hand.refused_by = "INSERT INTO conta VALUES ('acme', 'matriz', 64)";
  assert_int_equal(give(&s, "outra", "-"), TRILHA_OK); /* on a used one */
  assert_string_equal(s.hand.told, "32");
  s.hand.answer = TRILHA_UNAVAILABLE;
  assert_int_equal(give(&s, "outra", "matriz"), TRILHA_UNAVAILABLE);
  assert_string_equal(s.hand.told, "16");
  s.hand.answer = TRILHA_OK;
  s.hand.last = "UPDATE conta SET valor = valor + 100"; /* of all that it sees */
  assert_int_equal(give(&s, "acme", "filial"), TRILHA_OK);
  assert_int_equal(trilha_producer_count(&s.p, "SELECT sum(valor) FROM conta"), 163);
  assert_int_equal(trilha_producer_count(&s.p, "SELECT valor FROM conta WHERE company_id = 'filial'"), 104);
  assert_int_equal(give(&s, "nenhuma", "matriz"), TRILHA_OK);
  assert_string_equal(s.hand.told, "0");
  run(s.hand.session, "BEGIN"); /* and who runs no message sees nothing */
  run(s.hand.session, become);
  ask(s.hand.session, s.hand.ask, s.hand.told, sizeof s.hand.told);
  assert_string_equal(s.hand.told, "0");
  run(s.hand.session, "ROLLBACK");
  drop_role(&s, role);
  close_scene(&s);
}

static void a_policy_shows_a_handler_the_rows_of_its_own_tenant_and_company_only(void **state) {
  a_policy_shows_a_handler_the_rows_of_its_own_tenant_and_company_only_under(state, NULL, "trilha");
}

static void policies_that_ask_other_settings_are_served_by_their_names(void **state) {
  a_policy_shows_a_handler_the_rows_of_its_own_tenant_and_company_only_under(state, "app_1", "app_1");
}

static int64_t closed(const scene *s) {
  trilha_reaction_counts counts = {0};
  trilha_reaction_counted(s->reaction, &counts);
  return counts.closed;
}

static void a_connection_that_cannot_be_cleared_is_closed_counted_and_not_used_again(void **state) {
  scene s;
  open_scene(&s, state, NULL);
  assert_int_equal(give(&s, "acme", "matriz"), TRILHA_OK);
  assert_int_equal(closed(&s), 0);
  if (s.f->is_postgres) {
    int first = s.hand.pid;
    assert_int_equal(give(&s, "acme", "matriz"), TRILHA_OK);
    assert_int_equal(s.hand.pid, first);       /* a clean one is kept */
    s.hand.last = "COPY (SELECT 1) TO STDOUT"; /* and left in the middle */
    assert_int_not_equal(give(&s, "acme", "matriz"), TRILHA_OK);
    assert_int_equal(closed(&s), 1);
    s.hand.last = "SELECT pg_terminate_backend(pg_backend_pid())";
    assert_int_not_equal(give(&s, "acme", "matriz"), TRILHA_OK);
    assert_int_not_equal(s.hand.pid, first);
    assert_int_equal(closed(&s), 2);
    int second = s.hand.pid;
    s.hand.last = NULL;
    s.hand.ask = ALL_SETTINGS("trilha");
    assert_int_equal(give(&s, "outra", "-"), TRILHA_OK);
    assert_int_not_equal(s.hand.pid, second);
    assert_string_equal(s.hand.told, "outra||a8767a61-82e6-4978-b826-563ee88b6727|||");
    assert_int_equal(closed(&s), 2);
  }
  close_scene(&s);
}

static trilha_status compare(void *user, const trilha_envelope *e, trilha_reaction_call *call, trilha_error *error) {
  hand *h = user;
  char tenant[64] = "";
  const trilha_scope *scope = trilha_reaction_scope(call);
  atomic_fetch_add(&h->calls, 1);
  if (trilha_reaction_postgres(call) != NULL) {
    ask(trilha_reaction_postgres(call), "SELECT current_setting('trilha.tenant_id', true)", tenant, sizeof tenant);
    if (!trilha_text_is(e->tenant_id, tenant)) atomic_fetch_add(&h->wrong, 1);
  }
  if (!trilha_text_equal(scope->tenant_id, e->tenant_id)) atomic_fetch_add(&h->wrong, 1);
  if (scope->company_id.data != NULL || scope->credential.data != NULL) atomic_fetch_add(&h->wrong, 1);
  return TRILHA_OK;
}

static void tenants_that_are_handled_at_once_keep_their_own_scopes(void **state) {
  enum { TENANTS = 6, EACH = 8 };
  scene s;
  open_scene(&s, state, NULL);
  trilha_reaction_free(s.reaction);
  const trilha_reaction_options options = {
      .inbox = trilha_producer_options(s.f), .consumer = "estoque", .react = compare, .user = &s.hand};
  CHECKED(trilha_reaction_new(&options, &s.reaction, error));
  for (int i = 0; i < TENANTS * EACH; i++) {
    char tenant[16];
    snprintf(tenant, sizeof tenant, "t%d", i % TENANTS);
    trilha_producer_say(&s.p, tenant, "1");
  }
  const trilha_transport transport = trilha_reaction_transport(s.reaction, TRILHA_TEXT("everything"));
  assert_int_equal(drain_with(fast(s.f, &transport, 1), 1).sent, TENANTS * EACH);
  assert_true(atomic_load(&s.hand.calls) == TENANTS * EACH && atomic_load(&s.hand.wrong) == 0);
  close_scene(&s);
}

static void names_that_no_setting_can_have_are_refused(void **state) {
  static const char *const wrong[] = {
      "", "App", "app.x", "1app", "a'b", "a b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const trilha_reaction_options options = {
        .inbox = trilha_producer_options(*state), .react = act, .settings = wrong[i]};
    trilha_reaction *reaction = NULL;
    trilha_error err = {0};
    assert_int_equal(trilha_reaction_new(&options, &reaction, &err), TRILHA_USAGE);
    assert_string_equal(err.code, "REACTION_OPTIONS");
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_handler_has_the_scope_of_its_own_message_whatever_became_of_the_one_before),
      TEST(after_a_commit_a_rollback_and_an_error_nothing_of_the_scope_is_left_in_the_session),
      TEST(a_policy_shows_a_handler_the_rows_of_its_own_tenant_and_company_only),
      TEST(policies_that_ask_other_settings_are_served_by_their_names),
      TEST(a_connection_that_cannot_be_cleared_is_closed_counted_and_not_used_again),
      TEST(tenants_that_are_handled_at_once_keep_their_own_scopes),
      TEST(names_that_no_setting_can_have_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
