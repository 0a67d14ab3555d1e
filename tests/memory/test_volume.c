/* memory: what volume does. Publishing and consuming for long leaves memory and descriptors where they were; ten
 * thousand types, a payload of a hundred thousand names and 64 threads with one id are ordinary work.
 * TRILHA_VOLUME_EVENTS sets how many events are published and consumed (default 20,000; `make volume` takes a million).
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
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "conformance/publishing.h"
#include "support/sanitized.h"
#include "trilha/delivery.h"

#define TIPO "volume.medido"

enum {
  EVENTS = 20000,
  BATCH = 500,
  GROWTH_KIB_MAX = 24576, /* the page cache of SQLite (16 MiB) fills meanwhile; of a million events, 25 bytes each */
  TYPES = 2000,
  TYPES_AT_ONCE = 500,
  THREADS = 64,
  HANDLES = 4,
  PAYLOAD_BYTES_MAX = 1048576,
  SECONDS_MAX = 600,   /* liveness only */
  DESCRIPTORS_MORE = 8 /* connections of a pool, made when two threads want one at a time; a leak is one a batch */
};

static int wanted_or(const char *variable, int otherwise) {
  const char *wanted = getenv(variable);
  return wanted == NULL ? otherwise : atoi(wanted);
}

/* --- what the process holds -------------------------------------------------------------------------------- */

static long rss_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  assert_non_null(folder);
  int count = 0;
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count;
}

/* --- a long day -------------------------------------------------------------------------------------------- */

static void publish_batch(trilha *handle, int64_t first) {
  static const char form[] = "{\"n\":%lld,\"texto\":\"Rua das Flores, %lld\",\"peso\":61.25}";
  char payloads[BATCH][96];
  trilha_publication *publications = calloc(BATCH, sizeof *publications);
  trilha_publish_result *results = calloc(BATCH, sizeof *results);
  assert_true(publications != NULL && results != NULL);
  for (int i = 0; i < BATCH; i++) {
    int size = snprintf(payloads[i], sizeof payloads[i], form, (long long)first + i, (long long)first + i);
    publications[i] = (trilha_publication){
        .tipo = TRILHA_TEXT(TIPO), .origem = TRILHA_TEXT("D-1a"), .payload = {payloads[i], (size_t)size}};
  }
  trilha_error err = {0};
  if (trilha_publish_many(handle, publications, BATCH, results, &err) != TRILHA_OK)
    fail_msg("%s: %s", err.code, err.text);
  for (int i = 0; i < BATCH; i++) trilha_publish_result_done(&results[i]);
  free(publications);
  free(results);
}

typedef struct consumed {
  int64_t count, last;
  long rss_early;
  int wanted;
} consumed;

static trilha_status take(void *user, const trilha_event *events, size_t count, trilha_delivery *delivery) {
  consumed *c = user;
  for (size_t i = 0; i < count; i++) {
    if (events[i].sequence_number != c->last + 1)
      return trilha_delivery_fail(delivery, "a gap after %ld", (long)c->last);
    c->last = events[i].sequence_number;
  }
  c->count += (int64_t)count;
  if (c->rss_early == 0 && c->count >= c->wanted / 4) c->rss_early = rss_kib();
  return TRILHA_OK;
}

