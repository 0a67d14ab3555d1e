/* config: loading. The file is validated as it is, and each value of the environment or the command line against the
 * same part of the schema, so that one set of rules serves all three. */
#include "config/config.h"

#include <stdlib.h>

#include "base/error.h"
#include "config/config_internal.h"
#include "config/yaml.h"
#include "config_schema.h" /* generated: docs/trilha.schema.json */
#include "schema/schema.h"

enum { SETTING_BYTES_MAX = 1 << 16 };

typedef struct loading {
  const trilha_config_sources *sources;
  trilha_config *config;
  trilha_json_document *schema;
  trilha_schema_scratch *scratch;
  trilha_error *err;
  size_t problems;
} loading;

trilha_text trilha_config_schema(void) {
  return (trilha_text){trilha_config_schema_files[0].data, trilha_config_schema_files[0].size};
}

static void tell(loading *l, const trilha_config_problem *problem) {
  l->problems++;
  if (l->sources->report != NULL) l->sources->report(l->sources->user, problem);
  trilha_buffer text = {0};
  trilha_buffer_add_string(&text, problem->source);
  if (problem->line != 0) trilha_buffer_add_format(&text, ":%u:%u", problem->line, problem->column);
  trilha_buffer_add_string(&text, ": ");
  if (problem->pointer.size != 0)
    trilha_buffer_add_format(&text, "%.*s ", (int)problem->pointer.size, problem->pointer.data);
  trilha_buffer_add_text(&text, problem->text);
  trilha_error_set(l->err, TRILHA_INVALID, "CONFIG_INVALID", "%s", trilha_buffer_text(&text).data);
  trilha_buffer_done(&text);
}

/* --- validation ------------------------------------------------------------------------------------------- */

typedef struct origin_text {
  const char *source;
  trilha_text pointer_before; /* what stands before the pointers of violations */
  const trilha_yaml_map *map; /* NULL: no lines */
} origin_text;

/* A name that the schema does not list is told in words: "false schema" helps nobody. */
static trilha_text text_of(const trilha_violation *v) {
  return trilha_text_is(v->keyword, "additionalProperties") || trilha_text_is(v->keyword, "false schema")
             ? TRILHA_TEXT("is no setting")
             : v->text;
}

static void tell_violation(loading *l, const trilha_json_document *document, const origin_text *o,
                           const trilha_violation *v) {
  trilha_yaml_place place = {0};
  const trilha_json_value *value = trilha_json_pointer_find(document->values, v->instance_pointer);
  /* A collection lies where its first scalar does. */
  while (value != NULL && value->type >= TRILHA_JSON_ARRAY && value->u.extent > 1) value++;
  if (o->map != NULL && value != NULL && value->type < TRILHA_JSON_ARRAY && value->u.text != NULL)
    place = trilha_yaml_map_find(o->map, (size_t)(value->u.text - document->text));
  TRILHA_BUFFER_SCOPED pointer;
  trilha_buffer_init(&pointer, 0);
  trilha_buffer_add_text(&pointer, o->pointer_before);
  trilha_buffer_add_text(&pointer, v->instance_pointer);
  trilha_config_problem problem = {o->source, place.line, place.column, trilha_buffer_text(&pointer), text_of(v)};
  tell(l, &problem);
}

static trilha_status validate(loading *l, const trilha_json_document *rules, const trilha_json_document *document,
                              const origin_text *o) {
  trilha_schema *schema = NULL;
  trilha_schema_options options = {.assert_format = false};
  trilha_status status = trilha_schema_compile(rules, &options, &schema, l->err);
  if (status != TRILHA_OK) return status;
  if (trilha_schema_validate(schema, document, NULL, l->scratch) != TRILHA_VERDICT_VALID) {
    trilha_violations found = {0};
    status = trilha_schema_report(schema, document, NULL, false, l->scratch, &found, l->err);
    for (size_t i = 0; status == TRILHA_OK && i < found.count; i++)
      if (!found.items[i].in_branch) tell_violation(l, document, o, &found.items[i]);
    if (status == TRILHA_OK) status = TRILHA_INVALID;
  }
  trilha_schema_free(schema);
  return status;
}

/* --- values ------------------------------------------------------------------------------------------------ */

static trilha_text scalar_text(const trilha_json_value *value) {
  if (value->type == TRILHA_JSON_TRUE) return TRILHA_TEXT("true");
  if (value->type == TRILHA_JSON_FALSE) return TRILHA_TEXT("false");
  return trilha_json_text(value);
}

