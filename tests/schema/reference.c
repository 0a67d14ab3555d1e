/* The judgement: what each keyword of the 2020-12 validation and applicator vocabularies says about one value. */
#include "reference_internal.h"
#include "schema/format.h"
#include "schema/pattern.h"

static outcome apply(reference *r, place at, const trilha_json_value *v);

void reference_give_up(reference *r) {
  r->undecided = true;
}

/* --- outcomes ---------------------------------------------------------------------------------------------------- */

static outcome fresh(reference *r, const trilha_json_value *v) {
  outcome o = {.valid = true};
  o.count = v->type >= TRILHA_JSON_ARRAY ? v->size : 0;
  o.seen = trilha_arena_zalloc(&r->memory, o.count + 1);
  if (o.seen == NULL) reference_give_up(r);
  return o;
}

/* A subschema that must hold: what it evaluated counts, since otherwise all of it is lost anyway. */
static void join(outcome *o, outcome part) {
  o->valid = o->valid && part.valid;
  for (uint32_t i = 0; part.valid && i < o->count && o->seen != NULL && part.seen != NULL; i++)
    o->seen[i] |= part.seen[i];
}

static bool holds(reference *r, place at, const trilha_json_value *schema, const trilha_json_value *v) {
  return apply(r, reference_place_of(r, at, schema), v).valid;
}

static void must(outcome *o, bool condition) {
  o->valid = o->valid && condition;
}

/* --- values ------------------------------------------------------------------------------------------------------ */

static bool same(reference *r, const trilha_json_value *a, const trilha_json_value *b);

static bool same_object(reference *r, const trilha_json_value *a, const trilha_json_value *b) {
  const trilha_json_value *key = a + 1;
  for (uint32_t i = 0; i < a->size; i++, key = trilha_json_next(key + 1)) {
    const trilha_json_value *other = trilha_json_member_text(b, trilha_json_text(key));
    if (other == NULL || !same(r, key + 1, other)) return false;
  }
  return true;
}

static bool same(reference *r, const trilha_json_value *a, const trilha_json_value *b) {
  if (++r->steps > REFERENCE_STEPS_MAX) reference_give_up(r);
  if (r->undecided || a->type != b->type) return false;
  if (a->type == TRILHA_JSON_NUMBER) return trilha_number_compare(trilha_json_text(a), trilha_json_text(b)) == 0;
  if (a->type == TRILHA_JSON_STRING) return trilha_text_equal(trilha_json_text(a), trilha_json_text(b));
  if (a->type < TRILHA_JSON_ARRAY) return true;
  if (a->size != b->size) return false;
  if (a->type == TRILHA_JSON_OBJECT) return same_object(r, a, b);
  const trilha_json_value *x = a + 1, *y = b + 1;
  for (uint32_t i = 0; i < a->size; i++, x = trilha_json_next(x), y = trilha_json_next(y)) {
    if (!same(r, x, y)) return false;
  }
  return true;
}

static bool is_of_type(reference *r, const trilha_json_value *v, const trilha_json_value *name) {
  if (name->type != TRILHA_JSON_STRING) reference_give_up(r);
  if (trilha_json_is(name, "integer"))
    return v->type == TRILHA_JSON_NUMBER && trilha_number_is_integer(trilha_json_text(v));
  return trilha_json_is(name, trilha_json_type_name((trilha_json_type)v->type));
}

/* <0, 0, >0: a count against the number of a keyword. */
static int count_against(size_t count, const trilha_json_value *bound) {
  char text[32];
  int size = snprintf(text, sizeof text, "%zu", count);
  return trilha_number_compare((trilha_text){text, (size_t)size}, trilha_json_text(bound));
}

static bool matches(reference *r, trilha_text pattern, trilha_text subject) {
  trilha_pattern *compiled = NULL;
  trilha_pattern_scratch *scratch = NULL;
  trilha_match match = TRILHA_MATCH_UNDECIDED;
  if (trilha_pattern_compile(pattern, NULL, &compiled, NULL) == TRILHA_OK &&
      trilha_pattern_scratch_new(&scratch, NULL) == TRILHA_OK)
    match = trilha_pattern_match(compiled, subject, scratch);
  if (match == TRILHA_MATCH_UNDECIDED) reference_give_up(r);
  trilha_pattern_scratch_free(scratch);
  trilha_pattern_free(compiled);
  return match == TRILHA_MATCH_YES;
}

/* --- assertions: validation, section 6 --------------------------------------------------------------------------- */

static const trilha_json_value *keyword(reference *r, place at, const char *name, unsigned types) {
  const trilha_json_value *found = trilha_json_member(at.schema, name);
  if (found != NULL && (types & 1U << found->type) == 0) reference_give_up(r);
  return r->undecided ? NULL : found;
}

