/* tests/transport/plain: see plain.h. */
#include "plain.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/uuid.h"

enum { CUT_BYTES = 65536, FAR_TOO_LATE_MS = 1500, IMPATIENT_MS = 300 };

typedef struct plain {
  plain_flaw flaw;
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t changed;
  transport_mood mood;
  int times;
  transport_arrival arrivals[TRANSPORT_ARRIVALS_MAX], kept_back;
  size_t arrived, holding, under_way;
  bool keeps_back, closing;
  pthread_mutex_t turn; /* of the one that sends one at a time */
} plain;

static plain_flaw next_flaw = PLAIN_HONEST; /* of the next one that is opened: set by plain_with() */

static void *open_plain(const char *folder) {
  plain *p = calloc(1, sizeof *p);
  pthread_condattr_t monotonic;
  (void)folder;
  if (p == NULL) return NULL;
  p->flaw = next_flaw;
  pthread_mutex_init(&p->lock, NULL);
  pthread_mutex_init(&p->turn, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&p->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return p;
}

static void close_plain(void *self) {
  plain *p = self;
  pthread_mutex_lock(&p->lock);
  p->closing = true;
  pthread_cond_broadcast(&p->changed);
  while (p->under_way > 0) pthread_cond_wait(&p->changed, &p->lock);
  pthread_mutex_unlock(&p->lock);
  if (p->flaw == PLAIN_LEAVES_A_DESCRIPTOR && dup(STDERR_FILENO) < 0) perror("dup");
  pthread_cond_destroy(&p->changed);
  pthread_mutex_destroy(&p->lock);
  pthread_mutex_destroy(&p->turn);
  free(p);
}

static bool set_mood(void *self, transport_mood mood, int times) {
  plain *p = self;
  pthread_mutex_lock(&p->lock);
  p->mood = mood;
  p->times = times;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
  return true;
}

/* A trilha_send has no words for a time. */
static bool set_mood_of_sender(void *self, transport_mood mood, int times) {
  return mood != TRANSPORT_NAMES_A_TIME && set_mood(self, mood, times);
}

static size_t arrivals(void *self, transport_arrival *out, size_t max) {
  plain *p = self;
  pthread_mutex_lock(&p->lock);
  if (p->keeps_back && p->arrived < TRANSPORT_ARRIVALS_MAX) p->arrivals[p->arrived++] = p->kept_back;
  p->keeps_back = false;
  size_t count = p->arrived < max ? p->arrived : max;
  memcpy(out, p->arrivals, count * sizeof *out);
  pthread_mutex_unlock(&p->lock);
  return count;
}

static size_t holding(void *self) {
  plain *p = self;
  pthread_mutex_lock(&p->lock);
  size_t count = p->holding;
  pthread_mutex_unlock(&p->lock);
  return count;
}

/* --- one message ---------------------------------------------------------------------------------------------------
 */

static transport_arrival arrival_of(const plain *p, const trilha_envelope *e) {
  transport_arrival a = {.sequence = e->aggregate_sequence, .revision = e->revision};
  unsigned char digest[TRILHA_SHA256_SIZE], id[16];
  trilha_text payload = e->payload;
  if (p->flaw == PLAIN_CUTS_PAYLOADS && payload.size > CUT_BYTES) payload.size = CUT_BYTES;
  if (p->flaw == PLAIN_SAYS_REVISION_ONE) a.revision = 1;
  trilha_sha256(payload, digest);
  trilha_hex(digest, sizeof digest, a.payload_sha256);
  snprintf(a.aggregate_key, sizeof a.aggregate_key, "%.*s", (int)e->aggregate_key.size, e->aggregate_key.data);
  snprintf(a.message_id, sizeof a.message_id, "%.*s", (int)e->message_id.size, e->message_id.data);
  if (p->flaw == PLAIN_MAKES_NEW_IDS && trilha_uuid_v4(id)) trilha_uuid_format(id, a.message_id);
  return a;
}

/* Under the lock. */
static void receive(plain *p, const trilha_envelope *e) {
  transport_arrival a = arrival_of(p, e);
  if (p->flaw == PLAIN_LOSES_ONE && a.sequence == 3) return;
  if (p->arrived == TRANSPORT_ARRIVALS_MAX) return;
  bool swapped = p->flaw == PLAIN_SWAPS_NEIGHBOURS && strcmp(a.aggregate_key, "k0") == 0;
  if (swapped && !p->keeps_back) {
    p->kept_back = a;
    p->keeps_back = true;
    return;
  }
  p->arrivals[p->arrived++] = a;
  if (!swapped) return;
  if (p->arrived < TRANSPORT_ARRIVALS_MAX) p->arrivals[p->arrived++] = p->kept_back;
  p->keeps_back = false;
}

static void wait_ms(plain *p, int64_t ms) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  while (!p->closing && pthread_cond_timedwait(&p->changed, &p->lock, &until) != ETIMEDOUT) {
  }
}

static void hold(plain *p) {
  p->holding++;
  while (p->mood == TRANSPORT_HOLDS && !p->closing) pthread_cond_wait(&p->changed, &p->lock);
  p->holding--;
}

static void answer(trilha_send_result *result, trilha_status status, const char *code) {
  result->status = status;
  result->error.status = status;
  snprintf(result->error.code, sizeof result->error.code, "%s", code);
  snprintf(result->error.text, sizeof result->error.text, "the destination says %s", code);
}

