/* bench: what it costs to hand one event, validated and stored, to three handlers of this process (specification 000,
 * section 3.3, step 8), without the store.
 *
 *   deliver
 *
 * A line of JSON: processor nanoseconds an event, the lowest of 15 rounds of about 4 ms. Each handler adds the event's
 * sequence to a sum. Every call has its context, its protection, and its counters and histogram of durations; no span
 * is exported and no diagnostic is heard, as in a handle that has no collector.
 *
 *     one_colony     three handlers of one colony: copied for the mailbox, put there, taken and delivered
 *     three_colonies one handler of each
 *     again          one colony, an event that the caller holds: a redelivery, without what its audit costs */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bus/live.h"

enum { ROUNDS = 15, ROUND_NS = 4000000, HANDLERS = 3 };

typedef struct scene {
  trilha_bus *bus;
  trilha_telemetry *telemetry;
  trilha_text colonia; /* of the first handler */
  int64_t sums[HANDLERS];
  trilha_append_item item;
  trilha_event event;
} scene;

static const char tipo[] = "demanda.recebida";
static const char payload[] =
    "{\"demanda_id\": \"a1b2c3d4-e5f6-4890-abcd-ef1234567890\", \"texto\": \"Buraco na rua das Flores, em frente ao "
    "número 120, perto da escola.\", \"canal\": \"app\"}";
/* Not sampled: the context is handed on and no span is made. */
static const char traceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

static void die(const char *why) {
  fprintf(stderr, "deliver: %s\n", why);
  exit(1);
}

static double processor_ns(void) {
  struct timespec at;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static trilha_status hear(void *user, const trilha_event *event, trilha_delivery *delivery) {
  int64_t *sum = user;
  (void)delivery;
  *sum += event->sequence_number;
  return TRILHA_OK;
}

/* --- the bus over no store: nothing of a delivery that succeeds asks it ---------------------------------------------
 */

static const trilha_store_operations no_operations;
static trilha_store no_store = {&no_operations, NULL};
static const trilha_diagnostics silent;

static void subscribe(scene *s, const char *const colonies[HANDLERS]) {
  trilha_error err = {0};
  for (size_t i = 0; i < HANDLERS; i++) {
    const trilha_subscription subscription = {
        .tipo = trilha_text_of(tipo), .colonia = trilha_text_of(colonies[i]), .handler = hear, .user = &s->sums[i]};
    if (trilha_bus_subscribe(s->bus, &subscription, NULL, &err) != TRILHA_OK) die(err.text);
  }
  s->colonia = trilha_text_of(colonies[0]);
}

static void make_event(scene *s) {
  const trilha_event_row row = {.sequence_number = 1,
                                .event_id = {1, 2, 3, [6] = 0x40, [8] = 0x80},
                                .tipo = trilha_text_of(tipo),
                                .versao_schema = TRILHA_TEXT("1.0.0"),
                                .timestamp_us = INT64_C(1781519400000000),
                                .origem = TRILHA_TEXT("D-1a"),
                                .has_correlacao_id = true,
                                .correlacao_id = {1, 2, 3, [6] = 0x40, [8] = 0x80},
                                .payload = trilha_text_of(payload),
                                .criado_em_us = INT64_C(1781519400010000),
                                .traceparent = trilha_text_of(traceparent)};
  s->item = (trilha_append_item){.row = row, .got = row, .stored = true};
}

static trilha_eventlog *open_scene(scene *s, const char *const colonies[HANDLERS]) {
  trilha_eventlog *log = NULL;
  trilha_error err = {0};
  *s = (scene){0};
  if (trilha_eventlog_new(&no_store, 0, 1000, &silent, &log, &err) != TRILHA_OK ||
      trilha_telemetry_new(0, &s->telemetry, &err) != TRILHA_OK ||
      trilha_bus_new(log, NULL, NULL, NULL, s->telemetry, &silent, &s->bus, &err) != TRILHA_OK)
    die(err.text);
  subscribe(s, colonies);
  make_event(s);
  return log;
}

static void close_scene(scene *s, trilha_eventlog *log) {
  trilha_bus_free(s->bus);
  trilha_telemetry_free(s->telemetry);
  trilha_eventlog_free(log);
}

/* --- passes
 * -----------------------------------------------------------------------------------------------------------
 */

/* As the leader of a commit puts it and the publishing thread takes it. */
static void deliver_live(scene *s) {
  const trilha_publication publication = {.payload = trilha_text_of(payload)};
  trilha_ticket ticket = {0};
  trilha_live_owner owner = {.ticket = &ticket, .publication = &publication};
  trilha_append_item *const items[] = {&s->item};
  s->item.owner = &owner;
  trilha_live_committed(s->bus->live, items, 1);
  trilha_live_drain(s->bus->live, &ticket);
}

static void deliver_again(scene *s) {
  TRILHA_BUFFER_SCOPED name;
  trilha_buffer_init(&name, 0);
  trilha_outcome outcome = {0};
  trilha_error err = {0};
  if (trilha_bus_deliver_now(s->bus, s->colonia, &s->event, 1, &outcome, &name, &err) != TRILHA_OK) die(err.text);
  trilha_outcome_done(&outcome);
}

static double timed(scene *s, void (*pass)(scene *s), long times) {
  double begin = processor_ns();
  for (long i = 0; i < times; i++) pass(s);
  return (processor_ns() - begin) / (double)times;
}

static double lowest(scene *s, void (*pass)(scene *s)) {
  enum { WARM = 2000 };
  double found = timed(s, pass, WARM);
  const long times = 1 + (long)(ROUND_NS / timed(s, pass, WARM));
  for (int i = 0; i < ROUNDS; i++) {
    double round = timed(s, pass, times);
    if (round < found) found = round;
  }
  const int64_t calls = s->sums[0];
  if (calls < (int64_t)times * ROUNDS || s->sums[1] != calls || s->sums[2] != calls) die("a handler missed an event");
  return found;
}

int main(void) {
  static const char *const one[HANDLERS] = {"triagem", "triagem", "triagem"};
  static const char *const three[HANDLERS] = {"triagem", "painel", "arquivo"};
  trilha_arena arena = {0};
  trilha_error err = {0};
  scene s;
  trilha_eventlog *log = open_scene(&s, one);
  const double one_ns = lowest(&s, deliver_live);
  if (trilha_event_from_row(&arena, &s.item.got, TRILHA_PAYLOAD_COMPLETO, &s.event, &err) != TRILHA_OK) die(err.text);
  const double again_ns = lowest(&s, deliver_again);
  trilha_arena_done(&arena);
  close_scene(&s, log);
  log = open_scene(&s, three);
  const double three_ns = lowest(&s, deliver_live);
  close_scene(&s, log);
  printf("{\"one_colony\": %.1f, \"three_colonies\": %.1f, \"again\": %.1f}\n", one_ns, three_ns, again_ns);
  return 0;
}
