/* serve: what operators do and look at beside the log: dead letters, types, consumers. */
#include "base/clock.h"
#include "serve/serve_internal.h"
#include "trilha/audit.h"

enum { LETTERS_MOST = 500, COLONY_CHARS_MOST = 100 };

/* --- reprocessing ------------------------------------------------------------------------------------------------- */

/* Audited in the transaction that takes the rows or stores the request: what cannot be written down is not done. */
static void reprocess(trilha_call *call, trilha_text colony) {
  trilha_reprocessed done = {0};
  trilha_error error = {0};
  char address[TRILHA_ADDRESS_SIZE];
  trilha_address_format(&call->caller.client, address);
  const trilha_audit_pair pairs[] = {{"address", trilha_text_of(address)}};
  if (trilha_reprocess_for(call->serve->handle, colony, trilha_text_of(call->caller.identity.subject), pairs, 1,
                           call->serve->reprocess_wait_ms, &done, &error) != TRILHA_OK) {
    trilha_sample_heard(&call->serve->sample, &error);
    trilha_answer_error(call, &error);
    return;
  }
  trilha_buffer_add_format(&call->answer->body, "{\"reprocessados\":%lld,\"falhas\":%lld",
                           (long long)done.reprocessados, (long long)done.failed);
  if (done.reason != NULL) trilha_add_member(&call->answer->body, false, "motivo", done.reason);
  trilha_buffer_add_char(&call->answer->body, '}');
  trilha_answer_json(call);
}

/* One waits for another process: never more of them at once than leave workers for everybody else. */
static void reprocess_in_turn(trilha_call *call, trilha_text colony) {
  trilha_serve *serve = call->serve;
  if (atomic_fetch_add(&serve->reprocesses, 1) < serve->reprocess_most) {
    reprocess(call, colony);
  } else {
    trilha_answer_problem(call->answer, 503, "REPROCESS_BUSY", NULL);
    trilha_http_answer_header_add(call->answer, "Retry-After", "60");
  }
  atomic_fetch_sub(&serve->reprocesses, 1);
}

static void reprocess_at_rate(trilha_call *call, trilha_text colony) {
  int64_t retry_s = 1;
  trilha_address counted = trilha_address_client(&call->caller.client);
  if (trilha_rate_take(call->serve->gate.reprocesses, &counted, trilha_clock_monotonic_ns(), &retry_s)) {
    reprocess_in_turn(call, colony);
  } else {
    trilha_answer_problem(call->answer, 429, NULL, NULL);
    trilha_http_answer_header_add(call->answer, "Retry-After", "%lld", (long long)retry_s);
  }
}

void trilha_api_reprocess(trilha_call *call) {
  trilha_json_document *document = NULL;
  trilha_member colony = {.name = "colonia", .needed = true, .chars_max = COLONY_CHARS_MOST};
  if (!trilha_api_no_parameters(call)) return;
  if (trilha_api_body(call, &colony, 1, &document)) reprocess_at_rate(call, colony.text);
  trilha_json_document_free(document);
}

/* --- dead letters ---------------------------------------------------------------------------------------------------
 */

static void add_letter(trilha_buffer *out, const trilha_dead_letter *letter) {
  trilha_buffer_add_format(out, "{\"id\":\"%lld\"", (long long)letter->id);
  trilha_add_member(out, false, "event_id", letter->event_id);
  trilha_buffer_add_format(out, ",\"sequence_number\":\"%lld\"", (long long)letter->sequence_number);
  trilha_add_member(out, false, "tipo", letter->tipo);
  trilha_add_member(out, false, "colonia", letter->colonia);
  trilha_add_member(out, false, "handler_nome", letter->handler_nome);
  trilha_add_member(out, false, "mensagem_erro", letter->mensagem_erro);
  trilha_add_member(out, false, "pilha_erro", letter->pilha_erro);
  trilha_buffer_add_format(out, ",\"tentativas\":%lld", (long long)letter->tentativas);
  trilha_add_member(out, false, "ultima_tentativa", letter->ultima_tentativa);
  trilha_add_member(out, false, "status", letter->status);
  trilha_add_member(out, false, "criado_em", letter->criado_em);
  trilha_add_member(out, false, "resolvido_em", letter->resolvido_em);
  trilha_buffer_add_char(out, '}');
}

static trilha_dead_letters *letters_of(trilha_call *call, const trilha_dead_letters_filter *filter) {
  trilha_dead_letters *letters = NULL;
  trilha_error error = {0};
  if (trilha_dead_letters_query(call->serve->handle, filter, &letters, &error) == TRILHA_OK) return letters;
  trilha_answer_error(call, &error);
  return NULL;
}

void trilha_api_letters(trilha_call *call) {
  enum { COLONIA, TIPO, STATUS, EVENT_ID, LIMITE, APOS, COUNT };
  trilha_parameter p[COUNT] = {
      [COLONIA] = {.name = "colonia"},
      [TIPO] = {.name = "tipo"},
      [STATUS] = {.name = "status"},
      [EVENT_ID] = {.name = "event_id"},
      [LIMITE] = {.name = "limite", .is_number = true, .least = 1},
      [APOS] = {.name = "apos", .is_number = true},
  };
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  if (!trilha_api_parameters(call, p, COUNT, &memory)) return;
  trilha_dead_letters_filter filter = {.colonia = p[COLONIA].text,
                                       .tipo = p[TIPO].text,
                                       .status = p[STATUS].text,
                                       .event_id = p[EVENT_ID].text,
                                       .after_id = p[APOS].number,
                                       .limite = p[LIMITE].number > LETTERS_MOST ? LETTERS_MOST : p[LIMITE].number};
  trilha_dead_letters *letters = letters_of(call, &filter);
  if (letters == NULL) return;
  trilha_buffer *out = &call->answer->body;
  trilha_buffer_add_string(out, "{\"linhas\":[");
  for (size_t i = 0; i < letters->count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    add_letter(out, &letters->items[i]);
  }
  if (letters->next_after != 0)
    trilha_buffer_add_format(out, "],\"proximo\":\"%lld\"}", (long long)letters->next_after);
  else
    trilha_buffer_add_string(out, "],\"proximo\":null}");
  trilha_answer_json(call);
  trilha_dead_letters_free(letters);
}

