/* bench: publishing to PostgreSQL and reading it back, against the same rows moved without Trilha.
 *
 *   postgres_publish [--seconds N] [--json FILE] [MEASURE…]
 *
 * TRILHA_TEST_POSTGRES_URL names the server (fsync must be on), TRILHA_TEST_POOLER_URL a transaction-mode pooler before
 * it, optional; `tools/private-postgres run DIR --pgbouncer -- …` sets both. A database of its own is made and dropped.
 * Both sides of a measure take turns, round after round; the ratio printed is the median of the rounds' ratios, which
 * holds on a noisy machine where rates do not. The plain side is pgbench, a C loop or COPY, on a table of the same
 * columns and indexes without triggers. Status 1: a bar was missed. */
#include <getopt.h>
#include <libpq-fe.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"
#include "trilha/trilha.h"

enum {
  URL_SIZE = 512,
  ROUNDS = 5,
  CALLERS_MAX = 256,
  SMALL = 288,
  LARGE = 2048,
  BATCH = 1000,
  LAG_HZ = 1000,
  STEADY = 8
};

static const char schema[] = "{\"type\":\"object\",\"x-redacao\":\"manter\",\"additionalProperties\":true}";

/* As long as a real one; digits, since pgbench would take a name after the colon for a variable. */
static const char digest[] = "k1:0000000000000000000000000000000000000000000";

typedef struct bench {
  char url[URL_SIZE], pooler_url[URL_SIZE]; /* of the database made for this run; pooler: empty when there is none */
  char database[64];
  double seconds; /* of one side of one round */
  FILE *json;
  bool missed;
} bench;

static void die(const char *what, const char *why) {
  fprintf(stderr, "postgres_publish: %s: %s\n", what, why);
  exit(2);
}

/* --- both sides
 * ------------------------------------------------------------------------------------------------------- */

static trilha *open_handle(const char *url) {
  trilha_options options = {.store_url = url};
  trilha *handle = NULL;
  trilha_error err = {0};
  if (trilha_open(&options, &handle, &err) != TRILHA_OK) die(err.code, err.text);
  return handle;
}

static PGconn *connect_to(const char *url) {
  PGconn *sql = PQconnectdb(url);
  if (PQstatus(sql) != CONNECTION_OK) die("connect", PQerrorMessage(sql));
  return sql;
}

static void run_sql(PGconn *sql, const char *text) {
  PGresult *r = PQexec(sql, text);
  if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK) die(text, PQerrorMessage(sql));
  PQclear(r);
}

/* {"n": …, "texto": "xxx…"} of about `size` bytes. */
static void make_payload(char *out, size_t size, int64_t number) {
  int head = snprintf(out, size, "{\"n\": %lld, \"texto\": \"", (long long)number);
  memset(out + head, 'x', size - (size_t)head - 3);
  memcpy(out + size - 3, "\"}", 3);
}

static int64_t publish_one(trilha *handle, const char *payload) {
  trilha_publication p = {
      .tipo = TRILHA_TEXT("bench.a"), .origem = TRILHA_TEXT("bench"), .payload = trilha_text_of(payload)};
  trilha_publish_result r;
  trilha_error err = {0};
  if (trilha_publish(handle, &p, &r, &err) != TRILHA_OK) die(err.code, err.text);
  int64_t sequence = r.event->sequence_number;
  trilha_publish_result_done(&r);
  return sequence;
}

static double seconds_since(int64_t begin_ns) {
  return (double)(trilha_clock_monotonic_ns() - begin_ns) / 1e9;
}

/* --- judging
 * ------------------------------------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double at_part(double *values, size_t count, double part) {
  qsort(values, count, sizeof *values, ascending);
  return values[(size_t)(part * (double)(count - 1) + 0.5)];
}

static void report(bench *b, const char *name, double figure, double bar, bool at_most, const char *detail) {
  bool met = at_most ? figure <= bar : figure >= bar;
  b->missed = b->missed || !met;
  printf("%-28s %6.2f  bar %s %.2f  %s  %s\n", name, figure, at_most ? "<=" : ">=", bar, met ? "met   " : "MISSED",
         detail);
  fflush(stdout);
  if (b->json == NULL) return;
  fprintf(b->json,
          "%s\n    {\"measure\": \"%s\", \"figure\": %.3f, \"bar\": %.2f, \"at_most\": %s, \"met\": %s, \"detail\": "
          "\"%s\"}",
          ftell(b->json) < 40 ? "" : ",", name, figure, bar, at_most ? "true" : "false", met ? "true" : "false",
          detail);
}

typedef double (*side)(bench *b, const void *what); /* a rate, or microseconds */

