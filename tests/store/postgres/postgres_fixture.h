/* tests/store/postgres: a fresh database on the server that TRILHA_TEST_POSTGRES_URL names, or on one started here. */
#ifndef TRILHA_TESTS_STORE_POSTGRES_FIXTURE_H
#define TRILHA_TESTS_STORE_POSTGRES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <libpq-fe.h>

#include "base/arena.h"
#include "store/postgres/postgres.h"
#include "store/store.h"

enum { FIXTURE_URL_SIZE = 512, FIXTURE_PATIENCE_MS = 60000 }; /* patience: liveness only */

typedef struct fixture {
  char url[FIXTURE_URL_SIZE]; /* of the fresh database, as a superuser */
  char database[64];
  PGconn *sql;         /* a session behind Trilha's back, in that database */
  trilha_store *store; /* NULL in an unmigrated one */
  unsigned failures_before;
} fixture;

/* True when no server can be had: says so as TAP. Else there is one, and TRILHA_TEST_POSTGRES_URL is set. The matching
 * end stops it if it was started here. */
bool fixture_skips(void);
int fixture_end(int status);

int fixture_empty(void **state);    /* a database without a schema */
int fixture_migrated(void **state); /* with one, and the store open */
int fixture_teardown(void **state);

trilha_store *fixture_open(const char *url);
trilha_status fixture_try_open(const char *url, bool allow_unmigrated, trilha_store **ret_store, trilha_error *err);
trilha_status fixture_migrate(const char *url, trilha_error *err);

/* Sessions of our own. Every failure fails the test. */
PGconn *fixture_session(const char *url);
void fixture_run(PGconn *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t fixture_number(PGconn *sql, const char *query);
/* Runs what must fail with this SQLSTATE; "" means: must succeed. */
void fixture_expect(PGconn *sql, const char *command, const char *sqlstate);
/* Ends every other session in the database and waits until they are gone. */
void fixture_terminate_others(const fixture *f);
/* Until the query's number is that; fails the test when it never is. */
void fixture_await(PGconn *sql, const char *query, int64_t number);
/* The moment of the last hint that a store of this database sent, 0: none; and the wait for the next one after such a
 * moment. A store sends them from a thread and on a connection of its own, some time after it stored something. */
int64_t fixture_hint(const fixture *f);
void fixture_await_hint(const fixture *f, int64_t after);
/* The file's text, malloc'd, below the source root. */
char *fixture_source(const char *path);

/* The same URL with another port, database or user; `password` NULL keeps nothing of it. */
void fixture_url_with(const char *url, int port, const char *database, char out[FIXTURE_URL_SIZE]);
int fixture_port(const char *url);

trilha_event_row fixture_row(unsigned n, const char *tipo); /* its id is made of n */
/* Within so many ms. */
trilha_status fixture_append(trilha_store *store, const trilha_event_row *rows, size_t count, int64_t ms,
                             trilha_append_result *results, trilha_error *err);
int64_t fixture_append_one(trilha_store *store, unsigned n); /* its sequence */

/* What a reader sees after `after`: sequences, at most 4096. */
typedef struct fixture_seen {
  int64_t sequences[4096];
  size_t count;
  int64_t scanned_to;
} fixture_seen;
void fixture_read(trilha_store *store, int64_t after, const char *tipo, int64_t limit, fixture_seen *seen);

#endif
