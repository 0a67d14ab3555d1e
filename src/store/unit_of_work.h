/* store/unit_of_work: what the unit of work needs of one connection of the caller's. Room: store (ports). Corridor
 * header.
 *
 * An adapter gives one trilha_unit_store for a connection: one thread at a time, but for cancel.
 *
 * A mark is a number that the open transaction carries: it goes back to its earlier value when a savepoint is rolled
 * back to, whoever made the savepoint, and is kept when one is released. 0: none was set, or what set it was undone.
 */
#ifndef TRILHA_STORE_UNIT_OF_WORK_H
#define TRILHA_STORE_UNIT_OF_WORK_H

#include "trilha/unit_of_work.h"

typedef struct trilha_unit_store trilha_unit_store;

typedef enum trilha_unit_state {
  TRILHA_UNIT_IDLE,   /* no transaction */
  TRILHA_UNIT_OPEN,   /* one that works */
  TRILHA_UNIT_FAILED, /* one that can only be rolled back, altogether or to a savepoint */
  TRILHA_UNIT_BUSY,   /* the caller has a command under way */
  TRILHA_UNIT_LOST,   /* the connection broke, or is another one than at the beginning */
  TRILHA_UNIT_CLOSED  /* by the caller: it must not be touched any more */
} trilha_unit_state;

typedef enum trilha_unit_savepoint_verb {
  TRILHA_UNIT_SAVEPOINT,
  TRILHA_UNIT_ROLLBACK_TO,
  TRILHA_UNIT_RELEASE
} trilha_unit_savepoint_verb;

typedef struct trilha_unit_operations {
  bool schema_needed;                                         /* by enqueue */
  trilha_unit_state (*state)(const trilha_unit_store *store); /* without asking the database */
  /* Both remember which transaction it is. On failure of begin none is open. */
  trilha_status (*begin)(trilha_unit_store *store, trilha_error *err);
  trilha_status (*adopt)(trilha_unit_store *store, trilha_error *err);
  trilha_status (*savepoint)(trilha_unit_store *store, trilha_unit_savepoint_verb verb, int64_t number,
                             trilha_error *err);
  /* Sets the mark, and tells the one before. *ret_same false: the open transaction is not the one begun or adopted. */
  trilha_status (*mark)(trilha_unit_store *store, int64_t number, int64_t *ret_before, bool *ret_same,
                        trilha_error *err);
  /* The mark as it stands; the last question before the commit. */
  trilha_status (*last_mark)(trilha_unit_store *store, int64_t *ret_number, bool *ret_same, trilha_error *err);
  /* COMMITTED, ROLLED_BACK, UNKNOWN or OPEN; OK for the first only. */
  trilha_status (*commit)(trilha_unit_store *store, trilha_unit_of_work_outcome *ret_outcome, bool *ret_resolved,
                          trilha_error *err);
  trilha_status (*rollback)(trilha_unit_store *store, trilha_error *err);
  /* Whether the transaction, found to be open no more, was certainly rolled back. */
  bool (*was_rolled_back)(trilha_unit_store *store);
  trilha_status (*enqueue)(trilha_unit_store *store, const char *schema, const trilha_message *message,
                           trilha_enqueued *ret, trilha_error *err);
  void (*cancel)(trilha_unit_store *store); /* from any thread */
  void (*close)(trilha_unit_store *store);  /* leaves the connection to its owner */
} trilha_unit_operations;

struct trilha_unit_store {
  const trilha_unit_operations *op;
  trilha_unit_of_work *unit; /* whose it is; set by the unit of work */
};

#endif
