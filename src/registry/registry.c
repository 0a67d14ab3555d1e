/* registry: the view that publishers use, and how it stays fresh.
 *
 * One thread at a time looks at the store. From half of refresh_ms on, the first publisher that passes does it while
 * the others go on with what they have; at refresh_ms everybody waits for the answer. So the bound on staleness is
 * hard, and in normal traffic nobody waits for it but one. */
#include "registry/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/diagnostics.h"
#include "base/error.h"
#include "registry/registry_internal.h"

#define NOT_REGISTERED "Tipo de evento não registrado no Registry" /* ruling R5: byte-exact */

trilha_status trilha_registry_new(trilha_store *store, unsigned refresh_ms, const trilha_diagnostics *diagnostics,
                                  trilha_registry **ret_registry, trilha_error *err) {
  trilha_registry *r = calloc(1, sizeof *r);
  if (r == NULL) return trilha_error_no_memory(err);
  r->store = store;
  if (diagnostics != NULL) r->diagnostics = *diagnostics;
  r->refresh_ns = (int64_t)(refresh_ms == 0 ? TRILHA_REGISTRY_REFRESH_MS : refresh_ms) * 1000000;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&r->lock, NULL);
  pthread_cond_init(&r->refreshed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  *ret_registry = r;
  return TRILHA_OK;
}

void trilha_registry_free(trilha_registry *registry) {
  if (registry == NULL) return;
  trilha_registry_snapshot_free(registry->snapshot);
  pthread_cond_destroy(&registry->refreshed);
  pthread_mutex_destroy(&registry->lock);
  free(registry);
}

/* --- looking at the store --------------------------------------------------------------------------------- */

/* Under the lock: how old is what we have? */
static bool due(const trilha_registry *r, int64_t age_ns) {
  return r->snapshot == NULL || r->expired || r->noted_revision > r->snapshot->revision || age_ns >= r->refresh_ns;
}

/* Sleeps until a look ends or the deadline passes; false then. */
static bool wait_for_look(trilha_registry *r, trilha_deadline deadline) {
  if (deadline.monotonic_ns == INT64_MAX) {
    pthread_cond_wait(&r->refreshed, &r->lock);
    return true;
  }
  struct timespec until = {.tv_sec = (time_t)(deadline.monotonic_ns / 1000000000),
                           .tv_nsec = (long)(deadline.monotonic_ns % 1000000000)};
  return pthread_cond_timedwait(&r->refreshed, &r->lock, &until) != ETIMEDOUT;
}

static void tell_refreshed(const trilha_registry *r, const trilha_registry_snapshot *snapshot) {
  trilha_fields fields = {.count = 0};
  trilha_fields_i64(&fields, "revision", snapshot->revision);
  trilha_fields_i64(&fields, "versions", (int64_t)snapshot->count);
  trilha_emit(&r->diagnostics, TRILHA_DEBUG, "registry.refreshed", "the registry was read anew", &fields);
}

/* Without the lock, by the one thread that set `refreshing`: only that one replaces the snapshot, so reading it is
 * safe. The revision is read before the rows: what is registered in between is loaded now and looked for once more
 * later, never missed. */
static trilha_status look(trilha_registry *r, trilha_deadline deadline, trilha_registry_snapshot **ret_new,
                          trilha_error *err) {
  int64_t revision = 0;
  trilha_status status = r->store->op->registry_revision(r->store, deadline, &revision, err);
  if (status != TRILHA_OK) return status;
  if (r->snapshot != NULL && r->snapshot->revision == revision) return TRILHA_OK;
  status = trilha_registry_snapshot_load(r, revision, r->snapshot, deadline, ret_new, err);
  if (status == TRILHA_OK) tell_refreshed(r, *ret_new);
  return status;
}

/* Under the lock, which is given back while the store answers. */
static trilha_status refresh_locked(trilha_registry *r, trilha_deadline deadline, trilha_error *err) {
  bool expired = r->expired;
  r->refreshing = true;
  r->expired = false;
  uint64_t number = ++r->looks_begun;
  int64_t began = trilha_clock_monotonic_ns(), noted = r->noted_revision;
  pthread_mutex_unlock(&r->lock);
  trilha_registry_snapshot *fresh = NULL;
  trilha_status status = look(r, deadline, &fresh, err);
  pthread_mutex_lock(&r->lock);
  trilha_registry_snapshot *old = NULL;
  if (status == TRILHA_OK) {
    if (fresh != NULL) {
      old = r->snapshot;
      r->snapshot = fresh;
    }
    r->checked_ns = began;
    r->looks_done = number;
    if (r->noted_revision == noted) r->noted_revision = 0;
  } else if (expired) {
    r->expired = true;
  }
  r->refreshing = false;
  pthread_cond_broadcast(&r->refreshed);
  if (old != NULL) {
    pthread_mutex_unlock(&r->lock);
    trilha_registry_snapshot_free(old);
    pthread_mutex_lock(&r->lock);
  }
  return status;
}

