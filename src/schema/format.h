/* schema/format: the formats of JSON Schema 2020-12 (validation 7.3). Room: schema, inside. Thread-safe, no allocation
 * beyond a bounded stack buffer. */
#ifndef TRILHA_SCHEMA_FORMAT_H
#define TRILHA_SCHEMA_FORMAT_H

#include "base/text.h"

typedef bool (*trilha_format_check)(trilha_text text);

/* The check of a format by its name, or NULL for an unknown one (unknown formats always pass). */
trilha_format_check trilha_format_find(trilha_text name);

#endif
