/* tests/fault/server: a PostgreSQL server of the test's own, with fsync, which it may kill. One a program. */
#ifndef TRILHA_TESTS_FAULT_SERVER_H
#define TRILHA_TESTS_FAULT_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "store/postgres/relay.h"

enum { FAULT_SERVER_PATH = 200 };

/* Below `parent`, and until this process ends; from then on it is the server of all fixtures. False: none can be
 * started here. */
bool fault_server_starts(const char *parent);
/* The tests on such a server, and the program's status; one that cannot be started skips them. */
int fault_server_run(int (*run_all)(void));
/* Runs a verb of tools/private-postgres on it; its exit status. */
int fault_server(const char *verb, const char *more);
/* The test fails unless the verb succeeds. */
void fault_server_expect(const char *verb);
const char *fault_server_folder(void);
/* A wire before the server; `out` is `url` through it. */
relay *fault_server_wire(const char *url, char *out, size_t size);

#endif
