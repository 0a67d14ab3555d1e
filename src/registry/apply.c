/* registry: registering, deprecating and listing versions. All or none: one transaction writes rows, revision and audit
 * trail. */
#include <stdlib.h>

#include "base/error.h"
#include "registry/plan.h"

static trilha_status write_plan(trilha_registry *registry, const trilha_registry_plan *plan, trilha_deadline deadline,
                                trilha_error *err) {
  if (plan->write_count == 0) return TRILHA_OK;
  trilha_status status = registry->store->op->types_apply(registry->store, plan->writes, plan->write_count,
                                                          plan->audits, plan->audit_count, deadline, err);
  /* After a failure too: an unknown outcome may have changed it. */
  trilha_registry_expire(registry);
  return status;
}

static trilha_status make_room(trilha_registry_plan *plan, size_t writes, trilha_error *err) {
  plan->writes = trilha_arena_array(plan->arena, writes, sizeof *plan->writes);
  plan->audits = trilha_arena_array(plan->arena, writes, sizeof *plan->audits);
  return plan->writes == NULL || plan->audits == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

/* --- registering ------------------------------------------------------------------------------------------- */

/* One attempt: read, judge, write. *ret_raced: the store found that somebody registered one of them meanwhile. */
static trilha_status attempt(trilha_registry *registry, trilha_registry_plan *plan, bool dry_run, bool *ret_raced,
                             trilha_error *err) {
  trilha_deadline deadline = trilha_deadline_in_ms(TRILHA_REGISTRY_STORE_WAIT_MS);
  trilha_text every = {NULL, 0};
  trilha_status status = trilha_registry_plan_read(plan, registry->store, every, deadline, err);
  if (status == TRILHA_OK) status = trilha_registry_plan_make(plan, err);
  if (status != TRILHA_OK) return status;
  for (size_t i = 0; i < plan->count; i++)
    if (plan->results[i].change == TRILHA_REGISTRY_REFUSED) return trilha_error_copy(err, &plan->results[i].error);
  if (dry_run) return TRILHA_OK;
  status = write_plan(registry, plan, deadline, err);
  *ret_raced = status == TRILHA_CONFLICT;
  return status;
}

static trilha_status apply(trilha_registry *registry, trilha_registry_plan *plan, bool dry_run, trilha_error *err) {
  trilha_status status = make_room(plan, plan->count, err);
  for (int n = 1; status == TRILHA_OK; n++) {
    bool raced = false;
    trilha_error failure = {0};
    status = attempt(registry, plan, dry_run, &raced, &failure);
    if (status == TRILHA_OK || !raced || n == TRILHA_REGISTRY_APPLY_ATTEMPTS) return trilha_error_copy(err, &failure);
    status = TRILHA_OK; /* the next look tells what the other one registered */
  }
  return status;
}

/* On a failure that is nobody's fault among the versions, every result says that it was not registered. */
static void fail_all(trilha_registry_result *results, size_t count, const trilha_error *failure) {
  for (size_t i = 0; i < count; i++) {
    if (results[i].change == TRILHA_REGISTRY_REFUSED && results[i].error.status != TRILHA_OK) return;
  }
  for (size_t i = 0; i < count; i++)
    results[i] = (trilha_registry_result){.change = TRILHA_REGISTRY_REFUSED, .error = *failure};
}

trilha_status trilha_registry_apply_versions(trilha_registry *registry, const trilha_type_version *versions,
                                             size_t count, bool dry_run, trilha_text user,
                                             trilha_registry_result *ret_results, trilha_error *err) {
  if (count == 0) return TRILHA_OK;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_registry_plan plan = {.arena = &arena, .versions = versions, .count = count, .user = user};
  trilha_error failure = {0};
  trilha_status status = TRILHA_OK;
  /* Results are large: a caller that wants none still needs them while we judge. */
  trilha_registry_result *own = ret_results == NULL ? calloc(count, sizeof *own) : NULL;
  plan.results = ret_results == NULL ? own : ret_results;
  if (plan.results == NULL) return trilha_error_no_memory(err);
  memset(plan.results, 0, count * sizeof *plan.results);
  if (count > TRILHA_REGISTRY_APPLY_MAX)
    status = trilha_error_set(&failure, TRILHA_LIMIT, "REGISTRY_APPLY_TOO_LARGE", "more than %d versions in one call",
                              TRILHA_REGISTRY_APPLY_MAX);
  if (status == TRILHA_OK) status = apply(registry, &plan, dry_run, &failure);
  if (status != TRILHA_OK) fail_all(plan.results, count, &failure);
  free(own);
  return trilha_error_copy(err, &failure);
}

/* --- deprecating --------------------------------------------------------------------------------------------- */

static trilha_status plan_deprecation(trilha_registry_plan *plan, trilha_text versao, trilha_error *err) {
  bool any = false;
  for (size_t i = 0; i < plan->stored_count; i++) {
    trilha_type_row row = plan->stored[i];
    if (versao.data != NULL && !trilha_text_equal(row.versao, versao)) continue;
    any = true;
    if (trilha_text_is(row.status, "deprecated")) continue;
    row.status = TRILHA_TEXT("deprecated");
    trilha_status status = trilha_registry_plan_write(plan, &row, "trilha.event-type.deprecated", err);
    if (status != TRILHA_OK) return status;
  }
  if (any) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_NOT_FOUND, "EVENT_TYPE_NOT_FOUND", "this type or version is not registered");
}

