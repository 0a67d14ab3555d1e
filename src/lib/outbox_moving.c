/* lib/outbox_moving: the street door of moving over from another dispatcher: paths, and the import of its backlog. The
 * mapping is checked here, by its schema; nothing of it reaches a database unchecked. */
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/text.h"
#include "import_schema.h" /* generated: docs/outbox-import.schema.json */
#include "json/json.h"
#include "lib/outbox.h"
#include "schema/schema.h"

enum { HOLDER_CHARACTERS_MAX = 100, IMPORT_BATCH_DEFAULT = 500 };

/* --- paths ------------------------------------------------------------------------------------------------------- */

static trilha_status check_path(const trilha_outbox_path *path, trilha_error *error) {
  trilha_status status = trilha_outbox_check_pattern(path->type_pattern, error);
  if (status == TRILHA_OK) status = trilha_outbox_check_who(path->user, path->reason, error);
  if (status != TRILHA_OK) return status;
  size_t characters = path->holder.data == NULL ? 0 : trilha_utf8_length(path->holder.data, path->holder.size);
  if (characters == 0 || characters > HOLDER_CHARACTERS_MAX)
    status = trilha_error_set(error, TRILHA_INVALID, "HOLDER_INVALID",
                              "the other dispatcher needs a name of at most %d characters", HOLDER_CHARACTERS_MAX);
  return status;
}

trilha_status trilha_outbox_path_hold(trilha_outbox *outbox, const trilha_outbox_path *path, bool *ret_new,
                                      trilha_error *error) {
  bool is_new = false;
  if (outbox == NULL || path == NULL) return trilha_outbox_missing(error, "the outbox and the path");
  trilha_status status = check_path(path, error);
  if (status == TRILHA_OK) status = outbox->store->op->path_hold(outbox->store, path, &is_new, error);
  if (status == TRILHA_OK && ret_new != NULL) *ret_new = is_new;
  return status;
}

trilha_status trilha_outbox_path_take(trilha_outbox *outbox, trilha_text type_pattern, bool override, trilha_text user,
                                      trilha_text reason, int64_t *ret_woken, trilha_error *error) {
  int64_t woken = 0;
  if (outbox == NULL) return trilha_outbox_missing(error, "the outbox");
  trilha_status status = trilha_outbox_check_pattern(type_pattern, error);
  if (status == TRILHA_OK) status = trilha_outbox_check_who(user, reason, error);
  if (status == TRILHA_OK)
    status = outbox->store->op->path_take(outbox->store, type_pattern, override, user, reason, &woken, error);
  if (status == TRILHA_OK && ret_woken != NULL) *ret_woken = woken;
  return status;
}

trilha_status trilha_outbox_paths(trilha_outbox *outbox, trilha_outbox_path_visit visit, void *user,
                                  trilha_error *error) {
  if (outbox == NULL || visit == NULL) return trilha_outbox_missing(error, "the outbox and the visitor");
  return outbox->store->op->paths(outbox->store, visit, user, error);
}

/* --- a mapping --------------------------------------------------------------------------------------------------- */

static trilha_status refuse(trilha_error *error, const trilha_violations *found) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  for (size_t i = 0; i < found->count; i++) {
    const trilha_violation *v = &found->items[i];
    bool unknown = trilha_text_is(v->keyword, "additionalProperties") || trilha_text_is(v->keyword, "false schema");
    if (v->in_branch) continue;
    if (text.size > 0) trilha_buffer_add_string(&text, "; ");
    trilha_buffer_add_text(&text, v->instance_pointer.size == 0 ? TRILHA_TEXT("the mapping") : v->instance_pointer);
    trilha_buffer_add_char(&text, ' ');
    trilha_buffer_add_text(&text, unknown ? TRILHA_TEXT("is not known here") : v->text);
  }
  trilha_status status = trilha_buffer_check(&text, error);
  if (status != TRILHA_OK) return status;
  return trilha_error_set(error, TRILHA_INVALID, "IMPORT_MAPPING", "%s",
                          text.size > 0 ? text.data : "the mapping is not as docs/outbox-import.schema.json says");
}

