/* serve: the API's routes. What is no route is 404 for those let in; nothing here writes an event. */
#include <stdio.h>

#include "base/clock.h"
#include "base/diagnostics.h"
#include "serve/serve_internal.h"

typedef struct route {
  const char *path; /* '*' is one part, which may be empty */
  const char *method;
  trilha_route route;
  void (*run)(trilha_call *call);
} route;

#define OUTBOX  "/api/v1/outbox/*"
#define MESSAGE OUTBOX "/messages/*"

/* A path without '*' before one that takes it, too. */
static const route ROUTES[] = {
    {"/api/events", "GET", TRILHA_ROUTE_EVENTS, trilha_api_events},
    {"/api/events/dlq/reprocessar", "POST", TRILHA_ROUTE_REPROCESS, trilha_api_reprocess},
    {"/api/events/trace", "GET", TRILHA_ROUTE_TRACE, trilha_api_trace},
    {"/api/events/trace/*", "GET", TRILHA_ROUTE_TRACE, trilha_api_trace},
    {"/api/events/*", "GET", TRILHA_ROUTE_EVENT, trilha_api_event},
    {"/api/v1/event-types", "GET", TRILHA_ROUTE_TYPES, trilha_api_types},
    {"/api/v1/dead-letters", "GET", TRILHA_ROUTE_LETTERS, trilha_api_letters},
    {"/api/v1/dead-letters/*", "GET", TRILHA_ROUTE_LETTER, trilha_api_letter},
    {"/api/v1/dead-letter-stats", "GET", TRILHA_ROUTE_LETTER_STATS, trilha_api_letter_stats},
    {"/api/v1/consumers", "GET", TRILHA_ROUTE_CONSUMERS, trilha_api_consumers},
    {"/api/v1/audit-logs", "GET", TRILHA_ROUTE_AUDIT, trilha_api_audit},
    {"/api/v1/error-codes", "GET", TRILHA_ROUTE_ERROR_CODES, trilha_api_error_codes},
    {"/api/v1/outbox/sources", "GET", TRILHA_ROUTE_OUTBOX_SOURCES, trilha_api_outbox_sources},
    {OUTBOX "/status", "GET", TRILHA_ROUTE_OUTBOX_STATUS, trilha_api_outbox_status},
    {OUTBOX "/lanes", "GET", TRILHA_ROUTE_OUTBOX_LANES, trilha_api_outbox_lanes},
    {OUTBOX "/retry", "POST", TRILHA_ROUTE_OUTBOX_RETRY_MANY, trilha_api_outbox_retry_many},
    {OUTBOX "/discard", "POST", TRILHA_ROUTE_OUTBOX_DISCARD_MANY, trilha_api_outbox_discard_many},
    {OUTBOX "/inbox", "GET", TRILHA_ROUTE_OUTBOX_INBOX, trilha_api_outbox_inbox},
    {OUTBOX "/inbox/conflicts", "GET", TRILHA_ROUTE_OUTBOX_CONFLICTS, trilha_api_outbox_conflicts},
    {OUTBOX "/workers", "GET", TRILHA_ROUTE_OUTBOX_WORKERS, trilha_api_outbox_workers},
    {OUTBOX "/workers/*/drain", "POST", TRILHA_ROUTE_OUTBOX_DRAIN, trilha_api_outbox_drain},
    {MESSAGE, "GET", TRILHA_ROUTE_OUTBOX_MESSAGE, trilha_api_outbox_message},
    {MESSAGE "/revisions", "GET", TRILHA_ROUTE_OUTBOX_REVISIONS, trilha_api_outbox_revisions},
    {MESSAGE "/receipts", "GET", TRILHA_ROUTE_OUTBOX_RECEIPTS, trilha_api_outbox_receipts},
    {MESSAGE "/receipts", "POST", TRILHA_ROUTE_OUTBOX_RECORD, trilha_api_outbox_record},
    {MESSAGE "/reveal", "POST", TRILHA_ROUTE_OUTBOX_REVEAL, trilha_api_outbox_reveal},
    {MESSAGE "/retry", "POST", TRILHA_ROUTE_OUTBOX_RETRY, trilha_api_outbox_retry},
    {MESSAGE "/discard", "POST", TRILHA_ROUTE_OUTBOX_DISCARD, trilha_api_outbox_discard},
    {MESSAGE "/correct", "POST", TRILHA_ROUTE_OUTBOX_CORRECT, trilha_api_outbox_correct},
};
enum { ROUTE_COUNT = sizeof ROUTES / sizeof ROUTES[0], ALLOW_SIZE = 64 };

bool trilha_path_fits(const char *pattern, trilha_text path, trilha_text operands[TRILHA_OPERANDS_MAX]) {
  size_t at = 0, count = 0;
  for (; *pattern != '\0'; pattern++) {
    if (*pattern != '*') {
      if (at == path.size || path.data[at++] != *pattern) return false;
      continue;
    }
    size_t from = at;
    while (at < path.size && path.data[at] != '/') at++;
    operands[count++] = (trilha_text){path.data + from, at - from};
  }
  return at == path.size;
}

static bool takes(const route *r, trilha_text method) {
  return trilha_text_is(method, r->method) || (trilha_text_is(method, "HEAD") && strcmp(r->method, "GET") == 0);
}

/* The first of that path; of several with that path the one for the method, if there is one. */
static const route *find(const trilha_http_request *request, trilha_text operands[TRILHA_OPERANDS_MAX]) {
  size_t i = 0;
  while (i < ROUTE_COUNT && !trilha_path_fits(ROUTES[i].path, request->path, operands)) i++;
  if (i == ROUTE_COUNT) return NULL;
  for (size_t k = i; k < ROUTE_COUNT && strcmp(ROUTES[k].path, ROUTES[i].path) == 0; k++)
    if (takes(&ROUTES[k], request->method)) return &ROUTES[k];
  return &ROUTES[i];
}

