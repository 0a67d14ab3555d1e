/* cli/schema_files: documents below folders, found by the URI they stand for. */
#include "cli/schema_files.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "config/yaml.h"

static bool is_yaml(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

trilha_status trilha_cli_read_json_file(const char *path, size_t max, trilha_buffer *ret_text, trilha_error *error) {
  TRILHA_BUFFER_SCOPED yaml;
  if (!is_yaml(path)) {
    trilha_buffer_init(&yaml, 0);
    return trilha_cli_read_file(path, max, ret_text, error);
  }
  trilha_buffer_init(ret_text, 0);
  trilha_status status = trilha_cli_read_file(path, TRILHA_YAML_BYTES_MAX, &yaml, error);
  return status == TRILHA_OK ? trilha_yaml_to_json(trilha_buffer_text(&yaml), ret_text, NULL, error) : status;
}

/* What may stand in a path of a URI as it is (RFC 3986, pchar and the slash). */
static bool stands_in_path(char c) {
  bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return plain || (c != '\0' && strchr("-._~!$&'()*+,;=:@/", c) != NULL);
}

static trilha_text uri_of(trilha_arena *arena, trilha_text base, const char *below) {
  TRILHA_BUFFER_SCOPED uri;
  trilha_buffer_init(&uri, 0);
  trilha_buffer_add_text(&uri, base);
  if (base.size > 0 && base.data[base.size - 1] != '/') trilha_buffer_add_char(&uri, '/');
  for (; *below != '\0'; below++) {
    if (stands_in_path(*below))
      trilha_buffer_add_char(&uri, *below);
    else
      trilha_buffer_add_format(&uri, "%%%02X", (unsigned)(unsigned char)*below);
  }
  const char *copy = uri.failed != TRILHA_OK ? NULL : trilha_arena_copy(arena, trilha_buffer_text(&uri));
  return (trilha_text){copy, copy == NULL ? 0 : uri.size};
}

static trilha_cli_schema_file *grow(trilha_cli_schema_files *files, trilha_error *error) {
  if (files->count == TRILHA_CLI_SCHEMA_FILES_MAX) {
    (void)trilha_error_set(error, TRILHA_LIMIT, "SCHEMA_FILES", "more than %d files below the folders of --ref-dir",
                           TRILHA_CLI_SCHEMA_FILES_MAX);
    return NULL;
  }
  if (files->count == files->capacity) {
    size_t capacity = files->capacity == 0 ? 16 : files->capacity * 2;
    trilha_cli_schema_file *list = trilha_arena_array(&files->arena, capacity, sizeof *list);
    if (list == NULL) {
      (void)trilha_error_no_memory(error);
      return NULL;
    }
    if (files->count > 0) memcpy(list, files->list, files->count * sizeof *list);
    files->list = list;
    files->capacity = capacity;
  }
  return &files->list[files->count];
}

static void parse(trilha_cli_schema_file *file, const char *path) {
  TRILHA_BUFFER_SCOPED text;
  trilha_json_fault fault = {0};
  trilha_status status = trilha_cli_read_json_file(path, TRILHA_CLI_SCHEMA_FILE_BYTES_MAX, &text, &file->error);
  if (status != TRILHA_OK) return;
  status = trilha_json_parse(trilha_buffer_text(&text), &TRILHA_JSON_LIMITS, &file->document, &fault, &file->error);
  if (status != TRILHA_OK) return;
  trilha_text id = trilha_json_member_string(file->document->values, "$id");
  if (id.size > 0 && id.data[id.size - 1] == '#') id.size--;
  file->id = id;
}

static trilha_status add_file(trilha_cli_schema_files *files, trilha_text base, const char *path, const char *below,
                              trilha_error *error) {
  trilha_cli_schema_file *file = grow(files, error);
  if (file == NULL) return error == NULL ? TRILHA_NO_MEMORY : error->status;
  *file = (trilha_cli_schema_file){.path = trilha_arena_copy(&files->arena, trilha_text_of(path)),
                                   .uri = uri_of(&files->arena, base, below)};
  if (file->path == NULL || file->uri.data == NULL) return trilha_error_no_memory(error);
  parse(file, path);
  files->count++;
  return file->error.status == TRILHA_NO_MEMORY ? trilha_error_copy(error, &file->error) : TRILHA_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b) {
  return strcmp((*a)->fts_name, (*b)->fts_name);
}

static trilha_status walk_folder(trilha_cli_schema_files *files, trilha_text base, char *folder, trilha_error *error) {
  char *roots[] = {folder, NULL};
  size_t prefix = strlen(folder);
  trilha_status status = TRILHA_OK;
  FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
  if (walk == NULL) return trilha_error_no_memory(error);
  for (FTSENT *entry; status == TRILHA_OK && (entry = fts_read(walk)) != NULL;) {
    bool hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';
    if (hidden) {
      (void)fts_set(walk, entry, FTS_SKIP);
    } else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
      status =
          trilha_error_set_errno(error, TRILHA_IO, "FILE_READ", entry->fts_errno, "cannot read %s", entry->fts_path);
    } else if (entry->fts_info == FTS_F) {
      const char *below = entry->fts_path + prefix;
      while (*below == '/') below++;
      status = add_file(files, base, entry->fts_path, below, error);
    }
  }
  fts_close(walk);
  return status;
}

