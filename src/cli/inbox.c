/* cli/inbox: what consumers accepted, and what came again. */
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"

static trilha_inbox_filter filter_of(const trilha_cli_args *args) {
  return (trilha_inbox_filter){.tenant_id = trilha_cli_text(args, "tenant"),
                               .consumer = trilha_cli_text(args, "consumer"),
                               .message_id = trilha_cli_text(args, "message"),
                               .limit = trilha_cli_number(args, "limit", 0),
                               .after = trilha_cli_text(args, "after")};
}

static void put_entry_json(trilha_cli_output *out, const trilha_inbox_entry *e) {
  trilha_cli_puts(out, "{");
  trilha_cli_put_json_member(out, true, "tenant_id", e->tenant_id);
  trilha_cli_put_json_member(out, false, "consumer", e->consumer);
  trilha_cli_put_json_member(out, false, "message_id", e->message_id);
  trilha_cli_put_json_member(out, false, "payload_sha256", e->payload_sha256);
  trilha_cli_put_json_member(out, false, "accepted_at", e->accepted_at);
  if (e->result_bytes < 0)
    trilha_cli_puts(out, ",\"result_bytes\":null");
  else
    trilha_cli_putf(out, ",\"result_bytes\":%lld", (long long)e->result_bytes);
  trilha_cli_putf(out, ",\"duplicates\":%lld,\"conflicts\":%lld", (long long)e->duplicates, (long long)e->conflicts);
  trilha_cli_put_json_member(out, false, "place", e->place);
  trilha_cli_puts(out, "}\n");
}

static trilha_status put_entry(void *user, const trilha_inbox_entry *e) {
  trilha_cli_rows *r = user;
  r->count++;
  if (r->cli->json) {
    put_entry_json(&r->cli->out, e);
    return TRILHA_OK;
  }
  trilha_cli_table_add(&r->table, e->tenant_id);
  trilha_cli_table_add(&r->table, e->consumer);
  trilha_cli_table_add(&r->table, e->message_id);
  trilha_cli_table_add(&r->table, e->accepted_at);
  trilha_cli_table_add_number(&r->table, e->duplicates);
  trilha_cli_table_add_number(&r->table, e->conflicts);
  return TRILHA_OK;
}

static trilha_status list(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"TENANT", "CONSUMER", "MESSAGE_ID", "ACCEPTED", "DUPLICATES", "CONFLICTS"};
  const trilha_inbox_filter filter = filter_of(args);
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  r.table.firm[2] = r.table.right[4] = r.table.right[5] = true;
  trilha_status status = trilha_inbox_list(outbox, &filter, put_entry, &r, error);
  trilha_cli_rows_end(&r, status, (trilha_cli_words){SAY_NO_INBOX});
  return status;
}

int trilha_cli_run_inbox_list(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, list);
}

static trilha_status put_conflict(void *user, const trilha_inbox_conflict *c) {
  trilha_cli_rows *r = user;
  trilha_cli_output *out = &r->cli->out;
  r->count++;
  if (!r->cli->json) {
    const trilha_text cells[] = {c->received_at, c->tenant_id,       c->consumer,
                                 c->message_id,  c->accepted_sha256, c->received_sha256};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) trilha_cli_table_add(&r->table, cells[i]);
    return TRILHA_OK;
  }
  trilha_cli_puts(out, "{");
  trilha_cli_put_json_member(out, true, "tenant_id", c->tenant_id);
  trilha_cli_put_json_member(out, false, "consumer", c->consumer);
  trilha_cli_put_json_member(out, false, "message_id", c->message_id);
  trilha_cli_put_json_member(out, false, "accepted_sha256", c->accepted_sha256);
  trilha_cli_put_json_member(out, false, "accepted_at", c->accepted_at);
  trilha_cli_put_json_member(out, false, "received_sha256", c->received_sha256);
  trilha_cli_put_json_member(out, false, "received_at", c->received_at);
  trilha_cli_put_json_member(out, false, "place", c->place);
  trilha_cli_puts(out, "}\n");
  return TRILHA_OK;
}

static trilha_status conflicts(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox,
                               trilha_error *error) {
  static const char *const headings[] = {"RECEIVED",   "TENANT",          "CONSUMER",
                                         "MESSAGE_ID", "ACCEPTED_SHA256", "RECEIVED_SHA256"};
  const trilha_inbox_filter filter = filter_of(args);
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  r.table.firm[3] = true;
  trilha_status status = trilha_inbox_conflicts(outbox, &filter, put_conflict, &r, error);
  trilha_cli_rows_end(&r, status, (trilha_cli_words){SAY_NO_CONFLICTS});
  return status;
}

int trilha_cli_run_inbox_conflicts(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, conflicts);
}
