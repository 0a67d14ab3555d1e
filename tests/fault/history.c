/* tests/fault: seeds, roles, histories and their checker. */
#include "fault/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"
#include "support/own_program.h"

extern char **environ;

enum { OPEN_MS = 60000, ALIGNED = 64 };

/* --- seed and size --------------------------------------------------------------------------------------------------
 */

unsigned fault_seed(void) {
  const char *wanted = getenv("TRILHA_FAULT_SEED");
  unsigned seed = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : (unsigned)trilha_clock_wall_us() % 1000000u;
  printf("# seed %u (TRILHA_FAULT_SEED=%u draws the same again)\n", seed, seed);
  fflush(stdout);
  return seed;
}

unsigned fault_draw(unsigned *seed, unsigned below) {
  return (unsigned)rand_r(seed) % below;
}

int fault_times(int count) {
  const char *times = getenv("TRILHA_FAULT_TIMES");
  return times == NULL ? count : count * atoi(times);
}

/* --- processes ------------------------------------------------------------------------------------------------------
 */

/* The caller's environment with one more entry; the array alone is new. */
static char **environment_with(const char *setting) {
  size_t count = 0;
  while (environ[count] != NULL) count++;
  char **all = calloc(count + 2, sizeof *all);
  assert_non_null(all);
  memcpy(all, environ, count * sizeof *all);
  all[count] = (char *)(uintptr_t)setting;
  return all;
}

pid_t fault_start(const char *const words[], const char *setting) {
  char *argv[FAULT_WORDS_MAX + 3] = {trilha_own_program(), (char *)(uintptr_t) "--role"};
  for (size_t i = 0; words[i] != NULL; i++) {
    assert_true(i < FAULT_WORDS_MAX);
    argv[i + 2] = (char *)(uintptr_t)words[i];
  }
  char **environment = environment_with(setting);
  pid_t pid = 0;
  fflush(stdout);
  assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environment), 0);
  free(environment);
  return pid;
}

int fault_wait(pid_t pid) {
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

void fault_kill(pid_t pid) {
  kill(pid, SIGKILL);
  fault_wait(pid);
}

void fault_expect_end(pid_t pid) {
  int status = fault_wait(pid);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("a role ended with wait status %x", (unsigned)status);
}

size_t fault_lines(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  size_t lines = 0;
  for (int c = getc(file); c != EOF; c = getc(file)) lines += c == '\n';
  fclose(file);
  return lines;
}

void fault_wait_for_lines(const char *path, size_t count, int seconds) {
  trilha_deadline end = trilha_deadline_in_ms(seconds * 1000L);
  while (fault_lines(path) < count) {
    if (trilha_deadline_passed(end)) fail_msg("%s: no %zu lines within %d s", path, count, seconds);
    trilha_clock_sleep_ms(5);
  }
}

trilha *fault_open(const char *url, const char *keyring) {
  trilha_options options = {.store_url = url, .keyring = keyring};
  trilha_deadline end = trilha_deadline_in_ms(OPEN_MS);
  trilha *handle = NULL;
  trilha_error err = {.retriable = true};
  while (err.retriable && !trilha_deadline_passed(end)) { /* another role may hold the store */
    err = (trilha_error){0};
    if (trilha_open(&options, &handle, &err) == TRILHA_OK) return handle;
    trilha_clock_sleep_ms(20);
  }
  fprintf(stderr, "# open: %s %s\n", err.code, err.text);
  _exit(3);
}

int fault_open_history(const char *path) {
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (fd < 0) _exit(8);
  return fd;
}

int fault_consume(trilha *handle, trilha_handler handler, void *user, unsigned lease_ms, bool once) {
  static const trilha_text type[] = {{"teste.a", 7}};
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = type,
                                     .type_count = 1,
                                     .handler = handler,
                                     .user = user,
                                     .from = TRILHA_FROM_START,
                                     .lease_ms = lease_ms,
                                     .once = once};
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  if (trilha_consumer_new(handle, &options, &consumer, &err) != TRILHA_OK ||
      trilha_consumer_run(consumer, &err) != TRILHA_OK) {
    fprintf(stderr, "# consume: %s %s\n", err.code, err.text);
    return 5;
  }
  trilha_consumer_free(consumer);
  trilha_close(handle);
  return 0;
}

void fault_write(int fd, const char *format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (n < 1 || n > (int)sizeof line - ALIGNED) _exit(9);
  /* A kill may cut a write where a page of the file ends: no line crosses one. */
  size_t size = ((size_t)n + ALIGNED - 1) / ALIGNED * ALIGNED;
  memset(line + n - 1, ' ', size - (size_t)n);
  line[size - 1] = '\n';
  if (write(fd, line, size) != (ssize_t)size) _exit(9);
}

