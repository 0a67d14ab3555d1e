/* outbox: what operators do and what destinations say: corrections, receipts, many at once (specification 001, rules 7
 * and 8; rulings R24, R31, R32; requirements O12, O16, O19). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "outbox/producer.h"
#include "support/expect.h"
#include "trilha/relay.h"

#define ANA .user = TRILHA_TEXT("ana"), .reason = TRILHA_TEXT("cliente errado")

/* A destination in this process that refuses while `code` is set, and keeps what it accepted last. */
typedef struct place {
  const char *code;
  char payload[256], id[40];
  int64_t sequence;
  int accepted;
} place;

static trilha_status receive(void *user, const trilha_envelope *e, trilha_error *error) {
  place *p = user;
  if (p->code != NULL) {
    snprintf(error->code, sizeof error->code, "%s", p->code);
    return error->status = TRILHA_INVALID;
  }
  p->accepted++;
  p->sequence = e->aggregate_sequence;
  snprintf(p->payload, sizeof p->payload, "%.*s", (int)e->payload.size, e->payload.data);
  snprintf(p->id, sizeof p->id, "%.*s", (int)e->message_id.size, e->message_id.data);
  return TRILHA_OK;
}

static void drain(const trilha_fixture *f, const char *destination, place *where) {
  trilha_producer_deliver(f, destination, receive, where);
}

/* A producer whose messages go to `everything`, and the operators' side. */
typedef struct scene {
  const trilha_fixture *f;
  trilha_producer p;
  trilha_outbox *outbox;
} scene;

static scene open_scene(void **state) {
  return (scene){.f = *state, .p = trilha_producer_open(*state, true), .outbox = trilha_producer_outbox(*state)};
}

static void close_scene(scene *s) {
  trilha_outbox_close(s->outbox);
  trilha_producer_close(&s->p);
}

/* A message that `everything` has refused. */
static trilha_enqueued say_dead(scene *s, const char *key, const char *code) {
  trilha_enqueued said = trilha_producer_say(&s->p, "acme", key);
  place refusing = {.code = code};
  drain(s->f, "everything", &refusing);
  return said;
}

static int64_t count(const scene *s, const char *sql) {
  return trilha_producer_count(&s->p, sql);
}

static trilha_outbox_corrected correct(scene *s, const char *id, const char *payload) {
  const trilha_outbox_correction correction = {
      .message_id = trilha_text_of(id), .payload = trilha_text_of(payload), ANA};
  trilha_outbox_corrected corrected = {0};
  CHECKED(trilha_outbox_correct(s->outbox, &correction, &corrected, error));
  return corrected;
}

/* What is asked of one destination's row. */
typedef struct wanted {
  const char *destination;
  bool found;
  int64_t revision, dispatched_revision, bytes;
  char status[24], dispatched_at[40], received_at[40], applied_at[40], said[24];
} wanted;

