/* support: calls that must succeed, or be refused with a code. Each names `error` where its last argument goes:
 * CHECKED(trilha_outbox_open(&options, &outbox, error)). */
#ifndef TRILHA_TESTS_SUPPORT_EXPECT_H
#define TRILHA_TESTS_SUPPORT_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trilha/error.h"

#define CHECKED(call)                                                                   \
  do {                                                                                  \
    trilha_error checked = {0};                                                         \
    trilha_error *error = &checked;                                                     \
    if ((call) != TRILHA_OK) fail_msg("%s: %s: %s", #call, checked.code, checked.text); \
  } while (0)

#define REFUSED(call, expected)                  \
  do {                                           \
    trilha_error refused = {0};                  \
    trilha_error *error = &refused;              \
    assert_int_not_equal((call), TRILHA_OK);     \
    assert_string_equal(refused.code, expected); \
  } while (0)

#endif
