/* fuzz: a trilha.yaml, and after a NUL byte an environment of NAME=value lines. What loads has a readable value for
 * every setting and reported no problem; what does not says where and why. */
#include <string.h>

#include "config/config.h"
#include "fuzz/fuzz.h"

enum { VARIABLES_MAX = 32 };

/* trilha_config_sources.environment has no user argument, as getenv has none. */
static struct {
  char *names[VARIABLES_MAX], *values[VARIABLES_MAX];
  size_t count;
} environment;

static char *look_up(const char *name) {
  for (size_t i = 0; i < environment.count; i++) {
    if (strcmp(environment.names[i], name) == 0) return environment.values[i];
  }
  return NULL;
}

static void take_variables(trilha_text lines) {
  environment.count = 0;
  while (lines.size > 0 && environment.count < VARIABLES_MAX) {
    const char *end = trilha_text_find(lines, '\n');
    size_t size = end == NULL ? lines.size : (size_t)(end - lines.data);
    char *line = calloc(1, size + 1), *equals = NULL; /* the input ends without a NUL */
    if (line != NULL) equals = strchr(memcpy(line, lines.data, size), '=');
    if (equals == NULL) {
      free(line);
    } else {
      *equals = '\0';
      environment.names[environment.count] = line;
      environment.values[environment.count++] = equals + 1;
    }
    size += end != NULL;
    lines = (trilha_text){lines.data + size, lines.size - size};
  }
}

static void count_problem(void *user, const trilha_config_problem *problem) {
  size_t *count = user;
  ++*count;
  CHECK(problem->source != NULL && problem->text.size > 0);
  CHECK(trilha_utf8_valid(problem->text.data, problem->text.size));
  CHECK(trilha_utf8_valid(problem->pointer.data, problem->pointer.size));
  CHECK((problem->line == 0) == (problem->column == 0));
}

static void read_all(const trilha_config *config) {
  for (trilha_setting s = 0; s < TRILHA_SETTING_COUNT; s++) {
    trilha_buffer shown = {0};
    size_t count = 0;
    trilha_text text = trilha_config_text(config, s);
    CHECK(text.data == NULL || (text.data[text.size] == '\0' && trilha_utf8_valid(text.data, text.size)));
    const trilha_text *list = trilha_config_list(config, s, &count);
    for (size_t i = 0; i < count; i++) CHECK(list[i].data != NULL && trilha_utf8_valid(list[i].data, list[i].size));
    (void)trilha_config_number(config, s);
    CHECK(trilha_config_origin(config, s) <= TRILHA_ORIGIN_ENVIRONMENT);
    trilha_config_show(config, s, &shown);
    CHECK(shown.failed == TRILHA_OK && trilha_utf8_valid(trilha_buffer_text(&shown).data, shown.size));
    trilha_buffer_done(&shown);
  }
}

void trilha_fuzz(const char *data, size_t size) {
  const char *nul = size == 0 ? NULL : memchr(data, '\0', size);
  size_t yaml_size = nul == NULL ? size : (size_t)(nul - data), problems = 0;
  if (nul != NULL) take_variables((trilha_text){nul + 1, size - yaml_size - 1});
  trilha_config_sources sources = {
      .yaml = {data, yaml_size}, .path = "trilha.yaml", .report = count_problem, .user = &problems};
  if (nul != NULL) sources.environment = look_up;
  trilha_config *config = NULL;
  trilha_error err = {0};
  trilha_status status = trilha_config_load(&sources, &config, &err);
  CHECK((status == TRILHA_OK) == (config != NULL));
  CHECK(status == TRILHA_OK ? problems == 0 : err.code[0] != '\0' && err.text[0] != '\0');
  if (config != NULL) read_all(config);
  trilha_config_free(config);
  for (size_t i = 0; i < environment.count; i++) free(environment.names[i]);
  environment.count = 0;
}
