/* bus/deliver: the protected call of a handler, and live delivery to the subscriptions of this process. Room: bus.
 * Corridor header.
 *
 * Thread-safe. Specification 000, sections 3.5 and 4.2; rulings R11, R18, R29. Live deliveries go through one mailbox
 * per colony: entries are put there by the leader of a group commit in the order of their sequence, and taken by
 * publishing threads, one at a time per colony.
 */
#ifndef TRILHA_BUS_DELIVER_H
#define TRILHA_BUS_DELIVER_H

#include "bus/bus.h"
#include "deadletter/deadletter.h"
#include "trilha/delivery.h"

#define TRILHA_LISTENERS_WARN 30 /* specification 000, section 1: the 31st listener of a type is warned about */
#define TRILHA_NESTED_PUBLISH_MAX                                                       \
  100 /* handlers whose events cause handlers whose events …; then publish is refused \
       */
#define TRILHA_COLONIA_CHARS_MAX      100 /* ruling R2 */
#define TRILHA_HANDLER_NOME_CHARS_MAX 255

/* One call of one handler. */
typedef struct trilha_attempt {
  const trilha_event *event; /* the first of `count` */
  size_t count;              /* 0: one, as 1 */
  trilha_text colonia, handler_nome;
  trilha_handler handler;
  trilha_batch_handler batch_handler; /* called instead where handler is NULL */
  void *user;
  int64_t attempt; /* 1 for the first */
  /* How this delivery's cursor moves inside the handler's own transaction; NULL where there is no cursor. */
  trilha_status (*advance)(void *advance_user, void *connection, trilha_error *err);
  void *advance_user;
} trilha_attempt;

/* Why a handler failed, unscrubbed. */
typedef struct trilha_outcome {
  bool success;
  trilha_buffer message, stack;
} trilha_outcome;
void trilha_outcome_done(trilha_outcome *outcome);

/* Calls the handler with its context, measures and says span and outcome (`event.process`, ruling R29), and never lets
 * a failure out. */
void trilha_protected_call(trilha_bus *bus, const trilha_attempt *attempt, trilha_outcome *ret_outcome);

/* Who subscribes to (tipo, colonia) here. */
bool trilha_bus_listens(trilha_bus *bus, trilha_text tipo, trilha_text colonia);
/* The types that the colony subscribes to here, each once, copied into the arena. */
trilha_status trilha_bus_listened_types(trilha_bus *bus, trilha_text colonia, trilha_arena *arena,
                                        trilha_text **ret_types, size_t *ret_count, trilha_error *err) TRILHA_MUST_USE;

trilha_status trilha_bus_subscribe(trilha_bus *bus, const trilha_subscription *subscription, int64_t *ret_id,
                                   trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_bus_unsubscribe(trilha_bus *bus, int64_t id, trilha_error *err) TRILHA_MUST_USE;

/* Runs this process's handlers of (tipo, colonia) on one stored event, in the colony's turn. The first failure is the
 * outcome, success when all succeed (ruling R11). NOT_FOUND when nobody listens here. Nothing is written to the
 * dead-letter queue. */
trilha_status trilha_bus_deliver_now(trilha_bus *bus, trilha_text colonia, const trilha_event *event, int64_t attempt,
                                     trilha_outcome *ret_outcome, trilha_buffer *handler_nome,
                                     trilha_error *err) TRILHA_MUST_USE;

#endif
