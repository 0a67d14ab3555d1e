/* fault: the database server killed under load, and while an event is visible that is not on disk yet; the wire to it
 * cut; its disk full (reliability 4 and 5; field report B07).
 *
 * On a server of its own with fsync on, whose processes all get SIGKILL and which recovers from its write-ahead log;
 * then behind a relay that cuts requests and answers at random. Publishers go on through all of it and note each
 * answer. The controls acknowledge before the server has flushed, and take an unknown outcome for a success: both must
 * be caught.
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
#include <libpq-fe.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fault/history.h"
#include "fault/server.h"
#include "trilha/delivery.h"

enum { PUBLISHERS = 3, CRASHES = 2, CUTS = 30, CUTS_MAX = 600, LEASE_MS = 3000, PATH = 200, SERVER_MS = 120000 };

/* --- roles
 * ------------------------------------------------------------------------------------------------------------ */

static trilha *open_when_there(const char *url, const char *keyring, bool unsafe) {
  trilha_deadline end = trilha_deadline_in_ms(SERVER_MS);
  trilha_options options = {.store_url = url, .keyring = keyring, .lock_timeout_ms = 3000, .unsafe_no_fsync = unsafe};
  trilha_error err = {0};
  while (!trilha_deadline_passed(end)) {
    trilha *handle = NULL;
    err = (trilha_error){0};
    if (trilha_open(&options, &handle, &err) == TRILHA_OK) return handle;
    trilha_clock_sleep_ms(50);
  }
  fprintf(stderr, "# open: %s %s\n", err.code, err.text);
  _exit(3);
}

/* Goes on whatever it is told. */
static int role_publisher(const char *url, const char *keyring, const char *path, const char *how) {
  int history = fault_open_history(path);
  unsigned seed = (unsigned)getpid();
  trilha *handle = open_when_there(url, keyring, strcmp(how, "unsafe") == 0);
  for (;;) {
    trilha_error err = {0};
    if (fault_publish(handle, history, 1 + fault_draw(&seed, FAULT_BATCH_MAX), &err) == TRILHA_OK) continue;
    if (err.status != TRILHA_UNAVAILABLE && err.status != TRILHA_OUTCOME_UNKNOWN && err.status != TRILHA_TIMEOUT) {
      fprintf(stderr, "# publish: %d %s %s\n", (int)err.status, err.code, err.text);
      return 4;
    }
    trilha_clock_sleep_ms(20);
  }
}

/* The control: what it does not know it takes for done. */
static int role_trusting(const char *url, const char *keyring, const char *path) {
  int history = fault_open_history(path);
  trilha *handle = open_when_there(url, keyring, false);
  for (;;) {
    unsigned char raw[16];
    char id[TRILHA_UUID_TEXT_SIZE];
    if (!trilha_uuid_v4(raw)) return 8;
    trilha_uuid_format(raw, id);
    trilha_publication p = {.tipo = TRILHA_TEXT("teste.a"),
                            .origem = TRILHA_TEXT("D-1a"),
                            .payload = TRILHA_TEXT("{\"n\":1}"),
                            .event_id = trilha_text_of(id)};
    trilha_publish_result r;
    trilha_status status = trilha_publish(handle, &p, &r, NULL);
    trilha_publish_result_done(&r);
    if (status == TRILHA_OK || status == TRILHA_OUTCOME_UNKNOWN)
      fault_write(history, "try %s 0\nack %s 1\n", id, id);
    else
      trilha_clock_sleep_ms(20);
  }
}

static trilha_status note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)delivery;
  fault_write(*(const int *)user, "%lld\n", (long long)event->sequence_number);
  return TRILHA_OK;
}

static int role_consumer(const char *url, const char *path, const char *how) {
  int fd = fault_open_history(path);
  return fault_consume(open_when_there(url, NULL, false), note, &fd, LEASE_MS, strcmp(how, "once") == 0);
}

/* --- a run
 * ---------------------------------------------------------------------------------------------------------------- */

