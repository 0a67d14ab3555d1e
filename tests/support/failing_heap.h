/* tests/support/failing_heap: the program's own allocations (not those of shared libraries) fail at the Nth, for every
 * N until a scenario succeeds. Link with failing_heap.c and -Wl,--wrap for malloc, calloc, realloc and free. Only the
 * thread that armed it meets failures; blocks of every thread are counted. */
#ifndef TRILHA_TESTS_FAILING_HEAP_H
#define TRILHA_TESTS_FAILING_HEAP_H

#include <stdbool.h>

#include "trilha/error.h"

/* Runs the scenario with allocation 0, 1, 2… and all after it failing, until none was met; then with only the Nth
 * failing. Each run must answer NO_MEMORY, or OK when what failed was not needed, and give everything back. Returns how
 * many runs failed; calls fail_msg of cmocka otherwise. */
unsigned failing_heap_exhaust(trilha_status (*scenario)(void *user, trilha_error *err), void *user);

/* The same by hand, where what is tested outlives a run: after n more allocations of this thread the next one fails,
 * and with `once` only that. Disarming says whether a failure was met. */
void failing_heap_arm(long n, bool once);
bool failing_heap_disarm(void);
/* Blocks that are not given back, of all threads. */
long failing_heap_held(void);
/* For allocators of libraries: whether the allocation under way must fail. */
bool failing_heap_fails(void);

#endif
