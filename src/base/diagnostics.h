/* base/diagnostics: emitting to the sink that the root installed. Room: base. Thread-safe as the sink is. */
#ifndef TRILHA_BASE_DIAGNOSTICS_H
#define TRILHA_BASE_DIAGNOSTICS_H

#include "trilha/diagnostics.h"

/* Fields by small constructors; a number's text lives in the field builder. */
typedef struct trilha_fields {
  trilha_field items[12];
  char digits[12][24];
  size_t count;
} trilha_fields;

void trilha_fields_text(trilha_fields *f, const char *name, trilha_text text);
void trilha_fields_string(trilha_fields *f, const char *name, const char *terminated);
void trilha_fields_i64(trilha_fields *f, const char *name, int64_t value);
/* Adds code and text of the error (which never carries payload values), SQLSTATE and errno when set. */
void trilha_fields_error(trilha_fields *f, const trilha_error *error);
/* `fields` may be NULL. */
void trilha_emit(const trilha_diagnostics *sink, trilha_level level, const char *name, const char *message,
                 const trilha_fields *fields);

#endif
