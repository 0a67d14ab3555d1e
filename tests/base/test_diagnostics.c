/* base: diagnostics fields and sinks, and what a failed assertion does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/diagnostics.h"
#include "base/error.h"
#include "base/text.h"

static void write_down(void *user, const trilha_diagnostic *d) {
  trilha_buffer *out = user;
  trilha_buffer_add_format(out, "%d %s: %s", (int)d->level, d->name, d->message);
  for (size_t i = 0; i < d->field_count; i++) {
    trilha_buffer_add_format(out, " %s=%s", d->fields[i].name, d->fields[i].is_number ? "" : "'");
    trilha_buffer_add_text(out, d->fields[i].text);
    if (!d->fields[i].is_number) trilha_buffer_add_char(out, '\'');
  }
}

static void diagnostic_reaches_the_sink_with_its_fields_in_order(void **state) {
  (void)state;
  trilha_buffer out = {0};
  trilha_diagnostics sink = {write_down, &out};
  trilha_fields f = {0};
  trilha_fields_string(&f, "tipo", "demanda.recebida");
  trilha_fields_i64(&f, "sequence", INT64_MIN);
  trilha_fields_i64(&f, "zero", 0);
  trilha_fields_text(&f, "bytes", (trilha_text){"\xFF", 1});
  trilha_fields_text(&f, "none", (trilha_text){0});
  trilha_emit(&sink, TRILHA_WARNING, "event.duplicate", "Evento duplicado", &f);
  assert_string_equal(out.data,
                      "2 event.duplicate: Evento duplicado tipo='demanda.recebida' sequence=-9223372036854775808 "
                      "zero=0 bytes='(not UTF-8)' none=''");
  trilha_buffer_done(&out);
}

static void diagnostic_of_an_error_names_code_sqlstate_and_errno(void **state) {
  (void)state;
  trilha_buffer out = {0};
  trilha_diagnostics sink = {write_down, &out};
  trilha_error error = {0};
  trilha_error_set(&error, TRILHA_UNAVAILABLE, "STORE_BUSY", "busy");
  memcpy(error.sqlstate, "55P03", 6);
  error.os_errno = 11;
  trilha_fields f = {0};
  trilha_fields_error(&f, &error);
  trilha_emit(&sink, TRILHA_ERROR, "store.busy", "m", &f);
  assert_string_equal(out.data, "3 store.busy: m code='STORE_BUSY' error='busy' sqlstate='55P03' errno=11");
  trilha_buffer_done(&out);
}

static void diagnostic_without_a_sink_is_dropped(void **state) {
  (void)state;
  trilha_diagnostics silent = {0};
  trilha_emit(NULL, TRILHA_INFO, "a", "b", NULL);
  trilha_emit(&silent, TRILHA_INFO, "a", "b", NULL);
  trilha_buffer out = {0};
  trilha_diagnostics sink = {write_down, &out};
  trilha_emit(&sink, TRILHA_INFO, "a.b", "c", NULL);
  assert_string_equal(out.data, "1 a.b: c");
  trilha_buffer_done(&out);
}

static void failed_assertion_says_where_and_aborts(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    trilha_assert_failed("1 == 2", "room/file.c", 1203);
  }
  close(ends[1]);
  char said[256] = "";
  ssize_t n, size = 0;
  while ((n = read(ends[0], said + size, sizeof said - 1 - (size_t)size)) > 0) size += n;
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGABRT);
  assert_string_equal(said, "trilha: a fault of Trilha itself, please report it: room/file.c:1203: 1 == 2\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(diagnostic_reaches_the_sink_with_its_fields_in_order),
      cmocka_unit_test(diagnostic_of_an_error_names_code_sqlstate_and_errno),
      cmocka_unit_test(diagnostic_without_a_sink_is_dropped),
      cmocka_unit_test(failed_assertion_says_where_and_aborts),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
