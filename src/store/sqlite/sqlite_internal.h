/* store/sqlite: the inside. Room: store/sqlite.
 *
 * One write connection, used by the thread whose turn it is; up to readers_max read connections, each used by one
 * thread at a time. The turn has two gates: a queue of this handle's threads (queue.c), then the lock file that all
 * processes share (writers_lock.c).
 */
#ifndef TRILHA_STORE_SQLITE_SQLITE_INTERNAL_H
#define TRILHA_STORE_SQLITE_SQLITE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/writers_lock.h"

enum {
  TRILHA_SQLITE_LOCK_TIMEOUT_MS = 30000, /* default of lock_timeout_ms */
  TRILHA_SQLITE_SCAN_MS = 50,            /* default of scan_interval_ms: a look costs one seek in a warm page */
  TRILHA_SQLITE_READERS_MAX = 4,         /* default of readers_max */
  TRILHA_SQLITE_READERS_LIMIT = 64,      /* largest readers_max */
  TRILHA_SQLITE_PATH_MAX = 480,          /* bytes; SQLite's own limit is 512, with room for "-journal" */
  TRILHA_SQLITE_TIMESTAMP_SIZE = 24,     /* "2026-06-15T10:30:00.25Z" and its terminator */
  TRILHA_SQLITE_SLICE_ROWS = 1000,       /* most rows read in one snapshot … */
  TRILHA_SQLITE_SLICE_BYTES = 4 << 20,   /* … and bytes, one row of any size allowed */
  /* The -wal file. From CHECKPOINT pages of 4 KiB on its content is copied into the database after a commit without
   * waiting for anyone; from RESTART pages on the writer waits up to RESTART_WAIT_MS, at most once in RESTART_PAUSE_MS,
   * for readers to leave it, so that it starts again from its beginning. Trilha's own readers leave within a slice, so
   * a larger file means that another program holds a snapshot. */
  TRILHA_SQLITE_CHECKPOINT_PAGES = 1000,
  TRILHA_SQLITE_RESTART_PAGES = 4096,
  TRILHA_SQLITE_RESTART_WAIT_MS = 50,
  TRILHA_SQLITE_RESTART_PAUSE_MS = 1000,
  TRILHA_SQLITE_WAL_WARN_BYTES = 64 << 20, /* "sqlite.wal_large" is emitted here and at each doubling */
};

