/* What a thread brings to a run, how a run begins, and the sets of evaluated members. */
#include <stdlib.h>

#include "base/error.h"
#include "schema/run.h"

/* Sets of evaluated members, in words: nested objects of one document. And the texts of one report. */
enum { TRILHA_SCHEMA_SETS_WORDS_MAX = 1 << 22, TRILHA_SCHEMA_REPORT_BYTES_MAX = 64 << 20 };

trilha_status trilha_schema_scratch_new(trilha_schema_scratch **ret_scratch, trilha_error *err) {
  trilha_schema_scratch *scratch = calloc(1, sizeof(*scratch));
  if (scratch == NULL) return trilha_error_no_memory(err);
  trilha_buffer_init(&scratch->texts, TRILHA_SCHEMA_REPORT_BYTES_MAX);
  scratch->frames = malloc(TRILHA_SCHEMA_RUN_DEPTH_MAX * sizeof(*scratch->frames));
  trilha_status status =
      scratch->frames == NULL ? trilha_error_no_memory(err) : trilha_pattern_scratch_new(&scratch->patterns, err);
  if (status != TRILHA_OK) {
    trilha_schema_scratch_free(scratch);
    return status;
  }
  *ret_scratch = scratch;
  return TRILHA_OK;
}

void trilha_schema_scratch_free(trilha_schema_scratch *scratch) {
  if (scratch == NULL) return;
  if (scratch->patterns != NULL) trilha_pattern_scratch_free(scratch->patterns);
  free(scratch->frames);
  free(scratch->bits);
  free(scratch->present);
  free(scratch->slots);
  free(scratch->slot_values);
  free(scratch->copy);
  free(scratch->log);
  free(scratch->drafts);
  free(scratch->violations);
  free(scratch->listed);
  trilha_buffer_done(&scratch->texts);
  free(scratch);
}

bool trilha_schema_reserve(void *items, size_t *capacity, size_t needed, size_t size) {
  if (needed <= *capacity) return true;
  size_t larger = *capacity == 0 ? 64 : *capacity;
  while (larger < needed) larger *= 2;
  void *old = NULL;
  memcpy(&old, items, sizeof(old));
  void *room = realloc(old, larger * size);
  if (room == NULL) return false;
  memcpy(items, &room, sizeof(room));
  *capacity = larger;
  return true;
}

/* The document with the schema's key numbers. */
static const trilha_json_value *renumbered(const trilha_schema *schema, const trilha_json_document *document,
                                           trilha_schema_scratch *scratch) {
  if (!trilha_schema_reserve(&scratch->copy, &scratch->copy_capacity, document->count, sizeof(*scratch->copy))) {
    return NULL;
  }
  memcpy(scratch->copy, document->values, document->count * sizeof(*scratch->copy));
  for (size_t i = 0; i < document->count; i++) {
    if (scratch->copy[i].type != TRILHA_JSON_OBJECT) continue;
    trilha_json_value *key = &scratch->copy[i + 1];
    for (uint32_t k = 0; k < scratch->copy[i].size; k++) {
      key->key = trilha_json_keys_find(schema->keys, key->u.text, key->size);
      key += 1 + (key[1].type >= TRILHA_JSON_ARRAY ? key[1].u.extent : 1);
    }
  }
  return scratch->copy;
}

const trilha_json_value *trilha_schema_run_start(schema_run *run, const trilha_schema *schema,
                                                 const schema_program *program, const trilha_json_document *document,
                                                 const trilha_json_keys *keys, trilha_schema_scratch *scratch) {
  *run = (schema_run){.schema = schema, .program = program, .scratch = scratch};
  run->steps = schema->run_steps_max > INT64_MAX ? INT64_MAX : (int64_t)schema->run_steps_max;
  scratch->bits_size = 0;
  run->root = keys == schema->keys ? document->values : renumbered(schema, document, scratch);
  if (run->root == NULL) run->no_memory = true;
  return run->root;
}

/* --- sets of evaluated members or items ------------------------------------------------------------------------- */

static uint32_t words_of(uint32_t size) {
  return size / 64 + 1;
}

static bool push_words(schema_run *run, uint32_t words) {
  trilha_schema_scratch *scratch = run->scratch;
  if (scratch->bits_size + words > TRILHA_SCHEMA_SETS_WORDS_MAX ||
      !trilha_schema_reserve(&scratch->bits, &scratch->bits_capacity, scratch->bits_size + words,
                             sizeof(*scratch->bits))) {
    run->no_memory = true;
    return false;
  }
  run->steps -= words;
  scratch->bits_size += words;
  return true;
}

bool trilha_schema_track_open(schema_run *run, schema_frame *frame, const trilha_json_value *value) {
  frame->saved = run->track;
  frame->count = run->track_size;
  run->track = (uint32_t)run->scratch->bits_size;
  run->track_size = value->type >= TRILHA_JSON_ARRAY ? value->size : 0;
  if (!push_words(run, words_of(run->track_size))) return false;
  memset(run->scratch->bits + run->track, 0, words_of(run->track_size) * sizeof(uint64_t));
  return true;
}

void trilha_schema_track_close(schema_run *run, const schema_frame *frame, bool merge) {
  uint64_t *bits = run->scratch->bits;
  uint32_t own = run->track, words = words_of(run->track_size);
  run->scratch->bits_size = own;
  run->track = frame->saved;
  run->track_size = frame->count;
  if (!merge) return;
  for (uint32_t i = 0; i < words; i++) bits[run->track + i] |= bits[own + i];
}

bool trilha_schema_track_save(schema_run *run, schema_frame *frame) {
  uint32_t words = words_of(run->track_size);
  frame->saved = (uint32_t)run->scratch->bits_size;
  if (!push_words(run, words)) return false;
  memcpy(run->scratch->bits + frame->saved, run->scratch->bits + run->track, words * sizeof(uint64_t));
  return true;
}

void trilha_schema_track_restore(schema_run *run, const schema_frame *frame, bool keep) {
  run->scratch->bits_size = frame->saved;
  if (keep) return;
  memcpy(run->scratch->bits + run->track, run->scratch->bits + frame->saved,
         words_of(run->track_size) * sizeof(uint64_t));
}

void trilha_schema_track_all(schema_run *run) {
  memset(run->scratch->bits + run->track, 0xff, words_of(run->track_size) * sizeof(uint64_t));
}
