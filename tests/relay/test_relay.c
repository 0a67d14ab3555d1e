/* relay: claim, send, settle (specification 001, rules 5 to 8; rulings R30 to R35, R41; field reports B05 to B11). */
#include "relay/destination.h"

/* --- the main job
 * -------------------------------------------------------------------------------------------------------- */

static trilha_status look_closely(void *user, const trilha_envelope *e, trilha_error *error) {
  int *looked = user;
  assert_true(trilha_text_is(e->destination, "everything"));
  assert_true(trilha_text_is(e->tenant_id, "acme") && trilha_text_is(e->aggregate_type, "nota"));
  assert_true(trilha_text_is(e->message_type, "nota.emitida") && trilha_text_is(e->version, "1.0.0"));
  assert_true(trilha_text_is(e->correlation_id, "a8767a61-82e6-4978-b826-563ee88b6727"));
  assert_true(trilha_text_is(e->payload, "{\"valor\": 10.50}") && trilha_text_is(e->origin, "faturamento"));
  assert_true(trilha_text_is(e->occurred_at, "2026-01-02T03:04:05.25Z"));
  assert_null(e->causation_id.data);
  assert_null(e->company_id.data);
  assert_true(e->aggregate_sequence == 1 && e->previous_sequence == 0 && e->attempt == 1);
  char *json = NULL;
  size_t size = 0;
  assert_int_equal(trilha_envelope_to_json(e, &json, &size, error), TRILHA_OK);
  assert_non_null(strstr(json, ",\"aggregate_sequence\":\"1\",\"previous_sequence\":\"0\","));
  assert_non_null(strstr(json, ",\"payload\":{\"valor\": 10.50}}"));
  assert_int_equal(strlen(json), size);
  trilha_free(json);
  ++*looked;
  return TRILHA_OK;
}

