/* serve inside: the gate, the routes, the sample of the store, the counters. Room: serve. */
#ifndef TRILHA_SERVE_SERVE_INTERNAL_H
#define TRILHA_SERVE_SERVE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "access/access.h"
#include "access/token.h"
#include "http/http.h"
#include "serve/jwks.h"
#include "serve/serve.h"
#include "trilha/delivery.h"
#include "trilha/errors.h"
#include "trilha/outbox.h"

/* --- who may in (gate.c) ------------------------------------------------------------------------------------- */

/* What a reload replaces; immutable. */
typedef struct trilha_gate_rules {
  trilha_networks *allow, *trusted, *status_allow;
  trilha_keys *keys;
  trilha_token_rules token; /* its texts are below */
  char *issuer, *audience, *role_claim, *role;
} trilha_gate_rules;

typedef struct trilha_gate {
  pthread_rwlock_t lock; /* rules */
  trilha_gate_rules *rules;
  trilha_rate *requests, *reprocesses;
  trilha_jwks *jwks; /* NULL: no URL */
} trilha_gate;

trilha_status trilha_gate_rules_new(const trilha_config *config, trilha_gate_rules **ret_rules,
                                    trilha_error *err) TRILHA_MUST_USE;
void trilha_gate_rules_free(trilha_gate_rules *rules);

/* Why a request was turned away; the client learns only the status. */
typedef enum trilha_refusal {
  TRILHA_REFUSAL_NONE = 0,
  TRILHA_REFUSAL_ADDRESS = 1,
  TRILHA_REFUSAL_RATE = 2,
  TRILHA_REFUSAL_TOKEN = 3,
  TRILHA_REFUSAL_ROLE = 4,
  TRILHA_REFUSAL_COUNT
} trilha_refusal;

typedef struct trilha_caller {
  trilha_address client;          /* the address behind proxies, for the log */
  trilha_token_identity identity; /* of a caller let in */
  trilha_token_verdict verdict;
  int64_t retry_s;
} trilha_caller;

/* In this order: address, rate, token, role. */
trilha_refusal trilha_gate_check(trilha_gate *gate, const trilha_http_request *request, trilha_caller *ret_caller);
/* Whether the peer may read /metrics and /statusz. */
bool trilha_gate_check_status(trilha_gate *gate, const trilha_http_request *request);

/* --- the certificate of the API's listener (certificate.c) ----------------------------------------------------- */

typedef struct trilha_certificate_files {
  trilha_buffer chain, key;
  trilha_http_certificate pair; /* into the two above; NULLs when none is configured */
} trilha_certificate_files;
/* INVALID (CERTIFICATE_INCOMPLETE, CERTIFICATE_INVALID), DENIED (KEY_FILE_OPEN_TO_OTHERS), IO (KEY_FILE). Afterwards,
 * also on failure, trilha_certificate_done(), which wipes the key. */
trilha_status trilha_certificate_read(const trilha_config *config, trilha_certificate_files *files,
                                      trilha_error *err) TRILHA_MUST_USE;
void trilha_certificate_done(trilha_certificate_files *files);

/* --- what the store looks like (sample.c) ---------------------------------------------------------------------- */

typedef struct trilha_sample_colony {
  char *name;
  int64_t pending;
} trilha_sample_colony;

typedef struct trilha_sample {
  pthread_mutex_t mutex; /* what follows */
  pthread_cond_t ended_changed;
  bool ended;
  bool up;                          /* the last look at the store succeeded */
  int64_t looked_ns;                /* when it was, by the monotonic clock; 0: never yet */
  char code[TRILHA_ERROR_CODE_MAX]; /* why not */
  int64_t last_sequence, pending_total;
  trilha_sample_colony *colonies; /* every one that was ever seen: 0 once drained */
  size_t colony_count;
  trilha_consumer_states *consumers; /* NULL: none */
  pthread_t thread;
  bool runs;
  trilha *handle;
} trilha_sample;

trilha_status trilha_sample_start(trilha_sample *sample, trilha *handle, trilha_error *err) TRILHA_MUST_USE;
void trilha_sample_stop(trilha_sample *sample);
/* Whether the store answered lately. The caller holds the mutex. */
bool trilha_sample_is_ready(const trilha_sample *sample);

/* --- alerts (alert.c) --------------------------------------------------------------------------------------------- */

typedef struct trilha_alerts trilha_alerts;
/* *ret_alerts stays NULL when no command is configured. Sample and sink outlive it. */
trilha_status trilha_alerts_start(trilha_sample *sample, const trilha_config *config,
                                  const trilha_diagnostics *diagnostics, trilha_alerts **ret_alerts,
                                  trilha_error *err) TRILHA_MUST_USE;
/* Ends the command under way. */
void trilha_alerts_stop(trilha_alerts *alerts);

/* --- registered outboxes (outboxes.c) ------------------------------------------------------------------------------
 */

typedef struct trilha_outboxes trilha_outboxes;
/* *ret_outboxes stays NULL when none is registered. */
trilha_status trilha_outboxes_start(const trilha_config *config, trilha_outboxes **ret_outboxes,
                                    trilha_error *err) TRILHA_MUST_USE;
