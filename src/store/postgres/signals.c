/* store/postgres: hints that the log grew. Within the process a condition variable; between processes NOTIFY, sent by a
 * thread of its own on its own connection after the commit, so that publishing never waits for it (NOTIFY takes a
 * cluster-wide lock at commit), and many commits share one. None is sent while nobody listens: listeners bear a mark
 * (an advisory lock) that is looked at first, and ten times a second while it is missing. A hint may be lost: whoever
 * waits looks again after the scan interval at the latest. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "postgres_internal.h"

struct trilha_pg_signals {
  trilha_pg_store *s;
  int wake_fd; /* an eventfd: something to send, or to stop */
  pthread_t thread;

  pthread_mutex_t lock; /* guards what follows; never held across I/O */
  pthread_cond_t grown;
  int64_t newest;      /* largest sequence heard of */
  int64_t to_send;     /* largest sequence to announce, 0: none */
  uint64_t look_again; /* raised when listening begins: what was stored just before was announced to nobody */
  bool thread_runs, wants_listening, stopping;

  /* the thread's own */
  trilha_pg_connection connection;
  bool listening;
  int64_t pause_ms;           /* before the next attempt to connect */
  trilha_deadline unfollowed; /* until then nobody listens, as far as we know: nothing is announced */
};

static void tell_lost(trilha_pg_signals *g, const trilha_error *error) {
  trilha_fields fields = {.count = 0};
  trilha_fields_string(&fields, "store", g->s->display_url);
  trilha_fields_error(&fields, error);
  trilha_emit(&g->s->diagnostics, TRILHA_WARNING, "postgres.listener_lost",
              "wake-ups from other processes are off; the scan interval holds", &fields);
}

static void tell_restored(trilha_pg_signals *g) {
  trilha_fields fields = {.count = 0};
  trilha_fields_string(&fields, "store", g->s->display_url);
  trilha_emit(&g->s->diagnostics, TRILHA_INFO, "postgres.listener_restored", "wake-ups from other processes work again",
              &fields);
}

static void heard(trilha_pg_signals *g, int64_t sequence) {
  pthread_mutex_lock(&g->lock);
  if (sequence > g->newest) {
    g->newest = sequence;
    pthread_cond_broadcast(&g->grown);
  }
  pthread_mutex_unlock(&g->lock);
}

static void wake_thread(trilha_pg_signals *g) {
  uint64_t one = 1;
  ssize_t written = write(g->wake_fd, &one, sizeof one);
  (void)written; /* only fails when the counter is full: then it is awake anyway */
}

/* --- the thread ------------------------------------------------------------------------------------------------ */

static void read_notifications(trilha_pg_signals *g) {
  for (PGnotify *note = PQnotifies(g->connection.pg); note != NULL; note = PQnotifies(g->connection.pg)) {
    heard(g, strtoll(note->extra, NULL, 10));
    PQfreemem(note);
  }
}

static trilha_status run_one(trilha_pg_signals *g, const trilha_pg_step *step, PGresult **ret_result,
                             trilha_error *err) {
  trilha_pg_reach reach;
  return trilha_pg_run(&g->connection, step, 1, trilha_deadline_in_ms(g->s->target.connect_timeout_ms), ret_result,
                       &reach, err);
}

/* True: this session bears the listeners' mark. A publisher that looks at it holds it for a moment, so there are
 * several tries; somebody who keeps it for ever makes publishers send hints, which is all that is wanted. */
static trilha_status bear_mark(trilha_pg_signals *g, trilha_error *err) {
  bool borne = false;
  for (int i = 0; i < TRILHA_PG_MARK_TRIES && !borne; i++) {
    const trilha_pg_step step = {.sql = trilha_sql_postgres_listen_mark, .once = true};
    TRILHA_PG_RESULT_SCOPED *result = NULL;
    trilha_status status = run_one(g, &step, &result, err);
    if (status != TRILHA_OK) return status;
    borne = trilha_pg_get_bool(result, 0, 0);
  }
  return TRILHA_OK;
}

static trilha_status listen(trilha_pg_signals *g, trilha_error *err) {
  trilha_status status = bear_mark(g, err);
  if (status != TRILHA_OK) return status;
  const trilha_pg_step step = {.sql = trilha_sql_postgres_listen, .once = true};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  status = run_one(g, &step, &result, err);
  g->listening = status == TRILHA_OK;
  if (!g->listening) return status;
  pthread_mutex_lock(&g->lock);
  g->look_again++;
  pthread_cond_broadcast(&g->grown);
  pthread_mutex_unlock(&g->lock);
  return TRILHA_OK;
}

