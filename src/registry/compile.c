/* registry: from a schema's text to the program that publishers run. */
#include <stdlib.h>

#include "base/diagnostics.h"
#include "base/error.h"
#include "redaction/redaction.h"
#include "registry/registry_internal.h"

/* --- references to other versions -------------------------------------------------------------------------- */

typedef struct references {
  trilha_registry_lookup lookup;
  void *user;
  size_t count;
  trilha_json_document *documents[TRILHA_REGISTRY_REFERENCES_MAX];
  trilha_text uris[TRILHA_REGISTRY_REFERENCES_MAX]; /* copies */
  bool needs_key;
} references;

static void references_done(references *r) {
  for (size_t i = 0; i < r->count; i++) {
    trilha_json_document_free(r->documents[i]);
    free((char *)(uintptr_t)r->uris[i].data);
  }
}

/* "urn:trilha:<tipo>:<versao>"; a tipo may hold ':', a version cannot. */
static bool split_urn(trilha_text uri, trilha_text *ret_tipo, trilha_text *ret_versao) {
  size_t prefix = sizeof TRILHA_REGISTRY_URN - 1, colon = uri.size;
  if (uri.size <= prefix || memcmp(uri.data, TRILHA_REGISTRY_URN, prefix) != 0) return false;
  while (colon > prefix && uri.data[colon - 1] != ':') colon--;
  if (colon <= prefix + 1 || colon == uri.size) return false;
  *ret_tipo = (trilha_text){uri.data + prefix, colon - 1 - prefix};
  *ret_versao = (trilha_text){uri.data + colon, uri.size - colon};
  return true;
}

static bool keep(references *r, trilha_text uri, trilha_json_document *document) {
  char *copy = malloc(uri.size + 1);
  if (copy == NULL) return false;
  memcpy(copy, uri.data, uri.size);
  r->documents[r->count] = document;
  r->uris[r->count++] = (trilha_text){copy, uri.size};
  return true;
}

static const trilha_json_document *resolve(void *user, trilha_text uri) {
  references *r = user;
  for (size_t i = 0; i < r->count; i++)
    if (trilha_text_equal(r->uris[i], uri)) return r->documents[i];
  trilha_text tipo, versao;
  if (r->lookup == NULL || r->count == TRILHA_REGISTRY_REFERENCES_MAX || !split_urn(uri, &tipo, &versao)) return NULL;
  trilha_text text = r->lookup(r->user, tipo, versao);
  trilha_json_document *document = NULL;
  bool needs_key = false;
  if (text.data == NULL || trilha_registry_parse(text, &document, NULL) != TRILHA_OK) return NULL;
  if (trilha_redaction_check(document, &needs_key, NULL) != TRILHA_OK || !keep(r, uri, document)) {
    trilha_json_document_free(document);
    return NULL;
  }
  r->needs_key = r->needs_key || needs_key;
  return document;
}

/* --- compiling ---------------------------------------------------------------------------------------------- */

trilha_status trilha_registry_parse(trilha_text text, trilha_json_document **ret_document, trilha_error *err) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  limits.bytes_max = TRILHA_SCHEMA_BYTES_MAX;
  trilha_json_document *document = NULL;
  trilha_status status = trilha_json_parse(text, &limits, &document, NULL, err);
  if (status != TRILHA_OK) return status;
  status = trilha_json_check_storable(document, text, NULL, err);
  if (status == TRILHA_OK)
    *ret_document = document;
  else
    trilha_json_document_free(document);
  return status;
}

trilha_status trilha_registry_compile(const trilha_json_document *document, trilha_registry_lookup lookup, void *user,
                                      trilha_schema **ret_schema, bool *ret_needs_key, trilha_error *err) {
  references r = {.lookup = lookup, .user = user};
  trilha_schema_options options = {.assert_format = true,
                                   .check_metaschema = true,
                                   .resolve = resolve,
                                   .resolve_user = &r,
                                   .annotation = TRILHA_TEXT(TRILHA_REDACTION_KEYWORD)};
  bool needs_key = false;
  trilha_schema *schema = NULL;
  trilha_status status = trilha_schema_compile(document, &options, &schema, err);
  if (status == TRILHA_OK) status = trilha_redaction_check(document, &needs_key, err);
  if (status == TRILHA_OK) {
    *ret_schema = schema;
    *ret_needs_key = needs_key || r.needs_key;
  } else {
    trilha_schema_free(schema);
  }
  references_done(&r);
  return status;
}