static void compare(bench *b, const char *name, side ours, side plain, const void *what, double bar, bool at_most,
                    const char *unit) {
  double ratios[ROUNDS], mine[ROUNDS], theirs[ROUNDS];
  char detail[120];
  for (int i = 0; i < ROUNDS; i++) {
    mine[i] = ours(b, what);
    theirs[i] = plain(b, what);
    ratios[i] = mine[i] / theirs[i];
  }
  snprintf(detail, sizeof detail, "%.0f against %.0f %s, medians of %d rounds", at_part(mine, ROUNDS, 0.5),
           at_part(theirs, ROUNDS, 0.5), unit, ROUNDS);
  report(b, name, at_part(ratios, ROUNDS, 0.5), bar, at_most, detail);
}

/* --- many callers
 * --------------------------------------------------------------------------------------------------------- */

typedef struct load {
  int callers; /* threads on one handle, or processes */
  bool processes;
  size_t size;
} load;

typedef struct caller {
  trilha *handle;
  size_t size;
  trilha_deadline end;
  int64_t count;
} caller;

static void *call_until(void *user) {
  caller *c = user;
  char *payload = malloc(c->size);
  if (payload == NULL) die("payload", "no memory");
  make_payload(payload, c->size, 1);
  for (; !trilha_deadline_passed(c->end); c->count++) publish_one(c->handle, payload);
  free(payload);
  return NULL;
}

static double rate_of_threads(const bench *b, const load *l) {
  caller callers[CALLERS_MAX];
  pthread_t threads[CALLERS_MAX];
  trilha *handle = open_handle(b->url);
  char payload[64];
  make_payload(payload, sizeof payload, 1);
  publish_one(handle, payload);
  int64_t begin = trilha_clock_monotonic_ns(), count = 0;
  trilha_deadline end = trilha_deadline_in_ms((int64_t)(b->seconds * 1000));
  for (int i = 0; i < l->callers; i++) {
    callers[i] = (caller){.handle = handle, .size = l->size, .end = end};
    if (pthread_create(&threads[i], NULL, call_until, &callers[i]) != 0) die("thread", "none to be had");
  }
  for (int i = 0; i < l->callers; i++) {
    pthread_join(threads[i], NULL);
    count += callers[i].count;
  }
  double rate = (double)count / seconds_since(begin);
  trilha_close(handle);
  return rate;
}

/* Each waits until all are connected. */
static void be_a_process(const bench *b, const load *l, pthread_barrier_t *start, int64_t *ret_count) {
  caller c = {.handle = open_handle(b->url), .size = l->size};
  char payload[64];
  make_payload(payload, sizeof payload, 1);
  publish_one(c.handle, payload);
  pthread_barrier_wait(start);
  c.end = trilha_deadline_in_ms((int64_t)(b->seconds * 1000));
  call_until(&c);
  *ret_count = c.count;
  _exit(0);
}

static void *shared_memory(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap", "no memory");
  return memory;
}

static double rate_of_processes(const bench *b, const load *l) {
  pthread_barrier_t *start = shared_memory(sizeof *start);
  int64_t *counts = shared_memory(sizeof *counts * (size_t)l->callers), total = 0;
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(start, &shared, (unsigned)l->callers + 1);
  fflush(NULL);
  for (int i = 0; i < l->callers; i++)
    if (fork() == 0) be_a_process(b, l, start, &counts[i]);
  pthread_barrier_wait(start);
  int64_t begin = trilha_clock_monotonic_ns();
  for (int i = 0; i < l->callers; i++) {
    int status = 0;
    if (wait(&status) < 0 || status != 0) die("a publishing process", "failed");
  }
  double seconds = seconds_since(begin);
  for (int i = 0; i < l->callers; i++) total += counts[i];
  munmap(counts, sizeof *counts * (size_t)l->callers);
  munmap(start, sizeof *start);
  return (double)total / seconds;
}

