/* cli/config: `trilha config check|show`, and loading the configuration for `trilha serve`. */
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <unistd.h>

#include "cli/serve_internal.h"
#include "cli/serve_messages.h"
#include "config/yaml.h"

#define CONFIG_BYTES_MAX ((size_t)1 << 20)
#define CONFIG_DEFAULT   "trilha.yaml"

static void problem_json(trilha_cli *cli, const trilha_config_problem *p) {
  trilha_cli_puts(&cli->out, "{");
  trilha_cli_put_json_member(&cli->out, true, "source", trilha_text_of(p->source));
  trilha_cli_putf(&cli->out, ",\"line\":%u,\"column\":%u", p->line, p->column);
  trilha_cli_put_json_member(&cli->out, false, "pointer", p->pointer);
  trilha_cli_put_json_member(&cli->out, false, "text", p->text);
  trilha_cli_puts(&cli->out, "}\n");
}

static void on_problem(void *user, const trilha_config_problem *p) {
  trilha_cli *cli = user;
  TRILHA_BUFFER_SCOPED pointer, text;
  trilha_buffer_init(&pointer, 0);
  trilha_buffer_init(&text, 0);
  trilha_cli_escape(&pointer, p->pointer.data == NULL ? TRILHA_TEXT("") : p->pointer);
  trilha_cli_escape(&text, p->text);
  const char *where = trilha_buffer_text(&pointer).data, *what = trilha_buffer_text(&text).data;
  if (p->line != 0)
    trilha_cli_say(cli, SAY_CONFIG_PROBLEM_LINE, p->source, p->line, p->column, where, what);
  else
    trilha_cli_say(cli, SAY_CONFIG_PROBLEM, p->source, where, what);
}

/* The problems are the result of what was asked. */
static void on_problem_json(void *user, const trilha_config_problem *p) {
  problem_json(user, p);
  on_problem(user, p);
}

static int load(trilha_cli *cli, trilha_config_sources *sources, trilha_config **ret_config) {
  TRILHA_BUFFER_SCOPED yaml;
  trilha_buffer_init(&yaml, 0);
  trilha_error error = {0};
  sources->environment = getenv;
  sources->user = cli;
  if (sources->path != NULL) {
    trilha_buffer_done(&yaml);
    if (trilha_cli_read_file(sources->path, CONFIG_BYTES_MAX, &yaml, &error) != TRILHA_OK)
      return trilha_cli_fail(cli, &error);
    sources->yaml = trilha_buffer_text(&yaml);
  }
  trilha_status status = trilha_config_load(sources, ret_config, &error);
  if (status == TRILHA_OK) return TRILHA_EXIT_OK;
  return status == TRILHA_INVALID ? TRILHA_EXIT_REFUSED : trilha_cli_fail(cli, &error);
}

static const char *named_by_environment(void) {
  const char *path = getenv("TRILHA_CONFIG");
  return path == NULL || path[0] == '\0' ? NULL : path;
}

int trilha_cli_load_config(trilha_cli *cli, const trilha_cli_args *args, trilha_config **ret_config) {
  trilha_config_sources sources = {.path = trilha_cli_value(args, "config"),
                                   .flags = {[TRILHA_SETTING_STORE] = trilha_cli_value(args, "store")},
                                   .report = cli->json ? on_problem_json : on_problem};
  if (sources.path == NULL) sources.path = named_by_environment();
  if (sources.path == NULL && access(CONFIG_DEFAULT, F_OK) == 0) sources.path = CONFIG_DEFAULT;
  return load(cli, &sources, ret_config);
}

int trilha_cli_load_telemetry(trilha_cli *cli, trilha_config **ret_config) {
  trilha_config_sources sources = {.path = named_by_environment(), .part = "telemetry", .report = on_problem};
  return load(cli, &sources, ret_config);
}

void trilha_cli_come_to_rest(void) {
  trilha_yaml_unload();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

int trilha_cli_run_config_check(trilha_cli *cli, const trilha_cli_args *args) {
  trilha_config *config = NULL;
  int status = trilha_cli_load_config(cli, args, &config);
  trilha_config_free(config);
  if (status != TRILHA_EXIT_OK || cli->json) return status;
  trilha_cli_tell(cli, SAY_CONFIG_FINE);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_EXIT_OK;
}

static const char *origin_name(trilha_setting_origin origin) {
  static const char *const names[] = {"default", "file", "environment", "flag"};
  return names[origin];
}

static void show_json(trilha_cli *cli, trilha_setting s, trilha_text value, const char *origin) {
  trilha_cli_puts(&cli->out, "{");
  trilha_cli_put_json_member(&cli->out, true, "setting", trilha_text_of(trilha_setting_name(s)));
  trilha_cli_put_json_member(&cli->out, false, "value", value);
  trilha_cli_put_json_member(&cli->out, false, "origin", trilha_text_of(origin));
  trilha_cli_put_json_member(&cli->out, false, "variable", trilha_text_of(trilha_setting_variable(s)));
  trilha_cli_puts(&cli->out, "}\n");
}

int trilha_cli_run_config_show(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const headings[] = {"SETTING", "VALUE", "ORIGIN", "VARIABLE"};
  trilha_config *config = NULL;
  int status = trilha_cli_load_config(cli, args, &config);
  if (status != TRILHA_EXIT_OK) return status;
  trilha_cli_table table;
  trilha_cli_table_init(&table, 4);
  table.firm[0] = true;
  table.spare[3] = true;
  for (size_t i = 0; i < 4; i++) trilha_cli_table_add(&table, trilha_text_of(headings[i]));
  for (trilha_setting s = 0; s < TRILHA_SETTING_COUNT; s++) {
    TRILHA_BUFFER_SCOPED value;
    trilha_buffer_init(&value, 0);
    trilha_config_show(config, s, &value);
    const char *origin = origin_name(trilha_config_origin(config, s));
    if (cli->json) {
      show_json(cli, s, trilha_buffer_text(&value), origin);
      continue;
    }
    trilha_cli_table_add(&table, trilha_text_of(trilha_setting_name(s)));
    trilha_cli_table_add(&table, trilha_buffer_text(&value));
    trilha_cli_table_add(&table, trilha_text_of(origin));
    trilha_cli_table_add(&table, trilha_text_of(trilha_setting_variable(s)));
  }
  if (!cli->json) trilha_cli_table_print(cli, &table);
  trilha_cli_table_done(&table);
  trilha_config_free(config);
  return TRILHA_EXIT_OK;
}
