/* fuzz: X-Forwarded-For and networks. A peer that is no trusted proxy stays the client whatever it sends; every address
 * found has one text that gives it again. */
#include "access/access.h"
#include "fuzz/fuzz.h"

void trilha_fuzz(const char *data, size_t size) {
  trilha_text proxies[] = {TRILHA_TEXT("10.0.0.0/8"), TRILHA_TEXT("::1")}, input = {data, size};
  trilha_networks *trusted = NULL, *given = NULL;
  trilha_address proxy, stranger, found, again;
  char text[TRILHA_ADDRESS_SIZE];
  CHECK(trilha_networks_new(proxies, 2, &trusted, NULL) == TRILHA_OK);
  CHECK(trilha_address_parse(TRILHA_TEXT("10.0.0.1"), &proxy));
  CHECK(trilha_address_parse(TRILHA_TEXT("203.0.113.9"), &stranger));
  CHECK(trilha_client_address(&stranger, &input, 1, trusted, &found));
  CHECK(memcmp(&found, &stranger, sizeof found) == 0);
  if (trilha_client_address(&proxy, &input, 1, trusted, &found)) {
    trilha_address_format(&found, text);
    CHECK(trilha_address_parse(trilha_text_of(text), &again) && memcmp(&found, &again, sizeof found) == 0);
  }
  if (trilha_networks_new(&input, 1, &given, NULL) == TRILHA_OK) (void)trilha_networks_hold(given, &stranger);
  trilha_networks_free(given);
  trilha_networks_free(trusted);
}
