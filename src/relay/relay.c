/* relay: options, threads, counts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "relay/relay_internal.h"
#include "store/guarantee.h"

/* --- options -------------------------------------------------------------------------------------------------------
 */

static unsigned or_default(unsigned value, unsigned otherwise) {
  return value > 0 ? value : otherwise;
}

static void fill_in(trilha_relay_options *o, unsigned scan_ms) {
  o->workers = or_default(o->workers, 1);
  o->lanes = or_default(o->lanes, 16);
  o->run = or_default(o->run, 16);
  o->tenant_quota = or_default(o->tenant_quota, 8);
  o->timeout_ms = or_default(o->timeout_ms, 10000);
  o->margin_ms = or_default(o->margin_ms, 5000);
  o->lease_ms = or_default(o->lease_ms, 30000);
  o->backoff_ms = or_default(o->backoff_ms, 1000);
  o->backoff_max_ms = or_default(o->backoff_max_ms, 300000);
  o->attempts_max = or_default(o->attempts_max, 10);
  o->scan_ms = or_default(o->scan_ms, scan_ms);
}

static trilha_status check_counts(const trilha_relay_options *o, trilha_error *err) {
  const struct {
    const char *name;
    size_t value, max;
  } counts[] = {{"workers", o->workers, TRILHA_RELAY_WORKERS_MAX},
                {"lanes", o->lanes, TRILHA_RELAY_LANES_MAX},
                {"run", o->run, TRILHA_RELAY_RUN_MAX},
                {"transports", o->transport_count, TRILHA_OUTBOX_DESTINATIONS_MAX}};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    if (counts[i].value == 0 || counts[i].value > counts[i].max)
      return trilha_error_set(err, TRILHA_USAGE, "RELAY_OPTIONS", "%s must be from 1 to %zu, not %zu", counts[i].name,
                              counts[i].max, counts[i].value);
  size_t credential = o->credential == NULL ? 1 : strlen(o->credential);
  if (credential == 0 || credential > TRILHA_OUTBOX_CREDENTIAL_BYTES_MAX)
    return trilha_error_set(err, TRILHA_USAGE, "RELAY_OPTIONS", "a service credential has 1 to %d bytes",
                            TRILHA_OUTBOX_CREDENTIAL_BYTES_MAX);
  for (size_t i = 0; i < o->transport_count; i++)
    if (o->transports[i].destination.size == 0 || (o->transports[i].send == NULL) == (o->transports[i].begin == NULL) ||
        o->transports[i].at_once > TRILHA_TRANSPORT_AT_ONCE_MAX)
      return trilha_error_set(err, TRILHA_USAGE, "RELAY_OPTIONS",
                              "each transport needs a destination, one of send and begin, and at most %d sends at once",
                              TRILHA_TRANSPORT_AT_ONCE_MAX);
  return TRILHA_OK;
}

/* The algebra of the windows (requirement O20): a confirmation that comes in time is never refused, and a repeat that
 * may come is never taken for new. */
static trilha_status check_windows(const trilha_relay_options *o, trilha_error *err) {
  int64_t send = (int64_t)o->timeout_ms + o->margin_ms;
  int64_t repeats = (int64_t)o->attempts_max * o->backoff_max_ms + o->restore_window_ms;
  if ((int64_t)o->lease_ms <= send)
    return trilha_error_set(
        err, TRILHA_USAGE, "WINDOW_INVALID",
        "the lease (%u ms) must exceed the time-out of a send (%u ms) and the margin (%u ms): more than %lld ms",
        o->lease_ms, o->timeout_ms, o->margin_ms, (long long)send);
  if (o->backoff_max_ms < o->backoff_ms)
    return trilha_error_set(err, TRILHA_USAGE, "WINDOW_INVALID",
                            "the longest pause (%u ms) must not be below the first (%u ms)", o->backoff_max_ms,
                            o->backoff_ms);
  if (o->inbox_retention_ms > 0 && o->inbox_retention_ms < repeats)
    return trilha_error_set(err, TRILHA_USAGE, "WINDOW_INVALID",
                            "the inbox's retention (%lld ms) must be at least attempts (%u) times the longest pause "
                            "(%u ms) plus the restore window (%lld ms): %lld ms",
                            (long long)o->inbox_retention_ms, o->attempts_max, o->backoff_max_ms,
                            (long long)o->restore_window_ms, (long long)repeats);
  return TRILHA_OK;
}