/* Each is a section of sql/sqlite/queries/ of the same name; the table is in statement.c. */
typedef enum trilha_sqlite_query {
  TRILHA_SQLITE_EVENT_INSERT,
  TRILHA_SQLITE_EVENT_BY_ID,
  TRILHA_SQLITE_EVENT_BY_SEQUENCE,
  TRILHA_SQLITE_EVENTS_AFTER_ALL,
  TRILHA_SQLITE_EVENTS_AFTER_TYPE,
  TRILHA_SQLITE_EVENT_LAST_SEQUENCE,
  TRILHA_SQLITE_EVENT_LAST,
  TRILHA_SQLITE_EVENTS_COUNT_ALL,
  TRILHA_SQLITE_EVENTS_COUNT_BY_SEQUENCE,
  TRILHA_SQLITE_EVENTS_LIST_BY_SEQUENCE,
  TRILHA_SQLITE_EVENTS_COUNT_BY_CORRELACAO,
  TRILHA_SQLITE_EVENTS_LIST_BY_CORRELACAO,
  TRILHA_SQLITE_EVENTS_COUNT_BY_TIPO,
  TRILHA_SQLITE_EVENTS_LIST_BY_TIPO,
  TRILHA_SQLITE_EVENTS_COUNT_BY_TIPO_TIMESTAMP,
  TRILHA_SQLITE_EVENTS_LIST_BY_TIPO_TIMESTAMP,
  TRILHA_SQLITE_EVENTS_COUNT_BY_TIMESTAMP,
  TRILHA_SQLITE_EVENTS_LIST_BY_TIMESTAMP,
  TRILHA_SQLITE_EVENTS_COUNT_BY_ORIGEM,
  TRILHA_SQLITE_EVENTS_LIST_BY_ORIGEM,
  TRILHA_SQLITE_REGISTRY_REVISION,
  TRILHA_SQLITE_REGISTRY_REVISION_RAISE,
  TRILHA_SQLITE_TYPE_FIND,
  TRILHA_SQLITE_TYPE_INSERT,
  TRILHA_SQLITE_TYPE_UPDATE,
  TRILHA_SQLITE_TYPES_ALL,
  TRILHA_SQLITE_TYPES_OF,
  TRILHA_SQLITE_AUDIT_INSERT,
  TRILHA_SQLITE_AUDIT_LIST,
  TRILHA_SQLITE_FENCING_RAISE,
  TRILHA_SQLITE_DEAD_LETTER_FIND,
  TRILHA_SQLITE_DEAD_LETTER_INSERT,
  TRILHA_SQLITE_DEAD_LETTER_RENEW,
  TRILHA_SQLITE_DEAD_LETTER_RESOLVE,
  TRILHA_SQLITE_DEAD_LETTER_CLOSE,
  TRILHA_SQLITE_DEAD_LETTER_RETRYING,
  TRILHA_SQLITE_DEAD_LETTER_UNDER_TOKEN,
  TRILHA_SQLITE_DEAD_LETTER_LEASE_PUT,
  TRILHA_SQLITE_DEAD_LETTER_LEASE_EXTEND,
  TRILHA_SQLITE_DEAD_LETTER_LEASE_DROP,
  TRILHA_SQLITE_DEAD_LETTER_LEASE_DROP_OF_EVENT,
  TRILHA_SQLITE_DEAD_LETTERS_ABANDONED,
  TRILHA_SQLITE_DEAD_LETTER_PENDING_AGAIN,
  TRILHA_SQLITE_DEAD_LETTER_REOPEN,
  TRILHA_SQLITE_DEAD_LETTER_EXISTS,
  TRILHA_SQLITE_DEAD_LETTER_BY_ID,
  TRILHA_SQLITE_DEAD_LETTERS_PENDING,
  TRILHA_SQLITE_DEAD_LETTER_PENDING,
  TRILHA_SQLITE_DEAD_LETTERS_LIST,
  TRILHA_SQLITE_DEAD_LETTER_STATS,
  TRILHA_SQLITE_DEAD_LETTERS_BETWEEN,
  TRILHA_SQLITE_LEASE_FIND,
  TRILHA_SQLITE_LEASE_PUT,
  TRILHA_SQLITE_LEASE_EXTEND,
  TRILHA_SQLITE_LEASE_DECLARE,
  TRILHA_SQLITE_HANDLERS_LIST,
  TRILHA_SQLITE_LEASE_FORGET,
  TRILHA_SQLITE_LEASE_RIVAL,
  TRILHA_SQLITE_LEASE_OF_TYPE,
  TRILHA_SQLITE_COLONY_SCHEMA_FIND,
  TRILHA_SQLITE_COLONY_SCHEMA_INSERT,
  TRILHA_SQLITE_COLONIES_ALL,
  TRILHA_SQLITE_LAG_COUNT,
  TRILHA_SQLITE_LAG_OLDEST,
  TRILHA_SQLITE_REQUEST_INSERT,
  TRILHA_SQLITE_REQUEST_WAITING,
  TRILHA_SQLITE_REQUEST_TAKE,
  TRILHA_SQLITE_REQUEST_SETTLE,
  TRILHA_SQLITE_REQUEST_READ,
  TRILHA_SQLITE_REQUEST_WITHDRAW,
  TRILHA_SQLITE_MIGRATION_LIST,
  TRILHA_SQLITE_MIGRATION_RECORD,
  TRILHA_SQLITE_SCHEMA_HAS_TABLE,
  TRILHA_SQLITE_SCHEMA_OBJECTS,
  TRILHA_SQLITE_BEGIN_WRITE,
  TRILHA_SQLITE_BEGIN_READ,
  TRILHA_SQLITE_COMMIT,
  TRILHA_SQLITE_ROLLBACK,
  TRILHA_SQLITE_QUERIES /* how many */
} trilha_sqlite_query;

/* --- connection.c, statement.c: one owner at a time ---------------------------------------------------- */

