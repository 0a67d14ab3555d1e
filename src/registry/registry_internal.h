/* registry/registry_internal: entries, snapshots and the plan of an application. Room: registry. Inside.
 *
 * Locks: registry->lock guards the snapshot pointer and the refresh state, for moments only. program->lock is held
 * while one schema compiles; the registry's lock may be taken inside it (to resolve a reference), never the other way
 * round.
 */
#ifndef TRILHA_REGISTRY_INTERNAL_H
#define TRILHA_REGISTRY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "registry/registry.h"

enum {
  TRILHA_REGISTRY_REFRESH_MS = 1000,     /* when the caller gives 0 */
  TRILHA_REGISTRY_VERSIONS_MAX = 100000, /* of the whole registry: each costs memory in every process */
  TRILHA_REGISTRY_APPLY_MAX = 1000,      /* of one application: one transaction */
  TRILHA_REGISTRY_REFERENCES_MAX = 64,   /* documents that one schema may reach through $ref */
  TRILHA_REGISTRY_TIPO_MAX = 255,        /* characters (ruling R2) */
  TRILHA_REGISTRY_VERSAO_MAX = 20,       /* characters (ruling R2) */
  TRILHA_REGISTRY_DESCRICAO_MAX = 4000,  /* characters */
  TRILHA_REGISTRY_STORE_WAIT_MS = 30000, /* deadline of one look at the store where the caller gives none */
  TRILHA_REGISTRY_APPLY_ATTEMPTS = 3     /* when others register at the same time */
};

/* A $ref to another registered version: "urn:trilha:<tipo>:<versao>" (the form of dataschema in docs). */
#define TRILHA_REGISTRY_URN "urn:trilha:"

/* The schema of one version and, once somebody needed it, what it compiled to. A version never changes, so snapshots
 * share it. */
typedef struct trilha_registry_program {
  atomic_uint refs;
  pthread_mutex_t lock; /* held while compiling */
  atomic_bool ready;    /* the fields below are final */
  trilha_schema *schema;
  bool needs_key;
  trilha_error failure; /* why there is no schema */
  size_t text_size;
  char text[];
} trilha_registry_program;

/* One version in a snapshot, also held by those who acquired it. */
typedef struct trilha_registry_entry {
  trilha_registry_type type; /* first: release() gets its address */
  atomic_uint refs;
  atomic_bool ready;                /* type.schema and type.needs_key are set */
  trilha_registry_program *program; /* NULL: a version without schema */
  char names[];                     /* tipo, versao */
} trilha_registry_entry;

typedef struct trilha_registry_snapshot {
  int64_t revision;
  size_t count, capacity;
  trilha_registry_entry **entries; /* by tipo, then versao */
} trilha_registry_snapshot;

struct trilha_registry {
  trilha_store *store;
  trilha_diagnostics diagnostics;
  int64_t refresh_ns;

  pthread_mutex_t lock;
  pthread_cond_t refreshed;
  trilha_registry_snapshot *snapshot; /* replaced only by the thread that set `refreshing` */
  int64_t checked_ns;                 /* when the last good look at the store began */
  int64_t noted_revision;             /* seen by an append and not yet looked for; 0: none */
  bool expired;                       /* this process changed the registry */
  bool refreshing;
  uint64_t looks_begun, looks_done; /* looks_done: the number of the last good one */
};

/* --- entries ----------------------------------------------------------------------------------------------- */

trilha_registry_entry *trilha_registry_entry_ref(trilha_registry_entry *entry);
void trilha_registry_entry_unref(trilha_registry_entry *entry);
/* A new snapshot from the store; entries whose schema is the same share the old one's program. */
trilha_status trilha_registry_snapshot_load(trilha_registry *registry, int64_t revision,
                                            const trilha_registry_snapshot *old, trilha_deadline deadline,
                                            trilha_registry_snapshot **ret_snapshot, trilha_error *err) TRILHA_MUST_USE;
void trilha_registry_snapshot_free(trilha_registry_snapshot *snapshot);
/* Borrowed; NULL when there is none. */
trilha_registry_entry *trilha_registry_snapshot_find(const trilha_registry_snapshot *snapshot, trilha_text tipo,
                                                     trilha_text versao);

/* --- compiling --------------------------------------------------------------------------------------------- */

/* Gives the text of another version, or an absent text. The text lives until the compilation ends. */
typedef trilha_text (*trilha_registry_lookup)(void *user, trilha_text tipo, trilha_text versao);

/* Compiles as publishers use it (formats asserted, x-redacao collected), metaschema and rules checked. */
trilha_status trilha_registry_compile(const trilha_json_document *document, trilha_registry_lookup lookup, void *user,
                                      trilha_schema **ret_schema, bool *ret_needs_key,
                                      trilha_error *err) TRILHA_MUST_USE;
/* Reads a schema's text within its limits, with what no store could keep refused. The caller's. */
trilha_status trilha_registry_parse(trilha_text text, trilha_json_document **ret_document,
                                    trilha_error *err) TRILHA_MUST_USE;
/* Makes entry->type.schema ready; waits while another thread compiles the same one. */
trilha_status trilha_registry_entry_compile(trilha_registry *registry, trilha_registry_entry *entry,
                                            trilha_error *err) TRILHA_MUST_USE;

/* --- names and differences ---------------------------------------------------------------------------------- */

trilha_status trilha_registry_check_tipo(trilha_text tipo, trilha_error *err) TRILHA_MUST_USE;
/* Semantic Versioning 2.0.0, at most 20 characters. */
trilha_status trilha_registry_check_versao(trilha_text versao, trilha_error *err) TRILHA_MUST_USE;
/* Appends where two unequal documents differ, the first few places of them, as "at \"/pointer\": changed|added|removed,
 * at …". Values are not shown. */
void trilha_registry_difference(const trilha_json_document *published, const trilha_json_document *given,
                                trilha_buffer *out);

/* The next acquire looks at the store. */
void trilha_registry_expire(trilha_registry *registry);

#endif