typedef struct run {
  trilha_fixture *f;
  char url[600]; /* what the roles use */
  char publisher_paths[PUBLISHERS][PATH], seen_path[PATH];
  pid_t publishers[PUBLISHERS], consumer;
  unsigned seed;
} run;

static void start_consumer(run *r, const char *how) {
  const char *words[] = {"consumer", strcmp(how, "once") == 0 ? r->f->url : r->url, r->seen_path, how, NULL};
  r->consumer = fault_start(words, NULL);
}

static void start_all(run *r, const char *role, const char *how) {
  trilha_fixture_register(r->f->handle, "teste.a", "1.0.0", trilha_test_schema);
  snprintf(r->seen_path, PATH, "%s/seen", r->f->folder);
  for (int i = 0; i < PUBLISHERS; i++) {
    snprintf(r->publisher_paths[i], PATH, "%s/publisher-%d", r->f->folder, i);
    const char *words[] = {role, r->url, r->f->keyring, r->publisher_paths[i], how, NULL};
    r->publishers[i] = fault_start(words, NULL);
  }
  start_consumer(r, "follow");
  for (int i = 0; i < PUBLISHERS; i++) fault_wait_for_lines(r->publisher_paths[i], 20, 60);
  fault_wait_for_lines(r->seen_path, 1, 60);
}

static fault_history read_all(const run *r) {
  fault_history h = {0};
  for (int i = 0; i < PUBLISHERS; i++) fault_history_read(&h, r->publisher_paths[i]);
  return h;
}

static fault_history end_all(run *r) {
  fault_history h = {0};
  for (int i = 0; i < PUBLISHERS; i++) {
    fault_kill(r->publishers[i]);
    fault_history_read(&h, r->publisher_paths[i]);
  }
  return h;
}

static size_t acknowledged_in(const char *path) {
  fault_history h = {0};
  fault_history_read(&h, path);
  size_t count = 0;
  for (size_t i = 0; i < h.count; i++) count += h.attempts[i].sequence != 0;
  fault_history_done(&h);
  return count;
}

/* Liveness: each publisher is acknowledged again. */
static void wait_for_progress(const run *r) {
  for (int i = 0; i < PUBLISHERS; i++) {
    size_t before = acknowledged_in(r->publisher_paths[i]);
    trilha_deadline end = trilha_deadline_in_ms(SERVER_MS);
    while (acknowledged_in(r->publisher_paths[i]) == before) {
      if (trilha_deadline_passed(end)) fail_msg("publisher %d is not acknowledged any more", i);
      trilha_clock_sleep_ms(20);
    }
  }
}

/* The consumer lived through all of it: at most one repeat for each time its own connection broke. */
static void expect_all_kept(run *r, fault_history *h, int breaks) {
  fault_verdict before = fault_check(h, r->f->handle);
  fault_expect_clean(&before);
  size_t open = 0;
  for (size_t i = 0; i < h->count; i++) open += h->attempts[i].sequence == 0;
  fault_resolve(r->f->handle, h);
  fault_verdict after = fault_check(h, r->f->handle);
  fault_expect_clean(&after);
  assert_int_equal(after.stored, h->count);
  fault_kill(r->consumer);
  start_consumer(r, "once");
  fault_expect_end(r->consumer);
  fault_deliveries d = fault_check_deliveries(r->seen_path, r->f->handle);
  printf("# %zu events, %zu attempts not acknowledged, %zu of %zu deliveries repeated\n", after.stored, open, d.repeats,
         d.count);
  assert_int_equal(d.missing, 0);
  assert_int_equal(d.foreign, 0);
  assert_int_equal(d.backwards, 0);
  assert_in_range(d.repeats, 0, breaks + 1);
}

static void crash_and_resume(run *r) {
  trilha_clock_sleep_ms(100 + fault_draw(&r->seed, 400));
  fault_server_expect("crash");
  trilha_clock_sleep_ms(fault_draw(&r->seed, 200));
  fault_server_expect("resume");
}