static void a_message_arrives_with_everything_that_was_enqueued(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_message m = trilha_producer_message("acme", "1");
  trilha_enqueued said;
  int looked = 0;
  const trilha_transport transport = {TRILHA_TEXT("everything"), look_closely, &looked,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  m.occurred_at = TRILHA_TEXT("2026-01-02T00:04:05.25-03:00");
  trilha_producer_run(&p, "BEGIN");
  CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
  assert_int_equal(drain_with(fast(*state, &transport, 1), 1).sent, 0); /* not before the commit */
  trilha_producer_run(&p, "COMMIT");
  assert_int_equal(drain_with(fast(*state, &transport, 1), 1).sent, 1);
  assert_int_equal(looked, 1);
  trilha_producer_close(&p);
}

static void messages_of_an_aggregate_leave_in_the_order_of_their_commits(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  d.count = 0;
  for (int i = 0; i < 40; i++) trilha_producer_say(&p, "acme", i % 2 == 0 ? "par" : "ímpar");
  assert_int_equal(drain(*state, &d, 1).sent, 40);
  int64_t last[2] = {0};
  for (size_t i = 0; i < d.count; i++) {
    int which = strcmp(d.items[i].key, "par") == 0;
    assert_int_equal(d.items[i].sequence, last[which] + 1);
    assert_int_equal(d.items[i].previous, last[which]);
    last[which]++;
  }
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane"), 0); /* drained lanes are gone */
  assert_status(&p, "par", 20, "Dispatched");
  trilha_producer_say(&p, "acme", "par"); /* and come back with the next message */
  assert_int_equal(drain(*state, &d, 1).sent, 1);
  assert_int_equal(d.items[40].previous, 20);
  trilha_producer_close(&p);
}

/* --- what blocks
 * ------------------------------------------------------------------------------------------------------------ */

static void a_head_in_backoff_blocks_its_lane_and_no_other(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  d = (destination){
      .lock = PTHREAD_MUTEX_INITIALIZER, .fail_key = "1", .fail_times = 1, .fail_with = TRILHA_UNAVAILABLE};
  for (int i = 0; i < 3; i++) {
    trilha_producer_say(&p, "acme", "1");
    trilha_producer_say(&p, "acme", "2");
  }
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options patient = fast(*state, &transport, 1);
  patient.backoff_ms = patient.backoff_max_ms = 3600000;
  trilha_relay_counts counts = drain_with(patient, 2);
  if (counts.sent == 3) { /* full jitter may give a pause of nearly nothing, once in some hundred thousand runs */
    assert_int_equal(times_seen(&d, "1", 0), 1);
    assert_int_equal(times_seen(&d, "2", 0), 3);
    assert_status(&p, "1", 1, "Failed");
    assert_status(&p, "1", 2, "Pending");
    assert_status(&p, "2", 3, "Dispatched");
  }
  trilha_producer_run(
      &p, p.pg != NULL ? "UPDATE {p}outbox_lane SET due_at = now()" : "UPDATE {p}outbox_lane SET due_us = 0");
  drain(*state, &d, 1);
  assert_int_equal(times_seen(&d, "1", 0), 4);
  assert_int_equal(d.items[d.count - 3].attempt, 2); /* under the same identity, counted */
  size_t first = 0; /* lanes are sent at once: the other's messages may stand before it */
  while (strcmp(d.items[first].key, "1") != 0) first++;
  assert_string_equal(d.items[d.count - 3].id, d.items[first].id);
  trilha_producer_close(&p);
}

static void a_run_stops_at_its_first_failure_and_keeps_what_was_delivered(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  d = (destination){.lock = PTHREAD_MUTEX_INITIALIZER,
                    .fail_key = "1",
                    .fail_sequence = 3,
                    .fail_times = 1,
                    .fail_with = TRILHA_TIMEOUT};
  for (int i = 0; i < 5; i++) trilha_producer_say(&p, "acme", "1");
  drain(*state, &d, 4);
  const int64_t wanted[] = {1, 2, 3, 3, 4, 5};
  assert_int_equal(d.count, 6);
  for (size_t i = 0; i < 6; i++) assert_int_equal(d.items[i].sequence, wanted[i]);
  trilha_producer_close(&p);
}

static void a_message_that_fails_too_often_is_dead_and_blocks_until_an_operator_acts(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  d = (destination){
      .lock = PTHREAD_MUTEX_INITIALIZER, .fail_key = "1", .fail_times = 100, .fail_with = TRILHA_UNAVAILABLE};
  for (int i = 0; i < 2; i++) trilha_producer_say(&p, "acme", "1");
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(*state, &transport, 1);
  options.attempts_max = 3;
  trilha_relay_counts counts = drain_with(options, 8);
  assert_true(counts.failed == 3 && counts.dead == 1 && counts.sent == 0);
  assert_status(&p, "1", 1, "DeadLettered");
  assert_status(&p, "1", 2, "Pending");
  assert_int_equal(times_seen(&d, "1", 2), 0);
  trilha_producer_close(&p);
}

static trilha_status note_lane(void *user, const trilha_outbox_lane *lane) {
  trilha_buffer *out = user;
  trilha_buffer_add_format(out, "%.*s/%.*s/%.*s #%lld attempts %lld behind %lld %.*s;", (int)lane->destination.size,
                           lane->destination.data, (int)lane->aggregate_key.size, lane->aggregate_key.data,
                           (int)lane->status.size, lane->status.data, (long long)lane->head_sequence,
                           (long long)lane->attempts, (long long)lane->behind, (int)lane->error_code.size,
                           lane->error_code.data == NULL ? "" : lane->error_code.data);
  return TRILHA_OK;
}

static void a_refused_message_is_dead_at_once_and_a_retry_sends_it_under_the_same_identity(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  static destination d = DESTINATION;
  d = (destination){.lock = PTHREAD_MUTEX_INITIALIZER, .fail_key = "1", .fail_times = 1, .fail_with = TRILHA_INVALID};
  TRILHA_BUFFER_SCOPED lanes;
  trilha_buffer_init(&lanes, 0);
  trilha_enqueued said = trilha_producer_say(&p, "acme", "1");
  trilha_producer_say(&p, "acme", "1");
  assert_int_equal(drain(*state, &d, 3).dead, 1);
  CHECKED(trilha_outbox_lanes(outbox, NULL, note_lane, &lanes, error));
  assert_string_equal(lanes.data, "everything/1/DeadLettered #1 attempts 1 behind 1 AWAY;");
  trilha_outbox_operation operation = {.message_id = trilha_text_of(said.message_id),
                                       .destination = TRILHA_TEXT("everything"),
                                       .user = TRILHA_TEXT("ana"),
                                       .reason = TRILHA_TEXT("o destino voltou")};
  CHECKED(trilha_outbox_retry(outbox, &operation, error));
  trilha_error err = {0};
  assert_int_equal(trilha_outbox_retry(outbox, &operation, &err), TRILHA_CONFLICT); /* it is not dead any more */
  assert_string_equal(err.code, "LANE_NOT_DEAD");
  assert_int_equal(drain(*state, &d, 1).sent, 2);
  assert_string_equal(d.items[0].id, d.items[1].id);
  assert_int_equal(d.items[1].attempt, 1);
  assert_int_equal(
      trilha_producer_count(&p,
                            "SELECT count(*) FROM {p}outbox_operation WHERE action = 'trilha.outbox-message.retried' "
                            "AND user_name = 'ana' AND reason = 'o destino voltou'"),
      1);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void a_discard_needs_reason_and_reconciliation_and_is_no_gap_to_an_ordered_consumer(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  static destination d = DESTINATION;
  d = (destination){.lock = PTHREAD_MUTEX_INITIALIZER,
                    .fail_key = "1",
                    .fail_sequence = 2,
                    .fail_times = 1,
                    .fail_with = TRILHA_INVALID};
  trilha_producer_say(&p, "acme", "1");
  trilha_enqueued said = trilha_producer_say(&p, "acme", "1");
  trilha_producer_say(&p, "acme", "1");
  drain(*state, &d, 1);
  trilha_outbox_operation operation = {.message_id = trilha_text_of(said.message_id),
                                       .destination = TRILHA_TEXT("everything"),
                                       .user = TRILHA_TEXT("ana")};
  assert_int_equal(trilha_outbox_discard(outbox, &operation, NULL), TRILHA_USAGE);
  operation.reason = TRILHA_TEXT("nota cancelada");
  assert_int_equal(trilha_outbox_discard(outbox, &operation, NULL), TRILHA_CONFLICT);
  operation.reconciliation = TRILHA_TEXT("o destino não a conhece");
  CHECKED(trilha_outbox_discard(outbox, &operation, error));
  assert_status(&p, "1", 2, "Discarded");
  assert_int_equal(drain(*state, &d, 1).sent, 1);
  assert_int_equal(d.items[2].sequence, 3);
  assert_int_equal(d.items[2].previous, 1);
  assert_int_equal(times_seen(&d, "1", 2), 1);
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane"), 0);
  operation.message_id = TRILHA_TEXT("01a22b42-62b6-70d6-925b-e4ab243a1dc6");
  assert_int_equal(trilha_outbox_discard(outbox, &operation, NULL), TRILHA_NOT_FOUND);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

/* --- destinations, leases, tenants
 * ------------------------------------------------------------------------------------------ */

static void each_destination_has_a_head_of_its_own_and_gets_its_types_only(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  trilha_outbox *outbox = trilha_producer_outbox(*state);
  static destination all = DESTINATION, erp = DESTINATION;
  all.count = 0;
  erp = (destination){.lock = PTHREAD_MUTEX_INITIALIZER,
                      .fail_key = "1",
                      .fail_sequence = 1,
                      .fail_times = 1,
                      .fail_with = TRILHA_INVALID};
  CHECKED(trilha_outbox_route_add(outbox, TRILHA_TEXT("nota.*"), TRILHA_TEXT("erp"), error));
  trilha_message m = trilha_producer_message("acme", "1");
  trilha_enqueued said, first = {0};
  trilha_producer_run(&p, "BEGIN");
  for (int i = 0; i < 4; i++) {
    m.message_type = i % 2 == 0 ? TRILHA_TEXT("nota.emitida") : TRILHA_TEXT("lembrete");
    CHECKED(trilha_producer_enqueue(&p, &m, &said, error));
    if (i == 0) first = said;
  }
  trilha_producer_run(&p, "COMMIT");
  const trilha_transport transports[] = {
      {TRILHA_TEXT("everything"), receive, &all, .guarantee = TRILHA_GUARANTEE_DURABLE},
      {TRILHA_TEXT("erp"), receive, &erp, .guarantee = TRILHA_GUARANTEE_DURABLE}};
  drain_with(fast(*state, transports, 2), 1);
  assert_int_equal(all.count, 4); /* the dead head of the other does not block it */
  assert_int_equal(erp.count, 1);
  const trilha_outbox_operation retry = {.message_id = trilha_text_of(first.message_id),
                                         .destination = TRILHA_TEXT("erp"),
                                         .user = TRILHA_TEXT("ana"),
                                         .reason = TRILHA_TEXT("x")};
  CHECKED(trilha_outbox_retry(outbox, &retry, error));
  drain_with(fast(*state, transports, 2), 1);
  assert_int_equal(erp.count, 3);
  assert_true(erp.items[2].sequence == 3 && erp.items[2].previous == 1); /* 2 went elsewhere: no gap */
  assert_int_equal(all.count, 4);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

static void a_worker_that_outlived_its_lease_confirms_nothing(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination slow = DESTINATION, quick = DESTINATION;
  slow = (destination){.lock = PTHREAD_MUTEX_INITIALIZER, .holds = true};
  quick.count = 0;
  for (int i = 0; i < 3; i++) trilha_producer_say(&p, "acme", "1");
  const trilha_transport to_slow = {TRILHA_TEXT("everything"), receive, &slow, .guarantee = TRILHA_GUARANTEE_DURABLE},
                         to_quick = {TRILHA_TEXT("everything"), receive, &quick, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(*state, &to_slow, 1);
  options.lease_ms = 2000; /* the transport breaks its promise of 100 ms */
  options.lanes = 1;       /* or this relay itself would take the lane again */
  options.timeout_ms = options.margin_ms = 100;
  trilha_relay *relay = NULL;
  pthread_t thread;
  CHECKED(trilha_relay_new(&options, &relay, error));
  trilha_deadline leased = trilha_deadline_in_ms(options.lease_ms); /* at least until then */
  assert_int_equal(pthread_create(&thread, NULL, run_relay, relay), 0);
  trilha_deadline begun = trilha_deadline_in_ms(PATIENCE_MS);
  while (times_seen(&slow, "1", 0) == 0 && !trilha_deadline_passed(begun)) trilha_clock_sleep_ms(5);
  char now[32];
  status_of(&p, "1", 1, now);
  int64_t sent = drain_with(fast(*state, &to_quick, 1), 1).sent;
  if (!trilha_deadline_passed(
          leased)) { /* a live lease blocks; on a machine so slow that it may be over, the model's test says so */
    assert_string_equal(now, "Dispatching");
    assert_int_equal(sent, 0);
  }
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (times_seen(&quick, "1", 0) < 3 && !trilha_deadline_passed(patience)) drain_with(fast(*state, &to_quick, 1), 1);
  assert_int_equal(times_seen(&quick, "1", 0), 3); /* recovered once the lease ran out */
  assert_int_equal(quick.items[0].attempt, 2);     /* and it counts */
  pthread_mutex_lock(&slow.lock);
  slow.holds = false;
  pthread_mutex_unlock(&slow.lock);
  pthread_join(thread, NULL);
  trilha_relay_counts counts;
  trilha_relay_counted(relay, &counts);
  assert_int_equal(counts.leases_lost, 1);
  assert_int_equal(times_seen(&slow, "1", 0), 1); /* it did not go on with what is somebody else's */
  assert_int_equal(trilha_producer_count(&p, "SELECT count(*) FROM {p}outbox_lane"), 0);
  trilha_relay_free(relay);
  trilha_producer_close(&p);
}

static void a_message_whose_workers_never_end_is_dead_after_the_same_number_of_attempts(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  d.count = 0;
  trilha_producer_say(&p, "acme", "1");
  trilha_producer_run(&p, p.pg != NULL ? "UPDATE {p}outbox_lane SET state = 'L', attempts = 9, due_at = now()"
                                       : "UPDATE {p}outbox_lane SET state = 'L', attempts = 9, due_us = 1");
  assert_int_equal(drain(*state, &d, 1).dead, 1);
  assert_int_equal(d.count, 0);
  assert_status(&p, "1", 1, "DeadLettered");
  trilha_producer_close(&p);
}

static void a_tenant_with_many_lanes_does_not_delay_another_beyond_one_claim(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  char key[16];
  d.count = 0;
  for (int i = 0; i < 200; i++) {
    snprintf(key, sizeof key, "%d", i);
    trilha_producer_say(&p, "grande", key);
  }
  trilha_producer_say(&p, "pequena", "last");
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  assert_int_equal(drain_with(fast(*state, &transport, 1), 1).sent, 201);
  size_t place = 0;
  while (strcmp(d.items[place].tenant, "pequena") != 0) place++;
  assert_true(place < 16); /* the first claim: a quota of 8 of 16 lanes */
  trilha_producer_close(&p);
}

static void every_tenant_gets_its_turn_where_there_are_more_than_a_claim_can_visit(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  char tenant[16];
  d.count = 0;
  for (int i = 0; i < 120; i++) {
    snprintf(tenant, sizeof tenant, "t%03d", i);
    trilha_producer_say(&p, tenant, "1");
  }
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(*state, &transport, 1);
  options.lanes = 7;
  assert_int_equal(drain_with(options, 1).sent, 120);
  trilha_producer_close(&p);
}

/* Pages that one claim of 8 lanes touches. */
static int64_t pages_of_one_claim(const trilha_producer *p) {
  char plan[8192];
  for (int warm = 0; warm < 2; warm++) { /* plans are made by the first */
    trilha_producer_run(p, "UPDATE {p}outbox_lane SET state = 'R', due_at = now() WHERE state = 'L'");
    trilha_producer_run(p, "VACUUM {p}outbox_lane"); /* dead versions of the step above are not what is measured */
    trilha_producer_text(p,
                         "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM {p}outbox_claim(0::smallint, 'o', '', "
                         "8, 8, 60000)",
                         plan, sizeof plan);
  }
  const char *hit = strstr(plan, "\"Shared Hit Blocks\": "), *read = strstr(plan, "\"Shared Read Blocks\": ");
  assert_true(hit != NULL && read != NULL);
  return strtoll(strchr(hit, ':') + 1, NULL, 10) + strtoll(strchr(read, ':') + 1, NULL, 10);
}

/* The least of several: neighbours that change their schemas make a session forget its catalogue now and then. */
static int64_t pages_of_a_claim(const trilha_producer *p) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < 5; i++) {
    int64_t pages = pages_of_one_claim(p);
    if (pages < least) least = pages;
  }
  return least;
}

/* On PostgreSQL alone: on SQLite the statements name their index. */
static void a_claim_costs_the_same_however_much_is_blocked_behind_a_dead_head(void **state) {
  const trilha_fixture *f = *state;
  if (!f->is_postgres) skip();
  trilha_producer p = trilha_producer_open(f, true);
  char key[8];
  for (int i = 0; i < 9; i++) {
    snprintf(key, sizeof key, "%d", i);
    trilha_producer_say(&p, "acme", key);
  }
  trilha_producer_run(&p, "UPDATE {p}outbox_lane SET state = 'X' WHERE aggregate_key = '0'");
  int64_t before = pages_of_a_claim(&p);
  trilha_producer_run(
      &p,
      "INSERT INTO {p}outbox_message SELECT aggregate_id, aggregate_sequence + n, destinations, created_at, "
      "gen_random_uuid(), tenant_id, company_id, aggregate_type, aggregate_key, message_type, version, "
      "origin, correlation_id, causation_id, traceparent, occurred_at, payload FROM {p}outbox_message, "
      "generate_series(1, 20000) n WHERE aggregate_key = '0'");
  int64_t after = pages_of_a_claim(&p);
  printf("# pages: %lld with nothing blocked, %lld with 20,000 messages blocked\n", (long long)before,
         (long long)after);
  assert_true(after <= 2 * before); /* a claim that looked at them would touch thousands */
  trilha_producer_close(&p);
}

/* --- running
 * ----------------------------------------------------------------------------------------------------------------- */

static void windows_that_do_not_fit_are_refused_with_their_numbers(void **state) {
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, NULL, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay *relay = NULL;
  trilha_error err = {0};
  trilha_relay_options options = fast(*state, &transport, 1);
  options.lease_ms = 15000; /* = 10,000 + 5,000 */
  assert_int_equal(trilha_relay_new(&options, &relay, &err), TRILHA_USAGE);
  assert_string_equal(err.code, "WINDOW_INVALID");
  assert_non_null(strstr(err.text, "more than 15000 ms"));
  options.lease_ms = 15001;
  options.backoff_max_ms = 1000;
  options.attempts_max = 7;
  options.restore_window_ms = 500;
  options.inbox_retention_ms = 7499;
  err = (trilha_error){0};
  assert_int_equal(trilha_relay_new(&options, &relay, &err), TRILHA_USAGE);
  assert_non_null(strstr(err.text, "7500 ms"));
  options.inbox_retention_ms = 7500;
  CHECKED(trilha_relay_new(&options, &relay, error));
  trilha_relay_free(relay);
  options.transport_count = 0;
  assert_int_equal(trilha_relay_new(&options, &relay, NULL), TRILHA_USAGE);
}

static void a_destination_that_is_not_routed_is_an_error_not_an_idle_relay(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  const trilha_transport transport = {TRILHA_TEXT("nobody"), receive, NULL, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(*state, &transport, 1);
  trilha_relay *relay = NULL;
  trilha_error err = {0};
  CHECKED(trilha_relay_new(&options, &relay, error));
  assert_int_equal(trilha_relay_run(relay, &err), TRILHA_NOT_FOUND);
  assert_string_equal(err.code, "DESTINATION_UNKNOWN");
  trilha_relay_free(relay);
  trilha_producer_close(&p);
}

static void several_workers_deliver_everything_once_and_in_order_while_producers_go_on(void **state) {
  enum { KEYS = 7, MESSAGES = 210 };
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  char key[8];
  d.count = 0;
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(*state, &transport, 1);
  options.workers = 4;
  options.once = false;
  options.lanes = 3;
  trilha_relay *relay = NULL;
  pthread_t thread;
  CHECKED(trilha_relay_new(&options, &relay, error));
  assert_int_equal(pthread_create(&thread, NULL, run_relay, relay), 0);
  for (int i = 0; i < MESSAGES; i++) {
    snprintf(key, sizeof key, "%d", i % KEYS);
    trilha_producer_say(&p, i % 2 == 0 ? "acme" : "outra", key);
    if (i % 10 == 0) trilha_relay_wake(relay);
  }
  trilha_relay_counts counts = {0};
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (counts.sent < MESSAGES && !trilha_deadline_passed(patience)) {
    trilha_clock_sleep_ms(5);
    trilha_relay_counted(relay, &counts);
  }
  trilha_relay_stop(relay);
  pthread_join(thread, NULL);
  trilha_relay_free(relay);
  assert_int_equal(d.count, MESSAGES);
  for (size_t i = 0; i < d.count; i++)
    for (size_t k = i + 1; k < d.count; k++)
      if (strcmp(d.items[i].key, d.items[k].key) == 0 && strcmp(d.items[i].tenant, d.items[k].tenant) == 0)
        assert_true(d.items[i].sequence < d.items[k].sequence);
  trilha_producer_close(&p);
}

static void a_wake_ends_the_sleep_long_before_the_scan(void **state) {
  trilha_producer p = trilha_producer_open(*state, true);
  static destination d = DESTINATION;
  d.count = 0;
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, &d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_relay_options options = fast(*state, &transport, 1);
  options.once = false;
  options.scan_ms = 3600000;
  trilha_relay *relay = NULL;
  pthread_t thread;
  CHECKED(trilha_relay_new(&options, &relay, error));
  assert_int_equal(pthread_create(&thread, NULL, run_relay, relay), 0);
  trilha_clock_sleep_ms(50);
  trilha_producer_say(&p, "acme", "1");
  trilha_deadline patience = trilha_deadline_in_ms(PATIENCE_MS);
  while (times_seen(&d, "1", 0) == 0 && !trilha_deadline_passed(patience)) {
    trilha_relay_wake(relay);
    trilha_clock_sleep_ms(5);
  }
  assert_int_equal(times_seen(&d, "1", 0), 1);
  trilha_relay_stop(relay);
  pthread_join(thread, NULL);
  trilha_relay_free(relay);
  trilha_producer_close(&p);
}

/* --- into the log
 * -------------------------------------------------------------------------------------------------------------- */

static const char type_schema[] =
    "{\"type\":\"object\",\"properties\":{\"valor\":{\"type\":\"number\",\"x-redacao\":\"manter\"}},\"required\":["
    "\"valor\"]}";

static void the_bus_transport_publishes_under_the_message_s_id_and_a_repeat_changes_nothing(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  trilha_fixture_register(f->handle, "nota.emitida", "1.0.0", type_schema);
  const trilha_transport transport = {TRILHA_TEXT("everything"), trilha_send_to_bus, f->handle,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_enqueued said = trilha_producer_say(&p, "acme", "1");
  assert_int_equal(drain_with(fast(f, &transport, 1), 1).sent, 1);
  trilha_producer_say(&p, "acme", "1");
  trilha_producer_run(
      &p, "UPDATE {p}outbox_lane SET head_sequence = 1"); /* as if the confirmation of the first had been lost */
  assert_int_equal(drain_with(fast(f, &transport, 1), 1).sent, 2);
  assert_int_equal(trilha_fixture_count(f, "SELECT count(*) FROM {log}"), 2);
  trilha_event *event = NULL;
  CHECKED(trilha_event_get(f->handle, trilha_text_of(said.message_id), &event, error));
  assert_string_equal(event->aggregate_key, "1");
  assert_string_equal(event->tenant_id, "acme");
  assert_int_equal(event->aggregate_sequence, 1);
  assert_string_equal(event->correlacao_id, "a8767a61-82e6-4978-b826-563ee88b6727");
  trilha_event_free(event);
  trilha_producer_close(&p);
}

static void what_the_log_refuses_is_dead_at_once_and_waits_for_an_operator(void **state) {
  const trilha_fixture *f = *state;
  trilha_producer p = trilha_producer_open(f, true);
  const trilha_transport transport = {TRILHA_TEXT("everything"), trilha_send_to_bus, f->handle,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  trilha_enqueued said = trilha_producer_say(&p, "acme", "1");
  trilha_relay_counts counts = drain_with(fast(f, &transport, 1), 1);
  assert_true(counts.failed == 1 && counts.dead == 1); /* no such type */
  trilha_fixture_register(f->handle, "nota.emitida", "1.0.0", type_schema);
  trilha_outbox *outbox = trilha_producer_outbox(f);
  const trilha_outbox_operation retry = {.message_id = trilha_text_of(said.message_id),
                                         .destination = TRILHA_TEXT("everything"),
                                         .user = TRILHA_TEXT("ana"),
                                         .reason = TRILHA_TEXT("tipo registrado")};
  CHECKED(trilha_outbox_retry(outbox, &retry, error));
  assert_int_equal(drain_with(fast(f, &transport, 1), 1).sent, 1);
  trilha_outbox_close(outbox);
  trilha_producer_close(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trilha_fixture_setup, trilha_fixture_teardown)

int main(void) {
  if (trilha_fixture_skips()) return 0;
  const struct CMUnitTest tests[] = {
      TEST(a_message_arrives_with_everything_that_was_enqueued),
      TEST(messages_of_an_aggregate_leave_in_the_order_of_their_commits),
      TEST(a_head_in_backoff_blocks_its_lane_and_no_other),
      TEST(a_run_stops_at_its_first_failure_and_keeps_what_was_delivered),
      TEST(a_message_that_fails_too_often_is_dead_and_blocks_until_an_operator_acts),
      TEST(a_refused_message_is_dead_at_once_and_a_retry_sends_it_under_the_same_identity),
      TEST(a_discard_needs_reason_and_reconciliation_and_is_no_gap_to_an_ordered_consumer),
      TEST(each_destination_has_a_head_of_its_own_and_gets_its_types_only),
      TEST(a_worker_that_outlived_its_lease_confirms_nothing),
      TEST(a_message_whose_workers_never_end_is_dead_after_the_same_number_of_attempts),
      TEST(a_tenant_with_many_lanes_does_not_delay_another_beyond_one_claim),
      TEST(every_tenant_gets_its_turn_where_there_are_more_than_a_claim_can_visit),
      TEST(a_claim_costs_the_same_however_much_is_blocked_behind_a_dead_head),
      TEST(windows_that_do_not_fit_are_refused_with_their_numbers),
      TEST(a_destination_that_is_not_routed_is_an_error_not_an_idle_relay),
      TEST(several_workers_deliver_everything_once_and_in_order_while_producers_go_on),
      TEST(a_wake_ends_the_sleep_long_before_the_scan),
      TEST(the_bus_transport_publishes_under_the_message_s_id_and_a_repeat_changes_nothing),
      TEST(what_the_log_refuses_is_dead_at_once_and_waits_for_an_operator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
