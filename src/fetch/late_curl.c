/* fetch: libcurl, loaded when it is first needed. */
#include "fetch/late_curl.h"

#include "base/assert.h"

static const char *const names[] = {TRILHA_CURL(TRILHA_LATE_NAME)};

static const trilha_late_library library = {.file = TRILHA_CURL_FILE,
                                            .package = "libcurl4",
                                            .needed_for = "webhooks, keys at a URL and telemetry",
                                            .names = names,
                                            .count = sizeof names / sizeof *names};

static struct {
  trilha_late_state state;
  trilha_curl functions;
} curl = {.state = TRILHA_LATE_STATE_INIT};

trilha_status trilha_curl_load(trilha_error *err) {
  return trilha_late_load(&library, &curl.state, &curl.functions, err);
}

const trilha_curl *trilha_curl_functions(void) {
  bool there = trilha_late_is_loaded(&curl.state) || trilha_curl_load(NULL) == TRILHA_OK;
  TRILHA_ASSERT(there);
  return &curl.functions;
}
