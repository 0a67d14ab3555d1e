/* cli/audit: `trilha audit list|lint`: the audit trail as operators read it, and the vocabulary of its actions. */
#include "trilha/audit.h"

#include <stdio.h>

#include "cli/serve_internal.h"
#include "cli/serve_messages.h"

const trilha_cli_option trilha_cli_audit_options[] = {
    {"action", 0, TRILHA_CLI_TEXT, false, 0, "ACTION", {"only this action", "só esta ação"}},
    {"entity", 0, TRILHA_CLI_TEXT, false, 0, "NAME", {"only of this kind of thing", "só desta espécie de coisa"}},
    {"entity-id", 0, TRILHA_CLI_TEXT, false, 0, "ID", {"only of this thing", "só desta coisa"}},
    {"from",
     0,
     TRILHA_CLI_TEXT,
     false,
     0,
     "TIME",
     {"from this date (UTC) or time on", "desta data (UTC) ou hora em diante"}},
    {"to",
     0,
     TRILHA_CLI_TEXT,
     false,
     0,
     "TIME",
     {"up to this date (UTC midnight) or time", "até esta data (meia-noite UTC) ou hora"}},
    {"limit",
     'l',
     TRILHA_CLI_NUMBER,
     false,
     1,
     "N",
     {"at most N entries, up to 500; default 100", "no máximo N entradas, até 500; padrão 100"}},
    {"after", 'a', TRILHA_CLI_NUMBER, false, 0, "ID", {"entries after this one", "entradas depois desta"}},
    {NULL, 0, TRILHA_CLI_FLAG, false, 0, NULL, {NULL, NULL}},
};

static void record_json(trilha_cli *cli, const trilha_audit_record *r) {
  trilha_cli_putf(&cli->out, "{\"id\":\"%lld\"", (long long)r->id);
  trilha_cli_put_json_member(&cli->out, false, "created_at", trilha_text_of(r->created_at));
  trilha_cli_put_json_member(&cli->out, false, "action", trilha_text_of(r->action));
  trilha_cli_put_json_member(&cli->out, false, "user", trilha_text_of(r->user));
  trilha_cli_put_json_member(&cli->out, false, "change_type", trilha_text_of(r->change_type));
  trilha_cli_put_json_member(&cli->out, false, "entity", trilha_text_of(r->entity));
  trilha_cli_put_json_member(&cli->out, false, "entity_id", trilha_text_of(r->entity_id));
  trilha_cli_puts(&cli->out, ",\"metadata\":");
  trilha_cli_put_json(&cli->out, trilha_text_of(r->metadata));
  trilha_cli_puts(&cli->out, "}\n");
}

static void records_table(trilha_cli *cli, const trilha_audit_records *records) {
  static const char *const headings[] = {"ID", "CREATED_AT", "ACTION", "USER", "ENTITY", "ENTITY_ID", "METADATA"};
  enum { COLUMNS = sizeof headings / sizeof headings[0] };
  trilha_cli_table table;
  trilha_cli_table_init(&table, COLUMNS);
  table.right[0] = table.firm[0] = table.firm[1] = table.firm[2] = true;
  table.spare[4] = table.spare[6] = true;
  for (size_t i = 0; i < COLUMNS; i++) trilha_cli_table_add(&table, trilha_text_of(headings[i]));
  for (size_t i = 0; i < records->count; i++) {
    const trilha_audit_record *r = &records->items[i];
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)r->id);
    const char *const cells[] = {number, r->created_at, r->action, r->user, r->entity, r->entity_id, r->metadata};
    for (size_t k = 0; k < COLUMNS; k++) trilha_cli_table_add(&table, trilha_text_of(cells[k]));
  }
  if (records->count > 0) trilha_cli_table_print(cli, &table);
  trilha_cli_table_done(&table);
}

int trilha_cli_run_audit_list(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_audit_records *records = NULL;
  trilha_error error = {0};
  trilha_audit_filter filter = {.action = trilha_cli_text(args, "action"),
                                .entity = trilha_cli_text(args, "entity"),
                                .entity_id = trilha_cli_text(args, "entity-id"),
                                .from = trilha_cli_text(args, "from"),
                                .to = trilha_cli_text(args, "to"),
                                .after_id = trilha_cli_number(args, "after", 0),
                                .limite = trilha_cli_number(args, "limit", 0)};
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_audit_list(handle, &filter, &records, &error) != TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
  } else {
    for (size_t i = 0; cli->json && i < records->count; i++) record_json(cli, &records->items[i]);
    if (!cli->json) records_table(cli, records);
    trilha_cli_flush(&cli->out);
    if (records->next_after != 0) trilha_cli_hint(cli, SAY_AUDIT_MORE, (long long)records->next_after);
  }
  trilha_audit_records_free(records);
  trilha_close(handle);
  return status;
}

int trilha_cli_run_audit_lint(trilha_cli *cli, const trilha_cli_args *args) {
  int status = TRILHA_EXIT_OK;
  for (size_t i = 0; i < args->operand_count; i++) {
    trilha_error error = {0};
    trilha_text action = trilha_text_of(args->operands[i]);
    bool fits = trilha_audit_action_check(action, &error) == TRILHA_OK;
    if (!fits) status = TRILHA_EXIT_REFUSED;
    if (cli->json) {
      trilha_cli_puts(&cli->out, "{");
      trilha_cli_put_json_member(&cli->out, true, "action", action);
      trilha_cli_putf(&cli->out, ",\"valid\":%s", fits ? "true" : "false");
      trilha_cli_put_json_member(&cli->out, false, "text", fits ? (trilha_text){NULL, 0} : trilha_text_of(error.text));
      trilha_cli_puts(&cli->out, "}\n");
    } else {
      trilha_cli_put_safe(&cli->out, action);
      trilha_cli_putf(&cli->out, ": %s\n", fits ? "ok" : error.text);
    }
  }
  return status;
}