static double rate_of_callers(bench *b, const void *what) {
  const load *l = what;
  return l->processes ? rate_of_processes(b, l) : rate_of_threads(b, l);
}

static const char insert_columns[] =
    "INSERT INTO bench.plain (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, digest) "
    "VALUES ";

/* Sixteen pgbench clients with prepared INSERTs of the same row. */
static double rate_of_pgbench(bench *b, const void *what) {
  const load *l = what;
  char path[] = "/tmp/trilha-bench-XXXXXX", command[URL_SIZE + 400], line[256], payload[LARGE + 1];
  int fd = mkstemp(path);
  FILE *script = fd < 0 ? NULL : fdopen(fd, "w");
  if (script == NULL) die("script", "cannot be written");
  make_payload(payload, l->size, 1);
  fprintf(script, "%s(gen_random_uuid(), 'bench.a', '1.0.0', now(), 'bench', gen_random_uuid(), '%s', '%s');\n",
          insert_columns, payload, digest);
  fclose(script);
  snprintf(command, sizeof command,
           "PATH=$PATH:/usr/lib/postgresql/15/bin pgbench -n -M prepared -c 16 -j 2 -T %.0f -f %s '%s' 2>&1",
           ceil(b->seconds), path, b->url);
  FILE *out = popen(command, "r");
  double rate = 0;
  while (out != NULL && fgets(line, sizeof line, out) != NULL) sscanf(line, "tps = %lf", &rate);
  if (out == NULL || pclose(out) != 0 || rate <= 0) die("pgbench", "did not run: is it installed (postgresql-15)?");
  unlink(path);
  return rate;
}

/* --- one caller
 * -------------------------------------------------------------------------------------------------------- */

enum { CALLS = 400 };

static double median_of_calls(void (*call)(void *state), void *state) {
  double us[CALLS];
  for (int i = 0; i < CALLS / 10; i++) call(state);
  for (int i = 0; i < CALLS; i++) {
    int64_t begin = trilha_clock_monotonic_ns();
    call(state);
    us[i] = seconds_since(begin) * 1e6;
  }
  return at_part(us, CALLS, 0.5);
}

static void call_publish(void *state) {
  char payload[SMALL];
  make_payload(payload, sizeof payload, 1);
  publish_one(state, payload);
}

static double latency_of_publish(bench *b, const void *what) {
  (void)b;
  trilha *handle = open_handle(what);
  double us = median_of_calls(call_publish, handle);
  trilha_close(handle);
  return us;
}

static void call_insert(void *state) {
  char ids[2][TRILHA_UUID_TEXT_SIZE], payload[SMALL];
  unsigned char raw[16];
  for (int i = 0; i < 2; i++) {
    if (!trilha_uuid_v4(raw)) die("uuid", "no random bytes");
    trilha_uuid_format(raw, ids[i]);
  }
  make_payload(payload, sizeof payload, 1);
  const char *values[] = {ids[0], ids[1], payload};
  PGresult *r = PQexecPrepared(state, "i", 3, values, NULL, NULL, 0);
  if (PQresultStatus(r) != PGRES_COMMAND_OK) die("insert", PQerrorMessage(state));
  PQclear(r);
}

static double latency_of_insert(bench *b, const void *what) {
  (void)what;
  char text[400];
  PGconn *sql = connect_to(b->url);
  snprintf(text, sizeof text,
           "PREPARE i(uuid, uuid, jsonb) AS %s($1, 'bench.a', '1.0.0', now(), 'bench', $2, $3, '%s')", insert_columns,
           digest);
  run_sql(sql, text);
  double us = median_of_calls(call_insert, sql);
  PQfinish(sql);
  return us;
}

/* --- in bulk
 * -------------------------------------------------------------------------------------------------------------- */

