/* store: what the domain needs of a database, and nothing about which one. Room: store (ports). Corridor header.
 *
 * An adapter (store/postgres, store/sqlite) gives one trilha_store. All functions may be called from any thread; the
 * adapter serialises writers and pools readers. Nothing here retries: the domain decides. Every call takes a deadline
 * on the monotonic clock.
 *
 * Both adapters give the same answers: tests/conformance runs one suite over both.
 */
#ifndef TRILHA_STORE_STORE_H
#define TRILHA_STORE_STORE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/diagnostics.h"
#include "base/text.h"
#include "trilha/error.h"

typedef struct trilha_store trilha_store;

/* --- event rows -------------------------------------------------------------------------------------- */

/* One row of core.event_log (spec 000, section 2) plus the side columns of ruling R22. Absent texts are NULL. */
typedef struct trilha_event_row {
  int64_t sequence_number; /* 0 in a row to append */
  unsigned char event_id[16];
  trilha_text tipo;
  trilha_text versao_schema;
  int64_t timestamp_us; /* microseconds since 1970-01-01T00:00Z, already rounded to 1/100 s */
  trilha_text origem;
  bool has_correlacao_id;
  unsigned char correlacao_id[16];
  trilha_text payload;  /* JSON text: to append, the redacted one; read back, as the store spells it */
  int64_t criado_em_us; /* read back only */
  /* ruling R22, all optional */
  trilha_text tenant_id, company_id, aggregate_type, aggregate_key;
  bool has_aggregate_sequence;
  int64_t aggregate_sequence;
  bool has_causation_id;
  unsigned char causation_id[16];
  trilha_text traceparent, tracestate;
  /* ruling R21: HMAC over the value as published, "<kid>:<base64url>"; absent for rows that raw SQL wrote */
  trilha_text digest;
} trilha_event_row;

typedef struct trilha_append_result {
  bool stored;          /* true: this call inserted it; false: a row with that event_id was there */
  trilha_event_row row; /* the row as it stands in the log, texts in the arena given */
} trilha_append_result;

typedef struct trilha_event_filter { /* all combined with AND; ranges inclusive at both ends (ruling R7) */
  trilha_text tipo, origem;          /* absent: any */
  bool has_correlacao_id;
  unsigned char correlacao_id[16];
  bool has_timestamp_inicio, has_timestamp_fim;
  int64_t timestamp_inicio_us, timestamp_fim_us; /* full precision, not rounded */
  bool has_sequence_inicio, has_sequence_fim;
  int64_t sequence_inicio, sequence_fim;
} trilha_event_filter;

/* Called for each row in order; texts live for the call only. Anything but OK stops the scan and is returned. */
typedef trilha_status (*trilha_event_visit)(void *user, const trilha_event_row *row, trilha_error *err);

/* --- registry rows ------------------------------------------------------------------------------------ */

typedef struct trilha_type_row {
  trilha_text tipo, versao, descricao;
  trilha_text status; /* "ativo" or "deprecated" */
  trilha_text schema; /* JSON text exactly as registered; absent: a version without schema */
  int64_t criado_em_us;
} trilha_type_row;
typedef trilha_status (*trilha_type_visit)(void *user, const trilha_type_row *row, trilha_error *err);

/* --- audit rows --------------------------------------------------------------------------------------- */

typedef struct trilha_audit_row { /* spec 001: who did what; ruling R28 */
  trilha_text entity, entity_id;
  trilha_text change_type; /* Created, Updated, Deleted, Accessed */
  trilha_text action;      /* {module}.{aggregate}.{past-verb}; absent: NULL */
  trilha_text user;
  trilha_text metadata; /* a JSON object as text */
} trilha_audit_row;

/* A stored one. */
typedef struct trilha_audit_stored {
  int64_t id, created_at_us;
  trilha_audit_row row;
} trilha_audit_stored;
typedef trilha_status (*trilha_audit_visit)(void *user, const trilha_audit_stored *stored, trilha_error *err);

/* Combined with AND; absent texts: any. Both ends of the time are inclusive; INT64_MIN and INT64_MAX: open. */
typedef struct trilha_audit_query {
  trilha_text action, entity, entity_id;
  int64_t from_us, to_us;
  int64_t after_id;
} trilha_audit_query;

/* --- the port ----------------------------------------------------------------------------------------- */

