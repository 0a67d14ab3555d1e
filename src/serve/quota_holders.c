/* serve/quota_holders: read, and written as JSON. */
#include "serve/quota_holders.h"

#include <string.h>

#include "base/error.h"
#include "json/json.h"

static trilha_status keep(void *user, const trilha_outbox_quota *q) {
  trilha_quota_holders *h = user;
  if (q->tenant_id.data == NULL || h->count == TRILHA_QUOTA_HOLDERS_MAX) return TRILHA_OK;
  trilha_outbox_quota kept = *q;
  kept.destination.data = trilha_arena_copy(&h->arena, q->destination);
  kept.tenant_id.data = trilha_arena_copy(&h->arena, q->tenant_id);
  if (kept.destination.data == NULL || kept.tenant_id.data == NULL) return TRILHA_NO_MEMORY;
  h->all[h->count++] = kept;
  return TRILHA_OK;
}

trilha_status trilha_quota_holders_read(trilha_outbox *outbox, trilha_quota_holders *holders, trilha_error *err) {
  trilha_error own = {0};
  trilha_status status = trilha_outbox_quotas(outbox, keep, holders, &own);
  if (status == TRILHA_NO_MEMORY && own.status == TRILHA_OK) return trilha_error_no_memory(err);
  if (status == TRILHA_OK || strcmp(own.code, "OUTBOX_NOT_INSTALLED") == 0) return TRILHA_OK;
  return trilha_error_copy(err, &own);
}

void trilha_quota_holders_done(trilha_quota_holders *holders) {
  trilha_arena_done(&holders->arena);
}

void trilha_quota_holders_write(const trilha_quota_holders *holders, trilha_text destination, trilha_buffer *out) {
  bool first = true;
  trilha_buffer_add_char(out, '[');
  for (size_t i = 0; i < holders->count; i++) {
    const trilha_outbox_quota *q = &holders->all[i];
    if (!trilha_text_equal(q->destination, destination)) continue;
    trilha_buffer_add_string(out, first ? "{\"tenant_id\":" : ",{\"tenant_id\":");
    trilha_json_write_string(out, q->tenant_id);
    trilha_buffer_add_format(out, ",\"leased\":%lld,\"quota\":%lld}", (long long)q->leases, (long long)q->quota);
    first = false;
  }
  trilha_buffer_add_char(out, ']');
}
