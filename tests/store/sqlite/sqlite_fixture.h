/* tests/store/sqlite: a fresh database in a scratch folder, rows to append, and a look behind the adapter's back. */
#ifndef TRILHA_TESTS_STORE_SQLITE_SQLITE_FIXTURE_H
#define TRILHA_TESTS_STORE_SQLITE_SQLITE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <sys/types.h>

#include "base/arena.h"
#include "store/sqlite/sqlite.h"

enum { FIXTURE_RECORDED = 64 };

typedef struct fixture {
  char folder[64], path[96], url[112];
  trilha_store *store; /* migrated and open */
  struct {
    char name[64];
    long long wal_bytes;
  } diagnostics[FIXTURE_RECORDED]; /* emitted by `store`, the first ones */
  size_t diagnostic_count;
} fixture;

/* cmocka setups: a migrated store, or only the folder; one teardown for both. */
int fixture_migrated(void **state);
int fixture_empty(void **state);
int fixture_remove(void **state);

/* Another handle on the same file, as another process would have. */
trilha_store *fixture_open(const fixture *f);
/* The same with unsafe_no_fsync, for tests of many commits that are not about the disk. */
trilha_store *fixture_open_unsynced(const fixture *f);
trilha_status fixture_try_open(const char *url, bool allow_unmigrated, trilha_store **ret_store, trilha_error *err);
void fixture_migrate(const fixture *f);
size_t fixture_count_diagnostics(const fixture *f, const char *name);

/* A row with this number in its id and payload. */
trilha_event_row fixture_row(uint64_t number, const char *tipo);
void fixture_id(uint64_t number, unsigned char out[16]);
/* Appends rows first … first + count - 1 of this type in one batch; fails the test unless all are stored. */
void fixture_append(trilha_store *store, uint64_t first, size_t count, const char *tipo);
trilha_status fixture_try_append(trilha_store *store, uint64_t first, size_t count, const char *tipo,
                                 trilha_deadline deadline, trilha_error *err);

/* The first column of the first row, on a connection of its own. */
int64_t fixture_number(const char *path, const char *sql);
/* Runs SQL on a connection of its own; "" or SQLite's message. */
const char *fixture_run(const char *path, const char *sql, char out[256]);
/* Bytes of a file; -1 when there is none. */
long long fixture_size(const char *path, const char *suffix);
/* Waits for a child and fails the test unless it ended with 0. */
void fixture_join(pid_t child);

#define MIGRATED(test) cmocka_unit_test_setup_teardown(test, fixture_migrated, fixture_remove)
#define EMPTY(test)    cmocka_unit_test_setup_teardown(test, fixture_empty, fixture_remove)

#endif
