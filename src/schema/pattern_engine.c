/* schema/pattern_engine: items rewritten for PCRE2, and matching under its limits. */
#include <stdlib.h>

#include "schema/late_pcre2.h"
#include "schema/pattern_internal.h"

#define REWRITTEN_MAX ((size_t)1 << 20) /* bytes of the text given to PCRE2 */
#define ANY_CHARACTER "[\\x{0}-\\x{10ffff}]"

struct trilha_engine {
  pcre2_code *code;
};

struct trilha_pattern_scratch {
  pcre2_match_context *context; /* made when the engine is first needed */
  pcre2_match_data *data;
  pcre2_jit_stack *stack;
};

/* --- back-references ------------------------------------------------------------------------------ */

typedef enum reference_fate { REFERENCE_KEPT, REFERENCE_EMPTY, REFERENCE_REFUSED } reference_fate;

static size_t capture_open(const trilha_items *items, uint32_t number) {
  size_t i = 0;
  while (items->list[i].kind != TRILHA_ITEM_OPEN || items->list[i].capture != number) i++;
  return i;
}

static bool encloses(const trilha_items *items, size_t open, size_t inner) {
  return items->list[open].kind == TRILHA_ITEM_OPEN && open < inner && items->list[open].link > inner;
}

static bool has_alternatives(const trilha_items *items, size_t open) {
  for (size_t i = open + 1; i < items->list[open].link; i++)
    if (items->list[i].kind == TRILHA_ITEM_OR && items->list[i].link == open) return true;
  return false;
}

/* Whether each round of the repeated group at `loop` sets the capture at `open`, which is inside it or the same. */
static bool always_sets(const trilha_items *items, size_t loop, size_t open) {
  if (trilha_items_nullable(items, loop + 1, items->list[loop].link)) return false;
  if (loop == open) return true;
  if (items->list[open].min == 0 || has_alternatives(items, loop)) return false;
  for (size_t i = loop + 1; i < open; i++)
    if (encloses(items, i, open) && (items->list[i].min == 0 || has_alternatives(items, i))) return false;
  return true;
}

/* Whether the group at `loop` may leave the capture at `open` otherwise than in ECMA-262. A round that may be left out
 * counts as well: where it matched nothing, ECMA-262 goes on to the next alternative, and PCRE2 keeps the empty text.
 */
static bool rounds_differ(const trilha_items *items, size_t loop, size_t open) {
  const trilha_item *item = &items->list[loop];
  if (item->max > 1) return !always_sets(items, loop, open);
  return item->min == 0 && trilha_items_nullable(items, loop + 1, item->link);
}

/* ECMA-262 forgets the captures of a repeated group at each round and refuses rounds that match nothing; PCRE2 does
 * neither. What would come out differently is refused. A reference that stands before the end of its group always finds
 * it unset, and then matches the empty text. */
static reference_fate reference_fate_of(const trilha_items *items, size_t reference) {
  size_t open = capture_open(items, items->list[reference].link);
  for (size_t i = 0; i < items->count; i++) {
    if (items->list[i].kind != TRILHA_ITEM_OPEN) continue;
    bool around_group = i == open || encloses(items, i, open), around_reference = encloses(items, i, reference);
    trilha_group group = items->list[i].group;
    if ((around_group || around_reference) && (group == TRILHA_GROUP_BEHIND || group == TRILHA_GROUP_NOT_BEHIND))
      return REFERENCE_REFUSED;
    if (around_group && !around_reference && group == TRILHA_GROUP_NOT_AHEAD) return REFERENCE_REFUSED;
    if (around_group && items->list[i].max == 0) return REFERENCE_EMPTY;
  }
  if (reference < items->list[open].link) return REFERENCE_EMPTY;
  for (size_t i = 0; i <= open; i++)
    if ((i == open || encloses(items, i, open)) && rounds_differ(items, i, open)) return REFERENCE_REFUSED;
  return REFERENCE_KEPT;
}

/* --- rewriting ------------------------------------------------------------------------------------ */

static void write_ranges(const trilha_set *set, trilha_buffer *out) {
  for (size_t i = 0; i < set->count; i++) {
    trilha_range r = set->ranges[i];
    trilha_buffer_add_format(out, "\\x{%x}", (unsigned)r.low);
    if (r.high > r.low) trilha_buffer_add_format(out, "-\\x{%x}", (unsigned)r.high);
  }
}

static void write_class(const trilha_class *class, trilha_buffer *out) {
  if (class->properties == NULL && class->all.count == 0) {
    trilha_buffer_add_string(out, "[^\\x{0}-\\x{10ffff}]");
    return;
  }
  trilha_buffer_add_string(out, class->properties != NULL && class->inverted ? "[^" : "[");
  write_ranges(class->properties == NULL ? &class->all : &class->base, out);
  for (const trilha_class_property *p = class->properties; p != NULL; p = p->next)
    trilha_buffer_add_format(out, "\\%c{%s}", p->negated ? 'P' : 'p', p->engine);
  trilha_buffer_add_char(out, ']');
}

