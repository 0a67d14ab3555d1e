/* tests/support/memory_registry: a store in memory for the registry's tests. */
#include "support/memory_registry.h"

#include <string.h>

#include "base/error.h"

static memory_registry *of(trilha_store *store) {
  return (memory_registry *)(void *)store;
}

static trilha_text keep(memory_registry *m, trilha_text text) {
  if (text.data == NULL) return (trilha_text){NULL, 0};
  return (trilha_text){trilha_arena_copy(&m->arena, text), text.size};
}

static trilha_type_row *find(memory_registry *m, trilha_text tipo, trilha_text versao) {
  for (size_t i = 0; i < m->row_count; i++)
    if (trilha_text_equal(m->rows[i].tipo, tipo) && trilha_text_equal(m->rows[i].versao, versao)) return &m->rows[i];
  return NULL;
}

static trilha_status failing(memory_registry *m, trilha_error *err) {
  trilha_status status = m->fail_next;
  m->fail_next = TRILHA_OK;
  return status == TRILHA_OK ? status : trilha_error_set(err, status, "STORE_FAILED", "the test asked for it");
}

static trilha_status registry_revision(trilha_store *store, trilha_deadline deadline, int64_t *ret_revision,
                                       trilha_error *err) {
  (void)deadline;
  memory_registry *m = of(store);
  pthread_mutex_lock(&m->lock);
  m->revision_calls++;
  trilha_status status = failing(m, err);
  *ret_revision = m->revision;
  pthread_mutex_unlock(&m->lock);
  return status;
}

static trilha_status types_list(trilha_store *store, trilha_text tipo, trilha_deadline deadline,
                                trilha_type_visit visit, void *user, trilha_error *err) {
  (void)deadline;
  memory_registry *m = of(store);
  pthread_mutex_lock(&m->lock);
  m->list_calls++;
  trilha_status status = failing(m, err);
  for (size_t i = 0; i < m->row_count && status == TRILHA_OK; i++)
    if (tipo.data == NULL || trilha_text_equal(tipo, m->rows[i].tipo)) status = visit(user, &m->rows[i], err);
  pthread_mutex_unlock(&m->lock);
  return status;
}

static void write_row(memory_registry *m, const trilha_type_row *row) {
  trilha_type_row *present = find(m, row->tipo, row->versao);
  if (present == NULL) {
    present = &m->rows[m->row_count++];
    *present = (trilha_type_row){keep(m, row->tipo), keep(m, row->versao), {NULL, 0},
                                 {NULL, 0},          keep(m, row->schema), 1781519400000000 + (int64_t)m->row_count};
  }
  present->descricao = keep(m, row->descricao);
  present->status = keep(m, row->status);
}

static trilha_status apply_locked(memory_registry *m, const trilha_type_row *rows, size_t count,
                                  const trilha_audit_row *audit, size_t audit_count, trilha_error *err) {
  m->apply_calls++;
  trilha_status status = failing(m, err);
  if (status != TRILHA_OK) return status;
  for (size_t i = 0; i < count; i++) {
    const trilha_type_row *present = find(m, rows[i].tipo, rows[i].versao);
    if (present != NULL && !trilha_text_equal(present->schema, rows[i].schema))
      return trilha_error_set(err, TRILHA_CONFLICT, "EVENT_TYPE_VERSION_CONFLICT", "another schema is there");
  }
  for (size_t i = 0; i < count; i++) write_row(m, &rows[i]);
  for (size_t i = 0; i < audit_count; i++)
    m->audits[m->audit_count++] =
        (trilha_audit_row){keep(m, audit[i].entity), keep(m, audit[i].entity_id), keep(m, audit[i].change_type),
                           keep(m, audit[i].action), keep(m, audit[i].user),      keep(m, audit[i].metadata)};
  m->revision++;
  return TRILHA_OK;
}

static trilha_status types_apply(trilha_store *store, const trilha_type_row *rows, size_t count,
                                 const trilha_audit_row *audit, size_t audit_count, trilha_deadline deadline,
                                 trilha_error *err) {
  (void)deadline;
  memory_registry *m = of(store);
  void (*before)(memory_registry *) = m->before_apply;
  m->before_apply = NULL;
  if (before != NULL) before(m);
  pthread_mutex_lock(&m->lock);
  trilha_status status = apply_locked(m, rows, count, audit, audit_count, err);
  pthread_mutex_unlock(&m->lock);
  return status;
}

static const trilha_store_operations OPERATIONS = {
    .registry_revision = registry_revision, .types_list = types_list, .types_apply = types_apply};

void memory_registry_init(memory_registry *memory) {
  memset(memory, 0, sizeof *memory);
  memory->store.op = &OPERATIONS;
  pthread_mutex_init(&memory->lock, NULL);
}

void memory_registry_done(memory_registry *memory) {
  trilha_arena_done(&memory->arena);
  pthread_mutex_destroy(&memory->lock);
}

void memory_registry_put(memory_registry *memory, const char *tipo, const char *versao, const char *status,
                         const char *schema) {
  trilha_type_row row = {.tipo = trilha_text_of(tipo),
                         .versao = trilha_text_of(versao),
                         .status = trilha_text_of(status),
                         .schema = trilha_text_of(schema)};
  pthread_mutex_lock(&memory->lock);
  write_row(memory, &row);
  memory->revision++;
  pthread_mutex_unlock(&memory->lock);
}
