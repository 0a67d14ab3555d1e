/* cli/registry_files: type versions read from files and folders. */
#include "cli/registry_files.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "config/yaml.h"
#include "json/json.h"

static const char *const member_names[] = {"tipo", "versao", "descricao", "status", "schema"};
enum { MEMBERS = sizeof member_names / sizeof member_names[0], SCHEMA = MEMBERS - 1 };

static const char *nth_member(const void *user, size_t i) {
  (void)user;
  return i < MEMBERS ? member_names[i] : NULL;
}

static bool ends_with(const char *path, const char *ending) {
  size_t size = strlen(path), n = strlen(ending);
  return size > n && strcmp(path + size - n, ending) == 0;
}

static bool is_yaml(const char *path) {
  return ends_with(path, ".yaml") || ends_with(path, ".yml");
}

static trilha_type_version *grow(trilha_cli_type_files *files, const char *path, trilha_error *error) {
  if (files->count == files->capacity) {
    size_t capacity = files->capacity == 0 ? 16 : files->capacity * 2;
    trilha_type_version *versions = trilha_arena_array(&files->arena, capacity, sizeof *versions);
    const char **paths = trilha_arena_array(&files->arena, capacity, sizeof *paths);
    if (versions == NULL || paths == NULL) {
      trilha_error_no_memory(error);
      return NULL;
    }
    if (files->count > 0) {
      memcpy(versions, files->versions, files->count * sizeof *versions);
      memcpy(paths, files->paths, files->count * sizeof *paths);
    }
    files->versions = versions;
    files->paths = paths;
    files->capacity = capacity;
  }
  files->paths[files->count] = trilha_arena_copy(&files->arena, trilha_text_of(path));
  if (files->paths[files->count] == NULL) trilha_error_no_memory(error);
  return files->paths[files->count] == NULL ? NULL : &files->versions[files->count++];
}

/* A lasting copy of the member's text; the schema's text is written compactly, its numbers as they were spelled. */
static trilha_status keep(trilha_cli_type_files *files, size_t which, const trilha_json_value *value,
                          trilha_text *ret_text, trilha_error *error) {
  TRILHA_BUFFER_SCOPED json;
  trilha_buffer_init(&json, 0);
  trilha_text text;
  if (which == SCHEMA) {
    trilha_json_write(&json, value);
    if (trilha_buffer_check(&json, error) != TRILHA_OK) return error->status;
    text = trilha_buffer_text(&json);
  } else if (value->type == TRILHA_JSON_STRING) {
    text = trilha_json_text(value);
  } else {
    return trilha_error_set(error, TRILHA_INVALID, "TYPE_MEMBER", "\"%s\" must be a string%s", member_names[which],
                            strcmp(member_names[which], "versao") == 0 ? " (in YAML: quote it)" : "");
  }
  const char *copy = trilha_arena_copy(&files->arena, text);
  if (copy == NULL) return trilha_error_no_memory(error);
  *ret_text = (trilha_text){copy, text.size};
  return TRILHA_OK;
}

static trilha_status unknown(const trilha_json_value *key, trilha_error *error) {
  char *name = strndup(key->u.text, key->size < 64 ? key->size : 64);
  const char *near = name == NULL ? NULL : trilha_cli_nearest(name, nth_member, NULL);
  trilha_error_set(error, TRILHA_INVALID, "TYPE_MEMBER", "unknown member \"%s\"%s%s%s", name == NULL ? "?" : name,
                   near == NULL ? "; a type version has tipo, versao, descricao, status, schema" : "; did you mean \"",
                   near == NULL ? "" : near, near == NULL ? "" : "\"?");
  free(name);
  return TRILHA_INVALID;
}

static trilha_status take_version(trilha_cli_type_files *files, const char *path, const trilha_json_value *root,
                                  trilha_error *error) {
  trilha_text texts[MEMBERS] = {{NULL, 0}};
  if (root->type != TRILHA_JSON_OBJECT) {
    return trilha_error_set(error, TRILHA_INVALID, "TYPE_FILE", "a type version must be an object");
  }
  const trilha_json_value *end = root + root->u.extent;
  for (const trilha_json_value *key = root + 1; key < end; key = trilha_json_next(key + 1)) {
    size_t which = 0;
    while (which < MEMBERS && !trilha_json_is(key, member_names[which])) which++;
    if (which == MEMBERS) return unknown(key, error);
    if (texts[which].data != NULL) {
      return trilha_error_set(error, TRILHA_INVALID, "JSON_DUPLICATE_KEY", "\"%s\" appears twice", member_names[which]);
    }
    trilha_status status = keep(files, which, key + 1, &texts[which], error);
    if (status != TRILHA_OK) return status;
  }
  if (texts[0].data == NULL || texts[1].data == NULL) {
    return trilha_error_set(error, TRILHA_INVALID, "TYPE_MEMBER", "\"%s\" is missing",
                            member_names[texts[0].data == NULL ? 0 : 1]);
  }
  trilha_type_version *version = grow(files, path, error);
  if (version == NULL) return TRILHA_NO_MEMORY;
  *version = (trilha_type_version){
      .tipo = texts[0], .versao = texts[1], .descricao = texts[2], .status = texts[3], .schema = texts[SCHEMA]};
  return TRILHA_OK;
}