static void any_type(reference *r, place at, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *k = trilha_json_member(at.schema, "type");
  if (k != NULL && k->type == TRILHA_JSON_ARRAY) {
    bool any = false;
    const trilha_json_value *name = k + 1;
    for (uint32_t i = 0; i < k->size; i++, name = trilha_json_next(name)) any = is_of_type(r, v, name) || any;
    must(o, any);
  } else if (k != NULL) {
    must(o, is_of_type(r, v, k));
  }
  if ((k = keyword(r, at, "enum", ARRAY)) != NULL) {
    bool any = false;
    const trilha_json_value *one = k + 1;
    for (uint32_t i = 0; i < k->size; i++, one = trilha_json_next(one)) any = same(r, one, v) || any;
    must(o, any);
  }
  if ((k = trilha_json_member(at.schema, "const")) != NULL) must(o, same(r, k, v));
}

static void number(reference *r, place at, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *k;
  trilha_text n = trilha_json_text(v);
  if (v->type != TRILHA_JSON_NUMBER) return;
  if ((k = keyword(r, at, "multipleOf", NUMBER)) != NULL) {
    int multiple = trilha_number_is_multiple(n, trilha_json_text(k), REFERENCE_STEPS_MAX);
    if (multiple < 0) reference_give_up(r);
    must(o, multiple != 0);
  }
  if ((k = keyword(r, at, "maximum", NUMBER)) != NULL) must(o, trilha_number_compare(n, trilha_json_text(k)) <= 0);
  if ((k = keyword(r, at, "exclusiveMaximum", NUMBER)) != NULL)
    must(o, trilha_number_compare(n, trilha_json_text(k)) < 0);
  if ((k = keyword(r, at, "minimum", NUMBER)) != NULL) must(o, trilha_number_compare(n, trilha_json_text(k)) >= 0);
  if ((k = keyword(r, at, "exclusiveMinimum", NUMBER)) != NULL)
    must(o, trilha_number_compare(n, trilha_json_text(k)) > 0);
}

static void sized(reference *r, place at, outcome *o, size_t count, const char *least, const char *most) {
  const trilha_json_value *k;
  if ((k = keyword(r, at, least, NUMBER)) != NULL) must(o, count_against(count, k) >= 0);
  if ((k = keyword(r, at, most, NUMBER)) != NULL) must(o, count_against(count, k) <= 0);
}

static void string(reference *r, place at, const trilha_json_value *v, outcome *o) {
  if (v->type != TRILHA_JSON_STRING) return;
  sized(r, at, o, trilha_utf8_length(v->u.text, v->size), "minLength", "maxLength");
  const trilha_json_value *k = keyword(r, at, "pattern", STRING);
  if (k != NULL) must(o, matches(r, trilha_json_text(k), trilha_json_text(v)));
}

static void format(reference *r, place at, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *k = keyword(r, at, "format", STRING);
  if (k == NULL || v->type != TRILHA_JSON_STRING) return;
  trilha_format_check check = trilha_format_find(trilha_json_text(k));
  if (check != NULL) must(o, check(trilha_json_text(v)));
}

static void array(reference *r, place at, const trilha_json_value *v, outcome *o) {
  if (v->type != TRILHA_JSON_ARRAY) return;
  sized(r, at, o, v->size, "minItems", "maxItems");
  const trilha_json_value *k = trilha_json_member(at.schema, "uniqueItems");
  if (k == NULL || k->type != TRILHA_JSON_TRUE) return;
  const trilha_json_value *one = v + 1;
  for (uint32_t i = 0; i < v->size; i++, one = trilha_json_next(one)) {
    const trilha_json_value *other = trilha_json_next(one);
    for (uint32_t j = i + 1; j < v->size; j++, other = trilha_json_next(other)) must(o, !same(r, one, other));
  }
}

static void all_present(reference *r, const trilha_json_value *names, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *name = names + 1;
  for (uint32_t i = 0; i < names->size; i++, name = trilha_json_next(name)) {
    if (name->type != TRILHA_JSON_STRING)
      reference_give_up(r);
    else
      must(o, trilha_json_member_text(v, trilha_json_text(name)) != NULL);
  }
}

static void object(reference *r, place at, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *k;
  if (v->type != TRILHA_JSON_OBJECT) return;
  sized(r, at, o, v->size, "minProperties", "maxProperties");
  if ((k = keyword(r, at, "required", ARRAY)) != NULL) all_present(r, k, v, o);
  if ((k = keyword(r, at, "dependentRequired", OBJECT)) == NULL) return;
  const trilha_json_value *name = k + 1;
  for (uint32_t i = 0; i < k->size; i++, name = trilha_json_next(name + 1)) {
    if (name[1].type != TRILHA_JSON_ARRAY)
      reference_give_up(r);
    else if (trilha_json_member_text(v, trilha_json_text(name)) != NULL)
      all_present(r, name + 1, v, o);
  }
}

