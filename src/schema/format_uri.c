/* schema/format_uri: URIs (RFC 3986), IRIs (RFC 3987), URI templates (RFC 6570). */
#include "schema/format_internal.h"

/* Which characters a part may hold; a percent-encoded triplet may stand in each. */
typedef enum part {
  PART_SCHEME,
  PART_USERINFO,
  PART_NAME,       /* reg-name */
  PART_FUTURE,     /* after the dot of IPvFuture */
  PART_SEGMENT,    /* pchar */
  PART_SEGMENT_NC, /* pchar without the colon */
  PART_PATH,       /* pchar and the slash */
  PART_QUERY,      /* pchar, slash and question mark */
  PART_FRAGMENT
} part;

static const char *const also[] = {
    [PART_SCHEME] = "+-.",
    [PART_USERINFO] = "-._~!$&'()*+,;=:",
    [PART_NAME] = "-._~!$&'()*+,;=",
    [PART_FUTURE] = "-._~!$&'()*+,;=:",
    [PART_SEGMENT] = "-._~!$&'()*+,;=:@",
    [PART_SEGMENT_NC] = "-._~!$&'()*+,;=@",
    [PART_PATH] = "-._~!$&'()*+,;=:@/",
    [PART_QUERY] = "-._~!$&'()*+,;=:@/?",
    [PART_FRAGMENT] = "-._~!$&'()*+,;=:@/?",
};

typedef struct uri {
  trilha_text text;
  size_t at;
  bool international;
} uri;

bool trilha_is_ucschar(uint32_t c) {
  if (c < 0x10000) return (c >= 0xA0 && c <= 0xD7FF) || (c >= 0xF900 && c <= 0xFDCF) || (c >= 0xFDF0 && c <= 0xFFEF);
  return (c & 0xFFFF) <= 0xFFFD && c <= 0xEFFFD && (c < 0xE0000 || c >= 0xE1000);
}

bool trilha_is_iprivate(uint32_t c) {
  return (c >= 0xE000 && c <= 0xF8FF) || (c >= 0xF0000 && (c & 0xFFFF) <= 0xFFFD);
}

static char look(const uri *u) {
  return u->at < u->text.size ? u->text.data[u->at] : '\0';
}

static bool take(uri *u, char c) {
  if (u->at == u->text.size || u->text.data[u->at] != c) return false;
  u->at++;
  return true;
}

static bool take_triplet(uri *u) {
  if (u->text.size - u->at < 3) return false;
  const char *at = u->text.data + u->at;
  if (at[0] != '%' || !trilha_is_hex(at[1]) || !trilha_is_hex(at[2])) return false;
  u->at += 3;
  return true;
}

static bool take_one(uri *u, part kind) {
  if (u->at == u->text.size) return false;
  char c = look(u);
  if ((unsigned char)c >= 0x80) {
    size_t next = u->at;
    uint32_t point = trilha_utf8_next(u->text.data, u->text.size, &next);
    bool allowed = u->international && kind != PART_SCHEME && kind != PART_FUTURE &&
                   (trilha_is_ucschar(point) || (kind == PART_QUERY && trilha_is_iprivate(point)));
    if (allowed) u->at = next;
    return allowed;
  }
  if (c == '%') return kind != PART_SCHEME && kind != PART_FUTURE && take_triplet(u);
  if (!trilha_is_letter(c) && !trilha_is_digit(c) && (c == '\0' || strchr(also[kind], c) == NULL)) return false;
  u->at++;
  return true;
}

static size_t take_part(uri *u, part kind) {
  size_t count = 0;
  while (take_one(u, kind)) count++;
  return count;
}

/* Behind "[". */
static bool take_literal(uri *u) {
  const char *from = u->text.data + u->at;
  const char *close = memchr(from, ']', u->text.size - u->at);
  if (close == NULL) return false;
  size_t size = (size_t)(close - from);
  if (size > 0 && (from[0] == 'v' || from[0] == 'V')) {
    size_t digits = 0;
    u->at++;
    for (; trilha_is_hex(look(u)); digits++) u->at++;
    return digits > 0 && take(u, '.') && take_part(u, PART_FUTURE) > 0 && take(u, ']');
  }
  u->at += size + 1;
  return trilha_format_ipv6((trilha_text){from, size});
}

