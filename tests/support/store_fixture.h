/* tests/support/store_fixture: a fresh, migrated store of the kind that TRILHA_TEST_STORE names, for suites that run on
 * both. */
#ifndef TRILHA_TESTS_SUPPORT_STORE_FIXTURE_H
#define TRILHA_TESTS_SUPPORT_STORE_FIXTURE_H

#include "trilha/trilha.h"

typedef struct trilha_fixture {
  char url[512];     /* of the fresh store */
  char folder[128];  /* scratch folder of this test, removed at the end */
  char keyring[256]; /* "file:…" with one key, k1 */
  bool is_postgres;
  trilha *handle; /* opened with keyring and the recording sink */
  struct trilha_recorded *recorded;
  unsigned failures_before; /* of this test: assertions of others */
} trilha_fixture;

/* True when the suite cannot run here (no test server): says so as TAP. The caller returns 0. */
bool trilha_fixture_skips(void);

/* cmocka setup and teardown; *state is a trilha_fixture *. */
int trilha_fixture_setup(void **state);
int trilha_fixture_teardown(void **state);

/* Another handle on the same store, as another process would have. `keyring` NULL: none. */
trilha *trilha_fixture_open(const trilha_fixture *f, const char *keyring);
/* Registers one type version; fails the test when it is refused. */
void trilha_fixture_register(trilha *handle, const char *tipo, const char *versao, const char *schema);
/* The number that a SQL query on the raw store answers. `{log}` in it becomes the event log's table name. */
int64_t trilha_fixture_count(const trilha_fixture *f, const char *sql);
/* One statement on the raw store, behind Trilha's back: the one of its kind. */
void trilha_fixture_change(const trilha_fixture *f, const char *postgres, const char *sqlite);
/* How many diagnostics of this name were emitted, and the last one's message ("" when none). */
size_t trilha_fixture_diagnostics(const trilha_fixture *f, const char *name, const char **ret_message);

#endif