static void keep(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

static trilha_status keep_entry(void *user, const trilha_outbox_entry *e) {
  wanted *w = user;
  if (!trilha_text_is(e->destination, w->destination)) return TRILHA_OK;
  w->found = true;
  w->revision = e->revision;
  w->dispatched_revision = e->dispatched_revision;
  w->bytes = e->payload_bytes;
  keep(w->status, sizeof w->status, e->status);
  keep(w->dispatched_at, sizeof w->dispatched_at, e->dispatched_at);
  keep(w->received_at, sizeof w->received_at, e->received_at);
  keep(w->applied_at, sizeof w->applied_at, e->applied_at);
  keep(w->said, sizeof w->said, e->said);
  return TRILHA_OK;
}

static wanted look(const scene *s, const char *id, const char *destination) {
  wanted w = {.destination = destination};
  CHECKED(trilha_outbox_message(s->outbox, trilha_text_of(id), keep_entry, &w, error));
  assert_true(w.found);
  return w;
}

/* --- corrections ------------------------------------------------------------------------------------------------- */

static void a_correction_keeps_the_id_and_the_place_and_is_what_is_sent(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = say_dead(&s, "1", "WRONG_CUSTOMER");
  trilha_producer_say(&s.p, "acme", "1");
  trilha_outbox_corrected corrected = correct(&s, said.message_id, "{\"valor\": 11}");
  assert_int_equal(corrected.revision, 2);
  assert_int_equal(corrected.revived, 1);
  assert_null(corrected.accepted);
  trilha_outbox_corrected_done(&corrected);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_message"), 2); /* none was made */
  place where = {0};
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &where, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  const trilha_relay_options options = {.outbox = trilha_producer_options(s.f),
                                        .transports = &transport,
                                        .transport_count = 1,
                                        .lanes = 1,
                                        .run = 1,
                                        .scan_ms = 20,
                                        .once = true};
  trilha_relay *relay = NULL;
  CHECKED(trilha_relay_new(&options, &relay, error));
  CHECKED(trilha_relay_run(relay, error));
  trilha_relay_free(relay);
  assert_int_equal(where.accepted, 2);
  assert_int_equal(where.sequence, 2); /* the second went behind the first, with the content it was given */
  assert_string_equal(where.payload, "{\"valor\": 10.50}");
  wanted w = look(&s, said.message_id, "everything");
  assert_string_equal(w.status, "Dispatched");
  assert_int_equal(w.revision, 2);
  assert_int_equal(w.dispatched_revision, 2);
  assert_int_equal(w.bytes, strlen("{\"valor\": 11}"));
  close_scene(&s);
}

static void the_last_revision_reaches_the_destination_under_the_first_id(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = say_dead(&s, "1", "WRONG_CUSTOMER");
  for (int i = 0; i < 2; i++) {
    trilha_outbox_corrected corrected =
        correct(&s, said.message_id, i == 0 ? "{\"valor\": 11}" : "{\"valor\": 12, \"nota\": null}");
    assert_int_equal(corrected.revision, i + 2);
    trilha_outbox_corrected_done(&corrected);
  }
  place where = {0};
  drain(s.f, "everything", &where);
  assert_int_equal(where.accepted, 1);
  assert_string_equal(where.id, said.message_id);
  assert_string_equal(where.payload, "{\"valor\": 12, \"nota\": null}");
  close_scene(&s);
}

typedef struct revisions {
  int count;
  char diff[512], user[32], reason[64];
  bool first_is_bare;
} revisions;

static trilha_status keep_revision(void *user, const trilha_outbox_revision *r) {
  revisions *all = user;
  assert_int_equal(r->revision, ++all->count);
  assert_true(r->payload_bytes > 0 && r->payload_sha256.size == 64 && r->at.size > 0);
  if (all->count == 1) all->first_is_bare = r->user.data == NULL && r->reason.data == NULL && r->diff.data == NULL;
  keep(all->diff, sizeof all->diff, r->diff);
  keep(all->user, sizeof all->user, r->user);
  keep(all->reason, sizeof all->reason, r->reason);
  return TRILHA_OK;
}

static void every_revision_is_kept_with_who_why_and_a_diff_that_holds_no_value(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = say_dead(&s, "1", "WRONG_CUSTOMER");
  trilha_outbox_corrected corrected =
      correct(&s, said.message_id, "{\"valor\": 11, \"cliente\": {\"nome\": \"segredo\"}}");
  trilha_outbox_corrected_done(&corrected);
  corrected = correct(&s, said.message_id, "{\"valor\": 11, \"cliente\": {\"nome\": \"outro segredo\"}}");
  assert_string_equal(corrected.diff, "[{\"op\":\"replace\",\"path\":\"/cliente/nome\"}]");
  trilha_outbox_corrected_done(&corrected);
  revisions all = {0};
  CHECKED(trilha_outbox_revisions(s.outbox, trilha_text_of(said.message_id), keep_revision, &all, error));
  assert_int_equal(all.count, 3);
  assert_true(all.first_is_bare);
  assert_string_equal(all.diff, "[{\"op\":\"replace\",\"path\":\"/cliente/nome\"}]");
  assert_string_equal(all.user, "ana");
  assert_string_equal(all.reason, "cliente errado");
  assert_int_equal(count(&s,
                         "SELECT count(*) FROM {p}outbox_operation WHERE action = 'trilha.outbox-message.corrected' "
                         "AND user_name = 'ana' AND destination IS NULL"),
                   2);
  char message[512];
  assert_false(trilha_producer_try(&s.p, "UPDATE {p}outbox_revision SET payload = '{}'", message, sizeof message));
  assert_false(trilha_producer_try(&s.p, "DELETE FROM {p}outbox_revision", message, sizeof message));
  close_scene(&s);
}

static void a_correction_is_refused_while_a_worker_has_the_message_under_its_lease(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = trilha_producer_say(&s.p, "acme", "1");
  trilha_producer_run(&s.p, s.p.pg != NULL ? "UPDATE {p}outbox_lane SET state = 'L', due_at = now() + interval '1 hour'"
                                           : "UPDATE {p}outbox_lane SET state = 'L', due_us = due_us + 3600000000");
  const trilha_outbox_correction correction = {
      .message_id = trilha_text_of(said.message_id), .payload = TRILHA_TEXT("{\"valor\": 11}"), ANA};
  trilha_outbox_corrected corrected = {0};
  REFUSED(trilha_outbox_correct(s.outbox, &correction, &corrected, error), "MESSAGE_IN_FLIGHT");
  trilha_producer_run(&s.p, s.p.pg != NULL ? "UPDATE {p}outbox_lane SET due_at = now() - interval '1 hour'"
                                           : "UPDATE {p}outbox_lane SET due_us = due_us - 7200000000");
  CHECKED(trilha_outbox_correct(s.outbox, &correction, &corrected, error)); /* the lease is over */
  trilha_outbox_corrected_done(&corrected);
  close_scene(&s);
}

static void a_correction_is_judged_by_the_rules_of_enqueue_and_leaves_no_trace_when_refused(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = say_dead(&s, "1", "WRONG_CUSTOMER");
  size_t size = 1048577 + 8;
  char *large = malloc(size);
  assert_non_null(large);
  memset(large, ' ', size);
  memcpy(large, "{\"a\":1", 6);
  large[size - 1] = '}';
  const trilha_text bad[] = {TRILHA_TEXT("[1]"), TRILHA_TEXT("{"), TRILHA_TEXT(""), {large, size}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const trilha_outbox_correction correction = {.message_id = trilha_text_of(said.message_id), .payload = bad[i], ANA};
    trilha_outbox_corrected corrected = {0};
    REFUSED(trilha_outbox_correct(s.outbox, &correction, &corrected, error), "MESSAGE_REFUSED");
  }
  free(large);
  trilha_outbox_correction correction = {
      .message_id = trilha_text_of(said.message_id), .payload = TRILHA_TEXT("{\"valor\": 10.50}"), ANA};
  trilha_outbox_corrected corrected = {0};
  REFUSED(trilha_outbox_correct(s.outbox, &correction, &corrected, error), "CONTENT_SAME");
  correction.reason = (trilha_text){0};
  REFUSED(trilha_outbox_correct(s.outbox, &correction, &corrected, error), "REASON_MISSING");
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_revision"), 0);
  assert_string_equal(look(&s, said.message_id, "everything").status, "DeadLettered");
  close_scene(&s);
}

static void of_two_corrections_of_one_revision_the_later_is_refused(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = say_dead(&s, "1", "WRONG_CUSTOMER");
  trilha_outbox_corrected corrected = correct(&s, said.message_id, "{\"valor\": 11}");
  trilha_outbox_corrected_done(&corrected);
  const trilha_outbox_correction late = {
      .message_id = trilha_text_of(said.message_id), .payload = TRILHA_TEXT("{\"valor\": 12}"), .revision = 1, ANA};
  REFUSED(trilha_outbox_correct(s.outbox, &late, &corrected, error), "REVISION_CHANGED");
  assert_int_equal(look(&s, said.message_id, "everything").revision, 2);
  close_scene(&s);
}

static void a_destination_that_acknowledged_an_earlier_revision_is_told_as_a_conflict(void **state) {
  scene s = open_scene(state);
  CHECKED(trilha_outbox_route_add(s.outbox, TRILHA_TEXT("*"), TRILHA_TEXT("erp"), error));
  trilha_enqueued said = say_dead(&s, "1", "WRONG_CUSTOMER");
  place erp = {0};
  drain(s.f, "erp", &erp);
  trilha_outbox_corrected corrected = correct(&s, said.message_id, "{\"valor\": 11}");
  assert_string_equal(corrected.accepted, "erp");
  trilha_outbox_corrected_done(&corrected);
  wanted at_erp = look(&s, said.message_id, "erp"), at_everything = look(&s, said.message_id, "everything");
  assert_string_equal(at_erp.said, "Conflict");
  assert_int_equal(at_erp.dispatched_revision, 1);
  assert_int_equal(at_erp.revision, 2);
  assert_string_equal(at_everything.said, "");
  place everything = {0};
  drain(s.f, "everything", &everything);
  drain(s.f, "erp", &erp);
  assert_string_equal(everything.payload, "{\"valor\": 11}");
  assert_int_equal(erp.accepted, 1); /* it is not sent there again */
  const trilha_outbox_correction late = {
      .message_id = trilha_text_of(said.message_id), .payload = TRILHA_TEXT("{\"valor\": 12}"), ANA};
  REFUSED(trilha_outbox_correct(s.outbox, &late, &corrected, error), "MESSAGE_FINISHED");
  close_scene(&s);
}

static void a_dry_run_of_a_correction_tells_the_diff_and_changes_nothing(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = say_dead(&s, "1", "WRONG_CUSTOMER");
  const trilha_outbox_correction correction = {
      .message_id = trilha_text_of(said.message_id), .payload = TRILHA_TEXT("{\"total\": 1}"), ANA, .dry_run = true};
  trilha_outbox_corrected corrected = {0};
  CHECKED(trilha_outbox_correct(s.outbox, &correction, &corrected, error));
  assert_string_equal(corrected.diff, "[{\"op\":\"add\",\"path\":\"/total\"},{\"op\":\"remove\",\"path\":\"/valor\"}]");
  trilha_outbox_corrected_done(&corrected);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_revision"), 0);
  assert_string_equal(look(&s, said.message_id, "everything").status, "DeadLettered");
  close_scene(&s);
}

static void content_is_revealed_for_a_reason_alone_and_the_trail_keeps_it(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = say_dead(&s, "1", "WRONG_CUSTOMER");
  trilha_outbox_corrected corrected = correct(&s, said.message_id, "{\"valor\": 11}");
  trilha_outbox_corrected_done(&corrected);
  const trilha_text id = trilha_text_of(said.message_id), ana = TRILHA_TEXT("ana"), why = TRILHA_TEXT("chamado 7");
  char *payload = NULL;
  int64_t revision = 0;
  REFUSED(trilha_outbox_reveal(s.outbox, id, 0, ana, (trilha_text){0}, &payload, &revision, error), "REASON_MISSING");
  REFUSED(trilha_outbox_reveal(s.outbox, id, 9, ana, why, &payload, &revision, error), "MESSAGE_NOT_FOUND");
  CHECKED(trilha_outbox_reveal(s.outbox, id, 1, ana, why, &payload, &revision, error));
  assert_string_equal(payload, "{\"valor\": 10.50}");
  trilha_free(payload);
  CHECKED(trilha_outbox_reveal(s.outbox, id, 0, ana, why, &payload, &revision, error));
  assert_string_equal(payload, "{\"valor\": 11}");
  assert_int_equal(revision, 2);
  trilha_free(payload);
  assert_int_equal(count(&s,
                         "SELECT count(*) FROM {p}outbox_operation WHERE reason = 'chamado 7' AND user_name = 'ana' "
                         "AND action = 'trilha.outbox-message.revealed'"),
                   2);
  close_scene(&s);
}

/* --- what destinations say --------------------------------------------------------------------------------------- */

static trilha_status record(scene *s, const char *id, const char *fact, const char *at, bool *ret_new,
                            trilha_error *error) {
  const trilha_outbox_receipt receipt = {.message_id = trilha_text_of(id),
                                         .destination = TRILHA_TEXT("everything"),
                                         .fact = trilha_text_of(fact),
                                         .stated_at = at == NULL ? (trilha_text){0} : trilha_text_of(at),
                                         .operation_id = TRILHA_TEXT("OP-7"),
                                         .source = TRILHA_TEXT("operator"),
                                         .user = TRILHA_TEXT("ana")};
  return trilha_outbox_record(s->outbox, &receipt, ret_new, error);
}

static trilha_status count_receipt(void *user, const trilha_outbox_receipt *r) {
  int *counted = user;
  assert_true(trilha_text_is(r->operation_id, "OP-7") && r->recorded_at.size > 0 && r->revision == 1);
  ++*counted;
  return TRILHA_OK;
}

static void acknowledged_received_and_applied_are_three_facts_with_their_own_times(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = trilha_producer_say(&s.p, "acme", "1");
  bool is_new = false;
  assert_string_equal(look(&s, said.message_id, "everything").dispatched_at, "");
  place where = {0};
  drain(s.f, "everything", &where);
  wanted acknowledged = look(&s, said.message_id, "everything");
  assert_string_not_equal(acknowledged.dispatched_at, "");
  assert_string_equal(acknowledged.received_at, "");
  assert_string_equal(acknowledged.applied_at, "");
  CHECKED(record(&s, said.message_id, "Received", "2026-11-30T10:00:00Z", &is_new, error));
  assert_true(is_new);
  assert_string_equal(look(&s, said.message_id, "everything").applied_at, "");
  CHECKED(record(&s, said.message_id, "Applied", "2026-11-30T07:30:00-03:00", &is_new, error));
  CHECKED(record(&s, said.message_id, "Applied", "2027-01-01T00:00:00Z", &is_new, error));
  assert_false(is_new); /* each is kept once: the first time stays */
  wanted w = look(&s, said.message_id, "everything");
  assert_string_equal(w.dispatched_at, acknowledged.dispatched_at);
  assert_non_null(strstr(w.received_at, "2026-11-30T10:00:00"));
  assert_non_null(strstr(w.applied_at, "2026-11-30T10:30:00"));
  assert_string_equal(w.said, "Applied");
  int counted = 0;
  CHECKED(trilha_outbox_receipts(s.outbox, trilha_text_of(said.message_id), count_receipt, &counted, error));
  assert_int_equal(counted, 2);
  close_scene(&s);
}

static void what_no_destination_can_state_is_refused(void **state) {
  scene s = open_scene(state);
  trilha_enqueued said = trilha_producer_say(&s.p, "acme", "1");
  REFUSED(record(&s, said.message_id, "Done", NULL, NULL, error), "FACT_UNKNOWN");
  REFUSED(record(&s, said.message_id, "Applied", "yesterday", NULL, error), "TIMESTAMP_INVALID");
  REFUSED(record(&s, "01a22b42-62b6-70d6-925b-e4ab243a1dc6", "Applied", NULL, NULL, error), "MESSAGE_NOT_FOUND");
  trilha_outbox_receipt receipt = {.message_id = trilha_text_of(said.message_id),
                                   .destination = TRILHA_TEXT("nobody"),
                                   .fact = TRILHA_TEXT("Applied"),
                                   .source = TRILHA_TEXT("operator"),
                                   .user = TRILHA_TEXT("ana")};
  REFUSED(trilha_outbox_record(s.outbox, &receipt, NULL, error), "DESTINATION_UNKNOWN");
  receipt.destination = TRILHA_TEXT("everything");
  receipt.revision = 2;
  REFUSED(trilha_outbox_record(s.outbox, &receipt, NULL, error), "MESSAGE_NOT_FOUND");
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_receipt"), 0);
  close_scene(&s);
}

static void a_discard_rests_on_what_the_destination_said_since_the_failure_or_on_an_override(void **state) {
  scene s = open_scene(state);
  trilha_enqueued first = trilha_producer_say(&s.p, "acme", "1");
  CHECKED(record(&s, first.message_id, "Received", NULL, NULL, error)); /* before it failed: says nothing about it */
  place refusing = {.code = "GONE"};
  drain(s.f, "everything", &refusing);
  trilha_enqueued second = say_dead(&s, "2", "GONE");
  trilha_outbox_operation operation = {
      .message_id = trilha_text_of(first.message_id), .destination = TRILHA_TEXT("everything"), ANA};
  REFUSED(trilha_outbox_discard(s.outbox, &operation, error), "RECONCILIATION_MISSING");
  CHECKED(record(&s, first.message_id, "Unknown", NULL, NULL, error));
  CHECKED(trilha_outbox_discard(s.outbox, &operation, error));
  assert_string_equal(look(&s, first.message_id, "everything").status, "Discarded");
  operation.message_id = trilha_text_of(second.message_id);
  operation.override_reconciliation = true;
  CHECKED(trilha_outbox_discard(s.outbox, &operation, error));
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_operation WHERE reconciliation = 'Unknown'"), 1);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_operation WHERE reconciliation LIKE '%(override)'"), 1);
  close_scene(&s);
}

