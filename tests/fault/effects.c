/* tests/fault/effects: see effects.h. */
#include "fault/effects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/history.h"
#include "trilha/postgres.h"
#include "trilha/reaction.h"
#include "trilha/relay.h"

/* --- producing --------------------------------------------------------------------------------------------------- */

trilha_producer effects_open(const trilha_fixture *f) {
  trilha_producer p = trilha_producer_open(f, true);
  trilha_producer_run(
      &p, p.pg != NULL ? "CREATE TABLE applied (n bigserial PRIMARY KEY, key text NOT NULL, sequence bigint NOT NULL)"
                       : "CREATE TABLE applied (n INTEGER PRIMARY KEY, key TEXT NOT NULL, sequence INTEGER NOT NULL)");
  return p;
}

void effects_say(const trilha_producer *p, int count) {
  char key[8];
  for (int i = 0; i < count; i++) {
    snprintf(key, sizeof key, "%d", i % EFFECTS_KEYS);
    trilha_producer_say(p, "acme", key);
  }
}

/* --- the worker ------------------------------------------------------------------------------------------------------
 */

typedef struct worker {
  int history;
  trilha_transport inner;
  trilha_producer careless; /* connected only where effects go without the inbox */
} worker;

static void effect_of(const trilha_envelope *e, char *sql, size_t size) {
  snprintf(sql, size, "INSERT INTO applied (key, sequence) VALUES ('%.*s', %lld)", (int)e->aggregate_key.size,
           e->aggregate_key.data, (long long)e->aggregate_sequence);
}

static trilha_status react(void *user, const trilha_envelope *e, trilha_reaction_call *call, trilha_error *error) {
  char sql[200];
  bool written;
  (void)user;
  effect_of(e, sql, sizeof sql);
  if (trilha_reaction_sqlite(call) != NULL) {
    written = sqlite3_exec(trilha_reaction_sqlite(call), sql, NULL, NULL, NULL) == SQLITE_OK;
  } else {
    PGresult *result = PQexec(trilha_reaction_postgres(call), sql);
    written = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
  }
  if (written) return TRILHA_OK;
  snprintf(error->code, sizeof error->code, "EFFECT_FAILED");
  return error->status = TRILHA_UNAVAILABLE;
}

static trilha_status send_noted(void *user, const trilha_envelope *e, trilha_error *error) {
  const worker *w = user;
  char sql[200];
  trilha_status status = TRILHA_OK;
  fault_write(w->history, "try %.*s %lld\n", (int)e->aggregate_key.size, e->aggregate_key.data,
              (long long)e->aggregate_sequence);
  effect_of(e, sql, sizeof sql);
  if (w->careless.f != NULL)
    trilha_producer_run(&w->careless, sql);
  else
    status = w->inner.send(w->inner.user, e, error);
  if (status == TRILHA_OK)
    fault_write(w->history, "ok %.*s %lld\n", (int)e->aggregate_key.size, e->aggregate_key.data,
                (long long)e->aggregate_sequence);
  return status;
}

static trilha_fixture named(const char *url) {
  trilha_fixture f = {.is_postgres = strncmp(url, "postgres", 8) == 0};
  snprintf(f.url, sizeof f.url, "%s", url);
  return f;
}

trilha_relay_options effects_relay_options(const trilha_fixture *outbox, const trilha_transport *transport) {
  return (trilha_relay_options){.outbox = trilha_producer_options(outbox),
                                .transports = transport,
                                .transport_count = 1,
                                .run = 4,
                                .lease_ms = EFFECTS_LEASE_MS,
                                .timeout_ms = EFFECTS_LEASE_MS / 3,
                                .margin_ms = EFFECTS_LEASE_MS / 3,
                                .backoff_ms = 1,
                                .backoff_max_ms = 1,
                                .attempts_max = 100000,
                                .scan_ms = 20};
}

