/* cli/events: `trilha events list|show|trace`. */
#include "cli/cli_internal.h"
#include "cli/messages.h"

static trilha_events_filter filter_of(const trilha_cli_args *args) {
  return (trilha_events_filter){
      .tipo = trilha_cli_text(args, "type"),
      .origem = trilha_cli_text(args, "origin"),
      .correlacao_id = trilha_cli_text(args, "correlation-id"),
      .timestamp_inicio = trilha_cli_text(args, "from"),
      .timestamp_fim = trilha_cli_text(args, "to"),
      .sequence_inicio = trilha_cli_number(args, "from-sequence", 0),
      .sequence_fim = trilha_cli_number(args, "to-sequence", 0),
      .limite = trilha_cli_number(args, "limit", 0),
      .deslocamento = trilha_cli_number(args, "offset", 0),
  };
}

int trilha_cli_run_events_list(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_events_page *page = NULL;
  trilha_error error = {0};
  trilha_events_filter filter = filter_of(args);
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_events_query(handle, &filter, &page, &error) == TRILHA_OK) {
    status = trilha_cli_show_page(cli, page);
    trilha_events_page_free(page);
  } else {
    status = trilha_cli_fail(cli, &error);
  }
  trilha_close(handle);
  return status;
}

int trilha_cli_run_events_show(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_event *event = NULL;
  trilha_error error = {0};
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_event_get(handle, trilha_text_of(args->operands[0]), &event, &error) != TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
  } else if (cli->json) {
    status = trilha_cli_put_event_json(cli, event);
    trilha_cli_puts(&cli->out, "\n");
  } else {
    trilha_cli_show_event(cli, event);
  }
  trilha_event_free(event);
  trilha_close(handle);
  return status;
}

int trilha_cli_run_events_trace(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_events_page *page = NULL;
  trilha_error error = {0};
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_events_trace(handle, trilha_text_of(args->operands[0]), &page, &error) == TRILHA_OK) {
    status = trilha_cli_show_page(cli, page);
    trilha_events_page_free(page);
  } else {
    status = trilha_cli_fail(cli, &error);
  }
  trilha_close(handle);
  return status;
}
