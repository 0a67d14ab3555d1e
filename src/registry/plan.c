/* registry: judging versions before anything is written. A published version is immutable: its schema is compared as a
 * JSON value, so that spelling and order never count; only status and description may change. */
#include "registry/plan.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"

/* --- what the store holds ---------------------------------------------------------------------------------- */

static bool copy(trilha_arena *arena, trilha_text from, trilha_text *to) {
  *to = (trilha_text){NULL, 0};
  if (from.data == NULL) return true;
  char *data = trilha_arena_copy(arena, from);
  *to = (trilha_text){data, from.size};
  return data != NULL;
}

static trilha_status grow_stored(trilha_registry_plan *plan, trilha_error *err) {
  if (plan->stored_count < plan->stored_capacity) return TRILHA_OK;
  if (plan->stored_count >= TRILHA_REGISTRY_VERSIONS_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "REGISTRY_TOO_LARGE", "the registry holds more than %d versions",
                            TRILHA_REGISTRY_VERSIONS_MAX);
  size_t capacity = plan->stored_capacity == 0 ? 64 : 2 * plan->stored_capacity;
  trilha_type_row *stored = trilha_arena_array(plan->arena, capacity, sizeof *stored);
  if (stored == NULL) return trilha_error_no_memory(err);
  if (plan->stored_count != 0) memcpy(stored, plan->stored, plan->stored_count * sizeof *stored);
  plan->stored = stored;
  plan->stored_capacity = capacity;
  return TRILHA_OK;
}

static trilha_status add_stored(void *user, const trilha_type_row *row, trilha_error *err) {
  trilha_registry_plan *plan = user;
  trilha_status status = grow_stored(plan, err);
  if (status != TRILHA_OK) return status;
  trilha_type_row *to = &plan->stored[plan->stored_count];
  to->criado_em_us = row->criado_em_us;
  if (!copy(plan->arena, row->tipo, &to->tipo) || !copy(plan->arena, row->versao, &to->versao) ||
      !copy(plan->arena, row->descricao, &to->descricao) || !copy(plan->arena, row->status, &to->status) ||
      !copy(plan->arena, row->schema, &to->schema))
    return trilha_error_no_memory(err);
  plan->stored_count++;
  return TRILHA_OK;
}

trilha_status trilha_registry_plan_read(trilha_registry_plan *plan, trilha_store *store, trilha_text tipo,
                                        trilha_deadline deadline, trilha_error *err) {
  plan->stored_count = 0;
  return store->op->types_list(store, tipo, deadline, add_stored, plan, err);
}

static const trilha_type_row *find_row(const trilha_type_row *rows, size_t count, trilha_text tipo,
                                       trilha_text versao) {
  for (size_t i = 0; i < count; i++)
    if (trilha_text_equal(rows[i].tipo, tipo) && trilha_text_equal(rows[i].versao, versao)) return &rows[i];
  return NULL;
}

const trilha_type_row *trilha_registry_plan_find(const trilha_registry_plan *plan, trilha_text tipo,
                                                 trilha_text versao) {
  return find_row(plan->stored, plan->stored_count, tipo, versao);
}

/* --- writes and audit rows ----------------------------------------------------------------------------------- */

trilha_status trilha_registry_plan_audit(trilha_registry_plan *plan, const trilha_type_row *row, const char *action,
                                         trilha_error *err) {
  TRILHA_BUFFER_SCOPED id = {0};
  trilha_buffer_add_text(&id, row->tipo);
  trilha_buffer_add_char(&id, '@');
  trilha_buffer_add_text(&id, row->versao);
  trilha_status status = trilha_buffer_check(&id, err);
  if (status != TRILHA_OK) return status;
  char sha256[2 * TRILHA_SHA256_SIZE + 1] = "";
  if (row->schema.data != NULL) {
    unsigned char hash[TRILHA_SHA256_SIZE];
    trilha_sha256(row->schema, hash);
    trilha_hex(hash, sizeof hash, sha256);
  }
  const trilha_audit_pair pairs[] = {
      {"tipo", row->tipo},
      {"versao", row->versao},
      {"status", row->status},
      {"schema_sha256", row->schema.data == NULL ? (trilha_text){NULL, 0} : trilha_text_of(sha256)},
  };
  bool created = strcmp(action, "trilha.event-type.registered") == 0;
  const trilha_audit_entry entry = {.entity = TRILHA_TEXT("event-type"),
                                    .entity_id = trilha_buffer_text(&id),
                                    .change_type = created ? TRILHA_TEXT("Created") : TRILHA_TEXT("Updated"),
                                    .action = trilha_text_of(action),
                                    .user = plan->user,
                                    .pairs = pairs,
                                    .pair_count = sizeof pairs / sizeof pairs[0]};
  status = trilha_audit_row_build(&entry, plan->arena, &plan->audits[plan->audit_count], err);
  if (status == TRILHA_OK) plan->audit_count++;
  return status;
}

