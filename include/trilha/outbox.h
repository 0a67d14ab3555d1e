/* trilha/outbox.h: a producer's outbox: its tables, routes, and what operators see and do.
 *
 * A message is born in the producer's own transaction: through trilha/postgres.h, trilha/sqlite.h, or plain SQL
 * (docs/outbox.md). The relay (trilha/relay.h) delivers it at least once, in order within its aggregate; the consumer's
 * inbox makes the effect single.
 *
 * Sources: specification 001, rules 3 to 8; rulings R24, R30, R31, R33, R34. An outbox handle is used by one thread at
 * a time.
 */
#ifndef TRILHA_OUTBOX_H
#define TRILHA_OUTBOX_H

#include "trilha/trilha.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Limits (docs/limits.md). */
enum {
  TRILHA_OUTBOX_DESTINATIONS_MAX = 63,     /**< destinations of one outbox */
  TRILHA_OUTBOX_LANES_MAX = 1000,          /**< lanes told at once */
  TRILHA_INBOX_ROWS_MAX = 1000,            /**< rows of an inbox told at once */
  TRILHA_OUTBOX_CREDENTIAL_BYTES_MAX = 63, /**< of a service credential's name, as PostgreSQL's of a role */
  TRILHA_PURGE_BATCH_MAX = 10000,          /**< rows of one transaction of a purge */
  TRILHA_IMPORT_BATCH_MAX = 10000,         /**< rows of one transaction of an import */
  TRILHA_IMPORT_MAPPING_MAX = 65536        /**< bytes of a mapping */
};

/** A message to enqueue. Zero-initialise; absent texts have data NULL. Characters are code points. */
typedef struct trilha_message {
  trilha_text tenant_id;      /**< obligatory, 1–255 characters; single-tenant installations use "default" */
  trilha_text aggregate_type; /**< obligatory, 1–255 characters */
  trilha_text aggregate_key;  /**< obligatory, 1–255 characters: with tenant and type, together at most 2,400 bytes,
                                   what keeps order */
  trilha_text message_type;   /**< obligatory, 1–255 characters; some route must take it */
  trilha_text version;        /**< obligatory, semantic, at most 20 characters */
  trilha_text payload;        /**< obligatory: JSON text of an object, at most 1,048,576 bytes; sent as it is */
  trilha_text origin;         /**< obligatory, 1–100 characters */
  trilha_text correlation_id; /**< obligatory UUID */
  trilha_text message_id;     /**< optional UUID; default: a new UUIDv7 */
  trilha_text company_id;     /**< optional, at most 255 characters */
  trilha_text causation_id;   /**< optional UUID */
  trilha_text traceparent;    /**< optional, W3C Trace Context */
  trilha_text occurred_at;    /**< optional ISO-8601 with Z or offset; default: now by the database's clock */
} trilha_message;

/** What an enqueue gave the message. It exists once the caller's transaction commits. */
typedef struct trilha_enqueued {
  char message_id[37];        /**< lower-case 8-4-4-4-12 */
  int64_t aggregate_sequence; /**< from 1, without gaps, in the order of commits of its aggregate */
} trilha_enqueued;

/* --- the handle ------------------------------------------------------------------------------------------ */

typedef struct trilha_outbox trilha_outbox;

typedef struct trilha_outbox_options {
  const char *url; /**< "sqlite:PATH" or "postgresql://…": the producer's database, which need hold no Trilha store */
  const char *schema; /**< PostgreSQL: the producer's schema, obligatory. SQLite: NULL, or a prefix: "billing" gives
                         billing_outbox_message. Lower-case letters, digits, underscores; at most 40 bytes */
  unsigned lock_timeout_ms; /**< how long a write waits for its turn; default 30000 */
  trilha_diagnostics diagnostics;
} trilha_outbox_options;

/** Opens a producer's database. USAGE: bad URL or schema; UNAVAILABLE: cannot be reached. That the tables are there is
 * found out by the first call that needs them (NOT_FOUND, OUTBOX_NOT_INSTALLED). */
