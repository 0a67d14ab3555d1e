/* access: who may use the operators' API: networks, client addresses behind proxies, request rates. Room: access.
 * Corridor. Tokens and keys: access/token.h. Thread-safe unless said otherwise.
 */
#ifndef TRILHA_ACCESS_ACCESS_H
#define TRILHA_ACCESS_ACCESS_H

#include "base/text.h"

/* --- addresses and networks ------------------------------------------------------------------------------ */

/* An IPv4 address is kept in its mapped form (::ffff:a.b.c.d), so that both spellings of one host are equal. */
typedef struct trilha_address {
  unsigned char bytes[16];
} trilha_address;
enum { TRILHA_ADDRESS_SIZE = 46 }; /* of its text, terminator included */

/* Dotted decimal without leading zeros, or IPv6 without zone; nothing around it. */
bool trilha_address_parse(trilha_text text, trilha_address *ret_address);
/* IPv4 and mapped ones in dotted decimal. */
void trilha_address_format(const trilha_address *address, char out[TRILHA_ADDRESS_SIZE]);
/* What one client is counted by: the address, or the /64 of an IPv6 one, of which a host may have all. */
trilha_address trilha_address_client(const trilha_address *address);

typedef struct trilha_networks trilha_networks;
/* INVALID (NETWORK_INVALID) names the first wrong entry. "10.0.0.0/8", "::1", "2001:db8::/32": bits behind the prefix
 * must be zero, because a network written with them is a mistake. A network in IPv6 notation holds IPv4 addresses only
 * when it lies within ::ffff:0:0/96. */
trilha_status trilha_networks_new(const trilha_text *list, size_t count, trilha_networks **ret_networks,
                                  trilha_error *err) TRILHA_MUST_USE;
void trilha_networks_free(trilha_networks *networks);
bool trilha_networks_hold(const trilha_networks *networks, const trilha_address *address);

enum { TRILHA_FORWARDED_HOPS_MAX = 32 /* proxies in one X-Forwarded-For */ };
/* The client of a request: the peer, unless it is a trusted proxy; then the lists are read from the last element to the
 * first for as long as the one read is a trusted proxy too. `values` are all values of X-Forwarded-For, in order. False
 * when a trusted proxy sent what is no address, or more than the hops allowed: nobody can say who asks. */
bool trilha_client_address(const trilha_address *peer, const trilha_text *values, size_t count,
                           const trilha_networks *trusted, trilha_address *ret_client);

/* --- rates --------------------------------------------------------------------------------------------------- */

/* A token bucket for each client, in a table of fixed size. A bucket that is full again is the same as none, so only
 * those make room; when every place that a client may have is taken by others still paying, it is refused. */
typedef struct trilha_rate trilha_rate;
enum { TRILHA_RATE_CLIENTS_MAX = 8192 /* buckets not full at once */ };
trilha_status trilha_rate_new(int64_t per_minute, int64_t burst, trilha_rate **ret_rate,
                              trilha_error *err) TRILHA_MUST_USE;
void trilha_rate_free(trilha_rate *rate);
/* Takes one token. False: none left; *ret_retry_s is then when there is one again, at least 1. */
bool trilha_rate_take(trilha_rate *rate, const trilha_address *client, int64_t now_ns, int64_t *ret_retry_s);

#endif
