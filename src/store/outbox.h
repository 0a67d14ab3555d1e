/* store/outbox: what outbox and relay need of a producer's database. Room: store (ports). Corridor header.
 *
 * An adapter gives one trilha_outbox_store: one owner, one thread at a time. All times are the database's clock. Texts
 * given to visitors live for the call only. The rules (which lane may be claimed, who holds a lease, what blocks) are
 * in the SQL of the schema.
 */
#ifndef TRILHA_STORE_OUTBOX_H
#define TRILHA_STORE_OUTBOX_H

#include "base/sql.h"
#include "store/store.h"
#include "trilha/outbox.h"
#include "trilha/relay.h"

enum {
  TRILHA_OUTBOX_SCHEMA_BYTES_MAX = 40, /* leaves room for the names of indexes and functions below 63 */
  TRILHA_OUTBOX_PREFIX_SIZE = 48       /* what stands for {{p}} in the SQL */
};

typedef struct trilha_outbox_store trilha_outbox_store;

/* A lane under lease: who settles or renews must give back all of it. Texts live in the claim's arena. */
typedef struct trilha_lane_lease {
  int64_t aggregate_id;
  trilha_text tenant_id, aggregate_type, aggregate_key;
  int64_t head_sequence;
  int64_t attempts; /* failures of the head so far, leases that ran out included */
  int64_t token;
  int64_t until_us; /* the database's time; with the rest it addresses the lane */
} trilha_lane_lease;

typedef struct trilha_claim {
  trilha_text destination;
  trilha_text owner;    /* for operators to see */
  trilha_text after;    /* the tenant behind which the round goes on; "" at its beginning */
  int64_t lanes, quota; /* most lanes, and most of one tenant, those in flight included */
  int64_t lease_ms;
} trilha_claim;

typedef struct trilha_outbox_row { /* one message of a leased lane */
  size_t lane;                     /* which of the leases given */
  int64_t aggregate_sequence, previous_sequence;
  char message_id[37], correlation_id[37], causation_id[37]; /* causation_id "" when absent */
  trilha_text company_id, message_type, version, origin, traceparent, payload;
  int64_t occurred_at_us;
  int64_t revision; /* 1: as enqueued */
} trilha_outbox_row;
typedef trilha_status (*trilha_outbox_row_visit)(void *user, const trilha_outbox_row *row, trilha_error *err);

typedef struct trilha_lane_outcome {
  const trilha_lane_lease *lease;
  int64_t next_sequence; /* the first that was not delivered */
  bool drained;          /* the run held fewer messages than were asked for */
  bool failed;           /* the message next_sequence failed */
  bool dead;             /* and is not tried again by itself */
  int64_t delay_ms;      /* to its next attempt */
  trilha_text code, text;
  bool settled; /* out: false: the lease is somebody else's, and nothing was changed */
} trilha_lane_outcome;

typedef struct trilha_worker_beat {
  trilha_text worker, destinations; /* as trilha_outbox_worker */
  int64_t threads;
  int64_t expected_ms;       /* by when the next one comes */
  trilha_relay_counts since; /* the last one */
} trilha_worker_beat;

typedef struct trilha_purge_batch {
  int64_t older_ms, rows_max;
  bool dry_run;
  trilha_text user, reason;
  int64_t aggregate_id, sequence;       /* messages, in and out: behind which the next batch begins; 0, 0 at first */
  int64_t purged, oldest_us, newest_us; /* out; the times mean nothing when none went */
  bool ended;                           /* out: nothing is left */
} trilha_purge_batch;

