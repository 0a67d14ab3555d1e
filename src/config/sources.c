/* config: `sources`, the registered outboxes: a list of objects, which no variable of the environment can set. */
#include <stddef.h>

#include "base/error.h"
#include "config/config_internal.h"

static trilha_status copy(trilha_config *config, const trilha_json_value *from, trilha_text *ret, trilha_error *err) {
  if (from == NULL) return TRILHA_OK;
  trilha_text text = trilha_json_text(from);
  *ret = (trilha_text){trilha_arena_copy(&config->arena, text), text.size};
  return ret->data == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

/* The value in the file, else the schema's default; NULL: neither. */
static const trilha_json_value *value_of(const trilha_json_value *rules, const trilha_json_value *source,
                                         const char *name) {
  const trilha_json_value *value = trilha_json_member(source, name);
  return value != NULL ? value : trilha_json_member(trilha_json_member(rules, name), "default");
}

static trilha_status take_texts(trilha_config *config, const trilha_json_value *rules, const trilha_json_value *source,
                                trilha_config_source *out, trilha_error *err) {
  const struct {
    const char *name;
    trilha_text *text;
  } texts[] = {{"name", &out->name}, {"store", &out->store}, {"schema", &out->schema}};
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; status == TRILHA_OK && i < sizeof texts / sizeof texts[0]; i++)
    status = copy(config, value_of(rules, source, texts[i].name), texts[i].text, err);
  return status;
}

static trilha_status take_numbers(const trilha_json_value *rules, const trilha_json_value *source,
                                  trilha_config_source *out, trilha_error *err) {
  const struct {
    const char *name;
    int64_t *number;
  } numbers[] = {{"timeout_ms", &out->timeout_ms},       {"margin_ms", &out->margin_ms},
                 {"lease_ms", &out->lease_ms},           {"attempts", &out->attempts},
                 {"backoff_ms", &out->backoff_ms},       {"quota", &out->quota},
                 {"messages_days", &out->messages_days}, {"inbox_days", &out->inbox_days},
                 {"retry_days", &out->retry_days},       {"restore_days", &out->restore_days}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    const trilha_json_value *value = value_of(rules, source, numbers[i].name);
    if (value == NULL || (value->flags & TRILHA_JSON_SMALL) == 0) /* 1e3 and 1.0 are integers to the schema */
      return trilha_error_set(err, TRILHA_INVALID, "CONFIG_INVALID", "%s must be written with digits alone",
                              numbers[i].name);
    *numbers[i].number = trilha_json_small(value);
  }
  return TRILHA_OK;
}

static trilha_status take_destinations(trilha_config *config, const trilha_json_value *rules,
                                       const trilha_json_value *source, trilha_config_source *out, trilha_error *err) {
  const trilha_json_value *list = value_of(rules, source, "destinations");
  trilha_text *names = trilha_arena_array(&config->arena, list->size + 1, sizeof *names);
  if (names == NULL) return trilha_error_no_memory(err);
  trilha_status status = TRILHA_OK;
  const trilha_json_value *item = list + 1;
  for (size_t i = 0; status == TRILHA_OK && i < list->size; i++, item = trilha_json_next(item))
    status = copy(config, item, &names[i], err);
  out->destinations = names;
  out->destination_count = list->size;
  return status;
}

static trilha_status take_one(trilha_config *config, const trilha_json_value *rules, const trilha_json_value *source,
                              trilha_error *err) {
  trilha_config_source *out = &config->sources[config->source_count];
  *out = (trilha_config_source){0};
  trilha_status status = take_texts(config, rules, source, out, err);
  if (status == TRILHA_OK) status = take_numbers(rules, source, out, err);
  if (status == TRILHA_OK) status = take_destinations(config, rules, source, out, err);
  if (status != TRILHA_OK) return status;
  if (trilha_config_outbox(config, out->name) != NULL)
    return trilha_error_set(err, TRILHA_INVALID, "SOURCE_TWICE", "the source %s is there twice", out->name.data);
  config->source_count++;
  return TRILHA_OK;
}

trilha_status trilha_config_take_sources(trilha_config *config, const trilha_json_value *schema,
                                         const trilha_json_value *sources, trilha_error *err) {
  if (sources == NULL) return TRILHA_OK;
  const trilha_json_value *rules = trilha_json_member(trilha_json_member(schema, "properties"), "sources");
  rules = trilha_json_member(trilha_json_member(rules, "items"), "properties");
  config->sources = trilha_arena_array(&config->arena, sources->size + 1, sizeof *config->sources);
  if (config->sources == NULL) return trilha_error_no_memory(err);
  trilha_status status = TRILHA_OK;
  const trilha_json_value *item = sources + 1;
  for (size_t i = 0; status == TRILHA_OK && i < sources->size; i++, item = trilha_json_next(item))
    status = take_one(config, rules, item, err);
  return status;
}

const trilha_config_source *trilha_config_outboxes(const trilha_config *config, size_t *ret_count) {
  *ret_count = config->source_count;
  return config->sources;
}

const trilha_config_source *trilha_config_outbox(const trilha_config *config, trilha_text name) {
  for (size_t i = 0; i < config->source_count; i++)
    if (trilha_text_equal(config->sources[i].name, name)) return &config->sources[i];
  return NULL;
}

void trilha_config_source_show(const trilha_config_source *source, trilha_buffer *out) {
  trilha_config_show_url(source->store, out);
}