trilha_status trilha_registry_plan_write(trilha_registry_plan *plan, const trilha_type_row *row, const char *action,
                                         trilha_error *err) {
  plan->writes[plan->write_count++] = *row;
  return trilha_registry_plan_audit(plan, row, action, err);
}

/* --- judging one version ------------------------------------------------------------------------------------- */

static trilha_status check_words(const trilha_type_version *v, trilha_error *err) {
  trilha_status status = trilha_registry_check_tipo(v->tipo, err);
  if (status == TRILHA_OK) status = trilha_registry_check_versao(v->versao, err);
  if (status != TRILHA_OK) return status;
  if (v->status.data != NULL && !trilha_text_is(v->status, "ativo") && !trilha_text_is(v->status, "deprecated"))
    return trilha_error_set(err, TRILHA_INVALID, "EVENT_TYPE_STATUS_INVALID", "status is \"ativo\" or \"deprecated\"");
  if (v->descricao.data != NULL &&
      (!trilha_utf8_valid(v->descricao.data, v->descricao.size) || trilha_text_find(v->descricao, '\0') != NULL ||
       trilha_utf8_length(v->descricao.data, v->descricao.size) > TRILHA_REGISTRY_DESCRICAO_MAX))
    return trilha_error_set(err, TRILHA_INVALID, "EVENT_TYPE_DESCRIPTION_INVALID",
                            "descricao is UTF-8 without U+0000 of at most %d characters",
                            TRILHA_REGISTRY_DESCRICAO_MAX);
  return TRILHA_OK;
}

/* References reach what is registered and what this call registers. */
static trilha_text look_up(void *user, trilha_text tipo, trilha_text versao) {
  const trilha_registry_plan *plan = user;
  const trilha_type_row *stored = trilha_registry_plan_find(plan, tipo, versao);
  if (stored != NULL) return stored->schema;
  for (size_t i = 0; i < plan->count; i++)
    if (trilha_text_equal(plan->versions[i].tipo, tipo) && trilha_text_equal(plan->versions[i].versao, versao))
      return plan->versions[i].schema;
  return (trilha_text){NULL, 0};
}

static trilha_status check_schema(trilha_registry_plan *plan, trilha_text text, trilha_error *err) {
  trilha_json_document *document = NULL;
  trilha_status status = trilha_registry_parse(text, &document, err);
  if (status != TRILHA_OK) return status;
  trilha_schema *schema = NULL;
  bool needs_key = false;
  status = trilha_registry_compile(document, look_up, plan, &schema, &needs_key, err);
  trilha_schema_free(schema);
  trilha_json_document_free(document);
  return status;
}

static trilha_status refuse_change(trilha_text published, trilha_text given, trilha_error *err) {
  trilha_json_document *before = NULL, *after = NULL;
  trilha_status status = trilha_registry_parse(published, &before, err);
  if (status == TRILHA_OK) status = trilha_registry_parse(given, &after, err);
  if (status == TRILHA_OK && !trilha_json_equal(before->values, after->values)) {
    TRILHA_BUFFER_SCOPED where = {0};
    trilha_registry_difference(before, after, &where);
    status = trilha_error_set(err, TRILHA_CONFLICT, "EVENT_TYPE_VERSION_CONFLICT",
                              "a published version is immutable and the schema differs %s; register a new version",
                              where.data == NULL ? "" : where.data);
  }
  trilha_json_document_free(before);
  trilha_json_document_free(after);
  return status;
}

/* OK when the schemas are the same JSON value. */
static trilha_status same_schema(trilha_text published, trilha_text given, trilha_error *err) {
  if (trilha_text_equal(published, given) && (published.data == NULL) == (given.data == NULL)) return TRILHA_OK;
  if (published.data == NULL || given.data == NULL)
    return trilha_error_set(err, TRILHA_CONFLICT, "EVENT_TYPE_VERSION_CONFLICT",
                            "a published version is immutable: it has %s schema; register a new version",
                            published.data == NULL ? "no" : "a");
  return refuse_change(published, given, err);
}

