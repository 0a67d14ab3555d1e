/* late: a library is loaded once, by however many threads ask at the same moment; one that is missing, or lacks a
 * function, is told by name and package; a program that has the library itself shares its own. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "late/late.h"

enum { THREADS = 16, ROUNDS = 20 };

/* A library that every system has, with functions that this program does not use. */
double j0(double x);
double j1(double x);
#define BESSEL(F) F(j0) F(j1)
typedef struct bessel {
  BESSEL(TRILHA_LATE_MEMBER)
} bessel;

static const char *const bessel_names[] = {BESSEL(TRILHA_LATE_NAME)};

static trilha_late_library math_library(void) {
  return (trilha_late_library){
      .file = "libm.so.6", .package = "libc6", .needed_for = "waves", .names = bessel_names, .count = 2};
}

static void first_call_loads_and_the_functions_work(void **unused) {
  (void)unused;
  const trilha_late_library library = math_library();
  trilha_late_state state = TRILHA_LATE_STATE_INIT;
  bessel functions = {0};
  trilha_error error = {0};
  assert_false(trilha_late_is_loaded(&state));
  assert_int_equal(trilha_late_load(&library, &state, &functions, &error), TRILHA_OK);
  assert_true(trilha_late_is_loaded(&state));
  assert_true(functions.j0(0) > 0.999 && functions.j0(0) < 1.001);
  assert_true(functions.j1(0) > -0.001 && functions.j1(0) < 0.001);
}

static void second_call_leaves_what_the_first_filled(void **unused) {
  (void)unused;
  const trilha_late_library library = math_library();
  trilha_late_state state = TRILHA_LATE_STATE_INIT;
  bessel functions = {0}, none = {0};
  assert_int_equal(trilha_late_load(&library, &state, &functions, NULL), TRILHA_OK);
  assert_int_equal(trilha_late_load(&library, &state, &none, NULL), TRILHA_OK);
  assert_true(functions.j0 != NULL && none.j0 == NULL);
}

static void missing_library_is_named_with_its_package_and_purpose(void **unused) {
  (void)unused;
  trilha_late_library library = math_library();
  trilha_late_state state = TRILHA_LATE_STATE_INIT;
  bessel functions = {0};
  trilha_error error = {0};
  static const char *const absent[] = {"trilha_test_no_such_function", "j1"};
  library.names = absent;
  library.file = "libtrilha-absent.so.7";
  library.package = "libtrilha-absent7";
  assert_int_equal(trilha_late_load(&library, &state, &functions, &error), TRILHA_UNSUPPORTED);
  assert_string_equal(error.code, "LIBRARY_MISSING");
  assert_non_null(strstr(error.text, "libtrilha-absent.so.7, which is needed for waves"));
  assert_non_null(strstr(error.text, "Debian's package libtrilha-absent7"));
  assert_false(trilha_late_is_loaded(&state));
}

static void library_without_a_function_is_refused_and_asked_again_later(void **unused) {
  (void)unused;
  trilha_late_library library = math_library();
  trilha_late_state state = TRILHA_LATE_STATE_INIT;
  bessel functions = {0};
  trilha_error error = {0};
  static const char *const older[] = {"j0", "trilha_test_no_such_function"};
  library.names = older;
  assert_int_equal(trilha_late_load(&library, &state, &functions, &error), TRILHA_UNSUPPORTED);
  assert_non_null(strstr(error.text, "trilha_test_no_such_function"));
  assert_false(trilha_late_is_loaded(&state));
  library.names = bessel_names; /* another version was installed meanwhile */
  assert_int_equal(trilha_late_load(&library, &state, &functions, NULL), TRILHA_OK);
}

/* --- passing libraries ----------------------------------------------------------------------------------------------
 */

/* A library that this program does not need. */
static trilha_late_library passing_library(void) {
  static const char *const names[] = {"__p_class", "__p_rcode"};
  return (trilha_late_library){.file = "libresolv.so.2",
                               .package = "libc6",
                               .needed_for = "this test",
                               .names = names,
                               .count = 2,
                               .passing = true};
}

typedef const char *(*name_of)(int number);

static bool is_mapped(const char *name) {
  char line[512];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps) != NULL) found = found || strstr(line, name) != NULL;
  fclose(maps);
  return found;
}

/* Where a checker of leaks runs, what was loaded stays. */
static bool keeps_for_checkers(void) {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer);
#else
  return false;
#endif
}

