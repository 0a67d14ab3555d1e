/* base/error: filling and passing on a trilha_error. Room: base. */
#ifndef TRILHA_BASE_ERROR_H
#define TRILHA_BASE_ERROR_H

#include <stdarg.h>

#include "trilha/error.h"

/* Sets the error unless one is already there (the first cause wins). Returns `status`, so that
 * `return trilha_error_set(err, TRILHA_INVALID, "CODE", "text %d", n);` reads well. err may be NULL.
 * The text is cut at a UTF-8 character boundary. */
trilha_status trilha_error_set(trilha_error *err, trilha_status status, const char *code, const char *format, ...)
    TRILHA_PRINTF(4, 5);

/* As above, with errno's name and text appended; EACCES/EPERM/EROFS give TRILHA_DENIED, ENOMEM TRILHA_NO_MEMORY. */
trilha_status trilha_error_set_errno(trilha_error *err, trilha_status status, const char *code, int os_errno,
                                     const char *format, ...) TRILHA_PRINTF(5, 6);

/* Adds what this frame was doing: "…; while <doing>". Does nothing when err is NULL or holds no error. */
void trilha_error_while(trilha_error *err, const char *format, ...) TRILHA_PRINTF(2, 3);

trilha_status trilha_error_no_memory(trilha_error *err);
void trilha_error_clear(trilha_error *err);
/* Copies `from` into `to` (either may be NULL) unless `to` already holds an error; returns from's status. */
trilha_status trilha_error_copy(trilha_error *to, const trilha_error *from);

#endif