static double rate_of_many(bench *b, const void *what) {
  (void)what;
  static char payload[SMALL];
  static trilha_publication many[BATCH];
  static trilha_publish_result results[BATCH];
  make_payload(payload, sizeof payload, 1);
  for (int i = 0; i < BATCH; i++)
    many[i] = (trilha_publication){
        .tipo = TRILHA_TEXT("bench.a"), .origem = TRILHA_TEXT("bench"), .payload = trilha_text_of(payload)};
  trilha *handle = open_handle(b->url);
  trilha_error err = {0};
  int64_t begin = trilha_clock_monotonic_ns(), count = 0;
  for (; seconds_since(begin) < b->seconds; count += BATCH) {
    if (trilha_publish_many(handle, many, BATCH, results, &err) != TRILHA_OK) die(err.code, err.text);
    for (int i = 0; i < BATCH; i++) trilha_publish_result_done(&results[i]);
  }
  double rate = (double)count / seconds_since(begin);
  trilha_close(handle);
  return rate;
}

static void copy_batch(PGconn *sql) {
  char row[SMALL + 300], ids[2][TRILHA_UUID_TEXT_SIZE], payload[SMALL];
  make_payload(payload, sizeof payload, 1);
  PQclear(PQexec(sql,
                 "COPY bench.plain (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, "
                 "digest) FROM STDIN"));
  for (int i = 0; i < BATCH; i++) {
    unsigned char raw[16];
    for (int k = 0; k < 2 && trilha_uuid_v4(raw); k++) trilha_uuid_format(raw, ids[k]);
    int n = snprintf(row, sizeof row, "%s\tbench.a\t1.0.0\t2026-06-15T10:30:00Z\tbench\t%s\t%s\tk1:%043d\n", ids[0],
                     ids[1], payload, 0);
    PQputCopyData(sql, row, n);
  }
  PQputCopyEnd(sql, NULL);
  for (PGresult *r = PQgetResult(sql); r != NULL; r = PQgetResult(sql)) {
    if (PQresultStatus(r) != PGRES_COMMAND_OK) die("copy", PQerrorMessage(sql));
    PQclear(r);
  }
}

static double rate_of_copy(bench *b, const void *what) {
  (void)what;
  PGconn *sql = connect_to(b->url);
  int64_t begin = trilha_clock_monotonic_ns(), count = 0;
  for (; seconds_since(begin) < b->seconds; count += BATCH) copy_batch(sql);
  double rate = (double)count / seconds_since(begin);
  PQfinish(sql);
  return rate;
}

/* --- reading back
 * ---------------------------------------------------------------------------------------------------------- */

static trilha_status count_event(void *user, const trilha_event *event, trilha_error *err) {
  (void)err;
  (void)event;
  ++*(int64_t *)user;
  return TRILHA_OK;
}

/* In a process of its own: what it held at most is told too. */
static double rate_of_replay(bench *b, const void *most_mib) {
  double *told = shared_memory(2 * sizeof *told), rate;
  fflush(NULL);
  if (fork() == 0) {
    struct rusage usage;
    trilha *handle = open_handle(b->url);
    const trilha_stream_options options = {0};
    int64_t count = 0, begin = trilha_clock_monotonic_ns();
    if (trilha_replay_stream(handle, &options, count_event, &count, NULL, NULL) != TRILHA_OK) _exit(1);
    told[0] = (double)count / seconds_since(begin);
    getrusage(RUSAGE_SELF, &usage);
    told[1] = (double)usage.ru_maxrss / 1024;
    _exit(0);
  }
  int status = 0;
  if (wait(&status) < 0 || status != 0) die("replay", "failed");
  double *most = *(double *const *)most_mib;
  if (told[1] > *most) *most = told[1];
  rate = told[0];
  munmap(told, 2 * sizeof *told);
  return rate;
}

static double rate_of_copy_out(bench *b, const void *what) {
  (void)what;
  PGconn *sql = connect_to(b->url);
  int64_t begin = trilha_clock_monotonic_ns(), count = 0;
  PQclear(PQexec(sql, "COPY (SELECT * FROM core.event_log ORDER BY sequence_number) TO STDOUT (FORMAT binary)"));
  char *row = NULL;
  for (; PQgetCopyData(sql, &row, 0) > 0; count++) PQfreemem(row);
  double rate = (double)count / seconds_since(begin);
  PQfinish(sql);
  return rate;
}

/* --- how soon others hear
 * ----------------------------------------------------------------------------------------------------- */

typedef struct steady {
  trilha *handle;
  int64_t first_ns, count;
} steady;