/* --- many at once ------------------------------------------------------------------------------------------------ */

static trilha_status count_lane(void *user, const trilha_outbox_lane *lane) {
  assert_true(trilha_text_is(lane->status, "DeadLettered") && lane->failed_at.size > 0);
  ++*(int *)user;
  return TRILHA_OK;
}

static void a_retry_of_many_takes_those_of_one_code_and_leaves_one_row_each(void **state) {
  scene s = open_scene(state);
  for (int i = 0; i < 4; i++) {
    char key[8];
    snprintf(key, sizeof key, "%d", i);
    say_dead(&s, key, i < 3 ? "AWAY" : "WRONG_CUSTOMER");
  }
  const trilha_outbox_operation operation = {ANA};
  trilha_outbox_lanes_filter selection = {.destination = TRILHA_TEXT("everything"), .error_code = TRILHA_TEXT("AWAY")};
  int told = 0;
  trilha_outbox_tally changed;
  CHECKED(trilha_outbox_retry_all(s.outbox, &selection, &operation, true, count_lane, &told, &changed, error));
  assert_true(told == 3 && changed.selected == 3 && changed.done == 3 && changed.untried == 0);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_operation"), 0);
  selection.failed_before = TRILHA_TEXT("2020-01-01T00:00:00Z");
  CHECKED(trilha_outbox_retry_all(s.outbox, &selection, &operation, false, NULL, NULL, &changed, error));
  assert_true(changed.selected == 0 && changed.done == 0);
  selection.failed_before = (trilha_text){0};
  CHECKED(trilha_outbox_retry_all(s.outbox, &selection, &operation, false, NULL, NULL, &changed, error));
  assert_int_equal(changed.done, 3);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_operation WHERE action = 'trilha.outbox-message.retried'"),
                   3);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_lane WHERE state = 'X'"), 1);
  selection.destination = (trilha_text){0};
  REFUSED(trilha_outbox_retry_all(s.outbox, &selection, &operation, false, NULL, NULL, &changed, error),
          "DESTINATION_INVALID");
  close_scene(&s);
}

