/* serve: what operators see of registered outboxes. Never a payload: that is another route, which says who and why. */
#include "serve/quota_holders.h"
#include "serve/serve_internal.h"

/* The rows of an answer, and where a next page goes on. */
typedef struct rows {
  trilha_buffer *out;
  int64_t count, last;
  trilha_buffer *place; /* of the last row, where it is a text */
} rows;

static rows rows_begin(trilha_call *call) {
  trilha_buffer_add_string(&call->answer->body, "{\"linhas\":[");
  return (rows){.out = &call->answer->body};
}

static void row_begin(rows *r) {
  trilha_buffer_add_string(r->out, r->count++ == 0 ? "{" : ",{");
}

static void add_number(trilha_buffer *out, const char *name, int64_t number) {
  trilha_buffer_add_format(out, ",\"%s\":%lld", name, (long long)number);
}

static void add_sequence(trilha_buffer *out, const char *name, int64_t number) {
  trilha_buffer_add_format(out, ",\"%s\":\"%lld\"", name, (long long)number);
}

typedef struct named_text {
  const char *name;
  trilha_text text;
} named_text;

static void add_texts(trilha_buffer *out, const named_text *texts, size_t count) {
  for (size_t i = 0; i < count; i++) trilha_add_member_text(out, false, texts[i].name, texts[i].text);
}

#define ADD_TEXTS(out, texts) add_texts(out, texts, sizeof(texts) / sizeof((texts)[0]))

/* --- sources ----------------------------------------------------------------------------------------------------- */

static void add_source(rows *r, const trilha_config_source *s) {
  TRILHA_BUFFER_SCOPED store;
  trilha_buffer_init(&store, 0);
  trilha_config_source_show(s, &store);
  row_begin(r);
  trilha_add_member_text(r->out, true, "source", s->name);
  trilha_add_member_text(r->out, false, "store", trilha_buffer_text(&store));
  trilha_add_member_text(r->out, false, "schema", s->schema);
  trilha_buffer_add_string(r->out, ",\"destinations\":[");
  for (size_t i = 0; i < s->destination_count; i++) {
    if (i > 0) trilha_buffer_add_char(r->out, ',');
    trilha_json_write_string(r->out, s->destinations[i]);
  }
  trilha_buffer_add_char(r->out, ']');
  const char *name;
  int64_t number;
  for (size_t i = 0; (name = trilha_config_source_number(s, i, &number)) != NULL; i++) add_number(r->out, name, number);
  trilha_buffer_add_char(r->out, '}');
}

void trilha_api_outbox_sources(trilha_call *call) {
  if (!trilha_api_no_parameters(call) || !trilha_api_all_tenants(call)) return;
  const trilha_config_source *source;
  rows r = rows_begin(call);
  for (size_t i = 0; (source = trilha_sources_at(call->serve->sources, i)) != NULL; i++) add_source(&r, source);
  trilha_buffer_add_string(r.out, "]}");
  trilha_answer_json(call);
}

/* --- how it stands ----------------------------------------------------------------------------------------------- */

typedef struct standings {
  rows rows;
  trilha_quota_holders holders;
} standings;

static trilha_status add_standing(void *user, const trilha_outbox_standing *s) {
  standings *all = user;
  rows *r = &all->rows;
  row_begin(r);
  trilha_add_member_text(r->out, true, "destination", s->destination);
  add_number(r->out, "ready", s->ready);
  add_number(r->out, "waiting", s->waiting);
  add_number(r->out, "held", s->held);
  trilha_add_member_text(r->out, false, "held_because", s->held_because);
  add_number(r->out, "leased", s->leased);
  add_number(r->out, "dead", s->dead);
  trilha_add_member_text(r->out, false, "head_at", s->head_at);
  trilha_buffer_add_string(r->out, ",\"at_quota\":");
  trilha_quota_holders_write(&all->holders, s->destination, r->out);
  trilha_buffer_add_char(r->out, '}');
  return TRILHA_OK;
}

static trilha_status standing(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  standings all = {.rows = rows_begin(call)};
  (void)user;
  trilha_status status = trilha_quota_holders_read(outbox, &all.holders, error);
  if (status == TRILHA_OK) status = trilha_outbox_status(outbox, add_standing, &all, error);
  trilha_buffer_add_string(all.rows.out, "]}");
  trilha_quota_holders_done(&all.holders);
  return status;
}

void trilha_api_outbox_status(trilha_call *call) {
  if (trilha_api_no_parameters(call) && trilha_api_all_tenants(call)) trilha_api_with_outbox(call, standing, NULL);
}

/* --- lanes ------------------------------------------------------------------------------------------------------- */

