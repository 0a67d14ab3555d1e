/* store/postgres: what its files share. Room: store/postgres. Inside. */
#ifndef TRILHA_STORE_POSTGRES_POSTGRES_INTERNAL_H
#define TRILHA_STORE_POSTGRES_POSTGRES_INTERNAL_H

#include <pthread.h>

#include "base/sql.h"
#include "base/text.h"
#include "late_pq.h"
#include "postgres_queries.h"
#include "store/postgres/postgres.h"
#include "store/store.h"

enum {
  TRILHA_PG_PARAMETERS_MAX = 20,         /* of one statement */
  TRILHA_PG_STEPS_MAX = 8,               /* statements of one pipeline */
  TRILHA_PG_READERS_MAX = 64,            /* read connections of one store, whatever the option says */
  TRILHA_PG_BATCH_BYTES_MAX = 512 << 20, /* of one statement's parameters: a message of PostgreSQL holds at most 1 GB */
  TRILHA_PG_GRACE_MS = 500, /* past a deadline: the server's own time-out answers first, and keeps the connection */
  TRILHA_PG_PAGE_ROWS_START = 250,     /* events_after: rows asked for at once before row sizes are known */
  TRILHA_PG_PAGE_BYTES_AIM = 8 << 20,  /* and what a page should weigh once they are */
  TRILHA_PG_ROLLBACK_MS = 2000,        /* to leave a failed transaction; then the connection is dropped */
  TRILHA_PG_SIGNALS_CONNECT_MS = 2000, /* for the thread of signals.c: closing waits for it */
  TRILHA_PG_SIGNALS_DELAY_MS = 20,     /* before that thread makes its connection */
  TRILHA_PG_NOTIFY_CLOSE_MS = 500,     /* for the last hint when the store closes */
  TRILHA_PG_UNFOLLOWED_MS = 100,       /* before it is asked again whether anybody listens */
  TRILHA_PG_MARK_TRIES = 20,           /* to take the listeners' mark while publishers look at it */
  TRILHA_PG_ALONE_AFTER = 8,           /* appends that nobody else's came between: this publisher is alone */
  TRILHA_PG_DURABLE_LOOKS = 4,      /* looks whether a row that was read has reached the disk, before one asks for it */
  TRILHA_PG_DURABLE_PAUSE_US = 200, /* before each; about what a flush takes */
  TRILHA_PG_LOCK_SLACK_MS = 100,    /* a session's lock time-out is good enough for a deadline this much earlier */
  TRILHA_PG_RECONNECT_MS_MIN = 100, /* the listener's first pause after a loss; doubles up to the scan interval */
  TRILHA_PG_VERSION_MIN = 150000
};

/* --- url.c: connection strings and what may be shown of them ------------------------------------------- */

/* Refuses what libpq would misread (and then show in an error): see url.c. USAGE, code STORE_URL_INVALID; the URL is
 * never repeated. */
trilha_status trilha_pg_url_check(trilha_text url, trilha_error *err) TRILHA_MUST_USE;
/* "postgresql://user@host:port/database", malloc'd; the URL has passed the check. */
trilha_status trilha_pg_url_display(const char *url, char **ret_display, trilha_error *err) TRILHA_MUST_USE;

/* --- failure.c: PostgreSQL's errors as ours ------------------------------------------------------------ */

/* A failed result. Texts of data exceptions are dropped: they repeat values. Returns the status set. */
trilha_status trilha_pg_failure(const PGresult *result, trilha_error *err);
/* A lost or refused connection, in libpq's words without anything of the URL's password. */
trilha_status trilha_pg_lost(const PGconn *pg, const char *password, trilha_status status, const char *code,
                             trilha_error *err);

/* --- parameters.c: binary parameters ------------------------------------------------------------------- */

typedef struct trilha_pg_parameters {
  trilha_buffer bytes;
  int count;
  Oid types[TRILHA_PG_PARAMETERS_MAX];
  size_t starts[TRILHA_PG_PARAMETERS_MAX]; /* in bytes */
  int sizes[TRILHA_PG_PARAMETERS_MAX];     /* -1: NULL */
  uint32_t array_left;                     /* elements still to come of the array begun last */
} trilha_pg_parameters;

typedef enum trilha_pg_type {
  TRILHA_PG_BOOL = 16,
  TRILHA_PG_INT8 = 20,
  TRILHA_PG_TEXT = 25,
  TRILHA_PG_TIMESTAMPTZ = 1184,
  TRILHA_PG_UUID = 2950,
  TRILHA_PG_JSONB = 3802
} trilha_pg_type;

