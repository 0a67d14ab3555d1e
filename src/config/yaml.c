/* config: from the events of libfyaml to JSON text. A flat loop over events with one frame a collection; an anchor
 * remembers which run of the output its node became, an alias copies that run, and the bound on the output is the bound
 * on what aliases can grow to. */
#include "config/yaml.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "config/late_fyaml.h"
#include "config/yaml_internal.h"
#include "json/json.h"

#define TAG_PREFIX "tag:yaml.org,2002:"

typedef struct frame {
  bool mapping, after_key;
  uint32_t items;   /* begun so far */
  size_t path_size; /* of the pointer to the collection */
  size_t anchor;    /* 1 + index of its anchor, 0 for none */
  uint64_t serial;  /* tells its keys from those of others */
} frame;

typedef struct anchor {
  size_t name, name_size; /* in names */
  size_t start, end;      /* in the output; end 0 while its node is open */
} anchor;

typedef struct key {
  uint64_t hash, serial; /* serial 0: an empty place */
  size_t name, name_size;
} key;

typedef struct conversion {
  trilha_buffer *out;
  size_t out_start;
  trilha_yaml_map *map;
  trilha_error *err;
  trilha_buffer path;  /* JSON Pointer of the current node */
  trilha_buffer names; /* texts of keys and anchors */
  frame frames[TRILHA_YAML_DEPTH_MAX];
  size_t depth;
  anchor *anchors;
  size_t anchor_count;
  key *keys; /* open addressing, capacity a power of two */
  size_t key_count, key_capacity;
  uint64_t seed, serials;
  uint32_t line, column; /* of the event at hand, from 1 */
  unsigned documents;
  bool ended;
} conversion;

/* --- errors ------------------------------------------------------------------------------------------------ */

static trilha_status refuse(conversion *c, trilha_status status, const char *code, const char *why) {
  const char *pointer = c->path.size == 0 ? "" : c->path.data;
  return trilha_error_set(c->err, status, code, "line %u, column %u%s%s%s: %s", c->line, c->column,
                          c->path.size == 0 ? "" : ", at \"", pointer, c->path.size == 0 ? "" : "\"", why);
}

static trilha_status invalid(conversion *c, const char *code, const char *why) {
  return refuse(c, TRILHA_INVALID, code, why);
}

static trilha_status check_size(conversion *c) {
  if (c->out->failed == TRILHA_LIMIT || c->out->size - c->out_start > TRILHA_YAML_JSON_BYTES_MAX)
    return refuse(c, TRILHA_LIMIT, "YAML_SIZE", "with its aliases expanded the document is larger than 8 MiB of JSON");
  if (c->out->failed != TRILHA_OK || c->path.failed != TRILHA_OK || c->names.failed != TRILHA_OK)
    return trilha_error_no_memory(c->err);
  return TRILHA_OK;
}

/* --- places -------------------------------------------------------------------------------------------------- */

static trilha_status note_place(conversion *c) {
  trilha_yaml_map *map = c->map;
  if (map == NULL) return TRILHA_OK;
  if (map->count == map->capacity) {
    size_t capacity = map->capacity == 0 ? 64 : 2 * map->capacity;
    trilha_yaml_place *places = realloc(map->places, capacity * sizeof *places);
    if (places == NULL) return trilha_error_no_memory(c->err);
    map->places = places;
    map->capacity = capacity;
  }
  map->places[map->count++] = (trilha_yaml_place){c->out->size - c->out_start, c->line, c->column};
  return TRILHA_OK;
}

void trilha_yaml_map_done(trilha_yaml_map *map) {
  free(map->places);
  *map = (trilha_yaml_map){0};
}

