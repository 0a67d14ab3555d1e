/* redaction: one payload. The annotation pass marks values with their rules in an array indexed by position; one walk
 * over the flat document then writes what stays. Work and memory follow the size of the document, whatever its shape:
 * no recursion, one allocation for marks and frames.
 *
 * A container is written when its first leaf stays and taken back when none did: an empty object under a name that no
 * rule vouches for would still tell the name, and a name may be somebody's CPF. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "json/number.h"
#include "redaction/redaction_internal.h"

/* A mark: the rule in the low five bits, 0 for none. */
enum { MARK_RULE = 31, MARK_UNLISTED = 64 };

typedef struct frame {
  size_t at, end;   /* its value and the first one behind it */
  size_t key;       /* the key it stands under, or SIZE_MAX in an array and for the root */
  size_t out_start; /* size of the output before it */
  bool any;         /* something inside was written */
} frame;

typedef struct redaction {
  const trilha_json_value *values;
  const trilha_json_keys *schema_keys;
  bool keys_are_schemas; /* the document was read with schema_keys: keys carry their numbers */
  uint8_t *marks;
  frame *frames;
  size_t depth;
  bool keep_unruled; /* the root says "manter": leaves without a rule stay */
  const trilha_keyring *keyring;
  trilha_token_work work;
  trilha_buffer pointer;
  trilha_buffer *out;
  trilha_redaction_counts counts;
  trilha_redaction_unruled unruled;
  void *user;
} redaction;

/* --- marking ---------------------------------------------------------------------------------------------- */

/* Several subschemas that agree are one rule; any that disagree remove. */
static trilha_status mark(void *user, const trilha_annotation *annotation) {
  redaction *r = user;
  size_t at = (size_t)(annotation->instance - r->values);
  uint8_t rule = trilha_rule_of(annotation->rule);
  if (rule == TRILHA_RULE_NONE) rule = TRILHA_RULE_REMOVE; /* refused at registration; raw SQL may have stored it */
  if (at == 0 && rule == TRILHA_RULE_KEEP) {
    r->keep_unruled = true;
    return TRILHA_OK;
  }
  uint8_t *m = &r->marks[at];
  uint8_t before = *m & MARK_RULE;
  if (before != TRILHA_RULE_NONE && before != rule) rule = TRILHA_RULE_REMOVE;
  *m = (uint8_t)((*m & ~MARK_RULE) | rule | (annotation->unlisted ? MARK_UNLISTED : 0));
  return TRILHA_OK;
}

static uint8_t rule_at(const redaction *r, size_t at) {
  uint8_t rule = r->marks[at] & MARK_RULE;
  bool unlisted = (r->marks[at] & MARK_UNLISTED) != 0;
  if (r->keep_unruled) {
    if (rule == TRILHA_RULE_NONE) return TRILHA_RULE_KEEP;
    return unlisted && rule != TRILHA_RULE_KEEP ? TRILHA_RULE_REMOVE : rule;
  }
  return unlisted ? TRILHA_RULE_REMOVE : rule;
}

/* A coordinate stays only when its partner in the same object is rounded alike: branches may have given the two
 * different rules, which registration cannot see. */
static bool coordinate_alone(const redaction *r, size_t key, uint8_t rule) {
  trilha_text name = trilha_json_text(&r->values[key]);
  if (name.size == 0 || (name.data[0] | 0x20) != 'l' || trilha_coordinate_partner(name, 0).data == NULL) return false;
  const frame *object = &r->frames[r->depth - 1];
  bool ruled = (r->marks[key + 1] & MARK_RULE) != TRILHA_RULE_NONE;
  const trilha_json_value *at = &r->values[object->at + 1], *end = &r->values[object->end];
  for (; at < end; at = trilha_json_next(at + 1)) {
    if (at[1].type >= TRILHA_JSON_ARRAY) continue;
    for (size_t n = 0;; n++) {
      trilha_text partner = trilha_coordinate_partner(name, n);
      if (partner.data == NULL) break;
      if (!trilha_coordinate_names_equal(trilha_json_text(at), partner)) continue;
      size_t other = (size_t)(at + 1 - r->values);
      bool other_ruled = (r->marks[other] & MARK_RULE) != TRILHA_RULE_NONE;
      if (!ruled && !other_ruled) continue; /* kept whole on purpose by the root */
      if (!trilha_rule_rounds(rule) || rule_at(r, other) != rule) return true;
    }
  }
  return false;
}

/* --- pointers ---------------------------------------------------------------------------------------------- */

