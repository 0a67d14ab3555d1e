/* serve: telling people that something is wrong, by a program of the operator's: not by the bus, which may be what is
 * wrong (specification 001), and on a thread of its own, which neither the store nor that program can hold up.
 *
 * The program is told each change once: when an alert begins and when it ends. One runs at a time; a change that comes
 * meanwhile is told after it, or not at all when it has gone by then. One that fails is tried again a minute later.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diagnostics.h"
#include "base/error.h"
#include "serve/serve_internal.h"

enum { TICK_MS = 1000, RUN_MS = 30000, AGAIN_MS = 60000, LOOKS_AWAY = 3, ENVIRONMENT_EXTRA = 4, VARIABLE_SIZE = 96 };
enum { DEAD_LETTERS, STORE, ALERTS };

typedef struct alert {
  bool firing, told; /* is; was said last */
  int64_t value, again_ns;
} alert;

struct trilha_alerts {
  char **argv;
  trilha_sample *sample;
  const trilha_diagnostics *diagnostics;
  int64_t alert_at;
  alert alerts[ALERTS];
  int looks_away; /* one after the other at which the store was not ready */
  pid_t child;    /* 0: none */
  size_t about;   /* what it tells */
  int64_t child_until_ns;
  pthread_t thread;
  pthread_mutex_t mutex; /* ended */
  pthread_cond_t changed;
  bool ended;
};

static const char *const NAMES[ALERTS] = {"dead_letters", "store"};

static void look(trilha_alerts *a) {
  trilha_sample *sample = a->sample;
  pthread_mutex_lock(&sample->mutex);
  bool looked = sample->looked_ns != 0, ready = trilha_sample_is_up(sample);
  int64_t pending = sample->pending_total;
  pthread_mutex_unlock(&sample->mutex);
  a->looks_away = ready || !looked ? 0 : a->looks_away + 1;
  a->alerts[STORE].firing = a->looks_away >= LOOKS_AWAY;
  a->alerts[STORE].value = a->alerts[STORE].firing;
  if (!ready) return; /* what is not known begins and ends nothing */
  a->alerts[DEAD_LETTERS].firing = pending >= a->alert_at;
  a->alerts[DEAD_LETTERS].value = pending;
}

static void say(const trilha_alerts *a, const char *name, trilha_level level, const char *message, int status) {
  trilha_fields fields = {0};
  trilha_fields_string(&fields, "alert", NAMES[a->about]);
  trilha_fields_string(&fields, "state", a->alerts[a->about].told ? "firing" : "resolved");
  if (level != TRILHA_INFO) trilha_fields_i64(&fields, "status", status);
  trilha_emit(a->diagnostics, level, name, message, &fields);
}

static void failed(trilha_alerts *a, int status) {
  say(a, "serve.alert_failed", TRILHA_ERROR, "the alert command failed; it is run again in a minute", status);
  a->alerts[a->about].told = !a->alerts[a->about].told;
  a->alerts[a->about].again_ns = trilha_clock_monotonic_ns() + AGAIN_MS * INT64_C(1000000);
}

/* With its own process group, so that what it started ends with it; nothing of ours open but standard error. */
static int spawn(trilha_alerts *a, char **environment) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  int code = posix_spawnp(&a->child, a->argv[0], &files, &attributes, a->argv, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return code;
}

static void begin(trilha_alerts *a, size_t about) {
  alert *changed = &a->alerts[about];
  size_t inherited = 0;
  char variables[ENVIRONMENT_EXTRA][VARIABLE_SIZE];
  while (environ[inherited] != NULL) inherited++;
  char **environment = calloc(inherited + ENVIRONMENT_EXTRA + 1, sizeof *environment);
  if (environment == NULL) return; /* the next tick tries again */
  snprintf(variables[0], VARIABLE_SIZE, "TRILHA_ALERT=%s", NAMES[about]);
  snprintf(variables[1], VARIABLE_SIZE, "TRILHA_ALERT_STATE=%s", changed->firing ? "firing" : "resolved");
  snprintf(variables[2], VARIABLE_SIZE, "TRILHA_ALERT_VALUE=%lld", (long long)changed->value);
  snprintf(variables[3], VARIABLE_SIZE, "TRILHA_ALERT_AT=%lld", about == STORE ? 1LL : (long long)a->alert_at);
  for (size_t i = 0; i < ENVIRONMENT_EXTRA; i++) environment[i] = variables[i];
  memcpy(environment + ENVIRONMENT_EXTRA, environ, inherited * sizeof *environment);
  a->about = about;
  changed->told = changed->firing;
  a->child_until_ns = trilha_clock_monotonic_ns() + RUN_MS * INT64_C(1000000);
  int code = spawn(a, environment);
  free(environment);
  if (code == 0) return;
  a->child = 0;
  failed(a, code);
}