void trilha_api_add_lane(trilha_buffer *out, const trilha_outbox_lane *lane) {
  const named_text of_lane[] = {{"tenant_id", lane->tenant_id},
                                {"aggregate_type", lane->aggregate_type},
                                {"aggregate_key", lane->aggregate_key},
                                {"status", lane->status}};
  const named_text of_head[] = {
      {"message_id", lane->message_id}, {"message_type", lane->message_type}, {"due_at", lane->due_at},
      {"owner", lane->owner},           {"error_code", lane->error_code},     {"error_text", lane->error_text},
      {"head_at", lane->head_at},       {"failed_at", lane->failed_at},       {"held", lane->held}};
  trilha_buffer_add_char(out, '{');
  trilha_add_member_text(out, true, "destination", lane->destination);
  ADD_TEXTS(out, of_lane);
  add_sequence(out, "head_sequence", lane->head_sequence);
  add_number(out, "attempts", lane->attempts);
  add_number(out, "behind", lane->behind);
  ADD_TEXTS(out, of_head);
  trilha_buffer_add_char(out, '}');
}

static trilha_status add_lane(void *user, const trilha_outbox_lane *lane) {
  rows *r = user;
  if (r->count++ > 0) trilha_buffer_add_char(r->out, ',');
  r->last = lane->place;
  trilha_api_add_lane(r->out, lane);
  return TRILHA_OK;
}

/* A page that was full has a next one, which may be empty. */
static trilha_status lanes(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  const trilha_outbox_lanes_filter *filter = user;
  rows r = rows_begin(call);
  trilha_status status = trilha_outbox_lanes(outbox, filter, add_lane, &r, error);
  if (filter->by_place && r.count == filter->limit)
    trilha_buffer_add_format(r.out, "],\"proximo\":\"%lld\"}", (long long)r.last);
  else
    trilha_buffer_add_string(r.out, "],\"proximo\":null}");
  return status;
}

/* The default and the most of the library. */
static int64_t limit_of(const trilha_parameter *parameter, int64_t most) {
  enum { ROWS_DEFAULT = 100 };
  if (!parameter->given) return ROWS_DEFAULT;
  return parameter->number > most ? most : parameter->number;
}

void trilha_api_outbox_lanes(trilha_call *call) {
  enum { TENANT, DESTINATION, STATUS, CODE, LIMITE, APOS, COUNT };
  trilha_parameter p[COUNT] = {
      [TENANT] = {.name = "tenant"},
      [DESTINATION] = {.name = "destination"},
      [STATUS] = {.name = "status"},
      [CODE] = {.name = "code"},
      [LIMITE] = {.name = "limite", .is_number = true, .least = 1},
      [APOS] = {.name = "apos", .is_number = true},
  };
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  if (!trilha_api_parameters(call, p, COUNT, &memory) ||
      !trilha_api_tenant(call, &p[TENANT].text, "trilha.outbox-lane.viewed"))
    return;
  trilha_outbox_lanes_filter filter = {.tenant_id = p[TENANT].text,
                                       .destination = p[DESTINATION].text,
                                       .status = p[STATUS].text,
                                       .error_code = p[CODE].text,
                                       .limit = limit_of(&p[LIMITE], TRILHA_OUTBOX_LANES_MAX),
                                       .by_place = p[APOS].given,
                                       .after_place = p[APOS].number};
  trilha_api_with_outbox(call, lanes, &filter);
}

/* --- one message ---------------------------------------------------------------------------------------------------
 */

static void add_message(trilha_buffer *out, const trilha_outbox_entry *e) {
  const named_text texts[] = {{"company_id", e->company_id},
                              {"aggregate_type", e->aggregate_type},
                              {"aggregate_key", e->aggregate_key},
                              {"message_type", e->message_type},
                              {"version", e->version},
                              {"origin", e->origin},
                              {"correlation_id", e->correlation_id},
                              {"causation_id", e->causation_id},
                              {"traceparent", e->traceparent},
                              {"occurred_at", e->occurred_at},
                              {"created_at", e->created_at},
                              {"payload_sha256", e->payload_sha256}};
  trilha_add_member_text(out, true, "tenant_id", e->tenant_id);
  ADD_TEXTS(out, texts);
  add_sequence(out, "aggregate_sequence", e->aggregate_sequence);
  add_number(out, "payload_bytes", e->payload_bytes);
  add_number(out, "revision", e->revision);
}

static void add_delivery(trilha_buffer *out, const trilha_outbox_entry *e) {
  const named_text texts[] = {{"status", e->status},
                              {"held", e->held},
                              {"next_attempt_at", e->next_attempt_at},
                              {"lease_until", e->lease_until},
                              {"dispatched_at", e->dispatched_at},
                              {"received_at", e->received_at},
                              {"applied_at", e->applied_at},
                              {"said", e->said},
                              {"said_at", e->said_at}};
  trilha_add_member_text(out, true, "destination", e->destination);
  ADD_TEXTS(out, texts);
  add_number(out, "attempts", e->attempts);
  add_number(out, "dispatched_revision", e->dispatched_revision);
}