void trilha_pg_parameters_init(trilha_pg_parameters *p);
void trilha_pg_parameters_done(trilha_pg_parameters *p);
#define TRILHA_PG_PARAMETERS_SCOPED __attribute__((cleanup(trilha_pg_parameters_done))) trilha_pg_parameters

/* One value each, as the next parameter. */
void trilha_pg_add_null(trilha_pg_parameters *p, trilha_pg_type type);
void trilha_pg_add_bool(trilha_pg_parameters *p, bool value);
void trilha_pg_add_i64(trilha_pg_parameters *p, int64_t value);
void trilha_pg_add_text(trilha_pg_parameters *p, trilha_text value); /* absent: NULL */
void trilha_pg_add_jsonb(trilha_pg_parameters *p, trilha_text json); /* absent: NULL */
void trilha_pg_add_time(trilha_pg_parameters *p, int64_t unix_us);
void trilha_pg_add_uuid(trilha_pg_parameters *p, const unsigned char id[16]);

/* An array as the next parameter: begin, exactly `count` elements, end. */
void trilha_pg_array_begin(trilha_pg_parameters *p, trilha_pg_type element, size_t count);
void trilha_pg_element_null(trilha_pg_parameters *p);
void trilha_pg_element_i64(trilha_pg_parameters *p, int64_t value);
void trilha_pg_element_text(trilha_pg_parameters *p, trilha_text value); /* absent: NULL */
void trilha_pg_element_jsonb(trilha_pg_parameters *p, trilha_text json); /* absent: NULL */
void trilha_pg_element_time(trilha_pg_parameters *p, int64_t unix_us);
void trilha_pg_element_uuid(trilha_pg_parameters *p, const unsigned char id[16]);
void trilha_pg_array_end(trilha_pg_parameters *p);

/* --- result.c: binary results --------------------------------------------------------------------------- */

/* NULL columns give 0, false, an absent text. Columns of another size than the type's give 0 too: the queries are ours.
 */
int64_t trilha_pg_get_i64(const PGresult *result, int row, int column); /* int8 and int4 */
bool trilha_pg_get_bool(const PGresult *result, int row, int column);
trilha_text trilha_pg_get_text(const PGresult *result, int row, int column);
trilha_text trilha_pg_get_jsonb(const PGresult *result, int row, int column);
int64_t trilha_pg_get_time(const PGresult *result, int row, int column); /* within years 0001-9999 */
bool trilha_pg_get_uuid(const PGresult *result, int row, int column, unsigned char id[16]);
/* A one-dimensional array without NULLs: elements, their count; NULL and 0 for NULL. The elements lie one after
 * another, each behind four bytes of length. */
const unsigned char *trilha_pg_get_array(const PGresult *result, int row, int column, size_t *ret_count);
int64_t trilha_pg_read_i64(const unsigned char *at);
/* The columns of events.sql, borrowed from the result. */
void trilha_pg_get_event(const PGresult *result, int row, trilha_event_row *out);

/* --- connection.c: one connection ------------------------------------------------------------------------ */

typedef struct trilha_pg_connection {
  PGconn *pg;          /* NULL: not connected */
  bool pooled;         /* a transaction-mode pooler is between: nothing may outlive a transaction */
  uint64_t generation; /* raised by each connecting */
  bool prepared[TRILHA_SQL_POSTGRES_QUERY_COUNT]; /* query n of trilha_sql_postgres_queries, in this session */
  bool hung_up;                                   /* the server's last words were read while it lay idle */
  bool settled; /* the session brings along what an append relies on (core.event_log_settle) */
  bool busy;    /* handed out; guarded by the pool's mutex */
} trilha_pg_connection;

/* What every connection of a store needs to know. Constant after open. */
typedef struct trilha_pg_target {
  char *url;
  char *password; /* to be masked in messages, NULL: none in the URL */
  int64_t connect_timeout_ms;
} trilha_pg_target;

/* Connects when not connected or when the server has hung up meanwhile. Nothing is sent on a connection known to be
 * dead. */
trilha_status trilha_pg_connect(const trilha_pg_target *target, trilha_pg_connection *c, trilha_deadline deadline,
                                trilha_error *err) TRILHA_MUST_USE;
void trilha_pg_disconnect(trilha_pg_connection *c);
/* Waits until the socket can be read (or written, when `or_writable`). False: the deadline passed. */
bool trilha_pg_wait_socket(const PGconn *pg, bool or_writable, trilha_deadline deadline);

/* --- exchange.c: statements and their answers -------------------------------------------------------------- */

