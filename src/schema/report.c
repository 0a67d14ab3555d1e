/* The reporting pass: the plain program, every failure noted with where it was. */
#define RUN_MODE 2
#include "schema/report.h"
#include "base/error.h"
#include "schema/run_template.h"

enum { NOTE_STEPS = 64 }; /* what noting a violation costs of the step budget, besides its paths */

/* Texts are offsets into scratch->texts until the run has ended: the buffer moves. */
typedef struct schema_violation_draft {
  const schema_instr *instr;
  size_t instance_at, schema_at, location_at, text_at, end;
  bool in_branch;
} schema_violation_draft;

/* --- pointers ----------------------------------------------------------------------------------------------------- */

static void add_index(trilha_buffer *out, uint32_t index) {
  trilha_buffer_add_char(out, '/');
  trilha_buffer_add_u64(out, index);
}

static bool goes_through_member(const schema_instr *instr) {
  return instr->op == OP_OBJECT || instr->op == OP_OBJECT_PATTERNS || instr->op == OP_UNEVALUATED_PROPERTIES;
}

static bool goes_through_item(const schema_instr *instr) {
  return instr->op == OP_ITEMS || instr->op == OP_CONTAINS || instr->op == OP_UNEVALUATED_ITEMS;
}

/* Where in the instance the waiting frames have led. A name that the schema does not know is data. */
static void add_instance_pointer(const schema_run *run, trilha_buffer *out) {
  for (uint32_t i = 0; i < run->depth; i++) {
    const schema_frame *frame = &run->scratch->frames[i];
    if (goes_through_item(frame->at)) {
      add_index(out, frame->index);
    } else if (goes_through_member(frame->at)) {
      trilha_buffer_add_char(out, '/');
      if (run->mask_names && frame->cursor->key == 0)
        trilha_buffer_add_char(out, '*');
      else
        trilha_json_pointer_add(out, trilha_json_text(frame->cursor));
    }
  }
}

static void add_token(trilha_buffer *out, trilha_text token) {
  trilha_buffer_add_char(out, '/');
  trilha_json_pointer_add(out, token);
}

static void add_keyword(trilha_buffer *out, schema_keyword keyword) {
  trilha_buffer_add_char(out, '/');
  trilha_buffer_add_string(out, trilha_schema_keyword_name(keyword));
}

static void add_member_segment(trilha_buffer *out, const schema_frame *frame) {
  const schema_object *object = frame->at->u.object;
  if (frame->index == 1) {
    add_keyword(out, KW_PROPERTIES);
    add_token(out, trilha_json_text(frame->cursor));
  } else if (frame->index <= object->pattern_count + 1) {
    add_keyword(out, KW_PATTERN_PROPERTIES);
    add_token(out, object->patterns[frame->index - 2].text);
  } else {
    add_keyword(out, KW_ADDITIONAL_PROPERTIES);
  }
}

/* The step a waiting instruction took in the schema. */
static void add_segment(trilha_buffer *out, const schema_frame *frame) {
  const schema_instr *instr = frame->at;
  switch ((int)instr->op) {
    case OP_OBJECT:
    case OP_OBJECT_PATTERNS:
      add_member_segment(out, frame);
      break;
    case OP_ITEMS:
      if (frame->index >= instr->u.items->prefix_count) {
        add_keyword(out, KW_ITEMS);
      } else {
        add_keyword(out, KW_PREFIX_ITEMS);
        add_index(out, frame->index);
      }
      break;
    case OP_CALL:
      add_keyword(out, (schema_keyword)instr->keyword);
      if ((instr->flags & INSTR_IN_ALL_OF) != 0) add_index(out, instr->index);
      break;
    case OP_ANY_OF:
    case OP_ONE_OF:
      add_keyword(out, (schema_keyword)instr->keyword);
      add_index(out, frame->index);
      break;
    case OP_IF:
      add_keyword(out, frame->index == 0 ? KW_IF : frame->index == 1 ? KW_THEN : KW_ELSE);
      break;
    case OP_DEPENDENT_SCHEMAS:
      add_keyword(out, (schema_keyword)instr->keyword);
      add_token(out, instr->u.dependent->names[frame->index]);
      break;
    case OP_TRACK:
      break;
    default:
      add_keyword(out, (schema_keyword)instr->keyword);
  }
}

static void add_own_keyword(trilha_buffer *out, const schema_instr *instr) {
  if (instr->op != OP_FALSE) add_keyword(out, (schema_keyword)instr->keyword);
}

