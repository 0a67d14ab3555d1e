/* What the tests of patterns share. */
#ifndef TRILHA_TESTS_SCHEMA_PATTERN_TEST_H
#define TRILHA_TESTS_SCHEMA_PATTERN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/pattern_internal.h"
#include "schema/schema.h"

static inline trilha_pattern *must_compile(trilha_text pattern) {
  trilha_pattern *compiled = NULL;
  trilha_error err = {0};
  if (trilha_pattern_compile(pattern, NULL, &compiled, &err) != TRILHA_OK)
    fail_msg("%.*s refused: %s %s", (int)pattern.size, pattern.data, err.code, err.text);
  return compiled;
}

static inline trilha_pattern_scratch *must_have_scratch(void) {
  trilha_pattern_scratch *scratch = NULL;
  assert_int_equal(trilha_pattern_scratch_new(&scratch, NULL), TRILHA_OK);
  return scratch;
}

#endif
