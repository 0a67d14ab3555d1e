/* store/postgres: libpq, loaded when it is first needed. */
#include "late_pq.h"

#include "base/assert.h"

static const char *const names[] = {TRILHA_LIBPQ(TRILHA_LATE_NAME)};

static const trilha_late_library library = {.file = TRILHA_LIBPQ_FILE,
                                            .package = "libpq5",
                                            .needed_for = "PostgreSQL",
                                            .names = names,
                                            .count = sizeof names / sizeof *names};

static struct {
  trilha_late_state state;
  trilha_libpq functions;
} libpq = {.state = TRILHA_LATE_STATE_INIT};

trilha_status trilha_libpq_load(trilha_error *err) {
  return trilha_late_load(&library, &libpq.state, &libpq.functions, err);
}

const trilha_libpq *trilha_libpq_functions(void) {
  bool there = trilha_late_is_loaded(&libpq.state) || trilha_libpq_load(NULL) == TRILHA_OK;
  TRILHA_ASSERT(there);
  return &libpq.functions;
}
