/* errorcode: exact, then suffix, then 400. The mapper names no module: what is mapped exactly, and why, stands in
 * tables. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "errorcode/errorcode.h"

enum { OTHERWISE = 400, LEAST = 400, MOST = 599 };

static const struct {
  const char *suffix;
  unsigned status;
} SUFFIXES[] = {{"_NOT_FOUND", 404}, {"_CONFLICT", 409},   {"_ALREADY_EXISTS", 409}, {"_UNAUTHORIZED", 401},
                {"_FORBIDDEN", 403}, {"_EXPIRED", 410},    {"_LOCKED", 423},         {"_RATE_LIMITED", 429},
                {"_INVALID", 422},   {"_UNAVAILABLE", 503}};

/* Our own. A store that fails is never the caller's mistake; a wrong parameter of a query always is (ruling R7). */
static const trilha_error_mapping OWN[] = {
    {"CONTENT_SAME", 409, "the message is as it was asked to become: the request met another state"},
    {"CONTENT_TYPE_UNSUPPORTED", 415, "the body may be right, only its kind is not read"},
    {"DESTINATION_UNKNOWN", 404, "the outbox has no such destination: the request names nothing"},
    {"FILTER_INVALID", 400, "ruling R7: a wrong parameter of a query is 400, not 422"},
    {"ID_INVALID", 400, "ruling R26: a malformed id is an error of the request, not of its content"},
    {"LANE_NOT_DEAD", 409, "the message is not, or no longer, what can be retried or discarded"},
    {"LIBRARY_MISSING", 500, "the service's own machine lacks a library: nothing the caller can mend"},
    {"MESSAGE_FINISHED", 409, "no destination waits for it any more"},
    {"MESSAGE_ID_INVALID", 400, "ruling R26: a malformed id is an error of the request, not of its content"},
    {"MESSAGE_IN_FLIGHT", 409, "a worker has it; when the attempt is over the same request may succeed"},
    {"MESSAGE_REFUSED", 422, "the request is right, its content is not what an outbox takes"},
    {"NO_MEMORY", 503, "the same request may succeed later"},
    {"OUTBOX_BUSY", 503, "other requests wait for outboxes; later there is room"},
    {"OUTBOX_NOT_INSTALLED", 503, "the registered source has no outbox yet: nothing the caller can mend"},
    {"OUTCOME_UNKNOWN", 503, "the answer of the store was lost; repeating is safe"},
    {"PARAMETER_INVALID", 400, "ruling R7: a wrong parameter of a query is 400, not 422"},
    {"PATH_INVALID", 400, "ruling R26: a path that cannot be decoded names nothing"},
    {"PLACE_INVALID", 400, "ruling R7: a wrong parameter of a query is 400, not 422"},
    {"RECONCILIATION_MISSING", 409, "what the destination knows must be recorded, stated or overridden first"},
    {"REPROCESS_BUSY", 503, "others wait for their colonies; later there is room"},
    {"REQUEST_INVALID", 400, "specification 000, 5.4: the body has one form, and anything else is a bad request"},
    {"REVISION_CHANGED", 409, "somebody was quicker: look again"},
    {"STORE_ALTERED", 500, "somebody changed the store's protections: nothing the caller can mend"},
    {"STORE_BUSY", 503, "another writer was faster; later there is room"},
    {"STORE_COMMIT_UNKNOWN", 503, "the answer of the store was lost; repeating is safe"},
    {"STORE_CONNECTIONS", 503, "the server has no connection left; later there is one"},
    {"STORE_CORRUPT", 500, "the store is damaged: nothing the caller can mend"},
    {"STORE_DENIED", 500, "the service's own role lacks a right; the caller's are not meant"},
    {"STORE_FULL", 503, "no room on the disk; an operator makes some"},
    {"STORE_IO", 503, "the disk failed; an operator looks"},
    {"STORE_READ_ONLY", 503, "the store cannot be written now"},
    {"STORE_REPLACED", 503, "the file was exchanged under the service; it must be started again"},
    {"STORE_ROW_MALFORMED", 500, "a stored row is not what it must be: nothing the caller can mend"},
    {"STORE_TIMEOUT", 503, "the store was too slow; the same request may succeed later"},
    {"UUID_INVALID", 400, "ruling R26: a malformed id is an error of the request, not of its content"},
};

struct trilha_error_map {
  trilha_arena arena; /* texts of added ones */
  trilha_error_mapping rows[TRILHA_ERROR_MAPPINGS_MAX];
  size_t count; /* by code */
};