static trilha_status add_entry(void *user, const trilha_outbox_entry *e) {
  rows *r = user;
  if (r->count == 0) {
    trilha_buffer_add_char(r->out, '{');
    add_message(r->out, e);
    trilha_buffer_add_string(r->out, ",\"deliveries\":[");
  }
  row_begin(r);
  add_delivery(r->out, e);
  trilha_buffer_add_char(r->out, '}');
  return TRILHA_OK;
}

static trilha_status message(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  rows r = {.out = &call->answer->body};
  (void)user;
  trilha_status status = trilha_api_check_message(call, outbox, error);
  if (status == TRILHA_OK) status = trilha_outbox_message(outbox, call->operands[1], add_entry, &r, error);
  trilha_buffer_add_string(r.out, "]}");
  return status;
}

void trilha_api_outbox_message(trilha_call *call) {
  if (trilha_api_no_parameters(call)) trilha_api_with_outbox(call, message, NULL);
}

static trilha_status add_revision(void *user, const trilha_outbox_revision *v) {
  rows *r = user;
  const named_text texts[] = {{"at", v->at},
                              {"user", v->user},
                              {"reason", v->reason},
                              {"payload_sha256", v->payload_sha256},
                              {"accepted", v->accepted}};
  row_begin(r);
  trilha_buffer_add_format(r->out, "\"revision\":%lld", (long long)v->revision);
  add_number(r->out, "payload_bytes", v->payload_bytes);
  ADD_TEXTS(r->out, texts);
  trilha_buffer_add_string(r->out, ",\"diff\":");
  trilha_buffer_add_text(r->out,
                         v->diff.data == NULL ? TRILHA_TEXT("null") : v->diff); /* JSON that the library wrote */
  trilha_buffer_add_char(r->out, '}');
  return TRILHA_OK;
}

static trilha_status revisions(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  rows r = rows_begin(call);
  (void)user;
  trilha_status status = trilha_api_check_message(call, outbox, error);
  if (status == TRILHA_OK) status = trilha_outbox_revisions(outbox, call->operands[1], add_revision, &r, error);
  trilha_buffer_add_string(r.out, "]}");
  return status;
}

void trilha_api_outbox_revisions(trilha_call *call) {
  if (trilha_api_no_parameters(call)) trilha_api_with_outbox(call, revisions, NULL);
}

static trilha_status add_receipt(void *user, const trilha_outbox_receipt *v) {
  rows *r = user;
  const named_text texts[] = {{"fact", v->fact},
                              {"operation_id", v->operation_id},
                              {"stated_at", v->stated_at},
                              {"recorded_at", v->recorded_at},
                              {"source", v->source},
                              {"user", v->user},
                              {"note", v->note}};
  row_begin(r);
  trilha_add_member_text(r->out, true, "destination", v->destination);
  add_number(r->out, "revision", v->revision);
  ADD_TEXTS(r->out, texts);
  trilha_buffer_add_char(r->out, '}');
  return TRILHA_OK;
}

/* The receipts of an unknown message are none to the library; here it is 404, as everywhere. */
static trilha_status ignore_entry(void *user, const trilha_outbox_entry *entry) {
  (void)user;
  (void)entry;
  return TRILHA_OK;
}

static trilha_status receipts(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  rows r = rows_begin(call);
  (void)user;
  trilha_status status = trilha_api_check_message(call, outbox, error);
  if (status == TRILHA_OK) status = trilha_outbox_message(outbox, call->operands[1], ignore_entry, NULL, error);
  if (status == TRILHA_OK) status = trilha_outbox_receipts(outbox, call->operands[1], add_receipt, &r, error);
  trilha_buffer_add_string(r.out, "]}");
  return status;
}

void trilha_api_outbox_receipts(trilha_call *call) {
  if (trilha_api_no_parameters(call)) trilha_api_with_outbox(call, receipts, NULL);
}

/* --- inbox ------------------------------------------------------------------------------------------------------- */

static void keep_place(rows *r, trilha_text place) {
  trilha_buffer_clear(r->place);
  trilha_buffer_add_text(r->place, place);
}

static trilha_status add_accepted(void *user, const trilha_inbox_entry *e) {
  rows *r = user;
  const named_text texts[] = {{"consumer", e->consumer},
                              {"message_id", e->message_id},
                              {"payload_sha256", e->payload_sha256},
                              {"accepted_at", e->accepted_at}};
  row_begin(r);
  trilha_add_member_text(r->out, true, "tenant_id", e->tenant_id);
  ADD_TEXTS(r->out, texts);
  if (e->result_bytes < 0)
    trilha_buffer_add_string(r->out, ",\"result_bytes\":null");
  else
    add_number(r->out, "result_bytes", e->result_bytes);
  add_number(r->out, "duplicates", e->duplicates);
  add_number(r->out, "conflicts", e->conflicts);
  trilha_buffer_add_char(r->out, '}');
  keep_place(r, e->place);
  return TRILHA_OK;
}

