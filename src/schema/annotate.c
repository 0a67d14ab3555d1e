/* The annotation pass: the plain program on a valid document. What is noted goes to a log that failed branches are cut
 * from; the caller hears of it once the document has proved valid. */
#define RUN_MODE 3
#include <stdlib.h>

#include "base/error.h"
#include "schema/run_template.h"

typedef struct schema_log_entry {
  const trilha_json_value *rule;  /* NULL: `value` is a key that some `properties` lists */
  const trilha_json_value *value; /* in the values that run */
} schema_log_entry;

static bool note(schema_run *run, const trilha_json_value *rule, const trilha_json_value *value) {
  trilha_schema_scratch *scratch = run->scratch;
  if (!trilha_schema_reserve(&scratch->log, &scratch->log_capacity, scratch->log_count + 1, sizeof(*scratch->log))) {
    run->no_memory = true;
    return false;
  }
  scratch->log[scratch->log_count++] = (schema_log_entry){rule, value};
  return true;
}

bool trilha_schema_note_annotation(schema_run *run, const schema_instr *instr, const trilha_json_value *value) {
  return note(run, instr->u.rule, value);
}

bool trilha_schema_note_listed(schema_run *run, const trilha_json_value *key) {
  return note(run, NULL, key);
}

/* A bit a value: keys that are listed, then values below a name that is not. */
static bool reserve_listed(schema_run *run, size_t count) {
  trilha_schema_scratch *scratch = run->scratch;
  if (!trilha_schema_reserve(&scratch->listed, &scratch->listed_words, count / 64 + 1, sizeof(*scratch->listed))) {
    return false;
  }
  memset(scratch->listed, 0, (count / 64 + 1) * sizeof(*scratch->listed));
  for (size_t i = 0; i < scratch->log_count; i++) {
    if (scratch->log[i].rule != NULL) continue;
    size_t at = (size_t)(scratch->log[i].value - run->root);
    scratch->listed[at / 64] |= UINT64_C(1) << (at % 64);
  }
  return true;
}

static bool has_bit(const uint64_t *bits, size_t at) {
  return (bits[at / 64] >> (at % 64) & 1) != 0;
}

/* Turns "this key is listed" into "this value stands below a name that is not": a member that is not listed marks its
 * whole subtree, which is then skipped, so each value is looked at once. */
static void spread_unlisted(schema_run *run, size_t count) {
  uint64_t *bits = run->scratch->listed;
  const trilha_json_value *root = run->root;
  for (size_t i = 0; i < count; i++) {
    if (root[i].type != TRILHA_JSON_OBJECT || has_bit(bits, i)) continue;
    const trilha_json_value *key = &root[i + 1];
    for (uint32_t k = 0; k < root[i].size; k++) {
      size_t at = (size_t)(key - root);
      const trilha_json_value *next = trilha_json_next(key + 1);
      bool listed = has_bit(bits, at);
      bits[at / 64] &= ~(UINT64_C(1) << (at % 64));
      for (size_t end = (size_t)(next - root); !listed && at < end; at++) bits[at / 64] |= UINT64_C(1) << (at % 64);
      key = next;
    }
  }
}

static trilha_status tell(schema_run *run, const trilha_json_document *document, trilha_annotation_found found,
                          void *user) {
  const trilha_schema_scratch *scratch = run->scratch;
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; i < scratch->log_count && status == TRILHA_OK; i++) {
    const schema_log_entry *entry = &scratch->log[i];
    if (entry->rule == NULL) continue;
    size_t at = (size_t)(entry->value - run->root);
    trilha_annotation annotation = {document->values + at, entry->rule, has_bit(scratch->listed, at)};
    status = found(user, &annotation);
  }
  return status;
}

trilha_status trilha_schema_annotate(const trilha_schema *schema, const trilha_json_document *document,
                                     const trilha_json_keys *keys, trilha_schema_scratch *scratch,
                                     trilha_annotation_found found, void *user, trilha_error *err) {
  schema_run run;
  scratch->log_count = 0;
  if (trilha_schema_run_start(&run, schema, &schema->plain, document, keys, scratch) == NULL) {
    return trilha_error_no_memory(err);
  }
  schema_result result = run_blocks(&run, schema->plain.root);
  if (run.no_memory || !reserve_listed(&run, document->count)) return trilha_error_no_memory(err);
  if (result == RESULT_UNDECIDED || run.steps < 0) {
    return trilha_error_set(err, TRILHA_LIMIT, "SCHEMA_UNDECIDED", "a limit ran out before the document was decided");
  }
  if (result == RESULT_FAIL) {
    return trilha_error_set(err, TRILHA_INVALID, "SCHEMA_MISMATCH", "the document is not valid under its schema");
  }
  spread_unlisted(&run, document->count);
  return tell(&run, document, found, user);
}
