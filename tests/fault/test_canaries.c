/* fault: personal values through every path, then looked for in every byte (reliability 13; field report B29).
 *
 * Each value begins with a mark that only this run knows. Events that are valid, refused in ten ways, repeated with
 * other content, failed by handlers that put the whole payload into their error text, and reprocessed; then the mark is
 * looked for in the files of the store, its write-ahead log, its server's log, every diagnostic and every error text.
 * The control writes one value past Trilha, which must be found in each of those places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/history.h"
#include "trilha/delivery.h"

enum {
  EVENTS = 12500,
  BATCH = 100,
  VALUES_EACH = 5,
  INVALID_ONE_IN = 4,
  FAIL_ONE_IN = 100,
  REPEAT_ONE_IN = 10,
  MARK = 12,
  TRIES = 20
};
enum { FOLDER = 600, PIECE = 1 << 20, DEPTH_MAX = 8 };

typedef struct run {
  trilha_fixture *f;
  trilha *handle;
  char mark[MARK + 1];
  FILE *said; /* diagnostics and error texts */
  pthread_mutex_t lock;
  int64_t values, failures;
} run;

/* --- what is said ---------------------------------------------------------------------------------------------------
 */

static void write_diagnostic(void *user, const trilha_diagnostic *d) {
  run *r = user;
  pthread_mutex_lock(&r->lock);
  fprintf(r->said, "%s %s", d->name, d->message);
  for (size_t i = 0; i < d->field_count; i++)
    fprintf(r->said, " %s=%.*s", d->fields[i].name, (int)d->fields[i].text.size, d->fields[i].text.data);
  fputc('\n', r->said);
  pthread_mutex_unlock(&r->lock);
}

static void write_answer(run *r, const trilha_publish_result *result) {
  if (result->status == TRILHA_OK) return;
  pthread_mutex_lock(&r->lock);
  fprintf(r->said, "%s %s\n", result->error.code, result->error.text);
  for (size_t i = 0; i < result->payload_error_count; i++) {
    const trilha_payload_error *e = &result->payload_errors[i];
    fprintf(r->said, "%s %s %s %s\n", e->instance_pointer, e->schema_pointer, e->keyword, e->text);
  }
  pthread_mutex_unlock(&r->lock);
}

static run begin(void **state) {
  run r = {.f = *state, .lock = PTHREAD_MUTEX_INITIALIZER};
  unsigned seed = fault_seed();
  memcpy(r.mark, "zq", 2);
  for (int i = 2; i < MARK; i++) r.mark[i] = (char)('a' + fault_draw(&seed, 26));
  return r;
}

static void open_handle(run *r) {
  char path[FOLDER];
  snprintf(path, sizeof path, "%s/said", r->f->folder);
  r->said = fopen(path, "w");
  assert_non_null(r->said);
  trilha_options options = {
      .store_url = r->f->url, .keyring = r->f->keyring, .diagnostics = {.emit = write_diagnostic, .user = r}};
  assert_int_equal(trilha_open(&options, &r->handle, NULL), TRILHA_OK);
}

/* --- payloads
 * ---------------------------------------------------------------------------------------------------------- */

static int valid_payload(const run *r, int i, char *out, size_t size) {
  return snprintf(out, size,
                  "{\"n\":%d,\"texto\":\"%s%07da\",\"nome\":\"%s%07db\",\"livre\":{\"x\":[\"%s%07dc\",{\"%s%07dd\":"
                  "\"%s%07de\"}]}}",
                  i, r->mark, i, r->mark, i, r->mark, i, r->mark, i, r->mark, i);
}

/* Ways to be refused, each with a value where it hurts: of the wrong type, as a name, outside an enumeration, broken
 * off, beside an escape that no store keeps, in bytes that are no text… */
static void invalid_payload(const run *r, int i, char *out, size_t size) {
  static const char *const shapes[] = {"{\"n\":\"%s%07d\"}",
                                       "{\"n\":1,\"%s%07d\":2}",
                                       "{\"n\":1,\"canal\":\"%s%07d\"}",
                                       "{\"n\":1,\"nome\":\"%s%07d",
                                       "{\"n\":1,\"nome\":[\"%s%07d\"]}",
                                       "\"%s%07d\"",
                                       "{\"n\":1,\"nome\":\"x\",\"nome\":\"%s%07d\"}",
                                       "{\"n\":1,\"texto\":\"%s%07d\\u0000\"}",
                                       "{\"n\":1,\"nome\":\"%s%07d\xff\"}",
                                       "{\"n\":1,\"nome\":%s%07d}"};
  const char *shape = shapes[(i / INVALID_ONE_IN) % (int)(sizeof shapes / sizeof shapes[0])];
  const char *mark = strstr(shape, "%s");
  snprintf(out, size, "%.*s%s%07d%s", (int)(mark - shape), shape, r->mark, i, mark + strlen("%s%07d"));
}

