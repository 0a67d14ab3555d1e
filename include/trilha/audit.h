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
TRILHA_API trilha_status trilha_audit_write(trilha *handle, const trilha_audit_entry *entry,
                                            trilha_error *error) TRILHA_MUST_USE;

/** Which entries; combined with AND, absent: any. Zero-initialise. */
typedef struct trilha_audit_filter {
  trilha_text action, entity, entity_id;
  trilha_text from, to; /**< inclusive: a date (its midnight in UTC) or a time with Z or an offset */
  int64_t after_id;     /**< entries with a larger id only */
  int64_t limite;       /**< 0: 100; at most 500 */
} trilha_audit_filter;

typedef struct trilha_audit_record {
  int64_t id;
  const char *entity, *entity_id, *change_type, *action; /**< action: NULL when raw SQL wrote none */
  const char *user, *metadata, *created_at;              /**< metadata: a JSON object as text */
} trilha_audit_record;

typedef struct trilha_audit_records {
  const trilha_audit_record *items; /**< by id ascending */
  size_t count;
  int64_t next_after; /**< give it as `after_id` for the next page; 0: that was all */
  void *memory;
} trilha_audit_records;

/** Free with trilha_audit_records_free(). USAGE (FILTER_INVALID), UNAVAILABLE. */
TRILHA_API trilha_status trilha_audit_list(trilha *handle, const trilha_audit_filter *filter,
                                           trilha_audit_records **ret_records, trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_audit_records_free(trilha_audit_records *records);

#ifdef __cplusplus
}
#endif
#endif
