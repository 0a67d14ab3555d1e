/* base/fault: places where tests kill, fail or pause a process. Room: base. Compiled away unless TRILHA_FAULT_POINTS is
 * defined.
 *
 * TRILHA_FAULT("room.verb.moment") is true when the armed action for that point is "fail"; the code then takes its
 * error path. Armed by the environment variable TRILHA_FAULT="point=kill|fail|pause[:COUNT][,…]": `kill` sends SIGKILL
 * to the process, `pause` stops it with SIGSTOP; COUNT is the occurrence that triggers (default 1). */
#ifndef TRILHA_BASE_FAULT_H
#define TRILHA_BASE_FAULT_H

#include <stdbool.h>

#ifdef TRILHA_FAULT_POINTS
bool trilha_fault_point(const char *name);
/* Forgets the occurrences counted so far: for a test that changes the variable within its own process. */
void trilha_fault_reset(void);
#define TRILHA_FAULT(name) trilha_fault_point(name)
#else
#define TRILHA_FAULT(name) false
#endif

#endif
