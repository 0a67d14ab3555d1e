/* serve: whose messages a caller may see (ruling R36). A token may be for some tenants; then nothing of another one's
 * is shown or changed, and a message of another one's is as if it were not there. Looking at all of them at once is
 * audited. */
#include "base/error.h"
#include "serve/serve_internal.h"
#include "trilha/audit.h"

static bool forbid(trilha_call *call) {
  trilha_answer_problem(call->answer, 403, NULL, NULL);
  return false;
}

bool trilha_api_all_tenants(trilha_call *call) {
  return call->caller.identity.all_tenants || forbid(call);
}

/* Before anything is shown: what cannot be written down is not seen. */
static bool audit_view(trilha_call *call, const char *action) {
  char address[TRILHA_ADDRESS_SIZE];
  trilha_error error = {0};
  trilha_address_format(&call->caller.client, address);
  const trilha_audit_pair pairs[] = {{"address", trilha_text_of(address)}, {"tenants", TRILHA_TEXT("all")}};
  const trilha_audit_entry entry = {.entity = TRILHA_TEXT("outbox"),
                                    .entity_id = call->operands[0],
                                    .change_type = TRILHA_TEXT("Accessed"),
                                    .action = trilha_text_of(action),
                                    .user = trilha_text_of(call->caller.identity.subject),
                                    .pairs = pairs,
                                    .pair_count = sizeof pairs / sizeof pairs[0]};
  if (!trilha_sources_know(call->serve->sources, call->operands[0])) return true; /* 404 comes of it */
  if (trilha_audit_write(call->serve->handle, &entry, &error) == TRILHA_OK) return true;
  trilha_answer_error(call, &error);
  return false;
}

bool trilha_api_tenant(trilha_call *call, trilha_text *tenant, const char *action) {
  const trilha_token_identity *identity = &call->caller.identity;
  if (tenant->data != NULL) return trilha_identity_sees(identity, *tenant) || forbid(call);
  if (identity->all_tenants) return action == NULL || audit_view(call, action);
  if (identity->tenant_count == 0) return forbid(call);
  if (identity->tenant_count > 1) {
    trilha_answer_problem(call->answer, 400, "TENANT_MISSING", "the token is for several tenants: name one of them");
    return false;
  }
  *tenant = trilha_text_of(identity->tenants);
  return true;
}

typedef struct sought {
  const trilha_token_identity *identity;
  bool seen;
} sought;

static trilha_status note_tenant(void *user, const trilha_outbox_entry *entry) {
  sought *s = user;
  s->seen = trilha_identity_sees(s->identity, entry->tenant_id);
  return TRILHA_OK;
}

trilha_status trilha_api_check_message(trilha_call *call, trilha_outbox *outbox, trilha_error *error) {
  sought s = {.identity = &call->caller.identity};
  if (s.identity->all_tenants) return TRILHA_OK;
  trilha_status status = trilha_outbox_message(outbox, call->operands[1], note_tenant, &s, error);
  if (status != TRILHA_OK || s.seen) return status;
  return trilha_error_set(error, TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", "this outbox has no message with this id");
}
