/* database: the little that the examples on both databases need of one: statements with text parameters, and the
 * enqueue in the open transaction. A real program has its own. */
#ifndef EXAMPLES_DATABASE_H
#define EXAMPLES_DATABASE_H

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trilha/postgres.h>
#include <trilha/sqlite.h>

enum { VALUE_SIZE = 256 };

typedef struct database {
  PGconn *pg; /* one of the two */
  sqlite3 *lite;
  const char *schema; /* the outbox's, on PostgreSQL; on SQLite NULL */
  char fault[256];    /* what the database said to the last statement that failed */
} database;

static inline bool database_open(database *db, const char *url, const char *schema) {
  if (strncmp(url, "sqlite:", 7) == 0)
    return sqlite3_open_v2(url + 7, &db->lite, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
           sqlite3_busy_timeout(db->lite, 10000) == SQLITE_OK;
  db->schema = schema;
  db->pg = PQconnectdb(url);
  return PQstatus(db->pg) == CONNECTION_OK;
}

static inline void database_close(database *db) {
  PQfinish(db->pg);
  sqlite3_close(db->lite);
}

static inline bool ask_postgres(database *db, const char *sql, const char *const *values, int count, char *out) {
  PGresult *r = PQexecParams(db->pg, sql, count, NULL, values, NULL, NULL, 0);
  bool ok = PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK;
  if (!ok) snprintf(db->fault, sizeof db->fault, "%s", PQresultErrorMessage(r));
  if (ok && PQntuples(r) > 0) snprintf(out, VALUE_SIZE, "%s", PQgetvalue(r, 0, 0));
  PQclear(r);
  return ok;
}

static inline bool ask_sqlite(database *db, const char *sql, const char *const *values, int count, char *out) {
  sqlite3_stmt *s = NULL;
  int rc = sqlite3_prepare_v2(db->lite, sql, -1, &s, NULL);
  for (int i = 0; rc == SQLITE_OK && i < count; i++) { /* to SQLite $2 is a name, not a place */
    char name[16];
    snprintf(name, sizeof name, "$%d", i + 1);
    rc = sqlite3_bind_text(s, sqlite3_bind_parameter_index(s, name), values[i], -1, SQLITE_TRANSIENT);
  }
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  if (rc == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(s, 0);
    snprintf(out, VALUE_SIZE, "%s", text == NULL ? "" : text);
    while (rc == SQLITE_ROW) rc = sqlite3_step(s);
  }
  if (rc != SQLITE_DONE) snprintf(db->fault, sizeof db->fault, "%s", sqlite3_errmsg(db->lite));
  sqlite3_finalize(s);
  return rc == SQLITE_DONE;
}

/* One statement with $1, $2 … as texts; the first value of its first row goes to `out` ("" when there is none). */
static inline bool ask(database *db, const char *sql, const char *const *values, int count, char out[VALUE_SIZE]) {
  out[0] = '\0';
  return db->pg != NULL ? ask_postgres(db, sql, values, count, out) : ask_sqlite(db, sql, values, count, out);
}

#define VALUES(...) \
  (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static inline bool run(database *db, const char *sql) {
  char nothing[VALUE_SIZE];
  return ask(db, sql, NULL, 0, nothing);
}

/* On SQLite the writer's turn is taken at once; on PostgreSQL rows are locked by SELECT ... FOR UPDATE. */
static inline bool begin(database *db) {
  return run(db, db->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
}

static inline const char *locked(const database *db) {
  return db->pg != NULL ? " FOR UPDATE" : "";
}

static inline trilha_status enqueue(database *db, const trilha_message *message, trilha_error *error) {
  trilha_enqueued enqueued;
  return db->pg != NULL ? trilha_outbox_enqueue_postgres(db->pg, db->schema, message, &enqueued, error)
                        : trilha_outbox_enqueue_sqlite(db->lite, NULL, message, &enqueued, error);
}

#endif