static trilha_status fail_with_everything(void *user, const trilha_event *event, trilha_delivery *delivery) {
  run *r = user;
  if (event->sequence_number % FAIL_ONE_IN != 0) return TRILHA_OK;
  pthread_mutex_lock(&r->lock);
  r->failures++;
  pthread_mutex_unlock(&r->lock);
  return trilha_delivery_fail_with_stack(delivery, trilha_text_of(event->payload), trilha_text_of(event->payload));
}

static void publish_batch(run *r, int from) {
  static char payloads[BATCH][512], ids[BATCH][40];
  trilha_publication p[BATCH];
  trilha_publish_result results[BATCH];
  for (int k = 0; k < BATCH; k++) {
    int i = from + k;
    bool invalid = i % INVALID_ONE_IN == 1;
    if (invalid)
      invalid_payload(r, i, payloads[k], sizeof payloads[k]);
    else
      valid_payload(r, i, payloads[k], sizeof payloads[k]);
    r->values += invalid ? 1 : VALUES_EACH;
    /* A repeat: the id of the event before, with other content. */
    int of = i % REPEAT_ONE_IN == 3 ? i - 1 : i;
    snprintf(ids[k], sizeof ids[k], "%08d-0000-4000-8000-000000000000", of);
    p[k] = (trilha_publication){.tipo = i % 97 == 5 ? TRILHA_TEXT("teste.nenhum") : TRILHA_TEXT("teste.a"),
                                .origem = TRILHA_TEXT("D-1a"),
                                .payload = trilha_text_of(payloads[k]),
                                .event_id = trilha_text_of(ids[k])};
  }
  (void)!trilha_publish_many(r->handle, p, BATCH, results, NULL);
  for (int k = 0; k < BATCH; k++) {
    write_answer(r, &results[k]);
    trilha_publish_result_done(&results[k]);
  }
}

static trilha_status fail_again(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  return trilha_delivery_fail(delivery, "de novo: %s", event->payload);
}

static void live(run *r) {
  trilha_fixture_register(r->handle, "teste.a", "1.0.0", trilha_test_schema);
  trilha_subscription subscription = {.tipo = TRILHA_TEXT("teste.a"),
                                      .colonia = TRILHA_TEXT("D-4"),
                                      .handler_nome = TRILHA_TEXT("fala"),
                                      .handler = fail_with_everything,
                                      .user = r};
  int64_t id;
  assert_int_equal(trilha_subscribe(r->handle, &subscription, &id, NULL), TRILHA_OK);
  for (int i = 0; i < fault_times(EVENTS); i += BATCH) publish_batch(r, i);
  trilha_reprocessed done = {0};
  assert_int_equal(
      trilha_reprocess_with(r->handle, TRILHA_TEXT("D-4"), NULL, 0, (trilha_text){0}, fail_again, NULL, &done, NULL),
      TRILHA_OK);
  assert_true(done.failed > 0);
  trilha_close(r->handle);
  fclose(r->said);
}

/* --- looking
 * -------------------------------------------------------------------------------------------------------------- */

static bool file_holds(const char *path, const char *mark) {
  static char piece[PIECE + MARK];
  FILE *file = fopen(path, "r");
  if (file == NULL) return false; /* gone meanwhile */
  size_t kept = 0, n;
  bool found = false;
  while (!found && (n = fread(piece + kept, 1, PIECE, file)) > 0) {
    size_t size = kept + n;
    found = memmem(piece, size, mark, MARK) != NULL;
    kept = size < MARK - 1 ? size : MARK - 1;
    memmove(piece, piece + size - kept, kept);
  }
  fclose(file);
  return found;
}

typedef struct look {
  const char *mark;
  size_t files, holding;
  char last[FOLDER]; /* that holds it */
} look;

static void look_into(look *l, const char *path, int depth) {
  struct stat found;
  if (lstat(path, &found) != 0) return;
  if (S_ISREG(found.st_mode)) {
    l->files++;
    if (!file_holds(path, l->mark)) return;
    l->holding++;
    snprintf(l->last, sizeof l->last, "%s", path);
    return;
  }
  if (!S_ISDIR(found.st_mode) || depth == DEPTH_MAX) return;
  DIR *folder = opendir(path);
  if (folder == NULL && errno == ENOENT) return; /* gone meanwhile: a neighbour's database */
  if (folder == NULL) fail_msg("%s cannot be read", path);
  for (struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
    char inside[FOLDER];
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (snprintf(inside, sizeof inside, "%s/%s", path, e->d_name) < FOLDER) look_into(l, inside, depth + 1);
  }
  closedir(folder);
}

