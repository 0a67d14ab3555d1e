/* http: GnuTLS, loaded when it is first needed. */
#include "http/late_gnutls.h"

#include "base/assert.h"

static const char *const names[] = {TRILHA_GNUTLS(TRILHA_LATE_NAME)};

static const trilha_late_library library = {.file = TRILHA_GNUTLS_FILE,
                                            .package = "libgnutls30",
                                            .needed_for = "certificates of `trilha serve`",
                                            .names = names,
                                            .count = sizeof names / sizeof *names};

static struct {
  trilha_late_state state;
  trilha_gnutls functions;
} gnutls = {.state = TRILHA_LATE_STATE_INIT};

trilha_status trilha_gnutls_load(trilha_error *err) {
  return trilha_late_load(&library, &gnutls.state, &gnutls.functions, err);
}

const trilha_gnutls *trilha_gnutls_functions(void) {
  bool there = trilha_late_is_loaded(&gnutls.state) || trilha_gnutls_load(NULL) == TRILHA_OK;
  TRILHA_ASSERT(there);
  return &gnutls.functions;
}
