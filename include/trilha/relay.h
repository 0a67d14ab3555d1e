/* trilha/relay.h: delivering an outbox's messages.
 *
 * Each message is sent at least once, after the commit it was born in; the messages of one lane (tenant, aggregate,
 * destination) in the order of their commits, and none before every earlier one was sent or discarded. Lanes do not
 * wait for each other: a worker has many in flight, and a slow one holds up no other. Several workers, in one process
 * or many, share an outbox: a lane is under one lease at a time, and whoever lost a lease cannot confirm anything.
 *
 * Sources: specification 001, rules 5 to 8; rulings R21, R31, R32, R35.
 */
#ifndef TRILHA_RELAY_H
#define TRILHA_RELAY_H

#include "trilha/outbox.h"
#include "trilha/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Limits (docs/limits.md). */
enum {
  TRILHA_RELAY_WORKERS_MAX = 64,           /**< threads of one relay */
  TRILHA_RELAY_LANES_MAX = 256,            /**< lanes of one claim */
  TRILHA_RELAY_RUN_MAX = 256,              /**< messages of one lane under one lease */
  TRILHA_RELAY_BEAT_MS = 5000,             /**< how often a relay says in the outbox that it is there */
  TRILHA_RELAY_RUN_BYTES_MAX = 1024 * 1024 /**< payload of one lane under one lease, beyond its first message */
};

/** Zero means the default. */
typedef struct trilha_relay_options {
  trilha_outbox_options outbox; /**< where the messages are */
  const trilha_transport
      *transports;        /**< one a destination; destinations that are not named are left to other relays */
  size_t transport_count; /**< 1 to TRILHA_OUTBOX_DESTINATIONS_MAX */
  unsigned workers;       /**< threads, each with a connection of its own; default 1 */
  unsigned lanes;         /**< most lanes that one worker has in flight for one destination; default 16 */
  unsigned run;           /**< most messages of a lane under one lease; default 16 */
  unsigned tenant_quota;  /**< most lanes of one tenant in flight for one destination; default 8 */
  unsigned timeout_ms;    /**< of one send; default 10,000 */
  unsigned margin_ms;     /**< by which a lease outlives a send at least; default 5,000 */
  unsigned
      lease_ms; /**< default 30,000; must exceed timeout_ms + margin_ms; renewed before a send that would not fit */
  unsigned backoff_ms;     /**< the first pause is at most this, each later one at most twice as much; default 1,000 */
  unsigned backoff_max_ms; /**< default 300,000. Pauses are uniform from 0 (full jitter) */
  unsigned attempts_max;   /**< then the message is dead-lettered; default 10 */
  unsigned scan_ms; /**< longest sleep, and so the worst latency of an idle relay; default 1,000, on SQLite 100. The
                       sleep grows with the time that nothing was due: an eighth of it, from 1 ms up to this */
  int64_t inbox_retention_ms; /**< how long consumers keep their inbox; 0: not checked. Must be at least attempts_max
                                 times backoff_max_ms plus restore_window_ms, or a late repeat would be taken for new */
  int64_t restore_window_ms;  /**< how far back a restored backup of the producer may be */
  bool once;                  /**< end when nothing is due */
  const char *credential;     /**< the service in whose name it dispatches, where the outbox asks for one
                                 (trilha_service_grant); default: on PostgreSQL the login, on SQLite none */
} trilha_relay_options;

/** What a relay has done since it was made. */
typedef struct trilha_relay_counts {
  int64_t sent, failed, dead; /**< messages: accepted; failed attempts; dead letters among those */
  int64_t leases_lost;        /**< lanes whose lease was somebody else's when this relay wanted to go on or confirm */
} trilha_relay_counts;

typedef struct trilha_relay trilha_relay;

/** Checks the options: USAGE (WINDOW_INVALID) says which windows do not fit, with their numbers. Opens nothing yet. */
TRILHA_API trilha_status trilha_relay_new(const trilha_relay_options *options, trilha_relay **ret_relay,
                                          trilha_error *error) TRILHA_MUST_USE;
/** Runs until trilha_relay_stop(), a drain (trilha_outbox_worker_drain()), `once`, or an error that does not pass by
 * itself. A database that is away is waited for. */
TRILHA_API trilha_status trilha_relay_run(trilha_relay *relay, trilha_error *error) TRILHA_MUST_USE;
/** From any thread: a send under way is waited for; what was not sent is given back at once. */
TRILHA_API void trilha_relay_stop(trilha_relay *relay);
/** From any thread, after a commit with an enqueue in it: ends the sleep. Only an optimisation; the scan finds
 * everything. */
TRILHA_API void trilha_relay_wake(trilha_relay *relay);
TRILHA_API void trilha_relay_counted(const trilha_relay *relay,
                                     trilha_relay_counts *ret_counts); /**< from any thread */
TRILHA_API void trilha_relay_free(trilha_relay *relay);                /**< NULL is allowed */

/** The transport into Trilha's own event log: user is a trilha handle. Idempotent by message id: the event's id is the
 * message's. What the log refuses (type, payload), and an id whose content there differs (ruling R32), is
 * dead-lettered. */
TRILHA_API trilha_status trilha_send_to_bus(void *user, const trilha_envelope *envelope, trilha_error *error);

#ifdef __cplusplus
}
#endif
#endif
