/* fetch: one HTTP request to somebody else's server, with a bound on all of it. Room: fetch. Corridor.
 *
 * No redirect is followed, variables that name proxies are ignored, nothing but http and https is spoken, TLS is 1.2 or
 * later and its certificates are verified. Thread-safe.
 */
#ifndef TRILHA_FETCH_FETCH_H
#define TRILHA_FETCH_FETCH_H

#include <stdatomic.h>

#include "base/text.h"

typedef struct trilha_fetch_request {
  const char *url;
  bool https_only;
  const char *ca_file;   /* PEM certificates to trust; NULL: the system's */
  const char *body_type; /* POST with `body` of this type; NULL: GET */
  trilha_text body;
  const char *const *headers; /* whole lines, "name: value" */
  size_t header_count;
  size_t answer_bytes_max; /* a longer answer is a failure */
  int64_t timeout_ms;      /* for the whole of it */
  const atomic_bool *stop; /* ends it early when true; may be NULL */
  unsigned *ret_status;    /* the answer's HTTP status whatever it is, 0 without one; may be NULL */
  int64_t *ret_retry_s;    /* what its Retry-After asks for, 0 without one; may be NULL */
} trilha_fetch_request;

/* OK: the answer came whole and its status is 2xx; ret_body (initialised by the caller) holds it. UNAVAILABLE
 * (FETCH_FAILED): it could not be had; the text never holds the URL's user or query. INVALID (FETCH_STATUS,
 * FETCH_TOO_LARGE, FETCH_URL). UNSUPPORTED (LIBRARY_MISSING): libcurl is not installed. */
trilha_status trilha_fetch(const trilha_fetch_request *request, trilha_buffer *ret_body,
                           trilha_error *err) TRILHA_MUST_USE;

#endif
