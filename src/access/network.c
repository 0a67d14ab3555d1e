/* access: addresses, networks and the client behind proxies. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "access/access.h"
#include "base/error.h"

enum { ADDRESS_BITS = 128, MAPPED_BITS = 96 };

static const unsigned char MAPPED[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

typedef struct network {
  trilha_address address;
  unsigned bits;
} network;

struct trilha_networks {
  size_t count;
  network items[];
};

static bool is_mapped(const trilha_address *address) {
  return memcmp(address->bytes, MAPPED, sizeof MAPPED) == 0;
}

/* *ret_dotted: it was written as IPv4, so that a prefix counts from there. */
static bool parse(trilha_text text, trilha_address *ret_address, bool *ret_dotted) {
  char copy[TRILHA_ADDRESS_SIZE];
  if (text.size == 0 || text.size >= sizeof copy || memchr(text.data, '\0', text.size) != NULL) return false;
  memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  unsigned char bytes[16];
  if (inet_pton(AF_INET, copy, bytes) == 1) {
    memcpy(ret_address->bytes, MAPPED, sizeof MAPPED);
    memcpy(ret_address->bytes + sizeof MAPPED, bytes, 4);
    *ret_dotted = true;
    return true;
  }
  *ret_dotted = false;
  return inet_pton(AF_INET6, copy, ret_address->bytes) == 1;
}

bool trilha_address_parse(trilha_text text, trilha_address *ret_address) {
  bool dotted;
  return parse(text, ret_address, &dotted);
}

void trilha_address_format(const trilha_address *address, char out[TRILHA_ADDRESS_SIZE]) {
  bool mapped = is_mapped(address);
  if (inet_ntop(mapped ? AF_INET : AF_INET6, mapped ? address->bytes + sizeof MAPPED : address->bytes, out,
                TRILHA_ADDRESS_SIZE) == NULL)
    out[0] = '\0';
}

trilha_address trilha_address_client(const trilha_address *address) {
  trilha_address client = *address;
  if (!is_mapped(address)) memset(client.bytes + 8, 0, 8);
  return client;
}

static bool prefix_parse(trilha_text text, unsigned most, unsigned *ret_bits) {
  if (text.size == 0 || text.size > 3 || (text.size > 1 && text.data[0] == '0')) return false;
  unsigned bits = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
    bits = bits * 10 + (unsigned)(text.data[i] - '0');
  }
  *ret_bits = bits;
  return bits <= most;
}

static bool starts_with_bits(const trilha_address *address, const trilha_address *start, unsigned bits) {
  if (memcmp(address->bytes, start->bytes, bits / 8) != 0) return false;
  if (bits % 8 == 0) return true;
  unsigned char mask = (unsigned char)(0xFF00 >> bits % 8);
  return ((address->bytes[bits / 8] ^ start->bytes[bits / 8]) & mask) == 0;
}

static bool rest_is_zero(const network *n) {
  for (unsigned bit = n->bits; bit < ADDRESS_BITS; bit++)
    if ((n->address.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return false;
  return true;
}

static bool network_parse(trilha_text text, network *n) {
  const char *slash = text.size == 0 ? NULL : memchr(text.data, '/', text.size);
  size_t size = slash == NULL ? text.size : (size_t)(slash - text.data);
  bool dotted;
  if (!parse((trilha_text){text.data, size}, &n->address, &dotted)) return false;
  n->bits = ADDRESS_BITS;
  if (slash == NULL) return true;
  unsigned before = dotted ? MAPPED_BITS : 0;
  if (!prefix_parse((trilha_text){slash + 1, text.size - size - 1}, ADDRESS_BITS - before, &n->bits)) return false;
  n->bits += before;
  return rest_is_zero(n);
}

trilha_status trilha_networks_new(const trilha_text *list, size_t count, trilha_networks **ret_networks,
                                  trilha_error *err) {
  trilha_networks *made = calloc(1, sizeof *made + count * sizeof *made->items);
  if (made == NULL) return trilha_error_no_memory(err);
  for (made->count = 0; made->count < count; made->count++) {
    if (network_parse(list[made->count], &made->items[made->count])) continue;
    size_t number = made->count + 1;
    free(made);
    return trilha_error_set(err, TRILHA_INVALID, "NETWORK_INVALID",
                            "entry %zu is neither an address nor a network such as 10.0.0.0/8 or 2001:db8::/32 (bits "
                            "behind the prefix must be zero)",
                            number);
  }
  *ret_networks = made;
  return TRILHA_OK;
}

void trilha_networks_free(trilha_networks *networks) {
  free(networks);
}

bool trilha_networks_hold(const trilha_networks *networks, const trilha_address *address) {
  bool mapped = is_mapped(address);
  for (size_t i = 0; i < networks->count; i++) {
    const network *n = &networks->items[i];
    if (mapped && n->bits < MAPPED_BITS) continue; /* ::/0 means every IPv6 address, not the whole IPv4 world */
    if (starts_with_bits(address, &n->address, n->bits)) return true;
  }
  return false;
}

/* --- the client behind proxies ------------------------------------------------------------------------------- */

static trilha_text trimmed(trilha_text text) {
  while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
    text = (trilha_text){text.data + 1, text.size - 1};
  while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) text.size--;
  return text;
}

static bool is_port(trilha_text text) {
  if (text.size == 0 || text.size > 5) return false;
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  return true;
}

/* ADDRESS, IPV4:PORT, [IPV6] or [IPV6]:PORT, as proxies write them. */
static bool element_parse(trilha_text element, trilha_address *ret_address) {
  element = trimmed(element);
  if (element.size == 0) return false;
  if (element.data[0] == '[') {
    const char *close = memchr(element.data, ']', element.size);
    if (close == NULL) return false;
    size_t size = (size_t)(close - element.data) - 1, behind = element.size - size - 2;
    if (behind > 0 && (close[1] != ':' || !is_port((trilha_text){close + 2, behind - 1}))) return false;
    return memchr(element.data + 1, ':', size) != NULL &&
           trilha_address_parse((trilha_text){element.data + 1, size}, ret_address);
  }
  const char *colon = memchr(element.data, ':', element.size);
  size_t before = colon == NULL ? element.size : (size_t)(colon - element.data);
  bool has_port = colon != NULL && memchr(element.data, '.', before) != NULL;
  if (!has_port) return trilha_address_parse(element, ret_address);
  return is_port((trilha_text){colon + 1, element.size - before - 1}) &&
         trilha_address_parse((trilha_text){element.data, before}, ret_address);
}

/* Cuts the last element off. */
static trilha_text last_element(trilha_text *list) {
  size_t from = list->size;
  while (from > 0 && list->data[from - 1] != ',') from--;
  trilha_text element = {list->data + from, list->size - from};
  list->size = from == 0 ? 0 : from - 1;
  if (from == 0) list->data = NULL;
  return element;
}

bool trilha_client_address(const trilha_address *peer, const trilha_text *values, size_t count,
                           const trilha_networks *trusted, trilha_address *ret_client) {
  trilha_address at = *peer;
  size_t hops = 0;
  for (size_t i = count; i > 0; i--) {
    trilha_text list = values[i - 1];
    while (list.data != NULL) {
      if (!trilha_networks_hold(trusted, &at)) break;
      if (++hops > TRILHA_FORWARDED_HOPS_MAX || !element_parse(last_element(&list), &at)) return false;
    }
  }
  *ret_client = at;
  return true;
}
