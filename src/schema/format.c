/* schema/format: the table of formats, and those whose grammar is a few lines. */
#include "schema/format_internal.h"
#include "schema/pattern.h"

static bool format_uuid(trilha_text text) {
  if (text.size != 36) return false;
  for (size_t i = 0; i < 36; i++) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text.data[i] != '-' : !trilha_is_hex(text.data[i])) return false;
  }
  return true;
}

/* RFC 6901, section 3 */
static bool format_json_pointer(trilha_text text) {
  if (text.size == 0) return true;
  if (text.data[0] != '/') return false;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] != '~') continue;
    if (i + 1 == text.size || (text.data[i + 1] != '0' && text.data[i + 1] != '1')) return false;
  }
  return true;
}

/* draft-bhutton-relative-json-pointer-00, without the index manipulation that 2020-12 does not name */
static bool format_relative_json_pointer(trilha_text text) {
  size_t at = 0;
  while (at < text.size && trilha_is_digit(text.data[at])) at++;
  if (at == 0 || (at > 1 && text.data[0] == '0')) return false;
  if (at + 1 == text.size && text.data[at] == '#') return true;
  return format_json_pointer((trilha_text){text.data + at, text.size - at});
}

static const struct {
  const char *name;
  trilha_format_check check;
} formats[] = {
    {"date-time", trilha_format_date_time},
    {"date", trilha_format_date},
    {"time", trilha_format_time},
    {"duration", trilha_format_duration},
    {"email", trilha_format_email},
    {"idn-email", trilha_format_idn_email},
    {"hostname", trilha_format_hostname},
    {"idn-hostname", trilha_format_idn_hostname},
    {"ipv4", trilha_format_ipv4},
    {"ipv6", trilha_format_ipv6},
    {"uri", trilha_format_uri},
    {"uri-reference", trilha_format_uri_reference},
    {"iri", trilha_format_iri},
    {"iri-reference", trilha_format_iri_reference},
    {"uuid", format_uuid},
    {"uri-template", trilha_format_uri_template},
    {"json-pointer", format_json_pointer},
    {"relative-json-pointer", format_relative_json_pointer},
    {"regex", trilha_pattern_is_valid},
};

trilha_format_check trilha_format_find(trilha_text name) {
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
    if (trilha_text_is(name, formats[i].name)) return formats[i].check;
  return NULL;
}