typedef struct trilha_sqlite_connection {
  sqlite3 *db;
  sqlite3_stmt *statements[TRILHA_SQLITE_QUERIES]; /* prepared at first use */
  trilha_deadline deadline;                        /* of the call under way; a statement past it is interrupted */
  int wal_pages;                                   /* in the -wal file after the last commit */
} trilha_sqlite_connection;

typedef enum trilha_sqlite_use {
  TRILHA_SQLITE_READ,
  TRILHA_SQLITE_WRITE,
  TRILHA_SQLITE_WRITE_UNSAFE
} trilha_sqlite_use;

/* Opens an existing file and tells it the settings of its use. */
trilha_status trilha_sqlite_connect(const char *path, trilha_sqlite_use use, trilha_deadline deadline,
                                    trilha_sqlite_connection **ret_connection, trilha_error *err);
void trilha_sqlite_disconnect(trilha_sqlite_connection *take_connection);
void trilha_sqlite_set_deadline(trilha_sqlite_connection *c, trilha_deadline deadline);
/* What SQLite's answer means to the caller; `doing` completes "while …". */
trilha_status trilha_sqlite_fail(trilha_sqlite_connection *c, int rc, trilha_error *err, const char *doing);
/* Whether the connection must be closed and opened again after this answer. */
bool trilha_sqlite_is_sick(int rc);

/* A statement ready to bind: reset, nothing bound. */
trilha_status trilha_sqlite_prepare(trilha_sqlite_connection *c, trilha_sqlite_query query,
                                    sqlite3_stmt **ret_statement, trilha_error *err);
/* One row, or none: then the statement is reset and no longer holds anything. */
trilha_status trilha_sqlite_step(trilha_sqlite_connection *c, sqlite3_stmt *statement, bool *ret_row,
                                 trilha_error *err);
/* To its end, without rows. */
trilha_status trilha_sqlite_execute(trilha_sqlite_connection *c, sqlite3_stmt *statement, trilha_error *err);
trilha_status trilha_sqlite_run(trilha_sqlite_connection *c, trilha_sqlite_query query, trilha_error *err);
/* The first column of the first row; *ret_any false when there is no row or it is NULL. */
trilha_status trilha_sqlite_value(trilha_sqlite_connection *c, sqlite3_stmt *statement, int64_t *ret_value,
                                  bool *ret_any, trilha_error *err);
/* Absent: NULL. The text must live until the statement is reset. */
void trilha_sqlite_bind(sqlite3_stmt *statement, int parameter, trilha_text text);
/* A column in `arena`, terminated; absent when NULL. */
trilha_status trilha_sqlite_column(sqlite3_stmt *statement, int column, trilha_arena *arena, trilha_text *ret_text,
                                   trilha_error *err);
/* The same; CORRUPT STORE_ROW_MALFORMED for what is no UTF-8 or holds U+0000: a file may have other writers. */
trilha_status trilha_sqlite_column_utf8(sqlite3_stmt *statement, int column, trilha_arena *arena, trilha_text *ret_text,
                                        trilha_error *err);

/* --- row.c --------------------------------------------------------------------------------------------- */

/* The form kept in the file: fixed width, 1/100 s. */
void trilha_sqlite_timestamp(int64_t us, char out[TRILHA_SQLITE_TIMESTAMP_SIZE]);
/* The clock, at 1/100 s. */
int64_t trilha_sqlite_now_us(void);
trilha_status trilha_sqlite_timestamp_read(trilha_text text, int64_t *ret_us, trilha_error *err);
/* INVALID when a text of the row can be stored by no store: U+0000, or not UTF-8. */
trilha_status trilha_sqlite_text_check(trilha_text text, const char *column, trilha_error *err);
trilha_status trilha_sqlite_row_check(const trilha_event_row *row, trilha_error *err);
/* Ids and timestamps as text while a row is bound. */
typedef struct trilha_sqlite_row_texts {
  char event_id[37], correlacao_id[37], causation_id[37];
  char timestamp[TRILHA_SQLITE_TIMESTAMP_SIZE], criado_em[TRILHA_SQLITE_TIMESTAMP_SIZE];
} trilha_sqlite_row_texts;
void trilha_sqlite_row_bind(sqlite3_stmt *statement, const trilha_event_row *row, int64_t criado_em_us,
                            trilha_sqlite_row_texts *texts);