static void what_was_acknowledged_survives_a_server_killed_under_load(void **state) {
  run r = {.f = *state, .seed = fault_seed()};
  snprintf(r.url, sizeof r.url, "%s", r.f->url);
  start_all(&r, "publisher", "careful");
  for (int i = 0; i < fault_times(CRASHES); i++) {
    crash_and_resume(&r);
    wait_for_progress(&r);
  }
  fault_history h = end_all(&r);
  expect_all_kept(&r, &h, fault_times(CRASHES));
  fault_history_done(&h);
}

static void control_an_acknowledgement_before_the_flush_is_caught_losing(void **state) {
  run r = {.f = *state, .seed = fault_seed()};
  snprintf(r.url, sizeof r.url, "%s", r.f->url);
  start_all(&r, "publisher", "unsafe");
  size_t lost = 0;
  for (int i = 0; i < 10 && lost == 0; i++) {
    wait_for_progress(&r);
    crash_and_resume(&r);
    fault_history h = read_all(&r);
    lost = fault_check(&h, r.f->handle).lost;
    fault_history_done(&h);
  }
  fault_history h = end_all(&r);
  fault_history_done(&h);
  fault_kill(r.consumer);
  assert_true(lost > 0);
}

/* --- visible, and not on disk yet
 * --------------------------------------------------------------------------------------- */

typedef char young_id[40];

static PGconn *session(const trilha_fixture *f) {
  PGconn *sql = PQconnectdb(f->url);
  if (PQstatus(sql) != CONNECTION_OK) fail_msg("%s", PQerrorMessage(sql));
  return sql;
}

static void run_sql(PGconn *sql, const char *text) {
  PGresult *result = PQexec(sql, text);
  ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail_msg("%s: %s", text, PQerrorMessage(sql));
}

/* The server writes committed events to disk only when somebody waits for it: what lies in its buffers stays there. */
static void slow_down_the_writer(const trilha_fixture *f) {
  PGconn *sql = session(f);
  run_sql(sql, "ALTER SYSTEM SET wal_writer_delay = '10s'");
  run_sql(sql, "ALTER SYSTEM SET autovacuum = off");
  run_sql(sql, "SELECT pg_reload_conf()");
  PQfinish(sql);
}

/* An event as it stands between the two commits of an append: everybody sees it, a crash loses it. */
static PGconn *leave_young_event(const trilha_fixture *f, unsigned number, young_id out) {
  char insert[300];
  PGconn *sql = session(f);
  snprintf(out, sizeof(young_id), "%08u-0000-4000-8000-0000000000aa", number);
  snprintf(insert, sizeof insert,
           "INSERT INTO core.event_log (event_id, tipo, origem, payload) VALUES ('%s', 'teste.a', 'raw', '{\"n\":1}')",
           out);
  run_sql(sql, "SET synchronous_commit = off");
  run_sql(sql, insert);
  return sql;
}

static int64_t count_of(const trilha_fixture *f, const char *id) {
  char count[120];
  snprintf(count, sizeof count, "SELECT count(*) FROM {log} WHERE event_id = '%s'", id);
  return trilha_fixture_count(f, count);
}

static void crash_and_resume_at_once(PGconn *young) {
  fault_server_expect("crash");
  fault_server_expect("resume");
  PQfinish(young);
}

typedef struct search {
  const char *id;
  bool found;
} search;

static trilha_status look_at(void *user, const trilha_event *event, trilha_error *err) {
  (void)err;
  search *s = user;
  s->found = s->found || strcmp(event->event_id, s->id) == 0;
  return TRILHA_OK;
}

static bool shown_by_stream(trilha *handle, const char *id) {
  search s = {id, false};
  const trilha_stream_options options = {0};
  return trilha_replay_stream(handle, &options, look_at, &s, NULL, NULL) == TRILHA_OK && s.found;
}

static bool shown_by_replay(trilha *handle, const char *id) {
  search s = {id, false};
  const trilha_text type = TRILHA_TEXT("teste.a");
  trilha_replayed *replayed = NULL;
  if (trilha_replay(handle, 0, &type, 1, &replayed, NULL) != TRILHA_OK) return false;
  for (size_t i = 0; i < replayed->count; i++) (void)look_at(&s, &replayed->events[i], NULL);
  trilha_replayed_free(replayed);
  return s.found;
}