typedef struct trilha_store_operations {
  void (*close)(trilha_store *store);

  /* Appends rows in their order in one transaction under the log's lock (architecture.md, invariants 2 and 3): lock as
   * its own statement, look-up of the ids in a new one, INSERT of the absent ones, commit, all on disk when it returns
   * OK. An id twice in one batch: the first is stored, the later ones are duplicates of it. results[n] is filled only
   * on OK; texts are in `arena`. registry_revision is read in the same transaction. Errors: INVALID/CORRUPT (the
   * database refused a row: the caller halves the batch), UNAVAILABLE (nothing stored), OUTCOME_UNKNOWN, TIMEOUT
   * (nothing stored). */
  trilha_status (*append)(trilha_store *store, const trilha_event_row *rows, size_t count, trilha_deadline deadline,
                          trilha_arena *arena, trilha_append_result *results, int64_t *ret_registry_revision,
                          trilha_error *err);

  /* NOT_FOUND when there is none (err untouched). */
  trilha_status (*event_by_id)(trilha_store *store, const unsigned char event_id[16], trilha_deadline deadline,
                               trilha_event_visit visit, void *user, trilha_error *err);
  /* Total and rows from one snapshot, by sequence ascending. NULL for the total: nothing is counted. */
  trilha_status (*events_query)(trilha_store *store, const trilha_event_filter *filter, int64_t limit, int64_t offset,
                                trilha_deadline deadline, trilha_event_visit visit, void *user, int64_t *ret_total,
                                trilha_error *err);
  /* Up to `limit` rows with sequence_number > after, of the given types (count 0: all), ascending. The caller pages: no
   * snapshot outlives a page. *ret_scanned_to is the sequence up to which the log holds no further row of those types
   * (>= after). */
  trilha_status (*events_after)(trilha_store *store, int64_t after, const trilha_text *types, size_t type_count,
                                int64_t limit, trilha_deadline deadline, trilha_event_visit visit, void *user,
                                int64_t *ret_scanned_to, trilha_error *err);
  /* Largest committed sequence, 0 for an empty log (ruling R9), and the id that carries it. */
  trilha_status (*last_event)(trilha_store *store, trilha_deadline deadline, int64_t *ret_sequence,
                              unsigned char ret_event_id[16], bool *ret_any, trilha_error *err);
  /* Blocks until an event beyond `after` may exist, the deadline passes (TIMEOUT, err untouched) or `wake` was called.
   * A hint: spurious returns are allowed; the declared worst latency is the adapter's scan interval. */
  trilha_status (*wait)(trilha_store *store, int64_t after, trilha_deadline deadline, trilha_error *err);

  trilha_status (*registry_revision)(trilha_store *store, trilha_deadline deadline, int64_t *ret_revision,
                                     trilha_error *err);
  /* All versions, ordered by type then by insertion; tipo absent: all types. */
  trilha_status (*types_list)(trilha_store *store, trilha_text tipo, trilha_deadline deadline, trilha_type_visit visit,
                              void *user, trilha_error *err);
  /* One transaction: inserts the absent versions, updates descricao and status of present ones (never the schema),
   * raises the registry revision and writes the audit rows. CONFLICT when a present version has another schema text. */
  trilha_status (*types_apply)(trilha_store *store, const trilha_type_row *rows, size_t count,
                               const trilha_audit_row *audit, size_t audit_count, trilha_deadline deadline,
                               trilha_error *err);
  trilha_status (*audit_insert)(trilha_store *store, const trilha_audit_row *row, trilha_deadline deadline,
                                trilha_error *err);
  /* Up to `limit` rows by id ascending. */
  trilha_status (*audit_list)(trilha_store *store, const trilha_audit_query *query, int64_t limit,
                              trilha_deadline deadline, trilha_audit_visit visit, void *user, trilha_error *err);

  /* Migrations. */
  trilha_status (*migrate)(trilha_store *store, bool dry_run,
                           void (*report)(void *user, const char *name, const char *what), void *user,
                           trilha_error *err);
  /* "sqlite", "postgresql", and a URL without secrets for messages. */
  const char *(*kind)(const trilha_store *store);
  const char *(*display_url)(const trilha_store *store);
} trilha_store_operations;

struct trilha_delivery_operations; /* store/delivery.h */

struct trilha_store { /* first member of an adapter's own struct */
  const trilha_store_operations *op;
  const struct trilha_delivery_operations *delivery;
};

typedef struct trilha_store_options {
  trilha_text url;            /* borrowed during open */
  int64_t lock_timeout_ms;    /* how long a writer waits for its turn; 0: 30,000 */
  int64_t connect_timeout_ms; /* 0: 10,000 */
  int64_t scan_interval_ms;   /* longest sleep of wait(); 0: 1,000 on PostgreSQL, 50 on SQLite */
  unsigned readers_max;       /* read connections kept; 0: 4 */
  bool allow_unmigrated;      /* for migrate(): do not refuse a store without or with an older schema */
  bool unsafe_no_fsync; /* SQLite synchronous=OFF, PostgreSQL synchronous_commit=off; named unsafe, shown in health */
  trilha_diagnostics diagnostics;
} trilha_store_options;

/* Which adapter takes this URL: by scheme only. */
#define TRILHA_STORE_SCAN_MS_POSTGRES 1000

#endif