/* To JSON Schema 1e3 and 1.0 are integers too; here a number is written with digits. */
static bool is_plain(const trilha_json_value *value) {
  return value->type != TRILHA_JSON_NUMBER || (value->flags & TRILHA_JSON_SMALL) != 0;
}

static trilha_status keep(loading *l, trilha_setting setting, const trilha_json_value *value,
                          trilha_setting_origin origin) {
  if (!is_plain(value)) {
    trilha_config_problem problem = {
        trilha_setting_name(setting), 0, 0, {NULL, 0}, TRILHA_TEXT("must be written with digits alone")};
    tell(l, &problem);
    return TRILHA_INVALID;
  }
  trilha_config_value *kept = &l->config->values[setting];
  *kept = (trilha_config_value){.origin = origin, .is_list = value->type == TRILHA_JSON_ARRAY};
  if (!kept->is_list) {
    trilha_text text = scalar_text(value);
    kept->text = (trilha_text){trilha_arena_copy(&l->config->arena, text), text.size};
    return kept->text.data == NULL ? trilha_error_no_memory(l->err) : TRILHA_OK;
  }
  kept->items = trilha_arena_array(&l->config->arena, value->size + 1, sizeof *kept->items);
  if (kept->items == NULL) return trilha_error_no_memory(l->err);
  const trilha_json_value *item = value + 1;
  for (size_t i = 0; i < value->size; i++, item = trilha_json_next(item)) {
    trilha_text text = scalar_text(item);
    kept->items[i] = (trilha_text){trilha_arena_copy(&l->config->arena, text), text.size};
    if (kept->items[i].data == NULL) return trilha_error_no_memory(l->err);
  }
  kept->count = value->size;
  return TRILHA_OK;
}

static trilha_status take_defaults(loading *l) {
  trilha_status status = TRILHA_OK;
  for (trilha_setting s = 0; status == TRILHA_OK && s < TRILHA_SETTING_COUNT; s++) {
    const trilha_json_value *rules = trilha_setting_schema(l->schema, s);
    const trilha_json_value *value = trilha_json_member(rules, "default");
    if (value != NULL) status = keep(l, s, value, TRILHA_ORIGIN_DEFAULT);
    if (trilha_json_is(trilha_json_member(rules, "type"), "array")) l->config->values[s].is_list = true;
  }
  return status;
}

/* A file that says nothing (only comments) is no mistake. */
static bool says_nothing(trilha_text yaml) {
  for (size_t i = 0; i < yaml.size; i++) {
    char c = yaml.data[i];
    if (c == '#')
      while (i + 1 < yaml.size && yaml.data[i + 1] != '\n') i++;
    else if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
      return false;
  }
  return true;
}

static trilha_status take_sources(loading *l, const trilha_json_value *sources) {
  trilha_error own = {0};
  trilha_status status = trilha_config_take_sources(l->config, l->schema->values, sources, &own);
  if (status != TRILHA_INVALID) return status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(l->err, &own);
  trilha_config_problem problem = {l->sources->path, 0, 0, TRILHA_TEXT("/sources"), trilha_text_of(own.text)};
  tell(l, &problem);
  return status;
}

static trilha_status take_document(loading *l, trilha_text json, const trilha_yaml_map *map) {
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_status status = trilha_json_parse(json, &limits, &document, NULL, l->err);
  if (status != TRILHA_OK) return status;
  origin_text origin = {.source = l->sources->path, .map = map};
  status = validate(l, l->schema, document, &origin);
  for (trilha_setting s = 0; status == TRILHA_OK && s < TRILHA_SETTING_COUNT; s++) {
    const trilha_json_value *value = trilha_setting_find(document->values, s);
    if (value != NULL) status = keep(l, s, value, TRILHA_ORIGIN_FILE);
  }
  if (status == TRILHA_OK) status = take_sources(l, trilha_json_member(document->values, "sources"));
  trilha_json_document_free(document);
  return status;
}

static trilha_status take_file(loading *l) {
  if (l->sources->yaml.data == NULL || says_nothing(l->sources->yaml)) return TRILHA_OK;
  TRILHA_BUFFER_SCOPED json;
  trilha_yaml_map map = {0};
  trilha_buffer_init(&json, TRILHA_YAML_JSON_BYTES_MAX);
  trilha_error own = {0};
  trilha_status status = trilha_yaml_to_json(l->sources->yaml, &json, &map, &own);
  if (status == TRILHA_OK) {
    status = take_document(l, trilha_buffer_text(&json), &map);
  } else {
    trilha_config_problem problem = {l->sources->path, 0, 0, {NULL, 0}, trilha_text_of(own.text)};
    trilha_error_copy(l->err, &own);
    tell(l, &problem);
  }
  trilha_yaml_map_done(&map);
  return status;
}

