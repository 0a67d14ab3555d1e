/* late: on dlopen() and dlsym(). */
#include "late/late.h"

#include <dlfcn.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"

static trilha_status missing(const trilha_late_library *library, const char *why, trilha_error *err) {
  return trilha_error_set(err, TRILHA_UNSUPPORTED, "LIBRARY_MISSING",
                          "%s, which is needed for %s, cannot be loaded: install it (Debian's package %s): %s",
                          library->file, library->needed_for, library->package, why == NULL ? "no reason given" : why);
}

/* An object pointer is no function pointer to ISO C; POSIX says that their representations agree. */
static trilha_status find_all(const trilha_late_library *library, void *handle, void *functions, trilha_error *err) {
  _Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym() gives functions as object pointers");
  char *slots = functions;
  for (size_t i = 0; i < library->count; i++) {
    void *address = dlsym(handle, library->names[i]);
    if (address == NULL) return missing(library, dlerror(), err);
    memcpy(slots + i * sizeof address, &address, sizeof address);
  }
  return TRILHA_OK;
}

/* A leak that a checker finds is told by the library it comes from, so that stays where one runs. */
#if defined(__SANITIZE_ADDRESS__)
#define STAYS_FOR_CHECKERS true
#elif defined(__has_feature)
#define STAYS_FOR_CHECKERS (__has_feature(address_sanitizer))
#else
#define STAYS_FOR_CHECKERS false
#endif

/* A program that has the library itself shares its own with us: it may hand us a connection that it made. Otherwise the
 * names stay out of its way. All is bound at once: what the library lacks in turn is told here, and not by the end of
 * the process at some call. */
static void *open_library(const trilha_late_library *library) {
  bool stays = !library->passing || STAYS_FOR_CHECKERS;
  if (dlsym(RTLD_DEFAULT, library->names[0]) != NULL) return dlopen(NULL, RTLD_NOW);
  return dlopen(library->file, RTLD_NOW | RTLD_LOCAL | (stays ? RTLD_NODELETE : 0));
}

static trilha_status load(const trilha_late_library *library, void **ret_handle, void *functions, trilha_error *err) {
  void *handle = open_library(library);
  if (handle == NULL) return missing(library, dlerror(), err);
  trilha_status status = find_all(library, handle, functions, err);
  if (status != TRILHA_OK)
    dlclose(handle);
  else
    *ret_handle = handle;
  return status;
}

/* Under the lock. */
static trilha_status load_once(const trilha_late_library *library, trilha_late_state *state, void *functions,
                               trilha_error *err) {
  if (trilha_late_is_loaded(state)) return TRILHA_OK;
  trilha_status status = load(library, &state->handle, functions, err);
  if (status == TRILHA_OK) atomic_store_explicit(&state->loaded, true, memory_order_release);
  return status;
}

trilha_status trilha_late_load(const trilha_late_library *library, trilha_late_state *state, void *functions,
                               trilha_error *err) {
  if (trilha_late_is_loaded(state)) return TRILHA_OK;
  pthread_mutex_lock(&state->lock);
  trilha_status status = load_once(library, state, functions, err);
  pthread_mutex_unlock(&state->lock);
  return status;
}

trilha_status trilha_late_begin(const trilha_late_library *library, trilha_late_state *state, void *functions,
                                trilha_error *err) {
  TRILHA_ASSERT(library->passing);
  pthread_mutex_lock(&state->lock);
  trilha_status status = load_once(library, state, functions, err);
  if (status == TRILHA_OK) state->users++;
  pthread_mutex_unlock(&state->lock);
  return status;
}

void trilha_late_end(trilha_late_state *state) {
  pthread_mutex_lock(&state->lock);
  TRILHA_ASSERT(state->users > 0);
  state->users--;
  pthread_mutex_unlock(&state->lock);
}

void trilha_late_unload(trilha_late_state *state) {
  pthread_mutex_lock(&state->lock);
  if (state->users == 0 && trilha_late_is_loaded(state)) {
    atomic_store_explicit(&state->loaded, false, memory_order_relaxed);
    dlclose(state->handle);
    state->handle = NULL;
  }
  pthread_mutex_unlock(&state->lock);
}
