/* cli/guarantees: what the handler of each destination promises about a message that it accepted. */
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"

static trilha_status put_handler(void *user, const trilha_outbox_handler *h) {
  static const char *const members[] = {"destination", "guarantee", "because", "worker", "declared_at"};
  enum { COUNT = sizeof members / sizeof members[0] };
  const trilha_text cells[COUNT] = {h->destination, h->guarantee, h->because, h->worker, h->declared_at};
  trilha_cli_rows_put(user, members, cells, COUNT);
  return TRILHA_OK;
}

static trilha_status list(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"DESTINATION", "GUARANTEE", "BECAUSE", "DECLARED_BY", "SINCE"};
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  r.table.firm[0] = r.table.spare[2] = true;
  trilha_status status = trilha_outbox_handlers(outbox, put_handler, &r, error);
  trilha_cli_rows_end(&r, status, (trilha_cli_words){SAY_NO_DESTINATIONS});
  return status;
}

int trilha_cli_run_outbox_guarantees(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, list);
}
