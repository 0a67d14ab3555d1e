/* trilha/error.h: how every Trilha call says what went wrong.
 *
 * A call returns a short, stable status and fills a caller-owned, fixed-size trilha_error passed last.
 * The error may be NULL where the caller needs only the status. Nothing is thread-local and nothing is
 * allocated: an error can be copied, kept and thrown away freely.
 */
#ifndef TRILHA_ERROR_H
#define TRILHA_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TRILHA_API          __attribute__((visibility("default")))
#define TRILHA_MUST_USE     __attribute__((warn_unused_result))
#define TRILHA_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define TRILHA_API
#define TRILHA_MUST_USE
#define TRILHA_PRINTF(f, a)
#endif

/** What kind of outcome a call had. Values are stable across releases; new ones are appended. */
typedef enum trilha_status {
  TRILHA_OK = 0,
  TRILHA_INVALID = 1,         /**< refused by validation; nothing was written */
  TRILHA_NOT_FOUND = 2,       /**< the named thing does not exist */
  TRILHA_CONFLICT = 3,        /**< it exists with other content, or another holder has it */
  TRILHA_USAGE = 4,           /**< an argument or option is wrong */
  TRILHA_LIMIT = 5,           /**< a documented limit (docs/limits.md) was reached */
  TRILHA_UNAVAILABLE = 6,     /**< the store cannot be reached or written now; nothing was written */
  TRILHA_OUTCOME_UNKNOWN = 7, /**< the answer to a commit was lost: it may or may not be stored */
  TRILHA_DENIED = 8,          /**< the store's or the system's permissions refuse it */
  TRILHA_CORRUPT = 9,         /**< stored data or schema is not what it must be */
  TRILHA_NO_MEMORY = 10,
  TRILHA_IO = 11,          /**< a file or stream failed */
  TRILHA_TIMEOUT = 12,     /**< the caller's deadline passed */
  TRILHA_CANCELLED = 13,   /**< the caller or its callback asked to stop */
  TRILHA_UNSUPPORTED = 14, /**< this build, store or version cannot do it */
  TRILHA_INTERNAL = 15     /**< a fault of Trilha itself; please report it */
} trilha_status;

enum {
  TRILHA_ERROR_CODE_MAX = 48,  /**< bytes of a stable code, terminator included */
  TRILHA_ERROR_TEXT_MAX = 1024 /**< bytes of a text, terminator included */
};

/** One error. Zero-initialise it (`trilha_error error = {0};`) before the first call that may fill it. */
typedef struct trilha_error {
  trilha_status status;
  bool retriable;                   /**< the same call may succeed later, unchanged */
  int os_errno;                     /**< errno of the cause, or 0 */
  char sqlstate[6];                 /**< SQLSTATE of the cause, or "" */
  char code[TRILHA_ERROR_CODE_MAX]; /**< stable upper-case code, e.g. EVENT_TYPE_NOT_FOUND */
  char text[TRILHA_ERROR_TEXT_MAX]; /**< for people: the cause, then what was being done; no payload values */
} trilha_error;

/** The lower-case English name of a status ("ok", "invalid", …); "?" for a number that is none. Thread-safe. */
TRILHA_API const char *trilha_status_name(trilha_status status);

#ifdef __cplusplus
}
#endif
#endif