/* Behind "//". */
static bool take_authority(uri *u) {
  size_t from = u->at;
  (void)take_part(u, PART_USERINFO);
  if (!take(u, '@')) u->at = from;
  if (take(u, '[')) {
    if (!take_literal(u)) return false;
  } else {
    (void)take_part(u, PART_NAME);
  }
  if (take(u, ':'))
    while (trilha_is_digit(look(u))) u->at++;
  char next = look(u);
  return u->at == u->text.size || next == '/' || next == '?' || next == '#';
}

/* From the path, or the authority before it, to the end. */
static bool take_rest(uri *u, bool relative) {
  bool authority = u->text.size - u->at >= 2 && memcmp(u->text.data + u->at, "//", 2) == 0;
  if (authority) {
    u->at += 2;
    if (!take_authority(u)) return false;
  } else if (relative) {
    (void)take_part(u, PART_SEGMENT_NC);
    if (look(u) == ':') return false;
  }
  (void)take_part(u, PART_PATH);
  if (take(u, '?')) (void)take_part(u, PART_QUERY);
  if (take(u, '#')) (void)take_part(u, PART_FRAGMENT);
  return u->at == u->text.size;
}

static bool is_uri(trilha_text text, bool international) {
  uri u = {.text = text, .international = international};
  return trilha_is_letter(look(&u)) && take_part(&u, PART_SCHEME) > 0 && take(&u, ':') && take_rest(&u, false);
}

static bool is_reference(trilha_text text, bool international) {
  uri u = {.text = text, .international = international};
  return is_uri(text, international) || take_rest(&u, true);
}

bool trilha_format_uri(trilha_text text) {
  return is_uri(text, false);
}
bool trilha_format_uri_reference(trilha_text text) {
  return is_reference(text, false);
}
bool trilha_format_iri(trilha_text text) {
  return is_uri(text, true);
}
bool trilha_format_iri_reference(trilha_text text) {
  return is_reference(text, true);
}

/* --- templates -------------------------------------------------------------------------------------- */

static bool take_literal_char(uri *u) {
  char c = look(u);
  if ((unsigned char)c >= 0x80) {
    uint32_t point = trilha_utf8_next(u->text.data, u->text.size, &u->at);
    return trilha_is_ucschar(point) || trilha_is_iprivate(point);
  }
  if (c == '%') return take_triplet(u);
  if (c <= ' ' || c == 0x7F || strchr("\"<>\\^`{|}", c) != NULL) return false;
  u->at++;
  return true;
}

static bool take_variable_char(uri *u) {
  char c = look(u);
  if (c == '%') return take_triplet(u);
  if (!trilha_is_letter(c) && !trilha_is_digit(c) && c != '_') return false;
  u->at++;
  return true;
}

/* varspec: a name, and a prefix of 1 to 9999 characters or the explode modifier. */
static bool take_variable(uri *u) {
  do {
    if (!take_variable_char(u)) return false;
    while (take_variable_char(u)) continue;
  } while (take(u, '.'));
  if (take(u, '*') || !take(u, ':')) return true;
  size_t digits = 0;
  if (look(u) == '0') return false;
  for (; trilha_is_digit(look(u)); digits++) u->at++;
  return digits >= 1 && digits <= 4;
}

/* Behind "{". The operators that RFC 6570 keeps for later are part of its grammar. */
static bool take_expression(uri *u) {
  char c = look(u);
  if (c != '\0' && strchr("+#./;?&=,!@|", c) != NULL) u->at++;
  do {
    if (!take_variable(u)) return false;
  } while (take(u, ','));
  return take(u, '}');
}

bool trilha_format_uri_template(trilha_text text) {
  uri u = {.text = text};
  while (u.at < text.size)
    if (take(&u, '{') ? !take_expression(&u) : !take_literal_char(&u)) return false;
  return true;
}
