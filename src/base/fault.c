/* base/fault: places where tests kill, fail or pause a process. */
#include "base/fault.h"

/* A release holds nothing of this file. */
#ifdef TRILHA_FAULT_POINTS

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/text.h"

enum { ARMED_MAX = 16 };

/* How often each armed entry of the environment variable was passed, by its place there. The one mutable variable of
 * the library, in test builds only: occurrences are counted over all threads of the process. */
static struct {
  pthread_mutex_t lock;
  int64_t passed[ARMED_MAX];
} counts = {.lock = PTHREAD_MUTEX_INITIALIZER};

void trilha_fault_reset(void) {
  pthread_mutex_lock(&counts.lock);
  memset(counts.passed, 0, sizeof counts.passed);
  pthread_mutex_unlock(&counts.lock);
}

static int64_t pass(size_t entry) {
  pthread_mutex_lock(&counts.lock);
  int64_t now = ++counts.passed[entry];
  pthread_mutex_unlock(&counts.lock);
  return now;
}

static trilha_text cut(trilha_text *rest, char at) {
  const char *found = rest->size == 0 ? NULL : memchr(rest->data, at, rest->size);
  size_t size = found == NULL ? rest->size : (size_t)(found - rest->data);
  trilha_text part = {rest->data, size};
  size_t skip = found == NULL ? size : size + 1;
  *rest = (trilha_text){rest->data + skip, rest->size - skip};
  return part;
}

static int64_t occurrence_of(trilha_text count) {
  if (count.size == 0) return 1;
  int64_t value = 0;
  for (size_t i = 0; i < count.size; i++) {
    TRILHA_ASSERT(count.data[i] >= '0' && count.data[i] <= '9' && value < INT32_MAX);
    value = value * 10 + (count.data[i] - '0');
  }
  TRILHA_ASSERT(value > 0);
  return value;
}

/* Does what the entry "kill", "fail" or "pause" says; true for "fail". A test that arms nonsense must not pass for want
 * of a fault. */
static bool act(trilha_text action) {
  if (trilha_text_is(action, "fail")) return true;
  bool kills = trilha_text_is(action, "kill");
  TRILHA_ASSERT(kills || trilha_text_is(action, "pause"));
  kill(getpid(), kills ? SIGKILL : SIGSTOP);
  return false;
}

bool trilha_fault_point(const char *name) {
  trilha_text rest = trilha_text_of(getenv("TRILHA_FAULT"));
  bool failed = false;
  for (size_t entry = 0; rest.size > 0; entry++) {
    TRILHA_ASSERT(entry < ARMED_MAX);
    trilha_text count = cut(&rest, ',');
    trilha_text point = cut(&count, '=');
    trilha_text action = cut(&count, ':');
    if (!trilha_text_is(point, name)) continue;
    if (pass(entry) == occurrence_of(count)) failed = act(action) || failed;
  }
  return failed;
}

#else
/* ISO C wants a translation unit to declare something. */
typedef int trilha_fault_compiled_away;
#endif
