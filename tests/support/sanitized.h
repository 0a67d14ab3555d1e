/* tests/support/sanitized: whether this is a build under a sanitizer, which keeps freed memory and must be loaded
 * first. */
#ifndef TRILHA_TESTS_SUPPORT_SANITIZED_H
#define TRILHA_TESTS_SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#endif