static void add_step(redaction *r, size_t key, bool masked) {
  trilha_buffer_add_char(&r->pointer, '/');
  if (key == SIZE_MAX) {
    trilha_buffer_add_char(&r->pointer, '*');
    return;
  }
  const trilha_json_value *name = &r->values[key];
  bool listed = true;
  if (masked)
    listed =
        r->keys_are_schemas ? name->key != 0 : trilha_json_keys_find(r->schema_keys, name->u.text, name->size) != 0;
  if (listed)
    trilha_json_pointer_add(&r->pointer, trilha_json_text(name));
  else
    trilha_buffer_add_char(&r->pointer, '*');
}

/* The path of a leaf in the innermost open container; array positions are "*". */
static trilha_text pointer_of(redaction *r, size_t key, bool masked) {
  trilha_buffer_clear(&r->pointer);
  for (size_t i = 1; i < r->depth; i++) add_step(r, r->frames[i].key, masked);
  add_step(r, key, masked);
  return trilha_buffer_text(&r->pointer);
}

/* --- writing ----------------------------------------------------------------------------------------------- */

static void begin_item(redaction *r, size_t key) {
  if (r->frames[r->depth - 1].any) trilha_buffer_add_char(r->out, ',');
  if (key == SIZE_MAX) return;
  trilha_json_write_string(r->out, trilha_json_text(&r->values[key]));
  trilha_buffer_add_char(r->out, ':');
}

static trilha_status write_hashed(redaction *r, const trilha_json_value *leaf, size_t key, trilha_error *err) {
  if (leaf->type == TRILHA_JSON_STRING && trilha_token_is(trilha_json_text(leaf))) { /* never hashed twice */
    trilha_json_write(r->out, leaf);
    return TRILHA_OK;
  }
  if (r->keyring == NULL)
    return trilha_error_set(err, TRILHA_INVALID, "REDACTION_KEY_MISSING",
                            "a rule says hash and no redaction key was given: open with a keyring");
  trilha_buffer_add_char(r->out, '"');
  trilha_text pointer = pointer_of(r, key, false);
  trilha_status status = trilha_buffer_check(&r->pointer, err);
  if (status == TRILHA_OK)
    status = trilha_token_write(&r->work, trilha_keyring_newest(r->keyring), pointer, leaf, r->out, err);
  trilha_buffer_add_char(r->out, '"');
  return status;
}

static void count_removed(redaction *r, size_t at, size_t key) {
  r->counts.removed++;
  if ((r->marks[at] & MARK_RULE) != TRILHA_RULE_NONE) return;
  r->counts.removed_without_rule++;
  if (r->unruled != NULL) r->unruled(r->user, pointer_of(r, key, true));
}

static trilha_status redact_leaf(redaction *r, size_t at, size_t key, trilha_error *err) {
  const trilha_json_value *leaf = &r->values[at];
  uint8_t rule = rule_at(r, at);
  if (trilha_rule_rounds(rule) && leaf->type != TRILHA_JSON_NUMBER) rule = TRILHA_RULE_REMOVE;
  if (rule == TRILHA_RULE_NONE || rule == TRILHA_RULE_REMOVE || (key != SIZE_MAX && coordinate_alone(r, key, rule))) {
    count_removed(r, at, key);
    return TRILHA_OK;
  }
  begin_item(r, key);
  r->frames[r->depth - 1].any = true;
  if (rule == TRILHA_RULE_KEEP) {
    r->counts.kept++;
    trilha_json_write(r->out, leaf);
    return TRILHA_OK;
  }
  if (rule == TRILHA_RULE_HASH) {
    r->counts.hashed++;
    return write_hashed(r, leaf, key, err);
  }
  r->counts.rounded++;
  return trilha_number_write_rounded(r->out, trilha_json_text(leaf), (unsigned)(rule - TRILHA_RULE_ROUND), err);
}

/* --- containers -------------------------------------------------------------------------------------------- */

static void open_container(redaction *r, size_t at, size_t key) {
  size_t out_start = r->out->size;
  if (r->depth != 0) begin_item(r, key);
  r->frames[r->depth++] = (frame){at, at + (size_t)r->values[at].u.extent, key, out_start, false};
  trilha_buffer_add_char(r->out, r->values[at].type == TRILHA_JSON_OBJECT ? '{' : '[');
}