/* --- the environment and flags: one text for each setting ---------------------------------------------------- */

static bool is_whole(const char *text) {
  const char *digits = *text == '-' ? text + 1 : text;
  size_t size = strspn(digits, "0123456789");
  return size > 0 && size < 19 && digits[size] == '\0' && (digits[0] != '0' || size == 1);
}

/* A list is written with commas. What is no number where one is wanted becomes a string, which the schema refuses. */
static void write_value(trilha_buffer *out, const char *text, trilha_text type) {
  bool is_boolean = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
  if ((trilha_text_is(type, "integer") && is_whole(text)) || (trilha_text_is(type, "boolean") && is_boolean)) {
    trilha_buffer_add_string(out, text);
  } else if (!trilha_text_is(type, "array")) {
    trilha_json_write_string(out, trilha_text_of(text));
  } else {
    trilha_buffer_add_char(out, '[');
    for (bool first = true; *text != '\0'; first = false) {
      size_t size = strcspn(text, ",");
      trilha_text word = {text, size};
      while (word.size > 0 && word.data[0] == ' ') word = (trilha_text){word.data + 1, word.size - 1};
      while (word.size > 0 && word.data[word.size - 1] == ' ') word.size--;
      if (!first) trilha_buffer_add_char(out, ',');
      trilha_json_write_string(out, word);
      text += size;
      if (*text == ',') text++;
    }
    trilha_buffer_add_char(out, ']');
  }
}

static trilha_status take_text(loading *l, trilha_setting setting, const char *text, const char *source,
                               trilha_setting_origin origin) {
  const trilha_json_value *rules = trilha_setting_schema(l->schema, setting);
  trilha_json_document *own_rules = NULL, *document = NULL;
  TRILHA_BUFFER_SCOPED json, rules_json;
  trilha_buffer_init(&json, SETTING_BYTES_MAX);
  trilha_buffer_init(&rules_json, 0);
  origin_text where = {.source = source};
  if (!trilha_utf8_valid(text, strlen(text))) {
    trilha_config_problem problem = {source, 0, 0, {NULL, 0}, TRILHA_TEXT("is not UTF-8")};
    tell(l, &problem);
    return TRILHA_INVALID;
  }
  write_value(&json, text, trilha_json_member_string(rules, "type"));
  trilha_json_write(&rules_json, rules);
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_status status = trilha_buffer_check(&json, l->err);
  if (status == TRILHA_OK)
    status = trilha_json_parse(trilha_buffer_text(&rules_json), &limits, &own_rules, NULL, l->err);
  if (status == TRILHA_OK) status = trilha_json_parse(trilha_buffer_text(&json), &limits, &document, NULL, l->err);
  if (status == TRILHA_OK) status = validate(l, own_rules, document, &where);
  if (status == TRILHA_OK) status = keep(l, setting, document->values, origin);
  trilha_json_document_free(document);
  trilha_json_document_free(own_rules);
  return status;
}

/* The setting's own variable, else the shared one; an empty one is as good as none. */
static const char *variable_of(const trilha_config_sources *sources, trilha_setting s, const char **ret_source) {
  const char *names[] = {trilha_settings[s].variable, trilha_settings[s].shared}, *part = sources->part;
  size_t size = part == NULL ? 0 : strlen(part);
  if (sources->environment == NULL) return NULL;
  if (part != NULL && (strncmp(trilha_settings[s].name, part, size) != 0 || trilha_settings[s].name[size] != '.'))
    return NULL;
  for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
    const char *text = sources->environment(names[i]);
    *ret_source = names[i];
    if (text != NULL && text[0] != '\0') return text;
  }
  return NULL;
}

/* Every setting is looked at, so that all problems are told at once. */
static trilha_status take_texts(loading *l, trilha_setting_origin origin) {
  trilha_status worst = TRILHA_OK;
  for (trilha_setting s = 0; s < TRILHA_SETTING_COUNT; s++) {
    const char *source = trilha_setting_name(s);
    const char *text = origin == TRILHA_ORIGIN_FLAG ? l->sources->flags[s] : variable_of(l->sources, s, &source);
    if (text == NULL) continue;
    trilha_status status = take_text(l, s, text, source, origin);
    if (status == TRILHA_NO_MEMORY) return status;
    if (status != TRILHA_OK) worst = status;
  }
  return worst;
}

