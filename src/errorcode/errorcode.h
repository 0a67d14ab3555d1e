/* errorcode: how many exact mappings a map holds; the rest of the room is public (trilha/errors.h). Room: errorcode.
 * Corridor. */
#ifndef TRILHA_ERRORCODE_ERRORCODE_H
#define TRILHA_ERRORCODE_ERRORCODE_H

#include "trilha/errors.h"

enum { TRILHA_ERROR_MAPPINGS_MAX = 1000 };

#endif
