/* tests/store/postgres: a fresh database per test. */
#include "postgres_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/loud.h"

enum { TRIES = 20 };

static const char *const server_url = "TRILHA_TEST_POSTGRES_URL", *const server_folder = "TRILHA_TEST_POSTGRES_FOLDER";

static const char *source_root(void) {
  const char *root = getenv("TRILHA_SOURCE_ROOT");
  return root == NULL ? "." : root;
}

/* --- the server ------------------------------------------------------------------------------------------ */

static bool start_server(char *folder) {
  char command[1024], url[FIXTURE_URL_SIZE] = "";
  snprintf(command, sizeof command, "%s/tools/private-postgres start %s --no-fsync --owner %ld 2>/dev/null",
           source_root(), folder, (long)getpid());
  FILE *tool = popen(command, "r");
  if (tool == NULL) return false;
  if (fgets(url, sizeof url, tool) == NULL) url[0] = '\0';
  url[strcspn(url, "\n")] = '\0';
  if (pclose(tool) != 0 || url[0] == '\0') return false;
  setenv(server_url, url, 1);
  setenv(server_folder, folder, 1);
  return true;
}

bool fixture_skips(void) {
  if (getenv(server_url) != NULL) return false;
  char folder[64];
  snprintf(folder, sizeof folder, "/tmp/trilha-postgres-%ld", (long)getpid());
  if (start_server(folder)) return false;
  puts("1..0 # SKIP no PostgreSQL server could be started (Debian: apt-get install postgresql-15)");
  return true;
}

int fixture_end(int status) {
  const char *folder = getenv(server_folder);
  if (folder == NULL) return status;
  char command[1024];
  snprintf(command, sizeof command, "%s/tools/private-postgres stop %s", source_root(), folder);
  if (system(command) != 0) fprintf(stderr, "the test server in %s was not stopped\n", folder);
  return status;
}

/* --- sessions -------------------------------------------------------------------------------------------- */

static void drop_notice(void *user, const PGresult *result) {
  (void)user, (void)result;
}

PGconn *fixture_session(const char *url) {
  PGconn *sql = PQconnectdb(url);
  if (PQstatus(sql) != CONNECTION_OK) fail_msg("%s", PQerrorMessage(sql));
  PQsetNoticeReceiver(sql, drop_notice, NULL);
  return sql;
}

void fixture_expect(PGconn *sql, const char *command, const char *sqlstate) {
  PGresult *result = PQexec(sql, command);
  const char *got = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (strcmp(got == NULL ? "" : got, sqlstate) != 0)
    fail_msg("%s: expected SQLSTATE '%s': %s", command, sqlstate, PQresultErrorMessage(result));
  PQclear(result);
}

void fixture_run(PGconn *sql, const char *format, ...) {
  char command[8192];
  va_list args;
  va_start(args, format);
  vsnprintf(command, sizeof command, format, args);
  va_end(args);
  fixture_expect(sql, command, "");
}

int64_t fixture_number(PGconn *sql, const char *query) {
  PGresult *result = PQexec(sql, query);
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
    fail_msg("%s: %s", query, PQerrorMessage(sql));
  int64_t value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
  PQclear(result);
  return value;
}

/* Until those that were there are gone: a client that comes back at once is not one of them. */
void fixture_terminate_others(const fixture *f) {
  PGresult *gone =
      PQexec(f->sql,
             "WITH gone AS MATERIALIZED (SELECT pid, pg_terminate_backend(pid) AS sent FROM pg_stat_activity"
             " WHERE datname = current_database() AND pid <> pg_backend_pid())"
             " SELECT coalesce(string_agg(pid::text, ','), '0') FROM gone WHERE sent");
  if (PQresultStatus(gone) != PGRES_TUPLES_OK) fail_msg("%s", PQerrorMessage(f->sql));
  char count[4096];
  snprintf(count, sizeof count, "SELECT count(*) FROM pg_stat_activity WHERE pid IN (%s)", PQgetvalue(gone, 0, 0));
  PQclear(gone);
  while (fixture_number(f->sql, count) > 0) trilha_clock_sleep_ms(5);
}

void fixture_await(PGconn *sql, const char *query, int64_t number) {
  trilha_deadline end = trilha_deadline_in_ms(FIXTURE_PATIENCE_MS);
  int64_t found = fixture_number(sql, query);
  for (; found != number && !trilha_deadline_passed(end); found = fixture_number(sql, query)) trilha_clock_sleep_ms(5);
  if (found != number) fail_msg("%s: %lld, not %lld", query, (long long)found, (long long)number);
}

int64_t fixture_hint(const fixture *f) {
  return fixture_number(f->sql,
                        "SELECT coalesce(max((extract(epoch FROM query_start) * 1000000)::bigint), 0) "
                        "FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' "
                        "AND query LIKE 'SELECT CASE WHEN pg_catalog.pg_try_advisory_lock%'");
}

void fixture_await_hint(const fixture *f, int64_t after) {
  trilha_deadline end = trilha_deadline_in_ms(FIXTURE_PATIENCE_MS);
  while (fixture_hint(f) <= after) {
    if (trilha_deadline_passed(end)) fail_msg("no hint was sent");
    trilha_clock_sleep_ms(5);
  }
}

char *fixture_source(const char *path) {
  char full[1024];
  snprintf(full, sizeof full, "%s/%s", source_root(), path);
  FILE *file = fopen(full, "r");
  if (file == NULL) fail_msg("cannot read %s", full);
  char *text = calloc(1, 65536);
  assert_non_null(text);
  size_t size = fread(text, 1, 65535, file);
  text[size] = '\0';
  fclose(file);
  return text;
}