static trilha_status write_quantifier(const trilha_item *item, trilha_buffer *out, trilha_error *err) {
  bool bounded = item->max != TRILHA_PATTERN_UNBOUNDED;
  if (item->min == 1 && item->max == 1) return TRILHA_OK;
  if (item->min > TRILHA_PATTERN_ENGINE_REPEAT_MAX || (bounded && item->max > TRILHA_PATTERN_ENGINE_REPEAT_MAX))
    return trilha_error_set(err, TRILHA_LIMIT, "SCHEMA_PATTERN_LIMIT",
                            "the pattern repeats something more than %d times", TRILHA_PATTERN_ENGINE_REPEAT_MAX);
  trilha_buffer_add_format(out, "{%u,", (unsigned)item->min);
  if (bounded) trilha_buffer_add_u64(out, item->max);
  trilha_buffer_add_string(out, item->lazy ? "}?" : "}");
  return TRILHA_OK;
}

static trilha_status write_reference(const trilha_items *items, size_t index, trilha_buffer *out, trilha_error *err) {
  switch (reference_fate_of(items, index)) {
    case REFERENCE_REFUSED:
      return trilha_error_set(
          err, TRILHA_INVALID, "SCHEMA_PATTERN",
          "the pattern refers back to a group of a repetition or a look-around in a way that is not supported");
    case REFERENCE_EMPTY:
      trilha_buffer_add_string(out, "(?:)");
      return TRILHA_OK;
    case REFERENCE_KEPT:
    default:
      trilha_buffer_add_format(out, "\\g{%u}", (unsigned)items->list[index].link);
      return TRILHA_OK;
  }
}

static trilha_status write_item(const trilha_items *items, size_t index, trilha_buffer *out, trilha_error *err) {
  static const char *const opens[] = {"(?:", "(", "(?=", "(?!", "(?<=", "(?<!"};
  const trilha_item *item = &items->list[index];
  trilha_status status = TRILHA_OK;
  switch (item->kind) {
    case TRILHA_ITEM_SET:
      write_class(item->members, out);
      break;
    case TRILHA_ITEM_OPEN:
      trilha_buffer_add_string(out, opens[item->group]);
      return TRILHA_OK;
    case TRILHA_ITEM_CLOSE:
      trilha_buffer_add_char(out, ')');
      break;
    case TRILHA_ITEM_OR:
      trilha_buffer_add_char(out, '|');
      break;
    case TRILHA_ITEM_START:
      trilha_buffer_add_string(out, "\\A");
      break;
    case TRILHA_ITEM_END:
      trilha_buffer_add_string(out, "\\z");
      break;
    case TRILHA_ITEM_WORD:
      trilha_buffer_add_string(out, "\\b");
      break;
    case TRILHA_ITEM_NOT_WORD:
      trilha_buffer_add_string(out, "\\B");
      break;
    case TRILHA_ITEM_REFERENCE:
    default:
      status = write_reference(items, index, out, err);
      break;
  }
  return status == TRILHA_OK ? write_quantifier(item, out, err) : status;
}

/* PCRE2 is never let search by itself: its limits count anew at each place where it starts, so that the whole would
 * have none. */
static trilha_status rewrite(const trilha_items *items, trilha_buffer *out, trilha_error *err) {
  bool anchored = items->list[1].kind == TRILHA_ITEM_START && !has_alternatives(items, 0);
  if (!anchored) trilha_buffer_add_string(out, ANY_CHARACTER "*?");
  for (size_t i = 0; i < items->count; i++) {
    trilha_status status = write_item(items, i, out, err);
    if (status != TRILHA_OK) return status;
  }
  return trilha_buffer_check(out, err);
}

