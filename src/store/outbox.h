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
  TRILHA_OUTBOX_PREFIX_SIZE = 48,      /* what stands for {{p}} in the SQL */
  TRILHA_OUTBOX_CREDENTIAL_SIZE = TRILHA_OUTBOX_CREDENTIAL_BYTES_MAX + 1
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

/* From where on a tenant's lanes are looked at, as a claim before told it; INT64_MIN: from the first. */
typedef struct trilha_tenant_floor {
  trilha_text tenant_id;
  int64_t since_us, leased_since_us; /* lanes that are due; leases that count for the quota */
} trilha_tenant_floor;

/* What a claim found in one tenant: nothing was looked for when none was taken and there may be more. */
typedef struct trilha_tenant_look {
  trilha_tenant_floor floor; /* for the next claim */
  int64_t taken;
  bool more; /* its share cut it short: more may be due */
} trilha_tenant_look;
typedef void (*trilha_tenant_looked)(void *user, const trilha_tenant_look *look);

typedef struct trilha_claim {
  trilha_text destination;
  trilha_text owner;    /* for operators to see */
  trilha_text after;    /* the tenant behind which the round goes on; "" at its beginning */
  int64_t lanes, quota; /* most lanes, and most of one tenant, those in flight included */
  int64_t lease_ms;
  /* Tenants that are known, in the order of this round: those behind `after`, then the others; both by bytes. Others
   * are found as well. A store whose scans meet nothing dead looks from the first lane always, and tells no floors. */
  const trilha_tenant_floor *known;
  size_t known_count;
  trilha_tenant_looked looked; /* NULL: nobody wants to know */
  void *user;
} trilha_claim;

typedef struct trilha_outbox_row { /* one message of a leased lane */
  size_t lane;                     /* which of the leases given */
  int64_t aggregate_sequence, previous_sequence;
  char message_id[37], correlation_id[37], causation_id[37]; /* causation_id "" when absent */
  trilha_text company_id, message_type, version, origin, traceparent, payload;
  int64_t occurred_at_us;
  int64_t revision;    /* 1: as enqueued */
  bool guarded;        /* dispatching it needs a grant: to be asked right before, service_may */
  trilha_text held_by; /* the other dispatcher that has its type: it may not be sent; absent: none */
} trilha_outbox_row;
typedef trilha_status (*trilha_outbox_row_visit)(void *user, const trilha_outbox_row *row, trilha_error *err);

typedef struct trilha_service_answer {
  char credential[TRILHA_OUTBOX_CREDENTIAL_SIZE];
  bool proven, granted;
} trilha_service_answer;

/* Where a list of what was accepted goes on: behind this row. */
typedef struct trilha_inbox_place {
  int64_t accepted_us;
  unsigned char message_id[16];
  trilha_text tenant_id, consumer; /* borrowed from the text that was read */
} trilha_inbox_place;
enum { TRILHA_INBOX_KEY_BYTES_MAX = 2640 }; /* of tenant, consumer, aggregate's type and key together */
enum { TRILHA_INBOX_NAME_MAX = 255 };       /* characters of a tenant, a consumer, an aggregate's type or key */
enum { TRILHA_INBOX_PLACE_SIZE = 2200 };    /* two names of 255 characters of four bytes, and the rest */
/* message_id: as text. Gives `out` as a text. */
trilha_text trilha_inbox_place_write(int64_t accepted_us, trilha_text message_id, trilha_text tenant_id,
                                     trilha_text consumer, char out[TRILHA_INBOX_PLACE_SIZE]);
/* The digits of a number that is not negative. */
bool trilha_inbox_place_number(trilha_text text, int64_t *ret_number);
trilha_status trilha_inbox_place_refuse(trilha_error *err);
/* INVALID (PLACE_INVALID). */
trilha_status trilha_inbox_place_read(trilha_text text, trilha_inbox_place *ret_place,
                                      trilha_error *err) TRILHA_MUST_USE;

typedef struct trilha_handler_declaration {
  trilha_text destination, guarantee, because, worker; /* as trilha_outbox_handler */
} trilha_handler_declaration;

typedef struct trilha_lane_outcome {
  const trilha_lane_lease *lease;
  int64_t next_sequence; /* the first that was not delivered */
  bool drained;          /* the run held fewer messages than were asked for */
  bool failed;           /* the message next_sequence failed */
  bool dead;             /* and is not tried again by itself */
  bool held;        /* another path has the type of next_sequence: put aside until it is taken, no attempt counts */
  int64_t delay_ms; /* to its next attempt */
  trilha_text code, text;
  bool settled; /* out: false: the lease is somebody else's, and nothing was changed */
} trilha_lane_outcome;

