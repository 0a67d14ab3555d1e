/* config/yaml_internal: scalars. Room: config. Inside. */
#ifndef TRILHA_CONFIG_YAML_INTERNAL_H
#define TRILHA_CONFIG_YAML_INTERNAL_H

#include "config/yaml.h"

typedef enum trilha_yaml_kind {
  TRILHA_YAML_STRING = 0,
  TRILHA_YAML_NULL,
  TRILHA_YAML_BOOLEAN,
  TRILHA_YAML_INTEGER,
  TRILHA_YAML_FLOAT,
  TRILHA_YAML_NO_JSON /* .inf, .nan */
} trilha_yaml_kind;

/* What a plain scalar is in the core schema (YAML 1.2.2, section 10.3.2). */
trilha_yaml_kind trilha_yaml_kind_of(trilha_text text);
/* Appends a null, boolean or number of the kind found; false: a hexadecimal or octal number of more than 64 bits. */
bool trilha_yaml_write_plain(trilha_buffer *out, trilha_text text, trilha_yaml_kind kind);

#endif
