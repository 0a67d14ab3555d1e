/* consumer: a durable consumer and a reprocess killed between each two durable steps, dead letters that cannot be
 * written, and holders that were overtaken (rulings R14 to R18; reliability 9). The kills need -Dfault_points=true. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/text.h"
#include "conformance/publishing.h"
#include "consumer/consumer.h"
#include "lib/handle.h"
#include "support/own_program.h"
#include "trilha/delivery.h"

extern char **environ;

enum { EVENTS = 6, FAILING = 3, SEEN_MAX = 64 };
static const trilha_text type_a[] = {{"teste.a", 7}};

static trilha *begin(void **state) {
  trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, "teste.a", "1.0.0", trilha_test_schema);
  return f->handle;
}

static int64_t ask(trilha_fixture *f, const char *postgres, const char *sqlite) {
  return trilha_fixture_count(f, f->is_postgres ? postgres : sqlite);
}

static int64_t cursor(trilha_fixture *f) {
  return ask(f, "SELECT last_sequence FROM d4.consumer_offset WHERE tipo_evento = 'teste.a'",
             "SELECT last_sequence FROM d4_consumer_offset WHERE tipo_evento = 'teste.a'");
}

static size_t letters(trilha *handle, const char *status) {
  trilha_dead_letters *found = NULL;
  trilha_dead_letters_filter filter = {.status = trilha_text_of(status)};
  assert_int_equal(trilha_dead_letters_query(handle, &filter, &found, NULL), TRILHA_OK);
  size_t count = found->count;
  trilha_dead_letters_free(found);
  return count;
}

__attribute__((unused)) static void run(trilha *handle,
                                        trilha_consumer_options options) { /* used where fault points are compiled */
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  options.colonia = TRILHA_TEXT("D-4");
  options.types = type_a;
  options.type_count = 1;
  options.from = TRILHA_FROM_START;
  options.once = true;
  if (trilha_consumer_new(handle, &options, &consumer, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  if (trilha_consumer_run(consumer, &err) != TRILHA_OK) fail_msg("%s %s", err.code, err.text);
  trilha_consumer_free(consumer);
}

#ifdef TRILHA_FAULT_POINTS

/* --- a process that consumes, and dies where it is told -------------------------------------------------------- */

/* Each delivery is a line of standard output: what a consumer's effect would be. */
static trilha_status note(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  char line[32];
  int n = snprintf(line, sizeof line, "%lld\n", (long long)event->sequence_number);
  if (write(STDOUT_FILENO, line, (size_t)n) != n) _exit(9);
  if (event->sequence_number == FAILING) return trilha_delivery_fail(delivery, "nunca dá");
  return TRILHA_OK;
}

static trilha *open_role(const char *url) {
  trilha *handle = NULL;
  trilha_options options = {.store_url = url};
  if (trilha_open(&options, &handle, NULL) != TRILHA_OK) _exit(3);
  return handle;
}

static int role_consumer(const char *url) {
  trilha *handle = open_role(url);
  run(handle, (trilha_consumer_options){.handler = note, .lease_ms = 1000});
  trilha_close(handle);
  return 0;
}

static trilha_status succeed(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  (void)event;
  (void)delivery;
  return TRILHA_OK;
}

static int role_reprocess(const char *url) {
  trilha *handle = open_role(url);
  trilha_reprocessed done;
  return trilha_reprocess_with(handle, TRILHA_TEXT("D-4"), NULL, 0, (trilha_text){0}, succeed, NULL, &done, NULL) ==
                 TRILHA_OK
             ? 0
             : 4;
}

/* Runs a role to its end with a fault armed; its wait status. */
static int run_role(const trilha_fixture *f, const char *role, const char *fault) {
  char path[200];
  snprintf(path, sizeof path, "%s/delivered", f->folder);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  char *argv[] = {trilha_own_program(), (char *)(uintptr_t) "--role", (char *)(uintptr_t)role,
                  (char *)(uintptr_t)f->url, NULL};
  pid_t pid = 0;
  if (fault != NULL) setenv("TRILHA_FAULT", fault, 1);
  assert_int_equal(posix_spawn(&pid, argv[0], &actions, NULL, argv, environ), 0);
  unsetenv("TRILHA_FAULT");
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

typedef struct delivered {
  int times[EVENTS + 1];
  int total;
  bool ordered; /* never back by more than the one event in flight */
} delivered;

static delivered read_delivered(const trilha_fixture *f) {
  delivered d = {.ordered = true};
  char path[200];
  snprintf(path, sizeof path, "%s/delivered", f->folder);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  long long sequence, last = 0;
  while (fscanf(file, "%lld\n", &sequence) == 1) {
    assert_in_range(sequence, 1, EVENTS);
    d.times[sequence]++;
    d.total++;
    d.ordered &= sequence == last + 1 || sequence == last || (last == FAILING && sequence == FAILING);
    last = sequence;
  }
  fclose(file);
  return d;
}

static void killed_at(void **state, const char *fault, int64_t attempts) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state);
  for (int i = 1; i <= EVENTS; i++) publish_number(handle, "teste.a", i);
  int status = run_role(f, "consumer", fault);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) fail_msg("%s: not killed (%d)", fault, status);
  assert_int_equal(run_role(f, "consumer", NULL), 0);
  delivered d = read_delivered(f);
  for (int i = 1; i <= EVENTS; i++) assert_in_range(d.times[i], 1, 2);
  assert_in_range(d.total, EVENTS, EVENTS + 1); /* no gap, no repeat beyond the one in flight */
  assert_true(d.ordered);
  assert_int_equal(cursor(f), EVENTS);
  assert_int_equal(letters(handle, NULL), 1);
  assert_int_equal(
      ask(f, "SELECT tentativas FROM core.dead_letter_queue", "SELECT tentativas FROM core_dead_letter_queue"),
      attempts);
}