static trilha_status load(loading *l) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_status status = trilha_json_parse(trilha_config_schema(), &limits, &l->schema, NULL, l->err);
  if (status == TRILHA_OK) status = trilha_schema_scratch_new(&l->scratch, l->err);
  if (status == TRILHA_OK) status = take_defaults(l);
  if (status != TRILHA_OK) return status;
  trilha_status file = take_file(l);
  if (file != TRILHA_OK && file != TRILHA_INVALID) return file;
  trilha_status environment = take_texts(l, TRILHA_ORIGIN_ENVIRONMENT);
  if (environment == TRILHA_NO_MEMORY) return environment;
  trilha_status flags = take_texts(l, TRILHA_ORIGIN_FLAG);
  return file != TRILHA_OK ? file : environment != TRILHA_OK ? environment : flags;
}

trilha_status trilha_config_load(const trilha_config_sources *sources, trilha_config **ret_config, trilha_error *err) {
  trilha_error own = {0};
  loading l = {.sources = sources, .err = err == NULL ? &own : err, .config = calloc(1, sizeof *l.config)};
  if (l.config == NULL) return trilha_error_no_memory(err);
  trilha_status status = load(&l);
  trilha_schema_scratch_free(l.scratch);
  trilha_json_document_free(l.schema);
  if (status == TRILHA_OK)
    *ret_config = l.config;
  else
    trilha_config_free(l.config);
  return status;
}

void trilha_config_free(trilha_config *config) {
  if (config == NULL) return;
  trilha_arena_done(&config->arena);
  free(config);
}

/* --- reading ------------------------------------------------------------------------------------------------- */

trilha_text trilha_config_text(const trilha_config *config, trilha_setting setting) {
  return config->values[setting].text;
}

int64_t trilha_config_number(const trilha_config *config, trilha_setting setting) {
  trilha_text text = config->values[setting].text;
  int64_t number = 0;
  bool negative = text.size > 0 && text.data[0] == '-';
  /* The schema bounded it and asked for an integer, which JSON Schema also sees in 1.0: only digits count. */
  for (size_t i = negative ? 1 : 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++)
    number = number * 10 + (text.data[i] - '0');
  return negative ? -number : number;
}

const trilha_text *trilha_config_list(const trilha_config *config, trilha_setting setting, size_t *ret_count) {
  *ret_count = config->values[setting].count;
  return config->values[setting].items;
}

trilha_setting_origin trilha_config_origin(const trilha_config *config, trilha_setting setting) {
  return config->values[setting].origin;
}

/* user:password@ and every parameter of a URL: too much hidden rather than too little. */
void trilha_config_show_url(trilha_text url, trilha_buffer *out) {
  size_t scheme = 0, at = 0, colon = 0, question = url.size;
  for (size_t i = 0; i + 2 < url.size && scheme == 0; i++)
    if (memcmp(url.data + i, "://", 3) == 0) scheme = i + 3;
  for (size_t i = scheme; scheme != 0 && i < url.size; i++) {
    if (url.data[i] == '@') at = i;
    if (url.data[i] == ':' && colon == 0) colon = i;
    if (url.data[i] == '?' && question == url.size) question = i;
  }
  bool hides = at != 0 && colon != 0 && colon < at;
  if (at > question) question = url.size; /* the mark belongs to the password, which is hidden whole */
  trilha_buffer_append(out, url.data, hides ? colon + 1 : question);
  if (hides) {
    trilha_buffer_add_string(out, "****");
    trilha_buffer_append(out, url.data + at, question - at);
  }
  if (scheme != 0 && question != url.size) trilha_buffer_add_string(out, "?****");
  if (scheme == 0 && question != url.size) trilha_buffer_append(out, url.data + question, url.size - question);
}

void trilha_config_show(const trilha_config *config, trilha_setting setting, trilha_buffer *out) {
  const trilha_config_value *value = &config->values[setting];
  if (setting == TRILHA_SETTING_STORE || setting == TRILHA_SETTING_OTLP_ENDPOINT) {
    trilha_config_show_url(value->text, out);
    return;
  }
  if (setting == TRILHA_SETTING_OTLP_HEADERS) {
    if (value->text.data != NULL) trilha_buffer_add_string(out, "****");
    return;
  }
  if (!value->is_list) {
    trilha_buffer_add_text(out, value->text);
    return;
  }
  for (size_t i = 0; i < value->count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    trilha_buffer_add_text(out, value->items[i]);
  }
}