static void close_container(redaction *r) {
  const frame *f = &r->frames[--r->depth];
  if (!f->any && r->depth != 0 && !r->keep_unruled) {
    if (r->out->failed == TRILHA_OK) {
      r->out->size = f->out_start;
      r->out->data[f->out_start] = '\0';
    }
    return;
  }
  trilha_buffer_add_char(r->out, r->values[f->at].type == TRILHA_JSON_OBJECT ? '}' : ']');
  if (r->depth != 0) r->frames[r->depth - 1].any = true;
}

/* A container that goes whole, because a rule on it says so. Keys are values of the flat document, but no leaves. */
static void remove_container(redaction *r, size_t at) {
  const trilha_json_value *v = &r->values[at], *end = trilha_json_next(v);
  uint64_t scalars = 0, keys = 0;
  for (; v < end; v++) {
    scalars += v->type < TRILHA_JSON_ARRAY;
    keys += v->type == TRILHA_JSON_OBJECT ? v->size : 0;
  }
  r->counts.removed += (uint32_t)(scalars - keys);
}

static bool container_goes(const redaction *r, size_t at) {
  return (r->marks[at] & MARK_RULE) != TRILHA_RULE_NONE && rule_at(r, at) == TRILHA_RULE_REMOVE;
}

static trilha_status walk(redaction *r, trilha_error *err) {
  open_container(r, 0, SIZE_MAX);
  size_t at = 1;
  while (r->depth != 0) {
    const frame *top = &r->frames[r->depth - 1];
    if (at == top->end) {
      close_container(r);
      continue;
    }
    size_t key = r->values[top->at].type == TRILHA_JSON_OBJECT ? at++ : SIZE_MAX;
    if (r->values[at].type < TRILHA_JSON_ARRAY) {
      trilha_status status = redact_leaf(r, at, key, err);
      if (status != TRILHA_OK) return status;
      at++;
    } else if (container_goes(r, at)) {
      remove_container(r, at);
      at += (size_t)r->values[at].u.extent;
    } else {
      open_container(r, at++, key);
    }
    if (r->out->failed != TRILHA_OK) break;
  }
  return trilha_buffer_check(r->out, err);
}

/* The root counts as the payload itself: "remover" there leaves an empty object. */
static trilha_status write_redacted(redaction *r, trilha_error *err) {
  if (!container_goes(r, 0)) return walk(r, err);
  remove_container(r, 0);
  trilha_buffer_add_string(r->out, r->values[0].type == TRILHA_JSON_OBJECT ? "{}" : "[]");
  return trilha_buffer_check(r->out, err);
}

static trilha_status run(redaction *r, const trilha_schema *schema, const trilha_json_document *document,
                         const trilha_json_keys *keys, trilha_schema_scratch *scratch, trilha_error *err) {
  size_t frames = ((size_t)document->depth + 1) * sizeof(frame);
  char *memory = calloc(1, frames + document->count);
  if (memory == NULL) return trilha_error_no_memory(err);
  r->frames = (frame *)(void *)memory;
  r->marks = (uint8_t *)memory + frames;
  trilha_status status = trilha_schema_annotate(schema, document, keys, scratch, mark, r, err);
  if (status == TRILHA_OK) status = write_redacted(r, err);
  free(memory);
  return status;
}

trilha_status trilha_redact(const trilha_schema *schema, const trilha_json_document *document,
                            const trilha_json_keys *keys, trilha_schema_scratch *scratch, trilha_text tipo,
                            const trilha_keyring *keyring, trilha_buffer *out, trilha_redaction_counts *ret_counts,
                            trilha_redaction_unruled unruled, void *user, trilha_error *err) {
  TRILHA_ASSERT(document->count != 0);
  if (document->values[0].type < TRILHA_JSON_ARRAY)
    return trilha_error_set(err, TRILHA_INVALID, "PAYLOAD_NOT_OBJECT", "only an object or array can be redacted");
  redaction r = {.values = document->values,
                 .schema_keys = trilha_schema_keys(schema),
                 .keyring = keyring,
                 .out = out,
                 .unruled = unruled,
                 .user = user};
  r.keys_are_schemas = keys != NULL && keys == r.schema_keys;
  trilha_token_work_init(&r.work, tipo);
  size_t before = out->size, bound = out->max, ceiling = before + TRILHA_REDACTED_BYTES_MAX;
  out->max = bound == 0 || bound > ceiling ? ceiling : bound;
  trilha_status status = run(&r, schema, document, keys, scratch, err);
  out->max = bound;
  trilha_token_work_done(&r.work);
  trilha_buffer_done(&r.pointer);
  if (status == TRILHA_OK && ret_counts != NULL) *ret_counts = r.counts;
  return status;
}
