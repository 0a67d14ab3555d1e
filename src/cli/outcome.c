/* cli/outcome: what became of one publication, told to people and to programs. */
#include "cli/messages.h"
#include "cli/publish_internal.h"

static const char *content_name(trilha_content content) {
  static const char *const names[] = {"new", "same", "different", "unknown"};
  size_t i = (size_t)content;
  return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}

static void begin_json(trilha_cli *cli, int64_t line, trilha_status status) {
  trilha_cli_puts(&cli->out, "{");
  if (line > 0) trilha_cli_putf(&cli->out, "\"line\":%lld,", (long long)line);
  trilha_cli_put_json_member(&cli->out, true, "status", trilha_text_of(trilha_status_name(status)));
}

static void ok_json(trilha_cli *cli, int64_t line, const trilha_publish_result *result) {
  begin_json(cli, line, TRILHA_OK);
  if (cli->dry_run) {
    trilha_cli_puts(&cli->out, ",\"dry_run\":true,\"event\":");
    trilha_cli_put_event_json(cli, result->event);
    trilha_cli_puts(&cli->out, "}\n");
    return;
  }
  trilha_cli_putf(&cli->out, ",\"sequence_number\":\"%lld\"", (long long)result->event->sequence_number);
  trilha_cli_put_json_member(&cli->out, false, "event_id", trilha_text_of(result->event->event_id));
  trilha_cli_putf(&cli->out, ",\"duplicate\":%s,\"content\":\"%s\"", result->duplicate ? "true" : "false",
                  content_name(result->content));
  if (line == 0) {
    trilha_cli_puts(&cli->out, ",\"event\":");
    trilha_cli_put_event_json(cli, result->event);
  }
  trilha_cli_puts(&cli->out, "}\n");
}

static void ok_people(trilha_cli *cli, const trilha_publish_result *result) {
  const trilha_event *event = result->event;
  long long sequence = (long long)event->sequence_number;
  if (cli->dry_run) {
    trilha_cli_tell(cli, SAY_WOULD_PUBLISH, event->tipo, event->versao_schema, event->payload);
  } else if (!result->duplicate) {
    trilha_cli_tell(cli, SAY_PUBLISHED, event->tipo, sequence, event->event_id);
  } else if (result->content == TRILHA_CONTENT_DIFFERENT) {
    trilha_cli_tell(cli, SAY_REPEATED_DIFFERENT, sequence, event->event_id);
  } else if (result->content == TRILHA_CONTENT_SAME) {
    trilha_cli_tell(cli, SAY_REPEATED_SAME, sequence, event->event_id);
  } else {
    trilha_cli_tell(cli, SAY_REPEATED_UNKNOWN, sequence, event->event_id);
  }
  trilha_cli_puts(&cli->out, "\n");
}

void trilha_cli_outcome_ok(trilha_cli *cli, int64_t line, const trilha_publish_result *result) {
  if (cli->json) {
    ok_json(cli, line, result);
    return;
  }
  if (line > 0) trilha_cli_tell(cli, SAY_LINE, (long long)line);
  ok_people(cli, result);
}

static void failed_json(trilha_cli *cli, int64_t line, const trilha_error *error, const trilha_publish_result *result) {
  begin_json(cli, line, error->status);
  trilha_cli_put_json_member(&cli->out, false, "code", trilha_text_of(error->code));
  trilha_cli_put_json_member(&cli->out, false, "text", trilha_text_of(error->text));
  trilha_cli_putf(&cli->out, ",\"retriable\":%s,\"errors\":[", error->retriable ? "true" : "false");
  for (size_t i = 0; result != NULL && i < result->payload_error_count; i++) {
    const trilha_payload_error *e = &result->payload_errors[i];
    trilha_cli_puts(&cli->out, i == 0 ? "{" : ",{");
    trilha_cli_put_json_member(&cli->out, true, "instance_pointer", trilha_text_of(e->instance_pointer));
    trilha_cli_put_json_member(&cli->out, false, "schema_pointer", trilha_text_of(e->schema_pointer));
    trilha_cli_put_json_member(&cli->out, false, "keyword", trilha_text_of(e->keyword));
    trilha_cli_put_json_member(&cli->out, false, "text", trilha_text_of(e->text));
    trilha_cli_puts(&cli->out, "}");
  }
  trilha_cli_puts(&cli->out, "]}\n");
}

/* The reasons under a refusal: where, what, by which rule. */
static void put_reasons(trilha_cli *cli, trilha_cli_output *to, const trilha_publish_result *result) {
  for (size_t i = 0; result != NULL && i < result->payload_error_count; i++) {
    const trilha_payload_error *e = &result->payload_errors[i];
    trilha_cli_puts(to, "    ");
    trilha_cli_style_set(to, TRILHA_STYLE_BOLD);
    trilha_cli_put_safe(to, trilha_text_of(e->instance_pointer[0] == '\0' ? "(payload)" : e->instance_pointer));
    trilha_cli_style_set(to, TRILHA_STYLE_PLAIN);
    trilha_cli_puts(to, "  ");
    trilha_cli_put_reason(cli, to, trilha_text_of(e->text));
    trilha_cli_style_set(to, TRILHA_STYLE_DIM);
    trilha_cli_puts(to, "  (");
    trilha_cli_put_safe(to, trilha_text_of(e->schema_pointer));
    trilha_cli_puts(to, ")");
    trilha_cli_style_set(to, TRILHA_STYLE_PLAIN);
    trilha_cli_puts(to, "\n");
  }
  trilha_cli_flush(to);
}

void trilha_cli_show_refusal(trilha_cli *cli, trilha_cli_output *to, const trilha_error *error,
                             const trilha_publish_result *result) {
  trilha_cli_put_error(cli, to, error);
  trilha_cli_puts(to, "\n");
  put_reasons(cli, to, result);
}

void trilha_cli_outcome_failed(trilha_cli *cli, int64_t line, const trilha_error *error,
                               const trilha_publish_result *result) {
  if (cli->json) failed_json(cli, line, error, result);
  if (line == 0) {
    trilha_cli_fail(cli, error);
    put_reasons(cli, &cli->err, result);
  } else if (!cli->json) {
    trilha_cli_tell(cli, SAY_LINE, (long long)line);
    trilha_cli_show_refusal(cli, &cli->out, error, result);
  }
}
