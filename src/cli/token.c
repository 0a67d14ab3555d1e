/* cli/token: `trilha token issue`, for local development. */
#include <stdlib.h>
#include <unistd.h>

#include "access/token.h"
#include "base/clock.h"
#include "cli/serve_internal.h"
#include "cli/serve_messages.h"
#include "trilha/audit.h"

enum { MINUTES_DEFAULT = 60 };

const trilha_cli_option trilha_cli_token_options[] = {
    {"subject",
     0,
     TRILHA_CLI_TEXT,
     false,
     0,
     "NAME",
     {"who it is for; default: your login", "para quem; padrão: seu login"}},
    {"minutes",
     0,
     TRILHA_CLI_NUMBER,
     false,
     1,
     "N",
     {"how long it is valid; default 60", "por quanto tempo vale; padrão 60"}},
    {"role", 0, TRILHA_CLI_TEXT, false, 0, "ROLE", {"the claim role; default admin", "o claim role; padrão admin"}},
    {"audience", 0, TRILHA_CLI_TEXT, false, 0, "NAME", {"the claim aud; default trilha", "o claim aud; padrão trilha"}},
    {"issuer", 0, TRILHA_CLI_TEXT, false, 0, "NAME", {"the claim iss; default: none", "o claim iss; padrão: nenhum"}},
    {"tenant",
     't',
     TRILHA_CLI_TEXT,
     true,
     0,
     "TENANT",
     {"one of the claim tenant, * for all; repeats; default: none",
      "um do claim tenant, * para todos; repetível; padrão: nenhum"}},
    {NULL, 0, TRILHA_CLI_FLAG, false, 0, NULL, {NULL, NULL}},
};

static trilha_text or_else(trilha_text given, const char *otherwise) {
  return given.data == NULL ? trilha_text_of(otherwise) : given;
}

/* Before the token is shown: one that is not in the audit trail is not handed out. */
static trilha_status audit(trilha *handle, const char *path, const trilha_token_claims *claims, trilha_text user,
                           trilha_error *err) {
  char expires[TRILHA_TIMESTAMP_SIZE];
  TRILHA_BUFFER_SCOPED tenants;
  trilha_buffer_init(&tenants, 0);
  trilha_timestamp_format(claims->expires_s * 1000000, expires);
  for (size_t i = 0; i < claims->tenant_count; i++) {
    if (i > 0) trilha_buffer_add_string(&tenants, ", ");
    trilha_buffer_add_text(&tenants, claims->tenants[i]);
  }
  trilha_status status = trilha_buffer_check(&tenants, err);
  if (status != TRILHA_OK) return status;
  const trilha_audit_pair pairs[] = {{"key", trilha_text_of(path)},
                                     {"role", claims->role},
                                     {"audience", claims->audience},
                                     {"expires", trilha_text_of(expires)},
                                     {"tenants", trilha_buffer_text(&tenants)}};
  const trilha_audit_entry entry = {.entity = TRILHA_TEXT("token"),
                                    .entity_id = claims->subject,
                                    .change_type = TRILHA_TEXT("Created"),
                                    .action = TRILHA_TEXT("trilha.token.issued"),
                                    .user = user,
                                    .pairs = pairs,
                                    .pair_count = sizeof pairs / sizeof pairs[0] - (claims->tenant_count == 0)};
  return trilha_audit_write(handle, &entry, err);
}

static int issue(trilha_cli *cli, const char *path, const trilha_token_claims *claims, trilha_text user) {
  trilha *handle = NULL;
  trilha_error error = {0};
  TRILHA_BUFFER_SCOPED token;
  trilha_buffer_init(&token, 0);
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  bool made = access(path, F_OK) != 0;
  trilha_status did = made ? trilha_token_key_make(path, &error) : TRILHA_OK;
  if (did == TRILHA_OK && made) trilha_cli_hint(cli, SAY_TOKEN_KEY_MADE, path, path);
  if (did == TRILHA_OK) did = trilha_token_issue(path, claims, &token, &error);
  if (did == TRILHA_OK) did = audit(handle, path, claims, user, &error);
  if (did == TRILHA_OK) {
    trilha_cli_put(&cli->out, trilha_buffer_text(&token));
    trilha_cli_puts(&cli->out, "\n");
  } else {
    status = trilha_cli_fail(cli, &error);
  }
  trilha_close(handle);
  return status;
}

int trilha_cli_run_token_issue(trilha_cli *cli, const trilha_cli_args *args) {
  char login[64];
  trilha_text user = trilha_cli_user(login, sizeof login), subject = trilha_cli_text(args, "subject");
  int64_t now_s = trilha_clock_wall_us() / 1000000;
  trilha_token_claims claims = {.subject = subject.data == NULL ? user : subject,
                                .issuer = trilha_cli_text(args, "issuer"),
                                .audience = or_else(trilha_cli_text(args, "audience"), "trilha"),
                                .role_claim = TRILHA_TEXT("role"),
                                .role = or_else(trilha_cli_text(args, "role"), "admin"),
                                .issued_s = now_s,
                                .expires_s = now_s + 60 * trilha_cli_number(args, "minutes", MINUTES_DEFAULT)};
  trilha_text *tenants = trilha_cli_values(args, "tenant", &claims.tenant_count);
  claims.tenants = tenants;
  int status = issue(cli, args->operands[0], &claims, user);
  free(tenants);
  return status;
}