/* --- databases ------------------------------------------------------------------------------------------- */

/* The server's URL is ours: scheme://user:password@host:port/database without options. */
void fixture_url_with(const char *url, int port, const char *database, char out[FIXTURE_URL_SIZE]) {
  const char *at = strrchr(url, '@'), *colon = strrchr(url, ':'), *slash = strrchr(url, '/');
  assert_true(at != NULL && colon > at && slash > colon);
  snprintf(out, FIXTURE_URL_SIZE, "%.*s:%d/%s", (int)(colon - url), url, port == 0 ? atoi(colon + 1) : port,
           database == NULL ? slash + 1 : database);
}

int fixture_port(const char *url) {
  return atoi(strrchr(url, ':') + 1);
}

trilha_status fixture_try_open(const char *url, bool allow_unmigrated, trilha_store **ret_store, trilha_error *err) {
  const trilha_store_options options = {.url = trilha_text_of(url), .allow_unmigrated = allow_unmigrated};
  return trilha_postgres_open(&options, ret_store, err);
}

trilha_store *fixture_open(const char *url) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (fixture_try_open(url, false, &store, &err) != TRILHA_OK) fail_msg("open: %s: %s", err.code, err.text);
  return store;
}

trilha_status fixture_migrate(const char *url, trilha_error *err) {
  trilha_store *store = NULL;
  trilha_status status = fixture_try_open(url, true, &store, err);
  if (status != TRILHA_OK) return status;
  status = store->op->migrate(store, false, NULL, NULL, err);
  store->op->close(store);
  return status;
}

/* Making and dropping databases is refused while the server has not ended a session of them in time. */
static void run_patiently(const char *verb, const char *database, const char *how) {
  char command[256];
  snprintf(command, sizeof command, "%s DATABASE %s %s", verb, database, how);
  PGconn *sql = fixture_session(getenv(server_url));
  for (int i = 0; i < TRIES - 1; i++) {
    PGresult *result = PQexec(sql, command);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    if (done) break;
    trilha_clock_sleep_ms(500);
    if (i == TRIES - 2) fixture_run(sql, "%s", command);
  }
  PQfinish(sql);
}

int fixture_empty(void **state) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  const char *server = getenv(server_url);
  assert_non_null(server);
  snprintf(f->database, sizeof f->database, "trilha_p_%ld_%lld", (long)getpid(),
           (long long)trilha_clock_monotonic_ns());
  run_patiently("CREATE", f->database, "");
  fixture_url_with(server, 0, f->database, f->url);
  f->sql = fixture_session(f->url);
  f->failures_before = test_failures();
  *state = f;
  return 0;
}

int fixture_migrated(void **state) {
  fixture_empty(state);
  fixture *f = *state;
  trilha_error err = {0};
  if (fixture_migrate(f->url, &err) != TRILHA_OK) fail_msg("migrate: %s: %s", err.code, err.text);
  f->store = fixture_open(f->url);
  return 0;
}

int fixture_teardown(void **state) {
  fixture *f = *state;
  /* After a failed assertion threads of the test may still run, and use all of this: then it is left to them. */
  bool left = test_failures() != f->failures_before;
  if (f->store != NULL && !left) f->store->op->close(f->store);
  PQfinish(f->sql);
  if (getenv(server_folder) == NULL) { /* a server of our own goes away whole: dropping costs a checkpoint each */
    run_patiently("DROP", f->database, "WITH (FORCE)");
  }
  if (!left) free(f);
  return 0;
}

/* --- events ---------------------------------------------------------------------------------------------- */

trilha_event_row fixture_row(unsigned n, const char *tipo) {
  trilha_event_row row = {
      .tipo = trilha_text_of(tipo), .versao_schema = TRILHA_TEXT("1.0.0"), .origem = TRILHA_TEXT("D-1a")};
  for (int i = 0; i < 4; i++) row.event_id[12 + i] = (unsigned char)(n >> (24 - 8 * i));
  row.timestamp_us = INT64_C(1781519400250000);
  row.payload = TRILHA_TEXT("{\"n\": 1}");
  return row;
}

trilha_status fixture_append(trilha_store *store, const trilha_event_row *rows, size_t count, int64_t ms,
                             trilha_append_result *results, trilha_error *err) {
  TRILHA_ARENA_SCOPED arena = {0};
  int64_t revision = 0;
  return store->op->append(store, rows, count, trilha_deadline_in_ms(ms), &arena, results, &revision, err);
}

int64_t fixture_append_one(trilha_store *store, unsigned n) {
  trilha_event_row row = fixture_row(n, "demanda.recebida");
  trilha_append_result result;
  trilha_error err = {0};
  if (fixture_append(store, &row, 1, FIXTURE_PATIENCE_MS, &result, &err) != TRILHA_OK)
    fail_msg("append: %s: %s", err.code, err.text);
  return result.row.sequence_number;
}

static trilha_status see(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)err;
  fixture_seen *seen = user;
  if (seen->count < 4096) seen->sequences[seen->count++] = row->sequence_number;
  return TRILHA_OK;
}

void fixture_read(trilha_store *store, int64_t after, const char *tipo, int64_t limit, fixture_seen *seen) {
  *seen = (fixture_seen){.count = 0};
  trilha_text type = trilha_text_of(tipo);
  trilha_error err = {0};
  if (store->op->events_after(store, after, &type, tipo == NULL ? 0 : 1, limit,
                              trilha_deadline_in_ms(FIXTURE_PATIENCE_MS), see, seen, &seen->scanned_to,
                              &err) != TRILHA_OK)
    fail_msg("events_after: %s: %s", err.code, err.text);
}
