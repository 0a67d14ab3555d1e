/* bus: publishing, the nine steps of specification 000, section 3.3, in their order. Room: bus. Corridor header.
 *
 * Thread-safe. Steps: 1 the payload is a JSON object that a store can keep; 2 defaults; 3 formats; 4 type and version;
 * 5 payload against its schema; 6 redaction; 7 append; 8 delivery; 9 the answer. A failure at one step leaves no trace
 * of the later ones.
 */
#ifndef TRILHA_BUS_BUS_H
#define TRILHA_BUS_BUS_H

#include "deadletter/deadletter.h"
#include "eventlog/eventlog.h"
#include "redaction/redaction.h"
#include "registry/registry.h"
#include "telemetry/telemetry.h"

/* Limits (docs/limits.md; rulings R2 and R8). Characters are code points. */
#define TRILHA_PAYLOAD_BYTES_MAX    ((size_t)1048576)
#define TRILHA_PAYLOAD_DEPTH_MAX    255
#define TRILHA_TIPO_CHARS_MAX       255
#define TRILHA_ORIGEM_CHARS_MAX     100
#define TRILHA_VERSAO_CHARS_MAX     20
#define TRILHA_SIDE_CHARS_MAX       255 /* tenant, company, aggregate type and key */
#define TRILHA_TRACESTATE_CHARS_MAX 512 /* W3C Trace Context, section 3.3.1.5 */

typedef struct trilha_bus trilha_bus;

/* Borrows everything for its life; keyring and telemetry may be NULL. */
trilha_status trilha_bus_new(trilha_eventlog *log, trilha_registry *registry, const trilha_keyring *keyring,
                             trilha_deadletter *deadletter, trilha_telemetry *telemetry,
                             const trilha_diagnostics *diagnostics, trilha_bus **ret_bus,
                             trilha_error *err) TRILHA_MUST_USE;
void trilha_bus_free(trilha_bus *bus);

/* As trilha_publish_many() in trilha/trilha.h. */
trilha_status trilha_bus_publish(trilha_bus *bus, const trilha_publication *publications, size_t count,
                                 trilha_publish_result *ret_results, trilha_error *err) TRILHA_MUST_USE;
/* As trilha_publish_check(). */
trilha_status trilha_bus_check(trilha_bus *bus, const trilha_publication *publication,
                               trilha_publish_result *ret_result, trilha_error *err) TRILHA_MUST_USE;
void trilha_bus_result_done(trilha_publish_result *result);

#endif
