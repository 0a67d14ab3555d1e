/* schema/format_host: addresses (RFC 2673, 4291), host names (RFC 1123, 5890), mail addresses (RFC 5321, 6531). */
#include "schema/format_internal.h"

#define HOST_SIZE_MAX  253 /* octets of a name without its last dot: RFC 1035, section 2.3.4 */
#define LABEL_SIZE_MAX 63
#define LOCAL_SIZE_MAX 64 /* octets: RFC 5321, section 4.5.3.1.1 */

/* --- addresses ------------------------------------------------------------------------------------ */

static bool take_octet(trilha_text *text) {
  int value = 0;
  size_t digits = 0;
  for (; digits < text->size && digits < 4 && trilha_is_digit(text->data[digits]); digits++)
    value = value * 10 + (text->data[digits] - '0');
  if (digits == 0 || digits > 3 || value > 255 || (digits > 1 && text->data[0] == '0')) return false;
  text->data += digits;
  text->size -= digits;
  return true;
}

bool trilha_format_ipv4(trilha_text text) {
  for (int i = 0; i < 4; i++) {
    if (i > 0) {
      if (text.size == 0 || text.data[0] != '.') return false;
      text.data++;
      text.size--;
    }
    if (!take_octet(&text)) return false;
  }
  return text.size == 0;
}

bool trilha_format_ipv6(trilha_text text) {
  size_t at = 0;
  int groups = 0;
  bool compressed = false;
  if (text.size >= 2 && text.data[0] == ':' && text.data[1] == ':') {
    compressed = true;
    at = 2;
  }
  while (at < text.size) {
    size_t digits = 0;
    while (at + digits < text.size && trilha_is_hex(text.data[at + digits])) digits++;
    if (at + digits < text.size && text.data[at + digits] == '.') {
      if (!trilha_format_ipv4((trilha_text){text.data + at, text.size - at})) return false;
      groups += 2;
      break;
    }
    if (digits == 0 || digits > 4) return false;
    groups++;
    at += digits;
    if (at == text.size) break;
    if (text.data[at++] != ':' || at == text.size) return false;
    if (text.data[at] != ':') continue;
    if (compressed) return false;
    compressed = true;
    at++;
  }
  return compressed ? groups < 8 : groups == 8;
}

/* --- host names ----------------------------------------------------------------------------------- */

static bool is_ldh_label(trilha_text label) {
  if (label.size == 0 || label.size > LABEL_SIZE_MAX) return false;
  for (size_t i = 0; i < label.size; i++)
    if (!trilha_is_letter(label.data[i]) && !trilha_is_digit(label.data[i]) && label.data[i] != '-') return false;
  return label.data[0] != '-' && label.data[label.size - 1] != '-';
}

static bool is_a_label(trilha_text label) {
  return label.size >= 4 && (label.data[0] | 0x20) == 'x' && (label.data[1] | 0x20) == 'n' && label.data[2] == '-' &&
         label.data[3] == '-';
}

static bool is_ascii(trilha_text text) {
  for (size_t i = 0; i < text.size; i++)
    if ((unsigned char)text.data[i] >= 0x80) return false;
  return true;
}

/* Bytes of the label separator at `at`: the dot, or one of its three ideographic forms (RFC 3490, section 3.1); 0 for
 * none. */
static size_t separator_size(trilha_text text, size_t at, bool international) {
  if (text.data[at] == '.') return 1;
  if (!international || text.size - at < 3) return 0;
  bool dot = memcmp(text.data + at, "\xE3\x80\x82", 3) == 0 || memcmp(text.data + at, "\xEF\xBC\x8E", 3) == 0 ||
             memcmp(text.data + at, "\xEF\xBD\xA1", 3) == 0;
  return dot ? 3 : 0;
}

static trilha_text take_label(trilha_text *text, bool international, bool *ret_last) {
  size_t at = 0, separator = 0;
  while (at < text->size && (separator = separator_size(*text, at, international)) == 0) at++;
  trilha_text label = {text->data, at};
  *ret_last = at == text->size;
  text->data += at + separator;
  text->size -= at + separator;
  return label;
}