static trilha_status run_schema(const trilha_schema *schema, const trilha_json_document *mapping, trilha_error *error) {
  trilha_schema_scratch *scratch = NULL;
  trilha_status status = trilha_schema_scratch_new(&scratch, error);
  if (status == TRILHA_OK && trilha_schema_validate(schema, mapping, NULL, scratch) != TRILHA_VERDICT_VALID) {
    trilha_violations found = {0};
    status = trilha_schema_report(schema, mapping, NULL, false, scratch, &found, error);
    if (status == TRILHA_OK) status = refuse(error, &found);
  }
  trilha_schema_scratch_free(scratch);
  return status;
}

static trilha_status check_schema(const trilha_json_document *mapping, trilha_error *error) {
  const trilha_schema_options options = {.assert_format = false};
  const trilha_text text = {trilha_import_schema_files[0].data, trilha_import_schema_files[0].size};
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *rules = NULL;
  trilha_schema *schema = NULL;
  trilha_status status = trilha_json_parse(text, &limits, &rules, NULL, error);
  if (status == TRILHA_OK) status = trilha_schema_compile(rules, &options, &schema, error);
  if (status == TRILHA_OK) status = run_schema(schema, mapping, error);
  trilha_schema_free(schema);
  trilha_json_document_free(rules);
  return status;
}

static trilha_mapped_field read_field(const trilha_json_value *value) {
  if (value == NULL) return (trilha_mapped_field){.derived = false};
  if (value->type == TRILHA_JSON_STRING) return (trilha_mapped_field){.column = trilha_json_text(value)};
  trilha_text derive = trilha_json_member_string(value, "derive");
  if (derive.data != NULL) return (trilha_mapped_field){.column = derive, .derived = true};
  return (trilha_mapped_field){.value = trilha_json_member_string(value, "value")};
}

/* As its text is compared; absent: NULL. */
static trilha_text scalar_text(const trilha_json_value *value) {
  if (value->type == TRILHA_JSON_TRUE) return TRILHA_TEXT("true");
  if (value->type == TRILHA_JSON_FALSE) return TRILHA_TEXT("false");
  return value->type == TRILHA_JSON_NULL ? (trilha_text){0} : trilha_json_text(value);
}

static trilha_status read_conditions(const trilha_json_value *where, trilha_arena *arena, trilha_outbox_mapping *out,
                                     trilha_error *error) {
  if (where == NULL || where->size == 0) return TRILHA_OK;
  trilha_mapped_condition *all = trilha_arena_array(arena, where->size, sizeof *all);
  if (all == NULL) return trilha_error_no_memory(error);
  const trilha_json_value *name = where + 1;
  for (size_t i = 0; i < where->size; i++, name = trilha_json_next(name + 1))
    all[i] = (trilha_mapped_condition){trilha_json_text(name), scalar_text(name + 1)};
  out->conditions = all;
  out->condition_count = where->size;
  return TRILHA_OK;
}

static trilha_status read_mapping(const trilha_json_document *document, trilha_arena *arena, trilha_outbox_mapping *out,
                                  trilha_error *error) {
  static const char *const fields[TRILHA_MAPPED_FIELDS] = {
      "tenant_id",      "aggregate_type", "aggregate_key", "message_type", "version",     "payload",    "origin",
      "correlation_id", "message_id",     "company_id",    "causation_id", "traceparent", "occurred_at"};
  const trilha_json_value *root = document->values, *from = trilha_json_member(root, "fields");
  *out = (trilha_outbox_mapping){.name = trilha_json_member_string(root, "name"),
                                 .holder = trilha_json_member_string(root, "holder"),
                                 .table = trilha_json_member_string(root, "table"),
                                 .position = trilha_json_member_string(root, "position")};
  for (size_t i = 0; i < TRILHA_MAPPED_FIELDS; i++) out->fields[i] = read_field(trilha_json_member(from, fields[i]));
  return read_conditions(trilha_json_member(root, "where"), arena, out, error);
}

/* --- the import --------------------------------------------------------------------------------------------------- */

typedef struct import {
  trilha_outbox *outbox;
  const trilha_import_options *options;
  trilha_import_progress progress;
  void *user;
  trilha_imported *done;
} import;

