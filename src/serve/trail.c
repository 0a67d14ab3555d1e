/* serve: the audit trail. */
#include "serve/serve_internal.h"
#include "trilha/audit.h"

static void add_record(trilha_buffer *out, const trilha_audit_record *r) {
  trilha_buffer_add_format(out, "{\"id\":\"%lld\"", (long long)r->id);
  trilha_add_member(out, false, "created_at", r->created_at);
  trilha_add_member(out, false, "action", r->action);
  trilha_add_member(out, false, "user", r->user);
  trilha_add_member(out, false, "change_type", r->change_type);
  trilha_add_member(out, false, "entity", r->entity);
  trilha_add_member(out, false, "entity_id", r->entity_id);
  trilha_buffer_add_format(out, ",\"metadata\":%s}", r->metadata);
}

static void answer_records(trilha_call *call, const trilha_audit_records *records) {
  trilha_buffer *out = &call->answer->body;
  trilha_buffer_add_string(out, "{\"linhas\":[");
  for (size_t i = 0; i < records->count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    add_record(out, &records->items[i]);
  }
  if (records->next_after != 0)
    trilha_buffer_add_format(out, "],\"proximo\":\"%lld\"}\n", (long long)records->next_after);
  else
    trilha_buffer_add_string(out, "],\"proximo\":null}\n");
  call->answer->status = 200;
  call->answer->content_type = "application/json";
}

void trilha_api_audit(trilha_call *call) {
  enum { ACTION, ENTITY, ENTITY_ID, FROM, TO, LIMITE, APOS, COUNT };
  trilha_parameter p[COUNT] = {
      [ACTION] = {.name = "action"},
      [ENTITY] = {.name = "entity"},
      [ENTITY_ID] = {.name = "entity_id"},
      [FROM] = {.name = "from"},
      [TO] = {.name = "to"},
      [LIMITE] = {.name = "limite", .is_number = true, .least = 1},
      [APOS] = {.name = "apos", .is_number = true},
  };
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  if (!trilha_api_parameters(call, p, COUNT, &memory)) return;
  trilha_audit_filter filter = {.action = p[ACTION].text,
                                .entity = p[ENTITY].text,
                                .entity_id = p[ENTITY_ID].text,
                                .from = p[FROM].text,
                                .to = p[TO].text,
                                .after_id = p[APOS].number,
                                .limite = p[LIMITE].number};
  trilha_audit_records *records = NULL;
  trilha_error error = {0};
  if (trilha_audit_list(call->serve->handle, &filter, &records, &error) != TRILHA_OK) {
    trilha_answer_error(call, &error);
    return;
  }
  answer_records(call, records);
  trilha_audit_records_free(records);
}
