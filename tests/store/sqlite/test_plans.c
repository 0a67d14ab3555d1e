/* store/sqlite: every query prepares on a freshly migrated database, and the hot ones never scan. */
#include "sqlite_fixture.h"

#include <stdio.h>

#include "faulty_vfs.h"
#include "sqlite_queries.h"

/* The queries whose cost may grow with a table, and why. */
static const struct {
  const char *name, *reason;
} scanning[] = {
    {"events_count_all", "a total without filters counts the entries of the smallest index"},
    {"types_all", "the whole registry is wanted"},
    {"migration_list", "the whole list is wanted"},
    {"lag_count", "counts its own sub-select, which an index gives and a LIMIT bounds"},
    {"colonies_all", "the whole table is the answer: one row a colony"},
    {"schema_has_table", "SQLite's own list of objects has no index"},
    {"lease_rival", "the types of a lease, at most 64, are an array in its row"},
    {"lease_of_type", "the types of a lease, at most 64, are an array in its row"},
    {"handlers_list", "operators are told of all leases, of which there are few, and of the types in each"},
    {"schema_objects", "SQLite's own list of objects has no index"},
};

static bool may_scan(const char *name) {
  for (size_t i = 0; i < sizeof scanning / sizeof scanning[0]; i++)
    if (strcmp(scanning[i].name, name) == 0) return true;
  return false;
}

/* Sorting is allowed where an index on time drives and the answer is by number, for the versions of one type, and for
 * the few colonies of the statistics and groups of a colony. */
static bool may_sort(const char *name) {
  return strstr(name, "timestamp") != NULL || strcmp(name, "types_all") == 0 || strcmp(name, "types_of") == 0 ||
         strcmp(name, "schema_objects") == 0 || strcmp(name, "dead_letter_stats") == 0 ||
         strcmp(name, "lease_of_type") == 0 || strcmp(name, "handlers_list") == 0;
}

static void plan_of(sqlite3 *db, const char *sql, char *out, size_t size) {
  char explain[2048];
  sqlite3_stmt *statement = NULL;
  snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
  if (sqlite3_prepare_v2(db, explain, -1, &statement, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  size_t used = 0;
  out[0] = '\0';
  while (sqlite3_step(statement) == SQLITE_ROW && used < size)
    used += (size_t)snprintf(out + used, size - used, "%s; ", (const char *)sqlite3_column_text(statement, 3));
  sqlite3_finalize(statement);
}

static sqlite3 *open_raw(const fixture *f) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
  return db;
}

static void every_query_prepares_on_a_fresh_database(void **state) {
  fixture *f = *state;
  sqlite3 *db = open_raw(f);
  assert_true(TRILHA_SQL_SQLITE_QUERY_COUNT > 40);
  for (int i = 0; i < TRILHA_SQL_SQLITE_QUERY_COUNT; i++) {
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    const trilha_sql_query *q = &trilha_sql_sqlite_queries[i];
    if (sqlite3_prepare_v2(db, q->sql, -1, &statement, &rest) != SQLITE_OK)
      fail_msg("%s: %s", q->name, sqlite3_errmsg(db));
    assert_int_equal(strspn(rest, "; \n"), strlen(rest)); /* one statement each */
    sqlite3_finalize(statement);
  }
  sqlite3_close(db);
}

static void check_plans(const fixture *f) {
  sqlite3 *db = open_raw(f);
  for (int i = 0; i < TRILHA_SQL_SQLITE_QUERY_COUNT; i++) {
    const trilha_sql_query *q = &trilha_sql_sqlite_queries[i];
    char plan[1024];
    if (strncmp(q->sql, "SELECT", 6) != 0 && strncmp(q->sql, "UPDATE", 6) != 0) continue;
    plan_of(db, q->sql, plan, sizeof plan);
    if (strstr(plan, "SCAN") != NULL && !may_scan(q->name)) fail_msg("%s scans: %s", q->name, plan);
    if (strstr(plan, "TEMP B-TREE") != NULL && !may_sort(q->name)) fail_msg("%s sorts: %s", q->name, plan);
  }
  sqlite3_close(db);
}

static void no_hot_query_scans_on_a_table_never_analysed(void **state) {
  check_plans(*state);
}

static void no_hot_query_scans_whatever_the_statistics_say(void **state) {
  fixture *f = *state;
  char said[256];
  for (uint64_t i = 0; i < 20; i++) fixture_append(f->store, i * 100, 100, i == 0 ? "rare" : "a");
  assert_string_equal(fixture_run(f->path, "ANALYZE", said), "");
  check_plans(f);
  assert_string_equal(
      fixture_run(f->path, "UPDATE sqlite_stat1 SET stat = '2000 2000 2000' WHERE idx LIKE '%tipo%'", said), "");
  check_plans(f);
}

/* Pages read from a cache that was just emptied, per query: what a poll costs at any size of the log. */
static int pages_read(const fixture *f, const char *sql, const char *tipo) {
  sqlite3 *db = open_raw(f);
  int now = 0, high = 0;
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
  if (tipo != NULL) {
    sqlite3_bind_text(statement, 1, tipo, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, 1);
    sqlite3_bind_int64(statement, 3, INT64_MAX);
    sqlite3_bind_int64(statement, 4, 1000);
  }
  sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &now, &high, 1);
  while (sqlite3_step(statement) == SQLITE_ROW) continue;
  sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &now, &high, 1);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return now;
}

