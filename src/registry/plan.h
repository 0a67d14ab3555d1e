/* registry/plan: what an application of versions would do. Room: registry. Inside. */
#ifndef TRILHA_REGISTRY_PLAN_H
#define TRILHA_REGISTRY_PLAN_H

#include "audit/audit.h"
#include "registry/registry_internal.h"

/* Everything lives in `arena` except the documents of the candidates. */
typedef struct trilha_registry_plan {
  trilha_arena *arena;
  const trilha_type_version *versions;
  size_t count;
  trilha_registry_result *results; /* count, one for each version */
  trilha_type_row *stored;         /* what the store holds, all of it or one type */
  size_t stored_count, stored_capacity;
  trilha_type_row *writes; /* at most count */
  size_t write_count;
  trilha_audit_row *audits; /* at most 2 * count */
  size_t audit_count;
  trilha_text user;
} trilha_registry_plan;

/* Reads the store's rows of one type, or of all when `tipo` is absent. */
trilha_status trilha_registry_plan_read(trilha_registry_plan *plan, trilha_store *store, trilha_text tipo,
                                        trilha_deadline deadline, trilha_error *err) TRILHA_MUST_USE;
/* NULL when there is none. */
const trilha_type_row *trilha_registry_plan_find(const trilha_registry_plan *plan, trilha_text tipo,
                                                 trilha_text versao);

/* Judges every version and fills results, writes and audits. OK also when some were refused (their results say so);
 * else a failure of ours. */
trilha_status trilha_registry_plan_make(trilha_registry_plan *plan, trilha_error *err) TRILHA_MUST_USE;

/* Adds the write and the audit row of one change of status; action: "trilha.event-type.deprecated" and so on. */
trilha_status trilha_registry_plan_write(trilha_registry_plan *plan, const trilha_type_row *row, const char *action,
                                         trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_registry_plan_audit(trilha_registry_plan *plan, const trilha_type_row *row, const char *action,
                                         trilha_error *err) TRILHA_MUST_USE;

#endif