typedef struct trilha_pg_step {
  const char *sql;                        /* one of trilha_sql_postgres_*: known by its address */
  const trilha_pg_parameters *parameters; /* NULL: none */
  bool plan_anew;                         /* its plan depends on its values: prepared, and planned each time where
                                             the transaction's plan mode says so (trilha_pg_plan_mode) */
  bool once;                              /* never prepared: asked once a session, or in no transaction of ours */
  bool made_here;                         /* never prepared: its text was made for one schema, and is none of those */
} trilha_pg_step;

/* How far a failed exchange came. */
typedef enum trilha_pg_reach {
  TRILHA_PG_NOT_SENT, /* the server has certainly not run it */
  TRILHA_PG_ANSWERED, /* the server answered, with an error: the transaction is rolled back */
  TRILHA_PG_LOST      /* sent, at least in part, and no answer: anything may have happened */
} trilha_pg_reach;

/* Runs the steps in one pipeline: one write, one round trip. ret_results[n] is step n's, the caller's to PQclear; on
 * failure all are NULL and a transaction left open is rolled back or its connection dropped. The connection must be
 * connected. */
trilha_status trilha_pg_run(trilha_pg_connection *c, const trilha_pg_step *steps, size_t count,
                            trilha_deadline deadline, PGresult **ret_results, trilha_pg_reach *ret_reach,
                            trilha_error *err) TRILHA_MUST_USE;
/* What came back for one statement, or for the last of a script: its result and the NULL that ends it. TIMEOUT;
 * UNAVAILABLE when the connection broke. */
trilha_status trilha_pg_read_statement(PGconn *pg, trilha_deadline deadline, PGresult **ret_result) TRILHA_MUST_USE;
/* A script of several commands without parameters, as migrations are. */
trilha_status trilha_pg_script(trilha_pg_connection *c, const char *sql, trilha_error *err) TRILHA_MUST_USE;

static inline void trilha_pg_clear(PGresult **result) {
  if (*result != NULL) PQclear(*result);
  *result = NULL;
}
#define TRILHA_PG_RESULT_SCOPED __attribute__((cleanup(trilha_pg_clear))) PGresult

/* --- the store ---------------------------------------------------------------------------------------------- */

typedef struct trilha_pg_signals trilha_pg_signals;

typedef struct trilha_pg_store {
  trilha_store port; /* first */
  trilha_pg_target target;
  char *display_url;
  int64_t lock_timeout_ms, scan_interval_ms;
  bool durable;
  trilha_diagnostics diagnostics;

  pthread_mutex_t lock; /* guards busy flags, page_rows and durable_to; never held across I/O */
  pthread_cond_t freed; /* a connection came back */
  trilha_pg_connection writer;
  trilha_pg_connection readers[TRILHA_PG_READERS_MAX];
  unsigned reader_count;
  int64_t page_rows;  /* what events_after asks for at once, learned from row sizes */
  int64_t durable_to; /* rows up to this sequence are known to be on disk; 0: none */

  /* Whoever holds the writer: */
  int64_t last_appended; /* the largest number that an append of this store was given */
  unsigned undisturbed;  /* appends in a row whose numbers followed on those of the one before */

  trilha_pg_signals *signals; /* signals.c */
} trilha_pg_store;

static inline trilha_pg_store *trilha_pg_of(trilha_store *store) {
  return (trilha_pg_store *)store;
}

/* open.c. A store without the thread of signals.c and without a look at the schema core: a producer's database. */
trilha_status trilha_pg_open_bare(const trilha_store_options *options, trilha_pg_store **ret_store,
                                  trilha_error *err) TRILHA_MUST_USE;
void trilha_pg_close(trilha_pg_store *take_store);

/* pool.c. A connected connection of one's own until given back; TIMEOUT (STORE_BUSY) when none is free before the
 * deadline. */