trilha_yaml_place trilha_yaml_map_find(const trilha_yaml_map *map, size_t offset) {
  size_t low = 0, high = map->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (map->places[middle].offset <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? (trilha_yaml_place){0} : map->places[low - 1];
}

/* --- keys ---------------------------------------------------------------------------------------------------- */

static trilha_status grow_keys(conversion *c) {
  if (2 * (c->key_count + 1) <= c->key_capacity) return TRILHA_OK;
  size_t capacity = c->key_capacity == 0 ? 128 : 2 * c->key_capacity;
  key *keys = calloc(capacity, sizeof *keys);
  if (keys == NULL) return trilha_error_no_memory(c->err);
  for (size_t i = 0; i < c->key_capacity; i++) {
    if (c->keys[i].serial == 0) continue;
    size_t at = c->keys[i].hash & (capacity - 1);
    while (keys[at].serial != 0) at = (at + 1) & (capacity - 1);
    keys[at] = c->keys[i];
  }
  free(c->keys);
  c->keys = keys;
  c->key_capacity = capacity;
  return TRILHA_OK;
}

static trilha_status remember_key(conversion *c, trilha_text name) {
  trilha_status status = grow_keys(c);
  if (status != TRILHA_OK) return status;
  uint64_t serial = c->frames[c->depth - 1].serial;
  uint64_t hash = trilha_hash_bytes(name.data, name.size, c->seed ^ serial);
  size_t at = hash & (c->key_capacity - 1);
  for (; c->keys[at].serial != 0; at = (at + 1) & (c->key_capacity - 1)) {
    const key *k = &c->keys[at];
    if (k->hash == hash && k->serial == serial &&
        trilha_text_equal((trilha_text){c->names.data + k->name, k->name_size}, name))
      return invalid(c, "YAML_DUPLICATE_KEY", "this key stands twice in its mapping");
  }
  c->keys[at] = (key){hash, serial, c->names.size, name.size};
  c->key_count++;
  trilha_buffer_add_text(&c->names, name);
  return TRILHA_OK;
}

static trilha_status write_key(conversion *c, trilha_text text, bool plain) {
  frame *f = &c->frames[c->depth - 1];
  c->path.size = f->path_size;
  trilha_buffer_add_char(&c->path, '/');
  trilha_json_pointer_add(&c->path, text);
  if (plain && text.size == 0) return invalid(c, "YAML_KEY", "a key is missing");
  if (plain && trilha_text_is(text, "<<"))
    return invalid(c, "YAML_KEY", "merge keys are no part of YAML 1.2: write the fields out");
  trilha_status status = remember_key(c, text);
  if (status != TRILHA_OK) return status;
  if (f->items++ != 0) trilha_buffer_add_char(c->out, ',');
  trilha_json_write_string(c->out, text);
  trilha_buffer_add_char(c->out, ':');
  f->after_key = true;
  return check_size(c);
}

/* --- nodes --------------------------------------------------------------------------------------------------- */

static bool at_key(const conversion *c) {
  return c->depth != 0 && c->frames[c->depth - 1].mapping && !c->frames[c->depth - 1].after_key;
}

/* A value begins: its comma and its pointer. */
static trilha_status begin_value(conversion *c) {
  if (c->depth != 0) {
    frame *f = &c->frames[c->depth - 1];
    if (f->mapping) {
      f->after_key = false;
    } else {
      c->path.size = f->path_size;
      trilha_buffer_add_char(&c->path, '/');
      trilha_buffer_add_u64(&c->path, f->items);
      if (f->items++ != 0) trilha_buffer_add_char(c->out, ',');
    }
  }
  return note_place(c);
}

/* A token's text; absent for no token. */
static trilha_text text_of(struct fy_token *token) {
  if (token == NULL) return (trilha_text){NULL, 0};
  size_t size = 0;
  const char *data = fy_token_get_text(token, &size);
  return (trilha_text){data == NULL ? "" : data, data == NULL ? 0 : size};
}

static trilha_status add_anchor(conversion *c, struct fy_token *token, size_t *ret_number) {
  *ret_number = 0;
  if (token == NULL) return TRILHA_OK;
  if (c->anchor_count == TRILHA_YAML_ANCHORS_MAX)
    return refuse(c, TRILHA_LIMIT, "YAML_ANCHORS", "more than 1,000 anchors");
  if (c->anchors == NULL) c->anchors = calloc(TRILHA_YAML_ANCHORS_MAX, sizeof *c->anchors);
  if (c->anchors == NULL) return trilha_error_no_memory(c->err);
  trilha_text name = text_of(token);
  c->anchors[c->anchor_count++] = (anchor){c->names.size, name.size, c->out->size, 0};
  trilha_buffer_add_text(&c->names, name);
  *ret_number = c->anchor_count;
  return TRILHA_OK;
}

static void end_anchor(conversion *c, size_t number) {
  if (number != 0) c->anchors[number - 1].end = c->out->size;
}

/* The kind that tag and spelling agree on; false: they do not, or JSON has none. */
static bool kind_under_tag(trilha_text tag, trilha_text text, bool plain, trilha_yaml_kind *ret_kind) {
  trilha_yaml_kind kind = trilha_yaml_kind_of(text);
  if (tag.data == NULL) {
    *ret_kind = plain ? kind : TRILHA_YAML_STRING;
    return true;
  }
  *ret_kind = TRILHA_YAML_STRING;
  if (trilha_text_is(tag, "!") || trilha_text_is(tag, TAG_PREFIX "str")) return true;
  *ret_kind = kind;
  if (trilha_text_is(tag, TAG_PREFIX "null")) return kind == TRILHA_YAML_NULL;
  if (trilha_text_is(tag, TAG_PREFIX "bool")) return kind == TRILHA_YAML_BOOLEAN;
  if (trilha_text_is(tag, TAG_PREFIX "int")) return kind == TRILHA_YAML_INTEGER;
  if (trilha_text_is(tag, TAG_PREFIX "float"))
    return kind == TRILHA_YAML_INTEGER || kind == TRILHA_YAML_FLOAT || kind == TRILHA_YAML_NO_JSON;
  return false;
}

static trilha_status write_scalar(conversion *c, trilha_text text, trilha_yaml_kind kind) {
  if (kind == TRILHA_YAML_NO_JSON) return invalid(c, "YAML_NUMBER", "JSON has no infinity and no NaN");
  if (kind == TRILHA_YAML_STRING)
    trilha_json_write_string(c->out, text);
  else if (!trilha_yaml_write_plain(c->out, text, kind))
    return invalid(c, "YAML_NUMBER", "a hexadecimal or octal number has at most 64 bits");
  return check_size(c);
}

static trilha_status take_scalar(conversion *c, struct fy_event *event) {
  trilha_text text = text_of(event->scalar.value), tag = text_of(event->scalar.tag);
  bool plain = fy_token_scalar_style(event->scalar.value) == FYSS_PLAIN;
  if (!trilha_utf8_valid(text.data, text.size)) return invalid(c, "YAML_UTF8", "an escape makes what is not UTF-8");
  size_t number = 0;
  if (at_key(c)) {
    if (event->scalar.anchor != NULL) return invalid(c, "YAML_KEY", "a key has no anchor here");
    if (tag.data != NULL && !trilha_text_is(tag, TAG_PREFIX "str")) return invalid(c, "YAML_TAG", "a key is a string");
    return write_key(c, text, plain && tag.data == NULL);
  }
  trilha_status status = begin_value(c);
  if (status == TRILHA_OK) status = add_anchor(c, event->scalar.anchor, &number);
  if (status != TRILHA_OK) return status;
  trilha_yaml_kind kind;
  if (!kind_under_tag(tag, text, plain, &kind))
    return invalid(c, "YAML_TAG", "this tag is not of the core schema, or the value is not of its kind");
  status = write_scalar(c, text, kind);
  end_anchor(c, number);
  return status;
}

static trilha_status take_alias(conversion *c, struct fy_event *event) {
  if (at_key(c)) return invalid(c, "YAML_KEY", "a key is a scalar, written out");
  trilha_status status = begin_value(c);
  if (status != TRILHA_OK) return status;
  trilha_text name = text_of(event->alias.anchor);
  size_t i = c->anchor_count;
  while (i != 0 &&
         !trilha_text_equal((trilha_text){c->names.data + c->anchors[i - 1].name, c->anchors[i - 1].name_size}, name))
    i--;
  if (i == 0) return invalid(c, "YAML_ALIAS", "this alias names no anchor before it");
  const anchor *a = &c->anchors[i - 1];
  if (a->end == 0) return invalid(c, "YAML_ALIAS", "this alias stands inside the node it names");
  size_t size = a->end - a->start;
  /* Room first: the run that is copied lies in the buffer that may move. */
  if (c->out->size - c->out_start + size <= TRILHA_YAML_JSON_BYTES_MAX && trilha_buffer_reserve(c->out, size))
    trilha_buffer_append(c->out, c->out->data + a->start, size);
  else if (c->out->failed == TRILHA_OK)
    c->out->failed = TRILHA_LIMIT;
  return check_size(c);
}

static trilha_status open_collection(conversion *c, bool mapping, struct fy_token *anchor_token,
                                     struct fy_token *tag_token) {
  trilha_text tag = text_of(tag_token);
  if (at_key(c)) return invalid(c, "YAML_KEY", "a key is a scalar");
  trilha_status status = begin_value(c);
  size_t number = 0;
  if (status == TRILHA_OK) status = add_anchor(c, anchor_token, &number);
  if (status != TRILHA_OK) return status;
  if (tag.data != NULL && !trilha_text_is(tag, mapping ? TAG_PREFIX "map" : TAG_PREFIX "seq"))
    return invalid(c, "YAML_TAG", "this tag is not of the core schema");
  if (c->depth == TRILHA_YAML_DEPTH_MAX)
    return refuse(c, TRILHA_LIMIT, "YAML_DEPTH", "more than 255 nested collections");
  c->frames[c->depth++] =
      (frame){.mapping = mapping, .path_size = c->path.size, .anchor = number, .serial = ++c->serials};
  trilha_buffer_add_char(c->out, mapping ? '{' : '[');
  return check_size(c);
}

static trilha_status close_collection(conversion *c) {
  const frame *f = &c->frames[--c->depth];
  c->path.size = f->path_size;
  trilha_buffer_add_char(c->out, f->mapping ? '}' : ']');
  end_anchor(c, f->anchor);
  return check_size(c);
}

/* libfyaml marks a quoted scalar behind its quote. */
static bool marked_behind_quote(const struct fy_event *event) {
  if (event->type != FYET_SCALAR) return false;
  enum fy_scalar_style style = fy_token_scalar_style(event->scalar.value);
  return style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
}

/* --- the loop -------------------------------------------------------------------------------------------------- */

static trilha_status take_event(conversion *c, struct fy_event *event) {
  const struct fy_mark *mark = fy_event_start_mark(event);
  if (mark != NULL) {
    c->line = (uint32_t)mark->line + 1;
    c->column = (uint32_t)mark->column + (marked_behind_quote(event) && mark->column > 0 ? 0 : 1);
  }
  switch (event->type) {
    case FYET_STREAM_END:
      c->ended = true;
      return TRILHA_OK;
    case FYET_DOCUMENT_START:
      return c->documents++ == 0 ? TRILHA_OK : invalid(c, "YAML_DOCUMENTS", "more than one document in this file");
    case FYET_SCALAR:
      return take_scalar(c, event);
    case FYET_ALIAS:
      return take_alias(c, event);
    case FYET_MAPPING_START:
      return open_collection(c, true, event->mapping_start.anchor, event->mapping_start.tag);
    case FYET_SEQUENCE_START:
      return open_collection(c, false, event->sequence_start.anchor, event->sequence_start.tag);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
      return close_collection(c);
    default:
      return TRILHA_OK;
  }
}

/* Some messages of libfyaml pass by its collected errors, to standard error unless told otherwise. */
static void drop(struct fy_diag *diag, void *user, const char *text, size_t size) {}

static struct fy_diag *silent_diag(void) {
  struct fy_diag_cfg cfg;
  fy_diag_cfg_default(&cfg);
  cfg.fp = NULL;
  cfg.output_fn = drop;
  struct fy_diag *diag = fy_diag_create(&cfg);
  if (diag != NULL) fy_diag_set_collect_errors(diag, true);
  return diag;
}

/* libfyaml's messages may quote the input; only those that are plain words of its own are passed on. */
static trilha_status syntax_error(conversion *c, struct fy_diag *diag) {
  void *iterator = NULL;
  const struct fy_diag_error *e = fy_diag_errors_iterate(diag, &iterator);
  c->path.size = 0;
  if (e == NULL) return invalid(c, "YAML_SYNTAX", "this is not YAML");
  c->line = (uint32_t)e->line;
  c->column = (uint32_t)e->column;
  bool quotes = e->msg == NULL || strpbrk(e->msg, "'\"`") != NULL;
  return invalid(c, "YAML_SYNTAX", quotes ? "this is not YAML" : e->msg);
}

static trilha_status convert(conversion *c, trilha_text yaml, struct fy_diag *diag) {
  const struct fy_parse_cfg cfg = {
      .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE | FYPCF_DEFAULT_VERSION_1_2, .diag = diag};
  struct fy_parser *parser = fy_parser_create(&cfg);
  if (parser == NULL || fy_parser_set_string(parser, yaml.data, yaml.size) != 0) {
    fy_parser_destroy(parser);
    return trilha_error_no_memory(c->err);
  }
  trilha_status status = TRILHA_OK;
  struct fy_event *event;
  while (status == TRILHA_OK && (event = fy_parser_parse(parser)) != NULL) {
    status = take_event(c, event);
    fy_parser_event_free(parser, event);
  }
  if (status == TRILHA_OK && !c->ended) status = syntax_error(c, diag);
  if (status == TRILHA_OK && c->documents == 0)
    status = trilha_error_set(c->err, TRILHA_INVALID, "YAML_EMPTY", "there is no document in this file");
  fy_parser_destroy(parser);
  return status;
}

/* What the reader would take in silence: invalid UTF-8, and control characters that YAML does not allow. */
static trilha_status check_bytes(conversion *c, trilha_text yaml) {
  if (yaml.size > TRILHA_YAML_BYTES_MAX)
    return trilha_error_set(c->err, TRILHA_LIMIT, "YAML_SIZE", "a YAML file has at most 4 MiB");
  if (!trilha_utf8_valid(yaml.data, yaml.size))
    return trilha_error_set(c->err, TRILHA_INVALID, "YAML_UTF8", "the file is not UTF-8");
  c->line = c->column = 1;
  for (size_t i = 0; i < yaml.size; i++) {
    unsigned char b = (unsigned char)yaml.data[i];
    if ((b < 0x20 && b != '\t' && b != '\n' && b != '\r') || b == 0x7F)
      return invalid(c, "YAML_SYNTAX", "YAML allows no control characters");
    c->column += (b & 0xC0) != 0x80;
    if (b == '\n') c->line++, c->column = 1;
  }
  return TRILHA_OK;
}

static trilha_status read_with_library(conversion *c, trilha_text yaml) {
  trilha_status status = trilha_fyaml_begin(c->err);
  if (status != TRILHA_OK) return status;
  struct fy_diag *diag = silent_diag();
  status = diag == NULL ? trilha_error_no_memory(c->err) : convert(c, yaml, diag);
  if (diag != NULL) fy_diag_destroy(diag);
  trilha_fyaml_end();
  return status;
}

trilha_status trilha_yaml_to_json(trilha_text yaml, trilha_buffer *out, trilha_yaml_map *map, trilha_error *err) {
  if (yaml.size >= 3 && memcmp(yaml.data, "\xEF\xBB\xBF", 3) == 0) yaml.data += 3, yaml.size -= 3;
  conversion *c = calloc(1, sizeof *c);
  if (c == NULL) return trilha_error_no_memory(err);
  c->out = out;
  c->out_start = out->size;
  c->map = map;
  c->err = err;
  trilha_status status =
      trilha_random_bytes(&c->seed, sizeof c->seed) ? check_bytes(c, yaml) : trilha_error_no_memory(err);
  if (status == TRILHA_OK) status = read_with_library(c, yaml);
  trilha_buffer_done(&c->path);
  trilha_buffer_done(&c->names);
  free(c->anchors);
  free(c->keys);
  free(c);
  return status;
}
