/* store/postgres: connection strings. libpq repeats parts of a malformed one in its errors, and which part a password
 * is then read as depends on the mistake: an unescaped '/' makes its head a port, an unescaped '@' its tail a host. So
 * whatever could be misread is refused here first, in words that repeat nothing (field report B34). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "postgres_internal.h"

static trilha_status refused(trilha_error *err, const char *what) {
  return trilha_error_set(err, TRILHA_USAGE, "STORE_URL_INVALID", "the store's URL is malformed: %s", what);
}

static bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool escapes_are_valid(trilha_text text) {
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] != '%') continue;
    if (i + 2 >= text.size || !is_hex(text.data[i + 1]) || !is_hex(text.data[i + 2])) return false;
    if (text.data[i + 1] == '0' && text.data[i + 2] == '0') return false;
  }
  return true;
}

static size_t index_of(trilha_text text, char c) {
  const char *at = trilha_text_find(text, c);
  return at == NULL ? text.size : (size_t)(at - text.data);
}

static trilha_text from(trilha_text text, size_t start) {
  return (trilha_text){text.data + start, text.size - start};
}

/* "host", "host:port", "[v6]:port": the port is digits, and nothing else follows. */
static bool host_is_plain(trilha_text host) {
  size_t colon = index_of(host, ':');
  if (host.size > 0 && host.data[0] == '[') {
    size_t bracket = index_of(host, ']');
    if (bracket == host.size) return false;
    host = from(host, bracket + 1);
    if (host.size == 0) return true;
    if (host.data[0] != ':') return false;
    colon = 0;
  }
  for (size_t i = colon + 1; i < host.size; i++)
    if (host.data[i] < '0' || host.data[i] > '9') return false;
  return true;
}

static trilha_status check_hosts(trilha_text hosts, trilha_error *err) {
  for (;;) {
    size_t comma = index_of(hosts, ',');
    if (!host_is_plain((trilha_text){hosts.data, comma})) return refused(err, "a port is not a number");
    if (comma == hosts.size) return TRILHA_OK;
    hosts = from(hosts, comma + 1);
  }
}

trilha_status trilha_pg_url_check(trilha_text url, trilha_error *err) {
  static const char *const schemes[] = {"postgresql://", "postgres://"};
  size_t skip = 0;
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    size_t size = strlen(schemes[i]);
    if (url.size >= size && memcmp(url.data, schemes[i], size) == 0) skip = size;
  }
  if (skip == 0) return refused(err, "it must begin with postgresql://");
  if (trilha_text_find(url, '\0') != NULL) return refused(err, "it holds a NUL");
  trilha_text rest = from(url, skip);
  size_t authority = 0; /* ends at the first of / ? or the end */
  while (authority < rest.size && rest.data[authority] != '/' && rest.data[authority] != '?') authority++;
  size_t at = index_of(rest, '@');
  if (at < rest.size && at > authority)
    return refused(err, "'/', '?' and '@' in a user name, password or option must be written %2F, %3F and %40");
  trilha_text after = at < rest.size ? from(rest, at + 1) : rest;
  if (index_of(after, '@') < after.size)
    return refused(err, "'@' in a user name, password or option must be written %40");
  if (!escapes_are_valid(rest)) return refused(err, "'%' must be followed by two hexadecimal digits other than 00");
  size_t hosts = at < rest.size ? authority - at - 1 : authority;
  return check_hosts((trilha_text){after.data, hosts}, err);
}

static void add_shown(trilha_buffer *b, const char *before, const char *value) {
  if (value == NULL || *value == '\0') return;
  trilha_buffer_add_string(b, before);
  trilha_buffer_add_string(b, value);
}

static const char *option_of(const PQconninfoOption *options, const char *keyword) {
  for (; options->keyword != NULL; options++)
    if (strcmp(options->keyword, keyword) == 0) return options->val;
  return NULL;
}

trilha_status trilha_pg_url_display(const char *url, char **ret_display, trilha_error *err) {
  PQconninfoOption *options = PQconninfoParse(url, NULL); /* its message may repeat the URL: not asked for */
  if (options == NULL) return refused(err, "libpq does not accept it (an unknown option, or a part twice?)");
  TRILHA_BUFFER_SCOPED b;
  trilha_buffer_init(&b, 0);
  trilha_buffer_add_string(&b, "postgresql://");
  const char *user = option_of(options, "user"), *host = option_of(options, "host");
  if (user != NULL && *user != '\0') trilha_buffer_add_string(&b, user), trilha_buffer_add_char(&b, '@');
  add_shown(&b, "", host != NULL ? host : option_of(options, "hostaddr"));
  add_shown(&b, ":", option_of(options, "port"));
  add_shown(&b, "/", option_of(options, "dbname"));
  PQconninfoFree(options);
  if (trilha_buffer_check(&b, err) != TRILHA_OK) return TRILHA_NO_MEMORY;
  *ret_display = trilha_buffer_take(&b, NULL);
  return *ret_display == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}
