/* trilha/diagnostics.h: what Trilha has to say while it works, as named events with fields, to a sink that you install.
 * The library never prints. Names are listed in docs/diagnostics.md. */
#ifndef TRILHA_DIAGNOSTICS_H
#define TRILHA_DIAGNOSTICS_H

#include "trilha/error.h"
#include "trilha/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum trilha_level { TRILHA_DEBUG = 0, TRILHA_INFO = 1, TRILHA_WARNING = 2, TRILHA_ERROR = 3 } trilha_level;

/** One field; `text` is always set (numbers in decimal), valid UTF-8, and never carries a payload value. */
typedef struct trilha_field {
  const char *name;
  trilha_text text;
  bool is_number;
} trilha_field;

/** One diagnostic. Everything is borrowed for the call. */
typedef struct trilha_diagnostic {
  trilha_level level;
  const char *name;    /**< stable, e.g. "event.published" */
  const char *message; /**< for people; contract texts of ruling R5 byte-exact */
  const trilha_field *fields;
  size_t field_count;
} trilha_diagnostic;

/** Where diagnostics go. emit may be called from any thread, must not call back into Trilha, and must not block for
 * long. A NULL emit drops everything. */
typedef struct trilha_diagnostics {
  void (*emit)(void *user, const trilha_diagnostic *diagnostic);
  void *user;
} trilha_diagnostics;

#ifdef __cplusplus
}
#endif
#endif
