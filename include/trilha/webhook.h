/* trilha/webhook.h: messages over HTTP to other people's servers.
 *
 * A POST for each message, many under way at once over connections that are kept, from one thread. What is sent:
 * CloudEvents 1.0.2 (binary by default) with the signature headers of Standard Webhooks 1.0.0, whose webhook-id is the
 * message's id and does not change when a message is repeated.
 *
 * What counts: only 2xx is success; 400, 413, 415 and 422 refuse the message for good; 401 says that we are not known
 * and 410 that the destination is gone, and both hold its lanes, without using attempts; everything else is tried again
 * (403 and 404 too: they may be about this message, or about a deployment that passes), a redirect too, which is never
 * followed. Retry-After of a 429 or 503 holds the
 * whole endpoint. While an endpoint fails again and again its breaker is open: its lanes are held, use no attempt, and
 * one message at a time finds out whether it is back; where nothing of that one could be sent, it uses none either.
 * After a 410 they are held until the worker is started again.
 *
 * Where a message may go is checked on the address that is connected to, after the name was resolved: loopback,
 * private, link-local and other special addresses are refused unless `allow_networks` names them, also in their mapped
 * and translated IPv6 forms. Proxy variables of the environment are not looked at.
 *
 * Sources: specification 001, rules 5 to 7; requirement O24; field reports B22, B23.
 */
#ifndef TRILHA_WEBHOOK_H
#define TRILHA_WEBHOOK_H

#include "trilha/diagnostics.h"
#include "trilha/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Limits (docs/limits.md). */
enum {
  TRILHA_WEBHOOK_SECRETS_MAX = 8,          /**< signatures of one message */
  TRILHA_WEBHOOK_SECRET_BYTES_MIN = 24,    /**< as Standard Webhooks says */
  TRILHA_WEBHOOK_SECRET_BYTES_MAX = 64,    /**< as Standard Webhooks says */
  TRILHA_WEBHOOK_NETWORKS_MAX = 32,        /**< of allow_networks */
  TRILHA_WEBHOOK_ANSWER_BYTES_MAX = 65536, /**< of a body; more ends the connection, and the status counts */
  TRILHA_WEBHOOK_HEADER_BYTES_MAX = 65536  /**< of an answer's headers; more is a failure */
};

typedef struct trilha_webhook_options {
  const char *url; /**< http or https; user names and fragments are refused */
  /** For signing, newest first: "whsec_" and base64 of 24 to 64 bytes. Each message carries a signature of each, so
   * that a receiver may change from one to the next at its own time. None: not signed. */
  const char *const *secrets;
  size_t secret_count;
  /** CIDR networks that may be reached although they are special, e.g. "127.0.0.0/8". */
  const char *const *allow_networks;
  size_t allow_network_count;
  trilha_event_mapper mapper;  /**< default: CloudEvents, binary */
  const char *authorization;   /**< value of that header; NULL: none */
  const char *ca_file;         /**< PEM; NULL: the system's */
  unsigned connect_timeout_ms; /**< default 5,000, and never longer than the envelope's */
  unsigned breaker_failures;   /**< after so many failures in a row the breaker opens; default 5 */
  unsigned breaker_ms;         /**< it then holds for this long, doubled each time up to 16 times; default 5,000 */
  unsigned retry_after_max_s;  /**< what Retry-After may ask for at most; default 3,600 */
  trilha_diagnostics diagnostics;
} trilha_webhook_options;

typedef enum trilha_webhook_state {
  TRILHA_WEBHOOK_OPEN_TO_ALL, /**< messages go out */
  TRILHA_WEBHOOK_HELD,        /**< the breaker is open, or one message finds out whether it may close */
  TRILHA_WEBHOOK_GONE         /**< after a 410 */
} trilha_webhook_state;

typedef struct trilha_webhook trilha_webhook;

/** USAGE (WEBHOOK_URL, WEBHOOK_SECRET, WEBHOOK_NETWORK): an option is not of its form; nothing of a secret is in the
 * message. Copies what it needs; starts a thread. Connects to nothing yet. */
TRILHA_API trilha_status trilha_webhook_new(const trilha_webhook_options *options, trilha_webhook **ret_webhook,
                                            trilha_error *error) TRILHA_MUST_USE;
/** Ends what is under way as failed; the relay that uses it must have ended. NULL is allowed. */
TRILHA_API void trilha_webhook_free(trilha_webhook *webhook);
/** For a relay; the webhook must outlive it. Any thread. */
TRILHA_API trilha_transport trilha_webhook_transport(trilha_webhook *webhook, trilha_text destination);
TRILHA_API trilha_webhook_state trilha_webhook_state_now(const trilha_webhook *webhook); /**< from any thread */

#ifdef __cplusplus
}
#endif
#endif
