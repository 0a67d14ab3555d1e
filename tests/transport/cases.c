/* tests/transport/cases: what a transport must do, one case each (specification 001, rules 5 to 7). A case returns NULL
 * when it holds and a complaint when it does not; it does not use the test library, so that controls can show that each
 * complaint comes. */
#include <dirent.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

#define COMPLAIN(bench, ...) return transport_complain(bench, __VA_ARGS__)
#define NEEDS(bench, mood, times) \
  if (!transport_set(bench, mood, times)) return transport_not_possible

enum { KEYS = 4, PAYLOAD_BYTES_MAX = 1048576 };

static const char plain[] = "{\"valor\": 10.50}";

static void say_many(transport_bench *b, int keys, int each) {
  char key[8];
  for (int i = 0; i < keys * each; i++) {
    snprintf(key, sizeof key, "k%d", i % keys);
    transport_say(b, key, plain);
  }
}

/* --- what the outbox holds ------------------------------------------------------------------------------------------
 */

typedef struct stored {
  char sha256[65], key[32];
  int64_t sequence, revision;
} stored;

static trilha_status note_stored(void *user, const trilha_outbox_entry *entry) {
  stored *s = user;
  snprintf(s->sha256, sizeof s->sha256, "%.*s", (int)entry->payload_sha256.size, entry->payload_sha256.data);
  snprintf(s->key, sizeof s->key, "%.*s", (int)entry->aggregate_key.size, entry->aggregate_key.data);
  s->sequence = entry->aggregate_sequence;
  s->revision = entry->revision;
  return TRILHA_OK;
}

static stored stored_message(transport_bench *b, const char *id) {
  stored s = {.sequence = 0};
  trilha_status status = trilha_outbox_message(b->outbox, (trilha_text){id, strlen(id)}, note_stored, &s, NULL);
  (void)status; /* sequence 0: it is not there */
  return s;
}

/* --- verdicts on what arrived
 * ----------------------------------------------------------------------------------------- */

static const char *check_arrival(transport_bench *b, const transport_arrival *a) {
  stored s = stored_message(b, a->message_id);
  if (s.sequence == 0) COMPLAIN(b, "%s arrived and was never enqueued", a->message_id);
  if (strcmp(a->aggregate_key, s.key) != 0 || a->sequence != s.sequence)
    COMPLAIN(b, "%s is %s/%lld and arrived as %s/%lld", a->message_id, s.key, (long long)s.sequence, a->aggregate_key,
             (long long)a->sequence);
  if (a->payload_sha256[0] != '\0' && strcmp(a->payload_sha256, s.sha256) != 0)
    COMPLAIN(b, "the content of %s/%lld arrived changed", s.key, (long long)s.sequence);
  return NULL;
}

/* Everything that was said came, each as itself; never a later one before an earlier one of its aggregate. */
static const char *check_arrivals(transport_bench *b) {
  transport_look(b);
  for (size_t i = 0; i < b->said; i++)
    if (transport_times_arrived(b, b->ids[i]) == 0) COMPLAIN(b, "message %zu of %zu never arrived", i + 1, b->said);
  for (size_t i = 0; i < b->arrived; i++) {
    const transport_arrival *a = &b->arrivals[i];
    const char *complaint = check_arrival(b, a);
    if (complaint != NULL) return complaint;
    int64_t before = 0;
    for (size_t j = 0; j < i; j++)
      if (strcmp(b->arrivals[j].aggregate_key, a->aggregate_key) == 0) before = b->arrivals[j].sequence;
    if (a->sequence != before && a->sequence != before + 1)
      COMPLAIN(b, "%s/%lld arrived after %s/%lld", a->aggregate_key, (long long)a->sequence, a->aggregate_key,
               (long long)before);
  }
  if (b->subject->effects != NULL && b->subject->effects(b->self) != b->said)
    COMPLAIN(b, "%zu messages had %zu effects", b->said, b->subject->effects(b->self));
  return NULL;
}

