/* config/yaml: YAML 1.2 as JSON text for our own reader, so that one validator and one set of rules serve both. Room:
 * config. Corridor.
 *
 * Plain scalars follow the core schema of YAML 1.2 and keep their digits: `yes`, `on` and `1_000` are strings, 1.10
 * stays 1.10, 0x1F becomes 31. What JSON cannot say (.inf, .nan, other tags), what two readers read differently
 * (duplicate keys, keys that are no scalars, merge keys) and more than one document are refused with line, column and
 * pointer. Thread-safe; nothing recurses.
 */
#ifndef TRILHA_CONFIG_YAML_H
#define TRILHA_CONFIG_YAML_H

#include "base/text.h"

/* Limits. */
#define TRILHA_YAML_BYTES_MAX ((size_t)4 << 20) /* of the YAML text */
#define TRILHA_YAML_JSON_BYTES_MAX \
  ((size_t)8 << 20) /* of the JSON text, aliases expanded: what stops a billion laughs */
enum {
  TRILHA_YAML_DEPTH_MAX = 255,   /* nested collections as written */
  TRILHA_YAML_ANCHORS_MAX = 1000 /* anchors of one document */
};

/* Where in the YAML text the values of the JSON text came from; zero-initialise. */
typedef struct trilha_yaml_place {
  size_t offset;         /* of the value's first byte in the JSON text */
  uint32_t line, column; /* from 1; column in characters */
} trilha_yaml_place;

typedef struct trilha_yaml_map {
  trilha_yaml_place *places; /* by offset */
  size_t count, capacity;
} trilha_yaml_map;

/* Appends the JSON text. `map` may be NULL; else it is filled, the caller's also on failure, and ended with
 * trilha_yaml_map_done(). Errors: INVALID with code YAML_SYNTAX, YAML_UTF8, YAML_EMPTY, YAML_DOCUMENTS,
 * YAML_DUPLICATE_KEY, YAML_KEY, YAML_ALIAS, YAML_TAG, YAML_NUMBER; LIMIT with YAML_SIZE, YAML_DEPTH, YAML_ANCHORS;
 * NO_MEMORY; UNSUPPORTED (LIBRARY_MISSING). Texts name line, column and pointer, never a value. */
trilha_status trilha_yaml_to_json(trilha_text yaml, trilha_buffer *out, trilha_yaml_map *map,
                                  trilha_error *err) TRILHA_MUST_USE;
void trilha_yaml_map_done(trilha_yaml_map *map);
/* For a process that goes on when it has read its configuration: the library that reads YAML leaves its memory, unless
 * a conversion is under way. The next one loads it again. Thread-safe. */
void trilha_yaml_unload(void);
/* The place of the value that begins at or before `offset` in the JSON text (counted from where the conversion began to
 * append); line 0 when there is none. A scalar value's offset is text - document text; a collection is told by the
 * first scalar in it. */
trilha_yaml_place trilha_yaml_map_find(const trilha_yaml_map *map, size_t offset);

#endif
