/* fuzz: runs a target over the kept inputs of a folder, one test a file; argv[1] is the folder. */
#include <dirent.h>

#include "fuzz/fuzz.h"

enum { INPUT_BYTES_MAX = 8 << 20 };

static int wanted(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static char *content(const char *folder, const char *name, size_t *ret_size) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NULL;
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  char *data = malloc(INPUT_BYTES_MAX);
  size_t size = data == NULL ? 0 : fread(data, 1, INPUT_BYTES_MAX, file);
  fclose(file);
  char *exact = data == NULL ? NULL : realloc(data, size == 0 ? 1 : size);
  *ret_size = size;
  return exact == NULL ? data : exact;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct dirent **names;
  int count = scandir(argv[1], &names, wanted, alphasort);
  if (count <= 0) {
    printf("1..0 # SKIP no inputs in %s\n", argv[1]);
    return 0;
  }
  printf("1..%d\n", count);
  int failed = 0;
  for (int i = 0; i < count; i++) {
    size_t size;
    char *data = content(argv[1], names[i]->d_name, &size);
    fflush(stdout); /* a crash leaves the tests before it on record */
    if (data != NULL) trilha_fuzz(data, size);
    failed += data == NULL;
    printf("%s %d - %s\n", data == NULL ? "not ok" : "ok", i + 1, names[i]->d_name);
    free(data);
    free(names[i]);
  }
  free(names);
  return failed != 0;
}
