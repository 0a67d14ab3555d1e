/* schema/run_leaves: checks of one value, a part of run_template.h. Room: schema, inside. */

static inline bool type_passes(uint8_t types, const trilha_json_value *v) {
  if ((types >> v->type & 1) != 0) return true;
  if ((types & TYPE_INTEGER) == 0 || v->type != TRILHA_JSON_NUMBER) return false;
  return (v->flags & TRILHA_JSON_INTEGER) != 0 || trilha_schema_is_integer(v);
}

/* The length of text that is not all ASCII, counted only where its bytes leave a doubt. */
static bool length_passes(schema_run *run, const schema_string *s, const trilha_json_value *v) {
  uint32_t length = v->size;
  if (length <= s->max && s->min <= length / 4) return true; /* at most four bytes a character */
  run->steps -= length / 16;
  length = (uint32_t)trilha_utf8_length(v->u.text, v->size);
  return length >= s->min && length <= s->max;
}

static SCHEMA_APART schema_result check_string_further(schema_run *run, const schema_string *s,
                                                       const trilha_json_value *v) {
  if ((v->flags & TRILHA_JSON_ASCII) == 0 && !length_passes(run, s, v)) return RESULT_FAIL;
  if ((s->has & STRING_HAS_PATTERN) != 0) {
    run->steps -= v->size / 8;
    trilha_match match = trilha_pattern_match(s->pattern, trilha_json_text(v), run->scratch->patterns);
    if (match != TRILHA_MATCH_YES) return match == TRILHA_MATCH_NO ? RESULT_FAIL : RESULT_UNDECIDED;
  }
  if ((s->has & STRING_HAS_FORMAT) != 0) {
    run->steps -= v->size / 8;
    if (!s->format(trilha_json_text(v))) return RESULT_FAIL;
  }
  return RESULT_PASS;
}

static inline schema_result check_string(schema_run *run, const schema_string *s, const trilha_json_value *v) {
  if (v->type != TRILHA_JSON_STRING) return RESULT_PASS;
  if (v->size < s->min) return RESULT_FAIL; /* never more characters than bytes */
  bool ascii = (v->flags & TRILHA_JSON_ASCII) != 0;
  if (ascii && v->size > s->max) return RESULT_FAIL;
  bool decided = ascii || (v->size <= s->max && s->min <= v->size / 4);
  if (decided && (s->has & (STRING_HAS_PATTERN | STRING_HAS_FORMAT)) == 0) return RESULT_PASS;
  return check_string_further(run, s, v);
}

static inline bool bound_passes(const schema_bound *bound, int64_t m, uint32_t scale) {
  if (bound->kind == BOUND_MULTIPLE) return trilha_schema_decimal_multiple(m, scale, bound->at.m, bound->at.scale);
  int order = trilha_schema_decimal_compare(m, scale, bound->at.m, bound->at.scale);
  switch (bound->kind) {
    case BOUND_MIN:
      return order >= 0;
    case BOUND_ABOVE:
      return order > 0;
    case BOUND_MAX:
      return order <= 0;
    default:
      return order < 0;
  }
}

static SCHEMA_APART schema_result check_number(schema_run *run, const schema_number *number,
                                               const trilha_json_value *v) {
  if (v->type != TRILHA_JSON_NUMBER) return RESULT_PASS;
  int64_t m;
  uint32_t scale;
  if (!trilha_schema_decimal_read(v->u.text, v->size, &m, &scale)) {
    run->steps -= v->size;
    return trilha_schema_check_number_exactly(number, v);
  }
  if (number->ranged && scale <= number->scale_max) {
    int64_t power = trilha_schema_power_of_ten(scale);
    bool passes = m >= number->low * power + number->low_add && m <= number->high * power + number->high_add;
    return passes ? RESULT_PASS : RESULT_FAIL;
  }
  for (uint32_t i = 0; i < number->count; i++) {
    if (!number->bounds[i].at.small) return trilha_schema_check_number_exactly(number, v);
    if (!bound_passes(&number->bounds[i], m, scale)) return RESULT_FAIL;
  }
  return RESULT_PASS;
}

