/* Opens the throw-away store. */
#include "fuzz/store.h"

#include <unistd.h>

#include "fuzz/fuzz.h"

static struct {
  trilha *handle;
  char folder[128], path[160];
} store;

static void remove_store(void) {
  static const char *const ends[] = {"", "-wal", "-shm", ".lock", "-lock"};
  trilha_close(store.handle);
  store.handle = NULL;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    char name[200];
    snprintf(name, sizeof name, "%s%s", store.path, ends[i]);
    (void)unlink(name);
  }
  (void)rmdir(store.folder);
}

static void register_types(void) {
  const trilha_type_version types[] = {
      {.tipo = trilha_text_of("t"), .versao = trilha_text_of("1.0.0"), .schema = trilha_text_of(FUZZ_SCHEMA_T)},
      {.tipo = trilha_text_of("free"),
       .versao = trilha_text_of("1.0.0"),
       .schema = trilha_text_of("{\"type\":\"object\",\"x-redacao\":\"manter\"}")}};
  trilha_error err = {0};
  if (trilha_registry_apply(store.handle, types, 2, false, trilha_text_of("fuzz"), NULL, &err) != TRILHA_OK)
    fprintf(stderr, "register: %s %s\n", err.code, err.text);
}

trilha *fuzz_store_open(void) {
  if (store.handle != NULL) return store.handle;
  snprintf(store.folder, sizeof store.folder, "%s/trilha-fuzz-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  CHECK(mkdtemp(store.folder) != NULL);
  snprintf(store.path, sizeof store.path, "%s/t.db", store.folder);
  setenv("TRILHA_FUZZ_KEYRING", "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", 1);
  char url[200];
  snprintf(url, sizeof url, "sqlite:%s", store.path);
  trilha_options options = {.store_url = url,
                            .keyring = "env:TRILHA_FUZZ_KEYRING",
                            .create = true,
                            .unsafe_no_fsync = true,
                            .registry_refresh_ms = 1};
  trilha_error err = {0};
  trilha_status status = trilha_open(&options, &store.handle, &err);
  if (status != TRILHA_OK) fprintf(stderr, "open: %s %s\n", err.code, err.text);
  CHECK(status == TRILHA_OK);
  atexit(remove_store);
  register_types();
  return store.handle;
}

const char *fuzz_store_path(void) {
  return store.path;
}