void trilha_outboxes_stop(trilha_outboxes *outboxes);
void trilha_outboxes_write_metrics(trilha_outboxes *outboxes, trilha_buffer *out);
/* The member "outboxes" of /statusz, with a comma before it. */
void trilha_outboxes_write_status(trilha_outboxes *outboxes, trilha_buffer *out);

/* --- counters (metrics.c) ---------------------------------------------------------------------------------------- */

typedef enum trilha_route {
  TRILHA_ROUTE_NONE = 0, /* refused before, or nothing there */
  TRILHA_ROUTE_EVENTS,
  TRILHA_ROUTE_EVENT,
  TRILHA_ROUTE_TRACE,
  TRILHA_ROUTE_REPROCESS,
  TRILHA_ROUTE_TYPES,
  TRILHA_ROUTE_LETTERS,
  TRILHA_ROUTE_LETTER,
  TRILHA_ROUTE_LETTER_STATS,
  TRILHA_ROUTE_CONSUMERS,
  TRILHA_ROUTE_AUDIT,
  TRILHA_ROUTE_COUNT
} trilha_route;
const char *trilha_route_name(trilha_route route);

enum { TRILHA_SERVE_STATUSES = 16, TRILHA_SERVE_BUCKETS = 10 };
typedef struct trilha_counters {
  atomic_uint_fast64_t answers[TRILHA_ROUTE_COUNT][TRILHA_SERVE_STATUSES];
  atomic_uint_fast64_t buckets[TRILHA_ROUTE_COUNT][TRILHA_SERVE_BUCKETS + 1]; /* not cumulative; the last: above all */
  atomic_uint_fast64_t sum_us[TRILHA_ROUTE_COUNT];
  atomic_uint_fast64_t refusals[TRILHA_REFUSAL_COUNT];
} trilha_counters;
void trilha_count_answer(trilha_counters *counters, trilha_route route, unsigned status, int64_t took_us);

struct trilha_serve {
  trilha *handle;
  trilha_diagnostics diagnostics;
  trilha_gate gate;
  trilha_sample sample;
  trilha_alerts *alerts;
  trilha_outboxes *outboxes; /* NULL: none is registered */
  trilha_counters counters;
  trilha_error_map *errors; /* codes to statuses */
  trilha_http_server *api, *status;
  int64_t started_us, stop_ms, alert_at;
  unsigned reprocess_wait_ms, reprocess_most;
  atomic_uint reprocesses; /* running now */
};

/* HELP and TYPE of a metric, and a label with its value escaped. */
void trilha_metrics_head(trilha_buffer *out, const char *name, const char *type, const char *help);
void trilha_metrics_label(trilha_buffer *out, const char *name, const char *value);
void trilha_metrics_write(trilha_serve *serve, trilha_buffer *out);
void trilha_statusz_write(trilha_serve *serve, trilha_buffer *out);
/* The handler of the second listener (status.c). */
void trilha_serve_status_handle(void *serve, const trilha_http_request *request, trilha_http_answer *answer);

/* --- the API (api.c, query.c, events.c, operate.c) ------------------------------------------------------------------
 */

typedef struct trilha_call {
  trilha_serve *serve;
  const trilha_http_request *request;
  trilha_http_answer *answer;
  trilha_caller caller;
  trilha_text operand; /* the decoded last part of the path, where the route has one */
} trilha_call;

void trilha_serve_api_handle(void *serve, const trilha_http_request *request, trilha_http_answer *answer);
void trilha_api_events(trilha_call *call);
void trilha_api_event(trilha_call *call);
void trilha_api_trace(trilha_call *call);
void trilha_api_reprocess(trilha_call *call);
void trilha_api_types(trilha_call *call);
void trilha_api_letters(trilha_call *call);
void trilha_api_letter(trilha_call *call);
void trilha_api_letter_stats(trilha_call *call);
void trilha_api_consumers(trilha_call *call);
void trilha_api_audit(trilha_call *call);

/* One parameter that a route knows. Values are decoded, live in the call's `memory`, and are absent when not given. */
typedef struct trilha_parameter {
  const char *name;
  bool is_number;
  int64_t least;
  trilha_text text;
  int64_t number;
  bool given;
} trilha_parameter;
/* False: a 400 was answered (an unknown name, a name twice, a broken escape, a number that is none). */
/* The same for a route that knows none. */
bool trilha_api_no_parameters(trilha_call *call);
bool trilha_api_parameters(trilha_call *call, trilha_parameter *parameters, size_t count, trilha_buffer *memory);

/* --- answers (answer.c)
 * ------------------------------------------------------------------------------------------------ */

/* application/problem+json (RFC 9457); code and detail may be NULL. */
void trilha_answer_problem(trilha_http_answer *answer, unsigned status, const char *code, const char *detail);
/* An error of the library: what the caller did wrong is told, what is wrong here is only named by its code. */
void trilha_answer_error(trilha_call *call, const trilha_error *error);
/* ,"name":"text" with an absent text as null. */
void trilha_add_member(trilha_buffer *out, bool first, const char *name, const char *text);

/* --- CloudEvents (cloudevents.c)
 * ------------------------------------------------------------------------------------------ */

/* Whether the Accept headers name application/cloudevents+json. */
bool trilha_wants_cloudevents(const trilha_http_request *request);
void trilha_write_cloudevent(trilha_buffer *out, const trilha_event *event);

#endif