static inline bool has_string(const schema_enum *values, const trilha_json_value *v) {
  uint32_t low = 0, high = values->string_count;
  uint64_t head = trilha_schema_head(v->u.text, v->size);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const schema_enum_string *s = &values->strings[middle];
    int order = s->size != v->size ? (s->size < v->size ? -1 : 1)
                : s->head != head  ? (s->head < head ? -1 : 1)
                : v->size <= 8     ? 0
                                   : memcmp(s->text, v->u.text, v->size);
    if (order == 0) return true;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

static inline bool has_number(const schema_enum *values, int64_t m, uint32_t scale) {
  for (uint32_t i = 0; i < values->number_count; i++) {
    if (trilha_schema_decimal_compare(m, scale, values->numbers[i].m, values->numbers[i].scale) == 0) return true;
  }
  return false;
}

static SCHEMA_APART schema_result check_enum_further(schema_run *run, const schema_enum *values,
                                                     const trilha_json_value *v) {
  if (v->type == TRILHA_JSON_STRING) return has_string(values, v) ? RESULT_PASS : RESULT_FAIL;
  int64_t m;
  uint32_t scale;
  if (v->type == TRILHA_JSON_NUMBER && values->decimals && trilha_schema_decimal_read(v->u.text, v->size, &m, &scale)) {
    return has_number(values, m, scale) ? RESULT_PASS : RESULT_FAIL;
  }
  return trilha_schema_check_enum_others(run, values, v);
}

static inline schema_result check_enum(schema_run *run, const schema_enum *values, const trilha_json_value *v) {
  if ((values->types >> v->type & 1) == 0) return RESULT_FAIL;
  if (v->type < TRILHA_JSON_NUMBER) return RESULT_PASS;
  if (v->type == TRILHA_JSON_STRING && (values->size_mask >> (v->size < 31 ? v->size : 31) & 1) == 0)
    return RESULT_FAIL;
  return check_enum_further(run, values, v);
}

static inline bool size_passes(const schema_size *size, trilha_json_type type, const trilha_json_value *v) {
  return v->type != type || (v->size >= size->min && v->size <= size->max);
}

/* Report only: each missing name is a failure of its own. */
static schema_result note_missing(schema_run *run, const schema_instr *instr, const schema_names *names,
                                  const trilha_json_value *v) {
  if (!trilha_schema_mark_present(run, v, true)) return RESULT_UNDECIDED;
  for (uint32_t i = 0; i < names->count; i++) {
    if (!trilha_schema_is_present(run, names->keys[i])) trilha_schema_note_name(run, instr, names->names[i]);
  }
  (void)trilha_schema_mark_present(run, v, false);
  return RESULT_FAIL;
}

static SCHEMA_APART schema_result check_required(schema_run *run, const schema_instr *instr,
                                                 const trilha_json_value *v) {
  if (v->type != TRILHA_JSON_OBJECT) return RESULT_PASS;
  schema_result result = trilha_schema_check_required(run, instr->u.names, v);
  return IS_REPORT && result == RESULT_FAIL ? note_missing(run, instr, instr->u.names, v) : result;
}

static SCHEMA_APART schema_result check_dependent(schema_run *run, const schema_instr *instr,
                                                  const trilha_json_value *v) {
  if (v->type != TRILHA_JSON_OBJECT) return RESULT_PASS;
  const schema_dependent *dependent = instr->u.dependent;
  schema_result result = trilha_schema_check_dependent(run, dependent, v);
  for (uint32_t i = 0; IS_REPORT && result == RESULT_FAIL && i < dependent->count; i++) {
    if (!trilha_schema_mark_present(run, v, true)) return RESULT_UNDECIDED;
    bool applies = trilha_schema_is_present(run, dependent->keys[i]);
    (void)trilha_schema_mark_present(run, v, false);
    if (applies) result = note_missing(run, instr, &dependent->needs[i], v);
  }
  return result;
}

static inline schema_result check_leaf(schema_run *run, const schema_instr *instr, const trilha_json_value *v) {
  switch (instr->op) {
    case OP_TYPE:
      return RESULT_PASS;
    case OP_STRING:
      return check_string(run, instr->u.string, v);
    case OP_NUMBER:
      return check_number(run, instr->u.number, v);
    case OP_ENUM:
      return check_enum(run, instr->u.values, v);
    case OP_ARRAY_SIZE:
      return size_passes(instr->u.size, TRILHA_JSON_ARRAY, v) ? RESULT_PASS : RESULT_FAIL;
    case OP_OBJECT_SIZE:
      return size_passes(instr->u.size, TRILHA_JSON_OBJECT, v) ? RESULT_PASS : RESULT_FAIL;
    case OP_UNIQUE:
      return v->type == TRILHA_JSON_ARRAY ? trilha_schema_check_unique(run, v) : RESULT_PASS;
    case OP_REQUIRED:
      return check_required(run, instr, v);
    case OP_DEPENDENT_REQUIRED:
      return check_dependent(run, instr, v);
    default:
      return RESULT_FAIL; /* OP_FALSE */
  }
}

static SCHEMA_APART schema_result run_leaf(schema_run *run, const schema_instr *instr, const trilha_json_value *v) {
  if (--run->steps < 0) return RESULT_UNDECIDED;
  return type_passes(instr->types, v) ? check_leaf(run, instr, v) : RESULT_FAIL;
}