/* Connected, and listening where that is wanted and possible. */
static trilha_status attend(trilha_pg_signals *g, bool wants_listening, trilha_error *err) {
  uint64_t before = g->connection.generation;
  trilha_deadline deadline = trilha_deadline_in_ms(TRILHA_PG_SIGNALS_CONNECT_MS);
  trilha_status status = trilha_pg_connect(&g->s->target, &g->connection, deadline, err);
  if (status == TRILHA_OK && before != g->connection.generation) {
    if (g->listening) tell_restored(g); /* the server hung up and took us back at once */
    g->listening = false;
  }
  if (status != TRILHA_OK || g->listening || !wants_listening || g->connection.pooled) return status;
  return listen(g, err);
}

static trilha_status announce(trilha_pg_signals *g, int64_t sequence, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, sequence);
  const trilha_pg_step step = {.sql = trilha_sql_postgres_notify, .parameters = &p};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = run_one(g, &step, &result, err);
  if (status == TRILHA_OK && !trilha_pg_get_bool(result, 0, 0))
    g->unfollowed = trilha_deadline_in_ms(TRILHA_PG_UNFOLLOWED_MS);
  return status;
}

typedef struct orders {
  int64_t to_send;
  bool later; /* something is to be announced, once it is time to look again whether anybody listens */
  bool wants_listening, stopping;
} orders;

static orders take_orders(trilha_pg_signals *g) {
  const bool now = trilha_deadline_passed(g->unfollowed);
  pthread_mutex_lock(&g->lock);
  orders o = {.later = !now && g->to_send > 0, .wants_listening = g->wants_listening, .stopping = g->stopping};
  if (now && !o.stopping) { /* else it is for send_last */
    o.to_send = g->to_send;
    g->to_send = 0;
  }
  pthread_mutex_unlock(&g->lock);
  return o;
}

/* What could not be announced: on the next connection. */
static void owe(trilha_pg_signals *g, int64_t sequence) {
  pthread_mutex_lock(&g->lock);
  if (sequence > g->to_send) g->to_send = sequence;
  pthread_mutex_unlock(&g->lock);
}

static void drain_wake_ups(trilha_pg_signals *g) {
  uint64_t count;
  ssize_t got = read(g->wake_fd, &count, sizeof count);
  (void)got; /* nothing there: another look drained it */
}

