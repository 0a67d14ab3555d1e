/* base/assert: our own mistakes stop the process, in release too. Room: base. */
#ifndef TRILHA_BASE_ASSERT_H
#define TRILHA_BASE_ASSERT_H

_Noreturn void trilha_assert_failed(const char *expression, const char *file, int line);

#define TRILHA_ASSERT(expression) ((expression) ? (void)0 : trilha_assert_failed(#expression, __FILE__, __LINE__))

#endif