/* Their names, parted by commas; NULL: no memory. */
static char *join_destinations(const trilha_relay_options *o) {
  TRILHA_BUFFER_SCOPED names;
  trilha_buffer_init(&names, 0);
  for (size_t i = 0; i < o->transport_count; i++) {
    if (i > 0) trilha_buffer_add_string(&names, ", ");
    trilha_buffer_add_text(&names, o->transports[i].destination);
  }
  return trilha_buffer_take(&names, NULL);
}

/* Nobody may have to guess what a repeat does at a destination (ruling R37). */
static trilha_status check_guarantees(const trilha_relay_options *o, trilha_error *err) {
  for (size_t i = 0; i < o->transport_count; i++) {
    const trilha_transport *t = &o->transports[i];
    const trilha_text because = t->because == NULL ? (trilha_text){0} : trilha_text_of(t->because);
    if (trilha_guarantee_is_declared(t->guarantee, because)) continue;
    return trilha_error_set(
        err, TRILHA_USAGE, "GUARANTEE_INVALID",
        "the transport to %.*s says no guarantee: set trilha_transport.guarantee to atomic, durable, "
        "or best effort with the reason in .because",
        (int)t->destination.size, t->destination.data);
  }
  return TRILHA_OK;
}

static bool copy_options(trilha_relay *r, const trilha_relay_options *o) {
  r->options = *o;
  r->url = o->outbox.url == NULL ? NULL : strdup(o->outbox.url);
  r->schema = o->outbox.schema == NULL ? NULL : strdup(o->outbox.schema);
  r->credential = o->credential == NULL ? NULL : strdup(o->credential);
  r->transports = calloc(o->transport_count, sizeof *r->transports);
  r->destinations = join_destinations(o);
  bool ok = r->transports != NULL && r->destinations != NULL && (o->outbox.url == NULL || r->url != NULL) &&
            (o->outbox.schema == NULL || r->schema != NULL) && (o->credential == NULL || r->credential != NULL);
  for (size_t i = 0; ok && i < o->transport_count; i++) {
    r->transports[i] = o->transports[i];
    r->transports[i].at_once = or_default(o->transports[i].at_once, TRILHA_RELAY_AT_ONCE);
    char *name = strndup(o->transports[i].destination.data, o->transports[i].destination.size);
    r->transports[i].destination.data = name;
    const char *because = o->transports[i].because;
    r->transports[i].because = because == NULL ? NULL : strdup(because);
    ok = name != NULL && (because == NULL || r->transports[i].because != NULL);
  }
  r->options.outbox.url = r->url;
  r->options.outbox.schema = r->schema;
  r->options.credential = r->credential;
  r->options.transports = r->transports;
  return ok;
}

static void name_owner(trilha_relay *r) {
  unsigned char random[4] = {0};
  char host[32] = "?", hex[2 * sizeof random + 1];
  gethostname(host, sizeof host - 1);
  trilha_random_bytes(random, sizeof random);
  trilha_hex(random, sizeof random, hex);
  snprintf(r->owner, sizeof r->owner, "%s:%ld:%s", host, (long)getpid(), hex);
}

trilha_status trilha_relay_make(const trilha_relay_options *options, trilha_relay_opener open, unsigned scan_ms,
                                trilha_relay **ret_relay, trilha_error *err) {
  trilha_relay_options filled = *options;
  fill_in(&filled, scan_ms);
  trilha_status status = check_counts(&filled, err);
  if (status == TRILHA_OK) status = check_guarantees(&filled, err);
  if (status == TRILHA_OK) status = check_windows(&filled, err);
  if (status != TRILHA_OK) return status;
  trilha_relay *r = calloc(1, sizeof *r);
  if (r == NULL) return trilha_error_no_memory(err);
  pthread_mutex_init(&r->lock, NULL);
  r->open = open;
  name_owner(r);
  if (!copy_options(r, &filled)) {
    trilha_relay_release(r);
    return trilha_error_no_memory(err);
  }
  *ret_relay = r;
  return TRILHA_OK;
}

static void free_text(const char *take_text) {
  union {
    const char *borrowed;
    char *owned;
  } text = {.borrowed = take_text};
  free(text.owned);
}

void trilha_relay_release(trilha_relay *take_relay) {
  trilha_relay *r = take_relay;
  if (r == NULL) return;
  for (size_t i = 0; r->transports != NULL && i < r->options.transport_count; i++) {
    free_text(r->transports[i].destination.data);
    free_text(r->transports[i].because);
  }
  free(r->transports);
  free(r->destinations);
  free(r->url);
  free(r->schema);
  free(r->credential);
  pthread_mutex_destroy(&r->lock);
  free(r);
}

