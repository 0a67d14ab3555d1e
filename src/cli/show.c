/* cli/show: events, on a line, on a page or in a table. */
#include <stdio.h>

#include "cli/cli_internal.h"
#include "cli/messages.h"

int trilha_cli_put_event_json(trilha_cli *cli, const trilha_event *event) {
  char *json = NULL;
  size_t size = 0;
  trilha_error error = {0};
  if (trilha_event_to_json(event, &json, &size, &error) != TRILHA_OK) return trilha_cli_fail(cli, &error);
  trilha_cli_put_json(&cli->out, (trilha_text){json, size});
  trilha_free(json);
  return TRILHA_EXIT_OK;
}

static int page_json(trilha_cli *cli, const trilha_events_page *page) {
  trilha_cli_puts(&cli->out, "{\"linhas\":[");
  for (size_t i = 0; i < page->count; i++) {
    if (i > 0) trilha_cli_puts(&cli->out, ",");
    int status = trilha_cli_put_event_json(cli, &page->linhas[i]);
    if (status != TRILHA_EXIT_OK) return status;
  }
  trilha_cli_putf(&cli->out, "],\"total\":%lld,\"limite\":%lld,\"deslocamento\":%lld}\n", (long long)page->total,
                  (long long)page->limite, (long long)page->deslocamento);
  return TRILHA_EXIT_OK;
}

static void page_table(trilha_cli *cli, const trilha_events_page *page) {
  static const char *const headings[] = {"SEQ", "TIMESTAMP", "TIPO", "ORIGEM", "EVENT_ID", "PAYLOAD"};
  enum { COLUMNS = sizeof headings / sizeof headings[0] };
  trilha_cli_table table;
  trilha_cli_table_init(&table, COLUMNS);
  table.right[0] = table.firm[0] = table.firm[1] = table.firm[4] = true;
  table.spare[3] = table.spare[5] = true;
  for (size_t i = 0; i < COLUMNS; i++) trilha_cli_table_add(&table, trilha_text_of(headings[i]));
  for (size_t i = 0; i < page->count; i++) {
    const trilha_event *event = &page->linhas[i];
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)event->sequence_number);
    trilha_cli_table_add(&table, trilha_text_of(number));
    trilha_cli_table_add(&table, trilha_text_of(event->timestamp));
    trilha_cli_table_add(&table, trilha_text_of(event->tipo));
    trilha_cli_table_add(&table, trilha_text_of(event->origem));
    trilha_cli_table_add(&table, trilha_text_of(event->event_id));
    trilha_cli_table_add(&table, (trilha_text){event->payload, event->payload_size});
  }
  trilha_cli_table_print(cli, &table);
  trilha_cli_table_done(&table);
}

int trilha_cli_show_page(trilha_cli *cli, const trilha_events_page *page) {
  if (cli->json) return page_json(cli, page);
  if (page->count > 0) page_table(cli, page);
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_DIM);
  if (page->total == 0) {
    trilha_cli_tell(cli, SAY_PAGE_NONE);
  } else if (page->count == 0) {
    trilha_cli_tell(cli, SAY_PAGE_EMPTY, (long long)page->total);
  } else {
    trilha_cli_tell(cli, SAY_PAGE_FOOT, (long long)page->deslocamento + 1,
                    (long long)page->deslocamento + (long long)page->count, (long long)page->total);
  }
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_EXIT_OK;
}

typedef struct indenter {
  trilha_cli *cli;
  trilha_buffer line;
  int indent;
} indenter;

static void end_line(indenter *n, int change) {
  trilha_cli_put_safe(&n->cli->out, trilha_buffer_text(&n->line));
  trilha_buffer_clear(&n->line);
  n->indent += change;
  trilha_cli_putf(&n->cli->out, "\n%*s", n->indent, "");
}