static void reliability_9_killed_after_the_handler_and_before_its_cursor_the_event_comes_again(void **state) {
  killed_at(state, "consumer.cursor.before_store=kill:2", 1);
}
static void reliability_9_killed_after_the_cursor_moved_nothing_comes_again(void **state) {
  killed_at(state, "consumer.cursor.after_store=kill:2", 1);
}
static void reliability_9_killed_before_the_dead_letter_is_stored_the_event_comes_again(void **state) {
  killed_at(state, "deadletter.record.before_store=kill", 1);
}
static void reliability_9_killed_after_the_dead_letter_is_stored_the_event_is_one_attempt_older(void **state) {
  killed_at(state, "deadletter.record.after_store=kill", 2);
}

static void R16_a_reprocess_killed_before_it_settles_leaves_a_row_that_the_next_one_finds_again(void **state) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state);
  for (int i = 1; i <= EVENTS; i++) publish_number(handle, "teste.a", i);
  assert_int_equal(run_role(f, "consumer", NULL), 0);
  int status = run_role(f, "reprocess", "consumer.reprocess.before_settle=kill");
  assert_true(WIFSIGNALED(status));
  assert_int_equal(letters(handle, "retrying"), 1);
  trilha_reprocessed done = {0};
  assert_int_equal(
      trilha_reprocess_with(handle, TRILHA_TEXT("D-4"), NULL, 0, (trilha_text){0}, succeed, NULL, &done, NULL),
      TRILHA_OK);
  assert_int_equal(done.reprocessados, 0); /* its lease holds */
  trilha_fixture_change(f, "UPDATE core.dead_letter_lease SET expires_at = clock_timestamp()",
                        "UPDATE core_dead_letter_lease SET boot_us = 0");
  assert_int_equal(
      trilha_reprocess_with(handle, TRILHA_TEXT("D-4"), NULL, 0, (trilha_text){0}, succeed, NULL, &done, NULL),
      TRILHA_OK);
  assert_int_equal(done.reprocessados, 1);
  assert_int_equal(letters(handle, "resolved"), 1);
  assert_int_equal(cursor(f), EVENTS); /* field report B13 */
}

/* --- a dead letter that cannot be written ---------------------------------------------------------------------- */

typedef struct witness {
  trilha_fixture *f;
  int64_t seen[SEEN_MAX], cursor_at_second;
  size_t count;
} witness;

static trilha_status fail_the_second(void *user, const trilha_event *event, trilha_delivery *delivery) {
  witness *w = user;
  assert_true(w->count < SEEN_MAX);
  w->seen[w->count++] = event->sequence_number;
  if (event->sequence_number != 2) return TRILHA_OK;
  w->cursor_at_second = cursor(w->f);
  return trilha_delivery_fail(delivery, "falhou");
}

