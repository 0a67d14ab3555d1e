/* tests/transport/conformance: what every transport must do, as tests. README.md says how to run them on a transport of
 * your own: this header, conformance.c and cases.c need libtrilha's public headers, SQLite and cmocka, and nothing else
 * of this tree.
 *
 * Each case has an outbox of its own in a scratch SQLite file, a destination that the subject makes, and a worker: a
 * relay in this process for a trilha_transport, or the program for what only it has. Verdicts come from the outbox and
 * from what the destination has received, never from a clock; waiting has a patience, which only a broken transport
 * uses up. */
#ifndef TRILHA_TESTS_TRANSPORT_CONFORMANCE_H
#define TRILHA_TESTS_TRANSPORT_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trilha/outbox.h"
#include "trilha/relay.h"
#include "trilha/transport.h"

enum { TRANSPORT_PATIENCE_MS = 60000, TRANSPORT_ARRIVALS_MAX = 512 };

/* One message as the destination received it. What does not travel over the wire stays 0 or "". */
typedef struct transport_arrival {
  char message_id[37], aggregate_key[32];
  int64_t sequence, revision;
  char payload_sha256[65]; /* of the bytes that came; "": the destination keeps the value, not its bytes */
} transport_arrival;

/* What the destination does with the next messages. */
typedef enum transport_mood {
  TRANSPORT_ACCEPTS,      /* all */
  TRANSPORT_FAILS,        /* `times` of them for now, then it accepts */
  TRANSPORT_REFUSES,      /* `times` of them for good, then it accepts */
  TRANSPORT_NAMES_A_TIME, /* `times` of them: not before an hour has gone, then it accepts */
  TRANSPORT_HOLDS,        /* takes them and answers none until it accepts again; what it holds is accepted then */
  TRANSPORT_IS_SILENT,    /* takes `times` of them and never answers */
  TRANSPORT_IS_AWAY       /* cannot be reached until it accepts again */
} transport_mood;

typedef struct transport_subject {
  const char *name;
  /* A destination and a transport to it. May use the scratch folder. NULL: cannot run here, and the suite is skipped.
   */
  void *(*open)(const char *folder);
  void (*close)(void *self);
  /* One of the two. command: the words for `trilha worker run`, ended by NULL, which live as long as self; its standard
   * output is appended to the file `output` of the scratch folder. */
  trilha_transport (*transport)(void *self, trilha_text destination);
  char **(*command)(void *self);
  /* False: the destination has no such mood, and what needs it is skipped by name. */
  bool (*set)(void *self, transport_mood mood, int times);
  /* What came so far, oldest first, accepted or not; how many. */
  size_t (*arrivals)(void *self, transport_arrival *out, size_t max);
  size_t (*holding)(void *self); /* how many it holds now; NULL: it does not hold */
  size_t (*effects)(void *self); /* how many different messages had an effect; NULL: it does not know repeats */
  int64_t patience_ms;           /* 0: TRANSPORT_PATIENCE_MS; for subjects that are made to fail */
} transport_subject;

/* --- cases.c ------------------------------------------------------------------------------------------------------ */

typedef struct transport_bench transport_bench;
/* NULL: it holds. Anything else says what does not. */
typedef const char *(*transport_case)(transport_bench *bench);
typedef struct transport_case_entry {
  const char *name; /* a sentence */
  transport_case run;
} transport_case_entry;
extern const transport_case_entry transport_cases[]; /* ended by a NULL name */
/* Returned by a case whose mood the destination does not have. */
extern const char transport_not_possible[];

/* --- running ------------------------------------------------------------------------------------------------------ */

/* All cases as cmocka tests; the program's exit status. */
int transport_conformance(const transport_subject *subject);
/* One case on a fresh subject: for controls, which must be caught. */
const char *transport_try(const transport_subject *subject, const char *case_name);

/* --- the bench, for cases --------------------------------------------------------------------------------------------
 */

struct transport_bench {
  const transport_subject *subject;
  void *self;
  char folder[64], url[96];
  struct sqlite3 *producer;
  trilha_outbox *outbox;
  char ids[TRANSPORT_ARRIVALS_MAX][37]; /* of what was said, in order */
  size_t said;
  transport_arrival arrivals[TRANSPORT_ARRIVALS_MAX];
  size_t arrived;
  char complaint[400];
};

typedef struct transport_worker_options {
  unsigned timeout_ms, attempts; /* 0: an hour; 1000 */
  bool once;
} transport_worker_options;
typedef struct transport_worker transport_worker;

bool transport_bench_open(transport_bench *bench, const transport_subject *subject);
void transport_bench_close(transport_bench *bench);
/* Enqueues and commits. */
void transport_say(transport_bench *bench, const char *key, const char *payload);
transport_worker *transport_worker_start(transport_bench *bench, transport_worker_options options);
void transport_worker_stop(transport_worker *worker);
/* False: it did not end well. */
bool transport_worker_join(transport_worker *take_worker);
/* Until nothing is due now. */
bool transport_work_once(transport_bench *bench, transport_worker_options options);
/* Until every lane is gone, or the patience is over. */
bool transport_drain(transport_bench *bench);
/* Asks the destination anew; how many came. */
size_t transport_look(transport_bench *bench);
size_t transport_times_arrived(const transport_bench *bench, const char *message_id);
bool transport_set(transport_bench *bench, transport_mood mood, int times);

typedef struct transport_lane {
  bool found;
  char status[20], error_code[48], error_text[1100];
  int64_t attempts, head;
} transport_lane;
transport_lane transport_lane_of(transport_bench *bench, const char *key);
int64_t transport_patience(const transport_bench *bench);
void transport_sleep_ms(int64_t ms);
int64_t transport_now_ms(void);
/* A complaint in the bench's own memory. */
const char *transport_complain(transport_bench *bench, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
