/* serve: how the registered outboxes stand, looked at on a thread of its own, so that a scrape costs them nothing and a
 * database that is away holds nothing up. What a look costs grows with the lanes that have work; it is repeated after
 * at least REST times what it took. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "json/json.h"
#include "serve/serve_internal.h"

enum { LOOK_MS = 5000, STALE_MS = 60000, REST = 20, GAUGES_MAX = 2000 };

typedef struct gauge {
  char *name, *label, *tenant; /* label and tenant may be NULL */
  int64_t value;
} gauge;

typedef struct look {
  gauge *gauges;
  size_t count, room;
} look;

typedef struct watched {
  char *name, *url, *schema; /* schema may be NULL */
  trilha_outbox *outbox;     /* the thread's own; NULL: not open */
  look last;                 /* under the mutex, as what follows */
  bool up;
  int64_t looked_ns; /* 0: never yet */
  char code[TRILHA_ERROR_CODE_MAX];
} watched;

struct trilha_outboxes {
  watched *sources;
  size_t count;
  pthread_mutex_t mutex; /* what the sources say so, and ended */
  pthread_cond_t changed;
  bool ended, runs, tenants;
  pthread_t thread;
};

/* --- looking ----------------------------------------------------------------------------------------------------- */

static void look_free(look *l) {
  for (size_t i = 0; i < l->count; i++) {
    free(l->gauges[i].name);
    free(l->gauges[i].label);
    free(l->gauges[i].tenant);
  }
  free(l->gauges);
  *l = (look){0};
}

static char *copy(trilha_text text) {
  return text.data == NULL ? NULL : strndup(text.data, text.size);
}

static trilha_status keep(void *user, const trilha_outbox_gauge *g) {
  look *l = user;
  if (l->count == GAUGES_MAX) return TRILHA_OK;
  if (l->count == l->room) {
    size_t room = l->room == 0 ? 64 : 2 * l->room;
    gauge *more = realloc(l->gauges, room * sizeof *more);
    if (more == NULL) return TRILHA_NO_MEMORY;
    l->gauges = more;
    l->room = room;
  }
  gauge *kept = &l->gauges[l->count++];
  *kept = (gauge){.name = copy(g->name), .label = copy(g->label), .tenant = copy(g->tenant), .value = g->value};
  bool failed = kept->name == NULL || (g->label.data != NULL && kept->label == NULL) ||
                (g->tenant.data != NULL && kept->tenant == NULL);
  return failed ? TRILHA_NO_MEMORY : TRILHA_OK;
}

static trilha_status look_at(watched *w, look *l, trilha_error *err) {
  const trilha_outbox_options where = {.url = w->url, .schema = w->schema, .lock_timeout_ms = LOOK_MS};
  trilha_status status = w->outbox == NULL ? trilha_outbox_open(&where, &w->outbox, err) : TRILHA_OK;
  return status == TRILHA_OK ? trilha_outbox_gauges(w->outbox, keep, l, err) : status;
}

static void look_once(trilha_outboxes *all, watched *w) {
  look fresh = {0};
  trilha_error error = {0};
  trilha_status status = look_at(w, &fresh, &error);
  if (status == TRILHA_NO_MEMORY) memcpy(error.code, "NO_MEMORY", sizeof "NO_MEMORY");
  pthread_mutex_lock(&all->mutex);
  w->up = status == TRILHA_OK;
  w->looked_ns = trilha_clock_monotonic_ns();
  memcpy(w->code, error.code, sizeof w->code);
  look old = w->last;
  w->last = fresh;
  pthread_mutex_unlock(&all->mutex);
  look_free(&old);
}

/* False: the end was asked for. */
static bool rest(trilha_outboxes *all, int64_t took_ns) {
  int64_t pause_ns = REST * took_ns > LOOK_MS * INT64_C(1000000) ? REST * took_ns : LOOK_MS * INT64_C(1000000);
  int64_t at_ns = trilha_clock_monotonic_ns() + pause_ns;
  struct timespec until = {.tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000)};
  pthread_mutex_lock(&all->mutex);
  while (!all->ended && trilha_clock_monotonic_ns() < at_ns) pthread_cond_timedwait(&all->changed, &all->mutex, &until);
  bool goes_on = !all->ended;
  pthread_mutex_unlock(&all->mutex);
  return goes_on;
}

static void *watch(void *user) {
  trilha_outboxes *all = user;
  int64_t began_ns;
  do {
    began_ns = trilha_clock_monotonic_ns();
    for (size_t i = 0; i < all->count; i++) look_once(all, &all->sources[i]);
  } while (rest(all, trilha_clock_monotonic_ns() - began_ns));
  return NULL;
}

/* --- beginning and ending ---------------------------------------------------------------------------------------- */

static bool copy_sources(trilha_outboxes *all, const trilha_config_source *sources, size_t count) {
  all->sources = calloc(count, sizeof *all->sources);
  if (all->sources == NULL) return false;
  all->count = count;
  for (size_t i = 0; i < count; i++) {
    watched *w = &all->sources[i];
    *w = (watched){.name = copy(sources[i].name), .url = copy(sources[i].store), .schema = copy(sources[i].schema)};
    if (w->name == NULL || w->url == NULL || (sources[i].schema.data != NULL && w->schema == NULL)) return false;
  }
  return true;
}

