/* schema tests: the official test suite of draft 2020-12, given test by test to a judge. */
#ifndef TRILHA_TESTS_SCHEMA_SUITE_H
#define TRILHA_TESTS_SCHEMA_SUITE_H

#include "schema_test.h"

typedef struct suite_remote {
  char uri[512];
  trilha_json_document *document;
} suite_remote;
typedef struct suite_remotes {
  suite_remote items[64];
  size_t count;
} suite_remotes;

/* A trilha_schema_resolve over suite_remotes. */
const trilha_json_document *suite_find_remote(void *user, trilha_text uri);

/* Who says what the suite's documents are: `begin` is told each group's schema, `verdict` each instance below it. */
typedef struct suite_judge {
  void (*begin)(void *user, const trilha_json_document *schema, suite_remotes *remotes, bool assert_format);
  trilha_verdict (*verdict)(void *user, trilha_text instance);
  void (*end)(void *user); /* may be NULL */
  void *user;
} suite_judge;

/* Tests that a judge is known not to pass, with the reason beside them; a NULL test stands for all of its group. */
typedef struct suite_exception {
  const char *file, *group, *test;
} suite_exception;

typedef struct suite_count {
  int files, tests, passed, listed;
  bool surprised; /* a test failed that is not listed, or passed though it is */
} suite_count;

/* Runs a folder of the suite ("", "optional", "optional/format"; formats are asserted in the last); skips the test when
 * ../shared is absent. `exceptions` ends with a NULL file. */
suite_count suite_run(const char *folder, const suite_judge *by, const suite_exception *exceptions);

#endif