/* --- at first use ------------------------------------------------------------------------------------------- */

/* What a compilation at first use looks up: the snapshot of the moment. Entries stay held until it ends. */
typedef struct held {
  trilha_registry *registry;
  size_t count;
  trilha_registry_entry *entries[TRILHA_REGISTRY_REFERENCES_MAX];
} held;

static trilha_text look_up(void *user, trilha_text tipo, trilha_text versao) {
  held *h = user;
  if (h->count == TRILHA_REGISTRY_REFERENCES_MAX) return (trilha_text){NULL, 0};
  pthread_mutex_lock(&h->registry->lock);
  trilha_registry_entry *entry =
      trilha_registry_entry_ref(trilha_registry_snapshot_find(h->registry->snapshot, tipo, versao));
  pthread_mutex_unlock(&h->registry->lock);
  if (entry == NULL) return (trilha_text){NULL, 0};
  h->entries[h->count++] = entry;
  if (entry->program == NULL) return (trilha_text){NULL, 0};
  return (trilha_text){entry->program->text, entry->program->text_size};
}

static trilha_status compile_text(trilha_registry *registry, trilha_registry_program *program, trilha_error *err) {
  trilha_json_document *document = NULL;
  trilha_status status = trilha_registry_parse((trilha_text){program->text, program->text_size}, &document, err);
  if (status != TRILHA_OK) return status;
  held h = {.registry = registry};
  status = trilha_registry_compile(document, look_up, &h, &program->schema, &program->needs_key, err);
  for (size_t i = 0; i < h.count; i++) trilha_registry_entry_unref(h.entries[i]);
  trilha_json_document_free(document);
  return status;
}

/* Registration lets no schema in that does not compile, so this one came by another way. */
static void unusable(trilha_registry *registry, const trilha_registry_type *type, trilha_error *failure) {
  trilha_error_while(failure, "compiling the registered schema of %.*s@%.*s", (int)type->tipo.size, type->tipo.data,
                     (int)type->versao.size, type->versao.data);
  failure->status = TRILHA_CORRUPT;
  trilha_fields fields = {.count = 0};
  trilha_fields_text(&fields, "tipo", type->tipo);
  trilha_fields_text(&fields, "versao", type->versao);
  trilha_fields_error(&fields, failure);
  trilha_emit(&registry->diagnostics, TRILHA_ERROR, "registry.schema_unusable",
              "a registered schema cannot be used; its events are refused", &fields);
}

/* Want of memory, also where it left the metaschema undecided: no fault of the schema's, and never kept as one. */
static bool passing(const trilha_error *failure) {
  return failure->status == TRILHA_NO_MEMORY || strcmp(failure->code, "SCHEMA_UNDECIDED") == 0;
}

trilha_status trilha_registry_entry_compile(trilha_registry *registry, trilha_registry_entry *entry,
                                            trilha_error *err) {
  if (atomic_load_explicit(&entry->ready, memory_order_acquire)) return TRILHA_OK;
  trilha_registry_program *program = entry->program;
  trilha_status status = TRILHA_OK;
  pthread_mutex_lock(&program->lock);
  if (!atomic_load_explicit(&program->ready, memory_order_relaxed)) {
    trilha_error failure = {0};
    status = compile_text(registry, program, &failure);
    if (passing(&failure)) { /* the next publisher tries again */
      pthread_mutex_unlock(&program->lock);
      return trilha_error_copy(err, &failure);
    }
    if (status != TRILHA_OK) unusable(registry, &entry->type, &failure);
    program->failure = failure;
    atomic_store_explicit(&program->ready, true, memory_order_release);
  }
  if (program->failure.status != TRILHA_OK) {
    status = trilha_error_copy(err, &program->failure);
  } else if (!atomic_load_explicit(&entry->ready, memory_order_relaxed)) {
    entry->type.schema = program->schema;
    entry->type.needs_key = program->needs_key;
    atomic_store_explicit(&entry->ready, true, memory_order_release);
  }
  pthread_mutex_unlock(&program->lock);
  return status;
}