/* A call may last longer than a thousandth of a second, so several callers take turns. */
static void *publish_steadily(void *user) {
  steady *s = user;
  char payload[SMALL];
  for (int64_t i = 0; i < s->count; i++) {
    int64_t due = s->first_ns + i * (STEADY * INT64_C(1000000000) / LAG_HZ), now = trilha_clock_monotonic_ns();
    if (due > now) usleep((useconds_t)((due - now) / 1000));
    make_payload(payload, sizeof payload, trilha_clock_monotonic_ns());
    publish_one(s->handle, payload);
  }
  return NULL;
}

static void be_the_publisher(const bench *b, int64_t count) {
  pthread_t threads[STEADY];
  steady callers[STEADY];
  trilha *handle = open_handle(b->url);
  int64_t begin = trilha_clock_monotonic_ns();
  for (int i = 0; i < STEADY; i++) {
    callers[i] = (steady){handle, begin + i * (INT64_C(1000000000) / LAG_HZ), count / STEADY};
    if (pthread_create(&threads[i], NULL, publish_steadily, &callers[i]) != 0) _exit(1);
  }
  for (int i = 0; i < STEADY; i++) pthread_join(threads[i], NULL);
  trilha_close(handle);
  _exit(0);
}

typedef struct listener {
  double *ms;
  size_t early; /* events of the first second, in which the publisher connects and its plans are made: not counted */
  size_t count, wanted;
  bool stop;
} listener;

/* The payload says when publish was called: the delay holds the publish itself too. */
static trilha_status hear(void *user, const trilha_event *event, trilha_error *err) {
  (void)err;
  listener *l = user;
  long long sent = 0;
  if (l->early > 0)
    l->early--;
  else if (sscanf(event->payload, "{\"n\": %lld", &sent) == 1 && l->count < l->wanted)
    l->ms[l->count++] = (double)(trilha_clock_monotonic_ns() - sent) / 1e6;
  l->stop = l->count == l->wanted;
  return TRILHA_OK;
}

static void measure_lag(bench *b) {
  listener l = {.early = LAG_HZ, .wanted = (size_t)(b->seconds * 5) * LAG_HZ}; /* both divisible by STEADY */
  l.ms = calloc(l.wanted, sizeof *l.ms);
  trilha *handle = open_handle(b->url);
  trilha_stream_options options = {.follow = true, .stop = &l.stop};
  if (l.ms == NULL || trilha_last_sequence(handle, &options.after, NULL) != TRILHA_OK) die("lag", "cannot begin");
  fflush(NULL);
  if (fork() == 0) be_the_publisher(b, (int64_t)(l.early + l.wanted));
  if (trilha_replay_stream(handle, &options, hear, &l, NULL, NULL) != TRILHA_OK) die("lag", "the follower failed");
  while (wait(NULL) > 0) continue;
  trilha_close(handle);
  report(b, "lag p50 ms", at_part(l.ms, l.count, 0.5), 2, true,
         "publish called to handler called in another process, 1,000 a second, after one second");
  report(b, "lag p99 ms", at_part(l.ms, l.count, 0.99), 10, true, "the same events");
  free(l.ms);
}

/* --- the measures
 * --------------------------------------------------------------------------------------------------------------- */

static void measure_processes(bench *b) {
  compare(b, "16 processes", rate_of_callers, rate_of_pgbench, &(load){16, true, SMALL}, 0.4, false, "rows/s");
}

static void measure_callers(bench *b) {
  compare(b, "16 callers", rate_of_callers, rate_of_pgbench, &(load){16, false, SMALL}, 1.0, false, "rows/s");
  compare(b, "256 callers", rate_of_callers, rate_of_pgbench, &(load){256, false, SMALL}, 2.0, false, "rows/s");
  compare(b, "256 callers, 2 kB", rate_of_callers, rate_of_pgbench, &(load){256, false, LARGE}, 1.4, false, "rows/s");
}

static void measure_latency(bench *b) {
  compare(b, "one publish", latency_of_publish, latency_of_insert, b->url, 1.3, true, "us");
  if (b->pooler_url[0] != '\0')
    compare(b, "one publish, pooler", latency_of_publish, latency_of_insert, b->pooler_url, 3.0, true, "us");
}