static const char *drain_and_check(transport_bench *b) {
  if (!transport_drain(b)) COMPLAIN(b, "something was never delivered");
  return check_arrivals(b);
}

static bool wait_for_holding(transport_bench *b, size_t wanted) {
  int64_t end = transport_now_ms() + transport_patience(b);
  while (b->subject->holding(b->self) < wanted) {
    if (transport_now_ms() > end) return false;
    transport_sleep_ms(2);
  }
  return true;
}

/* --- the cases
 * ---------------------------------------------------------------------------------------------------------- */

static const char *every_message_arrives_as_itself(transport_bench *b) {
  say_many(b, KEYS, 5);
  return drain_and_check(b);
}

static const char *order_survives_failures(transport_bench *b) {
  NEEDS(b, TRANSPORT_FAILS, 3);
  say_many(b, KEYS, 5);
  return drain_and_check(b);
}

static const char *a_failure_is_repeated(transport_bench *b) {
  NEEDS(b, TRANSPORT_FAILS, 2);
  transport_say(b, "k0", plain);
  transport_work_once(b, (transport_worker_options){0});
  transport_lane lane = transport_lane_of(b, "k0");
  bool still_failing = lane.found; /* a quick relay may have been through with both failures */
  if (still_failing && strcmp(lane.status, "DeadLettered") == 0) COMPLAIN(b, "a failure that passes was for good");
  const char *complaint = drain_and_check(b);
  if (complaint != NULL) return complaint;
  if (!still_failing && b->arrived == 1) COMPLAIN(b, "failures were taken for successes: they were not repeated");
  return NULL;
}

static const char *a_refusal_is_for_good(transport_bench *b) {
  NEEDS(b, TRANSPORT_REFUSES, 1);
  transport_say(b, "k0", plain);
  transport_say(b, "k0", plain);
  transport_work_once(b, (transport_worker_options){0});
  transport_lane lane = transport_lane_of(b, "k0");
  if (!lane.found || lane.head != 1) COMPLAIN(b, "what was refused counts as delivered");
  if (strcmp(lane.status, "DeadLettered") != 0 || lane.attempts != 1)
    COMPLAIN(b, "what was refused for good is %s after %lld attempts", lane.status, (long long)lane.attempts);
  transport_look(b);
  if (transport_times_arrived(b, b->ids[1]) > 0) COMPLAIN(b, "a message behind a refused one was sent");
  transport_say(b, "k1", plain);
  transport_work_once(b, (transport_worker_options){0});
  if (transport_lane_of(b, "k1").found) COMPLAIN(b, "a refused message held up another aggregate");
  return NULL;
}

static const char *an_error_says_a_code_and_nothing_of_the_payload(transport_bench *b) {
  static const char secret[] = "segredo-9f1c77d0e4b2-do-cliente";
  char payload[100];
  snprintf(payload, sizeof payload, "{\"nome\":\"%s\"}", secret);
  NEEDS(b, TRANSPORT_REFUSES, 1);
  transport_say(b, "k0", payload);
  transport_work_once(b, (transport_worker_options){0});
  transport_lane lane = transport_lane_of(b, "k0");
  if (lane.error_code[0] == '\0' || lane.error_text[0] == '\0') COMPLAIN(b, "a refusal says nothing of itself");
  if (strstr(lane.error_text, secret) != NULL) COMPLAIN(b, "the payload stands in the error: %s", lane.error_text);
  return NULL;
}

static const char *a_named_time_is_heeded(transport_bench *b) {
  NEEDS(b, TRANSPORT_NAMES_A_TIME, 1);
  transport_say(b, "k0", plain);
  for (int i = 0; i < 4; i++) {
    transport_work_once(b, (transport_worker_options){0});
    transport_sleep_ms(20); /* far beyond the relay's own pause */
  }
  transport_lane lane = transport_lane_of(b, "k0");
  if (!lane.found) COMPLAIN(b, "a destination that named a time was tried again before it");
  if (strcmp(lane.status, "DeadLettered") == 0) COMPLAIN(b, "a destination that names a time is no refusal");
  if (transport_look(b) > 1) COMPLAIN(b, "it was tried %zu times", b->arrived);
  return NULL;
}