static void a_discard_of_many_keeps_to_its_limit_and_needs_its_reconciliation(void **state) {
  scene s = open_scene(state);
  say_dead(&s, "1", "GONE");
  say_dead(&s, "2", "GONE");
  trilha_outbox_operation operation = {ANA};
  const trilha_outbox_lanes_filter selection = {.destination = TRILHA_TEXT("everything"), .limit = 1};
  trilha_outbox_tally changed;
  REFUSED(trilha_outbox_discard_all(s.outbox, &selection, &operation, false, NULL, NULL, &changed, error),
          "RECONCILIATION_MISSING");
  assert_true(changed.selected == 1 && changed.done == 0 && changed.failed == 1);
  operation.reconciliation = TRILHA_TEXT("o destino foi desligado");
  for (int i = 0; i < 2; i++) { /* the limit is kept */
    CHECKED(trilha_outbox_discard_all(s.outbox, &selection, &operation, false, NULL, NULL, &changed, error));
    assert_int_equal(changed.done, 1);
  }
  CHECKED(trilha_outbox_discard_all(s.outbox, &selection, &operation, false, NULL, NULL, &changed, error));
  assert_int_equal(changed.selected, 0);
  close_scene(&s);
}

typedef struct heads {
  char ids[4][40];
  size_t count;
} heads;

