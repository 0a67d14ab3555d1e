/* relay/presence: the relay's row among the workers of its outbox. Any of its threads says, when it is time, that the
 * relay is there, and hears whether an operator asks it to drain. What goes wrong here never stops a delivery. */
#include "base/error.h"
#include "json/json.h"
#include "relay/relay_internal.h"
#include "store/guarantee.h"

enum { BEATS_MISSED_MAX = 3 }; /* then, and when a send's time-out is over too, the relay counts as silent */

static trilha_text owner_of(const trilha_relay *relay) {
  return trilha_text_of(relay->owner);
}

static void tell_failure(trilha_relay *relay, const trilha_error *why) {
  trilha_fields fields = {0};
  if (atomic_exchange(&relay->unheard, true)) return; /* told once, until it is heard again */
  trilha_fields_error(&fields, why);
  trilha_emit(
      &relay->options.outbox.diagnostics, TRILHA_WARNING, "relay.unregistered",
      "the relay cannot say in the outbox that it is there: it delivers, but operators neither see nor drain it",
      &fields);
}

static void begin_drain(trilha_relay *relay) {
  if (atomic_exchange(&relay->draining, true)) return;
  trilha_emit(&relay->options.outbox.diagnostics, TRILHA_WARNING, "relay.drain",
              "an operator asks this worker to drain: it finishes what it holds and ends", NULL);
  trilha_relay_ring(relay);
}

/* What was counted since the outbox was told. */
static trilha_relay_counts untold(const trilha_relay *relay) {
  trilha_relay_counts now;
  trilha_relay_count(relay, &now);
  return (trilha_relay_counts){.sent = now.sent - relay->told.sent,
                               .failed = now.failed - relay->told.failed,
                               .dead = now.dead - relay->told.dead,
                               .leases_lost = now.leases_lost - relay->told.leases_lost};
}

static void now_told(trilha_relay *relay, const trilha_relay_counts *since) {
  relay->told.sent += since->sent;
  relay->told.failed += since->failed;
  relay->told.dead += since->dead;
  relay->told.leases_lost += since->leases_lost;
}

/* What each transport guarantees, once for each relay. */
static void declare(trilha_relay *relay, trilha_outbox_store *store) {
  bool all = true;
  for (size_t i = 0; i < relay->options.transport_count && !relay->declared; i++) {
    const trilha_transport *t = &relay->transports[i];
    const trilha_handler_declaration said = {
        .destination = t->destination,
        .guarantee = trilha_text_of(trilha_guarantee_name(t->guarantee)),
        .because = t->because == NULL ? (trilha_text){0} : trilha_text_of(t->because),
        .worker = owner_of(relay)};
    trilha_error why = {0};
    if (store->op->handler_declare(store, &said, &why) != TRILHA_OK && strcmp(why.code, "DESTINATION_UNKNOWN") != 0)
      all = false; /* again with the next beat */
  }
  relay->declared = all;
}

static const char *hold_of(const trilha_transport *transport) {
  int64_t again_ms = 0;
  if (transport->holding != NULL) return transport->holding(transport->user);
  bool held = transport->capacity != NULL && transport->capacity(transport->user, &again_ms) == 0;
  return held ? "DESTINATION_HELD" : NULL;
}

/* A JSON object: each destination, and why its lanes are left alone; "": they are not. */
static void write_holds(const trilha_relay *relay, trilha_buffer *out) {
  trilha_buffer_add_char(out, '{');
  for (size_t i = 0; i < relay->options.transport_count; i++) {
    const char *hold = hold_of(&relay->transports[i]);
    if (i > 0) trilha_buffer_add_char(out, ',');
    trilha_json_write_string(out, relay->transports[i].destination);
    trilha_buffer_add_char(out, ':');
    trilha_json_write_string(out, trilha_text_of(hold == NULL ? "" : hold));
  }
  trilha_buffer_add_char(out, '}');
}

static void beat(trilha_relay *relay, trilha_outbox_store *store) {
  TRILHA_BUFFER_SCOPED holds;
  trilha_buffer_init(&holds, 0);
  write_holds(relay, &holds);
  if (holds.failed != TRILHA_OK) return; /* no memory: another beat will tell */
  const trilha_worker_beat said = {
      .holds = trilha_buffer_text(&holds),
      .worker = owner_of(relay),
      .destinations = trilha_text_of(relay->destinations),
      .threads = relay->options.workers,
      .tenant_quota = relay->options.tenant_quota,
      .expected_ms = INT64_C(1) * BEATS_MISSED_MAX * TRILHA_RELAY_BEAT_MS + relay->options.timeout_ms,
      .since = untold(relay)};
  trilha_error why = {0};
  bool drain = false;
  if (store->op->worker_beat(store, &said, &drain, &why) != TRILHA_OK) {
    tell_failure(relay, &why);
    return;
  }
  now_told(relay, &said.since);
  atomic_store(&relay->unheard, false);
  declare(relay, store);
  if (drain) begin_drain(relay);
}

void trilha_relay_beat(trilha_relay_worker *worker) {
  trilha_relay *relay = worker->relay;
  int64_t due = atomic_load(&relay->beat_ns), now = trilha_clock_monotonic_ns();
  if (now < due) return;
  /* Whoever moves the time does it, unless one that began long ago still waits for its database. */
  if (!atomic_compare_exchange_strong(&relay->beat_ns, &due, now + TRILHA_RELAY_BEAT_MS * INT64_C(1000000)) ||
      atomic_exchange(&relay->telling, true))
    return;
  beat(relay, worker->store);
  atomic_store(&relay->telling, false);
}

trilha_deadline trilha_relay_next_beat(const trilha_relay *relay) {
  return (trilha_deadline){atomic_load(&relay->beat_ns)};
}

void trilha_relay_leave(trilha_relay *relay) {
  trilha_error why = {0};
  for (unsigned i = 0; i < relay->worker_count; i++) {
    trilha_outbox_store *store = relay->workers[i].store;
    if (store == NULL) continue;
    const trilha_worker_beat said = {.worker = owner_of(relay), .since = untold(relay)};
    if (store->op->worker_end(store, &said, &why) != TRILHA_OK) tell_failure(relay, &why);
    return;
  }
}
