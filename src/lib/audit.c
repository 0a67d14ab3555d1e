/* lib/audit: the street door of the audit trail. */
#include "audit/audit.h"

#include "base/error.h"
#include "lib/handle.h"

enum { RECORD_MS = 5000 };

trilha_status trilha_audit_record(trilha *handle, const trilha_audit_entry *entry, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (entry == NULL) return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "the entry must not be NULL");
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_audit_row row;
  status = trilha_audit_row_build(entry, &arena, &row, error);
  if (status != TRILHA_OK) return status;
  return handle->store->op->audit_insert(handle->store, &row, trilha_deadline_in_ms(RECORD_MS), error);
}
