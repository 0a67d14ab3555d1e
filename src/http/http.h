/* http: a server on libmicrohttpd that gives each whole, unambiguous request to one handler. Room: http. Corridor.
 *
 * One thread accepts and keeps deadlines, one (the library's) reads and writes, `workers` run the handler, so that a
 * slow store never stops health checks or slows another connection down. What two readers of HTTP could read
 * differently (Content-Length beside Transfer-Encoding, repeated framing headers, white space before a colon) is
 * answered 400 and the connection closed before anything is made of it.
 */
#ifndef TRILHA_HTTP_HTTP_H
#define TRILHA_HTTP_HTTP_H

#include "base/text.h"
#include "trilha/diagnostics.h"

enum {
  TRILHA_HTTP_HEADERS_MAX = 64,       /* header lines of a request */
  TRILHA_HTTP_ANSWER_HEADERS_MAX = 8, /* of an answer, beside the server's own */
  TRILHA_HTTP_HEADER_VALUE_MAX = 128, /* bytes of one of those, terminator included */
  TRILHA_HTTP_FAREWELLS_MAX = 256,    /* refused connections that still get to read why */
  TRILHA_HTTP_RETIRED_MAX = 4         /* renewed certificates that still have connections */
};

typedef struct trilha_http_header {
  trilha_text name, value;
} trilha_http_header;

/* Everything is borrowed for the handler's call. */
typedef struct trilha_http_request {
  trilha_text method;
  trilha_text path;  /* as received, still percent-encoded; begins with '/' */
  trilha_text query; /* behind the '?', still encoded; absent without one */
  trilha_text body;
  trilha_text peer; /* address of the other end of the connection */
  trilha_http_header headers[TRILHA_HTTP_HEADERS_MAX];
  size_t header_count;
} trilha_http_request;

/* Value of the first header of that name (any letter case), or absent. */
trilha_text trilha_http_header_value(const trilha_http_request *request, const char *name);
/* All of them, in order; at most TRILHA_HTTP_HEADERS_MAX. Returns how many. */
size_t trilha_http_header_values(const trilha_http_request *request, const char *name,
                                 trilha_text ret_values[TRILHA_HTTP_HEADERS_MAX]);

typedef struct trilha_http_answer_header {
  const char *name; /* constant */
  char value[TRILHA_HTTP_HEADER_VALUE_MAX];
} trilha_http_answer_header;

/* Zero-initialised before the handler is called. */
typedef struct trilha_http_answer {
  unsigned status;          /* 0: the handler gave none, which is a 500 */
  const char *content_type; /* constant; NULL: none */
  trilha_buffer body;
  trilha_http_answer_header headers[TRILHA_HTTP_ANSWER_HEADERS_MAX];
  size_t header_count;
} trilha_http_answer;
void trilha_http_answer_header_add(trilha_http_answer *answer, const char *name, const char *format, ...)
    TRILHA_PRINTF(3, 4);

/* Called on any of the worker threads, many at once. */
typedef void (*trilha_http_handler)(void *user, const trilha_http_request *request, trilha_http_answer *answer);

/* A certificate with its chain and its private key, both PEM. */
typedef struct trilha_http_certificate {
  const char *chain, *key; /* both NULL: no TLS */
} trilha_http_certificate;

typedef struct trilha_http_options {
  const char *name;    /* for diagnostics, constant: "api" */
  trilha_text address; /* numeric */
  unsigned port;       /* 0: any free one */
  unsigned workers, connections_max;
  size_t header_bytes_max, body_bytes_max;
  int64_t request_ms;                  /* for a request to arrive whole, and for an idle connection */
  int64_t response_ms;                 /* for a client to read an answer */
  trilha_http_certificate certificate; /* borrowed for the call */
  trilha_http_handler handler;
  void *user;
  const trilha_diagnostics *diagnostics; /* outlives the server */
} trilha_http_options;

typedef struct trilha_http_server trilha_http_server;
/* Listens when it returns; with a certificate it speaks TLS 1.2 or 1.3 and nothing else. IO (LISTEN_FAILED): the
 * address cannot be had. INVALID (CERTIFICATE_INVALID). */
trilha_status trilha_http_start(const trilha_http_options *options, trilha_http_server **ret_server,
                                trilha_error *err) TRILHA_MUST_USE;
/* The port in use. */
unsigned trilha_http_port(const trilha_http_server *server);
/* Open connections now, and those answered 503 so far. */
size_t trilha_http_connections(const trilha_http_server *server);
uint64_t trilha_http_refused(const trilha_http_server *server);
/* When the certificate in use ends, in seconds since 1970; 0 without TLS. */
int64_t trilha_http_certificate_expires_s(trilha_http_server *server);

/* A new certificate in two steps, so that whatever belongs to it can be done between them. It is first made ready:
 * INVALID (CERTIFICATE_INVALID), LIMIT (CERTIFICATE_RENEWALS: too many old ones still have connections; they end within
 * request_ms). *ret_engine is NULL when the pair is the one in use. Then it is used for every connection accepted from
 * there on, which cannot fail. Connections that are open end with their next answer. */
typedef struct trilha_http_engine trilha_http_engine;
trilha_status trilha_http_renewal_prepare(trilha_http_server *server, const trilha_http_certificate *certificate,
                                          trilha_http_engine **ret_engine, trilha_error *err) TRILHA_MUST_USE;
void trilha_http_renewal_use(trilha_http_server *server, trilha_http_engine *take_engine);
void trilha_http_renewal_abandon(trilha_http_engine *take_engine);

/* Accepts no more, lets requests under way end for at most wait_ms, then ends the rest. A handler that runs is waited
 * for in any case: it must have a bound of its own. */
void trilha_http_stop(trilha_http_server *server, int64_t wait_ms);

/* --- targets (query.c) -------------------------------------------------------------------------------------------- */

/* Appends the percent-decoded text; '+' means a blank where `is_query`. False for broken escapes, U+0000 and what is no
 * UTF-8; `out` then holds rubbish. */
bool trilha_http_decode(trilha_text text, bool is_query, trilha_buffer *out);
/* The next name=value of a query, still encoded, from *at on; false at the end. Empty pairs are skipped. */
bool trilha_http_query_next(trilha_text query, size_t *at, trilha_text *ret_name, trilha_text *ret_value);

#endif
