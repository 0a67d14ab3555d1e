/* serve: the API's routes. What is no route is 404 for those let in; nothing here writes an event. */
#include "base/clock.h"
#include "base/diagnostics.h"
#include "serve/serve_internal.h"

typedef struct route {
  const char *path; /* a trailing '/' takes one more part */
  const char *method;
  trilha_route route;
  void (*run)(trilha_call *call);
} route;

/* Longer paths before those they begin with. */
static const route ROUTES[] = {
    {"/api/events", "GET", TRILHA_ROUTE_EVENTS, trilha_api_events},
    {"/api/events/dlq/reprocessar", "POST", TRILHA_ROUTE_REPROCESS, trilha_api_reprocess},
    {"/api/events/trace", "GET", TRILHA_ROUTE_TRACE, trilha_api_trace},
    {"/api/events/trace/", "GET", TRILHA_ROUTE_TRACE, trilha_api_trace},
    {"/api/events/", "GET", TRILHA_ROUTE_EVENT, trilha_api_event},
    {"/api/v1/event-types", "GET", TRILHA_ROUTE_TYPES, trilha_api_types},
    {"/api/v1/dead-letters", "GET", TRILHA_ROUTE_LETTERS, trilha_api_letters},
    {"/api/v1/dead-letters/", "GET", TRILHA_ROUTE_LETTER, trilha_api_letter},
    {"/api/v1/dead-letter-stats", "GET", TRILHA_ROUTE_LETTER_STATS, trilha_api_letter_stats},
    {"/api/v1/consumers", "GET", TRILHA_ROUTE_CONSUMERS, trilha_api_consumers},
    {"/api/v1/audit-logs", "GET", TRILHA_ROUTE_AUDIT, trilha_api_audit},
};

/* Whether the path is the route's; *ret_operand is the part behind it, still encoded. */
static bool fits(const route *r, trilha_text path, trilha_text *ret_operand) {
  size_t size = strlen(r->path);
  *ret_operand = (trilha_text){NULL, 0};
  if (r->path[size - 1] != '/') return trilha_text_is(path, r->path);
  if (path.size < size || memcmp(path.data, r->path, size) != 0) return false;
  *ret_operand = (trilha_text){path.data + size, path.size - size};
  return memchr(path.data + size, '/', path.size - size) == NULL;
}

static const route *find(trilha_text path, trilha_text *ret_operand) {
  for (size_t i = 0; i < sizeof ROUTES / sizeof ROUTES[0]; i++)
    if (fits(&ROUTES[i], path, ret_operand)) return &ROUTES[i];
  return NULL;
}

static trilha_route run(trilha_call *call) {
  const trilha_http_request *request = call->request;
  const route *r = find(request->path, &call->operand);
  TRILHA_BUFFER_SCOPED operand;
  trilha_buffer_init(&operand, 0);
  if (r == NULL) {
    trilha_answer_problem(call->answer, 404, NULL, NULL);
    return TRILHA_ROUTE_NONE;
  }
  bool head = trilha_text_is(request->method, "HEAD") && strcmp(r->method, "GET") == 0;
  if (!head && !trilha_text_is(request->method, r->method)) {
    trilha_answer_problem(call->answer, 405, NULL, NULL);
    trilha_http_answer_header_add(call->answer, "Allow", "%s", strcmp(r->method, "GET") == 0 ? "GET, HEAD" : r->method);
    return r->route;
  }
  if (!trilha_http_decode(call->operand, false, &operand)) {
    trilha_answer_problem(call->answer, 400, "PATH_INVALID", "the path is not percent-encoded UTF-8");
    return r->route;
  }
  call->operand = trilha_buffer_text(&operand);
  r->run(call);
  return r->route;
}

static void refuse(trilha_serve *serve, trilha_refusal refusal, const trilha_caller *caller,
                   trilha_http_answer *answer) {
  static const char *const names[] = {"none", "address", "rate", "token", "role"};
  static const unsigned statuses[] = {500, 403, 429, 401, 403};
  char address[TRILHA_ADDRESS_SIZE];
  trilha_fields fields = {0};
  atomic_fetch_add(&serve->counters.refusals[refusal], 1);
  trilha_answer_problem(answer, statuses[refusal], NULL, NULL);
  if (refusal == TRILHA_REFUSAL_RATE)
    trilha_http_answer_header_add(answer, "Retry-After", "%lld", (long long)caller->retry_s);
  if (refusal == TRILHA_REFUSAL_TOKEN) trilha_http_answer_header_add(answer, "WWW-Authenticate", "Bearer");
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
  trilha_refusal refusal = trilha_gate_check(&serve->gate, request, &call.caller);
  if (refusal != TRILHA_REFUSAL_NONE)
    refuse(serve, refusal, &call.caller, answer);
  else
    which = run(&call);
  trilha_http_answer_header_add(answer, "Cache-Control", "no-store");
  trilha_http_answer_header_add(answer, "X-Content-Type-Options", "nosniff");
  int64_t took_us = (trilha_clock_monotonic_ns() - started_ns) / 1000;
  trilha_count_answer(&serve->counters, which, answer->status, took_us);
  if (refusal == TRILHA_REFUSAL_NONE) say_served(serve, &call, which, took_us);
}
