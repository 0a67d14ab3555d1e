/* tests/relay/destination: a destination in this process that keeps what it was given. */
#include "relay/destination.h"

#include "base/hash.h"

static void put(char *out, size_t size, trilha_text text) {
  snprintf(out, size, "%.*s", (int)text.size, text.data);
}

static bool is_held(destination *d) {
  pthread_mutex_lock(&d->lock);
  bool held = d->holds;
  pthread_mutex_unlock(&d->lock);
  return held;
}

trilha_status receive(void *user, const trilha_envelope *e, trilha_error *error) {
  destination *d = user;
  unsigned char digest[TRILHA_SHA256_SIZE];
  char hex[2 * TRILHA_SHA256_SIZE + 1];
  trilha_sha256(e->payload, digest);
  trilha_hex(digest, sizeof digest, hex);
  pthread_mutex_lock(&d->lock);
  size_t place = d->count < SEEN_MAX ? d->count++ : SEEN_MAX - 1;
  seen *s = &d->items[place];
  put(s->tenant, sizeof s->tenant, e->tenant_id);
  put(s->key, sizeof s->key, e->aggregate_key);
  put(s->id, sizeof s->id, e->message_id);
  s->sequence = e->aggregate_sequence;
  s->previous = e->previous_sequence;
  s->attempt = e->attempt;
  bool fails = d->fail_key != NULL && strcmp(d->fail_key, s->key) == 0 && d->fail_times > 0 &&
               (d->fail_sequence == 0 || d->fail_sequence == s->sequence);
  if (fails) d->fail_times--;
  pthread_mutex_unlock(&d->lock);
  while (place == 0 && is_held(d)) trilha_clock_sleep_ms(5);
  if (!trilha_text_is(e->payload_sha256, hex)) return TRILHA_INTERNAL;
  if (!fails) return TRILHA_OK;
  snprintf(error->code, sizeof error->code, "AWAY");
  snprintf(error->text, sizeof error->text, "the destination is away");
  return error->status = d->fail_with;
}

size_t times_seen(destination *d, const char *key, int64_t sequence) {
  size_t times = 0;
  pthread_mutex_lock(&d->lock);
  for (size_t i = 0; i < d->count; i++)
    times += strcmp(d->items[i].key, key) == 0 && (sequence == 0 || d->items[i].sequence == sequence);
  pthread_mutex_unlock(&d->lock);
  return times;
}

trilha_relay_options fast(const trilha_fixture *f, const trilha_transport *transports, size_t count) {
  return (trilha_relay_options){.outbox = trilha_producer_options(f),
                                .transports = transports,
                                .transport_count = count,
                                .backoff_ms = 1,
                                .backoff_max_ms = 1,
                                .scan_ms = 20,
                                .once = true};
}

trilha_relay_counts drain_with(trilha_relay_options options, int rounds) {
  trilha_relay_counts counts = {0}, all = {0};
  for (int i = 0; i < rounds; i++) {
    trilha_relay *relay = NULL;
    CHECKED(trilha_relay_new(&options, &relay, error));
    CHECKED(trilha_relay_run(relay, error));
    trilha_relay_counted(relay, &counts);
    all.sent += counts.sent;
    all.failed += counts.failed;
    all.dead += counts.dead;
    all.leases_lost += counts.leases_lost;
    trilha_relay_free(relay);
    trilha_clock_sleep_ms(10);
  }
  return all;
}

trilha_relay_counts drain(const trilha_fixture *f, destination *d, int rounds) {
  const trilha_transport transport = {TRILHA_TEXT("everything"), receive, d, .guarantee = TRILHA_GUARANTEE_DURABLE};
  return drain_with(fast(f, &transport, 1), rounds);
}

void status_of(const trilha_producer *p, const char *key, int64_t sequence, char out[32]) {
  char sql[256];
  snprintf(sql, sizeof sql,
           "SELECT status FROM {p}producer_outbox WHERE aggregate_key = '%s' AND aggregate_sequence = %lld", key,
           (long long)sequence);
  trilha_producer_text(p, sql, out, 32);
}

void assert_status(const trilha_producer *p, const char *key, int64_t sequence, const char *wanted) {
  char status[32];
  status_of(p, key, sequence, status);
  assert_string_equal(status, wanted);
}

void *run_relay(void *user) {
  trilha_error err = {0};
  if (trilha_relay_run(user, &err) != TRILHA_OK) fprintf(stderr, "# %s: %s\n", err.code, err.text);
  return NULL;
}
