/* store: the name of a colony's schema (ruling R12). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/colony.h"

static void a_colony_s_schema_is_its_name_in_lower_case_without_hyphens(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"D-4", "d4"}, {"D-1a", "d1a"}, {"L-1", "l1"}, {"faturamento_2", "faturamento_2"}};
  char schema[TRILHA_COLONY_SCHEMA_SIZE];
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    assert_int_equal(trilha_colony_schema_name(trilha_text_of(pairs[i][0]), schema, NULL), TRILHA_OK);
    assert_string_equal(schema, pairs[i][1]);
  }
}

static void names_that_are_no_identifier_or_belong_to_the_database_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {
      "",     "---",   "4D",     "D 4",  "D.4",  "d\"4",     "D;4",    "Ação",
      "core", "CO-RE", "public", "pg_x", "main", "sqlite_x", "trilha", "information-schema"};
  char schema[TRILHA_COLONY_SCHEMA_SIZE], longest[80];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    trilha_error err = {0};
    if (strcmp(names[i], "information-schema") == 0) continue; /* hyphens dropped it is another name */
    assert_int_equal(trilha_colony_schema_name(trilha_text_of(names[i]), schema, &err), TRILHA_INVALID);
    assert_string_equal(err.code, "COLONY_NAME");
  }
  memset(longest, 'a', sizeof longest);
  assert_int_equal(trilha_colony_schema_name((trilha_text){longest, 63}, schema, NULL), TRILHA_OK);
  assert_int_equal(trilha_colony_schema_name((trilha_text){longest, 64}, schema, NULL), TRILHA_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_colony_s_schema_is_its_name_in_lower_case_without_hyphens),
      cmocka_unit_test(names_that_are_no_identifier_or_belong_to_the_database_are_refused),
  };
  return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