static void consume_all(trilha *handle, consumed *c) {
  static const trilha_text types[] = {{TIPO, sizeof TIPO - 1}};
  trilha_consumer_options options = {.colonia = TRILHA_TEXT("D-4"),
                                     .types = types,
                                     .type_count = 1,
                                     .batch_handler = take,
                                     .batch_max = BATCH,
                                     .user = c,
                                     .from = TRILHA_FROM_START,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_consumer_new(handle, &options, &consumer, &err), TRILHA_OK);
  if (trilha_consumer_run(consumer, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  trilha_consumer_free(consumer);
}

static trilha *open_fast(const trilha_fixture *f) {
  trilha_options options = {.store_url = f->url, .keyring = f->keyring, .unsafe_no_fsync = true};
  trilha *handle = NULL;
  trilha_error err = {0};
  if (trilha_open(&options, &handle, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return handle;
}

static void expect_flat(const char *what, long before_kib, int descriptors_before) {
  print_message("# %s: %ld KiB, then %ld KiB\n", what, before_kib, rss_kib());
  if (!SANITIZED && rss_kib() > before_kib + GROWTH_KIB_MAX)
    fail_msg("%s: from %ld to %ld KiB", what, before_kib, rss_kib());
  assert_in_range(descriptors(), 0, descriptors_before + DESCRIPTORS_MORE);
}

static void publishing_and_consuming_leave_memory_and_descriptors_flat(void **state) {
  const trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, TIPO, "1.0.0", trilha_test_schema);
  trilha *handle = open_fast(f);
  int wanted = wanted_or("TRILHA_VOLUME_EVENTS", EVENTS) / BATCH * BATCH, before = 0;
  long early = 0;
  for (int i = 0; i < wanted; i += BATCH) {
    publish_batch(handle, i);
    if (early == 0 && i >= wanted / 4) early = rss_kib(), before = descriptors();
  }
  expect_flat("publishing", early, before);
  consumed c = {.wanted = wanted};
  before = descriptors();
  consume_all(handle, &c);
  assert_int_equal(c.count, wanted);
  expect_flat("consuming", c.rss_early, before);
  trilha_close(handle);
}

/* --- ten thousand types ------------------------------------------------------------------------------------ */

static void register_some(trilha *handle, int first) {
  char names[TYPES_AT_ONCE][32];
  trilha_type_version *versions = calloc(TYPES_AT_ONCE, sizeof *versions);
  assert_non_null(versions);
  for (int i = 0; i < TYPES_AT_ONCE; i++) {
    snprintf(names[i], sizeof names[i], "volume.t%d", first + i);
    versions[i] = (trilha_type_version){
        .tipo = trilha_text_of(names[i]), .versao = TRILHA_TEXT("1.0.0"), .schema = trilha_text_of(trilha_test_schema)};
  }
  trilha_error err = {0};
  if (trilha_registry_apply(handle, versions, TYPES_AT_ONCE, false, TRILHA_TEXT("tests"), NULL, &err) != TRILHA_OK)
    fail_msg("from %d: %s: %s", first, err.code, err.text);
  free(versions);
}

static void thousands_of_types_are_registered_listed_and_published(void **state) {
  const trilha_fixture *f = *state;
  trilha *handle = open_fast(f);
  int wanted = wanted_or("TRILHA_VOLUME_TYPES", TYPES) / TYPES_AT_ONCE * TYPES_AT_ONCE;
  char last[32];
  snprintf(last, sizeof last, "volume.t%d", wanted - 1);
  int64_t started = trilha_clock_monotonic_ns();
  for (int i = 0; i < wanted; i += TYPES_AT_ONCE) register_some(handle, i);
  trilha_registered_types *types = NULL;
  assert_int_equal(trilha_registry_list(handle, (trilha_text){0}, &types, NULL), TRILHA_OK);
  assert_int_equal(types->count, wanted);
  trilha_registered_types_free(types);
  assert_int_equal(publish_number(handle, "volume.t0", 1), 1);
  assert_int_equal(publish_number(handle, last, 2), 2);
  assert_true((trilha_clock_monotonic_ns() - started) / 1000000000 < SECONDS_MAX);
  trilha_close(handle);
}

/* --- one payload as large as may be ------------------------------------------------------------------------ */

/* {"n":1,"livre":{"0":0,…}} of exactly this size; how many names it has. */
static char *payload_of_names(size_t size, size_t *ret_names) {
  trilha_buffer b = {0};
  trilha_buffer_add_string(&b, "{\"n\":1,\"livre\":{\"_\":0");
  size_t names = 0;
  while (b.size + 32 < size) {
    trilha_buffer_add_format(&b, ",\"%zx\":0", names++);
  }
  while (b.size + 2 < size) trilha_buffer_add_char(&b, ' ');
  trilha_buffer_add_string(&b, "}}");
  assert_int_equal(b.size, size);
  *ret_names = names;
  return trilha_buffer_take(&b, NULL);
}

static void a_payload_full_of_names_is_taken_at_the_limit_and_not_one_byte_over(void **state) {
  const trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, TIPO, "1.0.0", trilha_test_schema);
  for (size_t over = 0; over < 2; over++) {
    size_t names = 0;
    char *payload = payload_of_names(PAYLOAD_BYTES_MAX + over, &names);
    trilha_publication p = {
        .tipo = TRILHA_TEXT(TIPO), .origem = TRILHA_TEXT("D-1a"), .payload = {payload, PAYLOAD_BYTES_MAX + over}};
    trilha_publish_result result;
    trilha_error err = {0};
    trilha_status status = trilha_publish(f->handle, &p, &result, &err);
    assert_true(names > 90000);
    if (over == 0 && status != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
    if (over == 1) assert_true(status == TRILHA_LIMIT || status == TRILHA_INVALID);
    trilha_publish_result_done(&result);
    free(payload);
  }
  assert_int_equal(trilha_fixture_count(f, "SELECT count(*) FROM {log}"), 1);
}

/* --- one id, 64 threads ------------------------------------------------------------------------------------- */

typedef struct racer {
  trilha *handle;
  pthread_barrier_t *start;
  trilha_status status;
  trilha_content content;
  int64_t sequence;
} racer;

static void *race(void *user) {
  racer *r = user;
  trilha_publication p = {.tipo = TRILHA_TEXT(TIPO),
                          .origem = TRILHA_TEXT("D-1a"),
                          .payload = TRILHA_TEXT("{\"n\":7}"),
                          .event_id = TRILHA_TEXT("0b5f6f0e-6d0a-4b52-9c0c-6f6f6f6f6f6f")};
  trilha_publish_result result;
  pthread_barrier_wait(r->start);
  r->status = trilha_publish(r->handle, &p, &result, NULL);
  r->content = result.content;
  if (r->status == TRILHA_OK) r->sequence = result.event->sequence_number;
  trilha_publish_result_done(&result);
  return NULL;
}

static void one_id_of_64_threads_and_4_handles_is_new_exactly_once(void **state) {
  const trilha_fixture *f = *state;
  trilha_fixture_register(f->handle, TIPO, "1.0.0", trilha_test_schema);
  trilha *handles[HANDLES];
  for (int i = 0; i < HANDLES; i++) handles[i] = open_fast(f);
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, THREADS);
  pthread_t threads[THREADS];
  racer racers[THREADS] = {0};
  for (int i = 0; i < THREADS; i++) {
    racers[i] = (racer){.handle = handles[i % HANDLES], .start = &start};
    assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
  }
  int first = 0;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(racers[i].status, TRILHA_OK);
    assert_int_equal(racers[i].sequence, racers[0].sequence);
    assert_true(racers[i].content == TRILHA_CONTENT_NEW || racers[i].content == TRILHA_CONTENT_SAME);
    first += racers[i].content == TRILHA_CONTENT_NEW;
  }
  assert_int_equal(first, 1);
  assert_int_equal(trilha_fixture_count(f, "SELECT count(*) FROM {log}"), 1);
  pthread_barrier_destroy(&start);
  for (int i = 0; i < HANDLES; i++) trilha_close(handles[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(publishing_and_consuming_leave_memory_and_descriptors_flat),
      TEST(thousands_of_types_are_registered_listed_and_published),
      TEST(a_payload_full_of_names_is_taken_at_the_limit_and_not_one_byte_over),
      TEST(one_id_of_64_threads_and_4_handles_is_new_exactly_once),
  };
  return cmocka_run_group_tests_name("volume", tests, NULL, NULL);
}
