/* tests/support/store_fixture: fresh stores for the suites that run on both kinds. */
#include "support/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/text.h"
#include "support/loud.h"

enum { NAMES_MAX = 64, PATIENCE_MS = 60000, TRIES = 20 };

typedef struct trilha_recorded {
  pthread_mutex_t mutex;
  size_t count; /* names */
  struct {
    char name[64];
    char message[160]; /* the last one */
    size_t times;
  } items[NAMES_MAX];
} trilha_recorded;

static void record(void *user, const trilha_diagnostic *diagnostic) {
  trilha_recorded *r = user;
  pthread_mutex_lock(&r->mutex);
  size_t i = 0;
  while (i < r->count && strcmp(r->items[i].name, diagnostic->name) != 0) i++;
  if (i < NAMES_MAX) {
    if (i == r->count) r->count++;
    snprintf(r->items[i].name, sizeof r->items[i].name, "%s", diagnostic->name);
    snprintf(r->items[i].message, sizeof r->items[i].message, "%s", diagnostic->message);
    r->items[i].times++;
  }
  pthread_mutex_unlock(&r->mutex);
}

size_t trilha_fixture_diagnostics(const trilha_fixture *f, const char *name, const char **ret_message) {
  size_t times = 0;
  if (ret_message != NULL) *ret_message = "";
  pthread_mutex_lock(&f->recorded->mutex);
  for (size_t i = 0; i < f->recorded->count; i++) {
    if (strcmp(f->recorded->items[i].name, name) != 0) continue;
    times = f->recorded->items[i].times;
    if (ret_message != NULL) *ret_message = f->recorded->items[i].message;
  }
  pthread_mutex_unlock(&f->recorded->mutex);
  return times;
}

/* --- a database of its own on the test server ---------------------------------------------------------- */

static PGconn *server(const char *url) {
  PGconn *connection = PQconnectdb(url);
  if (PQstatus(connection) != CONNECTION_OK)
    fail_msg("the test server does not answer: %s", PQerrorMessage(connection));
  return connection;
}

static void run_sql(PGconn *connection, const char *sql) {
  PGresult *result = PQexec(connection, sql);
  ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail_msg("%s: %s", sql, PQerrorMessage(connection));
}

/* Making and dropping databases is refused while the server has not ended a session of them in time. */
static void run_patiently(PGconn *connection, const char *sql) {
  for (int i = 0; i < TRIES - 1; i++) {
    PGresult *result = PQexec(connection, sql);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    if (done) return;
    trilha_clock_sleep_ms(500);
  }
  run_sql(connection, sql);
}

/* postgresql://…/postgres?… with the database's name replaced. */
static void url_of_database(const char *base, const char *name, char *out, size_t size) {
  const char *authority = strstr(base, "://");
  assert_non_null(authority);
  const char *slash = strchr(authority + 3, '/');
  const char *query = strchr(authority + 3, '?');
  int head = (int)(slash != NULL ? slash - base : query != NULL ? query - base : (ptrdiff_t)strlen(base));
  snprintf(out, size, "%.*s/%s%s", head, base, name, query == NULL ? "" : query);
}

static void create_database(trilha_fixture *f) {
  const char *base = getenv("TRILHA_TEST_POSTGRES_URL");
  assert_non_null(base);
  char name[64], sql[160];
  snprintf(name, sizeof name, "trilha_t_%ld_%lld", (long)getpid(), (long long)trilha_clock_monotonic_ns());
  PGconn *connection = server(base);
  snprintf(sql, sizeof sql, "CREATE DATABASE %s", name);
  run_patiently(connection, sql);
  PQfinish(connection);
  url_of_database(base, name, f->url, sizeof f->url);
}

static void drop_database(const trilha_fixture *f) {
  const char *base = getenv("TRILHA_TEST_POSTGRES_URL");
  const char *name = strstr(f->url, "/trilha_t_");
  if (base == NULL || name == NULL) return;
  char sql[200];
  int length = (int)strcspn(name + 1, "?");
  PGconn *connection = server(base);
  snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %.*s WITH (FORCE)", length, name + 1);
  run_patiently(connection, sql);
  PQfinish(connection);
}

/* --- the raw store, behind Trilha's back ---------------------------------------------------------------- */

static void name_tables(const trilha_fixture *f, const char *sql, char *out, size_t size) {
  const char *mark = strstr(sql, "{log}");
  if (mark == NULL)
    snprintf(out, size, "%s", sql);
  else
    snprintf(out, size, "%.*s%s%s", (int)(mark - sql), sql, f->is_postgres ? "core.event_log" : "core_event_log",
             mark + 5);
}