static const char *an_absent_destination_is_waited_for(transport_bench *b) {
  NEEDS(b, TRANSPORT_IS_AWAY, 1);
  say_many(b, 2, 2);
  transport_work_once(b, (transport_worker_options){0});
  for (int i = 0; i < 2; i++) {
    transport_lane lane = transport_lane_of(b, i == 0 ? "k0" : "k1");
    if (!lane.found || lane.head != 1) COMPLAIN(b, "a message counts as delivered to nobody");
    if (strcmp(lane.status, "DeadLettered") == 0) COMPLAIN(b, "a destination that is away was taken for a refusal");
  }
  transport_set(b, TRANSPORT_ACCEPTS, 0);
  return drain_and_check(b);
}

static const char *lanes_are_under_way_at_once(transport_bench *b) {
  NEEDS(b, TRANSPORT_HOLDS, 0);
  size_t wanted = KEYS;
  if (b->subject->transport != NULL) {
    trilha_transport transport = b->subject->transport(b->self, (trilha_text){"destination", 11});
    if (transport.begin == NULL && transport.at_once > 0 && transport.at_once < wanted) wanted = transport.at_once;
  }
  say_many(b, KEYS, 2);
  transport_worker *worker = transport_worker_start(b, (transport_worker_options){0});
  bool together = wait_for_holding(b, wanted);
  bool too_many = b->subject->holding(b->self) > KEYS;
  transport_set(b, TRANSPORT_ACCEPTS, 0);
  transport_worker_stop(worker);
  if (!transport_worker_join(worker)) COMPLAIN(b, "the worker did not end well");
  if (!together) COMPLAIN(b, "%zu lanes were never under way at once", wanted);
  if (too_many) COMPLAIN(b, "two messages of one lane were under way at once");
  return drain_and_check(b);
}

static const char *stopping_waits_for_what_is_under_way(transport_bench *b) {
  NEEDS(b, TRANSPORT_HOLDS, 0);
  say_many(b, KEYS, 3);
  transport_worker *worker = transport_worker_start(b, (transport_worker_options){0});
  bool held = wait_for_holding(b, 1);
  transport_worker_stop(worker);
  transport_set(b, TRANSPORT_ACCEPTS, 0);
  if (!transport_worker_join(worker)) COMPLAIN(b, "the worker did not end well");
  if (!held) COMPLAIN(b, "nothing was ever under way");
  transport_look(b);
  size_t before = b->arrived;
  if (before == 0) COMPLAIN(b, "what was under way is not there");
  const char *complaint = drain_and_check(b);
  if (complaint != NULL) return complaint;
  if (b->arrived != b->said)
    COMPLAIN(b, "%zu messages came %zu times: a clean stop repeats nothing", b->said, b->arrived);
  return NULL;
}

static const char *silence_costs_the_time_of_a_send(transport_bench *b) {
  enum { TIMEOUT_MS = 1000 };
  NEEDS(b, TRANSPORT_IS_SILENT, 1);
  transport_say(b, "k0", plain);
  int64_t begun = transport_now_ms();
  transport_work_once(b, (transport_worker_options){.timeout_ms = TIMEOUT_MS, .attempts = 1});
  int64_t took = transport_now_ms() - begun;
  transport_lane lane = transport_lane_of(b, "k0");
  if (took > TIMEOUT_MS + transport_patience(b)) COMPLAIN(b, "a send of 1 s took %lld ms", (long long)took);
  if (!lane.found) COMPLAIN(b, "no answer was taken for a yes");
  if (lane.attempts != 1) COMPLAIN(b, "one silence counts as %lld attempts", (long long)lane.attempts);
  transport_set(b, TRANSPORT_ACCEPTS, 0);
  transport_say(b, "k1", plain);
  transport_work_once(b, (transport_worker_options){0});
  if (transport_lane_of(b, "k1").found) COMPLAIN(b, "after a silence nothing goes out any more");
  return NULL;
}

