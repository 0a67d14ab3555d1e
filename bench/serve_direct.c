/* bench: the same queries without the API, as psql and sqlite3 ask them: the text of each query sent, parsed and
 * planned each time, on one connection that stays open, every column of every row read as text.
 *
 *   serve_direct STORE ROUNDS QUERY...
 *
 * STORE is sqlite:PATH or a PostgreSQL URL. A round runs all the queries, one after the other. Prints
 * "p50 MICROSECONDS p99 MICROSECONDS rows ROWS_OF_A_ROUND". */
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { QUERIES_MAX = 8, WARM_ROUNDS = 100 };

static size_t bytes_read; /* so that no read can be left out */

static void die(const char *what, const char *why) {
  fprintf(stderr, "serve_direct: %s: %s\n", what, why);
  exit(1);
}

typedef struct source {
  sqlite3 *db;
  PGconn *connection;
  char **queries;
  size_t count;
} source;

static void open_source(source *s, const char *url) {
  if (strncmp(url, "sqlite:", 7) == 0) {
    if (sqlite3_open_v2(url + 7, &s->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) die(url, sqlite3_errmsg(s->db));
    return;
  }
  s->connection = PQconnectdb(url);
  if (PQstatus(s->connection) != CONNECTION_OK) die("connect", PQerrorMessage(s->connection));
}

static size_t ask_sqlite(sqlite3 *db, const char *query) {
  size_t rows = 0;
  int code;
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, query, -1, &statement, NULL) != SQLITE_OK) die(query, sqlite3_errmsg(db));
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
      const unsigned char *text = sqlite3_column_text(statement, i);
      bytes_read += text == NULL ? 0 : (size_t)sqlite3_column_bytes(statement, i);
    }
    rows++;
  }
  if (code != SQLITE_DONE) die("step", sqlite3_errstr(code));
  sqlite3_finalize(statement);
  return rows;
}

static size_t ask_postgres(PGconn *connection, const char *query) {
  PGresult *result = PQexec(connection, query);
  if (PQresultStatus(result) != PGRES_TUPLES_OK) die(query, PQerrorMessage(connection));
  int rows = PQntuples(result);
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < PQnfields(result); i++) bytes_read += (size_t)PQgetlength(result, r, i);
  PQclear(result);
  return (size_t)rows;
}

static size_t round_of(source *s) {
  size_t rows = 0;
  for (size_t i = 0; i < s->count; i++)
    rows += s->db != NULL ? ask_sqlite(s->db, s->queries[i]) : ask_postgres(s->connection, s->queries[i]);
  return rows;
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int main(int count, char **words) {
  source s = {.queries = words + 3, .count = count > 3 ? (size_t)(count - 3) : 0};
  size_t rounds = count > 2 ? strtoul(words[2], NULL, 10) : 0, rows = 0;
  if (s.count == 0 || s.count > QUERIES_MAX || rounds == 0 || rounds > 10000000)
    die("usage", "serve_direct STORE ROUNDS QUERY...");
  int64_t *took = calloc(rounds, sizeof *took);
  if (took == NULL) die("memory", "none");
  open_source(&s, words[1]);
  for (size_t i = 0; i < WARM_ROUNDS; i++) rows = round_of(&s);
  for (size_t i = 0; i < rounds; i++) {
    int64_t from = trilha_clock_monotonic_ns();
    rows = round_of(&s);
    took[i] = trilha_clock_monotonic_ns() - from;
  }
  qsort(took, rounds, sizeof *took, by_size);
  printf("p50 %.1f p99 %.1f rows %zu\n", (double)took[rounds / 2] / 1e3, (double)took[rounds * 99 / 100] / 1e3, rows);
  free(took);
  sqlite3_close(s.db);
  PQfinish(s.connection);
  return bytes_read == 0;
}
