/* serve: the three queries of specification 000, section 5.4. */
#include "json/json.h"
#include "serve/serve_internal.h"

enum { TRACE_MOST = 500 };

static bool add_event(trilha_call *call, const trilha_event *event, bool cloud) {
  trilha_buffer *out = &call->answer->body;
  if (cloud) {
    trilha_write_cloudevent(out, event);
    return true;
  }
  char *json = NULL;
  size_t size = 0;
  trilha_error error = {0};
  if (trilha_event_to_json(event, &json, &size, &error) != TRILHA_OK) {
    trilha_answer_error(call, &error);
    return false;
  }
  trilha_buffer_append(out, json, size);
  trilha_free(json);
  return true;
}

/* The page object of the contract has a total; a page by `apos` says where to go on instead, and counts nothing. */
static void end_page(trilha_buffer *out, const trilha_events_page *page, bool keyset) {
  if (!keyset)
    trilha_buffer_add_format(out, "],\"total\":%lld,\"limite\":%lld,\"deslocamento\":%lld}\n", (long long)page->total,
                             (long long)page->limite, (long long)page->deslocamento);
  else if (page->more)
    trilha_buffer_add_format(out, "],\"limite\":%lld,\"proximo\":\"%lld\"}\n", (long long)page->limite,
                             (long long)page->linhas[page->count - 1].sequence_number);
  else
    trilha_buffer_add_format(out, "],\"limite\":%lld,\"proximo\":null}\n", (long long)page->limite);
}

static void answer_page(trilha_call *call, const trilha_events_page *page, bool keyset) {
  trilha_buffer *out = &call->answer->body;
  bool cloud = trilha_wants_cloudevents(call->request);
  trilha_buffer_add_string(out, cloud ? "[" : "{\"linhas\":[");
  for (size_t i = 0; i < page->count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    if (!add_event(call, &page->linhas[i], cloud)) return;
  }
  call->answer->status = 200;
  call->answer->content_type = cloud ? "application/cloudevents-batch+json" : "application/json";
  trilha_http_answer_header_add(call->answer, "Vary", "Accept");
  if (cloud)
    trilha_buffer_add_string(out, "]\n");
  else
    end_page(out, page, keyset);
}

static void query(trilha_call *call, const trilha_events_filter *filter) {
  trilha_events_page *page = NULL;
  trilha_error error = {0};
  if (trilha_events_query(call->serve->handle, filter, &page, &error) != TRILHA_OK) {
    trilha_answer_error(call, &error);
    return;
  }
  answer_page(call, page, filter->without_total);
  trilha_events_page_free(page);
}

void trilha_api_events(trilha_call *call) {
  enum { TIPO, ORIGEM, CORRELACAO, INICIO, FIM, SEQUENCE_INICIO, SEQUENCE_FIM, LIMITE, DESLOCAMENTO, APOS, COUNT };
  trilha_parameter p[COUNT] = {
      [TIPO] = {.name = "tipo"},
      [ORIGEM] = {.name = "origem"},
      [CORRELACAO] = {.name = "correlacao_id"},
      [INICIO] = {.name = "timestamp_inicio"},
      [FIM] = {.name = "timestamp_fim"},
      [SEQUENCE_INICIO] = {.name = "sequence_inicio", .is_number = true},
      [SEQUENCE_FIM] = {.name = "sequence_fim", .is_number = true, .least = 1},
      [LIMITE] = {.name = "limite", .is_number = true, .least = 1},
      [DESLOCAMENTO] = {.name = "deslocamento", .is_number = true},
      [APOS] = {.name = "apos", .is_number = true},
  };
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  if (!trilha_api_parameters(call, p, COUNT, &memory)) return;
  if (p[APOS].given && p[DESLOCAMENTO].given) {
    trilha_answer_problem(call->answer, 400, "PARAMETER_INVALID",
                          "apos and deslocamento are two ways to page: give one");
    return;
  }
  int64_t from = p[SEQUENCE_INICIO].number;
  if (p[APOS].given && p[APOS].number + 1 > from) from = p[APOS].number + 1;
  trilha_events_filter filter = {.tipo = p[TIPO].text,
                                 .origem = p[ORIGEM].text,
                                 .correlacao_id = p[CORRELACAO].text,
                                 .timestamp_inicio = p[INICIO].text,
                                 .timestamp_fim = p[FIM].text,
                                 .sequence_inicio = from,
                                 .sequence_fim = p[SEQUENCE_FIM].number,
                                 .limite = p[LIMITE].number,
                                 .deslocamento = p[DESLOCAMENTO].number,
                                 .without_total = p[APOS].given};
  query(call, &filter);
}

void trilha_api_event(trilha_call *call) {
  trilha_event *event = NULL;
  trilha_error error = {0};
  if (!trilha_api_no_parameters(call)) return;
  if (trilha_event_get(call->serve->handle, call->operands[0], &event, &error) != TRILHA_OK) {
    trilha_answer_error(call, &error);
    return;
  }
  bool cloud = trilha_wants_cloudevents(call->request);
  if (add_event(call, event, cloud)) {
    trilha_buffer_add_char(&call->answer->body, '\n');
    call->answer->status = 200;
    call->answer->content_type = cloud ? "application/cloudevents+json" : "application/json";
    trilha_http_answer_header_add(call->answer, "Vary", "Accept");
  }
  trilha_event_free(event);
}

void trilha_api_trace(trilha_call *call) {
  if (!trilha_api_no_parameters(call)) return;
  if (call->operands[0].size == 0) {
    trilha_answer_problem(call->answer, 400, "UUID_INVALID", "a trace wants a correlation id: /api/events/trace/UUID");
    return;
  }
  trilha_events_filter filter = {.correlacao_id = call->operands[0], .limite = TRACE_MOST};
  query(call, &filter);
}
