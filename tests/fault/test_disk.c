/* fault: the power fails under an embedded store, and its disk lies (reliability 3 and 5).
 *
 * layer.c stands between the process and its files: what was not synced when the process dies is lost, whole or in
 * parts, in any order; writes and syncs fail, and a failed sync loses what it should have kept. A publisher and a
 * durable consumer in one process go on until they are killed; then the store is what the disk held. The control
 * acknowledges without a sync and must be caught.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "fault/history.h"
#include "support/sanitized.h"
#include "trilha/delivery.h"

enum {
  POWER_CUTS = 4,
  LONG_ONE_IN = 2,
  SHORT_LINES = 40,
  LONG_LINES = 1500,
  PATH = 300,
  LEASE_MS = 1000,
  FAIL_ONE_IN = 40,
  COPY_MS = 30000
};

/* --- the role: publishes and consumes until it is killed
 * ---------------------------------------------------------------- */

typedef struct worker {
  const char *url, *keyring, *history, *seen;
  bool unsafe;
  int fd;
} worker;

/* A disk that fails may refuse even to open. */
static trilha *open_somehow(const worker *w) {
  trilha_options options = {.store_url = w->url, .keyring = w->keyring, .unsafe_no_fsync = w->unsafe};
  trilha *handle = NULL;
  for (int i = 0; i < 1000 && trilha_open(&options, &handle, NULL) != TRILHA_OK; i++) trilha_clock_sleep_ms(5);
  if (handle == NULL) _exit(3);
  return handle;
}

static void *publish_for_ever(void *user) {
  worker *w = user;
  trilha *handle = open_somehow(w);
  int history = fault_open_history(w->history);
  unsigned seed = (unsigned)getpid();
  for (;;) {
    trilha_error err = {0};
    trilha_status status = fault_publish(handle, history, 1 + fault_draw(&seed, FAULT_BATCH_MAX), &err);
    if (status == TRILHA_OK || status == TRILHA_UNAVAILABLE || status == TRILHA_OUTCOME_UNKNOWN) continue;
    fprintf(stderr, "# publish: %d %s %s\n", (int)status, err.code, err.text);
    _exit(4);
  }
  return NULL;
}

static trilha_status note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)delivery;
  fault_write(((const worker *)user)->fd, "%lld\n", (long long)event->sequence_number);
  return TRILHA_OK;
}

static trilha_status consume(trilha *handle, worker *w, bool once, trilha_error *err) {
  static const trilha_text type[] = {{"teste.a", 7}};
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = type,
                                     .type_count = 1,
                                     .handler = note,
                                     .user = w,
                                     .from = TRILHA_FROM_START,
                                     .lease_ms = LEASE_MS,
                                     .once = once};
  trilha_consumer *consumer = NULL;
  trilha_status status = trilha_consumer_new(handle, &options, &consumer, err);
  if (status == TRILHA_OK) status = trilha_consumer_run(consumer, err);
  trilha_consumer_free(consumer);
  return status;
}

static int role_worker(const char *url, const char *keyring, const char *history, const char *seen, const char *how) {
  worker w = {url, keyring, history, seen, strcmp(how, "unsafe") == 0, fault_open_history(seen)};
  pthread_t publisher;
  if (pthread_create(&publisher, NULL, publish_for_ever, &w) != 0) return 8;
  trilha *handle = open_somehow(&w);
  for (;;) {
    trilha_error err = {0};
    (void)!consume(handle, &w, false, &err); /* an error that does not pass by itself ends it: begin again */
    trilha_clock_sleep_ms(10);
  }
}

/* --- the disk
 * -------------------------------------------------------------------------------------------------------------- */

typedef struct run {
  trilha_fixture *f;
  char disk[PATH], history[PATH], seen[PATH];
  unsigned seed;
  int cuts, copied; /* after how many the database file had been written: its log was copied */
} run;

static void shell(const char *format, const char *a, const char *b) {
  char command[4 * PATH];
  snprintf(command, sizeof command, format, a, b, a, b);
  if (system(command) != 0) fail_msg("%s", command);
}

static run begin(void **state) {
  run r = {.f = *state, .seed = fault_seed()};
  trilha_fixture_register(r.f->handle, "teste.a", "1.0.0", trilha_test_schema);
  snprintf(r.disk, PATH, "%s/disk", r.f->folder);
  snprintf(r.history, PATH, "%s/history", r.f->folder);
  snprintf(r.seen, PATH, "%s/seen", r.f->folder);
  trilha_close(r.f->handle); /* one whole file */
  r.f->handle = NULL;
  shell("mkdir %s && cp %s/log.db %s", r.disk, r.f->folder);
  return r;
}

static off_t size_on_disk(const run *r) {
  char path[PATH + 8];
  struct stat found;
  snprintf(path, sizeof path, "%s/log.db", r->disk);
  assert_int_equal(stat(path, &found), 0);
  return found.st_size;
}