typedef struct host_check {
  bool international, normalise;
  bool right_to_left; /* found a label that makes it a Bidi name */
  bool breaks_bidi;   /* found a label that a Bidi name may not have */
} host_check;

static bool check_label(trilha_text label, host_check *check, size_t *ret_size) {
  uint32_t points[TRILHA_LABEL_POINTS_MAX];
  size_t count = 0;
  *ret_size = label.size;
  if (is_ascii(label) && !is_a_label(label)) {
    if (!is_ldh_label(label)) return false;
    for (; count < label.size; count++) points[count] = (unsigned char)label.data[count];
  } else {
    if (is_ascii(label) ? !is_ldh_label(label) : !check->international) return false;
    if (!trilha_idna_label(label, check->normalise, points, &count, ret_size)) return false;
  }
  check->right_to_left |= trilha_bidi_has_right_to_left(points, count);
  check->breaks_bidi |= !trilha_bidi_rule(points, count);
  return true;
}

static bool check_host(trilha_text text, host_check check) {
  size_t total = 0, size = 0;
  bool last = false;
  if (text.size == 0) return false;
  while (!last) {
    if (!check_label(take_label(&text, check.international, &last), &check, &size)) return false;
    total += size + (last ? 0 : 1);
    if (total > HOST_SIZE_MAX) return false;
  }
  return !check.right_to_left || !check.breaks_bidi;
}

bool trilha_format_hostname(trilha_text text) {
  return check_host(text, (host_check){0});
}
bool trilha_format_idn_hostname(trilha_text text) {
  return check_host(text, (host_check){.international = true});
}
bool trilha_format_idn_mail_host(trilha_text text) {
  return check_host(text, (host_check){.international = true, .normalise = true});
}

/* --- mail addresses ------------------------------------------------------------------------------- */

static bool is_atom_char(char c, bool international) {
  if ((unsigned char)c >= 0x80) return international;
  return trilha_is_letter(c) || trilha_is_digit(c) || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

/* Bytes of the quoted string at the front, quotes included; 0 when it is none. */
static size_t quoted_size(trilha_text text, bool international) {
  for (size_t i = 1; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c == '"') return i + 1;
    if (c == '\\' && (++i == text.size || (unsigned char)text.data[i] >= 0x7F)) return 0;
    c = (unsigned char)text.data[i];
    if (c < 0x20 || c == 0x7F || (c > 0x7F && !international)) return 0;
  }
  return 0;
}

static size_t dot_string_size(trilha_text text, bool international) {
  size_t at = 0;
  for (;;) {
    size_t from = at;
    while (at < text.size && is_atom_char(text.data[at], international)) at++;
    if (at == from) return 0;
    if (at == text.size || text.data[at] != '.') return at;
    at++;
  }
}

static bool is_address_literal(trilha_text text) {
  static const char tag[] = "IPv6:";
  size_t tag_size = sizeof tag - 1;
  if (text.size < 2 || text.data[0] != '[' || text.data[text.size - 1] != ']') return false;
  trilha_text inner = {text.data + 1, text.size - 2};
  if (trilha_format_ipv4(inner)) return true;
  if (inner.size < tag_size || memcmp(inner.data, tag, tag_size) != 0) return false;
  return trilha_format_ipv6((trilha_text){inner.data + tag_size, inner.size - tag_size});
}

static bool check_mail(trilha_text text, bool international) {
  if (text.size == 0) return false;
  size_t local = text.data[0] == '"' ? quoted_size(text, international) : dot_string_size(text, international);
  if (local == 0 || local > LOCAL_SIZE_MAX || local >= text.size || text.data[local] != '@') return false;
  trilha_text domain = {text.data + local + 1, text.size - local - 1};
  if (is_address_literal(domain)) return true;
  return international ? trilha_format_idn_mail_host(domain) : trilha_format_hostname(domain);
}

bool trilha_format_email(trilha_text text) {
  return check_mail(text, false);
}
bool trilha_format_idn_email(trilha_text text) {
  return check_mail(text, true);
}