/* Under the lock: makes the view younger than refresh_ms. */
static trilha_status be_fresh(trilha_registry *r, trilha_deadline deadline, trilha_error *err) {
  for (;;) {
    int64_t age = trilha_clock_monotonic_ns() - r->checked_ns;
    bool must = due(r, age);
    if (!must && (r->refreshing || age < r->refresh_ns / 2)) return TRILHA_OK;
    if (!r->refreshing) {
      if (must) return refresh_locked(r, deadline, err);
      trilha_error ignored = {0}; /* ahead of time: when it fails, what we have is still young enough */
      if (refresh_locked(r, deadline, &ignored) != TRILHA_OK) trilha_error_clear(&ignored);
      return TRILHA_OK;
    }
    if (!wait_for_look(r, deadline))
      return trilha_error_set(err, TRILHA_TIMEOUT, "REGISTRY_TIMEOUT",
                              "the deadline passed while the registry was read");
  }
}

/* Under the lock: a look that begins after this call. */
static trilha_status look_afresh(trilha_registry *r, trilha_deadline deadline, trilha_error *err) {
  uint64_t wanted = r->looks_begun + 1;
  while (r->looks_done < wanted) {
    if (!r->refreshing) return refresh_locked(r, deadline, err);
    if (!wait_for_look(r, deadline))
      return trilha_error_set(err, TRILHA_TIMEOUT, "REGISTRY_TIMEOUT",
                              "the deadline passed while the registry was read");
  }
  return TRILHA_OK;
}

/* --- acquiring --------------------------------------------------------------------------------------------- */

static bool usable(const trilha_registry_entry *entry) {
  return entry != NULL && !entry->type.deprecated && entry->program != NULL;
}

static trilha_status refuse(const trilha_registry_entry *entry, trilha_error *err) {
  const char *code = entry == NULL            ? "EVENT_TYPE_NOT_FOUND"
                     : entry->type.deprecated ? "EVENT_TYPE_DEPRECATED"
                                              : "EVENT_TYPE_WITHOUT_SCHEMA";
  return trilha_error_set(err, TRILHA_INVALID, code, "%s", NOT_REGISTERED);
}

/* A reference to the entry, usable or not, or NULL; what refuses a publish is looked up afresh first. */
static trilha_status find(trilha_registry *r, trilha_text tipo, trilha_text versao, trilha_deadline deadline,
                          trilha_registry_entry **ret_entry, trilha_error *err) {
  pthread_mutex_lock(&r->lock);
  uint64_t looks = r->looks_begun;
  trilha_status status = be_fresh(r, deadline, err);
  trilha_registry_entry *entry = NULL;
  if (status == TRILHA_OK) {
    entry = trilha_registry_snapshot_find(r->snapshot, tipo, versao);
    /* looks_done > looks: a look that began after this call has answered already. */
    if (!usable(entry) && r->looks_done <= looks) {
      status = look_afresh(r, deadline, err);
      entry = status == TRILHA_OK ? trilha_registry_snapshot_find(r->snapshot, tipo, versao) : NULL;
    }
  }
  *ret_entry = trilha_registry_entry_ref(entry);
  pthread_mutex_unlock(&r->lock);
  return status;
}

trilha_status trilha_registry_acquire(trilha_registry *registry, trilha_text tipo, trilha_text versao,
                                      trilha_deadline deadline, const trilha_registry_type **ret_type,
                                      trilha_error *err) {
  trilha_registry_entry *entry = NULL;
  trilha_status status = find(registry, tipo, versao, deadline, &entry, err);
  if (status != TRILHA_OK) return status;
  if (!usable(entry))
    status = refuse(entry, err);
  else
    status = trilha_registry_entry_compile(registry, entry, err);
  if (status == TRILHA_OK)
    *ret_type = &entry->type;
  else
    trilha_registry_entry_unref(entry);
  return status;
}

void trilha_registry_release(trilha_registry *registry, const trilha_registry_type *type) {
  (void)registry;
  /* The type is the entry's first member, and entries are made on the heap, so that taking const away is fine. */
  if (type != NULL) trilha_registry_entry_unref((trilha_registry_entry *)(uintptr_t)type);
}

void trilha_registry_note_revision(trilha_registry *registry, int64_t revision) {
  pthread_mutex_lock(&registry->lock);
  if ((registry->snapshot == NULL || revision > registry->snapshot->revision) && revision > registry->noted_revision)
    registry->noted_revision = revision;
  pthread_mutex_unlock(&registry->lock);
}

void trilha_registry_expire(trilha_registry *registry) {
  pthread_mutex_lock(&registry->lock);
  registry->expired = true;
  pthread_mutex_unlock(&registry->lock);
}
