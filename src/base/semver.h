/* base/semver: Semantic Versioning 2.0.0. Room: base. Thread-safe. */
#ifndef TRILHA_BASE_SEMVER_H
#define TRILHA_BASE_SEMVER_H

#include "base/text.h"

/* MAJOR.MINOR.PATCH with an optional pre-release and build part, as semver.org 2.0.0 has it; of any length. */
bool trilha_semver_is_valid(trilha_text text);

#endif
