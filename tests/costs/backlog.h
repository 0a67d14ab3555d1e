/* costs/backlog: an outbox with as much in it as is asked for, written past the functions, and what one batch of a
 * relay touches there. Benchmarks and the tests of costs share it. PostgreSQL only. */
#ifndef TRILHA_TESTS_COSTS_BACKLOG_H
#define TRILHA_TESTS_COSTS_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

struct pg_conn;

/* Lanes that are ready hold 10 messages each; dead ones are the oldest and have `behind` messages from the dead head
 * on. All go to destination 0, which a route has to have made known. */
typedef struct trilha_backlog {
  int64_t messages;
  int64_t blocked; /* of those, behind dead heads, in hundredths */
  int64_t behind;  /* 0: 100 */
  int64_t spare;   /* ready messages on top */
  int64_t tenants;
} trilha_backlog;

/* What was there goes. False: the connection says why. */
bool trilha_backlog_make(struct pg_conn *sql, const char *schema, const trilha_backlog *backlog);
/* No autovacuum on the outbox's tables: what it reads would be counted, and whether it comes is chance. */
bool trilha_backlog_keep_still(struct pg_conn *sql, const char *schema);

/* Buffers of the outbox's own tables and indexes, as the server counted them for this session: nobody else is in its
 * tables, so neighbours move nothing. */
typedef struct trilha_batch_cost {
  int64_t lanes, messages;               /* claimed and read */
  int64_t claim, fetch, settle;          /* buffers */
  int64_t claim_us, fetch_us, settle_us; /* for people only */
} trilha_batch_cost;

/* A batch of one lane, in which the session reads what it keeps of each index; then the lanes go that batches before
 * were through with. */
bool trilha_backlog_warm(struct pg_conn *sql, const char *schema, int64_t run);
/* Claims up to `lanes` lanes, `quota` of one tenant, reads `run` messages of each and settles them as delivered. */
bool trilha_backlog_batch(struct pg_conn *sql, const char *schema, int64_t lanes, int64_t quota, int64_t run,
                          trilha_batch_cost *ret_cost);

enum { TRILHA_BACKLOG_TIME_SIZE = 48 };

/* Where a claim found the floors of a backlog's only tenant; "": nowhere yet. */
typedef struct trilha_backlog_floor {
  char since[TRILHA_BACKLOG_TIME_SIZE], leased_since[TRILHA_BACKLOG_TIME_SIZE];
} trilha_backlog_floor;

/* Puts `lanes` lanes under lease, and asks who holds a quota of so many: the buffers of the question. */
bool trilha_backlog_quotas(struct pg_conn *sql, const char *schema, int64_t lanes, int64_t *ret_tenants,
                           int64_t *ret_buffers);

/* Claims up to `lanes` lanes of the only tenant behind `floor`, which is moved on. */
bool trilha_backlog_claim(struct pg_conn *sql, const char *schema, int64_t lanes, trilha_backlog_floor *floor,
                          int64_t *ret_lanes, int64_t *ret_buffers);

#endif