trilha_status trilha_outboxes_start(const trilha_config *config, trilha_outboxes **ret_outboxes, trilha_error *err) {
  size_t count = 0;
  const trilha_config_source *sources = trilha_config_outboxes(config, &count);
  if (count == 0) return TRILHA_OK;
  trilha_outboxes *all = calloc(1, sizeof *all);
  if (all == NULL) return trilha_error_no_memory(err);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&all->mutex, NULL);
  pthread_cond_init(&all->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  all->tenants = trilha_text_is(trilha_config_text(config, TRILHA_SETTING_STATUS_TENANT_METRICS), "true");
  int failed = copy_sources(all, sources, count) ? pthread_create(&all->thread, NULL, watch, all) : ENOMEM;
  all->runs = failed == 0;
  if (failed == 0) {
    *ret_outboxes = all;
    return TRILHA_OK;
  }
  trilha_outboxes_stop(all);
  return trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "the outboxes cannot be watched");
}

void trilha_outboxes_stop(trilha_outboxes *all) {
  if (all == NULL) return;
  pthread_mutex_lock(&all->mutex);
  all->ended = true;
  pthread_cond_broadcast(&all->changed);
  pthread_mutex_unlock(&all->mutex);
  if (all->runs) pthread_join(all->thread, NULL);
  for (size_t i = 0; i < all->count; i++) {
    watched *w = &all->sources[i];
    trilha_outbox_close(w->outbox);
    look_free(&w->last);
    free(w->name);
    free(w->url);
    free(w->schema);
  }
  free(all->sources);
  pthread_cond_destroy(&all->changed);
  pthread_mutex_destroy(&all->mutex);
  free(all);
}

/* --- telling ----------------------------------------------------------------------------------------------------- */

static bool is_up(const watched *w) {
  return w->up && trilha_clock_monotonic_ns() - w->looked_ns < STALE_MS * INT64_C(1000000);
}

typedef struct metric {
  const char *gauge, *name, *type, *label, *help;
  bool seconds; /* the value is in microseconds */
  bool tenants; /* names tenants, which has to be asked for */
} metric;

static const metric METRICS[] = {
    {"head_age_us", "trilha_outbox_head_age_seconds", "gauge", "destination",
     "Age of the oldest message at the head of a lane.", true},
    {"backlog", "trilha_outbox_backlog_messages", "gauge", "destination",
     "Messages from the heads of lanes on, at most: those of other destinations of an aggregate count too.", false},
    {"ready", "trilha_outbox_lanes_ready", "gauge", "destination", "Lanes that wait for a worker.", false},
    {"waiting", "trilha_outbox_lanes_waiting", "gauge", "destination",
     "Lanes whose head failed and waits for its next attempt.", false},
    {"held", "trilha_outbox_lanes_held", "gauge", "destination",
     "Lanes that nobody sends now: another dispatcher has their type, or every worker leaves their destination alone.",
     false},
    {"leased", "trilha_outbox_lanes_leased", "gauge", "destination", "Lanes under a live lease.", false},
    {"expired", "trilha_outbox_leases_expired", "gauge", "destination",
     "Lanes whose lease ran out and that nobody has taken over yet.", false},
    {"dead", "trilha_outbox_lanes_dead", "gauge", "destination", "Lanes that a dead letter blocks.", false},
    {"behind_dead", "trilha_outbox_messages_behind_dead", "gauge", "destination",
     "Messages that wait behind dead letters, at most: those of other destinations count too.", false},
    {"tenants_at_quota", "trilha_outbox_tenants_at_quota", "gauge", "destination",
     "Tenants that have all the lanes in flight that one may have, while more of theirs are due.", false},
    {"tenant_quota", "trilha_outbox_tenant_quota", "gauge", "destination",
     "Most lanes of one tenant in flight: the smallest quota of the workers that take lanes.", false},
    {"tenant_at_quota", "trilha_outbox_tenant_at_quota_lanes", "gauge", "destination",
     "Lanes in flight of a tenant that has all that one may have, while more of its are due.", false, .tenants = true},
    {"tenant", "trilha_outbox_tenant_lanes", "gauge", "tenant",
     "Lanes with messages, dead ones too, of the tenants with the most.", false, .tenants = true},
    {"sent", "trilha_outbox_sent_total", "counter", NULL, "Messages that destinations accepted, as workers told.",
     false},
    {"failed", "trilha_outbox_attempts_failed_total", "counter", NULL, "Attempts that failed, as workers told.", false},
    {"dead_letters", "trilha_outbox_dead_letters_total", "counter", NULL,
     "Messages that were dead-lettered, as workers told.", false},
    {"fenced", "trilha_outbox_leases_fenced_total", "counter", NULL,
     "Leases that were somebody else's when a worker wanted to go on or confirm.", false},
    {"workers", "trilha_outbox_workers", "gauge", NULL, "Workers that are registered and heard of.", false},
    {"workers_silent", "trilha_outbox_workers_silent", "gauge", NULL,
     "Workers that ended without a word or cannot reach the database, of the last day.", false},
    {"inbox_duplicates", "trilha_inbox_duplicates", "gauge", NULL,
     "Repeats with the same content that the inbox keeps, counted up to 10000.", false},
    {"inbox_conflicts", "trilha_inbox_conflicts", "gauge", NULL,
     "Repeats with other content that the inbox keeps, counted up to 10000.", false},
    {"applied_us", "trilha_outbox_time_to_applied_seconds", "gauge", NULL,
     "Median of the last 1000 times from the enqueue to what the destination states as applied.", true},
    {"transaction_us", "trilha_outbox_oldest_transaction_seconds", "gauge", NULL,
     "Age of the oldest open transaction of the producer's database.", true},
};

