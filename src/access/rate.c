/* access: token buckets, kept as the time at which each is full again (the generic cell rate algorithm). */
#include <pthread.h>
#include <sys/mman.h>

#include "access/access.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/uuid.h"

enum { WAYS = 8, SETS = TRILHA_RATE_CLIENTS_MAX / WAYS };
#define MINUTE_NS INT64_C(60000000000)
#define SECOND_NS INT64_C(1000000000)

typedef struct bucket {
  trilha_address client;
  int64_t full_ns; /* 0: never used */
} bucket;

struct trilha_rate {
  pthread_mutex_t mutex;
  int64_t interval_ns, depth_ns; /* of one token; of all */
  uint64_t seed;
  bucket buckets[SETS][WAYS];
};

/* Of its own pages: only the sets that a client has come to take memory. */
static trilha_rate *claim(void) {
  void *pages = mmap(NULL, sizeof(trilha_rate), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

static void give_back(trilha_rate *rate) {
  munmap(rate, sizeof *rate);
}

trilha_status trilha_rate_new(int64_t per_minute, int64_t burst, trilha_rate **ret_rate, trilha_error *err) {
  trilha_rate *rate = claim();
  if (rate == NULL) return trilha_error_no_memory(err);
  if (!trilha_random_bytes(&rate->seed, sizeof rate->seed)) {
    give_back(rate);
    return trilha_error_set(err, TRILHA_INTERNAL, "RANDOM_UNAVAILABLE", "the system gives no random bytes");
  }
  pthread_mutex_init(&rate->mutex, NULL);
  rate->interval_ns = MINUTE_NS / per_minute;
  rate->depth_ns = rate->interval_ns * burst;
  *ret_rate = rate;
  return TRILHA_OK;
}

void trilha_rate_free(trilha_rate *rate) {
  if (rate == NULL) return;
  pthread_mutex_destroy(&rate->mutex);
  give_back(rate);
}

/* The client's bucket, or one that is full and therefore says nothing; NULL when there is neither. */
static bucket *find(trilha_rate *rate, const trilha_address *client, int64_t now_ns) {
  bucket *set = rate->buckets[trilha_hash_bytes(client, sizeof *client, rate->seed) % SETS], *idle = NULL;
  for (size_t i = 0; i < WAYS; i++) {
    if (set[i].full_ns > now_ns && memcmp(&set[i].client, client, sizeof *client) == 0) return &set[i];
    if (set[i].full_ns <= now_ns) idle = &set[i];
  }
  return idle;
}

static int64_t seconds_up(int64_t ns) {
  return ns <= SECOND_NS ? 1 : (ns + SECOND_NS - 1) / SECOND_NS;
}

bool trilha_rate_take(trilha_rate *rate, const trilha_address *client, int64_t now_ns, int64_t *ret_retry_s) {
  pthread_mutex_lock(&rate->mutex);
  bucket *b = find(rate, client, now_ns);
  bool taken = false;
  if (b == NULL) {
    *ret_retry_s = seconds_up(rate->interval_ns);
  } else {
    int64_t from = b->full_ns > now_ns ? b->full_ns : now_ns;
    taken = from + rate->interval_ns - now_ns <= rate->depth_ns;
    if (taken)
      *b = (bucket){.client = *client, .full_ns = from + rate->interval_ns};
    else
      *ret_retry_s = seconds_up(from + rate->interval_ns - now_ns - rate->depth_ns);
  }
  pthread_mutex_unlock(&rate->mutex);
  return taken;
}
