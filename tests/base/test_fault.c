/* base: fault points fail, kill and pause at the occurrence that was armed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"

static int disarm(void **state) {
  (void)state;
  unsetenv("TRILHA_FAULT");
  trilha_fault_reset();
  return 0;
}

static void nothing_happens_at_a_point_that_is_not_armed(void **state) {
  (void)state;
  assert_false(trilha_fault_point("test.one"));
  setenv("TRILHA_FAULT", "test.on=fail,test.one.more=fail", 1);
  assert_false(trilha_fault_point("test.one"));
}

static void only_the_armed_occurrence_fails(void **state) {
  (void)state;
  setenv("TRILHA_FAULT", "test.other=fail,test.one=fail:3", 1);
  assert_false(trilha_fault_point("test.one"));
  assert_false(trilha_fault_point("test.one"));
  assert_true(trilha_fault_point("test.one"));
  assert_false(trilha_fault_point("test.one"));
  assert_true(trilha_fault_point("test.other"));
  assert_false(trilha_fault_point("test.other"));
  trilha_fault_reset();
  assert_true(trilha_fault_point("test.other"));
}

static int passed_points(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A child that passes the point up to nine times and exits with the number of times. */
static pid_t start(const char *armed) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child != 0) return child;
  setenv("TRILHA_FAULT", armed, 1);
  for (int i = 0; i < 9; i++) (void)trilha_fault_point("test.one");
  _exit(9);
}

static void armed_kill_ends_the_process_with_sigkill(void **state) {
  (void)state;
  pid_t child = start("test.one=kill:2");
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void armed_pause_stops_the_process_until_it_is_continued(void **state) {
  (void)state;
  pid_t child = start("test.one=pause");
  int status;
  assert_int_equal(waitpid(child, &status, WUNTRACED), child);
  assert_true(WIFSTOPPED(status));
  assert_int_equal(kill(child, SIGCONT), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(passed_points(status), 9);
}

static void arming_nonsense_aborts_instead_of_passing(void **state) {
  (void)state;
  static const char *const bad[] = {"test.one=explode", "test.one", "test.one=fail:x", "test.one=fail:0"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      signal(SIGABRT, SIG_DFL);
      close(STDERR_FILENO);
      setenv("TRILHA_FAULT", bad[i], 1);
      (void)trilha_fault_point("test.one");
      _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) fail_msg("passed: %s", bad[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(nothing_happens_at_a_point_that_is_not_armed, disarm),
      cmocka_unit_test_teardown(only_the_armed_occurrence_fails, disarm),
      cmocka_unit_test_teardown(armed_kill_ends_the_process_with_sigkill, disarm),
      cmocka_unit_test_teardown(armed_pause_stops_the_process_until_it_is_continued, disarm),
      cmocka_unit_test_teardown(arming_nonsense_aborts_instead_of_passing, disarm),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
