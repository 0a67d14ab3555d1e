/* http: the headers of a request, judged before its body is read. The library takes more than is safe behind a proxy:
 * what both might cut differently is refused here. */
#include <strings.h>

#include "http/http_internal.h"

enum { BAD_REQUEST = 400, TOO_LARGE = 413, HEADERS_TOO_LARGE = 431, VERSION_UNSUPPORTED = 505 };

static bool name_is(trilha_text text, const char *name) {
  return text.size == strlen(name) && strncasecmp(text.data, name, text.size) == 0;
}

trilha_text trilha_http_header_value(const trilha_http_request *request, const char *name) {
  for (size_t i = 0; i < request->header_count; i++)
    if (name_is(request->headers[i].name, name)) return request->headers[i].value;
  return (trilha_text){NULL, 0};
}

size_t trilha_http_header_values(const trilha_http_request *request, const char *name,
                                 trilha_text ret_values[TRILHA_HTTP_HEADERS_MAX]) {
  size_t count = 0;
  for (size_t i = 0; i < request->header_count; i++)
    if (name_is(request->headers[i].name, name)) ret_values[count++] = request->headers[i].value;
  return count;
}

typedef struct gathering {
  trilha_http_request *request;
  size_t bytes;
  bool too_many;
} gathering;

static enum MHD_Result gather(void *user, enum MHD_ValueKind kind, const char *key, size_t key_size, const char *value,
                              size_t value_size) {
  (void)kind;
  gathering *g = user;
  g->bytes += key_size + value_size + 4;
  if (g->request->header_count == TRILHA_HTTP_HEADERS_MAX) {
    g->too_many = true;
    return MHD_NO;
  }
  g->request->headers[g->request->header_count++] =
      (trilha_http_header){{key, key_size}, {value == NULL ? "" : value, value == NULL ? 0 : value_size}};
  return MHD_YES;
}

/* RFC 9110, section 5.6.2. */
static bool is_token(trilha_text text) {
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '\0' || (!letter && strchr("!#$%&'*+-.^_`|~", c) == NULL)) return false;
  }
  return text.size > 0;
}

static bool is_value(trilha_text text) {
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if ((c < 0x20 && c != '\t') || c == 0x7F) return false;
  }
  return true;
}

static bool is_number(trilha_text text) {
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  return text.size > 0 && text.size <= 15;
}

static size_t count_of(const trilha_http_request *request, const char *name) {
  trilha_text values[TRILHA_HTTP_HEADERS_MAX];
  return trilha_http_header_values(request, name, values);
}

static bool is_well_formed(const trilha_http_request *request) {
  for (size_t i = 0; i < request->header_count; i++)
    if (!is_token(request->headers[i].name) || !is_value(request->headers[i].value)) return false;
  return true;
}

/* How long the body is must have one reading (RFC 9112, section 6.3). */
static bool framing_is_clear(const trilha_http_request *request, bool is_1_1) {
  size_t lengths = count_of(request, "Content-Length"), codings = count_of(request, "Transfer-Encoding");
  if (lengths > 1 || codings > 1 || lengths + codings > 1) return false;
  if (lengths == 1 && !is_number(trilha_http_header_value(request, "Content-Length"))) return false;
  return codings == 0 || (is_1_1 && name_is(trilha_http_header_value(request, "Transfer-Encoding"), "chunked"));
}

static bool is_longer_than(trilha_text digits, size_t most) {
  size_t length = 0;
  for (size_t i = 0; i < digits.size; i++) length = length * 10 + (size_t)(digits.data[i] - '0');
  return length > most;
}

static bool split_target(trilha_http_exchange *exchange) {
  trilha_text target = trilha_text_of(exchange->target);
  if (target.size == 0 || target.data[0] != '/') return false; /* absolute-form and "*" have no place here */
  for (size_t i = 0; i < target.size; i++)
    if ((unsigned char)target.data[i] <= 0x20 || (unsigned char)target.data[i] >= 0x7F || target.data[i] == '#')
      return false;
  const char *question = memchr(target.data, '?', target.size);
  size_t path = question == NULL ? target.size : (size_t)(question - target.data);
  exchange->request.path = (trilha_text){target.data, path};
  if (question != NULL) exchange->request.query = (trilha_text){question + 1, target.size - path - 1};
  return true;
}

unsigned trilha_http_read_headers(trilha_http_exchange *exchange, const char *method, const char *version) {
  trilha_http_request *request = &exchange->request;
  const trilha_http_options *options = &exchange->server->options;
  gathering g = {.request = request};
  bool is_1_1 = strcmp(version, "HTTP/1.1") == 0;
  request->method = trilha_text_of(method);
  request->peer = trilha_text_of(exchange->peer);
  MHD_get_connection_values_n(exchange->connection, MHD_HEADER_KIND, gather, &g);
  if (g.too_many || g.bytes + strlen(exchange->target) > options->header_bytes_max) return HEADERS_TOO_LARGE;
  if (!is_1_1 && strcmp(version, "HTTP/1.0") != 0) return VERSION_UNSUPPORTED;
  if (!split_target(exchange) || !is_token(request->method) || !is_well_formed(request)) return BAD_REQUEST;
  if (!framing_is_clear(request, is_1_1)) return BAD_REQUEST;
  size_t hosts = count_of(request, "Host");
  if (hosts > 1 || (is_1_1 && hosts == 0) || count_of(request, "Authorization") > 1) return BAD_REQUEST;
  return is_longer_than(trilha_http_header_value(request, "Content-Length"), options->body_bytes_max) ? TOO_LARGE : 0;
}
