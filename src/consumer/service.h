/* consumer/service: how a process with plain subscriptions answers requests made elsewhere (ruling R17). Room:
 * consumer. Corridor header.
 *
 * One thread a handle, started by its first subscription. It keeps a lease for each colony that subscribes here, named
 * "live HOLDER", so that other processes know that somebody listens, and runs the reprocess requests of those colonies
 * with this process's handlers. Thread-safe.
 */
#ifndef TRILHA_CONSUMER_SERVICE_H
#define TRILHA_CONSUMER_SERVICE_H

#include "consumer/consumer.h"

typedef struct trilha_service trilha_service;

trilha_status trilha_service_new(const trilha_reprocessor *r, trilha_service **ret_service,
                                 trilha_error *err) TRILHA_MUST_USE;
/* Ends the thread, after the handler that it may be running, and gives its leases back. */
void trilha_service_free(trilha_service *service);
/* A subscription of this colony was made here. */
trilha_status trilha_service_watch(trilha_service *service, trilha_text colonia, trilha_error *err) TRILHA_MUST_USE;

#endif
