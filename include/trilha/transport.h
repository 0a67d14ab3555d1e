/* trilha/transport.h: how a message leaves: the seam between the relay and what it delivers to.
 *
 * A transport sends one message and tells what came of it; it never learns of leases, lanes or retries. A mapper says
 * what a message looks like on a wire. Neither is seen by those who enqueue (requirement O23).
 *
 * Sources: specification 001, rules 5 to 7; requirements O5 to O7, O23, O24.
 */
#ifndef TRILHA_TRANSPORT_H
#define TRILHA_TRANSPORT_H

#include "trilha/trilha.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Limits (docs/limits.md). */
enum {
  TRILHA_TRANSPORT_AT_ONCE_MAX = 64,          /**< threads that one worker lends to one transport's send */
  TRILHA_TRANSPORT_RETRY_AFTER_S_MAX = 86400, /**< what a destination may ask for, at most */
  TRILHA_WIRE_HEADERS_MAX = 32                /**< that a mapper gives */
};

/** One message on its way to one destination. Borrowed for the call; optional texts are absent (data NULL) where the
 * message has none. */
typedef struct trilha_envelope {
  trilha_text destination, message_id;
  trilha_text tenant_id, company_id, aggregate_type, aggregate_key;
  int64_t aggregate_sequence;
  int64_t previous_sequence; /**< of the message before it that this destination was given; 0: none that is kept. What
                                is between the two went elsewhere or was discarded: it is no gap */
  trilha_text message_type, version, origin, correlation_id, causation_id, traceparent;
  trilha_text occurred_at;    /**< RFC 3339, UTC */
  trilha_text payload;        /**< exactly the bytes that were enqueued, or of its last correction */
  int64_t revision;           /**< 1: as it was enqueued; raised by each correction (ruling R32) */
  trilha_text payload_sha256; /**< of those bytes, lower-case hexadecimal */
  int64_t attempt;            /**< from 1 */
  unsigned timeout_ms;        /**< the answer must be there by then; the lease outlives it by the margin */
  trilha_text credential;     /**< the service credential that was checked for this message; absent: the outbox asks for
                                 none (docs/outbox.md, "Services"). Never sent anywhere by Trilha's own transports */
} trilha_envelope;

/** In whose name one message runs (requirement O10): made anew for each call from what stands beside the payload, which
 * grants nothing, and emptied when the call ends, however it ends. Texts are absent where the message has none. */
typedef struct trilha_scope {
  trilha_text tenant_id, company_id, correlation_id, causation_id, traceparent;
  trilha_text credential; /**< as trilha_envelope's */
} trilha_scope;

/** The scope of a message; its texts are borrowed from the envelope. */
static inline trilha_scope trilha_envelope_scope(const trilha_envelope *envelope) {
  trilha_scope scope;
  scope.tenant_id = envelope->tenant_id;
  scope.company_id = envelope->company_id;
  scope.correlation_id = envelope->correlation_id;
  scope.causation_id = envelope->causation_id;
  scope.traceparent = envelope->traceparent;
  scope.credential = envelope->credential;
  return scope;
}

/* --- sending --------------------------------------------------------------------------------------------- */

/** Sends one message and returns when its fate is known. TRILHA_OK: the destination has accepted it. TRILHA_INVALID,
 * TRILHA_CONFLICT: it never will: dead-lettered at once, and its lane blocks until an operator acts. Anything else:
 * tried again after a pause. The error's code and text are kept with the lane and must hold nothing of the payload.
 * Called from up to `at_once` threads of each worker, never twice at once for one lane. */
typedef trilha_status (*trilha_send)(void *user, const trilha_envelope *envelope, trilha_error *error);

/** One message under way: what trilha_begin is given and trilha_sending_done() gives back. */
typedef struct trilha_sending trilha_sending;

typedef struct trilha_send_result {
  trilha_status status; /**< as trilha_send returns it */
  trilha_error error;
  bool held;              /**< with a status that is not OK: the destination takes nothing at all now. The message costs
                             no attempt and keeps its place; `capacity` says when to ask again */
  int64_t retry_after_ms; /**< with a failure: the destination asked not to be tried before; at most
                             TRILHA_TRANSPORT_RETRY_AFTER_S_MAX counts. 0: the relay's own backoff */
} trilha_send_result;

/** Begins to send and returns soon; trilha_sending_done() is called exactly once for it, from any thread, within the
 * call or later, and within envelope->timeout_ms. The envelope lives until then. */
typedef void (*trilha_begin)(void *user, const trilha_envelope *envelope, trilha_sending *sending);
TRILHA_API void trilha_sending_done(trilha_sending *take_sending, const trilha_send_result *result);