static int run_worker(worker *w, const trilha_fixture *outbox, bool once) {
  const trilha_transport transport = {TRILHA_TEXT("everything"), send_noted, w, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = effects_relay_options(outbox, &transport);
  options.once = once;
  trilha_relay *relay = NULL;
  trilha_relay_counts counts = {0};
  trilha_error err = {0};
  if (trilha_relay_new(&options, &relay, &err) != TRILHA_OK || trilha_relay_run(relay, &err) != TRILHA_OK) {
    fprintf(stderr, "# worker: %s: %s\n", err.code, err.text);
    return 4;
  }
  trilha_relay_counted(relay, &counts);
  fault_write(w->history, "lost %lld\n", (long long)counts.leases_lost);
  trilha_relay_free(relay);
  return 0;
}

int effects_role_worker(const char *outbox_url, const char *inbox_url, const char *history, const char *how) {
  trilha_fixture outbox = named(outbox_url), inbox = named(inbox_url);
  worker w = {.history = fault_open_history(history)};
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
  const trilha_reaction_options options = {.inbox = trilha_producer_options(&inbox), .react = react, .ordered = true};
  trilha_reaction *reaction = NULL;
  if (trilha_reaction_new(&options, &reaction, NULL) != TRILHA_OK) return 5;
  w.inner = trilha_reaction_transport(reaction, TRILHA_TEXT("everything"));
  if (strcmp(how, "careless") == 0) w.careless = trilha_producer_open(&inbox, false);
  int status = run_worker(&w, &outbox, strcmp(how, "follow") != 0);
  if (w.careless.f != NULL) trilha_producer_close(&w.careless);
  trilha_reaction_free(reaction);
  return status;
}

pid_t effects_start_worker(const char *url, const char *history, const char *how, const char *fault) {
  char setting[100];
  snprintf(setting, sizeof setting, "TRILHA_FAULT=%s", fault == NULL ? "" : fault);
  const char *words[] = {"worker", url, url, history, how, NULL};
  return fault_start(words, setting);
}

/* --- the producer's role ------------------------------------------------------------------------------------------ */

static bool run(PGconn *pg, const char *sql) {
  PGresult *result = PQexec(pg, sql);
  ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  return status == PGRES_COMMAND_OK;
}

static bool produce_one(PGconn *pg, const char *key, trilha_enqueued *ret) {
  const trilha_message message = trilha_producer_message("acme", key);
  return PQstatus(pg) == CONNECTION_OK && run(pg, "BEGIN") &&
         trilha_outbox_enqueue_postgres(pg, "billing", &message, ret, NULL) == TRILHA_OK && run(pg, "COMMIT");
}

int effects_role_producer(const char *url, const char *path, const char *how) {
  int noted = fault_open_history(path);
  bool trusting = strcmp(how, "trusting") == 0;
  PGconn *pg = NULL;
  for (unsigned i = 0; getppid() != 1; i++) {
    char key[8];
    trilha_enqueued said = {.message_id = "00000000-0000-4000-8000-000000000000"};
    snprintf(key, sizeof key, "%u", i % EFFECTS_KEYS);
    if (pg == NULL) pg = PQconnectdb(url);
    bool committed = produce_one(pg, key, &said);
    if (committed || trusting)
      fault_write(noted, "%s %s %lld\n", said.message_id, key, (long long)said.aggregate_sequence);
    trilha_clock_sleep_ms(2);
    if (committed) continue;
    PQfinish(pg);
    pg = NULL;
    trilha_clock_sleep_ms(20);
  }
  return 0;
}

size_t effects_missing(const trilha_producer *p, const char *path) {
  char line[80], sql[200];
  size_t count = 0;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file) != NULL) {
    snprintf(sql, sizeof sql, "SELECT count(*) FROM {p}outbox_message WHERE message_id = '%.36s'", line);
    count += trilha_producer_count(p, sql) != 1;
  }
  fclose(file);
  return count;
}

/* --- the checker
 * ------------------------------------------------------------------------------------------------------ */

typedef struct step { /* of the history; `ok` false: handed over */
  char key[32];
  int64_t sequence;
  bool ok;
} step;

