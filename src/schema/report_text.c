/* What a failed keyword asks for, in English. Only words of the schema are quoted. */
#include "schema/report.h"

enum { LISTED_VALUES_MAX = 12, LISTED_BYTES_MAX = 200 };

static void add_bound(trilha_buffer *out, const char *words, uint32_t count, const char *one, const char *many) {
  trilha_buffer_add_string(out, words);
  trilha_buffer_add_u64(out, count);
  trilha_buffer_add_string(out, count == 1 ? one : many);
}

static void add_types(trilha_buffer *out, uint8_t types) {
  static const struct {
    uint8_t bits;
    const char *name;
  } names[] = {{TYPE_NULL, "null"},     {TYPE_BOOLEAN, "boolean"}, {TYPE_INTEGER, "integer"}, {TYPE_NUMBER, "number"},
               {TYPE_STRING, "string"}, {TYPE_ARRAY, "array"},     {TYPE_OBJECT, "object"}};
  trilha_buffer_add_string(out, "must be of type ");
  bool any = false;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if ((types & names[i].bits) == 0) continue;
    if (any) trilha_buffer_add_string(out, " or ");
    trilha_buffer_add_string(out, names[i].name);
    any = true;
  }
}

/* The listed strings when they are few and nothing else is listed. */
static void add_enum(trilha_buffer *out, const schema_enum *values) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < values->string_count; i++) bytes += values->strings[i].size + 4;
  bool only_strings = values->types == TYPE_STRING && values->string_count <= LISTED_VALUES_MAX;
  if (!only_strings || bytes > LISTED_BYTES_MAX) {
    trilha_buffer_add_string(out, "must be one of the values that the schema lists");
    return;
  }
  trilha_buffer_add_string(out, values->string_count == 1 ? "must be " : "must be one of ");
  for (uint32_t i = 0; i < values->string_count; i++) {
    if (i > 0) trilha_buffer_add_string(out, ", ");
    trilha_json_write_string(out, (trilha_text){values->strings[i].text, values->strings[i].size});
  }
}

static void add_string(trilha_buffer *out, const schema_instr *instr) {
  const schema_string *string = instr->u.string;
  switch ((int)instr->keyword) {
    case KW_MIN_LENGTH:
      add_bound(out, "must be at least ", string->min, " character", " characters");
      break;
    case KW_MAX_LENGTH:
      add_bound(out, "must be at most ", string->max, " character", " characters");
      break;
    case KW_PATTERN:
      trilha_buffer_add_string(out, "must match the schema's pattern");
      break;
    default:
      trilha_buffer_add_string(out, "must be of format ");
      trilha_buffer_add_text(out, string->format_name);
  }
}

static void add_number(trilha_buffer *out, const schema_bound *bound) {
  static const char *const words[] = {"must be at least ", "must be above ", "must be at most ", "must be below ",
                                      "must be a multiple of "};
  trilha_buffer_add_string(out, words[bound->kind]);
  trilha_buffer_add_text(out, bound->at.text);
}

static void add_size(trilha_buffer *out, const schema_instr *instr) {
  const schema_size *size = instr->u.size;
  switch ((int)instr->keyword) {
    case KW_MIN_ITEMS:
      add_bound(out, "must have at least ", size->min, " item", " items");
      break;
    case KW_MAX_ITEMS:
      add_bound(out, "must have at most ", size->max, " item", " items");
      break;
    case KW_MIN_PROPERTIES:
      add_bound(out, "must have at least ", size->min, " member", " members");
      break;
    default:
      add_bound(out, "must have at most ", size->max, " member", " members");
  }
}

static void add_contains(trilha_buffer *out, const schema_contains *contains) {
  add_bound(out, "must contain at least ", contains->min, " item", " items");
  if (contains->max != UINT32_MAX) add_bound(out, " and at most ", contains->max, "", "");
  trilha_buffer_add_string(out, " that the contains schema accepts");
}

void trilha_schema_violation_text(trilha_buffer *out, const schema_instr *instr, trilha_text name) {
  switch ((int)instr->op) {
    case OP_FALSE:
      trilha_buffer_add_string(out, "must not be there");
      break;
    case OP_TYPE:
      add_types(out, instr->types);
      break;
    case OP_ENUM:
      add_enum(out, instr->u.values);
      break;
    case OP_STRING:
      add_string(out, instr);
      break;
    case OP_NUMBER:
      add_number(out, &instr->u.number->bounds[0]);
      break;
    case OP_ARRAY_SIZE:
    case OP_OBJECT_SIZE:
      add_size(out, instr);
      break;
    case OP_UNIQUE:
      trilha_buffer_add_string(out, "must not have equal items");
      break;
    case OP_REQUIRED:
    case OP_DEPENDENT_REQUIRED:
      trilha_buffer_add_string(out, "must have the member ");
      trilha_json_write_string(out, name);
      break;
    case OP_CONTAINS:
      add_contains(out, instr->u.contains);
      break;
    case OP_ANY_OF:
      trilha_buffer_add_string(out, "must match at least one of the alternatives");
      break;
    case OP_ONE_OF:
      trilha_buffer_add_string(out, "must match exactly one of the alternatives");
      break;
    default:
      trilha_buffer_add_string(out, "must not match the schema below not");
  }
}