static trilha_status keep_head(void *user, const trilha_outbox_lane *lane) {
  heads *h = user;
  if (h->count < 4)
    snprintf(h->ids[h->count++], sizeof h->ids[0], "%.*s", (int)lane->message_id.size, lane->message_id.data);
  return TRILHA_OK;
}

static void one_that_is_refused_keeps_none_of_the_others_from_being_discarded_and_is_named(void **state) {
  scene s = open_scene(state);
  heads dead = {.count = 0};
  for (int i = 0; i < 4; i++) {
    char key[8];
    snprintf(key, sizeof key, "%d", i);
    say_dead(&s, key, "GONE");
  }
  const trilha_outbox_operation operation = {ANA};
  const trilha_outbox_lanes_filter selection = {.destination = TRILHA_TEXT("everything")};
  trilha_outbox_tally tally;
  CHECKED(trilha_outbox_discard_all(s.outbox, &selection, &operation, true, keep_head, &dead, &tally, error));
  assert_int_equal(dead.count, 4);
  for (size_t i = 0; i < 4; i++) {
    if (i == 1) continue; /* of this one nothing is known */
    const trilha_outbox_receipt refused = {.message_id = trilha_text_of(dead.ids[i]),
                                           .destination = TRILHA_TEXT("everything"),
                                           .fact = TRILHA_TEXT("Refused"),
                                           .source = TRILHA_TEXT("operator"),
                                           .user = TRILHA_TEXT("ana")};
    CHECKED(trilha_outbox_record(s.outbox, &refused, NULL, error));
  }
  trilha_error err = {0};
  assert_int_equal(trilha_outbox_discard_all(s.outbox, &selection, &operation, false, NULL, NULL, &tally, &err),
                   TRILHA_CONFLICT);
  assert_string_equal(err.code, "RECONCILIATION_MISSING");
  assert_non_null(strstr(err.text, dead.ids[1]));
  assert_true(tally.selected == 4 && tally.done == 3 && tally.failed == 1 && tally.passed == 0 && tally.untried == 0);
  assert_string_equal(tally.first_failed, dead.ids[1]);
  assert_int_equal(
      count(&s, "SELECT count(*) FROM {p}outbox_operation WHERE action = 'trilha.outbox-message.discarded'"),
      3); /* the trail tells of what was done, and of nothing else */
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_lane WHERE state = 'X'"), 1);
  close_scene(&s);
}