static trilha_status plan_new(trilha_registry_plan *plan, const trilha_type_version *v, trilha_registry_result *result,
                              trilha_error *err) {
  if (v->schema.data != NULL) {
    trilha_status status = check_schema(plan, v->schema, &result->error);
    if (status == TRILHA_NO_MEMORY) return trilha_error_copy(err, &result->error);
    if (status != TRILHA_OK) return TRILHA_OK; /* refused: the result says why */
  }
  trilha_type_row row = {.tipo = v->tipo,
                         .versao = v->versao,
                         .descricao = v->descricao,
                         .status = v->status.data == NULL ? TRILHA_TEXT("ativo") : v->status,
                         .schema = v->schema};
  result->change = TRILHA_REGISTRY_ADDED;
  return trilha_registry_plan_write(plan, &row, "trilha.event-type.registered", err);
}

/* An absent status or description leaves what is there: applying a folder again must not undo a deprecation. */
static trilha_status plan_present(trilha_registry_plan *plan, const trilha_type_version *v,
                                  const trilha_type_row *stored, trilha_registry_result *result, trilha_error *err) {
  trilha_status same = same_schema(stored->schema, v->schema, &result->error);
  if (same == TRILHA_NO_MEMORY) return trilha_error_copy(err, &result->error);
  if (same != TRILHA_OK) return TRILHA_OK;
  bool status_changes = v->status.data != NULL && !trilha_text_equal(v->status, stored->status);
  bool text_changes = v->descricao.data != NULL && !trilha_text_equal(v->descricao, stored->descricao);
  result->change = TRILHA_REGISTRY_UNCHANGED;
  if (!status_changes && !text_changes) return TRILHA_OK;
  result->change = TRILHA_REGISTRY_STATUS_CHANGED;
  trilha_type_row row = *stored; /* with the stored spelling of the schema: the store compares texts */
  if (status_changes) row.status = v->status;
  if (text_changes) row.descricao = v->descricao;
  const char *action = !status_changes                           ? "trilha.event-type.described"
                       : trilha_text_is(v->status, "deprecated") ? "trilha.event-type.deprecated"
                                                                 : "trilha.event-type.reactivated";
  return trilha_registry_plan_write(plan, &row, action, err);
}

/* The same version twice in one call: the first one counts, a second one must say the same. */
static trilha_status plan_repeated(const trilha_type_version *v, const trilha_type_version *first,
                                   trilha_registry_result *result, trilha_error *err) {
  bool same = trilha_text_equal(v->status, first->status) && trilha_text_equal(v->descricao, first->descricao);
  trilha_status status = same_schema(first->schema, v->schema, &result->error);
  if (status == TRILHA_NO_MEMORY) return trilha_error_copy(err, &result->error);
  if (status == TRILHA_OK && !same)
    status = trilha_error_set(&result->error, TRILHA_CONFLICT, "EVENT_TYPE_VERSION_CONFLICT",
                              "this version is given twice, with different status or description");
  if (status == TRILHA_OK) result->change = TRILHA_REGISTRY_UNCHANGED;
  return TRILHA_OK;
}

static const trilha_type_version *given_before(const trilha_registry_plan *plan, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (trilha_text_equal(plan->versions[i].tipo, plan->versions[n].tipo) &&
        trilha_text_equal(plan->versions[i].versao, plan->versions[n].versao))
      return &plan->versions[i];
  return NULL;
}

static trilha_status plan_one(trilha_registry_plan *plan, size_t n, trilha_error *err) {
  const trilha_type_version *v = &plan->versions[n];
  trilha_registry_result *result = &plan->results[n];
  *result = (trilha_registry_result){.change = TRILHA_REGISTRY_REFUSED};
  if (check_words(v, &result->error) != TRILHA_OK) return TRILHA_OK;
  const trilha_type_version *first = given_before(plan, n);
  const trilha_type_row *stored = trilha_registry_plan_find(plan, v->tipo, v->versao);
  trilha_status status = first != NULL    ? plan_repeated(v, first, result, err)
                         : stored != NULL ? plan_present(plan, v, stored, result, err)
                                          : plan_new(plan, v, result, err);
  trilha_error_while(&result->error, "registering %.*s@%.*s", (int)v->tipo.size, v->tipo.data, (int)v->versao.size,
                     v->versao.data);
  return status;
}

trilha_status trilha_registry_plan_make(trilha_registry_plan *plan, trilha_error *err) {
  plan->write_count = plan->audit_count = 0;
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; i < plan->count && status == TRILHA_OK; i++) status = plan_one(plan, i, err);
  return status;
}