/* --- publishing under faults
 * ------------------------------------------------------------------------------------------ */

#define PAYLOAD TRILHA_TEXT("{\"n\":1,\"texto\":\"Rua das Flores\"}")

static trilha_publication publication_of(const char *id) {
  return (trilha_publication){.tipo = TRILHA_TEXT("teste.a"),
                              .origem = TRILHA_TEXT("D-1a"),
                              .payload = PAYLOAD,
                              .event_id = trilha_text_of(id)};
}

/* Only these promise that nothing was stored. */
static bool promises_nothing_stored(trilha_status status) {
  return status == TRILHA_UNAVAILABLE || status == TRILHA_INVALID || status == TRILHA_LIMIT;
}

static void note_answer(int history, const char *id, const trilha_publish_result *r) {
  if (r->status == TRILHA_OK)
    fault_write(history, "%s %s %lld\n", r->duplicate ? "dup" : "ack", id, (long long)r->event->sequence_number);
  else
    fault_write(history, "%s %s 0\n", promises_nothing_stored(r->status) ? "ref" : "unk", id);
}

trilha_status fault_publish(trilha *handle, int history, unsigned count, trilha_error *err) {
  trilha_publication publications[FAULT_BATCH_MAX];
  trilha_publish_result results[FAULT_BATCH_MAX];
  char ids[FAULT_BATCH_MAX][TRILHA_UUID_TEXT_SIZE];
  if (count == 0 || count > FAULT_BATCH_MAX) _exit(8);
  for (unsigned i = 0; i < count; i++) {
    unsigned char id[16];
    if (!trilha_uuid_v4(id)) _exit(8);
    trilha_uuid_format(id, ids[i]);
    publications[i] = publication_of(ids[i]);
    fault_write(history, "try %s 0\n", ids[i]);
  }
  trilha_status status = trilha_publish_many(handle, publications, count, results, err);
  for (unsigned i = 0; i < count; i++) {
    note_answer(history, ids[i], &results[i]);
    trilha_publish_result_done(&results[i]);
  }
  return status;
}

