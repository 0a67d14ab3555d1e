/* registry: event types, their versions and compiled schemas (N-0b as the bus sees it). Room: registry. Corridor.
 *
 * Thread-safe. A snapshot of the registry is immutable and counted: publishers keep using the one they took while
 * another thread refreshes. Staleness is bounded by refresh_ms; an unknown or refused type is looked up afresh at once.
 */
#ifndef TRILHA_REGISTRY_REGISTRY_H
#define TRILHA_REGISTRY_REGISTRY_H

#include "schema/schema.h"
#include "store/store.h"
#include "trilha/trilha.h"

typedef struct trilha_registry trilha_registry;

/* One version, compiled. Borrowed from a snapshot reference. */
typedef struct trilha_registry_type {
  trilha_text tipo, versao;
  bool deprecated;
  const trilha_schema *schema; /* NULL: a version without schema */
  bool needs_key;              /* some rule is "hash" */
} trilha_registry_type;

trilha_status trilha_registry_new(trilha_store *store, unsigned refresh_ms, const trilha_diagnostics *diagnostics,
                                  trilha_registry **ret_registry, trilha_error *err) TRILHA_MUST_USE;
void trilha_registry_free(trilha_registry *registry);

/* Step 4 of publish. INVALID, code EVENT_TYPE_NOT_FOUND / EVENT_TYPE_DEPRECATED / EVENT_TYPE_WITHOUT_SCHEMA, text
 * exactly "Tipo de evento não registrado no Registry" for all three (ruling R5). On OK *ret_type stays valid until
 * trilha_registry_release(). A schema is compiled at its first use (with annotation x-redacao, assert_format true). */
trilha_status trilha_registry_acquire(trilha_registry *registry, trilha_text tipo, trilha_text versao,
                                      trilha_deadline deadline, const trilha_registry_type **ret_type,
                                      trilha_error *err) TRILHA_MUST_USE;
void trilha_registry_release(trilha_registry *registry, const trilha_registry_type *type);

/* The revision seen in an append: a newer one than held makes the next acquire refresh. */
void trilha_registry_note_revision(trilha_registry *registry, int64_t revision);

/* As the public functions of the same name (trilha/trilha.h). */
trilha_status trilha_registry_apply_versions(trilha_registry *registry, const trilha_type_version *versions,
                                             size_t count, bool dry_run, trilha_text user,
                                             trilha_registry_result *ret_results, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_registry_deprecate_versions(trilha_registry *registry, trilha_text tipo, trilha_text versao,
                                                 bool dry_run, trilha_text user, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_registry_list_types(trilha_registry *registry, trilha_text tipo,
                                         trilha_registered_types **ret_types, trilha_error *err) TRILHA_MUST_USE;

#endif
