/* tests/support/failing_heap: the program's own allocations (not those of shared libraries) fail at the Nth, for every
 * N until a scenario succeeds. Link with failing_heap.c and -Wl,--wrap for malloc, calloc, realloc and free. One
 * thread. */
#ifndef TRILHA_TESTS_FAILING_HEAP_H
#define TRILHA_TESTS_FAILING_HEAP_H

#include "trilha/error.h"

/* Runs the scenario with allocation 0, 1, 2… and all after it failing, until none was met; then with only the Nth
 * failing. Each run must answer NO_MEMORY, or OK when what failed was not needed, and give everything back. Returns how
 * many runs failed; calls fail_msg of cmocka otherwise. */
unsigned failing_heap_exhaust(trilha_status (*scenario)(void *user, trilha_error *err), void *user);

#endif
