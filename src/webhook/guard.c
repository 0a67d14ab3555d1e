/* webhook/guard: which addresses a message may go to. Asked about the address that is connected to, so a name that
 * resolves to something else the second time gains nothing (field report B22). */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.h"
#include "webhook/webhook_internal.h"

/* IANA's special-purpose registries: this host and network, private, shared, loopback, link-local (where clouds keep
 * their metadata), protocol assignments, documentation, benchmarks, multicast and reserved; and the IPv6 forms that
 * carry an IPv4 address: compatible, translated, 6to4 and Teredo. Mapped ones are IPv4 here. */
static const char *const special[] = {
    "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",    "::/96",
    "64:ff9b::/96",  "64:ff9b:1::/48",  "100::/64",       "2001::/23",      "2001:db8::/32",
    "2002::/16",     "fc00::/7",        "fe80::/10",      "fec0::/10",      "ff00::/8"};

enum { SPECIAL = sizeof special / sizeof special[0] };

static trilha_status read_networks(const char *const *list, size_t count, trilha_networks **ret, trilha_error *err) {
  trilha_text texts[TRILHA_WEBHOOK_NETWORKS_MAX];
  for (size_t i = 0; i < count; i++) texts[i] = trilha_text_of(list[i]);
  return trilha_networks_new(texts, count, ret, err);
}

trilha_status trilha_webhook_guard_init(trilha_webhook_guard *guard, const char *const *allowed, size_t count,
                                        trilha_error *err) {
  *guard = (trilha_webhook_guard){0};
  if (count > TRILHA_WEBHOOK_NETWORKS_MAX)
    return trilha_error_set(err, TRILHA_USAGE, "WEBHOOK_NETWORK", "at most %d networks may be allowed",
                            TRILHA_WEBHOOK_NETWORKS_MAX);
  trilha_status status = read_networks(special, SPECIAL, &guard->special, err);
  if (status != TRILHA_OK) return status;
  trilha_error why = {0};
  if (read_networks(allowed, count, &guard->allowed, &why) == TRILHA_OK) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_USAGE, "WEBHOOK_NETWORK", "%s", why.text);
}

void trilha_webhook_guard_done(trilha_webhook_guard *guard) {
  trilha_networks_free(guard->special);
  trilha_networks_free(guard->allowed);
}

static bool address_of(const struct sockaddr *from, trilha_address *ret_address) {
  static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (from->sa_family == AF_INET6) {
    struct sockaddr_in6 six;
    memcpy(&six, from, sizeof six);
    memcpy(ret_address->bytes, &six.sin6_addr, 16);
    return true;
  }
  if (from->sa_family != AF_INET) return false;
  struct sockaddr_in four;
  memcpy(&four, from, sizeof four);
  memcpy(ret_address->bytes, mapped, sizeof mapped);
  memcpy(ret_address->bytes + sizeof mapped, &four.sin_addr, 4);
  return true;
}

bool trilha_webhook_guard_passes(const trilha_webhook_guard *guard, const struct sockaddr *address) {
  trilha_address to;
  if (!address_of(address, &to)) return false;
  return trilha_networks_hold(guard->allowed, &to) || !trilha_networks_hold(guard->special, &to);
}