static bool shown_by_id(trilha *handle, const char *id) {
  trilha_event *event = NULL;
  bool found = trilha_event_get(handle, trilha_text_of(id), &event, NULL) == TRILHA_OK;
  trilha_event_free(event);
  return found;
}

/* A cursor on a sequence that the crash takes back would skip the event that gets it next. */
static bool shown_as_the_last(trilha *handle, const char *id) {
  char last[TRILHA_UUID_TEXT_SIZE];
  return trilha_last_event_id(handle, last, NULL) == TRILHA_OK && strcmp(last, id) == 0;
}

static bool acknowledged_as_a_repeat(trilha *handle, const char *id) {
  trilha_publication p = {.tipo = TRILHA_TEXT("teste.a"),
                          .origem = TRILHA_TEXT("D-1a"),
                          .payload = TRILHA_TEXT("{\"n\":1}"),
                          .event_id = trilha_text_of(id)};
  trilha_publish_result r;
  bool repeated = trilha_publish(handle, &p, &r, NULL) == TRILHA_OK && r.duplicate;
  trilha_publish_result_done(&r);
  return repeated;
}

static void what_any_reader_was_shown_survives_a_kill_at_that_moment(void **state) {
  static const struct {
    const char *how;
    bool (*shown)(trilha *handle, const char *id);
  } ways[] = {{"a stream", shown_by_stream},
              {"a replay of a type", shown_by_replay},
              {"a look by id", shown_by_id},
              {"the last of the log", shown_as_the_last},
              {"a publish of the same id", acknowledged_as_a_repeat}};
  trilha_fixture *f = *state;
  slow_down_the_writer(f);
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    young_id id;
    trilha *handle = trilha_fixture_open(f, f->keyring);
    PGconn *young = leave_young_event(f, i, id);
    if (!ways[i].shown(handle, id)) fail_msg("%s does not show it", ways[i].how);
    crash_and_resume_at_once(young);
    trilha_close(handle);
    if (count_of(f, id) != 1) fail_msg("%s showed an event that the crash lost", ways[i].how);
  }
}

static void an_event_acknowledged_a_moment_ago_survives_a_kill(void **state) {
  trilha_fixture *f = *state;
  slow_down_the_writer(f);
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  for (int64_t i = 1; i <= 3; i++) {
    publish_number(f->handle, "teste.a", i);
    fault_server_expect("crash");
    fault_server_expect("resume");
    assert_int_equal(trilha_fixture_count(f, "SELECT count(*) FROM {log}"), i);
  }
}

static void control_a_reader_with_plain_sql_is_shown_an_event_that_a_kill_loses(void **state) {
  enum { TRIES = 10 };
  trilha_fixture *f = *state;
  slow_down_the_writer(f);
  bool lost = false;
  for (unsigned i = 0; i < TRIES && !lost; i++) { /* the server may write for a reason of its own */
    young_id id;
    PGconn *young = leave_young_event(f, i, id);
    assert_int_equal(count_of(f, id), 1);
    crash_and_resume_at_once(young);
    lost = count_of(f, id) == 0;
  }
  assert_true(lost);
}

/* --- the wire
 * --------------------------------------------------------------------------------------------------------------- */

static relay *start_relay(run *r) {
  return fault_server_wire(r->f->url, r->url, sizeof r->url);
}