static void sleep_until_needed(trilha_pg_signals *g, bool announces_later) {
  struct pollfd fds[2] = {{.fd = g->wake_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
  if (g->connection.pg != NULL) fds[1].fd = PQsocket(g->connection.pg);
  int wait_ms = announces_later ? (int)trilha_deadline_left_ms(g->unfollowed, TRILHA_PG_UNFOLLOWED_MS) : -1;
  if (poll(fds, 2, wait_ms) > 0 && fds[0].revents != 0) drain_wake_ups(g);
}

/* Pauses double up to the scan interval. */
static void lose(trilha_pg_signals *g, const trilha_error *error) {
  if (g->pause_ms == 0) tell_lost(g, error);
  trilha_pg_disconnect(&g->connection);
  g->listening = false;
  int64_t doubled = g->pause_ms == 0 ? TRILHA_PG_RECONNECT_MS_MIN : 2 * g->pause_ms;
  g->pause_ms = doubled < g->s->scan_interval_ms ? doubled : g->s->scan_interval_ms;
}

static void regain(trilha_pg_signals *g) {
  if (g->pause_ms != 0) tell_restored(g);
  g->pause_ms = 0;
}

/* Wake-ups do not shorten it: a publisher's stream of them would hammer a server that is down. False: the store closes.
 */
static bool pause_for(trilha_pg_signals *g, int64_t ms) {
  trilha_deadline until = trilha_deadline_in_ms(ms);
  for (;;) {
    pthread_mutex_lock(&g->lock);
    bool stopping = g->stopping;
    pthread_mutex_unlock(&g->lock);
    if (stopping || trilha_deadline_passed(until)) return !stopping;
    struct pollfd fd = {.fd = g->wake_fd, .events = POLLIN};
    if (poll(&fd, 1, (int)trilha_deadline_left_ms(until, 1000)) > 0) drain_wake_ups(g);
  }
}

static bool listens_or_wants_to(trilha_pg_signals *g) {
  pthread_mutex_lock(&g->lock);
  bool wants = g->wants_listening;
  pthread_mutex_unlock(&g->lock);
  return wants || g->connection.pg != NULL;
}

static void *signals_thread(void *user) {
  trilha_pg_signals *g = user;
  /* A process that publishes one event and ends needs no second connection: its hint leaves by the writer's when it
   * closes. */
  if (!listens_or_wants_to(g) && !pause_for(g, TRILHA_PG_SIGNALS_DELAY_MS)) return NULL;
  for (;;) {
    orders o = take_orders(g);
    if (o.stopping) return NULL;
    trilha_error error = {0};
    trilha_status status = attend(g, o.wants_listening, &error);
    if (status == TRILHA_OK) regain(g);
    if (status == TRILHA_OK && o.to_send > 0) status = announce(g, o.to_send, &error);
    if (status == TRILHA_OK) {
      read_notifications(g);
      sleep_until_needed(g, o.later);
    } else {
      owe(g, o.to_send);
      lose(g, &error);
      if (!pause_for(g, g->pause_ms)) return NULL;
    }
  }
}

/* At the first need: a process that only reads pages has no thread. */
static void start_thread(trilha_pg_signals *g) {
  if (g->thread_runs || g->stopping) return;
  g->thread_runs = pthread_create(&g->thread, NULL, signals_thread, g) == 0; /* without it the scan interval holds */
}

/* --- what others call ------------------------------------------------------------------------------------------- */

trilha_status trilha_pg_signals_new(trilha_pg_store *s, trilha_pg_signals **ret_signals, trilha_error *err) {
  trilha_pg_signals *g = calloc(1, sizeof *g);
  if (g == NULL) return trilha_error_no_memory(err);
  g->s = s;
  g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (g->wake_fd < 0) {
    int why = errno;
    free(g);
    return trilha_error_set_errno(err, TRILHA_IO, "SYSTEM", why, "no event descriptor");
  }
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&g->grown, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&g->lock, NULL);
  *ret_signals = g;
  return TRILHA_OK;
}

/* The hint that the thread had no time for: others should not wait a scan interval for a short-lived publisher's event.
 */
static void send_last(trilha_pg_signals *g) {
  trilha_pg_connection *c = &g->s->writer;
  if (g->to_send == 0 || c->pg == NULL || PQstatus(c->pg) != CONNECTION_OK) return;
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, g->to_send);
  const trilha_pg_step step = {.sql = trilha_sql_postgres_notify, .parameters = &p, .once = true};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_reach reach;
  trilha_deadline deadline = trilha_deadline_in_ms(TRILHA_PG_NOTIFY_CLOSE_MS);
  if (trilha_pg_run(c, &step, 1, deadline, &result, &reach, NULL) != TRILHA_OK) return; /* a hint */
}

void trilha_pg_signals_free(trilha_pg_signals *g) {
  if (g == NULL) return;
  pthread_mutex_lock(&g->lock);
  g->stopping = true;
  bool runs = g->thread_runs;
  pthread_cond_broadcast(&g->grown);
  pthread_mutex_unlock(&g->lock);
  wake_thread(g);
  if (runs) pthread_join(g->thread, NULL);
  send_last(g);
  trilha_pg_disconnect(&g->connection);
  close(g->wake_fd);
  pthread_cond_destroy(&g->grown);
  pthread_mutex_destroy(&g->lock);
  free(g);
}

void trilha_pg_signals_stored(trilha_pg_signals *g, int64_t sequence) {
  if (sequence <= 0) return;
  heard(g, sequence);
  pthread_mutex_lock(&g->lock);
  bool first = g->to_send == 0;
  if (sequence > g->to_send) g->to_send = sequence;
  start_thread(g);
  pthread_mutex_unlock(&g->lock);
  if (first) wake_thread(g);
}

trilha_status trilha_pg_wait(trilha_store *store, int64_t after, trilha_deadline deadline, trilha_error *err) {
  (void)err;
  trilha_pg_signals *g = trilha_pg_of(store)->signals;
  trilha_deadline scan = trilha_deadline_in_ms(trilha_pg_of(store)->scan_interval_ms);
  bool whole = deadline.monotonic_ns <= scan.monotonic_ns; /* then the end of the wait is the caller's, not ours */
  int64_t until_ns = whole ? deadline.monotonic_ns : scan.monotonic_ns;
  struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
  pthread_mutex_lock(&g->lock);
  if (!g->wants_listening) {
    g->wants_listening = true;
    start_thread(g);
    wake_thread(g);
  }
  int timed_out = 0;
  const uint64_t looked = g->look_again;
  while (g->newest <= after && g->look_again == looked && !g->stopping && timed_out != ETIMEDOUT)
    timed_out = pthread_cond_timedwait(&g->grown, &g->lock, &until);
  bool hint = g->newest > after || g->look_again != looked;
  pthread_mutex_unlock(&g->lock);
  return hint || !whole ? TRILHA_OK : TRILHA_TIMEOUT;
}