static void ask_server(const trilha_fixture *f, const char *sql, char *out, size_t size) {
  PGconn *pg = PQconnectdb(f->url);
  PGresult *result = PQexec(pg, sql);
  if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
    fail_msg("%s: %s", sql, PQerrorMessage(pg));
  snprintf(out, size, "%s", PQntuples(result) == 1 ? PQgetvalue(result, 0, 0) : "");
  PQclear(result);
  PQfinish(pg);
}

/* Where the store keeps its bytes: a server's whole folder, its write-ahead log and what it logged included; skips the
 * test when that is another user's. */
static void store_folder(const trilha_fixture *f, char out[FOLDER]) {
  if (!f->is_postgres) {
    snprintf(out, FOLDER, "%s", f->folder);
    return;
  }
  char ignored[8];
  ask_server(f, "SHOW data_directory", out, FOLDER - 8);
  ask_server(f, "CHECKPOINT", ignored, sizeof ignored);
  if (access(out, R_OK | X_OK) != 0) {
    printf("# the server's files cannot be read: %s\n", out);
    skip();
  }
  char log[FOLDER];
  snprintf(log, sizeof log, "%.500s/../log", out);
  if (access(log, R_OK) == 0) snprintf(out + strlen(out), 8, "/..");
}

/* In the test's own folder: a file that holds SQLite's log, and what was said. */
static look look_beside(const run *r) {
  look l = {.mark = r->mark};
  look_into(&l, r->f->folder, 0);
  return l;
}

static look look_everywhere(const run *r) {
  char folder[FOLDER];
  look l = {.mark = r->mark};
  store_folder(r->f, folder);
  look_into(&l, folder, 0);
  if (r->f->is_postgres) look_into(&l, r->f->folder, 0);
  return l;
}

static void no_personal_value_reaches_a_file_a_diagnostic_or_an_error_text(void **state) {
  run r = begin(state);
  open_handle(&r);
  live(&r);
  look l = look_everywhere(&r);
  printf("# %lld values, %lld failures, %lld events stored; %zu files looked through\n", (long long)r.values,
         (long long)r.failures, (long long)trilha_fixture_count(r.f, "SELECT count(*) FROM {log}"), l.files);
  if (l.holding != 0) fail_msg("%zu files hold personal values, the last is %s", l.holding, l.last);
  assert_true(r.failures > 0);
  assert_true(l.files > 2);
  assert_true(trilha_fixture_count(r.f, "SELECT count(*) FROM {log}") > fault_times(EVENTS) / 2);
}

static void write_past_trilha(const run *r, const char *value, int number) {
  char sql[400], ignored[64];
  snprintf(sql, sizeof sql,
           "INSERT INTO %s (event_id, tipo, origem, payload) VALUES ('00000000-0000-4000-8000-%012d', 'a', 'b', "
           "'{\"nome\": \"%s\"}')",
           r->f->is_postgres ? "core.event_log" : "core_event_log", number, value);
  if (r->f->is_postgres) {
    ask_server(r->f, sql, ignored, sizeof ignored);
    return;
  }
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open_v2(r->f->url + strlen("sqlite:"), &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

static void control_one_value_written_past_trilha_is_found_in_each_place(void **state) {
  run r = begin(state);
  char value[MARK + 20];
  snprintf(value, sizeof value, "%s0000001", r.mark);
  assert_int_equal(look_everywhere(&r).holding, 0);
  /* PostgreSQL: in the table and in the write-ahead log, which neighbours may have written over; SQLite: in its
   * write-ahead log, the fixture's handle being open. */
  size_t in_store = 0, wanted = r.f->is_postgres ? 2 : 1;
  for (int i = 1; i <= TRIES && in_store < wanted; i++) {
    write_past_trilha(&r, value, i);
    in_store = look_everywhere(&r).holding;
  }
  assert_true(in_store >= wanted);
  size_t beside = look_beside(&r).holding;
  open_handle(&r);
  trilha_diagnostic leak = {.name = "a.leak", .message = value};
  write_diagnostic(&r, &leak);
  trilha_close(r.handle);
  fclose(r.said);
  assert_int_equal(look_beside(&r).holding, beside + 1);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(no_personal_value_reaches_a_file_a_diagnostic_or_an_error_text),
      ON_A_FRESH_STORE(control_one_value_written_past_trilha_is_found_in_each_place),
  };
  return cmocka_run_group_tests_name("canaries", tests, NULL, NULL);
}