/* --- applicators in place: core, section 10.2 -------------------------------------------------------------------- */

static uint32_t branches(reference *r, place at, const char *name, const trilha_json_value *v, outcome *o,
                         uint32_t *ret_count) {
  const trilha_json_value *k = keyword(r, at, name, ARRAY);
  uint32_t held = 0;
  *ret_count = 0;
  if (k == NULL) return 0;
  const trilha_json_value *branch = k + 1;
  for (uint32_t i = 0; i < k->size; i++, branch = trilha_json_next(branch)) {
    outcome part = apply(r, reference_place_of(r, at, branch), v);
    held += part.valid;
    if (part.valid) join(o, part);
  }
  *ret_count = k->size;
  return held;
}

static void combined(reference *r, place at, const trilha_json_value *v, outcome *o) {
  uint32_t count, held = branches(r, at, "allOf", v, o, &count);
  must(o, held == count);
  held = branches(r, at, "anyOf", v, o, &count);
  must(o, count == 0 || held > 0);
  held = branches(r, at, "oneOf", v, o, &count);
  must(o, count == 0 || held == 1);
  const trilha_json_value *k = keyword(r, at, "not", SCHEMA);
  if (k != NULL) must(o, !holds(r, at, k, v));
}

static void conditional(reference *r, place at, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *test = keyword(r, at, "if", SCHEMA);
  if (test == NULL) return;
  outcome answer = apply(r, reference_place_of(r, at, test), v);
  const trilha_json_value *next = keyword(r, at, answer.valid ? "then" : "else", SCHEMA);
  if (answer.valid) join(o, answer);
  if (next != NULL) join(o, apply(r, reference_place_of(r, at, next), v));
}

static void dependent(reference *r, place at, const char *name, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *k = keyword(r, at, name, OBJECT);
  if (k == NULL || v->type != TRILHA_JSON_OBJECT) return;
  const trilha_json_value *key = k + 1;
  for (uint32_t i = 0; i < k->size; i++, key = trilha_json_next(key + 1)) {
    if (trilha_json_member_text(v, trilha_json_text(key)) == NULL) continue;
    if (key[1].type == TRILHA_JSON_ARRAY)
      all_present(r, key + 1, v, o);
    else
      join(o, apply(r, reference_place_of(r, at, key + 1), v));
  }
}

static void referred(reference *r, place at, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *k = keyword(r, at, "$ref", STRING);
  if (k != NULL) join(o, apply(r, reference_follow(r, at, trilha_json_text(k), false), v));
  k = keyword(r, at, "$dynamicRef", STRING);
  if (k != NULL) join(o, apply(r, reference_follow(r, at, trilha_json_text(k), true), v));
}

/* --- applicators to children: core, section 10.3 ----------------------------------------------------------------- */

static void child(reference *r, place at, const trilha_json_value *schema, const trilha_json_value *v, uint32_t i,
                  outcome *o) {
  must(o, holds(r, at, schema, v));
  if (o->seen != NULL) o->seen[i] = true;
}

static void items(reference *r, place at, const trilha_json_value *v, outcome *o) {
  if (v->type != TRILHA_JSON_ARRAY) return;
  const trilha_json_value *prefix = keyword(r, at, "prefixItems", ARRAY), *rest = keyword(r, at, "items", SCHEMA);
  const trilha_json_value *schema = prefix == NULL ? NULL : prefix + 1, *item = v + 1;
  for (uint32_t i = 0; i < v->size; i++, item = trilha_json_next(item)) {
    if (prefix != NULL && i < prefix->size) {
      child(r, at, schema, item, i, o);
      schema = trilha_json_next(schema);
    } else if (rest != NULL) {
      child(r, at, rest, item, i, o);
    }
  }
}

static void contains(reference *r, place at, const trilha_json_value *v, outcome *o) {
  const trilha_json_value *k = keyword(r, at, "contains", SCHEMA), *item = v + 1, *bound;
  if (k == NULL || v->type != TRILHA_JSON_ARRAY) return;
  size_t found = 0;
  for (uint32_t i = 0; i < v->size; i++, item = trilha_json_next(item)) {
    if (!holds(r, at, k, item)) continue;
    found++;
    if (o->seen != NULL) o->seen[i] = true;
  }
  /* The bounds belong to the validation vocabulary; without it at least one item has to match. */
  bool bounds = (at.vocabularies & VALIDATION) != 0;
  bound = bounds ? keyword(r, at, "minContains", NUMBER) : NULL;
  must(o, bound == NULL ? found > 0 : count_against(found, bound) >= 0);
  bound = bounds ? keyword(r, at, "maxContains", NUMBER) : NULL;
  if (bound != NULL) must(o, count_against(found, bound) <= 0);
}

