/* tests/transport/conformance: the bench: an outbox in a scratch file, workers, and the run over all cases. */
#include "conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trilha/sqlite.h"

extern char **environ;

const char transport_not_possible[] = "not possible with this destination";

#define MUST(call)                                                                \
  do {                                                                            \
    trilha_error must = {0};                                                      \
    trilha_error *error = &must;                                                  \
    if ((call) != TRILHA_OK) fail_msg("%s: %s: %s", #call, must.code, must.text); \
  } while (0)

static trilha_text text_of(const char *terminated) {
  return (trilha_text){terminated, strlen(terminated)};
}

int64_t transport_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void transport_sleep_ms(int64_t ms) {
  const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

int64_t transport_patience(const transport_bench *bench) {
  return bench->subject->patience_ms > 0 ? bench->subject->patience_ms : TRANSPORT_PATIENCE_MS;
}

const char *transport_complain(transport_bench *bench, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(bench->complaint, sizeof bench->complaint, format, arguments);
  va_end(arguments);
  return bench->complaint;
}

/* --- the outbox --------------------------------------------------------------------------------------------------- */

static void run_sql(transport_bench *bench, const char *sql) {
  char *why = NULL;
  if (sqlite3_exec(bench->producer, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
}

bool transport_bench_open(transport_bench *bench, const transport_subject *subject) {
  char path[80];
  *bench = (transport_bench){.subject = subject};
  snprintf(bench->folder, sizeof bench->folder, "/tmp/trilha-transport-XXXXXX");
  assert_non_null(mkdtemp(bench->folder));
  snprintf(path, sizeof path, "%s/outbox.db", bench->folder);
  snprintf(bench->url, sizeof bench->url, "sqlite:%s", path);
  bench->self = subject->open(bench->folder);
  if (bench->self == NULL) return false;
  assert_int_equal(sqlite3_open(path, &bench->producer), SQLITE_OK);
  sqlite3_busy_timeout(bench->producer, TRANSPORT_PATIENCE_MS);
  run_sql(bench, "PRAGMA user_version = 1"); /* the file is there */
  const trilha_outbox_options options = {.url = bench->url, .lock_timeout_ms = TRANSPORT_PATIENCE_MS};
  MUST(trilha_outbox_open(&options, &bench->outbox, error));
  MUST(trilha_outbox_install(bench->outbox, false, NULL, NULL, error));
  MUST(trilha_outbox_route_add(bench->outbox, text_of("*"), text_of("destination"), error));
  return true;
}

static void remove_folder(const char *folder) {
  DIR *directory = opendir(folder);
  for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
    if (entry->d_name[0] != '.') unlinkat(dirfd(directory), entry->d_name, 0);
  if (directory != NULL) closedir(directory);
  rmdir(folder);
}

void transport_bench_close(transport_bench *bench) {
  if (bench->self != NULL) bench->subject->close(bench->self);
  trilha_outbox_close(bench->outbox);
  sqlite3_close(bench->producer);
  remove_folder(bench->folder);
}

void transport_say(transport_bench *bench, const char *key, const char *payload) {
  trilha_enqueued said = {0};
  const trilha_message message = {.tenant_id = text_of("acme"),
                                  .aggregate_type = text_of("nota"),
                                  .aggregate_key = text_of(key),
                                  .message_type = text_of("nota.emitida"),
                                  .version = text_of("1.0.0"),
                                  .payload = text_of(payload),
                                  .origin = text_of("faturamento"),
                                  .correlation_id = text_of("a8767a61-82e6-4978-b826-563ee88b6727")};
  assert_true(bench->said < TRANSPORT_ARRIVALS_MAX);
  run_sql(bench, "BEGIN IMMEDIATE");
  MUST(trilha_outbox_enqueue_sqlite(bench->producer, NULL, &message, &said, error));
  run_sql(bench, "COMMIT");
  memcpy(bench->ids[bench->said++], said.message_id, sizeof said.message_id);
}

typedef struct lane_search {
  const char *key;
  transport_lane *lane;
} lane_search;

static void put(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", (int)text.size, text.data == NULL ? "" : text.data);
}

static trilha_status note_lane(void *user, const trilha_outbox_lane *lane) {
  const lane_search *s = user;
  if (lane->aggregate_key.size != strlen(s->key) || memcmp(lane->aggregate_key.data, s->key, strlen(s->key)) != 0)
    return TRILHA_OK;
  s->lane->found = true;
  s->lane->attempts = lane->attempts;
  s->lane->head = lane->head_sequence;
  put(s->lane->status, sizeof s->lane->status, lane->status);
  put(s->lane->error_code, sizeof s->lane->error_code, lane->error_code);
  put(s->lane->error_text, sizeof s->lane->error_text, lane->error_text);
  return TRILHA_OK;
}

transport_lane transport_lane_of(transport_bench *bench, const char *key) {
  transport_lane lane = {0};
  lane_search search = {key, &lane};
  MUST(trilha_outbox_lanes(bench->outbox, NULL, note_lane, &search, error));
  return lane;
}

static trilha_status count_lane(void *user, const trilha_outbox_lane *lane) {
  (void)lane;
  ++*(size_t *)user;
  return TRILHA_OK;
}

static size_t lanes_left(transport_bench *bench) {
  size_t count = 0;
  MUST(trilha_outbox_lanes(bench->outbox, NULL, count_lane, &count, error));
  return count;
}

/* --- the destination ------------------------------------------------------------------------------------------------
 */

size_t transport_look(transport_bench *bench) {
  return bench->arrived = bench->subject->arrivals(bench->self, bench->arrivals, TRANSPORT_ARRIVALS_MAX);
}

size_t transport_times_arrived(const transport_bench *bench, const char *message_id) {
  size_t times = 0;
  for (size_t i = 0; i < bench->arrived; i++) times += strcmp(bench->arrivals[i].message_id, message_id) == 0;
  return times;
}

bool transport_set(transport_bench *bench, transport_mood mood, int times) {
  return bench->subject->set(bench->self, mood, times);
}

/* --- workers ---------------------------------------------------------------------------------------------------------
 */

struct transport_worker {
  trilha_relay *relay; /* in this process */
  pthread_t thread;
  trilha_status status;
  pid_t pid; /* or the program */
};

static void *run_relay(void *user) {
  transport_worker *w = user;
  trilha_error why = {0};
  w->status = trilha_relay_run(w->relay, &why);
  if (w->status != TRILHA_OK) fprintf(stderr, "# relay: %s: %s\n", why.code, why.text);
  return NULL;
}

static void start_relay(transport_worker *w, transport_bench *bench, transport_worker_options how) {
  const trilha_transport transport = bench->subject->transport(bench->self, text_of("destination"));
  unsigned timeout_ms = how.timeout_ms > 0 ? how.timeout_ms : 3600000;
  const trilha_relay_options options = {
      .outbox = {.url = bench->url, .lock_timeout_ms = TRANSPORT_PATIENCE_MS},
      .transports = &transport,
      .transport_count = 1,
      .timeout_ms = timeout_ms,
      .lease_ms = 2 * timeout_ms + 120000,
      .attempts_max = how.attempts > 0 ? how.attempts : 1000,
      .backoff_ms = 1,
      .backoff_max_ms = 500, /* so that a worker on a slow machine finds nothing due in the end */
      .scan_ms = 20,
      .once = how.once};
  MUST(trilha_relay_new(&options, &w->relay, error));
  assert_int_equal(pthread_create(&w->thread, NULL, run_relay, w), 0);
}

enum { WORDS_MAX = 32 };

static void start_program(transport_worker *w, transport_bench *bench, transport_worker_options how) {
  char timeout[16], lease[16], attempts[16];
  static char word[][16] = {"worker",      "run",       "--store", "--destination",
                            "destination", "--timeout", "--lease", "--attempts",
                            "--backoff",   "1",         "--once"};
  unsigned timeout_s = how.timeout_ms > 0 ? (how.timeout_ms + 999) / 1000 : 3600;
  char *program = getenv("TRILHA_TEST_PROGRAM"), *words[WORDS_MAX];
  size_t count = 0;
  if (program == NULL) fail_msg("TRILHA_TEST_PROGRAM must name the program trilha");
  snprintf(timeout, sizeof timeout, "%u", timeout_s);
  snprintf(lease, sizeof lease, "%u", 2 * timeout_s + 120);
  snprintf(attempts, sizeof attempts, "%u", how.attempts > 0 ? how.attempts : 1000);
  char *const fixed[] = {program, word[0], word[1], word[2], bench->url, word[3], word[4], word[5],
                         timeout, word[6], lease,   word[7], attempts,   word[8], word[9]};
  for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) words[count++] = fixed[i];
  if (how.once) words[count++] = word[10];
  for (char **more = bench->subject->command(bench->self); *more != NULL && count < WORDS_MAX - 1; more++)
    words[count++] = *more; /* --exec takes all words up to the end */
  words[count] = NULL;
  posix_spawn_file_actions_t actions;
  char output[80];
  snprintf(output, sizeof output, "%s/output", bench->folder); /* where --stdout writes */
  assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0600);
  assert_int_equal(posix_spawn(&w->pid, program, &actions, NULL, words, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
}

transport_worker *transport_worker_start(transport_bench *bench, transport_worker_options options) {
  transport_worker *w = calloc(1, sizeof *w);
  assert_non_null(w);
  if (bench->subject->transport != NULL)
    start_relay(w, bench, options);
  else
    start_program(w, bench, options);
  return w;
}

void transport_worker_stop(transport_worker *worker) {
  if (worker->relay != NULL)
    trilha_relay_stop(worker->relay);
  else
    kill(worker->pid, SIGTERM);
}

bool transport_worker_join(transport_worker *take_worker) {
  transport_worker *w = take_worker;
  int ended = 0;
  bool well;
  if (w->relay != NULL) {
    pthread_join(w->thread, NULL);
    trilha_relay_free(w->relay);
    well = w->status == TRILHA_OK;
  } else {
    well = waitpid(w->pid, &ended, 0) == w->pid && ended == 0;
  }
  free(w);
  return well;
}

bool transport_work_once(transport_bench *bench, transport_worker_options options) {
  options.once = true;
  return transport_worker_join(transport_worker_start(bench, options));
}

bool transport_drain(transport_bench *bench) {
  int64_t end = transport_now_ms() + transport_patience(bench);
  while (lanes_left(bench) > 0) {
    if (transport_now_ms() > end || !transport_work_once(bench, (transport_worker_options){0})) return false;
    if (lanes_left(bench) > 0) transport_sleep_ms(5);
  }
  return true;
}

/* --- running all
 * ------------------------------------------------------------------------------------------------------
 */

typedef struct planned {
  const transport_subject *subject;
  const transport_case_entry *entry;
} planned;

static void run_case(void **state) {
  const planned *p = *state;
  static transport_bench bench; /* large, and one at a time */
  if (!transport_bench_open(&bench, p->subject)) {
    transport_bench_close(&bench);
    skip();
  }
  const char *complaint = p->entry->run(&bench);
  transport_bench_close(&bench);
  if (complaint == transport_not_possible) {
    printf("# %s: %s\n", p->subject->name, complaint);
    skip();
  }
  if (complaint != NULL) fail_msg("%s: %s", p->subject->name, complaint);
}

enum { CASES_MAX = 40 };

int transport_conformance(const transport_subject *subject) {
  static planned plans[CASES_MAX];
  static struct CMUnitTest tests[CASES_MAX];
  size_t count = 0;
  for (; transport_cases[count].name != NULL && count < CASES_MAX; count++) {
    plans[count] = (planned){subject, &transport_cases[count]};
    tests[count] =
        (struct CMUnitTest){.name = transport_cases[count].name, .test_func = run_case, .initial_state = &plans[count]};
  }
  return _cmocka_run_group_tests(subject->name, tests, count, NULL, NULL);
}

const char *transport_try(const transport_subject *subject, const char *case_name) {
  static transport_bench bench;
  static char kept[sizeof bench.complaint];
  for (const transport_case_entry *entry = transport_cases; entry->name != NULL; entry++) {
    if (strcmp(entry->name, case_name) != 0) continue;
    assert_true(transport_bench_open(&bench, subject));
    const char *complaint = entry->run(&bench);
    transport_bench_close(&bench);
    if (complaint == NULL || complaint == transport_not_possible) return complaint;
    snprintf(kept, sizeof kept, "%s", complaint);
    return kept;
  }
  fail_msg("there is no case %s", case_name);
  return NULL;
}