trilha_status trilha_sqlite_row_read(sqlite3_stmt *statement, trilha_arena *arena, trilha_event_row *ret_row,
                                     trilha_error *err);
trilha_status trilha_sqlite_row_copy(const trilha_event_row *row, trilha_arena *arena, trilha_event_row *ret_row,
                                     trilha_error *err);

/* --- the store ------------------------------------------------------------------------------------------ */

typedef struct trilha_sqlite_waiter trilha_sqlite_waiter; /* queue.c: one thread in a queue, on its stack */

typedef struct trilha_sqlite_store {
  trilha_store base;
  char *path;        /* absolute, links resolved */
  char *display_url; /* as given */
  pid_t pid;         /* a child after fork() is refused */
  int64_t lock_timeout_ms, scan_interval_ms;
  bool unsafe_no_fsync, allow_unmigrated;
  trilha_diagnostics diagnostics;

  pthread_mutex_t mutex; /* guards what follows up to the next blank line; never held across I/O */
  trilha_sqlite_waiter *writers, **writers_tail;
  bool writing;
  trilha_sqlite_waiter *readers_waiting, **readers_tail;
  trilha_sqlite_connection *idle[TRILHA_SQLITE_READERS_LIMIT];
  unsigned idle_count, readers_open, readers_max;
  dev_t device; /* of the file first seen; inode 0: none yet */
  ino_t inode;

  pthread_mutex_t lock_mutex; /* guards the opening of `lock` */
  trilha_writers_lock *lock;

  /* Of the thread whose turn it is. */
  trilha_sqlite_connection *writer;
  int64_t restart_tried_ns;
  int checkpoint_at_pages;
  int64_t wal_warn_at_bytes;
} trilha_sqlite_store;

static inline trilha_sqlite_store *trilha_sqlite_of(trilha_store *store) {
  return (trilha_sqlite_store *)(void *)store;
}

/* open.c */
trilha_status trilha_sqlite_check_process(const trilha_sqlite_store *s, trilha_error *err);
trilha_status trilha_sqlite_create_file(trilha_sqlite_store *s, trilha_error *err);
bool trilha_sqlite_file_exists(const trilha_sqlite_store *s);
/* NOT_INITIALIZED without a file; UNAVAILABLE (STORE_REPLACED) when the path no longer leads to the file first seen:
 * what SQLite wrote to the old one would be lost. */
trilha_status trilha_sqlite_check_file(trilha_sqlite_store *s, trilha_error *err);
trilha_status trilha_sqlite_not_initialized(const trilha_sqlite_store *s, trilha_error *err);
/* The lock file, opened or created at first use; owned by the store. */
trilha_status trilha_sqlite_lock_file(trilha_sqlite_store *s, trilha_writers_lock **ret_lock, trilha_error *err);

/* queue.c: threads of this handle, first come first served. TIMEOUT when the deadline passes first. */
trilha_status trilha_sqlite_turn_take(trilha_sqlite_store *s, trilha_deadline deadline, trilha_error *err);
void trilha_sqlite_turn_give(trilha_sqlite_store *s);
trilha_status trilha_sqlite_reader_take(trilha_sqlite_store *s, trilha_deadline deadline,
                                        trilha_sqlite_connection **ret, trilha_error *err);
/* NULL: the connection was closed; its place is free. */
void trilha_sqlite_reader_give(trilha_sqlite_store *s, trilha_sqlite_connection *take_connection);

/* transaction.c: BEGIN IMMEDIATE … COMMIT under the turn. Exactly one of commit and abort ends what begin began. */
trilha_status trilha_sqlite_write_begin(trilha_sqlite_store *s, trilha_deadline deadline,
                                        trilha_sqlite_connection **ret, trilha_error *err);
/* OK: on disk. OUTCOME_UNKNOWN: the file system or memory failed while the commit was written. Anything else: nothing
 * was stored.
 */
