/* http: libmicrohttpd, loaded when it is first needed. */
#include "http/late_microhttpd.h"

#include "base/assert.h"

static const char *const names[] = {TRILHA_MICROHTTPD(TRILHA_LATE_NAME)};

static const trilha_late_library library = {.file = TRILHA_MICROHTTPD_FILE,
                                            .package = "libmicrohttpd12",
                                            .needed_for = "`trilha serve`",
                                            .names = names,
                                            .count = sizeof names / sizeof *names};

static struct {
  trilha_late_state state;
  trilha_microhttpd functions;
} microhttpd = {.state = TRILHA_LATE_STATE_INIT};

trilha_status trilha_microhttpd_load(trilha_error *err) {
  return trilha_late_load(&library, &microhttpd.state, &microhttpd.functions, err);
}

const trilha_microhttpd *trilha_microhttpd_functions(void) {
  bool there = trilha_late_is_loaded(&microhttpd.state) || trilha_microhttpd_load(NULL) == TRILHA_OK;
  TRILHA_ASSERT(there);
  return &microhttpd.functions;
}