trilha_status trilha_pg_take_writer(trilha_pg_store *s, trilha_deadline deadline, trilha_pg_connection **ret_connection,
                                    trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_pg_take_reader(trilha_pg_store *s, trilha_deadline deadline, trilha_pg_connection **ret_connection,
                                    trilha_error *err) TRILHA_MUST_USE;
void trilha_pg_give_back(trilha_pg_store *s, trilha_pg_connection *c);

/* Transaction setting plan_cache_mode: plans that depend on their values, or plans made once. */
static inline const char *trilha_pg_plan_mode(bool anew) {
  return anew ? "force_custom_plan" : "force_generic_plan";
}

/* write.c. The three steps that open a writing transaction, and what COMMIT's answer means when it was among the steps.
 */
typedef struct trilha_pg_write_transaction {
  trilha_pg_parameters settings, durable;
} trilha_pg_write_transaction;
void trilha_pg_begin_writing(trilha_pg_store *s, trilha_deadline deadline, trilha_pg_write_transaction *w,
                             trilha_pg_step steps[3]);
void trilha_pg_write_transaction_done(trilha_pg_write_transaction *w);
trilha_status trilha_pg_after_commit(trilha_status status, trilha_pg_reach reach, trilha_error *err);

/* durable.c. What is shown is on disk. show_durable() is called with every answer that came from the log, before
 * anybody sees it: rows of results whose first column is sequence_number. `position` is log_position's answer from
 * their transaction. learn: from an acknowledged append. forget: another server may answer from now on. */
trilha_status trilha_pg_show_durable(trilha_pg_store *s, trilha_pg_connection *c, PGresult *const *results,
                                     size_t count, int64_t position, trilha_deadline deadline,
                                     trilha_error *err) TRILHA_MUST_USE;
void trilha_pg_learn_durable(trilha_pg_store *s, int64_t sequence);
void trilha_pg_forget_durable(trilha_pg_store *s);

/* read.c. Runs queries in one REPEATABLE READ, READ ONLY transaction: one snapshot, one round trip; a second one when
 * rows of the log may not be on disk yet. results[n] is query n's. */
trilha_status trilha_pg_read(trilha_pg_store *s, const trilha_pg_step *queries, size_t count, trilha_deadline deadline,
                             PGresult **ret_results, trilha_error *err) TRILHA_MUST_USE;

/* append.c, read.c, registry.c, migrate.c, signals.c: the port's operations. */
trilha_status trilha_pg_append(trilha_store *store, const trilha_event_row *rows, size_t count,
                               trilha_deadline deadline, trilha_arena *arena, trilha_append_result *results,
                               int64_t *ret_registry_revision, trilha_error *err);
trilha_status trilha_pg_event_by_id(trilha_store *store, const unsigned char event_id[16], trilha_deadline deadline,
                                    trilha_event_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_events_query(trilha_store *store, const trilha_event_filter *filter, int64_t limit,
                                     int64_t offset, trilha_deadline deadline, trilha_event_visit visit, void *user,
                                     int64_t *ret_total, trilha_error *err);
/* How many rows to ask for at once, learned from what rows weighed: a page's memory is bounded. */
int64_t trilha_pg_ask_rows(trilha_pg_store *s, int64_t limit);
void trilha_pg_learn_row_size(trilha_pg_store *s, const PGresult *result);
trilha_status trilha_pg_events_after(trilha_store *store, int64_t after, const trilha_text *types, size_t type_count,
                                     int64_t limit, trilha_deadline deadline, trilha_event_visit visit, void *user,
                                     int64_t *ret_scanned_to, trilha_error *err);
trilha_status trilha_pg_last_event(trilha_store *store, trilha_deadline deadline, int64_t *ret_sequence,
                                   unsigned char ret_event_id[16], bool *ret_any, trilha_error *err);
trilha_status trilha_pg_registry_revision(trilha_store *store, trilha_deadline deadline, int64_t *ret_revision,
                                          trilha_error *err);
trilha_status trilha_pg_types_list(trilha_store *store, trilha_text tipo, trilha_deadline deadline,
                                   trilha_type_visit visit, void *user, trilha_error *err);
trilha_status trilha_pg_types_apply(trilha_store *store, const trilha_type_row *rows, size_t count,
                                    const trilha_audit_row *audit, size_t audit_count, trilha_deadline deadline,
                                    trilha_error *err);
/* audit.c */
trilha_status trilha_pg_audit_list(trilha_store *store, const trilha_audit_query *query, int64_t limit,
                                   trilha_deadline deadline, trilha_audit_visit visit, void *user,
                                   trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_pg_audit_insert(trilha_store *store, const trilha_audit_row *row, trilha_deadline deadline,
                                     trilha_error *err);
trilha_status trilha_pg_migrate(trilha_store *store, bool dry_run,
                                void (*report)(void *user, const char *name, const char *what), void *user,
                                trilha_error *err);
/* Start-up: the schema is there, known and unaltered. */
trilha_status trilha_pg_check_schema(trilha_pg_store *s, bool allow_unmigrated, trilha_deadline deadline,
                                     trilha_error *err) TRILHA_MUST_USE;

/* signals.c: hints that events were stored, between threads and (LISTEN/NOTIFY) between processes. */
trilha_status trilha_pg_signals_new(trilha_pg_store *s, trilha_pg_signals **ret_signals,
                                    trilha_error *err) TRILHA_MUST_USE;
void trilha_pg_signals_free(trilha_pg_signals *signals); /* sends the last hint, ends the thread */
void trilha_pg_signals_stored(trilha_pg_signals *signals, int64_t sequence);
trilha_status trilha_pg_wait(trilha_store *store, int64_t after, trilha_deadline deadline, trilha_error *err);

#endif