typedef struct trilha_outbox_operations {
  void (*close)(trilha_outbox_store *store);
  trilha_status (*install)(trilha_outbox_store *store, bool dry_run, trilha_migration_report report, void *user,
                           trilha_error *err);
  trilha_status (*grant)(trilha_outbox_store *store, trilha_text role, trilha_text duty, trilha_error *err);
  trilha_status (*route_add)(trilha_outbox_store *store, trilha_text pattern, trilha_text destination,
                             trilha_error *err);
  trilha_status (*route_remove)(trilha_outbox_store *store, trilha_text pattern, trilha_text destination,
                                trilha_error *err);
  trilha_status (*routes)(trilha_outbox_store *store, trilha_outbox_route_visit visit, void *user, trilha_error *err);

  /* A short transaction of its own: leases with room for claim->lanes, their texts in `arena`; *ret_after as `after`,
   * "" after a whole round: when it began with "" and gave no lane, there is nothing due. NOT_FOUND
   * (DESTINATION_UNKNOWN). */
  trilha_status (*claim)(trilha_outbox_store *store, const trilha_claim *claim, trilha_arena *arena,
                         trilha_lane_lease *leases, size_t *ret_count, trilha_text *ret_after, trilha_error *err);
  /* The messages of those lanes from their heads on, in order, lane by lane: at most `run` of each and, beyond the
   * first, run_bytes. */
  trilha_status (*fetch)(trilha_outbox_store *store, trilha_text destination, const trilha_lane_lease *leases,
                         size_t count, int64_t run, int64_t run_bytes, trilha_outbox_row_visit visit, void *user,
                         trilha_error *err);
  /* CONFLICT (LEASE_LOST), and nothing changed, when the lease is somebody else's. */
  trilha_status (*renew)(trilha_outbox_store *store, trilha_text destination, trilha_lane_lease *lease,
                         int64_t lease_ms, trilha_error *err);
  trilha_status (*settle)(trilha_outbox_store *store, trilha_text destination, trilha_lane_outcome *outcomes,
                          size_t count, trilha_error *err);

  trilha_status (*status)(trilha_outbox_store *store, trilha_outbox_standing_visit visit, void *user,
                          trilha_error *err);
  /* before_us stands for the filter's failed_before; INT64_MAX: whenever. */
  trilha_status (*lanes)(trilha_outbox_store *store, const trilha_outbox_lanes_filter *filter, int64_t before_us,
                         trilha_outbox_lane_visit visit, void *user, trilha_error *err);
  trilha_status (*message)(trilha_outbox_store *store, const unsigned char message_id[16],
                           trilha_outbox_entry_visit visit, void *user, trilha_error *err);
  trilha_status (*operate)(trilha_outbox_store *store, const unsigned char message_id[16],
                           const trilha_outbox_operation *operation, bool discard, trilha_error *err);
  trilha_status (*revisions)(trilha_outbox_store *store, const unsigned char message_id[16],
                             trilha_outbox_revision_visit visit, void *user, trilha_error *err);
  trilha_status (*receipts)(trilha_outbox_store *store, const unsigned char message_id[16],
                            trilha_outbox_receipt_visit visit, void *user, trilha_error *err);
  /* Noted in the trail. revision 0: the last; *ret_payload: malloc. */
  trilha_status (*reveal)(trilha_outbox_store *store, const unsigned char message_id[16], int64_t revision,
                          trilha_text user, trilha_text reason, char **ret_payload, int64_t *ret_revision,
                          trilha_error *err);
  /* correction->revision is the one it corrects; ret has revision, revived and accepted. */
  trilha_status (*correct)(trilha_outbox_store *store, const unsigned char message_id[16],
                           const trilha_outbox_correction *correction, trilha_text diff, trilha_outbox_corrected *ret,
                           trilha_error *err);
  /* stated_us 0: now. */
  trilha_status (*record)(trilha_outbox_store *store, const unsigned char message_id[16],
                          const trilha_outbox_receipt *receipt, int64_t stated_us, bool *ret_new, trilha_error *err);

  /* message_id NULL: any. */
  trilha_status (*inbox_list)(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                              const unsigned char *message_id, trilha_inbox_entry_visit visit, void *user,
                              trilha_error *err);
  trilha_status (*inbox_conflicts)(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                   const unsigned char *message_id, trilha_inbox_conflict_visit visit, void *user,
                                   trilha_error *err);

  trilha_status (*duties)(trilha_outbox_store *store, trilha_outbox_duties *ret_duties, trilha_error *err);

  /* Registers the worker when it is not. *ret_drain: it is asked to drain. */
  trilha_status (*worker_beat)(trilha_outbox_store *store, const trilha_worker_beat *beat, bool *ret_drain,
                               trilha_error *err);
  trilha_status (*worker_end)(trilha_outbox_store *store, const trilha_worker_beat *beat, trilha_error *err);
  trilha_status (*workers)(trilha_outbox_store *store, trilha_outbox_worker_visit visit, void *user, trilha_error *err);
  trilha_status (*worker_drain)(trilha_outbox_store *store, trilha_text worker, trilha_text user, trilha_text reason,
                                trilha_error *err);

  trilha_status (*gauges)(trilha_outbox_store *store, trilha_outbox_gauge_visit visit, void *user, trilha_error *err);

  /* One transaction. */
  trilha_status (*purge_messages)(trilha_outbox_store *store, trilha_purge_batch *batch, trilha_error *err);
  trilha_status (*purge_inbox)(trilha_outbox_store *store, trilha_purge_batch *batch, trilha_error *err);
} trilha_outbox_operations;

struct trilha_outbox_store { /* first member of an adapter's own struct */
  const trilha_outbox_operations *op;
};

/* USAGE (SCHEMA_INVALID_NAME) unless ^[a-z][a-z0-9_]*$ of at most TRILHA_OUTBOX_SCHEMA_BYTES_MAX bytes and not the
 * database's own. */
trilha_status trilha_outbox_schema_check(const char *schema, trilha_error *err) TRILHA_MUST_USE;
/* `sql` with each {{p}} replaced, appended to out. */
void trilha_outbox_sql(trilha_buffer *out, const char *sql, const char *prefix);
/* The statement that books a migration, for people who run the SQL by hand: `sql` with @NAME@ and @CHECKSUM@ replaced.
 */
void trilha_outbox_sql_record(trilha_buffer *out, const char *sql, const trilha_sql_migration *migration,
                              const char *prefix);

#endif
