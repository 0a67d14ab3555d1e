/* base/semver: Semantic Versioning 2.0.0. */
#include "base/semver.h"

static bool digit(char c) {
  return c >= '0' && c <= '9';
}
static bool identifier_character(char c) {
  return digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
}

/* "0" or digits that do not begin with 0; moves *at past them. */
static bool numeric(trilha_text text, size_t *at) {
  size_t from = *at;
  while (*at < text.size && digit(text.data[*at])) ++*at;
  return *at > from && (text.data[from] != '0' || *at == from + 1);
}

/* Dot-separated identifiers up to `stop` or the end; only build metadata may have leading zeros. */
static bool identifiers(trilha_text text, size_t *at, char stop, bool leading_zeros) {
  for (;;) {
    size_t from = *at;
    bool digits = true;
    for (; *at < text.size && identifier_character(text.data[*at]); ++*at) digits = digits && digit(text.data[*at]);
    if (*at == from || (digits && !leading_zeros && text.data[from] == '0' && *at > from + 1)) return false;
    if (*at == text.size || text.data[*at] == stop) return true;
    if (text.data[(*at)++] != '.') return false;
  }
}

bool trilha_semver_is_valid(trilha_text text) {
  size_t at = 0;
  for (int part = 0; part < 3; part++) {
    if (part != 0 && (at == text.size || text.data[at++] != '.')) return false;
    if (!numeric(text, &at)) return false;
  }
  if (at < text.size && text.data[at] == '-') {
    at++;
    if (!identifiers(text, &at, '+', false)) return false;
  }
  if (at < text.size && text.data[at] == '+') {
    at++;
    if (!identifiers(text, &at, '\0', true)) return false;
  }
  return at == text.size;
}
