/* telemetry: what a process measures of its publishes and handlers: ended spans that wait for an exporter, and numbers.
 * Room: telemetry. Corridor.
 *
 * Requirement E18; W3C Trace Context; design: conventions. Thread-safe. Nothing here waits for anybody: a span that
 * finds the queue full is dropped and counted. A NULL telemetry measures nothing and costs nothing.
 */
#ifndef TRILHA_TELEMETRY_TELEMETRY_H
#define TRILHA_TELEMETRY_TELEMETRY_H

#include "base/clock.h"
#include "base/text.h"

enum {
  TRILHA_SPAN_QUEUE_MAX = 65536,    /* spans that an exporter may be told to let wait */
  TRILHA_SPAN_LINKS_MAX = 128,      /* events of one batch that its span links to */
  TRILHA_SPAN_TEXT_BYTES_MAX = 255, /* of one name in a span; longer ones are cut at a character */
  TRILHA_MEASURED_COLONIES_MAX = 64 /* colonies with numbers of their own in one process; the rest share one place */
};

/* --- W3C Trace Context (trace.c) -------------------------------------------------------------------------------- */

typedef struct trilha_trace {
  unsigned char trace_id[16], span_id[8];
  bool sampled;
} trilha_trace;
enum { TRILHA_TRACEPARENT_SIZE = 56 };
/* A traceparent of any version that the specification's section 3.2 lets one read; false for an absent text. ret_trace
 * may be NULL. */
bool trilha_trace_parse(trilha_text traceparent, trilha_trace *ret_trace);
/* In version 00. */
void trilha_trace_format(const trilha_trace *trace, char out[TRILHA_TRACEPARENT_SIZE]);

/* --- spans -------------------------------------------------------------------------------------------------------
 */

typedef struct trilha_telemetry trilha_telemetry;
trilha_status trilha_telemetry_new(size_t spans_max, trilha_telemetry **ret_telemetry,
                                   trilha_error *err) TRILHA_MUST_USE;
/* What still waits is dropped. */
void trilha_telemetry_free(trilha_telemetry *telemetry);

/* A span under way; plain data on its maker's stack. Zeroed: one that nobody records. */
typedef struct trilha_span {
  trilha_trace own;
  unsigned char parent_id[8];
  bool has_parent, recorded;
  int64_t began_us; /* wall clock */
} trilha_span;
/* A child of `parent`, or the first of a trace of its own (NULL). Not recorded: without telemetry, when the parent is
 * not sampled, or when the system has no random bytes. */
void trilha_span_begin(trilha_telemetry *telemetry, const trilha_trace *parent, trilha_span *ret_span);

typedef enum trilha_span_kind { TRILHA_SPAN_PUBLISH, TRILHA_SPAN_PROCESS } trilha_span_kind;
/* What an ended span tells: identifiers and counts, never a value of a payload. Absent texts and 0 are not told. */
typedef struct trilha_span_facts {
  trilha_span_kind kind;
  int64_t took_ns;
  trilha_text tipo, event_id, correlacao_id, origem, colonia, tracestate;
  trilha_text error_code; /* present: the span failed */
  int64_t sequence_number, attempt;
  size_t events; /* of a batch of several */
  bool duplicate;
  const trilha_trace *links;
  size_t link_count;
} trilha_span_facts;
/* Copies what it keeps. */
void trilha_span_end(trilha_telemetry *telemetry, const trilha_span *span, const trilha_span_facts *facts);

/* --- numbers (measure.c) -------------------------------------------------------------------------------------------
 */

typedef enum trilha_publish_outcome {
  TRILHA_PUBLISH_STORED,
  TRILHA_PUBLISH_DUPLICATE,
  TRILHA_PUBLISH_REFUSED, /* before the store */
  TRILHA_PUBLISH_FAILED,  /* by the store */
  TRILHA_PUBLISH_OUTCOMES
} trilha_publish_outcome;
void trilha_measure_publish(trilha_telemetry *telemetry, trilha_publish_outcome outcome, int64_t took_ns);
/* A repeated id came with other content. */
void trilha_measure_divergence(trilha_telemetry *telemetry);
/* Values that had no rule and were not stored. */
void trilha_measure_redaction_drop(trilha_telemetry *telemetry);
/* One call of a handler. */
void trilha_measure_process(trilha_telemetry *telemetry, trilha_text colonia, bool success, int64_t took_ns);

enum { TRILHA_DURATION_BUCKETS = 10 };
/* The upper bounds as decimal seconds; above the last one is one more bucket. */
const char *trilha_duration_bound(size_t bucket);
typedef struct trilha_durations {
  uint64_t buckets[TRILHA_DURATION_BUCKETS + 1]; /* not cumulative */
  uint64_t count, sum_ns;
} trilha_durations;

typedef struct trilha_measured_colony {
  char name[TRILHA_SPAN_TEXT_BYTES_MAX + 1]; /* "": all that have no place of their own */
  trilha_durations failed, succeeded;
} trilha_measured_colony;
typedef struct trilha_measurements {
  trilha_durations publish[TRILHA_PUBLISH_OUTCOMES];
  uint64_t divergences, redaction_drops, spans_dropped;
  size_t colony_count;
  trilha_measured_colony colonies[TRILHA_MEASURED_COLONIES_MAX + 1];
} trilha_measurements;
/* All of it at one moment. The structure is large: not for a stack. */
void trilha_telemetry_measurements(trilha_telemetry *telemetry, trilha_measurements *ret_measurements);
/* Whether anything was published or processed. */
bool trilha_measurements_any(const trilha_measurements *measurements);

/* --- for the exporter -----------------------------------------------------------------------------------------------
 */

/* One block; its texts and links are in it. */
typedef struct trilha_ended_span {
  trilha_span span;
  trilha_span_facts facts;
} trilha_ended_span;
void trilha_ended_span_free(trilha_ended_span *ended);
/* Waits until `enough` spans wait, the deadline passes or the end is asked for; true: the end. */
bool trilha_telemetry_wait(trilha_telemetry *telemetry, size_t enough, trilha_deadline deadline);
/* The oldest; the caller's. Returns how many. */
size_t trilha_telemetry_take(trilha_telemetry *telemetry, trilha_ended_span **ret_spans, size_t most);
/* How many spans wait, and how many were dropped so far. */
void trilha_telemetry_spans(trilha_telemetry *telemetry, size_t *ret_waiting, uint64_t *ret_dropped);
/* Spans that were taken and will not arrive. */
void trilha_telemetry_count_dropped(trilha_telemetry *telemetry, size_t count);
void trilha_telemetry_ask_end(trilha_telemetry *telemetry);

#endif
