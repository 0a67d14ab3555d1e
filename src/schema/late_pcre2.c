/* schema: PCRE2, loaded when it is first needed. */
#include "schema/late_pcre2.h"

#include "base/assert.h"

static const char *const names[] = {TRILHA_PCRE2(TRILHA_LATE_NAME)};

static const trilha_late_library library = {.file = TRILHA_PCRE2_FILE,
                                            .package = "libpcre2-8-0",
                                            .needed_for = "patterns that are no simple automata",
                                            .names = names,
                                            .count = sizeof names / sizeof *names};

static struct {
  trilha_late_state state;
  trilha_pcre2 functions;
} pcre2 = {.state = TRILHA_LATE_STATE_INIT};

trilha_status trilha_pcre2_load(trilha_error *err) {
  return trilha_late_load(&library, &pcre2.state, &pcre2.functions, err);
}

const trilha_pcre2 *trilha_pcre2_functions(void) {
  bool there = trilha_late_is_loaded(&pcre2.state) || trilha_pcre2_load(NULL) == TRILHA_OK;
  TRILHA_ASSERT(there);
  return &pcre2.functions;
}
