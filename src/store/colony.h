/* store/colony: the name of a colony's schema (ruling R12). Room: store (ports). Corridor header. Thread-safe. */
#ifndef TRILHA_STORE_COLONY_H
#define TRILHA_STORE_COLONY_H

#include "base/text.h"

enum { TRILHA_COLONY_SCHEMA_SIZE = 64 }; /* terminator included: an identifier of PostgreSQL has at most 63 bytes */

/* "D-4" gives "d4": ASCII letters in lower case, hyphens dropped; what is left must be [a-z0-9_], begin with a letter,
 * and be none of the names that belong to others (core, public, main, temp, trilha…, pg_…, sqlite_…,
 * information_schema). INVALID code COLONY_NAME otherwise. */
trilha_status trilha_colony_schema_name(trilha_text colonia, char out[TRILHA_COLONY_SCHEMA_SIZE], trilha_error *err);

#endif
