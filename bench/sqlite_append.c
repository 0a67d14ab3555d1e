/* bench: appends of the SQLite adapter in batches against a plain C loop over the same table with the same settings.
 *
 *   sqlite_append [ROUNDS] [FOLDER]
 *
 * Both run in turns on files of their own in FOLDER (default: the working directory), so that a noisy disk hurts both;
 * what counts is the median of the rounds' ratios, adapter / plain loop. Durable, the bar is 0.8. Without waiting for
 * the disk there is no bar: it shows what the adapter's own work costs. The plain loop binds and inserts and does
 * nothing else: no look-up of ids, no lock between processes, no copy of the row back. Status 1: the bar was missed. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "sqlite_queries.h"
#include "store/sqlite/sqlite.h"

enum { BATCH = 50, ROUND_MS = 250, ROUNDS_MAX = 101, PATH_SIZE = 512 };

static const char payload[] =
    "{\"demanda_id\":\"a1b2c3d4-e5f6-7890-abcd-ef1234567890\",\"texto_bruto\":\"h1:k1:Zm9vYmFyYmF6cXV4cXV1eA\","
    "\"localizacao_bruta\":{\"lat\":-23.55,\"lng\":-46.63},\"cidadao_id\":\"h1:k1:c29tZXRva2Vub2Z0d2VudA\",\"canal\":"
    "\"app\"}";

static void die(const char *what, const char *why) {
  fprintf(stderr, "sqlite_append: %s: %s\n", what, why);
  exit(1);
}

static trilha_store *open_store(const char *path, bool unsafe) {
  char url[PATH_SIZE + 8];
  snprintf(url, sizeof url, "sqlite:%s", path);
  trilha_store_options options = {.url = trilha_text_of(url), .allow_unmigrated = true, .unsafe_no_fsync = unsafe};
  trilha_store *store = NULL;
  trilha_error err = {0};
  if (trilha_sqlite_open(&options, &store, &err) != TRILHA_OK) die(path, err.text);
  if (store->op->migrate(store, false, NULL, NULL, &err) != TRILHA_OK) die(path, err.text);
  return store;
}

static void fill_row(trilha_event_row *row) {
  *row = (trilha_event_row){.tipo = TRILHA_TEXT("demanda.recebida"),
                            .versao_schema = TRILHA_TEXT("1.0.0"),
                            .origem = TRILHA_TEXT("D-1a"),
                            .payload = {payload, sizeof payload - 1},
                            .has_correlacao_id = true,
                            .timestamp_us = INT64_C(1781519400250000)};
  if (!trilha_uuid_v4(row->event_id) || !trilha_uuid_v4(row->correlacao_id)) die("uuid", "no random bytes");
}

/* --- the adapter ---------------------------------------------------------------------------------------------- */

static void append_batch(trilha_store *store, trilha_arena *arena) {
  trilha_event_row rows[BATCH];
  trilha_append_result results[BATCH];
  int64_t revision;
  trilha_error err = {0};
  for (int i = 0; i < BATCH; i++) fill_row(&rows[i]);
  trilha_arena_reset(arena);
  if (store->op->append(store, rows, BATCH, TRILHA_NO_DEADLINE, arena, results, &revision, &err) != TRILHA_OK)
    die("append", err.text);
}

/* --- the plain loop --------------------------------------------------------------------------------------------- */

static sqlite3 *open_plain(const char *path, bool unsafe) {
  sqlite3 *db = NULL;
  const char *const settings[] = {trilha_sql_sqlite_journal_mode_wal,
                                  unsafe ? trilha_sql_sqlite_synchronous_off : trilha_sql_sqlite_synchronous_full,
                                  trilha_sql_sqlite_foreign_keys_on,
                                  trilha_sql_sqlite_journal_size_limit,
                                  trilha_sql_sqlite_writer_cache,
                                  trilha_sql_sqlite_no_temporary_files};
  if (sqlite3_open(path, &db) != SQLITE_OK) die(path, sqlite3_errmsg(db));
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    if (sqlite3_exec(db, settings[i], NULL, NULL, NULL) != SQLITE_OK) die(path, sqlite3_errmsg(db));
  return db;
}

static void bind(sqlite3_stmt *s, int at, const char *text, int size) {
  sqlite3_bind_text(s, at, text, size, SQLITE_STATIC);
}