static const char *payloads_up_to_the_limit_arrive_whole(transport_bench *b) {
  static char largest[PAYLOAD_BYTES_MAX + 1];
  static const char *const some[] = {"{}", " {\"a\": [1.0, 1e2, -0], \"a b\": \"\\u00e9\\\\\"} ",
                                     "{\"t\": \"\xc3\xa7\xc3\xa3o \xf0\x9f\x8c\xb3 \xe2\x80\xa8\"}",
                                     "{\"n\":\t12345678901234567890.000000000000000001}"};
  memset(largest, 'x', PAYLOAD_BYTES_MAX);
  memcpy(largest, "{\"x\":\"", 6);
  memcpy(largest + PAYLOAD_BYTES_MAX - 2, "\"}", 3);
  for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) transport_say(b, "k0", some[i]);
  transport_say(b, "k1", largest);
  return drain_and_check(b);
}

static const char *a_correction_arrives_under_the_same_identity(transport_bench *b) {
  NEEDS(b, TRANSPORT_REFUSES, 1);
  transport_say(b, "k0", plain);
  transport_say(b, "k0", plain);
  transport_work_once(b, (transport_worker_options){0});
  if (strcmp(transport_lane_of(b, "k0").status, "DeadLettered") != 0) COMPLAIN(b, "a refusal is not for good");
  size_t refused = transport_look(b);
  const trilha_outbox_correction correction = {.message_id = {b->ids[0], strlen(b->ids[0])},
                                               .payload = {"{\"valor\": 11}", 13},
                                               .user = {"ana", 3},
                                               .reason = {"valor errado", 12}};
  trilha_outbox_corrected corrected = {0};
  if (trilha_outbox_correct(b->outbox, &correction, &corrected, NULL) != TRILHA_OK)
    COMPLAIN(b, "it cannot be corrected");
  trilha_outbox_corrected_done(&corrected);
  if (!transport_drain(b)) COMPLAIN(b, "what was corrected is never delivered");
  transport_look(b);
  if (b->arrived <= refused || strcmp(b->arrivals[refused].message_id, b->ids[0]) != 0)
    COMPLAIN(b, "the corrected message did not come next, under its identity");
  const transport_arrival *a = &b->arrivals[refused];
  if (a->revision != 0 && a->revision != 2) COMPLAIN(b, "it arrived as revision %lld, not 2", (long long)a->revision);
  return check_arrival(b, a);
}

/* As after a crash between the send and its confirmation: the lane stands where it stood before. */
static const char *a_lost_confirmation_brings_the_same_again(transport_bench *b) {
  transport_say(b, "k0", plain);
  if (!transport_drain(b)) COMPLAIN(b, "it was never delivered");
  transport_say(b, "k0", plain);
  if (sqlite3_exec(b->producer, "UPDATE outbox_lane SET head_sequence = 1", NULL, NULL, NULL) != SQLITE_OK)
    COMPLAIN(b, "%s", sqlite3_errmsg(b->producer));
  if (!transport_drain(b)) COMPLAIN(b, "a repeat was not accepted");
  transport_look(b);
  if (transport_times_arrived(b, b->ids[1]) != 1) COMPLAIN(b, "the message behind the repeat did not come once");
  for (size_t i = 0; i < b->arrived; i++) {
    const char *complaint = check_arrival(b, &b->arrivals[i]);
    if (complaint != NULL) return complaint;
  }
  if (b->subject->effects == NULL && transport_times_arrived(b, b->ids[0]) != 2)
    COMPLAIN(b, "the repeat came %zu times", transport_times_arrived(b, b->ids[0]));
  if (b->subject->effects != NULL && b->subject->effects(b->self) != 2)
    COMPLAIN(b, "two messages, one of them repeated, had %zu effects", b->subject->effects(b->self));
  return NULL;
}

