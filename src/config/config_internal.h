/* config inside: the settings' table and the values of a configuration. Room: config. */
#ifndef TRILHA_CONFIG_CONFIG_INTERNAL_H
#define TRILHA_CONFIG_CONFIG_INTERNAL_H

#include "base/arena.h"
#include "config/config.h"
#include "json/json.h"

typedef struct trilha_setting_row {
  const char *name;     /* path in the file, dots between */
  const char *variable; /* of the environment */
  const char *shared;   /* a variable that other programs listen to as well; the one above wins; NULL: none */
} trilha_setting_row;

extern const trilha_setting_row trilha_settings[TRILHA_SETTING_COUNT];

/* One value. A list has items; everything else is its JSON scalar's text. */
typedef struct trilha_config_value {
  trilha_setting_origin origin;
  bool is_list;
  trilha_text text;
  trilha_text *items;
  size_t count;
} trilha_config_value;

struct trilha_config {
  trilha_arena arena;
  trilha_config_value values[TRILHA_SETTING_COUNT];
  trilha_config_source *sources;
  size_t source_count;
};

/* sources.c. From a valid document's `sources` (NULL: none), with the schema's defaults. INVALID (SOURCE_TWICE). */
trilha_status trilha_config_take_sources(trilha_config *config, const trilha_json_value *schema,
                                         const trilha_json_value *sources, trilha_error *err) TRILHA_MUST_USE;
/* user:password@ and every parameter of a URL hidden. */
void trilha_config_show_url(trilha_text url, trilha_buffer *out);

/* The subschema of a setting in the schema's document; never NULL for a setting of the table (a test looks). */
const trilha_json_value *trilha_setting_schema(const trilha_json_document *schema, trilha_setting setting);
/* The value at a setting's place below `root`, or NULL. */
const trilha_json_value *trilha_setting_find(const trilha_json_value *root, trilha_setting setting);

#endif
