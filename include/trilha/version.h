/* trilha/version.h: which Trilha this is. */
#ifndef TRILHA_VERSION_H
#define TRILHA_VERSION_H

#include "trilha/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRILHA_VERSION "0.1.0"

/** The version of the library in use, "MAJOR.MINOR.PATCH". Thread-safe. */
TRILHA_API const char *trilha_version(void);

#ifdef __cplusplus
}
#endif
#endif