static void cut_at_random(run *r, relay *wire, int times) {
  static const relay_cut cuts[] = {RELAY_CUT_REQUEST, RELAY_CUT_ANSWER};
  for (int i = 0; i < times; i++) {
    trilha_clock_sleep_ms(1 + fault_draw(&r->seed, 40));
    relay_set(wire, cuts[fault_draw(&r->seed, 2)]);
    trilha_deadline end = trilha_deadline_in_ms(SERVER_MS);
    while (relay_is_set(wire) && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(1);
    assert_false(relay_is_set(wire));
  }
}

static size_t unknown_in(const fault_history *h) {
  size_t unknown = 0;
  for (size_t i = 0; i < h->count; i++) unknown += h->attempts[i].sequence == 0 && !h->attempts[i].refused;
  return unknown;
}

static size_t unknown_so_far(const run *r) {
  fault_history h = read_all(r);
  size_t unknown = unknown_in(&h);
  fault_history_done(&h);
  return unknown;
}

static void what_was_acknowledged_survives_a_wire_cut_before_and_after_the_commit(void **state) {
  run r = {.f = *state, .seed = fault_seed()};
  relay *wire = start_relay(&r);
  start_all(&r, "publisher", "careful");
  int times = fault_times(CUTS);
  cut_at_random(&r, wire, times);
  /* More than the last kills leave; cuts may have hit the consumer. */
  for (; unknown_so_far(&r) <= 2 * PUBLISHERS * FAULT_BATCH_MAX && times < CUTS_MAX; times++)
    cut_at_random(&r, wire, 1);
  wait_for_progress(&r);
  fault_history h = end_all(&r);
  assert_true(unknown_in(&h) > PUBLISHERS * FAULT_BATCH_MAX);
  expect_all_kept(&r, &h, times);
  fault_history_done(&h);
  relay_stop(wire);
}

static void control_taking_an_unknown_outcome_for_a_success_is_caught_losing(void **state) {
  run r = {.f = *state, .seed = fault_seed()};
  relay *wire = start_relay(&r);
  start_all(&r, "trusting", "");
  size_t lost = 0;
  for (int i = 0; i < CUTS_MAX / CUTS && lost == 0; i++) { /* a request that is cut may be the consumer's */
    cut_at_random(&r, wire, CUTS);
    fault_history h = read_all(&r);
    lost = fault_check(&h, r.f->handle).lost;
    fault_history_done(&h);
  }
  fault_history h = end_all(&r);
  fault_history_done(&h);
  fault_kill(r.consumer);
  assert_true(lost > 0);
  relay_stop(wire);
}

/* --- a full disk
 * ------------------------------------------------------------------------------------------------------------ */

enum { DISK_MIB = 192, LEFT_KIB = 1024, LARGE = 60000, FULL_MAX = 5000 };

static bool disk_is_small;

/* From here on this process and its children, the server too, have a small file system there. */
static bool mount_small_disk(const char *path) {
  char options[40];
  snprintf(options, sizeof options, "size=%dm,mode=755", DISK_MIB);
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0 &&
         mount("tmpfs", path, "tmpfs", 0, options) == 0;
}

static void fill_disk(const char *ballast) {
  int fd = open(ballast, O_WRONLY | O_CREAT, 0600);
  assert_true(fd >= 0);
  static char block[64 * 1024];
  off_t size = 0;
  while (write(fd, block, sizeof block) == (ssize_t)sizeof block) size += (off_t)sizeof block;
  assert_int_equal(ftruncate(fd, size - LEFT_KIB * 1024), 0);
  close(fd);
}

static trilha_status publish_large(trilha *handle, int history, int number, trilha_error *err) {
  static char payload[LARGE + 64];
  char id[40];
  int head = snprintf(payload, sizeof payload, "{\"n\":%d,\"nome\":\"", number);
  memset(payload + head, 'x', LARGE);
  snprintf(payload + head + LARGE, 3, "\"}");
  snprintf(id, sizeof id, "%08d-0000-4000-8000-000000000000", number);
  fault_write(history, "try %s 0\n", id);
  trilha_publication p = {.tipo = TRILHA_TEXT("teste.cheio"),
                          .origem = TRILHA_TEXT("D-1a"),
                          .payload = trilha_text_of(payload),
                          .event_id = trilha_text_of(id)};
  trilha_publish_result r;
  trilha_status status = trilha_publish(handle, &p, &r, err);
  fault_write(history, "%s %s %lld\n",
              status == TRILHA_OK            ? "ack"
              : status == TRILHA_UNAVAILABLE ? "ref"
                                             : "unk",
              id, status == TRILHA_OK ? (long long)r.event->sequence_number : 0LL);
  trilha_publish_result_done(&r);
  return status;
}

static void a_full_disk_of_the_server_refuses_clearly_and_room_heals_it(void **state) {
  trilha_fixture *f = *state;
  if (!disk_is_small) {
    printf("# no small file system can be mounted here\n");
    skip();
  }
  char ballast[PATH + 16], path[PATH];
  snprintf(ballast, sizeof ballast, "%s.ballast", fault_server_folder());
  snprintf(path, sizeof path, "%s/full", f->folder);
  int history = fault_open_history(path), number = 0;
  trilha_fixture_register(f->handle, "teste.cheio", "1.0.0", "{\"type\":\"object\",\"x-redacao\":\"manter\"}");
  trilha_error err = {0};
  assert_int_equal(publish_large(f->handle, history, number++, &err), TRILHA_OK);
  fill_disk(ballast);
  while (number < FULL_MAX && publish_large(f->handle, history, number, &err) == TRILHA_OK) number++;
  printf("# refused at event %d: %s: %s\n", number, err.code, err.text);
  assert_in_range(number, 1, FULL_MAX - 1);
  assert_true(err.status == TRILHA_UNAVAILABLE || err.status == TRILHA_OUTCOME_UNKNOWN);
  assert_true(err.retriable);
  unlink(ballast);
  trilha_deadline end = trilha_deadline_in_ms(SERVER_MS);
  while (publish_large(f->handle, history, ++number, &err) != TRILHA_OK) {
    if (trilha_deadline_passed(end)) fail_msg("not healed: %s: %s", err.code, err.text);
    fault_server("resume", ""); /* a server that found no room for its log has ended itself */
    trilha_clock_sleep_ms(200);
  }
  fault_history h = {0};
  fault_history_read(&h, path);
  fault_verdict v = fault_check(&h, f->handle);
  fault_expect_clean(&v);
  fault_history_done(&h);
  close(history);
}

#define ON_A_FRESH_DATABASE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

static int run_all(void) {
  const struct CMUnitTest tests[] = {
      ON_A_FRESH_DATABASE(what_was_acknowledged_survives_a_server_killed_under_load),
      ON_A_FRESH_DATABASE(control_an_acknowledgement_before_the_flush_is_caught_losing),
      ON_A_FRESH_DATABASE(what_any_reader_was_shown_survives_a_kill_at_that_moment),
      ON_A_FRESH_DATABASE(an_event_acknowledged_a_moment_ago_survives_a_kill),
      ON_A_FRESH_DATABASE(control_a_reader_with_plain_sql_is_shown_an_event_that_a_kill_loses),
      ON_A_FRESH_DATABASE(what_was_acknowledged_survives_a_wire_cut_before_and_after_the_commit),
      ON_A_FRESH_DATABASE(control_taking_an_unknown_outcome_for_a_success_is_caught_losing),
      ON_A_FRESH_DATABASE(a_full_disk_of_the_server_refuses_clearly_and_room_heals_it),
  };
  return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}

int main(int argc, char **argv) {
  if (argc > 5 && strcmp(argv[1], "--role") == 0) {
    if (strcmp(argv[2], "consumer") == 0) return role_consumer(argv[3], argv[4], argv[5]);
    if (strcmp(argv[2], "trusting") == 0) return role_trusting(argv[3], argv[4], argv[5]);
    return argc > 6 ? role_publisher(argv[3], argv[4], argv[5], argv[6]) : 2;
  }
  char parent[] = "/tmp/trilha-server-XXXXXX", command[80];
  if (mkdtemp(parent) == NULL || chmod(parent, 0755) != 0) return 1;
  disk_is_small = mount_small_disk(parent);
  int status = 0;
  if (fault_server_starts(parent)) {
    status = run_all();
    fault_server("stop", "");
  } else {
    puts("1..0 # SKIP no PostgreSQL server can be started here");
  }
  if (disk_is_small) umount2(parent, MNT_DETACH);
  snprintf(command, sizeof command, "rm -rf %s", parent);
  return system(command) == 0 ? status : 1;
}
