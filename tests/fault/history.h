/* tests/fault: what the fault tests share: a seed, processes that play roles, and histories with their checker.
 *
 * A publisher writes a line before each attempt and another when it was answered, so that a kill between the two leaves
 * an attempt of unknown outcome. The checker compares that with the log itself. */
#ifndef TRILHA_TESTS_FAULT_HISTORY_H
#define TRILHA_TESTS_FAULT_HISTORY_H

#include <stdio.h>
#include <sys/types.h>

#include "conformance/publishing.h"
#include "trilha/delivery.h"

/* --- seed and size --------------------------------------------------------------------------------------------------
 */

/* TRILHA_FAULT_SEED, or one from the clock; printed, so that a run can be repeated. */
unsigned fault_seed(void);
/* Uniform enough in [0, below). */
unsigned fault_draw(unsigned *seed, unsigned below);
/* `count` times TRILHA_FAULT_TIMES (default 1; `make fault` sets more). */
int fault_times(int count);

/* --- processes ------------------------------------------------------------------------------------------------------
 */

enum { FAULT_WORDS_MAX = 6 };
/* Starts this program again as `--role words…` (ended by NULL), with "NAME=value" added to its environment when
 * `setting` is not NULL. */
pid_t fault_start(const char *const words[], const char *setting);
/* Its wait status. */
int fault_wait(pid_t pid);
/* Kills and reaps. */
void fault_kill(pid_t pid);
/* As fault_wait, and the test fails unless it exited with 0. */
void fault_expect_end(pid_t pid);
/* Of a file; 0 when there is none. */
size_t fault_lines(const char *path);
/* Waits for `seconds` at most until the file holds `count` lines. */
void fault_wait_for_lines(const char *path, size_t count, int seconds);

/* Opens for a role: leaves the process with status 3 when it cannot. */
trilha *fault_open(const char *url, const char *keyring);
/* Opened for appending; closed by the end of the process. */
int fault_open_history(const char *path);
/* Lines, padded so that each is in the file whole or not at all, whoever is killed when. */
void fault_write(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A role's whole life as the consumer of teste.a for D-4: runs until it is caught up (once) or killed, and closes the
 * handle. The role's exit status. */
int fault_consume(trilha *handle, trilha_handler handler, void *user, unsigned lease_ms, bool once);

/* --- publishing under faults
 * ------------------------------------------------------------------------------------------ */

enum { FAULT_BATCH_MAX = 5 };
/* Publishes `count` new events of type teste.a and notes what became of each; the first failure's status. */
trilha_status fault_publish(trilha *handle, int history, unsigned count, trilha_error *err);
/* Publishes what is not acknowledged again under the same ids, as a caller does after a crash or an unknown outcome;
 * every one must be answered. */
struct fault_history;
void fault_resolve(trilha *handle, struct fault_history *history);

/* --- histories
 * -------------------------------------------------------------------------------------------------------- */

typedef struct fault_attempt {
  char id[37];
  int64_t sequence; /* acknowledged under it; 0: not acknowledged */
  bool duplicate;   /* the acknowledgement said that it had been there */
  bool refused;     /* answered with an error that promises that nothing was stored */
  int publisher;    /* the number of its file */
} fault_attempt;

typedef struct fault_history {
  fault_attempt *attempts;
  size_t count, capacity;
  int publishers;
} fault_history;

/* Adds one publisher's file, in its order. */
void fault_history_read(fault_history *h, const char *path);
void fault_history_done(fault_history *h);

typedef struct fault_verdict {
  size_t lost;       /* acknowledged and absent */
  size_t moved;      /* acknowledged under another sequence than it has */
  size_t foreign;    /* in the log and never attempted */
  size_t betrayed;   /* refused and stored */
  size_t disordered; /* the log, or one publisher's own acknowledgements, not ascending */
  size_t repeated;   /* an id twice */
  size_t stored;     /* rows of the log */
} fault_verdict;

/* Against the log as it stands: reads all of it through `handle`. */
fault_verdict fault_check(const fault_history *h, trilha *handle);
/* The test fails unless the verdict is spotless. */
void fault_expect_clean(const fault_verdict *v);

typedef struct fault_deliveries {
  size_t missing, foreign, repeats, backwards, count;
} fault_deliveries;
/* A consumer's file of sequences against the log. */
fault_deliveries fault_check_deliveries(const char *path, trilha *handle);

#endif
