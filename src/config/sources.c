/* config: `sources`, the registered outboxes: a list of objects, which no variable of the environment can set. */
#include <stddef.h>
#include <string.h>

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

/* What is written in the file, shown by `trilha source list` and by the API: one list of all three. */
static const struct {
  const char *name;
  size_t place;
} numbers[] = {
    {"timeout_ms", offsetof(trilha_config_source, timeout_ms)},
    {"margin_ms", offsetof(trilha_config_source, margin_ms)},
    {"lease_ms", offsetof(trilha_config_source, lease_ms)},
    {"attempts", offsetof(trilha_config_source, attempts)},
    {"backoff_ms", offsetof(trilha_config_source, backoff_ms)},
    {"quota", offsetof(trilha_config_source, quota)},
    {"weight", offsetof(trilha_config_source, weight)},
    {"messages_days", offsetof(trilha_config_source, messages_days)},
    {"inbox_days", offsetof(trilha_config_source, inbox_days)},
    {"retry_days", offsetof(trilha_config_source, retry_days)},
    {"restore_days", offsetof(trilha_config_source, restore_days)},
    {"batch", offsetof(trilha_config_source, batch)},
    {"run", offsetof(trilha_config_source, run)},
    {"scan_ms", offsetof(trilha_config_source, scan_ms)},
};
enum { NUMBER_COUNT = sizeof numbers / sizeof numbers[0] };

const char *trilha_config_source_number(const trilha_config_source *source, size_t i, int64_t *ret_number) {
  if (i >= NUMBER_COUNT) return NULL;
  memcpy(ret_number, (const char *)source + numbers[i].place, sizeof *ret_number);
  return numbers[i].name;
}

static trilha_status take_numbers(const trilha_json_value *rules, const trilha_json_value *source,
                                  trilha_config_source *out, trilha_error *err) {
  for (size_t i = 0; i < NUMBER_COUNT; i++) {
    const trilha_json_value *value = value_of(rules, source, numbers[i].name);
    if (value == NULL || (value->flags & TRILHA_JSON_SMALL) == 0) /* 1e3 and 1.0 are integers to the schema */
      return trilha_error_set(err, TRILHA_INVALID, "CONFIG_INVALID", "%s must be written with digits alone",
                              numbers[i].name);
    int64_t number = trilha_json_small(value);
    memcpy((char *)out + numbers[i].place, &number, sizeof number);
  }
  return TRILHA_OK;
}

static trilha_status take_list(trilha_config *config, const trilha_json_value *list, const trilha_text **ret_texts,
                               size_t *ret_count, trilha_error *err) {
  trilha_text *texts = trilha_arena_array(&config->arena, list->size + 1, sizeof *texts);
  if (texts == NULL) return trilha_error_no_memory(err);
  trilha_status status = TRILHA_OK;
  const trilha_json_value *item = list + 1;
  for (size_t i = 0; status == TRILHA_OK && i < list->size; i++, item = trilha_json_next(item))
    status = copy(config, item, &texts[i], err);
  *ret_texts = texts;
  *ret_count = list->size;
  return status;
}

static trilha_status take_callback(trilha_config *config, const trilha_json_value *from, trilha_config_callback *out,
                                   trilha_error *err) {
  trilha_status status = copy(config, trilha_json_member(from, "destination"), &out->destination, err);
  if (status == TRILHA_OK) status = copy(config, trilha_json_member(from, "secret_file"), &out->secret_file, err);
  if (status != TRILHA_OK) return status;
  return take_list(config, trilha_json_member(from, "allow"), &out->allow, &out->allow_count, err);
}

static trilha_status take_callbacks(trilha_config *config, const trilha_json_value *list, trilha_config_source *out,
                                    trilha_error *err) {
  trilha_config_callback *callbacks = trilha_arena_array(&config->arena, list->size + 1, sizeof *callbacks);
  if (callbacks == NULL) return trilha_error_no_memory(err);
  const trilha_json_value *item = list + 1;
  out->callbacks = callbacks;
  for (size_t i = 0; i < list->size; i++, item = trilha_json_next(item)) {
    callbacks[i] = (trilha_config_callback){0};
    trilha_status status = take_callback(config, item, &callbacks[i], err);
    if (status != TRILHA_OK) return status;
    for (size_t k = 0; k < i; k++)
      if (trilha_text_equal(callbacks[k].destination, callbacks[i].destination))
        return trilha_error_set(err, TRILHA_INVALID, "CALLBACK_TWICE", "the callbacks of %s name %s twice",
                                out->name.data, callbacks[i].destination.data);
  }
  out->callback_count = list->size;
  return TRILHA_OK;
}

static trilha_status take_one(trilha_config *config, const trilha_json_value *rules, const trilha_json_value *source,
                              trilha_error *err) {
  trilha_config_source *out = &config->sources[config->source_count];
  *out = (trilha_config_source){0};
  trilha_status status = take_texts(config, rules, source, out, err);
  if (status == TRILHA_OK) status = take_numbers(rules, source, out, err);
  if (status == TRILHA_OK)
    status =
        take_list(config, value_of(rules, source, "destinations"), &out->destinations, &out->destination_count, err);
  if (status == TRILHA_OK) status = take_callbacks(config, value_of(rules, source, "callbacks"), out, err);
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
