/* otlp: sends what `telemetry` holds to an OpenTelemetry collector: OTLP/HTTP 1.x with the JSON encoding. Room: otlp.
 * Corridor.
 *
 * One thread of its own a handle. It takes spans in batches and reads the numbers once an interval; what a collector
 * asks to have repeated is repeated with growing pauses, and given up after TRILHA_OTLP_TRIES_MAX. The queue behind it
 * is bounded, so a collector that is away costs spans, not memory, and never a publish.
 */
#ifndef TRILHA_OTLP_OTLP_H
#define TRILHA_OTLP_OTLP_H

#include "telemetry/telemetry.h"
#include "trilha/trilha.h"

enum {
  TRILHA_OTLP_BATCH_MAX = 512,          /* spans of one request */
  TRILHA_OTLP_TRIES_MAX = 4,            /* of one request */
  TRILHA_OTLP_HEADERS_MAX = 32,         /* of the option */
  TRILHA_OTLP_ANSWER_BYTES_MAX = 65536, /* of a collector's answer */
  TRILHA_OTLP_RETRY_AFTER_S_MAX = 30    /* what a collector may ask to wait */
};

typedef struct trilha_otlp trilha_otlp;

/* USAGE (OTLP_ENDPOINT, OTLP_HEADERS, OTLP_QUEUE): an option is not of its form. Telemetry and sink outlive it; texts
 * are copied. Connects to nothing yet. */
trilha_status trilha_otlp_start(const trilha_otlp_options *options, trilha_telemetry *telemetry,
                                const trilha_diagnostics *diagnostics, trilha_otlp **ret_otlp,
                                trilha_error *err) TRILHA_MUST_USE;
/* The spans that the option lets wait, with the default for 0. */
trilha_status trilha_otlp_queue_size(const trilha_otlp_options *options, size_t *ret_spans,
                                     trilha_error *err) TRILHA_MUST_USE;
void trilha_otlp_counted(trilha_otlp *otlp, trilha_otlp_counts *ret_counts);
/* Sends what waits within the option's flush_ms; what does not go is dropped. NULL is allowed. */
void trilha_otlp_stop(trilha_otlp *otlp);

#endif