static trilha_status add_conflict(void *user, const trilha_inbox_conflict *c) {
  rows *r = user;
  const named_text texts[] = {
      {"consumer", c->consumer},       {"message_id", c->message_id},           {"accepted_sha256", c->accepted_sha256},
      {"accepted_at", c->accepted_at}, {"received_sha256", c->received_sha256}, {"received_at", c->received_at}};
  row_begin(r);
  trilha_add_member_text(r->out, true, "tenant_id", c->tenant_id);
  ADD_TEXTS(r->out, texts);
  trilha_buffer_add_char(r->out, '}');
  keep_place(r, c->place);
  return TRILHA_OK;
}

/* A page that was full has a next one, which may be empty. */
static void end_inbox(const rows *r, int64_t limit) {
  trilha_buffer_add_char(r->out, ']');
  trilha_add_member_text(r->out, false, "proximo", r->count == limit ? trilha_buffer_text(r->place) : (trilha_text){0});
  trilha_buffer_add_char(r->out, '}');
}

static trilha_status inbox(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  TRILHA_BUFFER_SCOPED place;
  trilha_buffer_init(&place, 0);
  const trilha_inbox_filter *filter = user;
  rows r = rows_begin(call);
  r.place = &place;
  trilha_status status = trilha_inbox_list(outbox, filter, add_accepted, &r, error);
  end_inbox(&r, filter->limit);
  return status;
}

static trilha_status conflicts(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  TRILHA_BUFFER_SCOPED place;
  trilha_buffer_init(&place, 0);
  const trilha_inbox_filter *filter = user;
  rows r = rows_begin(call);
  r.place = &place;
  trilha_status status = trilha_inbox_conflicts(outbox, filter, add_conflict, &r, error);
  end_inbox(&r, filter->limit);
  return status;
}

static void look_into_inbox(trilha_call *call, trilha_outbox_work work, const char *action) {
  enum { TENANT, CONSUMER, MESSAGE_ID, LIMITE, APOS, COUNT };
  trilha_parameter p[COUNT] = {
      [TENANT] = {.name = "tenant"},
      [CONSUMER] = {.name = "consumer"},
      [MESSAGE_ID] = {.name = "message_id"},
      [LIMITE] = {.name = "limite", .is_number = true, .least = 1},
      [APOS] = {.name = "apos"},
  };
  TRILHA_BUFFER_SCOPED memory;
  trilha_buffer_init(&memory, 0);
  if (!trilha_api_parameters(call, p, COUNT, &memory) || !trilha_api_tenant(call, &p[TENANT].text, action)) return;
  trilha_inbox_filter filter = {.tenant_id = p[TENANT].text,
                                .consumer = p[CONSUMER].text,
                                .message_id = p[MESSAGE_ID].text,
                                .after = p[APOS].text,
                                .limit = limit_of(&p[LIMITE], TRILHA_INBOX_ROWS_MAX)};
  trilha_api_with_outbox(call, work, &filter);
}

void trilha_api_outbox_inbox(trilha_call *call) {
  look_into_inbox(call, inbox, "trilha.inbox-message.viewed");
}

void trilha_api_outbox_conflicts(trilha_call *call) {
  look_into_inbox(call, conflicts, "trilha.inbox-conflict.viewed");
}

/* --- workers ----------------------------------------------------------------------------------------------------- */

static trilha_status add_worker(void *user, const trilha_outbox_worker *w) {
  rows *r = user;
  const named_text texts[] = {{"status", w->status},           {"destinations", w->destinations},
                              {"started_at", w->started_at},   {"seen_at", w->seen_at},
                              {"expected_by", w->expected_by}, {"drain_at", w->drain_at},
                              {"drain_user", w->drain_user},   {"drain_reason", w->drain_reason}};
  row_begin(r);
  trilha_add_member_text(r->out, true, "worker", w->worker);
  ADD_TEXTS(r->out, texts);
  add_number(r->out, "threads", w->threads);
  add_number(r->out, "leases", w->leases);
  trilha_buffer_add_char(r->out, '}');
  return TRILHA_OK;
}

static trilha_status workers(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  rows r = rows_begin(call);
  (void)user;
  trilha_status status = trilha_outbox_workers(outbox, add_worker, &r, error);
  trilha_buffer_add_string(r.out, "]}");
  return status;
}

void trilha_api_outbox_workers(trilha_call *call) {
  if (trilha_api_no_parameters(call) && trilha_api_all_tenants(call)) trilha_api_with_outbox(call, workers, NULL);
}
