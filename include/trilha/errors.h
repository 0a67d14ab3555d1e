/* trilha/errors.h: from a stable error code to an HTTP status: an exact mapping, else one of ten suffixes, else 400
 * (specification 001; ruling R27). */
#ifndef TRILHA_ERRORS_H
#define TRILHA_ERRORS_H

#include "trilha/error.h"
#include "trilha/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An exact mapping. `because` says why neither the suffix nor 400 is right; it is for people who read the code or the
 * error documentation and never part of an answer. */
typedef struct trilha_error_mapping {
  const char *code; /**< upper-case letters, digits and '_' */
  unsigned status;  /**< 400 to 599 */
  const char *because;
} trilha_error_mapping;

/** Trilha's own mappings and those that the embedder adds. Adding is not thread-safe; asking is, once all are there. */
typedef struct trilha_error_map trilha_error_map;
TRILHA_API trilha_status trilha_error_map_new(trilha_error_map **ret_map, trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_error_map_free(trilha_error_map *map);
/** Copies the mapping. INVALID (ERROR_MAPPING_INVALID): without `because`, a code or status that is none; CONFLICT
 * (ERROR_MAPPING_CONFLICT): the code is mapped already; LIMIT (ERROR_MAPPINGS_TOO_MANY). */
TRILHA_API trilha_status trilha_error_map_add(trilha_error_map *map, const trilha_error_mapping *mapping,
                                              trilha_error *error) TRILHA_MUST_USE;
/** The status of a code. *ret_mapping (may be NULL) is the exact mapping, or NULL; *ret_suffix (may be NULL) the suffix
 * that decided, or NULL. Both live as long as the map. */
TRILHA_API unsigned trilha_error_map_status(const trilha_error_map *map, trilha_text code,
                                            const trilha_error_mapping **ret_mapping, const char **ret_suffix);
/** The i-th exact mapping in the order of their codes, and the i-th suffix; NULL at the end. */
TRILHA_API const trilha_error_mapping *trilha_error_map_at(const trilha_error_map *map, size_t i);
TRILHA_API const char *trilha_error_suffix_at(size_t i, unsigned *ret_status);

#ifdef __cplusplus
}
#endif
#endif
