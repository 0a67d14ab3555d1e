/* tests/fault/effects: what the faults of the relay share: workers that are processes of their own and deliver through
 * the memory transport, the history of what they sent, and its checker.
 *
 * A worker writes `try KEY SEQUENCE` before it hands a message to the transport and `ok KEY SEQUENCE` when the
 * transport has accepted it; the effect itself is a row of the table `applied`, in the transaction of its acceptance.
 */
#ifndef TRILHA_TESTS_FAULT_EFFECTS_H
#define TRILHA_TESTS_FAULT_EFFECTS_H

#include <sys/types.h>

#include "outbox/producer.h"
#include "trilha/relay.h"

enum { EFFECTS_KEYS = 3, EFFECTS_PATIENCE_MS = 120000, EFFECTS_LEASE_MS = 1500 };

typedef struct effects_verdict {
  size_t sent;      /* handed to the transport */
  size_t lost;      /* committed by its producer and without effect */
  size_t foreign;   /* an effect of a message that no producer committed */
  size_t repeated;  /* effects beyond the first */
  size_t reordered; /* effects, or messages handed over, before an earlier one of their aggregate */
  size_t unsettled; /* not Dispatched */
} effects_verdict;

/* The producer's outbox and the tables of the effects. */
trilha_producer effects_open(const trilha_fixture *f);
void effects_say(const trilha_producer *p, int count);
effects_verdict effects_check(const trilha_producer *p, const char *history);
/* The test fails unless the verdict is spotless. */
void effects_expect_clean(const trilha_producer *p, const char *history);
/* Every lane is gone and every message has an effect. False: not within the patience. */
bool effects_wait(const trilha_producer *p);

/* A relay of one transport with short leases and pauses. A kill or a cut is no fault of the message: attempts do not
 * run out. */
trilha_relay_options effects_relay_options(const trilha_fixture *outbox, const trilha_transport *transport);

/* A role's whole life. `outbox_url` and `inbox_url` name the same database, perhaps by different ways. how: "once"
 * (until nothing is due), "follow" (until killed), "careless" (as once, and effects without the inbox). Its last line
 * is `lost N`: leases that were somebody else's. The exit status. */
int effects_role_worker(const char *outbox_url, const char *inbox_url, const char *history, const char *how);
pid_t effects_start_worker(const char *url, const char *history, const char *how, const char *fault);

/* A producer on PostgreSQL until it is killed: one message after the other, each committed for itself. Notes `ID KEY
 * SEQUENCE` of each that was committed; "trusting": of each that was not refused in words either. */
int effects_role_producer(const char *url, const char *path, const char *how);
/* Noted as committed, and not in the outbox. */
size_t effects_missing(const trilha_producer *p, const char *path);

#endif