static void unwritten_letter(void **state, unsigned batch_max) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state);
  for (int i = 1; i <= 4; i++) publish_number(handle, "teste.a", i);
  witness w = {.f = f};
  setenv("TRILHA_FAULT", "deadletter.record.before_store=fail", 1);
  trilha_fault_reset();
  run(handle, (trilha_consumer_options){.handler = fail_the_second, .user = &w, .batch_max = batch_max});
  unsetenv("TRILHA_FAULT");
  static const int64_t expected[] = {1, 2, 2, 3, 4};
  assert_int_equal(w.count, 5);
  assert_memory_equal(w.seen, expected, sizeof expected);
  assert_int_equal(w.cursor_at_second, 1);
  assert_int_equal(cursor(f), 4);
  assert_int_equal(letters(handle, "pendente"), 1);
  const char *message;
  assert_int_equal(trilha_fixture_diagnostics(f, "dlq.write_failed", &message), 1);
  assert_string_equal(message, "Falha ao registrar na DLQ");
}

static void R14_an_event_whose_dead_letter_cannot_be_written_is_never_passed(void **state) {
  unwritten_letter(state, 1);
}
static void R14_successes_of_a_batch_before_it_are_kept_and_not_repeated(void **state) {
  unwritten_letter(state, 100);
}
#endif

/* --- overtaken ---------------------------------------------------------------------------------------------------- */

typedef struct contest {
  trilha_fixture *f;
  _Atomic int first_inside, second_done, released;
} contest;

static void wait_for(_Atomic int *flag) {
  trilha_deadline end = trilha_deadline_in_ms(60000);
  while (atomic_load(flag) == 0 && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(5);
  assert_int_equal(atomic_load(flag), 1);
}

static trilha_status hang_and_fail(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  contest *c = user;
  atomic_store(&c->first_inside, 1);
  wait_for(&c->released);
  return trilha_delivery_fail(delivery, "tarde demais");
}

static trilha_status finish(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  (void)delivery;
  atomic_store(&((contest *)user)->second_done, 1);
  return TRILHA_OK;
}

static void *run_consumer(void *user) {
  if (trilha_consumer_run(user, NULL) != TRILHA_OK) return user;
  return NULL;
}

static trilha_consumer *new_consumer(trilha *handle, trilha_handler handler, contest *c) {
  trilha_consumer *consumer = NULL;
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = type_a,
                                     .type_count = 1,
                                     .handler = handler,
                                     .user = c,
                                     .from = TRILHA_FROM_START};
  assert_int_equal(trilha_consumer_new(handle, &options, &consumer, NULL), TRILHA_OK);
  return consumer;
}

static void R18_a_late_failure_of_an_overtaken_holder_leaves_no_dead_letter(void **state) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state);
  trilha *other = trilha_fixture_open(f, f->keyring);
  contest c = {.f = f};
  publish_number(handle, "teste.a", 1);
  trilha_consumer *first = new_consumer(handle, hang_and_fail, &c), *second = new_consumer(other, finish, &c);
  pthread_t threads[2];
  assert_int_equal(pthread_create(&threads[0], NULL, run_consumer, first), 0);
  wait_for(&c.first_inside);
  assert_int_equal(pthread_create(&threads[1], NULL, run_consumer, second), 0);
  trilha_deadline overtaken = trilha_deadline_in_ms(60000); /* a renewal may come between: again */
  while (atomic_load(&c.second_done) == 0 && !trilha_deadline_passed(overtaken)) {
    trilha_fixture_change(f, "UPDATE core.consumer_lease SET expires_at = clock_timestamp()",
                          "UPDATE core_consumer_lease SET boot_us = 0");
    trilha_clock_sleep_ms(20);
  }
  wait_for(&c.second_done);
  trilha_deadline end = trilha_deadline_in_ms(60000);
  while (cursor(f) != 1 && !trilha_deadline_passed(end)) trilha_clock_sleep_ms(10);
  atomic_store(&c.released, 1);
  trilha_consumer_stop(first);
  void *failed = NULL;
  pthread_join(threads[0], &failed);
  assert_null(failed);
  trilha_consumer_stop(second);
  pthread_join(threads[1], &failed);
  assert_null(failed);
  assert_int_equal(letters(handle, NULL), 0); /* the event succeeded: a letter would never be resolved */
  assert_int_equal(cursor(f), 1);
  trilha_consumer_free(first);
  trilha_consumer_free(second);
  trilha_close(other);
}

/* --- longer than a lease ------------------------------------------------------------------------------------------ */