static void measure_bulk(bench *b) {
  compare(b, "publish many", rate_of_many, rate_of_copy, NULL, 0.6, false, "rows/s");
  double most = 0, *at = &most;
  compare(b, "replay", rate_of_replay, rate_of_copy_out, &at, 0.8, false, "rows/s");
  report(b, "replay, memory MiB", most, 32, true, "the most that the replaying process held");
}

static const struct {
  const char *name;
  void (*measure)(bench *b);
} measures[] = {{"latency", measure_latency}, /* the small ones first: the memory of a replay is not hidden */
                {"bulk", measure_bulk},
                {"lag", measure_lag},
                {"processes", measure_processes},
                {"callers", measure_callers}};

/* --- the database
 * ----------------------------------------------------------------------------------------------------------------- */

static void url_of(const char *base, const char *database, char out[URL_SIZE]) {
  const char *slash = strrchr(base, '/');
  if (slash == NULL) die("URL", "has no database");
  snprintf(out, URL_SIZE, "%.*s/%s", (int)(slash - base), base, database);
}

static void make_database(bench *b, const char *server) {
  char sql_text[160];
  snprintf(b->database, sizeof b->database, "trilha_bench_%ld", (long)getpid());
  PGconn *sql = connect_to(server);
  snprintf(sql_text, sizeof sql_text, "CREATE DATABASE %s", b->database);
  run_sql(sql, sql_text);
  PQfinish(sql);
  url_of(server, b->database, b->url);
  if (getenv("TRILHA_TEST_POOLER_URL") != NULL) url_of(getenv("TRILHA_TEST_POOLER_URL"), b->database, b->pooler_url);
  trilha_options options = {.store_url = b->url};
  trilha_error err = {0};
  if (trilha_migrate(&options, false, NULL, NULL, &err) != TRILHA_OK) die(err.code, err.text);
  trilha *handle = open_handle(b->url);
  const trilha_type_version version = {
      .tipo = TRILHA_TEXT("bench.a"), .versao = TRILHA_TEXT("1.0.0"), .schema = trilha_text_of(schema)};
  if (trilha_registry_apply(handle, &version, 1, false, TRILHA_TEXT("bench"), NULL, &err) != TRILHA_OK)
    die(err.code, err.text);
  trilha_close(handle);
  sql = connect_to(b->url);
  run_sql(
      sql,
      "CREATE SCHEMA bench; CREATE TABLE bench.plain (LIKE core.event_log INCLUDING ALL); CREATE SEQUENCE "
      "bench.plain_seq; ALTER TABLE bench.plain ALTER COLUMN sequence_number SET DEFAULT nextval('bench.plain_seq')");
  PQfinish(sql);
}

static void drop_database(const bench *b, const char *server) {
  char text[160];
  PGconn *sql = connect_to(server);
  snprintf(text, sizeof text, "DROP DATABASE %s WITH (FORCE)", b->database);
  run_sql(sql, text);
  PQfinish(sql);
}

static bool wanted(const char *name, char **names, int count) {
  bool found = count == 0;
  for (int i = 0; i < count; i++) found = found || strcmp(names[i], name) == 0;
  return found;
}

int main(int argc, char **argv) {
  bench b = {.seconds = 2};
  static const struct option long_options[] = {{"seconds", 1, NULL, 's'}, {"json", 1, NULL, 'j'}, {0}};
  for (int o; (o = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
    if (o == '?') return 2;
    if (o == 's') b.seconds = atof(optarg);
    if (o == 'j' && (b.json = fopen(optarg, "w")) == NULL) die(optarg, "cannot be written");
  }
  const char *server = getenv("TRILHA_TEST_POSTGRES_URL");
  if (server == NULL) die("TRILHA_TEST_POSTGRES_URL", "is not set");
  make_database(&b, server);
  if (b.json != NULL) fprintf(b.json, "{\"rounds\": %d, \"results\": [", ROUNDS);
  for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++)
    if (wanted(measures[i].name, argv + optind, argc - optind)) measures[i].measure(&b);
  if (b.json != NULL) fprintf(b.json, "\n  ]}\n");
  if (b.json != NULL) fclose(b.json);
  drop_database(&b, server);
  return b.missed ? 1 : 0;
}