static int64_t count_postgres(const trilha_fixture *f, const char *sql) {
  PGconn *connection = server(f->url);
  PGresult *result = PQexec(connection, sql);
  if (PQresultStatus(result) != PGRES_TUPLES_OK) fail_msg("%s: %s", sql, PQerrorMessage(connection));
  int64_t value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
  PQclear(result);
  PQfinish(connection);
  return value;
}

static int64_t count_sqlite(const trilha_fixture *f, const char *sql) {
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_open_v2(f->url + strlen("sqlite:"), &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  sqlite3_busy_timeout(db, PATIENCE_MS);
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return value;
}

int64_t trilha_fixture_count(const trilha_fixture *f, const char *sql) {
  char named[1024];
  name_tables(f, sql, named, sizeof named);
  return f->is_postgres ? count_postgres(f, named) : count_sqlite(f, named);
}

void trilha_fixture_change(const trilha_fixture *f, const char *postgres, const char *sqlite) {
  if (f->is_postgres) {
    PGconn *connection = server(f->url);
    run_sql(connection, postgres);
    PQfinish(connection);
    return;
  }
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open_v2(f->url + strlen("sqlite:"), &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  sqlite3_busy_timeout(db, PATIENCE_MS);
  if (sqlite3_exec(db, sqlite, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", sqlite, sqlite3_errmsg(db));
  sqlite3_close(db);
}

/* --- handles ------------------------------------------------------------------------------------------- */

static trilha *open_with(const trilha_fixture *f, const char *keyring, bool record_it) {
  trilha_options options = {.store_url = f->url, .keyring = keyring};
  if (record_it) options.diagnostics = (trilha_diagnostics){record, f->recorded};
  trilha *handle = NULL;
  trilha_error err = {0};
  if (trilha_open(&options, &handle, &err) != TRILHA_OK) fail_msg("open: %s: %s", err.code, err.text);
  return handle;
}

trilha *trilha_fixture_open(const trilha_fixture *f, const char *keyring) {
  return open_with(f, keyring, false);
}

void trilha_fixture_register(trilha *handle, const char *tipo, const char *versao, const char *schema) {
  trilha_type_version version = {
      .tipo = trilha_text_of(tipo), .versao = trilha_text_of(versao), .schema = trilha_text_of(schema)};
  trilha_error err = {0};
  if (trilha_registry_apply(handle, &version, 1, false, TRILHA_TEXT("tests"), NULL, &err) != TRILHA_OK)
    fail_msg("register %s: %s: %s", tipo, err.code, err.text);
}

static void write_keyring(trilha_fixture *f) {
  char path[200];
  snprintf(path, sizeof path, "%s/keys", f->folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n", file);
  fclose(file);
  chmod(path, 0600);
  snprintf(f->keyring, sizeof f->keyring, "file:%s", path);
}

bool trilha_fixture_skips(void) {
  const char *kind = getenv("TRILHA_TEST_STORE");
  if (kind == NULL || strcmp(kind, "postgresql") != 0 || getenv("TRILHA_TEST_POSTGRES_URL") != NULL) return false;
  puts("1..0 # SKIP TRILHA_TEST_POSTGRES_URL is not set: make test starts a server and sets it");
  return true;
}

int trilha_fixture_setup(void **state) {
  trilha_fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  const char *kind = getenv("TRILHA_TEST_STORE");
  f->is_postgres = kind != NULL && strcmp(kind, "postgresql") == 0;
  snprintf(f->folder, sizeof f->folder, "/tmp/trilha-test-XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  f->recorded = calloc(1, sizeof *f->recorded);
  assert_non_null(f->recorded);
  pthread_mutex_init(&f->recorded->mutex, NULL);
  write_keyring(f);
  if (f->is_postgres)
    create_database(f);
  else
    snprintf(f->url, sizeof f->url, "sqlite:%s/log.db", f->folder);
  trilha_options options = {.store_url = f->url};
  trilha_error err = {0};
  if (trilha_migrate(&options, false, NULL, NULL, &err) != TRILHA_OK) fail_msg("migrate: %s: %s", err.code, err.text);
  f->handle = open_with(f, f->keyring, true);
  f->failures_before = test_failures();
  *state = f;
  return 0;
}

int trilha_fixture_teardown(void **state) {
  trilha_fixture *f = *state;
  /* After a failed assertion threads of the test may still run, and use all of this: then it is left to them. */
  bool left = test_failures() != f->failures_before;
  if (!left) trilha_close(f->handle);
  if (f->is_postgres) drop_database(f);
  char command[200];
  snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
  int failed = system(command);
  if (left) return failed;
  pthread_mutex_destroy(&f->recorded->mutex);
  free(f->recorded);
  free(f);
  return failed;
}
