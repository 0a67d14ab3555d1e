/* schema/format: the formats of JSON Schema 2020-12 (validation 7.3). Room: schema, inside. Thread-safe. Texts are
 * valid UTF-8. Nothing is allocated, except a label inside libidn2 (idn-hostname, idn-email, A-labels) and the parse of
 * a regex. */
#ifndef TRILHA_SCHEMA_FORMAT_H
#define TRILHA_SCHEMA_FORMAT_H

#include "base/text.h"

typedef bool (*trilha_format_check)(trilha_text text);

/* The check of a format by its name, or NULL for an unknown one (unknown formats always pass). */
trilha_format_check trilha_format_find(trilha_text name);

#endif