static void refuse(const plain *p, const trilha_envelope *e, trilha_send_result *result) {
  answer(result, p->flaw == PLAIN_REPEATS_REFUSALS ? TRILHA_UNAVAILABLE : TRILHA_INVALID, "REFUSED");
  if (p->flaw == PLAIN_SHOWS_PAYLOADS)
    snprintf(result->error.text, sizeof result->error.text, "refused: %.*s", (int)e->payload.size, e->payload.data);
}

/* Under the lock. */
static void decide(plain *p, const trilha_envelope *e, trilha_send_result *result) {
  transport_mood mood = p->mood;
  bool counted = mood == TRANSPORT_FAILS || mood == TRANSPORT_REFUSES || mood == TRANSPORT_NAMES_A_TIME ||
                 mood == TRANSPORT_IS_SILENT;
  if (mood == TRANSPORT_IS_AWAY) {
    if (p->flaw != PLAIN_SENDS_TO_NOBODY) answer(result, TRILHA_UNAVAILABLE, "AWAY");
    return;
  }
  receive(p, e);
  if (mood == TRANSPORT_HOLDS) hold(p);
  if (!counted || p->times == 0) return;
  p->times--;
  if (mood == TRANSPORT_FAILS && p->flaw != PLAIN_SWALLOWS_FAILURES) answer(result, TRILHA_UNAVAILABLE, "FAILED");
  if (mood == TRANSPORT_REFUSES) refuse(p, e, result);
  if (mood == TRANSPORT_NAMES_A_TIME) {
    answer(result, TRILHA_UNAVAILABLE, "LATER");
    if (p->flaw != PLAIN_FORGETS_THE_TIME) result->retry_after_ms = 3600000;
  }
  if (mood == TRANSPORT_IS_SILENT) {
    wait_ms(p, e->timeout_ms + (p->flaw == PLAIN_HAS_NO_PATIENCE ? FAR_TOO_LATE_MS : 0));
    answer(result, TRILHA_TIMEOUT, "LATE");
  }
}

static void deliver(plain *p, const trilha_envelope *e, trilha_send_result *result) {
  bool alone = p->flaw == PLAIN_SENDS_ONE_AT_A_TIME;
  if (alone) pthread_mutex_lock(&p->turn);
  pthread_mutex_lock(&p->lock);
  decide(p, e, result);
  pthread_mutex_unlock(&p->lock);
  if (alone) pthread_mutex_unlock(&p->turn);
}

static trilha_status send_plain(void *user, const trilha_envelope *e, trilha_error *error) {
  trilha_send_result result = {0};
  deliver(user, e, &result);
  if (result.status != TRILHA_OK) *error = result.error;
  return result.status;
}

typedef struct letter {
  plain *plain;
  const trilha_envelope *envelope;
  trilha_sending *sending;
} letter;

static void *carry(void *user) {
  letter l = *(letter *)user;
  trilha_send_result result = {0};
  free(user);
  deliver(l.plain, l.envelope, &result);
  trilha_sending_done(l.sending, &result);
  pthread_mutex_lock(&l.plain->lock);
  l.plain->under_way--;
  pthread_cond_broadcast(&l.plain->changed);
  pthread_mutex_unlock(&l.plain->lock);
  return NULL;
}

static void begin_plain(void *user, const trilha_envelope *e, trilha_sending *sending) {
  plain *p = user;
  pthread_t thread;
  pthread_attr_t detached;
  letter *l = malloc(sizeof *l);
  if (l == NULL) abort();
  *l = (letter){p, e, sending};
  pthread_mutex_lock(&p->lock);
  p->under_way++;
  pthread_mutex_unlock(&p->lock);
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &detached, carry, l) != 0) abort();
  pthread_attr_destroy(&detached);
}

/* --- subjects --------------------------------------------------------------------------------------------------------
 */

static trilha_transport sender(void *self, trilha_text destination) {
  return (trilha_transport){
      .destination = destination, .send = send_plain, .user = self, .guarantee = TRILHA_GUARANTEE_DURABLE};
}

static trilha_transport beginner(void *self, trilha_text destination) {
  return (trilha_transport){
      .destination = destination, .begin = begin_plain, .user = self, .guarantee = TRILHA_GUARANTEE_DURABLE};
}

const transport_subject plain_sender = {.name = "a trilha_send",
                                        .open = open_plain,
                                        .close = close_plain,
                                        .transport = sender,
                                        .set = set_mood_of_sender,
                                        .arrivals = arrivals,
                                        .holding = holding};
const transport_subject plain_beginner = {.name = "a trilha_begin",
                                          .open = open_plain,
                                          .close = close_plain,
                                          .transport = beginner,
                                          .set = set_mood,
                                          .arrivals = arrivals,
                                          .holding = holding};

transport_subject plain_with(plain_flaw flaw) {
  transport_subject s = plain_beginner;
  next_flaw = flaw;
  if (flaw == PLAIN_SENDS_ONE_AT_A_TIME || flaw == PLAIN_LEAVES_A_DESCRIPTOR || flaw == PLAIN_HAS_NO_PATIENCE)
    s.patience_ms = IMPATIENT_MS;
  return s;
}