static void answer_405(trilha_call *call, const route *r) {
  char allow[ALLOW_SIZE] = "";
  for (size_t i = 0; i < ROUTE_COUNT; i++) {
    if (strcmp(ROUTES[i].path, r->path) != 0) continue;
    size_t size = strlen(allow);
    snprintf(allow + size, sizeof allow - size, "%s%s", size == 0 ? "" : ", ",
             strcmp(ROUTES[i].method, "GET") == 0 ? "GET, HEAD" : ROUTES[i].method);
  }
  trilha_answer_problem(call->answer, 405, NULL, NULL);
  trilha_http_answer_header_add(call->answer, "Allow", "%s", allow);
}

bool trilha_operands_decode(trilha_text operands[TRILHA_OPERANDS_MAX], trilha_buffer *memory) {
  size_t size = 0;
  for (size_t i = 0; i < TRILHA_OPERANDS_MAX; i++) size += operands[i].size;
  if (!trilha_buffer_reserve(memory, size + 1)) return false; /* it never moves: decoding only shortens */
  for (size_t i = 0; i < TRILHA_OPERANDS_MAX; i++) {
    size_t from = memory->size;
    if (!trilha_http_decode(operands[i], false, memory)) return false;
    operands[i] = (trilha_text){memory->data + from, memory->size - from};
  }
  return true;
}

static trilha_route run(trilha_call *call) {
  const route *r = find(call->request, call->operands);
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  if (r == NULL) {
    trilha_answer_problem(call->answer, 404, NULL, NULL);
    return TRILHA_ROUTE_NONE;
  }
  if (!takes(r, call->request->method))
    answer_405(call, r);
  else if (!trilha_operands_decode(call->operands, &memory))
    trilha_answer_problem(call->answer, 400, "PATH_INVALID", "the path is not percent-encoded UTF-8");
  else
    r->run(call);
  return r->route;
}

static trilha_route run_callback(trilha_call *call) {
  trilha_api_outbox_callback(call);
  return TRILHA_ROUTE_OUTBOX_CALLBACK;
}

static void refuse(trilha_serve *serve, trilha_refusal refusal, const trilha_caller *caller,
                   trilha_http_answer *answer) {
  static const char *const names[] = {"none", "address", "rate", "token", "role", "signature"};
  static const unsigned statuses[] = {500, 403, 429, 401, 403, 401};
  char address[TRILHA_ADDRESS_SIZE];
  trilha_fields fields = {0};
  atomic_fetch_add(&serve->counters.refusals[refusal], 1);
  trilha_answer_problem(answer, statuses[refusal], NULL, NULL);
  if (refusal == TRILHA_REFUSAL_RATE)
    trilha_http_answer_header_add(answer, "Retry-After", "%lld", (long long)caller->retry_s);
  if (refusal == TRILHA_REFUSAL_TOKEN) trilha_http_answer_header_add(answer, "WWW-Authenticate", "Bearer");
  if (refusal == TRILHA_REFUSAL_SIGNATURE)
    trilha_http_answer_header_add(answer, "WWW-Authenticate", "Webhook-Signature");
  trilha_address_format(&caller->client, address);
  trilha_fields_string(&fields, "reason", names[refusal]);
  if (refusal == TRILHA_REFUSAL_TOKEN || refusal == TRILHA_REFUSAL_ROLE)
    trilha_fields_string(&fields, "token", trilha_token_verdict_name(caller->verdict));
  trilha_fields_string(&fields, "address", address);
  trilha_emit(&serve->diagnostics, TRILHA_INFO, "serve.refused", "a request was refused", &fields);
}

static void say_served(trilha_serve *serve, const trilha_call *call, trilha_route which, int64_t took_us) {
  char address[TRILHA_ADDRESS_SIZE];
  trilha_fields fields = {0};
  trilha_address_format(&call->caller.client, address);
  trilha_fields_string(&fields, "route", trilha_route_name(which));
  trilha_fields_text(&fields, "method", call->request->method);
  trilha_fields_i64(&fields, "status", call->answer->status);
  trilha_fields_i64(&fields, "took_us", took_us);
  trilha_fields_string(&fields, "user", call->caller.identity.subject);
  trilha_fields_string(&fields, "address", address);
  trilha_emit(&serve->diagnostics, TRILHA_INFO, "serve.answered", "a request was answered", &fields);
}

void trilha_serve_api_handle(void *user, const trilha_http_request *request, trilha_http_answer *answer) {
  trilha_serve *serve = user;
  int64_t started_ns = trilha_clock_monotonic_ns();
  trilha_call call = {.serve = serve, .request = request, .answer = answer};
  trilha_route which = TRILHA_ROUTE_NONE;
  trilha_refusal refusal = TRILHA_REFUSAL_NONE;
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  bool is_callback = trilha_callback_check(&call, &memory, &refusal);
  if (!is_callback) refusal = trilha_gate_check(&serve->gate, request, &call.caller);
  if (refusal != TRILHA_REFUSAL_NONE)
    refuse(serve, refusal, &call.caller, answer);
  else
    which = is_callback ? run_callback(&call) : run(&call);
  trilha_answer_as_data(answer);
  int64_t took_us = (trilha_clock_monotonic_ns() - started_ns) / 1000;
  trilha_count_answer(&serve->counters, which, answer->status, took_us);
  if (refusal == TRILHA_REFUSAL_NONE) say_served(serve, &call, which, took_us);
}