trilha_status trilha_registry_deprecate_versions(trilha_registry *registry, trilha_text tipo, trilha_text versao,
                                                 bool dry_run, trilha_text user, trilha_error *err) {
  trilha_status status = trilha_registry_check_tipo(tipo, err);
  if (status == TRILHA_OK && versao.data != NULL) status = trilha_registry_check_versao(versao, err);
  if (status != TRILHA_OK) return status;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_registry_plan plan = {.arena = &arena, .user = user};
  trilha_deadline deadline = trilha_deadline_in_ms(TRILHA_REGISTRY_STORE_WAIT_MS);
  status = trilha_registry_plan_read(&plan, registry->store, tipo, deadline, err);
  if (status == TRILHA_OK) status = make_room(&plan, plan.stored_count + 1, err);
  if (status == TRILHA_OK) status = plan_deprecation(&plan, versao, err);
  if (status == TRILHA_OK && !dry_run) status = write_plan(registry, &plan, deadline, err);
  return status;
}

/* --- listing --------------------------------------------------------------------------------------------------- */

/* What trilha_registered_types.memory points to. */
typedef struct listing {
  trilha_arena arena;
  trilha_registered_types types;
} listing;

static const char *terminated(trilha_text text) {
  return text.data;
} /* the plan's copies are terminated */

static trilha_status fill(listing *l, const trilha_registry_plan *plan, trilha_error *err) {
  trilha_registered_type *items = trilha_arena_array(&l->arena, plan->stored_count, sizeof *items);
  if (items == NULL) return trilha_error_no_memory(err);
  for (size_t i = 0; i < plan->stored_count; i++) {
    const trilha_type_row *row = &plan->stored[i];
    char *when = trilha_arena_alloc(&l->arena, TRILHA_TIMESTAMP_SIZE);
    if (when == NULL) return trilha_error_no_memory(err);
    trilha_timestamp_format(row->criado_em_us, when);
    items[i] = (trilha_registered_type){terminated(row->tipo),   terminated(row->versao), terminated(row->descricao),
                                        terminated(row->status), terminated(row->schema), when};
  }
  l->types = (trilha_registered_types){.items = items, .count = plan->stored_count, .memory = l};
  return TRILHA_OK;
}

trilha_status trilha_registry_list_types(trilha_registry *registry, trilha_text tipo,
                                         trilha_registered_types **ret_types, trilha_error *err) {
  listing *l = calloc(1, sizeof *l);
  if (l == NULL) return trilha_error_no_memory(err);
  trilha_registry_plan plan = {.arena = &l->arena};
  trilha_status status = trilha_registry_plan_read(&plan, registry->store, tipo,
                                                   trilha_deadline_in_ms(TRILHA_REGISTRY_STORE_WAIT_MS), err);
  if (status == TRILHA_OK) status = fill(l, &plan, err);
  if (status == TRILHA_OK) {
    *ret_types = &l->types;
    return TRILHA_OK;
  }
  trilha_arena_done(&l->arena);
  free(l);
  return status;
}

void trilha_registered_types_free(trilha_registered_types *types) {
  if (types == NULL) return;
  listing *l = types->memory;
  trilha_arena_done(&l->arena);
  free(l);
}
