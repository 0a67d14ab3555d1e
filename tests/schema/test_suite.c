/* schema: the official test suite of draft 2020-12, required, optional and format. Skipped when ../shared is absent. */
#include "suite.h"

/* What does not pass, with the reason; docs/schema.md tells the same. A test that begins to pass must leave this table.
 */
static const suite_exception not_passed[] = {
    {"optional/cross-draft.json", "refs to historic drafts are processed as historic drafts",
     NULL}, /* needs draft 2019-09 */
    {NULL, NULL, NULL},
};

typedef struct engine {
  judge judge;
  trilha_schema *schema;
} engine;

static void begin(void *user, const trilha_json_document *schema, suite_remotes *remotes, bool assert_format) {
  engine *e = user;
  trilha_schema_options options = {
      .assert_format = assert_format, .check_metaschema = true, .resolve = suite_find_remote, .resolve_user = remotes};
  trilha_error error = {0};
  if (trilha_schema_compile(schema, &options, &e->schema, &error) != TRILHA_OK)
    print_message("# a schema does not compile: %s %s\n", error.code, error.text);
}

static trilha_verdict verdict(void *user, trilha_text instance) {
  engine *e = user;
  return e->schema == NULL ? JUDGES_DISAGREE : judge_text(&e->judge, e->schema, instance);
}

static void end(void *user) {
  engine *e = user;
  trilha_schema_free(e->schema);
  e->schema = NULL;
}

static void run_folder(const char *folder, int tests) {
  engine e = {0};
  judge_init(&e.judge);
  suite_judge by = {begin, verdict, end, &e};
  suite_count count = suite_run(folder, &by, not_passed);
  judge_done(&e.judge);
  assert_false(count.surprised);
  assert_int_equal(count.tests, tests);
  assert_int_equal(count.passed, count.tests - count.listed);
}

static void every_required_test_passes(void **state) {
  (void)state;
  run_folder("", 1299);
}

static void optional_tests_pass_as_the_table_says(void **state) {
  (void)state;
  run_folder("optional", 162);
}

static void format_tests_pass_as_the_table_says(void **state) {
  (void)state;
  run_folder("optional/format", 764);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_required_test_passes),
      cmocka_unit_test(optional_tests_pass_as_the_table_says),
      cmocka_unit_test(format_tests_pass_as_the_table_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