static void a_poll_for_a_rare_type_reads_a_handful_of_pages_of_a_long_log(void **state) {
  fixture *f = *state;
  fixture_append(f->store, 0, 1, "rare");
  for (uint64_t i = 0; i < 20; i++) fixture_append(f->store, 1 + i * 1000, 1000, "frequent");
  assert_true(fixture_number(f->path, "PRAGMA page_count") > 1000);
  assert_in_range(pages_read(f, trilha_sql_sqlite_events_after_type, "rare"), 1, 20);
  assert_in_range(pages_read(f, trilha_sql_sqlite_event_last, NULL), 1, 20);
}

static trilha_status count_row(void *user, const trilha_event_row *row, trilha_error *err) {
  (void)row, (void)err;
  ++*(int *)user;
  return TRILHA_OK;
}

/* Reads of the files for one page from the middle of the log, on a handle that has nothing in memory. */
static long page_reads(const fixture *f, const trilha_event_filter *filter, int64_t *ret_total) {
  trilha_store *fresh = fixture_open(f);
  int found = 0;
  long before = faulty_reads();
  assert_int_equal(
      fresh->op->events_query(fresh, filter, 101, 0, TRILHA_NO_DEADLINE, count_row, &found, ret_total, NULL),
      TRILHA_OK);
  long reads = faulty_reads() - before;
  fresh->op->close(fresh);
  assert_int_equal(found, 101);
  return reads;
}

static void a_page_without_a_total_reads_its_own_events_only(void **state) {
  fixture *f = *state;
  int64_t total = 0;
  for (uint64_t i = 0; i < 20; i++) fixture_append(f->store, i * 1000, 1000, i % 2 == 0 ? "even" : "odd");
  faulty_register(); /* the last test of this program: what is opened from here on is counted */
  const trilha_event_filter all = {.has_sequence_inicio = true, .sequence_inicio = 5000},
                            typed = {.tipo = TRILHA_TEXT("odd"), .has_sequence_inicio = true, .sequence_inicio = 5000};
  assert_in_range(page_reads(f, &all, NULL), 1, 200);
  assert_in_range(page_reads(f, &typed, NULL), 1, 200);
  assert_true(page_reads(f, &all, &total) > 400); /* the count that is left out; the log has that many pages */
  assert_int_equal(total, 15001);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MIGRATED(every_query_prepares_on_a_fresh_database),
      MIGRATED(no_hot_query_scans_on_a_table_never_analysed),
      MIGRATED(no_hot_query_scans_whatever_the_statistics_say),
      MIGRATED(a_poll_for_a_rare_type_reads_a_handful_of_pages_of_a_long_log),
      MIGRATED(a_page_without_a_total_reads_its_own_events_only),
  };
  return cmocka_run_group_tests_name("sqlite plans", tests, NULL, NULL);
}