typedef struct trilha_worker_beat {
  trilha_text worker, destinations; /* as trilha_outbox_worker */
  int64_t threads;
  int64_t expected_ms;       /* by when the next one comes */
  trilha_text holds;         /* a JSON object: of each destination why its lanes are left alone, "" when they are not;
                                obligatory in a beat */
  int64_t tenant_quota;      /* most lanes of one tenant in flight for one destination */
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

/* --- moving over ------------------------------------------------------------------------------------------- */

/* Where one field of a message comes from; all absent: it has none. */
typedef struct trilha_mapped_field {
  trilha_text column; /* its text */
  bool derived;       /* an id made of the import's name and the column's text */
  trilha_text value;  /* or a constant */
} trilha_mapped_field;

typedef struct trilha_mapped_condition {
  trilha_text column, value; /* compared as text; absent: NULL */
} trilha_mapped_condition;

enum {
  TRILHA_MAPPED_FIELDS = 13, /* in the order of trilha_message */
  TRILHA_MAPPED_MESSAGE_TYPE = 3,
  TRILHA_MAPPED_CORRELATION_ID = 7,
  TRILHA_MAPPED_MESSAGE_ID = 8
};

/* A foreign outbox as messages of ours, checked by the library. Names are not quoted yet. */
typedef struct trilha_outbox_mapping {
  trilha_text json; /* all of it, in its canonical form */
  trilha_text name, holder, table, position;
  trilha_mapped_field fields[TRILHA_MAPPED_FIELDS];
  const trilha_mapped_condition *conditions;
  size_t condition_count;
} trilha_outbox_mapping;

typedef struct trilha_outbox_import_step {
  const trilha_outbox_mapping *mapping;
  int64_t rows_max;
  bool dry_run;
  trilha_text user, reason;
  int64_t total, imported; /* out of begin */
  int64_t copied;          /* out of batch */
  bool ended;
} trilha_outbox_import_step;

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
   * "" after a whole round, which may have begun anywhere. NOT_FOUND (DESTINATION_UNKNOWN). */
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

  /* Whether each of `count` grants stands now, all of one credential and destination; credential absent: the login's.
   * The answer's credential is the one that was looked at; `proven`: it is this session's to use. */
  trilha_status (*service_may)(trilha_outbox_store *store, const trilha_service_grant *asked, size_t count,
                               trilha_service_answer *ret_answers, trilha_error *err);
  /* *ret_changed false: it stood so already. NOT_FOUND (GRANT_NOT_FOUND, CREDENTIAL_UNKNOWN). */
  trilha_status (*service_set)(trilha_outbox_store *store, bool grant, const trilha_service_grant *key,
                               trilha_text user, trilha_text reason, bool *ret_changed, trilha_error *err);
  trilha_status (*service_grants)(trilha_outbox_store *store, trilha_service_visit visit, void *user,
                                  trilha_error *err);

  /* Writes nothing where it was said before. */
  trilha_status (*handler_declare)(trilha_outbox_store *store, const trilha_handler_declaration *declaration,
                                   trilha_error *err);
  trilha_status (*handlers)(trilha_outbox_store *store, trilha_outbox_handler_visit visit, void *user,
                            trilha_error *err);

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

  /* message_id NULL: any; after NULL: from the last that came. */
  trilha_status (*inbox_list)(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                              const unsigned char *message_id, const trilha_inbox_place *after,
                              trilha_inbox_entry_visit visit, void *user, trilha_error *err);
  /* Those with a number below `below`. */
  trilha_status (*inbox_conflicts)(trilha_outbox_store *store, const trilha_inbox_filter *filter,
                                   const unsigned char *message_id, int64_t below, trilha_inbox_conflict_visit visit,
                                   void *user, trilha_error *err);

  trilha_status (*duties)(trilha_outbox_store *store, trilha_outbox_duties *ret_duties, trilha_error *err);

  /* Registers the worker when it is not. *ret_drain: it is asked to drain. */
  trilha_status (*worker_beat)(trilha_outbox_store *store, const trilha_worker_beat *beat, bool *ret_drain,
                               trilha_error *err);
  trilha_status (*worker_end)(trilha_outbox_store *store, const trilha_worker_beat *beat, trilha_error *err);
  trilha_status (*workers)(trilha_outbox_store *store, trilha_outbox_worker_visit visit, void *user, trilha_error *err);
  trilha_status (*worker_drain)(trilha_outbox_store *store, trilha_text worker, trilha_text user, trilha_text reason,
                                trilha_error *err);

  /* ret_new false: that holder held them before. CONFLICT (PATH_HELD_BY_OTHER). */
  trilha_status (*path_hold)(trilha_outbox_store *store, const trilha_outbox_path *path, bool *ret_new,
                             trilha_error *err);
  /* NOT_FOUND (PATH_NOT_HELD); CONFLICT (IMPORT_CHANGED) unless `override`. *ret_woken: lanes. */
  trilha_status (*path_take)(trilha_outbox_store *store, trilha_text pattern, bool override, trilha_text user,
                             trilha_text reason, int64_t *ret_woken, trilha_error *err);
  trilha_status (*paths)(trilha_outbox_store *store, trilha_outbox_path_visit visit, void *user, trilha_error *err);
  /* One transaction each. CONFLICT (IMPORT_CLOSED, IMPORT_PATH, IMPORT_CHANGED); INVALID (IMPORT_TABLE, or what enqueue
   * refuses). */
  trilha_status (*import_begin)(trilha_outbox_store *store, trilha_outbox_import_step *step, trilha_error *err);
  trilha_status (*import_batch)(trilha_outbox_store *store, trilha_outbox_import_step *step, trilha_error *err);

  trilha_status (*gauges)(trilha_outbox_store *store, trilha_outbox_gauge_visit visit, void *user, trilha_error *err);
  /* NOT_FOUND (OUTBOX_NOT_INSTALLED), too, when it was installed by a version that did not know quotas. */
  trilha_status (*quotas)(trilha_outbox_store *store, trilha_outbox_quota_visit visit, void *user, trilha_error *err);

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