void trilha_api_letter(trilha_call *call) {
  if (!trilha_api_no_parameters(call)) return;
  trilha_dead_letters_filter filter = {0};
  for (size_t i = 0; i < call->operands[0].size && i < 19; i++) {
    char c = call->operands[0].data[i];
    filter.id = c >= '0' && c <= '9' && i < 18 && filter.id >= 0 ? filter.id * 10 + (c - '0') : -1;
  }
  if (filter.id <= 0) {
    trilha_answer_problem(call->answer, 400, "ID_INVALID", "a dead letter has a number from 1");
    return;
  }
  trilha_dead_letters *letters = letters_of(call, &filter);
  if (letters == NULL) return;
  if (letters->count == 0) {
    trilha_answer_problem(call->answer, 404, "DEAD_LETTER_NOT_FOUND", "there is no dead letter of this number");
  } else {
    add_letter(&call->answer->body, &letters->items[0]);
    trilha_answer_json(call);
  }
  trilha_dead_letters_free(letters);
}

void trilha_api_letter_stats(trilha_call *call) {
  if (!trilha_api_no_parameters(call)) return;
  trilha_dead_letter_statistics *stats = NULL;
  trilha_error error = {0};
  if (trilha_dead_letter_stats(call->serve->handle, &stats, &error) != TRILHA_OK) {
    trilha_answer_error(call, &error);
    return;
  }
  trilha_buffer *out = &call->answer->body;
  trilha_buffer_add_string(out, "{\"pendentes_por_colonia\":{");
  for (size_t i = 0; i < stats->count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    trilha_json_write_string(out, trilha_text_of(stats->pendentes_por_colonia[i].colonia));
    trilha_buffer_add_format(out, ":%lld", (long long)stats->pendentes_por_colonia[i].pendentes);
  }
  trilha_buffer_add_format(out, "},\"total_pendentes\":%lld}", (long long)stats->total_pendentes);
  trilha_answer_json(call);
  trilha_dead_letter_statistics_free(stats);
}

/* --- types and consumers
 * ------------------------------------------------------------------------------------------------ */

static void add_type(trilha_buffer *out, const trilha_registered_type *type) {
  trilha_buffer_add_char(out, '{');
  trilha_add_member(out, true, "tipo", type->tipo);
  trilha_add_member(out, false, "versao", type->versao);
  trilha_add_member(out, false, "descricao", type->descricao);
  trilha_add_member(out, false, "status", type->status);
  trilha_add_member(out, false, "criado_em", type->criado_em);
  trilha_buffer_add_format(out, ",\"schema\":%s}", type->schema == NULL ? "null" : type->schema);
}

void trilha_api_types(trilha_call *call) {
  trilha_parameter p[] = {{.name = "tipo"}};
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  if (!trilha_api_parameters(call, p, 1, &memory)) return;
  trilha_registered_types *types = NULL;
  trilha_error error = {0};
  if (trilha_registry_list(call->serve->handle, p[0].text, &types, &error) != TRILHA_OK) {
    trilha_answer_error(call, &error);
    return;
  }
  trilha_buffer *out = &call->answer->body;
  trilha_buffer_add_string(out, "{\"linhas\":[");
  for (size_t i = 0; i < types->count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    add_type(out, &types->items[i]);
  }
  trilha_buffer_add_string(out, "]}");
  trilha_answer_json(call);
  trilha_registered_types_free(types);
}

static void add_consumer(trilha_buffer *out, const trilha_consumer_state *state) {
  trilha_buffer_add_char(out, '{');
  trilha_add_member(out, true, "colonia", state->colonia);
  trilha_add_member(out, false, "grupo", state->grupo);
  trilha_add_member(out, false, "tipo", state->tipo);
  trilha_add_member(out, false, "state", state->state);
  trilha_add_member(out, false, "holder", state->holder);
  trilha_buffer_add_format(out, ",\"last_sequence\":\"%lld\",\"lag_events\":%lld,\"lag_seconds\":%lld",
                           (long long)state->last_sequence, (long long)state->lag_events,
                           (long long)state->lag_seconds);
  trilha_add_member(out, false, "updated_at", state->updated_at);
  trilha_buffer_add_char(out, '}');
}

void trilha_api_consumers(trilha_call *call) {
  trilha_parameter p[] = {{.name = "colonia"}};
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  if (!trilha_api_parameters(call, p, 1, &memory)) return;
  trilha_consumer_states *states = NULL;
  trilha_error error = {0};
  if (trilha_consumers_list(call->serve->handle, p[0].text, &states, &error) != TRILHA_OK) {
    trilha_answer_error(call, &error);
    return;
  }
  trilha_buffer *out = &call->answer->body;
  trilha_buffer_add_string(out, "{\"linhas\":[");
  for (size_t i = 0; i < states->count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    add_consumer(out, &states->items[i]);
  }
  trilha_buffer_add_string(out, "]}");
  trilha_answer_json(call);
  trilha_consumer_states_free(states);
}
