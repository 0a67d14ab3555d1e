/* consumer: from far behind to live, killed at random (specification 000, section 3.6; reliability test 7).
 *
 * A backlog with a rare type in it, four publishers in processes of their own that go on meanwhile, and a consumer that
 * is killed between the handler's note and its return. A history checker then looks for gaps, for repeats beyond the
 * event in flight at each kill, and for order; the consumer's memory is bounded. The control keeps its cursor the wrong
 * way round (first the cursor, then the work) and must be caught with a gap. TRILHA_HANDOVER_EVENTS sets the backlog
 * (default 4000; `make handover` takes 260,000).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "conformance/publishing.h"
#include "support/own_program.h"
#include "support/sanitized.h"
#include "trilha/delivery.h"

extern char **environ;

enum { PUBLISHERS = 4, LIVE_EACH = 200, RARE_EVERY = 1000, CRASHES = 12, RSS_KIB_MAX = 65536 };

static const trilha_text both[] = {{"teste.a", 7}, {"teste.b", 7}};

static int backlog(void) {
  const char *wanted = getenv("TRILHA_HANDOVER_EVENTS");
  return wanted == NULL ? 4000 : atoi(wanted);
}

/* --- roles -------------------------------------------------------------------------------------------------------- */

static void write_number(int fd, int64_t number) {
  char line[32];
  int n = snprintf(line, sizeof line, "%lld\n", (long long)number);
  if (write(fd, line, (size_t)n) != n) _exit(9);
}

static trilha *open_fast(const char *url, const char *keyring) {
  trilha *handle = NULL;
  trilha_options options = {.store_url = url, .keyring = keyring, .unsafe_no_fsync = true}; /* a kill loses no page */
  if (trilha_open(&options, &handle, NULL) != TRILHA_OK) _exit(3);
  return handle;
}

typedef struct noter {
  int fd;
  int64_t crash_after; /* events; 0: never */
  int64_t count;
} noter;

static trilha_status note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)delivery;
  noter *n = user;
  write_number(n->fd, event->sequence_number);
  if (n->crash_after != 0 && ++n->count == n->crash_after) kill(getpid(), SIGKILL); /* before the cursor moves */
  return TRILHA_OK;
}

/* Ends by itself once caught up, unless it crashes first. */
static int role_consumer(const char *url, const char *path, const char *crash_after) {
  noter n = {.fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600), .crash_after = atoll(crash_after)};
  trilha *handle = open_fast(url, NULL);
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = both,
                                     .type_count = 2,
                                     .handler = note,
                                     .user = &n,
                                     .from = TRILHA_FROM_START,
                                     .lease_ms = 1000,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  if (trilha_consumer_new(handle, &options, &consumer, &err) != TRILHA_OK) return 4;
  if (trilha_consumer_run(consumer, &err) != TRILHA_OK) return 5;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  trilha_consumer_free(consumer);
  trilha_close(handle);
  if (SANITIZED || usage.ru_maxrss <= RSS_KIB_MAX) return 0;
  fprintf(stderr, "resident memory: %ld KiB\n", usage.ru_maxrss);
  return 6;
}

static int role_publisher(const char *url, const char *keyring) {
  trilha *handle = open_fast(url, keyring);
  for (int i = 0; i < LIVE_EACH; i++) {
    trilha_publication p = {.tipo = both[i % 2], .origem = TRILHA_TEXT("D-1a"), .payload = TRILHA_TEXT("{\"n\":1}")};
    trilha_publish_result r;
    if (trilha_publish(handle, &p, &r, NULL) != TRILHA_OK) return 4;
    trilha_publish_result_done(&r);
  }
  trilha_close(handle);
  return 0;
}

/* The control: first the cursor, then the work, as a consumer that acknowledges on receipt. */
typedef struct hasty {
  int fd, cursor_fd;
  int64_t crash_after, count;
} hasty;

static trilha_status note_too_late(void *user, const trilha_event *event, trilha_error *err) {
  (void)err;
  hasty *h = user;
  write_number(h->cursor_fd, event->sequence_number);
  if (h->crash_after != 0 && ++h->count == h->crash_after) kill(getpid(), SIGKILL);
  write_number(h->fd, event->sequence_number);
  return TRILHA_OK;
}

static int64_t last_number(const char *path) {
  long long number = 0;
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  while (fscanf(file, "%lld", &number) == 1) continue;
  fclose(file);
  return number;
}

static int role_hasty(const char *url, const char *path, const char *crash_after) {
  char cursor_path[256];
  snprintf(cursor_path, sizeof cursor_path, "%s.cursor", path);
  hasty h = {.fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600),
             .cursor_fd = open(cursor_path, O_WRONLY | O_APPEND | O_CREAT, 0600),
             .crash_after = atoll(crash_after)};
  trilha *handle = open_fast(url, NULL);
  trilha_stream_options options = {.after = last_number(cursor_path)};
  trilha_status status = trilha_replay_stream(handle, &options, note_too_late, &h, NULL, NULL);
  trilha_close(handle);
  close(h.fd);
  close(h.cursor_fd);
  return status == TRILHA_OK ? 0 : 5;
}

static pid_t spawn_role(const char *role, const char *a, const char *b, const char *c) {
  pid_t pid = 0;
  char *argv[] = {trilha_own_program(),
                  (char *)(uintptr_t) "--role",
                  (char *)(uintptr_t)role,
                  (char *)(uintptr_t)a,
                  (char *)(uintptr_t)b,
                  (char *)(uintptr_t)c,
                  NULL};
  assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
  return pid;
}