void fault_resolve(trilha *handle, fault_history *h) {
  for (size_t i = 0; i < h->count; i++) {
    fault_attempt *a = &h->attempts[i];
    if (a->sequence != 0) continue;
    trilha_publication p = publication_of(a->id);
    trilha_publish_result r;
    trilha_error err = {0};
    if (trilha_publish(handle, &p, &r, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
    a->sequence = r.event->sequence_number;
    a->duplicate = true; /* of whatever place in the order */
    trilha_publish_result_done(&r);
  }
}

/* --- histories
 * -------------------------------------------------------------------------------------------------------- */

static fault_attempt *add_attempt(fault_history *h) {
  if (h->count == h->capacity) {
    h->capacity = h->capacity == 0 ? 1024 : h->capacity * 2;
    h->attempts = realloc(h->attempts, h->capacity * sizeof *h->attempts);
    assert_non_null(h->attempts);
  }
  fault_attempt *a = &h->attempts[h->count++];
  *a = (fault_attempt){.publisher = h->publishers};
  return a;
}

/* The answers to a batch follow its attempts at once: the open ones are the last few. */
static fault_attempt *open_attempt(fault_history *h, const char *id) {
  for (size_t back = 1; back <= FAULT_BATCH_MAX && back <= h->count; back++) {
    fault_attempt *a = &h->attempts[h->count - back];
    if (strcmp(a->id, id) == 0) return a;
  }
  fail_msg("an answer without its attempt: %s", id);
  return NULL;
}

void fault_history_read(fault_history *h, const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char word[8], id[37];
  long long sequence;
  while (fscanf(file, "%7s %36s %lld\n", word, id, &sequence) == 3) {
    if (strcmp(word, "try") == 0) {
      snprintf(add_attempt(h)->id, sizeof h->attempts->id, "%s", id);
      continue;
    }
    fault_attempt *a = open_attempt(h, id);
    a->sequence = sequence;
    a->duplicate = strcmp(word, "dup") == 0;
    a->refused = strcmp(word, "ref") == 0;
  }
  fclose(file);
  h->publishers++;
}

void fault_history_done(fault_history *h) {
  free(h->attempts);
  *h = (fault_history){0};
}

/* --- the checker
 * ------------------------------------------------------------------------------------------------------ */

typedef struct row {
  char id[37];
  int64_t sequence;
} row;

typedef struct log_copy {
  row *rows;
  size_t count, capacity;
} log_copy;

static trilha_status copy_row(void *user, const trilha_event *event, trilha_error *err) {
  (void)err;
  log_copy *l = user;
  if (l->count == l->capacity) {
    l->capacity = l->capacity == 0 ? 1024 : l->capacity * 2;
    l->rows = realloc(l->rows, l->capacity * sizeof *l->rows);
    assert_non_null(l->rows);
  }
  row *r = &l->rows[l->count++];
  snprintf(r->id, sizeof r->id, "%s", event->event_id);
  r->sequence = event->sequence_number;
  return TRILHA_OK;
}

static log_copy copy_log(trilha *handle) {
  log_copy l = {0};
  trilha_stream_options options = {0};
  trilha_error err = {0};
  if (trilha_replay_stream(handle, &options, copy_row, &l, NULL, &err) != TRILHA_OK)
    fail_msg("reading the log: %s %s", err.code, err.text);
  return l;
}

static int by_id(const void *a, const void *b) {
  return strcmp(((const row *)a)->id, ((const row *)b)->id);
}

static int attempts_by_id(const void *a, const void *b) {
  return strcmp((*(const fault_attempt *const *)a)->id, (*(const fault_attempt *const *)b)->id);
}

static void check_order(const fault_history *h, const log_copy *l, fault_verdict *v) {
  for (size_t i = 1; i < l->count; i++) v->disordered += l->rows[i].sequence <= l->rows[i - 1].sequence;
  int64_t last = 0;
  for (size_t i = 0; i < h->count; i++) {
    const fault_attempt *a = &h->attempts[i];
    if (i > 0 && a->publisher != a[-1].publisher) last = 0;
    if (a->sequence == 0 || a->duplicate) continue;
    v->disordered += a->sequence <= last;
    last = a->sequence;
  }
}

static void judge(const fault_attempt *a, const row *found, fault_verdict *v) {
  if (found == NULL)
    v->lost += a->sequence != 0;
  else if (a->sequence != 0)
    v->moved += a->sequence != found->sequence;
  else
    v->betrayed += a->refused;
}

fault_verdict fault_check(const fault_history *h, trilha *handle) {
  fault_verdict v = {0};
  log_copy l = copy_log(handle);
  v.stored = l.count;
  check_order(h, &l, &v);
  const fault_attempt **sorted = calloc(h->count + 1, sizeof *sorted);
  assert_non_null(sorted);
  for (size_t i = 0; i < h->count; i++) sorted[i] = &h->attempts[i];
  qsort(sorted, h->count, sizeof *sorted, attempts_by_id);
  if (l.count != 0) qsort(l.rows, l.count, sizeof *l.rows, by_id);
  size_t at = 0;
  for (size_t i = 0; i < h->count; i++) {
    while (at < l.count && strcmp(l.rows[at].id, sorted[i]->id) < 0) v.foreign++, at++;
    bool found = at < l.count && strcmp(l.rows[at].id, sorted[i]->id) == 0;
    judge(sorted[i], found ? &l.rows[at] : NULL, &v);
    if (found) at++;
    for (; found && at < l.count && strcmp(l.rows[at].id, sorted[i]->id) == 0; at++) v.repeated++;
  }
  v.foreign += l.count - at;
  free(sorted);
  free(l.rows);
  return v;
}

void fault_expect_clean(const fault_verdict *v) {
  if (v->lost + v->moved + v->foreign + v->betrayed + v->disordered + v->repeated == 0) return;
  fail_msg("lost %zu, moved %zu, foreign %zu, refused but stored %zu, out of order %zu, repeated %zu of %zu", v->lost,
           v->moved, v->foreign, v->betrayed, v->disordered, v->repeated, v->stored);
}

fault_deliveries fault_check_deliveries(const char *path, trilha *handle) {
  fault_deliveries d = {0};
  log_copy l = copy_log(handle);
  int64_t last = l.count == 0 ? 0 : l.rows[l.count - 1].sequence;
  enum { ABSENT, STORED, SEEN };
  unsigned char *state = calloc((size_t)last + 1, 1);
  FILE *file = fopen(path, "r");
  assert_true(state != NULL && file != NULL);
  for (size_t i = 0; i < l.count; i++) state[l.rows[i].sequence] = STORED;
  long long number, before = 0;
  for (; fscanf(file, "%lld\n", &number) == 1; before = number, d.count++) {
    if (number < 1 || number > last || state[number] == ABSENT) {
      d.foreign++;
      continue;
    }
    d.backwards += number < before;
    d.repeats += state[number] == SEEN;
    state[number] = SEEN;
  }
  for (size_t i = 0; i < l.count; i++) d.missing += state[l.rows[i].sequence] == STORED;
  fclose(file);
  free(state);
  free(l.rows);
  return d;
}
