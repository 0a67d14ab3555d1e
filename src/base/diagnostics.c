/* base/diagnostics: emitting to the sink that the root installed. */
#include "base/diagnostics.h"

#include "base/assert.h"
#include "base/text.h"

static trilha_field *next_field(trilha_fields *f, const char *name) {
  TRILHA_ASSERT(f->count < sizeof f->items / sizeof f->items[0]);
  trilha_field *field = &f->items[f->count++];
  *field = (trilha_field){.name = name, .text = TRILHA_TEXT("")};
  return field;
}

void trilha_fields_text(trilha_fields *f, const char *name, trilha_text text) {
  trilha_field *field = next_field(f, name);
  if (text.data == NULL) return;
  /* Sinks are promised UTF-8; what is not may come from a file name or an operating system text. */
  field->text = trilha_utf8_valid(text.data, text.size) ? text : TRILHA_TEXT("(not UTF-8)");
}

void trilha_fields_string(trilha_fields *f, const char *name, const char *terminated) {
  trilha_fields_text(f, name, trilha_text_of(terminated));
}

void trilha_fields_i64(trilha_fields *f, const char *name, int64_t value) {
  trilha_field *field = next_field(f, name);
  char *digits = f->digits[f->count - 1];
  size_t at = sizeof f->digits[0];
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    digits[--at] = (char)('0' + left % 10);
    left /= 10;
  } while (left != 0);
  if (value < 0) digits[--at] = '-';
  field->text = (trilha_text){digits + at, sizeof f->digits[0] - at};
  field->is_number = true;
}

void trilha_fields_error(trilha_fields *f, const trilha_error *error) {
  trilha_fields_string(f, "code", error->code);
  trilha_fields_string(f, "error", error->text);
  if (error->sqlstate[0] != '\0') trilha_fields_string(f, "sqlstate", error->sqlstate);
  if (error->os_errno != 0) trilha_fields_i64(f, "errno", error->os_errno);
}

void trilha_emit(const trilha_diagnostics *sink, trilha_level level, const char *name, const char *message,
                 const trilha_fields *fields) {
  if (sink == NULL || sink->emit == NULL) return;
  trilha_diagnostic diagnostic = {.level = level, .name = name, .message = message};
  if (fields != NULL) {
    diagnostic.fields = fields->items;
    diagnostic.field_count = fields->count;
  }
  sink->emit(sink->user, &diagnostic);
}