static void a_database_that_fails_in_the_middle_leaves_a_count_of_what_was_not_tried(void **state) {
  scene s = open_scene(state);
  heads dead = {.count = 0};
  say_dead(&s, "1", "AWAY");
  say_dead(&s, "2", "AWAY");
  say_dead(&s, "3", "AWAY");
  trilha_producer_run(&s.p, "ALTER TABLE {p}outbox_operation RENAME TO aside");
  const trilha_outbox_operation operation = {ANA};
  const trilha_outbox_lanes_filter selection = {.destination = TRILHA_TEXT("everything")};
  trilha_outbox_tally tally;
  trilha_error err = {0};
  assert_int_not_equal(trilha_outbox_retry_all(s.outbox, &selection, &operation, false, keep_head, &dead, &tally, &err),
                       TRILHA_OK);
  assert_true(tally.selected == 3 && tally.done == 0 && tally.failed == 1 && tally.untried == 2);
  assert_string_equal(tally.first_failed, dead.ids[0]);
  assert_int_equal(count(&s, "SELECT count(*) FROM {p}outbox_lane WHERE state = 'X'"), 3); /* none without its row */
  close_scene(&s);
}

/* --- lanes page by page ------------------------------------------------------------------------------------------ */

typedef struct page {
  int64_t places[32];
  size_t count;
} page;

