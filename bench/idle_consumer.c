/* bench: what a durable consumer that has nothing to do costs, and how soon it hears of an event.
 *
 *   idle_consumer [SECONDS] [STORE_URL]
 *
 * The store (default: an SQLite file in a scratch folder) is migrated and gets a log of its own type. Printed:
 * processor time of the process per second while idle, and the delay from publish's return in another handle to the
 * handler's call, least, median and most. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "trilha/delivery.h"

enum { EVENTS = 100, GAP_MS = 20 };

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"x-redacao\":\"manter\"}}}";

typedef struct heard {
  int64_t at_ns[EVENTS];
  volatile int count;
} heard;

static trilha_status hear(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)event;
  (void)delivery;
  heard *h = user;
  if (h->count < EVENTS) {
    h->at_ns[h->count] = trilha_clock_monotonic_ns();
    h->count++;
  }
  return TRILHA_OK;
}

static void die(const char *what, const trilha_error *err) {
  fprintf(stderr, "idle_consumer: %s: %s %s\n", what, err->code, err->text);
  exit(1);
}

static trilha *open_store(const char *url) {
  trilha_options options = {.store_url = url, .create = true};
  trilha *handle = NULL;
  trilha_error err = {0};
  if (trilha_open(&options, &handle, &err) != TRILHA_OK) die("open", &err);
  return handle;
}

static void *run(void *consumer) {
  trilha_error err = {0};
  if (trilha_consumer_run(consumer, &err) != TRILHA_OK) die("consume", &err);
  return NULL;
}

static double processor_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void measure_delay(trilha *publisher, heard *h) {
  int64_t delays[EVENTS];
  for (int i = 0; i < EVENTS; i++) {
    trilha_publication p = {.tipo = trilha_text_of("bench.idle"),
                            .origem = trilha_text_of("bench"),
                            .payload = trilha_text_of("{\"n\":1}")};
    trilha_publish_result r;
    trilha_error err = {0};
    if (trilha_publish(publisher, &p, &r, &err) != TRILHA_OK) die("publish", &err);
    int64_t returned = trilha_clock_monotonic_ns();
    trilha_publish_result_done(&r);
    for (trilha_deadline end = trilha_deadline_in_ms(10000); h->count <= i && !trilha_deadline_passed(end);)
      trilha_clock_sleep_ms(1);
    delays[i] = h->count > i && h->at_ns[i] > returned ? h->at_ns[i] - returned : 0;
    trilha_clock_sleep_ms(GAP_MS);
  }
  qsort(delays, EVENTS, sizeof delays[0], ascending);
  printf("delay of %d single events: least %.2f ms, median %.2f ms, most %.2f ms\n", EVENTS, (double)delays[0] / 1e6,
         (double)delays[EVENTS / 2] / 1e6, (double)delays[EVENTS - 1] / 1e6);
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 5;
  char folder[] = "/tmp/trilha-bench-XXXXXX", url[512], command[64];
  if (argc > 2)
    snprintf(url, sizeof url, "%s", argv[2]);
  else if (mkdtemp(folder) != NULL)
    snprintf(url, sizeof url, "sqlite:%s/log.db", folder);
  trilha *handle = open_store(url), *publisher = open_store(url);
  trilha_error err = {0};
  trilha_type_version version = {
      .tipo = trilha_text_of("bench.idle"), .versao = trilha_text_of("1.0.0"), .schema = trilha_text_of(schema)};
  if (trilha_registry_apply(handle, &version, 1, false, trilha_text_of("bench"), NULL, &err) != TRILHA_OK)
    die("register", &err);
  static heard h;
  const trilha_text types[] = {version.tipo};
  trilha_consumer_options options = {
      .colonia = trilha_text_of("bench"), .types = types, .type_count = 1, .handler = hear, .user = &h};
  trilha_consumer *consumer = NULL;
  pthread_t thread;
  if (trilha_consumer_new(handle, &options, &consumer, &err) != TRILHA_OK) die("consumer", &err);
  if (pthread_create(&thread, NULL, run, consumer) != 0) return 1;
  trilha_clock_sleep_ms(500);
  double before = processor_seconds();
  trilha_clock_sleep_ms(seconds * 1000);
  printf("idle for %d s: %.2f ms of processor time a second\n", seconds,
         (processor_seconds() - before) * 1e3 / seconds);
  measure_delay(publisher, &h);
  trilha_consumer_stop(consumer);
  pthread_join(thread, NULL);
  trilha_consumer_free(consumer);
  trilha_close(publisher);
  trilha_close(handle);
  if (argc > 2) return 0;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) == 0 ? 0 : 1;
}