static int64_t lease_end(trilha_fixture *f) {
  return ask(f, "SELECT (extract(epoch FROM expires_at) * 1e6)::bigint FROM core.dead_letter_lease",
             "SELECT boot_us FROM core_dead_letter_lease");
}

/* Runs until it has seen its own row's lease renewed twice. */
static trilha_status outlive_the_lease(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  (void)delivery;
  trilha_fixture *f = user;
  trilha_deadline end = trilha_deadline_in_ms(60000);
  int64_t last = lease_end(f);
  for (int renewals = 0; renewals < 2;) {
    int64_t now = lease_end(f);
    if (now > last) renewals++;
    last = now;
    assert_false(trilha_deadline_passed(end));
    trilha_clock_sleep_ms(20);
  }
  return TRILHA_OK;
}

static trilha_status fail_once(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  (void)event;
  return trilha_delivery_fail(delivery, "ainda não");
}

static void R16_a_retry_that_takes_longer_than_its_lease_keeps_its_row(void **state) {
  trilha_fixture *f = *state;
  trilha *handle = begin(state);
  trilha_error err = {0};
  trilha_subscription s = {.tipo = type_a[0], .colonia = TRILHA_TEXT("D-4"), .handler = fail_once};
  int64_t id;
  assert_int_equal(trilha_subscribe(handle, &s, &id, &err), TRILHA_OK);
  publish_number(handle, "teste.a", 1);
  assert_int_equal(letters(handle, "pendente"), 1);
  trilha_reprocessor r = {handle->bus, handle->store, handle->deadletter, &handle->diagnostics};
  trilha_reprocess_how how = {.colonia = TRILHA_TEXT("D-4"),
                              .handler = outlive_the_lease,
                              .handler_nome = TRILHA_TEXT("demorado"),
                              .user = f,
                              .lease_ms = 600};
  trilha_reprocessed done;
  assert_int_equal(trilha_reprocess_rows(&r, &how, &done, &err), TRILHA_OK);
  assert_int_equal(done.reprocessados, 1);
  assert_int_equal(letters(handle, "resolved"), 1);
  /* What is settled cannot be extended any more, nor a row under a token that is not its own. */
  const trilha_delivery_operations *op = handle->store->delivery;
  for (int64_t token = 0; token < 3; token++) {
    trilha_error refused = {0};
    assert_int_equal(op->dead_letter_extend(handle->store, 1, token, 1000, trilha_deadline_in_ms(60000), &refused),
                     TRILHA_CONFLICT);
    assert_string_equal(refused.code, "LEASE_LOST");
  }
}

#define ON_A_FRESH_STORE(test) cmocka_unit_test_setup_teardown(test, trilha_fixture_setup, trilha_fixture_teardown)

int main(int argc, char **argv) {
#ifdef TRILHA_FAULT_POINTS
  if (argc > 3 && strcmp(argv[1], "--role") == 0)
    return strcmp(argv[2], "consumer") == 0 ? role_consumer(argv[3]) : role_reprocess(argv[3]);
#else
  (void)argc;
  (void)argv;
#endif
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
#ifdef TRILHA_FAULT_POINTS
      ON_A_FRESH_STORE(reliability_9_killed_after_the_handler_and_before_its_cursor_the_event_comes_again),
      ON_A_FRESH_STORE(reliability_9_killed_after_the_cursor_moved_nothing_comes_again),
      ON_A_FRESH_STORE(reliability_9_killed_before_the_dead_letter_is_stored_the_event_comes_again),
      ON_A_FRESH_STORE(reliability_9_killed_after_the_dead_letter_is_stored_the_event_is_one_attempt_older),
      ON_A_FRESH_STORE(R16_a_reprocess_killed_before_it_settles_leaves_a_row_that_the_next_one_finds_again),
      ON_A_FRESH_STORE(R14_an_event_whose_dead_letter_cannot_be_written_is_never_passed),
      ON_A_FRESH_STORE(R14_successes_of_a_batch_before_it_are_kept_and_not_repeated),
#endif
      ON_A_FRESH_STORE(R18_a_late_failure_of_an_overtaken_holder_leaves_no_dead_letter),
      ON_A_FRESH_STORE(R16_a_retry_that_takes_longer_than_its_lease_keeps_its_row),
  };
  return cmocka_run_group_tests_name("consumer-crash", tests, NULL, NULL);
}
