/* cli/worker_list: who delivers an outbox, and asking one of them to drain. */
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "trilha/relay.h"

static void put_worker_json(trilha_cli_output *out, const trilha_outbox_worker *w) {
  trilha_cli_puts(out, "{");
  trilha_cli_put_json_member(out, true, "worker", w->worker);
  trilha_cli_put_json_member(out, false, "status", w->status);
  trilha_cli_put_json_member(out, false, "destinations", w->destinations);
  trilha_cli_putf(out, ",\"threads\":%lld,\"leases\":%lld", (long long)w->threads, (long long)w->leases);
  trilha_cli_put_json_member(out, false, "started_at", w->started_at);
  trilha_cli_put_json_member(out, false, "seen_at", w->seen_at);
  trilha_cli_put_json_member(out, false, "expected_by", w->expected_by);
  trilha_cli_put_json_member(out, false, "drain_at", w->drain_at);
  trilha_cli_put_json_member(out, false, "drain_user", w->drain_user);
  trilha_cli_put_json_member(out, false, "drain_reason", w->drain_reason);
  trilha_cli_puts(out, "}\n");
}

static trilha_status put_worker(void *user, const trilha_outbox_worker *w) {
  trilha_cli_rows *r = user;
  r->count++;
  if (r->cli->json) {
    put_worker_json(&r->cli->out, w);
    return TRILHA_OK;
  }
  trilha_cli_table_add(&r->table, w->worker);
  trilha_cli_table_add(&r->table, w->status);
  trilha_cli_table_add(&r->table, w->destinations);
  trilha_cli_table_add_number(&r->table, w->leases);
  trilha_cli_table_add(&r->table, w->started_at);
  trilha_cli_table_add(&r->table, w->seen_at);
  trilha_cli_table_add(&r->table, w->drain_user);
  trilha_cli_table_add(&r->table, w->drain_reason);
  return TRILHA_OK;
}

static trilha_status list(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"WORKER",  "STATUS", "DESTINATIONS", "LEASES",
                                         "STARTED", "SEEN",   "DRAINED_BY",   "REASON"};
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  r.table.firm[0] = r.table.right[3] = r.table.spare[6] = r.table.spare[7] = true;
  trilha_status status = trilha_outbox_workers(outbox, put_worker, &r, error);
  trilha_cli_rows_end(&r, status, (trilha_cli_words){SAY_NO_WORKERS});
  return status;
}

int trilha_cli_run_worker_list(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, list);
}

static trilha_status drain(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  char user[256];
  trilha_status status =
      trilha_outbox_worker_drain(outbox, trilha_text_of(args->operands[0]), trilha_cli_user(user, sizeof user),
                                 trilha_cli_text(args, "reason"), error);
  if (status != TRILHA_OK) return status;
  trilha_cli_tell(cli, SAY_DRAIN_ASKED, args->operands[0], TRILHA_RELAY_BEAT_MS / 1000);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

int trilha_cli_run_worker_drain(trilha_cli *cli, const trilha_cli_args *args) {
  if (trilha_cli_text(args, "reason").size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "reason");
  return trilha_cli_with_outbox(cli, args, drain);
}
