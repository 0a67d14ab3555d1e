/* deadletter/gauge: counting, and how often. */
#include "deadletter/gauge.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

/* Counting costs more the more letters are open, and each change asks for it: a count that took longer than the first
 * is followed by a pause of the second times its length. One that a stall made long is no reason to be silent for
 * minutes: the pause has an upper limit, where it is no shorter than the count. */
enum { STORE_TIMEOUT_MS = 30000, FREE_NS = 2000000, PAUSE_TIMES = 20 };
static const int64_t pause_max_ns = INT64_C(5000000000);

void trilha_gauge_init(trilha_gauge *g, trilha_store *store, const trilha_diagnostics *diagnostics, int64_t alert_at) {
  *g = (trilha_gauge){.store = store, .diagnostics = *diagnostics, .alert_at = alert_at};
  pthread_mutex_init(&g->counting, NULL);
}

static void forget(char **names, size_t count) {
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
}

void trilha_gauge_done(trilha_gauge *g) {
  forget(g->said, g->said_count);
  pthread_mutex_destroy(&g->counting);
}

typedef struct count {
  const trilha_gauge *g;
  int64_t total;
  char **names;
  size_t name_count;
} count;

static void say_one(const trilha_gauge *g, trilha_text colonia, int64_t open) {
  trilha_fields fields = {0};
  trilha_fields_text(&fields, "colonia", colonia);
  trilha_fields_i64(&fields, "dead_letter_queue_pending", open);
  trilha_emit(&g->diagnostics, TRILHA_DEBUG, "dlq.pending", "open dead letters of a colony", &fields);
}

/* Without memory for its name a colony is said now, and not again when it is drained. */
static trilha_status take(void *user, trilha_text colonia, int64_t open, trilha_error *err) {
  (void)err;
  count *c = user;
  c->total += open;
  say_one(c->g, colonia, open);
  char *name = strndup(colonia.data, colonia.size);
  char **names = realloc(c->names, (c->name_count + 1) * sizeof *names);
  if (names != NULL) c->names = names;
  if (name != NULL && names != NULL)
    c->names[c->name_count++] = name;
  else
    free(name);
  return TRILHA_OK;
}

static bool holds(const count *c, const char *name) {
  for (size_t i = 0; i < c->name_count; i++)
    if (strcmp(c->names[i], name) == 0) return true;
  return false;
}

static void say_drained(trilha_gauge *g, const count *c) {
  for (size_t i = 0; i < g->said_count; i++)
    if (!holds(c, g->said[i])) say_one(g, trilha_text_of(g->said[i]), 0);
}

static void say_total(const trilha_gauge *g, int64_t total) {
  if (total < g->alert_at) return;
  trilha_fields fields = {0};
  trilha_fields_i64(&fields, "dead_letter_queue_pending", total);
  trilha_fields_i64(&fields, "alert_at", g->alert_at);
  trilha_emit(&g->diagnostics, TRILHA_WARNING, "dlq.above_threshold", "many dead letters are open", &fields);
}

static void count_and_say(trilha_gauge *g) {
  count c = {.g = g};
  trilha_error own = {0};
  if (g->store->delivery->dead_letter_stats(g->store, trilha_deadline_in_ms(STORE_TIMEOUT_MS), take, &c, &own) !=
      TRILHA_OK) { /* an unreachable store is not 0 */
    trilha_fields fields = {0};
    trilha_fields_error(&fields, &own);
    trilha_emit(&g->diagnostics, TRILHA_WARNING, "dlq.gauge_failed", "the dead letters could not be counted", &fields);
    forget(c.names, c.name_count);
    return;
  }
  say_drained(g, &c);
  say_total(g, c.total);
  forget(g->said, g->said_count);
  g->said = c.names;
  g->said_count = c.name_count;
}

static int64_t pause_after(int64_t took_ns) {
  if (took_ns <= FREE_NS) return 0;
  int64_t pause = PAUSE_TIMES * took_ns;
  int64_t most = took_ns > pause_max_ns ? took_ns : pause_max_ns;
  return pause < most ? pause : most;
}

void trilha_gauge_say(trilha_gauge *g) {
  int64_t from = trilha_clock_monotonic_ns();
  if (g->diagnostics.emit == NULL) return;
  atomic_store(&g->is_owed, true);
  if (from < atomic_load(&g->not_before_ns) || pthread_mutex_trylock(&g->counting) != 0) return;
  atomic_store(&g->is_owed, false); /* before the count: a change meanwhile is owed again */
  count_and_say(g);
  int64_t now = trilha_clock_monotonic_ns();
  atomic_store(&g->not_before_ns, now + pause_after(now - from));
  pthread_mutex_unlock(&g->counting);
}

void trilha_gauge_say_owed(trilha_gauge *g) {
  if (atomic_load(&g->is_owed)) trilha_gauge_say(g);
}