TRILHA_API trilha_status trilha_outbox_open(const trilha_outbox_options *options, trilha_outbox **ret_outbox,
                                            trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_outbox_close(trilha_outbox *outbox); /**< NULL is allowed */

/** Creates or upgrades outbox and inbox in the producer's schema (which is created when it is missing), in one
 * transaction. report (may be NULL) is told each migration's name and "applied", "present" or, on a dry run, "pending".
 * UNSUPPORTED (OUTBOX_NEWER): a newer Trilha was there; CORRUPT (MIGRATION_CHANGED). */
TRILHA_API trilha_status trilha_outbox_install(trilha_outbox *outbox, bool dry_run, trilha_migration_report report,
                                               void *user, trilha_error *error) TRILHA_MUST_USE;
/** The same as SQL for the producer's own migrations; kind is "sqlite" or "postgresql". The text is the caller's, freed
 * with trilha_free(). */
TRILHA_API trilha_status trilha_outbox_install_sql(const char *kind, const char *schema, char **ret_sql,
                                                   trilha_error *error) TRILHA_MUST_USE;
/** PostgreSQL: lets a role do one duty and nothing else: "producer" (enqueues), "relay" (claims and settles, never
 * enqueues), "consumer" (its inbox) or "operator" (looks, retries, discards). UNSUPPORTED on SQLite, where who may
 * write the file may do everything. */
TRILHA_API trilha_status trilha_outbox_grant(trilha_outbox *outbox, trilha_text role, trilha_text duty,
                                             trilha_error *error) TRILHA_MUST_USE;

/** A type goes to every destination whose pattern takes it: the type itself, a beginning followed by '*', or "*". A
 * message keeps the destinations it was enqueued with. Adding what is there changes nothing. */
TRILHA_API trilha_status trilha_outbox_route_add(trilha_outbox *outbox, trilha_text type_pattern,
                                                 trilha_text destination, trilha_error *error) TRILHA_MUST_USE;
/** NOT_FOUND (ROUTE_NOT_FOUND): there is no such route. */
TRILHA_API trilha_status trilha_outbox_route_remove(trilha_outbox *outbox, trilha_text type_pattern,
                                                    trilha_text destination, trilha_error *error) TRILHA_MUST_USE;
/** Visitors: texts live for the call only; anything but OK ends the list and is returned. */
typedef trilha_status (*trilha_outbox_route_visit)(void *user, trilha_text type_pattern, trilha_text destination);
TRILHA_API trilha_status trilha_outbox_routes(trilha_outbox *outbox, trilha_outbox_route_visit visit, void *user,
                                              trilha_error *error) TRILHA_MUST_USE;

/* --- for operators --------------------------------------------------------------------------------------- */

/** How one destination stands, in lanes: a lane is one aggregate with messages for it. */
typedef struct trilha_outbox_standing {
  trilha_text destination;
  int64_t ready, waiting, leased, dead; /**< waiting: for the next attempt after a failure */
  int64_t held;                         /**< neither ready nor waiting: nobody sends them now, and no attempt is used */
  trilha_text held_because; /**< the codes of trilha_outbox_lane.held, parted by ", "; absent: none is held */
  trilha_text head_at;      /**< creation of the oldest message at a head, RFC 3339; absent: none */
} trilha_outbox_standing;
typedef trilha_status (*trilha_outbox_standing_visit)(void *user, const trilha_outbox_standing *standing);
TRILHA_API trilha_status trilha_outbox_status(trilha_outbox *outbox, trilha_outbox_standing_visit visit, void *user,
                                              trilha_error *error) TRILHA_MUST_USE;

/** One lane with work, and the message at its head. */
typedef struct trilha_outbox_lane {
  trilha_text destination, tenant_id, aggregate_type, aggregate_key;
  trilha_text status; /**< of the head: Pending, Dispatching, Failed, DeadLettered (ruling R30) */
  int64_t head_sequence;
  trilha_text message_id, message_type;
  int64_t attempts;   /**< failures of the head; a lease that ran out counts */
  trilha_text due_at; /**< next attempt, or the end of the lease; absent: never by itself */
  trilha_text held;   /**< why nobody sends it now, though it is due or will be: PATH_HELD (another dispatcher has its
                         type), or what every worker of the destination says that leaves it alone: BREAKER_OPEN,
                         ENDPOINT_GONE, DESTINATION_HELD or a transport's own code. Absent: it is not held */
  trilha_text owner;  /**< who has the lease; absent: nobody */
  trilha_text error_code, error_text; /**< of the last failure; absent: none */
  int64_t behind;                     /**< messages that wait behind the head, counted up to 1,000 */
  trilha_text head_at;                /**< creation of the head */
  trilha_text failed_at;              /**< when the head failed last; absent: it has not */
  int64_t place; /**< from 1; the lane's own, and the same for as long as it is there: where a page by place goes on */
} trilha_outbox_lane;
typedef trilha_status (*trilha_outbox_lane_visit)(void *user, const trilha_outbox_lane *lane);
typedef struct trilha_outbox_lanes_filter { /* combined with AND; absent: any */
  trilha_text tenant_id, destination, status;
  trilha_text error_code;    /**< of the head's last failure */
  trilha_text failed_before; /**< ISO-8601 with Z or offset: heads that failed before it */
  int64_t limit;             /**< 0: 100; at most TRILHA_OUTBOX_LANES_MAX */
  bool by_place;             /**< in the order of places, those behind after_place: pages that meet */
  int64_t after_place;
} trilha_outbox_lanes_filter;
/** Dead lanes first, then failing ones, the oldest failure first; or by place, however lanes change meanwhile. */
TRILHA_API trilha_status trilha_outbox_lanes(trilha_outbox *outbox, const trilha_outbox_lanes_filter *filter,
                                             trilha_outbox_lane_visit visit, void *user,
                                             trilha_error *error) TRILHA_MUST_USE;

/** One message as it stands for one of its destinations. Never the payload, which is the producer's own data (ruling
 * R24). That the destination acknowledged it, that it says it has received it, and that it says it has applied it are
 * three facts, each with its own time. */
typedef struct trilha_outbox_entry {
  trilha_text tenant_id, company_id, aggregate_type, aggregate_key;
  int64_t aggregate_sequence;
  trilha_text message_type, version, origin, correlation_id, causation_id, traceparent, occurred_at, created_at;
  int64_t revision;           /**< 1: as enqueued; raised by each correction */
  int64_t payload_bytes;      /**< of that revision */
  trilha_text payload_sha256; /**< lower-case hexadecimal */
  trilha_text destination;
  trilha_text status; /**< Pending, Dispatching, Failed, DeadLettered, Dispatched or Discarded */
  int64_t attempts;
  trilha_text next_attempt_at, lease_until; /**< absent where it is not so */
  trilha_text held;                         /**< of a head: as trilha_outbox_lane.held */
  trilha_text dispatched_at;                /**< when the destination acknowledged it; absent: not, or unknown */
  int64_t dispatched_revision;              /**< what it acknowledged; 0: nothing */
  trilha_text received_at, applied_at;      /**< as the destination states; absent: it has not said so */
  trilha_text said, said_at; /**< the last fact of trilha_outbox_record() and when it became known; absent: none */
} trilha_outbox_entry;
typedef trilha_status (*trilha_outbox_entry_visit)(void *user, const trilha_outbox_entry *entry);
/** NOT_FOUND (MESSAGE_NOT_FOUND): no message with this id. */
TRILHA_API trilha_status trilha_outbox_message(trilha_outbox *outbox, trilha_text message_id,
                                               trilha_outbox_entry_visit visit, void *user,
                                               trilha_error *error) TRILHA_MUST_USE;

/** One content of a message. Revision 1 is the enqueued one and has neither user, reason nor diff. */
typedef struct trilha_outbox_revision {
  int64_t revision;
  trilha_text at, user, reason;
  int64_t payload_bytes;
  trilha_text payload_sha256; /**< absent, with 0 bytes, once the message was purged */
  trilha_text diff; /**< a JSON array of {"op": "add", "remove" or "replace", "path": JSON Pointer}; never a value */
  trilha_text accepted; /**< destinations that had acknowledged an earlier revision, by name; absent: none */
} trilha_outbox_revision;
typedef trilha_status (*trilha_outbox_revision_visit)(void *user, const trilha_outbox_revision *revision);
/** In their order. NOT_FOUND (MESSAGE_NOT_FOUND). */
TRILHA_API trilha_status trilha_outbox_revisions(trilha_outbox *outbox, trilha_text message_id,
                                                 trilha_outbox_revision_visit visit, void *user,
                                                 trilha_error *error) TRILHA_MUST_USE;

/** The content of one revision (0: the last), for who says who it is and why: the trail keeps it
 * (`trilha.outbox-message.revealed`). *ret_payload is the caller's, freed with trilha_free(). NOT_FOUND
 * (MESSAGE_NOT_FOUND): no such message or revision. */
TRILHA_API trilha_status trilha_outbox_reveal(trilha_outbox *outbox, trilha_text message_id, int64_t revision,
                                              trilha_text user, trilha_text reason, char **ret_payload,
                                              int64_t *ret_revision, trilha_error *error) TRILHA_MUST_USE;

/** What an operator does to the dead message at the head of its lane. The trail keeps it in the same transaction. */
typedef struct trilha_outbox_operation {
  trilha_text message_id, destination; /**< obligatory */
  trilha_text user, reason;            /**< obligatory */
  trilha_text reconciliation; /**< discard only: what the destination says about this message, in the operator's words.
                                 Absent: the last fact recorded since the message failed */
  bool override_reconciliation; /**< discard only: give it up although nothing says what the destination knows */
} trilha_outbox_operation;
/** Sends it again under the same identity, its attempts counted anew. CONFLICT (LANE_NOT_DEAD): it is not a dead letter
 * at a head. */
TRILHA_API trilha_status trilha_outbox_retry(trilha_outbox *outbox, const trilha_outbox_operation *operation,
                                             trilha_error *error) TRILHA_MUST_USE;
/** Gives it up for this destination, the only way past a dead head (ruling R31). CONFLICT (RECONCILIATION_MISSING):
 * nothing says what the destination knows of it. */
TRILHA_API trilha_status trilha_outbox_discard(trilha_outbox *outbox, const trilha_outbox_operation *operation,
                                               trilha_error *error) TRILHA_MUST_USE;
/** What became of a selection; the five numbers are all of it. */
typedef struct trilha_outbox_tally {
  int64_t selected;      /**< dead heads that the selection took */
  int64_t done;          /**< were changed, or on a dry run would be; each has its own row in the trail */
  int64_t passed;        /**< somebody else changed them meanwhile */
  int64_t failed;        /**< stayed as they were; but after OUTCOME_UNKNOWN that is not known of the first of them */
  int64_t untried;       /**< were not touched: the database failed before */
  char first_failed[37]; /**< the message that the error is of; "": none */
} trilha_outbox_tally;
/** Does the same to each dead head that `selection` takes (its destination is obligatory, its status is DeadLettered
 * whatever it says), at most `selection->limit` of them, each in its own transaction and with its own row in the trail;
 * operation's message_id and destination are not looked at. A dry run changes nothing. visit (may be NULL) is told each
 * lane before any is touched. One that somebody else changed meanwhile is passed over; one that is refused (CONFLICT)
 * does not keep the others waiting; any other failure ends it. What is returned is the first failure, and *ret_tally is
 * written on failure too: the same call again takes what is left. */
TRILHA_API trilha_status trilha_outbox_retry_all(trilha_outbox *outbox, const trilha_outbox_lanes_filter *selection,
                                                 const trilha_outbox_operation *operation, bool dry_run,
                                                 trilha_outbox_lane_visit visit, void *user,
                                                 trilha_outbox_tally *ret_tally, trilha_error *error) TRILHA_MUST_USE;
TRILHA_API trilha_status trilha_outbox_discard_all(trilha_outbox *outbox, const trilha_outbox_lanes_filter *selection,
                                                   const trilha_outbox_operation *operation, bool dry_run,
                                                   trilha_outbox_lane_visit visit, void *user,
                                                   trilha_outbox_tally *ret_tally, trilha_error *error) TRILHA_MUST_USE;

/** New content for a message, under its id and in its place (ruling R32). */
typedef struct trilha_outbox_correction {
  trilha_text message_id;
  trilha_text payload; /**< the whole new content, by the rules of enqueue */
  int64_t revision;    /**< which one it corrects; 0: whatever is the last */
  trilha_text user, reason;
  bool dry_run; /**< tells the diff only; looking at the content is noted in the trail all the same */
} trilha_outbox_correction;
/** Released with trilha_outbox_corrected_done(). */
typedef struct trilha_outbox_corrected {
  int64_t revision; /**< the new one */
  int64_t revived;  /**< lanes whose dead or failing head it is; they are due now */
  char *diff;       /**< as trilha_outbox_revision.diff */
  char *accepted; /**< destinations that hold an earlier revision; each has a fact "Conflict" from now on. NULL: none */
} trilha_outbox_corrected;
/** Earlier revisions stay. CONFLICT: REVISION_CHANGED (somebody was quicker), MESSAGE_IN_FLIGHT (a worker has it under
 * its lease; try again), MESSAGE_FINISHED (no destination waits for it), CONTENT_SAME (nothing differs). INVALID
 * (MESSAGE_REFUSED) as an enqueue. A destination that has seen an earlier revision without acknowledging it will meet
 * the same id with other content: its inbox answers conflict. */
TRILHA_API trilha_status trilha_outbox_correct(trilha_outbox *outbox, const trilha_outbox_correction *correction,
                                               trilha_outbox_corrected *ret_corrected,
                                               trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_outbox_corrected_done(trilha_outbox_corrected *corrected);

/** What a destination states about a message it was sent, or, asked, says it knows. */
typedef struct trilha_outbox_receipt {
  trilha_text message_id, destination;
  trilha_text fact; /**< "Received" or "Applied" (each kept once for a revision), "Refused", "Unknown" (it does not know
                       the message) or "Conflict" (it holds other content under this id) */
  int64_t revision; /**< which it speaks of; 0: the last */
  trilha_text operation_id; /**< the destination's own name for what it did; may be absent */
  trilha_text stated_at;    /**< ISO-8601: since when, as the destination says; absent: now */
  trilha_text source;       /**< "operator", "query" or "callback"; in lists also "correction" */
  trilha_text user;         /**< who recorded it */
  trilha_text note;         /**< may be absent */
  trilha_text recorded_at;  /**< in lists only */
} trilha_outbox_receipt;
typedef trilha_status (*trilha_outbox_receipt_visit)(void *user, const trilha_outbox_receipt *receipt);
/** Records it. *ret_new (may be NULL) false: that was known. NOT_FOUND (MESSAGE_NOT_FOUND): no such message for this
 * destination. */
TRILHA_API trilha_status trilha_outbox_record(trilha_outbox *outbox, const trilha_outbox_receipt *receipt,
                                              bool *ret_new, trilha_error *error) TRILHA_MUST_USE;
/** In the order in which they became known; for an unknown message none. */
TRILHA_API trilha_status trilha_outbox_receipts(trilha_outbox *outbox, trilha_text message_id,
                                                trilha_outbox_receipt_visit visit, void *user,
                                                trilha_error *error) TRILHA_MUST_USE;

/* --- what the caller may ------------------------------------------------------------------------------------- */

/** What the role that opened the outbox may do there. On SQLite everything, since who may write the file may. */
typedef struct trilha_outbox_duties {
  bool enqueues, relays, consumes, operates; /**< the duties of trilha_outbox_grant() */
  bool superuser;    /**< PostgreSQL: no grant and no policy binds it, so it is no role to work under (ruling R36) */
  char writers[512]; /**< PostgreSQL: roles other than the owner that may write the tables past the functions, by name;
                        "": none, as it must be (requirement O19) */
} trilha_outbox_duties;
TRILHA_API trilha_status trilha_outbox_duties_of_caller(trilha_outbox *outbox, trilha_outbox_duties *ret_duties,
                                                        trilha_error *error) TRILHA_MUST_USE;

/* --- services --------------------------------------------------------------------------------------------- */

/** What a worker may dispatch, and in whose name (requirements O10, O11). Explicit in every part: there are no
 * wildcards. */
typedef struct trilha_service_grant {
  trilha_text credential; /**< 1 to TRILHA_OUTBOX_CREDENTIAL_BYTES_MAX bytes. On PostgreSQL a role of the database: the
                             worker's login, or one that it is a member of. A file has no logins: on SQLite the name
                             that its worker was given */
  trilha_text destination;
  trilha_text tenant_id;  /**< 1–255 characters */
  trilha_text company_id; /**< absent: messages that name none */
  trilha_text operation;  /**< the message type that is dispatched */
} trilha_service_grant;

/** Grants or revokes. With the first grant the outbox is closed for good: from then on no relay dispatches a message
 * without one, and a message that lacks its grant is dead-lettered (SERVICE_FORBIDDEN), never sent. Asked for each
 * message right before it is sent, so a revocation binds the next one. On PostgreSQL only the owner of the outbox may.
 * `user` and `reason` are needed and kept for good; *ret_changed (may be NULL) false: it stood so already, and nothing
 * was written. NOT_FOUND (DESTINATION_UNKNOWN, CREDENTIAL_UNKNOWN, and of a revocation GRANT_NOT_FOUND); INVALID
 * (GRANT_INVALID). */
TRILHA_API trilha_status trilha_outbox_service_grant(trilha_outbox *outbox, const trilha_service_grant *grant,
                                                     trilha_text user, trilha_text reason, bool *ret_changed,
                                                     trilha_error *error) TRILHA_MUST_USE;
TRILHA_API trilha_status trilha_outbox_service_revoke(trilha_outbox *outbox, const trilha_service_grant *grant,
                                                      trilha_text user, trilha_text reason, bool *ret_changed,
                                                      trilha_error *error) TRILHA_MUST_USE;

/** How one grant stands; texts live for the call. */
typedef struct trilha_service_standing {
  trilha_service_grant grant;
  bool granted;                 /**< false: revoked */
  trilha_text at, user, reason; /**< of the last change */
} trilha_service_standing;
typedef trilha_status (*trilha_service_visit)(void *user, const trilha_service_standing *standing);
/** Those that were revoked, too; by credential, destination, tenant, company and operation. */
TRILHA_API trilha_status trilha_outbox_service_grants(trilha_outbox *outbox, trilha_service_visit visit, void *user,
                                                      trilha_error *error) TRILHA_MUST_USE;

/* --- guarantees ------------------------------------------------------------------------------------------- */

/** What the handler of a destination promises (trilha_guarantee), as the relay said that serves it. */
typedef struct trilha_outbox_handler {
  trilha_text destination;
  trilha_text guarantee;   /**< "atomic", "durable" or "best effort"; absent: no relay has served it */
  trilha_text because;     /**< why it is no more than best effort */
  trilha_text worker;      /**< who said it first */
  trilha_text declared_at; /**< since when it is so */
} trilha_outbox_handler;
typedef trilha_status (*trilha_outbox_handler_visit)(void *user, const trilha_outbox_handler *handler);
/** Every destination, by name. */
TRILHA_API trilha_status trilha_outbox_handlers(trilha_outbox *outbox, trilha_outbox_handler_visit visit, void *user,
                                                trilha_error *error) TRILHA_MUST_USE;

/* --- workers ---------------------------------------------------------------------------------------------- */

/** A relay that is registered in the outbox it delivers. It says every few seconds that it is there. */
typedef struct trilha_outbox_worker {
  trilha_text worker;       /**< "host:pid:random", the owner of its leases */
  trilha_text status;       /**< "running", "draining", or "silent": not heard of when it should have been */
  trilha_text destinations; /**< by name, separated by ", " */
  int64_t threads;
  int64_t leases; /**< lanes it holds now */
  trilha_text started_at, seen_at;
  trilha_text expected_by;                        /**< when it is heard of again at the latest */
  trilha_text drain_at, drain_user, drain_reason; /**< absent: nobody asked it to drain */
} trilha_outbox_worker;
typedef trilha_status (*trilha_outbox_worker_visit)(void *user, const trilha_outbox_worker *worker);
/** In the order in which they began. A worker that ended in order is not among them; one that did not is told as silent
 * for a day. */
TRILHA_API trilha_status trilha_outbox_workers(trilha_outbox *outbox, trilha_outbox_worker_visit visit, void *user,
                                               trilha_error *error) TRILHA_MUST_USE;
/** Asks it to finish what it holds, to take no more, and to end: it hears of it within TRILHA_RELAY_BEAT_MS. The trail
 * keeps who and why (`trilha.outbox-worker.drained`). NOT_FOUND (WORKER_NOT_FOUND). */
TRILHA_API trilha_status trilha_outbox_worker_drain(trilha_outbox *outbox, trilha_text worker, trilha_text user,
                                                    trilha_text reason, trilha_error *error) TRILHA_MUST_USE;

/* --- numbers to watch ------------------------------------------------------------------------------------- */

/** How the quota for one tenant stands at a destination (trilha_relay_options.tenant_quota). A tenant holds it when it
 * has that many lanes in flight there while another of its lanes is due: more of it waits for nothing else. */
typedef struct trilha_outbox_quota {
  trilha_text destination;
  int64_t quota;         /**< the smallest of the workers that take lanes for it and say it */
  int64_t tenants;       /**< how many tenants hold it; of a tenant 1 */
  trilha_text tenant_id; /**< who holds it; absent: the destination as a whole */
  int64_t leases;        /**< lanes that it, or that all who hold it, have in flight */
} trilha_outbox_quota;
typedef trilha_status (*trilha_outbox_quota_visit)(void *user, const trilha_outbox_quota *quota);
/** Each destination that a worker takes lanes for, by name, and behind it the tenants that hold its quota: of all
 * together those 100 with the most leases. What it costs grows with the lanes in flight, never with what waits.
 * NOT_FOUND (OUTBOX_NOT_INSTALLED), too, where an earlier version installed the outbox. */
TRILHA_API trilha_status trilha_outbox_quotas(trilha_outbox *outbox, trilha_outbox_quota_visit visit, void *user,
                                              trilha_error *error) TRILHA_MUST_USE;

/** One number (docs/operating/serve.md lists the names); those that end in _us are microseconds. */
typedef struct trilha_outbox_gauge {
  trilha_text name;
  trilha_text label;  /**< the destination or tenant it is of; absent: the outbox as a whole */
  trilha_text tenant; /**< of tenant_at_quota: the tenant, at the destination of the label; else absent */
  int64_t value;
} trilha_outbox_gauge;
typedef trilha_status (*trilha_outbox_gauge_visit)(void *user, const trilha_outbox_gauge *gauge);
/** What it costs grows with the lanes that have work, never with the messages. */
TRILHA_API trilha_status trilha_outbox_gauges(trilha_outbox *outbox, trilha_outbox_gauge_visit visit, void *user,
                                              trilha_error *error) TRILHA_MUST_USE;

/* --- moving over from another dispatcher -------------------------------------------------------------------- */

/** Types that another dispatcher delivers: none of them is born in this outbox or leaves it (requirement O25). */
typedef struct trilha_outbox_path {
  trilha_text type_pattern; /**< as a route's */
  trilha_text holder;       /**< what people call that dispatcher; 1–100 characters */
  trilha_text held_at;
  trilha_text user, reason;
} trilha_outbox_path;
typedef trilha_status (*trilha_outbox_path_visit)(void *user, const trilha_outbox_path *path);

/** From now on enqueue refuses these types (PATH_HELD) and relays put lanes aside whose head is of one. As the schema's
 * owner. held_at is not read. *ret_new (may be NULL) false: that holder held them already. CONFLICT
 * (PATH_HELD_BY_OTHER). */
TRILHA_API trilha_status trilha_outbox_path_hold(trilha_outbox *outbox, const trilha_outbox_path *path, bool *ret_new,
                                                 trilha_error *error) TRILHA_MUST_USE;
/** This outbox delivers them from now on, and nothing can be imported for them any more; the trail keeps who and why.
 * *ret_woken (may be NULL): lanes that were put aside. NOT_FOUND (PATH_NOT_HELD); CONFLICT (IMPORT_CHANGED): an import
 * of that holder's backlog is not finished, or its table changed since: `override` takes them all the same. */
TRILHA_API trilha_status trilha_outbox_path_take(trilha_outbox *outbox, trilha_text type_pattern, bool override,
                                                 trilha_text user, trilha_text reason, int64_t *ret_woken,
                                                 trilha_error *error) TRILHA_MUST_USE;
/** Those that are held, by pattern. */
TRILHA_API trilha_status trilha_outbox_paths(trilha_outbox *outbox, trilha_outbox_path_visit visit, void *user,
                                             trilha_error *error) TRILHA_MUST_USE;

typedef struct trilha_import_options {
  trilha_text mapping;      /**< JSON, as docs/outbox-import.schema.json says; docs/moving.md explains it */
  int64_t batch;            /**< rows of one transaction; 0: 500; at most TRILHA_IMPORT_BATCH_MAX */
  bool dry_run;             /**< only counts, and finds what can be found without copying */
  trilha_text user, reason; /**< needed unless it is a dry run */
} trilha_import_options;
typedef struct trilha_imported {
  int64_t total; /**< rows of the backlog up to the cut */
  int64_t rows;  /**< copied, those of earlier runs included */
  bool finished;
} trilha_imported;
/** After each batch; false ends the import there: it is not finished, and goes on when it is called again. */
typedef bool (*trilha_import_progress)(void *user, const trilha_imported *so_far);
/** Copies the backlog of another dispatcher's table in the same database, once, while that dispatcher holds the path of
 * its types (ruling R39). Each batch is one transaction with the place it came to, so whatever is killed goes on
 * without a repeat or a gap; rows keep their order, ids and payloads. As the schema's owner. ret_imported is written on
 * failure too. INVALID (IMPORT_MAPPING, IMPORT_TABLE, MESSAGE_REFUSED with the row's position); CONFLICT
 * (IMPORT_CLOSED: it was finished before; IMPORT_PATH: the holder does not hold a type; IMPORT_CHANGED: the foreign
 * table changed since the cut). */
TRILHA_API trilha_status trilha_outbox_import(trilha_outbox *outbox, const trilha_import_options *options,
                                              trilha_import_progress progress, void *user,
                                              trilha_imported *ret_imported, trilha_error *error) TRILHA_MUST_USE;

/* --- purging ---------------------------------------------------------------------------------------------- */

/** What goes, and the windows that say whether it may (requirement O17). All times in milliseconds. */
typedef struct trilha_purge_options {
  int64_t messages_ms; /**< messages that were settled for all destinations longer ago than this; -1: none */
  int64_t inbox_ms;    /**< rows of the inbox that were accepted longer ago than this; -1: none */
  int64_t retry_ms;    /**< how long after its first send a message may be sent again, an operator's retry included */
  int64_t restore_ms;  /**< how far back a restored backup, of a producer or of a consumer, may be */
  int64_t batch;       /**< rows of one transaction; 0: 1000; at most TRILHA_PURGE_BATCH_MAX */
  bool dry_run;        /**< counts only */
  trilha_text user, reason; /**< needed unless it is a dry run */
} trilha_purge_options;

typedef struct trilha_purge_part {
  int64_t rows;
  char oldest[32], newest[32]; /**< creation or acceptance of what went, RFC 3339; "": nothing did */
} trilha_purge_part;
typedef struct trilha_purged {
  trilha_purge_part messages, inbox;
} trilha_purged;
/** After each batch; false ends the purge there, which is no error. */
typedef bool (*trilha_purge_progress)(void *user, const trilha_purged *so_far);
/** Deletes in short transactions, each with its row in the trail (outbox_upkeep). A message goes only with every
 * earlier one of its aggregate, and none that some destination still waits for. The trail stays, and so do the last
 * sequences of aggregates and of ordered consumers. progress may be NULL; ret_purged is written on failure too. USAGE
 * (WINDOW_INVALID): the inbox would forget what may still be repeated, or the outbox what a restored consumer may still
 * need; with the numbers. */
/** Only the checks, without an outbox: USAGE (PURGE_OPTIONS, WINDOW_INVALID). */
TRILHA_API trilha_status trilha_purge_check(const trilha_purge_options *options, trilha_error *error) TRILHA_MUST_USE;
TRILHA_API trilha_status trilha_outbox_purge(trilha_outbox *outbox, const trilha_purge_options *options,
                                             trilha_purge_progress progress, void *user, trilha_purged *ret_purged,
                                             trilha_error *error) TRILHA_MUST_USE;

/* --- the inbox of a consumer ------------------------------------------------------------------------------ */

/** What the inbox says of a message (specification 001, rule 5). */
typedef enum trilha_inbox_outcome {
  TRILHA_INBOX_NEW = 1,       /**< do the effect and commit it with this acceptance */
  TRILHA_INBOX_DUPLICATE = 2, /**< done before; the result that was stored, if any, comes with it */
  TRILHA_INBOX_CONFLICT = 3,  /**< this key came before with other content: do nothing, report it */
  TRILHA_INBOX_HELD = 4       /**< ordered: an earlier message is missing; nothing was kept, it must come again */
} trilha_inbox_outcome;

/** One message as a consumer received it. */
typedef struct trilha_inbox_message {
  trilha_text tenant_id, consumer; /**< obligatory, 1–255 characters: with the id, the key */
  trilha_text message_id;          /**< obligatory UUID */
  trilha_text payload;             /**< the bytes as received; their SHA-256 is what is compared (ruling R21) */
  /* For a consumer that needs the order of each aggregate: */
  trilha_text aggregate_type, aggregate_key;     /**< 1–255 characters; absent: order does not matter */
  int64_t aggregate_sequence, previous_sequence; /**< from 1; from 0 to the number before: else MESSAGE_REFUSED */
} trilha_inbox_message;

/** result is the caller's, freed with trilha_free(); NULL when none is stored. */
typedef struct trilha_inbox_answer {
  trilha_inbox_outcome outcome;
  char *result;
} trilha_inbox_answer;

/** What operators see of an inbox. A message that comes again is kept with the transaction that asked, so whoever meets
 * a conflict commits. */
typedef struct trilha_inbox_filter { /* combined with AND; absent: any */
  trilha_text tenant_id, consumer, message_id;
  int64_t limit;     /**< 0: 100; at most TRILHA_INBOX_ROWS_MAX */
  trilha_text after; /**< the place of a row: those behind it, so that pages meet whatever comes meanwhile; absent: from
                        the last that came. INVALID (PLACE_INVALID): it is not of this list */
} trilha_inbox_filter;
typedef struct trilha_inbox_entry {
  trilha_text tenant_id, consumer, message_id;
  trilha_text payload_sha256, accepted_at;
  int64_t result_bytes;          /**< of what the effect gave, which is the consumer's own data; -1: none is stored */
  int64_t duplicates, conflicts; /**< how often it came again */
  trilha_text place;             /**< for trilha_inbox_filter.after; its form is Trilha's own */
} trilha_inbox_entry;
typedef trilha_status (*trilha_inbox_entry_visit)(void *user, const trilha_inbox_entry *entry);
/** What was accepted, the last first. */
TRILHA_API trilha_status trilha_inbox_list(trilha_outbox *outbox, const trilha_inbox_filter *filter,
                                           trilha_inbox_entry_visit visit, void *user,
                                           trilha_error *error) TRILHA_MUST_USE;
typedef struct trilha_inbox_conflict {
  trilha_text tenant_id, consumer, message_id;
  trilha_text accepted_sha256, accepted_at; /**< absent once the accepted row was purged */
  trilha_text received_sha256, received_at;
  trilha_text place; /**< as trilha_inbox_entry.place */
} trilha_inbox_conflict;
typedef trilha_status (*trilha_inbox_conflict_visit)(void *user, const trilha_inbox_conflict *conflict);
/** What came under a known key with other content, the last first. */
TRILHA_API trilha_status trilha_inbox_conflicts(trilha_outbox *outbox, const trilha_inbox_filter *filter,
                                                trilha_inbox_conflict_visit visit, void *user,
                                                trilha_error *error) TRILHA_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