/* --- nothing is left behind
 * ---------------------------------------------------------------------------------------------- */

static size_t entries_of(const char *folder) {
  size_t count = 0;
  DIR *directory = opendir(folder);
  while (directory != NULL && readdir(directory) != NULL) count++;
  if (directory != NULL) closedir(directory);
  return count;
}

/* What ends may take a moment to be gone from the system's tables. */
static bool falls_to(transport_bench *b, const char *folder, size_t most) {
  int64_t end = transport_now_ms() + transport_patience(b);
  while (entries_of(folder) > most) {
    if (transport_now_ms() > end) return false;
    transport_sleep_ms(5);
  }
  return true;
}

static const char *making_and_ending_it_leaves_nothing_behind(transport_bench *b) {
  enum { TIMES = 4 };
  char key[8];
  size_t files = 0, threads = 0;
  b->subject->close(b->self);
  for (int i = 0; i < TIMES; i++) { /* the first round warms up what libraries keep */
    b->self = b->subject->open(b->folder);
    if (b->self == NULL) COMPLAIN(b, "it could not be opened again");
    snprintf(key, sizeof key, "r%d", i); /* a destination that was made anew knows nothing of what came before */
    transport_say(b, key, plain);
    transport_say(b, key, plain);
    bool delivered = transport_drain(b);
    b->subject->close(b->self);
    b->self = NULL;
    if (!delivered) COMPLAIN(b, "opened again, it delivers nothing");
    if (i > 0) continue;
    files = entries_of("/proc/self/fd");
    threads = entries_of("/proc/self/task");
  }
  if (!falls_to(b, "/proc/self/fd", files))
    COMPLAIN(b, "%zu open files became %zu", files, entries_of("/proc/self/fd"));
  if (!falls_to(b, "/proc/self/task", threads))
    COMPLAIN(b, "%zu threads became %zu", threads, entries_of("/proc/self/task"));
  return NULL;
}

const transport_case_entry transport_cases[] = {
    {"every_committed_message_arrives_with_its_identity_order_and_content", every_message_arrives_as_itself},
    {"order_within_an_aggregate_survives_failures", order_survives_failures},
    {"a_failure_that_passes_is_repeated_under_the_same_identity", a_failure_is_repeated},
    {"a_refusal_is_dead_at_once_and_blocks_its_own_lane_alone", a_refusal_is_for_good},
    {"an_error_says_a_code_and_nothing_of_the_payload", an_error_says_a_code_and_nothing_of_the_payload},
    {"a_destination_that_names_a_time_is_not_tried_before", a_named_time_is_heeded},
    {"a_destination_that_is_away_is_waited_for_and_loses_nothing", an_absent_destination_is_waited_for},
    {"many_lanes_are_under_way_at_once_one_message_of_each", lanes_are_under_way_at_once},
    {"stopping_waits_for_what_is_under_way_and_repeats_nothing", stopping_waits_for_what_is_under_way},
    {"a_destination_that_never_answers_costs_the_time_of_a_send_and_one_attempt", silence_costs_the_time_of_a_send},
    {"payloads_up_to_the_limit_arrive_whole", payloads_up_to_the_limit_arrive_whole},
    {"a_correction_arrives_under_the_same_identity_with_its_revision", a_correction_arrives_under_the_same_identity},
    {"a_lost_confirmation_brings_the_same_message_again", a_lost_confirmation_brings_the_same_again},
    {"making_and_ending_it_leaves_no_descriptor_and_no_thread", making_and_ending_it_leaves_nothing_behind},
    {NULL, NULL}};
