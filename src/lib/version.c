/* lib/version: which Trilha this is. */
#include "trilha/version.h"

const char *trilha_version(void) { return TRILHA_VERSION; }
