/* transport: the suite on the transport into the event log, on both stores. What the log refuses is in
 * tests/relay/test_relay.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "conformance.h"
#include "outbox/producer.h"

static void *fixture; /* one log for all cases */

typedef struct bus {
  trilha *handle;
  int64_t begun_after; /* what stands before it is of other cases */
} bus;

static void *open_bus(const char *folder) {
  bus *b = calloc(1, sizeof *b);
  (void)folder;
  if (b == NULL) return NULL;
  b->handle = trilha_fixture_open(fixture, NULL);
  trilha_error err = {0};
  if (trilha_last_sequence(b->handle, &b->begun_after, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return b;
}

static void close_bus(void *self) {
  bus *b = self;
  trilha_close(b->handle);
  free(b);
}

static trilha_transport transport(void *self, trilha_text destination) {
  const bus *b = self;
  return (trilha_transport){
      .destination = destination, .send = trilha_send_to_bus, .user = b->handle, .guarantee = TRILHA_GUARANTEE_DURABLE};
}

/* The log takes what it is given, or refuses a type or a content; it has no moods. */
static bool set(void *self, transport_mood mood, int times) {
  (void)self;
  (void)times;
  return mood == TRANSPORT_ACCEPTS;
}

typedef struct reading {
  transport_arrival *out;
  size_t count, max;
} reading;

static trilha_status note(void *user, const trilha_event *event, trilha_error *error) {
  reading *r = user;
  (void)error;
  if (r->count == r->max) return TRILHA_OK;
  transport_arrival *a = &r->out[r->count++];
  *a = (transport_arrival){.sequence = event->aggregate_sequence};
  snprintf(a->message_id, sizeof a->message_id, "%s", event->event_id);
  snprintf(a->aggregate_key, sizeof a->aggregate_key, "%s", event->aggregate_key);
  return TRILHA_OK;
}

static size_t arrivals(void *self, transport_arrival *out, size_t max) {
  const bus *b = self;
  reading r = {.out = out, .max = max};
  trilha_error err = {0};
  const trilha_stream_options all = {.after = b->begun_after};
  if (trilha_replay_stream(b->handle, &all, note, &r, NULL, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return r.count;
}

static size_t effects(void *self) {
  transport_arrival all[TRANSPORT_ARRIVALS_MAX];
  return arrivals(self, all, TRANSPORT_ARRIVALS_MAX);
}

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const transport_subject into_the_log = {.name = "bus",
                                          .open = open_bus,
                                          .close = close_bus,
                                          .transport = transport,
                                          .set = set,
                                          .arrivals = arrivals,
                                          .effects = effects};
  if (trilha_fixture_setup(&fixture) != 0) return 1;
  const trilha_fixture *f = fixture;
  trilha_fixture_register(f->handle, "nota.emitida", "1.0.0", "{\"type\":\"object\",\"x-redacao\":\"manter\"}");
  int status = transport_conformance(&into_the_log);
  trilha_fixture_teardown(&fixture);
  return status;
}