static void add_location(const schema_run *run, trilha_buffer *out, const schema_instr *instr) {
  const schema_resource_name *resource = &run->schema->resources[run->block->resource];
  trilha_buffer_add_text(out, resource->uri);
  trilha_buffer_add_char(out, '#');
  trilha_json_pointer_to(resource->root, run->block->value, out);
  add_own_keyword(out, instr);
}

static bool is_in_branch(const schema_run *run) {
  for (uint32_t i = 0; i < run->depth; i++) {
    uint8_t op = run->scratch->frames[i].at->op;
    if (op == OP_ANY_OF || op == OP_ONE_OF || op == OP_CONTAINS) return true;
  }
  return false;
}

void trilha_schema_note_name(schema_run *run, const schema_instr *instr, trilha_text name) {
  trilha_schema_scratch *scratch = run->scratch;
  if (run->quiet > 0) return;
  bool in_branch = is_in_branch(run);
  run->certain = run->certain || !in_branch;
  run->total++;
  run->steps -= NOTE_STEPS;
  if (scratch->draft_count >= TRILHA_SCHEMA_VIOLATIONS_MAX) return;
  if (!trilha_schema_reserve(&scratch->drafts, &scratch->draft_capacity, scratch->draft_count + 1,
                             sizeof(*scratch->drafts))) {
    run->no_memory = true;
    return;
  }
  trilha_buffer *out = &scratch->texts;
  schema_violation_draft draft = {.instr = instr, .in_branch = in_branch};
  draft.instance_at = out->size;
  add_instance_pointer(run, out);
  draft.schema_at = out->size;
  for (uint32_t i = 0; i < run->depth; i++) add_segment(out, &scratch->frames[i]);
  add_own_keyword(out, instr);
  draft.location_at = out->size;
  add_location(run, out, instr);
  draft.text_at = out->size;
  trilha_schema_violation_text(out, instr, name);
  draft.end = out->size;
  run->steps -= (int64_t)((draft.end - draft.instance_at) / 16);
  scratch->drafts[scratch->draft_count++] = draft;
}

void trilha_schema_note_violation(schema_run *run, const schema_instr *instr, const trilha_json_value *value) {
  (void)value;
  trilha_schema_note_name(run, instr, (trilha_text){0});
}

/* --- the call ----------------------------------------------------------------------------------------------------- */

static trilha_text text_between(const trilha_buffer *texts, size_t from, size_t to) {
  return (trilha_text){texts->data == NULL ? "" : texts->data + from, to - from};
}

static bool finish_violations(trilha_schema_scratch *scratch) {
  if (!trilha_schema_reserve(&scratch->violations, &scratch->violation_capacity, scratch->draft_count + 1,
                             sizeof(*scratch->violations))) {
    return false;
  }
  for (size_t i = 0; i < scratch->draft_count; i++) {
    const schema_violation_draft *draft = &scratch->drafts[i];
    scratch->violations[i] = (trilha_violation){
        .instance_pointer = text_between(&scratch->texts, draft->instance_at, draft->schema_at),
        .schema_pointer = text_between(&scratch->texts, draft->schema_at, draft->location_at),
        .schema_location = text_between(&scratch->texts, draft->location_at, draft->text_at),
        .text = text_between(&scratch->texts, draft->text_at, draft->end),
        .keyword = trilha_text_of(trilha_schema_keyword_name((schema_keyword)draft->instr->keyword)),
        .in_branch = draft->in_branch,
    };
  }
  return true;
}

trilha_status trilha_schema_report(const trilha_schema *schema, const trilha_json_document *document,
                                   const trilha_json_keys *keys, bool mask_names, trilha_schema_scratch *scratch,
                                   trilha_violations *ret_violations, trilha_error *err) {
  schema_run run;
  scratch->draft_count = 0;
  trilha_buffer_clear(&scratch->texts);
  if (trilha_schema_run_start(&run, schema, &schema->plain, document, keys, scratch) == NULL) {
    return trilha_error_no_memory(err);
  }
  run.mask_names = mask_names;
  schema_result result = run_blocks(&run, schema->plain.root);
  bool no_memory = run.no_memory || scratch->texts.failed == TRILHA_NO_MEMORY;
  if (no_memory || !finish_violations(scratch)) return trilha_error_no_memory(err);
  bool undecided = result == RESULT_UNDECIDED || run.steps < 0 || scratch->texts.failed != TRILHA_OK;
  undecided = undecided && !run.certain;
  *ret_violations = (trilha_violations){
      .items = scratch->violations,
      .count = scratch->draft_count,
      .total = run.total,
      .verdict = undecided               ? TRILHA_VERDICT_UNDECIDED
                 : result == RESULT_PASS ? TRILHA_VERDICT_VALID
                                         : TRILHA_VERDICT_INVALID,
  };
  return TRILHA_OK;
}
