/* cli/demo_scan: which texts a database file holds, looked up in its bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/demo_internal.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)

static bool contains(trilha_text bytes, trilha_text text) {
  return bytes.size >= text.size && memmem(bytes.data, bytes.size, text.data, text.size) != NULL;
}

static trilha_status scan_one(const char *path, const trilha_text *texts, size_t count, bool *seen, uint64_t *bytes,
                              trilha_error *error) {
  TRILHA_BUFFER_SCOPED content;
  trilha_error own = {0};
  trilha_status status = trilha_cli_read_file(path, FILE_BYTES_MAX, &content, &own);
  if (status != TRILHA_OK && own.os_errno == ENOENT) return TRILHA_OK; /* no WAL just now */
  if (status != TRILHA_OK) return trilha_error_copy(error, &own);
  for (size_t i = 0; i < count; i++) seen[i] = seen[i] || contains(trilha_buffer_text(&content), texts[i]);
  *bytes += content.size;
  return TRILHA_OK;
}

trilha_status trilha_demo_scan(const char *path, const trilha_text *texts, size_t count, size_t *ret_found,
                               uint64_t *ret_bytes, trilha_error *error) {
  static const char *const endings[] = {"", "-wal", "-shm"};
  bool *seen = calloc(count + 1, sizeof *seen);
  trilha_status status = seen == NULL ? trilha_error_no_memory(error) : TRILHA_OK;
  *ret_bytes = 0;
  for (size_t i = 0; i < sizeof endings / sizeof endings[0] && status == TRILHA_OK; i++) {
    TRILHA_BUFFER_SCOPED name;
    trilha_buffer_init(&name, 0);
    trilha_buffer_add_format(&name, "%s%s", path, endings[i]);
    status = trilha_buffer_check(&name, error);
    if (status == TRILHA_OK) status = scan_one(name.data, texts, count, seen, ret_bytes, error);
  }
  *ret_found = 0;
  for (size_t i = 0; status == TRILHA_OK && i < count; i++) *ret_found += seen[i] ? 1 : 0;
  free(seen);
  return status;
}