/* --- the run -------------------------------------------------------------------------------------------------------
 */

static void publish_backlog(trilha_fixture *f, int count) {
  enum { CHUNK = 1000 };
  trilha *fast = open_fast(f->url, f->keyring);
  trilha_publication *p = calloc(CHUNK, sizeof *p);
  trilha_publish_result *r = calloc(CHUNK, sizeof *r);
  assert_true(p != NULL && r != NULL);
  for (int at = 0; at < count; at += CHUNK) {
    size_t n = (size_t)(count - at < CHUNK ? count - at : CHUNK);
    for (size_t i = 0; i < n; i++)
      p[i] = (trilha_publication){.tipo = both[(at + (int)i) % RARE_EVERY == 0],
                                  .origem = TRILHA_TEXT("D-1a"),
                                  .payload = TRILHA_TEXT("{\"n\":1}")};
    assert_int_equal(trilha_publish_many(fast, p, n, r, NULL), TRILHA_OK);
    for (size_t i = 0; i < n; i++) trilha_publish_result_done(&r[i]);
  }
  free(p);
  free(r);
  trilha_close(fast);
}

/* Runs `role` again and again, each time crashing after some events, then once to its end; returns the crashes. */
static int run_with_crashes(trilha_fixture *f, const char *role, const char *path, int total) {
  int crashes = 0;
  const char *wanted = getenv("TRILHA_FAULT_SEED");
  unsigned seed = wanted == NULL ? 11 : (unsigned)strtoul(wanted, NULL, 10);
  for (int i = 0; i < CRASHES; i++) {
    char after[24];
    int status = 0;
    snprintf(after, sizeof after, "%d", 1 + rand_r(&seed) % (total / CRASHES + 1));
    pid_t pid = spawn_role(role, f->url, path, after);
    waitpid(pid, &status, 0);
    crashes += WIFSIGNALED(status);
  }
  return crashes;
}

static void finish(trilha_fixture *f, const char *role, const char *path) {
  int status = 0;
  waitpid(spawn_role(role, f->url, path, "0"), &status, 0);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

typedef struct verdict {
  int64_t missing, repeats, backwards;
} verdict;

static verdict check(const char *path, int64_t last) {
  verdict v = {0};
  unsigned char *times = calloc((size_t)last + 1, 1);
  FILE *file = fopen(path, "r");
  long long number, before = 0;
  assert_true(times != NULL && file != NULL);
  while (fscanf(file, "%lld", &number) == 1) {
    assert_in_range(number, 1, last);
    v.backwards += number < before;
    v.repeats += times[number] != 0;
    times[number] = 1;
    before = number;
  }
  for (int64_t i = 1; i <= last; i++) v.missing += times[i] == 0;
  fclose(file);
  free(times);
  return v;
}

static void from_far_behind_to_live_nothing_is_skipped_and_only_the_event_in_flight_repeats(void **state) {
  trilha_fixture *f = *state;
  for (size_t i = 0; i < 2; i++) trilha_fixture_register(f->handle, both[i].data, "1.0.0", trilha_test_schema);
  int behind = backlog();
  publish_backlog(f, behind);
  char path[256];
  snprintf(path, sizeof path, "%s/seen", f->folder);
  pid_t publishers[PUBLISHERS];
  for (int i = 0; i < PUBLISHERS; i++) publishers[i] = spawn_role("publisher", f->url, f->keyring, "");
  int crashes = run_with_crashes(f, "consumer", path, behind);
  for (int i = 0; i < PUBLISHERS; i++) {
    int status = 0;
    waitpid(publishers[i], &status, 0);
    assert_int_equal(status, 0);
  }
  finish(f, "consumer", path);
  int64_t last = 0;
  assert_int_equal(trilha_last_sequence(f->handle, &last, NULL), TRILHA_OK);
  assert_int_equal(last, behind + PUBLISHERS * LIVE_EACH);
  verdict v = check(path, last);
  assert_true(crashes > 0);
  assert_int_equal(v.missing, 0);
  assert_in_range(v.repeats, 0, crashes);
  assert_int_equal(v.backwards, 0);
}

static void control_a_cursor_that_moves_before_the_work_is_caught_with_a_gap(void **state) {
  trilha_fixture *f = *state;
  for (size_t i = 0; i < 2; i++) trilha_fixture_register(f->handle, both[i].data, "1.0.0", trilha_test_schema);
  publish_backlog(f, 2000);
  char path[256];
  snprintf(path, sizeof path, "%s/hasty", f->folder);
  assert_true(run_with_crashes(f, "hasty", path, 2000) > 0);
  finish(f, "hasty", path);
  assert_true(check(path, 2000).missing > 0);
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
  if (argc > 5 && strcmp(argv[1], "--role") == 0) {
    if (strcmp(argv[2], "consumer") == 0) return role_consumer(argv[3], argv[4], argv[5]);
    if (strcmp(argv[2], "hasty") == 0) return role_hasty(argv[3], argv[4], argv[5]);
    return role_publisher(argv[3], argv[4]);
  }
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_STORE(from_far_behind_to_live_nothing_is_skipped_and_only_the_event_in_flight_repeats),
      ON_A_FRESH_STORE(control_a_cursor_that_moves_before_the_work_is_caught_with_a_gap),
  };
  return cmocka_run_group_tests_name("handover", tests, NULL, NULL);
}