static void insert_batch(sqlite3 *db, sqlite3_stmt *insert) {
  char ids[2][TRILHA_UUID_TEXT_SIZE];
  if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) die("begin", sqlite3_errmsg(db));
  for (int i = 0; i < BATCH; i++) {
    trilha_event_row row;
    fill_row(&row);
    trilha_uuid_format(row.event_id, ids[0]);
    trilha_uuid_format(row.correlacao_id, ids[1]);
    bind(insert, 1, ids[0], 36);
    bind(insert, 2, "demanda.recebida", -1);
    bind(insert, 3, "1.0.0", 5);
    bind(insert, 4, "2026-06-15T10:30:00.25Z", -1);
    bind(insert, 5, "D-1a", 4);
    bind(insert, 6, ids[1], 36);
    bind(insert, 7, payload, sizeof payload - 1);
    bind(insert, 8, "2026-06-15T10:30:00.26Z", -1);
    if (sqlite3_step(insert) != SQLITE_DONE) die("insert", sqlite3_errmsg(db));
    sqlite3_reset(insert);
  }
  if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) die("commit", sqlite3_errmsg(db));
}

/* --- in turns ----------------------------------------------------------------------------------------------------- */

typedef struct sides {
  trilha_store *store;
  sqlite3 *db;
  sqlite3_stmt *insert;
  trilha_arena arena;
} sides;

static void adapter_round(sides *s) {
  append_batch(s->store, &s->arena);
}
static void plain_round(sides *s) {
  insert_batch(s->db, s->insert);
}

/* Events a second over one turn. */
static double measure(sides *s, void (*round)(sides *)) {
  int64_t begin = trilha_clock_monotonic_ns(), now = begin, events = 0;
  while (now - begin < (int64_t)ROUND_MS * 1000000) {
    round(s);
    events += BATCH;
    now = trilha_clock_monotonic_ns();
  }
  return (double)events * 1e9 / (double)(now - begin);
}

static void remove_database(const char *path) {
  static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
  for (int i = 0; i < 4; i++) {
    char name[PATH_SIZE + 8];
    snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
    unlink(name);
  }
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

static void open_sides(sides *s, const char *ours, const char *plain, bool unsafe) {
  *s = (sides){.store = open_store(ours, unsafe)};
  trilha_store *made = open_store(plain, unsafe);
  made->op->close(made);
  s->db = open_plain(plain, unsafe);
  if (sqlite3_prepare_v2(s->db, trilha_sql_sqlite_event_insert, -1, &s->insert, NULL) != SQLITE_OK)
    die("prepare", sqlite3_errmsg(s->db));
}

static void close_sides(sides *s) {
  sqlite3_finalize(s->insert);
  sqlite3_close(s->db);
  s->store->op->close(s->store);
  trilha_arena_done(&s->arena);
}

/* The median ratio; *ret_ours and *ret_plain are the medians of the rates. */
static double compare(const char *folder, bool unsafe, int rounds, double *ret_ours, double *ret_plain) {
  char ours[PATH_SIZE], plain[PATH_SIZE];
  snprintf(ours, sizeof ours, "%s/bench-adapter-%ld.db", folder, (long)getpid());
  snprintf(plain, sizeof plain, "%s/bench-plain-%ld.db", folder, (long)getpid());
  double a[ROUNDS_MAX], b[ROUNDS_MAX], ratios[ROUNDS_MAX];
  sides s;
  open_sides(&s, ours, plain, unsafe);
  for (int i = 0; i < rounds; i++) {
    bool ours_first = i % 2 == 0; /* whatever the one leaves for the other, both get it */
    if (ours_first) a[i] = measure(&s, adapter_round);
    b[i] = measure(&s, plain_round);
    if (!ours_first) a[i] = measure(&s, adapter_round);
    ratios[i] = a[i] / b[i];
  }
  close_sides(&s);
  remove_database(ours);
  remove_database(plain);
  *ret_ours = median(a, rounds);
  *ret_plain = median(b, rounds);
  return median(ratios, rounds);
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 15;
  if (rounds < 1 || rounds > ROUNDS_MAX) die("ROUNDS", "1 to 101");
  const char *folder = count > 2 ? arguments[2] : ".";
  printf("batches of %d, SQLite %s, payload %zu bytes\n", BATCH, sqlite3_libversion(), sizeof payload - 1);
  double ours, plain, ratio = compare(folder, false, rounds, &ours, &plain);
  bool met = ratio >= 0.8;
  printf("%-28s %6.3f  bar >= 0.80  %s  %.0f against %.0f events/s, medians of %d rounds\n",
         "SQLite FULL, batches of 50", ratio, met ? "met   " : "MISSED", ours, plain, rounds);
  ratio = compare(folder, true, rounds, &ours, &plain);
  printf("without the disk: %.2f, %.0f against %.0f events/s\n", ratio, ours, plain);
  return met ? 0 : 1;
}