/* Whether a name of `properties` or a pattern of `patternProperties` applies to this member, and what follows. */
static bool listed(reference *r, place at, const trilha_json_value *key, uint32_t i, outcome *o) {
  const trilha_json_value *properties = keyword(r, at, "properties", OBJECT);
  const trilha_json_value *schema = trilha_json_member_text(properties, trilha_json_text(key));
  bool found = schema != NULL;
  if (found) child(r, at, schema, key + 1, i, o);
  const trilha_json_value *patterns = keyword(r, at, "patternProperties", OBJECT);
  if (patterns == NULL) return found;
  const trilha_json_value *pattern = patterns + 1;
  for (uint32_t n = 0; n < patterns->size; n++, pattern = trilha_json_next(pattern + 1)) {
    if (!matches(r, trilha_json_text(pattern), trilha_json_text(key))) continue;
    child(r, at, pattern + 1, key + 1, i, o);
    found = true;
  }
  return found;
}

static void members(reference *r, place at, const trilha_json_value *v, outcome *o) {
  if (v->type != TRILHA_JSON_OBJECT) return;
  const trilha_json_value *additional = keyword(r, at, "additionalProperties", SCHEMA);
  const trilha_json_value *names = keyword(r, at, "propertyNames", SCHEMA), *key = v + 1;
  for (uint32_t i = 0; i < v->size; i++, key = trilha_json_next(key + 1)) {
    if (!listed(r, at, key, i, o) && additional != NULL) child(r, at, additional, key + 1, i, o);
    if (names != NULL) must(o, holds(r, at, names, key));
  }
}

/* core, section 11: what nothing before evaluated. */
static void unevaluated(reference *r, place at, const trilha_json_value *v, outcome *o) {
  bool is_object = v->type == TRILHA_JSON_OBJECT;
  if (!is_object && v->type != TRILHA_JSON_ARRAY) return;
  const trilha_json_value *k = keyword(r, at, is_object ? "unevaluatedProperties" : "unevaluatedItems", SCHEMA);
  if (k == NULL) return;
  const trilha_json_value *one = v + 1;
  for (uint32_t i = 0; i < v->size; i++) {
    const trilha_json_value *value = is_object ? one + 1 : one;
    if (o->seen != NULL && !o->seen[i]) child(r, at, k, value, i, o);
    one = trilha_json_next(value);
  }
}

/* --- one subschema, one value ------------------------------------------------------------------------------------- */

static void every_keyword(reference *r, place at, const trilha_json_value *v, outcome *o) {
  if ((at.vocabularies & VALIDATION) != 0) {
    any_type(r, at, v, o);
    number(r, at, v, o);
    string(r, at, v, o);
    array(r, at, v, o);
    object(r, at, v, o);
  }
  if ((at.vocabularies & ASSERTED_FORMAT) != 0 || ((at.vocabularies & FORMAT) != 0 && r->options->assert_format))
    format(r, at, v, o);
  referred(r, at, v, o);
  if ((at.vocabularies & APPLICATOR) != 0) {
    combined(r, at, v, o);
    conditional(r, at, v, o);
    dependent(r, at, "dependentSchemas", v, o);
    dependent(r, at, "dependencies", v, o);
    items(r, at, v, o);
    contains(r, at, v, o);
    members(r, at, v, o);
  }
  if ((at.vocabularies & UNEVALUATED) != 0) unevaluated(r, at, v, o);
}

static outcome apply(reference *r, place at, const trilha_json_value *v) {
  outcome o = fresh(r, v);
  if (++r->steps > REFERENCE_STEPS_MAX || r->depth >= REFERENCE_DEPTH_MAX) reference_give_up(r);
  if (r->undecided || at.schema == NULL) return o;
  if (at.schema->type == TRILHA_JSON_FALSE) o.valid = false;
  if (at.schema->type == TRILHA_JSON_TRUE || at.schema->type == TRILHA_JSON_FALSE) return o;
  if (at.schema->type != TRILHA_JSON_OBJECT) {
    reference_give_up(r);
    return o;
  }
  r->scope[r->depth++] = at.resource;
  every_keyword(r, at, v, &o);
  r->depth--;
  return o;
}

trilha_verdict reference_verdict(const trilha_json_document *schema, const trilha_json_document *instance,
                                 const reference_options *options) {
  reference *r = calloc(1, sizeof *r);
  if (r == NULL) return TRILHA_VERDICT_UNDECIDED;
  r->options = options;
  place root = reference_open(r, schema);
  bool valid = apply(r, root, instance->values).valid;
  trilha_verdict verdict = r->undecided ? TRILHA_VERDICT_UNDECIDED
                           : valid      ? TRILHA_VERDICT_VALID
                                        : TRILHA_VERDICT_INVALID;
  reference_close(r);
  return verdict;
}