static trilha_status turn(void *user, const trilha_outbox_lane *lane) {
  page *p = user;
  assert_true(p->count < sizeof p->places / sizeof p->places[0]);
  assert_true(lane->place >= 1 && (p->count == 0 || lane->place > p->places[p->count - 1]));
  p->places[p->count++] = lane->place;
  return TRILHA_OK;
}

static trilha_status keep_place(void *user, const trilha_outbox_lane *lane) {
  page *p = user;
  p->places[p->count++] = lane->place;
  return TRILHA_OK;
}

static void pages_of_lanes_by_place_meet_however_lanes_change_meanwhile(void **state) {
  enum { LANES = 7 };
  scene s = open_scene(state);
  page urgent = {.count = 0}, by_place = {.count = 0};
  char key[8];
  say_dead(&s, "dead", "AWAY");
  for (int i = 1; i < LANES; i++) {
    snprintf(key, sizeof key, "%d", i);
    trilha_producer_say(&s.p, "acme", key);
  }
  CHECKED(trilha_outbox_lanes(s.outbox, NULL, keep_place, &urgent, error));
  trilha_outbox_lanes_filter filter = {.destination = TRILHA_TEXT("everything"), .limit = 2, .by_place = true};
  for (size_t before = (size_t)-1; by_place.count != before;) {
    before = by_place.count;
    CHECKED(trilha_outbox_lanes(s.outbox, &filter, turn, &by_place, error));
    filter.after_place = by_place.count == 0 ? 0 : by_place.places[by_place.count - 1];
    if (before != 2) continue;
    place receiving = {.code = NULL}; /* all that can go, goes; what is dead stays */
    drain(s.f, "everything", &receiving);
    say_dead(&s, "last", "AWAY");
  }
  assert_int_equal(by_place.count, 2 + 2 + 1); /* two pages before the lanes went, then the new one */
  assert_true(urgent.count >= LANES && by_place.places[0] == urgent.places[0]);
  close_scene(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_correction_keeps_the_id_and_the_place_and_is_what_is_sent),
      TEST(the_last_revision_reaches_the_destination_under_the_first_id),
      TEST(every_revision_is_kept_with_who_why_and_a_diff_that_holds_no_value),
      TEST(a_correction_is_refused_while_a_worker_has_the_message_under_its_lease),
      TEST(a_correction_is_judged_by_the_rules_of_enqueue_and_leaves_no_trace_when_refused),
      TEST(of_two_corrections_of_one_revision_the_later_is_refused),
      TEST(a_destination_that_acknowledged_an_earlier_revision_is_told_as_a_conflict),
      TEST(a_dry_run_of_a_correction_tells_the_diff_and_changes_nothing),
      TEST(content_is_revealed_for_a_reason_alone_and_the_trail_keeps_it),
      TEST(acknowledged_received_and_applied_are_three_facts_with_their_own_times),
      TEST(what_no_destination_can_state_is_refused),
      TEST(a_discard_rests_on_what_the_destination_said_since_the_failure_or_on_an_override),
      TEST(a_retry_of_many_takes_those_of_one_code_and_leaves_one_row_each),
      TEST(a_discard_of_many_keeps_to_its_limit_and_needs_its_reconciliation),
      TEST(one_that_is_refused_keeps_none_of_the_others_from_being_discarded_and_is_named),
      TEST(a_database_that_fails_in_the_middle_leaves_a_count_of_what_was_not_tried),
      TEST(pages_of_lanes_by_place_meet_however_lanes_change_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
