/* consumer: durable consumers and reprocessing. Room: consumer. Corridor header.
 *
 * Specification 000, sections 3.6, 5.2, 5.3; rulings R9, R14 to R20. A consumer follows the log under its colony's
 * lease; nothing here is fed by a publishing thread. Public contracts: trilha/delivery.h.
 */
#ifndef TRILHA_CONSUMER_CONSUMER_H
#define TRILHA_CONSUMER_CONSUMER_H

#include "bus/deliver.h"
#include "store/delivery.h"

#define TRILHA_CONSUMER_TYPES_MAX      64
#define TRILHA_CONSUMER_BATCH_MAX      1000
#define TRILHA_CONSUMER_BATCH_DEFAULT  100   /* events of one call of a batch handler */
#define TRILHA_CONSUMER_LEASE_MS       15000 /* default; renewed every third of it */
#define TRILHA_CONSUMER_LEASE_LEAST_MS 1000
#define TRILHA_CONSUMER_PAGE_BYTES_MAX ((size_t)4 << 20) /* memory of one page, one event more */

trilha_status trilha_consumer_create(trilha_bus *bus, trilha_store *store, trilha_deadletter *deadletter,
                                     const trilha_diagnostics *diagnostics, const trilha_consumer_options *options,
                                     trilha_consumer **ret_consumer, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_consumer_run_until_stopped(trilha_consumer *consumer, trilha_error *err) TRILHA_MUST_USE;
void trilha_consumer_ask_stop(trilha_consumer *consumer); /* async-signal-safe */
void trilha_consumer_destroy(trilha_consumer *consumer);

trilha_status trilha_consumer_states_list(trilha_store *store, trilha_text colonia, trilha_consumer_states **ret_states,
                                          trilha_error *err) TRILHA_MUST_USE;
void trilha_consumer_states_release(trilha_consumer_states *states);

trilha_status trilha_consumer_handlers_list(trilha_store *store, trilha_handler_guarantee_visit visit, void *user,
                                            trilha_error *err) TRILHA_MUST_USE;

/* What reprocessing works with. */
typedef struct trilha_reprocessor {
  trilha_bus *bus;
  trilha_store *store;
  trilha_deadletter *deadletter;
  const trilha_diagnostics *diagnostics;
} trilha_reprocessor;
/* The audit row is written in the transaction that takes the first rows, or that stores the request. */
trilha_status trilha_reprocess_colony(const trilha_reprocessor *r, trilha_text colonia, trilha_text user,
                                      const trilha_audit_row *audit, unsigned wait_ms,
                                      trilha_reprocessed *ret_reprocessed, trilha_error *err) TRILHA_MUST_USE;
/* No handler: the subscriptions of this process. Rows of types that `types` does not list are left alone (type_count
 * 0: all). */
typedef struct trilha_reprocess_how {
  trilha_text colonia;
  const trilha_text *types;
  size_t type_count;
  const int64_t *ids;
  size_t id_count;
  trilha_handler handler;
  trilha_batch_handler batch_handler; /* called instead, with one event, where handler is NULL */
  trilha_text handler_nome;
  void *user;
  int64_t max_attempts;     /* before failed_permanent; 0: the handle's */
  int64_t lease_ms;         /* of the row that is being run, renewed every third of it; 0: the default */
  bool atomic;              /* a success without its own settlement is a failure: see trilha_delivery_advance_in() */
  const _Atomic bool *stop; /* may be NULL */
  const trilha_audit_row *audit; /* written with the first rows that are taken; NULL: their request was */
} trilha_reprocess_how;
trilha_status trilha_reprocess_rows(const trilha_reprocessor *r, const trilha_reprocess_how *how,
                                    trilha_reprocessed *ret_reprocessed, trilha_error *err) TRILHA_MUST_USE;

/* Runs this process's subscriptions of the colony on one stored event; records the failure, or closes the dead letter.
 */
trilha_status trilha_redeliver_event(const trilha_reprocessor *r, trilha_text colonia, const trilha_event *event,
                                     trilha_error *err) TRILHA_MUST_USE;

#endif
