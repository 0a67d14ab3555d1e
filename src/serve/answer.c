/* serve: answers for what went wrong. */
#include "json/json.h"
#include "serve/serve_internal.h"

static const char *title_of(unsigned status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

void trilha_answer_json(trilha_call *call) {
  trilha_buffer_add_char(&call->answer->body, '\n');
  call->answer->status = 200;
  call->answer->content_type = "application/json";
}

void trilha_add_member_text(trilha_buffer *out, bool first, const char *name, trilha_text text) {
  trilha_buffer_add_format(out, "%s\"%s\":", first ? "" : ",", name);
  if (text.data == NULL)
    trilha_buffer_add_string(out, "null");
  else
    trilha_json_write_string(out, text);
}

void trilha_add_member(trilha_buffer *out, bool first, const char *name, const char *text) {
  trilha_add_member_text(out, first, name, text == NULL ? (trilha_text){NULL, 0} : trilha_text_of(text));
}

void trilha_answer_as_data(trilha_http_answer *answer) {
  trilha_http_answer_header_add(answer, "Cache-Control", "no-store");
  trilha_http_answer_header_add(answer, "X-Content-Type-Options", "nosniff");
  trilha_http_answer_header_add(answer, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
}

void trilha_answer_problem(trilha_http_answer *answer, unsigned status, const char *code, const char *detail) {
  answer->status = status;
  answer->content_type = "application/problem+json";
  trilha_buffer_clear(&answer->body);
  trilha_buffer_add_format(&answer->body, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u", title_of(status),
                           status);
  if (code != NULL) trilha_add_member(&answer->body, false, "code", code);
  if (detail != NULL) trilha_add_member(&answer->body, false, "detail", detail);
  trilha_buffer_add_string(&answer->body, "}\n");
}

void trilha_answer_problem_extend(trilha_http_answer *answer, trilha_text members) {
  static const char end[] = "}\n";
  trilha_text problem = trilha_buffer_text(&answer->body);
  TRILHA_BUFFER_SCOPED more;
  trilha_buffer_init(&more, 0);
  trilha_buffer_append(&more, problem.data, problem.size - (sizeof end - 1));
  trilha_buffer_add_char(&more, ',');
  trilha_buffer_add_text(&more, members);
  trilha_buffer_add_string(&more, end);
  if (more.failed != TRILHA_OK) return; /* it stays a problem without them */
  trilha_buffer_clear(&answer->body);
  trilha_buffer_add_text(&answer->body, trilha_buffer_text(&more));
}

/* By its code; but what is no fault of the caller's never looks like one because nobody has mapped its code. */
static unsigned status_of(const trilha_error_map *map, const trilha_error *error) {
  const trilha_error_mapping *mapping = NULL;
  const char *suffix = NULL;
  unsigned status = trilha_error_map_status(map, trilha_text_of(error->code), &mapping, &suffix);
  if (mapping != NULL) return status;
  if (strncmp(error->code, "STORE_", sizeof "STORE_" - 1) == 0) return 503; /* of a registered outbox, say */
  if (suffix != NULL) return status;
  switch (error->status) {
    case TRILHA_INVALID:
    case TRILHA_USAGE:
    case TRILHA_LIMIT:
    case TRILHA_NOT_FOUND:
    case TRILHA_CONFLICT:
      return status;
    case TRILHA_UNAVAILABLE:
    case TRILHA_OUTCOME_UNKNOWN:
    case TRILHA_TIMEOUT:
      return 503;
    default:
      return 500;
  }
}

void trilha_answer_error(trilha_call *call, const trilha_error *error) {
  unsigned status = status_of(call->serve->errors, error);
  trilha_answer_problem(call->answer, status, error->code, status < 500 ? error->text : NULL);
  if (status == 503) trilha_http_answer_header_add(call->answer, "Retry-After", "1");
}