/* --- from other threads
 * -------------------------------------------------------------------------------------------------------
 */

void trilha_relay_ring(trilha_relay *relay) {
  pthread_mutex_lock(&relay->lock);
  for (unsigned i = 0; i < relay->worker_count; i++) {
    atomic_store(&relay->workers[i].rung, true);
    trilha_relay_wake_worker(&relay->workers[i]);
  }
  pthread_mutex_unlock(&relay->lock);
}

void trilha_relay_ask_to_stop(trilha_relay *relay) {
  atomic_store(&relay->stopping, true);
  trilha_relay_ring(relay);
}

void trilha_relay_count(const trilha_relay *relay, trilha_relay_counts *ret_counts) {
  *ret_counts = (trilha_relay_counts){.sent = atomic_load(&relay->sent),
                                      .failed = atomic_load(&relay->failed),
                                      .dead = atomic_load(&relay->dead),
                                      .leases_lost = atomic_load(&relay->leases_lost)};
}

/* --- threads ---------------------------------------------------------------------------------------------------- */

static void *run_worker(void *user) {
  trilha_relay_worker *w = user;
  trilha_relay *relay = w->relay;
  trilha_error err = {0};
  if (trilha_relay_worker_work(w, &err) != TRILHA_OK) {
    pthread_mutex_lock(&relay->lock);
    trilha_error_copy(&relay->first_error, &err);
    pthread_mutex_unlock(&relay->lock);
    trilha_relay_ask_to_stop(relay);
  }
  return NULL;
}

static trilha_status make_workers(trilha_relay *relay, trilha_error *err) {
  unsigned count = relay->options.workers;
  trilha_relay_worker *workers = calloc(count, sizeof *workers);
  if (workers == NULL) return trilha_error_no_memory(err);
  trilha_status status = TRILHA_OK;
  for (unsigned i = 0; i < count; i++) {
    workers[i] = (trilha_relay_worker){.relay = relay};
    pthread_mutex_init(&workers[i].lock, NULL);
    workers[i].wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (workers[i].wake_fd < 0 && status == TRILHA_OK)
      status = trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "RELAY_WAKE", errno,
                                      "the system gives no event descriptor for a worker");
  }
  pthread_mutex_lock(&relay->lock);
  relay->workers = workers;
  relay->worker_count = count;
  pthread_mutex_unlock(&relay->lock);
  return status;
}

static void free_workers(trilha_relay *relay) {
  pthread_mutex_lock(&relay->lock);
  trilha_relay_worker *workers = relay->workers;
  unsigned count = relay->worker_count;
  relay->workers = NULL;
  relay->worker_count = 0;
  pthread_mutex_unlock(&relay->lock);
  for (unsigned i = 0; i < count; i++) {
    if (workers[i].store != NULL) workers[i].store->op->close(workers[i].store);
    if (workers[i].wake_fd >= 0) close(workers[i].wake_fd);
    pthread_mutex_destroy(&workers[i].lock);
  }
  free(workers);
}

static void run_threads(trilha_relay *relay) {
  pthread_t threads[TRILHA_RELAY_WORKERS_MAX];
  unsigned started = 1;
  while (started < relay->options.workers &&
         pthread_create(&threads[started], NULL, run_worker, &relay->workers[started]) == 0)
    started++;
  if (started < relay->options.workers)
    trilha_emit(&relay->options.outbox.diagnostics, TRILHA_WARNING, "relay.threads",
                "fewer workers run than were asked for: the system gives no more threads", NULL);
  run_worker(&relay->workers[0]); /* the caller's thread is the first */
  for (unsigned i = 1; i < started; i++) pthread_join(threads[i], NULL);
}

trilha_status trilha_relay_work(trilha_relay *relay, trilha_error *err) {
  trilha_status status = make_workers(relay, err);
  atomic_store(&relay->beat_ns, trilha_clock_monotonic_ns());
  if (status == TRILHA_OK) run_threads(relay);
  if (status == TRILHA_OK && relay->first_error.status == TRILHA_OK && !atomic_load(&relay->unheard))
    trilha_relay_leave(relay); /* else the database is away, and is not waited for */
  free_workers(relay);
  return status == TRILHA_OK ? trilha_error_copy(err, &relay->first_error) : status;
}