/* One character outside strings; `last` and `next` are its neighbours without white space. */
static void indent_mark(indenter *n, char c, char last, char next) {
  bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
  if (closes && last != '{' && last != '[') end_line(n, -2);
  trilha_buffer_add_char(&n->line, c);
  if (c == ':') trilha_buffer_add_char(&n->line, ' ');
  if (opens && next != '}' && next != ']') end_line(n, 2);
  if (c == ',') end_line(n, 0);
}

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The text is valid JSON, so looking at the characters outside strings is enough. */
void trilha_cli_put_indented(trilha_cli *cli, trilha_text json, int indent) {
  indenter n = {.cli = cli, .indent = indent};
  bool in_string = false;
  char last = '\0';
  trilha_buffer_init(&n.line, 0);
  for (size_t i = 0; i < json.size; i++) {
    char c = json.data[i];
    if (in_string) {
      trilha_buffer_add_char(&n.line, c);
      if (c == '\\' && i + 1 < json.size) trilha_buffer_add_char(&n.line, json.data[++i]);
      in_string = c != '"';
    } else if (!is_blank(c)) {
      size_t after = i + 1;
      while (after < json.size && is_blank(json.data[after])) after++;
      indent_mark(&n, c, last, after < json.size ? json.data[after] : '\0');
      in_string = c == '"';
      last = c;
    }
  }
  trilha_cli_put_safe(&cli->out, trilha_buffer_text(&n.line));
  trilha_buffer_done(&n.line);
}

static void field(trilha_cli *cli, const char *name, const char *value) {
  if (value == NULL) return;
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_DIM);
  trilha_cli_putf(&cli->out, "%-20s", name);
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  trilha_cli_put_safe(&cli->out, trilha_text_of(value));
  trilha_cli_puts(&cli->out, "\n");
}

void trilha_cli_show_event(trilha_cli *cli, const trilha_event *event) {
  char number[24];
  snprintf(number, sizeof number, "%lld", (long long)event->sequence_number);
  field(cli, "sequence_number", number);
  field(cli, "event_id", event->event_id);
  field(cli, "tipo", event->tipo);
  field(cli, "versao_schema", event->versao_schema);
  field(cli, "timestamp", event->timestamp);
  field(cli, "origem", event->origem);
  field(cli, "correlacao_id", event->correlacao_id);
  field(cli, "criado_em", event->criado_em);
  field(cli, "tenant_id", event->tenant_id);
  field(cli, "company_id", event->company_id);
  field(cli, "aggregate_type", event->aggregate_type);
  field(cli, "aggregate_key", event->aggregate_key);
  snprintf(number, sizeof number, "%lld", (long long)event->aggregate_sequence);
  field(cli, "aggregate_sequence", event->aggregate_sequence == 0 ? NULL : number);
  field(cli, "causation_id", event->causation_id);
  field(cli, "traceparent", event->traceparent);
  field(cli, "tracestate", event->tracestate);
  field(cli, "payload_estado", event->payload_estado == TRILHA_PAYLOAD_COMPLETO ? "completo" : "redigido");
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_DIM);
  trilha_cli_puts(&cli->out, "payload\n  ");
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  trilha_cli_put_indented(cli, (trilha_text){event->payload, event->payload_size}, 2);
  trilha_cli_puts(&cli->out, "\n");
}

/* One line on a terminal, cut at its width. */
static void event_line(trilha_cli *cli, const trilha_event *event) {
  TRILHA_BUFFER_SCOPED line;
  trilha_buffer_init(&line, 0);
  trilha_buffer_add_format(&line, "%8lld  %s  ", (long long)event->sequence_number, event->timestamp);
  trilha_cli_escape(&line, trilha_text_of(event->tipo));
  trilha_buffer_add_string(&line, "  ");
  trilha_cli_escape(&line, trilha_text_of(event->origem));
  trilha_buffer_add_string(&line, "  ");
  trilha_cli_escape(&line, (trilha_text){event->payload, event->payload_size});
  trilha_text text = trilha_buffer_text(&line);
  if (trilha_cli_columns(text) > cli->width) {
    text.size = trilha_cli_cut(text, cli->width - 1);
    trilha_cli_put(&cli->out, text);
    trilha_cli_puts(&cli->out, "…");
  } else {
    trilha_cli_put(&cli->out, text);
  }
}

int trilha_cli_put_event_line(trilha_cli *cli, const trilha_event *event) {
  int status = TRILHA_EXIT_OK;
  if (cli->json || !cli->out.terminal) {
    status = trilha_cli_put_event_json(cli, event);
  } else {
    event_line(cli, event);
  }
  trilha_cli_puts(&cli->out, "\n");
  return status;
}