static trilha_status copy_all(const import *im, trilha_outbox_import_step *step, trilha_error *error) {
  trilha_outbox_store *store = im->outbox->store;
  trilha_status status = TRILHA_OK;
  for (bool more = true; more && status == TRILHA_OK;) {
    status = store->op->import_batch(store, step, error);
    if (status != TRILHA_OK) break;
    im->done->rows += step->copied;
    im->done->finished = step->ended;
    if (TRILHA_FAULT("outbox.import.after_batch"))
      return trilha_error_set(error, TRILHA_UNAVAILABLE, "FAULT", "fault point outbox.import.after_batch");
    more = !step->ended && (im->progress == NULL || im->progress(im->user, im->done));
  }
  return status;
}

static trilha_status run(const import *im, const trilha_outbox_mapping *mapping, trilha_error *error) {
  const trilha_import_options *o = im->options;
  trilha_outbox_store *store = im->outbox->store;
  trilha_outbox_import_step step = {.mapping = mapping,
                                    .rows_max = o->batch == 0 ? IMPORT_BATCH_DEFAULT : o->batch,
                                    .dry_run = o->dry_run,
                                    .user = o->user,
                                    .reason = o->reason};
  trilha_status status = store->op->import_begin(store, &step, error);
  im->done->total = step.total;
  im->done->rows = step.imported;
  if (status == TRILHA_OK && TRILHA_FAULT("outbox.import.begun"))
    status = trilha_error_set(error, TRILHA_UNAVAILABLE, "FAULT", "fault point outbox.import.begun");
  return status == TRILHA_OK && !o->dry_run ? copy_all(im, &step, error) : status;
}

static trilha_status run_document(const import *im, const trilha_json_document *document, trilha_error *error) {
  trilha_outbox_mapping mapping;
  TRILHA_BUFFER_SCOPED json;
  TRILHA_ARENA_SCOPED arena;
  trilha_buffer_init(&json, 0);
  trilha_arena_init(&arena, 0);
  trilha_status status = check_schema(document, error);
  if (status == TRILHA_OK) status = read_mapping(document, &arena, &mapping, error);
  if (status == TRILHA_OK) status = trilha_json_write_canonical(&json, document->values, error);
  if (status == TRILHA_OK) status = trilha_buffer_check(&json, error);
  if (status != TRILHA_OK) return status;
  mapping.json = trilha_buffer_text(&json);
  return run(im, &mapping, error);
}

static trilha_status check_options(const trilha_import_options *o, trilha_error *error) {
  if (o->batch < 0 || o->batch > TRILHA_IMPORT_BATCH_MAX)
    return trilha_error_set(error, TRILHA_USAGE, "IMPORT_OPTIONS", "batch must be from 0 to %d, not %lld",
                            TRILHA_IMPORT_BATCH_MAX, (long long)o->batch);
  if (o->mapping.size > TRILHA_IMPORT_MAPPING_MAX)
    return trilha_error_set(error, TRILHA_LIMIT, "IMPORT_MAPPING", "a mapping has at most %d bytes",
                            TRILHA_IMPORT_MAPPING_MAX);
  return o->dry_run ? TRILHA_OK : trilha_outbox_check_who(o->user, o->reason, error);
}

trilha_status trilha_outbox_import(trilha_outbox *outbox, const trilha_import_options *options,
                                   trilha_import_progress progress, void *user, trilha_imported *ret_imported,
                                   trilha_error *error) {
  trilha_imported done = {0};
  if (outbox == NULL || options == NULL || ret_imported == NULL)
    return trilha_outbox_missing(error, "the outbox, the options and the place for the answer");
  *ret_imported = done;
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_status status = check_options(options, error);
  if (status == TRILHA_OK) status = trilha_json_parse(options->mapping, &limits, &document, NULL, error);
  if (status == TRILHA_OK) status = trilha_json_check_storable(document, options->mapping, NULL, error);
  const import im = {outbox, options, progress, user, &done};
  if (status == TRILHA_OK) status = run_document(&im, document, error);
  trilha_json_document_free(document);
  *ret_imported = done;
  return status;
}
