/* cli/registry_files: type versions read from files and folders. Room: cli. */
#ifndef TRILHA_CLI_REGISTRY_FILES_H
#define TRILHA_CLI_REGISTRY_FILES_H

#include "base/arena.h"
#include "cli/cli_internal.h"

enum { TRILHA_CLI_TYPE_FILES_MAX = 10000 };              /* files of one `registry apply` */
#define TRILHA_CLI_TYPE_FILE_BYTES_MAX ((size_t)4 << 20) /* of one file */

/* Versions in the order of the files' names; everything lives in the arena. */
typedef struct trilha_cli_type_files {
  trilha_arena arena;
  trilha_type_version *versions;
  const char **paths; /* where each version was read */
  size_t count, capacity;
} trilha_cli_type_files;

/* Reads a file (JSON, or YAML by its name: .yaml, .yml) that holds one version or a list of them, or every such file
 * below a folder. The error names the file, and line and column where there are any. */
trilha_status trilha_cli_type_files_read(const char *path, trilha_cli_type_files *files, trilha_error *error);
/* One document's versions; `path` is for messages. Used for the embedded types of the demo too. */
trilha_status trilha_cli_type_files_take(trilha_cli_type_files *files, const char *path, trilha_text json,
                                         trilha_error *error);
void trilha_cli_type_files_done(trilha_cli_type_files *files);

#endif