static void write_value(trilha_buffer *out, const metric *m, int64_t value) {
  if (m->seconds)
    trilha_buffer_add_format(out, " %lld.%06lld\n", (long long)(value / 1000000), (long long)(value % 1000000));
  else
    trilha_buffer_add_format(out, " %lld\n", (long long)value);
}

static void write_sample(const watched *w, const metric *m, const gauge *g, trilha_buffer *out) {
  trilha_buffer_add_format(out, "%s{", m->name);
  trilha_metrics_label(out, "source", w->name);
  if (m->label != NULL) trilha_buffer_add_char(out, ',');
  if (m->label != NULL) trilha_metrics_label(out, m->label, g->label);
  if (g->tenant != NULL) trilha_buffer_add_char(out, ',');
  if (g->tenant != NULL) trilha_metrics_label(out, "tenant", g->tenant);
  trilha_buffer_add_char(out, '}');
  write_value(out, m, g->value);
}

static void write_samples(const trilha_outboxes *all, const metric *m, trilha_buffer *out) {
  for (size_t i = 0; i < all->count; i++) {
    const watched *w = &all->sources[i];
    for (size_t k = 0; is_up(w) && k < w->last.count; k++)
      if (strcmp(w->last.gauges[k].name, m->gauge) == 0) write_sample(w, m, &w->last.gauges[k], out);
  }
}

static void write_up(const trilha_outboxes *all, trilha_buffer *out) {
  for (size_t i = 0; i < all->count; i++) {
    trilha_buffer_add_string(out, "trilha_outbox_up{");
    trilha_metrics_label(out, "source", all->sources[i].name);
    trilha_buffer_add_format(out, "} %d\n", is_up(&all->sources[i]) ? 1 : 0);
  }
}

/* An outbox that cannot be reached has no numbers: a gauge that says 0 then would hide what waits. */
void trilha_outboxes_write_metrics(trilha_outboxes *all, trilha_buffer *out) {
  if (all != NULL) pthread_mutex_lock(&all->mutex);
  trilha_metrics_head(out, "trilha_outbox_up", "gauge", "Whether a registered outbox answered lately.");
  if (all != NULL) write_up(all, out);
  for (size_t i = 0; i < sizeof METRICS / sizeof METRICS[0]; i++) {
    const metric *m = &METRICS[i];
    if (m->tenants && (all == NULL || !all->tenants)) continue;
    trilha_metrics_head(out, m->name, m->type, m->help);
    if (all != NULL) write_samples(all, m, out);
  }
  if (all != NULL) pthread_mutex_unlock(&all->mutex);
}

static void write_source(const watched *w, trilha_buffer *out) {
  bool up = is_up(w);
  trilha_buffer_add_char(out, '{');
  trilha_add_member(out, true, "source", w->name);
  trilha_buffer_add_format(out, ",\"ready\":%s", up ? "true" : "false");
  trilha_add_member(out, false, "error", up || w->code[0] == '\0' ? NULL : w->code);
  trilha_buffer_add_string(out, ",\"gauges\":[");
  for (size_t i = 0; up && i < w->last.count; i++) {
    const gauge *g = &w->last.gauges[i];
    trilha_buffer_add_string(out, i == 0 ? "{" : ",{");
    trilha_add_member(out, true, "name", g->name);
    trilha_add_member(out, false, "of", g->label);
    if (g->tenant != NULL) trilha_add_member(out, false, "tenant", g->tenant);
    trilha_buffer_add_format(out, ",\"value\":%lld}", (long long)g->value);
  }
  trilha_buffer_add_string(out, "]}");
}

void trilha_outboxes_write_status(trilha_outboxes *all, trilha_buffer *out) {
  trilha_buffer_add_string(out, ",\"outboxes\":[");
  if (all != NULL) {
    pthread_mutex_lock(&all->mutex);
    for (size_t i = 0; i < all->count; i++) {
      if (i > 0) trilha_buffer_add_char(out, ',');
      write_source(&all->sources[i], out);
    }
    pthread_mutex_unlock(&all->mutex);
  }
  trilha_buffer_add_char(out, ']');
}
