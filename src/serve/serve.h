/* serve: the operators' side: the API, and the second listener with health and metrics (specification 000, section 5.4;
 * rulings R6, R7, R17, R26). Room: serve. Corridor.
 *
 * Nothing here publishes or makes a message: the routes read, one asks a colony to run its dead letters again, and
 * those of registered outboxes do what the command line does.
 */
#ifndef TRILHA_SERVE_SERVE_H
#define TRILHA_SERVE_SERVE_H

#include "config/config.h"
#include "trilha/trilha.h"

enum {
  TRILHA_SERVE_COLONIES_MAX = 1000,   /* colonies whose gauge goes on at 0 after their dead letters are gone */
  TRILHA_SERVE_OUTBOXES_IDLE_MAX = 4, /* open outboxes of one source that wait for a request */
  TRILHA_SERVE_TEXT_CHARS_MAX = 2000  /* a reason, a note or the like in a body */
};

typedef struct trilha_serve trilha_serve;

typedef struct trilha_serve_options {
  trilha *handle;              /* outlives the server */
  const trilha_config *config; /* borrowed for the call */
  trilha_diagnostics diagnostics;
} trilha_serve_options;

/* Listens on both addresses when it returns. INVALID: a setting cannot be used (ACCESS_KEYS_MISSING: there are no keys,
 * and the API is closed by default; NETWORK_INVALID; KEY_INVALID…); IO (LISTEN_FAILED). */
trilha_status trilha_serve_start(const trilha_serve_options *options, trilha_serve **ret_serve,
                                 trilha_error *err) TRILHA_MUST_USE;
/* Takes over allowlists, trusted proxies, keys, token rules, callbacks and the certificate. What is wrong changes
 * nothing: all of it or none. Other settings need a restart. Writes an audit entry (trilha.configuration.reloaded)
 * before it takes effect. */
trilha_status trilha_serve_reload(trilha_serve *serve, const trilha_config *config, trilha_text user,
                                  trilha_error *err) TRILHA_MUST_USE;
unsigned trilha_serve_api_port(const trilha_serve *serve);
unsigned trilha_serve_status_port(const trilha_serve *serve);
/* No new requests; those under way end. */
void trilha_serve_stop(trilha_serve *serve);

#endif
