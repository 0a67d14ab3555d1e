/* telemetry/measure: counters and histograms of one process. */
#include "telemetry/telemetry_internal.h"

static const struct {
  int64_t ns;
  const char *seconds;
} BOUNDS[TRILHA_DURATION_BUCKETS] = {
    {500000, "0.0005"},  {1000000, "0.001"}, {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},
    {25000000, "0.025"}, {100000000, "0.1"}, {500000000, "0.5"},  {2500000000, "2.5"}, {INT64_C(30000000000), "30"}};

const char *trilha_duration_bound(size_t bucket) {
  return BOUNDS[bucket].seconds;
}

static void add(trilha_durations *durations, int64_t took_ns) {
  size_t bucket = 0;
  while (bucket < TRILHA_DURATION_BUCKETS && took_ns > BOUNDS[bucket].ns) bucket++;
  durations->buckets[bucket]++;
  durations->count++;
  durations->sum_ns += took_ns > 0 ? (uint64_t)took_ns : 0;
}

void trilha_measure_publish(trilha_telemetry *t, trilha_publish_outcome outcome, int64_t took_ns) {
  if (t == NULL) return;
  pthread_mutex_lock(&t->mutex);
  add(&t->measured.publish[outcome], took_ns);
  pthread_mutex_unlock(&t->mutex);
}

void trilha_measure_divergence(trilha_telemetry *t) {
  if (t == NULL) return;
  pthread_mutex_lock(&t->mutex);
  t->measured.divergences++;
  pthread_mutex_unlock(&t->mutex);
}

void trilha_measure_redaction_drop(trilha_telemetry *t) {
  if (t == NULL) return;
  pthread_mutex_lock(&t->mutex);
  t->measured.redaction_drops++;
  pthread_mutex_unlock(&t->mutex);
}

/* The place of a colony; the last one, which has no name, for all that came too late. Mutex held. */
static trilha_measured_colony *place_of(trilha_measurements *m, trilha_text colonia) {
  for (size_t i = 0; i < m->colony_count; i++)
    if (trilha_text_is(colonia, m->colonies[i].name)) return &m->colonies[i];
  if (m->colony_count == TRILHA_MEASURED_COLONIES_MAX) return &m->colonies[TRILHA_MEASURED_COLONIES_MAX];
  trilha_measured_colony *place = &m->colonies[m->colony_count++];
  memcpy(place->name, colonia.data, colonia.size);
  return place;
}

void trilha_measure_process(trilha_telemetry *t, trilha_text colonia, bool success, int64_t took_ns) {
  if (t == NULL) return;
  colonia = trilha_cut(colonia, TRILHA_SPAN_TEXT_BYTES_MAX);
  pthread_mutex_lock(&t->mutex);
  trilha_measured_colony *place = place_of(&t->measured, colonia);
  add(success ? &place->succeeded : &place->failed, took_ns);
  pthread_mutex_unlock(&t->mutex);
}

void trilha_telemetry_measurements(trilha_telemetry *t, trilha_measurements *ret_measurements) {
  pthread_mutex_lock(&t->mutex);
  *ret_measurements = t->measured;
  pthread_mutex_unlock(&t->mutex);
}

bool trilha_measurements_any(const trilha_measurements *m) {
  uint64_t all = 0;
  for (size_t i = 0; i < TRILHA_PUBLISH_OUTCOMES; i++) all += m->publish[i].count;
  for (size_t i = 0; i <= TRILHA_MEASURED_COLONIES_MAX; i++)
    all += m->colonies[i].failed.count + m->colonies[i].succeeded.count;
  return all != 0;
}
