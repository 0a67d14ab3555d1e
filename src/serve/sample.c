/* serve: a look at the store every second, on a thread of its own, so that health and metrics answer at once whatever
 * the store does, and a scrape costs it nothing. */
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "serve/serve_internal.h"
#include "trilha/audit.h"

enum { LOOK_MS = 1000, STALE_MS = 15000 };

typedef struct look {
  int64_t last_sequence;
  trilha_dead_letter_statistics *letters;
  trilha_consumer_states *consumers;
} look;

static trilha_status look_at(trilha *handle, look *l, trilha_error *err) {
  trilha_status status = trilha_last_sequence(handle, &l->last_sequence, err);
  if (status == TRILHA_OK) status = trilha_dead_letter_stats(handle, &l->letters, err);
  if (status == TRILHA_OK) status = trilha_consumers_list(handle, (trilha_text){NULL, 0}, &l->consumers, err);
  return status;
}

static trilha_sample_colony *colony_of(trilha_sample *sample, const char *name) {
  for (size_t i = 0; i < sample->colony_count; i++)
    if (strcmp(sample->colonies[i].name, name) == 0) return &sample->colonies[i];
  if (sample->colony_count == TRILHA_SERVE_COLONIES_MAX) return NULL;
  char *copy = strdup(name);
  if (copy == NULL) return NULL;
  sample->colonies[sample->colony_count] = (trilha_sample_colony){.name = copy};
  return &sample->colonies[sample->colony_count++];
}

/* A colony that is not among the pending any more has none left. */
static void keep(trilha_sample *sample, look *l) {
  for (size_t i = 0; i < sample->colony_count; i++) sample->colonies[i].pending = 0;
  for (size_t i = 0; i < l->letters->count; i++) {
    trilha_sample_colony *colony = colony_of(sample, l->letters->pendentes_por_colonia[i].colonia);
    if (colony != NULL) colony->pending = l->letters->pendentes_por_colonia[i].pendentes;
  }
  for (size_t i = 0; i < l->consumers->count; i++) (void)colony_of(sample, l->consumers->items[i].colonia);
  sample->pending_total = l->letters->total_pendentes;
  sample->last_sequence = l->last_sequence;
  trilha_consumer_states *old = sample->consumers;
  sample->consumers = l->consumers;
  l->consumers = old;
}

/* --- the trail (field report G7) ---------------------------------------------------------------------------------- */

/* The last one is what a commit that the disk did not take looks like where nobody can tell how far it came. */
static bool took_no_more(const trilha_error *error) {
  return strcmp(error->code, "STORE_FULL") == 0 || strcmp(error->code, "STORE_IO") == 0 ||
         strcmp(error->code, "STORE_COMMIT_UNKNOWN") == 0;
}

void trilha_sample_heard(trilha_sample *sample, const trilha_error *error) {
  if (!took_no_more(error)) return;
  pthread_mutex_lock(&sample->mutex);
  memcpy(sample->trail_code, error->code, sizeof sample->trail_code);
  pthread_mutex_unlock(&sample->mutex);
}

/* The row that shows that rows can be written again is the one that tells of it. */
static void try_trail(trilha_sample *sample) {
  pthread_mutex_lock(&sample->mutex);
  const trilha_audit_pair pairs[] = {{"error", trilha_text_of(sample->trail_code)}};
  bool failed = sample->trail_code[0] != '\0';
  pthread_mutex_unlock(&sample->mutex);
  const trilha_audit_entry entry = {.entity = TRILHA_TEXT("audit-log"),
                                    .entity_id = TRILHA_TEXT("serve"),
                                    .change_type = TRILHA_TEXT("Updated"),
                                    .action = TRILHA_TEXT("trilha.audit-log.restored"),
                                    .user = TRILHA_TEXT("trilha serve"),
                                    .pairs = pairs,
                                    .pair_count = 1};
  if (!failed || trilha_audit_write(sample->handle, &entry, NULL) != TRILHA_OK) return;
  pthread_mutex_lock(&sample->mutex);
  sample->trail_code[0] = '\0';
  pthread_mutex_unlock(&sample->mutex);
}

static void look_once(trilha_sample *sample) {
  look l = {0};
  trilha_error error = {0};
  trilha_status status = look_at(sample->handle, &l, &error);
  if (status == TRILHA_OK) try_trail(sample);
  pthread_mutex_lock(&sample->mutex);
  sample->up = status == TRILHA_OK;
  sample->looked_ns = trilha_clock_monotonic_ns();
  memcpy(sample->code, error.code, sizeof sample->code);
  if (sample->up) keep(sample, &l);
  pthread_mutex_unlock(&sample->mutex);
  trilha_dead_letter_statistics_free(l.letters);
  trilha_consumer_states_free(l.consumers);
}

/* False: the end was asked for. */
static bool wait_for_next(trilha_sample *sample) {
  struct timespec until;
  int64_t at_ns = trilha_clock_monotonic_ns() + LOOK_MS * INT64_C(1000000);
  until = (struct timespec){.tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000)};
  pthread_mutex_lock(&sample->mutex);
  while (!sample->ended && trilha_clock_monotonic_ns() < at_ns)
    pthread_cond_timedwait(&sample->ended_changed, &sample->mutex, &until);
  bool goes_on = !sample->ended;
  pthread_mutex_unlock(&sample->mutex);
  return goes_on;
}

static void *sample_loop(void *user) {
  trilha_sample *sample = user;
  do look_once(sample);
  while (wait_for_next(sample));
  return NULL;
}

trilha_status trilha_sample_start(trilha_sample *sample, trilha *handle, trilha_error *err) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&sample->mutex, NULL);
  pthread_cond_init(&sample->ended_changed, &attributes);
  pthread_condattr_destroy(&attributes);
  sample->handle = handle;
  sample->colonies = calloc(TRILHA_SERVE_COLONIES_MAX, sizeof *sample->colonies);
  if (sample->colonies == NULL) return trilha_error_no_memory(err);
  int failed = pthread_create(&sample->thread, NULL, sample_loop, sample);
  sample->runs = failed == 0;
  return failed == 0 ? TRILHA_OK
                     : trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "the store cannot be watched");
}

void trilha_sample_stop(trilha_sample *sample) {
  if (sample->handle == NULL) return;
  pthread_mutex_lock(&sample->mutex);
  sample->ended = true;
  pthread_cond_broadcast(&sample->ended_changed);
  pthread_mutex_unlock(&sample->mutex);
  if (sample->runs) pthread_join(sample->thread, NULL);
  for (size_t i = 0; i < sample->colony_count; i++) free(sample->colonies[i].name);
  free(sample->colonies);
  trilha_consumer_states_free(sample->consumers);
  pthread_cond_destroy(&sample->ended_changed);
  pthread_mutex_destroy(&sample->mutex);
}

bool trilha_sample_is_up(const trilha_sample *sample) {
  return sample->up && trilha_clock_monotonic_ns() - sample->looked_ns < STALE_MS * INT64_C(1000000);
}

bool trilha_sample_is_ready(const trilha_sample *sample) {
  return trilha_sample_is_up(sample) && sample->trail_code[0] == '\0';
}
