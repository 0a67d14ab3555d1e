/* lib/outbox_service: the street door of service grants. Arguments are checked here. */
#include "base/error.h"
#include "base/text.h"
#include "lib/outbox.h"

enum { SERVICE_CHARACTERS_MAX = 255 };

static bool is_name(trilha_text text, bool needed) {
  if (text.data == NULL) return !needed;
  size_t characters = trilha_utf8_length(text.data, text.size);
  return characters >= 1 && characters <= SERVICE_CHARACTERS_MAX;
}

static trilha_status check_key(const trilha_service_grant *key, trilha_error *error) {
  bool explicit_type = key->operation.size > 0 && memchr(key->operation.data, '*', key->operation.size) == NULL;
  if (key->credential.size == 0 || key->credential.size > TRILHA_OUTBOX_CREDENTIAL_BYTES_MAX)
    return trilha_error_set(error, TRILHA_INVALID, "GRANT_INVALID", "a service credential has 1 to %d bytes",
                            TRILHA_OUTBOX_CREDENTIAL_BYTES_MAX);
  if (!is_name(key->tenant_id, true) || !is_name(key->company_id, false))
    return trilha_error_set(error, TRILHA_INVALID, "GRANT_INVALID",
                            "a grant names one tenant, and one company where its messages name one: each of 1 to %d "
                            "characters",
                            SERVICE_CHARACTERS_MAX);
  if (!explicit_type || !is_name(key->operation, true))
    return trilha_error_set(error, TRILHA_INVALID, "GRANT_INVALID",
                            "an operation is one message type of 1 to %d characters, without *: grants are explicit",
                            SERVICE_CHARACTERS_MAX);
  return trilha_outbox_check_destination(key->destination, error);
}

static trilha_status set(trilha_outbox *outbox, bool grant, const trilha_service_grant *key, trilha_text user,
                         trilha_text reason, bool *ret_changed, trilha_error *error) {
  bool changed = false;
  if (outbox == NULL || key == NULL) return trilha_outbox_missing(error, "the outbox and the grant");
  trilha_status status = check_key(key, error);
  if (status == TRILHA_OK) status = trilha_outbox_check_who(user, reason, error);
  if (status == TRILHA_OK)
    status = outbox->store->op->service_set(outbox->store, grant, key, user, reason, &changed, error);
  if (status == TRILHA_OK && ret_changed != NULL) *ret_changed = changed;
  return status;
}

trilha_status trilha_outbox_service_grant(trilha_outbox *outbox, const trilha_service_grant *grant, trilha_text user,
                                          trilha_text reason, bool *ret_changed, trilha_error *error) {
  return set(outbox, true, grant, user, reason, ret_changed, error);
}

trilha_status trilha_outbox_service_revoke(trilha_outbox *outbox, const trilha_service_grant *grant, trilha_text user,
                                           trilha_text reason, bool *ret_changed, trilha_error *error) {
  return set(outbox, false, grant, user, reason, ret_changed, error);
}

trilha_status trilha_outbox_service_grants(trilha_outbox *outbox, trilha_service_visit visit, void *user,
                                           trilha_error *error) {
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  return outbox->store->op->service_grants(outbox->store, visit, user, error);
}