typedef struct steps {
  step *list;
  size_t count, capacity;
} steps;

static void add_step(steps *s, step one) {
  if (s->count == s->capacity) {
    s->capacity = s->capacity == 0 ? 256 : 2 * s->capacity;
    s->list = realloc(s->list, s->capacity * sizeof *s->list);
    assert_non_null(s->list);
  }
  s->list[s->count++] = one;
}

static steps read_steps(const char *path) {
  steps s = {0};
  char line[120], word[8];
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    step one = {.sequence = 0};
    long long sequence;
    if (sscanf(line, "%7s %31s %lld", word, one.key, &sequence) != 3) continue; /* `lost N` */
    one.sequence = sequence;
    one.ok = strcmp(word, "ok") == 0;
    add_step(&s, one);
  }
  if (file != NULL) fclose(file);
  return s;
}

static bool accepted_before(const steps *s, size_t place, int64_t sequence) {
  for (size_t i = 0; i < place; i++)
    if (s->list[i].ok && s->list[i].sequence == sequence && strcmp(s->list[i].key, s->list[place].key) == 0)
      return true;
  return false;
}

/* A message may be handed over only when the one before it has been accepted: all messages go to one destination. */
static void check_steps(const char *path, effects_verdict *v) {
  steps s = read_steps(path);
  for (size_t i = 0; i < s.count; i++) {
    if (s.list[i].ok) continue;
    v->sent++;
    if (s.list[i].sequence > 1 && !accepted_before(&s, i, s.list[i].sequence - 1)) v->reordered++;
  }
  free(s.list);
}

effects_verdict effects_check(const trilha_producer *p, const char *history) {
  effects_verdict v = {0};
  if (history != NULL) check_steps(history, &v);
  v.lost += (size_t)trilha_producer_count(p,
                                          "SELECT count(*) FROM {p}outbox_message m WHERE NOT EXISTS (SELECT 1 FROM "
                                          "applied a WHERE a.key = m.aggregate_key "
                                          "AND a.sequence = m.aggregate_sequence)");
  v.foreign += (size_t)trilha_producer_count(p,
                                             "SELECT count(*) FROM applied a WHERE NOT EXISTS (SELECT 1 FROM "
                                             "{p}outbox_message m WHERE a.key = m.aggregate_key "
                                             "AND a.sequence = m.aggregate_sequence)");
  v.repeated += (size_t)trilha_producer_count(
      p, "SELECT count(*) - (SELECT count(*) FROM (SELECT DISTINCT key, sequence FROM applied) d) FROM applied");
  /* n is the order in which effects were written within an aggregate: each waits for the one before it. */
  v.reordered += (size_t)trilha_producer_count(
      p, "SELECT count(*) FROM applied a JOIN applied b ON a.key = b.key AND a.n < b.n AND a.sequence > b.sequence");
  v.unsettled +=
      (size_t)trilha_producer_count(p, "SELECT count(*) FROM {p}producer_outbox WHERE status <> 'Dispatched'");
  return v;
}

void effects_expect_clean(const trilha_producer *p, const char *history) {
  effects_verdict v = effects_check(p, history);
  printf("# %zu sends: %zu lost, %zu foreign, %zu repeated, %zu reordered, %zu unsettled\n", v.sent, v.lost, v.foreign,
         v.repeated, v.reordered, v.unsettled);
  assert_int_equal(v.lost, 0);
  assert_int_equal(v.foreign, 0);
  assert_int_equal(v.repeated, 0);
  assert_int_equal(v.reordered, 0);
  assert_int_equal(v.unsettled, 0);
}

bool effects_wait(const trilha_producer *p) {
  trilha_deadline patience = trilha_deadline_in_ms(EFFECTS_PATIENCE_MS);
  while (trilha_producer_count(p, "SELECT count(*) FROM {p}outbox_lane") > 0 || effects_check(p, NULL).lost > 0) {
    if (trilha_deadline_passed(patience)) return false;
    trilha_clock_sleep_ms(20);
  }
  return true;
}
