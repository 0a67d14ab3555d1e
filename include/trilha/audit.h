/* trilha/audit.h: the audit trail: who did what, when and why (specification 001; ruling R28). Rows are only ever
 * added. Thread safety as in trilha/trilha.h. */
#ifndef TRILHA_AUDIT_H
#define TRILHA_AUDIT_H

#include "trilha/trilha.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One pair of an entry's metadata; both borrowed. Values are identifiers and settings, never payload values. */
typedef struct trilha_audit_pair {
  const char *name;
  trilha_text value; /**< absent: JSON null */
} trilha_audit_pair;

/** What an entry says; texts are borrowed for the call. */
typedef struct trilha_audit_entry {
  trilha_text entity, entity_id; /**< "event-type", "demanda.recebida@1.0.0" */
  trilha_text change_type;       /**< Created, Updated, Deleted, Accessed */
  trilha_text action;            /**< {module}.{aggregate}.{past-verb}, at most 80 characters */
  trilha_text user;              /**< absent: "unknown" */
  const trilha_audit_pair *pairs;
  size_t pair_count;
} trilha_audit_entry;

/** Whether an action is of the vocabulary: three segments of [a-z][a-z0-9-]*, the last one in the past tense. INVALID
 * (AUDIT_ACTION_INVALID) says what is wrong. */
TRILHA_API trilha_status trilha_audit_action_check(trilha_text action, trilha_error *error) TRILHA_MUST_USE;
/** Adds an entry. When it returns OK the entry is on disk: an action that needs one is done after that. INVALID
 * (AUDIT_ACTION_INVALID, AUDIT_ENTRY_INVALID), UNAVAILABLE. */
TRILHA_API trilha_status trilha_audit_record(trilha *handle, const trilha_audit_entry *entry,
                                             trilha_error *error) TRILHA_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
