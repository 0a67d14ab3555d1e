/* cli/errors_verbs: `trilha errors list|explain`: which HTTP status a code has, and by which rule. */
#include "cli/serve_internal.h"
#include "cli/serve_messages.h"
#include "trilha/errors.h"

static void row(trilha_cli *cli, trilha_cli_table *table, const char *code, unsigned status, const char *rule,
                const char *because) {
  char number[16];
  trilha_buffer text = {0};
  trilha_buffer_add_u64(&text, status);
  memcpy(number, text.data, text.size + 1);
  trilha_buffer_done(&text);
  if (!cli->json) {
    const char *const cells[] = {code, number, rule, because};
    for (size_t i = 0; i < 4; i++) trilha_cli_table_add(table, trilha_text_of(cells[i]));
    return;
  }
  trilha_cli_puts(&cli->out, "{");
  trilha_cli_put_json_member(&cli->out, true, "code", trilha_text_of(code));
  trilha_cli_putf(&cli->out, ",\"status\":%s", number);
  trilha_cli_put_json_member(&cli->out, false, "rule", trilha_text_of(rule));
  trilha_cli_put_json_member(&cli->out, false, "because", trilha_text_of(because));
  trilha_cli_puts(&cli->out, "}\n");
}

static int with_map(trilha_cli *cli,
                    void (*show)(trilha_cli *, trilha_cli_table *, const trilha_error_map *, const char *),
                    const char *operand) {
  static const char *const headings[] = {"CODE", "STATUS", "RULE", "BECAUSE"};
  trilha_error_map *map = NULL;
  trilha_error error = {0};
  if (trilha_error_map_new(&map, &error) != TRILHA_OK) return trilha_cli_fail(cli, &error);
  trilha_cli_table table;
  trilha_cli_table_init(&table, 4);
  table.firm[0] = table.right[1] = true;
  for (size_t i = 0; i < 4; i++) trilha_cli_table_add(&table, trilha_text_of(headings[i]));
  show(cli, &table, map, operand);
  if (!cli->json) trilha_cli_table_print(cli, &table);
  trilha_cli_table_done(&table);
  trilha_error_map_free(map);
  return TRILHA_EXIT_OK;
}

static void show_all(trilha_cli *cli, trilha_cli_table *table, const trilha_error_map *map, const char *operand) {
  (void)operand;
  unsigned status = 0;
  for (size_t i = 0; trilha_error_map_at(map, i) != NULL; i++) {
    const trilha_error_mapping *m = trilha_error_map_at(map, i);
    row(cli, table, m->code, m->status, "exact", m->because);
  }
  for (size_t i = 0; trilha_error_suffix_at(i, &status) != NULL; i++)
    row(cli, table, trilha_error_suffix_at(i, &status), status, "suffix", NULL);
  row(cli, table, "*", 400, "otherwise", NULL);
}

static void show_one(trilha_cli *cli, trilha_cli_table *table, const trilha_error_map *map, const char *operand) {
  const trilha_error_mapping *mapping = NULL;
  const char *suffix = NULL;
  unsigned status = trilha_error_map_status(map, trilha_text_of(operand), &mapping, &suffix);
  if (mapping != NULL)
    row(cli, table, operand, status, "exact", mapping->because);
  else
    row(cli, table, operand, status, suffix == NULL ? "otherwise" : suffix, NULL);
}

int trilha_cli_show_error_codes(trilha_cli *cli) {
  return with_map(cli, show_all, NULL);
}

int trilha_cli_run_errors_list(trilha_cli *cli, const trilha_cli_args *args) {
  (void)args;
  return trilha_cli_show_error_codes(cli);
}

int trilha_cli_run_errors_explain(trilha_cli *cli, const trilha_cli_args *args) {
  int status = with_map(cli, show_one, args->operands[0]);
  trilha_error known = {0};
  memcpy(known.code, args->operands[0], strnlen(args->operands[0], sizeof known.code - 1));
  trilha_cli_hint_remedy(cli, &known);
  return status;
}
