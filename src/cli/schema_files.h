/* cli/schema_files: documents below folders, found by the URI they stand for. Room: cli. */
#ifndef TRILHA_CLI_SCHEMA_FILES_H
#define TRILHA_CLI_SCHEMA_FILES_H

#include "base/arena.h"
#include "cli/cli_internal.h"
#include "json/json.h"

enum { TRILHA_CLI_SCHEMA_FILES_MAX = 10000 };              /* files of all --ref-dir together */
#define TRILHA_CLI_SCHEMA_FILE_BYTES_MAX ((size_t)4 << 20) /* of one file */

/* As trilha_cli_read_file(); what is named .yaml or .yml comes as the JSON text it stands for. */
trilha_status trilha_cli_read_json_file(const char *path, size_t max, trilha_buffer *ret_text, trilha_error *error);

typedef struct trilha_cli_schema_file {
  const char *path;
  trilha_text uri;                /* BASE + path below the folder */
  trilha_text id;                 /* the root's $id, without an empty fragment, or absent */
  trilha_json_document *document; /* NULL: not JSON; `error` says why */
  trilha_error error;
} trilha_cli_schema_file;

typedef struct trilha_cli_schema_files {
  trilha_arena arena;
  trilha_cli_schema_file *list;
  size_t count, capacity;
} trilha_cli_schema_files;

/* Adds every file below the folder of "BASE=DIR" (hidden ones excepted). USAGE when it is no such text; what is not
 * JSON is kept as a fault and matters only when it is asked for. */
trilha_status trilha_cli_schema_files_add(trilha_cli_schema_files *files, trilha_text base_and_folder,
                                          trilha_error *error);
void trilha_cli_schema_files_done(trilha_cli_schema_files *files);

/* By URI first, then by $id; NULL when there is none. */
const trilha_cli_schema_file *trilha_cli_schema_files_find(const trilha_cli_schema_files *files, trilha_text uri);
/* The URI under which a file is reachable, or an absent text. */
trilha_text trilha_cli_schema_files_uri_of(const trilha_cli_schema_files *files, const char *path);
/* For trilha_schema_options.resolve; `user` is the files. */
const trilha_json_document *trilha_cli_schema_files_resolve(void *user, trilha_text uri);

#endif
