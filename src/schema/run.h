/* schema/run: state of one evaluation, shared by the three passes. Room: schema, inside. One owner. */
#ifndef TRILHA_SCHEMA_RUN_H
#define TRILHA_SCHEMA_RUN_H

#include "schema/program.h"

typedef enum schema_result {
  RESULT_PASS,
  RESULT_FAIL,
  RESULT_UNDECIDED, /* ends the whole run */
  RESULT_DESCEND    /* run->child must run on run->child_value first */
} schema_result;

/* An instruction that waits for a child. Which fields mean what is up to the instruction. */
typedef struct schema_frame {
  const schema_instr *at;
  const schema_block *block;       /* that `at` belongs to */
  const trilha_json_value *value;  /* the instance of `block` */
  const trilha_json_value *cursor; /* loops: the member's key or the item that runs */
  uint64_t seen;                   /* objects: watched names */
  uint32_t left;                   /* loops: members or items after the cursor's */
  uint32_t index;                  /* which child runs: branch, pattern, item */
  uint32_t count;                  /* matches */
  uint32_t log;                    /* report and annotation: where this instruction's entries begin */
  uint32_t saved;                  /* set of evaluated: its copy from before the child, or the outer set */
  bool failed;                     /* report: some child failed */
  bool block_failed;               /* report: an earlier instruction of the block failed */
  bool quiet;                      /* report: what the child says is dropped anyway */
} schema_frame;

typedef struct schema_violation_list schema_violation_list;

struct trilha_schema_scratch {
  schema_frame *frames; /* TRILHA_SCHEMA_RUN_DEPTH_MAX */
  trilha_pattern_scratch *patterns;
  uint64_t *bits; /* sets of evaluated members, a stack */
  size_t bits_size, bits_capacity;
  uint64_t *present; /* a bit a key, all clear between uses */
  size_t present_words;
  uint32_t *slots; /* uniqueItems */
  const trilha_json_value **slot_values;
  size_t slot_capacity;
  trilha_json_value *copy; /* a document read with other keys, renumbered */
  size_t copy_capacity;
  struct schema_log_entry *log; /* annotations */
  size_t log_count, log_capacity;
  struct schema_violation_draft *drafts; /* violations, texts as offsets */
  size_t draft_count, draft_capacity;
  trilha_violation *violations;
  size_t violation_capacity;
  trilha_buffer texts;
  uint64_t *listed;
  size_t listed_words;
};

typedef struct schema_run {
  const trilha_schema *schema;
  const schema_program *program;
  trilha_schema_scratch *scratch;
  int64_t steps; /* left */
  uint32_t depth;
  schema_result result; /* of the child that ran */
  const schema_block *child;
  const trilha_json_value *child_value;
  const trilha_json_value *root; /* of the instance */
  const schema_block *block;     /* report: the one running */
  const trilha_json_value *value;
  uint32_t track, track_size; /* the current set in scratch->bits: offset, members or items */
  uint32_t quiet;             /* report: above 0 nothing is noted */
  size_t total;               /* report: violations found */
  bool certain;               /* report: a failure outside every branch: limits that run out later change nothing */
  bool mask_names, no_memory;
} schema_run;

/* Leaves that are too rare or too large to be inlined (check.c). */
schema_result trilha_schema_check_unique(schema_run *run, const trilha_json_value *value);
schema_result trilha_schema_check_required(schema_run *run, const schema_names *names, const trilha_json_value *value);
schema_result trilha_schema_check_dependent(schema_run *run, const schema_dependent *dependent,
                                            const trilha_json_value *value);
schema_result trilha_schema_check_number_exactly(const schema_number *number, const trilha_json_value *value);
schema_result trilha_schema_check_enum_others(schema_run *run, const schema_enum *values,
                                              const trilha_json_value *value);
bool trilha_schema_is_integer(const trilha_json_value *value);
/* Marks the keys of an object's members in scratch->present, or clears them; false when out of memory. */
bool trilha_schema_mark_present(schema_run *run, const trilha_json_value *object, bool set);
static inline bool trilha_schema_is_present(const schema_run *run, uint16_t key) {
  return (run->scratch->present[key / 64] >> (key % 64) & 1) != 0;
}

/* Sets of evaluated members or items (track.c). */
bool trilha_schema_track_open(schema_run *run, schema_frame *frame, const trilha_json_value *value);
void trilha_schema_track_close(schema_run *run, const schema_frame *frame, bool merge);
bool trilha_schema_track_save(schema_run *run, schema_frame *frame);
void trilha_schema_track_restore(schema_run *run, const schema_frame *frame, bool keep);
static inline void trilha_schema_track_mark(schema_run *run, uint32_t index) {
  run->scratch->bits[run->track + index / 64] |= UINT64_C(1) << (index % 64);
}
static inline bool trilha_schema_track_has(const schema_run *run, uint32_t index) {
  return (run->scratch->bits[run->track + index / 64] >> (index % 64) & 1) != 0;
}
void trilha_schema_track_all(schema_run *run);

/* Makes ready; the values to run on, renumbered when the document was read with other keys; NULL: out of memory. */
const trilha_json_value *trilha_schema_run_start(schema_run *run, const trilha_schema *schema,
                                                 const schema_program *program, const trilha_json_document *document,
                                                 const trilha_json_keys *keys, trilha_schema_scratch *scratch);
/* A power-of-two growth of a scratch array; false when out of memory. */
bool trilha_schema_reserve(void *items, size_t *capacity, size_t needed, size_t size);

/* What the passes add (report.c, annotate.c). */
void trilha_schema_note_violation(schema_run *run, const schema_instr *instr, const trilha_json_value *value);
void trilha_schema_note_name(schema_run *run, const schema_instr *instr, trilha_text name);
bool trilha_schema_note_annotation(schema_run *run, const schema_instr *instr, const trilha_json_value *value);
bool trilha_schema_note_listed(schema_run *run, const trilha_json_value *key);

#endif