/** How many messages more may be begun now. 0: the destination takes none; *ret_again_ms says when to ask again. A
 * question that changes nothing, from any thread of the relay. */
typedef size_t (*trilha_capacity)(void *user, int64_t *ret_again_ms);

/** Why `capacity` is 0, for operators: a code such as BREAKER_OPEN, constant text; NULL: it is not. From any thread of
 * the relay. */
typedef const char *(*trilha_holding)(void *user);

typedef struct trilha_transport {
  trilha_text destination;
  trilha_send send; /**< one of send and begin */
  void *user;
  unsigned at_once;   /**< of send: so many calls at once by each worker; 1: on the worker's own thread, where a slow
                         one holds up the others; 0: 8 */
  trilha_begin begin; /**< as many at once as a worker has lanes in flight */
  trilha_capacity capacity;   /**< may be NULL: always room */
  trilha_guarantee guarantee; /**< obligatory */
  trilha_holding holding;     /**< may be NULL: DESTINATION_HELD while `capacity` is 0 */
  const char *because;        /**< of best effort: why it is no more; obligatory there, for operators */
} trilha_transport;

/** The envelope as one JSON object without line feeds, its payload as a JSON value within it: a terminated string, the
 * caller's, freed with trilha_free(). */
TRILHA_API trilha_status trilha_envelope_to_json(const trilha_envelope *envelope, char **ret_json, size_t *ret_size,
                                                 trilha_error *error) TRILHA_MUST_USE;

/* --- mapping --------------------------------------------------------------------------------------------- */

/** What goes over a wire for one message: headers and a body. One owner. */
typedef struct trilha_wire trilha_wire;
/** NULL when memory is out. The texts that a wire gives live until it is freed or mapped again. */
TRILHA_API trilha_wire *trilha_wire_new(void) TRILHA_MUST_USE;
TRILHA_API void trilha_wire_free(trilha_wire *wire); /**< NULL is allowed */

/** For mappers. Names are lower-case letters, digits and hyphens; a value's bytes outside printable ASCII are the
 * mapper's to encode: anything else makes the mapping fail. */
TRILHA_API void trilha_wire_header(trilha_wire *wire, trilha_text name, trilha_text value);
TRILHA_API void trilha_wire_body(trilha_wire *wire, trilha_text content_type, trilha_text body);

/** For transports. An absent name: there are no more. */
TRILHA_API trilha_text trilha_wire_header_at(const trilha_wire *wire, size_t index, trilha_text *ret_value);
TRILHA_API trilha_text trilha_wire_content(const trilha_wire *wire, trilha_text *ret_content_type);

/** Anything but OK: the message cannot be put into this form, and is dead-lettered; TRILHA_NO_MEMORY and
 * TRILHA_UNAVAILABLE: not now. Called from several threads. */
typedef trilha_status (*trilha_event_map)(void *user, const trilha_envelope *envelope, trilha_wire *wire,
                                          trilha_error *error);
typedef struct trilha_event_mapper {
  trilha_event_map map; /**< NULL: trilha_map_cloudevents_binary */
  void *user;
} trilha_event_mapper;
/** Clears the wire and maps. INVALID: the mapper refused (its own code, or MAPPING_REFUSED), or gave no body, too many
 * headers or a character that none may hold (MAPPING_INVALID). */
TRILHA_API trilha_status trilha_event_mapper_apply(const trilha_event_mapper *mapper, const trilha_envelope *envelope,
                                                   trilha_wire *wire, trilha_error *error) TRILHA_MUST_USE;

/** CloudEvents 1.0.2 over HTTP, binary mode: attributes as ce- headers, percent-encoded once, and the payload as it is.
 * Attributes: id, source (the origin), type, time, dataschema, subject and partitionkey (the aggregate), sequence,
 * previoussequence, revision, correlationid, causationid, tenantid, companyid, traceparent. */
TRILHA_API trilha_status trilha_map_cloudevents_binary(void *user, const trilha_envelope *envelope, trilha_wire *wire,
                                                       trilha_error *error);
/** The same attributes in one JSON object, the payload as its `data`. */
TRILHA_API trilha_status trilha_map_cloudevents_structured(void *user, const trilha_envelope *envelope,
                                                           trilha_wire *wire, trilha_error *error);
/** The envelope as trilha_envelope_to_json() gives it. */
TRILHA_API trilha_status trilha_map_envelope(void *user, const trilha_envelope *envelope, trilha_wire *wire,
                                             trilha_error *error);

#ifdef __cplusplus
}
#endif
#endif