static size_t place_of(const trilha_error_map *map, trilha_text code) {
  size_t low = 0, high = map->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (trilha_text_compare(trilha_text_of(map->rows[middle].code), code) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static const trilha_error_mapping *exact(const trilha_error_map *map, trilha_text code) {
  size_t at = place_of(map, code);
  return at < map->count && trilha_text_is(code, map->rows[at].code) ? &map->rows[at] : NULL;
}

static bool is_code(const char *code) {
  if (code == NULL || code[0] < 'A' || code[0] > 'Z' || strlen(code) >= TRILHA_ERROR_CODE_MAX) return false;
  return code[strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

static trilha_status judge(const trilha_error_map *map, const trilha_error_mapping *mapping, trilha_error *err) {
  if (!is_code(mapping->code) || mapping->status < LEAST || mapping->status > MOST)
    return trilha_error_set(err, TRILHA_INVALID, "ERROR_MAPPING_INVALID",
                            "a mapping has a code of upper-case letters, digits and _, and a status of 400 to 599");
  if (mapping->because == NULL || mapping->because[strspn(mapping->because, " \t\n")] == '\0')
    return trilha_error_set(err, TRILHA_INVALID, "ERROR_MAPPING_INVALID",
                            "the mapping of %s does not say because of what", mapping->code);
  if (exact(map, trilha_text_of(mapping->code)) != NULL)
    return trilha_error_set(err, TRILHA_CONFLICT, "ERROR_MAPPING_CONFLICT", "%s is mapped already", mapping->code);
  if (map->count == TRILHA_ERROR_MAPPINGS_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "ERROR_MAPPINGS_TOO_MANY", "more than %d mappings",
                            TRILHA_ERROR_MAPPINGS_MAX);
  return TRILHA_OK;
}

trilha_status trilha_error_map_add(trilha_error_map *map, const trilha_error_mapping *mapping, trilha_error *error) {
  trilha_status status = judge(map, mapping, error);
  if (status != TRILHA_OK) return status;
  trilha_error_mapping copy = {.code = trilha_arena_copy(&map->arena, trilha_text_of(mapping->code)),
                               .status = mapping->status,
                               .because = trilha_arena_copy(&map->arena, trilha_text_of(mapping->because))};
  if (copy.code == NULL || copy.because == NULL) return trilha_error_no_memory(error);
  size_t at = place_of(map, trilha_text_of(copy.code));
  memmove(&map->rows[at + 1], &map->rows[at], (map->count - at) * sizeof map->rows[0]);
  map->rows[at] = copy;
  map->count++;
  return TRILHA_OK;
}

trilha_status trilha_error_map_new(trilha_error_map **ret_map, trilha_error *error) {
  trilha_error_map *map = calloc(1, sizeof *map);
  if (map == NULL) return trilha_error_no_memory(error);
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; status == TRILHA_OK && i < sizeof OWN / sizeof OWN[0]; i++)
    status = trilha_error_map_add(map, &OWN[i], error);
  if (status == TRILHA_OK)
    *ret_map = map;
  else
    trilha_error_map_free(map);
  return status;
}

void trilha_error_map_free(trilha_error_map *map) {
  if (map == NULL) return;
  trilha_arena_done(&map->arena);
  free(map);
}

unsigned trilha_error_map_status(const trilha_error_map *map, trilha_text code,
                                 const trilha_error_mapping **ret_mapping, const char **ret_suffix) {
  const trilha_error_mapping *mapping = exact(map, code);
  const char *suffix = NULL;
  unsigned status = mapping == NULL ? OTHERWISE : mapping->status;
  for (size_t i = 0; mapping == NULL && suffix == NULL && i < sizeof SUFFIXES / sizeof SUFFIXES[0]; i++) {
    size_t size = strlen(SUFFIXES[i].suffix);
    if (code.size <= size || memcmp(code.data + code.size - size, SUFFIXES[i].suffix, size) != 0) continue;
    suffix = SUFFIXES[i].suffix;
    status = SUFFIXES[i].status;
  }
  if (ret_mapping != NULL) *ret_mapping = mapping;
  if (ret_suffix != NULL) *ret_suffix = suffix;
  return status;
}

const trilha_error_mapping *trilha_error_map_at(const trilha_error_map *map, size_t i) {
  return i < map->count ? &map->rows[i] : NULL;
}

const char *trilha_error_suffix_at(size_t i, unsigned *ret_status) {
  if (i >= sizeof SUFFIXES / sizeof SUFFIXES[0]) return NULL;
  *ret_status = SUFFIXES[i].status;
  return SUFFIXES[i].suffix;
}
