/* base/error: filling and passing on a trilha_error. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const status_names[] = {
    [TRILHA_OK] = "ok",
    [TRILHA_INVALID] = "invalid",
    [TRILHA_NOT_FOUND] = "not found",
    [TRILHA_CONFLICT] = "conflict",
    [TRILHA_USAGE] = "usage",
    [TRILHA_LIMIT] = "limit",
    [TRILHA_UNAVAILABLE] = "unavailable",
    [TRILHA_OUTCOME_UNKNOWN] = "outcome unknown",
    [TRILHA_DENIED] = "denied",
    [TRILHA_CORRUPT] = "corrupt",
    [TRILHA_NO_MEMORY] = "no memory",
    [TRILHA_IO] = "input/output",
    [TRILHA_TIMEOUT] = "timeout",
    [TRILHA_CANCELLED] = "cancelled",
    [TRILHA_UNSUPPORTED] = "unsupported",
    [TRILHA_INTERNAL] = "internal",
};

const char *trilha_status_name(trilha_status status) {
  size_t i = (size_t)status;
  if (i >= sizeof status_names / sizeof status_names[0] || status_names[i] == NULL) return "?";
  return status_names[i];
}

static void cut_at_character(char *text, size_t written, size_t room) {
  if (written < room) return;
  size_t length = trilha_utf8_boundary(text, strlen(text));
  text[length] = '\0';
}

static void set_v(trilha_error *err, trilha_status status, const char *code, const char *format, va_list args) {
  err->status = status;
  err->retriable = status == TRILHA_UNAVAILABLE || status == TRILHA_OUTCOME_UNKNOWN || status == TRILHA_TIMEOUT;
  err->os_errno = 0;
  err->sqlstate[0] = '\0';
  snprintf(err->code, sizeof err->code, "%s", code);
  int n = vsnprintf(err->text, sizeof err->text, format, args);
  cut_at_character(err->text, n < 0 ? 0 : (size_t)n, sizeof err->text);
}

trilha_status trilha_error_set(trilha_error *err, trilha_status status, const char *code, const char *format, ...) {
  if (err == NULL || err->status != TRILHA_OK) return status;
  va_list args;
  va_start(args, format);
  set_v(err, status, code, format, args);
  va_end(args);
  return status;
}

static trilha_status status_of_errno(trilha_status status, int os_errno) {
  switch (os_errno) {
    case EACCES:
    case EPERM:
    case EROFS:
      return TRILHA_DENIED;
    case ENOMEM:
      return TRILHA_NO_MEMORY;
    default:
      return status;
  }
}

trilha_status trilha_error_set_errno(trilha_error *err, trilha_status status, const char *code, int os_errno,
                                     const char *format, ...) {
  status = status_of_errno(status, os_errno);
  if (err == NULL || err->status != TRILHA_OK) return status;
  va_list args;
  va_start(args, format);
  set_v(err, status, code, format, args);
  va_end(args);
  err->os_errno = os_errno;
  char why[128] = "";
  /* strerror_r of GNU returns the text, which may or may not be in the buffer. */
  const char *said = strerror_r(os_errno, why, sizeof why);
  size_t used = strlen(err->text);
  int n = snprintf(err->text + used, sizeof err->text - used, ": %s", said);
  cut_at_character(err->text, used + (n < 0 ? 0 : (size_t)n), sizeof err->text);
  return status;
}

void trilha_error_while(trilha_error *err, const char *format, ...) {
  if (err == NULL || err->status == TRILHA_OK) return;
  size_t used = strlen(err->text);
  int n = snprintf(err->text + used, sizeof err->text - used, "; while ");
  size_t total = used + (n < 0 ? 0 : (size_t)n);
  if (total < sizeof err->text) {
    va_list args;
    va_start(args, format);
    n = vsnprintf(err->text + total, sizeof err->text - total, format, args);
    va_end(args);
    total += n < 0 ? 0 : (size_t)n;
  }
  cut_at_character(err->text, total, sizeof err->text);
}

trilha_status trilha_error_no_memory(trilha_error *err) {
  return trilha_error_set(err, TRILHA_NO_MEMORY, "NO_MEMORY", "out of memory");
}

void trilha_error_clear(trilha_error *err) {
  if (err != NULL) *err = (trilha_error){0};
}

trilha_status trilha_error_copy(trilha_error *to, const trilha_error *from) {
  if (from == NULL) return TRILHA_OK;
  if (to != NULL && to->status == TRILHA_OK) *to = *from;
  return from->status;
}