static trilha_status take_document(trilha_cli_type_files *files, const char *path, const trilha_json_document *document,
                                   trilha_error *error) {
  const trilha_json_value *root = document->values;
  if (root->type != TRILHA_JSON_ARRAY) return take_version(files, path, root, error);
  const trilha_json_value *item = root + 1;
  for (uint32_t i = 0; i < root->size; i++, item = trilha_json_next(item)) {
    trilha_status status = take_version(files, path, item, error);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

/* `map` is NULL unless the JSON text came from YAML: then faults are told by the place in that. */
static trilha_status take_json(trilha_cli_type_files *files, const char *path, trilha_text json,
                               const trilha_yaml_map *map, trilha_error *error) {
  trilha_json_document *document = NULL;
  trilha_json_fault fault = {0};
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_error own = {0};
  trilha_status status = trilha_json_parse(json, &limits, &document, &fault, &own);
  if (status == TRILHA_OK) status = trilha_json_check_storable(document, json, &fault, &own);
  if (status == TRILHA_OK) status = take_document(files, path, document, &own);
  trilha_json_document_free(document);
  if (status == TRILHA_OK) return TRILHA_OK;
  if (fault.line > 0 && map != NULL) {
    trilha_yaml_place place = trilha_yaml_map_find(map, fault.offset);
    fault.line = place.line;
    fault.column = place.column;
  }
  if (fault.line > 0) {
    bool placed = fault.pointer[0] != '\0';
    return trilha_error_set(error, status, own.code, "%s, line %u, column %u%s%s%s: %s", path, fault.line, fault.column,
                            placed ? ", at \"" : "", fault.pointer, placed ? "\"" : "", fault.text);
  }
  return trilha_error_set(error, status, own.code, "%s: %s", path, own.text);
}

static trilha_status take_yaml(trilha_cli_type_files *files, const char *path, trilha_text yaml, trilha_error *error) {
  TRILHA_BUFFER_SCOPED json;
  trilha_buffer_init(&json, 0);
  trilha_yaml_map map = {0};
  trilha_error own = {0};
  trilha_status status = trilha_yaml_to_json(yaml, &json, &map, &own);
  status = status == TRILHA_OK ? take_json(files, path, trilha_buffer_text(&json), &map, error)
                               : trilha_error_set(error, status, own.code, "%s, %s", path, own.text);
  trilha_yaml_map_done(&map);
  return status;
}

trilha_status trilha_cli_type_files_take(trilha_cli_type_files *files, const char *path, trilha_text json,
                                         trilha_error *error) {
  return take_json(files, path, json, NULL, error);
}

static trilha_status read_one(const char *path, trilha_cli_type_files *files, trilha_error *error) {
  TRILHA_BUFFER_SCOPED text;
  trilha_status status = trilha_cli_read_file(path, TRILHA_CLI_TYPE_FILE_BYTES_MAX, &text, error);
  if (status != TRILHA_OK) return status;
  if (is_yaml(path)) return take_yaml(files, path, trilha_buffer_text(&text), error);
  return trilha_cli_type_files_take(files, path, trilha_buffer_text(&text), error);
}

static int by_name(const FTSENT **a, const FTSENT **b) {
  return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_type_file(const FTSENT *entry) {
  return entry->fts_name[0] != '.' && (ends_with(entry->fts_name, ".json") || is_yaml(entry->fts_name));
}

static trilha_status read_folder(const char *path, trilha_cli_type_files *files, trilha_error *error) {
  char *name = strdup(path), *roots[] = {name, NULL};
  size_t before = files->count, seen = 0;
  trilha_status status = TRILHA_OK;
  FTS *walk = name == NULL ? NULL : fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
  for (FTSENT *entry; walk != NULL && status == TRILHA_OK && (entry = fts_read(walk)) != NULL;) {
    if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) {
      status =
          trilha_error_set_errno(error, TRILHA_IO, "FILE_READ", entry->fts_errno, "cannot read %s", entry->fts_path);
    } else if (entry->fts_info == FTS_F && is_type_file(entry)) {
      status = ++seen > TRILHA_CLI_TYPE_FILES_MAX
                   ? trilha_error_set(error, TRILHA_LIMIT, "TYPE_FILES", "more than %d files below %s",
                                      TRILHA_CLI_TYPE_FILES_MAX, path)
                   : read_one(entry->fts_accpath, files, error);
    }
  }
  if (walk == NULL) status = trilha_error_no_memory(error);
  if (walk != NULL) fts_close(walk);
  free(name);
  if (status == TRILHA_OK && files->count == before) {
    status = trilha_error_set(error, TRILHA_NOT_FOUND, "TYPE_FILES", "no .json, .yaml or .yml file below %s", path);
  }
  return status;
}

trilha_status trilha_cli_type_files_read(const char *path, trilha_cli_type_files *files, trilha_error *error) {
  struct stat about;
  if (strcmp(path, "-") != 0 && stat(path, &about) == 0 && S_ISDIR(about.st_mode))
    return read_folder(path, files, error);
  return read_one(path, files, error);
}

void trilha_cli_type_files_done(trilha_cli_type_files *files) {
  trilha_arena_done(&files->arena);
}