static void passing_library_leaves_when_nobody_uses_it_and_comes_again(void **unused) {
  (void)unused;
  const trilha_late_library library = passing_library();
  trilha_late_state state = TRILHA_LATE_STATE_INIT;
  name_of functions[2] = {NULL};
  bool stays = keeps_for_checkers() || is_mapped("libresolv");
  trilha_late_unload(&state); /* nothing there: nothing happens */
  for (int turn = 0; turn < 3; turn++) {
    assert_int_equal(trilha_late_begin(&library, &state, functions, NULL), TRILHA_OK);
    assert_true(is_mapped("libresolv"));
    assert_string_equal(functions[0](1), "IN");
    trilha_late_end(&state);
    assert_true(trilha_late_is_loaded(&state)); /* the next begin costs nothing */
    trilha_late_unload(&state);
    assert_false(trilha_late_is_loaded(&state));
    assert_true(stays || !is_mapped("libresolv"));
  }
}

static void passing_library_stays_while_anybody_is_between_begin_and_end(void **unused) {
  (void)unused;
  const trilha_late_library library = passing_library();
  trilha_late_state state = TRILHA_LATE_STATE_INIT;
  name_of functions[2] = {NULL};
  assert_int_equal(trilha_late_begin(&library, &state, functions, NULL), TRILHA_OK);
  assert_int_equal(trilha_late_begin(&library, &state, functions, NULL), TRILHA_OK);
  trilha_late_end(&state);
  trilha_late_unload(&state);
  assert_true(trilha_late_is_loaded(&state));
  assert_true(is_mapped("libresolv"));
  assert_string_equal(functions[0](1), "IN");
  trilha_late_end(&state);
  trilha_late_unload(&state);
  assert_false(trilha_late_is_loaded(&state));
}

/* --- the program's own ---------------------------------------------------------------------------------------------
 */

__attribute__((visibility("default"))) int trilha_test_of_the_program(int n);
int trilha_test_of_the_program(int n) {
  return n + 1;
}

#define OWN(F) F(trilha_test_of_the_program)
typedef struct own {
  OWN(TRILHA_LATE_MEMBER)
} own;

static void functions_that_the_program_has_are_taken_and_no_file_is_looked_for(void **unused) {
  (void)unused;
  static const char *const names[] = {OWN(TRILHA_LATE_NAME)};
  const trilha_late_library library = {
      .file = "libtrilha-absent.so.7", .package = "none", .needed_for = "this test", .names = names, .count = 1};
  trilha_late_state state = TRILHA_LATE_STATE_INIT;
  own functions = {0};
  assert_int_equal(trilha_late_load(&library, &state, &functions, NULL), TRILHA_OK);
  assert_ptr_equal(functions.trilha_test_of_the_program, trilha_test_of_the_program);
  assert_int_equal(functions.trilha_test_of_the_program(6), 7);
}

/* --- threads --------------------------------------------------------------------------------------------------------
 */

typedef struct shared {
  trilha_late_library library;
  trilha_late_state state;
  bessel functions;
  pthread_barrier_t start;
  atomic_int right;
} shared;

static void *load_and_call(void *user) {
  shared *s = user;
  pthread_barrier_wait(&s->start);
  if (trilha_late_load(&s->library, &s->state, &s->functions, NULL) == TRILHA_OK && trilha_late_is_loaded(&s->state) &&
      s->functions.j0(0) > 0.999 && s->functions.j1(0) < 0.001)
    atomic_fetch_add(&s->right, 1);
  return NULL;
}

static void threads_that_load_at_the_same_moment_all_have_every_function(void **unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; round++) {
    shared s = {.library = math_library(), .state = TRILHA_LATE_STATE_INIT};
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&s.start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, load_and_call, &s), 0);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&s.start);
    assert_int_equal(atomic_load(&s.right), THREADS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_call_loads_and_the_functions_work),
      cmocka_unit_test(second_call_leaves_what_the_first_filled),
      cmocka_unit_test(missing_library_is_named_with_its_package_and_purpose),
      cmocka_unit_test(library_without_a_function_is_refused_and_asked_again_later),
      cmocka_unit_test(passing_library_leaves_when_nobody_uses_it_and_comes_again),
      cmocka_unit_test(passing_library_stays_while_anybody_is_between_begin_and_end),
      cmocka_unit_test(functions_that_the_program_has_are_taken_and_no_file_is_looked_for),
      cmocka_unit_test(threads_that_load_at_the_same_moment_all_have_every_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