trilha_status trilha_sqlite_write_commit(trilha_sqlite_store *s, trilha_error *err);
void trilha_sqlite_write_abort(trilha_sqlite_store *s);

/* Which failed commits certainly stored nothing: the write-ahead log's commit frame was not completed. After any other
 * failure of the file system it may be in the file, and recovery after a crash would find it. */
bool trilha_sqlite_commit_certainly_absent(int rc);

/* transaction.c: a read transaction, ended by trilha_sqlite_read_end whatever happened in it. */
trilha_status trilha_sqlite_read_begin(trilha_sqlite_store *s, trilha_deadline deadline, trilha_sqlite_connection **ret,
                                       trilha_error *err);
void trilha_sqlite_read_end(trilha_sqlite_store *s, trilha_sqlite_connection *take_connection);

/* wal.c: with the turn, after the commit. */
void trilha_sqlite_wal_keep_small(trilha_sqlite_store *s, bool locked);
bool trilha_sqlite_wal_wants_restart(const trilha_sqlite_store *s);

/* migrate.c: what stands in the file against what this program knows. */
trilha_status trilha_sqlite_schema_check(trilha_sqlite_store *s, trilha_sqlite_connection *c, trilha_error *err);

/* The port's operations (store/store.h). */
trilha_status trilha_sqlite_append(trilha_store *store, const trilha_event_row *rows, size_t count,
                                   trilha_deadline deadline, trilha_arena *arena, trilha_append_result *results,
                                   int64_t *ret_registry_revision, trilha_error *err);
trilha_status trilha_sqlite_event_by_id(trilha_store *store, const unsigned char event_id[16], trilha_deadline deadline,
                                        trilha_event_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_events_query(trilha_store *store, const trilha_event_filter *filter, int64_t limit,
                                         int64_t offset, trilha_deadline deadline, trilha_event_visit visit, void *user,
                                         int64_t *ret_total, trilha_error *err);
trilha_status trilha_sqlite_events_after(trilha_store *store, int64_t after, const trilha_text *types,
                                         size_t type_count, int64_t limit, trilha_deadline deadline,
                                         trilha_event_visit visit, void *user, int64_t *ret_scanned_to,
                                         trilha_error *err);
trilha_status trilha_sqlite_last_event(trilha_store *store, trilha_deadline deadline, int64_t *ret_sequence,
                                       unsigned char ret_event_id[16], bool *ret_any, trilha_error *err);
trilha_status trilha_sqlite_wait(trilha_store *store, int64_t after, trilha_deadline deadline, trilha_error *err);
trilha_status trilha_sqlite_registry_revision(trilha_store *store, trilha_deadline deadline, int64_t *ret_revision,
                                              trilha_error *err);
trilha_status trilha_sqlite_types_list(trilha_store *store, trilha_text tipo, trilha_deadline deadline,
                                       trilha_type_visit visit, void *user, trilha_error *err);
trilha_status trilha_sqlite_types_apply(trilha_store *store, const trilha_type_row *rows, size_t count,
                                        const trilha_audit_row *audit, size_t audit_count, trilha_deadline deadline,
                                        trilha_error *err);
/* audit.c */
trilha_status trilha_sqlite_audit_list(trilha_store *store, const trilha_audit_query *query, int64_t limit,
                                       trilha_deadline deadline, trilha_audit_visit visit, void *user,
                                       trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_sqlite_audit_insert(trilha_store *store, const trilha_audit_row *row, trilha_deadline deadline,
                                         trilha_error *err);
/* Inside the write transaction of the caller. */
trilha_status trilha_sqlite_audit_write(trilha_sqlite_connection *c, const trilha_audit_row *row, const char *now,
                                        trilha_error *err);
trilha_status trilha_sqlite_migrate(trilha_store *store, bool dry_run,
                                    void (*report)(void *user, const char *name, const char *what), void *user,
                                    trilha_error *err);

/* read.c: hands out rows by their numbers, in slices, holding no snapshot while `visit` runs. */
trilha_status trilha_sqlite_deliver(trilha_sqlite_store *s, const int64_t *sequences, size_t count,
                                    trilha_deadline deadline, trilha_event_visit visit, void *user, trilha_error *err);

#endif
