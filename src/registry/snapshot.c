/* registry: snapshots, entries and their counts. */
#include <stdlib.h>

#include "base/error.h"
#include "registry/registry_internal.h"

/* --- counted objects ------------------------------------------------------------------------------------- */

static trilha_registry_program *program_new(trilha_text text) {
  trilha_registry_program *program = calloc(1, sizeof *program + text.size + 1);
  if (program == NULL) return NULL;
  if (pthread_mutex_init(&program->lock, NULL) != 0) {
    free(program);
    return NULL;
  }
  atomic_init(&program->refs, 1);
  atomic_init(&program->ready, false);
  program->text_size = text.size;
  if (text.size != 0) memcpy(program->text, text.data, text.size);
  return program;
}

static void program_unref(trilha_registry_program *program) {
  if (program == NULL || atomic_fetch_sub_explicit(&program->refs, 1, memory_order_acq_rel) != 1) return;
  trilha_schema_free(program->schema);
  pthread_mutex_destroy(&program->lock);
  free(program);
}

trilha_registry_entry *trilha_registry_entry_ref(trilha_registry_entry *entry) {
  if (entry != NULL) atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
  return entry;
}

void trilha_registry_entry_unref(trilha_registry_entry *entry) {
  if (entry == NULL || atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) != 1) return;
  program_unref(entry->program);
  free(entry);
}

static trilha_registry_entry *entry_new(const trilha_type_row *row, trilha_registry_program *take_program) {
  trilha_registry_entry *entry = calloc(1, sizeof *entry + row->tipo.size + row->versao.size + 1);
  if (entry == NULL) {
    program_unref(take_program);
    return NULL;
  }
  memcpy(entry->names, row->tipo.data, row->tipo.size);
  memcpy(entry->names + row->tipo.size, row->versao.data, row->versao.size);
  entry->type.tipo = (trilha_text){entry->names, row->tipo.size};
  entry->type.versao = (trilha_text){entry->names + row->tipo.size, row->versao.size};
  entry->type.deprecated = !trilha_text_is(row->status, "ativo");
  atomic_init(&entry->refs, 1);
  atomic_init(&entry->ready, false);
  entry->program = take_program;
  return entry;
}

/* --- look-up --------------------------------------------------------------------------------------------- */

static int compare_names(const trilha_registry_type *a, trilha_text tipo, trilha_text versao) {
  int order = trilha_text_compare(a->tipo, tipo);
  return order != 0 ? order : trilha_text_compare(a->versao, versao);
}

trilha_registry_entry *trilha_registry_snapshot_find(const trilha_registry_snapshot *snapshot, trilha_text tipo,
                                                     trilha_text versao) {
  if (snapshot == NULL) return NULL;
  size_t low = 0, high = snapshot->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_names(&snapshot->entries[middle]->type, tipo, versao);
    if (order == 0) return snapshot->entries[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

/* --- loading --------------------------------------------------------------------------------------------- */

typedef struct loading {
  trilha_registry_snapshot *snapshot;
  const trilha_registry_snapshot *old;
} loading;

static trilha_status grow(trilha_registry_snapshot *snapshot, trilha_error *err) {
  if (snapshot->count == TRILHA_REGISTRY_VERSIONS_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "REGISTRY_TOO_LARGE", "the registry holds more than %d versions",
                            TRILHA_REGISTRY_VERSIONS_MAX);
  if (snapshot->count < snapshot->capacity) return TRILHA_OK;
  size_t capacity = snapshot->capacity == 0 ? 64 : 2 * snapshot->capacity;
  trilha_registry_entry **entries = realloc(snapshot->entries, capacity * sizeof *entries);
  if (entries == NULL) return trilha_error_no_memory(err);
  snapshot->entries = entries;
  snapshot->capacity = capacity;
  return TRILHA_OK;
}

/* The old program when its text is the same, so that a refresh never compiles anything again. */
static trilha_registry_program *program_for(const trilha_registry_snapshot *old, const trilha_type_row *row) {
  trilha_registry_entry *before = trilha_registry_snapshot_find(old, row->tipo, row->versao);
  if (before != NULL && before->program != NULL &&
      trilha_text_equal((trilha_text){before->program->text, before->program->text_size}, row->schema)) {
    atomic_fetch_add_explicit(&before->program->refs, 1, memory_order_relaxed);
    return before->program;
  }
  return program_new(row->schema);
}

static trilha_status add_row(void *user, const trilha_type_row *row, trilha_error *err) {
  loading *l = user;
  trilha_status status = grow(l->snapshot, err);
  if (status != TRILHA_OK) return status;
  trilha_registry_program *program = NULL;
  if (row->schema.data != NULL) {
    program = program_for(l->old, row);
    if (program == NULL) return trilha_error_no_memory(err);
  }
  trilha_registry_entry *entry = entry_new(row, program);
  if (entry == NULL) return trilha_error_no_memory(err);
  l->snapshot->entries[l->snapshot->count++] = entry;
  return TRILHA_OK;
}

static int by_names(const void *a, const void *b) {
  const trilha_registry_entry *const *x = a, *const *y = b;
  return compare_names(&(*x)->type, (*y)->type.tipo, (*y)->type.versao);
}

void trilha_registry_snapshot_free(trilha_registry_snapshot *snapshot) {
  if (snapshot == NULL) return;
  for (size_t i = 0; i < snapshot->count; i++) trilha_registry_entry_unref(snapshot->entries[i]);
  free(snapshot->entries);
  free(snapshot);
}

trilha_status trilha_registry_snapshot_load(trilha_registry *registry, int64_t revision,
                                            const trilha_registry_snapshot *old, trilha_deadline deadline,
                                            trilha_registry_snapshot **ret_snapshot, trilha_error *err) {
  trilha_registry_snapshot *snapshot = calloc(1, sizeof *snapshot);
  if (snapshot == NULL) return trilha_error_no_memory(err);
  snapshot->revision = revision;
  loading l = {snapshot, old};
  trilha_text every = {NULL, 0};
  trilha_status status = registry->store->op->types_list(registry->store, every, deadline, add_row, &l, err);
  if (status != TRILHA_OK) {
    trilha_registry_snapshot_free(snapshot);
    return status;
  }
  if (snapshot->count != 0) qsort(snapshot->entries, snapshot->count, sizeof *snapshot->entries, by_names);
  *ret_snapshot = snapshot;
  return TRILHA_OK;
}
