/* lib/audit: the street door of the audit trail. */
#include "audit/audit.h"

#include "base/error.h"
#include "lib/handle.h"

enum { RECORD_MS = 5000 };

trilha_status trilha_audit_write(trilha *handle, const trilha_audit_entry *entry, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (entry == NULL) return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "the entry must not be NULL");
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_audit_row row;
  status = trilha_audit_row_build(entry, &arena, &row, error);
  if (status != TRILHA_OK) return status;
  return handle->store->op->audit_insert(handle->store, &row, trilha_deadline_in_ms(RECORD_MS), error);
}

trilha_status trilha_audit_list(trilha *handle, const trilha_audit_filter *filter, trilha_audit_records **ret_records,
                                trilha_error *error) {
  static const trilha_audit_filter everything = {0};
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (ret_records == NULL)
    return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "the place for the entries must not be NULL");
  return trilha_audit_trail_read(handle->store, filter == NULL ? &everything : filter, ret_records, error);
}

void trilha_audit_records_free(trilha_audit_records *records) {
  trilha_audit_trail_free(records);
}
