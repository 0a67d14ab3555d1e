/* serve: keys from the URL of an identity provider, fetched by a thread of its own: no request ever waits for them.
 *
 * The set is replaced whole or not at all, so what a provider answers by mistake lets nobody in and nobody out. A token
 * whose key is not there asks for a new look, at most one a minute, whoever sends how many of them.
 */
#include "serve/jwks.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/diagnostics.h"
#include "base/error.h"
#include "fetch/fetch.h"

enum { FETCH_MS = 10000, LEAST_S = 60, REFRESH_S = 300 };

struct trilha_jwks {
  char *url, *ca_file;
  const trilha_diagnostics *diagnostics;
  pthread_t thread;
  atomic_bool ended; /* also ends a fetch under way */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool wanted, urgent;
  atomic_int_fast64_t fetched_s; /* Unix time of the last set that was taken over; 0: none yet */
  pthread_rwlock_t lock;
  trilha_keys *keys; /* under lock; NULL: none yet */
};

static void say(const trilha_jwks *j, trilha_status status, size_t count, const trilha_error *error) {
  trilha_fields fields = {0};
  if (status == TRILHA_OK) {
    trilha_fields_i64(&fields, "keys", (int64_t)count);
    trilha_emit(j->diagnostics, TRILHA_INFO, "serve.jwks_fetched", "the identity provider's keys were read", &fields);
  } else {
    trilha_fields_error(&fields, error);
    trilha_emit(j->diagnostics, TRILHA_WARNING, "serve.jwks_failed",
                "the identity provider's keys could not be read: the earlier ones stay", &fields);
  }
}

static void fetch_once(trilha_jwks *j) {
  TRILHA_BUFFER_SCOPED body;
  trilha_buffer_init(&body, 0);
  trilha_error error = {0};
  trilha_keys *keys = NULL;
  const trilha_fetch_request request = {.url = j->url,
                                        .https_only = true,
                                        .ca_file = j->ca_file,
                                        .answer_bytes_max = TRILHA_KEY_FILE_MAX,
                                        .timeout_ms = FETCH_MS,
                                        .stop = &j->ended};
  trilha_status status = trilha_fetch(&request, &body, &error);
  if (status == TRILHA_OK) status = trilha_keys_new(&keys, &error);
  if (status == TRILHA_OK)
    status = trilha_keys_add_set(keys, trilha_buffer_text(&body), "serve.access.jwks_url", &error);
  if (atomic_load(&j->ended)) {
    trilha_keys_free(keys);
    return;
  }
  say(j, status, keys == NULL ? 0 : trilha_keys_count(keys), &error);
  if (status == TRILHA_OK) {
    pthread_rwlock_wrlock(&j->lock);
    trilha_keys *old = j->keys;
    j->keys = keys;
    pthread_rwlock_unlock(&j->lock);
    keys = old;
    atomic_store(&j->fetched_s, trilha_clock_wall_us() / 1000000);
  }
  trilha_keys_free(keys);
}

/* Until the next fetch is due: regularly; when it is wanted, not before LEAST_S have passed; when it is urgent, at
 * once. */
static bool wait_for_turn(trilha_jwks *j) {
  const int64_t began_s = trilha_clock_monotonic_ns() / 1000000000;
  pthread_mutex_lock(&j->mutex);
  int timed_out = 0;
  while (!atomic_load(&j->ended) && !j->urgent && timed_out == 0) {
    const struct timespec at = {.tv_sec = began_s + 1 + (j->wanted ? LEAST_S : REFRESH_S)};
    bool wanted = j->wanted;
    timed_out = pthread_cond_timedwait(&j->changed, &j->mutex, &at);
    if (wanted != j->wanted) timed_out = 0;
  }
  j->wanted = j->urgent = false;
  pthread_mutex_unlock(&j->mutex);
  return !atomic_load(&j->ended);
}

static void *fetch_loop(void *user) {
  trilha_jwks *j = user;
  do fetch_once(j);
  while (wait_for_turn(j));
  return NULL;
}

static char *copy_of(trilha_text text) {
  return text.data == NULL ? NULL : strndup(text.data, text.size);
}

trilha_status trilha_jwks_start(trilha_text url, trilha_text ca_file, const trilha_diagnostics *diagnostics,
                                trilha_jwks **ret_jwks, trilha_error *err) {
  trilha_jwks *j = calloc(1, sizeof *j);
  if (j == NULL) return trilha_error_no_memory(err);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&j->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&j->mutex, NULL);
  pthread_rwlock_init(&j->lock, NULL);
  j->diagnostics = diagnostics;
  j->url = copy_of(url);
  j->ca_file = copy_of(ca_file);
  trilha_status status =
      j->url == NULL || (ca_file.data != NULL && j->ca_file == NULL) ? trilha_error_no_memory(err) : TRILHA_OK;
  int failed = status == TRILHA_OK ? pthread_create(&j->thread, NULL, fetch_loop, j) : 0;
  if (failed != 0) status = trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", failed, "keys cannot be fetched");
  if (status == TRILHA_OK) {
    *ret_jwks = j;
    return status;
  }
  free(j->url);
  free(j->ca_file);
  free(j);
  return status;
}

static void wake(trilha_jwks *j, bool urgent) {
  pthread_mutex_lock(&j->mutex);
  j->wanted = true;
  j->urgent = j->urgent || urgent;
  pthread_cond_signal(&j->changed);
  pthread_mutex_unlock(&j->mutex);
}

void trilha_jwks_refresh(trilha_jwks *jwks) {
  if (jwks != NULL) wake(jwks, true);
}

trilha_token_verdict trilha_jwks_verify(trilha_jwks *j, const trilha_token_rules *rules, trilha_text token,
                                        int64_t now_us, trilha_token_identity *ret_identity) {
  pthread_rwlock_rdlock(&j->lock);
  trilha_token_verdict verdict =
      j->keys == NULL ? TRILHA_TOKEN_KEY : trilha_token_verify(j->keys, rules, token, now_us, ret_identity);
  pthread_rwlock_unlock(&j->lock);
  if (verdict == TRILHA_TOKEN_KEY) wake(j, false);
  return verdict;
}

int64_t trilha_jwks_fetched_s(const trilha_jwks *jwks) {
  return atomic_load(&jwks->fetched_s);
}

void trilha_jwks_stop(trilha_jwks *j) {
  if (j == NULL) return;
  atomic_store(&j->ended, true);
  wake(j, true);
  pthread_join(j->thread, NULL);
  trilha_keys_free(j->keys);
  pthread_rwlock_destroy(&j->lock);
  pthread_mutex_destroy(&j->mutex);
  pthread_cond_destroy(&j->changed);
  free(j->url);
  free(j->ca_file);
  free(j);
}