/* True while it runs. */
static bool attend(trilha_alerts *a) {
  int status = 0;
  if (a->child == 0) return false;
  if (trilha_clock_monotonic_ns() >= a->child_until_ns) kill(-a->child, SIGKILL);
  pid_t done = waitpid(a->child, &status, WNOHANG);
  if (done == 0 || (done < 0 && errno == EINTR)) return true;
  a->child = 0;
  if (done > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    say(a, "serve.alert_told", TRILHA_INFO, "the alert command was run", 0);
  else
    failed(a, done > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return false;
}

static void tick(trilha_alerts *a) {
  look(a);
  if (attend(a)) return;
  for (size_t i = 0; i < ALERTS; i++) {
    alert *changed = &a->alerts[i];
    if (changed->firing == changed->told || trilha_clock_monotonic_ns() < changed->again_ns) continue;
    begin(a, i);
    return;
  }
}

static void *alert_loop(void *user) {
  trilha_alerts *a = user;
  pthread_mutex_lock(&a->mutex);
  while (!a->ended) {
    pthread_mutex_unlock(&a->mutex);
    tick(a);
    int64_t at_ns = trilha_clock_monotonic_ns() + TICK_MS * INT64_C(1000000);
    const struct timespec until = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
    pthread_mutex_lock(&a->mutex);
    if (!a->ended) pthread_cond_timedwait(&a->changed, &a->mutex, &until);
  }
  pthread_mutex_unlock(&a->mutex);
  return NULL;
}

static char **words_of(const trilha_text *words, size_t count) {
  char **argv = calloc(count + 1, sizeof *argv);
  for (size_t i = 0; argv != NULL && i < count; i++) {
    argv[i] = strndup(words[i].data, words[i].size);
    if (argv[i] != NULL) continue;
    while (i > 0) free(argv[--i]);
    free(argv);
    return NULL;
  }
  return argv;
}

static void alerts_free(trilha_alerts *a) {
  for (size_t i = 0; a->argv != NULL && a->argv[i] != NULL; i++) free(a->argv[i]);
  free(a->argv);
  pthread_cond_destroy(&a->changed);
  pthread_mutex_destroy(&a->mutex);
  free(a);
}

trilha_status trilha_alerts_start(trilha_sample *sample, const trilha_config *config,
                                  const trilha_diagnostics *diagnostics, trilha_alerts **ret_alerts,
                                  trilha_error *err) {
  size_t count;
  const trilha_text *words = trilha_config_list(config, TRILHA_SETTING_ALERTS_COMMAND, &count);
  if (count == 0) return TRILHA_OK;
  trilha_alerts *a = calloc(1, sizeof *a);
  if (a == NULL) return trilha_error_no_memory(err);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&a->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&a->mutex, NULL);
  a->sample = sample;
  a->diagnostics = diagnostics;
  a->alert_at = trilha_config_number(config, TRILHA_SETTING_DEAD_LETTERS_ALERT_AT);
  a->argv = words_of(words, count);
  int code = a->argv == NULL ? ENOMEM : pthread_create(&a->thread, NULL, alert_loop, a);
  if (code != 0) {
    alerts_free(a);
    return trilha_error_set_errno(err, TRILHA_IO, "THREAD_FAILED", code, "alerts cannot be told");
  }
  *ret_alerts = a;
  return TRILHA_OK;
}

void trilha_alerts_stop(trilha_alerts *a) {
  if (a == NULL) return;
  pthread_mutex_lock(&a->mutex);
  a->ended = true;
  pthread_cond_signal(&a->changed);
  pthread_mutex_unlock(&a->mutex);
  pthread_join(a->thread, NULL);
  if (a->child != 0) {
    kill(-a->child, SIGKILL);
    (void)!waitpid(a->child, NULL, 0);
  }
  alerts_free(a);
}
