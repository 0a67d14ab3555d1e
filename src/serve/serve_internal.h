/* serve inside: the gate, the routes, the sample of the store, the counters. Room: serve. */
#ifndef TRILHA_SERVE_SERVE_INTERNAL_H
#define TRILHA_SERVE_SERVE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "access/access.h"
#include "access/token.h"
#include "http/http.h"
#include "json/json.h"
#include "serve/jwks.h"
#include "serve/serve.h"
#include "trilha/delivery.h"
#include "trilha/errors.h"
#include "trilha/outbox.h"

/* --- who may in (gate.c) ------------------------------------------------------------------------------------- */

typedef struct trilha_callbacks trilha_callbacks; /* callback.c */

/* What a reload replaces; immutable. */
typedef struct trilha_gate_rules {
  trilha_networks *allow, *trusted, *status_allow;
  trilha_keys *keys;
  trilha_callbacks *callbacks;
  trilha_token_rules token; /* its texts are below */
  char *issuer, *audience, *role_claim, *role, *tenant_claim;
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
  TRILHA_REFUSAL_SIGNATURE = 5, /* of a callback */
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
/* Whose request it is, behind trusted proxies. The caller holds the lock, for reading at least. */
bool trilha_gate_client(const trilha_gate *gate, const trilha_http_request *request, trilha_address *ret_client);
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
  /* Why the audit trail could not be written last; empty: it could. Nothing privileged is done meanwhile. */
  char trail_code[TRILHA_ERROR_CODE_MAX];
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
/* Whether the store answered lately, and whether the trail can be written, too. The caller holds the mutex. */
bool trilha_sample_is_up(const trilha_sample *sample);
bool trilha_sample_is_ready(const trilha_sample *sample);
/* What an action with a row in the trail ended with: when the disk took no more, the server is not ready until a row
 * was written again, which every look at the store tries. */
void trilha_sample_heard(trilha_sample *sample, const trilha_error *error);

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

/* --- the same outboxes for the routes (sources.c) -------------------------------------------------------------------
 */

/* Registered sources with open outboxes that wait for the next request. Any thread. */
typedef struct trilha_sources trilha_sources;
trilha_status trilha_sources_new(const trilha_config *config, unsigned workers, trilha_sources **ret_sources,
                                 trilha_error *err) TRILHA_MUST_USE;
void trilha_sources_free(trilha_sources *sources);
/* In the order of the configuration; NULL behind the last. */
const trilha_config_source *trilha_sources_at(const trilha_sources *sources, size_t i);
/* An open outbox for one request, given back with trilha_sources_give(). NOT_FOUND (SOURCE_NOT_FOUND), UNAVAILABLE
 * (OUTBOX_BUSY: other requests wait for outboxes already, and what is left of the workers is for everybody else). */
trilha_status trilha_sources_take(trilha_sources *sources, trilha_text name, trilha_outbox **ret_outbox,
                                  trilha_error *err) TRILHA_MUST_USE;
void trilha_sources_give(trilha_sources *sources, trilha_text name, trilha_outbox *take_outbox);

/* Whether there is one of this name. */
bool trilha_sources_know(trilha_sources *sources, trilha_text name);

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
  TRILHA_ROUTE_ERROR_CODES,
  TRILHA_ROUTE_OUTBOX_SOURCES,
  TRILHA_ROUTE_OUTBOX_STATUS,
  TRILHA_ROUTE_OUTBOX_LANES,
  TRILHA_ROUTE_OUTBOX_RETRY_MANY,
  TRILHA_ROUTE_OUTBOX_DISCARD_MANY,
  TRILHA_ROUTE_OUTBOX_INBOX,
  TRILHA_ROUTE_OUTBOX_CONFLICTS,
  TRILHA_ROUTE_OUTBOX_WORKERS,
  TRILHA_ROUTE_OUTBOX_DRAIN,
  TRILHA_ROUTE_OUTBOX_MESSAGE,
  TRILHA_ROUTE_OUTBOX_REVISIONS,
  TRILHA_ROUTE_OUTBOX_RECEIPTS,
  TRILHA_ROUTE_OUTBOX_RECORD,
  TRILHA_ROUTE_OUTBOX_REVEAL,
  TRILHA_ROUTE_OUTBOX_RETRY,
  TRILHA_ROUTE_OUTBOX_DISCARD,
  TRILHA_ROUTE_OUTBOX_CORRECT,
  TRILHA_ROUTE_OUTBOX_CALLBACK,
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
  trilha_sources *sources;
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

enum { TRILHA_OPERANDS_MAX = 2 /* parts of a path that are no fixed words */ };

typedef struct trilha_call {
  trilha_serve *serve;
  const trilha_http_request *request;
  trilha_http_answer *answer;
  trilha_caller caller;
  trilha_text operands[TRILHA_OPERANDS_MAX]; /* decoded parts of the path, where the route has some */
} trilha_call;

/* --- callbacks of destinations (callback.c) -------------------------------------------------------------------------
 */

/* Reads the secrets. DENIED (KEY_FILE_OPEN_TO_OTHERS), IO (KEY_FILE), USAGE (WEBHOOK_SECRET), INVALID
 * (NETWORK_INVALID). */
trilha_status trilha_callbacks_new(const trilha_config *config, trilha_callbacks **ret_callbacks,
                                   trilha_error *err) TRILHA_MUST_USE;
void trilha_callbacks_free(trilha_callbacks *callbacks);
/* False: there is no callback at that path for that client, and the request is anybody's. True: *ret_refusal says
 * whether it is let in; then the call has operands, in `memory`, and who it is. */
bool trilha_callback_check(trilha_call *call, trilha_buffer *memory, trilha_refusal *ret_refusal);
void trilha_api_outbox_callback(trilha_call *call);

/* Whether the path, still encoded, is of the pattern, where '*' is one part. */
bool trilha_path_fits(const char *pattern, trilha_text path, trilha_text operands[TRILHA_OPERANDS_MAX]);
/* In place; they then live in `memory`. False: not percent-encoded UTF-8. */
bool trilha_operands_decode(trilha_text operands[TRILHA_OPERANDS_MAX], trilha_buffer *memory);

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
void trilha_api_error_codes(trilha_call *call);
/* Of registered outboxes (outbox_look.c, outbox_act.c): the same calls of the library as the command line's. */
void trilha_api_outbox_sources(trilha_call *call);
void trilha_api_outbox_status(trilha_call *call);
void trilha_api_outbox_lanes(trilha_call *call);
void trilha_api_outbox_inbox(trilha_call *call);
void trilha_api_outbox_conflicts(trilha_call *call);
void trilha_api_outbox_workers(trilha_call *call);
void trilha_api_outbox_message(trilha_call *call);
void trilha_api_outbox_revisions(trilha_call *call);
void trilha_api_outbox_receipts(trilha_call *call);
void trilha_api_outbox_record(trilha_call *call);
void trilha_api_outbox_reveal(trilha_call *call);
void trilha_api_outbox_retry(trilha_call *call);
void trilha_api_outbox_discard(trilha_call *call);
void trilha_api_outbox_correct(trilha_call *call);
void trilha_api_outbox_retry_many(trilha_call *call);
void trilha_api_outbox_discard_many(trilha_call *call);
void trilha_api_outbox_drain(trilha_call *call);

void trilha_api_add_lane(trilha_buffer *out, const trilha_outbox_lane *lane);

/* Does something with the outbox that the path names, and answers: what `work` wrote, or its error. */
typedef trilha_status (*trilha_outbox_work)(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error);
void trilha_api_with_outbox(trilha_call *call, trilha_outbox_work work, void *user);

/* Whose messages the caller may see (scope.c). False: an answer was given. */
bool trilha_api_all_tenants(trilha_call *call);
/* *tenant: what the request names, absent: none; the only one of a token for one. Without any, of all tenants at once:
 * `action` (NULL: nothing is shown) is written to the audit trail first. */
bool trilha_api_tenant(trilha_call *call, trilha_text *tenant, const char *action);
/* NOT_FOUND (MESSAGE_NOT_FOUND) for the path's message when it is another tenant's. */
trilha_status trilha_api_check_message(trilha_call *call, trilha_outbox *outbox, trilha_error *error) TRILHA_MUST_USE;

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

/* One member of a body that a route knows. Texts live as long as the document. */
typedef enum trilha_member_kind { TRILHA_MEMBER_TEXT, TRILHA_MEMBER_NUMBER, TRILHA_MEMBER_BOOLEAN } trilha_member_kind;
typedef struct trilha_member {
  const char *name;
  trilha_member_kind kind;
  bool needed;
  size_t chars_max; /* of a text; 0: TRILHA_SERVE_TEXT_CHARS_MAX */
  bool given;
  trilha_text text;
  int64_t number; /* at least 1 */
  bool truth;
} trilha_member;
/* Reads a body that is one JSON object with these members and no other (body.c). False: a 400 or 415 was answered. The
 * document is the caller's in either case. */
bool trilha_api_body(trilha_call *call, trilha_member *members, size_t count, trilha_json_document **ret_document);

/* --- answers (answer.c)
 * ------------------------------------------------------------------------------------------------ */

/* The headers of every answer: it is data, whatever somebody wrote into it, and nobody keeps it (field report B32). */
void trilha_answer_as_data(trilha_http_answer *answer);
/* application/problem+json (RFC 9457); code and detail may be NULL. */
void trilha_answer_problem(trilha_http_answer *answer, unsigned status, const char *code, const char *detail);
/* More members ("\"name\":value", JSON) of the problem that the answer is. */
void trilha_answer_problem_extend(trilha_http_answer *answer, trilha_text members);
/* An error of the library: what the caller did wrong is told, what is wrong here is only named by its code. */
void trilha_answer_error(trilha_call *call, const trilha_error *error);
/* 200 with what the body holds and a line feed. */
void trilha_answer_json(trilha_call *call);
/* ,"name":"text" with an absent text as null. */
void trilha_add_member(trilha_buffer *out, bool first, const char *name, const char *text);
void trilha_add_member_text(trilha_buffer *out, bool first, const char *name, trilha_text text);

/* --- CloudEvents (cloudevents.c)
 * ------------------------------------------------------------------------------------------ */

/* Whether the Accept headers name application/cloudevents+json. */
bool trilha_wants_cloudevents(const trilha_http_request *request);
void trilha_write_cloudevent(trilha_buffer *out, const trilha_event *event);

#endif
