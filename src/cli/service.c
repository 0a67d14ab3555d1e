/* cli/service: what workers may dispatch, and in whose name: granting, revoking, and how the grants stand. */
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"

static trilha_service_grant key_of(const trilha_cli_args *args) {
  return (trilha_service_grant){.credential = trilha_text_of(args->operands[0]),
                                .destination = trilha_cli_text(args, "destination"),
                                .tenant_id = trilha_cli_text(args, "tenant"),
                                .company_id = trilha_cli_text(args, "company"),
                                .operation = trilha_cli_text(args, "operation")};
}

static trilha_status set(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, bool grant,
                         trilha_error *error) {
  char user[256];
  bool changed = false;
  const trilha_service_grant key = key_of(args);
  const trilha_text who = trilha_cli_user(user, sizeof user), why = trilha_cli_text(args, "reason");
  const char *credential = args->operands[0], *operation = trilha_cli_value(args, "operation");
  trilha_status status = grant ? trilha_outbox_service_grant(outbox, &key, who, why, &changed, error)
                               : trilha_outbox_service_revoke(outbox, &key, who, why, &changed, error);
  if (status != TRILHA_OK) return status;
  if (!changed)
    trilha_cli_tell(cli, SAY_SERVICE_UNCHANGED);
  else if (grant)
    trilha_cli_tell(cli, SAY_SERVICE_GRANTED, credential, operation);
  else
    trilha_cli_tell(cli, SAY_SERVICE_REVOKED, credential, operation);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

static trilha_status grant(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  return set(cli, args, outbox, true, error);
}

static trilha_status revoke(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  return set(cli, args, outbox, false, error);
}

static int run_change(trilha_cli *cli, const trilha_cli_args *args, trilha_cli_outbox_work work) {
  static const char *const needed[] = {"destination", "tenant", "operation", "reason"};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
    if (trilha_cli_text(args, needed[i]).size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, needed[i]);
  return trilha_cli_with_outbox(cli, args, work);
}

int trilha_cli_run_service_grant(trilha_cli *cli, const trilha_cli_args *args) {
  return run_change(cli, args, grant);
}

int trilha_cli_run_service_revoke(trilha_cli *cli, const trilha_cli_args *args) {
  return run_change(cli, args, revoke);
}

/* --- list -------------------------------------------------------------------------------------------------------- */

static trilha_status put_standing(void *user, const trilha_service_standing *s) {
  static const char *const members[] = {"credential", "destination", "tenant_id", "company_id", "operation",
                                        "status",     "at",          "user",      "reason"};
  enum { COUNT = sizeof members / sizeof members[0] };
  const trilha_text cells[COUNT] = {s->grant.credential,
                                    s->grant.destination,
                                    s->grant.tenant_id,
                                    s->grant.company_id,
                                    s->grant.operation,
                                    s->granted ? TRILHA_TEXT("granted") : TRILHA_TEXT("revoked"),
                                    s->at,
                                    s->user,
                                    s->reason};
  trilha_cli_rows_put(user, members, cells, COUNT);
  return TRILHA_OK;
}

static trilha_status list(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"CREDENTIAL", "DESTINATION", "TENANT", "COMPANY", "OPERATION",
                                         "STATUS",     "SINCE",       "BY",     "REASON"};
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  r.table.spare[3] = r.table.spare[8] = true;
  trilha_status status = trilha_outbox_service_grants(outbox, put_standing, &r, error);
  trilha_cli_rows_end(&r, status, (trilha_cli_words){SAY_NO_SERVICES});
  return status;
}

int trilha_cli_run_service_list(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, list);
}
