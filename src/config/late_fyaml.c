/* config: libfyaml, there while a YAML text is read and until somebody gives it back. */
#include "config/late_fyaml.h"

#include "base/assert.h"
#include "config/yaml.h"

static const char *const names[] = {TRILHA_FYAML(TRILHA_LATE_NAME)};

static const trilha_late_library library = {.file = TRILHA_FYAML_FILE,
                                            .package = "libfyaml0",
                                            .needed_for = "files in YAML",
                                            .names = names,
                                            .count = sizeof names / sizeof *names,
                                            .passing = true};

static struct {
  trilha_late_state state;
  trilha_fyaml functions;
} fyaml = {.state = TRILHA_LATE_STATE_INIT};

trilha_status trilha_fyaml_begin(trilha_error *err) {
  return trilha_late_begin(&library, &fyaml.state, &fyaml.functions, err);
}

void trilha_fyaml_end(void) {
  trilha_late_end(&fyaml.state);
}

const trilha_fyaml *trilha_fyaml_functions(void) {
  TRILHA_ASSERT(trilha_late_is_loaded(&fyaml.state));
  return &fyaml.functions;
}

void trilha_yaml_unload(void) {
  trilha_late_unload(&fyaml.state);
}
