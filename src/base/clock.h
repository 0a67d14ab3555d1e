/* base/clock: the only door to time. Room: base. Thread-safe. */
#ifndef TRILHA_BASE_CLOCK_H
#define TRILHA_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Wall clock, microseconds since 1970-01-01T00:00Z; monotonic clock, nanoseconds from an arbitrary start. */
int64_t trilha_clock_wall_us(void);
int64_t trilha_clock_monotonic_ns(void);
void trilha_clock_sleep_ms(int64_t ms);
void trilha_clock_sleep_us(int64_t us);
/* Microseconds since this machine started, sleep included: the same for all its processes, moved by no step of the wall
 * clock. */
int64_t trilha_clock_boot_us(void);
/* Which start of the machine this is: 36 characters and a terminator; "" when the system does not say. */
void trilha_clock_boot_id(char out[37]);

/* A point on the monotonic clock; never INT64_MAX unless "no deadline". */
typedef struct trilha_deadline {
  int64_t monotonic_ns;
} trilha_deadline;
#define TRILHA_NO_DEADLINE ((trilha_deadline){INT64_MAX})
trilha_deadline trilha_deadline_in_ms(int64_t ms);
bool trilha_deadline_passed(trilha_deadline d);
/* Milliseconds left, rounded up, at least 0; `cap` bounds it (and is the answer without a deadline). */
int64_t trilha_deadline_left_ms(trilha_deadline d, int64_t cap);
trilha_deadline trilha_deadline_earlier(trilha_deadline a, trilha_deadline b);

/* --- timestamps (ruling R3) --------------------------------------------------------------------------- */

/* ISO-8601 date and time with 'Z' or an offset; seconds and fraction optional; 't' and 'z' in lower case accepted, a
 * space instead of T is not. Full precision down to microseconds (further digits are rounded half away from
 * 2000-01-01). Leap second 60 only at 23:59:60Z. False for anything else and for years outside 0001–9999. */
bool trilha_timestamp_parse(trilha_text text, int64_t *ret_us);
/* To 1/100 s as PostgreSQL's timestamptz(2) rounds: half away from its epoch 2000-01-01T00:00Z. False when the year
 * leaves 0001–9999. */
bool trilha_timestamp_round_centis(int64_t us, int64_t *ret_us);
/* The nearest time of the years 0001–9999: for what another program wrote into a database. */
int64_t trilha_timestamp_clamp(int64_t us);
enum { TRILHA_TIMESTAMP_SIZE = 32 };
/* "2026-06-15T10:30:00Z", with ".25" or up to 6 digits when there is a fraction (trailing zeros dropped). Always UTC.
 */
void trilha_timestamp_format(int64_t us, char out[TRILHA_TIMESTAMP_SIZE]);

#endif