/* Runs until some time after it was acknowledged, then the power fails. */
static void run_and_cut(run *r, const char *how, unsigned fail_one_in) {
  char files[PATH], seed[16], fail[16];
  const char *words[] = {r->f->url, r->f->keyring, r->history, r->seen, how, NULL};
  snprintf(files, sizeof files, "%s/log.db", r->f->folder);
  snprintf(seed, sizeof seed, "%u", fault_draw(&r->seed, 1u << 30));
  snprintf(fail, sizeof fail, "%u", fail_one_in);
  setenv("TRILHA_LAYER_FILES", files, 1);
  setenv("TRILHA_LAYER_DISK", r->disk, 1);
  setenv("TRILHA_LAYER_SEED", seed, 1);
  setenv("TRILHA_LAYER_FAIL", fail, 1);
  char preload[PATH];
  snprintf(preload, sizeof preload, "LD_PRELOAD=%.250s", getenv("TRILHA_TEST_LAYER"));
  off_t size = size_on_disk(r);
  bool is_long = ++r->cuts % LONG_ONE_IN == 0;
  size_t lines = fault_lines(r->history) + (is_long ? LONG_LINES : SHORT_LINES);
  pid_t pid = fault_start(words, preload);
  fault_wait_for_lines(r->history, lines, 120);
  trilha_deadline end = trilha_deadline_in_ms(COPY_MS); /* until the log is copied, however few pages a line took */
  while (is_long && size_on_disk(r) == size && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(10);
  trilha_clock_sleep_ms(fault_draw(&r->seed, 250));
  fault_kill(pid);
  r->copied += size_on_disk(r) != size;
  shell("rm -f %1$s/log.db %1$s/log.db-wal %1$s/log.db-shm && rm -f %2$s/*.pending && cp %2$s/* %1$s", r->f->folder,
        r->disk);
}

static int64_t damage(const run *r) {
  return trilha_fixture_count(r->f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'");
}

static fault_history read_history(const run *r) {
  fault_history h = {0};
  fault_history_read(&h, r->history);
  return h;
}

/* Looks at the store as it came back; what it holds is on the disk from then on. */
static void expect_all_kept(run *r) {
  trilha *handle = trilha_fixture_open(r->f, NULL);
  fault_history h = read_history(r);
  fault_verdict v = fault_check(&h, handle);
  fault_expect_clean(&v);
  assert_int_equal(damage(r), 0);
  fault_history_done(&h);
  trilha_close(handle);
  shell("rm -f %1$s/* && cp %2$s/log.db %1$s", r->disk, r->f->folder);
}

static void finish(run *r) {
  trilha *handle = trilha_fixture_open(r->f, r->f->keyring);
  fault_history h = read_history(r);
  size_t open = 0, refused = 0;
  for (size_t i = 0; i < h.count; i++) {
    open += h.attempts[i].sequence == 0;
    refused += h.attempts[i].refused;
  }
  fault_resolve(handle, &h);
  fault_verdict v = fault_check(&h, handle);
  fault_expect_clean(&v);
  assert_int_equal(v.stored, h.count);
  worker w = {.fd = fault_open_history(r->seen)};
  trilha_error err = {0};
  if (consume(handle, &w, true, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  fault_deliveries d = fault_check_deliveries(r->seen, handle);
  printf(
      "# %d power cuts, %d after the log was copied; %zu events, %zu attempts not acknowledged (%zu refused), %zu of "
      "%zu deliveries repeated\n",
      r->cuts, r->copied, v.stored, open, refused, d.repeats, d.count);
  assert_true(r->copied > 0);
  assert_int_equal(d.missing, 0);
  assert_int_equal(d.foreign, 0); /* nothing was delivered that the disk then forgot */
  fault_history_done(&h);
  close(w.fd);
  trilha_close(handle);
}

static void what_was_acknowledged_is_on_the_disk_when_the_power_fails(void **state) {
  run r = begin(state);
  for (int i = 0; i < fault_times(POWER_CUTS); i++) {
    run_and_cut(&r, "careful", 0);
    expect_all_kept(&r);
  }
  finish(&r);
}

static void what_was_acknowledged_is_on_the_disk_although_writes_and_syncs_failed_before(void **state) {
  run r = begin(state);
  for (int i = 0; i < fault_times(POWER_CUTS); i++) {
    run_and_cut(&r, "careful", FAIL_ONE_IN);
    expect_all_kept(&r);
  }
  finish(&r);
}

static trilha_status pass_over(void *user, const trilha_event *event, trilha_error *err) {
  (void)user;
  (void)event;
  (void)err;
  return TRILHA_OK;
}

/* Whether the store cannot be read, or an acknowledged event is not in it. */
static bool is_caught(const run *r) {
  trilha_options options = {.store_url = r->f->url};
  trilha_stream_options all = {0};
  trilha *handle = NULL;
  if (trilha_open(&options, &handle, NULL) != TRILHA_OK) return true;
  bool caught = trilha_replay_stream(handle, &all, pass_over, NULL, NULL, NULL) != TRILHA_OK;
  fault_history h = read_history(r);
  if (!caught) caught = fault_check(&h, handle).lost > 0;
  fault_history_done(&h);
  trilha_close(handle);
  return caught;
}

static void control_an_acknowledgement_without_a_sync_is_caught(void **state) {
  run r = begin(state);
  bool caught = false;
  for (int i = 0; i < 5 && !caught; i++) {
    run_and_cut(&r, "unsafe", 0);
    caught = is_caught(&r);
  }
  assert_true(caught);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 6 && strcmp(argv[1], "--role") == 0) return role_worker(argv[2], argv[3], argv[4], argv[5], argv[6]);
  if (SANITIZED || getenv("TRILHA_TEST_LAYER") == NULL) {
    puts("1..0 # SKIP a preloaded layer does not go with a sanitizer");
    return 0;
  }
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(what_was_acknowledged_is_on_the_disk_when_the_power_fails),
      ON_A_FRESH_STORE(what_was_acknowledged_is_on_the_disk_although_writes_and_syncs_failed_before),
      ON_A_FRESH_STORE(control_an_acknowledgement_without_a_sync_is_caught),
  };
  return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
