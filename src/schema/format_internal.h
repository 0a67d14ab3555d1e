/* schema/format_internal: what the formats share. Room: schema, inside (only format*.c). */
#ifndef TRILHA_SCHEMA_FORMAT_INTERNAL_H
#define TRILHA_SCHEMA_FORMAT_INTERNAL_H

#include "schema/format.h"

static inline bool trilha_is_digit(char c) {
  return c >= '0' && c <= '9';
}
static inline bool trilha_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool trilha_is_hex(char c) {
  return trilha_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool trilha_format_date_time(trilha_text text);
bool trilha_format_date(trilha_text text);
bool trilha_format_time(trilha_text text);
bool trilha_format_duration(trilha_text text);

bool trilha_format_ipv4(trilha_text text);
bool trilha_format_ipv6(trilha_text text);

bool trilha_format_hostname(trilha_text text);
bool trilha_format_idn_hostname(trilha_text text);
/* As idn-hostname, but what is not normalised (NFC) is normalised first, as mail addresses allow. */
bool trilha_format_idn_mail_host(trilha_text text);
bool trilha_format_email(trilha_text text);
bool trilha_format_idn_email(trilha_text text);

/* One label that holds a character above ASCII, or that begins with "xn--": valid under IDNA 2008. Writes its code
 * points. */
#define TRILHA_LABEL_POINTS_MAX 64
bool trilha_idna_label(trilha_text label, bool normalise, uint32_t points[static TRILHA_LABEL_POINTS_MAX],
                       size_t *ret_count, size_t *ret_ascii_size);
/* The Bidi rule of RFC 5893, section 2, for one label; and whether the label makes its whole name a Bidi name. */
bool trilha_bidi_rule(const uint32_t *points, size_t count);
bool trilha_bidi_has_right_to_left(const uint32_t *points, size_t count);

bool trilha_format_uri(trilha_text text);
bool trilha_format_uri_reference(trilha_text text);
bool trilha_format_iri(trilha_text text);
bool trilha_format_iri_reference(trilha_text text);
bool trilha_format_uri_template(trilha_text text);

/* RFC 3987 */
bool trilha_is_ucschar(uint32_t code_point);
bool trilha_is_iprivate(uint32_t code_point);

#endif