trilha_status trilha_cli_schema_files_add(trilha_cli_schema_files *files, trilha_text base_and_folder,
                                          trilha_error *error) {
  const char *equals = trilha_text_find(base_and_folder, '=');
  struct stat about;
  if (equals == NULL || equals == base_and_folder.data || equals[1] == '\0')
    return trilha_error_set(error, TRILHA_USAGE, "REF_DIR", "--ref-dir wants BASE=DIR, not '%s'", base_and_folder.data);
  trilha_text base = {base_and_folder.data, (size_t)(equals - base_and_folder.data)};
  if (stat(equals + 1, &about) != 0)
    return trilha_error_set_errno(error, TRILHA_USAGE, "REF_DIR", errno, "cannot open %s", equals + 1);
  if (!S_ISDIR(about.st_mode)) return trilha_error_set(error, TRILHA_USAGE, "REF_DIR", "%s is no folder", equals + 1);
  char *folder = strdup(equals + 1);
  trilha_status status = folder == NULL ? trilha_error_no_memory(error) : walk_folder(files, base, folder, error);
  free(folder);
  return status;
}

void trilha_cli_schema_files_done(trilha_cli_schema_files *files) {
  for (size_t i = 0; i < files->count; i++) trilha_json_document_free(files->list[i].document);
  trilha_arena_done(&files->arena);
}

const trilha_cli_schema_file *trilha_cli_schema_files_find(const trilha_cli_schema_files *files, trilha_text uri) {
  for (size_t i = 0; i < files->count; i++)
    if (trilha_text_equal(files->list[i].uri, uri)) return &files->list[i];
  for (size_t i = 0; i < files->count; i++)
    if (files->list[i].id.size > 0 && trilha_text_equal(files->list[i].id, uri)) return &files->list[i];
  return NULL;
}

trilha_text trilha_cli_schema_files_uri_of(const trilha_cli_schema_files *files, const char *path) {
  struct stat wanted, about;
  if (stat(path, &wanted) != 0) return (trilha_text){NULL, 0};
  for (size_t i = 0; i < files->count; i++) {
    if (stat(files->list[i].path, &about) != 0) continue;
    if (about.st_dev == wanted.st_dev && about.st_ino == wanted.st_ino) return files->list[i].uri;
  }
  return (trilha_text){NULL, 0};
}

const trilha_json_document *trilha_cli_schema_files_resolve(void *user, trilha_text uri) {
  const trilha_cli_schema_file *file = trilha_cli_schema_files_find(user, uri);
  return file == NULL ? NULL : file->document;
}
