/* store/postgres/unit_of_work: the port of a unit of work on a caller's PGconn. Room: store/postgres, inside. */
#ifndef TRILHA_STORE_POSTGRES_UNIT_OF_WORK_H
#define TRILHA_STORE_POSTGRES_UNIT_OF_WORK_H

#include "postgres_internal.h"
#include "postgres_unit_queries.h"
#include "store/unit_of_work.h"

typedef struct trilha_pg_unit {
  trilha_unit_store port; /* first */
  PGconn *pg;             /* NULL: its owner has closed it */
  PGcancel *cancel;       /* of the session that the unit was opened on */
  bool reset;             /* by PQreset(): another session, which knows nothing of the transaction */
  int64_t answer_timeout_ms, resolve_timeout_ms;
  char token[17];   /* tells this unit's marks from those of an earlier one in the same transaction */
  int64_t began_us; /* which transaction it is */

  /* What a lost answer is resolved by. */
  bool asked;        /* for the server */
  int64_t system_id; /* 0: it may not be asked */
  char timeline[9];  /* hexadecimal */
  char xid[24];      /* of the transaction whose COMMIT is next; "" when it has written nothing */
} trilha_pg_unit;

static inline trilha_pg_unit *trilha_pg_unit_of(trilha_unit_store *store) {
  return (trilha_pg_unit *)(void *)store;
}

/* unit_verdict.c: what became of u->xid, asked on a new connection until resolve_timeout_ms. UNKNOWN where that cannot
 * be known, with the reason in `err`. */
trilha_unit_of_work_outcome trilha_pg_unit_verdict(const trilha_pg_unit *u, trilha_error *err);

#endif