static trilha_status compile_error(int code, trilha_error *err) {
  char text[160] = "";
  switch (code) {
    case PCRE2_ERROR_HEAP_FAILED:
      return trilha_error_no_memory(err);
    case PCRE2_ERROR_PATTERN_TOO_LARGE:
    case PCRE2_ERROR_PATTERN_TOO_COMPLICATED:
    case PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP:
      return trilha_error_set(err, TRILHA_LIMIT, "SCHEMA_PATTERN_LIMIT",
                              "the pattern is too large once its repetitions are written out");
    case PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH:
    case PCRE2_ERROR_LOOKBEHIND_TOO_COMPLICATED:
    case PCRE2_ERROR_LOOKBEHIND_TOO_LONG:
      return trilha_error_set(err, TRILHA_INVALID, "SCHEMA_PATTERN",
                              "the pattern looks behind by a variable length, which is not supported");
    case PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY:
      return trilha_error_set(err, TRILHA_INVALID, "SCHEMA_PATTERN",
                              "the pattern names a Unicode property that is not supported");
    default:
      (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
      return trilha_error_set(err, TRILHA_INVALID, "SCHEMA_PATTERN", "the pattern is not supported: %s", text);
  }
}

trilha_status trilha_engine_compile(const trilha_items *items, size_t *work, trilha_engine **ret_engine,
                                    trilha_error *err) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, REWRITTEN_MAX);
  trilha_status status = rewrite(items, &text, err);
  if (status == TRILHA_OK) status = trilha_pcre2_load(err);
  if (status != TRILHA_OK) return status;
  trilha_engine *engine = calloc(1, sizeof *engine);
  if (engine == NULL) return trilha_error_no_memory(err);
  int code = 0;
  PCRE2_SIZE at = 0;
  engine->code =
      pcre2_compile((PCRE2_SPTR)text.data, text.size,
                    PCRE2_UTF | PCRE2_ANCHORED | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
  if (engine->code == NULL) {
    free(engine);
    return compile_error(code, err);
  }
  if (*work >= TRILHA_PATTERN_JIT_WORK) {
    *work -= TRILHA_PATTERN_JIT_WORK;
    (void)pcre2_jit_compile(engine->code, PCRE2_JIT_COMPLETE); /* where it cannot, the interpreter does */
  }
  *ret_engine = engine;
  return TRILHA_OK;
}

void trilha_engine_free(trilha_engine *engine) {
  if (engine == NULL) return;
  pcre2_code_free(engine->code);
  free(engine);
}

size_t trilha_engine_size(const trilha_engine *engine) {
  size_t code = 0, jit = 0;
  (void)pcre2_pattern_info(engine->code, PCRE2_INFO_SIZE, &code);
  (void)pcre2_pattern_info(engine->code, PCRE2_INFO_JITSIZE, &jit);
  return sizeof *engine + code + jit;
}

/* --- matching ------------------------------------------------------------------------------------- */

trilha_status trilha_pattern_scratch_new(trilha_pattern_scratch **ret_scratch, trilha_error *err) {
  trilha_pattern_scratch *scratch = calloc(1, sizeof *scratch);
  if (scratch == NULL) return trilha_error_no_memory(err);
  *ret_scratch = scratch;
  return TRILHA_OK;
}

void trilha_pattern_scratch_free(trilha_pattern_scratch *scratch) {
  if (scratch == NULL) return;
  if (scratch->context != NULL) pcre2_match_context_free(scratch->context); /* PCRE2 need not be there */
  if (scratch->data != NULL) pcre2_match_data_free(scratch->data);
  if (scratch->stack != NULL) pcre2_jit_stack_free(scratch->stack);
  free(scratch);
}

/* Without a JIT stack of its own the engine still works, on 32 kB of the thread's. */
static bool prepare(trilha_pattern_scratch *scratch) {
  if (scratch->context != NULL && scratch->data != NULL) return true;
  if (scratch->context == NULL) {
    scratch->context = pcre2_match_context_create(NULL);
    if (scratch->context == NULL) return false;
    (void)pcre2_set_depth_limit(scratch->context, TRILHA_PATTERN_ENGINE_DEPTH_MAX);
    (void)pcre2_set_heap_limit(scratch->context, TRILHA_PATTERN_ENGINE_HEAP_KIB);
    scratch->stack = pcre2_jit_stack_create(TRILHA_PATTERN_JIT_STACK_START, TRILHA_PATTERN_JIT_STACK_MAX, NULL);
    if (scratch->stack != NULL) pcre2_jit_stack_assign(scratch->context, NULL, scratch->stack);
  }
  if (scratch->data == NULL) scratch->data = pcre2_match_data_create(1, NULL);
  return scratch->data != NULL;
}

trilha_match trilha_engine_match(const trilha_engine *engine, trilha_text subject, trilha_pattern_scratch *scratch) {
  if (subject.size > TRILHA_PATTERN_ENGINE_SUBJECT_MAX || !prepare(scratch)) return TRILHA_MATCH_UNDECIDED;
  (void)pcre2_set_match_limit(
      scratch->context, TRILHA_PATTERN_ENGINE_STEPS + TRILHA_PATTERN_ENGINE_STEPS_A_BYTE * (uint32_t)subject.size);
  PCRE2_SPTR data = (PCRE2_SPTR)(subject.data == NULL ? "" : subject.data);
  int found = pcre2_match(engine->code, data, subject.size, 0, PCRE2_NO_UTF_CHECK, scratch->data, scratch->context);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT)
    found = pcre2_match(engine->code, data, subject.size, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scratch->data,
                        scratch->context);
  if (found >= 0) return TRILHA_MATCH_YES;
  return found == PCRE2_ERROR_NOMATCH ? TRILHA_MATCH_NO : TRILHA_MATCH_UNDECIDED;
}
